// SPDX-License-Identifier: MIT
//! `lull list` and `lull record --list`: the events a program can be asked for.
//!
//! Place in the flow: reads the ELF notes of a program, of the libraries the dynamic linker would
//! load for it, and of liblull's interposers. Nothing of the program is run.

use crate::elf::{self, Carried, Kind, MODULE_NOTES};
use crate::nearest::no_match;
use crate::record::asked::Asked;
use crate::record::RecordArgs;
use crate::shown::{json_shown, shown};
use crate::{library, say};
use anyhow::Context;
use kernel::decode::{Event, LEVEL};
use kernel::Root;
use serde_json::json;
use session::description::Description;
use session::pattern::Patterns;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// List the events of a program, its libraries, and of Lull's own interposers
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Only events that match: GLOB, GLOB@LEVEL, or !GLOB for none of these; later ones win
    #[arg(short = 'e', long = "event", value_name = "PATTERN")]
    pub events: Vec<String>,

    /// The kernel's events, of its modules or as root; without PROGRAM only these
    #[arg(short, long)]
    pub kernel: bool,

    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,

    /// Programs or libraries; without any, only Lull's own events
    #[arg(value_name = "PROGRAM")]
    pub programs: Vec<PathBuf>,
}

/// An object and what it carries.
struct Source {
    path: PathBuf,
    events: Vec<Carried>,
}

impl Source {
    /// The kernel, with those of its events that are chosen by name: the module's, where it has
    /// any of them, else those of tracefs.
    fn kernel(mut choose: impl FnMut(&[String]) -> Vec<String>) -> anyhow::Result<Self> {
        let mut events = elf::module_events();
        let names: Vec<String> = events.iter().map(|e| e.description.name.clone()).collect();
        let chosen = choose(&names);
        if !chosen.is_empty() {
            events.retain(|event| chosen.contains(&event.description.name));
            return Ok(Self { path: MODULE_NOTES.into(), events });
        }
        let root = Root::find()?;
        let chosen = choose(&root.events()?);
        // A format that cannot be read belongs to an event that cannot be recorded, either.
        let formats = chosen.iter().filter_map(|name| Some((name, root.format(name).ok()?)));
        let events = formats.map(|(name, format)| {
            let description = Event::new(name, format).description;
            Carried { description, sites: 1, refusal: None }
        });
        Ok(Self { path: root.path().into(), events: events.collect() })
    }

    /// The modules, but for lull, that have events of their own.
    fn modules() -> impl Iterator<Item = Self> {
        elf::other_modules().into_iter().map(|(path, events)| Self { path, events })
    }

    fn is_module(&self) -> bool {
        self.path.starts_with(elf::MODULES) && !self.events.is_empty()
    }

    fn file(path: PathBuf) -> anyhow::Result<Self> {
        Ok(Self { events: elf::read(&path)?.events, path })
    }

    /// Leaves out what patterns do not ask for.
    fn keep(&mut self, patterns: &Patterns) {
        self.events
            .retain(|event| patterns.matches(&event.description.name, event.description.level));
    }
}

/// Runs the command; the result is the exit status.
pub fn run(args: &ListArgs) -> anyhow::Result<i32> {
    let patterns = Patterns::exactly(&args.events)?;
    let mut sources = Vec::new();
    for program in &args.programs {
        sources.extend(sources_of(&resolve(program)?)?);
    }
    if !args.kernel || !args.programs.is_empty() {
        let libraries = library::find()?;
        for path in [Some(libraries.lull), libraries.allocation].into_iter().flatten() {
            sources.push(Source::file(path)?);
        }
    }
    if args.kernel {
        sources.extend(Source::modules());
    }
    let mut names = names_of(&sources);
    sources.iter_mut().for_each(|source| source.keep(&patterns));
    if args.kernel {
        let kernel = Source::kernel(|all| {
            names.extend_from_slice(all);
            let matches = |name: &&String| patterns.matches(name, LEVEL);
            all.iter().filter(matches).cloned().collect()
        });
        add_kernel(&mut sources, kernel)?;
    }
    print(&sources, &names, &args.events, args.json)
}

/// Where a module has what was asked for, it does not matter that tracefs cannot be read.
fn add_kernel(sources: &mut Vec<Source>, kernel: anyhow::Result<Source>) -> anyhow::Result<()> {
    match kernel {
        Err(_) if sources.iter().any(Source::is_module) => {}
        other => sources.push(other?),
    }
    Ok(())
}

