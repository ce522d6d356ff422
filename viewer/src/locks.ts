// SPDX-License-Identifier: MIT
// What is told of a lock that is selected: who waited meanwhile, where it was taken, how its waits are
// asked for by SQL.
//
// Place in the flow: a time line (app.ts) shows the states of a moment (panel.ts), and this below them.

import { byId, element } from "./events";
import { facts, stateTable } from "./panel";
import { NO_FILTER, Stale, type Details, type Source, type Track } from "./protocol";
import type { Rows } from "./rows";
import { stackOf } from "./stacks";

/** Events of the time at which a lock was taken that are looked at, and functions that are named. */
const MOST_EVENTS = 50;
const MOST_FRAMES = 12;

/** What a lock's details need of the time line. */
interface Line {
  /** Shows the row of a thread at a time. */
  lead: (id: string, at: number) => void;
  rows: Rows;
  /** Says what went wrong, while this is selected. */
  say: (text: string) => void;
}

/** Of a lock: who waited, where it was taken, and the SQL. */
export function showLock(
  { track, states, waits }: Details,
  source: Source,
  { lead, rows, say }: Line,
): void {
  if (track.kind !== "lock") return;
  const panel = byId("details");
  const held = states.find(({ kind, thread }) => kind === "holder" && thread !== undefined);
  const tid = rows.get(held?.thread ?? "")?.tid;
  const place = element("div");
  panel.append(place);
  if (held && tid !== undefined) {
    // A session that has gone on is asked anew.
    showPlace(place, source, { begin: held.begin, tid }).catch((error: unknown) => {
      if (!(error instanceof Stale)) say(error instanceof Error ? error.message : String(error));
    });
  }
  if (waits) {
    const more = waits.count - waits.states.length;
    const rest = more > 0 ? `; ${more} more are not told` : "";
    const caption = `Waits for it meanwhile: ${waits.count}${rest}`;
    panel.append(stateTable(caption, waits.states, lead));
  }
  const sql = sqlOf(track);
  if (sql !== "") panel.append(facts([["All its waits, for lull query", sql]]));
}

/** The waits for a lock, as `lull query` has them. */
export function sqlOf(track: Track): string {
  const [kind, address] = track.name.split(" ");
  if (track.pid === undefined || !kind || !/^0x[0-9a-f]+$/.test(address ?? "")) return "";
  const isIt = `pid = ${track.pid} AND kind = '${kind}' AND address = ${BigInt(address ?? 0)}`;
  return `SELECT time, tid, comm, duration FROM locks WHERE ${isIt} ORDER BY time`;
}

/** Tells where a lock was taken that a thread has held since a time: the call stack of the event that
 * ended its wait, if it was recorded. */
async function showPlace(
  panel: HTMLElement,
  source: Source,
  { begin, tid }: { begin: number; tid: number },
): Promise<void> {
  const span = { from: begin, until: begin + 1, limit: MOST_EVENTS };
  const { rows } = await source.events(span, { ...NO_FILTER, tid: String(tid) });
  const ends = rows.filter(({ event }) => /:(wait_exit|pthread_mutex_lock_acq)/.test(event.name));
  const stacks = ends.map(({ event }) => stackOf(event).slice(0, MOST_FRAMES));
  const [stack] = stacks.filter((frames) => frames.length > 0);
  if (ends.length === 0) return;
  const text = stack?.join(" ← ") ?? "no call stack was recorded: lull record --context user_stack";
  panel.append(facts([["Taken in", text]]));
}
