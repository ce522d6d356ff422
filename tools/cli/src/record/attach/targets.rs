// SPDX-License-Identifier: MIT
//! Which running processes are meant: by number, by name, or all of the user's.
//!
//! Place in the flow: arguments -> the processes that `attach` asks to join. The name of a process
//! is its first thread's, which it chooses itself; it is only compared and shown.

use anyhow::bail;
use session::pattern::Patterns;
use std::os::unix::fs::MetadataExt;

/// Processes that run already.
#[derive(Debug, Default, clap::Args)]
pub struct TargetArgs {
    /// A process that runs already; several times for several
    #[arg(short = 'p', long = "pid", value_name = "PID")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub pids: Vec<u32>,

    /// Processes of yours that run already and have such a name, as `ps -o comm` shows it
    #[arg(long = "comm", value_name = "GLOB")]
    pub names: Vec<String>,

    /// All processes of yours that run already
    #[arg(long)]
    pub all_mine: bool,
}

/// A process that shall join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub pid: u32,
    pub name: String,
    /// The user named this very process.
    pub is_named: bool,
}

impl TargetArgs {
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.all_mine || !self.pids.is_empty() || !self.names.is_empty()
    }

    /// The processes, in the order in which they were named, each once.
    pub fn targets(&self) -> anyhow::Result<Vec<Target>> {
        let globs = Patterns::exactly(&self.names)?;
        let mut found: Vec<Target> = Vec::new();
        for pid in &self.pids {
            if found.iter().all(|target| target.pid != *pid) {
                let name = name_of(*pid).unwrap_or_else(|| "process".into());
                found.push(Target { pid: *pid, name, is_named: true });
            }
        }
        if self.all_mine || !self.names.is_empty() {
            let is_meant = |target: &Target| self.all_mine || globs.matches(&target.name, 0);
            let others: Vec<Target> = own_processes()
                .filter(|target| is_meant(target) && found.iter().all(|one| one.pid != target.pid))
                .collect();
            found.extend(others);
        }
        if found.is_empty() {
            let what = self.names.join(", ");
            bail!(
                "--comm {what}: no process of yours has such a name (`ps -o pid,comm` lists them)"
            );
        }
        Ok(found)
    }
}

/// What a process calls itself now. None: it has ended.
pub fn name_of(pid: u32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end_matches('\n').to_string())
}

/// Processes of our user, but for those that record us or that we need.
fn own_processes() -> impl Iterator<Item = Target> {
    let user = crate::owner::me();
    let own = own_line();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(move |entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        (entry.metadata().ok()?.uid() == user && !own.contains(&pid)).then_some(pid)
    });
    pids.filter_map(|pid| {
        let name = name_of(pid)?;
        // A thread of the kernel's has no program.
        std::fs::read_link(format!("{}/exe", tracee::folder(pid))).ok()?;
        (name != "lull").then_some(Target { pid, name, is_named: false })
    })
}

/// We and our parents: a recorder that records the shell it was started by records itself wait.
fn own_line() -> Vec<u32> {
    const DEPTH_MAX: usize = 64;
    let mut line = vec![std::process::id()];
    while line.len() < DEPTH_MAX {
        let Some(parent) = line.last().and_then(|pid| parent_of(*pid)) else { break };
        line.push(parent);
    }
    line
}

fn parent_of(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = text.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
    (parent > 0).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_is_found_by_its_number_and_its_name_once() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        // Until it has become the program.
        while name_of(pid).as_deref() != Some("sleep") {
            std::thread::yield_now();
        }
        let args =
            TargetArgs { pids: vec![pid, pid], names: vec!["sl??p".into()], all_mine: false };
        let targets = args.targets().unwrap();
        assert_eq!(targets.iter().filter(|target| target.pid == pid).count(), 1);
        assert!(targets.iter().all(|target| target.name == "sleep" || target.pid == pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn name_that_no_process_has_is_refused_and_we_are_not_among_ours() {
        let args = TargetArgs { names: vec!["no-such-name-?".into()], ..TargetArgs::default() };
        assert!(args.targets().is_err());
        assert!(own_processes().all(|target| target.pid != std::process::id()));
    }
}
