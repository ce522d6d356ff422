// SPDX-License-Identifier: MIT
//! `io`, its second half: what block devices did, and how many requests were with them.
//!
//! Place in the flow: requests of the kernel's block layer, by device and first sector: inserted
//! into a queue, issued to the device, completed. Files are rows of the whole report.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use state::{event_name, State};
use trace::{EventClass, LossMessage, Ns, Value};

use super::{End, Moment, Start, Study};
use crate::analyses::since;
use crate::by_class::ByClass;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::pending::Pending;
use crate::rows::Rows;
use crate::sheet::{number, text, Cell, Column, Sheet, Table};
use crate::spells::{Spell, Spells};

/// Devices that are told apart.
const DEVICES_MAX: usize = 1 << 10;
/// Requests that are with devices or queues at once.
const REQUESTS_MAX: usize = 1 << 16;
/// Requests whose times are kept, for how many were with a device at once; each takes 16 bytes.
const STAYS_MAX: usize = 1 << 21;
const SECTOR_BYTES: u64 = 512;
/// Bits of the minor in a device's number, as the kernel has it.
const MINOR_BITS: u32 = 20;
/// LTTng's bits for what a request does, which has one of them; other bits say how.
const BITS: [(u64, Operation); 4] = [
    (1, Operation::Write),
    (1 << 1, Operation::Discard),
    (1 << 2, Operation::Read),
    (1 << 8, Operation::Flush),
];

const OPERATIONS: [Column; 9] = [
    text("device", "device", 0),
    text("operation", "operation", 0),
    number("count", "requests", 0),
    number("bytes", "bytes", 0),
    number("failures", "failed", 1),
    number("p50_ns", "p50", 1),
    number("p99_ns", "p99", 0),
    number("max_ns", "max", 0),
    number("max_at_ns", "when", 0),
];

const DEVICES: [Column; 10] = [
    text("device", "device", 0),
    number("requests", "requests", 0),
    number("open", "end not seen", 1),
    number("busy_ns", "busy", 0),
    number("busy_share", "of the time", 1),
    number("mean_depth", "mean depth", 0),
    number("max_depth", "most at once", 0),
    number("max_depth_at_ns", "when", 1),
    number("p50_queued_ns", "p50 in queue", 2),
    number("p99_queued_ns", "p99 in queue", 1),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Inserted,
    Issued,
    Completed,
    /// Back into the queue.
    Requeued,
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    step: Step,
    device: usize,
    sector: usize,
    sectors: usize,
    operation: Option<usize>,
    error: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Operation {
    Read,
    Write,
    Discard,
    Flush,
    Other,
}

type Device = (u32, u64);

#[derive(Debug, Default)]
struct Account {
    bytes: u64,
    failures: u64,
    spells: Spells,
}

#[derive(Debug, Default)]
struct Depth {
    requests: u64,
    /// Issued, and not completed within the trace.
    open: u64,
    first: Option<Ns>,
    queued: Distribution<2>,
    /// From issue to completion.
    stays: Vec<(Ns, Ns)>,
}

/// How many requests were with a device.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Load {
    busy_ns: u64,
    /// Requests times nanoseconds.
    area: u128,
    most: u64,
    most_at: Ns,
}

pub(super) struct Devices {
    fields: ByClass<Fields>,
    /// Positions of number and name in the dump of what there was.
    names: ByClass<(usize, usize)>,
    queued: Pending<(Device, u64), Ns>,
    issued: Pending<(Device, u64), (Ns, Operation)>,
    operations: Rows<(Device, Operation), Account>,
    depths: Rows<Device, Depth>,
    called: BTreeMap<Device, String>,
    completed_alone: u64,
    /// Requests of all devices that are kept, and those that are not.
    kept: usize,
    left_out: u64,
}

pub(super) fn make<'t>(start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    Ok(Box::new(Devices {
        fields: ByClass::new(start.traces, fields),
        names: ByClass::new(start.traces, |class| {
            let [device, name] = match event_name(class) {
                "state:block_device" => ["device", "name"],
                "lttng_statedump_block_device" => ["dev", "diskname"],
                _ => return None,
            };
            Some((class.field_index(device)?, class.field_index(name)?))
        }),
        queued: Pending::new(REQUESTS_MAX),
        issued: Pending::new(REQUESTS_MAX),
        operations: Rows::new(DEVICES_MAX * 5),
        depths: Rows::new(DEVICES_MAX),
        called: BTreeMap::new(),
        completed_alone: 0,
        kept: 0,
        left_out: 0,
    }))
}

