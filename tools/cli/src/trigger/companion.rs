// SPDX-License-Identifier: MIT
//! The companion of a session that has triggers: a session over the same processes that records
//! the events of conditions and nothing else, in small rings; with those of the kernel's where the
//! session records the kernel, too.
//!
//! Place in the flow: the recorder's loop reads it in turn with its own session, and follows what
//! is written as `lull top` follows a trace. Its directory is in that of the session, and so is
//! its trace, whose memory is given back as soon as it was read.

use super::kernel::Part as KernelPart;
use super::matching::Writer;
use super::{Of, PERIOD};
use crate::record::asked::Asked;
use crate::record::{filtered, reach};
use crate::top::follow::Follower;
use analysis::live::Part;
use anyhow::Context as _;
use consumer::consumer::User;
use consumer::folder::Sharing;
use consumer::metadata::{Facts, KERNEL_CLASS};
use consumer::output::{Older, Output};
use consumer::{Consumer, Options};
use session::clock::Calibration;
use session::context::{Context, Recorded};
use session::pattern::Patterns;
use session::{machine, Plan, Session};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;
use verdict::text::{bytes, plural};

/// The folder of its trace, in its directory.
const TRACE: &str = "conditions";
pub const SUBBUF_BYTES: u64 = 64 << 10;
pub const SUBBUF_COUNT: u32 = 8;
/// What one look reads: a few milliseconds' work, for which the session's own rings have room.
const BUDGET_BYTES: u64 = 1 << 20;

/// What each event tells without being asked.
const TOLD: [&str; 4] = ["pid", "tid", "comm", "cpu"];

/// The contexts that filters may ask for and that events do not tell, a bit for each. Filters are
/// decided again by what is recorded, so a companion records them.
pub fn untold(has: impl Fn(&Context) -> bool) -> u32 {
    let asked = Context::all().filter(|context| has(context) && !TOLD.contains(&context.name));
    asked.fold(0, |bits, context| bits | 1 << context.number)
}

pub struct Companion {
    follower: Follower,
    consumer: Consumer,
    session: Arc<Session>,
    /// By which the session was made.
    plan: Plan,
    /// None: the session does not record the kernel.
    kernel: Option<KernelPart>,
    asked: Asked,
    /// Whether users are told apart.
    is_apart: bool,
    passed_bytes: u64,
}

/// What the end of a companion tells.
pub struct Ended {
    /// What kept events of conditions from being seen, in sentences.
    pub missing: Vec<String>,
    /// Names and levels of the events that processes had.
    pub events: Vec<(String, u8)>,
}

/// What is the kernel's goes with what is the recorder's own user's.
fn lane_of(class: u32) -> u32 {
    if class == KERNEL_CLASS {
        0
    } else {
        class
    }
}

impl Companion {
    pub fn begin(asked: Asked, of: &Of) -> anyhow::Result<Self> {
        let patterns = Patterns::exactly(asked.patterns())?;
        let uuid = Uuid::new_v4().into_bytes();
        let plan = Plan {
            uuid,
            flight_recorder: false,
            subbuf_size_bytes: SUBBUF_BYTES,
            subbuf_count: SUBBUF_COUNT,
            patterns: patterns.text().to_string(),
            filters: filtered::of_session(&asked, &patterns),
            counts: None,
            // What is asked for the trace is not asked for conditions, which would pay for it.
            has_budget: false,
            recorded: Recorded { contexts: untold(Context::is_programs), ..Recorded::default() },
            ..of.plan.clone()
        };
        let session = Arc::new(of.session.create_within(&plan)?);
        let facts = Facts {
            uuid,
            clock: of.calibration.ctf(),
            clock_uuid: machine::boot_id(),
            environment: vec![("verdict".into(), verdict::RECORDING.into())],
            kept: String::new(),
        };
        let path = session.path().join(TRACE);
        let output = Output::create(&path, Sharing::PRIVATE, Older::Refuse)?;
        // Less than the period, so that each look finds all that was recorded before.
        let options = Options { facts, flush_period: PERIOD / 2, limit_bytes: None };
        let consumer = Consumer::start(Arc::clone(&session), output, options)?;
        let lane: fn(u32) -> u32 = if of.is_apart { lane_of } else { |_| 0 };
        let follower = Follower::open_apart(&path, lane)?.hurried(PERIOD / 2, BUDGET_BYTES);
        let kernel = of.kernel.as_ref().map(KernelPart::new);
        let (is_apart, passed_bytes) = (of.is_apart, 0);
        let mut companion =
            Self { follower, consumer, session, plan, kernel, asked, is_apart, passed_bytes };
        companion.follow_kernel(&companion.asked.clone(), of)?;
        Ok(companion)
    }

