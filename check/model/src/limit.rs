// SPDX-License-Identifier: MIT
//! Starts a program under limits of processor time, memory and patience, and measures it.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{waitid, Pid, WaitId, WaitIdOptions};

use crate::error::{Error, Result};

/// Between two looks at a program that runs: short at first, for most end at once.
const PAUSE_MIN: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// Ticks a second of the times in /proc, on every Linux of today.
const TICKS: f64 = 100.0;
/// What the kernel sends at the limit of processor time.
const SIGXCPU: i32 = 24;

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub cpu_s: u32,
    pub wall_s: u32,
    pub memory_mib: u32,
}

/// How a program ended.
#[derive(Debug)]
pub struct End {
    pub code: Option<i32>,
    /// Why it did not come to its own end, in words.
    pub cut: Option<String>,
    pub cpu_s: f64,
}

impl End {
    pub fn is_well(&self) -> bool {
        self.code == Some(0)
    }
}

/// The shell sets the limits and becomes the program; 127 is its status when there is none.
pub fn command(program: &str, limits: Limits) -> Command {
    let mut command = Command::new("sh");
    let kib = u64::from(limits.memory_mib) * 1024;
    let script = format!("ulimit -v {kib}; ulimit -t {}; exec \"$@\"", limits.cpu_s.max(1));
    command.args(["-c", &script, "sh", program]);
    command
}

/// User and system time of a process that has ended and is not reaped.
fn cpu_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks: u32 =
        after_name.split(' ').skip(11).take(2).filter_map(|word| word.parse::<u32>().ok()).sum();
    f64::from(ticks) / TICKS
}

/// Waits until the process can be reaped; false when it took too long and was killed.
fn outwait(child: &mut Child, limits: Limits) -> bool {
    let begin = Instant::now();
    let patience = Duration::from_secs(u64::from(limits.wall_s));
    let mut pause = PAUSE_MIN;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    while let Some(pid) = pid {
        match waitid(WaitId::Pid(pid), options) {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return true,
        }
        if begin.elapsed() > patience {
            let _ = child.kill();
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
    true
}

pub fn wait(mut command: Command, limits: Limits) -> Result<End> {
    let start_error = |source| Error::Program {
        program: "sh".into(),
        source,
        remedy: "a POSIX shell is needed to set limits",
    };
    let mut child = command.spawn().map_err(start_error)?;
    let in_time = outwait(&mut child, limits);
    let cpu_s = cpu_s(child.id());
    let status = child.wait().map_err(start_error)?;
    let cut = match (in_time, status.signal()) {
        (false, _) => Some(format!("more than {} s of waiting", limits.wall_s)),
        (true, Some(signal)) if signal == SIGXCPU || cpu_s + 1.0 > f64::from(limits.cpu_s) => {
            Some(format!("more than {} s", limits.cpu_s))
        }
        (true, Some(signal)) => Some(format!("signal {signal}")),
        (true, None) => None,
    };
    Ok(End { code: status.code(), cut, cpu_s })
}
