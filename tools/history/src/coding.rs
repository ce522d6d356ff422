// SPDX-License-Identifier: MIT
//! Numbers, tracks and values as bytes of an index file, and back.
//!
//! Place in the flow: `segment` and `tail` write and read by these. Numbers have 7 bits in each
//! byte, the lowest first; signed ones have their sign in the lowest bit. What is read may be any
//! bytes: whatever makes no sense is `None`. The page docs/formats/history.md has the tables.

use state::{
    About, Exit, File, InterruptKind, LockKind, OffKind, PairIndex, ProcessIndex, ShortName,
    TextIndex, ThreadIndex,
};

use crate::storage::Part;
use crate::track::{Kind, Subject, Track};
use crate::value::{Call, Cause, Value};

/// Tracks, threads, texts or segments, of each.
const MOST_OF_A_KIND: u64 = 1 << 21;

/// Bytes in the making.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub bytes: Vec<u8>,
}

impl Writer {
    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub fn signed(&mut self, value: i64) {
        self.number((value as u64) << 1 ^ (value >> 63) as u64);
    }

    pub fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    /// Where a part lies.
    pub fn place(&mut self, part: Part) {
        for number in [part.offset, part.stored_bytes, part.raw_bytes] {
            self.number(number);
        }
    }

    fn tagged(&mut self, tag: u64, value: u64) {
        self.number(tag);
        self.number(value);
    }

    pub fn subject(&mut self, subject: Subject) {
        match subject {
            Subject::Thread(thread) => self.tagged(0, thread.0.into()),
            Subject::Cpu { host, cpu } => {
                self.tagged(1, host.into());
                self.number(cpu.into());
            }
            Subject::Process(process) => self.tagged(2, process.0.into()),
            Subject::Descriptor { process, fd } => {
                self.tagged(3, process.0.into());
                self.signed(fd.into());
            }
            Subject::Lock { process, kind, address } => {
                self.tagged(4, process.0.into());
                self.number(place_of(&LOCKS, kind));
                self.number(address);
            }
            Subject::Interrupt { host, kind, number } => {
                self.tagged(5, host.into());
                self.number(place_of(&INTERRUPTS, kind));
                self.signed(number);
            }
        }
    }

    pub fn track(&mut self, track: Track) {
        self.subject(track.subject);
        self.number(place_of(&Kind::ALL, track.kind));
        self.number(track.lane.into());
    }

    fn name(&mut self, name: ShortName) {
        let bytes = name.bytes();
        let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.text(bytes.get(..length).unwrap_or(&[]));
    }

    fn file(&mut self, file: File) {
        match file {
            File::Path(text) => self.tagged(0, text.0.into()),
            File::To(text) => self.tagged(1, text.0.into()),
            File::From(text) => self.tagged(2, text.0.into()),
            File::At(text) => self.tagged(3, text.0.into()),
            File::Socket(process) => self.tagged(4, process.0.into()),
            File::Pipe(process) => self.tagged(5, process.0.into()),
            File::Descriptor(process, fd) => {
                self.tagged(6, process.0.into());
                self.signed(fd.into());
            }
            File::Stream(process) => self.tagged(7, process.0.into()),
        }
    }

    fn call(&mut self, call: Call) {
        self.number(u64::from(call.pair.0) << 1 | u64::from(call.may_be_over));
        match call.about {
            About::Nothing => self.number(0),
            About::Lock(kind, address) => {
                self.tagged(1, place_of(&LOCKS, kind));
                self.number(address);
            }
            About::File(file) => {
                self.number(2);
                self.file(file);
            }
        }
    }

