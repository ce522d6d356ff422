# SPDX-License-Identifier: MIT
"""The dump of the state when a session begins: what it says, with events, is what /proc says."""

from __future__ import annotations

import ipaddress
import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import MODULES, ROOT, Guest, lull_files

STORM = MODULES / "state_test"
LULL = ROOT / "build" / "bin" / "lull"
# What changes processes, threads and descriptors, and the dump of those that there were before.
CHANGES = (
    "state:*",
    "task:*",
    "sched:sched_process_*",
    *(
        f"syscalls:sys_*_{call}"
        for call in ("open*", "close*", "dup*", "fcntl", "socket*", "accept*", "pipe*", "execve*")
    ),
)
PATTERNS = " ".join(f"-e '{pattern}'" for pattern in CHANGES)
STREAM, LISTENS = 1, 10  # as the kernel numbers kinds and states of sockets
# A call that was under way when the recording began has told no path: its descriptor, and copies of
# that, are known without, in children too. Each worker may have been in one.
UNKNOWN, UNKNOWN_MOST = "descriptor ", 12
# A low limit, so that numbers are given again while the dump runs.
NUMBERS_LIMIT = 900


@contextmanager
def _guest(*kernel_modules: str) -> Iterator[Guest]:
    """A guest that has loaded the module, and unloads it at its end."""
    files = {**lull_files(), "/bin/state_test": STORM}
    own = [MODULES / "lull.ko"]
    with Guest(modules=own, kernel_modules=kernel_modules, files=files) as guest:
        guest.check("insmod /modules/lull.ko && mkdir /run/files")
        yield guest
        guest.check("rmmod lull")


