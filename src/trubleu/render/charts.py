"""Charts of HTML pages: series, colours, markers, and the position of every element in pixels.

Colours alone are not enough, for some readers and on some printers; each metric therefore has a marker too. Charts are
SVG and need no plotting library; their colours follow the reader's light or dark theme, and the template escapes names
from data.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.errors import counted
from trubleu.render.formats import plain
from trubleu.render.tables import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.pairs.results import Cloud, Measure, SweepName, SweepRow
    from trubleu.render.tables import Table


# Hues that the common kinds of colour vision tell apart; each keeps a contrast of 3 with the page behind it (a test).
LIGHT: Final = ("#0072b2", "#c8500a", "#00805d", "#aa3377", "#8a6a00", "#4b5ec7", "#55555e")
DARK: Final = ("#5db7ee", "#f59b5b", "#3fce9f", "#ee9ccb", "#e3c04c", "#a3b0ff", "#c6c6d0")

MARKERS: Final = ("circle", "square", "triangle", "diamond", "down")
"""Of another number than colours, so that their combinations repeat late."""

_ROUNDING: Final = 1e-9

TITLES: Final[dict[SweepName, str]] = {
    "threshold": "minimum weight of references",
    "unit": "segments per unit",
    "order": "longest n-gram",
}
"""What each sweep varies, in the order in which they are drawn."""


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


WIDTH: Final = 380
HEIGHT: Final = 270
LEFT, RIGHT, TOP, BOTTOM = 50, 12, 12, 44
MOST_POINTS: Final = 2000
"""Points of a scatter that are drawn; of more, every so many-th."""

_SIDE_BINS: Final = 10
"""Bars of a histogram on either side of 0."""

_BINS: Final = tuple(float(f"{digit}e{power}") for power in range(-9, 9) for digit in (1, 2, 5))

_LABEL_WIDTH: Final = 7.0  # of one character of a tick
_MARKER: Final = 3.6


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Stroke:
    """Something drawn: a path, its classes, and what it is."""

    path: str
    classes: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Two axes and what is drawn between them.

    Attributes
    ----------
    title
        What stands above it.
    description
        What it shows, in words, for those who do not see it.
    x_title, y_title
        What the axes are.
    x_ticks, y_ticks
        Places in pixels.
    zero_x, zero_y
        Where 0 is, if it is inside.
    bands, lines, marks
        From the back to the front.
    note
        What stands below it.
    """

    title: str
    description: str
    x_title: str
    y_title: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    zero_x: float | None = None
    zero_y: float | None = None
    bands: Sequence[Stroke] = ()
    lines: Sequence[Stroke] = ()
    marks: Sequence[Stroke] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend: a stroke to draw and its name."""

    name: str
    classes: str
    marker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """A coefficient and its interval on a small scale of their own; None where there is none."""

    at: float | None
    low: float | None
    high: float | None
    zero: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table of texts; the first ``labels`` columns stand to the left, the others, which are numbers, to the right."""

    name: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    labels: int = 1


def table_grid(table: Table, digits: int, name: str, labels: int | None = None) -> Grid:
    """Return a table as pages show it; its first columns are labels, all up to the first number if not given."""
    if labels is None:
        labels = next((at for at, column in enumerate(table.columns) if column.kind != "text"), len(table.columns))
    return Grid(
        name=name,
        heads=[column.heading for column in table.columns],
        labels=labels,
        rows=[
            [
                re.sub(r"-(?=\d)", "−", plain(shown(cell, column, digits))) if column.kind != "text" else str(cell)
                for cell, column in zip(row, table.columns, strict=True)
            ]
            for row in table.rows
        ],
    )


class StripRow(NamedTuple):
    """A row of a `StripTable`: its other cells, its value with the ends of an interval, and whether it is bold."""

    cells: Sequence[str]
    value: tuple[float | None, float | None, float | None]
    best: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StripTable:
    """A table in which every row has a strip.

    Attributes
    ----------
    name
        What it shows, for those who do not see it.
    heads
        Of all columns but that of strips.
    at
        Before which of these columns strips stand.
    texts
        Which columns are texts and stand to the left.
    ends
        What strips begin and end with.
    rows
        Cells, strip, and whether the row is bold.
    """

    name: str
    heads: Sequence[str]
    at: int
    texts: Sequence[int]
    ends: tuple[str, str]
    rows: Sequence[tuple[Sequence[str], Strip, bool]]


