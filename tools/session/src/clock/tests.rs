// SPDX-License-Identifier: MIT
//! Calibrations of simulated machines with known truth, and one of this machine.

use super::sample::Bracket;
use super::*;

/// A machine whose counter and clocks are all functions of the true time.
#[derive(Clone, Copy)]
struct Machine {
    hz: f64,
    first_cycles: u64,
    width_cycles: u64,
    utc_ns: i64,
    boottime_ns: i64,
    monotonic_ns: i64,
}

const HZ: f64 = 2_596_123_456.0;
const MINUTE_NS: i64 = 60_000_000_000;

const MACHINE: Machine = Machine {
    hz: HZ,
    first_cycles: 9_876_543_210_123,
    width_cycles: 80,
    utc_ns: 1_760_000_000_123_456_789,
    boottime_ns: 5_000_000_000_000,
    monotonic_ns: 4_000_000_000_000,
};

impl Machine {
    fn cycles(&self, time_ns: i64) -> u64 {
        self.first_cycles + (time_ns as f64 * self.hz / 1e9).round() as u64
    }

    /// The three clocks, read 100 ns apart as in earnest.
    fn sample(&self, time_ns: i64) -> Sample {
        let bracket = |base_ns: i64, late_ns: i64| Bracket {
            cycles: self.cycles(time_ns + late_ns),
            width_cycles: self.width_cycles,
            ns: base_ns + time_ns + late_ns,
        };
        Sample {
            monotonic: bracket(self.monotonic_ns, 0),
            utc: bracket(self.utc_ns, 100),
            boottime: bracket(self.boottime_ns, 200),
        }
    }
}

fn nominal(hz: f64) -> Rate {
    Rate { hz, source: "cpuid", exact: false }
}

fn calibrate(end: Machine, end_ns: i64) -> Calibration {
    Calibration::new(ClockKind::Tsc, &nominal(HZ), &MACHINE.sample(0), &end.sample(end_ns))
}

/// UTC from CTF's fields, as exactly as integers can.
fn ctf_utc_ns(clock: &CtfClock, cycles: u64) -> i128 {
    let hz = i128::from(clock.frequency_hz);
    let since = i128::from(clock.offset_cycles) + i128::from(cycles);
    i128::from(clock.offset_s) * NS_PER_S + since * NS_PER_S / hz
}

fn assert_near(value: i64, expected: i64, tolerance_ns: i64) {
    assert!((value - expected).abs() <= tolerance_ns, "{value} is not {expected}");
}

#[test]
fn both_ends_and_the_middle_of_a_recording_are_dated_right() {
    // 80 parts in a million off the nominal rate, as disciplined clocks are
    let machine = Machine { hz: HZ * 1.000_08, ..MACHINE };
    let start = machine.sample(0);
    let calibration =
        Calibration::new(ClockKind::Tsc, &nominal(HZ), &start, &machine.sample(MINUTE_NS));
    assert_eq!(calibration.frequency_source, "fitted");
    assert!(calibration.steady);
    for time_ns in [0, MINUTE_NS / 2, MINUTE_NS] {
        let cycles = machine.cycles(time_ns);
        // 30 s times half a hertz of rounding, and rounding to nanoseconds
        assert_near(calibration.utc_ns(cycles), machine.utc_ns + time_ns, 8);
        assert_near(calibration.monotonic_ns(cycles), machine.monotonic_ns + time_ns, 8);
        let difference =
            ctf_utc_ns(&calibration.ctf(), cycles) - i128::from(calibration.utc_ns(cycles));
        assert!(difference.abs() <= 2, "{difference}");
    }
    assert!(calibration.residual_ns <= 8, "{calibration:?}");
    assert_eq!(calibration.uncertainty_ns, 16);
    assert_eq!((calibration.utc_step_ns, calibration.suspended_ns), (0, 0));
    assert!(calibration.warnings().is_empty());
}

