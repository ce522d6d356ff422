// SPDX-License-Identifier: MIT
// The questions of docs/formats/view.md, and the shapes of their answers.

import { answer as answerFrom, firstAnswer, inside, type Words } from "./inside";
import { BYTES, SliceList } from "./slice-list";
import type { View } from "./time";

export interface About {
  version: number;
  traces: string[];
  origin_ns: string;
  length_ns: number;
  hosts: string[];
  events: string[];
  lost: number;
  left_out: number;
  notes: string[];
  /** Of a running session: which of its states is answered from. */
  revision?: number;
  is_live: boolean;
  /** The folders of the traces that these are compared with. */
  beside?: string[];
}

export interface Track {
  id: string;
  kind: "machine" | "cpu" | "process" | "thread" | "locks" | "lock" | "counter";
  name: string;
  parent: string | null;
  host: number;
  cpu?: number;
  pid?: number;
  tid?: number;
  lanes: Record<string, number>;
}

export interface Said {
  look: string;
  name: string;
  label: string;
  /** The row of the thread that it is about. */
  thread?: string;
}

interface Lane {
  track: string;
  kind: string;
  lane: number;
}

export interface SliceRow extends Lane {
  slices: SliceList;
}

export interface Slices {
  values: Said[];
  rows: SliceRow[];
  /** There are more than an answer holds: rows further down lack some, or all. */
  is_cut: boolean;
}

/** What an answer in bytes begins with: the length of the text that follows, and nothing. */
const BEFORE = 8;

/** Slices from an answer in bytes: a text in JSON, and behind it the columns of its rows. */
export function unpacked(bytes: ArrayBuffer): Slices {
  const [size = 0] = new Uint32Array(bytes, 0, 1);
  const text = new TextDecoder().decode(new Uint8Array(bytes, BEFORE, size));
  const told = JSON.parse(text) as Omit<Slices, "rows"> & {
    rows: (Lane & { count: number; goes_on: number[] })[];
  };
  let at = BEFORE + size;
  const rows = told.rows.map(({ track, kind, lane, count, goes_on }) => {
    const slices = new SliceList(count, goes_on, bytes, at);
    at += count * BYTES;
    return { track, kind, lane, slices };
  });
  return { ...told, rows };
}

interface Whose {
  host: number;
  cpu?: number;
  pid?: number;
  tid?: number;
}

export interface Ticks {
  measure: "events" | "bytes";
  total: number;
  rows: (Whose & { counts: [number, number][] })[];
  names: string[];
  marks: (Whose & { at: number; name: number })[];
  stopped: number | null;
}

export interface Region {
  host: number;
  cpu: number | null;
  begin: number;
  until: number;
  count: number;
  losses: number;
}

/** An event as `lull print --json` has it; see docs/formats/print.md. */
export interface EventJson {
  name: string;
  cpu: number | null;
  thread?: { name: string; pid: number; tid: number };
  context?: Record<string, unknown>;
  /** Names of the addresses in call stacks. */
  symbols?: Record<string, unknown>;
  fields: Record<string, unknown>;
  error?: string;
}

export interface EventRow {
  at: number;
  trace: number;
  event: EventJson;
  /** Which fields and contexts are integers that a script does not hold exactly, as texts of their
   * digits, or arrays with such. */
  integers?: { fields?: string[]; context?: string[] };
}

export interface Page {
  rows: EventRow[];
  scanned: number;
  next: { from: number; skip: number } | null;
  /** What the names of functions lack. */
  notes?: string[];
}

export interface State {
  kind: string;
  lane: number;
  label: string;
  /** The row of the thread that it is about. */
  thread?: string;
  begin: number;
  until: number;
  goes_on: boolean;
}

export interface Details {
  track: Track;
  at: number;
  at_ns: string;
  states: State[];
  /** Of a lock: the first waits within the state of its holder, and how many there are. */
  waits?: { states: State[]; count: number };
  is_lossy: boolean;
}

/** What let a thread go on; a track is null if it has no row. */
export interface Arrow {
  kind: "wake" | "lock";
  label: string;
  from: { track: string | null; at: number };
  to: { track: string | null; at: number };
}

