// SPDX-License-Identifier: MIT
//! From the fields of an event to the cells of their columns.
//!
//! Place in the flow: `events` makes a [`FieldWriter`] for each event whose fields are wanted.
//! Fields come in the order in which they lie in the packet; groups nest, and each open group
//! remembers the way from its parent's cells to its own.

use trace::{Enumeration, Float, Group, Integer, Meaning, Name, Visitor};

use crate::cells::Cells;
use crate::json::Json;

/// Elements of all lists of one event; a list beyond is no value, and that is counted.
const MOST_ELEMENTS: u64 = 1 << 20;

/// From the cells of a group to those of a part of it.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Same,
    Element,
    Part(usize),
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    List,
    Struct,
    Choice(usize),
    /// One value, or none, in the cells of the group itself.
    Optional,
}

struct Frame {
    from_parent: Way,
    kind: Kind,
}

/// Writes one scope of an event. Each of its fields goes to a column, or nowhere.
pub struct FieldWriter<'a> {
    cells: &'a mut [Cells],
    columns: &'a [Option<usize>],
    /// Fields met so far.
    met: usize,
    /// The column of the open groups.
    column: usize,
    frames: Vec<Frame>,
    /// Groups open of which nothing is wanted.
    skipped: u32,
    json: Option<(Json, u32)>,
    elements: u64,
    /// Lists that were too long.
    pub cut: u64,
}

impl<'a> FieldWriter<'a> {
    pub fn new(cells: &'a mut [Cells], columns: &'a [Option<usize>]) -> Self {
        Self {
            cells,
            columns,
            met: 0,
            column: 0,
            frames: Vec::new(),
            skipped: 0,
            json: None,
            elements: 0,
            cut: 0,
        }
    }

    /// Ends what a fault left open.
    pub fn abandon(&mut self) {
        self.json = None;
        while let Some(frame) = self.frames.last() {
            let kind = frame.kind;
            self.close(kind);
        }
    }

    /// Whether the next value is passed over, or goes on in a JSON text.
    #[inline]
    fn is_elsewhere(&self) -> bool {
        self.skipped > 0 || self.json.is_some()
    }

    /// The way to the part of the innermost group that has a name.
    fn way(&mut self, name: Name<'_>) -> Option<Way> {
        Some(match self.frames.last().map(|frame| frame.kind) {
            None => {
                let column = self.columns.get(self.met).copied().flatten();
                self.met += 1;
                self.column = column?;
                Way::Same
            }
            Some(Kind::List) => Way::Element,
            Some(Kind::Optional) => Way::Same,
            Some(Kind::Choice(option)) => Way::Part(option),
            Some(Kind::Struct) => {
                let Name::Field(name) = name else { return None };
                Way::Part(self.part(name)?)
            }
        })
    }

    /// The position of a part of the innermost group.
    fn part(&mut self, name: &str) -> Option<usize> {
        match self.group()? {
            Cells::Struct { fields, .. } => fields.iter().position(|(known, _)| known == name),
            _ => None,
        }
    }

    /// The cells of the innermost group.
    fn group(&mut self) -> Option<&mut Cells> {
        let mut cells = self.cells.get_mut(self.column)?;
        for frame in &self.frames {
            cells = step(cells, frame.from_parent)?;
        }
        Some(cells)
    }

    #[inline]
    fn target(&mut self, name: Name<'_>) -> Option<&mut Cells> {
        let way = self.way(name)?;
        step(self.group()?, way)
    }

    /// Leaves the innermost group.
    fn close(&mut self, kind: Kind) {
        if let Some(cells) = self.group() {
            match kind {
                Kind::List => cells.end_list(),
                Kind::Struct | Kind::Choice(_) => cells.end_struct(),
                Kind::Optional => {}
            }
        }
        self.frames.pop();
    }

    fn in_json(&mut self, visit: impl FnOnce(&mut Json)) {
        if let (Some((json, _)), 0) = (&mut self.json, self.skipped) {
            visit(json);
        }
    }
}

fn step(cells: &mut Cells, way: Way) -> Option<&mut Cells> {
    match (cells, way) {
        (cells, Way::Same) => Some(cells),
        (Cells::List { element, .. }, Way::Element) => Some(element),
        (Cells::Struct { fields, .. }, Way::Part(part)) => {
            fields.get_mut(part).map(|(_, cells)| cells)
        }
        _ => None,
    }
}

/// What to do with the values in a group.
enum Opening {
    In(Kind),
    Absent,
    AsText,
    Nowhere,
}

