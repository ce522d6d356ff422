// SPDX-License-Identifier: MIT
//! How two clocks differ, from messages that went between their machines.
//!
//! Place in the flow: `messages` finds what was sent and received; `lull merge` corrects times by
//! what is estimated here. Let x be a time of the one clock, and y(x) how far the other is ahead.
//! No message arrives before it was sent, so each one that went to the other clock gives an upper
//! bound of y at the time of its sending, and each one that came from there a lower bound at the
//! time of its arrival. If the clocks drift at a constant rate, y is a line between the two sets of
//! points; only their convex hulls, which face each other, can touch it. Of the lines that fit, the
//! one halfway between the steepest and the flattest is taken, so that its slope is wrong by as
//! little as can be; how far the lines that fit are apart bounds the error.
//!
//! Slopes are found by halving intervals, since the room between the hulls is a concave function of
//! the slope. If there is no room, some message arrived before it was sent: the one that conflicts
//! with most others is set aside and reported.

use crate::correction::Correction;

/// Clocks of computers gain or lose less than this each second: 500 millionths.
pub const MAX_DRIFT: f64 = 5e-4;
/// Steps by which an interval of slopes is made smaller.
const STEPS: u32 = 100;
/// Messages that may be set aside because they arrived before they were sent.
const MAX_VIOLATIONS: usize = 100;

/// When a message was sent and received, each by its own machine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub send_ns: i64,
    pub receive_ns: i64,
}

/// What is known of a clock beside another.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    pub correction: Correction,
    /// How far a corrected time may be off between the first message and the last; `None` if all
    /// messages went one way, which bounds one side only.
    pub error_ns: Option<f64>,
    pub least_drift: f64,
    pub most_drift: f64,
    /// Messages that were used: to the other clock, and from there.
    pub used: (usize, usize),
    /// Messages that arrived before they were sent, whatever line is taken: to the other, and from
    /// there.
    pub violations: (Vec<Sent>, Vec<Sent>),
}

/// So many messages arrived before they were sent that they say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inconsistent {
    pub violations: usize,
}

/// A bound: of y at x, both from an origin, and the message that it is from.
#[derive(Debug, Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
    sent: Sent,
}

/// What y is where x is 0, for one slope.
fn intercept(point: &Point, slope: f64) -> f64 {
    point.y - slope * point.x
}

/// The lowest of bounds from above and the highest of bounds from below.
struct Bounds {
    upper: Vec<Point>,
    lower: Vec<Point>,
}

impl Bounds {
    fn lowest(&self, slope: f64) -> f64 {
        self.upper.iter().map(|p| intercept(p, slope)).fold(f64::INFINITY, f64::min)
    }

