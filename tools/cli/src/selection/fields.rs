// SPDX-License-Identifier: MIT
//! Filters on the fields of a trace's events.
//!
//! Place in the flow: each class of events is described to the filter as the recorder describes an
//! event, its fields first and its contexts behind them; the filter's rule then asks for values by
//! their positions.

use filter::Rule;
use session::description::{Description, Field, FieldKind};
use trace::{
    Enumeration, EventClass, Integer, Metadata, Name, StreamClass, Struct, Trace, Type, Value,
    Visitor,
};

use super::{context, level, Asked, Event, Input, Known, Who};

/// How LTTng names the events of system calls, and how the kernel does.
const CALLS: [(&str, &str); 2] =
    [("syscall_entry_", "syscalls:sys_enter_"), ("syscall_exit_", "syscalls:sys_exit_")];

/// The filter of one class of events, and where the fields are that it asks for.
pub(crate) struct ClassRule {
    rule: Rule,
    /// How many of the described fields are the payload's.
    payload_fields: usize,
    /// The names of the contexts behind them.
    contexts: Vec<String>,
}

/// What a class is to a filter.
struct Described<'t> {
    class: &'t EventClass,
    /// Its fields, and what they are.
    types: Vec<(&'t str, &'t Type)>,
    description: Description,
    contexts: Vec<String>,
}

/// The rule of each class of each trace that has one. An error where a filter does not fit its
/// classes.
pub(crate) fn rules(
    asked: &Asked,
    traces: &[Trace],
    names: &dyn Fn(usize, &EventClass) -> Vec<String>,
) -> anyhow::Result<Vec<Vec<Option<ClassRule>>>> {
    let mut rules: Vec<Vec<Option<ClassRule>>> = Vec::new();
    let mut its: Vec<Vec<(usize, Described<'_>)>> = Vec::new();
    its.resize_with(asked.patterns().len(), Vec::new);
    for (index, trace) in traces.iter().enumerate() {
        rules.push(trace.event_classes().map(|_| None).collect());
        for described in classes(trace.metadata()) {
            let names = names(index, described.class);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            if let Some(deciding) = asked.deciding(&names, described.description.level) {
                its[deciding].push((index, described));
            }
        }
    }
    for (filter, its) in asked.filters().zip(its) {
        let Some(filter) = filter else { continue };
        for (_, described) in &its {
            filter.refuse(&|field, word| described.refusal(field, word))?;
        }
        let descriptions: Vec<&Description> = its.iter().map(|(_, d)| &d.description).collect();
        let found = filter.rules(&descriptions)?;
        for (rule, (trace, described)) in found.into_iter().zip(its) {
            let payload_fields = described.description.fields.len() - described.contexts.len();
            let contexts = described.contexts;
            if let Some(place) = rules[trace].get_mut(described.class.index) {
                *place = Some(ClassRule { rule, payload_fields, contexts });
            }
        }
    }
    Ok(rules)
}

fn classes(metadata: &Metadata) -> impl Iterator<Item = Described<'_>> {
    let streams = metadata.streams.iter();
    streams.flat_map(|stream| stream.events.iter().map(|class| describe(stream, class)))
}

fn describe<'t>(stream: &'t StreamClass, class: &'t EventClass) -> Described<'t> {
    let scopes = [&class.payload, &class.context, &stream.event_context];
    let types = scopes.into_iter().flatten().flat_map(|scope| &scope.fields);
    let types = types.map(|field| (field.name(), &field.ty)).collect();
    let described = |scope: Option<&Struct>| -> Vec<Field> {
        let fields = scope.map_or(&[][..], |scope| &scope.fields).iter();
        fields.map(|f| Field { name: f.name().into(), kind: kind(&f.ty) }).collect()
    };
    let mut fields = described(class.payload.as_ref());
    let mut contexts = Vec::new();
    for field in described(class.context.as_ref())
        .into_iter()
        .chain(described(stream.event_context.as_ref()))
    {
        if !fields.iter().any(|known| known.name == field.name) {
            contexts.push(field.name.clone());
            fields.push(field);
        }
    }
    let name = state::event_name(class);
    let of_call = CALLS
        .iter()
        .find_map(|(foreign, ours)| name.strip_prefix(foreign).map(|call| format!("{ours}{call}")));
    let name = of_call.unwrap_or_else(|| name.to_string());
    let level = level(class.log_level);
    let description = Description { name, level, source: String::new(), fields };
    Described { class, types, description, contexts }
}

fn kind(ty: &Type) -> FieldKind {
    let integer = |integer: &Integer| {
        let bits = integer.size_bits.clamp(1, 64) as u8;
        match integer.signed {
            true => FieldKind::Signed { bits },
            false => FieldKind::Unsigned { bits, hex: false },
        }
    };
    match ty {
        Type::Integer(ty) => integer(ty),
        Type::Enumeration(ty) => labels(ty).unwrap_or_else(|| integer(&ty.container)),
        Type::Float(_) => FieldKind::Float { bits: 64 },
        Type::Text(_) => FieldKind::Text,
        Type::Array(array) if array.element.character().is_some() => FieldKind::Text,
        Type::Sequence(sequence) if sequence.element.character().is_some() => FieldKind::Text,
        Type::Array(_) | Type::Sequence(_) | Type::Struct(_) | Type::Variant(_) => FieldKind::Bytes,
    }
}

