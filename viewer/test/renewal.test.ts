// SPDX-License-Identifier: MIT
// Unit tests of finding again what was shown of a session that has gone on.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Scene } from "../src/draw";
import type { About, Track } from "../src/protocol";
import { finder, move } from "../src/renewal";

function thread(id: string, tid: number): Track {
  return { id, kind: "thread", name: id, parent: null, host: 0, pid: 1, tid, lanes: {} };
}

const about = (origin: bigint, length: number): About =>
  ({ origin_ns: String(origin), length_ns: length }) as About;

test("a row is found by what it is and not by its identifier", () => {
  const found = finder([thread("t1", 10), thread("t2", 11)], [thread("t1", 11), thread("t2", 12)]);
  assert.deepEqual([found("t2"), found("t1"), found("t9")], ["t1", "", ""]);
});

test("times are moved by as much as the beginning, and a view at the end stays there", () => {
  const selection = { track: "a", kind: "", lane: 0, begin: 500, end: 600, label: "", at: 550 };
  const before = { view: { from: 400, until: 1000 }, mark: 550, measure: null, selection };
  const session: [About, About] = [about(10_000n, 1000), about(10_300n, 1500)];
  const stayed = { ...before } as unknown as Scene;
  move(stayed, session, (id) => `${id}2`, false);
  assert.deepEqual(stayed.view, { from: 100, until: 700 });
  assert.deepEqual([stayed.mark, stayed.selection?.at, stayed.selection?.track], [250, 250, "a2"]);
  const followed = { ...before } as unknown as Scene;
  move(followed, session, (id) => id, true);
  assert.deepEqual(followed.view, { from: 900, until: 1500 });
});
