// SPDX-License-Identifier: MIT
// Starts the page, and listens to keys, mouse and forms.

import { App } from "./app";
import { byId, element } from "./events";
import { listenToTabs, showNotes, showPanel } from "./panel";
import { askAbout, askOf, type About, type Filter } from "./protocol";

const THEME = "lull-theme";

/** What the browser keeps for pages; for a page that is a file it may keep nothing. */
function kept(): string | null {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null;
  }
}

function keep(theme: string): void {
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // It is as it was when the page is opened again.
  }
}

function isDarkAtFirst(): boolean {
  const theme = kept();
  return theme === null ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
}

function listenToTheme(app: App, isDark: boolean): void {
  let isNow = isDark;
  byId("theme").addEventListener("click", () => {
    isNow = !isNow;
    keep(isNow ? "dark" : "light");
    document.documentElement.dataset["theme"] = isNow ? "dark" : "light";
    app.theme(isNow);
  });
}

function listenToMouse(app: App): { x: number } {
  const area = byId("timeline");
  const pointer = { x: Number.NaN };
  let drag: { x: number; y: number; at: number; moved: boolean; isMeasure: boolean } | null = null;
  const place = (event: MouseEvent): [number, number] => {
    const box = area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  byId("canvas").addEventListener("pointerdown", (event) => {
    const [x, y] = place(event);
    if (event.button !== 0) return;
    drag = { x, y, at: x, moved: false, isMeasure: event.shiftKey };
    byId("canvas").setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    pointer.x = x;
    if (!drag) return;
    drag.moved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4;
    if (!drag.moved) return;
    if (drag.isMeasure) app.measure(drag.x, x);
    else app.pan(x - drag.at);
    drag.at = x;
  });
  area.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) app.click(...place(event));
    drag = null;
  });
  area.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      const by = (event.deltaY || event.deltaX) * lines;
      if (event.ctrlKey || event.metaKey) app.zoom(Math.exp(by / 300), app.timeAt(place(event)[0]));
      else if (event.shiftKey || event.deltaX !== 0) app.pan(-(event.deltaX || by));
      else app.scrollBy(by);
    },
    { passive: false },
  );
  return pointer;
}

function listenToKeys(app: App, pointer: { x: number }): void {
  const at = (): number | undefined =>
    Number.isNaN(pointer.x) ? undefined : app.timeAt(pointer.x);
  const actions: Record<string, () => void> = {
    w: () => app.zoom(0.7, at()),
    s: () => app.zoom(1 / 0.7, at()),
    a: () => app.move(-0.2),
    d: () => app.move(0.2),
    f: () => app.focusSelection(),
    m: () => app.toggleMark(),
    l: () => app.toggleFollow(),
    t: () => showPanel("statistics"),
    "0": () => app.whole(),
    "/": () => byId("search-text").focus(),
    "?": () => byId<HTMLDialogElement>("help").showModal(),
    escape: () => app.giveUp(),
  };
  const onRows: Record<string, () => void> = {
    arrowup: () => app.step(-1),
    arrowdown: () => app.step(1),
    arrowleft: () => app.stepSlice(-1),
    arrowright: () => app.stepSlice(1),
    enter: () => app.toggleSelected(),
  };
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    const isText = target instanceof HTMLInputElement;
    if (isText && event.key === "Escape") target.blur();
    if (isText || event.ctrlKey || event.metaKey || event.altKey) return;
    if (byId<HTMLDialogElement>("help").open) return;
    const key = event.key.toLowerCase();
    const isOnRows = target === byId("timeline") || target === document.body;
    const action = actions[key] ?? (isOnRows ? onRows[key] : undefined);
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function listenToForms(app: App): void {
  const words = ["e", "pid", "tid", "cpu", "comm"] as const;
  const form = byId<HTMLFormElement>("filter");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const of = (word: string): string => byId<HTMLInputElement>(`filter-${word}`).value.trim();
    app.setFilter(Object.fromEntries(words.map((word) => [word, of(word)])) as unknown as Filter);
    showPanel("events");
  });
  form.addEventListener("reset", () => setTimeout(() => form.requestSubmit()));
  byId<HTMLFormElement>("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const { value } = byId<HTMLInputElement>("search-text");
    app.find(value.trim()).catch((error: unknown) => app.say(String(error)));
  });
  byId("whole").addEventListener("click", () => app.whole());
  byId("help-open").addEventListener("click", () => byId<HTMLDialogElement>("help").showModal());
}

/** How often a running session is asked whether it has gone on. */
const LIVE_MS = 1000;

/** Follows a running session until it ends. */
async function follow(app: App, first: About): Promise<void> {
  byId("follow").hidden = false;
  byId("follow").addEventListener("click", () => app.toggleFollow());
  let about = first;
  while (about.is_live) {
    await new Promise((resolve) => setTimeout(resolve, LIVE_MS));
    const now = await askAbout();
    if (now.revision !== about.revision) {
      // If it went on while its rows were read, they are read again.
      if (!(await app.renew(now))) continue;
    }
    about = now;
    showNotes(about);
  }
  byId("follow").hidden = true;
  app.say("the session has ended; the page shows the last of it");
}

async function start(): Promise<void> {
  const isDark = isDarkAtFirst();
  document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
  const about = await askAbout();
  askOf(about);
  const name = about.traces.map((path) => path.split("/").filter(Boolean).pop() ?? path).join(", ");
  byId("trace-name").textContent = name;
  byId("trace-name").title = about.traces.join("\n");
  document.title = `${name} – Lull`;
  for (const event of about.events) {
    const option = element("option");
    option.value = event;
    byId("event-names").append(option);
  }
  showNotes(about);
  const app = new App(about, isDark);
  listenToTabs();
  listenToTheme(app, isDark);
  listenToKeys(app, listenToMouse(app));
  listenToForms(app);
  byId("panel").addEventListener("shown", () => app.keep(), true);
  window.addEventListener("hashchange", () => app.restore());
  await app.start();
  if (about.lost > 0)
    app.say(`${about.lost} events or packets are missing; where, is hatched in red`);
  byId("timeline").focus();
  if (about.is_live) {
    follow(app, about).catch((error: unknown) => app.say(`the session is not followed: ${error}`));
  }
}

start().catch((error: unknown) => {
  const message = byId("message");
  message.hidden = false;
  message.textContent = `The page could not start: ${error instanceof Error ? error.message : String(error)}`;
});
