// SPDX-License-Identifier: MIT
//! Session directories: where they are made, how they are found again, what is left of
//! those whose recorder was killed.
//!
//! Place in the flow: links in one name the segments of `memory`; `lull status` and the other
//! commands for running sessions find the recorder behind one. A recorder holds a lock on its
//! `recorder` file for as long as it lives, so a directory whose lock is free was left behind by a
//! recorder that was killed.

mod links;
mod path;
mod turn;

pub use links::{memories, MemoryLink};
pub use turn::Turn;

use crate::abi::SESSION_MEMORY_LINK;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

const RECORDER_FILE: &str = "recorder";
/// The recorder's file before it is locked.
const NEW_RECORDER_FILE: &str = "recorder.new";
/// What a recorder says of itself is shorter.
const RECORDER_BYTES_MAX: usize = 64 << 10;
/// A directory younger than this, and without a recorder's file, may be one that is being made.
const LEFT_BEHIND_AGE: Duration = Duration::from_secs(30);
/// What attaching processes can hold, less the longest name of a link.
const PATH_BYTES_MAX: usize = 400;

/// The recorder of a session, as its directory describes it.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Recorder {
    /// Of the session: what people call it by.
    #[serde(default)]
    pub name: String,
    pub pid: u32,
    pub program: String,
    pub program_pid: u32,
    #[serde(with = "path")]
    pub output: PathBuf,
    pub flight_recorder: bool,
    /// Whether it records the kernel's events, too.
    #[serde(default)]
    pub kernel: bool,
}

/// A session directory of this process; removed when dropped, if it is ours.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    inode: u64,
    lock: File,
    /// While a killed recorder's session is read, keeps other processes from reading it too.
    _alone: Option<File>,
    is_removed: AtomicBool,
}

/// Directories that session directories may be made in, best first. Session directories hold a
/// few small files.
pub fn bases() -> Vec<PathBuf> {
    let variables = ["XDG_RUNTIME_DIR", "TMPDIR"].map(std::env::var_os);
    let [runtime, temporary] = variables.map(|value| value.map(PathBuf::from));
    usable([Some("/dev/shm".into()), runtime, temporary, Some("/tmp".into())])
}

/// The directory of a session, for another session's to be made in, if its path is not too long.
pub(crate) fn base_within(directory: &Path) -> Vec<PathBuf> {
    usable([Some(directory.into())])
}

fn usable<const N: usize>(paths: [Option<PathBuf>; N]) -> Vec<PathBuf> {
    let mut bases: Vec<PathBuf> = Vec::new();
    for path in paths.into_iter().flatten().filter(|path| path.is_absolute()) {
        // A colon would split the path in LULL_SESSION.
        let fits =
            path.as_os_str().len() < PATH_BYTES_MAX && !path.as_os_str().as_bytes().contains(&b':');
        if fits && path.is_dir() && !bases.contains(&path) {
            bases.push(path);
        }
    }
    bases
}

fn effective_user() -> u32 {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() }
}

fn prefix() -> String {
    format!("lull-{}-", effective_user())
}

