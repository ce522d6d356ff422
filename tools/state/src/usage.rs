// SPDX-License-Identifier: MIT
//! What calls do with descriptors: which files they use, and which descriptors there are after.
//!
//! Place in the flow: `moment` asks for each finished call, first what it used and then for the
//! change, because a call that closes a file uses it too.

use crate::descriptors::{Descriptors, File};
use crate::operation::{Operation, Values};
use crate::texts::{TextIndex, Texts};
use crate::threads::ProcessIndex;

pub(crate) const CLOSES_ON_EXEC: i64 = 0o2_000_000;
const CLOSE_RANGE_ON_EXEC: i64 = 4;
const DUPLICATE: i64 = 0;
const SET_FLAGS: i64 = 2;
const DUPLICATE_ON_EXEC: i64 = 1030;

/// What a call moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// Bytes out of a file into the process.
    In(u64),
    /// Bytes out of the process into a file.
    Out(u64),
    /// No bytes.
    Nothing,
}

/// The files that a call used: one, or two when it copies from the first to the second.
pub type Uses = [Option<(File, Moved)>; 2];

impl Descriptors {
    /// The files that a call uses, and how many bytes it moves there.
    pub(crate) fn uses(
        &self,
        operation: Operation,
        process: ProcessIndex,
        values: &Values,
    ) -> Uses {
        let bytes = u64::try_from(values.result).unwrap_or(0);
        let items = bytes.saturating_mul(u64::try_from(values.other).unwrap_or(0));
        let file = |fd| self.file(process, fd);
        let stream = || self.stream_file(process, values.subject as u64);
        match operation {
            Operation::Read => [Some((file(values.subject), Moved::In(bytes))), None],
            Operation::Write => [Some((file(values.subject), Moved::Out(bytes))), None],
            Operation::Touch => [Some((file(values.subject), Moved::Nothing)), None],
            Operation::Copy => [
                Some((file(values.subject), Moved::In(bytes))),
                Some((file(values.other), Moved::Out(bytes))),
            ],
            Operation::StreamRead => [Some((stream(), Moved::In(items))), None],
            Operation::StreamWrite => [Some((stream(), Moved::Out(items))), None],
            Operation::StreamTouch | Operation::StreamClose => {
                [Some((stream(), Moved::Nothing)), None]
            }
            // One that succeeded begins the use, and is none.
            Operation::Open if values.result < 0 && values.text != TextIndex::NONE => {
                [Some((File::Path(values.text), Moved::Nothing)), None]
            }
            _ => [None, None],
        }
    }

    /// What a call that has not returned is about.
    pub(crate) fn subject(
        &self,
        operation: Operation,
        process: ProcessIndex,
        values: &Values,
    ) -> Option<File> {
        Some(match operation {
            Operation::Connect | Operation::Accept => self.file(process, values.subject),
            Operation::Open if values.text != TextIndex::NONE => File::Path(values.text),
            Operation::Map if values.subject >= 0 => self.file(process, values.subject),
            call => self.uses(call, process, values)[0]?.0,
        })
    }

    /// What a finished call changes of which descriptors there are.
    pub(crate) fn change(
        &mut self,
        operation: Operation,
        process: ProcessIndex,
        values: &Values,
        texts: &mut Texts,
    ) {
        let Values { subject, other, third, result, text, .. } = *values;
        let on_exec = third & CLOSES_ON_EXEC != 0;
        match operation {
            Operation::StreamClose => self.stream_closed(process, subject as u64),
            Operation::Connect if text != TextIndex::NONE => {
                self.opened(process, subject, File::To(text), false);
            }
            _ if result < 0 => {}
            Operation::Open if text != TextIndex::NONE => {
                self.opened(process, result, File::Path(text), on_exec);
            }
            Operation::StreamOpen if text != TextIndex::NONE => {
                self.opened(process, other, File::Path(text), false);
                self.stream_opened(process, subject as u64, other, File::Path(text));
            }
            Operation::StreamAttach => {
                let file = self.file(process, other);
                self.stream_opened(process, subject as u64, other, file);
            }
            Operation::Close => self.closed(process, subject, subject),
            Operation::CloseRange if third & CLOSE_RANGE_ON_EXEC == 0 => {
                self.closed(process, subject, other);
            }
            Operation::CloseFrom => self.closed(process, subject, i64::MAX),
            Operation::Duplicate => self.duplicated(process, subject, result, on_exec),
            Operation::Control if matches!(other, DUPLICATE | DUPLICATE_ON_EXEC) => {
                self.duplicated(process, subject, result, other == DUPLICATE_ON_EXEC);
            }
            Operation::Control if other == SET_FLAGS => {
                self.marked(process, subject, third & 1 != 0);
            }
            // The kernel's events of the call have only the address of the two numbers.
            Operation::Pipe | Operation::SocketPair if subject == other => {}
            Operation::Pipe => {
                self.opened(process, subject, File::Pipe(process), on_exec);
                self.opened(process, other, File::Pipe(process), on_exec);
            }
            Operation::SocketPair => {
                self.opened(process, subject, File::Socket(process), false);
                self.opened(process, other, File::Socket(process), false);
            }
            Operation::Socket => self.opened(process, result, File::Socket(process), false),
            Operation::Bind if text != TextIndex::NONE => {
                self.opened(process, subject, File::At(text), false);
            }
            Operation::Accept => {
                let peer = peer(text, texts);
                let file =
                    if peer == TextIndex::NONE { File::Socket(process) } else { File::From(peer) };
                self.opened(process, result, file, false);
            }
            _ => {}
        }
    }
}

