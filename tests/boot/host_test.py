# SPDX-License-Identifier: MIT
"""What the lab does on the host: the runner's lines, the reading of logs, what is told when
something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import BOOT
from lab.log import KINDS, complaints

# One line for each kind, in their order, which no other kind finds.
COMPLAINTS = """\
BUG: sleeping function called from invalid context at kernel/planted.c:1
kernel BUG at lib/planted.c:1!
BUG kmalloc-cg-192 (Tainted: G           OE     ): Poison overwritten
pagealloc: memory corruption
WARNING: CPU: 0 PID: 1 at kernel/planted.c:1 planted+0x10/0x20
Oops - undefined instruction
int3: 0000 [#1] PREEMPT SMP NOPTI
INFO: lockdep is turned off.
KASAN: null-ptr-deref in range [0x0000000000000008-0x000000000000000f]
UBSAN: array-index-out-of-bounds in kernel/planted.c:1:1
general protection fault, probably for non-canonical address 0xdead
Kernel panic - not syncing: planted
Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008
INFO: task planted:1 blocked for more than 120 seconds.
INFO: trying to register non-static key.
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
rcu: INFO: rcu_preempt self-detected stall on CPU
Internal error: synchronous external abort: 96000010 [#1] SMP
kmemleak: 2 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
"""
FINE = """\
Linux version 6.1.0 (debian-kernel@lists.debian.org)
lull_selftest: loading out-of-tree module taints kernel.
rcu: Hierarchical RCU implementation.
DEBUG: all is well
reboot: Power down
"""
PLANTED = """\
from lab import Skip

def one_that_passes():
    pass

def one_that_skips():
    raise Skip("no disk")

def one_that_fails():
    assert 1 == 2, "one is not two"

def two_words():
    raise AssertionError("not a test")
"""


def each_kind_of_complaint_is_found() -> None:
    lines = COMPLAINTS.splitlines()
    for line in lines:
        assert complaints(f"[    1.0] {line}"), f"nobody complains of: {line}"
    assert complaints(COMPLAINTS + FINE) == lines
    for kind, line in zip(KINDS, lines, strict=True):
        assert complaints(COMPLAINTS, [kind]) == [each for each in lines if each != line]


@contextmanager
def _planted_tests() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as folder:
        boot = Path(folder) / "tests" / "boot"
        boot.mkdir(parents=True)
        (boot / "lab").symlink_to(BOOT / "lab")
        (boot / "run").write_bytes((BOOT / "run").read_bytes())
        (boot / "planted_test.py").write_text(PLANTED, encoding="utf-8")
        yield boot / "run"


def _lines(*command: str | Path, **environment: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-B", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
        cwd=BOOT,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout.splitlines()


def runner_tells_tests_that_pass_skip_and_fail() -> None:
    with _planted_tests() as run:
        status, lines = _lines(run)
        assert status == 1
        assert lines[:3] == [
            "ok   one_that_passes",
            "skip one_that_skips: no disk",
            "FAIL one_that_fails (status 1): AssertionError: one is not two",
        ], lines
        assert "     AssertionError: one is not two" in lines
        assert lines[-1] == "1 passed, 1 failed, 1 skipped"
        assert _lines(run, "one_that_passes") == (
            0,
            ["ok   one_that_passes", "1 passed, 0 failed, 0 skipped"],
        )


def runner_refuses_names_that_no_test_has() -> None:
    with _planted_tests() as run:
        status, lines = _lines(run, "one_that_is_gone")
        assert status == 1
        assert lines == [
            "FAIL one_that_is_gone: no test has this name",
            "0 passed, 1 failed, 0 skipped",
        ]


def runner_tells_what_the_lab_has_to_say_once() -> None:
    with _planted_tests() as run:
        told = "print('lab: planted')\n    print('other')"
        tests = "".join(f"def one_that_tells{n}():\n    {told}\n" for n in range(2))
        (run.parent / "planted_test.py").write_text(tests, encoding="utf-8")
        status, lines = _lines(run)
        assert (status, sorted(lines)) == (
            0,
            [
                "2 passed, 0 failed, 0 skipped",
                "lab: planted",
                "ok   one_that_tells0",
                "ok   one_that_tells1",
            ],
        ), lines


def _told(code: str, **environment: str) -> str:
    """What the lab tells where it cannot work."""
    status, lines = _lines("-c", f"import lab\ntry:\n {code}\nexcept lab.LabError as e: print(e)",
                           **environment)
    assert status == 0, lines
    return "\n".join(lines)


def missing_network_is_told_with_what_to_do() -> None:
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as cache:
        told = _told(
            "lab.kernel('6.1')",
            LULL_BOOT_CACHE=cache,
            http_proxy="http://127.0.0.1:1",
            https_proxy="http://127.0.0.1:1",
        )
        assert "needs the network once" in told and cache in told, told
        assert not list(Path(cache).glob("*linux-*/")), "half a kernel stays in the cache"


def missing_programs_are_told_with_what_to_do() -> None:
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as folder:
        for tool in ("dpkg", "ldd"):
            (Path(folder) / tool).symlink_to(f"/usr/bin/{tool}")
        told = _told("lab.qemu.installed('amd64')", PATH=folder)
        assert "qemu-system-x86_64 is missing; 'mk/deps boot' installs it" in told, told


def guests_run_in_the_machines_qemu_where_a_recent_one_cannot_be_had() -> None:
    # Of this class a machine has what follows from the QEMU that interprets it.
    code = (
        "found = lab.qemu.interpreter('amd64');"
        " made = lab.qemu.Machine(lab.Kernel('6.1', '', 'amd64', lab.ROOT), lab.ROOT);"
        " print(found.program, found.version, *made.command(found, '', ''))"
    )
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as folder:
        program = Path(folder) / "qemu-system-x86_64"
        program.write_text("#!/bin/sh\necho QEMU emulator version 7.2.22\n", encoding="ascii")
        program.chmod(0o755)
        away = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "LULL_BOOT_CACHE": f"{folder}/cache",
            "LULL_BOOT_KVM": "no",
            "http_proxy": "http://127.0.0.1:1",
            "https_proxy": "http://127.0.0.1:1",
        }
        told = _told(code, **away)
        assert f"{program} 7 " in told and "tcg,thread=single" in told, told
        assert "lab: guests run in the machine's QEMU 7, one CPU at a time, because" in told, told
        told = _told(code, **away, LULL_BOOT_QEMU="installed")
        assert "tcg,thread=single" in told and "lab: " not in told, told
        program.write_text("#!/bin/sh\necho QEMU emulator version 10.0.2\n", encoding="ascii")
        told = _told(code, **away)
        assert f"{program} 10 " in told and "tcg,thread=multi" in told, told
