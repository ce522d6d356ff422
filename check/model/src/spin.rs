// SPDX-License-Identifier: MIT
//! One run: SPIN makes a verifier of the model, the compiler a program, and the program searches.
//! All of it in a folder of the run's own, in which the verifier also leaves its counter-example.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cache::{self, Cache, Printed};
use crate::error::{Error, Result};
use crate::expect::{Compression, Run};
use crate::limit::{self, Limits};
use crate::outcome::{self, Found, Search};

/// What the verifier and the compiler may use beyond the run's own limits.
const COMPILE_LIMITS: Limits = Limits { cpu_s: 120, wall_s: 600, memory_mib: 4096 };
/// pan counts its states, not its program and libraries.
const PROGRAM_MIB: u32 = 256;
/// The time limit is of processor time. On a busy machine a run may take this much longer, and
/// this long at least.
const WALL_FACTOR: u32 = 30;
const WALL_MIN_S: u32 = 300;
/// pan's `-A` makes it pass over assertions, and over indices outside their arrays, after which
/// nothing that it finds means anything. This way it passes over the former only.
const PASSES_OVER: &str = "if (!a && !noasserts)";
const PASSES_OVER_LESS: &str = "if (!a && (!noasserts || s[0] == '-'))";
/// In a state, for the search's bookkeeping of fairness: enough for 22 processes.
const FAIRNESS_BYTES: usize = 3;
/// Bytes of a state vector that pan makes room for.
const VECTOR_BYTES: u32 = 2048;

pub const SPIN_REMEDY: &str = "install SPIN 6.5 (Debian: apt-get install spin)";

/// What came of one run, with its cost.
#[derive(Debug, Clone)]
pub struct Report {
    pub found: Found,
    pub search: Search,
    /// Processor time of the search alone.
    pub time_s: f64,
    /// The same search was made before, and not made again.
    pub is_kept: bool,
}

impl Report {
    fn without_search(found: Found) -> Report {
        Report { found, search: Search::default(), time_s: 0.0, is_kept: false }
    }
}

/// How hard the compiler tries. Of a verifier that searches for less than two seconds, compiling
/// takes longer than the search (`-O0` 0.3 s, `-O1` 0.7 s, `-O2` 1.3 s), and `-O2` searches only
/// by a third faster than `-O0`. Most searches of `LITTLE_STATES` take less than two seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    Little,
    Some,
    Much,
}

impl Effort {
    /// From the number of states of an earlier search, if there was one.
    pub fn of(run: &Run, earlier_states: Option<u64>) -> Effort {
        const LITTLE_STATES: u64 = 500_000;
        const SOME_STATES: u64 = 2_000_000;
        match earlier_states {
            Some(states) if states < LITTLE_STATES => Effort::Little,
            Some(states) if states < SOME_STATES => Effort::Some,
            None if !run.full => Effort::Little,
            _ => Effort::Much,
        }
    }

    fn option(self) -> &'static str {
        match self {
            Effort::Little => "-O0",
            Effort::Some => "-O1",
            Effort::Much => "-O2",
        }
    }
}

/// Other searches than the run's own, for a shorter counter-example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// All ways of one length before any that is longer; not for cycles.
    BreadthFirst,
    /// Depth first, ever less deep than the last counter-example.
    Lowering,
}

/// A folder in which one run is built and searched.
pub struct Workshop<'a> {
    pub run: &'a Run,
    pub folder: PathBuf,
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn patience_s(cpu_s: u32) -> u32 {
    cpu_s.saturating_mul(WALL_FACTOR).max(WALL_MIN_S)
}

/// Adds the source lines that SPIN's complaints are about: where its parser stood, which is at
/// the end of what it complains about or on the line after.
fn with_source(output: &str) -> String {
    let mut text = String::new();
    for line in output.lines().filter(|line| !line.starts_with("ltl ")) {
        text += &format!("{line}\n");
        let place = line.strip_prefix("spin: ").and_then(|rest| rest.split(", Error").next());
        let Some((path, number)) = place.and_then(|place| place.rsplit_once(':')) else {
            continue;
        };
        let last: usize = number.trim().parse().unwrap_or(0);
        let source = fs::read_to_string(path).unwrap_or_default();
        let lines = source.lines().zip(1..).filter(|(_, at)| *at <= last && at + 1 >= last);
        for (line, at) in lines {
            text += &format!("    {at} | {line}\n");
        }
    }
    text.trim_end().to_string()
}

/// SPIN may complain and exit with 0.
fn is_complaint(line: &str) -> bool {
    line.contains("Error:")
        || line.contains("syntax error")
        || line.contains("error:")
        || line.contains("saw '")
}

