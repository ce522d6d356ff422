// SPDX-License-Identifier: MIT
//! What is known of one moment, by process.
//!
//! Place in the flow: the facts of a moment come in the order of their tracks, from the state or
//! from a history; here they become the lines of CPUs, processes, their threads and descriptors.

use std::collections::BTreeMap;

use history::{Kind, Names, Subject, Track, Value};
use serde_json::json;
use state::{File, Map, ProcessIndex, State, TextIndex, Texts, ThreadIndex, Threads};

use crate::shown::{json_shown, shown};

/// What is known of a thread.
#[derive(Debug, Default)]
struct ThreadView {
    name: Option<String>,
    place: Option<Value>,
    calls: Vec<Value>,
}

/// What is known of a process.
#[derive(Debug, Default)]
struct ProcessView {
    life: Option<Value>,
    threads: Vec<ThreadIndex>,
    files: Vec<(i32, File)>,
    /// The arguments of its program, where they are known.
    command: String,
    /// Maps of files, if they are asked for, with their paths.
    maps: Option<Vec<(Map, String)>>,
}

/// A moment.
#[derive(Debug, Default)]
pub(super) struct View {
    cpus: BTreeMap<(u32, u32), Vec<Value>>,
    threads: BTreeMap<ThreadIndex, ThreadView>,
    processes: BTreeMap<ProcessIndex, ProcessView>,
}

fn json_map((map, path): &(Map, String)) -> serde_json::Value {
    json!({
        "begin": map.begin,
        "until": map.until,
        "flags": map.flags_text(),
        "offset_bytes": map.offset_bytes,
        "inode": map.inode,
        "path": path,
    })
}

impl View {
    pub fn of(known: impl IntoIterator<Item = (Track, Value)>, names: &Names) -> Self {
        let mut view = Self::default();
        for (track, value) in known {
            view.add(track, value, names);
        }
        view
    }

    /// With the command lines that a state knows.
    pub fn with_commands(mut self, threads: &Threads, texts: &Texts) -> Self {
        for (index, process) in &mut self.processes {
            let known = threads.processes().get(index.0 as usize);
            process.command = known.map_or(String::new(), |known| texts.text(known.arguments));
        }
        self
    }

    /// With the maps of files that a state knows.
    pub fn with_maps(mut self, state: &State) -> Self {
        let path = |map: &Map| match map.path {
            TextIndex::NONE => "(unknown)".to_string(),
            path => state.texts().text(path),
        };
        for (index, process) in &mut self.processes {
            let maps = state.maps().of(*index);
            process.maps = Some(maps.map(|map| (*map, path(map))).collect());
        }
        self
    }

    fn add(&mut self, track: Track, value: Value, names: &Names) {
        match (track.subject, value) {
            (Subject::Thread(thread), value) => {
                let view = self.threads.entry(thread).or_default();
                match value {
                    Value::Named(name) => {
                        view.name = Some(name.text());
                        if let Some(known) = names.threads().get(thread.0 as usize) {
                            let process = self.processes.entry(known.process).or_default();
                            process.threads.push(thread);
                        }
                    }
                    _ if track.kind == Kind::Place => view.place = Some(value),
                    _ => view.calls.push(value),
                }
            }
            (Subject::Cpu { host, cpu }, value) => {
                self.cpus.entry((host, cpu)).or_default().push(value);
            }
            (Subject::Process(process), value) => {
                self.processes.entry(process).or_default().life = Some(value);
            }
            (Subject::Descriptor { process, fd }, Value::Open(file)) => {
                self.processes.entry(process).or_default().files.push((fd, file));
            }
            // Who waits for a lock, and which CPU an interrupt is on, is in the threads' and CPUs'.
            _ => {}
        }
    }

