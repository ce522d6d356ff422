// SPDX-License-Identifier: MIT
// What of the page stands in its address, behind the number sign: it is never sent anywhere.

import { MOST_PINS, ORDERS, type Arrangement } from "./arrange";
import { ALIGNS, type Aligned } from "./compare";
import { MOST_COUNTERS } from "./counters";
import { PANELS, type Panel } from "./panel";
import { NO_FILTER, type Filter } from "./protocol";
import type { View } from "./time";

/** What is selected of a trace. */
export interface Chosen {
  track: string | null;
  at: number | null;
}

export interface Shown extends Chosen, Arrangement {
  view: View | null;
  filter: Filter;
  panel: Panel;
  /** Where two traces are compared: how, and what of the second is selected. */
  aligned: Aligned;
  other: Chosen & Arrangement;
  isOther: boolean;
  /** Whether the arrows of all rows in view are drawn. */
  arrows: boolean;
  /** Fields of events that are drawn as lines: EVENT.FIELD. */
  counters: string[];
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
  const arrangement = (before: string): Arrangement => {
    const order = ORDERS.find((name) => name === words.get(`${before}order`)) ?? "number";
    const pins = (words.get(`${before}pins`) ?? "").split(",").filter((id) => id !== "");
    return { pins: pins.slice(0, MOST_PINS), order };
  };
  const other = { track: words.get("b_track"), at: number("b_at"), ...arrangement("b_") };
  const track = words.get("track");
  const isOther = words.get("line") === "b";
  const at = number("at");
  const arrows = words.get("arrows") === "all";
  const counters = words.getAll("counter").filter((name) => name !== "");
  return {
    ...{ view, track, at, ...arrangement(""), filter, panel, aligned, other, isOther, arrows },
    counters: counters.slice(0, MOST_COUNTERS),
  };
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
  for (const [before, { pins, order }] of [["", shown] as const, ["b_", shown.other] as const]) {
    if (pins.length > 0) words.set(`${before}pins`, pins.join(","));
    if (order !== "number") words.set(`${before}order`, order);
  }
  const { align, pair } = shown.aligned;
  if (align !== "begin") words.set("align", align);
  if (pair) {
    words.set("at_a", String(Math.round(pair[0])));
    words.set("at_b", String(Math.round(pair[1])));
  }
  if (shown.other.track !== null) words.set("b_track", shown.other.track);
  if (shown.other.at !== null) words.set("b_at", String(Math.round(shown.other.at)));
  if (shown.isOther) words.set("line", "b");
  if (shown.arrows) words.set("arrows", "all");
  for (const name of shown.counters) words.append("counter", name);
  if (shown.panel !== "events") words.set("panel", shown.panel);
  return `#${words}`;
}
