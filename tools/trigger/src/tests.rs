// SPDX-License-Identifier: MIT
use crate::condition::{Clause, Condition, Kind};
use crate::*;

fn duration(text: &str) -> Result<Duration, String> {
    let ms = text.strip_suffix("ms").and_then(|ms| ms.trim().parse().ok());
    ms.map(Duration::from_millis).ok_or_else(|| format!("{text} is no time"))
}

fn parse(text: &str) -> Kind {
    Condition::parse(text, duration).unwrap().kind
}

/// What is wrong, and the text that is marked.
fn wrong(text: &str) -> (String, String) {
    let error = Condition::parse(text, duration).unwrap_err();
    (error.why, error.text.get(error.place).unwrap().to_string())
}

fn arguments(text: &str) -> Vec<String> {
    let condition = Condition::parse(text, duration).unwrap();
    condition.clauses().into_iter().map(Clause::argument).collect()
}

#[test]
fn each_kind_of_condition_is_understood() {
    assert_eq!(parse(" crash "), Kind::Crash);
    assert_eq!(arguments("http:request"), ["http:request"]);
    assert_eq!(
        arguments(" a:b  if  x > 3 && y == \"then within\" "),
        ["a:b if x > 3 && y == \"then within\""]
    );
    for text in ["io:read > 10ms", "io:read>10ms", " io:read  >  10 ms "] {
        let (pair, longer_than_ns, demands) = ("io:read".into(), 10_000_000, Vec::new());
        let told = Kind::Latency { pair, longer_than_ns, demands };
        assert_eq!(parse(text), told, "{text}");
    }
    let text =
        "a:a if x > 1 then b:b if (y within) == 2 within 5 ms without c:* if z =~ \"\\\" if\"";
    let wrong = Condition::parse(text, duration).unwrap_err();
    assert_eq!(wrong.text.get(wrong.place).unwrap(), "within", "parentheses hide it from us");
    let text = "a:a if x > 1 then b:b within 5 ms without c:* if z =~ \"\\\" if\"";
    let Kind::Order(order) = parse(text) else { panic!() };
    assert_eq!(order.within_ns, 5_000_000);
    assert_eq!(arguments(text), ["a:a if x > 1", "b:b", "c:* if z =~ \"\\\" if\""]);
    let Kind::Order(order) = parse("a:a then b:b within 5ms") else { panic!() };
    assert_eq!(order.without, None);
}

/// Of a call's filter each part, and what stands there in the condition.
fn demands(text: &str) -> Vec<(String, String)> {
    let condition = Condition::parse(text, duration).unwrap();
    let Kind::Latency { demands, .. } = condition.kind else { panic!("{text}") };
    let part = |demand: &Demand| {
        let own = demand.filter.text().to_string();
        (own.clone(), condition.text[demand.at..][..own.len()].to_string())
    };
    demands.iter().map(part).collect()
}

