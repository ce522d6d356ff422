// SPDX-License-Identifier: MIT
//! Writes the events of a trace as another trace: CTF 1.8 or CTF 2, in either byte order.
//!
//! Flow: `layout` decides what the new trace's parts are; `tsdl` or `json` describes them;
//! [`convert`] takes the events in the order of time and hands each to the `stream` that it belongs
//! to, where `encode` appends its values to the open packet. Memory holds one packet per stream.
//!
//! Every value begins at a byte, so that no value's place depends on the types around it; values,
//! names, labels, clocks, packets and lost counts are kept, bit fields take more room.

mod encode;
mod json;
mod layout;
mod path;
mod stream;
mod tsdl;

use std::fs::File;
use std::io;

pub use layout::Layout;
use stream::Stream;
use trace::{ByteOrder, Message, Metadata, Problem, Trace};

/// Which version of CTF is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Ctf1,
    Ctf2,
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
    #[error("a packet of {0} bytes is larger than its size can say")]
    PacketTooLarge(usize),
}

/// What was written.
#[derive(Debug)]
pub struct Converted {
    pub metadata: String,
    pub events: u64,
    pub lost_events: u64,
    pub lost_packets: u64,
    /// Streams whose first packets the old trace does not have; the new one cannot say so.
    pub cut_streams: usize,
    /// What was wrong with the trace that was read.
    pub problems: Vec<Problem>,
}

/// Writes all events to stream files that `make` makes by their names. The metadata is the
/// caller's to write, last: until then the new trace is none. `advance` hears how many bytes of
/// the old trace are done.
pub fn convert(
    trace: &Trace,
    options: Options,
    make: &mut dyn FnMut(&str) -> io::Result<File>,
    advance: &mut dyn FnMut(u64),
) -> Result<Converted, Error> {
    let layout = Layout::new(trace.metadata(), options);
    let metadata = match options.format {
        Format::Ctf1 => tsdl::metadata(trace.metadata(), &layout)?,
        Format::Ctf2 => json::metadata(trace.metadata(), &layout)?,
    };
    // Whatever the old metadata says, the new one must be what the reader accepts.
    Metadata::parse(&metadata).map_err(|error| Error::WrongMetadata(error.to_string()))?;
    let mut merge = trace.merge();
    let mut streams: Vec<Option<Stream>> = (0..merge.stream_count()).map(|_| None).collect();
    let (mut events, mut lost_events, mut lost_packets) = (0, 0, 0);
    let mut read_bytes = 0;
    while let Some(message) = merge.next() {
        let index = match &message {
            Message::Event(event) => event.stream_index(),
            Message::Loss(loss) => loss.stream_index,
        };
        let Some(slot) = streams.get_mut(index) else { continue };
        let stream = match slot {
            Some(stream) => stream,
            None => slot.insert(Stream::new(trace, &layout, index, make)?),
        };
        match message {
            Message::Event(event) => {
                events += 1;
                read_bytes += event.size_bits() / 8;
                stream.event(&layout, &event)?;
                if events % 4096 == 0 {
                    advance(read_bytes);
                }
            }
            Message::Loss(loss) => {
                let total = match loss.loss.kind {
                    trace::LossKind::Events => &mut lost_events,
                    trace::LossKind::Packets => &mut lost_packets,
                };
                *total = u64::saturating_add(*total, loss.loss.count);
                stream.loss(&layout, &loss)?;
            }
        }
    }
    for stream in streams.iter_mut().flatten() {
        stream.finish(&layout)?;
    }
    let (cut_streams, problems) = (merge.beginnings().count(), merge.problems());
    Ok(Converted { metadata, events, lost_events, lost_packets, cut_streams, problems })
}
