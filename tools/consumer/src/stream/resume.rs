// SPDX-License-Identifier: MIT
//! Going on in a stream file that a killed recorder left.
//!
//! Place in the flow: `consumer` asks for each ring that `lull recover` reads. The recorder's last
//! word, in shared memory, says how much of the file is of whole packets that are not in the ring
//! any more; what it wrote after that is in the ring still, and goes. The word may be anyone's, so
//! the file is cut only where one of its packets ends.

use super::Stream;
use crate::ring::OnDisk;
use session::abi::*;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Packets at the end of a stream that the disk may have refused.
const REFUSED_MAX: u64 = 1 << 32;

/// What became of the attempt.
#[derive(Debug, PartialEq, Eq)]
pub enum Resumed {
    /// There is no such file yet.
    New,
    /// The stream goes on where the recorder was. `exact`: its last packet is the last that the
    /// recorder tried to write.
    Here { exact: bool },
    /// The file does not end as the ring says; the stream goes on in a file of another name.
    Apart,
}

/// What is known of the packets of a file up to one of them.
#[derive(Debug, Clone, Copy, Default)]
struct Tail {
    bytes: u64,
    next_seq: u64,
    end_cycles: u64,
    lost: [u64; LOST_CAUSES],
}

impl Stream {
    /// The stream class of a file's first packet.
    pub fn class_of(file: &File) -> Option<u32> {
        header_at(file, 0).ok().map(|header| header.stream_id)
    }

    /// Goes on after what is `on_disk`; None when the ring does not say how far that is.
    pub fn resume(&mut self, on_disk: Option<OnDisk>) -> io::Result<Resumed> {
        let file = match self.folder.reopen_file(&self.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Resumed::New),
            other => other?,
        };
        let wanted = on_disk.map_or(u64::MAX, |on_disk| on_disk.bytes);
        let (at, last) = self.scan(&file, wanted)?;
        let packets = on_disk.map(|on_disk| on_disk.packets);
        let fitting = at.zip(packets).filter(|(at, packets)| {
            (at.next_seq..=at.next_seq.saturating_add(REFUSED_MAX)).contains(packets)
        });
        if let Some((at, packets)) = fitting {
            file.set_len(at.bytes)?;
            self.follow(&at);
            (self.offset_bytes, self.packet_seq, self.file) = (at.bytes, packets, Some(file));
            return Ok(Resumed::Here { exact: packets == at.next_seq });
        }
        file.set_len(last.bytes)?;
        self.follow(&last);
        self.name.push_str(RECOVERED);
        Ok(Resumed::Apart)
    }

    fn follow(&mut self, tail: &Tail) {
        (self.end_cycles, self.lost) = (tail.end_cycles, tail.lost);
    }

    /// The whole packets of a file: those that end at `wanted`, if one does, and all.
    fn scan(&self, file: &File, wanted: u64) -> io::Result<(Option<Tail>, Tail)> {
        let length = file.metadata()?.len();
        let mut tail = Tail::default();
        let mut found = (wanted == 0).then_some(tail);
        // Bound: a packet has at least the bytes of its header.
        while tail.bytes < length {
            let Ok(header) = header_at(file, tail.bytes) else { break };
            let bytes = header.packet_size_bits / 8;
            let is_ours = header.magic == PACKET_MAGIC
                && header.uuid == self.uuid
                && header.stream_id == self.class
                && header.packet_seq_num >= tail.next_seq;
            let fits = bytes >= PACKET_HEADER_BYTES as u64 && bytes <= length - tail.bytes;
            if !is_ours || !fits {
                break;
            }
            tail = Tail {
                bytes: tail.bytes + bytes,
                next_seq: header.packet_seq_num.saturating_add(1),
                end_cycles: tail.end_cycles.max(header.timestamp_end_cycles),
                lost: header.lost,
            };
            if tail.bytes == wanted {
                found = Some(tail);
            }
        }
        Ok((found, tail))
    }
}

/// Behind the name of a stream that goes on in a file of its own.
pub(crate) const RECOVERED: &str = "-recovered";

/// The header of the packet that begins at an offset, whatever it says.
pub fn header_at(file: &File, offset: u64) -> io::Result<PacketHeader> {
    let mut header = PacketHeader::default();
    // SAFETY: the header is plain numbers without padding, of which any value is one.
    let bytes = unsafe {
        std::slice::from_raw_parts_mut((&raw mut header).cast::<u8>(), PACKET_HEADER_BYTES)
    };
    file.read_exact_at(bytes, offset)?;
    Ok(header)
}
