// SPDX-License-Identifier: MIT
// Pages in the browser, and the tests that are run on them: a line for each, `ok NAME`, or `FAIL NAME`
// with the reason below. LULL_SHOTS names a folder for pictures of the pages.

import assert from "node:assert/strict";
import { launch } from "./chromium.mjs";

const shots = process.env.LULL_SHOTS;
const WAIT_MS = 20_000;

const browser = await launch();
const context = await browser.newContext({
  viewport: { width: 1280, height: 800 },
  colorScheme: "light",
});
context.setDefaultTimeout(WAIT_MS);
const requested = new Set();
/** What went wrong in a page. */
export const problems = [];

/** `prepare` is called with the page before it is loaded. */
export async function open(address, hash = "", prepare = async () => {}) {
  const page = await context.newPage();
  await prepare(page);
  page.on("request", (request) => requested.add(new URL(request.url()).origin));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (line) => line.type() === "error" && problems.push(line.text()));
  await page.goto(address + hash);
  await page.waitForSelector("#timeline[data-settled]");
  return page;
}

/** Does something, and waits until the page has drawn what it then shows in some of its time lines. */
export async function settled(page, act, lines = ["timeline"]) {
  await page.evaluate((lines) => {
    for (const id of lines) delete document.getElementById(id).dataset.settled;
  }, lines);
  await act();
  for (const id of lines) await page.waitForSelector(`#${id}[data-settled]`);
}

export const shown = (page) => {
  const words = new URLSearchParams(new URL(page.url()).hash.slice(1));
  return { from: Number(words.get("from")), until: Number(words.get("until")), words };
};
export const width = (page) => shown(page).until - shown(page).from;

export const close = () => browser.close();

/** Runs tests, each on a page of its own: name, function, address. */
export async function runAll(all) {
  for (const [name, run, address] of all) {
    requested.clear();
    const page = await open(address);
    problems.length = 0;
    try {
      await run(page);
      assert.deepEqual(problems, []);
      assert.deepEqual([...requested], [new URL(address).origin], "the page asked another site");
      console.log(`ok   ${name}`);
    } catch (error) {
      console.log(`FAIL ${name}\n${String(error.stack).replace(/^/gm, "\t")}`);
    }
    if (shots && !page.isClosed()) await page.screenshot({ path: `${shots}/${name}.png` });
    if (!page.isClosed()) await page.close();
  }
  await close();
}
