// SPDX-License-Identifier: MIT
//! One stream file of a trace that is being written.
//!
//! Place in the flow: `follow` lets each stream walk over the headers of the packets that have
//! become whole, and decides which packets are read. A packet that the recorder has not wholly
//! written is left for later. What the file says is checked before it is used.

use consumer::stream::header_at;
use session::abi::*;
use std::collections::VecDeque;
use std::fs::File;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Packets that one walk goes over; further ones are for the next.
pub const WALK_MAX: usize = 1 << 16;
/// Less is not worth a system call.
const RELEASED_BYTES_MIN: u64 = 1 << 20;
/// A packet is a sub-buffer and some headers.
const PACKET_BYTES_MAX: u64 = 2 * SUBBUF_BYTES_MAX;

/// A whole packet of the file, of which not everything was shown yet.
#[derive(Debug)]
pub struct Packet {
    offset: u64,
    pub size_bytes: u64,
    pub begin_cycles: u64,
    pub end_cycles: u64,
    /// Once it was read.
    bytes: Option<Vec<u8>>,
    /// Whether it was in no part yet.
    pub is_new: bool,
}

/// What headers tell of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub bytes: u64,
    pub packets: u64,
    pub lost: [u64; LOST_CAUSES],
}

#[derive(Debug)]
pub struct Stream {
    pub name: String,
    path: PathBuf,
    file: File,
    /// Where the next header is.
    walked: u64,
    /// Up to here the file's memory was given back.
    released: u64,
    /// The header of the last packet before those that are kept, as one of an empty packet: readers
    /// tell losses from the packet before.
    before: Option<[u8; PACKET_HEADER_BYTES]>,
    pub packets: VecDeque<Packet>,
    /// The number of its class.
    pub class: u32,
    pub cpu: Option<u32>,
    pub counters: Counters,
    /// Why nothing more is read of it.
    pub damage: Option<String>,
}

/// The bytes that are to be read of a stream.
pub struct Piece {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    /// Where the packets begin that were in no part before.
    pub new_from: u64,
}

