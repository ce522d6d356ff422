// SPDX-License-Identifier: MIT
//! The processes of a session are asked, one after the other, to look at what has changed, to join
//! or to leave.
//!
//! Place in the flow: after the rules of the session's memory were replaced, when the recorder is
//! asked for processes (`members`), and after the session has ended. One thread of each process is
//! made to call a function of liblull's (docs/design/91-attach.md). That takes as long as the
//! processes take, so a thread of the recorder's own does it, while the loop moves packets.

use super::attach::{members, name_of, poll, Failure, Joining, Leaving, Polled};
use control::{Changed, TriggersChanged, Unreached};
use session::segment;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long all processes together may take.
pub const LIMIT: Duration = Duration::from_secs(30);
/// Processes that an answer names.
const UNREACHED_MAX: usize = 100;
/// How often the loop looks whether all were asked.
pub const LOOK_PERIOD: Duration = Duration::from_millis(5);

/// Two requests at the same time ask one after the other: a process has one tracer.
static ASKING: Mutex<()> = Mutex::new(());

/// Asks every process that has memory of a session to look. `is_over`: whether to ask no more of
/// them.
pub fn all(segments: &[i32], limit: Duration, is_over: &dyn Fn() -> bool) -> Asked {
    each(segments, limit, is_over, &poll)
}

/// Asks every process that has memory of a session for something.
pub fn each(
    segments: &[i32],
    limit: Duration,
    is_over: &dyn Fn() -> bool,
    ask: &dyn Fn(u32) -> Result<Polled, Failure>,
) -> Asked {
    let begun = Instant::now();
    let (mut changed, mut all_held_ns, mut pids) = (Changed::default(), 0u64, Vec::new());
    for pid in members(segments) {
        let why = match (is_over(), begun.elapsed() > limit) {
            (true, _) => "the session ends".into(),
            (_, true) => format!("the others took {} s", begun.elapsed().as_secs()),
            _ => match ask(pid) {
                Ok(polled) => {
                    pids.push(pid);
                    changed.reached += 1;
                    changed.changed += polled.changed;
                    let held_ns = u64::try_from(polled.held.as_nanos()).unwrap_or(u64::MAX);
                    changed.held_ns = changed.held_ns.max(held_ns);
                    all_held_ns = all_held_ns.saturating_add(held_ns);
                    continue;
                }
                Err(failure) if failure.is_moot => continue,
                Err(failure) => failure.why,
            },
        };
        if changed.unreached.len() < UNREACHED_MAX {
            let name = name_of(pid).unwrap_or_default();
            changed.unreached.push(Unreached { pid, name, why });
        } else {
            changed.unreached_more += 1;
        }
    }
    Asked { changed, all_held_ns, pids }
}

/// What came of asking all processes.
pub struct Asked {
    pub changed: Changed,
    /// How long threads were stopped, all together.
    pub all_held_ns: u64,
    /// Those that did what they were asked for.
    pub pids: Vec<u32>,
}

/// Has the processes leave a session that has ended. Those that cannot be asked keep its memory
/// until they look themselves.
pub fn leave(segments: &[i32]) {
    const LIMIT: Duration = Duration::from_secs(5);
    let is_attached = |id: &i32| segment::status(*id).is_ok_and(|found| found.attached > 0);
    if segments.iter().any(is_attached) {
        all(segments, LIMIT, &|| false);
    }
}

/// What came of asking processes.
pub enum Outcome {
    Changed(Changed),
    Joined(Vec<Joining>),
    Left(Vec<Leaving>),
    /// With the processes that follow the triggers now.
    Triggers(TriggersChanged, Vec<u32>),
}

/// Processes that are being asked, of which a `T` will be known.
pub struct Reaching<T> {
    asked: Receiver<T>,
    is_over: Arc<AtomicBool>,
}

impl<T: Send + 'static> Reaching<T> {
    /// `ask` asks them, and no more of them when what it is given says so.
    pub fn begin(
        ask: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
    ) -> std::io::Result<Self> {
        Self::beside(|is_over| {
            let _asking = ASKING.lock();
            ask(is_over)
        })
    }

    /// The same, which only looks at them, while others may be asked.
    pub fn beside(
        ask: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
    ) -> std::io::Result<Self> {
        let (sender, asked) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        std::thread::Builder::new().name("reach".into()).spawn(move || {
            // Who waits for it may have given up.
            let _ = sender.send(ask(&|| told.load(Ordering::Relaxed)));
        })?;
        Ok(Self { asked, is_over })
    }

    /// What came of it, once all were asked; of that, None: the thread that asked them panicked.
    pub fn ended(&mut self) -> Option<Option<T>> {
        match self.asked.try_recv() {
            Ok(found) => Some(Some(found)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(None),
        }
    }

    /// Asks no more processes, and waits for the one that is being asked.
    pub fn end(self) -> Option<T> {
        self.is_over.store(true, Ordering::Relaxed);
        self.asked.recv().ok()
    }
}
