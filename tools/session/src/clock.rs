// SPDX-License-Identifier: MIT
//! The trace clock: what its cycles mean in CLOCK_MONOTONIC and in UTC.
//!
//! Place in the flow: `record` chooses a [`ClockKind`], takes a [`Recording`] before the first
//! event and asks for a [`Calibration`] after the last; the trace's metadata stores
//! [`Calibration::ctf`] and [`Calibration::environment`]. `docs/design/30-clock.md` says why.
//! Paper: T 4.6.3 (a counter register as time base).
//!
//! A calibration is a straight line through what the kernel's clocks said at both ends of the
//! recording. The line is fitted to CLOCK_BOOTTIME, which neither stops in suspend nor steps;
//! CLOCK_MONOTONIC and CLOCK_REALTIME differ from it by constants that are sampled, too, and
//! whose change during the recording is reported.

mod counter;
mod rate;
mod sample;

pub use counter::{ClockFacts, ClockKind};

use rate::Rate;
use sample::{Point, Sample};

const NS_PER_S: i128 = 1_000_000_000;
/// A shorter span tells too little about the rate: the known rate is used instead.
const FIT_UNCERTAINTY_MAX_PPB: f64 = 50_000.0;
/// Off by more than one part in this many is more than any clock discipline slews: the counter
/// stopped, restarted or changed its rate.
const STEADY_MIN_PARTS: i128 = 1_000;
/// Smaller differences between two clocks at the two ends are errors of measurement.
const STEP_MIN_NS: i64 = 2_000;
/// A sample cannot be worse than this and still be one.
const NOISE_MAX_NS: u64 = 1_000_000_000;

/// Where a recording began.
#[derive(Debug, Clone)]
pub struct Recording {
    kind: ClockKind,
    rate: Option<Rate>,
    /// Whether the rate is as good as it gets before the recording's end.
    is_fine: bool,
    start: Sample,
}

impl Recording {
    /// Samples the clocks; takes some ten microseconds.
    pub fn start(kind: ClockKind) -> Self {
        let rate = rate::known(kind);
        Self { kind, is_fine: rate.is_some(), rate, start: Sample::take(kind) }
    }

    /// For metadata written before the recording ends: one end, and the known rate. Where the
    /// machine tells no rate, it is measured since the start, roughly: that takes a tenth of a
    /// millisecond, which has most often passed.
    pub fn provisional(&mut self) -> Calibration {
        let (kind, start) = (self.kind, &self.start);
        let rate = self.rate.get_or_insert_with(|| rate::measured(kind, start, rate::ROUGH_NS));
        Calibration::new(kind, rate, start, start)
    }

    /// The same, once more time has passed and a rough rate can be replaced by a finer one.
    pub fn refined(&mut self) -> Option<Calibration> {
        if self.is_fine || rate::elapsed_ns(&self.start) < rate::FINE_NS {
            return None;
        }
        self.is_fine = true;
        self.rate = Some(rate::measured(self.kind, &self.start, rate::FINE_NS));
        Some(self.provisional())
    }

    /// The calibration of the recording that ends now. Waits two milliseconds more if no rate is
    /// known yet, to compare with.
    pub fn finish(&self) -> Calibration {
        let end = Sample::take(self.kind);
        let rate =
            self.rate.clone().unwrap_or_else(|| rate::measured(self.kind, &end, rate::FINE_NS));
        Calibration::new(self.kind, &rate, &self.start, &end)
    }
}

/// What the cycles of one recording mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calibration {
    pub kind: ClockKind,
    pub frequency_hz: u64,
    /// Where the frequency comes from: `unit`, `cntfrq`, `cpuid`, `measured`, `fitted`.
    pub frequency_source: &'static str,
    pub reference_cycles: u64,
    /// CLOCK_MONOTONIC at `reference_cycles`, on the scale of the recording's start.
    pub offset_monotonic_ns: i64,
    /// CLOCK_REALTIME at `reference_cycles`, on the scale of the recording's start.
    pub offset_utc_ns: i64,
    /// How far each sampled point may lie from the truth.
    pub uncertainty_ns: u64,
    /// How far the line passes from the samples at worst.
    pub residual_ns: u64,
    /// By how much UTC was set during the recording; times stay on the scale before it.
    pub utc_step_ns: i64,
    /// How long the machine was suspended during the recording.
    pub suspended_ns: i64,
    /// False: the counter did not run at its rate throughout; times after the fault are wrong.
    pub steady: bool,
}

