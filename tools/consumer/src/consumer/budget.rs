// SPDX-License-Identifier: MIT
//! The budget of a recording: what events may cost, of the time of the CPUs on which they occur.
//!
//! Place in the flow: the recorder's loop looks here every [`LOOK_PERIOD`]. Processes have counted
//! the occurrences of each event in the session's memory, and read a word for each event that says
//! how many of them to record; `throttle` says what these words have to be. Every change is told in
//! the trace's environment at once, and in the verdict. What processes write is read once, as
//! claims: hostile ones are throttled too much or too little, and the verdict says so.

use super::{note, Consumer};
use crate::ffi;
use crate::throttle::{excess, needed, Costs, Place, Throttle, OFF};
use session::abi::EVENT_FIRST;
use session::description::Description;
use session::Memory;
use std::time::{Duration, Instant};
use verdict::environment::{Environment, Value};
use verdict::thinned::{self, Throttled};

const LOOK_PERIOD: Duration = Duration::from_millis(10);
/// The same while the recording is young, while events are in the code again of which it is not
/// known whether they are too many, and while processes are being asked to take them out.
const SHORT_PERIOD: Duration = Duration::from_millis(2);
/// How long it is so.
const SHORT_NS: u64 = 1_000_000_000;
/// Names of events that one user's processes leave out.
const EXCLUDED_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 128;
/// How long to wait before processes are asked again that were not reached, the first time.
const ASK_PERIOD_NS: u64 = 1_000_000_000;
/// Changes of throttles that a trace tells of; more are counted.
const TOLD_MAX: usize = 1000;
const PPM: u64 = 1_000_000;
/// Of what is allowed, the part that goes into paying back what was too much before.
const OWED_PART: u64 = 2;
/// Processes that could not be asked, of which a verdict tells.
const UNREACHED_MAX: usize = 8;
/// Where an event's cost could not be found out: what machines of today take at most.
const EVENT_PS_DEFAULT: u64 = 100_000;

/// What is known of one user's memory.
#[derive(Debug, Default)]
struct Known {
    /// Of each event from `EVENT_FIRST` on: its counts at the last look, one for each row.
    counts: Vec<Vec<u32>>,
    throttles: Vec<Throttle>,
    places: Vec<Place>,
    /// The rows on which any event occurred that is out of the code now, before it was.
    rows_before: Vec<bool>,
}

/// Processes that are to take events out of their code, or put them back.
#[derive(Debug, Default)]
struct Asking {
    is_due: bool,
    /// When they were asked last, and how often it was for the same as before.
    asked_ns: u64,
    repeated: u32,
    /// Whether they are being asked.
    is_under_way: bool,
}

/// What a budget came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Estimated cost of events, and of counting those that were not recorded.
    pub cost_ps: u64,
    /// Time of the CPUs on which they occurred.
    pub of_ps: u64,
}

impl Spent {
    /// In parts of a million.
    pub fn ppm(&self) -> u64 {
        let ppm = u128::from(self.cost_ps) * u128::from(PPM) / u128::from(self.of_ps.max(1));
        u64::try_from(ppm).unwrap_or(u64::MAX)
    }
}

#[derive(Debug)]
pub struct Budget {
    ppm: u32,
    costs: Costs,
    looked: Instant,
    /// By memory.
    known: Vec<Known>,
    asking: Asking,
    /// Processes that could not be asked, and why not, some at most.
    unreached: Vec<String>,
    /// How long threads were stopped to be asked: time of the clock, and none of a CPU's.
    held_ns: u64,
    pub last: Spent,
    pub all: Spent,
}

/// The throttles of a recording so far; what has no end yet goes on.
#[derive(Debug, Default)]
pub(super) struct Throttles {
    told: Vec<Throttled>,
    more: u64,
}

impl Throttles {
    /// Those that a killed recorder wrote down.
    pub fn of(environment: &Environment) -> Self {
        let entry = |name: &str| {
            environment.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
        };
        Self { told: thinned::throttled(entry), more: 0 }
    }

