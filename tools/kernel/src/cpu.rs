// SPDX-License-Identifier: MIT
//! One CPU's part of an instance: its pages, and what it says was lost.
//!
//! Place in the flow: `tracing` reads what there is, and then takes event after event. Pages stay
//! here until all of their events were taken.

use crate::page::{Cursor, Entry, Layout, Missed, Page};
use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Pages read before other CPUs have their turn.
const PAGES_MAX: usize = 2048;
/// What `stats` says is shorter.
const STATS_BYTES: usize = 1024;

/// What the kernel says of its buffer, since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events overwritten before they were read.
    pub overrun: u64,
    /// Events that would have come round to one that was not committed.
    pub commit_overrun: u64,
    /// Events that found no room.
    pub dropped: u64,
}

impl Stats {
    fn parse(text: &str) -> Self {
        let of = |name: &str| {
            let mut values = text.lines().filter_map(|line| line.split_once(':'));
            let (_, value) = values.find(|(found, _)| *found == name)?;
            value.trim().parse().ok()
        };
        Self {
            overrun: of("overrun").unwrap_or(0),
            commit_overrun: of("commit overrun").unwrap_or(0),
            dropped: of("dropped events").unwrap_or(0),
        }
    }
}

/// An event that was read: its time, and where the pages have its record.
type Next = (u64, Range<usize>);

#[derive(Debug)]
pub struct Cpu {
    pub number: u32,
    path: PathBuf,
    pipe: File,
    stats: File,
    page_bytes: usize,
    /// Whole pages; those from `filled_bytes` on are room.
    pages: Vec<u8>,
    filled_bytes: usize,
    /// The page whose events are being taken.
    page_at: usize,
    cursor: Option<Cursor>,
    next: Option<Next>,
    /// Events that pages said are missing before them.
    pub missed: u64,
    pub damaged_pages: u64,
}

impl Cpu {
    /// Opens the files of CPU `number` in an instance.
    pub fn open(instance: &Path, number: u32, page_bytes: usize) -> Result<Self> {
        let path = instance.join(format!("per_cpu/cpu{number}"));
        let open = |name: &str| {
            let path = path.join(name);
            let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
            file.map_err(Error::io("open", path))
        };
        let (pipe, stats) = (open("trace_pipe_raw")?, open("stats")?);
        Ok(Self::new(number, path, pipe, stats, page_bytes))
    }

    fn new(number: u32, path: PathBuf, pipe: File, stats: File, page_bytes: usize) -> Self {
        Self {
            number,
            path,
            pipe,
            stats,
            page_bytes,
            pages: Vec::new(),
            filled_bytes: 0,
            page_at: 0,
            cursor: None,
            next: None,
            missed: 0,
            damaged_pages: 0,
        }
    }

    /// What the kernel says was lost. The counts go on as long as the buffer is there.
    pub fn stats(&self) -> Result<Stats> {
        let mut text = [0; STATS_BYTES];
        let bytes = match self.stats.read_at(&mut text, 0) {
            Err(error) if has_no_buffer(&error) => 0,
            read => read.map_err(Error::io("read", &self.path))?,
        };
        Ok(Stats::parse(&String::from_utf8_lossy(&text[..bytes])))
    }

