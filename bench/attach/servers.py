# SPDX-License-Identifier: MIT
"""The servers that are attached to, and what asks them."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.places import BUILD, scratch  # noqa: E402
from harness.programs import ProgramError, run  # noqa: E402

HERE = Path(__file__).resolve().parent
CONNECTIONS = 8
START_LIMIT_S = 60.0


class Server:
    """A server that runs. `user`: whose it is, where it is another user's."""

    def __init__(self, words: list[str], user: str | None = None) -> None:
        self.user = user
        self.log = open(scratch() / f"{Path(words[0]).name}.log", "w+", encoding="utf-8")
        prefix = as_user(user)
        self.process = subprocess.Popen(
            [*prefix, *words], stdout=subprocess.PIPE, stderr=self.log, text=True, cwd="/"
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def check(self) -> None:
        """ProgramError where it has ended."""
        if self.process.poll() is not None:
            self.log.seek(0)
            words = self.log.read()[-800:]
            raise ProgramError(f"the server ended with status {self.process.returncode}: {words}")

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Load:
    """Clients that ask one after the other; `latencies()` ends them."""

    def __init__(self, server: Server, port: int) -> None:
        self._server = server
        self._answers = open(scratch() / "answers", "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, HERE / "load.py", str(port), str(CONNECTIONS)],
            stdin=subprocess.PIPE, stdout=self._answers, stderr=subprocess.PIPE, text=True,
        )

    def latencies(self) -> list[float]:
        """Milliseconds of each request. ProgramError where one failed."""
        _, words = self._process.communicate(timeout=60)
        if self._process.returncode != 0:
            self._server.check()
            raise ProgramError(words.strip()[-400:])
        self._answers.seek(0)
        with self._answers:
            return [float(line) for line in self._answers]


class DatabaseLoad:
    """pgbench, which connects anew for each transaction: the server forks a process for each."""

    def __init__(self, server: Server, port: int) -> None:
        self._folder = scratch() / "pgbench"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self._server = server
        words = ["pgbench", "-n", "-S", "-C", "-c", "4", "-T", "100000", "--log", "-U", "postgres"]
        self._words = open(self._folder / "words", "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [*words, "-h", "127.0.0.1", "-p", str(port), "postgres"],
            stdout=self._words, stderr=subprocess.STDOUT, cwd=self._folder,
        )

    def latencies(self) -> list[float]:
        # It ends when its time is over, of which that signal tells, or when all clients failed.
        has_ended = self._process.poll() is not None
        self._process.send_signal(signal.SIGALRM)
        status = self._process.wait(60)
        self._words.seek(0)
        with self._words:
            words = self._words.read().strip()
        if has_ended or status != 0 or "number of failed transactions: 0 " not in words:
            self._server.check()
            raise ProgramError(f"pgbench ended: {words[-400:]}")
        log = next(self._folder.glob("pgbench_log.*"))
        lines = [line.split() for line in log.read_text().splitlines()]
        return [int(line[2]) / 1e3 for line in lines]


def as_user(user: str | None) -> list[str]:
    """What goes before a command that runs as a user."""
    if user is None or user == getpass.getuser():
        return []
    entry = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]


def _port_of(server: Server) -> int:
    line = server.process.stdout.readline()
    if not line.strip().isdigit():
        server.check()
        raise ProgramError(f"the server said {line!r} and no port")
    return int(line)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def _wait_for(server: Server, port: int) -> None:
    until = time.monotonic() + START_LIMIT_S
    while time.monotonic() < until:
        server.check()
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)
    raise ProgramError(f"the server does not listen after {START_LIMIT_S} s")


def redis() -> tuple[Server, int]:
    port = free_port()
    server = Server([
        "redis-server", "--port", str(port), "--save", "", "--io-threads", "2", "--logfile",
        "/dev/null", "--dir", str(scratch()),
    ])
    _wait_for(server, port)
    return server, port


def python() -> tuple[Server, int]:
    server = Server([sys.executable, str(HERE / "server.py")])
    return server, _port_of(server)


def node() -> tuple[Server, int]:
    server = Server(["node", str(HERE / "server.js")])
    return server, _port_of(server)


def java() -> tuple[Server, int]:
    classes = BUILD / "attach"
    run(["javac", "-d", str(classes), str(HERE / "Server.java")])
    server = Server(["java", "-Xmx64m", "-cp", str(classes), "Server"])
    return server, _port_of(server)


def _postgres_program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        folders = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
        found = str(folders[-1]) if folders else name
    return found


def postgres() -> tuple[Server, int]:
    user = "postgres" if os.geteuid() == 0 else None
    data = scratch() / "postgres"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    if user:
        shutil.chown(data, user, user)
        scratch().chmod(0o755)
    run([
        *as_user(user), _postgres_program("initdb"), "-A", "trust", "-U", "postgres", "-D",
        str(data),
    ], cwd="/")
    port = free_port()
    server = Server([
        _postgres_program("postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k",
        str(data), "-c", "fsync=off",
    ], user)
    _wait_for(server, port)
    answer = ["pgbench", "-i", "-q", "-U", "postgres", "-h", "127.0.0.1", "-p", str(port)]
    for _ in range(100):
        try:
            run([*answer, "postgres"])
            return server, port
        except ProgramError:
            server.check()
            time.sleep(0.1)
    run([*answer, "postgres"])
    return server, port


# By name: what starts it, what asks it, and the commands that it takes.
SERVERS = {
    "redis": (redis, Load, ["redis-server"]),
    "postgres": (postgres, DatabaseLoad, [_postgres_program("postgres"), "pgbench"]),
    "JVM": (java, Load, ["java", "javac"]),
    "python3": (python, Load, []),
    "node": (node, Load, ["node"]),
}
