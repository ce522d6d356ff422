// SPDX-License-Identifier: MIT
//! A request as text, for tests of what requests can do: the fuzzer's way through `guard`, `query`
//! and the answers, without a connection.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Uri};

use super::guard::Guard;
use super::library::{Library, Opener};
use super::routes;
use crate::Viewed;

/// Answers requests that are texts.
#[doc(hidden)]
pub struct Attempts {
    traces: Library,
    guard: Guard,
    /// What stands for the experiment of all traces, in the texts.
    experiment: String,
}

impl Attempts {
    /// Of these traces; `None` if there are none.
    pub fn new(whole: Viewed, opener: Opener) -> Option<Self> {
        let traces = Library::new(whole, opener).ok()?;
        let all = serde_json::to_value(traces.experiments()).ok()?;
        let experiment = all.get(0)?.get("UUID")?.as_str()?.to_string();
        let guard = Guard::new(super::DEFAULT_PORT, Vec::new());
        Some(Self { traces, guard, experiment })
    }

    /// The status and the text of the answer to a request: its method and path in the first line,
    /// in which EXPERIMENT stands for the experiment, a header in each other line, and a body
    /// behind an empty line. `None`: HTTP has no such request.
    pub fn attempt(&self, request: &str) -> Option<(u16, Vec<u8>)> {
        let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
        let mut lines = head.lines();
        let (method, path) = lines.next()?.split_once(' ')?;
        let method: Method = method.parse().ok()?;
        let uri: Uri = path.replace("EXPERIMENT", &self.experiment).parse().ok()?;
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("127.0.0.1:8080"));
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        for line in lines.take(64) {
            let (name, value) = line.split_once(':')?;
            let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
            headers.append(name, HeaderValue::from_str(value.trim()).ok()?);
        }
        let answered = match self.guard.check(&method, &uri, &headers) {
            Ok(_) if method == Method::OPTIONS => Ok(Vec::new()),
            Ok(_) => routes::answer(&self.traces, &method, uri.path(), body.as_bytes()),
            Err(refusal) => Err(refusal.into()),
        };
        Some(match answered {
            Ok(body) => (200, body),
            Err(failed) => (failed.status.as_u16(), super::failure(&failed)),
        })
    }
}
