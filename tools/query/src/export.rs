// SPDX-License-Identifier: MIT
//! A dataset of everything that is in traces: a folder for each table, a folder in it for each
//! host, a Parquet file in that for each trace.
//!
//! Place in the flow: `lull export --parquet`. One pass writes the events of all names, and each
//! table that follows the state takes a pass of its own; as many passes as there are processors go
//! on at once. The list of tables is written last: a folder without it is no dataset (`dataset`).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, Permissions};
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::SchemaRef;
use interrupt::Unfinished;
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use trace::{in_slices, Merge, Message};

use crate::bounds::Bounds;
use crate::columns::EventTable;
use crate::dataset::{write_list, Listed, LIST};
use crate::engine::{names, sources, GENERAL_TABLES};
use crate::events::{Finder, RowWriter};
use crate::output::{parquet_properties, Failure};
use crate::reading::{Meter, Reading, Tally};
use crate::scan::{Request, Source};

/// What waits in memory to be written, of all files together.
const MOST_WAITING_BYTES: usize = 256 << 20;
/// Of folders and files: a trace is its owner's.
const OF_FOLDERS: u32 = 0o700;
const OF_FILES: u32 = 0o600;
/// How the names of datasets begin that are not whole.
const UNFINISHED: &str = ".lull-export-";
/// How often what is not whole is removed: each time that a thread added to it meanwhile.
const REMOVALS_MAX: u32 = 1000;
/// The folder of rows whose host is not known, as readers of such datasets call it.
const NO_HOST: &str = "__HIVE_DEFAULT_PARTITION__";
/// The table that repeats all others. In its place, those of each name of events are written.
const REPEATED: &str = "events";

/// What was written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Exported {
    pub tables: usize,
    pub files: usize,
    pub rows: u64,
}

/// How often an export reads the traces: for each general table but that of packets, whose
/// headers are enough.
pub const PASSES: u64 = GENERAL_TABLES as u64 - 1;

type Written<T> = Result<T, String>;

/// Writes all tables into an empty or new folder.
pub fn export(reading: &Arc<Reading>, folder: &Path) -> Written<Exported> {
    let is_there = folder.exists();
    let is_free = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().all(|entry| is_unfinished(&entry.file_name())),
        Err(_) => !is_there,
    };
    if !is_free {
        return Err(format!("{} holds something; name another folder", folder.display()));
    }
    // What is written has its name when it is whole: what a signal ends is in the way of nobody.
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
    let place = if is_there { folder } else { above.unwrap_or(Path::new(".")) };
    std::fs::create_dir_all(place).map_err(failed)?;
    let begun: std::io::Result<_> = Unfinished::begin(|| {
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED).permissions(Permissions::from_mode(OF_FOLDERS));
        let made = builder.tempdir_in(place)?;
        let removed = made.path().to_path_buf();
        Ok((made, Box::new(move || remove(&removed))))
    });
    let (made, unfinished) = begun.map_err(failed)?;
    // The folder that is told of is the one that was named: the other one will be gone.
    let hidden = made.path().display().to_string();
    let named = |what: String| what.replace(&hidden, &folder.display().to_string());
    let exported = write(reading, made.path()).map_err(named)?;
    let kept = unfinished.finish(|| {
        if is_there {
            return move_into(made.path(), folder);
        }
        std::fs::rename(made.path(), folder)?;
        // Nothing is there by that name any more.
        let _ = made.keep();
        Ok(())
    });
    kept.map_err(failed)?;
    Ok(exported)
}

/// Whether a name is that of a dataset that was killed before it was whole.
fn is_unfinished(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes())
}

/// Removes a dataset to which other threads still write: none of them makes its folder again.
fn remove(folder: &Path) {
    for _ in 0..REMOVALS_MAX {
        if std::fs::remove_dir_all(folder).is_ok() {
            return;
        }
    }
}

/// Moves a dataset into a folder that is there, its list last.
fn move_into(made: &Path, folder: &Path) -> std::io::Result<()> {
    let entries: Vec<_> = std::fs::read_dir(made)?.collect::<Result<_, _>>()?;
    let (list, tables): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.file_name() == LIST);
    for entry in tables.iter().chain(&list) {
        std::fs::rename(entry.path(), folder.join(entry.file_name()))?;
    }
    Ok(())
}

