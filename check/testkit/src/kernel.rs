// SPDX-License-Identifier: MIT
//! What a made-up kernel did, in the words of Lull's kernel tracer or in those of LTTng's.
//!
//! Place in the flow: a test tells one story to both, and the answers to it have to be the same.

use crate::program::{Name, Number, Pair, Program, Text, Value, Who};

/// Whose words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracer {
    Lull,
    /// With these contexts.
    Lttng(&'static [&'static str]),
}

/// When and on which processor.
pub type When = (u64, u32);

pub struct Kernel {
    pub program: Program,
    is_lttng: bool,
}

/// LTTng's bits of requests, by the kernel's letters.
const REQUESTS: [(&str, i64); 4] = [("W", 1), ("R", 4), ("FF", 1 << 10 | 1 << 8), ("D", 2)];

/// What stands before the name of a system call in the names of its events.
const ENTRY: [&str; 2] = ["syscalls:sys_enter_", "syscall_entry_"];
const EXIT: [&str; 2] = ["syscalls:sys_exit_", "syscall_exit_"];

impl Kernel {
    pub fn new(tracer: Tracer) -> Self {
        match tracer {
            Tracer::Lull => Self { program: Program::new(), is_lttng: false },
            Tracer::Lttng(contexts) => Self { program: Program::lttng(contexts), is_lttng: true },
        }
    }

