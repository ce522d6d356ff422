// SPDX-License-Identifier: MIT
//! Where an index is kept, when one is taken that is there, and what damage can do.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use history::{Bounds, History, Kept, Known};
use testkit::program::{Number, Program, Who};
use testkit::TraceFolder;
use trace::{Ns, Span, Trace};

const BOUNDS: Bounds = Bounds {
    state: state::Limits { threads: 100, descriptors: 100, maps: 100, texts: 100 },
    tracks: 1000,
    segment: 30,
    losses: 10,
    least_bytes: 0,
    far: 0,
};

/// Two threads take turns and read.
fn program(turns: u64) -> Program {
    let (one, two): (Who, Who) = ((10, 10, "one"), (20, 20, "two"));
    let mut program = Program::new();
    for turn in 0..turns {
        let at = 1000 + turn * 10;
        let (prev, next) = if turn % 2 == 0 { (one, two) } else { (two, one) };
        program.switch((at, 0), (prev, 1), next);
        let fd = [("fd", Number(turn as i64 % 5))];
        let entry = ("io:read_entry", &fd[..]);
        program.call((at + 2, at + 5), next, entry, ("io:read_exit", &[("result", Number(1))]));
    }
    program
}

fn folder(turns: u64) -> TraceFolder {
    let (metadata, streams) = program(turns).files();
    let streams: Vec<Vec<u8>> = streams.into_iter().map(|(_, bytes)| bytes).collect();
    TraceFolder::new(&metadata, &streams).unwrap()
}

fn open(folder: &Path) -> History {
    let traces = [Trace::open(folder).unwrap()];
    History::within(&traces, BOUNDS, |_| {}).unwrap()
}

/// All that a history has to tell.
fn told(history: &History) -> Vec<String> {
    let mut told = Vec::new();
    for subject in history.subjects() {
        told.push(format!("{subject:?} {:?}", history.intervals(subject, &Span::ALL).unwrap()));
    }
    told
}

fn index(folder: &Path) -> PathBuf {
    folder.join("index/lull.history")
}

fn inode(folder: &Path) -> u64 {
    fs::metadata(index(folder)).unwrap().ino()
}

#[test]
fn index_is_left_beside_the_trace_and_taken_the_next_time() {
    let folder = folder(100);
    let built = open(folder.path());
    assert_eq!(*built.place(), Kept::Beside(index(folder.path())));
    let before = inode(folder.path());
    let opened = open(folder.path());
    assert_eq!(told(&opened), told(&built));
    assert_eq!(inode(folder.path()), before, "it was not built again");
    let about = fs::metadata(index(folder.path())).unwrap();
    assert_eq!(about.mode() & 0o077, 0, "others cannot read what they may not see in the trace");
    assert_eq!(fs::read_dir(folder.path().join("index")).unwrap().count(), 1);
}

#[test]
fn index_of_a_trace_that_changed_is_built_again() {
    let folder = folder(50);
    open(folder.path());
    let before = inode(folder.path());
    let (_, streams) = program(90).files();
    fs::write(folder.path().join("stream_0"), &streams[0].1).unwrap();
    let again = open(folder.path());
    assert_ne!(inode(folder.path()), before);
    assert_eq!(again.end(), Ns(1000 + 89 * 10 + 5));
    // The same length at the same time, and other bytes.
    let before = inode(folder.path());
    let stream = folder.path().join("stream_0");
    let modified = fs::metadata(&stream).unwrap().modified().unwrap();
    let mut bytes = fs::read(&stream).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&stream, bytes).unwrap();
    fs::File::options().write(true).open(&stream).unwrap().set_modified(modified).unwrap();
    open(folder.path());
    assert_ne!(inode(folder.path()), before);
}

#[test]
fn index_of_another_trace_or_of_another_version_is_not_taken() {
    let (one, two) = (folder(40), folder(60));
    let wanted = told(&open(two.path()));
    open(one.path());
    fs::copy(index(one.path()), index(two.path())).unwrap();
    assert_eq!(told(&open(two.path())), wanted);
    let mut bytes = fs::read(index(two.path())).unwrap();
    bytes[7] += 1;
    fs::write(index(two.path()), &bytes).unwrap();
    assert_eq!(told(&open(two.path())), wanted);
}

