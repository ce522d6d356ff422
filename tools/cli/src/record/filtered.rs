// SPDX-License-Identifier: MIT
//! Filters of programs' events: what a session is given of them, which are refused before it
//! begins, and what the verdict says of them.
//!
//! Place in the flow: `plan` checks them against the events that files tell of, and puts them into
//! the session, where traced processes find them; `judge` asks what became of them.

use super::asked::Asked;
use consumer::filtered::Filtered;
use filter::Of;
use session::abi::{
    FILTER_STATE_DAMAGED, FILTER_STATE_DECIDES, FILTER_STATE_FULL, FILTER_STATE_OLD,
    FILTER_STATE_UNFIT,
};
use session::description::Description;
use session::layout::filters;
use session::pattern::Patterns;
use std::collections::BTreeMap;
use verdict::text::plural;
use verdict::Verdict;

/// Names of events that one sentence of the verdict lists.
const NAMES_MAX: usize = 8;
/// liblull's own group, which no filter decides on.
const EXEMPT: &str = "process:";

/// Why events are recorded that do not meet their filter.
const UNFILTERED: [(u32, &str); 4] = [
    (FILTER_STATE_OLD, "its object was built with a lull/trace.h that knows no filters"),
    (FILTER_STATE_UNFIT, "the filter does not fit its fields"),
    (FILTER_STATE_FULL, "its process has no room for more filters"),
    (FILTER_STATE_DAMAGED, "something else was written over the session's filters"),
];

/// The filters as a session has them.
pub fn of_session(asked: &Asked, patterns: &Patterns) -> Vec<u8> {
    let first = patterns.first_asked();
    let numbered = asked.filters().enumerate();
    filters(numbered.filter_map(|(index, filter)| Some((first + index, filter?.unlinked()))))
}

/// Whether the filters fit the events that the program's files tell of. Of a program or a library
/// that comes later, its process finds out.
pub fn check(asked: &Asked, known: &[Description]) -> Result<(), filter::Error> {
    for event in known.iter().filter(|event| !event.name.starts_with(EXEMPT)) {
        if let Some((_, filter)) = asked.filter_of(&event.name, event.level) {
            filter.fits(event, Of::Program)?;
        }
    }
    Ok(())
}

/// Adds what became of the filters. `is_counting`: what cannot be filtered is not counted.
pub fn judge(verdict: &mut Verdict, asked: &Asked, filtered: &[Filtered], is_counting: bool) {
    let decided = filtered.iter().filter(|found| found.state & FILTER_STATE_DECIDES != 0);
    verdict.notes.extend(asked.note(decided.count(), "programs"));
    for (state, why) in UNFILTERED {
        let found = filtered.iter().filter(|found| found.state & state != 0);
        let names: Vec<&str> = found.map(|found| found.event.name.as_str()).collect();
        match is_counting {
            true => verdict.missing.extend(left_out("not counted", &names, why)),
            false => verdict.notes.extend(left_out("recorded unfiltered", &names, why)),
        }
    }
    verdict.missing.extend(unexplained(asked, filtered));
}

fn left_out(what: &str, names: &[&str], why: &str) -> Option<String> {
    let listed = names.get(..NAMES_MAX).unwrap_or(names).join(", ");
    let more = match names.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {} more", plural(more as u64, "event")),
    };
    (!names.is_empty()).then(|| format!("{what}: {listed}{more}: {why}"))
}

