// SPDX-License-Identifier: MIT
//! The memory of a session: what is where in it, and who may have it.

use super::*;

fn plan() -> Plan {
    Plan { patterns: "io:*\nthread:*".into(), ..Plan::small() }
}

fn session() -> Memory {
    let memory = Memory::create(&plan(), |_| Ok(())).unwrap();
    memory.fill_in(&plan());
    memory
}

#[test]
fn memory_has_the_layout_it_says_and_is_active() {
    let memory = session();
    let fixed = memory.fixed();
    assert_eq!(crate::segment::status(memory.id().unwrap()).unwrap().bytes, fixed.memory_bytes);
    // SAFETY: the control block is initialised and nobody else has the segment.
    let bytes = unsafe {
        std::slice::from_raw_parts(memory.backing.as_ptr(), fixed.control_bytes as usize)
    };
    assert_eq!(bytes[..8], SESSION_MAGIC.to_ne_bytes());
    let patterns = fixed.patterns_offset_bytes as usize;
    assert_eq!(&bytes[patterns..patterns + 14], b"io:*\nthread:*\0");
    let plain: Vec<u32> = (0..3).filter(|ring| memory.ring_is_plain(*ring)).collect();
    assert_eq!((memory.ring_count(), plain), (3, vec![2]));
    assert!(memory.is_active());
    memory.set_active(false);
    assert_eq!(memory.live().active.load(Ordering::Relaxed), 0);
}

#[test]
fn system_events_are_in_the_table_under_their_identifiers() {
    let session = session();
    for (id, text) in SYSTEM_EVENTS {
        assert_eq!(session.event_description(id).unwrap(), text.as_bytes());
    }
    assert_eq!(session.event_description(0), None);
    assert_eq!(session.event_description(EVENT_FIRST), None);
    assert_eq!(session.event_description(u32::MAX), None);
}

#[test]
fn entry_that_points_outside_the_arena_is_no_description() {
    let session = session();
    let entry = &session.events()[EVENT_FIRST as usize];
    entry.length_bytes.store(100, Ordering::Relaxed);
    for offset in [session.fixed().arena_bytes - 50, u32::MAX] {
        entry.offset_bytes.store(offset, Ordering::Relaxed);
        assert_eq!(session.event_description(EVENT_FIRST), None);
    }
    entry.offset_bytes.store(session.fixed().arena_bytes - 200, Ordering::Relaxed);
    assert!(session.event_description(EVENT_FIRST).is_some());
}

#[test]
fn memory_is_given_ahead_of_writers_until_all_sub_buffers_in_use_have_it() {
    let plan = Plan { subbuf_size_bytes: 256 << 10, ..plan() };
    let memory = Memory::create(&plan, |_| Ok(())).unwrap();
    let fixed = *memory.fixed();
    let resident = |at: u64| {
        let mut page = [0u8];
        let at = memory.backing.as_ptr().wrapping_add((at & !4095) as usize);
        // SAFETY: one page of the segment, and one byte for it.
        assert_eq!(unsafe { libc::mincore(at.cast(), 4096, page.as_mut_ptr()) }, 0);
        page[0] & 1 == 1
    };
    let last = memory.used_rings.last().unwrap().0;
    let ring = u64::from(last);
    let data = fixed.data_offset_bytes + ring * fixed.data_stride_bytes;
    let (arena, arena_until) =
        (u64::from(fixed.arena_offset_bytes), u64::from(fixed.control_bytes) - 1);
    assert!(resident(data + START_BYTES - 1) && !resident(data + START_BYTES));
    assert!(resident(arena + START_ARENA_BYTES - 1) && !resident(arena_until));
    let table = u64::from(fixed.events_offset_bytes);
    assert!(resident(table + START_TABLE_BYTES - 1) && !resident(arena - 4096));
    assert!(resident(fixed.rings_offset_bytes) && resident(fixed.data_offset_bytes - 1));
    assert!(!memory.populate_ahead().unwrap(), "nothing was written");
    let populate_all = || while memory.populate_ahead().unwrap() {};
    let write = |bytes| {
        let ring = &memory.ring_shared(last).write_count;
        ring.store(bytes, Ordering::Relaxed);
        populate_all();
    };
    write(START_BYTES / 4);
    assert!(!resident(data + START_BYTES), "there is room yet");
    write(START_BYTES / 4 + 1);
    assert!(resident(data + START_BYTES + STEP_BYTES - 1));
    assert!(!resident(data + START_BYTES + STEP_BYTES) && !resident(arena_until));
    memory.live().arena_used_bytes.store(START_ARENA_BYTES as u32, Ordering::Relaxed);
    write(u64::MAX);
    let used_bytes = u64::from(plan.subbuf_count + 1) * plan.subbuf_size_bytes;
    assert!((0..used_bytes).step_by(4096).all(|at| resident(data + at)));
    assert!(!resident(data + used_bytes), "spare sub-buffers wait until they are used");
    assert!(resident(arena_until));
}

