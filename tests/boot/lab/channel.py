# SPDX-License-Identifier: MIT
"""The channel to a guest's init: commands go in, each is answered by its status and its output.

The other side, and the form of the lines, are in `init`. What a guest sends is believed only as
far as its form goes: a number of bytes, a status.
"""

from __future__ import annotations

import re
import socket
import time
from dataclasses import dataclass

from .initramfs import command_line
from .places import LabError

WAITS = re.compile(rb"lab waits\r?\n")
GOES_ON = re.compile(rb"lab goes on\r?\n")
READY = re.compile(rb"lab ready (\d{1,4})\r?\n")
ANSWER = re.compile(rb"lab result (\d{1,9}) (\d{1,3}) (\d{1,9})\r?\n")


@dataclass(frozen=True)
class Result:
    """What a command of the guest's ended with: its exit status, its output and errors."""

    status: int
    output: str


def _answer(received: bytes) -> tuple[int, Result, bytes] | None:
    """The first answer in what was received, if it is complete, and what comes after it."""
    head = ANSWER.search(received)
    if head is None:
        return None
    number, status, size = (int(field) for field in head.groups())
    if len(received) < head.end() + size:
        return None
    output = received[head.end() : head.end() + size].decode(errors="replace")
    return number, Result(status, output), received[head.end() + size :]


def parse_answers(received: bytes) -> list[Result]:
    """All answers of a guest that has ended, in their order."""
    results: list[Result] = []
    answer = _answer(received)
    while answer is not None:
        number, result, received = answer
        if number != len(results) + 1:
            break
        results.append(result)
        answer = _answer(received)
    return results


class Channel:
    """The host's end of a guest's serial port."""

    def __init__(self, own: socket.socket) -> None:
        self.socket = own
        self.received = b""
        self.number = 0

    def _more(self, until_s: float, limit_s: float) -> None:
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            raise LabError(f"the guest gave no answer within {limit_s:g} s")
        self.socket.settimeout(left_s)
        try:
            part = self.socket.recv(1 << 20)
        except TimeoutError as error:
            raise LabError(f"the guest gave no answer within {limit_s:g} s") from error
        except ConnectionError:
            part = b""
        if not part:
            raise LabError("the guest ended")
        self.received += part

    def _line(self, line: re.Pattern[bytes], limit_s: float) -> re.Match[bytes]:
        until_s = time.monotonic() + limit_s
        while (found := line.search(self.received)) is None:
            self._more(until_s, limit_s)
        self.received = self.received[found.end() :]
        return found

    def waits(self, limit_s: float) -> None:
        """Wait until a guest that has no settings waits to be saved."""
        self._line(WAITS, limit_s)

    def go_on(self, limit_s: float) -> None:
        """Let a guest go on from where it was saved, with the host's time."""
        self._send(b"%d\n" % time.time())
        self._line(GOES_ON, limit_s)

    def ready(self, limit_s: float) -> int:
        """Wait for the guest's init. Return: how many modules and mounts failed there."""
        return int(self._line(READY, limit_s).group(1))

    def _send(self, line: bytes) -> None:
        try:
            self.socket.sendall(line)
        except OSError as error:
            raise LabError("the guest ended") from error

    def send(self, command: str) -> int:
        self.number += 1
        self._send(command_line(self.number, command))
        return self.number

    def run(self, command: str, limit_s: float) -> Result:
        number = self.send(command)
        until_s = time.monotonic() + limit_s
        while (answer := _answer(self.received)) is None:
            self._more(until_s, limit_s)
        answered, result, self.received = answer
        if answered != number:
            raise LabError(f"the guest answered command {answered} in the place of {number}")
        return result
