// SPDX-License-Identifier: MIT
//! Decode plans: how to step over a value without looking at it.
//!
//! Place in the flow: `tsdl` compiles one plan for each scope and each event class; `walk` runs
//! them. Runs of fixed size become one `Advance`, alignments that are known when compiling become
//! part of it, and only what a later length, tag or the clock needs is read.

use crate::types::{ByteOrder, Choice, Encoding, Form, Integer, Struct, Type};

/// One step. Bodies of loops and options follow their step inline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Advance(u64),
    /// Up to the next multiple; the value is the alignment in bits.
    Align(u32),
    Read(ReadStep),
    /// An integer of another form than the fixed one.
    ReadUnusual(Box<Integer>),
    /// A string at a byte boundary, up to a code unit of zeros.
    Text(Encoding),
    /// As many elements of a fixed stride as a slot says; the last takes `last_bits`.
    Run {
        slot: u32,
        stride_bits: u64,
        last_bits: u64,
    },
    /// Runs the next `steps` steps once for each element.
    Repeat {
        count: Count,
        least_bits: u64,
        steps: u32,
    },
    /// Runs the steps of one option, or of none if that is allowed; `bodies` are relative to the
    /// step after this one.
    Select {
        slot: u32,
        signed: bool,
        is_optional: bool,
        choices: Box<[Choice]>,
        bodies: Box<[(u32, u32)]>,
        steps: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Count {
    Fixed(u64),
    Slot(u32),
}

/// Reads an integer, keeps it or moves the clock by it, and steps over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReadStep {
    pub slot: Option<u32>,
    pub moves_clock: bool,
    pub signed: bool,
    pub size_bits: u32,
    pub order: ByteOrder,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Plan {
    pub steps: Vec<Step>,
}

impl Plan {
    /// The plan of several scopes in a row.
    pub fn of(scopes: &[Option<&Struct>]) -> Self {
        let mut compiler = Compiler { steps: Vec::new(), closed: 0, modulus: 1, rest: 0 };
        for scope in scopes.iter().flatten() {
            compiler.structure(scope);
        }
        Self { steps: compiler.steps }
    }

    /// Alignment and size, if the plan is nothing else.
    pub fn fixed(&self) -> Option<(u32, u64)> {
        match self.steps.as_slice() {
            [] => Some((1, 0)),
            [Step::Advance(bits)] => Some((1, *bits)),
            [Step::Align(align)] => Some((*align, 0)),
            [Step::Align(align), Step::Advance(bits)] => Some((*align, *bits)),
            _ => None,
        }
    }
}

/// Compiles with what is known about the position: it is `rest` modulo `modulus` bits.
struct Compiler {
    steps: Vec<Step>,
    /// Steps before this one belong to a body that ended and must not grow.
    closed: usize,
    modulus: u64,
    rest: u64,
}

impl Compiler {
    fn forget_position(&mut self, modulus: u64) {
        self.modulus = modulus;
        self.rest = 0;
    }

    fn advance(&mut self, bits: u64) {
        if bits == 0 {
            return;
        }
        self.rest = self.rest.wrapping_add(bits) % self.modulus;
        if let Some(Step::Advance(before)) = self.steps[self.closed..].last_mut() {
            *before = before.saturating_add(bits);
        } else {
            self.steps.push(Step::Advance(bits));
        }
    }

    fn align(&mut self, align_bits: u32) {
        let align = u64::from(align_bits);
        if align <= self.modulus {
            let padding = (align - self.rest % align) % align;
            self.advance(padding);
        } else {
            self.steps.push(Step::Align(align_bits));
            self.forget_position(align);
        }
    }

    fn structure(&mut self, s: &Struct) {
        self.align(s.extent.align_bits);
        match (s.extent.fixed_bits, s.extent.reads) {
            (Some(bits), false) => self.advance(bits),
            _ => {
                for field in &s.fields {
                    self.ty(&field.ty);
                }
            }
        }
    }

    fn integer(&mut self, integer: &Integer) {
        self.align(integer.align_bits);
        let is_used = integer.slot.is_some() || integer.clock.is_some();
        if integer.form == Form::Variable || integer.form == Form::Reversed && is_used {
            self.steps.push(Step::ReadUnusual(Box::new(integer.clone())));
            self.forget_position(if integer.form == Form::Variable { 8 } else { 1 });
            return;
        }
        if !is_used {
            self.advance(u64::from(integer.size_bits));
            return;
        }
        self.steps.push(Step::Read(ReadStep {
            slot: integer.slot,
            moves_clock: integer.clock.is_some(),
            signed: integer.signed,
            size_bits: integer.size_bits,
            order: integer.order,
        }));
        self.rest = (self.rest + u64::from(integer.size_bits)) % self.modulus;
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Integer(integer) => self.integer(integer),
            Type::Enumeration(enumeration) => self.integer(&enumeration.container),
            Type::Float(float) => {
                self.align(float.align_bits);
                self.advance(u64::from(float.size_bits));
            }
            Type::Text(encoding) => {
                self.align(8);
                self.steps.push(Step::Text(*encoding));
                self.forget_position(8);
            }
            Type::Struct(s) => self.structure(s),
            Type::Array(a) => match (a.extent.fixed_bits, a.extent.reads) {
                (Some(bits), false) => {
                    self.align(a.extent.align_bits);
                    self.advance(bits);
                }
                _ => {
                    self.align(a.extent.align_bits);
                    self.repeat(Count::Fixed(a.count), &a.element);
                }
            },
            Type::Sequence(s) => {
                self.align(s.extent.align_bits);
                self.sequence(s.length.slot, &s.element);
            }
            Type::Variant(v) => self.variant(v),
        }
    }

    fn sequence(&mut self, slot: u32, element: &Type) {
        let extent = element.extent();
        let (Some(bits), false) = (extent.fixed_bits, extent.reads) else {
            self.repeat(Count::Slot(slot), element);
            return;
        };
        self.align(extent.align_bits);
        let stride_bits = crate::bits::align_up(bits, extent.align_bits);
        self.steps.push(Step::Run { slot, stride_bits, last_bits: bits });
        let modulus = 1 << bits.trailing_zeros().min(extent.align_bits.trailing_zeros());
        self.forget_position(modulus);
    }

    fn repeat(&mut self, count: Count, element: &Type) {
        let extent = element.extent();
        self.align(extent.align_bits);
        let at = self.steps.len();
        self.steps.push(Step::Repeat { count, least_bits: extent.least_bits, steps: 0 });
        self.forget_position(1);
        self.body(element);
        let body = (self.steps.len() - at - 1) as u32;
        if let Step::Repeat { steps, .. } = &mut self.steps[at] {
            *steps = body;
        }
        self.closed = self.steps.len();
        self.forget_position(1);
    }

    /// Steps that must not merge with those before them.
    fn body(&mut self, ty: &Type) {
        let (modulus, rest) = (self.modulus, self.rest);
        let mut inner = Compiler { steps: Vec::new(), closed: 0, modulus, rest };
        inner.ty(ty);
        self.steps.append(&mut inner.steps);
    }

    fn variant(&mut self, v: &crate::types::Variant) {
        let at = self.steps.len();
        self.steps.push(Step::Advance(0));
        let (modulus, rest) = (self.modulus, self.rest);
        let mut bodies = Vec::with_capacity(v.options.len());
        for option in &v.options {
            self.modulus = modulus;
            self.rest = rest;
            let begin = self.steps.len() - at - 1;
            self.body(&option.ty);
            bodies.push((begin as u32, (self.steps.len() - at - 1) as u32));
        }
        self.steps[at] = Step::Select {
            slot: v.tag.as_ref().map_or(0, |tag| tag.slot),
            signed: v.tag_signed,
            is_optional: v.is_optional,
            choices: v.choices.iter().copied().collect(),
            bodies: bodies.into(),
            steps: (self.steps.len() - at - 1) as u32,
        };
        self.closed = self.steps.len();
        self.forget_position(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Metadata;

    /// The plan of an event with these fields.
    fn plan_of(fields: &str) -> Plan {
        let text = format!(
            "trace {{ major = 1; minor = 8; byte_order = le; }};
             typealias integer {{ size = 8; align = 8; }} := u8;
             typealias integer {{ size = 1; align = 1; }} := bit;
             typealias integer {{ size = 32; align = 32; }} := u32;
             typealias integer {{ size = 64; align = 8; }} := u64;
             event {{ name = e; fields := struct {{ {fields} }}; }};"
        );
        let metadata = Metadata::parse(&text).unwrap();
        let event = &metadata.streams[0].events[0];
        Plan::of(&[event.payload.as_ref()])
    }

    #[test]
    fn fields_of_fixed_size_become_one_advance_whatever_their_alignment() {
        let plan = plan_of("u8 a; u32 b; struct { u8 c; u64 d; } e[3]; u32 f;");
        assert_eq!(plan.steps, [Step::Align(32), Step::Advance(64 + 3 * 72 + 8 + 32)]);
        assert_eq!(plan_of("u64 a; u64 b;").fixed(), Some((8, 128)));
        assert_eq!(plan_of("").fixed(), Some((1, 0)));
        assert_eq!(plan_of("bit a; bit b;").fixed(), Some((1, 2)));
        assert_eq!(plan_of("string s;").fixed(), None);
    }

    #[test]
    fn steps_after_a_loop_or_a_variant_do_not_grow_into_its_body() {
        let plan = plan_of("u8 n; struct { string s; u8 x; } list[n]; bit a; bit b;");
        let body = [Step::Align(8), Step::Text(Encoding::Utf8), Step::Advance(8)];
        assert!(matches!(plan.steps[2], Step::Repeat { steps: 3, .. }), "{plan:?}");
        assert_eq!(plan.steps[3..6], body);
        assert_eq!(plan.steps[6..], [Step::Advance(2)]);
        let plan = plan_of("enum : u8 { A, B } t; variant <t> { u8 A; u32 B; } v; u8 a;");
        let [Step::Align(8) | Step::Align(1), Step::Read(_), Step::Select { steps, .. }, ..] =
            &plan.steps[..]
        else {
            panic!("{plan:?}")
        };
        assert_eq!(plan.steps[3 + *steps as usize..], [Step::Align(8), Step::Advance(8)]);
    }

    #[test]
    fn only_what_a_length_needs_is_read() {
        let plan = plan_of("u8 a; u8 n; u8 b; u32 list[n];");
        let reads = plan.steps.iter().filter(|s| matches!(s, Step::Read(_))).count();
        assert_eq!(reads, 1);
        let run = Step::Run { slot: 0, stride_bits: 32, last_bits: 32 };
        assert_eq!(plan.steps.last(), Some(&run));
    }
}
