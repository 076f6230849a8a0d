"""Charts of HTML pages: series, colours, markers, and the position of every element in pixels.

Colours alone are not enough, for some readers and on some printers; each metric therefore has a marker too. Charts are
SVG and need no plotting library; their colours follow the reader's light or dark theme, and the template escapes names
from data.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.errors import counted
from trubleu.render.formats import plain
from trubleu.render.tables import Column, Estimate, shown, truncated

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.checks.history import Run
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
_LONGEST_NAME: Final = 32  # characters
_SLANT: Final = 0.71  # the sine of 45 degrees
_MARKER: Final = 3.6


class Tick(NamedTuple):
    """A place on an axis and what stands there."""

    at: float
    text: str


class Axis(NamedTuple):
    """An axis: its title, its ticks, where values stand in pixels, and where 0 does, if a line is drawn there.

    `lines` says whether lines through the chart lead to the ticks.

    Names that do not fit beside each other slant: they then reach ``drop`` pixels further down, and left to ``left``.
    """

    title: str
    ticks: Sequence[Tick]
    at: Callable[[float], float]
    zero: float | None
    lines: bool = True
    drop: float = 0.0
    left: float = 0.0


class Stroke(NamedTuple):
    """Something drawn: a path, its classes, and what it is."""

    path: str
    classes: str
    title: str = ""


class Label(NamedTuple):
    """A text in a chart, and the middle of its base line."""

    x: float
    y: float
    text: str
    classes: str = "tick"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Two axes and what is drawn between them.

    Attributes
    ----------
    title
        What stands above it.
    description
        What it shows, in words, for those who do not see it.
    x, y
        The axes.
    bands, lines, marks, labels
        From the back to the front.
    note
        What stands below it.
    keys
        The legend, in files; pages have one for all charts.
    """

    title: str
    description: str
    x: Axis
    y: Axis
    bands: Sequence[Stroke] = ()
    lines: Sequence[Stroke] = ()
    marks: Sequence[Stroke] = ()
    labels: Sequence[Label] = ()
    note: str = ""
    keys: Sequence[Key] = ()

    @property
    def edge(self) -> float:
        """Where the picture begins: left of the title of the vertical axis, which stands left of its longest label."""
        longest = max((len(tick.text) for tick in self.y.ticks), default=0)
        return min(12.0, 38 - 7.6 * longest) - 12 * bool(self.y.title)


class Key(NamedTuple):
    """One entry of a legend: a stroke to draw and its name."""

    name: str
    classes: str
    marker: str = ""