fn fields(class: &EventClass) -> Option<Fields> {
    let name = event_name(class);
    let step = match name.strip_prefix("block:").unwrap_or(name) {
        "block_rq_insert" => Step::Inserted,
        "block_rq_issue" => Step::Issued,
        "block_rq_complete" | "block_rq_error" => Step::Completed,
        "block_rq_requeue" => Step::Requeued,
        _ => return None,
    };
    Some(Fields {
        step,
        device: class.field_index("dev")?,
        sector: class.field_index("sector")?,
        sectors: class.field_index("nr_sector")?,
        operation: class.field_index("rwbs"),
        error: class.field_index("error").or(class.field_index("errors")),
    })
}

/// What the kernel's letters say, the first of them that is an operation, or LTTng's bits.
fn operation(value: Option<Value<'_>>) -> Operation {
    let letters = match value {
        Some(Value::Text(letters)) => letters,
        Some(bits) => {
            let bits = bits.as_u64().unwrap_or(0);
            let known = BITS.iter().find(|(bit, _)| bits & bit != 0);
            return known.map_or(Operation::Other, |(_, operation)| *operation);
        }
        None => return Operation::Other,
    };
    let known = letters.iter().find_map(|letter| match letter {
        b'R' => Some(Operation::Read),
        b'W' => Some(Operation::Write),
        b'D' => Some(Operation::Discard),
        _ => None,
    });
    let is_flush = letters.first() == Some(&b'F');
    known.unwrap_or(if is_flush { Operation::Flush } else { Operation::Other })
}

impl Study for Devices {
    fn event(&mut self, moment: &Moment<'_>) {
        let (event, at) = (moment.event, moment.event.time_ns());
        let host = moment.state.host(event.trace_index());
        let number = |field: usize| event.value(field).and_then(|value| value.as_u64());
        if let Some((field, name)) = self.names.get(event) {
            if let (Some(device), Some(Value::Text(name))) = (number(*field), event.value(*name)) {
                if self.called.len() < DEVICES_MAX {
                    let name = String::from_utf8_lossy(name).into_owned();
                    self.called.insert((host, device), name);
                }
            }
        }
        let Some(fields) = self.fields.get(event).copied() else { return };
        let (Some(device), Some(sector)) = (number(fields.device), number(fields.sector)) else {
            return;
        };
        let request = ((host, device), sector);
        match fields.step {
            Step::Inserted => {
                self.queued.begin(request, at);
            }
            Step::Issued => {
                let begin = self.queued.end(&request);
                let operation = operation(fields.operation.and_then(|field| event.value(field)));
                let again = self.issued.begin(request, (at, operation)).is_some();
                let depth = self.depths.row(request.0);
                if let Some(begin) = begin {
                    depth.queued.record(since(begin, at));
                }
                depth.first.get_or_insert(at);
                depth.requests += 1;
                depth.open += u64::from(again);
            }
            Step::Requeued => {
                if let Some((begin, _)) = self.issued.end(&request) {
                    self.queued.begin(request, at);
                    self.stayed(request.0, (begin, at));
                }
            }
            Step::Completed => {
                let Some((begin, operation)) = self.issued.end(&request) else {
                    self.completed_alone += 1;
                    return;
                };
                self.stayed(request.0, (begin, at));
                let sectors = number(fields.sectors).unwrap_or(0);
                let error = fields.error.and_then(|field| event.value(field)?.as_i64());
                let account = self.operations.row((request.0, operation));
                let bytes = sectors.saturating_mul(SECTOR_BYTES);
                account.bytes = account.bytes.saturating_add(bytes);
                account.failures += u64::from(error.unwrap_or(0) != 0);
                let (thread, cpu) = (moment.step.thread, event.cpu());
                account.spells.record(Spell { begin, ns: since(begin, at), thread, cpu });
            }
        }
    }

    fn loss(&mut self, _loss: &LossMessage<'_>, _state: &State) {
        // Completions may be lost, and the sectors be used again.
        self.forget();
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        self.forget();
        let mut sheet =
            Sheet { tables: vec![self.operations(), self.devices(end)], ..Sheet::default() };
        if self.completed_alone > 0 {
            sheet.notes.push(format!(
                "{} requests were completed of which the trace has no issue; they count nowhere.",
                self.completed_alone
            ));
        }
        if self.left_out > 0 {
            sheet.notes.push(format!(
                "How many requests were with devices is known of the first {STAYS_MAX}; {} came \
                 after those.",
                self.left_out
            ));
        }
        sheet
    }
}

impl Devices {
    fn forget(&mut self) {
        let issued = std::mem::replace(&mut self.issued, Pending::new(REQUESTS_MAX));
        for ((device, _), _) in issued.left() {
            self.depths.row(*device).open += 1;
        }
        self.queued = Pending::new(REQUESTS_MAX);
    }