    /// An event is throttled in another way from a moment on.
    fn change(&mut self, event: &str, throttle: u32, moment: (u64, u64)) {
        let one_in = if throttle < OFF { 1 << throttle } else { 0 };
        let is_open = |told: &&mut Throttled| told.event == event && told.until.is_none();
        if let Some(last) = self.told.iter_mut().rev().find(is_open) {
            if last.one_in == one_in && throttle > 0 {
                return;
            }
            last.until = Some(moment);
        }
        if throttle == 0 {
        } else if self.told.len() < TOLD_MAX {
            let event = event.to_string();
            self.told.push(Throttled { event, one_in, begin: moment, until: None });
        } else {
            self.more += 1;
        }
    }
}

impl Consumer {
    /// From now on the session's events take no more than a part of the time of the CPUs on which
    /// they occur, in millionths.
    /// `patterns`, `filters`: what is asked for when it begins.
    pub fn start_budget(&mut self, ppm: u32, patterns: &str, filters: &[u8]) {
        self.changes.begin(patterns, filters);
        // SAFETY: uses memory of its own; the clock was started.
        let event_ps = match unsafe { ffi::lull_consumer_event_ps() } {
            0 => EVENT_PS_DEFAULT,
            found => found,
        };
        self.budget = Some(Budget::new(ppm, Costs::of_event(event_ps)));
    }

    pub fn budget(&self) -> Option<&Budget> {
        self.budget.as_ref()
    }

    /// The throttles so far, in order, and how many more there were.
    pub fn throttles(&self) -> (&[Throttled], u64) {
        (&self.throttles.told, self.throttles.more)
    }

    /// Looks what events cost, and changes throttles where that is due. Return: when to come back.
    pub fn keep_budget(&mut self) -> Duration {
        let Some(mut budget) = self.budget.take() else { return Duration::MAX };
        let passed = budget.looked.elapsed();
        let period = budget.period(self.now_ns());
        let pause = period.saturating_sub(passed);
        if pause.is_zero() && self.is_recording() {
            budget.looked = Instant::now();
            self.look(&mut budget, passed);
        }
        self.budget = Some(budget);
        if pause.is_zero() {
            period
        } else {
            pause
        }
    }

    /// Whether processes are to be asked to look at their rules, for which events are in their code
    /// has changed. Who is told so asks them, and calls [`Consumer::budget_asked`] after that.
    pub fn budget_asks(&mut self) -> bool {
        let now_ns = self.now_ns();
        let asking = self.budget.as_mut().map(|budget| &mut budget.asking);
        let Some(asking) = asking.filter(|asking| asking.is_due && !asking.is_under_way) else {
            return false;
        };
        (asking.is_due, asking.is_under_way, asking.asked_ns) = (false, true, now_ns);
        true
    }

    /// Processes were asked, each of which was stopped for some time meanwhile.
    pub fn budget_asked(&mut self, held_ns: u64, unreached: impl Iterator<Item = String>) {
        let Some(budget) = &mut self.budget else { return };
        budget.asking.is_under_way = false;
        budget.held_ns = budget.held_ns.saturating_add(held_ns);
        for process in unreached {
            if budget.unreached.len() < UNREACHED_MAX && !budget.unreached.contains(&process) {
                budget.unreached.push(process);
            }
        }
    }

