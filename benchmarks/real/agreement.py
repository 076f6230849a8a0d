"""How well scores of single outputs and of systems agree with people's, with intervals and tests.

Items are resampled with all of their outputs, the same draws for every metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from benchmarks.real import metrics
from trubleu import References
from trubleu.judge.replicates import centred_p, ends_of
from trubleu.render.tables import Cell, Column, Estimate, Table, render_tables
from trubleu.stats import holm, kendall, pearson, rank_correlations, spearman, total

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from benchmarks.real.judged import Output
    from trubleu import Metric

RESAMPLES: Final = 1000
SEED: Final = 12345
CONFIDENCE: Final = 0.95
LEAST_SYSTEMS: Final = 5

COEFFICIENTS: Final = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
SYMBOLS: Final = {"pearson": "r", "spearman": "ρ", "kendall": "τ"}
HEADLINE: Final = {"pooled": "spearman", "item": "kendall", "system": "pearson"}
"""Levels, and the coefficient of each that is tested and that distances between metrics are taken of."""

Measure = tuple[str, str]
"""A level and a coefficient."""


class Found(NamedTuple):
    """A coefficient, and its bootstrap replicates."""

    value: float
    replicates: NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """A set of outputs, and the draws of its items."""

    outputs: Sequence[Output]
    resamples: int = RESAMPLES
    seed: int = SEED

    @cached_property
    def human(self) -> NDArray[np.float64]:
        """What people think of each output."""
        return np.array([output.human for output in self.outputs])

    @cached_property
    def items(self) -> dict[str, list[int]]:
        """The places of each item's outputs."""
        return _places(output.item for output in self.outputs)

    @cached_property
    def systems(self) -> dict[str, list[int]]:
        """The places of each system's outputs."""
        return _places(output.system for output in self.outputs)

    @cached_property
    def item_draws(self) -> NDArray[np.int64]:
        """How often each item is in each resample."""
        count = len(self.items)
        return np.random.default_rng(self.seed).multinomial(count, np.full(count, 1 / count), self.resamples)

    @cached_property
    def draws(self) -> NDArray[np.int64]:
        """How often each output is in each resample."""
        number = {item: place for place, item in enumerate(self.items)}
        return self.item_draws[:, [number[output.item] for output in self.outputs]]

    def agreement(self, metric: Metric) -> dict[Measure, Found]:
        """Return how well a metric agrees with people, by level and coefficient."""
        references = References.from_lists([list(output.references) for output in self.outputs])
        if metric.learns:  # from the references of each item once
            first = [self.outputs[places[0]] for places in self.items.values()]
            metric = metric.learned(References.from_lists([list(output.references) for output in first]))
        statistics = metric.statistics([output.text for output in self.outputs], references)
        sign = 1 if metric.higher_is_better else -1
        scores = sign * metric.segment_scores(statistics, references)
        found = {**self.pooled(scores), **self.by_item(scores)}
        return found | self.by_system(metric, statistics, sign) if len(self.systems) >= LEAST_SYSTEMS else found

    def pooled(self, scores: NDArray[np.float64]) -> dict[Measure, Found]:
        """Correlate all outputs' scores."""
        ranks = rank_correlations(scores, self.human, counts=self.draws)
        replicates = {
            "pearson": _weighted_pearson(scores, self.human, self.draws),
            "spearman": ranks.spearman,
            "kendall": ranks.kendall,
        }
        return {
            ("pooled", name): Found(coefficient(scores, self.human) or 0.0, replicates[name])
            for name, coefficient in COEFFICIENTS.items()
        }

    def by_item(self, scores: NDArray[np.float64]) -> dict[Measure, Found]:
        """Correlate the scores of each item's outputs, and take the mean.

        Items whose outputs are all alike to people say nothing. Where they are alike to the metric only, it gets 0: all
        metrics are averaged over the same items.
        """
        used = [place for place, rows in enumerate(self.items.values()) if len(np.unique(self.human[rows])) > 1]
        if not used:
            return {}
        rows_of = list(self.items.values())
        draws = self.item_draws[:, used]
        found = {}
        for name, coefficient in COEFFICIENTS.items():
            each = np.array([coefficient(scores[rows_of[item]], self.human[rows_of[item]]) or 0.0 for item in used])
            found["item", name] = Found(float(each.mean()), draws @ each / draws.sum(axis=1))
        return found

    def by_system(self, metric: Metric, statistics: NDArray[np.float64], sign: int) -> dict[Measure, Found]:
        """Correlate scores of whole systems with people's means."""
        rows = list(self.systems.values())
        human = np.array([self.human[each].mean() for each in rows])
        scores = sign * np.array([float(metric.score(total(statistics[each]))) for each in rows])
        draws = [self.draws[:, each] for each in rows]
        humans = np.stack(
            [drawn @ self.human[each] / drawn.sum(axis=1) for drawn, each in zip(draws, rows, strict=True)], axis=1
        )
        drawn_scores = np.stack(
            [metric.score(drawn @ statistics[each]) for drawn, each in zip(draws, rows, strict=True)], axis=1
        )
        replicates = {
            "pearson": np.array([pearson(*pair) or 0.0 for pair in zip(sign * drawn_scores, humans, strict=True)]),
            "kendall": rank_correlations(sign * drawn_scores, humans).kendall,
        }
        return {
            ("system", name): Found(COEFFICIENTS[name](scores, human) or 0.0, each) for name, each in replicates.items()
        }


