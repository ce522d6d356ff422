// SPDX-License-Identifier: MIT
// The panel of the flame graph: stacks of time in calls, of time off the CPU, or of events that carry
// stacks, the outermost frames at the top. A frame that is chosen takes the whole width.
//
// Place in the flow: frame.ts says which span and row are meant; `lull report flame` is what computes
// it. Frames are buttons, so that keys and screen readers reach them.

import { byId, element } from "./events";
import { plain } from "./plain";
import type { Flame, FlameOf } from "./protocol";
import { Resting } from "./rest";
import type { Whose } from "./statistics";
import { clock, duration } from "./time";

const KINDS = ["calls", "waits", "stacks"] as const;
/** Frames that are narrower than this part of the whole are not drawn, nor deeper ones. */
const LEAST_PART = 0.002;
const MOST_DEPTH = 64;
/** Pixels of a frame. */
const TALL = 19;

export interface Node {
  name: string;
  value: number;
  depth: number;
  above: Node | null;
  below: Node[];
}

/** Stacks as a tree; the same frames around are one. */
export function tree(stacks: Flame["stacks"]): Node {
  const root: Node = { name: "all", value: 0, depth: 0, above: null, below: [] };
  const known = new Map<Node, Map<string, Node>>();
  for (const { frames, value } of stacks) {
    let node = root;
    root.value += value;
    for (const name of frames) {
      const below = known.get(node) ?? new Map<string, Node>();
      known.set(node, below);
      let next = below.get(name);
      if (!next) {
        next = { name, value: 0, depth: node.depth + 1, above: node, below: [] };
        below.set(name, next);
        node.below.push(next);
      }
      next.value += value;
      node = next;
    }
  }
  return root;
}

/** A frame, and which part of the width it has. */
export interface Laid {
  node: Node;
  left: number;
  part: number;
}

/** What is drawn when a frame has the whole width: what it is in, itself, and what is in it. */
export function laid(focus: Node): Laid[] {
  const found: Laid[] = [];
  for (let node = focus.above; node; node = node.above) found.unshift({ node, left: 0, part: 1 });
  const rest: Laid[] = [{ node: focus, left: 0, part: 1 }];
  // Bound: each frame of the tree comes once.
  for (let one = rest.pop(); one; one = rest.pop()) {
    found.push(one);
    const { node } = one;
    if (node.depth - focus.depth >= MOST_DEPTH) continue;
    let left = one.left;
    for (const below of [...node.below].sort((a, b) => b.value - a.value)) {
      const part = below.value / Math.max(focus.value, 1);
      if (part >= LEAST_PART) rest.push({ node: below, left, part });
      left += part;
    }
  }
  return found;
}

export class FlamePanel {
  private readonly resting: Resting<Whose & { of: FlameOf }>;
  private readonly graph = byId("flame-graph");
  private kind: FlameOf = "";
  private meant: Whose | null = null;
  private told: Flame | null = null;

  constructor() {
    this.resting = new Resting(
      byId("flame"),
      byId("flame-about"),
      async (meant, signal) =>
        this.tell(await meant.source.flame(meant.span, meant.track, meant.of, signal), meant),
      () => this.graph.replaceChildren(),
    );
    for (const kind of KINDS)
      byId(`flame-${kind}`).addEventListener("click", () => this.choose(kind));
    this.graph.addEventListener("keydown", (key) => this.step(key));
  }

  /** What it is of from now on. */
  of(meant: Whose): void {
    this.meant = meant;
    this.resting.of({ ...meant, of: this.kind });
  }

  private choose(kind: FlameOf): void {
    this.kind = kind;
    for (const known of KINDS) {
      byId(`flame-${known}`).setAttribute("aria-pressed", String(known === kind));
    }
    if (this.meant) this.of(this.meant);
  }

  private tell(told: Flame, { span, name }: Whose): void {
    this.told = told;
    const whose = name === "" ? "" : ` of ${plain(name)}`;
    const stretch = `${duration(span.until - span.from)} from ${clock(span.from)}`;
    const stopped =
      told.stopped === null ? "" : `; events were read up to ${clock(told.stopped)} only`;
    const more = told.left_out === 0 ? "" : `; ${told.left_out} small stacks are not shown`;
    byId("flame-about").textContent =
      `${told.of}${whose}: ${this.text(told.total)} in ${stretch}${stopped}${more}`;
    const lost = byId("flame-lost");
    lost.hidden = told.lost === 0;
    lost.textContent = `${told.lost} events or packets are missing in this span.`;
    byId("flame-notes").replaceChildren(...told.notes.map((note) => element("p", note)));
    if (told.stacks.length === 0) this.graph.replaceChildren();
    else this.draw(tree(told.stacks));
  }

  private text(value: number): string {
    return this.told?.measure === "events" ? `${value} events` : duration(value);
  }

  private draw(focus: Node): void {
    const frames = laid(focus);
    const deepest = Math.max(...frames.map(({ node }) => node.depth));
    this.graph.style.height = `${(deepest + 1) * TALL}px`;
    const buttons = frames.map(({ node, left, part }) => {
      const made = element("button", node.name);
      made.type = "button";
      const share = ((100 * node.value) / Math.max(focus.value, 1)).toFixed(1);
      const says = `${plain(node.name)}: ${this.text(node.value)}, ${node.depth < focus.depth ? "around" : `${share} %`}`;
      made.setAttribute("aria-label", says);
      made.title = says;
      made.dataset["depth"] = String(node.depth);
      made.style.top = `${node.depth * TALL}px`;
      made.style.left = `${left * 100}%`;
      made.style.width = `${part * 100}%`;
      made.tabIndex = node === focus ? 0 : -1;
      made.addEventListener("click", () => {
        this.draw(node);
        this.graph.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
      });
      return made;
    });
    this.graph.replaceChildren(...buttons);
  }

  /** Arrow keys lead from frame to frame. */
  private step(key: KeyboardEvent): void {
    const { target } = key;
    if (!(target instanceof HTMLElement) || !key.key.startsWith("Arrow")) return;
    key.preventDefault();
    const all = [...this.graph.querySelectorAll<HTMLElement>("button")];
    const depth = Number(target.dataset["depth"]);
    const by = { ArrowUp: -1, ArrowDown: 1 }[key.key];
    const row = all.filter((one) => Number(one.dataset["depth"]) === depth + (by ?? 0));
    row.sort((a, b) => a.offsetLeft - b.offsetLeft);
    const next =
      by === undefined
        ? row[row.indexOf(target) + (key.key === "ArrowRight" ? 1 : -1)]
        : row.find((one) => one.offsetLeft + one.offsetWidth > target.offsetLeft);
    next?.focus();
  }
}
