"""Statistics of several systems and metrics, accumulated part by part."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from trubleu.data import References
from trubleu.execution.captured_warnings import HeldWarnings
from trubleu.metrics.base import reference_number, whole_references
from trubleu.metrics.matching import Matching
from trubleu.results import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences
    from trubleu.metrics.base import Metric
    from trubleu.progress import Progress


PREPARE_FROM: Final = 3
"""Number of scorings of the same tokens from which preparing the references pays off; see docs/performance.md."""

Sink = Callable[[Sequence[str], Mapping[tuple[str, str], Sequence[float]]], object]
"""Receives segment ids, and the scores by metric and system; NaN for a skipped segment."""


class Builder(Protocol):
    """Collects rows of statistics: `trubleu.stats.SampleBuilder` or `PartialBuilder`."""

    def add(self, rows: NDArray[np.float64]) -> None:
        """Add rows."""


SomeBuilder = TypeVar("SomeBuilder", bound=Builder)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """One segment of one system under one metric; the score is None if the metric skipped the segment."""

    schema: int = SCHEMA
    id: str
    system: str
    metric: str
    score: float | None


class Collected(Generic[SomeBuilder]):
    """What was collected for all systems and metrics.

    Attributes
    ----------
    builders
        By system and metric.
    reference_numbers
        How many references segments have, as signatures say it.
    segment_rows
        The scores of segments, if they are wanted, by metric and system.
    held
        Warnings.
    """

    def __init__(self) -> None:
        self.builders: dict[tuple[str, str], SomeBuilder] = {}
        self.reference_numbers: set[str | None] = set()
        self.segment_rows: dict[tuple[str, str], list[SegmentRow]] = {}
        self.held = HeldWarnings()


class PartCounter(Collected[SomeBuilder]):
    """Accumulates statistics part by part for all systems and metrics, in one process or on a worker.

    Parameters
    ----------
    systems
        The names of the systems.
    metrics
        The metrics by name.
    builder
        Makes what takes the rows of one system and metric, given their number of columns.
    segments
        Whether the score of every segment is wanted.
    sink
        Takes the scores of the segments of each part instead: their ids, and by metric and system a score each.
    threads, progress
        As for `Metric.statistics`.
    """

    def __init__(
        self,
        systems: Sequence[str],
        metrics: Mapping[str, Metric],
        builder: Callable[[int], SomeBuilder],
        *,
        segments: bool = False,
        sink: Sink | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        self._systems = systems
        self._metrics = metrics
        self._builder = builder
        self._segments = segments
        self._sink = sink
        self._threads = threads
        self._progress = progress

    def add(self, references: References | PreparedReferences, outputs: Mapping[str, Sequence[str]]) -> None:
        """Add a part."""
        with self.held.of_part():
            self.reference_numbers.add(reference_number(references))
            prepare_for(references, self._metrics.values(), len(self._systems))
            scores: dict[tuple[str, str], list[float]] = {}
            for name, metric in self._metrics.items():
                for system in self._systems:
                    rows = metric.statistics(
                        outputs[system], references, threads=self._threads, progress=self._progress
                    )
                    if (system, name) not in self.builders:
                        self.builders[system, name] = self._builder(rows.shape[1])
                    self.builders[system, name].add(rows)
                    if self._segments or self._sink is not None:
                        scores[name, system] = metric.segment_scores(rows, references).tolist()
            if scores:
                self._take(whole_references(references).ids, scores)

    def _take(self, ids: Sequence[str], scores: Mapping[tuple[str, str], Sequence[float]]) -> None:
        if self._sink is not None:
            self._sink(ids, scores)
            return
        for (name, system), values in scores.items():
            self.segment_rows.setdefault((name, system), []).extend(
                SegmentRow(id=segment, system=system, metric=name, score=value if math.isfinite(value) else None)
                for segment, value in zip(ids, values, strict=True)
            )


def learners(metrics: Mapping[str, Metric]) -> list[str]:
    """Return the names of the metrics that must see the references of all segments first."""
    return [name for name, metric in metrics.items() if metric.learns]


def prepare_for(references: References | PreparedReferences, metrics: Iterable[Metric], systems: int) -> None:
    """Tokenize references once if several scorings share their tokens."""
    if not isinstance(references, References):
        return
    found = [getattr(metric, "matching", None) for metric in metrics]
    uses = Counter((each.tokenizer, each.lowercase) for each in found if isinstance(each, Matching))
    for (tokenizer, lowercase), metrics_of_these in uses.items():
        if metrics_of_these * systems >= PREPARE_FROM:
            references.prepare(tokenize=tokenizer, lowercase=lowercase)