def strip_table(
    name: str,
    heads: Sequence[str],
    rows: Sequence[StripRow],
    *,
    at: int,
    texts: Sequence[int] = (0,),
    zero: bool = False,
) -> StripTable:
    """Return a table whose strips share a scale, which holds 0 if that is asked for."""
    numbers = [number for row in rows for number in row.value if number is not None] + [0.0] * zero
    scale = ticks(min(numbers, default=0.0), max(numbers, default=1.0), 10)
    low, high = scale[0], scale[-1]
    strips = [(row.cells, strip(*row.value, (low, high)), row.best) for row in rows]
    return StripTable(name=name, heads=heads, at=at, texts=texts, ends=(value_text(low), value_text(high)), rows=strips)


def sweep_charts(rows: Sequence[SweepRow]) -> list[Chart]:
    """Return a chart for each sweep, all with the same vertical axis."""
    numbers = [each for row in rows for each in (row.spearman, row.spearman_low, row.spearman_high) if each is not None]
    levels = ticks(min(numbers, default=0.0), max(numbers, default=1.0), 5)
    hues = {metric: hue for hue, metric in enumerate(dict.fromkeys(row.metric for row in rows))}
    return [
        _sweep_chart(name, found, hues, levels)
        for name in TITLES
        if (found := sorted((row for row in rows if row.sweep == name), key=lambda row: _place(name, row.value)))
    ]


def _place(sweep: str, value: float) -> float:
    """Return where a value stands: thresholds fall, and sizes of units go by their logarithm, as they are multiples."""
    return -value if sweep == "threshold" else math.log(value) if sweep == "unit" and value > 0 else value


def _sweep_chart(name: SweepName, rows: Sequence[SweepRow], hues: Mapping[str, int], levels: Sequence[float]) -> Chart:
    values = [*dict.fromkeys(row.value for row in rows)]
    first, last = _place(name, values[0]), _place(name, values[-1])
    across = _scale(first, last, LEFT + 16, WIDTH - RIGHT - 16) if first < last else lambda _: (LEFT + WIDTH) / 2

    def x(row: SweepRow) -> float:
        return across(_place(name, row.value))

    y = _scale(levels[0], levels[-1], HEIGHT - BOTTOM, TOP)
    bands, lines, marks, said = [], [], [], []
    for metric, number in hues.items():
        own, hue = [row for row in rows if row.metric == metric], _hue(number)
        for part in unbroken(own, interval=True):
            above = [(x(row), y(row.spearman_high or 0.0)) for row in part]
            below = [(x(row), y(row.spearman_low or 0.0)) for row in reversed(part)]
            if len(part) > 1:
                bands.append(Stroke(_polyline([*above, *below]) + "Z", hue))
            else:  # an interval with nothing beside it is no area
                lines.append(Stroke(_polyline([above[0], below[0]]), hue))
        defined = [*unbroken(own)]
        for part in defined:
            points = [(x(row), y(row.spearman or 0.0)) for row in part]
            if len(points) > 1:
                lines.append(Stroke(_polyline(points), hue))
            marks += [
                Stroke(
                    _marker(number, *point), hue, f"{metric}, {value_text(row.value)}: ρ {number_text(row.spearman)}"
                )
                for point, row in zip(points, part, strict=True)
            ]
        ends = [defined[0][0], defined[-1][-1]] if defined else []
        where = [f"{number_text(row.spearman)} at {value_text(row.value)}" for row in ends]
        if own:
            said.append(f"{metric}: {', '.join(dict.fromkeys(where)) or 'undefined'}")
    return Chart(
        title=f"By {TITLES[name]}",
        description=f"Spearman’s ρ by {TITLES[name]}. " + "; ".join(said),
        x_title=TITLES[name],
        y_title="Spearman’s ρ",
        x_ticks=_thinned([Tick(across(_place(name, value)), value_text(value)) for value in values]),
        y_ticks=[Tick(y(level), value_text(level)) for level in levels],
        zero_y=y(0.0) if levels[0] < 0 < levels[-1] else None,
        bands=bands,
        lines=lines,
        marks=marks,
    )


