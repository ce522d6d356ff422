// SPDX-License-Identifier: MIT
//! Conditions, matched for each user apart where the programs are not all of one user: what the
//! processes of a user say of themselves, lose or flood changes nothing of what is known of
//! another's.
//!
//! Place in the flow: `companion` hands over what it read, user by user, and each has a matcher of
//! its own (`matching`), with bounds of its own. What is the kernel's goes with what is root's. In
//! other sessions there is one matcher for all.

use super::matching::{Matcher, Writer};
use super::moment::Met;
use analysis::live::Part;
use std::collections::{BTreeMap, BTreeSet};
use trigger::Condition;

/// Sentences on filters that did not fit: users may have events of any fields.
const UNFIT_MAX: usize = 32;

/// A condition that is followed, with its trigger's number.
struct Followed {
    number: u64,
    condition: Condition,
    /// It is on events of the kernel's, which no user's processes have.
    is_kernels: bool,
}

/// Processes that say that they joined.
pub struct Joined {
    /// None: anybody's.
    pub writer: Option<Writer>,
    pub pids: BTreeSet<u32>,
}

#[derive(Default)]
pub struct Lanes {
    followed: Vec<Followed>,
    /// By stream class; the only one where users are not told apart.
    matchers: BTreeMap<u32, Matcher>,
}

impl Lanes {
    /// Follows one more condition.
    pub fn add(&mut self, number: u64, condition: &Condition, is_kernels: bool) {
        let followed = Followed { number, condition: condition.clone(), is_kernels };
        for (lane, matcher) in &mut self.matchers {
            follow(matcher, *lane, &followed);
        }
        self.followed.push(followed);
    }

    /// Follows a condition no longer, of which [`Lanes::take`] has told.
    pub fn remove(&mut self, number: u64) {
        self.followed.retain(|followed| followed.number != number);
        self.matchers.values_mut().for_each(|matcher| matcher.remove(number));
    }

    /// Reads what a user's processes wrote; `writer`: None for what anybody's did.
    pub fn read(&mut self, writer: Option<Writer>, part: &Part<'_>) {
        let Self { followed, matchers } = self;
        let lane = writer.map_or(0, |writer| writer.class);
        let matcher = matchers.entry(lane).or_insert_with(|| {
            let mut matcher = Matcher::new(writer);
            followed.iter().for_each(|followed| follow(&mut matcher, lane, followed));
            matcher
        });
        matcher.read(part);
    }

    /// Conditions that were met since this was last asked, each with its trigger's number.
    pub fn take(&mut self) -> Vec<(u64, Met)> {
        let mut all: BTreeMap<u64, Met> = BTreeMap::new();
        for (number, met) in self.matchers.values_mut().flat_map(Matcher::take) {
            all.entry(number).or_default().add(met);
        }
        all.into_iter().collect()
    }

    /// Processes that joined since this was last asked.
    pub fn joined(&mut self) -> Vec<Joined> {
        let each = self.matchers.values_mut();
        each.map(|matcher| Joined { writer: matcher.writer(), pids: matcher.joined() }).collect()
    }

    /// The sum of what each matcher counts.
    pub fn sum(&self, count: impl Fn(&Matcher) -> u64) -> u64 {
        self.matchers.values().map(count).fold(0, u64::saturating_add)
    }

    /// Filters that fit no event so far, in words.
    pub fn unfit(&self) -> BTreeSet<&str> {
        let all = self.matchers.values().flat_map(|matcher| &matcher.unfit);
        all.take(UNFIT_MAX).map(String::as_str).collect()
    }
}

/// Has a matcher follow a condition that its events may meet.
fn follow(matcher: &mut Matcher, lane: u32, followed: &Followed) {
    if lane == 0 || !followed.is_kernels {
        matcher.add(followed.number, &followed.condition);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duration;
    use crate::top::follow::Follower;
    use session::segment::Segment;
    use std::time::{Duration, Instant};
    use testkit::program::{Program, Who};
    use testkit::TraceFolder;

    /// What the conditions are met by in a trace with one stream for each of two users, of which
    /// the second claims to be the first one's thread.
    fn met(conditions: &[(&str, bool)], is_apart: bool, segment: i32) -> Vec<(u64, Met)> {
        let me = i64::from(std::process::id());
        let who: Who = (me, me, "main");
        let mut program = Program::new();
        program.event(1_000, 0, who, "job:a", &[]);
        program.event(2_000, 1, who, "job:b", &[]);
        program.event(3_000, 1, who, "syscalls:sys_enter_x", &[]);
        let (metadata, streams) = program.files_of_two_classes();
        let folder = TraceFolder::new(&metadata, &[]).unwrap();
        let lane_of: fn(u32) -> u32 = if is_apart { |class| class } else { |_| 0 };
        let mut follower = Follower::open_apart(folder.path(), lane_of).unwrap();
        for (index, bytes) in streams.iter().enumerate() {
            std::fs::write(folder.path().join(format!("stream_{index}")), bytes).unwrap();
        }
        let mut lanes = Lanes::default();
        for (number, (text, is_kernels)) in (1..).zip(conditions) {
            let condition = Condition::parse(text, duration::parse).unwrap();
            lanes.add(number, &condition, *is_kernels);
        }
        let now = Instant::now();
        follower.look(now).unwrap();
        let read = |lane, part: &Part<'_>| {
            let writer = Writer { class: lane, user: 1000 + lane, segment };
            lanes.read(is_apart.then_some(writer), part);
        };
        follower.parts(now + Duration::from_secs(1), true, read).unwrap();
        lanes.take()
    }

    fn numbers(met: &[(u64, Met)]) -> Vec<(u64, u64)> {
        met.iter().map(|(number, met)| (*number, met.count)).collect()
    }

    #[test]
    fn threads_of_one_user_are_not_anothers_whatever_they_call_themselves() {
        let conditions =
            [("job:a then job:b within 1s", false), ("job:*", false), ("job:b", false)];
        assert_eq!(numbers(&met(&conditions, false, -1)), [(1, 1), (2, 2), (3, 1)]);
        let apart = met(&conditions, true, -1);
        assert_eq!(numbers(&apart), [(2, 2), (3, 1)]);
        let users: Vec<Option<u32>> =
            apart.iter().map(|(_, met)| met.moment.as_ref().unwrap().user).collect();
        assert_eq!(users, [Some(1000), Some(1001)]);
    }

    #[test]
    fn conditions_on_the_kernels_events_are_not_met_by_those_of_a_user() {
        let conditions = [("syscalls:sys_enter_x", true), ("job:b", false)];
        assert_eq!(numbers(&met(&conditions, true, -1)), [(2, 1)]);
        assert_eq!(numbers(&met(&conditions, false, -1)), [(1, 1), (2, 1)]);
    }

    #[test]
    fn process_is_told_of_which_has_the_memory() {
        let segment = Segment::create(4096, |_| Ok(())).unwrap();
        let pid = |segment| {
            let met = met(&[("job:b", false)], true, segment);
            met[0].1.moment.as_ref().unwrap().pid
        };
        assert_eq!(pid(segment.id()), Some(std::process::id().into()));
        assert_eq!(pid(segment.id().wrapping_add(1)), None);
    }
}
