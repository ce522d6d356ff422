// SPDX-License-Identifier: MIT
// What is around the time lines of the page: the panels, the address, and, where two traces are
// compared, how the second time line moves with the first.
//
// Place in the flow: main.ts makes one, and a time line (app.ts) for each trace. Times of the
// address are those of the first trace.

import * as address from "./address";
import type { App } from "./app";
import { allOf, ComparePanel, shiftOf, type Align, type Aligned } from "./compare";
import { MOST_COUNTERS } from "./counters";
import { byId, EventTable } from "./events";
import { FlamePanel } from "./flame";
import { panelShown, showPanel } from "./panel";
import type { Filter } from "./protocol";
import { StatisticsPanel, type Named } from "./statistics";
import type { View } from "./time";

/** Pixels of the page's header. */
const HEADER = 39;

export class Frame {
  readonly lines: App[] = [];
  readonly table = new EventTable((row) => this.active.selectEvent(row));
  private readonly statistics = new StatisticsPanel(
    (named) => this.mark(named),
    (longest, named) => this.active.seek(longest, named),
  );
  private readonly flame = new FlamePanel();
  private comparison: ComparePanel | null = null;
  private aligned: Aligned = { align: "begin", pair: null };
  private current: App | null = null;
  /** The address that was left last. */
  private left = "";
  /** Until the rows of all time lines are there, nothing is asked, and the address is not written
   * over. */
  hasStarted = false;

  /** The time line that keys, panels and searches are about. */
  get active(): App {
    const line = this.current ?? this.lines[0];
    if (!line) throw new Error("the page has no time line");
    return line;
  }

  /** Puts a time line below those that there are. */
  add(line: App): void {
    this.lines.push(line);
    const first = this.lines[0];
    if (!first || first === line) return;
    this.comparison = new ComparePanel(
      first.source,
      (named) => this.mark(named),
      (align) => this.align(align),
    );
  }

  /** Loads the rows of all time lines, and shows what the address says. */
  async start(): Promise<void> {
    await Promise.all(this.lines.map((line) => line.start()));
    this.hasStarted = true;
    this.restore();
  }

  /** The width and height of each time line, by page.css: to lay out the page takes milliseconds,
   * so its first questions are asked before. Where it is laid out otherwise, for want of width or
   * because of a message, a time line is fitted to that, and asks for what it then lacks. */
  room(): [number, number] {
    const rest = Math.max(innerHeight - HEADER, 3);
    // Its share beside that of the panel, without their borders.
    const height = this.lines.length > 1 ? (rest - 3) / 3 : ((rest - 1) * 3) / 5;
    return [innerWidth, Math.round(height)];
  }

  activate(line: App): void {
    if (line === this.active) return;
    const before = this.active;
    this.current = line;
    for (const one of [before, line]) one.changed();
    this.keep();
  }

  /** By how much times of a time line are larger than those of the first. */
  private shift(line: App): number {
    const [first, second] = this.lines;
    if (!first || !second || line === first) return 0;
    return shiftOf(this.aligned, [first.about.origin_ns, second.about.origin_ns]);
  }

  /** All that a time line may show. */
  bounds(line: App): View {
    const [first, second] = this.lines;
    if (!first || !second) return { from: 0, until: Math.max(line.about.length_ns, 1) };
    const lengths: [number, number] = [first.about.length_ns, second.about.length_ns];
    const { from, until } = allOf(lengths, this.shift(second));
    const by = this.shift(line);
    return { from: from + by, until: until + by };
  }

  /** A time line shows something else: so do the others. */
  moved(line: App): void {
    const { from, until } = line.view;
    for (const other of this.lines) {
      const by = this.shift(other) - this.shift(line);
      if (other !== line) other.put({ from: from + by, until: until + by });
    }
  }

  /** Draws the arrows of all rows in view, or those of the selection only. */
  toggleArrows(): void {
    this.showArrows(!this.active.flows.isAll);
    for (const line of this.lines) line.changed(true);
  }

