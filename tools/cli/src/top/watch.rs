// SPDX-License-Identifier: MIT
//! One session, watched: its recorder is asked what it says of itself, its trace is followed.
//!
//! Place in the flow: the terminal and the printers ask for a [`Frame`] in each interval, and for a
//! look at the files in between. Nothing that happens to the session or to its trace is an error
//! here: it is in the frame.

use super::follow::{refusal, Follower, Share};
use super::frame::{verdict_so_far, Condition, CpuRow, Frame, Recorded, SCHEMA_VERSION};
use super::stream::Counters;
use crate::live::change;
use crate::live::status::mode;
use crate::record::tell::left_line_of;
use analysis::live::{Live, Picture};
use consumer::consumer::lost_of;
use control::{Answer, Progress, Request, State, Status};
use session::directory::Found;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use verdict::text::plural;
use verdict::Lost;

/// How long the recorder may take to answer: the terminal stands still meanwhile.
const PATIENCE: Duration = Duration::from_millis(500);

pub struct Watch {
    found: Found,
    interval: Duration,
    follower: Option<Follower>,
    /// Why the trace is not followed.
    why_not: Option<String>,
    live: Live,
    status: Option<Box<Status>>,
    condition: Condition,
    /// What the recorder said last, and when.
    progress: Option<(Instant, Progress)>,
    counters: BTreeMap<String, Counters>,
    framed: Instant,
    share: Share,
}

impl Watch {
    pub fn begin(found: Found, interval: Duration) -> Self {
        let mut watch = Self {
            found,
            interval,
            follower: None,
            why_not: None,
            live: Live::new(),
            status: None,
            condition: Condition::Recording,
            progress: None,
            counters: BTreeMap::new(),
            framed: Instant::now(),
            share: Share::default(),
        };
        watch.follow();
        watch.ask();
        watch.progress = watch.status.as_ref().map(|status| (Instant::now(), status.progress));
        watch
    }

    /// Begins to follow the trace, if the session writes one.
    fn follow(&mut self) {
        if let Some(why) = refusal(&self.found) {
            self.why_not = Some(why.into());
        } else {
            match Follower::open(&self.found.recorder.output) {
                Ok(follower) => {
                    let counters = follower.counters();
                    self.counters =
                        counters.map(|(name, _, counters)| (name.to_string(), counters)).collect();
                    self.follower = Some(follower);
                }
                Err(error) => self.why_not = Some(format!("the trace: {}", crate::told(&error))),
            }
        }
    }

    /// Asks the recorder how it is.
    fn ask(&mut self) {
        match control::ask(&self.found.path, &Request::Status, Some(PATIENCE)) {
            Ok(Answer::Status(status)) => {
                self.condition = match status.state {
                    State::Recording => Condition::Recording,
                    State::Paused => Condition::Paused,
                    State::Ended => Condition::Full,
                };
                self.status = Some(status);
            }
            Err(control::Error::Silent { .. }) => self.condition = Condition::Silent,
            _ if !self.found.path.exists() => self.condition = Condition::Ended,
            _ if left_line_of(&self.found.path).is_some() => self.condition = Condition::Dead,
            _ => self.condition = Condition::Concluding,
        }
    }

    /// Whether it writes one, or counts.
    pub fn has_trace(&self) -> bool {
        !self.found.recorder.output.starts_with(&self.found.path)
    }

