// SPDX-License-Identifier: MIT
//! `models/results/NOUN.md`: a table of a noun's runs, written and read back, and beside the
//! thesis's tables ours.

use indicatif::HumanCount;

use crate::expect::{Compression, Published, Run};
use crate::outcome::Found;
use crate::results::{Results, Row};

/// The thesis's tables of verification results, by what they verify.
const CAPTIONS: [(&str, &str); 6] = [
    ("7.1", "general-purpose RCU, Alpha"),
    ("7.2", "general-purpose RCU, Intel and PowerPC"),
    ("7.3", "signal-based RCU, Alpha"),
    ("7.4", "signal-based RCU, Intel and PowerPC"),
    ("7.5", "general-purpose RCU, a signal handler that reads, over a reader"),
    ("7.6", "general-purpose RCU, a signal handler that reads, over the updater"),
];
const NOT_YET: &str = "not yet run";
const OUTDATED: &str = ", by an earlier model";
const ALL_RUNS: &str = "## All runs";
const FAIR: &str = "weak fairness";
const BITSTATE: &str = "bitstate";

/// A table of Markdown: all rows have as many cells as the heading.
struct Table {
    text: String,
}

impl Table {
    fn new(headings: &[&str]) -> Table {
        let mut table = Table { text: String::new() };
        table.row(&headings.iter().map(|text| text.to_string()).collect::<Vec<_>>());
        table.text += &format!("|{}\n", "---|".repeat(headings.len()));
        table
    }

    fn row(&mut self, cells: &[String]) {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        self.text += &format!("| {} |\n", cells.join(" | "));
    }
}

/// How the search was done, where it is not SPIN's plain search.
fn settings(run: &Run) -> String {
    let mut words = Vec::new();
    match run.compression {
        Compression::None => {}
        Compression::Collapse => words.push("collapse"),
        Compression::Ma => words.push("minimized automaton"),
    }
    if run.bitstate {
        words.push(BITSTATE);
    }
    if run.fair {
        words.push(FAIR);
    }
    if !run.reduction {
        words.push("no partial-order reduction");
    }
    words.join(", ")
}

fn published(found: &Published) -> String {
    let Published { verdict, memory_gib, time, .. } = found;
    format!("{verdict}, {memory_gib} GiB, {time}")
}

/// A run with its row, and whether the model is another one since.
struct Line<'a> {
    run: &'a Run,
    row: Option<&'a Row>,
    outdated: bool,
}

impl Line<'_> {
    fn found(&self) -> String {
        let Some(row) = self.row else {
            return NOT_YET.to_string();
        };
        let found = row.found.words_of(self.run);
        if self.outdated {
            found + OUTDATED
        } else {
            found
        }
    }

    fn cell(&self, text: impl Fn(&Row) -> String) -> String {
        self.row.map(text).unwrap_or_default()
    }

    fn cells(&self, with_published: bool) -> Vec<String> {
        let run = self.run;
        let mut cells = vec![
            run.title.clone(),
            run.model.clone(),
            run.machine.clone().unwrap_or_default(),
            run.define.join(" "),
            run.mutant.clone().unwrap_or_default(),
            run.claim.clone(),
            self.found(),
            self.cell(|row| HumanCount(row.states).to_string()),
            self.cell(|row| HumanCount(row.depth).to_string()),
            self.cell(|row| format!("{} MiB", row.memory_mib)),
        ];
        if with_published {
            cells.push(run.published.as_ref().map(published).unwrap_or_default());
        }
        cells.push(settings(run));
        cells.push(self.cell(|row| format!("`{}`", row.digest)));
        cells
    }

    /// Our verdict in the thesis's words.
    fn word(&self) -> &'static str {
        let is_altered = self.run.mutant.is_some();
        match self.row.map(|row| &row.found) {
            None => NOT_YET,
            Some(Found::Pass) if is_altered => "FNEG",
            Some(Found::Pass) => "PASS",
            Some(Found::Fail(_)) if is_altered => "INJECT",
            Some(Found::Fail(_)) => "FAIL",
            Some(Found::Unfound) => "UNFOUND",
            Some(Found::Unfinished(_) | Found::Broken(_)) => "UNFINISHED",
        }
    }
}

fn all_runs(lines: &[Line]) -> String {
    let with_published = lines.iter().any(|line| line.run.published.is_some());
    let mut headings = vec![
        "run",
        "model",
        "machine",
        "configuration",
        "mutant",
        "claim",
        "verdict",
        "states",
        "depth",
        "memory",
    ];
    if with_published {
        headings.push("thesis");
    }
    headings.extend(["search", "digest"]);
    let mut table = Table::new(&headings);
    for line in lines {
        table.row(&line.cells(with_published));
    }
    table.text
}

