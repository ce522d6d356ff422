// SPDX-License-Identifier: MIT
//! What stands behind the numbers in tracks and values.
//!
//! Place in the flow: taken from the state after the last event, and stored with the history.
//! Threads, processes and texts keep the numbers that they have in the state.

use state::{
    FileKey, InterruptKind, Mapped, Process, ProcessIndex, State, TextIndex, Texts, ThreadIndex,
    ThreadKey, Within, OTHERS_TEXT,
};
use trace::{Ns, Trace};

use crate::coding::{Reader, Writer};
use crate::track::Subject;
use crate::value::{Call, Cause, Value};

/// A thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadName {
    /// Who it is. `None`: it stands for all threads that found no space.
    pub key: Option<ThreadKey>,
    /// Its process.
    pub process: ProcessIndex,
    /// Its last name.
    pub name: state::ShortName,
}

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessName {
    /// The machine's number.
    pub host: u32,
    /// `None`: it stands for all processes that found no space.
    pub pid: Option<i64>,
    /// The last program that it ran.
    pub program: TextIndex,
    /// The thread whose name it has if no program is known.
    pub first: ThreadIndex,
}

/// What was loaded where a lock is, when a state of it began last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockPlace {
    /// The lock.
    pub lock: Subject,
    /// When that was.
    pub at: Ns,
    /// The file, and where in it the lock's memory is.
    pub place: Mapped,
}

/// Names of everything that a history tells of.
#[derive(Debug)]
pub struct Names {
    threads: Vec<ThreadName>,
    processes: Vec<ProcessName>,
    pairs: Vec<String>,
    hosts: Vec<String>,
    texts: Texts,
    locks: Vec<LockPlace>,
}

impl Names {
    /// The names that a state knows. Texts are copied. `locks`: when a state of
    /// each began last.
    pub fn of(state: &State, traces: &[Trace], locks: impl Iterator<Item = (Subject, Ns)>) -> Self {
        let threads = state.threads().threads().iter();
        let processes = state.threads().processes().iter();
        let mut hosts = Vec::new();
        for (index, trace) in traces.iter().enumerate() {
            let name = trace.metadata().environment_text("hostname").unwrap_or("");
            if state.host(index) as usize == hosts.len() {
                hosts.push(name.to_string());
            }
        }
        Self {
            threads: threads
                .map(|thread| ThreadName {
                    key: thread.key,
                    process: thread.process,
                    name: thread.name,
                })
                .collect(),
            processes: processes.map(ProcessName::of).collect(),
            pairs: state.classes().pairs().iter().map(|pair| pair.name.clone()).collect(),
            hosts,
            texts: Texts::again(state.texts().all().to_vec()),
            locks: locks.filter_map(|(lock, at)| LockPlace::of(state, lock, at)).collect(),
        }
    }

    /// Every thread; a `ThreadIndex` is a position. The first stands for many.
    pub fn threads(&self) -> &[ThreadName] {
        &self.threads
    }

    /// Every process; a `ProcessIndex` is a position. The first stands for many.
    pub fn processes(&self) -> &[ProcessName] {
        &self.processes
    }

    /// The names of machines, by number; empty for one that the trace does not name.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The texts behind their numbers.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// The locks that are in the memory of a file; those in other memory are not among them.
    pub fn locks(&self) -> &[LockPlace] {
        &self.locks
    }

    /// The name of a call.
    pub fn call(&self, call: &Call) -> &str {
        self.pairs.get(call.pair.0 as usize).map_or("", String::as_str)
    }

    /// The number of a thread, as the machine or the program counts; `None` if no event told it.
    pub fn tid(&self, thread: ThreadIndex) -> Option<i64> {
        match self.threads.get(thread.0 as usize)?.key? {
            ThreadKey::Named { tid, .. } | ThreadKey::Scheduled { tid, .. } => Some(tid),
            ThreadKey::Idle { .. } => Some(0),
            ThreadKey::Unnamed { .. } => None,
        }
    }