    /// Sends a request that is not one for the status. Return: what to tell of it.
    pub fn request(&mut self, request: &Request) -> Option<String> {
        let patience = match request {
            Request::Change { .. } => change::PATIENCE,
            _ => PATIENCE,
        };
        match control::ask(&self.found.path, request, Some(patience)) {
            Ok(Answer::Done) => None,
            Ok(Answer::Changed(changed)) => Some(change::lines(&changed).join("; ")),
            Ok(Answer::Refused { why }) => Some(why),
            Ok(_) => Some("the recorder answered something else".into()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Looks at the files, so that the next frame may show what is in them by now.
    pub fn look(&mut self) {
        let Some(follower) = &mut self.follower else { return };
        if let Err(error) = follower.look(Instant::now()) {
            self.why_not = Some(crate::told(&error));
        }
    }

    /// Forgets what was counted.
    pub fn clear(&mut self) {
        self.live.clear();
    }

    pub fn frame(&mut self) -> Frame {
        self.ask();
        let now = Instant::now();
        let interval = now.saturating_duration_since(self.framed);
        self.framed = now;
        let is_gone = self.follower.is_some() && self.why_not.is_some();
        if is_gone && !self.condition.is_final() {
            self.condition = Condition::TraceGone;
        }
        let recorded = self.recorded(now);
        let picture = self.read(now);
        let cpus = self.cpus(interval);
        let mut lost_by_cause = Lost::default();
        cpus.iter().for_each(|row| lost_by_cause.add(&row.lost));
        let mut frame = Frame {
            schema_version: SCHEMA_VERSION,
            session: self.found.recorder.name.clone(),
            state: self.condition,
            trace: self.found.recorder.output.display().to_string(),
            interval_ns: u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX),
            recorded,
            is_followed: self.follower.is_some(),
            read_share: std::mem::take(&mut self.share).of_all(),
            lost_by_cause,
            notes: Vec::new(),
            picture,
            cpus,
            ..Frame::default()
        };
        let mut pauses = 0;
        if let Some(status) = &self.status {
            frame.mode = mode(status);
            frame.age_ns = status.age_ns;
            frame.buffer_bytes = status.buffer_bytes;
            frame.attached = status.attached;
            pauses = status.pauses.len() as u64 + status.pauses_more;
        }
        let counted = frame.recorded.map_or(0, |recorded| recorded.lost_events);
        let lost = counted.max(frame.lost_by_cause.total());
        frame.verdict = match frame.is_followed || frame.recorded.is_some() {
            true => verdict_so_far(lost, &frame.lost_by_cause, pauses),
            false => "nothing is known of losses yet".into(),
        };
        frame.notes = self.notes(&frame);
        frame
    }

    /// Reads what has come into the trace.
    fn read(&mut self, now: Instant) -> Picture {
        let Self { follower, live, share, why_not, condition, interval, .. } = self;
        let Some(follower) = follower else { return Picture::default() };
        let is_last = condition.is_final();
        let begun = cpu_time();
        let looked = if is_last { follower.look(now) } else { Ok(()) };
        match looked.and_then(|()| follower.part(now, is_last, |part| live.read(part))) {
            Ok(read) => share.add(read),
            Err(error) => {
                why_not.get_or_insert(crate::told(&error));
            }
        }
        follower.adjust(cpu_time().saturating_sub(begun), *interval);
        live.picture()
    }

    /// Rates from what the recorder says. A flight recorder tells of its last snapshot only.
    fn recorded(&mut self, now: Instant) -> Option<Recorded> {
        let status = self.status.as_ref().filter(|_| !self.found.recorder.flight_recorder)?;
        let progress = status.progress;
        let is_new = !matches!(self.condition, Condition::Silent) && !self.condition.is_final();
        let before = match is_new {
            true => self.progress.replace((now, progress)),
            false => None,
        };
        let seconds = before.map_or(0.0, |(at, _)| (now - at).as_secs_f64());
        let per_s = |now: u64, before: u64| match seconds {
            0.0 => 0.0,
            _ => now.saturating_sub(before) as f64 / seconds,
        };
        let (_, before) = before.unwrap_or((now, progress));
        Some(Recorded {
            recorded_per_s: per_s(progress.events, before.events),
            written_bytes_per_s: per_s(progress.bytes, before.bytes),
            lost_per_s: per_s(progress.lost, before.lost),
            recorded_events: progress.events,
            written_bytes: progress.bytes,
            lost_events: progress.lost,
        })
    }

    fn cpus(&mut self, interval: Duration) -> Vec<CpuRow> {
        let Self { follower, counters: before, .. } = self;
        let Some(follower) = follower else { return Vec::new() };
        let seconds = interval.as_secs_f64().max(1e-9);
        let per_s = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let row = |(name, cpu, now): (&str, Option<u32>, Counters)| {
            let before = before.insert(name.to_string(), now).unwrap_or_default();
            let (lost, lost_before) = (lost_of(now.lost), lost_of(before.lost));
            CpuRow {
                stream: name.to_string(),
                cpu,
                bytes_per_s: per_s(now.bytes, before.bytes),
                packets_per_s: per_s(now.packets, before.packets),
                lost_per_s: per_s(lost.total(), lost_before.total()),
                bytes: now.bytes,
                lost,
            }
        };
        let mut rows: Vec<CpuRow> = follower.counters().map(row).collect();
        rows.sort_by(|a, b| (a.cpu, &a.stream).cmp(&(b.cpu, &b.stream)));
        rows
    }

    fn notes(&self, frame: &Frame) -> Vec<String> {
        let mut notes = Vec::new();
        match frame.state {
            Condition::Silent => notes.push("the recorder does not answer".to_string()),
            Condition::Dead => {
                let what = left_line_of(&self.found.path)
                    .unwrap_or_else(|| self.found.path.display().to_string());
                notes.push(format!("the recorder was killed: {what}"));
            }
            _ => {}
        }
        notes.extend(self.why_not.clone().filter(|_| frame.state != Condition::Ended));
        if frame.is_followed && frame.read_share < 1.0 {
            notes.push(format!(
                "showing {:.0} % of events: more is recorded than is read beside it; rates are of \
                 the time that is shown",
                (frame.read_share * 100.0).floor()
            ));
        }
        if let Some(follower) = &self.follower {
            notes.extend(follower.complaints());
        }
        let picture = &frame.picture;
        for (count, noun, what) in [
            (picture.late_events, "event", "came into the trace too late to be shown"),
            (picture.unmeasured_calls, "call", "not measured: events are missing during them"),
            (picture.problems, "place", "of the trace could not be read"),
        ] {
            if count > 0 {
                notes.push(format!("{} {what}", plural(count, noun)));
            }
        }
        notes
    }
}

/// How long this thread has been on a CPU: what others make it wait is not its own work.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec, which lives longer than the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}
