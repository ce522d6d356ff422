// SPDX-License-Identifier: MIT
//! The kernel's events, where no module of ours can be loaded: an instance of tracefs of our own.
//!
//! Place in the flow: tracefs -> **kernel** -> packets -> `consumer` writes them beside those of
//! programs. `root` finds tracefs, `instance` makes and removes the instance, `cpu` reads one CPU's
//! pages, `page` finds the events in them; `format` reads what the kernel says of an event's bytes,
//! `decode` turns an event into the payload of a slot, `threads` tells whose it is, and `slots`
//! puts slots into packets. `tracing` does all of this for all CPUs, in the order of time.
//! The kernel's pages are trusted to mean what they say, and parsed as if they were not.
//! Where the module is loaded, `source` and `types` read which places it is asked to watch, and
//! `symbols` names the functions of call stacks.

pub mod cpu;
pub mod decode;
pub mod format;
pub mod instance;
pub mod page;
pub mod root;
pub mod slots;
pub mod source;
pub mod symbols;
pub mod threads;
pub mod tracing;
pub mod types;
pub mod wanted;

pub use root::Root;
pub use slots::Packet;
pub use tracing::{Plan, Scope, Sink, Tracing};
pub use wanted::{of_modules, wanted};

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// More than the files that are not given in parts have.
const FIRST_READ_BYTES: usize = 16 << 10;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "the kernel's events are read through tracefs, which is not mounted; mount it with \
         `mount -t tracefs tracefs /sys/kernel/tracing`"
    )]
    NotMounted,
    #[error(
        "{} may not be used by this user; the kernel's events are recorded by root, or by a user \
         who may write to that directory",
        path.display()
    )]
    NotPermitted { path: PathBuf },
    #[error("{doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{}: {why}", path.display())]
    Format { path: PathBuf, why: &'static str },
    #[error("the kernel's trace clock cannot be `{wanted}`; it offers {offered}")]
    Clock { wanted: &'static str, offered: String },
    #[error("none of the kernel's events could be enabled: {why}")]
    NothingEnabled { why: String },
}

impl Error {
    /// An `io::Error` with what was being done to which path.
    pub(crate) fn io(
        doing: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied => Error::NotPermitted { path },
            _ => Error::Io { doing, path, source },
        }
    }
}

/// The text of a file of tracefs. Some of them give all of it to the first read and nothing after.
pub(crate) fn text(path: &Path) -> Result<String> {
    let read = || {
        let mut file = File::open(path)?;
        let mut text = vec![0; FIRST_READ_BYTES];
        let bytes = file.read(&mut text)?;
        text.truncate(bytes);
        file.read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    read().map_err(Error::io("read", path))
}

pub type Result<T> = std::result::Result<T, Error>;
