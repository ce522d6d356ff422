// SPDX-License-Identifier: MIT
//! Connections to the loopback address, whatever is spoken on them.
//!
//! Place in the flow: `server` and `tsp` give listeners and say what requests are answered with.
//! Any user of the machine can connect, so connections, headers and waiting have bounds before a
//! word of a request is looked at.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_body::Full;
use hyper_tokio::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::Semaphore;

use crate::strangers::{Guest, Strangers};

/// Connections at once: a browser opens six.
const MOST_CONNECTIONS: usize = 64;
/// Questions that are answered at once.
pub(crate) const MOST_ANSWERS: usize = 4;
/// A request's line and headers.
const MOST_HEADER_BYTES: usize = 32 << 10;
const MOST_HEADERS: usize = 64;
/// How long a connection may take for its headers, be they those of its next request.
const HEADER_PATIENCE: Duration = Duration::from_secs(60);
/// How long a refusal may take to be written.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(1);

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub peer: SocketAddr,
    pub own: SocketAddr,
}

/// Answers requests.
pub(crate) trait Service: Send + Sync + 'static {
    /// Whether the one at the other end of a connection may ask; asked once for each. If not, what
    /// is written before the connection is closed.
    fn admit(&self, ends: Ends) -> impl Future<Output = Result<(), String>> + Send;

    /// Whether who makes a request has shown that it may ask; where that was not to be shown, yes.
    fn knows(&self, _: &Request<Incoming>) -> bool {
        true
    }

    /// The answer to a request.
    fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// Answers until SIGINT or SIGTERM comes.
pub(crate) fn serve<S: Service>(
    listeners: Vec<std::net::TcpListener>,
    service: &Arc<S>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MOST_ANSWERS)
        .build()?;
    let ended = runtime.block_on(async {
        let (mut end, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let strangers = Arc::new(Strangers::default());
        for listener in listeners {
            let listener = TcpListener::from_std(listener)?;
            let (service, places) = (service.clone(), places.clone());
            tokio::spawn(accept(listener, service, places, strangers.clone()));
        }
        tokio::select! {
            _ = end.recv() => Ok(()),
            _ = interrupt.recv() => Ok(()),
        }
    });
    // An answer that is being made is not waited for.
    runtime.shutdown_background();
    ended
}

async fn accept<S: Service>(
    listener: TcpListener,
    service: Arc<S>,
    places: Arc<Semaphore>,
    strangers: Arc<Strangers>,
) {
    // It ends with the process.
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            // A connection that was given up, or no descriptor left: others may be answered.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        if places.available_permits() == 0 {
            strangers.end_first();
        }
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let guest = Guest::new(&strangers);
        let (number, service) = (guest.number(), service.clone());
        let conversation = tokio::spawn(async move {
            converse(stream, peer, service, &guest).await;
            drop(place);
        });
        // There is one thread, so it has not begun.
        strangers.came(number, conversation.abort_handle());
    }
}

async fn converse<S: Service>(
    mut stream: TcpStream,
    peer: SocketAddr,
    service: Arc<S>,
    guest: &Guest,
) {
    let Ok(own) = stream.local_addr() else { return };
    if let Err(refusal) = service.admit(Ends { peer, own }).await {
        // It fits what the system holds for a new connection, so nobody is waited for.
        let _ = tokio::time::timeout(REFUSAL_PATIENCE, stream.write_all(refusal.as_bytes())).await;
        return;
    }
    let respond = service_fn(move |request| {
        let service = service.clone();
        async move {
            if service.knows(&request) {
                guest.is_known();
            }
            Ok::<_, Infallible>(service.respond(request).await)
        }
    });
    let mut connection = http1::Builder::new();
    connection
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        // The last read may take the buffer beyond its bound.
        .max_buf_size(MOST_HEADER_BYTES)
        .max_header_size(MOST_HEADER_BYTES)
        .max_headers(MOST_HEADERS);
    // What goes wrong with a connection ends it, and concerns no other.
    let _ = connection.serve_connection(TokioIo::new(stream), respond).await;
}
