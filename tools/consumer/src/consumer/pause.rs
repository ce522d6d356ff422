// SPDX-License-Identifier: MIT
//! Pauses: probes record nothing for a while, and the trace says from when to when.
//!
//! Place in the flow: `lull pause` and `lull resume` come here through the recorder's control
//! socket. The probes of one user's processes read one word of their session's memory (T 2,
//! B 3.4); each user's memory has its own, and the kernel has its own. What threads record that see
//! a pause late is read as ever. A pause begins before the first word is stored and lasts until
//! the last one is, so that no event outside of it is missing on its account.

use super::{note, Consumer};
use crate::clock::now_cycles;
use std::time::Duration;
use verdict::environment::{self, Environment};
use verdict::Pause;

/// Pauses that a trace tells of.
const PAUSES_MAX: usize = 1000;

/// Why a recording was not paused, or not resumed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PauseError {
    #[error("it is paused already")]
    Paused,
    #[error("it is not paused")]
    NotPaused,
    #[error("recording has ended, for the trace has the size that --max-size allows")]
    Ended,
    #[error("it was paused {PAUSES_MAX} times, and its trace can tell of no more pauses")]
    TooMany,
    #[error("the kernel's events could not be switched: {0}")]
    Kernel(String),
}

/// The pauses so far; one that has no end yet goes on.
#[derive(Debug, Default)]
pub(super) struct Pauses(Vec<Pause>);

impl Pauses {
    /// Those that a killed recorder wrote down.
    pub fn of(environment: &Environment) -> Self {
        Self(environment::pauses(environment::entries(environment)))
    }

    pub fn list(&self) -> &[Pause] {
        &self.0
    }

    pub fn is_open(&self) -> bool {
        self.0.last().is_some_and(|pause| pause.until.is_none())
    }
}

impl Consumer {
    pub fn is_paused(&self) -> bool {
        self.pauses.is_open()
    }

    /// The pauses so far, in order; the last goes on where it has no end.
    pub fn pauses(&self) -> &[Pause] {
        self.pauses.list()
    }

    /// What the flags of all memory are to say.
    pub(super) fn is_recording(&self) -> bool {
        self.active && !self.is_paused()
    }

    /// From now on no probe records, until [`Consumer::resume_probes`].
    pub fn pause_probes(&mut self) -> Result<(), PauseError> {
        if !self.active {
            return Err(PauseError::Ended);
        }
        if self.is_paused() {
            return Err(PauseError::Paused);
        }
        if self.pauses.0.len() >= PAUSES_MAX {
            return Err(PauseError::TooMany);
        }
        self.check_flags();
        self.pauses.0.push(Pause { begin: self.moment(), until: None });
        for memory in &self.memories {
            memory.set_active(false);
        }
        self.tell_pauses();
        if let Err(error) = self.record_kernel(false) {
            // All or nothing: a pause of a part would be told as one of the whole.
            let _ = self.resume_probes();
            return Err(PauseError::Kernel(error));
        }
        Ok(())
    }

    /// From now on probes record again.
    pub fn resume_probes(&mut self) -> Result<(), PauseError> {
        if !self.is_paused() {
            return Err(PauseError::NotPaused);
        }
        self.check_flags();
        self.record_kernel(true).map_err(PauseError::Kernel)?;
        for memory in &self.memories {
            memory.set_active(true);
        }
        // After the stores. How much later other processors see these is in no pause's times.
        let until = self.moment();
        if let Some(pause) = self.pauses.0.last_mut() {
            pause.until = Some(until);
        }
        self.tell_pauses();
        Ok(())
    }

    /// The time, in cycles and in nanoseconds since the recording began.
    pub(super) fn moment(&self) -> (u64, u64) {
        (now_cycles(), self.now_ns())
    }

    fn tell_pauses(&mut self) {
        self.tell(environment::of_pauses(self.pauses.list()));
    }

    /// Finds flags that a process has written over, and stores them anew: events may be missing
    /// that no count has, or may have been recorded in a pause.
    pub(super) fn check_flags(&mut self) {
        if !self.active {
            return;
        }
        let expected = self.is_recording();
        for memory in &self.memories {
            if memory.is_active() != expected {
                memory.set_active(expected);
                note(&mut self.problems, written_over(memory.fixed().user_id, expected));
            }
        }
    }
}

fn written_over(user_id: u32, expected: bool) -> String {
    let what = match expected {
        true => "events of user ID that are in no count",
        false => "how far the pauses hold for user ID",
    };
    format!(
        "{}: a process that shares the session's memory wrote over the flag that says whether to \
         record",
        what.replace("ID", &user_id.to_string())
    )
}

/// What the verdict says of pauses; None where there was none.
pub(super) fn sentence(pauses: &[Pause]) -> Option<String> {
    const NAMED_MAX: usize = 4;
    let seconds = |ns: u64| format!("{:.3} s", Duration::from_nanos(ns).as_secs_f64());
    let span = |pause: &Pause| match pause.until {
        Some((_, until_ns)) => format!("{} to {}", seconds(pause.begin.1), seconds(until_ns)),
        None => format!("{} to the end", seconds(pause.begin.1)),
    };
    let mut named: Vec<String> = pauses.iter().take(NAMED_MAX).map(span).collect();
    let more = pauses.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let many = match pauses.len() {
        0 => return None,
        1 => "the pause".to_string(),
        count => format!("{count} pauses"),
    };
    Some(format!(
        "outside of {many}, in which nothing was recorded: {}, since recording began",
        named.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(begin_ms: u64, until_ms: Option<u64>) -> Pause {
        let at = |ms: u64| (ms, ms * 1_000_000);
        Pause { begin: at(begin_ms), until: until_ms.map(at) }
    }

    #[test]
    fn sentence_names_the_first_pauses_and_counts_the_rest() {
        assert_eq!(sentence(&[]), None);
        assert_eq!(
            sentence(&[pause(1500, Some(2250))]).unwrap(),
            "outside of the pause, in which nothing was recorded: 1.500 s to 2.250 s, since \
             recording began"
        );
        let many: Vec<Pause> = (0..6).map(|at| pause(at * 10, Some(at * 10 + 5))).collect();
        let text = sentence(&many).unwrap();
        assert!(text.contains("6 pauses") && text.contains("0.035 s; 2 more,"), "{text}");
        assert!(sentence(&[pause(7, None)]).unwrap().contains("0.007 s to the end"));
    }

    #[test]
    fn pauses_that_a_killed_recorder_told_go_on_in_what_is_recovered() {
        let told = [pause(1, Some(2)), pause(3, None)];
        let pauses = Pauses::of(&vec![environment::of_pauses(&told)]);
        assert_eq!(pauses.list(), told);
        assert!(pauses.is_open() && !Pauses::default().is_open());
    }
}
