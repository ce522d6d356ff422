// SPDX-License-Identifier: MIT
// How many events there are in each pixel of a view. An answer counts so many that it is there at
// once; the rest is counted while the page shows what is known.
//
// Place in the flow: app.ts asks on here once a view is drawn, and draws what comes.

import type { Ticks, Track } from "./protocol";

/** Answers about one view. */
const MOST_ANSWERS = 100;
/** How often what is known is drawn meanwhile. */
const DRAWN_MS = 250;
/** Single events of a view. */
export const MOST_MARKS = 1500;

type Row = Ticks["rows"][number];
type Counts = Row["counts"];

type Whose = Partial<Record<"host" | "cpu" | "pid" | "tid", number | undefined>>;

const keyOf = ({ host, cpu, pid, tid }: Whose): string => [host, cpu, pid, tid].join();

/** What frames need of an answer. */
interface Found {
  rows: Map<string, { counts: Counts; most: number }>;
  /** Of all CPUs. */
  sums: { counts: Counts; most: number };
}

const looked = new WeakMap<Ticks, Found>();

/** A loop, since there may be more pixels than a call has arguments. */
function most(counts: Counts): number {
  let found = 1;
  for (const one of counts) found = Math.max(found, one[1]);
  return found;
}

function foundIn(ticks: Ticks): Found {
  const before = looked.get(ticks);
  if (before) return before;
  const rows = new Map<string, { counts: Counts; most: number }>();
  const sums: number[] = [];
  for (const row of ticks.rows) {
    rows.set(keyOf(row), { counts: row.counts, most: most(row.counts) });
    // Each event is in one row that is of no thread.
    if (row.cpu === undefined && row.tid !== undefined) continue;
    for (const one of row.counts) sums[one[0]] = (sums[one[0]] ?? 0) + one[1];
  }
  const counts: Counts = [];
  sums.forEach((count, pixel) => counts.push([pixel, count]));
  const found = { rows, sums: { counts, most: most(counts) } };
  looked.set(ticks, found);
  return found;
}

/** The counts of a CPU's or a thread's row, and the greatest of them. */
export function countsOf(ticks: Ticks, track: Track): { counts: Counts; most: number } | undefined {
  const { kind, host, cpu, pid, tid } = track;
  if (kind === "cpu") return foundIn(ticks).rows.get(keyOf({ host, cpu }));
  return kind === "thread" ? foundIn(ticks).rows.get(keyOf({ host, pid, tid })) : undefined;
}

/** The same of all events. */
export function sumsOf(ticks: Ticks): { counts: Counts; most: number } {
  return foundIn(ticks).sums;
}

/** Most often the further ones begin in the pixel in which the others end, or after it. */
function added(all: Counts, more: Counts): Counts {
  const [last, first] = [all[all.length - 1], more[0]];
  if (!last || !first || last[0] < first[0]) return [...all, ...more];
  const sums = new Map(all);
  for (const [pixel, count] of more) sums.set(pixel, (sums.get(pixel) ?? 0) + count);
  return [...sums].sort((a, b) => a[0] - b[0]);
}

/** What two answers say, of which the second begins where the first stopped. */
export function joined(all: Ticks, more: Ticks): Ticks {
  const rows = new Map(all.rows.map((row) => [keyOf(row), row]));
  for (const row of more.rows) {
    const own = rows.get(keyOf(row));
    rows.set(keyOf(row), own ? { ...own, counts: added(own.counts, row.counts) } : row);
  }
  // An answer that has events and no marks had too many.
  const areFew = [all, more].every(({ total, marks }) => total === marks.length);
  const total = all.total + more.total;
  const isMarked = areFew && total <= MOST_MARKS;
  const marks = more.marks.map((mark) => ({ ...mark, name: mark.name + all.names.length }));
  return {
    measure: all.measure,
    total,
    rows: [...rows.values()],
    names: isMarked ? [...all.names, ...more.names] : [],
    marks: isMarked ? [...all.marks, ...marks] : [],
    stopped: more.stopped,
  };
}

/** Asks on where an answer stopped, and gives what is known now and then, and at the end. */
export async function* countedOn(
  first: Ticks,
  ask: (start: number) => Promise<Ticks>,
): AsyncGenerator<Ticks> {
  let [known, shown] = [first, first];
  let drawn = performance.now();
  // Bound: MOST_ANSWERS, each of which goes on where the one before stopped.
  for (let i = 1; i < MOST_ANSWERS && known.stopped !== null; i++) {
    known = joined(known, await ask(known.stopped));
    if (performance.now() - drawn < DRAWN_MS) continue;
    yield known;
    [shown, drawn] = [known, performance.now()];
  }
  if (known !== shown) yield known;
}
