# SPDX-License-Identifier: MIT
"""The lab itself: guests boot, do what they are told, end; and what fails in them is reported."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from hashlib import sha256
from pathlib import Path

from lab import BOOT, LIMIT_S, MODULES, Guest, LabError, kernel, run_exactly
from lab.modules import module_of
from lab.qemu import Monitor, kvm_usable

BOOT_LIMIT_S = 180
# A guest of QEMU 7.2 with a thread for each CPU hung after 17 to 122.
PATCHES = 200


def _refused(what: str, guest: Guest, *commands: str, limit_s: float = 60) -> str:
    """Run commands in a guest whose test has to fail, with this in the failure's message."""
    try:
        with guest:
            for command in commands:
                guest.check(command, limit_s)
    except LabError as error:
        told = str(error)
        assert not _emulators(guest.work), "the guest still runs after the failure"
        assert re.search(what, told), f"the failure does not say {what}:\n{told}"
        return told
    raise AssertionError(f"nothing failed; expected a failure that says {what}")


def _emulators(work: Path) -> list[int]:
    """The processes whose command lines name a guest's folder: its QEMU, if that still runs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(work).encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def guest_boots_runs_commands_and_powers_off() -> None:
    _answers_and_ends("-initrd", append="loglevel=5")


def guest_goes_on_from_a_saved_state_runs_commands_and_powers_off() -> None:
    _answers_and_ends("-initrd" if kvm_usable() else "-incoming")


def _answers_and_ends(begun_by: str, **machine: object) -> None:
    """A guest of which QEMU's command line has the option by which it begins."""
    with Guest(files={"/usr/bin/bash": Path("/bin/bash")}, **machine) as guest:
        assert guest.process is not None and begun_by in guest.process.process.args
        assert guest.check("uname -r").strip() == guest.kernel.release
        result = guest.run("echo out; echo err >&2; exit 7")
        assert (result.status, result.output) == (7, "out\nerr\n")
        assert guest.check("printf 'a\\0\\377b\\r\\n' | wc -c").strip() == "6"
        assert guest.check("bash -c 'echo ${BASH_VERSION%%.*}'").strip().isdigit()
        assert guest.check("grep -c ^processor /proc/cpuinfo").strip() == "2"
        guest.check("head -c 300000 /dev/urandom > /share/bytes")
        summed = guest.check("sha256sum < /share/bytes").split()[0]
        assert sha256((guest.share / "bytes").read_bytes()).hexdigest() == summed
        (guest.share / "back").write_text("from the host", encoding="ascii")
        assert guest.check("cat /share/back") == "from the host"
        process = guest.process
    assert process is not None and process.process.returncode == 0


def command_that_fails_fails_the_test_with_its_output() -> None:
    told = _refused(r"ended with status 3: .*exit 3", Guest(), "echo planted reason; exit 3")
    assert "planted reason" in told


def complaint_of_the_kernel_fails_the_test_unless_it_is_named() -> None:
    plant = "echo '<4>WARNING: planted complaint' > /dev/kmsg"
    _refused(r"complained, 1 lines, first: .*planted complaint", Guest(), plant)
    with Guest(allowed=["planted complaint"]) as guest:
        guest.check(plant)
        assert "planted complaint" in guest.dmesg()


def command_that_never_ends_is_ended_with_its_guest() -> None:
    guest = Guest()
    told = _refused(
        r"no answer within 3 s while it ran: while", guest, "while :; do :; done", limit_s=3
    )
    assert re.search(r"QEMU had used [1-9]\d* s of CPU; the host's load was \d", told), told
    assert re.search(r"the guest's CPUs, looked at every 0.2 s, were at: [0-9a-f]+", told), told
    assert not guest.work.exists()


def guest_that_never_boots_is_ended() -> None:
    # Its virtual CPUs never begin to run.
    _refused(r"no answer within 3 s while it booted", Guest(devices=["-S"], boot_limit_s=3))