/// Makes a folder in one that is there, unless it is there itself.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    match DirBuilder::new().mode(OF_FOLDERS).create(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Makes a file where none is.
pub(crate) fn new_file(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create_new(true).mode(OF_FILES).open(path)
}

fn write(reading: &Arc<Reading>, folder: &Path) -> Written<Exported> {
    let sources = sources(reading);
    let names = names(&sources);
    let workers = reading.workers.clamp(1, GENERAL_TABLES);
    let passes = Passes { next: AtomicUsize::new(0), has_failed: AtomicBool::new(false) };
    let work = || {
        let files = Files::new(folder, reading, &names, MOST_WAITING_BYTES / workers);
        passes.work(&sources, files)
    };
    let mut files = Files::new(folder, reading, &names, 0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut result = work().map(|written| files.take(written));
        for thread in threads {
            let written = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result = result.and(written.map(|written| files.take(written)));
        }
        result
    })?;
    files.end()
}

/// Passes that are still to be made.
struct Passes {
    next: AtomicUsize,
    has_failed: AtomicBool,
}

impl Passes {
    /// Makes passes until none is left, or one of them failed, here or in another thread.
    fn work<'r>(&self, sources: &[Arc<dyn Source>], mut files: Files<'r>) -> Written<Files<'r>> {
        while !self.has_failed.load(Ordering::Relaxed) {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = sources.get(at).filter(|_| at < GENERAL_TABLES) else { break };
            let result = match source.name() {
                REPEATED => self.events(&mut files),
                _ => self.general(at, source.as_ref(), &mut files),
            };
            if result.is_err() {
                self.has_failed.store(true, Ordering::Relaxed);
                return result.map(|()| files);
            }
        }
        Ok(files)
    }

    /// A general table.
    fn general(&self, at: usize, source: &dyn Source, files: &mut Files<'_>) -> Written<()> {
        let columns = (0..source.schema().fields().len()).collect();
        let request = Request { columns, bounds: Bounds::default(), limit: None };
        let mut result = Ok(());
        source.read(&request, &mut |batch| {
            result = batch.map_err(|e| e.to_string()).and_then(|b| files.by_host(at, &b));
            self.go_on(&result)
        });
        result?;
        files.at_least_empty(at, &source.schema())
    }

    /// The tables of all names of events.
    fn events(&self, files: &mut Files<'_>) -> Written<()> {
        let reading = files.reading;
        let tables = &EventTable::each(&reading.traces);
        let needs_state = crate::identity::needs_state(&reading.traces);
        let workers = if needs_state { 1 } else { reading.workers };
        let work = |merge: &mut Merge<'_>| {
            let mut parts = Vec::new();
            let tally = rows(reading, tables, merge, &mut |part| {
                parts.push(part);
                Ok(())
            });
            (parts, tally)
        };
        let (mut tally, mut result) = (Tally::default(), Ok(()));
        let mut rest = in_slices(&reading.traces, &reading.span, workers, work, |(parts, part)| {
            result = part.and_then(|part| {
                tally.add(&part);
                parts.into_iter().try_for_each(|part| files.write(part))
            });
            self.go_on(&result)
        });
        result?;
        let last = rows(reading, tables, &mut rest, &mut |part| files.write(part))?;
        tally.add(&last);
        reading.end(&tally, &rest);
        Ok(())
    }

    /// Whether a pass should go on after what came of a part of it.
    fn go_on(&self, result: &Written<()>) -> ControlFlow<()> {
        match result {
            Ok(()) if !self.has_failed.load(Ordering::Relaxed) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

/// Rows of one table and one trace.
struct Part {
    table: usize,
    trace_index: usize,
    batch: RecordBatch,
}

fn rows(
    reading: &Reading,
    tables: &[EventTable],
    merge: &mut Merge<'_>,
    give: &mut dyn FnMut(Part) -> Written<()>,
) -> Written<Tally> {
    let by_class = tables_of_classes(reading, tables);
    let mut writers: BTreeMap<(usize, usize), RowWriter<'_>> = BTreeMap::new();
    let mut finder = Finder::new(reading, merge.stream_count(), true);
    let (mut meter, mut tally) = (Meter::default(), Tally::default());
    while let Some(message) = merge.next() {
        let event = match message {
            Message::Event(event) => event,
            Message::Loss(loss) => {
                tally.loss(&loss);
                finder.loss(&loss);
                continue;
            }
        };
        meter.see(&event, reading);
        finder.see(&event);
        let trace_index = event.trace_index();
        let of_trace = by_class.get(trace_index);
        let table = of_trace.and_then(|tables| *tables.get(event.class().index)?);
        let Some(at) = table.filter(|_| !event.is_before_span()) else { continue };
        let Some(table) = tables.get(at) else { continue };
        let writer = match writers.entry((at, trace_index)) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let all: Vec<usize> = (0..table.origins.len()).collect();
                let writer = RowWriter::new(reading, table, &all).map_err(|e| e.to_string())?;
                entry.insert(writer)
            }
        };
        writer.add(&event, &finder.who(&event));
        if writer.rows >= reading.batch_rows {
            let batch = writer.finish().map_err(|e| e.to_string())?;
            give(Part { table: at, trace_index, batch })?;
        }
    }
    for ((table, trace_index), mut writer) in writers {
        if writer.rows > 0 {
            let batch = writer.finish().map_err(|e| e.to_string())?;
            give(Part { table, trace_index, batch })?;
        }
        tally.add(&writer.tally);
    }
    tally.read = meter.read;
    Ok(tally)
}

