// SPDX-License-Identifier: MIT
//! Call stacks that events carry: `user_stack` and `kernel_stack`, innermost function first, and
//! what `user_stack_copy` holds, the stack itself.
//!
//! Place in the flow: `names` asks for the frames of an event whose class has such a field. Where
//! an event has a copy of the stack, its frames are those that `symbols` finds in it.

use symbols::End;
use trace::{Event, EventClass, Group, Integer, Name, Struct, Trace, Visitor};

use crate::by_class::ByClass;

/// Frames of a stack that are kept; the recorder keeps no more of each.
const FRAMES_MAX: usize = 128;
const USER: &str = "user_stack";
const KERNEL: &str = "kernel_stack";
const COPY: &str = "user_stack_copy";
/// Words of a copy that are kept; the recorder keeps no more.
const COPY_WORDS_MAX: usize = (32 << 10) / 8 + 3;

/// Which classes have stacks, and those of the latest event.
#[derive(Debug)]
pub(crate) struct Stacks {
    classes: ByClass<()>,
    frames: Frames,
}

/// How copies of stacks ended.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Copies that were followed, and those of them that end too early, or without a table.
    followed: u64,
    cut: u64,
    without_table: u64,
}

/// What the elements are of that come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    User,
    Kernel,
    Copy,
}

#[derive(Debug, Default)]
struct Frames {
    user: Vec<u64>,
    kernel: Vec<u64>,
    copy: Vec<u64>,
    of: Option<Of>,
}

impl Visitor for Frames {
    fn unsigned(&mut self, name: Name<'_>, value: u64, _: &Integer) {
        let (Some(of), Name::Index(_)) = (self.of, name) else { return };
        let (words, most) = match of {
            Of::User => (&mut self.user, FRAMES_MAX),
            Of::Kernel => (&mut self.kernel, FRAMES_MAX),
            Of::Copy => (&mut self.copy, COPY_WORDS_MAX),
        };
        if words.len() < most {
            words.push(value);
        }
    }

    fn begin(&mut self, name: Name<'_>, _: Group<'_>) {
        self.of = match name {
            Name::Field(USER) => Some(Of::User),
            Name::Field(KERNEL) => Some(Of::Kernel),
            Name::Field(COPY) => Some(Of::Copy),
            _ => None,
        };
    }

    fn end(&mut self, _: Group<'_>) {
        self.of = None;
    }
}

pub fn has_stack(class: &EventClass) -> bool {
    let has = |scope: &Option<Struct>| {
        let fields = scope.iter().flat_map(|scope| &scope.fields);
        fields.into_iter().any(|field| matches!(field.name(), USER | KERNEL | COPY))
    };
    has(&class.payload) || has(&class.context)
}

impl Stacks {
    pub fn new(traces: &[Trace]) -> Self {
        let classes = ByClass::new(traces, |class| has_stack(class).then_some(()));
        Self { classes, frames: Frames::default() }
    }

    /// Whether an event can have a stack.
    pub fn has(&self, event: &Event<'_>) -> bool {
        self.classes.get(event).is_some()
    }

    /// Reads an event. `false`: its class has no stack.
    pub fn read(&mut self, event: &Event<'_>) -> bool {
        let frames = &mut self.frames;
        frames.user.clear();
        frames.kernel.clear();
        frames.copy.clear();
        if self.classes.get(event).is_none() {
            return false;
        }
        // Damage is told by the reader; what was read before it holds.
        let _ = event.context(frames).and_then(|()| event.fields(frames));
        true
    }

    /// The user's frames of the event as they were recorded, innermost first.
    pub fn user(&self) -> &[u64] {
        &self.frames.user
    }

    /// The kernel's.
    pub fn kernel(&self) -> &[u64] {
        &self.frames.kernel
    }

    /// The words of the event's copy of the stack.
    pub fn copy(&self) -> &[u64] {
        &self.frames.copy
    }
}

impl Ends {
    pub fn add(&mut self, end: End) {
        self.followed += 1;
        self.cut += u64::from(end == End::Copy);
        self.without_table += u64::from(end == End::Table);
    }

    /// How many stacks lack their outermost functions.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.cut > 0 {
            notes.push(format!(
                "{} of {} copies of stacks end before the outermost function: a longer copy has \
                 more (`--context user_stack_copy:BYTES`).",
                self.cut, self.followed
            ));
        }
        if self.without_table > 0 {
            notes.push(format!(
                "{} of {} copies of stacks lead to code whose caller no table tells: its file was \
                 not read, or the trace told of it later, or it was made at run time, or it is a \
                 handler of a signal.",
                self.without_table, self.followed
            ));
        }
        notes
    }
}

/// What to call an address of the kernel's: the function, where the trace has names.
pub(crate) fn kernel_name(trace: Option<&Trace>, address: u64) -> String {
    let place = trace.and_then(Trace::symbols).and_then(|symbols| symbols.returned_to(address));
    place.map_or_else(|| format!("{address:#x}"), |place| place.function.to_string())
}

/// Frames from the outermost to the innermost, as folded stacks have them. `user`: what those of
/// the program are called, innermost first.
pub(crate) fn folded(user: &[String], kernel: &[u64], trace: Option<&Trace>) -> String {
    let kernel = kernel.iter().rev().map(|address| format!("{}_[k]", kernel_name(trace, *address)));
    user.iter().rev().cloned().chain(kernel).collect::<Vec<_>>().join(";")
}
