// SPDX-License-Identifier: MIT
// Answers the questions of docs/formats/view.md from what `lull export --html` put into the page.
//
// Place in the flow: protocol.ts asks here in place of a server. A file has a bounded number of
// states and events, each as it is in the trace, so the answers are computed from all of them.

import { counter, numbers } from "./inside-counters";
import {
  type About,
  type Arrow,
  type EventJson,
  type EventRow,
  type Region,
  type Said,
  type SliceRow,
  type Slices,
  type State,
  type Track,
} from "./protocol";
import { SliceList, type Slice, type ToldSlices } from "./slice-list";
import { MOST_MARKS } from "./ticks";

/** What is in the file. */
export interface Inside {
  about: About;
  /** By trace: the number of its machine. */
  hosts: number[];
  tracks: Track[];
  values: Said[];
  /** Kinds that are told of one moment and not drawn are among them. */
  rows: SliceRow[];
  lost: Region[];
  /** In the order in which they end. */
  flows: Arrow[];
  /** In the order of time. */
  events: EventRow[];
}

/** The same as it stands in the file. */
interface Told extends Omit<Inside, "rows"> {
  rows: (Omit<SliceRow, "slices"> & ToldSlices)[];
}

export type Words = Record<string, string | number>;

const DRAWN = new Set(["place", "call", "runs", "interrupt", "life", "holder", "queue"]);
const MOST_ROWS = 500;

/** What came with the page: a file has all that there is, and a server's page has the answers to
 * what it asks first. */
let kept: Inside | null | undefined;
let first: Record<string, unknown> = {};

function read(text: string): Inside | null {
  const all = JSON.parse(text) as
    (Told & { first?: never }) | { first: Record<string, unknown> | null };
  if (all.first === undefined) {
    const rows = all.rows.map((row) => ({ ...row, slices: SliceList.told(row) }));
    return { ...all, rows };
  }
  first = all.first ?? {};
  return null;
}

/** What is in this page's file; `null` where a server answers. */
export function inside(): Inside | null {
  if (kept === undefined) kept = read(document.getElementById("trace-data")?.textContent ?? "");
  return kept;
}

/** The answer to a question that came with the page, once; later ones may be others. */
export function firstAnswer(question: string): unknown {
  const own = first[question];
  delete first[question];
  return own;
}

/** An answer. An error says why there is none. */
export function answer(all: Inside, question: string, words: Words): unknown {
  switch (question) {
    case "trace":
      return all.about;
    case "tracks":
      return tracks(all, words);
    case "slices":
      return slices(all, words);
    case "ticks":
      return ticks(all, words);
    case "lost":
      return { regions: all.lost.filter(({ begin, until }) => meets(words, begin, until)) };
    case "flows":
      return flows(all, words);
    case "events":
      return page(all, words);
    case "details":
      return details(all, words);
    case "counter":
      return counter(all, words);
    case "numbers":
      return numbers(all);
    default:
      throw new Error("this file has no answer to that; open the trace with lull view");
  }
}

const number = (words: Words, name: string, otherwise: number): number => {
  const value = words[name];
  return value === undefined || value === "" ? otherwise : Number(value);
};
const from = (words: Words): number => number(words, "from", 0);
const until = (words: Words): number => number(words, "until", Number.MAX_SAFE_INTEGER);
const meets = (words: Words, begin: number, end: number): boolean =>
  begin < until(words) && end >= from(words);

function tracks(all: Inside, words: Words): unknown {
  const offset = number(words, "offset", 0);
  return { total: all.tracks.length, offset, tracks: all.tracks.slice(offset, offset + 2000) };
}

/** States of a span: those that are narrower than a pixel are one in each, which looks like the
 * one of them that takes most of it. */
export function overview(
  row: Iterable<Slice>,
  begin: number,
  end: number,
  pixels: number,
): Slice[] {
  const step = (end - begin) / pixels;
  const drawn: Slice[] = [];
  let group: Slice[] = [];
  let pixel = 0;
  const flush = (): void => {
    const [first, last] = [group[0], group[group.length - 1]];
    if (!first || !last) return;
    const shares = new Map<number, number>();
    for (const [at, to, value] of group) shares.set(value, (shares.get(value) ?? 0) + to - at);
    let most = first[2];
    for (const [value, share] of shares) if (share > (shares.get(most) ?? 0)) most = value;
    drawn.push([first[0], last[1], most, last[3], group.length]);
    group = [];
  };
  for (const slice of row) {
    const [at, to] = slice;
    if (to < begin || at >= end) continue;
    const own = Math.floor((at - begin) / step);
    const isNarrow = to - at < step;
    if (!isNarrow || own !== pixel) flush();
    pixel = own;
    if (isNarrow) group.push(slice);
    else drawn.push(slice);
  }
  flush();
  return drawn;
}