    /// The number of a process; `None` if it stands for many.
    pub fn pid(&self, process: ProcessIndex) -> Option<i64> {
        self.processes.get(process.0 as usize)?.pid
    }

    /// What to call a thread: its last name and its number.
    pub fn thread(&self, thread: ThreadIndex) -> String {
        match self.threads.get(thread.0 as usize) {
            Some(ThreadName { key: Some(ThreadKey::Idle { cpu, .. }), .. }) => {
                format!("swapper/{cpu}")
            }
            Some(ThreadName { key: Some(ThreadKey::Unnamed { cpu, .. }), .. }) => {
                format!("CPU {cpu}")
            }
            Some(ThreadName { key: Some(_), name, .. }) => {
                format!("{}[{}]", name.text(), self.tid(thread).unwrap_or(-1))
            }
            _ => OTHERS_TEXT.into(),
        }
    }

    /// What to call a process: the name of its last program or first thread, and its number.
    pub fn process(&self, process: ProcessIndex) -> String {
        let Some(ProcessName { pid: Some(pid), program, first, .. }) =
            self.processes.get(process.0 as usize)
        else {
            return OTHERS_TEXT.into();
        };
        let name = self.threads.get(first.0 as usize).map(|thread| thread.name);
        format!("{}[{pid}]", self.program(*program, name.unwrap_or_default()))
    }

    /// The last part of a program's path, or another name if that is not known.
    pub fn program(&self, program: TextIndex, otherwise: state::ShortName) -> String {
        let path = self.texts.text(program);
        match path.rsplit('/').next().filter(|name| !name.is_empty()) {
            Some(name) => name.into(),
            None => otherwise.text(),
        }
    }

    /// What to call a subject.
    pub fn subject(&self, subject: Subject) -> String {
        match subject {
            Subject::Thread(thread) => self.thread(thread),
            Subject::Cpu { cpu, .. } => format!("CPU {cpu}"),
            Subject::Process(process) => self.process(process),
            Subject::Descriptor { process, fd } => {
                format!("descriptor {fd} of {}", self.process(process))
            }
            Subject::Lock { process, kind, address } => {
                format!("{} {address:#x} of {}", kind.name(), self.process(process))
            }
            Subject::Interrupt { kind, number, .. } => {
                format!("{} {number}", interrupt_name(kind))
            }
        }
    }

    fn interrupt(&self, kind: InterruptKind, number: i64, name: TextIndex) -> String {
        let name = self.texts.text(name);
        let name = if name.is_empty() { name } else { format!(" ({name})") };
        format!("{} {number}{name}", interrupt_name(kind))
    }

