// SPDX-License-Identifier: MIT
//! Writes the events of a trace, or some of them, as another trace: CTF 1.8 or CTF 2, in either
//! byte order, with the times as they are or corrected.
//!
//! Flow: `layout` decides what the new trace's parts are; `tsdl` or `json` describes them;
//! [`convert`] takes the events in the order of time and hands each to the `stream` that it belongs
//! to, where `encode` appends its values to the open packet. Memory holds one packet per stream.
//!
//! Every value begins at a byte, so that no value's place depends on the types around it; values,
//! names, labels, clocks, packets and lost counts are kept, bit fields take more room.

mod correction;
mod encode;
mod estimate;
mod json;
mod layout;
mod messages;
mod path;
mod stream;
mod tsdl;

use std::fs::File;
use std::io;

pub use correction::Correction;
pub use estimate::{estimate, Estimate, Inconsistent, Sent, MAX_DRIFT};
pub use layout::Layout;
pub use messages::{Counts, Messages, Rule};
use stream::Stream;
use trace::{
    stream_files_text, ByteOrder, EnvironmentValue, Event, Merge, Message, Metadata, Problem,
    RecordedThread, RecordedThreads, Span, ThreadFields, Trace, BOOKKEEPING, STREAM_FILES,
};

/// Which version of CTF is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Ctf1,
    Ctf2,
}

/// Whether an event is to be in the new trace. The thread is the one that Lull recorded.
pub type Take<'a> = &'a dyn Fn(&Event<'_>, Option<&RecordedThread>) -> bool;

/// What is wrong with how many events a trace has, [`BOOKKEEPING`] not counted.
pub type Miscount<'a> = &'a dyn Fn(&Merge<'_>, u64) -> Option<String>;

/// Which part of a trace is written, and what else the new one says.
#[derive(Default)]
pub struct Part<'a> {
    pub span: Span,
    /// Everything in the span, if there is nothing to ask.
    pub take: Option<Take<'a>>,
    /// Entries of the environment that replace those of the same name, or are added.
    pub environment: Vec<(String, EnvironmentValue)>,
    /// The same, where something was wrong with what was read, or `miscount` says so.
    pub environment_of_damaged: Vec<(String, EnvironmentValue)>,
    /// Told how many events all of the trace has; what it answers is for [`Converted::miscount`].
    pub miscount: Option<Miscount<'a>>,
    /// Moves all times to another clock; they are nanoseconds then.
    pub correction: Option<Correction>,
}

/// What the new trace is to be like.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub format: Format,
    pub order: ByteOrder,
    /// Times in nanoseconds and, where threads are recorded, contexts `vpid` and `vtid`: what
    /// Trace Compass needs to show times exactly and threads at all.
    pub for_trace_compass: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{name}: {source}")]
    Io { name: String, source: io::Error },
    #[error("{what} cannot be described in this version of CTF: {why}; the other one may do")]
    Inexpressible { what: String, why: &'static str },
    #[error("the new trace's metadata would be wrong: {0}")]
    WrongMetadata(String),
    #[error("event `{event}` cannot be read: {fault}")]
    Unreadable { event: String, fault: trace::Fault },
    #[error("a packet of {name} cannot be read: {fault}")]
    UnreadablePacket { name: String, fault: trace::Fault },
    #[error("a packet of {0} bytes is larger than its size can say")]
    PacketTooLarge(usize),
}

/// What was written.
#[derive(Debug)]
pub struct Converted {
    pub metadata: String,
    /// Of people: records of threads are not counted.
    pub events: u64,
    /// Events in the span that were not asked for.
    pub left_out: u64,
    pub lost_events: u64,
    pub lost_packets: u64,
    /// Streams whose first packets the old trace does not have; the new one cannot say so.
    pub cut_streams: usize,
    /// What was wrong with the trace that was read.
    pub problems: Vec<Problem>,
    /// What is wrong with how many events it had, if all of it was read.
    pub miscount: Option<String>,
}

/// Writes events to stream files that `make` makes by their names. The metadata is the
/// caller's to write, last: until then the new trace is none. `advance` hears how many bytes of
/// the old trace are done.
pub fn convert(
    trace: &Trace,
    options: Options,
    part: &Part<'_>,
    make: &mut dyn FnMut(&str) -> io::Result<File>,
    advance: &mut dyn FnMut(u64),
) -> Result<Converted, Error> {
    let mut layout = Layout::new(trace.metadata(), options, part);
    let described = |layout: &Layout| match options.format {
        Format::Ctf1 => tsdl::metadata(trace.metadata(), layout),
        Format::Ctf2 => json::metadata(trace.metadata(), layout),
    };
    // Whatever the old metadata says, the new one must be what the reader accepts.
    Metadata::parse(&described(&layout)?)
        .map_err(|error| Error::WrongMetadata(error.to_string()))?;
    let mut merge = Merge::between(std::slice::from_ref(trace), &part.span);
    let fields = trace.event_classes().map(ThreadFields::of).collect();
    let mut copy = Copy {
        trace,
        layout: &layout,
        part,
        fields,
        counts: trace.event_classes().map(|class| !BOOKKEEPING.contains(&&*class.name)).collect(),
        threads: RecordedThreads::new(merge.stream_count()),
        streams: (0..merge.stream_count()).map(|_| None).collect(),
        made: Made::default(),
    };
    let mut read_bytes = 0;
    let mut messages = 0u64;
    while let Some(message) = merge.next() {
        messages += 1;
        if let Message::Event(event) = &message {
            read_bytes += event.size_bits() / 8;
        }
        if messages % 4096 == 0 {
            advance(read_bytes);
        }
        copy.message(message, make)?;
    }
    for stream in copy.streams.iter_mut().flatten() {
        stream.finish(&layout)?;
    }
    let files = stream_files_text(copy.streams.iter().flatten().map(Stream::file));
    let (cut_streams, problems) = (merge.beginnings().count(), merge.problems());
    let Made { events, left_out, lost_events, lost_packets, read } = copy.made;
    let asks = part.miscount.filter(|_| part.span == Span::ALL);
    let miscount = asks.and_then(|miscount| miscount(&merge, read));
    if !problems.is_empty() || miscount.is_some() {
        layout.add(&part.environment_of_damaged);
    }
    layout.add(&[(STREAM_FILES.into(), EnvironmentValue::Text(files))]);
    let metadata = described(&layout)?;
    Ok(Converted {
        metadata,
        events,
        left_out,
        lost_events,
        lost_packets,
        cut_streams,
        problems,
        miscount,
    })
}

/// What was written so far.
#[derive(Default)]
struct Made {
    events: u64,
    left_out: u64,
    lost_events: u64,
    lost_packets: u64,
    /// Events of the span but for bookkeeping.
    read: u64,
}

/// A conversion on its way.
struct Copy<'a> {
    trace: &'a Trace,
    layout: &'a Layout,
    part: &'a Part<'a>,
    /// By class.
    fields: Vec<Option<ThreadFields>>,
    counts: Vec<bool>,
    threads: RecordedThreads,
    streams: Vec<Option<Stream>>,
    made: Made,
}

