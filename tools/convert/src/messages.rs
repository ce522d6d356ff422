// SPDX-License-Identifier: MIT
//! Messages between the machines of several traces, found by events that name them alike.
//!
//! Place in the flow: `lull merge` says by which events and fields; `estimate` compares the clocks.
//! An identifier that occurs more than once on either side names no message and is left out, so
//! that nothing is guessed about which arrival belongs to which sending.

use std::collections::HashMap;

use trace::{EventClass, Message, Trace, Value};

use crate::estimate::Sent;

/// Identifiers that are remembered.
const MAX_IDS: usize = 1 << 20;
/// Fields that may make up an identifier.
const MAX_FIELDS: usize = 16;

/// An event, and the fields of it that together name a message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Side {
    event: String,
    fields: Vec<String>,
}

/// Which events are the two ends of a message: `net:send id = net:receive id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    send: Side,
    receive: Side,
}

impl Side {
    fn parse(text: &str) -> Option<Self> {
        let (event, fields) = text.trim().split_once(char::is_whitespace)?;
        let fields: Vec<String> = fields.split(',').map(|name| name.trim().to_string()).collect();
        let is_name = |name: &String| !name.is_empty() && !name.contains(char::is_whitespace);
        let are_names = fields.iter().all(is_name) && fields.len() <= MAX_FIELDS;
        are_names.then(|| Self { event: event.to_string(), fields })
    }

    /// The positions of the fields in a class, if the events are of it.
    fn fields_in(&self, class: &EventClass) -> Option<Vec<usize>> {
        if *class.name != *self.event {
            return None;
        }
        self.fields.iter().map(|name| class.field_index(name)).collect()
    }
}

impl std::str::FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('=').and_then(|(send, receive)| {
            Some(Self { send: Side::parse(send)?, receive: Side::parse(receive)? })
        });
        let rule = parsed.filter(|rule| rule.send.fields.len() == rule.receive.fields.len());
        rule.ok_or_else(|| {
            "write 'EVENT FIELD = EVENT FIELD', the event that sends first, with as many fields on \
             both sides, between commas"
                .into()
        })
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let side = |side: &Side| format!("{} {}", side.event, side.fields.join(","));
        write!(f, "{} = {}", side(&self.send), side(&self.receive))
    }
}

/// The two ends of what has one identifier, so far.
#[derive(Debug, Default)]
struct Ends {
    send: Option<(usize, i64)>,
    receive: Option<(usize, i64)>,
    is_repeated: bool,
}

/// What was sent and received in several traces.
#[derive(Debug, Default)]
pub struct Messages {
    by_id: HashMap<(usize, Box<[u8]>), Ends>,
    /// Events that were not looked at because there were too many identifiers.
    pub untaken: u64,
}

/// How many identifiers there were, by what became of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub matched: u64,
    pub unmatched: u64,
    pub repeated: u64,
}

impl Messages {
    /// Reads one of the traces. `advance` hears how many bytes of it are done. The result says for
    /// each rule whether the trace has events that send and events that receive by it.
    pub fn read(
        &mut self,
        trace: &Trace,
        trace_index: usize,
        rules: &[Rule],
        advance: &mut dyn FnMut(u64),
    ) -> Vec<(bool, bool)> {
        let ends = |class| {
            let of_rule = |(number, rule): (usize, &Rule)| {
                let sends = rule.send.fields_in(class).map(|fields| (number, true, fields));
                let receives = rule.receive.fields_in(class).map(|fields| (number, false, fields));
                sends.into_iter().chain(receives)
            };
            rules.iter().enumerate().flat_map(of_rule).collect::<Vec<_>>()
        };
        let by_class: Vec<_> = trace.event_classes().map(ends).collect();
        let has = |number, sends| {
            by_class.iter().flatten().any(|(rule, is_send, _)| (*rule, *is_send) == (number, sends))
        };
        let found = (0..rules.len()).map(|number| (has(number, true), has(number, false)));
        let found: Vec<_> = found.collect();
        if !found.iter().any(|(sends, receives)| *sends || *receives) {
            return found;
        }
        let mut merge = trace.merge();
        let (mut bytes, mut events) = (0, 0u64);
        while let Some(message) = merge.next() {
            let Message::Event(event) = message else { continue };
            (bytes, events) = (bytes + event.size_bits() / 8, events + 1);
            if events % 4096 == 0 {
                advance(bytes);
            }
            let Some(ends) = by_class.get(event.class().index) else { continue };
            for (rule, is_send, fields) in ends {
                let mut id = Vec::new();
                if fields.iter().all(|field| event.value(*field).is_some_and(|v| add(&mut id, v))) {
                    let at = (trace_index, event.time_ns().0);
                    self.end((*rule, id.into_boxed_slice()), at, *is_send);
                }
            }
        }
        found
    }

