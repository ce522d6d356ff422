// SPDX-License-Identifier: MIT
//! The fields of an event as a flat list: what is inside of structs and arrays is called by its
//! path, `address.port` or `points[2].x`; an array of plain values is one text, `[1, 2]`.
//!
//! Place in the flow: `follow` reads them once for each event that is written; each format writes
//! them as its own kind of arguments. Names and texts are those of a hostile trace: both are cut to
//! a size, and so is the list.

use analysis::StackPlaces;
use serde::{Serialize, Serializer};
use trace::{Enumeration, Event, Float, Group, Integer, Meaning, Name, Symbols, Visitor};

/// Arguments of one event; the others are counted.
const ARGUMENTS: usize = 64;
/// Bytes of a text.
const TEXT_BYTES: usize = 1024;
/// Bytes of a name, of an event or an argument.
pub(crate) const NAME_BYTES: usize = 256;
/// The argument that counts those without space.
const LEFT_OUT: &str = "arguments left out";
/// What has the kernel's functions, innermost first, the program's, and a copy of its stack.
const KERNEL_STACK: &str = "kernel_stack";
const USER_STACK: &str = "user_stack";
const USER_COPY: &str = "user_stack_copy";
/// What the context has of the thread, which has a track of its own.
const OF_THREAD: [&str; 5] = ["pid", "tid", "vpid", "vtid", "procname"];
/// Integers up to here are the same as numbers of JavaScript.
const EXACT_IN_JSON: u64 = 1 << 53;

/// The value of an argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Unsigned(u64),
    Signed(i64),
    /// A number that the metadata wants to be shown in base 16, most often an address.
    Address(u64),
    Float(f64),
    Boolean(bool),
    Text(Box<str>),
}

/// As JSON: numbers that JavaScript cannot hold are texts.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Unsigned(value) if *value <= EXACT_IN_JSON => serializer.serialize_u64(*value),
            Value::Signed(value) if value.unsigned_abs() <= EXACT_IN_JSON => {
                serializer.serialize_i64(*value)
            }
            Value::Float(value) if value.is_finite() => serializer.serialize_f64(*value),
            Value::Boolean(value) => serializer.serialize_bool(*value),
            other => serializer.serialize_str(&other.text()),
        }
    }
}

impl Value {
    /// As a person reads it.
    pub fn text(&self) -> String {
        match self {
            Value::Unsigned(value) => value.to_string(),
            Value::Signed(value) => value.to_string(),
            Value::Address(value) => format!("{value:#x}"),
            Value::Float(value) => value.to_string(),
            Value::Boolean(value) => value.to_string(),
            Value::Text(value) => value.to_string(),
        }
    }
}

/// One field, or one value inside of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    pub name: String,
    pub value: Value,
}

/// At most `bytes` of a text, with a mark where it is cut.
pub(crate) fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_string();
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or(""))
}

/// The payload and the contexts of an event. What cannot be read ends the list: damage is the
/// reader's to report.
pub(crate) fn of(
    event: &Event<'_>,
    symbols: Option<&Symbols>,
    places: StackPlaces<'_>,
) -> Vec<Argument> {
    let mut fields = Fields { symbols, places, ..Fields::default() };
    let _ = event.fields(&mut fields);
    if event.class().context.is_some() || event.stream_class().event_context.is_some() {
        fields.is_context = true;
        let _ = event.stream_context(&mut fields);
        fields.is_nested_in.clear();
        let _ = event.context(&mut fields);
    }
    if fields.left_out > 0 {
        let value = Value::Unsigned(fields.left_out);
        fields.found.push(Argument { name: LEFT_OUT.into(), value });
    }
    fields.found
}

/// Whether a field is there for the array behind it, which tells its length itself.
fn is_length(name: Name<'_>, ty: &Integer) -> bool {
    matches!(name, Name::Field(name) if ty.is_referred_to() && name.ends_with("_length"))
}

#[derive(Default)]
struct Fields<'a> {
    /// The kernel's functions, where the trace has their names.
    symbols: Option<&'a Symbols>,
    /// The program's.
    places: StackPlaces<'a>,
    found: Vec<Argument>,
    is_context: bool,
    /// What the next value is inside of.
    path: String,
    /// The length of the path outside of each group that is open. Bound: the depth of a type.
    is_nested_in: Vec<usize>,
    /// Whether the last argument is an array, to which the next element belongs.
    is_in_list: bool,
    left_out: u64,
}