class Strip(NamedTuple):
    """A coefficient and its interval on a small scale of their own; None where there is none."""

    at: float | None
    low: float | None
    high: float | None
    zero: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table of texts for a page.

    Attributes
    ----------
    name
        What it shows, for those who do not see it.
    heads, rows
        The headings and the cells.
    texts
        The places of the columns that stand to the left; the others are numbers.
    strips, ends, at
        A strip for each row, what strips begin and end with, and before which of the columns they stand.
    best
        The places of rows that are bold.
    """

    name: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: Sequence[int]
    strips: Sequence[Strip] = ()
    ends: tuple[str, str] = ("", "")
    at: int = 0
    best: Container[int] = ()


def table_grid(table: Table, digits: int, name: str, labels: int | None = None) -> Grid:
    """Return a table as pages show it; texts stand to the left, or so many columns at its beginning."""
    kinds = [column.kind for column in table.columns]
    return Grid(
        name=name,
        heads=[column.heading.replace("'", "’") for column in table.columns],
        rows=[
            [plain(cell) if kind == "text" else with_minus(plain(cell)) for cell, kind in zip(row, kinds, strict=True)]
            for row in table.shown_rows(digits)
        ],
        texts=[at for at, kind in enumerate(kinds) if (kind == "text" if labels is None else at < labels)],
    )


def with_strips(
    grid: Grid, values: Sequence[Estimate], *, at: int, best: Container[int] = (), zero: bool = False
) -> Grid:
    """Return a table with strips that share a scale, which holds 0 if that is asked for."""
    numbers = [each for value in values for each in value[:3] if each is not None] + [0.0] * zero
    scale = ticks(min(numbers, default=0.0), max(numbers, default=1.0), 10)
    low, high = scale[0], scale[-1]
    strips = [strip(value, (low, high)) for value in values]
    return replace(grid, strips=strips, ends=(value_text(low), value_text(high)), at=at, best=best)


def sweep_charts(rows: Sequence[SweepRow]) -> list[Chart]:
    """Return a chart for each sweep, all with the same vertical axis."""
    numbers = [each for row in rows for each in (row.spearman, row.spearman_low, row.spearman_high) if each is not None]
    y = _up("Spearman’s ρ", ticks(min(numbers, default=0.0), max(numbers, default=1.0), 5))
    hues = {metric: hue for hue, metric in enumerate(dict.fromkeys(row.metric for row in rows))}
    return [
        _sweep_chart(name, found, hues, y)
        for name in TITLES
        if (found := sorted((row for row in rows if row.sweep == name), key=_place))
    ]


def _place(row: SweepRow) -> float:
    """Return where a value stands: thresholds fall, and sizes of units go by their logarithm, as they are multiples."""
    if row.sweep == "threshold":
        return -row.value
    return math.log(row.value) if row.sweep == "unit" and row.value > 0 else row.value


def _sweep_chart(name: SweepName, rows: Sequence[SweepRow], hues: Mapping[str, int], y: Axis) -> Chart:
    x = _across(TITLES[name], {_place(row): value_text(row.value) for row in rows}, margin=16, zero=False)
    bands, lines, marks, said = [], [], [], []
    for metric, number in hues.items():
        own, hue = [row for row in rows if row.metric == metric], _hue(number)
        below, above = (_stretches(own, f"spearman_{end}", x, y) for end in ("low", "high"))
        for low, high in zip(below, above, strict=True):
            if len(low) > 1:
                bands.append(Stroke(_polyline([*high, *reversed(low)]) + "Z", hue))
            else:  # an interval with nothing beside it is no area
                lines.append(Stroke(_polyline([*high, *low]), hue))
        lines += [Stroke(_polyline(part), hue) for part in _stretches(own, "spearman", x, y) if len(part) > 1]
        defined = {value_text(row.value): (row, row.spearman) for row in own if row.spearman is not None}
        for value, (row, spearman) in defined.items():
            text = f"{metric}, {value}: ρ {number_text(spearman)}"
            marks.append(_point(number, x.at(_place(row)), y.at(spearman), text))
        where = [f"{number_text(spearman)} at {value}" for value, (_, spearman) in defined.items()]
        if own:
            said.append(f"{metric}: {', '.join(dict.fromkeys([*where[:1], *where[-1:]])) or 'undefined'}")
    return Chart(
        title=f"By {TITLES[name]}",
        description=f"Spearman’s ρ by {TITLES[name]}. " + "; ".join(said),
        x=x,
        y=y,
        bands=bands,
        lines=lines,
        marks=marks,
    )


def _stretches(rows: Sequence[SweepRow], field: str, x: Axis, y: Axis) -> Iterator[list[tuple[float, float]]]:
    """Yield the points of a line, split where a value is undefined: there it has a gap, never a 0."""
    points = [(x.at(_place(row)), getattr(row, field)) for row in rows]
    for gap, group in groupby(points, key=lambda point: point[1] is None):
        if not gap:
            yield [(place, y.at(value)) for place, value in group]


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
    name = f"difference of scores, {a} − {b}" if len(a) + len(b) < 24 else "difference of scores"
    x = _across(name, _labels(ends.tolist()), margin=4)
    y = _up("segments", levels, [level for level in levels if level == int(level)])
    bars = [
        Stroke(
            f"M{x.at(low) + 0.5:.1f} {y.at(0):.1f}V{y.at(count):.1f}H{x.at(high) - 0.5:.1f}V{y.at(0):.1f}Z",
            "bar " + ("side-a" if (low >= 0) == higher_is_better else "side-b"),
            f"{value_text(low)} to {value_text(high)}: {count:,}",
        )
        for (low, high), count in zip(pairwise(ends.tolist()), counts.tolist(), strict=True)
        if count
    ]
    above, below = int(np.count_nonzero(known > 0)), int(np.count_nonzero(known < 0))
    wins, losses = (above, below) if higher_is_better else (below, above)
    note = f"{a} is better in {wins:,}, {b} in {losses:,}; {len(known) - above - below:,} equal"
    description = f"Segments by the difference of their scores, {a} − {b}: {note}"
    return Chart(title=title, description=description, x=x, y=y, marks=bars, note=note)


def bucket_chart(title: str, labels: Sequence[str], systems: Mapping[str, Sequence[Estimate | None]]) -> Chart:
    """Return the scores of systems in buckets: for each system a score and its interval in each, None for nothing."""
    numbers = [each for row in systems.values() for cell in row if cell for each in cell[:3] if each is not None]
    x = _columns(labels)
    y = _up("score", ticks(min(numbers, default=0.0), max(numbers, default=1.0), 5))
    whiskers, marks = [], []
    for number, (system, row) in enumerate(systems.items()):
        for place, cell in enumerate(row):
            if cell is None or cell.value is None:
                continue
            at = x.at(place + 0.15 + 0.7 * (number + 0.5) / len(systems))
            if cell.low is not None and cell.high is not None:
                path = f"M{at:.1f} {y.at(cell.low):.1f}V{y.at(cell.high):.1f}"
                whiskers.append(Stroke(path, f"whisker {_hue(number)}"))
            text = f"{system}, {labels[place]}: {number_text(cell, 2)}"
            marks.append(_point(number, at, y.at(cell.value), text))
    return Chart(title=title, description=_described(title, marks), x=x, y=y, lines=whiskers, marks=marks)


def history_chart(metric: str, runs: Sequence[Run]) -> Chart:
    """Return the scores of runs by a metric, with their intervals, in the order of the runs."""
    own = [(place, run, run.scores[metric]) for place, run in enumerate(runs) if metric in run.scores]
    x = _across(
        "run",
        {place: (run.commit or run.time)[: 7 if run.commit else 10] for place, run, _ in own},
        margin=16,
        zero=False,
    )
    numbers = [each for _, _, scores in own for each in scores]
    y = _up("score", ticks(min(numbers, default=0.0), max(numbers, default=1.0), 5))
    points = [(x.at(place), y.at(score)) for place, _, (score, _, _) in own]
    whiskers = [
        Stroke(f"M{x.at(place):.1f} {y.at(low):.1f}V{y.at(high):.1f}", "whisker c0") for place, _, (_, low, high) in own
    ]
    marks = [
        _point(0, x.at(place), y.at(scores[0]), f"{run.time}, {run.outcome}: {number_text(Estimate(*scores), 2)}")
        for place, run, scores in own
    ]
    return Chart(
        title=metric,
        description=_described(f"Scores of {counted(len(own), 'run')} by {metric}", marks),
        x=x,
        y=y,
        lines=[*whiskers, *([Stroke(_polyline(points), "c0")] if len(points) > 1 else [])],
        marks=marks,
    )


def interval_chart(title: str, estimates: Mapping[str, Estimate], what: str) -> Chart:
    """Return scores as points with their intervals, a row for each system or metric, in their order."""
    numbers = [each for value in estimates.values() for each in value[:3] if each is not None]
    scale = ticks(min(numbers, default=0.0), max(numbers, default=1.0))
    x = _across(what, _labels(scale), zero=True)
    y = _rows(estimates)
    whiskers, marks = [], []
    for number, (name, value) in enumerate(estimates.items()):
        level = y.at(number + 0.5)
        if value.low is not None and value.high is not None:
            low, high = x.at(value.low), x.at(value.high)
            ends = "".join(f"M{end:.1f} {level - 3:.1f}v6" for end in (low, high))
            whiskers.append(Stroke(f"M{low:.1f} {level:.1f}H{high:.1f}{ends}", "whisker plain"))
        if value.value is not None:
            path = _marker(0, x.at(value.value), level)
            marks.append(Stroke(path, "plain", f"{name}: {number_text(value, 3)}"))
    return Chart(title=title, description=_described(title, marks), x=x, y=y, lines=whiskers, marks=marks)


LEVELS: Final = ((0.001, "dark"), (0.01, "middle"), (0.05, "light"))
"""Levels of significance, and how their cells are filled."""


def significance_chart(title: str, systems: Sequence[str], p: Mapping[tuple[str, str], float]) -> Chart:
    """Return which system is significantly better than which, by the p-values of pairs (better, worse)."""
    count = len(systems)
    x = _columns([str(number) for number in range(1, count + 1)])._replace(title="than system")
    y = _rows([f"{number}. {name}" for number, name in enumerate(systems, 1)])
    cells, labels = [], []
    for (better, worse), value in p.items():
        row, column = systems.index(better), systems.index(worse)
        fill = next((name for level, name in LEVELS if value < level), None)
        left, right, top, bottom = x.at(column), x.at(column + 1), y.at(row), y.at(row + 1)
        path = f"M{left + 1:.1f} {top + 1:.1f}H{right - 1:.1f}V{bottom - 1:.1f}H{left + 1:.1f}Z"
        said = f"{better} is better than {worse}: p = {value:.4f}"
        cells.append(Stroke(path, f"cell {fill or 'none'}", said))
        stars = "*" * sum(value < level for level, _ in LEVELS) or "–"
        classes = "tick inverse" if fill == "dark" else "tick"
        labels.append(Label((left + right) / 2, (top + bottom) / 2 + (6 if fill else 4), stars, classes))
    return Chart(
        title=title,
        description=_described(title, cells),
        x=x,
        y=y,
        marks=cells,
        labels=labels,
        note="Better than the system of the column: *** p < .001, ** p < .01, * p < .05 (Holm), – not significant.",
    )


def _rows(names: Iterable[str]) -> Axis:
    """Return a vertical axis with a row for each name, 1 high, from above to below."""
    rows = list(names)
    at = _scale(0.0, float(max(len(rows), 1)), float(TOP), float(HEIGHT - BOTTOM))
    return Axis("", [Tick(at(number + 0.5), name) for number, name in enumerate(rows)], at, None, lines=False)


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
    # Both axes go equally far to both sides of 0, as the order within a pair means nothing.
    across, up = (1.06 * float(np.max(np.abs(values), initial=0.0)) or 1.0 for values in (ratings, scores))
    x = _across("difference of ratings, A − B", _labels(_within(across)), (-across, across))
    y = _up("difference of scores, A − B", (-up, up), _within(up))
    # A stroke of no length with round ends is a dot: one element for all of them.
    dots = "".join(f"M{x.at(q):.1f} {y.at(m):.1f}h0" for q, m in zip(ratings.tolist(), scores.tolist(), strict=True))
    coefficient = "undefined" if spearman is None else number_text(spearman)
    some = f" ({len(ratings):,} are drawn)" if total > len(ratings) else ""
    missing = len(cloud.rating) - total
    note = f"ρ {coefficient}; {counted(total, 'unit')}{some}" + (f", {missing:,} more have no score" if missing else "")
    return Chart(
        title=str(measure),
        description=f"Differences of scores against differences of ratings for {measure}: {note}",
        x=x,
        y=y,
        marks=[Stroke(dots, "dots")] if dots else [],
        note=note,
    )


def system_chart(
    title: str,
    across: Mapping[str, float],
    up: Mapping[str, float],
    note: str = "",
    *,
    names: tuple[str, str] = ("people’s score", "metric’s score"),
    told: bool = False,
) -> Chart:
    """Return systems as points: one score, such as people's, from left to right, another from below to above.

    With ``told``, each system has a marker of its own and a legend names it.
    """
    x = _across(names[0], _labels(ticks(min(across.values()), max(across.values()))), zero=False)
    y = _up(names[1], ticks(min(up.values()), max(up.values())), zero=False)
    marks = []
    for number, (system, place) in enumerate(across.items()):
        text = f"{system}: {names[0]} {number_text(place, 2)}, {names[1]} {number_text(up[system], 2)}"
        marks.append(_point(number if told else 0, x.at(place), y.at(up[system]), text))
    keys = legend_keys([*across]) if told else ()
    return Chart(title=title, description=_described(title, marks), x=x, y=y, marks=marks, note=note, keys=keys)


def regret_chart(title: str, regrets: Mapping[str, Mapping[str, float]], means: Mapping[str, float]) -> Chart:
    """Return distances from the best as points, one column a metric, with a line at each metric's mean."""
    x = _columns(regrets)
    farthest = max((value for row in regrets.values() for value in row.values()), default=0.0)
    y = _up("distance from the best", ticks(0.0, farthest, 5))
    dots, lines = [], []
    for place, (metric, row) in enumerate(regrets.items()):
        lines.append(Stroke(f"M{x.at(place + 0.15):.1f} {y.at(means[metric]):.1f}H{x.at(place + 0.85):.1f}", _hue(0)))
        for where, value in row.items():
            path = f"M{x.at(place + 0.5):.1f} {y.at(value):.1f}h0"
            dots.append(Stroke(path, "dots", f"{metric}, {where}: {number_text(value)}"))
    return Chart(
        title=title,
        description=f"{title}. " + "; ".join(f"{name}: mean {number_text(mean)}" for name, mean in means.items()),
        x=x,
        y=y,
        lines=lines,
        marks=dots,
        note="A dot is a set and a level; the line is the metric's mean.",
    )


