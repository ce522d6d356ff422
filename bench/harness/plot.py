# SPDX-License-Identifier: MIT
"""Plots of a table's rows, drawn by gnuplot as SVG.

A plot says which rows are its points and holds no figures of its own, so that the report can draw
it again from the table's file. Equal figures give equal bytes: no dates, no random names. The
background is transparent, and ink can be read on light and on dark pages.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .programs import run
from .spread import Spread, Summary

# Mid tones, to be told apart on white and on black.
COLOURS = {
    "blue": "#3b82d6",
    "green": "#2f9e63",
    "orange": "#cc7718",
    "violet": "#a56bd6",
    "red": "#d9534f",
    "grey": "#8a8f98",
    "olive": "#9a9330",
    "teal": "#2fa3a3",
}
# gnuplot's dash types and point types: what stands for a side of a comparison.
LINES = {"solid": (1, 7), "dashed": (2, 6), "dotted": (3, 2)}
SIZE = (800, 460)
LETTERS_LEVEL = 60  # group names with more letters in all are written at an angle
TICS_MAX = 10  # that many values of x get a tic each
FONT = "sans-serif"
# Equally far from white and from the black of dark pages: an image knows neither.
INK = "#737d88"
STYLE = (
    f"<style>text{{font-family:{FONT}}}"
    f"[color=black]{{color:{INK}}}[stroke=black]{{stroke:{INK}}}[fill=black]{{fill:{INK}}}</style>"
)

Figures = Callable[[str, str], Spread | Summary | None]


@dataclass(frozen=True)
class Curve:
    """A line, or the bars of one colour: one variant in several rows.

    A point is an x and the key of the row with its y. Where x is a string, it is the key of the
    row with the x of a line, and the name of the group of a bar. An empty variant is whatever the
    row has first.
    """

    label: str
    variant: str
    points: tuple[tuple[float | str, str], ...]
    colour: str = "blue"
    line: str = "solid"


@dataclass(frozen=True)
class Plot:
    """Axes with their units, and curves. `mark` is a vertical line: where, and what it says.

    `prefixes` is for large counts: 20M instead of 20000000 on the y axis.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False
    bars: bool = False
    prefixes: bool = True
    mark: tuple[float, str] | None = None

    @classmethod
    def of(cls, plain: dict) -> Plot:
        """The plot that a table's file has."""
        curves = tuple(
            Curve(**{**curve, "points": tuple(tuple(point) for point in curve["points"])})
            for curve in plain["curves"]
        )
        mark = tuple(plain["mark"]) if plain["mark"] else None
        return cls(**{**plain, "curves": curves, "mark": mark})


def missing() -> str | None:
    """Why nothing can be drawn here, or None."""
    return None if shutil.which("gnuplot") else "gnuplot is not installed (Debian: gnuplot-nox)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _line_points(plot: Plot, curve: Curve, figures: Figures) -> list[str]:
    """`x y minimum maximum` of each point that has figures and a place on the axes."""
    lines = []
    for x, key in curve.points:
        y, across = figures(key, curve.variant), x
        if isinstance(x, str):
            spread = figures(x, curve.variant)
            across = spread.median if spread else None
        if y is None or across is None:
            continue
        if (plot.log_x and across <= 0) or (plot.log_y and y.median <= 0):
            continue
        least = y.minimum if y.minimum > 0 or not plot.log_y else y.median
        lines.append(f"{across:.6g} {y.median:.6g} {least:.6g} {y.maximum:.6g}")
    return lines


def _lines(plot: Plot, figures: Figures) -> list[str]:
    blocks, parts = [], []
    for number, curve in enumerate(plot.curves):
        points = _line_points(plot, curve, figures)
        if not points:
            continue
        blocks += [f"$curve{number} << END", *points, "END"]
        dash, mark = LINES[curve.line]
        parts.append(
            f"$curve{number} using 1:2:3:4 with yerrorlines dashtype {dash} pointtype {mark} "
            f'pointsize 0.6 linewidth 1.5 linecolor rgb "{COLOURS[curve.colour]}" '
            f"title {_quoted(curve.label)}"
        )
    return [*blocks, "plot " + ", ".join(parts)] if parts else []


