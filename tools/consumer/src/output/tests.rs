// SPDX-License-Identifier: MIT
//! What happens to directories, files and links that are in the way of a trace.
//!
//! Place in the flow: beside `output`, whose private parts it uses.

use super::*;
use std::fs as files;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};

const TEXT: &str = "env { tracer_name = \"lull\"; };";

fn place(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("lull-output-{name}-{}", std::process::id()));
    let _ = files::remove_dir_all(&path);
    path
}

fn create(path: &Path, older: Older) -> Result<Output, Error> {
    Output::create(path, Sharing::PRIVATE, older)
}

fn trace_at(path: &Path) {
    let output = create(path, Older::Refuse).unwrap();
    output.keep();
    output.finish(TEXT).unwrap();
}

fn mode(path: &Path) -> u32 {
    files::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn metadata_is_replaced_and_nothing_else_is_left() {
    let path = place("replace");
    let output = create(&path, Older::Refuse).unwrap();
    output.keep();
    output.write_metadata("one").unwrap();
    output.finish("two").unwrap();
    let names: Vec<_> = files::read_dir(&path).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["metadata"]);
    assert_eq!(files::read_to_string(path.join("metadata")).unwrap(), "two");
    files::remove_dir_all(&path).unwrap();
}

#[test]
fn reserve_is_taken_when_a_recording_is_no_longer_small_or_short() {
    let path = place("reserve");
    let reserve = path.join(RESERVE_FILE);
    let mut output = create(&path, Older::Refuse).unwrap();
    output.provide(SMALL_BYTES - 1);
    assert!(!reserve.exists());
    output.provide(SMALL_BYTES);
    assert_eq!(files::metadata(&reserve).unwrap().len(), RESERVE_MOST_BYTES);
    output.release();
    output.provide(SMALL_BYTES);
    assert!(!reserve.exists(), "it is given back once");
    output.reserved_bytes = 0.into();
    output.begun = Instant::now() - SHORT;
    output.provide(0);
    assert!(reserve.exists());
    output.reserve_for(1);
    assert_eq!(files::metadata(&reserve).unwrap().len(), RESERVE_MOST_BYTES);
    output.reserve_for(1 << 20);
    assert_eq!(files::metadata(&reserve).unwrap().len(), VERDICT_BYTES + (1 << 20));
    drop(output);
    assert!(!path.exists());
}

#[test]
fn metadata_of_a_long_recording_is_replaced_too() {
    let path = place("replace-long");
    let mut output = create(&path, Older::Refuse).unwrap();
    output.begun = Instant::now() - SHORT;
    for number in 1..3 {
        let text = format!("{TEXT} // {number}");
        output.write_metadata(&text).unwrap();
        assert_eq!(files::read_to_string(path.join("metadata")).unwrap(), text);
        assert!(!path.join(METADATA_NEW_FILE).exists());
    }
    drop(output);
    assert!(!path.exists(), "what is not kept goes");
}

#[test]
fn directory_with_anything_that_lull_did_not_write_is_never_touched() {
    let path = place("foreign");
    trace_at(&path);
    files::create_dir(path.join("snapshot-1")).unwrap();
    for name in [
        "thesis.txt",
        "stream-cpu",
        "stream-cpu0x",
        "stream-user-cpu0",
        "stream-x1-cpu0",
        "snapshot-1/notes",
        "snapshot-x",
    ] {
        files::write(path.join(name), "work of years").unwrap();
        for older in [Older::Refuse, Older::Replace] {
            let error = create(&path, older).unwrap_err();
            assert!(matches!(error, Error::Foreign { .. }), "{error}");
        }
        assert!(path.join("metadata").exists() && path.join(name).exists());
        files::remove_file(path.join(name)).unwrap();
    }
    // the files of a trace in a directory whose name Lull does not give
    files::create_dir(path.join("kept")).unwrap();
    trace_at(&path.join("kept"));
    assert!(matches!(create(&path, Older::Replace), Err(Error::Foreign { .. })));
    assert!(path.join("kept/metadata").exists());
    files::remove_dir_all(path.join("kept")).unwrap();
    symlink("/etc/passwd", path.join("stream-cpu7")).unwrap();
    assert!(matches!(create(&path, Older::Replace), Err(Error::Foreign { .. })));
    files::remove_file(path.join("stream-cpu7")).unwrap();
    files::write(path.join("metadata"), "env { tracer_name = \"other\"; };").unwrap();
    assert!(matches!(create(&path, Older::Replace), Err(Error::Foreign { .. })));
    files::remove_dir_all(&path).unwrap();
}

