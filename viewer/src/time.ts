// SPDX-License-Identifier: MIT
// Stretches of time, in nanoseconds since the first event, and their text.

/** What is on the screen: from one time on, and before another. */
export interface View {
  readonly from: number;
  readonly until: number;
}

/** The shortest stretch that a view shows. */
export const LEAST_NS = 20;

const UNITS: readonly (readonly [number, string])[] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** A length of time with as many digits as make a difference. */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  for (const [unit, name] of UNITS) {
    if (size >= unit) {
      const digits = Math.max(0, 3 - Math.floor(Math.log10(size / unit)));
      return `${trimmed((ns / unit).toFixed(unit === 1 ? 0 : digits))} ${name}`;
    }
  }
  return `${ns} ns`;
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A time since the first event: seconds and nanoseconds, so that times align. */
export function clock(ns: number): string {
  const size = Math.abs(Math.round(ns));
  const seconds = Math.floor(size / 1e9);
  const rest = String(size % 1e9).padStart(9, "0");
  return `${ns < 0 ? "-" : "+"}${seconds}.${rest.slice(0, 3)} ${rest.slice(3, 6)} ${rest.slice(6)}`;
}

/** Keeps a view at least as long as can be shown, and where the trace is. */
export function clamped(view: View, length: number): View {
  const most = Math.floor(Math.max(length, LEAST_NS) * 1.1);
  const width = Math.min(Math.max(view.until - view.from, LEAST_NS), most);
  const middle = (view.from + view.until) / 2;
  const [least, last] = width >= length ? [length - width, 0] : [-width / 2, length - width / 2];
  const from = Math.min(Math.max(middle - width / 2, least), last);
  return { from: Math.round(from), until: Math.round(from + width) };
}

/** The same, where all that may be shown need not begin with the trace. */
export function within(view: View, { from, until }: View): View {
  const kept = clamped({ from: view.from - from, until: view.until - from }, until - from);
  return { from: kept.from + from, until: kept.until + from };
}

/** A view `factor` as long, in which `at` keeps its place. */
export function zoomed(view: View, at: number, factor: number): View {
  return { from: at - (at - view.from) * factor, until: at + (view.until - at) * factor };
}

/** Times for the marks of a ruler: round numbers, at most one for each `gap` pixels. */
export function ticks(view: View, pixels: number, gap: number): number[] {
  const least = ((view.until - view.from) * gap) / Math.max(pixels, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least) ?? power * 10;
  const first = Math.ceil(view.from / step);
  const last = Math.floor(view.until / step);
  const found: number[] = [];
  for (let at = first; at <= last && found.length < 1000; at++) found.push(at * step);
  return found;
}
