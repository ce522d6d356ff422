// SPDX-License-Identifier: MIT
//! Extents of compound types: alignment, fixed size, fewest bits, and the cost of a visit.
//!
//! Place in the flow: runs once per scope after references are resolved; `plan` relies on it to
//! skip fixed runs in one step, and the decoder relies on its limits to stay bounded on hostile
//! metadata.

use crate::bits::align_up;
use crate::types::{Array, Extent, Sequence, Struct, Type, Variant};

/// Deepest nesting of resolved types; also bounds every recursion over them.
pub(crate) const MAX_DEPTH: u32 = 64;
/// Largest fixed size of a type, in bits.
const MAX_FIXED_BITS: u64 = 1 << 48;
/// Values without any bits that an array may hold beyond eight for each of its bits.
const MAX_FREE_VALUES: u64 = 1 << 16;

/// Fills in the extents below `ty`; fails with a reason if it breaks a limit.
pub(crate) fn measure(ty: &mut Type, depth: u32) -> Result<Extent, &'static str> {
    if depth > MAX_DEPTH {
        return Err("types are nested too deeply");
    }
    let extent = match ty {
        Type::Struct(s) => measure_struct(s, depth)?,
        Type::Array(a) => measure_array(a, depth)?,
        Type::Sequence(s) => measure_sequence(s, depth)?,
        Type::Variant(v) => measure_variant(v, depth)?,
        Type::Integer(_) | Type::Enumeration(_) | Type::Float(_) | Type::Text(_) => ty.extent(),
    };
    if extent.least_bits > MAX_FIXED_BITS {
        return Err("a type is larger than any packet");
    }
    Ok(extent)
}

pub(crate) fn measure_struct(s: &mut Struct, depth: u32) -> Result<Extent, &'static str> {
    let mut extent = Extent { align_bits: s.least_align_bits.max(1), ..Extent::default() };
    for field in &mut s.fields {
        let inner = measure(&mut field.ty, depth + 1)?;
        extent.align_bits = extent.align_bits.max(inner.align_bits);
        extent.inner_align_bits = extent.inner_align_bits.max(inner.inner_align_bits);
        extent.fixed_bits = match (extent.fixed_bits, inner.fixed_bits) {
            (Some(before), Some(size)) => {
                Some(align_up(before, inner.align_bits).saturating_add(size))
            }
            _ => None,
        };
        extent.least_bits = extent.least_bits.saturating_add(inner.least_bits);
        extent.cost = extent.cost.saturating_add(inner.cost);
        extent.reads |= inner.reads;
    }
    extent.cost = extent.cost.saturating_add(1);
    if let Some(bits) = extent.fixed_bits {
        extent.least_bits = bits;
    }
    extent.inner_align_bits = extent.inner_align_bits.max(extent.align_bits);
    s.extent = extent;
    Ok(extent)
}

fn measure_array(a: &mut Array, depth: u32) -> Result<Extent, &'static str> {
    let inner = measure(&mut a.element, depth + 1)?;
    let least_bits = inner.least_bits.saturating_mul(a.count);
    let cost = inner.cost.saturating_mul(a.count);
    if cost > MAX_FREE_VALUES.saturating_add(least_bits.saturating_mul(8)) {
        return Err("an array has too many elements that take no space");
    }
    let fixed_bits = inner.fixed_bits.map(|size| match a.count {
        0 => 0,
        count => align_up(size, inner.align_bits).saturating_mul(count - 1).saturating_add(size),
    });
    a.extent = Extent {
        align_bits: inner.align_bits.max(a.least_align_bits),
        inner_align_bits: inner.inner_align_bits.max(a.least_align_bits),
        fixed_bits,
        least_bits: fixed_bits.unwrap_or(least_bits),
        cost: cost.saturating_add(1),
        reads: inner.reads,
    };
    Ok(a.extent)
}

fn measure_sequence(s: &mut Sequence, depth: u32) -> Result<Extent, &'static str> {
    let inner = measure(&mut s.element, depth + 1)?;
    s.extent = Extent {
        align_bits: inner.align_bits.max(s.least_align_bits),
        inner_align_bits: inner.inner_align_bits.max(s.least_align_bits),
        fixed_bits: None,
        least_bits: 0,
        cost: 1,
        reads: inner.reads,
    };
    Ok(s.extent)
}

fn measure_variant(v: &mut Variant, depth: u32) -> Result<Extent, &'static str> {
    let mut extent = Extent { fixed_bits: None, ..Extent::default() };
    let mut least_bits = u64::MAX;
    for option in &mut v.options {
        let inner = measure(&mut option.ty, depth + 1)?;
        least_bits = least_bits.min(inner.least_bits);
        extent.cost = extent.cost.max(inner.cost);
        extent.inner_align_bits = extent.inner_align_bits.max(inner.inner_align_bits);
        extent.reads |= inner.reads;
    }
    extent.least_bits = if v.options.is_empty() || v.is_optional { 0 } else { least_bits };
    extent.cost = extent.cost.saturating_add(1);
    v.extent = extent;
    Ok(extent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ByteOrder, Field, Integer};

    fn integer(size_bits: u32, align_bits: u32) -> Type {
        Type::Integer(Integer::new(size_bits, align_bits, ByteOrder::Little))
    }

    fn structure(types: Vec<Type>) -> Type {
        let fields = types.into_iter().map(|ty| Field::new("x".into(), ty)).collect();
        Type::Struct(Struct { fields, ..Struct::default() })
    }

    fn array(element: Type, count: u64) -> Type {
        let (least_align_bits, extent) = (1, Extent::default());
        Type::Array(Array { element: Box::new(element), count, least_align_bits, extent })
    }

    #[test]
    fn struct_takes_the_largest_alignment_and_pads_between_fields_only() {
        let mut ty = structure(vec![integer(8, 8), integer(32, 32), integer(3, 1)]);
        let extent = measure(&mut ty, 0).unwrap();
        assert_eq!((extent.align_bits, extent.fixed_bits), (32, Some(67)));
    }

    #[test]
    fn array_pads_between_elements_but_not_after_the_last() {
        let mut ty = array(structure(vec![integer(32, 32), integer(8, 8)]), 3);
        assert_eq!(measure(&mut ty, 0).unwrap().fixed_bits, Some(64 + 64 + 40));
    }

    #[test]
    fn huge_arrays_of_nothing_are_refused_however_they_nest() {
        assert!(measure(&mut array(structure(vec![]), 1 << 20), 0).is_err());
        let nested = array(array(structure(vec![]), 1 << 10), 1 << 10);
        assert!(measure(&mut nested.clone(), 0).is_err());
        assert!(measure(&mut array(integer(64, 64), u64::MAX), 0).is_err());
    }

    #[test]
    fn nesting_beyond_the_limit_is_refused() {
        let mut ty = integer(8, 8);
        for _ in 0..=MAX_DEPTH {
            ty = structure(vec![ty]);
        }
        assert!(measure(&mut ty, 0).is_err());
    }
}