#[test]
fn older_trace_is_refused_or_replaced_as_asked() {
    let path = place("older");
    trace_at(&path);
    files::write(path.join("stream-cpu0"), "").unwrap();
    files::write(path.join("stream-user1000-cpu0"), "").unwrap();
    files::write(path.join(".symbols"), "").unwrap();
    files::create_dir(path.join("snapshot-12")).unwrap();
    files::write(path.join("snapshot-12/stream-any0"), "").unwrap();
    assert!(matches!(create(&path, Older::Refuse), Err(Error::Older { .. })));
    assert!(path.join("stream-cpu0").exists());
    let replaced = create(&path, Older::Replace).unwrap();
    assert_eq!(files::read_dir(&path).unwrap().count(), 0);
    drop(replaced);
    assert!(path.exists(), "the directory was there before");
    files::remove_dir_all(&path).unwrap();
}

#[test]
fn what_was_made_goes_again_unless_it_is_kept() {
    let path = place("dropped");
    let output = create(&path, Older::Refuse).unwrap();
    output.write_metadata(TEXT).unwrap();
    drop(output);
    assert!(!path.exists());
    let output = create(&path, Older::Refuse).unwrap();
    files::write(path.join("of-another"), "").unwrap();
    drop(output);
    assert!(path.join("of-another").exists());
    files::remove_dir_all(&path).unwrap();
}

#[test]
fn permissions_are_those_asked_for_whatever_they_were() {
    let path = place("mode");
    files::create_dir(&path).unwrap();
    files::set_permissions(&path, files::Permissions::from_mode(0o777)).unwrap();
    trace_at(&path);
    assert_eq!((mode(&path), mode(&path.join("metadata"))), (0o700, 0o600));
    let sharing = "0750".parse().unwrap();
    let output = Output::create(&path, sharing, Older::Replace).unwrap();
    let snapshot = output.create_snapshot(1).unwrap();
    for output in [&output, &snapshot] {
        output.keep();
        output.provide(SMALL_BYTES);
    }
    assert_eq!((mode(&path), mode(&path.join(RESERVE_FILE))), (0o750, 0o640));
    assert_eq!(mode(&path.join("snapshot-1")), 0o750);
    assert_eq!(mode(&path.join("snapshot-1").join(RESERVE_FILE)), 0o640);
    files::remove_dir_all(&path).unwrap();
}

#[test]
fn directory_that_a_recorder_writes_to_is_refused_to_a_second_one() {
    let path = place("busy");
    let first = create(&path, Older::Refuse).unwrap();
    for older in [Older::Refuse, Older::Replace] {
        assert!(matches!(create(&path, older), Err(Error::Busy { .. })));
    }
    first.keep();
    first.finish(TEXT).unwrap();
    drop(first);
    assert!(matches!(create(&path, Older::Refuse), Err(Error::Older { .. })));
    files::remove_dir_all(&path).unwrap();
}

#[test]
fn directory_with_a_path_longer_than_the_kernel_takes_is_where_it_was_made() {
    let top = place("deep");
    let path = (0..PATH_BYTES_MAX / 150).fold(top.clone(), |path, _| path.join("d".repeat(200)));
    let output = create(&path.join("t"), Older::Refuse).unwrap();
    assert!(output.is_at_its_path());
    rustix::fs::renameat(output.place.above(), "t", output.place.above(), "moved").unwrap();
    assert!(!output.is_at_its_path());
    files::remove_dir_all(top).unwrap();
}

