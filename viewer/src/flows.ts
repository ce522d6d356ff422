// SPDX-License-Identifier: MIT
// What let threads go on: asks for the arrows of what is selected and of the rows in view, and lists
// those of the selection as buttons that lead to the other end.
//
// Place in the flow: a time line (app.ts) tells what is selected and what is in view; arrows.ts draws.

import type { Scene, Selection } from "./draw";
import { byId, element } from "./events";
import { Stale, type Arrow, type Source } from "./protocol";
import type { Rows } from "./rows";
import { duration, type View } from "./time";

/** Arrows of a selection that are listed, and arrows that can be told apart when all are drawn. */
const MOST_LISTED = 100;
const MOST_DRAWN = 400;

/** Arrows that end in the selection, and those that begin in it. */
interface Sides {
  into: Arrow[];
  out: Arrow[];
}

const NONE: Sides = { into: [], out: [] };

/** Those of some arrows that lead to and from a selection. An event is one moment; a state is led to
 * by what was under way in it. */
export function sides(arrows: readonly Arrow[], of: Selection): Sides {
  const { track, begin, end } = of;
  const isEvent = of.kind === "";
  const meets = (arrow: Arrow): boolean =>
    isEvent ? arrow.to.at === begin : arrow.from.at <= end && arrow.to.at >= begin;
  return {
    into: arrows.filter((arrow) => arrow.to.track === track && meets(arrow)),
    out: arrows.filter(
      ({ from }) => from.track === track && from.at >= begin && from.at <= Math.max(end, begin),
    ),
  };
}

export class Flows {
  private told: Sides = NONE;
  private isCut = false;
  private isOver = true;
  private asked: Promise<void> = Promise.resolve();
  private abort = new AbortController();
  isAll = false;

  /** `follow` shows the other end of an arrow. */
  constructor(
    private readonly source: Source,
    private readonly scene: Scene,
    private readonly rows: Rows,
    private readonly follow: (arrow: Arrow, isToHead: boolean) => Promise<void>,
    private readonly say: (text: string) => void,
  ) {}

  /** Asks for the arrows of a selection; of none, there are none. */
  of(selection: Selection | null): void {
    this.abort.abort();
    this.abort = new AbortController();
    this.told = NONE;
    this.scene.arrows.selected = [];
    this.asked =
      selection === null || selection.track === ""
        ? Promise.resolve()
        : this.ask(selection, this.abort.signal);
  }

  /** A running session has gone on: times and rows are others. */
  renewed(): void {
    this.scene.arrows.all = [];
    this.of(this.scene.selection);
  }

  private async ask(selection: Selection, signal: AbortSignal): Promise<void> {
    const from = Math.floor(selection.begin);
    const view = { from, until: Math.max(Math.ceil(selection.end), from + 1) };
    try {
      const answer = await this.source.flows(view, [selection.track], MOST_LISTED, signal);
      if (signal.aborted) return;
      this.told = sides(answer.arrows, selection);
      this.isCut = answer.is_cut || answer.stopped !== null;
      this.scene.arrows.selected = [...this.told.into, ...this.told.out];
      this.list();
    } catch (error) {
      // What is selected by now has arrows of its own; a session that has gone on is asked anew.
      if (signal.aborted || error instanceof Stale) return;
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  /** Goes to the other end of the first arrow that leads here (-1), or from here (1). */
  async walk(by: -1 | 1): Promise<void> {
    await this.asked;
    const arrow = by < 0 ? this.told.into[0] : this.told.out[0];
    if (arrow) await this.lead(arrow, by > 0);
    else if (!this.scene.selection) this.say("select a slice first: [ and ] follow its arrows");
    else this.say(`no arrow ${by < 0 ? "leads to" : "comes from"} what is selected`);
  }

  /** Goes to an end of an arrow, unless the session has gone on. */
  private async lead(arrow: Arrow, isToHead: boolean): Promise<void> {
    try {
      await this.follow(arrow, isToHead);
    } catch (error) {
      if (!(error instanceof Stale))
        this.say(error instanceof Error ? error.message : String(error));
    }
  }

  /** Arrows of all rows in view, or of the selection only. */
  toggle(isAll: boolean): void {
    this.isAll = isAll;
    this.scene.arrows.all = [];
    this.quiet();
  }

  /** Asks for the arrows of rows in view, if they are wanted. */
  async inView(view: View, ids: string[], signal: AbortSignal): Promise<void> {
    if (!this.isAll) return;
    const answer = await this.source.flows(view, ids, MOST_DRAWN, signal);
    if (signal.aborted || !this.isAll) return;
    const isMany = answer.is_cut || answer.stopped !== null;
    this.scene.arrows.all = isMany ? [] : answer.arrows;
    if (!isMany) return this.quiet();
    this.isOver = false;
    this.say(`more than ${MOST_DRAWN} arrows are in view: zoom in, or fold rows, to see them`);
  }

  /** Takes back what was said of too many arrows. */
  private quiet(): void {
    if (!this.isOver) this.say("");
    this.isOver = true;
  }

  private list(): void {
    const { into, out } = this.told;
    const panel = byId("details");
    panel.querySelector(".flows")?.remove();
    if (into.length + out.length === 0) return;
    const made = element("div");
    made.className = "flows";
    made.append(element("h4", "Arrows"));
    if (this.isCut) made.append(element("p", `Only the first ${MOST_LISTED} are told.`));
    const list = element("ul");
    for (const arrow of into) list.append(this.entry(arrow, false));
    for (const arrow of out) list.append(this.entry(arrow, true));
    made.append(list);
    panel.append(made);
  }

  private entry(arrow: Arrow, isToHead: boolean): HTMLLIElement {
    const length = duration(arrow.to.at - arrow.from.at);
    const name = this.rows.get(arrow.to.track ?? "")?.name ?? "";
    const text = isToHead
      ? `to ${name}, ${arrow.label}: ${length} later`
      : `${arrow.label}: ${length} before`;
    const item = element("li");
    if ((isToHead ? arrow.to : arrow.from).track === null) item.append(element("span", text));
    else {
      const button = element("button", `${isToHead ? "→" : "←"} ${text}`);
      button.type = "button";
      button.addEventListener("click", () => void this.lead(arrow, isToHead));
      item.append(button);
    }
    return item;
  }
}