/// One of the thesis's tables: its rows and columns, ours beside theirs.
fn beside_thesis(number: &str, lines: &[Line]) -> String {
    let caption = CAPTIONS.iter().find(|(known, _)| *known == number).map_or("", |(_, text)| text);
    let mut table = Table::new(&[
        "model, regression test",
        "ours",
        "thesis",
        "memory, ours (GiB)",
        "thesis (GiB)",
        "states, ours",
        "time, thesis",
    ]);
    for line in lines {
        let Some(found) = line.run.published.as_ref().filter(|found| found.table == number) else {
            continue;
        };
        table.row(&[
            line.run.title.clone(),
            line.word().to_string(),
            found.verdict.clone(),
            line.cell(|row| format!("{:.2}", row.memory_mib as f64 / 1024.0)),
            found.memory_gib.clone(),
            line.cell(|row| HumanCount(row.states).to_string()),
            found.time.clone(),
        ]);
    }
    format!("## Table {number}: {caption}\n\n{}", table.text)
}

/// Each note once, with the runs it is about.
fn notes(lines: &[Line]) -> String {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for line in lines {
        if let Some(note) = &line.run.note {
            let pair = (line.run.title.as_str(), note.trim());
            if !seen.contains(&pair) {
                seen.push(pair);
            }
        }
    }
    let items: Vec<String> =
        seen.iter().map(|(title, note)| format!("- {title}: {note}\n")).collect();
    items.concat()
}

/// The page of a noun. `digests` are today's, in the order of the runs.
pub fn page(noun: &str, runs: &[&Run], results: &Results, digests: &[String]) -> String {
    let lines: Vec<Line> = runs
        .iter()
        .zip(digests)
        .map(|(run, digest)| {
            let row = results.get(run);
            Line { run, row, outdated: row.is_some_and(|row| row.digest != *digest) }
        })
        .collect();
    let mut numbers: Vec<&str> =
        runs.iter().filter_map(|run| Some(run.published.as_ref()?.table.as_str())).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut parts = vec![format!(
        "<!-- SPDX-License-Identifier: MIT -->\n# Models: {noun}\n\nWritten by `models/run \
         --write` from `models/{noun}`; not to be edited. `models/README.md` says how to read \
         it.\n"
    )];
    parts.extend(numbers.iter().map(|number| beside_thesis(number, &lines)));
    parts.push(format!("{ALL_RUNS}\n\n{}", all_runs(&lines)));
    let notes = notes(&lines);
    if !notes.is_empty() {
        parts.push(format!("## Notes\n\n{notes}"));
    }
    parts.join("\n")
}

/// The cells of a row of Markdown: the inverse of `Table::row`.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    Some(inner.split(" | ").map(|cell| cell.replace("\\|", "|")).collect())
}

/// A row of the table of all runs; nothing where the run was not yet executed.
fn row(noun: &str, headings: &[String], cells: &[String]) -> Option<Option<Row>> {
    let cell = |name: &str| {
        let index = headings.iter().position(|heading| heading == name)?;
        Some(cells.get(index)?.as_str())
    };
    let number = |text: &str| text.replace(',', "").parse::<u64>().ok();
    let verdict = cell("verdict")?;
    if verdict == NOT_YET {
        return Some(None);
    }
    let machine = Some(cell("machine")?).filter(|name| !name.is_empty()).unwrap_or("-");
    let mut run = format!("{noun}/{} {machine} {}", cell("model")?, cell("claim")?);
    let mutant = Some(cell("mutant")?.to_string()).filter(|name| !name.is_empty());
    let defines = cell("configuration")?.split_whitespace().map(|part| format!("-D{part}"));
    let settings: Vec<&str> = cell("search")?.split(", ").collect();
    let fair = settings.contains(&FAIR).then(|| "fair".to_string());
    let bitstate = settings.contains(&BITSTATE).then(|| BITSTATE.to_string());
    for part in mutant.into_iter().chain(defines).chain(fair).chain(bitstate) {
        run += &format!(" {part}");
    }
    Some(Some(Row {
        run,
        found: Found::from_words(verdict.strip_suffix(OUTDATED).unwrap_or(verdict))?,
        states: number(cell("states")?)?,
        depth: number(cell("depth")?)?,
        memory_mib: number(cell("memory")?.strip_suffix(" MiB")?)?,
        digest: cell("digest")?.trim_matches('`').to_string(),
    }))
}

/// The rows of all runs in a page; the number of the first line that is none.
pub fn rows(noun: &str, page: &str) -> std::result::Result<Vec<Row>, usize> {
    let mut lines = page.lines().zip(1usize..).skip_while(|(line, _)| *line != ALL_RUNS);
    let mut table = lines.by_ref().skip(1).skip_while(|(line, _)| line.is_empty());
    let Some((heading, number)) = table.next() else {
        return Ok(Vec::new());
    };
    let headings = cells(heading).ok_or(number)?;
    let mut rows = Vec::new();
    for (line, number) in table.skip(1).take_while(|(line, _)| !line.is_empty()) {
        let found = cells(line).and_then(|cells| row(noun, &headings, &cells));
        rows.extend(found.ok_or(number)?);
    }
    Ok(rows)
}
