// SPDX-License-Identifier: MIT
//! A trace's directory, held open: whatever happens to its path, files are made, replaced and
//! removed in this directory and in no other.
//!
//! Place in the flow: `place` finds where it goes, `output` claims it, `stream` and `metadata`
//! are written through it. Files are made where nothing is and links are never followed, so
//! nothing that another user put in the way is written to.

use crate::output::Error;
use rustix::fs::{self, AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How a component of a path is looked at before anything is done with it.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Which users may read a trace: the permissions of its directories. Its files have the same but
/// for execution. Whatever the umask is, a trace has exactly these permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing(u32);

impl Sharing {
    /// Only its owner.
    pub const PRIVATE: Self = Self(0o700);

    pub(crate) fn directory(self) -> Mode {
        Mode::from_raw_mode(self.0)
    }

    fn file(self) -> Mode {
        Mode::from_raw_mode(self.0 & 0o666)
    }
}

impl FromStr for Sharing {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const REASON: &str = "write the permissions of the directory in octal, such as 0750: its \
                              owner has all of them, and nobody else may write";
        match u32::from_str_radix(text, 8) {
            Ok(mode) if mode & !0o055 == 0o700 => Ok(Self(mode)),
            _ => Err(REASON),
        }
    }
}

/// A directory of this user, open. Its lock, if it was taken, ends with it.
#[derive(Debug)]
pub struct Folder {
    file: OwnedFd,
    /// For people; nothing is opened by it.
    path: PathBuf,
    sharing: Sharing,
}

impl Folder {
    /// Opens the directory `name` in `above`, which must be a directory and this user's.
    pub(crate) fn open(
        above: BorrowedFd,
        name: &OsStr,
        shown: &Path,
        sharing: Sharing,
    ) -> Result<Self, Error> {
        let fail = |error: Errno| Error::Io { path: shown.to_path_buf(), source: error.into() };
        let looked = look(above, name).map_err(fail)?;
        match looked.file_type() {
            FileType::Directory => {}
            FileType::Symlink => return Err(Error::Link { path: shown.to_path_buf() }),
            _ => return Err(fail(Errno::NOTDIR)),
        }
        if looked.status.st_uid != rustix::process::geteuid().as_raw() {
            let (path, uid) = (shown.to_path_buf(), looked.status.st_uid);
            return Err(Error::Owner { path, uid });
        }
        // The directory that was looked at, even if its name leads elsewhere by now.
        let file = fs::openat(&looked.file, ".", READ, Mode::empty()).map_err(fail)?;
        let path = path_of(&file).unwrap_or_else(|| shown.to_path_buf());
        Ok(Self { file, path, sharing })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// From now on files are made with the permissions that the directory has.
    pub(crate) fn keep_sharing(&mut self) -> Result<Sharing, Errno> {
        self.sharing = Sharing(fs::fstat(&self.file)?.st_mode & 0o055 | 0o700);
        Ok(self.sharing)
    }

    /// Keeps other recorders away for as long as the directory is open. Return: false when one
    /// is here already.
    pub(crate) fn lock(&self) -> Result<bool, Errno> {
        match fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives the directory the permissions that were asked for.
    pub(crate) fn share(&self) -> Result<(), Errno> {
        fs::fchmod(&self.file, self.sharing.directory())
    }

    /// Whether `name` in `above` is this directory.
    pub(crate) fn is_at(&self, above: BorrowedFd, name: &OsStr) -> bool {
        let found = fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW);
        matches!((found, fs::fstat(&self.file)), (Ok(a), Ok(b)) if is_same(&a, &b))
    }

    /// Whether the path still leads to this directory.
    pub(crate) fn is_at_its_path(&self) -> bool {
        matches!((fs::stat(&self.path), fs::fstat(&self.file)), (Ok(a), Ok(b)) if is_same(&a, &b))
    }

    /// Whether `name` in this directory is still the file that was made by that name. Where that
    /// cannot be told, it is.
    pub(crate) fn holds(&self, name: &str, file: &File) -> bool {
        match (fs::statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW), fs::fstat(file)) {
            (Ok(found), Ok(made)) => is_same(&found, &made),
            (Err(error), _) => error != Errno::NOENT,
            (_, Err(_)) => true,
        }
    }

