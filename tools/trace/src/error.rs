// SPDX-License-Identifier: MIT
//! What can go wrong, and where.
//!
//! Three levels: a [`Fault`] is what a decoder met at one bit position; a [`Problem`] is a
//! fault with its file, packet and byte offset, after which reading went on; an [`Error`]
//! is one that leaves nothing to read.

use std::fmt;
use std::path::PathBuf;

/// What a decoder met that it could not decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    #[error("the data ends in the middle of a field")]
    Truncated,
    #[error("event id {0} is not in the metadata")]
    UnknownEvent(u64),
    #[error("the metadata does not describe stream {0}")]
    UnknownStream(u64),
    #[error("the packet is of stream {found}, its file holds stream {expected}")]
    OtherStream { expected: u64, found: u64 },
    #[error("the tag value {0} selects no option of a variant")]
    UnknownTag(i64),
    #[error("a sequence claims {0} elements, more than the packet can hold")]
    SequenceTooLong(u64),
    #[error("a number of variable length does not fit in 64 bits")]
    NumberTooLarge,
    #[error("an event of no size would repeat forever")]
    EmptyEvent,
    #[error("the magic number is 0x{0:08x}, not 0xc1fc1fc1")]
    WrongMagic(u32),
    #[error("the packet's UUID is not the trace's")]
    WrongUuid,
    #[error("the packet claims {packet_bits} bits, its header alone takes {header_bits}")]
    PacketTooSmall { packet_bits: u64, header_bits: u64 },
    #[error("the packet's size of {0} bits is not a whole number of bytes")]
    PacketNotBytes(u64),
    #[error("the packet claims {content_bits} bits of content in a packet of {packet_bits} bits")]
    ContentTooLarge { content_bits: u64, packet_bits: u64 },
    #[error("the packet claims {content_bits} bits of content, its header takes {header_bits}")]
    ContentTooSmall { content_bits: u64, header_bits: u64 },
    #[error("the file ends {missing_bytes} bytes before the packet does")]
    FileTruncated { missing_bytes: u64 },
    #[error("the file was cut to {length_bytes} bytes while it was read")]
    FileCut { length_bytes: u64 },
    #[error("no packet starts where this one ends; went on {skipped_bytes} bytes further")]
    Resynchronized { skipped_bytes: u64 },
    #[error("the next packet starts {overlap_bytes} bytes before this one is said to end")]
    PacketOverlaps { overlap_bytes: u64 },
    #[error("no packet starts here, and none was found in the last {skipped_bytes} bytes")]
    NoMorePackets { skipped_bytes: u64 },
    #[error("the clock reads {found} cycles, before the {previous} it had reached")]
    TimeBackwards { previous: u64, found: u64 },
    #[error("a counter of the packet context went from {previous} to {found}")]
    CounterBackwards { previous: u64, found: u64 },
    #[error("the time of an event, {cycles} cycles, is beyond what 64 bits of nanoseconds hold")]
    TimeTooLarge { cycles: u64 },
    #[error("the last event is at {found} cycles, after the packet's end at {end}")]
    PastPacketEnd { end: u64, found: u64 },
}

/// One damaged place in a trace. Everything before it, and every packet after it, is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    /// Index of the packet within its file; `None` for the metadata.
    pub packet: Option<u64>,
    /// Offset within the file.
    pub offset_bytes: u64,
    /// How much of the file was not read because of it, unless `what` says so itself.
    pub lost_bytes: u64,
    pub what: ProblemKind,
}

/// What a [`Problem`] is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// A packet or an event could not be decoded.
    Fault(Fault),
    /// The metadata is damaged from this line on, or describes something unreadable.
    Metadata { line: u32, what: String },
    /// So many problems that the rest were only counted.
    Suppressed { count: u64 },
    /// A stream file could not be opened or mapped.
    Unreadable(String),
    /// A stream file that the finished trace had is not there.
    Gone { finished_bytes: u64 },
    /// A stream file has become shorter since the trace was finished.
    Shorter { finished_bytes: u64, bytes: u64 },
    /// The same, where the file ends within a packet, with what is wrong there.
    Cut { fault: Fault, finished_bytes: u64, bytes: u64 },
    /// A stream file has become longer since the trace was finished.
    Longer { finished_bytes: u64, bytes: u64 },
    /// A stream file is there that the finished trace did not have.
    New,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        if let Some(packet) = self.packet {
            write!(f, "packet {packet}, byte {}: ", self.offset_bytes)?;
        }
        match &self.what {
            ProblemKind::Fault(fault) => fault.fmt(f)?,
            ProblemKind::Metadata { line, what } => write!(f, "line {line}: {what}")?,
            ProblemKind::Suppressed { count } => write!(f, "{count} further problems")?,
            ProblemKind::Unreadable(what) => f.write_str(what)?,
            ProblemKind::Gone { finished_bytes } => write!(
                f,
                "it had {finished_bytes} bytes when the trace was finished, and is not here"
            )?,
            ProblemKind::New => f.write_str("it was not here when the trace was finished")?,
            ProblemKind::Shorter { finished_bytes, bytes }
            | ProblemKind::Longer { finished_bytes, bytes } => write!(
                f,
                "it had {finished_bytes} bytes when the trace was finished, and has {bytes} now"
            )?,
            ProblemKind::Cut { fault, finished_bytes, bytes } => write!(
                f,
                "{fault}; it had {finished_bytes} bytes when the trace was finished, and has \
                 {bytes} now"
            )?,
        }
        match self.lost_bytes {
            0 => Ok(()),
            1 => f.write_str("; 1 byte was not read"),
            bytes => write!(f, "; {bytes} bytes were not read"),
        }
    }
}

/// A syntax or meaning error in TSDL metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct MetadataError {
    pub line: u32,
    pub what: String,
}

impl MetadataError {
    pub(crate) fn new(line: u32, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

/// Why a trace cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{}: {reason}", path.display())]
    Io { path: PathBuf, reason: std::io::Error },
    #[error("{}: no file named `metadata` here; give the folder of a CTF trace", path.display())]
    NotATrace { path: PathBuf },
    #[error("{}: more than {limit} folders are below; name those to read", path.display())]
    TooManyFolders { path: PathBuf, limit: usize },
    #[error("{}: more than {limit} folders deep; name the traces to read", path.display())]
    TooDeep { path: PathBuf, limit: u32 },
    #[error("{}: {reason}; a trace in it would be left out: name those to read", path.display())]
    Closed { path: PathBuf, reason: std::io::Error },
    #[error("{}: {reason}", path.display())]
    Metadata { path: PathBuf, reason: MetadataError },
}
