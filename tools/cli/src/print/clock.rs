// SPDX-License-Identifier: MIT
//! The time of day of an event.
//!
//! Place in the flow: one call per line. Events come in time order, so the second is nearly always
//! that of the line before, and only the nine digits after the point are new. Offsets of local time
//! change only at quarters of an hour, so the calendar is asked once per quarter.

use chrono::{DateTime, Local, Offset, TimeZone};

use super::number;

const NS_PER_SECOND: i64 = 1_000_000_000;
const QUARTER_S: i64 = 900;
const DAY_S: i64 = 86_400;

pub(crate) struct TimeOfDay {
    utc: bool,
    quarter: Option<i64>,
    offset_s: i64,
    second: Option<i64>,
    /// `HH:MM:SS.`, with the date before it if that is asked for.
    prefix: Vec<u8>,
    is_dated: bool,
}

impl TimeOfDay {
    pub fn new(utc: bool) -> Self {
        let (offset_s, prefix) = (0, Vec::with_capacity(20));
        Self { utc, quarter: None, offset_s, second: None, prefix, is_dated: false }
    }

    /// With the date before each time.
    pub fn dated(self) -> Self {
        Self { is_dated: true, ..self }
    }

    /// Appends `HH:MM:SS.nnnnnnnnn`.
    pub fn write(&mut self, out: &mut Vec<u8>, ns: i64) {
        let second = ns.div_euclid(NS_PER_SECOND);
        if self.second != Some(second) {
            self.set_second(second);
        }
        out.extend_from_slice(&self.prefix);
        number::nine_digits(out, ns.rem_euclid(NS_PER_SECOND) as u32);
    }

    #[cold]
    fn set_second(&mut self, second: i64) {
        let quarter = second.div_euclid(QUARTER_S);
        if !self.utc && self.quarter != Some(quarter) {
            self.quarter = Some(quarter);
            let offset = Local.timestamp_opt(second, 0).single().map(|time| time.offset().fix());
            self.offset_s = offset.map_or(0, |offset| i64::from(offset.local_minus_utc()));
        }
        let of_day = (second + self.offset_s).rem_euclid(DAY_S) as u32;
        self.second = Some(second);
        self.prefix.clear();
        if self.is_dated {
            let day = DateTime::from_timestamp(second + self.offset_s, 0);
            let text = day.map_or("-".into(), |day| day.format("%Y-%m-%d ").to_string());
            self.prefix.extend_from_slice(text.as_bytes());
        }
        for (value, mark) in [(of_day / 3600, b':'), (of_day / 60 % 60, b':'), (of_day % 60, b'.')]
        {
            number::two_digits(&mut self.prefix, value);
            self.prefix.push(mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TimeOfDay;

    #[test]
    fn utc_times_wrap_at_midnight_and_before_the_epoch() {
        let mut time = TimeOfDay::new(true);
        let mut text = |ns| {
            let mut out = Vec::new();
            time.write(&mut out, ns);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(1_700_000_000_123_456_789), "22:13:20.123456789");
        assert_eq!(text(86_400_000_000_000), "00:00:00.000000000");
        assert_eq!(text(-1), "23:59:59.999999999");
    }
}
