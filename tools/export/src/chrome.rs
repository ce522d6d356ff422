// SPDX-License-Identifier: MIT
//! The JSON trace event format of chrome://tracing, one event per line.
//!
//! Place in the flow: `follow` tells, `serde_json` writes. Times are microseconds since the first
//! event, with three decimals: JavaScript's numbers hold no nanoseconds since 1970; the origin is
//! told by the first line. Processors and losses are processes with numbers that Linux does not
//! give.

use std::io::{self, Write};

use rustc_hash::FxHashSet;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::json;
use state::{NameIndex, PairIndex, State};
use trace::{Ns, Trace};

use crate::arguments::{Argument, Value};
use crate::flows::Flows;
use crate::nesting::Open;
use crate::places::{host_names, shown, Place};
use crate::sink::{
    call_text, category, event_text, Counter, End, Late, Lost, Moment, Ran, Sink, GOES_ON,
};

/// A trace event. The order of its keys is that of most writers.
#[derive(Serialize)]
struct TraceEvent<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'a str,
    ph: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<Microseconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<Microseconds>,
    pid: i64,
    tid: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// Of an instant: how high its line is.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'a str>,
    /// Of an arrow's head: that it belongs to the slice around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<'a>,
}

/// Nanoseconds that are written as microseconds, exactly.
struct Microseconds(u64);

impl Serialize for Microseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Below 2^53 ns, 104 days, the shortest text of the nearest double has three decimals.
        serializer.serialize_f64(self.0 as f64 / 1000.0)
    }
}

/// Arguments as an object, with a remark of this program's; of equal names the last counts.
#[derive(Clone, Copy, Default)]
struct Map<'a> {
    arguments: &'a [Argument],
    more: &'a [(&'a str, &'a str)],
}

impl Map<'_> {
    fn is_empty(&self) -> bool {
        self.arguments.is_empty() && self.more.is_empty()
    }
}

impl Serialize for Map<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for Argument { name, value } in self.arguments {
            map.serialize_entry(name, value)?;
        }
        for (name, value) in self.more {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

pub(crate) struct Chrome<'w> {
    out: &'w mut dyn Write,
    hosts: Vec<String>,
    /// The first event's time, from which times count.
    origin: Option<Ns>,
    places: FxHashSet<Place>,
    /// Of calls that overlap others.
    next_id: u64,
}

impl<'w> Chrome<'w> {
    pub fn new(traces: &[Trace], out: &'w mut dyn Write) -> Self {
        let (hosts, places) = (host_names(traces), FxHashSet::default());
        Self { out, hosts, origin: None, places, next_id: 0 }
    }

    fn time(&mut self, at: Ns) -> io::Result<Microseconds> {
        let origin = match self.origin {
            Some(origin) => origin,
            None => {
                self.origin = Some(at);
                self.begin(at)?;
                at
            }
        };
        Ok(Microseconds(u64::try_from(at.0.saturating_sub(origin.0)).unwrap_or(0)))
    }

    /// The first event says who wrote the file, and has no category: by that, speedscope tells
    /// such files from profiles of Chrome's.
    fn begin(&mut self, origin: Ns) -> io::Result<()> {
        let args = json!({ "name": "lull", "origin_ns": origin.0.to_string() });
        let first = json!({ "name": "tracer", "ph": "M", "pid": 0, "tid": 0, "args": args });
        write!(self.out, "{{\"traceEvents\":[\n{first}")
    }

    fn line(&mut self, event: &TraceEvent<'_>) -> io::Result<()> {
        self.out.write_all(b",\n")?;
        Ok(serde_json::to_writer(&mut *self.out, event)?)
    }

    /// An event at a place, without what only some have.
    fn at<'e>(
        &mut self,
        state: &State,
        (at, place): (Ns, Place),
        (name, ph): (&'e str, &'e str),
        args: Map<'e>,
    ) -> io::Result<TraceEvent<'e>> {
        self.places.insert(place);
        let ts = Some(self.time(at)?);
        let place = shown(state, &self.hosts, place);
        let (pid, tid, cat) = (place.pid, place.tid, category(name));
        Ok(TraceEvent { name, cat, ph, ts, dur: None, pid, tid, id: None, s: None, bp: None, args })
    }

    fn of_moment(&mut self, moment: &Moment<'_>, name: &str, ph: &str) -> io::Result<()> {
        let args = Map { arguments: moment.arguments, more: &[] };
        let place = (moment.at, Place::Thread(moment.thread));
        let mut event = self.at(moment.state, place, (name, ph), args)?;
        event.s = (ph == "i").then_some("t");
        self.line(&event)?;
        self.arrows(moment)
    }

    /// The heads and tails of arrows, which belong to the slice around the event.
    fn arrows(&mut self, moment: &Moment<'_>) -> io::Result<()> {
        let place = (moment.at, Place::Thread(moment.thread));
        for (id, ph) in [(moment.flows.tail, "s"), (moment.flows.head, "f")] {
            let Some(id) = id else { continue };
            let mut event = self.at(moment.state, place, ("flow", ph), Map::default())?;
            (event.id, event.cat) = (Some(id), "flow");
            event.bp = (ph == "f").then_some("e");
            self.line(&event)?;
        }
        Ok(())
    }

    fn slice(
        &mut self,
        state: &State,
        (place, begin, until): (Place, Ns, Ns),
        name: &str,
        args: Map<'_>,
    ) -> io::Result<()> {
        let ns = until.0.saturating_sub(begin.0);
        let mut event = self.at(state, (begin, place), (name, "X"), args)?;
        event.dur = Some(Microseconds(u64::try_from(ns).unwrap_or(0)));
        self.line(&event)
    }
}