impl Copy<'_> {
    fn message(
        &mut self,
        message: Message<'_>,
        make: &mut dyn FnMut(&str) -> io::Result<File>,
    ) -> Result<(), Error> {
        let index = match &message {
            Message::Event(event) => event.stream_index(),
            Message::Loss(loss) => loss.stream_index,
        };
        let Some(slot) = self.streams.get_mut(index) else { return Ok(()) };
        let stream = match slot {
            Some(stream) => stream,
            None => slot.insert(Stream::new(self.trace, self.layout, index, make)?),
        };
        match message {
            Message::Event(event) => {
                let record = self.fields.get(event.class().index).and_then(Option::as_ref);
                if let Some(fields) = record {
                    self.threads.switch(&event, fields);
                    stream.names_thread(self.layout, &event)?;
                    // It goes with the next event that is taken.
                    if self.part.take.is_some() || event.is_before_span() {
                        return Ok(());
                    }
                }
                let counts = self.counts.get(event.class().index) == Some(&true);
                self.made.read += u64::from(counts && !event.is_before_span());
                let thread = self.threads.of(&event);
                let is_taken = || self.part.take.is_none_or(|take| take(&event, thread));
                if event.is_before_span() || !is_taken() {
                    self.made.left_out += u64::from(!event.is_before_span());
                    return Ok(());
                }
                self.made.events += u64::from(record.is_none());
                stream.event(self.layout, &event, thread)
            }
            Message::Loss(loss) => {
                let total = match loss.loss.kind {
                    trace::LossKind::Events => &mut self.made.lost_events,
                    trace::LossKind::Packets => &mut self.made.lost_packets,
                };
                *total = u64::saturating_add(*total, loss.loss.count);
                stream.loss(self.layout, &loss)
            }
        }
    }
}
