// SPDX-License-Identifier: MIT
// Numbers of events' fields, in a page that is a file: the answers to v1/counter and v1/numbers.
//
// Place in the flow: inside.ts asks here; the answers are those that tools/view/src/counter.rs gives.

import { isCalled, type Inside, type Words } from "./inside";
import type { Amount, Counter, EventRow } from "./protocol";

/** Numbers that JSON has no form for. */
const NO_FORM = new Set(["NaN", "inf", "-inf"]);

/** A field's value as a number; `null` if it is none, and nothing if the event has no such field of
 * numbers. */
function valueOf({ event, integers }: EventRow, field: string): Amount | null | undefined {
  const value = event.fields?.[field];
  if (value === null || typeof value === "number") return value;
  if (typeof value === "string") {
    // Integers that a script does not hold exactly are texts of their digits.
    if (integers?.fields?.includes(field)) return value;
    return NO_FORM.has(value) ? null : undefined;
  }
  const { label, value: own } = (value ?? {}) as { label?: unknown; value?: unknown };
  return label !== undefined && (typeof own === "number" || typeof own === "string")
    ? own
    : undefined;
}

/** What is made of states: threads that are ready to run, on no CPU. */
const RUNNABLE = "threads that wait for a CPU";

/** How many threads are ready to run: every change of that number is a value. */
function runnable({ rows, values }: Inside, add: (at: number, value: number) => void): void {
  const isIts = (value: number): boolean => values[value]?.look === "waiting";
  const changes = rows
    .filter(({ kind }) => kind === "place")
    .flatMap((row) => [...row.slices].filter(([, , value]) => isIts(value)))
    .flatMap(([begin, end, , goesOn]): [number, number][] =>
      goesOn === 1
        ? [[begin, 1]]
        : [
            [begin, 1],
            [end, -1],
          ],
    )
    .sort((a, b) => a[0] - b[0]);
  let now = 0;
  changes.forEach(([at, by], i) => {
    now += by;
    if (changes[i + 1]?.[0] !== at) add(at, now);
  });
}

/** The values of a counter in the order of time. */
function valuesOf(all: Inside, name: string): [number, Amount | null][] {
  const found: [number, Amount | null][] = [];
  if (name === RUNNABLE) {
    found.push([Number.NEGATIVE_INFINITY, 0]);
    runnable(all, (at, value) => found.push([at, value]));
    return found;
  }
  const dot = name.lastIndexOf(".");
  const [event, field] = [name.slice(0, dot), name.slice(dot + 1)];
  for (const row of all.events) {
    const isIts = isCalled(row.event, (own) => own === event);
    const value = isIts ? valueOf(row, field) : undefined;
    if (value !== undefined) found.push([row.at, value]);
  }
  if (found.length === 0) throw new Error(`no event of the file has numbers in the field ${name}`);
  return found;
}

export function counter(all: Inside, words: Words): Counter {
  const number = (word: string): number => Number(words[word]);
  const [begin, end, pixels] = [number("from"), number("until"), number("pixels")];
  const told: Counter = { columns: [], before: null, count: 0, not_numbers: 0, stopped: null };
  for (const [at, value] of valuesOf(all, String(words["counter"]))) {
    if (at < begin) told.before = value ?? told.before;
    if (at < begin || at >= end) continue;
    if (value === null) {
      told.not_numbers++;
      continue;
    }
    told.count++;
    const pixel = Math.min(Math.floor(((at - begin) / (end - begin)) * pixels), pixels - 1);
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

export function numbers(all: Inside): { names: string[]; offered: string[]; left_out: number } {
  const names = new Set<string>();
  for (const row of all.events) {
    for (const field of Object.keys(row.event.fields ?? {})) {
      if (valueOf(row, field) != null) names.add(`${row.event.name}.${field}`);
    }
  }
  const offered = all.values.some(({ look }) => look === "waiting") ? [RUNNABLE] : [];
  return { names: [...names].sort(), offered, left_out: 0 };
}
