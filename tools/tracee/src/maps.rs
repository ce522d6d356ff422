// SPDX-License-Identifier: MIT
//! `/proc/PID/maps`, whose paths the process chooses.

use crate::{threads, Error, Result};
use std::io::Read;

/// Of the text that is read: more than the kernel's default limit of mappings takes.
const BYTES_MAX: u64 = 32 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    pub begin: u64,
    pub until: u64,
    pub is_readable: bool,
    pub is_executable: bool,
    pub is_private: bool,
    /// In the file.
    pub offset: u64,
    pub inode: u64,
    /// As the kernel shows it: empty, a path, or a name in brackets.
    pub path: String,
}

impl Mapping {
    /// What a process has mapped now. A thread of the kernel's has nothing, as a process that ends.
    pub fn all_of(pid: u32) -> Result<Vec<Self>> {
        read(pid)
    }

    /// Whether this is one of some System V segments, by their identifiers.
    #[must_use]
    pub fn is_segment(&self, identifiers: &[i32]) -> bool {
        let is_its = |id: &i32| u64::try_from(*id).is_ok_and(|id| id == self.inode);
        self.path.starts_with("/SYSV") && identifiers.iter().any(is_its)
    }

    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        (self.begin..self.until).contains(&address)
    }

    /// The last part of the path, also of a file that is not there any more.
    #[must_use]
    pub fn file_name(&self) -> &str {
        let path = self.path.strip_suffix(" (deleted)").unwrap_or(&self.path);
        path.rsplit('/').next().unwrap_or(path)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut rest = line;
        let mut word = || {
            let trimmed = rest.trim_start();
            let end = trimmed.find(' ').unwrap_or(trimmed.len());
            let (word, after) = trimmed.split_at(end);
            rest = after;
            word
        };
        let (range, rights, offset, _device, inode) = (word(), word(), word(), word(), word());
        let (begin, until) = range.split_once('-')?;
        let begin = u64::from_str_radix(begin, 16).ok()?;
        let until = u64::from_str_radix(until, 16).ok().filter(|until| begin <= *until)?;
        Some(Self {
            begin,
            until,
            is_readable: rights.contains('r'),
            is_executable: rights.contains('x'),
            is_private: rights.contains('p'),
            offset: u64::from_str_radix(offset, 16).ok()?,
            inode: inode.parse().ok()?,
            path: rest.trim_start().to_string(),
        })
    }
}

pub(crate) fn parse(text: &[u8]) -> Vec<Mapping> {
    String::from_utf8_lossy(text).lines().filter_map(Mapping::parse).collect()
}

pub(crate) fn read(pid: u32) -> Result<Vec<Mapping>> {
    let failed = crate::failed(pid, "reading the mappings");
    let path = format!("{}/maps", threads::folder(pid));
    let mut text = Vec::new();
    let file = std::fs::File::open(&path).map_err(&failed)?;
    file.take(BYTES_MAX).read_to_end(&mut text).map_err(&failed)?;
    // A process that ends has none from then on, so what was read of them may be a part.
    let has_any = std::fs::File::open(&path).and_then(|mut file| file.read(&mut [0]));
    if has_any.map_err(failed)? == 0 {
        return Err(Error::Ended { pid });
    }
    Ok(parse(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_the_kernel_is_understood_with_spaces_in_the_path() {
        let line = "7f00-8f00 r-xp 00002000 fe:00 12                     /a b/libc.so.6 (deleted)";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!((mapping.begin, mapping.until, mapping.offset), (0x7f00, 0x8f00, 0x2000));
        assert!(mapping.is_readable && mapping.is_executable && mapping.is_private);
        assert_eq!((mapping.file_name(), mapping.inode), ("libc.so.6", 12));
        assert!(mapping.contains(0x7f00) && !mapping.contains(0x8f00));
    }

    #[test]
    fn segment_is_known_by_its_identifier_and_not_by_the_inode_of_a_file() {
        let segment = Mapping::parse("1-2 rw-s 0 00:01 7 /SYSV0000002a (deleted)").unwrap();
        assert!(segment.is_segment(&[3, 7]) && !segment.is_segment(&[3, -7]));
        let file = Mapping::parse("1-2 rw-s 0 00:01 7 /a/SYSV0000002a").unwrap();
        assert!(!file.is_segment(&[7]));
    }

    #[test]
    fn damaged_lines_are_passed_over() {
        let numbers = ["x-y r--p 0 0:0 0", "1-2 r--p 0 0:0 z", "2-1 r--p 0 0:0 1"];
        for line in ["", "1", "1-", "1-2 rwxp", "1-2 r é"].into_iter().chain(numbers) {
            assert_eq!(Mapping::parse(line), None, "{line}");
        }
    }

    #[test]
    fn lines_that_were_damaged_anywhere_are_mappings_or_are_passed_over() {
        let text = b"7f00-8f00 r-xp 00002000 fe:00 12  /a b/\xff\\012lib\xc3.so (deleted)\n\
            ffffffffffffffff-ffffffffffffffff rwxs ffffffffffffffff 00:00 0 [vdso]\n";
        assert_eq!(parse(text).len(), 2);
        let mut random = 1u64;
        for _ in 0..20_000 {
            let mut damaged = text.to_vec();
            for _ in 0..3 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (random >> 33) as usize % damaged.len();
                damaged[at] = (random >> 25) as u8;
            }
            for mapping in parse(&damaged) {
                let _ = (mapping.until - mapping.begin, mapping.file_name().len());
            }
        }
    }

    #[test]
    fn process_that_has_ended_is_told_from_one_that_refuses() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        assert!(read(pid).is_ok());
        child.kill().unwrap();
        // It stays, without mappings, until somebody waits for it.
        while read(pid).is_ok() {
            std::thread::yield_now();
        }
        assert!(matches!(read(pid), Err(Error::Ended { .. })), "{:?}", read(pid));
        child.wait().unwrap();
        assert!(matches!(read(pid), Err(Error::Ended { .. })), "{:?}", read(pid));
        let own = crate::failed(std::process::id(), "doing this")(std::io::Error::other("odd"));
        assert!(matches!(own, Error::System { .. }), "{own}");
    }
}
