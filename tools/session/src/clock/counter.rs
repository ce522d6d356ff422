// SPDX-License-Identifier: MIT
//! The counters themselves: which one to trust, and how to read it between two other clocks.
//!
//! The choice follows the rule of `lull_clock_choose()` in `core/clock/clock.c`, which says why:
//! trust the TSC exactly as long as the kernel does.

use crate::machine::kernel_text;

const CLOCKSOURCE_FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// `enum lull_clock_kind` of `core/include/lull/abi/session.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ClockKind {
    Tsc = 0,
    Monotonic = 1,
    Cntvct = 2,
}

/// What the choice rests on. The default describes a machine nothing is known about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockFacts {
    /// This process may execute rdtsc.
    pub tsc_readable: bool,
    /// CPUID says that the TSC has one rate in every state.
    pub tsc_invariant: bool,
    /// This process may read CNTVCT_EL0.
    pub cntvct_readable: bool,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
}

impl ClockFacts {
    /// The facts of this machine, for this process.
    pub fn here() -> Self {
        Self {
            tsc_readable: arch::tsc_readable(),
            tsc_invariant: arch::tsc_invariant(),
            cntvct_readable: cfg!(target_arch = "aarch64"),
            clocksource: kernel_text(CLOCKSOURCE_FILE).map(|name| name.trim().to_string()),
        }
    }
}

impl ClockKind {
    /// The kind for such a machine, and a sentence that says why.
    pub fn choose(facts: &ClockFacts) -> (Self, &'static str) {
        if facts.cntvct_readable {
            (Self::Cntvct, "the architected counter has one rate and one value on all CPUs")
        } else if !facts.tsc_readable {
            (Self::Monotonic, "no counter register can be read here")
        } else if !facts.tsc_invariant {
            (Self::Monotonic, "the TSC is not invariant: its rate changes with the CPU's state")
        } else if facts.clocksource.as_deref() != Some("tsc") {
            (Self::Monotonic, "the kernel does not use the TSC as its clock source")
        } else {
            (Self::Tsc, "the TSC is invariant and the kernel's own clock source")
        }
    }

    /// The kind's name as it stands in a trace's environment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tsc => "tsc",
            Self::Monotonic => "monotonic",
            Self::Cntvct => "cntvct",
        }
    }

    /// The number in the session's control block.
    pub fn abi(self) -> u32 {
        self as u32
    }

    /// The kind with this number, if there is one.
    pub fn from_abi(number: u32) -> Option<Self> {
        [Self::Tsc, Self::Monotonic, Self::Cntvct].into_iter().find(|kind| kind.abi() == number)
    }

    /// The clock now: not before what precedes, not after what follows.
    pub fn read(self) -> u64 {
        match self {
            Self::Monotonic => u64::try_from(read_kernel_ns(libc::CLOCK_MONOTONIC)).unwrap_or(0),
            Self::Tsc | Self::Cntvct => arch::counter_fenced(),
        }
    }
}

