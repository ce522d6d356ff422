# SPDX-License-Identifier: MIT
"""A guest: a kernel of Debian's in QEMU, with what it is given, that runs commands for the host.

    with Guest(modules=[MODULES / "lull.ko"], files={"/bin/load": program}) as guest:
        guest.check("insmod /modules/lull.ko")
        guest.nmi(100)
        status = guest.run("load > /share/out").status
    (the folder guest.share is /share in the guest)

When the block ends, the guest is shut down, and its kernel's log is read: a line that complains
(`BUG:`, `WARNING:`, an oops, a stall, what a sanitizer found) fails the test unless a pattern in
`allowed` names it. A failure carries the end of the guest's console. No wait is without a limit,
and every limit ends QEMU.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from .channel import Channel, Result, parse_answers
from .initramfs import GIVEN, Contents, base, given
from .kernels import Kernel, kernel
from .log import GuestError, Log, tail
from .places import LabError, Skip
from .qemu import PLACES_BETWEEN_S, Emulator, Machine, Monitor, Process, launch
from .saved import state_of, tell

BOOT_LIMIT_S = 300
RESTORE_LIMIT_S = 60
COMMAND_LIMIT_S = 300
SHUTDOWN_LIMIT_S = 60
EXACT_LIMIT_S = 300
LAST_LOOK_LIMIT_S = 10  # at the log of a guest whose test has failed


class Guest:
    """A kernel that runs. Modules are in /modules, files where their keys say."""

    def __init__(
        self,
        kernel_name: str = "6.1",
        *,
        modules: Sequence[Path] = (),
        kernel_modules: Sequence[str] = (),
        files: Mapping[str, Path] | None = None,
        share: Path | bool = True,
        allowed: Sequence[str] = (),
        unread: str = "",
        boot_limit_s: float = BOOT_LIMIT_S,
        **machine: object,
    ) -> None:
        """Make a guest, which start() begins, by a boot or from a saved state.

        modules: files of modules, for insmod by commands.
        kernel_modules: names of the kernel's own, loaded at start with what they need.
        files: programs, with the libraries that they link, files and folders.
        share: a folder that is /share in the guest; True makes one for the time of the guest.
        allowed: patterns of complaints in the kernel's log that do not fail the guest.
        unread: an extended regular expression for lines of the kernel's log that stay in the guest,
        where a test causes so many that to hand them over would take minutes.
        machine: smp, memory_mib, append (to the kernel's command line), memory_file (holds the
        guest's memory, also after its end), devices (QEMU's options).
        """
        self.kernel: Kernel = kernel(kernel_name)
        self.allowed = allowed
        self.log_command = f"dmesg | awk '!/{unread}/'" if unread else "dmesg"
        self.boot_limit_s = boot_limit_s
        self.work = Path(tempfile.mkdtemp(prefix="lull-boot-"))
        self.share = share if isinstance(share, Path) else self.work / "share"
        self.share.mkdir(exist_ok=True)
        self.machine = Machine(
            kernel=self.kernel,
            initramfs=self.work / "initramfs",
            share=self.share if share else None,
            **machine,
        )
        self.contents = Contents(
            modules=modules,
            kernel_modules=kernel_modules,
            files=files or {},
            settings={"mode": "agent"},
        )
        self.log = Log(self.work / "console")
        self.process: Process | None = None
        self.channel: Channel | None = None
        self.monitor: Monitor | None = None

    def start(self) -> Guest:
        emulator = self.machine.emulator()
        shared = self.machine.share is not None
        each = base(self.kernel, self.machine.channel_device, shared)
        own = given(self.kernel, self.contents, shared)
        state = state_of(self.machine, emulator, each)
        if state is None or not self._goes_on(emulator, state, own):
            self.machine.initramfs.write_bytes(each + own)
            self._launch(emulator)
        assert self.channel is not None
        try:
            failures = self.channel.ready(self.boot_limit_s)
        except LabError as error:
            raise self._failed(f"{error} while it booted") from error
        finally:
            (self.share / GIVEN).unlink(missing_ok=True)
        if failures:
            raise self._failed(f"{failures} modules or mounts failed in the guest at its start")
        return self

    def _launch(self, emulator: Emulator, state: Path | None = None) -> None:
        self.process, self.monitor, channel = launch(
            self.machine, emulator, self.log.console_file, state
        )
        self.channel = Channel(channel)

    def _goes_on(self, emulator: Emulator, state: Path, own: bytes) -> bool:
        """Go on from a saved state. Return: whether it could be restored; if not, it is removed."""
        (self.share / GIVEN).write_bytes(own)
        self._launch(emulator, state)
        assert self.monitor is not None and self.channel is not None
        try:
            status = self.monitor.status("query-status", ("inmigrate",), RESTORE_LIMIT_S)
            if status != "paused":
                raise LabError(f"QEMU says that the guest is {status}")
            self.monitor.ask("cont")
            self.channel.go_on(RESTORE_LIMIT_S)
        except LabError as error:
            said = self._close() or str(error)
            state.unlink(missing_ok=True)
            tell(f"a guest boots, because {state} cannot be restored: {said.splitlines()[-1]}")
            return False
        return True

    def run(self, command: str, limit_s: float = COMMAND_LIMIT_S) -> Result:
        """Run a command of the guest's shell to its end, whatever its status is."""
        if self.channel is None:
            raise LabError("the guest was asked before it was started, or after its end")
        try:
            return self.channel.run(command, limit_s)
        except LabError as error:
            raise self._failed(f"{error} while it ran: {command}{self._busy()}") from error

    def check(self, command: str, limit_s: float = COMMAND_LIMIT_S) -> str:
        """Run a command that has to succeed, and return what it printed."""
        result = self.run(command, limit_s)
        if result.status != 0:
            raise self._failed(
                f"the guest's command ended with status {result.status}: {command}\n"
                f"{tail(result.output)}",
                answers=True,
            )
        return result.output

    def dmesg(self) -> str:
        """The kernel's log until now."""
        return self.check(self.log_command)

    def ask_monitor(self, command: str, **arguments: object) -> object:
        """A command of QEMU's machine protocol; an answer, or a LabError."""
        if self.monitor is None:
            raise LabError("the guest has no monitor before its start and after its end")
        return self.monitor.ask(command, **arguments)

    def nmi(self, count: int = 1) -> None:
        """Non-maskable interrupts, as many as asked for; while one is pending, others merge."""
        for _ in range(count):
            self.ask_monitor("inject-nmi")

    def end(self, command: str, limit_s: float = SHUTDOWN_LIMIT_S) -> None:
        """Run a command that ends the guest, such as a planted panic; then it has ended."""
        assert self.channel is not None
        self.channel.send(command)
        self._wait_for_end(limit_s)
        self.log.check(self.allowed)

    def _wait_for_end(self, limit_s: float) -> None:
        assert self.process is not None
        status = self.process.wait(limit_s)
        if status is None:
            raise self._failed(f"the guest did not end within {limit_s:.0f} s")
        if status != 0:
            raise self._failed(f"QEMU ended with status {status}")
        self._close()

    def shut_down(self) -> None:
        """Power the guest off, and look through its kernel's log."""
        if self.process is None:
            return
        self.log.dmesg = self.dmesg()
        self.end("poweroff -f")

    def _failed(self, why: str, answers: bool = False) -> GuestError:
        """A failure with all that a reader needs; the guest is ended."""
        return GuestError(self._told(f"{self.kernel.release}: {why}", answers))

    def _busy(self) -> str:
        """Whether a guest that does not answer hangs, or is slow because its host is busy."""
        if self.process is None or self.monitor is None or self.process.wait(0) is not None:
            return ""
        load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
        told = f"\n  QEMU had used {self.process.used_s():.0f} s of CPU; the host's load was {load}"
        with contextlib.suppress(LabError):
            told += f"\n  the guest's CPUs, looked at every {PLACES_BETWEEN_S} s, were at: "
            told += self.monitor.places()
        return told

    def _told(self, why: str, answers: bool) -> str:
        if answers and self.channel:
            with contextlib.suppress(LabError):
                self.log.dmesg = self.channel.run(self.log_command, LAST_LOOK_LIMIT_S).output
        messages = self._close()
        return self.log.tell(why, messages, self.allowed)

    def _close(self) -> str:
        process, self.process = self.process, None
        messages = ""
        if process:
            process.end()
            messages = process.messages()
        for each in (self.channel, self.monitor):
            if each:
                each.socket.close()
        self.channel = self.monitor = None
        return messages

    def __enter__(self) -> Guest:
        try:
            return self.start()
        except BaseException:
            self._remove()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.shut_down()
            elif self.process is not None and not isinstance(error, Skip):
                error.add_note(self._told("The guest then:", answers=True))
        finally:
            self._remove()

    def _remove(self) -> None:
        self._close()
        self.log.save()
        shutil.rmtree(self.work, ignore_errors=True)