#[test]
fn short_recordings_use_the_known_rate() {
    let machine = Machine { hz: HZ * 1.000_08, ..MACHINE };
    let calibration = Calibration::new(
        ClockKind::Tsc,
        &nominal(HZ),
        &machine.sample(0),
        &machine.sample(100_000),
    );
    assert_eq!(calibration.frequency_source, "cpuid");
    assert_eq!(calibration.frequency_hz, HZ as u64);
    for time_ns in [0, 100_000] {
        assert_near(calibration.utc_ns(machine.cycles(time_ns)), machine.utc_ns + time_ns, 8);
    }
    assert!(calibration.steady);
}

#[test]
fn one_sample_dates_its_own_moment() {
    let start = MACHINE.sample(0);
    let calibration = Calibration::new(ClockKind::Tsc, &nominal(HZ), &start, &start);
    assert_near(calibration.utc_ns(MACHINE.first_cycles), MACHINE.utc_ns, 1);
    assert_eq!((calibration.residual_ns, calibration.steady), (0, true));
    assert_eq!(calibration.frequency_source, "cpuid");
}

#[test]
fn step_of_utc_is_reported_and_the_first_scale_kept() {
    for step_ns in [3_600_000_000_000, -750_000_000, 50_000] {
        let end = Machine { utc_ns: MACHINE.utc_ns + step_ns, ..MACHINE };
        let calibration = calibrate(end, MINUTE_NS);
        assert_near(calibration.utc_step_ns, step_ns, 2);
        assert_eq!((calibration.steady, calibration.suspended_ns), (true, 0));
        let cycles = MACHINE.cycles(MINUTE_NS);
        assert_near(calibration.utc_ns(cycles), MACHINE.utc_ns + MINUTE_NS, 8);
        assert_eq!(calibration.warnings().len(), 1);
    }
}

#[test]
fn errors_of_measurement_are_no_step() {
    let end = Machine { utc_ns: MACHINE.utc_ns + 20, ..MACHINE };
    let calibration = calibrate(end, MINUTE_NS);
    assert_eq!(calibration.utc_step_ns, 0);
    assert_near(calibration.utc_ns(MACHINE.first_cycles), MACHINE.utc_ns + 10, 8);
}

#[test]
fn suspend_that_the_counter_counts_through_keeps_utc_right() {
    let slept_ns = 3 * MINUTE_NS;
    let end = Machine { monotonic_ns: MACHINE.monotonic_ns - slept_ns, ..MACHINE };
    let calibration = calibrate(end, 5 * MINUTE_NS);
    assert!(calibration.steady);
    assert_near(calibration.suspended_ns, slept_ns, 2);
    let cycles = MACHINE.cycles(5 * MINUTE_NS);
    assert_near(calibration.utc_ns(cycles), MACHINE.utc_ns + 5 * MINUTE_NS, 80);
    assert_near(calibration.monotonic_ns(MACHINE.first_cycles), MACHINE.monotonic_ns, 80);
    assert_eq!(calibration.warnings().len(), 1);
}

#[test]
fn counter_that_stopped_or_restarted_is_not_fitted() {
    let stopped = Machine { first_cycles: MACHINE.first_cycles - HZ as u64, ..MACHINE };
    let restarted = Machine { first_cycles: 1000, ..MACHINE };
    let other_rate = Machine { hz: HZ * 1.2, ..MACHINE };
    for end in [stopped, restarted, other_rate] {
        let calibration = calibrate(end, MINUTE_NS);
        assert!(!calibration.steady);
        assert_eq!(calibration.frequency_source, "cpuid");
        assert!(calibration.residual_ns >= 999_000_000, "{calibration:?}");
        assert_near(calibration.utc_ns(MACHINE.cycles(1000)), MACHINE.utc_ns + 1000, 8);
        assert_eq!(calibration.warnings().len(), 1);
    }
}

