// SPDX-License-Identifier: MIT
//! What the last runs found, beside the tables that are made of it: `models/results/NOUN.toml`.
//! A run that was not executed this time keeps its row.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::expect::Run;
use crate::outcome::Found;
use crate::spin::Report;
use crate::text::ModelText;

const HEADER: &str = "\
# SPDX-License-Identifier: MIT
# What `models/run --write` found; the table beside is made of it. Not to be edited.
";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub run: String,
    pub found: String,
    pub states: u64,
    pub transitions: u64,
    pub depth: u64,
    pub memory_mib: f64,
    pub time_s: f64,
    /// Of the model's code and the search's settings when this was found.
    pub digest: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    #[serde(default)]
    pub row: Vec<Row>,
}

pub fn folder(models: &Path) -> PathBuf {
    models.join("results")
}

/// FNV-1a, which is enough to notice an edit.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Tells whether a row was found with today's model: comments and spaces do not count.
pub fn digest(run: &Run) -> Result<String> {
    let text = ModelText::read(&run.path)?;
    let code: Vec<&str> = text.code().split_whitespace().collect();
    let search = (run.name(), run.compression, run.reduction);
    Ok(format!("{:016x}", fnv(&format!("{} {search:?}", code.join(" ")))))
}

impl Row {
    pub fn of(run: &Run, report: &Report) -> Result<Row> {
        let search = &report.search;
        Ok(Row {
            run: run.name(),
            found: report.found.words(),
            states: search.states,
            transitions: search.transitions,
            depth: search.depth,
            memory_mib: (search.memory_mib * 10.0).round() / 10.0,
            time_s: (report.time_s * 100.0).round() / 100.0,
            digest: digest(run)?,
        })
    }

    pub fn found(&self) -> Option<Found> {
        Found::from_words(&self.found)
    }
}

impl Results {
    fn path(models: &Path, noun: &str) -> PathBuf {
        folder(models).join(format!("{noun}.toml"))
    }

    /// Those of a noun; none when nothing was ever written.
    pub fn read(models: &Path, noun: &str) -> Result<Results> {
        let path = Results::path(models, noun);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Results::default());
            }
            Err(error) => return Err(Error::file(&path, error, "make it readable")),
        };
        toml::from_str(&text).map_err(|error| {
            let source = std::io::Error::other(error.message().to_string());
            Error::file(&path, source, "restore it, or remove it and run `models/run --write`")
        })
    }

    pub fn write(&self, models: &Path, noun: &str) -> Result<()> {
        let path = Results::path(models, noun);
        let rows = toml::to_string(self).unwrap_or_default();
        let remedy = "make the folder writable";
        std::fs::create_dir_all(folder(models))
            .and_then(|()| std::fs::write(&path, format!("{HEADER}\n{rows}")))
            .map_err(|error| Error::file(&path, error, remedy))
    }

    pub fn get(&self, run: &Run) -> Option<&Row> {
        let name = run.name();
        self.row.iter().find(|row| row.run == name)
    }

    /// The rows of `runs`, in their order: new ones where there are any, else the earlier ones.
    pub fn renewed(&self, runs: &[&Run], new: &[Row]) -> Results {
        let row = runs.iter().filter_map(|run| {
            let name = run.name();
            let fresh = new.iter().find(|row| row.run == name);
            fresh.or_else(|| self.get(run)).cloned()
        });
        Results { row: row.collect() }
    }
}