def histogram_chart(title: str, differences: NDArray[np.float64], a: str, b: str, *, higher_is_better: bool) -> Chart:
    """Return how many segments have which difference between the scores of two systems; equal ones are only counted."""
    known = differences[np.isfinite(differences)]
    apart = known[known != 0]
    farthest = float(np.max(np.abs(known), initial=0.0))
    step = next((each for each in _BINS if farthest <= each * _SIDE_BINS), farthest / _SIDE_BINS)
    ends = np.arange(-_SIDE_BINS, _SIDE_BINS + 1) * step
    counts = np.histogram(apart, ends)[0]
    while counts.size > 8 and not counts[0] and not counts[-1]:  # what is empty on both sides
        counts, ends = counts[1:-1], ends[1:-1]
    levels = ticks(0.0, float(max(counts.max(initial=0), 1)), 5)
    x = _scale(ends[0], ends[-1], LEFT + 4, WIDTH - RIGHT - 4)
    y = _scale(levels[0], levels[-1], HEIGHT - BOTTOM, TOP)
    bars = [
        Stroke(
            f"M{x(low) + 0.5:.1f} {y(0):.1f}V{y(count):.1f}H{x(high) - 0.5:.1f}V{y(0):.1f}Z",
            "bar " + ("side-a" if (low >= 0) == higher_is_better else "side-b"),
            f"{value_text(low)} to {value_text(high)}: {count:,}",
        )
        for low, high, count in zip(ends[:-1].tolist(), ends[1:].tolist(), counts.tolist(), strict=True)
        if count
    ]
    above, below = int(np.count_nonzero(known > 0)), int(np.count_nonzero(known < 0))
    wins, losses = (above, below) if higher_is_better else (below, above)
    note = f"{a} is better in {wins:,}, {b} in {losses:,}; {len(known) - above - below:,} equal"
    return Chart(
        title=title,
        description=f"Segments by the difference of their scores, {a} − {b}: {note}",
        x_title=f"difference of scores, {a} − {b}" if len(a) + len(b) < 24 else "difference of scores",
        y_title="segments",
        x_ticks=_thinned([Tick(x(end), value_text(end)) for end in ends.tolist()]),
        y_ticks=[Tick(y(level), value_text(level)) for level in levels if level == int(level)],
        zero_x=x(0.0),
        marks=bars,
        note=note,
    )


def bucket_chart(
    title: str,
    labels: Sequence[str],
    systems: Mapping[str, Sequence[tuple[float, float | None, float | None] | None]],
) -> Chart:
    """Return the scores of systems in buckets: for each system a score and its interval in each, None for nothing."""
    numbers = [number for row in systems.values() for cell in row if cell for number in cell if number is not None]
    levels = ticks(min(numbers, default=0.0), max(numbers, default=1.0), 5)
    y = _scale(levels[0], levels[-1], HEIGHT - BOTTOM, TOP)
    room = (WIDTH - RIGHT - LEFT) / len(labels)
    whiskers, marks = [], []
    for number, (system, row) in enumerate(systems.items()):
        for place, cell in enumerate(row):
            if cell is None:
                continue
            score, low, high = cell
            at = LEFT + room * (place + 0.5 + 0.7 * ((number + 0.5) / len(systems) - 0.5))
            if low is not None and high is not None:
                whiskers.append(Stroke(f"M{at:.1f} {y(low):.1f}V{y(high):.1f}", f"whisker {_hue(number)}"))
            text = f"{system}, {labels[place]}: {interval_text(score, low, high, 2)}"
            marks.append(Stroke(_marker(number, at, y(score)), _hue(number), text))
    return Chart(
        title=title,
        description=f"{title}. " + "; ".join(mark.title for mark in marks),
        x_title="",
        y_title="score",
        x_ticks=_thinned([Tick(LEFT + room * (place + 0.5), label) for place, label in enumerate(labels)]),
        y_ticks=[Tick(y(level), value_text(level)) for level in levels],
        zero_y=y(0.0) if levels[0] < 0 < levels[-1] else None,
        lines=whiskers,
        marks=marks,
    )