fn opening(cells: &Cells, group: Group<'_>) -> Opening {
    match (cells, group) {
        (_, Group::Optional { is_present: true }) => Opening::In(Kind::Optional),
        (_, Group::Optional { is_present: false }) => Opening::Absent,
        (Cells::List { .. }, Group::Array { .. } | Group::Sequence { .. }) => {
            Opening::In(Kind::List)
        }
        (Cells::Struct { .. }, Group::Struct) => Opening::In(Kind::Struct),
        (Cells::Struct { fields, .. }, Group::Variant { option }) => {
            match fields.iter().position(|(known, _)| known == option) {
                Some(position) => Opening::In(Kind::Choice(position)),
                None => Opening::Nowhere,
            }
        }
        (Cells::Text(_), _) => Opening::AsText,
        _ => Opening::Nowhere,
    }
}

impl Visitor for FieldWriter<'_> {
    #[inline]
    fn unsigned(&mut self, name: Name<'_>, value: u64, ty: &Integer) {
        if self.is_elsewhere() {
            self.in_json(|json| json.unsigned(name, value, ty));
        } else if let Some(cells) = self.target(name) {
            match (ty.meaning, &mut *cells) {
                (Meaning::Boolean, Cells::Text(_)) => {
                    cells.text(if value == 0 { b"false" } else { b"true" });
                }
                _ => cells.number(value, false),
            }
        }
    }

    #[inline]
    fn signed(&mut self, name: Name<'_>, value: i64, ty: &Integer) {
        if self.is_elsewhere() {
            self.in_json(|json| json.signed(name, value, ty));
        } else if let Some(cells) = self.target(name) {
            cells.number(value as u64, true);
        }
    }

    fn float(&mut self, name: Name<'_>, value: f64, ty: &Float) {
        if self.is_elsewhere() {
            self.in_json(|json| json.float(name, value, ty));
        } else if let Some(cells) = self.target(name) {
            cells.float(value);
        }
    }

    fn enumeration(&mut self, name: Name<'_>, value: u64, ty: &Enumeration) {
        if self.is_elsewhere() {
            self.in_json(|json| json.enumeration(name, value, ty));
        } else if let Some(cells) = self.target(name) {
            cells.label(ty.text(value).as_deref(), value, ty.container.signed);
        }
    }

    fn text(&mut self, name: Name<'_>, bytes: &[u8]) {
        if self.is_elsewhere() {
            self.in_json(|json| json.text(name, bytes));
        } else if let Some(cells) = self.target(name) {
            cells.text(bytes);
        }
    }

    fn begin(&mut self, name: Name<'_>, group: Group<'_>) {
        if self.skipped > 0 {
            self.skipped += 1;
            return;
        }
        if let Some((json, depth)) = &mut self.json {
            *depth += 1;
            json.begin(name, group);
            return;
        }
        let Some(way) = self.way(name) else {
            self.skipped = 1;
            return;
        };
        let count = match group {
            Group::Array { count } | Group::Sequence { count } => count,
            _ => 0,
        };
        self.elements = self.elements.saturating_add(count);
        let is_too_long = self.elements > MOST_ELEMENTS;
        let Some(cells) = self.group().and_then(|cells| step(cells, way)) else {
            self.skipped = 1;
            return;
        };
        let kind = match opening(cells, group) {
            Opening::In(kind) if !is_too_long => kind,
            Opening::AsText if !is_too_long => {
                let mut json = Json::default();
                json.begin(Name::None, group);
                self.json = Some((json, 1));
                self.frames.push(Frame { from_parent: way, kind: Kind::Optional });
                return;
            }
            Opening::Absent => {
                cells.none();
                // Its end comes without a value between.
                self.skipped = 1;
                return;
            }
            _ => {
                cells.none();
                self.skipped = 1;
                self.cut += u64::from(is_too_long);
                return;
            }
        };
        self.frames.push(Frame { from_parent: way, kind });
    }

    fn end(&mut self, group: Group<'_>) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        if let Some((json, depth)) = &mut self.json {
            json.end(group);
            *depth -= 1;
            if *depth == 0 {
                let text = self.json.take().map(|(json, _)| json.into_text()).unwrap_or_default();
                if let Some(cells) = self.group() {
                    cells.text(&text);
                }
                self.frames.pop();
            }
            return;
        }
        if let Some(kind) = self.frames.last().map(|frame| frame.kind) {
            self.close(kind);
        }
    }
}
