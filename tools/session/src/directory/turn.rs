// SPDX-License-Identifier: MIT
//! The turn of a recorder: one of a user's at a time looks which names are taken, and takes one.
//!
//! Place in the flow: a recorder waits for its turn when its session is made, and gives it on when
//! it has introduced itself. The turn is a lock on a file that only the user can open, where the
//! user's sessions are; it ends with its process. A process that is stopped in its turn keeps
//! nobody from recording: the others go on without one after a while, and may then take one name.

use super::{bases, effective_user, lock_exclusive};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for others; one turn takes about a millisecond.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);

/// Ends when it is dropped.
#[derive(Debug)]
pub struct Turn {
    path: PathBuf,
    _lock: File,
}

impl Turn {
    /// Waits for the turn. Return: None where there is no place for its file, or it does not come.
    pub fn wait() -> Option<Self> {
        Self::wait_in(&bases(), PATIENCE)
    }

    fn wait_in(bases: &[PathBuf], patience: Duration) -> Option<Self> {
        let until = Instant::now() + patience;
        for base in bases {
            let path = base.join(format!("lull-{}.turn", effective_user()));
            // Bound: the patience. In a place where the file cannot be ours, no recorder of ours
            // has its turn.
            while let Ok(taken) = take(&path) {
                if let Some(lock) = taken {
                    return Some(Self { path, _lock: lock });
                }
                if Instant::now() >= until {
                    return None;
                }
                std::thread::sleep(PAUSE);
            }
        }
        None
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // While it is locked: whoever opened it before sees that it is gone.
        let _ = fs::remove_file(&self.path);
    }
}

/// Return: None while another has the turn.
fn take(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let made = file.metadata()?;
    if !made.is_file() || made.uid() != effective_user() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    match lock_exclusive(&file) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        other => other?,
    }
    let is_there = fs::symlink_metadata(path).is_ok_and(|found| found.ino() == made.ino());
    Ok(is_there.then_some(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn bases(name: &str) -> [PathBuf; 1] {
        let base = std::env::temp_dir().join(format!("lull-turn-{name}-{}", std::process::id()));
        fs::create_dir(&base).unwrap();
        [base]
    }

    #[test]
    fn one_has_the_turn_at_a_time_and_all_get_it() {
        let bases = bases("all");
        let (inside, done) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let turn = Turn::wait_in(&bases, Duration::from_secs(60)).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::sleep(PAUSE);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(turn);
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(done.into_inner(), 8);
        assert_eq!(fs::read_dir(&bases[0]).unwrap().count(), 0, "nothing is left");
        fs::remove_dir(&bases[0]).unwrap();
    }

    #[test]
    fn turn_that_does_not_come_and_a_file_that_is_not_ours_keep_nobody() {
        let bases = bases("none");
        let turn = Turn::wait_in(&bases, Duration::ZERO);
        assert!(turn.is_some() && Turn::wait_in(&bases, Duration::ZERO).is_none());
        drop(turn);
        let path = bases[0].join(format!("lull-{}.turn", effective_user()));
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(Turn::wait_in(&bases, PATIENCE).is_none() && !bases[0].join("elsewhere").exists());
        fs::remove_dir_all(&bases[0]).unwrap();
    }
}
