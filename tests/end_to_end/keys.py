# SPDX-License-Identifier: MIT
"""Presses keys in `lull top`, in a terminal of its own, and looks at the screen.

Usage: keys.py SESSION. A terminal is a pair of files (a pty): what the command writes comes out at
this end, and is drawn on a screen in memory. Each step waits for what must come to be seen, so that
nothing depends on time.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

LIMIT_S = 60
LEAVE = b"\x1b[?1049l"
SHOW_CURSOR = b"\x1b[?25h"
# A sequence to the terminal: parameters and what it is for; or one character.
TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(.)", re.DOTALL)
session = sys.argv[1]


class Top:
    """The command in a terminal."""

    def __init__(self, *arguments):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execvp("lull", ["lull", "top", *arguments])
        self.written = b""
        self.drawn = 0
        self.cells = {}
        self.place = (1, 1)
        self.odd = set()
        self.resize(30, 110)

    def resize(self, lines, columns):
        self.size = (lines, columns)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self):
        """Reads what there is, for a moment; False at the end."""
        if not select.select([self.terminal], [], [], 0.1)[0]:
            return True
        try:
            bytes_read = os.read(self.terminal, 1 << 16)
        except OSError:
            bytes_read = b""
        self.written += bytes_read
        return bytes_read != b""

    def draw(self):
        """Draws what was written since, but for a sequence that is not whole yet."""
        text = self.written[self.drawn:].decode("utf-8", "ignore")
        whole = re.sub(r"\x1b(\[[0-9;?]*)?$", "", text)
        self.drawn += len(whole.encode())
        for parameters, final, character in TOKEN.findall(whole):
            if final == "H":
                self.place = tuple(map(int, parameters.split(";")))
            elif final == "J":
                self.cells = {}
            elif final:
                # Colours, the cursor, the alternate screen.
                self.odd |= {final} - set("mhl")
            else:
                self.cells[self.place] = character
                self.place = (self.place[0], self.place[1] + 1)

    def screen(self):
        self.draw()
        lines, columns = self.size
        line = lambda y: "".join(self.cells.get((y, x), " ") for x in range(1, columns + 1))
        return "\n".join(line(y).rstrip() for y in range(1, lines + 1))

    def until(self, text):
        """Waits for a text to be on the screen."""
        end = time.monotonic() + LIMIT_S
        while text not in self.screen():
            if not self.read() or time.monotonic() > end:
                sys.exit(f"{self.screen()}\nhas no {text!r}")

    def press(self, keys, text):
        """Presses keys, after which a text must be on the screen."""
        os.write(self.terminal, keys)
        self.until(text)

    def end(self):
        """Waits for the end. Return: the exit status, or the signal as a negative number."""
        end = time.monotonic() + LIMIT_S
        while self.read():
            if time.monotonic() > end:
                sys.exit(f"it does not end:\n{self.screen()}")
        _, status = os.waitpid(self.pid, 0)
        _, left, after = self.written.rpartition(LEAVE)
        if not left or SHOW_CURSOR not in after:
            sys.exit(f"the terminal is not given back: {self.written[-200:]!r}")
        self.after = after.decode()
        return os.waitstatus_to_exitcode(status)


def same(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: {found!r}, and not {wanted!r}")


top = Top(session, "--interval", "300ms")
top.until("1 processes  2 threads")
same(bool(termios.tcgetattr(top.terminal)[3] & termios.ICANON), False, "lines are gathered")
top.until("honest[")
top.press(b"4", "slowest in")
top.press(b"\t", "longest in")
top.press(b"2", "evil\\u{1b}[2J[")
top.press(b"3", "job:run_begin")
top.press(b"s", "by share")
top.press(b"/", "/_")
top.press(b"run_end", "/run_end_")
same("run_begin" in top.screen(), False, "a row that the filter leaves out is shown")
top.press(b"\r", "by share  with run_end")
top.press(b"\x1b", "job:run_begin")
top.press(b"?", "pause the session")
top.press(b"x", "job:run_begin")
top.resize(5, 20)
top.until("terminal is too")
top.resize(30, 110)
top.until("job:run_begin")
top.press(b"\x1b[H", "job:run_begin")
top.press(b"d", "asked 1 process: sites and probes")
top.press(b"e", "record also: _")
top.press(b"job:run_*", "record also: job:run_*_")
top.press(b"\r", "asked 1 process: sites and probes")
top.press(b"p", f"{session}  paused")
top.press(b"p", f"{session}  recording")
os.write(top.terminal, b"q")
same(top.end(), 0, "the status after q")
same(top.odd, set(), "sequences that are no drawing")

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    top = Top(session)
    top.until("1 processes")
    os.kill(top.pid, number)
    same(top.end(), -number, "the status after a signal")

top = Top(session, "--interval", "300ms")
top.until("1 processes")
os.write(top.terminal, b"\x03")
same(top.end(), 0, "the status after Ctrl-C")

# The terminal is closed, as when its window or a connection is.
top = Top(session, "--interval", "300ms")
top.until("1 processes")
os.close(top.terminal)
limit = time.monotonic() + LIMIT_S
while os.waitpid(top.pid, os.WNOHANG) == (0, 0):
    if time.monotonic() > limit:
        os.kill(top.pid, signal.SIGKILL)
        sys.exit("it goes on though its terminal was closed")
    time.sleep(0.05)

# A second session, which ends while it is shown.
other = session + "-other"
subprocess.run(["lull", "start", "-q", "--name", other, "-o", "other"], check=True)
top = Top(other, "--interval", "300ms")
top.until("1 processes")
stopped = subprocess.run(["lull", "stop", other], stderr=subprocess.DEVNULL)
same(stopped.returncode, 1, "the status of a session that nobody joined")
same(top.end(), 0, "the status after the session's end")
same("has ended" in top.after, True, f"the last line says that it ended: {top.after!r}")
