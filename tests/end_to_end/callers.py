#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile callers of a recorder's control socket, until this is ended.

Usage: callers.py DIRECTORY. Callers that say nothing, that do not read what they are told, that
send what is no request, too much, or half of one, that go at once, all of them at a time.
"""

import random
import socket
import sys
import time

WRONG = [
    b"", b"{", b"\0" * 100, b"[" * 8000, b" " * 20000, b'{"lull":1}',
    b'{"lull":2,"request":"stop"}',
    b'{"lull":1,"request":"dance"}', b'{"lull":1,"request":"expect"}',
    b'{"lull":1,"request":"resume"}', b'{"lull":1,"request":"snapshot"}',
    b'{"lull":1,"request":"status","more":' + b'"x"' * 500 + b"}",
]


def caller(path: str) -> socket.socket | None:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    found.setblocking(False)
    try:
        found.connect(path)
    except OSError:
        found.close()
        return None
    return found


def main(directory: str) -> None:
    path = directory + "/control"
    held: list[socket.socket] = []
    while True:
        one = caller(path)
        if one is not None:
            held.append(one)
            try:
                one.send(random.choice([*WRONG, b'{"lull":1,"request":"status"}']))
            except OSError:
                pass
        # Up to 64 are open, and none of them reads.
        while len(held) > random.randrange(64):
            held.pop(random.randrange(len(held))).close()
        time.sleep(0.0005)


main(sys.argv[1])
