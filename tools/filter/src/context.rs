// SPDX-License-Identifier: MIT
//! The contexts of `core/include/lull/abi/context.h`: their names, numbers and types.
//!
//! Place in the flow: filters name them, and `lull record --context` asks for them.

use session::description::FieldKind;

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

    /// Whether a program's own events have it, too: liblull knows it without a system call.
    pub fn is_programs(&self) -> bool {
        matches!(self.name, "pid" | "tid" | "comm" | "cpu" | "uid")
    }
}
