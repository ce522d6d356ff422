// SPDX-License-Identifier: MIT
//! `--context`: what is recorded of what runs, with each of the kernel's events.
//!
//! Place in the flow: clap reads the names by [`parse`]; `kernel` tells the module before it
//! enables events.

use filter::Context;
use session::abi::KERNEL_FRAMES_MAX;
use session::device::RecordedContext;

const FRAMES: u32 = 32;

/// One thing to be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Of filters, with its number.
    Context(u8),
    /// The kernel's call stack, with so many frames at most.
    KernelStack(u32),
    /// The program's, likewise.
    UserStack(u32),
}

/// One of the names, for clap.
pub fn parse(name: &str) -> Result<Asked, String> {
    if let Some(context) = Context::find(name) {
        return Ok(Asked::Context(context.number));
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
            Err(format!("there are {}, kernel_stack and user_stack", names.join(", ")))
        }
    }
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
        }
    }
    all
}

/// Why the module does not record it.
pub fn refused(error: &std::io::Error) -> anyhow::Error {
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
    fn stacks_have_as_many_frames_as_are_asked_for_within_limits() {
        let found = all(&["kernel_stack", "user_stack:128", "prio", "user_stack:1"]);
        assert_eq!((found.kernel_frames, found.user_frames), (32, 128));
        assert_eq!(all(&["user_stack:1"]), RecordedContext { user_frames: 1, ..all(&[]) });
        for wrong in ["user_stack:0", "user_stack:129", "kernel_stack:", "kernel_stack:-1"] {
            assert!(parse(wrong).unwrap_err().contains("1 to 128 frames"), "{wrong}");
        }
        assert!(parse("user_stack:3:4").is_err() && parse("pid:3").is_err());
    }
}
