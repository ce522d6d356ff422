// SPDX-License-Identifier: MIT
//! Aligned columns that fit the width there is.
//!
//! Place in the flow: `text` fills tables row by row. When a table is too wide, its less important
//! columns go first, then its texts are cut. What names in a trace may hold and a terminal would
//! obey is escaped.

use super::look::Look;
use crate::shown::shown;

const GAP: usize = 2;
/// Texts are not cut to less.
const LEAST_TEXT: usize = 12;
/// Texts are cut to this before any column is left out.
const ENOUGH_TEXT: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    /// Text of which the beginning matters most.
    Text,
    /// Text of which the end matters most, such as a path.
    Path,
}

#[derive(Debug, Clone)]
struct Column {
    title: String,
    kind: Kind,
    /// Columns of higher ranks are left out first; those of rank 0 never.
    rank: u8,
}

#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new() -> Self {
        Self { columns: Vec::new(), rows: Vec::new() }
    }

    pub fn column(mut self, title: impl Into<String>, kind: Kind, rank: u8) -> Self {
        self.columns.push(Column { title: title.into(), kind, rank });
        self
    }

    /// A row has a cell for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(|cell| shown(&cell).into_owned()).collect());
    }

    pub fn render(&self, look: &Look, out: &mut String) {
        let (shown, widths) = self.fit(look);
        let titles: Vec<String> = self.columns.iter().map(|c| c.title.clone()).collect();
        let line = self.line(&titles, &shown, &widths, look);
        out.push_str(&look.bold(&line));
        out.push('\n');
        for row in &self.rows {
            out.push_str(&self.line(row, &shown, &widths, look));
            out.push('\n');
        }
    }

    /// The columns to show, and how wide each is.
    fn fit(&self, look: &Look) -> (Vec<usize>, Vec<usize>) {
        let mut shown: Vec<usize> =
            (0..self.columns.len()).filter(|index| !self.is_empty(*index)).collect();
        let mut widths: Vec<usize> = shown.iter().map(|index| self.width(*index)).collect();
        let total_with = |most_text: usize, shown: &[usize], widths: &[usize]| {
            let cut = |(index, width): (&usize, &usize)| match self.columns[*index].kind {
                Kind::Number => *width,
                _ => (*width).min(most_text),
            };
            shown.iter().zip(widths).map(cut).map(|w| w + GAP).sum::<usize>()
        };
        // What is only nice to know goes before texts are cut short, the rest before they are cut
        // to nothing.
        loop {
            let rank = |at: &usize| self.columns[shown[*at]].rank;
            let Some(last) = (0..shown.len()).max_by_key(rank) else { break };
            let needed = match rank(&last) {
                0 => break,
                1 => total_with(LEAST_TEXT, &shown, &widths),
                _ => total_with(ENOUGH_TEXT, &shown, &widths),
            };
            if needed <= look.columns + GAP {
                break;
            }
            shown.remove(last);
            widths.remove(last);
        }
        // Bound: each round takes a column off the widest text, which has more than the least.
        while widths.iter().map(|w| w + GAP).sum::<usize>() > look.columns + GAP {
            let is_text = |at: &usize| self.columns[shown[*at]].kind != Kind::Number;
            let widest = (0..shown.len()).filter(is_text).max_by_key(|at| widths[*at]);
            match widest {
                Some(at) if widths[at] > LEAST_TEXT => widths[at] -= 1,
                _ => break,
            }
        }
        (shown, widths)
    }

    /// A column in which no row has anything to say.
    fn is_empty(&self, index: usize) -> bool {
        self.rows.iter().all(|row| row.get(index).is_none_or(|cell| cell.is_empty()))
    }

    fn width(&self, index: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(index));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(self.columns[index].title.chars().count())
    }

    fn line(&self, cells: &[String], shown: &[usize], widths: &[usize], look: &Look) -> String {
        let mut line = String::new();
        for (index, width) in shown.iter().zip(widths) {
            let cell = cells.get(*index).map_or("", String::as_str);
            let kind = self.columns[*index].kind;
            let cell = cut(cell, *width, kind, look);
            let padding = " ".repeat(width - cell.chars().count());
            match kind {
                Kind::Number => line.extend([padding.as_str(), &cell]),
                _ => line.extend([cell.as_str(), &padding]),
            }
            line.push_str(&" ".repeat(GAP));
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// The text within `width` characters.
fn cut(text: &str, width: usize, kind: Kind, look: &Look) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.into();
    }
    let mark = if look.is_utf8 { "…" } else { "..." };
    let keep = width.saturating_sub(mark.chars().count());
    match kind {
        Kind::Path => mark.to_string() + &text.chars().skip(count - keep).collect::<String>(),
        _ => text.chars().take(keep).collect::<String>() + mark,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(columns: usize) -> Look {
        Look { columns, is_utf8: true, has_color: false, top: 10 }
    }

    fn table() -> Table {
        let mut table = Table::new()
            .column("file", Kind::Path, 0)
            .column("count", Kind::Number, 0)
            .column("rate", Kind::Number, 1)
            .column("none", Kind::Text, 0);
        table.row(vec!["/usr/share/a/long/path".into(), "1".into(), "1.00 k".into(), "".into()]);
        table.row(vec!["x\x1b[2J\n".into(), "1,000".into(), "7".into(), "".into()]);
        table
    }

    fn rendered(columns: usize) -> Vec<String> {
        let mut out = String::new();
        table().render(&look(columns), &mut out);
        out.lines().map(str::to_string).collect()
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let lines = rendered(80);
        assert_eq!(lines[0], "file                    count    rate");
        assert_eq!(lines[1], "/usr/share/a/long/path      1  1.00 k");
        assert_eq!(lines[2], "x\\u{1b}[2J\\n            1,000       7");
    }

    #[test]
    fn narrow_tables_cut_texts_and_then_leave_out_columns() {
        assert_eq!(rendered(30)[1], "…re/a/long/path      1  1.00 k");
        assert_eq!(rendered(26)[1], "…/share/a/long/path      1");
        assert!(rendered(5)[1].starts_with("…a/long/path"), "texts keep the least they need");
    }
}
