# SPDX-License-Identifier: MIT
"""bench/run: every bench in turn, each in a process and within a time of its own, then the
report. A bench that fails is named, the others still run, and the exit status tells."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import machine, report
from .bench import default_output
from .places import BENCH

# Name and the longest time in seconds: whole, quick. Expected times are far below.
BENCHES: dict[str, tuple[int, int]] = {
    "event_enabled": (60, 30),
    "site_disabled": (60, 30),
    "threads": (120, 60),
    "contexts": (240, 120),
    "nested_signal": (120, 40),
    "event_bytes": (60, 30),
    "start_up": (150, 60),
    "filters": (120, 60),
    "triggers": (120, 60),
    "counts": (120, 60),
    "live_changes": (300, 80),
    "budget": (300, 120),
    "worst_case": (90, 30),
    "sustained": (280, 60),
    "programs": (240, 60),
    "kernel_instructions": (900, 600),
    "kernel_programs": (150, 60),
    "reading": (900, 150),
    "reading_sizes": (600, 60),
    "history": (280, 40),
    "questions": (600, 240),
    "view": (600, 120),
    "rcu_read_cost": (90, 60),
    "rcu_scaling": (90, 30),
    "rcu_section_length": (90, 30),
    "rcu_batch": (90, 30),
    "rcu_update": (120, 40),
    "rcu_grace": (60, 30),
    "rcu_call": (240, 40),
    "rcu_hash": (240, 30),
    "qdo_latency": (90, 40),
    "qdo_period": (60, 30),
    "qdo_submission": (60, 30),
    "qdo_overhead": (60, 30),
    "qdo_distribution": (90, 40),
    "qdo_server": (150, 30),
}
BUDGET_S = (3900, 720)  # for all of them together: whole, quick
GRACE_S = 20


def _run_one(name: str, output: Path, quick: bool, left_s: float) -> str | None:
    """Run one bench; the reason when it failed."""
    limit_s = min(BENCHES[name][quick], int(left_s))
    if limit_s <= 0:
        return "not begun: the time for all tables is used up"
    command = [sys.executable, str(BENCH / name / "run"), "--output", str(output)]
    process = subprocess.Popen(command + (["--quick"] if quick else []), start_new_session=True)
    try:
        status = process.wait(limit_s)
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as reason:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if isinstance(reason, KeyboardInterrupt):
            raise
        return f"not done within {limit_s} s"
    return None if status == 0 else f"ended with status {status}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench/run",
        description="Measure Lull beside its peers and write bench/runs/<date>-<host>.",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter traces")
    parser.add_argument("--output", type=Path, default=default_output(), help="results folder")
    parser.add_argument("--report", action="store_true", help="only write report.md again")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(BENCHES))
    arguments = parser.parse_args()
    unknown = [name for name in arguments.tables if name not in BENCHES]
    if unknown:
        parser.error(f"no table {', '.join(unknown)}; there are: {', '.join(BENCHES)}")
    output = arguments.output.resolve()
    failures = {}
    if not arguments.report:
        output.mkdir(parents=True, exist_ok=True)
        facts = json.dumps(machine.facts(), indent=1)
        (output / "machine.json").write_text(facts + "\n", encoding="utf-8")
        until = time.monotonic() + BUDGET_S[arguments.quick]
        for name in arguments.tables or BENCHES:
            begin = time.monotonic()
            print(f"{name:<18} ", end="", flush=True)
            failure = _run_one(name, output, arguments.quick, until - begin)
            print(f"{failure or 'done'} ({time.monotonic() - begin:.0f} s)", flush=True)
            if failure:
                failures[name] = failure
    try:
        path = report.write(output, list(BENCHES))
    except (OSError, ValueError) as error:
        sys.exit(f"bench/run: no report: {error}")
    print(f"results: {path}")
    sys.exit(1 if failures else 0)
