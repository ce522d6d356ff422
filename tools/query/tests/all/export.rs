// SPDX-License-Identifier: MIT
//! Datasets: what is written is what is asked back.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::made::{folder, limits, reading, rows_of, trace};
use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::prelude::SessionContext;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::ArrowWriter;
use query::{definition, export, is_dataset, Engine, TableInfo};
use testkit::program::{Number, Program, Text, Who};
use testkit::{random_stream, Spec, TraceFolder};
use trace::Trace;

const MAIN: Who = (10, 10, "main");

fn program(host: &str, from: u64) -> Program {
    let mut program = Program::new();
    program.environment = format!("hostname = \"{host}\"; tracer_name = \"lull\";");
    for at in from..from + 20_000 {
        let fields = [("id", Number(at as i64)), ("url", Text("/a"))];
        program.event(at, (at % 3) as u32, MAIN, "http:request", &fields);
    }
    program.call(
        (from, from + 7),
        MAIN,
        ("io:read_entry", &[("fd", Number(0))]),
        ("io:read_exit", &[("result", Number(5)), ("error", Number(0))]),
    );
    program
}

#[test]
fn datasets_answer_as_their_traces_do() {
    let place = folder(&program("alpha", 0));
    let out = place.path().join("dataset");
    let made = || vec![trace(&program("alpha", 0)), trace(&program("beta", 5_000))];
    let traces = reading(made());
    let done = export(&traces, &out).expect("it can be written");
    assert!(is_dataset(&out));
    let engine = Engine::new(&traces, &limits()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dataset =
        runtime.block_on(Engine::over_datasets(std::slice::from_ref(&out), &limits())).unwrap();
    assert_eq!(dataset.tables.len(), done.tables);
    for sql in [
        "SELECT host, count(*) AS n, sum(id) AS s, min(time) AS a, max(time) AS b \
         FROM \"http:request\" GROUP BY host ORDER BY host",
        "SELECT * FROM \"http:request\" WHERE time = to_timestamp_nanos(19999) ORDER BY host",
        "SELECT host, name, duration, result FROM calls ORDER BY host",
        "SELECT host, pid, tid, events FROM threads ORDER BY host",
        "SELECT host, file, read_bytes FROM files ORDER BY host",
        "SELECT host, count(*) AS n FROM packets GROUP BY host ORDER BY host",
    ] {
        let (wanted, found) = (rows_of(&engine, sql), rows_of(&dataset, sql));
        assert_eq!(found, wanted, "{sql}");
        assert_eq!(found.len(), 2, "{sql}");
    }
    assert!(out.join("http_request/host=beta").is_dir());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    for folder in ["", "calls", "calls/host=alpha"] {
        assert_eq!(mode(&out.join(folder)), 0o700, "{folder}");
    }
    for file in ["lull-dataset.json", "calls/host=alpha/all.parquet"] {
        assert_eq!(mode(&out.join(file)), 0o600, "{file}");
    }
    assert!(rows_of(&dataset, "SELECT * FROM lost").is_empty());
}

#[test]
fn datasets_of_several_machines_are_queried_together() {
    let place = folder(&program("alpha", 0));
    let mut folders = Vec::new();
    for host in ["alpha", "beta"] {
        let out = place.path().join(host);
        export(&reading(vec![trace(&program(host, 0))]), &out).unwrap();
        folders.push(out);
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let engine = runtime.block_on(Engine::over_datasets(&folders, &limits())).unwrap();
    let sql = "SELECT host, count(*) AS n FROM \"http:request\" GROUP BY host ORDER BY host";
    let found: Vec<String> = rows_of(&engine, sql).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["{\"host\":\"alpha\",\"n\":20000}", "{\"host\":\"beta\",\"n\":20000}"]);
}

fn dataset_of(host: &str, field: (&'static str, testkit::program::Value), place: &Path) -> PathBuf {
    let mut program = Program::new();
    program.environment = format!("hostname = \"{host}\"; tracer_name = \"lull\";");
    program.event(1, 0, MAIN, "http:request", &[("id", Number(7)), field]);
    let out = place.join(host);
    export(&reading(vec![trace(&program)]), &out).unwrap();
    out
}

#[test]
fn a_column_that_one_dataset_lacks_is_null_in_its_rows() {
    let place = folder(&program("alpha", 0));
    let folders = [
        dataset_of("alpha", ("url", Text("/a")), place.path()),
        dataset_of("beta", ("customer", Text("x")), place.path()),
    ];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let sql = "SELECT host, id, url, customer FROM \"http:request\" \
        WHERE url IS NULL OR customer IS NULL ORDER BY host";
    let wanted = [
        "{\"customer\":null,\"host\":\"alpha\",\"id\":7,\"url\":\"/a\"}",
        "{\"customer\":\"x\",\"host\":\"beta\",\"id\":7,\"url\":null}",
    ];
    let engine = runtime.block_on(Engine::over_datasets(&folders, &limits())).unwrap();
    let found: Vec<String> = rows_of(&engine, sql).iter().map(ToString::to_string).collect();
    assert_eq!(found, wanted);
}

#[test]
fn a_column_of_two_types_is_told_when_its_table_is_asked_and_others_are_answered() {
    let place = folder(&program("alpha", 0));
    let folders = [
        dataset_of("alpha", ("status", Number(200)), place.path()),
        dataset_of("beta", ("status", Text("ok")), place.path()),
    ];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let engine = runtime.block_on(Engine::over_datasets(&folders, &limits())).unwrap();
    assert_eq!(rows_of(&engine, "SELECT host FROM threads ORDER BY host").len(), 2);
    let sql = "SELECT * FROM \"http:request\"";
    let said = match runtime.block_on(engine.run(sql)) {
        Ok(_) => panic!("it is answered"),
        Err(complaint) => complaint.to_string(),
    };
    for part in ["column status of \"http:request\"", "Int64 in ", "Utf8 in ", "/alpha/", "^^^"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let table = engine.table("http:request").unwrap();
    assert!(definition(table).unwrap_err().contains("column status"));
}

/// Makes a table of a dataset what version 1 had: its counts have no sign.
fn age(dataset: &Path, table: &str) {
    let file = dataset.join(table).join("host=alpha/all.parquet");
    let bytes = Bytes::from(std::fs::read(&file).unwrap());
    let batches = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    let old = |batch: &RecordBatch| {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns()).map(|(field, column)| {
            let of_count = field.name().ends_with("_bytes");
            let ty = if of_count { DataType::UInt64 } else { field.data_type().clone() };
            (field.name().clone(), cast(column, &ty).unwrap())
        });
        RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true))).unwrap()
    };
    let old: Vec<RecordBatch> = batches.iter().map(old).collect();
    let to = std::fs::File::create(&file).unwrap();
    let mut writer = ArrowWriter::try_new(to, old[0].schema(), None).unwrap();
    old.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    let list = dataset.join("lull-dataset.json");
    let text = std::fs::read_to_string(&list).unwrap();
    std::fs::write(list, text.replace("\"version\": 2", "\"version\": 1")).unwrap();
}

