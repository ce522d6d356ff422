// SPDX-License-Identifier: MIT
// Unit tests of pixels that the page fills itself.

import assert from "node:assert/strict";
import { test } from "node:test";

import { faded, mixed, packed, Raster } from "../src/raster";

const [RED, BLUE] = [packed("#ff0000"), packed("#0000ff")];

/** The pixels as letters, a word for each line. */
function lines({ pixels, width, height }: Raster): string {
  const letter = (pixel: number): string => (pixel === RED ? "r" : pixel === BLUE ? "b" : ".");
  const line = (y: number): string =>
    [...pixels.subarray(y * width, (y + 1) * width)].map(letter).join("");
  return Array.from({ length: height }, (_, y) => line(y)).join(" ");
}

test("a colour is what ImageData has in memory", () => {
  const bytes = (colour: number): number[] => [...new Uint8Array(new Uint32Array([colour]).buffer)];
  assert.deepEqual(bytes(packed("#123456")), [0x12, 0x34, 0x56, 255]);
  assert.deepEqual(bytes(packed("#ff8000", 0.2)), [255, 128, 0, 51]);
  assert.deepEqual(bytes(faded(packed("#ff8000"), 0.2)), [255, 128, 0, 51]);
  assert.deepEqual(bytes(mixed(RED, BLUE, 0.2)), [204, 0, 51, 255]);
  assert.deepEqual(bytes(mixed(packed("#ff0000", 0.2), BLUE, 1)), [0, 0, 255, 51]);
});

test("a lane is as high as it is placed, and the next one is empty", () => {
  const raster = new Raster(4, 5);
  raster.line.fill(RED, 1, 3);
  raster.foot.fill(RED, 1, 2).fill(BLUE, 2, 3);
  raster.place(0, 2, 3);
  raster.place(3, 4, 4);
  raster.line.fill(BLUE, 3, 4);
  raster.place(4, 5, 5);
  assert.equal(lines(raster), ".rr. .rr. .rb. .... ...b");
  raster.clear();
  assert.equal(lines(raster), ".... .... .... .... ....");
});

test("what is outside is left out", () => {
  const raster = new Raster(3, 3);
  raster.line.fill(RED, 0, 1);
  raster.foot.fill(RED, 0, 1).fill(BLUE, 2, 99);
  raster.place(-2, 1, 2);
  raster.rectangle(-3, 2, 1, 9, BLUE);
  raster.rectangle(2, -9, 9, 1, RED);
  raster.place(2, 9, 1);
  assert.equal(lines(raster), "r.r r.b b..");
});
