// SPDX-License-Identifier: MIT
//! Paths in a recorder's file: a text, or, where a path is none, the list of its bytes.
//!
//! Place in the flow: a path is whatever bytes its directories are called by, and JSON holds only
//! UTF-8. A session is found by what its recorder's file says, so the path must not be lost.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(PathBuf),
    Bytes(Vec<u8>),
}

pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => serializer.serialize_str(text),
        None => path.as_os_str().as_bytes().serialize(serializer),
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(match Written::deserialize(deserializer)? {
        Written::Text(path) => path,
        Written::Bytes(bytes) => OsString::from_vec(bytes).into(),
    })
}
