// SPDX-License-Identifier: MIT
//! A page of the kernel's ring buffer, as `trace_pipe_raw` gives it, and the entries in it.
//!
//! Place in the flow: `cpu` reads pages, `tracing` goes from entry to entry. Where things lie is
//! what `events/header_page` and `events/header_event` of the running kernel say. An entry is a
//! word with a type and a time since the entry before it, and what follows by type: an event's
//! record, padding, more bits of the time, or a time by itself. Events of handlers that interrupted
//! one another are entries side by side. No byte of a page can lead out of it or make a walk
//! endless.

use crate::format::{self, Field};
use std::ops::Range;

/// What the kernel says of its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    time_at: usize,
    commit_at: usize,
    commit_bytes: usize,
    data_at: usize,
    type_bits: u32,
    delta_bits: u32,
    padding: u32,
    extend: u32,
    stamp: u32,
    data_max: u32,
    /// Of a whole page, where no file says that sub-buffers have another size.
    pub page_bytes: usize,
}

const ENTRY_BYTES: usize = 4;
/// In the count of committed bytes: events are missing before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// How many is written behind the last entry.
const MISSED_STORED: u64 = 1 << 30;
const COMMITTED_MASK: u64 = (1 << 20) - 1;

impl Layout {
    /// Reads both files; the error says which part is wrong.
    pub fn parse(page: &str, event: &str) -> Result<Self, &'static str> {
        let fields = format::fields(page)?;
        let of = |name: &str| fields.iter().find(|field| field.name == name);
        let time = of("timestamp").filter(|field| field.bytes == 8);
        let commit = of("commit").filter(|field| matches!(field.bytes, 4 | 8));
        let (Some(time), Some(commit), Some(Field { at: data_at, bytes: data_bytes, .. })) =
            (time, commit, of("data"))
        else {
            return Err("header_page does not say where time, count or data are");
        };
        let lines = || event.lines().map(str::trim);
        let bits = |name: &str| {
            let mut found = lines().filter_map(|line| line.strip_prefix(name));
            let (_, bits) = found.find_map(|rest| rest.trim_start().split_once(':'))?;
            bits.trim().strip_suffix("bits")?.trim().parse::<u32>().ok()
        };
        let number = |name: &str| {
            let mut found = lines().filter_map(|line| line.strip_prefix(name));
            found.find_map(|rest| rest.rsplit_once("==")?.1.trim().parse::<u32>().ok())
        };
        let read = || {
            Some(Self {
                time_at: time.at,
                commit_at: commit.at,
                commit_bytes: commit.bytes,
                data_at: *data_at,
                type_bits: bits("type_len")?,
                delta_bits: bits("time_delta")?,
                padding: number("padding")?,
                extend: number("time_extend")?,
                stamp: number("time_stamp")?,
                data_max: number("data max type_len")?,
                page_bytes: data_at + data_bytes,
            })
        };
        let layout = read().ok_or("header_event lacks a part")?;
        match layout.type_bits.checked_add(layout.delta_bits) {
            Some(32) if (1..32).contains(&layout.type_bits) => Ok(layout),
            _ => Err("header_event has an entry that is not 32 bits long"),
        }
    }

    /// The type of an entry, and the time since the one before it.
    fn split(&self, word: u32) -> (u32, u64) {
        match cfg!(target_endian = "big") {
            true => (word >> self.delta_bits, u64::from(word & !(u32::MAX << self.delta_bits))),
            false => (word & !(u32::MAX << self.type_bits), u64::from(word >> self.type_bits)),
        }
    }
}

/// How many events were overwritten or dropped before a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    None,
    Count(u64),
    /// The kernel did not say how many.
    Some,
}

/// A page, with its first words read.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    layout: &'a Layout,
    /// The entries.
    data: &'a [u8],
    pub begin_cycles: u64,
    pub missed: Missed,
}

/// A place in a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    at: usize,
    cycles: u64,
}

/// What is next in a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Where the page has the record.
    Event {
        cycles: u64,
        record: Range<usize>,
    },
    End,
    /// The rest cannot be read.
    Damaged,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    match size {
        4 => word(bytes, at).map(u64::from),
        _ => {
            let bytes = bytes.get(at..at.checked_add(8)?)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        }
    }
}

