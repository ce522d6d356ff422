// SPDX-License-Identifier: MIT
// Text of traces, made safe to be read: of names, texts and paths that programs chose.
//
// Place in the flow: what becomes an element or letters on the canvas passes here. Characters that
// turn the direction of writing, or have no shape, would show something other than what is there;
// `lull print` replaces them, too.

const ODD = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** The text with `\u{202e}` for what does not stand for itself. */
export function plain(text: string): string {
  return text.replace(ODD, (odd) => `\\u{${odd.codePointAt(0)?.toString(16)}}`);
}

/** A text of several lines. */
export function plainLines(text: string): string {
  return text.split("\n").map(plain).join("\n");
}
