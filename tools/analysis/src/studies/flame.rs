// SPDX-License-Identifier: MIT
//! `flame`: where time was spent, as stacks: of calls by entry and exit, of waits off the CPU, or
//! how often each call stack was recorded.
//!
//! Place in the flow: the state has the calls that each thread is in; events may carry stacks of
//! addresses. A stack and its value are a row; the command line draws them.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use state::{NameIndex, OffKind, PairIndex, Place, State, ThreadIndex};
use symbols::FrameIndex;
use trace::{CpuId, LossMessage, Ns, Trace};

use super::off_cpu::word;
use super::{End, FlameOf, Moment, Start, Study};
use crate::analyses::since;
use crate::error::Error;
use crate::names::Namer;
use crate::sheet::{number, text, Cell, Column, Sheet, Table};
use crate::stacks::kernel_name;

/// Frames of all stacks, as a tree; what finds no room counts for the frames around it.
const NODES_MAX: usize = 1 << 18;
/// Calls of a stack that are told apart.
const DEPTH_MAX: usize = 256;

const TIMES: [Column; 2] = [text("stack", "stack", 0), number("ns", "time", 0)];
const COUNTS: [Column; 2] = [text("stack", "stack", 0), number("count", "events", 0)];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Frame {
    Thread(ThreadIndex),
    Call(PairIndex),
    User(u64),
    /// Of a program, with a name.
    Program(FrameIndex),
    /// Of a trace, which may have names.
    Kernel(usize, u64),
    Off(OffKind),
    Event(NameIndex),
}

type NodeIndex = u32;

#[derive(Debug)]
struct Node {
    above: Option<NodeIndex>,
    frame: Frame,
    value: u64,
}

#[derive(Debug, Default)]
struct Tree {
    nodes: Vec<Node>,
    below: FxHashMap<(Option<NodeIndex>, Frame), NodeIndex>,
    left_out: u64,
}

struct Flame<'t> {
    traces: &'t [Trace],
    of: FlameOf,
    from: Ns,
    namer: Namer<'t>,
    tree: Tree,
    /// The stack that a thread is in, and since when it counts.
    current: FxHashMap<ThreadIndex, (NodeIndex, Ns)>,
    losses: u64,
}

pub(super) fn make<'t>(start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    let has_switches = start
        .classes
        .names()
        .iter()
        .any(|name| matches!(name.text.as_str(), "sched_switch" | "sched:sched_switch"));
    let usual = if has_switches { FlameOf::Waits } else { FlameOf::Calls };
    Ok(Box::new(Flame {
        traces: start.traces,
        of: start.question.flame_of.unwrap_or(usual),
        from: start.from(),
        namer: start.namer(),
        tree: Tree::default(),
        current: FxHashMap::default(),
        losses: 0,
    }))
}