export interface Arrows {
  arrows: Arrow[];
  is_cut: boolean;
  stopped: number | null;
}

/** How long calls or states of a name took. */
export interface Statistic {
  /** `null`: all others than those that have a row. */
  kind: string | null;
  name: string | null;
  look: string;
  count: number;
  total_ns: number;
  mean_ns: number;
  min_ns: number;
  p50_ns: number;
  p90_ns: number;
  p99_ns: number;
  max_ns: number;
  inside_ns: number;
  cut: number;
  unsure: number;
  buckets: [number, number, number][];
  longest: { track: string; lane: number; begin: number; until: number } | null;
}

export interface Statistics {
  rows: Statistic[];
  read: number;
  stopped: number | null;
  lost: number;
}

/** A number, or the digits of an integer that a script does not hold exactly. */
export type Amount = number | string;

/** The values of a field in a span. */
export interface Counter {
  /** Pixel, least, greatest and last value. */
  columns: [number, Amount, Amount, Amount][];
  /** The last value before the span, if one was found near it. */
  before: Amount | null;
  count: number;
  not_numbers: number;
  /** What is later was not read. */
  stopped: number | null;
}

/** The words of `lull print` for which events are wanted. */
export interface Filter {
  e: string;
  pid: string;
  tid: string;
  cpu: string;
  comm: string;
}

export const NO_FILTER: Filter = { e: "", pid: "", tid: "", cpu: "", comm: "" };

/** What a running session was before is not there any more. */
export class Stale extends Error {}

/** What the stacks of a flame graph are of; empty: what the trace is best for. */
export type FlameOf = "" | "calls" | "waits" | "stacks";

export interface Flame {
  measure: "ns" | "events";
  of: string;
  stacks: { frames: string[]; value: number }[];
  total: number;
  left_out: number;
  events: number;
  stopped: number | null;
  lost: number;
  notes: string[];
}

/** Rows of a comparison; those that differ first. */
export interface LatencyRow {
  name: string;
  verdict: string;
  count_a: number;
  count_b: number;
  p50_a_ns: number | null;
  p50_b_ns: number | null;
  p99_a_ns: number | null;
  p99_b_ns: number | null;
  total_change_ns: number;
  longer_share: number | null;
  p: number | null;
  q: number | null;
}

export interface RateRow {
  name: string;
  verdict: string;
  count_a: number;
  count_b: number;
  per_s_a: number;
  per_s_b: number;
  more_share: number | null;
  p: number | null;
  q: number | null;
}

export interface ComparedSide {
  events: number;
  stopped: number | null;
  lost: number;
}

export interface Compared {
  a: ComparedSide;
  b: ComparedSide;
  latencies: { rows: LatencyRow[]; left_out: number };
  rates: { rows: RateRow[]; left_out: number };
  notes: string[];
}

const whole = (view: View): { from: number; until: number } => ({
  from: Math.floor(view.from),
  until: Math.ceil(view.until),
});

/** Rows of states by what they are of. */
export function byTrack(all: readonly SliceRow[]): Map<string, SliceRow[]> {
  const rows = new Map<string, SliceRow[]>();
  for (const row of all) {
    const own = rows.get(row.track);
    if (own) own.push(row);
    else rows.set(row.track, [row]);
  }
  return rows;
}

/** A view, and where an earlier answer about it stopped. */
interface Part {
  view: View;
  pixels: number;
  start: number | null;
}

/** Who answers questions about one trace. */
export class Source {
  private revision: number | undefined;

  /** `prefix`: what stands before the questions about the second trace. */
  constructor(private readonly prefix: "" | "b/") {}

  /** From now on, questions are about this state of a running session. */
  askOf(about: About): void {
    this.revision = about.revision;
  }

  private async ask<T>(
    question: string,
    words: Words,
    signal?: AbortSignal,
    of: number | undefined = this.revision,
  ): Promise<T> {
    const kept = inside();
    if (kept) return answerFrom(kept, question, words) as T;
    const came = this.prefix === "" ? firstAnswer(question) : undefined;
    if (came !== undefined) return came as T;
    const response = await this.response(question, words, signal, of);
    return (await response.json()) as T;
  }

