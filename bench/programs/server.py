# SPDX-License-Identifier: MIT
"""The server of table 11: redis-server traced, redis-benchmark beside it untraced."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness.places import fresh
from harness.programs import ProgramError, run
from harness.rounds import alternate
from harness.table import Table

REQUESTS = 30_000
CLIENTS = 8
START_TIMEOUT_S = 10.0
LOAD_TIMEOUT_S = 8.0
WHY = "Each request is a few calls: readiness, read, write, and allocations with all events on."


def _wait_for(socket: Path, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        ping = subprocess.run(
            ["redis-cli", "-s", str(socket), "ping"], capture_output=True, text=True, check=False
        )
        if ping.stdout.strip() == "PONG":
            return
        if server.poll() is not None or time.monotonic() > deadline:
            raise ProgramError("redis-server did not start")
        time.sleep(0.02)


def requests_per_ms(prefix: list[str]) -> float:
    """Serve one benchmark of SET requests; requests in a millisecond."""
    folder = fresh("redis")
    folder.mkdir()
    socket = folder / "socket"
    words = ["redis-server", "--port", "0", "--unixsocket", str(socket)]
    words += ["--save", "", "--appendonly", "no", "--dir", str(folder)]
    server = subprocess.Popen(
        [*prefix, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for(socket, server)
        load = ["redis-benchmark", "-s", str(socket), "-t", "set", "-n", str(REQUESTS)]
        text = run([*load, "-c", str(CLIENTS), "--csv"], LOAD_TIMEOUT_S).stdout
        run(["redis-cli", "-s", str(socket), "shutdown", "nosave"])
        server.wait(30)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(10)
    found = re.search(r'"SET","([\d.]+)"', text)
    if found is None:
        raise ProgramError("redis-benchmark printed no rate")
    return float(found.group(1)) / 1e3


def _serve(words: Callable[[Path], list[str]]) -> float:
    return requests_per_ms(words(fresh("program-trace")))


def add_server(
    table: Table, tracers: dict[str, Callable[[Path], list[str]]], rounds: int
) -> None:
    """Add the row of redis-server, when it is installed."""
    if not (shutil.which("redis-server") and shutil.which("redis-benchmark")):
        table.note("Not measured: redis-server is not installed.")
        return
    variants = {}
    for name, words in tracers.items():
        take = partial(_serve, words)
        try:
            take()
        except ProgramError as error:
            table.note(f"Not measured: {name} with redis-server: {error}.")
            continue
        variants[name] = take
    if "untraced" not in variants:
        return
    taken = alternate(variants, rounds, warm_up=False)
    base = taken.pop("untraced")
    slower = {name: base.over(spread) for name, spread in taken.items()}
    ours = slower.pop("ours", None)
    table.add(
        "redis", f"redis-server serving SET; untraced {base.median:.0f} requests/ms",
        "times slower", ours, slower, why=WHY,
    )
