# SPDX-License-Identifier: MIT
"""Tests of plots: which points are drawn, what gnuplot is told, and what becomes of its SVG."""

from __future__ import annotations

import json
import tempfile
import unittest
import xml.etree.ElementTree
from dataclasses import asdict
from pathlib import Path

from harness import plot, report, suite
from harness.plot import Curve, Plot
from harness.spread import Spread
from harness.table import Table


def table_of(**rows: tuple[float, float] | None) -> Table:
    """A table with ours and the peer's figure in each row."""
    table = Table("event_bytes", "Bytes", quick=False)
    for key, figures in rows.items():
        if figures:
            table.add(key, key, "ns", Spread((figures[0],)), {"peer": Spread((figures[1],))})
    return table


def curves_of(*points) -> tuple[Curve, ...]:
    return (Curve("ours", "ours", points), Curve("the peer's", "peer", points, "orange", "dashed"))


def lines_of(*points, **options) -> Plot:
    return Plot("p", "A <title>", "x (cycles)", "y (ns)", curves_of(*points), **options)


class ScriptTest(unittest.TestCase):
    def test_points_are_medians_with_minimum_and_maximum(self) -> None:
        table = Table("t", "", quick=False)
        table.add("a", "", "ns", Spread((3.0, 1.0, 2.0)))
        told = plot.script(lines_of((10, "a")), table.figures)
        self.assertIn("\n10 2 1 3\nEND\n", told)

    def test_x_may_be_another_rows_figure_of_the_same_variant(self) -> None:
        table = table_of(rate=(100, 50), time=(7, 9))
        told = plot.script(lines_of(("rate", "time")), table.figures)
        self.assertIn("\n100 7 7 7\n", told)
        self.assertIn("\n50 9 9 9\n", told)

    def test_a_point_that_has_no_place_on_a_logarithmic_axis_is_left_out(self) -> None:
        table = table_of(a=(0, 5), b=(3, 4))
        told = plot.script(lines_of((1, "a"), (2, "b"), log_y=True), table.figures)
        self.assertNotIn("\n1 0 0 0\n", told)
        self.assertIn("\n1 5 5 5\n", told)
        self.assertIn("set logscale y\n", told)

    def test_a_side_that_was_not_measured_has_no_curve(self) -> None:
        table = Table("t", "", quick=False)
        table.add("a", "", "ns", None, {"peer": Spread((4.0,))})
        told = plot.script(lines_of((1, "a")), table.figures)
        self.assertEqual(told.count("title '"), 2)  # of the plot, and of one curve
        self.assertIn("title 'the peer''s'", told)

    def test_without_any_figure_there_is_nothing_to_draw(self) -> None:
        table = table_of()
        self.assertIsNone(plot.script(lines_of((1, "a")), table.figures))
        self.assertIsNone(plot.script(lines_of(("g", "a"), bars=True), table.figures))

    def test_bars_keep_their_group_when_a_side_has_a_gap(self) -> None:
        table = table_of(a=(1, 2))
        table.add("b", "", "ns", None, {"peer": Spread((8.0,))})
        told = plot.script(lines_of(("first", "a"), ("second", "b"), bars=True), table.figures)
        self.assertIn('"first" 1 1 1 2 2 2\n"second" ? ? ? 8 8 8\n', told)

    def test_an_empty_variant_is_what_the_row_has_first(self) -> None:
        table = Table("t", "", quick=False)
        table.add("a", "", "ns", None, {"pthread mutex": Spread((4.0,))})
        drawn = Plot("p", "", "", "", (Curve("lock", "", ((1, "a"),)),))
        self.assertIn("\n1 4 4 4\n", plot.script(drawn, table.figures))

    def test_few_values_of_x_get_a_tic_each(self) -> None:
        table = table_of(a=(1, 1), b=(1, 1))
        told = plot.script(lines_of((2, "a"), (32768, "b"), log_x=True), table.figures)
        self.assertIn("set xtics ('2' 2, '32,768' 32768)\n", told)


class SvgTest(unittest.TestCase):
    GIVEN = (
        '<svg>\n<title>Gnuplot</title>\n<desc>Produced by a version</desc>\n'
        '<g fill="none" stroke-width="1.00">\n</g>\n<g stroke="black" stroke-linecap="butt">'
        '<text font-family="sans-serif">1</text></g>\n</svg>\n'
    )

    def test_svg_has_its_title_and_readable_ink_and_nothing_without_effect(self) -> None:
        made = plot.finished(self.GIVEN, "reads < writes & more")
        self.assertIn("<title>reads &lt; writes &amp; more</title>", made)
        self.assertIn(f"[stroke=black]{{stroke:{plot.INK}}}", made)
        for gone in ("Produced", "stroke-linecap", "font-family=", "<g fill"):
            self.assertNotIn(gone, made)
        xml.etree.ElementTree.fromstring(made)

    def test_equal_figures_give_equal_bytes(self) -> None:
        table = table_of(a=(1, 2), b=(30, 40))
        drawn = [
            lines_of((1, "a"), (10, "b"), log_x=True, log_y=True, mark=(2, "2 CPUs")),
            lines_of(("first", "a"), ("second", "b"), bars=True, log_y=True),
        ]
        with tempfile.TemporaryDirectory() as name:
            for each in drawn:
                first, second = Path(name, "1.svg"), Path(name, "2.svg")
                self.assertTrue(plot.draw(each, table.figures, first))
                self.assertTrue(plot.draw(each, table.figures, second))
                self.assertEqual(first.read_bytes(), second.read_bytes())
                self.assertLess(first.stat().st_size, 32_000)
                xml.etree.ElementTree.fromstring(first.read_text(encoding="utf-8"))


class ReportTest(unittest.TestCase):
    def make(self) -> Table:
        table = table_of(a=(1, 2))
        table.add("point", "a point", "ns", Spread((3.0,)), shown=False)
        table.plots.append(lines_of((1, "a"), (2, "point"), mark=(2, "here")))
        return table

    def written(self, folder: Path) -> str:
        (folder / "machine.json").write_text(json.dumps({}), encoding="utf-8")
        self.make().write(folder)
        return report.write(folder, list(suite.BENCHES)).read_text(encoding="utf-8")

    def test_a_plot_reads_back_from_the_tables_file_as_it_was(self) -> None:
        made = self.make().plots[0]
        self.assertEqual(Plot.of(json.loads(json.dumps(asdict(made)))), made)

    def test_points_of_plots_are_folded_away_below_the_table(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            text = self.written(Path(name))
        before, folded = text.split("<details>")
        self.assertNotIn("a point", before)
        self.assertIn("| a point, ns |", folded)
        self.assertNotIn("| a, ns |", folded)

    def test_the_report_shows_the_plot_or_says_why_not(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            text = self.written(Path(name))
            if plot.missing():
                self.assertIn("Not drawn: gnuplot is not installed", text)
            else:
                self.assertIn("![A <title>](event_bytes_p.svg)", text)
                self.assertTrue(Path(name, "event_bytes_p.svg").exists())


if __name__ == "__main__":
    unittest.main()
