// SPDX-License-Identifier: MIT
//! `lull record`: run a program and record what it and its children do.
//!
//! Place in the flow: arguments -> checked plan -> session, consumer, program -> verdict. Nothing
//! is started before everything that can be refused has been; once the program runs, its output,
//! its input and its status are its own. `lull start` does the same without a program.

mod absent;
pub mod asked;
pub mod attach;
mod begin;
pub(crate) mod budget;
pub mod change;
mod context;
pub mod detach;
pub(crate) mod filtered;
mod fire;
mod judge;
pub mod kernel;
pub mod launch;
mod limited;
mod members;
pub mod name;
pub mod plan;
pub mod program;
mod progress;
pub mod promptness;
pub mod reach;
pub mod runtime;
mod serve;
pub mod signals;
pub(crate) mod size;
pub mod supervise;
pub mod system;
pub mod tell;
mod triggers;
mod unmatched;

use crate::count::display::Display;
use crate::trigger::args::TriggerArgs;
use crate::trigger::plan::{Facts, Trigger, Whence};
use crate::{duration, say, trigger};
use consumer::folder::Sharing;
use plan::Plan;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Our own failure.
pub const FAILED: i32 = 125;
/// The program cannot be executed.
const NOT_EXECUTABLE: i32 = 126;
/// There is no such program.
const NOT_FOUND: i32 = 127;
/// The trace lacks what was asked for, and --fail-on-loss was given.
const LOST: i32 = 124;

/// What a session is to record, how, and into what.
#[derive(Debug, clap::Args)]
pub struct SessionArgs {
    /// What to call the session [default: the program's name, or a name with a number]
    #[arg(long, value_name = "NAME", value_parser = name::parse)]
    pub name: Option<String>,

    /// Directory for the trace [default: lull-trace-DATE-TIME, and the link lull-trace to it]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Replace an older trace in the directory of -o
    #[arg(long, requires = "output")]
    pub overwrite: bool,

    /// Permissions of the trace's directory, in octal; its files have them without execution
    #[arg(long, value_name = "MODE", default_value = "0700")]
    pub mode: Sharing,

    /// Events to record: GLOB, GLOB@LEVEL, !GLOB for none of these, 'GLOB if FILTER' for some
    /// occurrences, 'GLOB sample 1/N' or 'GLOB if FILTER sample 1/N' for one in N; later ones win
    #[arg(short = 'e', long = "event", value_name = "PATTERN")]
    pub events: Vec<String>,

    /// Record the kernel's events, too, as root
    #[arg(short, long)]
    pub kernel: bool,

    /// An event at any place, by the module lull and as root: `p:own/read vfs_read count`, a
    /// function's begin; `r`, its return; `t`, a tracepoint; `p:... /PATH:OFFSET`, a place in a
    /// program, `r:...` a return there; `w`, an access of memory; `MODULE:` before the name of a
    /// module's function or tracepoint. The words are those of tracefs's kprobe_events
    #[arg(long = "probe", value_name = "PLACE", requires = "kernel")]
    #[arg(value_parser = ::kernel::source::parse)]
    pub probes: Vec<session::device::Source>,

    /// What to record of what runs with each event: contexts of filters, user_stack,
    /// user_stack_copy or cpu_time, and of the kernel's events, by the module lull, kernel_stack or
    /// counters, as in `--context prio,user_stack:16`
    #[arg(long = "context", value_name = "NAME,...", value_delimiter = ',')]
    #[arg(value_parser = context::parse)]
    pub contexts: Vec<context::Asked>,

    /// Whose events of the kernel's to record
    #[arg(long, value_name = "WHOSE", value_enum, default_value = "machine", requires = "kernel")]
    pub kernel_of: kernel::Whose,

    /// Of the kernel, record changes only, and not what there was before
    #[arg(long, requires = "kernel")]
    pub no_state_dump: bool,

    /// Size of one sub-buffer; each CPU has several [default: 1M, less where memory is scarce or
    /// --max-size is small]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub buffer_size: Option<u64>,

    /// Sub-buffers for each CPU
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub buffers: u32,

