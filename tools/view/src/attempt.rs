// SPDX-License-Identifier: MIT
//! A request as text, for tests of what requests can do: the fuzzer's way through `guard`, `ask`
//! and the answers, without a connection.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Uri};

use crate::answer::Viewed;
use crate::guard;
use crate::token::Token;

const ADDRESS: &str = "127.0.0.1:4000";

impl Viewed {
    /// The status of the answer to a request: its path and query in the first line, in which TOKEN
    /// stands for the right one, and a header in each other line. `None`: HTTP has no such request.
    #[doc(hidden)]
    pub fn attempt(&self, request: &str) -> Option<u16> {
        let token = Token::of([7; 16]);
        let mut lines = request.lines();
        let uri: Uri = lines.next()?.replace("TOKEN", token.text()).parse().ok()?;
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static(ADDRESS));
        for line in lines.take(64) {
            let (name, value) = line.split_once(':')?;
            let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
            headers.append(name, HeaderValue::from_str(value.trim()).ok()?);
        }
        let known = (ADDRESS, &token);
        let reply = match guard::path_of(&Method::GET, &uri, &headers, known) {
            Ok(path) => self.answer(path, uri.query().unwrap_or("")),
            Err(refusal) => return Some(refusal.status.as_u16()),
        };
        Some(reply.status.as_u16())
    }
}
