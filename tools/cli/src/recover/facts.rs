// SPDX-License-Identifier: MIT
//! What the metadata of a recovered trace says beside its events.
//!
//! Place in the flow: `recover` takes it from the metadata that the killed recorder wrote; where
//! there is none, the clock is calibrated now, and what is not known is left out.

use anyhow::{bail, Context};
use consumer::metadata::{kept_classes, Facts};
use session::abi::{ControlFixed, MODE_FLIGHT_RECORDER};
use session::clock::{Calibration, ClockKind, CtfClock, Recording};
use session::directory::Recorder;
use session::machine;
use std::io::Read;
use std::path::Path;
use trace::{EnvironmentValue, Metadata};
use uuid::Uuid;
use verdict::environment::{Environment, Value};

const METADATA: &str = "metadata";
const NS_PER_S: i128 = 1_000_000_000;
/// More than a recorder writes: its events have 1 MiB of descriptions.
const METADATA_BYTES_MAX: u64 = 64 << 20;

/// The facts in the metadata of a trace, or of a snapshot in it; None where there is none.
pub fn read(trace: &Path, fixed: &ControlFixed) -> anyhow::Result<Option<Facts>> {
    let mut paths = vec![trace.join(METADATA)];
    if fixed.mode == MODE_FLIGHT_RECORDER {
        let entries = std::fs::read_dir(trace)?.flatten();
        paths.extend(entries.map(|entry| entry.path().join(METADATA)));
    }
    let Some(path) = paths.into_iter().find(|path| path.is_file()) else { return Ok(None) };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&path).with_context(|| path.display().to_string())?;
    file.take(METADATA_BYTES_MAX).read_to_end(&mut bytes)?;
    let (metadata, _) = Metadata::salvage(&bytes);
    if metadata.uuid.is_some_and(|uuid| uuid != fixed.uuid) {
        bail!(
            "{} is of another recording; `lull recover -o DIR SESSION` writes a new one",
            path.display()
        );
    }
    let kept = kept_classes(&String::from_utf8_lossy(&bytes));
    Ok(of(&metadata, fixed.uuid).map(|facts| Facts { kept, ..facts }))
}

fn of(metadata: &Metadata, uuid: [u8; 16]) -> Option<Facts> {
    let clock = metadata.clocks.first()?;
    let value = |value: &EnvironmentValue| match value {
        EnvironmentValue::Number(number) => {
            Value::Integer(i64::try_from(*number).unwrap_or(i64::MAX))
        }
        EnvironmentValue::Text(text) => Value::Text(text.clone()),
    };
    let entries = metadata.environment.iter();
    Some(Facts {
        uuid,
        clock: CtfClock {
            frequency_hz: clock.frequency_hz,
            precision_cycles: clock.precision_cycles,
            offset_s: clock.offset_s,
            offset_cycles: clock.offset_cycles,
        },
        clock_uuid: clock.uuid.map(|uuid| Uuid::from_bytes(uuid).to_string()),
        environment: entries.map(|(name, entry)| (name.clone(), value(entry))).collect(),
        kept: String::new(),
    })
}

fn calibration(fixed: &ControlFixed) -> anyhow::Result<Calibration> {
    let kind = ClockKind::from_abi(fixed.clock_kind).context("its clock is not known")?;
    Ok(Recording::start(kind).finish())
}

fn environment(domain: &str) -> Environment {
    vec![
        ("tracer_name".into(), "lull".into()),
        ("domain".into(), domain.into()),
        ("hostname".into(), machine::host_name().into()),
        ("verdict".into(), verdict::RECORDING.into()),
    ]
}

/// Facts for a trace of an earlier boot of the machine. The counter is as fast as it was, and
/// began elsewhere: `begun` are its value and nanoseconds since the epoch at one moment then.
pub fn of_earlier_boot(fixed: &ControlFixed, begun: (u64, u64)) -> anyhow::Result<Facts> {
    let clock = calibration(fixed)?.ctf();
    let (cycles, ns) = (i128::from(begun.0), i128::from(begun.1));
    let hz = i128::from(clock.frequency_hz.max(1));
    let origin_cycles = ns * hz / NS_PER_S - cycles;
    let clock = CtfClock {
        offset_s: i64::try_from(origin_cycles.div_euclid(hz)).unwrap_or(0),
        offset_cycles: u64::try_from(origin_cycles.rem_euclid(hz)).unwrap_or(0),
        ..clock
    };
    let environment = environment("kernel");
    Ok(Facts { uuid: fixed.uuid, clock, clock_uuid: None, environment, kept: String::new() })
}

/// Facts for a trace that has none yet.
pub fn guess(fixed: &ControlFixed, recorder: Option<&Recorder>) -> anyhow::Result<Facts> {
    let calibration = calibration(fixed)?;
    let mut environment = environment("user");
    let release = machine::kernel_release();
    environment.extend(release.map(|release| ("kernel_release".to_string(), release.into())));
    environment
        .extend(recorder.map(|recorder| ("command".to_string(), recorder.program.as_str().into())));
    let clock = calibration.environment().into_iter();
    environment.extend(clock.map(|(name, value)| (name.to_string(), Value::from(value))));
    let (clock, clock_uuid) = (calibration.ctf(), machine::boot_id());
    Ok(Facts { uuid: fixed.uuid, clock, clock_uuid, environment, kept: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_an_earlier_boot_are_told_by_the_moment_when_its_session_was_made() {
        // SAFETY: the block is plain numbers, of which any value is one.
        let zero: ControlFixed = unsafe { std::mem::zeroed() };
        let fixed = ControlFixed { clock_kind: ClockKind::Monotonic.abi(), ..zero };
        let begun_ns = 1_700_000_000_123_456_789;
        let clock = of_earlier_boot(&fixed, (5_000_000_000, begun_ns)).unwrap().clock;
        assert_eq!(clock.frequency_hz, 1_000_000_000);
        let at_zero = clock.offset_s * 1_000_000_000 + clock.offset_cycles as i64;
        assert_eq!(at_zero, begun_ns as i64 - 5_000_000_000);
        // A note that nobody wrote is no reason to fail.
        of_earlier_boot(&fixed, (u64::MAX, u64::MAX)).unwrap();
        of_earlier_boot(&fixed, (u64::MAX, 0)).unwrap();
    }
}
