// SPDX-License-Identifier: MIT
//! A flight recorder's snapshots: each a trace of its own, of what the rings held then.
//!
//! Place in the flow: `lull snapshot` and triggers ask for one, and the end of the session writes
//! the last. What is in the rings stays there (`drain/look`): the next snapshot has it, too, until
//! it is overwritten, and what the disk refuses of the last is there for `lull recover`.

use super::channel::stream;
use super::{Consumer, Seen, FINISH_PATIENCE};
use crate::output::Trace;
use std::sync::Arc;
use std::time::Duration;
use verdict::text::RECORDED_LAST;
use verdict::Verdict;

/// As [`FINISH_PATIENCE`]: the recorder goes on, and what is missing is in the next.
const PATIENCE: Duration = Duration::from_millis(100);

impl Consumer {
    /// Flight recorder: writes what the rings hold now as a trace of its own.
    pub fn snapshot(&mut self) -> Result<Verdict, crate::Error> {
        self.write_snapshot(PATIENCE, false, |_, _| {})
    }

    pub(super) fn write_last_snapshot(
        &mut self,
        adjust: impl FnOnce(&mut Verdict, Seen),
    ) -> Result<Verdict, crate::Error> {
        self.write_snapshot(FINISH_PATIENCE, true, adjust)
    }

    fn write_snapshot(
        &mut self,
        patience: Duration,
        last: bool,
        adjust: impl FnOnce(&mut Verdict, Seen),
    ) -> Result<Verdict, crate::Error> {
        if self.snapshots > 0 {
            // What is still in the rings is walked again, and what is not is not in the verdict.
            self.tools.walker.forget();
        }
        self.snapshots += 1;
        let output = self.output.create_snapshot(self.snapshots)?;
        let (path, folder) = (output.path().to_path_buf(), Arc::clone(output.folder()));
        let facts = self.options.facts.clone();
        self.tools.budget.used_bytes = 0;
        self.tools.limit_reached = false;
        self.tools.keeps_refused = last;
        let trace = Trace::start(Arc::new(output), facts, &self.tools.walker.classes())?;
        trace.output.keep();
        self.tools.trace = Some(trace);
        for channel in &mut self.channels {
            channel.drain.begin_snapshot();
            channel.stream =
                stream(&channel.memory, &folder, channel.drain.ring.index, self.start_cycles);
        }
        self.drain_all(patience, last);
        let mut verdict = self.verdict(path);
        verdict.limits.push(RECORDED_LAST.into());
        self.name_functions(&mut verdict);
        let seen = self.seen();
        adjust(&mut verdict, seen);
        verdict.conclude(self.tools.limit_reached);
        self.write_verdict(&mut verdict);
        self.tools.trace = None;
        Ok(verdict)
    }
}