impl Fields<'_> {
    fn name(&self, name: Name<'_>) -> String {
        let path = &self.path;
        let name = match name {
            Name::Field(name) if path.is_empty() => name.to_string(),
            Name::Field(name) => format!("{path}.{name}"),
            Name::Index(index) => format!("{path}[{index}]"),
            Name::None => path.clone(),
        };
        cut(&name, NAME_BYTES)
    }

    fn add(&mut self, name: Name<'_>, value: impl FnOnce() -> Value) {
        let is_of_thread = matches!(name, Name::Field(name) if OF_THREAD.contains(&name));
        if self.is_context && self.is_nested_in.is_empty() && is_of_thread {
            return;
        }
        if let Name::Index(position) = name {
            if self.path != USER_COPY || self.places.copy.is_empty() {
                self.add_element(usize::try_from(position).ok(), &value());
            }
            return;
        }
        if self.found.len() >= ARGUMENTS {
            self.left_out += 1;
            return;
        }
        let name = self.name(name);
        self.found.push(Argument { name, value: value() });
    }

    /// An element as it is shown: an address of a call stack by its function.
    fn element(&self, position: Option<usize>, element: &Value) -> String {
        let address = match element {
            Value::Address(address) | Value::Unsigned(address) => *address,
            _ => return element.text(),
        };
        if self.path == USER_STACK {
            let place = position.and_then(|position| self.places.user.get(position)?.as_deref());
            return place.map_or_else(|| element.text(), |place| cut(place, NAME_BYTES));
        }
        let symbols = self.symbols.filter(|_| self.path == KERNEL_STACK);
        match symbols.and_then(|symbols| symbols.returned_to(address)) {
            Some(place) => format!("{}+{:#x}", cut(place.function, NAME_BYTES), place.offset),
            None => element.text(),
        }
    }

    /// The frames that were found in a copy of the stack, in place of its words.
    fn add_copy(&mut self) {
        for (address, place) in self.places.copy {
            let place = place.as_deref().map(|place| Value::Text(cut(place, NAME_BYTES).into()));
            self.add_element(None, &place.unwrap_or(Value::Address(*address)));
        }
    }

    /// An element of an array of plain values, which is one argument: `[1, 2]`.
    fn add_element(&mut self, position: Option<usize>, element: &Value) {
        let element = self.element(position, element);
        let is_full = self.found.len() >= ARGUMENTS;
        match self.found.last_mut().filter(|_| self.is_in_list) {
            Some(Argument { value: Value::Text(list), .. }) if list.len() < TEXT_BYTES => {
                *list = format!("{list}, {element}").into();
            }
            Some(Argument { value: Value::Text(list), .. }) if !list.ends_with('…') => {
                *list = format!("{list}, …").into();
            }
            Some(_) => {}
            None if is_full => self.left_out += 1,
            None => {
                let value = Value::Text(format!("[{element}").into());
                self.found.push(Argument { name: self.path.clone(), value });
                self.is_in_list = true;
            }
        }
    }

    fn end_list(&mut self) {
        if let (true, Some(Argument { value: Value::Text(list), .. })) =
            (self.is_in_list, self.found.last_mut())
        {
            *list = format!("{list}]").into();
        }
        self.is_in_list = false;
    }
}

impl Visitor for Fields<'_> {
    fn unsigned(&mut self, name: Name<'_>, value: u64, ty: &Integer) {
        if ty.is_of_reader() || is_length(name, ty) {
            return;
        }
        self.add(name, || match ty.meaning {
            Meaning::Boolean => Value::Boolean(value != 0),
            _ if ty.base == trace::Base::Hexadecimal => Value::Address(value),
            _ => Value::Unsigned(value),
        });
    }

    fn signed(&mut self, name: Name<'_>, value: i64, _: &Integer) {
        self.add(name, || Value::Signed(value));
    }

    fn float(&mut self, name: Name<'_>, value: f64, _: &Float) {
        self.add(name, || Value::Float(value));
    }

    fn enumeration(&mut self, name: Name<'_>, value: u64, ty: &Enumeration) {
        self.add(name, || match ty.text(value) {
            Some(label) => Value::Text(cut(&label, TEXT_BYTES).into()),
            None if ty.container.signed => Value::Signed(value as i64),
            None => Value::Unsigned(value),
        });
    }

    fn text(&mut self, name: Name<'_>, bytes: &[u8]) {
        // Four bytes more than are shown, so that it is seen whether a text is cut.
        let bytes = bytes.get(..TEXT_BYTES + 4).unwrap_or(bytes);
        self.add(name, || Value::Text(cut(&String::from_utf8_lossy(bytes), TEXT_BYTES).into()));
    }

    fn begin(&mut self, name: Name<'_>, group: Group<'_>) {
        self.end_list();
        if let Group::Array { count: 0 } | Group::Sequence { count: 0 } = group {
            self.add(name, || Value::Text("[]".into()));
        }
        self.is_nested_in.push(self.path.len());
        let path = self.name(name);
        self.path = path;
        if self.path == USER_COPY {
            self.add_copy();
        }
    }

    fn end(&mut self, _: Group<'_>) {
        self.end_list();
        let outside = self.is_nested_in.pop().unwrap_or(0);
        self.path.truncate(outside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters_and_a_cut_is_marked() {
        assert_eq!(cut("café", 5), "café");
        assert_eq!(cut("café", 4), "caf…");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn numbers_that_javascript_cannot_hold_are_texts_in_json() {
        let json = |value: Value| serde_json::to_string(&value).unwrap();
        assert_eq!(json(Value::Unsigned(1 << 53)), "9007199254740992");
        assert_eq!(json(Value::Unsigned((1 << 53) + 1)), "\"9007199254740993\"");
        assert_eq!(json(Value::Signed(i64::MIN)), "\"-9223372036854775808\"");
        assert_eq!(json(Value::Float(f64::NAN)), "\"NaN\"");
        assert_eq!(json(Value::Address(0x10)), "\"0x10\"");
        assert_eq!(json(Value::Text("a\"\n".into())), "\"a\\\"\\n\"");
    }
}
