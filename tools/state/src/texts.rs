// SPDX-License-Identifier: MIT
//! Each text once: paths, addresses and command lines by number.
//!
//! Place in the flow: field values are borrowed from the packet; what is remembered of them is a
//! number from here. Both the count of texts and the length of each are bounded.

use std::hash::{BuildHasher, BuildHasherDefault};

use rustc_hash::{FxHashMap, FxHasher};

/// Number of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TextIndex(pub u32);

impl TextIndex {
    /// Stands for no text, and for the empty one.
    pub const NONE: TextIndex = TextIndex(0);
    /// Stands for texts that found no space.
    const OTHERS: TextIndex = TextIndex(1);
}

const MOST_BYTES: usize = 512;
/// The name that all things which found no space have together.
pub const OTHERS_TEXT: &str = "(others)";

/// The texts that events told, once each.
#[derive(Debug)]
pub struct Texts {
    /// From hash to text; on the rare collision the later text is stored again.
    index: FxHashMap<u64, u32>,
    texts: Vec<Box<[u8]>>,
    limit: usize,
}

impl Texts {
    /// No texts; at most `limit` find space, with 512 bytes each.
    pub fn new(limit: usize) -> Self {
        let texts = vec![Box::default(), OTHERS_TEXT.as_bytes().into()];
        Self { index: FxHashMap::default(), texts, limit: limit.saturating_add(2) }
    }

    /// Texts with the numbers that they had in [`Texts::all`].
    pub fn again(texts: Vec<Box<[u8]>>) -> Self {
        Self { index: FxHashMap::default(), limit: texts.len(), texts }
    }

    /// Every text; a [`TextIndex`] is a position.
    pub fn all(&self) -> &[Box<[u8]>] {
        &self.texts
    }

    /// The number of a text, which is remembered if there is space.
    pub(crate) fn index(&mut self, text: &[u8]) -> TextIndex {
        if text.is_empty() {
            return TextIndex::NONE;
        }
        let text = &text[..text.len().min(MOST_BYTES)];
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(text);
        if let Some(index) = self.index.get(&hash) {
            if self.texts.get(*index as usize).is_some_and(|known| **known == *text) {
                return TextIndex(*index);
            }
        }
        if self.texts.len() >= self.limit {
            return TextIndex::OTHERS;
        }
        let index = self.texts.len() as u32;
        self.texts.push(text.into());
        self.index.insert(hash, index);
        TextIndex(index)
    }

    /// The text as the trace has it, cut to 512 bytes; empty if the number is of no text.
    pub fn bytes(&self, index: TextIndex) -> &[u8] {
        self.texts.get(index.0 as usize).map_or(&[], |text| text)
    }

    /// The text for people; bytes that are not UTF-8 are shown as such.
    pub fn text(&self, index: TextIndex) -> String {
        String::from_utf8_lossy(self.bytes(index)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{TextIndex, Texts, MOST_BYTES, OTHERS_TEXT};

    #[test]
    fn equal_texts_have_one_number_and_those_past_the_limit_share_one() {
        let mut texts = Texts::new(2);
        let (a, b) = (texts.index(b"/a"), texts.index(b"/b"));
        assert_eq!(texts.index(b"/a"), a);
        assert_ne!(a, b);
        assert_eq!(texts.text(a), "/a");
        let other = texts.index(b"/c");
        assert_eq!(texts.text(other), OTHERS_TEXT);
        assert_eq!(texts.index(b""), TextIndex::NONE);
    }

    #[test]
    fn long_texts_are_cut() {
        let mut texts = Texts::new(2);
        let index = texts.index(&[b'x'; 3 * MOST_BYTES]);
        assert_eq!(texts.bytes(index).len(), MOST_BYTES);
    }
}
