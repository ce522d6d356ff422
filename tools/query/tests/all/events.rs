// SPDX-License-Identifier: MIT
//! Tables of events: the values of made-up traces, worked by hand.

use crate::made::{complaint, of_spec, reading, rows, rows_of, trace};
use query::Engine;
use serde_json::json;
use testkit::program::{Number, Program, Text, Who};
use testkit::{Datum, Int, Kind, Order, Spec};

const MAIN: Who = (10, 10, "main");
const WORKER: Who = (10, 11, "worker");
const CHILD: Who = (20, 20, "child");

fn requests() -> Program {
    let mut program = Program::new();
    program.environment = "tracer_name = \"lull\"; verdict = \"complete\"; \
                           hostname = \"alpha\";"
        .into();
    let mut request = |at, cpu, who, id, url| {
        program.event(at, cpu, who, "http:request", &[("id", Number(id)), ("url", Text(url))]);
    };
    request(1_000, 0, MAIN, 1, "/a");
    request(2_000, 1, WORKER, 2, "/b");
    request(3_000, 0, MAIN, 3, "/a");
    request(4_000, 1, CHILD, -4, "/c");
    program.event(2_500, 0, WORKER, "tick", &[]);
    program
}

#[test]
fn rows_have_the_fields_and_what_every_event_has() {
    let found = rows(vec![trace(&requests())], "SELECT * FROM \"http:request\" ORDER BY time");
    assert_eq!(found.len(), 4);
    assert_eq!(
        found[3],
        json!({
            "time": "1970-01-01T00:00:00.000004", "host": "alpha", "trace": "", "cpu": 1,
            "pid": 20, "tid": 20, "comm": "child", "id": -4, "url": "/c",
        })
    );
    assert_eq!((&found[1]["tid"], &found[1]["comm"]), (&json!(11), &json!("worker")));
}

#[test]
fn conditions_on_time_processor_and_thread_leave_what_meets_them() {
    let traces = || vec![trace(&requests())];
    for (condition, ids) in [
        ("time >= '1970-01-01T00:00:00.000002' AND time < '1970-01-01T00:00:00.000004'", "2 3"),
        ("cpu = 1", "2 -4"),
        ("pid = 10 AND tid = 11", "2"),
        ("pid IN (20, 30)", "-4"),
        ("comm = 'main' AND id > 1", "3"),
        ("pid = 10 OR cpu = 1", "1 2 3 -4"),
        ("time BETWEEN to_timestamp_nanos(1000) AND to_timestamp_nanos(2000)", "1 2"),
        ("pid = 10 AND pid = 20", ""),
    ] {
        let sql = format!("SELECT id FROM \"http:request\" WHERE {condition} ORDER BY time");
        let found: Vec<String> =
            rows(traces(), &sql).iter().map(|row| row["id"].to_string()).collect();
        assert_eq!(found.join(" "), ids, "{condition}");
    }
}

#[test]
fn all_events_are_one_table_too_and_count_as_the_tables_of_each_do() {
    let traces = || vec![trace(&requests())];
    let sql = "SELECT name, count(*) AS n FROM events GROUP BY name ORDER BY name";
    let wanted = [json!({"name": "http:request", "n": 4}), json!({"name": "tick", "n": 1})];
    assert_eq!(rows(traces(), sql), wanted);
    let sql = "SELECT tid, fields FROM events WHERE time = to_timestamp_nanos(2000)";
    let wanted = json!({"tid": 11, "fields": "{\"id\":2,\"url\":\"/b\"}"});
    assert_eq!(rows(traces(), sql), [wanted]);
    assert_eq!(rows(traces(), "SELECT count(*) AS n FROM tick"), [json!({"n": 1})]);
}

#[test]
fn plans_say_what_is_pushed_into_the_trace_and_only_wanted_columns_are_read() {
    let sql = "EXPLAIN SELECT url FROM \"http:request\" WHERE pid = 10 AND \
               time < to_timestamp_nanos(5000) AND cpu = 1";
    let plan = rows(vec![trace(&requests())], sql);
    let plan = plan.iter().map(|row| row["plan"].to_string()).collect::<String>();
    assert!(plan.contains("Scan: table=http:request, columns=[time, cpu, pid, url]"), "{plan}");
    assert!(plan.contains("until=5000, cpu={1}, pid={10}"), "{plan}");
}

