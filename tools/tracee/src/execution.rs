// SPDX-License-Identifier: MIT
//! Which execution a process is in: what was found of its program does not hold for the next one.
//!
//! Place in the flow: taken when the process is opened, and compared whenever one of its threads
//! has stopped, for only then can it execute nothing. By its number a process cannot be told from
//! what it was before execve(2). Without this, code would be written into the memory of the former
//! program, which after vfork(2) is the parent's, and the thread would be sent there in the new.

use crate::{is_nothing_there, Memory};
use std::io::Read;

const WORD_BYTES: usize = 8;
/// Of the vector that the kernel hands to a program; it has about 20 pairs of words.
const VECTOR_BYTES_MAX: u64 = 4096;
const RANDOM_BYTES: usize = 16;

/// What the kernel gives to each execution: where everything is, and bytes that it drew for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Execution {
    vector: Vec<u8>,
    /// Nothing where a program has unmapped the stack that it began with.
    random: Option<[u8; RANDOM_BYTES]>,
}

impl Execution {
    /// `folder`: where the kernel shows the process or one of its threads. None: it has ended, or
    /// nobody has this memory any more.
    pub(crate) fn read(folder: &str, memory: &Memory) -> Option<Self> {
        let file = std::fs::File::open(format!("{folder}/auxv")).ok()?;
        let mut vector = Vec::new();
        file.take(VECTOR_BYTES_MAX).read_to_end(&mut vector).ok()?;
        let mut random = [0; RANDOM_BYTES];
        let read = memory.read(entry(&vector, libc::AT_RANDOM)?, &mut random);
        let is_memory_gone = read.as_ref().is_err_and(|error| is_nothing_there(error.kind()));
        (!is_memory_gone).then(|| Self { vector, random: read.is_ok().then_some(random) })
    }
}

fn entry(vector: &[u8], kind: u64) -> Option<u64> {
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    let mut pairs = vector.chunks_exact(2 * WORD_BYTES).map(|pair| pair.split_at(WORD_BYTES));
    pairs.find(|(name, _)| word(name) == kind).map(|(_, value)| word(value))
}

/// Whether two processes have one memory, as a child has its parent's from vfork(2) until it
/// executes a program. A kernel that does not tell is taken for a no.
pub(crate) fn is_memory_shared(pid: u32, parent: u32) -> bool {
    const MEMORY: libc::c_int = 1;
    // SAFETY: the call takes numbers only.
    parent != 0 && unsafe { libc::syscall(libc::SYS_kcmp, pid, parent, MEMORY, 0, 0) } == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn execution_is_the_same_while_a_process_lives_and_another_in_its_child() {
        let own = Memory::open(std::process::id()).unwrap();
        let execution = Execution::read("/proc/self", &own).unwrap();
        assert_eq!(Execution::read("/proc/self", &own).unwrap(), execution);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let folder = format!("/proc/{}", child.id());
        // The parent goes on when its memory is given back, which is before the child has its own.
        // Bound: ten seconds.
        let executed = (0..10_000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            let childs = Memory::open(child.id()).ok()?;
            let found = Execution::read(&folder, &childs).filter(|found| *found != execution)?;
            Some((childs, found))
        });
        let (childs, executed) = executed.unwrap();
        assert_eq!(Execution::read(&folder, &childs), Some(executed));
        // The vector of one and the memory of the other.
        assert_ne!(Execution::read(&folder, &own), Execution::read(&folder, &childs));
        assert!(!is_memory_shared(child.id(), std::process::id()));
        assert!(is_memory_shared(std::process::id(), std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Execution::read(&folder, &childs), None);
    }

    #[test]
    fn vector_that_is_cut_or_has_no_such_entry_tells_nothing() {
        let words = |words: &[u64]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_ne_bytes()).collect()
        };
        assert_eq!(entry(&words(&[6, 4096, 25, 77, 0, 0]), libc::AT_RANDOM), Some(77));
        assert_eq!(entry(&words(&[6, 25, 25]), libc::AT_RANDOM), None);
        assert_eq!(entry(&[1; 7], libc::AT_RANDOM), None);
        assert_eq!(entry(&[], libc::AT_RANDOM), None);
    }
}
