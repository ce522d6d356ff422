// SPDX-License-Identifier: MIT
//! Names for the call stacks of a trace whose recorder was killed before it wrote them.
//!
//! Place in the flow: `recover` comes here when the trace is whole. What modules there were when
//! the recording began is not known any more, so only the kernel's own functions get names.

use crate::say;
use consumer::consumer::name_functions as name;
use consumer::output::Output;
use consumer::stacks::Addresses;
use kernel::symbols::OfModules;
use trace::{Group, Integer, Message, Name, Trace, Visitor};

/// Reads the trace's stacks, and leaves the names beside it.
pub fn name_functions(output: &Output) {
    let Ok(trace) = Trace::open(output.path()) else { return };
    let has_stack = |class: &trace::EventClass| class.field_index(KERNEL_STACK).is_some();
    if !trace.event_classes().any(has_stack) {
        return;
    }
    let told = name(output, &addresses(&trace), &OfModules::default());
    told.iter().for_each(|line| say(line));
}

const KERNEL_STACK: &str = "kernel_stack";

fn addresses(trace: &Trace) -> Addresses {
    let mut stacks = Stacks::default();
    let mut merge = trace.merge();
    // Bound: the events of a file, which is not written to meanwhile.
    while let Some(message) = merge.next() {
        if let Message::Event(event) = message {
            // Damage is told by who prints the trace.
            let _ = event.fields(&mut stacks);
        }
    }
    stacks.addresses
}

#[derive(Default)]
struct Stacks {
    addresses: Addresses,
    is_stack: bool,
}

impl Visitor for Stacks {
    fn unsigned(&mut self, name: Name<'_>, value: u64, _: &Integer) {
        if self.is_stack && matches!(name, Name::Index(_)) {
            self.addresses.add(value);
        }
    }
    fn begin(&mut self, name: Name<'_>, _: Group<'_>) {
        self.is_stack = name == Name::Field(KERNEL_STACK);
    }
    fn end(&mut self, _: Group<'_>) {
        self.is_stack = false;
    }
}
