// SPDX-License-Identifier: MIT
// Follows arrows in the page: what let threads go on.
//
// Usage: node tests/view/flows.mjs URL FILE, with the page of a server and one that is a file, of the
// example woken_trace. A line for each test: `ok NAME`, or `FAIL NAME` with the reason below.

import assert from "node:assert/strict";
import { open, runAll, settled, shown } from "./pages.mjs";

const [url, file] = [process.argv[2], `file://${process.argv[3]}`];

// The rounds of the trace, from their begins on.
const ROUND = 20_000;
const at = (round, ns) => round * ROUND + ns;

const title = (page) => page.locator("#details h3");
const buttons = (page) => page.locator("#details .flows button");
const state = (page, text) => page.locator("#details td", { hasText: text }).first().waitFor();

/** Selects what a thread does at a time, with a few rounds in view. */
async function select(page, name, round, ns) {
  const again = await open(
    page.url().split("#")[0],
    `#from=${at(round, 0)}&until=${at(round + 1, 0)}&panel=details`,
  );
  await again.fill("#search-text", name);
  await again.press("#search-text", "Enter");
  await title(again).waitFor();
  const track = shown(again).words.get("track");
  const address = again.url().replace(/&(track|at)=[^&]*/g, "");
  await again.close();
  const chosen = await open(...`${address}&track=${track}&at=${at(round, ns)}`.split(/(?=#)/));
  await title(chosen).waitFor();
  return chosen;
}

/** What is drawn in the time line. */
const picture = (page) => page.evaluate(() => document.getElementById("canvas").toDataURL());

const tests = {
  async a_slice_has_the_arrow_of_who_woke_its_thread(page) {
    const own = await select(page, "worker[11]", 0, 8000);
    await state(own, "running on CPU 1");
    await buttons(own).first().waitFor();
    const text = await buttons(own).allTextContents();
    assert.deepEqual(text, [
      "← woken by server[10]: 2 µs before",
      "← let go on by server[10]: mutex 0xa0: 1 µs before",
    ]);
    assert.equal(await own.locator("b").count(), 0, "a name became markup");
    await own.close();
  },

  async keys_walk_along_an_arrow_and_back(page) {
    const own = await select(page, "worker[11]", 0, 8000);
    await buttons(own).first().waitFor();
    const before = await picture(own);
    await own.locator("#timeline").focus();
    await own.keyboard.press("[");
    await title(own)
      .filter({ hasText: /^server/ })
      .waitFor();
    assert.equal(Number(shown(own).words.get("at")), at(0, 5000));
    await buttons(own).filter({ hasText: "→" }).first().waitFor();
    assert.notEqual(await picture(own), before);
    await own.keyboard.press("]");
    await title(own)
      .filter({ hasText: /worker/ })
      .waitFor();
    assert.equal(Number(shown(own).words.get("at")), at(0, 7000));
    await own.keyboard.press("Escape");
    await own.keyboard.press("]");
    await own.locator("#message", { hasText: "select a slice first" }).waitFor();
    await own.close();
  },

  async a_lock_leads_from_who_let_it_go_to_who_waited(page) {
    const own = await select(page, "worker[11]", 0, 12_500);
    const button = buttons(own).filter({ hasText: "let go on" });
    await button.waitFor();
    assert.match(
      await button.textContent(),
      /^← let go on by server\[10\]: mutex 0xa0: 1 µs before$/,
    );
    await button.focus();
    await own.keyboard.press("Enter");
    await title(own)
      .filter({ hasText: /^server/ })
      .waitFor();
    await own.close();
  },

  async an_interrupt_wakes_from_the_row_of_its_cpu(page) {
    const own = await select(page, "worker[11]", 1, 8000);
    const button = buttons(own).filter({ hasText: "woken in" });
    await button.waitFor();
    assert.match(await button.textContent(), /7 \(disk\) on CPU 0/);
    await button.click();
    await title(own).filter({ hasText: "CPU 0" }).waitFor();
    await own.close();
  },

  async no_arrow_leads_over_a_loss(page) {
    const own = await select(page, "worker[11]", 2, 8000);
    await state(own, "running on CPU 1");
    await buttons(own).filter({ hasText: "let go on" }).waitFor();
    assert.equal(await buttons(own).filter({ hasText: "woken" }).count(), 0);
    await own.close();
  },

  async all_arrows_are_drawn_where_they_are_few_and_their_number_said_where_not(page) {
    await page.locator("#timeline").focus();
    await settled(page, () => page.keyboard.press("v"));
    await page.locator("#message", { hasText: "more than 400 arrows are in view" }).waitFor();
    assert.equal(await page.locator("#arrows").getAttribute("aria-pressed"), "true");
    assert.equal(shown(page).words.get("arrows"), "all");
    const near = `#from=${at(9, 0)}&until=${at(10, 0)}`;
    const [with_, without] = await Promise.all([
      open(page.url().split("#")[0], `${near}&arrows=all`),
      open(page.url().split("#")[0], near),
    ]);
    assert.notEqual(await picture(with_), await picture(without));
    assert.ok(!(await with_.locator("#message", { hasText: "arrows" }).isVisible()));
    await settled(with_, () => with_.locator("#arrows").click());
    await with_.waitForFunction(
      (expected) => document.getElementById("canvas").toDataURL() === expected,
      await picture(without),
    );
    await with_.close();
    await without.close();
  },
};

const served = {
  async the_first_questions_are_asked_once_each() {
    const asked = [];
    const own = await open(url, "", (page) => {
      page.on("request", (request) => asked.push(new URL(request.url()).pathname.split("/").pop()));
    });
    // The page has been laid out since: it is as wide as was expected, and says what is lost.
    await own.locator("#timeline:focus").waitFor();
    const [height, real] = await own.evaluate(() => {
      const [canvas, area] = ["canvas", "timeline"].map((id) => document.getElementById(id));
      return [canvas.height, area.clientHeight];
    });
    assert.equal(height, real);
    const first = ["events", "lost", "slices.bytes", "ticks"];
    assert.deepEqual(asked.filter((name) => first.includes(name)).sort(), first);
    await own.close();
  },
};

await runAll([
  ...Object.entries(served).map((test) => [...test, url]),
  ...Object.entries(tests).map((test) => [...test, url]),
  ...Object.entries(tests).map(([name, run]) => [`${name}_in_a_file`, run, file]),
]);
