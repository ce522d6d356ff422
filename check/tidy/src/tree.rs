// SPDX-License-Identifier: MIT
//! The files that rules look at, and what rules find in them.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::Command;

/// One broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub path: String,
    /// Counts from 1.
    pub line: usize,
    pub rule: &'static str,
    pub message: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, rule: &'static str, message: impl Into<String>) -> Self {
        Finding { path: path.into(), line, rule, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: [{}] {}", self.path, self.line, self.rule, self.message)
    }
}

/// What a file is written in, as far as rules care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    C,
    Rust,
    Script,
    Markdown,
    Promela,
    Other,
}

/// One text file.
#[derive(Debug)]
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    pub fn language(&self) -> Language {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("c" | "h" | "cc" | "cpp" | "S") => Language::C,
            Some("rs") => Language::Rust,
            Some("md") => Language::Markdown,
            Some("pml") => Language::Promela,
            Some("sh" | "py" | "mk") => Language::Script,
            _ if matches!(name, "Makefile" | "Kbuild") || self.text.starts_with("#!") => {
                Language::Script
            }
            _ => Language::Other,
        }
    }

    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// All text files by path relative to the root, and the paths of the others.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, File>,
    others: Vec<String>,
}

impl Tree {
    /// Every file that git tracks or would add.
    pub fn load(root: &Path) -> io::Result<Tree> {
        let listing = git(root, &["ls-files", "-co", "--exclude-standard", "-z"])?;
        let mut tree = Tree::default();
        for path in listing.split('\0').filter(|path| !path.is_empty()) {
            let Ok(bytes) = std::fs::read(root.join(path)) else {
                continue; // deleted, not yet committed, or a link to nothing
            };
            match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => tree.add(path, text),
                _ => tree.others.push(path.into()),
            }
        }
        Ok(tree)
    }

    pub fn add(&mut self, path: &str, text: String) {
        self.files.insert(path.into(), File { path: path.into(), text });
    }

    pub fn files(&self) -> Vec<&File> {
        self.files.values().collect()
    }

    pub fn get(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// Is there such a file, or a folder with files in it?
    pub fn contains(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.paths().any(|known| known == path || known.starts_with(&folder))
    }

    /// Does the path of any file begin so?
    pub fn contains_prefix(&self, prefix: &str) -> bool {
        self.paths().any(|known| known.starts_with(prefix))
    }

    fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys().chain(&self.others)
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.add(path, (*text).into());
        }
        tree
    }
}

/// A file's text in the last commit; `None` where there is no commit or no such file in it.
pub fn committed(root: &Path, path: &str) -> Option<String> {
    git(root, &["show", &format!("HEAD:{path}")]).ok()
}

fn git(root: &Path, arguments: &[&str]) -> io::Result<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_contained_by_its_files() {
        let tree = Tree::of(&[("core/ring/ring.c", "")]);
        assert!(tree.contains("core/ring/ring.c"));
        assert!(tree.contains("core/ring"));
        assert!(tree.contains("core/"));
        assert!(!tree.contains("core/rin"));
    }

    #[test]
    fn a_script_is_known_by_its_first_line() {
        let tree = Tree::of(&[("mk/deps", "#!/bin/bash\n"), ("notes.txt", "x\n")]);
        assert_eq!(tree.get("mk/deps").map(File::language), Some(Language::Script));
        assert_eq!(tree.get("notes.txt").map(File::language), Some(Language::Other));
    }
}
