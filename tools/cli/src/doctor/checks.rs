// SPDX-License-Identifier: MIT
//! The checks of `lull doctor`, one function each.

use super::{clocks_agree, Finding, Health};
use crate::library;
use crate::record::system;
use session::abi::{RESERVED_FREE, RESERVED_LEFT, RESERVED_USED};
use session::clock::{ClockFacts, ClockKind};
use session::device::Device;
use session::machine;
use std::fs;

/// Memory that a recording with default buffers takes for each CPU.
const DEFAULT_RING_BYTES: u64 = 9 << 20;
const MEMBARRIER_SYNC_CORE: libc::c_long = 1 << 5;

pub fn all() -> Vec<Finding> {
    vec![
        kernel(),
        liblull(),
        clock(),
        rseq(),
        membarrier(),
        code_patching(),
        session_memory(),
        left_behind(),
        address_space(),
        file_size(),
        seccomp(),
        super::attach::attach(),
        whole_machine(),
        contexts(),
        perf_events(),
        tracefs(),
        reserved(),
    ]
}

fn kernel() -> Finding {
    const RELEASE: &str = "/proc/sys/kernel/osrelease";
    let release = match fs::read_to_string(RELEASE) {
        Ok(release) => release.trim().to_string(),
        Err(error) => {
            let found = format!("{RELEASE} cannot be read: {error}");
            let meaning = "what /proc tells is not known: of the kernel, of programs, of this one";
            return Finding::good("kernel", found, "").but(Health::Bad, meaning, "mount /proc");
        }
    };
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let finding = Finding::good("kernel", release, "new enough for everything Lull uses");
    if version < (4, 18) {
        let meaning = "older than restartable sequences (4.18): events cost more";
        return finding.but(Health::Limited, meaning, "use a newer kernel");
    }
    finding
}

fn liblull() -> Finding {
    const MEANING: &str = "it is what records inside programs";
    match library::find() {
        Ok(libraries) if libraries.allocation.is_none() => {
            Finding::good("liblull", libraries.lull.display().to_string(), MEANING).but(
                Health::Limited,
                "it records inside programs, but memory allocation cannot be recorded",
                "install liblull-malloc.so beside it",
            )
        }
        Ok(libraries) => Finding::good("liblull", libraries.lull.display().to_string(), MEANING),
        Err(error) => Finding::good("liblull", "not found", MEANING).but(
            Health::Bad,
            "nothing can be recorded",
            error.to_string(),
        ),
    }
}

fn clock() -> Finding {
    let (kind, reason) = ClockKind::choose(&ClockFacts::here());
    let found = format!("{} ({reason})", kind.name());
    let finding = Finding::good("clock", found, "reading it is cheap, about 10 ns");
    if !clocks_agree(kind) {
        return finding.but(
            Health::Bad,
            "traced programs would choose another clock and could not join",
            "report this as an error of Lull's",
        );
    }
    match kind {
        ClockKind::Monotonic => finding.but(
            Health::Limited,
            "each event costs about 15 ns more than with a counter register",
            "",
        ),
        _ => finding,
    }
}

fn rseq() -> Finding {
    if machine::has_rseq() {
        return Finding::good(
            "restartable sequences",
            "registered by the C library",
            "events are reserved without locked instructions, and a killed program leaves no gap \
             of unknown size",
        );
    }
    Finding::good("restartable sequences", "not registered", "").but(
        Health::Limited,
        "events are reserved with a locked instruction, which costs some nanoseconds each",
        "use glibc 2.35 or newer, and do not set glibc.pthread.rseq=0 in GLIBC_TUNABLES",
    )
}

fn membarrier() -> Finding {
    // SAFETY: command 0 only asks which commands there are.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, 0, 0, 0) };
    if commands >= 0 && commands & MEMBARRIER_SYNC_CORE != 0 {
        return Finding::good(
            "membarrier",
            "offered, with core serialisation",
            "sites are enabled safely while threads run through them",
        );
    }
    Finding::good("membarrier", "core serialisation not offered", "").but(
        Health::Limited,
        "threads that run while a library is loaded may miss its first events",
        "use Linux 4.16 or newer, and allow membarrier in seccomp filters",
    )
}

fn code_patching() -> Finding {
    let finding = Finding::good(
        "program text",
        "may be changed",
        "enabled sites are jumps, disabled ones no-ops",
    );
    if text_is_patchable() {
        return finding;
    }
    Finding { found: "may not be changed".into(), ..finding }.but(
        Health::Limited,
        "instrumented lines are not recorded unless compiled to test a flag; interposers are",
        "allow execmod for the program in the security policy (SELinux, PaX)",
    )
}