    fn stayed(&mut self, device: Device, stay: (Ns, Ns)) {
        if self.kept >= STAYS_MAX {
            self.left_out += 1;
            return;
        }
        self.kept += 1;
        self.depths.row(device).stays.push(stay);
    }

    fn name(&self, device: Device) -> Cell {
        let (major, minor) = (device.1 >> MINOR_BITS, device.1 & ((1 << MINOR_BITS) - 1));
        match self.called.get(&device) {
            Some(name) => Cell::Text(format!("{name} ({major}:{minor})")),
            None => Cell::Text(format!("{major}:{minor}")),
        }
    }

    fn operations(&self) -> Table {
        let used = self.operations.iter().filter(|(_, a)| a.spells.durations.count() > 0);
        let mut rows: Vec<_> = used.collect();
        rows.sort_by_key(|(key, account)| (Reverse(account.bytes), *key));
        let row = |(key, account): (Option<(Device, Operation)>, &Account)| {
            let report = account.spells.durations.report();
            let longest = account.spells.longest().first();
            vec![
                key.map_or(Cell::Others, |(device, _)| self.name(device)),
                key.map_or(Cell::None, |(_, operation)| Cell::text(operation.name())),
                Cell::Count(report.count),
                Cell::Bytes(account.bytes),
                Cell::Count(account.failures),
                Cell::Ns(report.p50_ns),
                Cell::Ns(report.p99_ns),
                Cell::Ns(report.max_ns),
                longest.map_or(Cell::None, |spell| Cell::At(spell.begin.0)),
            ]
        };
        Table {
            key: "operations",
            title: "Devices, from the issue of a request to its completion",
            when_empty: "The trace has no requests to devices; `lull record -k -e 'block:*'` \
                         records them.",
            columns: &OPERATIONS,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    fn devices(&self, end: &End<'_>) -> Table {
        let mut rows: Vec<_> = self.depths.iter().filter(|(_, d)| d.requests > 0).collect();
        rows.sort_by_key(|(device, depth)| (Reverse(depth.requests), *device));
        let row = |(device, depth): (Option<Device>, &Depth)| {
            let known = since(depth.first.unwrap_or(end.last), end.last).max(1) as f64;
            let load = load(&depth.stays);
            let queued = depth.queued.report();
            vec![
                device.map_or(Cell::Others, |device| self.name(device)),
                Cell::Count(depth.requests),
                Cell::Count(depth.open),
                Cell::Ns(load.busy_ns),
                Cell::Share(load.busy_ns as f64 / known),
                Cell::Number(load.area as f64 / known),
                Cell::Count(load.most),
                Cell::At(load.most_at.0),
                if queued.count > 0 { Cell::Ns(queued.p50_ns) } else { Cell::None },
                if queued.count > 0 { Cell::Ns(queued.p99_ns) } else { Cell::None },
            ]
        };
        Table {
            key: "devices",
            title: "Requests with the device, from its first on",
            when_empty: "",
            columns: &DEVICES,
            rows: rows.into_iter().map(row).collect(),
        }
    }
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Discard => "discard",
            Operation::Flush => "flush",
            Operation::Other => "other",
        }
    }
}

/// What the stays of finished requests add up to. Those whose end is not in the trace count
/// nowhere: nobody knows how long they were there.
fn load(stays: &[(Ns, Ns)]) -> Load {
    let mut edges: Vec<(Ns, bool)> = Vec::with_capacity(stays.len() * 2);
    edges.extend(stays.iter().flat_map(|(begin, end)| [(*begin, true), (*end, false)]));
    // At one time, ends come before begins.
    edges.sort_unstable();
    let (mut load, mut now, mut before) = (Load::default(), 0u64, Ns(0));
    for (at, is_begin) in edges {
        if now > 0 {
            let ns = since(before, at);
            load.busy_ns = load.busy_ns.saturating_add(ns);
            load.area = load.area.saturating_add(u128::from(ns) * u128::from(now));
        }
        now = if is_begin { now + 1 } else { now.saturating_sub(1) };
        if now > load.most {
            (load.most, load.most_at) = (now, at);
        }
        before = at;
    }
    load
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_of_requests_that_overlap_and_one_that_follows_does_not() {
        let stays = [(0, 10), (5, 20), (20, 30), (50, 60)].map(|(a, b)| (Ns(a), Ns(b)));
        let wanted = Load { busy_ns: 40, area: 45, most: 2, most_at: Ns(5) };
        assert_eq!(load(&stays), wanted);
        assert_eq!(load(&[]), Load::default());
    }
}
