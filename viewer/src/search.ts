// SPDX-License-Identifier: MIT
// Finds an event from a time on. An answer may end before there is one, so a search is many
// questions, and another search or Esc ends it.

import { NO_FILTER, type EventRow, type Filter, type Page, type Source } from "./protocol";
import { clock } from "./time";

export class Search {
  /** Searches that were begun, or given up. */
  private count = 0;

  constructor(
    private readonly source: Source,
    private readonly say: (text: string) => void,
  ) {}

  giveUp(): void {
    this.count++;
  }

  /** The first event after a time with a text in its name, or else the first of all. */
  async named(text: string, at: number): Promise<EventRow | null | "given up"> {
    const e = /[*?]/.test(text) ? text : `*${text}*`;
    for (const from of [Math.floor(at) + 1, 0]) {
      const event = await this.first(from, { ...NO_FILTER, e });
      if (event) return event;
    }
    this.say(`no row and no event has “${text}” in its name`);
    return null;
  }

  /** The first event of a filter from a time on. */
  private async first(from: number, filter: Filter): Promise<EventRow | null | "given up"> {
    const own = ++this.count;
    let next: Page["next"] = { from, skip: 0 };
    // Bound: each page reads a million events of the trace, or the rest of it.
    while (next) {
      const page: Page = await this.source.events({ ...next, limit: 1 }, filter);
      if (own !== this.count) return "given up";
      if (page.rows[0]) return page.rows[0];
      next = page.next;
      if (next) this.say(`searching: nothing up to ${clock(next.from)}; Esc ends it`);
    }
    this.say("");
    return null;
  }
}