/// One of the kernel's clocks, in nanoseconds; 0 for a clock that the kernel does not have.
pub(super) fn read_kernel_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for writing one timespec; on failure it stays 0.
    unsafe { libc::clock_gettime(clock, &mut now) };
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)] // 32 bits on 32-bit machines
    (now.tv_sec as i64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as i64)
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub(super) mod arch {
    use std::arch::asm;
    #[cfg(target_arch = "x86")]
    use std::arch::x86 as intrinsics;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64 as intrinsics;

    const INVARIANT_LEAF: u32 = 0x8000_0007;
    const INVARIANT_BIT: u32 = 1 << 8;
    const TSC_RATIO_LEAF: u32 = 0x15;

    /// One leaf of CPUID: eax, ebx, ecx, edx; zeroes where the CPU does not have it.
    pub(super) fn cpuid(number: u32) -> [u32; 4] {
        // Leaf 0x80000000 or 0 tells the highest.
        let [highest, ..] = leaf(number & 0x8000_0000);
        if highest < number {
            return [0; 4];
        }
        leaf(number)
    }

    /// A leaf that the CPU has.
    #[allow(unused_unsafe)] // safe functions since Rust 1.94
    pub(super) fn leaf(number: u32) -> [u32; 4] {
        // SAFETY: every CPU that runs this has CPUID.
        let result = unsafe { intrinsics::__cpuid(number) };
        [result.eax, result.ebx, result.ecx, result.edx]
    }

    pub fn tsc_invariant() -> bool {
        cpuid(INVARIANT_LEAF)[3] & INVARIANT_BIT != 0
    }

    /// The TSC's rate in hertz where the CPU knows its crystal.
    pub fn known_hz() -> Option<(f64, &'static str)> {
        ratio_hz(cpuid(TSC_RATIO_LEAF)).map(|hz| (hz, "cpuid"))
    }

    /// The rate that the leaf of ratio and crystal says; None if it leaves out a part.
    pub(super) fn ratio_hz([denominator, numerator, crystal_hz, _]: [u32; 4]) -> Option<f64> {
        let is_known = denominator != 0 && numerator != 0 && crystal_hz != 0;
        is_known.then(|| f64::from(crystal_hz) * f64::from(numerator) / f64::from(denominator))
    }

    pub fn tsc_readable() -> bool {
        let mut mode: libc::c_int = libc::PR_TSC_ENABLE;
        // SAFETY: PR_GET_TSC writes one int; where it is unknown it writes nothing.
        unsafe { libc::prctl(libc::PR_GET_TSC, &mut mode as *mut libc::c_int) };
        mode == libc::PR_TSC_ENABLE
    }

    pub fn counter_fenced() -> u64 {
        let (low, high): (u32, u32);
        // SAFETY: rdtsc and lfence touch no memory; a process that may not execute rdtsc was
        // found out by tsc_readable() and has another kind of clock.
        unsafe {
            asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack));
        }
        u64::from(high) << 32 | u64::from(low)
    }
}

#[cfg(target_arch = "aarch64")]
pub(super) mod arch {
    use std::arch::asm;

    pub fn tsc_invariant() -> bool {
        false
    }

    pub fn tsc_readable() -> bool {
        false
    }

    /// The counter's rate in hertz, as the firmware noted it.
    pub fn known_hz() -> Option<(f64, &'static str)> {
        let hz: u64;
        // SAFETY: reads a register that is readable wherever CNTVCT_EL0 is.
        unsafe { asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack)) };
        (hz != 0).then_some((hz as f64, "cntfrq"))
    }

    pub fn counter_fenced() -> u64 {
        let cycles: u64;
        // SAFETY: reads a register; the kernel lets every process do so or does it for it.
        unsafe { asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) cycles, options(nostack)) };
        cycles
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
pub(super) mod arch {
    pub fn tsc_invariant() -> bool {
        false
    }

    pub fn tsc_readable() -> bool {
        false
    }

    pub fn known_hz() -> Option<(f64, &'static str)> {
        None
    }

    /// No kind that reads a counter is chosen on such a machine.
    pub fn counter_fenced() -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    #[test]
    fn the_rate_is_the_crystals_by_a_ratio_of_which_no_part_is_missing() {
        assert_eq!(arch::ratio_hz([2, 250, 24_000_000, 0]), Some(3e9));
        for leaf in [[0, 250, 24_000_000, 0], [2, 0, 24_000_000, 0], [2, 250, 0, 0]] {
            assert_eq!(arch::ratio_hz(leaf), None);
        }
    }

    #[test]
    fn each_kind_has_a_name_and_a_number_of_its_own() {
        let names = ["tsc", "monotonic", "cntvct"];
        for kind in [ClockKind::Tsc, ClockKind::Monotonic, ClockKind::Cntvct] {
            assert_eq!(ClockKind::from_abi(kind.abi()), Some(kind));
            assert_eq!(names.iter().filter(|name| **name == kind.name()).count(), 1);
        }
        assert_eq!(ClockKind::from_abi(u32::MAX), None);
    }

