// SPDX-License-Identifier: MIT
// Draws the states of a row and the curve of its events, each by itself. Where there are very
// many, `picture` fills pixels instead, by the same rules.

import { colourOf } from "./colour";
import { cut, NAMES, xOf, yOf, type Pen, type Scene } from "./draw";
import { LANE, lanesOf, type Placed } from "./layout";
import type { Said, SliceRow } from "./protocol";
import type { Slice } from "./slice-list";
import { isOf } from "./statistics";
import { countsOf } from "./ticks";

/** Slices that are drawn anew in each frame; with more, a picture of them is moved. */
const MOST_DRAWN = 3000;
/** What is not known for sure is hatched. */
export const UNSURE = new Set(["held_unsure", "unheld"]);
/** From so many pixels on a slice has its name inside. */
export const LABELLED = 34;
/** From so many on, a gap of half a pixel is before the next. */
export const GAPPED = 3;
/** Stripes of a slice that stands for several states: their step, width and height in pixels, and
 * how much of the background is in their colour. */
export const STRIPES = { step: 6, width: 3, height: 4, part: 0.35 };
/** How much is left of the colour of slices of another name than the one that is shown. */
const FAINT = 0.2;

function slicesOf(scene: Scene, row: Placed): number {
  const lanes = scene.rows.get(row.track.id) ?? [];
  return lanes.reduce((sum, lane) => sum + lane.slices.length, 0);
}

/** Whether the slices of rows are few enough to be drawn in each frame. */
export function areFew(scene: Scene, rows: Placed[]): boolean {
  return rows.reduce((sum, row) => sum + slicesOf(scene, row), 0) <= MOST_DRAWN;
}

/** The lanes of a row that are drawn, with where each begins. */
export function* lanesIn(scene: Scene, row: Placed): Generator<[SliceRow, number]> {
  const y = yOf(scene, row);
  const firsts = new Map(lanesOf(row.track).map((lane) => [lane.kind, lane]));
  for (const lane of scene.rows.get(row.track.id) ?? []) {
    const place = firsts.get(lane.kind);
    if (!place || lane.lane >= place.count) continue;
    yield [lane, y + 3 + (place.first + lane.lane) * LANE];
  }
}

/** How strong the colour of a state is. */
export function alphaOf(scene: Scene, kind: string, said: Said): number {
  return scene.named && !isOf(scene.named, kind, said) ? FAINT : 1;
}

export function drawRow(pen: Pen, scene: Scene, row: Placed): void {
  for (const [lane, top] of lanesIn(scene, row)) {
    for (const slice of lane.slices) {
      const said = scene.values[slice[2]];
      if (said) drawSlice(pen, scene, slice, [said, alphaOf(scene, lane.kind, said)], top);
    }
  }
  pen.fillStyle = scene.colours.curve;
  eachTick(scene, row, (x, y, width, height) => pen.fillRect(x, y, width, height));
}

export function drawSlice(
  pen: Pen,
  scene: Scene,
  slice: Slice,
  [said, alpha]: [Said, number],
  top: number,
): void {
  const [begin, end, , goesOn, states] = slice;
  const left = Math.max(xOf(scene, begin), NAMES);
  const right = Math.min(xOf(scene, end), scene.width);
  if (right < NAMES || left > scene.width) return;
  const size = Math.max(right - left, 1);
  const height = LANE - 2;
  pen.globalAlpha = alpha;
  pen.fillStyle = colourOf(said.look, said.name, scene.colours);
  pen.fillRect(left, top, size > GAPPED ? size - 0.5 : size, height);
  const pattern = UNSURE.has(said.look) ? hatch(pen, scene.colours.curve) : null;
  if (pattern) {
    pen.globalAlpha = alpha * 0.5;
    pen.fillStyle = pattern;
    pen.fillRect(left, top, size, height);
    pen.globalAlpha = alpha;
  }
  if (goesOn && size > 6) {
    // It goes on when the trace ends: an open edge says that its end is not known.
    pen.fillStyle = scene.colours.back;
    for (let at = 0; at < height; at += 4) pen.fillRect(right - 2, top + at, 2, 2);
  }
  if (states > 1 && size > GAPPED) {
    // Several states in a row: stripes, so that it is not taken for one long one.
    pen.fillStyle = scene.colours.back;
    pen.globalAlpha = alpha * STRIPES.part;
    const foot = top + height - STRIPES.height;
    for (let x = left + GAPPED; x < right; x += STRIPES.step) {
      pen.fillRect(x, foot, STRIPES.width, STRIPES.height);
    }
    pen.globalAlpha = alpha;
  }
  if (size >= LABELLED) {
    pen.fillStyle = scene.colours.text;
    const name = states > 1 ? `${said.name} ×${states}` : said.name;
    pen.fillText(cut(name, size - 8), left + 4, top + height / 2 + 0.5);
  }
  pen.globalAlpha = 1;
}

/** Gives the rectangles that are the curve of a row's events: left, top, width, height. */
export function eachTick(
  scene: Scene,
  row: Placed,
  take: (x: number, y: number, width: number, height: number) => void,
): void {
  const { ticks } = scene;
  const own = ticks && countsOf(ticks, row.track);
  if (!own) return;
  const { from, until } = scene.ticksView;
  const step = (until - from) / scene.ticksPixels;
  const each = Math.max(1, xOf(scene, step) - xOf(scene, 0));
  const bottom = yOf(scene, row) + row.height;
  const highest = Math.log1p(own.most);
  for (const one of own.counts) {
    const x = xOf(scene, from + one[0] * step);
    if (x < NAMES - each) continue;
    const height = 2 + (Math.log1p(one[1]) / highest) * 6;
    take(x, bottom - height, each, height);
  }
}

const hatches = new Map<string, CanvasPattern | null>();

export function hatch(pen: Pen, colour: string): CanvasPattern | null {
  const known = hatches.get(colour);
  if (known) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const on = tile.getContext("2d");
  if (!on) return null;
  on.strokeStyle = colour;
  on.lineWidth = 2;
  on.beginPath();
  for (const at of [-8, 0, 8]) {
    on.moveTo(at, 8);
    on.lineTo(at + 8, 0);
  }
  on.stroke();
  // No more than the page has colours for this.
  hatches.set(colour, pen.createPattern(tile, "repeat"));
  return hatches.get(colour) ?? null;
}