/// The fields of a CTF `clock` block: `offset_s + (offset_cycles + cycles) / frequency_hz` is
/// UTC in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CtfClock {
    pub frequency_hz: u64,
    pub precision_cycles: u64,
    pub offset_s: i64,
    pub offset_cycles: u64,
}

impl Calibration {
    /// The line through two samples, or through one at the known rate when both are the same.
    fn new(kind: ClockKind, known: &Rate, start: &Sample, end: &Sample) -> Self {
        let steady = ran_steadily(known, start, end);
        let fitted = fitted_rate(known, start, end).filter(|_| steady);
        let rate = fitted.unwrap_or_else(|| known.clone());
        let frequency_hz = rate.whole_hz();
        let first = start.resolve(frequency_hz);
        let last = end.resolve(frequency_hz);
        let span_cycles = last.cycles.saturating_sub(first.cycles);
        let reference_cycles = if steady { first.cycles + span_cycles / 2 } else { first.cycles };

        let from_first = first.boottime_at(reference_cycles, frequency_hz);
        let from_last = last.boottime_at(reference_cycles, frequency_hz);
        let boottime_ns = if steady { (from_first + from_last) / 2 } else { from_first };
        let residual_ns = (from_first - boottime_ns).abs().max((from_last - boottime_ns).abs());

        let (utc_ns, utc_step_ns) = difference(&first, &last, steady, |point| point.utc_ns);
        let (monotonic_ns, slept_ns) =
            difference(&first, &last, steady, |point| point.monotonic_ns);
        Self {
            kind,
            frequency_hz,
            frequency_source: rate.source,
            reference_cycles,
            offset_monotonic_ns: saturate(boottime_ns + i128::from(monotonic_ns)),
            offset_utc_ns: saturate(boottime_ns + i128::from(utc_ns)),
            uncertainty_ns: first.uncertainty_ns.max(last.uncertainty_ns),
            residual_ns: u64::try_from(residual_ns).unwrap_or(u64::MAX),
            utc_step_ns,
            suspended_ns: slept_ns.saturating_neg(),
            steady,
        }
    }

    /// UTC at a clock value, in nanoseconds since the epoch.
    pub fn utc_ns(&self, cycles: u64) -> i64 {
        let since = sample::cycles_to_ns(self.reference_cycles, cycles, self.frequency_hz);
        saturate(i128::from(self.offset_utc_ns) + since)
    }

    /// CLOCK_MONOTONIC at a clock value, in nanoseconds.
    pub fn monotonic_ns(&self, cycles: u64) -> i64 {
        let since = sample::cycles_to_ns(self.reference_cycles, cycles, self.frequency_hz);
        saturate(i128::from(self.offset_monotonic_ns) + since)
    }

    /// The same line in CTF's terms: an integer frequency and a whole number of cycles.
    pub fn ctf(&self) -> CtfClock {
        let hz = i128::from(self.frequency_hz);
        let utc_cycles = (i128::from(self.offset_utc_ns) * hz + NS_PER_S / 2).div_euclid(NS_PER_S);
        let origin_cycles = utc_cycles - i128::from(self.reference_cycles);
        let error_ns = i128::from(self.uncertainty_ns) + i128::from(self.residual_ns);
        CtfClock {
            frequency_hz: self.frequency_hz,
            precision_cycles: u64::try_from(error_ns * hz / NS_PER_S + 1).unwrap_or(u64::MAX),
            offset_s: saturate(origin_cycles.div_euclid(hz)),
            offset_cycles: u64::try_from(origin_cycles.rem_euclid(hz)).unwrap_or(0),
        }
    }

