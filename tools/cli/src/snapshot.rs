// SPDX-License-Identifier: MIT
//! `lull snapshot`: tell a running flight recorder to write what it holds, and wait until it has.
//!
//! Place in the flow: finds recorders by their session directories, asks with SIGUSR1, and reads
//! the answer from the session directory.

use anyhow::{bail, Context};
use session::directory::{running, Found};
use std::time::{Duration, Instant};

use crate::stdout;

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(2);

/// Write what a running flight recorder holds, and print where
#[derive(Debug, clap::Args)]
pub struct SnapshotArgs {
    /// The recorder: its process, its program's process, or its output directory [default: the
    /// only one that runs]
    #[arg(value_name = "PID|DIR")]
    pub recorder: Option<String>,
}

/// Runs the command; the result is the exit status.
pub fn run(args: &SnapshotArgs) -> anyhow::Result<i32> {
    let recorders = running();
    let Some(found) = choose(&recorders, args.recorder.as_deref())? else {
        crate::say("no flight recorder of yours is running");
        return Ok(1);
    };
    let before = found.snapshot().map_or(0, |done| done.count);
    let pid = i32::try_from(found.recorder.pid).context("its process number is out of range")?;
    // SAFETY: the recorder holds the lock on its directory, so the number is still its own.
    if unsafe { libc::kill(pid, libc::SIGUSR1) } != 0 {
        let error = std::io::Error::last_os_error();
        bail!("asking recorder {pid} for a snapshot: {error}");
    }
    let asked = Instant::now();
    loop {
        if let Some(done) = found.snapshot().filter(|done| done.count > before) {
            if let Some(error) = done.error {
                bail!("recorder {pid} could not write a snapshot: {error}");
            }
            stdout::write(&format!("{}\n", done.path.display()))?;
            return Ok(0);
        }
        if !found.path.exists() {
            bail!(
                "recorder {pid} ended before it wrote a snapshot; its last one is in {}",
                found.recorder.output.display()
            );
        }
        if asked.elapsed() > PATIENCE {
            bail!("recorder {pid} did not answer within {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(PAUSE);
    }
}

/// The one meant among the recorders that run; None when there is none at all.
fn choose<'a>(recorders: &'a [Found], wanted: Option<&str>) -> anyhow::Result<Option<&'a Found>> {
    let flight: Vec<&Found> =
        recorders.iter().filter(|found| found.recorder.flight_recorder).collect();
    let Some(wanted) = wanted else {
        return match flight[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => {
                let list: Vec<String> = flight.iter().map(|found| described(found)).collect();
                bail!("several flight recorders are running, name one:\n{}", list.join("\n"))
            }
        };
    };
    let path = std::fs::canonicalize(wanted).ok();
    let pid = wanted.parse::<u32>().ok();
    let is_meant = |found: &&Found| {
        let recorder = &found.recorder;
        pid == Some(recorder.pid)
            || pid == Some(recorder.program_pid)
            || path.as_ref().is_some_and(|path| *path == recorder.output || *path == found.path)
    };
    let meant = recorders.iter().find(is_meant);
    match meant {
        None => bail!("no recorder of yours is {wanted}"),
        Some(found) if !found.recorder.flight_recorder => {
            bail!("{wanted} is no flight recorder: start it with --flight-recorder")
        }
        found => Ok(found),
    }
}

fn described(found: &Found) -> String {
    let recorder = &found.recorder;
    format!("  {} {} -> {}", recorder.pid, recorder.program, recorder.output.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::directory::Recorder;

    fn found(pid: u32, flight_recorder: bool) -> Found {
        let recorder = Recorder {
            pid,
            program: "p".into(),
            program_pid: pid + 1,
            output: format!("/nonexistent/{pid}").into(),
            flight_recorder,
        };
        Found { path: "/nonexistent".into(), recorder }
    }

    #[test]
    fn only_flight_recorder_is_taken_and_of_several_one_must_be_named() {
        assert!(choose(&[found(1, false)], None).unwrap().is_none());
        let two = [found(10, true), found(20, true)];
        assert_eq!(choose(&two[..1], None).unwrap().unwrap().recorder.pid, 10);
        assert!(choose(&two, None).unwrap_err().to_string().contains("20 p"));
        assert_eq!(choose(&two, Some("20")).unwrap().unwrap().recorder.pid, 20);
        assert_eq!(choose(&two, Some("11")).unwrap().unwrap().recorder.pid, 10);
    }

    #[test]
    fn recorder_that_keeps_no_snapshot_is_refused_by_name() {
        let error = choose(&[found(7, false)], Some("7")).unwrap_err().to_string();
        assert!(error.contains("--flight-recorder"), "{error}");
        assert!(choose(&[], Some("7")).is_err());
    }
}
