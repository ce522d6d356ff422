# SPDX-License-Identifier: MIT
"""Mutants of a crate: cargo-mutants makes and tries them, this reads what it found."""
import json
import os
import re
import subprocess

from trying import BUILD_LIMIT_S

QUICK_TESTS, ALL_TESTS = "quick tests", "all tests"

VERDICTS = {"CaughtMutant": "killed", "Timeout": "killed", "MissedMutant": "survived"}
# A test that spins ends by its CPU time, whatever else the machine has to do.
CPU_LIMIT_S = {QUICK_TESTS: 30, ALL_TESTS: 60}
TEST_LIMIT_S = 1200


def run(cargo_mutants, tree, folder, one_of, output, only=None):
    """Try a sample of a crate's mutants in a tree. Return: rows as trying.Found keeps them.

    First the tests that the plan calls quick; then all of the crate's, on what is still alive.
    Where `only` is a list of names, these mutants are tried instead of a sample, by all tests.
    """
    tree.refresh()
    output.mkdir(parents=True, exist_ok=True)
    command = [cargo_mutants, "mutants", "--in-place", "--no-shuffle", "-d", str(tree.place),
               "-p", folder["crate"], "--build-timeout", str(BUILD_LIMIT_S), "--timeout",
               str(TEST_LIMIT_S), "--colors", "never"]
    # Without debug information it builds in half the time.
    environment = dict(os.environ, CARGO_TARGET_DIR=str(tree.place / "target"),
                       CARGO_PROFILE_DEV_DEBUG="0")

    def mutate(step, *more):
        """Return the rows by name."""
        place = output / step
        limit = ["bash", "-c", f'ulimit -t {CPU_LIMIT_S[step]}; exec "$@"', "-"]
        status = subprocess.run(limit + command + ["-o", str(place), *more], cwd=tree.place,
                                env=environment, check=False).returncode
        # 2: mutants were missed; 3: some ran into their limit; 0: all were caught.
        if status not in (0, 2, 3):
            raise RuntimeError(f"cargo-mutants ends with status {status} in {tree.place}")
        return rows_of(place / "mutants.out", step)

    def mutate_named(names):
        # cargo-mutants tries what deletes a field whatever the expression is.
        files = sorted({name.split(":")[0] for name in names})
        chosen = [word for file in files for word in ("--file", file)]
        return mutate(ALL_TESTS, *chosen, "--re",
                      f"^({'|'.join(re.escape(name) for name in names)})$")

    if only is not None:
        rows = mutate_named(only)
        if not rows.keys() >= set(only):
            raise RuntimeError(f"{folder['name']} has changed: its sample is to be tried anew")
        return [rows[name] for name in only]
    shard = ["--shard", f"0/{one_of}", "--sharding", "round-robin"] if one_of > 1 else []
    if "quick" not in folder:
        return list(mutate(ALL_TESTS, *shard).values())
    rows = mutate(QUICK_TESTS, *shard, "--", *folder["quick"])
    alive = [name for name in rows if rows[name]["verdict"] != "killed"]
    if alive:
        found = mutate_named(alive)
        rows.update({name: found[name] for name in rows.keys() & found.keys()})
    return list(rows.values())


def rows_of(last, step):
    """Read what cargo-mutants has left of a run. Return: the rows by the names of mutants."""
    rows = {}
    for outcome in json.loads((last / "outcomes.json").read_text())["outcomes"]:
        verdict = VERDICTS.get(outcome["summary"])
        if outcome["scenario"] != "Baseline" and verdict:  # else it does not build
            mutant = outcome["scenario"]["Mutant"]
            name = mutant["name"]
            rows[name] = {"place": name.split(":")[0], "before": name,
                          "after": mutant["replacement"], "verdict": verdict,
                          "step": step if verdict == "killed" else None, "open": []}
    return rows
