// SPDX-License-Identifier: MIT
//! `--context`: what is recorded of what runs, with each event of programs and of the kernel's.
//!
//! Place in the flow: clap reads the names by [`parse`]; `plan` refuses by [`check`] what nobody
//! could record, and tells programs by the session; `kernel` tells the module before it enables
//! events.

use anyhow::bail;
use filter::Context;
use session::abi::{KERNEL_FRAMES_MAX, SESSION_CONTEXTS, SESSION_COPY_BYTES_MAX, SESSION_CPU_TIME};
use session::context::Recorded;
use session::device::RecordedContext;

const FRAMES: u32 = 32;
const COPY_BYTES: u32 = 8192;
const WORD_BYTES: u32 = 8;
const COPY: &str = "user_stack_copy";
const CPU_TIME: &str = "cpu_time";

/// What stands before the name of a counter.
const PERF: &str = "perf:";
/// By `enum lull_counter`, and how many of the first are the processor's.
const COUNTERS: [&str; 10] = [
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "page-faults",
    "major-faults",
    "context-switches",
    "cpu-migrations",
];
const OF_PROCESSOR: usize = 6;

/// One thing to be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Of filters, with its number.
    Context(u8),
    /// The kernel's call stack, with so many frames at most.
    KernelStack(u32),
    /// The program's, likewise.
    UserStack(u32),
    /// So many bytes of the program's stack, at most.
    UserStackCopy(u32),
    /// What the thread has run so far.
    CpuTime,
    /// What happened on the CPU, by its number among the counters.
    Counter(u8),
}

/// One of the names, for clap.
pub fn parse(name: &str) -> Result<Asked, String> {
    if let Some(context) = Context::find(name) {
        return Ok(Asked::Context(context.number));
    }
    if let Some(name) = name.strip_prefix(PERF) {
        return counter(name);
    }
    if name == CPU_TIME {
        return Ok(Asked::CpuTime);
    }
    if let Some(bytes) = name.strip_prefix(COPY) {
        return copy(bytes);
    }
    let (name, frames) = match name.split_once(':') {
        Some((name, number)) => (name, frames(number)?),
        None => (name, FRAMES),
    };
    match name {
        "kernel_stack" => Ok(Asked::KernelStack(frames)),
        "user_stack" => Ok(Asked::UserStack(frames)),
        _ => {
            let names: Vec<&str> = Context::all().map(|context| context.name).collect();
            let names = names.join(", ");
            Err(format!(
                "there are {names}, {CPU_TIME}, kernel_stack, user_stack, {COPY} and, behind \
                 `perf:`, counters"
            ))
        }
    }
}

fn counter(name: &str) -> Result<Asked, String> {
    let number = (0..).zip(COUNTERS).find(|(_, known)| *known == name);
    let number = number.map(|(number, _)| Asked::Counter(number));
    number.ok_or_else(|| format!("counters are {}", COUNTERS.join(", ")))
}

/// What stands behind the name of a copy: nothing, or how long it is.
fn copy(text: &str) -> Result<Asked, String> {
    let bytes = match text.strip_prefix(':') {
        Some(number) => number.parse().ok(),
        None => text.is_empty().then_some(COPY_BYTES),
    };
    let bytes = bytes.filter(|bytes| (WORD_BYTES..=SESSION_COPY_BYTES_MAX).contains(bytes));
    let bytes = bytes.map(|bytes| Asked::UserStackCopy(bytes / WORD_BYTES * WORD_BYTES));
    bytes.ok_or_else(|| format!("{COPY} has {WORD_BYTES} to {SESSION_COPY_BYTES_MAX} bytes"))
}

fn frames(number: &str) -> Result<u32, String> {
    let frames = number.parse().ok().filter(|frames| (1..=KERNEL_FRAMES_MAX).contains(frames));
    frames.ok_or_else(|| format!("a stack has 1 to {KERNEL_FRAMES_MAX} frames"))
}

