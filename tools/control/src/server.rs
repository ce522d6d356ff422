// SPDX-License-Identifier: MIT
//! The recorder's side: a socket that only its user can open, looked at between other work.
//!
//! Place in the flow: `lull record` waits for these descriptors together with its signals, takes
//! requests, and answers each when it can. Nothing here waits. A caller that sends nothing, does
//! not read, or comes too often costs its place among the callers, and no other's turn.

use crate::message::parse_request;
use crate::{Answer, Error, Request, Result, REQUEST_BYTES_MAX, SOCKET};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{chmodat, open, AtFlags, Mode, OFlags};
use rustix::net::{
    accept_with, bind, listen, recv, send, socket_with, sockopt, AddressFamily, RecvFlags,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::collections::VecDeque;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Callers that have a connection at once. One more takes the place of the one that has said
/// nothing for longest; where each has said something, it waits until one of them is answered.
pub const CALLERS_MAX: usize = 16;
/// Callers that wait to be let in: Linux keeps them.
const BACKLOG: i32 = CALLERS_MAX as i32;
/// Requests that are taken in one look.
const REQUESTS_MAX: usize = 4;

/// Who is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller(u64);

#[derive(Debug)]
struct Connection {
    caller: Caller,
    /// The process that connected; 0: see [`allowed`].
    pid: u32,
    socket: OwnedFd,
    /// It has asked, and is to be answered.
    has_asked: bool,
}

impl Connection {
    /// Whether it has said nothing: what it has sent may not be read yet.
    fn is_silent(&self) -> bool {
        !self.has_asked && self.events().is_ok_and(|found| found.is_empty())
    }

    /// What there is of the socket now.
    fn events(&self) -> rustix::io::Result<PollFlags> {
        let mut polls = [PollFd::new(&self.socket, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polls, Some(&at_once))?;
        Ok(polls[0].revents())
    }
}

#[derive(Debug)]
pub struct Server {
    listener: OwnedFd,
    connections: VecDeque<Connection>,
    next: u64,
}

/// A directory of ours, and the path of its socket: by descriptor, because paths of sockets are
/// short.
pub(crate) fn socket_in(directory: &Path) -> Result<(OwnedFd, SocketAddrUnix)> {
    let failed = |source: rustix::io::Errno| Error::Socket {
        doing: "opening",
        path: directory.display().to_string(),
        source: source.into(),
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = open(directory, flags, Mode::empty()).map_err(|error| match error {
        rustix::io::Errno::NOENT => Error::Gone,
        other => failed(other),
    })?;
    let path = format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd());
    let address = SocketAddrUnix::new(path).map_err(failed)?;
    Ok((folder, address))
}

impl Server {
    /// Makes the socket in a session's directory.
    pub fn open(directory: &Path) -> Result<Self> {
        let (folder, address) = socket_in(directory)?;
        let failed = |source: rustix::io::Errno| Error::Socket {
            doing: "making",
            path: directory.join(SOCKET).display().to_string(),
            source: source.into(),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let listener = listener.map_err(failed)?;
        bind(&listener, &address).map_err(failed)?;
        chmodat(&folder, SOCKET, Mode::RUSR | Mode::WUSR, AtFlags::empty()).map_err(failed)?;
        listen(&listener, BACKLOG).map_err(failed)?;
        Ok(Self { listener, connections: VecDeque::new(), next: 0 })
    }

    /// What becomes readable when there is something to [`Server::take`].
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        // One that has asked is not listened to until it is answered: it may be gone by then.
        let silent = self.connections.iter().filter(|connection| !connection.has_asked);
        let waiting = self.connections.iter().filter(|found| found.has_asked).count();
        // Who comes then waits until one of those is answered, which is no reason to look.
        let listener = Some(self.listener.as_fd()).filter(|_| waiting < CALLERS_MAX);
        listener.into_iter().chain(silent.map(|found| found.socket.as_fd()))
    }

    /// Requests that have come, a few at most, each with the process that asks; each is to be
    /// answered.
    pub fn take(&mut self) -> Vec<(Caller, u32, Request)> {
        self.let_in();
        let mut taken = Vec::new();
        let silent = self.connections.iter().filter(|connection| !connection.has_asked);
        let callers: Vec<(Caller, u32)> = silent.map(|found| (found.caller, found.pid)).collect();
        // Bound: CALLERS_MAX.
        for (caller, pid) in callers {
            if taken.len() == REQUESTS_MAX {
                break;
            }
            match self.read(caller) {
                Some(Ok(_)) if pid == 0 => {
                    let why = "its recorder is in a PID namespace that the command is not in, \
                               so neither knows the other's processes: run it there, for instance \
                               by nsenter";
                    self.answer(caller, &Answer::Refused { why: why.into() })
                }
                Some(Ok(request)) => taken.push((caller, pid, request)),
                Some(Err(error)) => {
                    self.answer(caller, &Answer::Refused { why: error.to_string() })
                }
                None => {}
            }
        }
        taken
    }

    fn let_in(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        for _ in 0..CALLERS_MAX {
            let mut oldest = None;
            if self.connections.len() == CALLERS_MAX {
                oldest = self.connections.iter().position(Connection::is_silent);
                if oldest.is_none() {
                    return;
                }
            }
            let Ok(socket) = accept_with(&self.listener, flags) else { return };
            let Some(pid) = allowed(&socket) else { continue };
            if let Some(oldest) = oldest {
                self.connections.remove(oldest);
            }
            let caller = Caller(self.next);
            self.next += 1;
            self.connections.push_back(Connection { caller, pid, socket, has_asked: false });
        }
    }

    /// What a caller sent; None where that is nothing yet, or it has gone.
    fn read(&mut self, caller: Caller) -> Option<Result<Request>> {
        let index = self.connections.iter().position(|found| found.caller == caller)?;
        let connection = &mut self.connections[index];
        let mut packet = [0u8; REQUEST_BYTES_MAX];
        let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        match recv(&connection.socket, &mut packet[..], flags) {
            Ok((_, bytes)) if bytes > 0 => {
                connection.has_asked = true;
                Some(match packet.get(..bytes) {
                    Some(packet) => parse_request(packet),
                    None => Err(Error::TooLong { limit: REQUEST_BYTES_MAX }),
                })
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
            _ => {
                self.connections.remove(index);
                None
            }
        }
    }

    /// Whether a caller has ended its connection, and so given up what it asked for. It is no
    /// caller any more then.
    pub fn has_left(&mut self, caller: Caller) -> bool {
        let Some(index) = self.connections.iter().position(|found| found.caller == caller) else {
            return true;
        };
        // That a caller sends nothing more (a shutdown of that side) is no end.
        let end = PollFlags::HUP | PollFlags::ERR;
        let has_left = self.connections[index].events().is_ok_and(|found| found.intersects(end));
        if has_left {
            self.connections.remove(index);
        }
        has_left
    }

    /// Answers, and ends the connection. A caller that does not read what it is told is not told.
    pub fn answer(&mut self, caller: Caller, answer: &Answer) {
        let Some(index) = self.connections.iter().position(|found| found.caller == caller) else {
            return;
        };
        if let Some(Connection { socket, .. }) = self.connections.remove(index) {
            let _ = sockopt::set_socket_send_buffer_size(&socket, crate::ANSWER_BYTES_MAX);
            let _ = send(&socket, &answer.bytes(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }
}

/// A caller's process, where it is the recorder's user's, or root's; 0 for one that has no number
/// here, which rustix could not tell: it is outside of the recorder's PID namespace.
fn allowed(socket: &OwnedFd) -> Option<u32> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the structure is writable for the size that is stated.
    let result = unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut peer).cast(), &mut bytes)
    };
    if result != 0 {
        return None;
    }
    let is_allowed = peer.uid == rustix::process::geteuid().as_raw() || peer.uid == 0;
    u32::try_from(peer.pid).ok().filter(|_| is_allowed)
}
