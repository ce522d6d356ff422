// SPDX-License-Identifier: MIT
//! Named types and the braces in which their names are known.
//!
//! Place in the flow: `build_type` declares and looks up names here. Every look-up copies a type,
//! so the copies are counted against a budget: hostile metadata can double a type with each alias.

use std::collections::HashMap;
use std::rc::Rc;

use crate::measure::MAX_DEPTH;
use crate::types::Type;

/// Type nodes that one metadata may expand to.
const MAX_NODES: u64 = 1 << 22;

pub(crate) struct Scopes {
    /// Innermost last.
    tables: Vec<HashMap<String, Rc<Type>>>,
    nodes_left: u64,
}

impl Scopes {
    pub fn new() -> Self {
        Self { tables: vec![HashMap::new()], nodes_left: MAX_NODES }
    }

    pub fn enter(&mut self) {
        self.tables.push(HashMap::new());
    }

    pub fn leave(&mut self) {
        self.tables.pop();
    }

    /// How many scopes are open; give it to [`Scopes::leave_to`] after an error.
    pub fn depth(&self) -> usize {
        self.tables.len()
    }

    pub fn leave_to(&mut self, depth: usize) {
        self.tables.truncate(depth);
    }

    /// A later declaration of the same name in the same scope replaces the earlier one.
    pub fn declare(&mut self, name: String, ty: Type) {
        if let Some(table) = self.tables.last_mut() {
            table.insert(name, Rc::new(ty));
        }
    }

    /// A copy of the type that `name` means here.
    pub fn find(&mut self, name: &str) -> Result<Type, String> {
        let found = self.tables.iter().rev().find_map(|table| table.get(name));
        let ty = found.ok_or_else(|| format!("no type is named `{name}` here"))?;
        let nodes = weigh(ty, 0).ok_or("types are nested too deeply")?;
        self.nodes_left = self
            .nodes_left
            .checked_sub(nodes)
            .ok_or("the types expand to more than the reader's limit")?;
        Ok(Type::clone(ty))
    }
}

/// Number of nodes of a type; `None` if it is nested too deeply.
pub(super) fn weigh(ty: &Type, depth: u32) -> Option<u64> {
    if depth > MAX_DEPTH {
        return None;
    }
    let sum = |fields: &[crate::types::Field]| {
        fields.iter().try_fold(1u64, |total, f| Some(total + weigh(&f.ty, depth + 1)?))
    };
    match ty {
        Type::Struct(s) => sum(&s.fields),
        Type::Variant(v) => sum(&v.options),
        Type::Array(a) => Some(1 + weigh(&a.element, depth + 1)?),
        Type::Sequence(s) => Some(1 + weigh(&s.element, depth + 1)?),
        Type::Integer(_) | Type::Float(_) | Type::Enumeration(_) | Type::Text(_) => Some(1),
    }
}
