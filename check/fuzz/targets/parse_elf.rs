// SPDX-License-Identifier: MIT
//! libFuzzer's way into the files that a trace says programs were: bytes.
//!
//! Place in the flow: `run` builds it. Whatever the bytes are, the reader answers, and a place that
//! it gives an address is in a function that has a name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbols::Functions;

fuzz_target!(|bytes: &[u8]| {
    let Some(functions) = Functions::parse(bytes) else { return };
    assert!(functions.build_id().len() <= bytes.len());
    for offset in (0..bytes.len() as u64).step_by(16).chain([u64::MAX]) {
        let Some(address) = functions.address(offset) else { continue };
        for address in [address, address.wrapping_sub(1), address.wrapping_add(1)] {
            let Some(place) = functions.at(address) else { continue };
            assert!(place.offset <= address && !place.name.is_empty());
        }
    }
});
