// SPDX-License-Identifier: MIT
// The panel that compares two traces: how they are aligned, and what changed from the first to the
// second over the spans in view. `lull report compare` is what computes it.

import { byId, choosable, element, reachable } from "./events";
import type { Compared, ComparedSide, LatencyRow, RateRow, Source } from "./protocol";
import { Resting } from "./rest";
import type { Named } from "./statistics";
import { clock, duration, type View } from "./time";

/** How times of the second trace lie below those of the first. */
export const ALIGNS = ["begin", "clock", "events"] as const;
export type Align = (typeof ALIGNS)[number];

/** What is compared: a span of each. */
export interface Spans {
  a: View;
  b: View;
}

export interface Aligned {
  align: Align;
  /** What was chosen of each trace, where chosen events are aligned. */
  pair: [number, number] | null;
}

/** By how much a time of the second trace is larger than that of the first which it lies below. */
export function shiftOf({ align, pair }: Aligned, origins: [string, string]): number {
  if (align === "clock") return Number(BigInt(origins[0]) - BigInt(origins[1]));
  return align === "events" && pair ? pair[1] - pair[0] : 0;
}

/** All of both traces, in the time of the first. */
export function allOf(lengths: [number, number], shift: number): View {
  return { from: Math.min(0, -shift), until: Math.max(lengths[0], lengths[1] - shift, 1) };
}

const per = (count: number): string =>
  count >= 100 ? count.toFixed(0) : String(Number(count.toPrecision(3)));
const share = (part: number | null): string =>
  part === null ? "" : `${(100 * part).toFixed(0)} %`;
const chance = (p: number | null): string =>
  p === null ? "" : p < 0.001 ? "< 0.001" : p.toFixed(3);
const length = (ns: number | null): string => (ns === null ? "" : duration(ns));

const LATENCIES: readonly (readonly [string, (row: LatencyRow) => string])[] = [
  ["Is", (row) => row.verdict],
  ["Count A", (row) => String(row.count_a)],
  ["Count B", (row) => String(row.count_b)],
  ["p50 A", (row) => length(row.p50_a_ns)],
  ["p50 B", (row) => length(row.p50_b_ns)],
  ["p99 A", (row) => length(row.p99_a_ns)],
  ["p99 B", (row) => length(row.p99_b_ns)],
  ["Total change", (row) => duration(row.total_change_ns)],
  ["B longer than A", (row) => share(row.longer_share)],
  ["p", (row) => chance(row.p)],
  ["q", (row) => chance(row.q)],
];

const RATES: readonly (readonly [string, (row: RateRow) => string])[] = [
  ["Is", (row) => row.verdict],
  ["Count A", (row) => String(row.count_a)],
  ["Count B", (row) => String(row.count_b)],
  ["Per second A", (row) => per(row.per_s_a)],
  ["Per second B", (row) => per(row.per_s_b)],
  ["Windows of B have more", (row) => share(row.more_share)],
  ["p", (row) => chance(row.p)],
  ["q", (row) => chance(row.q)],
];

/** What of a span was read, and what is missing in it. */
export function sideText(letter: string, side: ComparedSide, span: View): string {
  const whole = `${letter}: ${side.events} events in ${duration(span.until - span.from)}`;
  const from = ` from ${clock(span.from)}`;
  const stopped =
    side.stopped === null ? "" : `, of which only those up to ${clock(side.stopped)} were read`;
  return whole + from + stopped;
}

export function missingText({ a, b }: Compared): string {
  if (a.lost + b.lost === 0) return "";
  return (
    `Events or packets are missing in these spans: ${a.lost} of A, ${b.lost} of B. ` +
    "A difference may come from that alone."
  );
}

export class ComparePanel {
  private readonly resting: Resting<Spans>;

  constructor(
    source: Source,
    private readonly select: (named: Named) => void,
    align: (align: Align) => void,
  ) {
    const place = byId("compare-tables");
    this.resting = new Resting(
      byId("compare"),
      byId("compare-about"),
      async (spans, signal) => this.tell(await source.compare(spans.a, spans.b, signal), spans),
      () => place.replaceChildren(),
    );
    for (const name of ALIGNS) byId(`align-${name}`).addEventListener("click", () => align(name));
  }

  of(spans: Spans): void {
    this.resting.of(spans);
  }

  aligned(align: Align): void {
    for (const name of ALIGNS) {
      byId(`align-${name}`).setAttribute("aria-pressed", String(name === align));
    }
  }

  private tell(compared: Compared, { a, b }: Spans): void {
    byId("compare-about").textContent =
      `${sideText("A", compared.a, a)}; ${sideText("B", compared.b, b)}`;
    const lost = byId("compare-lost");
    lost.textContent = missingText(compared);
    lost.hidden = lost.textContent === "";
    const { latencies, rates } = compared;
    byId("compare-tables").replaceChildren(
      table(
        "Durations of calls, from A to B; those that differ first",
        LATENCIES,
        latencies,
        (name) => this.select({ kind: "call", look: "call", name }),
      ),
      table("How often events came, from A to B; those that differ first", RATES, rates),
      ...compared.notes.map((note) => element("p", note)),
    );
  }
}

function table<Row extends { name: string; verdict: string }>(
  title: string,
  columns: readonly (readonly [string, (row: Row) => string])[],
  { rows, left_out }: { rows: Row[]; left_out: number },
  select?: (name: string) => void,
): HTMLTableElement {
  const made = element("table");
  made.className = select ? "figures" : "figures still";
  const more = left_out === 0 ? "" : `; ${left_out} more are not shown`;
  made.append(element("caption", rows.length === 0 ? `${title}: there are none` : title + more));
  const head = element("tr");
  for (const name of ["Name", ...columns.map(([name]) => name)]) {
    const cell = element("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  const [top, body] = [element("thead"), element("tbody")];
  top.append(head);
  for (const row of rows) {
    const line = element("tr");
    const name = element("th", row.name);
    name.scope = "row";
    line.append(name, ...columns.map(([, text]) => element("td", text(row))));
    line.dataset["verdict"] = row.verdict;
    if (select) choosable(line, () => select(row.name));
    body.append(line);
  }
  if (select) reachable(body);
  made.append(top, body);
  return made;
}
