# SPDX-License-Identifier: MIT
"""The kernels that guests run: Debian's packages, fetched once, with image, modules and headers.

`6.1` is the kernel that the machine's headers are for, since modules are built against them; the
others follow from it, or from Debian's backports.
"""

from __future__ import annotations

import gzip
import lzma
import os
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import debian
from .places import CACHE, LabError

NAMES = ("6.1", "6.1-rt", "6.12", "6.1-arm64")
SOURCES = Path("/usr/src")
SETUP_SECTORS = 0x1F1  # of the boot protocol's header: how long the real-mode part is
PAYLOAD = 0x248  # where the compressed kernel is, and how long


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel: its release, its architecture, and the folder of its package."""

    name: str
    release: str
    architecture: str
    folder: Path

    @property
    def image(self) -> Path:
        """What QEMU boots fastest: on x86 the extracted vmlinux, which enters by PVH."""
        vmlinux = self.folder / "vmlinux"
        return vmlinux if vmlinux.exists() else self.folder / "boot" / f"vmlinuz-{self.release}"

    def modules(self, names: Sequence[str]) -> list[Path]:
        """Modules of the kernel's own, each after those that it needs."""
        found: dict[Path, None] = {}
        for name in names:
            told = _tool(
                ["modprobe", "-d", self.folder, "-S", self.release, "--show-depends", name]
            )
            for line in told.splitlines():
                kind, _, rest = line.partition(" ")
                if kind == "insmod":
                    found.setdefault(Path(rest.split()[0]))
        return list(found)


def _tool(command: Sequence[str | Path]) -> str:
    words = [str(word) for word in command]
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    tool = shutil.which(words[0], path=path)
    if tool is None:
        raise LabError(f"{words[0]} is missing; 'mk/deps boot' installs what the lab needs")
    done = subprocess.run(
        [tool, *words[1:]], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        raise LabError(f"'{' '.join(words)}' failed: {done.stderr.strip()}")
    return done.stdout


def installed_release() -> str:
    """The release that the machine's headers are for; the last one, as in mk/module.mk."""
    pattern = f"linux-headers-*-{debian.native_architecture()}"
    found = sorted(path.name for path in SOURCES.glob(pattern) if "-rt-" not in path.name)
    if not found:
        raise LabError(
            f"{SOURCES} has no {pattern}: 'mk/deps test' installs the kernel's headers"
        )
    return found[-1].removeprefix("linux-headers-")


def _extract(image: Path, vmlinux: Path) -> None:
    """The kernel inside a bzImage, so that no guest has to decompress it."""
    data = image.read_bytes()
    begin = (data[SETUP_SECTORS] + 1) * 512 + struct.unpack_from("<I", data, PAYLOAD)[0]
    payload = data[begin : begin + struct.unpack_from("<I", data, PAYLOAD + 4)[0]]
    if payload.startswith(b"\xfd7zXZ"):
        vmlinux.write_bytes(lzma.LZMADecompressor().decompress(payload))
    elif payload.startswith(b"\x1f\x8b"):
        vmlinux.write_bytes(gzip.decompress(payload))
    # Another form is booted as it is, seconds slower.


def _resolve(name: str) -> tuple[str, str]:
    """A kernel's name to its exact release and architecture."""
    native = debian.native_architecture()
    if name == "6.12":
        marker = CACHE / "6.12.release"
        if not marker.exists():
            with debian.locked("6.12"):
                apt = debian.Apt(native)
                newest = apt.version(f"linux-image-{native}", debian.BACKPORTS)
                [package] = apt.depends(f"linux-image-{native}={newest}", "linux-image-6[.]12[.].*")
                marker.write_text(package.removeprefix("linux-image-"), encoding="ascii")
        return marker.read_text(encoding="ascii"), native
    release = installed_release()
    if name == "6.1":
        return release, native
    base = release.removesuffix(f"-{native}")
    if name == "6.1-rt":
        return f"{base}-rt-{native}", native
    if name == "6.1-arm64":
        return f"{base}-arm64", "arm64"
    raise LabError(f"no kernel is named {name}; there are {', '.join(NAMES)}")


def kernel(name: str) -> Kernel:
    """A kernel by its name, fetched if the cache lacks it."""
    release, architecture = _resolve(name)
    folder = CACHE / f"linux-{release}"
    found = Kernel(name, release, architecture, folder)
    debian.unpack([(f"linux-image-{release}", architecture)], folder)
    with debian.locked(folder.name):
        if not (folder / "lib" / "modules").exists():
            (folder / "lib").mkdir(exist_ok=True)
            (folder / "lib" / "modules").symlink_to("../usr/lib/modules")
        if not (folder / "lib" / "modules" / release / "modules.dep.bin").exists():
            if architecture == "amd64":
                _extract(folder / "boot" / f"vmlinuz-{release}", folder / "vmlinux")
            _tool(["depmod", "-b", folder, release])
    return found


def headers(found: Kernel) -> Path:
    """The folder that modules for this kernel are built against: the machine's, or unpacked."""
    own = SOURCES / f"linux-headers-{found.release}"
    if own.exists():
        return own
    native = debian.native_architecture()
    folder = CACHE / f"headers-{found.release}"
    package = f"linux-headers-{found.release}"
    unpacked = folder / "usr" / "src" / package
    if not folder.exists():
        apt = debian.Apt(found.architecture)
        [shared] = apt.depends(package, "linux-headers-.*")
        [kbuild] = apt.depends(package, "linux-kbuild-.*")  # runs on this machine
        debian.unpack(
            [(package, found.architecture), (shared, found.architecture), (kbuild, native)],
            folder,
        )
    makefile = unpacked / "Makefile"
    text = makefile.read_text(encoding="utf-8")
    moved = text.replace(f"include {SOURCES}", f"include {folder / 'usr' / 'src'}")
    if moved != text:
        makefile.write_text(moved, encoding="utf-8")
    return unpacked
