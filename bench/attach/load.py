#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""load.py PORT CONNECTIONS: requests of one line, until standard input ends and each connection
has got an answer.

Prints `MILLISECONDS` for each request that was answered, and ends with status 1 when one was not.
"""

import selectors
import socket
import sys
import time

REQUEST = b"PING something that is as long as a short request usually is\r\n"
ANSWER_LIMIT_S = 30.0
PAUSE_S = 0.001


def main() -> None:
    port, count = map(int, sys.argv[1:])
    chosen = selectors.DefaultSelector()
    chosen.register(sys.stdin, selectors.EVENT_READ)
    asked: dict[socket.socket, float] = {}
    unanswered = set()
    is_over = False
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        chosen.register(connection, selectors.EVENT_READ)
        asked[connection] = time.monotonic()
        unanswered.add(connection)
        connection.sendall(REQUEST)
    while unanswered or not is_over:
        time.sleep(PAUSE_S)
        for key, _events in chosen.select(1.0):
            if key.fileobj is sys.stdin:
                is_over = True
                chosen.unregister(sys.stdin)
                continue
            connection = key.fileobj
            answer = connection.recv(65536)
            if not answer.endswith(b"\n"):
                sys.exit(f"a request was answered by {answer!r}")
            now = time.monotonic()
            print(f"{(now - asked[connection]) * 1e3:.3f}")
            unanswered.discard(connection)
            asked[connection] = now
            connection.sendall(REQUEST)
        if time.monotonic() - min(asked.values()) > ANSWER_LIMIT_S:
            sys.exit(f"a request was not answered within {ANSWER_LIMIT_S} s")


main()
