// SPDX-License-Identifier: MIT
// Draws a scene on the canvas. Nothing here asks or decides: what is drawn is in the scene.

import { drawArrows } from "./arrows";
import type { Palette } from "./colour";
import { drawAxis, drawCounter, type Line } from "./counters";
import { LANE, lanesOf, visible, type Placed } from "./layout";
import { drawPicture } from "./picture";
import { plain } from "./plain";
import type { Arrow, Region, Said, SliceRow, Ticks } from "./protocol";
import { areFew, drawRow, hatch } from "./slices";
import type { Named } from "./statistics";
import { sumsOf } from "./ticks";
import { clock, duration, ticks as rulerTicks, type View } from "./time";

/** Pixels of the names at the left and of the ruler at the top. */
export const NAMES = 230;
export const RULER = 48;
const LEAST_LOST = 4;
/** Rows that others are below. */
const HEADS = new Set(["machine", "process", "locks"]);

/** A slice that was clicked, or a row. */
export interface Selection {
  track: string;
  kind: string;
  lane: number;
  begin: number;
  end: number;
  label: string;
  at: number;
}

export interface Scene {
  /** Which of two traces it is of; empty, if there is only one. */
  letter: string;
  view: View;
  width: number;
  height: number;
  scroll: number;
  placed: Placed[];
  /** The same by identifier. */
  places: ReadonlyMap<string, Placed>;
  /** Where a row is, or the one that it is folded into. */
  shown: (id: string) => Placed | undefined;
  folded: ReadonlySet<string>;
  pinned: ReadonlySet<string>;
  values: Said[];
  rows: Map<string, SliceRow[]>;
  /** The view that the slices were asked for. */
  rowsView: View;
  ticks: Ticks | null;
  ticksView: View;
  ticksPixels: number;
  lost: Region[];
  selection: Selection | null;
  /** What let threads go on: of the selection, and of all rows in view. */
  arrows: { selected: Arrow[]; all: Arrow[] };
  /** By row: the lines of numbers. */
  counters: Map<string, Line>;
  /** Where the mouse is. */
  pointer: { x: number; y: number } | null;
  mark: number | null;
  measure: View | null;
  /** A name of the statistics: other slices are faint. */
  named: Named | null;
  colours: Palette;
  /** What is drawn was asked for another view; the answer for this one is on its way. */
  isPending: boolean;
}

export function xOf(scene: Scene, at: number): number {
  const { from, until } = scene.view;
  return NAMES + ((at - from) / (until - from)) * (scene.width - NAMES);
}

export function timeAt(scene: Scene, x: number): number {
  const { from, until } = scene.view;
  return from + ((x - NAMES) / (scene.width - NAMES)) * (until - from);
}

/** Where a row is on the canvas. */
export function yOf(scene: Scene, row: Placed): number {
  return RULER + row.top - scene.scroll;
}

export type Pen = CanvasRenderingContext2D;

export function draw(pen: Pen, scene: Scene): void {
  const { colours, width, height } = scene;
  pen.fillStyle = colours.back;
  pen.fillRect(0, 0, width, height);
  pen.font = '12px system-ui, "DejaVu Sans", sans-serif';
  pen.textBaseline = "middle";
  pen.save();
  pen.beginPath();
  pen.rect(0, RULER, width, height - RULER);
  pen.clip();
  const rows = visible(scene.placed, scene.scroll, height - RULER);
  grid(pen, scene);
  for (const row of rows) drawBack(pen, scene, row);
  if (areFew(scene, rows)) for (const row of rows) drawRow(pen, scene, row);
  else drawPicture(pen, scene, rows);
  for (const row of rows) if (row.track.kind === "counter") drawCounter(pen, scene, row);
  for (const row of rows) drawLost(pen, scene, row);
  drawArrows(pen, scene);
  for (const row of rows) drawName(pen, scene, row);
  for (const row of rows) if (row.track.kind === "counter") drawAxis(pen, scene, row);
  pen.restore();
  ruler(pen, scene);
  over(pen, scene);
}

