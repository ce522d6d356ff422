// SPDX-License-Identifier: MIT
// Lines of numbers: fields of events that a person chose, each in a row at the top.
//
// Place in the flow: a time line (app.ts) has the values asked for of the view; draw.ts draws the rows
// by this; the panel lists them, with their values as tables for those who do not see the lines.

import { colourOf } from "./colour";
import { cut, NAMES, timeAt, xOf, yOf, type Scene, type Selection } from "./draw";
import { byId, element } from "./events";
import type { Placed } from "./layout";
import { facts, offerDetails } from "./panel";
import { Stale, type Amount, type Counter, type Source, type Track } from "./protocol";
import { clock, type View } from "./time";

/** Counters of a page; answers for one view of one; rows of a table. */
export const MOST_COUNTERS = 16;
const MOST_ANSWERS = 100;
const MOST_ROWS = 200;

/** What stands before a counter's name in the identifier of its row. */
const PREFIX = "n:";

/** What is known of a counter in a view. */
export interface Line {
  view: View;
  pixels: number;
  columns: Counter["columns"];
  before: Amount | null;
  count: number;
  notNumbers: number;
  /** What is later was not read. */
  stopped: number | null;
  error: string;
}

/** The row of a counter. */
export function rowOf(name: string): Track {
  return { id: `${PREFIX}${name}`, kind: "counter", name, parent: null, host: -1, lanes: {} };
}

/** The least and the greatest value; nothing, if there is none. */
export function range({ columns, before }: Line): [Amount, Amount] | null {
  let [least, most]: [Amount | null, Amount | null] = [before, before];
  for (const [, low, high] of columns) {
    if (least === null || Number(low) < Number(least)) least = low;
    if (most === null || Number(high) > Number(most)) most = high;
  }
  return least === null || most === null ? null : [least, most];
}

/** The column at a time, or the last before it. */
export function columnAt(
  { columns, view, pixels }: Line,
  at: number,
): Counter["columns"][number] | null {
  const pixel = Math.floor(((at - view.from) / (view.until - view.from)) * pixels);
  let [low, high] = [0, columns.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((columns[middle]?.[0] ?? 0) <= pixel) low = middle + 1;
    else high = middle;
  }
  return columns[low - 1] ?? null;
}

/** What is known of the value at a time, in words. */
export function valueText(line: Line, at: number): string {
  if (line.stopped !== null && at >= line.stopped) return "not read";
  const column = columnAt(line, at);
  if (!column) return line.before === null ? "no value before" : String(line.before);
  const [, least, most, last] = column;
  return least === most ? String(last) : `${last} (from ${least} to ${most} in this pixel)`;
}

/** Adds the columns of a further answer, which may begin in the pixel in which the others end. */
export function joined(all: Counter["columns"], more: Counter["columns"]): Counter["columns"] {
  const [last, first] = [all[all.length - 1], more[0]];
  if (!last || !first || last[0] !== first[0]) return [...all, ...more];
  const least = Number(first[1]) < Number(last[1]) ? first[1] : last[1];
  const most = Number(first[2]) > Number(last[2]) ? first[2] : last[2];
  return [...all.slice(0, -1), [last[0], least, most, first[3]], ...more.slice(1)];
}

type Pen = CanvasRenderingContext2D;

/** Draws the line of a row: in each pixel from the least to the greatest value, and between pixels
 * the last one. */
export function drawCounter(pen: Pen, scene: Scene, row: Placed): void {
  const line = scene.counters.get(row.track.id);
  const found = line && range(line);
  if (!line || !found) return;
  const [low, high] = found.map(Number) as [number, number];
  const y = yOf(scene, row);
  const room = row.height - 8;
  const heightOf = (value: Amount): number =>
    high > low ? y + 4 + (1 - (Number(value) - low) / (high - low)) * room : y + 4 + room / 2;
  const step = (line.view.until - line.view.from) / line.pixels;
  const each = Math.max(1, xOf(scene, step) - xOf(scene, 0));
  const end = xOf(scene, line.stopped ?? line.view.until);
  pen.fillStyle = colourOf("counter", row.track.name, scene.colours);
  pen.globalAlpha = 1;
  const level = (from: number, until: number, value: Amount): void => {
    const left = Math.max(from, NAMES);
    if (until > left) pen.fillRect(left, heightOf(value) - 1, until - left, 2);
  };
  let [at, value]: [number, Amount | null] = [xOf(scene, line.view.from), line.before];
  for (const [pixel, least, most, last] of line.columns) {
    const x = xOf(scene, line.view.from + pixel * step);
    const top = heightOf(most);
    if (value !== null) {
      level(at, x, value);
      // From the value before to this one.
      const [one, other] = [heightOf(value), heightOf(least)];
      if (x >= NAMES)
        pen.fillRect(x, Math.min(one, top), 1, Math.max(one, other) - Math.min(one, top));
    }
    if (x + each > NAMES) {
      const left = Math.max(x, NAMES);
      pen.fillRect(left, top - 1, x + each - left, heightOf(least) - top + 2);
    }
    [at, value] = [x + each, last];
  }
  if (value !== null) level(at, Math.min(end, scene.width), value);
}

