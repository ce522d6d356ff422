// SPDX-License-Identifier: MIT
//! The page, which is one file and part of the program.
//!
//! Place in the flow: `build.rs` names it; `answer` serves it with what it would ask first, and
//! `single` writes it with a range of a trace.

/// The page, and what may run and be loaded in it. No text of a trace gets there as markup:
/// [`within`] writes it so that it ends no element, and the policy names the script and the style.
static BUILT: Option<(&str, &str)> = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Where the page has its policy and its data.
const POLICY_PLACE: &str = "PAGE-POLICY";
const DATA_PLACE: &str = "PAGE-DATA";

/// Whether the program was built with its page.
pub fn has_page() -> bool {
    BUILT.is_some()
}

/// Whom a page may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// The server that it came from.
    Server,
    /// Nobody: it is a file.
    Nobody,
}

/// The page's policy; of a program without a page, one under which nothing runs.
pub(crate) fn policy(asks: Asks) -> String {
    let policy = BUILT.map_or("default-src 'none'", |(_, policy)| policy);
    let whom = match asks {
        Asks::Server => "'self'",
        Asks::Nobody => "'none'",
    };
    format!("{policy}; connect-src {whom}")
}

/// The page's text up to its data, and behind them.
pub(crate) fn around(asks: Asks) -> Option<(String, &'static str)> {
    let (page, _) = BUILT?;
    let (before, after) = page.split_once(DATA_PLACE)?;
    Some((before.replace(POLICY_PLACE, &policy(asks)), after))
}

/// JSON in which nothing ends the element that it stands in, or begins a comment: `<` stands in
/// texts only, and there it may be written by its number.
pub(crate) fn within(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + json.len() / 64);
    let mut rest = json;
    while let Some(first) = rest.get(..1) {
        let (written, taken): (&[u8], usize) = match rest {
            [b'<', ..] => (b"\\u003c", 1),
            [b'>', ..] => (b"\\u003e", 1),
            // Separators of lines and paragraphs.
            [0xE2, 0x80, 0xA8, ..] => (b"\\u2028", 3),
            [0xE2, 0x80, 0xA9, ..] => (b"\\u2029", 3),
            _ => (first, 1),
        };
        out.extend_from_slice(written);
        rest = rest.get(taken..).unwrap_or(&[]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_element_that_it_stands_in() {
        let texts = ["</script><!--", "a\u{2028}b\u{2029}c", "\u{20ac}<\u{e2}>", "\\u003c"];
        let json = serde_json::to_vec(&texts).unwrap();
        let within = String::from_utf8(within(&json)).unwrap();
        assert!(!within.contains(['<', '>', '\u{2028}', '\u{2029}']), "{within}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&within).unwrap(), texts);
    }
}
