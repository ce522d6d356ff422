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

fn point(boottime_ns: i64, utc_ns: i64, uncertainty_ns: u64) -> Point {
    Point { cycles: 0, boottime_ns, monotonic_ns: 0, utc_ns, uncertainty_ns }
}

#[test]
fn what_may_be_an_error_of_measurement_ends_at_two_microseconds_or_twice_the_uncertainty() {
    let change = |change_ns: i64, uncertainty_ns, steady| {
        let first = point(1000, 5000, uncertainty_ns);
        let last = point(9000, 13_000 + change_ns, uncertainty_ns);
        difference(&first, &last, steady, |point| point.utc_ns)
    };
    assert_eq!(change(2000, 100, true), (5000, 0));
    assert_eq!(change(2001, 100, true), (4000, 2001));
    assert_eq!(change(-2000, 100, true), (3000, 0));
    assert_eq!(change(-2001, 100, true), (4000, -2001));
    assert_eq!(change(20_000, 5000, true), (14_000, 0));
    assert_eq!(change(20_001, 5000, true), (4000, 20_001));
    assert_eq!(change(2000, 100, false), (4000, 0));
    // no uncertainty is so large that a second passes for an error
    assert_eq!(change(2_000_000_000, u64::MAX, false), (4000, 0));
    assert_eq!(change(2_000_000_001, u64::MAX, false), (4000, 2_000_000_001));
}

#[test]
fn counter_that_is_off_by_more_than_clocks_are_slewed_is_not_steady() {
    let steady = |rate: &Rate, parts: f64, late_ns: i64| {
        let end = Machine { hz: HZ * parts, boottime_ns: MACHINE.boottime_ns + late_ns, ..MACHINE };
        ran_steadily(rate, &MACHINE.sample(0), &end.sample(MINUTE_NS))
    };
    for (parts, expected) in [(1.000_9, true), (0.999_1, true), (1.001_1, false), (0.998_9, false)]
    {
        assert_eq!(steady(&nominal(HZ), parts, 0), expected, "{parts}");
    }
    // Of an exact rate, only what may be an error of measurement: 2000 ns, and twice 2 * 16 ns.
    let exact = Rate { exact: true, ..nominal(HZ) };
    for (late_ns, expected) in [(2060, true), (-2060, true), (2080, false), (-2080, false)] {
        assert_eq!(steady(&exact, 1.0, late_ns), expected, "{late_ns}");
    }
}

#[test]
fn rate_is_fitted_where_the_samples_are_far_enough_apart_to_tell_it() {
    let fit = |end_ns| fitted_rate(&nominal(HZ), &MACHINE.sample(0), &MACHINE.sample(end_ns));
    // 80 cycles of 50 parts in a million: 1.6 million cycles, or 616 us
    assert_eq!(fit(610_000), None);
    let rate = fit(620_000).unwrap();
    assert!((rate.hz / HZ - 1.0).abs() < 1e-5 && !rate.exact, "{rate:?}");
    let exact = Rate { exact: true, ..nominal(HZ) };
    assert_eq!(fitted_rate(&exact, &MACHINE.sample(0), &MACHINE.sample(MINUTE_NS)), None);
    let bracket = |cycles, ns| Bracket { cycles, width_cycles: 0, ns };
    let sample = |cycles, ns| Sample {
        monotonic: bracket(cycles, ns),
        utc: bracket(cycles, ns),
        boottime: bracket(cycles, ns),
    };
    for (cycles, ns) in [(1_000_000_000, 0), (0, 1_000_000_000), (1_000_000_000, -5)] {
        assert_eq!(fitted_rate(&nominal(HZ), &sample(0, 0), &sample(cycles, ns)), None);
    }
    assert!(fitted_rate(&nominal(HZ), &sample(0, 0), &sample(1, 1)).is_some());
}

#[test]
fn times_beyond_what_can_be_said_are_the_last_that_can() {
    assert_eq!([i128::MIN, -1, 0, 1, i128::MAX].map(saturate), [i64::MIN, -1, 0, 1, i64::MAX]);
    let own = |ns| saturate(i128::from(ns));
    assert_eq!((own(i64::MIN), own(i64::MAX)), (i64::MIN, i64::MAX));
}

#[test]
fn warnings_say_by_how_much() {
    let calm = calibrate(MACHINE, MINUTE_NS);
    let faulty = Calibration { steady: false, residual_ns: 1_234_567, ..calm.clone() };
    let stepped = Calibration { utc_step_ns: -7_654_321, ..calm.clone() };
    let slept = Calibration { suspended_ns: 3_456_789_012, ..calm.clone() };
    for (calibration, words) in [
        (&faulty, "the tsc clock did not run steadily"),
        (&faulty, "off by up to 1234 us"),
        (&stepped, "set by -7654 us"),
        (&slept, "suspended for 3456 ms"),
    ] {
        let warnings = calibration.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains(words), "{warnings:?}");
    }
    let woken = Calibration { suspended_ns: -1, ..calm };
    assert!(woken.warnings().is_empty());
}

#[test]
fn rough_rate_is_replaced_once_enough_time_has_passed() {
    let kind = ClockKind::Monotonic;
    let since = |age_ns: i64| {
        let mut start = Sample::take(kind);
        start.boottime.ns -= age_ns;
        start.boottime.cycles -= age_ns.unsigned_abs();
        Recording { kind, rate: None, is_fine: false, start }
    };
    const HOUR_NS: i64 = 3_600_000_000_000;
    let mut early = since(0);
    early.start.boottime.ns += HOUR_NS;
    assert_eq!(early.refined(), None);
    // a rate that is wrong beyond doubt, until it is measured again
    let rough = Rate { hz: 5e8, source: "measured", exact: false };
    let mut late = Recording { rate: Some(rough), ..since(1_000_000_000) };
    assert_eq!(late.provisional().frequency_hz, 500_000_000);
    let refined = late.refined().unwrap();
    assert!(refined.frequency_hz.abs_diff(1_000_000_000) < 10_000_000, "{refined:?}");
    assert_eq!(late.refined(), None);
    let fine = Recording { is_fine: true, ..since(1_000_000_000) };
    assert_eq!({ fine }.refined(), None);
}

#[test]
fn ctf_precision_is_what_a_time_may_be_wrong_by() {
    let calibration = Calibration {
        frequency_hz: 2_000_000_000,
        reference_cycles: 10,
        offset_utc_ns: 3_000_000_008,
        uncertainty_ns: 30,
        residual_ns: 7,
        ..calibrate(MACHINE, MINUTE_NS)
    };
    let expected = CtfClock {
        frequency_hz: 2_000_000_000,
        precision_cycles: 75,
        offset_s: 3,
        offset_cycles: 6,
    };
    assert_eq!(calibration.ctf(), expected);
    // half a cycle is rounded up
    let slow =
        Calibration { frequency_hz: 500_000_000, offset_utc_ns: 3_000_000_021, ..calibration };
    let clock = slow.ctf();
    assert_eq!((clock.offset_s, clock.offset_cycles), (3, 1));
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
