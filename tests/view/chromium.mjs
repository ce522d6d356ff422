// SPDX-License-Identifier: MIT
// The browser that tests and measurements of the viewer drive.

import { createRequire } from "node:module";

const require = createRequire(new URL("../../build/viewer/", import.meta.url));
const { chromium } = require("playwright-core");

// The sandbox of Chromium needs user namespaces, which containers of tests lack; the page is ours.
export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    env: { ...process.env, FONTCONFIG_FILE: new URL("fonts.conf", import.meta.url).pathname },
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