  private showArrows(isAll: boolean): void {
    byId("arrows").setAttribute("aria-pressed", String(isAll));
    for (const line of this.lines) line.flows.toggle(isAll);
  }

  /** Draws these fields of events as lines, and no others. */
  count(names: readonly string[]): void {
    for (const line of this.lines) line.count(names);
    this.keep();
  }

  addCounter(name: string): void {
    const { names } = this.active.counters;
    if (names.length < MOST_COUNTERS) this.count([...names, name]);
    else this.active.say(`at most ${MOST_COUNTERS} counters are drawn`);
  }

  removeCounter(name: string): void {
    this.count(this.active.counters.names.filter((one) => one !== name));
  }

  setFilter(filter: Filter): void {
    this.leave();
    for (const line of this.lines) line.setFilter(filter);
  }

  theme(isDark: boolean): void {
    for (const line of this.lines) line.theme(isDark);
  }

  /** No name of the statistics is selected any more. */
  giveUp(): void {
    this.statistics.giveUp();
    this.mark(null);
  }

  private mark(named: Named | null): void {
    for (const line of this.lines) line.mark(named);
  }

  /** Aligns the traces, and shows what the first showed. */
  private align(align: Align): void {
    const [first, second] = this.lines;
    if (!first || !second) return;
    const [a, b] = [first.selectedAt, second.selectedAt];
    if (align === "events" && (a === null || b === null)) {
      first.say("select an event or a slice in each of the two time lines first");
      return;
    }
    first.say("");
    this.aligned = { align, pair: align === "events" ? [a ?? 0, b ?? 0] : null };
    this.comparison?.aligned(align);
    first.show(first.view);
  }

  /** What the panels are about, once it has changed. */
  private sumUp(): void {
    const { whose } = this.active;
    this.statistics.of(whose);
    // Stacks are of threads: of a CPU or a lock there are none, and those of all are shown.
    this.flame.of(/^[ckl]\d/.test(whose.track) ? { ...whose, track: "", name: "" } : whose);
    const [first, second] = this.lines;
    if (first && second) this.comparison?.of({ a: first.view, b: second.view });
  }

  /** Puts what is shown into the address, and tells the panels. */
  keep(): void {
    const [first, second] = this.lines;
    if (!first || !this.hasStarted) return;
    this.sumUp();
    const { track, at } = first.selected;
    const { aligned } = this;
    const other = second ? { ...second.selected, ...second.arrangement } : address.read("").other;
    const isOther = this.active === second;
    const panel = panelShown();
    const { view, filter, arrangement } = first;
    const arrows = first.flows.isAll;
    const counters = first.counters.names;
    const shown = { view, track, at, ...arrangement, filter, panel, aligned, arrows, counters };
    const written = address.write({ ...shown, other, isOther });
    if (written !== location.hash) history.replaceState(null, "", written);
  }

  /** What is shown is left for something else: the browser's *back* leads to it again. */
  leave(): void {
    this.keep();
    if (!this.hasStarted || location.hash === this.left) return;
    this.left = location.hash;
    history.pushState(null, "", location.hash);
  }

  /** Shows what the address says: of a bookmark, or after the browser went back. */
  restore(): void {
    const shown = address.read(location.hash);
    const [first, second] = this.lines;
    if (!first) return;
    this.left = "";
    this.aligned = shown.aligned;
    this.comparison?.aligned(shown.aligned.align);
    this.current = (shown.isOther && second) || first;
    for (const [key, value] of Object.entries(shown.filter)) {
      byId<HTMLInputElement>(`filter-${key}`).value = value;
    }
    this.showArrows(shown.arrows);
    for (const line of this.lines) line.count(shown.counters);
    first.restore(shown, shown.filter);
    second?.restore({ view: null, ...shown.other }, shown.filter);
    first.show(shown.view ?? first.view);
    if (shown.panel !== panelShown()) showPanel(shown.panel);
  }
}
