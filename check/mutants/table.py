# SPDX-License-Identifier: MIT
"""What mutation found: a file for each folder in results, and docs/mutants.md made from them."""
import json
import tomllib

OPENING = """\
<!-- SPDX-License-Identifier: MIT -->
# What the tests notice

`make mutants` changes one line of the code at a time and runs the tests that concern it; a change
that no test notices has survived. `check/mutants/mutants --table` writes this page from
`check/mutants/results`, where each folder has what its last run found, and from
`check/mutants/reasons.toml`.

The tools are universalmutator for C and cargo-mutants for Rust. Changes that do not compile, and
those from which the compiler makes the shipped code or that of another change, are left out.
*Sample* says which of the rest were looked at: 1 of N, chosen by a digest of the changed file (of
Rust, each Nth), or all. The unit tests are asked first, and slower steps of `plan.toml` about what
these leave alive and `reasons.toml` has no reason for.

*The same* gives the results of the shipped code, by the reason that stands below, if perhaps later
or with more work; the score is killed / (mutants - the same). *Survived* has another reason.
*Undecided* is killed by none of the tests that were run, but some were not run yet or reached their
time limit: the table below names them. A folder that is not in the table has not been run.

"""


def percent(killed, tried):
    return f"{100 * killed // tried} %" if tried else "-"


def summary(name, goal, one_of, left_out, rows):
    """What results/*.json holds: only what says something about the code and its tests."""
    steps = {}
    for row in rows:
        if row["verdict"] == "killed":
            steps[row["step"]] = steps.get(row["step"], 0) + 1
    kept = [{key: row[key] for key in ("place", "before", "after", "verdict", "open")}
            for row in rows if row["verdict"] != "killed"]
    kept.sort(key=lambda row: (row["place"], row["before"], row["after"]))
    return {"folder": name, "goal_percent": goal, "sample": one_of, "left_out": left_out,
            "tried": len(rows), "killed": steps, "not_killed": kept}


def summary_again(before, rows):
    """The summary after all that was not killed before was tried once more."""
    found = summary(before["folder"], before["goal_percent"], before["sample"],
                    before["left_out"], rows)
    for step, count in before["killed"].items():
        found["killed"][step] = found["killed"].get(step, 0) + count
    return dict(found, tried=before["tried"])


def summary_path(results, folder):
    return results / (folder.replace("/", "-") + ".json")


def write_summary(results, found):
    results.mkdir(exist_ok=True)
    path = summary_path(results, found["folder"])
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def load_reasons(path):
    """The reasons by (place, before, after): (reason, whether the code does the same)."""
    reasons = {}
    for entry in tomllib.loads(path.read_text()).get("reason", []):
        key = entry["place"], entry["before"], entry["after"]
        reasons[key] = entry["reason"], entry.get("same", False)
    return reasons


def cell(text):
    """Code in a cell of a table."""
    shown = text.replace("|", "\\|").replace("`", "'") or " "
    return f"`{shown}`" if shown.strip() else "nothing"


def page(results, reasons):
    """Return the text of docs/mutants.md, and the reasons that fit no survivor."""
    found = [json.loads(file.read_text()) for file in sorted(results.glob("*.json"))]
    unused = dict(reasons)
    lines = ["| folder | sample | left out | mutants | the same | killed, by | undecided | survived"
             " | score | goal |", "|---|---|---|---|---|---|---|---|---|---|"]
    details = []
    for one in found:
        known = [(row, *reasons.get((row["place"], row["before"], row["after"]), ("", False)))
                 for row in one["not_killed"]]
        same = sum(is_same for _, _, is_same in known)
        others = ["survived" if why else row["verdict"]
                  for row, why, is_same in known if not is_same]
        killed = sum(one["killed"].values())
        by = ", ".join(f"{step} {count}" for step, count in sorted(one["killed"].items()))
        sample = "all" if one["sample"] == 1 else f"1 of {one['sample']}"
        lines.append(f"| `{one['folder']}` | {sample} | {one['left_out']} | {one['tried']} | "
                     f"{same} | {killed}: {by} | {others.count('undecided')} | "
                     f"{others.count('survived')} | {percent(killed, one['tried'] - same)} | "
                     f"{one['goal_percent']} % |")
        if known:
            details += ["", f"## {one['folder']}", "", "| where | line | becomes | why it lives |",
                        "|---|---|---|---|"]
        for row, why, is_same in known:
            unused.pop((row["place"], row["before"], row["after"]), None)
            if is_same:
                why = f"The same: {why}"
            elif not why and row["verdict"] == "undecided":
                why = "undecided: " + ", ".join(row["open"])
            details.append(f"| `{row['place']}` | {cell(row['before'])} | {cell(row['after'])} | "
                           f"{why or '*no reason yet*'} |")
    return OPENING + "\n".join(lines + details) + "\n", sorted(unused)