    /// What the trace's environment says about its clock.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("clock_kind", self.kind.name().to_string()),
            ("clock_frequency_source", self.frequency_source.to_string()),
            ("clock_reference_cycles", self.reference_cycles.to_string()),
            ("clock_offset_monotonic_ns", self.offset_monotonic_ns.to_string()),
            ("clock_offset_utc_ns", self.offset_utc_ns.to_string()),
            ("clock_uncertainty_ns", self.uncertainty_ns.to_string()),
            ("clock_residual_ns", self.residual_ns.to_string()),
            ("clock_utc_step_ns", self.utc_step_ns.to_string()),
            ("clock_suspended_ns", self.suspended_ns.to_string()),
            ("clock_steady", if self.steady { "yes" } else { "no" }.to_string()),
        ]
    }

    /// What a person must know before trusting the times: one sentence each, none if all is well.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.steady {
            warnings.push(format!(
                "the {} clock did not run steadily (suspend, virtual machine migration or a \
                 faulty counter): times are off by up to {} us at the end of the trace",
                self.kind.name(),
                self.residual_ns / 1000
            ));
        }
        if self.utc_step_ns != 0 {
            warnings.push(format!(
                "the system time was set by {} us during the recording: the trace keeps the time \
                 as it was before",
                self.utc_step_ns / 1000
            ));
        }
        if self.suspended_ns > 0 {
            warnings.push(format!(
                "the machine was suspended for {} ms during the recording: CLOCK_MONOTONIC in the \
                 trace's environment holds before it only",
                self.suspended_ns / 1_000_000
            ));
        }
        warnings
    }
}

/// Whether the counter is at the end where the known rate leads from the start, but for what
/// disciplined clocks may slew.
fn ran_steadily(known: &Rate, start: &Sample, end: &Sample) -> bool {
    let frequency_hz = known.whole_hz();
    let (first, last) = (start.resolve(frequency_hz), end.resolve(frequency_hz));
    let error_ns = first.boottime_at(last.cycles, frequency_hz) - i128::from(last.boottime_ns);
    let span_ns = i128::from(last.boottime_ns) - i128::from(first.boottime_ns);
    let slewed_ns = if known.exact { 0 } else { span_ns / STEADY_MIN_PARTS };
    error_ns.abs() <= slewed_ns.abs() + i128::from(STEP_MIN_NS + 2 * noise_ns(&first, &last))
}

/// What may lie between two samples of the same thing.
fn noise_ns(first: &Point, last: &Point) -> i64 {
    first.uncertainty_ns.saturating_add(last.uncertainty_ns).min(NOISE_MAX_NS) as i64
}

/// The rate between two samples, if they are far enough apart to tell it. A clock whose unit is
/// the nanosecond has nothing to fit.
fn fitted_rate(known: &Rate, start: &Sample, end: &Sample) -> Option<Rate> {
    let span_cycles = end.boottime.cycles.checked_sub(start.boottime.cycles)? as f64;
    let span_ns = end.boottime.ns.checked_sub(start.boottime.ns)? as f64;
    let width_cycles = start.boottime.width_cycles.saturating_add(end.boottime.width_cycles);
    let uncertainty_ppb = width_cycles as f64 / 2.0 / span_cycles * 1e9;
    if known.exact || span_ns <= 0.0 || span_cycles < 1.0 {
        return None;
    }
    (uncertainty_ppb <= FIT_UNCERTAINTY_MAX_PPB).then_some(Rate {
        hz: span_cycles * 1e9 / span_ns,
        source: "fitted",
        exact: false,
    })
}

/// A clock's distance from CLOCK_BOOTTIME at the start, and the change of it until the end. What
/// may be an error of measurement is no change, and the distance then is the mean of a steady
/// recording's ends.
fn difference(
    first: &Point,
    last: &Point,
    steady: bool,
    clock: impl Fn(&Point) -> i64,
) -> (i64, i64) {
    let before = clock(first).saturating_sub(first.boottime_ns);
    let after = clock(last).saturating_sub(last.boottime_ns);
    let change = after.saturating_sub(before);
    if change.saturating_abs() > STEP_MIN_NS.max(2 * noise_ns(first, last)) {
        (before, change)
    } else if steady {
        (before.saturating_add(change / 2), 0)
    } else {
        (before, 0)
    }
}

fn saturate(ns: i128) -> i64 {
    i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests;
