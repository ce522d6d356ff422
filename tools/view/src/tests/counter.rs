// SPDX-License-Identifier: MIT
//! Fields of events as lines: what each pixel has, what came before, where reading stops.

use serde_json::json;
use testkit::program::{Number, Program, Text, Who};
use trace::Ns;

use super::statistics::shown;
use super::{ask, Viewed};
use crate::ask::Ask;
use crate::counter::{of_some, runnable};

const MAIN: Who = (10, 10, "server");

/// A queue's length every 10 ns from 1000 on: 0, 7, 4, 1, 8, 5, 2, 9, ...
fn queue() -> Viewed {
    let mut program = Program::new();
    for number in 0..100 {
        let length = Number((number * 7 % 10) as i64);
        program.event(1000 + number * 10, 0, MAIN, "queue:length", &[("length", length)]);
        program.event(1001 + number * 10, 0, MAIN, "other:event", &[("text", Text("7"))]);
    }
    shown(program)
}

#[test]
fn a_pixel_has_the_least_the_greatest_and_the_last_value_of_its_time() {
    let viewed = queue();
    let told = ask(&viewed, "v1/counter?counter=queue:length.length&from=0&until=100&pixels=2");
    assert_eq!(told["columns"], json!([[0, 0, 8, 8], [1, 2, 9, 3]]));
    assert_eq!((&told["count"], &told["stopped"]), (&10.into(), &json!(null)));
    assert_eq!(told["before"], json!(null), "nothing comes before the first event");
    let told = ask(&viewed, "v1/counter?counter=queue:length.length&from=15&until=18&pixels=8");
    assert_eq!((&told["columns"], &told["before"]), (&json!([]), &7.into()));
}

#[test]
fn reading_stops_at_a_bound_and_goes_on_from_there() {
    let viewed = queue();
    let query = "counter=queue:length.length&from=0&until=100&pixels=2";
    let (traces, origin) = (viewed.traces(), viewed.history().begin());
    // The record of the thread, six lengths and five others.
    let part = |query: &str| {
        let told = of_some(traces, &Ask::new(query).unwrap(), origin, (12, 1000)).unwrap();
        serde_json::to_value(told).unwrap()
    };
    let first = part(query);
    assert_eq!(
        (&first["columns"], &first["stopped"]),
        (&json!([[0, 0, 8, 8], [1, 5, 5, 5]]), &51.into())
    );
    let second = part(&format!("{query}&start=51"));
    assert_eq!((&second["columns"], &second["before"]), (&json!([[1, 2, 9, 3]]), &json!(null)));
    let far = of_some(
        traces,
        &Ask::new("counter=queue:length.length&from=900&until=990&pixels=2").unwrap(),
        Ns(origin.0),
        (1000, 3),
    );
    assert_eq!(
        serde_json::to_value(far.unwrap()).unwrap()["before"],
        json!(null),
        "too far to look for"
    );
}

#[test]
fn what_is_no_number_is_refused_with_the_reason_and_names_are_offered() {
    let viewed = queue();
    let refused = |counter: &str| {
        let query = format!("counter={counter}&from=0&until=10&pixels=1");
        let reply = viewed.answer("v1/counter", &query);
        assert_eq!(reply.status.as_u16(), 400, "{counter}");
        String::from_utf8_lossy(&reply.body).into_owned()
    };
    assert!(refused("other:event.text").contains("has no field text that is a number"));
    assert!(refused("queue:length.none").contains("has no field none"));
    assert!(refused("nothing.length").contains("no event of the trace is called nothing"));
    assert!(refused("nothing").contains("EVENT.FIELD") && refused("").contains("EVENT.FIELD"));
    let names = ask(&viewed, "v1/numbers");
    assert_eq!(names, json!({ "names": ["queue:length.length"], "offered": [], "left_out": 0 }));
}

#[test]
fn threads_that_are_ready_to_run_are_counted_at_each_change_of_their_number() {
    let (idle, other) = ((0, 0, "swapper"), (20, 20, "other"));
    let mut program = Program::new();
    let p = &mut program;
    p.switch((1000, 0), (idle, 0), MAIN);
    // Another thread is woken, and later this one has to wait for it.
    p.wakeup((1100, 0), MAIN, other);
    p.wakeup((1150, 0), MAIN, (30, 30, "third"));
    p.switch((1200, 0), (MAIN, 0), other);
    p.switch((1400, 0), (other, 1), MAIN);
    p.event(1500, 0, MAIN, "a:last", &[("n", Number(1))]);
    let viewed = shown(program);
    let name = "threads+that+wait+for+a+CPU";
    let told = ask(&viewed, &format!("v1/counter?counter={name}&from=0&until=500&pixels=5"));
    // At 200 one goes and one comes.
    assert_eq!(told["columns"], json!([[1, 1, 2, 2], [2, 2, 2, 2], [4, 1, 1, 1]]));
    assert_eq!(told["before"], 0);
    let told = ask(&viewed, &format!("v1/counter?counter={name}&from=160&until=170&pixels=5"));
    assert_eq!((&told["before"], &told["columns"]), (&2.into(), &json!([])));
    let query = format!("counter={name}&from=0&until=500&pixels=5");
    let refused = runnable(viewed.history(), &Ask::new(&query).unwrap(), 2).unwrap_err();
    assert!(refused.contains("zoom in"), "{refused}");
    assert_eq!(ask(&viewed, "v1/numbers")["offered"], json!(["threads that wait for a CPU"]));
}
