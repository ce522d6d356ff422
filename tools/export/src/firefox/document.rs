// SPDX-License-Identifier: MIT
//! The document of a profile: what the markers are, and the tables, column by column.
//!
//! Place in the flow: `firefox` collects; here everything is put into the shape that version 55 of
//! the processed format has. A profile without samples still has their tables, which are empty.

use std::io;

use rustc_hash::FxHashMap;
use serde_json::{json, Map, Value as Json};
use state::State;
use trace::Ns;

use super::{Firefox, Row};
use crate::arguments::Argument;
use crate::places::{shown, Place};

/// The version of the processed format.
const PROCESSED_VERSION: u32 = 55;
/// Kinds of markers, one for each name; further ones have no fields described.
const KINDS: usize = 1 << 16;
/// Fields described of a kind.
const FIELDS: usize = 64;
/// Keys of a marker's data that have a meaning of their own.
const RESERVED: [&str; 3] = ["type", "cause", "stack"];

/// What a marker's two times are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Instant = 0,
    Interval = 1,
    /// An interval without an end.
    IntervalStart = 2,
}

/// A row of a marker table.
pub(super) struct Marker<'a> {
    pub phase: Phase,
    /// Position in the names of its row.
    pub name: u32,
    pub begin: u64,
    pub until: u64,
    /// An object.
    pub data: &'a [u8],
}

impl Marker<'_> {
    pub fn record(&self) -> Vec<u8> {
        let mut record = vec![self.phase as u8];
        record.extend_from_slice(&self.name.to_le_bytes());
        record.extend_from_slice(&self.begin.to_le_bytes());
        record.extend_from_slice(&self.until.to_le_bytes());
        record.extend_from_slice(self.data);
        record
    }

    fn of(record: &[u8]) -> Option<Marker<'_>> {
        let (phase, rest) = record.split_first()?;
        let (name, rest) = rest.split_first_chunk::<4>()?;
        let (begin, rest) = rest.split_first_chunk::<8>()?;
        let (until, data) = rest.split_first_chunk::<8>()?;
        Some(Marker {
            phase: match phase {
                0 => Phase::Instant,
                1 => Phase::Interval,
                _ => Phase::IntervalStart,
            },
            name: u32::from_le_bytes(*name),
            begin: u64::from_le_bytes(*begin),
            until: u64::from_le_bytes(*until),
            data,
        })
    }

    /// What a column has of it, as JSON.
    fn column(&self, column: &str) -> String {
        match column {
            "category" => "0".into(),
            "data" => String::from_utf8_lossy(self.data).into_owned(),
            "name" => self.name.to_string(),
            "phase" => (self.phase as u8).to_string(),
            "startTime" => milliseconds(self.begin).to_string(),
            _ => match self.phase {
                Phase::Interval => milliseconds(self.until).to_string(),
                Phase::Instant | Phase::IntervalStart => "null".into(),
            },
        }
    }
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// What markers of one name have.
#[derive(Debug)]
struct Kind {
    name: String,
    is_counter: bool,
    fields: Vec<String>,
}

/// Descriptions of the markers of each name, by which the profiler shows their data.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    kinds: Vec<Kind>,
    numbers: FxHashMap<String, u32>,
}

impl Schemas {
    /// The number of a name.
    pub fn name(&mut self, name: &str, is_counter: bool) -> u32 {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let number = self.kinds.len().min(KINDS);
        if number < KINDS {
            self.kinds.push(Kind { name: name.to_string(), is_counter, fields: Vec::new() });
            self.numbers.insert(name.to_string(), number as u32);
        }
        number as u32
    }

    /// A marker's data.
    pub fn data(&mut self, number: u32, arguments: &[Argument]) -> io::Result<Vec<u8>> {
        let mut data = Map::new();
        let Some(kind) = self.kinds.get_mut(number as usize) else {
            return Ok(b"null".to_vec());
        };
        data.insert("type".into(), kind.name.as_str().into());
        for Argument { name, value } in arguments {
            let mut key = name.clone();
            if RESERVED.contains(&name.as_str()) {
                key.push('_');
            }
            if !kind.fields.contains(&key) && kind.fields.len() < FIELDS {
                kind.fields.push(key.clone());
            }
            // Formats of numbers round; as text a value is what it is.
            let value = match kind.is_counter {
                true => serde_json::to_value(value)?,
                false => Json::String(value.text()),
            };
            data.insert(key, value);
        }
        Ok(serde_json::to_vec(&data)?)
    }

    fn text(&self, number: u32) -> &str {
        self.kinds.get(number as usize).map_or("(other)", |kind| &kind.name)
    }

