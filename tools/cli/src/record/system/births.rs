// SPDX-License-Identifier: MIT
//! Programs that processes of the machine begin, as the kernel tells of them (the proc connector,
//! `linux/cn_proc.h`): root only, and only in the machine's first namespaces.
//!
//! Place in the flow: `system` asks, between two turns over the rings, which programs have begun.
//! What does not fit into the socket's buffer is lost, which the kernel says; then all processes
//! are looked at.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// `CN_IDX_PROC` and `CN_VAL_PROC`.
const CHANNEL: u32 = 1;
const LISTEN: u32 = 1;
const FORK: u32 = 1;
const EXEC: u32 = 2;
/// Of the headers of netlink and of the connector.
const NETLINK_BYTES: usize = 16;
const HEADER_BYTES: usize = NETLINK_BYTES + 20;
/// Where an event says what it is, when it was, and of whom.
const WHAT: usize = HEADER_BYTES;
const WHEN: usize = HEADER_BYTES + 8;
const WHO: usize = HEADER_BYTES + 16;
const BUFFER_BYTES: i32 = 1 << 20;
/// Messages of one look: more than come in a millisecond.
const TAKEN_MAX: usize = 512;
const PATIENCE: Duration = Duration::from_millis(200);

/// What the kernel tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Birth {
    /// A process executes a program, since this reading of the monotonic clock.
    Exec {
        pid: u32,
        at_ns: u64,
    },
    Fork {
        parent: u32,
        child: u32,
    },
}

/// A socket by which the kernel tells.
#[derive(Debug)]
pub struct Births(OwnedFd);

