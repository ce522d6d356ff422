# SPDX-License-Identifier: MIT
"""Compares a dataset, as DuckDB reads it, with what `lull print --json` says of the same trace:
for each event how many there are, when the first and the last were, and the sums of its numbers.

Usage: read_back.py PRINTED DATASET
"""

import json
import pathlib
import sys
from collections import defaultdict

import duckdb

# Columns of every table: a field that is called like one has an underscore behind its name.
COMMON = ("time", "host", "trace", "cpu", "pid", "tid", "comm", "context")


def column(field):
    return field + "_" if field in COMMON else field


def main():
    printed, dataset = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    events = defaultdict(list)
    for line in printed.read_text().splitlines():
        line = json.loads(line)
        if "name" in line:
            events[line["name"].split("#")[0]].append(line)
    tables = json.loads((dataset / "lull-dataset.json").read_text())["tables"]
    folders = {table["name"]: table["folder"] for table in tables}
    compared = 0
    for name, rows in events.items():
        files = f"read_parquet('{dataset / folders[name]}/**/*.parquet', hive_partitioning = true)"
        numbers = [
            field
            for field in rows[0]["fields"]
            if all(type(row["fields"].get(field)) is int for row in rows)
        ]
        sums = "".join(f', sum("{column(field)}"::hugeint)' for field in numbers)
        found = duckdb.sql(
            f"SELECT count(*), epoch_ns(min(time)), epoch_ns(max(time)){sums} FROM {files}"
        ).fetchall()[0]
        times = [row["time_ns"] for row in rows]
        wanted = [len(rows), min(times), max(times)]
        wanted += [sum(row["fields"][field] for row in rows) for field in numbers]
        if list(found) != wanted:
            sys.exit(f"{name}: DuckDB has {found}, print {wanted} (count, times, {numbers})")
        compared += len(rows)
    hosts = duckdb.sql(
        f"SELECT DISTINCT host FROM read_parquet('{dataset}/calls/**/*.parquet',"
        " hive_partitioning = true)"
    ).fetchall()
    if compared < 100 or len(hosts) != 1:
        sys.exit(f"only {compared} events of {hosts} were compared")
    print(f"{compared} events of {len(events)} names agree")


main()
