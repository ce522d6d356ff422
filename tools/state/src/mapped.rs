// SPDX-License-Identifier: MIT
//! Which file, and where in it, an address of a process stands for.
//!
//! Place in the flow: whoever names addresses asks here what was loaded at their time; what is in
//! the file at that place is no matter of the trace's, and others look it up.

use trace::Ns;

use crate::moment::State;
use crate::texts::TextIndex;
use crate::threads::ProcessIndex;

/// A place that was mapped: in the file, or by the addresses that the file itself has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Within {
    /// So many bytes from its begin.
    File(u64),
    /// At this address of the file's own.
    Object(u64),
}

/// What a trace has of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileKey {
    /// Its path.
    pub path: TextIndex,
    /// Its number in its file system, where a dump told it.
    pub inode: Option<u64>,
    /// The bytes of the number of its build; [`TextIndex::NONE`] if it is not known.
    pub build_id: TextIndex,
}

/// Where in which file an address of a process's is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapped {
    /// The file.
    pub file: FileKey,
    /// Where in it.
    pub within: Within,
}

impl Mapped {
    /// What was there at a time. `None`: no file is known there.
    pub fn of(state: &State, process: ProcessIndex, address: u64, at: Ns) -> Option<Self> {
        let (file, within) = match state.maps().at_time(process, address, at) {
            Some(map) => {
                let offset = map.offset_bytes.checked_add(address.checked_sub(map.begin)?)?;
                let (path, inode, build_id) = (map.path, map.inode, TextIndex::NONE);
                (FileKey { path, inode, build_id }, Within::File(offset))
            }
            None => {
                let object = state.maps().object_at(process, address, at)?;
                let (path, inode, build_id) = (object.path, None, object.build_id);
                let within = Within::Object(address.checked_sub(object.base)?);
                (FileKey { path, inode, build_id }, within)
            }
        };
        (file.path != TextIndex::NONE).then_some(Self { file, within })
    }
}
