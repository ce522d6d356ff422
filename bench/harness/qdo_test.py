# SPDX-License-Identifier: MIT
"""Tests of the QDo tables' harness: instances, histograms, published figures, and the program."""

from __future__ import annotations

import re
import unittest
from contextlib import ExitStack
from itertools import product

from harness import qdo, rcu
from harness.places import BENCH, ROOT
from harness.plot import Curve
from harness.spread import Spread
from harness.table import Table

HEADER = ROOT / "rcu" / "include" / "lull" / "qdo.h"
TABLES = ("latency", "period", "submission", "overhead", "distribution", "server")


class InstanceTest(unittest.TestCase):
    def test_numbers_are_those_of_the_header(self) -> None:
        text = HEADER.read_text(encoding="utf-8")
        for names, prefix in ((qdo.ALGORITHMS, "QDO_"), (qdo.SUBMISSIONS, "QDO_SUBMIT_")):
            places = [
                re.search(rf"\t{prefix}{name.upper()}\b", text).start() for name in names
            ]
            self.assertEqual(places, sorted(places))

    def test_an_instance_says_what_the_program_reads(self) -> None:
        instance = qdo.Instance("tree", "lock", 500, cpus=4)
        self.assertEqual(instance.words, "3 2 500 0 4")
        self.assertEqual(instance.as_thesis().words, "3 2 500 1 4")
        self.assertEqual(instance.as_each().words, "3 2 500 2 4")

    def test_both_modes_tell_which_is_the_thesiss(self) -> None:
        made = qdo.both_modes(qdo.Instance(), lambda instance, thesis: f"{instance.words} {thesis}")
        self.assertEqual(made[qdo.OURS], "0 1 10000 0 2 False")
        self.assertEqual(made[qdo.THESIS], "0 1 10000 1 2 True")


class CountTest(unittest.TestCase):
    def test_long_periods_have_few_requests_and_short_ones_no_more_than_the_most(self) -> None:
        self.assertEqual(qdo.chain_count(100_000, 300), 3)
        self.assertEqual(qdo.chain_count(10_000, 300), 30)
        self.assertEqual(qdo.chain_count(1, 300), 500)

    def test_four_cpus_are_measured_where_there_are_four(self) -> None:
        self.assertEqual(qdo.measured_cpus(1), [2])
        self.assertEqual(qdo.measured_cpus(2), [2])
        self.assertEqual(qdo.measured_cpus(8), [2, 4])


class HistogramTest(unittest.TestCase):
    def answer(self, **shares: float) -> dict[str, Spread]:
        return {
            f"bin_{index}": Spread((shares.get(f"bin_{index}", 0.0),)) for index in range(qdo.BINS)
        }

    def test_ten_milliseconds_are_the_middle_of_a_bin(self) -> None:
        self.assertAlmostEqual(qdo.bin_ms(40), 10.0)
        self.assertAlmostEqual(qdo.bin_ms(0), 0.001)

    def test_filled_bins_reach_one_beyond_on_each_side(self) -> None:
        answers = [self.answer(bin_40=60.0), self.answer(bin_43=40.0)]
        self.assertEqual(qdo.filled_bins(answers), range(39, 45))

    def test_bins_do_not_go_beyond_those_there_are(self) -> None:
        answers = [self.answer(bin_0=50.0, bin_60=50.0)]
        self.assertEqual(qdo.filled_bins(answers), range(0, qdo.BINS))
        self.assertEqual(qdo.filled_bins([self.answer()]), range(0))


class PublishedTest(unittest.TestCase):
    def table(self) -> Table:
        return Table("qdo_latency", "", quick=True)

    def test_the_thesiss_mode_is_set_beside_the_published_figure(self) -> None:
        spreads = {qdo.OURS: Spread((0.01,)), qdo.THESIS: Spread((20.2,))}
        row = qdo.add_row(self.table(), "snapshot_2_callback", "", "ms", spreads, "Because.")
        self.assertEqual(row.why, "Thesis mode: 2.00 x published. Because.")

    def test_a_simulated_figure_says_so(self) -> None:
        spreads = {qdo.SIMULATED: Spread((10.08,))}
        row = qdo.add_row(self.table(), "snapshot_4_callback", "", "ms", spreads)
        self.assertEqual(row.why, "Thesis mode, simulated: 1.00 x published.")

    def test_words_and_negative_figures_have_no_quotient(self) -> None:
        one = Spread((1.0,))
        for table, key in (("qdo_overhead", "period_10"), ("qdo_server", "batch_2_loss")):
            self.assertEqual(qdo.beside_published(table, key, qdo.THESIS, one), "")

    def test_plots_get_published_figures_as_points(self) -> None:
        table = self.table()
        spreads = {qdo.OURS: Spread((0.01,)), qdo.THESIS: Spread((10.2,))}
        qdo.add_row(table, "tree_2_callback", "tree", "ms", spreads)
        qdo.add_published(table, ["tree_2_callback", "no_such_row"])
        found = table.figures("published_tree_2_callback", qdo.PUBLISHED)
        self.assertEqual(found, Spread((20.14,)))
        curve = qdo.mode_curves([("tree", "tree_2_callback")])[-1]
        points = (("tree", "published_tree_2_callback"),)
        self.assertEqual(curve, Curve(qdo.PUBLISHED, qdo.PUBLISHED, points, "grey", "dotted"))

    def test_units_of_published_parts_are_those_of_the_rows(self) -> None:
        for name in ("qdo_latency", "qdo_period"):
            for key, lines in qdo.report.published(name).items():
                part = key.rsplit("_", 1)[1].replace("time", "callback")
                self.assertEqual({line["unit"] for line in lines}, {qdo.PARTS[part][1]}, key)

    def test_every_table_has_published_figures(self) -> None:
        for name in TABLES:
            self.assertTrue((BENCH / f"qdo_{name}" / "published.csv").exists(), name)