def _host(*words: object, status: int = 0) -> str:
    """What a command says on the host."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == status and not done.stderr, f"{words}: {done}"
    return done.stdout


def _between(printed: str, first: str, last: str) -> list[str]:
    """The names of the events between two others."""
    names = [json.loads(line)["name"] for line in printed.splitlines()]
    return names[names.index(first) : names.index(last)]


class _Proc:
    """What /proc said: threads by number, and descriptors by process."""

    def __init__(self, text: str) -> None:
        self.threads: dict[int, tuple[int, int, str]] = {}
        self.files: dict[int, dict[int, str]] = defaultdict(dict)
        for line in text.splitlines():
            kind, first, second, rest = line.split(" ", 3)
            if kind == "T":
                parent, name = rest.split(" ", 1)
                self.threads[int(first)] = (int(second), int(parent), name)
            else:
                self.files[int(first)][int(second)] = rest

    def family(self, name: str) -> set[int]:
        """The processes whose first program has this name, and all that descend from them."""
        found = {tid for tid, (pid, _, own) in self.threads.items() if tid == pid and own == name}
        while True:
            more = {pid for pid, parent, _ in self.threads.values() if parent in found} - found
            if not more:
                return found
            found |= more

    def kernel_threads(self) -> set[int]:
        """Those that stay: workers come and go."""
        return {
            tid
            for tid, (_, parent, name) in self.threads.items()
            if parent == 2 and not name.startswith("kworker")
        }


def state_at_the_end_is_that_of_proc_after_a_storm() -> None:
    with _guest() as guest:
        guest.check(f"echo {NUMBERS_LIMIT} > /proc/sys/kernel/pid_max")
        guest.check(
            "ulimit -n 4096; state_test /share/proc & storm=$!; sleep 3; touch /run/go;"
            f" lull record -k {PATTERNS} --buffers 16 -o /share/trace 2> /share/told & lull=$!;"
            " until test -s /share/trace/stream-kernel-cpu0; do sleep 1; done; touch /run/stop;"
            " until test -s /share/proc; do sleep 1; done;"
            " kill -INT $lull; wait $lull; kill $storm",
            240,
        )
        told = (guest.share / "told").read_text()
        proc = _Proc((guest.share / "proc").read_text())
        trace = guest.share / "trace"
        state = map(json.loads, _host(LULL, "state", "--json", trace).splitlines())
        meanwhile = _between(_host(LULL, "print", "--json", trace), "state:begin", "state:end")
    for change in ("task:task_newtask", "sched:sched_process_exec", "syscalls:sys_exit_close"):
        assert meanwhile.count(change) > 0, f"the dump met no {change}"
    assert "complete: no event is missing" in told.lower(), told
    assert "lull: the dump" not in told, told
    _compare(proc, {each["pid"]: each for each in state if "pid" in each})


def _compare(proc: _Proc, state: dict[int, dict]) -> None:
    """Both have the same threads and descriptors, with the same names."""
    storm = proc.family("state_test")
    assert len(storm) > 30, storm
    wrong, unknown = [], set()
    for pid in sorted(storm | proc.kernel_threads()):
        process = state.get(pid, {"threads": [], "files": []})
        threads = {tid: name[:15] for tid, (of, _, name) in proc.threads.items() if of == pid}
        found = {thread["tid"]: thread["name"] for thread in process["threads"]}
        if found != threads:
            wrong.append(f"threads of {pid}: /proc has {threads}, the trace {found}")
        if pid not in proc.files:  # the program that looked
            continue
        files = {file["fd"]: file["file"] for file in process["files"]}
        nameless = {fd for fd, file in files.items() if file.startswith(UNKNOWN)}
        unknown |= nameless
        files |= {fd: proc.files[pid][fd] for fd in nameless & set(proc.files[pid])}
        if files != proc.files[pid]:
            wrong.append(f"files of {pid}: /proc has {proc.files[pid]}, the trace {files}")
    gone = {pid for pid in state if pid not in proc.threads and state[pid]["name"] == "state_test"}
    wrong += [f"{pid} lives in the trace only" for pid in gone]
    assert len(unknown) <= UNKNOWN_MOST, unknown
    assert not wrong, "\n".join([f"{len(wrong)} wrong of {len(storm)} processes", *wrong[:20]])


def dump_begins_and_ends_as_the_recorder_asks() -> None:
    program = MODULES / "dump_test"
    with Guest(modules=[MODULES / "lull.ko"], files={"/bin/dump_test": program}) as guest:
        guest.check("insmod /modules/lull.ko")
        print(guest.check("cd /run && dump_test"), end="")
        guest.check("rmmod lull")


def recorder_that_is_killed_ends_the_dump_that_it_began() -> None:
    """Its rings have no room and no reader, so that the dump waits when the recorder is killed."""
    with _guest() as guest:
        guest.check(
            "for i in 1 2 3; do"
            "  lull record -k -e 'state:*' --buffer-size 4K --buffers 2 -o /run/trace$i &"
            "  until test -d /run/trace$i; do :; done; kill -STOP $!; kill -9 $!; wait $!;"
            "  rmmod lull && insmod /modules/lull.ko || exit 1;"
            "done"
        )


def dump_that_recording_did_not_wait_for_is_told_by_verdict_and_report() -> None:
    """Programs are not recorded, so the dump has begun when the time is over, and not ended: what
    it tells fills the rings many times, and each time it waits 10 ms for the reader."""
    with _guest() as guest:
        told = guest.check(
            "for i in $(seq 300); do sleep 1000 & done; lull record -k -e 'state:*'"
            " --buffer-size 4K --buffers 2 -o /share/trace --duration 1ms 2>&1"
        )
        report = _host(LULL, "report", guest.share / "trace")
    for text in (told.lower(), report.lower()):
        assert "complete within these limits" in text, text
        assert "only a part is known: recording stopped before its dump had ended" in text, text


def _check_shown(shown: list[dict], said: dict[str, list[str]]) -> None:
    """`lull state` shows command lines, block devices and addresses."""
    commands = {each["command"] for each in shown if "command" in each}
    assert {"nc -l -p 4321", r"sh -c read\ line\ <\ /run/wait an\ argument"} <= commands, commands
    devices = {
        f"{each['block_device']} {each['number'] >> 20}:{each['number'] & 0xFFFFF}"
        f" {each['bytes'] // 512} {int(each['is_read_only'])}"
        for each in shown
        if "block_device" in each
    }
    assert devices == set(said["block"]), (devices, said["block"])
    addresses = {
        (each["network_device"], each["address"]) for each in shown if "address" in each
    }
    assert addresses == {tuple(line.split()[1:4:2]) for line in said["addresses"]}, addresses


def _check_maps(shown: list[dict], said: list[str]) -> None:
    """The files that the memory of the first process is of, with `lull state`."""
    first = next(each for each in shown if each.get("pid") == 1)
    found = [
        (each["begin"], each["until"], each["flags"], each["offset_bytes"], each["inode"], path)
        for each in first["maps"]
        if (path := each["path"])
    ]
    wanted = []
    for line in said:
        addresses, flags, offset, _, inode, *path = line.split()
        if int(inode):
            begin, until = (int(address, 16) for address in addresses.split("-"))
            wanted.append((begin, until, flags, int(offset, 16), int(inode), *path))
    assert found == wanted and len(wanted) >= 3, (found, wanted)


def rest_of_the_dump_is_what_proc_says() -> None:
    with _guest("loop") as guest:
        guest.check("ip link set lo up; nc -l -p 4321 > /run/nc 2>&1 & sleep 1")
        proc = "/proc/1/maps /proc/modules /proc/interrupts /proc/net/dev /run/nc"
        guest.check("mkfifo /run/wait; sh -c 'read line < /run/wait' 'an argument' & sleep 1", 60)
        guest.check(
            "cd /sys/class/block; for name in *; do"
            " echo $name $(cat $name/dev $name/size $name/ro); done > /share/block;"
            " ip -o address > /share/addresses"
        )
        told = guest.check(
            f"for file in {proc}; do cat $file > /share/$(basename $file); done;"
            " lull record -k -e 'state:*' -o /share/trace --duration 1s 2>&1"
        )
        names = ("maps", "modules", "interrupts", "dev", "nc", "block", "addresses")
        said = {name: (guest.share / name).read_text().splitlines() for name in names}
        printed = _host(LULL, "print", "--json", guest.share / "trace").splitlines()
        shown = _host(LULL, "state", "--json", "--maps", guest.share / "trace").splitlines()
    _check_shown([json.loads(line) for line in shown], said)
    _check_maps([json.loads(line) for line in shown], said["maps"])
    dump = defaultdict(list)
    for event in map(json.loads, printed):
        dump[event["name"].removeprefix("state:")].append(event["fields"])
    assert dump["end"][0]["is_whole"] == 1, told
    assert "the dump of the kernel's state when recording began is whole" in told, told
    commands = {each["text"]: each["is_cut"] for each in dump["command"]}
    assert commands["nc -l -p 4321"] == 0, commands
    assert commands[r"sh -c read\ line\ <\ /run/wait an\ argument"] == 0, commands
    blocks = {
        f"{e['name']} {e['device'] >> 20}:{e['device'] & 0xFFFFF}"
        f" {e['sectors']} {e['is_read_only']}"
        for e in dump["block_device"]
    }
    assert blocks == set(said["block"]) and len(blocks) >= 8, (blocks, said["block"])
    addresses = {
        f"{ipaddress.ip_address(bytes(e['address']))}/{e['prefix_bits']}" for e in dump["address"]
    }
    assert addresses == {line.split()[3] for line in said["addresses"]}, said["addresses"]
    assert len(addresses) == 2, addresses
    maps = [each["begin"] for each in dump["map"] if each["pid"] == 1]
    # The page of vsyscall is in no process's maps.
    assert maps == [int(line.split("-")[0], 16) for line in said["maps"] if "vsyscall" not in line]
    paths = {each["path"] for each in dump["map"] if each["pid"] == 1}
    assert "/bin/busybox" in paths, paths
    modules = {line.split()[0] for line in said["modules"]}
    assert {each["name"] for each in dump["module"]} == modules
    interrupts = {(each["irq"], each["name"]) for each in dump["interrupt"]}
    for line in said["interrupts"]:
        number, _, rest = line.strip().partition(":")
        if number.isdigit():
            names = {name for irq, name in interrupts if irq == int(number)}
            assert names and all(name in rest for name in names), (line, interrupts)
    devices = {each["name"] for each in dump["network_device"]}
    assert devices == {line.split(":")[0].strip() for line in said["dev"][2:]}
    assert [(each["cpu"], each["is_online"]) for each in dump["cpu"]] == [(0, 1), (1, 1)]
    assert {each["path"] for each in dump["cgroup"] if each["pid"] == 1} == {"/"}
    local = [(each["local_port"], each["type"], each["state"]) for each in dump["socket"]]
    assert (4321, STREAM, LISTENS) in local, (dump["socket"], said["nc"])
