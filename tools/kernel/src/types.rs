// SPDX-License-Identifier: MIT
//! The kernel's types, as it tells them itself (BTF): parameters of functions and tracepoints, and
//! members of structures.
//!
//! Place in the flow: `source` asks where a named value is, and what it is. The text of BTF is the
//! kernel's; what it says is only believed as far as the module checks it.

use btf_rs::{Btf, BtfType, Type};
use std::io::ErrorKind;

const FOLDER: &str = "/sys/kernel/btf";
const VMLINUX: &str = "vmlinux";
/// Functions that the kernel has for each tracepoint, with its parameters' names.
const NAMING: [&str; 3] = ["__traceiter_", "__probestub_", "__bpf_trace_"];
/// A chain of names for one type is not longer in any kernel.
const NAMES_MAX: usize = 32;
/// A structure inside of another, without a name of its own.
const NESTED_MAX: usize = 8;

pub struct Types {
    btf: Btf,
}

/// What a value is, as far as an event can hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// The type of its field in a description.
    Number(&'static str),
    /// What it points to, by its identifier.
    Pointer(u32),
    /// An array of characters.
    Text,
    /// A structure, by its identifier.
    Structure(u32),
    Other,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    pub value: Value,
}

impl Types {
    /// The types that these bytes tell.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        Ok(Self { btf: Btf::from_bytes(bytes).map_err(|error| error.to_string())? })
    }

    /// The types of the kernel, or of one of its modules that is loaded, whose types refer to them.
    pub fn read(module: Option<&str>) -> Result<Self, String> {
        let kernel = read(VMLINUX, &Btf::from_bytes)?;
        let Some(module) = module else { return Ok(Self { btf: kernel }) };
        // The kernel calls a module by its file's name, with _ for -.
        let name = module.replace('-', "_");
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("`{module}` is no name of a module"));
        }
        let btf = read(&name, &|bytes| Btf::from_split_bytes(bytes, &kernel))?;
        Ok(Self { btf })
    }

    /// The parameters of a function that the kernel's types name.
    pub fn function(&self, name: &str) -> Option<Vec<Parameter>> {
        let types = self.btf.resolve_types_by_name(name).ok()?;
        let found = types.iter().find_map(|found| match found {
            Type::Func(function) => self.btf.resolve_chained_type(function).ok(),
            _ => None,
        });
        self.parameters(found?)
    }

    /// The parameters of a tracepoint, without the first, which is the probe's own. Its type has
    /// no names: those are of a function that has the same parameters, or argN.
    pub fn tracepoint(&self, name: &str) -> Option<Vec<Parameter>> {
        let types = self.btf.resolve_types_by_name(&format!("btf_trace_{name}")).ok()?;
        let pointer = types.iter().find_map(|found| match found {
            Type::Typedef(typedef) => self.btf.resolve_chained_type(typedef).ok(),
            _ => None,
        });
        let Type::Ptr(pointer) = pointer? else { return None };
        let mut all = self.parameters(self.btf.resolve_chained_type(&pointer).ok()?)?;
        let functions = NAMING.iter().filter_map(|first| self.function(&format!("{first}{name}")));
        let named = functions.into_iter().find(|named| {
            named.len() == all.len() && named.iter().all(|parameter| !parameter.name.is_empty())
        });
        for (number, parameter) in all.iter_mut().enumerate() {
            let name = named.as_ref().and_then(|named| named.get(number));
            parameter.name = name.map_or(format!("arg{number}"), |named| named.name.clone());
        }
        Some(all.into_iter().skip(1).collect())
    }

    fn parameters(&self, of: Type) -> Option<Vec<Parameter>> {
        let Type::FuncProto(of) = of else { return None };
        let parameters = of.parameters.iter().filter(|parameter| !parameter.is_variadic());
        let named = parameters.map(|parameter| Parameter {
            name: self.btf.resolve_name(parameter).unwrap_or_default(),
            value: parameter.get_type_id().map_or(Value::Other, |id| self.value(id)),
        });
        Some(named.collect())
    }

    /// A member of a structure: where it begins, in bytes, and what it is.
    pub fn member(&self, structure: u32, name: &str) -> Option<(u32, Value)> {
        self.member_within(structure, name, NESTED_MAX)
    }

    fn member_within(&self, structure: u32, name: &str, depth: usize) -> Option<(u32, Value)> {
        let (Type::Struct(of) | Type::Union(of)) = self.plain(structure)? else { return None };
        of.members.iter().find_map(|member| {
            let at = member.bit_offset() / 8;
            let id = member.get_type_id()?;
            let found = self.btf.resolve_name(member).unwrap_or_default();
            if found == name {
                let is_whole = member.bit_offset() % 8 == 0;
                let is_bits = member.bitfield_size().is_some_and(|bits| bits > 0);
                return (is_whole && !is_bits).then(|| (at, self.value(id)));
            }
            let nested = (found.is_empty() && depth > 0).then_some(id)?;
            let (within, value) = self.member_within(nested, name, depth - 1)?;
            Some((at.checked_add(within)?, value))
        })
    }

    /// A type without names and qualifiers.
    fn plain(&self, id: u32) -> Option<Type> {
        let mut found = self.btf.resolve_type_by_id(id).ok()?;
        for _ in 0..NAMES_MAX {
            let next = match &found {
                Type::Typedef(of) => self.btf.resolve_chained_type(of),
                Type::Const(of) | Type::Volatile(of) | Type::Restrict(of) => {
                    self.btf.resolve_chained_type(of)
                }
                Type::TypeTag(of) => self.btf.resolve_chained_type(of),
                _ => return Some(found),
            };
            found = next.ok()?;
        }
        None
    }

    fn value(&self, id: u32) -> Value {
        match self.plain(id) {
            Some(Type::Int(of)) if of.is_bool() => Value::Number("bool"),
            Some(Type::Int(of)) => number(of.size(), of.is_signed()),
            Some(Type::Enum(of)) => number(of.size(), of.is_signed()),
            Some(Type::Enum64(of)) => number(of.size(), of.is_signed()),
            Some(Type::Ptr(of)) => Value::Pointer(of.get_type_id().unwrap_or(0)),
            Some(Type::Struct(_) | Type::Union(_)) => Value::Structure(id),
            Some(Type::Array(of)) => match of.get_type_id().and_then(|id| self.plain(id)) {
                Some(Type::Int(element)) if element.size() == 1 => Value::Text,
                _ => Value::Other,
            },
            _ => Value::Other,
        }
    }
}

