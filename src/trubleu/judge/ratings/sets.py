"""Metrics on many sets: how far each is from the best of every set, on average and at worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trubleu.errors import DataError, counted, some
from trubleu.judge.ratings.results import LEVELS, Level, RatingsSetting, measure_title
from trubleu.judge.report import NoteRow, Row, RowsReport, brief
from trubleu.stats.bootstrap import ends_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.judge.ratings.results import RatingsReport


@dataclass(frozen=True, slots=True, kw_only=True)
class SetValueRow(Row):
    """How well one metric agrees with people on one set.

    Attributes
    ----------
    set, level, measure, metric
        What was measured.
    value, low, high
        The headline of the level with its interval; None where it is undefined.
    regret
        How far the value is below that of the best metric; None where it is undefined.
    not_worse
        Whether the metric is the best or not significantly worse than the best.
    """

    set: str
    level: Level
    measure: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    regret: float | None
    not_worse: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RegretRow(Row):
    """How far one metric is from the best over all sets.

    Attributes
    ----------
    metric
        Its name.
    mean, worst
        Of its distances from the best, set by set and level by level.
    where
        The set and the level of the worst.
    best, not_worse
        How often it is the best, and how often the best or not significantly worse.
    columns
        Over how many sets and levels.
    """

    metric: str
    mean: float
    worst: float
    where: str
    best: int
    not_worse: int
    columns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageRow(Row):
    """The mean of one metric's values by one measure over so many sets, those in which it is defined.

    The bootstrap interval draws each set by itself; None where a set has no replicates.
    """

    level: Level
    measure: str
    metric: str
    value: float
    low: float | None
    high: float | None
    sets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetsReport(RowsReport):
    """Metrics on many sets.

    Attributes
    ----------
    verdict
        Which metric is closest to the best over all sets.
    regrets
        The metrics, the smallest mean distance first.
    values
        Flat rows behind them.
    averages
        Of measures with values on several sets.
    notes
        What a reader must know, one sentence each.
    reports
        What was found on each set.
    """

    kinds: ClassVar[Mapping[str, type[Any]]] = {
        "regrets": RegretRow,
        "values": SetValueRow,
        "averages": AverageRow,
        "settings": RatingsSetting,
        "notes": NoteRow,
    }

    verdict: str
    regrets: tuple[RegretRow, ...]
    values: tuple[SetValueRow, ...]
    averages: tuple[AverageRow, ...]
    notes: tuple[str, ...]
    reports: Mapping[str, RatingsReport]

    def columns(self) -> list[tuple[str, Level, str]]:
        """Return the sets with their levels and measures, in order."""
        return [*dict.fromkeys((row.set, row.level, row.measure) for row in self.values)]

    def value(self, name: str, level: Level, metric: str) -> SetValueRow:
        """Return one row."""
        return next(row for row in self.values if (row.set, row.level, row.metric) == (name, level, metric))

    def _rows(self, name: str) -> Sequence[Any]:
        if name == "settings":
            return [each.setting for each in self.reports.values()]
        rows = super(SetsReport, self)._rows(name)  # a class with slots is another one than super() alone knows
        return [NoteRow(note=self.verdict), *rows] if name == "notes" else rows

    def _repr_html_(self) -> str:
        from trubleu.render.judge_ratings import render_sets

        return render_sets(self, "html")


def judge_sets(reports: Mapping[str, RatingsReport]) -> SetsReport:
    """Put the results of several sets side by side.

    Parameters
    ----------
    reports
        What `judge_ratings` returned for each set, by name; with the same metrics.

    Raises
    ------
    DataError
        If there are no sets, or they were judged with different metrics.
    """
    if not reports:
        raise DataError("there are no sets to put side by side; give at least one")
    metrics = next(iter(reports.values())).metrics()
    values: list[SetValueRow] = []
    for name, report in reports.items():
        own = {*report.metrics()}
        if own != set(metrics):
            raise DataError(
                f"{name} was judged with {some(sorted(own))} and the first set with {some(sorted(metrics))}; "
                "judge all sets with the same metrics"
            )
        for level in LEVELS:
            rows = report.headline(level)
            top = rows[0].value if rows else None
            if top is None:
                continue
            values += [
                SetValueRow(
                    set=name,
                    level=level,
                    measure=row.measure,
                    metric=row.metric,
                    value=row.value,
                    low=row.low,
                    high=row.high,
                    regret=None if row.value is None else top - row.value,
                    not_worse=bool(row.not_worse),
                )
                for row in rows
            ]
    if not values:
        raise DataError("no metric has a value on any of the sets; look at them one by one with trubleu judge ratings")
    defined = {row.metric for row in values if row.value is not None}
    regrets = sorted((_regret(metric, values) for metric in metrics if metric in defined), key=lambda row: row.mean)
    return SetsReport(
        verdict=_verdict(regrets, len(reports)),
        regrets=tuple(regrets),
        values=tuple(values),
        averages=tuple(_averages(reports, values)),
        notes=(
            *_notes(reports, values),
            *(f"{metric} has no value on any set, so it is left out" for metric in metrics if metric not in defined),
        ),
        reports=reports,
    )


def _regret(metric: str, values: Sequence[SetValueRow]) -> RegretRow:
    rows = [row for row in values if row.metric == metric and row.regret is not None]
    worst = max(rows, key=lambda row: row.regret or 0.0)
    return RegretRow(
        metric=metric,
        mean=sum(row.regret or 0.0 for row in rows) / len(rows),
        worst=worst.regret or 0.0,
        where=f"{worst.set}, {worst.level}",
        best=sum(row.regret == 0.0 for row in rows),
        not_worse=sum(row.not_worse for row in rows),
        columns=len(rows),
    )


def _averages(reports: Mapping[str, RatingsReport], values: Sequence[SetValueRow]) -> Iterator[AverageRow]:
    """Yield the mean of each measure and metric over the sets that have a value, where there are several sets."""
    found: dict[tuple[Level, str, str], list[SetValueRow]] = {}
    for row in values:
        if row.value is not None:
            found.setdefault((row.level, row.measure, row.metric), []).append(row)
    for (level, measure, metric), rows in found.items():
        if len({row.set for row in values if (row.level, row.measure) == (level, measure)}) < 2:
            continue
        drawn = [reports[row.set].replicates.get((level, metric)) for row in rows]
        # Sets of the same size have the same draws, which must not go together.
        shuffled = [
            np.random.default_rng(place).permutation(each) for place, each in enumerate(drawn) if each is not None
        ]
        whole = len(shuffled) == len(rows) and len({len(each) for each in shuffled}) == 1
        means = np.mean(shuffled, axis=0) if whole else None
        low, high, _ = ends_of(means, reports[rows[0].set].setting.confidence)
        value = sum(row.value or 0.0 for row in rows) / len(rows)
        yield AverageRow(level=level, measure=measure, metric=metric, value=value, low=low, high=high, sets=len(rows))


def _verdict(regrets: Sequence[RegretRow], sets: int) -> str:
    best = regrets[0]
    head = (
        f"{best.metric} is closest to the best over {counted(sets, 'set')}: {brief(best.mean)} behind it on average "
        f"and {brief(best.worst)} at worst ({best.where})"
    )
    if len(regrets) == 1:
        return f"{head}; there is no other metric to compare it with."
    other = regrets[1]
    return (
        f"{head}; {other.metric} follows with {brief(other.mean)} and {brief(other.worst)} ({other.where}). "
        f"{best.metric} is the best or not significantly worse than the best in {best.not_worse} of "
        f"{best.columns} columns."
    )


def _notes(reports: Mapping[str, RatingsReport], values: Sequence[SetValueRow]) -> list[str]:
    measures = dict.fromkeys((row.level, row.measure) for row in values)
    named = {
        level: " or ".join(measure_title(each, measure) for each, measure in measures if each == level)
        for level in LEVELS
    }
    notes = [f"{level} level: {title}" for level, title in named.items() if title]
    setting = next(iter(reports.values())).setting
    by_level = {"segment": setting.test, "system": setting.system_test or setting.test}
    tests = dict.fromkeys(by_level[level] for level, _ in measures)
    notes.append(
        f"* best, or not significantly worse than the best ({' and '.join(tests)}, two-sided, p < "
        f"{1 - setting.confidence:.2g} after Holm's correction within a set and level)"
    )
    return notes
