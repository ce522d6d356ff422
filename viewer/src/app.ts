// SPDX-License-Identifier: MIT
// The time line of a trace: what is shown of it, what is asked for it, and what keys and mouse do.

import type { Chosen } from "./address";
import { say, sayError } from "./bar";
import { palette } from "./colour";
import { Counters } from "./counters";
import { draw, NAMES, RULER, timeAt, yOf, type Scene, type Selection } from "./draw";
import { byId } from "./events";
import { Flows } from "./flows";
import type { Frame } from "./frame";
import type { Arrangement } from "./arrange";
import { HEAD, rowAt, visible, type Placed } from "./layout";
import { showLock } from "./locks";
import { offerDetails, panelShown, showDetails, showEvent } from "./panel";
import { plain } from "./plain";
import * as protocol from "./protocol";
import type { About, Arrow, EventRow, Filter, Source, Statistic, Track } from "./protocol";
import { reveal } from "./ready";
import { finder, move } from "./renewal";
import { Rows } from "./rows";
import { Search } from "./search";
import { eventSelection, hit, landed, nextSlice, rowSelection, sliceSelection } from "./selection";
import type { Named, Whose } from "./statistics";
import { countedOn } from "./ticks";
import { clock, duration, within, zoomed, type View } from "./time";

/** How long a view that is being moved has to rest before it is asked for, and after how long
 * without a change it is not being moved any more. */
const PATIENCE_MS = 30;
const REST_MS = 60;
/** How long what is known waits to be drawn: most often the answer comes before. At first nothing
 * but names is known, and drawing those would hold up the first picture. */
const ANSWER_MS = 60;
const FIRST_ANSWER_MS = 250;
/** Tracks that one question may have, and tracks of the page. */
const MOST_ASKED = 200;
const TOO_MANY =
  "the rows further down lack states, since there are more than an answer holds: fold some rows";
const MOST_TRACKS = 20000;

const nothing = (): void => undefined;

export class App {
  readonly area: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  /** Of the area, when it was measured last. */
  private size: [number, number] = [0, 0];
  /** Pixels of the canvas for one of the page. */
  private ratio = 1;
  private changedAt = -REST_MS;
  private isMoving = false;
  private isDrawn = false;
  /** It is asked as soon as what runs now has ended. */
  private isDue = false;
  private readonly bar: HTMLElement;
  private readonly scene: Scene;
  private readonly rows: Rows;
  readonly flows: Flows;
  readonly counters: Counters;
  filter: Filter = { ...protocol.NO_FILTER };
  private timer = 0;
  private waiting = 0;
  private drawing = 0;
  private abort = new AbortController();
  private readonly search: Search;
  /** What states were last asked for. */
  private states = { question: "", isCut: false };
  /** What was looked for when a running session had gone on: it is looked for again. */
  private unfound = "";
  /** The selection's details have not come, or were of what the session was before. */
  private untold: { isSilent: boolean } | null = null;
  private follows = true;

  constructor(
    public about: About,
    isDark: boolean,
    private readonly frame: Frame,
    readonly source: Source,
    /** Behind the names of its elements. */
    suffix: string,
  ) {
    this.area = byId(`timeline${suffix}`);
    this.canvas = byId<HTMLCanvasElement>(`canvas${suffix}`);
    this.bar = byId(`scroll${suffix}`);
    this.search = new Search(source, (text) => this.say(text));
    const whole = { from: 0, until: Math.max(about.length_ns, 1) };
    this.scene = {
      letter: about.beside ? "A" : suffix === "" ? "" : "B",
      view: whole,
      width: 1,
      height: 1,
      scroll: 0,
      placed: [],
      places: new Map(),
      shown: (id) => this.rows.shown(id),
      folded: new Set(),
      pinned: new Set(),
      values: [],
      rows: new Map(),
      rowsView: whole,
      ticks: null,
      ticksView: whole,
      ticksPixels: 1,
      lost: [],
      selection: null,
      arrows: { selected: [], all: [] },
      counters: new Map(),
      pointer: null,
      mark: null,
      measure: null,
      named: null,
      colours: palette(isDark),
      isPending: true,
    };
    this.rows = new Rows(this.scene, byId(`scroll-size${suffix}`));
    const follow = (arrow: Arrow, isToHead: boolean): Promise<void> => this.go(arrow, isToHead);
    this.flows = new Flows(source, this.scene, this.rows, follow, (text) => this.say(text));
    this.counters = new Counters(source, this.scene, {
      remove: (name) => this.frame.removeCounter(name),
      isListed: () => this.frame.active === this,
    });
    this.bar.addEventListener("scroll", () => {
      this.scene.scroll = this.bar.scrollTop;
      this.changed();
    });
    new ResizeObserver(() => {
      const { clientWidth, clientHeight } = this.area;
      const [width, height] = this.size;
      if (clientWidth !== width || clientHeight !== height) this.fit([clientWidth, clientHeight]);
    }).observe(this.area);
  }

