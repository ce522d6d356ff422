// SPDX-License-Identifier: MIT
//! What the terminal shows, and what keys do.
//!
//! Place in the flow: `terminal` hands over keys and draws; nothing here waits or asks. A key that
//! is for the session becomes an [`Action`] with a request of the control interface. All text goes
//! through `shown` or `report::table` before it is drawn.

use super::frame::{Condition, Frame};
use super::text;
use super::views::{Row, View, VIEWS};
use crate::report::look::Look;
use crate::shown::shown;
use control::Request;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};
use ratatui::Frame as Canvas;

const COLUMNS_MIN: u16 = 40;
const LINES_MIN: u16 = 10;
/// Lines above the tables that there is always room for, and notes below them at most: `--once`
/// has all.
const HEADER_LINES: usize = 3;
const NOTES_MAX: usize = 3;
/// Lines of the tabs, of four of the table, and at the bottom.
const OTHER_LINES: usize = 6;
/// Characters of a text that is typed in or pasted; what is longer is not taken at all.
const INPUT_MAX: usize = 4096;
/// What glob patterns give a meaning, and what a shell's word would end at.
const NOT_IN_NAMES: [char; 9] = ['*', '?', '[', ']', '{', '}', '!', '@', ' '];
const PAGE: usize = 10;

const HELP: [(&str, &str); 13] = [
    ("Tab, 1 to 6", "the next table, or that of a number"),
    ("s, S", "order rows by the next column, or by the one before"),
    ("/", "show rows that have a text in them; Enter keeps it, Esc leaves it out"),
    ("arrows, j, k", "select a row; PgUp, PgDn, Home and End go further"),
    ("p", "pause the session, or resume it: nobody records meanwhile"),
    ("e", "record more events: those of a pattern, such as mutex:*"),
    ("d", "record the selected event no more, in the table of events"),
    ("c", "count anew: percentiles, longest and totals begin again"),
    ("space", "hold what is shown; the session goes on"),
    ("?", "this help"),
    ("q, Ctrl-C", "quit; the session goes on"),
    ("", "Rates and shares are of the last interval. A call is measured where"),
    ("", "both its entry and its exit are recorded, and nothing is lost between."),
];

/// What a key asks for that is not a matter of what is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    None,
    Quit,
    /// To count anew.
    Clear,
    /// To ask the recorder for something.
    Ask(Request),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Filter,
    Enable,
}

#[derive(Debug)]
pub struct Screen {
    frame: Frame,
    view: usize,
    /// Of each view, the column that its rows are in order of.
    orders: [usize; VIEWS.len()],
    filter: String,
    /// What is typed in, and what for.
    input: Option<Input>,
    /// The pattern of events that is to be enabled.
    pattern: String,
    /// The name of the selected row, which keeps the selection when rows change places.
    selected: Option<String>,
    position: usize,
    /// The first row that is drawn.
    top: usize,
    has_help: bool,
    is_held: bool,
    /// What the recorder said to the last request.
    told: Option<String>,
}

impl Screen {
    pub fn new(filter: &str) -> Self {
        Self {
            frame: Frame::default(),
            view: 0,
            orders: VIEWS.map(View::first_order),
            filter: filter.into(),
            input: None,
            pattern: String::new(),
            selected: None,
            position: 0,
            top: 0,
            has_help: false,
            is_held: false,
            told: None,
        }
    }

    pub fn is_held(&self) -> bool {
        self.is_held
    }

    pub fn filter(&self) -> &str {
        &self.filter
    }

    pub fn show(&mut self, frame: Frame) {
        self.frame = frame;
        self.follow_selected();
    }

    /// A sentence about the last request.
    pub fn tell(&mut self, told: Option<String>) {
        self.told = told;
    }

    fn view(&self) -> View {
        VIEWS.get(self.view).copied().unwrap_or(View::Processes)
    }

    fn order(&self) -> usize {
        self.orders.get(self.view).copied().unwrap_or(0)
    }

    fn rows(&self) -> Vec<Row> {
        self.view().rows(&self.frame, self.order(), &self.filter)
    }

    /// The selection stays with its row, if that is still there.
    fn follow_selected(&mut self) {
        let rows = self.rows();
        let found =
            self.selected.as_ref().and_then(|name| rows.iter().position(|row| row.name() == name));
        self.position = found.unwrap_or(self.position).min(rows.len().saturating_sub(1));
        if found.is_none() && self.selected.is_some() {
            self.selected = rows.get(self.position).map(|row| row.name().to_string());
        }
    }

    fn select(&mut self, position: usize) {
        let rows = self.rows();
        self.position = position.min(rows.len().saturating_sub(1));
        self.selected = rows.get(self.position).map(|row| row.name().to_string());
    }

