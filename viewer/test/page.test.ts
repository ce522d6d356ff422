// SPDX-License-Identifier: MIT
// Unit tests of what the page computes: places, times, the address.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as address from "../src/address";
import { arranged, toggled } from "../src/arrange";
import { named } from "../src/colour";
import { allOf, missingText, shiftOf, sideText, type Aligned } from "../src/compare";
import { cut, grouped, type Selection } from "../src/draw";
import { fields, valuesOf } from "../src/events";
import { laid, tree } from "../src/flame";
import { sides } from "../src/flows";
import { answer, filter, overview, type Inside, type Words } from "../src/inside";
import { FOOT, HEAD, heightOf, LANE, lanesOf, place, rowAt, visible } from "../src/layout";
import { sqlOf } from "../src/locks";
import { timeOfDay } from "../src/panel";
import { plain, plainLines } from "../src/plain";
import {
  NO_FILTER,
  unpacked,
  type Arrow,
  type Arrows,
  type Details,
  type EventRow,
  type Page,
  type Ticks,
  type Track,
} from "../src/protocol";
import { landed } from "../src/selection";
import { SliceList, type Slice } from "../src/slice-list";
import { framesOf, stackOf } from "../src/stacks";
import { isOf, sentences } from "../src/statistics";
import { clamped, clock, duration, LEAST_NS, ticks, within, zoomed } from "../src/time";

function track(id: string, parent: string | null, lanes: Record<string, number> = {}): Track {
  return { id, kind: "thread", name: id, parent, host: 0, lanes };
}

test("a length of time has the digits that make a difference", () => {
  assert.deepEqual([0, 7, 1500, 1_234_567, 2e9, -2500].map(duration), [
    "0 ns",
    "7 ns",
    "1.5 µs",
    "1.235 ms",
    "2 s",
    "-2.5 µs",
  ]);
});

test("a number of events is grouped in thousands", () => {
  const told = [0, 999, 1000, 12_345, 123_456, 1_234_567_890].map(grouped);
  assert.deepEqual(told, ["0", "999", "1,000", "12,345", "123,456", "1,234,567,890"]);
});

test("a time has all of its nanoseconds", () => {
  assert.equal(clock(1_002_003_004), "+1.002 003 004");
  assert.equal(clock(-5), "-0.000 000 005");
});

test("zooming keeps the time under the pointer in its place", () => {
  const view = zoomed({ from: 100, until: 300 }, 150, 0.5);
  assert.deepEqual(view, { from: 125, until: 225 });
  assert.equal((150 - view.from) / (view.until - view.from), 0.25);
});

test("a view is never empty and never far from the trace", () => {
  const near = clamped({ from: 50, until: 50.5 }, 1000);
  assert.equal(near.until - near.from, LEAST_NS);
  const far = clamped({ from: 1e9, until: 1e9 + 100 }, 1000);
  assert.ok(far.from < 1000 && far.until > far.from);
  const wide = clamped({ from: -1e12, until: 1e12 }, 1000);
  assert.ok(wide.until - wide.from <= 1100 && wide.from <= 0 && wide.until >= 1000);
});

test("marks of the ruler are round, in view, and not too close", () => {
  const view = { from: 1234, until: 98765 };
  const marks = ticks(view, 1000, 100);
  assert.ok(marks.length > 2 && marks.length <= 10, String(marks.length));
  assert.ok(marks.every((at) => at >= view.from && at <= view.until && at % 10000 === 0));
});

test("rows follow one another, and those below a folded one are not there", () => {
  const tracks = [
    track("h", null),
    track("p", "h"),
    track("t", "p", { place: 1, call: 3 }),
    track("q", "h"),
  ];
  const all = place(tracks, new Set());
  assert.deepEqual(
    all.map((row) => row.depth),
    [0, 1, 2, 1],
  );
  assert.equal(all[2]?.height, 4 * LANE + FOOT);
  assert.ok(all.every((row, at) => at === 0 || row.top >= (all[at - 1]?.top ?? 0) + HEAD));
  assert.deepEqual(
    place(tracks, new Set(["p"])).map((row) => row.track.id),
    ["h", "p", "q"],
  );
  assert.deepEqual(
    place(tracks, new Set(["h"])).map((row) => row.track.id),
    ["h"],
  );
});

