// SPDX-License-Identifier: MIT
// Draws arrows from row to row: those of the selection over those of all rows in view.
//
// Place in the flow: draw.ts calls it when the rows are drawn and before their names are.

import { xOf, yOf, type Scene } from "./draw";
import { HEAD, LANE, lanesOf, type Placed } from "./layout";
import type { Arrow } from "./protocol";
import { endKinds } from "./selection";

/** Pixels of an arrow's point. */
const POINT = 6;

/** The middle of what an arrow is about in a row: the deepest call or interrupt at that time, or else
 * where the thread is. */
function middle(scene: Scene, row: Placed, kinds: string[], at: number): number {
  const lanes = scene.rows.get(row.track.id) ?? [];
  const holds = (kind: string, lane: number): boolean =>
    lanes.some((own) => own.kind === kind && own.lane === lane && own.slices.holds(at));
  for (const kind of kinds) {
    const place = lanesOf(row.track).find((found) => found.kind === kind);
    if (!place) continue;
    for (let lane = place.count - 1; lane >= 0; lane--) {
      if (!holds(kind, lane)) continue;
      return yOf(scene, row) + 3 + (place.first + lane) * LANE + LANE / 2 - 1;
    }
  }
  return yOf(scene, row) + HEAD / 2;
}

function drawOne(pen: CanvasRenderingContext2D, scene: Scene, arrow: Arrow): void {
  const { from, to } = arrow;
  const [tail, head] = [from, to].map(({ track }) => track && scene.shown(track));
  if (!tail || !head) return;
  const kinds = endKinds(arrow.kind);
  const [x1, x2] = [xOf(scene, from.at), xOf(scene, to.at)];
  const [y1, y2] = [middle(scene, tail, kinds, from.at), middle(scene, head, kinds, to.at)];
  if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > scene.width) return;
  if (Math.max(y1, y2) < 0 || Math.min(y1, y2) > scene.height) return;
  // As wide as the arrow is long, within bounds, so that it is seen where both ends share a pixel.
  const bend = Math.min(Math.max((x2 - x1) / 2, 14), 80);
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - POINT, y2);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x2, y2);
  pen.lineTo(x2 - POINT - 1, y2 - POINT / 2 - 1);
  pen.lineTo(x2 - POINT - 1, y2 + POINT / 2 + 1);
  pen.fill();
}

export function drawArrows(pen: CanvasRenderingContext2D, scene: Scene): void {
  const { all, selected } = scene.arrows;
  const { faint, text } = scene.colours;
  for (const [arrows, colour, width] of [
    [all, faint, 1],
    [selected, text, 2],
  ] as const) {
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = width;
    for (const arrow of arrows) drawOne(pen, scene, arrow);
  }
}
