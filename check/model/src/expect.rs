// SPDX-License-Identifier: MIT
//! `models/*/expect*.toml`: which model is run how, and what has to come of it. Each `[[run]]`
//! becomes one `Run` for each of its machines and each of its mutants.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::error::{Error, Fault, Faults, Result};
use crate::text::ModelText;

/// pan's `-m` for runs that do not say.
const DEPTH: u32 = 1_000_000;
const MEMORY_MIB: u32 = 512;
const TIME_S: u32 = 60;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    run: Vec<Spanned<Entry>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    title: String,
    model: Spanned<String>,
    claim: Spanned<String>,
    machines: Vec<Spanned<String>>,
    #[serde(default)]
    define: Vec<Spanned<String>>,
    mutants: Option<Spanned<Vec<Spanned<String>>>>,
    verdict: Spanned<Verdict>,
    error: Option<Spanned<Kind>>,
    #[serde(default)]
    fair: bool,
    #[serde(default)]
    compression: Compression,
    #[serde(default)]
    bitstate: bool,
    reduction: Option<bool>,
    depth: Option<u32>,
    memory_mib: Option<u32>,
    time_s: Option<u32>,
    when: Option<When>,
    published: Option<Spanned<Published>>,
    note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Pass,
    Fail,
    Reached,
    Unfound,
}

/// The kinds of error that pan tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Assertion,
    Deadlock,
    Cycle,
    Claim,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    #[default]
    None,
    Collapse,
    Ma,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum When {
    Full,
}

/// What the thesis found for the same row.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub table: String,
    pub verdict: String,
    pub memory_gib: String,
    pub time: String,
}

/// One search: a model, the defines that choose its shape, and what has to come of it.
#[derive(Debug, Clone)]
pub struct Run {
    pub title: String,
    pub folder: String,
    /// The file's name, without its ending.
    pub model: String,
    pub path: PathBuf,
    pub machine: Option<String>,
    pub mutant: Option<String>,
    pub define: Vec<String>,
    pub claim: String,
    pub verdict: Verdict,
    pub error: Option<Kind>,
    pub fair: bool,
    pub compression: Compression,
    pub bitstate: bool,
    pub reduction: bool,
    pub depth: u32,
    pub memory_mib: u32,
    pub time_s: u32,
    pub full: bool,
    pub published: Option<Published>,
    pub note: Option<String>,
}

impl Run {
    /// What a person types to mean this run: `ring/order alpha assert COMMIT_EARLY -DREADERS=2`.
    pub fn name(&self) -> String {
        let machine = self.machine.as_deref().unwrap_or("-");
        let mut name = format!("{}/{} {machine} {}", self.folder, self.model, self.claim);
        for part in self.mutant.iter() {
            name += &format!(" {part}");
        }
        for part in &self.define {
            name += &format!(" -D{part}");
        }
        if self.fair {
            name += " fair";
        }
        if self.bitstate {
            name += " bitstate";
        }
        name
    }

    /// The options of the preprocessor that choose the machine, the mutant and the bounds.
    pub fn defines(&self) -> Vec<String> {
        let machine = self.machine.iter().map(|name| format!("-DMACHINE_{}", name.to_uppercase()));
        let mutant = self.mutant.iter().map(|name| format!("-DMUTANT_{name}"));
        machine.chain(mutant).chain(self.define.iter().map(|part| format!("-D{part}"))).collect()
    }
}

