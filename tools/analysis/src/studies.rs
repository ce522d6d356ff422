// SPDX-License-Identifier: MIT
//! The analyses that have a name: each answers one question about a trace.
//!
//! Place in the flow: [`ask`] runs the one pass of `analyses`; a [`Study`] hears of each event,
//! after the state has taken it over, and says in the end what it found as a [`Sheet`]. The report
//! of the same pass says how complete the trace is. A further analysis is a module below and a row
//! in [`NAMED`].

mod cpu;
mod critical;
mod devices;
mod files;
mod flame;
mod interrupts;
mod latency;
mod locks;
mod memory;
mod off_cpu;
mod periodic;
mod unusual;

use std::sync::Arc;

use serde::{Serialize, Serializer};
use state::{Classes, State, Step, ThreadIndex};
use trace::{CpuId, Event, LossMessage, Ns, Span, Trace};

use crate::analyses::{drive, Options, Whose};
use crate::error::Error;
use crate::losses::{Lost, LostRow, Verdict};
use crate::names::{Namer, Names};
use crate::report::{Report, TraceRow};
use crate::sheet::{Facts, Sheet, Tables};

/// The name of the analysis that takes two traces.
pub const COMPARE: &str = "compare";
/// Raised when a key changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 1;

/// An analysis by its name.
#[derive(Debug)]
pub struct Named {
    pub name: &'static str,
    /// What it tells, in a line.
    pub summary: &'static str,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Study(Make),
    /// The report has some tables, which come first.
    Both(fn(&Report) -> Sheet, Make),
    /// It takes two traces: [`crate::compare`].
    Two,
}

/// Makes a study that may look into the traces.
type Make = for<'t> fn(&Start<'t>) -> Result<Box<dyn Study + 't>, Error>;

/// All of them, in the order of the list for people.
pub static NAMED: [Named; 12] = [
    Named {
        name: "cpu",
        summary: "time on a CPU and waits for one, by thread and by CPU",
        source: Source::Study(cpu::make),
    },
    Named {
        name: "off-cpu",
        summary: "time off the CPU, by what threads waited in",
        source: Source::Study(off_cpu::make),
    },
    Named {
        name: "io",
        summary: "bytes, calls and time by file; requests and their latency by device",
        source: Source::Both(files::sheet, devices::make),
    },
    Named {
        name: "locks",
        summary: "waits for locks and conditions: which, how long, who for whom",
        source: Source::Study(locks::make),
    },
    Named {
        name: "latency",
        summary: "how long calls took, or the time between two events; when the longest were",
        source: Source::Study(latency::make),
    },
    Named {
        name: "memory",
        summary: "where memory was allocated, what was not freed, the peak, lifetimes",
        source: Source::Study(memory::make),
    },
    Named {
        name: "critical-path",
        summary: "what a thread, the longest call or the longest request had to wait for",
        source: Source::Study(critical::make),
    },
    Named {
        name: "flame",
        summary: "stacks of calls, of waits, or as recorded, as a graph too (--svg, --folded)",
        source: Source::Study(flame::make),
    },
    Named {
        name: COMPARE,
        summary: "what is different in a second trace, and whether that is more than chance",
        source: Source::Two,
    },
    Named {
        name: "interrupts",
        summary: "interrupts, hard and soft: how many, how long, on which CPU, the longest",
        source: Source::Study(interrupts::make),
    },
    Named {
        name: "periodic",
        summary: "what threads do at regular intervals: period, jitter, misses and when",
        source: Source::Study(periodic::make),
    },
    Named {
        name: "unusual",
        summary: "when rates and latencies left their usual range",
        source: Source::Study(unusual::make),
    },
];

/// The analysis of a name.
pub fn named(name: &str) -> Option<&'static Named> {
    NAMED.iter().find(|named| named.name == name)
}

/// What is asked beside the analysis' name.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// Pairs by name; without any, all.
    pub pairs: Vec<String>,
    /// Instead of pairs, two events by name.
    pub between: Option<(String, String)>,
    /// Fields of the first and of the second of these that are equal where they belong together.
    pub keys: Vec<(String, String)>,
    /// What a flame graph is of; without it, waits if the scheduler tells of them, else calls.
    pub flame_of: Option<FlameOf>,
}

/// What the stacks of a flame graph are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlameOf {
    /// Time in calls, by entry and exit.
    Calls,
    /// Time off the CPU.
    Waits,
    /// Events that carry a stack.
    Stacks,
}

/// What a study knows before the first event.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    pub question: &'a Question,
    pub traces: &'a [Trace],
    pub classes: &'a Classes,
    pub span: Span,
    /// Whether threads were asked for.
    pub has_threads: bool,
    pub(crate) names: Option<&'a Arc<Names>>,
}