    /// Keep the newest events in memory; write them on exit, on SIGUSR1 and for `lull snapshot`
    #[arg(long)]
    pub flight_recorder: bool,

    /// Keep the kernel's newest events in the memory that was reserved at boot, for `lull recover`
    /// after a crash of the machine
    #[arg(long, requires = "kernel", requires = "flight_recorder")]
    pub reserved: bool,

    /// Stop recording, not the program, when the trace has this size, 8K at least; snapshots of a
    /// flight recorder have that of its buffers
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    #[arg(conflicts_with = "flight_recorder")]
    pub max_size: Option<u64>,

    /// What programs' events may cost, of the time of the CPUs on which they occur, such as 1%: the
    /// hottest are throttled, to 1/2, 1/4 and so on, until they cost no more; the verdict says
    /// which, how far and when
    #[arg(long, value_name = "PART", value_parser = budget::parse)]
    pub budget: Option<u32>,

    /// How often events of quiet CPUs are written out; a number alone is milliseconds
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    #[arg(value_parser = duration::parse_period)]
    pub flush_period: Duration,

    /// Exit with status 124 if events were lost, processes not recorded, or nothing matched
    #[arg(long)]
    pub fail_on_loss: bool,

    /// Say nothing, not even what was lost
    #[arg(short, long)]
    pub quiet: bool,
}

/// Run a program and record what it does
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The status is the program's own (128 + N when signal N ended it); 125 when \
    recording itself failed, 126 or 127 when the program could not be started, 124 when the \
    verdict is incomplete or nothing matched, with --fail-on-loss.\n\nWithout -e, what is \
    recorded is everything the program itself instruments, process and thread life, lock \
    contention, and file and socket I/O; memory allocation only when a pattern names it. With \
    -e, the events that tell of the lives of processes (process:start, join, fork*, exec_*, \
    spawn_*, exit, quick_exit) are recorded too, for the verdict rests on them; -e '!process:*' \
    leaves them out, and the verdict says so.\n\nWith -k and without PROGRAM, the kernel is \
    recorded until Ctrl-C or --duration.\n\nWith -p, --comm or --all-mine, programs are \
    recorded that run already: from now until Ctrl-C, --duration, or the end of the last of \
    them. One thread of each is stopped for some milliseconds and loads liblull. In the end the \
    programs are as they were, but for the library, which stays without effect until the next \
    time; they go on, and their status is not ours.\n\nWith -k, the kernel's events are \
    recorded by the module lull where that is loaded and has what is asked for, otherwise \
    through an instance of tracefs that is removed at the end; --kernel-of program needs \
    tracefs, --flight-recorder the module. Their names are those of tracefs (GROUP:NAME); \
    `lull list -k` shows them, and the patterns of -e choose among them as among \
    the program's. Without -e, they are those of scheduling, system calls, interrupts, block \
    devices and signals, and with the module what there was before (state:*); a pattern without a \
    letter, such as '*', means the same.\n\nA filter behind a \
    pattern, as in -e 'http:request if status >= 500' or -k -e 'syscalls:sys_exit_* if ret < 0', \
    says which occurrences are recorded, of a program's events and, with the module, of the \
    kernel's, those of --probe and of other modules included; events of process are never \
    filtered. It compares fields, contexts and constants: pid == 42 && comm == \"git*\", url =~ \
    \"/api/*/user?\", $cpu < 4, flags & 0x40, syscall == openat. A name is the event's field or \
    else the context's; $NAME is always the context: $pid, $tid, $comm, $cpu, $uid, and of the \
    kernel's events $prio, $gid, $cgroup, $pid_ns, $net_ns, $mnt_ns, $uts_ns, $ipc_ns, \
    $cgroup_ns, $user_ns.\n\nsample 1/N behind a pattern or a filter records one in N of a \
    program's occurrences, drawn by chance, so that counts times N are estimates; the verdict \
    and the trace name the events and rates. Entry and exit of a call, as NAME_entry and \
    NAME_exit, are drawn once where both have the same rate and neither a filter nor a budget: \
    the calls of the sample are measured as all calls are.\n\n--context records these contexts \
    with each event of programs and of the kernel's, under their names without the $, and call \
    stacks: user_stack, which takes programs that keep frame pointers, and of the kernel's events \
    kernel_stack; a number behind a colon says how many frames at most, up to 128 (otherwise \
    32). user_stack_copy, of programs' events, is for programs without frame pointers: it records \
    the stack itself, 8192 bytes of it or as many as the number behind a colon says, up to 32768, \
    and `lull report` finds the callers. Programs' events have cpu_time (of the thread, in \
    nanoseconds), too, and no gid. cpu_time and prio take a system call at each event of a \
    program. Of the kernel's events only, perf:cycles, instructions, cache-references, \
    cache-misses, branches, branch-misses, page-faults, major-faults, context-switches and \
    cpu-migrations, each behind perf:, record how many there were on the event's CPU. The \
    kernel's events have contexts only by the module."
)]
pub struct RecordArgs {
    #[command(flatten)]
    pub session: SessionArgs,

