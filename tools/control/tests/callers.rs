// SPDX-License-Identifier: MIT
//! Callers of all kinds: honest, silent, gone, many, wrong. None of them keeps the recorder, or
//! another caller, from what it does.

use control::{ask, Answer, Request, Server, CALLERS_MAX, REQUEST_BYTES_MAX};
use rustix::net::{
    accept, bind, connect, listen, recv, send, socket_with, sockopt, AddressFamily, RecvFlags,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lull-control-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn caller(&self) -> OwnedFd {
        let kind = SocketType::SEQPACKET;
        let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
        let address = SocketAddrUnix::new(self.0.join(control::SOCKET)).unwrap();
        let limit = Some(Duration::from_secs(60));
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, limit).unwrap();
        connect(&socket, &address).unwrap();
        socket
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn say(socket: &OwnedFd, packet: &[u8]) {
    send(socket, packet, SendFlags::NOSIGNAL).unwrap();
}

/// What a caller hears; empty when the connection was ended.
fn hear(socket: &OwnedFd) -> Vec<u8> {
    let mut packet = vec![0u8; control::ANSWER_BYTES_MAX];
    let (_, bytes) = recv(socket, &mut packet[..], RecvFlags::empty()).unwrap();
    packet.truncate(bytes);
    packet
}

/// Serves until there is nothing to take; each status is answered. Return: what was asked.
fn serve(server: &mut Server) -> Vec<Request> {
    let mut asked = Vec::new();
    // Bound: more looks than callers.
    for _ in 0..4 * CALLERS_MAX {
        let taken = server.take();
        assert!(taken.len() <= 4, "more would keep the recorder from its rings");
        for (caller, pid, request) in taken {
            assert_eq!(pid, std::process::id());
            server.answer(caller, &Answer::Done);
            asked.push(request);
        }
    }
    asked
}

#[test]
fn request_of_a_client_is_taken_and_answered_once() {
    let place = Place::new("honest");
    let mut server = Server::open(&place.0).unwrap();
    let path = place.0.clone();
    let client = std::thread::spawn(move || {
        ask(&path, &Request::Pause, Some(Duration::from_secs(60))).unwrap()
    });
    let mut asked = Vec::new();
    while asked.is_empty() {
        let mut polls: Vec<_> = server.descriptors().map(poll).collect();
        rustix::event::poll(&mut polls, None).unwrap();
        asked = serve(&mut server);
    }
    assert_eq!(asked, [Request::Pause]);
    assert_eq!(client.join().unwrap(), Answer::Done);
    assert_eq!(server.descriptors().count(), 1, "the connection has ended");
}

fn poll<'a>(descriptor: std::os::fd::BorrowedFd<'a>) -> rustix::event::PollFd<'a> {
    rustix::event::PollFd::from_borrowed_fd(descriptor, rustix::event::PollFlags::IN)
}

#[test]
fn socket_is_its_users_alone_and_a_second_one_is_not_made() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("mode");
    let _server = Server::open(&place.0).unwrap();
    let mode = std::fs::metadata(place.0.join(control::SOCKET)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(Server::open(&place.0).is_err());
}

#[test]
fn recorder_that_is_gone_is_told_from_one_that_does_not_answer() {
    let place = Place::new("gone");
    let moment = Some(Duration::from_millis(1));
    assert!(matches!(ask(&place.0, &Request::Status, moment), Err(control::Error::Gone)));
    let server = Server::open(&place.0).unwrap();
    assert!(matches!(ask(&place.0, &Request::Status, moment), Err(control::Error::Silent { .. })));
    drop(server);
    assert!(matches!(ask(&place.0, &Request::Status, moment), Err(control::Error::Gone)));
    assert!(ask(&place.0.join("absent"), &Request::Status, moment).is_err());
}

#[test]
fn silent_callers_do_not_keep_others_out_nor_those_that_ask_and_go() {
    let place = Place::new("silent");
    let mut server = Server::open(&place.0).unwrap();
    let mut silent = Vec::new();
    for _ in 0..4 * CALLERS_MAX {
        silent.push(place.caller());
        server.take();
        assert!(server.descriptors().count() <= 1 + CALLERS_MAX);
    }
    let honest = place.caller();
    say(&honest, &Request::Status.bytes());
    assert_eq!(serve(&mut server), [Request::Status]);
    assert_eq!(hear(&honest), Answer::Done.bytes());
    assert!(hear(&silent[0]).is_empty(), "the one that was silent for longest lost its place");
    for socket in silent {
        let _ = send(&socket, &Request::Stop.bytes(), SendFlags::NOSIGNAL);
    }
    assert_eq!(serve(&mut server).len(), CALLERS_MAX - 1, "of those that were let in");
    assert_eq!(server.descriptors().count(), 1);
}

#[test]
fn callers_that_came_at_once_keep_their_places_until_each_was_listened_to() {
    let place = Place::new("crowd");
    let mut server = Server::open(&place.0).unwrap();
    let asking: Vec<OwnedFd> = (0..CALLERS_MAX).map(|_| place.caller()).collect();
    server.take();
    for socket in &asking {
        say(socket, &Request::Status.bytes());
    }
    let late: Vec<OwnedFd> = (0..CALLERS_MAX).map(|_| place.caller()).collect();
    assert_eq!(serve(&mut server).len(), CALLERS_MAX, "they had asked before others came");
    for socket in asking {
        assert_eq!(hear(&socket), Answer::Done.bytes());
    }
    drop(late);
}