/// A peer's address without its port: a server's rows are its clients, not their connections.
fn peer(address: TextIndex, texts: &mut Texts) -> TextIndex {
    let host = match texts.bytes(address) {
        b"none" => return TextIndex::NONE,
        text if text.starts_with(b"unix:") => return address,
        text => match text.iter().rposition(|byte| *byte == b':') {
            Some(colon) => text[..colon].to_vec(),
            None => return address,
        },
    };
    texts.index(&host)
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: ProcessIndex = ProcessIndex(1);

    fn values(subject: i64, other: i64, result: i64) -> Values {
        Values { subject, other, result, ..Values::default() }
    }

    #[test]
    fn calls_use_the_path_behind_the_descriptor_until_it_is_closed() {
        let (mut open, mut texts) = (Descriptors::new(99), Texts::new(9));
        let text = texts.index(b"/tmp/x");
        let read = |open: &Descriptors, fd| open.uses(Operation::Read, P, &values(fd, 0, 100));
        let used = |file| [Some((file, Moved::In(100))), None];
        open.change(Operation::Open, P, &Values { text, ..values(0, 0, 3) }, &mut texts);
        assert_eq!(read(&open, 3), used(File::Path(text)));
        open.change(Operation::Duplicate, P, &values(3, 0, 5), &mut texts);
        open.change(Operation::Close, P, &values(3, 0, -1), &mut texts);
        assert_eq!(read(&open, 3), used(File::Path(text)), "a close that failed");
        open.change(Operation::Close, P, &values(3, 0, 0), &mut texts);
        assert_eq!(read(&open, 3), used(File::Descriptor(P, 3)));
        assert_eq!(read(&open, 5), used(File::Path(text)));
    }

    #[test]
    fn copying_uses_both_sides_and_streams_move_items() {
        let (mut open, mut texts) = (Descriptors::new(99), Texts::new(9));
        let (input, output) = (File::Descriptor(P, 0), File::Descriptor(P, 1));
        let copied = open.uses(Operation::Copy, P, &values(0, 1, 30));
        assert_eq!(copied, [Some((input, Moved::In(30))), Some((output, Moved::Out(30)))]);
        open.change(Operation::StreamAttach, P, &values(0x10, 1, 0), &mut texts);
        let written = open.uses(Operation::StreamWrite, P, &values(0x10, 8, 3));
        assert_eq!(written, [Some((output, Moved::Out(24))), None]);
        open.change(Operation::StreamClose, P, &values(0x10, 0, -1), &mut texts);
        let closed = open.uses(Operation::StreamClose, P, &values(0x10, 0, 0));
        assert_eq!(closed, [Some((File::Stream(P), Moved::Nothing)), None]);
    }

    #[test]
    fn a_call_that_failed_moved_nothing_and_absurd_sizes_do_not_overflow() {
        let open = Descriptors::new(9);
        let read = open.uses(Operation::Read, P, &values(0, 0, -1));
        assert_eq!(read, [Some((File::Descriptor(P, 0), Moved::In(0))), None]);
        let many = open.uses(Operation::StreamRead, P, &values(1, i64::MAX, i64::MAX));
        assert_eq!(many, [Some((File::Stream(P), Moved::In(u64::MAX))), None]);
    }

    #[test]
    fn connections_of_one_client_are_one_file() {
        let (mut open, mut texts) = (Descriptors::new(99), Texts::new(9));
        for (fd, port) in [(7, 4001), (8, 4002)] {
            let text = texts.index(format!("127.0.0.1:{port}").as_bytes());
            let accepted = Values { text, ..values(4, 0, fd) };
            open.change(Operation::Accept, P, &accepted, &mut texts);
        }
        assert_eq!(open.file(P, 7), open.file(P, 8));
        assert_eq!(open.file(P, 7).label(&texts), "socket from 127.0.0.1");
    }
}