impl<'a> Page<'a> {
    /// None when the bytes are too few to be a page.
    pub fn new(bytes: &'a [u8], layout: &'a Layout) -> Option<Self> {
        let begin_cycles = long(bytes, layout.time_at, 8)?;
        let commit = long(bytes, layout.commit_at, layout.commit_bytes)?;
        let room = bytes.get(layout.data_at..)?;
        let committed = (commit & COMMITTED_MASK) as usize;
        let data = room.get(..committed)?;
        let missed = match (commit & MISSED_EVENTS != 0, commit & MISSED_STORED != 0) {
            (false, _) => Missed::None,
            (true, true) => {
                long(room, committed, layout.commit_bytes).map_or(Missed::Some, Missed::Count)
            }
            (true, false) => Missed::Some,
        };
        Some(Self { layout, data, begin_cycles, missed })
    }

    pub fn start(&self) -> Cursor {
        Cursor { at: 0, cycles: self.begin_cycles }
    }

    /// The event at the cursor or behind it; the cursor moves on past it.
    pub fn next(&self, cursor: &mut Cursor) -> Entry {
        // Bound: every round moves the cursor forward by an entry's first word at least.
        while cursor.at < self.data.len() {
            match self.step(cursor) {
                Some(Step::Event(Range { start, end })) => {
                    let record = self.layout.data_at + start..self.layout.data_at + end;
                    return Entry::Event { cycles: cursor.cycles, record };
                }
                Some(Step::Over) => {}
                Some(Step::Last) => {
                    cursor.at = self.data.len();
                    return Entry::End;
                }
                None => {
                    cursor.at = self.data.len();
                    return Entry::Damaged;
                }
            }
        }
        Entry::End
    }

    /// One entry; None where it cannot be one.
    fn step(&self, cursor: &mut Cursor) -> Option<Step> {
        let Layout { padding, extend, stamp, data_max, delta_bits, .. } = *self.layout;
        let at = cursor.at;
        let (of, delta) = self.layout.split(word(self.data, at)?);
        let first = || word(self.data, at + ENTRY_BYTES);
        let (from, until, is_event) = if of == padding {
            if delta == 0 {
                return Some(Step::Last);
            }
            // An event that was given up after later ones had been reserved: its time counts.
            cursor.cycles = cursor.cycles.wrapping_add(delta);
            (at, at + ENTRY_BYTES + first()? as usize, false)
        } else if of == extend {
            let more = u64::from(first()?) << delta_bits | delta;
            cursor.cycles = cursor.cycles.wrapping_add(more);
            (at, at + 2 * ENTRY_BYTES, false)
        } else if of == stamp {
            let low_bits = delta_bits + 32;
            let low = u64::from(first()?) << delta_bits | delta;
            cursor.cycles = absolute(cursor.cycles, low, low_bits);
            (at, at + 2 * ENTRY_BYTES, false)
        } else if of == 0 {
            cursor.cycles = cursor.cycles.wrapping_add(delta);
            (at + 2 * ENTRY_BYTES, at + ENTRY_BYTES + first()? as usize, true)
        } else if of <= data_max {
            cursor.cycles = cursor.cycles.wrapping_add(delta);
            (at + ENTRY_BYTES, at + ENTRY_BYTES + of as usize * ENTRY_BYTES, true)
        } else {
            return None;
        };
        self.data.get(from..until).filter(|_| until > at)?;
        cursor.at = until.next_multiple_of(ENTRY_BYTES);
        Some(if is_event { Step::Event(from..until) } else { Step::Over })
    }
}

enum Step {
    Event(Range<usize>),
    Over,
    Last,
}

