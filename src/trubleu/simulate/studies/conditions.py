"""What is varied: the metric, how many references a segment has, and how many people rated each."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trubleu.errors import CountedWarning, UsageError
from trubleu.execution.progress import no_steps
from trubleu.metrics.registry import parse
from trubleu.simulate.studies.pool import MOST_RATERS, check_whole, weights_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.execution.progress import Steps
    from trubleu.metrics import Metric
    from trubleu.simulate.studies.pool import Pool

MOST_REFERENCES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Condition:
    """One way to score.

    Attributes
    ----------
    name
        The metric as it was written.
    metric
        The metric.
    references
        How many references a segment has at most.
    raters
        How many people rated each; None if the metric takes no weights.
    """

    name: str
    metric: Metric
    references: int
    raters: int | None


@dataclass(frozen=True, slots=True)
class Scored:
    """The statistics of every system on the whole pool under one condition.

    Attributes
    ----------
    condition
        The condition.
    rows
        ``float64[segments, k]`` for each system.
    left_out
        The share of segments that no reference of positive weight is left for; their rows are 0.
    """

    condition: Condition
    rows: Mapping[str, NDArray[np.float64]]
    left_out: float

    def score(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores of which the higher is the better, whatever the metric."""
        scores = self.condition.metric.score(sums)
        return scores if self.condition.metric.higher_is_better else -scores


def make_conditions(metrics: Sequence[str], references: Sequence[int], raters: Sequence[int]) -> tuple[Condition, ...]:
    """Combine metrics, numbers of references and, for metrics with weights, numbers of raters.

    Parameters
    ----------
    metrics
        As ``-m`` takes them.
    references, raters
        Numbers, none twice.

    Raises
    ------
    UsageError
        If something is given twice, out of range, or cannot be studied by drawing rows.

    Examples
    --------
    >>> for each in make_conditions(["bleu-2", "dbleu-2"], [1, 5], [3]):
    ...     print(each.name, each.references, each.raters)
    bleu-2 1 None
    bleu-2 5 None
    dbleu-2 1 3
    dbleu-2 5 3
    """
    for what, numbers, most in (("references", references, MOST_REFERENCES), ("raters", raters, MOST_RATERS)):
        check_numbers(what, numbers, 1, most)
    if len(set(metrics)) != len(metrics) or not metrics:
        raise UsageError("give at least one metric, and none of them twice")
    made = [
        Condition(name, built, number, people)
        for name, built in ((name, _built(name)) for name in metrics)
        for number in references
        for people in (raters if built.uses_weights else [None])
    ]
    return tuple(made)


def check_numbers(what: str, numbers: Sequence[int], least: int, most: int = 10_000_000) -> None:
    """Refuse a list of numbers that is empty, has one twice or one out of range."""
    for number in numbers:
        check_whole(what, number, least, most)
    if len(set(numbers)) != len(numbers) or not numbers:
        raise UsageError(f"{what} must be one number or several different ones, separated by commas")


def _built(name: str) -> Metric:
    spec = parse(name)
    # What a user does whose study left a segment without a good reference; nobody can be asked here.
    metric = spec.build(**({"no_positive": "skip"} if spec.accepts("no_positive") else {}))
    if metric.learns:
        raise UsageError(
            f"{name} learns from the references of all segments, so a test set is more than the sum of its segments; "
            "leave it out"
        )
    return metric


def score_pool(
    pool: Pool,
    conditions: Sequence[Condition],
    ratings: NDArray[np.int64],
    *,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> tuple[Scored, ...]:
    """Compute the statistics of all systems under all conditions, once: a test set is some of their rows.

    Parameters
    ----------
    pool
        The segments.
    conditions
        Ways to score.
    ratings
        As `draw_ratings` returns them, for at least as many raters as the conditions have.
    threads
        How many threads to use; None for all cores if there is enough to do.
    steps
        Told of how far it is.
    """
    told = steps("scoring", len(conditions) * len(pool.outputs))
    made = []
    for condition in conditions:
        weights = None if condition.raters is None else weights_of(ratings, condition.raters)
        references = pool.first(condition.references, weights)
        rows = {}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "segments in .* without a reference of positive", CountedWarning)
            for system, outputs in pool.outputs.items():
                rows[system] = condition.metric.statistics(outputs, references, threads=threads)
                told(1)
            left_out = len(condition.metric.skipped(references)) / len(pool)
        made.append(Scored(condition, rows, left_out))
    return tuple(made)