#[test]
fn files_are_made_where_the_directory_is_and_never_through_a_link() {
    let path = place("moved");
    let output = create(&path, Older::Refuse).unwrap();
    output.keep();
    let outside = place("outside");
    files::write(&outside, "mine").unwrap();
    symlink(&outside, path.join(METADATA_NEW_FILE)).unwrap();
    symlink(&outside, path.join("stream-cpu0")).unwrap();
    assert!(output.write_metadata("x").is_err() && output.folder.make_file("stream-cpu0").is_err());
    let moved = place("moved-away");
    files::rename(&path, &moved).unwrap();
    files::create_dir(&path).unwrap();
    assert!(!output.folder.is_at_its_path());
    files::remove_file(moved.join(METADATA_NEW_FILE)).unwrap();
    output.finish(TEXT).unwrap();
    assert!(moved.join("metadata").exists());
    assert_eq!(files::read_dir(&path).unwrap().count(), 0);
    assert_eq!(files::read_to_string(&outside).unwrap(), "mine");
    for path in [path, moved] {
        files::remove_dir_all(path).unwrap();
    }
    files::remove_file(outside).unwrap();
}

#[test]
fn own_links_on_the_way_are_followed_and_one_in_the_place_is_refused() {
    let path = place("links");
    files::create_dir_all(path.join("real")).unwrap();
    symlink("real", path.join("link")).unwrap();
    symlink("loop", path.join("loop")).unwrap();
    create(&path.join("link/../link/above/trace"), Older::Refuse).unwrap().keep();
    assert!(path.join("real/above/trace").is_dir());
    assert_eq!(mode(&path.join("real/above")), 0o700);
    assert!(matches!(create(&path.join("link"), Older::Refuse), Err(Error::Link { .. })));
    assert!(matches!(create(&path.join("loop/x"), Older::Refuse), Err(Error::Io { .. })));
    assert!(matches!(create(Path::new(""), Older::Refuse), Err(Error::Io { .. })));
    create(&path.join("real/.."), Older::Refuse).map(|_| ()).unwrap_err();
    files::remove_dir_all(&path).unwrap();
}

#[test]
fn link_leads_to_the_newest_and_replaces_only_links_of_its_kind() {
    let path = place("newest");
    let at = |name: &str| path.join(name);
    let made = |name: &str| {
        let output = create(&at(name), Older::Refuse).unwrap();
        output.keep();
        output
    };
    let (first, second) = (made("t-1"), made("t-2"));
    let target = || files::read_link(at("t")).unwrap();
    first.link("t").unwrap();
    assert_eq!(target(), Path::new("t-1"));
    second.link("t").unwrap();
    assert_eq!(target(), Path::new("t-2"));
    assert_eq!(files::read_dir(&path).unwrap().count(), 3, "no temporary name is left");
    for other in ["elsewhere", "t-1/metadata", "../t-1", "/t-1", "t"] {
        files::remove_file(at("t")).unwrap();
        symlink(other, at("t")).unwrap();
        assert!(matches!(first.link("t"), Err(Error::LinkTaken { .. })), "{other}");
        assert_eq!(target(), Path::new(other));
    }
    files::remove_file(at("t")).unwrap();
    files::write(at("t"), "mine").unwrap();
    assert!(matches!(first.link("t"), Err(Error::LinkTaken { .. })));
    assert_eq!(files::read_to_string(at("t")).unwrap(), "mine");
    files::remove_dir_all(&path).unwrap();
}

#[test]
fn place_where_no_directory_can_be_made_says_so_at_once() {
    let error = create(Path::new("/proc/lull"), Older::Refuse).unwrap_err();
    assert!(error.to_string().contains("-o"), "{error}");
}

