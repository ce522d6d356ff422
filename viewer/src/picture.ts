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
    canvas.width = pen.canvas.width;
    canvas.height = pen.canvas.height;
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
  /** Pixels of a nanosecond. */
  private readonly scale: number;

  constructor(
    private readonly on: Pen,
    private readonly scene: Scene,
  ) {
    this.ratio = on.getTransform().a;
    const { colours, values, view, width } = scene;
    this.scale = (width - NAMES) / (view.until - view.from);
    [this.back, this.curve] = [this.packed(colours.back), this.packed(colours.curve)];
    this.colours = values.map((said) =>
      UNSURE.has(said.look) ? 0 : this.packed(colourOf(said.look, said.name, colours)),
    );
  }

  /** Any colour of the page as a number: the canvas gives back what it is in hexadecimal digits. */
  private packed(colour: string): number {
    if (colour.startsWith("#")) return packed(colour);
    this.on.fillStyle = colour;
    return packed(String(this.on.fillStyle));
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
      const sides: [number, number] = [this.pixel(x), this.pixel(x + width)];
      raster.rectangle(sides, [this.pixel(y), this.pixel(y + height)], this.curve);
    });
  }

  /** Most often this is done once by code that the browser has not compiled, so that what is the
   * same for all slices is outside of the loop. */
  private fillSlices({ slices, kind }: SliceRow, top: number): void {
    const { scene, ratio, scale, colours } = this;
    const { named, width, values, view } = scene;
    for (let i = 0; i < slices.length; i++) {
      const value = slices.value(i);
      const full = colours[value];
      const left = Math.max(NAMES + (slices.begin(i) - view.from) * scale, NAMES);
      const right = Math.min(NAMES + (slices.end(i) - view.from) * scale, width);
      const said = values[value];
      if (full === undefined || !said || right < NAMES || left > width) continue;
      const size = Math.max(right - left, 1);
      const alpha = named ? alphaOf(scene, kind, said) : 1;
      if (size >= LABELLED || full === 0 || slices.goesOn(i)) {
        this.wide.push([slices.at(i), said, alpha, top]);
        continue;
      }
      const colour = named ? faded(full, alpha) : full;
      const from = Math.round(left * ratio);
      const until = Math.max(Math.round((left + size) * ratio), from + 1);
      if (size <= GAPPED) {
        raster.fill(from, until, colour);
        continue;
      }
      // A gap of half a pixel, whatever a pixel of the screen is.
      raster.fill(from, until - 1, colour);
      raster.fill(until - 1, until, faded(full, alpha * Math.max(1 - ratio / 2, 0)));
      if (slices.states(i) > 1) this.fillStripes([left, right], until - 1, colour);
    }
  }

  private fillStripes([left, right]: [number, number], end: number, colour: number): void {
    const stripe = mixed(colour, this.back, STRIPES.part);
    for (let x = left + GAPPED; x < right; x += STRIPES.step) {
      const until = Math.min(this.pixel(x + STRIPES.width), end);
      raster.fillFoot(this.pixel(x), until, stripe);
    }
  }
}
