// SPDX-License-Identifier: MIT
//! The calls or requests that a question names, by --pair or --between.
//!
//! Place in the flow: analyses of one span follow the longest of them.

use state::PairIndex;

use super::join::Join;
use crate::analyses::since;
use crate::error::Error;
use crate::spells::{Spell, Spells};
use crate::studies::{Moment, Start};

pub(in crate::studies) enum Asked {
    Pairs(Vec<PairIndex>, Spells),
    Joined(Box<Join>),
}

impl Asked {
    /// None where the question names none.
    pub fn of(start: &Start<'_>) -> Result<Option<Self>, Error> {
        let question = start.question;
        if let Some(between) = &question.between {
            let join = Join::new(start.traces, between, &question.keys)?;
            return Ok(Some(Asked::Joined(Box::new(join))));
        }
        let pairs = super::pairs(start)?;
        Ok((!pairs.is_empty()).then(|| Asked::Pairs(pairs, Spells::default())))
    }

    pub fn event(&mut self, moment: &Moment<'_>) {
        match self {
            Asked::Joined(join) => join.event(moment),
            Asked::Pairs(pairs, spells) => {
                let ended = moment.step.done.and_then(|done| done.pair.zip(done.begin));
                let wanted = ended.filter(|(pair, _)| moment.is_taken && pairs.contains(pair));
                let Some((_, begin)) = wanted else { return };
                let ns = since(begin, moment.event.time_ns());
                let (thread, cpu) = (moment.step.thread, moment.event.cpu());
                spells.record(Spell { begin, ns, thread, cpu });
            }
        }
    }

    pub fn longest(&self) -> Option<Spell> {
        let spells = match self {
            Asked::Joined(join) => join.spells(),
            Asked::Pairs(_, spells) => spells,
        };
        spells.longest().first().copied()
    }
}
