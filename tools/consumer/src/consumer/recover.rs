// SPDX-License-Identifier: MIT
//! A consumer of what a killed recorder left: it goes on where that one was.
//!
//! Place in the flow: `lull recover` reopens a session and its trace, starts this, and finishes it
//! at once. Stream files are gone on with after the last packet that the rings say is in them, so
//! that no event is written twice and none is left out. Everything in the rings may be hostile.

use super::channel::{channels, ring_name, Channel};
use super::module::Module;
use super::{note, turn, Consumer, Options};
use crate::drain::Tools;
use crate::output::{Output, Trace};
use crate::ring::Ring;
use crate::stream::{Budget, Resumed};
use crate::walk::Walker;
use session::{Memory, Session};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Time begins here where the trace does not say when it did.
const START_CYCLES: u64 = 0;

impl Consumer {
    /// Stops all probes of a left session, and takes its rings and streams as they are.
    pub fn recover(
        session: Arc<Session>,
        output: Output,
        options: Options,
    ) -> Result<Self, crate::Error> {
        let fixed = *session.memory.fixed();
        if !crate::clock::start(fixed.clock_kind) {
            return Err(crate::Error::Clock { kind: fixed.clock_kind });
        }
        if session.memory.is_past() {
            crate::clock::leave();
        }
        let mut problems = Vec::new();
        let environment = options.facts.environment.clone();
        let mut memories = vec![Arc::clone(&session.memory)];
        memories.extend(others(&session, &output, &mut problems)?.into_iter().map(Arc::new));
        memories.iter().for_each(|memory| memory.set_active(false));
        let mut walker = Walker::new(Arc::clone(&session.memory));
        for memory in &memories[1..] {
            walker.add(Arc::clone(memory));
        }
        let limit_bytes = options.limit_bytes.unwrap_or(u64::MAX);
        let budget = Budget { used_bytes: 0, limit_bytes };
        let mut tools = Tools::new(walker, budget, true);
        let output = Arc::new(output);
        let is_discard = fixed.mode == session::abi::MODE_DISCARD;
        let mut snapshots = 0;
        if is_discard {
            let (output, facts) = (Arc::clone(&output), options.facts.clone());
            tools.trace = Some(Trace::start(output, facts, &tools.walker.classes())?);
        } else {
            snapshots = output.last_snapshot().map_err(failed(output.path()))?;
        }
        let mut taken = Vec::new();
        for (source, memory) in memories.iter().enumerate() {
            let attach = Ring::attach_left;
            taken.extend(channels(memory, source, output.folder(), START_CYCLES, attach)?);
        }
        if is_discard {
            for channel in &mut taken {
                resume(channel, &mut tools, &mut problems).map_err(failed(output.path()))?;
            }
        }
        let now = Instant::now();
        let module = Module::of_left(&session.memory);
        Ok(Self {
            session,
            memories,
            channels: taken,
            tools,
            output,
            options,
            start_cycles: START_CYCLES,
            started: now,
            flushed: now,
            met: now,
            moved: now,
            queue: turn::Queue::default(),
            active: false,
            pauses: super::Pauses::of(&environment),
            changes: super::Changes::of(&environment),
            budget: None,
            throttles: super::budget::Throttles::of(&environment),
            snapshots,
            problems,
            unclosed: Vec::new(),
            kernel: None,
            module,
        })
    }

    /// From now on the session is removed when this is dropped: all of it is in the trace.
    pub fn take_over(&self) {
        self.session.take_over();
        self.memories.iter().for_each(|memory| memory.take_over());
    }

    /// From now on the session stays when this is dropped: what is in it is in no trace yet.
    pub fn leave(&self) {
        self.session.leave();
        self.memories.iter().for_each(|memory| memory.leave());
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> crate::Error + '_ {
    |source| crate::output::Error::Io { path: path.into(), source }.into()
}

/// The memory of other users, in the order of the stream classes that they have in the trace. One
/// that has no stream there has a class that no other has, and may be gone: its user can remove it.
fn others(
    session: &Session,
    output: &Output,
    problems: &mut Vec<String>,
) -> Result<Vec<Memory>, crate::Error> {
    let links = session.directory.memories().into_iter();
    let users: Vec<(u32, i32)> =
        links.filter_map(|link| link.user.map(|user| (user, link.key))).collect();
    let mut classes: Vec<Option<(u32, i32)>> = vec![None; users.len()];
    let mut unknown = Vec::new();
    for user in users {
        let class = output.class_of_user(user.0).map_err(failed(output.path()))?;
        let index = class.and_then(|class| usize::try_from(class).ok()?.checked_sub(1));
        match index.and_then(|index| classes.get_mut(index)) {
            Some(free @ None) => *free = Some(user),
            _ => unknown.push(user),
        }
    }
    let mut unknown = unknown.into_iter();
    let mut memories: Vec<Memory> = Vec::new();
    for (index, of_class) in classes.into_iter().enumerate() {
        let class = memories.len() as u32 + 1;
        if let Some((user, key)) = of_class {
            let adopted = session.adopt(key, user, class).map_err(|error| error.to_string());
            let in_place = adopted.and_then(|memory| match index == memories.len() {
                true => Ok(memory),
                false => Err("memory of a user before it is gone".into()),
            });
            memories.push(in_place.map_err(|error| {
                crate::Error::Ring(format!(
                    "memory of user {user}, which the trace has streams of: {error}; with a new \
                     directory (-o), what is left of others can be recovered"
                ))
            })?);
            continue;
        }
        // Bound: the links, over all classes.
        memories.extend(unknown.by_ref().find_map(|(user, key)| {
            let problem = |error| {
                note(problems, format!("what processes of user {user} had in memory: {error}"));
            };
            session.adopt(key, user, class).map_err(problem).ok()
        }));
    }
    Ok(memories)
}

/// Takes a ring and its stream to where the killed recorder had got.
fn resume(
    channel: &mut Channel,
    tools: &mut Tools,
    problems: &mut Vec<String>,
) -> std::io::Result<()> {
    let Channel { memory, drain, stream, .. } = channel;
    let name = ring_name(memory, drain.ring.index);
    let on_disk = drain.ring.on_disk();
    let mut place = drain.ring.place_of(&on_disk);
    match stream.resume(place.map(|_| on_disk))? {
        Resumed::Here { exact } => drain.ring.resume_lost(stream.lost, exact),
        Resumed::New if place.is_some() && on_disk.bytes == 0 => {
            drain.ring.resume_lost(stream.lost, on_disk.packets == 0);
        }
        Resumed::New => note(
            problems,
            format!("what the killed recorder wrote of {name}: its stream file is gone"),
        ),
        Resumed::Apart => {
            drain.ring.resume_lost(stream.lost, false);
            place = None;
            note(
                problems,
                format!(
                    "where the killed recorder had got to on {name}: a process wrote over it, so \
                     that events may be in the trace twice"
                ),
            );
        }
    }
    let place = place.unwrap_or_else(|| drain.ring.oldest_place());
    let gone = drain.resume(tools, stream, place);
    if gone > 0 {
        let many = verdict::text::plural(gone, "sub-buffer");
        note(
            problems,
            format!(
                "{many} of events on {name} that the killed recorder had copied and not yet \
                 written: a process wrote over the copies"
            ),
        );
    }
    Ok(())
}