impl Described<'_> {
    /// Why a word cannot be compared with a field: as a label it does not stand for one number that
    /// a filter takes.
    fn refusal(&self, field: &str, word: &str) -> Option<String> {
        let (_, ty) = self.types.iter().find(|(name, _)| *name == field)?;
        let Type::Enumeration(ty) = ty else { return None };
        let mut its = ty.mappings.iter().filter(|mapping| *mapping.label == *word);
        let mapping = its.next()?;
        if mapping.begin != mapping.until || its.next().is_some() {
            return Some("this label stands for several numbers: compare with these".into());
        }
        let is_known = ty.names_bits() || !ty.container.signed || ty.container.size_bits <= 32;
        (!is_known).then(|| {
            let number = mapping.begin as i64;
            format!("a label of signed numbers of more than 32 bits is not known: write {number}")
        })
    }
}

/// The labels of bits, and those of an enumeration, which Lull's events have of 32 bits; as bits,
/// too, where numbers are larger. Labels that stand for several numbers are refused before.
fn labels(ty: &Enumeration) -> Option<FieldKind> {
    let bits = ty.container.size_bits;
    let mappings = ty.mappings.iter();
    let is_small = bits + u32::from(!ty.container.signed) <= 32;
    if ty.names_bits() || !(is_small || ty.container.signed) {
        let names = mappings.map(|label| (label.label.to_string(), label.begin)).collect();
        return Some(FieldKind::Flags { bits: bits.clamp(1, 64) as u8, names });
    }
    let label = |mapping: &trace::Mapping| {
        let value = i32::try_from(mapping.begin as i64).ok()?;
        Some((mapping.label.to_string(), value))
    };
    is_small.then(|| FieldKind::Enumeration(mappings.filter_map(label).collect()))
}

impl ClassRule {
    pub fn holds(&self, event: &Event<'_>, who: Who<'_>) -> bool {
        self.rule.holds(&|input| match input {
            Input::Field(field) => match field.checked_sub(self.payload_fields) {
                None => known(event.value(field)?),
                Some(context) => told(event, self.contexts.get(context)?, who),
            },
            Input::Context(asked) => {
                context(asked.name, event, who).or_else(|| told(event, asked.name, who))
            }
        })
    }
}

/// What an event says of its context, unless that is known better.
fn told<'v>(event: &Event<'_>, name: &str, who: Who<'_>) -> Option<Known<'v>> {
    match (name, who.user) {
        ("uid", Some(user)) => Some(Known::Number(user.into())),
        _ => of_context(event, name),
    }
}

fn known(value: Value<'_>) -> Option<Known<'_>> {
    match value {
        Value::Unsigned(number) | Value::Enumeration { value: number, .. } => {
            Some(Known::Number(number))
        }
        Value::Signed(number) => Some(Known::Number(number as u64)),
        Value::Text(text) => Some(Known::Text(text.into())),
        Value::Float(_) | Value::Compound => None,
    }
}

/// A value of the event's own context, or of the one that all events of its stream have.
fn of_context<'v>(event: &Event<'_>, name: &str) -> Option<Known<'v>> {
    let mut pick = Pick { name, depth: 0, found: None };
    // What was found before damage counts; the reader reports the damage.
    let _ = event.context(&mut pick);
    if pick.found.is_none() {
        let _ = event.stream_context(&mut pick);
    }
    pick.found
}

/// Takes the value of one field of a scope.
struct Pick<'a, 'v> {
    name: &'a str,
    depth: u32,
    found: Option<Known<'v>>,
}

impl<'v> Pick<'_, 'v> {
    fn meet(&mut self, name: Name<'_>, value: impl FnOnce() -> Known<'v>) {
        if self.depth == 0 && name == Name::Field(self.name) && self.found.is_none() {
            self.found = Some(value());
        }
    }
}

impl Visitor for Pick<'_, '_> {
    fn unsigned(&mut self, name: Name<'_>, value: u64, _: &Integer) {
        self.meet(name, || Known::Number(value));
    }
    fn signed(&mut self, name: Name<'_>, value: i64, _: &Integer) {
        self.meet(name, || Known::Number(value as u64));
    }
    fn enumeration(&mut self, name: Name<'_>, value: u64, _: &Enumeration) {
        self.meet(name, || Known::Number(value));
    }
    fn text(&mut self, name: Name<'_>, bytes: &[u8]) {
        self.meet(name, || Known::Text(bytes.to_vec().into()));
    }
    fn begin(&mut self, _: Name<'_>, _: trace::Group<'_>) {
        self.depth += 1;
    }
    fn end(&mut self, _: trace::Group<'_>) {
        self.depth = self.depth.saturating_sub(1);
    }
}
