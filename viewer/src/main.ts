// SPDX-License-Identifier: MIT
// Starts the page, and listens to keys, mouse and forms.

import { App } from "./app";
import { sayAlways } from "./bar";
import { byId, element } from "./events";
import { Frame } from "./frame";
import { listenToTabs, showNotes, showPanel } from "./panel";
import { plain, plainLines } from "./plain";
import { Source, type About, type Filter } from "./protocol";
import { hide, reveal } from "./ready";

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

function listenToTheme(frame: Frame, isDark: boolean): void {
  let isNow = isDark;
  const show = (isShownDark: boolean): void => {
    document.documentElement.dataset["theme"] = isShownDark ? "dark" : "light";
    frame.theme(isShownDark);
  };
  byId("theme").addEventListener("click", () => {
    isNow = !isNow;
    keep(isNow ? "dark" : "light");
    show(isNow);
  });
  // Paper is light, and a page that is printed has no further frame: it is drawn at once.
  const paper = matchMedia("print");
  paper.addEventListener("change", () => show(isNow && !paper.matches));
}

/** Where the pointer is in the time line that it is over. */
interface Pointer {
  over: App | null;
  x: number;
}

function listenToMouse(app: App, pointer: Pointer): void {
  const { area } = app;
  const canvas = area.querySelector("canvas") ?? area;
  let drag: { x: number; y: number; at: number; moved: boolean; isMeasure: boolean } | null = null;
  const place = (event: MouseEvent): [number, number] => {
    const box = area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = place(event);
    if (event.button !== 0) return;
    drag = { x, y, at: x, moved: false, isMeasure: event.shiftKey };
    canvas.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    [pointer.over, pointer.x] = [app, x];
    app.hover({ x, y });
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
}

function listenToKeys(frame: Frame, pointer: Pointer): void {
  const zoom = (factor: number): void => {
    const { over, x } = pointer;
    const line = over ?? frame.active;
    line.zoom(factor, over ? line.timeAt(x) : undefined);
  };
  const actions: Record<string, () => void> = {
    w: () => zoom(0.7),
    s: () => zoom(1 / 0.7),
    a: () => frame.active.move(-0.2),
    d: () => frame.active.move(0.2),
    f: () => frame.active.focusSelection(),
    m: () => frame.active.toggleMark(),
    l: () => frame.active.toggleFollow(),
    t: () => showPanel("statistics"),
    g: () => showPanel("flame"),
    n: () => {
      showPanel("counters");
      byId("counter-name").focus();
    },
    p: () => frame.active.pin(),
    o: () => frame.active.sort(),
    v: () => frame.toggleArrows(),
    "[": () => void frame.active.flows.walk(-1),
    "]": () => void frame.active.flows.walk(1),
    ...(frame.lines.length > 1 ? { c: () => showPanel("compare") } : {}),
    "0": () => frame.active.whole(),
    "/": () => byId("search-text").focus(),
    "?": () => byId<HTMLDialogElement>("help").showModal(),
    escape: () => frame.active.giveUp(),
  };
  const onRows: Record<string, () => void> = {
    arrowup: () => frame.active.step(-1),
    arrowdown: () => frame.active.step(1),
    arrowleft: () => frame.active.stepSlice(-1),
    arrowright: () => frame.active.stepSlice(1),
    enter: () => frame.active.toggleSelected(),
  };
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    const isText = target instanceof HTMLInputElement;
    if (isText && event.key === "Escape") target.blur();
    if (isText || event.ctrlKey || event.metaKey || event.altKey) return;
    if (byId<HTMLDialogElement>("help").open) return;
    const key = event.key.toLowerCase();
    const isOnRows = target === frame.active.area || target === document.body;
    const action = actions[key] ?? (isOnRows ? onRows[key] : undefined);
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function listenToForms(frame: Frame): void {
  const words = ["e", "pid", "tid", "cpu", "comm"] as const;
  const form = byId<HTMLFormElement>("filter");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const of = (word: string): string => byId<HTMLInputElement>(`filter-${word}`).value.trim();
    frame.setFilter(Object.fromEntries(words.map((word) => [word, of(word)])) as unknown as Filter);
    showPanel("events");
  });
  form.addEventListener("reset", () => setTimeout(() => form.requestSubmit()));
  byId<HTMLFormElement>("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const { value } = byId<HTMLInputElement>("search-text");
    const app = frame.active;
    app.find(value.trim()).catch((error: unknown) => app.say(String(error)));
  });
  byId("whole").addEventListener("click", () => frame.active.whole());
  byId("arrows").addEventListener("click", () => frame.toggleArrows());
  byId("help-open").addEventListener("click", () => byId<HTMLDialogElement>("help").showModal());
}