/// What the module is told: of a stack that is asked for twice, the longer one.
pub fn together(asked: &[Asked]) -> RecordedContext {
    let mut all = RecordedContext::default();
    for each in asked {
        match *each {
            Asked::Context(number) => all.contexts |= 1 << number,
            Asked::KernelStack(frames) => all.kernel_frames = frames.max(all.kernel_frames),
            Asked::UserStack(frames) => all.user_frames = frames.max(all.user_frames),
            Asked::Counter(number) => all.counters |= 1 << number,
            Asked::UserStackCopy(_) | Asked::CpuTime => {}
        }
    }
    all
}

/// What programs are told, likewise: of what is asked for, all that they can record.
pub fn programs(asked: &[Asked]) -> Recorded {
    let mut all = Recorded::default();
    for each in asked {
        match *each {
            Asked::Context(number) => all.contexts |= (1 << number) & SESSION_CONTEXTS,
            Asked::UserStack(frames) => all.user_frames = frames.max(all.user_frames),
            Asked::UserStackCopy(bytes) => all.copy_bytes = bytes.max(all.copy_bytes),
            Asked::CpuTime => all.contexts |= SESSION_CPU_TIME,
            Asked::KernelStack(_) | Asked::Counter(_) => {}
        }
    }
    all
}

/// Refuses what no event of the session could have. `has_programs`: a program is recorded, or any
/// may join.
pub fn check(asked: &[Asked], has_kernel: bool, has_programs: bool) -> anyhow::Result<()> {
    for each in asked {
        let can_programs = programs(&[*each]) != Recorded::default();
        let can_kernel = together(&[*each]) != RecordedContext::default();
        match (can_programs && has_programs, can_kernel && has_kernel) {
            (false, false) if can_kernel => bail!(
                "--context: {} is recorded with the kernel's events only, by -k and the module \
                 lull",
                each.name()
            ),
            (false, false) => bail!(
                "--context: {} is recorded with events of programs only, and none is recorded",
                each.name()
            ),
            _ => {}
        }
    }
    Ok(())
}

impl Asked {
    fn name(self) -> String {
        match self {
            Self::Context(number) => {
                let found = Context::all().find(|context| context.number == number);
                found.map_or_else(String::new, |context| context.name.into())
            }
            Self::KernelStack(_) => "kernel_stack".into(),
            Self::UserStack(_) => "user_stack".into(),
            Self::UserStackCopy(_) => COPY.into(),
            Self::CpuTime => CPU_TIME.into(),
            Self::Counter(number) => format!("{PERF}{}", COUNTERS[usize::from(number)]),
        }
    }
}

/// Why the module does not record it.
pub fn refused(asked: &RecordedContext, error: &std::io::Error) -> anyhow::Error {
    let number = error.raw_os_error();
    if asked.counters == 0 {
        return refused_without_counters(error);
    }
    let chosen = |range: std::ops::Range<usize>| {
        let names = range.filter(|number| asked.counters & 1 << number != 0);
        names.map(|number| format!("{PERF}{}", COUNTERS[number])).collect::<Vec<_>>().join(", ")
    };
    match number {
        Some(libc::EPERM) => {
            anyhow::anyhow!("--context: counters (`{PERF}`) are for root and for CAP_PERFMON")
        }
        Some(libc::EOPNOTSUPP) => anyhow::anyhow!(
            "--context: this machine's processor, or the kernel, has not all of the counters {}; \
             virtual machines often have none of the processor's",
            chosen(0..COUNTERS.len())
        ),
        Some(libc::EBUSY) => anyhow::anyhow!(
            "--context: the processor has no counter left for {}: others use them, such as `perf` \
             or the watchdog (kernel.nmi_watchdog)",
            chosen(0..OF_PROCESSOR)
        ),
        _ => refused_without_counters(error),
    }
}

