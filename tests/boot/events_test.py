# SPDX-License-Identifier: MIT
"""Events of lull.ko beside the same events of the same kernel's tracefs: names, fields, values."""

from __future__ import annotations

import re
import struct
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from lab import MODULES, ROOT, Guest

sys.path.insert(0, str(ROOT / "tests" / "module"))

from elf import ObjectFile  # noqa: E402

MODULE = MODULES / "lull.ko"
PROGRAM = MODULES / "events_test"
GROUPS = ("sched", "signal", "task", "timer", "irq", "kmem", "syscalls", "exceptions", "workqueue")
# What runs while both record: processes, files, pipes, sleeps and a signal.
WORKLOAD = (
    "for round in 1 2 3; do cat /proc/version | wc -c > /run/counted;"
    " mkdir /run/folder; mv /run/counted /run/folder/moved; rm -r /run/folder; done;"
    " sleep 0.05; (sleep 9 & kill $!; wait $!); true"
)
TRACEFS = "/sys/kernel/tracing"
WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8}
COMMON = "common_"
# Fields that lull.ko leaves out, as docs/formats/kernel-events.md says.
LEFT_OUT = {
    "kmem:kmem_cache_alloc": {"bytes_req", "bytes_alloc", "accounted"},
    "kmem:kmem_cache_free": {"name"},
    "workqueue:workqueue_queue_work": {"workqueue", "cpu"},
}
LEFT_OUT_OF_GROUPS = {"block": {"cmd"}, "io_uring": {"op_str"}}
ADDED = {"raw_syscalls:sys_enter": {"compat"}, "raw_syscalls:sys_exit": {"compat"}}
# What may change between the two probes of one event: the time, and whether a thread that has ended
# was waited for already (EXIT_ZOMBIE, EXIT_DEAD).
TIMES = {"timer:timer_start": {"now"}, "timer:timer_expire_entry": {"now"}}
ENDED = {("sched:sched_switch", "prev_state", 32): 16}


class Field(NamedTuple):
    name: str
    offset: int
    size: int
    is_signed: bool
    kind: str  # as C declares it


class Format(NamedTuple):
    event: str
    fields: list[Field]


Events = dict[tuple[int, str], list[dict[str, object]]]  # by thread and name, in their order


def _formats(text: str) -> dict[int, Format]:
    """Formats, by their numbers, from lines that grep printed: FILE:LINE."""
    parts: dict[str, str] = defaultdict(str)
    for line in text.splitlines():
        file, rest = line.split(":", 1)
        parts[file] += rest + "\n"
    found = {}
    for file, part in parts.items():
        group, name = file.split("/")[-3:-1]
        number = int(re.findall(r"^ID: (\d+)$", part, re.M)[0])
        fields = [
            Field(m[2], int(m[3]), int(m[4]), m[5] == "1", m[1])
            for m in re.finditer(
                r"\tfield:(.*?)(\w+)(?:\[\S*\])?;\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);", part
            )
        ]
        found[number] = Format(f"{group}:{name}", fields)
    return found


def _value(field: Field, data: bytes) -> object:
    at = data[field.offset : field.offset + field.size]
    if "__data_loc" in field.kind:
        (place,) = struct.unpack("<I", at)
        at = data[place & 0xFFFF : (place & 0xFFFF) + (place >> 16)]
        return at.split(b"\0")[0]
    if field.kind.startswith("char") and "*" not in field.kind and field.size > 1:
        return at.split(b"\0")[0]
    if field.size in (1, 2, 4, 8):
        return int.from_bytes(at, "little", signed=field.is_signed)
    return at


def _page_events(page: bytes) -> list[bytes]:
    """The events of one page of the kernel's ring, as Documentation/trace describes it."""
    (content,) = struct.unpack_from("<Q", page, 8)
    at, until = 16, 16 + (content & 0xFFFFF)
    found = []
    while at < until:
        (word,) = struct.unpack_from("<I", page, at)
        kind = word & 31
        at += 4
        if kind == 29:  # padding
            if not word >> 5:
                break
            at += struct.unpack_from("<I", page, at)[0]
        elif kind in (30, 31):  # time
            at += 4
        elif kind == 0:
            (size,) = struct.unpack_from("<I", page, at)
            found.append(page[at + 4 : at + size])
            at += size
        else:
            found.append(page[at : at + kind * 4])
            at += kind * 4
    return found


