// SPDX-License-Identifier: MIT
//! The memory that a killed recorder left: what its control block says, checked.
//!
//! Place in the flow: `session` comes here to open a left session for `lull recover`. Traced
//! processes could write to all of it, so the control block is read once and believed only where
//! it is, byte for byte, what our own layout of such a session would be.

use crate::abi::{Control, ControlFixed, MODE_FLIGHT_RECORDER, SESSION_MAGIC, SESSION_VERSION};
use crate::context::Recorded;
use crate::error::{Error, Result};
use crate::layout::{layout, Plan, FILTERS_BYTES_MAX, PATTERNS_BYTES_MAX};
use crate::memory::Memory;
use crate::segment::Segment;
use std::mem::size_of;
use std::path::Path;

/// The memory in a segment that its status says is ours.
pub fn memory(path: &Path, segment: Segment) -> Result<Memory> {
    let refused = |why| Error::Left { path: path.into(), why };
    if segment.bytes() < size_of::<Control>() as u64 {
        return Err(refused("its memory is too small to be a session's"));
    }
    // SAFETY: the segment is large enough, on a page boundary; the block is plain numbers, of
    // which any value is one. A process that writes meanwhile makes values that are checked below.
    let found = unsafe { segment.as_ptr().cast::<ControlFixed>().read_volatile() };
    if found.magic == 0 {
        return Err(Error::Unfinished { path: path.into() });
    }
    if found.magic != SESSION_MAGIC {
        return Err(refused("its memory is no session's, or a process wrote over it"));
    }
    if found.version != SESSION_VERSION {
        return Err(refused("another version of Lull made it, and that version can recover it"));
    }
    if found.count_pages != 0 {
        return Err(refused(
            "it counted events and recorded none, so there is no trace to complete; give \
             --discard to remove it",
        ));
    }
    let own = plan(&found).and_then(|plan| layout(&plan).ok());
    let own = own.ok_or_else(|| refused("its memory has sizes that no session has"))?;
    if own != (ControlFixed { user_id: own.user_id, stream_id: own.stream_id, ..found }) {
        return Err(refused("a process wrote over the description of its memory"));
    }
    let memory = Memory::adopt(own, segment)?;
    let recorded = memory.told_recorded();
    let recorded =
        recorded.ok_or_else(|| refused("its events have contexts that there are not"))?;
    Ok(memory.recording(recorded))
}

