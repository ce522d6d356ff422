// SPDX-License-Identifier: MIT
// Looks at the row of a lock in the page: who held it, who waited, and what is not known.
//
// Usage: node tests/view/locks.mjs URL FILE, with the page of a server and one that is a file, of the
// example woken_trace. A line for each test: `ok NAME`, or `FAIL NAME` with the reason below.

import assert from "node:assert/strict";
import { open, runAll, shown } from "./pages.mjs";

const [url, file] = [process.argv[2], `file://${process.argv[3]}`];

// The rounds of the trace, from their begins on.
const ROUND = 20_000;
const at = (round, ns) => round * ROUND + ns;

const title = (page) => page.locator("#details h3");
const cell = (page, text) => page.locator("#details td", { hasText: text }).first();

/** The page with the lock selected at a time, and a round in view. */
async function select(page, round, ns) {
  await page.fill("#search-text", "0xA0");
  await page.press("#search-text", "Enter");
  await title(page).filter({ hasText: "mutex 0xa0" }).waitFor();
  const track = shown(page).words.get("track");
  const view = `from=${at(round, 0)}&until=${at(round + 1, 0)}`;
  const hash = `#${view}&panel=details&track=${track}&at=${at(round, ns)}`;
  const own = await open(page.url().split("#")[0], hash);
  await title(own).waitFor();
  return own;
}

const tests = {
  async a_holding_tells_its_holder_and_leads_to_the_row_of_the_thread(page) {
    const own = await select(page, 4, 14_000);
    await cell(own, "held by <b>worker[11]").waitFor();
    const length = cell(own, "held by").locator("xpath=../td[4]");
    assert.equal(await length.textContent(), "2 µs");
    await own.locator("#details caption", { hasText: "Waits for it meanwhile: 0" }).waitFor();
    await cell(own, "no call stack was recorded").waitFor();
    await cell(own, "FROM locks WHERE pid = 10 AND kind = 'mutex' AND address = 160 ").waitFor();
    await own.locator("#details button", { hasText: "held by" }).click();
    await title(own).filter({ hasText: "<b>worker[11]" }).waitFor();
    assert.equal(Number(shown(own).words.get("at")), at(4, 13_000));
    assert.equal(await own.locator("b").count(), 0, "a name became markup");
    await own.close();
  },

  async keys_lead_from_one_state_of_the_lock_to_the_next(page) {
    const own = await select(page, 4, 14_000);
    await cell(own, "held by").waitFor();
    await own.locator("#timeline").focus();
    await own.keyboard.press("ArrowRight");
    await cell(own, "let go by <b>worker[11]; server[10] let it go at the end").waitFor();
    await own.keyboard.press("ArrowLeft");
    await cell(own, "held by").waitFor();
    await own.close();
  },

  async threads_that_wait_are_counted_and_told(page) {
    const own = await select(page, 4, 11_000);
    await cell(own, "1 waiting").waitFor();
    await own.locator("#details caption", { hasText: "Waits for it meanwhile: 1" }).waitFor();
    await cell(own, "awaited by <b>worker[11]").waitFor();
    await own.close();
  },

  async after_lost_events_nothing_is_said_of_the_lock_until_it_is_told_again(page) {
    const own = await select(page, 2, 7000);
    await own.locator("#details caption", { hasText: "Nothing is known of this time" }).waitFor();
    const later = await select(page, 2, 14_000);
    await cell(later, "held by").waitFor();
    await later.close();
    await own.close();
  },

  async statistics_of_the_lock_are_of_its_holdings(page) {
    if (page.url().startsWith("file:")) return;
    const own = await select(page, 4, 14_000);
    await own.locator("#timeline").focus();
    await own.keyboard.press("t");
    await own.locator("#statistics-rows tr", { hasText: "worker[11]" }).waitFor();
    await own.close();
  },
};

await runAll([
  ...Object.entries(tests).map((test) => [...test, url]),
  ...Object.entries(tests).map(([name, run]) => [`${name}_in_a_file`, run, file]),
]);