def _of_tracefs(folder: Path, formats: dict[int, Format]) -> Events:
    found: Events = defaultdict(list)
    for file in sorted(folder.glob("cpu*.raw")):
        pages = file.read_bytes()
        for begin in range(0, len(pages), 4096):
            for data in _page_events(pages[begin : begin + 4096]):
                number, tid = struct.unpack_from("<H2xi", data)
                form = formats[number]
                values = {
                    each.name: _value(each, data)
                    for each in form.fields
                    if not each.name.startswith(COMMON) and each.name != "__syscall_nr"
                }
                found[tid, form.event].append(values)
    return found


def _of_lull(lines: list[str]) -> Events:
    found: Events = defaultdict(list)
    for line in lines:
        tid, name, *fields = line.split(" ")
        values: dict[str, object] = {}
        for each in fields:
            field, kind, digits = each.split(":")
            data = bytes.fromhex(digits)
            width = WIDTHS.get(kind[1:]) or {"bool": 1, "enum": 4, "ptr": 8}.get(kind)
            is_signed = kind[0] == "i" or kind == "enum"
            values[field] = (
                int.from_bytes(data, "little", signed=is_signed) if width else data
            )
            values[f"{field}:bytes"] = width
        found[int(tid), name].append(values)
    return found


def _comparable(
    name: str, fields: dict[str, object], widths: dict[str, object]
) -> list[tuple[str, object]]:
    """What both recordings have of an event's fields, numbers as wide as lull.ko's."""
    found = []
    for field, value in fields.items():
        width = widths.get(f"{field}:bytes")
        if field in LEFT_OUT.get(name, ()) or field.endswith(":bytes"):
            continue
        if field in TIMES.get(name, ()):
            continue
        if name.startswith("syscalls:") and not width:
            continue  # a string, of which tracefs has only the address
        if width and isinstance(value, int):
            value &= (1 << 8 * int(str(width))) - 1
            value = ENDED.get((name, field, value), value)
        found.append((field, value))
    return found


def _differences(
    name: str, ours: list[dict[str, object]], theirs: list[dict[str, object]]
) -> list[str]:
    """An interrupt between the two probes of one event puts its own events before or after it, so
    the order of events does not count here."""
    known = set(theirs[0])
    own = sorted(
        str(_comparable(name, {k: v for k, v in each.items() if k in known}, each)) for each in ours
    )
    other = sorted(str(_comparable(name, each, ours[0])) for each in theirs)
    return [f"{a}, in tracefs {b}" for a, b in zip(own, other) if a != b]


def _record(guest: Guest) -> tuple[list[str], dict[int, Format]]:
    """Both recordings of one workload, by lull.ko and in /share by tracefs. Return: lull.ko's."""
    guest.check(f"mount -t tracefs none {TRACEFS}; insmod /modules/lull.ko")
    enabled = " ".join(f"{TRACEFS}/events/{group}/enable" for group in GROUPS)
    guest.check(
        f"cd {TRACEFS}; echo 16384 > buffer_size_kb;"
        f"for group in {' '.join(GROUPS)}; do"
        "  grep . events/$group/*/format >> /share/formats; done",
    )
    formats = _formats((guest.share / "formats").read_text())
    patterns = "$(printf '" + r"\n".join(f"{group}:*" for group in GROUPS) + "')"
    (guest.share / "workload").write_text(
        f"for file in {enabled}; do echo 1 > $file; done\n({WORKLOAD})\n"
        f"for file in {enabled}; do echo 0 > $file; done\n"
    )
    guest.check(f'events_test "{patterns}" "sh /share/workload" > /share/ours')
    # A reader of an empty buffer waits for more: it is ended when all has been read.
    guest.check(
        f"cd {TRACEFS}/per_cpu; for cpu in cpu*; do"
        "  cat $cpu/trace_pipe_raw > /share/$cpu.raw & reader=$!;"
        "  while grep -q '^entries: [1-9]' $cpu/stats; do sleep 0.1; done;"
        "  sleep 1; kill $reader; wait $reader;"
        "  grep overrun $cpu/stats >> /share/stats; done; true",
    )
    overruns = (guest.share / "stats").read_text()
    assert not re.search(r"overrun: [1-9]", overruns), overruns
    return (guest.share / "ours").read_text().splitlines(), formats


