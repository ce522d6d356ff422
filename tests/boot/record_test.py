# SPDX-License-Identifier: MIT
"""Lull's user space in a guest: programs are recorded there, and read on the host."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab import ROOT, Guest, lull_files


def program_recorded_in_a_guest_is_read_on_the_host() -> None:
    program = {"/usr/bin/bash": Path("/bin/bash")}
    with Guest(files={**lull_files(), **program}) as guest:
        told = guest.check("lull record -o /share/trace -- bash -c 'read -r line < /init'")
        assert "complete: no event is missing" in told
        report = subprocess.run(
            [ROOT / "build" / "bin" / "lull", "report", guest.share / "trace"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    assert "Complete: no event is missing" in report.stdout
    assert "/init" in report.stdout, report.stdout
