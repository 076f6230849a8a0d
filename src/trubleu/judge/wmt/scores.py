"""All metrics' scores of one language pair in one shape, whether computed here or read from files; higher is better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from trubleu.errors import DataError, UsageError, some
from trubleu.judge.given_scores import sign_of
from trubleu.judge.wmt.results import ScoredTask
from trubleu.scoring.accumulator import prepare_for
from trubleu.stats import total

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import SegmentScores, SystemScores
    from trubleu.judge.report import Notes
    from trubleu.judge.wmt.task import WmtTask
    from trubleu.metrics import Metric
    from trubleu.progress import Steps
    from trubleu.stats import ScoreFunction

Scores = TypeVar("Scores", "SegmentScores", "SystemScores")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricScores:
    """One metric on one language pair.

    Attributes
    ----------
    name
        What it is called in rows.
    sign
        -1 where lower is better and the scores below were turned round, otherwise 1.
    segments
        ``float64[systems, segments]``, NaN where there is none; None without scores of segments.
    systems
        ``float64[systems]``, NaN where there is none; None without scores of systems.
    statistics, score
        What the scores of systems are made of, ``float64[segments, k]`` for each, and how; None if only the scores
        themselves are known, so that segments cannot be drawn.
    signature
        How the numbers were made; None for scores from a file.
    """

    name: str
    sign: int = 1
    segments: NDArray[np.float64] | None = None
    systems: NDArray[np.float64] | None = None
    statistics: Sequence[NDArray[np.float64]] | None = None
    score: ScoreFunction | None = None
    signature: str | None = None


def gather_scores(
    task: WmtTask,
    metrics: Mapping[str, Metric],
    lower_is_better: frozenset[str],
    notes: Notes,
    *,
    threads: int | None,
    steps: Steps,
) -> list[MetricScores]:
    """Compute our metrics' scores of a task, and add those from files."""
    found = [*_computed(task, metrics, threads, steps), *_read(task, lower_is_better, notes)]
    names = [each.name for each in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two metrics are called {some(twice)}, one of them in a file of scores; rename it there")
    return found


def _computed(
    task: WmtTask, metrics: Mapping[str, Metric], threads: int | None, steps: Steps
) -> Iterator[MetricScores]:
    if not metrics:
        return
    if task.references is None:
        raise UsageError(f"{task.language_pair} has no references to score outputs by {some(metrics)}; give some")
    references = task.references
    advance = steps(f"score {task.language_pair}", len(references) * len(task.outputs) * len(metrics))
    prepare_for(references, metrics.values(), len(task.outputs))
    for name, metric in metrics.items():
        statistics = [
            metric.statistics(texts, references, threads=threads, progress=advance) for texts in task.outputs.values()
        ]
        sign = 1 if metric.higher_is_better else -1
        score = metric.score
        yield MetricScores(
            name=name,
            sign=sign,
            segments=sign * np.stack([metric.segment_scores(rows, references) for rows in statistics]),
            systems=sign * np.array([float(metric.score(total(rows))) for rows in statistics]),
            statistics=statistics,
            score=score if sign == 1 else lambda sums, score=score: np.negative(score(sums)),  # type: ignore[misc]
            signature=str(metric.signature(references)),
        )


def _mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    mean = np.full(sums.shape[:-1], np.nan)
    np.divide(sums[..., 0], sums[..., 1], out=mean, where=sums[..., 1] > 0)
    return mean


def _read(task: WmtTask, lower_is_better: frozenset[str], notes: Notes) -> list[MetricScores]:
    segments = _segment_tables(task, notes)
    systems = _system_lists(task, notes)
    found = []
    for name in dict.fromkeys([*segments, *systems]):
        sign = sign_of(name, lower_is_better)
        table, means, statistics = None, systems.get(name), None
        if name in segments:
            table = sign * segments[name]
            if means is None:
                means, statistics = _means(task, name, segments[name], notes)
        found.append(
            MetricScores(
                name=name,
                sign=sign,
                segments=table,
                systems=None if means is None else sign * means,
                statistics=None if statistics is None else [rows * (sign, 1) for rows in statistics],
                score=None if statistics is None else _mean,
            )
        )
    return found


def _means(
    task: WmtTask, name: str, table: NDArray[np.float64], notes: Notes
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return the mean of segment scores of each system, over segments that all systems of the file have."""
    there = ~np.isnan(table)
    scored = np.logical_or.reduce(there, axis=1)
    shared = np.logical_and.reduce(there[scored], axis=0)
    if task.human is not None:
        over = "" if shared.all() else f" over the {int(shared.sum()):,} segments that all its systems have"
        notes.add(f"{name}: the score of a system is the mean of its segment scores{over}")
    statistics = []
    for row, present in zip(table, scored, strict=True):
        entering = shared & present
        statistics.append(np.stack([np.where(entering, np.nan_to_num(row), 0.0), entering.astype(np.float64)], axis=1))
    return np.array([float(_mean(total(rows))) for rows in statistics]), statistics


def _segment_tables(task: WmtTask, notes: Notes) -> dict[str, NDArray[np.float64]]:
    tables: dict[str, NDArray[np.float64]] = {}
    places = task.places()
    for own, systems in _own_files(task, task.segment_scores, notes):
        known = [name for name in own.segments() if name in places]
        if strange := [name for name in own.segments() if name not in places and name not in task.left_out]:
            notes.warn(f"{own.source} scores segments that {task.language_pair} does not have: {some(strange)}")
        for name in own.metrics():
            _refuse_twice(task, own.source, name, tables)
            table = np.full((len(task.outputs), task.segments), np.nan)
            rows, columns = list(systems.values()), [places[segment] for segment in known]
            table[np.ix_(rows, columns)] = own.table(name, list(systems), known)
            tables[name] = table
    return {name: table for name, table in tables.items() if not np.isnan(table).all()}


def _system_lists(task: WmtTask, notes: Notes) -> dict[str, NDArray[np.float64]]:
    lists: dict[str, NDArray[np.float64]] = {}
    for own, systems in _own_files(task, task.system_scores, notes):
        for name in own.metrics():
            _refuse_twice(task, own.source, name, lists)
            lists[name] = np.full(len(task.outputs), np.nan)
            lists[name][list(systems.values())] = own.table(name, list(systems))
            if task.left_out:
                notes.add(f"{name}: its scores of systems are from a file, so they include the segments left out")
    return {name: values for name, values in lists.items() if not np.isnan(values).all()}


def _own_files(task: WmtTask, files: Sequence[Scores], notes: Notes) -> Iterator[tuple[Scores, dict[str, int]]]:
    """Yield the scores of a task's language pair and test set, with the places of their systems that are here."""
    for scores in files:
        if (own := _of_task(task, scores, notes)) is not None:
            yield own, _known_systems(task, own, notes)


def _refuse_twice(task: WmtTask, source: str, name: str, found: Mapping[str, object]) -> None:
    if name in found:
        raise DataError(f"{source}: another file has scores of {name} for {task.language_pair} already; leave one out")


def _of_task(task: WmtTask, scores: Scores, notes: Notes) -> Scores | None:
    """Return the scores of this language pair and test set; None if there are none."""
    for what, wanted, names in (
        ("language_pair", task.language_pair, scores.language_pairs()),
        ("testset", task.testset, scores.testsets()),
    ):
        if not any(names):
            continue
        shown = what.replace("_", " ")
        if not wanted and len(names) > 1:
            raise DataError(f"{scores.source} has scores of the {shown}s {some(names)}; say which {shown} is meant")
        if wanted and wanted not in names:
            notes.warn(f"{scores.source} has no scores of the {shown} {wanted}, but of {some(names)}")
            return None
        if wanted:
            scores = scores.select(**{what: wanted})
    return scores


def _known_systems(task: WmtTask, scores: SegmentScores | SystemScores, notes: Notes) -> dict[str, int]:
    """Return the place of each system that a file scores and that is here."""
    used = scores.systems()
    known = task.found(used)
    for testset in scores.testsets():  # the metrics tasks of WMT leave the test set out of the names of systems
        longer = {f"{testset}.{name}": name for name in used if name not in known}
        known |= {longer[name]: place for name, place in task.found(longer).items() if place not in known.values()}
    if unknown := [name for name in used if name not in known]:
        notes.warn(f"{scores.source} scores systems that have no outputs in {task.language_pair}: {some(unknown)}")
    return known


def scored_task(task: WmtTask, found: Sequence[MetricScores]) -> ScoredTask:
    """Return what our own metrics gave, the right way round again."""
    own = [each for each in found if each.signature is not None]
    return ScoredTask(
        language_pair=task.language_pair,
        testset=task.testset,
        systems=task.systems,
        ids=tuple(task.places()),
        segment_scores={each.name: each.sign * each.segments for each in own if each.segments is not None},
        system_scores={each.name: each.sign * each.systems for each in own if each.systems is not None},
    )


def score_files(scored: Sequence[ScoredTask], testset: str = "test") -> tuple[SegmentScores, SystemScores]:
    """Return the scores of our own metrics as the metrics tasks of WMT keep them.

    Parameters
    ----------
    scored
        `WmtReport.scored`.
    testset
        What a test set without a name is called.
    """
    from trubleu.data import SegmentScores, SystemScores

    segments: list[tuple[Any, ...]] = []
    systems: list[tuple[Any, ...]] = []
    for task in scored:
        place = task.language_pair, task.testset or testset
        for metric, table in task.segment_scores.items():
            for system, row in zip(task.systems, table.tolist(), strict=True):
                pairs = zip(task.ids, row, strict=True)
                segments += [(metric, system, name, score, *place) for name, score in pairs if not math.isnan(score)]
        for metric, values in task.system_scores.items():
            systems += [(metric, system, score, *place) for system, score in zip(task.systems, values, strict=True)]
    columns: list[list[Any]] = [[*zip(*rows, strict=True)] for rows in (segments, systems)]
    return SegmentScores(*columns[0]), SystemScores(*columns[1])


def metrics_of(tasks: Iterable[WmtTask]) -> set[str]:
    """Return the names of all metrics in the files of some tasks."""
    return {
        name for task in tasks for scores in (*task.segment_scores, *task.system_scores) for name in scores.metrics()
    }
