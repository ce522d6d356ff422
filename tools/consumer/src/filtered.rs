// SPDX-License-Identifier: MIT
//! What traced processes tell of their events' filters.
//!
//! Place in the flow: read when recording ends, for the verdict. What processes claimed is
//! repeated, never acted on.

use session::abi::EVENT_FIRST;
use session::description::Description;
use session::Memory;

/// What processes tell of an event's filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtered {
    pub event: Description,
    /// `FILTER_STATE_*` of `session::abi`, of all processes that have the event.
    pub state: u32,
}

/// The events of one user's processes that have a filter, as far as their descriptions are right.
pub(crate) fn filtered(memory: &Memory) -> Vec<Filtered> {
    let ids = EVENT_FIRST..memory.event_capacity();
    let told = ids.filter_map(|id| Some((id, memory.filter_state(id))).filter(|told| told.1 != 0));
    let described = told.filter_map(|(id, state)| {
        let event = Description::parse(&memory.event_description(id)?).ok()?;
        Some(Filtered { event, state })
    });
    described.collect()
}
