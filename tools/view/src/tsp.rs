// SPDX-License-Identifier: MIT
//! The Trace Server Protocol, so that the trace viewers of VS Code and Theia show these traces.
//!
//! Place in the flow: another server than the page's, with the same answers. A connection is taken
//! if it is this user's (`peer`), a request if it is from a program or a known editor (`guard`);
//! `routes` finds the question, `library` what is open. `timeline`, `arrows`, `annotations`,
//! `activity` and `table` ask the crate's own questions and give their answers in the words of the
//! protocol. docs/formats/tsp.md says which of it is spoken.

mod activity;
mod annotations;
mod arrows;
mod attempt;
mod guard;
mod index;
mod library;
mod peer;
mod query;
mod routes;
mod table;
mod timeline;

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_body::{BodyExt, Full, Limited};
use serde::Serialize;
use serde_json::value::{to_raw_value, RawValue};
use tokio::sync::Semaphore;

use crate::connections::{self, Ends, Service, MOST_ANSWERS};
use crate::guard::Refusal;
use crate::patience::in_turn;
use crate::server::Error;
use crate::Viewed;
use guard::Guard;
use library::Library;

pub use attempt::Attempts;
pub use library::Opener;

/// The port at which clients look for a trace server.
pub const DEFAULT_PORT: u16 = 8080;
/// A request's body, and how long it may take.
const MOST_BODY_BYTES: usize = 2 << 20;
const BODY_PATIENCE: Duration = Duration::from_secs(10);
/// The longest path that is looked at.
const MOST_PATH_BYTES: usize = 2048;

/// Why a question is not answered.
#[derive(Debug)]
struct Failed {
    status: StatusCode,
    title: String,
    detail: Option<String>,
}

impl Failed {
    fn new(status: StatusCode, title: impl Into<String>) -> Self {
        Self { status, title: title.into(), detail: None }
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.status, refusal.reason)
    }
}

impl From<String> for Failed {
    fn from(reason: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason)
    }
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Status {
    /// There will be more.
    Running,
    Completed,
    Failed,
}

/// What the protocol wraps its answers in. A model may be large: it is text at once.
#[derive(Debug, Serialize)]
struct Answer {
    model: Option<Box<RawValue>>,
    status: Status,
    #[serde(rename = "statusMessage")]
    note: String,
}

impl Answer {
    fn new(model: impl Serialize, status: Status, note: Option<String>) -> Self {
        match to_raw_value(&model) {
            Ok(model) => Self { model: Some(model), status, note: note.unwrap_or_default() },
            Err(error) => Self { model: None, status: Status::Failed, note: error.to_string() },
        }
    }
}

/// A trace server that has its port and does not answer yet.
pub struct TraceServer {
    listeners: Vec<TcpListener>,
    port: u16,
    guard: Guard,
}

struct Shared {
    traces: Library,
    guard: Guard,
    answers: Arc<Semaphore>,
    lookups: Semaphore,
}

impl TraceServer {
    /// Takes a port of the loopback addresses; 0 takes any that is free. `origins`: pages that may
    /// ask beside webviews of VS Code, each of a server on this machine.
    pub fn bind(port: u16, origins: &[String]) -> Result<Self, Error> {
        if let Some(origin) = origins.iter().find(|origin| !guard::is_loopback_origin(origin)) {
            return Err(Error::Origin { origin: origin.clone() });
        }
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let first = bound.map_err(|reason| Error::TracePort { port, reason })?;
        let port = first.local_addr()?.port();
        let mut listeners = vec![first];
        // Clients that look up `localhost` may find this address first; a machine may be without.
        listeners.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, port)).ok());
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        Ok(Self { listeners, port, guard: Guard::new(port, origins.to_vec()) })
    }

    /// What clients are to be told.
    pub fn url(&self) -> String {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        format!("http://{address}{}", routes::PREFIX)
    }

    /// Answers until SIGINT or SIGTERM comes. `whole`: all the traces that may be opened; `opener`
    /// opens some of them.
    pub fn serve(self, whole: Viewed, opener: Opener) -> Result<(), Error> {
        let traces = Library::new(whole, opener)
            .map_err(|failed| Error::Serve(std::io::Error::other(failed.title)))?;
        let (answers, lookups) = (Arc::new(Semaphore::new(MOST_ANSWERS)), Semaphore::new(1));
        let shared = Arc::new(Shared { traces, guard: self.guard, answers, lookups });
        Ok(connections::serve(self.listeners, &shared)?)
    }
}

/// What somebody else's connection is told.
fn not_yours() -> String {
    let body = "{\"title\":\"this trace server answers the user who runs it\"}";
    format!(
        "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    )
}

impl Service for Shared {
    async fn admit(&self, ends: Ends) -> Result<(), String> {
        let _turn = self.lookups.acquire().await;
        let found = tokio::task::spawn_blocking(move || peer::is_own(ends)).await;
        match found.unwrap_or(false) {
            true => Ok(()),
            false => Err(not_yours()),
        }
    }

    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let origin = match self.guard.check(&head.method, &head.uri, &head.headers) {
            Ok(origin) => origin.map(str::to_string),
            Err(refusal) => return response(Err(refusal.into()), None),
        };
        let origin = origin.as_deref();
        if head.uri.path().len() > MOST_PATH_BYTES {
            let failed = Failed::new(StatusCode::URI_TOO_LONG, "the path is too long");
            return response(Err(failed), origin);
        }
        if head.method == Method::OPTIONS {
            return response(Ok(Vec::new()), origin);
        }
        let body = match head.method == Method::POST {
            true => match read(body).await {
                Ok(body) => body,
                Err(failed) => return response(Err(failed), origin),
            },
            false => Bytes::new(),
        };
        let own = self.clone();
        let answered = in_turn(&self.answers, move |_| {
            routes::answer(&own.traces, &head.method, head.uri.path(), &body)
        });
        let failed = || {
            let title = "the question could not be answered";
            Err(Failed::new(StatusCode::INTERNAL_SERVER_ERROR, title))
        };
        response(answered.await.unwrap_or_else(failed), origin)
    }
}

async fn read(body: Incoming) -> Result<Bytes, Failed> {
    let all = Limited::new(body, MOST_BODY_BYTES).collect();
    let large = |_| Failed::new(StatusCode::PAYLOAD_TOO_LARGE, "a body has at most 2 MiB");
    match tokio::time::timeout(BODY_PATIENCE, all).await {
        Ok(all) => Ok(all.map_err(large)?.to_bytes()),
        Err(_) => Err(Failed::new(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
    }
}

/// In the form that the protocol has for errors.
fn failure(failed: &Failed) -> Vec<u8> {
    let mut body = serde_json::json!({ "title": failed.title });
    if let (Some(detail), Some(body)) = (&failed.detail, body.as_object_mut()) {
        // Clients read one of the two.
        body.insert("detail".into(), detail.as_str().into());
        body.insert("details".into(), detail.as_str().into());
    }
    body.to_string().into_bytes()
}

fn response(answered: Result<Vec<u8>, Failed>, origin: Option<&str>) -> Response<Full<Bytes>> {
    let (status, body) = match answered {
        Ok(body) => (StatusCode::OK, body),
        Err(failed) => (failed.status, failure(&failed)),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        // Clients compare the type with exactly this.
        (header::CONTENT_TYPE, "application/json"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(origin) = origin {
        guard::let_read(headers, origin);
    }
    response
}