def next_best(found: Mapping[str, Mapping[Measure, Found]], against: str, measure: Measure) -> str:
    """Return the best of the other metrics."""
    return max((name for name in found if name != against), key=lambda name: found[name][measure].value)


def study(sets: Iterable[tuple[str, list[Output]]], folder: Path, names: Sequence[str], against: str | None) -> int:
    """Measure all metrics on all sets, print tables, and leave them in the folder."""
    names = metrics.known(names)
    against = against or names[0]
    if against not in names:
        names = [against, *names]
    built = {name: metrics.build(name) for name in names}
    shown, rows, tests = [], [], []
    for title, outputs in sets:
        judged = Judged(outputs)
        found = {name: judged.agreement(built[name]) for name in metrics.bearable(names, title)}
        shown.append(_shown(title, judged, found))
        print(render_tables(shown[-1:], "markdown", 3), flush=True)
        rows += list(_rows(title, found))
        if len(names) > 1:
            tests += list(_tests(title, found, against))
    corrected = holm([test[-1] for test in tests])
    compared = _compared([(*test, p) for test, p in zip(tests, corrected, strict=True)])
    flat = Table("", _columns("set level coefficient metric", "value"), rows, name="agreements")
    (folder / "result.json").write_text(render_tables([flat, compared], "json"), encoding="utf-8")
    (folder / "result.md").write_text(render_tables([*shown, compared], "markdown", 3), encoding="utf-8")
    print(render_tables([compared], "markdown", 3))
    return 0


def _places(names: Iterable[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(name, []).append(place)
    return found


def _weighted_pearson(x: NDArray[np.float64], y: NDArray[np.float64], draws: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return Pearson's correlation in each resample; NaN where it is undefined."""
    x, y = x - x.mean(), y - y.mean()
    sums = draws @ np.stack([x, y, x * x, y * y, x * y], axis=1) / draws.sum(axis=1, keepdims=True)
    mean_x, mean_y, xx, yy, xy = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = (xy - mean_x * mean_y) / np.sqrt((xx - mean_x**2) * (yy - mean_y**2))
    return found


def _estimate(found: Found) -> Estimate:
    ends = ends_of(found.replicates, CONFIDENCE)
    return Estimate(found.value, ends.low, ends.high)


def _rows(title: str, found: Mapping[str, Mapping[Measure, Found]]) -> Iterator[tuple[str | Estimate, ...]]:
    for name, measures in found.items():
        for (level, coefficient), each in measures.items():
            yield title, level, coefficient, name, _estimate(each)


def _tests(
    title: str, found: Mapping[str, Mapping[Measure, Found]], against: str
) -> Iterator[tuple[str, str, str, str, Estimate, float]]:
    for measure in HEADLINE.items():
        if measure in found.get(against, {}):
            other = next_best(found, against, measure)
            ours, theirs = found[against][measure], found[other][measure]
            difference = Found(ours.value - theirs.value, ours.replicates - theirs.replicates)
            p = centred_p(difference.replicates, difference.value)
            yield title, _heading(measure), against, other, _estimate(difference), 1.0 if p is None else p


def _compared(rows: Sequence[tuple[str | Estimate | float, ...]]) -> Table:
    columns = [*_columns("set measure metric other", "difference"), Column("p", kind="p"), Column("p_holm", kind="p")]
    notes = ["The other is the best of the other metrics; p is two-sided, p_holm corrected for all tests of the table."]
    return Table("Against the best of the others", columns, rows, notes, name="tests")


def _shown(title: str, judged: Judged, found: Mapping[str, Mapping[Measure, Found]]) -> Table:
    measures = list(next(iter(found.values())))
    columns = [Column("metric"), *(Column(_heading(measure), kind="number") for measure in measures)]
    rows: list[Sequence[Cell]] = [[name, *map(_estimate, each.values())] for name, each in found.items()]
    notes = [
        f"{len(judged.outputs):,} outputs of {len(judged.items):,} items; {RESAMPLES:,} resamples of items, seed {SEED}"
    ]
    return Table(title, columns, rows, notes)


def _heading(measure: Measure) -> str:
    level, coefficient = measure
    return f"{level} {SYMBOLS[coefficient]}"


def _columns(texts: str, number: str) -> list[Column]:
    return [*map(Column, texts.split()), Column(number, kind="number")]