    /// Processes that live and have a thread.
    fn living<'v>(
        &'v self,
        names: &'v Names,
    ) -> impl Iterator<Item = (i64, &'v ProcessView, Option<i64>, String)> + 'v {
        self.processes.iter().filter_map(|(index, process)| {
            let Some(Value::Lives { parent_pid, program, name }) = process.life else {
                return None;
            };
            let pid = names.pid(*index).filter(|pid| *pid > 0)?;
            let is_empty = process.threads.is_empty();
            (!is_empty).then(|| (pid, process, parent_pid, names.program(program, name)))
        })
    }

    fn program(process: &ProcessView, names: &Names) -> String {
        match process.life {
            Some(Value::Lives { program, .. }) => names.texts().text(program),
            _ => String::new(),
        }
    }

    fn thread_name(&self, thread: ThreadIndex) -> String {
        self.threads.get(&thread).and_then(|view| view.name.clone()).unwrap_or_default()
    }

    /// An object for each process.
    pub fn json_lines(&self, names: &Names) -> String {
        let line = |(pid, process, parent_pid, name): (i64, &ProcessView, Option<i64>, String)| {
            let threads = process.threads.iter().filter_map(|thread| {
                Some(json!({ "tid": names.tid(*thread)?, "name": self.thread_name(*thread) }))
            });
            let files = process.files.iter();
            let files =
                files.map(|(fd, file)| json!({ "fd": fd, "file": file.label(names.texts()) }));
            let mut object = json!({
                "pid": pid,
                "parent_pid": parent_pid,
                "name": name,
                "program": Self::program(process, names),
                "threads": threads.collect::<Vec<_>>(),
                "files": files.collect::<Vec<_>>(),
            });
            if !process.command.is_empty() {
                object["command"] = json!(process.command);
            }
            if let Some(maps) = &process.maps {
                object["maps"] = maps.iter().map(json_map).collect();
            }
            json_shown(&object.to_string()) + "\n"
        };
        self.living(names).map(line).collect()
    }

    /// Lines for people. `has_places`: say also what CPUs run and where threads are.
    pub fn text(&self, names: &Names, has_places: bool) -> String {
        let mut text = String::new();
        let has_hosts = names.hosts().len() > 1;
        for ((host, cpu), values) in self.cpus.iter().filter(|_| has_places) {
            let host = names.hosts().get(*host as usize).filter(|_| has_hosts);
            let host = host.map_or(String::new(), |host| format!("{host} "));
            let values: Vec<String> = values.iter().map(|value| names.value(value)).collect();
            text += &format!("{}CPU {cpu}  {}\n", shown(&host), shown(&values.join("; ")));
        }
        for (pid, process, parent_pid, name) in self.living(names) {
            let parent = parent_pid.map_or(String::new(), |pid| format!(", child of {pid}"));
            text += &format!("{}{parent}\n", shown(&format!("{name}[{pid}]")));
            if !process.command.is_empty() {
                text += &format!("  command        {}\n", shown(&process.command));
            }
            for thread in &process.threads {
                let Some(tid) = names.tid(*thread) else { continue };
                text += &format!("  thread {tid:<7} {}", shown(&self.thread_name(*thread)));
                if has_places {
                    text += &shown(&self.doing(*thread, names));
                }
                text += "\n";
            }
            for (fd, file) in &process.files {
                text += &format!("  {fd:>6}         {}\n", shown(&file.label(names.texts())));
            }
            for (map, path) in process.maps.iter().flatten() {
                let Map { begin, until, offset_bytes, .. } = map;
                let flags = map.flags_text();
                text += &format!("  {begin:012x}-{until:012x} {flags} {offset_bytes:08x} ");
                text += &format!("{}\n", shown(path));
            }
        }
        text
    }

    /// Where a thread is, and what it is in.
    fn doing(&self, thread: ThreadIndex, names: &Names) -> String {
        let Some(view) = self.threads.get(&thread) else { return String::new() };
        let place = view.place.as_ref().map(|value| names.value(value));
        // The call that a thread is off in is one of those that it is in.
        let place = match (view.place, place) {
            (Some(Value::Off(kind, Some(_))), _) => Some(history::off_name(kind).to_string()),
            (_, place) => place,
        };
        let calls = view.calls.iter().map(|value| names.value(value));
        let all: Vec<String> = place.into_iter().chain(calls).collect();
        if all.is_empty() {
            String::new()
        } else {
            format!("  {}", all.join(", "))
        }
    }
}
