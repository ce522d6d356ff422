// SPDX-License-Identifier: MIT
//! Packetized metadata (CTF 1.8, section 7.1): TSDL text cut into packets with 37-byte headers.
//!
//! Place in the flow: the first thing done to the bytes of a `metadata` file; plain text passes
//! through untouched.

use crate::error::MetadataError;

const MAGIC: u32 = 0x75d1_1d57;
const HEADER_BYTES: usize = 37;
const CONTENT_BITS_AT: usize = 24;
const PACKET_BITS_AT: usize = 28;
const SCHEMES_AT: usize = 32;
const VERSION_AT: usize = 35;
const VERSION: [u8; 2] = [1, 8];

/// The text in `bytes`, and where it is damaged. What comes before the damage is kept.
pub(crate) fn unwrap(bytes: &[u8]) -> (String, Option<MetadataError>) {
    let Some(big) = byte_order(bytes) else {
        return (String::from_utf8_lossy(bytes).into_owned(), None);
    };
    let mut text = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    let mut damage = None;
    while !rest.is_empty() {
        match next_packet(rest, big) {
            Ok((content, packet_bytes)) => {
                text.extend_from_slice(content);
                rest = &rest[packet_bytes..];
            }
            Err((content, what)) => {
                text.extend_from_slice(content);
                let offset = bytes.len() - rest.len();
                let what = format!("the metadata packet at byte {offset} {what}");
                damage = Some(MetadataError::new(1, what));
                break;
            }
        }
    }
    (String::from_utf8_lossy(&text).into_owned(), damage)
}

/// Whether the bytes start with the magic number, and in which order (`true`: big-endian).
fn byte_order(bytes: &[u8]) -> Option<bool> {
    let magic = bytes.get(..4)?;
    if magic == MAGIC.to_le_bytes() {
        Some(false)
    } else if magic == MAGIC.to_be_bytes() {
        Some(true)
    } else {
        None
    }
}

fn word(bytes: &[u8], at: usize, big: bool) -> Option<u32> {
    let word: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
}

type Damage<'a> = (&'a [u8], &'static str);

/// The text of the first packet and the packet's size.
fn next_packet(bytes: &[u8], big: bool) -> Result<(&[u8], usize), Damage<'_>> {
    let sizes = word(bytes, CONTENT_BITS_AT, big).zip(word(bytes, PACKET_BITS_AT, big));
    let (Some((content_bits, packet_bits)), Some(schemes)) =
        (sizes, bytes.get(SCHEMES_AT..SCHEMES_AT + 3))
    else {
        return Err((&[], "is cut short"));
    };
    if byte_order(bytes) != Some(big) {
        return Err((&[], "has no magic number"));
    }
    if schemes.iter().take(2).any(|scheme| *scheme != 0) {
        return Err((&[], "is compressed or encrypted, which no reader supports"));
    }
    if bytes.get(VERSION_AT..HEADER_BYTES).is_some_and(|version| version != VERSION) {
        return Err((&[], "is not of CTF 1.8"));
    }
    let content_bytes = content_bits as usize / 8;
    let packet_bytes = packet_bits as usize / 8;
    if content_bytes < HEADER_BYTES || packet_bytes < content_bytes {
        return Err((&[], "has impossible sizes"));
    }
    if packet_bytes > bytes.len() {
        let until = content_bytes.min(bytes.len());
        return Err((bytes.get(HEADER_BYTES..until).unwrap_or(&[]), "is cut short"));
    }
    Ok((&bytes[HEADER_BYTES..content_bytes], packet_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(text: &str, padding: usize, big: bool) -> Vec<u8> {
        let content = (HEADER_BYTES + text.len()) as u32;
        let sizes = [0, content * 8, (content + padding as u32) * 8];
        let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let mut bytes = word(MAGIC).to_vec();
        bytes.extend([7; 16]);
        bytes.extend(sizes.into_iter().flat_map(word));
        bytes.extend([0, 0, 0, 1, 8]);
        bytes.extend(text.as_bytes());
        bytes.extend(vec![0; padding]);
        bytes
    }

    #[test]
    fn text_is_joined_across_packets_and_padding_in_both_byte_orders() {
        for big in [false, true] {
            let bytes = [packet("/* CTF", 5, big), packet(" 1.8 */", 0, big)].concat();
            assert_eq!(unwrap(&bytes), ("/* CTF 1.8 */".into(), None));
        }
    }

    #[test]
    fn packets_without_text_are_passed_over() {
        let bytes = [packet("", 0, true), packet("ab", 0, true), packet("", 2, true)].concat();
        assert_eq!(unwrap(&bytes), ("ab".into(), None));
    }

    #[test]
    fn a_cut_packet_gives_what_is_there_and_says_so() {
        let bytes = [packet("abc", 0, false), packet("defgh", 3, false)].concat();
        for length in 4..bytes.len() {
            let (text, damage) = unwrap(&bytes[..length]);
            assert!("abcdefgh".starts_with(&text));
            assert_eq!(damage.is_none(), length == 40, "{length}");
        }
    }

    #[test]
    fn packets_of_another_version_are_refused_by_their_offset() {
        for at in [VERSION_AT, VERSION_AT + 1] {
            let mut second = packet("def", 0, true);
            second[at] += 1;
            let (text, damage) = unwrap(&[packet("abc", 0, true), second].concat());
            let what = "the metadata packet at byte 40 is not of CTF 1.8";
            assert_eq!((text.as_str(), damage), ("abc", Some(MetadataError::new(1, what))));
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let mut bytes = packet("abc", 0, false);
        bytes[PACKET_BITS_AT..PACKET_BITS_AT + 4].fill(0);
        assert!(unwrap(&bytes).1.is_some());
    }
}
