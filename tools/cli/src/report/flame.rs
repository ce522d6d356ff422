// SPDX-License-Identifier: MIT
//! The stacks of a flame graph as files: folded text, and an SVG that a browser shows.
//!
//! Place in the flow: after the analysis; the library inferno draws. Only the owner can read the
//! files.

use std::io::Write;
use std::path::Path;

use analysis::{Answer, Cell};
use anyhow::Context;

use crate::export::Output;
use crate::stdout;

use super::question::QuestionArgs;

/// Writes the files that were asked for.
pub(super) fn write(answer: &Answer, args: &QuestionArgs) -> anyhow::Result<()> {
    let lines = lines(answer);
    if let Some(path) = &args.folded {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        write_file(path, text.as_bytes())?;
    }
    if let Some(path) = &args.svg {
        let svg = drawn(answer, &lines).with_context(|| path.display().to_string())?;
        write_file(path, &svg)?;
    }
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut output = Output::new(path, true)?;
    let written = output.write_all(bytes).with_context(|| path.display().to_string());
    match written.and_then(|()| output.keep(path, true)) {
        // A reader of our output that goes away early has what it wanted.
        Err(error) if stdout::is_closed(&error) => Ok(()),
        other => other,
    }
}

/// `outer;inner VALUE`
fn lines(answer: &Answer) -> Vec<String> {
    let rows = answer.sheet.table("stacks").map_or(&[][..], |table| &table.rows);
    let line = |row: &Vec<Cell>| match &row[..] {
        [Cell::Text(stack), Cell::Ns(value) | Cell::Count(value)] => {
            Some(format!("{stack} {value}"))
        }
        _ => None,
    };
    rows.iter().filter_map(line).collect()
}

fn drawn(answer: &Answer, lines: &[String]) -> anyhow::Result<Vec<u8>> {
    let fact = |key: &str| answer.sheet.facts.iter().find(|fact| fact.key == key);
    let (of, total) = (fact("of").map(|fact| &fact.value), fact("total").map(|fact| &fact.value));
    let mut options = inferno::flamegraph::Options::default();
    if let Some(Cell::Text(of)) = of {
        options.title = of.clone();
    }
    options.count_name = match total {
        Some(Cell::Count(_)) => "events".into(),
        _ => "ns".into(),
    };
    options.deterministic = true;
    if lines.is_empty() {
        anyhow::bail!("there are no stacks to draw");
    }
    let mut svg = Vec::new();
    let lines = lines.iter().map(String::as_str);
    inferno::flamegraph::from_lines(&mut options, lines, &mut svg).context("drawing the graph")?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{ask, named, FlameOf, Options, Question};
    use testkit::program::{Number, Program, Who};
    use trace::Trace;

    #[test]
    fn stacks_are_lines_and_a_graph_with_their_names() {
        let mut program = Program::new();
        let who: Who = (10, 10, "a<b>&;c");
        program.event(100, 0, who, "outer_begin", &[]);
        program.event(130, 0, who, "io:read_entry", &[("fd", Number(0))]);
        program.event(150, 0, who, "io:read_exit", &[("result", Number(1))]);
        program.event(200, 0, who, "outer_end", &[]);
        let (metadata, streams) = program.files();
        let trace = Trace::from_bytes(metadata.as_bytes(), streams).expect("it is well formed");
        let question = Question { flame_of: Some(FlameOf::Calls), ..Question::default() };
        let flame = named("flame").expect("there is one");
        let answer = ask(flame, &question, &[trace], &Options::default(), |_| {});
        let answer = answer.expect("it is answered");
        let lines = lines(&answer);
        let root = "a<b>&_c[10];a<b>&_c[10];outer";
        assert_eq!(lines, [format!("{root} 80"), format!("{root};io:read 20")]);
        let svg = String::from_utf8(drawn(&answer, &lines).unwrap()).unwrap();
        assert!(svg.starts_with("<?xml") && svg.contains("io:read (20 ns, 20.00%)"), "{svg}");
        assert!(svg.contains("a&lt;b&gt;&amp;_c[10]"), "{svg}");
    }
}