/// The full time of its low bits, not before `last`.
fn absolute(last: u64, low: u64, low_bits: u32) -> u64 {
    if low_bits >= 64 {
        return low;
    }
    let high = last & (u64::MAX << low_bits);
    let full = high | low;
    match full < last {
        true => full.wrapping_add(1 << low_bits),
        false => full,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";
    pub const EVENT: &str = "# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
";

    pub fn layout() -> Layout {
        Layout::parse(PAGE, EVENT).unwrap()
    }

    fn entry(of: u32, delta: u32) -> u32 {
        match cfg!(target_endian = "big") {
            true => (of << 27) | delta,
            false => (delta << 5) | of,
        }
    }

    /// A page of these words, as the kernel would hand it over.
    pub fn page(begin: u64, flags: u64, words: &[u32], behind: &[u8]) -> Vec<u8> {
        let mut bytes = begin.to_ne_bytes().to_vec();
        bytes.extend(((words.len() as u64 * 4) | flags).to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(behind);
        bytes.resize(4096, 0xee);
        bytes
    }

    /// One event after the other: time and first word of the record.
    fn read(bytes: &[u8]) -> (Vec<(u64, u32, usize)>, Entry, Missed) {
        let layout = layout();
        let page = Page::new(bytes, &layout).unwrap();
        let (mut cursor, mut found) = (page.start(), Vec::new());
        loop {
            match page.next(&mut cursor) {
                Entry::Event { cycles, record } => {
                    found.push((cycles, word(bytes, record.start).unwrap_or(0), record.len()));
                }
                Entry::End => return (found, Entry::End, page.missed),
                Entry::Damaged => return (found, Entry::Damaged, page.missed),
            }
        }
    }

    #[test]
    fn every_kind_of_entry_counts_in_the_time_and_only_events_are_told() {
        let words = [
            entry(2, 10), // a record of two words
            0xaa,
            0xbb,
            entry(29, 5), // given up: its length is behind it
            12,
            0,
            0,
            entry(30, 3), // 2^27 + 3 later
            1,
            entry(0, 1), // the length is behind it
            12,
            0xcc,
            0xdd,
            entry(31, 7), // at 2^28 + 7
            2,
            entry(1, 0), // of a handler that interrupted it
            0xff,
            entry(29, 0), // nothing follows
            0xdead,
        ];
        let (found, end, missed) = read(&page(100, 0, &words, &[]));
        let extended = 115 + (1 << 27) + 3;
        assert_eq!(found[0], (110, 0xaa, 8));
        assert_eq!(found[1], (extended + 1, 0xcc, 8));
        assert_eq!(found[2], ((1 << 28) + 7, 0xff, 4));
        assert_eq!((found.len(), end, missed), (3, Entry::End, Missed::None));
    }

    #[test]
    fn absolute_time_takes_its_high_bits_from_the_time_before_it() {
        let top = 3 << 59;
        assert_eq!(absolute(top | 5, 9, 59), top | 9);
        assert_eq!(absolute(top | 9, 5, 59), (top | 5) + (1 << 59), "it wrapped in between");
    }

    #[test]
    fn missed_events_are_counted_where_the_kernel_says_how_many() {
        let words = [entry(1, 1), 7];
        let (found, _, missed) =
            read(&page(1, MISSED_EVENTS | MISSED_STORED, &words, &42u64.to_ne_bytes()));
        assert_eq!((found.len(), missed), (1, Missed::Count(42)));
        assert_eq!(read(&page(1, MISSED_EVENTS, &words, &[])).2, Missed::Some);
    }

    #[test]
    fn damage_is_told_and_never_followed() {
        for words in [
            &[entry(28, 1), 0][..], // longer than the page is filled
            &[entry(0, 1)],         // without its length
            &[entry(0, 1), 0],      // shorter than its own length
            &[entry(0, 1), u32::MAX],
            &[entry(29, 1), u32::MAX],
            &[entry(30, 1)],
        ] {
            assert_eq!(read(&page(0, 0, words, &[])).1, Entry::Damaged, "{words:x?}");
        }
        assert!(Page::new(&[0; 15], &layout()).is_none());
        assert!(Page::new(&page(0, 5000, &[], &[]), &layout()).is_none(), "more than a page");
    }

    #[test]
    fn any_bytes_are_walked_to_an_end() {
        let mut random = fastrand::Rng::with_seed(1);
        let layout = layout();
        for _ in 0..20_000 {
            let words: Vec<u32> = (0..32)
                .map(|_| if random.bool() { random.u32(..) } else { entry(random.u32(..32), 1) })
                .collect();
            let mut bytes = page(random.u64(..), random.u64(..1 << 32), &words, &[]);
            bytes.truncate(random.usize(..200));
            let Some(page) = Page::new(&bytes, &layout) else { continue };
            let mut cursor = page.start();
            let mut rounds = 0;
            while let Entry::Event { .. } = page.next(&mut cursor) {
                rounds += 1;
                assert!(rounds <= bytes.len() / 4);
            }
        }
    }

    #[test]
    fn layout_that_lacks_a_part_is_refused() {
        assert!(Layout::parse("", EVENT).is_err() && Layout::parse(PAGE, "").is_err());
        for part in EVENT.lines().skip(1).filter(|line| !line.is_empty() && !line.contains("array"))
        {
            assert!(Layout::parse(PAGE, &EVENT.replace(part, "")).is_err(), "{part}");
        }
        assert!(Layout::parse(PAGE, &EVENT.replace("27 bits", "28 bits")).is_err());
    }
}
