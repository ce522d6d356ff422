// SPDX-License-Identifier: MIT
// Opens the page in Chromium and does with it what a person does.
//
// Usage: node tests/view/browser.mjs URL FILE, with the page of a server and one that is a file of
// the same trace. A line for each test: `ok NAME`, or `FAIL NAME` with the
// reason below. LULL_SHOTS names a folder for pictures of the page.

import assert from "node:assert/strict";
import { open, problems, runAll, settled, shown, width } from "./pages.mjs";

const [url, file] = [process.argv[2], `file://${process.argv[3]}`];

/** The names of the events in the table, once it has all those that its caption counts. */
async function names(page) {
  await page.waitForFunction(() => {
    const rows = document.querySelectorAll("#event-rows tr").length;
    return rows === parseInt(document.getElementById("event-caption").textContent);
  });
  return page.locator("#event-rows td:nth-child(4)").allTextContents();
}

/** Waits until the table has so many events. */
const has = (page, count) =>
  page.waitForFunction((n) => document.querySelectorAll("#event-rows tr").length === n, count);

/** Scrolls the table of events to its end. */
const toTheEnd = (page) =>
  page.locator("#event-scroll").evaluate((area) => (area.scrollTop = area.scrollHeight));

/** How many pixels of a part of the time line are as red as what says that events are missing. */
const redPixels = (page, [x, y, w, h]) =>
  page.evaluate(
    ([x, y, w, h]) => {
      const { data } = document.getElementById("canvas").getContext("2d").getImageData(x, y, w, h);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i] > 180 && data[i + 1] < 110 && data[i + 2] < 110) count++;
      }
      return count;
    },
    [x, y, w, h],
  );

