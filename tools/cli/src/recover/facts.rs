// SPDX-License-Identifier: MIT
//! What the metadata of a recovered trace says beside its events.
//!
//! Place in the flow: `recover` takes it from the metadata that the killed recorder wrote; where
//! there is none, the clock is calibrated now, and what is not known is left out.

use anyhow::{bail, Context};
use consumer::metadata::{kept_classes, Facts};
use session::abi::{ControlFixed, MODE_FLIGHT_RECORDER};
use session::clock::{ClockKind, CtfClock, Recording};
use session::directory::Recorder;
use session::machine;
use std::io::Read;
use std::path::Path;
use trace::{EnvironmentValue, Metadata};
use uuid::Uuid;
use verdict::environment::{Environment, Value};

const METADATA: &str = "metadata";
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
        bail!("{} is of another recording; name a new directory with -o", path.display());
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

/// Facts for a trace that has none yet.
pub fn guess(fixed: &ControlFixed, recorder: Option<&Recorder>) -> anyhow::Result<Facts> {
    let kind = ClockKind::from_abi(fixed.clock_kind).context("its clock is not known")?;
    let calibration = Recording::start(kind).finish();
    let mut environment: Environment = vec![
        ("tracer_name".into(), "lull".into()),
        ("domain".into(), "user".into()),
        ("hostname".into(), machine::host_name().into()),
        ("verdict".into(), verdict::RECORDING.into()),
    ];
    environment
        .extend(recorder.map(|recorder| ("command".to_string(), recorder.program.as_str().into())));
    let clock = calibration.environment().into_iter();
    environment.extend(clock.map(|(name, value)| (name.to_string(), Value::from(value))));
    let (clock, clock_uuid) = (calibration.ctf(), machine::boot_id());
    Ok(Facts { uuid: fixed.uuid, clock, clock_uuid, environment, kept: String::new() })
}