impl<'a> Start<'a> {
    /// Names the call stacks of events.
    pub(crate) fn namer(&self) -> Namer<'a> {
        Namer::of_span(self.traces, self.names.cloned(), &self.span)
    }

    /// Nothing before it counts.
    fn from(&self) -> Ns {
        self.span.from.unwrap_or(Ns(i64::MIN))
    }
}

/// An event, and the state that it led to.
#[derive(Clone, Copy)]
pub struct Moment<'m> {
    pub event: &'m Event<'m>,
    pub step: Step,
    pub state: &'m State,
    /// Whether the selection takes the event. Those that it does not take come, too: they may have
    /// changed the state.
    pub is_taken: bool,
}

/// After the last event.
#[derive(Clone, Copy)]
pub struct End<'a> {
    pub state: &'a State,
    /// The first and the last event.
    pub first: Ns,
    pub last: Ns,
    pub(crate) whose: Option<Whose<'a>>,
}

impl End<'_> {
    /// Whether a thread is one of those that were asked for.
    pub fn is_asked(&self, thread: ThreadIndex) -> bool {
        self.whose.is_none_or(|whose| whose(self.state.threads(), thread))
    }
}

/// An analysis at work. What it keeps is bounded, whatever the trace.
pub trait Study {
    fn event(&mut self, moment: &Moment<'_>);

    /// Threads have moved from place to place (`State::moves`), by an event of a machine's CPU that
    /// comes next, or, without one, because of a loss.
    fn moved(&mut self, _state: &State, _cpu: Option<(u32, CpuId)>, _at: Ns) {}

    /// Events or packets were lost before the next event.
    fn loss(&mut self, _loss: &LossMessage<'_>, _state: &State) {}

    fn finish(&mut self, end: &End<'_>) -> Sheet;
}

/// An answer, and the report of the pass that found it.
#[derive(Debug)]
pub struct Answer {
    pub analysis: &'static str,
    pub report: Report,
    /// Of the second trace, where two are compared.
    pub other: Option<Report>,
    pub sheet: Sheet,
}

/// Reads traces from beginning to end for one analysis. `progress` hears how many bytes have been
/// read.
pub fn ask(
    named: &'static Named,
    question: &Question,
    traces: &[Trace],
    options: &Options<'_>,
    progress: impl FnMut(u64),
) -> Result<Answer, Error> {
    let classes = Classes::new(traces);
    let start = Start {
        question,
        traces,
        classes: &classes,
        span: options.span,
        has_threads: options.whose.is_some(),
        names: options.names.as_ref(),
    };
    let (Source::Study(make) | Source::Both(_, make)) = named.source else {
        let (option, purpose) = ("two traces", "A and B, in the order of time");
        return Err(Error::Lacks { analysis: named.name, option, purpose });
    };
    let (report, found) = drive(traces, options, Some(make(&start)?), progress);
    let mut sheet = found.unwrap_or_default();
    if let Source::Both(of_report, _) = named.source {
        let first = of_report(&report);
        sheet.tables.splice(0..0, first.tables);
        sheet.notes.splice(0..0, first.notes);
    }
    Ok(Answer { analysis: named.name, report, other: None, sheet })
}

/// How complete a trace is, and what of it was read.
#[derive(Serialize)]
struct Read<'a> {
    complete: bool,
    events: u64,
    matched_events: u64,
    lost: &'a Lost,
    lost_where: &'a [LostRow],
    verdict: &'a Verdict,
    traces: &'a [TraceRow],
    begin_ns: i64,
    end_ns: i64,
    duration_ns: u64,
}

impl<'a> Read<'a> {
    fn of(report: &'a Report) -> Self {
        Self {
            complete: report.complete,
            events: report.events,
            matched_events: report.matched_events,
            lost: &report.lost,
            lost_where: &report.lost_where,
            verdict: &report.verdict,
            traces: &report.traces,
            begin_ns: report.begin_ns,
            end_ns: report.end_ns,
            duration_ns: report.duration_ns,
        }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            schema_version: u32,
            analysis: &'static str,
            #[serde(flatten)]
            read: Read<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            other: Option<Read<'a>>,
            facts: Facts<'a>,
            tables: Tables<'a>,
            notes: &'a [String],
        }
        let whole = Whole {
            schema_version: SCHEMA_VERSION,
            analysis: self.analysis,
            read: Read::of(&self.report),
            other: self.other.as_ref().map(Read::of),
            facts: Facts(&self.sheet.facts),
            tables: Tables(&self.sheet.tables),
            notes: &self.sheet.notes,
        };
        whole.serialize(serializer)
    }
}