/// Line, counted from 1, of a byte in a text.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// One description file on its way to runs; collects what is wrong with it.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    folder: String,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn fault(&mut self, at: Range<usize>, message: String) {
        let line = line_of(self.text, at.start);
        self.faults.push(Fault { path: self.path.to_path_buf(), line, message });
    }

    fn runs(&mut self) -> Vec<Run> {
        let file: File = match toml::from_str(self.text) {
            Ok(file) => file,
            Err(error) => {
                self.fault(error.span().unwrap_or(0..0), error.message().trim().to_string());
                return Vec::new();
            }
        };
        file.run.into_iter().flat_map(|entry| self.expand(entry)).collect()
    }

    fn expand(&mut self, entry: Spanned<Entry>) -> Vec<Run> {
        let span = entry.span();
        let entry = entry.into_inner();
        let path = self.path.with_file_name(entry.model.get_ref());
        match ModelText::read(&path) {
            Ok(text) => self.check_names(&entry, &text),
            Err(error) => self.fault(entry.model.span(), error.to_string()),
        }
        self.check_values(&entry);
        let none = || vec![None];
        let machines: Vec<Option<String>> = match entry.machines.len() {
            0 => none(),
            _ => entry.machines.iter().map(|name| Some(name.get_ref().clone())).collect(),
        };
        let mutants: Vec<Option<String>> = match &entry.mutants {
            None => none(),
            Some(list) => list.get_ref().iter().map(|name| Some(name.get_ref().clone())).collect(),
        };
        if mutants.is_empty() {
            let message = "mutants is empty; leave it out to run the unaltered model";
            self.fault(span, message.to_string());
        }
        let mut runs = Vec::new();
        for machine in &machines {
            for mutant in &mutants {
                runs.push(self.run(&entry, &path, machine, mutant));
            }
        }
        runs
    }

    fn run(
        &self,
        entry: &Entry,
        path: &Path,
        machine: &Option<String>,
        mutant: &Option<String>,
    ) -> Run {
        Run {
            title: entry.title.clone(),
            folder: self.folder.clone(),
            model: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            path: path.to_path_buf(),
            machine: machine.clone(),
            mutant: mutant.clone(),
            define: entry.define.iter().map(|part| part.get_ref().clone()).collect(),
            claim: entry.claim.get_ref().clone(),
            verdict: *entry.verdict.get_ref(),
            error: entry.error.as_ref().map(|kind| *kind.get_ref()),
            fair: entry.fair,
            compression: entry.compression,
            bitstate: entry.bitstate,
            reduction: entry.reduction.unwrap_or(true),
            depth: entry.depth.unwrap_or(DEPTH),
            memory_mib: entry.memory_mib.unwrap_or(MEMORY_MIB),
            time_s: entry.time_s.unwrap_or(TIME_S),
            full: entry.when == Some(When::Full),
            published: entry.published.as_ref().map(|found| found.get_ref().clone()),
            note: entry.note.clone(),
        }
    }

    /// Names that the model does not know would make a run prove nothing.
    fn check_names(&mut self, entry: &Entry, text: &ModelText) {
        let model = entry.model.get_ref();
        let claim = entry.claim.get_ref().as_str();
        if !matches!(claim, "assert" | "progress") && !text.has_claim(claim) {
            let known = text.claims().join(", ");
            let known = if known.is_empty() { "it has none".into() } else { known };
            let message = format!("claim {claim}: {model} has no such ltl ({known})");
            self.fault(entry.claim.span(), message);
        }
        let machines = entry
            .machines
            .iter()
            .map(|name| (name.span(), format!("MACHINE_{}", name.get_ref().to_uppercase())));
        let mutants = entry
            .mutants
            .iter()
            .flat_map(|list| list.get_ref())
            .map(|name| (name.span(), format!("MUTANT_{}", name.get_ref())));
        let define = entry.define.iter().map(|part| {
            let word = part.get_ref().split('=').next().unwrap_or_default();
            (part.span(), word.to_string())
        });
        for (span, word) in machines.chain(mutants).chain(define).collect::<Vec<_>>() {
            if !text.has_word(&word) {
                let message = format!("{word} occurs neither in {model} nor in what it includes");
                self.fault(span, message);
            }
        }
        if claim == "progress" && !text.has_progress_label() {
            let message = format!("claim progress: {model} has no progress label");
            self.fault(entry.claim.span(), message);
        }
    }

    fn check_values(&mut self, entry: &Entry) {
        let verdict = *entry.verdict.get_ref();
        if let Some(kind) = &entry.error {
            if !matches!(verdict, Verdict::Fail | Verdict::Reached) {
                self.fault(
                    kind.span(),
                    "error is for runs whose verdict is fail or reached".into(),
                );
            }
        }
        if entry.bitstate && verdict == Verdict::Pass {
            let message = "a bitstate search proves nothing: its verdict is fail or unfound";
            self.fault(entry.verdict.span(), message.into());
        }
        if !entry.bitstate && verdict == Verdict::Unfound {
            let message =
                "unfound is for bitstate searches; without it the verdict is pass or fail";
            self.fault(entry.verdict.span(), message.into());
        }
        if let Some(published) = &entry.published {
            if !matches!(published.get_ref().verdict.as_str(), "PASS" | "INJECT" | "FNEG" | "FAIL")
            {
                let message = "a published verdict is PASS, INJECT, FNEG or FAIL";
                self.fault(published.span(), message.into());
            }
        }
    }
}

/// The description files under `models`, in the order of their names.
fn description_files(models: &Path) -> Result<Vec<PathBuf>> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(folder)
            .map_err(|error| Error::file(folder, error, "give the folder of the models"))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        Ok(paths)
    };
    let mut files = Vec::new();
    for folder in list(models)?.into_iter().filter(|path| path.is_dir()) {
        files.extend(list(&folder)?.into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("expect") && name.ends_with(".toml")
        }));
    }
    Ok(files)
}

/// All runs of all folders, or everything that is wrong with their descriptions.
pub fn read(models: &Path) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let mut faults = Vec::new();
    for path in description_files(models)? {
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Error::file(&path, error, "it has to be readable UTF-8"))?;
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let folder = folder.to_string_lossy().into_owned();
        let mut reader = Reader { path: &path, text: &text, folder, faults: Vec::new() };
        let found = reader.runs();
        faults.append(&mut reader.faults);
        for run in found {
            if runs.iter().any(|earlier| earlier.name() == run.name()) {
                let message =
                    format!("two runs are named {}; join or distinguish them", run.name());
                faults.push(Fault { path: path.clone(), line: 1, message });
            }
            runs.push(run);
        }
    }
    if faults.is_empty() {
        Ok(runs)
    } else {
        Err(Error::Description(Faults(faults)))
    }
}
