// SPDX-License-Identifier: MIT
//! Which events are counted: those that the caller wants by their name or by their pair's.
//!
//! Place in the flow: decided once from the metadata of all traces, before the first event.

use state::{Classes, NameIndex, PairIndex};

use crate::analyses::Wanted;

pub(crate) struct Filter {
    names: Vec<bool>,
    /// Whether both ends are counted: a pair of which the filter takes one has no latency.
    pairs: Vec<bool>,
}

impl Filter {
    pub fn new(classes: &Classes, wanted: Option<Wanted<'_>>) -> Self {
        let mut filter = Self { names: Vec::new(), pairs: vec![true; classes.pairs().len()] };
        for name in classes.names() {
            let pair = name.pair.and_then(|index| classes.pair(index));
            let names = [Some(name.text.as_str()), pair.map(|pair| pair.name.as_str())];
            let names: Vec<&str> = names.into_iter().flatten().collect();
            let is_counted = wanted.is_none_or(|wanted| wanted(&names, name.log_level));
            filter.names.push(is_counted);
            let of_pair = name.pair.and_then(|index| filter.pairs.get_mut(index.0 as usize));
            if let (Some(of_pair), false) = (of_pair, is_counted) {
                *of_pair = false;
            }
        }
        filter
    }

    #[inline]
    pub fn counts(&self, name: NameIndex) -> bool {
        self.names.get(name.0 as usize).is_some_and(|is_counted| *is_counted)
    }

    pub fn counts_pair(&self, pair: PairIndex) -> bool {
        self.pairs.get(pair.0 as usize).is_some_and(|is_counted| *is_counted)
    }
}
