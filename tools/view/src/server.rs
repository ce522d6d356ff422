// SPDX-License-Identifier: MIT
//! The server: connections to the loopback address, and the headers of answers.
//!
//! Place in the flow: the command binds one and serves until it is ended. Any user of the machine
//! can connect, so connections, headers and waiting have bounds before `guard` has seen a word.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_body::Full;
use hyper_tokio::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::Semaphore;

use crate::answer::{failure, Reply, Shown};
use crate::guard;
use crate::token::Token;

/// Connections at once: a browser opens six.
const MOST_CONNECTIONS: usize = 64;
/// Questions that are answered at once.
const MOST_ANSWERS: usize = 4;
/// A request's line and headers.
const MOST_HEADER_BYTES: usize = 32 << 10;
const MOST_HEADERS: usize = 64;
/// How long a connection may take for its headers, be they those of its next request.
const HEADER_PATIENCE: Duration = Duration::from_secs(60);

/// Only its own files and answers, no frames, no forms, nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

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
    /// The server could not go on.
    #[error("serving the page: {0}")]
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
    answers: Semaphore,
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
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MOST_ANSWERS)
            .build()?;
        let answers = Semaphore::new(MOST_ANSWERS);
        let (host, token) = (self.address.to_string(), self.token);
        let shared = Arc::new(Shared { shown, host, token, answers });
        let own = shared.clone();
        // It ends with the process, at the latest.
        std::thread::spawn(move || own.shown.now().prepare());
        let ended = runtime.block_on(async {
            let (mut end, mut interrupt) =
                (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
            let listener = TcpListener::from_std(self.listener)?;
            tokio::select! {
                _ = end.recv() => Ok(()),
                _ = interrupt.recv() => Ok(()),
                ended = accept(&listener, &shared) => ended,
            }
        });
        // An answer that is being made is not waited for.
        runtime.shutdown_background();
        Ok(ended?)
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) -> std::io::Result<()> {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
        match listener.accept().await {
            Ok((stream, _)) => {
                let shared = shared.clone();
                tokio::spawn(async move {
                    converse(stream, shared).await;
                    drop(place);
                });
            }
            // A connection that was given up, or no descriptor left: others may be answered.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(respond(&request, shared).await) }
    });
    let mut connection = http1::Builder::new();
    connection
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_buf_size(MOST_HEADER_BYTES)
        .max_headers(MOST_HEADERS);
    // What goes wrong with a connection ends it, and concerns no other.
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(request: &Request<Incoming>, shared: Arc<Shared>) -> Response<Full<Bytes>> {
    let known = (shared.host.as_str(), &shared.token);
    let path = guard::path_of(request.method(), request.uri(), request.headers(), known);
    let path = match path {
        Ok(path) => path.to_string(),
        Err(refusal) => return response(failure(refusal.status, refusal.reason)),
    };
    let query = request.uri().query().unwrap_or("").to_string();
    let _turn = shared.answers.acquire().await;
    let own = shared.clone();
    let answered = tokio::task::spawn_blocking(move || own.shown.now().answer(&path, &query)).await;
    response(answered.unwrap_or_else(|_| {
        failure(hyper::StatusCode::INTERNAL_SERVER_ERROR, "the question could not be answered")
    }))
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_owner(reply.body)));
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, reply.kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