#[test]
fn counts_have_a_sign_and_those_of_older_datasets_get_one_beside_newer_ones() {
    let place = folder(&program("alpha", 0));
    let sql = "SELECT written_bytes - read_bytes AS n FROM files";
    let [old, new] = ["old", "new"].map(|name| place.path().join(name));
    let traces = reading(vec![trace(&program("alpha", 0))]);
    let wanted = serde_json::json!({ "n": -5 });
    assert_eq!(
        rows_of(&Engine::new(&traces, &limits()).unwrap(), sql),
        std::slice::from_ref(&wanted)
    );
    export(&traces, &old).unwrap();
    export(&traces, &new).unwrap();
    age(&old, "files");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let engine =
        |folders: &[PathBuf]| runtime.block_on(Engine::over_datasets(folders, &limits())).unwrap();
    let alone = rows_of(&engine(std::slice::from_ref(&old)), "SELECT read_bytes AS n FROM files");
    assert_eq!(alone, [serde_json::json!({ "n": 5 })]);
    let both = engine(&[old, new]);
    assert_eq!(rows_of(&both, sql), [wanted.clone(), wanted]);
    let statement = definition(both.table("files").unwrap()).unwrap();
    assert!(statement.contains("\"read_bytes\" BIGINT,"), "{statement}");
}