#[test]
fn numbers_keep_their_width_and_sign_and_other_kinds_have_columns_of_their_own() {
    let order = Order::Little;
    let signed = |bits| Kind::Int(Int { signed: true, ..Int::bytes(bits, order) });
    let state = Kind::Enumeration {
        container: Int::bytes(8, order),
        labels: vec![("idle".into(), 0, 0), ("busy".into(), 1, 3)],
    };
    let fields = Kind::structure(vec![
        ("small", Kind::u(8, order)),
        ("large", Kind::u(64, order)),
        ("low", signed(16)),
        ("ratio", Kind::Float { size_bits: 64, align_bits: 8, order }),
        ("state", state.clone()),
        ("pid", Kind::u(32, order)),
        (
            "list",
            Kind::Sequence { element: Box::new(Kind::u(16, order)), length: Int::bytes(8, order) },
        ),
        ("pair", Kind::structure(vec![("a", Kind::u(8, order)), ("s", state)])),
        (
            "either",
            Kind::Variant {
                tag: Int::bytes(8, order),
                options: vec![("number".into(), Kind::u(8, order)), ("text".into(), Kind::Text)],
            },
        ),
    ]);
    let spec = Spec::lull(order, vec![(8, "kinds", fields)]);
    let values = |state, option| {
        Datum::List(vec![
            Datum::Unsigned(255),
            Datum::Unsigned(u64::MAX),
            Datum::Signed(-3),
            Datum::Float(0.5),
            Datum::Unsigned(state),
            Datum::Unsigned(7),
            Datum::List(vec![Datum::Unsigned(1), Datum::Unsigned(65535)]),
            Datum::List(vec![Datum::Unsigned(9), Datum::Unsigned(2)]),
            option,
        ])
    };
    let made = || {
        of_spec(&spec, |writer| {
            writer.begin_packet(100);
            writer.event(8, 100, values(2, Datum::Option(0, Box::new(Datum::Unsigned(5)))));
            let text = Datum::Text(b"five".to_vec());
            writer.event(8, 101, values(9, Datum::Option(1, Box::new(text))));
            writer.end_packet(102, 0);
        })
    };
    let found = rows(vec![made()], "SELECT * FROM kinds ORDER BY time");
    let wanted = json!({
        "small": 255, "large": u64::MAX, "low": -3, "ratio": 0.5, "state": "busy",
        "state_number": 2, "pid": null, "pid_": 7, "list_length": 2, "list": [1, 65535],
        "pair": {"a": 9, "s": {"label": "busy", "number": 2}}, "either_tag": "number",
        "either_tag_number": 0, "either": {"number": 5, "text": null},
    });
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&found[0][key], value, "{key}");
    }
    assert_eq!((&found[1]["state"], &found[1]["state_number"]), (&json!(null), &json!(9)));
    assert_eq!(found[1]["either"], json!({"number": null, "text": "five"}));
    let sql = "SELECT arrow_typeof(small) AS a, arrow_typeof(low) AS b, arrow_typeof(large) AS c, \
               pair['s']['label'] AS d, list[2] AS e FROM kinds LIMIT 1";
    let wanted = json!({"a": "UInt8", "b": "Int16", "c": "UInt64", "d": "busy", "e": 65535});
    assert_eq!(rows(vec![made()], sql), [wanted]);
}

#[test]
fn events_of_one_name_with_other_fields_share_a_table_that_has_all_of_them() {
    let order = Order::Little;
    let class = |fields: Vec<(&str, Kind)>| Kind::structure(fields);
    let one = class(vec![("a", Kind::u(8, order)), ("b", Kind::Text)]);
    let signed = Kind::Int(Int { signed: true, ..Int::bytes(32, order) });
    let other = class(vec![("a", signed), ("b", Kind::u(16, order)), ("c", Kind::Text)]);
    let spec = Spec::lull(order, vec![(8, "x", one), (9, "x#9", other)]);
    let made = of_spec(&spec, |writer| {
        writer.begin_packet(1);
        let text = |text: &str| Datum::Text(text.as_bytes().to_vec());
        writer.event(8, 1, Datum::List(vec![Datum::Unsigned(200), text("old")]));
        let fields = vec![Datum::Signed(-1), Datum::Unsigned(7), text("new")];
        writer.event(9, 2, Datum::List(fields));
        writer.end_packet(3, 0);
    });
    let found = rows(vec![made], "SELECT a, b, c FROM x ORDER BY time");
    let wanted = [json!({"a": 200, "b": "old", "c": null}), json!({"a": -1, "b": "7", "c": "new"})];
    assert_eq!(found, wanted);
}

#[test]
fn names_with_quotes_and_semicolons_are_names_and_nothing_else() {
    let name = "a\\\"; DROP TABLE events; --";
    let mut program = Program::new();
    program.event(1, 0, MAIN, name, &[("f", Number(1))]);
    let reading = reading(vec![trace(&program)]);
    let engine = Engine::new(&reading, &crate::made::limits()).unwrap();
    let table = engine.tables.last().unwrap().name.clone();
    assert!(table.contains('"') && table.contains("DROP"), "{table}");
    let sql = format!("SELECT f FROM {}", query::quoted(&table));
    assert_eq!(rows_of(&engine, &sql), [json!({"f": 1})]);
    assert_eq!(rows_of(&engine, "SELECT count(*) AS n FROM events"), [json!({"n": 1})]);
}

#[test]
fn errors_point_at_their_place_and_say_what_was_meant() {
    let traces = || vec![trace(&requests())];
    let text = complaint(traces(), "SELECT *\nFROM \"http:requst\"").to_string();
    let wanted = "no table is named \"http:requst\"\n  FROM \"http:requst\"\n       \
                  ^^^^^^^^^^^^^\n  the nearest is \"http:request\"";
    assert_eq!(text, wanted);
    let text = complaint(traces(), "SELECT urll FROM \"http:request\"").to_string();
    assert!(text.contains("urll") && text.contains("\n         ^^^^"), "{text}");
    let text = complaint(traces(), "SELECT * FORM events").to_string();
    assert!(text.contains("\n           ^") || text.contains("\n         ^"), "{text}");
    let text = complaint(traces(), "SELECT 1; SELECT 2").to_string();
    assert!(text.contains("single SQL statement"), "{text}");
}

#[test]
fn what_is_no_query_is_refused() {
    for sql in [
        "CREATE TABLE t AS SELECT 1",
        "DROP TABLE events",
        "INSERT INTO events VALUES (1)",
        "COPY events TO '/dev/null'",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
        "SET datafusion.execution.batch_size = 1",
        "SELECT * FROM '/etc/passwd'",
    ] {
        let complaint = complaint(vec![trace(&requests())], sql);
        assert!(!complaint.what.is_empty(), "{sql}");
    }
}
