// SPDX-License-Identifier: MIT
//! Filters and rates of programs' events: what a session is given of them, which are refused before
//! it begins, and what the verdict says of them.
//!
//! Place in the flow: `plan` checks them against the events that files tell of, and puts them into
//! the session, where traced processes find them; `judge` asks what became of them.

use super::asked::Asked;
use consumer::filtered::Filtered;
use filter::{Choice, Of, Sample};
use session::abi::{
    FILTER_STATE_DAMAGED, FILTER_STATE_DECIDES, FILTER_STATE_FULL, FILTER_STATE_OLD,
    FILTER_STATE_PAIRS, FILTER_STATE_SAMPLES, FILTER_STATE_UNDECIDED, FILTER_STATE_UNFIT,
};
use session::description::Description;
use session::layout::{filters, Filter};
use session::pattern::Patterns;
use std::collections::BTreeMap;
use verdict::text::plural;
use verdict::thinned::{sampled_sentence, Sampled};
use verdict::Verdict;

/// Names of events that one sentence of the verdict lists.
const NAMES_MAX: usize = 8;
/// liblull's own group, which no filter decides on.
const EXEMPT: &str = "process:";

/// Why a comparison was not met for some occurrence.
const UNDECIDED: &str =
    "for some occurrences, what the filter computes has no number, as where it divides by 0";

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
    let chosen = asked.choices().enumerate().filter(|(_, (_, choice))| **choice != Choice::ALL);
    filters(chosen.map(|(index, (_, Choice { filter, sample }))| Filter {
        rule: first + index,
        unlinked: filter.as_ref().map_or(&[], |filter| filter.unlinked()),
        sample: sample.one_in(),
    }))
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

/// What is to be sampled, by pattern.
pub fn sampled(asked: &Asked) -> Vec<Sampled> {
    let sampled = asked.choices().filter(|(_, choice)| choice.sample != Sample::ALL);
    let told = |(pattern, choice): (&str, &Choice)| Sampled {
        event: pattern.to_string(),
        one_in: choice.sample.one_in(),
        by_call: false,
    };
    sampled.map(told).collect()
}

/// Patterns with a filter that may take an entry of a call and leave its exit out.
pub fn partly(asked: &Asked) -> Vec<String> {
    let is_partly = |(_, choice): &(&str, &Choice)| {
        choice.filter.as_ref().is_some_and(|filter| !filter.is_of_thread())
    };
    asked.choices().filter(is_partly).map(|(pattern, _)| pattern.to_string()).collect()
}

/// Adds what became of the filters and rates. `is_counting`: what cannot be filtered is not
/// counted.
pub fn judge(verdict: &mut Verdict, asked: &Asked, filtered: &[Filtered], is_counting: bool) {
    let decided = filtered.iter().filter(|found| found.state & FILTER_STATE_DECIDES != 0);
    verdict.notes.extend(asked.note(decided.count(), "programs"));
    for (state, why) in UNFILTERED {
        for what in ["unfiltered", "unsampled", "unfiltered and unsampled"] {
            let found = filtered.iter().filter(|found| found.state & state != 0);
            let names = found.filter(|found| lacking(asked, found, state) == what);
            let names: Vec<&str> = names.map(|found| found.event.name.as_str()).collect();
            match is_counting {
                true => verdict.missing.extend(left_out("not counted", &names, why)),
                false => {
                    let what = format!("recorded {what}");
                    verdict.notes.extend(left_out(&what, &names, why));
                }
            }
        }
    }
    let undecided = filtered.iter().filter(|found| found.state & FILTER_STATE_UNDECIDED != 0);
    let names: Vec<&str> = undecided.map(|found| found.event.name.as_str()).collect();
    verdict.notes.extend(left_out("met neither way", &names, UNDECIDED));
    verdict.missing.extend(unexplained(asked, filtered));
    // Of rules that were others before, no process tells which of its answers was to which.
    let is_unchanged = verdict.changes.is_empty();
    let is_sampled = FILTER_STATE_SAMPLES | FILTER_STATE_PAIRS;
    let sampled = filtered.iter().filter(|found| found.state & is_sampled != 0);
    let changes = verdict.changes.iter().flat_map(|change| &change.patterns);
    let changed: Vec<&str> = changes.map(|asked| Choice::split(asked).0).collect();
    let was_changed = |event: &Description| {
        changed.iter().any(|pattern| Patterns::alone_matches(pattern, &event.name, event.level))
    };
    let rate = |event: &Description| Sampled {
        event: event.name.clone(),
        one_in: match was_changed(event) {
            true => 0,
            false => asked.sample_of(&event.name, event.level).one_in(),
        },
        by_call: is_unchanged && is_by_call(asked, filtered, &event.name),
    };
    verdict.sampled = sampled.map(|found| rate(&found.event)).collect();
    verdict.sampled.sort_by(|a, b| a.event.cmp(&b.event));
    verdict.sampled.dedup();
    verdict.limits.extend(sampled_sentence(&verdict.sampled));
}

/// Whether all events of a name were drawn by call, and by nothing else: also those of another
/// process, or with other fields or another level.
fn is_by_call(asked: &Asked, filtered: &[Filtered], name: &str) -> bool {
    let mut its = filtered.iter().filter(|found| found.event.name == name);
    its.all(|found| found.state == FILTER_STATE_PAIRS) && asked.is_alike(name)
}