    /// Reads the pages that there are. Return: whether these are all.
    pub fn read(&mut self) -> Result<bool> {
        self.forget();
        for _ in 0..PAGES_MAX {
            let until = self.filled_bytes + self.page_bytes;
            if self.pages.len() < until {
                self.pages.resize(until, 0);
            }
            match self.pipe.read(&mut self.pages[self.filled_bytes..until]) {
                Ok(0) => return Ok(true),
                Ok(bytes) => {
                    // A page that is not whole has no entries in the rest.
                    self.pages[self.filled_bytes + bytes..until].fill(0);
                    self.filled_bytes = until;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if has_no_buffer(&error) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &self.path)(error)),
            }
        }
        Ok(false)
    }

    /// Gives up pages whose events were all taken.
    fn forget(&mut self) {
        if let Some((_, record)) = &mut self.next {
            *record = record.start - self.page_at..record.end - self.page_at;
        }
        self.pages.copy_within(self.page_at..self.filled_bytes, 0);
        self.filled_bytes -= self.page_at;
        self.page_at = 0;
    }

    /// Until when all events were read, if not all pages were: when the last page began.
    pub fn known_until(&self, layout: &Layout) -> u64 {
        let last = self.filled_bytes.checked_sub(self.page_bytes);
        let page = last.and_then(|at| Page::new(&self.pages[at..self.filled_bytes], layout));
        page.map_or(0, |page| page.begin_cycles)
    }

    /// The time of the next event, if one was read.
    pub fn next_cycles(&mut self, layout: &Layout) -> Option<u64> {
        if self.next.is_none() {
            self.next = self.find(layout);
        }
        self.next.as_ref().map(|(cycles, _)| *cycles)
    }

    /// Goes to the next event. Bound: the pages that were read.
    fn find(&mut self, layout: &Layout) -> Option<Next> {
        while self.page_at < self.filled_bytes {
            let bytes = &self.pages[self.page_at..self.page_at + self.page_bytes];
            let entry = match Page::new(bytes, layout) {
                Some(page) => {
                    if self.cursor.is_none() {
                        self.missed = self.missed.saturating_add(match page.missed {
                            Missed::None => 0,
                            Missed::Some => 1,
                            Missed::Count(count) => count,
                        });
                    }
                    page.next(self.cursor.get_or_insert_with(|| page.start()))
                }
                None => Entry::Damaged,
            };
            if let Entry::Event { cycles, record } = entry {
                return Some((cycles, self.page_at + record.start..self.page_at + record.end));
            }
            self.damaged_pages += u64::from(entry == Entry::Damaged);
            self.page_at += self.page_bytes;
            self.cursor = None;
        }
        None
    }

    /// Takes the next event: its time and its record.
    pub fn take(&mut self, layout: &Layout) -> Option<(u64, &[u8])> {
        self.next_cycles(layout)?;
        let (cycles, record) = self.next.take()?;
        Some((cycles, self.pages.get(record)?))
    }
}

/// Whether the CPU has not run since the machine began. It gets a buffer when it does, and keeps
/// that.
fn has_no_buffer(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENODEV)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::{layout, page};
    use std::io::Write;

    #[test]
    fn stats_are_read_by_name() {
        let text = "entries: 5\noverrun: 1\ncommit overrun: 2\nbytes: 9\ndropped events: 3\n";
        assert_eq!(Stats::parse(text), Stats { overrun: 1, commit_overrun: 2, dropped: 3 });
        assert_eq!(Stats::parse("overrun: x\n"), Stats::default());
    }

    /// A CPU whose pages are in a file.
    fn cpu(name: &str, pages: &[Vec<u8>]) -> Cpu {
        let path = std::env::temp_dir().join(format!("lull-kernel-{name}-{}", std::process::id()));
        let mut file = File::create(&path).unwrap();
        pages.iter().for_each(|page| file.write_all(page).unwrap());
        let open = || File::open(&path).unwrap();
        let cpu = Cpu::new(3, path.clone(), open(), open(), 4096);
        std::fs::remove_file(&path).unwrap();
        cpu
    }

    fn entry(delta: u32) -> u32 {
        match cfg!(target_endian = "big") {
            true => 1 << 27 | delta,
            false => delta << 5 | 1,
        }
    }

    #[test]
    fn events_are_taken_page_after_page_and_what_was_not_taken_stays() {
        let damaged = page(300, 5 << 12, &[], &[]);
        let pages = [
            page(100, 0, &[entry(1), 11, entry(2), 12], &[]),
            damaged,
            page(400, 1 << 31 | 1 << 30, &[entry(3), 13], &7u64.to_ne_bytes()),
        ];
        let (layout, mut cpu) = (layout(), cpu("take", &pages));
        assert!(cpu.read().unwrap());
        let taken = |cpu: &mut Cpu| {
            let (cycles, record) = cpu.take(&layout).unwrap();
            (cycles, u32::from_ne_bytes(record.try_into().unwrap()))
        };
        assert_eq!(cpu.known_until(&layout), 400);
        assert_eq!(cpu.next_cycles(&layout), Some(101));
        assert_eq!(taken(&mut cpu), (101, 11));
        assert_eq!(cpu.next_cycles(&layout), Some(103));
        assert!(cpu.read().unwrap(), "nothing more");
        assert_eq!(taken(&mut cpu), (103, 12));
        assert_eq!(cpu.next_cycles(&layout), Some(403));
        assert!(cpu.read().unwrap());
        assert_eq!(taken(&mut cpu), (403, 13));
        assert_eq!(cpu.take(&layout), None);
        assert_eq!((cpu.missed, cpu.damaged_pages), (7, 1));
        assert!(cpu.read().unwrap());
        assert_eq!(cpu.filled_bytes, 0, "no page stays without need");
    }
}
