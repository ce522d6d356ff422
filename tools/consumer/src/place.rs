// SPDX-License-Identifier: MIT
//! Where a trace directory goes: the directory above it, held open, and its name in there.
//!
//! Place in the flow: `output` asks with the path that a person gave. Each component of the path
//! is opened in the one before, so no process can swap one between a check and its use. A symbolic
//! link is followed only if it is this user's or root's: another user's could lead anywhere.

use crate::folder::{look, Folder, Looked, Sharing};
use crate::output::Error;
use rustix::fs::{self, FileType, Mode, OFlags, CWD};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Links followed on one path, as many as the kernel follows.
const LINKS_MAX: u32 = 40;
const ROOT_UID: u32 = 0;

#[derive(Debug)]
pub(crate) struct Place {
    above: OwnedFd,
    /// `.` when the path names a directory without saying what is above it.
    name: OsString,
    /// The path as the person gave it.
    shown: PathBuf,
}

impl Place {
    /// Finds the place and makes directories that are missing above it.
    pub fn find(path: &Path, sharing: Sharing) -> Result<Self, Error> {
        let fail = |error: Errno| Error::Io { path: path.to_path_buf(), source: error.into() };
        let mut shown = path.to_path_buf();
        let mut above = here().map_err(fail)?;
        let mut links = 0;
        let mut rest = names(path);
        if rest.is_empty() {
            return Err(fail(Errno::NOENT));
        }
        while let Some(name) = rest.pop() {
            if rest.is_empty() && name != "/" && name != ".." && name != "." {
                return Ok(Self { above, name, shown });
            }
            let found = match look(above.as_fd(), &name) {
                Err(Errno::NOENT) => {
                    let missing = Self { above, name, shown };
                    // If another recorder was faster, this opens what that one made.
                    missing.make()?;
                    let folder = missing.open(sharing)?;
                    folder.share().map_err(fail)?;
                    shown = missing.shown;
                    let file = folder.file().try_clone_to_owned();
                    above = file.map_err(|source| Error::Io { path: path.into(), source })?;
                    continue;
                }
                other => other.map_err(fail)?,
            };
            match found.file_type() {
                FileType::Directory => above = found.file,
                FileType::Symlink if links < LINKS_MAX => {
                    links += 1;
                    rest.extend(names(&target(&found, path)?));
                }
                FileType::Symlink => return Err(fail(Errno::LOOP)),
                _ => return Err(fail(Errno::NOTDIR)),
            }
        }
        Ok(Self { above, name: ".".into(), shown })
    }

    /// The place of a name in the directory that this process is in.
    pub fn here(name: &str) -> Result<Self, Error> {
        let fail = |error: Errno| Error::Io { path: name.into(), source: error.into() };
        Ok(Self { above: here().map_err(fail)?, name: name.into(), shown: name.into() })
    }

    /// The place of a name in a trace's directory.
    pub fn within(folder: &Folder, name: &str) -> Result<Self, Error> {
        let shown = folder.path().join(name);
        let above = folder.file().try_clone_to_owned();
        let above = above.map_err(|source| Error::Io { path: shown.clone(), source })?;
        Ok(Self { above, name: name.into(), shown })
    }

    pub fn above(&self) -> BorrowedFd<'_> {
        self.above.as_fd()
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }

    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Makes the directory, for its owner only so far. Return: false when something is there.
    pub fn make(&self) -> Result<bool, Error> {
        match fs::mkdirat(&self.above, &self.name, Sharing::PRIVATE.directory()) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(Error::Io { path: self.shown.clone(), source: error.into() }),
        }
    }

    /// Opens the directory that is there.
    pub fn open(&self, sharing: Sharing) -> Result<Folder, Error> {
        Folder::open(self.above(), &self.name, &self.shown, sharing)
    }
}