function slices(all: Inside, words: Words): Slices {
  const asked = new Set(String(words["tracks"] ?? "").split(","));
  const [begin, end] = [from(words), until(words)];
  const rows = all.rows
    .filter((row) => asked.has(row.track) && DRAWN.has(row.kind))
    .map((row) => ({
      ...row,
      slices: SliceList.of(overview(row.slices, begin, end, number(words, "pixels", 1))),
    }));
  return { values: all.values, rows, is_cut: false };
}

/** The set of a pattern, without its brackets, as a regular expression has it. */
function set(letters: string[], isNot: boolean): string {
  const code = (letter: string): string => `\\u{${letter.codePointAt(0)?.toString(16)}}`;
  let ranges = "";
  for (let at = 0; at < letters.length; at++) {
    const first = letters[at] ?? "";
    const isRange = letters[at + 1] === "-" && at + 2 < letters.length;
    if (isRange) at += 2;
    const last = letters[at] ?? "";
    // A range that ends before it begins has no letter.
    if (first <= last) ranges += `${code(first)}-${code(last)}`;
  }
  return `[${isNot ? "^" : ""}${ranges}]`;
}

/** A pattern of names as -e has it: * is any text, ? a letter, [a-z] one of a set, [!a-z] none. */
function glob(pattern: string): RegExp {
  const refused = (reason: string): Error => new Error(`-e '${pattern}': ${reason}`);
  if (pattern === "") throw refused("there is no name to match; write * for all");
  const parts = pattern.match(/\[!?\]?[^\]]*\]|[^]/gu) ?? [];
  const source = parts.map((part) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    if (/^\[!?\]?$/.test(part)) throw refused("the set that begins with '[' has no ']'");
    if (part <= " ") throw refused("names hold no spaces");
    if (part.length === 1 || !part.startsWith("[")) return set([part], false);
    const isNot = part[1] === "!";
    return set([...part.slice(isNot ? 2 : 1, -1)], isNot);
  });
  return new RegExp(`^${source.join("")}$`, "su");
}

/** Whether an event has a name: as the trace has it, or without the number that tells apart equal
 * names of two programs. */
