// SPDX-License-Identifier: MIT
//! Which question a path is.
//!
//! Place in the flow: `guard` has let a request through, and its body is here if it has one. The
//! parts of a path are compared with words and identifiers; none becomes the name of a file.

use hyper::{Method, StatusCode};
use serde::Serialize;
use serde_json::{json, Value};

use super::library::{Experiment, Library};
use super::query::Query;
use super::{activity, annotations, arrows, table, timeline, Answer, Failed, Status};

/// Where the protocol's paths begin, as in Trace Compass.
pub(super) const PREFIX: &str = "/tsp/api";
/// The version of the protocol that is spoken.
const VERSION: &str = "0.2.0";

pub(super) const TIMELINE: &str = "lull.timeline";
const STATISTICS: &str = "lull.statistics";
/// Viewers look for the overview and for the table of events by these names, which are those of
/// Trace Compass.
pub(super) const ACTIVITY: &str =
    "org.eclipse.tracecompass.internal.tmf.core.histogram.HistogramDataProvider";
pub(super) const EVENTS: &str = "org.eclipse.tracecompass.internal.provisional.tmf.core.model.\
    events.TmfEventTableDataProvider";

/// Identifier, name, what it shows, type.
const OUTPUTS: [(&str, &str, &str, &str); 4] = [
    (
        TIMELINE,
        "Time line",
        "Processors, processes, threads and their calls, and where events are missing",
        "TIME_GRAPH",
    ),
    (
        ACTIVITY,
        "Events over time",
        "How many events each processor recorded; from afar, how many bytes were written",
        "TREE_TIME_XY",
    ),
    (EVENTS, "Events", "Every event, with its fields", "TABLE"),
    (STATISTICS, "Events by name", "How many events there are of each name", "DATA_TREE"),
];

fn output(id: &str) -> Option<Value> {
    let found = OUTPUTS.iter().find(|(own, ..)| *own == id);
    found.map(|(id, name, description, kind)| {
        json!({ "id": id, "name": name, "description": description, "type": kind })
    })
}

fn outputs() -> Vec<Value> {
    OUTPUTS.iter().filter_map(|(id, ..)| output(id)).collect()
}

fn identifier() -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "productId": "lull",
        "tspVersion": VERSION,
        "os": std::env::consts::OS,
        "osArch": std::env::consts::ARCH,
        "cpuCount": std::thread::available_parallelism().map_or(1, usize::from),
    })
}

fn text(answer: &impl Serialize) -> Result<Vec<u8>, Failed> {
    serde_json::to_vec(answer)
        .map_err(|error| Failed::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

fn nothing() -> Failed {
    Failed::new(StatusCode::NOT_FOUND, "there is no such question")
}

fn parse(body: &[u8]) -> Result<Query, Failed> {
    Query::parse(body).map_err(|reason| Failed {
        detail: Some(reason),
        ..Failed::new(StatusCode::BAD_REQUEST, "the body is no question")
    })
}

/// The answer to a request, as JSON.
pub(super) fn answer(
    library: &Library,
    method: &Method,
    path: &str,
    body: &[u8],
) -> Result<Vec<u8>, Failed> {
    let path = path.strip_prefix(PREFIX).ok_or_else(nothing)?;
    let parts: Vec<&str> = path.split('/').skip(1).take(8).collect();
    match (method.as_str(), parts.as_slice()) {
        ("GET", ["health"]) => text(&json!({ "status": "UP" })),
        ("GET", ["identifier"]) => text(&identifier()),
        ("GET", ["config", "types"]) => text(&json!([])),
        ("GET", ["traces"]) => text(&library.traces()),
        ("GET", ["traces", id]) => text(&library.trace(id)?),
        ("POST", ["traces"]) => {
            let query = parse(body)?;
            let uri = query.uri.as_deref().unwrap_or("");
            text(&library.import(uri, query.name.as_deref())?)
        }
        ("DELETE", ["traces", id]) => text(&library.close_trace(id)?),
        ("GET", ["experiments"]) => text(&library.experiments()),
        ("GET", ["experiments", id]) => text(&library.describe(id)?),
        ("POST", ["experiments"]) => {
            let query = parse(body)?;
            let traces = query.traces.unwrap_or_default();
            text(&library.create(query.name.as_deref().unwrap_or(""), &traces)?)
        }
        ("DELETE", ["experiments", id]) => text(&library.close(id)?),
        (method, ["experiments", id, "outputs", rest @ ..]) => {
            let experiment = library.experiment(id)?;
            of_outputs(&experiment, method, rest, body)
        }
        _ => Err(nothing()),
    }
}

fn of_outputs(
    experiment: &Experiment,
    method: &str,
    parts: &[&str],
    body: &[u8],
) -> Result<Vec<u8>, Failed> {
    match (method, parts) {
        ("GET", []) => text(&outputs()),
        ("GET", ["markerSets"]) => text(&Answer::new(json!([]), Status::Completed, None)),
        ("GET", [id]) => text(&output(id).ok_or_else(nothing)?),
        (_, [id, ..]) | (_, [_, id, _]) if output(id).is_some() => {
            of_output(experiment, method, parts, body)
        }
        _ => Err(nothing()),
    }
}

fn of_output(
    experiment: &Experiment,
    method: &str,
    parts: &[&str],
    body: &[u8],
) -> Result<Vec<u8>, Failed> {
    let loaded = &*experiment.loaded;
    let answer = match (method, parts) {
        ("GET", [_, "configTypes"]) => return text(&json!([])),
        ("GET", [_, "annotations"]) => annotations::categories(),
        ("GET", ["XY", _, "tooltip"]) => Answer::new(json!({}), Status::Completed, None),
        ("POST", [id, "style"]) => {
            parse(body)?;
            let styles = if *id == TIMELINE { timeline::styles() } else { json!({ "styles": {} }) };
            Answer::new(styles, Status::Completed, None)
        }
        ("POST", [_, "annotations"]) => annotations::annotations(loaded, &parse(body)?)?,
        ("POST", ["timeGraph", TIMELINE, "tree"]) => {
            parse(body)?;
            timeline::tree(loaded)
        }
        ("POST", ["timeGraph", TIMELINE, "states"]) => timeline::states(loaded, &parse(body)?)?,
        ("POST", ["timeGraph", TIMELINE, "arrows"]) => arrows::arrows(loaded, &parse(body)?)?,
        ("POST", ["timeGraph", TIMELINE, "tooltip"]) => timeline::tooltip(loaded, &parse(body)?)?,
        ("POST", ["XY", ACTIVITY, "tree"]) => {
            parse(body)?;
            activity::tree(loaded)
        }
        ("POST", ["XY", ACTIVITY, "xy"]) => activity::xy(loaded, &parse(body)?)?,
        ("POST", ["table", EVENTS, "columns"]) => {
            parse(body)?;
            table::columns()
        }
        ("POST", ["table", EVENTS, "lines"]) => table::lines(loaded, &parse(body)?)?,
        ("POST", ["data", STATISTICS, "tree"]) => {
            parse(body)?;
            table::statistics(loaded)
        }
        _ => return Err(nothing()),
    };
    match loaded.viewed.changed() {
        Some(reason) => Err(Failed::new(StatusCode::GONE, reason)),
        None => text(&answer),
    }
}
