# SPDX-License-Identifier: MIT
"""`lull record -k --context`: what is recorded of the running thread with each event is true."""

from __future__ import annotations

from pathlib import Path

from lab import MODULES, Guest, loaded, read_events

PROGRAMS = ("bash", "dd", "nice")
SPACES = ("pid", "net", "mnt", "uts", "ipc", "cgroup", "user")
NUMBERS = ",".join(
    ["pid", "tid", "comm", "prio", "cpu", "uid", "gid", "cgroup", *(f"{n}_ns" for n in SPACES)]
)
PAGE = 4096
CGROUP = "/sys/fs/cgroup/lull"


def sessions_record_the_context_that_they_ask_for() -> None:
    with Guest(
        modules=[MODULES / "lull.ko"], files={"/bin/context_test": MODULES / "context_test"}
    ) as guest:
        guest.check("insmod /modules/lull.ko")
        result = guest.run("context_test")
        print(result.output, end="")
        assert result.status == 0, result.output
        guest.check("rmmod lull")


def context_of_each_event_is_that_of_its_thread() -> None:
    with loaded(PROGRAMS) as guest:
        guest.check(f"mount -t cgroup2 none /sys/fs/cgroup && mkdir {CGROUP}")
        work = f"echo $$ > {CGROUP}/cgroup.procs; nice -n 5 dd bs=1 count=9 if=/dev/zero of=/run/o"
        told = guest.check(
            f"lull record -k --context {NUMBERS} -e 'syscalls:*' -e 'sched:*' -o /share/trace"
            f" -- bash -c '{work} 2> /run/told'",
            240,
        )
        assert "complete: no event is missing" in told.lower(), told
        cgroup = int(guest.check(f"stat -c %i {CGROUP}"))
        spaces = {
            f"{name}_ns": int(guest.check(f"readlink /proc/self/ns/{name}").split("[")[1][:-2])
            for name in SPACES
        }
        events = list(read_events(guest.share / "trace"))
    kernels = [event for event in events if event["name"].startswith(("syscalls:", "sched:"))]
    for event in kernels:
        context, thread = event["context"], event["thread"]
        assert list(context) == _order(), context
        of_context = (context["pid"], context["tid"], context["comm"], context["cpu"])
        assert of_context == (thread["pid"], thread["tid"], thread["name"], event["cpu"]), event
    assert not [e for e in events if e["name"].startswith("lull:") and "context" in e]
    programs = [event for event in events if event["name"].startswith(("process:", "io:"))]
    assert programs
    for event in programs:
        context, thread = event["context"], event["thread"]
        assert list(context) == [name for name in _order() if name != "gid"], context
        of_context = (context["pid"], context["tid"], context["comm"])
        assert of_context == (thread["pid"], thread["tid"], thread["name"]), event
    writes = [
        event["context"]
        for event in kernels
        if event["name"] == "syscalls:sys_enter_write" and event["thread"]["name"] == "dd"
    ]
    assert len(writes) >= 9, writes
    expected = {"prio": 125, "uid": 0, "gid": 0, "cgroup": cgroup, **spaces}
    for found in writes:
        assert expected.items() <= found.items(), (found, expected)


def stacks_are_recorded_with_each_event_and_name_the_kernels_functions() -> None:
    with loaded(PROGRAMS) as guest:
        told = guest.check(
            "lull record -k --context prio,kernel_stack:6,user_stack -e 'syscalls:*' -e 'sched:*'"
            " -o /share/trace -- bash -c 'for i in 1 2 3; do (:); done'",
            240,
        )
        assert "complete: no event is missing" in told.lower(), told
        symbols = guest.check("grep -w do_syscall_64 /proc/kallsyms").split()
        everything = guest.check("cat /proc/kallsyms", 240).splitlines()
        listed = guest.check("lull print -n 200 /share/trace")
        events = _of_kernel(guest.share / "trace")
    assert " do_syscall_64+0x" in listed, listed[:2000]
    _check_names(events, everything)
    calls = [event["fields"] for event in events if event["name"].startswith("syscalls:sys_enter")]
    begin = int(symbols[0], 16)
    for fields in calls:
        near = [0 <= frame - begin < PAGE for frame in fields["kernel_stack"]]
        assert any(near) and len(near) <= 6, (fields, begin)
        assert fields["user_stack"], fields
    threads = {event["thread"]["tid"] for event in events if event["fields"]["user_stack"]}
    assert 0 not in threads and len(threads) > 3, threads