/// Filters with a name that none of the events has that they were for.
fn unexplained(asked: &Asked, filtered: &[Filtered]) -> Vec<String> {
    let mut events: BTreeMap<usize, Vec<&Description>> = BTreeMap::new();
    for Filtered { event, .. } in filtered {
        if let Some((index, _)) = asked.filter_of(&event.name, event.level) {
            events.entry(index).or_default().push(event);
        }
    }
    let sentence = |(index, events): (usize, Vec<&Description>)| {
        let filter = asked.filters().nth(index)??;
        let error = filter.unexplained(&events, Of::Program)?;
        let name = error.text.get(error.place).unwrap_or_default();
        let told = asked.told(index)?;
        Some(format!("not recorded for a name in their filter, `{name}`: {told}: {}", error.why))
    };
    events.into_iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &[&str]) -> Asked {
        Asked::new(&arguments.iter().map(|text| text.to_string()).collect::<Vec<_>>()).unwrap()
    }

    fn event(text: &str) -> Description {
        Description::parse(text.as_bytes()).unwrap()
    }

    fn judged(arguments: &[&str], states: &[(&str, u32)]) -> Verdict {
        let mut verdict = Verdict::new("trace".into());
        let found =
            states.iter().map(|(text, state)| Filtered { event: event(text), state: *state });
        judge(&mut verdict, &asked(arguments), &found.collect::<Vec<_>>(), false);
        verdict
    }

    const REQUEST: &str = "http:request\n6\n:\nu32 status\nstr url\n";

    #[test]
    fn filters_stand_at_the_line_of_their_pattern() {
        let asked = asked(&["a:*", "b:* if x == 1"]);
        let patterns = Patterns::new(asked.patterns()).unwrap();
        let written = of_session(&asked, &patterns);
        let rule = u32::from_ne_bytes(*written.first_chunk().unwrap()) as usize;
        assert_eq!(patterns.text().lines().nth(rule), Some("b:*"));
        assert_eq!(written.len() % 8, 0);
        assert!(of_session(&self::asked(&["a:*"]), &patterns).is_empty());
    }

    #[test]
    fn filter_that_does_not_fit_an_event_of_the_program_is_refused_at_its_place() {
        let known = [event(REQUEST), event("process:start\n6\n:\nstr path\n")];
        assert!(check(&asked(&["http:* if status == 5 && other == 1"]), &known).is_ok());
        assert!(check(&asked(&["process:* if path == 5"]), &known).is_ok(), "not filtered");
        assert!(check(&asked(&["http:* if url == 5", "http:*"]), &known).is_ok(), "no filter");
        let told = check(&asked(&["http:* if url == 5"]), &known).unwrap_err().to_string();
        assert!(told.ends_with("\n  url == 5\n  ^^^^^^^^"), "{told}");
    }

    #[test]
    fn verdict_names_filters_in_force_and_events_that_are_not_filtered() {
        let both = FILTER_STATE_DECIDES | FILTER_STATE_OLD;
        let verdict = judged(&["http:* if status == 5"], &[(REQUEST, both)]);
        assert_eq!(verdict.notes.len(), 2);
        assert!(verdict.notes[0].starts_with("1 event of programs were filtered"));
        assert!(verdict.notes[1].starts_with("recorded unfiltered: http:request: its object"));
        assert!(verdict.missing.is_empty());
        let many: Vec<String> = (0..10).map(|i| format!("a:{i}\n6\n:\n")).collect();
        let many: Vec<(&str, u32)> = many.iter().map(|t| (t.as_str(), FILTER_STATE_FULL)).collect();
        let note = judged(&["a:* if tid == 1"], &many).notes.remove(0);
        assert!(note.contains("a:7 and 2 events more: its"), "{note}");
    }

    #[test]
    fn name_that_no_event_has_is_missed_and_one_that_some_event_has_is_not() {
        let states = [(REQUEST, FILTER_STATE_DECIDES), ("http:end\n6\n:\nu8 x\n", 1)];
        assert!(judged(&["http:* if status == 5 || x == 1"], &states).missing.is_empty());
        let missing = judged(&["http:* if statsu == 5"], &states).missing;
        assert!(missing[0].contains("`statsu`: http:* if statsu == 5: no event"), "{missing:?}");
        let missing = judged(&["http:* if $prio == 5"], &states).missing;
        assert!(missing[0].contains("only the kernel's"), "{missing:?}");
    }
}
