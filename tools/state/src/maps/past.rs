// SPDX-License-Identifier: MIT
//! Maps and objects of processes that are over, with the times at which they were there.
//!
//! Place in the flow: `maps` hands over what it takes away, where a reader wants to ask about any
//! moment of a trace after one pass over it. What finds no room is counted, and not known.

use rustc_hash::FxHashMap;
use trace::Ns;

use super::{Map, Object};
use crate::threads::ProcessIndex;

/// Maps of one process, and objects of one, that are kept; each is looked at for an address.
const OF_PROCESS_MAX: usize = 1 << 12;

/// What is over, and when it ended.
#[derive(Debug)]
struct Ended<T> {
    what: T,
    until: Ns,
}

/// Of each process in the order in which they ended.
#[derive(Debug)]
pub(super) struct Past {
    maps: FxHashMap<ProcessIndex, Vec<Ended<Map>>>,
    objects: FxHashMap<ProcessIndex, Vec<Ended<Object>>>,
    count: usize,
    limit: usize,
    left_out: u64,
}

impl Past {
    pub fn new(limit: usize) -> Self {
        let (maps, objects) = (FxHashMap::default(), FxHashMap::default());
        Self { maps, objects, count: 0, limit, left_out: 0 }
    }

    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    pub fn map_ends(&mut self, process: ProcessIndex, what: Map, until: Ns) {
        let is_room = self.count < self.limit;
        if what.since < until {
            let all = self.maps.entry(process).or_default();
            let is_kept = keep(all, Ended { what, until }, is_room);
            self.counted(is_kept);
        }
    }

    pub fn object_ends(&mut self, process: ProcessIndex, what: Object, until: Ns) {
        let is_room = self.count < self.limit;
        if what.since < until {
            let all = self.objects.entry(process).or_default();
            let is_kept = keep(all, Ended { what, until }, is_room);
            self.counted(is_kept);
        }
    }

    fn counted(&mut self, is_kept: bool) {
        self.count += usize::from(is_kept);
        self.left_out += u64::from(!is_kept);
    }

    pub fn map_at(&self, process: ProcessIndex, address: u64, at: Ns) -> Option<&Map> {
        let mut all = there(self.maps.get(&process)?, at);
        all.find(|map| map.since <= at && (map.begin..map.until).contains(&address))
    }

    /// The last that was told until then.
    pub fn object_at(&self, process: ProcessIndex, address: u64, at: Ns) -> Option<&Object> {
        let all = there(self.objects.get(&process)?, at);
        // Of equal ones, the last: they ended in the order in which they were told.
        all.filter(|object| object.has(address, at)).max_by_key(|object| object.since)
    }
}

fn keep<T>(all: &mut Vec<Ended<T>>, ended: Ended<T>, is_room: bool) -> bool {
    let is_kept = is_room && all.len() < OF_PROCESS_MAX;
    if is_kept {
        all.push(ended);
    }
    is_kept
}

/// Those that had not ended at a time.
fn there<T>(all: &[Ended<T>], at: Ns) -> impl Iterator<Item = &T> {
    let first = all.partition_point(|ended| ended.until <= at);
    all.get(first..).unwrap_or_default().iter().map(|ended| &ended.what)
}
