// SPDX-License-Identifier: MIT
// Pixels that are filled one by one, where a canvas would be asked for tens of thousands of small
// rectangles: many slices are a pixel wide. All slices of a lane are of one height, so a lane is
// filled as a line of pixels, which is then written as often as the lane is high.
//
// A colour is a number, as ImageData has it in memory: red in the low byte, alpha in the high one.

const CHANNELS = [0, 8, 16];

/** `#rrggbb` with an alpha from 0 to 1. */
export function packed(colour: string, alpha = 1): number {
  const rgb = parseInt(colour.slice(1), 16);
  const [red, green, blue] = [(rgb >> 16) & 255, (rgb >> 8) & 255, rgb & 255];
  return faded(red | (green << 8) | (blue << 16), alpha);
}

/** The same colour with another alpha. */
export function faded(colour: number, alpha: number): number {
  return ((colour & 0xffffff) | (Math.round(alpha * 255) << 24)) >>> 0;
}

/** A colour with a part of another; its alpha stays. */
export function mixed(colour: number, other: number, part: number): number {
  let found = colour & 0xff000000;
  for (const shift of CHANNELS) {
    const [own, others] = [(colour >>> shift) & 255, (other >>> shift) & 255];
    found |= Math.round(own + (others - own) * part) << shift;
  }
  return found >>> 0;
}

export class Raster {
  readonly pixels: Uint32Array<ArrayBuffer>;
  /** The lane that is being filled, and the lowest pixels of it. */
  private readonly line: Uint32Array;
  private readonly foot: Uint32Array;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.pixels = new Uint32Array(width * height);
    this.line = new Uint32Array(width);
    this.foot = new Uint32Array(width);
  }

  clear(): void {
    this.pixels.fill(0);
  }

  /** Fills the lane from a pixel up to another. */
  fill(from: number, until: number, colour: number): void {
    const end = Math.min(until, this.width);
    for (let x = Math.max(from, 0); x < end; x++) {
      this.line[x] = colour;
      this.foot[x] = colour;
    }
  }

  /** The same, of the foot of the lane only. */
  fillFoot(from: number, until: number, colour: number): void {
    const end = Math.min(until, this.width);
    for (let x = Math.max(from, 0); x < end; x++) this.foot[x] = colour;
  }

  /** Writes the lane from a height to another, the foot from `foot` on, and begins an empty one. */
  place(top: number, foot: number, bottom: number): void {
    for (let y = Math.max(top, 0); y < Math.min(bottom, this.height); y++) {
      this.pixels.set(y < foot ? this.line : this.foot, y * this.width);
    }
    this.line.fill(0);
    this.foot.fill(0);
  }

  /** Fills a rectangle. */
  rectangle(
    [left, right]: [number, number],
    [top, bottom]: [number, number],
    colour: number,
  ): void {
    const [from, until] = [Math.max(left, 0), Math.min(right, this.width)];
    for (let y = Math.max(top, 0); y < Math.min(bottom, this.height); y++) {
      for (let x = from; x < until; x++) this.pixels[y * this.width + x] = colour;
    }
  }
}
