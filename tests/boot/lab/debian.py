# SPDX-License-Identifier: MIT
"""Packages of Debian's, unpacked into the cache and not installed.

apt gets lists and settings of its own, so that the machine's are left as they are, and need name
neither backports nor other architectures. The mirrors are the machine's. Packages are asked for by
exact names; what is there already is not asked for again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from .places import CACHE, LabError

SUITE = "bookworm"
BACKPORTS = f"{SUITE}-backports"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"
SECURITY_MIRROR = "http://deb.debian.org/debian-security"
LIMIT_S = 900


def native_architecture() -> str:
    return _output(["dpkg", "--print-architecture"]).strip()


def _output(command: Sequence[str], environment: dict[str, str] | None = None) -> str:
    """What a command prints; a LabError with the end of its messages if it fails."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
    except FileNotFoundError as error:
        raise LabError(
            f"{command[0]} is missing; the lab needs Debian's apt and dpkg"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"'{' '.join(command)}' was not done within {LIMIT_S} s") from error
    if done.returncode != 0:
        told = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise LabError(f"'{' '.join(command)}' failed:\n{told}")
    return done.stdout


def _mirrors() -> tuple[str, str]:
    """The machine's mirrors of Debian and of its security updates, or Debian's own."""
    with contextlib.suppress(LabError):
        form = "$(REPO_URI) $(SUITE) $(LABEL)"
        told = _output(["apt-get", "indextargets", "--format", form, "Origin: Debian"])
        found = {}
        for line in told.splitlines():
            uri, _, label = line.split(" ", 2)
            found.setdefault(label, uri)
        return found.get("Debian", MIRROR), found.get("Debian-Security", SECURITY_MIRROR)
    return MIRROR, SECURITY_MIRROR


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """One process at a time fetches a thing; the others find it in the cache afterwards."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Apt:
    """An apt for one architecture, with lists of its own in the cache."""

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture
        self.folder = CACHE / f"apt-{architecture}"
        self.environment = {"APT_CONFIG": str(self.folder / "conf")}

    def _configure(self) -> None:
        for below in ("lists/partial", "archives/partial"):
            (self.folder / below).mkdir(parents=True, exist_ok=True)
        main, security = _mirrors()
        signed = f"deb [signed-by={KEYS}]"
        (self.folder / "sources.list").write_text(
            f"{signed} {main} {SUITE} main\n"
            f"{signed} {main} {BACKPORTS} main\n"
            f"{signed} {security} {SUITE}-security main\n",
            encoding="utf-8",
        )
        (self.folder / "status").touch()
        settings = {
            "Dir::Etc::SourceList": self.folder / "sources.list",
            "Dir::Etc::SourceParts": "-",
            "Dir::Etc::Preferences": "-",
            "Dir::Etc::PreferencesParts": "-",
            "Dir::State::Lists": self.folder / "lists",
            "Dir::State::Status": self.folder / "status",
            "Dir::Cache": self.folder,
            "APT::Architecture": self.architecture,
            "APT::Update::Error-Mode": "any",
            "Acquire::Languages": "none",
        }
        lines = [f'{key} "{value}";' for key, value in settings.items()]
        lines.append(f'APT::Architectures {{ "{self.architecture}"; }};')
        if os.geteuid() == 0:
            lines.append('APT::Sandbox::User "root";')
        (self.folder / "conf").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def update(self) -> None:
        self._configure()
        try:
            _output(["apt-get", "update"], self.environment)
        except LabError as error:
            raise LabError(
                f"{error}\nThe lists of Debian's packages cannot be fetched. The lab needs the"
                f" network once, to fill {CACHE}; connect it, or copy that folder from a"
                " checkout that has it."
            ) from error
        (self.folder / "fetched").touch()

    def _ask(self, command: Sequence[str]) -> str:
        """A question to apt; asked again with newer lists where the old ones have no answer."""
        if (self.folder / "fetched").exists():
            with contextlib.suppress(LabError):
                return _output(command, self.environment)
        self.update()
        return _output(command, self.environment)

    def depends(self, package: str, pattern: str) -> list[str]:
        """Which exact names, of those that a package depends on, match a pattern."""
        told = self._ask(["apt-cache", "show", "--no-all-versions", package])
        line = re.search(r"^Depends: (.*)$", told, re.MULTILINE)
        names = [word.split()[0] for word in line.group(1).split(", ")] if line else []
        found = [name for name in names if re.fullmatch(pattern, name)]
        if not found:
            raise LabError(f"{package} ({self.architecture}) depends on nothing like {pattern}")
        return found

    def version(self, package: str, release: str) -> str:
        for line in self._ask(["apt-cache", "madison", package]).splitlines():
            _, version, source = (word.strip() for word in line.split("|"))
            if f" {release}/" in source:
                return version
        raise LabError(f"{release} has no package {package} for {self.architecture}")

    def download(self, packages: Sequence[str], into: Path) -> list[Path]:
        """Packages by exact name, NAME or NAME/RELEASE, into a folder."""
        into.mkdir(parents=True)
        self._ask(
            ["env", "-C", str(into), "apt-get", "download", "--quiet", "--quiet", *packages]
        )
        return sorted(into.glob("*.deb"))


def unpack(packages: Sequence[tuple[str, str]], into: Path) -> Path:
    """Fetch packages, each with its architecture, and unpack them below one folder, once."""
    if into.exists():
        return into
    with locked(into.name):
        if into.exists():
            return into
        partial = into.with_name(f".{into.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        names = ", ".join(f"{name} ({architecture})" for name, architecture in packages)
        print(f"  FETCH    {names}", file=sys.stderr, flush=True)
        try:
            for architecture in sorted({architecture for _, architecture in packages}):
                wanted = [name for name, other in packages if other == architecture]
                files = Apt(architecture).download(wanted, partial / architecture)
                for file in files:
                    _output(["dpkg", "-x", str(file), str(partial)])
                shutil.rmtree(partial / architecture)
        except LabError as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise LabError(
                f"{error}\n{names} cannot be fetched into {into}. The archive keeps the newest"
                " kernel only: if the machine's headers are for an older one, 'apt-get update"
                " && apt-get install linux-headers-amd64' gets newer ones."
            ) from error
        partial.rename(into)
    return into