#[test]
fn filter_of_a_call_is_taken_apart_where_all_of_it_is_demanded() {
    for (text, parts) in [
        ("io:read > 10ms if fd == 3", &["fd == 3"][..]),
        ("  io:read>10ms  if  fd == 3&&ret > 0  ", &["fd == 3", "ret > 0"]),
        (
            "a:b > 1ms if x & 3 && (y == 1 && z == 2) && !(w)",
            &["x & 3", "(y == 1 && z == 2)", "!(w)"],
        ),
        ("a:b > 1ms if x == 1 && y == 2 || z == 3", &["x == 1 && y == 2 || z == 3"]),
        ("a:b > 1ms if (x == 1 || y == 2) && z == 3", &["(x == 1 || y == 2)", "z == 3"]),
        (
            r#"a:b > 1ms if x == "é\" && ||" && y == "then if""#,
            &[r#"x == "é\" && ||""#, r#"y == "then if""#],
        ),
    ] {
        let found = demands(text);
        assert_eq!(found.iter().map(|(own, _)| own.as_str()).collect::<Vec<_>>(), parts, "{text}");
        assert!(found.iter().all(|(own, there)| own == there), "{text}: {found:?}");
    }
}

#[test]
fn what_is_wrong_is_marked_where_it_is() {
    for (text, why, marked) in [
        ("", "could stand an event", ""),
        ("a:b if", "could stand a filter", ""),
        ("a:b if then c:d within 1ms", "could stand a filter", "then"),
        ("a:b then", "could stand an event", ""),
        ("a:b then c:d", "could stand `within`", ""),
        ("a:b then c:d within", "could stand a time", ""),
        ("a:b then c:d within soon", "soon is no time", "soon"),
        ("a:b then c:d within 1ms x", "1ms x is no time", "1ms x"),
        ("a:b then c:d within 1ms without", "could stand an event", ""),
        ("a:b then c:d within 1ms without e:f g", "could stand `without`, or the end", "g"),
        ("a:b then c:d within 1ms then e:f", "could stand `without`, or the end", "then"),
        ("a:b c:d", "could stand `if`, `then`", "c:d"),
        ("!a:b", "none is left out", "!a:b"),
        ("a:b if x == 1 then", "could stand an event", ""),
        ("crash if signal == 11", "`crash` stands alone", "crash"),
        ("a:b then crash within 1ms", "`crash` stands alone", "crash"),
        ("a:b then c > 3 within 1ms", "could stand `within`", ">"),
        ("io:* > 10ms", "the name of one call", "io:*"),
        (" > 10ms", "the name of one call", ""),
        ("io:read > ten", "behind > stands a time", "ten"),
        ("io:read > ten if fd == 3", "behind > stands a time", "ten"),
        ("io:read > 10ms if", "could stand a filter", ""),
        ("io:read > 10ms if fd = 3", "write == to compare", "="),
        ("io:read > 10ms if fd == 3 && ", "", ""),
        ("io:read > 10ms if fd == 3 then c:d within 1ms", "a call's time is of no order", "then"),
        ("io:read > 10ms then c:d within 1ms", "could stand `if`, `then`", ">"),
        ("io:read >", "behind > stands a time", ""),
        ("a:b if x = 3", "write == to compare", "="),
        ("a:b if x == 1 then c:d if y = 3 within 1ms", "write == to compare", "="),
        ("a(b", "no event's name", "a(b"),
    ] {
        let (said, place) = wrong(text);
        assert!(said.contains(why), "{text}: {said}");
        assert_eq!(place, marked, "{text}: {said}");
    }
    let error = Condition::parse("a:b if x = 3", duration).unwrap_err().to_string();
    assert!(error.ends_with("\n  a:b if x = 3\n           ^"), "{error}");
    assert!(Condition::parse(&"a".repeat(10_000), duration).is_err());
    assert_eq!(wrong("a:b if x == \"\0\"").1, "\0", "a command's environment cannot have it");
}

#[test]
fn actions_have_arguments_and_rates() {
    let parse = |text: &str| Deed::parse(text).unwrap();
    assert_eq!(parse("snapshot").rate, Rate::PER_SECOND);
    assert_eq!(parse(" snapshot[once] ").rate, Rate::Once);
    assert_eq!(parse("count").action, Action::Count);
    assert_eq!(parse("count").rate, Rate::Any);
    let run = parse("run[5/min] echo \"a [b]\" > c");
    assert_eq!(run.action, Action::Run("echo \"a [b]\" > c".into()));
    assert_eq!(run.rate, Rate::Per { count: 5, period_ns: 60_000_000_000 });
    assert_eq!(parse("enable io:* if ret < 0").action, Action::Enable("io:* if ret < 0".into()));
    for (text, why, marked) in [
        ("", "the actions are", ""),
        ("dance now", "the actions are", "dance"),
        ("run", "could stand a command", ""),
        ("enable ", "could stand a pattern", ""),
        ("stop now", "nothing follows", "now"),
        ("run[0/s] x", "how often", "0/s"),
        ("run[1/d] x", "how often", "1/d"),
        ("run[1/s x", "could stand a ]", ""),
    ] {
        let error = Deed::parse(text).unwrap_err();
        assert!(error.why.contains(why), "{text}: {}", error.why);
        assert_eq!(error.text.get(error.place).unwrap(), marked, "{text}");
    }
}

#[test]
fn pace_lets_through_as_many_as_its_rate_in_each_period() {
    let taken = |rate, times: &[u64]| -> Vec<bool> {
        let mut pace = Pace::new(rate);
        times.iter().map(|at| pace.take(*at)).collect()
    };
    assert_eq!(taken(Rate::Any, &[0, 0, 0]), [true; 3]);
    assert_eq!(taken(Rate::Once, &[5, 6, u64::MAX]), [true, false, false]);
    let two = Rate::Per { count: 2, period_ns: 10 };
    assert_eq!(
        taken(two, &[5, 6, 7, 14, 15, 16, 17]),
        [true, true, false, false, true, true, false]
    );
}

const FIRST: Part = Part { is_first: true, is_then: false, is_without: false };
const THEN: Part = Part { is_first: false, is_then: true, is_without: false };
const WITHOUT: Part = Part { is_first: false, is_then: false, is_without: true };

#[test]
fn order_is_met_in_one_thread_in_time_and_without_what_must_not_come_between() {
    let mut order = Order::new(10);
    let mut met = |thread: u32, at, part| order.event(thread, at, part);
    assert_eq!(met(1, 0, THEN), None, "nothing came before");
    met(1, 100, FIRST);
    assert_eq!(met(2, 101, THEN), None, "another thread");
    assert_eq!(met(1, 110, THEN), Some(100), "at the very end of the time");
    assert_eq!(met(1, 110, THEN), None, "each first event counts once");
    met(1, 200, FIRST);
    assert_eq!(met(1, 211, THEN), None, "too late");
    met(1, 300, FIRST);
    met(1, 301, WITHOUT);
    assert_eq!(met(1, 302, THEN), None, "what must not come between did");
    met(1, 400, FIRST);
    met(2, 401, WITHOUT);
    met(1, 408, FIRST);
    assert_eq!(met(1, 415, THEN), Some(408), "the latest first event counts");
    let both = Part { is_first: true, is_then: true, is_without: false };
    assert_eq!(met(3, 500, both), None, "an event does not follow itself");
    assert_eq!(met(3, 505, both), Some(500));
    assert_eq!(met(3, 509, both), Some(505));
    met(4, 600, FIRST);
    assert_eq!(met(4, 599, THEN), None, "time runs ahead");
}

#[test]
fn order_forgets_at_a_loss_and_its_table_is_bounded_whatever_threads_say() {
    let mut order = Order::new(10);
    order.event(1_u32, 100, FIRST);
    order.forget();
    assert_eq!(order.event(1, 101, THEN), None);
    assert_eq!(order.forgotten, 1);
    for thread in 0..3 * WAITS_MAX as u32 {
        order.event(thread, 200, FIRST);
    }
    assert_eq!(order.waiting(), WAITS_MAX);
    assert_eq!(order.no_room, 2 * WAITS_MAX as u64);
    assert_eq!(order.event(7, 205, THEN), Some(200), "those that wait are not driven out");
    order.event(u32::MAX - 1, 230, FIRST);
    order.event(u32::MAX, 230, FIRST);
    assert_eq!(order.waiting(), 2, "those that have waited too long make room");
    assert_eq!(order.event(u32::MAX, 231, THEN), Some(230));
}

#[test]
fn clauses_that_may_mean_the_same_event_are_found() {
    let clause = |pattern: &str| Clause { pattern: pattern.into(), filter: None };
    let may = |one: &str, two: &str| {
        let (one, two) = (clause(one), clause(two));
        assert_eq!(one.may_meet(&two), two.may_meet(&one));
        one.may_meet(&two)
    };
    assert!(may("a:b", "a:b") && may("a:*", "a:b") && may("a:*c", "a:b*") && may("*", "x:y"));
    assert!(may("a:b@info", "a:b") && may("a:?x", "a:b"));
    assert!(!may("a:b", "a:c") && !may("a:*", "b:*") && !may("a:b*", "a:c"));
}

/// Texts that are near to conditions, and texts of any characters: no panic, and a place that is in
/// the text and on the borders of characters.
#[test]
fn any_text_is_understood_or_refused_at_a_place_that_is_in_it() {
    const PIECES: [&str; 28] = [
        "a:b", "io:*", "if", "then", "within", "without", "crash", ">", "10ms", "10", "ms", "x",
        "==", "3", "\"", "\\", "(", ")", "&&", "é", "\u{2028}", "\t", "!", "[", "]", "run",
        "snapshot", "/s",
    ];
    let mut random = fastrand::Rng::with_seed(12);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..50_000 {
        let count = random.usize(0..14);
        let mut text = String::new();
        for _ in 0..count {
            text.push_str(PIECES[random.usize(..PIECES.len())]);
            if random.u8(0..4) > 0 {
                text.push(' ');
            }
            if random.u8(0..40) == 0 {
                text.push(random.char(..));
            }
        }
        let check = |error: Error| {
            assert!(error.text.get(error.place.clone()).is_some(), "{text:?}: {error:?}");
            assert!(!error.to_string().is_empty());
        };
        match Condition::parse(&text, duration) {
            Ok(condition) => {
                good += 1;
                let again = Condition::parse(&condition.text, duration).unwrap();
                assert_eq!(again, condition, "{text:?}");
            }
            Err(error) => {
                bad += 1;
                check(error);
            }
        }
        if let Err(error) = Deed::parse(&text) {
            check(error);
        }
    }
    assert!(good > 300 && bad > 300, "{good} understood, {bad} refused");
}