def _bars(plot: Plot, figures: Figures) -> list[str]:
    groups = list(dict.fromkeys(str(x) for curve in plot.curves for x, _ in curve.points))
    found = {
        (number, str(x)): spread
        for number, curve in enumerate(plot.curves)
        for x, key in curve.points
        if (spread := figures(key, curve.variant)) and (spread.median > 0 or not plot.log_y)
    }
    shown = [number for number in range(len(plot.curves)) if any(n == number for n, _ in found)]
    if not shown:
        return []
    lines = ["$bars << END"]
    for group in groups:
        cells = [_quoted(group).replace("'", '"')]
        for number in shown:
            spread = found.get((number, group))
            least = max(spread.minimum, 0.0) if spread else 0.0
            if spread and plot.log_y and least <= 0:
                least = spread.median
            cells.append(f"{spread.median:.6g} {least:.6g} {spread.maximum:.6g}" if spread
                         else "? ? ?")
        lines.append(" ".join(cells))
    slanted = sum(map(len, groups)) > LETTERS_LEVEL
    lines += [
        "END",
        'set datafile missing "?"',
        "set style data histograms",
        "set style histogram errorbars gap 1 linewidth 1",
        "set style fill solid 0.75 noborder",
        "set errorbars small linecolor rgb 'black'",
        "set xtics nomirror scale 0" + (" rotate by -40" if slanted else ""),
    ]
    if plot.log_y:
        lines.append(f"set yrange [{min(s.median for s in found.values()) / 3:.3g}:*]")
    else:
        lines.append("set yrange [0:*]")
    parts = [
        f"$bars using {3 * place + 2}:{3 * place + 3}:{3 * place + 4}"
        + (":xtic(1)" if place == 0 else "")
        + f' linecolor rgb "{COLOURS[plot.curves[number].colour]}"'
        + f" title {_quoted(plot.curves[number].label)}"
        for place, number in enumerate(shown)
    ]
    return [*lines, "plot " + ", ".join(parts)]


def _x_tics(plot: Plot) -> list[str]:
    """A tic for each x, where all are given and they are few."""
    values = sorted({x for curve in plot.curves for x, _ in curve.points}, key=str)
    if len(values) > TICS_MAX or any(isinstance(x, str) for x in values):
        return ["set format x '%g'" if not plot.prefixes else "set format x '%.0s%c'"]
    return ["set xtics (" + ", ".join(f"'{x:,g}' {x:g}" for x in sorted(values)) + ")"]


def script(plot: Plot, figures: Figures) -> str | None:
    """What gnuplot is told, or None when no point has figures."""
    drawing = _bars(plot, figures) if plot.bars else _lines(plot, figures)
    if not drawing:
        return None
    width, height = SIZE
    lines = [
        f"set terminal svg size {width},{height} dynamic noenhanced font '{FONT},12'",
        f"set title {_quoted(plot.title)}",
        f"set xlabel {_quoted(plot.x_label)}",
        f"set ylabel {_quoted(plot.y_label)}",
        "set key outside right top Left reverse samplen 2",
        "set grid linecolor rgb '#8a8f98' linewidth 0.5 dashtype 3",
        "set border 3",
        "set tics nomirror out scale 0.5",
        "unset mxtics",
        "unset mytics",
    ]
    axes = ("x" if plot.log_x else "") + ("y" if plot.log_y else "")
    if axes:
        lines.append(f"set logscale {axes}")
    lines.append("set format y '%g'" if not plot.prefixes else "set format y '%.0s%c'")
    if not plot.bars:
        lines += _x_tics(plot)
        if not plot.log_y:
            lines.append("set yrange [0:*]")
    if plot.mark:
        x, text = plot.mark
        lines += [
            f"set arrow from first {x:g}, graph 0 to first {x:g}, graph 1 nohead "
            "linecolor rgb '#8a8f98' dashtype 2",
            f"set label {_quoted(text)} at first {x:g}, graph 0.97 offset 0.5,0 "
            "textcolor rgb '#8a8f98'",
        ]
    return "\n".join([*lines, *drawing]) + "\n"


def _one_decimal(places: re.Match[str]) -> str:
    """Coordinates to a tenth of a pixel."""
    return re.sub(r"(\d\.\d)\d+", r"\1", places[0])


def finished(svg: str, title: str) -> str:
    """gnuplot's SVG with ink for any page and a title, without what has no effect."""
    svg = re.sub(r"<g [^>]*>\s*</g>\n?", "", svg)
    svg = re.sub(r"<desc>.*?</desc>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<filter .*?</filter>", "", svg, flags=re.DOTALL)
    for default in (' stroke-linecap="butt"', ' stroke-linejoin="miter"', ' stroke-width="1.00"'):
        svg = svg.replace(default, "")
    svg = svg.replace(f' font-family="{FONT}"', "")
    svg = re.sub(r"(?<= d=')[^']*|translate\([^)]*\)", _one_decimal, svg)
    for mark in re.findall(r"\t<(?:path|rect|circle|use) [^>]*\bid='(gpPt\d+|gpDot)'[^>]*/>", svg):
        if svg.count(f"'#{mark}'") == 0:
            svg = re.sub(rf"\t<\w+ [^>]*\bid='{mark}'[^>]*/>\n", "", svg)
    escaped = title.replace("&", "&amp;").replace("<", "&lt;")
    svg = re.sub(
        r"<title>.*?</title>", lambda _: f"<title>{escaped}</title>\n{STYLE}", svg, count=1
    )
    return re.sub(r"[ \t]+\n", "\n", svg)


def draw(plot: Plot, figures: Figures, path: Path) -> bool:
    """Write the plot as SVG; False when there is nothing to draw."""
    told = script(plot, figures)
    if told is None:
        return False
    svg = run(["gnuplot"], input=told).stdout
    path.write_text(finished(svg, plot.title), encoding="utf-8")
    return True