export function isCalled(event: EventJson, isIt: (name: string) => boolean): boolean {
  return isIt(event.name) || isIt(event.name.replace(/#\d+$/, ""));
}

function listed(
  text: string,
  name: string,
  form = /^[+-]?\d+$/,
): ((value: number | null) => boolean) | null {
  if (text.trim() === "") return null;
  const wanted = text.split(",").map((part) => {
    if (!form.test(part.trim())) throw new Error(`${name}: ${part} is no such number`);
    return Number(part);
  });
  return (value) => value !== null && wanted.includes(value);
}

/** Which events a filter lets through: names, processes, threads, CPUs, names of threads. */
export function filter(words: Words): (event: EventRow) => boolean {
  const text = (name: string): string => String(words[name] ?? "");
  const e = text("e");
  if (/\s(if|sample)(\s|$)/.test(e) || e.includes("@")) {
    throw new Error(
      "a file filters by names, such as io:*; levels, and what stands behind a name, need the " +
        "trace itself: lull view",
    );
  }
  // One pattern alone that leaves events out takes none, whichever it is.
  const isNot = e.startsWith("!");
  const name = e === "" ? null : glob(isNot ? e.slice(1) : e);
  const comm = text("comm");
  const isNamed = (own: string): boolean =>
    comm.endsWith("*") ? own.startsWith(comm.slice(0, -1)) : own === comm;
  const [pid, tid] = [listed(text("pid"), "pid"), listed(text("tid"), "tid")];
  const cpu = listed(text("cpu"), "cpu", /^\+?\d+$/);
  return ({ event }) =>
    (!name || (!isNot && isCalled(event, (own) => name.test(own)))) &&
    (comm === "" || (event.thread !== undefined && isNamed(event.thread.name))) &&
    (!pid || pid(event.thread?.pid ?? null)) &&
    (!tid || tid(event.thread?.tid ?? null)) &&
    (!cpu || cpu(event.cpu));
}

/** The position of the first event that is not before a time. */
export function firstFrom(events: EventRow[], at: number): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.at ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function spanOf(all: Inside, words: Words): EventRow[] {
  const end = firstFrom(all.events, until(words));
  return all.events.slice(firstFrom(all.events, from(words)), end);
}

function ticks(all: Inside, words: Words): unknown {
  const takes = filter(words);
  const pixels = number(words, "pixels", 1);
  const [begin, width] = [from(words), until(words) - from(words)];
  const rows = new Map<string, { counts: Map<number, number>; key: object }>();
  const names = new Map<string, number>();
  const marks: object[] = [];
  let total = 0;
  for (const row of spanOf(all, words)) {
    if (!takes(row)) continue;
    total++;
    const { event } = row;
    const host = all.hosts[row.trace] ?? 0;
    const pixel = Math.min(Math.floor(((row.at - begin) / width) * pixels), pixels - 1);
    const whose = event.thread ? { host, pid: event.thread.pid, tid: event.thread.tid } : null;
    const keys = [event.cpu === null ? null : { host, cpu: event.cpu }, whose];
    for (const key of keys) {
      if (!key) continue;
      const id = JSON.stringify(key);
      const own = rows.get(id) ?? { counts: new Map<number, number>(), key };
      own.counts.set(pixel, (own.counts.get(pixel) ?? 0) + 1);
      rows.set(id, own);
    }
    if (marks.length > MOST_MARKS) continue;
    const name = names.get(event.name) ?? names.size;
    names.set(event.name, name);
    marks.push({ at: row.at, name, ...Object.assign({}, ...keys) });
  }
  const isMany = marks.length > MOST_MARKS;
  return {
    measure: "events",
    total,
    rows: [...rows.values()].map(({ key, counts }) => ({ ...key, counts: [...counts] })),
    names: isMany ? [] : [...names.keys()],
    marks: isMany ? [] : marks,
    stopped: null,
  };
}

function page(all: Inside, words: Words): unknown {
  const takes = filter(words);
  const limit = Math.min(number(words, "limit", MOST_ROWS), MOST_ROWS);
  const found = spanOf(all, words).filter(takes);
  const skip = number(words, "skip", 0);
  const rows = found.slice(skip, skip + limit);
  const last = rows[rows.length - 1];
  let next = null;
  if (last && found.length > skip + limit) {
    // `skip` counts events of the time `from`, of those that the filter lets through.
    const before = found.findIndex((row) => row.at === last.at);
    next = { from: last.at, skip: skip + limit - before };
  }
  return { rows, scanned: found.length, next };
}

function flows(all: Inside, words: Words): unknown {
  const asked = new Set(String(words["tracks"] ?? "").split(","));
  const isAsked = (id: string | null): boolean => id !== null && asked.has(id);
  const found = all.flows.filter(
    ({ from: tail, to: head }) =>
      tail.at <= until(words) &&
      head.at >= from(words) &&
      (words["tracks"] === "" || isAsked(tail.track) || isAsked(head.track)),
  );
  const limit = number(words, "limit", found.length);
  return { arrows: found.slice(0, limit), is_cut: found.length > limit, stopped: null };
}

/** Those states of some rows that are wanted. */
function statesOf(
  all: Inside,
  rows: SliceRow[],
  isWanted: (begin: number, end: number, goesOn: boolean) => boolean,
): State[] {
  return rows.flatMap(({ kind, lane, slices: own }) =>
    [...own]
      .filter(([begin, end, , goesOn]) => isWanted(begin, end, goesOn === 1))
      .map(([begin, end, value, goesOn]) => {
        const { label = "", thread } = all.values[value] ?? {};
        const about = thread === undefined ? {} : { thread };
        return { kind, lane, label, ...about, begin, until: end, goes_on: goesOn === 1 };
      }),
  );
}

function details(all: Inside, words: Words): unknown {
  const at = number(words, "at", 0);
  const track = all.tracks.find((found) => found.id === words["track"]);
  if (!track) throw new Error("there is no such track");
  const own = all.rows.filter((row) => row.track === track.id);
  const states = statesOf(all, own, (begin, end, goesOn) => {
    return begin <= at && (at < end || goesOn || begin === at);
  });
  const held = states.filter((state) => state.kind === "holder");
  const [first, last] = [
    Math.min(...held.map((state) => state.begin)),
    Math.max(...held.map((state) => state.until)),
  ];
  const ofWaits = own.filter((row) => row.kind === "waiter");
  const waiting = statesOf(all, ofWaits, (begin, end) => begin < last && end > first);
  waiting.sort((a, b) => a.begin - b.begin);
  const waits = held.length > 0 ? { states: waiting, count: waiting.length } : undefined;
  const isLossy = all.lost.some(
    ({ host, cpu, begin, until: end }) =>
      host === track.host &&
      (cpu === null || track.cpu === undefined || cpu === track.cpu) &&
      begin <= at &&
      at <= end,
  );
  const atNs = String(BigInt(all.about.origin_ns) + BigInt(Math.round(at)));
  return { track, at, at_ns: atNs, states, ...(waits && { waits }), is_lossy: isLossy };
}