impl Directory {
    /// Makes a directory in `base` that only we can list and change. Processes that stop being
    /// root's must still find their memory in root's.
    pub fn create(base: &Path) -> Result<Self> {
        let template = base.join(format!("{}XXXXXX", prefix()));
        let mut bytes = template.clone().into_os_string().into_vec();
        bytes.push(0);
        // SAFETY: mkdtemp changes the template's last bytes in place; mode 0700 by contract.
        if unsafe { libc::mkdtemp(bytes.as_mut_ptr().cast()) }.is_null() {
            return Err(Error::io("make", template)(io::Error::last_os_error()));
        }
        bytes.pop();
        let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
        if effective_user() == 0 {
            let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o711));
        }
        let file = path.join(RECORDER_FILE);
        let new = path.join(NEW_RECORDER_FILE);
        // It has its name once it is locked: if it is there and free, its recorder was killed.
        let made = create_private(&new).and_then(|lock| {
            lock_exclusive(&lock)?;
            reserve(&lock)?;
            fs::rename(&new, &file)?;
            Ok((lock, fs::symlink_metadata(&path)?.ino()))
        });
        match made {
            Ok((lock, inode)) => {
                Ok(Self { path, inode, lock, _alone: None, is_removed: true.into() })
            }
            Err(source) => {
                let _ = fs::remove_dir_all(&path);
                Err(Error::io("make", file)(source))
            }
        }
    }

    /// Opens a directory whose recorder was killed. No other process can until it is dropped.
    pub fn reopen(path: &Path) -> Result<Self> {
        let refused = |why| Error::Left { path: path.into(), why };
        let flags = libc::O_NOFOLLOW | libc::O_DIRECTORY;
        let open = || OpenOptions::new().read(true).custom_flags(flags).open(path);
        let alone = open().map_err(Error::io("open", path))?;
        lock_exclusive(&alone)
            .map_err(|_| refused("another `lull recover` is at work on it; wait for its end"))?;
        let found = fs::symlink_metadata(path).map_err(Error::io("look at", path))?;
        let locked = alone.metadata().map_err(Error::io("look at", path))?;
        if found.ino() != locked.ino() || !is_own(&locked) {
            return Err(refused("it is no directory that only you can change"));
        }
        let file = path.join(RECORDER_FILE);
        let lock = match open_recorder(path) {
            // Its recorder was killed before it made the file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => create_private(&file),
            other => other,
        };
        let lock = lock.map_err(Error::io("open", file))?;
        // Held shared, so that a process that tries the lock sees that there is no recorder.
        if is_held(&lock) {
            return Err(refused("its recorder is at work"));
        }
        let (path, inode) = (path.to_path_buf(), found.ino());
        Ok(Self { path, inode, lock, _alone: Some(alone), is_removed: false.into() })
    }

    /// From now on the directory is removed when this is dropped.
    pub fn take_over(&self) {
        self.is_removed.store(true, Ordering::Relaxed);
    }

    /// From now on the directory stays when this is dropped.
    pub fn leave(&self) {
        self.is_removed.store(false, Ordering::Relaxed);
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the directory is removed when this is dropped.
    pub(crate) fn is_taken_over(&self) -> bool {
        self.is_removed.load(Ordering::Relaxed)
    }

    /// Writes down which recorder this is.
    pub fn introduce(&self, recorder: &Recorder) -> Result<()> {
        let write = || {
            let text = serde_json::to_vec(recorder)?;
            // In this order, a recorder that is killed in between has written all of its text.
            self.lock.write_all_at(&text, 0)?;
            self.lock.set_len(text.len() as u64)
        };
        write().map_err(Error::io("write", self.path.join(RECORDER_FILE)))
    }

    /// Whether new processes can still find the session: its directory was not removed.
    pub fn reachable(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode)
            && fs::symlink_metadata(self.path.join(SESSION_MEMORY_LINK)).is_ok()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let is_there = || fs::symlink_metadata(&self.path).is_ok_and(|f| f.ino() == self.inode);
        if self.is_taken_over() && is_there() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Creates a file that only this user can open.
/// Takes the place that what `introduce` writes needs, without which this directory is of no use.
fn reserve(file: &File) -> io::Result<()> {
    const INTRODUCTION_BYTES: libc::off_t = 4096;
    // SAFETY: the descriptor is open.
    let failed = unsafe {
        libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, INTRODUCTION_BYTES) != 0
    };
    match io::Error::last_os_error() {
        error if failed && error.raw_os_error() == Some(libc::ENOSPC) => Err(error),
        _ => Ok(()), // or the file system takes no place before it is written to
    }
}

pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

fn lock_exclusive(file: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open for the length of the call.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether a recorder holds its lock. Processes that only try it do not exclude each other.
fn is_held(file: &File) -> bool {
    // SAFETY: the descriptor is open for the length of the call.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) != 0 }
}

/// A session directory that a live recorder of this user holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub path: PathBuf,
    pub recorder: Recorder,
}