test("what is found in view is what has pixels there", () => {
  const tracks = Array.from({ length: 10_000 }, (_, at) => track(`t${at}`, null));
  const rows = place(tracks, new Set());
  const seen = visible(rows, 5000, 300);
  assert.ok(seen.length < 20);
  for (const row of rows) {
    const isIn = row.top < 5300 && row.top + row.height > 5000;
    assert.equal(seen.includes(row), isIn, row.track.id);
  }
  assert.equal(rowAt(rows, heightOf(rows) + 1), undefined);
  assert.equal(rowAt(rows, rows[77]?.top ?? 0), rows[77]);
});

test("lanes of calls have a bound", () => {
  const lanes = lanesOf(track("t", null, { place: 1, call: 64 }));
  assert.deepEqual(
    lanes.map((lane) => [lane.kind, lane.first, lane.count]),
    [
      ["place", 0, 1],
      ["call", 1, 24],
    ],
  );
});

test("the address brings back what was shown", () => {
  const filter = { ...NO_FILTER, e: "io:* if ret < 0 && x = '#&'", pid: "1,2" };
  const panel = "statistics" as const;
  const aligned: Aligned = { align: "events", pair: [-7, 4_000_000] };
  const other = { track: "t9", at: 7, pins: ["c0.1", "t2"], order: "name" as const };
  const view = { from: -5, until: 70 };
  const own = { track: "t3", at: 42, pins: ["p1"], order: "number" as const };
  const counters = ["a:b#1.length", "c d.e&f"];
  const drawn = { arrows: true, counters };
  const shown = { view, ...own, filter, panel, aligned, other, isOther: true, ...drawn };
  assert.deepEqual(address.read(address.write(shown)), shown);
});

test("an address that makes no sense shows everything", () => {
  for (const hash of ["", "#from=9&until=1", "#from=x&until=1e9", "#from=1"]) {
    assert.equal(address.read(hash).view, null, hash);
  }
});

test("values of fields are shown as they are", () => {
  const all = {
    a: 1,
    text: '<img src="x">',
    list: [1, null],
    flag: { label: "READ", value: 3 },
    s: { b: true },
  };
  assert.equal(fields(all), 'a=1 text="<img src=\\"x\\">" list=[1, null] flag=READ s={b=true}');
});

test("integers of 64 bits are no texts of digits, and a context is beside the field of its name", () => {
  const digits = "18446744073709551615";
  const fields = { id: digits, text: digits, all: [1, digits] };
  const row: EventRow = {
    ...{ at: 0, trace: 0, integers: { fields: ["id", "all"] } },
    event: { name: "a:b", cpu: 0, fields, context: { id: digits } },
  };
  const values = (part: "fields" | "context"): string[] =>
    valuesOf(row, part, String).map(([name, value]) => `${name}=${value}`);
  const wanted = [`id=${digits}`, `text="${digits}"`, `all=[1, ${digits}]`];
  assert.deepEqual(values("fields"), wanted);
  assert.deepEqual(values("context"), [`id="${digits}"`]);
});

test("what turns or hides letters is shown by its number, and text is kept", () => {
  assert.equal(plain("\u202eevil[1]\x1b\u200b\ud800"), "\\u{202e}evil[1]\\u{1b}\\u{200b}\\u{d800}");
  assert.equal(plain("a\nb\u2028"), "a\\u{a}b\\u{2028}");
  for (const text of ["é", "e\u0301", "日本", "😀", "– · …"]) assert.equal(plain(text), text);
  assert.equal(plainLines("a\u202e\nb"), "a\\u{202e}\nb");
  assert.equal(cut("\u202eevil[1]", 90), "\\u{202e}evil[…");
});

test("a name has always the same colour, and a text is cut to its room", () => {
  assert.equal(named("io:read", true), named("io:read", true));
  assert.notEqual(named("io:read", true), named("io:read", false));
  assert.equal(cut("io:read", 100), "io:read");
  assert.equal(cut("a long name of a call", 40), "a lon…");
  assert.equal(cut("io:read", 10), "");
});

