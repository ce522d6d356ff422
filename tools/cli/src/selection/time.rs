// SPDX-License-Identifier: MIT
//! Times as people name them: of the day, with a date, since the beginning, before the end.
//!
//! Place in the flow: parsed with the arguments; what they are in nanoseconds of a trace's clock is
//! known when the trace is open.

use anyhow::{bail, Context};
use chrono::{
    DateTime, Days, Local, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc,
};
use trace::{Ns, Span, Trace};

use crate::duration::{self, Alone};

const WRITE: &str = "write a time like 14:03:05.25, '2026-05-04 14:03', +1.5s after the trace's \
                     beginning, 'last 2s' before its end, or nanoseconds of its clock";

/// A time in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Time {
    /// Nanoseconds of the trace's clock.
    At(i64),
    SinceBegin(i64),
    BeforeEnd(i64),
    /// In UTC if that is said, otherwise as the command shows times.
    Date(NaiveDateTime, bool),
    /// Of the day on which the trace begins, or of the next.
    OfDay(NaiveTime, bool),
}

/// For clap: the error completes "invalid value".
pub fn parse(text: &str) -> Result<Time, String> {
    let text = text.trim();
    let ns = |text: &str| {
        let duration = duration::parse_any(text, Alone::Seconds)?;
        i64::try_from(duration.as_nanos()).map_err(|_| "it is out of range".to_string())
    };
    if let Some(rest) = text.strip_prefix('+') {
        return ns(rest).map(Time::SinceBegin);
    }
    if let Some(rest) = text.strip_prefix("last ") {
        return ns(rest).map(Time::BeforeEnd);
    }
    if let Ok(ns) = text.parse() {
        return Ok(Time::At(ns));
    }
    let (clock, is_utc) = match text.strip_suffix('Z') {
        Some(clock) => (clock, true),
        None => (text, false),
    };
    let of_day = |text: &str| {
        let forms = ["%H:%M:%S%.f", "%H:%M"].into_iter();
        forms.filter_map(|form| NaiveTime::parse_from_str(text, form).ok()).next()
    };
    if let Some(time) = of_day(clock) {
        return Ok(Time::OfDay(time, is_utc));
    }
    let (date, time) = clock.split_once([' ', 'T']).unwrap_or((clock, "00:00"));
    let date = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok();
    match date.zip(of_day(time)) {
        Some((date, time)) => Ok(Time::Date(date.and_time(time), is_utc)),
        None => Err(refusal(text, date.is_some().then_some(time))),
    }
}

/// Why a text is no time. `time`: what follows a date that is one.
fn refusal(text: &str, time: Option<&str>) -> String {
    if duration::parse_any(text, Alone::Seconds).is_ok() {
        return format!(
            "{text} is how long, not when: write +{text} after the trace's beginning, or 'last \
             {text}' before its end"
        );
    }
    match time {
        Some(time) => format!("{time} is no time of day: {WRITE}"),
        None => WRITE.into(),
    }
}

/// The nanoseconds of two times in traces. What depends on the traces' beginning and end is asked
/// for only if it is needed.
pub fn span(
    from: Option<&Time>,
    to: Option<&Time>,
    traces: &[Trace],
    is_utc: bool,
) -> anyhow::Result<Span> {
    let needs_bounds =
        [from, to].iter().flatten().any(|time| !matches!(time, Time::At(_) | Time::Date(..)));
    let bounds = match needs_bounds {
        false => (Ns(0), Ns(0)),
        true => {
            let bounds = traces.iter().filter_map(Trace::bounds);
            let all = bounds.reduce(|(a, b), (begin, end)| (a.min(begin), b.max(end)));
            all.context("no event of the trace has a time, so none can be named")?
        }
    };
    let ns = |time: Option<&Time>, edge| {
        time.map(|time| instant(time, bounds, is_utc, edge)).transpose()
    };
    Ok(Span { from: ns(from, Edge::Begin)?, until: ns(to, Edge::End)? })
}

/// Which edge of a span a time is. Of two times that a change of the clocks gives the same name,
/// the one is meant with which the span has more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Begin,
    End,
}

fn instant(time: &Time, (begin, end): (Ns, Ns), is_utc: bool, edge: Edge) -> anyhow::Result<Ns> {
    Ok(match time {
        Time::At(ns) => Ns(*ns),
        Time::SinceBegin(ns) => Ns(begin.0.saturating_add(*ns)),
        Time::BeforeEnd(ns) => Ns(end.0.saturating_sub(*ns)),
        Time::Date(date, says_utc) => of_date(date, is_utc || *says_utc, edge)?,
        Time::OfDay(time, says_utc) => {
            let is_utc = is_utc || *says_utc;
            let begins = DateTime::from_timestamp_nanos(begin.0);
            let day = match is_utc {
                true => begins.date_naive(),
                false => begins.with_timezone(&Local).date_naive(),
            };
            let that_day = of_date(&day.and_time(*time), is_utc, edge)?;
            let next = day.checked_add_days(Days::new(1)).context("the date is out of range")?;
            let day_after = of_date(&next.and_time(*time), is_utc, edge)?;
            if that_day < begin && day_after <= end {
                day_after
            } else {
                that_day
            }
        }
    })
}

fn of_date(date: &NaiveDateTime, is_utc: bool, edge: Edge) -> anyhow::Result<Ns> {
    let ns = match is_utc {
        true => Utc.from_utc_datetime(date).timestamp_nanos_opt(),
        false => match Local.from_local_datetime(date) {
            MappedLocalTime::Single(date) => date.timestamp_nanos_opt(),
            // In either order.
            MappedLocalTime::Ambiguous(one, other) => match edge {
                Edge::Begin => one.min(other).timestamp_nanos_opt(),
                Edge::End => one.max(other).timestamp_nanos_opt(),
            },
            MappedLocalTime::None => bail!("there was no {date}: the clocks were set forward"),
        },
    };
    ns.map(Ns).with_context(|| format!("{date} is out of range"))
}
