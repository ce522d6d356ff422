# SPDX-License-Identifier: MIT
"""Mutants of C files: universalmutator writes them, the compiler says which are worth a try.

A mutant is left out when it does not compile, when the compiler makes the code of the shipped
file from it (a comment, a hint, a seeded fault that is off, two ways to say the same), and when it
makes the code of a mutant before it.
"""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass

import trying

# What is C only to compilers of long ago does not compile; other warnings are no reason.
REFUSED = ["implicit-function-declaration", "implicit-int", "int-conversion",
           "incompatible-pointer-types", "return-type"]
COMPILER = ["gcc", "-std=gnu11", "-O2", "-g0", "-S", "-o", "-", "-x", "c", "-Wno-all",
            # Which way a branch goes mostly is no matter of tests.
            "-D__builtin_expect(value, hint)=(value)"] + [f"-Werror={name}" for name in REFUSED]


@dataclass(frozen=True)
class Mutant:
    """One changed file. `before` and `after` are the changed lines, `line` is the first.

    `place` says where, in words that outlive changes elsewhere in the file.
    """

    path: str
    place: str
    text: str
    line: int
    before: str
    after: str

    @property
    def key(self):
        return key_of(self.path, self.text)


def key_of(path, text):
    return hashlib.sha256(f"{path}\0{text}".encode()).hexdigest()[:16]


def difference(original, changed):
    """Return the first line that differs, and the differing lines of both."""
    ours, theirs = original.splitlines(), changed.splitlines()
    same = 0
    while same < min(len(ours), len(theirs)) and ours[same] == theirs[same]:
        same += 1
    tail = 0
    while tail < min(len(ours), len(theirs)) - same and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    if same == len(ours) - tail and tail:  # what is only inserted is told by what follows it
        tail -= 1
    cut = [" ".join(line.split()) for line in ours[same : len(ours) - tail]]
    new = [" ".join(line.split()) for line in theirs[same : len(theirs) - tail]]
    return same + 1, " ".join(cut), " ".join(new)


def place_of(path, original, line):
    """Say where a line is: its file, its function, and which of its like there."""
    lines = [" ".join(text.split()) if text[:1].isspace() else text
             for text in original.splitlines()]
    begin, name = 0, ""
    for at, text in enumerate(lines[: line - 1]):
        found = re.match(r"[a-z_][\w *]*?(\w+)\(", original.splitlines()[at])
        if found and not text.endswith(";"):
            begin, name = at, found.group(1)
        elif original.splitlines()[at].startswith("}"):
            begin, name = at, ""
    this = lines[line - 1] if line <= len(lines) else ""
    before = lines[begin : line - 1].count(this)
    place = f"{path}: {name}()" if name else path
    return f"{place}, {before + 1}" if before else place


def plant(mutate, root, path):
    """Return all mutants of a file, in an order that stays the same; `mutate` is the tool."""
    original = (root / path).read_text()
    with tempfile.TemporaryDirectory() as folder:
        command = [mutate, str(root / path), "c", "--noCheck", "--mutantDir", folder]
        run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        if run.returncode:
            raise RuntimeError(f"universalmutator fails on {path}: {run.stderr[-500:]}")
        found = {}
        for file in pathlib.Path(folder).glob("*.mutant.*"):
            text = file.read_text()
            line, before, after = difference(original, text)
            mutant = Mutant(path, place_of(path, original, line), text, line, before, after)
            found[mutant.key] = mutant
    return [found[key] for key in sorted(found)]


def is_in_sample(mutant, one_of):
    """The sample is chosen by the mutant's own text: a larger sample holds the smaller ones."""
    return int(mutant.key, 16) % one_of == 0


class Compiler:
    """Compiles files of one folder, each with another text in the place of one of them.

    What it found is kept in a file of lines, for as long as no C file of the folder or header of
    the tree changes, so that a run that is interrupted does not compile all anew.
    """

    def __init__(self, root, folder, kept):
        self.root = root
        self.flags = folder["flags"].split()
        self.units = folder.get("units", [])
        self.kept = kept
        self.lock = threading.Lock()
        names = set(folder["files"] + self.units)
        names |= {name for name in trying.tracked_files(root) if name.endswith(".h")}
        self.sources = trying.digest_of(root, names)
        self.known = {}
        for line in kept.read_text().splitlines() if kept.exists() else []:
            row = json.loads(line)
            if row["sources"] == self.sources:
                self.known[row["key"]] = row["code"]

    def code(self, path, text):
        """Return a digest of the machine code with `text` in `path`; None if it does not build."""
        key = key_of(path, text)
        if key not in self.known:
            self.known[key] = self.compile(path, text)
            row = {"key": key, "sources": self.sources, "code": self.known[key]}
            with self.lock, self.kept.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return self.known[key]

    def compile(self, path, text):
        units = [path] if path.endswith(".c") else self.units
        digest = hashlib.sha256()
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            # A header is looked for beside the file that includes it, so all are beside it here.
            beside = (self.root / path).parent.glob("*.h")
            for name in units + [str(header.relative_to(self.root)) for header in beside]:
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.root / name, copy / name)
            (copy / path).write_text(text)
            folders = [flag[2:] for flag in self.flags if flag.startswith("-I")]
            first = [f"-I{copy / name}" for name in folders]
            for unit in units:
                command = COMPILER + [str(copy / unit)] + first + self.flags
                run = subprocess.run(command, cwd=self.root, capture_output=True, check=False)
                if run.returncode:
                    return None
                digest.update(run.stdout)
        return digest.hexdigest()

    def sort_out(self, mutants, run_all):
        """Return (worth a try, count that does not compile, count of equal code).

        `run_all` maps a function over a list, in parallel.
        """
        paths = sorted({mutant.path for mutant in mutants})
        texts = [(path, (self.root / path).read_text()) for path in paths]
        shipped = dict(zip(paths, run_all(lambda pair: self.code(*pair), texts)))
        seen = {(path, code) for path, code in shipped.items()}
        if None in shipped.values():
            raise RuntimeError(f"the shipped {paths} do not compile with the plan's flags")
        codes = run_all(lambda mutant: self.code(mutant.path, mutant.text), mutants)
        worth, broken, equal = [], 0, 0
        for mutant, code in zip(mutants, codes):
            if code is None:
                broken += 1
            elif (mutant.path, code) in seen:
                equal += 1
            else:
                seen.add((mutant.path, code))
                worth.append(mutant)
        return worth, broken, equal
