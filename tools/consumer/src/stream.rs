// SPDX-License-Identifier: MIT
//! One stream file: packets of one ring, one after the other, as they were in memory.
//!
//! Place in the flow: `drain` hands a packet over in pieces (header, content straight from the
//! mapped ring); one system call puts them into the file. A packet is in the file whole or not
//! at all: when the disk is full the file is cut where the packet began.
//! Sequence numbers are ours, one after the other; a number left out is a packet dropped.

use crate::folder::Folder;
use crate::view::View;
use session::abi::*;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// CTF packets here end on this boundary, so that the next header is aligned in a mapping.
const PACKET_ALIGN: usize = 8;
pub const PRELUDE_BYTES: usize = EXTENDED_HEADER_BYTES + THREAD_RECORD_BYTES;

/// A packet about to be written.
pub struct Packet<'a> {
    pub begin_cycles: u64,
    pub end_cycles: u64,
    pub lost: [u64; LOST_CAUSES],
    /// A thread record for a packet that begins in the middle of a thread's run.
    pub prelude: Option<[u8; PRELUDE_BYTES]>,
    pub view: View<'a>,
    pub from: usize,
    pub until: usize,
}

/// How much may be written in all, by all streams.
#[derive(Debug)]
pub struct Budget {
    pub used_bytes: u64,
    pub limit_bytes: u64,
}

#[derive(Debug)]
pub enum Refusal {
    /// The budget is used up.
    Limit,
    Io(io::Error),
}

mod resume;
pub(crate) use resume::RECOVERED;
pub use resume::{header_at, Resumed};

pub struct Stream {
    folder: Arc<Folder>,
    name: String,
    file: Option<File>,
    /// Nothing is written: what is counted leaves no trace.
    is_dropping: bool,
    uuid: [u8; 16],
    /// The CTF stream class.
    class: u32,
    cpu_id: u32,
    packet_seq: u64,
    /// The number of the first packet that its file has, or will have.
    first_seq: u64,
    offset_bytes: u64,
    /// What its file held when that was first seen to be less than was written: others cut it.
    cut_bytes: Option<u64>,
    /// End of the last packet: time never runs backwards in a stream.
    pub end_cycles: u64,
    /// What the last packet written says is lost.
    pub lost: [u64; LOST_CAUSES],
}

impl Stream {
    /// A stream that begins at `start_cycles`; its file is made with its first packet.
    pub fn new(
        folder: Arc<Folder>,
        name: String,
        uuid: [u8; 16],
        class: u32,
        cpu_id: u32,
        start_cycles: u64,
    ) -> Self {
        Self {
            folder,
            name,
            file: None,
            is_dropping: false,
            uuid,
            class,
            cpu_id,
            packet_seq: 0,
            first_seq: 0,
            offset_bytes: 0,
            cut_bytes: None,
            end_cycles: start_cycles,
            lost: [0; LOST_CAUSES],
        }
    }

    /// The same stream, of which nothing is written.
    pub fn dropping(self) -> Self {
        Self { is_dropping: true, ..self }
    }

    pub fn bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// The name of its file, and how long that is; `None`: it has none.
    pub fn file(&self) -> Option<(String, u64)> {
        self.file.as_ref().map(|_| (self.name.clone(), self.offset_bytes))
    }

    /// What others did to its file, where that does not hold all that was written any more.
    pub fn harm(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        if !self.folder.holds(&self.name, file) {
            return Some("was removed, moved or replaced while recording".into());
        }
        let bytes = self.cut_bytes.or(cut(file, self.offset_bytes))?;
        let left = verdict::text::bytes(bytes);
        Some(format!("was cut while recording: of what was written before, {left} were left"))
    }

    /// The next packet's sequence number.
    pub fn packets(&self) -> u64 {
        self.packet_seq
    }

    /// The next packet is that of this number: what was overwritten before it had numbers, too, and
    /// each snapshot of a flight recorder calls a packet the same.
    pub fn go_to(&mut self, number: u64) {
        if self.packet_seq == self.first_seq {
            self.first_seq = number;
        }
        self.packet_seq = self.packet_seq.max(number);
    }

