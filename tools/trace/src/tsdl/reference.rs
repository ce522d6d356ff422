// SPDX-License-Identifier: MIT
//! Lengths and tags: from a dotted path to the slot in which a decoder will find the value.
//!
//! Place in the flow: runs on one root scope after the other, in the order in which they are
//! decoded, so that a target always precedes its use. A relative path is looked up among the
//! fields already decoded, innermost struct first, then in the preceding root scopes.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::ctf2::locate;
use crate::error::MetadataError;
use crate::types::{Choice, Field, Mapping, Path, Range, Reference, Scope, Struct, Target, Type};

/// Lengths and tags that one metadata may have.
const MAX_SLOTS: u32 = 1 << 16;
/// Names that may be compared to find all targets of one metadata.
pub(super) const MAX_COMPARISONS: u64 = 1 << 28;

const SCOPES: [Scope; 6] = [
    Scope::PacketHeader,
    Scope::PacketContext,
    Scope::EventHeader,
    Scope::StreamContext,
    Scope::EventContext,
    Scope::Payload,
];

/// What TSDL calls a root scope.
fn prefix(scope: Scope) -> &'static [&'static str] {
    match scope {
        Scope::PacketHeader => &["trace", "packet", "header"],
        Scope::PacketContext => &["stream", "packet", "context"],
        Scope::EventHeader => &["stream", "event", "header"],
        Scope::StreamContext => &["stream", "event", "context"],
        Scope::EventContext => &["event", "context"],
        Scope::Payload => &["event", "fields"],
    }
}

/// Positions of fields, options and elements from a root down to a node.
pub(crate) type NodePath = Vec<u32>;

/// The root structs that exist so far.
pub(crate) struct Roots<'a> {
    pub structs: [Option<&'a mut Struct>; 6],
    /// Look-ups are linear; this bounds them.
    pub comparisons_left: &'a Cell<u64>,
}

impl<'a> Roots<'a> {
    pub fn new(comparisons_left: &'a Cell<u64>) -> Self {
        Self { structs: Default::default(), comparisons_left }
    }
}

/// A sequence or variant that needs a target.
pub(crate) struct Site {
    pub node: NodePath,
    /// Enclosing structs, outermost first, each with the field that leads to the node.
    pub frames: Vec<(NodePath, u32)>,
    reference: Reference,
    tag: Option<Tag>,
}

/// How values of a tag choose.
struct Tag {
    ranges: Option<Arc<[Range]>>,
}

/// Resolves every length and tag of the struct in `scope`.
pub(super) fn resolve(
    roots: &mut Roots<'_>,
    scope: Scope,
    slot_count: &mut u32,
) -> Result<(), MetadataError> {
    let mut sites = Vec::new();
    if let Some(root) = roots.structs[scope as usize].as_deref() {
        let mut walk = SiteWalk { node: Vec::new(), frames: Vec::new(), sites: &mut sites };
        walk.structure(root)?;
    }
    for site in &sites {
        bind(roots, scope, site, slot_count)?;
    }
    Ok(())
}

struct SiteWalk<'a> {
    node: NodePath,
    frames: Vec<(NodePath, u32)>,
    sites: &'a mut Vec<Site>,
}

impl SiteWalk<'_> {
    fn structure(&mut self, s: &Struct) -> Result<(), MetadataError> {
        let path = self.node.clone();
        for (index, field) in s.fields.iter().enumerate() {
            self.frames.push((path.clone(), index as u32));
            self.child(index as u32, &field.ty)?;
            self.frames.pop();
        }
        Ok(())
    }

    fn child(&mut self, index: u32, ty: &Type) -> Result<(), MetadataError> {
        self.node.push(index);
        let result = self.ty(ty);
        self.node.pop();
        result
    }

    fn site(&mut self, reference: &Reference, tag: Option<Tag>) {
        self.sites.push(Site {
            node: self.node.clone(),
            frames: self.frames.clone(),
            reference: reference.clone(),
            tag,
        });
    }

    fn ty(&mut self, ty: &Type) -> Result<(), MetadataError> {
        match ty {
            Type::Struct(s) => self.structure(s),
            Type::Array(a) => self.child(0, &a.element),
            Type::Sequence(s) => {
                self.site(&s.length, None);
                self.child(0, &s.element)
            }
            Type::Variant(v) => {
                let Some(tag) = &v.tag else {
                    let line = v.options.first().map_or(0, |_| 0);
                    return Err(MetadataError::new(line, "a variant has no tag"));
                };
                self.site(tag, Some(Tag { ranges: v.ranges.clone() }));
                for (index, option) in v.options.iter().enumerate() {
                    self.child(index as u32, &option.ty)?;
                }
                Ok(())
            }
            Type::Integer(_) | Type::Float(_) | Type::Enumeration(_) | Type::Text(_) => Ok(()),
        }
    }
}

