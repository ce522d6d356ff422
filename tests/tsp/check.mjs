// SPDX-License-Identifier: MIT
// Asks a trace server about one trace as a trace viewer does, and compares what it answers with
// what `lull print --json` has printed and `lull report --json` has reported.
//
// Usage: node tests/tsp/check.mjs URL TRACE PRINTED REPORTED. A line for each test.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname } from "node:path";

const require = createRequire(new URL("../../build/tsp/package.json", import.meta.url));
const { HttpTspClient } = require("tsp-typescript-client/lib/protocol/http-tsp-client.js");
const { QueryHelper } = require("tsp-typescript-client/lib/models/query/query-helper.js");
const { Query } = require("tsp-typescript-client/lib/models/query/query.js");

const [url, folder, printedFile, reportedFile] = process.argv.slice(2);
const client = new HttpTspClient(url);
const what = basename(folder);
let failed = 0;

async function test(name, run) {
  try {
    await run();
    console.log(`ok   ${name}_${what}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}_${what}`);
    console.log(String(error.stack).replace(/^/gm, "\t"));
  }
}

/** The model of an answer; times are whole there, whatever their size. */
async function model(asked) {
  const response = await asked;
  assert.ok(response.isOk(), response.getText());
  return response.getModel();
}
async function inner(asked) {
  const response = await model(asked);
  assert.equal(response.status, "COMPLETED", response.statusMessage);
  return response.model;
}

/** Integers as they are printed: the time has more digits than a number. */
const messages = readFileSync(printedFile, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => {
    const time = /"time_ns":(-?\d+)/.exec(line);
    return { ...JSON.parse(line), time: time === null ? null : BigInt(time[1]) };
  });
const events = messages.filter((message) => message.lost === undefined);
const report = JSON.parse(readFileSync(reportedFile, "utf8"));
const losses = messages.filter((message) => message.lost !== undefined);

let traceModel, experiment;
const TIMELINE = "lull.timeline";
let outputs;
const outputOf = (type) => outputs.find((output) => output.type === type).id;
const range = (parts, items, start = experiment.start, end = experiment.end) =>
  QueryHelper.selectionTimeRangeQuery(start, end, parts, items);

await test("server_is_there", async () => {
  assert.equal((await model(client.checkHealth())).status, "UP");
  assert.equal((await model(client.fetchIdentifier())).productId, "lull");
  assert.deepEqual(await model(client.fetchConfigurationSourceTypes()), []);
});

await test("trace_is_opened_and_its_events_are_counted", async () => {
  traceModel = await model(client.openTrace(new Query({ uri: folder, name: what })));
  assert.equal(traceModel.path, folder);
  assert.ok((await model(client.fetchTraces())).some((trace) => trace.UUID === traceModel.UUID));
  const asked = new Query({ name: `own ${what}`, traces: [traceModel.UUID] });
  experiment = await model(client.createExperiment(asked));
  // Bound: half a minute.
  for (let i = 0; i < 300 && experiment.indexingStatus !== "COMPLETED"; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    experiment = await model(client.fetchExperiment(experiment.UUID));
  }
  assert.equal(experiment.nbEvents, events.length);
  assert.equal(experiment.start, events[0].time);
  assert.equal(experiment.end, events.at(-1).time);
  outputs = await model(client.experimentOutputs(experiment.UUID));
  assert.deepEqual(outputs.map((output) => output.type).sort(), [
    "DATA_TREE",
    "TABLE",
    "TIME_GRAPH",
    "TREE_TIME_XY",
  ]);
});

let entries;
const named = (label) => entries.find((entry) => entry.labels[0] === label);
const numbered = (word, number) => (entry) => entry.metadata[word]?.[0] === number;
const isThread = (tid) => (entry) => entry.metadata.tid?.[0] === tid && entry.labels[0] !== "calls";

await test("tree_has_a_row_for_each_processor_and_thread", async () => {
  const tree = await inner(client.fetchTimeGraphTree(experiment.UUID, TIMELINE, new Query({})));
  entries = tree.entries;
  const ids = new Set(entries.map((entry) => entry.id));
  assert.equal(ids.size, entries.length);
  assert.ok(entries.every((entry) => entry.parentId === undefined || ids.has(entry.parentId)));
  // An event of a ring that any processor writes to has none.
  for (const cpu of new Set(events.map((event) => event.cpu).filter((cpu) => cpu !== null)))
    assert.ok(named(`CPU ${cpu}`), `CPU ${cpu}`);
  const tids = new Set(events.map((event) => event.thread?.tid).filter((tid) => tid > 0));
  for (const tid of tids) assert.ok(entries.some(isThread(tid)), `thread ${tid}`);
  const styles = await inner(client.fetchStyles(experiment.UUID, TIMELINE, new Query({})));
  assert.ok(styles.styles.running.values["background-color"]);
});