def strip(estimate: Estimate, ends: tuple[float, float]) -> Strip:
    """Return a coefficient on a scale between two ends, in percent of its length."""
    x = _scale(*ends, 2.0, 98.0)
    value, low, high = (None if each is None else x(each) for each in estimate[:3])
    text = "undefined" if value is None else number_text(estimate)
    return Strip(value, low, high, x(0.0) if ends[0] <= 0 <= ends[1] else None, text)


_NUMBER: Final = Column("number", kind="number")
_MINUS: Final = re.compile(r"(?<!\w)-(?=[\d ])")


def number_text(value: Estimate | float | None, digits: int = 3) -> str:
    """Return a number for people, with its interval if there is one; a dash for one that is undefined.

    Examples
    --------
    >>> number_text(-0.25), number_text(None), number_text(0.5, 1), number_text(Estimate(0.5, -0.25, 0.75), 2)
    ('−0.250', '–', '0.5', '0.50 [−0.25, 0.75]')
    """
    return with_minus(plain(shown(value, _NUMBER, digits)))


def with_minus(text: str) -> str:
    """Replace hyphens before numbers by minus signs, except in names.

    Examples
    --------
    >>> with_minus("trubleu-2: 1 - 0.5 (-0.9)")
    'trubleu-2: 1 − 0.5 (−0.9)'
    """
    return _MINUS.sub("−", text)