/// What an event is, of which processes say that something could not be done.
fn lacking(asked: &Asked, Filtered { event, .. }: &Filtered, state: u32) -> &'static str {
    let is_sampled = asked.sample_of(&event.name, event.level) != Sample::ALL;
    match asked.filter_of(&event.name, event.level) {
        _ if !is_sampled || state == FILTER_STATE_UNFIT => "unfiltered",
        None => "unsampled",
        Some(_) => "unfiltered and unsampled",
    }
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
        let sampled = of_session(&self::asked(&["a:*", "b:* sample 1/7"]), &patterns);
        assert_eq!(sampled[4..], [[0, 0, 0, 0], [7, 0, 0, 0], [0; 4]].concat());
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
        assert!(verdict.notes[0].starts_with("1 event of programs was filtered"));
        assert!(verdict.notes[1].starts_with("recorded unfiltered: http:request: its object"));
        assert!(verdict.missing.is_empty());
        let many: Vec<String> = (0..10).map(|i| format!("a:{i}\n6\n:\n")).collect();
        let many: Vec<(&str, u32)> = many.iter().map(|t| (t.as_str(), FILTER_STATE_FULL)).collect();
        let note = judged(&["a:* if tid == 1"], &many).notes.remove(0);
        assert!(note.contains("a:7 and 2 events more: its"), "{note}");
    }

    #[test]
    fn verdict_names_events_for_which_a_filter_had_no_number() {
        let states = [(REQUEST, FILTER_STATE_DECIDES | FILTER_STATE_UNDECIDED)];
        let verdict = judged(&["http:* if 8 / status == 5"], &states);
        assert!(verdict.notes[1].starts_with("met neither way: http:request: for some"));
        assert!(verdict.missing.is_empty());
    }

    #[test]
    fn events_are_drawn_by_call_where_all_processes_tell_that_and_rates_are_alike() {
        const END: &str = "http:end\n7\n:\n";
        let by_call = |arguments: &[&str], states: &[(&str, u32)]| {
            let verdict = judged(arguments, states);
            verdict.sampled.iter().map(|sampled| sampled.by_call).collect::<Vec<_>>()
        };
        let rate = ["http:* sample 1/10"];
        assert_eq!(by_call(&rate, &[(REQUEST, FILTER_STATE_PAIRS), (END, 64)]), [false, true]);
        for other in [FILTER_STATE_SAMPLES, FILTER_STATE_OLD, FILTER_STATE_FULL] {
            assert_eq!(by_call(&rate, &[(REQUEST, FILTER_STATE_PAIRS | other)]), [false]);
            // Events of the name that are described otherwise, as those of another program.
            let states = [(END, FILTER_STATE_PAIRS), ("http:end\n6\n:\nu8 x\n", other)];
            assert!(!by_call(&rate, &states).contains(&true));
        }
        let state = [(END, FILTER_STATE_PAIRS)];
        assert_eq!(by_call(&["http:*@info sample 1/10"], &state), [true]);
        assert_eq!(by_call(&["http:*@error", "!http:*@info", "http:*@error"], &state), [true]);
        assert_eq!(by_call(&["http:* sample 1/10", "http:*@info"], &state), [false]);
        let mut changed = Verdict::new("trace".into());
        changed.changes.push(verdict::Change { at: (1, 0), patterns: Vec::new() });
        let found = [Filtered { event: event(END), state: FILTER_STATE_PAIRS }];
        judge(&mut changed, &asked(&rate), &found, false);
        assert!(!changed.sampled[0].by_call);
    }

    #[test]
    fn of_an_event_that_a_change_names_no_rate_is_told() {
        let rates = |changes: &[&str]| {
            let mut verdict = Verdict::new("trace".into());
            let patterns = changes.iter().map(|text| text.to_string()).collect();
            verdict.changes.push(verdict::Change { at: (1, 0), patterns });
            let of = |text: &str| Filtered { event: event(text), state: FILTER_STATE_SAMPLES };
            let found = [of(REQUEST), of("a:b\n6\n:\n")];
            judge(&mut verdict, &asked(&["http:*", "a:* sample 1/2"]), &found, false);
            (verdict.sampled.iter().map(|of| of.one_in).collect::<Vec<_>>(), verdict.limits)
        };
        let (one_in, limits) = rates(&["http:*"]);
        assert_eq!(one_in, [2, 0]);
        assert!(
            limits[0].contains("a:b 1/2, http:request at a rate that was changed; "),
            "{limits:?}"
        );
        assert_eq!(rates(&["http:* if status == 5 sample 1/3", "!a:*"]).0, [2, 0]);
    }

    #[test]
    fn verdict_names_sampled_events_with_their_rates_and_those_that_could_not_be() {
        let rates = ["http:* sample 1/100"];
        let verdict = judged(&rates, &[(REQUEST, FILTER_STATE_SAMPLES)]);
        assert_eq!(
            (verdict.sampled[0].event.as_str(), verdict.sampled[0].one_in),
            ("http:request", 100)
        );
        assert!(verdict.limits[0].contains("http:request 1/100"), "{:?}", verdict.limits);
        assert!(verdict.notes.is_empty(), "nothing is filtered");
        let verdict = judged(&rates, &[(REQUEST, FILTER_STATE_OLD)]);
        assert!(verdict.limits.is_empty() && verdict.notes[0].starts_with("recorded unsampled: h"));
        let both = FILTER_STATE_UNFIT | FILTER_STATE_SAMPLES;
        let verdict = judged(&["http:* if status == 5 sample 1/2"], &[(REQUEST, both)]);
        assert!(verdict.notes[0].starts_with("recorded unfiltered: http:request"));
        assert_eq!(verdict.sampled.len(), 1);
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
