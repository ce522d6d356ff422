# SPDX-License-Identifier: MIT
"""Tests of the harness itself: statistics, packet headers, results and the report."""

from __future__ import annotations

import json
import struct
import tempfile
import unittest
from pathlib import Path

from harness import answers, commands, packets, report, rounds, suite, table
from harness.places import BENCH
from harness.programs import ProgramError
from harness.spread import Spread, digits


class SpreadTest(unittest.TestCase):
    def test_median_is_not_moved_by_one_disturbed_round(self) -> None:
        self.assertEqual(Spread((10.0, 11.0, 900.0, 10.0, 11.0)).median, 11.0)

    def test_ratio_pairs_rounds_so_a_slow_round_cancels(self) -> None:
        ratio = Spread((10.0, 20.0, 10.0)).over(Spread((5.0, 10.0, 5.0)))
        self.assertEqual((ratio.minimum, ratio.maximum), (2.0, 2.0))

    def test_spreads_of_different_runs_are_not_paired(self) -> None:
        with self.assertRaises(ValueError):
            Spread((1.0,)).over(Spread((1.0, 2.0)))

    def test_a_spread_without_samples_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            Spread(())

    def test_digits_keeps_three_and_never_an_exponent(self) -> None:
        shown = [digits(value) for value in (0.0612, 0.5, 12.34, 123.4, 1234567.8, 3.0)]
        self.assertEqual(shown, ["0.061", "0.50", "12.3", "123", "1,234,568", "3"])


class RoundsTest(unittest.TestCase):
    def test_each_round_takes_every_variant_and_the_order_turns(self) -> None:
        order: list[str] = []
        variants = {name: lambda name=name: order.append(name) or 1.0 for name in "abc"}
        taken = rounds.alternate(variants, 3)
        self.assertEqual("".join(order), "abc" + "abc" + "bca" + "cab")
        self.assertEqual({len(spread.samples) for spread in taken.values()}, {3})

    def test_rounds_that_take_too_long_are_fewer_and_each_variant_has_as_many(self) -> None:
        variants = {name: lambda: 1.0 for name in "ab"}
        taken = rounds.alternate(variants, 9, within_s=0.0)
        self.assertEqual([len(spread.samples) for spread in taken.values()], [3, 3])


class CommandsTest(unittest.TestCase):
    def test_the_memory_of_a_command_is_that_of_its_peak_in_bytes(self) -> None:
        taken = commands.take(["python3", "-c", "x = bytearray(b'1') * 300_000_000"])
        self.assertGreater(taken.peak_bytes, 300e6)
        self.assertLess(taken.peak_bytes, 600e6)


class AnswersTest(unittest.TestCase):
    def say(self, *lines: str) -> list[str]:
        return ["printf", "%s\\n", *lines]

    def test_rows_that_differ_are_named_with_the_side_that_has_them(self) -> None:
        ours, peer = self.say('{"n":1}', '{"n":2}'), self.say('{"n": 1}', '{"n": 3}')
        answers.same("q", {"ours": ours, "peer": ours}, 10)
        with self.assertRaisesRegex(ProgramError, "q: peer and ours differ: row 1: .*3.*2"):
            answers.same("q", {"ours": ours, "peer": peer}, 10)
        with self.assertRaisesRegex(ProgramError, "differ: more rows"):
            answers.same("q", {"ours": ours, "peer": ours[:-1]}, 10)

    def test_an_answer_without_rows_is_none(self) -> None:
        with self.assertRaisesRegex(ProgramError, "ours found no rows"):
            answers.same("q", {"ours": ["true"], "peer": ["true"]}, 10)

    def test_a_time_is_the_same_however_it_is_written(self) -> None:
        one, other = '{"time":"2023-11-14 22:13:20.5"}', '{"time":"2023-11-14T22:13:20.500000"}'
        answers.same("q", {"ours": self.say(one), "peer": self.say(other)}, 10)

    def test_a_side_may_have_its_values_as_texts(self) -> None:
        ours = {"ours": self.say('{"n":2,"p":1.5,"is":true,"name":"a"}')}
        row = {"n": "2", "p": "1.5", "is": "1", "name": "a"}
        answers.same("q", ours, 10, {"peer": [row]})
        for other in ({"n": "3"}, {"is": "0"}, {"name": "b"}, {"p": "[NULL]"}):
            with self.assertRaisesRegex(ProgramError, "q: peer and ours differ: row 0"):
                answers.same("q", ours, 10, {"peer": [row | other]})
        with self.assertRaisesRegex(ProgramError, "differ: more rows"):
            answers.same("q", ours, 10, {"peer": [row, row]})


def packet(layout: packets.Layout, content: int, size: int, lost: int) -> bytes:
    """A packet of zeros with a header in that layout."""
    data = bytearray(size)
    struct.pack_into("=I", data, 0, packets.STREAM_MAGIC)
    for offset, value in (
        (layout.content_size, content * 8),
        (layout.packet_size, size * 8),
        (layout.discarded, lost),
    ):
        struct.pack_into("=Q", data, offset, value)
    return bytes(data)