def counters_of_the_kernel_are_recorded_before_stacks_and_never_go_back() -> None:
    with loaded(PROGRAMS) as guest:
        told = guest.check(
            "lull record -k --context pid,perf:page-faults,perf:context-switches,kernel_stack:2"
            " -e 'syscalls:*' -e 'sched:*' -o /share/trace"
            " -- bash -c 'for i in 1 2 3; do (:); done'",
            240,
        )
        assert "complete: no event is missing" in told.lower(), told
        events = _of_kernel(guest.share / "trace")
    last: dict[int, tuple[int, int]] = {}
    for event in events:
        context = event["context"]
        assert list(context) == ["pid", "perf_page_faults", "perf_context_switches"], context
        assert event["fields"]["kernel_stack"], event
        found = (context["perf_page_faults"], context["perf_context_switches"])
        before = last.get(event["cpu"], (0, 0))
        assert before[0] <= found[0] and before[1] <= found[1], (before, event)
        last[event["cpu"]] = found
    assert sum(faults for faults, _ in last.values()) > 100, last


def _of_kernel(trace: Path) -> list[dict]:
    """Events of the kernel that have a context; those of programs have others."""
    with_context = (event for event in read_events(trace) if "context" in event)
    return [event for event in with_context if event["name"].startswith(("syscalls:", "sched:"))]


def _check_names(events: list[dict], symbols: list[str]) -> None:
    """Each address of a kernel's stack is in the function that its name says, behind its begin."""
    begins: dict[str, set[int]] = {}
    for line in symbols:
        address, _, name, *module = line.split()
        name = f"{module[0][1:-1]}:{name}" if module else name
        begins.setdefault(name, set()).add(int(address, 16))
    named = unnamed = 0
    for event in events:
        addresses = event["fields"]["kernel_stack"]
        places = event["symbols"]["kernel_stack"]
        assert len(addresses) == len(places), event
        for address, place in zip(addresses, places, strict=True):
            if place is None:
                unnamed += 1
                continue
            name, offset = place.rsplit("+", 1)
            behind = int(offset, 16)
            assert behind > 0 and address - behind in begins[name], (place, address)
            named += 1
    assert named > 100 and unnamed == 0, (named, unnamed)


def kernel_that_hides_its_addresses_is_told_and_stacks_have_none() -> None:
    with loaded(PROGRAMS) as guest:
        guest.check("echo 2 > /proc/sys/kernel/kptr_restrict")
        told = guest.check(
            "lull record -k --context kernel_stack:4 -e 'syscalls:*' -o /share/trace"
            " -- bash -c true",
            240,
        )
        assert "/proc/kallsyms shows this user no addresses (kernel.kptr_restrict)" in told, told
        listed = guest.check("lull print -n 50 /share/trace")
        assert "kernel_stack=[0xffffffff" in listed, listed[:2000]
        assert not (guest.share / "trace" / ".symbols").exists()


def _order() -> list[str]:
    """Contexts lie in the order of their numbers, gid last."""
    names = [name for name in NUMBERS.split(",") if name != "gid"]
    return [*names, "gid"]


def contexts_that_there_are_not_are_refused_by_name() -> None:
    with loaded(PROGRAMS) as guest:
        result = guest.run("lull record -k --context pid,nid --duration 1s")
        assert result.status == 125 and "nid" in result.output, result.output
        assert "there are pid, tid" in result.output, result.output
        result = guest.run("lull record -k --context perf:cycles,perf:page-faults --duration 1s")
        assert result.status == 125 and "has not all of the counters" in result.output, result
        result = guest.run("lull record --context kernel_stack -- true")
        assert result.status == 125 and "with the kernel's events only" in result.output, result
        result = guest.run("lull record -k --kernel-of program --context pid -- true")
        assert result.status == 125 and "--context needs the module" in result.output, result
