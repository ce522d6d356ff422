// SPDX-License-Identifier: MIT
//! A counter-example as a person reads it: one column a process, one row a step, with the
//! source, the label of the access in C, and what changed.

use crate::effects::Effects;
use crate::replay::{Replay, Step, MACHINE_FOLDER};
use crate::source::Sources;
use crate::words::Words;

/// Narrower columns are not readable; then the rows become longer than the terminal.
const COLUMN_WIDTH_MIN: usize = 20;
const COLUMN_WIDTH_MAX: usize = 60;
const INDENT: &str = "  ";
/// Of a statement that is longer than its column.
const LINES_MAX: usize = 3;
const NUMBER_WIDTH: usize = 4;
/// The column of what the machine does between instructions.
const MEMORY: &str = "memory";

/// What one step shows: what was done, what came of it.
struct Row {
    column: usize,
    text: String,
    effects: Vec<String>,
}

pub struct Sheet<'a> {
    pub replay: &'a Replay,
    pub words: &'a Words,
    pub machine: Option<&'a str>,
    pub width: usize,
}

/// Breaks a text at spaces, hard where there are none.
fn wrapped(text: &str, width: usize, lines_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        if !line.is_empty() && line.chars().count() + 1 + rest.len() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        while rest.len() > width {
            let (head, tail) = rest.split_at(width);
            lines.push(head.iter().collect());
            rest = tail.to_vec();
        }
        line.extend(rest);
    }
    lines.push(line);
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        if let Some(last) = lines.last_mut() {
            *last = last.chars().take(width.saturating_sub(3)).collect::<String>() + "...";
        }
    }
    lines
}

/// One line of the sheet, with what each column says.
fn line<'a>(number: &str, widths: &[usize], cell: impl Fn(usize) -> Option<&'a str>) -> String {
    let mut text = format!("{number:>NUMBER_WIDTH$} ");
    for (column, width) in widths.iter().enumerate() {
        text += &format!("|{:<width$} ", cell(column).unwrap_or_default());
    }
    format!("{}\n", text.trim_end())
}

impl Row {
    fn print(&self, number: usize, widths: &[usize]) -> String {
        let width = widths.get(self.column).copied().unwrap_or(COLUMN_WIDTH_MIN);
        let mut lines = wrapped(&self.text, width, LINES_MAX);
        for effect in &self.effects {
            let parts = wrapped(effect, width.saturating_sub(INDENT.len()), LINES_MAX);
            lines.extend(parts.iter().map(|part| format!("{INDENT}{part}")));
        }
        let mut text = String::new();
        for (index, part) in lines.iter().enumerate() {
            let number = if index == 0 { number.to_string() } else { String::new() };
            text += &line(&number, widths, |column| (column == self.column).then_some(part));
        }
        text
    }
}

/// What ooisched.pml does to run instructions out of order.
const SCHEDULING: [&str; 4] =
    ["INSTRUCTION(", "PRODUCE_TOKENS(", "CLEAR_TOKENS(", "CONSUME_TOKENS("];

/// Steps that only lead from one statement to the next.
fn is_idle(step: &Step) -> bool {
    step.statements.iter().all(|text| {
        matches!(text.as_str(), "else" | "(1)" | ".(goto)" | "break") || text.starts_with("goto ")
    })
}

/// Whose column a step stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    Machine,
    Process(usize),
}

