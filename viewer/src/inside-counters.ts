// SPDX-License-Identifier: MIT
// Numbers of events' fields, in a page that is a file: the answers to v1/counter and v1/numbers.
//
// Place in the flow: inside.ts asks here; the answers are those that tools/view/src/counter.rs gives.

import { firstFrom, type Words } from "./inside";
import type { Amount, Counter, EventRow } from "./protocol";

/** A field's value as a number; `null` if it is none, and nothing if the event has no such field. */
function valueOf({ event }: EventRow, field: string): Amount | null | undefined {
  const value = event.fields?.[field];
  if (value === undefined) return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  // Integers that a script does not hold exactly are texts of their digits.
  if (typeof value === "string") return /^-?\d{16,20}$/.test(value) ? value : null;
  const labelled = (value as { value?: unknown } | null)?.value;
  return typeof labelled === "number" ? labelled : null;
}

export function counter(events: EventRow[], words: Words): Counter {
  const name = String(words["counter"]);
  const dot = name.lastIndexOf(".");
  const [event, field] = [name.slice(0, dot), name.slice(dot + 1)];
  const isIts = (row: EventRow): boolean =>
    row.event.name === event && valueOf(row, field) !== undefined;
  if (!events.some(isIts)) throw new Error(`no event of the file has the field ${name}`);
  const number = (word: string): number => Number(words[word]);
  const [begin, end, pixels] = [number("from"), number("until"), number("pixels")];
  const told: Counter = { columns: [], before: null, count: 0, not_numbers: 0, stopped: null };
  const first = firstFrom(events, begin);
  for (const row of events.slice(0, first).reverse()) {
    const value = isIts(row) ? valueOf(row, field) : null;
    if (value === null || value === undefined) continue;
    told.before = value;
    break;
  }
  for (const row of events.slice(first, firstFrom(events, end))) {
    const value = row.event.name === event ? valueOf(row, field) : undefined;
    if (value === undefined) continue;
    if (value === null) {
      told.not_numbers++;
      continue;
    }
    told.count++;
    const pixel = Math.min(Math.floor(((row.at - begin) / (end - begin)) * pixels), pixels - 1);
    const last = told.columns[told.columns.length - 1];
    if (last?.[0] !== pixel) {
      told.columns.push([pixel, value, value, value]);
      continue;
    }
    if (Number(value) < Number(last[1])) last[1] = value;
    if (Number(value) > Number(last[2])) last[2] = value;
    last[3] = value;
  }
  return told;
}

export function numbers(events: EventRow[]): { names: string[]; left_out: number } {
  const names = new Set<string>();
  for (const row of events) {
    for (const field of Object.keys(row.event.fields ?? {})) {
      if (typeof valueOf(row, field) === "number") names.add(`${row.event.name}.${field}`);
    }
  }
  return { names: [...names].sort(), left_out: 0 };
}