/** A call that is over before its thread does anything else: its two events. */
function someCall() {
  const open = new Map();
  for (const event of events) {
    const tid = event.thread?.tid;
    const pair = /^(.*)_(entry|exit)$/.exec(event.name);
    const before = open.get(tid);
    open.set(tid, pair?.[2] === "entry" ? event : undefined);
    if (pair?.[2] === "exit" && before?.name === `${pair[1]}_entry`)
      if (event.time > before.time)
        return { name: pair[1], tid, begin: before.time, end: event.time };
  }
  return null;
}

await test("a_call_is_a_state_with_the_times_of_its_events", async () => {
  const call = someCall();
  assert.ok(call, "the trace has a call");
  const rows = entries.filter(numbered("tid", call.tid)).map((entry) => entry.id);
  const length = call.end - call.begin;
  const query = range(4000, rows, call.begin - length, call.end + length);
  const states = await inner(client.fetchTimeGraphStates(experiment.UUID, TIMELINE, query));
  const found = states.rows
    .flatMap((row) => row.states.map((state) => ({ entry: row.entryId, ...state })))
    .filter((state) => state.style.parentKey === "call" && state.label.startsWith(call.name));
  // The edges of what is drawn are those of pixels.
  const pixel = (3n * length) / 4000n + 1n;
  const near = (a, b) => (a > b ? a - b : b - a) <= pixel;
  const state = found.find((one) => near(one.start, call.begin) && near(one.end, call.end));
  assert.ok(
    state,
    `${call.name}: ${JSON.stringify(found, (_, v) => (typeof v === "bigint" ? `${v}` : v))}`,
  );
  const tooltip = await inner(
    client.fetchTimeGraphTooltip(
      experiment.UUID,
      TIMELINE,
      new Query({
        requested_times: [call.begin + length / 2n],
        requested_items: [state.entry],
        requested_element: { elementType: "state", time: state.start, duration: length },
      }),
    ),
  );
  assert.equal(tooltip["Begins at (ns)"], String(call.begin));
  assert.equal(tooltip["Ends at (ns)"], String(call.end));
  assert.equal(tooltip["Lasts (ns)"], String(length));
});

await test("arrows_are_the_switches_between_threads", async () => {
  const arrows = await inner(
    client.fetchTimeGraphArrows(experiment.UUID, TIMELINE, range(8000, [])),
  );
  const switches = events.filter((event) => event.name === "sched:sched_switch");
  const direct = switches.filter((event) => event.fields.prev_pid > 0 && event.fields.next_pid > 0);
  const ids = (tid) => entries.filter(isThread(tid)).map((entry) => entry.id);
  for (const arrow of arrows) {
    const own = direct.find((event) => event.time === arrow.end);
    assert.ok(own, `${arrow.end}`);
    assert.ok(ids(own.fields.prev_pid).includes(arrow.sourceId));
    assert.ok(ids(own.fields.next_pid).includes(arrow.targetId));
  }
  if (direct.length > 1) {
    // Before the first switch, nothing is known of its processor.
    const near = range(8000, [], direct[0].time, direct.at(-1).time);
    const all = await inner(client.fetchTimeGraphArrows(experiment.UUID, TIMELINE, near));
    assert.equal(all.length, direct.length - 1);
  }
});

await test("the_table_has_every_event_in_its_order", async () => {
  const table = outputOf("TABLE");
  const columns = await inner(client.fetchTableColumns(experiment.UUID, table, new Query({})));
  const column = Object.fromEntries(columns.map((one) => [one.name, one.id]));
  const ids = columns.map((one) => one.id);
  const lines = async (parameters) =>
    (await inner(client.fetchTableLines(experiment.UUID, table, new Query(parameters)))).lines;
  let index = 0;
  // Bound: each answer has a line, and there are so many.
  while (index < events.length) {
    const page = await inner(
      client.fetchTableLines(experiment.UUID, table, QueryHelper.tableQuery(ids, index, 200)),
    );
    assert.equal(page.size, events.length);
    assert.ok(page.lines.length > 0);
    for (const line of page.lines) {
      const event = events[index];
      const cell = (name) => line.cells[column[name]].content;
      assert.equal(line.index, index);
      assert.equal(cell("Timestamp ns"), String(event.time));
      assert.equal(cell("Event type"), event.name);
      assert.equal(cell("CPU"), String(event.cpu ?? ""));
      assert.equal(cell("TID"), String(event.thread?.tid ?? ""));
      for (const name of Object.keys(event.fields))
        assert.ok(cell("Contents").includes(`${name}=`));
      index++;
    }
  }
  const name = events[Math.trunc(events.length / 2)].name;
  const from = Math.trunc(events.length / 3);
  const search = (direction) =>
    lines({
      requested_table_index: from,
      requested_table_count: 1,
      table_search_expressions: { [column["Event type"]]: `^${name}$` },
      table_search_direction: direction,
    });
  const next = events.findIndex((event, at) => at >= from && event.name === name);
  assert.equal((await search("NEXT"))[0].index, next);
  const before = events.findLastIndex((event, at) => at <= from && event.name === name);
  assert.equal((await search("PREVIOUS"))[0]?.index ?? -1, before);
  const time = events[from].time;
  const at = await lines({ requested_times: [time], requested_table_count: 1 });
  assert.equal(
    at[0].index,
    events.findIndex((event) => event.time >= time),
  );
});