/// This user's sessions that are being recorded now.
pub fn running() -> Vec<Found> {
    let mut found: Vec<Found> = own_directories()
        .filter_map(|path| {
            let file = open_recorder(&path).ok()?;
            if !is_held(&file) {
                return None;
            }
            Some(Found { path, recorder: recorder_read(&file)? })
        })
        .collect();
    found.sort_by_key(|found| found.recorder.pid);
    found
}

/// The recorder of a session. It is read again a few times if a recorder is just writing it; one
/// that has written nothing has not introduced itself yet.
fn recorder_read(file: &File) -> Option<Recorder> {
    const ATTEMPTS: u32 = 20;
    let mut text = [0u8; RECORDER_BYTES_MAX];
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let bytes = file.read_at(&mut text, 0).ok().filter(|bytes| *bytes > 0)?;
        if let Ok(recorder) = serde_json::from_slice(&text[..bytes]) {
            return Some(recorder);
        }
    }
    None
}

/// A session directory whose recorder ended without removing it: it was killed, and what programs
/// recorded after its last look is only here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    pub path: PathBuf,
    /// None where the recorder ended before it wrote down which one it is.
    pub recorder: Option<Recorder>,
    /// When the session was made.
    pub made: SystemTime,
}

/// This user's sessions that killed recorders left behind, oldest first. They are never removed
/// here: their events may be in no trace.
pub fn left_behind() -> Vec<LeftBehind> {
    let now = SystemTime::now();
    let mut found: Vec<LeftBehind> = own_directories()
        .filter_map(|path| {
            let made = fs::symlink_metadata(&path).and_then(|found| found.modified()).ok()?;
            let lock = open_recorder(&path).ok();
            let recorder: Option<Recorder> = lock
                .as_ref()
                .and_then(|lock| serde_json::from_reader(io::BufReader::new(lock)).ok());
            let is_left = match &lock {
                Some(lock) => !is_held(lock),
                None => now.duration_since(made).unwrap_or_default() > LEFT_BEHIND_AGE,
            };
            is_left.then_some(LeftBehind { path, recorder, made })
        })
        .collect();
    found.sort_by_key(|found| found.made);
    found
}

/// Whether a session directory of this user has no recorder's file: a recorder is making it, or was
/// killed while it did.
pub fn is_begun(path: &Path) -> bool {
    own_directories().any(|found| found == path)
        && fs::symlink_metadata(path.join(RECORDER_FILE)).is_err()
}

fn open_recorder(directory: &Path) -> io::Result<File> {
    let path = directory.join(RECORDER_FILE);
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Directories with a session's name that belong to this user and to nobody else's eyes.
fn own_directories() -> impl Iterator<Item = PathBuf> {
    let prefix = prefix();
    bases()
        .into_iter()
        .filter_map(|base| fs::read_dir(base).ok())
        .flatten()
        .flatten()
        .filter(move |entry| entry.file_name().as_bytes().starts_with(prefix.as_bytes()))
        .map(|entry| entry.path())
        .filter(move |path| fs::symlink_metadata(path).is_ok_and(|found| is_own(&found)))
}

/// Session directories of this user in another session's.
pub fn within(directory: &Path) -> Vec<PathBuf> {
    let prefix = prefix();
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_named =
        |entry: &fs::DirEntry| entry.file_name().as_bytes().starts_with(prefix.as_bytes());
    let paths = entries.filter(is_named).map(|entry| entry.path());
    paths.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| is_own(&found))).collect()
}

