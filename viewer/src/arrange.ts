// SPDX-License-Identifier: MIT
// In which order rows are: pinned ones at the top, each with those below it, and the others by number
// or by name.

import type { Track } from "./protocol";

export const ORDERS = ["number", "name"] as const;
export type Order = (typeof ORDERS)[number];

export interface Arrangement {
  /** Identifiers of rows, the first at the top. */
  pins: string[];
  order: Order;
}

export const MOST_PINS = 50;

/** Rows in the order in which they are drawn. A pinned row is below no other. */
export function arranged(tracks: readonly Track[], { pins, order }: Arrangement): Track[] {
  const below = new Map<string | null, Track[]>();
  for (const track of tracks) {
    const own = below.get(track.parent);
    if (own) own.push(track);
    else below.set(track.parent, [track]);
  }
  if (order === "name") {
    for (const own of below.values()) own.sort((a, b) => compare(a.name, b.name));
  }
  const known = new Map(tracks.map((track) => [track.id, track]));
  const pinned = new Set(pins.filter((id) => known.has(id)));
  const found: Track[] = [];
  const add = (track: Track): void => {
    found.push(track);
    // Bound: a lock is below a group, that below a process, which is below a machine.
    for (const one of below.get(track.id) ?? []) if (!pinned.has(one.id)) add(one);
  };
  for (const id of pinned) {
    const track = known.get(id);
    if (track) add({ ...track, parent: null });
  }
  for (const track of below.get(null) ?? []) if (!pinned.has(track.id)) add(track);
  return found;
}

/** A row is pinned, or not any more; a text says why that is not so. */
export function toggled(
  { pins, order }: Arrangement,
  id: string | undefined,
): Arrangement | string {
  if (id === undefined) return "select a row first: it is pinned to the top";
  if (pins.includes(id)) return { pins: pins.filter((pin) => pin !== id), order };
  if (pins.length >= MOST_PINS) return `at most ${MOST_PINS} rows are pinned`;
  return { pins: [...pins, id], order };
}

/** Names with numbers in them are in the order of the numbers. The browser takes 15 ms for the first
 * collator, so it is made for who sorts by name. */
let collator: Intl.Collator | undefined;
function compare(a: string, b: string): number {
  collator ??= new Intl.Collator("en", { numeric: true });
  return collator.compare(a, b);
}