  /** Loads the rows. A running session may go on meanwhile. */
  async start(): Promise<void> {
    let tracks = await this.loadTracks(this.about);
    while (!tracks) {
      this.about = await this.source.about();
      tracks = await this.loadTracks(this.about);
    }
    this.source.askOf(this.about);
    this.scene.view = this.all;
    this.rows.are(tracks);
    // Rows that were long in coming find the page laid out.
    if (this.size[0] === 0) this.fit(this.frame.room());
  }

  /** The rows of one state of a session; nothing, if it has gone on before all of them came. */
  private async loadTracks(about: About): Promise<Track[] | null> {
    const found = await this.source.allTracks(about, MOST_TRACKS);
    if (found && found.left_out > 0) this.say(`${found.left_out} rows are not shown`);
    return found && found.tracks;
  }

  /** A running session has gone on: shows what it is now; false, if it has gone on once more.
   * Until all rows are there, questions and what is on the screen are of what it was before. */
  async renew(about: About): Promise<boolean> {
    const { scene } = this;
    const tracks = await this.loadTracks(about);
    if (!tracks) return false;
    this.source.askOf(about);
    const found = finder(this.rows.tracks, tracks);
    move(scene, [this.about, about], found, this.isFollowing);
    this.about = about;
    this.rows.are(tracks, found);
    this.flows.renewed();
    this.changed(true);
    if (scene.selection && this.untold) this.tell(scene.selection, this.untold.isSilent);
    if (this.unfound !== "") await this.find(this.unfound);
    return true;
  }

  /** All that may be shown: of the trace that it is compared with, too. */
  private get all(): View {
    return this.frame.bounds(this);
  }

  get view(): View {
    return this.scene.view;
  }

  /** What the address has of it. */
  get selected(): Chosen {
    const { selection } = this.scene;
    return { track: selection?.track ?? null, at: this.selectedAt };
  }

  /** Which rows are at the top, and in which order the others are. */
  get arrangement(): Arrangement {
    return this.rows.arrangement;
  }

  get selectedAt(): number | null {
    return this.scene.selection?.at ?? null;
  }

  /** Which span and row statistics are of. */
  get whose(): Whose {
    const { measure, view } = this.scene;
    const row = this.rows.get(this.scene.selection?.track ?? "");
    const { source } = this;
    return { source, span: measure ?? view, track: row?.id ?? "", name: row?.name ?? "" };
  }

  /** Whether the view stays at the end of a running session. */
  get isFollowing(): boolean {
    return this.about.is_live && this.follows;
  }

  follow(follows: boolean): void {
    this.follows = follows;
    byId("follow").setAttribute("aria-pressed", String(follows));
    if (!follows) return;
    const { from, until } = this.scene.view;
    const end = this.about.length_ns;
    this.scene.view = within({ from: end - (until - from), until: end }, this.all);
    this.changed();
  }

  toggleFollow(): void {
    if (this.about.is_live) this.follow(!this.follows);
  }

