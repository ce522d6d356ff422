// SPDX-License-Identifier: MIT
//! Whether somebody still waits for an answer.
//!
//! Place in the flow: the servers answer in turn, on threads of their own, and what reads for long
//! looks here on the way. Whoever moves a time line asks anew many times a second and gives up what
//! was asked before; without this, the newest question would wait for all of those.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use tokio::sync::Semaphore;

/// That of the one who asked; by default it has no end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patience(Arc<AtomicBool>);

/// The one who asked, for as long as the connection is there.
struct Asker(Patience);

impl Patience {
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// That of one who has gone.
    #[cfg(test)]
    pub fn over() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// An error if nobody waits.
    pub fn check(&self) -> Result<(), String> {
        match self.is_over() {
            true => Err("nobody waits for the answer any more".into()),
            false => Ok(()),
        }
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.0 .0.store(true, Ordering::Relaxed);
    }
}

/// Works out an answer when it is its turn. Who gives up before has no turn; later, the turn is
/// over when the work is, and not earlier. `None`: the work panicked.
pub(crate) async fn in_turn<R: Send + 'static>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce(&Patience) -> R + Send + 'static,
) -> Option<R> {
    let asker = Asker(Patience::default());
    let turn = turns.clone().acquire_owned().await.ok()?;
    let patience = asker.0.clone();
    let worked = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work(&patience)
    });
    worked.await.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_secs(20);

    #[test]
    fn work_learns_that_nobody_waits_and_keeps_its_turn_until_it_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let turns = Arc::new(Semaphore::new(1));
        let (begun, begins) = mpsc::channel();
        let (go, goes) = mpsc::channel();
        runtime.block_on(async {
            let asked = in_turn(&turns, move |patience| {
                assert!(!patience.is_over());
                begun.send(patience.clone()).unwrap();
                goes.recv_timeout(LATE).unwrap();
            });
            assert!(tokio::time::timeout(SOON, asked).await.is_err());
            let patience = begins.recv_timeout(LATE).unwrap();
            assert!(patience.is_over());
            // Another one waits for the turn and gives up; its work never begins.
            let began = Arc::new(AtomicBool::new(false));
            let begins = began.clone();
            let given_up = in_turn(&turns, move |_| begins.store(true, Ordering::Relaxed));
            assert!(tokio::time::timeout(SOON, given_up).await.is_err());
            go.send(()).unwrap();
            let next = tokio::time::timeout(LATE, in_turn(&turns, |patience| patience.is_over()));
            assert_eq!(next.await.unwrap(), Some(false));
            assert!(!began.load(Ordering::Relaxed));
        });
    }
}