def run_exactly(
    commands: Sequence[str],
    *,
    modules: Sequence[Path] = (),
    kernel_modules: Sequence[str] = (),
    files: Mapping[str, Path] | None = None,
    allowed: Sequence[str] = (),
    limit_s: float = EXACT_LIMIT_S,
    **machine: object,
) -> list[Result]:
    """Run commands in a guest whose time is the count of its instructions.

    The guest's cycle counter counts retired instructions, so equal boots give equal counts, with
    several CPUs too. The commands are part of the guest, and it has no share: what reaches a
    guest from outside comes at another instruction each time.
    """
    work = Path(tempfile.mkdtemp(prefix="lull-boot-"))
    log = Log(work / "console")
    process = None
    try:
        made = Machine(kernel("6.1"), work / "initramfs", exact=True, **machine)
        contents = Contents(
            modules=modules,
            kernel_modules=kernel_modules,
            files=files or {},
            commands=[*commands, "dmesg"],
            settings={"mode": "script"},
        )
        each = base(made.kernel, made.channel_device, shared=False)
        made.initramfs.write_bytes(each + given(made.kernel, contents, shared=False))
        emulator = made.emulator()
        answers = work / "answers"
        words = made.command(emulator, f"file,path={log.console_file}", f"file,path={answers}")
        process = Process(words, emulator.environment(), [])
        status = process.wait(limit_s)
        process.end()
        results = parse_answers(answers.read_bytes() if answers.exists() else b"")
        if status != 0 or len(results) != len(contents.commands):
            why = f"status {status}" if status is not None else f"not done within {limit_s:.0f} s"
            raise GuestError(
                log.tell(
                    f"QEMU, counting instructions: {why};"
                    f" {len(results)} of {len(contents.commands)} commands ended",
                    process.messages(),
                    allowed,
                )
            )
        log.dmesg = results.pop().output
        log.check(allowed)
        return results
    finally:
        if process:
            process.end()
        log.save()
        shutil.rmtree(work, ignore_errors=True)


def interact(
    kernel_name: str,
    *,
    modules: Sequence[Path],
    kernel_modules: Sequence[str] = (),
    files: Mapping[str, Path],
    share: Path,
    greeting: str,
    **machine: object,
) -> int:
    """A guest whose shell is on this terminal, with the modules loaded. Return: QEMU's status."""
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as work:
        made = Machine(kernel(kernel_name), Path(work) / "initramfs", share=share, **machine)
        columns, rows = shutil.get_terminal_size()
        contents = Contents(
            modules=modules,
            kernel_modules=kernel_modules,
            files=files,
            loaded=True,
            settings={
                "mode": "shell",
                "rows": str(rows) if os.isatty(0) else "",
                "columns": str(columns),
            },
            greeting=greeting,
        )
        each = base(made.kernel, channel="", shared=True)
        made.initramfs.write_bytes(each + given(made.kernel, contents, shared=True))
        emulator = made.emulator()
        words = made.command(emulator, "stdio,mux=on,signal=off", "")
        words += ["-mon", "chardev=console,mode=readline"]
        return subprocess.call(
            ["setpriv", "--pdeathsig", "KILL", *words], env=emulator.environment()
        )
