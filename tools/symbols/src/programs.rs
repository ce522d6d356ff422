// SPDX-License-Identifier: MIT
//! What the addresses in the stacks of programs are called.
//!
//! Place in the flow: analyses hand over an address with a state that knows what was mapped there
//! at its event, and ask for the text at the end. Where the process told of its file's build, a
//! file of that build gives the names. Elsewhere they are used if the file has the number that the
//! map had and has not been changed since; where only a call told of the map there is no number,
//! and the path decides, which is told. Anything else is shown as the file's name and the place in
//! it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use state::{FileKey, Mapped, ProcessIndex, State, TextIndex, Texts, Within};
use trace::Ns;

use crate::elf::Functions;
use crate::file::{self, Expected, Unread};
use crate::readable::readable;

/// Files whose functions are remembered.
const FILES_MAX: usize = 1 << 10;
/// Frames that have a text; others are shown as addresses.
const FRAMES_MAX: usize = 1 << 20;
/// Bytes of all that is remembered of functions, and of all that frames are called.
const FUNCTIONS_BYTES_MAX: usize = 512 << 20;
const TEXTS_BYTES_MAX: usize = 128 << 20;
/// Files that a note lists.
const SHOWN: usize = 8;
const DEBUG: &str = "/usr/lib/debug/.build-id";

/// Number of what a frame is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameIndex(u32);

#[derive(Debug)]
struct File {
    path: String,
    functions: Result<Functions, Unread>,
    /// With the names, where the file itself has not all of them.
    of_debug: Option<Functions>,
    /// Whether the trace has more of it than its path.
    is_known: bool,
}

/// Names of the functions of programs, as far as they were asked for.
#[derive(Debug, Default)]
pub struct Programs {
    files: Vec<File>,
    by_map: FxHashMap<FileKey, usize>,
    by_place: FxHashMap<(usize, Within), FrameIndex>,
    by_text: FxHashMap<String, FrameIndex>,
    /// What was found of places that calls return to; `None`: no function.
    by_return: FxHashMap<(usize, Within), Option<String>>,
    texts: Vec<String>,
    /// Of the files' functions, and of texts.
    functions_bytes: usize,
    texts_bytes: usize,
    /// Of files.
    read_bytes: u64,
}

impl Programs {
    /// What an address is called, to which a call of a process returns. `at`: the event's time, in
    /// nanoseconds since the epoch. `state`: the same one always. `None`: no file is known there.
    pub fn frame(
        &mut self,
        state: &State,
        process: ProcessIndex,
        address: u64,
        at: Ns,
    ) -> Option<FrameIndex> {
        let (file, within) = self.located(state, process, address, at)?;
        if let Some(known) = self.by_place.get(&(file, within)) {
            return Some(*known);
        }
        if self.by_place.len() >= FRAMES_MAX || self.texts_bytes >= TEXTS_BYTES_MAX {
            return None;
        }
        let text = self.files.get(file)?.text(within);
        let next = FrameIndex(self.texts.len() as u32);
        let frame = *self.by_text.entry(text.clone()).or_insert(next);
        if frame == next {
            self.texts_bytes += 2 * text.len();
            self.texts.push(text);
        }
        self.by_place.insert((file, within), frame);
        Some(frame)
    }

    /// The function that a call of a process's returns to, and the place in it: `main+0x1f`.
    /// `None`: no function is known there.
    pub fn place(
        &mut self,
        state: &State,
        process: ProcessIndex,
        address: u64,
        at: Ns,
    ) -> Option<&str> {
        let key = self.located(state, process, address, at)?;
        self.returned_to(key)
    }

    /// The same of a place in a file.
    fn returned_to(&mut self, key: (usize, Within)) -> Option<&str> {
        if !self.by_return.contains_key(&key) {
            if self.by_return.len() >= FRAMES_MAX || self.texts_bytes >= TEXTS_BYTES_MAX {
                return None;
            }
            let text = self.files.get(key.0)?.place(key.1);
            self.texts_bytes += text.as_ref().map_or(0, String::len);
            self.by_return.insert(key, text);
        }
        self.by_return.get(&key)?.as_deref()
    }

    /// The same; where no function is known, the file's name and the place in it: `libc.so.6+0x1f`.
    pub fn place_in_file(
        &mut self,
        state: &State,
        process: ProcessIndex,
        address: u64,
        at: Ns,
    ) -> Option<String> {
        let (file, within) = self.located(state, process, address, at)?;
        if let Some(place) = self.returned_to((file, within)) {
            return Some(place.to_string());
        }
        Some(self.files.get(file)?.place_in_file(within))
    }

    /// The variable that an address of a process's is in, and the place in it behind a `+` if it is
    /// not its begin; where no variable is known, the file's name and the place in it. `None`: no
    /// file is known there, as of memory that was allocated.
    pub fn variable(
        &mut self,
        state: &State,
        process: ProcessIndex,
        address: u64,
        at: Ns,
    ) -> Option<String> {
        self.variable_at(state.texts(), &Mapped::of(state, process, address, at)?, at)
    }

    /// The same of a place that is known. `texts`: where the trace's words are.
    pub fn variable_at(&mut self, texts: &Texts, place: &Mapped, at: Ns) -> Option<String> {
        let file = self.file(texts, place.file, at)?;
        Some(self.files.get(file)?.variable(place.within))
    }