    pub fn value(&mut self, value: Value) {
        match value {
            Value::Unknown => self.number(0),
            Value::Running(cpu) => self.tagged(1, cpu.into()),
            Value::Waiting => self.number(2),
            Value::Off(kind, None) => self.tagged(3, place_of(&OFF, kind)),
            Value::Off(kind, Some(call)) => {
                self.tagged(4, place_of(&OFF, kind));
                self.call(call);
            }
            Value::Over => self.number(5),
            Value::In(call) => {
                self.number(6);
                self.call(call);
            }
            Value::Named(name) => {
                self.number(7);
                self.name(name);
            }
            Value::Runs(thread) => self.tagged(8, thread.0.into()),
            Value::Idle => self.number(9),
            Value::Interrupted { kind, number, name } => {
                self.tagged(10, place_of(&INTERRUPTS, kind));
                self.signed(number);
                self.number(name.0.into());
            }
            Value::Lives { parent_pid, program, name } => {
                self.tagged(11, program.0.into());
                self.number(parent_pid.is_some().into());
                self.signed(parent_pid.unwrap_or(0));
                self.name(name);
            }
            Value::Ended(None) => self.number(12),
            Value::Ended(Some(Exit::Code(code))) => {
                self.number(13);
                self.signed(code.into());
            }
            Value::Ended(Some(Exit::Signal(signal))) => {
                self.number(14);
                self.signed(signal.into());
            }
            Value::Open(file) => {
                self.number(15);
                self.file(file);
            }
            Value::Awaited { by, may_be_over } => {
                self.tagged(16, u64::from(by.0) << 1 | u64::from(may_be_over));
            }
            Value::Served(cpu) => self.tagged(17, cpu.into()),
            Value::Woken(Cause::Thread(thread)) => self.tagged(18, thread.0.into()),
            Value::Woken(Cause::Interrupt { cpu, kind, number, name }) => {
                self.tagged(19, cpu.into());
                self.number(place_of(&INTERRUPTS, kind));
                self.signed(number);
                self.number(name.0.into());
            }
            Value::Woken(Cause::Idle(cpu)) => self.tagged(20, cpu.into()),
            Value::LetGo { by, kind, address } => {
                self.tagged(21, by.0.into());
                self.number(place_of(&LOCKS, kind));
                self.number(address);
            }
            Value::Held { .. } | Value::Unheld { .. } | Value::Queued { .. } => {
                self.lock_value(value);
            }
        }
    }

    fn lock_value(&mut self, value: Value) {
        match value {
            Value::Held { by, is_certain } => {
                self.tagged(22, u64::from(by.0) << 1 | u64::from(is_certain));
            }
            Value::Unheld { let_go_by, had_by } => {
                self.number(23);
                for thread in [let_go_by, had_by] {
                    self.number(thread.map_or(0, |thread| u64::from(thread.0) + 1));
                }
            }
            Value::Queued { waiting, unsure } => {
                self.tagged(24, waiting.into());
                self.number(unsure.into());
            }
            _ => self.number(0),
        }
    }
}

const LOCKS: [LockKind; 5] =
    [LockKind::Mutex, LockKind::Rwlock, LockKind::Cond, LockKind::Sem, LockKind::Barrier];
const INTERRUPTS: [InterruptKind; 3] =
    [InterruptKind::Device, InterruptKind::Soft, InterruptKind::Vector];
const OFF: [OffKind; 4] =
    [OffKind::Sleep, OffKind::Uninterruptible, OffKind::Stopped, OffKind::Other];

fn place_of<T: PartialEq>(all: &[T], one: T) -> u64 {
    all.iter().position(|known| *known == one).unwrap_or(0) as u64
}

