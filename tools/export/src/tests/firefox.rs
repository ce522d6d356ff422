// SPDX-License-Identifier: MIT
//! The Firefox profiler's format: what it says, and that its shape is the one that a library for
//! writing such profiles gives them.

use fxprof_processed_profile::{
    MarkerFieldFlags, MarkerFieldFormat, MarkerTiming, Profile, ReferenceTimestamp,
    RuntimeSchemaMarkerField, RuntimeSchemaMarkerSchema, SamplingInterval, Timestamp,
};
use serde_json::{json, Value};

use super::*;

fn thread<'a>(profile: &'a Value, name: &str) -> &'a Value {
    let threads = profile["threads"].as_array().unwrap();
    threads.iter().find(|thread| thread["name"] == name).expect("the thread")
}

/// Rows of a marker table: phase, name, beginning, end.
fn markers(thread: &Value) -> Vec<(i64, String, Value, Value)> {
    let markers = &thread["markers"];
    let length = markers["length"].as_u64().unwrap() as usize;
    let column = |name: &str| {
        let column = markers[name].as_array().unwrap();
        assert_eq!(column.len(), length, "{name}");
        column.clone()
    };
    let (phase, name) = (column("phase"), column("name"));
    let (begin, end) = (column("startTime"), column("endTime"));
    let (_, _) = (column("category"), column("data"));
    let text = |at: &Value| thread["stringArray"][at.as_u64().unwrap() as usize].as_str().unwrap();
    (0..length)
        .map(|i| {
            let phase = phase[i].as_i64().unwrap();
            (phase, text(&name[i]).to_string(), begin[i].clone(), end[i].clone())
        })
        .collect()
}

#[test]
fn calls_are_intervals_and_an_open_one_only_begins() {
    let (profile, _) = json(&server(), Format::Firefox);
    let wanted = [
        (1, "io:read".to_string(), json!(1), json!(3)),
        (0, "mutex:unlock".into(), json!(4), Value::Null),
        (0, "queue:length.length".into(), json!(6), Value::Null),
        (1, "job".into(), json!(0), json!(8)),
    ];
    assert_eq!(markers(thread(&profile, "server[10]")), wanted);
    let worker = thread(&profile, "worker[11]");
    let wanted = [
        (1, "mutex:wait".to_string(), json!(2), json!(5)),
        (2, "io:read".into(), json!(7), Value::Null),
    ];
    assert_eq!(markers(worker), wanted);
    assert_eq!(worker["markers"]["data"][1], json!({ "type": "io:read", "fd": "4", "count": "1" }));
    assert_eq!((&worker["pid"], &worker["tid"]), (&json!("10"), &json!("11")));
    assert_eq!(profile["meta"]["startTime"], json!(1.0));
}

#[test]
fn marker_data_is_described_by_a_schema_of_its_name() {
    let (profile, _) = json(&server(), Format::Firefox);
    let schemas = profile["meta"]["markerSchema"].as_array().unwrap();
    let keys = |name: &str| {
        let schema = schemas.iter().find(|schema| schema["name"] == name).unwrap();
        let fields = schema["fields"].as_array().unwrap();
        fields.iter().map(|field| field["key"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(keys("io:read"), ["fd", "count", "result", "error"]);
    assert_eq!(keys("queue:length.length"), ["value"]);
}

#[test]
fn cut_calls_losses_and_processors_are_markers_with_a_remark() {
    let (profile, _) = json(&crossing(), Format::Firefox);
    let data = &thread(&profile, "server[10]")["markers"]["data"];
    assert_eq!(data[0], json!({ "type": "half", "lull": "end not seen" }));
    let (profile, _) = json(&losing(), Format::Firefox);
    let lost = &thread(&profile, "Lost, CPU 1")["markers"]["data"][0];
    assert_eq!((&lost["what"], &lost["full"]), (&json!("3 events lost"), &json!("2")));
    let (profile, _) = json(&scheduled(), Format::Firefox);
    let ran = &thread(&profile, "CPU 0")["markers"]["data"];
    assert_eq!(
        ran[1],
        json!({ "type": "running", "thread": "worker[11]", "lull": "end not seen" })
    );
}

/// The keys of an object, and of the objects in it; of arrays, those of the first element.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), shape(value))).collect(),
        Value::Array(list) => list.first().map_or(Value::Null, shape),
        _ => Value::Null,
    }
}

#[test]
fn profile_has_the_shape_that_a_library_for_such_profiles_writes() {
    let mut library = Profile::new(
        "server",
        ReferenceTimestamp::from_millis_since_unix_epoch(1.0),
        SamplingInterval::from_millis(1),
    );
    let zero = Timestamp::from_millis_since_reference(0.0);
    let process = library.add_process("server", 10, zero);
    let main = library.add_thread(process, 10, zero, true);
    let field = RuntimeSchemaMarkerField {
        key: "fd".into(),
        label: "fd".into(),
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::empty(),
    };
    library.register_marker_type(RuntimeSchemaMarkerSchema {
        type_name: "io:read".into(),
        locations: fxprof_processed_profile::MarkerLocations::MARKER_CHART,
        chart_label: None,
        tooltip_label: None,
        table_label: None,
        fields: vec![field],
        description: None,
        graphs: Vec::new(),
    });
    let _ = (main, MarkerTiming::Instant(zero));
    library.set_thread_show_markers_in_timeline(main, true);
    let library = shape(&serde_json::to_value(&library).unwrap());
    let ours = shape(&json(&server(), Format::Firefox).0);
    for (key, of_library) in library["meta"].as_object().unwrap() {
        let of_ours = &ours["meta"][key];
        assert!(ours["meta"].get(key).is_some(), "meta.{key}");
        if key != "markerSchema" {
            assert_eq!(of_ours, of_library, "meta.{key}");
        }
    }
    let (of_ours, of_library) = (&ours["threads"], &library["threads"]);
    for (key, table) in of_library.as_object().unwrap() {
        assert!(of_ours.get(key).is_some(), "thread.{key}");
        let columns = |table: &Value| {
            table.as_object().map(|t| t.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
        };
        assert_eq!(columns(&of_ours[key]), columns(table), "thread.{key}");
    }
    assert_eq!(of_ours.as_object().unwrap().len(), of_library.as_object().unwrap().len());
}
