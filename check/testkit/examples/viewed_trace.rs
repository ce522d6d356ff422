// SPDX-License-Identifier: MIT
//! Writes a trace for tests of the viewer: `viewed_trace FOLDER [LATER_NS]`. One that is later is
//! to be compared with the first: its reads last longer.
//!
//! Place in the flow: tests/view opens a page of it. There are nested calls, two CPUs, a loss
//! between two events of the second, and names and texts that a careless page would run.

use std::path::PathBuf;

use testkit::program::{Number, Program, Text, Who};

const MAIN: Who = (10, 10, "server");
const HOSTILE: Who = (20, 20, "<b onclick=x>");

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or("viewed-trace".into()));
    let later = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(0);
    let read_ns = if later == 0 { 4000 } else { 6000 };
    let mut program = Program::new();
    for round in 0..1000 {
        let at = later + 1_000_000 + round * 10_000;
        program.event(at, 0, MAIN, "job:begin", &[("id", Number(round as i64))]);
        program.event(at + 1000, 0, MAIN, "io:read_entry", &[("fd", Number(3))]);
        let result = [("result", Number(if round % 10 == 0 { -5 } else { 512 }))];
        program.event(at + 1000 + read_ns, 0, MAIN, "io:read_exit", &result);
        program.event(at + 9000, 0, MAIN, "job:end", &[]);
    }
    let text = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>\
        </script><script>document.title='run'</script><!--\u{2028}\u{2029}";
    let about = [("text", Text(text)), ("big", Number(i64::MAX))];
    program.event(later + 2_000_000, 1, HOSTILE, "<img src=x onerror=document.title=1>", &about);
    let call: (_, &[_]) = ("<u>call</u>_entry", &[("fd", Number(3))]);
    program.call((later + 3_000_000, later + 3_000_500), HOSTILE, call, ("<u>call</u>_exit", &[]));
    program.event(later + 5_000_000, 1, HOSTILE, "last:before", &[]);
    program.end_packet(later + 6_000_000, 1, [0, 0, 0, 0]);
    program.event(later + 8_000_000, 1, HOSTILE, "first:after", &[]);
    program.end_packet(later + 8_500_000, 1, [41, 0, 1, 0]);
    let (metadata, files) = program.files();
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("metadata"), metadata)?;
    files.iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))
}
