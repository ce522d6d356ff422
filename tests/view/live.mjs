// SPDX-License-Identifier: MIT
// Opens the page of a session that runs, looks at it while it goes on, and ends it.
//
// Usage: node tests/view/live.mjs URL SESSION. Status 0 if all was as it should be.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { launch } from "./chromium.mjs";

const [url, session] = process.argv.slice(2);
const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
context.setDefaultTimeout(30_000);
const page = await context.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(error.message));
await page.goto(url);

const about = () => page.evaluate(() => fetch("v1/trace").then((answer) => answer.json()));
/** Bound: the patience of the page's functions. */
const until = (holds, of) => page.waitForFunction(holds, of);
const pressed = () => page.locator("#follow").getAttribute("aria-pressed");

// Events come, and more of them.
await until(() => document.querySelectorAll("#event-rows tr").length > 0);
const first = await about();
assert.equal(first.is_live, true);
assert.match(await page.title(), /^live – Lull$/);
await page.waitForFunction(
  async ([revision, length]) => {
    const now = await fetch("v1/trace").then((answer) => answer.json());
    return now.revision > revision && now.length_ns > length;
  },
  [first.revision, first.length_ns],
);
assert.equal(await pressed(), "true");
const end = () => Number(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("until"));
const before = end();
await page.waitForFunction(
  (before) => Number(new URLSearchParams(location.hash.slice(1)).get("until")) > before,
  before,
);

/** Keeps answers to a question back until the function that it gives is called. */
async function hold(question) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  const pattern = `**/v1/${question}*`;
  await page.route(pattern, (route) => released.then(() => route.continue()));
  return async () => {
    release();
    await page.unrouteAll({ behavior: "wait" });
  };
}
const refused = () =>
  page.waitForResponse((answer) => answer.url().includes("/v1/details") && answer.status() === 409);
const cpu = { hasText: /^CPU 0$/ };
const machine = { hasNotText: /^CPU / };
const isSelected = (row) => page.locator("#details h3", row).waitFor();

const revision = async () => (await (await context.request.get(`${url}v1/trace`)).json()).revision;

/** Waits until the session has gone on so often. */
async function goesOn(times) {
  const known = await revision();
  // Bound: half a minute.
  for (let i = 0; i < 300 && (await revision()) < known + times; i++) {
    await page.waitForTimeout(100);
  }
}

// What the session was one state before is still told, so that nobody waits for the page to learn
// that it has gone on.
await page.locator("#timeline").focus();
let [release, answer] = [];
// Bound: on a busy machine it may go on once more before it is asked, but not always.
for (let i = 0; i < 5; i++) {
  release = await hold("trace");
  await goesOn(1);
  const told = page.waitForResponse((answer) => answer.url().includes("/v1/details"));
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowDown");
  answer = await told;
  if (answer.status() === 200) break;
  const asked = Number(new URL(answer.url()).searchParams.get("revision"));
  assert.ok((await revision()) > asked + 1, "one state before is told");
  await release();
}
assert.equal(answer.status(), 200);
await isSelected(machine);

// Rows are selected while the session has gone on twice and the page does not know that yet: the
// server refuses to tell of them, and the page asks again once it has what the session is now.
await goesOn(2);
let refusal = refused();
await page.keyboard.press("ArrowDown");
await refusal;
await release();
await isSelected(cpu);

// The same while its rows are loaded: what is selected is a row that is on the screen.
release = await hold("tracks");
await page.waitForRequest("**/v1/tracks*");
await goesOn(2);
refusal = refused();
await page.keyboard.press("ArrowUp");
await refusal;
await release();
await isSelected(machine);

// A row that was selected is the same one afterwards, whatever its identifier.
await page.waitForResponse((answer) => answer.url().includes("/v1/tracks"));
await page.keyboard.press("ArrowDown");
await isSelected(cpu);

// Who looks at what was before stays there.
for (let i = 0; i < 4; i++) await page.keyboard.press("w");
for (let i = 0; i < 2; i++) await page.keyboard.press("a");
assert.equal(await pressed(), "false");
await page.keyboard.press("l");
assert.equal(await pressed(), "true");

// Its status is 1 if a program of the session ended before it could join.
assert.ok([0, 1].includes(spawnSync("lull", ["stop", session]).status));
await page.locator("#message", { hasText: "the session has ended" }).waitFor();
assert.equal((await about()).is_live, false);
assert.ok(!(await page.locator("#follow").isVisible()));
await page.locator("#tab-notes").click();
const notes = async () => page.locator("#notes").textContent();
assert.match(await notes(), /The session has ended: `lull view /);
assert.doesNotMatch(await notes(), /The session runs/);

// The page that is loaded again says so, too.
await page.reload();
await page.locator("#message", { hasText: "the session has ended" }).waitFor();
assert.deepEqual(problems, []);
await browser.close();
