"""A first pass over a corpus for metrics that must know all references before they count one segment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from trubleu.errors import UsageError, some
from trubleu.metrics.contract import Metric
from trubleu.metrics.learning import LearningMetric
from trubleu.metrics.ngram_counts import CountsOfParts, NgramCounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trubleu.data import LineStream
    from trubleu.data.ranges import LineRange

MakeMetrics = Callable[[], Mapping[str, Metric]]
"""Makes the metrics by their names; each worker does, as what they hold need not travel."""


@dataclass(frozen=True, slots=True)
class LearnRange:
    """Counts what the references of a range have to teach.

    Attributes
    ----------
    files
        The corpus, without outputs.
    learning
        The names of the metrics that learn.
    """

    files: LineStream
    learning: tuple[str, ...]

    def __call__(self, lines: LineRange, metrics: Mapping[str, Metric]) -> dict[str, NgramCounts]:
        """Count a range."""
        sums = {name: CountsOfParts() for name in self.learning}
        columns = len(self.files.paths)
        for references, _ in replace(lines, spans=lines.spans[:columns]).parts(self.files):
            for name, metric in learning_in_parts(metrics).items():
                sums[name].add(metric.counts(references))
        return {name: each.finish() for name, each in sums.items()}


def learning_in_parts(metrics: Mapping[str, Metric]) -> dict[str, LearningMetric]:
    """Return those metrics that learn from the references of all segments.

    Raises
    ------
    UsageError
        If what one of them learns does not add up over parts.
    """
    learning = {name: metric for name, metric in metrics.items() if metric.learns}
    if other := [name for name, metric in learning.items() if not isinstance(metric, LearningMetric)]:
        raise UsageError(
            f"{some(other)} must know the references of all segments before one is scored, and what it learns does not "
            "add up over parts of them; score whole files, without --engine, or let it learn from another corpus"
        )
    return {name: metric for name, metric in learning.items() if isinstance(metric, LearningMetric)}


def references_only(files: LineStream) -> LineStream:
    """Return a corpus without outputs and messages."""
    kept = len(files.references) + len(files.weights)
    return replace(files, systems={}, source=None, forms=files.forms[:kept], columns=())


def added_up(found: Iterable[dict[str, NgramCounts]]) -> dict[str, NgramCounts]:
    """Add up what ranges have to teach each metric; of what is rare nothing is left, as it counts nothing."""
    sums: dict[str, CountsOfParts] = {}
    for counts in found:
        for name, each in counts.items():
            sums.setdefault(name, CountsOfParts()).add(each)
    return {name: each.finish().without_rare() for name, each in sums.items()}


def taught(metrics: MakeMetrics, counts: Mapping[str, NgramCounts]) -> MakeMetrics:
    """Return what makes the same metrics with what they have learned."""
    return partial(_make, metrics, counts) if counts else metrics


def _make(metrics: MakeMetrics, counts: Mapping[str, NgramCounts]) -> dict[str, Metric]:
    made = metrics()
    learning = learning_in_parts(made)
    return {name: learning[name].knowing(counts[name]) if name in counts else made[name] for name in made}