fn is_own(found: &fs::Metadata) -> bool {
    found.is_dir() && found.uid() == effective_user() && found.mode() & 0o66 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn base() -> PathBuf {
        std::env::temp_dir()
    }

    fn recorder() -> Recorder {
        Recorder {
            name: "true".into(),
            pid: std::process::id(),
            program: "true".into(),
            program_pid: 1,
            output: "/tmp/out".into(),
            flight_recorder: false,
            kernel: false,
        }
    }

    #[test]
    fn sessions_are_made_in_directories_whose_paths_a_variable_can_hold() {
        let base = base().join(format!("lull-bases-{}", std::process::id()));
        let [colon, long] = ["a:b".into(), "n".repeat(200) + "/" + &"n".repeat(200)]
            .map(|name| Some(base.join(name)));
        for path in [&colon, &long] {
            fs::create_dir_all(path.as_ref().unwrap()).unwrap();
        }
        let absent = Some(base.join("absent"));
        let found = usable([
            colon,
            Some(base.clone()),
            absent,
            Some("tmp".into()),
            long,
            Some(base.clone()),
        ]);
        fs::remove_dir_all(&base).unwrap();
        assert_eq!(found, [base]);
    }

    #[test]
    fn directory_is_private_is_found_while_it_lives_and_gone_afterwards() {
        let directory = Directory::create(&base()).unwrap();
        directory.introduce(&recorder()).unwrap();
        let path = directory.path().to_path_buf();
        let others_mode = if effective_user() == 0 { 0o11 } else { 0 };
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700 | others_mode);
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("lull-{}-", fs::metadata(&path).unwrap().uid())));
        let found = running().into_iter().find(|found| found.path == path).unwrap();
        assert_eq!(found.recorder, recorder());
        let other = Recorder { program: "a".into(), ..recorder() };
        directory.introduce(&other).unwrap();
        let again = running().into_iter().find(|found| found.path == path).unwrap();
        assert_eq!(again.recorder, other, "a shorter text leaves nothing of the longer one");
        let bytes = std::ffi::OsString::from_vec(b"/tmp/\xff\"".to_vec());
        let odd = Recorder { output: bytes.into(), ..recorder() };
        directory.introduce(&odd).unwrap();
        let again = running().into_iter().find(|found| found.path == path).unwrap();
        assert_eq!(again.recorder, odd, "a path is whole whatever its bytes are");
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn directory_is_left_behind_once_its_recorder_is_gone_and_is_still_there_after_that_was_told() {
        let directory = Directory::create(&base()).unwrap();
        directory.introduce(&recorder()).unwrap();
        let path = directory.path().to_path_buf();
        let left = || left_behind().into_iter().find(|left| left.path == path);
        assert_eq!(left(), None, "its recorder lives");
        let copy = path.with_file_name(format!("{}left{}", prefix(), std::process::id()));
        fs::create_dir(&copy).unwrap();
        fs::set_permissions(&copy, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let left = || left_behind().into_iter().find(|left| left.path == copy);
        assert_eq!(left(), None, "fresh, and its recorder may be about to lock it");
        assert!(is_begun(&copy) && !is_begun(&path));
        File::create(copy.join(RECORDER_FILE)).unwrap();
        assert_eq!(left().unwrap().recorder, None, "killed before it said who it is");
        fs::copy(path.join(RECORDER_FILE), copy.join(RECORDER_FILE)).unwrap();
        for _ in 0..2 {
            assert_eq!(left().unwrap().recorder, Some(recorder()));
        }
        fs::remove_dir_all(&copy).unwrap();
    }

    fn private(name: &str) -> PathBuf {
        let path = base().join(format!("{}{name}-{}", prefix(), std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    #[test]
    fn directory_that_has_had_no_recorder_for_long_is_left_behind_and_the_oldest_comes_first() {
        let paths = ["young", "old", "older"].map(private);
        for (path, age_s) in paths.iter().zip([1, 3600, 7200]) {
            let made = SystemTime::now() - Duration::from_secs(age_s);
            File::open(path).unwrap().set_modified(made).unwrap();
        }
        let mut found: Vec<PathBuf> = left_behind().into_iter().map(|left| left.path).collect();
        found.retain(|path| paths.contains(path));
        paths.iter().for_each(|path| fs::remove_dir(path).unwrap());
        assert_eq!(found, [paths[2].clone(), paths[1].clone()]);
    }

    #[test]
    fn directory_that_others_can_change_or_that_is_reached_by_a_link_is_not_reopened() {
        let path = private("open");
        assert!(Directory::reopen(&path).is_ok());
        for mode in [0o720, 0o702, 0o740, 0o704] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(Directory::reopen(&path).is_err(), "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o711)).unwrap();
        assert!(Directory::reopen(&path).is_ok());
        let link = path.with_extension("link");
        symlink(&path, &link).unwrap();
        assert!(Directory::reopen(&link).is_err());
        assert!(!is_own(&fs::symlink_metadata(&link).unwrap()));
        assert!(!is_own(&fs::metadata(path.join(RECORDER_FILE)).unwrap()), "no directory");
        fs::remove_file(link).unwrap();
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn directory_is_reopened_by_one_process_at_a_time_and_stays_until_it_is_taken_over() {
        let path = private("left");
        let reopened = Directory::reopen(&path).unwrap();
        assert_eq!(reopened.path(), path);
        assert!(Directory::reopen(&path).unwrap_err().to_string().contains("another"));
        let recorder = open_recorder(&path).unwrap();
        assert_eq!(recorder.metadata().unwrap().mode() & 0o777, 0o600);
        assert!(!is_held(&recorder), "no recorder is at work");
        assert!(lock_exclusive(&recorder).is_err(), "and none can begin");
        drop((reopened, recorder));
        assert!(path.exists());
        let again = Directory::reopen(&path).unwrap();
        assert!(!again.is_taken_over());
        again.take_over();
        assert!(again.is_taken_over());
        drop(again);
        assert!(!path.exists());
    }

    #[test]
    fn directory_in_the_place_of_ours_is_not_removed() {
        let directory = Directory::create(&base()).unwrap();
        let (path, moved) = (directory.path().to_path_buf(), private("moved"));
        fs::rename(&path, moved.join("it")).unwrap();
        fs::create_dir(&path).unwrap();
        directory.link_memory(1).unwrap();
        assert!(!directory.reachable());
        drop(directory);
        assert!(path.exists());
        fs::remove_dir_all(path).unwrap();
        fs::remove_dir_all(moved).unwrap();
    }

    /// Only the thread that asks becomes another user.
    #[test]
    fn user_is_the_one_whose_permissions_the_process_has() {
        const OTHER: u32 = 65534;
        let path = private("user");
        let me = fs::metadata(&path).unwrap().uid();
        assert_eq!(effective_user(), me);
        if me == 0 {
            std::os::unix::fs::lchown(&path, Some(OTHER), None).unwrap();
            assert!(!is_own(&fs::metadata(&path).unwrap()));
            for (name, owner) in [("memory-1", OTHER), ("memory-2", me)] {
                symlink("key:5", path.join(name)).unwrap();
                std::os::unix::fs::lchown(path.join(name), Some(owner), None).unwrap();
            }
            assert_eq!(memories(&path), [MemoryLink { user: Some(2), key: 5 }]);
            let become_other = move || {
                let same = -1;
                // SAFETY: no memory is passed.
                unsafe { libc::syscall(libc::SYS_setresuid, same, OTHER, same) };
                (effective_user(), memories(&path).len(), path)
            };
            let (user, count, path) = std::thread::spawn(become_other).join().unwrap();
            assert_eq!((user, count), (OTHER, 2), "root's links and one's own");
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_dir(path).unwrap();
        }
    }

    #[test]
    fn reachable_tells_when_someone_removed_or_replaced_the_directory() {
        let directory = Directory::create(&base()).unwrap();
        let path = directory.path().to_path_buf();
        assert!(!directory.reachable(), "no memory is named yet");
        directory.link_memory(7).unwrap();
        directory.link_memory(8).unwrap();
        symlink("key:9", path.join("memory-1000")).unwrap();
        symlink("key:11", path.join("memory-1000.11")).unwrap();
        symlink("/etc/passwd", path.join("memory-1001")).unwrap();
        symlink("key:10", path.join("memory-")).unwrap();
        symlink("key:0", path.join("memory-1002")).unwrap();
        symlink("key:-1", path.join("memory-1003")).unwrap();
        let mut links = directory.memories();
        links.sort_by_key(|link| link.key);
        let named = |user, key| MemoryLink { user, key };
        assert_eq!(links, [named(None, 8), named(Some(1000), 9)]);
        assert_eq!(directory.unfinished(), [11]);
        assert!(directory.reachable());
        fs::remove_dir_all(&path).unwrap();
        assert!(!directory.reachable());
    }
}