    fn look(&mut self, budget: &mut Budget, passed: Duration) {
        budget.known.resize_with(self.memories.len(), Known::default);
        let (mut counts, mut active) = (Vec::new(), vec![false; 0]);
        for (memory, known) in self.memories.iter().zip(&mut budget.known) {
            known.count(memory, &mut counts, &mut active);
        }
        let cpus = active.iter().filter(|is_active| **is_active).count() as u64;
        let passed_ps = u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000);
        let of_ps = passed_ps.saturating_mul(cpus);
        let allowed_ps = budget.allowed_ps(of_ps);
        let now_ns = self.now_ns();
        let throttles = needed(&counts, budget.left_ps(allowed_ps), budget.costs);
        let (mut at, mut changed, mut cost_ps) = (0, Vec::new(), 0u64);
        for (index, known) in budget.known.iter_mut().enumerate() {
            for (event, throttle) in known.throttles.iter_mut().enumerate() {
                let (id, before) = (EVENT_FIRST + event as u32, throttle.value);
                let (place, cost) = (&mut known.places[event], budget.costs.of(counts[at], before));
                // An estimate, from a measurement on a machine that may have had more to do.
                let cost = cost.min(of_ps);
                cost_ps = cost_ps.saturating_add(cost);
                place.spend(cost, budget.ppm);
                // What was put back has to show that it is calm after processes have put it back.
                let is_known = !place.is_out() && !budget.asking.is_open();
                let is_more = throttles[at] > before;
                if (is_known || is_more) && throttle.look(throttles[at], now_ns) {
                    changed.push((index, id, throttle.value));
                    if throttle.value < OFF {
                        place.recover();
                    }
                }
                check(&self.memories[index], id, before, &mut self.problems);
                at += 1;
            }
        }
        let cost_ps = cost_ps.min(of_ps);
        budget.last = Spent { cost_ps, of_ps };
        budget.all.cost_ps = budget.all.cost_ps.saturating_add(cost_ps);
        budget.all.of_ps = budget.all.of_ps.saturating_add(of_ps);
        let is_excess = self.take_out(budget, &counts, allowed_ps, &mut changed);
        let is_due = budget.known.iter_mut().filter_map(|known| known.put_back(now_ns)).count() > 0;
        if is_excess || is_due {
            self.exclude_all(budget);
        }
        if !changed.is_empty() {
            self.throttle(budget, &changed);
        }
    }

    /// Takes the events out of the code that cost too much where they are only counted. Return:
    /// whether there are any that were not out already.
    fn take_out(
        &mut self,
        budget: &mut Budget,
        counts: &[u64],
        allowed_ps: u64,
        changed: &mut Vec<(usize, u32, u32)>,
    ) -> bool {
        let (now_ns, mut is_new) = (self.now_ns(), false);
        for at in excess(counts, allowed_ps, budget.costs) {
            let Some((index, event)) = budget.place_of(at) else { continue };
            let (memory, known) = (&self.memories[index], &mut budget.known[index]);
            if known.places[event].is_out() {
                // A process was not reached, or could not be.
                budget.asking.again(now_ns);
                continue;
            }
            let name = name(memory, EVENT_FIRST + event as u32);
            if !can_be_excluded(&name) || known.excluded(memory).len() >= EXCLUDED_MAX {
                continue;
            }
            for event in known.named(memory, &name) {
                known.places[event].take_out(now_ns, budget.ppm);
                if known.throttles[event].value < OFF {
                    known.throttles[event] = Throttle::of(OFF);
                    changed.retain(|(of, id, _)| (*of, *id) != (index, EVENT_FIRST + event as u32));
                    changed.push((index, EVENT_FIRST + event as u32, OFF));
                }
            }
            is_new = true;
        }
        is_new
    }

    /// Writes into the rules which events are out, and has processes asked to look.
    fn exclude_all(&mut self, budget: &mut Budget) {
        for index in 0..budget.known.len() {
            let names = budget.known[index].excluded(&self.memories[index]);
            match self.exclude(index, names) {
                Ok(is_changed) => budget.asking.is_due |= is_changed,
                Err(error) => note(
                    &mut self.problems,
                    format!("an event could not be taken out of programs' code: {error}"),
                ),
            }
        }
        budget.asking.repeated = 0;
    }

    /// Changes what processes read, and tells of it. A span begins before the word is stored and
    /// ends after.
    fn throttle(&mut self, budget: &Budget, changed: &[(usize, u32, u32)]) {
        let begin = self.moment();
        for (index, id, throttle) in changed {
            self.memories[*index].set_throttle(*id, *throttle);
        }
        let until = self.moment();
        for (index, id, _) in changed {
            let name = name(&self.memories[*index], *id);
            // Several events may have a name: of them, what is known is what the least has.
            let all = self.memories.iter().zip(&budget.known);
            let most = all.flat_map(|(memory, known)| {
                known.named(memory, &name).into_iter().map(|event| known.throttles[event].value)
            });
            let throttle = most.max().unwrap_or(0);
            let moment = if throttle == 0 { until } else { begin };
            self.throttles.change(&name, throttle, moment);
        }
        self.tell(thinned::of_throttled(&self.throttles.told));
    }

    /// What the verdict says of the budget.
    pub(super) fn judge_budget(&self, verdict: &mut verdict::Verdict) {
        verdict.throttled = self.throttles.told.clone();
        verdict
            .limits
            .extend(thinned::throttled_sentence(&self.throttles.told, self.throttles.more));
        if let Some(budget) = &self.budget {
            verdict.notes.push(budget.sentence());
            verdict.notes.extend(budget.unreached());
        }
    }

    /// Writes an entry into the metadata at once: it is known also if this process is killed.
    pub(super) fn tell(&mut self, told: (String, Value)) {
        let trace = self.tools.trace.as_mut().map(|trace| &mut trace.facts);
        for facts in std::iter::once(&mut self.options.facts).chain(trace) {
            facts.environment.retain(|(name, _)| *name != told.0);
            facts.environment.push(told.clone());
        }
        let classes = self.tools.walker.classes();
        if let Some(trace) = &mut self.tools.trace {
            trace.update(&classes);
        }
    }
}

