// SPDX-License-Identifier: MIT
//! Values that occurrences were told apart by, as people and as JSON read them.
//!
//! Place in the flow: `table` and `json` ask with the field that a value is of, whose labels and
//! base are in its event's description.

use serde_json::Value as Json;
use session::counts::Value;
use session::description::{Description, FieldKind};

/// The field that a name stands for; None for a context.
pub(super) fn kind_of<'d>(event: &'d Description, name: &str) -> Option<&'d FieldKind> {
    event.fields.iter().find(|field| field.name == name).map(|field| &field.kind)
}

pub(super) fn text(value: &Value, kind: Option<&FieldKind>) -> String {
    match (value, kind) {
        (Value::None, _) => "-".into(),
        (Value::Text { bytes, is_cut }, _) => {
            let text = String::from_utf8_lossy(bytes).into_owned();
            if *is_cut {
                format!("{text}...")
            } else {
                text
            }
        }
        (Value::Unsigned(number), Some(FieldKind::Bool)) => (*number != 0).to_string(),
        (
            Value::Unsigned(number),
            Some(FieldKind::Pointer | FieldKind::Unsigned { hex: true, .. }),
        ) => {
            format!("{number:#x}")
        }
        (Value::Unsigned(number), Some(FieldKind::Flags { names, .. })) => flags(*number, names),
        (Value::Signed(number), Some(FieldKind::Enumeration(labels))) => {
            let label = labels.iter().find(|(_, value)| i64::from(*value) == *number);
            label.map_or_else(|| number.to_string(), |(label, _)| label.clone())
        }
        (Value::Unsigned(number), _) => number.to_string(),
        (Value::Signed(number), _) => number.to_string(),
    }
}

fn flags(number: u64, names: &[(String, u64)]) -> String {
    let is_set = |flag: &&(String, u64)| flag.1 != 0 && number & flag.1 == flag.1;
    let set: Vec<&str> = names.iter().filter(is_set).map(|(name, _)| name.as_str()).collect();
    match set.is_empty() {
        true => format!("{number:#x}"),
        false => set.join("|"),
    }
}

/// Numbers as numbers, labels and texts as texts.
pub(super) fn json(value: &Value, kind: Option<&FieldKind>) -> Json {
    match (value, kind) {
        (Value::None, _) => Json::Null,
        (Value::Unsigned(number), Some(FieldKind::Bool)) => (*number != 0).into(),
        (Value::Signed(_), Some(FieldKind::Enumeration(_))) => text(value, kind).into(),
        (Value::Unsigned(number), _) => (*number).into(),
        (Value::Signed(number), _) => (*number).into(),
        (Value::Text { .. }, _) => text(value, kind).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_their_field_has_them() {
        let event = "a:b\n6\nf:1\nbool is\nptr p\nenum e A=1,B=2\nx32 f R=1,W=2\ni8 n\nstr t\n";
        let event = Description::parse(event.as_bytes()).unwrap();
        let shown = |name: &str, value: Value| text(&value, kind_of(&event, name));
        assert_eq!(shown("is", Value::Unsigned(1)), "true");
        assert_eq!(shown("p", Value::Unsigned(255)), "0xff");
        assert_eq!(shown("e", Value::Signed(2)), "B");
        assert_eq!(shown("e", Value::Signed(7)), "7");
        assert_eq!(shown("f", Value::Unsigned(3)), "R|W");
        assert_eq!(shown("n", Value::Signed(-3)), "-3");
        assert_eq!(shown("pid", Value::Signed(42)), "42");
        assert_eq!(shown("t", Value::None), "-");
        let long = Value::Text { bytes: b"abc".to_vec(), is_cut: true };
        assert_eq!(shown("t", long.clone()), "abc...");
        assert_eq!(json(&long, None), Json::from("abc..."));
        assert_eq!(json(&Value::Signed(-1), None), Json::from(-1));
        assert_eq!(json(&Value::Signed(1), kind_of(&event, "e")), Json::from("A"));
    }
}
