// SPDX-License-Identifier: MIT
//! What can go wrong while a trace is exported.

use std::io;

/// Why there is no export.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option names what no trace has.
    #[error(
        "no event {event} with a field {field} in the trace; `lull print` shows what there is"
    )]
    NoField {
        /// Of the event, as the user wrote it.
        event: String,
        /// Of its field.
        field: String,
    },
    /// The file that holds what is not in order yet.
    #[error("making a temporary file in {folder}")]
    Temporary {
        /// Where it was to be.
        folder: String,
        /// Why there is none.
        source: io::Error,
    },
    /// Writing failed.
    #[error("writing the export")]
    Write(#[from] io::Error),
}
