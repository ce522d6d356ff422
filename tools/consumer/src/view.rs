// SPDX-License-Identifier: MIT
//! Bytes that other processes may write to while they are read.
//!
//! Place in the flow: `walk` reads slots through it. Each value is fetched exactly once, into a
//! local, and checked there; a value fetched twice could pass its check and change before use.

use session::abi::*;
use std::marker::PhantomData;

/// A bounded window on shared or private memory.
#[derive(Clone, Copy)]
pub struct View<'a> {
    data: *const u8,
    len: usize,
    lives: PhantomData<&'a u8>,
}

impl<'a> View<'a> {
    /// # Safety
    /// `data` must be readable for `len` bytes, and 4-byte aligned, for as long as `'a`.
    pub unsafe fn new(data: *const u8, len: usize) -> Self {
        Self { data, len, lives: PhantomData }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn as_ptr(&self) -> *const u8 {
        self.data
    }

    /// The aligned word at `at`.
    #[inline]
    pub fn word(&self, at: usize) -> Option<u32> {
        if at % 4 != 0 || at.checked_add(4)? > self.len {
            return None;
        }
        // SAFETY: in bounds, and aligned because data is.
        Some(unsafe { self.data.add(at).cast::<u32>().read_volatile() })
    }

    /// The aligned double word at `at`, in two fetches of a half each.
    #[inline]
    pub fn double_word(&self, at: usize) -> Option<u64> {
        let halves = [self.word(at)?.to_ne_bytes(), self.word(at + 4)?.to_ne_bytes()];
        let [[a, b, c, d], [e, f, g, h]] = halves;
        Some(u64::from_ne_bytes([a, b, c, d, e, f, g, h]))
    }

    /// `N` bytes at any address.
    #[inline]
    pub fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        if at.checked_add(N)? > self.len {
            return None;
        }
        // SAFETY: in bounds; an array of bytes needs no alignment.
        Some(unsafe { self.data.add(at).cast::<[u8; N]>().read_volatile() })
    }

    /// Bytes before the NUL that ends the text at `at`, if there is one before `limit`.
    #[inline]
    pub fn text_bytes(&self, at: usize, limit: usize) -> Option<usize> {
        let limit = limit.min(self.len);
        let room = limit.checked_sub(at)?;
        // SAFETY: the range is in bounds, and strnlen reads no further.
        let length = unsafe { libc::strnlen(self.data.add(at).cast(), room) };
        (length < room).then_some(length)
    }

    /// The packet header that writers left at the beginning, if it is one.
    pub fn packet_header(&self) -> Option<PacketHeader> {
        let mut words = [0u32; PACKET_HEADER_BYTES / 4];
        for (index, word) in words.iter_mut().enumerate() {
            *word = self.word(index * 4)?;
        }
        let long = |at: usize| u64::from(words[at / 4]) | u64::from(words[at / 4 + 1]) << 32;
        (words[0] == PACKET_MAGIC).then(|| PacketHeader {
            magic: words[0],
            timestamp_begin_cycles: long(24),
            timestamp_end_cycles: long(32),
            content_size_bits: long(40),
            packet_size_bits: long(48),
            packet_seq_num: long(56),
            lost: std::array::from_fn(|cause| long(72 + 8 * cause)),
            ..PacketHeader::default()
        })
    }

    /// A private copy of the first `until` bytes, in words for alignment.
    pub fn copy(&self, until: usize) -> Copy {
        let mut copy = Copy::default();
        self.copy_to(until, &mut copy);
        copy
    }

    /// The same, in memory that `copy` has already.
    pub fn copy_to(&self, until: usize, copy: &mut Copy) {
        let until = until.min(self.len);
        copy.words.resize(until.div_ceil(4), 0);
        copy.len = until;
        // SAFETY: both are valid for `until` bytes and do not overlap. What a hostile writer
        // changes meanwhile is copied in one state or the other; nothing is believed before.
        unsafe { self.data.copy_to_nonoverlapping(copy.words.as_mut_ptr().cast(), until) };
    }
}

/// A private copy of a sub-buffer, to be walked, repaired and written.
#[derive(Default)]
pub struct Copy {
    words: Vec<u32>,
    len: usize,
}

