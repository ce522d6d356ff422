// SPDX-License-Identifier: MIT
//! The reader's part of `core/ring/ring.h`, and the clock, as Rust calls them: `ring.rs` calls the
//! ring's functions, `clock.rs` the clock's.

use session::abi::{Commit, RingShared};
use std::ffi::{c_char, c_int, c_uint};
use std::sync::atomic::AtomicU64;

/// `struct lull_ring_geometry`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Geometry {
    pub subbuf_size_bytes: u64,
    pub subbuf_count: u32,
    pub physical_count: u32,
    pub mode: u32,
    pub plain: u32,
    pub cpu_id: u32,
    pub stream_id: u32,
    pub uuid: [u8; 16],
}

/// `struct lull_ring_memory`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Memory {
    pub base: *mut u8,
    pub pages: *const *mut u8,
}

/// `struct lull_ring`: made by `lull_ring_attach()`.
#[repr(C, align(128))]
pub struct RingView {
    pub shared: *mut RingShared,
    pub commit: *mut Commit,
    pub memory: Memory,
    pub subbuf_mask: u64,
    pub slot_mask: u64,
    pub physical_mask: u32,
    pub subbuf_bits: u32,
    pub reference: *mut AtomicU64,
    pub geometry: Geometry,
    pub buffer_bits: u32,
}

/// `struct lull_ring_subbuf`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Subbuf {
    pub data: *const u8,
    pub position: u64,
    pub content_bytes: u64,
    pub committed_bytes: u64,
    pub physical: u32,
    pub complete: u32,
    pub last_cycles: u64,
}

extern "C" {
    pub fn lull_ring_check(geometry: *const Geometry) -> *const c_char;
    pub fn lull_ring_control_bytes(geometry: *const Geometry) -> usize;
    pub fn lull_ring_attach(
        ring: *mut RingView,
        geometry: *const Geometry,
        control: *mut u8,
        memory: Memory,
    );
    pub fn lull_ring_reset(ring: *mut RingView, start_bytes: u64);
    pub fn lull_ring_poll(ring: *const RingView) -> c_uint;
    pub fn lull_ring_get(ring: *mut RingView, spare: *mut u32, subbuf: *mut Subbuf) -> c_int;
    pub fn lull_ring_take(ring: *mut RingView, spare: u32, subbuf: *mut Subbuf) -> c_int;
    pub fn lull_ring_stuck(ring: *const RingView, subbuf: *mut Subbuf) -> c_int;
    pub fn lull_ring_overwrites_next(ring: *const RingView) -> c_int;
    pub fn lull_ring_settled(ring: *const RingView, subbuf: *const Subbuf) -> c_int;
    pub fn lull_ring_put(ring: *mut RingView, subbuf: *const Subbuf);
    pub fn lull_ring_peek(ring: *const RingView, subbuf: *mut Subbuf) -> c_int;
    pub fn lull_ring_unchanged(ring: *const RingView, subbuf: *const Subbuf) -> c_int;
    pub fn lull_ring_lost(ring: *const RingView, cause: c_uint) -> u64;
    pub fn lull_ring_count_lost(ring: *mut RingView, cause: c_uint, events: u64);
    pub fn lull_barrier_heavy();
    pub fn lull_clock_start(kind: u32) -> c_int;
    pub fn lull_clock_kind() -> u32;
    pub fn lull_consumer_cycles() -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::abi::*;
    use std::mem::{offset_of, size_of};

    extern "C" {
        static lull_consumer_layout: [usize; 27];
        static lull_consumer_layout_count: usize;
    }

    #[test]
    fn rust_and_c_agree_on_every_shared_layout() {
        let live = offset_of!(Control, live);
        let here = [
            size_of::<PacketHeader>(),
            offset_of!(PacketHeader, lost),
            offset_of!(PacketHeader, flags),
            size_of::<Control>(),
            offset_of!(ControlFixed, ring_stride_bytes),
            offset_of!(ControlFixed, arena_bytes),
            live + offset_of!(ControlLive, arena_used_bytes),
            live + offset_of!(ControlLive, refused_count),
            offset_of!(ControlFixed, own_offset_bytes),
            size_of::<OwnEvents>(),
            size_of::<EventEntry>(),
            offset_of!(EventEntry, offset_bytes),
            size_of::<RingShared>(),
            offset_of!(RingShared, active),
            offset_of!(RingShared, read_count),
            offset_of!(RingShared, recorded_index),
            offset_of!(RingShared, recorded_packets),
            offset_of!(RingShared, lost),
            offset_of!(RingShared, taken),
            size_of::<Commit>(),
            size_of::<RingView>(),
            offset_of!(RingView, geometry),
            offset_of!(RingView, buffer_bits),
            size_of::<Geometry>(),
            offset_of!(Geometry, uuid),
            size_of::<Subbuf>(),
            offset_of!(Subbuf, last_cycles),
        ];
        // SAFETY: ffi.c defines both; the count is compared before the table is read.
        unsafe {
            assert_eq!(lull_consumer_layout_count, here.len());
            assert_eq!(lull_consumer_layout, here);
        }
    }
}
