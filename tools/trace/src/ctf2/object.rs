// SPDX-License-Identifier: MIT
//! Objects of CTF 2 metadata: properties by name and type, and none that is not known.
//!
//! Place in the flow: `fragment` and `field_class` read every JSON object through this.

use serde_json::{Map, Value};

/// What is wrong, for people; the caller knows the line.
pub(super) type Result<T> = std::result::Result<T, String>;

/// An object whose properties are all known.
#[derive(Clone, Copy)]
pub(super) struct Object<'j>(&'j Map<String, Value>);

impl<'j> Object<'j> {
    /// The object, if it has no other properties than these and those that every object may have.
    /// A reader must not go on where it does not know an extension.
    pub fn of(value: &'j Value, known: &[&str]) -> Result<Self> {
        let map = value.as_object().ok_or("something that must be an object is none")?;
        for (key, value) in map {
            match (key.as_str(), value) {
                ("attributes", _) | ("type", Value::String(_)) => {}
                ("extensions", Value::Object(map)) if map.is_empty() => {}
                ("extensions", _) => {
                    return Err("an extension is declared, and none is known".into());
                }
                (key, _) if known.contains(&key) => {}
                (key, _) => return Err(format!("the property `{key}` is not known here")),
            }
        }
        Ok(Self(map))
    }

    pub fn get(&self, key: &str) -> Option<&'j Value> {
        self.0.get(key)
    }

    pub fn need(&self, key: &str) -> Result<&'j Value> {
        self.get(key).ok_or_else(|| format!("the property `{key}` is missing"))
    }

    /// What `read` makes of a property; nothing if there is no such property.
    fn typed<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl FnOnce(&'j Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| format!("`{key}` is not {wanted}"))
    }

    pub fn text(&self, key: &str) -> Result<Option<&'j str>> {
        self.typed(key, "a string", Value::as_str)
    }

    pub fn unsigned(&self, key: &str) -> Result<Option<u64>> {
        self.typed(key, "a whole number from 0 to 2^64 - 1", Value::as_u64)
    }

    pub fn signed(&self, key: &str) -> Result<Option<i64>> {
        self.typed(key, "a whole number of 64 bits", Value::as_i64)
    }

    pub fn list(&self, key: &str) -> Result<Option<&'j Vec<Value>>> {
        self.typed(key, "an array", Value::as_array)
    }

    pub fn map(&self, key: &str) -> Result<Option<&'j Map<String, Value>>> {
        self.typed(key, "an object", Value::as_object)
    }

    /// An alignment: a power of two, 1 if it is not given.
    pub fn alignment(&self, key: &str) -> Result<u32> {
        let align = self.unsigned(key)?.unwrap_or(1);
        let align = u32::try_from(align).ok().filter(|bits| bits.is_power_of_two());
        align.ok_or_else(|| format!("`{key}` is not a power of two"))
    }
}

/// A whole number of up to 64 bits, whether signed or not.
pub(super) fn number(value: &Value) -> Option<i128> {
    let signed = value.as_i64().map(i128::from);
    signed.or_else(|| value.as_u64().map(i128::from))
}

/// Inclusive ranges: `[[1, 3], [7, 7]]`.
pub(super) fn ranges(value: &Value) -> Result<Vec<(i128, i128)>> {
    let range = |value: &Value| match value.as_array()?.as_slice() {
        [begin, until] => Some((number(begin)?, number(until)?)),
        _ => None,
    };
    let all: Option<Vec<_>> = value.as_array().and_then(|list| list.iter().map(range).collect());
    all.filter(|all| all.iter().all(|(begin, until)| begin <= until))
        .ok_or_else(|| "ranges of whole numbers are not pairs in order".into())
}