/** A field of an event is drawn as a line; those that there are, are offered. */
function listenToCounters(frame: Frame): void {
  const name = byId<HTMLInputElement>("counter-name");
  byId<HTMLFormElement>("counter-add").addEventListener("submit", (event) => {
    event.preventDefault();
    if (name.value.trim() !== "") frame.addCounter(name.value.trim());
    name.value = "";
  });
  const offer = async (): Promise<void> => {
    const { names, offered } = await frame.active.source.numbers();
    const buttons = offered.map((one) => {
      const button = element("button", `Add “${one}”`);
      button.type = "button";
      button.addEventListener("click", () => frame.addCounter(one));
      return button;
    });
    byId("counter-offers").replaceChildren(...buttons);
    const options = names.map((one) => Object.assign(element("option"), { value: one }));
    byId("counter-names").replaceChildren(...options);
  };
  // What a running session has by then.
  byId("counters").addEventListener("shown", () => {
    offer().catch((error: unknown) => frame.active.say(String(error)));
  });
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
    const now = await app.source.about();
    if (now.revision !== about.revision) {
      // If it went on while its rows were read, they are read again.
      if (!(await app.renew(now))) continue;
    }
    about = now;
    showNotes([about]);
  }
  byId("follow").hidden = true;
  sayEnd();
}

function sayEnd(): void {
  sayAlways("the session has ended; the page shows the last of it");
}

const nameOf = (path: string): string => path.split("/").filter(Boolean).pop() ?? path;

/** What is viewed, above the page and in its title. */
function showNames(about: About): void {
  const [first, second] = [about.traces, about.beside ?? []].map((all) =>
    all.map(nameOf).join(", "),
  );
  const name = plain(second ? `A: ${first} · B: ${second}` : (first ?? ""));
  byId("trace-name").textContent = name;
  byId("trace-name").title = [...about.traces, ...(about.beside ?? [])].map(plain).join("\n");
  document.title = `${name} – Lull`;
}

/** A time line that is one of the page. */
function line(frame: Frame, about: About, source: Source, suffix: string, pointer: Pointer): App {
  const app = new App(
    about,
    document.documentElement.dataset["theme"] === "dark",
    frame,
    source,
    suffix,
  );
  frame.add(app);
  listenToMouse(app, pointer);
  for (const name of ["focusin", "pointerdown"]) {
    app.area.addEventListener(name, () => frame.activate(app));
  }
  app.area.addEventListener("pointerleave", () => {
    pointer.over = null;
    app.hover(null);
  });
  return app;
}

async function start(): Promise<void> {
  const isPainted = hide();
  const isDark = isDarkAtFirst();
  document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
  const source = new Source("");
  const about = await source.about();
  source.askOf(about);
  showNames(about);
  const abouts = [about];
  const frame = new Frame();
  const pointer: Pointer = { over: null, x: Number.NaN };
  const app = line(frame, about, source, "", pointer);
  if (about.beside) {
    for (const id of ["timeline-b", "tab-compare", "help-compare"]) byId(id).hidden = false;
    const other = new Source("b/");
    abouts.push(await other.about());
    line(frame, abouts[1] ?? about, other, "-b", pointer);
  }
  for (const event of new Set(abouts.flatMap((one) => one.events))) {
    const option = element("option");
    option.value = event;
    byId("event-names").append(option);
  }
  showNotes(abouts);
  listenToTabs();
  listenToTheme(frame, isDark);
  listenToKeys(frame, pointer);
  listenToForms(frame);
  listenToCounters(frame);
  byId("panel").addEventListener("shown", () => frame.keep(), true);
  window.addEventListener("hashchange", () => frame.restore());
  const lost = abouts.map(({ lost }) => lost);
  if (lost.some((count) => count > 0)) {
    const counts = about.beside ? `${lost[0]} (A) and ${lost[1]} (B)` : String(lost[0]);
    sayAlways(`${counts} events or packets are missing; where, is hatched in red`);
  }
  await frame.start();
  isPainted.then(() => frame.active.area.focus());
  if (about.is_live) {
    follow(app, about).catch((error: unknown) => app.say(`the session is not followed: ${error}`));
  } else if (about.revision !== undefined) {
    sayEnd();
  }
}

start().catch((error: unknown) => {
  reveal();
  const message = byId("message");
  message.hidden = false;
  const reason = error instanceof Error ? error.message : String(error);
  message.textContent = plainLines(`The page could not start: ${reason}`);
});