/// The types that the kernel tells under a name.
fn read(name: &str, parse: &dyn Fn(&[u8]) -> btf_rs::Result<Btf>) -> Result<Btf, String> {
    let path = format!("{FOLDER}/{name}");
    let bytes = std::fs::read(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound if name != VMLINUX => {
            format!("{path}: no module of this name is loaded, or it has no types")
        }
        _ => format!("{path}: {error}"),
    })?;
    parse(&bytes).map_err(|error| format!("{path}: {error}"))
}

fn number(bytes: usize, is_signed: bool) -> Value {
    match (bytes, is_signed) {
        (1, false) => Value::Number("u8"),
        (1, true) => Value::Number("i8"),
        (2, false) => Value::Number("u16"),
        (2, true) => Value::Number("i16"),
        (4, false) => Value::Number("u32"),
        (4, true) => Value::Number("i32"),
        (8, false) => Value::Number("u64"),
        (8, true) => Value::Number("i64"),
        _ => Value::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel of this machine has types of its own, or this cannot be tested here.
    fn types() -> Option<Types> {
        Types::read(None).ok()
    }

    #[test]
    fn functions_and_tracepoints_have_their_parameters() {
        let Some(types) = types() else { return };
        let names = |found: Option<Vec<Parameter>>| {
            found.unwrap_or_default().into_iter().map(|p| p.name).collect::<Vec<_>>()
        };
        assert_eq!(names(types.function("vfs_read")), ["file", "buf", "count", "pos"]);
        let sched = types.tracepoint("sched_process_fork").unwrap();
        assert_eq!(sched.len(), 2);
        let Value::Pointer(task) = sched[1].value else { panic!("{sched:?}") };
        let (at, value) = types.member(task, "pid").unwrap();
        assert!(at > 0 && value == Value::Number("i32"), "{at} {value:?}");
        assert_eq!(types.member(task, "comm").unwrap().1, Value::Text);
        assert_eq!(types.member(task, "no_such_member"), None);
        assert_eq!(types.tracepoint("no_such_tracepoint"), None);
    }

    #[test]
    fn module_that_is_not_loaded_and_name_that_is_none_are_told() {
        if types().is_none() {
            return;
        }
        let told = |module| Types::read(Some(module)).err().unwrap_or_default();
        assert!(told("no_such-module").contains("no_such_module: no module of this name"));
        assert!(told("../vmlinux").contains("no name of a module"));
    }
}
