// SPDX-License-Identifier: MIT
//! The folder of indexes in the user's cache, which does not grow without end.
//!
//! Place in the flow: `folder` takes indexes from here and puts them here. With each, those that
//! nobody has used for long go, then the ones that were used longest ago, until the rest is small
//! enough. Nothing is taken from a folder that another user could write to; links are not followed.
//! Commands may sweep at the same time, also while others put indexes here: an index is renamed
//! before it is removed, so that one command has it, and that command sees which one it has.

use std::fs::{self, DirBuilder, DirEntry, File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use trace::check_own;

use crate::folder::{remove_if_left, SUFFIX, UNFINISHED};

/// What is looked at in a folder.
const MOST_ENTRIES: usize = 1 << 16;
/// The digits of an index's number.
const DIGITS: usize = 16;

/// What may stay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    /// Since an index was used last.
    pub age: Duration,
    /// Of all indexes together.
    pub bytes: u64,
}

pub(crate) const BOUND: Bound = Bound { age: Duration::from_secs(30 * 24 * 3600), bytes: 2 << 30 };

/// The folder, as the XDG specification has it.
pub(crate) fn folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("lull"))
}

/// The folder, made if it is not there.
pub(crate) fn make(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    check_own(folder)
}

/// An index that is there and that nobody else can have written; it is used now.
pub(crate) fn open(path: &Path) -> Option<File> {
    check_own(path.parent()?).ok()?;
    // Only the user can put anything else in its place between these two.
    let about = own_file(path)?;
    let file = File::open(path).ok()?;
    let opened = file.metadata().ok().filter(|opened| is_same(opened, &about))?;
    // Where that does not work, the index is forgotten earlier than others.
    let _ = opened.is_file().then(|| file.set_modified(SystemTime::now()));
    Some(file)
}

/// A plain file of the user's that nobody else can write to; not one that a link leads to.
fn own_file(path: &Path) -> Option<Metadata> {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let about = fs::symlink_metadata(path).ok()?;
    let is_own = about.uid() == fs::metadata("/proc/self").ok()?.uid();
    let is_safe = about.is_file() && is_own && about.mode() & WRITABLE_BY_OTHERS == 0;
    is_safe.then_some(about)
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Removes what a bound does not let stay, but for the index that is in use. What cannot be removed
/// stays: nothing depends on it.
pub(crate) fn sweep(in_use: &Path, bound: Bound) {
    let Some(folder) = in_use.parent().filter(|folder| check_own(folder).is_ok()) else { return };
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut indexes: Vec<(SystemTime, PathBuf, Metadata)> = Vec::new();
    for entry in entries.flatten().take(MOST_ENTRIES) {
        remove_if_left(&entry);
        let Some(about) = index(&entry) else { continue };
        let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        indexes.push((used, entry.path(), about));
    }
    indexes.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    let mut bytes = indexes.iter().fold(0_u64, |sum, (.., about)| sum.saturating_add(about.len()));
    let now = SystemTime::now();
    for (used, path, about) in indexes.iter().filter(|(_, path, _)| path != in_use) {
        // A time to come is one of a clock that was wrong.
        let age = now.duration_since(*used).unwrap_or(Duration::ZERO);
        if age > bound.age || bytes > bound.bytes {
            bytes = bytes.saturating_sub(about.len());
            let _ = remove(path, about);
        }
    }
}

/// What an entry is if it is an index.
fn index(entry: &DirEntry) -> Option<Metadata> {
    let name = entry.file_name();
    let number = name.to_str()?.strip_suffix(SUFFIX)?.strip_suffix('.')?;
    let is_number = number.len() == DIGITS && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| own_file(&entry.path())).flatten()
}

