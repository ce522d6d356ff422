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
  readonly line: Uint32Array;
  readonly foot: Uint32Array;

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

  /** Writes the lane from a height to another, the foot from `foot` on, and begins an empty one. */
  place(top: number, foot: number, bottom: number): void {
    for (let y = Math.max(top, 0); y < Math.min(bottom, this.height); y++) {
      this.pixels.set(y < foot ? this.line : this.foot, y * this.width);
    }
    this.line.fill(0);
    this.foot.fill(0);
  }

  /** Fills a rectangle. */
  rectangle(left: number, top: number, right: number, bottom: number, colour: number): void {
    const { pixels, width } = this;
    const from = Math.max(left, 0);
    const until = Math.min(right, width);
    const end = Math.min(bottom, this.height) * width;
    for (let line = Math.max(top, 0) * width; line < end; line += width) {
      for (let x = from; x < until; x++) pixels[line + x] = colour;
    }
  }
}
