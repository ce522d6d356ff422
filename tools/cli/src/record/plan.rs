// SPDX-License-Identifier: MIT
//! The plan of a recording: every argument checked, every default filled in.
//!
//! Place in the flow: between arguments and the first thing made.

use super::asked::Asked;
use super::kernel::Kernel;
use super::program::Program;
use super::{context, filtered, SessionArgs};
use crate::library::{self, Libraries};
use anyhow::bail;
use session::abi::{
    SESSIONS_MAX, SESSION_VARIABLE, SUBBUF_BYTES_MIN, SUBBUF_COUNT_MAX, SUBBUF_COUNT_MIN,
};
use session::clock::{ClockFacts, ClockKind};
use session::machine;
use session::pattern::Patterns;
use std::path::Path;
use std::time::Duration;
use uuid::Uuid;

const SUBBUF_BYTES: u64 = 1 << 20;
/// Below this, the machine's memory does not make default buffers smaller.
const SUBBUF_BYTES_LEAST: u64 = 64 << 10;
/// Of a trace with a limit, one sub-buffer is at most this part.
const LIMIT_PARTS: u64 = 4;
/// Default buffers take at most this part of the memory that is available.
const MEMORY_PART: u64 = 16;

/// What is loaded into programs that are recorded.
pub struct Loaded {
    libraries: Libraries,
    preload_allocation: bool,
}

pub struct Plan {
    /// None: none is started.
    pub program: Option<Program>,
    /// None: only the kernel is recorded, and no program can join.
    pub loaded: Option<Loaded>,
    /// None: only programs are recorded.
    pub kernel: Option<Kernel>,
    pub patterns: Patterns,
    pub asked: Asked,
    pub session: session::Plan,
    /// Of one CPU's buffer.
    pub buffer_bytes: u64,
    pub clock: ClockKind,
    pub flush_period: Duration,
}

impl Plan {
    /// `can_join`: programs are recorded, that one or any.
    pub fn new(
        args: &SessionArgs,
        program: Option<Program>,
        can_join: bool,
    ) -> anyhow::Result<Self> {
        let asked = Asked::new(&args.events)?;
        let mut patterns = Patterns::new(asked.patterns())?;
        if args.budget.is_some() && !can_join {
            bail!("--budget is for the events of programs, and only the kernel is recorded");
        }
        let recorded = context::programs(&args.contexts);
        let has_stacks = recorded.user_frames != 0 || recorded.copy_bytes != 0;
        if has_stacks || patterns.has_locks() {
            patterns = patterns.with_objects();
        }
        let loaded = can_join.then(|| Loaded::find(&patterns)).transpose()?;
        if let Some(program) = &program {
            check_sessions_around(1)?;
            if asked.has_filters() {
                filtered::check(&asked, &crate::list::known_events(&program.path))?;
            }
        }
        let (clock, _) = ClockKind::choose(&ClockFacts::here());
        let (subbuf_size_bytes, subbuf_count) = match (args.buffer_size, args.max_size) {
            (Some(size), _) => (size, args.buffers),
            (None, None) => (default_size(args.buffers), args.buffers),
            (None, Some(limit)) => limited(args.buffers, limit),
        };
        let mut session = session::Plan {
            uuid: Uuid::new_v4().into_bytes(),
            flight_recorder: args.flight_recorder,
            clock_kind: clock.abi(),
            cpu_count: machine::possible_cpus(),
            rseq: machine::has_rseq(),
            subbuf_size_bytes,
            subbuf_count,
            patterns: patterns.text().to_string(),
            filters: filtered::of_session(&asked, &patterns),
            counts: None,
            has_budget: can_join && args.budget.is_some(),
            recorded,
        };
        session.check()?;
        check_limit(args.max_size, session.subbuf_size_bytes)?;
        context::check(&args.contexts, args.kernel, can_join)?;
        let kernel = Kernel::find(args, &asked, &patterns, &session)?;
        let clock = kernel.as_ref().map_or(clock, |kernel| kernel.clock(clock));
        session.clock_kind = clock.abi();
        let buffer_bytes = session.subbuf_size_bytes.saturating_mul(session.subbuf_count.into());
        if loaded.is_none() {
            // Nobody writes to the session's own buffers.
            session.subbuf_size_bytes = SUBBUF_BYTES_MIN;
            session.subbuf_count = SUBBUF_COUNT_MIN;
        }
        let flush_period = args.flush_period.max(Duration::from_millis(1));
        Ok(Self {
            program,
            loaded,
            kernel,
            patterns,
            asked,
            session,
            buffer_bytes,
            clock,
            flush_period,
        })
    }
}

impl Loaded {
    fn find(patterns: &Patterns) -> anyhow::Result<Self> {
        let libraries = library::find()?;
        let preload_allocation = patterns.names_allocation();
        if preload_allocation && libraries.allocation.is_none() {
            bail!(
                "the patterns name memory allocation, and liblull-malloc.so is not beside {}",
                libraries.lull.display()
            );
        }
        if let Some(path) = [Some(&libraries.lull), libraries.allocation.as_ref()]
            .into_iter()
            .flatten()
            .find(|path| path.to_string_lossy().contains([' ', ':']))
        {
            bail!(
                "{} has a space or a colon in it, where the dynamic linker splits LD_PRELOAD; \
                 install Lull elsewhere",
                path.display()
            );
        }
        Ok(Self { libraries, preload_allocation })
    }

