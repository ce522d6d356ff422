// SPDX-License-Identifier: MIT
//! Conditions: what a filter comes to for one event, made of tests by and and or.
//!
//! Place in the flow: `resolve` builds them, always simplified; `program` writes them down.

/// What a number is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Right {
    Constant(u64),
    Input { input: u8, mask: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Equal(Right),
    Less(Right),
    LessSigned(Right),
    Text(String),
    Prefix(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test {
    pub left: u8,
    /// Of a number's bits.
    pub mask: u64,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    Always,
    Never,
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Test { test: Test, negated: bool },
}

impl Condition {
    pub fn constant(holds: bool) -> Self {
        if holds {
            Self::Always
        } else {
            Self::Never
        }
    }

    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never, _) | (_, Self::Never) => Self::Never,
            (Self::Always, other) | (other, Self::Always) => other,
            (a, b) => Self::And(Box::new(a), Box::new(b)),
        }
    }

    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Always, _) | (_, Self::Always) => Self::Always,
            (Self::Never, other) | (other, Self::Never) => other,
            (a, b) => Self::Or(Box::new(a), Box::new(b)),
        }
    }
}

/// A number that a comparison has on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Number {
    Constant(i128),
    /// An input that has values from `least` to `most`, after the mask.
    Input {
        input: u8,
        mask: u64,
        least: i128,
        most: i128,
    },
}

impl Number {
    pub fn is_never_negative(&self) -> bool {
        match self {
            Self::Constant(value) => *value >= 0,
            Self::Input { least, .. } => *least >= 0,
        }
    }
}

fn test(left: u8, mask: u64, kind: Kind, negated: bool) -> Condition {
    Condition::Test { test: Test { left, mask, kind }, negated }
}

/// Whether two numbers are equal, or, negated, whether they are not.
pub(crate) fn equal(a: &Number, b: &Number, negated: bool) -> Condition {
    match (a, b) {
        (Number::Constant(a), Number::Constant(b)) => Condition::constant((a == b) != negated),
        (Number::Constant(_), Number::Input { .. }) => equal(b, a, negated),
        (Number::Input { input, mask, least, most }, Number::Constant(value)) => {
            if !(*least..=*most).contains(value) {
                return Condition::constant(negated);
            }
            test(*input, *mask, Kind::Equal(Right::Constant(*value as u64)), negated)
        }
        (Number::Input { input, mask, .. }, Number::Input { input: other, mask: others, .. }) => {
            let right = Right::Input { input: *other, mask: *others };
            let same_bits = test(*input, *mask, Kind::Equal(right), negated);
            // The bits of a negative number are those of a large one.
            mixed(a, b).map_or(same_bits.clone(), |signed| match negated {
                false => less(signed, &Number::Constant(0), true).and(same_bits),
                true => less(signed, &Number::Constant(0), false).or(same_bits),
            })
        }
    }
}

/// Of two inputs, the one that may be negative, where the other may be too large to be signed.
fn mixed<'a>(a: &'a Number, b: &'a Number) -> Option<&'a Number> {
    let is_large = |number: &Number| match number {
        Number::Constant(_) => false,
        Number::Input { most, .. } => *most > i128::from(i64::MAX),
    };
    match (a.is_never_negative(), b.is_never_negative()) {
        (false, true) if is_large(b) => Some(a),
        (true, false) if is_large(a) => Some(b),
        _ => None,
    }
}

/// Whether the first is less than the second, or, negated, whether it is not.
pub(crate) fn less(a: &Number, b: &Number, negated: bool) -> Condition {
    match (a, b) {
        (Number::Constant(a), Number::Constant(b)) => Condition::constant((a < b) != negated),
        // Less than what the input is: the input is not less than one more.
        (Number::Constant(value), Number::Input { .. }) => {
            less(b, &Number::Constant(value + 1), !negated)
        }
        (Number::Input { input, mask, least, most }, Number::Constant(value)) => {
            if value <= least {
                return Condition::constant(negated);
            }
            if value > most {
                return Condition::constant(!negated);
            }
            let right = Right::Constant(*value as u64);
            let kind = if *least < 0 { Kind::LessSigned(right) } else { Kind::Less(right) };
            test(*input, *mask, kind, negated)
        }
        (Number::Input { input, mask, .. }, Number::Input { input: other, mask: others, .. }) => {
            let right = Right::Input { input: *other, mask: *others };
            let Some(signed) = mixed(a, b) else {
                let is_unsigned = a.is_never_negative() && b.is_never_negative();
                let kind = if is_unsigned { Kind::Less(right) } else { Kind::LessSigned(right) };
                return test(*input, *mask, kind, negated);
            };
            let unsigned = test(*input, *mask, Kind::Less(right), negated);
            let is_negative = |negated| less(signed, &Number::Constant(0), negated);
            // A negative number is less than all of the other's; nothing of the other's is less.
            match (std::ptr::eq(signed, a), negated) {
                (true, false) => is_negative(false).or(unsigned),
                (true, true) => is_negative(true).and(unsigned),
                (false, false) => is_negative(true).and(unsigned),
                (false, true) => is_negative(false).or(unsigned),
            }
        }
    }
}