    /// Writes a packet. When it is refused, its sequence number is used up all the same.
    pub fn write(&mut self, packet: &Packet, budget: &mut Budget) -> Result<(), Refusal> {
        if self.packet_seq == self.first_seq && packet.lost != self.lost {
            // Readers take differences of lost counters: give them a packet to start from. It has
            // the number before, if there is one.
            self.packet_seq = self.packet_seq.saturating_sub(1);
            let (begin_cycles, lost) = (packet.begin_cycles, self.lost);
            let end_cycles = begin_cycles;
            let (prelude, from, until) = (None, 0, 0);
            let view = packet.view;
            self.append(
                &Packet { begin_cycles, end_cycles, lost, prelude, view, from, until },
                budget,
            )?;
        }
        self.append(packet, budget)
    }

    fn append(&mut self, packet: &Packet, budget: &mut Budget) -> Result<(), Refusal> {
        let prelude = packet.prelude.as_ref().map_or(&[][..], |bytes| &bytes[..]);
        let until = packet.until.min(packet.view.len());
        let slots_bytes = until.saturating_sub(packet.from);
        let content_bytes = PACKET_HEADER_BYTES + prelude.len() + slots_bytes;
        let packet_bytes = content_bytes.next_multiple_of(PACKET_ALIGN);
        let header = PacketHeader {
            magic: PACKET_MAGIC,
            uuid: self.uuid,
            stream_id: self.class,
            timestamp_begin_cycles: packet.begin_cycles,
            timestamp_end_cycles: packet.end_cycles,
            content_size_bits: content_bytes as u64 * 8,
            packet_size_bits: packet_bytes as u64 * 8,
            packet_seq_num: self.packet_seq,
            events_discarded: packet.lost.iter().fold(0, |sum, lost| sum.wrapping_add(*lost)),
            lost: packet.lost,
            cpu_id: self.cpu_id,
            flags: 0,
        };
        let padding = [0u8; PACKET_ALIGN];
        let parts = [
            part((&raw const header).cast(), PACKET_HEADER_BYTES),
            part(prelude.as_ptr(), prelude.len()),
            part(packet.view.as_ptr().wrapping_add(packet.from), slots_bytes),
            part(padding.as_ptr(), packet_bytes - content_bytes),
        ];
        self.end_cycles = self.end_cycles.max(packet.end_cycles);
        if budget.used_bytes.saturating_add(packet_bytes as u64) > budget.limit_bytes {
            return Err(Refusal::Limit);
        }
        self.packet_seq += 1;
        self.write_parts(parts, packet_bytes).map_err(Refusal::Io)?;
        self.offset_bytes += packet_bytes as u64;
        budget.used_bytes += packet_bytes as u64;
        self.lost = packet.lost;
        Ok(())
    }

