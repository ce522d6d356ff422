// SPDX-License-Identifier: MIT
// The questions of docs/formats/view.md, and the shapes of their answers.

import { answer as answerFrom, inside, type Words } from "./inside";
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
}

export interface Track {
  id: string;
  kind: "machine" | "cpu" | "process" | "thread";
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
}

/** Begin, end, position in `values`, 1 if it goes on at the trace's end, how many states it is. */
export type Slice = [number, number, number, number, number];

export interface SliceRow {
  track: string;
  kind: string;
  lane: number;
  slices: Slice[];
}

export interface Slices {
  values: Said[];
  rows: SliceRow[];
  is_cut: boolean;
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
  fields: Record<string, unknown>;
  error?: string;
}

export interface EventRow {
  at: number;
  trace: number;
  event: EventJson;
}

export interface Page {
  rows: EventRow[];
  scanned: number;
  next: { from: number; skip: number } | null;
}

export interface Details {
  track: Track;
  at: number;
  at_ns: string;
  states: {
    kind: string;
    lane: number;
    label: string;
    begin: number;
    until: number;
    goes_on: boolean;
  }[];
  is_lossy: boolean;
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

let revision: number | undefined;

/** From now on, questions are about this state of a running session. */
export function askOf(about: About): void {
  revision = about.revision;
}

async function ask<T>(
  question: string,
  words: Words,
  signal?: AbortSignal,
  of: number | undefined = revision,
): Promise<T> {
  const kept = inside();
  if (kept) return answerFrom(kept, question, words) as T;
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(words)) {
    if (value !== "") query.set(key, String(value));
  }
  if (of !== undefined && question !== "trace") query.set("revision", String(of));
  const response = await fetch(`v1/${question}?${query}`, signal ? { signal } : {});
  const answer: unknown = await response.json();
  if (response.status === 409) throw new Stale();
  if (!response.ok) throw new Error((answer as { error: string }).error);
  return answer as T;
}

const whole = (view: View): Words => ({
  from: Math.floor(view.from),
  until: Math.ceil(view.until),
});

export const askAbout = (): Promise<About> => ask("trace", {});

/** Rows of a state of the session, which need not be the one that other questions are about. */
export const askTracks = (
  offset: number,
  about: About,
): Promise<{ total: number; tracks: Track[] }> =>
  ask("tracks", { offset }, undefined, about.revision);

export const askSlices = (
  view: View,
  pixels: number,
  ids: string[],
  s: AbortSignal,
): Promise<Slices> => ask("slices", { ...whole(view), pixels, tracks: ids.join(",") }, s);

export const askTicks = (
  view: View,
  pixels: number,
  filter: Filter,
  s: AbortSignal,
): Promise<Ticks> => ask("ticks", { ...whole(view), pixels, ...filter }, s);

export const askLost = (
  view: View,
  pixels: number,
  s: AbortSignal,
): Promise<{ regions: Region[] }> => ask("lost", { ...whole(view), pixels }, s);

export const askEvents = (words: Words, filter: Filter, s?: AbortSignal): Promise<Page> =>
  ask("events", { ...words, ...filter }, s);

export const askStatistics = (view: View, track: string): Promise<Statistics> =>
  ask("statistics", { ...whole(view), track });

export const askDetails = (track: string, at: number): Promise<Details> =>
  ask("details", { track, at: Math.round(at) });