    fn json(&self) -> Json {
        let schema = |kind: &Kind| {
            let format = if kind.is_counter { "decimal" } else { "string" };
            let field = |key: &String| json!({ "key": key, "label": key, "format": format });
            let fields: Vec<Json> = kind.fields.iter().map(field).collect();
            let mut schema = json!({
                "name": kind.name,
                "display": ["marker-chart", "marker-table"],
                "fields": fields,
            });
            if kind.is_counter {
                schema["graphs"] = json!([{ "key": "value", "type": "line" }]);
            }
            schema
        };
        self.kinds.iter().map(schema).collect()
    }
}

impl Firefox<'_> {
    /// Writes everything that was collected.
    pub(super) fn document(&mut self, state: &State) -> io::Result<()> {
        let origin = self.origin.unwrap_or(Ns(0));
        let meta = json!({
            "categories": [{ "name": "Other", "color": "grey", "subcategories": ["Other"] }],
            "debug": false,
            "extensions": { "length": 0, "baseURL": [], "id": [], "name": [] },
            "interval": 1.0,
            "preprocessedProfileVersion": PROCESSED_VERSION,
            "processType": 0,
            "product": self.product,
            "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs" },
            "startTime": origin.0 as f64 / 1e6,
            "symbolicated": true,
            "pausedRanges": [],
            "version": 24,
            "usesOnlyOneStackType": true,
            "sourceCodeIsNotOnSearchfox": true,
            "markerSchema": self.schemas.json(),
        });
        write!(self.out, "{{\"meta\":{meta},\n\"libs\":[],\"pages\":[],\"profilerOverhead\":[],")?;
        write!(self.out, "\"counters\":[],\"threads\":[")?;
        let mut places: Vec<(Place, Row)> = std::mem::take(&mut self.rows).into_iter().collect();
        places.sort_unstable_by_key(|(place, _)| *place);
        for (number, (place, row)) in places.iter().enumerate() {
            self.out.write_all(if number > 0 { b",\n" } else { b"\n" })?;
            self.thread(state, *place, row)?;
        }
        writeln!(self.out, "]}}")?;
        self.out.flush()
    }

    fn thread(&mut self, state: &State, place: Place, row: &Row) -> io::Result<()> {
        let shown = shown(state, &self.hosts, place);
        let names: Vec<&str> = row.names.iter().map(|name| self.schemas.text(*name)).collect();
        let mut thread = tables();
        let about = json!({
            "name": shown.thread,
            "isMainThread": shown.is_main,
            "nativeSymbols": { "length": 0, "address": [], "functionSize": [], "libIndex": [],
                "name": [] },
            "pausedRanges": [],
            "pid": shown.pid.to_string(),
            "processName": shown.process,
            "processShutdownTime": null,
            "processStartupTime": milliseconds(row.first),
            "processType": "default",
            "registerTime": milliseconds(row.first),
            "stringArray": names,
            "tid": shown.tid.to_string(),
            "unregisterTime": null,
            "showMarkersInTimeline": true,
        });
        if let (Some(thread), Json::Object(about)) = (thread.as_object_mut(), about) {
            thread.extend(about);
        }
        let text = thread.to_string();
        // The columns of markers are written behind the rest, before the object's end.
        let open = text.strip_suffix('}').unwrap_or(&text);
        write!(self.out, "{open},\"markers\":{{\"length\":{}", row.markers)?;
        for column in ["category", "data", "endTime", "name", "phase", "startTime"] {
            write!(self.out, ",\n\"{column}\":[")?;
            let mut comma = "";
            let out = &mut *self.out;
            self.spill.read(row.stream, |record| {
                let Some(marker) = Marker::of(record) else { return Ok(()) };
                write!(out, "{comma}{}", marker.column(column))?;
                comma = ",";
                Ok(())
            })?;
            write!(self.out, "]")?;
        }
        write!(self.out, "}}}}")
    }
}

/// The tables of a thread without samples.
fn tables() -> Json {
    json!({
        "frameTable": { "length": 0, "address": [], "inlineDepth": [], "category": [],
            "subcategory": [], "func": [], "nativeSymbol": [], "innerWindowID": [], "line": [],
            "column": [] },
        "funcTable": { "length": 0, "name": [], "isJS": [], "relevantForJS": [], "resource": [],
            "fileName": [], "lineNumber": [], "columnNumber": [] },
        "resourceTable": { "length": 0, "lib": [], "name": [], "host": [], "type": [] },
        "samples": { "length": 0, "weightType": "samples", "stack": [], "timeDeltas": [],
            "weight": [], "threadCPUDelta": [] },
        "stackTable": { "length": 0, "prefix": [], "frame": [] },
    })
}
