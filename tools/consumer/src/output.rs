// SPDX-License-Identifier: MIT
//! The trace directory: made before the program starts, readable at every moment after.
//!
//! Place in the flow: `consumer` makes one for a recording and one for each snapshot. Metadata
//! is replaced in one step, so a recorder that is killed leaves a trace that readers open. A
//! small reserve of disk space is given back at the end, so that a full disk still takes the
//! last metadata with the verdict in it.

use crate::events::Events;
use crate::metadata::{metadata, Environment, Facts};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const METADATA_FILE: &str = "metadata";
const METADATA_NEW_FILE: &str = ".metadata.new";
const RESERVE_FILE: &str = ".reserve";
const RESERVE_BYTES: i64 = 512 << 10;
/// What a metadata file of ours begins its environment with.
const OUR_MARK: &str = "tracer_name = \"lull\"";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}; choose another directory with -o", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{} exists and is not empty; choose another directory with -o, or remove it",
        path.display()
    )]
    Foreign { path: PathBuf },
    #[error(
        "{} holds an older trace; give --overwrite to replace it, or choose another directory \
         with -o",
        path.display()
    )]
    Older { path: PathBuf },
}

/// What to do when the directory holds an older trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Older {
    /// An error.
    Refuse,
    /// Remove it.
    Replace,
    /// Keep it under the same name with `.old` behind, in the place of the one before.
    SetAside,
}

#[derive(Debug)]
pub struct Output {
    path: PathBuf,
}

/// What is at a path where a trace is to go.
#[derive(Debug, PartialEq, Eq)]
enum Occupant {
    Nothing,
    OurTrace,
    Other,
}

fn occupant(path: &Path) -> io::Result<Occupant> {
    let mut entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Occupant::Nothing),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Occupant::Other),
        other => other?,
    };
    if entries.next().is_none() {
        return Ok(Occupant::Nothing);
    }
    let ours =
        fs::read_to_string(path.join(METADATA_FILE)).is_ok_and(|text| text.contains(OUR_MARK));
    let snapshots = path.join("snapshot-1").join(METADATA_FILE);
    let ours = ours || fs::read_to_string(snapshots).is_ok_and(|text| text.contains(OUR_MARK));
    Ok(if ours { Occupant::OurTrace } else { Occupant::Other })
}

impl Output {
    /// Makes the directory and checks that files can be made in it.
    pub fn create(path: &Path, older: Older) -> Result<Self, Error> {
        let fail = |source| Error::Io { path: path.to_path_buf(), source };
        let path_buf = path.to_path_buf();
        match (occupant(path).map_err(fail)?, older) {
            (Occupant::Nothing, _) => {}
            (Occupant::Other, _) => return Err(Error::Foreign { path: path_buf }),
            (Occupant::OurTrace, Older::Refuse) => return Err(Error::Older { path: path_buf }),
            (Occupant::OurTrace, Older::Replace) => fs::remove_dir_all(path).map_err(fail)?,
            (Occupant::OurTrace, Older::SetAside) => set_aside(path).map_err(fail)?,
        }
        fs::create_dir_all(path).map_err(fail)?;
        let path = fs::canonicalize(path).map_err(fail)?;
        let output = Self { path };
        output.reserve().map_err(fail)?;
        Ok(output)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes disk space that [`Output::finish`] gives back.
    fn reserve(&self) -> io::Result<()> {
        let file = File::create(self.path.join(RESERVE_FILE))?;
        // SAFETY: the descriptor is open for the length of the call.
        let rc = unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, RESERVE_BYTES) };
        if rc != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() == Some(libc::ENOSPC) {
                let _ = fs::remove_file(self.path.join(RESERVE_FILE));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Replaces the metadata in one step.
    pub fn write_metadata(&self, text: &str) -> io::Result<()> {
        let new = self.path.join(METADATA_NEW_FILE);
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&new, self.path.join(METADATA_FILE))
        };
        let result = write();
        if result.is_err() {
            let _ = fs::remove_file(&new);
        }
        result
    }

    /// Gives the reserve back.
    pub fn release(&self) {
        let _ = fs::remove_file(self.path.join(RESERVE_FILE));
    }

    /// Writes the last metadata, into the reserve if there is no other space.
    pub fn finish(&self, text: &str) -> io::Result<()> {
        self.release();
        self.write_metadata(text)
    }
}

