// SPDX-License-Identifier: MIT
// Puts the page together, as one file: a server's page that loads nothing more is drawn earlier, and
// `lull export --html` needs no other.
//
// Usage: node viewer/page.mjs HTML SCRIPT STYLE FOLDER. Writes page.html into the folder, in which
// the command puts a policy where PAGE-POLICY is, and data where PAGE-DATA is; and policy.txt, which
// allows this script and this style by what they are, and no other, whatever a trace's texts say.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [html, script, style] = process.argv.slice(2, 5).map((path) => readFileSync(path, "utf8"));
const folder = process.argv[5];
if (/<\/script|<!--|PAGE-/i.test(script) || /<\/style|PAGE-/i.test(style)) {
  throw new Error("the page's code cannot stand within a page");
}
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
// Both scripts, of which one is a few letters of the page itself.
const scripts = [...html.matchAll(/<script>(.*?)<\/script>/g)].map(([, text]) =>
  hash(text === "PAGE-SCRIPT" ? script : text),
);
const policy = [
  "default-src 'none'",
  `script-src ${scripts.join(" ")}`,
  `style-src-elem ${hash(style)}`,
  "style-src-attr 'none'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** Replaces a word that the page has once. */
const put = (text, word, by) => {
  const parts = text.split(word);
  if (parts.length !== 2) throw new Error(`the page has ${word} ${parts.length - 1} times`);
  return parts.join(by);
};

writeFileSync(`${folder}/page.html`, put(put(html, "PAGE-STYLE", style), "PAGE-SCRIPT", script));
writeFileSync(`${folder}/policy.txt`, policy);