test("arrows lead to a state while it lasts, and from it where they begin", () => {
  const arrow = (from: string, to: string, [begin, end]: [number, number]): Arrow => ({
    kind: "wake",
    label: "",
    from: { track: from, at: begin },
    to: { track: to, at: end },
  });
  const all = [
    arrow("a", "b", [10, 20]),
    arrow("b", "a", [15, 30]),
    arrow("b", "c", [40, 41]),
    arrow("c", "a", [1, 2]),
  ];
  const of = (kind: string, begin: number, end: number): Selection => ({
    ...{ track: "b", kind, lane: 0, begin, end, label: "", at: begin },
  });
  const found = (selection: Selection): number[][] => {
    const { into, out } = sides(all, selection);
    return [into, out].map((some) => some.map((one) => all.indexOf(one)));
  };
  assert.deepEqual(found(of("place", 0, 10)), [[0], []]);
  assert.deepEqual(found(of("place", 20, 40)), [[0], [2]]);
  assert.deepEqual(found(of("place", 12, 18)), [[0], [1]]);
  assert.deepEqual(found(of("place", 21, 39)), [[], []]);
  assert.deepEqual(found(of("", 15, 15)), [[], [1]]);
  assert.deepEqual(found(of("", 20, 20)), [[0], []]);
});

test("an arrow leads to what was there at its end", () => {
  const state = (kind: string, lane: number): Details["states"][number] => ({
    ...{ kind, lane, label: `${kind}${lane}`, begin: 5, until: 9, goes_on: false },
  });
  const states = [state("call", 0), state("call", 1), state("place", 0)];
  const at = (of: Arrow["kind"], all: Details["states"]): unknown[] => {
    const { kind, lane, begin } = landed(track("t", null), 7, of, all);
    return [kind, lane, begin];
  };
  assert.deepEqual(at("lock", states), ["call", 1, 5]);
  assert.deepEqual(at("wake", states), ["place", 0, 5]);
  assert.deepEqual(at("wake", [state("interrupt", 1)]), ["interrupt", 1, 5]);
  assert.deepEqual(at("lock", []), ["place", 0, 7]);
});

test("a file has the arrows of a span and of rows, as many as are wanted", () => {
  const flows: Arrow[] = Array.from({ length: 10 }, (_, n) => ({
    kind: "lock",
    label: "let go",
    from: { track: n % 2 ? "t1" : null, at: n * 10 },
    to: { track: "t2", at: n * 10 + 5 },
  }));
  const found = (words: Words): [number, boolean] => {
    const { arrows, is_cut } = answer({ ...file(), flows }, "flows", words) as Arrows;
    return [arrows.length, is_cut];
  };
  assert.deepEqual(found({ from: 0, until: 100, tracks: "t2", limit: 10 }), [10, false]);
  assert.deepEqual(found({ from: 0, until: 100, tracks: "t1", limit: 3 }), [3, true]);
  assert.deepEqual(found({ from: 15, until: 20, tracks: "t2", limit: 9 }), [2, false]);
  assert.deepEqual(found({ from: 16, until: 19, tracks: "", limit: 9 }), [0, false]);
});

test("a clock that counts from 1970 gives times of day with nanoseconds", () => {
  assert.equal(timeOfDay("1700000000123456789"), "2023-11-14 22:13:20.123456789 UTC");
  assert.equal(timeOfDay("12345"), "");
});

function event(at: number, name: string, cpu = 0, tid = 10): EventRow {
  const thread = { name: tid === 10 ? "server" : "git-gc", pid: 10, tid };
  return { at, trace: 0, event: { name, cpu, thread, fields: {} } };
}

/** Ten events at each of a hundred times. */
function file(): Inside {
  const events = Array.from({ length: 1000 }, (_, n) =>
    event(Math.floor(n / 10) * 10, n % 2 ? "io:read" : "io:write", n % 3, 10 + (n % 2)),
  );
  const about = {
    version: 2,
    traces: ["t"],
    origin_ns: "1700000000000000000",
    length_ns: 1000,
    hosts: [""],
    events: [],
    lost: 5,
    left_out: 0,
    notes: [],
    is_live: false,
  };
  const slices: Slice[] = Array.from({ length: 100 }, (_, n) => [n * 10, n * 10 + 5, n % 2, 0, 1]);
  const lost = [{ host: 0, cpu: 1, begin: 500, until: 600, count: 5, losses: 1 }];
  const said = (label: string) => ({ look: "call", name: label, label });
  return {
    about,
    hosts: [0],
    tracks: [track("t1", null), { ...track("c0", null), cpu: 1 }],
    values: [said("a"), said("b")],
    rows: [
      { track: "t1", kind: "call", lane: 0, slices: SliceList.of(slices) },
      { track: "t1", kind: "name", lane: 0, slices: SliceList.of([[0, 1000, 1, 1, 1]]) },
    ],
    lost,
    flows: [],
    events,
  };
}

