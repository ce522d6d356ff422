// SPDX-License-Identifier: MIT
//! The session that is meant: by its name, the process of its recorder or program, its trace's
//! directory or its own; or the only one.
//!
//! Place in the flow: every command for a running session begins here. Only directories that are
//! this user's alone are looked at (`session::directory`).

use crate::record::tell::left_line;
use anyhow::bail;
use session::directory::{left_behind, running, Found, LeftBehind};
use std::path::{Path, PathBuf};

/// The running session that is meant; None when nobody was named and none runs.
pub fn find(wanted: Option<&str>) -> anyhow::Result<Option<Found>> {
    choose(running(), &left_behind(), wanted)
}

/// The same where there must be one.
pub fn find_named(wanted: &str) -> anyhow::Result<Found> {
    match find(Some(wanted))? {
        Some(found) => Ok(found),
        None => bail!("no session of yours is called '{wanted}'"),
    }
}

fn choose(
    running: Vec<Found>,
    left: &[LeftBehind],
    wanted: Option<&str>,
) -> anyhow::Result<Option<Found>> {
    let mut meant: Vec<Found> = match wanted {
        Some(wanted) => running.iter().filter(|found| is_meant(found, wanted)).cloned().collect(),
        None => running.clone(),
    };
    match (meant.len(), wanted) {
        (0, None) => Ok(None),
        (1, _) => Ok(meant.pop()),
        (0, Some(wanted)) => bail!("{}", unknown(&running, left, wanted)),
        _ => {
            let list: Vec<String> = meant.iter().map(line).collect();
            let who = wanted.map_or("several sessions run".into(), |name| {
                format!("several sessions are called '{name}'")
            });
            bail!("{who}; name one by its process or directory:\n{}", list.join("\n"))
        }
    }
}

fn is_meant(found: &Found, wanted: &str) -> bool {
    let recorder = &found.recorder;
    if recorder.name == wanted {
        return true;
    }
    if let Ok(pid) = wanted.parse::<u32>() {
        return pid > 0 && (pid == recorder.pid || pid == recorder.program_pid);
    }
    is_at(&recorder.output, wanted) || is_at(&found.path, wanted)
}

fn is_at(path: &Path, wanted: &str) -> bool {
    wanted.contains('/') && std::fs::canonicalize(wanted).is_ok_and(|found| found == path)
        || std::fs::canonicalize(PathBuf::from(".").join(wanted)).is_ok_and(|found| found == path)
}

/// Why nothing is found by that name, and what to do.
fn unknown(running: &[Found], left: &[LeftBehind], wanted: &str) -> String {
    let is_it =
        |left: &&LeftBehind| left.recorder.as_ref().is_some_and(|recorder| recorder.name == wanted);
    if let Some(left) = left.iter().find(is_it) {
        return format!("session {wanted}: its recorder is dead; {}", left_line(left));
    }
    let list: Vec<String> = running.iter().map(line).collect();
    match list.is_empty() {
        true => format!("no session of yours runs, so none is '{wanted}'; `lull start` begins one"),
        false => format!("no session of yours is '{wanted}'; these run:\n{}", list.join("\n")),
    }
}

fn line(found: &Found) -> String {
    let recorder = &found.recorder;
    format!(
        "  {} (pid {}, {} -> {})",
        recorder.name,
        recorder.pid,
        recorder.program,
        recorder.output.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::directory::Recorder;

    fn found(name: &str, pid: u32) -> Found {
        let recorder = Recorder {
            name: name.into(),
            pid,
            program: "p".into(),
            program_pid: pid + 1,
            output: format!("/nonexistent/{pid}").into(),
            flight_recorder: false,
            kernel: false,
        };
        Found { path: "/nonexistent".into(), recorder }
    }

    fn chosen(running: &[Found], wanted: Option<&str>) -> Result<Option<u32>, String> {
        let chosen = choose(running.to_vec(), &[], wanted);
        chosen.map(|found| found.map(|found| found.recorder.pid)).map_err(|error| error.to_string())
    }

    #[test]
    fn only_session_is_taken_and_of_several_one_must_be_named() {
        assert_eq!(chosen(&[], None), Ok(None));
        let two = [found("a", 10), found("b", 20)];
        assert_eq!(chosen(&two[..1], None), Ok(Some(10)));
        assert!(chosen(&two, None).unwrap_err().contains("b (pid 20"));
        for (wanted, pid) in [("a", 10), ("b", 20), ("20", 20), ("11", 10)] {
            assert_eq!(chosen(&two, Some(wanted)), Ok(Some(pid)));
        }
        assert!(chosen(&two, Some("0")).is_err());
    }

    #[test]
    fn session_that_is_not_there_is_told_from_two_of_one_name_and_from_a_dead_one() {
        assert!(chosen(&[], Some("a")).unwrap_err().contains("lull start"));
        let two = [found("a", 10), found("a", 20)];
        assert!(chosen(&two, Some("b")).unwrap_err().contains("these run"));
        assert!(chosen(&two, Some("a")).unwrap_err().contains("several sessions are called 'a'"));
        for (output, told) in [("/", "lull recover /left"), ("/gone", "lull recover -o DIR /left")]
        {
            let left = LeftBehind {
                path: "/left".into(),
                recorder: Some(Recorder { output: output.into(), ..found("a", 1).recorder }),
                made: std::time::SystemTime::UNIX_EPOCH,
            };
            let error = choose(Vec::new(), &[left], Some("a")).unwrap_err().to_string();
            assert!(error.contains("dead") && error.contains(told), "{error}");
        }
    }
}