def series_style() -> str:
    """Return a class for each colour: ``.c0`` …, for light and dark surroundings."""
    light, dark = (
        "".join(f".c{number}{{--c:{colour}}}" for number, colour in enumerate(colours)) for colours in (LIGHT, DARK)
    )
    return f"{light}\n@media (prefers-color-scheme:dark){{{dark}}}\n"


def _hue(number: int) -> str:
    """Return the classes of a series: its colour, and whether its markers are hollow, as in every second round."""
    return f"c{number % len(LIGHT)}" + " hollow" * (number // len(MARKERS) % 2)


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


def _point(number: int, x: float, y: float, title: str) -> Stroke:
    return Stroke(_marker(number, x, y), _hue(number), title)


def _described(title: str, marks: Sequence[Stroke]) -> str:
    return f"{title}. " + "; ".join(mark.title for mark in marks)


def _polyline(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _across(
    title: str,
    labels: Mapping[float, str],
    ends: tuple[float, float] | None = None,
    *,
    margin: float = 0.0,
    zero: bool = True,
) -> Axis:
    """Return a horizontal axis, as far as its labels if its ends are not given, with a line at 0 if that is inside."""
    low, high = ends or (min(labels), max(labels))
    if low == high:
        low, high = low - 1, high + 1
    at = _scale(low, high, LEFT + margin, WIDTH - RIGHT - margin)
    marks = _thinned([Tick(at(value), text) for value, text in labels.items()])
    return Axis(title, marks, at, at(0.0) if zero and low < 0 < high else None)


def _up(title: str, levels: Sequence[float], labels: Sequence[float] | None = None, *, zero: bool = True) -> Axis:
    """Return a vertical axis from the first to the last level, with a line at 0 if that is inside."""
    at = _scale(levels[0], levels[-1], HEIGHT - BOTTOM, TOP)
    marks = [Tick(at(level), value_text(level)) for level in (levels if labels is None else labels)]
    return Axis(title, marks, at, at(0.0) if zero and levels[0] < 0 < levels[-1] else None)


def _labels(values: Sequence[float]) -> dict[float, str]:
    return {value: value_text(value) for value in values}


def _columns(names: Collection[str]) -> Axis:
    """Return an axis of named columns, each 1 wide; all names are shown, slanting where they would touch each other."""
    at = _scale(0, len(names), LEFT, WIDTH - RIGHT)
    marks = [Tick(at(place + 0.5), truncated(name, _LONGEST_NAME)) for place, name in enumerate(names)]
    if _apart(marks):
        return Axis("", marks, at, None)
    lengths = [len(mark.text) * _LABEL_WIDTH * _SLANT for mark in marks]
    left = min(0.0, *(mark.at - length for mark, length in zip(marks, lengths, strict=True)))
    return Axis("", marks, at, None, drop=max(lengths), left=left)


def _within(reach: float) -> list[float]:
    """Return round numbers between −reach and +reach."""
    return [value for value in ticks(-reach, reach, 6) if abs(value) <= reach]


def _thinned(marks: Sequence[Tick]) -> list[Tick]:
    """Keep every second label, or third, … where they would touch each other."""
    for step in range(1, len(marks) + 1):
        kept = list(marks[::step])
        if _apart(kept):
            return kept
    return list(marks[:1])


def _apart(marks: Sequence[Tick]) -> bool:
    """Return whether the texts of ticks do not touch each other."""
    return all(
        abs(one.at - other.at) >= (len(one.text) + len(other.text)) / 2 * _LABEL_WIDTH + 6
        for one, other in pairwise(marks)
    )