/** The greatest and the least value beside the name, and what the pointer is at. */
export function drawAxis(pen: Pen, scene: Scene, row: Placed): void {
  const line = scene.counters.get(row.track.id);
  const y = yOf(scene, row);
  pen.fillStyle = scene.colours.faint;
  const found = line && range(line);
  const least = found ? `from ${found[0]} to ${found[1]}` : (line?.error ?? "");
  pen.fillText(cut(least || "no values in view", NAMES - 34), 24, y + 28);
  const { pointer } = scene;
  const isOver = pointer && pointer.x >= NAMES && pointer.y >= y && pointer.y < y + row.height;
  if (!line || !isOver) return;
  const text = valueText(line, timeAt(scene, pointer.x));
  const size = pen.measureText(text).width + 8;
  const left = Math.max(Math.min(pointer.x + 8, scene.width - size), NAMES);
  pen.fillStyle = scene.colours.back;
  pen.globalAlpha = 0.85;
  pen.fillRect(left, y + 2, size, 16);
  pen.globalAlpha = 1;
  pen.fillStyle = scene.colours.text;
  pen.fillText(text, left + 4, y + 10);
}

/** What counters need of the page. */
interface Page {
  remove: (name: string) => void;
  /** Whether the panel is about this time line. */
  isListed: () => boolean;
}

/** The counters of a time line. */
export class Counters {
  names: string[] = [];

  constructor(
    private readonly source: Source,
    private readonly scene: Scene,
    private readonly page: Page,
  ) {}

  /** These, and no others. */
  are(names: readonly string[]): void {
    this.names = [...new Set(names)].slice(0, MOST_COUNTERS);
    for (const id of [...this.scene.counters.keys()]) {
      if (!this.names.includes(id.slice(PREFIX.length))) this.scene.counters.delete(id);
    }
    this.list();
  }

  get rows(): Track[] {
    return this.names.map(rowOf);
  }

  /** Tells of the value at the time that is selected; false, if that is no counter. */
  tells({ track, label, at }: Selection, isSilent: boolean): boolean {
    if (!track.startsWith(PREFIX)) return false;
    const line = this.scene.counters.get(track);
    const value = line ? valueText(line, at) : "not read yet";
    const told: [string, string][] = [
      ["Time", clock(at)],
      ["Value", value],
    ];
    byId("details").replaceChildren(element("h3", label), facts(told));
    if (!isSilent) offerDetails();
    return true;
  }

  /** Asks for the values in a view; a counter that has no answer says why. */
  async inView(view: View, pixels: number, signal: AbortSignal): Promise<void> {
    await Promise.all(this.names.map((name) => this.ask(name, view, pixels, signal)));
    this.list();
  }

  private async ask(name: string, view: View, pixels: number, signal: AbortSignal): Promise<void> {
    const line: Line = {
      view: { from: Math.floor(view.from), until: Math.ceil(view.until) },
      pixels,
      columns: [],
      before: null,
      count: 0,
      notNumbers: 0,
      stopped: view.from,
      error: "",
    };
    try {
      // Bound: MOST_ANSWERS, each of which reads on where the one before stopped.
      for (let i = 0; i < MOST_ANSWERS && line.stopped !== null && !signal.aborted; i++) {
        const start = i === 0 ? null : line.stopped;
        const told = await this.source.counter(name, { view, pixels, start }, signal);
        if (i === 0) line.before = told.before;
        line.columns = joined(line.columns, told.columns);
        line.count += told.count;
        line.notNumbers += told.not_numbers;
        line.stopped = told.stopped;
      }
    } catch (error) {
      if (signal.aborted || error instanceof Stale) return;
      line.error = error instanceof Error ? error.message : String(error);
      line.stopped = null;
    }
    if (!signal.aborted) this.scene.counters.set(rowOf(name).id, line);
  }

  /** The counters as a list, each with its values in view and a button that takes it away. */
  private list(): void {
    if (!this.page.isListed()) return;
    const items = this.names.map((name) => {
      const item = element("li");
      const button = element("button", "Remove");
      button.type = "button";
      button.setAttribute("aria-label", `Remove ${name}`);
      button.addEventListener("click", () => this.page.remove(name));
      item.append(element("strong", name), " ", button);
      const line = this.scene.counters.get(rowOf(name).id);
      if (line) item.append(element("p", summary(line)), tableOf(line));
      return item;
    });
    byId("counter-list").replaceChildren(...items);
  }
}

/** What is known of a counter in view, in a sentence. */
export function summary(line: Line): string {
  if (line.error !== "") return line.error;
  const found = range(line);
  const values = `${line.count} ${line.count === 1 ? "value" : "values"} in view`;
  const span = found ? `, from ${found[0]} to ${found[1]}` : "";
  const others = line.notNumbers > 0 ? `; ${line.notNumbers} more are no numbers` : "";
  const stopped =
    line.stopped === null ? "" : `; from ${clock(line.stopped)} on they were not read`;
  return `${values}${span}${others}${stopped}`;
}

/** The values, for those who do not see the line: of many, some at equal distances. */
function tableOf({ columns, view, pixels }: Line): HTMLDetailsElement {
  const made = element("details");
  const every = Math.ceil(columns.length / MOST_ROWS) || 1;
  const some = every > 1 ? `, one of ${every}` : "";
  made.append(element("summary", `Values in view as a table${some}`));
  const table = element("table");
  const head = element("tr");
  for (const name of ["Time", "Last", "Least", "Greatest"]) {
    const cell = element("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  table.append(head);
  // It is filled when it is looked at.
  made.addEventListener("toggle", () => {
    if (!made.open || table.childElementCount > 1) return;
    for (const [pixel, least, most, last] of columns.filter((_, at) => at % every === 0)) {
      const row = element("tr");
      const at = view.from + (pixel / pixels) * (view.until - view.from);
      for (const text of [clock(at), last, least, most]) row.append(element("td", String(text)));
      table.append(row);
    }
  });
  made.append(table);
  return made;
}
