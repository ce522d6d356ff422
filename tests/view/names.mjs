// SPDX-License-Identifier: MIT
// Looks for the functions of call stacks in the page: in the table of events, in what is selected, and
// in the flame graph, wherever the view begins.
//
// Usage: node tests/view/names.mjs URL FILE, with the page of a server and one that is a file, of what
// `tests/view/run` records of a program that calls through outer(), middle() and inner(), and into a
// library that is stripped. A line for each test: `ok NAME`, or `FAIL NAME` with the reason below.

import assert from "node:assert/strict";
import { open, runAll, shown } from "./pages.mjs";

const [url, file] = [process.argv[2], `file://${process.argv[3]}`];

const hits = (page) => page.locator("#event-rows tr", { hasText: "demo:hit" });
const STACK = /user_stack=\[inner\+0x[0-9a-f]+, middle\+0x[0-9a-f]+, outer\+0x[0-9a-f]+, /;

/** The page with what is behind the middle of the trace in view. */
async function late(page, panel) {
  const { until } = shown(page);
  const own = await open(
    page.url().split("#")[0],
    `#from=${Math.floor(until / 2)}&until=${until}&panel=${panel}`,
  );
  return own;
}

const tests = {
  async the_table_of_events_has_the_functions_of_call_stacks(page) {
    await hits(page).first().waitFor();
    assert.match(await hits(page).first().locator("td").last().textContent(), STACK);
  },

  async a_view_that_begins_later_has_them_too(page) {
    const own = await late(page, "events");
    await hits(own).first().waitFor();
    assert.match(await hits(own).first().locator("td").last().textContent(), STACK);
    await own.close();
  },

  async an_event_that_is_selected_has_its_functions_the_innermost_first(page) {
    await hits(page).first().click();
    const stack = page.locator("#details tr", { hasText: "inner" }).locator("td");
    assert.match(await stack.textContent(), /^inner\+0x\w+ ← middle\+0x\w+ ← outer\+0x\w+ ← main/);
  },

  async the_flame_graph_of_a_later_view_has_functions(page) {
    if (page.url().startsWith("file:")) return;
    const own = await late(page, "flame");
    await own.locator("#flame-stacks").click();
    await own
      .locator("#flame-graph button", { hasText: /^inner$/ })
      .first()
      .waitFor();
    await own.close();
  },

  async code_without_a_name_is_shown_by_its_file_and_the_place_there(page) {
    const event = page.locator("#event-rows tr", { hasText: "demo:hidden" }).first();
    await event.waitFor();
    const text = await event.locator("td").last().textContent();
    assert.match(text, /user_stack=\[libplain\.so\+0x[0-9a-f]+, plain\+0x[0-9a-f]+, /);
  },
};

await runAll([
  ...Object.entries(tests).map((test) => [...test, url]),
  ...Object.entries(tests).map(([name, run]) => [`${name}_in_a_file`, run, file]),
]);