/// Whether a private mapping of a file's text can be made writable and executable again.
fn text_is_patchable() -> bool {
    let Ok(file) = fs::File::open("/proc/self/exe") else { return false };
    use std::os::fd::AsRawFd;
    const PAGE: usize = 4096;
    let execute = libc::PROT_READ | libc::PROT_EXEC;
    // SAFETY: a fresh private mapping of one page, changed by one byte and unmapped.
    unsafe {
        let null = std::ptr::null_mut();
        let page = libc::mmap(null, PAGE, execute, libc::MAP_PRIVATE, file.as_raw_fd(), 0);
        if page == libc::MAP_FAILED {
            return false;
        }
        let writable = libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) == 0;
        if writable {
            page.cast::<u8>().write_volatile(0x90);
        }
        let works = writable && libc::mprotect(page, PAGE, execute) == 0;
        libc::munmap(page, PAGE);
        works
    }
}

fn session_memory() -> Finding {
    const MEANING: &str = "buffers lie in memory that programs and recorder share";
    const RMID_FORCED: &str = "/proc/sys/kernel/shm_rmid_forced";
    let needed = (machine::online_cpus().len() as u64 + 1) * DEFAULT_RING_BYTES;
    let size = verdict::text::bytes(needed);
    let available = machine::available_bytes();
    let left = available.map_or("an unknown amount".into(), verdict::text::bytes);
    let finding = Finding::good("session memory", format!("{left} available"), MEANING);
    if let Err(error) = session::Session::attempt(needed) {
        const LIMITS: &str = "raise kernel.shmmax, kernel.shmall and kernel.shmmni, or use a \
            smaller --buffer-size";
        let (found, advice) = match error {
            session::Error::Segment { source } => {
                (format!("no segment of {size}: {source}"), LIMITS)
            }
            other => (other.to_string(), ""),
        };
        let meaning = "nothing can be recorded with default buffers";
        return Finding { found, ..finding }.but(Health::Bad, meaning, advice);
    }
    if available.is_some_and(|available| available < needed) {
        let advice = "use a smaller --buffer-size, or end programs that need much memory";
        return finding.but(Health::Limited, "default buffers will be smaller", advice);
    }
    if std::fs::read_to_string(RMID_FORCED).is_ok_and(|forced| forced.trim() != "0") {
        return finding.but(
            Health::Limited,
            "what a killed recorder leaves is lost when the programs that it recorded end",
            "set kernel.shm_rmid_forced to 0",
        );
    }
    finding
}

/// Sessions of recorders that were killed.
fn left_behind() -> Finding {
    let left = session::directory::left_behind();
    let finding = Finding::good("left-behind sessions", "none", "no recorder was killed");
    if left.is_empty() {
        return finding;
    }
    let found: Vec<String> = left.iter().map(crate::record::tell::left_line).collect();
    Finding { found: found.join("; "), ..finding }.but(
        Health::Limited,
        "they take memory, and what they hold may be in no trace",
        "run `lull recover`",
    )
}

fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    // SAFETY: the structure is writable; getrlimit fills it in.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(resource, &mut limit) != 0 || limit.rlim_cur == libc::RLIM_INFINITY {
            return None;
        }
        Some(limit.rlim_cur)
    }
}

fn address_space() -> Finding {
    let finding = Finding::good("address space", "not limited", "buffers can be mapped");
    let Some(bytes) = limit(libc::RLIMIT_AS) else { return finding };
    let rings = u64::from(machine::possible_cpus() + 1);
    let needed = rings * (DEFAULT_RING_BYTES + (u64::from(session::abi::SUBBUF_SPARES) << 20));
    let found = format!("limited to {}", verdict::text::bytes(bytes));
    let finding = Finding { found, ..finding };
    if bytes < 4 * needed {
        return finding.but(
            Health::Limited,
            "programs may be unable to map the buffers, or anything else afterwards",
            "raise it with `ulimit -v unlimited`, or use a smaller --buffer-size",
        );
    }
    finding
}

fn file_size() -> Finding {
    let finding = Finding::good("file size", "not limited", "traces can grow as far as the disk");
    let Some(bytes) = limit(libc::RLIMIT_FSIZE) else { return finding };
    let found = format!("limited to {}", verdict::text::bytes(bytes));
    Finding { found, ..finding }.but(
        Health::Limited,
        "events beyond that are dropped and counted",
        "raise it with `ulimit -f unlimited`",
    )
}

fn seccomp() -> Finding {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).unwrap_or("0");
    match mode.trim() {
        "0" => Finding::good("seccomp", "no filter", "no system call is kept from Lull"),
        _ => Finding::good(
            "seccomp",
            "a filter is active",
            "what it forbids of the above is shown there",
        ),
    }
}