    fn go_to(&mut self, view: usize) {
        (self.view, self.position, self.top, self.selected) = (view % VIEWS.len(), 0, 0, None);
    }

    fn order_by(&mut self, column: usize) {
        if let Some(order) = self.orders.get_mut(self.view) {
            *order = column;
        }
        self.follow_selected();
    }

    /// Does what a key says.
    pub fn press(&mut self, key: KeyEvent) -> Action {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Action::Quit;
        }
        if let Some(input) = self.input {
            return self.type_in(input, key.code);
        }
        if std::mem::take(&mut self.has_help) && key.code != KeyCode::Char('q') {
            return Action::None;
        }
        self.told = None;
        match key.code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('?' | 'h') => self.has_help = true,
            KeyCode::Char('p') => return self.pause_or_resume(),
            KeyCode::Char('c') => return Action::Clear,
            KeyCode::Char(' ') => self.is_held = !self.is_held,
            KeyCode::Char('/') => self.input = Some(Input::Filter),
            KeyCode::Char('e') => self.input = Some(Input::Enable),
            KeyCode::Char('d') => return self.disable_selected(),
            KeyCode::Esc => {
                self.filter.clear();
                self.follow_selected();
            }
            _ => self.move_by(key.code),
        }
        Action::None
    }

    /// Keys that choose what of the frame is shown.
    fn move_by(&mut self, code: KeyCode) {
        let columns = self.view().columns().len();
        let order = self.order();
        match code {
            KeyCode::Tab | KeyCode::Right => self.go_to(self.view + 1),
            KeyCode::BackTab | KeyCode::Left => self.go_to(self.view + VIEWS.len() - 1),
            KeyCode::Char(digit @ '1'..='6') => self.go_to(digit as usize - '1' as usize),
            KeyCode::Char('s') => self.order_by((order + 1) % columns),
            KeyCode::Char('S') => self.order_by((order + columns - 1) % columns),
            KeyCode::Down | KeyCode::Char('j') => self.select(self.position + 1),
            KeyCode::Up | KeyCode::Char('k') => self.select(self.position.saturating_sub(1)),
            KeyCode::PageDown => self.select(self.position + PAGE),
            KeyCode::PageUp => self.select(self.position.saturating_sub(PAGE)),
            KeyCode::Home => self.select(0),
            KeyCode::End => self.select(usize::MAX),
            _ => {}
        }
    }

    fn pause_or_resume(&self) -> Action {
        match self.frame.state {
            Condition::Recording => Action::Ask(Request::Pause),
            Condition::Paused => Action::Ask(Request::Resume),
            _ => Action::None,
        }
    }

    fn disable_selected(&mut self) -> Action {
        let row = self.selected.clone().filter(|_| self.view() == View::Events);
        let Some(name) = row else {
            self.told = Some("select an event in the table of events (3)".into());
            return Action::None;
        };
        // Events are named by the programs, and another name may be meant as a pattern.
        if name.is_empty() || name.contains(NOT_IN_NAMES) {
            self.told = Some(format!("{name} is no name that a pattern can have"));
            return Action::None;
        }
        Action::Ask(Request::Change { is_enable: false, patterns: vec![name] })
    }

    fn type_in(&mut self, input: Input, code: KeyCode) -> Action {
        let text = match input {
            Input::Filter => &mut self.filter,
            Input::Enable => &mut self.pattern,
        };
        // One more stands for all that follow.
        let is_beyond = text.chars().count() > INPUT_MAX;
        match code {
            KeyCode::Enter => {
                self.input = None;
                if is_beyond {
                    text.clear();
                    self.told = Some(format!("more than {INPUT_MAX} characters: none is taken"));
                }
            }
            KeyCode::Esc => {
                self.input = None;
                text.clear();
            }
            KeyCode::Backspace if is_beyond => text.clear(),
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Char(character) if !is_beyond => text.push(character),
            _ => {}
        }
        self.follow_selected();
        if input == Input::Enable && self.input.is_none() && !self.pattern.is_empty() {
            let patterns = vec![std::mem::take(&mut self.pattern)];
            return Action::Ask(Request::Change { is_enable: true, patterns });
        }
        Action::None
    }

    pub fn draw(&mut self, canvas: &mut Canvas<'_>) {
        let area = canvas.area();
        if area.width < COLUMNS_MIN || area.height < LINES_MIN {
            let text = format!(
                "The terminal is too small: {COLUMNS_MIN} columns and {LINES_MIN} lines at least."
            );
            canvas.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
            return;
        }
        let mut header = self.header();
        header.truncate(usize::from(area.height).saturating_sub(OTHER_LINES).max(HEADER_LINES));
        let parts = Layout::vertical([
            Constraint::Length(header.len() as u16),
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(1),
        ]);
        let [above, tabs, table, below] = parts.areas(area);
        let columns = usize::from(area.width);
        canvas.render_widget(Paragraph::new(header), above);
        canvas.render_widget(Paragraph::new(self.tabs()), tabs);
        self.draw_table(canvas, table);
        canvas.render_widget(Paragraph::new(self.footer(columns)), below);
        if self.has_help {
            draw_help(canvas, area);
        }
    }

    fn header(&self) -> Vec<Line<'static>> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let lines = text::header(&self.frame).into_iter().enumerate();
        let shown = lines.take(HEADER_LINES + NOTES_MAX);
        shown
            .map(|(n, line)| Line::styled(line, if n == 0 { bold } else { Style::new() }))
            .collect()
    }

    fn tabs(&self) -> Line<'static> {
        let tab = |(number, view): (usize, &View)| {
            let style = match number == self.view {
                true => Style::new().add_modifier(Modifier::REVERSED),
                false => Style::new(),
            };
            [Span::styled(format!("{} {}", number + 1, view.title()), style), Span::raw("  ")]
        };
        Line::from_iter(VIEWS.iter().enumerate().flat_map(tab))
    }

    fn draw_table(&mut self, canvas: &mut Canvas<'_>, area: Rect) {
        let rows = self.rows();
        if rows.is_empty() {
            let text = match (self.frame.is_followed, self.filter.is_empty()) {
                (false, _) => "There are no tables; see the notes above.".to_string(),
                (true, true) => self.view().when_empty().to_string(),
                (true, false) => "No row has the text that is looked for; Esc shows all.".into(),
            };
            canvas.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
            return;
        }
        let height = usize::from(area.height).saturating_sub(1).max(1);
        self.position = self.position.min(rows.len() - 1);
        let first_min = (self.position + 1).saturating_sub(height);
        let first_max = self.position.min(rows.len().saturating_sub(height));
        self.top = self.top.clamp(first_min.min(first_max), first_max);
        let drawn = rows.get(self.top..(self.top + height).min(rows.len())).unwrap_or(&[]);
        let columns = usize::from(area.width);
        let look = Look { columns, is_utf8: true, has_color: false, top: usize::MAX };
        let mut text = String::new();
        self.view().table(drawn).render(&look, &mut text);
        let selected = self.selected.as_ref().map(|_| self.position - self.top + 1);
        let style = |number: usize| match (number, Some(number) == selected) {
            (0, _) => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            (_, true) => Style::new().add_modifier(Modifier::REVERSED),
            _ => Style::new(),
        };
        let lines = text.lines().enumerate();
        let lines =
            lines.map(|(number, line)| Line::styled(format!("{line:<columns$}"), style(number)));
        canvas.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
    }

    fn footer(&self, columns: usize) -> Line<'static> {
        match self.input {
            Some(Input::Filter) => return typed("/", &self.filter, columns),
            Some(Input::Enable) => return typed("record also: ", &self.pattern, columns),
            None => {}
        }
        if let Some(told) = &self.told {
            return Line::from(format!("! {}", shown(told)));
        }
        let column = self.view().columns().get(self.order()).map_or("", |column| column.title);
        let mut text = format!("by {column}  ");
        if !self.filter.is_empty() {
            text.push_str(&format!("with {}  ", shown(&self.filter)));
        }
        if self.is_held {
            text.push_str("HELD (space goes on)  ");
        }
        let pause = if self.frame.state == Condition::Paused { "resume" } else { "pause" };
        text.push_str(&format!(
            "s order  / filter  Tab table  p {pause}  e more  d less  ? help  q quit"
        ));
        Line::from(text)
    }
}

/// What was typed in so far: of what is longer than the line, the end.
fn typed(what: &str, text: &str, columns: usize) -> Line<'static> {
    let text = format!("{}_", shown(text));
    let width = |text: &str| Line::from(text.to_string()).width();
    let (room, mut left) = (columns.saturating_sub(what.len()), width(&text));
    let is_beyond = |character: &char| {
        let is_beyond = left > room;
        left = left.saturating_sub(width(&character.to_string()));
        is_beyond
    };
    let end: String = text.chars().skip_while(is_beyond).collect();
    Line::from(format!("{what}{end}"))
}

fn draw_help(canvas: &mut Canvas<'_>, area: Rect) {
    let lines: Vec<Line<'_>> = HELP
        .iter()
        .map(|(key, what)| match key.is_empty() {
            true => Line::from(*what),
            false => Line::from(format!("{key:<13} {what}")),
        })
        .collect();
    canvas.render_widget(Clear, area);
    canvas.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
}
