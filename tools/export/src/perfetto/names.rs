// SPDX-License-Identifier: MIT
//! Names by number: a packet tells of a name once, later packets have its number.
//!
//! Place in the flow: `perfetto` asks for each name that it writes.

use rustc_hash::FxHashMap;

use super::messages::{InternedData, InternedName};

/// Names of a kind; the others are written as they are.
const NAMES: usize = 1 << 16;

#[derive(Debug, Default)]
struct Known(FxHashMap<String, u64>);

impl Known {
    /// The number of a name; a new one is added to `news`.
    fn of(&mut self, name: &str, news: &mut Vec<InternedName>) -> Option<u64> {
        if let Some(iid) = self.0.get(name) {
            return Some(*iid);
        }
        if self.0.len() >= NAMES {
            return None;
        }
        let iid = self.0.len() as u64 + 1;
        self.0.insert(name.to_string(), iid);
        news.push(InternedName { iid: Some(iid), name: Some(name.to_string()) });
        Some(iid)
    }
}

/// The names that packets have told of.
#[derive(Debug, Default)]
pub(super) struct Names {
    events: Known,
    categories: Known,
    arguments: Known,
}

impl Names {
    pub fn event(&mut self, name: &str, news: &mut InternedData) -> Option<u64> {
        self.events.of(name, &mut news.event_names)
    }

    pub fn category(&mut self, name: &str, news: &mut InternedData) -> Option<u64> {
        self.categories.of(name, &mut news.event_categories)
    }

    pub fn argument(&mut self, name: &str, news: &mut InternedData) -> Option<u64> {
        self.arguments.of(name, &mut news.debug_annotation_names)
    }
}
