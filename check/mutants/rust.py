# SPDX-License-Identifier: MIT
"""Mutants of a crate: cargo-mutants makes and tries them, this reads what it found."""
import json
import os
import subprocess

from trying import BUILD_LIMIT_S

VERDICTS = {"CaughtMutant": "killed", "Timeout": "killed", "MissedMutant": "survived"}


def run(cargo_mutants, tree, folder, one_of, output):
    """Try a sample of a crate's mutants in a tree. Return: rows as trying.Found keeps them.

    What an earlier run caught is not tried again: cargo-mutants reads its own output for that.
    """
    crate = folder["crate"]
    tree.refresh()
    output.mkdir(parents=True, exist_ok=True)
    command = [cargo_mutants, "mutants", "--in-place", "--iterate", "--no-shuffle", "-d",
               str(tree.place), "-p", crate, "-o", str(output), "--baseline", "run",
               "--build-timeout", str(BUILD_LIMIT_S), "--colors", "never"]
    if one_of > 1:
        command += ["--shard", f"0/{one_of}", "--sharding", "round-robin"]
    # 2: mutants were missed; 3: some ran into their limit; 0: all were caught.
    environment = dict(os.environ, CARGO_TARGET_DIR=str(tree.place / "target"))
    status = subprocess.run(command, cwd=tree.place, env=environment, check=False).returncode
    if status not in (0, 2, 3):
        raise RuntimeError(f"cargo-mutants ends with status {status} for crate {crate}")
    return rows_of(output)


def row(name, after, verdict):
    """The name begins with the file."""
    return {"path": name.split(":")[0], "before": name, "after": after, "verdict": verdict,
            "step": "the crate's own", "open": []}


def rows_of(output):
    """Read what cargo-mutants has left: its last run, and what runs before that caught."""
    last = output / "mutants.out"
    caught = last / "previously_caught.txt"
    names = caught.read_text().splitlines() if caught.exists() else []
    rows = {name: row(name, "", "killed") for name in names}
    for outcome in json.loads((last / "outcomes.json").read_text())["outcomes"]:
        verdict = VERDICTS.get(outcome["summary"])
        if outcome["scenario"] != "Baseline" and verdict:  # else it does not build
            mutant = outcome["scenario"]["Mutant"]
            rows[mutant["name"]] = row(mutant["name"], mutant["replacement"], verdict)
    return list(rows.values())
