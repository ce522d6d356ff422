// SPDX-License-Identifier: MIT
//! The end of a session's rings: after it, no thread reserves that had found the session active.
//!
//! Place in the flow: `finish()` stops the probes, closes the rings, and reads them to their end.
//! Why that needs no grace period: docs/design/90-live.md.

use super::{ring_name, Channel, Consumer};

impl Consumer {
    /// After `stop_probes()`: threads of programs that found the session active reserve no more.
    pub(super) fn close_rings(&mut self) {
        self.unclosed.clear();
        for Channel { memory, drain, .. } in &mut self.channels {
            if !drain.ring.is_kernels() && !drain.ring.close() {
                self.unclosed.push(ring_name(memory, drain.ring.index));
            }
        }
    }
}

/// What the verdict says of rings that could not be closed.
pub(super) fn sentence(rings: &[String]) -> Option<String> {
    (!rings.is_empty()).then(|| {
        format!(
            "until the recording was stopped: an event that was under way at that moment may be \
             missing from these rings, which could not be closed: {}",
            rings.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_that_are_not_closed_are_named_and_no_others() {
        assert_eq!(sentence(&[]), None);
        let said = sentence(&["CPU 3".into(), "shared ring 0 of user 7".into()]).unwrap();
        assert!(said.ends_with("could not be closed: CPU 3, shared ring 0 of user 7"), "{said}");
    }
}
