// SPDX-License-Identifier: MIT
//! Which conditions are met by events, in the order of time.
//!
//! Place in the flow: `companion` hands over a part of its trace at a time; the state
//! (`tools/state`) knows whose an event is and joins exits with their entries, as for `lull top`.
//! A filter is decided here again, because probes filter for all conditions on an event together.
//! Of each trigger, a part's firings are counted and the first is described, so what is handed on
//! is bounded, whatever programs do.

use super::moment::{Met, Moment};
use crate::record::asked::Asked;
use crate::selection::fields::{self, ClassRule};
use crate::selection::{level, with_who, Who};
use analysis::live::Part as TracePart;
use consumer::metadata::KERNEL_CLASS;
use state::{
    event_name, pair_ends, Done, PairIndex, Part as StatePart, State, Step, ThreadIndex, ThreadKey,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use trace::{Event, EventClass, LossMessage, Message, Ns, Trace};
use trigger::{Condition, Demand, Kind, Order, Part};

/// Threads and descriptors that the state has room for. When half of the threads are used, it
/// begins anew, and forgets the calls that are open.
const THREADS_MAX: usize = 1 << 14;
const LIMITS: state::Limits =
    state::Limits { threads: THREADS_MAX, descriptors: 1 << 10, maps: 1 << 8, texts: 1 << 12 };
/// Open calls of states that came to their ends.
const CARRIED_MAX: usize = 1 << 14;
/// Processes of one part whose joining is noted.
const JOINED_MAX: usize = 1 << 10;
/// Open calls whose entries met what was demanded of them.
const ADMITTED_MAX: usize = 1 << 14;
/// Events by which a process tells of itself that it is there.
pub const JOINING: [&str; 3] = ["process:start", "process:forked", "process:join"];

/// Whose events a matcher is given, where users are told apart: those of one stream class, and with
/// those of the first the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writer {
    pub class: u32,
    pub user: u32,
    /// The memory that this user's processes write to.
    pub segment: i32,
}

impl Writer {
    fn wrote(&self, class: &EventClass) -> bool {
        class.stream.0 == u64::from(self.class) || (self.class == 0 && is_kernels(class))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Event,
    First,
    Then,
    Without,
}

/// A condition that is followed.
struct Watched {
    number: u64,
    condition: Condition,
    /// As -e takes them.
    clauses: Vec<(Role, Asked)>,
    order: Option<Order<ThreadKey>>,
    /// Since this was last asked for.
    met: Met,
}

/// A condition that the events of a class may meet.
struct Hit {
    /// Where it stands among those that are followed.
    watched: usize,
    role: Role,
    rule: Option<ClassRule>,
}

/// What is known of one generation of the state.
struct Reader {
    state: State,
    writer: Option<Writer>,
    /// By class.
    hits: Vec<Vec<Hit>>,
    /// Classes whose processes have just joined.
    joining: Vec<bool>,
    /// By pair: conditions that are followed.
    calls: Vec<Vec<Limit>>,
    /// By class, of the ends of calls: what is demanded of them, by which conditions.
    demands: Vec<Vec<(usize, ClassRule)>>,
}

/// A condition on the calls of a pair.
struct Limit {
    watched: usize,
    longer_than_ns: u64,
    /// Whether it demands something of their entries.
    is_of_entry: bool,
}

pub struct Matcher {
    /// None: anybody's.
    writer: Option<Writer>,
    watched: Vec<Watched>,
    /// Whether other conditions are followed than those that the events were last described for.
    is_changed: bool,
    reader: Option<Reader>,
    watches_all: bool,
    joined: BTreeSet<u32>,
    /// Calls that were open in a state that came to its end, by thread and pair: when each began.
    carried: HashMap<(ThreadKey, String), Ns>,
    /// Open calls whose entries met what a condition demands: whose, when each began, and the
    /// trigger's number.
    admitted: HashSet<(ThreadKey, Ns, u64)>,
    /// A call that began before is not measured: events were passed over since.
    broken: Ns,
    pub lost: u64,
    pub late: u64,
    pub unmeasured: u64,
    /// Of conditions that are followed no longer.
    unwaited_before: u64,
    pub unnamed: u64,
    pub problems: u64,
    /// Filters that fit no event so far, in words.
    pub unfit: Vec<String>,
}

impl Reader {
    /// Whether one end of a call meets all that a condition demands of it.
    fn meets(&self, event: &Event<'_>, thread: ThreadIndex, watched: usize) -> bool {
        let demands = self.demands.get(event.class().index).into_iter().flatten();
        let mut its = demands.filter(|(index, _)| *index == watched);
        its.all(|(_, rule)| self.holds(rule, event, thread))
    }