fn bind(
    roots: &mut Roots<'_>,
    scope: Scope,
    site: &Site,
    slot_count: &mut u32,
) -> Result<(), MetadataError> {
    let error = |what: &str| {
        let Reference { path, line, .. } = &site.reference;
        MetadataError::new(*line, format!("`{path}` {what}"))
    };
    let targets = match &site.reference.path {
        Path::Dotted(words) => find_target(roots, scope, site, words).map(|target| vec![target]),
        Path::Located { origin, steps } => locate(roots, scope, site, *origin, steps),
    };
    let targets = targets.filter(|targets| !targets.is_empty());
    let targets =
        targets.ok_or_else(|| error("names no field that is decoded before it is needed"))?;
    let target = common_target(roots, &targets).map_err(error)?;
    let slot = match target.slot {
        Some(slot) => slot,
        None if *slot_count >= MAX_SLOTS => return Err(error("is one length or tag too many")),
        None => {
            *slot_count += 1;
            *slot_count - 1
        }
    };
    for (target_scope, path) in &targets {
        let found = roots.structs[*target_scope as usize].as_deref_mut();
        let found = found.and_then(|root| node_mut(root, path)).and_then(Type::as_integer_mut);
        if let Some(integer) = found {
            integer.slot = Some(slot);
            integer.shared |= *target_scope != scope;
        }
    }
    let only = match &targets[..] {
        [(scope, path)] => Some(Target { scope: *scope, path: path.as_slice().into() }),
        _ => None,
    };
    let choices_of = |options: &[Field], tag: &Tag| match (&tag.ranges, &target.mappings) {
        (Some(ranges), _) => range_choices(ranges, target.signed).map_err(error),
        (None, Some(mappings)) => Ok(choices(options, mappings)),
        (None, None) => Err(error("is not an enum and cannot be a tag")),
    };
    let user =
        roots.structs[scope as usize].as_deref_mut().and_then(|root| node_mut(root, &site.node));
    match (user, &site.tag) {
        (Some(Type::Sequence(_)), None) if target.signed => {
            Err(error("is signed and cannot be a length"))
        }
        (Some(Type::Sequence(sequence)), None) => {
            sequence.length.slot = slot;
            sequence.length.target = only;
            Ok(())
        }
        (Some(Type::Variant(variant)), Some(tag)) => {
            variant.choices = choices_of(&variant.options, tag)?;
            variant.tag_signed = target.signed;
            if let Some(tag) = &mut variant.tag {
                tag.slot = slot;
                tag.target = only;
            }
            Ok(())
        }
        _ => Err(error("has no user")),
    }
}

/// What all targets of a length or a tag have in common: only one of them is decoded.
struct Common {
    slot: Option<u32>,
    signed: bool,
    mappings: Option<Arc<[Mapping]>>,
}

fn common_target(roots: &Roots<'_>, targets: &[(Scope, NodePath)]) -> Result<Common, &'static str> {
    let mut common: Option<Common> = None;
    for (scope, path) in targets {
        let root = roots.structs[*scope as usize].as_deref();
        let target = root.and_then(|root| node(root, path)).ok_or("names no field")?;
        let mappings = match target {
            Type::Enumeration(enumeration) => Some(Arc::clone(&enumeration.mappings)),
            _ => None,
        };
        let integer = target.as_integer().ok_or("is not an integer")?;
        let (slot, signed) = (integer.slot, integer.signed);
        match &mut common {
            None => common = Some(Common { slot, signed, mappings }),
            Some(other) if other.signed != signed => {
                return Err("is signed in one option and not in another");
            }
            Some(Common { slot: Some(other), .. }) if slot.is_some_and(|slot| slot != *other) => {
                return Err("is two fields that other lengths or tags tell apart");
            }
            Some(other) => other.slot = other.slot.or(slot),
        }
    }
    common.ok_or("names no field")
}

/// The ranges as the tag's own type has them.
fn range_choices(ranges: &[Range], signed: bool) -> Result<Arc<[Choice]>, &'static str> {
    let bound = |value: i128| match signed {
        true => i64::try_from(value).ok().map(|value| value as u64),
        false => u64::try_from(value).ok(),
    };
    let choice = |range: &Range| {
        let (begin, until) = bound(range.begin).zip(bound(range.until))?;
        Some(Choice { begin, until, option: range.option })
    };
    let choices: Option<Vec<Choice>> = ranges.iter().map(choice).collect();
    choices.map(Arc::from).ok_or("cannot have all values that choose an option")
}

