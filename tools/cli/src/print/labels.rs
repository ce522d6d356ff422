// SPDX-License-Identifier: MIT
//! What tells several traces apart in each line: the machine's name, or the folder's.
//!
//! Place in the flow: decided once before the first event; the forms put it before the processor.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use trace::Trace;

use super::text;

/// A label for each trace; empty where there is one trace only. Parts of one trace in several
/// folders are one trace.
pub(super) fn of(traces: &[Trace]) -> Vec<String> {
    let host = |trace: &Trace| trace.metadata().environment_text("hostname").map(str::to_string);
    let hosts: BTreeSet<_> = traces.iter().map(host).collect();
    let paths: Vec<Vec<Component<'_>>> =
        traces.iter().map(|trace| trace.path().components().collect()).collect();
    let label = |(index, trace): (usize, &Trace)| {
        let own_host = host(trace);
        let of_host = traces.iter().enumerate().filter(|(_, other)| host(other) == own_host);
        let identity = |(index, trace): (usize, &Trace)| match trace.metadata().uuid {
            Some(uuid) => (Some(uuid), None),
            None => (None, Some(index)),
        };
        let count = of_host.map(identity).collect::<BTreeSet<_>>().len();
        let mut label = String::new();
        if hosts.len() > 1 {
            label.push_str(own_host.as_deref().unwrap_or("-"));
        }
        if count > 1 {
            if !label.is_empty() {
                label.push(':');
            }
            label.push_str(&name(&paths, index));
        }
        word(&label)
    };
    traces.iter().enumerate().map(label).collect()
}

/// What a trace's path has behind that which all paths have in common.
fn name(paths: &[Vec<Component<'_>>], index: usize) -> String {
    let own = paths.get(index).map_or(&[][..], Vec::as_slice);
    let in_common = (0..own.len()).take_while(|at| {
        paths.iter().all(|path| path.get(*at).is_some_and(|part| Some(part) == own.get(*at)))
    });
    let rest = own.get(in_common.count()..).unwrap_or(own);
    rest.iter()
        .map(|part| Path::new(part.as_os_str()).to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

fn word(label: &str) -> String {
    let mut out = Vec::new();
    text::word(&mut out, label.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}
