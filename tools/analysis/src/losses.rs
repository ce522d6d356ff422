// SPDX-License-Identifier: MIT
//! What is missing from a trace, where, and why.
//!
//! Place in the flow: fed with the losses that the merge hands out among the events, and at the end
//! with what the recorder wrote into the environment and what the reader found damaged. The three
//! are combined into one verdict: of different counts of one loss, the largest counts.

use std::collections::BTreeMap;

use serde::Serialize;
pub use state::recorded_verdict;
use trace::{CpuId, LossKind, LossMessage, Merge, Metadata, Ns, Problem, Trace};
use verdict::environment::PART;
use verdict::text::plural;
use verdict::State;

use crate::rows::Rows;

/// Problems kept as text; the rest are counted.
const MOST_PROBLEMS: usize = 1000;
/// Places told apart: processors times causes.
const MOST_PLACES: usize = 1 << 14;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// No free sub-buffer.
    Full,
    /// The next sub-buffer was still being written.
    Overflow,
    TooBig,
    /// Reserved, never committed: the writer died.
    InFlight,
    /// The writer does not tell causes apart.
    Other,
    /// Whole packets: their events are not counted.
    Packets,
}

const CAUSES: [(Cause, &str); 4] = [
    (Cause::Full, "full"),
    (Cause::Overflow, "overflow"),
    (Cause::TooBig, "too_big"),
    (Cause::InFlight, "in_flight"),
];

/// Lost events by cause, and lost packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lost {
    pub full: u64,
    pub overflow: u64,
    pub too_big: u64,
    pub in_flight: u64,
    pub other: u64,
    /// All of the above.
    pub events: u64,
    pub packets: u64,
    /// What the recorder could not write, and what was overwritten in memory.
    pub unwritten_packets: u64,
    pub unwritten_events: u64,
    pub damaged_packets: u64,
}

/// Loss of one cause in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostRow {
    pub cause: Cause,
    pub count: u64,
    pub cpu: Option<u32>,
    /// The loss happened between these times. `None`: before the first packet, or not known.
    pub begin_ns: Option<i64>,
    pub until_ns: Option<i64>,
    /// In how many pieces the events were lost.
    pub times: u64,
}

/// The recorders' verdicts on all traces and what the reader found, in one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub state: State,
    /// What is missing beside the counted losses, a sentence each.
    pub missing: Vec<String>,
    /// What a trace without loss does not tell, a sentence each.
    pub limits: Vec<String>,
    pub notes: Vec<String>,
    /// Damage, with file, packet and byte.
    pub problems: Vec<String>,
    pub problem_count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    trace: u32,
    cpu: Option<CpuId>,
    cause: Cause,
}

#[derive(Debug, Default)]
struct Span {
    count: u64,
    times: u64,
    begin: Option<Ns>,
    until: Option<Ns>,
    /// Whether some piece has no known begin.
    is_open: bool,
}

pub(crate) struct Losses {
    places: Rows<Place, Span>,
    latest: Option<Ns>,
}

/// What is known of the losses at the end.
pub(crate) struct LossesReport {
    pub lost: Lost,
    pub places: Vec<LostRow>,
    pub verdict: Verdict,
}

impl Losses {
    pub fn new() -> Self {
        Self { places: Rows::new(MOST_PLACES), latest: None }
    }

    pub fn event(&mut self, message: &LossMessage<'_>) {
        let loss = message.loss;
        let span = (message.begin_ns(), message.until_ns());
        let place = |cause| Place { trace: message.trace_index as u32, cpu: loss.cpu, cause };
        if loss.kind == LossKind::Packets {
            return self.add(place(Cause::Packets), loss.count, span);
        }
        let mut rest = loss.count;
        for (name, count) in &loss.causes {
            let known = CAUSES.iter().find(|(_, known)| *known == &**name);
            let count = (*count).min(rest);
            rest -= count;
            self.add(place(known.map_or(Cause::Other, |(cause, ..)| *cause)), count, span);
        }
        self.add(place(Cause::Other), rest, span);
    }

    fn add(&mut self, place: Place, count: u64, (begin, until): (Option<Ns>, Option<Ns>)) {
        if count == 0 {
            return;
        }
        let span = self.places.row(place);
        span.count = span.count.saturating_add(count);
        span.times += 1;
        span.is_open |= begin.is_none();
        span.begin = span.begin.into_iter().chain(begin).min();
        span.until = span.until.max(until);
        self.latest = self.latest.max(until);
    }

    /// End of the last loss: an exit before it may be among what was lost.
    pub fn latest(&self) -> Option<Ns> {
        self.latest
    }

    fn seen(&self, trace: u32, cause: Cause) -> u64 {
        let here = self.places.iter().filter_map(|(place, span)| {
            let place = place?;
            (place.trace == trace && place.cause == cause).then_some(span.count)
        });
        here.fold(0, u64::saturating_add)
    }