  /** Shows what the address says of it. */
  restore(
    { view, track, at, pins, order }: Chosen & Arrangement & { view: View | null },
    filter: Filter,
  ): void {
    this.filter = filter;
    this.rows.arrange({ pins, order });
    if (view) this.scene.view = within(view, this.all);
    const row = this.scene.placed.find((found) => found.track.id === track);
    this.scene.selection = null;
    this.flows.of(null);
    if (row && at !== null) this.select(rowSelection(row, at), true);
    this.changed(true);
  }

  say(text: string): void {
    say(text);
  }

  theme(isDark: boolean): void {
    this.scene.colours = palette(isDark);
    this.paint();
  }

  setFilter(filter: Filter): void {
    this.filter = filter;
    this.changed(true);
  }

  show(view: View): void {
    this.put(view);
    this.frame.moved(this);
  }

  /** Shows a view, and moves no other time line with it. */
  put(view: View): void {
    this.scene.view = within(view, this.all);
    // Who looks at what was before wants to go on looking at it.
    if (this.isFollowing && this.scene.view.until < this.about.length_ns) this.follow(false);
    this.changed();
  }

  whole(): void {
    this.frame.leave();
    this.show(this.all);
  }

  zoom(factor: number, at?: number): void {
    const { view } = this.scene;
    this.show(zoomed(view, at ?? (view.from + view.until) / 2, factor));
  }

  move(part: number): void {
    const { from, until } = this.scene.view;
    const by = (until - from) * part;
    this.show({ from: from + by, until: until + by });
  }

  pan(pixels: number): void {
    this.move(-pixels / Math.max(this.scene.width - NAMES, 1));
  }

  scrollBy(pixels: number): void {
    this.bar.scrollTop += pixels;
  }

  measure(x1: number, x2: number): void {
    const [a, b] = [timeAt(this.scene, x1), timeAt(this.scene, x2)];
    this.scene.measure = { from: Math.min(a, b), until: Math.max(a, b) };
    this.frame.keep();
    this.redraw();
  }

  focusSelection(): void {
    const { selection, measure } = this.scene;
    const found = measure ?? (selection && { from: selection.begin, until: selection.end });
    if (!found) return;
    this.frame.leave();
    this.showAround(found);
  }

  private showAround(found: View): void {
    const margin = Math.max((found.until - found.from) * 0.1, 50);
    this.show({ from: found.from - margin, until: found.until + margin });
  }

  toggleMark(): void {
    const at = this.scene.selection?.at ?? null;
    this.scene.mark = this.scene.mark === at ? null : at;
    this.redraw();
  }

  giveUp(): void {
    this.search.giveUp();
    this.unfound = "";
    this.untold = null;
    this.say("");
    this.scene.selection = null;
    this.scene.measure = null;
    this.flows.of(null);
    this.frame.giveUp();
    this.frame.keep();
    this.redraw();
  }

  /** The mouse is there, or not over the time line any more. */
  hover(pointer: Scene["pointer"]): void {
    this.scene.pointer = pointer;
    if (this.counters.names.length > 0) this.redraw();
  }

  /** Draws these fields of events as lines, and no others. */
  count(names: readonly string[]): void {
    this.counters.are(names);
    this.rows.haveOwn(this.counters.rows);
    this.changed();
  }

  timeAt(x: number): number {
    return timeAt(this.scene, Math.max(x, NAMES));
  }

  click(x: number, y: number): void {
    if (y < RULER) return;
    const row = rowAt(this.scene.placed, y - RULER + this.scene.scroll);
    if (!row) return;
    if (x < NAMES && row.hasChildren && y - yOf(this.scene, row) < HEAD) this.toggle(row);
    else this.select(hit(this.scene, row, [Math.max(x, NAMES), y]));
  }

  toggleSelected(): void {
    const row = this.selectedRow();
    if (row?.hasChildren) this.toggle(row);
  }

