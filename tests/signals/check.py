#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every event that `storm` recorded is in the trace, each kind in order: check.py COUNTS JSON."""
import re
import sys

EVENT = re.compile(r'"test:(main|prof|alarm)".*?"sequence":(\d+)')


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        words = file.read().split()
    expected = dict(zip(words[::2], map(int, words[1::2])))
    last = dict.fromkeys(expected, 0)
    with open(sys.argv[2], encoding="utf-8") as file:
        for line in file:
            match = EVENT.search(line)
            if match:
                kind, sequence = match[1], int(match[2])
                if sequence != last[kind] + 1:
                    print(f"{kind}: {sequence} after {last[kind]}")
                    return 1
                last[kind] = sequence
    print(f"in the trace: {last}, recorded: {expected}")
    return 0 if expected and last == expected and all(expected.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