#[test]
fn nanoseconds_are_never_fitted_and_show_a_suspend() {
    let machine =
        Machine { hz: 1e9, first_cycles: MACHINE.monotonic_ns as u64, width_cycles: 30, ..MACHINE };
    let exact = Rate { hz: 1e9, source: "unit", exact: true };
    let start = machine.sample(0);
    let awake = Calibration::new(ClockKind::Monotonic, &exact, &start, &machine.sample(MINUTE_NS));
    assert_eq!((awake.frequency_hz, awake.frequency_source), (1_000_000_000, "unit"));
    assert_eq!(awake.utc_ns(machine.first_cycles + 5), machine.utc_ns + 5);
    assert_eq!(awake.monotonic_ns(12_345), 12_345);

    let slept_ns = 7_000_000;
    let end = Machine {
        first_cycles: machine.first_cycles - slept_ns as u64,
        monotonic_ns: machine.monotonic_ns - slept_ns,
        ..machine
    };
    let slept = Calibration::new(ClockKind::Monotonic, &exact, &start, &end.sample(MINUTE_NS));
    assert_eq!((slept.steady, slept.suspended_ns), (false, slept_ns));
    assert_eq!(slept.monotonic_ns(12_345), 12_345);
    assert_eq!(slept.utc_ns(machine.first_cycles), machine.utc_ns);
}

#[test]
fn ctf_offsets_are_whole_seconds_and_less_than_one_more() {
    let calibration = calibrate(MACHINE, MINUTE_NS);
    let clock = calibration.ctf();
    assert!(clock.offset_cycles < clock.frequency_hz);
    assert!(clock.offset_s > 0);
    assert!(clock.precision_cycles >= 40);
    // a counter that ran longer than UTC has an origin before the epoch
    let old =
        Calibration { reference_cycles: u64::MAX, frequency_hz: 1_000_000_000, ..calibration };
    let clock = old.ctf();
    assert!(clock.offset_s < 0);
    assert_eq!(ctf_utc_ns(&clock, u64::MAX), i128::from(old.offset_utc_ns));
}

#[test]
fn absurd_samples_neither_panic_nor_pass_for_steady() {
    let bracket = |cycles, ns| Bracket { cycles, width_cycles: u64::MAX, ns };
    let sample = |cycles, ns| Sample {
        monotonic: bracket(cycles, ns),
        utc: bracket(!cycles, ns),
        boottime: bracket(cycles, !ns),
    };
    let extremes = [(0, i64::MIN), (u64::MAX, i64::MAX), (1, 0), (u64::MAX / 2, -1)];
    for (first_cycles, first_ns) in extremes {
        for (last_cycles, last_ns) in extremes {
            for hz in [0.0, 1.0, HZ, f64::MAX, f64::NAN] {
                let calibration = Calibration::new(
                    ClockKind::Tsc,
                    &nominal(hz),
                    &sample(first_cycles, first_ns),
                    &sample(last_cycles, last_ns),
                );
                let clock = calibration.ctf();
                assert!(clock.offset_cycles < clock.frequency_hz);
                assert_eq!(calibration.environment().len(), 10);
                calibration.warnings();
            }
        }
    }
}

#[test]
fn this_machine_is_calibrated_to_its_own_clocks() {
    let (kind, _) = ClockKind::choose(&ClockFacts::here());
    for kind in [kind, ClockKind::Monotonic] {
        let mut recording = Recording::start(kind);
        let provisional = recording.provisional();
        let known = rate::known(recording.kind).is_some();
        std::thread::sleep(std::time::Duration::from_nanos(rate::FINE_NS.unsigned_abs()));
        assert_eq!(recording.refined().is_some(), !known, "a rough rate is replaced once");
        assert_eq!(recording.refined(), None);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let calibration = recording.finish();
        assert!(calibration.frequency_hz > 1000);
        assert!(
            provisional.frequency_hz.abs_diff(calibration.frequency_hz) * 100
                < calibration.frequency_hz
        );
        if !calibration.warnings().is_empty() {
            return; // the system time was set meanwhile: no claim to check
        }
        let point = Sample::take(kind).resolve(calibration.frequency_hz);
        let allowed_ns = (calibration.uncertainty_ns + point.uncertainty_ns) as i64 * 2 + 1_000_000;
        assert_near(calibration.monotonic_ns(point.cycles), point.monotonic_ns, allowed_ns);
        assert_near(calibration.utc_ns(point.cycles), point.utc_ns, allowed_ns);
    }
}