test("pages of a file's events have each of them once", () => {
  const all = file();
  let next: Page["next"] = { from: 0, skip: 0 };
  const told: EventRow[] = [];
  while (next) {
    const page: Page = answer(all, "events", { ...next, limit: 7, e: "io:read" }) as Page;
    told.push(...page.rows);
    next = page.next;
    assert.ok(told.length <= 500);
  }
  assert.deepEqual(
    told,
    all.events.filter((row) => row.event.name === "io:read"),
  );
});

test("a file counts its events by CPU and by thread, and marks few of them", () => {
  const all = file();
  const ticks = answer(all, "ticks", { from: 0, until: 1000, pixels: 10 }) as Ticks;
  assert.equal(ticks.total, 1000);
  const sum = (own: Ticks["rows"]): number =>
    own.flatMap((row) => row.counts).reduce((total, [, count]) => total + count, 0);
  assert.equal(sum(ticks.rows.filter((row) => row.cpu !== undefined)), 1000);
  assert.equal(sum(ticks.rows.filter((row) => row.tid === 11)), 500);
  assert.equal(ticks.marks.length, 1000);
});

test("a file filters by names, and refuses what only the trace can answer", () => {
  const takes = (words: Record<string, string>): number =>
    file().events.filter(filter(words)).length;
  assert.equal(takes({}), 1000);
  assert.equal(takes({ e: "io:*" }), 1000);
  assert.equal(takes({ e: "io:r[a-e]??" }), 500);
  assert.equal(takes({ e: "io:[!s-z]*" }), 500);
  assert.equal(takes({ e: "io:[]r]ea[d-]" }), 500);
  assert.equal(takes({ e: "!io:read" }), 0);
  assert.equal(takes({ e: "io.read" }), 0);
  assert.equal(takes({ comm: "git*" }), 500);
  assert.equal(takes({ comm: "g?t*" }), 0);
  assert.equal(takes({ cpu: "1, 2", tid: "10" }), 333);
  const named = { ...event(0, "a:b#12"), trace: 0 };
  assert.ok(filter({ e: "a:b" })(named) && filter({ e: "a:b#*" })(named));
  for (const e of ["io:* if fd > 3", "io:* sample 1/2", "io:*@info"]) {
    assert.throws(() => filter({ e }), /lull view/, e);
  }
  assert.throws(() => filter({ e: "a b" }), /no spaces/);
  for (const e of ["a[b", "a[]b", "[!]"]) assert.throws(() => filter({ e }), /has no '\]'/, e);
  assert.throws(() => filter({ e: "!" }), /no name to match/);
  for (const words of [{ pid: "x" }, { cpu: "-1" }, { tid: "1,," }]) {
    assert.throws(() => filter(words), /no such number/);
  }
});

test("slices are what was told, those before the first event and within others too", () => {
  const slices: Slice[] = [
    [-20, -5, 3, 0, 1],
    [-5, 2 ** 50, 0, 0, 7],
    [10, 30, 1, 1, 1],
  ];
  const told = {
    slices: [-20, 15, 3, 1, 0, 2 ** 50 + 5, 0, 7, 10 - 2 ** 50, 20, 1, 1],
    goes_on: [2],
  };
  assert.deepEqual([...SliceList.told(told)], slices);
  const list = SliceList.of(slices);
  assert.deepEqual([...list], slices);
  assert.deepEqual(
    [-21, -20, 0].map((at) => list.holds(at)),
    [false, true, true],
  );
});

