// SPDX-License-Identifier: MIT
// The table of events. What a trace says becomes text nodes and nothing else: never markup.

import { plain, plainLines } from "./plain";
import { Stale, type EventRow, type Filter, type Page, type Source } from "./protocol";
import { framesOf } from "./stacks";
import { clock, type View } from "./time";

/** Rows that the table holds; more are asked for by narrowing the view. */
const MOST_ROWS = 5000;
/** Rows of the first answer, which are more than the table shows most often, and of each further
 * one: it takes longer to lay out a table than to draw all slices. */
const FIRST_ROWS = 40;
const NEXT_ROWS = 200;
/** From how far away of its end the table goes on by itself. */
const AHEAD = "400px";

/** An element with a text, of which each character stands for itself. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  text?: string,
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = plain(text);
  return made;
}

export function byId<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found as T;
}

/** A field's value as people read it; `isInteger`: its texts are digits of integers. */
function shown(value: unknown, isInteger = false): string {
  if (typeof value === "string") return isInteger ? value : JSON.stringify(value);
  if (value === null || typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${value.map((one) => shown(one, isInteger)).join(", ")}]`;
  const labelled = value as { label?: unknown; value?: unknown };
  if (typeof labelled.label === "string") return labelled.label;
  return `{${fields(value as Record<string, unknown>)}}`;
}

/** Fields as `name=value`, in the trace's order. */
export function fields(all: Record<string, unknown>): string {
  const text = Object.entries(all).map(([name, value]) => `${name}=${shown(value)}`);
  return text.join(" ");
}

/** The fields of an event, or what is known beside them: names and values. `joined` makes one text of
 * the functions of a call stack. */
export function valuesOf(
  { event, integers }: EventRow,
  part: "fields" | "context",
  joined: (frames: string[]) => string,
): [string, string][] {
  const exact = new Set(integers?.[part]);
  return Object.entries(event[part] ?? {}).map(([name, value]) => {
    const frames = framesOf(event, name, value);
    return [name, frames ? joined(frames) : shown(value, exact.has(name))];
  });
}

/** The same in a line. */
function line(row: EventRow, part: "fields" | "context"): string {
  const all = valuesOf(row, part, (frames) => `[${frames.join(", ")}]`);
  return all.map(([name, value]) => `${name}=${value}`).join(" ");
}

/** The row that Tab leads to. */
const REACHED = 'tr[tabindex="0"]';

/** Lets a row of a table be chosen by a click or Enter, and arrow keys lead to its neighbours. Tab
 * leads to the row that had the focus last. */
export function choosable(row: HTMLTableRowElement, choose: () => void): void {
  row.tabIndex = -1;
  row.addEventListener("focus", () => {
    row.parentElement?.querySelector<HTMLElement>(REACHED)?.setAttribute("tabindex", "-1");
    row.tabIndex = 0;
  });
  row.addEventListener("click", choose);
  row.addEventListener("keydown", (key) => {
    if (key.key === "Enter") choose();
    if (key.key !== "ArrowDown" && key.key !== "ArrowUp") return;
    key.preventDefault();
    const next = key.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
    if (next instanceof HTMLElement) next.focus();
  });
}

/** Lets Tab lead to the first row of some, unless it leads to another. */
export function reachable(rows: HTMLTableSectionElement): void {
  const [first] = rows.rows;
  if (first && !rows.querySelector(REACHED)) first.tabIndex = 0;
}

export class EventTable {
  private readonly body = byId<HTMLTableSectionElement>("event-rows");
  private readonly more = byId<HTMLButtonElement>("event-more");
  private readonly caption = byId<HTMLElement>("event-caption");
  private readonly error = byId<HTMLElement>("filter-error");
  private readonly notes = byId<HTMLElement>("event-notes");
  private abort = new AbortController();
  /** Where the table goes on; nothing at its end, and while it is asked. */
  private next: Page["next"] = null;
  private until = 0;
  private filter: Filter | null = null;
  private source: Source | null = null;
  private readonly end = new IntersectionObserver(
    (seen) => {
      if (seen.some((one) => one.isIntersecting)) void this.add();
    },
    { root: byId("event-scroll"), rootMargin: AHEAD },
  );

  constructor(private readonly select: (row: EventRow) => void) {
    this.more.addEventListener("click", () => void this.add());
  }

  /** Begins anew with the events of a view, which are shown when it is their turn. */
  async show(
    view: View,
    filter: Filter,
    source: Source,
    turn: Promise<unknown> | null,
  ): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    this.filter = filter;
    this.source = source;
    this.until = Math.max(Math.ceil(view.until), Math.floor(view.from) + 1);
    this.next = { from: Math.floor(view.from), skip: 0 };
    await this.add(true, turn);
  }

  /** Whether it says why there are no events. */
  get isRefused(): boolean {
    return !this.error.hidden;
  }

  private async add(isNew = false, turn: Promise<unknown> | null = null): Promise<void> {
    const { next, filter, source, until } = this;
    if (!next || !filter || !source) return;
    const { signal } = this.abort;
    this.end.disconnect();
    this.next = null;
    try {
      const limit = isNew ? FIRST_ROWS : NEXT_ROWS;
      const page = await source.events({ ...next, until, limit }, filter, signal);
      await turn;
      if (signal.aborted) return;
      this.error.hidden = true;
      this.next = page.next;
      const rows = page.rows.map((row) => this.row(row));
      if (isNew) this.body.replaceChildren(...rows);
      else this.body.append(...rows);
      reachable(this.body);
      this.tell(page);
      // Where nothing was found, whoever looks says whether the search goes on.
      if (rows.length > 0) this.end.observe(this.more);
    } catch (error) {
      if (signal.aborted || error instanceof Stale) return;
      this.body.replaceChildren();
      this.more.hidden = true;
      this.caption.textContent = "No events are told";
      this.notes.replaceChildren();
      this.error.hidden = false;
      this.error.textContent = plainLines(error instanceof Error ? error.message : String(error));
    }
  }

  private tell(page: Page): void {
    const count = this.body.childElementCount;
    const isFull = count >= MOST_ROWS;
    this.more.hidden = this.next === null || isFull;
    const rest = this.next === null ? "" : isFull ? "; zoom in to see others" : " and more";
    const searched = page.rows.length === 0 && this.next !== null;
    this.more.textContent = searched ? "Search on" : "More events";
    this.caption.textContent = `${count} ${count === 1 ? "event" : "events"} in view${rest}`;
    this.notes.replaceChildren(...(page.notes ?? []).map((note) => element("p", note)));
  }

  private row(row: EventRow): HTMLTableRowElement {
    const { event } = row;
    const made = element("tr");
    const thread = event.thread ? `${event.thread.name}[${event.thread.tid}]` : "";
    const cpu = event.cpu === null ? "" : String(event.cpu);
    const error = event.error ? ` (${event.error})` : "";
    const context = event.context ? ` {${line(row, "context")}}` : "";
    const text = line(row, "fields") + error + context;
    for (const cell of [clock(row.at), cpu, thread, event.name]) made.append(element("td", cell));
    // A text may have any length; all of it is told of what is selected.
    const [last, cut] = [element("td"), element("div", text)];
    cut.className = "cut";
    last.append(cut);
    made.append(last);
    choosable(made, () => {
      for (const old of this.body.querySelectorAll("[aria-selected]")) {
        old.removeAttribute("aria-selected");
      }
      made.setAttribute("aria-selected", "true");
      this.select(row);
    });
    return made;
  }
}
