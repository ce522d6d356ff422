// SPDX-License-Identifier: MIT
// A running session has gone on: times count from another beginning then, and rows have other
// identifiers. Here what was shown is found again in what the session is now.

import type { Scene } from "./draw";
import type { About, Track } from "./protocol";
import { clamped } from "./time";

/** What says that a row is the same one in another state of a session. */
function sameOf({ kind, host, cpu, pid, tid, name }: Track): string {
  return JSON.stringify([kind, host, cpu, pid, tid, kind === "lock" ? name : ""]);
}

/** By how much times are later when they count from another beginning. */
export function shiftOf(old: About, about: About): number {
  return Number(BigInt(old.origin_ns) - BigInt(about.origin_ns));
}

/** For the identifier of a row the one that it has now; empty, if it is not there any more. */
export function finder(old: readonly Track[], tracks: readonly Track[]): (id: string) => string {
  const before = new Map(old.map((track) => [track.id, sameOf(track)]));
  const now = new Map(tracks.map((track) => [sameOf(track), track.id]));
  return (id) => now.get(before.get(id) ?? "") ?? "";
}

/** Moves view, selection, mark and measure to where they are now. */
export function move(
  scene: Scene,
  [old, about]: [About, About],
  found: (id: string) => string,
  isFollowing: boolean,
): void {
  const by = shiftOf(old, about);
  const { from, until } = scene.view;
  const isAll = from <= 0 && until >= old.length_ns;
  const end = about.length_ns;
  const last = { from: isAll ? 0 : end - (until - from), until: Math.max(end, 1) };
  scene.view = clamped(isFollowing ? last : { from: from + by, until: until + by }, end);
  if (scene.mark !== null) scene.mark += by;
  if (scene.measure)
    scene.measure = { from: scene.measure.from + by, until: scene.measure.until + by };
  const { selection } = scene;
  if (!selection) return;
  scene.selection = {
    ...selection,
    track: found(selection.track),
    at: selection.at + by,
    begin: selection.begin + by,
    end: selection.end + by,
  };
}