fn refused_without_counters(error: &std::io::Error) -> anyhow::Error {
    match error.raw_os_error() {
        Some(libc::ENOTTY | libc::EINVAL | libc::E2BIG) => {
            anyhow::anyhow!("--context: this module lull is older than this command")
        }
        _ => anyhow::anyhow!("--context: the module lull refuses it: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(names: &[&str]) -> RecordedContext {
        let asked: Vec<Asked> = names.iter().map(|name| parse(name).unwrap()).collect();
        together(&asked)
    }

    #[test]
    fn contexts_are_those_of_filters_each_once() {
        assert_eq!(all(&["tid", "comm", "tid"]).contexts, 0b110);
        let names: Vec<&str> = Context::all().map(|context| context.name).collect();
        assert_eq!(all(&names).contexts, (1 << names.len()) - 1);
        let refused = parse("$tid").unwrap_err();
        assert!(refused.starts_with("there are pid, tid, comm,"), "{refused}");
    }

    #[test]
    fn programs_are_told_what_they_can_record_and_what_nobody_can_is_refused() {
        let asked = |names: &[&str]| names.iter().map(|name| parse(name).unwrap()).collect();
        let names = ["tid", "gid", "cpu_time", "user_stack:5", "kernel_stack", "user_stack_copy"];
        let all: Vec<Asked> = asked(&names);
        let contexts = 2 | SESSION_CPU_TIME;
        let found = Recorded { contexts, user_frames: 5, copy_bytes: 8192 };
        assert_eq!(programs(&all), found);
        let refused = |name, has_kernel, has_programs| {
            let refused = check(&asked(&[name]), has_kernel, has_programs);
            refused.err().map(|error| error.to_string())
        };
        for name in ["gid", "kernel_stack", "perf:cycles"] {
            let told = refused(name, false, true).unwrap();
            assert!(told.contains(name) && told.contains("kernel's events only"), "{told}");
            assert_eq!(refused(name, true, false), None);
        }
        for name in ["cpu_time", "user_stack_copy"] {
            assert!(refused(name, true, false).unwrap().contains("programs only"));
        }
        for name in ["cpu_time", "prio", "user_stack", "user_stack_copy:64"] {
            assert_eq!(refused(name, false, true), None);
        }
    }

    #[test]
    fn counters_stand_behind_perf_and_refusals_name_those_that_were_asked_for() {
        let found = all(&["perf:cycles", "perf:page-faults", "pid"]);
        assert_eq!((found.counters, found.contexts), (1 | 1 << 6, 1));
        let last = all(&["perf:cpu-migrations"]).counters;
        assert_eq!(last, 1 << (COUNTERS.len() - 1));
        for wrong in ["perf:", "perf:cycle", "perf:cycles:2", "cycles"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("perf:no").unwrap_err().contains("cache-misses"));
        let told = |number| refused(&found, &std::io::Error::from_raw_os_error(number)).to_string();
        assert!(told(libc::EPERM).contains("CAP_PERFMON"));
        assert!(told(libc::EOPNOTSUPP).contains("perf:cycles, perf:page-faults;"));
        assert!(told(libc::EBUSY).contains("left for perf:cycles: others"));
        assert!(told(libc::EINVAL).contains("older"));
    }

    #[test]
    fn stacks_have_as_many_frames_as_are_asked_for_within_limits() {
        let found = all(&["kernel_stack", "user_stack:128", "prio", "user_stack:1"]);
        assert_eq!((found.kernel_frames, found.user_frames), (32, 128));
        assert_eq!(all(&["user_stack:1"]), RecordedContext { user_frames: 1, ..all(&[]) });
        for wrong in ["user_stack:0", "user_stack:129", "kernel_stack:", "kernel_stack:-1"] {
            assert!(parse(wrong).unwrap_err().contains("1 to 128 frames"), "{wrong}");
        }
        assert!(parse("user_stack:3:4").is_err() && parse("pid:3").is_err());
        for (name, bytes) in [("user_stack_copy:71", 64), ("user_stack_copy:32768", 32768)] {
            assert_eq!(parse(name), Ok(Asked::UserStackCopy(bytes)));
        }
        for wrong in ["user_stack_copy:7", "user_stack_copy:32769", "user_stack_copys"] {
            assert!(parse(wrong).unwrap_err().contains("8 to 32768 bytes"), "{wrong}");
        }
    }
}