    fn holds(&self, rule: &ClassRule, event: &Event<'_>, thread: ThreadIndex) -> bool {
        // Root's processes may be any user's for a while; of others' it is known whose they are.
        let known = self.writer.filter(|writer| writer.class != 0).map(|writer| writer.user);
        let threads = self.state.threads();
        with_who(threads, thread, |who| rule.holds(event, Who { user: known, ..who }))
    }
}

/// The names of a class by which conditions mean it; none of a class that is not the writer's.
fn names(writer: Option<Writer>, class: &EventClass) -> Vec<String> {
    match writer.is_none_or(|writer| writer.wrote(class)) {
        true => vec![class.name.to_string(), event_name(class).to_string()],
        false => Vec::new(),
    }
}

/// What a part of a call's filter is for the classes of the entry, if these explain it, or else for
/// those of the exit. Return: with whether it is of the entry.
fn demanded(
    pair: &str,
    demand: &Demand,
    traces: &[Trace],
    writer: Option<Writer>,
) -> anyhow::Result<(Vec<(usize, ClassRule)>, bool)> {
    let names = |_: usize, class: &EventClass| {
        names(writer, class).into_iter().skip(1).collect::<Vec<String>>()
    };
    let of = |names_of_ends: Vec<String>| -> anyhow::Result<Vec<(usize, ClassRule)>> {
        let text = demand.filter.text();
        let each = names_of_ends.iter().map(|name| format!("{name} if {text}"));
        let asked = Asked::new(&each.collect::<Vec<_>>())?;
        // All that is followed is in one trace.
        let rules = fields::rules(&asked, traces, &names)?.into_iter().next().unwrap_or_default();
        let found = rules.into_iter().enumerate();
        Ok(found.filter_map(|(class, rule)| Some((class, rule?))).collect())
    };
    let (entries, exits): (Vec<String>, Vec<String>) = pair_ends(pair).unzip();
    match of(entries) {
        Ok(rules) if !rules.is_empty() => Ok((rules, true)),
        _ => Ok((of(exits)?, false)),
    }
}

impl Watched {
    fn new(number: u64, condition: &Condition) -> Self {
        let order = match &condition.kind {
            Kind::Order(order) => Some(Order::new(order.within_ns)),
            _ => None,
        };
        let roles: &[Role] = match &condition.kind {
            Kind::Order(_) => &[Role::First, Role::Then, Role::Without],
            _ => &[Role::Event],
        };
        let clauses = condition.clauses().into_iter().zip(roles);
        // It was understood before.
        let asked = clauses
            .filter_map(|(clause, role)| Some((*role, Asked::new(&[clause.argument()]).ok()?)));
        let (condition, clauses) = (condition.clone(), asked.collect());
        Self { number, condition, clauses, order, met: Met::default() }
    }
}

impl Matcher {
    /// `writer`: whose events it is given; None for anybody's.
    pub fn new(writer: Option<Writer>) -> Self {
        Self {
            writer,
            watched: Vec::new(),
            is_changed: false,
            reader: None,
            watches_all: false,
            joined: BTreeSet::new(),
            carried: HashMap::new(),
            admitted: HashSet::new(),
            broken: Ns(i64::MIN),
            lost: 0,
            late: 0,
            unmeasured: 0,
            unwaited_before: 0,
            unnamed: 0,
            problems: 0,
            unfit: Vec::new(),
        }
    }

    /// Follows one more condition.
    pub fn add(&mut self, number: u64, condition: &Condition) {
        self.watched.push(Watched::new(number, condition));
        self.changed();
    }

    /// Follows a condition no longer, of which [`Matcher::take`] has told.
    pub fn remove(&mut self, number: u64) {
        let unwaited = self.unwaited();
        self.watched.retain(|watched| watched.number != number);
        self.unwaited_before += unwaited - self.unwaited();
        self.changed();
    }

