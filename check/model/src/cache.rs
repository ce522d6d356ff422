// SPDX-License-Identifier: MIT
//! `--cache`: what verifiers printed, each under a digest of everything that it followed from. A
//! search that would be the same is not made again; what it printed is read anew, so a change of
//! what is expected of it needs no new search and is not hidden by an old one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::expect::Run;
use crate::spin::SPIN_REMEDY;

const REMEDY: &str = "name a folder that can be written with --cache";
/// What no run asked for in so long is of models that have changed since.
const KEPT: Duration = Duration::from_secs(60 * 24 * 3600);
/// What SPIN made of a model.
const VERIFIER: [&str; 6] = ["pan.b", "pan.c", "pan.h", "pan.m", "pan.p", "pan.t"];

/// The end of a search that came to it by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Printed {
    pub output: String,
    /// Processor time of the search when it was made.
    pub cpu_s: f64,
}

/// The folder, and the tools that verifiers are made with.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    tools: String,
}

fn version(program: &str, option: &str, remedy: &'static str) -> Result<String> {
    let output = Command::new(program).arg(option).output();
    let output =
        output.map_err(|source| Error::Program { program: program.into(), source, remedy })?.stdout;
    Ok(String::from_utf8_lossy(&output).lines().next().unwrap_or_default().into())
}

impl Cache {
    pub fn open(folder: &Path) -> Result<Cache> {
        fs::create_dir_all(folder).map_err(|error| Error::file(folder, error, REMEDY))?;
        let entries = fs::read_dir(folder).map_err(|error| Error::file(folder, error, REMEDY))?;
        for entry in entries.flatten() {
            let used = entry.metadata().and_then(|metadata| metadata.modified());
            let age = used.ok().and_then(|used| SystemTime::now().duration_since(used).ok());
            if is_entry(&entry.path()) && age.is_some_and(|age| age > KEPT) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let spin = version("spin", "-V", SPIN_REMEDY)?;
        let gcc = version("gcc", "--version", "install gcc")?;
        Ok(Cache { folder: folder.into(), tools: format!("{spin}\n{gcc}\n") })
    }

    /// Where the search of a verifier is kept that lies in `folder` and is made and started with
    /// `options`. The place of the models on this machine makes no difference.
    pub fn place(&self, run: &Run, folder: &Path, options: &[String]) -> Result<PathBuf> {
        let models = run.path.ancestors().nth(2).unwrap_or(&run.path);
        let models = std::path::absolute(models).unwrap_or_else(|_| models.to_path_buf());
        let models = models.to_string_lossy();
        let mut digest = Sha256::new();
        digest.update(&self.tools);
        digest.update(options.join("\n"));
        for name in VERIFIER {
            let path = folder.join(name);
            let text = fs::read(&path)
                .map_err(|error| Error::file(&path, error, "make room for temporary files"))?;
            let text = String::from_utf8_lossy(&text).replace(&*models, "");
            digest.update(format!("\n{name} {}\n", text.len()));
            digest.update(text);
        }
        let name: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(self.folder.join(name + ".json"))
    }
}

fn is_entry(path: &Path) -> bool {
    let digest = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    path.extension().is_some_and(|ending| ending == "json")
        && digest.len() == 64
        && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// None when it is not there or not whole: the search is made then.
pub fn get(place: &Path) -> Option<Printed> {
    let printed = serde_json::from_slice(&fs::read(place).ok()?).ok()?;
    // A folder that only lets itself be read is a cache all the same.
    if let Ok(file) = fs::File::options().append(true).open(place) {
        let _ = file.set_modified(SystemTime::now());
    }
    Some(printed)
}

/// All of it or nothing, also if another run keeps the same at the same time.
pub fn put(place: &Path, printed: &Printed) -> Result<()> {
    let fail = |error| Error::file(place, error, REMEDY);
    let folder = place.parent().unwrap_or(place);
    let file = tempfile::NamedTempFile::new_in(folder).map_err(fail)?;
    serde_json::to_writer(&file, printed).map_err(|error| fail(error.into()))?;
    file.persist(place).map_err(|error| fail(error.error))?;
    Ok(())
}