impl Budget {
    fn new(ppm: u32, costs: Costs) -> Self {
        let (known, unreached, asking) = (Vec::new(), Vec::new(), Asking::default());
        let (last, all) = (Spent::default(), Spent::default());
        let (looked, held_ns) = (Instant::now(), 0);
        Self { ppm, costs, looked, known, asking, unreached, held_ns, last, all }
    }

    pub fn ppm(&self) -> u32 {
        self.ppm
    }

    pub fn event_ps(&self) -> u64 {
        self.costs.event_ps
    }

    fn allowed_ps(&self, of_ps: u64) -> u64 {
        let allowed = u128::from(of_ps) * u128::from(self.ppm) / u128::from(PPM);
        u64::try_from(allowed).unwrap_or(u64::MAX)
    }

    /// What may be spent until the next look. Where events took more than the budget so far, as
    /// they do before they are throttled, it is less, until that is paid back.
    fn left_ps(&self, allowed_ps: u64) -> u64 {
        let owed_ps = self.all.cost_ps.saturating_sub(self.allowed_ps(self.all.of_ps));
        allowed_ps - owed_ps.min(allowed_ps / OWED_PART)
    }

    /// How long after a look the next one is due.
    fn period(&self, now_ns: u64) -> Duration {
        // Of none that were asked, this is when the recording began.
        let is_recent = now_ns.saturating_sub(self.asking.asked_ns) < SHORT_NS;
        match is_recent || self.asking.is_open() {
            true => SHORT_PERIOD,
            false => LOOK_PERIOD,
        }
    }

    /// The memory and the event of a place in the counts of all.
    fn place_of(&self, mut at: usize) -> Option<(usize, usize)> {
        for (index, known) in self.known.iter().enumerate() {
            match at.checked_sub(known.places.len()) {
                None => return Some((index, at)),
                Some(rest) => at = rest,
            }
        }
        None
    }

    /// What the verdict says of processes whose code still has what is out.
    fn unreached(&self) -> Option<String> {
        (!self.unreached.is_empty()).then(|| {
            format!(
                "events that cost too much were not taken out of the code of processes that could \
                 not be asked, which went on counting them: {}",
                self.unreached.join("; ")
            )
        })
    }