impl Sink for Chrome<'_> {
    fn begin(&mut self, moment: &Moment<'_>, pair: PairIndex) -> io::Result<()> {
        self.of_moment(moment, &call_text(moment.state, pair), "B")
    }

    fn end(&mut self, moment: &Moment<'_>, open: &Open, end: End) -> io::Result<()> {
        let name = call_text(moment.state, open.pair);
        match end {
            End::Seen => {
                self.arrows(moment)?;
                let silent = Moment { flows: Flows::default(), ..*moment };
                self.of_moment(&silent, &name, "E")
            }
            End::NotSeen => {
                let more = [("lull", "end not seen")];
                let args = Map { arguments: &[], more: &more };
                let place = (moment.at, Place::Thread(moment.thread));
                let event = self.at(moment.state, place, (&name, "E"), args)?;
                self.line(&event)
            }
            // A beginning without an end is a call that has not ended.
            End::Open => Ok(()),
        }
    }

    fn late(&mut self, moment: &Moment<'_>, late: &Late) -> io::Result<()> {
        let name = call_text(moment.state, late.pair);
        let place = Place::Thread(moment.thread);
        self.next_id += 1;
        for (at, ph) in [(late.from, "b"), (moment.at, "e")] {
            let arguments = if ph == "b" { moment.arguments } else { &[] };
            let args = Map { arguments, more: &[] };
            let mut event = self.at(moment.state, (at, place), (&name, ph), args)?;
            event.id = Some(self.next_id);
            // Viewers need a category to tell such calls from others.
            event.cat = "overlapping";
            self.line(&event)?;
        }
        Ok(())
    }

    fn goes_on(&mut self, moment: &Moment<'_>) -> io::Result<()> {
        let flows = Flows { tail: None, ..moment.flows };
        self.of_moment(&Moment { arguments: &[], flows, ..*moment }, GOES_ON, "i")
    }

    fn instant(&mut self, moment: &Moment<'_>, name: NameIndex) -> io::Result<()> {
        self.of_moment(moment, &event_text(moment.state, name), "i")
    }

    fn counter(&mut self, moment: &Moment<'_>, counter: &Counter<'_>) -> io::Result<()> {
        let value = [Argument { name: "value".into(), value: counter.value.clone() }];
        let args = Map { arguments: &value, more: &[] };
        let place = (moment.at, Place::Thread(moment.thread));
        let event = self.at(moment.state, place, (counter.name, "C"), args)?;
        self.line(&event)
    }

    fn ran(&mut self, state: &State, ran: &Ran) -> io::Result<()> {
        let more = [("lull", "end not seen")];
        let args = Map { arguments: &[], more: if ran.is_whole { &[] } else { &more } };
        let place = (Place::Cpu(ran.host, ran.cpu), ran.begin, ran.until);
        self.slice(state, place, &ran.label, args)
    }

    fn lost(&mut self, state: &State, lost: &Lost) -> io::Result<()> {
        let argument = |(cause, count): &(String, u64)| Argument {
            name: cause.clone(),
            value: Value::Unsigned(*count),
        };
        let arguments: Vec<Argument> = lost.causes.iter().map(argument).collect();
        let args = Map { arguments: &arguments, more: &[] };
        let place = Place::Losses(lost.host, lost.cpu);
        let begin = lost.begin.unwrap_or(lost.until);
        self.slice(state, (place, begin, lost.until), &lost.text(), args)
    }

    fn finish(&mut self, state: &State, last: Ns) -> io::Result<()> {
        self.time(last)?;
        let mut places: Vec<Place> = self.places.iter().copied().collect();
        places.sort_unstable();
        for place in places {
            let place = shown(state, &self.hosts, place);
            for (name, text) in [("process_name", &place.process), ("thread_name", &place.thread)] {
                let (pid, tid) = (place.pid, place.tid);
                let more = [("name", text.as_str())];
                let args = Map { arguments: &[], more: &more };
                let (ts, dur, id, s, bp) = (None, None, None, None, None);
                let event =
                    TraceEvent { name, cat: "", ph: "M", ts, dur, pid, tid, id, s, bp, args };
                self.line(&event)?;
            }
        }
        writeln!(self.out, "\n],\"displayTimeUnit\":\"ns\"}}")?;
        self.out.flush()
    }
}