fn here() -> Result<OwnedFd, Errno> {
    fs::openat(CWD, ".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// A path's components, the first one last.
fn names(path: &Path) -> Vec<OsString> {
    let names: Vec<&OsStr> = path.components().map(Component::as_os_str).collect();
    names.into_iter().rev().map(OsStr::to_os_string).collect()
}

/// Where a link leads, if it is one that may be followed.
fn target(link: &Looked, path: &Path) -> Result<PathBuf, Error> {
    let owner = link.status.st_uid;
    if owner != ROOT_UID && owner != rustix::process::geteuid().as_raw() {
        return Err(Error::ForeignLink { path: path.to_path_buf(), uid: owner });
    }
    // The link itself is open: no other can be read in its place.
    let target = fs::readlinkat(&link.file, "", Vec::new())
        .map_err(|error| Error::Io { path: path.to_path_buf(), source: error.into() })?;
    Ok(OsString::from_vec(target.into_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs as files;
    use std::os::unix::fs::{lchown, symlink, MetadataExt};

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lull-place-{name}-{}", std::process::id()));
        let _ = files::remove_dir_all(&path);
        files::create_dir(&path).unwrap();
        path
    }

    fn find(path: &Path) -> Result<Place, Error> {
        Place::find(path, Sharing::PRIVATE)
    }

    #[test]
    fn as_many_links_are_followed_as_the_kernel_follows() {
        let path = folder("chain");
        symlink(".", path.join("0")).unwrap();
        for link in 1..=40 {
            symlink(format!("{}", link - 1), path.join(format!("{link}"))).unwrap();
        }
        let place = find(&path.join("39/trace")).unwrap();
        assert_eq!((place.name(), place.shown()), ("trace".as_ref(), &*path.join("39/trace")));
        assert!(place.make().unwrap() && !place.make().unwrap());
        assert_eq!(files::metadata(path.join("trace")).unwrap().mode() & 0o777, 0o700);
        let error = find(&path.join("40/trace")).unwrap_err();
        let Error::Io { source, .. } = error else { panic!("{error}") };
        assert_eq!(source.raw_os_error(), Some(libc::ELOOP));
        files::remove_dir_all(path).unwrap();
    }

    #[test]
    fn file_on_the_way_is_refused_and_a_name_that_says_no_directory_is_the_one_it_leads_to() {
        let path = folder("file");
        files::write(path.join("file"), "").unwrap();
        let error = find(&path.join("file/trace")).unwrap_err();
        let Error::Io { source, .. } = error else { panic!("{error}") };
        assert_eq!(source.raw_os_error(), Some(libc::ENOTDIR));
        for path in [path.join(".."), PathBuf::from("/"), PathBuf::from(".")] {
            assert_eq!(find(&path).unwrap().name(), ".", "{}", path.display());
        }
        files::remove_dir_all(path).unwrap();
    }

    /// Only the thread that asks becomes another user.
    #[test]
    fn links_of_roots_and_of_ones_own_are_followed_and_those_of_others_are_not() {
        const ME: u32 = 65534;
        const OTHER: u32 = 65533;
        let path = folder("owners");
        let owner = files::metadata(&path).unwrap().uid();
        for user in [0, ME, OTHER].into_iter().filter(|user| owner == 0 || *user == owner) {
            symlink(".", path.join(user.to_string())).unwrap();
            lchown(path.join(user.to_string()), Some(user), None).unwrap();
        }
        let refused = |user: u32, path: &Path| match find(&path.join(user.to_string()).join("x")) {
            Err(Error::ForeignLink { uid, .. }) => Some(uid),
            other => {
                other.unwrap();
                None
            }
        };
        if owner != 0 {
            return files::remove_dir_all(path).unwrap(); // nobody else's link can be made
        }
        assert_eq!([0, ME, OTHER].map(|user| refused(user, &path)), [None, Some(ME), Some(OTHER)]);
        files::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let as_me = {
            let path = path.clone();
            move || {
                let same = -1;
                // SAFETY: no memory is passed.
                unsafe { libc::syscall(libc::SYS_setresuid, same, ME, same) };
                [0, ME, OTHER].map(|user| refused(user, &path))
            }
        };
        assert_eq!(std::thread::spawn(as_me).join().unwrap(), [None, None, Some(OTHER)]);
        files::remove_dir_all(path).unwrap();
    }
}
