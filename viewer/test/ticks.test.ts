// SPDX-License-Identifier: MIT
// Unit tests of the curve of events, which is counted in parts.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Ticks, Track } from "../src/protocol";
import { countedOn, countsOf, joined, sumsOf } from "../src/ticks";

/** Events of a CPU and of a thread, each with a mark if there are few: pixel and count. */
function part(counts: [number, number][], stopped: number | null, isMarked = true): Ticks {
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const whose = { host: 0, cpu: 1 };
  const marks = Array.from({ length: isMarked ? total : 0 }, (_, at) => ({
    ...whose,
    at,
    name: 0,
  }));
  return {
    measure: "events",
    total,
    rows: [
      { ...whose, counts },
      { host: 0, pid: 5, tid: 6, counts },
    ],
    names: isMarked ? ["io:read"] : [],
    marks,
    stopped,
  };
}

test("parts of a curve are one, also where a pixel is in both and where times fall", () => {
  const both = joined(
    part(
      [
        [1, 2],
        [4, 1],
      ],
      400,
    ),
    part(
      [
        [4, 3],
        [2, 1],
        [9, 1],
      ],
      null,
    ),
  );
  assert.equal(both.total, 8);
  assert.equal(both.stopped, null);
  assert.deepEqual(
    both.rows.map((row) => row.counts),
    [
      [
        [1, 2],
        [2, 1],
        [4, 4],
        [9, 1],
      ],
      [
        [1, 2],
        [2, 1],
        [4, 4],
        [9, 1],
      ],
    ],
  );
  const after = joined(part([[1, 2]], 400), part([[2, 7]], 500));
  assert.deepEqual(after.rows[0]?.counts, [
    [1, 2],
    [2, 7],
  ]);
});

test("a row has its own counts, and all of them are those of CPUs", () => {
  const one = part(
    [
      [1, 2],
      [4, 9],
    ],
    null,
  );
  const other = { host: 0, cpu: 2, counts: [[4, 3]] as [number, number][] };
  const ticks: Ticks = { ...one, rows: [...one.rows, other] };
  const row = (of: Partial<Track>): Track => ({
    id: "x",
    kind: "thread",
    name: "x",
    parent: null,
    host: 0,
    lanes: {},
    ...of,
  });
  assert.deepEqual(countsOf(ticks, row({ kind: "cpu", cpu: 2 })), { counts: [[4, 3]], most: 3 });
  assert.equal(countsOf(ticks, row({ pid: 5, tid: 6 }))?.most, 9);
  assert.equal(countsOf(ticks, row({ pid: 5, tid: 7 })), undefined);
  assert.equal(countsOf(ticks, row({ kind: "process", pid: 5, tid: 6 })), undefined);
  assert.equal(countsOf(ticks, row({ kind: "cpu", cpu: 2, host: 1 })), undefined);
  assert.deepEqual(sumsOf(ticks), {
    counts: [
      [1, 2],
      [4, 12],
    ],
    most: 12,
  });
});

test("single events are marked as long as they are few in all parts", () => {
  const few = joined(part([[1, 2]], 400), part([[2, 3]], null));
  assert.deepEqual(
    few.marks.map(({ name }) => few.names[name]),
    Array(5).fill("io:read"),
  );
  assert.deepEqual(
    few.marks.map(({ name }) => name),
    [0, 0, 1, 1, 1],
  );
  assert.deepEqual(joined(part([[1, 1000]], 400), part([[2, 501]], null)).marks, []);
  assert.deepEqual(joined(part([[1, 2]], 400), part([[2, 2000]], null, false)).marks, []);
  assert.deepEqual(joined(part([[1, 2000]], 400, false), part([[2, 2]], null)).names, []);
});

test("an answer that stopped is asked on, up to a bound, and the end is given", async () => {
  const asked: number[] = [];
  const ask = (start: number): Promise<Ticks> => {
    asked.push(start);
    return Promise.resolve(part([[start, 1]], start < 5 ? start + 1 : null));
  };
  const told: Ticks[] = [];
  for await (const more of countedOn(part([[0, 1]], 1), ask)) told.push(more);
  assert.deepEqual(asked, [1, 2, 3, 4, 5]);
  assert.equal(told[told.length - 1]?.total, 6);
  assert.equal(told[told.length - 1]?.stopped, null);
  for await (const _ of countedOn(part([[0, 1]], null), ask)) assert.fail("it was whole");
  let count = 0;
  const endless = (start: number): Promise<Ticks> => {
    count++;
    return Promise.resolve(part([[start, 1]], start + 1));
  };
  let last: Ticks | undefined;
  for await (const more of countedOn(part([[0, 1]], 1), endless)) last = more;
  assert.equal(count, 99);
  assert.equal(last?.stopped, 100, "the page says that there are more");
});
