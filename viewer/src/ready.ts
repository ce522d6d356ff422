// SPDX-License-Identifier: MIT
// The page is painted once its first picture is drawn: to paint what is around it before, and all of
// it again, took the browser longer than to draw.
//
// Place in the flow: main.ts hides the page when it starts, and a time line (app.ts) shows it.

const UNREADY = "unready";
/** A picture that takes longer is waited for in sight. */
const PATIENCE_MS = 250;

let shown = (): void => undefined;

/** Hides the page; the promise is kept once it has been painted. */
export function hide(): Promise<void> {
  document.documentElement.classList.add(UNREADY);
  setTimeout(reveal, PATIENCE_MS);
  return new Promise((resolve) => {
    shown = resolve;
  });
}

/** Shows the page, if it is hidden. */
export function reveal(): void {
  const { classList } = document.documentElement;
  if (!classList.contains(UNREADY)) return;
  classList.remove(UNREADY);
  requestAnimationFrame(() => setTimeout(shown));
}