def compare_events(kernel_name: str, module: Path, program: Path) -> None:
    """Record one workload by both on a kernel; the events have to be the same."""
    with Guest(kernel_name, modules=[module], files={"/bin/events_test": program}) as guest:
        lines, formats = _record(guest)
        assert lines[-1] == "lost 0, undescribed 0", lines[-1]
        ours, theirs = _of_lull(lines[:-1]), _of_tracefs(guest.share, formats)
    forks = [
        int(str(values["child_pid"]))
        for (_, name), found in theirs.items()
        if name == "sched:sched_process_fork"
        for values in found
    ]
    # Threads that began while both recorded, and ended before either stopped.
    ended = {tid for tid, name in ours if name == "sched:sched_process_exit"}
    threads = set(forks) & ended
    names = {name for _, name in ours}
    wrong, compared = [], defaultdict(int)
    for key in sorted(set(ours) | set(theirs)):
        tid, name = key
        if tid not in threads:
            continue
        if name not in names:
            continue
        if name == "exceptions:page_fault_kernel":
            # Reading a string that is not in memory faults; lull.ko does not record its own faults.
            continue
        if len(ours[key]) != len(theirs[key]):
            wrong.append(f"{name} of {tid}: {len(ours[key])}, in tracefs {len(theirs[key])}")
            continue
        compared[name] += len(ours[key])
        if ours[key]:
            differences = _differences(name, ours[key], theirs[key])
            wrong += [f"{name} of {tid}: {each}" for each in differences]
    print(f"{sum(compared.values())} events of {len(compared)} names, {len(threads)} threads")
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:40])
    assert len(compared) > 60, f"only {len(compared)} names: {sorted(compared)}"


def events_are_those_of_the_kernels_own_tracefs() -> None:
    compare_events("6.1", MODULE, PROGRAM)


def compare_fields(kernel_name: str, module: Path) -> None:
    """Each event that lull.ko and tracefs both have on a kernel has the same fields in both."""
    with Guest(kernel_name, kernel_modules=["jbd2"]) as guest:
        guest.check(
            f"mount -t tracefs none {TRACEFS}; cd {TRACEFS};"
            " for group in $(ls events); do [ ! -d events/$group ] ||"
            "  grep -H . events/$group/*/format >> /share/formats; done",
        )
        formats = _formats((guest.share / "formats").read_text())
    theirs = {
        each.event: {field.name for field in each.fields if not field.name.startswith(COMMON)}
        for each in formats.values()
    }
    wrong, compared = [], 0
    for event in ObjectFile(module).events():
        if event.name not in theirs:
            continue
        compared += 1
        group = event.name.split(":")[0]
        own = {name for _, name in event.fields} - ADDED.get(event.name, set())
        known = theirs[event.name] - LEFT_OUT.get(event.name, set()) - {"__syscall_nr"}
        known -= LEFT_OUT_OF_GROUPS.get(group, set())
        # What an argument of a system call leads to is decoded into fields of its own.
        if known - own or (own - known and group != "syscalls"):
            wrong.append(f"{event.name}: lacks {known - own}, has more {own - known}")
    print(f"{compared} events")
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:40])
    assert compared > 700, f"only {compared} events are in both"


def fields_are_those_of_the_kernels_own_tracefs() -> None:
    compare_fields("6.1", MODULE)


def arguments_that_are_one_of_several_values_have_their_names() -> None:
    notes = MODULE.read_bytes()
    for call, field in (
        ("openat", b"enum dfd AT_FDCWD=-100\n"),
        ("execveat", b"enum fd AT_FDCWD=-100\n"),
        ("socket", b"enum protocol_ip IPPROTO_IP=0,IPPROTO_ICMP=1,"),
        ("ioctl", b"x32 cmd TCGETS=0x5401,"),
    ):
        at = notes.index(b"syscalls:sys_enter_%s\n" % call.encode())
        assert field in notes[at : notes.index(b"\0", at)], call


