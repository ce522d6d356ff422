// SPDX-License-Identifier: MIT
//! What a writer says it lost.
//!
//! Place in the flow: `stream_file` compares each packet's counters with those before; the merge
//! hands the difference out among the events, where it happened.

use std::sync::Arc;

use crate::units::{CpuId, Cycles};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossKind {
    /// Events that found no space.
    Events,
    /// Whole packets, seen by a gap in their numbers.
    Packets,
}

/// Events or packets that are missing from a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    pub kind: LossKind,
    pub count: u64,
    /// Lost events by cause, if the writer counts causes (`lost_*` in the packet context).
    pub causes: Vec<(Arc<str>, u64)>,
    /// End of the last packet before; `None` at the start of a stream.
    pub begin: Option<Cycles>,
    /// End of the packet that tells of lost events, beginning of the one before which packets are
    /// missing.
    pub until: Option<Cycles>,
    pub cpu: Option<CpuId>,
}
