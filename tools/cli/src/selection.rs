// SPDX-License-Identifier: MIT
//! Which events of a trace `print`, `report` and `export` take: their arguments for it are the
//! same, and mean the same.
//!
//! Place in the flow: the arguments become a [`Selection`] before the traces are opened, and
//! [`Rules`] for the classes of their events afterwards. The -e means what it means for `lull
//! record`, because the same patterns match and the same filters are parsed. `selection/time.rs`
//! reads times, `selection/fields.rs` values.

pub(crate) mod fields;
#[cfg(test)]
mod tests;
mod time;

use anyhow::bail;
use filter::{Input, Known};
use session::pattern::Patterns;
use state::{ThreadContext, ThreadIndex, Threads};
use trace::{Event, EventClass, Span, Trace};

use crate::record::asked::Asked;
use fields::ClassRule;
pub use time::{parse as parse_time, span, Time};

/// The level of the least severe events.
pub(crate) const DEBUG: u8 = 7;

#[derive(Debug, Default, clap::Args)]
pub struct SelectionArgs {
    /// Only events that match: GLOB, GLOB@LEVEL, !GLOB for none of these, 'GLOB if FILTER'; the
    /// last that matches decides
    #[arg(short = 'e', long = "event", value_name = "PATTERN")]
    pub events: Vec<String>,

    /// Only from this time on: 14:03, '2026-05-04 14:03:05.25', +1.5s after the beginning, 'last
    /// 2s', or nanoseconds of the clock; of two times of one name, the earlier
    #[arg(long, value_name = "TIME", value_parser = time::parse, allow_negative_numbers = true)]
    pub from: Option<Time>,

    /// Only before this time; of two times of one name, as clocks repeat an hour, the later
    #[arg(long, value_name = "TIME", value_parser = time::parse, allow_negative_numbers = true)]
    pub to: Option<Time>,

    /// Only events of these processes, by number
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    pub pid: Vec<i64>,

    /// Only events of these threads, by number
    #[arg(long, value_name = "TID", value_delimiter = ',')]
    pub tid: Vec<i64>,

    /// Only events on these CPUs
    #[arg(long, value_name = "CPU", value_delimiter = ',')]
    pub cpu: Vec<u32>,

    /// Only events of threads of this name; git* is all that begin with git
    #[arg(long, value_name = "NAME")]
    pub comm: Vec<String>,
}

/// What is asked for, understood.
pub struct Selection<'a> {
    args: &'a SelectionArgs,
    asked: Asked,
    patterns: Patterns,
}

/// The thread of an event, as far as it is known.
#[derive(Clone, Copy, Default)]
pub struct Who<'a> {
    pub pid: Option<i64>,
    pub tid: Option<i64>,
    pub name: Option<&'a [u8]>,
    /// Its user, where another than the event itself tells of that.
    pub user: Option<u32>,
}

/// Asks about a thread of the state.
pub fn with_who(threads: &Threads, thread: ThreadIndex, ask: impl FnOnce(Who<'_>) -> bool) -> bool {
    let name = threads.threads().get(thread.0 as usize).map(|thread| thread.name.text());
    let pid = threads.pid(threads.process_of(thread));
    let name = name.as_ref().map(|name| name.as_bytes());
    ask(Who { pid, tid: threads.tid(thread), name, user: None })
}

impl<'a> Selection<'a> {
    pub fn new(args: &'a SelectionArgs) -> anyhow::Result<Self> {
        let asked = Asked::new(&args.events)?;
        if let Some(told) = asked.first_rate() {
            bail!("-e '{told}': only what is recorded can be sampled, as in `lull record -e`");
        }
        let patterns = Patterns::exactly(asked.patterns())?;
        Ok(Self { args, asked, patterns })
    }

    /// The patterns, without their filters.
    pub fn patterns(&self) -> &[String] {
        self.asked.patterns()
    }

    /// Whether events of these names are asked for. `log_level` is the one in the trace, where
    /// debugging has several levels from 7 on; events without a level are least severe.
    pub fn wants(&self, names: &[&str], log_level: Option<i64>) -> bool {
        self.patterns.match_any(names, level(log_level))
    }

    /// The time that is asked for. Times of day are those of the day on which the traces begin.
    pub fn span(&self, traces: &[Trace], is_utc: bool) -> anyhow::Result<Span> {
        let span = time::span(self.args.from.as_ref(), self.args.to.as_ref(), traces, is_utc)?;
        if span.from.zip(span.until).is_some_and(|(from, until)| from >= until) {
            bail!("--from is not before --to");
        }
        Ok(span)
    }

    /// Whether threads are asked for, by number, process or name.
    pub fn has_threads(&self) -> bool {
        let SelectionArgs { pid, tid, comm, .. } = self.args;
        !pid.is_empty() || !tid.is_empty() || !comm.is_empty()
    }

    /// Whether anything but names and times decides.
    fn has_conditions(&self) -> bool {
        self.has_threads() || !self.args.cpu.is_empty() || self.asked.has_filters()
    }

    /// Whether all events are asked for.
    pub fn is_everything(&self) -> bool {
        let has_times = self.args.from.is_some() || self.args.to.is_some();
        self.args.events.is_empty() && !has_times && !self.has_conditions()
    }

    /// What decides about the events of each class. `names` are those that patterns match for a
    /// class of the trace at a position.
    pub fn rules(
        &self,
        traces: &[Trace],
        names: &dyn Fn(usize, &EventClass) -> Vec<String>,
    ) -> anyhow::Result<Rules<'_>> {
        let mut by_trace = Vec::new();
        if self.asked.has_filters() {
            by_trace = fields::rules(&self.asked, traces, names)?;
        }
        Ok(Rules { args: self.args, has_conditions: self.has_conditions(), by_trace })
    }
}