def legend_keys(names: Sequence[str]) -> list[Key]:
    """Return the colour and marker of each system or metric."""
    return [Key(name, _hue(number), _marker(number, 14, 7)) for number, name in enumerate(names)]


def scatter_chart(cloud: Cloud, measure: Measure, spearman: float | None) -> Chart:
    """Return the units of a draw: rating differences from left to right, differences of scores from below to above."""
    able = np.isfinite(cloud.rating) & np.isfinite(cloud.scores[measure])
    ratings, scores = cloud.rating[able], cloud.scores[measure][able]
    total = len(ratings)
    if total > MOST_POINTS:
        kept = np.linspace(0, total - 1, MOST_POINTS).round().astype(np.int64)
        ratings, scores = ratings[kept], scores[kept]
    across, up = _reach(ratings), _reach(scores)
    x = _scale(-across, across, LEFT, WIDTH - RIGHT)
    y = _scale(-up, up, HEIGHT - BOTTOM, TOP)
    # A stroke of no length with round ends is a dot: one element for all of them.
    dots = "".join(f"M{x(q):.1f} {y(m):.1f}h0" for q, m in zip(ratings.tolist(), scores.tolist(), strict=True))
    coefficient = "undefined" if spearman is None else number_text(spearman)
    some = f" ({len(ratings):,} are drawn)" if total > len(ratings) else ""
    missing = len(cloud.rating) - total
    note = f"ρ {coefficient}; {counted(total, 'unit')}{some}" + (f", {missing:,} more have no score" if missing else "")
    return Chart(
        title=str(measure),
        description=f"Differences of scores against differences of ratings for {measure}: {note}",
        x_title="difference of ratings, A − B",
        y_title="difference of scores, A − B",
        x_ticks=_thinned([Tick(x(value), value_text(value)) for value in _within(across)]),
        y_ticks=[Tick(y(value), value_text(value)) for value in _within(up)],
        zero_x=x(0.0),
        zero_y=y(0.0),
        marks=[Stroke(dots, "dots")] if dots else [],
        note=note,
    )


def system_chart(title: str, people: Mapping[str, float], scores: Mapping[str, float], note: str = "") -> Chart:
    """Return systems as points: what people think of them from left to right, a metric's score from below to above."""
    across, up = ticks(min(people.values()), max(people.values())), ticks(min(scores.values()), max(scores.values()))
    x = _scale(across[0], across[-1], LEFT, WIDTH - RIGHT)
    y = _scale(up[0], up[-1], HEIGHT - BOTTOM, TOP)
    marks = [
        Stroke(
            _marker(0, x(rating), y(scores[system])),
            _hue(0),
            f"{system}: rating {number_text(rating, 2)}, score {number_text(scores[system], 2)}",
        )
        for system, rating in people.items()
    ]
    return Chart(
        title=title,
        description=f"{title}. " + "; ".join(mark.title for mark in marks),
        x_title="people’s score",
        y_title="metric’s score",
        x_ticks=_thinned([Tick(x(value), value_text(value)) for value in across]),
        y_ticks=[Tick(y(value), value_text(value)) for value in up],
        marks=marks,
        note=note,
    )


def regret_chart(title: str, regrets: Mapping[str, Mapping[str, float]], means: Mapping[str, float]) -> Chart:
    """Return distances from the best as points, one column a metric, with a line at each metric's mean."""
    levels = ticks(0.0, max((value for row in regrets.values() for value in row.values()), default=0.0), 5)
    y = _scale(levels[0], levels[-1], HEIGHT - BOTTOM, TOP)
    room = (WIDTH - LEFT - RIGHT) / len(regrets)
    dots, lines = [], []
    for place, (metric, row) in enumerate(regrets.items()):
        at = LEFT + room * (place + 0.5)
        lines.append(Stroke(f"M{at - 0.35 * room:.1f} {y(means[metric]):.1f}h{0.7 * room:.1f}", _hue(0)))
        dots += [
            Stroke(f"M{at:.1f} {y(value):.1f}h0", "dots", f"{metric}, {where}: {number_text(value)}")
            for where, value in row.items()
        ]
    return Chart(
        title=title,
        description=f"{title}. " + "; ".join(f"{name}: mean {number_text(mean)}" for name, mean in means.items()),
        x_title="metrics in the order of the table",
        y_title="distance from the best",
        x_ticks=[Tick(LEFT + room * (place + 0.5), str(place + 1)) for place in range(len(regrets))],
        y_ticks=[Tick(y(level), value_text(level)) for level in levels],
        lines=lines,
        marks=dots,
        note="A dot is a set and a level; the line is the metric's mean.",
    )


