// SPDX-License-Identifier: MIT
//! The made-up program of the guides to queries.
//!
//! Place in the flow: the examples of docs/guide/query.md and docs/guide/python.md are about its
//! trace, and are run as tests.

use crate::program::{Number, Program, Text, Who};

const SHOP: Who = (410, 410, "shop");
const WORKER: Who = (410, 411, "worker");
const BACKUP: Who = (520, 520, "backup");

/// A shop whose requests wait for a lock while a backup reads.
pub fn shop() -> Program {
    let mut program = Program::new();
    program.environment = "tracer_name = \"lull\"; verdict = \"complete\"; \
                           hostname = \"alpha\";"
        .into();
    const BEGIN: u64 = 1_780_000_000_000_000_000;
    let us = |at: u64| BEGIN + at * 1000;
    for number in 0..40u64 {
        let (begin, who) = (1_000 + number * 500, if number % 2 == 0 { SHOP } else { WORKER });
        let cpu = (number % 2) as u32;
        let is_slow = (16..24).contains(&number);
        let wait = if is_slow { 400 } else { 3 };
        let url = ["/cart", "/item", "/pay", "/item"][(number % 4) as usize];
        let id = Number(number as i64);
        program.event(us(begin), cpu, who, "http:request_entry", &[("id", id), ("url", Text(url))]);
        let mutex = [("mutex", Number(0x5580))];
        program.event(us(begin + 10), cpu, who, "mutex:wait_entry", &mutex);
        program.event(us(begin + 10 + wait), cpu, who, "mutex:wait_exit", &mutex);
        let status = [("status", Number(if number == 20 { 503 } else { 200 }))];
        let end = begin + 20 + wait + number % 4;
        program.event(us(end), cpu, who, "http:request_exit", &status);
    }
    let opened = [("path", Text("/srv/shop.db")), ("result", Number(3))];
    program.event(us(8_000), 0, BACKUP, "io:open_entry", &[("flags", Number(0))]);
    program.event(us(8_020), 0, BACKUP, "io:open_exit", &opened);
    for number in 0..5 {
        let begin = 8_100 + number * 800;
        let entry = [("fd", Number(3)), ("count", Number(65_536))];
        program.event(us(begin), 0, BACKUP, "io:read_entry", &entry);
        let exit = [("result", Number(65_536)), ("error", Number(0))];
        program.event(us(begin + 390), 0, BACKUP, "io:read_exit", &exit);
    }
    program
}