impl Births {
    /// Begins to listen. Fails where the kernel does not tell us.
    pub fn open() -> io::Result<Self> {
        // SAFETY: no memory is passed; the descriptor is new and nobody else's.
        let socket = unsafe {
            let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_CONNECTOR);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let births = Self(socket);
        births.set(libc::SO_RCVBUFFORCE, &BUFFER_BYTES)?;
        births.leave_out()?;
        births.bind()?;
        births.listen()?;
        births.hear_of_it()?;
        Ok(births)
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn set<T>(&self, option: i32, value: &T) -> io::Result<()> {
        // SAFETY: the value is read for its size.
        let rc = unsafe {
            let value = std::ptr::from_ref(value).cast();
            let bytes = size_of::<T>() as libc::socklen_t;
            libc::setsockopt(self.0.as_raw_fd(), libc::SOL_SOCKET, option, value, bytes)
        };
        if rc == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Has the kernel leave out what is neither of these, before it wakes us. The filter loads a
    /// word as the network has it.
    fn leave_out(&self) -> io::Result<()> {
        let op = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
        let is = |what: u32, then| {
            op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, then, 0, what.to_be())
        };
        let mut program = [
            op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, WHAT as u32),
            is(0, 3),
            is(FORK, 2),
            is(EXEC, 1),
            op(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
            op(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
        ];
        let filter = program.as_mut_ptr();
        self.set(libc::SO_ATTACH_FILTER, &libc::sock_fprog { len: program.len() as u16, filter })
    }

    fn bind(&self) -> io::Result<()> {
        // SAFETY: an all-zero address is valid, and is read for its size.
        let rc = unsafe {
            let mut address: libc::sockaddr_nl = std::mem::zeroed();
            address.nl_family = libc::AF_NETLINK as u16;
            address.nl_groups = CHANNEL;
            let bytes = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
            libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), bytes)
        };
        if rc == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    fn listen(&self) -> io::Result<()> {
        let message = request();
        // SAFETY: the message is read for its length.
        let sent =
            unsafe { libc::send(self.0.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// The kernel answers whoever may listen.
    fn hear_of_it(&self) -> io::Result<()> {
        let begun = Instant::now();
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // Bound: the time.
        while begun.elapsed() < PATIENCE {
            // SAFETY: one structure, as is said.
            unsafe { libc::poll(&raw mut poll, 1, 10) };
            match self.message()?.as_deref().and_then(answer) {
                Some(0) => return Ok(()),
                Some(error) => return Err(io::Error::from_raw_os_error(error as i32)),
                None => {}
            }
        }
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The next message that the kernel has sent; None where there is none now.
    fn message(&self) -> io::Result<Option<Vec<u8>>> {
        const BYTES: usize = 256;
        let mut message = vec![0u8; BYTES];
        // SAFETY: an all-zero address is valid, and both are written to for their sizes.
        let (bytes, sender) = unsafe {
            let mut from: libc::sockaddr_nl = std::mem::zeroed();
            let mut from_bytes = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
            let bytes = libc::recvfrom(
                self.0.as_raw_fd(),
                message.as_mut_ptr().cast(),
                BYTES,
                0,
                (&raw mut from).cast(),
                &raw mut from_bytes,
            );
            (bytes, from.nl_pid)
        };
        let Ok(bytes) = usize::try_from(bytes) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            };
        };
        // Other processes can send to this socket, too.
        message.truncate(if sender == 0 { bytes } else { 0 });
        Ok(Some(message))
    }

    /// Adds what the kernel has told since, some at most. Return: false where some was lost.
    pub fn take(&self, births: &mut Vec<Birth>) -> bool {
        for _ in 0..TAKEN_MAX {
            match self.message() {
                Ok(Some(message)) => births.extend(birth(&message)),
                Ok(None) => break,
                Err(_) => return false,
            }
        }
        true
    }
}

/// Asks to be told.
fn request() -> Vec<u8> {
    const BYTES: u32 = HEADER_BYTES as u32 + 4;
    let mut message = Vec::with_capacity(BYTES as usize);
    message.extend(BYTES.to_ne_bytes());
    message.extend((libc::NLMSG_DONE as u16).to_ne_bytes());
    message.extend([0; 10]); // flags, sequence and port: the kernel's
    [CHANNEL, CHANNEL, 0, 0].iter().for_each(|word| message.extend(word.to_ne_bytes()));
    message.extend(4u16.to_ne_bytes());
    message.extend(0u16.to_ne_bytes());
    message.extend(LISTEN.to_ne_bytes());
    message
}

fn word(message: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?))
}

/// Whether a message is one of processes.
fn is_of_processes(message: &[u8]) -> bool {
    let at = |at| word(message, NETLINK_BYTES + at);
    (at(0), at(4)) == (Some(CHANNEL), Some(CHANNEL))
}

/// The number of the error, or 0, where a message answers a request.
fn answer(message: &[u8]) -> Option<u32> {
    (is_of_processes(message) && word(message, WHAT)? == 0).then(|| word(message, WHO))?
}

/// A birth of a process or of a program, where a message tells of one.
fn birth(message: &[u8]) -> Option<Birth> {
    if !is_of_processes(message) {
        return None;
    }
    let who = |index: usize| word(message, WHO + 4 * index);
    match word(message, WHAT)? {
        EXEC => {
            let at_ns = u64::from_ne_bytes(message.get(WHEN..WHO)?.try_into().ok()?);
            Some(Birth::Exec { pid: who(1)?, at_ns })
        }
        // A thread has its process's number.
        FORK if who(2)? == who(3)? => Some(Birth::Fork { parent: who(1)?, child: who(3)? }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(what: u32, at_ns: u64, who: [u32; 4]) -> Vec<u8> {
        let mut message = request();
        message.truncate(HEADER_BYTES);
        [what, 0].iter().for_each(|word| message.extend(word.to_ne_bytes()));
        message.extend(at_ns.to_ne_bytes());
        who.iter().for_each(|word| message.extend(word.to_ne_bytes()));
        message
    }

    #[test]
    fn program_and_process_that_begin_are_told_from_threads_and_from_the_rest() {
        let exec = message(EXEC, 77, [5, 4, 0, 0]);
        assert_eq!(birth(&exec), Some(Birth::Exec { pid: 4, at_ns: 77 }));
        let fork = message(FORK, 1, [2, 1, 9, 9]);
        assert_eq!(birth(&fork), Some(Birth::Fork { parent: 1, child: 9 }));
        assert_eq!(birth(&message(FORK, 1, [2, 1, 10, 9])), None, "a thread");
        assert_eq!(birth(&message(0x8000_0000, 1, [2, 1, 9, 9])), None, "an end");
        assert_eq!(answer(&message(0, 0, [1, 0, 0, 0])), Some(1));
        assert_eq!(answer(&exec), None);
    }

    #[test]
    fn message_that_is_cut_or_of_another_channel_says_nothing() {
        let whole = message(FORK, 1, [2, 1, 9, 9]);
        for length in 0..whole.len() {
            assert_eq!(birth(&whole[..length]), None, "cut at {length}");
        }
        let mut other = message(EXEC, 77, [5, 4, 0, 0]);
        other[NETLINK_BYTES] = 2;
        assert_eq!((birth(&other), answer(&other)), (None, None));
    }

    #[test]
    fn program_of_a_child_is_told_of_where_the_kernel_tells() {
        let Ok(births) = Births::open() else { return };
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let (pid, begun) = (child.id(), Instant::now());
        child.wait().unwrap();
        let mut told = Vec::new();
        let is_its = |birth: &Birth| matches!(birth, Birth::Exec { pid: of, .. } if *of == pid);
        while !told.iter().any(is_its) {
            assert!(begun.elapsed() < Duration::from_secs(10), "{told:?}");
            births.take(&mut told);
        }
    }
}