    fn sentence(&self) -> String {
        let percent = |ppm: u64| ppm as f64 / 1e4;
        let over = match self.all.ppm() > u64::from(self.ppm) {
            true => {
                ": more than the budget, for it takes a look to see that an event is hot, and \
                 until it is out of a program's code it is counted"
            }
            false => "",
        };
        let held = match self.held_ns {
            0 => String::new(),
            ns => format!(
                "; to take events out of their code and put them back, threads were stopped for \
                 {:.3} s in all",
                ns as f64 / 1e9
            ),
        };
        format!(
            "programs' events took an estimated {:.2} % of the time of the CPUs on which they \
             occurred, of a budget of {} %, at {:.1} ns an event{over}{held}",
            percent(self.all.ppm()),
            percent(self.ppm.into()),
            self.costs.event_ps as f64 / 1000.0
        )
    }
}

impl Asking {
    /// Whether processes are yet to follow.
    fn is_open(&self) -> bool {
        self.is_due || self.is_under_way
    }

    /// Asks again, each time after twice as long.
    fn again(&mut self, now_ns: u64) {
        let pause_ns = ASK_PERIOD_NS << self.repeated.min(6);
        if !self.is_due && !self.is_under_way && now_ns.saturating_sub(self.asked_ns) > pause_ns {
            self.is_due = true;
            self.repeated = self.repeated.saturating_add(1);
        }
    }
}

impl Known {
    /// The names of the events that are out, some at most.
    fn excluded(&self, memory: &Memory) -> Vec<String> {
        let out = self.places.iter().enumerate().filter(|(_, place)| place.is_out());
        let mut names: Vec<String> =
            out.map(|(event, _)| name(memory, EVENT_FIRST + event as u32)).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| can_be_excluded(name));
        names.truncate(EXCLUDED_MAX);
        names
    }

    /// The events of a name: they are out together.
    fn named(&self, memory: &Memory, wanted: &str) -> Vec<usize> {
        let is_its = |event: &usize| name(memory, EVENT_FIRST + *event as u32) == wanted;
        (0..self.places.len()).filter(is_its).collect()
    }

    /// Puts events back that were out for long enough. Return: None where there is none.
    fn put_back(&mut self, now_ns: u64) -> Option<usize> {
        let due = self.places.iter_mut().filter(|place| place.is_due(now_ns));
        Some(due.map(Place::put_back).count()).filter(|count| *count > 0)
    }

    /// Adds how often each event occurred since the last look, and on which rows any did.
    fn count(&mut self, memory: &Memory, counts: &mut Vec<u64>, active: &mut Vec<bool>) {
        let rows = memory.count_rows() as usize;
        active.resize(active.len().max(rows), false);
        let known = self.counts.len() as u32;
        // Bound: the table's entries. Those that are taken are side by side.
        let is_taken = |id: &u32| memory.is_taken(*id);
        let added = (EVENT_FIRST + known..memory.event_capacity()).take_while(is_taken).count();
        self.counts.resize(self.counts.len() + added, vec![0; rows]);
        self.throttles.resize(self.counts.len(), Throttle::default());
        self.places.resize(self.counts.len(), Place::default());
        let mut rows_active = vec![false; rows];
        for (event, before) in self.counts.iter_mut().enumerate() {
            let mut sum = 0u64;
            let now = memory.occurrences(EVENT_FIRST + event as u32);
            for ((now, before), active) in now.zip(before).zip(rows_active.iter_mut()) {
                let passed = now.wrapping_sub(*before);
                *before = now;
                *active |= passed > 0;
                sum += u64::from(passed);
            }
            counts.push(sum);
        }
        self.rows_before.resize(rows, false);
        let is_any_out = self.places.iter().any(Place::is_out);
        let rows = active.iter_mut().zip(rows_active);
        for ((active, row), before) in rows.zip(&mut self.rows_before) {
            *before = row || (*before && is_any_out);
            *active |= *before;
        }
    }
}

/// Finds a word that a process has written over, and stores it anew.
fn check(memory: &Memory, id: u32, expected: u32, problems: &mut Vec<String>) {
    if memory.throttle(id) != expected {
        memory.set_throttle(id, expected);
        note(
            problems,
            format!(
                "events of user {} that are in no count: a process that shares the session's \
                 memory wrote over how events are throttled",
                memory.fixed().user_id
            ),
        );
    }
}

