// SPDX-License-Identifier: MIT
//! Whether two lists of numbers are of one distribution: the rank-sum test of Mann and Whitney, and
//! the adjustment of Benjamini and Hochberg for many such tests.
//!
//! Place in the flow: `compare` asks for each pair and each name. Nothing is assumed of the form of
//! the distributions, which for durations is anything but normal.

/// The normal approximation holds from so many on in both lists.
const LEAST: usize = 8;

/// What the test found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tested {
    /// How likely a difference as large is where there is none.
    pub p: f64,
    /// How likely a number of the second list is larger than one of the first; equal ones count
    /// half.
    pub second_larger: f64,
}

/// None where there are too few numbers.
pub(super) fn test(first: &[u64], second: &[u64]) -> Option<Tested> {
    if first.len() < LEAST || second.len() < LEAST {
        return None;
    }
    let mut all: Vec<(u64, bool)> = first.iter().map(|number| (*number, false)).collect();
    all.extend(second.iter().map(|number| (*number, true)));
    all.sort_unstable();
    let (n1, n2, n) = (first.len() as f64, second.len() as f64, all.len() as f64);
    let (mut rank_sum, mut ties, mut before) = (0.0, 0.0, 0.0);
    for equal in all.chunk_by(|a, b| a.0 == b.0) {
        let count = equal.len() as f64;
        // Equal numbers share the mean of their ranks.
        let rank = before + (count + 1.0) / 2.0;
        rank_sum += rank * equal.iter().filter(|(_, is_second)| *is_second).count() as f64;
        ties += count * count * count - count;
        before += count;
    }
    let u = rank_sum - n2 * (n2 + 1.0) / 2.0;
    let variance = n1 * n2 / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    let away = ((u - n1 * n2 / 2.0).abs() - 0.5).max(0.0);
    let z = if variance > 0.0 { away / variance.sqrt() } else { 0.0 };
    let p = libm::erfc(z / std::f64::consts::SQRT_2);
    Some(Tested { p, second_larger: u / (n1 * n2) })
}

/// For each probability the least rate of false discoveries at which it would be one.
pub(super) fn adjusted(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut known: Vec<(usize, f64)> =
        p.iter().enumerate().filter_map(|(index, p)| Some((index, (*p)?))).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![None; p.len()];
    let (count, mut least) = (known.len() as f64, 1.0f64);
    for (rank, (index, p)) in known.into_iter().enumerate().rev() {
        least = least.min(p * count / (rank + 1) as f64);
        if let Some(place) = adjusted.get_mut(index) {
            *place = Some(least);
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_two_lists_give_the_probability_of_their_difference() {
        // U of the second: 64, of 64; mean 32, deviation sqrt(64 * 17 / 12) = 9.5219;
        // z = 31.5 / 9.5219 = 3.3082, of which both tails have 0.000939.
        let tested = test(&[1, 2, 3, 4, 5, 6, 7, 8], &[9, 10, 11, 12, 13, 14, 15, 16]).unwrap();
        assert!((tested.p - 0.000_939).abs() < 1e-6, "{}", tested.p);
        assert_eq!(tested.second_larger, 1.0);
    }

    #[test]
    fn equal_numbers_share_ranks_and_narrow_the_deviation() {
        let (first, second) = ([1, 1, 1, 1, 2, 2, 2, 2], [1, 1, 2, 2, 2, 2, 2, 2]);
        // Six ones with the rank 3.5, ten twos with 11.5: the second's sum is 2 * 3.5 + 6 * 11.5 =
        // 76, U = 40. Ties: 6^3 - 6 + 10^3 - 10 = 1200, variance 64 / 12 * (17 - 5) = 64.
        let tested = test(&first, &second).unwrap();
        assert_eq!(tested.second_larger, 40.0 / 64.0);
        let z: f64 = 7.5 / 8.0;
        assert!((tested.p - libm::erfc(z / 2f64.sqrt())).abs() < 1e-12);
        assert_eq!(test(&[5; 9], &[5; 9]).unwrap().p, 1.0);
    }

    #[test]
    fn too_few_numbers_are_not_judged() {
        assert_eq!(test(&[1; 7], &[2; 100]), None);
    }

    #[test]
    fn probabilities_are_adjusted_for_their_number() {
        let found = adjusted(&[Some(0.04), None, Some(0.01), Some(0.03), Some(0.8)]);
        let near = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-12;
        assert!(near(found[2], 0.04) && near(found[4], 0.8), "{found:?}");
        // 0.03 * 4 / 2 is above 0.04 * 4 / 3.
        assert!(near(found[0], 0.16 / 3.0) && near(found[3], 0.16 / 3.0), "{found:?}");
        assert_eq!(found[1], None);
    }
}
