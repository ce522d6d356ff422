// SPDX-License-Identifier: MIT
// Which rows a time line has, which of them are folded, pinned and in what order, and so where each is.
//
// Place in the flow: a time line (app.ts) has one, and asks it to fold and to arrange; what is drawn
// and asked for is what is placed here in the scene.

import { arranged, toggled, type Arrangement } from "./arrange";
import type { Scene } from "./draw";
import { heightOf, place, type Placed } from "./layout";
import type { Track } from "./protocol";

/** Groups with more rows than that are folded at first. */
const MOST_UNFOLDED = 16;

export class Rows {
  tracks: Track[] = [];
  /** Rows at the top that the page has by itself. */
  private own: Track[] = [];
  arrangement: Arrangement = { pins: [], order: "number" };
  private folded = new Set<string>();
  private byId = new Map<string, Track>();

  /** `size`: the element whose height is that of all rows. */
  constructor(
    private readonly scene: Scene,
    private readonly size: HTMLElement,
  ) {}

  /** From now on, these are the rows. `found`: for the identifier of an old one its new one, or an
   * empty text. */
  are(tracks: Track[], found: (id: string) => string = (id) => id): void {
    const there = (ids: Iterable<string>): string[] =>
      [...ids].map(found).filter((id) => id !== "");
    if (this.tracks.length === 0) this.folded = large(tracks);
    this.tracks = tracks;
    this.byId = new Map(tracks.map((track) => [track.id, track]));
    this.folded = new Set(there(this.folded));
    this.arrangement = { ...this.arrangement, pins: there(this.arrangement.pins) };
    this.place();
  }

  /** The rows at the top that the page has by itself. */
  haveOwn(own: Track[]): void {
    this.own = own;
    this.place();
  }

  arrange(arrangement: Arrangement): void {
    this.arrangement = arrangement;
    this.place();
  }

  /** A row is pinned to the top, with those below it, or not any more; a text says why not. */
  pin(id: string | undefined): string {
    if (this.own.some((track) => track.id === id)) return "counters are at the top already";
    const next = toggled(this.arrangement, id);
    if (typeof next === "string") return next;
    this.arrange(next);
    return "";
  }

  /** Sorts rows by name, or by number again. */
  sort(): void {
    const { pins, order } = this.arrangement;
    this.arrange({ pins, order: order === "name" ? "number" : "name" });
  }

  toggle(id: string): void {
    if (!this.folded.delete(id)) this.folded.add(id);
    this.place();
  }

  /** Unfolds all that a row is below; whether anything was folded. */
  unfold(track: Track): boolean {
    const folded = this.above(track).filter((above) => this.folded.delete(above.id));
    if (folded.length > 0) this.place();
    return folded.length > 0;
  }

  get(id: string): Track | undefined {
    return this.byId.get(id);
  }

  /** Where a row is, or the one that it is folded into. */
  shown(id: string): Placed | undefined {
    const track = this.get(id);
    if (!track) return undefined;
    for (const one of [track, ...this.above(track)]) {
      const row = this.scene.places.get(one.id);
      if (row) return row;
    }
    return undefined;
  }

  /** What a row is below, the nearest first. */
  private above(track: Track): Track[] {
    const found: Track[] = [];
    // Bound: no row is below more than there are kinds of rows.
    for (let id = track.parent; id !== null && found.length < 8;) {
      const one = this.get(id);
      if (!one) break;
      found.push(one);
      id = one.parent;
    }
    return found;
  }

  private place(): void {
    const { scene, arrangement } = this;
    scene.folded = this.folded;
    scene.placed = place([...this.own, ...arranged(this.tracks, arrangement)], this.folded);
    scene.places = new Map(scene.placed.map((row) => [row.track.id, row]));
    scene.pinned = new Set(arrangement.pins);
    this.size.style.height = `${heightOf(scene.placed) + 8}px`;
  }
}

/** The groups of locks that have many. */
function large(tracks: Track[]): Set<string> {
  const counts = new Map<string, number>();
  for (const { kind, parent } of tracks) {
    if (kind === "lock" && parent !== null) counts.set(parent, (counts.get(parent) ?? 0) + 1);
  }
  return new Set([...counts.keys()].filter((id) => (counts.get(id) ?? 0) > MOST_UNFOLDED));
}
