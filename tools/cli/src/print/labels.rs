// SPDX-License-Identifier: MIT
//! What tells several traces apart in each line: the machine's name, or the folder's.
//!
//! Place in the flow: decided once before the first event; the forms put it before the processor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use trace::Trace;

use super::text;

/// A label for each trace; empty where there is one trace only. Parts of one trace in several
/// folders are one trace.
pub(super) fn of(traces: &[Trace]) -> Vec<String> {
    let host = |trace: &Trace| trace.metadata().environment_text("hostname").map(str::to_string);
    let mut hosts: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (index, trace) in traces.iter().enumerate() {
        let uuid = trace.metadata().uuid;
        let identity = (uuid, uuid.is_none().then_some(index));
        hosts.entry(host(trace)).or_default().insert(identity);
    }
    let mut paths = traces.iter().map(|trace| trace.path().components());
    let first: Vec<Component<'_>> = paths.next().into_iter().flatten().collect();
    let in_common = paths.fold(first.len(), |in_common, path| {
        let alike = path.zip(&first[..in_common]).take_while(|(one, other)| one == *other);
        alike.count()
    });
    let label = |trace: &Trace| {
        let own_host = host(trace);
        let count = hosts.get(&own_host).map_or(0, BTreeSet::len);
        let mut label = String::new();
        if hosts.len() > 1 {
            label.push_str(own_host.as_deref().unwrap_or("-"));
        }
        if count > 1 {
            if !label.is_empty() {
                label.push(':');
            }
            label.push_str(&name(trace, in_common));
        }
        word(&label)
    };
    traces.iter().map(label).collect()
}

/// What a trace's path has behind so many parts, which all paths have in common.
fn name(trace: &Trace, in_common: usize) -> String {
    let rest = trace.path().components().skip(in_common);
    rest.map(|part| Path::new(part.as_os_str()).to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn word(label: &str) -> String {
    let mut out = Vec::new();
    text::word(&mut out, label.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}
