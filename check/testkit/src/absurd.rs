// SPDX-License-Identifier: MIT
//! Traces that are well formed and make no sense.
//!
//! Place in the flow: for tests of what reads events by their names; the names are right, and the
//! fields are whatever the seed draws.

use std::path::PathBuf;

use crate::{random_stream, Kind, Random, Spec};

/// Names that the readers of Lull's and of LTTng's traces act on.
const MEANINGFUL: [&str; 26] = [
    "lull:thread",
    "io:read_entry",
    "io:read_exit",
    "io:open_exit",
    "io:close_range",
    "io:dup2",
    "mutex:wait_entry",
    "mutex:wait_exit",
    "process:start",
    "process:wait_exit",
    "syscall_entry_write",
    "syscall_exit_write",
    "lttng_statedump_start",
    "lttng_statedump_process_state",
    "lttng_statedump_file_descriptor",
    "lttng_statedump_block_device",
    "lttng_statedump_end",
    "sched_switch",
    "sched_waking",
    "sched_process_fork",
    "sched_process_exec",
    "syscall_entry_pipe2",
    "syscall_exit_pipe2",
    "syscall_entry_exit_group",
    "block_rq_issue",
    "block_rq_complete",
];
const FIELDS: [&str; 24] = [
    "fd",
    "result",
    "pid",
    "tid",
    "name",
    "path",
    "mutex",
    "status",
    "first_fd",
    "last_fd",
    "file_table_address",
    "fildes",
    "ret",
    "prev_tid",
    "prev_state",
    "next_tid",
    "child_tid",
    "child_pid",
    "parent_pid",
    "dev",
    "sector",
    "nr_sector",
    "rwbs",
    "diskname",
];
const CONTEXTS: [&str; 5] = ["tid", "pid", "procname", "vtid", "vpid"];

/// The metadata and the named streams of a random trace in which any kind of value stands where
/// numbers and texts are looked for.
pub fn absurd(seed: u64) -> (String, Vec<(PathBuf, Vec<u8>)>) {
    let random = &mut Random::new(seed);
    let mut spec = Spec::random(seed);
    for (i, event) in spec.events.iter_mut().enumerate() {
        event.name = MEANINGFUL[(seed as usize + i) % MEANINGFUL.len()].into();
        if let Kind::Struct { fields, .. } = &mut event.payload {
            for (field, _) in fields.iter_mut() {
                *field = format!("{}_{}", random.pick(&FIELDS), field);
            }
            let known = fields
                .iter_mut()
                .zip(FIELDS.iter().skip(random.below(FIELDS.len() as u64 - 2) as usize));
            known.for_each(|((field, _), name)| *field = (*name).to_string());
        }
    }
    if let Some(Kind::Struct { fields, .. }) = &mut spec.stream_context {
        let known = fields.iter_mut().zip(CONTEXTS.iter().skip(random.below(4) as usize));
        known.for_each(|((field, _), name)| *field = (*name).to_string());
    }
    let streams = (0..2).map(|cpu| {
        let (bytes, _) = random_stream(&spec, cpu, seed + u64::from(cpu), 6);
        (format!("stream_{cpu}").into(), bytes)
    });
    let domain = if random.one_in(2) { "kernel" } else { "ust" };
    let metadata = spec.metadata().replace("domain = \"ust\"", &format!("domain = \"{domain}\""));
    (metadata, streams.collect())
}
