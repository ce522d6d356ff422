// SPDX-License-Identifier: MIT
// What of the page stands in its address, behind the number sign: it is never sent anywhere.

import { PANELS, type Panel } from "./panel";
import { NO_FILTER, type Filter } from "./protocol";
import type { View } from "./time";

export interface Shown {
  view: View | null;
  track: string | null;
  at: number | null;
  filter: Filter;
  panel: Panel;
}

export function read(hash: string): Shown {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const number = (name: string): number | null => {
    const text = words.get(name);
    return text !== null && /^-?\d{1,19}$/.test(text) ? Number(text) : null;
  };
  const [from, until] = [number("from"), number("until")];
  const view = from !== null && until !== null && from < until ? { from, until } : null;
  const filter = { ...NO_FILTER };
  for (const key of Object.keys(filter) as (keyof Filter)[]) filter[key] = words.get(key) ?? "";
  const panel = PANELS.find((name) => name === words.get("panel")) ?? "events";
  return { view, track: words.get("track"), at: number("at"), filter, panel };
}

export function write(shown: Shown): string {
  const words = new URLSearchParams();
  if (shown.view) {
    words.set("from", String(Math.floor(shown.view.from)));
    words.set("until", String(Math.ceil(shown.view.until)));
  }
  if (shown.track !== null) words.set("track", shown.track);
  if (shown.at !== null) words.set("at", String(Math.round(shown.at)));
  for (const [key, value] of Object.entries(shown.filter)) if (value) words.set(key, value);
  if (shown.panel !== "events") words.set("panel", shown.panel);
  return `#${words}`;
}