class PacketsTest(unittest.TestCase):
    def test_totals_add_streams_and_take_each_streams_last_lost_count(self) -> None:
        for layout in (packets.LULL, packets.LTTNG):
            with self.subTest(layout.name), tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                (folder / "a").write_bytes(
                    packet(layout, 300, 4096, 1) + packet(layout, 200, 4096, 7)
                )
                (folder / "b").write_bytes(packet(layout, 120, 4096, 2))
                (folder / "metadata").write_bytes(b"/* CTF 1.8 */\n")
                sums = packets.totals(folder, layout)
                self.assertEqual(sums.packet_count, 3)
                self.assertEqual(sums.content_bytes, 620)
                self.assertEqual(sums.lost_count, 9)

    def test_a_packet_size_of_zero_is_an_error_and_not_an_endless_loop(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            broken = packet(packets.LULL, 112, 4096, 0)
            Path(name, "a").write_bytes(broken[:48] + bytes(8) + broken[56:])
            with self.assertRaises(ValueError):
                packets.totals(Path(name), packets.LULL)


class TableTest(unittest.TestCase):
    def make(self) -> table.Table:
        made = table.Table("event_enabled", "Enabled event", quick=False)
        row = made.add(
            "two_words", "event", "ns", Spread((10.0, 12.0, 11.0)),
            {"peer": Spread((80.0, 84.0, 77.0))}, why="because | of this",
        )
        row.targets.append(table.at_most("at most 10", 11.0, 10.0))
        return made

    def test_results_read_back_as_they_were_written(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            self.make().write(Path(name))
            found = table.read(Path(name, "event_enabled.json"))
        self.assertEqual(found, self.make().results())

    def test_a_file_has_medians_and_extremes_and_no_samples(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            self.make().write(Path(name))
            self.assertEqual([path.name for path in Path(name).iterdir()], ["event_enabled.json"])
            text = Path(name, "event_enabled.json").read_text(encoding="utf-8")
        row = json.loads(text)["rows"][0]
        ours = {"rounds": 3, "median": 11.0, "minimum": 10.0, "maximum": 12.0}
        self.assertEqual(row["ours"], ours)
        self.assertEqual(row["peers"]["peer"]["median"], 80.0)
        # Round by round 8, 7 and 7: not the quotient of the medians.
        self.assertEqual((row["advantage"]["rounds"], row["advantage"]["median"]), (3, 7.0))

    def test_results_of_another_version_are_named_and_not_guessed(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            Path(name, "event_enabled.json").write_text("{}", encoding="utf-8")
            with self.assertRaisesRegex(ValueError, "event_enabled.json: not written by this"):
                table.read(Path(name, "event_enabled.json"))

    def test_a_target_says_by_how_much_it_was_missed(self) -> None:
        self.assertEqual(table.at_most("", 11.0, 10.0).verdict(), "missed by 10 %: 11")
        self.assertEqual(table.at_least("", 5.0, 6.0).verdict(), "missed by 17 %: 5")
        self.assertEqual(table.at_least("", 6.0, 6.0).verdict(), "met: 6")

    def test_advantage_is_above_one_when_ours_is_better_either_way(self) -> None:
        fast, slow = Spread((2.0,)), Spread((8.0,))
        self.assertEqual(table.Row("", "", "ns", fast, {"p": slow}).advantage().median, 4.0)
        rate = table.Row("", "", "events/s", slow, {"p": fast}, higher_is_better=True)
        self.assertEqual(rate.advantage().median, 4.0)

    def test_a_difference_not_told_from_zero_has_no_ratio(self) -> None:
        row = table.Row("", "", "ms", Spread((-0.1, 0.1, 0.2)), {"p": Spread((2.0, 2.0, 2.0))})
        self.assertIsNone(row.advantage())

    def test_report_shows_published_peer_ours_ratio_and_missed_targets(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "machine.json").write_text(json.dumps({"cpu": "a CPU"}), encoding="utf-8")
            self.make().write(folder)
            text = report.write(folder, list(suite.BENCHES)).read_text(encoding="utf-8")
        self.assertIn("119 ns (T table 5.1", text)
        self.assertIn("| peer 80 [77..84] | 11 [10..12] | 7 x | because \\| of this |", text)
        self.assertIn("| event_enabled | event: at most 10 | missed by 10 %: 11 |", text)


class LayoutTest(unittest.TestCase):
    def test_every_bench_of_the_suite_has_its_files(self) -> None:
        for name in suite.BENCHES:
            with self.subTest(name):
                self.assertTrue((BENCH / name / "run").stat().st_mode & 0o100)
                self.assertTrue((BENCH / name / "README.md").exists())


if __name__ == "__main__":
    unittest.main()
