# SPDX-License-Identifier: MIT
"""Sources of lull.ko: tracepoints by name, functions, returns, accesses, programs."""

from __future__ import annotations

from pathlib import Path

from lab import MODULES, Guest, kernel, lull_files, read_events

FILES = {"/bin/source_test": MODULES / "source_test"}
KPROBES = "/run/debug/kprobes/list"


def sources_record_what_happens_at_their_places_and_hostile_ones_harm_nobody() -> None:
    with Guest(modules=[MODULES / "lull.ko"], files=FILES) as guest:
        guest.check("insmod /modules/lull.ko && echo 0 > /proc/sys/kernel/kptr_restrict")
        result = guest.run("source_test", 480)
        print(result.output, end="")
        assert result.status == 0, result.output
        guest.check("rmmod lull")


def sources_of_a_killed_recorder_are_removed() -> None:
    with Guest(modules=[MODULES / "lull.ko"], files=FILES) as guest:
        guest.check("insmod /modules/lull.ko && mkdir /run/debug")
        guest.check("mount -t debugfs none /run/debug")
        guest.check(
            f"source_test stay & until grep do_sys_openat2 {KPROBES}; do sleep 0.1; done;"
            f" kill -9 $!; wait $!; ! grep do_sys_openat2 {KPROBES}"
        )
        guest.check("rmmod lull")


def places_that_the_user_names_are_recorded_with_their_arguments() -> None:
    programs = {f"/usr/bin/{name}": Path("/bin") / name for name in ("bash", "cat")}
    with Guest(modules=[MODULES / "lull.ko"], files={**lull_files(), **programs}) as guest:
        guest.check("insmod /modules/lull.ko && echo 0 > /proc/sys/kernel/kptr_restrict")
        places = [
            "p:own/open do_sys_openat2 dfd name=filename:ustring mode=how->mode",
            "r:own/opened do_sys_openat2 $retval:s32",
            "p:own/read vfs_read count flags=file->f_flags:x32",
            "t:own/fork sched_process_fork parent->pid child->comm",
            "t:own/exit signal_deliver",
            "w:own/written jiffies_64:8:w",
        ]
        probes = " ".join(f"--probe '{place}'" for place in places)
        told = guest.run(
            f"lull record -k -e 'own:*' {probes} -o /share/trace -- bash -c"
            " 'echo text > /run/file; (:); cat /run/file' 2>&1",
            300,
        ).output
        assert "text" in told and "lost" not in told, told
        printed = guest.run("lull print --all /share/trace").output.splitlines()
        refused = guest.run("lull record -k --probe 'p no_such_function' -- true 2>&1").output
        assert "the kernel has no such place" in refused, refused
    names = ("open", "opened", "read", "fork", "exit", "written")
    of = {name: [line for line in printed if f" own:{name} " in f"{line} "] for name in names}
    counts = {name: len(lines) for name, lines in of.items()}
    assert all(counts.values()), f"{counts}\n" + "\n".join(printed[-40:])
    assert any('name="/run/file"' in line and "dfd=-100" in line for line in of["open"]), of["open"]
    assert any("arg1=3" in line for line in of["opened"]), of["opened"]
    assert any("bash/" in line and 'comm="bash"' in line for line in of["fork"]), of["fork"]
    assert any("sig=17" in line for line in of["exit"]), of["exit"]
    assert any("count=" in line and "flags=0x" in line for line in of["read"]), of["read"]


