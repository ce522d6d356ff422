// SPDX-License-Identifier: MIT
//! Things that have begun and wait for their ends, by key: at most so many, the oldest forgotten.
//!
//! Place in the flow: analyses open and close; what was forgotten is counted, because its end will
//! look as if it had no begin.

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::hash::Hash;

use rustc_hash::FxHashMap;

#[derive(Debug)]
pub(crate) struct Pending<K, V> {
    open: FxHashMap<K, (u64, V)>,
    /// In the order of their begins; those that are closed stay until there are too many.
    order: VecDeque<(u64, K)>,
    opened: u64,
    limit: usize,
    forgotten: u64,
}

impl<K: Hash + Eq + Clone, V> Pending<K, V> {
    /// Room for `limit` things.
    pub fn new(limit: usize) -> Self {
        let (open, order) = (FxHashMap::default(), VecDeque::new());
        Self { open, order, opened: 0, limit, forgotten: 0 }
    }

    /// Something begins. Return: what had begun under the same key.
    pub fn begin(&mut self, key: K, value: V) -> Option<V> {
        let is_open = |open: &FxHashMap<K, (u64, V)>, number, key: &K| {
            open.get(key).is_some_and(|(of, _)| *of == number)
        };
        if self.open.len() >= self.limit {
            // Bound: each round takes one off.
            while let Some((number, key)) = self.order.pop_front() {
                if is_open(&self.open, number, &key) {
                    self.open.remove(&key);
                    self.forgotten += 1;
                    break;
                }
            }
        }
        if self.order.len() >= self.limit.saturating_mul(2) {
            self.order.retain(|(number, key)| is_open(&self.open, *number, key));
        }
        self.opened += 1;
        self.order.push_back((self.opened, key.clone()));
        self.open.insert(key, (self.opened, value)).map(|(_, value)| value)
    }

    /// It ends.
    pub fn end<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.open.remove(key).map(|(_, value)| value)
    }

    /// Whether something under this key has begun and not ended.
    pub fn has(&self, key: &K) -> bool {
        self.open.contains_key(key)
    }

    /// What has not ended, the oldest first.
    pub fn left(&self) -> Vec<(&K, &V)> {
        let mut left: Vec<_> = self.open.iter().collect();
        left.sort_unstable_by_key(|(_, (number, _))| *number);
        left.into_iter().map(|(key, (_, value))| (key, value)).collect()
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::Pending;

    #[test]
    fn the_oldest_is_forgotten_where_there_is_no_room_and_what_ended_takes_none() {
        let mut pending = Pending::new(2);
        for key in 0..100 {
            pending.begin(key, key);
            assert_eq!(pending.end(&key), Some(key));
        }
        assert_eq!((pending.forgotten(), pending.len()), (0, 0));
        assert!(pending.order.len() <= 4, "closed ones do not pile up");
        for key in [7, 8, 9] {
            pending.begin(key, key);
        }
        assert_eq!((pending.end(&7), pending.forgotten()), (None, 1));
        assert_eq!(pending.left(), [(&8, &8), (&9, &9)]);
        assert_eq!(pending.begin(9, 1), Some(9));
        assert_eq!(pending.end(&9), Some(1));
    }
}
