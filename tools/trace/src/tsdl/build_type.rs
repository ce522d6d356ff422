// SPDX-License-Identifier: MIT
//! From type expressions to types: aliases looked up, attributes checked, native byte order known.
//!
//! Place in the flow: `blocks` calls [`Builder::build`] for every type in the metadata; lengths and
//! tags stay open until `reference` finds their targets.

use std::sync::Arc;

use super::ast::{
    Attribute, Declarator, Dimension, Enumerator, Item, TypeExpression, TypeKind, Value,
};
use super::scope::{weigh, Scopes};
use crate::clock::Clock;
use crate::error::MetadataError;
use crate::types::{
    Array, Base, ByteOrder, Encoding, Enumeration, Extent, Field, Float, Form, Integer, Mapping,
    Meaning, Path, Reference, Sequence, Struct, Type, Variant,
};

pub(crate) type Result<T> = std::result::Result<T, MetadataError>;

pub(crate) struct Builder {
    pub native: ByteOrder,
    pub clocks: Vec<Clock>,
    pub warnings: Vec<MetadataError>,
    pub scopes: Scopes,
}

fn fail<T>(line: u32, what: impl Into<String>) -> Result<T> {
    Err(MetadataError::new(line, what))
}

/// Warnings kept; metadata of a megabyte of nonsense need not become a gigabyte of complaints.
const MAX_WARNINGS: usize = 1000;

