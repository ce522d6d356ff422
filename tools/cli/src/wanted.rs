// SPDX-License-Identifier: MIT
//! Which events of a trace `print` and `report` take: the -e of both means what it means for
//! `lull record`, because the same patterns match.
//!
//! Place in the flow: asked once for each event class, or for each name of events.

use session::pattern::Patterns;

const DEBUG: u8 = 7;

/// Whether events of these names are asked for. `log_level` is the one in the trace, where
/// debugging has several levels from 7 on; events without a level are least severe.
pub fn wants(patterns: &Patterns, names: &[&str], log_level: Option<i64>) -> bool {
    let level = log_level.and_then(|level| u8::try_from(level).ok());
    patterns.match_any(names, level.map_or(DEBUG, |level| level.min(DEBUG)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_of_a_trace_is_compared_with_that_of_a_pattern() {
        let errors = Patterns::exactly(&["*@error".to_string()]).unwrap();
        let all = Patterns::exactly(&["*@debug".to_string()]).unwrap();
        for (log_level, is_error) in
            [(Some(0), true), (Some(3), true), (Some(4), false), (Some(14), false), (None, false)]
        {
            assert_eq!(wants(&errors, &["a:b"], log_level), is_error, "{log_level:?}");
            assert!(wants(&all, &["a:b"], log_level), "{log_level:?}");
        }
        assert!(!wants(&errors, &["a:b"], Some(-1)) && !wants(&errors, &["a:b"], Some(256)));
    }
}