    fn end(&mut self, id: (usize, Box<[u8]>), at: (usize, i64), is_send: bool) {
        if self.by_id.len() >= MAX_IDS && !self.by_id.contains_key(&id) {
            self.untaken += 1;
            return;
        }
        let ends = self.by_id.entry(id).or_default();
        let end = if is_send { &mut ends.send } else { &mut ends.receive };
        ends.is_repeated |= end.is_some();
        *end = Some(at);
    }

    /// The messages from one trace to another, in the order of their sending.
    pub fn between(&self, from: usize, to: usize) -> Vec<Sent> {
        let known = self.by_id.values().filter(|ends| !ends.is_repeated);
        let both = known.filter_map(|ends| ends.send.zip(ends.receive));
        let of_two = both.filter(|(send, receive)| (send.0, receive.0) == (from, to));
        let mut sent: Vec<_> =
            of_two.map(|(send, receive)| Sent { send_ns: send.1, receive_ns: receive.1 }).collect();
        sent.sort_by_key(|sent| (sent.send_ns, sent.receive_ns));
        sent
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for ends in self.by_id.values() {
            let count = match (ends.is_repeated, ends.send.is_some() && ends.receive.is_some()) {
                (true, _) => &mut counts.repeated,
                (false, true) => &mut counts.matched,
                (false, false) => &mut counts.unmatched,
            };
            *count += 1;
        }
        counts
    }
}

/// Adds a value to an identifier; `false` if it is none that can be compared.
fn add(id: &mut Vec<u8>, value: Value<'_>) -> bool {
    match (value.as_i64(), value.as_u64(), value) {
        (Some(number), ..) => id.extend(number.to_le_bytes()),
        (None, Some(number), _) => id.extend(number.to_le_bytes()),
        (None, None, Value::Text(text)) => {
            id.extend((text.len() as u64).to_le_bytes());
            id.extend_from_slice(text);
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_an_event_and_as_many_fields_on_each_side() {
        let rule: Rule = "net:send id, seq = net:receive from,seq".parse().unwrap();
        assert_eq!(rule.to_string(), "net:send id,seq = net:receive from,seq");
        for wrong in ["", "a b", "a b = c", "a b,c = d e", "a = b c", "a b, = c d,", "a b c = d e"]
        {
            assert!(wrong.parse::<Rule>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_identifier_that_occurs_twice_names_no_message() {
        let mut messages = Messages::default();
        let id = |n: u8| (0, vec![n].into_boxed_slice());
        for (n, at, is_send) in [
            (1, (0, 10), true),
            (1, (1, 30), false),
            (2, (0, 11), true),
            (2, (0, 12), true),
            (2, (1, 31), false),
            (3, (1, 5), true),
            (4, (1, 50), true),
            (4, (0, 20), false),
        ] {
            messages.end(id(n), at, is_send);
        }
        assert_eq!(messages.between(0, 1), [Sent { send_ns: 10, receive_ns: 30 }]);
        assert_eq!(messages.between(1, 0), [Sent { send_ns: 50, receive_ns: 20 }]);
        assert_eq!(messages.counts(), Counts { matched: 2, unmatched: 1, repeated: 1 });
    }
}
