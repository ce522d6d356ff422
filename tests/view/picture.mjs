// SPDX-License-Identifier: MIT
// Takes a picture of the page, for people who read about a trace.
//
// Usage: node tests/view/picture.mjs URL HASH TEXT FILE: the page of that address, which HASH says what
// to show of, once its panel says TEXT. It fails if that never is.

import { close, open } from "./pages.mjs";

const [url, hash, text, file] = process.argv.slice(2);
const page = await open(url, hash);
await page.locator('[role="tabpanel"]:not([hidden]) tbody tr', { hasText: text }).first().waitFor();
await page.evaluate(() => document.activeElement.blur());
await page.screenshot({ path: file, animations: "disabled", caret: "hide" });
await close();
