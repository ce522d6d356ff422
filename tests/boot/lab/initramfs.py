# SPDX-License-Identifier: MIT
"""The guest's root: an archive of what each guest has, busybox and an init script, and one of what
this guest is given: modules, programs and files.

A guest that boots gets both as its initramfs. One that goes on from a saved state (saved.py) has
the first already, and unpacks the second from its shared folder.
Archives are written in the `newc` form and not compressed, which a guest without KVM unpacks
soonest; equal contents make equal bytes, since exact counts depend on them. A program brings the
shared libraries that it links, found by ldd.
"""

from __future__ import annotations

import base64
import lzma
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from . import debian
from .kernels import Kernel
from .places import BOOT, CACHE, MODULES, LabError, stripped

FOLDERS = ("proc", "sys", "dev", "run", "tmp", "share", "modules", "mnt", "var")
INIT = BOOT / "lab" / "init"
SHARE_MODULES = ("virtio_pci", "9pnet_virtio", "9p")
GIVEN = ".lull-given"  # the archive in the share of a guest that goes on from a saved state
SYMLINK_MODE = stat.S_IFLNK | 0o777
FOLDER_MODE = stat.S_IFDIR | 0o755
MAGIC = b"070701"


class Initramfs:
    """Files by their place in the guest."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, bytes | Path]] = {}

    def bytes(self, place: str, data: bytes, mode: int = 0o644) -> None:
        self._put(place, stat.S_IFREG | mode, data)

    def lines(self, place: str, lines: Sequence[str]) -> None:
        self.bytes(place, "".join(f"{line}\n" for line in lines).encode())

    def link(self, place: str, target: str) -> None:
        self._put(place, SYMLINK_MODE, target.encode())

    def folder(self, place: str) -> None:
        self._put(place, FOLDER_MODE, b"")

    def file(self, place: str, source: Path) -> None:
        """A file, or everything below a folder; with the libraries that programs link."""
        if source.is_dir():
            for below in sorted(source.iterdir()):
                if below.is_symlink() and "/" not in os.readlink(below):
                    self.link(f"{place}/{below.name}", os.readlink(below))
                elif below.is_symlink() and below.is_dir():
                    raise LabError(f"{below} is a link to a folder; give the folder itself")
                else:
                    self.file(f"{place}/{below.name}", below)
            return
        if not source.is_file():
            raise LabError(f"{source} is no file: build it before a guest gets it")
        executable = os.access(source, os.X_OK)
        self._put(place, stat.S_IFREG | (0o755 if executable else 0o644), source)
        if executable or ".so" in source.name:
            for library in libraries(source):
                self._put(str(library), stat.S_IFREG | 0o755, library)

    def module(self, place: str, source: Path) -> None:
        """A kernel module, decompressed as insmod wants it."""
        data = source.read_bytes()
        self.bytes(place, lzma.decompress(data) if source.suffix == ".xz" else data)

    def own_module(self, source: Path) -> str:
        """A module of the kernel's own. Return: its place, for insmod."""
        place = f"/lib/modules/{source.name.removesuffix('.xz')}"
        self.module(place, source)
        return place

    def _put(self, place: str, mode: int, content: bytes | Path) -> None:
        path = PurePosixPath(place.lstrip("/"))
        for parent in reversed(path.parents[:-1]):
            self._entries.setdefault(str(parent), (FOLDER_MODE, b""))
        self._entries.setdefault(str(path), (mode, content))

    def archive(self) -> bytes:
        # In the order of the names, a folder comes before what is in it.
        members = []
        for number, (name, (mode, content)) in enumerate(sorted(self._entries.items()), 1):
            data = content.read_bytes() if isinstance(content, Path) else content
            members.append(_member(number, name, mode, data))
        return b"".join([*members, _member(0, "TRAILER!!!", 0, b"")])


