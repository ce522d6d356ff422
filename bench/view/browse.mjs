// SPDX-License-Identifier: MIT
// Does in Chromium what a person does with the page of `lull view`, and measures it.
//
// Usage: node bench/view/browse.mjs URL ROUNDS [SECONDS]. Prints one JSON object: for each action how
// many milliseconds each round took, from the key or the click to the page that has drawn its
// answer; intervals between frames while the view moves for so many seconds; memory of the page.
// Without SECONDS, only loading, the whole, zooming and panning are measured: of two traces that are
// compared, of a running session, or of a page that is a file.

import { readFileSync } from "node:fs";
import { launch } from "../../tests/view/chromium.mjs";

const [url, rounds, seconds] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const isAll = process.argv.length > 4;
const WAIT_MS = 120_000;
/** With a new window Chromium loads pages of its own, which take a second of a CPU. */
const WINDOW_MS = 1_500;
/** Between two actions: those of a person who is quick. */
const PAUSE_MS = 100;
/** Longer than any trace here: the page shows what there is of it. */
const WHOLE_NS = 1e14;

const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1920, height: 1080 } });
context.setDefaultTimeout(WAIT_MS);
// A page says by itself when it is there: whoever asks it meanwhile takes time from it.
await context.addInitScript(() => {
  window.shownLines = () => [...document.querySelectorAll(".timeline:not([hidden])")];
  window.areSettled = () => window.shownLines().every((line) => line.dataset.settled);
  const tell = (what, ms) => console.log(`${what} after ${ms} ms`);
  const observer = new MutationObserver(() => {
    if (!areSettled()) return;
    observer.disconnect();
    requestAnimationFrame(() => tell("drawn", performance.now()));
  });
  const attributeFilter = ["data-settled"];
  observer.observe(document, { attributes: true, attributeFilter, subtree: true });
  const paints = new PerformanceObserver((list) => {
    const [found] = list.getEntriesByName("first-contentful-paint");
    if (found) tell("painted", found.startTime);
  });
  paints.observe({ type: "paint", buffered: true });
});

/** A window that has come to rest. */
async function opened() {
  const page = await context.newPage();
  await page.waitForTimeout(WINDOW_MS);
  return page;
}

/** Opens an address; how many milliseconds the page took from there until it says something. */
async function told(page, address, what) {
  const predicate = (said) => said.text().startsWith(`${what} after `);
  const saying = page.waitForEvent("console", { predicate });
  await page.goto(address, { waitUntil: "commit" });
  return Number((await saying).text().split(" ")[2]);
}

/** A page, and how long it took from its address to its first whole picture. */
async function open(hash) {
  const page = await opened();
  return [page, await told(page, url + hash, "drawn")];
}

/** How long a page of the same server takes that runs no script: to its first paint. */
async function empty() {
  const page = await opened();
  const ms = await told(page, new URL("v1/numbers", url).href, "painted");
  await page.close();
  return ms;
}

/** Does something within the page; how long until an element says, by an attribute or a text,
 * that its answer is there. */
async function timed(page, act, word) {
  await page.waitForTimeout(PAUSE_MS);
  return page.evaluate(
    ([act, word]) =>
      new Promise((resolve) => {
        const area = document.getElementById("timeline");
        const details = document.getElementById("details");
        const lines = shownLines();
        for (const line of lines) delete line.dataset.settled;
        details.replaceChildren();
        const begin = performance.now();
        const isDone = () => (act.selects ? details.childElementCount > 0 : areSettled());
        const observer = new MutationObserver(() => {
          if (!isDone()) return;
          observer.disconnect();
          requestAnimationFrame(() => resolve(performance.now() - begin));
        });
        for (const seen of act.selects ? [details] : lines) {
          observer.observe(seen, { attributes: true, childList: true });
        }
        if (act.key) {
          area.dispatchEvent(new KeyboardEvent("keydown", { key: act.key, bubbles: true }));
        } else if (act.click) {
          const canvas = document.getElementById("canvas");
          const [clientX, clientY] = act.click;
          const at = { clientX, clientY, button: 0, pointerId: 1, bubbles: true };
          canvas.setPointerCapture = () => undefined;
          canvas.dispatchEvent(new PointerEvent("pointerdown", at));
          canvas.dispatchEvent(new PointerEvent("pointerup", at));
        } else {
          document.getElementById(act.input).value = word;
          document.getElementById(act.form).requestSubmit();
        }
      }),
    [act, word],
  );
}