impl Builder {
    pub fn warn(&mut self, line: u32, what: impl Into<String>) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(MetadataError::new(line, what));
        }
    }

    pub fn build(&mut self, expression: &TypeExpression) -> Result<Type> {
        let line = expression.line;
        match &expression.kind {
            TypeKind::Named(name) => self.find(line, name),
            TypeKind::Integer(attributes) => Ok(Type::Integer(self.integer(line, attributes)?)),
            TypeKind::Float(attributes) => self.float(line, attributes),
            TypeKind::Text(_) => Ok(Type::Text(Encoding::Utf8)),
            TypeKind::Struct { name, body, align } => self.structure(line, name, body, *align),
            TypeKind::Variant { name, tag, body } => self.variant(line, name, tag, body),
            TypeKind::Enumeration { name, container, body } => {
                self.enumeration(line, name, container, body)
            }
        }
    }

    fn find(&mut self, line: u32, name: &str) -> Result<Type> {
        self.scopes.find(name).or_else(|what| fail(line, what))
    }

    /// Handles typedefs, typealiases and type declarations; anything else is the caller's.
    pub fn type_item(&mut self, item: &Item) -> Result<bool> {
        match item {
            Item::Typedef { ty, declarators } => {
                for declarator in declarators {
                    let (name, ty) = self.declare(ty, declarator)?;
                    self.scopes.declare(name, ty);
                }
                Ok(true)
            }
            Item::Typealias { ty, target, alias, stars } => {
                let target = Declarator { name: Some(String::new()), ..target.clone() };
                let (_, ty) = self.declare(ty, &target)?;
                let TypeKind::Named(name) = &alias.kind else {
                    return fail(alias.line, "a typealias needs a plain name after `:=`");
                };
                self.scopes.declare(pointer_name(name, *stars), ty);
                Ok(true)
            }
            Item::Declaration { ty, declarators } if declarators.is_empty() => {
                self.build(ty)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Name and type of one declarator.
    fn declare(&mut self, expression: &TypeExpression, d: &Declarator) -> Result<(String, Type)> {
        let Some(name) = &d.name else { return fail(d.line, "a declaration has no name") };
        let mut ty = match (&expression.kind, d.pointers) {
            (_, 0) => self.build(expression)?,
            (TypeKind::Named(word), stars) => self.find(d.line, &pointer_name(word, stars))?,
            _ => return fail(d.line, "only a named type can be pointed to"),
        };
        for dimension in d.dimensions.iter().rev() {
            let element = Box::new(ty);
            let (least_align_bits, extent) = (1, Extent::default());
            ty = match dimension {
                Dimension::Count(count) => {
                    Type::Array(Array { element, count: *count, least_align_bits, extent })
                }
                Dimension::Path(path) => {
                    let length = reference(path, d.line);
                    Type::Sequence(Sequence { element, length, least_align_bits, extent })
                }
            };
        }
        if weigh(&ty, 0).is_none() {
            return fail(d.line, "types are nested too deeply");
        }
        Ok((name.clone(), ty))
    }

    /// The fields of a struct or the options of a variant.
    fn fields(&mut self, line: u32, items: &[Item]) -> Result<Vec<Field>> {
        let depth = self.scopes.depth();
        self.scopes.enter();
        let mut fields = Vec::new();
        for item in items {
            let built = self.field_item(line, item, &mut fields);
            if built.is_err() {
                self.scopes.leave_to(depth);
                return built.map(|()| fields);
            }
        }
        self.scopes.leave();
        Ok(fields)
    }

    fn field_item(&mut self, line: u32, item: &Item, fields: &mut Vec<Field>) -> Result<()> {
        if self.type_item(item)? {
            return Ok(());
        }
        match item {
            Item::Declaration { ty, declarators } => {
                for declarator in declarators {
                    let (name, ty) = self.declare(ty, declarator)?;
                    fields.push(Field::new(name.into(), ty));
                }
            }
            Item::Attribute(attribute) => self.unknown(attribute),
            _ => self.warn(line, "something other than a field between these braces is ignored"),
        }
        Ok(())
    }

    fn structure(
        &mut self,
        line: u32,
        name: &Option<String>,
        body: &Option<Vec<Item>>,
        align: Option<u64>,
    ) -> Result<Type> {
        let mut built = match (body, name) {
            (Some(items), _) => Struct { fields: self.fields(line, items)?, ..Struct::default() },
            (None, Some(name)) => match self.find(line, &format!("struct {name}"))? {
                Type::Struct(found) => found,
                _ => return fail(line, format!("`{name}` is not a struct")),
            },
            (None, None) => return fail(line, "a struct has neither name nor fields"),
        };
        if let Some(align) = align {
            let align = checked_align(line, i128::from(align))?;
            built.least_align_bits = built.least_align_bits.max(align);
        }
        self.remember(line, "struct", name, body.is_some(), Type::Struct(built))
    }

    fn variant(
        &mut self,
        line: u32,
        name: &Option<String>,
        tag: &Option<Vec<String>>,
        body: &Option<Vec<Item>>,
    ) -> Result<Type> {
        let mut built = match (body, name) {
            (Some(items), _) => Variant {
                options: self.fields(line, items)?,
                is_optional: false,
                ranges: None,
                tag: None,
                tag_signed: false,
                choices: Arc::new([]),
                extent: Extent::default(),
            },
            (None, Some(name)) => match self.find(line, &format!("variant {name}"))? {
                Type::Variant(found) => found,
                _ => return fail(line, format!("`{name}` is not a variant")),
            },
            (None, None) => return fail(line, "a variant has neither name nor options"),
        };
        if let Some(path) = tag {
            built.tag = Some(reference(path, line));
        }
        self.remember(line, "variant", name, body.is_some(), Type::Variant(built))
    }

    fn enumeration(
        &mut self,
        line: u32,
        name: &Option<String>,
        container: &Option<Box<TypeExpression>>,
        body: &Option<Vec<Enumerator>>,
    ) -> Result<Type> {
        let Some(body) = body else {
            let name = name.as_deref().unwrap_or_default();
            return self.find(line, &format!("enum {name}"));
        };
        let container = match container {
            Some(expression) => self.build(expression)?,
            None => self.find(line, "int")?,
        };
        let Type::Integer(container) = container else {
            return fail(line, "the container of an enum is not an integer");
        };
        let mappings = mappings(line, body, container.signed)?;
        let built = Type::Enumeration(Enumeration { container, mappings, is_bit_map: false });
        self.remember(line, "enum", name, true, built)
    }

    /// Declares a named struct, variant or enum where it is defined.
    fn remember(
        &mut self,
        line: u32,
        keyword: &str,
        name: &Option<String>,
        defined: bool,
        ty: Type,
    ) -> Result<Type> {
        if weigh(&ty, 0).is_none() {
            return fail(line, "types are nested too deeply");
        }
        if let (Some(name), true) = (name, defined) {
            self.scopes.declare(format!("{keyword} {name}"), ty.clone());
        }
        Ok(ty)
    }

    pub fn unknown(&mut self, attribute: &Attribute) {
        let what = format!("attribute `{}` is not known and ignored", attribute.key.join("."));
        self.warn(attribute.line, what);
    }

    fn integer(&mut self, line: u32, attributes: &[Attribute]) -> Result<Integer> {
        let mut size = None;
        let mut align = None;
        let mut integer = Integer::new(0, 1, self.native);
        for attribute in attributes {
            let (line, value) = (attribute.line, &attribute.value);
            match attribute.key.join(".").as_str() {
                "size" => size = Some(number(attribute)?),
                "align" => align = Some(checked_align(line, number(attribute)?)?),
                "signed" => integer.signed = boolean(attribute)?,
                "byte_order" => integer.order = self.byte_order(attribute)?,
                "base" => integer.base = self.base(attribute),
                "encoding" => integer.meaning = self.encoding(attribute),
                "map" => integer.clock = self.clock_map(line, value),
                _ => self.unknown(attribute),
            }
        }
        integer.size_bits = match size {
            Some(size @ 1..=64) => size as u32,
            Some(size) => return fail(line, format!("an integer of {size} bits is not possible")),
            None => return fail(line, "an integer has no size"),
        };
        integer.align_bits = align.unwrap_or(default_align(integer.size_bits));
        Ok(integer)
    }

    fn float(&mut self, line: u32, attributes: &[Attribute]) -> Result<Type> {
        let (mut exponent, mut mantissa, mut align) = (0, 0, None);
        let mut order = self.native;
        for attribute in attributes {
            match attribute.key.join(".").as_str() {
                "exp_dig" => exponent = number(attribute)?,
                "mant_dig" => mantissa = number(attribute)?,
                "align" => align = Some(checked_align(attribute.line, number(attribute)?)?),
                "byte_order" => order = self.byte_order(attribute)?,
                _ => self.unknown(attribute),
            }
        }
        let size_bits = match (exponent, mantissa) {
            (8, 24) => 32,
            (11, 53) => 64,
            _ => {
                let what = "only floats with 8+24 and 11+53 digits can be read";
                return fail(line, format!("{what}, not {exponent}+{mantissa}"));
            }
        };
        let align_bits = align.unwrap_or(default_align(size_bits));
        Ok(Type::Float(Float { size_bits, align_bits, order, form: Form::Fixed }))
    }

    /// `le`, `be`, `network` or `native`.
    fn byte_order(&mut self, attribute: &Attribute) -> Result<ByteOrder> {
        match word(&attribute.value) {
            Some("native") => Ok(self.native),
            Some(name) => byte_order(name).ok_or_else(|| {
                MetadataError::new(attribute.line, format!("`{name}` is not a byte order"))
            }),
            None => fail(attribute.line, "a byte order is `le`, `be`, `network` or `native`"),
        }
    }

    fn base(&mut self, attribute: &Attribute) -> Base {
        let name = word(&attribute.value);
        match (&attribute.value, name) {
            (Value::Number(2), _) | (_, Some("b" | "binary")) => Base::Binary,
            (Value::Number(8), _) | (_, Some("o" | "oct" | "octal")) => Base::Octal,
            (Value::Number(16), _) | (_, Some("x" | "X" | "p" | "hex" | "hexadecimal")) => {
                Base::Hexadecimal
            }
            (Value::Number(10), _) | (_, Some("d" | "i" | "u" | "dec" | "decimal")) => {
                Base::Decimal
            }
            _ => {
                self.warn(attribute.line, "the base is not known; decimal is used");
                Base::Decimal
            }
        }
    }

    fn encoding(&mut self, attribute: &Attribute) -> Meaning {
        match word(&attribute.value).map(str::to_ascii_lowercase).as_deref() {
            Some("utf8" | "utf-8" | "ascii") => Meaning::Character(Encoding::Utf8),
            Some("none") => Meaning::Number,
            _ => {
                self.warn(attribute.line, "the encoding is not known; none is used");
                Meaning::Number
            }
        }
    }

    /// `clock.NAME.value`
    fn clock_map(&mut self, line: u32, value: &Value) -> Option<u16> {
        if let Value::Path(path) = value {
            if let [first, name, rest @ ..] = path.as_slice() {
                let found = self.clocks.iter().position(|clock| clock.name == *name);
                let well_formed = first == "clock" && (rest.is_empty() || rest == ["value"]);
                if let (Some(index), true) = (found, well_formed) {
                    return u16::try_from(index).ok();
                }
            }
        }
        self.warn(line, "an integer is mapped to a clock that is not described");
        None
    }
}

fn mappings(line: u32, body: &[Enumerator], signed: bool) -> Result<Arc<[Mapping]>> {
    let mut next = 0i128;
    let mut mappings = Vec::with_capacity(body.len());
    for enumerator in body {
        let (begin, until) = enumerator.range.unwrap_or((next, next));
        let bound = |value: i128| {
            let fits = if signed {
                i64::try_from(value).ok().map(|v| v as u64)
            } else {
                u64::try_from(value).ok()
            };
            let what = || format!("enumerator `{}` does not fit", enumerator.label);
            fits.ok_or_else(|| MetadataError::new(line, what()))
        };
        let label = enumerator.label.as_str().into();
        if begin > until {
            return fail(line, format!("enumerator `{}` ends before it begins", enumerator.label));
        }
        mappings.push(Mapping { label, begin: bound(begin)?, until: bound(until)? });
        next = until + 1;
    }
    Ok(mappings.into())
}

fn reference(path: &[String], line: u32) -> Reference {
    let path = Path::Dotted(path.iter().map(|word| word.as_str().into()).collect());
    Reference { path, line, slot: 0, target: None }
}

fn pointer_name(name: &str, stars: u32) -> String {
    format!("{name}{}", " *".repeat(stars as usize))
}

fn default_align(size_bits: u32) -> u32 {
    if size_bits % 8 == 0 {
        8
    } else {
        1
    }
}

/// The value as one word, quoted or not.
pub(super) fn word(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        Value::Path(path) if path.len() == 1 => Some(&path[0]),
        _ => None,
    }
}

pub(super) fn byte_order(name: &str) -> Option<ByteOrder> {
    match name {
        "le" => Some(ByteOrder::Little),
        "be" | "network" => Some(ByteOrder::Big),
        _ => None,
    }
}

pub(super) fn number(attribute: &Attribute) -> Result<i128> {
    match attribute.value {
        Value::Number(number) => Ok(number),
        _ => fail(attribute.line, format!("`{}` is not a number", attribute.key.join("."))),
    }
}

pub(super) fn boolean(attribute: &Attribute) -> Result<bool> {
    match (&attribute.value, word(&attribute.value)) {
        (Value::Number(number), _) => Ok(*number != 0),
        (_, Some("true" | "TRUE")) => Ok(true),
        (_, Some("false" | "FALSE")) => Ok(false),
        _ => fail(attribute.line, format!("`{}` is not a boolean", attribute.key.join("."))),
    }
}

fn checked_align(line: u32, bits: i128) -> Result<u32> {
    match u32::try_from(bits) {
        Ok(bits) if bits.is_power_of_two() => Ok(bits),
        _ => fail(line, format!("an alignment of {bits} bits is not a power of two")),
    }
}