/// The lines of a query's rows, sorted.
fn lines_of(runtime: &tokio::runtime::Runtime, context: &SessionContext, sql: &str) -> Vec<String> {
    let rows = async { context.sql(sql).await?.to_string().await };
    let text = runtime.block_on(rows).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    lines.sort();
    lines
}

/// Two hosts, of which one writes a field more, and events with fields of all kinds.
#[test]
fn definitions_give_another_engine_the_same_tables() {
    let place = folder(&program("alpha", 0));
    let mut beta = Program::new();
    beta.environment = "hostname = \"beta\"; tracer_name = \"lull\";".into();
    let fields = [("id", Number(1)), ("url", Text("/b")), ("customer", Text("x"))];
    beta.event(40_000, 0, MAIN, "http:request", &fields);
    let mut traces = vec![vec![trace(&program("alpha", 0))], vec![trace(&beta)]];
    for seed in 0..6 {
        let spec = Spec::random(seed);
        let (bytes, _) = random_stream(&spec, 0, seed, 8);
        let random = TraceFolder::new(&spec.metadata(), &[bytes]).unwrap();
        traces.push(vec![Trace::open(random.path()).unwrap()]);
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folders: Vec<_> =
        (0..traces.len()).map(|n| place.path().join(format!("it's {n}"))).collect();
    for (traces, out) in traces.into_iter().zip(&folders) {
        export(&reading(traces), out).unwrap();
    }
    let (hosts, random) = folders.split_at(2);
    for folders in std::iter::once(hosts).chain(random.chunks(1)) {
        let engine = runtime.block_on(Engine::over_datasets(folders, &limits())).unwrap();
        let other = SessionContext::new();
        for table in &engine.tables {
            let statement = definition(table).unwrap();
            assert_eq!(statement.lines().count(), 1);
            let defined = runtime.block_on(other.sql(&statement));
            defined.unwrap_or_else(|error| panic!("{statement}: {error}"));
            let sql = format!("SELECT * FROM \"{}\"", table.name);
            let wanted = lines_of(&runtime, engine.context(), &sql);
            assert_eq!(lines_of(&runtime, &other, &sql), wanted, "{statement}");
        }
    }
}

#[test]
fn definitions_are_of_datasets_and_bring_no_statement_of_their_own() {
    let traces = reading(vec![trace(&program("alpha", 0))]);
    let engine = Engine::new(&traces, &limits()).unwrap();
    let table = engine.table("calls").unwrap();
    assert!(definition(table).unwrap_err().contains("lull export --parquet"));
    let of_dataset = TableInfo { folders: vec!["/data/calls".into()], ..table.clone() };
    assert!(definition(&of_dataset).unwrap().ends_with(" LOCATION '/data/calls/';"));
    let split = TableInfo { name: "a;\nDROP TABLE b;\n".into(), ..of_dataset.clone() };
    assert!(definition(&split).unwrap_err().contains("control characters"));
    let split = TableInfo { folders: vec!["/data;\n".into()], ..of_dataset };
    assert!(definition(&split).unwrap_err().contains("control characters"));
}

#[test]
fn folders_that_hold_something_are_left_alone_and_foreign_lists_lead_nowhere() {
    let place = folder(&program("alpha", 0));
    let traces = reading(vec![Trace::open(place.path()).unwrap()]);
    let error = export(&traces, place.path()).unwrap_err();
    assert!(error.contains("holds something"), "{error}");
    let list = place.path().join("lull-dataset.json");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for text in [
        "{",
        "{\"version\": 3, \"tables\": []}",
        "{\"version\": 1, \"tables\": [{\"name\": \"a\", \"folder\": \"../..\"}]}",
        "{\"version\": 1, \"tables\": [{\"name\": \"a\", \"folder\": \"/etc\"}]}",
        "{\"version\": 1, \"tables\": [{\"folder\": \"a\"}]}",
        "{\"version\": 1}",
    ] {
        std::fs::write(&list, text).unwrap();
        let folders = [place.path().to_path_buf()];
        let opened = runtime.block_on(Engine::over_datasets(&folders, &limits()));
        assert!(opened.is_err(), "{text}");
    }
}