/// Whether a pattern can be made of a name that a process wrote.
fn can_be_excluded(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte);
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_plain)
}

fn name(memory: &Memory, id: u32) -> String {
    let text = memory.event_description(id).unwrap_or_default();
    Description::parse(&text).map_or_else(|_| format!("event {id}"), |event| event.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_ends_the_span_before_it_and_what_is_too_much_is_counted() {
        let mut throttles = Throttles::default();
        throttles.change("a:b", 3, (1, 1));
        throttles.change("c:d", OFF, (2, 2));
        throttles.change("a:b", 4, (3, 3));
        throttles.change("a:b", 0, (4, 4));
        let spans: Vec<_> =
            throttles.told.iter().map(|told| (told.one_in, told.begin.0, told.until)).collect();
        assert_eq!(spans, [(8, 1, Some((3, 3))), (0, 2, None), (16, 3, Some((4, 4)))]);
        throttles.change("c:d", OFF, (4, 4));
        assert_eq!(throttles.told.len(), 3, "it is as it was");
        for other in 0..TOLD_MAX as u32 {
            throttles.change("a:b", 1 + other % 2, (5, 5));
        }
        assert_eq!((throttles.told.len(), throttles.more), (TOLD_MAX, 3));
        let told = thinned::of_throttled(&throttles.told);
        assert_eq!(Throttles::of(&vec![told]).told, throttles.told);
    }

    #[test]
    fn what_was_more_than_the_budget_is_paid_back_by_a_half_of_it_at_most() {
        let mut budget = Budget::new(10_000, Costs::of_event(40_000));
        budget.all = Spent { cost_ps: 900, of_ps: 100_000 };
        assert_eq!(budget.left_ps(200), 200, "what was left over is not spent later");
        budget.all.cost_ps = 1030;
        assert_eq!(budget.left_ps(200), 170);
        budget.all.cost_ps = u64::MAX;
        assert_eq!((budget.left_ps(200), budget.left_ps(0)), (100, 0));
        budget.all.of_ps = u64::MAX;
        assert_eq!(budget.left_ps(u64::MAX), u64::MAX - u64::MAX / 2);
    }

    #[test]
    fn stops_of_threads_are_told_and_are_not_in_what_events_took() {
        let mut budget = Budget::new(10_000, Costs::of_event(40_000));
        budget.all = Spent { cost_ps: 900, of_ps: 100_000 };
        assert!(budget.sentence().ends_with("of a budget of 1 %, at 40.0 ns an event"));
        budget.held_ns = 12_000_000;
        let text = budget.sentence();
        assert!(text.starts_with("programs' events took an estimated 0.90 % of"), "{text}");
        assert!(text.ends_with("threads were stopped for 0.012 s in all"), "{text}");
    }

    #[test]
    fn looks_are_frequent_while_the_recording_is_young_and_after_processes_were_asked() {
        let mut budget = Budget::new(10_000, Costs::of_event(40_000));
        assert_eq!(budget.period(SHORT_NS - 1), SHORT_PERIOD);
        assert_eq!(budget.period(SHORT_NS), LOOK_PERIOD);
        budget.asking.is_due = true;
        assert_eq!(budget.period(SHORT_NS), SHORT_PERIOD);
        budget.asking = Asking { asked_ns: SHORT_NS, ..Asking::default() };
        assert_eq!(budget.period(2 * SHORT_NS - 1), SHORT_PERIOD);
        assert_eq!(budget.period(2 * SHORT_NS), LOOK_PERIOD);
    }

    #[test]
    fn event_costs_between_a_nanosecond_and_a_microsecond_on_any_machine_of_today() {
        assert!(crate::clock::start(crate::clock::best_kind()));
        // SAFETY: as in start_budget().
        let event_ps = unsafe { ffi::lull_consumer_event_ps() };
        assert!((1_000..100_000_000).contains(&event_ps), "{event_ps}");
    }
}
