# SPDX-License-Identifier: MIT
"""QEMU: which one, its command line, its process and its monitor.

The channel and the monitor are socket pairs, so nothing has a name that others could take. The
process ends with its parent, however that ends, and only it is ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import debian
from .kernels import Kernel
from .places import CACHE, LabError

KVM_GET_API_VERSION, KVM_CREATE_VM, KVM_API_VERSION = 0xAE00, 0xAE01, 12
MONITOR_LIMIT_S = 60
# Where an x86 CPU and an arm64 CPU are, in what QEMU says of their registers.
PLACE = re.compile(r"\b(?:RIP|PC)=([0-9a-f]+)")
PLACES_LOOKS, PLACES_BETWEEN_S = 4, 0.2
STATUS_BETWEEN_S = 0.01
# Messages that say what a guest complains about are not hidden, and a busy host is no complaint;
# the kernel would also panic where no timer ticks while it waits for a number of instructions. What
# a boot does for security, and tries of its ciphers, is a tenth of an interpreted one.
KERNEL_LINE = (
    "panic=-1 loglevel=5 nokaslr mitigations=off tsc=reliable no_timer_check log_buf_len=4M"
    " watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=150"
    " cryptomgr.notests audit=0 lsm=capability"
)
# One virtual CPU at a time, whose clock is the count of instructions.
EXACT = ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-seed", "42"]
EXACT += ["-rtc", "base=2024-01-01,clock=vm"]
EXACT_KERNEL_LINE = "lpj=4000000"
# With a thread for each CPU, QEMU 7.2 may go on running an instruction that another CPU has
# replaced.
RECENT_VERSION = 10
# By the guest's architecture: the program and Debian's package.
PROGRAMS = {
    "amd64": ("qemu-system-x86_64", "qemu-system-x86"),
    "arm64": ("qemu-system-aarch64", "qemu-system-arm"),
}
PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64"}


def kvm_usable() -> bool:
    """Can this process make a virtual machine that runs on the CPU itself?

    LULL_BOOT_KVM=no says that it should not. A KVM on an x86 CPU without extensions for virtual
    machines interprets instructions, and lacks some that Linux needs.
    """
    if os.environ.get("LULL_BOOT_KVM") == "no":
        return False
    flags = set(re.findall(r"\w+", Path("/proc/cpuinfo").read_text(encoding="ascii")))
    if platform.machine() == "x86_64" and not flags & {"vmx", "svm"}:
        return False
    try:
        device = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if fcntl.ioctl(device, KVM_GET_API_VERSION, 0) != KVM_API_VERSION:
            return False
        os.close(fcntl.ioctl(device, KVM_CREATE_VM, 0))
        return True
    except OSError:
        return False
    finally:
        os.close(device)


@dataclass(frozen=True)
class Emulator:
    """A QEMU: its program, its version, and where its own files are if they are not installed."""

    program: Path
    version: int
    folder: Path | None = None

    def environment(self) -> dict[str, str]:
        if self.folder is None:
            return dict(os.environ)
        [modules] = self.folder.glob("usr/lib/*/qemu")
        return {**os.environ, "QEMU_MODULE_DIR": str(modules)}

    def words(self) -> list[str]:
        if self.folder is None:
            return [str(self.program)]
        share = self.folder / "usr" / "share"
        return [str(self.program), "-L", str(share / "qemu"), "-L", str(share / "seabios")]


def installed(architecture: str) -> Emulator:
    name, package = PROGRAMS[architecture]
    program = shutil.which(name)
    if program is None:
        raise LabError(
            f"{name} is missing; 'mk/deps boot' installs it (Debian's package {package})"
        )
    told = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    version = re.search(r"version (\d+)", told.stdout)
    if version is None:
        raise LabError(f"{program} --version tells no version: {told.stdout.strip()}")
    return Emulator(Path(program), int(version.group(1)))


def recent(architecture: str) -> Emulator:
    """A QEMU that counts instructions exactly with several CPUs, and whose CPUs see code that
    another CPU has changed: 10 or later, the machine's or one of Debian's backports."""
    with contextlib.suppress(LabError):
        found = installed(architecture)
        if found.version >= RECENT_VERSION:
            return found
    name, package = PROGRAMS[architecture]
    folder = CACHE / f"qemu-{RECENT_VERSION}{'' if architecture == 'amd64' else '-' + architecture}"
    packages = [package, "qemu-system-common", "qemu-system-data"]
    backports = [f"{each}/{debian.BACKPORTS}" for each in packages]
    own = debian.native_architecture()
    debian.unpack([(each, own) for each in [*backports, "seabios"]], folder)
    return Emulator(folder / "usr" / "bin" / name, RECENT_VERSION, folder)


def interpreter(architecture: str) -> Emulator:
    """The QEMU that interprets guests: a recent one, or the machine's where that cannot be had.

    LULL_BOOT_QEMU=installed says that it shall be the machine's.
    """
    if os.environ.get("LULL_BOOT_QEMU") == "installed":
        return installed(architecture)
    try:
        return recent(architecture)
    except LabError as error:
        found = installed(architecture)
        reason = str(error).splitlines()[0]
        print(
            f"lab: guests run in the machine's QEMU {found.version}, one CPU at a time, because"
            f" QEMU {RECENT_VERSION} cannot be had: {reason}",
            file=sys.stderr,
            flush=True,
        )
        return found


@dataclass(frozen=True)
class Machine:
    """What a guest's machine is made of."""

    kernel: Kernel
    initramfs: Path
    smp: int = 2
    memory_mib: int = 1024
    append: str = ""
    share: Path | None = None
    memory_file: Path | None = None
    exact: bool = False
    devices: Sequence[str] = field(default_factory=list)

    @property
    def _runs_by_kvm(self) -> bool:
        native = platform.machine() == PROCESSORS[self.kernel.architecture]
        return not self.exact and native and kvm_usable()

    @property
    def may_be_saved(self) -> bool:
        """Is it nothing but a kernel, CPUs, memory and a share, and interpreted?"""
        like = Machine(self.kernel, self.initramfs, self.smp, self.memory_mib, share=self.share)
        return self == like and self.share is not None and not self._runs_by_kvm

    def _board(self, emulator: Emulator) -> list[str]:
        arm = self.kernel.architecture == "arm64"
        board = "virt" if arm else "pc"
        memory = []
        if self.memory_file:
            board += ",memory-backend=ram0"
            memory = [
                "-object",
                f"memory-backend-file,id=ram0,size={self.memory_mib}M,"
                f"mem-path={self.memory_file},share=on",
            ]
        if self.exact:
            cpu = ["-cpu", "max", *EXACT]
        elif self._runs_by_kvm:
            cpu = ["-cpu", "host", "-accel", "kvm"]
        else:
            threads = "multi" if emulator.version >= RECENT_VERSION else "single"
            cpu = ["-cpu", "cortex-a72" if arm else "max", "-accel", f"tcg,thread={threads}"]
        return ["-M", board, *memory, *cpu, "-smp", str(self.smp), "-m", f"{self.memory_mib}M"]

    def _kernel_line(self) -> str:
        console = "ttyAMA0" if self.kernel.architecture == "arm64" else "ttyS0"
        words = [f"console={console}", KERNEL_LINE]
        if self.exact:
            words.append(EXACT_KERNEL_LINE)
        return " ".join([*words, self.append]).strip()

    @property
    def channel_device(self) -> str:
        """The guest's second serial port; arm64's board has one, and gets a 16550 as the first."""
        return "/dev/ttyS0" if self.kernel.architecture == "arm64" else "/dev/ttyS1"

    def emulator(self) -> Emulator:
        if self.exact:
            return recent(self.kernel.architecture)
        return (installed if self._runs_by_kvm else interpreter)(self.kernel.architecture)

    def command(
        self, emulator: Emulator, console: str, channel: str, state: Path | None = None
    ) -> list[str]:
        """QEMU's command line; console and channel are character devices as it names them.

        state: a file with a saved state, from which the guest goes on; without it the guest boots.
        """
        arm = self.kernel.architecture == "arm64"
        serial = "pci-serial" if arm else "isa-serial"
        words = [*emulator.words(), "-nodefaults", "-no-user-config", "-display", "none"]
        words += ["-no-reboot", *self._board(emulator)]
        words += ["-kernel", str(self.kernel.image)]
        words += ["-incoming", f"file:{state}"] if state else ["-initrd", str(self.initramfs)]
        words += ["-append", self._kernel_line()]
        words += ["-chardev", f"{console},id=console", "-serial", "chardev:console"]
        if channel:
            words += ["-chardev", f"{channel},id=channel", "-device", f"{serial},chardev=channel"]
        if self.share:
            # Only root can give files to the guest's users; else QEMU notes whose they are.
            model = "none" if os.geteuid() == 0 else "mapped-xattr"
            words += [
                "-virtfs",
                f"local,path={self.share},mount_tag=share,security_model={model},multidevs=remap",
            ]
        return [*words, *self.devices]


