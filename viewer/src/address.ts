// SPDX-License-Identifier: MIT
// What of the page stands in its address, behind the number sign: it is never sent anywhere.

import { ALIGNS, type Aligned } from "./compare";
import { PANELS, type Panel } from "./panel";
import { NO_FILTER, type Filter } from "./protocol";
import type { View } from "./time";

export interface Shown {
  view: View | null;
  track: string | null;
  at: number | null;
  filter: Filter;
  panel: Panel;
  /** Where two traces are compared: how, and what of the second is selected. */
  aligned: Aligned;
  other: { track: string | null; at: number | null };
  isOther: boolean;
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
  const [a, b] = [number("at_a"), number("at_b")];
  const pair: [number, number] | null = a !== null && b !== null ? [a, b] : null;
  const said = ALIGNS.find((name) => name === words.get("align")) ?? "begin";
  const aligned: Aligned =
    said === "events" && !pair
      ? { align: "begin", pair: null }
      : { align: said, pair: said === "events" ? pair : null };
  const other = { track: words.get("b_track"), at: number("b_at") };
  const track = words.get("track");
  const isOther = words.get("line") === "b";
  return { view, track, at: number("at"), filter, panel, aligned, other, isOther };
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
  const { align, pair } = shown.aligned;
  if (align !== "begin") words.set("align", align);
  if (pair) {
    words.set("at_a", String(Math.round(pair[0])));
    words.set("at_b", String(Math.round(pair[1])));
  }
  if (shown.other.track !== null) words.set("b_track", shown.other.track);
  if (shown.other.at !== null) words.set("b_at", String(Math.round(shown.other.at)));
  if (shown.isOther) words.set("line", "b");
  if (shown.panel !== "events") words.set("panel", shown.panel);
  return `#${words}`;
}
