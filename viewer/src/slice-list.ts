// SPDX-License-Identifier: MIT
// The slices of a row as columns of numbers: a time line has tens of thousands of them, and to make
// an object of each, and collect it, took longer than to draw them.

/** Begin, end, position in `values`, 1 if it goes on at the trace's end, how many states it is. */
export type Slice = [number, number, number, number, number];

/** A row's slices as a file has them (docs/formats/view.md): four numbers for each, and the
 * positions of those that go on at the trace's end. */
export interface ToldSlices {
  slices: number[];
  goes_on: number[];
}

/** How many numbers a file has of a slice. */
const EACH = 4;

/** How many bytes an answer has of it. */
export const BYTES = 24;

export class SliceList {
  readonly begins: Float64Array;
  readonly ends: Float64Array;
  /** Positions in `values`. */
  readonly values: Uint32Array;
  /** How many states each stands for. */
  readonly states: Uint32Array;
  /** 1 of each that goes on. */
  readonly open: Uint8Array;

  /** The columns that stand in bytes from a position on: they are not copied. */
  constructor(
    readonly length: number,
    goesOn: readonly number[],
    bytes = new ArrayBuffer(length * BYTES),
    at = 0,
  ) {
    this.begins = new Float64Array(bytes, at, length);
    this.ends = new Float64Array(bytes, at + length * 8, length);
    this.values = new Uint32Array(bytes, at + length * 16, length);
    this.states = new Uint32Array(bytes, at + length * 20, length);
    this.open = new Uint8Array(length);
    for (const i of goesOn) this.open[i] = 1;
  }

  static of(slices: readonly Slice[]): SliceList {
    const list = new SliceList(slices.length, []);
    slices.forEach(([begin, end, value, isOpen, states], i) => {
      [list.begins[i], list.ends[i]] = [begin, end];
      [list.values[i], list.states[i], list.open[i]] = [value, states, isOpen];
    });
    return list;
  }

  static told({ slices, goes_on }: ToldSlices): SliceList {
    const list = new SliceList(slices.length / EACH, goes_on);
    let before = 0;
    for (let i = 0; i < list.length; i++) {
      const from = i * EACH;
      const begin = before + (slices[from] ?? 0);
      before = begin + (slices[from + 1] ?? 0);
      [list.begins[i], list.ends[i]] = [begin, before];
      [list.values[i], list.states[i]] = [slices[from + 2] ?? 0, slices[from + 3] ?? 0];
    }
    return list;
  }

  /** Whether one of them has a time, its end included. */
  holds(at: number): boolean {
    for (let i = 0; i < this.length; i++) {
      if ((this.begins[i] ?? 0) <= at && at <= (this.ends[i] ?? 0)) return true;
    }
    return false;
  }

  at(i: number): Slice {
    const [begin = 0, end = 0] = [this.begins[i], this.ends[i]];
    return [begin, end, this.values[i] ?? 0, this.open[i] ?? 0, this.states[i] ?? 0];
  }

  *[Symbol.iterator](): Generator<Slice> {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }
}