    fn facts(clocksource: &str) -> ClockFacts {
        ClockFacts {
            tsc_readable: true,
            tsc_invariant: true,
            cntvct_readable: false,
            clocksource: Some(clocksource.to_string()),
        }
    }

    #[test]
    fn invariant_tsc_that_the_kernel_uses_is_chosen() {
        assert_eq!(ClockKind::choose(&facts("tsc")).0, ClockKind::Tsc);
    }

    #[test]
    fn doubtful_tsc_is_not_chosen() {
        for other in ["hpet", "kvm-clock", "tsc-early", "ts", ""] {
            assert_eq!(ClockKind::choose(&facts(other)).0, ClockKind::Monotonic, "{other}");
        }
        let doubtful = [
            ClockFacts { tsc_readable: false, ..facts("tsc") },
            ClockFacts { tsc_invariant: false, ..facts("tsc") },
            ClockFacts { clocksource: None, ..facts("tsc") },
            ClockFacts::default(),
        ];
        for facts in doubtful {
            assert_eq!(ClockKind::choose(&facts).0, ClockKind::Monotonic, "{facts:?}");
        }
    }

    #[test]
    fn architected_counter_is_chosen() {
        let facts = ClockFacts { cntvct_readable: true, ..ClockFacts::default() };
        assert_eq!(ClockKind::choose(&facts).0, ClockKind::Cntvct);
    }

    #[test]
    fn kinds_survive_the_control_block_and_other_numbers_are_none() {
        for kind in [ClockKind::Tsc, ClockKind::Monotonic, ClockKind::Cntvct] {
            assert_eq!(ClockKind::from_abi(kind.abi()), Some(kind));
        }
        assert_eq!(ClockKind::from_abi(3), None);
        assert_eq!(ClockKind::from_abi(u32::MAX), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn leaves_of_cpuid_that_the_cpu_does_not_have_are_zeroes() {
        for range in [0, 0x8000_0000] {
            let highest = arch::cpuid(range)[0];
            assert!(highest > range);
            // the first word of these does not depend on the CPU that is asked
            assert_eq!(arch::cpuid(highest)[0], arch::leaf(highest)[0]);
            assert_eq!(arch::cpuid(highest + 1), [0; 4]);
            assert_eq!(arch::cpuid(range | 0x7fff_ffff), [0; 4]);
        }
        assert_ne!(arch::cpuid(0x8000_0008)[0], 0, "the size of addresses");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_counter_is_read_whole_and_in_order() {
        // SAFETY: a process that may read the TSC, as this one may.
        let read = || unsafe { std::arch::x86_64::_rdtsc() };
        let (before, now, after) = (read(), arch::counter_fenced(), read());
        assert!(before <= now && now <= after, "{before} {now} {after}");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_tsc_is_not_readable_where_the_kernel_forbids_it() {
        assert!(arch::tsc_readable());
        // It is forbidden to one thread, which reads no clock until it is allowed again.
        let forbid = || {
            // SAFETY: no memory is passed.
            unsafe {
                let forbidden = libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) == 0;
                let is_readable = arch::tsc_readable();
                libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_ENABLE);
                (forbidden, is_readable)
            }
        };
        assert_eq!(std::thread::spawn(forbid).join().unwrap(), (true, false));
    }

    /// The kernel says by another name that the TSC runs on at one rate in every state of the CPU.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn tsc_is_invariant_where_the_kernel_says_so() {
        let Ok(cpus) = std::fs::read_to_string("/proc/cpuinfo") else { return };
        let kernel_says_so = cpus.split_whitespace().any(|flag| flag == "nonstop_tsc");
        assert_eq!(arch::tsc_invariant(), kernel_says_so);
    }

    #[test]
    fn the_chosen_clock_moves_forward() {
        let (kind, _) = ClockKind::choose(&ClockFacts::here());
        let first = kind.read();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(kind.read() > first);
    }
}
