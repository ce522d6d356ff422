// SPDX-License-Identifier: MIT
//! Which fields of an event tell what an operation needs to know, and how they are read.
//!
//! Place in the flow: `classes` finds the fields of each event class once; `moment` reads them for
//! each event. Names are those of Lull's own events, of the kernel's and of LTTng's.

use trace::{Event, EventClass, Group, Integer, Name, Value, Visitor};

use crate::interrupts::InterruptKind;
use crate::operation::{LockKind, Operation, Values};
use crate::texts::{TextIndex, Texts};

/// Which of the [`Values`] a field's value becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    Subject,
    Other,
    Third,
    Fourth,
    Fifth,
    Sixth,
    /// Two numbers in an array: the subject and the other.
    Both,
    Result,
    Error,
    Text,
    MoreText,
    /// Numbers below 256 in an array: more text.
    Bytes,
}

pub(crate) type Fields = &'static [(Slot, &'static [&'static str])];

const RESULT: (Slot, &[&str]) = (Slot::Result, &["result", "ret"]);
const ERROR: (Slot, &[&str]) = (Slot::Error, &["error"]);
const DESCRIPTOR: (Slot, &[&str]) = (Slot::Subject, &["fd", "fildes"]);
const STREAM: (Slot, &[&str]) = (Slot::Subject, &["file"]);
const PATH: (Slot, &[&str]) = (Slot::Text, &["path", "filename"]);
const ADDRESS: (Slot, &[&str]) = (Slot::Text, &["address"]);
const FLAGS: (Slot, &[&str]) = (Slot::Third, &["flags"]);
const PROTECTION: (Slot, &[&str]) = (Slot::Fourth, &["prot"]);
const LENGTH: (Slot, &[&str]) = (Slot::Other, &["len", "length"]);

/// What the calls return is the number of an error, or 0.
const LOCK_ERROR: (Slot, &[&str]) = (Slot::Error, &["result", "status"]);

impl LockKind {
    /// Of a wait: the lock, the mutex that is let go meanwhile, whether it is for readers.
    fn fields(self) -> Fields {
        match self {
            LockKind::Mutex => &[(Slot::Subject, &["mutex"]), LOCK_ERROR],
            LockKind::Rwlock => {
                &[(Slot::Subject, &["rwlock"]), (Slot::Third, &["kind"]), LOCK_ERROR]
            }
            LockKind::Cond => &[(Slot::Subject, &["cond"]), (Slot::Other, &["mutex"]), LOCK_ERROR],
            LockKind::Sem | LockKind::Barrier => self.address_field(),
        }
    }

    fn address_field(self) -> Fields {
        match self {
            LockKind::Mutex => &[(Slot::Subject, &["mutex"])],
            LockKind::Rwlock => &[(Slot::Subject, &["rwlock"])],
            LockKind::Cond => &[(Slot::Subject, &["cond"])],
            LockKind::Sem => &[(Slot::Subject, &["sem"])],
            LockKind::Barrier => &[(Slot::Subject, &["barrier"])],
        }
    }
}

impl Operation {
    pub(crate) fn fields(self) -> Fields {
        use Operation::*;
        match self {
            None | ThreadExit => &[],
            SystemCall => &[RESULT],
            ThreadStart => &[(Slot::Subject, &["handle"])],
            ThreadName => &[(Slot::Subject, &["handle"]), (Slot::Text, &["name"])],
            Lock(kind) => kind.fields(),
            Release { kind, .. } => kind.address_field(),
            Interrupt(InterruptKind::Device) => {
                &[(Slot::Subject, &["irq"]), (Slot::Text, &["name"])]
            }
            Interrupt(_) => &[(Slot::Subject, &["vec", "vector"])],
            Read | Write | Touch | Close => &[DESCRIPTOR, RESULT, ERROR],
            Copy => &[
                (Slot::Subject, &["from_fd", "in_fd", "fd_in"]),
                (Slot::Other, &["to_fd", "out_fd", "fd_out"]),
                RESULT,
                ERROR,
            ],
            StreamRead | StreamWrite => &[STREAM, (Slot::Other, &["size_bytes"]), RESULT, ERROR],
            StreamTouch | StreamClose => &[STREAM, RESULT, ERROR],
            Open => &[PATH, FLAGS, RESULT],
            StreamOpen => &[PATH, STREAM, (Slot::Other, &["fd"])],
            StreamAttach => &[STREAM, (Slot::Other, &["fd"])],
            CloseRange => &[
                (Slot::Subject, &["first_fd", "fd"]),
                (Slot::Other, &["last_fd", "max_fd"]),
                FLAGS,
                RESULT,
            ],
            CloseFrom => &[(Slot::Subject, &["first_fd"])],
            Duplicate => &[(Slot::Subject, &["fd", "fildes", "oldfd"]), FLAGS, RESULT],
            Control => &[
                DESCRIPTOR,
                (Slot::Other, &["command", "cmd"]),
                (Slot::Third, &["argument", "arg"]),
                RESULT,
            ],
            Pipe | SocketPair => self.ends_fields(),
            Socket => &[RESULT],
            Bind | Connect | Accept => &[DESCRIPTOR, ADDRESS, RESULT],
            Map | Unmap | MoveMap | Protect | Object => self.map_fields(),
            ProcessStart => &[
                (Slot::Subject, &["pid"]),
                (Slot::Other, &["parent_pid"]),
                PATH,
                (Slot::MoreText, &["arguments"]),
            ],
            ProcessJoin => &[(Slot::Subject, &["pid"]), PATH],
            ProcessExit => &[(Slot::Subject, &["status", "error_code"])],
            Forked => &[(Slot::Subject, &["parent_pid"])],
            ChildWait => &[(Slot::Subject, &["child_pid"]), (Slot::Other, &["status"])],
            Exec => &[PATH],
            _ => self.task_fields(),
        }
    }

    /// Of the calls that make two descriptors at once.
    fn ends_fields(self) -> Fields {
        match self {
            Operation::Pipe => &[
                (Slot::Subject, &["read_fd", "fildes_read"]),
                (Slot::Other, &["write_fd", "fildes_write"]),
                (Slot::Both, &["fildes"]),
                FLAGS,
                RESULT,
            ],
            _ => &[
                (Slot::Subject, &["first_fd", "usockvec_first"]),
                (Slot::Other, &["second_fd", "usockvec_second"]),
                (Slot::Both, &["socket"]),
                RESULT,
            ],
        }
    }

    /// Of what changes maps, or tells of them.
    fn map_fields(self) -> Fields {
        match self {
            Operation::Map => {
                &[DESCRIPTOR, LENGTH, FLAGS, PROTECTION, (Slot::Fifth, &["off", "offset"]), RESULT]
            }
            Operation::Object => &[
                (Slot::Subject, &["base"]),
                (Slot::Other, &["bytes"]),
                PATH,
                (Slot::Bytes, &["build_id"]),
            ],
            Operation::MoveMap => &[
                (Slot::Subject, &["addr"]),
                (Slot::Other, &["old_len"]),
                (Slot::Third, &["new_len"]),
                (Slot::Fourth, &["flags"]),
                RESULT,
            ],
            _ => &[(Slot::Subject, &["addr", "start"]), LENGTH, PROTECTION, RESULT],
        }
    }

    /// Of the kernel's operations on tasks.
    fn task_fields(self) -> Fields {
        use Operation::*;
        match self {
            DumpEnd => &[(Slot::Subject, &["is_whole"])],
            TaskNew => &[
                (Slot::Subject, &["pid"]),
                (Slot::Third, &["clone_flags"]),
                (Slot::Text, &["comm"]),
            ],
            TaskFork => &[
                (Slot::Subject, &["child_tid"]),
                (Slot::Other, &["child_pid"]),
                (Slot::Third, &["parent_pid"]),
                (Slot::Text, &["child_comm"]),
            ],
            TaskExec => &[(Slot::Subject, &["pid", "tid"]), PATH],
            TaskName => &[(Slot::Subject, &["pid"]), (Slot::Text, &["newcomm"])],
            DumpThread => &[
                (Slot::Subject, &["tid"]),
                (Slot::Other, &["pid"]),
                (Slot::Third, &["ppid"]),
                (Slot::Fourth, &["file_table_address"]),
                (Slot::Fifth, &["status"]),
                (Slot::Text, &["name"]),
                (Slot::MoreText, &["state"]),
            ],
            DumpProcess => &[(Slot::Subject, &["pid"]), (Slot::Text, &["program"])],
            DumpCommand => &[(Slot::Subject, &["pid"]), (Slot::MoreText, &["text"])],
            DumpMap => &[
                (Slot::Subject, &["pid"]),
                (Slot::Other, &["begin"]),
                (Slot::Third, &["until"]),
                (Slot::Fourth, &["flags"]),
                (Slot::Fifth, &["offset_bytes"]),
                (Slot::Sixth, &["inode"]),
                PATH,
            ],
            DumpFile => &[
                (Slot::Subject, &["pid"]),
                (Slot::Other, &["fd"]),
                (Slot::Third, &["closes_on_exec"]),
                PATH,
            ],
            DumpTableFile => &[
                (Slot::Subject, &["pid"]),
                (Slot::Other, &["fd"]),
                FLAGS,
                (Slot::Fourth, &["file_table_address"]),
                PATH,
            ],
            _ => &[],
        }
    }
}

/// The fields of one event class that an operation needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loads {
    fields: Box<[(Slot, usize)]>,
}