    #[command(flatten)]
    pub attach: attach::TargetArgs,

    /// Without PROGRAM, end after this time, such as 500ms, 10s or 2m; a number alone is seconds
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    #[arg(conflicts_with = "program")]
    pub duration: Option<Duration>,

    /// Only show which events of the program match, and run nothing
    #[arg(long)]
    pub list: bool,

    #[command(flatten)]
    pub triggers: TriggerArgs,

    /// Go on until all of the program's descendants have ended, too, or until a signal says to end
    #[arg(long)]
    pub wait_all: bool,

    /// Print the verdict as one line of JSON, on standard error
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// The program and its arguments
    #[arg(required_unless_present_any = ["kernel", "pids", "names", "all_mine"])]
    #[arg(conflicts_with_all = ["pids", "names", "all_mine"])]
    #[arg(trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// What is recorded, until when, and for whom.
pub struct Job<'a> {
    pub session: &'a SessionArgs,
    /// Empty: none is started.
    pub program: &'a [OsString],
    /// Processes that run already.
    pub targets: &'a [attach::Target],
    pub wait_all: bool,
    /// Every process of the machine joins that carries events.
    pub is_system: bool,
    pub duration: Option<Duration>,
    pub json: bool,
    /// The side of whoever waits until the session is ready; None: the recorder is in the
    /// foreground.
    pub starter: Option<detach::Starter>,
    /// None: a trace is recorded.
    pub counting: Option<RefCell<Display>>,
    pub triggers: &'a [Trigger],
}

/// Runs the command; the result is the exit status.
pub fn run(args: &RecordArgs) -> anyhow::Result<i32> {
    if args.list {
        return crate::list::record_list(args);
    }
    if args.program.is_empty() && args.session.kernel_of == kernel::Whose::Program {
        anyhow::bail!("--kernel-of program: there is no program");
    }
    let program = match args.program.first().map(|name| program::find(name)).transpose() {
        Ok(program) => program,
        Err(problem) => {
            say(&problem.to_string());
            return Ok(problem.status());
        }
    };
    let targets = if args.attach.is_asked() { args.attach.targets()? } else { Vec::new() };
    let can_join = !args.program.is_empty() || !targets.is_empty();
    let facts = Facts {
        is_flight_recorder: args.session.flight_recorder,
        has_program: program.is_some(),
        can_join,
        kernel: Whence::of(args.session.kernel),
    };
    let paths: Vec<PathBuf> = program.iter().map(|program| program.path.clone()).collect();
    let triggers = trigger::plan::triggers(&args.triggers.given, &facts, &paths)?;
    let plan = Plan::new(&args.session, program, can_join)?;
    trigger::plan::check_kernel(&triggers, &facts.with(plan.kernel.as_ref()))?;
    let mut job = Job {
        session: &args.session,
        program: &args.program,
        targets: &targets,
        wait_all: args.wait_all,
        is_system: false,
        duration: args.duration,
        json: args.json,
        starter: None,
        counting: None,
        triggers: &triggers,
    };
    supervise::record(&mut job, plan)
}