  /** What the server answers, unless it refuses. */
  private async response(
    question: string,
    words: Words,
    signal: AbortSignal | undefined,
    of: number | undefined,
  ): Promise<Response> {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(words)) {
      if (value !== "") query.set(key, String(value));
    }
    if (of !== undefined && question !== "trace") query.set("revision", String(of));
    const path = `${this.prefix}v1/${question}?${query}`;
    const response = await fetch(path, signal ? { signal } : {}).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new Error("lull view does not answer: it has ended, or cannot be reached any more");
    });
    if (response.status === 409) throw new Stale();
    if (!response.ok) throw new Error(((await response.json()) as { error: string }).error);
    return response;
  }

  about(): Promise<About> {
    return this.ask("trace", {});
  }

  /** At most so many rows of a state of the session, which need not be the one that other questions
   * are about; nothing, if it has gone on meanwhile. */
  async allTracks(
    about: About,
    most: number,
  ): Promise<{ tracks: Track[]; left_out: number } | null> {
    const tracks: Track[] = [];
    let total = 1;
    try {
      while (tracks.length < Math.min(total, most)) {
        const words = { offset: tracks.length };
        const part: { total: number; tracks: Track[] } = await this.ask(
          "tracks",
          words,
          undefined,
          about.revision,
        );
        total = part.total;
        if (part.tracks.length === 0) break;
        tracks.push(...part.tracks);
      }
    } catch (error) {
      if (error instanceof Stale) return null;
      throw error;
    }
    return { tracks, left_out: total - tracks.length };
  }

  async slices(view: View, pixels: number, ids: string[], s: AbortSignal): Promise<Slices> {
    const words = { ...whole(view), pixels, tracks: ids.join(",") };
    if (inside()) return this.ask("slices", words, s);
    const response = await this.response("slices.bytes", words, s, this.revision);
    return unpacked(await response.arrayBuffer());
  }

  /** How many events there are in a view, from a time on, or from its beginning. */
  ticks({ view, pixels, start }: Part, filter: Filter, s: AbortSignal): Promise<Ticks> {
    return this.ask("ticks", { ...whole(view), pixels, ...filter, start: start ?? "" }, s);
  }

  lost(view: View, pixels: number, s: AbortSignal): Promise<{ regions: Region[] }> {
    return this.ask("lost", { ...whole(view), pixels }, s);
  }

  events(words: Words, filter: Filter, s?: AbortSignal): Promise<Page> {
    return this.ask("events", { ...words, ...filter }, s);
  }

  /** Arrows with a time in a view and an end in one of these rows. */
  flows(view: View, ids: string[], limit: number, s: AbortSignal): Promise<Arrows> {
    return this.ask("flows", { ...whole(view), tracks: ids.join(","), limit }, s);
  }

  /** The values of EVENT.FIELD in a view, from a time on, or from its beginning. */
  counter(counter: string, { view, pixels, start }: Part, s: AbortSignal): Promise<Counter> {
    return this.ask("counter", { ...whole(view), pixels, counter, start: start ?? "" }, s);
  }

  /** The fields of events that are numbers, and what else there is to count. */
  numbers(): Promise<{ names: string[]; offered: string[]; left_out: number }> {
    return this.ask("numbers", {});
  }

  statistics(view: View, track: string, s: AbortSignal): Promise<Statistics> {
    return this.ask("statistics", { ...whole(view), track }, s);
  }

  flame(view: View, track: string, of: FlameOf, s: AbortSignal): Promise<Flame> {
    return this.ask("flame", { ...whole(view), track, of }, s);
  }

  details(track: string, at: number): Promise<Details> {
    return this.ask("details", { track, at: Math.round(at) });
  }

  /** What is different in a span of the second trace. */
  compare(a: View, b: View, s: AbortSignal): Promise<Compared> {
    const { from, until } = whole(b);
    return this.ask("compare", { ...whole(a), b_from: from, b_until: until }, s);
  }
}