#[test]
fn what_lies_at_the_end_of_the_arena_is_a_description_and_what_lies_beyond_is_none() {
    let session = session();
    let arena_bytes = session.fixed().arena_bytes;
    let entry = &session.events()[EVENT_FIRST as usize];
    let described = |offset_bytes: u32, length_bytes: u32| {
        entry.length_bytes.store(length_bytes, Ordering::Relaxed);
        entry.offset_bytes.store(offset_bytes + 1, Ordering::Relaxed);
        session.event_description(EVENT_FIRST).map(|text| text.len())
    };
    let end = session.fixed().arena_offset_bytes as usize + arena_bytes as usize;
    // SAFETY: the last bytes of the arena, which lies in the segment.
    unsafe { session.backing.as_ptr().add(end - 4).copy_from(b"a:bc".as_ptr(), 4) };
    assert_eq!(described(arena_bytes - 4, 4), Some(4));
    assert_eq!(described(arena_bytes - 4, 5), None);
    assert_eq!(described(arena_bytes, 0), Some(0));
    assert_eq!(described(arena_bytes + 1, 0), None);
    assert_eq!(described(arena_bytes - 8, 8), Some(0), "a text ends at its NUL");
}

#[test]
fn event_that_table_or_arena_have_no_room_for_is_not_described() {
    let session = session();
    let used = || session.live().arena_used_bytes.load(Ordering::Relaxed);
    let (before, room) = (used(), session.fixed().arena_bytes - used());
    assert!(!session.publish_event(session.event_capacity(), "a:b"));
    assert!(!session.publish_event(9, &"x".repeat(room as usize + 1)));
    assert_eq!((used(), session.event_description(9)), (before, None));
    assert!(session.publish_event(session.event_capacity() - 1, "a:b"));
    assert_eq!(session.event_description(session.event_capacity() - 1).unwrap(), b"a:b");
    assert_eq!(session.events()[8191].hash.load(Ordering::Relaxed), hash(b"a:b"));
    assert!(session.publish_event(9, &"x".repeat(room as usize - 3)));
    assert_eq!(used(), session.fixed().arena_bytes);
}

#[test]
fn rings_lie_side_by_side_where_the_layout_says() {
    let memory = session();
    let fixed = memory.fixed();
    for ring in 0..memory.ring_count() {
        let from_base = |at: *mut u8| at as u64 - memory.backing.as_ptr() as u64;
        let (index, control) = (u64::from(ring), from_base(memory.ring_control(ring)));
        assert_eq!(control, fixed.rings_offset_bytes + index * fixed.ring_stride_bytes);
        let data = from_base(memory.ring_data(ring));
        assert_eq!(data, fixed.data_offset_bytes + index * fixed.data_stride_bytes);
        assert_eq!(memory.ring_is_plain(ring), ring == 2);
    }
    let beyond = [Memory::ring_control, Memory::ring_data].map(|at| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| at(&memory, 3))).is_err()
    });
    assert_eq!(beyond, [true; 2]);
}

