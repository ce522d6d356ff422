# SPDX-License-Identifier: MIT
"""Mutants of a crate: cargo-mutants makes and tries them, this reads what it found."""
import json
import os
import shutil
import subprocess

from trying import BUILD_LIMIT_S, digest_of, tracked_files

VERDICTS = {"CaughtMutant": "killed", "Timeout": "killed", "MissedMutant": "survived"}
# A test that spins ends by its CPU time, whatever else the machine has to do.
CPU_LIMIT_S = 120
TEST_LIMIT_S = 1200


def forget_other_code(tree, crate, output):
    """What was caught counts while the crate's sources are the same."""
    sources = [name for name in tracked_files(tree.root) if name.startswith(f"tools/{crate}/src/")]
    digest, noted = digest_of(tree.root, sources), output / "sources"
    if output.exists() and (not noted.exists() or noted.read_text() != digest):
        shutil.rmtree(output)
    output.mkdir(parents=True, exist_ok=True)
    noted.write_text(digest)


def run(cargo_mutants, tree, folder, one_of, output):
    """Try a sample of a crate's mutants in a tree. Return: rows as trying.Found keeps them.

    First the tests that the plan calls quick; then all of the crate's, on what is still alive.
    What an earlier run caught is not tried again: cargo-mutants reads its own output for that.
    """
    crate = folder["crate"]
    tree.refresh()
    forget_other_code(tree, crate, output)
    command = ["bash", "-c", f'ulimit -t {CPU_LIMIT_S}; exec "$@"', "-", cargo_mutants, "mutants",
               "--in-place", "--iterate", "--no-shuffle", "-d", str(tree.place), "-p", crate,
               "-o", str(output), "--build-timeout", str(BUILD_LIMIT_S), "--timeout",
               str(TEST_LIMIT_S), "--colors", "never"]
    if one_of > 1:
        command += ["--shard", f"0/{one_of}", "--sharding", "round-robin"]
    # Without debug information it builds in half the time.
    environment = dict(os.environ, CARGO_TARGET_DIR=str(tree.place / "target"),
                       CARGO_PROFILE_DEV_DEBUG="0")
    baseline = "run"
    for tests in ([["--", *folder["quick"]]] if "quick" in folder else []) + [[]]:
        # 2: mutants were missed; 3: some ran into their limit; 0: all were caught.
        status = subprocess.run(command + ["--baseline", baseline] + tests, cwd=tree.place,
                                env=environment, check=False).returncode
        if status not in (0, 2, 3):
            raise RuntimeError(f"cargo-mutants ends with status {status} for crate {crate}")
        baseline = "skip"
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