class OverheadTest(unittest.TestCase):
    def test_overhead_is_what_comes_on_top_round_by_round(self) -> None:
        whole, alone = Spread((11.0, 30.0)), Spread((10.0, 20.0))
        self.assertEqual(qdo.overhead_percent(whole, alone).samples, (10.0, 50.0))


class ProgramTest(unittest.TestCase):
    """The measured program and the simulation, with the library that `make all` builds."""

    def test_a_chain_sees_every_part_of_every_request_in_every_mode(self) -> None:
        with ExitStack() as stack:
            program = qdo.subject(stack)
            for algorithm in qdo.ALGORITHMS:
                instance = qdo.Instance(algorithm, period_us=200)
                for made in (instance, instance.as_thesis(), instance.as_each()):
                    answer = rcu.ask(program, qdo.chain(made, 20))
                    self.assertEqual(answer["requests"], 20)
                    bins = sum(answer[f"bin_{index}"] for index in range(qdo.BINS))
                    self.assertAlmostEqual(bins, 100.0, places=1)
                    self.assertGreater(answer["execution_p50_ns"], 0)
                    self.assertGreater(answer["placement_p50_ns"], 0)
                    self.assertGreater(
                        answer["callback_max_ns"], answer["communication_p50_ns"]
                    )

    def test_scripts_find_every_name_whatever_guards_the_table(self) -> None:
        with ExitStack() as stack:
            program = qdo.subject(stack)
            asking = [
                qdo.GUARDS[name] for name in ("each", "batch", "each_rcu", "batch_rcu", "asked")
            ]
            for guard in (*qdo.GUARDS.values(), max(qdo.GUARDS.values()) + 1):
                answer = rcu.ask(program, f"server {qdo.Instance().words} 2 {guard} 2 5")
                self.assertEqual(answer["wrong"], 0)
                self.assertGreater(answer["scripts_per_s"], 0)
                self.assertEqual(answer["requests"] > 0, guard in asking)

    def test_simulated_algorithms_take_the_periods_that_the_thesis_says(self) -> None:
        with ExitStack() as stack:
            program = qdo.simulation(stack)
            found = [
                program.ask(f"chain {number} 10000 2 200 1 1")["callback_ms"]
                for number in range(len(qdo.ALGORITHMS))
            ]
        for latency_ms, periods in zip(found, (1.0, 2.0, 0.5, 2.0)):
            self.assertAlmostEqual(latency_ms / qdo.PERIOD_MS, periods, delta=0.1)

    def test_half_a_period_needs_timers_that_never_rest_and_requests_at_any_time(self) -> None:
        number = list(qdo.ALGORITHMS).index("multi_token")
        with ExitStack() as stack:
            program = qdo.simulation(stack)
            for keep, pause in product((0, 1), (0, 1)):
                found = program.ask(f"chain {number} 10000 2 200 {keep} {pause}")["callback_ms"]
                periods = 0.5 if keep and pause else 1.0
                self.assertAlmostEqual(found / qdo.PERIOD_MS, periods, delta=0.1)

    def test_snapshots_by_each_cpu_take_as_long_and_share_their_words(self) -> None:
        with ExitStack() as stack:
            program = qdo.simulation(stack)
            alone = [program.ask(f"snapshot 64 1 1 {by_cpu}") for by_cpu in (0, 1)]
            crowd = [program.ask(f"snapshot 64 64 16 {by_cpu}") for by_cpu in (0, 1)]
        for answer in (*alone, *crowd):
            self.assertEqual(answer["rounds"], 2)
        self.assertLess(alone[0]["words"], 2 * 64)
        self.assertEqual(alone[1]["words"], 2 * 64 * 63)
        self.assertAlmostEqual(crowd[1]["words"], 2 * 63 / 16, delta=0.01)
        self.assertLess(crowd[0]["words"], 2 * 64)


if __name__ == "__main__":
    unittest.main()