    /// All of `parts` at the end of the file, or nothing.
    fn write_parts(&mut self, mut parts: [libc::iovec; 4], total: usize) -> io::Result<()> {
        if self.is_dropping {
            return Ok(());
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(self.folder.make_file(&self.name)?),
        };
        if self.cut_bytes.is_none() {
            // What is written behind the cut makes the file as long as it was.
            self.cut_bytes = cut(file, self.offset_bytes);
        }
        let mut done = 0;
        while done < total {
            let offset = (self.offset_bytes + done as u64) as libc::off_t;
            // SAFETY: each part points to readable memory of its length: the header, the
            // prelude and the padding live in the caller's frame, the view was checked.
            let count = unsafe {
                libc::pwritev(file.as_raw_fd(), parts.as_ptr(), parts.len() as i32, offset)
            };
            let error = match count {
                0 => io::ErrorKind::WriteZero.into(),
                count if count < 0 => io::Error::last_os_error(),
                count => {
                    advance(&mut parts, count as usize);
                    done += count as usize;
                    continue;
                }
            };
            if error.kind() != io::ErrorKind::Interrupted {
                // If even this fails, the next packet overwrites what lies past the boundary.
                let _ = file.set_len(self.offset_bytes);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// The bytes of a file that is shorter than it should be.
fn cut(file: &File, bytes: u64) -> Option<u64> {
    file.metadata().ok().map(|found| found.len()).filter(|found| *found < bytes)
}

fn part(data: *const u8, bytes: usize) -> libc::iovec {
    libc::iovec { iov_base: data.cast_mut().cast(), iov_len: bytes }
}

/// Leaves out the first `bytes` of the parts.
fn advance(parts: &mut [libc::iovec], mut bytes: usize) {
    for part in parts {
        let step = bytes.min(part.iov_len);
        part.iov_base = part.iov_base.wrapping_byte_add(step);
        part.iov_len -= step;
        bytes -= step;
    }
}

/// The thread record that names the thread of the events that follow.
pub fn prelude(thread: &crate::walk::Thread, cycles: u64) -> [u8; PRELUDE_BYTES] {
    let mut bytes = [0; PRELUDE_BYTES];
    bytes[..4].copy_from_slice(&u32::from(TAG_EXTENDED).to_ne_bytes());
    bytes[4..8].copy_from_slice(&EVENT_THREAD.to_ne_bytes());
    bytes[8..16].copy_from_slice(&cycles.to_ne_bytes());
    bytes[16..20].copy_from_slice(&thread.pid.to_ne_bytes());
    bytes[20..24].copy_from_slice(&thread.tid.to_ne_bytes());
    bytes[24..].copy_from_slice(&thread.name);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Sharing;
    use crate::output::{Older, Output};
    use std::path::PathBuf;

    /// A stream in the directory for temporary files, and where it is.
    fn stream(name: &str) -> (Stream, PathBuf) {
        let name = format!("lull-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(format!("{name}.folder"));
        let output = Output::create(&folder, Sharing::PRIVATE, Older::Replace).unwrap();
        output.keep();
        let path = folder.join("stream-cpu3");
        (Stream::new(Arc::clone(output.folder()), "stream-cpu3".into(), [1; 16], 0, 3, 10), path)
    }

    fn packet(view: View) -> Packet {
        Packet {
            begin_cycles: 20,
            end_cycles: 30,
            lost: [0; LOST_CAUSES],
            prelude: None,
            view,
            from: 4,
            until: 15,
        }
    }

    static WORDS: [u32; 4] = [u32::MAX, 1, 2, 3];

    fn view() -> View<'static> {
        // SAFETY: a static array.
        unsafe { View::new(WORDS.as_ptr().cast(), 16) }
    }

    #[test]
    fn packet_is_header_then_content_then_padding_to_eight_bytes() {
        let (mut stream, path) = stream("packet");
        let mut budget = Budget { used_bytes: 0, limit_bytes: u64::MAX };
        stream.write(&packet(view()), &mut budget).unwrap();
        stream.write(&packet(view()), &mut budget).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        assert_eq!(bytes.len(), 2 * 128);
        assert_eq!(bytes[40..48], ((112 + 11) * 8u64).to_ne_bytes(), "content size");
        assert_eq!(bytes[48..56], (128 * 8u64).to_ne_bytes(), "packet size");
        assert_eq!(bytes[112..116], 1u32.to_ne_bytes());
        assert_eq!(bytes[128 + 56..128 + 64], 1u64.to_ne_bytes(), "sequence number");
        assert_eq!(budget.used_bytes, 256);
    }

    #[test]
    fn first_packet_that_lost_events_follows_an_empty_one_to_count_from() {
        let (mut stream, path) = stream("base");
        let mut budget = Budget { used_bytes: 0, limit_bytes: u64::MAX };
        let lossy = Packet { lost: [1, 2, 3, 4], ..packet(view()) };
        stream.write(&lossy, &mut budget).unwrap();
        stream.write(&lossy, &mut budget).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        assert_eq!(bytes.len(), 112 + 2 * 128);
        assert_eq!(bytes[64..72], 0u64.to_ne_bytes(), "events discarded");
        assert_eq!(bytes[112 + 64..112 + 72], 10u64.to_ne_bytes());
    }

    #[test]
    fn packet_beyond_the_budget_is_refused_whole() {
        let (mut stream, path) = stream("budget");
        let mut budget = Budget { used_bytes: 0, limit_bytes: 200 };
        stream.write(&packet(view()), &mut budget).unwrap();
        let refusal = stream.write(&packet(view()), &mut budget);
        assert!(matches!(refusal, Err(Refusal::Limit)));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 128);
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn file_that_was_cut_or_removed_does_not_hold_what_was_written() {
        let (mut stream, path) = stream("harm");
        assert_eq!(stream.harm(), None, "nothing is written yet");
        let mut budget = Budget { used_bytes: 0, limit_bytes: u64::MAX };
        stream.write(&packet(view()), &mut budget).unwrap();
        assert_eq!(stream.harm(), None);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
        let cut = "was cut while recording: of what was written before, 100 B were left";
        assert_eq!(stream.harm().as_deref(), Some(cut));
        stream.write(&packet(view()), &mut budget).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 256);
        assert_eq!(stream.harm().as_deref(), Some(cut), "it has a hole");
        std::fs::remove_file(&path).unwrap();
        let gone = "was removed, moved or replaced while recording";
        assert_eq!(stream.harm().as_deref(), Some(gone));
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn stream_goes_on_only_in_a_file_that_can_be_opened() {
        let (mut stream, path) = stream("resumed");
        assert_eq!(stream.resume(None).unwrap(), Resumed::New);
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(stream.resume(None).is_err());
        std::fs::remove_file(&path).unwrap();
        let mut budget = Budget { used_bytes: 0, limit_bytes: u64::MAX };
        for _ in 0..3 {
            stream.write(&packet(view()), &mut budget).unwrap();
        }
        let at =
            |packets: u64| Some(crate::ring::OnDisk { count: 0, bytes: packets * 128, packets });
        let again = || {
            let folder = Arc::clone(&stream.folder);
            Stream::new(folder, "stream-cpu3".into(), [1; 16], 0, 3, 10)
        };
        for (packets, length) in [(3, 3), (2, 2)] {
            let mut resumed = again();
            assert_eq!(resumed.resume(at(packets)).unwrap(), Resumed::Here { exact: true });
            assert_eq!((resumed.bytes(), resumed.packets()), (length * 128, packets));
            assert_eq!((resumed.end_cycles, resumed.lost), (30, [0; LOST_CAUSES]));
            assert_eq!(std::fs::metadata(&path).unwrap().len(), length * 128);
        }
        let refused = crate::ring::OnDisk { packets: 5, ..at(2).unwrap() };
        assert_eq!(again().resume(Some(refused)).unwrap(), Resumed::Here { exact: false });
        let earlier = crate::ring::OnDisk { packets: 1, ..at(2).unwrap() };
        for word in [None, Some(earlier), at(3)] {
            assert_eq!(again().resume(word).unwrap(), Resumed::Apart, "{word:?}");
        }
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 256, "what is whole stays");
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        io::Write::write_all(&mut file, &[0; 100]).unwrap();
        assert_eq!(again().resume(None).unwrap(), Resumed::Apart);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 256, "what is not goes");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn file_that_cannot_be_made_refuses_the_packet_and_uses_up_its_number() {
        let (mut stream, path) = stream("unmade");
        std::fs::create_dir(&path).unwrap();
        let mut budget = Budget { used_bytes: 0, limit_bytes: u64::MAX };
        let refusal = stream.write(&packet(view()), &mut budget);
        assert!(matches!(refusal, Err(Refusal::Io(_))));
        assert_eq!((stream.packet_seq, stream.bytes(), budget.used_bytes), (1, 0, 0));
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}
