# SPDX-License-Identifier: MIT
"""A hostile neighbour: replaces the names that a recorder is about to use.

Usage: neighbour.py FOLDER SECONDS. In FOLDER/sticky and FOLDER/open, both writable by all, it
makes, renames and removes whatever it is allowed to, with links to what it would like to be
overwritten in FOLDER/precious, until it is ended or the seconds are over.
"""

import os
import random
import signal
import sys
import time

LURES = ["precious", "precious/empty", "precious/note", "precious/trace", "precious/new"]
STEADY = ["trace", "box", "way", "lull-trace", "way/trace", "box/snapshot-1", "trace/metadata",
          "trace/.metadata.new", "trace/.reserve", "trace/stream-cpu0"]


def name_of(folder):
    """A name that the recorder uses now, will use soon, or has made."""
    kind = random.randrange(8)
    if kind < 5:
        return random.choice(STEADY)
    if kind == 5:
        begin = time.localtime(time.time() + random.randrange(3))
        return time.strftime("lull-trace-%Y%m%d-%H%M%S", begin)
    found = os.listdir(folder)
    return random.choice(found) if found else "trace"


def remove(path):
    try:
        os.unlink(path)
    except (IsADirectoryError, PermissionError):
        os.rmdir(path)


def plant(root, path):
    kind = random.randrange(8)
    if kind < 4:
        os.symlink(os.path.join(root, random.choice(LURES)), path)
    elif kind < 6:
        os.mkdir(path, 0o777)
        os.chmod(path, 0o777)
    elif kind == 6:
        with open(path, "x", encoding="ascii") as file:
            file.write("bait\n")
        os.chmod(path, 0o666)
    else:
        os.mkfifo(path, 0o666)


def step(root):
    folder = os.path.join(root, random.choice(["sticky", "open"]))
    path = os.path.join(folder, name_of(folder))
    kind = random.randrange(6)
    if kind < 3:
        plant(root, path)
    elif kind == 3:
        remove(path)
    elif kind == 4:
        os.rename(path, os.path.join(folder, f"moved{random.randrange(20)}"))
    else:
        # In one go, so that no moment is without something at the name.
        new = os.path.join(folder, f".new{random.randrange(20)}")
        plant(root, new)
        os.rename(new, path)


def main():
    root = sys.argv[1]
    until = time.monotonic() + float(sys.argv[2])
    ended = []
    # A bait that was not finished would look like one that somebody else has written to.
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    while time.monotonic() < until and not ended:
        try:
            step(root)
        except OSError:
            pass


main()
