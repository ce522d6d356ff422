// SPDX-License-Identifier: MIT
//! `lull run` and `lull env`: put a program, or a shell, into a running session.
//!
//! Place in the flow: the recorder says what is to be preloaded; a program is executed in the place
//! of this process, so that its status, signals and terminal are its own.

use super::find::find_named;
use super::{ask, confused, PATIENCE};
use crate::record::launch::{append, variables, PRELOAD_VARIABLE};
use crate::record::runtime::{close_standard, restore_pipe_signal};
use crate::record::{plan, program};
use crate::{say, stdout};
use control::{Answer, Request};
use session::abi::SESSION_VARIABLE;
use session::directory::Found;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Run a program in a running session
#[derive(Debug, clap::Args)]
#[command(after_help = "The program takes the place of this command: its status, its signals and \
    its terminal are its own. It is recorded from its first instruction on, with all processes \
    that it starts. The status is 125 when the session cannot be joined, 126 or 127 when the \
    program cannot be started.")]
pub struct RunArgs {
    /// The session: its name, its recorder's process, or its trace's directory
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Print the variables that put a shell into a running session
#[derive(Debug, clap::Args)]
#[command(after_help = "eval \"$(lull env NAME)\" puts a shell into the session, and so the \
    programs that the shell starts from then on; eval \"$(lull env --leave)\" takes it out of all \
    sessions. The lines are those of POSIX shells.")]
pub struct EnvArgs {
    /// The session: its name, its recorder's process, or its trace's directory
    #[arg(value_name = "SESSION", required_unless_present = "leave")]
    pub session: Option<String>,

    /// Print what takes a shell out of all sessions
    #[arg(long, conflicts_with = "session")]
    pub leave: bool,
}

/// Runs `lull run`; it returns where the program cannot be executed.
pub fn run(args: &RunArgs) -> anyhow::Result<i32> {
    let Some(name) = args.program.first() else { anyhow::bail!("there is no program") };
    let program = match program::find(name) {
        Ok(program) => program,
        Err(problem) => {
            say(&problem.to_string());
            return Ok(problem.status());
        }
    };
    if let Some(warning) = &program.warning {
        say(warning);
    }
    let found = find_named(&args.session)?;
    let variables = joining(&found, program.loads)?;
    let path = std::path::absolute(&program.path).unwrap_or_else(|_| program.path.clone());
    let told = Request::Expect { program: path.to_string_lossy().into() };
    ask(&found, &told, Some(PATIENCE))?;
    let mut command = Command::new(&program.path);
    command.arg0(name).args(&args.program[1..]).envs(variables);
    // SAFETY: the closure makes system calls only, in this process.
    unsafe {
        command.pre_exec(|| {
            restore_pipe_signal();
            close_standard();
            Ok(())
        })
    };
    let error = command.exec();
    say(&format!("{}: cannot be started: {error}", program.path.display()));
    Ok(program::start_status(&error))
}

/// What a program's environment is to have. `loads`: whether it can load liblull.
fn joining(found: &Found, loads: bool) -> anyhow::Result<Vec<(&'static str, OsString)>> {
    let Answer::Environment { preload, beside } =
        ask(found, &Request::Environment, Some(PATIENCE))?
    else {
        return confused(found);
    };
    let preload: Vec<&Path> = preload.iter().map(Path::new).filter(|_| loads).collect();
    plan::check_sessions_around(1 + beside.len())?;
    let beside = beside.iter().map(OsStr::new);
    let directories =
        beside.fold(found.path.clone().into_os_string(), |all, path| append(all, Some(path)));
    Ok(variables(&directories, &preload))
}

/// Runs `lull env`; the result is the exit status.
pub fn env(args: &EnvArgs) -> anyhow::Result<i32> {
    let lines = match &args.session {
        Some(session) => {
            let variables = joining(&find_named(session)?, true)?;
            variables.iter().map(|(name, value)| export(name, value)).collect()
        }
        None => leaving(std::env::var_os(PRELOAD_VARIABLE)),
    };
    for line in lines {
        stdout::write_bytes(&line)?;
    }
    Ok(0)
}

/// A shell's line that sets a variable, whatever is in the value.
fn export(name: &str, value: &OsStr) -> Vec<u8> {
    let mut line = format!("export {name}='").into_bytes();
    for byte in value.as_bytes() {
        match byte {
            b'\'' => line.extend_from_slice(br"'\''"),
            byte => line.push(*byte),
        }
    }
    line.extend_from_slice(b"'\n");
    line
}

/// Lines that take a shell out of all sessions, and leave other libraries that it preloads.
fn leaving(preload: Option<OsString>) -> Vec<Vec<u8>> {
    let is_ours = |path: &&[u8]| {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        name.starts_with(b"liblull.so") || name.starts_with(b"liblull-malloc.so")
    };
    let preload = preload.unwrap_or_default();
    let parts = preload.as_bytes().split(|byte| *byte == b':' || *byte == b' ');
    let others: Vec<&[u8]> = parts.filter(|part| !part.is_empty() && !is_ours(part)).collect();
    let unset = |name: &str| format!("unset {name}\n").into_bytes();
    let preload = match others.is_empty() {
        true => unset(PRELOAD_VARIABLE),
        false => export(PRELOAD_VARIABLE, &OsString::from_vec(others.join(&b':'))),
    };
    vec![unset(SESSION_VARIABLE), preload]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_a_shell_holds_any_value() {
        let value = OsStr::new("/a b/$(x)'`\"\n");
        let mut script = export("VALUE", value);
        script.extend_from_slice(b"printf %s \"$VALUE\"");
        let script = OsString::from_vec(script);
        let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
        assert_eq!(output.stdout, value.as_bytes());
    }

    #[test]
    fn shell_that_leaves_keeps_what_others_preload() {
        let lines = |preload: &str| -> String {
            let lines = leaving(Some(preload.into()));
            String::from_utf8(lines.concat()).unwrap()
        };
        assert_eq!(lines("/l/liblull.so.0"), "unset LULL_SESSION\nunset LD_PRELOAD\n");
        assert_eq!(
            lines("/l/liblull.so.0:/l/liblull-malloc.so:/their.so /o.so"),
            "unset LULL_SESSION\nexport LD_PRELOAD='/their.so:/o.so'\n"
        );
        assert_eq!(leaving(None).concat(), b"unset LULL_SESSION\nunset LD_PRELOAD\n");
    }
}
