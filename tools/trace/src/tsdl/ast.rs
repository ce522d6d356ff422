// SPDX-License-Identifier: MIT
//! What the parser makes of TSDL text, before names mean anything.
//!
//! Place in the flow: `parser` builds this tree, `resolve` turns it into `types` and `metadata`.

/// A dotted path such as `stream.event.header.id`.
pub(crate) type Path = Vec<String>;

/// The right-hand side of `key = value;`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Number(i128),
    Text(String),
    Path(Path),
    /// Something else, kept so that an unknown attribute need not be understood.
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attribute {
    pub line: u32,
    pub key: Path,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Dimension {
    Count(u64),
    Path(Path),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declarator {
    pub line: u32,
    pub pointers: u32,
    pub name: Option<String>,
    pub dimensions: Vec<Dimension>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Enumerator {
    pub label: String,
    /// First and last value; `None` continues after the previous enumerator.
    pub range: Option<(i128, i128)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TypeExpression {
    pub line: u32,
    pub kind: TypeKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TypeKind {
    /// An alias, several words joined by single blanks.
    Named(String),
    Integer(Vec<Attribute>),
    Float(Vec<Attribute>),
    Text(Vec<Attribute>),
    Enumeration {
        name: Option<String>,
        container: Option<Box<TypeExpression>>,
        body: Option<Vec<Enumerator>>,
    },
    Struct {
        name: Option<String>,
        body: Option<Vec<Item>>,
        align: Option<u64>,
    },
    Variant {
        name: Option<String>,
        tag: Option<Path>,
        body: Option<Vec<Item>>,
    },
}

/// Anything that stands at the top level or between braces.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    Attribute(Attribute),
    /// `event.header := struct { ... };`
    Assignment {
        line: u32,
        key: Path,
        ty: TypeExpression,
    },
    /// Fields of a struct, options of a variant, or (without a name) a type declaration.
    Declaration {
        ty: TypeExpression,
        declarators: Vec<Declarator>,
    },
    Typedef {
        ty: TypeExpression,
        declarators: Vec<Declarator>,
    },
    Typealias {
        ty: TypeExpression,
        target: Declarator,
        alias: TypeExpression,
        stars: u32,
    },
    Block {
        line: u32,
        kind: BlockKind,
        items: Vec<Item>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Trace,
    Environment,
    Clock,
    Stream,
    Event,
    /// `callsite` and blocks that no version of TSDL names.
    Other,
}
