// SPDX-License-Identifier: MIT
//! How many events there are in each pixel, and single ones where they are few.
//!
//! Place in the flow: from afar the packet index answers without reading an event, by how many
//! bytes were written when; from near, the events of the span are read and counted. The answer
//! says which of the two it is.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use serde::Serialize;
use trace::{Ns, Trace};

use crate::ask::{between, Ask, Cut};
use crate::patience::Patience;
use crate::source::Events;
use crate::Filter;

/// Bytes of packets in a span up to which its events are counted one by one.
const MOST_BYTES_COUNTED: f64 = (8 << 20) as f64;
/// Events read for one answer to a page, which asks on where it stopped: few enough that what comes
/// first is seen at once.
const MOST_SCANNED: u64 = 150_000;
/// Single events of one answer, and rows.
const MOST_MARKS: usize = 1500;
const MOST_ROWS: usize = 2048;
/// Packets that are kept apart: further ones of a stream are taken together.
const MOST_PACKETS: usize = 1 << 19;

struct Packet {
    host: u32,
    cpu: Option<u32>,
    begin: Ns,
    end: Ns,
    bytes: u64,
}

/// The packets of all traces, which are looked at when first asked for.
#[derive(Default)]
pub(crate) struct Packets(OnceLock<Vec<Packet>>);

impl Packets {
    fn get(&self, traces: &[Trace], hosts: &[u32]) -> &[Packet] {
        self.0.get_or_init(|| {
            let mut packets: Vec<Packet> = Vec::new();
            for (trace, host) in traces.iter().zip(hosts) {
                for file in trace.files() {
                    let mut is_first = true;
                    trace.each_packet(file, |found| {
                        let (Some(begin), Some(end)) = (found.begin, found.end) else {
                            return true;
                        };
                        let cpu = found.packet.cpu.or(file.cpu()).map(|cpu| cpu.0);
                        let bytes = found.packet.content_bits / 8;
                        let is_full = packets.len() >= MOST_PACKETS && !is_first;
                        is_first = false;
                        match packets.last_mut().filter(|_| is_full) {
                            Some(last) => {
                                last.end = last.end.max(end);
                                last.bytes = last.bytes.saturating_add(bytes);
                            }
                            None => packets.push(Packet { host: *host, cpu, begin, end, bytes }),
                        }
                        true
                    });
                }
            }
            packets
        })
    }
}

#[derive(Debug, Serialize, PartialEq, Eq, PartialOrd, Ord, Clone, Copy, Hash)]
pub(crate) struct Key {
    pub host: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<i64>,
}

/// Pixels with something in them, and how much.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub key: Key,
    pub counts: Vec<(u32, u64)>,
}

#[derive(Debug, Serialize)]
struct Mark {
    at: i64,
    name: usize,
    #[serde(flatten)]
    key: Key,
}

#[derive(Debug, Serialize, Default)]
pub(crate) struct Counted {
    pub measure: &'static str,
    total: u64,
    pub rows: Vec<Row>,
    names: Vec<String>,
    marks: Vec<Mark>,
    /// Where counting stopped, if before the end of the span.
    pub stopped: Option<i64>,
}

/// The pixel of a time.
struct Scale {
    from: Ns,
    width: f64,
    pixels: u32,
}

impl Scale {
    fn at(&self, time: Ns) -> f64 {
        let offset = (i128::from(time.0) - i128::from(self.from.0)) as f64;
        (offset / self.width * f64::from(self.pixels)).clamp(0.0, f64::from(self.pixels))
    }

    fn pixel(&self, time: Ns) -> u32 {
        (self.at(time) as u32).min(self.pixels - 1)
    }
}

/// Pixels with something in them, in their order, and how much.
#[derive(Default)]
struct Curve(Vec<(u32, u64)>);

impl Curve {
    /// Adds an event, most often of the last pixel or of one after it.
    fn add(&mut self, pixel: u32) {
        let Self(counts) = self;
        let is_back = counts.last().is_some_and(|(last, _)| pixel < *last);
        let at = match is_back {
            true => counts.partition_point(|(known, _)| *known < pixel),
            false => counts.len().saturating_sub(1),
        };
        match counts.get_mut(at) {
            Some((known, count)) if *known == pixel => *count += 1,
            _ if is_back => counts.insert(at, (pixel, 1)),
            _ => counts.push((pixel, 1)),
        }
    }
}

pub(crate) struct Where<'a> {
    pub traces: &'a [Trace],
    /// By trace: the number of its machine.
    pub hosts: &'a [u32],
    pub packets: &'a Packets,
}

/// Which events are counted, and in which parts of time.
pub(crate) struct Question {
    pub cut: Cut,
    /// Where an earlier answer stopped, and how many events are read for this one.
    pub start: Option<Ns>,
    pub most: u64,
    pub filter: Filter,
    pub patience: Patience,
}

impl Question {
    pub fn of(ask: &Ask, origin: Ns) -> Result<Self, String> {
        let (cut, filter, patience) = (ask.cut(origin)?, ask.filter()?, ask.patience.clone());
        let start = ask.time("start", origin)?.filter(|start| *start > cut.from);
        Ok(Self { cut, start, most: MOST_SCANNED, filter, patience })
    }
}