    fn changed(&mut self) {
        self.is_changed = true;
        self.watches_all = self.watched.iter().any(|w| w.condition.kind == Kind::Crash);
    }

    /// Conditions that were met since this was last asked, each with its trigger's number.
    pub fn take(&mut self) -> Vec<(u64, Met)> {
        let all = self.watched.iter_mut().filter(|watched| watched.met.count > 0);
        all.map(|watched| (watched.number, std::mem::take(&mut watched.met))).collect()
    }

    /// Whose events it is given.
    pub fn writer(&self) -> Option<Writer> {
        self.writer
    }

    /// Processes that joined since this was last asked.
    pub fn joined(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.joined)
    }

    /// First events that found no room, or that were forgotten at a loss.
    pub fn unwaited(&self) -> u64 {
        let orders = self.watched.iter().filter_map(|watched| watched.order.as_ref());
        let each = orders.map(|order| order.no_room.saturating_add(order.forgotten));
        each.fold(self.unwaited_before, u64::saturating_add)
    }

    pub fn read(&mut self, part: &TracePart<'_>) {
        let mut merge = part.messages();
        self.prepare(part, merge.stream_count());
        while let Some(message) = merge.next() {
            match message {
                Message::Event(event) => self.event(&event, part),
                Message::Loss(loss) => self.loss(&loss),
            }
        }
        self.problems += merge.problems().len() as u64;
        if let Some(writer) = self.writer {
            let moments = self.watched.iter_mut().filter_map(|watched| watched.met.moment.as_mut());
            let its = moments.filter(|moment| moment.user.is_some());
            its.for_each(|moment| moment.believe(writer.segment));
        }
    }

    /// Makes the state ready for the packets of a part.
    fn prepare(&mut self, part: &TracePart<'_>, stream_count: usize) {
        let mut kept = self.reader.take();
        if let Some(mut reader) = kept.take() {
            let is_full = reader.state.threads().threads().len() >= THREADS_MAX / 2;
            let is_described = !part.is_described_anew || reader.state.describe_again(part.traces);
            match is_described && !is_full {
                true => kept = Some(reader),
                false => self.carry(&reader.state),
            }
        }
        if part.has_gap {
            self.broken = part.from;
            self.forget();
        }
        let is_new = kept.is_none();
        let mut reader = kept.unwrap_or_else(|| Reader {
            state: State::new(part.traces, stream_count, &LIMITS),
            writer: self.writer,
            hits: Vec::new(),
            joining: Vec::new(),
            calls: Vec::new(),
            demands: Vec::new(),
        });
        reader.state.go_on(stream_count);
        if std::mem::take(&mut self.is_changed) || is_new || part.is_described_anew {
            self.describe(&mut reader, part.traces);
        }
        self.reader = Some(reader);
    }

    /// Keeps what is known of open calls, when a state comes to its end: that of what is now
    /// described in another order, or of so many threads that it has no room for more.
    fn carry(&mut self, state: &State) {
        let limits = self.watched.iter();
        let wanted: Vec<&str> = limits
            .filter_map(|watched| match &watched.condition.kind {
                Kind::Latency { pair, .. } => Some(pair.as_str()),
                _ => None,
            })
            .collect();
        for (thread, call) in state.calls().still_open() {
            let Some(pair) = state.classes().pair(call.pair) else { continue };
            let found = state.threads().threads().get(thread.0 as usize);
            let Some(key) = found.and_then(|found| found.key) else { continue };
            if !wanted.contains(&pair.name.as_str()) {
                continue;
            }
            if call.may_be_over || self.carried.len() >= CARRIED_MAX {
                self.unmeasured += 1;
                continue;
            }
            self.carried.insert((key, pair.name.clone()), call.begin);
        }
    }

    /// Events were lost: what threads were in is not known any more.
    fn forget(&mut self) {
        self.carried.clear();
        let orders = self.watched.iter_mut().filter_map(|watched| watched.order.as_mut());
        orders.for_each(Order::forget);
    }