  /** Selects the row above or below. */
  step(by: number): void {
    const { placed, view } = this.scene;
    const row = this.selectedRow();
    const next = placed[row ? placed.indexOf(row) + by : 0];
    if (!next) return;
    this.select(rowSelection(next, this.scene.selection?.at ?? (view.from + view.until) / 2));
  }

  /** Selects the slice before or after. */
  stepSlice(by: number): void {
    const { selection } = this.scene;
    const next = selection && nextSlice(this.scene, selection, by);
    if (!next) return;
    this.select(sliceSelection(this.scene, selection, next));
    const { from, until: end } = this.scene.view;
    if (next[1] < from || next[0] > end) this.center((next[0] + next[1]) / 2, end - from);
  }

  /** Selects the next row of which the name has a text, or else the next event. */
  async find(text: string): Promise<void> {
    this.say("");
    this.unfound = "";
    if (text === "") return;
    this.frame.leave();
    const wanted = text.toLowerCase();
    const isIt = (track: Track): boolean => track.name.toLowerCase().includes(wanted);
    const { selection, view } = this.scene;
    const now = this.rows.tracks.findIndex((track) => track.id === selection?.track);
    const found =
      this.rows.tracks.find((track, at) => at > now && isIt(track)) ?? this.rows.tracks.find(isIt);
    const at = selection?.at ?? view.from;
    if (found) {
      this.unfold(found);
      const row = this.scene.placed.find((placed) => placed.track.id === found.id);
      if (row) this.select(rowSelection(row, at));
      return;
    }
    try {
      const event = await this.search.named(text, at);
      if (event === null || event === "given up") return;
      this.selectEvent(event);
      this.center(event.at, Math.min(view.until - view.from, 1e6));
    } catch (error) {
      if (!(error instanceof protocol.Stale)) throw error;
      this.unfound = text;
    }
  }

  selectEvent(row: EventRow): void {
    this.untold = null;
    showEvent(row);
    this.scene.selection = eventSelection(this.rows.tracks, row);
    this.flows.of(this.scene.selection);
    const { from, until } = this.scene.view;
    if (row.at < from || row.at > until) this.center(row.at, until - from);
    this.frame.keep();
    this.redraw();
  }

  /** Lets all slices fade but those of a name. */
  mark(named: Named | null): void {
    this.scene.named = named;
    this.redraw();
  }

  /** Shows one call or state of a row. */
  seek(
    { track: id, lane, begin, until }: NonNullable<Statistic["longest"]>,
    { kind, name }: Named,
  ): void {
    const track = this.rows.tracks.find((found) => found.id === id);
    if (!track) return;
    this.frame.leave();
    this.unfold(track);
    this.select({ track: id, kind, lane, begin, end: until, label: name, at: begin }, true);
    this.scene.measure = null;
    this.showAround({ from: begin, until });
    const row = this.selectedRow();
    if (row) this.reveal(row);
  }

  /** Shows the head of an arrow, or its tail. */
  private async go({ kind, from, to }: Arrow, isToHead: boolean): Promise<void> {
    const end = isToHead ? to : from;
    const track = this.rows.get(end.track ?? "");
    if (!track) return;
    // A wait is over where the arrow ends.
    const at = isToHead && kind === "lock" ? Math.max(end.at - 1, from.at) : end.at;
    const { states } = await this.source.details(track.id, at);
    this.unfold(track);
    this.select(landed(track, at, kind, states));
    const { from: left, until } = this.scene.view;
    if (at < left || at > until) this.center(at, until - left);
    this.area.focus();
  }

  private center(at: number, width: number): void {
    this.show({ from: at - width / 2, until: at + width / 2 });
  }

  private select(selection: Selection, isSilent = false): void {
    this.scene.selection = selection;
    const row = this.selectedRow();
    if (row && !isSilent) this.reveal(row);
    this.tell(selection, isSilent);
    if (!isSilent) this.frame.keep();
    this.redraw();
  }