/// A trace being written: its directory and what its metadata says.
#[derive(Debug)]
pub struct Trace {
    pub output: Output,
    pub facts: Facts,
    /// The generation of events that the metadata on disk describes.
    described: Option<u64>,
    pub last_error: Option<String>,
}

impl Trace {
    /// Writes the first metadata.
    pub fn start(output: Output, facts: Facts, events: &[&Events]) -> Result<Self, Error> {
        let mut trace = Self { output, facts, described: None, last_error: None };
        trace
            .write(events)
            .map_err(|source| Error::Io { path: trace.output.path.join(METADATA_FILE), source })?;
        Ok(trace)
    }

    /// Brings the metadata up to date before a packet with new events is written.
    pub fn describe(&mut self, events: &[&Events]) {
        if self.described != Some(generation(events)) {
            if let Err(error) = self.write(events) {
                self.last_error = Some(error.to_string());
            }
        }
    }

    fn write(&mut self, events: &[&Events]) -> io::Result<()> {
        self.output.write_metadata(&metadata(&self.facts, events))?;
        self.described = Some(generation(events));
        Ok(())
    }

    /// Writes the last metadata, with what the verdict adds to the environment.
    pub fn finish(&mut self, events: &[&Events], verdict: Environment) -> io::Result<()> {
        let mut facts = self.facts.clone();
        facts.environment.retain(|(name, _)| !verdict.iter().any(|(other, _)| other == name));
        facts.environment.extend(verdict);
        self.output.finish(&metadata(&facts, events))
    }
}

/// Changes whenever an event is met for the first time, or a user.
fn generation(events: &[&Events]) -> u64 {
    events.len() as u64 + events.iter().map(|events| events.generation).sum::<u64>()
}

fn set_aside(path: &Path) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".old");
    let old = path.with_file_name(name);
    match occupant(&old)? {
        Occupant::Nothing => {
            let _ = fs::remove_dir(&old);
        }
        Occupant::OurTrace => fs::remove_dir_all(&old)?,
        Occupant::Other => return Err(io::ErrorKind::AlreadyExists.into()),
    }
    fs::rename(path, &old)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lull-output-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    fn trace_at(path: &Path) {
        let output = Output::create(path, Older::Refuse).unwrap();
        output.finish(OUR_MARK).unwrap();
    }

    #[test]
    fn metadata_is_replaced_and_nothing_else_is_left() {
        let path = place("replace");
        let output = Output::create(&path, Older::Refuse).unwrap();
        output.write_metadata("one").unwrap();
        output.finish("two").unwrap();
        let names: Vec<_> = fs::read_dir(&path).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["metadata"]);
        assert_eq!(fs::read_to_string(path.join("metadata")).unwrap(), "two");
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn directory_of_someone_else_is_never_touched() {
        let path = place("foreign");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("thesis.txt"), "work of years").unwrap();
        for older in [Older::Refuse, Older::Replace, Older::SetAside] {
            let error = Output::create(&path, older).unwrap_err();
            assert!(matches!(error, Error::Foreign { .. }), "{error}");
        }
        assert!(path.join("thesis.txt").exists());
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn older_trace_is_refused_replaced_or_set_aside_as_asked() {
        let path = place("older");
        let old = place("older.old");
        let old =
            old.with_file_name(format!("{}.old", path.file_name().unwrap().to_str().unwrap()));
        trace_at(&path);
        fs::write(path.join("stream-cpu0"), "").unwrap();
        assert!(matches!(Output::create(&path, Older::Refuse), Err(Error::Older { .. })));
        Output::create(&path, Older::SetAside).unwrap().finish(OUR_MARK).unwrap();
        assert!(old.join("stream-cpu0").exists() && !path.join("stream-cpu0").exists());
        Output::create(&path, Older::SetAside).unwrap().finish(OUR_MARK).unwrap();
        assert!(!old.join("stream-cpu0").exists());
        Output::create(&path, Older::Replace).unwrap();
        fs::remove_dir_all(&path).unwrap();
        fs::remove_dir_all(&old).unwrap();
    }

    #[test]
    fn place_where_no_directory_can_be_made_says_so_at_once() {
        let error = Output::create(Path::new("/proc/lull"), Older::Refuse).unwrap_err();
        assert!(error.to_string().contains("-o"), "{error}");
    }
}
