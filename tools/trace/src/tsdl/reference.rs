// SPDX-License-Identifier: MIT
//! Lengths and tags: from a dotted path to the slot in which a decoder will find the value.
//!
//! Place in the flow: runs on one root scope after the other, in the order in which they are
//! decoded, so that a target always precedes its use. A relative path is looked up among the
//! fields already decoded, innermost struct first, then in the preceding root scopes.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::error::MetadataError;
use crate::types::{Choice, Field, Mapping, Reference, Struct, Type};

/// Lengths and tags that one metadata may have.
const MAX_SLOTS: u32 = 1 << 16;
/// Names that may be compared to find all targets of one metadata.
pub(super) const MAX_COMPARISONS: u64 = 1 << 28;

/// The root scopes in decoding order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    PacketHeader,
    PacketContext,
    EventHeader,
    StreamContext,
    EventContext,
    Payload,
}

const SCOPES: [Scope; 6] = [
    Scope::PacketHeader,
    Scope::PacketContext,
    Scope::EventHeader,
    Scope::StreamContext,
    Scope::EventContext,
    Scope::Payload,
];

impl Scope {
    fn prefix(self) -> &'static [&'static str] {
        match self {
            Scope::PacketHeader => &["trace", "packet", "header"],
            Scope::PacketContext => &["stream", "packet", "context"],
            Scope::EventHeader => &["stream", "event", "header"],
            Scope::StreamContext => &["stream", "event", "context"],
            Scope::EventContext => &["event", "context"],
            Scope::Payload => &["event", "fields"],
        }
    }
}

/// Positions of fields, options and elements from a root down to a node.
type NodePath = Vec<u32>;

/// The root structs that exist so far.
pub(super) struct Roots<'a> {
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
struct Site {
    node: NodePath,
    /// Enclosing structs, outermost first, each with the field that leads to the node.
    frames: Vec<(NodePath, u32)>,
    reference: Reference,
    is_tag: bool,
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

    fn site(&mut self, reference: &Reference, is_tag: bool) {
        self.sites.push(Site {
            node: self.node.clone(),
            frames: self.frames.clone(),
            reference: reference.clone(),
            is_tag,
        });
    }

    fn ty(&mut self, ty: &Type) -> Result<(), MetadataError> {
        match ty {
            Type::Struct(s) => self.structure(s),
            Type::Array(a) => self.child(0, &a.element),
            Type::Sequence(s) => {
                self.site(&s.length, false);
                self.child(0, &s.element)
            }
            Type::Variant(v) => {
                let Some(tag) = &v.tag else {
                    let line = v.options.first().map_or(0, |_| 0);
                    return Err(MetadataError::new(line, "a variant has no tag"));
                };
                self.site(tag, true);
                for (index, option) in v.options.iter().enumerate() {
                    self.child(index as u32, &option.ty)?;
                }
                Ok(())
            }
            Type::Integer(_) | Type::Float(_) | Type::Enumeration(_) | Type::Text => Ok(()),
        }
    }
}

fn bind(
    roots: &mut Roots<'_>,
    scope: Scope,
    site: &Site,
    slot_count: &mut u32,
) -> Result<(), MetadataError> {
    let fail = |what: &str| {
        let path = site.reference.path.join(".");
        Err(MetadataError::new(site.reference.line, format!("`{path}` {what}")))
    };
    let Some((target_scope, target_path)) = find_target(roots, scope, site) else {
        return fail("names no field that is decoded before it is needed");
    };
    let target = roots.structs[target_scope as usize]
        .as_deref_mut()
        .and_then(|root| node_mut(root, &target_path));
    let Some(target) = target else { return fail("names no field") };
    let mappings = match target {
        Type::Enumeration(enumeration) => Some(Arc::clone(&enumeration.mappings)),
        _ => None,
    };
    let Some(integer) = target.as_integer_mut() else { return fail("is not an integer") };
    let slot = match integer.slot {
        Some(slot) => slot,
        None if *slot_count >= MAX_SLOTS => return fail("is one length or tag too many"),
        None => {
            *slot_count += 1;
            *slot_count - 1
        }
    };
    integer.slot = Some(slot);
    integer.shared |= target_scope != scope;
    let signed = integer.signed;
    if site.is_tag && mappings.is_none() {
        return fail("is not an enum and cannot be a tag");
    }
    if !site.is_tag && signed {
        return fail("is signed and cannot be a length");
    }
    let user =
        roots.structs[scope as usize].as_deref_mut().and_then(|root| node_mut(root, &site.node));
    match user {
        Some(Type::Sequence(sequence)) => sequence.length.slot = slot,
        Some(Type::Variant(variant)) => {
            variant.choices = choices(&variant.options, mappings.as_deref().unwrap_or(&[]));
            variant.tag_signed = signed;
            if let Some(tag) = &mut variant.tag {
                tag.slot = slot;
            }
        }
        _ => return fail("has no user"),
    }
    Ok(())
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

fn find_target(roots: &Roots<'_>, scope: Scope, site: &Site) -> Option<(Scope, NodePath)> {
    let left = roots.comparisons_left;
    let words: Vec<&str> = site.reference.path.iter().map(|word| &**word).collect();
    for other in SCOPES.into_iter().filter(|other| *other <= scope) {
        let Some(rest) = words.strip_prefix(other.prefix()) else { continue };
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

fn struct_at<'a>(root: &'a Struct, path: &[u32]) -> Option<&'a Struct> {
    let Some((first, rest)) = path.split_first() else { return Some(root) };
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
    match ty {
        Type::Struct(s) => Some(s),
        _ => None,
    }
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