pub(crate) fn count(
    place: &Where<'_>,
    events: &dyn Events,
    Question { cut, start, most, filter, patience }: &Question,
) -> Result<Counted, String> {
    let (from, until) = cut.span();
    let scale = Scale { from, width: cut.width_ns() as f64, pixels: cut.pixels };
    if *filter == Filter::default() && start.is_none() {
        let packets = place.packets.get(place.traces, place.hosts);
        let in_span = |p: &&Packet| p.begin < until && from <= p.end;
        let bytes: f64 = packets.iter().filter(in_span).map(|p| share(p, (from, until))).sum();
        if bytes > MOST_BYTES_COUNTED {
            return Ok(by_bytes(packets.iter().filter(in_span), &scale, (from, until)));
        }
    }
    let mut counts: FxHashMap<Key, Curve> = FxHashMap::default();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut counted = Counted { measure: "events", ..Counted::default() };
    let rest = between((start.unwrap_or(from), until));
    let visited = events.visit(filter, &rest, *most, &mut |row| {
        counted.total += 1;
        let host = place.hosts.get(row.trace).copied().unwrap_or(0);
        let on_cpu = Key { host, cpu: row.cpu, pid: None, tid: None };
        let of_thread = Key { host, cpu: None, pid: row.pid, tid: row.tid };
        let pixel = scale.pixel(row.time);
        // Each event is in one row of a processor's, or in that of the host's which is of none.
        for key in std::iter::once(on_cpu).chain(row.tid.map(|_| of_thread)) {
            let has_room = counts.len() < MOST_ROWS;
            match counts.get_mut(&key) {
                Some(curve) => curve.add(pixel),
                None if has_room => counts.entry(key).or_default().add(pixel),
                None => {}
            }
        }
        if counted.marks.len() <= MOST_MARKS {
            let next = numbers.len();
            let name = *numbers.entry(row.name.to_string()).or_insert(next);
            let at = cut.offset(row.time);
            let key = Key { cpu: row.cpu, ..of_thread };
            counted.marks.push(Mark { at, name, key });
        }
        !patience.is_over()
    })?;
    counted.stopped = visited.stopped.map(|at| cut.offset(at));
    if counted.marks.len() > MOST_MARKS {
        counted.marks.clear();
    } else {
        let mut names: Vec<(String, usize)> = numbers.into_iter().collect();
        names.sort_by_key(|(_, number)| *number);
        counted.names = names.into_iter().map(|(name, _)| name).collect();
    }
    let rows = counts.into_iter().map(|(key, Curve(counts))| Row { key, counts });
    counted.rows = rows.collect();
    counted.rows.sort_unstable_by_key(|row| row.key);
    Ok(counted)
}

/// How many of a packet's bytes are in a span, as if they were written evenly.
fn share(packet: &Packet, (from, until): (Ns, Ns)) -> f64 {
    let whole = (packet.end.0.saturating_sub(packet.begin.0)).max(1) as f64;
    let inside = packet.end.min(until).0.saturating_sub(packet.begin.max(from).0).max(1) as f64;
    packet.bytes as f64 * (inside / whole).min(1.0)
}

fn by_bytes<'p>(
    packets: impl Iterator<Item = &'p Packet>,
    scale: &Scale,
    span: (Ns, Ns),
) -> Counted {
    let mut counts: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    let mut total = 0.0;
    for packet in packets {
        let bytes = share(packet, span);
        total += bytes;
        let key = Key { host: packet.host, cpu: packet.cpu, pid: None, tid: None };
        if counts.len() >= MOST_ROWS && !counts.contains_key(&key) {
            continue;
        }
        let row = counts.entry(key).or_insert_with(|| vec![0.0; scale.pixels as usize]);
        let (begin, end) = (scale.at(packet.begin), scale.at(packet.end));
        let (first, last) = (scale.pixel(packet.begin), scale.pixel(packet.end));
        let length = (end - begin).max(f64::MIN_POSITIVE);
        for pixel in first..=last {
            let left = begin.max(f64::from(pixel));
            let right = end.min(f64::from(pixel) + 1.0);
            let part = if first == last { 1.0 } else { ((right - left) / length).max(0.0) };
            if let Some(count) = row.get_mut(pixel as usize) {
                *count += bytes * part;
            }
        }
    }
    let sparse = |row: Vec<f64>| -> Vec<(u32, u64)> {
        let all =
            row.into_iter().enumerate().map(|(pixel, bytes)| (pixel as u32, bytes.ceil() as u64));
        all.filter(|(_, bytes)| *bytes > 0).collect()
    };
    let rows = counts.into_iter().map(|(key, row)| Row { key, counts: sparse(row) });
    Counted { measure: "bytes", total: total as u64, rows: rows.collect(), ..Counted::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_in_their_pixels_also_where_their_times_fall() {
        let mut curve = Curve::default();
        [3, 3, 5, 3, 4, 9, 0, 9, 5].into_iter().for_each(|pixel| curve.add(pixel));
        assert_eq!(curve.0, [(0, 1), (3, 3), (4, 1), (5, 2), (9, 2)]);
    }
}