    /// What is in the directory, each with its type.
    pub(crate) fn entries(&self) -> Result<Vec<(OsString, FileType)>, Errno> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.file)? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            let status = fs::statat(&self.file, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            entries.push((name, FileType::from_raw_mode(status.st_mode)));
        }
        Ok(entries)
    }

    /// The directory `name` in this one.
    pub(crate) fn folder(&self, name: &OsStr) -> Result<Self, Error> {
        Self::open(self.file.as_fd(), name, &self.path.join(name), self.sharing)
    }

    /// Opens a file for reading; a link or a pipe is none.
    pub(crate) fn read(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(&self.file, name, flags, Mode::empty())?;
        match FileType::from_raw_mode(fs::fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Opens a file of this user for reading and writing; a link or a pipe is none.
    pub(crate) fn reopen_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(&self.file, name, flags, Mode::empty())?;
        let status = fs::fstat(&file)?;
        let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        match is_file && status.st_uid == rustix::process::geteuid().as_raw() {
            true => Ok(file.into()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Makes a file where nothing is.
    pub fn make_file(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(&self.file, name, flags, Mode::RUSR | Mode::WUSR)?;
        fs::fchmod(&file, self.sharing.file())?;
        Ok(file.into())
    }

    /// Gives a file another name, in place of what had that name.
    pub(crate) fn rename(&self, name: &str, new: &str) -> io::Result<()> {
        Ok(fs::renameat(&self.file, name, &self.file, new)?)
    }

    /// Gives two files each other's names. Not every file system can.
    pub(crate) fn exchange(&self, one: &str, other: &str) -> io::Result<()> {
        Ok(fs::renameat_with(&self.file, one, &self.file, other, RenameFlags::EXCHANGE)?)
    }

    /// Room on the disk for files of this user, if the file system tells.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        let found = fs::fstatvfs(&self.file).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Removes a file, or the link of that name itself.
    pub(crate) fn remove(&self, name: impl rustix::path::Arg) -> io::Result<()> {
        Ok(fs::unlinkat(&self.file, name, AtFlags::empty())?)
    }

    /// Removes an empty directory in this one.
    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.file, name, AtFlags::REMOVEDIR)?)
    }
}

impl Drop for Folder {
    /// A lock ends with the last descriptor that shares it, and a process that another thread
    /// has forked shares it until its exec: the next recorder would be refused for so long.
    fn drop(&mut self) {
        let _ = fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// Something that a name led to, held without opening it.
pub(crate) struct Looked {
    pub file: OwnedFd,
    pub status: Stat,
}

impl Looked {
    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.status.st_mode)
    }
}