impl Loads {
    pub fn of(operation: Operation, class: &EventClass) -> Self {
        let position = |names: &[&str]| names.iter().find_map(|name| class.field_index(name));
        let found = operation.fields().iter();
        let fields = found.filter_map(|(slot, names)| Some((*slot, position(names)?)));
        Self { fields: fields.collect() }
    }

    /// Reads the fields of an event over what is known already.
    #[inline]
    pub fn read(&self, event: &Event<'_>, values: &mut Values, texts: &mut Texts) {
        for (slot, field) in &self.fields {
            let Some(value) = event.value(*field) else { continue };
            let text = |texts: &mut Texts| match value {
                Value::Text(bytes) => texts.index(bytes),
                _ => TextIndex::NONE,
            };
            match slot {
                Slot::Subject => values.subject = number(value),
                Slot::Other => values.other = number(value),
                Slot::Third => values.third = number(value),
                Slot::Fourth => values.fourth = number(value),
                Slot::Fifth => values.fifth = number(value),
                Slot::Sixth => values.sixth = number(value),
                Slot::Both => {
                    if let Some([first, second]) = Elements::of(event, *field).two() {
                        (values.subject, values.other) = (first, second);
                    }
                }
                Slot::Result => values.result = number(value),
                Slot::Error => values.error = number(value),
                Slot::Text => values.text = text(texts),
                Slot::MoreText => values.more_text = text(texts),
                Slot::Bytes => values.more_text = texts.index(&Elements::of(event, *field).bytes()),
            }
        }
    }
}

