"""How lines of a chart are told apart: a colour and a marker for each metric, a kind of line for each condition.

Colours alone are not enough, for some readers and on some printers; each metric therefore has a marker too. The figures
and the page draw from the same lists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.judge.pairs.results import PairsReport, SweepName, SweepRow

# Hues that the common kinds of colour vision tell apart; each keeps a contrast of 3 with the page behind it (a test).
LIGHT: Final = ("#0072b2", "#c8500a", "#00805d", "#aa3377", "#8a6a00", "#4b5ec7", "#55555e")
DARK: Final = ("#5db7ee", "#f59b5b", "#3fce9f", "#ee9ccb", "#e3c04c", "#a3b0ff", "#c6c6d0")

MARKERS: Final = ("circle", "square", "triangle", "diamond", "cross", "down", "plus", "star")
"""One more than there are colours, so that their combinations repeat late."""

DASHES: Final = ("", "6 3", "2 2.5", "8 3 2 3", "12 3")
"""Lengths of strokes and gaps in pixels; nothing for a line without gaps."""

_ROUNDING: Final = 1e-9

TITLES: Final[dict[SweepName, str]] = {
    "threshold": "least weight of references",
    "unit": "segments a unit",
    "order": "longest n-gram",
}
"""What each sweep varies, in the order in which they are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a sweep.

    Attributes
    ----------
    metric, condition
        What it belongs to; no condition if that is what is varied, or if there is none.
    hue
        The place of its metric among all that are drawn, for colour and marker.
    dash
        The place of its condition among all that are drawn.
    rows
        Its points, from left to right.
    """

    metric: str
    condition: str | None
    hue: int
    dash: int
    rows: tuple[SweepRow, ...]

    def __str__(self) -> str:
        return self.metric if self.condition is None else f"{self.metric} ({self.condition})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """All lines over one thing that was varied."""

    name: SweepName
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        """What is varied, for people."""
        return TITLES[self.name]

    @property
    def values(self) -> list[float]:
        """The places on the axis, from left to right: thresholds fall, all else rises."""
        return sorted({row.value for line in self.lines for row in line.rows}, reverse=self.name == "threshold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeps:
    """Every sweep of a report that has rows, and what its lines are told apart by."""

    metrics: tuple[str, ...]
    conditions: tuple[str, ...]
    sweeps: tuple[Sweep, ...]

    @classmethod
    def of(cls, report: PairsReport) -> Sweeps:
        """Sort a report's rows into lines; all points of a line have one metric, and one condition unless it varies."""
        metrics = tuple(dict.fromkeys(row.metric for row in report.sweeps))
        conditions = tuple(
            dict.fromkeys(row.condition for row in report.sweeps if row.sweep != "threshold" and row.condition)
        )
        sweeps = []
        for name in TITLES:
            found: dict[tuple[str, str | None], list[SweepRow]] = {}
            for row in report.sweeps:
                if row.sweep == name:
                    found.setdefault((row.metric, None if name == "threshold" else row.condition), []).append(row)
            lines = tuple(
                Line(
                    metric=metric,
                    condition=condition,
                    hue=metrics.index(metric),
                    dash=0 if condition is None else conditions.index(condition),
                    rows=tuple(sorted(rows, key=lambda row: -row.value if name == "threshold" else row.value)),
                )
                for (metric, condition), rows in found.items()
            )
            if lines:
                sweeps.append(Sweep(name=name, lines=lines))
        return cls(metrics=metrics, conditions=conditions, sweeps=tuple(sweeps))

    def span(self) -> tuple[float, float]:
        """Return the smallest and the largest of all coefficients and ends of intervals; 0 and 1 if there are none."""
        numbers = [
            number
            for sweep in self.sweeps
            for line in sweep.lines
            for row in line.rows
            for number in (row.spearman, row.spearman_low, row.spearman_high)
            if number is not None
        ]
        return (min(numbers), max(numbers)) if numbers else (0.0, 1.0)


def unbroken(rows: Sequence[SweepRow], *, interval: bool = False) -> Iterator[list[SweepRow]]:
    """Yield stretches of neighbouring points that are defined: a line has a gap where one is not, never a 0.

    Parameters
    ----------
    rows
        The points of a line.
    interval
        Whether points without an interval are left out as well.
    """

    def drawn(row: SweepRow) -> bool:
        return row.spearman is not None and not (interval and (row.spearman_low is None or row.spearman_high is None))

    for able, group in groupby(rows, key=drawn):
        if able:
            yield list(group)


def value_text(value: float) -> str:
    """Return a place on an axis as people write it.

    Examples
    --------
    >>> value_text(100.0), value_text(-0.2), value_text(0.6000000000000001), value_text(-0.0)
    ('100', '−0.2', '0.6', '0')
    """
    return f"{round(value, 6) + 0.0:g}".replace("-", "−")


def ticks(low: float, high: float, steps: int = 6) -> list[float]:
    """Return round numbers with the same distance from just below one number to just above another.

    Parameters
    ----------
    low, high
        What they must reach around.
    steps
        How many distances fit between the two at most.

    Examples
    --------
    >>> ticks(0.13, 0.58)
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> ticks(-3.0, 41.0)
    [-10.0, 0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    """
    least = max(abs(low), abs(high), 1.0) * 1e-6  # so that one value alone has an axis too
    span = max(high - low, least)
    power = 10.0 ** math.floor(math.log10(span / steps))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= steps * (1 + _ROUNDING))
    first, last = math.floor(low / step + _ROUNDING), math.ceil(high / step - _ROUNDING)
    return [round(number * step, 12) + 0.0 for number in range(first, max(last, first + 1) + 1)]
