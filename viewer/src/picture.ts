// SPDX-License-Identifier: MIT
// Slices and curves of many rows as a picture, which is made when their answers come and moved with
// the view: a frame costs one picture. What is narrower than its name is filled pixel by pixel.

import { colourOf } from "./colour";
import { NAMES, RULER, xOf, type Pen, type Scene } from "./draw";
import { LANE, type Placed } from "./layout";
import type { Said, SliceRow } from "./protocol";
import { faded, mixed, packed, Raster } from "./raster";
import type { Slice } from "./slice-list";
import { alphaOf, drawSlice, eachTick, GAPPED, LABELLED, lanesIn, STRIPES, UNSURE } from "./slices";
import type { View } from "./time";

/** What was drawn of an answer, and for which scene. */
interface Picture {
  canvas: HTMLCanvasElement;
  of: unknown[];
  view: View;
  scroll: number;
}

/** By canvas of a time line. */
const pictures = new WeakMap<HTMLCanvasElement, Picture>();
let raster = new Raster(1, 1);

/** Draws the picture at its place in the view that there is now. */
export function drawPicture(pen: Pen, scene: Scene, rows: Placed[]): void {
  const { rows: states, ticks, placed, colours, named } = scene;
  const of = [states, ticks, placed, colours, named, scene.width, scene.height];
  const { view: now, rowsView: asked, scroll, width, height } = scene;
  let picture = pictures.get(pen.canvas);
  const isOfAnswer = of.every((part, at) => part === picture?.of[at]);
  const isAsked = now.from === asked.from && now.until === asked.until;
  // A row that came into sight by scrolling has no slices yet, so the picture lacks nothing.
  if (!picture || !isOfAnswer || (isAsked && picture.scroll !== scroll)) {
    const canvas = picture?.canvas ?? document.createElement("canvas");
    // A canvas of another size is a new one; the pixels of one that stays are written over.
    if (canvas.width !== pen.canvas.width) canvas.width = pen.canvas.width;
    if (canvas.height !== pen.canvas.height) canvas.height = pen.canvas.height;
    const on = canvas.getContext("2d");
    if (!on) return;
    on.setTransform(pen.getTransform());
    on.font = pen.font;
    on.textBaseline = pen.textBaseline;
    fill(on, { ...scene, view: asked }, rows);
    picture = { canvas, of, view: asked, scroll };
    pictures.set(pen.canvas, picture);
  }
  const room = width - NAMES;
  const left = xOf(scene, picture.view.from);
  const size = xOf(scene, picture.view.until) - left;
  const top = RULER + picture.scroll - scroll;
  const ratio = pen.getTransform().a;
  const tall = height - RULER;
  const from = [NAMES, RULER, room, tall].map((pixels) => pixels * ratio);
  const [sx = 0, sy = 0, sw = 1, sh = 1] = from;
  pen.drawImage(picture.canvas, sx, sy, sw, sh, left, top, size, tall);
}

function fill(on: Pen, scene: Scene, rows: Placed[]): void {
  const { width, height } = on.canvas;
  if (raster.width === width && raster.height === height) raster.clear();
  else raster = new Raster(width, height);
  const filler = new Filler(on, scene);
  for (const row of rows) filler.fillRow(row);
  on.putImageData(new ImageData(new Uint8ClampedArray(raster.pixels.buffer), width), 0, 0);
  for (const [slice, said, alpha, top] of filler.wide) {
    drawSlice(on, scene, slice, [said, alpha], top);
  }
}

/** Fills the pixels of a scene, whose colours it has as numbers. */
class Filler {
  /** What is drawn by the canvas, since it has a text or a pattern; with its colour's strength and
   * the height that it begins at. */
  readonly wide: [Slice, Said, number, number][] = [];
  private readonly ratio: number;
  private readonly back: number;
  private readonly curve: number;
  /** By number of a value; 0 of what has a pattern. */
  private readonly colours: number[];