def _member(number: int, name: str, mode: int, data: bytes) -> bytes:
    """One file of a newc archive: 13 numbers, the name and the bytes, padded to words."""
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    head = MAGIC + b"".join(b"%08X" % field for field in fields) + encoded
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def libraries(program: Path) -> list[Path]:
    """The shared libraries that a program of this machine links, its loader included."""
    with open(program, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    done = subprocess.run(
        ["ldd", program], capture_output=True, text=True, timeout=60, check=False
    )
    if "not found" in done.stdout:
        raise LabError(f"{program} links libraries that this machine lacks:\n{done.stdout}")
    # A static program, or one of another architecture, has none; ldd says so by its status.
    found = re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", done.stdout, re.MULTILINE)
    return [Path(path) for path in found]


def _busybox(architecture: str) -> Path:
    """Static busybox: the machine's, or one unpacked for another architecture."""
    if architecture == debian.native_architecture():
        found = Path(shutil.which("busybox") or "/bin/busybox")
    else:
        folder = CACHE / f"busybox-{architecture}"
        found = debian.unpack([("busybox-static", architecture)], folder) / "bin" / "busybox"
    if not found.exists():
        raise LabError(f"{found} is missing; 'mk/deps boot' installs busybox-static")
    return found


@dataclass(frozen=True)
class Contents:
    """What a guest gets, beside busybox: modules, files by their place, and what it shall do."""

    modules: Sequence[Path] = ()
    kernel_modules: Sequence[str] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    loaded: bool = False  # are the modules loaded at start, or left to commands?
    commands: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    greeting: str = ""


def command_line(number: int, command: str) -> bytes:
    """A command as the guest's init reads it."""
    return b"%d %s\n" % (number, base64.b64encode(command.encode()))


def base(kernel: Kernel, channel: str, shared: bool) -> bytes:
    """What each guest of a machine has: busybox, init, and the modules by which it gets a share."""
    root = Initramfs()
    for folder in FOLDERS:
        root.folder(folder)
    root.file("/init", INIT)
    tool = _busybox(kernel.architecture)
    root.file("/bin/busybox", tool)
    # Applets are the same for each architecture of one release, and only the machine's can be run.
    native = _busybox(debian.native_architecture())
    told = subprocess.run([native, "--list"], capture_output=True, text=True, check=True)
    for applet in told.stdout.split():
        if applet != "busybox":
            root.link(f"/bin/{applet}", "busybox")
    loads = [root.own_module(module) for module in _share_modules(kernel, shared)]
    root.lines("/lab/share_modules", loads)
    share = "yes" if shared else "no"
    root.lines("/lab/machine", [f"channel={channel}", f"share={share}", f"given=/share/{GIVEN}"])
    root.lines("/etc/passwd", ["root:x:0:0:root:/:/bin/sh"])
    root.lines("/etc/group", ["root:x:0:"])
    return root.archive()


def given(kernel: Kernel, contents: Contents, shared: bool) -> bytes:
    """What one guest is given, beside what each has."""
    root = Initramfs()
    present = _share_modules(kernel, shared) if contents.kernel_modules else []
    needed = [each for each in kernel.modules(contents.kernel_modules) if each not in present]
    loads = [root.own_module(module) for module in needed]
    for module in contents.modules:
        is_own = module.is_relative_to(MODULES)
        root.module(f"/modules/{module.name}", stripped(module) if is_own else module)
        loads += [f"/modules/{module.name}"] if contents.loaded else []
    for place, source in sorted(contents.files.items()):
        root.file(place, source)
    root.lines("/lab/settings", [f"{key}={value}" for key, value in contents.settings.items()])
    root.lines("/lab/load", loads)
    root.bytes("/lab/greeting", contents.greeting.encode())
    lines = [command_line(number, line) for number, line in enumerate(contents.commands, 1)]
    root.bytes("/lab/commands", b"".join(lines))
    return root.archive()


def _share_modules(kernel: Kernel, shared: bool) -> list[Path]:
    return kernel.modules(SHARE_MODULES if shared else ())