/// The table of each class, by trace.
fn tables_of_classes(reading: &Reading, tables: &[EventTable]) -> Vec<Vec<Option<usize>>> {
    let count = |trace: &trace::Trace| vec![None; trace.event_classes().count()];
    let mut by_class: Vec<Vec<Option<usize>>> = reading.traces.iter().map(count).collect();
    for (at, table) in tables.iter().enumerate() {
        for (of_trace, classes) in by_class.iter_mut().zip(&table.classes) {
            for (place, class) in of_trace.iter_mut().zip(classes) {
                if class.is_some() {
                    *place = Some(at);
                }
            }
        }
    }
    by_class
}

/// The files of a dataset in the making.
struct Files<'r> {
    folder: PathBuf,
    reading: &'r Reading,
    names: &'r [String],
    /// The folder of each table.
    folders: Vec<String>,
    /// By table, host and trace; no trace where the rows of all are in one file.
    open: BTreeMap<(usize, Option<String>, Option<usize>), ArrowWriter<File>>,
    waiting_bytes: usize,
    /// What may wait.
    most_waiting_bytes: usize,
    rows: u64,
}

impl<'r> Files<'r> {
    fn new(
        folder: &Path,
        reading: &'r Reading,
        names: &'r [String],
        most_waiting_bytes: usize,
    ) -> Self {
        let mut taken = BTreeSet::new();
        Self {
            folder: folder.into(),
            reading,
            names,
            folders: names.iter().map(|name| unique(&plain(name), &mut taken)).collect(),
            open: BTreeMap::new(),
            waiting_bytes: 0,
            most_waiting_bytes,
            rows: 0,
        }
    }

    fn write(&mut self, part: Part) -> Written<()> {
        let host = self.reading.hosts.get(part.trace_index).cloned().flatten();
        let key = (part.table + GENERAL_TABLES, host, Some(part.trace_index));
        self.add(key, &part.batch)
    }

    /// Rows of a general table, which may be of several hosts.
    fn by_host(&mut self, table: usize, batch: &RecordBatch) -> Written<()> {
        let hosts: BTreeSet<&Option<String>> = self.reading.hosts.iter().collect();
        if let (1, Some(host)) = (hosts.len(), hosts.first()) {
            return self.add((table, (*host).clone(), None), batch);
        }
        let Some(column) = batch.column_by_name("host") else { return Ok(()) };
        let column = column.as_string::<i32>();
        let found: BTreeSet<Option<&str>> = column.iter().collect();
        for host in found {
            let mask: BooleanArray = column.iter().map(|one| Some(one == host)).collect();
            let of_host = filter_record_batch(batch, &mask).map_err(|e| e.to_string())?;
            self.add((table, host.map(str::to_string), None), &of_host)?;
        }
        Ok(())
    }

    /// A table without rows is a table, too.
    fn at_least_empty(&mut self, table: usize, schema: &SchemaRef) -> Written<()> {
        if self.open.keys().any(|(known, ..)| *known == table) {
            return Ok(());
        }
        let host = self.reading.hosts.first().cloned().flatten();
        self.add((table, host, None), &RecordBatch::new_empty(Arc::clone(schema)))
    }