  constructor(
    on: Pen,
    private readonly scene: Scene,
  ) {
    this.ratio = on.getTransform().a;
    const { colours, values } = scene;
    [this.back, this.curve] = [packed(colours.back), packed(colours.curve)];
    this.colours = values.map((said) =>
      UNSURE.has(said.look) ? 0 : packed(colourOf(said.look, said.name, colours)),
    );
  }

  private pixel(at: number): number {
    return Math.round(at * this.ratio);
  }

  fillRow(row: Placed): void {
    for (const [lane, top] of lanesIn(this.scene, row)) {
      this.fillSlices(lane, top);
      const bottom = top + LANE - 2;
      const foot = bottom - STRIPES.height;
      raster.place(this.pixel(top), this.pixel(foot), this.pixel(bottom));
    }
    eachTick(this.scene, row, (x, y, width, height) => {
      const right = this.pixel(x + width);
      const bottom = this.pixel(y + height);
      raster.rectangle(this.pixel(x), this.pixel(y), right, bottom, this.curve);
    });
  }

  /** The colours of slices of a kind. */
  private coloursOf(kind: string): number[] {
    const { scene, colours } = this;
    if (!scene.named) return colours;
    return scene.values.map((said, value) => {
      const full = colours[value] ?? 0;
      return full === 0 ? 0 : faded(full, alphaOf(scene, kind, said));
    });
  }

  /** Most often this is done once by code that the browser has not compiled: the loop calls nothing
   * for what is narrow, as most slices are. */
  private fillSlices({ slices, kind }: SliceRow, top: number): void {
    const { width, view } = this.scene;
    const { begins, ends, values, open, length } = slices;
    const { line, foot } = raster;
    const { ratio } = this;
    const colours = this.coloursOf(kind);
    const scale = (width - NAMES) / (view.until - view.from);
    for (let i = 0; i < length; i++) {
      let left = NAMES + ((begins[i] ?? 0) - view.from) * scale;
      let right = NAMES + ((ends[i] ?? 0) - view.from) * scale;
      if (right < NAMES || left > width) continue;
      if (left < NAMES) left = NAMES;
      if (right > width) right = width;
      if (right - left < 1) right = left + 1;
      const colour = colours[values[i] ?? 0] ?? 0;
      if (right - left > GAPPED || colour === 0 || open[i] === 1) {
        this.fillWide([left, right], colour, [slices.at(i), kind, top]);
        continue;
      }
      // Rounded; both are positive.
      const from = (left * ratio + 0.5) | 0;
      let x = (right * ratio + 0.5) | 0;
      if (x <= from) x = from + 1;
      while (x-- > from) line[x] = foot[x] = colour;
    }
  }

  /** A slice that is more than a few pixels. */
  private fillWide(
    [left, right]: [number, number],
    colour: number,
    [slice, kind, top]: [Slice, string, number],
  ): void {
    const [, , value, goesOn, states] = slice;
    const said = this.scene.values[value];
    if (!said) return;
    if (right - left >= LABELLED || colour === 0 || goesOn) {
      this.wide.push([slice, said, alphaOf(this.scene, kind, said), top]);
      return;
    }
    // A gap of half a pixel, whatever a pixel of the screen is.
    const [from, end] = [this.pixel(left), this.pixel(right) - 1];
    const edge = faded(colour, ((colour >>> 24) / 255) * Math.max(1 - this.ratio / 2, 0));
    for (const on of [raster.line, raster.foot])
      on.fill(colour, from, end).fill(edge, end, end + 1);
    if (states > 1) this.fillStripes([left, right], end, colour);
  }

  private fillStripes([left, right]: [number, number], end: number, colour: number): void {
    const stripe = mixed(colour, this.back, STRIPES.part);
    for (let x = left + GAPPED; x < right; x += STRIPES.step) {
      raster.foot.fill(stripe, this.pixel(x), Math.min(this.pixel(x + STRIPES.width), end));
    }
  }
}
