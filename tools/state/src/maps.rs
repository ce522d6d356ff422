// SPDX-License-Identifier: MIT
//! Which ranges of each process's memory are of which files, as far as events tell.
//!
//! Place in the flow: `tasks` hands over what a dump of the kernel's state says, `moment` the calls
//! that map, unmap, move and protect, and reports forking, executing and ending. Memory that is of
//! no file (heaps, stacks) is not followed. What a process maps by becoming another program is told
//! by no call: until a dump tells it, it is not known. What is over is kept where that is wanted.

mod past;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use trace::Ns;

use crate::descriptors::File;
use crate::dump::Told;
use crate::operation::{Operation, Values};
use crate::texts::TextIndex;
use crate::threads::ProcessIndex;
use past::Past;

/// The least page of any machine: a call's length stands for whole ones.
const PAGE_BYTES: u64 = 4096;
const MAP_SHARED: i64 = 1;
const MAP_ANONYMOUS: i64 = 0x20;
const MREMAP_KEEPS: i64 = 4;
/// The errors of system calls, as addresses.
const FIRST_ERROR: u64 = u64::MAX - 4094;
/// Objects of one process; each is looked at for an address.
const OBJECTS_MAX: usize = 1 << 12;
const PROTECTION: u32 = 7;
const EXECUTABLE: u32 = 4;
const SHARED: u32 = 8;
const NOT_IN_CHILDREN: u32 = 0x20000;

/// A range of a process's memory that is of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Map {
    /// Its first address.
    pub begin: u64,
    /// The first address behind it.
    pub until: u64,
    /// The kernel's flags: 1 readable, 2 writable, 4 executable, 8 shared.
    pub flags: u32,
    /// Where in the file it begins.
    pub offset_bytes: u64,
    /// The file's path; [`TextIndex::NONE`] if it is not known.
    pub path: TextIndex,
    /// The file's number in its file system, where a dump told it.
    pub inode: Option<u64>,
    /// When an event told it.
    pub since: Ns,
}

impl Map {
    /// Whether code in it can run.
    pub fn is_executable(&self) -> bool {
        self.flags & EXECUTABLE != 0
    }

    /// The flags as `/proc` shows them: `r-xp`.
    pub fn flags_text(&self) -> String {
        let letter = |bit, letter| if self.flags & bit != 0 { letter } else { '-' };
        let shared = if self.flags & SHARED != 0 { 's' } else { 'p' };
        [letter(1, 'r'), letter(2, 'w'), letter(EXECUTABLE, 'x'), shared].iter().collect()
    }

    /// What of it is in a range that overlaps it.
    fn within(self, begin: u64, until: u64) -> Self {
        let (first, last) = (begin.max(self.begin), until.min(self.until));
        let offset_bytes = self.offset_bytes.wrapping_add(first.wrapping_sub(self.begin));
        Self { begin: first, until: last, offset_bytes, ..self }
    }
}

/// An object that a program has loaded: a file whose addresses are counted from a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Where the address 0 of the file is.
    pub base: u64,
    /// The first address behind it.
    pub until: u64,
    /// The file's path; [`TextIndex::NONE`] if it is not known.
    pub path: TextIndex,
    /// The bytes of the number that the linker gave this build of it; [`TextIndex::NONE`] if it is
    /// not known.
    pub build_id: TextIndex,
    /// When the process told it.
    pub since: Ns,
}

impl Object {
    /// Whether it had been told by a time, and an address is in it.
    fn has(&self, address: u64, at: Ns) -> bool {
        self.since <= at && (self.base..self.until).contains(&address)
    }

    fn overlaps(&self, other: &Object) -> bool {
        self.base < other.until && other.base < self.until
    }

    /// Whether it was told again.
    fn is_again(&self, other: &Object) -> bool {
        Object { since: self.since, ..*other } == *self
    }
}

/// The maps of all processes.
#[derive(Debug)]
pub struct Maps {
    /// Of each process, in the order in which they were told.
    objects: FxHashMap<ProcessIndex, Vec<Object>>,
    /// Of each process by their first addresses; no two overlap.
    tables: FxHashMap<ProcessIndex, BTreeMap<u64, Map>>,
    count: usize,
    limit: usize,
    /// The time of the latest event.
    now: Ns,
    /// What is over, where it is kept.
    past: Option<Past>,
}

impl Maps {
    pub(crate) fn new(limit: usize) -> Self {
        let (objects, tables) = (FxHashMap::default(), FxHashMap::default());
        Self { objects, tables, count: 0, limit, now: Ns(0), past: None }
    }