    fn add(
        &mut self,
        key: (usize, Option<String>, Option<usize>),
        batch: &RecordBatch,
    ) -> Written<()> {
        if !self.open.contains_key(&key) {
            let writer = self.create(&key, batch.schema())?;
            self.open.insert(key.clone(), writer);
        }
        let Some(writer) = self.open.get_mut(&key) else { return Ok(()) };
        let before = writer.in_progress_size();
        writer.write(batch).map_err(|e| unwritten(&self.folder, e))?;
        self.waiting_bytes += writer.in_progress_size().saturating_sub(before);
        self.rows += batch.num_rows() as u64;
        if self.waiting_bytes > self.most_waiting_bytes {
            for writer in self.open.values_mut() {
                writer.flush().map_err(|e| unwritten(&self.folder, e))?;
            }
            self.waiting_bytes = 0;
        }
        Ok(())
    }

    fn create(
        &self,
        (table, host, trace_index): &(usize, Option<String>, Option<usize>),
        schema: SchemaRef,
    ) -> Written<ArrowWriter<File>> {
        let table = self.folders.get(*table).map_or("", String::as_str);
        let host = host.as_deref().map_or_else(|| NO_HOST.into(), plain);
        let label = trace_index.and_then(|index| self.reading.labels.get(index));
        let name = match (label, trace_index) {
            (Some(label), Some(index)) => format!("{index}-{}.parquet", plain(label)),
            _ => "all.parquet".into(),
        };
        let table = self.folder.join(table);
        let folder = table.join(format!("host={host}"));
        let path = folder.join(name);
        let said = |error: std::io::Error| format!("{}: {error}", path.display());
        make_folder(&table).and_then(|()| make_folder(&folder)).map_err(said)?;
        let file = new_file(&path).map_err(said)?;
        ArrowWriter::try_new(file, schema, Some(parquet_properties()))
            .map_err(|e| unwritten(&path, e))
    }

    /// Takes over files of other tables.
    fn take(&mut self, other: Self) {
        self.open.extend(other.open);
        self.rows += other.rows;
    }

    fn end(self) -> Written<Exported> {
        let written: BTreeSet<usize> = self.open.keys().map(|(table, ..)| *table).collect();
        let files = self.open.len();
        for (_, writer) in self.open {
            writer.close().map_err(|e| unwritten(&self.folder, e))?;
        }
        let listed = |at: &usize| {
            Some(Listed {
                name: self.names.get(*at)?.clone(),
                folder: self.folders.get(*at)?.clone(),
            })
        };
        let tables: Vec<Listed> = written.iter().filter_map(listed).collect();
        write_list(&self.folder, &tables)?;
        Ok(Exported { tables: tables.len(), files, rows: self.rows })
    }
}

/// Says what could not be written, and where.
fn unwritten(place: &Path, error: ParquetError) -> String {
    format!("{}: {}", place.display(), Failure::from(error))
}

/// A name for a folder or a file that no reader of datasets takes for something else: letters,
/// digits and what joins them, a letter or a digit first, 100 bytes at most.
fn plain(name: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let kept: String = name.chars().map(|c| if is_kept(c) { c } else { '_' }).take(100).collect();
    match kept.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        true => kept,
        false => format!("x{kept}"),
    }
}

/// The name, with a number behind it if it is taken: also where only the case differs.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut unique = name.to_string();
    let mut number = 1;
    // Bound: each round needs another table.
    while !taken.insert(unique.to_ascii_lowercase()) {
        number += 1;
        unique = format!("{name}-{number}");
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_lead_nowhere_else_and_are_different() {
        assert_eq!(plain("http:request"), "http_request");
        assert_eq!(plain("../../etc"), "x.._.._etc");
        assert_eq!(plain("_temporary"), "x_temporary");
        assert_eq!(plain(""), "x");
        assert_eq!(plain(&"a".repeat(1000)).len(), 100);
        let mut taken = BTreeSet::new();
        let found: Vec<_> =
            ["a:b", "a b", "A_b", "a_b-2"].iter().map(|n| unique(&plain(n), &mut taken)).collect();
        assert_eq!(found, ["a_b", "a_b-2", "A_b-3", "a_b-2-2"]);
    }
}
