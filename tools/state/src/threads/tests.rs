// SPDX-License-Identifier: MIT
//! What is known of threads and processes, without events.

use super::*;
use crate::texts::Texts;

fn key(pid: i64, tid: i64) -> ThreadKey {
    ThreadKey::Named { host: 0, pid, tid }
}

#[test]
fn threads_have_their_latest_name_and_processes_that_of_their_first_thread() {
    let mut threads = Threads::new(9);
    let other = threads.index(key(10, 11), Some(ShortName::new(b"worker-with-a-long-name")));
    let main = threads.index(key(10, 10), Some(ShortName::new(b"sh\0")));
    assert_eq!(threads.index(key(10, 10), Some(ShortName::new(b"sort"))), main);
    assert_eq!(threads.label(main), "sort[10]");
    assert_eq!(threads.label(other), "worker-with-a-lo[11]");
    assert_eq!(threads.process_of(other), threads.process_of(main));
    let process = threads.process_of(main);
    let mut texts = Texts::new(9);
    assert_eq!(threads.process_label(process, &texts), "sort[10]");
    threads.started(process, 1, texts.index(b"/bin/cat"), TextIndex::NONE);
    assert_eq!(threads.process_label(process, &texts), "cat[10]");
}

#[test]
fn name_that_another_thread_gives_lasts_until_the_thread_takes_a_new_one() {
    let mut threads = Threads::new(9);
    let program = |threads: &mut Threads, tid, name: &[u8]| {
        threads.index(key(10, tid), Some(ShortName::new(name)))
    };
    let main = program(&mut threads, 10, b"server");
    let worker = program(&mut threads, 11, b"server");
    threads.has_handle(worker, 0x7f00);
    threads.renamed(main, 0x7f00, b"pool-1");
    program(&mut threads, 11, b"server");
    assert_eq!(threads.label(worker), "pool-1[11]");
    threads.renamed(main, 0x7e00, b"a-name-longer-than-15");
    assert_eq!(
        (threads.label(main), threads.label(worker)),
        ("server[10]".into(), "pool-1[11]".into())
    );
    let late = program(&mut threads, 12, b"server");
    threads.has_handle(late, 0x7e00);
    assert_eq!(threads.label(late), "a-name-longer-t[12]");
    program(&mut threads, 11, b"own-name");
    assert_eq!(threads.label(worker), "own-name[11]");
}

#[test]
fn what_wait_told_overrides_what_the_process_said() {
    let mut threads = Threads::new(9);
    let thread = threads.index(key(1, 1), None);
    let process = threads.process_of(thread);
    threads.exited(process, 256 + 3);
    let exit = |threads: &Threads| threads.processes()[process.0 as usize].exit;
    assert_eq!(exit(&threads), Some(Exit::Code(3)));
    threads.waited_for(process, 0x137f); // stopped: not an end
    assert_eq!(exit(&threads), Some(Exit::Code(3)));
    threads.waited_for(process, 0x8b); // SIGSEGV, core dumped
    assert_eq!(exit(&threads), Some(Exit::Signal(11)));
    assert!(threads.is_over(thread));
}

#[test]
fn success_that_a_parent_tells_does_not_hide_a_failure_that_the_process_told() {
    let mut threads = Threads::new(9);
    let thread = threads.index(key(1, 1), None);
    let process = threads.process_of(thread);
    threads.exited(process, 3);
    assert!(threads.waited_for(process, 0), "it is over all the same");
    let exit = |threads: &Threads| threads.processes()[process.0 as usize].exit;
    assert_eq!(exit(&threads), Some(Exit::Code(3)));
    // Another process has the number: what the one before told is not its.
    threads.forked(process, ProcessIndex::OTHERS, 7);
    assert_eq!(exit(&threads), None);
    threads.waited_for(process, 0);
    assert_eq!(exit(&threads), Some(Exit::Code(0)));
}

#[test]
fn threads_past_the_limit_have_one_number() {
    let mut threads = Threads::new(1);
    let indices = [1, 2, 3].map(|tid| threads.index(key(1, tid), None));
    assert_eq!(indices, [ThreadIndex(1), ThreadIndex::OTHERS, ThreadIndex::OTHERS]);
    assert_eq!(threads.label(ThreadIndex::OTHERS), "(others)");
    assert_eq!(threads.threads().len(), 2);
}
