// SPDX-License-Identifier: MIT
//! Field locations of CTF 2: from an origin and a path to the fields that may be meant.
//!
//! Place in the flow: `tsdl::reference` binds lengths and tags and asks here where a path of CTF 2
//! leads. A path goes through what encloses the field that has the location (the element, the
//! selected option) and through all options of other variants, of which one will be decoded.

use std::sync::Arc;

use crate::tsdl::reference::{node, struct_at, NodePath, Roots, Site};
use crate::types::{Scope, Struct, Type};

/// Fields that one location may mean.
const MAX_TARGETS: usize = 256;

/// The integers that a location may mean; `None` if it leads nowhere, or to what is decoded later.
pub(crate) fn locate(
    roots: &Roots<'_>,
    scope: Scope,
    site: &Site,
    origin: Option<Scope>,
    steps: &[Option<Arc<str>>],
) -> Option<Vec<(Scope, NodePath)>> {
    let target_scope = origin.unwrap_or(scope);
    if target_scope > scope {
        return None;
    }
    let begin = match origin {
        Some(_) => NodePath::new(),
        None => site.frames.last()?.0.clone(),
    };
    let walk = Walk {
        root: roots.structs[target_scope as usize].as_deref()?,
        site: (target_scope == scope).then_some(&site.node),
        roots,
    };
    let mut paths = vec![begin];
    for step in steps {
        paths = match step {
            Some(name) => walk.members(paths, name)?,
            None => walk.parents(paths)?,
        };
    }
    let leaves = walk.inside(paths)?;
    let is_before = |path: &NodePath| walk.site.is_none_or(|site| path < site);
    leaves.iter().all(is_before).then(|| leaves.into_iter().map(|p| (target_scope, p)).collect())
}

struct Walk<'a> {
    root: &'a Struct,
    /// The node that has the location, if it is below the same root.
    site: Option<&'a NodePath>,
    roots: &'a Roots<'a>,
}

impl Walk<'_> {
    /// The field of this name in every struct.
    fn members(&self, paths: Vec<NodePath>, name: &str) -> Option<Vec<NodePath>> {
        let mut found = Vec::new();
        for mut path in self.inside(paths)? {
            let s = struct_at(self.root, &path)?;
            let left = &self.roots.comparisons_left;
            left.set(left.get().checked_sub(s.fields.len() as u64)?);
            path.push(s.fields.iter().position(|f| &*f.original == name)? as u32);
            found.push(path);
        }
        Some(found)
    }

    /// The struct around each struct.
    fn parents(&self, paths: Vec<NodePath>) -> Option<Vec<NodePath>> {
        let parent = |mut path: NodePath| loop {
            path.pop()?;
            if struct_at(self.root, &path).is_some() {
                break Some(path);
            }
        };
        paths.into_iter().map(parent).collect()
    }

    /// What lies within arrays, variants and optional fields.
    fn inside(&self, paths: Vec<NodePath>) -> Option<Vec<NodePath>> {
        let mut found = Vec::new();
        let mut open = paths;
        while let Some(path) = open.pop() {
            let around = self.site.filter(|site| site.starts_with(&path));
            let next = around.and_then(|site| site.get(path.len()));
            let below = |index: u32| [path.as_slice(), &[index]].concat();
            match (node(self.root, &path), next) {
                (Some(Type::Array(_) | Type::Sequence(_)), Some(_)) => open.push(below(0)),
                (Some(Type::Variant(_)), Some(option)) => open.push(below(*option)),
                (Some(Type::Variant(v)), None) => {
                    open.extend((0..v.options.len() as u32).map(below));
                }
                (Some(Type::Array(_) | Type::Sequence(_)), None) => return None,
                _ => found.push(path),
            }
            if found.len() + open.len() > MAX_TARGETS {
                return None;
            }
        }
        Some(found)
    }
}