    fn rows(&self) -> Vec<LostRow> {
        let lost = self.places.iter().filter(|(_, span)| span.count > 0);
        let mut rows: Vec<LostRow> = lost
            .map(|(place, span)| LostRow {
                cause: place.map_or(Cause::Other, |place| place.cause),
                count: span.count,
                cpu: place.and_then(|place| place.cpu).map(|cpu| cpu.0),
                begin_ns: span.begin.filter(|_| !span.is_open).map(|at| at.0),
                until_ns: span.until.map(|at| at.0),
                times: span.times,
            })
            .collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.count), row.cause, row.cpu));
        rows
    }

    /// Forms the verdict. `events_read` has a count for each trace, or nothing where events of the
    /// trace were read in another; `None`: the traces were not read from beginning to end. Then
    /// what recorders counted is not of what was read, and is in no count.
    pub fn finish(
        &self,
        traces: &[&Metadata],
        events_read: Option<&[Option<u64>]>,
        problems: &[Problem],
    ) -> LossesReport {
        let mut lost = Lost::default();
        let mut places = self.rows();
        let mut verdict = Verdict {
            state: State::Complete,
            missing: Vec::new(),
            limits: Vec::new(),
            notes: Vec::new(),
            problems: problems.iter().take(MOST_PROBLEMS).map(Problem::to_string).collect(),
            problem_count: problems.len() as u64,
        };
        let add = |sum: &mut u64, count| *sum = sum.saturating_add(count);
        for (index, metadata) in traces.iter().enumerate() {
            let said = recorded_verdict(metadata);
            let Some(events_read) = events_read else {
                verdict.hear_of_whole(said);
                continue;
            };
            let told = [said.lost.full, said.lost.overflow, said.lost.too_big, said.lost.in_flight];
            for ((cause, _), told) in CAUSES.into_iter().zip(told) {
                let count = told.saturating_sub(self.seen(index as u32, cause));
                let (cpu, begin_ns, until_ns, times) = (None, None, None, 1);
                if count > 0 {
                    places.push(LostRow { cause, count, cpu, begin_ns, until_ns, times });
                }
            }
            add(&mut lost.unwritten_packets, said.unwritten_packets);
            add(&mut lost.unwritten_events, said.unwritten_events);
            add(&mut lost.damaged_packets, said.damaged_packets);
            verdict.hear(said, events_read.get(index).copied().flatten());
        }
        for row in &places {
            let count = match row.cause {
                Cause::Full => &mut lost.full,
                Cause::Overflow => &mut lost.overflow,
                Cause::TooBig => &mut lost.too_big,
                Cause::InFlight => &mut lost.in_flight,
                Cause::Other => &mut lost.other,
                Cause::Packets => &mut lost.packets,
            };
            *count = count.saturating_add(row.count);
        }
        let by_cause = [lost.full, lost.overflow, lost.too_big, lost.in_flight, lost.other];
        lost.events = by_cause.into_iter().fold(0, u64::saturating_add);
        let is_damaged = !verdict.missing.is_empty() || verdict.problem_count > 0;
        if is_damaged || !places.is_empty() {
            verdict.state = verdict.state.max(State::Incomplete);
        }
        let has_none = events_read.is_some_and(|read| read.iter().all(|read| *read == Some(0)));
        if has_none && matches!(verdict.state, State::Complete | State::Limited) {
            verdict.state = State::NothingMatched;
        }
        LossesReport { lost, places, verdict }
    }
}

impl Verdict {
    /// Takes over what a trace's recorder said, but for the losses that the packets tell of.
    fn hear(&mut self, said: verdict::Verdict, events_read: Option<u64>) {
        let wrote = (said.events, said.state);
        self.state = self.state.max(said.state);
        let counted = said.loss_sentences();
        self.missing.extend(said.missing.into_iter().filter(|line| !counted.contains(line)));
        self.limits.extend(said.limits);
        self.notes.extend(said.notes);
        self.missing.extend(events_read.and_then(|read| miscount(wrote, read)));
    }

    /// The same, of a trace of which a part was read.
    fn hear_of_whole(&mut self, said: verdict::Verdict) {
        let lost = said.lost.total();
        self.hear(said, None);
        if lost > 0 {
            self.missing.push(format!(
                "{} lost in the whole recording: counted here is what was lost in the part of it \
                 that was read",
                plural(lost, "event")
            ));
        }
    }
}

/// What the recorder of a trace says that it wrote: how many events, and whether they are all.
type Wrote = (u64, State);

/// A sentence where other events can be read than a recorder wrote.
fn miscount((wrote, state): Wrote, read: u64) -> Option<String> {
    if read < wrote {
        return Some(format!("the recorder wrote {wrote} events; {read} of them can be read"));
    }
    let is_more = read > wrote && wrote > 0 && state.claims_all();
    is_more.then(|| {
        format!(
            "the recorder wrote {wrote} events, and {read} can be read: some are there twice, or \
             are not its own"
        )
    })
}

