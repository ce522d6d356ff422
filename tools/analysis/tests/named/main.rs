// SPDX-License-Identifier: MIT
//! The named analyses, on made-up traces: each number is computed by hand from the times there.
//! Every answer's tables and columns are looked up in docs/formats/report.md, too.

mod compared;
mod critical;
mod flame;
mod kernels;
mod latency;
mod machine;
mod regular;
mod told;

use analysis::{ask, named, Answer, Options, Question};
use serde_json::Value;
use testkit::program::Program;
use trace::Trace;

fn opened(program: &Program) -> Trace {
    let (metadata, streams) = program.files();
    Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed")
}

/// What an analysis says of a program.
fn asked(program: &Program, name: &str, question: &Question) -> Answer {
    let named = named(name).expect("there is an analysis of the name");
    let answer = ask(named, question, &[opened(program)], &Options::default(), |_| {});
    let answer = answer.expect("the question has an answer");
    documented(&answer);
    answer
}

/// The cells of some columns of a table, as JSON has them.
fn rows(answer: &Answer, table: &str, keys: &[&str]) -> Value {
    let json = serde_json::to_value(answer).expect("an answer is JSON");
    let rows = json["tables"][table].as_array().expect("there is such a table");
    let cells = |row: &Value| -> Value {
        keys.iter().map(|key| row.get(key).expect("there is such a column").clone()).collect()
    };
    rows.iter().map(cells).collect()
}

/// The line of the format's page for a table has its columns in order, and the page has the facts.
fn documented(answer: &Answer) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/report.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let heading = format!("### {}\n", answer.analysis);
    let begin = page.find(&heading).unwrap_or_else(|| panic!("the page has no {heading}"));
    let section = &page[begin + heading.len()..];
    let section = section.split("\n### ").next().unwrap_or_default();
    for table in &answer.sheet.tables {
        let columns: Vec<String> = table.columns.iter().map(|c| format!("`{}`", c.key)).collect();
        let line = format!("| `{}` | {} |", table.key, columns.join(", "));
        assert!(section.contains(&line), "under {heading} the page lacks:\n{line}");
    }
    for fact in &answer.sheet.facts {
        let line = format!("| `facts.{}` |", fact.key);
        assert!(section.contains(&line), "under {heading} the page lacks:\n{line}");
    }
}