impl Sheet<'_> {
    /// A process of the machine never does a step that stands in the model itself.
    fn actor(&self, process: usize) -> Actor {
        let mut own = self.replay.steps.iter().filter(|step| step.process == process);
        let is_machine = own.all(|step| step.path.contains(MACHINE_FOLDER));
        if is_machine {
            Actor::Machine
        } else {
            Actor::Process(process)
        }
    }

    /// Those that act: the machine first, processes in the order of their numbers.
    fn acting(&self) -> Vec<Actor> {
        let steps = self.replay.steps.iter();
        let mut acting: Vec<Actor> = steps.map(|step| self.actor(step.process)).collect();
        acting.sort_unstable();
        acting.dedup();
        acting
    }

    fn name(&self, process: usize) -> String {
        let names = &self.replay.processes;
        let name = names.get(process).map_or("?", String::as_str);
        let same = names.iter().filter(|other| *other == name).count();
        if same > 1 {
            format!("{name} {process}")
        } else {
            name.to_string()
        }
    }

    fn heading(&self, actor: Actor) -> String {
        match actor {
            Actor::Machine => MEMORY.to_string(),
            Actor::Process(process) => self.name(process),
        }
    }

    /// Nothing for a step that is not worth a row.
    fn row(
        &self,
        step: &Step,
        actor: Actor,
        effects: &mut Effects,
        sources: &mut Sources,
    ) -> Option<(String, Vec<String>)> {
        let said = effects.take(step, actor == Actor::Machine);
        if actor == Actor::Machine {
            return said.by_itself.map(|text| (text, said.changes));
        }
        let label = sources.label(step);
        let text = sources.text(step);
        let scheduling = SCHEDULING.iter().any(|start| text.starts_with(start));
        if label.is_none() && (scheduling || (is_idle(step) && said.changes.is_empty())) {
            return None;
        }
        let text = label.map_or(text.clone(), |label| format!("{text} [{label}]"));
        Some((text, said.changes))
    }

    /// All rows, and the index of the row that begins the cycle.
    fn rows(&self, acting: &[Actor]) -> (Vec<Row>, Option<usize>) {
        let mut effects = Effects::new(self.words, self.machine).with_last(&self.replay.last);
        let mut sources = Sources::default();
        let mut rows = Vec::new();
        let mut cycle_at = None;
        for (index, step) in self.replay.steps.iter().enumerate() {
            if self.replay.cycle_at == Some(index) {
                cycle_at = Some(rows.len());
            }
            let actor = self.actor(step.process);
            let column = acting.iter().position(|each| *each == actor).unwrap_or(0);
            if let Some((text, effects)) = self.row(step, actor, &mut effects, &mut sources) {
                rows.push(Row { column, text, effects });
            }
        }
        (rows, cycle_at)
    }

    /// As wide as what stands in it; the widest give way until the terminal holds all.
    fn widths(&self, acting: &[Actor], rows: &[Row]) -> Vec<usize> {
        let length = |text: &str| text.chars().count();
        let mut widths: Vec<usize> =
            acting.iter().map(|actor| length(&self.heading(*actor))).collect();
        for row in rows {
            let effects = row.effects.iter().map(|text| length(text) + INDENT.len());
            let longest = effects.chain([length(&row.text)]).max().unwrap_or(0);
            if let Some(width) = widths.get_mut(row.column) {
                *width = (*width).max(longest.min(COLUMN_WIDTH_MAX));
            }
        }
        let free = self.width.saturating_sub(NUMBER_WIDTH + 1 + 2 * widths.len());
        while widths.iter().sum::<usize>() > free {
            match widths.iter_mut().max() {
                Some(widest) if *widest > COLUMN_WIDTH_MIN => *widest -= 1,
                _ => break,
            }
        }
        widths
    }

    pub fn print(&self) -> String {
        let acting = self.acting();
        let (rows, cycle_at) = self.rows(&acting);
        let widths = self.widths(&acting, &rows);
        let rule = "-".repeat(NUMBER_WIDTH + 1 + widths.iter().sum::<usize>() + 2 * widths.len());
        let headings: Vec<String> = acting.iter().map(|actor| self.heading(*actor)).collect();
        let mut sheet = line("step", &widths, |column| headings.get(column).map(String::as_str));
        sheet += &format!("{rule}\n");
        for (index, row) in rows.iter().enumerate() {
            if cycle_at == Some(index) {
                sheet += "----- from here it repeats for ever -----\n";
            }
            sheet += &row.print(index + 1, &widths);
        }
        if cycle_at.is_some() {
            sheet += "----- and so on -----\n";
        }
        format!("{sheet}{rule}\n")
    }

    /// What the processes that have not ended wait for.
    pub fn waiting(&self) -> String {
        let mut sources = Sources::default();
        let mut text = String::new();
        for standing in self.replay.standing.iter().rev().filter(|standing| !standing.may_end) {
            let line = sources.line(&standing.path, standing.line);
            let file = standing.path.rsplit('/').next().unwrap_or_default();
            let name = self.name(standing.process);
            text += &format!("{name} is at {file}:{}: {}\n", standing.line, line.trim());
        }
        text
    }
}
