// SPDX-License-Identifier: MIT
//! Newtypes for the quantities that must not be mixed up.
//!
//! Place in the flow: every other module of this crate, and every reader built on it,
//! speaks of time, clock ticks and identifiers through these.

use std::fmt;

macro_rules! newtype {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$inner> for $name {
            fn from(value: $inner) -> Self {
                Self(value)
            }
        }
    };
}

newtype! {
    /// Nanoseconds since the clock's origin (the Unix epoch for an absolute clock).
    Ns(i64)
}
newtype! {
    /// A clock value in ticks of its own frequency.
    Cycles(u64)
}
newtype! {
    /// The processor that wrote a packet.
    CpuId(u32)
}
newtype! {
    /// The `id` of a stream class in the metadata.
    StreamId(u64)
}
newtype! {
    /// The `id` of an event class within its stream class.
    EventId(u64)
}

impl CpuId {
    /// The processor that a packet names: none where it has what Lull writes for a ring of any.
    pub(crate) fn named(value: u64) -> Option<CpuId> {
        u32::try_from(value).ok().filter(|cpu| *cpu != u32::MAX).map(CpuId)
    }
}