/// Removes an index, if it is still the one that was looked at.
fn remove(path: &Path, about: &Metadata) -> std::io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_os_string();
    // Were this process killed now, the next sweep would take it for a builder's.
    name.push(format!(".{}-{number}.gone.{UNFINISHED}", std::process::id()));
    let gone = PathBuf::from(name);
    fs::rename(path, &gone)?;
    if !fs::symlink_metadata(&gone).is_ok_and(|found| is_same(&found, about)) {
        // Another command has just put it there. It goes back, unless there is one already.
        match fs::hard_link(&gone, path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    fs::remove_file(&gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};
    use testkit::TraceFolder;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn scratch() -> TraceFolder {
        let folder = TraceFolder::new("", &[]).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }

    /// Makes an index of so many bytes, used so many days ago.
    fn made(folder: &TraceFolder, number: u64, bytes: u64, days: u32) -> PathBuf {
        let path = folder.path().join(format!("{number:016x}.{SUFFIX}"));
        let file = File::create_new(&path).unwrap();
        file.set_len(bytes).unwrap();
        file.set_modified(SystemTime::now() - DAY * days).unwrap();
        path
    }

    #[test]
    fn old_indexes_go_and_then_the_oldest_until_the_rest_is_small_enough() {
        let folder = scratch();
        let days = [(1, 40), (2, 3), (3, 2), (4, 1), (5, 50), (6, 4)];
        let made = days.map(|(number, days)| made(&folder, number, 100, days));
        let bound = |bytes| Bound { age: 30 * DAY, bytes };
        let there = || made.each_ref().map(|path| path.exists());
        // 5 is in use, whatever its age.
        sweep(&made[4], bound(500));
        assert_eq!(there(), [false, true, true, true, true, true]);
        sweep(&made[4], bound(499));
        assert_eq!(there(), [false, true, true, true, true, false]);
        sweep(&made[4], bound(299));
        assert_eq!(there(), [false, false, false, true, true, false]);
        sweep(&made[4], bound(0));
        assert_eq!(there(), [false, false, false, false, true, false]);
    }

    #[test]
    fn only_indexes_are_swept_and_links_are_not_followed() {
        let (folder, elsewhere) = (scratch(), scratch());
        let target = made(&elsewhere, 9, 100, 90);
        let in_use = made(&folder, 1, 100, 0);
        let name = |number: u64| folder.path().join(format!("{number:016x}.{SUFFIX}"));
        symlink(&target, name(2)).unwrap();
        fs::create_dir(name(3)).unwrap();
        let kept: Vec<PathBuf> = ["notes", "x.lull.history", "000000000000000g.lull.history"]
            .map(|name| folder.path().join(name))
            .to_vec();
        kept.iter().for_each(|path| fs::write(path, b"1").unwrap());
        sweep(&in_use, Bound { age: Duration::ZERO, bytes: 0 });
        assert!(target.exists() && name(2).is_symlink() && name(3).is_dir() && in_use.exists());
        assert!(kept.iter().all(|path| path.exists()));
        assert!(open(&name(2)).is_none() && open(&name(3)).is_none() && open(&in_use).is_some());
    }

    #[test]
    fn nothing_is_taken_or_removed_where_others_can_write() {
        let folder = scratch();
        let (one, other) = (made(&folder, 1, 100, 0), made(&folder, 2, 100, 90));
        fs::set_permissions(&one, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(open(&one).is_none() && open(&other).is_some());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(open(&other).is_none() && make(folder.path()).is_err());
        sweep(&one, Bound { age: Duration::ZERO, bytes: 0 });
        assert!(other.exists());
    }

    #[test]
    fn use_makes_an_index_young() {
        let folder = scratch();
        let path = made(&folder, 1, 100, 90);
        open(&path).unwrap();
        sweep(&folder.path().join("other"), Bound { age: 30 * DAY, bytes: 100 });
        assert!(path.exists());
    }

    #[test]
    fn index_that_was_put_there_meanwhile_stays() {
        let folder = scratch();
        let path = made(&folder, 1, 100, 90);
        let looked_at = fs::symlink_metadata(&path).unwrap();
        let newer = folder.path().join("newer");
        fs::write(&newer, b"new").unwrap();
        fs::rename(&newer, &path).unwrap();
        remove(&path, &looked_at).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "with the trace's metadata");
    }

    #[test]
    fn sweeps_at_the_same_time_leave_what_may_stay() {
        let folder = scratch();
        let paths: Vec<PathBuf> = (0..40).map(|i| made(&folder, i, 100, i as u32)).collect();
        let bound = Bound { age: 30 * DAY, bytes: 1000 };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| sweep(&paths[0], bound));
            }
        });
        let there = paths.iter().take_while(|path| path.exists()).count();
        assert!(there == 10 && paths[there..].iter().all(|path| !path.exists()));
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, there + 1, "with the trace's metadata");
    }
}
