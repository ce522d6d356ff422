// SPDX-License-Identifier: MIT
// The bar below the header: what went wrong, until that is over; else what was said last; else what
// is to be known of the traces as long as the page is there.

import { byId } from "./events";
import { plainLines } from "./plain";

let error = "";
let said = "";
const lasting: string[] = [];

function show(): void {
  const text = error || said || lasting.join("; ");
  const bar = byId("message");
  bar.hidden = text === "";
  bar.textContent = plainLines(text);
}

/** An empty text takes back what was said before. */
export function say(text: string): void {
  said = text;
  show();
}

/** An empty text: it is over. */
export function sayError(text: string): void {
  error = text;
  show();
}

export function sayAlways(text: string): void {
  lasting.push(text);
  show();
}
