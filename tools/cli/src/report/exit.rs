// SPDX-License-Identifier: MIT
//! How processes ended, in words.
//!
//! Place in the flow: a column of the table of processes.

use analysis::ProcessRow;

/// Names of Linux's signals, from 1 on; the same on all architectures that Lull runs on.
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// `0`, `3`, `SIGKILL`, or nothing if the trace does not tell.
pub(super) fn text(process: &ProcessRow) -> String {
    if let Some(signal) = process.exit_signal {
        let index = usize::try_from(signal).ok().and_then(|signal| signal.checked_sub(1));
        return match index.and_then(|index| SIGNALS.get(index)) {
            Some(name) => format!("SIG{name}"),
            None => format!("signal {signal}"),
        };
    }
    process.exit_code.map_or_else(String::new, |code| code.to_string())
}