#[test]
fn recorder_whose_callers_all_wait_is_not_woken_by_one_more() {
    let place = Place::new("full");
    let mut server = Server::open(&place.0).unwrap();
    let mut waiting = Vec::new();
    let mut taken = Vec::new();
    for _ in 0..CALLERS_MAX {
        waiting.push(place.caller());
        say(waiting.last().unwrap(), &Request::Stop.bytes());
        taken.extend(server.take());
    }
    let late = place.caller();
    say(&late, &Request::Status.bytes());
    assert!(server.take().is_empty());
    assert_eq!(server.descriptors().count(), 0);
    server.answer(taken[0].0, &Answer::Done);
    assert_eq!(serve(&mut server), [Request::Status], "it waited, and has its turn");
    assert_eq!(hear(&late), Answer::Done.bytes());
}

#[test]
fn client_that_lost_its_place_before_it_said_anything_asks_again() {
    let place = Place::new("again");
    let kind = SocketType::SEQPACKET;
    let listener = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(place.0.join(control::SOCKET)).unwrap()).unwrap();
    listen(&listener, 4).unwrap();
    let limit = Some(Duration::from_secs(60));
    sockopt::set_socket_timeout(&listener, sockopt::Timeout::Recv, limit).unwrap();
    let path = place.0.clone();
    let client =
        std::thread::spawn(move || ask(&path, &Request::Pause, Some(Duration::from_secs(60))));
    for _ in 0..3 {
        drop(accept(&listener).unwrap());
    }
    let connection = accept(&listener).unwrap();
    assert_eq!(hear(&connection), Request::Pause.bytes());
    say(&connection, &Answer::Done.bytes());
    assert_eq!(client.join().unwrap().unwrap(), Answer::Done);

    let path = place.0.clone();
    let client =
        std::thread::spawn(move || ask(&path, &Request::Pause, Some(Duration::from_secs(60))));
    drop((accept(&listener).unwrap(), listener));
    assert!(matches!(client.join().unwrap(), Err(control::Error::Ended)));
}

#[test]
fn caller_that_waits_for_its_answer_is_not_asked_again_and_may_be_gone() {
    let place = Place::new("waits");
    let mut server = Server::open(&place.0).unwrap();
    let waiting = place.caller();
    say(&waiting, &Request::Stop.bytes());
    say(&waiting, &Request::Stop.bytes());
    let taken = server.take();
    assert_eq!(taken.len(), 1);
    assert!(server.take().is_empty(), "one request for each connection");
    assert_eq!(server.descriptors().count(), 1, "nothing of it wakes the recorder");
    rustix::net::shutdown(&waiting, rustix::net::Shutdown::Write).unwrap();
    assert!(!server.has_left(taken[0].0), "it says nothing more, and waits");
    drop(waiting);
    assert!(server.has_left(taken[0].0) && server.has_left(taken[0].0));
    server.answer(taken[0].0, &Answer::Done);
    server.answer(taken[0].0, &Answer::Done);
}

#[test]
fn wrong_packets_are_refused_and_answered() {
    let place = Place::new("wrong");
    let mut server = Server::open(&place.0).unwrap();
    let long = vec![b' '; REQUEST_BYTES_MAX + 1];
    let deep = vec![b'['; REQUEST_BYTES_MAX];
    let packets: [&[u8]; 6] =
        [b"{", b"\0", b"{\"lull\":9,\"request\":\"stop\"}", b"[[[[", &long, &deep];
    for packet in packets {
        let socket = place.caller();
        say(&socket, packet);
        assert!(serve(&mut server).is_empty());
        let heard = String::from_utf8(hear(&socket)).unwrap();
        assert!(heard.contains("\"answer\":\"refused\""), "{heard}");
    }
    let gone = place.caller();
    say(&gone, &[]);
    drop(gone);
    assert!(serve(&mut server).is_empty());
    assert_eq!(server.descriptors().count(), 1);
}

#[test]
fn random_packets_of_random_callers_leave_the_server_at_work() {
    let place = Place::new("random");
    let mut server = Server::open(&place.0).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut callers: Vec<OwnedFd> = Vec::new();
    let valid = Request::Expect { program: "/bin/true".into() }.bytes();
    for _ in 0..5_000 {
        match random.u32(..4) {
            0 if callers.len() < 2 * CALLERS_MAX => callers.push(place.caller()),
            1 if !callers.is_empty() => {
                callers.swap_remove(random.usize(..callers.len()));
            }
            2 if !callers.is_empty() => {
                let socket = &callers[random.usize(..callers.len())];
                let mut packet = valid.clone();
                for _ in 0..random.usize(..4) {
                    let at = random.usize(..packet.len());
                    packet[at] = random.u8(..);
                }
                packet.truncate(random.usize(..=packet.len()));
                let _ = send(socket, &packet, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            }
            _ => {
                for (caller, _, _) in server.take() {
                    if random.bool() {
                        server.answer(caller, &Answer::Done);
                    }
                }
            }
        }
        assert!(server.descriptors().count() <= 1 + CALLERS_MAX);
    }
    drop(callers);
    let honest = place.caller();
    say(&honest, &Request::Status.bytes());
    // Those that asked and were not answered keep their places; the server's user answers all.
    let _ = serve(&mut server);
    assert!(server.descriptors().next().unwrap().as_fd().try_clone_to_owned().is_ok());
}