#[test]
fn index_that_is_cut_anywhere_is_built_again() {
    let folder = folder(40);
    let wanted = told(&open(folder.path()));
    let whole = fs::read(index(folder.path())).unwrap();
    for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
        fs::write(index(folder.path()), &whole[..length]).unwrap();
        assert_eq!(told(&open(folder.path())), wanted, "cut at {length}");
    }
}

#[test]
fn byte_that_changed_is_found_by_its_checksum_and_never_tells_anything_else() {
    let folder = folder(40);
    let wanted = open(folder.path());
    let known = |history: &History| -> Result<Vec<Known>, history::Error> {
        Ok(history.at(Ns(1200))?.all().to_vec())
    };
    let right = known(&wanted).unwrap();
    let whole = fs::read(index(folder.path())).unwrap();
    let (mut damaged, mut same) = (0, 0);
    for at in (0..whole.len()).step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(index(folder.path()), &bytes).unwrap();
        match known(&open(folder.path())) {
            Ok(told) => {
                assert_eq!(told, right, "byte {at}");
                same += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("remove it"), "{error}");
                damaged += 1;
            }
        }
    }
    assert!(damaged > 10 && same > 10, "{damaged} {same}");
}

#[test]
fn builders_at_once_do_not_disturb_each_other() {
    let folder = folder(300);
    let wanted = {
        let (metadata, streams) = program(300).files();
        let trace = Trace::from_bytes(metadata.as_bytes(), streams).unwrap();
        told(&History::within(&[trace], BOUNDS, |_| {}).unwrap())
    };
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(told(&open(folder.path())), wanted);
                    let _ = fs::remove_file(index(folder.path()));
                }
            });
        }
    });
    open(folder.path());
    assert_eq!(fs::read_dir(folder.path().join("index")).unwrap().count(), 1, "nothing is left");
}

#[test]
fn what_a_killed_builder_left_is_removed_and_that_of_a_living_one_is_not() {
    let folder = folder(40);
    fs::create_dir(folder.path().join("index")).unwrap();
    let left = |pid: u32| folder.path().join(format!("index/lull.history.{pid}-0.unfinished"));
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let (dead, living) = (left(child.id()), left(1));
    fs::write(&dead, b"lullhst\x01").unwrap();
    fs::write(&living, b"lullhst\x01").unwrap();
    open(folder.path());
    assert!(!dead.exists() && living.exists() && index(folder.path()).exists());
}

#[test]
fn nothing_is_left_where_others_can_write_and_small_traces_leave_no_file() {
    let folder = folder(40);
    let cache = TraceFolder::new("", &[]).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    std::env::set_var("XDG_CACHE_HOME", cache.path());
    let built = open(folder.path());
    let Kept::Cache(path) = built.place() else { panic!("kept at {:?}", built.place()) };
    assert!(path.starts_with(cache.path()) && path.exists());
    assert!(!folder.path().join("index").exists());
    let before = fs::metadata(path).unwrap().ino();
    assert_eq!(told(&open(folder.path())), told(&built));
    assert_eq!(fs::metadata(path).unwrap().ino(), before);
    let traces = [Trace::open(folder.path()).unwrap()];
    let small = History::open_or_build(&traces, |_| {}).unwrap();
    assert_eq!(*small.place(), Kept::Memory);
}

#[test]
fn traces_that_are_read_together_have_an_index_of_their_own() {
    let (one, two) = (folder(40), folder(60));
    let open_both = || {
        let traces = [one.path(), two.path()].map(|path| Trace::open(path).unwrap());
        History::within(&traces, BOUNDS, |_| {}).unwrap()
    };
    let both = open_both();
    open(one.path());
    assert_eq!(fs::read_dir(one.path().join("index")).unwrap().count(), 2);
    assert_eq!(told(&open_both()), told(&both));
    assert_ne!(told(&open(one.path())), told(&both));
}
