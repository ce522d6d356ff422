// SPDX-License-Identifier: MIT
//! `flame`: stacks with the time or the events that belong to each.

use analysis::{FlameOf, Question};
use serde_json::json;
use testkit::program::{Number, Program, Who};

use super::machine::{IDLE, SLEEPS};
use super::{asked, rows};

const APP: Who = (10, 10, "app");

fn of(flame_of: FlameOf) -> Question {
    Question { flame_of: Some(flame_of), ..Question::default() }
}

fn program() -> Program {
    let mut program = Program::new();
    let p = &mut program;
    p.switch((100, 0), (IDLE, 0), APP);
    p.event(110, 0, APP, "job_begin", &[]);
    p.event(150, 0, APP, "io:read_entry", &[("fd", Number(0))]);
    p.switch((160, 0), (APP, SLEEPS), IDLE);
    p.wakeup((200, 0), IDLE, APP);
    p.switch((210, 0), (IDLE, 0), APP);
    p.event(250, 0, APP, "io:read_exit", &[("result", Number(1))]);
    p.event(300, 0, APP, "job_end", &[]);
    p.switch((310, 0), (APP, 2), IDLE);
    p.event(330, 0, IDLE, "job_begin", &[]);
    p.event(350, 0, IDLE, "done", &[]);
    program
}

#[test]
fn calls_have_the_time_that_is_in_none_inside_of_them() {
    let answer = asked(&program(), "flame", &of(FlameOf::Calls));
    assert_eq!(
        rows(&answer, "stacks", &["stack", "ns"]),
        json!([
            ["app[10];app[10];job;io:read", 100],
            ["app[10];app[10];job", 90],
            // It had not ended when the trace did.
            ["swapper[0];swapper/0;job", 20]
        ])
    );
}

#[test]
fn call_of_a_killed_process_counts_until_its_parent_learns_of_that() {
    let child: Who = (20, 20, "sleep");
    let mut program = Program::new();
    let p = &mut program;
    p.event(100, 0, child, "thread:sleep_entry", &[]);
    p.event(120, 0, APP, "process:wait_entry", &[]);
    let waited = [("child_pid", Number(20)), ("status", Number(9))];
    p.event(150, 0, APP, "process:wait_exit", &waited);
    p.event(900, 0, APP, "tick", &[]);
    let answer = asked(&program, "flame", &of(FlameOf::Calls));
    assert_eq!(
        rows(&answer, "stacks", &["stack", "ns"]),
        json!([["sleep[20];sleep[20];thread:sleep", 50], ["app[10];app[10];process:wait", 30]])
    );
}

#[test]
fn waits_have_the_calls_in_which_a_thread_was_off() {
    let answer = asked(&program(), "flame", &Question::default());
    let expected = json!([
        ["app[10];app[10];job;io:read;(sleep)", 40],
        ["app[10];app[10];(uninterruptible)", 40]
    ]);
    let found = rows(&answer, "stacks", &["stack", "ns"]);
    let sorted = |value: &serde_json::Value| {
        let mut rows: Vec<String> =
            value.as_array().unwrap().iter().map(ToString::to_string).collect();
        rows.sort();
        rows
    };
    assert_eq!(sorted(&found), sorted(&expected));
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["facts"], json!({ "of": "time off the CPU", "total": 80 }));
}
