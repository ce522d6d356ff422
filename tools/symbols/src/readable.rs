// SPDX-License-Identifier: MIT
//! The names of functions as people wrote them in C++ and Rust.
//!
//! Place in the flow: `programs` asks once for each function that a stack has. A mangled name of a
//! few bytes can stand for one of any length, so that what is written is cut.

use std::fmt::{self, Write};

/// Longest name that is shown.
const SHOWN_BYTES_MAX: usize = 1024;

/// A text that takes no more than it has room for.
#[derive(Default)]
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > SHOWN_BYTES_MAX {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The name of a function; as the file has it where it is of no language known here, or is longer
/// when written out.
pub(crate) fn readable(name: &[u8]) -> String {
    let plain = String::from_utf8_lossy(name);
    let mut text = Bounded::default();
    let is_written = if let Ok(rust) = rustc_demangle::try_demangle(&plain) {
        write!(text, "{rust:#}").is_ok()
    } else if name.starts_with(b"_Z") {
        let symbol = cpp_demangle::Symbol::new(name);
        let options = cpp_demangle::DemangleOptions::new().recursion_limit(64);
        symbol.is_ok_and(|symbol| symbol.structured_demangle(&mut text, &options).is_ok())
    } else {
        false
    };
    let shown = if is_written { text.0.as_str() } else { &plain };
    shown.chars().map(|c| if c.is_control() { '_' } else { c }).take(SHOWN_BYTES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rust_and_c_plus_plus_are_written_out_and_others_stay() {
        let rust = b"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE";
        assert_eq!(readable(rust), "core::fmt::Write::write_fmt");
        assert_eq!(readable(b"_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!([readable(b"main"), readable(b"_Zx")], ["main", "_Zx"]);
        assert_eq!(readable(b"a\x1b[2J\xff"), "a_[2J\u{fffd}");
    }

    #[test]
    fn a_name_that_grows_without_bound_stays_as_it_is() {
        // Each pair is of the pair before, twice: the text doubles with every few bytes.
        let mut name = String::from("_Z1f4pairIiiE");
        for number in ["_", "0_", "1_", "2_", "3_", "4_", "5_", "6_", "7_", "8_", "9_"] {
            name += &format!("S_IS{number}S{number}E");
        }
        assert!(cpp_demangle::Symbol::new(&name).is_ok());
        assert_eq!(readable(name.as_bytes()), name);
    }
}