    /// The file that an address is in, to which a call returns, and where in it.
    fn located(
        &mut self,
        state: &State,
        process: ProcessIndex,
        address: u64,
        at: Ns,
    ) -> Option<(usize, Within)> {
        // A function that ends with a call is the caller's, although the address is the next one's.
        let called = address.checked_sub(1)?;
        let Mapped { file, within } = Mapped::of(state, process, called, at)?;
        Some((self.file(state.texts(), file, at)?, within))
    }

    /// The text of a frame.
    pub fn text(&self, frame: FrameIndex) -> &str {
        self.texts.get(frame.0 as usize).map_or("", String::as_str)
    }

    fn file(&mut self, texts: &Texts, key: FileKey, at: Ns) -> Option<usize> {
        if let Some(known) = self.by_map.get(&key) {
            return Some(*known);
        }
        if self.files.len() >= FILES_MAX {
            return None;
        }
        let path = file::path(texts.bytes(key.path))?;
        let functions = self.read(&path, Some(Expected::of(texts, &key, at)));
        let of_debug = functions.as_ref().ok().and_then(debug_file);
        let of_debug = of_debug.and_then(|(path, expected)| self.read(&path, Some(expected)).ok());
        let is_known = key.inode.is_some() || key.build_id != TextIndex::NONE;
        let path = path.display().to_string();
        self.files.push(File { path, functions, of_debug, is_known });
        self.by_map.insert(key, self.files.len() - 1);
        Some(self.files.len() - 1)
    }

    fn read(&mut self, path: &Path, expected: Option<Expected<'_>>) -> Result<Functions, Unread> {
        if self.read_bytes >= file::READ_BYTES_MAX || self.functions_bytes >= FUNCTIONS_BYTES_MAX {
            return Err(Unread::NoRoom);
        }
        let bytes = file::read(path, expected)?;
        self.read_bytes = self.read_bytes.saturating_add(bytes.len() as u64);
        let found = Functions::parse(&bytes).ok_or(Unread::NoProgram)?;
        self.functions_bytes = self.functions_bytes.saturating_add(found.bytes());
        Ok(found)
    }

    /// Which files the names could not be taken from, and which were not compared, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let unread: Vec<String> = self
            .files
            .iter()
            .filter_map(|file| {
                Some(format!("{} ({})", file.path, file.functions.as_ref().err()?.why()))
            })
            .collect();
        if let Some(list) = list(&unread) {
            notes.push(format!("Functions have no names where the file was not read: {list}."));
        }
        let by_path = self.files.iter().filter(|file| file.functions.is_ok() && !file.is_known);
        let by_path: Vec<String> = by_path.map(|file| file.path.clone()).collect();
        if let Some(list) = list(&by_path) {
            notes.push(format!(
                "Names are not verified where the trace has only the file's path: {list}."
            ));
        }
        notes
    }
}

fn list(all: &[String]) -> Option<String> {
    let mut text = all.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > SHOWN {
        // Writing to a string does not fail.
        let _ = write!(text, " and {} more", all.len() - SHOWN);
    }
    (!all.is_empty()).then_some(text)
}

/// What was split off an object that has not all of its names itself: a file of the same build.
fn debug_file(functions: &Functions) -> Option<(PathBuf, Expected<'_>)> {
    let build_id = functions.build_id();
    let (first, rest) = build_id.split_first().filter(|_| !functions.is_complete())?;
    let mut name = String::new();
    rest.iter().for_each(|byte| {
        let _ = write!(name, "{byte:02x}");
    });
    let path: PathBuf = [DEBUG, &format!("{first:02x}"), &format!("{name}.debug")].iter().collect();
    Some((path, Expected { inode: None, build_id, at: Ns(i64::MAX) }))
}

impl File {
    /// The function, where it has a name there.
    fn found(&self, within: Within) -> Option<crate::Place<'_>> {
        let functions = self.functions.as_ref().ok();
        let address = match within {
            Within::File(offset) => functions.and_then(|f| f.address(offset)),
            Within::Object(address) => Some(address),
        };
        let of_debug = self.of_debug.as_ref().zip(address);
        let found = of_debug.and_then(|(functions, address)| functions.at(address));
        found.or_else(|| functions.zip(address).and_then(|(f, at)| f.at(at)))
    }

    /// The function's name, and where in it a call returns to.
    fn place(&self, within: Within) -> Option<String> {
        let place = self.found(within)?;
        Some(format!("{}+{:#x}", readable(place.name), place.offset.saturating_add(1)))
    }

    /// The function's name, or the file's with the place in it.
    fn text(&self, within: Within) -> String {
        match self.found(within) {
            Some(place) => readable(place.name),
            None => self.place_in_file(within),
        }
    }

    fn variable(&self, within: Within) -> String {
        match self.found(within) {
            Some(place) if place.offset == 0 => readable(place.name),
            Some(place) => format!("{}+{:#x}", readable(place.name), place.offset),
            None => self.named(within, 0),
        }
    }

    /// The place that a call returns to, as the stack has it.
    fn place_in_file(&self, within: Within) -> String {
        self.named(within, 1)
    }

    /// The file's name and a place in it, so many bytes further on.
    fn named(&self, within: Within, further: u64) -> String {
        let (Within::File(offset) | Within::Object(offset)) = within;
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        let name: String = name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
        format!("{name}+{:#x}", offset.saturating_add(further))
    }
}
