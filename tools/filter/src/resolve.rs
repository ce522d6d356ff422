// SPDX-License-Identifier: MIT
//! What a filter means for one event: names become its fields, contexts, labels and system calls.
//!
//! Place in the flow: a parsed tree and an event's description -> **condition** -> `program`.
//! What is known of the event decides at once: a filter for a system call that the event is not one
//! of never holds, and the event need not be enabled.

use crate::condition::{equal, less, Condition, Kind, Number, Test};
use crate::context::Context;
use crate::lexer::Word;
use crate::parser::{Node, Relation, Tree};
use crate::program::{FIELDS_MAX, TEXT_MAX};
use session::description::{Description, Field, FieldKind};
use std::collections::BTreeMap;
use std::ops::Range;

/// The name that stands for the system call that an event is the entry or the exit of.
const SYSCALL: &str = "syscall";

type Problem = (Range<usize>, String);

/// A name that an event does not have, with the reason. By its place, from begin to end.
pub(crate) type Missing = BTreeMap<(usize, usize), String>;

pub(crate) struct Resolver<'a> {
    event: &'a Description,
    pub missing: Missing,
}

/// One side of a comparison.
enum Side<'a> {
    /// The event does not have it.
    Absent,
    Number(Number),
    TextInput(u8),
    Text {
        text: &'a str,
        is_prefix: bool,
    },
    /// The event's system call; none where it is not of one.
    Syscall(Option<&'a str>),
}

/// The call that an event is the entry or the exit of.
fn syscall(event: &Description) -> Option<&str> {
    let name = event.name.strip_prefix("syscalls:sys_")?;
    name.strip_prefix("enter_").or_else(|| name.strip_prefix("exit_"))
}