impl Stream {
    /// A stream, if a file begins like one of the trace of this UUID. `Ok(None)`: it is another
    /// kind of file. An error: that cannot be said yet.
    pub fn new(path: PathBuf, file: File, uuid: [u8; 16]) -> std::io::Result<Option<Self>> {
        let header = header_at(&file, 0)?;
        if header.magic != PACKET_MAGIC || header.uuid != uuid {
            return Ok(None);
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(Some(Self {
            name: name.unwrap_or_default(),
            path,
            file,
            walked: 0,
            released: 0,
            before: None,
            packets: VecDeque::new(),
            class: header.stream_id,
            cpu: None,
            counters: Counters::default(),
            damage: None,
        }))
    }

    /// Goes over the headers of packets that became whole. Return: whether there may be more.
    pub fn walk(&mut self, uuid: [u8; 16]) -> bool {
        if self.damage.is_some() {
            return false;
        }
        match self.try_walk(uuid) {
            Ok(has_more) => has_more,
            Err(why) => {
                self.damage = Some(why);
                false
            }
        }
    }

    fn try_walk(&mut self, uuid: [u8; 16]) -> Result<bool, String> {
        let length = self.file.metadata().map_err(|error| error.to_string())?.len();
        if length < self.walked {
            return Err(format!("it was cut to {length} bytes"));
        }
        for _ in 0..WALK_MAX {
            let left = length - self.walked;
            if left < PACKET_HEADER_BYTES as u64 {
                return Ok(false);
            }
            let header = header_at(&self.file, self.walked).map_err(|error| error.to_string())?;
            let size_bytes = header.packet_size_bits / 8;
            let is_sound = header.magic == PACKET_MAGIC
                && header.uuid == uuid
                && header.packet_size_bits % 8 == 0
                && (PACKET_HEADER_BYTES as u64..=PACKET_BYTES_MAX).contains(&size_bytes);
            if !is_sound {
                return Err(format!("no packet begins at byte {}", self.walked));
            }
            if size_bytes > left {
                return Ok(false);
            }
            self.note(&header, size_bytes);
        }
        Ok(true)
    }

    fn note(&mut self, header: &PacketHeader, size_bytes: u64) {
        self.cpu = Some(header.cpu_id);
        self.counters.bytes = self.counters.bytes.saturating_add(size_bytes);
        self.counters.packets += 1;
        self.counters.lost = header.lost;
        self.packets.push_back(Packet {
            offset: self.walked,
            size_bytes,
            begin_cycles: header.timestamp_begin_cycles,
            end_cycles: header.timestamp_end_cycles.max(header.timestamp_begin_cycles),
            bytes: None,
            is_new: true,
        });
        self.walked += size_bytes;
    }

    /// When the last packet ends.
    pub fn end_cycles(&self) -> Option<u64> {
        self.packets.iter().map(|packet| packet.end_cycles).max()
    }

    /// Leaves out the packets that end before a time, or all. Return: how many bytes of them were
    /// in no part.
    pub fn pass(&mut self, until_cycles: Option<u64>) -> u64 {
        let mut passed_bytes = 0;
        let mut last = None;
        let is_passed = |packet: &Packet| until_cycles.is_none_or(|at| packet.end_cycles < at);
        while self.packets.front().is_some_and(is_passed) {
            let Some(packet) = self.packets.pop_front() else { break };
            passed_bytes += if packet.is_new { packet.size_bytes } else { 0 };
            last = Some(packet);
        }
        if let Some(packet) = last {
            self.before = self.header_of(&packet);
        }
        passed_bytes
    }

    /// Makes a hole of what was passed over, so that the file takes no memory there. Where that
    /// cannot be done, the file grows.
    pub fn release(&mut self) {
        let until = self.packets.front().map_or(self.walked, |packet| packet.offset);
        if until - self.released < RELEASED_BYTES_MIN {
            return;
        }
        let from = std::mem::replace(&mut self.released, until);
        let Ok(file) = File::options().write(true).open(&self.path) else { return };
        let Ok((from, bytes)) = from.try_into().and_then(|f| Ok((f, (until - from).try_into()?)))
        else {
            return;
        };
        let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: the descriptor is open for the length of the call.
        unsafe { libc::fallocate(file.as_raw_fd(), how, from, bytes) };
    }

    /// A packet's header, as that of an empty packet.
    fn header_of(&self, packet: &Packet) -> Option<[u8; PACKET_HEADER_BYTES]> {
        let mut header = [0; PACKET_HEADER_BYTES];
        match &packet.bytes {
            Some(bytes) => header.copy_from_slice(bytes.get(..PACKET_HEADER_BYTES)?),
            None => self.file.read_exact_at(&mut header, packet.offset).ok()?,
        }
        let size_bits = (PACKET_HEADER_BYTES as u64 * 8).to_ne_bytes();
        for at in [
            offset_of!(PacketHeader, content_size_bits),
            offset_of!(PacketHeader, packet_size_bits),
        ] {
            header.get_mut(at..at + size_bits.len())?.copy_from_slice(&size_bits);
        }
        Some(header)
    }

    /// Reads the packets that begin at a time or before, as one piece of the stream.
    pub fn piece(&mut self, until_cycles: u64) -> Piece {
        let mut bytes = self.before.map_or_else(Vec::new, |header| header.to_vec());
        let mut new_from = None;
        for packet in &mut self.packets {
            if packet.begin_cycles > until_cycles {
                break;
            }
            if packet.bytes.is_none() {
                let mut read = vec![0; packet.size_bytes as usize];
                if let Err(error) = self.file.read_exact_at(&mut read, packet.offset) {
                    self.damage = Some(format!("byte {}: {error}", packet.offset));
                    break;
                }
                packet.bytes = Some(read);
            }
            if std::mem::replace(&mut packet.is_new, false) {
                new_from.get_or_insert(bytes.len() as u64);
            }
            bytes.extend_from_slice(packet.bytes.as_deref().unwrap_or_default());
        }
        Piece { path: self.path.clone(), new_from: new_from.unwrap_or(u64::MAX), bytes }
    }
}
