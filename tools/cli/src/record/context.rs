// SPDX-License-Identifier: MIT
//! `--context`: what is recorded of the thread that runs, with each of the kernel's events.
//!
//! Place in the flow: clap reads the names by [`parse`]; `kernel` tells the module before it
//! enables events.

use filter::Context;

/// One of the names, for clap.
pub fn parse(name: &str) -> Result<&'static Context, String> {
    Context::find(name).ok_or_else(|| {
        let names: Vec<&str> = Context::all().map(|context| context.name).collect();
        format!("there are {}", names.join(", "))
    })
}

/// What the module is told.
pub fn mask(contexts: &[&Context]) -> u32 {
    contexts.iter().fold(0, |mask, context| mask | 1 << context.number)
}

/// Why the module does not record it.
pub fn refused(error: &std::io::Error) -> anyhow::Error {
    match error.raw_os_error() {
        Some(libc::ENOTTY | libc::EINVAL | libc::E2BIG) => {
            anyhow::anyhow!("--context: this module lull is older than this command")
        }
        _ => anyhow::anyhow!("--context: the module lull refuses it: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_those_of_filters_each_once() {
        let names = ["tid", "comm", "tid"].map(|name| parse(name).unwrap());
        assert_eq!(mask(&names), 0b110);
        assert_eq!(mask(&[]), 0);
        let all: Vec<&Context> = Context::all().collect();
        assert_eq!(mask(&all), (1 << all.len()) - 1);
        let refused = parse("$tid").unwrap_err();
        assert!(refused.starts_with("there are pid, tid, comm,"), "{refused}");
    }
}