def strip(value: float | None, low: float | None, high: float | None, ends: tuple[float, float]) -> Strip:
    """Return a coefficient on a scale between two ends, in percent of its length."""
    x = _scale(ends[0], ends[1], 2.0, 98.0)
    return Strip(
        at=None if value is None else x(value),
        low=None if low is None else x(low),
        high=None if high is None else x(high),
        zero=x(0.0) if ends[0] <= 0 <= ends[1] else None,
        text="undefined" if value is None else interval_text(value, low, high),
    )


def number_text(value: float | None, digits: int = 3) -> str:
    """Return a number for people; a dash for one that is undefined.

    Examples
    --------
    >>> number_text(-0.25), number_text(None), number_text(0.5, 1), number_text(-0.0001)
    ('−0.250', '–', '0.5', '0.000')
    """
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:z.{digits}f}".replace("-", "−")


def bounds_text(low: float | None, high: float | None, digits: int = 3) -> str:
    """Return an interval for people; a dash for none.

    Examples
    --------
    >>> bounds_text(-0.1, 0.25), bounds_text(None, None)
    ('[−0.100, 0.250]', '–')
    """
    return "–" if low is None or high is None else f"[{number_text(low, digits)}, {number_text(high, digits)}]"


def interval_text(value: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """Return a number with its interval, if there is one.

    Examples
    --------
    >>> interval_text(0.5, 0.25, 0.75), interval_text(0.5, None, None), interval_text(None, None, None)
    ('0.500 [0.250, 0.750]', '0.500', '–')
    """
    shown = number_text(value, digits)
    return shown if value is None or low is None or high is None else f"{shown} {bounds_text(low, high, digits)}"


def series_style() -> str:
    """Return a class for each colour: ``.c0`` …, for light and dark surroundings."""
    light, dark = (
        "".join(f".c{number}{{--c:{colour}}}" for number, colour in enumerate(colours)) for colours in (LIGHT, DARK)
    )
    return f"{light}\n@media (prefers-color-scheme:dark){{{dark}}}\n"


def _hue(number: int) -> str:
    return f"c{number % len(LIGHT)}"


def _marker(number: int, x: float, y: float) -> str:
    """Return the outline of a metric's marker around a point."""
    r = _MARKER
    steps: dict[str, Sequence[tuple[float, float]]] = {
        "square": ((-r, -r), (r, -r), (r, r), (-r, r)),
        "triangle": ((0, -r * 1.3), (r * 1.2, r), (-r * 1.2, r)),
        "down": ((0, r * 1.3), (r * 1.2, -r), (-r * 1.2, -r)),
        "diamond": ((0, -r * 1.4), (r * 1.4, 0), (0, r * 1.4), (-r * 1.4, 0)),
    }
    kind = MARKERS[number % len(MARKERS)]
    if kind == "circle":
        return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"
    return _polyline([(x + dx, y + dy) for dx, dy in steps[kind]]) + "Z"


def _polyline(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _reach(values: NDArray[np.float64]) -> float:
    """Return how far an axis goes to both sides of 0, equally, as the order within a pair means nothing."""
    return 1.06 * float(np.max(np.abs(values), initial=0.0)) or 1.0


def _within(reach: float) -> list[float]:
    """Return round numbers between −reach and +reach."""
    return [value for value in ticks(-reach, reach, 6) if abs(value) <= reach]


def _thinned(marks: Sequence[Tick]) -> list[Tick]:
    """Keep every second label, or third, … where they would touch each other."""
    for step in range(1, len(marks) + 1):
        kept = list(marks[::step])
        if all(
            abs(one.at - other.at) >= (len(one.text) + len(other.text)) / 2 * _LABEL_WIDTH + 6
            for one, other in pairwise(kept)
        ):
            return kept
    return list(marks[:1])
