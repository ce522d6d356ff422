# SPDX-License-Identifier: MIT
"""Tests of the machinery that mutates: what it leaves out, what it believes, what it writes."""
import json
import pathlib
import subprocess
import tempfile
import tomllib
import unittest
import unittest.mock

import planting
import rust
import table
import trying

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SHIPPED = '#include "more.h"\nint twice(int n)\n{\n\treturn n * TWO; /* both */\n}\n'


def mutant_of(path, shipped, before, after):
    text = shipped.replace(before, after)
    assert text != shipped
    return planting.Mutant(path, path, text, *planting.difference(shipped, text))


class Scratch(unittest.TestCase):
    """A repository with one C file, its header and a test of it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "root"
        (self.root / "part").mkdir(parents=True)
        (self.root / "part" / "twice.c").write_text(SHIPPED)
        (self.root / "part" / "more.h").write_text("#define TWO 2\n#define OTHER 3\n")
        (self.root / "part" / "test.sh").write_text("grep -q 'n . TWO' part/twice.c\n")
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.folder = {"files": ["part/twice.c", "part/more.h"], "units": ["part/twice.c"],
                       "flags": "-Ipart",
                       "step": [{"name": "test", "run": "bash part/test.sh", "limit_s": 20,
                                 "inputs": ["part/test.sh"]}]}
        self.tree = trying.Tree(self.root, pathlib.Path(folder.name) / "tree")
        self.tree.refresh()

    def found(self):
        return trying.Found(self.root.parent / "found", self.root, self.folder)

    def step(self, command, **more):
        return dict({"name": "one", "run": command, "limit_s": 20}, **more)


class Planting(Scratch):
    def sort_out(self, *mutants):
        run_all = lambda function, items: [function(item) for item in items]
        kept = self.root.parent / "codes"
        return planting.Compiler(self.root, self.folder, kept).sort_out(list(mutants), run_all)

    def test_difference_names_the_lines_that_differ(self):
        self.assertEqual(planting.difference("a\nb\nc\n", "a\nx  y\nc\n"), (2, "b", "x y"))
        self.assertEqual(planting.difference("a\nb\n", "a\nnew\nb\n"), (2, "b", "new b"))
        self.assertEqual(planting.difference("a\nb\n", "a\n"), (2, "b", ""))

    def test_place_names_the_function_and_which_of_equal_lines(self):
        text = ("#define A 1\nstatic int one(int n)\n{\n\treturn n;\n}\n\n"
                "int two(int n,\n\tint m)\n{\n\tif (n) {\n"
                "\t\treturn n;\n\t}\n\treturn n;\n}\nint n;\n")
        places = [planting.place_of("f.c", text, line) for line in (1, 4, 11, 13, 15)]
        self.assertEqual(places, ["f.c", "f.c: one()", "f.c: two()", "f.c: two(), 2", "f.c"])

    def test_comments_and_what_does_not_compile_are_left_out(self):
        comment = mutant_of("part/twice.c", SHIPPED, "both", "all")
        broken = mutant_of("part/twice.c", SHIPPED, "return", "retrun")
        real = mutant_of("part/twice.c", SHIPPED, "n * TWO", "n + TWO")
        self.assertEqual(self.sort_out(comment, broken, real), ([real], 1, 1))

    def test_calls_of_what_is_not_declared_do_not_compile(self):
        undeclared = mutant_of("part/twice.c", SHIPPED, "return n", "return more(n)")
        self.assertEqual(self.sort_out(undeclared), ([], 1, 0))

    def test_what_was_compiled_is_not_compiled_again_until_a_header_changes(self):
        real = mutant_of("part/twice.c", SHIPPED, "n * TWO", "n + TWO")
        self.sort_out(real)
        with unittest.mock.patch.object(planting.Compiler, "compile", return_value="new"):
            self.assertEqual(self.sort_out(real), ([real], 0, 0))
            (self.root / "part" / "more.h").write_text("#define TWO 4\n")
            self.assertEqual(self.sort_out(real), ([], 0, 1))

    def test_two_ways_to_the_same_code_are_tried_once(self):
        one = mutant_of("part/twice.c", SHIPPED, "n * TWO", "n - 1")
        other = mutant_of("part/twice.c", SHIPPED, "n * TWO", "n + -1")
        self.assertEqual(self.sort_out(one, other), ([one], 0, 1))

    def test_a_header_reaches_the_code_of_its_units(self):
        header = (self.root / "part" / "more.h").read_text()
        used = mutant_of("part/more.h", header, "TWO 2", "TWO 5")
        unused = mutant_of("part/more.h", header, "OTHER 3", "OTHER 4")
        self.assertEqual(self.sort_out(used, unused), ([used], 0, 1))

    def test_a_larger_sample_holds_the_smaller_ones(self):
        mutants = [planting.Mutant("f", "f", str(i), 1, "", "") for i in range(400)]
        small = [m for m in mutants if planting.is_in_sample(m, 20)]
        large = [m for m in mutants if planting.is_in_sample(m, 10)]
        self.assertTrue(small and set(small) < set(large))


class Trying(Scratch):
    FOREVER = float("inf")

    def test_a_step_that_fails_kills(self):
        self.assertEqual(trying.attempt(self.tree, self.step("exit 3")), "killed")
        self.assertEqual(trying.attempt(self.tree, self.step("true")), "passed")
        self.assertEqual(trying.attempt(self.tree, self.step("true", build="false")), "killed")

    def test_a_line_that_tells_of_a_failure_ends_the_step(self):
        step = self.step("echo FAIL early; sleep 60; true", limit_s=50)
        self.assertEqual(trying.attempt(self.tree, step), "killed")

    def test_a_limit_kills_only_where_a_hang_means_a_fault(self):
        slow = self.step("sleep 60", limit_s=0.2)
        self.assertEqual(trying.attempt(self.tree, slow), "limit")
        slow["hangs"] = True
        self.assertEqual(trying.attempt(self.tree, slow), "killed")

    def test_a_fault_that_the_tests_have_without_a_mutant_stops_the_run(self):
        with self.assertRaisesRegex(RuntimeError, "without any mutant"):
            trying.baseline([self.tree], self.step("false"))

    def test_mutants_are_tried_in_a_copy_that_is_restored(self):
        noticed = mutant_of("part/twice.c", SHIPPED, "n * TWO", "n")
        missed = mutant_of("part/twice.c", SHIPPED, "n * TWO", "n + TWO")
        found, step = self.found(), self.folder["step"][0]
        trying.try_step([self.tree], step, [noticed, missed], found, lambda _: None, self.FOREVER)
        self.assertEqual(found.row(noticed)["step"], "test")
        self.assertEqual(found.row(missed)["verdict"], "survived")
        self.assertEqual((self.tree.place / "part" / "twice.c").read_text(), SHIPPED)
        self.assertEqual((self.root / "part" / "twice.c").read_text(), SHIPPED)

    def test_nothing_is_begun_when_the_time_is_over(self):
        mutant = mutant_of("part/twice.c", SHIPPED, "n * TWO", "n")
        found, step = self.found(), self.folder["step"][0]
        trying.try_step([self.tree], step, [mutant], found, lambda _: None, 0)
        self.assertEqual(found.row(mutant)["verdict"], "undecided")
        self.assertEqual(found.row(mutant)["open"], ["test"])

    def test_a_later_step_can_kill_what_another_left_undecided(self):
        mutant = mutant_of("part/twice.c", SHIPPED, "n * TWO", "n")
        self.folder["step"].append(dict(self.folder["step"][0], name="later"))
        found = self.found()
        found.add(mutant, self.folder["step"][0], "limit")
        self.assertEqual(found.row(mutant)["open"], ["test", "later"])
        found.add(mutant, self.folder["step"][1], "killed")
        self.assertEqual((found.row(mutant)["verdict"], found.row(mutant)["step"]),
                         ("killed", "later"))

    def test_a_run_goes_on_where_it_was_until_code_or_tests_change(self):
        killed = mutant_of("part/twice.c", SHIPPED, "n * TWO", "n")
        lives = mutant_of("part/twice.c", SHIPPED, "n * TWO", "n + TWO")
        found, step = self.found(), self.folder["step"][0]
        found.add(killed, step, "killed")
        found.add(lives, step, "passed")
        known = lambda: [bool(self.found().get(mutant, step)) for mutant in (killed, lives)]
        self.assertEqual(known(), [True, True])
        (self.root / "part" / "test.sh").write_text("false\n")
        self.assertEqual(known(), [True, False])
        (self.root / "part" / "more.h").write_text("#define TWO 4\n")
        self.assertEqual(known(), [False, False])


class Table(unittest.TestCase):
    ROWS = [{"place": "f.c", "before": "a | b", "after": "a", "verdict": "survived", "step": None,
             "open": []},
            {"place": "f.c", "before": "x", "after": "", "verdict": "undecided", "step": None,
             "open": ["slow"]},
            {"place": "f.c", "before": "y", "after": "z", "verdict": "killed", "step": "quick",
             "open": []}]

    def page(self, reasons):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder)
            table.write_summary(results, table.summary("core/x", 95, 10, 7, self.ROWS))
            return table.page(results, reasons)

    def test_page_shows_the_score_and_each_mutant_that_lives(self):
        text, unused = self.page({("f.c", "a | b", "a"): ("Nobody can tell.", False)})
        self.assertIn("| `core/x` | 1 of 10 | 7 | 3 | 0 | 1: quick 1 | 1 | 1 | 33 % | 95 % |", text)
        self.assertIn("| `f.c` | `a \\| b` | `a` | Nobody can tell. |", text)
        self.assertIn("| `f.c` | `x` | nothing | undecided: slow |", text)
        self.assertEqual(unused, [])

    def test_what_does_the_same_is_no_part_of_the_score(self):
        text, _ = self.page({("f.c", "a | b", "a"): ("There is no b.", True)})
        self.assertIn("| `core/x` | 1 of 10 | 7 | 3 | 1 | 1: quick 1 | 1 | 0 | 50 % | 95 % |", text)
        self.assertIn("| `f.c` | `a \\| b` | `a` | The same: There is no b. |", text)

    def test_a_reason_for_no_survivor_is_reported(self):
        gone = ("f.c", "gone", "by now")
        self.assertEqual(self.page({gone: ("Why.", False)})[1], [gone])

    def test_committed_page_is_what_results_and_reasons_make(self):
        text, unused = table.page(HERE / "results", table.load_reasons(HERE / "reasons.toml"))
        self.assertEqual((ROOT / "docs" / "mutants.md").read_text(), text)
        self.assertEqual(unused, [])


class Rust(unittest.TestCase):
    """With a program in the place of cargo-mutants, which misses the mutants b and c."""

    TOOL = """#!/bin/bash