/// Looks at what is at a name, and follows no link.
pub(crate) fn look(above: BorrowedFd, name: &OsStr) -> Result<Looked, Errno> {
    let file = fs::openat(above, name, LOOK, Mode::empty())?;
    let status = fs::fstat(&file)?;
    Ok(Looked { file, status })
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Where the kernel says that an open directory is.
fn path_of(file: &OwnedFd) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs as files;
    use std::os::unix::fs::{symlink, PermissionsExt};

    fn folder(name: &str) -> (Folder, PathBuf) {
        let path = std::env::temp_dir().join(format!("lull-folder-{name}-{}", std::process::id()));
        let _ = files::remove_dir_all(&path);
        files::create_dir(&path).unwrap();
        let folder = Folder::open(fs::CWD, path.as_os_str(), &path, Sharing::PRIVATE).unwrap();
        (folder, path)
    }

    #[test]
    fn only_files_are_opened_and_no_link_or_pipe() {
        let (folder, path) = folder("files");
        files::write(path.join("file"), "text").unwrap();
        symlink("file", path.join("link")).unwrap();
        files::create_dir(path.join("folder")).unwrap();
        fs::mknodat(fs::CWD, path.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(io::read_to_string(folder.read("file").unwrap()).unwrap(), "text");
        let mut file = folder.reopen_file("file").unwrap();
        io::Write::write_all(&mut file, b"TEXT").unwrap();
        assert_eq!(io::read_to_string(folder.read("file").unwrap()).unwrap(), "TEXT");
        for other in ["link", "pipe", "folder", "absent"] {
            assert!(folder.read(other).is_err() && folder.reopen_file(other).is_err(), "{other}");
        }
        assert!(folder.make_file("file").is_err(), "it is there");
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(path.join("file"), Some(65534), None).unwrap();
            assert!(folder.read("file").is_ok() && folder.reopen_file("file").is_err());
        }
        files::remove_dir_all(path).unwrap();
    }

    #[test]
    fn files_are_listed_renamed_exchanged_and_removed_by_their_names() {
        let (folder, path) = folder("names");
        files::write(path.join("a"), "one").unwrap();
        files::write(path.join("b"), "two").unwrap();
        files::create_dir(path.join("c")).unwrap();
        symlink("a", path.join("d")).unwrap();
        let mut entries = folder.entries().unwrap();
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        let kinds =
            [FileType::RegularFile, FileType::RegularFile, FileType::Directory, FileType::Symlink];
        let names = ["a", "b", "c", "d"].map(OsString::from);
        assert_eq!(entries, names.into_iter().zip(kinds).collect::<Vec<_>>());
        let text = |name: &str| files::read_to_string(path.join(name)).ok();
        folder.exchange("a", "b").unwrap();
        assert_eq!((text("a"), text("b")), (Some("two".into()), Some("one".into())));
        folder.rename("a", "b").unwrap();
        assert_eq!((text("a"), text("b")), (None, Some("two".into())));
        folder.remove("d").unwrap();
        folder.remove("b").unwrap();
        folder.remove_folder("c".as_ref()).unwrap();
        assert!(folder.entries().unwrap().is_empty());
        files::remove_dir(path).unwrap();
    }

    #[test]
    fn directory_is_known_again_by_what_it_is_and_not_by_its_name() {
        let (folder, path) = folder("same");
        assert_eq!(folder.path(), files::canonicalize(&path).unwrap());
        let is_at = || folder.is_at(fs::CWD, path.as_os_str());
        assert!(is_at() && folder.is_at_its_path());
        let moved = path.with_extension("moved");
        files::rename(&path, &moved).unwrap();
        assert!(!is_at() && !folder.is_at_its_path());
        files::create_dir(&path).unwrap();
        assert!(!is_at() && !folder.is_at_its_path());
        files::remove_dir(&path).unwrap();
        symlink(&moved, &path).unwrap();
        assert!(!is_at(), "a link to it is another thing");
        assert!(Folder::open(fs::CWD, path.as_os_str(), &path, Sharing::PRIVATE).is_err());
        files::remove_file(path).unwrap();
        files::remove_dir(moved).unwrap();
    }

    #[test]
    fn file_is_held_until_its_name_is_gone_or_leads_to_another() {
        let (folder, path) = folder("holds");
        let file = folder.make_file("file").unwrap();
        assert!(folder.holds("file", &file));
        folder.rename("file", "moved").unwrap();
        assert!(!folder.holds("file", &file));
        folder.make_file("file").unwrap();
        assert!(!folder.holds("file", &file));
        files::remove_dir_all(path).unwrap();
    }

    #[test]
    fn permissions_that_a_directory_has_are_taken_over_but_for_writing_by_others() {
        let (mut folder, path) = folder("sharing");
        for (mode, taken) in [(0o777, 0o755), (0o750, 0o750), (0o400, 0o700)] {
            files::set_permissions(&path, files::Permissions::from_mode(mode)).unwrap();
            assert_eq!(folder.keep_sharing(), Ok(Sharing(taken)), "{mode:o}");
        }
        files::set_permissions(&path, files::Permissions::from_mode(0o700)).unwrap();
        assert!(folder.lock().unwrap());
        let other = Folder::open(fs::CWD, path.as_os_str(), &path, Sharing::PRIVATE).unwrap();
        assert_eq!(other.lock(), Ok(false));
        let forked = folder.file().try_clone_to_owned().unwrap();
        let free = folder.free_bytes().unwrap();
        let found = fs::statvfs(&path).unwrap();
        assert!(free > 1 << 20 && free <= found.f_blocks * found.f_frsize, "{free}");
        drop(folder);
        assert_eq!(other.lock(), Ok(true), "a process that is being made keeps no lock");
        drop(forked);
        files::remove_dir(path).unwrap();
    }

    #[test]
    fn permissions_are_octal_and_let_nobody_else_write() {
        assert_eq!("0750".parse(), Ok(Sharing(0o750)));
        assert_eq!("700".parse(), Ok(Sharing::PRIVATE));
        assert_eq!(Sharing(0o755).file(), Mode::from_raw_mode(0o644));
        for text in ["", "0770", "0500", "07755", "1755", "rwx", "0798", "-700"] {
            assert!(text.parse::<Sharing>().is_err(), "{text}");
        }
    }
}
