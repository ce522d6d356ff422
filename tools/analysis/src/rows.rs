// SPDX-License-Identifier: MIT
//! Tables that cannot grow without bound: what comes after the limit shares one row, "others".
//!
//! Place in the flow: every analysis keeps what it knows of files, locks and pairs in one of these,
//! so a report of any trace takes memory in proportion to its limits and not to the trace.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Position of a row. The row of the others is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RowIndex(pub u32);

impl RowIndex {
    pub const OTHERS: RowIndex = RowIndex(0);
}

/// Rows in the order in which their keys were first met.
#[derive(Debug)]
pub(crate) struct Rows<K, V> {
    index: FxHashMap<K, u32>,
    /// Position 0 has no key.
    rows: Vec<(Option<K>, V)>,
    limit: usize,
}

impl<K: Hash + Eq + Copy, V: Default> Rows<K, V> {
    /// A table of at most `limit` keys.
    pub fn new(limit: usize) -> Self {
        Self { index: FxHashMap::default(), rows: vec![(None, V::default())], limit }
    }

    /// The row of a key, made if there is space.
    pub fn index(&mut self, key: K) -> RowIndex {
        if let Some(index) = self.index.get(&key) {
            return RowIndex(*index);
        }
        if self.index.len() >= self.limit {
            return RowIndex::OTHERS;
        }
        let index = self.rows.len() as u32;
        self.index.insert(key, index);
        self.rows.push((Some(key), V::default()));
        RowIndex(index)
    }

    pub fn row(&mut self, key: K) -> &mut V {
        let index = self.index(key);
        self.at(index)
    }

    /// The row at an index that this table gave.
    pub fn at(&mut self, index: RowIndex) -> &mut V {
        let position = (index.0 as usize).min(self.rows.len() - 1);
        &mut self.rows[position].1
    }

    /// The row of a key, if it has one of its own.
    pub fn get(&self, key: &K) -> Option<&V> {
        let position = *self.index.get(key)? as usize;
        self.rows.get(position).map(|(_, value)| value)
    }

    /// Makes space for other keys, where half of it is used: rows that are not kept go. What the
    /// table gave as an index means nothing from then on.
    pub fn make_space(&mut self, mut keeps: impl FnMut(&K, &V) -> bool) {
        if self.index.len() <= self.limit / 2 {
            return;
        }
        self.rows.retain(|(key, value)| key.as_ref().is_none_or(|key| keeps(key, value)));
        let keys = self.rows.iter().zip(0..);
        self.index = keys.filter_map(|((key, _), position)| Some(((*key)?, position))).collect();
    }

    /// Every row; the others are `None`.
    pub fn iter(&self) -> impl Iterator<Item = (Option<K>, &V)> {
        self.rows.iter().map(|(key, value)| (*key, value))
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Option<K>, &mut V)> {
        self.rows.iter_mut().map(|(key, value)| (*key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::{RowIndex, Rows};

    #[test]
    fn keys_past_the_limit_share_the_row_of_the_others() {
        let mut rows: Rows<u32, u64> = Rows::new(2);
        for key in [7, 8, 9, 7, 10, 9] {
            *rows.row(key) += 1;
        }
        let found: Vec<_> = rows.iter().map(|(key, count)| (key, *count)).collect();
        assert_eq!(found, [(None, 3), (Some(7), 2), (Some(8), 1)]);
        assert_eq!(rows.index(11), RowIndex::OTHERS);
    }

    #[test]
    fn space_is_made_only_where_it_is_short_and_rows_are_found_after_it() {
        let mut rows: Rows<u32, u64> = Rows::new(4);
        for key in [7, 8] {
            *rows.row(key) = u64::from(key);
        }
        rows.make_space(|_, _| false);
        assert_eq!(rows.get(&8), Some(&8), "half of it is free");
        for key in [9, 10, 11] {
            *rows.row(key) += u64::from(key);
        }
        rows.make_space(|key, _| *key > 8);
        let found: Vec<_> = rows.iter().map(|(key, count)| (key, *count)).collect();
        assert_eq!(found, [(None, 11), (Some(9), 9), (Some(10), 10)]);
        *rows.row(7) += 1;
        assert_eq!((rows.get(&7), rows.get(&10), rows.get(&8)), (Some(&1), Some(&10), None));
    }

    #[test]
    fn index_that_the_table_has_not_leads_to_its_last_row() {
        let mut rows: Rows<u32, u64> = Rows::new(2);
        *rows.row(7) += 1;
        assert_eq!(*rows.at(RowIndex(9)), 1);
    }
}
