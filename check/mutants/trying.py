# SPDX-License-Identifier: MIT
"""Tries mutants: a copy of the tree for each job, one step of the plan after the other.

A step is tried on every mutant that no step before it kills. What was found is kept in a file
of lines, so that a run that is interrupted goes on where it was.
"""
import hashlib
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import threading
import time

BUILD_LIMIT_S = 600
KILLED, PASSED, LIMIT = "killed", "passed", "limit"


def tracked_files(root):
    """Every file that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    return [name for name in listed.decode().split("\0") if name and (root / name).is_file()]


class Tree:
    """A copy of the tree, in which one file at a time is another."""

    def __init__(self, root, place):
        self.root = root
        self.place = place

    def refresh(self):
        """Copy what differs; the times of the rest stay, and so does what was built."""
        for name in tracked_files(self.root):
            source, target = self.root / name, self.place / name
            if target.is_file() and target.read_bytes() == source.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)

    def put(self, path, text):
        (self.place / path).write_text(text)

    def restore(self, path):
        self.put(path, (self.root / path).read_text())

    def run(self, command, limit_s):
        """Run a bash command; it ends at its first line that tells of a failure.

        Return: its status, 124 when it reached the limit, 1 when it told of a failure.
        """
        environment = dict(os.environ, CARGO_TARGET_DIR=str(self.place / "target"))
        environment.pop("MAKEFLAGS", None)
        reached, told = threading.Event(), False
        with subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", command], cwd=self.place, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            timer = threading.Timer(limit_s, lambda: (reached.set(), end(process)))
            timer.start()
            for line in process.stdout:
                if line.startswith(b"FAIL ") and not told:
                    told = True
                    end(process)
        timer.cancel()
        if reached.is_set():
            return 124
        return 1 if told else process.returncode


def end(process):
    """End a command and what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def attempt(tree, step):
    """Run one step in a tree as it is. Return: KILLED, PASSED or LIMIT."""
    if "build" in step and tree.run(step["build"], BUILD_LIMIT_S):
        return KILLED
    status = tree.run(step["run"], step["limit_s"])
    if status == 124 and not step.get("hangs"):
        return LIMIT
    return KILLED if status else PASSED


def digest_of(root, names):
    """One number for the contents of files."""
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(name.encode() + b"\0" + (root / name).read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Found:
    """What is known of mutants and steps, a JSON line for each pair of them.

    A kill counts while the folder's code is the same; anything else while the step's tests are,
    too.
    """

    def __init__(self, path, root, folder):
        self.path = path
        self.lock = threading.Lock()
        self.steps = [step["name"] for step in folder["step"]]
        self.code = digest_of(root, folder["files"])
        self.tests = {}
        for step in folder["step"]:
            names = {str(file.relative_to(root)) for pattern in step["inputs"]
                     for file in root.glob(pattern) if file.is_file()}
            self.tests[step["name"]] = digest_of(root, names)
        self.rows = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            row = json.loads(line)
            same_tests = row["tests"] == self.tests.get(row["step"])
            if row["code"] == self.code and (row["found"] == KILLED or same_tests):
                self.rows[row["key"], row["step"]] = row["found"]

    def get(self, mutant, step):
        return self.rows.get((mutant.key, step["name"]))

    def killer(self, mutant):
        """The first step that kills it, or None."""
        for name in self.steps:
            if self.rows.get((mutant.key, name)) == KILLED:
                return name
        return None

    def add(self, mutant, step, found):
        row = {"key": mutant.key, "step": step["name"], "found": found, "code": self.code,
               "tests": self.tests[step["name"]]}
        with self.lock:
            self.rows[mutant.key, step["name"]] = found
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")

    def row(self, mutant):
        """What is known of a mutant in the end."""
        killer = self.killer(mutant)
        open_steps = [name for name in self.steps if self.rows.get((mutant.key, name)) != PASSED]
        verdict = "killed" if killer else "undecided" if open_steps else "survived"
        return {"place": mutant.place, "before": mutant.before, "after": mutant.after,
                "verdict": verdict, "step": killer, "open": [] if killer else open_steps}


def baseline(trees, step):
    """Without a mutant the step must pass, or its kills would mean nothing."""
    for tree in trees[1:]:
        if "build" in step:
            tree.run(step["build"], BUILD_LIMIT_S)
    found = attempt(trees[0], step)
    if found != PASSED:
        raise RuntimeError(f"without any mutant, '{step['name']}' fails or reaches its limit")


def try_step(trees, step, mutants, found, say, until):
    """Try a step on each mutant that is alive and that it does not know, a tree for each job.

    Nothing is begun after `until`, in seconds of time.monotonic().
    """
    waiting = queue.SimpleQueue()
    for mutant in mutants:
        if not found.killer(mutant) and not found.get(mutant, step):
            waiting.put(mutant)
    total = waiting.qsize()
    if not total or time.monotonic() > until:
        return
    say(f"{step['name']}: {total} mutants")
    baseline(trees, step)

    def work(tree):
        while time.monotonic() < until:
            try:
                mutant = waiting.get_nowait()
            except queue.Empty:
                return
            tree.put(mutant.path, mutant.text)
            try:
                result = attempt(tree, step)
            finally:
                tree.restore(mutant.path)
            found.add(mutant, step, result)
            say(f"{step['name']} {total - waiting.qsize()}/{total} {mutant.path}:{mutant.line}: "
                f"{result}: {mutant.before} -> {mutant.after}")

    threads = [threading.Thread(target=work, args=(tree,)) for tree in trees]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def trees_in(root, build, jobs):
    """The copies: they stay, with what was built in them."""
    return [Tree(root, pathlib.Path(build) / f"tree.{job}") for job in range(jobs)]
