// SPDX-License-Identifier: MIT
// Asks what a panel shows, once it is seen and what it is about has come to rest: one question at a
// time, because an answer may take seconds; a question that is no longer meant is given up.

import { plainLines } from "./plain";
import { Stale } from "./protocol";

/** How long what is meant has to rest before it is asked for. */
const PATIENCE_MS = 200;

export class Resting<Meant> {
  private meant: Meant | null = null;
  private timer = 0;
  private isAsking = false;
  private isOld = false;
  private abort = new AbortController();

  constructor(
    private readonly panel: HTMLElement,
    private readonly about: HTMLElement,
    private readonly ask: (meant: Meant, signal: AbortSignal) => Promise<void>,
    private readonly clear: () => void,
  ) {
    panel.addEventListener("shown", () => this.wake());
  }

  /** What the panel is about from now on. */
  of(meant: Meant): void {
    if (JSON.stringify(meant) !== JSON.stringify(this.meant)) {
      this.isOld = true;
      this.abort.abort();
    }
    this.meant = meant;
    this.wake();
  }

  private wake(): void {
    clearTimeout(this.timer);
    if (this.panel.hidden || !this.isOld || this.isAsking) return;
    this.timer = window.setTimeout(() => void this.tell(), PATIENCE_MS);
  }

  private async tell(): Promise<void> {
    const { meant } = this;
    if (meant === null) return;
    [this.isAsking, this.isOld] = [true, false];
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.panel.setAttribute("aria-busy", "true");
    this.about.textContent = "reading…";
    try {
      await this.ask(meant, signal);
    } catch (error) {
      // Something else is meant by now, or the session has gone on: it is asked for again.
      if (signal.aborted) return;
      if (!(error instanceof Stale)) this.refuse(error);
      else if (this.meant === meant) this.meant = null;
    } finally {
      this.isAsking = false;
      this.panel.setAttribute("aria-busy", "false");
      this.wake();
    }
  }

  private refuse(error: unknown): void {
    this.about.textContent = plainLines(error instanceof Error ? error.message : String(error));
    this.clear();
  }
}
