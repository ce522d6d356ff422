// SPDX-License-Identifier: MIT
//! The contexts of `core/include/lull/abi/context.h`: their names, numbers and types.
//!
//! Place in the flow: filters name them, and `lull record --context` asks for them. `memory` tells
//! programs which of them a session records, and the consumer what precedes the fields of events.

use crate::abi::{SESSION_CONTEXTS, SESSION_COPY_BYTES_MAX, SESSION_CPU_TIME, SESSION_FRAMES_MAX};
use crate::description::{Description, Field, FieldKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    pub name: &'static str,
    /// As `enum lull_context` has it.
    pub number: u8,
    pub kind: FieldKind,
}

const fn context(number: u8, name: &'static str, kind: FieldKind) -> Context {
    Context { name, number, kind }
}

const I32: FieldKind = FieldKind::Signed { bits: 32 };
const U32: FieldKind = FieldKind::Unsigned { bits: 32, hex: false };
const U64: FieldKind = FieldKind::Unsigned { bits: 64, hex: false };

static CONTEXTS: [Context; 15] = [
    context(0, "pid", I32),
    context(1, "tid", I32),
    context(2, "comm", FieldKind::Name),
    context(3, "prio", I32),
    context(4, "cpu", U32),
    context(5, "uid", U32),
    context(6, "cgroup", U64),
    context(7, "pid_ns", U32),
    context(8, "net_ns", U32),
    context(9, "mnt_ns", U32),
    context(10, "uts_ns", U32),
    context(11, "ipc_ns", U32),
    context(12, "cgroup_ns", U32),
    context(13, "user_ns", U32),
    context(14, "gid", U32),
];

impl Context {
    pub fn all() -> impl Iterator<Item = &'static Self> {
        CONTEXTS.iter()
    }

    pub fn find(name: &str) -> Option<&'static Self> {
        CONTEXTS.iter().find(|context| context.name == name)
    }

    /// Whether filters of programs' own events have it: liblull knows it without a system call.
    pub fn is_programs(&self) -> bool {
        matches!(self.name, "pid" | "tid" | "comm" | "cpu" | "uid")
    }
}

/// What a session records with each event of its programs, in front of the event's own fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// `1 << number` for each context, and `SESSION_CPU_TIME`.
    pub contexts: u32,
    /// Of the call stack, at most; 0: it is not recorded.
    pub user_frames: u32,
    /// Of the stack as it is, at most; 0: it is not recorded.
    pub copy_bytes: u32,
}

impl Recorded {
    /// None where programs cannot record that.
    pub fn checked(self) -> Option<Self> {
        let is_known = self.contexts & !SESSION_CONTEXTS == 0;
        let is_copy = self.copy_bytes <= SESSION_COPY_BYTES_MAX && self.copy_bytes % 8 == 0;
        (is_known && is_copy && self.user_frames <= SESSION_FRAMES_MAX).then_some(self)
    }

    /// Programs can record a context.
    pub fn has(context: &Context) -> bool {
        SESSION_CONTEXTS & 1 << context.number != 0
    }

    /// What precedes the fields of each event, in the order in which it lies there; None: nothing.
    pub fn description(self) -> Option<Description> {
        let field = |name: &str, kind: &FieldKind| Field { name: name.into(), kind: kind.clone() };
        let is_asked = |context: &&Context| self.contexts & 1 << context.number != 0;
        let contexts = Context::all().filter(is_asked);
        let mut fields: Vec<Field> =
            contexts.map(|context| field(context.name, &context.kind)).collect();
        if self.contexts & SESSION_CPU_TIME != 0 {
            fields.push(field("cpu_time", &FieldKind::Signed { bits: 64 }));
        }
        if self.user_frames != 0 {
            fields.push(field("user_stack", &FieldKind::Addresses));
        }
        if self.copy_bytes != 0 {
            fields.push(field("user_stack_copy", &FieldKind::Addresses));
        }
        let (name, source) = ("lull:context".into(), String::new());
        (!fields.is_empty()).then_some(Description { name, level: 6, source, fields })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_precedes_fields_is_described_as_the_header_lays_it_out() {
        assert_eq!(Recorded::default().description(), None);
        let contexts = SESSION_CPU_TIME | 1 << 2 | 1 << 1 | 1 << 6;
        let recorded = Recorded { contexts, user_frames: 3, copy_bytes: 64 };
        let found = recorded.description().unwrap();
        let lines: Vec<String> = found
            .fields
            .iter()
            .map(|field| format!("{} {}", field.kind.name(), field.name))
            .collect();
        let fixed = ["i32 tid", "name comm", "u64 cgroup", "i64 cpu_time"];
        let want = [&fixed[..], &["aptr user_stack", "aptr user_stack_copy"]].concat();
        assert_eq!(lines, want);
        let header = include_str!("../../../core/include/lull/abi/session.h");
        for line in &want[3..] {
            assert!(header.contains(&format!("\"{line}\\n\"")), "{line}");
        }
    }

    #[test]
    fn what_programs_cannot_record_is_refused() {
        let refused = |contexts, user_frames| {
            Recorded { contexts, user_frames, copy_bytes: 0 }.checked().is_none()
        };
        for (copy_bytes, is_refused) in [(8, false), (32768, false), (12, true), (32776, true)] {
            let recorded = Recorded { copy_bytes, ..Recorded::default() };
            assert_eq!(recorded.checked().is_none(), is_refused, "{copy_bytes}");
        }
        assert!(!refused(SESSION_CONTEXTS, SESSION_FRAMES_MAX) && !refused(0, 0));
        assert!(refused(0, SESSION_FRAMES_MAX + 1) && refused(1 << 15, 0) && refused(1 << 14, 0));
        let can = |name| Recorded::has(Context::find(name).unwrap());
        assert!(can("prio") && can("user_ns") && !can("gid"));
    }
}