#[test]
fn metadata_is_written_before_the_first_packet_with_a_new_event_and_not_again() {
    use crate::events::Events;
    use crate::metadata::Class;
    use session::clock::CtfClock;
    use session::description::Description;
    let path = place("prepare");
    let output = Arc::new(create(&path, Older::Refuse).unwrap());
    let clock = CtfClock { frequency_hz: 1, precision_cycles: 1, offset_s: 0, offset_cycles: 0 };
    let (uuid, kept) = ([7; 16], String::new());
    let facts = Facts { uuid, clock, clock_uuid: None, environment: Vec::new(), kept };
    let (mut events, others) = (Events::default(), Events::default());
    let mut trace = Trace::start(output, facts, &[Class { number: 0, events: &events }]).unwrap();
    let text = || files::read_to_string(path.join("metadata")).unwrap();
    assert!(text().contains("lull:thread") && !text().contains("new:event"));
    events.add(9, Description::parse(b"new:event\n6\nf:1\n").unwrap());
    trace.prepare(&[Class { number: 0, events: &events }], 0);
    assert!(text().contains("new:event"));
    files::write(path.join("metadata"), "as it was left").unwrap();
    trace.prepare(&[Class { number: 0, events: &events }], 0);
    assert_eq!(text(), "as it was left");
    trace.prepare(&[Class { number: 0, events: &events }, Class { number: 1, events: &others }], 0);
    assert!(text().contains("new:event"), "a user joined");
    assert_eq!(trace.last_error, None);
    files::remove_dir_all(&path).unwrap();
    trace.prepare(&[Class { number: 0, events: &others }], 0);
    assert!(trace.last_error.is_some());
}

#[test]
fn indexes_that_readers_left_go_with_the_trace_and_other_files_there_do_not() {
    let path = place("indexes");
    trace_at(&path);
    let snapshot = path.join("snapshot-1");
    files::create_dir(&snapshot).unwrap();
    files::copy(path.join(METADATA_FILE), snapshot.join(METADATA_FILE)).unwrap();
    for folder in [&path, &snapshot] {
        files::create_dir(folder.join("index")).unwrap();
        for name in ["channel_0.lull.idx", "lull.history", "lull.history.42-1.unfinished"] {
            files::write(folder.join("index").join(name), "").unwrap();
        }
    }
    let notes = snapshot.join("index").join("notes");
    files::write(&notes, "").unwrap();
    match create(&path, Older::Replace) {
        Err(Error::Foreign { name, .. }) => {
            assert_eq!(name, Path::new("snapshot-1/index/notes"));
        }
        other => panic!("{:?}", other.err()),
    }
    files::remove_file(&notes).unwrap();
    assert!(matches!(create(&path, Older::Refuse), Err(Error::Older { .. })));
    let output = create(&path, Older::Replace).unwrap();
    let left: Vec<_> = files::read_dir(&path).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    drop(output);
    let _ = files::remove_dir_all(&path);
}

#[test]
fn what_a_killed_command_left_is_replaced_and_what_it_did_not_write_stays() {
    let path = place("unfinished");
    let create = || Output::create_unfinished(&path, Sharing::PRIVATE);
    let mark = path.join(UNFINISHED_FILE);
    // Several traces, of which one is whole and another tracer's, and one is begun.
    let leave = || {
        for name in ["a", "b"] {
            files::create_dir(path.join(name)).unwrap();
            files::write(path.join(name).join("stream-cpu0"), "events").unwrap();
        }
        files::write(path.join("a/metadata"), "env { tracer_name = \"other\"; };").unwrap();
    };
    let output = create().unwrap();
    assert!(mark.exists());
    leave();
    assert!(matches!(create(), Err(Error::Busy { .. })), "it is at work");
    // A process that is killed gives nothing away but its lock.
    output.is_kept.store(true, Ordering::Relaxed);
    drop(output);
    let output = create().unwrap();
    assert_eq!(files::read_dir(&path).unwrap().count(), 1, "only the mark");
    leave();
    files::write(path.join("b/letter"), "").unwrap();
    output.is_kept.store(true, Ordering::Relaxed);
    drop(output);
    let Err(Error::Foreign { name, .. }) = create() else { panic!() };
    assert_eq!(name, Path::new("b/letter"));
    assert!(path.join("a/stream-cpu0").exists() && mark.exists());
    files::remove_file(path.join("b/letter")).unwrap();
    let output = create().unwrap();
    leave();
    output.keep();
    assert!(!mark.exists() && path.join("a/metadata").exists());
    drop(output);
    assert!(create().is_err());
    files::remove_dir_all(&path).unwrap();
    let output = create().unwrap();
    leave();
    output.discard();
    assert!(!path.exists());
}