impl Copy {
    pub fn view(&self) -> View<'_> {
        // SAFETY: words covers len bytes and cannot change while borrowed.
        unsafe { View::new(self.words.as_ptr().cast(), self.len) }
    }

    /// Writes a word; out of bounds is ignored.
    pub fn set_word(&mut self, at: usize, word: u32) {
        if let Some(place) = self.words.get_mut(at / 4) {
            *place = word;
        }
    }

    pub fn set_double_word(&mut self, at: usize, value: u64) {
        let [a, b, c, d, e, f, g, h] = value.to_ne_bytes();
        self.set_word(at, u32::from_ne_bytes([a, b, c, d]));
        self.set_word(at + 4, u32::from_ne_bytes([e, f, g, h]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stay_inside_and_words_are_aligned() {
        let words = [0x0302_0100u32.to_le(), 0x0700_0504u32.to_le()];
        // SAFETY: the array outlives the view.
        let view = unsafe { View::new(words.as_ptr().cast(), 8) };
        assert_eq!(view.word(4), Some(words[1]));
        assert_eq!(view.word(2), None);
        assert_eq!(view.word(8), None);
        assert_eq!(view.word(usize::MAX - 3), None);
        assert_eq!(view.double_word(4), None);
        assert_eq!(view.bytes::<2>(3), Some([3, 4]));
        assert_eq!(view.bytes::<2>(7), None);
    }

    #[test]
    fn text_without_its_nul_before_the_limit_is_no_text() {
        let words = [u32::from_ne_bytes(*b"abcd"), u32::from_ne_bytes([b'e', 0, 0, 0])];
        // SAFETY: the array outlives the view.
        let view = unsafe { View::new(words.as_ptr().cast(), 8) };
        assert_eq!(view.text_bytes(1, 8), Some(4));
        assert_eq!(view.text_bytes(1, 5), None);
        assert_eq!(view.text_bytes(9, 8), None);
    }

    #[test]
    fn packet_header_is_read_where_writers_left_one() {
        let header = PacketHeader {
            magic: PACKET_MAGIC,
            timestamp_begin_cycles: 0x1_0000_0002,
            timestamp_end_cycles: 0x3_0000_0004,
            content_size_bits: 0x5_0000_0006,
            packet_size_bits: 0x7_0000_0008,
            packet_seq_num: 0x9_0000_000a,
            lost: [0xb_0000_000c, 0xd_0000_000e, 0xf_0000_0010, 0x11_0000_0012],
            ..PacketHeader::default()
        };
        let read = |header: &PacketHeader, bytes: usize| {
            // SAFETY: the header outlives the view, and has as many bytes.
            let view = unsafe { View::new((&raw const *header).cast(), bytes) };
            assert_eq!((view.len(), view.is_empty()), (bytes, bytes == 0));
            view.packet_header()
        };
        assert_eq!(read(&header, PACKET_HEADER_BYTES), Some(header));
        assert_eq!(read(&header, PACKET_HEADER_BYTES - 4), None);
        assert_eq!(read(&header, 0), None);
        assert_eq!(read(&PacketHeader { magic: 1, ..header }, PACKET_HEADER_BYTES), None);
    }

    #[test]
    fn copy_has_as_many_bytes_as_were_asked_for_and_are_there() {
        let words = [u32::from_ne_bytes([1, 2, 3, 4]), u32::from_ne_bytes([5, 6, 7, 8])];
        // SAFETY: the array outlives the view.
        let view = unsafe { View::new(words.as_ptr().cast(), 8) };
        let mut copy = view.copy(6);
        assert_eq!((copy.view().len(), copy.view().bytes::<2>(4)), (6, Some([5, 6])));
        assert_eq!((copy.view().bytes::<1>(6), copy.view().word(4)), (None, None));
        view.copy_to(100, &mut copy);
        assert_eq!((copy.view().len(), copy.view().word(4)), (8, Some(words[1])));
        copy.set_word(4, 9);
        assert_eq!((copy.view().word(0), copy.view().word(4)), (Some(words[0]), Some(9)));
        assert_eq!(copy.view().double_word(0), Some(u64::from(words[0]) | 9 << 32));
        assert_eq!(copy.view().bytes::<8>(0), Some([1, 2, 3, 4, 9, 0, 0, 0]));
    }

    #[test]
    fn copy_is_private_and_takes_words_at_their_places() {
        let words = [1u32, 2, 3];
        // SAFETY: the array outlives the view.
        let mut copy = unsafe { View::new(words.as_ptr().cast(), 12) }.copy(12);
        copy.set_double_word(4, u64::MAX);
        copy.set_word(400, 1);
        assert_eq!(copy.view().word(0), Some(1));
        assert_eq!(copy.view().double_word(4), Some(u64::MAX));
        assert_eq!(words[1], 2);
    }
}
