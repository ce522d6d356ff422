// SPDX-License-Identifier: MIT
//! A ring and the stream that it becomes.
//!
//! Place in the flow: `consumer` has one for each ring of each user's memory.

use super::lost_of;
use crate::drain::{Drain, Tally};
use crate::folder::Folder;
use crate::metadata::KERNEL_CLASS;
use crate::pace::Pace;
use crate::ring::Ring;
use crate::stream::Stream;
use session::abi::LOST_CAUSES;
use session::Memory;
use std::sync::Arc;
use verdict::Verdict;

pub(super) struct Channel {
    pub memory: Arc<Memory>,
    pub drain: Drain,
    pub stream: Stream,
    pub pace: Pace,
}

/// The rings of one user's memory, and the streams that they become.
pub(super) fn channels(
    memory: &Arc<Memory>,
    source: usize,
    folder: &Arc<Folder>,
    start_cycles: u64,
    attach: impl Fn(&Arc<Memory>, u32) -> Result<Ring, String>,
) -> Result<Vec<Channel>, crate::Error> {
    (0..memory.ring_count())
        .map(|index| {
            let ring = attach(memory, index).map_err(crate::Error::Ring)?;
            let stream = stream(memory, folder, index, start_cycles);
            let (memory, drain) = (Arc::clone(memory), Drain::new(ring, source));
            Ok(Channel { memory, drain, stream, pace: Pace::default() })
        })
        .collect()
}

pub(super) fn stream(
    memory: &Memory,
    folder: &Arc<Folder>,
    index: u32,
    start_cycles: u64,
) -> Stream {
    let fixed = memory.fixed();
    let (ring, cpu_id) = match memory.ring_is_plain(index) {
        false => (format!("cpu{index}"), index),
        true => (format!("any{}", index - fixed.cpu_count), u32::MAX),
    };
    let name = match fixed.stream_id {
        KERNEL_CLASS => format!("stream-kernel-{ring}"),
        0 => format!("stream-{ring}"),
        _ => format!("stream-user{}-{ring}", fixed.user_id),
    };
    let folder = Arc::clone(folder);
    let stream = Stream::new(folder, name, fixed.uuid, fixed.stream_id, cpu_id, start_cycles);
    match memory.counts_layout() {
        Some(_) => stream.dropping(),
        None => stream,
    }
}

pub(super) fn ring_name(memory: &Memory, index: u32) -> String {
    let fixed = memory.fixed();
    let ring = match memory.ring_is_plain(index) {
        false => format!("CPU {index}"),
        true => format!("shared ring {}", index - fixed.cpu_count),
    };
    match fixed.stream_id {
        KERNEL_CLASS => format!("{ring} of the kernel"),
        0 => ring,
        _ => format!("{ring} of user {}", fixed.user_id),
    }
}

/// Adds what was counted of one stream to the verdict.
pub(super) fn judge_stream(
    verdict: &mut Verdict,
    name: &str,
    stream: &Stream,
    tally: &Tally,
    lost: [u64; LOST_CAUSES],
) {
    verdict.events += tally.events;
    verdict.packets += tally.packets;
    verdict.bytes += stream.bytes();
    if let Some((file, harm)) = stream.file().zip(stream.harm()) {
        let events = verdict::text::events(tally.events);
        verdict.missing.push(format!("{}, with {events}, {harm}", file.0));
    }
    verdict.files.extend(stream.file());
    verdict.damaged_packets += tally.damaged_packets;
    if let Some(damage) = &tally.last_damage {
        verdict.notes.push(format!("damaged packet of {name}: {damage}"));
    }
    verdict.unwritten_packets += tally.unwritten_packets;
    verdict.unwritten_events += tally.unwritten_events;
    if let Some(error) = &tally.last_error {
        let unwritten = (tally.unwritten_packets, tally.unwritten_events);
        verdict.add_unwritten(name, unwritten, error);
    }
    verdict.add_ring(name.to_string(), lost_of(lost));
}
