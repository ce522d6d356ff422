# SPDX-License-Identifier: MIT
"""lttng-modules for a guest: built for the guest's kernel from the sources that bench/fetch_peers
unpacked, with the probe of lttng_probe_kfree.c; and lttng-tools, the machine's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from harness.places import BENCH, BUILD
from harness.programs import ProgramError, run

OWN = BENCH / "kernel_instructions" / "module"
UNPACKED = BUILD / "peers" / "lttng-modules" / "usr" / "src"
PROBE = ("lttng_probe_kfree.c", "lttng_probe_kfree.h")
PROGRAMS = ("lttng", "lttng-sessiond")
CONSUMERS = "*/lttng/libexec/lttng-consumerd"
SCHEMA = Path("/usr/share/xml/lttng/session.xsd")  # without it the daemon does not start
BUILD_LIMIT_S = 1200


def _source() -> Path | None:
    return next(iter(sorted(UNPACKED.glob("lttng-modules-*"))), None)


def _consumer() -> Path | None:
    return next(iter(Path("/usr/lib").glob(CONSUMERS)), None)


def missing() -> str | None:
    """Why lttng-modules cannot be measured, or None."""
    if _source() is None:
        return "bench/fetch_peers did not unpack lttng-modules"
    if _consumer() is None or not all(map(shutil.which, PROGRAMS)):
        return "lttng-tools is not installed"
    return None


def version() -> str:
    source = _source()
    return source.name.removeprefix("lttng-modules-") if source else "-"


def _build(source: Path, headers: Path) -> None:
    """Its modules and ours, which are built as if they were one of its own."""
    probes = source / "src" / "probes"
    for name in PROBE:
        shutil.copy2(OWN / name, probes / name)
    kbuild = probes / "Kbuild"
    name = f"{Path(PROBE[0]).stem}.o"
    lines = f"obj-$(CONFIG_LTTNG) += {name}\nCFLAGS_{name} := -I$(src)\n"
    text = kbuild.read_text(encoding="utf-8")
    if lines not in text:
        kbuild.write_text(text + lines, encoding="utf-8")
    jobs = f"-j{os.cpu_count()}"
    run(["make", jobs, "-C", str(source), f"KERNELDIR={headers}"], BUILD_LIMIT_S)


def tree(headers: Path, release: str) -> Path:
    """The folder /lib/modules/RELEASE of a guest, with lttng-modules and nothing else."""
    source = _source()
    assert source is not None
    _build(source, headers)
    root = BUILD / "kernel_instructions" / "root"
    shutil.rmtree(root, ignore_errors=True)
    folder = root / "lib" / "modules" / release
    folder.mkdir(parents=True)
    for module in source.rglob("*.ko"):
        run(["strip", "--strip-debug", "-o", str(folder / module.name), str(module)])
    (folder / "modules.order").touch()
    (folder / "modules.builtin").touch()
    depmod = shutil.which("depmod", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if depmod is None:
        raise ProgramError("depmod is missing (Debian: kmod)")
    done = subprocess.run(
        [depmod, "-b", str(root), release], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ProgramError(f"depmod: {done.stderr.strip()}")
    return folder


def files(headers: Path, release: str) -> dict[str, Path]:
    """What a guest needs to record with lttng-modules, by its place there."""
    consumer = _consumer()
    assert consumer is not None
    found = {f"/lib/modules/{release}": tree(headers, release)}
    found.update({str(each): each for each in (consumer, SCHEMA)})
    for name in PROGRAMS:
        found[f"/usr/bin/{name}"] = Path(str(shutil.which(name)))
    return found