/** Intervals between frames while something happens in each of them. */
const frames = (page, kind) =>
  page.evaluate(
    ([kind, ms]) =>
      new Promise((resolve) => {
        const area = document.getElementById("timeline");
        const box = area.getBoundingClientRect();
        const intervals = [];
        const begin = performance.now();
        let last = begin;
        const step = (now) => {
          intervals.push(now - last);
          last = now;
          if (now - begin > ms) return resolve(intervals.slice(1));
          // Back and forth, so that the view ends about where it began.
          const back = Math.floor((now - begin) / 1000) % 2 === 1 ? -1 : 1;
          area.dispatchEvent(
            new WheelEvent("wheel", {
              deltaY: kind === "zoom" ? -12 * back : 20 * back,
              ctrlKey: kind === "zoom",
              shiftKey: kind === "pan",
              clientX: box.left + 1000,
              clientY: box.top + 200,
              bubbles: true,
              cancelable: true,
            }),
          );
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    [kind, seconds * 1000],
  );

const took = {};
const note = (name, ms) => (took[name] ??= []).push(Math.round(ms * 1000) / 1000);

/** Opens the page and moves the view. Its own view each time: what the server remembers is asked
 * for by nobody. */
async function looked(round) {
  const [page, ms] = await open(`#from=${round}&until=${WHOLE_NS + round}`);
  note("load", ms);
  if (isAll) note("load of a page without a trace", await empty());
  note("whole", await timed(page, { key: "0" }));
  for (let i = 0; i < 12; i++) note("zoom", await timed(page, { key: "w" }));
  for (let i = 0; i < 6; i++) note("pan", await timed(page, { key: "d" }));
  return page;
}

/** Selects, filters and searches. */
async function asked(page, round) {
  for (let i = 0; i < 4; i++) {
    const click = [900 + 17 * i, 200 + 61 * i];
    note("select", await timed(page, { click, selects: true }));
  }
  const filter = { input: "filter-e", form: "filter" };
  note("filter, near", await timed(page, filter, "syscalls:sys_exit_read"));
  note("query, near", await timed(page, filter, `sched:sched_switch if next_pid > ${round}`));
  await timed(page, { key: "0" });
  note("filter, whole", await timed(page, filter, "syscalls:sys_exit_write"));
  note("query, whole", await timed(page, filter, `sched:sched_switch if next_prio > ${round}`));
  await timed(page, filter, "");
  const search = { input: "search-text", form: "search", selects: true };
  note("search a row", await timed(page, search, "worker-1"));
  note("search an event", await timed(page, search, "irq:softirq_exit"));
}

/** What a page takes of memory, once its garbage is collected: its scripts, and its process. */
async function memory(page) {
  await page.waitForTimeout(1000);
  const tools = await context.newCDPSession(page);
  await tools.send("HeapProfiler.collectGarbage");
  await tools.send("Performance.enable");
  const { metrics } = await tools.send("Performance.getMetrics");
  const heap = metrics.find((metric) => metric.name === "JSHeapUsedSize").value;
  const system = await browser.newBrowserCDPSession();
  const { processInfo } = await system.send("SystemInfo.getProcessInfo");
  const resident = (id) => {
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${id}/status`, "utf8"));
    return found ? Number(found[1]) * 1024 : 0;
  };
  const renderers = processInfo.filter((process) => process.type === "renderer");
  return { heap, renderer: Math.max(...renderers.map((process) => resident(process.id))) };
}

for (let round = 0; round < rounds; round++) {
  const page = await looked(round);
  if (isAll) await asked(page, round);
  await page.close();
}
const found = { took };
if (isAll) {
  const [page] = await open("");
  found.frames = {};
  for (const kind of ["zoom", "pan"]) found.frames[kind] = await frames(page, kind);
  Object.assign(found, await memory(page));
}
console.log(JSON.stringify(found));
await browser.close();