    fn unheld(&self, let_go_by: Option<ThreadIndex>, had_by: Option<ThreadIndex>) -> String {
        let let_go = let_go_by.map(|by| format!("let go by {}", self.thread(by)));
        let had = had_by.map(|by| {
            format!("{} let it go at the end, and took it without a wait", self.thread(by))
        });
        match (let_go, had) {
            (Some(let_go), Some(had)) => format!("{let_go}; {had}"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => "who holds it is not known".into(),
        }
    }

    /// A state in words.
    pub fn value(&self, value: &Value) -> String {
        let call = |call: &Call| {
            let about = call.about.label(&self.texts).map(|about| format!(" {about}"));
            let doubt = if call.may_be_over { " (may be over)" } else { "" };
            format!("{}{}{doubt}", self.call(call), about.unwrap_or_default())
        };
        match value {
            Value::Unknown => "unknown".into(),
            Value::Running(cpu) => format!("running on CPU {cpu}"),
            Value::Waiting => "waiting for a CPU".into(),
            Value::Off(kind, within) => {
                let within = within.as_ref().map(|within| format!(" in {}", call(within)));
                format!("{}{}", off_name(*kind), within.unwrap_or_default())
            }
            Value::Over => "over".into(),
            Value::In(within) => format!("in {}", call(within)),
            Value::Named(name) => format!("named {}", name.text()),
            Value::Runs(thread) => format!("runs {}", self.thread(*thread)),
            Value::Idle => "idle".into(),
            Value::Interrupted { kind, number, name } => {
                format!("in {}", self.interrupt(*kind, *number, *name))
            }
            Value::Lives { parent_pid, program, name } => {
                let parent = parent_pid.map(|pid| format!(", child of {pid}"));
                format!("lives as {}{}", self.program(*program, *name), parent.unwrap_or_default())
            }
            Value::Ended(None) => "ended".into(),
            Value::Ended(Some(state::Exit::Code(code))) => format!("ended with status {code}"),
            Value::Ended(Some(state::Exit::Signal(signal))) => format!("ended by signal {signal}"),
            Value::Open(file) => format!("open: {}", file.label(&self.texts)),
            Value::Awaited { by, may_be_over } => {
                let doubt = if *may_be_over { " (may be over)" } else { "" };
                format!("awaited by {}{doubt}", self.thread(*by))
            }
            Value::Held { by, is_certain: true } => format!("held by {}", self.thread(*by)),
            Value::Held { by, is_certain: false } => {
                format!("got by {}; when it let it go is not recorded", self.thread(*by))
            }
            Value::Unheld { let_go_by, had_by } => self.unheld(*let_go_by, *had_by),
            Value::Queued { waiting, unsure: 0 } => format!("{waiting} waiting"),
            Value::Queued { waiting, unsure } => {
                format!("{waiting} waiting, and {unsure} that may be over")
            }
            Value::Served(cpu) => format!("served on CPU {cpu}"),
            Value::Woken(Cause::Thread(by)) => format!("woken by {}", self.thread(*by)),
            Value::Woken(Cause::Interrupt { cpu, kind, number, name }) => {
                format!("woken in {} on CPU {cpu}", self.interrupt(*kind, *number, *name))
            }
            Value::Woken(Cause::Idle(cpu)) => {
                format!("woken on CPU {cpu}, in an interrupt of which no event tells")
            }
            Value::LetGo { by, kind, address } => {
                format!("let go on by {}: {} {address:#x}", self.thread(*by), kind.name())
            }
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.number(self.threads.len() as u64);
        for ThreadName { key, process, name } in &self.threads {
            write_key(writer, *key);
            writer.number(process.0.into());
            writer.text(&name.bytes());
        }
        writer.number(self.processes.len() as u64);
        for ProcessName { host, pid, program, first } in &self.processes {
            writer.number((*host).into());
            writer.number(pid.is_some().into());
            writer.signed(pid.unwrap_or(0));
            writer.number(program.0.into());
            writer.number(first.0.into());
        }
        for texts in [&self.pairs, &self.hosts] {
            writer.number(texts.len() as u64);
            texts.iter().for_each(|text| writer.text(text.as_bytes()));
        }
        writer.number(self.texts.all().len() as u64);
        self.texts.all().iter().for_each(|text| writer.text(text));
        writer.number(self.locks.len() as u64);
        self.locks.iter().for_each(|place| place.write(writer));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let count = reader.count()?;
        let thread = |reader: &mut Reader<'_>| {
            let (key, process) = (read_key(reader)?, reader.process()?);
            Some(ThreadName { key, process, name: reader.name()? })
        };
        let threads = (0..count).map(|_| thread(reader)).collect::<Option<Vec<_>>>()?;
        let process = |reader: &mut Reader<'_>| {
            let host = reader.small()?;
            let has_pid = reader.number()? != 0;
            let pid = Some(reader.signed()?).filter(|_| has_pid);
            let program = TextIndex(reader.small()?);
            Some(ProcessName { host, pid, program, first: reader.thread()? })
        };
        let count = reader.count()?;
        let processes = (0..count).map(|_| process(reader)).collect::<Option<Vec<_>>>()?;
        let texts = |reader: &mut Reader<'_>| {
            let count = reader.count()?;
            let text = |_| Some(String::from_utf8_lossy(reader.text()?).into_owned());
            (0..count).map(text).collect::<Option<Vec<String>>>()
        };
        let (pairs, hosts) = (texts(reader)?, texts(reader)?);
        let count = reader.count()?;
        let texts = (0..count).map(|_| Some(reader.text()?.into()));
        let texts = Texts::again(texts.collect::<Option<Vec<Box<[u8]>>>>()?);
        let count = reader.count()?;
        let locks = (0..count).map(|_| LockPlace::read(reader)).collect::<Option<Vec<_>>>()?;
        Some(Self { threads, processes, pairs, hosts, texts, locks })
    }
}