function grid(pen: Pen, scene: Scene): void {
  pen.fillStyle = scene.colours.line;
  for (const at of rulerTicks(scene.view, scene.width - NAMES, 110)) {
    pen.fillRect(Math.round(xOf(scene, at)), RULER, 1, scene.height);
  }
}

function drawBack(pen: Pen, scene: Scene, row: Placed): void {
  const y = yOf(scene, row);
  const { colours, width } = scene;
  if (scene.selection?.track === row.track.id) {
    pen.fillStyle = colours.accent;
    pen.globalAlpha = 0.12;
    pen.fillRect(0, y, width, row.height);
    pen.globalAlpha = 1;
  } else if (HEADS.has(row.track.kind)) {
    pen.fillStyle = colours.panel;
    pen.fillRect(0, y, width, row.height);
  }
}

/** As much of a text as fits, by the width of a middling letter. */
export function cut(text: string, pixels: number): string {
  const letters = Math.max(Math.floor(pixels / 6.4), 0);
  const shown = plain(text.slice(0, letters + 1));
  if (shown.length <= letters) return shown;
  return letters > 2 ? `${shown.slice(0, letters - 1)}…` : "";
}

/** How surely a row misses events of a region: 1 for its CPU's own row. */
function doubt(row: Placed, region: Region): number {
  const { track } = row;
  // Its events may be of any machine.
  if (track.kind === "counter") return 0.35;
  if (track.host !== region.host) return 0;
  if (track.kind !== "cpu") return 0.35;
  return region.cpu === null || region.cpu === track.cpu ? 1 : 0;
}

function edges(scene: Scene, region: Region): [number, number] {
  const left = xOf(scene, region.begin);
  const size = Math.max(xOf(scene, region.until) - left, LEAST_LOST);
  const begin = Math.max(left, NAMES);
  return [begin, Math.min(left + size, scene.width) - begin];
}

function drawLost(pen: Pen, scene: Scene, row: Placed): void {
  const pattern = hatch(pen, scene.colours.lost);
  if (!pattern) return;
  for (const region of scene.lost) {
    const alpha = doubt(row, region);
    const [left, size] = edges(scene, region);
    if (alpha === 0 || size <= 0) continue;
    const y = yOf(scene, row);
    pen.globalAlpha = 0.12 * alpha;
    pen.fillStyle = scene.colours.lost;
    pen.fillRect(left, y, size, row.height);
    pen.globalAlpha = 0.8 * alpha;
    pen.fillStyle = pattern;
    pen.fillRect(left, y, size, row.height);
    pen.globalAlpha = 1;
    if (alpha === 1 && size > 90) {
      const text = cut(`${region.count} lost`, size - 12);
      pen.fillStyle = scene.colours.back;
      pen.fillRect(left + 4, y + row.height / 2 - 8, pen.measureText(text).width + 8, 16);
      pen.fillStyle = scene.colours.lost;
      pen.fillText(text, left + 8, y + row.height / 2);
    }
  }
}

function drawName(pen: Pen, scene: Scene, row: Placed): void {
  const { colours } = scene;
  const y = yOf(scene, row);
  const isHead = HEADS.has(row.track.kind);
  pen.fillStyle = isHead ? colours.panel : colours.back;
  pen.fillRect(0, y, NAMES, row.height);
  if (scene.selection?.track === row.track.id) {
    pen.fillStyle = colours.accent;
    pen.fillRect(0, y, 3, row.height);
  }
  pen.fillStyle = isHead ? colours.text : colours.faint;
  const left = 10 + row.depth * 14;
  if (row.hasChildren) pen.fillText(scene.folded.has(row.track.id) ? "▸" : "▾", left, y + 11);
  const name = scene.pinned.has(row.track.id) ? `• ${row.track.name}` : row.track.name;
  pen.fillText(cut(name, NAMES - left - 20), left + 14, y + 11);
  pen.fillStyle = colours.line;
  pen.fillRect(0, y + row.height + 1, scene.width, 1);
  pen.fillRect(NAMES - 1, y, 1, row.height + 2);
}