    /// Finds out what the events of each class may meet.
    fn describe(&mut self, reader: &mut Reader, traces: &[Trace]) {
        let Some(trace) = traces.first() else { return };
        let names = |_: usize, class: &EventClass| names(self.writer, class);
        reader.hits = trace.event_classes().map(|_| Vec::new()).collect();
        reader.joining = trace.event_classes().map(|c| JOINING.contains(&event_name(c))).collect();
        self.unfit.clear();
        let watched = self.watched.iter().enumerate();
        let clauses = watched.flat_map(|(index, watched)| {
            watched.clauses.iter().map(move |(role, asked)| (index, role, asked))
        });
        for (watched, role, asked) in clauses {
            let mut rules = match fields::rules(asked, traces, &names) {
                Ok(rules) => rules.into_iter().next().unwrap_or_default(),
                Err(error) => {
                    self.unfit.push(crate::told(&error));
                    continue;
                }
            };
            for class in trace.event_classes() {
                let names = names(0, class);
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                if asked.deciding(&names, level(class.log_level)).is_none() {
                    continue;
                }
                let rule = rules.get_mut(class.index).and_then(Option::take);
                if let Some(hits) = reader.hits.get_mut(class.index) {
                    hits.push(Hit { watched, role: *role, rule });
                }
            }
        }
        self.describe_calls(reader, traces);
    }

    /// Finds out what is asked of the calls of each pair, and of their ends.
    fn describe_calls(&mut self, reader: &mut Reader, traces: &[Trace]) {
        let pairs = reader.state.classes().pairs().iter();
        reader.calls = pairs.map(|_| Vec::new()).collect();
        reader.demands = reader.hits.iter().map(|_| Vec::new()).collect();
        for (index, watched) in self.watched.iter().enumerate() {
            let Kind::Latency { pair, longer_than_ns, demands } = &watched.condition.kind else {
                continue;
            };
            let (mut is_of_entry, mut is_fit) = (false, true);
            for demand in demands {
                match demanded(pair, demand, traces, self.writer) {
                    Ok((rules, is_entry)) => {
                        is_of_entry |= is_entry;
                        for (class, rule) in rules {
                            if let Some(demands) = reader.demands.get_mut(class) {
                                demands.push((index, rule));
                            }
                        }
                    }
                    Err(error) => {
                        is_fit = false;
                        self.unfit.push(crate::told(&error));
                    }
                }
            }
            let its = reader.state.classes().pairs().iter().zip(&mut reader.calls);
            for (_, calls) in its.filter(|(its, _)| is_fit && its.name == *pair) {
                let longer_than_ns = *longer_than_ns;
                calls.push(Limit { watched: index, longer_than_ns, is_of_entry });
            }
        }
    }

    fn loss(&mut self, loss: &LossMessage<'_>) {
        let Some(reader) = &mut self.reader else { return };
        reader.state.loss(loss);
        self.lost += 1;
        self.forget();
    }

    fn event(&mut self, event: &Event<'_>, part: &TracePart<'_>) {
        let Some(reader) = &mut self.reader else { return };
        if event.is_before_span() {
            self.late += u64::from(part.pass(event, &mut reader.state));
            return;
        }
        let Some(Step { thread, part: role, done, .. }) = reader.state.event(event) else { return };
        let class = event.class().index;
        if self.watches_all && reader.joining.get(class) == Some(&true) {
            let threads = reader.state.threads();
            let pid =
                threads.pid(threads.process_of(thread)).and_then(|pid| u32::try_from(pid).ok());
            if self.joined.len() < JOINED_MAX {
                self.joined.extend(pid);
            }
        }
        if is_kernels(event.class()) {
            // What the recorder does is no part of what is observed: each look would meet
            // conditions on the calls that it makes.
            let threads = reader.state.threads();
            if threads.pid(threads.process_of(thread)) == Some(i64::from(std::process::id())) {
                return;
            }
        }
        match role {
            StatePart::Entry(pair) => self.admit(event, thread, pair),
            StatePart::Exit(pair) => self.call(event, thread, pair, done),
            StatePart::None => {}
        }
        self.hits(event, thread);
    }

