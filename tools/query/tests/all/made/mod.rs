// SPDX-License-Identifier: MIT
//! What the tests of tables have in common: made-up traces, and answers as lines of JSON.

#![allow(dead_code)] // Each test program uses a part.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use query::{Complaint, Engine, Format, Limits, Output, Reading};
use serde_json::Value;
use testkit::program::Program;
use testkit::{Spec, StreamWriter, TraceFolder};
use trace::{Span, Trace};

pub fn limits() -> Limits {
    Limits { processors: 2, memory_bytes: 256 << 20, ..Limits::default() }
}

pub fn trace(program: &Program) -> Trace {
    let (metadata, streams) = program.files();
    Trace::from_bytes(metadata.as_bytes(), streams).expect("the trace is well formed")
}

/// A trace on disk; the environment is the text of its `env` block.
pub fn folder(program: &Program) -> TraceFolder {
    let (metadata, streams) = program.files();
    let streams: Vec<Vec<u8>> = streams.into_iter().map(|(_, bytes)| bytes).collect();
    TraceFolder::new(&metadata, &streams).expect("the folder can be written")
}

/// A trace of one stream that a test filled.
pub fn of_spec(spec: &Spec, fill: impl FnOnce(&mut StreamWriter<'_>)) -> Trace {
    let mut writer = StreamWriter::new(spec, 0);
    fill(&mut writer);
    let streams = vec![(PathBuf::from("stream_0"), writer.finish().0)];
    Trace::from_bytes(spec.metadata().as_bytes(), streams).expect("the trace is well formed")
}

pub fn reading(traces: Vec<Trace>) -> Arc<Reading> {
    Arc::new(Reading::new(traces, Span::ALL, 2, 8192))
}

/// A place for the output that the test can look into.
#[derive(Clone, Default)]
pub struct Sink(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Sink {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

/// The rows of a query in a form.
pub fn written(engine: &Engine, sql: &str, format: Format) -> Result<Sink, Complaint> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut stream = engine.run(sql).await?;
        let sink = Sink::default();
        let mut output =
            Output::new(format, Box::new(sink.clone()), &stream.schema()).expect("it begins");
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(|error| Complaint::of(&error, sql))?;
            output.write(&batch).expect("rows can be written");
        }
        output.end().expect("it ends");
        Ok(sink)
    })
}

/// The rows of a query, as objects.
pub fn rows_of(engine: &Engine, sql: &str) -> Vec<Value> {
    let sink = written(engine, sql, Format::Ndjson).unwrap_or_else(|c| panic!("{sql}: {c}"));
    let text = sink.text();
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

pub fn rows(traces: Vec<Trace>, sql: &str) -> Vec<Value> {
    let reading = reading(traces);
    rows_of(&Engine::new(&reading, &limits()).unwrap(), sql)
}

/// What is wrong with a query.
pub fn complaint(traces: Vec<Trace>, sql: &str) -> Complaint {
    let reading = reading(traces);
    let engine = Engine::new(&reading, &limits()).unwrap();
    match written(&engine, sql, Format::Ndjson) {
        Ok(sink) => panic!("{sql}: {}", sink.text()),
        Err(complaint) => complaint,
    }
}

/// The command `lull`, as it was built.
pub fn lull() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = ["build/bin/lull", "target/debug/lull"].map(|place| root.join(place));
    let found = std::env::var_os("LULL").map(PathBuf::from);
    found.or_else(|| places.into_iter().find(|place| place.is_file()))
}