const tests = {
  async page_loads_with_rows_and_events(page) {
    assert.match(await page.title(), /^trace – Lull$/);
    assert.ok(!(await page.locator("#timeline-b").isVisible()));
    assert.ok(!(await page.locator("#tab-compare").isVisible()));
    await has(page, 40);
    assert.match(await page.locator("#event-caption").textContent(), /40 events in view and more/);
  },

  async lost_events_are_said_and_drawn_where_they_are_missing(page) {
    assert.match(await page.locator("#message").textContent(), /42 events or packets are missing/);
    const { from, until } = shown(page);
    const x = (at) => Math.round(230 + ((at - from) / (until - from)) * (1280 - 14 - 230));
    // Between the two events of the second CPU's packets, 4 and 7 ms after the beginning.
    assert.ok((await redPixels(page, [x(5_100_000), 43, x(6_900_000) - x(5_100_000), 4])) > 100);
    assert.equal(await redPixels(page, [x(1_000_000), 43, x(3_500_000) - x(1_000_000), 4]), 0);
  },

  async keys_zoom_and_move_and_show_the_whole(page) {
    const whole = width(page);
    await page.locator("#timeline").focus();
    await settled(page, () => page.keyboard.press("w"));
    assert.ok(width(page) < whole * 0.8, `${width(page)} of ${whole}`);
    const { from } = shown(page);
    await settled(page, () => page.keyboard.press("d"));
    assert.ok(shown(page).from > from);
    await settled(page, () => page.keyboard.press("0"));
    assert.equal(width(page), whole);
  },

  async wheel_zooms_at_the_pointer(page) {
    await page.mouse.move(700, 200);
    await page.keyboard.down("Control");
    await settled(page, () => page.mouse.wheel(0, -600));
    await page.keyboard.up("Control");
    assert.ok(width(page) < 3_000_000, String(width(page)));
  },

  async a_click_selects_a_slice_and_f_shows_it(page) {
    // Within one of the server's calls, of 9 us.
    await page.mouse.move(700, 232);
    await page.keyboard.down("Control");
    for (let i = 0; i < 6; i++) await settled(page, () => page.mouse.wheel(0, -600));
    await page.keyboard.up("Control");
    assert.ok(width(page) < 1000, String(width(page)));
    await page.mouse.click(700, 232);
    await page.locator("#details h3").waitFor();
    assert.match(await page.locator("#details").textContent(), /job/);
    await settled(page, () => page.keyboard.press("f"));
    assert.ok(width(page) > 5000 && width(page) < 20000, String(width(page)));
    await page.keyboard.press("Escape");
  },

  async a_search_selects_a_row_and_shows_its_details(page) {
    const search = page.locator("#search-text");
    await page.keyboard.press("/");
    await search.fill("server[10]");
    await search.press("Enter");
    await search.press("Enter");
    await page.locator("#details h3").waitFor();
    assert.equal(await page.locator("#details h3").textContent(), "server[10]");
    await page.locator("#tab-details").click();
    await page.locator("#timeline").focus();
    await page.keyboard.press("Escape");
  },

  async filter_is_that_of_the_command_line(page) {
    await page.fill("#filter-e", "io:read_exit if result < 0");
    await settled(page, () => page.locator("#filter button[type=submit]").click());
    await has(page, 40);
    await toTheEnd(page);
    await has(page, 100);
    assert.equal(await page.locator("#event-caption").textContent(), "100 events in view");
    assert.deepEqual([...new Set(await names(page))], ["io:read_exit"]);
    assert.equal(shown(page).words.get("e"), "io:read_exit if result < 0");
  },

  async a_wrong_filter_is_explained(page) {
    await page.fill("#filter-e", "io:read_exit if result <");
    await page.locator("#filter button[type=submit]").click();
    await page.locator("#filter-error").waitFor({ state: "visible" });
    assert.match(await page.locator("#filter-error").textContent(), /\^/);
    assert.equal(await page.locator("#event-caption").textContent(), "No events are told");
    problems.length = 0; // Chromium tells of every answer that is not 200.
  },

  async an_error_is_said_until_it_is_over_and_the_warning_comes_back(page) {
    const bar = page.locator("#message");
    await page.fill("#filter-pid", "x");
    await page.press("#filter-pid", "Enter");
    await page.locator("#filter-error", { hasText: "no such number" }).waitFor();
    assert.match(await bar.textContent(), /42 events or packets are missing/);
    await page.locator("#tab-notes").click();
    await page.locator("#timeline").focus();
    await page.keyboard.press("w");
    await page.locator("#message", { hasText: "no such number" }).waitFor();
    await page.evaluate(() => document.getElementById("filter").reset());
    await page.locator("#message", { hasText: "42 events or packets are missing" }).waitFor();
    problems.length = 0;
  },

  async a_server_that_has_ended_is_said_to_have(page) {
    await page.route("**/v1/*", (route) => route.abort("connectionrefused"));
    await page.locator("#timeline").focus();
    await page.keyboard.press("w");
    await page.locator("#tab-notes").click();
    await page.keyboard.press("w");
    await page.locator("#message", { hasText: "lull view does not answer" }).waitFor();
    problems.length = 0;
  },

  async states_that_an_answer_has_no_room_for_are_said_to_be_missing(page) {
    await page.route("**/v1/slices.bytes?*", async (route) => {
      const response = await route.fetch();
      // Each byte a letter: the lengths of the answer's parts stay what they are.
      const told = (await response.body()).toString("latin1");
      const cut = told.replace('"is_cut":false', '"is_cut":true ');
      assert.notEqual(cut, told);
      await route.fulfill({ response, body: Buffer.from(cut, "latin1") });
    });
    await page.locator("#timeline").focus();
    await settled(page, () => page.keyboard.press("w"));
    await page.locator("#message", { hasText: "rows further down lack states" }).waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await settled(page, () => page.keyboard.press("s"));
    await page.locator("#message", { hasText: "rows further down lack states" }).waitFor({
      state: "detached",
    });
  },

  async search_finds_an_event_by_name(page) {
    await page.keyboard.press("Escape");
    await page.fill("#search-text", "first:after");
    await settled(page, () => page.press("#search-text", "Enter"));
    const { from, until } = shown(page);
    assert.ok(from < 7_000_000 && 7_000_000 < until, `${from} ${until}`);
    assert.equal(await page.locator("#details h3").textContent(), "first:after");
  },

  async more_events_follow_at_the_end_of_the_table_and_none_is_told_twice(page) {
    await has(page, 40);
    await page.evaluate(() => {
      // Who is impatient presses twice before the answer comes.
      for (let i = 0; i < 2; i++) document.getElementById("event-more").click();
    });
    await has(page, 240);
    for (let rows = 440; rows <= 1040; rows += 200) {
      await toTheEnd(page);
      await has(page, rows);
    }
    const ids = await page.locator("#event-rows td:last-child").allTextContents();
    const jobs = ids.filter((text) => text.startsWith("id="));
    assert.equal(new Set(jobs).size, jobs.length);
  },

  async what_a_trace_says_is_text_and_never_markup(page) {
    await page.fill("#filter-e", "<img*");
    await settled(page, () => page.locator("#filter button[type=submit]").click());
    assert.deepEqual(await names(page), ["<img src=x onerror=document.title=1>"]);
    const row = page.locator("#event-rows tr").first();
    assert.match(await row.textContent(), /<script>document.title='run'<\/script>/);
    assert.match(await row.textContent(), /big=9223372036854775807/);
    await page.setViewportSize({ width: 400, height: 800 });
    // The page may put its rows there anew meanwhile.
    const height = await page
      .waitForFunction(() => document.querySelector("#event-rows tr")?.offsetHeight)
      .then((found) => found.jsonValue());
    assert.ok(height < 100, `a long text takes ${height} pixels`);
    await page.setViewportSize({ width: 1280, height: 800 });
    await row.click();
    await page.locator("#tab-details").click();
    assert.match(await page.locator("#details").textContent(), /<b onclick=x>/);
    assert.equal(await page.locator("img, b, #details script, #events script").count(), 0);
    assert.match(await page.title(), /Lull$/);
  },

  async address_brings_back_what_was_shown(page) {
    await page.close();
    const again = await open(url, "#from=1000000&until=1100000&pid=20&e=none*");
    assert.deepEqual([shown(again).from, shown(again).until], [1_000_000, 1_100_000]);
    assert.equal(await again.inputValue("#filter-pid"), "20");
    assert.match(await again.locator("#event-caption").textContent(), /^0 events/);
    await again.close();
  },

  async back_leads_to_what_was_shown_before_a_jump(page) {
    await page.locator("#timeline").focus();
    for (let i = 0; i < 3; i++) await settled(page, () => page.keyboard.press("w"));
    const { from, until } = shown(page);
    await settled(page, () => page.keyboard.press("0"));
    assert.ok(width(page) > until - from);
    await page.keyboard.press("0");
    await page.fill("#filter-e", "job:*");
    await settled(page, () => page.press("#filter-e", "Enter"));
    assert.equal(shown(page).words.get("e"), "job:*");
    await settled(page, () => page.goBack());
    assert.equal(await page.inputValue("#filter-e"), "");
    assert.ok(width(page) > until - from);
    await settled(page, () => page.goBack());
    assert.deepEqual([shown(page).from, shown(page).until], [from, until]);
  },

  async keyboard_alone_reaches_rows_and_help(page) {
    await page.locator("#timeline").focus();
    for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowDown");
    await page.locator("#details h3", { hasText: "CPU 0" }).waitFor();
    await page.keyboard.press("?");
    assert.ok(await page.locator("#help").isVisible());
    await page.keyboard.press("Escape");
    assert.ok(!(await page.locator("#help").isVisible()));
    await page.locator("#tab-events").focus();
    await page.keyboard.press("ArrowRight");
    assert.ok(await page.locator("#details").isVisible());
  },

  async what_keys_select_is_told_to_who_hears_the_page(page) {
    const told = (text) => page.locator("#chosen[role=status]", { hasText: text }).waitFor();
    await page.locator("#timeline").focus();
    for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowDown");
    await told(/^CPU 0, .*\+0\.00\d \d{3} \d{3}$/);
    await page.keyboard.press("ArrowDown");
    await told(/^CPU 1, /);
  },

  async a_table_is_one_tab_stop_and_arrow_keys_lead_through_it(page) {
    await has(page, 40);
    const stops = page.locator('#event-rows tr[tabindex="0"]');
    await page.locator("#event-scroll").focus();
    await page.keyboard.press("Tab");
    assert.equal(await stops.count(), 1);
    await page.keyboard.press("ArrowDown");
    assert.equal(await stops.count(), 1);
    const second = page.locator("#event-rows tr").nth(1);
    assert.ok(await second.evaluate((row) => row === document.activeElement && row.tabIndex === 0));
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), "event-more");
    assert.equal(await page.locator("#scroll").getAttribute("tabindex"), "-1");
  },

  async a_narrow_page_has_all_its_buttons(page) {
    await page.setViewportSize({ width: 320, height: 800 });
    for (const id of ["whole", "arrows", "theme", "help-open", "tab-notes"]) {
      const { x, width } = await page.locator(`#${id}`).boundingBox();
      assert.ok(x >= 0 && x + width <= 320, `${id} is at ${x}, ${width} wide`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  },

  async statistics_tell_how_long_calls_took_and_what_is_missing(page) {
    await page.locator("#timeline").focus();
    await page.keyboard.press("t");
    const row = page.locator("#statistics-rows tr", { hasText: "io:read" });
    await row.waitFor();
    const [kind, count, , , least, , middle] = await row.locator("td").allTextContents();
    assert.deepEqual([kind, least, middle], ["call", "4 µs", "4 µs"]);
    assert.ok(Number(count) >= 998 && Number(count) <= 1000, count);
    assert.match(await page.locator("#statistics-lost").textContent(), /^42 events or packets/);
    assert.equal(await page.locator("#statistics th", { hasText: "<u>call</u>" }).count(), 1);
    assert.equal(await page.locator("u").count(), 0);
    assert.equal(shown(page).words.get("panel"), "statistics");
  },

  async a_name_of_the_statistics_stands_out_and_leads_to_its_longest(page) {
    const picture = () => page.evaluate(() => document.getElementById("canvas").toDataURL());
    await page.keyboard.press("t");
    const row = page.locator("#statistics-rows tr", { hasText: "job" });
    await row.waitFor();
    const before = await picture();
    await row.focus();
    await page.keyboard.press("Enter");
    await page.locator("#statistics-histogram caption", { hasText: "job" }).waitFor();
    assert.equal(await row.getAttribute("aria-selected"), "true");
    assert.equal(await page.locator("#statistics-histogram meter").count(), 1);
    // It is drawn in the next frame.
    const isOther = (was) => document.getElementById("canvas").toDataURL() !== was;
    await page.waitForFunction(isOther, before);
    await settled(page, () => page.locator("#statistics-histogram button").click());
    assert.ok(width(page) > 9000 && width(page) < 12000, String(width(page)));
    await page.locator("#statistics-about", { hasText: "of server[10]" }).waitFor();
    assert.ok(await page.locator("#statistics").isVisible());
  },

  async statistics_are_of_the_span_and_row_that_are_selected(page) {
    await page.close();
    const again = await open(url, "#from=1000000&until=1100000&panel=statistics");
    const row = again.locator("#statistics-rows tr", { hasText: "job" });
    await row.waitFor();
    assert.equal(await row.locator("td").nth(1).textContent(), "10");
    await again.locator("#timeline").focus();
    for (let i = 0; i < 3; i++) await again.keyboard.press("ArrowDown");
    await again.locator("#statistics-about", { hasText: "of CPU 1" }).waitFor();
    assert.equal(await again.locator("#statistics-rows tr").count(), 0);
    await again.close();
  },

  async a_question_that_is_no_longer_meant_is_given_up(page) {
    let asked = 0;
    let givenUp = 0;
    await page.route("**/v1/statistics?*", async (route) => {
      // The first is never answered.
      if (++asked > 1) await route.continue();
    });
    page.on("requestfailed", (request) => {
      if (request.url().includes("/v1/statistics?")) givenUp++;
    });
    await page.locator("#timeline").focus();
    await page.keyboard.press("t");
    await page.locator("#statistics-about", { hasText: "reading" }).waitFor();
    await page.keyboard.press("w");
    await page.locator("#statistics-rows tr", { hasText: "io:read" }).waitFor();
    assert.deepEqual([asked, givenUp], [2, 1]);
  },

  async flame_graph_has_frames_that_keys_lead_through(page) {
    await page.locator("#timeline").focus();
    await page.keyboard.press("g");
    const frame = (name) =>
      page.locator("#flame-graph button", { hasText: new RegExp(`^${name}$`) });
    await frame("io:read").waitFor();
    assert.match(await page.locator("#flame-about").textContent(), /^Time in calls.* in 9\.999 ms/);
    assert.match(await page.locator("#flame-lost").textContent(), /^42 events or packets/);
    const part = async (name) => (await frame(name).boundingBox()).width;
    const [job, read] = [await part("job"), await part("io:read")];
    // 4 of 9 us, but where events are missing.
    assert.ok(Math.abs(read / job - 4 / 9) < 0.01, `${read} of ${job}`);
    await frame("all").focus();
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowDown");
    assert.match(
      await page.evaluate(() => document.activeElement.getAttribute("aria-label")),
      /^io:read: [\d.]+ ms, 44\.\d %$/,
    );
    await page.keyboard.press("Enter");
    assert.equal(await part("io:read"), await part("all"));
    assert.equal(shown(page).words.get("panel"), "flame");
  },

  async flame_graph_says_what_the_trace_has_not(page) {
    await page.keyboard.press("g");
    await page.locator("#flame-stacks").click();
    await page.locator("#flame-notes", { hasText: "no call stacks" }).waitFor();
    assert.equal(await page.locator("#flame-graph button").count(), 0);
    assert.equal(await page.locator("#flame-stacks").getAttribute("aria-pressed"), "true");
    await page.close();
    // A call of half a microsecond is too narrow to be seen from afar.
    const again = await open(url, "#from=1999000&until=2002000&panel=flame");
    await again.locator("#flame-graph button", { hasText: "<b onclick=x>" }).first().waitFor();
    await again.locator("#flame-graph button", { hasText: "<u>call</u>" }).waitFor();
    assert.equal(await again.locator("b, u").count(), 0);
    await again.close();
  },

  async rows_are_pinned_and_sorted_and_the_address_brings_it_back(page) {
    const first = page.locator("#details h3", { hasText: /^CPU 1$/ });
    await page.locator("#timeline").focus();
    await page.keyboard.press("p");
    await page.locator("#message", { hasText: "select a row first" }).waitFor();
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
    await first.waitFor();
    await settled(page, () => page.keyboard.press("p"));
    await settled(page, () => page.keyboard.press("o"));
    const { words } = shown(page);
    assert.deepEqual([words.get("pins"), words.get("order")], ["c0.1", "name"]);
    const address = page.url().replace(/&track=[^&]*&at=[^&]*/, "");
    await page.close();
    const again = await open(address);
    await again.locator("#timeline").focus();
    await again.keyboard.press("ArrowDown");
    await again.locator("#details h3", { hasText: /^CPU 1$/ }).waitFor();
    // <b onclick=x> comes before CPU 0 by name, and after it by number.
    for (let i = 0; i < 2; i++) await again.keyboard.press("ArrowDown");
    await again.locator("#details h3", { hasText: "<b onclick=x>[20]" }).waitFor();
    await again.close();
  },

  async dark_and_light_are_kept(page) {
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await back();
    await page.locator("#theme").click();
    assert.notEqual(await back(), before);
    const other = await open(url);
    assert.equal(await other.evaluate(() => document.documentElement.dataset.theme), "dark");
    await other.locator("#theme").click();
    await other.close();
  },
};

/** The same page from the disk, without a server. */
const inFile = {
  async a_file_shows_rows_events_and_losses(page) {
    assert.match(await page.title(), /^trace – Lull$/);
    await has(page, 40);
    assert.match(await page.locator("#message").textContent(), /42 events or packets are missing/);
    await page.locator("#timeline").focus();
    await settled(page, () => page.keyboard.press("w"));
    await settled(page, () => page.keyboard.press("d"));
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
    await page.locator("#details h3").waitFor();
  },

  async a_file_filters_by_names_and_says_what_needs_the_trace(page) {
    await page.fill("#filter-e", "io:read_*");
    await settled(page, () => page.locator("#filter button[type=submit]").click());
    assert.deepEqual([...new Set(await names(page))], ["io:read_entry", "io:read_exit"]);
    await page.fill("#filter-e", "io:* if fd > 3");
    await page.locator("#filter button[type=submit]").click();
    await page.locator("#filter-error").waitFor({ state: "visible" });
    assert.match(await page.locator("#filter-error").textContent(), /lull view/);
  },

  async what_a_trace_says_stays_text_in_a_file(page) {
    await page.fill("#filter-e", "<img*");
    await settled(page, () => page.locator("#filter button[type=submit]").click());
    const row = page.locator("#event-rows tr").first();
    const text = await row.textContent();
    assert.ok(text.includes("</script><script>document.title='run'</script><!--"), text);
    assert.ok(text.includes("\\u{2028}\\u{2029}"), text);
    assert.match(text, /big=9223372036854775807/);
    assert.equal(await page.locator("img, b, #events script").count(), 0);
    // Of the page's own there are three: two that run, and its data.
    assert.equal(await page.locator("script").count(), 3);
    assert.match(await page.title(), /Lull$/);
  },

  async a_file_says_that_statistics_need_the_trace(page) {
    await page.keyboard.press("t");
    await page.locator("#statistics-about", { hasText: "lull view" }).waitFor();
  },

  async no_other_script_runs_in_a_file(page) {
    const ran = await page.evaluate(() => {
      const made = document.createElement("script");
      made.textContent = "document.title = 'run'";
      document.body.append(made);
      return document.title;
    });
    assert.match(ran, /Lull$/);
    const isSent = await page.evaluate(() =>
      fetch("http://127.0.0.1:9/").then(
        () => true,
        () => false,
      ),
    );
    assert.equal(isSent, false);
    assert.ok(
      problems.splice(0).every((problem) => /Content Security Policy|violates/.test(problem)),
    );
  },
};

await runAll([
  ...Object.entries(tests).map((test) => [...test, url]),
  ...Object.entries(inFile).map((test) => [...test, file]),
]);
