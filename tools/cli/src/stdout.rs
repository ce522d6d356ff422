// SPDX-License-Identifier: MIT
//! Standard output, whose reader may go away early, as `head` does: what it wanted it has, so that
//! is no error, and nothing is said about it.
//!
//! Place in the flow: commands that have one text write it here; those that write while they read
//! ask whether an error is this one.

use std::io::{ErrorKind, Write};

use anyhow::Context;

/// Writes all of a text.
pub fn write(text: &str) -> anyhow::Result<()> {
    write_bytes(text.as_bytes())
}

/// Writes all of what may be no text, such as paths.
pub fn write_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    write_to_reader(bytes).map(|_| ())
}

/// The same, for what is written again and again. Return: whether anybody may still read it.
pub fn write_to_reader(bytes: &[u8]) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("writing the output"),
        Ok(()) => Ok(true),
    }
}

/// Whether the reason of an error is that the reader of the output has gone away.
pub fn is_closed(error: &anyhow::Error) -> bool {
    let reasons = error.chain().filter_map(|reason| reason.downcast_ref::<std::io::Error>());
    reasons.into_iter().any(|reason| reason.kind() == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_that_has_gone_away_is_told_from_other_errors_below_what_was_done() {
        for (kind, is_gone) in [(ErrorKind::BrokenPipe, true), (ErrorKind::StorageFull, false)] {
            let error = anyhow::Error::from(std::io::Error::from(kind)).context("writing");
            assert_eq!(is_closed(&error), is_gone, "{kind}");
        }
    }
}
