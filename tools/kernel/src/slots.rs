// SPDX-License-Identifier: MIT
//! Slots of a packet, as a program's probes would have written them.
//!
//! Place in the flow: `tracing` appends the events of one CPU, and hands the packet over when it is
//! large enough or when it is time. docs/formats/trace.md says what the bytes mean.

use crate::threads::Thread;
use session::abi::{
    COMPACT_TIMESTAMP_BITS, EVENT_THREAD, SLOT_ALIGN, TAG_COMPACT_MAX, TAG_EXTENDED,
    THREAD_RECORD_BYTES,
};

/// The slots of a packet, and what its header must say. It begins with its first event's thread.
#[derive(Debug, Default, Clone)]
pub struct Packet {
    words: Vec<u32>,
    /// Where the last event ends, without its padding.
    content_bytes: usize,
    pub begin_cycles: u64,
    pub end_cycles: u64,
    /// Without the records of threads.
    pub events: u64,
    thread: Option<Thread>,
}

impl Packet {
    /// The slots, padded to whole words.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    pub fn content_bytes(&self) -> usize {
        self.content_bytes
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Empties the packet, and keeps its memory.
    pub fn clear(&mut self) {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        *self = Self { words, end_cycles: self.end_cycles, ..Self::default() };
    }

    /// Appends an event. Time that runs backwards stands still instead.
    pub fn event(&mut self, id: u32, cycles: u64, thread: &Thread, payload: &[u8]) {
        let cycles = cycles.max(self.end_cycles);
        if self.thread != Some(*thread) {
            self.thread = Some(*thread);
            let mut record = [0; THREAD_RECORD_BYTES];
            record[..4].copy_from_slice(&thread.pid.to_ne_bytes());
            record[4..8].copy_from_slice(&thread.tid.to_ne_bytes());
            record[8..].copy_from_slice(&thread.name);
            self.slot(EVENT_THREAD, cycles, &record);
        }
        self.slot(id, cycles, payload);
        self.events += 1;
    }

    fn slot(&mut self, id: u32, cycles: u64, payload: &[u8]) {
        let is_first = self.words.is_empty();
        if is_first {
            self.begin_cycles = cycles;
        }
        let is_close = cycles - self.end_cycles < 1 << COMPACT_TIMESTAMP_BITS;
        if !is_first && is_close && id <= u32::from(TAG_COMPACT_MAX) {
            self.words.push(id | (cycles as u32) << 8);
        } else {
            let [a, b, c, d, e, f, g, h] = cycles.to_ne_bytes();
            let halves = [[a, b, c, d], [e, f, g, h]].map(u32::from_ne_bytes);
            self.words.extend([u32::from(TAG_EXTENDED), id, halves[0], halves[1]]);
        }
        self.end_cycles = cycles;
        self.content_bytes = self.words.len() * SLOT_ALIGN + payload.len();
        let chunks = payload.chunks_exact(SLOT_ALIGN);
        let rest = chunks.remainder();
        self.words.extend(
            chunks.map(|chunk| u32::from_ne_bytes([chunk[0], chunk[1], chunk[2], chunk[3]])),
        );
        if !rest.is_empty() {
            let mut word = [0; SLOT_ALIGN];
            word[..rest.len()].copy_from_slice(rest);
            self.words.push(u32::from_ne_bytes(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Thread = Thread { pid: 7, tid: 8, name: *b"one\0\0\0\0\0\0\0\0\0\0\0\0\0" };

    #[test]
    fn packet_begins_with_time_and_thread_and_goes_on_compactly() {
        let mut packet = Packet::default();
        packet.event(9, 1 << 40, &ONE, b"abcde");
        packet.event(300, (1 << 40) + 5, &ONE, b"");
        packet.event(9, (1 << 40) + 6, &Thread { tid: 9, ..ONE }, b"");
        packet.event(9, (1 << 40) + (1 << 25), &Thread { tid: 9, ..ONE }, b"");
        packet.event(9, 5, &Thread { tid: 9, ..ONE }, b"");
        let words = packet.words();
        assert_eq!(words[..2], [253, 1]);
        assert_eq!(words[4..6], [7, 8]);
        assert_eq!(words[10..13], [9, u32::from_ne_bytes(*b"abcd"), u32::from(b'e')]);
        assert_eq!(words[13..15], [253, 300], "an identifier that has no tag");
        assert_eq!(words[17..20], [1 | 6 << 8, 7, 9], "another thread");
        assert_eq!(words[24..27], [9 | 6 << 8, 253, 9], "long after");
        assert_eq!(words[29], 9, "time does not run backwards");
        assert_eq!((packet.events, packet.content_bytes()), (5, 30 * 4));
        assert_eq!(packet.begin_cycles, 1 << 40);
        assert_eq!(packet.end_cycles, (1 << 40) + (1 << 25));
        packet.clear();
        assert!(packet.is_empty() && packet.events == 0);
        packet.event(9, 1 << 41, &ONE, b"");
        assert_eq!(packet.words()[..2], [253, 1]);
    }
}
