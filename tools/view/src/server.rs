// SPDX-License-Identifier: MIT
//! The page's server: its address, and the headers of answers.
//!
//! Place in the flow: the command binds one and serves until it is ended. `connections` takes what
//! comes, `guard` says which requests are answered.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Request, Response};
use hyper_body::Full;
use tokio::sync::Semaphore;

use crate::answer::{failure, Reply, Shown};
use crate::connections::{self, Ends, Service, MOST_ANSWERS};
use crate::guard;
use crate::page::{self, Asks};
use crate::patience::in_turn;
use crate::token::Token;

/// How long a browser has for the page before more is read ahead.
const CLOSER_LATER: Duration = Duration::from_secs(1);

/// Only its own script, style and answers, no frames, no forms.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let policy = format!("{}; frame-ancestors 'none'", page::policy(Asks::Server));
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The port cannot be had.
    #[error("127.0.0.1:{port}: {reason}: choose another --port, or none for one that is free")]
    Bind {
        /// The port; 0 stands for any.
        port: u16,
        /// Why.
        reason: std::io::Error,
    },
    /// No random bytes for the address.
    #[error("there are no random bytes for the page's address: {0}")]
    Random(getrandom::Error),
    /// The trace server's port cannot be had.
    #[error("127.0.0.1:{port}: {reason}: choose another port, --trace-server=PORT")]
    TracePort {
        /// The port.
        port: u16,
        /// Why.
        reason: std::io::Error,
    },
    /// An origin that is not of this machine.
    #[error(
        "{origin} is not the origin of a page that this machine serves to itself, such as \
        http://localhost:3000"
    )]
    Origin {
        /// What was named.
        origin: String,
    },
    /// The server could not go on.
    #[error("serving: {0}")]
    Serve(#[from] std::io::Error),
}

/// A server that has its port and does not answer yet.
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    token: Token,
}

struct Shared {
    shown: Arc<Shown>,
    /// What `Host` has to say.
    host: String,
    token: Token,
    answers: Arc<Semaphore>,
}

impl Server {
    /// Takes a port of the loopback address; 0 takes any that is free.
    pub fn bind(port: u16) -> Result<Self, Error> {
        let bound = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = bound.map_err(|reason| Error::Bind { port, reason })?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, token: Token::new().map_err(Error::Random)? })
    }

    /// Where the page is. Who knows it can read the traces.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token.text())
    }

    /// Answers until SIGINT or SIGTERM comes.
    pub fn serve(self, shown: Arc<Shown>) -> Result<(), Error> {
        let answers = Arc::new(Semaphore::new(MOST_ANSWERS));
        let (host, token) = (self.address.to_string(), self.token);
        let shared = Arc::new(Shared { shown, host, token, answers });
        let own = shared.clone();
        // It ends with the process, at the latest.
        std::thread::spawn(move || {
            let viewed = own.shown.now();
            viewed.prepare();
            std::thread::sleep(CLOSER_LATER);
            // Of this thread only; without it, the page is drawn a little later.
            let _ = rustix::process::nice(10);
            viewed.prepare_closer();
        });
        Ok(connections::serve(vec![self.listener], &shared)?)
    }
}

impl Shared {
    fn path_of<'r>(&self, request: &'r Request<Incoming>) -> Result<&'r str, guard::Refusal> {
        let known = (self.host.as_str(), &self.token);
        guard::path_of(request.method(), request.uri(), request.headers(), known)
    }
}

impl Service for Shared {
    /// Who knows the token may ask, whoever it is.
    async fn admit(&self, _: Ends) -> Result<(), String> {
        Ok(())
    }

    fn knows(&self, request: &Request<Incoming>) -> bool {
        self.path_of(request).is_ok()
    }

    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = match self.path_of(&request) {
            Ok(path) => path.to_string(),
            Err(refusal) => return response(failure(refusal.status, refusal.reason)),
        };
        let query = request.uri().query().unwrap_or("").to_string();
        let own = self.clone();
        let answered = in_turn(&self.answers, move |patience| {
            own.shown.meant(&query).answer_while(&path, &query, patience)
        });
        response(answered.await.unwrap_or_else(|| {
            failure(hyper::StatusCode::INTERNAL_SERVER_ERROR, "the question could not be answered")
        }))
    }
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(reply.body));
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, reply.kind),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
    response
}