/// Elements of an array that are kept: a build id has 20, seldom more.
const ELEMENTS_MAX: usize = 64;

/// The first elements of one field that is an array of numbers.
struct Elements<'c> {
    field: &'c str,
    is_inside: bool,
    found: [i64; ELEMENTS_MAX],
    count: usize,
}

impl<'c> Elements<'c> {
    /// None where the event is damaged.
    fn of<'e: 'c>(event: &'c Event<'e>, field: usize) -> Self {
        let fields = event.class().payload.as_ref().map(|payload| &payload.fields);
        let field = fields.and_then(|fields| fields.get(field)).map_or("", |field| field.name());
        let nothing = || Elements { field, is_inside: false, found: [0; ELEMENTS_MAX], count: 0 };
        let mut elements = nothing();
        match event.fields(&mut elements) {
            Ok(()) => elements,
            Err(_) => nothing(),
        }
    }

    fn two(&self) -> Option<[i64; 2]> {
        let [first, second, ..] = self.found;
        (self.count == 2).then_some([first, second])
    }

    /// Nothing where there are more.
    fn bytes(&self) -> Vec<u8> {
        let all = self.found.get(..self.count).unwrap_or_default();
        all.iter().map(|element| *element as u8).collect()
    }
}

impl Visitor for Elements<'_> {
    fn signed(&mut self, name: Name<'_>, value: i64, _: &Integer) {
        if self.is_inside && matches!(name, Name::Index(_)) {
            if let Some(found) = self.found.get_mut(self.count) {
                *found = value;
            }
            self.count = self.count.saturating_add(1);
        }
    }
    fn unsigned(&mut self, name: Name<'_>, value: u64, ty: &Integer) {
        self.signed(name, value as i64, ty);
    }
    fn begin(&mut self, name: Name<'_>, _: Group<'_>) {
        self.is_inside = name == Name::Field(self.field);
    }
    fn end(&mut self, _: Group<'_>) {
        self.is_inside = false;
    }
}

/// A number's bits: an address above 2^63 stays itself when read back as unsigned.
fn number(value: Value<'_>) -> i64 {
    match value {
        Value::Unsigned(value) | Value::Enumeration { value, .. } => value as i64,
        Value::Signed(value) => value,
        _ => 0,
    }
}