impl Study for Flame<'_> {
    fn event(&mut self, moment: &Moment<'_>) {
        match self.of {
            FlameOf::Calls => self.calls(moment),
            FlameOf::Waits => {
                if !moment.state.moves().is_empty() {
                    self.waits(moment.state, Some(moment));
                }
            }
            FlameOf::Stacks => self.recorded(moment),
        }
    }

    fn moved(&mut self, state: &State, cpu: Option<(u32, CpuId)>, _at: Ns) {
        // Those of an event come with the event, which may carry the stack.
        if cpu.is_none() && self.of == FlameOf::Waits {
            self.waits(state, None);
        }
    }

    fn loss(&mut self, loss: &LossMessage<'_>, _state: &State) {
        self.losses = self.losses.saturating_add(loss.loss.count);
        if self.of == FlameOf::Calls {
            // Ends may have been among what was lost: nobody knows how long the calls lasted.
            self.current.clear();
        }
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        let current: Vec<_> = self.current.drain().collect();
        for (_, (node, begin)) in current {
            self.tree.add(node, since(begin, end.last));
        }
        let (columns, what, title): (&'static [Column], _, _) = match self.of {
            FlameOf::Calls => (&TIMES, "time in calls", "Time in calls and in none inside of them"),
            FlameOf::Waits => (&TIMES, "time off the CPU", "Time off the CPU"),
            FlameOf::Stacks => (&COUNTS, "events with a stack", "Events by call stack"),
        };
        let mut rows: Vec<(u64, String)> = Vec::new();
        for (index, node) in self.tree.nodes.iter().enumerate().filter(|(_, node)| node.value > 0) {
            let (thread, frames) = self.frames(index as NodeIndex, end.state);
            if thread.is_none_or(|thread| end.is_asked(thread)) {
                rows.push((node.value, frames));
            }
        }
        rows.sort_by(|a, b| (Reverse(a.0), &a.1).cmp(&(Reverse(b.0), &b.1)));
        let total = rows.iter().fold(0u64, |sum, (value, _)| sum.saturating_add(*value));
        let value = |value| match self.of {
            FlameOf::Stacks => Cell::Count(value),
            _ => Cell::Ns(value),
        };
        let mut sheet = Sheet::default();
        sheet.fact("of", "Stacks of", Cell::text(what));
        sheet.fact("total", "In all", value(total));
        sheet.tables.push(Table {
            key: "stacks",
            title,
            when_empty: when_empty(self.of),
            columns,
            rows: rows.into_iter().map(|(count, stack)| vec![stack.into(), value(count)]).collect(),
        });
        sheet.notes = self.notes();
        sheet
    }
}

fn when_empty(of: FlameOf) -> &'static str {
    match of {
        FlameOf::Calls => "The trace has no pairs of events.",
        FlameOf::Waits => super::cpu::WITHOUT_SCHEDULER,
        FlameOf::Stacks => {
            "The trace has no call stacks; `lull record --context user_stack` records them, \
             `user_stack_copy` of programs without frame pointers, of the kernel's events \
             `lull record -k --context user_stack,kernel_stack`."
        }
    }
}

