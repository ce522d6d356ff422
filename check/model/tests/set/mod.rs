// SPDX-License-Identifier: MIT
//! A set of models in a folder of its own, and the runner over it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub struct Set {
    folder: TempDir,
}

/// What the runner printed, and its exit status.
pub struct Printed {
    pub status: i32,
    pub text: String,
    pub errors: String,
}

impl Printed {
    fn of(output: Output) -> Printed {
        Printed {
            status: output.status.code().unwrap_or(-1),
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn last_line(&self) -> &str {
        self.text.lines().last().unwrap_or_default()
    }
}

/// A description of one run of the counter.
pub fn counter_run(claim: &str, rest: &str) -> String {
    format!(
        "[[run]]\ntitle = \"One\"\nmodel = \"counter.pml\"\nclaim = \"{claim}\"\nmachines = []\n\
         {rest}\n"
    )
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

impl Set {
    /// Copies of folders in tests/models, and the machines of the project.
    pub fn of(nouns: &[&str]) -> Set {
        let set = Set { folder: tempfile::tempdir().unwrap() };
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for noun in nouns {
            copy(&here.join("tests/models").join(noun), &set.path(noun));
        }
        copy(&here.join("../../models/machine"), &set.path("machine"));
        set
    }

    /// The counter with the few of its runs that tables are tested with.
    #[allow(dead_code, reason = "each file of tests has its own copy of this module")]
    pub fn few() -> Set {
        let set = Set::of(&["counter"]);
        let text = fs::read_to_string(set.path("counter/expect.toml")).unwrap();
        let titles = ["Unaltered", "Counts", "Does nothing", "Waits", "Two is"];
        let is_wanted = |run: &&str| titles.iter().any(|title| run.contains(title));
        let runs: Vec<&str> = text.split("[[run]]").skip(1).filter(is_wanted).collect();
        set.describe(&format!("[[run]]{}", runs.join("[[run]]")));
        set
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Another description of the counter.
    pub fn describe(&self, text: &str) {
        fs::write(self.path("counter/expect.toml"), text).unwrap();
    }

    /// Another model in the place of the counter.
    pub fn model(&self, text: &str) {
        fs::write(self.path("counter/counter.pml"), text).unwrap();
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_model"));
        command.arg("--models").arg(self.folder.path()).args(options);
        command.env_remove("COLUMNS").env_remove("MODEL_CACHE");
        command
    }

    pub fn run(&self, options: &[&str]) -> Printed {
        let spin = Command::new("spin").arg("-V").output();
        assert!(spin.is_ok(), "these tests need SPIN: apt-get install spin");
        Printed::of(self.command(options).output().unwrap())
    }

    #[allow(dead_code, reason = "each file of tests has its own copy of this module")]
    pub fn run_wide(&self, columns: usize, options: &[&str]) -> Printed {
        Printed::of(self.command(options).env("COLUMNS", columns.to_string()).output().unwrap())
    }

    /// With a search path that has a shell and nothing else.
    #[allow(dead_code, reason = "each file of tests has its own copy of this module")]
    pub fn run_without_spin(&self, options: &[&str]) -> Printed {
        let programs = self.path("programs");
        fs::create_dir_all(&programs).unwrap();
        std::os::unix::fs::symlink("/bin/sh", programs.join("sh")).unwrap();
        Printed::of(self.command(options).env("PATH", programs).output().unwrap())
    }
}
