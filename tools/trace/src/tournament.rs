// SPDX-License-Identifier: MIT
//! Which of many streams comes next: a loser tree over the times that they have come to.
//!
//! Place in the flow: the merge asks for the winner, takes what that stream has, and plays its next
//! time. A match costs one comparison for each level of the tree, and a key is one word: the time
//! since `base`, and the stream in the low bits, so that ties are broken by the order of streams.
//!
//! A time that does not fit, as it is far after `base` or before it, is rare: the clocks of a trace
//! begin at about the same time. Such a key says no more than that it is far; before one is the
//! winner, or when one is before `base`, all keys are made again around the lowest time.

/// A key's low bits are the stream.
type Key = u64;

#[derive(Debug)]
pub(crate) struct Tournament {
    /// The first is the winner; the others lost the match at their node.
    losers: Vec<Key>,
    /// What each stream has come to; `None` at its end.
    times: Vec<Option<u64>>,
    base: u64,
    stream_bits: u32,
    stream_mask: Key,
    /// Times from here on, counted from `base`, are far; the next number is that of an end.
    far: u64,
}

impl Tournament {
    /// A tournament of streams that have come to these times.
    pub fn new(times: Vec<Option<u64>>) -> Self {
        let stream_bits = times.len().next_power_of_two().trailing_zeros().max(1);
        let far = (u64::MAX >> stream_bits) - 1;
        let stream_mask = (1 << stream_bits) - 1;
        let losers = Vec::new();
        let mut tournament = Self { losers, times, base: 0, stream_bits, stream_mask, far };
        tournament.build();
        tournament
    }

    /// The stream that comes next; `None` when all have ended.
    #[inline(always)]
    pub fn winner(&mut self) -> Option<usize> {
        let key = *self.losers.first()?;
        match key >> self.stream_bits < self.far {
            true => Some(self.stream_of(key)),
            false => self.winner_of_far(),
        }
    }

    /// The time before which the winner comes before all other streams.
    #[inline(always)]
    pub fn bound(&self, stream: usize) -> u64 {
        let mut key = Key::MAX;
        let mut node = (stream + self.losers.len()) / 2;
        while node > 0 {
            key = key.min(self.losers.get(node).copied().unwrap_or(Key::MAX));
            node /= 2;
        }
        self.base.saturating_add((key >> self.stream_bits).min(self.far))
    }

    /// Plays the matches of the winner's next time.
    #[inline(always)]
    pub fn play(&mut self, stream: usize, time: u64) {
        if let Some(known) = self.times.get_mut(stream) {
            *known = Some(time);
        }
        if time < self.base {
            return self.build();
        }
        let since = (time - self.base).min(self.far);
        self.climb(stream, since << self.stream_bits | stream as Key);
    }

    /// The winner has ended.
    pub fn end(&mut self, stream: usize) {
        if let Some(known) = self.times.get_mut(stream) {
            *known = None;
        }
        self.climb(stream, self.key_of(stream, None));
    }

    #[inline(always)]
    fn stream_of(&self, key: Key) -> usize {
        (key & self.stream_mask) as usize
    }

    fn key_of(&self, stream: usize, time: Option<u64>) -> Key {
        let since = time.map(|time| time.saturating_sub(self.base).min(self.far));
        since.unwrap_or(self.far + 1) << self.stream_bits | stream as Key
    }

    #[inline(always)]
    fn climb(&mut self, stream: usize, mut key: Key) {
        let mut node = (stream + self.losers.len()) / 2;
        while node > 0 {
            if let Some(loser) = self.losers.get_mut(node) {
                (key, *loser) = (key.min(*loser), key.max(*loser));
            }
            node /= 2;
        }
        if let Some(winner) = self.losers.first_mut() {
            *winner = key;
        }
    }

    #[cold]
    fn winner_of_far(&mut self) -> Option<usize> {
        self.times.iter().any(Option::is_some).then(|| self.build())?;
        self.losers.first().map(|key| self.stream_of(*key))
    }

    /// Makes all keys around the lowest time, and plays all matches, leaves to root.
    #[cold]
    fn build(&mut self) {
        self.base = self.times.iter().flatten().min().copied().unwrap_or(0);
        let count = self.times.len();
        let mut winners: Vec<Key> = vec![0; count];
        let times = self.times.iter().enumerate();
        winners.extend(times.map(|(stream, time)| self.key_of(stream, *time)));
        self.losers = vec![0; count];
        for node in (1..count).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            winners[node] = left.min(right);
            self.losers[node] = left.max(right);
        }
        if let (Some(winner), Some(first)) = (self.losers.first_mut(), winners.get(1)) {
            *winner = *first;
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::Random;

    use super::*;

    /// All streams' times in the order in which they come, by the tournament and by looking at all.
    fn check(mut streams: Vec<Vec<u64>>) {
        streams.iter_mut().for_each(|times| times.reverse());
        let first = streams.iter().map(|times| times.last().copied()).collect();
        let mut tournament = Tournament::new(first);
        loop {
            let heads = streams.iter().enumerate();
            let heads = heads.filter_map(|(stream, times)| Some((*times.last()?, stream)));
            let wanted = heads.min().map(|(_, stream)| stream);
            assert_eq!(tournament.winner(), wanted, "{streams:?}");
            let Some(stream) = wanted else { return };
            streams[stream].pop();
            match streams[stream].last() {
                Some(time) => tournament.play(stream, *time),
                None => tournament.end(stream),
            }
        }
    }

    #[test]
    fn streams_come_in_the_order_of_time_and_then_of_their_position() {
        for seed in 0..300 {
            let random = &mut Random::new(seed);
            let streams = random.below(20);
            let mut stream = |_| {
                let mut times: Vec<u64> =
                    (0..random.below(30)).map(|_| 500 + random.below(40)).collect();
                times.sort_unstable();
                times
            };
            check((0..streams).map(&mut stream).collect());
        }
    }

    #[test]
    fn times_that_no_key_can_hold_and_times_that_fall_keep_their_order() {
        for seed in 0..300 {
            let random = &mut Random::new(seed);
            let streams = 1 + random.below(9);
            let mut stream = |_| {
                let time = |_| match random.below(3) {
                    0 => u64::MAX - random.below(3),
                    1 => random.word(),
                    _ => random.below(3),
                };
                (0..10).map(time).collect::<Vec<u64>>()
            };
            check((0..streams).map(&mut stream).collect());
        }
    }
}
