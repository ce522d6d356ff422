// SPDX-License-Identifier: MIT
//! Runs side by side, as many as there are jobs and as their memory limits together allow.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::cache::Cache;
use crate::error::Result;
use crate::expect::Run;
use crate::spin::{Effort, Report, Workshop};

/// A run with how many states an earlier search of it visited.
#[derive(Clone)]
pub struct Task<'a> {
    pub run: &'a Run,
    pub earlier_states: Option<u64>,
}

struct State<'a> {
    waiting: Vec<Task<'a>>,
    started_count: usize,
    running_count: usize,
    free_mib: u32,
}

/// The tasks not yet begun, and the memory not yet promised.
struct Queue<'a> {
    state: Mutex<State<'a>>,
    changed: Condvar,
}

impl<'a> Queue<'a> {
    /// The largest first, so that the last to end are short.
    fn new(mut tasks: Vec<Task<'a>>, memory_mib: u32) -> Queue<'a> {
        const NEW_STATES: u64 = 500_000;
        let guess = |task: &Task| {
            task.earlier_states.unwrap_or(if task.run.full { u64::MAX } else { NEW_STATES })
        };
        tasks.sort_by_key(|task| std::cmp::Reverse(guess(task)));
        let state =
            State { waiting: tasks, started_count: 0, running_count: 0, free_mib: memory_mib };
        Queue { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task that fits, with its number; one that is too large for all runs alone.
    fn take(&self) -> Option<(usize, Task<'a>)> {
        let mut state = self.lock();
        loop {
            if state.waiting.is_empty() {
                return None;
            }
            let free_mib = state.free_mib;
            let fits = state.waiting.iter().position(|task| task.run.memory_mib <= free_mib);
            let alone = (state.running_count == 0).then_some(0);
            if let Some(index) = fits.or(alone) {
                let task = state.waiting.remove(index);
                state.free_mib = free_mib.saturating_sub(task.run.memory_mib);
                state.running_count += 1;
                state.started_count += 1;
                return Some((state.started_count, task));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, task: &Task, memory_mib: u32) {
        let mut state = self.lock();
        state.running_count -= 1;
        state.free_mib = if state.running_count == 0 {
            memory_mib
        } else {
            (state.free_mib + task.run.memory_mib).min(memory_mib)
        };
        self.changed.notify_all();
    }
}

/// One run that has ended, and where its files are.
pub struct Ended<'a> {
    pub run: &'a Run,
    pub report: Result<Report>,
    pub workshop: Option<Workshop<'a>>,
}

/// What all searches of one start share.
#[derive(Clone, Copy)]
pub struct Place<'b> {
    /// What the memory limits of searches at the same time may add up to.
    pub memory_mib: u32,
    /// In which each search gets a folder of its own.
    pub folder: &'b Path,
    pub cache: Option<&'b Cache>,
}

fn work<'a>(queue: &Queue<'a>, place: Place, ends: &Sender<Ended<'a>>) {
    while let Some((number, task)) = queue.take() {
        let effort = Effort::of(task.run, task.earlier_states);
        let ended = match Workshop::new(task.run, &place.folder.join(format!("{number:03}"))) {
            Ok(workshop) => {
                let report = workshop.whole(effort, place.cache);
                Ended { run: task.run, report, workshop: Some(workshop) }
            }
            Err(error) => Ended { run: task.run, report: Err(error), workshop: None },
        };
        queue.give_back(&task, place.memory_mib);
        if ends.send(ended).is_err() {
            return;
        }
    }
}

/// Runs all tasks; `each` sees every one as it ends.
pub fn all<'a>(tasks: Vec<Task<'a>>, jobs: usize, place: Place, mut each: impl FnMut(Ended<'a>)) {
    let queue = Queue::new(tasks, place.memory_mib);
    let (sender, ends): (Sender<Ended<'a>>, Receiver<Ended<'a>>) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            let sender = sender.clone();
            let queue = &queue;
            scope.spawn(move || work(queue, place, &sender));
        }
        drop(sender);
        for ended in ends {
            each(ended);
        }
    });
}