def filters_decide_on_events_at_places_that_the_user_names() -> None:
    programs = {"/usr/bin/bash": Path("/bin/bash")}
    probes = (
        "--probe 'p:own/open do_sys_openat2 dfd name=filename:ustring'"
        " --probe 'r:own/opened do_sys_openat2 $retval:s32'"
        " --probe 't:own/fork sched_process_fork child->comm'"
        " --probe 'p:own/read vfs_read count' -e 'own:*'"
    )
    filters = (
        """-e 'own:open if dfd == -100 && name == "/run/n*"' -e 'own:opened if arg1 < 0'"""
        """ -e 'own:fork if comm == "bash" && $comm == "bash"' -e 'own:read if 1 == 2'"""
    )
    work = "for i in 1 2 3; do (:); read -r line < /run/none; read -r line < /run/file; done"
    with Guest(modules=[MODULES / "lull.ko"], files={**lull_files(), **programs}) as guest:
        guest.check("insmod /modules/lull.ko && echo text > /run/file")
        for name, words in (("all", probes), ("trace", f"{probes} {filters}")):
            told = guest.run(
                f"lull record -k {words} -o /share/{name} -- bash -c '{work}' 2>&1", 300
            ).output
            assert "events lost" not in told and "no longer" not in told, told
        assert "4 events of the kernel's were filtered" in told, told
        wrong = guest.run(f"lull record -k {probes} -e 'own:open if no == 1' -- true 2>&1")
        assert wrong.status == 125 and "^^" in wrong.output, wrong.output
        guest.check("rmmod lull")
        events = {name: list(read_events(guest.share / name)) for name in ("all", "trace")}

    def values(trace: str, event: str, field: str) -> list:
        found = [each for each in events[trace] if each["name"] == f"own:{event}"]
        return [each["fields"][field] for each in found]

    assert values("trace", "open", "name") == ["/run/none"] * 3, values("trace", "open", "name")
    assert "/run/file" in values("all", "open", "name")
    assert values("trace", "opened", "arg1"), "no failed call"
    assert all(result < 0 for result in values("trace", "opened", "arg1"))
    assert any(result >= 0 for result in values("all", "opened", "arg1"))
    assert set(values("trace", "fork", "comm")) == {"bash"}
    # What can never hold is a program, too: the place is watched in any case.
    assert values("all", "read", "count") and not values("trace", "read", "count")


def tracepoints_and_functions_of_modules_are_recorded_also_of_those_that_come_later() -> None:
    scsi = kernel("6.1").modules(["scsi_debug"])
    loads = " && ".join(f"insmod /modules/{module.name}" for module in scsi)
    disk, core = scsi[-1].stem, "scsi_mod"
    files = {**lull_files(), "/usr/bin/bash": Path("/bin/bash")}
    with Guest(modules=[MODULES / "lull.ko", *scsi], files=files) as guest:
        guest.check("insmod /modules/lull.ko")
        # The module is not there, comes, goes and comes again.
        again = f"rmmod {disk} && rmmod {core} && insmod /modules/{core}.ko"
        told = guest.check(
            f"lull record -k --probe 't:own/begun {core}:scsi_dispatch_cmd_start $arg1'"
            f" --probe 't:own/never {core}:no_such_tracepoint $arg1' -o /share/later -- bash -c"
            f" '{loads} && {again} && insmod /modules/{disk}.ko' 2>&1",
            300,
        )
        assert "events lost" not in told, told
        # It is there, and tells its types.
        told = guest.check(
            f"lull record -k --probe 't:own/begun {core}:scsi_dispatch_cmd_start cmd->cmd_len'"
            f" --probe 'p:own/queued {disk}:scsi_debug_queuecommand shost->host_no'"
            f" --probe 'r:own/done {core}:scsi_decide_disposition $retval:s32'"
            " -o /share/typed -- bash -c"
            " 'for host in /sys/class/scsi_host/*; do echo \"- - -\" > $host/scan; done' 2>&1",
            300,
        )
        assert "events lost" not in told, told
        for name in (f"{core}:no_such", "no_such:name cmd"):
            wrong = guest.run(f"lull record -k --probe 't {name} $arg1' -- true 2>&1")
            assert wrong.status == 125 and "no " in wrong.output, wrong.output
        guest.check(f"rmmod lull && rmmod {disk} && rmmod {core}")
        later = list(read_events(guest.share / "later", status=1))  # insmod is not recorded
        typed = list(read_events(guest.share / "typed"))
    begun = [event for event in later if event["name"] == "own:begun"]
    found = [event for event in typed if event["name"].startswith("own:")]
    times = [event["cycles"] for event in begun]
    assert len(begun) >= 4 and all(event["fields"]["arg1"] for event in begun), begun[:3]
    assert times == sorted(times)
    by_name = {event["name"]: event["fields"] for event in found}
    assert 6 <= by_name["own:begun"]["cmd_len"] <= 32, by_name
    assert by_name["own:queued"]["host_no"] < 8, by_name
    assert by_name["own:done"]["arg1"] > 0, by_name