    /// What a program that runs already loads.
    pub fn liblull(&self) -> &Path {
        &self.libraries.lull
    }

    /// From now on programs shall tell of memory allocation, too. Return: what that does not reach.
    pub fn preload_allocation(&mut self) -> Option<&'static str> {
        let was_preloaded = std::mem::replace(&mut self.preload_allocation, true);
        if self.libraries.allocation.is_none() {
            return Some("memory allocation is not recorded: liblull-malloc.so is not installed");
        }
        (!was_preloaded).then_some(
            "memory allocation is recorded in programs that join the session from now on, and not \
             in those that run already",
        )
    }

    /// What is preloaded, in this order.
    pub fn preload(&self) -> Vec<&Path> {
        let allocation = self.libraries.allocation.as_deref().filter(|_| self.preload_allocation);
        std::iter::once(self.libraries.lull.as_path()).chain(allocation).collect()
    }
}

/// A program of ours takes part in the sessions that we take part in, and in some more.
pub fn check_sessions_around(more: usize) -> anyhow::Result<()> {
    let around = std::env::var_os(SESSION_VARIABLE).unwrap_or_default();
    let around = around.as_encoded_bytes().split(|byte| *byte == b':');
    if around.filter(|path| !path.is_empty()).count() + more > SESSIONS_MAX {
        bail!(
            "{SESSIONS_MAX} sessions record a program at once, and no more; one with --on counts \
             twice"
        );
    }
    Ok(())
}

/// A size for sub-buffers that leaves the machine its memory.
fn default_size(subbuf_count: u32) -> u64 {
    let rings = machine::online_cpus().len() as u64 + 1;
    let room = machine::available_bytes().map_or(u64::MAX, |available| available / MEMORY_PART);
    let fitting = room / (rings * u64::from(subbuf_count.max(1) + 1));
    let power = fitting.checked_ilog2().map_or(1, |bits| 1 << bits);
    SUBBUF_BYTES.min(power).max(SUBBUF_BYTES_LEAST)
}

/// Size and number of sub-buffers for a trace that may not have more than `limit_bytes`: it takes
/// several of them, whole, and a ring holds as much as without the limit.
fn limited(subbuf_count: u32, limit_bytes: u64) -> (u64, u32) {
    let whole = default_size(subbuf_count);
    let part = (limit_bytes / LIMIT_PARTS).checked_ilog2().map_or(1, |bits| 1 << bits);
    let size = part.clamp(SUBBUF_BYTES_MIN, whole);
    let more = u32::try_from(whole / size).unwrap_or(u32::MAX);
    // A number that cannot be is refused as it was given.
    let count = match subbuf_count.is_power_of_two() && subbuf_count <= SUBBUF_COUNT_MAX {
        true => subbuf_count.saturating_mul(more).min(SUBBUF_COUNT_MAX),
        false => subbuf_count,
    };
    (size, count)
}

/// Events are written a sub-buffer at a time, where they come fast.
fn check_limit(limit_bytes: Option<u64>, subbuf_bytes: u64) -> anyhow::Result<()> {
    let least_bytes = subbuf_bytes.saturating_add(SUBBUF_BYTES_MIN);
    if limit_bytes.is_some_and(|limit_bytes| limit_bytes < least_bytes) {
        let advice = match subbuf_bytes > SUBBUF_BYTES_MIN {
            true => ", or choose a smaller --buffer-size",
            false => "",
        };
        bail!(
            "--max-size: the trace may have less than one sub-buffer ({}) takes: give at least \
             {}K{advice}",
            verdict::text::bytes(subbuf_bytes),
            least_bytes >> 10
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_with_a_limit_takes_several_sub_buffers_or_is_refused() {
        let whole = default_size(8);
        for (limit, size) in [(8 << 10, 4 << 10), (200 << 10, 32 << 10), (250 << 10, 32 << 10)] {
            let count = (8 * whole / size).min(SUBBUF_COUNT_MAX.into()) as u32;
            assert_eq!(limited(8, limit), (size, count), "{limit}");
            assert!(check_limit(Some(limit), size).is_ok());
        }
        assert_eq!(limited(8, u64::MAX), (whole, 8));
        assert_eq!(limited(8, 1).0, SUBBUF_BYTES_MIN);
        assert_eq!([3, 4096].map(|count| limited(count, 1).1), [3, 4096], "which are refused");
        let refused = check_limit(Some(900 << 10), 1 << 20).unwrap_err().to_string();
        assert!(refused.contains("at least 1028K, or"), "{refused}");
        assert!(check_limit(Some(1), 4096).unwrap_err().to_string().ends_with("at least 8K"));
        assert!(check_limit(None, 1 << 20).is_ok());
    }

    #[test]
    fn default_sub_buffers_are_powers_of_two_between_their_limits() {
        for count in [2, 8, 1024] {
            let size = default_size(count);
            assert!(size.is_power_of_two(), "{size}");
            assert!((SUBBUF_BYTES_LEAST..=SUBBUF_BYTES).contains(&size), "{size}");
        }
    }
}
