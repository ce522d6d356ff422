// SPDX-License-Identifier: MIT
//! What is known of a trace whose recorder has not finished it.
//!
//! Place in the flow: `print` and `report` ask here when a trace's environment still says that it
//! is being recorded. Only this user's recorders on this machine can be seen.

use session::directory::{left_behind, running, Recorder};
use std::path::Path;
use trace::Trace;
use verdict::State;

/// The sentence that belongs to "not finished", if that is what the trace is.
pub fn sentence(trace: &Trace) -> Option<String> {
    if analysis::recorded_verdict(trace.metadata()).state != State::NotFinished {
        return None;
    }
    let Ok(path) = std::fs::canonicalize(trace.path()) else { return Some(unseen()) };
    if let Some(found) = running().into_iter().find(|found| writes(&found.recorder, &path)) {
        return Some(format!(
            "it is being recorded now, by process {}; what was written until now is here",
            found.recorder.pid
        ));
    }
    let left = left_behind();
    let of_this = |recorder: &Option<Recorder>| recorder.as_ref().is_some_and(|r| writes(r, &path));
    Some(match left.iter().find(|left| of_this(&left.recorder)) {
        Some(left) => format!(
            "its recorder ended before it finished this trace: `lull recover {}` adds what is \
             still in memory",
            left.path.display()
        ),
        None => unseen(),
    })
}

fn unseen() -> String {
    "no recorder that can be seen from here is at work on it: it was killed, or it runs as another \
     user or on another machine"
        .into()
}

/// Whether a trace is a recorder's output, or one of its snapshots.
fn writes(recorder: &Recorder, trace: &Path) -> bool {
    trace == recorder.output || trace.parent() == Some(&recorder.output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorder_writes_its_output_and_the_snapshots_in_it() {
        let recorder = Recorder {
            name: "p".into(),
            pid: 1,
            program: "p".into(),
            program_pid: 2,
            output: "/a/b".into(),
            flight_recorder: true,
            kernel: false,
        };
        assert!(writes(&recorder, Path::new("/a/b")));
        assert!(writes(&recorder, Path::new("/a/b/snapshot-1")));
        assert!(!writes(&recorder, Path::new("/a")) && !writes(&recorder, Path::new("/a/c")));
    }
}