  /** Shows what is so where the selection is. Where a running session has gone on, the answer is a
   * refusal, or of a selection that was moved since: then `renew` asks again. */
  private tell(selection: Selection, isSilent: boolean): void {
    this.untold = null;
    const tell = (...all: string[]): void => {
      if (!isSilent) byId("chosen").textContent = plain([...all, clock(selection.at)].join(", "));
    };
    if (this.counters.tells(selection, isSilent)) {
      tell(selection.label);
      return this.flows.of(null);
    }
    this.untold = { isSilent };
    const isIt = (): boolean => this.scene.selection === selection;
    this.source.details(selection.track, selection.at).then(
      (details) => {
        if (!isIt()) return;
        this.untold = null;
        const say = (text: string): void => (isIt() ? this.say(text) : undefined);
        showDetails(details, this.lead);
        showLock(details, this.source, { lead: this.lead, rows: this.rows, say });
        if (!isSilent) offerDetails();
        const state = details.states.find(
          (s) => s.kind === selection.kind && s.lane === selection.lane,
        );
        if (state) [selection.begin, selection.end] = [state.begin, state.until];
        tell(details.track.name, ...(state ? [state.label] : []));
        this.flows.of(selection);
        this.redraw();
      },
      // A row that is not there any more has no details.
      (error: unknown) => {
        if (isIt() && !(error instanceof protocol.Stale)) this.untold = null;
      },
    );
  }

  /** Shows the row of a thread at a time. */
  private readonly lead = (id: string, at: number): void => {
    const track = this.rows.get(id);
    if (!track) return;
    this.unfold(track);
    const row = this.scene.places.get(id);
    if (row) this.select(rowSelection(row, at));
    this.area.focus();
  };

  private selectedRow(): Placed | undefined {
    return this.scene.places.get(this.scene.selection?.track ?? "");
  }

  private reveal(row: Placed): void {
    const room = this.scene.height - RULER;
    if (row.top < this.scene.scroll) this.bar.scrollTop = row.top;
    else if (row.top + Math.min(row.height, room) > this.scene.scroll + room) {
      this.bar.scrollTop = row.top + Math.min(row.height, room) - room;
    }
  }

  /** Brings the selected row and those below it to the top, or back to its place. */
  pin(): void {
    const refusal = this.rows.pin(this.selectedRow()?.track.id);
    if (refusal === "") this.arranged();
    else this.say(refusal);
  }

  /** Sorts rows by name, or by number again. */
  sort(): void {
    this.rows.sort();
    this.arranged();
  }

  private arranged(): void {
    const row = this.selectedRow();
    if (row) this.reveal(row);
    this.frame.keep();
    this.changed();
  }

  private toggle(row: Placed): void {
    this.rows.toggle(row.track.id);
    this.changed();
  }

  private unfold(track: Track): void {
    if (this.rows.unfold(track)) this.changed();
  }

  /** What is asked of a view: for how many pixels, and of which rows. */
  private get sight(): { pixels: number; ids: string[] } {
    const { placed, scroll, height, width } = this.scene;
    const pixels = Math.min(Math.max(Math.round(width - NAMES), 1), 8192);
    const rows = visible(placed, scroll, height - RULER);
    return { pixels, ids: rows.map((row) => row.track.id).slice(0, MOST_ASKED) };
  }

  private fit([width, height]: [number, number]): void {
    const before = JSON.stringify(this.sight);
    this.ratio = window.devicePixelRatio || 1;
    this.size = [width, height];
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    this.scene.width = Math.max(width - 14, NAMES + 50);
    this.scene.height = height;
    if (JSON.stringify(this.sight) !== before) this.changed();
    // Its new size has emptied the canvas.
    if (this.isDrawn) this.redraw();
  }

  private paint(): void {
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    draw(pen, this.scene);
  }

  private redraw(): void {
    clearTimeout(this.waiting);
    cancelAnimationFrame(this.drawing);
    this.drawing = requestAnimationFrame(() => this.drawNow());
  }

