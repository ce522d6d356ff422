// SPDX-License-Identifier: MIT
//! How often something may be done.
//!
//! Place in the flow: the command asks a [`Pace`] before each action. Time is a number of
//! nanoseconds that the caller counts, so that tests need not wait.

const SECOND_NS: u64 = 1_000_000_000;
/// More than this in one period is no limit for a person.
const COUNT_MAX: u32 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    Any,
    Once,
    /// At most so often in a period.
    Per {
        count: u32,
        period_ns: u64,
    },
}

impl Rate {
    pub const PER_SECOND: Self = Self::Per { count: 1, period_ns: SECOND_NS };

    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.trim() == "once" {
            return Some(Self::Once);
        }
        let (count, unit) = text.split_once('/')?;
        let count = count.trim().parse().ok().filter(|count| (1..=COUNT_MAX).contains(count))?;
        let period_ns = match unit.trim() {
            "s" => SECOND_NS,
            "min" => 60 * SECOND_NS,
            "h" => 3600 * SECOND_NS,
            _ => return None,
        };
        Some(Self::Per { count, period_ns })
    }
}

/// What was done so far of something that may be done at a rate. Periods begin with the first time
/// that it is done in them.
#[derive(Debug, Clone)]
pub struct Pace {
    rate: Rate,
    begun_ns: Option<u64>,
    done: u32,
}

impl Pace {
    pub fn new(rate: Rate) -> Self {
        Self { rate, begun_ns: None, done: 0 }
    }

    /// Whether it may be done now, and then it is taken for done.
    pub fn take(&mut self, now_ns: u64) -> bool {
        let (count, period_ns) = match self.rate {
            Rate::Any => return true,
            Rate::Once => (1, u64::MAX),
            Rate::Per { count, period_ns } => (count, period_ns),
        };
        match self.begun_ns {
            Some(begun) if now_ns.saturating_sub(begun) < period_ns => {
                let may = self.done < count;
                self.done += u32::from(may);
                may
            }
            _ => {
                (self.begun_ns, self.done) = (Some(now_ns), 1);
                true
            }
        }
    }
}
