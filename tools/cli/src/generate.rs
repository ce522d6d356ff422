// SPDX-License-Identifier: MIT
//! `lull generate`: manual pages and shell completions, for `make install`.
//!
//! Place in the flow: none at run time; hidden from users. Everything comes from the definition of
//! the arguments.

use anyhow::Context;
use clap::{Arg, Command, CommandFactory, ValueEnum};
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
        What::Completions => completions(&command, &args.directory),
    };
    result.with_context(|| format!("writing to {}", args.directory.display()))?;
    Ok(0)
}

fn pages(mut command: Command, directory: &Path) -> std::io::Result<()> {
    command.build();
    page(&command, "lull", directory)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        if sub.get_name() != "help" {
            page(sub, &format!("lull-{}", sub.get_name()), directory)?;
        }
    }
    Ok(())
}

fn page(command: &Command, name: &str, directory: &Path) -> std::io::Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).render(&mut text)?;
    fs::write(directory.join(format!("{name}.1")), text)
}

fn completions(command: &Command, directory: &Path) -> std::io::Result<()> {
    let mut command = shown(command);
    for (shell, file) in
        [(Shell::Bash, "lull.bash"), (Shell::Zsh, "_lull"), (Shell::Fish, "lull.fish")]
    {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "lull", &mut text);
        fs::write(directory.join(file), text)?;
    }
    Ok(())
}

/// A command with what its help shows: completions of `clap_complete` offer what is hidden, too.
fn shown(command: &Command) -> Command {
    let mut shown = Command::new(command.get_name().to_owned())
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true);
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    let hides = command.get_arguments().any(Arg::is_hide_set);
    let own = |argument: &Arg| if hides { alone(argument) } else { argument.clone() };
    shown
        .args(command.get_arguments().filter(|argument| !argument.is_hide_set()).map(own))
        .subcommands(command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(self::shown))
}

/// An argument without what it has to do with others: it must not name one that is hidden.
fn alone(argument: &Arg) -> Arg {
    let mut alone = Arg::new(argument.get_id().clone())
        .action(argument.get_action().clone())
        .required(argument.is_required_set())
        .value_parser(argument.get_value_parser().clone())
        .value_hint(argument.get_value_hint());
    if let Some(long) = argument.get_long() {
        alone = alone.long(long.to_owned());
    }
    if let Some(short) = argument.get_short() {
        alone = alone.short(short);
    }
    if let Some(help) = argument.get_help() {
        alone = alone.help(help.clone());
    }
    if let Some(names) = argument.get_value_names() {
        alone = alone.value_names(names.to_vec());
    }
    if let Some(count) = argument.get_num_args() {
        alone = alone.num_args(count);
    }
    alone
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
        completions(&crate::Arguments::command(), &directory).unwrap();
        for name in ["lull.1", "lull-record.1", "lull-doctor.1", "lull.bash", "_lull", "lull.fish"]
        {
            assert!(fs::metadata(directory.join(name)).unwrap().len() > 500, "{name}");
        }
        assert!(!directory.join("lull-generate.1").exists());
        for name in ["lull.bash", "_lull", "lull.fish"] {
            let text = fs::read_to_string(directory.join(name)).unwrap();
            assert!(text.contains("recover") && text.contains("kernel-of"), "{name}");
            assert!(!text.contains("generate") && !text.contains("Not there"), "{name}");
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