function ruler(pen: Pen, scene: Scene): void {
  const { colours, width } = scene;
  pen.fillStyle = colours.panel;
  pen.fillRect(0, 0, width, RULER);
  pen.fillStyle = colours.faint;
  const marks = rulerTicks(scene.view, width - NAMES, 110);
  const step = (marks[1] ?? 0) - (marks[0] ?? 0);
  // Four digits of a duration tell the marks apart.
  const isCoarse = step * 1000 >= Math.abs(scene.view.until);
  for (const at of marks) {
    const x = Math.round(xOf(scene, at));
    pen.fillRect(x, 18, 1, 7);
    pen.fillText(isCoarse ? duration(at) : clock(at), x + 4, 11);
  }
  curve(pen, scene);
  for (const region of scene.lost) {
    const [left, size] = edges(scene, region);
    if (size <= 0) continue;
    pen.fillStyle = colours.lost;
    pen.fillRect(left, RULER - 5, size, 4);
  }
  pen.fillStyle = colours.panel;
  pen.fillRect(0, 0, NAMES, RULER);
  pen.fillRect(width, 0, RULER, RULER);
  pen.fillStyle = colours.faint;
  const { ticks } = scene;
  const unit = ticks?.measure === "bytes" ? "bytes of events" : "events";
  const more = ticks?.stopped != null ? "+" : "";
  pen.fillText(duration(scene.view.until - scene.view.from), 10, 13);
  if (scene.isPending) pen.fillText("reading…", 10, 34);
  else if (ticks) pen.fillText(`${grouped(ticks.total)}${more} ${unit}`, 10, 34);
  pen.fillStyle = colours.accent;
  pen.fillText(scene.letter, NAMES - 20, 13);
  pen.fillStyle = colours.line;
  pen.fillRect(0, RULER - 1, width, 1);
}

/** A whole number with commas; the browser's own words for it take milliseconds the first time. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** All events of all CPUs, over the rows. */
function curve(pen: Pen, scene: Scene): void {
  const { ticks } = scene;
  if (!ticks) return;
  const { counts, most } = sumsOf(ticks);
  const { from, until } = scene.ticksView;
  const step = (until - from) / scene.ticksPixels;
  const each = Math.max(1, xOf(scene, step) - xOf(scene, 0));
  pen.fillStyle = scene.colours.curve;
  for (const one of counts) {
    const height = 1 + (one[1] / most) * 16;
    pen.fillRect(xOf(scene, from + one[0] * step), RULER - 6 - height, each, height);
  }
}

function over(pen: Pen, scene: Scene): void {
  const { colours, selection, measure, height } = scene;
  const line = (at: number, colour: string, wide: number): void => {
    const x = xOf(scene, at);
    if (x < NAMES || x > scene.width) return;
    pen.fillStyle = colour;
    pen.fillRect(x, 0, wide, height);
  };
  if (measure) {
    const left = Math.max(xOf(scene, measure.from), NAMES);
    const size = Math.min(xOf(scene, measure.until), scene.width) - left;
    pen.fillStyle = colours.accent;
    pen.globalAlpha = 0.15;
    pen.fillRect(left, 0, size, height);
    pen.globalAlpha = 1;
    pen.fillText(duration(measure.until - measure.from), left + 4, RULER + 10);
  }
  if (scene.mark !== null) line(scene.mark, colours.lost, 2);
  if (!selection) return;
  line(selection.at, colours.accent, 1);
  const row = scene.placed.find((found) => found.track.id === selection.track);
  const place = row && lanesOf(row.track).find((lane) => lane.kind === selection.kind);
  if (!row || !place || selection.end <= selection.begin) return;
  const top = yOf(scene, row) + 3 + (place.first + selection.lane) * LANE;
  if (top < RULER) return;
  const left = Math.max(xOf(scene, selection.begin), NAMES);
  const right = Math.min(xOf(scene, selection.end), scene.width);
  if (right < left) return;
  pen.strokeStyle = colours.text;
  pen.lineWidth = 2;
  pen.strokeRect(left, top - 1, Math.max(right - left, 2), LANE);
}