    /// Records the events of other conditions from now on, in each process when it has looked.
    /// None: no condition names an event. An error: it records what it did before.
    pub fn follow(&mut self, asked: Option<Asked>, of: &Of) -> anyhow::Result<()> {
        let asked = asked.map_or_else(|| Asked::none_of(&["*".into()]), Ok)?;
        let patterns = Patterns::exactly(asked.patterns())?;
        let filters = filtered::of_session(&asked, &patterns);
        let followed = self.follow_kernel(&asked, of).and_then(|()| {
            Ok(self.consumer.change_rules(patterns.text(), &filters, asked.arguments())?)
        });
        if let Err(error) = followed {
            self.follow_kernel(&self.asked.clone(), of).with_context(|| {
                format!("{}; and then, what there was before", crate::told(&error))
            })?;
            return Err(error);
        }
        self.asked = asked;
        Ok(())
    }

    fn follow_kernel(&mut self, asked: &Asked, of: &Of) -> anyhow::Result<()> {
        let Self { kernel, consumer, plan, .. } = self;
        kernel.as_mut().map_or(Ok(()), |kernel| kernel.follow(asked, consumer, plan, of))
    }

    /// The recorder's program runs in this process.
    pub fn expect(&mut self, pid: u32, program: &str) {
        self.consumer.expect(pid, program);
    }

    pub fn path(&self) -> &Path {
        self.session.path()
    }

    pub fn segments(&self) -> Vec<i32> {
        self.consumer.segments()
    }

    /// Makes memory for a user whose processes are to join, if the user has none.
    pub fn provide(&mut self, user: u32) -> Result<(), consumer::Error> {
        self.consumer.provide(&self.plan, user)
    }

    /// The users whose processes may write, if they are told apart.
    pub fn writers(&self) -> Vec<Writer> {
        let writer = |User { class, number, segment }| Writer { class, user: number, segment };
        self.consumer.users().filter(|_| self.is_apart).map(writer).collect()
    }

    pub fn calibrate(&mut self, calibration: &Calibration) {
        self.consumer.calibrate(calibration);
    }

    /// Reads what was recorded since the last look, and hands over what was recorded before that,
    /// of each user apart if users are told apart.
    pub fn look(&mut self, read: impl FnMut(Option<Writer>, &Part<'_>)) -> anyhow::Result<()> {
        // Bound: the memory of the rings, which is small.
        while self.consumer.allocate()? {}
        self.consumer.tick();
        self.read(false, read)
    }

    fn read(
        &mut self,
        is_last: bool,
        mut read: impl FnMut(Option<Writer>, &Part<'_>),
    ) -> anyhow::Result<()> {
        let now = Instant::now();
        self.follower.look(now)?;
        let (is_apart, writers) = (self.is_apart, self.writers());
        let share = self.follower.parts(now, is_last, |lane, part| {
            let writer = writers.iter().find(|writer| writer.class == lane).copied();
            if writer.is_some() == is_apart {
                read(writer, part);
            }
        })?;
        self.passed_bytes = self.passed_bytes.saturating_add(share.passed_bytes);
        self.follower.release();
        Ok(())
    }

    /// Hands over the rest, and ends the companion in all processes.
    pub fn end(mut self, read: impl FnMut(Option<Writer>, &Part<'_>)) -> anyhow::Result<Ended> {
        let mut known = Vec::new();
        let asked = self.asked.clone();
        let verdict = self.consumer.finish(|verdict, seen| {
            filtered::judge(verdict, &asked, &seen.filtered, false);
            known = seen.events;
        })?;
        self.read(true, read)?;
        // Their advice would be of the session's own buffers.
        let losses = verdict.loss_sentences();
        let others = verdict.missing.iter().filter(|sentence| !losses.contains(sentence));
        let of_ring = |row: &verdict::RingLost| {
            format!(
                "{} lost on {}: more came than is read in time",
                plural(row.lost.total(), "event"),
                row.ring
            )
        };
        let mut missing: Vec<String> = verdict.lost_where.iter().map(of_ring).collect();
        missing.extend(others.cloned());
        if self.passed_bytes > 0 {
            missing.push(format!(
                "{} of events were passed over: more came than could be read beside the recording",
                bytes(self.passed_bytes)
            ));
        }
        missing.extend(self.follower.complaints());
        self.consumer.end();
        reach::leave(&self.consumer.segments());
        Ok(Ended { missing, events: known })
    }
}
