#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare a trace of `writers` with its progress file: what was committed must be there.

check.py PROGRESS-FILE JSON-LINES REPORT-JSON

Every writer thread numbered its events 1, 2, 3, ... and noted each number after the event. So
the trace must hold all numbers up to the noted one, but for those the verdict counts as lost
for want of room; one more may be there, of a thread killed between commit and note.
"""
import array
import json
import re
import sys

EVENT = re.compile(r'"test:sequence".*?"writer":(\d+),"sequence":(\d+)')


def main() -> int:
    progress_file, lines, report_file = sys.argv[1:4]
    progress = array.array("Q")
    with open(progress_file, "rb") as file:
        progress.frombytes(file.read())
    last = [0] * len(progress)
    present = missing = disorder = beyond = 0
    with open(lines, encoding="utf-8") as file:
        for line in file:
            match = EVENT.search(line)
            if not match:
                continue
            writer, sequence = int(match[1]), int(match[2])
            present += 1
            if sequence <= last[writer]:
                disorder += 1
                continue
            missing += sequence - last[writer] - 1
            last[writer] = sequence
    for writer, committed in enumerate(progress):
        missing += max(0, committed - last[writer])
        beyond += last[writer] > committed + 1
    with open(report_file, encoding="utf-8") as file:
        lost = json.load(file)["lost"]
    room = lost["full"] + lost["overflow"] + lost["too_big"]
    print(f"committed {sum(progress)}, in the trace {present}, missing {missing}, counted lost for "
          f"want of room {room}, in flight {lost['in_flight']}, out of order {disorder}, "
          f"never recorded {beyond}")
    good = (present > 0 and missing <= room <= missing + len(progress) and not beyond
            and not disorder and lost["in_flight"] <= len(progress))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
