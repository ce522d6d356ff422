// SPDX-License-Identifier: MIT
//! Questions that are given up, over real connections.

use std::net::TcpStream;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::*;
use crate::connections::MOST_ANSWERS;
use crate::patience::Patience;

const LATE: Duration = Duration::from_secs(30);

/// Events that have no end, until nobody wants more of them; how each visit began and ended.
struct Endless(Mutex<Sender<bool>>);

impl Endless {
    fn say(&self, is_over: bool) {
        self.0.lock().unwrap().send(is_over).unwrap();
    }
}

impl Events for Endless {
    fn visit(
        &self,
        _: &Filter,
        span: &Span,
        _: u64,
        each: &mut dyn FnMut(&Row<'_>) -> bool,
    ) -> Result<Visited, String> {
        let time = span.from.unwrap();
        let json = || b"{}".to_vec();
        let (reached, name) = (time, "e");
        let row =
            Row { time, reached, name, trace: 0, cpu: None, pid: None, tid: None, json: &json };
        self.say(false);
        let begin = Instant::now();
        // Without the test's success it ends by itself.
        while each(&row) && begin.elapsed() < LATE {}
        self.say(begin.elapsed() < LATE);
        Ok(Visited { scanned: 1, stopped: None })
    }
}

fn count(heard: &Receiver<bool>, wanted: (usize, usize)) {
    let mut found = (0, 0);
    while found != wanted {
        match heard.recv_timeout(LATE).expect("a visit begins or ends") {
            false => found.0 += 1,
            true => found.1 += 1,
        }
    }
}

#[test]
fn questions_that_are_given_up_end_and_the_next_one_is_answered() {
    let (say, heard) = channel();
    let shown = viewed_with(|_| Box::new(Endless(Mutex::new(say))));
    let server = Server::bind(0).unwrap();
    let url = server.url();
    let (address, token) = url.trim_start_matches("http://").split_once('/').unwrap();
    let (address, token) = (address.to_string(), token.to_string());
    std::thread::spawn(move || server.serve(Arc::new(Shown::new(shown))).unwrap());
    let request = |question: &str| {
        format!("GET /{token}{question} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
    };
    let ask = |number: usize| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let question = format!("v1/ticks?from=0&until={}&pixels=9&e=x", 9 + number);
        stream.write_all(request(&question).as_bytes()).unwrap();
        stream
    };
    // A refusal waits for no turn: once it is there, the server has seen what came before.
    let refused = format!("GET /no HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let has_seen = || assert_eq!(send(&address, &refused).0, 403);
    // What is counted goes on for ever, on all threads; more questions wait, and are given up
    // first.
    let begun: Vec<TcpStream> = (0..MOST_ANSWERS).map(ask).collect();
    count(&heard, (MOST_ANSWERS, 0));
    let waiting: Vec<TcpStream> = (MOST_ANSWERS..MOST_ANSWERS * 4).map(ask).collect();
    has_seen();
    drop(waiting);
    has_seen();
    drop(begun);
    count(&heard, (0, MOST_ANSWERS));
    let (status, _) = send(&address, &request("v1/trace"));
    assert_eq!(status, 200);
    assert!(heard.try_recv().is_err(), "what had not begun was left");
}

#[test]
fn what_was_given_up_half_way_is_no_answer_for_the_next_who_asks() {
    let viewed = viewed();
    let about = ask(&viewed, "v1/trace");
    let span = format!("from=0&until={}&pixels=9", about["length_ns"]);
    let tracks = id_of(&viewed, "server[10]");
    for question in [
        format!("v1/slices?{span}&tracks={tracks}"),
        format!("v1/ticks?{span}&e=s"),
        "v1/events?from=0".into(),
        format!("v1/statistics?{span}"),
        format!("v1/flame?{span}&of=calls"),
    ] {
        let (path, query) = question.split_once('?').unwrap();
        let reply = viewed.answer_while(path, query, &Patience::over());
        assert_eq!(reply.status.as_u16(), 400, "{question}");
        assert!(String::from_utf8_lossy(&reply.body).contains("nobody waits"), "{question}");
        assert_eq!(viewed.answer(path, query).status.as_u16(), 200, "{question}");
    }
}
