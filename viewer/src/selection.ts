// SPDX-License-Identifier: MIT
// What a click on the time line means.

import { timeAt, yOf, type Scene, type Selection } from "./draw";
import { LANE, lanesOf, type Placed } from "./layout";
import type { Slice } from "./protocol";

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
    .flatMap((found) => found.slices);
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
  return { ...of, begin, end, at: begin, label: scene.values[value]?.label ?? "" };
}

export function rowSelection(row: Placed, at: number): Selection {
  const kind = lanesOf(row.track)[0]?.kind ?? "";
  return { track: row.track.id, kind, lane: 0, begin: at, end: at, label: row.track.name, at };
}
