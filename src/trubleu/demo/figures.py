"""Where everything of the report's figures stands, in pixels, so that the template only puts it in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trubleu.demo.finding import NAMES
from trubleu.judge.show.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Stroke, Tick, number_text
from trubleu.judge.show.series import ticks, value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trubleu.demo.finding import Finding
    from trubleu.demo.results import RatedReference, Results

_LETTER: Final = 7.6  # pixels that a letter of a name takes, in wide fonts
_OTHER_LETTERS: Final = {**dict.fromkeys("filrt", 5.0), **dict.fromkeys("mw", 11.0)}
_LINE: Final = 13.0
_POINT: Final = 4.2
_ORIGINS: Final = ("seed", "mined", "random", "parrot")
_SPREAD: Final = (0.0, -0.035, 0.035, -0.07, 0.07)  # of quality: points on top of each other are drawn side by side

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Label:
    """A name beside a point."""

    x: float
    y: float
    anchor: str
    text: str
    classes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Two axes and what is drawn between them; as `trubleu.judge.show.charts.Chart`, with names beside points."""

    title: str
    description: str
    x_title: str
    y_title: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    zero_y: float | None = None
    lines: Sequence[Stroke] = ()
    marks: Sequence[Stroke] = ()
    labels: Sequence[Label] = ()
    note: str = ""


def quality_panels(results: Results, finding: Finding) -> list[Panel]:
    """Return a panel for each metric: true quality from left to right, scores with intervals from below to above."""
    return [_quality_panel(results, finding, metric) for metric in results.metrics]


def _quality_panel(results: Results, finding: Finding, metric: str) -> Panel:
    order = finding.orders[metric]
    overrated = order.overrated()
    scores = {name: results.scores[metric, name] for name in results.systems}
    x_levels = ticks(min(results.truth.values()), max(results.truth.values()), 5)
    y_levels = ticks(min(0.0, *(each.low for each in scores.values())), max(each.high for each in scores.values()), 5)
    x = _scale(x_levels[0], x_levels[-1], LEFT + 10, WIDTH - RIGHT - 10)
    y = _scale(y_levels[0], y_levels[-1], HEIGHT - BOTTOM, TOP)
    kinds = {name: "over" if name in overrated else "right" for name in results.systems}
    points = {name: (x(results.truth[name]), y(scores[name].value)) for name in results.systems}
    whiskers = {name: (y(scores[name].high), y(scores[name].low)) for name in results.systems}
    lines = [
        Stroke(f"M{points[name][0]:.1f} {top:.1f}V{bottom:.1f}", kinds[name])
        for name, (top, bottom) in whiskers.items()
    ]
    marks = [
        Stroke(
            _diamond(*points[name]) if name in overrated else _circle(*points[name]),
            kinds[name],
            f"{name}: true quality {number_text(results.truth[name], 2)}, score {number_text(scores[name].value, 1)} "
            f"[{number_text(scores[name].low, 1)}, {number_text(scores[name].high, 1)}]",
        )
        for name in results.systems
    ]
    sure = f", {len(order.sure) or 'none'} significantly" if order.enough else ""
    wrong = f"{len(order.wrong)} of {order.pairs} pairs in the wrong order{sure}"
    return Panel(
        title=NAMES[metric],
        description=f"{NAMES[metric]} against true quality: "
        + "; ".join(
            f"{name} {number_text(results.truth[name], 2)} and {number_text(scores[name].value, 1)}"
            for name in finding.true_order
        ),
        x_title="true quality, 1 to 5",
        y_title=metric,
        x_ticks=[Tick(x(level), value_text(level)) for level in x_levels],
        y_ticks=[Tick(y(level), value_text(level)) for level in y_levels],
        zero_y=y(0.0) if y_levels[0] < 0 < y_levels[-1] else None,
        lines=lines,
        marks=marks,
        labels=_labels(finding.true_order, points, whiskers, kinds),
        note=wrong if order.wrong else f"no wrong pair among {order.pairs}",
    )


