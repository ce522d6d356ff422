# SPDX-License-Identifier: MIT
"""Facts about the machine and the software, written beside every result."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

from .places import BUILD, ROOT


def _first_line(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return "not installed"
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=20, check=False, cwd=ROOT
    )
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0].strip() if lines and done.returncode == 0 else "unknown"


def field(path: str, name: str) -> str:
    """The value of a line `NAME: VALUE` of a file."""
    for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def _contents(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return "none"


def _newer_liburcu() -> str:
    found = next((BUILD / "peers" / "unpacked").rglob("liburcu.pc"), None)
    return field(str(found), "Version") if found else "not unpacked"


def revision() -> str:
    """The commit, with + when the working tree differs from it."""
    commit = _first_line(["git", "rev-parse", "--short=12", "HEAD"])
    if commit == "unknown":
        return "no commit yet"
    changed = _first_line(["git", "status", "--porcelain"])
    return commit + ("+" if changed not in ("unknown", "not installed") else "")


def facts() -> dict[str, str]:
    """Everything a reader needs to judge whether two runs compare."""
    glibc = os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    return {
        "cpu": field("/proc/cpuinfo", "model name"),
        "cpu_family_model": f'{field("/proc/cpuinfo", "cpu family")}/'
        f'{field("/proc/cpuinfo", "model")}',
        "cpus": str(os.cpu_count()),
        "memory": field("/proc/meminfo", "MemTotal"),
        "hypervisor": "yes" if "hypervisor" in field("/proc/cpuinfo", "flags") else "no",
        "governor": _contents("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "clocksource": _contents(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "kernel": platform.release(),
        "system": _field_os("PRETTY_NAME"),
        "glibc": glibc,
        "gcc": _first_line(["gcc", "--version"]),
        "lttng_tools": _first_line(["lttng", "--version"]),
        "lttng_ust": _first_line(["pkg-config", "--modversion", "lttng-ust"]),
        "liburcu": _first_line(["pkg-config", "--modversion", "liburcu"]),
        "liburcu_newer": _newer_liburcu(),
        "trace_cmd": _first_line(["dpkg-query", "-f", "${Version}", "-W", "trace-cmd"]),
        "perf": _first_line(["perf", "--version"]),
        "babeltrace2": _first_line(["babeltrace2", "--version"]),
        "load_average": _contents("/proc/loadavg"),
        "revision": revision(),
    }


def _field_os(name: str) -> str:
    for line in _contents("/etc/os-release").splitlines():
        key, _, value = line.partition("=")
        if key == name:
            return value.strip('"')
    return "unknown"