echo "$@" >> "$0.calls"
while [ "$1" != -o ]; do shift; done
mkdir -p "$2/mutants.out"
cp "$0.$(basename "$2" | cut -d ' ' -f 1)" "$2/mutants.out/outcomes.json"
exit 2
"""

    def outcomes(self, **summaries):
        return json.dumps({"outcomes": [{"scenario": "Baseline", "summary": "Success"}] + [
            {"scenario": {"Mutant": {"name": f"tools/a.rs:3:1: {name} (x)", "replacement": "()"}},
             "summary": summary} for name, summary in summaries.items()]})

    def run_on(self, folder, only=None):
        with tempfile.TemporaryDirectory() as place:
            root = pathlib.Path(place)
            tool = root / "tool"
            tool.write_text(self.TOOL)
            tool.chmod(0o755)
            (root / "tool.quick").write_text(self.outcomes(
                a="CaughtMutant", b="MissedMutant", c="MissedMutant", d="Unviable"))
            (root / "tool.all").write_text(self.outcomes(b="Timeout", c="MissedMutant"))
            subprocess.run(["git", "init", "-q", place], check=True)
            tree = trying.Tree(root, root / "tree")
            rows = rust.run(str(tool), tree, folder, 5, root / "out", only)
            calls = (root / "tool.calls").read_text().splitlines()
        return {row["before"][-5]: (row["verdict"], row["step"]) for row in rows}, calls

    def test_all_tests_are_asked_about_what_the_quick_ones_miss(self):
        found, calls = self.run_on({"crate": "a", "quick": ["--lib"]})
        self.assertEqual(found, {"a": ("killed", "quick tests"), "b": ("killed", "all tests"),
                                 "c": ("survived", None)})
        self.assertIn("--shard 0/5 --sharding round-robin -- --lib", calls[0])
        self.assertIn(r"--re ^(tools/a\.rs:3:1:\ b\ \(x\)|tools/a\.rs:3:1:\ c\ \(x\))$", calls[1])

    def test_without_quick_ones_all_are_asked_at_once(self):
        found, calls = self.run_on({"crate": "a"})
        self.assertEqual(found, {"b": ("killed", "all tests"), "c": ("survived", None)})
        self.assertEqual(len(calls), 1)

    def test_what_lived_before_is_tried_again_and_nothing_else(self):
        names = [f"tools/a.rs:3:1: {name} (x)" for name in "bc"]
        found, calls = self.run_on({"crate": "a", "quick": ["--lib"]}, names)
        self.assertEqual(found, {"b": ("killed", "all tests"), "c": ("survived", None)})
        self.assertEqual(len(calls), 1)
        self.assertIn(r"--re ^(tools/a\.rs:3:1:\ b\ \(x\)|tools/a\.rs:3:1:\ c\ \(x\))$", calls[0])
        with self.assertRaises(RuntimeError):
            self.run_on({"name": "a", "crate": "a"}, names + ["tools/a.rs:4:1: gone"])

    def test_kills_of_both_runs_count(self):
        rows = [{"place": "a", "before": name, "after": "x", "verdict": verdict, "step": step,
                 "open": []} for name, verdict, step in
                (("b", "killed", "all tests"), ("c", "survived", None))]
        before = table.summary("a", 90, 5, 0, rows)
        again = table.summary_again(before, [dict(rows[1], verdict="killed", step="all tests")])
        self.assertEqual((again["killed"], again["not_killed"]), ({"all tests": 2}, []))
        self.assertEqual((again["tried"], again["sample"]), (2, 5))


class Plan(unittest.TestCase):
    PLAN = tomllib.loads((HERE / "plan.toml").read_text())["folder"]

    def test_every_file_and_every_test_of_the_plan_is_there(self):
        for folder in self.PLAN:
            if "crate" in folder:
                self.assertTrue((ROOT / "tools" / folder["crate"] / "Cargo.toml").is_file())
                continue
            for name in folder["files"] + folder.get("units", []):
                self.assertTrue((ROOT / name).is_file(), name)
            for step in folder["step"]:
                for pattern in step["inputs"]:
                    self.assertTrue(any(ROOT.glob(pattern)), pattern)

    def test_the_plan_leaves_out_no_file_of_its_folders(self):
        for folder in self.PLAN:
            planned = set(folder.get("files", []))
            if "crate" not in folder:
                there = {str(file.relative_to(ROOT)) for file in
                         (ROOT / folder["name"]).glob("*.c") if not file.name.endswith("_test.c")}
                self.assertEqual(there - planned, set(), folder["name"])

    def test_the_quickest_tests_of_each_folder_of_c_compile(self):
        for folder in self.PLAN:
            if "crate" not in folder and "build" in folder["step"][0]:
                made = subprocess.run(["bash", "-c", folder["step"][0]["build"]], cwd=ROOT,
                                      capture_output=True, text=True, timeout=300)
                self.assertEqual(made.returncode, 0, f"{folder['name']}: {made.stderr}")


if __name__ == "__main__":
    unittest.main()
