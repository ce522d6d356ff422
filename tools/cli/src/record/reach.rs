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
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tracee::Status;

/// How long all processes together may take, and those of one user where others have some, too.
pub const LIMIT: Duration = Duration::from_secs(30);
const LIMIT_OF_USER: Duration = Duration::from_secs(4);
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
    let mut turns = Turns::default();
    // One that has just ended is nobody's.
    members(segments).for_each(|pid| turns.add(Status::read(pid).map_or(0, |s| s.user), pid));
    while let Some((user, pid)) = turns.next() {
        let of_user = turns.took(user).filter(|took| *took > LIMIT_OF_USER);
        let why = match (is_over(), begun.elapsed() > limit, of_user) {
            (true, ..) => "the session ends".into(),
            (_, true, _) => format!("the others took {} s", begun.elapsed().as_secs()),
            (.., Some(took)) => format!("others of its user took {} s", took.as_secs()),
            _ => match turns.timed(user, || ask(pid)) {
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

/// Processes that are to be asked: next is always one of the user whose processes took least time,
/// so that those which do not let themselves be asked keep no other user's waiting.
#[derive(Default)]
struct Turns {
    waiting: BTreeMap<u32, Vec<u32>>,
    took: BTreeMap<u32, Duration>,
}

impl Turns {
    fn add(&mut self, user: u32, pid: u32) {
        self.waiting.entry(user).or_default().push(pid);
        self.took.entry(user).or_default();
    }

    fn next(&mut self) -> Option<(u32, u32)> {
        let least = self.waiting.iter().min_by_key(|(user, _)| self.took.get(user));
        let user = *least?.0;
        let pids = self.waiting.get_mut(&user)?;
        let pid = pids.pop()?;
        if pids.is_empty() {
            self.waiting.remove(&user);
        }
        Some((user, pid))
    }

    /// How long the processes of a user took, if there are others' too.
    fn took(&self, user: u32) -> Option<Duration> {
        self.took.get(&user).copied().filter(|_| self.took.len() > 1)
    }

    fn timed<T>(&mut self, user: u32, ask: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let answer = ask();
        *self.took.entry(user).or_default() += begun.elapsed();
        answer
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_is_one_of_the_user_whose_processes_took_least_time() {
        let mut turns = Turns::default();
        let processes = [(7, 1), (7, 2), (7, 3), (9, 4), (9, 5)];
        processes.iter().for_each(|(user, pid)| turns.add(*user, *pid));
        assert_eq!(turns.next(), Some((7, 3)));
        turns.timed(7, || std::thread::sleep(Duration::from_millis(20)));
        assert!(turns.took(7) > Some(Duration::from_millis(10)));
        assert_eq!([turns.next(), turns.next()], [Some((9, 5)), Some((9, 4))]);
        assert_eq!([turns.next(), turns.next()], [Some((7, 2)), Some((7, 1))]);
        assert_eq!(turns.next(), None);
        let mut alone = Turns::default();
        alone.add(7, 1);
        alone.timed(7, || std::thread::sleep(Duration::from_millis(1)));
        assert_eq!(alone.took(7), None, "nobody waits for others");
    }
}
