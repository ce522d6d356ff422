// SPDX-License-Identifier: MIT
//! The caller's side: one request, one answer.
//!
//! Place in the flow: the commands find a session's directory and ask here. The directory is one
//! that only its user can change (`session::directory`), so the recorder behind the socket is that
//! user's; it may be another version, or stopped.

use crate::message::parse_answer;
use crate::server::socket_in;
use crate::{Answer, Error, Request, Result, ANSWER_BYTES_MAX, SOCKET};
use rustix::io::Errno;
use rustix::net::{
    connect, recv, send, socket_with, sockopt, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often who waits looks whether waiting is of any use.
const LOOK_PERIOD: Duration = Duration::from_secs(2);

/// How long who lost its place among the callers waits before it asks again: at first, at last.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LAST_PAUSE: Duration = Duration::from_millis(256);

/// Asks the recorder of a session. `patience`: how long to wait for the answer; without one, until
/// the recorder answers or ends.
pub fn ask(directory: &Path, request: &Request, patience: Option<Duration>) -> Result<Answer> {
    ask_unless(directory, request, patience, &|| false)
}

/// The same, for as long as the recorder is not stopped, as `is_stopped` says where it is silent.
///
/// A recorder ends the connection of a caller that has said nothing yet where others want its
/// place. It has then not read the request, so this asks again, a few times.
pub fn ask_unless(
    directory: &Path,
    request: &Request,
    patience: Option<Duration>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Answer> {
    // The folder stays open: another session cannot come to be at its path.
    let (_folder, address) = socket_in(directory)?;
    let mut pause = FIRST_PAUSE;
    // Bound: the pauses, which double.
    loop {
        match ask_once(directory, &address, request, patience, is_stopped) {
            Err(Error::Ended) if pause <= LAST_PAUSE => std::thread::sleep(pause),
            // The one that ended the connection is not there any more.
            Err(Error::Gone) if pause > FIRST_PAUSE => return Err(Error::Ended),
            other => return other,
        }
        pause *= 2;
    }
}

/// Asks on a connection of its own.
fn ask_once(
    directory: &Path,
    address: &SocketAddrUnix,
    request: &Request,
    patience: Option<Duration>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Answer> {
    let begun = Instant::now();
    let period = patience.map_or(LOOK_PERIOD, |patience| patience.min(LOOK_PERIOD));
    let failed = |source: Errno| match source {
        Errno::NOENT | Errno::CONNREFUSED => Error::Gone,
        Errno::AGAIN => Error::Silent { seconds: patience.map_or(0, |limit| limit.as_secs()) },
        Errno::CONNRESET | Errno::PIPE => Error::Ended,
        source => Error::Socket {
            doing: "asking by",
            path: directory.join(SOCKET).display().to_string(),
            source: source.into(),
        },
    };
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let socket = socket.map_err(failed)?;
    for (timeout, time) in
        [(sockopt::Timeout::Send, patience), (sockopt::Timeout::Recv, Some(period))]
    {
        sockopt::set_socket_timeout(&socket, timeout, time).map_err(failed)?;
    }
    connect(&socket, address).map_err(failed)?;
    send(&socket, &request.bytes(), SendFlags::NOSIGNAL).map_err(failed)?;
    let mut packet = vec![0u8; ANSWER_BYTES_MAX];
    // Bound: the caller's patience.
    let (_, bytes) = loop {
        match recv(&socket, &mut packet[..], RecvFlags::TRUNC) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if is_stopped() => return Err(Error::Stopped),
            Err(Errno::AGAIN) if patience.is_none_or(|limit| begun.elapsed() < limit) => {}
            other => break other.map_err(failed)?,
        }
    };
    match packet.get(..bytes) {
        Some([]) => Err(Error::Ended),
        Some(packet) => parse_answer(packet),
        None => Err(Error::TooLong { limit: ANSWER_BYTES_MAX }),
    }
}