test("slices of an answer in bytes stand behind its text, row after row", () => {
  const rows: [string, Slice[]][] = [
    ["first", [[-5, 2 ** 50, 0, 0, 7]]],
    ["none", []],
    [
      "last ü",
      [
        [1, 2, 1, 0, 1],
        [2, 9, 0, 1, 4],
      ],
    ],
  ];
  const heads = rows.map(([track, slices]) => {
    const goesOn = slices.flatMap((slice, i) => (slice[3] ? [i] : []));
    return { track, kind: "call", lane: 2, count: slices.length, goes_on: goesOn };
  });
  const told = { values: [], rows: heads, is_cut: true };
  const text = new TextEncoder().encode(JSON.stringify(told));
  const size = Math.ceil(text.length / 8) * 8;
  const bytes = new DataView(new ArrayBuffer(8 + size + 3 * 24));
  bytes.setUint32(0, size, true);
  const head = new Uint8Array(bytes.buffer, 8, size);
  head.fill(32);
  head.set(text);
  let at = 8 + size;
  for (const [, slices] of rows) {
    for (const which of [0, 1]) {
      for (const slice of slices) bytes.setFloat64((at += 8) - 8, slice[which] ?? 0, true);
    }
    for (const which of [2, 4]) {
      for (const slice of slices) bytes.setUint32((at += 4) - 4, slice[which] ?? 0, true);
    }
  }
  const answer = unpacked(bytes.buffer);
  assert.deepEqual([answer.values, answer.is_cut], [[], true]);
  assert.deepEqual(
    answer.rows.map(({ track, slices }) => [track, [...slices]]),
    rows,
  );
  assert.throws(() => unpacked(bytes.buffer.slice(0, bytes.byteLength - 8)), RangeError);
});

test("from afar a file's states are one in a pixel, and none is uncounted", () => {
  const all = [...(file().rows[0]?.slices ?? [])];
  const far = overview(all, 0, 1000, 10);
  assert.ok(far.length >= 10 && far.length <= 20, String(far.length));
  assert.equal(
    far.reduce((sum, slice) => sum + slice[4], 0),
    100,
  );
  assert.deepEqual(overview(all, 40, 60, 100), all.slice(4, 6));
});

test("a file tells what is so at a time, and where events are missing", () => {
  const all = file();
  const told = answer(all, "details", { track: "t1", at: 503 }) as Record<string, unknown>;
  assert.equal(told["at_ns"], "1700000000000000503");
  assert.equal(told["is_lossy"], true);
  const states = told["states"] as { kind: string; label: string }[];
  assert.deepEqual(
    states.map((state) => [state.kind, state.label]),
    [
      ["call", "a"],
      ["name", "b"],
    ],
  );
  const lost = answer(all, "lost", { from: 0, until: 400 }) as { regions: unknown[] };
  assert.equal(lost.regions.length, 0);
  assert.throws(() => answer(all, "nothing", {}), /no answer/);
});

test("statistics say what of the span they are not of, and what is missing in it", () => {
  const whose = { span: { from: 1000, until: 2_001_000 }, track: "t1", name: "server" };
  const all = { rows: [], read: 9, stopped: null, lost: 0 };
  assert.deepEqual(sentences(all, whose), [
    "Calls and states of server in 2 ms from +0.000 001 000",
    "",
  ]);
  const [about, missing] = sentences({ ...all, stopped: 5000, lost: 42 }, { ...whose, name: "" });
  assert.match(about, /everything.*only what ended before \+0\.000 005 000 was read/);
  assert.match(missing, /^42 events or packets are missing/);
});

test("slices of a name are those of its kind, and states those that look so", () => {
  const call = { kind: "call", look: "call", name: "io:read" };
  const said = { look: "call", name: "io:read" };
  assert.ok(isOf(call, "call", said));
  assert.ok(!isOf(call, "interrupt", said) && !isOf(call, "call", { ...said, name: "io:write" }));
  const asleep = { kind: "place", look: "asleep", name: "asleep" };
  assert.ok(isOf(asleep, "place", { look: "asleep", name: "asleep in io:read" }));
  assert.ok(!isOf(asleep, "place", { look: "running", name: "running on CPU 0" }));
});

test("aligned traces lie at their beginnings, at their clocks, or at what was chosen", () => {
  const origins: [string, string] = ["1700000000000000500", "1700000000000000200"];
  assert.equal(shiftOf({ align: "begin", pair: null }, origins), 0);
  // What is 0 in A was 300 ns after the first event of B.
  assert.equal(shiftOf({ align: "clock", pair: null }, origins), 300);
  assert.equal(shiftOf({ align: "events", pair: [40, 15] }, origins), -25);
  assert.deepEqual(allOf([1000, 2000], 300), { from: -300, until: 1700 });
  assert.deepEqual(allOf([1000, 10], -25), { from: 0, until: 1000 });
});