/// Of each trace, how many events were read, where that is to be what its recorder wrote: all of
/// them were read, it is no part of a recording, and no packets of it were read in another one.
pub(crate) fn comparable(
    traces: &[Trace],
    merge: &Merge<'_>,
    events_read: &[u64],
) -> Vec<Option<u64>> {
    let is_whole = |trace: &Trace| trace.metadata().environment_value(PART).is_none();
    let read = traces.iter().zip(events_read);
    let mut read: Vec<_> = read.map(|(trace, read)| is_whole(trace).then_some(*read)).collect();
    for repeated in merge.repeated() {
        if let Some(read) = read.get_mut(repeated.trace_index) {
            *read = None;
        }
    }
    read
}

/// Sentences about traces of which other events were read than their recorders wrote.
/// `events_read`: of each trace, without [`trace::BOOKKEEPING`], when all of it was read.
pub fn miscounts(traces: &[Trace], merge: &Merge<'_>, events_read: &[u64]) -> Vec<String> {
    let read = comparable(traces, merge, events_read);
    let sentence = |(trace, read): (&Trace, Option<u64>)| {
        let said = recorded_verdict(trace.metadata());
        let sentence = miscount((said.events, said.state), read?)?;
        Some(format!("{}: {sentence}", trace.path().display()))
    };
    traces.iter().zip(read).filter_map(sentence).collect()
}

/// What recorders said of traces, and what was read of each, from beginning to end, in one. If that
/// is not known of each, what they said.
pub fn judged(traces: &[Trace], read: &[state::Read]) -> Vec<verdict::Verdict> {
    if read.len() != traces.len() {
        return traces.iter().map(|trace| recorded_verdict(trace.metadata())).collect();
    }
    let mut merge = Merge::over(traces);
    // Streams tell with their first packets that they began before.
    let _ = merge.next();
    let events: Vec<u64> = read.iter().map(|read| read.events).collect();
    let comparable = comparable(traces, &merge, &events);
    let late = late_by_trace(traces, &merge);
    let judge = |((trace, read), (events, late)): ((&Trace, &state::Read), (Option<u64>, _))| {
        let mut said = recorded_verdict(trace.metadata());
        let wrote = (said.events, said.state);
        said.missing.extend(events.and_then(|read| miscount(wrote, read)));
        said.limits.extend(late);
        let is_damaged = !said.missing.is_empty() || read.problems > 0;
        if is_damaged || read.lost > 0 {
            said.state = said.state.max(State::Incomplete);
        } else if !said.limits.is_empty() && said.state == State::Complete {
            said.state = State::Limited;
        }
        if events == Some(0) && matches!(said.state, State::Complete | State::Limited) {
            said.state = State::NothingMatched;
        }
        said
    };
    traces.iter().zip(read).zip(comparable.into_iter().zip(late)).map(judge).collect()
}

/// Sentences about streams that began before their traces did.
pub fn late_beginnings(traces: &[Trace], merge: &Merge<'_>) -> Vec<String> {
    late_by_trace(traces, merge).into_iter().flatten().collect()
}

fn late_by_trace(traces: &[Trace], merge: &Merge<'_>) -> Vec<Option<String>> {
    let mut by_trace = vec![(0u64, 0u64); traces.len()];
    for late in merge.beginnings() {
        if let Some((streams, discarded)) = by_trace.get_mut(late.trace_index) {
            *streams += 1;
            *discarded = discarded.saturating_add(late.discarded);
        }
    }
    let sentence = |(trace, (streams, discarded)): (&Trace, (u64, u64))| {
        if streams == 0 {
            return None;
        }
        let path = trace.path().display();
        let streams = plural(streams, "stream");
        Some(match discarded {
            0 => format!("{path}: {streams} began before the trace, with packets that it lacks"),
            _ => format!(
                "{path}: {streams} began before the trace; {} had been discarded when the first \
                 packets in the trace ended, and are not counted as lost",
                plural(discarded, "event")
            ),
        })
    };
    traces.iter().zip(by_trace).map(sentence).collect()
}

/// Sentences about packets that two traces have.
pub fn repeated_packets(traces: &[Trace], merge: &Merge<'_>) -> Vec<String> {
    let mut by_traces: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for repeated in merge.repeated() {
        *by_traces.entry((repeated.trace_index, repeated.read_in)).or_default() += 1;
    }
    let sentence = |((of, read_in), streams): (&(usize, usize), &u64)| {
        let (of, read_in) = (traces.get(*of)?.path(), traces.get(*read_in)?.path());
        let streams = plural(*streams, "stream");
        let (of, read_in) = (of.display(), read_in.display());
        Some(format!("{of}: packets of {streams} are also in {read_in}, and are read only there"))
    };
    by_traces.iter().filter_map(sentence).collect()
}