await test("series_add_up_to_the_events_of_each_processor", async () => {
  const id = outputOf("TREE_TIME_XY");
  const tree = await inner(client.fetchXYTree(experiment.UUID, id, new Query({})));
  const items = tree.entries.map((entry) => entry.id);
  const xy = await inner(client.fetchXY(experiment.UUID, id, range(500, items)));
  assert.equal(xy.title, "Events");
  for (const entry of tree.entries) {
    const cpu = /^CPU (\d+)$/.exec(entry.labels[0]);
    const series = xy.series.find((one) => one.seriesId === entry.id);
    assert.equal(series.xValues.length, series.yValues.length);
    const own = events.filter((event) => cpu === null || event.cpu === Number(cpu[1]));
    const sum = series.yValues.reduce((total, value) => total + value, 0);
    assert.equal(sum, own.length, entry.labels[0]);
  }
});

await test("what_is_lost_is_annotated_and_counted", async () => {
  const categories = await inner(client.fetchAnnotationsCategories(experiment.UUID, TIMELINE));
  assert.deepEqual(categories.annotationCategories, ["Lost events"]);
  const cpus = entries.filter((entry) => entry.metadata.cpu !== undefined);
  const items = cpus.map((entry) => entry.id);
  const found = await inner(client.fetchAnnotations(experiment.UUID, TIMELINE, range(8000, items)));
  const annotations = found.annotations["Lost events"];
  const ofChart = annotations.filter((annotation) => annotation.entryId === -1);
  const count = (label) => Number(/^\d+/.exec(label)[0]);
  const told = ofChart.reduce((total, annotation) => total + count(annotation.label), 0);
  const lost = losses.reduce((total, loss) => total + loss.count, 0);
  assert.equal(told, lost);
  assert.equal(told, report.lost.events + report.lost.packets);
  for (const { cpu, begin_ns, until_ns } of report.lost_where) {
    const row = named(`CPU ${cpu}`).id;
    const covers = ({ entryId, time, duration }) =>
      entryId === row && time <= BigInt(begin_ns) && BigInt(until_ns) <= time + duration;
    assert.ok(annotations.some(covers), `CPU ${cpu} at ${begin_ns}`);
  }
  for (const { cpu } of losses) {
    const row = named(`CPU ${cpu}`).id;
    assert.ok(
      annotations.some((annotation) => annotation.entryId === row),
      `CPU ${cpu}`,
    );
  }
  const statistics = await inner(
    client.fetchDataTree(experiment.UUID, outputOf("DATA_TREE"), new Query({})),
  );
  const counts = new Map(statistics.entries.map((entry) => [entry.labels[0], entry.labels[1]]));
  assert.equal(counts.get("Lost events and packets"), String(lost));
  assert.equal(counts.get("All events"), String(events.length));
  for (const name of new Set(events.map((event) => event.name))) {
    const own = events.filter((event) => event.name === name).length;
    assert.equal(counts.get(name), String(own), name);
  }
  for (const one of report.event_names) assert.equal(counts.get(one.name), String(one.events));
});

await test("a_folder_of_traces_is_opened_and_closed_again", async () => {
  const all = await model(client.openTrace(new Query({ uri: dirname(folder), name: "all" })));
  assert.notEqual(all.UUID, traceModel.UUID);
  const both = await model(
    client.createExperiment(new Query({ name: `all ${what}`, traces: [all.UUID] })),
  );
  assert.ok(both.start <= experiment.start && experiment.end <= both.end);
  const early = await client.deleteTrace(traceModel.UUID);
  assert.ok(!early.isOk(), "an experiment has it");
  assert.ok(early.getErrorResponse().title.includes("experiment"));
  for (const one of [both, experiment]) {
    assert.equal((await model(client.deleteExperiment(one.UUID))).UUID, one.UUID);
    assert.equal((await client.fetchExperiment(one.UUID)).getStatusCode(), 404);
  }
  assert.equal((await model(client.deleteTrace(all.UUID))).UUID, all.UUID);
});

process.exitCode = failed > 0 ? 1 : 0;
