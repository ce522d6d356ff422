// SPDX-License-Identifier: MIT
//! A second meaning of the language: a tree and values, without programs. Programs and rules are
//! held to it.

use super::*;
use crate::lexer::{Text, Word};
use crate::parser::{Node, Operator, Relation, Tree};
use session::description::FieldKind;

struct Oracle<'a> {
    event: &'a Description,
    fields: &'a [Meant],
    contexts: &'a [Meant],
}

impl Oracle<'_> {
    fn value(&self, tree: &Tree) -> Option<Meant> {
        match &tree.node {
            Node::Word(Word::Number(value)) => Some(Meant::Number(*value)),
            Node::Word(Word::Name(name)) => {
                let index = self.event.fields.iter().position(|field| field.name == *name)?;
                Some(self.fields[index].clone())
            }
            Node::Word(Word::Context(name)) => {
                let index = Context::all().position(|context| context.name == name)?;
                Some(self.contexts[index].clone())
            }
            Node::Join(operator, a, b) => match (self.value(a)?, self.value(b)?) {
                (Meant::Number(a), Meant::Number(b)) => {
                    computed(*operator, a, b).map(Meant::Number)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// None: one of the sides has no number.
    fn compare(&self, relation: Relation, a: &Tree, b: &Tree) -> Option<bool> {
        if let Node::Word(Word::Text(text)) = &b.node {
            let Some(Meant::Text(value)) = self.value(a) else { panic!("no text") };
            let Text { literal, is_prefix, glob, .. } = text;
            let is_same = match relation {
                Relation::Like => is_like(glob.as_bytes(), value.as_bytes()),
                _ if *is_prefix => value.starts_with(literal),
                _ => value == *literal,
            };
            return Some(is_same != (relation == Relation::Unequal));
        }
        let (Meant::Number(a), Meant::Number(b)) = (self.value(a)?, self.value(b)?) else {
            panic!("no numbers")
        };
        Some(match relation {
            Relation::Equal => a == b,
            Relation::Like => panic!("no text"),
            Relation::Unequal => a != b,
            Relation::Less => a < b,
            Relation::LessOrEqual => a <= b,
            Relation::Greater => a > b,
            Relation::GreaterOrEqual => a >= b,
        })
    }

    /// Whether the condition holds, or its opposite: where a number is missing, neither.
    fn holds(&self, tree: &Tree, opposite: bool) -> bool {
        let is = |known: Option<bool>| known.is_some_and(|known| known != opposite);
        match &tree.node {
            Node::Or(a, b) if opposite => self.holds(a, true) && self.holds(b, true),
            Node::Or(a, b) => self.holds(a, false) || self.holds(b, false),
            Node::And(a, b) if opposite => self.holds(a, true) || self.holds(b, true),
            Node::And(a, b) => self.holds(a, false) && self.holds(b, false),
            Node::Not(inner) => self.holds(inner, !opposite),
            Node::Compare(relation, a, b) => is(self.compare(*relation, a, b)),
            _ => is(self.value(tree).map(|value| value != Meant::Number(0))),
        }
    }
}

/// The number that mathematics has, where that has 64 bits and a sign.
fn computed(operator: Operator, a: i128, b: i128) -> Option<i128> {
    let power = |b: i128| Some(1i128 << u32::try_from(b.min(65)).ok()?);
    let found = match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a.checked_mul(b)?,
        Operator::Divide => a.checked_div(b)?,
        Operator::Remainder => a - a.checked_div(b)? * b,
        Operator::And => a & b,
        Operator::Or => (a ^ b) + (a & b),
        Operator::Xor => (a | b) - (a & b),
        Operator::ShiftLeft => a.checked_mul(power(b)?)?,
        Operator::ShiftRight => a.div_euclid(power(b)?),
    };
    (-(1 << 64)..1 << 64).contains(&found).then_some(found)
}

/// Every way to share out the text among the stars is tried.
fn is_like(glob: &[u8], text: &[u8]) -> bool {
    match (glob, text) {
        ([], _) => text.is_empty(),
        ([b'*', rest @ ..], _) => (0..=text.len()).any(|taken| is_like(rest, &text[taken..])),
        ([b'\\', plain, rest @ ..], [first, others @ ..]) => {
            plain == first && is_like(rest, others)
        }
        ([b'?', rest @ ..], [_, others @ ..]) => is_like(rest, others),
        ([plain, rest @ ..], [first, others @ ..]) => plain == first && is_like(rest, others),
        (_, []) => false,
    }
}

const INTERESTING: [i128; 12] = [
    0,
    1,
    2,
    42,
    255,
    -1,
    -42,
    i64::MAX as i128,
    i64::MIN as i128,
    1 << 63,
    u64::MAX as i128,
    0xffff_ffff,
];

/// A number near one that matters, which the type can have.
fn near(random: &mut fastrand::Rng, least: i128, most: i128) -> i128 {
    let near = INTERESTING[random.usize(..INTERESTING.len())] + random.i128(-1..=1);
    near.clamp(least, most)
}

fn random_values(random: &mut fastrand::Rng, kinds: &[&FieldKind]) -> Vec<Meant> {
    let word = ["", "g", "git", "git-status", "make"];
    let value = |kind: &&FieldKind| match kind {
        FieldKind::Text | FieldKind::Name => Meant::Text(word[random.usize(..word.len())].into()),
        FieldKind::Unsigned { bits, .. } => Meant::Number(near(random, 0, (1i128 << bits) - 1)),
        FieldKind::Signed { bits } => {
            let half = 1i128 << (bits - 1);
            Meant::Number(near(random, -half, half - 1))
        }
        FieldKind::Bool => Meant::Number(random.i128(0..2)),
        FieldKind::Pointer => Meant::Number(near(random, 0, u64::MAX.into())),
        FieldKind::Flags { .. } => Meant::Number(random.i128(0..9)),
        _ => Meant::Number(random.i128(-2..3)),
    };
    kinds.iter().map(value).collect()
}

/// Something that is computed of inputs and of numbers near those that matter.
fn random_number(random: &mut fastrand::Rng, depth: u32) -> String {
    let inputs = ["pid", "count", "ret", "small", "flags", "is", "at", "$prio", "$uid"];
    if depth == 0 || random.u8(..4) == 0 {
        return match random.u8(..4) {
            0 => near(random, i64::MIN.into(), u64::MAX.into()).to_string(),
            1 => random.u8(..70).to_string(),
            _ => inputs[random.usize(..inputs.len())].into(),
        };
    }
    let (a, b) = (random_number(random, depth - 1), random_number(random, depth - 1));
    let operator = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"][random.usize(..10)];
    match random.u8(..8) {
        0 => format!("-({a})"),
        1 => format!("~{a}"),
        2..5 => format!("({a} {operator} {b})"),
        _ => format!("{a} {operator} {b}"),
    }
}

fn random_filter(random: &mut fastrand::Rng, depth: u32) -> String {
    let numbers = ["pid", "count", "ret", "small", "family", "flags", "is", "at", "$prio", "$uid"];
    let input = |random: &mut fastrand::Rng| numbers[random.usize(..numbers.len())];
    let relation = ["==", "!=", "<", "<=", ">", ">="][random.usize(..6)];
    if depth > 0 && random.u8(..4) > 0 {
        let (a, b) = (random_filter(random, depth - 1), random_filter(random, depth - 1));
        return match random.u8(..5) {
            0 => format!("!({a})"),
            1 | 2 => format!("({a}) && ({b})"),
            _ => format!("({a}) || ({b})"),
        };
    }
    let number = near(random, i64::MIN.into(), u64::MAX.into());
    match random.u8(..8) {
        6 => format!("{} {relation} {}", random_number(random, 2), random_number(random, 3)),
        7 => format!("({})", random_number(random, 3)),
        0 => {
            let star = ["", "*"][random.usize(..2)];
            let text = ["", "g", "git", "make", "git-statuses"][random.usize(..5)];
            let field = ["name", "comm", "$comm"][random.usize(..3)];
            if random.bool() {
                let parts = ["g", "*", "?", "it", "\\*", "a", "t"];
                let parts = std::iter::repeat_with(|| parts[random.usize(..7)]);
                let glob: String = parts.take(text.len().min(5)).collect();
                return format!("{field} =~ \"{glob}{star}\"");
            }
            format!("{field} {} \"{text}{star}\"", ["==", "!="][random.usize(..2)])
        }
        1 => format!("{} {relation} {}", input(random), input(random)),
        2 => format!("{number} {relation} {}", input(random)),
        3 => format!("{} & {} {relation} {number}", input(random), number.unsigned_abs()),
        4 => format!("{} & {} {relation} {}", input(random), number.unsigned_abs(), input(random)),
        _ => format!("{} {relation} {number}", input(random)),
    }
}

/// Numbers that cannot be are told before there is an event, and only then is there no program.
fn is_refusal(error: &Error) -> bool {
    let whys = ["divides by 0", "by a negative", "no number of 64", "a number alone", "128 tests"];
    whys.iter().any(|why| error.why.contains(why)) && !error.place.is_empty()
}

#[test]
fn programs_mean_what_their_text_means() {
    let mut random = fastrand::Rng::with_seed(7);
    let event = event(EVENT);
    let kinds: Vec<&FieldKind> = event.fields.iter().map(|field| &field.kind).collect();
    let context_kinds: Vec<&FieldKind> = Context::all().map(|context| &context.kind).collect();
    let (mut met, mut programs, mut refused) = (0, 0, 0);
    for round in 0..6_000 {
        let text = random_filter(&mut random, 4);
        let filter = Filter::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let tree: Tree = parser::parse(&text).unwrap();
        let compiled = match filter.compile(&[&event]) {
            Ok(mut compiled) => compiled.remove(0),
            Err(error) if is_refusal(&error) => {
                refused += 1;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        programs += u32::from(matches!(compiled, Compiled::Program(_)));
        for _ in 0..4 {
            let fields = random_values(&mut random, &kinds);
            let contexts = random_values(&mut random, &context_kinds);
            let oracle = Oracle { event: &event, fields: &fields, contexts: &contexts };
            let expected = oracle.holds(&tree, false);
            let found = decide(&compiled, EVENT, &fields, &contexts);
            assert_eq!(found, expected, "round {round}: {text}: {fields:?} {contexts:?}");
            let read = decide_read(&text, &fields, &contexts);
            assert_eq!(read, expected, "round {round}: {text}: {fields:?} {contexts:?}, read");
            met += u32::from(expected);
        }
    }
    assert!(programs > 3_000 && refused < 1_500, "{programs} {refused}");
    assert!((5_000..16_000).contains(&met), "{met}");
}
