// SPDX-License-Identifier: MIT
//! Counts and sizes for people, in the only form that Lull has for them: thousands apart, and
//! sizes in powers of 1024, as --buffer-size and --max-size take them.
//!
//! Place in the flow: the verdict, the progress lines and the report say their numbers so.

use indicatif::{HumanBytes, HumanCount};

/// `1234567` as `1,234,567`.
pub fn grouped(count: u64) -> String {
    HumanCount(count).to_string()
}

/// `1 event`, `2 events`, `3 processes`, `4 analyses`.
pub fn plural(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ if noun.ends_with("sis") => {
            format!("{} {}es", grouped(count), noun.trim_end_matches("is"))
        }
        _ if noun.ends_with('s') => format!("{} {noun}es", grouped(count)),
        _ => format!("{} {noun}s", grouped(count)),
    }
}

/// A size in the largest unit that leaves a number of 1 or more: `1023 B`, `1.50 KiB`.
pub fn bytes(count: u64) -> String {
    HumanBytes(count).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([grouped(123), grouped(1_234_567)], ["123", "1,234,567"]);
        assert_eq!([plural(1, "process"), plural(0, "process")], ["1 process", "0 processes"]);
        assert_eq!([plural(1000, "event"), plural(4, "analysis")], ["1,000 events", "4 analyses"]);
        assert_eq!([bytes(0), bytes(1023), bytes(1536)], ["0 B", "1023 B", "1.50 KiB"]);
        assert_eq!(bytes(u64::MAX), "16.00 EiB");
    }
}
