// SPDX-License-Identifier: MIT
// Where each row is: pure functions of the list of tracks and of what is folded.

import type { Track } from "./protocol";

export interface Placed {
  track: Track;
  top: number;
  height: number;
  depth: number;
  hasChildren: boolean;
}

/** Pixels of a row without lanes, and of each lane. */
export const HEAD = 22;
export const LANE = 16;
/** Pixels below the lanes, for the curve of events. */
export const FOOT = 12;
/** Pixels between rows. */
const GAP = 3;
/** Pixels of a row that is a line of numbers. */
const COUNTER = 52;
/** Lanes of calls that are drawn; deeper ones are not. */
export const MOST_LANES = 24;

/** The kinds of states in a row from top to bottom, with the lane that each begins at. */
export function lanesOf(track: Track): { kind: string; first: number; count: number }[] {
  const order = ["place", "runs", "life", "holder", "queue", "interrupt", "call"];
  let first = 0;
  const found: { kind: string; first: number; count: number }[] = [];
  for (const kind of order) {
    const count = Math.min(track.lanes[kind] ?? 0, MOST_LANES);
    if (count > 0) found.push({ kind, first, count });
    first += count;
  }
  return found;
}

/** The tracks that are not below a folded one, with their places. */
export function place(tracks: readonly Track[], folded: ReadonlySet<string>): Placed[] {
  const depths = new Map<string, number>();
  const hidden = new Set<string>();
  const parents = new Set(tracks.map((track) => track.parent));
  const placed: Placed[] = [];
  let top = 0;
  for (const track of tracks) {
    const depth = track.parent === null ? 0 : (depths.get(track.parent) ?? 0) + 1;
    depths.set(track.id, depth);
    if (track.parent !== null && (hidden.has(track.parent) || folded.has(track.parent))) {
      hidden.add(track.id);
      continue;
    }
    const lanes = lanesOf(track).reduce((sum, lane) => sum + lane.count, 0);
    const height = track.kind === "counter" ? COUNTER : Math.max(HEAD, lanes * LANE + FOOT);
    placed.push({ track, top, height, depth, hasChildren: parents.has(track.id) });
    top += height + GAP;
  }
  return placed;
}

/** How many pixels all rows take. */
export function heightOf(placed: readonly Placed[]): number {
  const last = placed[placed.length - 1];
  return last ? last.top + last.height : 0;
}

/** The first row that ends below a height: rows are in order. */
export function firstBelow(placed: readonly Placed[], y: number): number {
  let low = 0;
  let high = placed.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = placed[middle];
    if (row && row.top + row.height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The rows that share pixels with a stretch of heights. */
export function visible(placed: readonly Placed[], y: number, height: number): Placed[] {
  const found: Placed[] = [];
  for (let i = firstBelow(placed, y); i < placed.length; i++) {
    const row = placed[i];
    if (!row || row.top >= y + height) break;
    found.push(row);
  }
  return found;
}

/** The row at a height. */
export function rowAt(placed: readonly Placed[], y: number): Placed | undefined {
  const row = placed[firstBelow(placed, y)];
  return row && row.top <= y ? row : undefined;
}
