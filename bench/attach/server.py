# SPDX-License-Identifier: MIT
"""Answers lines: a thread for each connection, and a thread that starts short ones."""

import hashlib
import socket
import threading
import time


def serve(connection: socket.socket) -> None:
    with connection, connection.makefile("rwb", buffering=0) as lines:
        for line in lines:
            lines.write(hashlib.sha256(line * 20).hexdigest().encode() + b"\n")


def start_threads() -> None:
    while True:
        threading.Thread(target=lambda: open("/dev/null").close()).start()
        time.sleep(0.005)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
threading.Thread(target=start_threads, daemon=True).start()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
