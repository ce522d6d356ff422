# SPDX-License-Identifier: MIT
"""Samples and what is said of them: the median with minimum and maximum, never a mean."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Summary:
    """What is kept of a spread: how many samples there were, and what is said of them."""

    rounds: int
    median: float
    minimum: float
    maximum: float


@dataclass(frozen=True)
class Spread:
    """Samples of one quantity, in the order in which they were taken."""

    samples: tuple[float, ...] = field()

    def __post_init__(self) -> None:
        if not self.samples:
            raise ValueError("a spread needs at least one sample")

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def minimum(self) -> float:
        return min(self.samples)

    @property
    def maximum(self) -> float:
        return max(self.samples)

    def summary(self) -> Summary:
        return Summary(len(self.samples), self.median, self.minimum, self.maximum)

    def scaled(self, factor: float) -> Spread:
        return Spread(tuple(sample * factor for sample in self.samples))

    def _with(self, other: Spread, operation) -> Spread:
        if len(self.samples) != len(other.samples):
            raise ValueError("spreads of different runs cannot be paired")
        return Spread(tuple(map(operation, self.samples, other.samples)))

    def minus(self, other: Spread) -> Spread:
        """Differences round by round: what disturbs a round disturbs both sides."""
        return self._with(other, lambda left, right: left - right)

    def over(self, other: Spread) -> Spread:
        """Ratios round by round; infinite where the divisor is zero."""
        return self._with(other, lambda left, right: left / right if right else float("inf"))


def digits(value: float) -> str:
    """A number with three significant digits and no exponent."""
    if value != value:
        return "-"
    magnitude = abs(value)
    if magnitude == float("inf"):
        return "inf"
    if value == int(value):
        return f"{int(value):,}"
    if magnitude >= 1000:
        return f"{value:,.0f}"
    if magnitude >= 100:
        return f"{value:.0f}"
    if magnitude >= 10:
        return f"{value:.1f}"
    if magnitude >= 0.1:
        return f"{value:.2f}"
    return f"{value:.3f}"
