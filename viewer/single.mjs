// SPDX-License-Identifier: MIT
// Prints the page as one file, for `lull export --html`, which puts a trace where TRACE-DATA is.
//
// Usage: node viewer/single.mjs FOLDER, with the three files of the page. The policy of the file
// allows this script and this style by what they are, and nothing else: no other script runs,
// whatever the trace's texts say, and nothing is loaded or sent.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const folder = process.argv[2];
const [html, script, style] = ["index.html", "page.js", "page.css"].map((name) =>
  readFileSync(`${folder}/${name}`, "utf8"),
);
if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) {
  throw new Error("the page's code cannot stand within a page");
}
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src-elem ${hash(style)}`,
  "style-src-attr 'none'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** Replaces a line that the page has once. */
const put = (text, line, by) => {
  const parts = text.split(line);
  if (parts.length !== 2) throw new Error(`index.html has no single line ${line}`);
  return parts.join(by);
};

let page = put(
  html,
  '<meta charset="utf-8">\n',
  `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">\n`,
);
page = put(page, '<link rel="stylesheet" href="page.css">\n', `<style>${style}</style>\n`);
page = put(page, '<script src="page.js" defer></script>\n', "");
for (const question of ["trace?", "tracks?offset=0"]) {
  page = put(page, `<link rel="preload" as="fetch" crossorigin href="v1/${question}">\n`, "");
}
const data = '<script type="application/json" id="trace-data">TRACE-DATA</script>\n';
page = put(page, "</body>", `${data}<script>${script}</script>\n</body>`);
process.stdout.write(page);
