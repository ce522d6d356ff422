// SPDX-License-Identifier: MIT
//! The text of a model and of what it includes, to look up names before anything is run.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A bound on includes of includes, for a file that includes itself.
const INCLUDES_MAX: usize = 64;

pub struct ModelText {
    text: String,
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The text without its comments, which name things that do not exist in the code.
pub fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find("/*") {
        let (before, comment) = rest.split_at(begin);
        code.push_str(before);
        code.push(' ');
        rest = match comment.find("*/") {
            Some(end) => comment.split_at(end + 2).1,
            None => "",
        };
    }
    code.push_str(rest);
    code
}

fn included(line: &str) -> Option<&str> {
    let name = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    name.split('"').nth(1)
}

impl ModelText {
    pub fn read(path: &Path) -> Result<ModelText> {
        let mut text = String::new();
        let mut seen: Vec<PathBuf> = Vec::new();
        let mut wanted = vec![path.to_path_buf()];
        while let Some(path) = wanted.pop() {
            if seen.contains(&path) || seen.len() == INCLUDES_MAX {
                continue;
            }
            let raw = std::fs::read_to_string(&path)
                .map_err(|error| Error::file(&path, error, "correct the name or write the file"))?;
            let code = without_comments(&raw);
            wanted.extend(code.lines().filter_map(included).map(|name| path.with_file_name(name)));
            seen.push(path);
            text.push_str(&code);
        }
        Ok(ModelText { text })
    }

    /// The model and what it includes, without comments.
    pub fn code(&self) -> &str {
        &self.text
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split(|character| !is_word(character)).filter(|word| !word.is_empty())
    }

    pub fn has_word(&self, wanted: &str) -> bool {
        self.words().any(|word| word == wanted)
    }

    /// The names of the LTL formulae.
    pub fn claims(&self) -> Vec<&str> {
        let mut words = self.words().peekable();
        let mut names = Vec::new();
        while let Some(word) = words.next() {
            if word == "ltl" {
                names.extend(words.peek());
            }
        }
        names
    }

    pub fn has_claim(&self, name: &str) -> bool {
        self.claims().contains(&name)
    }

    pub fn has_progress_label(&self) -> bool {
        self.words().any(|word| word.starts_with("progress"))
    }
}
