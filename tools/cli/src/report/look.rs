// SPDX-License-Identifier: MIT
//! How output may look where it goes: width, characters, colour.
//!
//! Place in the flow: decided once; tables and text ask it. A pipe gets no colour and a fixed
//! width.

use std::io::IsTerminal;

const PIPE_COLUMNS: usize = 132;
const LEAST_COLUMNS: usize = 40;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub columns: usize,
    pub is_utf8: bool,
    pub has_color: bool,
    /// Rows in each table.
    pub top: usize,
}

impl Look {
    pub fn of_stdout(top: usize) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let wanted = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let columns = terminal_columns().or(wanted).unwrap_or(PIPE_COLUMNS);
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        Self {
            columns: columns.max(LEAST_COLUMNS),
            is_utf8: is_utf8(|name| std::env::var(name).ok()),
            has_color: is_terminal && !is_set("NO_COLOR") && !is_dumb,
            top,
        }
    }

    pub fn bold(&self, text: &str) -> String {
        self.styled("1", text)
    }

    pub fn good(&self, text: &str) -> String {
        self.styled("32", text)
    }

    pub fn bad(&self, text: &str) -> String {
        self.styled("1;31", text)
    }

    fn styled(&self, style: &str, text: &str) -> String {
        match self.has_color {
            true => format!("\x1b[{style}m{text}\x1b[0m"),
            false => text.into(),
        }
    }
}

/// The width of the terminal that standard output is, if it is one.
fn terminal_columns() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel writes one winsize, which lives longer than the call.
    let rc = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) };
    (rc == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether the locale's characters are UTF-8: the first variable that is set decides.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let values = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
    let locale = values.into_iter().find(|value| !value.is_empty());
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::is_utf8;

    #[test]
    fn first_locale_variable_that_is_set_decides_on_utf8() {
        let with = |pairs: &'static [(&str, &str)]| {
            is_utf8(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
        };
        assert!(with(&[("LANG", "en_US.UTF-8")]));
        assert!(with(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]));
        assert!(!with(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
        assert!(!with(&[]));
    }
}