/// Which tag values choose which option: earlier options first.
fn choices(options: &[Field], mappings: &[Mapping]) -> Arc<[Choice]> {
    let index_of: HashMap<&str, usize> =
        options.iter().enumerate().rev().map(|(index, o)| (&*o.original, index)).collect();
    let choice = |m: &Mapping| {
        let option = *index_of.get(&*m.label)? as u32;
        Some(Choice { begin: m.begin, until: m.until, option })
    };
    let mut choices: Vec<Choice> = mappings.iter().filter_map(choice).collect();
    choices.sort_by_key(|choice| choice.option);
    choices.into()
}

fn find_target(
    roots: &Roots<'_>,
    scope: Scope,
    site: &Site,
    words: &[Arc<str>],
) -> Option<(Scope, NodePath)> {
    let left = roots.comparisons_left;
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    for other in SCOPES.into_iter().filter(|other| *other <= scope) {
        let Some(rest) = words.strip_prefix(prefix(other)) else { continue };
        let root = roots.structs[other as usize].as_deref()?;
        let path = descend(root, Vec::new(), rest, u32::MAX, left)?;
        let decoded_before = other < scope || path < site.node;
        return decoded_before.then_some((other, path));
    }
    let root = roots.structs[scope as usize].as_deref()?;
    for (frame, until) in site.frames.iter().rev() {
        let Some(s) = struct_at(root, frame) else { continue };
        if let Some(path) = descend(s, frame.clone(), &words, *until, left) {
            return Some((scope, path));
        }
    }
    let before = SCOPES.into_iter().filter(|other| *other < scope).rev();
    before.into_iter().find_map(|other| {
        let root = roots.structs[other as usize].as_deref()?;
        Some((other, descend(root, Vec::new(), &words, u32::MAX, left)?))
    })
}

/// Follows `words` through nested structs; the first must be among the fields before `until`.
fn descend(
    s: &Struct,
    mut path: NodePath,
    words: &[&str],
    until: u32,
    comparisons_left: &Cell<u64>,
) -> Option<NodePath> {
    let (first, rest) = words.split_first()?;
    let visible = s.fields.iter().take(until as usize);
    comparisons_left.set(comparisons_left.get().checked_sub(visible.len() as u64)?);
    let index = visible.enumerate().rfind(|(_, f)| &*f.original == *first)?.0;
    path.push(index as u32);
    match (&s.fields[index].ty, rest) {
        (_, []) => Some(path),
        (Type::Struct(inner), _) => descend(inner, path, rest, u32::MAX, comparisons_left),
        _ => None,
    }
}

pub(crate) fn struct_at<'a>(root: &'a Struct, path: &[u32]) -> Option<&'a Struct> {
    match path {
        [] => Some(root),
        _ => match node(root, path)? {
            Type::Struct(s) => Some(s),
            _ => None,
        },
    }
}

/// The type at a path, which must not be empty.
pub(crate) fn node<'a>(root: &'a Struct, path: &[u32]) -> Option<&'a Type> {
    let (first, rest) = path.split_first()?;
    let mut ty = &root.fields.get(*first as usize)?.ty;
    for index in rest {
        ty = match ty {
            Type::Struct(s) => &s.fields.get(*index as usize)?.ty,
            Type::Variant(v) => &v.options.get(*index as usize)?.ty,
            Type::Array(a) => &a.element,
            Type::Sequence(s) => &s.element,
            _ => return None,
        };
    }
    Some(ty)
}

fn node_mut<'a>(root: &'a mut Struct, path: &[u32]) -> Option<&'a mut Type> {
    let (first, rest) = path.split_first()?;
    let mut ty = &mut root.fields.get_mut(*first as usize)?.ty;
    for index in rest {
        ty = match ty {
            Type::Struct(s) => &mut s.fields.get_mut(*index as usize)?.ty,
            Type::Variant(v) => &mut v.options.get_mut(*index as usize)?.ty,
            Type::Array(a) => &mut *a.element,
            Type::Sequence(s) => &mut *s.element,
            _ => return None,
        };
    }
    Some(ty)
}
