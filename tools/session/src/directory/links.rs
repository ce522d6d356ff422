// SPDX-License-Identifier: MIT
//! The links of a session directory, which name the memory of each user by its key.
//!
//! Place in the flow: the recorder makes them, and processes that become another user's; both read
//! them (`user/segment.c`).

use super::{effective_user, Directory};
use crate::abi::{SESSION_MEMORY_LINK, SESSION_MEMORY_PREFIX};
use crate::error::{Error, Result};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{symlink, MetadataExt};
use std::path::Path;

impl Directory {
    /// Says which segment is, or will be, the memory of the recorder's own user.
    pub fn link_memory(&self, key: i32) -> Result<()> {
        let link = self.path.join(SESSION_MEMORY_LINK);
        let make = || symlink(format!("{SESSION_MEMORY_PREFIX}{key}"), &link);
        let made = make().or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => fs::remove_file(&link).and_then(|()| make()),
            _ => Err(error),
        });
        made.map_err(Error::io("make", &link))
    }

    /// Says which segment is being made for another user, who does not find it by this name.
    pub(crate) fn link_unfinished(&self, user: u32, key: i32) -> Result<()> {
        let link = self.path.join(format!("{SESSION_MEMORY_LINK}-{user}.{key}"));
        symlink(format!("{SESSION_MEMORY_PREFIX}{key}"), &link).map_err(Error::io("make", &link))
    }

    /// Forgets which segment was being made for another user.
    pub(crate) fn unlink_unfinished(&self, user: u32) {
        let prefix = format!("{SESSION_MEMORY_LINK}-{user}.");
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let is_its =
            |entry: &fs::DirEntry| entry.file_name().as_bytes().starts_with(prefix.as_bytes());
        entries.filter(is_its).for_each(|entry| drop(fs::remove_file(entry.path())));
    }

    /// Says which segment is another user's memory. Return: false where the user has some already.
    pub(crate) fn link_user(&self, user: u32, key: i32) -> Result<bool> {
        let link = self.path.join(format!("{SESSION_MEMORY_LINK}-{user}"));
        match symlink(format!("{SESSION_MEMORY_PREFIX}{key}"), &link) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(Error::io("make", &link)(error)),
        }
    }

    /// The memory of every user that takes part.
    pub fn memories(&self) -> Vec<MemoryLink> {
        memories(&self.path)
    }

    /// Keys of memory that processes were making for other users. They may be at it still.
    pub fn unfinished(&self) -> Vec<i32> {
        let is_unfinished = |(name, key): (String, i32)| name.contains('.').then_some(key);
        links(&self.path).filter_map(is_unfinished).collect()
    }
}

/// A link to the memory of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLink {
    /// None for the user who records.
    pub user: Option<u32>,
    /// Of the user's segment.
    pub key: i32,
}

/// The links to memory in a session directory, of every user that has some.
pub fn memories(directory: &Path) -> Vec<MemoryLink> {
    let link = |(user, key): (String, i32)| {
        let user = match user.as_str() {
            "" => None,
            user => Some(user.strip_prefix('-')?.parse().ok()?),
        };
        Some(MemoryLink { user, key })
    };
    links(directory).filter_map(link).collect()
}

/// The links in a session directory that root or we made, each with what its name says behind
/// `memory`, and with its key. What is none is left out.
fn links(directory: &Path) -> impl Iterator<Item = (String, i32)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry: fs::DirEntry| {
        let name = entry.file_name();
        let user = name.to_str()?.strip_prefix(SESSION_MEMORY_LINK)?;
        let owner = fs::symlink_metadata(entry.path()).ok()?.uid();
        let target = fs::read_link(entry.path()).ok()?;
        let key = target.to_str()?.strip_prefix(SESSION_MEMORY_PREFIX)?.parse().ok()?;
        (key > 0 && (owner == 0 || owner == effective_user())).then(|| (user.to_string(), key))
    })
}