fn names_of(sources: &[Source]) -> Vec<String> {
    let events = sources.iter().flat_map(|source| &source.events);
    events.map(|event| event.description.name.clone()).collect()
}

/// `lull record --list`: what would be recorded.
pub fn record_list(args: &RecordArgs) -> anyhow::Result<i32> {
    let asked = Asked::new(&args.session.events)?;
    let patterns = Patterns::new(asked.patterns())?;
    let mut sources = Vec::new();
    if let Some(program) = args.program.first() {
        sources = sources_of(&resolve(Path::new(program))?)?;
        let libraries = library::find()?;
        let allocation = libraries.allocation.filter(|_| patterns.names_allocation());
        for path in [Some(libraries.lull), allocation].into_iter().flatten() {
            sources.push(Source::file(path)?);
        }
    }
    let mut names = names_of(&sources);
    sources.iter_mut().for_each(|source| source.keep(&patterns));
    if args.session.kernel {
        let modules = kernel::of_modules(&patterns).into_iter().flat_map(|patterns| {
            Source::modules().map(move |mut source| {
                source.keep(&patterns);
                source
            })
        });
        sources.extend(modules);
        let kernel = Source::kernel(|all| {
            names.extend_from_slice(all);
            kernel::wanted(all, &patterns)
        });
        add_kernel(&mut sources, kernel)?;
    }
    print(&sources, &names, asked.patterns(), args.json)
}

/// Names and levels of all events that a program, its libraries and the interposers carry.
pub fn known_events(program: &Path) -> Vec<Description> {
    let is_readable = elf::read(program).is_ok_and(|object| {
        matches!(
            object.kind,
            Kind::Script { .. } | Kind::Static | Kind::DynamicLinker | Kind::Dynamic { .. }
        )
    });
    let mut events: Vec<Carried> = Vec::new();
    if is_readable {
        let sources = sources_of(program).unwrap_or_default();
        events.extend(sources.into_iter().flat_map(|source| source.events));
    }
    if let Ok(libraries) = library::find() {
        let paths = [Some(libraries.lull), libraries.allocation].into_iter().flatten();
        events.extend(paths.filter_map(|path| elf::read(&path).ok()).flat_map(|o| o.events));
    }
    events.into_iter().map(|event| event.description).collect()
}

/// A name without a slash is looked for in PATH, like the program of `lull record`.
fn resolve(program: &Path) -> anyhow::Result<PathBuf> {
    if program.components().count() > 1 || program.exists() {
        return Ok(program.to_path_buf());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(program));
    found
        .into_iter()
        .find(|path| path.is_file())
        .with_context(|| format!("{}: no such program", program.display()))
}

/// A program, its interpreter if it is a script, and the libraries it needs.
fn sources_of(program: &Path) -> anyhow::Result<Vec<Source>> {
    let mut path = program.to_path_buf();
    let mut object = elf::read(&path)?;
    if let Kind::Script { interpreter } = &object.kind {
        path = interpreter.into();
        object = elf::read(&path)?;
    }
    match &object.kind {
        Kind::OtherMachine { machine } => {
            say(&format!("{} is for {machine}: its events cannot be recorded here", path.display()))
        }
        Kind::Unknown => say(&format!("{} is no ELF file", path.display())),
        _ => {}
    }
    let needed = match &object.kind {
        Kind::Dynamic { interpreter } => libraries_of(&path, interpreter),
        _ => Vec::new(),
    };
    let mut sources = vec![Source { path, events: object.events }];
    for library in needed {
        if let Ok(object) = elf::read(&library) {
            sources.push(Source { path: library, events: object.events });
        }
    }
    Ok(sources)
}

/// What the dynamic linker would load, by its own account: `ld.so --list` maps the program and
/// its libraries and runs nothing of them.
fn libraries_of(program: &Path, interpreter: &str) -> Vec<PathBuf> {
    if !is_system_linker(Path::new(interpreter)) {
        return Vec::new();
    }
    let mut command = Command::new(interpreter);
    command.arg("--list").arg(program).stdin(Stdio::null()).stderr(Stdio::null());
    for variable in ["LD_PRELOAD", "LD_AUDIT", "LULL_SESSION"] {
        command.env_remove(variable);
    }
    let Ok(output) = command.output() else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut paths: Vec<PathBuf> = text.lines().filter_map(library_of_line).collect();
    paths.dedup();
    paths
}

/// A program may name any file as its interpreter; only the system's own is run.
fn is_system_linker(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_named = name.starts_with("ld-") || name.starts_with("ld.");
    let found = std::fs::metadata(path);
    is_named
        && path.is_absolute()
        && found.is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0)
}