    /// An event whose names the two have apart.
    fn event(
        &mut self,
        (at_ns, cpu): When,
        who: Who,
        [lull, lttng]: [&'static str; 2],
        [of_lull, of_lttng]: [&[(&str, Value)]; 2],
    ) -> &mut Self {
        match self.is_lttng {
            true => self.program.event(at_ns, cpu, who, lttng, of_lttng),
            false => self.program.event(at_ns, cpu, who, lull, of_lull),
        }
        self
    }

    /// The entry or the exit of a system call.
    fn half(
        &mut self,
        when: When,
        who: Who,
        (before, call): ([&str; 2], &str),
        fields: [&[(&str, Value)]; 2],
    ) -> &mut Self {
        // Tests make a few of them, and events have the names of classes.
        let names = before.map(|before| &*format!("{before}{call}").leak());
        self.event(when, who, names, fields)
    }

    /// A processor goes over to another thread; the one before is in a state, by its number.
    pub fn switch(&mut self, when: When, (prev, state): (Who, i64), next: Who) -> &mut Self {
        if !self.is_lttng {
            self.program.switch(when, (prev, state), next);
            return self;
        }
        let fields = [
            ("prev_comm", Name(prev.2)),
            ("prev_tid", Number(prev.1)),
            ("prev_prio", Number(20)),
            ("prev_state", Number(state)),
            ("next_comm", Name(next.2)),
            ("next_tid", Number(next.1)),
            ("next_prio", Number(20)),
        ];
        self.program.event(when.0, when.1, prev, "sched_switch", &fields);
        self
    }

    /// A thread wakes another up, which is ready two nanoseconds later.
    pub fn wake(&mut self, (at_ns, cpu): When, by: Who, woken: Who) -> &mut Self {
        let of_lull = [("comm", Text(woken.2)), ("pid", Number(woken.1))];
        let of_lttng = [("comm", Name(woken.2)), ("tid", Number(woken.1))];
        let fields: [&[(&str, Value)]; 2] = [&of_lull, &of_lttng];
        self.event((at_ns, cpu), by, ["sched:sched_waking", "sched_waking"], fields);
        self.event((at_ns + 2, cpu), by, ["sched:sched_wakeup", "sched_wakeup"], fields)
    }

    /// A system call begins.
    pub fn enter(
        &mut self,
        when: When,
        who: Who,
        call: &str,
        fields: &[(&str, Value)],
    ) -> &mut Self {
        self.half(when, who, (ENTRY, call), [fields; 2])
    }

    /// It returns.
    pub fn exit(
        &mut self,
        when: When,
        who: Who,
        call: &str,
        fields: &[(&str, Value)],
    ) -> &mut Self {
        self.half(when, who, (EXIT, call), [fields; 2])
    }

    /// A call that makes two descriptors returns them.
    pub fn exit_with_ends(
        &mut self,
        when: When,
        who: Who,
        call: &str,
        ends: [i64; 2],
    ) -> &mut Self {
        let (name, first, second) = match call {
            "socketpair" => ("socket", "usockvec_first", "usockvec_second"),
            _ => ("fildes", "fildes_read", "fildes_write"),
        };
        let of_lull = [("ret", Number(0)), (first, Number(ends[0])), (second, Number(ends[1]))];
        let of_lttng = [("ret", Number(0)), (name, Pair(ends))];
        self.half(when, who, (EXIT, call), [&of_lull, &of_lttng])
    }

    /// A device interrupts from a time to another.
    pub fn interrupt(
        &mut self,
        (from, until): (u64, u64),
        cpu: u32,
        who: Who,
        irq: i64,
    ) -> &mut Self {
        let entry = [("irq", Number(irq)), ("name", Text("disk"))];
        let exit = [("irq", Number(irq)), ("ret", Number(1))];
        let names = ["irq:irq_handler_entry", "irq_handler_entry"];
        self.event((from, cpu), who, names, [&entry, &entry]);
        let names = ["irq:irq_handler_exit", "irq_handler_exit"];
        self.event((until, cpu), who, names, [&exit, &exit])
    }

    /// The same by a soft interrupt.
    pub fn soft(&mut self, (from, until): (u64, u64), cpu: u32, who: Who, vec: i64) -> &mut Self {
        let fields = [("vec", Number(vec))];
        let names = ["irq:softirq_entry", "irq_softirq_entry"];
        self.event((from, cpu), who, names, [&fields, &fields]);
        let names = ["irq:softirq_exit", "irq_softirq_exit"];
        self.event((until, cpu), who, names, [&fields, &fields])
    }

    /// A device has a request of 8 sectors from a time to another.
    pub fn request(
        &mut self,
        (from, until): (u64, u64),
        cpu: u32,
        who: Who,
        (sector, letters): (i64, &'static str),
    ) -> &mut Self {
        let bits =
            REQUESTS.iter().find(|(known, _)| *known == letters).map_or(0, |(_, bits)| *bits);
        for (at, name, is_end) in [(from, "issue", false), (until, "complete", true)] {
            let fields = |rwbs| {
                let mut fields = vec![
                    ("dev", Number(254 << 20)),
                    ("sector", Number(sector)),
                    ("nr_sector", Number(8)),
                    ("rwbs", rwbs),
                ];
                fields.extend(is_end.then_some(("error", Number(0))));
                fields
            };
            let names = [format!("block:block_rq_{name}"), format!("block_rq_{name}")];
            let [of_lull, of_lttng] = [fields(Text(letters)), fields(Number(bits))];
            self.event((at, cpu), who, names.map(|n| &*n.leak()), [&of_lull, &of_lttng]);
        }
        self
    }

    /// A process has a child of one thread.
    pub fn fork(&mut self, when: When, parent: Who, child: Who) -> &mut Self {
        let of_lull =
            [("pid", Number(child.1)), ("comm", Text(child.2)), ("clone_flags", Number(17))];
        let of_lttng = [
            ("parent_comm", Name(parent.2)),
            ("parent_tid", Number(parent.1)),
            ("parent_pid", Number(parent.0)),
            ("child_comm", Name(child.2)),
            ("child_tid", Number(child.1)),
            ("child_pid", Number(child.0)),
        ];
        let names = ["task:task_newtask", "sched_process_fork"];
        self.event(when, parent, names, [&of_lull, &of_lttng])
    }

    /// A process becomes another program.
    pub fn execute(&mut self, when: When, who: Who, path: &'static str) -> &mut Self {
        let of_lull =
            [("filename", Text(path)), ("pid", Number(who.0)), ("old_pid", Number(who.1))];
        let of_lttng =
            [("filename", Text(path)), ("tid", Number(who.0)), ("old_tid", Number(who.1))];
        let names = ["sched:sched_process_exec", "sched_process_exec"];
        self.event(when, who, names, [&of_lull, &of_lttng])
    }

    /// A thread ends.
    pub fn end(&mut self, when: When, who: Who) -> &mut Self {
        let of_lull = [("comm", Text(who.2)), ("pid", Number(who.1))];
        let of_lttng = [("comm", Name(who.2)), ("tid", Number(who.1))];
        let names = ["sched:sched_process_exit", "sched_process_exit"];
        self.event(when, who, names, [&of_lull, &of_lttng])
    }

    /// A dump of the state begins.
    pub fn dump_begins(&mut self, when: When, by: Who) -> &mut Self {
        let names = ["state:begin", "lttng_statedump_start"];
        self.event(when, by, names, [&[("number", Number(1))], &[]])
    }

    /// It has told all.
    pub fn dump_ends(&mut self, when: When, by: Who) -> &mut Self {
        let of_lull = [("number", Number(1)), ("is_whole", Number(1))];
        self.event(when, by, ["state:end", "lttng_statedump_end"], [&of_lull, &[]])
    }

    /// It tells of a thread, which is there or ends, and of its parent.
    pub fn dump_thread(&mut self, when: When, by: Who, who: Who, lives: bool) -> &mut Self {
        let of_lull = [
            ("tid", Number(who.1)),
            ("pid", Number(who.0)),
            ("ppid", Number(1)),
            ("name", Text(who.2)),
            ("state", Text(if lives { "S" } else { "Z" })),
        ];
        let of_lttng = [
            ("tid", Number(who.1)),
            ("pid", Number(who.0)),
            ("ppid", Number(1)),
            ("name", Name(who.2)),
            ("type", Number(0)),
            ("mode", Number(5)),
            ("submode", Number(0)),
            ("status", Number(if lives { 5 } else { 4 })),
            ("cpu", Number(0)),
            ("file_table_address", Number(table(who))),
        ];
        let names = ["state:thread", "lttng_statedump_process_state"];
        self.event(when, by, names, [&of_lull, &of_lttng])
    }

    /// It tells of a descriptor of the thread before.
    pub fn dump_file(
        &mut self,
        when: When,
        by: Who,
        (who, fd): (Who, i64),
        (path, closes_on_exec): (&'static str, bool),
    ) -> &mut Self {
        let of_lull = [
            ("pid", Number(who.0)),
            ("fd", Number(fd)),
            ("closes_on_exec", Number(closes_on_exec.into())),
            ("path", Text(path)),
        ];
        let of_lttng = [
            ("file_table_address", Number(table(who))),
            ("fd", Number(fd)),
            // Open to write: the bit of the lowest value says nothing about execution.
            ("flags", Number(1 | if closes_on_exec { 0o2_000_000 } else { 0 })),
            ("fmode", Number(1)),
            ("filename", Text(path)),
        ];
        let names = ["state:file", "lttng_statedump_file_descriptor"];
        self.event(when, by, names, [&of_lull, &of_lttng])
    }

    /// It tells of a disk.
    pub fn dump_disk(&mut self, when: When, by: Who) -> &mut Self {
        let of_lull = [("device", Number(254 << 20)), ("name", Text("vda"))];
        let of_lttng = [("dev", Number(254 << 20)), ("diskname", Text("vda"))];
        let names = ["state:block_device", "lttng_statedump_block_device"];
        self.event(when, by, names, [&of_lull, &of_lttng])
    }
}

/// Where the kernel has the table of a process's descriptors.
fn table(who: Who) -> i64 {
    0xffff_8880_0000_0000_u64 as i64 + who.0 * 0x40
}