def guest_ends_with_a_test_that_is_killed() -> None:
    code = "from lab import Guest; guest = Guest().start(); print(guest.work, flush=True); input()"
    test = subprocess.Popen(
        [sys.executable, "-B", "-c", code], cwd=BOOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert test.stdout is not None
    work = Path(test.stdout.readline().decode().strip())
    try:
        [emulator] = _emulators(work)
        ended = os.pidfd_open(emulator)
        test.kill()
        test.wait()
        assert select.select([ended], [], [], BOOT_LIMIT_S)[0], "QEMU outlives its test"
    finally:
        test.kill()
        for left in _emulators(work):
            os.kill(left, signal.SIGKILL)
        shutil.rmtree(work)


def crash_of_the_kernel_is_told_with_its_console() -> None:
    crash = "echo c > /proc/sysrq-trigger"
    told = _refused(r"the guest ended while it ran: echo c", Guest(), crash)
    assert "Kernel panic - not syncing: sysrq triggered crash" in told


def monitor_that_ends_before_it_reads_is_told_as_ended() -> None:
    own, emulators = socket.socketpair()
    with own:
        own.sendall(b"a question\n")
        emulators.close()  # with what it never read, so that the kernel resets the connection
        try:
            Monitor(own).line(time.monotonic() + BOOT_LIMIT_S)
        except LabError as error:
            assert "QEMU ended" in str(error), error
            return
    raise AssertionError("a monitor that had ended answered")


def module_that_cannot_be_found_is_told_before_the_boot() -> None:
    _refused("no_such_module", Guest(kernel_modules=["no_such_module"]))


def crashed_guest_leaves_its_memory_in_a_file() -> None:
    plant = "lull-planted-" + "in-memory"
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as folder:
        memory = Path(folder) / "memory"
        with Guest(memory_file=memory, memory_mib=512, allowed=["Kernel panic"]) as guest:
            guest.check("printf '%s-%s' lull-planted in-memory > /run/planted")
            guest.end("echo c > /proc/sysrq-trigger")
        assert memory.stat().st_size == 512 << 20
        with open(memory, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as found:
            assert found.find(plant.encode()) >= 0, "the memory file lacks what the guest stored"


def interrupts_that_no_one_masks_arrive_on_each_cpu() -> None:
    wanted, sent = 300, 0
    with Guest(append="apic_extnmi=all loglevel=0") as guest:
        before = _nmis(guest)
        assert len(before) == 2
        arrived = [0, 0]
        # Of those that come while a CPU handles one, all but the first are lost.
        while min(arrived) < wanted and sent < 20 * wanted:
            guest.nmi(wanted)
            sent += wanted
            arrived = [now - then for now, then in zip(_nmis(guest), before)]
    assert min(arrived) >= wanted and max(arrived) <= sent, f"of {sent} NMIs arrived {arrived}"


def _nmis(guest: Guest) -> list[int]:
    return [int(word) for word in guest.check("grep NMI: /proc/interrupts").split()[1:3]]


def cpu_leaves_and_comes_back() -> None:
    with Guest() as guest:
        online = "/sys/devices/system/cpu/cpu1/online"
        assert guest.check(f"echo 0 > {online}; cat /sys/devices/system/cpu/online") == "0\n"
        assert guest.check(f"echo 1 > {online}; cat /sys/devices/system/cpu/online") == "0-1\n"


def code_that_is_patched_under_other_cpus_runs_on() -> None:
    rounds = "/sys/module/patching/parameters/rounds"
    with module_of(BOOT / "patching", kernel("6.1")) as module, Guest(modules=[module]) as guest:
        guest.check("insmod /modules/patching.ko")
        guest.check(f"until test $(cat {rounds}) -ge {PATCHES}; do sleep 1; done", LIMIT_S)
        guest.check("rmmod patching")


def boots_with_counted_instructions_are_equal() -> None:
    counted = "grep -E 'LOC|RES|CAL' /proc/interrupts; cat /proc/uptime /proc/schedstat"
    first, second = (run_exactly([counted, "exit 5"]) for _ in range(2))
    assert first == second, f"two boots of the same differ:\n{first}\n{second}"
    assert [each.status for each in first] == [0, 5]


def shell_of_make_guest_has_modules_and_ends_with_it() -> None:
    module = MODULES / "lull_selftest.ko"
    shell = subprocess.Popen(
        [BOOT / "guest", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    limit = threading.Timer(BOOT_LIMIT_S, shell.kill)  # its guest ends with it
    limit.start()
    try:
        assert shell.stdin is not None and shell.stdout is not None
        told = b""
        while b"/share # " not in told and (part := shell.stdout.read1()):
            told += part
        shell.stdin.write(b"cut -d ' ' -f 1 /proc/modules; exit\n")
        shell.stdin.flush()
        told += shell.stdout.read()
    finally:
        limit.cancel()
    assert shell.wait() == 0 and b"\nlull_selftest\r" in told, told.decode(errors="replace")
