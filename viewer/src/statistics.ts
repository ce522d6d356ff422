// SPDX-License-Identifier: MIT
// The panel of statistics: how long calls and states of the span took, by name, and the histogram
// of the name that is selected.
//
// Place in the flow: the time line says which span and track are meant (frame.ts).

import { byId, choosable, element, reachable } from "./events";
import { plain } from "./plain";
import type { Source, Statistic, Statistics } from "./protocol";
import { Resting } from "./rest";
import { clock, duration, type View } from "./time";

/** What slices have to be to be those of a row. */
export interface Named {
  kind: string;
  look: string;
  name: string;
}

/** What the panel is of. */
export interface Whose {
  source: Source;
  span: View;
  track: string;
  /** The track's name; empty: of all. */
  name: string;
}

const COLUMNS = [
  ["Kind", (row: Statistic) => row.kind ?? ""],
  ["Count", (row: Statistic) => String(row.count)],
  ["Total", (row: Statistic) => length(row, row.total_ns)],
  ["In the span", (row: Statistic) => duration(row.inside_ns)],
  ["Min", (row: Statistic) => length(row, row.min_ns)],
  ["Mean", (row: Statistic) => length(row, row.mean_ns)],
  ["p50", (row: Statistic) => length(row, row.p50_ns)],
  ["p90", (row: Statistic) => length(row, row.p90_ns)],
  ["p99", (row: Statistic) => length(row, row.p99_ns)],
  ["Max", (row: Statistic) => length(row, row.max_ns)],
  ["Cut", (row: Statistic) => some(row.cut)],
  ["Unsure", (row: Statistic) => some(row.unsure)],
] as const;

/** What no whole duration tells has none. */
function length(row: Statistic, ns: number): string {
  return row.count === 0 ? "" : duration(ns);
}

function some(count: number): string {
  return count === 0 ? "" : String(count);
}

/** Whether a slice is one of a row. */
export function isOf(named: Named, kind: string, said: { look: string; name: string }): boolean {
  if (named.kind !== kind) return false;
  return kind === "place" ? named.look === said.look : named.name === said.name;
}

/** What the figures are of, what of the span they are not of, and what is missing in it. */
export function sentences(
  told: Statistics,
  { span, name }: Omit<Whose, "source">,
): [string, string] {
  const of = name === "" ? "everything" : name;
  const whole = duration(span.until - span.from);
  const about = `Calls and states of ${of} in ${whole} from ${clock(span.from)}`;
  const stopped =
    told.stopped === null
      ? ""
      : `; only what ended before ${clock(told.stopped)} was read, which is ${told.read} of them`;
  const missing =
    told.lost === 0
      ? ""
      : `${told.lost} events or packets are missing in this span: counts may be too small, and ` +
        "what may have ended among them is unsure and counts no duration.";
  return [about + stopped, missing];
}

export class StatisticsPanel {
  private readonly body = byId<HTMLTableSectionElement>("statistics-rows");
  private readonly resting: Resting<Whose>;
  private told: Statistics | null = null;
  private selected: Named | null = null;

  constructor(
    private readonly select: (named: Named | null) => void,
    private readonly show: (longest: NonNullable<Statistic["longest"]>, row: Named) => void,
  ) {
    this.resting = new Resting(
      byId("statistics"),
      byId("statistics-about"),
      async (meant, signal) =>
        this.tell(await meant.source.statistics(meant.span, meant.track, signal), meant),
      () => {
        this.body.replaceChildren();
        byId("statistics-histogram").replaceChildren();
      },
    );
    const head = byId("statistics-head");
    for (const title of ["Name", ...COLUMNS.map(([title]) => title)]) {
      const cell = element("th", title);
      cell.scope = "col";
      head.append(cell);
    }
  }

  /** What it is of from now on. */
  of(meant: Whose): void {
    this.resting.of(meant);
  }

  /** No name is selected any more. */
  giveUp(): void {
    this.mark(null);
  }

  private tell(told: Statistics, meant: Whose): void {
    this.told = told;
    const [about, missing] = sentences(told, meant);
    byId("statistics-about").textContent = plain(
      told.rows.length === 0 ? `${about}: there are none` : about,
    );
    const lost = byId("statistics-lost");
    lost.hidden = missing === "";
    lost.textContent = missing;
    this.body.replaceChildren(...told.rows.map((row) => this.row(row)));
    reachable(this.body);
    this.mark(this.selected);
  }

  private row(row: Statistic): HTMLTableRowElement {
    const made = element("tr");
    const head = element("th", row.name ?? "(all others)");
    head.scope = "row";
    made.append(head, ...COLUMNS.map(([, text]) => element("td", text(row))));
    choosable(made, () => this.mark(namedOf(row), true));
    return made;
  }

  /** Selects the rows of a name, and its slices. */
  private mark(named: Named | null, isAsked = false): void {
    const isNew = JSON.stringify(named) !== JSON.stringify(this.selected);
    this.selected = named;
    const found = this.told?.rows.findIndex((row) => isSame(namedOf(row), named)) ?? -1;
    for (const [at, row] of [...this.body.rows].entries()) {
      row.setAttribute("aria-selected", String(at === found));
    }
    this.histogram(this.told?.rows[found]);
    if (isNew || isAsked) this.select(named);
  }

  private histogram(row: Statistic | undefined): void {
    const place = byId("statistics-histogram");
    place.replaceChildren();
    const named = row && namedOf(row);
    if (!row || !named) return;
    const table = element("table");
    table.append(element("caption", `How long ${named.name} took`));
    const head = element("tr");
    for (const title of ["From", "Below", "Count", "Share"]) {
      const cell = element("th", title);
      cell.scope = "col";
      head.append(cell);
    }
    table.append(head);
    for (const [from, below, count] of row.buckets) {
      const line = element("tr");
      const share = element("td");
      const bar = element("meter");
      [bar.max, bar.value] = [row.count, count];
      share.append(bar, ` ${((100 * count) / row.count).toFixed(1)} %`);
      line.append(element("td", duration(from)), element("td", duration(below)));
      line.append(element("td", String(count)), share);
      table.append(line);
    }
    place.append(table);
    const { longest } = row;
    if (!longest) return;
    const button = element("button", "Show the longest");
    button.type = "button";
    button.addEventListener("click", () => this.show(longest, named));
    place.append(button);
  }
}

function namedOf(row: Statistic): Named | null {
  return row.kind === null || row.name === null
    ? null
    : { kind: row.kind, look: row.look, name: row.name };
}

function isSame(one: Named | null, other: Named | null): boolean {
  return one !== null && other !== null && one.kind === other.kind && one.name === other.name;
}