impl<'a> Workshop<'a> {
    pub fn new(run: &'a Run, folder: &Path) -> Result<Workshop<'a>> {
        fs::create_dir_all(folder)
            .map_err(|error| Error::file(folder, error, "make room for temporary files"))?;
        Ok(Workshop { run, folder: absolute(folder) })
    }

    /// Runs a tool here; its two outputs are one file.
    fn tool(&self, command: Command, log: &str, limits: Limits) -> Result<(limit::End, String)> {
        let path = self.folder.join(log);
        let remedy = "make room for temporary files";
        let file = File::create(&path).map_err(|error| Error::file(&path, error, remedy))?;
        let copy = file.try_clone().map_err(|error| Error::file(&path, error, remedy))?;
        let mut command = command;
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(file).stderr(copy);
        let end = limit::wait(command, limits)?;
        let bytes = fs::read(&path).map_err(|error| Error::file(&path, error, remedy))?;
        Ok((end, String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// SPIN's translation; says what SPIN says when it refuses.
    pub fn translate(&self) -> Result<Option<Found>> {
        let mut command = limit::command("spin", COMPILE_LIMITS);
        command.args(self.run.defines()).arg("-a").arg(absolute(&self.run.path));
        let (end, output) = self.tool(command, "spin.log", COMPILE_LIMITS)?;
        if end.code == Some(127) {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::Program { program: "spin".into(), source, remedy: SPIN_REMEDY });
        }
        let refused = !end.is_well() || output.lines().any(is_complaint);
        let path = self.folder.join("pan.c");
        let Some(code) = fs::read_to_string(&path).ok().filter(|_| !refused) else {
            return Ok(Some(Found::Broken(with_source(&output))));
        };
        if !code.contains(PASSES_OVER) {
            let why = "this SPIN makes verifiers that are not known here; install SPIN 6.5";
            return Ok(Some(Found::Broken(why.into())));
        }
        fs::write(&path, code.replacen(PASSES_OVER, PASSES_OVER_LESS, 1))
            .map_err(|error| Error::file(&path, error, "make room for temporary files"))?;
        Ok(None)
    }

    fn claim_options(&self) -> &'static [&'static str] {
        match self.run.claim.as_str() {
            "assert" => &["-DSAFETY", "-DNOCLAIM"],
            "progress" => &["-DNP"],
            _ => &[],
        }
    }

    /// The compiler's options that decide what the verifier finds, but for the compression's.
    fn meaning_options(&self) -> Vec<String> {
        let run = self.run;
        let mut options: Vec<String> =
            self.claim_options().iter().map(|option| option.to_string()).collect();
        options.push(format!("-DMEMLIM={}", run.memory_mib));
        options.push(format!("-DVECTORSZ={VECTOR_BYTES}"));
        if run.bitstate {
            options.push("-DBITSTATE".into());
        }
        if !run.reduction {
            options.push("-DNOREDUCE".into());
        }
        if run.fair {
            options.push(format!("-DNFAIR={FAIRNESS_BYTES}"));
        }
        options
    }

    fn compile(&self, effort: Effort, extra: &[String]) -> Result<Option<Found>> {
        let mut command = limit::command("gcc", COMPILE_LIMITS);
        command.args(["-w", effort.option()]).args(self.meaning_options()).args(extra);
        command.args(["-o", "pan", "pan.c"]);
        let (end, output) = self.tool(command, "compile.log", COMPILE_LIMITS)?;
        Ok((!end.is_well())
            .then(|| Found::Broken(format!("gcc does not compile pan.c:\n{output}"))))
    }

    /// The minimized automaton is told the size of a state vector, which a short search tells.
    fn vector_bytes(&self) -> Result<Option<String>> {
        let limits = Limits { cpu_s: 10, wall_s: 60, memory_mib: self.run.memory_mib };
        let mut command = limit::command("./pan", limits);
        command.args(["-m2", "-w10"]);
        let (_, output) = self.tool(command, "vector.log", limits)?;
        let after = output.split("State-vector ").nth(1);
        Ok(after.and_then(|text| text.split_whitespace().next()).map(str::to_string))
    }

    /// Compiles what SPIN translated; what is found if that fails.
    fn build(&self, effort: Effort) -> Result<Option<Found>> {
        let mut extra = Vec::new();
        match self.run.compression {
            Compression::None => {}
            Compression::Collapse => extra.push("-DCOLLAPSE".to_string()),
            Compression::Ma => {
                if let Some(broken) = self.compile(Effort::Little, &[])? {
                    return Ok(Some(broken));
                }
                let Some(bytes) = self.vector_bytes()? else {
                    return Ok(Some(Found::Broken("pan does not tell its vector's size".into())));
                };
                extra.push(format!("-DMA={bytes}"));
            }
        }
        self.compile(effort, &extra)
    }

    /// log2 of the hash table's slots: a sixteenth of the memory; of a bit field, a half.
    fn table_log2(&self) -> u32 {
        let bytes = u64::from(self.run.memory_mib.max(16)) << 20;
        if self.run.bitstate {
            (bytes / 2 * 8).ilog2()
        } else {
            (bytes / 16 / 8).ilog2()
        }
    }

    fn claim_assertions(&self) -> Vec<String> {
        let moves = fs::read_to_string(self.folder.join("pan.m")).unwrap_or_default();
        outcome::claim_assertions(&moves, &self.run.claim)
    }

    /// pan's options that make it the search which the run describes.
    fn search_options(&self) -> Vec<String> {
        let run = self.run;
        let mut options = vec![format!("-m{}", run.depth), format!("-w{}", self.table_log2())];
        match run.claim.as_str() {
            "assert" => {}
            "progress" => options.push("-l".into()),
            name => options.extend(["-a".into(), "-N".into(), name.into()]),
        }
        if run.fair {
            options.push("-f".into());
        }
        // So that a search for cycles does not end at an assertion of the model's.
        if run.claim != "assert" && self.claim_assertions().is_empty() {
            options.push("-A".into());
        }
        options
    }

    fn limits(&self) -> Limits {
        let Run { time_s, memory_mib, .. } = *self.run;
        Limits { cpu_s: time_s, wall_s: patience_s(time_s), memory_mib: memory_mib + PROGRAM_MIB }
    }

    fn search_with(&self, limits: Limits, options: &[String]) -> Result<(Report, Option<Printed>)> {
        let mut command = limit::command("./pan", limits);
        command.args(options);
        let (end, output) = self.tool(command, "pan.log", limits)?;
        let is_cut = end.cut.is_some();
        let printed = Printed { output, cpu_s: end.cpu_s };
        let report = self.report(&printed, end.cut);
        Ok((report, (!is_cut).then_some(printed)))
    }

    fn report(&self, printed: &Printed, cut: Option<String>) -> Report {
        let output = &printed.output;
        let found = outcome::found(output, &self.claim_assertions(), self.run.bitstate, cut);
        let search = outcome::search(output);
        Report { found, search, time_s: printed.cpu_s, is_kept: false }
    }

    /// Everything beside SPIN's translation that tells what the search prints.
    fn settings(&self, options: &[String]) -> Vec<String> {
        let Run { compression, time_s, .. } = *self.run;
        let mut settings = vec![format!("{compression:?} {time_s}")];
        settings.extend(self.meaning_options());
        settings.extend_from_slice(options);
        settings
    }

    /// Makes the search, unless the cache holds the same one with the outcome that is expected:
    /// of another outcome people want the counter-example, which is not kept.
    pub fn whole(&self, effort: Effort, cache: Option<&Cache>) -> Result<Report> {
        if let Some(found) = self.translate()? {
            return Ok(Report::without_search(found));
        }
        let options = self.search_options();
        let place = match cache {
            Some(cache) => Some(cache.place(self.run, &self.folder, &self.settings(&options))?),
            None => None,
        };
        if let Some(printed) = place.as_deref().and_then(cache::get) {
            let report = self.report(&printed, None);
            if report.found.disagreement(self.run).is_none() {
                return Ok(Report { is_kept: true, ..report });
            }
        }
        if let Some(found) = self.build(effort)? {
            return Ok(Report::without_search(found));
        }
        let (report, printed) = self.search_with(self.limits(), &options)?;
        if let (Some(place), Some(printed)) = (place, printed) {
            cache::put(&place, &printed)?;
        }
        Ok(report)
    }

    /// Searches once more, in another shape and for so long.
    pub fn again(&self, shape: Shape, cpu_s: u32) -> Result<Report> {
        let mut options = self.search_options();
        let flag = match shape {
            Shape::BreadthFirst => "-DBFS",
            Shape::Lowering => {
                options.push("-i".into());
                "-DREACH"
            }
        };
        options.retain(|option| shape == Shape::Lowering || option != "-a");
        if let Some(found) = self.compile(Effort::Little, &[flag.to_string()])? {
            return Ok(Report::without_search(found));
        }
        let limits = Limits { cpu_s, wall_s: patience_s(cpu_s), ..self.limits() };
        Ok(self.search_with(limits, &options)?.0)
    }

    /// Removes everything; a folder that stays is no error, for it is a temporary one.
    pub fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Where pan leaves a counter-example.
    pub fn trail(&self) -> PathBuf {
        let name = self.run.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.folder.join(name + ".trail")
    }

    /// What SPIN prints of the counter-example, step by step.
    pub fn replay(&self) -> Result<String> {
        let mut command = limit::command("spin", COMPILE_LIMITS);
        command.args(self.run.defines()).args(["-t", "-p", "-g", "-l", "-k"]);
        command.arg(self.trail()).arg(absolute(&self.run.path));
        let (_, output) = self.tool(command, "replay.log", COMPILE_LIMITS)?;
        Ok(output)
    }
}
