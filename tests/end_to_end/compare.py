# SPDX-License-Identifier: MIT
"""Compares what babeltrace2 and lull read in a trace, event by event.

Usage: compare.py TRACE. For each stream the events must have the same names, clock cycles
and values of contexts and fields in the same order, and both readers must see an event.

Two peculiarities of babeltrace2 2.0 are allowed for: it prints floating-point numbers with
six digits, and it shows an empty string as what that field held in an event before.
"""

import json
import re
import subprocess
import sys
from itertools import zip_longest

LINE = re.compile(r"\[(\d+)\] (?:\S+ )?(\S+:\S+): (.*)")
TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"'  # a string
    r"|[A-Za-z_]\w*(?= =)"  # the name of a field, which may begin as a number does
    r"|\[\d+\] ="  # the index of an array's element
    r"|container ="  # the number of an enumeration
    r"|-?0x[0-9A-Fa-f]+|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|-?nan|-?inf"
    r"|[{}()\[\]:,|]|<unknown>"
)


def number(text):
    if "0x" in text:
        return int(text, 16)
    return int(text) if re.fullmatch(r"-?\d+", text) else float(f"{float(text):g}")


def unescaped(text):
    """babeltrace2 writes strings as C does; a backslash before other characters is dropped."""
    controls = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
    return re.sub(r"\\(.)", lambda match: controls.get(match[1], match[1]), text)


def values(fields):
    """The values of babeltrace2's `{ name = value, ... }`, in order, without their names."""
    found = []
    mappings = False  # inside `( "LABEL" : container = N )` the labels are no values
    for token in TOKEN.findall(fields):
        if token == "(":
            mappings = True
        elif token == ")":
            mappings = False
        elif token.startswith('"'):
            if not mappings:
                found.append(unescaped(token[1:-1]))
        elif re.match(r"-?(\d|nan$|inf$)", token):
            found.append(number(token))
    return found


def flat(value):
    """The same of lull's JSON."""
    if isinstance(value, dict) and set(value) == {"label", "value"}:
        return [value["value"]]
    if isinstance(value, dict):
        return [item for part in value.values() for item in flat(part)]
    if isinstance(value, list):
        return [item for part in value for item in flat(part)]
    if isinstance(value, float):
        return [float(f"{value:g}")]
    return [value]


def read_babeltrace(trace):
    command = ["babeltrace2", "--clock-cycles", "--no-delta", trace]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    if run.stderr:
        sys.exit(f"babeltrace2 warns: {run.stderr}")
    streams = {}
    shown = {}  # strings of each field until here, in any stream
    for line in run.stdout.splitlines():
        cycles, name, rest = LINE.fullmatch(line).groups()
        context, fields = rest.split(" }, {", 1) if " }, {" in rest else (rest, "")
        cpu = int(re.search(r"cpu_id = (\d+)", context).group(1))
        cpu = None if cpu == 2**32 - 1 else cpu  # of a ring that any CPU writes to
        found = values(fields)
        again = set()  # fields that may be empty, and show what they held before
        for index, value in enumerate(found):
            before = shown.setdefault((name, index), set())
            if value in before:
                again.add(index)
            before.add(value)
        streams.setdefault(cpu, []).append((int(cycles), name, found, again))
    return streams


def read_lull(trace):
    command = ["lull", "print", "--json", "--all", trace]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    streams = {}
    for event in map(json.loads, run.stdout.splitlines()):
        fields = flat(event.get("context", {})) + flat(event["fields"])
        streams.setdefault(event["cpu"], []).append((event["cycles"], event["name"], fields))
    return streams


def same(their, our):
    if their is None or our is None or their[:2] != our[:2]:
        return False
    if len(their[2]) != len(our[2]):
        return False
    return all(
        value == our[2][index] or (our[2][index] == "" and index in their[3])
        for index, value in enumerate(their[2])
    )


def main():
    theirs = read_babeltrace(sys.argv[1])
    ours = read_lull(sys.argv[1])
    count = sum(map(len, theirs.values()))
    if count == 0:
        sys.exit(f"{sys.argv[1]} holds no event")
    for cpu in sorted(set(theirs) | set(ours), key=str):
        pairs = zip_longest(theirs.get(cpu, []), ours.get(cpu, []))
        for index, (their, our) in enumerate(pairs):
            if not same(their, our):
                shown = their and their[:3]
                sys.exit(f"CPU {cpu}, event {index}:\nbabeltrace2 {shown}\nlull        {our}")
    print(f"{count} events agree")


main()
