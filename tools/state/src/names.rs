// SPDX-License-Identifier: MIT
//! What threads and processes are called.
//!
//! Place in the flow: `threads` knows them by number; here are the names that people see.

use crate::texts::{Texts, OTHERS_TEXT};
use crate::threads::{Process, ProcessIndex, Thread, ThreadIndex, ThreadKey, Threads};

/// A short name, as the kernel keeps it: 16 bytes at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ShortName([u8; 16]);

impl ShortName {
    /// The first 16 bytes.
    pub fn new(bytes: &[u8]) -> Self {
        let mut name = [0; 16];
        let count = bytes.len().min(name.len());
        name[..count].copy_from_slice(&bytes[..count]);
        Self(name)
    }

    /// All of its bytes.
    pub fn bytes(&self) -> [u8; 16] {
        self.0
    }

    /// Up to the first NUL; bytes that are not UTF-8 are shown as such.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.as_bytes()).into_owned()
    }

    /// The bytes before the first NUL.
    pub fn as_bytes(&self) -> &[u8] {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        &self.0[..length]
    }
}

impl Threads {
    /// What to call a thread: `name[tid]`.
    pub fn label(&self, thread: ThreadIndex) -> String {
        match self.threads().get(thread.0 as usize) {
            Some(Thread {
                key: Some(ThreadKey::Named { tid, .. } | ThreadKey::Scheduled { tid, .. }),
                name,
                ..
            }) => format!("{}[{tid}]", name.text()),
            Some(Thread { key: Some(ThreadKey::Idle { cpu, .. }), .. }) => format!("swapper/{cpu}"),
            Some(Thread { key: Some(ThreadKey::Unnamed { cpu, .. }), .. }) => format!("CPU {cpu}"),
            _ => OTHERS_TEXT.into(),
        }
    }

    /// What to call a process: `name[pid]`.
    pub fn process_label(&self, process: ProcessIndex, texts: &Texts) -> String {
        match self.processes().get(process.0 as usize) {
            Some(found @ Process { pid: Some(pid), .. }) => {
                format!("{}[{pid}]", self.process_name(found, texts))
            }
            _ => OTHERS_TEXT.into(),
        }
    }

    /// The process's identifier, if it is known and the number is of one process.
    pub fn pid(&self, process: ProcessIndex) -> Option<i64> {
        self.processes().get(process.0 as usize)?.pid
    }

    /// The thread's identifier, if it is known and the number is of one thread.
    pub fn tid(&self, thread: ThreadIndex) -> Option<i64> {
        match self.threads().get(thread.0 as usize)?.key? {
            ThreadKey::Named { tid, .. } | ThreadKey::Scheduled { tid, .. } => Some(tid),
            ThreadKey::Idle { .. } => Some(0),
            ThreadKey::Unnamed { .. } => None,
        }
    }

    /// The last part of the program's path, or the name of the first thread.
    pub fn process_name(&self, process: &Process, texts: &Texts) -> String {
        let path = texts.text(process.path);
        if let Some(name) = path.rsplit('/').next().filter(|name| !name.is_empty()) {
            return name.into();
        }
        let main = self.threads().get(process.first().0 as usize);
        main.map_or_else(String::new, |thread| thread.name.text())
    }
}
