// SPDX-License-Identifier: MIT
// The panels beside the table of events: what is selected, and what is known of the trace.

import { byId, element, valuesOf } from "./events";
import type { About, Details, EventRow, State } from "./protocol";
import { clock, duration } from "./time";

export const PANELS = [
  "events",
  "details",
  "statistics",
  "flame",
  "counters",
  "compare",
  "notes",
] as const;
export type Panel = (typeof PANELS)[number];

export function panelShown(): Panel {
  return PANELS.find((name) => !byId(name).hidden) ?? "events";
}

export function showPanel(shown: Panel): void {
  for (const name of PANELS) {
    byId(name).hidden = name !== shown;
    const tab = byId(`tab-${name}`);
    tab.setAttribute("aria-selected", String(name === shown));
    tab.tabIndex = name === shown ? 0 : -1;
  }
  byId(shown).dispatchEvent(new Event("shown"));
}

/** Shows what is selected, unless figures are looked at, which are about the selection, too. */
export function offerDetails(): void {
  if (!["statistics", "flame", "counters", "compare"].includes(panelShown())) showPanel("details");
}

export function listenToTabs(): void {
  for (const name of PANELS) {
    const tab = byId(`tab-${name}`);
    tab.addEventListener("click", () => showPanel(name));
    tab.addEventListener("keydown", (key) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[key.key];
      const seen = PANELS.filter((panel) => !byId(`tab-${panel}`).hidden);
      const next = step && seen[(seen.indexOf(name) + step + seen.length) % seen.length];
      if (!next) return;
      showPanel(next);
      byId(`tab-${next}`).focus();
    });
  }
}

/** A table with a heading for each row: names and what they are. */
export function facts(all: [string, string][]): HTMLTableElement {
  const table = element("table");
  for (const [name, value] of all) {
    const row = element("tr");
    const head = element("th", name);
    head.scope = "row";
    row.append(head, element("td", value));
    table.append(row);
  }
  return table;
}

/** The time of day of a clock that counts from 1970, with nanoseconds. */
export function timeOfDay(ns: string): string {
  const whole = BigInt(ns);
  if (whole < 10n ** 17n) return "";
  const date = new Date(Number(whole / 1_000_000n));
  const rest = String(whole % 1_000_000_000n).padStart(9, "0");
  return `${date.toISOString().slice(0, 19).replace("T", " ")}.${rest} UTC`;
}

/** What is so at a time. `lead` shows the row of a thread at a time. */
export function showDetails(details: Details, lead: (id: string, at: number) => void): void {
  const { track, states } = details;
  const panel = byId("details");
  panel.replaceChildren(element("h3", track.name));
  const known: [string, string][] = [["Time", clock(details.at)]];
  const day = timeOfDay(details.at_ns);
  if (day) known.push(["Time of day", day]);
  if (track.pid !== undefined) known.push(["Process", String(track.pid)]);
  if (track.tid !== undefined) known.push(["Thread", String(track.tid)]);
  panel.append(facts(known));
  if (details.is_lossy) {
    const warning = element("p", "Events are missing around this time: more may have happened.");
    warning.className = "warn";
    panel.append(warning);
  }
  const caption = states.length ? "What is so at this time" : "Nothing is known of this time";
  panel.append(stateTable(caption, states, lead));
}

/** States with their times. `lead` shows the row of a thread at a time. */
export function stateTable(
  caption: string,
  states: readonly State[],
  lead: (id: string, at: number) => void,
): HTMLTableElement {
  const table = element("table");
  table.append(element("caption", caption));
  if (states.length) {
    const head = element("tr");
    for (const name of ["State", "From", "To", "Length"]) {
      const cell = element("th", name);
      cell.scope = "col";
      head.append(cell);
    }
    table.append(head);
  }
  for (const state of states) {
    const row = element("tr");
    const { label, thread, begin } = state;
    const first = element("td", thread === undefined ? label : "");
    if (thread !== undefined) {
      const button = element("button", `${label} →`);
      button.type = "button";
      button.title = "Show the thread's row";
      button.addEventListener("click", () => lead(thread, begin));
      first.append(button);
    }
    row.append(first);
    const end = state.goes_on ? "goes on when the trace ends" : clock(state.until);
    for (const text of [clock(begin), end, duration(state.until - begin)]) {
      row.append(element("td", text));
    }
    table.append(row);
  }
  return table;
}

export function showEvent(row: EventRow): void {
  const { event } = row;
  const known: [string, string][] = [["Time", clock(row.at)]];
  if (event.cpu !== null) known.push(["CPU", String(event.cpu)]);
  if (event.thread) {
    const { name, pid, tid } = event.thread;
    known.push(["Thread", `${name}, process ${pid}, thread ${tid}`]);
  }
  if (event.error) known.push(["Error", event.error]);
  const values = (part: "fields" | "context"): [string, string][] =>
    valuesOf(row, part, (frames) => frames.join(" ← "));
  known.push(...values("fields"));
  byId("details").replaceChildren(element("h3", event.name), facts(known));
  // A context may have the name of a field, and another value.
  const context = values("context");
  if (context.length > 0) byId("details").append(element("h4", "Context"), facts(context));
}

/** What is known of each trace. */
export function showNotes(abouts: About[]): void {
  const parts = abouts.flatMap((about, at) => {
    const list = element("ul");
    for (const note of about.notes) list.append(element("li", note));
    const told = facts([
      ["Traces", about.traces.join(", ")],
      ["Begins", timeOfDay(about.origin_ns) || `${about.origin_ns} ns`],
      ["Length", duration(about.length_ns)],
      ["Lost", about.lost === 0 ? "none is known" : `${about.lost} events or packets`],
      ["Kinds of events", String(about.events.length)],
    ]);
    return abouts.length > 1 ? [element("h3", "AB"[at]), told, list] : [told, list];
  });
  byId("notes").replaceChildren(...parts);
}