impl Flame<'_> {
    fn notes(&self) -> Vec<String> {
        let mut notes = self.namer.notes();
        if self.losses > 0 && self.of == FlameOf::Calls {
            notes.push(format!(
                "{} events or packets were lost: calls that were open then count up to the last \
                 event of their thread before.",
                self.losses
            ));
        }
        if self.tree.left_out > 0 {
            notes.push(format!(
                "{} times a frame found no room: its stack counts for the frames around it.",
                self.tree.left_out
            ));
        }
        notes
    }

    /// Time counts for the stack of calls that a thread was in since its last entry or exit.
    fn calls(&mut self, moment: &Moment<'_>) {
        let (thread, at) = (moment.step.thread, moment.event.time_ns());
        for (over, _) in moment.state.calls().cut() {
            if let Some((node, begin)) = self.current.remove(over) {
                self.tree.add(node, since(begin, at));
            }
        }
        let name = moment.state.classes().names().get(moment.step.name.0 as usize);
        if name.is_none_or(|name| name.pair.is_none()) || thread == ThreadIndex::OTHERS {
            return;
        }
        if let Some((node, begin)) = self.current.remove(&thread) {
            self.tree.add(node, since(begin, at));
        }
        let node = self.tree.calls(thread, moment.state);
        if moment.state.calls().innermost(thread).is_some() {
            self.current.insert(thread, (node, at));
        }
    }

    /// A wait counts for the calls and the stack with which it began.
    fn waits(&mut self, state: &State, moment: Option<&Moment<'_>>) {
        for moved in state.moves() {
            let (thread, now) = (moved.thread, state.stay(moved.thread));
            if let Some((node, begin)) = self.current.remove(&thread) {
                self.tree.add(node, since(begin.max(self.from), now.since));
            }
            let Place::Off(kind) = now.place else { continue };
            let mut node = self.tree.calls(thread, state);
            // The thread that stops is the one that the switch is of.
            if let Some(moment) = moment.filter(|moment| moment.step.thread == thread) {
                node = self.with_stack(node, moment);
            }
            let node = self.tree.node(Some(node), Frame::Off(kind));
            self.current.insert(thread, (node, now.since));
        }
    }

    fn recorded(&mut self, moment: &Moment<'_>) {
        if !moment.is_taken || !self.namer.has(moment.event) {
            return;
        }
        let root = self.tree.node(None, Frame::Thread(moment.step.thread));
        let node = self.with_stack(root, moment);
        let node = self.tree.node(Some(node), Frame::Event(moment.step.name));
        self.tree.add(node, 1);
    }

    fn with_stack(&mut self, mut node: NodeIndex, moment: &Moment<'_>) -> NodeIndex {
        let trace = moment.event.trace_index();
        let process = moment.state.threads().process_of(moment.step.thread);
        if self.namer.read(moment.event, (moment.state, process)) {
            let user = self.namer.user().iter().rev();
            let user =
                user.map(|(address, frame)| frame.map_or(Frame::User(*address), Frame::Program));
            let kernel = self.namer.kernel().iter().rev();
            let kernel = kernel.map(|address| Frame::Kernel(trace, *address));
            for frame in user.chain(kernel) {
                node = self.tree.node(Some(node), frame);
            }
        }
        node
    }

    /// The thread and the text of a stack, the outermost frame first.
    fn frames(&self, node: NodeIndex, state: &State) -> (Option<ThreadIndex>, String) {
        let (mut thread, mut texts) = (None, Vec::new());
        let mut next = self.tree.nodes.get(node as usize);
        // Bound: a node is behind the one above it.
        while let Some(node) = next {
            match node.frame {
                Frame::Thread(of) => {
                    thread = Some(of);
                    texts.push(plain(&state.threads().label(of)));
                    let process = state.threads().process_of(of);
                    texts.push(plain(&state.threads().process_label(process, state.texts())));
                }
                frame => texts.push(plain(&self.text(frame, state))),
            }
            next = node.above.and_then(|above| self.tree.nodes.get(above as usize));
        }
        texts.reverse();
        (thread, texts.join(";"))
    }

    fn text(&self, frame: Frame, state: &State) -> String {
        match frame {
            Frame::Thread(thread) => state.threads().label(thread),
            Frame::Call(pair) => {
                state.classes().pair(pair).map_or_else(String::new, |pair| pair.name.clone())
            }
            Frame::User(address) => format!("{address:#x}"),
            Frame::Program(frame) => self.namer.text(frame),
            Frame::Kernel(trace, address) => kernel_name(self.traces.get(trace), address) + "_[k]",
            Frame::Off(kind) => format!("({})", word(kind)),
            Frame::Event(name) => {
                let name = state.classes().names().get(name.0 as usize);
                name.map_or_else(String::new, |name| name.text.clone())
            }
        }
    }
}

/// A frame's name in a stack: the separator has a meaning there, and control characters in files.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c == ';' || c.is_control() { '_' } else { c }).collect()
}

impl Tree {
    /// The stack with one more frame; without room the stack itself.
    fn node(&mut self, above: Option<NodeIndex>, frame: Frame) -> NodeIndex {
        if let Some(known) = self.below.get(&(above, frame)) {
            return *known;
        }
        if self.nodes.len() >= NODES_MAX {
            self.left_out += 1;
            return above.unwrap_or(0);
        }
        let index = self.nodes.len() as NodeIndex;
        self.nodes.push(Node { above, frame, value: 0 });
        self.below.insert((above, frame), index);
        index
    }

    /// The calls that a thread is in.
    fn calls(&mut self, thread: ThreadIndex, state: &State) -> NodeIndex {
        let mut node = self.node(None, Frame::Thread(thread));
        for call in state.calls().of(thread).take(DEPTH_MAX) {
            node = self.node(Some(node), Frame::Call(call.pair));
        }
        node
    }

    fn add(&mut self, node: NodeIndex, value: u64) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.value = node.value.saturating_add(value);
        }
    }
}
