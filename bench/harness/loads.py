# SPDX-License-Identifier: MIT
"""Real programs and their input, made anew and the same each time."""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .places import scratch
from .programs import run

PYTHON_SCRIPT = """
import json, os, sys
folder, count = sys.argv[1], int(sys.argv[2])
for number in range(count):
    path = os.path.join(folder, f"{number}.json")
    with open(path, "w") as file:
        json.dump({"number": number, "words": ["lull"] * 20}, file)
    with open(path) as file:
        assert json.load(file)["number"] == number
    os.stat(path)
    os.unlink(path)
"""

C_SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b) { return strcmp(a, b); }
int table_%(n)d(char (*words)[32], int count)
{
	qsort(words, count, sizeof(*words), compare);
	for (int i = 0; i < count; i++)
		printf("%%s %%zu\\n", words[i], strlen(words[i]) + %(n)d);
	return count;
}
"""


@dataclass(frozen=True)
class Load:
    """One program to run: what it is, its command, and where it runs."""

    key: str
    label: str
    command: tuple[str, ...]
    folder: Path


def _text_file(path: Path, bytes_wanted: int) -> Path:
    """Lines of words, compressible like text, from a fixed seed."""
    choose = random.Random(1)
    letters = "abcdefghijklmnop"
    words = ["".join(choose.choices(letters, k=choose.randint(2, 9))) for _ in range(999)]
    with path.open("w", encoding="ascii") as file:
        while file.tell() < bytes_wanted:
            file.write("".join(" ".join(choose.choices(words, k=9)) + "\n" for _ in range(500)))
    return path


def _repository(folder: Path, commits: int) -> Path:
    """A git repository with a history of small edits, through git fast-import."""
    folder.mkdir()
    run(["git", "init", "-q", str(folder)])
    choose = random.Random(2)
    files = {f"file{number}.txt": ["line"] * 200 for number in range(20)}
    stream = []
    for number in range(commits):
        name = choose.choice(list(files))
        files[name][choose.randrange(200)] = f"edit {number}"
        content = "\n".join(files[name]) + "\n"
        stream += [
            "commit refs/heads/main",
            f"committer Bench <bench@example.org> {1700000000 + number} +0000",
            f"data {len(str(number))}\n{number}",
            f"M 100644 inline {name}",
            f"data {len(content)}\n{content}",
        ]
    done = subprocess.run(
        ["git", "-C", str(folder), "fast-import", "--quiet"],
        input="\n".join(stream) + "\n", text=True, timeout=60, check=False,
    )
    if done.returncode:
        raise OSError("git fast-import failed")
    return folder


def make(quick: bool) -> list[Load]:
    """Make the inputs; the loads whose program is installed, two of them in a quick run."""
    base = scratch() / "loads"
    base.mkdir(exist_ok=True)
    size = 1 if quick else 2
    text = _text_file(base / "text", size * 5_000_000)
    sources = [base / f"source{number}.c" for number in range(3)]
    for number, source in enumerate(sources):
        source.write_text(C_SOURCE % {"n": number}, encoding="ascii")
    script = base / "script.py"
    script.write_text(PYTHON_SCRIPT, encoding="ascii")
    repository = _repository(base / "repository", 2000 * size)
    compiles = " && ".join(f"gcc -O2 -c {source.name} -o {source.name}.o" for source in sources)
    python = ("/usr/bin/python3", "-B", str(script), str(base), str(1000 * size))
    log = ("git", "--no-pager", "log", "-p", "--no-color", "main")
    order = ("sort", "--parallel=2", "-o", str(base / "sorted"), str(text))
    compress = ("xz", "-T2", "-1", "-c", str(text))
    loads = [
        Load("xz", "xz -T2: compress with two threads", compress, base),
        Load("python", "python3: write, read, remove small files", python, base),
        Load("sort", "sort --parallel=2 of a text file", order, base),
        Load("git", "git log -p of a repository", log, repository),
        Load("gcc", "gcc compiling three files", ("sh", "-c", compiles), base),
    ]
    chosen = loads[:2] if quick else loads
    return [load for load in chosen if shutil.which(load.command[0])]