  private drawNow(): void {
    clearTimeout(this.waiting);
    cancelAnimationFrame(this.drawing);
    this.paint();
    this.isDrawn = true;
    reveal();
    const { from, until } = this.scene.view;
    if (this.frame.active !== this) return;
    byId("span-text").textContent = `${clock(from)}  ·  ${duration(until - from)}`;
  }

  /** The view or what is in it changed: asks for it, and draws what is known meanwhile. A picture
   * that is drawn at once would hold up the answer to a step that stands by itself. */
  changed(isNow = false): void {
    this.scene.isPending = true;
    if (this.isDue) return;
    const now = performance.now();
    this.isMoving = now - this.changedAt < REST_MS && !isNow;
    clearTimeout(this.waiting);
    if (this.isMoving) this.redraw();
    else {
      cancelAnimationFrame(this.drawing);
      const ms = this.scene.rows.size > 0 ? ANSWER_MS : FIRST_ANSWER_MS;
      this.waiting = window.setTimeout(() => this.redraw(), ms);
    }
    if (!this.frame.hasStarted) return;
    clearTimeout(this.timer);
    this.changedAt = now;
    if (this.isMoving) {
      this.timer = window.setTimeout(() => void this.ask(), PATIENCE_MS);
      return;
    }
    this.isDue = true;
    queueMicrotask(() => {
      this.isDue = false;
      void this.ask();
    });
  }

  private async ask(): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    const { signal } = this.abort;
    const { view } = this.scene;
    const { pixels, ids } = this.sight;
    // Panels are about one of the time lines.
    const { active, table } = this.frame;
    const answers = Promise.all([
      this.source.ticks({ view, pixels, start: null }, this.filter, signal),
      this.askStates(view, pixels, ids, signal),
      this.flows.inView(view, ids, signal),
      this.counters.inView(view, pixels, signal),
    ]);
    // A table before the picture would cost a frame of its own.
    const turn = answers.then(nothing, nothing);
    const told = active === this ? table.show(view, this.filter, this.source, turn) : null;
    try {
      // The browser takes milliseconds to write the address; the server works meanwhile.
      this.frame.keep();
      const [ticks, isCut] = await answers;
      Object.assign(this.scene, {
        ticks,
        ticksView: view,
        ticksPixels: pixels,
        isPending: false,
      });
      sayError(isCut ? TOO_MANY : "");
      // The next frame of a view that rests may be long in coming, and has enough to do.
      if (this.isMoving) this.redraw();
      else this.drawNow();
      await told;
      this.area.dataset["settled"] = `${Math.floor(view.from)}-${Math.ceil(view.until)}`;
      const { filter } = this;
      const on = (start: number): Promise<protocol.Ticks> =>
        this.source.ticks({ view, pixels, start }, filter, signal);
      for await (const more of countedOn(ticks, on)) {
        if (signal.aborted) return;
        this.scene.ticks = more;
        this.redraw();
      }
    } catch (error) {
      // Of a session that has gone on: what it is now is asked for soon.
      if (signal.aborted || error instanceof protocol.Stale) return;
      this.scene.isPending = false;
      this.redraw();
      await told;
      // The table of events says what is wrong with the filter, beside it.
      const isSaid = table.isRefused && panelShown() === "events";
      if (!isSaid) sayError(error instanceof Error ? error.message : String(error));
    }
  }

  /** Whether some states were left out of the answer. They are the same whatever the filter is. */
  private async askStates(
    view: View,
    pixels: number,
    ids: string[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const question = JSON.stringify([view, pixels, ids, this.about.revision]);
    if (this.states.question === question) return this.states.isCut;
    const [slices, lost] = await Promise.all([
      this.source.slices(view, pixels, ids, signal),
      this.source.lost(view, pixels, signal),
    ]);
    this.scene.rows = protocol.byTrack(slices.rows);
    this.scene.rowsView = view;
    this.scene.values = slices.values;
    this.scene.lost = lost.regions;
    this.states = { question, isCut: slices.is_cut };
    this.redraw();
    return slices.is_cut;
  }
}