def arguments_of_system_calls_are_decoded_or_told_unread() -> None:
    with Guest(modules=[MODULE], files={"/bin/events_test": PROGRAM}) as guest:
        guest.check("insmod /modules/lull.ko")
        patterns = r"$(printf 'syscalls:*\nraw_syscalls:*')"
        lines = guest.check(f'events_test "{patterns}" calls').splitlines()
    assert lines[-1] == "lost 0, undescribed 0", lines[-1]
    events = _of_lull(lines[:-1])
    made = {
        name.removeprefix("syscalls:sys_enter_"): found
        for (tid, name), found in events.items()
        if (tid, "syscalls:sys_enter_getpgid") in events
    }
    opened = [(each["filename"], each["unread"]) for each in made["openat"]]
    assert opened == [
        (b"/run/a place", 0),
        (b"", 0),
        (b"(null)", 0),
        (b"(unreadable)", 2),
        (b"a" * 4096, 2),
    ], [(text[:40], unread) for text, unread in opened]
    (linked,) = made["symlinkat"]
    assert (linked["oldname"], linked["newname"], linked["unread"]) == (b"from", b"/run/to", 0)
    assert made["openat"][0]["dfd"] == -100, made["openat"][0]
    # A protocol is one of IP's only in IP's families: 6 is no IPPROTO_TCP with AF_NETLINK.
    sockets = {(e["protocol"], e["protocol_ip"]) for e in made["socket"]}
    assert {(17, 17), (6, -1)} <= sockets, sockets
    assert 0x541B in {e["cmd"] for e in made["ioctl"]}, made["ioctl"]
    slept = [(e["rqtp_sec"], e["rqtp_nsec"], e["unread"]) for e in made["nanosleep"]]
    assert slept == [(0, 1234, 0), (0, 0, 0), (0, 0, 1)], slept
    connected = [
        (e["uservaddr_family"], e["uservaddr_port"], e["uservaddr_address"], e["unread"])
        for e in made["connect"]
    ]
    assert connected == [
        (2, 9, bytes([127, 0, 0, 1]), 0),
        (10, 9, bytes(15) + b"\1", 0),
        (1, 0, b"/run/nothing", 0),
        (0, 0, b"", 2),
    ], connected
    (asked,) = made["openat2"]
    assert (asked["how_flags"], asked["how_resolve"]) == (0o2000000, 8), asked
    executed = [(e["argv_text"], e["argv_is_cut"], e["unread"]) for e in made["execve"]]
    assert executed == [
        (rb"one two\ words back\\slash ", 0, 0),
        (b" ".join([b"one"] * 16), 0, 0),
        (b" ".join([b"one"] * 16), 1, 0),
        (b"one " + b"a" * 253, 1, 0),
        (b"one", 0, 2),
        (b"", 0, 2),
        (b"", 0, 0),
    ], executed
    written = [(e["vec_len"], e["unread"]) for e in made["writev"]]
    sizes = [struct.pack("<Q", size) for size in range(3, 13)]
    assert written == [(b"".join(sizes[:2]), 0), (b"".join(sizes[:8]), 0), (b"", 2)], written
    (polled,) = made["ppoll"]
    assert polled["ufds_fd"] == struct.pack("<ii", -1, -2), polled
    assert polled["ufds_events"] == struct.pack("<HH", 1, 4 | 2), polled
    unknown = [(e["id"], e["compat"], e["args"][:8]) for e in made["raw_syscalls:sys_enter"]]
    assert unknown == [(1000, 0, struct.pack("<Q", 77)), (20, 1, struct.pack("<Q", 5))], unknown
    given = {
        name.removeprefix("syscalls:sys_exit_"): found
        for (tid, name), found in events.items()
        if (tid, "syscalls:sys_enter_getpgid") in events
    }
    _check_results(given, [each["fd"] for each in made["close"]][-4:])


def _check_results(given: dict[str, list[dict[str, object]]], closed: list[object]) -> None:
    """What calls gave back in memory. closed: a pipe's ends, a pair of sockets."""

    def of(name: str, *fields: str) -> list[tuple[object, ...]]:
        return [tuple(each[field] for field in (*fields, "unread")) for each in given[name]]

    assert of("pipe2", "ret", "fildes_read", "fildes_write") == [
        (0, *closed[:2], 0),
        (-14, 0, 0, 0),
    ], given["pipe2"]
    assert of("socketpair", "usockvec_first", "usockvec_second") == [(*closed[2:], 0)], closed
    status = of("newfstat", "statbuf_mode", "statbuf_size")
    assert status[-3:] == [(0o100777, 5, 0), (0, 0, 0), (0o010600, 0, 0)], status
    numbers = [each["statbuf_ino"] for each in given["newfstat"][-3:]]
    assert numbers[0] and not numbers[1] and numbers[2], numbers
    assert of("statx", "buffer_size", "buffer_ino")[-1] == (5, numbers[0], 0), given["statx"]
    assert of("epoll_pwait", "ret", "events_events", "events_data") == [
        (0, b"", b"", 0),
        (1, struct.pack("<I", 1), struct.pack("<Q", 0x1122334455), 0),
    ], given["epoll_pwait"]
    assert of("ppoll", "ufds_revents") == [(bytes(4), 0)], given["ppoll"]
    named = of("getsockname", "ret", "usockaddr_family", "usockaddr_address")
    assert named == [(0, 1, b"", 0), (0, 1, b"/run/own\0", 0), (-14, 0, b"", 0)], named
    ((_, nanoseconds, unread),) = of("clock_gettime", "tp_sec", "tp_nsec")
    assert 0 < int(str(nanoseconds)) < 10**9 and unread == 0, given["clock_gettime"]
    rests = of("clock_nanosleep", "ret", "rmtp_sec")
    assert rests == [(-516, 99, 0), (0, 0, 0)], rests
    assert of("wait4", "stat_addr_status")[0] == (0x700, 0), given["wait4"]