fn range(kind: &FieldKind) -> Option<(i128, i128)> {
    let signed = |bits: u8| (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
    match kind {
        FieldKind::Unsigned { bits, .. } | FieldKind::Flags { bits, .. } => {
            Some((0, (1i128 << bits) - 1))
        }
        FieldKind::Signed { bits } => Some(signed(*bits)),
        FieldKind::Enumeration(_) => Some(signed(32)),
        FieldKind::Bool => Some((0, 1)),
        FieldKind::Pointer => Some((0, u64::MAX.into())),
        _ => None,
    }
}

/// What a label of a field stands for.
fn value_of(kind: &FieldKind, label: &str) -> Option<i128> {
    match kind {
        FieldKind::Enumeration(names) => {
            names.iter().find(|(name, _)| name == label).map(|(_, value)| (*value).into())
        }
        FieldKind::Flags { names, .. } => {
            names.iter().find(|(name, _)| name == label).map(|(_, value)| (*value).into())
        }
        _ => None,
    }
}

impl<'a> Resolver<'a> {
    pub fn new(event: &'a Description) -> Self {
        Self { event, missing: Missing::new() }
    }

    /// What a tree comes to; negated, when it does not hold. A comparison with what the event does
    /// not have holds neither way.
    pub fn condition(&mut self, tree: &'a Tree, negated: bool) -> Result<Condition, Problem> {
        match &tree.node {
            Node::Or(a, b) | Node::And(a, b) => {
                let is_or = matches!(tree.node, Node::Or(..)) != negated;
                let (a, b) = (self.condition(a, negated)?, self.condition(b, negated)?);
                Ok(if is_or { a.or(b) } else { a.and(b) })
            }
            Node::Not(inner) => self.condition(inner, !negated),
            Node::Compare(relation, a, b) => self.compare(*relation, a, b, negated),
            Node::Bits(..) | Node::Word(_) => match self.side(tree)? {
                Side::Absent => Ok(Condition::Never),
                Side::Number(Number::Constant(_)) => {
                    Err((tree.place.clone(), "a number alone is no condition".into()))
                }
                Side::Number(number) => Ok(equal(&number, &Number::Constant(0), !negated)),
                _ => Err((tree.place.clone(), "compare this with something by == or !=".into())),
            },
        }
    }

    fn compare(
        &mut self,
        relation: Relation,
        a: &'a Tree,
        b: &'a Tree,
        negated: bool,
    ) -> Result<Condition, Problem> {
        let place = a.place.start..b.place.end;
        let is_equality = matches!(relation, Relation::Equal | Relation::Unequal);
        let negates = negated != (relation == Relation::Unequal);
        let (left, right) = (self.side_beside(a, b)?, self.side_beside(b, a)?);
        match (left, right) {
            (Side::Absent, _) | (_, Side::Absent) => Ok(Condition::Never),
            (Side::Syscall(_), _) | (_, Side::Syscall(_)) if !is_equality => {
                Err((place, "system calls compare by == and != only".into()))
            }
            (Side::Syscall(call), Side::Text { text, is_prefix })
            | (Side::Text { text, is_prefix }, Side::Syscall(call)) => {
                let Some(call) = call else { return Ok(Condition::Never) };
                let is_same = if is_prefix { call.starts_with(text) } else { call == text };
                Ok(Condition::constant(is_same != negates))
            }
            (Side::TextInput(input), Side::Text { text, is_prefix })
            | (Side::Text { text, is_prefix }, Side::TextInput(input))
                if is_equality =>
            {
                text_test(input, text, is_prefix, negates).map_err(|why| (place, why))
            }
            (Side::TextInput(_), Side::Text { .. }) | (Side::Text { .. }, Side::TextInput(_)) => {
                Err((place, "texts compare by == and != only".into()))
            }
            (Side::Number(a), Side::Number(b)) => Ok(match relation {
                Relation::Equal | Relation::Unequal => equal(&a, &b, negates),
                Relation::Less => less(&a, &b, negated),
                Relation::GreaterOrEqual => less(&a, &b, !negated),
                Relation::Greater => less(&b, &a, negated),
                Relation::LessOrEqual => less(&b, &a, !negated),
            }),
            (Side::Number(_), _) | (_, Side::Number(_)) => {
                Err((place, "a number is compared with what is no number".into()))
            }
            _ => {
                Err((place, "a text is compared with one in quotes, and that with a field".into()))
            }
        }
    }

    /// A side of a comparison, or of `&`. A name may be what only the other side explains: a system
    /// call's, or a label of an enumeration or of bits.
    fn side_beside(&mut self, tree: &'a Tree, other: &'a Tree) -> Result<Side<'a>, Problem> {
        let (Node::Word(Word::Name(name)), Some(other)) = (&tree.node, self.explaining(other))
        else {
            return self.side(tree);
        };
        let (field, call) = (self.field(other), syscall(self.event));
        if other == SYSCALL && field.is_none() {
            if call != Some(name) {
                self.miss(tree, "no event that is asked for is of this system call");
            }
            return Ok(Side::Text { text: name, is_prefix: false });
        }
        match field.and_then(|(_, field)| value_of(&field.kind, name)) {
            Some(value) => Ok(Side::Number(Number::Constant(value))),
            None => self.side(tree),
        }
    }

    /// The name on a side that may explain one on the other: alone, or a field's of which bits are
    /// taken.
    fn explaining(&self, side: &'a Tree) -> Option<&'a str> {
        match &side.node {
            Node::Word(Word::Name(name)) => Some(name),
            Node::Bits(a, b) => [a, b].into_iter().find_map(|side| match &side.node {
                Node::Word(Word::Name(name)) => self.field(name).map(|_| name.as_str()),
                _ => None,
            }),
            _ => None,
        }
    }

    fn miss(&mut self, tree: &Tree, why: &str) {
        self.missing.insert((tree.place.start, tree.place.end), why.to_string());
    }

    fn field(&self, name: &str) -> Option<(usize, &'a Field)> {
        let mut fields = self.event.fields.iter().enumerate();
        fields.find(|(index, field)| field.name == name && *index < FIELDS_MAX)
    }

    fn side(&mut self, tree: &'a Tree) -> Result<Side<'a>, Problem> {
        match &tree.node {
            Node::Word(Word::Number(value)) => Ok(Side::Number(Number::Constant(*value))),
            Node::Word(Word::Text { text, is_prefix }) => {
                Ok(Side::Text { text, is_prefix: *is_prefix })
            }
            Node::Word(Word::Name(name)) => Ok(self.named(tree, name)),
            Node::Word(Word::Context(name)) => match Context::find(name) {
                Some(context) => Ok(of_context(context)),
                None => Err((tree.place.clone(), unknown_context())),
            },
            Node::Bits(a, b) => self.bits(tree, a, b),
            _ => Err((tree.place.clone(), "a condition is no number and no text".into())),
        }
    }

    fn named(&mut self, tree: &Tree, name: &str) -> Side<'a> {
        if let Some((index, field)) = self.field(name) {
            let input = index as u8;
            if matches!(field.kind, FieldKind::Text) {
                return Side::TextInput(input);
            }
            if let Some((least, most)) = range(&field.kind) {
                return Side::Number(Number::Input { input, mask: u64::MAX, least, most });
            }
            self.miss(tree, "this field is neither an integer nor a text, wherever it is one");
            return Side::Absent;
        }
        if name == SYSCALL {
            return Side::Syscall(syscall(self.event));
        }
        if let Some(context) = Context::find(name) {
            return of_context(context);
        }
        self.miss(
            tree,
            "no event that is asked for has a field of this name, and no context has it",
        );
        Side::Absent
    }

    fn bits(&mut self, tree: &Tree, a: &'a Tree, b: &'a Tree) -> Result<Side<'a>, Problem> {
        let place = || tree.place.clone();
        match (self.side_beside(a, b)?, self.side_beside(b, a)?) {
            (Side::Absent, _) | (_, Side::Absent) => Ok(Side::Absent),
            (Side::Number(a), Side::Number(b)) => {
                masked(a, b).map(Side::Number).map_err(|why| (place(), why))
            }
            _ => Err((place(), "& takes numbers".into())),
        }
    }
}

