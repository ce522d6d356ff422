// SPDX-License-Identifier: MIT
//! Where an answer goes: a file has its name, and takes the place of an older one, when all of it
//! is written. What a signal ends leaves no file; what is killed leaves one with a name of its own.

use std::cell::RefCell;
use std::fs::{File, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use interrupt::Unfinished;
use query::Failure;
use tempfile::TempPath;

const BUFFER_BYTES: usize = 256 << 10;
/// A trace is its owner's, and so is what it answers.
const PERMISSIONS: u32 = 0o600;

/// A file, or standard output.
pub struct Destination<'a> {
    path: Option<&'a Path>,
    /// The file as long as it is not whole.
    unfinished: RefCell<Option<(TempPath, Unfinished)>>,
}

impl<'a> Destination<'a> {
    pub fn new(path: Option<&'a Path>) -> Self {
        Self { path, unfinished: RefCell::default() }
    }

    pub fn is_file(&self) -> bool {
        self.path.is_some()
    }

    /// What to write to.
    pub fn open(&self) -> Result<Box<dyn Write + Send>, Failure> {
        let Some(path) = self.path else { return Ok(buffered(std::io::stdout())) };
        let failed = |error| Failure::Other(format!("{}: {error}", path.display()));
        // A device or a pipe is written to as it is.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Ok(buffered(File::options().write(true).open(path).map_err(failed)?));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let begun: std::io::Result<_> = Unfinished::begin(|| {
            let mut builder = tempfile::Builder::new();
            builder.prefix(".lull-query-").permissions(Permissions::from_mode(PERMISSIONS));
            let parts = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?.into_parts();
            let removed = parts.1.to_path_buf();
            Ok((parts, Box::new(move || drop(std::fs::remove_file(&removed)))))
        });
        let ((file, path), unfinished) = begun.map_err(failed)?;
        *self.unfinished.borrow_mut() = Some((path, unfinished));
        Ok(buffered(file))
    }

    /// Gives the file its name, now that all is written.
    pub fn keep(&self) -> Result<(), String> {
        match (self.unfinished.borrow_mut().take(), self.path) {
            (Some((file, unfinished)), Some(path)) => unfinished
                .finish(|| file.persist(path))
                .map_err(|failed| format!("{}: {}", path.display(), failed.error)),
            _ => Ok(()),
        }
    }
}

fn buffered(out: impl Write + Send + 'static) -> Box<dyn Write + Send> {
    Box::new(BufWriter::with_capacity(BUFFER_BYTES, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_name_when_it_is_whole_and_an_older_one_stays_till_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, "older").unwrap();
        for is_whole in [false, true] {
            let destination = Destination::new(Some(&path));
            let Ok(mut out) = destination.open() else { panic!("it cannot be made") };
            out.write_all(b"newer").unwrap();
            out.flush().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"older");
            if is_whole {
                destination.keep().unwrap();
            }
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"newer");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, PERMISSIONS);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_device_is_written_to_as_it_is() {
        let destination = Destination::new(Some(Path::new("/dev/null")));
        let Ok(mut out) = destination.open() else { panic!("it cannot be opened") };
        out.write_all(b"anything").unwrap();
        destination.keep().unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}
