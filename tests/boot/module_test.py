# SPDX-License-Identifier: MIT
"""lull.ko: loaded and unloaded; its sessions; recorders that are hostile, or die."""

from __future__ import annotations

import os
import re

from lab import COMMAND_LIMIT_S, LIMIT_S, MODULES, Guest

MODULE = MODULES / "lull.ko"
LOADS = int(os.environ.get("LOADS", "8"))
# What an unsigned module of our own always does.
LOAD = "insmod /modules/lull.ko"


def _passes(guest: Guest, program: str, limit_s: float = COMMAND_LIMIT_S) -> None:
    """A test program of kernel/test passes."""
    result = guest.run(f"cd /run && {program}", limit_s)
    print(result.output, end="")
    assert result.status == 0, f"{program}: status {result.status}\n{result.output}"


def sessions_of_the_kernel_record_what_recorders_plan() -> None:
    program = MODULES / "device_test"
    with Guest(modules=[MODULE], files={"/bin/device_test": program}) as guest:
        guest.check(LOAD)
        assert guest.check("stat -c '%a %U' /dev/lull") == "660 root\n"
        _passes(guest, "device_test")
        guest.check("rmmod lull && test ! -e /dev/lull")


def filters_of_sessions_decide_in_the_probe() -> None:
    with Guest(modules=[MODULE], files={"/bin/filter_test": MODULES / "filter_test"}) as guest:
        guest.check(LOAD)
        _passes(guest, "filter_test")
        guest.check("rmmod lull")


def session_that_runs_changes_which_events_it_records() -> None:
    with Guest(modules=[MODULE], files={"/bin/rules_test": MODULES / "rules_test"}) as guest:
        guest.check(LOAD)
        _passes(guest, "rules_test")
        guest.check("rmmod lull")


def filters_read_what_is_known_of_the_running_thread() -> None:
    program = MODULES / "filter_context_test"
    with Guest(modules=[MODULE], files={"/bin/filter_context_test": program}) as guest:
        guest.check(f"{LOAD} && mkdir /run/cgroups && mount -t cgroup2 none /run/cgroups")
        _passes(guest, "filter_context_test /run/cgroups")
        guest.check("rmmod lull")


def hostile_recorders_harm_only_themselves() -> None:
    program = MODULES / "hostile_test"
    with Guest(modules=[MODULE], files={"/bin/hostile_test": program}) as guest:
        guest.check(LOAD)
        _passes(guest, "hostile_test", 480)
        guest.check("rmmod lull")


def module_stays_while_a_recorder_has_the_device() -> None:
    with Guest(modules=[MODULE]) as guest:
        guest.check(LOAD)
        guest.check(
            "sleep 60 < /dev/lull & sleeper=$!; sleep 1;"
            " if rmmod lull; then false; else kill $sleeper; wait $sleeper; rmmod lull; fi"
        )


def module_loads_and_unloads_while_threads_switch() -> None:
    with Guest(modules=[MODULE], files={"/bin/device_test": MODULES / "device_test"}) as guest:
        guest.check(
            "while :; do (:); done & first=$!; while :; do (:); done & second=$!;"
            f"for load in $(seq {LOADS}); do"
            f"  {LOAD} && device_test switches_follow_each_other_in_discard_mode > /run/log &&"
            "   rmmod lull || { cat /run/log; exit 1; };"
            "done; kill $first $second",
            LIMIT_S,
        )
        assert len(re.findall("lull: clock", guest.dmesg())) == LOADS


def rings_of_sessions_are_read_by_their_descriptors() -> None:
    program = MODULES / "ring_file_test"
    with Guest(modules=[MODULE], files={"/bin/ring_file_test": program}) as guest:
        guest.check(LOAD)
        _passes(guest, "ring_file_test")
        guest.check("rmmod lull")