test("two time lines that are aligned show the same stretch, wherever it is", () => {
  const shift = -123;
  const all = allOf([100_000, 5000], shift);
  const other = { from: all.from + shift, until: all.until + shift };
  for (const view of [
    { from: 10, until: 500 },
    { from: -1e9, until: 1e9 },
    { from: 99_990, until: 99_991 },
    { from: 5e8, until: 6e8 },
  ]) {
    const kept = within(view, all);
    const moved = within({ from: kept.from + shift, until: kept.until + shift }, other);
    assert.deepEqual(moved, { from: kept.from + shift, until: kept.until + shift });
  }
});

test("an alignment at events without events is one at the beginnings", () => {
  assert.deepEqual(address.read("#align=events&at_a=5").aligned, { align: "begin", pair: null });
  assert.deepEqual(address.read("#align=clock&at_a=5").aligned, { align: "clock", pair: null });
  assert.deepEqual(address.read("#align=x").aligned.align, "begin");
});

test("a comparison says what was read of each trace and what is missing", () => {
  const side = { events: 9, stopped: null, lost: 0 };
  const span = { from: 0, until: 2000 };
  assert.equal(sideText("A", side, span), "A: 9 events in 2 µs from +0.000 000 000");
  assert.match(sideText("B", { ...side, stopped: 700 }, span), /only those up to \+0\.000 000 700/);
  const tables = { latencies: { rows: [], left_out: 0 }, rates: { rows: [], left_out: 0 } };
  assert.equal(missingText({ a: side, b: side, ...tables, notes: [] }), "");
  assert.match(missingText({ a: side, b: { ...side, lost: 5 }, ...tables, notes: [] }), /5 of B/);
});

test("stacks become a tree in which every frame has the time of what is in it", () => {
  const root = tree([
    { frames: ["p", "t", "a", "b"], value: 600 },
    { frames: ["p", "t", "a"], value: 300 },
    { frames: ["p", "u"], value: 100 },
  ]);
  const [process] = root.below;
  assert.deepEqual([root.value, process?.value, process?.below.length], [1000, 1000, 2]);
  const all = laid(root);
  const found = all.find(({ node }) => node.name === "b");
  assert.deepEqual([found?.left, found?.part, found?.node.depth], [0, 0.6, 4]);
  assert.equal(all.find(({ node }) => node.name === "u")?.left, 0.9);
  const a = all.find(({ node }) => node.name === "a")?.node;
  assert.ok(a);
  const inside = laid(a);
  assert.deepEqual(
    inside.map(({ node, part }) => [node.name, part]),
    [
      ["all", 1],
      ["p", 1],
      ["t", 1],
      ["a", 1],
      ["b", 600 / 900],
    ],
  );
});

test("frames that are too narrow to be seen are not drawn, and deep stacks have an end", () => {
  const narrow = tree([
    { frames: ["wide"], value: 9_999 },
    { frames: ["narrow"], value: 1 },
  ]);
  assert.deepEqual(
    laid(narrow).map(({ node }) => node.name),
    ["all", "wide"],
  );
  const deep = tree([{ frames: Array.from({ length: 500 }, (_, at) => `f${at}`), value: 5 }]);
  assert.ok(laid(deep).length < 70);
});

test("pinned rows are at the top with those below them, and the others keep their order", () => {
  const tracks = [
    track("h", null),
    track("c", "h"),
    track("p", "h"),
    track("t10", "p"),
    track("t9", "p"),
    track("q", "h"),
  ];
  const ids = (pins: string[], order: "number" | "name"): string[] =>
    arranged(tracks, { pins, order }).map(({ id }) => id);
  assert.deepEqual(ids([], "number"), ["h", "c", "p", "t10", "t9", "q"]);
  assert.deepEqual(ids(["q", "p", "gone"], "number"), ["q", "p", "t10", "t9", "h", "c"]);
  assert.deepEqual(ids(["p", "t9"], "number"), ["p", "t10", "t9", "h", "c", "q"]);
  assert.deepEqual(ids([], "name"), ["h", "c", "p", "t9", "t10", "q"]);
  assert.equal(arranged(tracks, { pins: ["t9"], order: "number" })[0]?.parent, null);
  assert.equal(arranged(tracks, { pins: ["h", "t9"], order: "number" }).length, tracks.length);
});

test("a row is pinned once, and pins have a bound", () => {
  const none = { pins: [], order: "name" as const };
  assert.deepEqual(toggled(none, "t1"), { pins: ["t1"], order: "name" });
  assert.deepEqual(toggled({ ...none, pins: ["t1", "t2"] }, "t1"), { ...none, pins: ["t2"] });
  assert.match(String(toggled(none, undefined)), /select a row/);
  const full = Array.from({ length: 50 }, (_, at) => `t${at}`);
  assert.match(String(toggled({ ...none, pins: full }, "x")), /at most 50/);
});

