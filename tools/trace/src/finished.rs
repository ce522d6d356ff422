// SPDX-License-Identifier: MIT
//! Which stream files a trace had when it was finished, and how long each was.
//!
//! Place in the flow: whoever writes a trace says so in its environment, last. `Trace::open`
//! compares: a file that is gone, or that ends where one of its packets does, is damage that no
//! packet tells of, and so are bytes and files that came later, which have events twice or other
//! events. A trace that says nothing of its files promises nothing.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::error::{Fault, Problem, ProblemKind};
use crate::metadata::Metadata;

/// The entry of the environment: a line for each file, with its name, a tab, and its bytes.
pub const STREAM_FILES: &str = "stream_files";

/// The entry's text for files with their names and bytes. A name that a line cannot hold is left
/// out: nothing is promised of its file.
pub fn stream_files_text<'f>(files: impl Iterator<Item = (&'f str, u64)>) -> String {
    let files = files.filter(|(name, _)| is_name(name));
    files.map(|(name, bytes)| format!("{name}\t{bytes}")).collect::<Vec<_>>().join("\n")
}

fn is_name(name: &str) -> bool {
    let is_odd = |c: char| c == '/' || c.is_control();
    !name.is_empty() && !name.contains(is_odd)
}

/// How the files in a folder are not those that were finished. `found`: those that are there, with
/// the bytes of each that can be read. `limit`: entries that are looked at.
pub(crate) fn differences(
    metadata: &Metadata,
    folder: &Path,
    found: &HashMap<PathBuf, Option<u64>>,
    limit: usize,
) -> Vec<Problem> {
    let Some(text) = metadata.environment_text(STREAM_FILES) else { return Vec::new() };
    let files = text.lines().take(limit).filter_map(|line| {
        let (name, bytes) = line.split_once('\t')?;
        Some((folder.join(name), bytes.parse().ok()?)).filter(|_| is_name(name))
    });
    let files: BTreeMap<PathBuf, u64> = files.collect();
    let problem = |(file, what): (&PathBuf, ProblemKind)| {
        let file = file.clone();
        Problem { file, packet: None, offset_bytes: 0, lost_bytes: 0, what }
    };
    let changed = files.iter().filter_map(|(file, finished_bytes)| {
        let finished_bytes = *finished_bytes;
        let what = match found.get(file) {
            None => ProblemKind::Gone { finished_bytes },
            Some(Some(bytes)) if *bytes < finished_bytes => {
                ProblemKind::Shorter { finished_bytes, bytes: *bytes }
            }
            Some(Some(bytes)) if *bytes > finished_bytes => {
                ProblemKind::Longer { finished_bytes, bytes: *bytes }
            }
            // One that cannot be read is told of already.
            Some(_) => return None,
        };
        Some((file, what))
    });
    let is_new = |(file, bytes): &(&PathBuf, &Option<u64>)| {
        let may_be_listed = file.file_name().and_then(|name| name.to_str()).is_some_and(is_name);
        may_be_listed && bytes.is_some_and(|bytes| bytes > 0) && !files.contains_key(*file)
    };
    let mut new: Vec<_> = found.iter().filter(is_new).map(|(file, _)| file).collect();
    new.sort();
    changed.chain(new.into_iter().map(|file| (file, ProblemKind::New))).map(problem).collect()
}

/// Tells of a file that ends within a packet once: with what is wrong there.
pub(crate) fn tell_once(problems: &mut Vec<Problem>) {
    let shorter = |problem: &Problem| match problem.what {
        ProblemKind::Shorter { finished_bytes, bytes } => {
            Some((problem.file.clone(), (finished_bytes, bytes)))
        }
        _ => None,
    };
    let mut untold: HashMap<PathBuf, (u64, u64)> = problems.iter().filter_map(shorter).collect();
    if untold.is_empty() {
        return;
    }
    for problem in problems.iter_mut() {
        let ProblemKind::Fault(fault) = problem.what else { continue };
        let Some((finished_bytes, bytes)) = untold.get(&problem.file).copied() else { continue };
        let is_at_end = match fault {
            Fault::FileTruncated { .. } | Fault::NoMorePackets { .. } => true,
            _ => problem.offset_bytes.checked_add(problem.lost_bytes) == Some(bytes),
        };
        if is_at_end {
            problem.what = ProblemKind::Cut { fault, finished_bytes, bytes };
            untold.remove(&problem.file);
        }
    }
    problems.retain(|problem| {
        !matches!(problem.what, ProblemKind::Shorter { .. }) || untold.contains_key(&problem.file)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, found: &[(&str, Option<u64>)]) -> Vec<String> {
        let text = text.replace('\t', "\\t").replace('\n', "\\n");
        let metadata = format!("/* CTF 1.8 */ env {{ {STREAM_FILES} = \"{text}\"; }};");
        let (metadata, _) = Metadata::salvage(metadata.as_bytes());
        let path = |name: &str| Path::new("/t").join(name);
        let found = found.iter().map(|(name, bytes)| (path(name), *bytes)).collect();
        let told = differences(&metadata, Path::new("/t"), &found, 4);
        told.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn files_that_are_not_as_they_were_are_told() {
        let files = [("a", 100u64), ("b", 50), ("c", 7), ("d/e", 1), ("", 1)];
        let text = stream_files_text(files.into_iter());
        assert_eq!(text, "a\t100\nb\t50\nc\t7");
        assert!(told(&text, &[("a", Some(100)), ("b", Some(50)), ("c", None)]).is_empty());
        assert_eq!(
            told(&text, &[("a", Some(60)), ("c", Some(7))]),
            [
                "/t/a: it had 100 bytes when the trace was finished, and has 60 now",
                "/t/b: it had 50 bytes when the trace was finished, and is not here",
            ]
        );
        let more = [("a", Some(101)), ("b", Some(50)), ("c", Some(7)), ("d", Some(9))];
        assert_eq!(
            told(&text, &[&more[..], &[("empty", Some(0)), ("closed", None)]].concat()),
            [
                "/t/a: it had 100 bytes when the trace was finished, and has 101 now",
                "/t/d: it was not here when the trace was finished",
            ]
        );
    }

    #[test]
    fn what_promises_nothing_is_not_accused_and_hostile_lists_are_bounded() {
        let (metadata, _) = Metadata::salvage(b"/* CTF 1.8 */ env { hostname = \"h\"; };");
        let found = HashMap::from([(PathBuf::from("/t/a"), Some(1))]);
        assert!(differences(&metadata, Path::new("/t"), &found, 4).is_empty());
        for odd in ["a", "a\t-1", "a\t99999999999999999999", "../x\t5", "\t5", "a\tb\t5"] {
            assert!(told(odd, &[]).is_empty(), "{odd}");
        }
        let many = (0..50).map(|at| format!("f{at}\t1")).collect::<Vec<_>>().join("\n");
        assert_eq!(told(&many, &[]).len(), 4);
    }
}
