// SPDX-License-Identifier: MIT
//! Which running programs `lull record -p` may reach into on this machine.
//!
//! Place in the flow: a check of `doctor`. What single processes refuse, for instance under a
//! seccomp filter of their own, is said by `lull record -p` itself.

use super::{Finding, Health};
use std::fs;

const ABOUT: &str = "running programs";
const CAP_SYS_PTRACE: u32 = 19;

/// What decides it.
#[derive(Debug, Clone, Copy)]
struct Facts {
    is_known_architecture: bool,
    /// Yama's, 0 where it is not there.
    scope: u32,
    has_capability: bool,
    /// Whether the kernel, or a seccomp filter of ours, refuses ptrace(2) itself.
    is_refused: bool,
    /// Whether our ipc namespace is another than the first process's; unknown to most users.
    is_apart: Option<bool>,
}

pub fn attach() -> Finding {
    judge(Facts {
        is_known_architecture: cfg!(target_arch = "x86_64"),
        scope: scope(&fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default()),
        has_capability: has_capability(
            &fs::read_to_string("/proc/self/status").unwrap_or_default(),
        ),
        is_refused: is_refused(),
        is_apart: fs::read_link("/proc/1/ns/ipc")
            .ok()
            .zip(fs::read_link("/proc/self/ns/ipc").ok())
            .map(|(first, own)| first != own),
    })
}

fn judge(facts: Facts) -> Finding {
    let can = if facts.has_capability { "with" } else { "without" };
    let apart = match facts.is_apart {
        Some(true) => ", an ipc namespace of our own",
        Some(false) | None => "",
    };
    let found = format!("ptrace_scope {}, {can} CAP_SYS_PTRACE{apart}", facts.scope);
    let finding = Finding::good(
        ABOUT,
        found,
        match (facts.has_capability, facts.is_apart) {
            (_, Some(true)) => "lull record -p records those of this ipc namespace",
            (true, _) => "lull record -p records them, of any user that the session has memory for",
            (false, _) => "lull record -p records those of your own user",
        },
    );
    let none = "lull record -p, --comm and --all-mine record none";
    if !facts.is_known_architecture {
        return finding.but(Health::Limited, none, "they need x86-64");
    }
    if facts.is_refused {
        let advice = "allow ptrace(2) in the seccomp filter, or run lull outside the container";
        return finding.but(Health::Limited, none, advice);
    }
    match facts.scope {
        3.. => finding.but(Health::Limited, none, "ptrace_scope stays 3 until the next boot"),
        1.. if !facts.has_capability => finding.but(
            Health::Limited,
            none,
            "become root, or write 0 to /proc/sys/kernel/yama/ptrace_scope",
        ),
        _ => finding,
    }
}

fn scope(text: &str) -> u32 {
    text.trim().parse().unwrap_or(0)
}

fn has_capability(status: &str) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set >> CAP_SYS_PTRACE & 1 == 1)
}

/// Asks to let go of a process that cannot be: the kernel does not find it, a filter says no.
fn is_refused() -> bool {
    // SAFETY: there is no process 0 to let go of, and no memory is passed.
    let result = unsafe { libc::ptrace(libc::PTRACE_DETACH, 0, 0, 0) };
    result == -1 && std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Facts = Facts {
        is_known_architecture: true,
        scope: 1,
        has_capability: true,
        is_refused: false,
        is_apart: Some(false),
    };

    #[test]
    fn what_keeps_from_running_programs_is_told_with_what_to_do() {
        assert_eq!(judge(ROOT).health, Health::Good);
        let user = Facts { has_capability: false, is_apart: None, ..ROOT };
        assert!(judge(user).advice.unwrap().contains("write 0"));
        assert_eq!(judge(Facts { scope: 0, ..user }).health, Health::Good);
        for limited in [
            Facts { scope: 3, ..ROOT },
            Facts { is_refused: true, ..ROOT },
            Facts { is_known_architecture: false, ..ROOT },
        ] {
            assert_eq!(judge(limited).health, Health::Limited, "{limited:?}");
        }
        let apart = judge(Facts { is_apart: Some(true), ..ROOT });
        assert!(apart.found.contains("ipc") && apart.meaning.contains("this ipc namespace"));
    }

    #[test]
    fn texts_of_the_kernel_are_understood_and_others_taken_for_nothing() {
        assert_eq!((scope("2\n"), scope(""), scope("x")), (2, 0, 0));
        assert!(has_capability("Name:\tx\nCapEff:\t0000000000080000\n"));
        assert!(!has_capability("CapEff:\t0000000000000000\n") && !has_capability("CapEff:\tz"));
    }
}
