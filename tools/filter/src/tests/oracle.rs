// SPDX-License-Identifier: MIT
//! A second meaning of the language: a tree and values, without programs. Programs and rules are
//! held to it.

use super::*;
use crate::lexer::{Text, Word};
use crate::parser::{Node, Relation, Tree};
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
            Node::Bits(a, b) => match (self.value(a)?, self.value(b)?) {
                (Meant::Number(a), Meant::Number(b)) => Some(Meant::Number(a & b)),
                _ => None,
            },
            _ => None,
        }
    }

    fn compare(&self, relation: Relation, a: &Tree, b: &Tree) -> bool {
        if let Node::Word(Word::Text(text)) = &b.node {
            let Some(Meant::Text(value)) = self.value(a) else { panic!("no text") };
            let Text { literal, is_prefix, glob, .. } = text;
            let is_same = match relation {
                Relation::Like => is_like(glob.as_bytes(), value.as_bytes()),
                _ if *is_prefix => value.starts_with(literal),
                _ => value == *literal,
            };
            return is_same != (relation == Relation::Unequal);
        }
        let (Some(Meant::Number(a)), Some(Meant::Number(b))) = (self.value(a), self.value(b))
        else {
            panic!("no numbers")
        };
        match relation {
            Relation::Equal => a == b,
            Relation::Like => panic!("no text"),
            Relation::Unequal => a != b,
            Relation::Less => a < b,
            Relation::LessOrEqual => a <= b,
            Relation::Greater => a > b,
            Relation::GreaterOrEqual => a >= b,
        }
    }

    fn holds(&self, tree: &Tree) -> bool {
        match &tree.node {
            Node::Or(a, b) => self.holds(a) || self.holds(b),
            Node::And(a, b) => self.holds(a) && self.holds(b),
            Node::Not(inner) => !self.holds(inner),
            Node::Compare(relation, a, b) => self.compare(*relation, a, b),
            _ => self.value(tree) != Some(Meant::Number(0)),
        }
    }
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
    match random.u8(..6) {
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

#[test]
fn programs_mean_what_their_text_means() {
    let mut random = fastrand::Rng::with_seed(7);
    let event = event(EVENT);
    let kinds: Vec<&FieldKind> = event.fields.iter().map(|field| &field.kind).collect();
    let context_kinds: Vec<&FieldKind> = Context::all().map(|context| &context.kind).collect();
    let (mut met, mut programs) = (0, 0);
    for round in 0..8_000 {
        let text = random_filter(&mut random, 4);
        let filter = Filter::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let tree: Tree = parser::parse(&text).unwrap();
        let compiled =
            filter.compile(&[&event]).unwrap_or_else(|error| panic!("{error}")).remove(0);
        programs += u32::from(matches!(compiled, Compiled::Program(_)));
        for _ in 0..4 {
            let fields = random_values(&mut random, &kinds);
            let contexts = random_values(&mut random, &context_kinds);
            let oracle = Oracle { event: &event, fields: &fields, contexts: &contexts };
            let expected = oracle.holds(&tree);
            let found = decide(&compiled, EVENT, &fields, &contexts);
            assert_eq!(found, expected, "round {round}: {text}: {fields:?} {contexts:?}");
            let read = decide_read(&text, &fields, &contexts);
            assert_eq!(read, expected, "round {round}: {text}: {fields:?} {contexts:?}, read");
            met += u32::from(expected);
        }
    }
    assert!(programs > 5_000 && (10_000..20_000).contains(&met), "{programs} {met}");
}