pub(crate) fn level(log_level: Option<i64>) -> u8 {
    let level = log_level.and_then(|level| u8::try_from(level).ok());
    level.map_or(DEBUG, |level| level.min(DEBUG))
}

/// The conditions on events, beside their names and times.
pub struct Rules<'a> {
    args: &'a SelectionArgs,
    has_conditions: bool,
    /// By class; nothing where there are no filters.
    by_trace: Vec<Vec<Option<ClassRule>>>,
}

impl Rules<'_> {
    /// Whether anything but names and times decides.
    pub fn has_conditions(&self) -> bool {
        self.has_conditions
    }

    /// Whether an event is taken. `who` is its thread where the caller knows it; otherwise the
    /// event's own context may.
    #[inline]
    pub fn take(&self, event: &Event<'_>, who: Option<Who<'_>>) -> bool {
        !self.has_conditions || self.decide(event, who)
    }

    /// Whether a thread is one of those that were asked for by number or name.
    pub fn take_thread(&self, who: Who<'_>) -> bool {
        let is_one = |asked: &[i64], found: Option<i64>| {
            asked.is_empty() || found.is_some_and(|found| asked.contains(&found))
        };
        let SelectionArgs { pid, tid, comm, .. } = self.args;
        is_one(pid, who.pid)
            && is_one(tid, who.tid)
            && (comm.is_empty() || who.name.is_some_and(|name| is_called(comm, name)))
    }

    fn decide(&self, event: &Event<'_>, who: Option<Who<'_>>) -> bool {
        let own = match who {
            Some(_) => ThreadContext::default(),
            None => ThreadContext::of(event),
        };
        let name = own.name.map(|name| name.text());
        let of_own = || Who {
            pid: own.pid,
            tid: own.tid,
            name: name.as_ref().map(|n| n.as_bytes()),
            user: None,
        };
        let who = who.unwrap_or_else(of_own);
        let cpu = &self.args.cpu;
        self.take_thread(who)
            && (cpu.is_empty() || event.cpu().is_some_and(|found| cpu.contains(&found.0)))
            && self.rule_holds(event, who)
    }

    fn rule_holds(&self, event: &Event<'_>, who: Who<'_>) -> bool {
        let of_class = |rules: &Vec<Option<ClassRule>>| match rules.get(event.class().index) {
            Some(Some(rule)) => rule.holds(event, who),
            _ => true,
        };
        self.by_trace.get(event.trace_index()).is_none_or(of_class)
    }
}

fn is_called(asked: &[String], name: &[u8]) -> bool {
    asked.iter().any(|asked| match asked.strip_suffix('*') {
        Some(begin) => name.starts_with(begin.as_bytes()),
        None => name == asked.as_bytes(),
    })
}

/// What is known of an event's thread and CPU under the name of a context.
fn context<'v>(name: &str, event: &Event<'_>, who: Who<'v>) -> Option<Known<'v>> {
    Some(match name {
        "pid" => Known::Number(who.pid? as u64),
        "tid" => Known::Number(who.tid? as u64),
        "comm" => Known::Text(who.name?.into()),
        "cpu" => Known::Number(event.cpu()?.0.into()),
        _ => return None,
    })
}
