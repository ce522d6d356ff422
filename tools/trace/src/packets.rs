// SPDX-License-Identifier: MIT
//! The packets of a stream file, without their events.
//!
//! Place in the flow: readers that count packets instead of reading them. What is damaged is
//! stepped over as a merge does, and told.

use crate::error::Problem;
use crate::packet::Packet;
use crate::trace::{StreamFile, Trace};
use crate::units::{Cycles, Ns};

/// A packet and its times, where it and its stream tell them.
#[derive(Debug, Clone)]
pub struct PacketTimes<'a> {
    pub packet: &'a Packet,
    pub begin: Option<Ns>,
    pub end: Option<Ns>,
}

impl Trace {
    /// Gives each packet of a file, until `each` answers that it wants no more. Return: what was
    /// wrong with them.
    pub fn each_packet(
        &self,
        file: &StreamFile,
        mut each: impl FnMut(PacketTimes<'_>) -> bool,
    ) -> Vec<Problem> {
        let Some(mut cursor) = self.cursor(file) else { return Vec::new() };
        let clock = self.class_of(file).and_then(|class| self.metadata().clock_of(class));
        let ns = |cycles: Option<Cycles>| Some(clock?.ns(cycles?));
        while cursor.enter() {
            let packet = &cursor.packet;
            let times = PacketTimes { packet, begin: ns(packet.begin), end: ns(packet.end) };
            if !each(times) {
                break;
            }
            cursor.pass();
        }
        cursor.problems
    }
}