test("an address has no more pins than a page", () => {
  const many = Array.from({ length: 900 }, (_, at) => `t${at}`).join(",");
  const { pins, order } = address.read(`#pins=${many}&order=x`);
  assert.deepEqual([pins.length, order], [50, "number"]);
});

test("the waits for a lock are asked for by its process, kind and address", () => {
  const lock: Track = { ...track("k1.mutex.ffffffffffffffff", "l1"), kind: "lock", pid: 7 };
  const sql = sqlOf({ ...lock, name: "mutex 0xffffffffffffffff" });
  assert.match(sql, /WHERE pid = 7 AND kind = 'mutex' AND address = 18446744073709551615 /);
  assert.equal(sqlOf({ ...lock, name: "mutex 0x'; DROP" }), "");
});

test("a call stack has the names of its functions, or else the addresses", () => {
  const event = { name: "mutex:wait_exit", cpu: 0, fields: { user_stack: ["94", 95] } };
  assert.deepEqual(stackOf(event), ["0x5e", "0x5f"]);
  const symbols = { user_stack: ["take+0x1f", null], kernel_stack: ["do_work+0x4"] };
  assert.deepEqual(stackOf({ ...event, symbols }), ["take+0x1f", "0x5f"]);
  const copy = {
    user_stack_copy: [
      { address: 9, place: "main+0x2" },
      { address: 7, place: null },
    ],
  };
  const copied = { ...event, symbols: { ...symbols, ...copy } };
  assert.deepEqual(stackOf(copied), ["main+0x2", "0x7"]);
  assert.deepEqual(stackOf({ ...event, fields: {} }), []);
  const kernel = ["18446744071562067968"];
  assert.deepEqual(framesOf(copied, "kernel_stack", kernel), ["do_work+0x4"]);
  assert.deepEqual(framesOf(event, "kernel_stack", kernel), ["0xffffffff80000000"]);
  assert.deepEqual(framesOf(copied, "user_stack_copy", [1, 2, 3]), ["main+0x2", "0x7"]);
  assert.equal(framesOf(event, "user_stack_copy", [1, 2, 3]), null, "words are no frames");
  assert.equal(framesOf(event, "sizes", [1, 2, 3]), null);
});

test("in a file, a lock's details have the waits within the state of its holder", () => {
  const said = (look: string, thread?: string) => ({
    look,
    name: look,
    label: look,
    ...(thread === undefined ? {} : { thread }),
  });
  const all: Inside = {
    about: { origin_ns: "0" } as Inside["about"],
    hosts: [0],
    tracks: [{ ...track("k", null, { holder: 1, queue: 1 }), kind: "lock" }],
    values: [said("held", "t1"), said("life", "t2"), said("queue")],
    rows: [
      { track: "k", kind: "holder", lane: 0, slices: SliceList.of([[10, 20, 0, 0, 1]]) },
      { track: "k", kind: "queue", lane: 0, slices: SliceList.of([[5, 12, 2, 0, 1]]) },
      // Up to where the holding begins, into it, and after it.
      {
        track: "k",
        kind: "waiter",
        lane: 2,
        slices: SliceList.of([
          [1, 10, 1, 0, 1],
          [5, 12, 1, 0, 1],
        ]),
      },
      { track: "k", kind: "waiter", lane: 3, slices: SliceList.of([[20, 30, 1, 0, 1]]) },
    ],
    lost: [],
    flows: [],
    events: [],
  };
  const details = answer(all, "details", { track: "k", at: 15 }) as Details;
  assert.deepEqual(
    details.states.map(({ kind, thread }) => [kind, thread]),
    [["holder", "t1"]],
  );
  assert.equal(details.waits?.count, 1);
  assert.deepEqual([details.waits?.states[0]?.begin, details.waits?.states[0]?.thread], [5, "t2"]);
  const drawn = answer(all, "slices", { tracks: "k", from: 0, until: 30, pixels: 30 }) as {
    rows: { kind: string }[];
  };
  assert.deepEqual(
    drawn.rows.map(({ kind }) => kind),
    ["holder", "queue"],
  );
});
