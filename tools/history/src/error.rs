// SPDX-License-Identifier: MIT
//! What can go wrong.

use std::path::PathBuf;

use trace::Trace;

use crate::folder::Kept;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The trace's files could not be looked at.
    #[error("{}: the trace cannot be read: {reason}", path.display())]
    Trace {
        /// The trace's folder.
        path: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
    /// The index could not be read.
    #[error("{place}: the index of states cannot be read: {reason}")]
    Reading {
        /// Where it is.
        place: String,
        /// Why.
        reason: std::io::Error,
    },
    /// The index is not as it was written.
    #[error("{place}: the index of states is damaged: remove it, and it is built again")]
    Damaged {
        /// Where it is.
        place: String,
    },
    /// There is no space for the index.
    #[error(
        "there is no space for the index of states, which is too long for memory: make space \
         beside the trace, in the cache (XDG_CACHE_HOME) or where TMPDIR leads ({reasons})"
    )]
    NoSpace {
        /// Why it could not be in a file.
        reasons: String,
    },
}

impl Error {
    pub(crate) fn traces(traces: &[Trace], reason: std::io::Error) -> Self {
        let path = traces.first().map(|trace| trace.path().to_path_buf()).unwrap_or_default();
        Error::Trace { path, reason }
    }

    pub(crate) fn no_space(reasons: String) -> Self {
        Error::NoSpace { reasons }
    }

    pub(crate) fn damaged(kept: &Kept) -> Self {
        Error::Damaged { place: place(kept) }
    }

    pub(crate) fn reading(kept: &Kept, reason: std::io::Error) -> Self {
        Error::Reading { place: place(kept), reason }
    }
}

fn place(kept: &Kept) -> String {
    kept.path().map_or_else(|| "in memory".into(), |path| path.display().to_string())
}