/// A plan that has the layout that was found, if there is one.
fn plan(found: &ControlFixed) -> Option<Plan> {
    if found.mode > MODE_FLIGHT_RECORDER || found.plain_count == 0 {
        return None;
    }
    let patterns_bytes = found.patterns_bytes.checked_sub(1)?;
    if patterns_bytes > PATTERNS_BYTES_MAX {
        return None;
    }
    let filters_bytes = found.filters_bytes as usize;
    if filters_bytes > FILTERS_BYTES_MAX {
        return None;
    }
    Some(Plan {
        uuid: found.uuid,
        flight_recorder: found.mode == MODE_FLIGHT_RECORDER,
        clock_kind: found.clock_kind,
        cpu_count: found.cpu_count,
        rseq: found.plain_count != found.cpu_count || found.cpu_count == 1,
        subbuf_size_bytes: found.subbuf_size_bytes,
        subbuf_count: found.subbuf_count,
        // Only their length matters here: they chose the events that were recorded.
        patterns: " ".repeat(patterns_bytes as usize),
        filters: vec![0; filters_bytes],
        counts: None,
        has_budget: found.budget_offset_bytes != 0,
        recorded: Recorded::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::atomic::Ordering;

    fn made() -> Memory {
        let plan = Plan::small();
        let memory = Memory::create(&plan, |_| Ok(())).unwrap();
        memory.fill_in(&plan);
        memory
    }

    fn again(made: &Memory) -> Result<Memory> {
        memory(Path::new("/left"), Segment::attach(made.id().unwrap()).unwrap())
    }

    #[test]
    fn memory_that_nobody_wrote_over_is_read_back_as_it_was_made_and_stays() {
        let made = made();
        assert_eq!(again(&made).unwrap().fixed(), made.fixed());
        assert!(crate::segment::status(made.id().unwrap()).is_ok());
    }

    #[test]
    fn memory_of_every_kind_of_session_is_read_back() {
        for plan in [
            Plan { flight_recorder: true, ..Plan::small() },
            Plan { rseq: false, ..Plan::small() },
            Plan { cpu_count: 1, ..Plan::small() },
            Plan { patterns: String::new(), ..Plan::small() },
            Plan { has_budget: true, ..Plan::small() },
            Plan {
                recorded: Recorded { contexts: 6, user_frames: 128, copy_bytes: 8 },
                ..Plan::small()
            },
        ] {
            let made = Memory::create(&plan, |_| Ok(())).unwrap();
            made.fill_in(&plan);
            let again = again(&made).unwrap();
            assert_eq!((again.fixed(), again.recorded()), (made.fixed(), plan.recorded));
            made.live().user_frames.store(129, Ordering::Relaxed);
            let refused = self::again(&made).unwrap_err().to_string();
            assert!(refused.contains("contexts that there are not"), "{refused}");
        }
    }

    #[test]
    fn memory_that_is_no_sessions_is_refused_for_what_it_is() {
        let refused = |made: &Segment| {
            memory(Path::new("/left"), Segment::attach(made.id()).unwrap()).unwrap_err()
        };
        let of_page = Segment::unnamed(4096);
        assert!(matches!(refused(&of_page), Error::Unfinished { .. }));
        let set = |at: usize, number: u32| {
            // SAFETY: a word of the segment, which only this test uses.
            unsafe { of_page.as_ptr().add(at).cast::<u32>().write(number) };
        };
        set(0, 77);
        assert!(refused(&of_page).to_string().contains("no session's"));
        set(0, SESSION_MAGIC as u32);
        set(4, (SESSION_MAGIC >> 32) as u32);
        assert!(refused(&of_page).to_string().contains("another version"));
        set(8, SESSION_VERSION);
        assert!(refused(&of_page).to_string().contains("sizes that no session has"));
        let short = Segment::unnamed(size_of::<Control>() as u64 - 1);
        assert!(refused(&short).to_string().contains("too small"));
        let least = Segment::unnamed(size_of::<Control>() as u64);
        assert!(matches!(refused(&least), Error::Unfinished { .. }));
    }

    #[test]
    fn plan_that_no_session_has_is_none() {
        let made = made();
        let own = *made.fixed();
        assert!(plan(&own).is_some());
        assert_eq!(plan(&own).unwrap().patterns.len(), (16 << 10) - 1);
        let patterns = |patterns_bytes| plan(&ControlFixed { patterns_bytes, ..own }).is_some();
        assert_eq!([0, 1, (1 << 20) + 1, (1 << 20) + 2].map(patterns), [false, true, true, false]);
        assert!(plan(&ControlFixed { mode: 2, ..own }).is_none());
        assert!(plan(&ControlFixed { plain_count: 0, ..own }).is_none());
    }

    #[test]
    fn memory_is_read_back_whatever_user_and_stream_it_was_given_to() {
        use std::mem::offset_of;
        for at in [offset_of!(ControlFixed, user_id), offset_of!(ControlFixed, stream_id)] {
            let made = made();
            let base = Segment::attach(made.id().unwrap()).unwrap();
            // SAFETY: a word of the control block, in a segment that only this test uses.
            unsafe { base.as_ptr().add(at).cast::<u32>().write(9) };
            assert!(again(&made).is_ok(), "{at}");
        }
    }

    #[test]
    fn changed_description_is_refused_unless_it_is_that_of_memory_of_the_same_size() {
        let made = made();
        let base = Segment::attach(made.id().unwrap()).unwrap();
        let skipped = std::mem::offset_of!(ControlFixed, user_id)..size_of::<ControlFixed>();
        let uuid = 16..32;
        let kind = std::mem::offset_of!(ControlFixed, clock_kind);
        let (mut refused, mut same) = (0, 0);
        for at in (0..skipped.start).step_by(4) {
            // Any identifier and any clock is one; the clock is checked where it is started.
            if uuid.contains(&at) || at == kind {
                continue;
            }
            // SAFETY: a word of the control block, in a segment that only this test uses.
            let word = unsafe { &mut *base.as_ptr().add(at).cast::<u32>() };
            let honest = *word;
            for hostile in [0, 1, honest ^ 1, honest << 1, u32::MAX] {
                if hostile == honest {
                    continue;
                }
                *word = hostile;
                match again(&made) {
                    Err(_) => refused += 1,
                    Ok(memory) => {
                        let (read, own) = (memory.fixed(), made.fixed());
                        assert_eq!(read.memory_bytes, own.memory_bytes, "{hostile} at {at}");
                        assert_eq!(read.data_offset_bytes, own.data_offset_bytes);
                        same += 1;
                    }
                }
            }
            *word = honest;
        }
        assert!(refused > 100 && same < 8, "{refused} refused, {same} not");
        assert!(again(&made).is_ok());
    }
}
