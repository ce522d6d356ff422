// SPDX-License-Identifier: MIT
//! Where the length or the tag of a field is, by names of the new trace.
//!
//! Place in the flow: `tsdl` and `json` spell these paths, each in its own way.

use trace::{Field, Scope, Struct, Target, Type};

/// One step from a root scope down.
enum Step<'m> {
    Field(&'m Field),
    /// Into an element or an option.
    Inside,
}

fn steps<'m>(root: &'m Struct, path: &[u32]) -> Option<Vec<Step<'m>>> {
    let (first, rest) = path.split_first()?;
    let field = root.fields.get(*first as usize)?;
    let mut steps = vec![Step::Field(field)];
    let mut ty = &field.ty;
    for index in rest {
        ty = match ty {
            Type::Struct(s) => {
                let field = s.fields.get(*index as usize)?;
                steps.push(Step::Field(field));
                &field.ty
            }
            Type::Variant(v) => {
                steps.push(Step::Inside);
                &v.options.get(*index as usize)?.ty
            }
            Type::Array(a) => {
                steps.push(Step::Inside);
                &a.element
            }
            Type::Sequence(s) => {
                steps.push(Step::Inside);
                &s.element
            }
            _ => return None,
        };
    }
    Some(steps)
}

/// The root struct of each scope that an event has.
#[derive(Clone, Copy, Default)]
pub(crate) struct Roots<'m> {
    pub stream_context: Option<&'m Struct>,
    pub event_context: Option<&'m Struct>,
    pub payload: Option<&'m Struct>,
}

impl<'m> Roots<'m> {
    /// `None` for headers and packet contexts, which are not copied.
    fn of(&self, scope: Scope) -> Option<&'m Struct> {
        match scope {
            Scope::StreamContext => self.stream_context,
            Scope::EventContext => self.event_context,
            Scope::Payload => self.payload,
            Scope::PacketHeader | Scope::PacketContext | Scope::EventHeader => None,
        }
    }

    /// The names from the target's root down, for CTF 2: elements and options go without saying.
    pub fn absolute(&self, target: &Target) -> Option<Vec<&'m Field>> {
        let steps = steps(self.of(target.scope)?, &target.path)?;
        let fields = steps.into_iter().filter_map(|step| match step {
            Step::Field(field) => Some(field),
            Step::Inside => None,
        });
        Some(fields.collect())
    }

    /// The names for CTF 1.8: from the innermost struct that is around both fields, or from the
    /// root of another scope. `None` where elements or options would have to be named.
    pub fn relative(
        &self,
        target: &Target,
        scope: Scope,
        site: &[u32],
    ) -> Option<(bool, Vec<&'m Field>)> {
        let root = self.of(target.scope)?;
        let steps = steps(root, &target.path)?;
        let is_other = target.scope != scope;
        let common = target.path.iter().zip(site).take_while(|(a, b)| a == b).count();
        let common = if is_other { 0 } else { common };
        // Within the common part, the last place from which a field of a struct is named.
        let begin = (0..=common).rev().find(|at| matches!(steps.get(*at), Some(Step::Field(_))))?;
        let fields = steps.into_iter().skip(begin).map(|step| match step {
            Step::Field(field) => Some(field),
            Step::Inside => None,
        });
        Some((is_other, fields.collect::<Option<_>>()?))
    }

    /// The type of a target.
    pub fn find(&self, target: &Target) -> Option<&'m Type> {
        self.absolute(target)?.last().map(|field| &field.ty)
    }
}