/// What `--context` can record of programs' events, and of counters.
fn contexts() -> Finding {
    let is_there = |path: &str| std::path::Path::new(path).exists();
    let group = match is_there("/sys/fs/cgroup/cgroup.controllers") {
        true => "",
        false => "; cgroup is 0: no version 2 at /sys/fs/cgroup",
    };
    let counters = match is_there("/sys/bus/event_source/devices/cpu/rdpmc") {
        true => "perf: counts for the kernel's events only",
        false => "the processor has no counters for perf: here",
    };
    let meaning = "programs' events can have call stacks, CPU time and the rest by --context";
    let finding = Finding::good("contexts", format!("{counters}{group}"), meaning);
    // SAFETY: an empty range is looked at, and nothing is done to it.
    let advised = unsafe { libc::madvise(std::ptr::null_mut(), 0, libc::MADV_POPULATE_READ) };
    if advised == 0 {
        return finding;
    }
    let meaning = "user_stack has one frame only: the kernel cannot say what a thread's stack is";
    finding.but(Health::Limited, meaning, "use Linux 5.14 or newer")
}

fn perf_events() -> Finding {
    let text = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let found = match text.trim() {
        "" => "not offered".to_string(),
        level => format!("perf_event_paranoid is {level}"),
    };
    Finding::good(
        "perf events",
        found,
        "used for nothing but the counter's rate, which is measured otherwise",
    )
}

/// What `lull start --system` needs.
fn whole_machine() -> Finding {
    const ABOUT: &str = "whole machine";
    if let Err(error) = system::check() {
        let meaning = "programs are recorded one by one; lull start --system cannot be used";
        return Finding::good(ABOUT, error.to_string(), meaning);
    }
    match system::tells_of_births() {
        Ok(()) => Finding::good(
            ABOUT,
            "the kernel tells of programs that begin",
            "lull start --system has them join, and those that run",
        ),
        Err(error) => Finding::good(
            ABOUT,
            format!("the kernel does not tell of programs that begin: {error}"),
            "lull start --system finds programs by a look at all processes every 5 seconds",
        ),
    }
}

fn tracefs() -> Finding {
    const ABOUT: &str = "kernel tracing";
    let device = Device::open();
    let module = match &device {
        Ok(Some(_)) => "the module lull is loaded; ".to_string(),
        Ok(None) => String::new(),
        Err(error) => format!("{error}; "),
    };
    let root = match kernel::Root::find() {
        Ok(root) => root,
        Err(error) if matches!(device, Ok(Some(_))) => {
            let meaning = "the kernel's events can be recorded (-k), but not with --kernel-of";
            return Finding::good(ABOUT, format!("{module}{error}"), meaning);
        }
        Err(error) => {
            let meaning = "programs are recorded; the kernel's events (-k) cannot be";
            return Finding::good(ABOUT, format!("{module}{error}"), meaning);
        }
    };
    let found = format!("{module}tracefs is at {}", root.path().display());
    let meaning = match device {
        Ok(Some(_)) => "the kernel's events can be recorded (-k), by the module",
        _ => "the kernel's events can be recorded (-k), through tracefs",
    };
    let finding = Finding::good(ABOUT, found, meaning);
    let left: Vec<String> =
        root.left_behind().iter().map(crate::record::kernel::left_line).collect();
    if left.is_empty() {
        return finding;
    }
    let found = format!("{}; left: {}", finding.found, left.join("; "));
    Finding { found, ..finding }.but(
        Health::Limited,
        "what killed recorders left there costs the machine memory and time",
        "run `lull recover`, or `lull record -k`, which remove it",
    )
}

fn reserved() -> Finding {
    const ABOUT: &str = "reserved memory";
    let none = "a crash of the machine ends a flight recorder of the kernel's with all it holds";
    let asked = match Device::open() {
        Ok(Some(device)) => device.reserved(),
        Ok(None) => return Finding::good(ABOUT, "the module lull is not loaded", none),
        Err(error) => Err(error),
    };
    let found = match asked {
        Ok(found) => found,
        Err(error) => return Finding::good(ABOUT, error.to_string(), none),
    };
    let kept = "`lull record -k --flight-recorder --reserved` survives a crash of the machine";
    let mib = found.reserved_bytes >> 20;
    match found.state {
        RESERVED_FREE => Finding::good(ABOUT, format!("{mib} MiB, free"), kept),
        RESERVED_USED => Finding::good(ABOUT, format!("{mib} MiB, in use"), kept),
        RESERVED_LEFT => Finding::good(
            ABOUT,
            format!("{mib} MiB, in which a crash of the machine left a session"),
            kept,
        )
        .but(
            Health::Limited,
            "no other session can be there",
            "run `lull recover`, which makes a trace of it, or `lull recover --discard /dev/lull`",
        ),
        _ => Finding::good(ABOUT, "none", none),
    }
}