#[test]
fn spare_sub_buffer_is_given_all_of_its_memory_and_no_other() {
    let memory = session();
    let fixed = *memory.fixed();
    let is_resident = |ring: u32, physical: u32| {
        let at = u64::from(physical) * fixed.subbuf_size_bytes;
        let mut page = [0u8];
        let at = memory.ring_data(ring).wrapping_add(at as usize);
        // SAFETY: one page of the segment, and one byte for it.
        assert_eq!(unsafe { libc::mincore(at.cast(), 4096, page.as_mut_ptr()) }, 0);
        page[0] & 1 == 1
    };
    assert!(memory.populate_subbuf(3, 0).is_err());
    assert!(memory.populate_subbuf(0, fixed.physical_count).is_err());
    memory.populate_subbuf(1, 20).unwrap();
    memory.populate_subbuf(2, fixed.physical_count - 1).unwrap();
    let given: Vec<(u32, u32)> = (0..3)
        .flat_map(|ring| (10..fixed.physical_count).map(move |physical| (ring, physical)))
        .filter(|(ring, physical)| is_resident(*ring, *physical))
        .collect();
    assert_eq!(given, [(1, 20), (2, fixed.physical_count - 1)]);
}

#[test]
fn rings_in_use_are_those_of_running_cpus_that_can_be_written_to_and_the_plain_ones() {
    let rings = |plan: Plan| used_rings(&layout(&plan).unwrap());
    let running: Vec<u32> = online_cpus().to_vec();
    let cpu_count = running.last().unwrap() + 1;
    let all = Plan { cpu_count, ..plan() };
    let mut expected = running.clone();
    expected.push(cpu_count);
    assert_eq!(rings(all.clone()), expected);
    let first = running.iter().copied().filter(|cpu| *cpu < 1).chain([1]);
    assert_eq!(rings(Plan { cpu_count: 1, ..all.clone() }), first.collect::<Vec<_>>());
    let without = Plan { cpu_count: 3, rseq: false, ..all.clone() };
    assert_eq!(rings(without), [3, 4, 5]);
    let memory = Memory::create(&all, |_| Ok(())).unwrap();
    assert_eq!(memory.buffer_bytes(), expected.len() as u64 * 2 * 4096);
}

#[test]
fn adopted_memory_is_removed_once_it_is_taken_over() {
    let fixed = layout(&plan()).unwrap();
    let mut key = 0;
    let name = |named| {
        key = named;
        Ok(())
    };
    let made = Segment::create(fixed.memory_bytes, name).unwrap();
    let adopted = || Memory::adopt(fixed, Segment::attach(made.id()).unwrap()).unwrap();
    assert_eq!(adopted().id(), Some(made.id()));
    assert!(crate::segment::find(key).is_ok());
    adopted().take_over();
    assert!(crate::segment::find(key).is_err());
}

#[test]
fn memory_that_is_smaller_than_a_session_needs_is_not_adopted() {
    let fixed = layout(&plan()).unwrap();
    let adopt = |bytes| Memory::adopt(fixed, Segment::unnamed(bytes));
    assert!(adopt(fixed.memory_bytes - 4096).is_err());
    assert!(adopt(fixed.memory_bytes).is_ok() && adopt(fixed.memory_bytes + 4096).is_ok());
}

#[test]
fn rings_that_do_not_fit_are_refused_before_anything_is_written() {
    let huge = Plan {
        cpu_count: 4096,
        rseq: false,
        subbuf_size_bytes: 8 << 20,
        subbuf_count: 1024,
        ..plan()
    };
    let error = Memory::create(&huge, |_| panic!("it is named")).unwrap_err();
    let Error::Memory { needed_bytes, .. } = error else { panic!("{error}") };
    let data_offset_bytes = layout(&huge).unwrap().data_offset_bytes;
    assert_eq!(needed_bytes, 4096 * 1025 * (8 << 20) + data_offset_bytes);
    let error = error.to_string();
    assert!(error.contains("not enough memory"), "{error}");
    assert!(error.contains("--buffer-size"), "{error}");
}
