// SPDX-License-Identifier: MIT
// Opens the page that compares two traces, and does with it what a person does.
//
// Usage: node tests/view/compare.mjs URL, of `lull view --compare A B` with two traces of the example
// viewed_trace, the second 3 ms later.

import assert from "node:assert/strict";
import { open, runAll, settled, shown } from "./pages.mjs";

const url = process.argv[2];
const LATER = 3_000_000;
const BOTH = ["timeline", "timeline-b"];

/** What each time line has drawn: from when to when. */
async function drawn(page) {
  const of = (ids) => ids.map((id) => document.getElementById(id).dataset.settled);
  const texts = await page.evaluate(of, BOTH);
  return texts.map((text) =>
    text
      .match(/^(-?\d+)-(-?\d+)$/)
      .slice(1)
      .map(Number),
  );
}
const both = (page, act) => settled(page, act, BOTH);
const row = (page, name) => page.locator("#compare-tables tr", { hasText: name }).first();
const focused = (page) => page.evaluate(() => document.activeElement.id);

/** Goes with Tab to an element. */
async function tabTo(page, id) {
  for (let i = 0; i < 30 && (await focused(page)) !== id; i++) await page.keyboard.press("Tab");
  assert.equal(await focused(page), id);
}

/** Selects the next event of a name in the time line that has the keys. */
async function find(page, text, line) {
  await page.locator(`#${line}`).focus();
  await page.keyboard.press("/");
  await page.fill("#search-text", text);
  await both(page, () => page.press("#search-text", "Enter"));
  await page.locator("#details h3", { hasText: text }).waitFor({ state: "attached" });
}

const tests = {
  async two_traces_are_one_above_the_other(page) {
    assert.match(await page.title(), /^A: trace · B: other – Lull$/);
    assert.match(await page.locator("#message").textContent(), /42 \(A\) and 42 \(B\) events/);
    const [a, b] = await Promise.all(BOTH.map((id) => page.locator(`#${id}`).boundingBox()));
    assert.ok(a.height > 100 && b.height > 100 && b.y >= a.y + a.height, JSON.stringify([a, b]));
    await page.locator("#tab-notes").click();
    assert.deepEqual(await page.locator("#notes h3").allTextContents(), ["A", "B"]);
  },

  async zooming_and_moving_one_moves_the_other(page) {
    for (const line of BOTH) {
      await page.locator(`#${line}`).focus();
      await both(page, () => page.keyboard.press("w"));
      await both(page, () => page.keyboard.press("d"));
      const [a, b] = await drawn(page);
      assert.deepEqual(a, b);
      assert.equal(a[0], shown(page).from);
    }
    await page.mouse.move(700, 500);
    await page.keyboard.down("Control");
    await both(page, () => page.mouse.wheel(0, -600));
    await page.keyboard.up("Control");
    const [a, b] = await drawn(page);
    assert.deepEqual(a, b);
    assert.ok(a[1] - a[0] < 2_000_000, String(a));
  },

  async what_changed_is_told_by_name(page) {
    await page.locator("#timeline").focus();
    await page.keyboard.press("c");
    await row(page, "io:read").waitFor();
    const cells = (name) => row(page, name).locator("td").allTextContents();
    const [verdict, , , p50a, p50b] = await cells("io:read");
    assert.deepEqual([verdict, p50a, p50b], ["longer", "4 µs", "6 µs"]);
    assert.equal((await cells("job"))[0], "not known to differ");
    assert.match(await page.locator("#compare-lost").textContent(), /42 of A, 42 of B/);
    const captions = await page.locator("#compare caption").allTextContents();
    assert.match(captions.join(), /Durations of calls.*How often events came/);
    assert.equal((await page.locator("#compare tbody tr th[scope=row]").count()) > 4, true);
    assert.equal((await page.locator("#compare th", { hasText: "<u>call</u>" }).count()) > 0, true);
    assert.equal(await page.locator("u, img, #compare script").count(), 0);
    assert.equal(shown(page).words.get("panel"), "compare");
  },

  async only_the_stretch_in_view_is_compared(page) {
    await page.close();
    const again = await open(url, "#from=0&until=100000&panel=compare");
    await row(again, "io:read").waitFor();
    const cells = await row(again, "io:read").locator("td").allTextContents();
    assert.deepEqual(cells.slice(1, 3), ["10", "10"]);
    await again.close();
  },

  async keyboard_alone_compares(page) {
    await page.locator("#timeline").focus();
    await page.keyboard.press("ArrowDown");
    await page.locator("#details h3").waitFor();
    await tabTo(page, "timeline-b");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.locator("#details h3", { hasText: "CPU 0" }).waitFor();
    const { words } = shown(page);
    assert.deepEqual([words.get("track"), words.get("b_track")], ["h0", "c0.0"]);
    await page.keyboard.press("t");
    await page.locator("#statistics-about", { hasText: "of CPU 0" }).waitFor();
    await page.keyboard.press("c");
    await row(page, "io:read").waitFor();
    await tabTo(page, "align-clock");
    await both(page, () => page.keyboard.press("Enter"));
    assert.equal(await page.locator("#align-clock").getAttribute("aria-pressed"), "true");
    await row(page, "io:read").focus();
    await page.keyboard.press("Enter");
    assert.ok(await page.locator("#compare").isVisible());
  },

  async clocks_are_aligned_and_the_address_brings_it_back(page) {
    await page.locator("#timeline").focus();
    await page.keyboard.press("c");
    await both(page, () => page.locator("#align-clock").click());
    await both(page, () => page.keyboard.press("0"));
    // All of both: from the first event of A to the last of B.
    const [all] = await drawn(page);
    assert.ok(all[0] <= 0 && all[1] >= 9_999_000 + LATER, String(all));
    for (let i = 0; i < 3; i++) await both(page, () => page.keyboard.press("w"));
    const [a, b] = await drawn(page);
    assert.deepEqual(b, [a[0] - LATER, a[1] - LATER]);
    const address = page.url();
    await page.close();
    // The first trace may be there long before the second.
    const again = await open(address, "", (page) =>
      page.route("**/b/v1/tracks*", async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 500));
        await route.continue();
      }),
    );
    await again.waitForSelector("#timeline-b[data-settled]");
    assert.deepEqual(await drawn(again), [a, b]);
    await again.close();
  },

  async chosen_events_are_aligned(page) {
    await page.locator("#timeline").focus();
    await page.keyboard.press("c");
    await page.locator("#align-events").click();
    await page.locator("#message", { hasText: "select an event or a slice" }).waitFor();
    await find(page, "first:after", "timeline");
    await find(page, "last:before", "timeline-b");
    await page.locator("#timeline").focus();
    await page.locator("#tab-compare").click();
    await both(page, () => page.locator("#align-events").click());
    const [a, b] = await drawn(page);
    assert.deepEqual(b, [a[0] - 3_000_000, a[1] - 3_000_000]);
    const { words } = shown(page);
    assert.deepEqual([words.get("at_a"), words.get("at_b")], ["7000000", "4000000"]);
  },

  async panels_are_of_the_time_line_that_has_the_keys(page) {
    await page.locator("#timeline-b").focus();
    await page.keyboard.press("t");
    const reads = page.locator("#statistics-rows tr", { hasText: "io:read" });
    await reads.locator("td", { hasText: "6 µs" }).first().waitFor();
    await page.locator("#timeline").focus();
    await reads.locator("td", { hasText: "4 µs" }).first().waitFor();
  },
};

await runAll(Object.entries(tests).map((test) => [...test, url]));