/// `libm.so.6 => /lib/libm.so.6 (0x...)`, or a path alone.
fn library_of_line(line: &str) -> Option<PathBuf> {
    let (text, _address) = line.trim().rsplit_once(" (0x")?;
    let path = text.split_once(" => ").map_or(text, |(_, path)| path);
    path.starts_with('/').then(|| path.into())
}

/// `names`: of all events that there are; `asked`: the patterns as they were given.
fn print(
    sources: &[Source],
    names: &[String],
    asked: &[String],
    json: bool,
) -> anyhow::Result<i32> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut count = 0;
    for source in sources {
        let events = &source.events;
        count += events.len();
        let written = match (json, events.is_empty()) {
            (_, true) => Ok(()),
            (true, false) => print_json(&mut out, source),
            (false, false) => print_text(&mut out, source),
        };
        match written {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(0),
            other => other.context("writing the list")?,
        }
    }
    if let Err(error) = out.flush() {
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            return Err(error).context("writing the list");
        }
    }
    if count == 0 {
        say(&no_match(asked, names.iter().map(String::as_str)));
    }
    Ok(i32::from(count == 0))
}

fn print_text<W: Write>(out: &mut W, source: &Source) -> std::io::Result<()> {
    let events = &source.events;
    writeln!(out, "{}", shown(&source.path.to_string_lossy()))?;
    let width = |text: fn(&Carried) -> usize| events.iter().map(text).max();
    let name_width = width(|event| event.description.name.len()).unwrap_or(0);
    for event in events {
        let description = &event.description;
        let fields: Vec<String> = description
            .fields
            .iter()
            .map(|field| format!("{}:{}", field.name, field.kind.name()))
            .collect();
        let line = format!(
            "  {:name_width$}  {:<9}  {:<24}  {}",
            description.name,
            description.level_name(),
            description.source,
            fields.join(" ")
        );
        writeln!(out, "{}", shown(line.trim_end()))?;
        if let Some(why) = event.refusal {
            writeln!(out, "    is not recorded: {why}")?;
        }
    }
    Ok(())
}

fn print_json<W: Write>(out: &mut W, source: &Source) -> std::io::Result<()> {
    for event in &source.events {
        let description = &event.description;
        let fields: Vec<_> = description
            .fields
            .iter()
            .map(|field| json!({ "name": field.name, "type": field.kind.name() }))
            .collect();
        let mut line = json!({
            "name": description.name,
            "level": description.level_name(),
            "source": description.source,
            "fields": fields,
            "sites": event.sites,
            "object": source.path.to_string_lossy(),
        });
        if let Some(why) = event.refusal {
            line["not_recorded"] = why.into();
        }
        writeln!(out, "{}", json_shown(&line.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_dynamic_linker_give_paths_and_the_vdso_gives_none() {
        let path = |line| library_of_line(line);
        assert_eq!(path("\tlibm.so.6 => /lib/libm.so.6 (0x00007f)"), Some("/lib/libm.so.6".into()));
        assert_eq!(path("\t/lib64/ld-linux.so.2 (0x00007f)"), Some("/lib64/ld-linux.so.2".into()));
        assert_eq!(path("\tlinux-vdso.so.1 (0x00007ffe)"), None);
        assert_eq!(path("\tlibx.so => not found"), None);
    }

    #[test]
    fn names_that_would_act_on_a_terminal_are_listed_escaped() {
        let text = "a:\u{1b}[2J\u{9b}\u{202e}b\n6\nf\u{85}:1\nu8 x\u{1b}\n";
        let description = Description::parse(text.as_bytes()).unwrap();
        let event = Carried { description, sites: 1, refusal: None };
        let source = Source { path: "/a\x1b".into(), events: vec![event] };
        for print in [print_text::<Vec<u8>>, print_json::<Vec<u8>>] {
            let mut out = Vec::new();
            print(&mut out, &source).unwrap();
            let text = String::from_utf8(out).unwrap();
            let odd = |c: char| c != '\n' && !crate::shown::is_plain(c);
            assert!(!text.contains(odd) && text.contains("202e"), "{text:?}");
        }
    }

    #[test]
    fn libraries_of_a_program_are_found_without_running_it() {
        let Kind::Dynamic { interpreter } = elf::read(Path::new("/bin/sh")).unwrap().kind else {
            return;
        };
        let libraries = libraries_of(Path::new("/bin/sh"), &interpreter);
        assert!(libraries.iter().any(|path| path.to_string_lossy().contains("libc")));
    }
}
