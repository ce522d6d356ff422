// SPDX-License-Identifier: MIT
//! Opens the files that a trace names.
//!
//! Place in the flow: `programs` asks for the file behind a map. Whoever made the trace chose the
//! path: it may lead to a device, a pipe, or another file than the one that ran.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use state::{FileKey, Texts};
use trace::Ns;

use crate::elf;

/// Largest file that is read.
const BYTES_MAX: u64 = 512 << 20;
/// Bytes that are read for one purpose, of all files together.
pub(crate) const READ_BYTES_MAX: u64 = 8 << 30;
const NS_PER_S: i64 = 1_000_000_000;

/// A path of this length may have been cut by the state.
const PATH_BYTES: usize = 512;

/// A path of a trace, if a file can be looked for there.
pub(crate) fn path(bytes: &[u8]) -> Option<PathBuf> {
    let is_whole = bytes.starts_with(b"/") && bytes.len() < PATH_BYTES;
    String::from_utf8(bytes.to_vec()).ok().filter(|_| is_whole).map(PathBuf::from)
}

/// Why a file's names are not those of what ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Unread {
    Gone,
    NoFile,
    TooLarge,
    Another,
    OtherBuild,
    Changed,
    NoProgram,
    NoRoom,
}

impl Unread {
    pub fn why(self) -> &'static str {
        match self {
            Unread::Gone => "it cannot be opened",
            Unread::NoFile => "it is no regular file",
            Unread::TooLarge => "it is larger than 512 MiB",
            Unread::Another => "it is not the file that ran: its number is another",
            Unread::OtherBuild => "it is another build than the one that ran",
            Unread::Changed => "by its clock it was changed after the event",
            Unread::NoProgram => "it is no ELF file of 64 bits",
            Unread::NoRoom => "the files before it took all the room that there is for names",
        }
    }
}

/// What is known of the file that ran.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'s> {
    /// Its number in its file system.
    pub inode: Option<u64>,
    /// The number that the linker gave its build; empty if it is not known.
    pub build_id: &'s [u8],
    /// When it ran.
    pub at: Ns,
}

impl<'s> Expected<'s> {
    /// What a file has to be like that a trace knows.
    pub fn of(texts: &'s Texts, key: &FileKey, at: Ns) -> Self {
        Self { inode: key.inode, build_id: texts.bytes(key.build_id), at }
    }
}

/// The bytes of the file at a path, if it can be the one that is expected.
pub(crate) fn read(path: &Path, expected: Option<Expected<'_>>) -> Result<Vec<u8>, Unread> {
    // Opening does not wait for the other side of a pipe, and makes no terminal this process's.
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC);
    // A device may act when it is opened: look first, and again at what was opened.
    let is_file = |about: &std::fs::Metadata| about.is_file().then_some(()).ok_or(Unread::NoFile);
    is_file(&std::fs::metadata(path).map_err(|_| Unread::Gone)?)?;
    let file = options.open(path).map_err(|_| Unread::Gone)?;
    let about = file.metadata().map_err(|_| Unread::Gone)?;
    is_file(&about)?;
    if let Some(expected) = expected {
        if expected.inode.is_some_and(|inode| inode != about.ino()) {
            return Err(Unread::Another);
        }
        // A file of the same build has the same functions, whenever it came here.
        let changed_ns = about.ctime().saturating_mul(NS_PER_S).saturating_add(about.ctime_nsec());
        if expected.build_id.is_empty() && changed_ns > expected.at.0 {
            return Err(Unread::Changed);
        }
    }
    if about.len() > BYTES_MAX {
        return Err(Unread::TooLarge);
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).map_err(|_| Unread::Gone)?;
    let is_other = |build_id: &[u8]| {
        !build_id.is_empty() && elf::build_id(&bytes).as_deref() != Some(build_id)
    };
    match expected.is_some_and(|expected| is_other(expected.build_id)) {
        true => Err(Unread::OtherBuild),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_that_ran_is_read_and_nothing_that_is_no_file_is_opened() {
        let path = std::env::current_exe().unwrap();
        let about = std::fs::metadata(&path).unwrap();
        let changed_ns = about.ctime() * NS_PER_S + about.ctime_nsec();
        let expected = |inode, at| Some(Expected { inode, build_id: &[], at: Ns(at) });
        let read = |expected| super::read(&path, expected).map(|bytes| bytes.len() as u64);
        assert_eq!(read(expected(Some(about.ino()), changed_ns)), Ok(about.len()));
        assert_eq!(read(expected(None, changed_ns)), Ok(about.len()));
        assert_eq!(read(expected(Some(about.ino() + 1), changed_ns)), Err(Unread::Another));
        assert_eq!(read(expected(None, changed_ns - 1)), Err(Unread::Changed));
        let own = elf::build_id(&std::fs::read(&path).unwrap()).unwrap();
        let of_build = |build_id| Some(Expected { inode: None, build_id, at: Ns(0) });
        assert_eq!(read(of_build(&own)), Ok(about.len()), "changed later, and the same build");
        assert_eq!(read(of_build(&own[1..])), Err(Unread::OtherBuild));
        for (path, why) in
            [("/", Unread::NoFile), ("/dev/null", Unread::NoFile), ("/none", Unread::Gone)]
        {
            assert_eq!(super::read(Path::new(path), None), Err(why), "{path}");
        }
    }
}