/// Bytes that are read; nothing more comes after the first that make no sense.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn small_signed(&mut self) -> Option<i32> {
        i32::try_from(self.signed()?).ok()
    }

    pub fn text(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(text)
    }

    /// How many of something follow: no more than any index has of it.
    pub fn count(&mut self) -> Option<u64> {
        self.number().filter(|count| *count <= MOST_OF_A_KIND)
    }

    /// Where a part lies.
    pub fn place(&mut self) -> Option<Part> {
        let (offset, stored_bytes) = (self.number()?, self.number()?);
        Some(Part { offset, stored_bytes, raw_bytes: self.number()? })
    }

    /// A part of its own, of so many bytes.
    pub fn part(&mut self) -> Option<Reader<'b>> {
        self.text().map(Reader::new)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(usize::try_from(self.number()?).ok()?).copied()
    }

    pub fn thread(&mut self) -> Option<ThreadIndex> {
        self.small().map(ThreadIndex)
    }

    /// A thread, by its number and 1, or 0 for none.
    fn thread_if(&mut self) -> Option<Option<ThreadIndex>> {
        let number = self.number()?;
        let before = number.checked_sub(1).map(u32::try_from).transpose().ok()?;
        Some(before.map(ThreadIndex))
    }

    pub fn process(&mut self) -> Option<ProcessIndex> {
        self.small().map(ProcessIndex)
    }

    pub fn subject(&mut self) -> Option<Subject> {
        Some(match self.number()? {
            0 => Subject::Thread(self.thread()?),
            1 => Subject::Cpu { host: self.small()?, cpu: self.small()? },
            2 => Subject::Process(self.process()?),
            3 => Subject::Descriptor { process: self.process()?, fd: self.small_signed()? },
            4 => Subject::Lock {
                process: self.process()?,
                kind: self.one_of(&LOCKS)?,
                address: self.number()?,
            },
            5 => Subject::Interrupt {
                host: self.small()?,
                kind: self.one_of(&INTERRUPTS)?,
                number: self.signed()?,
            },
            _ => return None,
        })
    }

    pub fn track(&mut self) -> Option<Track> {
        let subject = self.subject()?;
        Some(Track { subject, kind: self.one_of(&Kind::ALL)?, lane: self.small()? })
    }

    pub fn name(&mut self) -> Option<ShortName> {
        self.text().map(ShortName::new)
    }

    fn file(&mut self) -> Option<File> {
        let text = |number| TextIndex(number);
        Some(match self.number()? {
            0 => File::Path(text(self.small()?)),
            1 => File::To(text(self.small()?)),
            2 => File::From(text(self.small()?)),
            3 => File::At(text(self.small()?)),
            4 => File::Socket(self.process()?),
            5 => File::Pipe(self.process()?),
            6 => File::Descriptor(self.process()?, self.small_signed()?),
            7 => File::Stream(self.process()?),
            _ => return None,
        })
    }

    fn call(&mut self) -> Option<Call> {
        let pair = self.number()?;
        let may_be_over = pair & 1 != 0;
        let pair = PairIndex(u32::try_from(pair >> 1).ok()?);
        let about = match self.number()? {
            0 => About::Nothing,
            1 => About::Lock(self.one_of(&LOCKS)?, self.number()?),
            2 => About::File(self.file()?),
            _ => return None,
        };
        Some(Call { pair, about, may_be_over })
    }

    #[inline]
    pub fn value(&mut self) -> Option<Value> {
        Some(match self.number()? {
            0 => Value::Unknown,
            1 => Value::Running(self.small()?),
            2 => Value::Waiting,
            3 => Value::Off(self.one_of(&OFF)?, None),
            4 => Value::Off(self.one_of(&OFF)?, Some(self.call()?)),
            5 => Value::Over,
            6 => Value::In(self.call()?),
            7 => Value::Named(self.name()?),
            8 => Value::Runs(self.thread()?),
            9 => Value::Idle,
            10 => Value::Interrupted {
                kind: self.one_of(&INTERRUPTS)?,
                number: self.signed()?,
                name: TextIndex(self.small()?),
            },
            11 => {
                let program = TextIndex(self.small()?);
                let has_parent = self.number()? != 0;
                let parent_pid = Some(self.signed()?).filter(|_| has_parent);
                Value::Lives { parent_pid, program, name: self.name()? }
            }
            12 => Value::Ended(None),
            13 => Value::Ended(Some(Exit::Code(self.small_signed()?))),
            14 => Value::Ended(Some(Exit::Signal(self.small_signed()?))),
            15 => Value::Open(self.file()?),
            16 => {
                let by = self.number()?;
                let (by, may_be_over) = (u32::try_from(by >> 1).ok()?, by & 1 != 0);
                Value::Awaited { by: ThreadIndex(by), may_be_over }
            }
            17 => Value::Served(self.small()?),
            18 => Value::Woken(Cause::Thread(self.thread()?)),
            19 => Value::Woken(Cause::Interrupt {
                cpu: self.small()?,
                kind: self.one_of(&INTERRUPTS)?,
                number: self.signed()?,
                name: TextIndex(self.small()?),
            }),
            20 => Value::Woken(Cause::Idle(self.small()?)),
            21 => Value::LetGo {
                by: self.thread()?,
                kind: self.one_of(&LOCKS)?,
                address: self.number()?,
            },
            22 => {
                let by = self.number()?;
                let (by, is_certain) = (u32::try_from(by >> 1).ok()?, by & 1 != 0);
                Value::Held { by: ThreadIndex(by), is_certain }
            }
            23 => Value::Unheld { let_go_by: self.thread_if()?, had_by: self.thread_if()? },
            24 => Value::Queued { waiting: self.small()?, unsure: self.small()? },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_read_as_they_were_written() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let signed = [0, 1, -1, 63, -64, 64, i64::MAX, i64::MIN];
        let mut writer = Writer::default();
        numbers.iter().for_each(|number| writer.number(*number));
        signed.iter().for_each(|number| writer.signed(*number));
        let mut reader = Reader::new(&writer.bytes);
        assert!(numbers.iter().all(|number| reader.number() == Some(*number)));
        assert!(signed.iter().all(|number| reader.signed() == Some(*number)));
        assert!(reader.is_at_end() && reader.number().is_none());
        assert_eq!(Reader::new(&[0xff; 11]).number(), None);
    }

    #[test]
    fn every_kind_of_track_and_value_is_read_as_it_was_written() {
        let process = ProcessIndex(700);
        let subjects = [
            Subject::Thread(ThreadIndex(9)),
            Subject::Cpu { host: 1, cpu: 300 },
            Subject::Process(process),
            Subject::Descriptor { process, fd: i32::MAX },
            Subject::Lock { process, kind: LockKind::Barrier, address: u64::MAX },
            Subject::Interrupt { host: 0, kind: InterruptKind::Vector, number: -3 },
        ];
        let (text, device) = (TextIndex(77), InterruptKind::Device);
        let about = [
            About::Nothing,
            About::Lock(LockKind::Sem, 1 << 60),
            About::File(File::Path(text)),
            About::File(File::To(text)),
            About::File(File::From(text)),
            About::File(File::At(text)),
            About::File(File::Socket(process)),
            About::File(File::Pipe(process)),
            About::File(File::Descriptor(process, -1)),
            About::File(File::Stream(process)),
        ];
        let call = |about| Call { pair: PairIndex(40), about, may_be_over: true };
        let name = ShortName::new(b"a name of 16 byt");
        let mut values = vec![
            Value::Unknown,
            Value::Running(5),
            Value::Waiting,
            Value::Off(OffKind::Other, None),
            Value::Over,
            Value::Named(name),
            Value::Runs(ThreadIndex(6)),
            Value::Idle,
            Value::Interrupted { kind: InterruptKind::Soft, number: 7, name: text },
            Value::Lives { parent_pid: Some(-1), program: text, name },
            Value::Lives { parent_pid: None, program: text, name: ShortName::default() },
            Value::Ended(None),
            Value::Ended(Some(Exit::Code(255))),
            Value::Ended(Some(Exit::Signal(11))),
            Value::Open(File::Path(text)),
            Value::Awaited { by: ThreadIndex(u32::MAX), may_be_over: false },
            Value::Served(9),
            Value::Woken(Cause::Thread(ThreadIndex(8))),
            Value::Woken(Cause::Interrupt { cpu: 3, kind: device, number: -1, name: text }),
            Value::Woken(Cause::Idle(300)),
            Value::LetGo { by: ThreadIndex(8), kind: LockKind::Cond, address: u64::MAX },
            Value::Held { by: ThreadIndex(u32::MAX), is_certain: true },
            Value::Unheld { let_go_by: Some(ThreadIndex(u32::MAX)), had_by: None },
            Value::Queued { waiting: u32::MAX, unsure: 3 },
        ];
        values.extend(about.map(|about| Value::In(call(about))));
        values.extend(about.map(|about| Value::Off(OffKind::Sleep, Some(call(about)))));
        for (number, value) in values.into_iter().enumerate() {
            let track = Track {
                subject: subjects[number % subjects.len()],
                kind: Kind::ALL[number % Kind::ALL.len()],
                lane: number as u32,
            };
            let mut writer = Writer::default();
            writer.track(track);
            writer.value(value);
            let mut reader = Reader::new(&writer.bytes);
            assert_eq!((reader.track(), reader.value()), (Some(track), Some(value)));
            assert!(reader.is_at_end());
            let cut = &writer.bytes[..writer.bytes.len() - 1];
            let mut reader = Reader::new(cut);
            assert!(reader.track().is_none() || reader.value().is_none(), "{value:?}");
        }
    }
}
