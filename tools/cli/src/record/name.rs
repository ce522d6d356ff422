// SPDX-License-Identifier: MIT
//! Names of sessions: what people call a running session by.
//!
//! Place in the flow: `begin` chooses one before the session is made, so that a name that is taken
//! is refused at once, and again when the session is made, in its turn among those that begin at
//! the same moment; the commands for running sessions look for it (`live::find`).

use anyhow::bail;
use session::directory::Found;
use std::ffi::OsStr;
use std::path::Path;

const NAME_BYTES_MAX: usize = 64;
/// What a session without a program is called.
const NAMELESS: &str = "session";
const KERNEL: &str = "kernel";

/// A name that someone chose.
pub fn parse(text: &str) -> Result<String, String> {
    if text.contains('/') {
        return Err("a name is no path; -o names the directory of the trace".into());
    }
    match is_name(text) {
        true => Ok(text.to_string()),
        false => Err(format!(
            "a name has 1 to {NAME_BYTES_MAX} letters, digits, and any of . _ - +, begins with a \
             letter or digit, and is no number"
        )),
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "._-+".contains(letter);
    text.len() <= NAME_BYTES_MAX
        && text.starts_with(char::is_alphanumeric)
        && text.chars().all(is_part)
        // It would be taken for a process.
        && text.chars().any(|letter| !letter.is_ascii_digit())
}

/// The name of the session that is about to begin.
pub fn choose(
    asked: Option<&str>,
    program: Option<&OsStr>,
    is_kernels: bool,
    running: &[Found],
) -> anyhow::Result<String> {
    let taken = |name: &str| running.iter().find(|found| found.recorder.name == name);
    if let Some(name) = asked {
        if let Some(found) = taken(name) {
            bail!(
                "a session of yours is called {name} already, recorded into {}; choose another \
                 --name, or end that one with `lull stop {name}`",
                found.recorder.output.display()
            );
        }
        return Ok(name.to_string());
    }
    let own = program.and_then(|path| Path::new(path).file_name()).and_then(OsStr::to_str);
    let own = own.filter(|name| is_name(name));
    let own = own.unwrap_or(if is_kernels { KERNEL } else { NAMELESS });
    let further = (2..).map(|number| format!("{own}-{number}"));
    // Bound: one more than there are sessions.
    let mut names = std::iter::once(own.to_string()).chain(further).take(running.len() + 1);
    Ok(names.find(|name| taken(name).is_none()).unwrap_or_else(|| own.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::directory::Recorder;

    fn running(names: &[&str]) -> Vec<Found> {
        let found = |name: &&str| Found {
            path: "/nowhere".into(),
            recorder: Recorder {
                name: name.to_string(),
                pid: 1,
                program: "p".into(),
                program_pid: 2,
                output: "/out".into(),
                flight_recorder: false,
                kernel: false,
            },
        };
        names.iter().map(found).collect()
    }

    #[test]
    fn name_is_no_path_no_number_and_nothing_that_a_shell_would_change() {
        for name in ["web", "web-2", "1st", "a.b_c+d", "größe"] {
            assert_eq!(parse(name).as_deref(), Ok(name));
        }
        for name in ["", "12", "-x", ".", "a b", "a\n", "a*", &"x".repeat(65)] {
            assert!(parse(name).is_err(), "{name:?}");
        }
        assert!(parse("../web").unwrap_err().contains("-o names the directory"));
    }

    #[test]
    fn name_that_was_asked_for_is_refused_where_it_is_taken_and_others_are_numbered() {
        let running = running(&["web", "true", "true-2"]);
        let chosen = |asked, program: Option<&str>, is_kernels| {
            choose(asked, program.map(OsStr::new), is_kernels, &running)
        };
        let error = chosen(Some("web"), None, false).unwrap_err().to_string();
        assert!(error.contains("/out") && error.contains("lull stop web"), "{error}");
        assert_eq!(chosen(Some("new"), None, false).unwrap(), "new");
        assert_eq!(chosen(None, Some("/bin/true"), false).unwrap(), "true-3");
        assert_eq!(chosen(None, Some("./a b"), false).unwrap(), "session");
        assert_eq!(chosen(None, None, true).unwrap(), "kernel");
    }
}
