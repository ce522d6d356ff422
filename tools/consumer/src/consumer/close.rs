// SPDX-License-Identifier: MIT
//! The end of a session's rings: after it, no thread reserves that had found the session active.
//!
//! Place in the flow: `finish()` stops the probes, closes the rings, and reads them to their end.
//! Why that needs no grace period: docs/design/90-live.md.

use super::{Channel, Consumer};

impl Consumer {
    /// After `stop_probes()`: threads of programs that found the session active reserve no more.
    pub(super) fn close_rings(&mut self) {
        let rings = self.channels.iter_mut().map(|Channel { drain, .. }| &mut drain.ring);
        let programs = rings.filter(|ring| !ring.is_kernels());
        self.unclosed = programs.filter_map(|ring| (!ring.close()).then_some(ring.index)).collect();
    }
}

/// The recorder could not come to these rings' CPUs when the session was stopped.
pub(super) fn sentence(rings: &[u32]) -> Option<String> {
    let cpus: Vec<String> = rings.iter().map(u32::to_string).collect();
    (!rings.is_empty()).then(|| {
        format!(
            "until the recording was stopped: the recorder may not run on CPU {}, where an event \
             that was under way at that moment may be missing",
            cpus.join(", ")
        )
    })
}