class Process:
    """A running QEMU that ends when this object is told to, or this process ends."""

    def __init__(
        self, words: list[str], environment: dict[str, str], sockets: Sequence[socket.socket]
    ) -> None:
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=[each.fileno() for each in sockets],
            start_new_session=True,
        )
        for each in sockets:
            each.close()

    def wait(self, limit_s: float) -> int | None:
        """The exit status, or None if it still runs."""
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None

    def used_s(self) -> float:
        """The time of the host's CPUs that it has used, all of its threads together."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(")")[-1]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def messages(self) -> str:
        """What QEMU itself had to say, once it has ended."""
        assert self.process.stderr is not None
        if self.process.poll() is None or self.process.stderr.closed:
            return ""
        with self.process.stderr as pipe:
            return pipe.read().decode(errors="replace").strip()


class Monitor:
    """QEMU's monitor, in its machine's protocol."""

    def __init__(self, own: socket.socket) -> None:
        self.socket = own
        self.received = b""
        self.ready = False

    def line(self, until_s: float) -> dict[str, object]:
        while b"\n" not in self.received:
            self.socket.settimeout(max(0.01, until_s - time.monotonic()))
            try:
                part = self.socket.recv(65536)
            except TimeoutError as error:
                raise LabError(f"QEMU's monitor said nothing for {MONITOR_LIMIT_S} s") from error
            except ConnectionResetError:  # it ended before it read the question
                part = b""
            if not part:
                raise LabError("QEMU ended while its monitor was asked")
            self.received += part
        line, _, self.received = self.received.partition(b"\n")
        return json.loads(line)

    def ask(self, command: str, **arguments: object) -> object:
        if not self.ready:
            self.ready = True
            self.line(time.monotonic() + MONITOR_LIMIT_S)  # the greeting
            self.ask("qmp_capabilities")
        question = {"execute": command, "arguments": arguments}
        try:
            self.socket.sendall(json.dumps(question).encode() + b"\n")
        except OSError as error:
            raise LabError("QEMU ended before its monitor could be asked") from error
        until_s = time.monotonic() + MONITOR_LIMIT_S
        while True:  # events come between a question and its answer
            answer = self.line(until_s)
            if "error" in answer:
                raise LabError(f"QEMU's monitor refused {command}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def status(self, command: str, passing: Sequence[str], limit_s: float) -> str:
        """The status that an answer has, asked for until it is none of those that pass."""
        until_s = time.monotonic() + limit_s
        while True:
            answer = self.ask(command)
            assert isinstance(answer, dict)
            status = str(answer.get("status"))
            if status not in passing:
                return status
            if time.monotonic() > until_s:
                raise LabError(f"QEMU's monitor answers {command} by {status} for {limit_s:g} s")
            time.sleep(STATUS_BETWEEN_S)

    def places(self) -> str:
        """Where each CPU of the guest is: addresses of instructions, looked at several times."""
        looks = []
        for _ in range(PLACES_LOOKS):
            said = str(self.ask("human-monitor-command", **{"command-line": "info registers -a"}))
            cpus = []
            for of_cpu in said.split("CPU#")[1:]:
                at = PLACE.search(of_cpu)
                is_idle = "HLT=1" in of_cpu
                cpus.append((at.group(1) if at else "?") + (" (idle)" if is_idle else ""))
            looks.append(", ".join(cpus))
            time.sleep(PLACES_BETWEEN_S)
        return "; ".join(looks)


def launch(
    machine: Machine, emulator: Emulator, console_file: Path, state: Path | None = None
) -> tuple[Process, Monitor, socket.socket]:
    """Begin a guest, by its boot or from a saved state. Return: also the end of its channel."""
    channel, others_channel = socket.socketpair()
    monitor, others_monitor = socket.socketpair()
    words = machine.command(
        emulator,
        console=f"file,path={console_file}",
        channel=f"socket,fd={others_channel.fileno()}",
        state=state,
    )
    words += ["-chardev", f"socket,id=monitor,fd={others_monitor.fileno()}"]
    words += ["-mon", "chardev=monitor,mode=control"]
    process = Process(words, emulator.environment(), [others_channel, others_monitor])
    return process, Monitor(monitor), channel