fn of_context<'a>(context: &Context) -> Side<'a> {
    match range(&context.kind) {
        Some((least, most)) => {
            let number = Number::Input { input: context.input(), mask: u64::MAX, least, most };
            Side::Number(number)
        }
        None => Side::TextInput(context.input()),
    }
}

fn unknown_context() -> String {
    let names: Vec<String> = Context::all().map(|context| format!("${}", context.name)).collect();
    format!("there is no such context; there are {}", names.join(", "))
}

fn masked(a: Number, b: Number) -> Result<Number, String> {
    match (a, b) {
        (Number::Constant(a), Number::Constant(b)) if a >= 0 && b >= 0 => {
            Ok(Number::Constant(a & b))
        }
        (Number::Input { input, mask, least, most }, Number::Constant(bits))
        | (Number::Constant(bits), Number::Input { input, mask, least, most })
            if bits >= 0 =>
        {
            let mask = mask & bits as u64;
            let most = if least < 0 { mask.into() } else { most.min(mask.into()) };
            Ok(Number::Input { input, mask, least: 0, most })
        }
        (Number::Input { .. }, Number::Input { .. }) => {
            Err("& takes a number of the filter's on one side".into())
        }
        _ => Err("& takes no negative number".into()),
    }
}

fn text_test(input: u8, text: &str, is_prefix: bool, negated: bool) -> Result<Condition, String> {
    if text.len() > TEXT_MAX {
        return Err(format!("a text has {TEXT_MAX} bytes at most"));
    }
    if is_prefix && text.is_empty() {
        return Ok(Condition::constant(!negated));
    }
    let kind = if is_prefix { Kind::Prefix } else { Kind::Text }(text.to_string());
    Ok(Condition::Test { test: Test { left: input, mask: u64::MAX, kind }, negated })
}
