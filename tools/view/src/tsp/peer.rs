// SPDX-License-Identifier: MIT
//! Whose program is at the other end of a connection.
//!
//! Place in the flow: the Trace Server Protocol knows no secret that a request could show, so a
//! connection is answered if the kernel's list of sockets says that its other end belongs to the
//! user who runs this server, or to root, who can read everything anyway. What a web page in that
//! user's browser asks comes from that user, too: `guard` looks at it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::connections::Ends;

/// A socket of IPv6 can be connected to an address of IPv4, so both lists are read.
const LISTS: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
/// What is read of a list: about 700,000 sockets.
const MOST_BYTES: u64 = 100 << 20;
const ROOT: u32 = 0;

/// Whether the other end is a program of this user, or of root. What is not in the list is not.
pub(super) fn is_own(ends: Ends) -> bool {
    let own = rustix::process::geteuid().as_raw();
    // A list that changes while it is read may miss a line.
    let owner = LISTS.iter().chain(&LISTS).find_map(|list| owner_in(list, ends));
    owner.is_some_and(|uid| uid == own || uid == ROOT)
}

fn owner_in(list: &str, ends: Ends) -> Option<u32> {
    owner(BufReader::new(File::open(list).ok()?.take(MOST_BYTES)), ends)
}

/// The user of the socket whose own address is the connection's other end.
fn owner(list: impl BufRead, ends: Ends) -> Option<u32> {
    let wanted = (canonical(ends.peer), canonical(ends.own));
    // The heading has no addresses.
    list.lines().map_while(Result::ok).find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (local, remote) = (address(words.nth(1)?)?, address(words.next()?)?);
        let (uid, inode) = (words.nth(4)?, words.nth(1)?);
        // A socket that its program has closed belongs to nobody and is shown as root's.
        let is_open = inode != "0";
        ((local, remote) == wanted && is_open).then(|| uid.parse().ok()).flatten()
    })
}

fn canonical(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// An address as the kernel writes it: words of the address as this processor reads them, in
/// hexadecimal digits, and the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (digits, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(digits.get(8 * at..8 * at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match digits.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?);
            }
            IpAddr::from(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some((ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn connected(listener: &TcpListener) -> (TcpStream, TcpStream, Ends) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let own = server.local_addr().unwrap();
        (client, server, Ends { peer, own })
    }

    #[test]
    fn a_connection_of_this_user_is_found_and_one_that_is_closed_is_not() {
        for place in ["127.0.0.1:0", "[::1]:0"] {
            // A machine may be without IPv6.
            let Ok(listener) = TcpListener::bind(place) else { continue };
            let (client, server, ends) = connected(&listener);
            assert!(is_own(ends), "{place}");
            let turned = Ends { peer: ends.peer, own: ends.peer };
            assert!(!is_own(turned), "{place}");
            drop(client);
            assert!(!is_own(ends), "{place}: nobody's socket is not root's");
            drop(server);
        }
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_user_stands_where_both_addresses_do() {
        let (here, v6) = ("0100007F", "0000000000000000FFFF00000100007F");
        let list = format!(
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: {here}:1F90 {here}:9C40 01 00000000:00000000 00:00000000 00000000  1000 0 111 1 x
   1: {here}:9C40 {here}:1F90 01 00000000:00000000 00:00000000 00000000  1001 0 112 1 x
   2: {here}:9C41 {here}:1F90 06 00000000:00000000 00:00000000 00000000     0 0 0 1 x
   3: {v6}:9C42 {v6}:1F90 01 0:0 0:0 0 7 0 9 1
   4: {here}:9C43
   x: y:z {here}:1F90 01 a b c d e f"
        );
        let from = |port: u16| {
            let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            owner(list.as_bytes(), Ends { peer: at(port), own: at(8080) })
        };
        assert_eq!(from(40000), Some(1001));
        assert_eq!(from(40001), None, "it is closed");
        assert_eq!(from(40002), Some(7), "an address of IPv4 in a socket of IPv6");
        assert_eq!(from(40003), None);
    }
}
