// SPDX-License-Identifier: MIT
//! Whether a process has loaded the libraries that it starts with.
//!
//! Place in the flow: before it is looked for what they offer. A process that has just executed a
//! program has its libraries one after the other: without the C library it looks like one of
//! another kind, and its allocator may be the last to come.

use crate::load::is_linker;
use crate::maps::Mapping;
use crate::{symbols, Memory, Tracee};

/// What the dynamic linker tells debuggers of itself (`struct r_debug`, link.h): the list of what
/// it has loaded, and whether it is about to change that.
const TOLD: &str = "_r_debug";
const LIST_AT: u64 = 8;
const STATE_AT: u64 = 24;
const CONSISTENT: u32 = 0;

/// Whether the kernel or the dynamic linker is about to map an object, by what is mapped.
pub(crate) fn is_loading(tracee: &Tracee, mappings: &[Mapping]) -> bool {
    let memory = tracee.memory();
    match symbols::find(tracee, mappings, is_linker) {
        Some(linker) => linker.variable(memory, TOLD).is_some_and(|at| is_changing(memory, at)),
        None => is_linker_awaited(memory, mappings),
    }
}

fn is_changing(memory: &Memory, told: u64) -> bool {
    let list = memory.read_word(told.wrapping_add(LIST_AT));
    let state = memory.read_u32(told.wrapping_add(STATE_AT));
    !matches!((list, state), (Ok(1..), Ok(CONSISTENT)))
}

/// During execve(2): nothing is mapped, or a program alone that cannot be so.
fn is_linker_awaited(memory: &Memory, mappings: &[Mapping]) -> bool {
    let mut objects = mappings.iter().filter(|one| one.offset == 0 && one.inode != 0);
    match (objects.next(), objects.next()) {
        (None, _) => true,
        (Some(program), None) => symbols::names_linker(memory, program),
        (Some(_), Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linker_that_has_no_list_or_changes_it_is_loading() {
        let own = Memory::open(std::process::id()).unwrap();
        let told = |list: u64, state: u32| {
            let told = [1, list, 0, u64::from(state), 0];
            is_changing(&own, told.as_ptr() as u64)
        };
        assert!(!told(0x1000, CONSISTENT));
        assert!(told(0, CONSISTENT), "it has not begun");
        assert!(told(0x1000, 1), "it adds an object");
        assert!(told(0x1000, 2), "it removes one");
        assert!(is_changing(&own, 8), "nothing is mapped there");
    }

    #[test]
    fn program_by_itself_awaits_the_linker_that_it_names() {
        let pid = std::process::id();
        let (own, mappings) = (Memory::open(pid).unwrap(), crate::maps::read(pid).unwrap());
        let program = std::fs::read_link("/proc/self/exe").unwrap();
        let is_program = |one: &&Mapping| *one.path == *program.to_string_lossy();
        let program: Vec<Mapping> = mappings.iter().filter(is_program).cloned().collect();
        assert!(is_linker_awaited(&own, &program));
        assert!(is_linker_awaited(&own, &[]));
        let library = mappings.iter().filter(|one| one.file_name() == "libgcc_s.so.1");
        assert!(!is_linker_awaited(&own, &library.cloned().collect::<Vec<_>>()));
        assert!(!is_linker_awaited(&own, &mappings));
    }
}
