// SPDX-License-Identifier: MIT
// Unit tests of lines of numbers: their values in words, answers in parts, and files.

import assert from "node:assert/strict";
import { test } from "node:test";

import { columnAt, joined, range, summary, valueText, type Line } from "../src/counters";
import { answer, type Inside } from "../src/inside";
import type { EventRow } from "../src/protocol";
import { SliceList, type Slice } from "../src/slice-list";

const LINE: Line = {
  view: { from: 0, until: 100 },
  pixels: 10,
  columns: [
    [2, 4, 9, 5],
    [3, "18446744073709551614", "18446744073709551615", "18446744073709551615"],
  ],
  before: 1,
  count: 7,
  notNumbers: 2,
  stopped: 80,
  error: "",
};

test("a line has its values, what came before, and where it was not read", () => {
  assert.deepEqual(range(LINE), [1, "18446744073709551615"]);
  assert.deepEqual(range({ ...LINE, columns: [], before: null }), null);
  assert.equal(columnAt(LINE, 19), null);
  assert.equal(columnAt(LINE, 29)?.[0], 2);
  assert.equal(columnAt(LINE, 99)?.[0], 3);
  assert.equal(valueText(LINE, 5), "1");
  assert.equal(valueText({ ...LINE, before: null }, 5), "no value before");
  assert.equal(valueText(LINE, 25), "5 (from 4 to 9 in this pixel)");
  assert.match(valueText(LINE, 79), /^18446744073709551615 /);
  assert.equal(valueText(LINE, 80), "not read");
  assert.equal(
    summary(LINE),
    "7 values in view, from 1 to 18446744073709551615; 2 more are no numbers; from +0.000 000 080 on they were not read",
  );
});

test("an answer that goes on in the pixel of the one before is one with it", () => {
  const all: Line["columns"] = [[0, 1, 2, 2]];
  assert.deepEqual(joined(all, [[0, 0, 7, 3]]), [[0, 0, 7, 3]]);
  assert.deepEqual(
    joined(all, [
      [0, 5, 5, 5],
      [1, 8, 8, 8],
    ]),
    [
      [0, 1, 5, 5],
      [1, 8, 8, 8],
    ],
  );
  assert.deepEqual(joined([], [[4, 1, 1, 1]]), [[4, 1, 1, 1]]);
  assert.deepEqual(joined(all, []), all);
});

test("in a file, a counter is made of its events, and what is no number is none", () => {
  const big = "9007199254740993";
  const events = [3, 8, "NaN", big, null, { value: 2, label: "TWO" }].map(
    (value, at): EventRow => ({
      ...{ at: at * 10, trace: 0, integers: value === big ? { fields: ["n"] } : {} },
      event: { name: at % 2 ? "q:l#7" : "q:l", cpu: 0, fields: { n: value, other: big } },
    }),
  );
  const all = { events, rows: [], values: [] } as unknown as Inside;
  const words = { counter: "q:l.n", from: 10, until: 60, pixels: 2 };
  assert.deepEqual(answer(all, "counter", words), {
    columns: [
      [0, 8, "9007199254740993", "9007199254740993"],
      [1, 2, 2, 2],
    ],
    before: 3,
    count: 3,
    not_numbers: 2,
    stopped: null,
  });
  const names = ["q:l#7.n", "q:l.n"];
  assert.deepEqual(answer(all, "numbers", {}), { names, offered: [], left_out: 0 });
  for (const counter of ["q:l.none", "q:l.other"]) {
    assert.throws(() => answer(all, "counter", { ...words, counter }), /no event/);
  }
});

test("in a file, threads that are ready to run are counted at each change of their number", () => {
  const name = "threads that wait for a CPU";
  const row = (track: string, slices: Slice[]) => ({
    track,
    kind: "place",
    lane: 0,
    slices: SliceList.of(slices),
  });
  const all = {
    events: [],
    values: [{ look: "running" }, { look: "waiting" }],
    rows: [
      row("t1", [
        [0, 200, 0, 0, 1],
        [200, 400, 1, 0, 1],
      ]),
      row("t2", [[100, 200, 1, 0, 1]]),
      row("t3", [[150, 500, 1, 1, 1]]),
    ],
  } as unknown as Inside;
  const words = { counter: name, from: 0, until: 500, pixels: 5 };
  const told = answer(all, "counter", words) as { columns: number[][]; before: number };
  assert.deepEqual(told.columns, [
    [1, 1, 2, 2],
    [2, 2, 2, 2],
    [4, 1, 1, 1],
  ]);
  assert.equal(told.before, 0);
  const numbers = answer(all, "numbers", {}) as { offered: string[] };
  assert.deepEqual(numbers.offered, [name]);
});
