# SPDX-License-Identifier: MIT
"""Mutants of a crate: cargo-mutants makes and tries them, this reads what it found."""
import json
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
    status = subprocess.run(command, cwd=tree.place, check=False).returncode
    if status not in (0, 2, 3):
        raise RuntimeError(f"cargo-mutants ends with status {status} for crate {crate}")
    return rows_of(output)


def rows_of(output):
    """Read what cargo-mutants has left, runs before the last one included."""
    rows = {}
    earlier = sorted(output.glob("mutants.out.old*/outcomes.json"))
    for file in earlier + [output / "mutants.out" / "outcomes.json"]:
        for outcome in json.loads(file.read_text())["outcomes"]:
            if outcome["scenario"] == "Baseline":
                continue
            mutant = outcome["scenario"]["Mutant"]
            verdict = VERDICTS.get(outcome["summary"])
            if verdict:  # else it does not build
                rows[mutant["name"]] = {
                    "path": mutant["file"], "before": mutant["name"],
                    "after": mutant["replacement"], "verdict": verdict, "step": "the crate's own",
                    "open": []}
    return list(rows.values())