    /// A call has begun.
    fn admit(&mut self, event: &Event<'_>, thread: ThreadIndex, pair: PairIndex) {
        let Some(reader) = &self.reader else { return };
        let Some(limits) = reader.calls.get(pair.0 as usize) else { return };
        for limit in limits.iter().filter(|limit| limit.is_of_entry) {
            let found = reader.state.threads().threads().get(thread.0 as usize);
            let number = self.watched.get(limit.watched).map(|watched| watched.number);
            let Some((key, number)) = found.and_then(|found| found.key).zip(number) else {
                continue;
            };
            if !reader.meets(event, thread, limit.watched) {
                continue;
            }
            if self.admitted.len() >= ADMITTED_MAX {
                // Of entries without exits, and of calls that would not be found any more.
                self.admitted.clear();
                self.broken = event.time_ns();
            }
            self.admitted.insert((key, event.time_ns(), number));
        }
    }

    /// A call has ended.
    fn call(
        &mut self,
        event: &Event<'_>,
        thread: ThreadIndex,
        pair: PairIndex,
        done: Option<Done>,
    ) {
        let Some(reader) = &self.reader else { return };
        let Some(limits) = reader.calls.get(pair.0 as usize) else { return };
        if limits.is_empty() {
            return;
        }
        if done.is_some_and(|done| done.unsure_begin.is_some()) {
            self.unmeasured += 1;
            return;
        }
        let begin = done.and_then(|done| done.begin).or_else(|| {
            let name = reader.state.classes().pair(pair)?.name.clone();
            let found = reader.state.threads().threads().get(thread.0 as usize);
            self.carried.remove(&(found?.key?, name))
        });
        // A call that began before the program joined has no entry.
        let Some(begin) = begin else { return };
        if begin < self.broken {
            self.unmeasured += 1;
            return;
        }
        let took_ns = u64::try_from(event.time_ns().0.saturating_sub(begin.0)).unwrap_or(0);
        let key = reader.state.threads().threads().get(thread.0 as usize).and_then(|t| t.key);
        for limit in limits {
            let Some(watched) = self.watched.get_mut(limit.watched) else { continue };
            let is_admitted = !limit.is_of_entry
                || key.is_some_and(|key| self.admitted.remove(&(key, begin, watched.number)));
            let is_longer = took_ns > limit.longer_than_ns;
            if is_longer && is_admitted && reader.meets(event, thread, limit.watched) {
                meet(Some(watched), event, thread, reader, Some(took_ns));
            }
        }
    }

    fn hits(&mut self, event: &Event<'_>, thread: ThreadIndex) {
        let Some(reader) = &self.reader else { return };
        let Some(hits) = reader.hits.get(event.class().index) else { return };
        let holds =
            |hit: &Hit| hit.rule.as_ref().is_none_or(|rule| reader.holds(rule, event, thread));
        // The clauses of one condition stand one behind the other.
        let mut at = 0;
        while let Some(hit) = hits.get(at) {
            let index = hit.watched;
            let mut part = Part::default();
            while let Some(hit) = hits.get(at).filter(|hit| hit.watched == index) {
                at += 1;
                if !holds(hit) {
                    continue;
                }
                match hit.role {
                    Role::Event => {
                        meet(self.watched.get_mut(index), event, thread, reader, None);
                    }
                    Role::First => part.is_first = true,
                    Role::Then => part.is_then = true,
                    Role::Without => part.is_without = true,
                }
            }
            let Some(watched) = self.watched.get_mut(index) else { continue };
            let Some(order) = watched.order.as_mut().filter(|_| part != Part::default()) else {
                continue;
            };
            let found = reader.state.threads().threads().get(thread.0 as usize);
            let Some(key) = found.and_then(|found| found.key) else {
                self.unnamed += 1;
                continue;
            };
            let now = event.time_ns().0;
            if let Some(first) = order.event(key, now, part) {
                let took_ns = Some(now.abs_diff(first));
                meet(Some(watched), event, thread, reader, took_ns);
            }
        }
    }
}

fn is_kernels(class: &EventClass) -> bool {
    class.stream.0 == u64::from(KERNEL_CLASS)
}

fn meet(
    watched: Option<&mut Watched>,
    event: &Event<'_>,
    thread: ThreadIndex,
    reader: &Reader,
    took_ns: Option<u64>,
) {
    let Some(met) = watched.map(|watched| &mut watched.met) else { return };
    met.count = met.count.saturating_add(1);
    if met.moment.is_none() {
        let user = reader.writer.filter(|_| !is_kernels(event.class())).map(|writer| writer.user);
        met.moment = Some(Moment::of(event, thread, &reader.state, user, took_ns));
    }
}