    pub(crate) fn reach(&mut self, now: Ns) {
        self.now = now;
    }

    /// Keeps what is over from now on.
    pub(crate) fn keep_past(&mut self) {
        self.past = Some(Past::new(self.limit));
    }

    /// How many maps and objects are not known any more since they are over, for want of room.
    pub fn left_out(&self) -> u64 {
        self.past.as_ref().map_or(0, Past::left_out)
    }

    /// The maps of a process that are known, in the order of their addresses.
    pub fn of(&self, process: ProcessIndex) -> impl Iterator<Item = &Map> + '_ {
        self.tables.get(&process).into_iter().flat_map(BTreeMap::values)
    }

    /// The map that an address of a process's is in, if that is known.
    pub fn at(&self, process: ProcessIndex, address: u64) -> Option<&Map> {
        let (_, map) = self.tables.get(&process)?.range(..=address).next_back()?;
        (address < map.until).then_some(map)
    }

    /// The map that an address of a process's was in at a time, if that is known: of what is over
    /// by now, only if it is kept ([`crate::State::keep_past`]).
    pub fn at_time(&self, process: ProcessIndex, address: u64, at: Ns) -> Option<&Map> {
        let now = self.at(process, address).filter(|map| map.since <= at);
        now.or_else(|| self.past.as_ref()?.map_at(process, address, at))
    }

    /// The object that an address of a process's was in at a time, as the process told it: the last
    /// that was told until then.
    pub fn object_at(&self, process: ProcessIndex, address: u64, at: Ns) -> Option<&Object> {
        let mut objects = self.objects.get(&process).into_iter().flatten().rev();
        let now = objects.find(|object| object.has(address, at));
        now.or_else(|| self.past.as_ref()?.object_at(process, address, at))
    }

    fn add_object(&mut self, process: ProcessIndex, object: Object) {
        let is_no_range = object.base >= object.until;
        if is_no_range || self.count >= self.limit || process == ProcessIndex::OTHERS {
            return;
        }
        let objects = self.objects.entry(process).or_default();
        let last = objects.iter().rev().find(|known| known.overlaps(&object));
        if objects.len() < OBJECTS_MAX && !last.is_some_and(|last| last.is_again(&object)) {
            objects.push(object);
            self.count += 1;
        }
    }

    /// Objects are unloaded whose memory is all in a range.
    fn objects_end(&mut self, process: ProcessIndex, begin: u64, until: u64) {
        let Some(objects) = self.objects.get_mut(&process) else { return };
        let before = objects.len();
        objects.retain(|object| {
            let is_over = begin <= object.base && object.until <= until;
            if let (true, Some(past)) = (is_over, &mut self.past) {
                past.object_ends(process, *object, self.now);
            }
            !is_over
        });
        self.count -= before - objects.len();
    }

    fn add(&mut self, process: ProcessIndex, map: Map) {
        let is_no_range = map.begin >= map.until;
        if is_no_range || self.count >= self.limit || process == ProcessIndex::OTHERS {
            return;
        }
        let old = self.tables.entry(process).or_default().insert(map.begin, map);
        self.count += usize::from(old.is_none());
    }

    /// Takes away what is in a range. The result is that, in the order of addresses.
    fn cut(&mut self, process: ProcessIndex, begin: u64, until: u64) -> Vec<Map> {
        let mut taken = Vec::new();
        if begin >= until {
            return taken;
        }
        let Some(table) = self.tables.get_mut(&process) else { return taken };
        let before = table.range(..begin).next_back().map(|(_, map)| *map);
        let first = before.filter(|map| map.until > begin).map_or(begin, |map| map.begin);
        // Bound: the maps of one process.
        while let Some((_, map)) = table.range(first..until).next().map(|(at, map)| (*at, *map)) {
            table.remove(&map.begin);
            self.count -= 1;
            taken.push(map);
        }
        for map in &mut taken {
            let whole = *map;
            *map = whole.within(begin, until);
            if let Some(past) = &mut self.past {
                past.map_ends(process, *map, self.now);
            }
            if whole.begin < begin {
                self.add(process, whole.within(whole.begin, begin));
            }
            if whole.until > until {
                self.add(process, whole.within(until, whole.until));
            }
        }
        taken
    }

    /// Takes over what a dump says, where no event told otherwise since the dump began.
    pub(crate) fn dumped(&mut self, process: ProcessIndex, map: Map, told: &Told) {
        for (holder, ranges) in told.map_holders(process) {
            let mut left = vec![map];
            // Bound: what events told of the process, in a dump's time.
            for (begin, until) in ranges {
                let cut = |map: Map| {
                    let parts =
                        [map.within(map.begin, begin.min(map.until)), map.within(until, map.until)];
                    parts.into_iter().filter(|part| part.begin < part.until)
                };
                left = left.into_iter().flat_map(cut).collect();
            }
            for map in left {
                self.cut(holder, map.begin, map.until);
                if map.path != TextIndex::NONE {
                    self.add(holder, Map { since: self.now, ..map });
                }
            }
        }
    }

    /// Takes over what a finished call changed. `file`: what its descriptor stood for.
    pub(crate) fn change(
        &mut self,
        operation: Operation,
        process: ProcessIndex,
        values: &Values,
        file: Option<File>,
        told: &mut Told,
    ) {
        let result = values.result as u64;
        if result >= FIRST_ERROR {
            return;
        }
        let end = |begin: u64, length: i64| {
            let rest = PAGE_BYTES - 1;
            begin.saturating_add((length as u64).saturating_add(rest) & !rest)
        };
        let address = values.subject as u64;
        match operation {
            Operation::Map => {
                let until = end(result, values.other);
                told.maps(process, result, until);
                self.cut(process, result, until);
                if values.third & MAP_ANONYMOUS == 0 {
                    let path = match file {
                        Some(File::Path(path)) => path,
                        _ => TextIndex::NONE,
                    };
                    let shared = if values.third & MAP_SHARED != 0 { SHARED } else { 0 };
                    let flags = values.fourth as u32 & PROTECTION | shared;
                    let offset_bytes = values.fifth as u64;
                    let (begin, inode, since) = (result, None, self.now);
                    let map = Map { begin, until, flags, offset_bytes, path, inode, since };
                    self.add(process, map);
                }
            }
            Operation::Unmap => {
                let until = end(address, values.other);
                told.maps(process, address, until);
                self.cut(process, address, until);
                self.objects_end(process, address, until);
            }
            Operation::Protect => {
                let until = end(address, values.other);
                told.maps(process, address, until);
                for map in self.cut(process, address, until) {
                    let flags = map.flags & !PROTECTION | values.fourth as u32 & PROTECTION;
                    self.add(process, Map { flags, ..map });
                }
            }
            Operation::Object => {
                let until = address.saturating_add(values.other as u64);
                let (path, build_id, since) = (values.text, values.more_text, self.now);
                self.add_object(process, Object { base: address, until, path, build_id, since });
            }
            Operation::MoveMap => self.moved(process, values, told, end),
            _ => {}
        }
    }

    /// One map, or a part of it, has another place or length. An old length of 0 makes a second.
    fn moved(
        &mut self,
        process: ProcessIndex,
        values: &Values,
        told: &mut Told,
        end: impl Fn(u64, i64) -> u64,
    ) {
        let (from, to) = (values.subject as u64, values.result as u64);
        let (from_until, to_until) = (end(from, values.other), end(to, values.third));
        let source = self.at(process, from).map(|map| map.within(from, map.until));
        told.maps(process, from, from_until);
        told.maps(process, to, to_until);
        if values.fourth & MREMAP_KEEPS == 0 {
            self.cut(process, from, from_until);
        }
        self.cut(process, to, to_until);
        if let Some(source) = source {
            self.add(process, Map { begin: to, until: to_until, since: self.now, ..source });
        }
    }

    /// A child has what its parent has.
    pub(crate) fn inherited(&mut self, child: ProcessIndex, parent: ProcessIndex) {
        if child == parent {
            return;
        }
        let kept = self.of(parent).filter(|map| map.flags & NOT_IN_CHILDREN == 0);
        let kept: Vec<Map> = kept.copied().collect();
        let objects = self.objects.get(&parent).cloned().unwrap_or_default();
        self.forget(child);
        let since = self.now;
        objects.into_iter().for_each(|object| self.add_object(child, Object { since, ..object }));
        for map in kept {
            self.add(child, Map { since, ..map });
        }
    }

    /// Nothing is known of a process's memory any more: it runs another program, or is over.
    pub(crate) fn forget(&mut self, process: ProcessIndex) {
        let table = self.tables.remove(&process).unwrap_or_default();
        let objects = self.objects.remove(&process).unwrap_or_default();
        self.count -= table.len() + objects.len();
        if let Some(past) = &mut self.past {
            table.into_values().for_each(|map| past.map_ends(process, map, self.now));
            objects.into_iter().for_each(|object| past.object_ends(process, object, self.now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: ProcessIndex = ProcessIndex(1);
    const CHILD: ProcessIndex = ProcessIndex(2);
    const LIBRARY: TextIndex = TextIndex(7);

    fn map(maps: &mut Maps, at: u64, pages: u64, first: u64) {
        let values = Values {
            result: at as i64,
            other: (pages * PAGE_BYTES) as i64 - 5,
            fourth: 5,
            fifth: (first * PAGE_BYTES) as i64,
            ..Values::default()
        };
        let file = Some(File::Path(LIBRARY));
        maps.change(Operation::Map, P, &values, file, &mut Told::default());
    }

    fn change(maps: &mut Maps, operation: Operation, numbers: [u64; 5]) {
        let [subject, other, third, fourth, result] = numbers.map(|number| number as i64);
        let values = Values { subject, other, third, fourth, result, ..Values::default() };
        maps.change(operation, P, &values, None, &mut Told::default());
    }

    /// Each as `BEGIN-UNTIL FLAGS OFFSET`, in pages.
    fn shown(maps: &Maps, process: ProcessIndex) -> Vec<String> {
        let page = |address| address / PAGE_BYTES;
        let all = maps.of(process);
        all.map(|m| {
            let (begin, until, first) = (page(m.begin), page(m.until), page(m.offset_bytes));
            format!("{begin}-{until} {} {first}", m.flags_text())
        })
        .collect()
    }

    #[test]
    fn objects_are_those_that_a_process_told_or_its_parent() {
        let mut maps = Maps::new(9);
        let told = |maps: &mut Maps, base: i64, bytes: i64, path| {
            let values = Values { subject: base, other: bytes, text: path, ..Values::default() };
            maps.change(Operation::Object, P, &values, None, &mut Told::default());
        };
        let at =
            |maps: &Maps, process, address| maps.object_at(process, address, Ns(0)).map(|o| o.path);
        told(&mut maps, 0x1000, 0x500, LIBRARY);
        told(&mut maps, 0x1000, 0x500, LIBRARY);
        told(&mut maps, 0x3000, 0, LIBRARY);
        assert_eq!(maps.count, 1);
        let found = [0xfff, 0x1000, 0x14ff, 0x1500].map(|address| at(&maps, P, address));
        assert_eq!(found, [None, Some(LIBRARY), Some(LIBRARY), None]);
        maps.inherited(CHILD, P);
        told(&mut maps, 0x1200, 0x100, TextIndex(8));
        assert_eq!(at(&maps, P, 0x1234), Some(TextIndex(8)));
        maps.forget(P);
        assert_eq!((at(&maps, P, 0x1234), at(&maps, CHILD, 0x1234)), (None, Some(LIBRARY)));
        for base in 2..20 {
            told(&mut maps, base << 12, 1 << 12, LIBRARY);
        }
        assert_eq!(maps.count, 9);
    }

    #[test]
    fn what_was_mapped_before_is_known_by_its_time_if_it_is_kept() {
        let told = |maps: &mut Maps, base: i64, path| {
            let values = Values { subject: base, other: 0x1000, text: path, ..Values::default() };
            maps.change(Operation::Object, P, &values, None, &mut Told::default());
        };
        let (one, other) = (TextIndex(8), TextIndex(9));
        for is_kept in [false, true] {
            let mut maps = Maps::new(99);
            if is_kept {
                maps.keep_past();
            }
            maps.reach(Ns(10));
            map(&mut maps, 16 << 12, 4, 0);
            told(&mut maps, 0x9000, one);
            maps.reach(Ns(20));
            // Another is loaded there, and later the first again.
            told(&mut maps, 0x9000, other);
            change(&mut maps, Operation::Unmap, [17 << 12, 1 << 12, 0, 0, 0]);
            maps.reach(Ns(30));
            told(&mut maps, 0x9000, one);
            maps.inherited(CHILD, P);
            maps.reach(Ns(40));
            maps.forget(P);
            let object = |process, at| maps.object_at(process, 0x9100, Ns(at)).map(|o| o.path);
            let found = [9, 10, 20, 30, 39, 40].map(|at| object(P, at));
            let known = [None, Some(one), Some(other), Some(one), Some(one), None];
            assert_eq!(found, if is_kept { known } else { [None; 6] });
            assert_eq!([object(CHILD, 29), object(CHILD, 30)], [None, Some(one)]);
            let page = |page: u64, at| maps.at_time(P, page << 12, Ns(at)).is_some();
            let found = [page(17, 9), page(17, 19), page(17, 20), page(16, 39), page(16, 40)];
            assert_eq!(found, [false, is_kept, false, is_kept, false]);
            let of_child = |at| maps.at_time(CHILD, 16 << 12, Ns(at)).is_some();
            assert_eq!([of_child(29), of_child(30)], [false, true]);
        }
    }

    #[test]
    fn object_whose_memory_is_unmapped_is_there_no_longer() {
        let mut maps = Maps::new(99);
        let values = Values { subject: 0x9000, other: 0x1800, ..Values::default() };
        maps.change(Operation::Object, P, &values, None, &mut Told::default());
        change(&mut maps, Operation::Unmap, [0x9000, 0x1000, 0, 0, 0]);
        assert!(maps.object_at(P, 0xa000, Ns(0)).is_some(), "only a part of it");
        change(&mut maps, Operation::Unmap, [0x9000, 0x2000, 0, 0, 0]);
        assert_eq!((maps.object_at(P, 0xa000, Ns(0)), maps.count), (None, 0));
    }

    #[test]
    fn what_is_over_has_a_limit_and_is_counted_beyond_it() {
        let mut maps = Maps::new(2);
        maps.keep_past();
        for round in 0..5 {
            maps.reach(Ns(round));
            map(&mut maps, 16 << 12, 1, 0);
        }
        assert_eq!(maps.left_out(), 2);
    }

    #[test]
    fn calls_map_cut_protect_and_move_ranges_of_pages() {
        let mut maps = Maps::new(99);
        map(&mut maps, 10 << 12, 6, 2);
        change(&mut maps, Operation::Protect, [12 << 12, 1 << 12, 0, 1, 0]);
        assert_eq!(shown(&maps, P), ["10-12 r-xp 2", "12-13 r--p 4", "13-16 r-xp 5"]);
        change(&mut maps, Operation::Unmap, [11 << 12, 3 << 12, 0, 0, 0]);
        assert_eq!(shown(&maps, P), ["10-11 r-xp 2", "14-16 r-xp 6"]);
        change(&mut maps, Operation::MoveMap, [15 << 12, 1 << 12, 2 << 12, 1, 30 << 12]);
        assert_eq!(shown(&maps, P), ["10-11 r-xp 2", "14-15 r-xp 6", "30-32 r-xp 7"]);
        change(&mut maps, Operation::MoveMap, [30 << 12, 2 << 12, 1 << 12, 0, 30 << 12]);
        assert_eq!(shown(&maps, P).last().unwrap(), "30-31 r-xp 7");
        let failed = -12i64 as u64;
        change(&mut maps, Operation::Unmap, [10 << 12, 1 << 12, 0, 0, failed]);
        assert_eq!(maps.count, 3);
        let at = |page: u64| maps.at(P, page << 12).map(|map| map.path);
        assert_eq!([at(9), at(10), at(11)], [None, Some(LIBRARY), None]);
    }

    #[test]
    fn memory_of_no_file_takes_the_place_of_a_files_and_is_not_remembered() {
        let mut maps = Maps::new(99);
        map(&mut maps, 10 << 12, 6, 0);
        change(&mut maps, Operation::Map, [u64::MAX, 1 << 12, 0x22, 3, 15 << 12]);
        assert_eq!(shown(&maps, P), ["10-15 r-xp 0"]);
    }

    #[test]
    fn children_have_copies_until_they_run_another_program() {
        let mut maps = Maps::new(99);
        map(&mut maps, 10 << 12, 6, 0);
        maps.inherited(CHILD, P);
        change(&mut maps, Operation::Unmap, [10 << 12, 6 << 12, 0, 0, 0]);
        assert_eq!((shown(&maps, P).len(), shown(&maps, CHILD).len()), (0, 1));
        maps.forget(CHILD);
        assert_eq!((shown(&maps, CHILD).len(), maps.count), (0, 0));
    }

    #[test]
    fn there_is_a_limit_and_absurd_ranges_are_none() {
        let mut maps = Maps::new(2);
        map(&mut maps, 10 << 12, 6, 0);
        change(&mut maps, Operation::Protect, [12 << 12, 1 << 12, 0, 1, 0]);
        assert_eq!(maps.count, 2, "the third part found no space");
        for numbers in [[u64::MAX; 5], [0; 5], [u64::MAX, u64::MAX, u64::MAX, 1, 1 << 63]] {
            for operation in
                [Operation::Map, Operation::Unmap, Operation::Protect, Operation::MoveMap]
            {
                change(&mut maps, operation, numbers);
            }
        }
        assert!(maps.count <= 2);
    }
}
