// SPDX-License-Identifier: MIT
//! `lull generate`: manual pages and shell completions, for `make install`.
//!
//! Place in the flow: none at run time; hidden from users. Everything comes from the definition of
//! the arguments.

use anyhow::Context;
use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use std::fs;
use std::path::{Path, PathBuf};

/// Write manual pages or completions
#[derive(Debug, clap::Args)]
pub struct GenerateArgs {
    what: What,
    /// An existing directory
    directory: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    Man,
    Completions,
}

pub fn run(args: &GenerateArgs) -> anyhow::Result<i32> {
    let command = crate::Arguments::command();
    let result = match args.what {
        What::Man => pages(command, &args.directory),
        What::Completions => completions(command, &args.directory),
    };
    result.with_context(|| format!("writing to {}", args.directory.display()))?;
    Ok(0)
}

fn pages(mut command: clap::Command, directory: &Path) -> std::io::Result<()> {
    command.build();
    page(&command, "lull", directory)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        if sub.get_name() != "help" {
            page(sub, &format!("lull-{}", sub.get_name()), directory)?;
        }
    }
    Ok(())
}

fn page(command: &clap::Command, name: &str, directory: &Path) -> std::io::Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).render(&mut text)?;
    fs::write(directory.join(format!("{name}.1")), text)
}

fn completions(mut command: clap::Command, directory: &Path) -> std::io::Result<()> {
    for (shell, file) in
        [(Shell::Bash, "lull.bash"), (Shell::Zsh, "_lull"), (Shell::Fish, "lull.fish")]
    {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "lull", &mut text);
        fs::write(directory.join(file), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        crate::Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_page_and_every_shell_its_completions() {
        let directory = std::env::temp_dir().join(format!("lull-generate-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        pages(crate::Arguments::command(), &directory).unwrap();
        completions(crate::Arguments::command(), &directory).unwrap();
        for name in ["lull.1", "lull-record.1", "lull-doctor.1", "lull.bash", "_lull", "lull.fish"]
        {
            assert!(fs::metadata(directory.join(name)).unwrap().len() > 500, "{name}");
        }
        assert!(!directory.join("lull-generate.1").exists());
        fs::remove_dir_all(&directory).unwrap();
    }
}
