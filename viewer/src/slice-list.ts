// SPDX-License-Identifier: MIT
// The slices of a row as numbers one after another: a time line has tens of thousands of them, and
// to make an object of each, and collect it, took longer than to draw them.

/** Begin, end, position in `values`, 1 if it goes on at the trace's end, how many states it is. */
export type Slice = [number, number, number, number, number];

/** A row's slices as an answer has them (docs/formats/view.md): four numbers for each, and the
 * positions of those that go on at the trace's end. */
export interface ToldSlices {
  slices: number[];
  goes_on: number[];
}

const EACH = 4;

export class SliceList {
  readonly length: number;
  /** Of each its begin, end, value and states. */
  private readonly numbers: Float64Array;
  /** 1 of each that goes on. */
  private readonly open: Uint8Array;

  constructor({ slices, goes_on }: ToldSlices) {
    this.length = slices.length / EACH;
    this.open = new Uint8Array(this.length);
    for (const i of goes_on) this.open[i] = 1;
    const numbers = new Float64Array(slices);
    let before = 0;
    for (let i = 0; i < numbers.length; i += EACH) {
      const begin = before + (numbers[i] ?? 0);
      before = begin + (numbers[i + 1] ?? 0);
      numbers[i] = begin;
      numbers[i + 1] = before;
    }
    this.numbers = numbers;
  }

  private number(i: number, which: number): number {
    return this.numbers[i * EACH + which] ?? 0;
  }

  begin(i: number): number {
    return this.number(i, 0);
  }

  end(i: number): number {
    return this.number(i, 1);
  }

  value(i: number): number {
    return this.number(i, 2);
  }

  states(i: number): number {
    return this.number(i, 3);
  }

  goesOn(i: number): boolean {
    return this.open[i] === 1;
  }

  /** Whether one of them has a time, its end included. */
  holds(at: number): boolean {
    for (let i = 0; i < this.length; i++) {
      if (this.begin(i) <= at && at <= this.end(i)) return true;
    }
    return false;
  }

  at(i: number): Slice {
    const goesOn = this.goesOn(i) ? 1 : 0;
    return [this.begin(i), this.end(i), this.value(i), goesOn, this.states(i)];
  }

  *[Symbol.iterator](): Generator<Slice> {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }
}

/** Slices as an answer has them. */
export function told(slices: readonly Slice[]): ToldSlices {
  const numbers: number[] = [];
  const goesOn: number[] = [];
  let before = 0;
  slices.forEach(([begin, end, value, isOpen, states], i) => {
    numbers.push(begin - before, end - begin, value, states);
    before = end;
    if (isOpen) goesOn.push(i);
  });
  return { slices: numbers, goes_on: goesOn };
}
