// SPDX-License-Identifier: MIT
// Compares what the page looks like with pictures of it that were looked at, in tests/view/pictures.
//
// Usage: node tests/view/pictures.mjs URL [compared | woken], with the page of the example viewed_trace,
// the one that compares it with a later one, or that of the example woken_trace. LULL_PICTURES=new
// takes the pictures anew: look at them.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { open, runAll, settled } from "./pages.mjs";

const url = process.argv[2];
const kept = new URL("./pictures/", import.meta.url).pathname;
const taken = new URL("../../build/viewer/pictures/", import.meta.url).pathname;
// Browsers draw letters a little differently, and no two fonts are equal: pictures are compared at a
// quarter of their size, and a pixel differs if one of its colours does so by more than this, of 255.
const SHRINK = 4;
const COLOUR_DIFFERENCE = 32;
// So much of a picture may differ: a row of text that has moved by a line is more.
const SHARE = 0.005;

/** Of two pictures: whether the sizes are equal, and what share of the pixels differs. */
async function difference(page, files) {
  const pictures = files.map((file) => readFileSync(file).toString("base64"));
  return page.evaluate(
    async ([pictures, shrink, most]) => {
      const pixels = async (picture) => {
        const image = new Image();
        image.src = `data:image/png;base64,${picture}`;
        await image.decode();
        const [w, h] = [image.width / shrink, image.height / shrink].map(Math.floor);
        const context = new OffscreenCanvas(w, h).getContext("2d");
        context.imageSmoothingQuality = "high";
        context.drawImage(image, 0, 0, w, h);
        return context.getImageData(0, 0, w, h);
      };
      const [a, b] = await Promise.all(pictures.map(pixels));
      if (a.width !== b.width || a.height !== b.height) return 1;
      let count = 0;
      for (let at = 0; at < a.data.length; at += 4) {
        const differs = (i) => Math.abs(a.data[at + i] - b.data[at + i]) > most;
        if (differs(0) || differs(1) || differs(2)) count++;
      }
      return count / (a.data.length / 4);
    },
    [pictures, SHRINK, COLOUR_DIFFERENCE],
  );
}

/** The page looks as in the picture of that name. */
async function looksAs(page, name) {
  await page.mouse.move(0, 0);
  const picture = await page.screenshot({ animations: "disabled", caret: "hide" });
  mkdirSync(taken, { recursive: true });
  writeFileSync(`${taken}${name}.png`, picture);
  if (process.env.LULL_PICTURES === "new") writeFileSync(`${kept}${name}.png`, picture);
  const judge = await page.context().newPage();
  const share = await difference(judge, [`${kept}${name}.png`, `${taken}${name}.png`]);
  await judge.close();
  const percent = (100 * share).toFixed(2);
  assert.ok(share <= SHARE, `${percent} % of build/viewer/pictures/${name}.png differs`);
}

const press = async (page, key) => {
  await page.locator("#timeline").focus();
  await page.keyboard.press(key);
};

const one = {
  async the_whole_trace_looks_as_expected(page) {
    await looksAs(page, "whole");
  },

  async calls_from_near_and_a_selection_look_as_expected(page) {
    await page.fill("#search-text", "first:after");
    await settled(page, () => page.press("#search-text", "Enter"));
    for (let i = 0; i < 4; i++) await settled(page, () => press(page, "w"));
    await page.locator("#details h3").waitFor({ state: "attached" });
    await page.locator("#tab-details").click();
    await looksAs(page, "near");
  },

  async the_dark_page_looks_as_expected(page) {
    await page.locator("#theme").click();
    await looksAs(page, "dark");
    await page.locator("#theme").click();
  },

  async statistics_look_as_expected(page) {
    await press(page, "t");
    const row = page.locator("#statistics-rows tr", { hasText: "job" });
    await row.waitFor();
    await row.click();
    await page.locator("#statistics-histogram caption", { hasText: "job" }).waitFor();
    await looksAs(page, "statistics");
  },

  async flame_graph_looks_as_expected(page) {
    await press(page, "g");
    await page.locator("#flame-graph button", { hasText: /^io:read$/ }).waitFor();
    await looksAs(page, "flame");
  },

  async a_dark_page_is_printed_light(page) {
    await page.locator("#theme").click();
    await page.locator('[data-theme="dark"]').waitFor();
    await page.emulateMedia({ media: "print" });
    await page.locator('[data-theme="light"]').waitFor();
    await looksAs(page, "printed");
    await page.emulateMedia({ media: "screen" });
    await page.locator('[data-theme="dark"]').waitFor();
    await page.locator("#theme").click();
  },
};

const two = {
  async two_traces_look_as_expected(page) {
    await press(page, "c");
    await page.locator("#compare-tables tr").first().waitFor();
    await looksAs(page, "compared");
  },
};

const woken = {
  async arrows_look_as_expected(page) {
    await page.fill("#search-text", "worker[11]");
    await page.press("#search-text", "Enter");
    await page.locator("#details h3").waitFor({ state: "attached" });
    const track = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("track");
    const words = "from=180000&until=240000&panel=details&arrows=all&at=188000";
    const own = await open(url, `#${words}&track=${track}`);
    await own.locator("#details .flows button").first().waitFor();
    await looksAs(own, "flows");
    await own.close();
  },
};

woken.a_counter_looks_as_expected = async (page) => {
  const words = "from=20000&until=240000&panel=counters&counter=queue:length.length";
  const own = await open(page.url().split("#")[0], `#${words}`);
  await own.locator("#counter-list p", { hasText: "values in view" }).waitFor();
  await looksAs(own, "counter");
  await own.close();
};

const all = { compared: two, woken }[process.argv[3]] ?? one;
await runAll(Object.entries(all).map(([name, run]) => [name, run, url]));
