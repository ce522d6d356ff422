// SPDX-License-Identifier: MIT
// Draws numbers of events in the page as lines over time.
//
// Usage: node tests/view/counters.mjs URL FILE, with the page of a server and one that is a file, of the
// example woken_trace. A line for each test: `ok NAME`, or `FAIL NAME` with the reason below.

import assert from "node:assert/strict";
import { open, problems, runAll, settled, shown } from "./pages.mjs";

const [url, file] = [process.argv[2], `file://${process.argv[3]}`];

// A round of the trace; in each the length of a queue, 16 us after its begin: 5, 6, 7, 8, 0, 1, ...
const ROUND = 20_000;
const LENGTH = "queue:length.length";

const told = (page, text) => page.locator("#counter-list p", { hasText: text }).waitFor();
const title = (page) => page.locator("#details h3");

/** Adds a counter as a person does, with the keyboard alone. */
async function add(page, name) {
  await page.locator("#timeline").focus();
  await page.keyboard.press("n");
  await page.locator("#counter-name:focus").waitFor();
  await page.keyboard.type(name);
  await settled(page, () => page.keyboard.press("Enter"));
}

/** How many pixels of the first row are of the line's colour, which no state of the trace has. */
const drawn = (page) =>
  page.evaluate(() => {
    const pen = document.getElementById("canvas").getContext("2d");
    const { data } = pen.getImageData(231, 50, 1000, 48);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      const [r, g, b] = [data[i], data[i + 1], data[i + 2]];
      if (Math.max(r, g, b) - Math.min(r, g, b) > 40) count++;
    }
    return count;
  });

const tests = {
  async a_field_that_is_added_is_a_line_with_its_values_and_is_taken_away_again(page) {
    await add(page, LENGTH);
    await told(page, /^(599|600) values in view, from 0 to 8$/);
    assert.ok((await drawn(page)) > 2000, "a line is drawn");
    assert.deepEqual(shown(page).words.getAll("counter"), [LENGTH]);
    await page.locator("#counter-list summary").click();
    const rows = page.locator("#counter-list tr");
    await rows.nth(100).waitFor();
    assert.ok((await rows.count()) <= 201);
    const button = page.getByRole("button", { name: `Remove ${LENGTH}` });
    await settled(page, () => button.click());
    assert.equal(await page.locator("#counter-list li").count(), 0);
    assert.deepEqual(shown(page).words.getAll("counter"), []);
  },

  async names_are_offered_and_what_is_no_number_is_refused_with_the_reason(page) {
    await add(page, "none:such.field");
    await told(page, "no event of the");
    assert.ok((await drawn(page)) < 500, "no line is drawn");
    const offered = page.locator("#counter-names option");
    await offered.first().waitFor({ state: "attached" });
    const names = await offered.evaluateAll((all) => all.map((one) => one.value));
    assert.ok(names.includes(LENGTH), names.join());
    assert.ok(!names.some((name) => name.endsWith("comm")), "a text is no number");
    problems.length = 0; // Chromium tells of every answer that is not 200.
  },

  async threads_that_wait_for_a_cpu_are_offered_and_counted(page) {
    await page.locator("#timeline").focus();
    await page.keyboard.press("n");
    const button = page.getByRole("button", { name: "Add “threads that wait for a CPU”" });
    await settled(page, () => button.click());
    await told(page, /^1200 values in view, from 0 to 1$/);
    assert.deepEqual(shown(page).words.getAll("counter"), ["threads that wait for a CPU"]);
  },

  async the_address_brings_a_counter_back_and_a_click_tells_its_value(page) {
    const near = `from=${7 * ROUND}&until=${9 * ROUND}&counter=${LENGTH}&counter=irq:x.y`;
    const own = await open(page.url().split("#")[0], `#${near}&panel=counters`);
    await told(own, "2 values in view, from ");
    // The value of the round before is known where the view begins.
    await own.locator("#timeline canvas").click({ position: { x: 240, y: 70 } });
    await title(own).filter({ hasText: LENGTH }).waitFor({ state: "attached" });
    const value = (p) => p.locator("#details tr", { hasText: "Value" }).locator("td").textContent();
    assert.equal(await value(own), "2");
    await own.locator("#timeline canvas").click({ position: { x: 1100, y: 70 } });
    await own.waitForFunction(() =>
      document.querySelector("#details")?.textContent.includes("Value3"),
    );
    assert.equal(shown(own).words.get("track"), `n:${LENGTH}`);
    await own.locator("#timeline").focus();
    await own.keyboard.press("t");
    await own.keyboard.press("p");
    await own.locator("#message", { hasText: "counters are at the top already" }).waitFor();
    problems.length = 0; // The other counter is of no event of the trace.
    await own.close();
  },
};

await runAll([
  ...Object.entries(tests).map((test) => [...test, url]),
  ...Object.entries(tests).map(([name, run]) => [`${name}_in_a_file`, run, file]),
]);
