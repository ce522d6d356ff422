// SPDX-License-Identifier: MIT
//! States with their begin and end, one per line, for people or as JSON.
//!
//! Place in the flow: `states` hands over a history and a span; the intervals come in the order in
//! which they end. The page docs/formats/state.md describes the JSON.

use std::io::Write;

use history::{Cause, History, Interval, Kind, Known, Names, Subject, Track, Value};
use serde_json::{json, Map, Value as Json};
use state::{About, Exit, ProcessIndex, ThreadIndex, ThreadKey};
use trace::{Ns, Span};

use super::StateArgs;
use crate::print::clock::TimeOfDay;
use crate::report::number::duration;
use crate::shown::{json_shown, shown};

const VERSION: u32 = 1;

/// What is listed, and how.
pub(super) struct Form<'a> {
    args: &'a StateArgs,
    history: &'a History,
}

impl<'a> Form<'a> {
    pub fn new(args: &'a StateArgs, history: &'a History) -> Self {
        Self { args, history }
    }

    fn names(&self) -> &'a Names {
        self.history.names()
    }

    /// Whether states of a track are asked for.
    pub fn takes(&self, track: &Track) -> bool {
        let StateArgs { pid, tid, cpu, .. } = self.args;
        if pid.is_empty() && tid.is_empty() && cpu.is_empty() {
            return true;
        }
        let of_process =
            |process: ProcessIndex| self.names().pid(process).is_some_and(|it| pid.contains(&it));
        match track.subject {
            Subject::Thread(thread) => {
                let process = self.names().threads().get(thread.0 as usize);
                self.names().tid(thread).is_some_and(|it| tid.contains(&it))
                    || process.is_some_and(|thread| of_process(thread.process))
            }
            Subject::Cpu { cpu: it, .. } => cpu.contains(&it),
            Subject::Process(process)
            | Subject::Descriptor { process, .. }
            | Subject::Lock { process, .. } => of_process(process),
            Subject::Interrupt { .. } => cpu.contains(&track.lane),
        }
    }

    /// Whether a track is the life of a process whose threads are asked for, but not all of it:
    /// the lines of its threads stand below that of the process.
    pub fn is_above(&self, track: &Track) -> bool {
        let Subject::Process(process) = track.subject else { return false };
        let of_process = self.names().threads().iter().filter(|known| known.process == process);
        let tids = of_process.filter_map(|known| match known.key? {
            ThreadKey::Named { tid, .. } => Some(tid),
            _ => None,
        });
        let is_asked_for = |tid| self.args.tid.contains(&tid);
        !self.args.tid.is_empty() && tids.into_iter().any(is_asked_for)
    }

    /// Writes all states in a span; the result is whether there are any.
    pub fn list(&self, span: &Span, out: &mut dyn Write) -> anyhow::Result<bool> {
        let mut times = TimeOfDay::new(self.args.utc);
        let mut written = Ok(());
        let mut has_any = false;
        self.history.visit_ended(
            span,
            |track| self.takes(track),
            |track, interval| {
                has_any = true;
                if written.is_ok() {
                    written = self.line(&track, &interval, &mut times, out);
                }
                written.is_ok()
            },
        )?;
        written?;
        Ok(has_any)
    }

    fn line(
        &self,
        track: &Track,
        interval: &Interval,
        times: &mut TimeOfDay,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        if self.args.json {
            let end = Some(interval.end).filter(|_| !interval.goes_on);
            return self.object(track, (interval.begin, end), &interval.value, out);
        }
        let mut line = Vec::new();
        times.write(&mut line, interval.begin.0);
        let length = u64::try_from(interval.end.0.saturating_sub(interval.begin.0)).unwrap_or(0);
        let length = duration(length) + if interval.goes_on { "+" } else { "" };
        let subject = self.names().subject(track.subject);
        let value = self.names().value(&interval.value);
        out.write_all(&line)?;
        writeln!(out, " {length:>9} {}: {}", shown(&subject), shown(&value))
    }

    /// Writes what is known of a track at a time, as JSON.
    pub fn known(&self, known: &Known, out: &mut dyn Write) -> std::io::Result<()> {
        self.object(&known.track, (known.since, None), &known.value, out)
    }

    fn object(
        &self,
        track: &Track,
        (begin, end): (Ns, Option<Ns>),
        value: &Value,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let mut object = Map::new();
        object.insert("v".into(), VERSION.into());
        object.insert("begin_ns".into(), begin.0.into());
        object.insert("end_ns".into(), end.map(|end| end.0).into());
        self.subject(track, &mut object);
        object.insert("kind".into(), kind_name(track.kind).into());
        object.insert("lane".into(), track.lane.into());
        self.value(value, &mut object);
        object.insert("text".into(), self.names().value(value).into());
        writeln!(out, "{}", json_shown(&Json::Object(object).to_string()))
    }

    fn subject(&self, track: &Track, object: &mut Map<String, Json>) {
        let names = self.names();
        let label = names.subject(track.subject);
        let (form, more) = match track.subject {
            Subject::Thread(thread) => {
                let known = names.threads().get(thread.0 as usize);
                let pid = known.and_then(|known| names.pid(known.process));
                ("thread", json!({ "tid": names.tid(thread), "pid": pid }))
            }
            Subject::Cpu { host, cpu } => ("cpu", json!({ "cpu": cpu, "host": self.host(host) })),
            Subject::Process(process) => ("process", json!({ "pid": names.pid(process) })),
            Subject::Descriptor { process, fd } => {
                ("descriptor", json!({ "pid": names.pid(process), "fd": fd }))
            }
            Subject::Lock { process, kind, address } => {
                let address = format!("{address:#x}");
                ("lock", json!({ "pid": names.pid(process), "lock": kind, "address": address }))
            }
            Subject::Interrupt { host, kind, number } => {
                let host = self.host(host);
                ("interrupt", json!({ "host": host, "source": kind, "number": number }))
            }
        };
        object.insert("subject".into(), form.into());
        object.insert("label".into(), label.into());
        if let Json::Object(more) = more {
            object.extend(more);
        }
    }

    fn host(&self, host: u32) -> Option<&'a str> {
        let name = self.names().hosts().get(host as usize)?;
        Some(name.as_str()).filter(|name| !name.is_empty())
    }

    fn value(&self, value: &Value, object: &mut Map<String, Json>) {
        let names = self.names();
        let mut call = |call: &history::Call| {
            let about = match call.about {
                About::Nothing => None,
                about => about.label(names.texts()),
            };
            object.insert("call".into(), names.call(call).into());
            object.insert("about".into(), about.into());
            object.insert("may_be_over".into(), call.may_be_over.into());
        };
        let (state, more) = match value {
            Value::Unknown => ("unknown", json!({})),
            Value::Running(cpu) => ("running", json!({ "on_cpu": cpu })),
            Value::Waiting => ("waiting", json!({})),
            Value::Off(kind, within) => {
                within.iter().for_each(&mut call);
                ("off", json!({ "why": kind }))
            }
            Value::Over => ("over", json!({})),
            Value::In(within) => {
                call(within);
                ("call", json!({}))
            }
            Value::Named(name) => ("named", json!({ "name": name.text() })),
            Value::Runs(thread) => {
                ("runs", json!({ "tid": names.tid(*thread), "thread": names.thread(*thread) }))
            }
            Value::Idle => ("idle", json!({})),
            Value::Interrupted { kind, number, name } => {
                let name = names.texts().text(*name);
                ("interrupted", json!({ "source": kind, "number": number, "name": name }))
            }
            Value::Lives { parent_pid, program, name } => {
                let path = names.texts().text(*program);
                let name = names.program(*program, *name);
                ("lives", json!({ "parent_pid": parent_pid, "program": path, "name": name }))
            }
            Value::Ended(None) => ("ended", json!({})),
            Value::Ended(Some(Exit::Code(code))) => ("ended", json!({ "status": code })),
            Value::Ended(Some(Exit::Signal(signal))) => ("ended", json!({ "signal": signal })),
            Value::Open(file) => ("open", json!({ "file": file.label(names.texts()) })),
            Value::Awaited { by, may_be_over } => {
                let (tid, thread) = (names.tid(*by), names.thread(*by));
                ("awaited", json!({ "tid": tid, "thread": thread, "may_be_over": may_be_over }))
            }
            Value::Held { .. } | Value::Unheld { .. } | Value::Queued { .. } => self.lock(value),
            Value::Served(cpu) => ("served", json!({ "on_cpu": cpu })),
            Value::Woken(cause) => ("woken", self.cause(cause)),
            Value::LetGo { by, kind, address } => {
                let (tid, thread) = (names.tid(*by), names.thread(*by));
                let address = format!("{address:#x}");
                let by = json!({ "tid": tid, "thread": thread });
                ("let_go", json!({ "by": by, "lock": kind, "address": address }))
            }
        };
        object.insert("state".into(), state.into());
        if let Json::Object(more) = more {
            object.extend(more);
        }
    }

    fn lock(&self, value: &Value) -> (&'static str, Json) {
        let names = self.names();
        let who = |by: &ThreadIndex| json!({ "tid": names.tid(*by), "thread": names.thread(*by) });
        match value {
            Value::Held { by, is_certain } => {
                ("held", json!({ "by": who(by), "is_certain": is_certain }))
            }
            Value::Unheld { let_go_by, had_by } => {
                let (let_go_by, had_by) = (let_go_by.as_ref().map(who), had_by.as_ref().map(who));
                ("unheld", json!({ "let_go_by": let_go_by, "had_by": had_by }))
            }
            Value::Queued { waiting, unsure } => {
                ("queued", json!({ "waiting": waiting, "unsure": unsure }))
            }
            _ => ("unknown", json!({})),
        }
    }

    fn cause(&self, cause: &Cause) -> Json {
        let names = self.names();
        match cause {
            Cause::Thread(by) => {
                json!({ "by": { "tid": names.tid(*by), "thread": names.thread(*by) } })
            }
            Cause::Interrupt { cpu, kind, number, name } => {
                let name = names.texts().text(*name);
                let interrupt = json!({ "source": kind, "number": number, "name": name });
                json!({ "interrupt": interrupt, "on_cpu": cpu })
            }
            Cause::Idle(cpu) => json!({ "on_cpu": cpu }),
        }
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Place => "place",
        Kind::Call => "call",
        Kind::Name => "name",
        Kind::Runs => "runs",
        Kind::Interrupt => "interrupt",
        Kind::Life => "life",
        Kind::Open => "open",
        Kind::Waiter => "waiter",
        Kind::Serves => "serves",
        Kind::Flow => "flow",
        Kind::Holder => "holder",
        Kind::Queue => "queue",
    }
}