    fn highest(&self, slope: f64) -> f64 {
        self.lower.iter().map(|p| intercept(p, slope)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The room between the bounds; below 0 no line of the slope fits.
    fn room(&self, slope: f64) -> f64 {
        self.lowest(slope) - self.highest(slope)
    }

    /// The slopes of the flattest line and the steepest that fit; the slope with most room if there
    /// is none.
    fn slopes(&self) -> Result<(f64, f64), f64> {
        let best = highest_at(|slope| self.room(slope), (-MAX_DRIFT, MAX_DRIFT));
        if self.room(best) < 0.0 {
            return Err(best);
        }
        let edge = |outside: f64| {
            let (mut fits, mut does_not) = (best, outside);
            if self.room(outside) >= 0.0 {
                return outside;
            }
            for _ in 0..STEPS {
                let middle = (fits + does_not) / 2.0;
                match self.room(middle) >= 0.0 {
                    true => fits = middle,
                    false => does_not = middle,
                }
            }
            fits
        };
        Ok((edge(-MAX_DRIFT), edge(MAX_DRIFT)))
    }

    /// The least and the most that y can be at x, over all lines that fit.
    fn range_at(&self, x: f64, slopes: (f64, f64)) -> (f64, f64) {
        let most = |slope: f64| self.lowest(slope) + slope * x;
        let least = |slope: f64| self.highest(slope) + slope * x;
        let steepest = highest_at(most, slopes);
        let flattest = highest_at(|slope| -least(slope), slopes);
        (least(flattest), most(steepest))
    }
}

/// Where a concave function is highest.
fn highest_at(value: impl Fn(f64) -> f64, (mut low, mut high): (f64, f64)) -> f64 {
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        match value(low + third) < value(high - third) {
            true => low += third,
            false => high -= third,
        }
    }
    (low + high) / 2.0
}

/// The hull of points from below (`sign` 1) or from above (-1), by x.
fn hull(points: &[Point], sign: f64) -> Vec<Point> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x).then((sign * a.y).total_cmp(&(sign * b.y))));
    let mut hull: Vec<Point> = Vec::new();
    for point in sorted {
        if hull.last().is_some_and(|last| last.x == point.x) {
            continue; // the one that is there binds more
        }
        while let [.., a, b] = hull[..] {
            let turn = (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x);
            if sign * turn > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// Compares two clocks by the messages that went to the other one and those that came from there;
/// `None` if there are none.
pub fn estimate(to: &[Sent], from: &[Sent]) -> Option<Result<Estimate, Inconsistent>> {
    let (first, _) = times(to, from).next()?;
    let (begin, end) =
        times(to, from).fold((first, first), |(begin, end), (x, _)| (begin.min(x), end.max(x)));
    let origin = begin + (end - begin) / 2;
    let (_, base) = times(to, from).next()?;
    let point = |x: i64, y: i64, sent| Point {
        x: x.saturating_sub(origin) as f64,
        y: y.saturating_sub(base) as f64,
        sent,
    };
    let ahead = |sent: &Sent| sent.receive_ns.saturating_sub(sent.send_ns);
    let behind = |sent: &Sent| sent.send_ns.saturating_sub(sent.receive_ns);
    let mut upper: Vec<Point> = to.iter().map(|s| point(s.send_ns, ahead(s), *s)).collect();
    let mut lower: Vec<Point> = from.iter().map(|s| point(s.receive_ns, behind(s), *s)).collect();
    let mut violations = (Vec::new(), Vec::new());
    let (bounds, slopes) = loop {
        let bounds = Bounds { upper: hull(&upper, 1.0), lower: hull(&lower, -1.0) };
        match bounds.slopes() {
            Ok(slopes) => break (bounds, slopes),
            Err(slope) => {
                let count = violations.0.len() + violations.1.len();
                if count >= MAX_VIOLATIONS.min(to.len() + from.len()) {
                    return Some(Err(Inconsistent { violations: count }));
                }
                set_aside((&mut upper, &mut lower), slope, &mut violations);
            }
        }
    };
    let edge = |ns: i64| ns.saturating_sub(origin) as f64;
    let used = (upper.len(), lower.len());
    let (slope, offset, error_ns) = match used {
        (0, _) => (0.0, bounds.highest(0.0), None),
        (_, 0) => (0.0, bounds.lowest(0.0), None),
        _ => {
            let slope = (slopes.0 + slopes.1) / 2.0;
            let offset = (bounds.lowest(slope) + bounds.highest(slope)) / 2.0;
            let error = [edge(begin), 0.0, edge(end)].map(|x| {
                let (least, most) = bounds.range_at(x, slopes);
                let y = offset + slope * x;
                (most - y).max(y - least)
            });
            (slope, offset, Some(error.into_iter().fold(0.0, f64::max)))
        }
    };
    let offset_ns = base.saturating_add(offset.round() as i64);
    Some(Ok(Estimate {
        correction: Correction { at_ns: origin, offset_ns, drift: slope },
        error_ns,
        least_drift: slopes.0,
        most_drift: slopes.1,
        used,
        violations,
    }))
}

/// The times of all messages by the one clock, and how far the other one was ahead by them.
fn times<'a>(to: &'a [Sent], from: &'a [Sent]) -> impl Iterator<Item = (i64, i64)> + 'a {
    let sent = to.iter().map(|s| (s.send_ns, s.receive_ns.saturating_sub(s.send_ns)));
    let received = from.iter().map(|s| (s.receive_ns, s.send_ns.saturating_sub(s.receive_ns)));
    sent.chain(received)
}

/// Takes out, of the two points that leave no room, the one that conflicts with more others.
fn set_aside(
    (upper, lower): (&mut Vec<Point>, &mut Vec<Point>),
    slope: f64,
    violations: &mut (Vec<Sent>, Vec<Sent>),
) {
    let at = |p: &Point| intercept(p, slope);
    let lowest = (0..upper.len()).min_by(|a, b| at(&upper[*a]).total_cmp(&at(&upper[*b])));
    let highest = (0..lower.len()).max_by(|a, b| at(&lower[*a]).total_cmp(&at(&lower[*b])));
    let (Some(lowest), Some(highest)) = (lowest, highest) else { return };
    let above = lower.iter().filter(|p| at(p) > at(&upper[lowest])).count();
    let below = upper.iter().filter(|p| at(p) < at(&lower[highest])).count();
    match above >= below {
        true => violations.0.push(upper.swap_remove(lowest).sent),
        false => violations.1.push(lower.swap_remove(highest).sent),
    }
}

#[cfg(test)]
mod tests {
    use testkit::Random;

    use super::*;

    const BEGIN: i64 = 1_700_000_000_000_000_000;

    /// Messages between a clock and one that is `offset_ns` ahead at its beginning and drifts.
    fn messages(truth: &Correction, count: u64, seed: u64) -> (Vec<Sent>, Vec<Sent>) {
        let random = &mut Random::new(seed);
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for number in 0..count {
            let at = BEGIN + (number * 10_000_000) as i64 + random.below(5_000_000) as i64;
            let delay = 20_000 + random.below(400_000) as i64;
            to.push(Sent { send_ns: at, receive_ns: truth.apply(at + delay) });
            let at = at + 1_000_000;
            let delay = 30_000 + random.below(900_000) as i64;
            from.push(Sent { send_ns: truth.apply(at), receive_ns: at + delay });
        }
        (to, from)
    }

    #[test]
    fn offset_and_drift_are_found_within_the_bounds_that_are_told() {
        for (seed, drift, offset_ns) in
            [(1, 0.0, 0), (2, 4e-5, 5_000_000_000), (3, -1e-4, -BEGIN + 7), (4, 2e-6, 3)]
        {
            let truth = Correction { at_ns: BEGIN, offset_ns, drift };
            let (to, from) = messages(&truth, 2000, seed);
            let found = estimate(&to, &from).unwrap().unwrap();
            let error = found.error_ns.unwrap();
            assert!(error < 60_000.0, "{error}");
            assert!(found.least_drift <= drift && drift <= found.most_drift, "{found:?}");
            assert_eq!((found.violations.0.len(), found.violations.1.len()), (0, 0));
            for at in (0..20).map(|s| BEGIN + s * 1_000_000_000) {
                let off = (found.correction.apply(at) - truth.apply(at)).abs() as f64;
                assert!(off <= error + 2.0, "{off} {error}");
            }
        }
    }

    #[test]
    fn messages_that_arrive_before_they_are_sent_are_set_aside_and_told() {
        let truth = Correction { at_ns: BEGIN, offset_ns: 1_000_000, drift: 1e-5 };
        let (mut to, mut from) = messages(&truth, 500, 9);
        to[100].receive_ns -= 50_000_000;
        from[300].receive_ns -= 80_000_000;
        let found = estimate(&to, &from).unwrap().unwrap();
        assert_eq!(found.violations, (vec![to[100]], vec![from[300]]));
        assert_eq!(found.used, (499, 499));
        let off = found.correction.apply(BEGIN) - truth.apply(BEGIN);
        assert!(off.abs() as f64 <= found.error_ns.unwrap() + 2.0);
    }

    #[test]
    fn messages_in_one_direction_bound_one_side_only() {
        let truth = Correction { at_ns: BEGIN, offset_ns: 1_000_000, drift: 0.0 };
        let (to, from) = messages(&truth, 50, 3);
        let found = estimate(&to, &[]).unwrap().unwrap();
        assert_eq!((found.error_ns, found.used), (None, (50, 0)));
        assert!(found.correction.offset_ns >= 1_020_000);
        assert!(estimate(&[], &from).unwrap().unwrap().correction.offset_ns <= 970_000);
        assert_eq!(estimate(&[], &[]), None);
    }

    #[test]
    fn clocks_that_nothing_fits_are_said_to_be_inconsistent_and_extreme_times_do_not_panic() {
        let (mut to, from) = messages(&Correction::default(), 300, 3);
        for (number, sent) in to.iter_mut().enumerate() {
            sent.receive_ns -= (number as i64 % 7) * 1_000_000_000;
        }
        assert!(estimate(&to, &from).unwrap().is_err());
        let wild = [i64::MIN, -1, 0, i64::MAX];
        let sent = |a, b| Sent { send_ns: wild[a], receive_ns: wild[b] };
        for a in 0..4 {
            for b in 0..4 {
                let _ = estimate(&[sent(a, b)], &[sent(b, a), sent(a, a)]);
            }
        }
    }
}
