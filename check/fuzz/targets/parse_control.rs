// SPDX-License-Identifier: MIT
//! libFuzzer's way into the messages of a recorder's control socket: the bytes of one packet.
//!
//! Place in the flow: `run` builds it. Whatever the bytes are, both parsers answer; what they take
//! can be written and read again, and a request is the same then.
#![no_main]

use control::{parse_answer, parse_request, ANSWER_BYTES_MAX, REQUEST_BYTES_MAX};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|packet: &[u8]| {
    if let Ok(request) = parse_request(packet) {
        assert!(packet.len() <= REQUEST_BYTES_MAX);
        assert_eq!(parse_request(&request.bytes()).expect("what was written"), request);
    }
    if let Ok(answer) = parse_answer(packet) {
        let bytes = answer.bytes();
        assert!(bytes.len() <= ANSWER_BYTES_MAX);
        parse_answer(&bytes).expect("what was written");
    }
});