def _labels(
    names: Sequence[str],
    points: dict[str, tuple[float, float]],
    whiskers: dict[str, tuple[float, float]],
    kinds: dict[str, str],
) -> list[Label]:
    """Put each name beside its point, where it covers nothing if there is such a place."""
    taken: list[Box] = []
    for name, (x, y) in points.items():
        taken.append((x - _POINT - 1, y - _POINT - 1, x + _POINT + 1, y + _POINT + 1))
        taken.append((x - 1.5, whiskers[name][0], x + 1.5, whiskers[name][1]))
    placed = []
    for name in names:
        x, y = points[name]
        wide = sum(_OTHER_LETTERS.get(letter, _LETTER) for letter in name)
        high, low = whiskers[name]
        choices: list[tuple[float, float, str]] = [
            choice
            for away in (0.0, -9.0, 9.0, -18.0, 18.0, -27.0, 27.0)
            for choice in ((x + 8, y + away + 4, "start"), (x - 8, y + away + 4, "end"))
        ] + [(x, high - 5, "middle"), (x, low + 12, "middle"), (x, high - 18, "middle")]
        boxes = [_box(*choice, wide) for choice in choices]
        best = min(range(len(choices)), key=lambda place: (_covered(boxes[place], taken), place))
        taken.append(boxes[best])
        at, under, anchor = choices[best]
        placed.append(Label(at, under, {"start": "", "end": "end", "middle": "mid"}[anchor], name, kinds[name]))
    return placed


def _box(x: float, y: float, anchor: str, wide: float) -> Box:
    left = {"start": x, "end": x - wide, "middle": x - wide / 2}[anchor]
    return left, y - _LINE + 3, left + wide, y + 3


def _covered(box: Box, taken: Sequence[Box]) -> float:
    """Return how much of what is there a label would cover, and how far it would stand outside."""
    left, top, right, bottom = box
    lowest = HEIGHT - BOTTOM + 4
    outside = max(0.0, LEFT - left) + max(0.0, right - WIDTH) + max(0.0, -top) + max(0.0, bottom - lowest)
    area = sum(
        max(0.0, min(right, other[2]) - max(left, other[0])) * max(0.0, min(bottom, other[3]) - max(top, other[1]))
        for other in taken
    )
    return area + 100 * outside


def weight_panel(rated: Sequence[RatedReference]) -> Panel:
    """Return the references: true quality from left to right, the weight that raters gave from below to above."""
    x = _scale(1.0, 5.0, LEFT + 10, WIDTH - RIGHT - 10)
    y = _scale(-1.0, 1.0, HEIGHT - BOTTOM, TOP)
    seen: dict[tuple[float, float], int] = {}
    dots = []
    for each in rated:
        place = round(each.quality, 2), round(each.weight, 3)
        seen[place] = seen.get(place, -1) + 1
        dots.append(f"M{x(each.quality + _SPREAD[seen[place] % len(_SPREAD)]):.1f} {y(each.weight):.1f}h0")
    return Panel(
        title="Weights against the truth",
        description=f"Weights that raters gave to {len(rated):,} references, against their true quality",
        x_title="true quality, 1 to 5",
        y_title="weight",
        x_ticks=[Tick(x(level), value_text(level)) for level in (1, 2, 3, 4, 5)],
        y_ticks=[Tick(y(level), value_text(level)) for level in (-1.0, -0.5, 0.0, 0.5, 1.0)],
        zero_y=y(0.0),
        lines=[Stroke(f"M{x(1):.1f} {y(-1):.1f}L{x(5):.1f} {y(1):.1f}", "ideal")],
        marks=[Stroke("".join(dots), "dots")],
        note="The line is where weights would be if raters made no mistake.",
    )


def origins_of(rated: Sequence[RatedReference]) -> list[tuple[str, list[RatedReference]]]:
    """Return the references by where they come from, the usual origins in a fixed order."""
    found: dict[str, list[RatedReference]] = {}
    for each in rated:
        found.setdefault(each.origin, []).append(each)
    known = [name for name in _ORIGINS if name in found]
    return [(name, found[name]) for name in [*known, *sorted(set(found) - set(known))]]


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _circle(x: float, y: float) -> str:
    r = _POINT
    return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"


def _diamond(x: float, y: float) -> str:
    r = _POINT * 1.4
    return f"M{x:.1f} {y - r:.1f}L{x + r:.1f} {y:.1f}L{x:.1f} {y + r:.1f}L{x - r:.1f} {y:.1f}Z"