impl LockPlace {
    fn of(state: &State, lock: Subject, at: Ns) -> Option<Self> {
        let Subject::Lock { process, address, .. } = lock else { return None };
        Some(Self { lock, at, place: Mapped::of(state, process, address, at)? })
    }

    fn write(&self, writer: &mut Writer) {
        let Self { lock, at, place: Mapped { file, within } } = self;
        writer.subject(*lock);
        writer.signed(at.0);
        writer.number(file.path.0.into());
        writer.number(file.inode.is_some().into());
        writer.number(file.inode.unwrap_or(0));
        writer.number(file.build_id.0.into());
        let (form, place) = match within {
            Within::File(place) => (0, place),
            Within::Object(place) => (1, place),
        };
        writer.number(form);
        writer.number(*place);
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (lock, at) = (reader.subject()?, Ns(reader.signed()?));
        let path = TextIndex(reader.small()?);
        let has_inode = reader.number()? != 0;
        let inode = Some(reader.number()?).filter(|_| has_inode);
        let file = FileKey { path, inode, build_id: TextIndex(reader.small()?) };
        let within = match (reader.number()?, reader.number()?) {
            (0, place) => Within::File(place),
            (1, place) => Within::Object(place),
            _ => return None,
        };
        Some(Self { lock, at, place: Mapped { file, within } })
    }
}

impl ProcessName {
    fn of(process: &Process) -> Self {
        let Process { host, pid, path, .. } = process;
        Self { host: *host, pid: *pid, program: *path, first: process.first() }
    }
}

/// The kernel's word for a wait.
pub fn off_name(kind: state::OffKind) -> &'static str {
    match kind {
        state::OffKind::Sleep => "asleep",
        state::OffKind::Uninterruptible => "uninterruptible",
        state::OffKind::Stopped => "stopped",
        state::OffKind::Other => "off",
    }
}

/// What to call a kind of interrupt.
pub fn interrupt_name(kind: state::InterruptKind) -> &'static str {
    match kind {
        state::InterruptKind::Device => "interrupt",
        state::InterruptKind::Soft => "soft interrupt",
        state::InterruptKind::Vector => "interrupt vector",
    }
}

fn write_key(writer: &mut Writer, key: Option<ThreadKey>) {
    let (form, host, numbers) = match key {
        None => (0, 0, [0, 0]),
        Some(ThreadKey::Named { host, pid, tid }) => (1, host, [pid, tid]),
        Some(ThreadKey::Idle { host, cpu }) => (2, host, [cpu.into(), 0]),
        Some(ThreadKey::Scheduled { host, tid }) => (3, host, [tid, 0]),
        Some(ThreadKey::Unnamed { trace, cpu }) => (4, trace, [cpu.into(), 0]),
    };
    writer.number(form);
    writer.number(host.into());
    numbers.into_iter().for_each(|number| writer.signed(number));
}

fn read_key(reader: &mut Reader<'_>) -> Option<Option<ThreadKey>> {
    let (form, host) = (reader.number()?, reader.small()?);
    let (first, second) = (reader.signed()?, reader.signed()?);
    Some(Some(match form {
        0 => return Some(None),
        1 => ThreadKey::Named { host, pid: first, tid: second },
        2 => ThreadKey::Idle { host, cpu: u32::try_from(first).ok()? },
        3 => ThreadKey::Scheduled { host, tid: first },
        4 => ThreadKey::Unnamed { trace: host, cpu: u32::try_from(first).ok()? },
        _ => return None,
    }))
}
