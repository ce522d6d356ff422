// SPDX-License-Identifier: MIT
//! What an analysis does with the events of each class.
//!
//! Place in the flow: decided once from the metadata, looked up for each event.

use trace::{Event, EventClass, Trace};

/// A value for some classes of each trace.
#[derive(Debug)]
pub(crate) struct ByClass<T>(Vec<Vec<Option<T>>>);

impl<T> ByClass<T> {
    /// Asks for every class of the traces.
    pub fn new(traces: &[Trace], mut of: impl FnMut(&EventClass) -> Option<T>) -> Self {
        let mut of_trace = |trace: &Trace| {
            let mut values = Vec::new();
            for class in trace.event_classes() {
                if values.len() <= class.index {
                    values.resize_with(class.index + 1, || None);
                }
                values[class.index] = of(class);
            }
            values
        };
        Self(traces.iter().map(&mut of_trace).collect())
    }

    #[inline]
    pub fn get(&self, event: &Event<'_>) -> Option<&T> {
        self.0.get(event.trace_index())?.get(event.class().index)?.as_ref()
    }
}
