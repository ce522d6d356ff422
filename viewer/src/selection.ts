// SPDX-License-Identifier: MIT
// What a click on the time line means.

import { NAMES, timeAt, yOf, type Scene, type Selection } from "./draw";
import { LANE, lanesOf, type Placed } from "./layout";
import type { Arrow, Details, EventRow, Track } from "./protocol";
import type { Slice } from "./slice-list";

/** The slice at a point of a row, or else the row at that time. */
export function hit(scene: Scene, row: Placed, [x, y]: [number, number]): Selection {
  const at = timeAt(scene, x);
  const lane = Math.floor((y - yOf(scene, row) - 3) / LANE);
  const kind = lanesOf(row.track).find((k) => k.first <= lane && lane < k.first + k.count);
  const chosen = rowSelection(row, at);
  if (!kind) return chosen;
  const own = { ...chosen, kind: kind.kind, lane: lane - kind.first };
  const slack = timeAt(scene, x + 2) - at;
  const slices = (scene.rows.get(row.track.id) ?? [])
    .filter((found) => found.kind === own.kind && found.lane === own.lane)
    .flatMap((found) => [...found.slices]);
  const slice =
    slices.find(([begin, end]) => begin <= at && at < end) ??
    slices.find(([begin, end]) => begin - slack <= at && at < end + slack);
  return slice
    ? {
        ...sliceSelection(scene, own, slice),
        at: Math.min(Math.max(at, slice[0]), Math.max(slice[1] - 1, slice[0])),
      }
    : own;
}

export function sliceSelection(scene: Scene, of: Selection, slice: Slice): Selection {
  const [begin, end, value] = slice;
  // Its edges are those of pixels: the state may begin within the first of them.
  const pixel = (scene.rowsView.until - scene.rowsView.from) / Math.max(scene.width - NAMES, 1);
  const at = Math.floor(begin + Math.min((end - begin) / 2, pixel));
  return { ...of, begin, end, at, label: scene.values[value]?.label ?? "" };
}

export function rowSelection(row: Placed, at: number): Selection {
  const kind = lanesOf(row.track)[0]?.kind ?? "";
  return { track: row.track.id, kind, lane: 0, begin: at, end: at, label: row.track.name, at };
}

/** The slice after what is selected (1), or the one before (-1). */
export function nextSlice(scene: Scene, selection: Selection, by: number): Slice | undefined {
  const all = (scene.rows.get(selection.track) ?? [])
    .filter((row) => row.kind === selection.kind && row.lane === selection.lane)
    .flatMap((row) => [...row.slices]);
  const now = all.findIndex(([begin, end]) => begin <= selection.at && selection.at < end);
  const after = all.findIndex(([begin]) => begin > selection.at);
  const until = after < 0 ? all.length : after;
  return all[now >= 0 ? now + by : by > 0 ? until : until - 1];
}

/** An event in the row of its thread, or else of its CPU. */
export function eventSelection(tracks: readonly Track[], { at, event }: EventRow): Selection {
  const isIts = (track: Track): boolean =>
    event.thread
      ? track.kind === "thread" && track.tid === event.thread.tid && track.pid === event.thread.pid
      : track.kind === "cpu" && track.cpu === event.cpu;
  const track = tracks.find(isIts)?.id ?? "";
  return { track, kind: "", lane: 0, begin: at, end: at, label: event.name, at };
}

/** Kinds of states that an arrow is about at its ends, the first that there is. */
export function endKinds(of: Arrow["kind"]): string[] {
  return of === "lock" ? ["call", "place"] : ["place", "interrupt", "runs"];
}

/** What is selected at an end of an arrow: the innermost call that the lock was let go or waited for
 * in, or where the woken or waking thread was. */
export function landed(
  track: Track,
  at: number,
  of: Arrow["kind"],
  states: Details["states"],
): Selection {
  const kinds = endKinds(of);
  const found = kinds.map((kind) => states.filter((state) => state.kind === kind).pop());
  const state = found.find((one) => one !== undefined);
  const [begin, end] = state ? [state.begin, state.until] : [at, at];
  const { kind, lane, label } = state ?? { kind: kinds[1] ?? "", lane: 0, label: track.name };
  return { track: track.id, kind, lane, begin, end, label, at };
}
