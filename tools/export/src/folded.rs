// SPDX-License-Identifier: MIT
//! Folded stacks: a line for each stack of calls, `process;thread;outer;inner NANOSECONDS`, with
//! the time that was spent there and in nothing inside of it.
//!
//! Place in the flow: `follow` tells of calls; everything else has no place here. Stacks are kept
//! until the end, in a tree of bounded size.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use state::{NameIndex, PairIndex, State, ThreadIndex};
use trace::Ns;

use crate::nesting::Open;
use crate::places::process_text;
use crate::sink::{call_text, Counter, End, Late, Lost, Moment, Sink};

/// Stacks; the time of others is that of the stack around them.
const STACKS: usize = 1 << 20;
const NO_END: &str = " (end not seen)";
const NOT_FINISHED: &str = " (not finished)";

/// Position of a stack.
type NodeIndex = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Frame {
    Thread(ThreadIndex),
    Call(PairIndex, Ending),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Ending {
    Seen,
    NotSeen,
    Open,
}

#[derive(Debug)]
struct Node {
    above: Option<NodeIndex>,
    frame: Frame,
    ns: u64,
}

/// A call that has not ended, and the time in calls inside of it.
#[derive(Debug, Clone, Copy)]
struct Current {
    node: NodeIndex,
    begin: Ns,
    inside_ns: u64,
}

pub(crate) struct Folded<'w> {
    out: &'w mut dyn Write,
    nodes: Vec<Node>,
    below: FxHashMap<(Option<NodeIndex>, Frame), NodeIndex>,
    open: FxHashMap<ThreadIndex, Vec<Current>>,
    left_out: u64,
}

impl<'w> Folded<'w> {
    pub fn new(out: &'w mut dyn Write) -> Self {
        let (nodes, below, open) = (Vec::new(), FxHashMap::default(), FxHashMap::default());
        Self { out, nodes, below, open, left_out: 0 }
    }

    /// The stack with one more frame; without space the stack itself.
    fn node(&mut self, above: Option<NodeIndex>, frame: Frame) -> NodeIndex {
        if let Some(known) = self.below.get(&(above, frame)) {
            return *known;
        }
        if let (true, Some(above)) = (self.nodes.len() >= STACKS, above) {
            return above;
        }
        let index = self.nodes.len() as NodeIndex;
        self.nodes.push(Node { above, frame, ns: 0 });
        self.below.insert((above, frame), index);
        index
    }

    fn texts(&self, state: &State, node: &Node) -> Vec<String> {
        let mut texts = Vec::new();
        let mut next = Some(node);
        // Bound: a node is behind the one above it.
        while let Some(node) = next {
            match node.frame {
                Frame::Thread(thread) => {
                    texts.push(state.threads().label(thread));
                    texts.push(process_text(state, state.threads().process_of(thread)));
                }
                Frame::Call(pair, ending) => texts.push(match ending {
                    Ending::Seen => call_text(state, pair),
                    Ending::NotSeen => call_text(state, pair) + NO_END,
                    Ending::Open => call_text(state, pair) + NOT_FINISHED,
                }),
            }
            next = node.above.and_then(|above| self.nodes.get(above as usize));
        }
        texts.reverse();
        texts
    }
}

/// A frame's name in a line: the separator and line ends have a meaning there.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c == ';' || c.is_control() { '_' } else { c }).collect()
}

impl Sink for Folded<'_> {
    fn begin(&mut self, moment: &Moment<'_>, pair: PairIndex) -> io::Result<()> {
        let above = self.open.get(&moment.thread).and_then(|stack| stack.last()).map(|c| c.node);
        let above = match above {
            Some(above) => above,
            None => self.node(None, Frame::Thread(moment.thread)),
        };
        let node = self.node(Some(above), Frame::Call(pair, Ending::Seen));
        let current = Current { node, begin: moment.at, inside_ns: 0 };
        self.open.entry(moment.thread).or_default().push(current);
        Ok(())
    }

    fn end(&mut self, moment: &Moment<'_>, open: &Open, end: End) -> io::Result<()> {
        let Some(stack) = self.open.get_mut(&moment.thread) else { return Ok(()) };
        let Some(current) = stack.pop() else { return Ok(()) };
        let whole = u64::try_from(moment.at.0.saturating_sub(current.begin.0)).unwrap_or(0);
        if let Some(outer) = stack.last_mut() {
            outer.inside_ns = outer.inside_ns.saturating_add(whole);
        }
        let ending = match end {
            End::Seen => Ending::Seen,
            End::NotSeen => Ending::NotSeen,
            End::Open => Ending::Open,
        };
        let above = self.nodes.get(current.node as usize).and_then(|node| node.above);
        let node = match ending {
            Ending::Seen => current.node,
            _ => self.node(above, Frame::Call(open.pair, ending)),
        };
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.ns = node.ns.saturating_add(whole.saturating_sub(current.inside_ns));
        }
        Ok(())
    }

    fn late(&mut self, _: &Moment<'_>, _: &Late) -> io::Result<()> {
        self.left_out += 1;
        Ok(())
    }

    fn instant(&mut self, _: &Moment<'_>, _: NameIndex) -> io::Result<()> {
        Ok(())
    }

    fn counter(&mut self, _: &Moment<'_>, _: &Counter<'_>) -> io::Result<()> {
        Ok(())
    }

    fn lost(&mut self, _: &State, _: &Lost) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, state: &State, _: Ns) -> io::Result<()> {
        for node in self.nodes.iter().filter(|node| node.ns > 0) {
            let texts: Vec<String> = self.texts(state, node).iter().map(|t| plain(t)).collect();
            writeln!(self.out, "{} {}", texts.join(";"), node.ns)?;
        }
        self.out.flush()
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }
}
