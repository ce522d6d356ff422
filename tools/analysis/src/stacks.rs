// SPDX-License-Identifier: MIT
//! Call stacks that events carry: `user_stack` and `kernel_stack`, innermost function first.
//!
//! Place in the flow: analyses ask for the frames of an event whose class has such a field.

use std::fmt::Write;

use symbols::{FrameIndex, Programs};
use trace::{Event, EventClass, Group, Integer, Name, Struct, Trace, Visitor};

use crate::by_class::ByClass;
use crate::studies::Moment;

/// Frames of a stack that are kept; the recorder keeps no more of each.
const FRAMES_MAX: usize = 128;
const USER: &str = "user_stack";
const KERNEL: &str = "kernel_stack";

/// Which classes have stacks.
#[derive(Debug)]
pub(crate) struct Stacks {
    classes: ByClass<()>,
    frames: Frames,
}

#[derive(Debug, Default)]
struct Frames {
    user: Vec<u64>,
    kernel: Vec<u64>,
    /// Whether elements that come are of the user's (`false`) or the kernel's stack.
    of_kernel: Option<bool>,
}

impl Visitor for Frames {
    fn unsigned(&mut self, name: Name<'_>, value: u64, _: &Integer) {
        let frames = match (self.of_kernel, name) {
            (Some(true), Name::Index(_)) => &mut self.kernel,
            (Some(false), Name::Index(_)) => &mut self.user,
            _ => return,
        };
        if frames.len() < FRAMES_MAX {
            frames.push(value);
        }
    }

    fn begin(&mut self, name: Name<'_>, _: Group<'_>) {
        self.of_kernel = match name {
            Name::Field(USER) => Some(false),
            Name::Field(KERNEL) => Some(true),
            _ => None,
        };
    }

    fn end(&mut self, _: Group<'_>) {
        self.of_kernel = None;
    }
}

fn has_stack(class: &EventClass) -> bool {
    let has = |scope: &Option<Struct>| {
        let fields = scope.iter().flat_map(|scope| &scope.fields);
        fields.into_iter().any(|field| matches!(field.name(), USER | KERNEL))
    };
    has(&class.payload) || has(&class.context)
}

impl Stacks {
    pub fn new(traces: &[Trace]) -> Self {
        let classes = ByClass::new(traces, |class| has_stack(class).then_some(()));
        Self { classes, frames: Frames::default() }
    }

    /// The user's and the kernel's frames of an event, innermost first; nothing where its class has
    /// none.
    pub fn of(&mut self, event: &Event<'_>) -> Option<(&[u64], &[u64])> {
        self.classes.get(event)?;
        self.frames.user.clear();
        self.frames.kernel.clear();
        // Damage is told by the reader; what was read before it holds.
        let _ = event.context(&mut self.frames).and_then(|()| event.fields(&mut self.frames));
        Some((&self.frames.user, &self.frames.kernel))
    }
}

/// What to call an address of the kernel's: the function, where the trace has names.
pub(crate) fn kernel_name(trace: Option<&Trace>, address: u64) -> String {
    let place = trace.and_then(Trace::symbols).and_then(|symbols| symbols.returned_to(address));
    place.map_or_else(|| format!("{address:#x}"), |place| place.function.to_string())
}

/// What an address of the program that wrote an event is called, if the file there is known.
pub(crate) fn program_frame(
    programs: &mut Programs,
    moment: &Moment<'_>,
    address: u64,
) -> Option<FrameIndex> {
    let process = moment.state.threads().process_of(moment.step.thread);
    programs.frame(moment.state, process, address, moment.event.time_ns())
}

/// Addresses from the outermost to the innermost, as folded stacks have them. `name`: what one of
/// the program's is called.
pub(crate) fn folded(
    user: &[u64],
    kernel: &[u64],
    trace: Option<&Trace>,
    mut name: impl FnMut(u64) -> String,
) -> String {
    let mut text = String::new();
    let mut add = |frame: &str| {
        let gap = if text.is_empty() { "" } else { ";" };
        let _ = write!(text, "{gap}{frame}");
    };
    user.iter().rev().for_each(|address| add(&name(*address)));
    kernel.iter().rev().for_each(|address| add(&format!("{}_[k]", kernel_name(trace, *address))));
    text
}
