// SPDX-License-Identifier: MIT
//! Damages metadata and streams at random, but not blindly: metadata by words that mean something,
//! streams by values that sit at limits.

use testkit::{random_stream, Random, Spec};

const WORDS: [&str; 36] = [
    "{",
    "}",
    ";",
    ";",
    "[",
    "]",
    "<",
    ">",
    "struct { } ",
    "0",
    "1",
    "63",
    "64",
    "65",
    "4294967295",
    "18446744073709551615",
    "-1",
    "size = 0;",
    "size = 64;",
    "align = 1;",
    "align = 2147483648;",
    "signed = true;",
    "byte_order = be;",
    "map = clock.monotonic.value;",
    "encoding = UTF8;",
    "id",
    "timestamp",
    "packet_size",
    "content_size",
    "uuid",
    "string",
    "event.fields.f0",
    "stream.event.header.id",
    "variant <id> {",
    "enum : word { A = 0 ... 9 }",
    "[event.fields.f0]",
];

const JSON_WORDS: [&str; 24] = [
    "{",
    "}",
    ",",
    "[",
    "]",
    "null",
    "true",
    "\u{1e}",
    "\u{1e}{}",
    "0",
    "-1",
    "65",
    "18446744073709551615",
    "[[0, 9]]",
    "\"roles\": [\"event-record-class-id\"],",
    "\"alignment\": 4294967296,",
    "\"length\": 4,",
    "\"bit-order\": \"first-to-last\",",
    "\"mappings\": {\"a\": [[0, 3]]},",
    "variable-length-signed-integer",
    "dynamic-length-blob",
    "optional",
    "utf-16be",
    "{\"type\": \"null-terminated-string\"}",
];

const LIMITS: [u64; 12] =
    [0, 1, 7, 8, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, 1 << 63, u64::MAX - 7, u64::MAX];

/// A trace made from a seed, damaged in up to eight places.
pub fn damaged(seed: u64) -> (Vec<u8>, Vec<u8>) {
    let random = &mut Random::new(seed);
    let spec = Spec::random(random.below(200));
    let (text, words) = match random.one_in(3) {
        true => (spec.metadata_json(), &JSON_WORDS[..]),
        false => (spec.metadata(), &WORDS[..]),
    };
    let mut metadata = text.into_bytes();
    let (mut stream, _) = random_stream(&spec, 1, random.below(1000), 3);
    for _ in 0..random.below(9) {
        if random.one_in(2) {
            damage_text(&mut metadata, words, random);
        } else {
            damage_bytes(&mut stream, random);
        }
    }
    (metadata, stream)
}

fn range(length: usize, random: &mut Random) -> std::ops::Range<usize> {
    let begin = random.below(length as u64 + 1) as usize;
    let until = (begin + random.below(60) as usize).min(length);
    begin..until
}

fn damage_text(text: &mut Vec<u8>, words: &[&str], random: &mut Random) {
    let place = range(text.len(), random);
    match random.below(6) {
        0 => text.truncate(place.start),
        1 => drop(text.drain(place)),
        2 => {
            let copy = text[place].to_vec();
            let at = random.below(text.len() as u64 + 1) as usize;
            text.splice(at..at, copy);
        }
        3 => replace_number(text, place.start, random),
        4 => {
            if let Some(byte) = text.get_mut(place.start) {
                *byte = random.word() as u8;
            }
        }
        _ => {
            let word = random.pick(words).bytes();
            text.splice(place.start..place.start, word);
        }
    }
}

/// Replaces the next number by one at a limit.
fn replace_number(text: &mut Vec<u8>, from: usize, random: &mut Random) {
    let Some(begin) = text[from..].iter().position(u8::is_ascii_digit) else { return };
    let begin = from + begin;
    let digits = text[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.splice(begin..begin + digits, random.pick(&LIMITS).to_string().into_bytes());
}

fn damage_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let place = range(bytes.len(), random);
    match random.below(7) {
        0 => bytes.truncate(place.start),
        1 => drop(bytes.drain(place)),
        2 => {
            let copy = bytes[place].to_vec();
            let at = random.below(bytes.len() as u64 + 1) as usize;
            bytes.splice(at..at, copy);
        }
        3 => {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        4 => {
            // A field of the packet context.
            let at = 24 + 8 * random.below(11) as usize;
            overwrite(bytes, at, *random.pick(&LIMITS));
        }
        5 => overwrite(bytes, place.start, *random.pick(&LIMITS)),
        _ => bytes[place].fill(random.word() as u8),
    }
}

fn overwrite(bytes: &mut [u8], at: usize, value: u64) {
    if let Some(place) = bytes.get_mut(at..at + 8) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}
