"""Parts of a corpus counted: statistics for builders, scores of segments, warnings that add up over parts."""

from __future__ import annotations

import builtins
import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from trubleu.data import References
from trubleu.errors import CountedWarning, TrubleuWarning
from trubleu.metrics.contract import reference_number, whole_references
from trubleu.metrics.matching import Matching
from trubleu.report.tables import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences
    from trubleu.metrics.contract import Metric

PREPARE_FROM: Final = 3
"""Scorings of the same tokens from which on preparing the references pays; see docs/performance.md."""


Sink = Callable[[Sequence[str], Mapping[tuple[str, str], Sequence[float]]], object]
"""Takes the ids of some segments, and by metric and system the score of each; NaN for one that was skipped."""


class Builder(Protocol):
    """Takes rows of statistics as they come: `trubleu.stats.SampleBuilder` or `PartialBuilder`."""

    def add(self, rows: NDArray[np.float64]) -> None:
        """Take the next rows."""


SomeBuilder = TypeVar("SomeBuilder", bound=Builder)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """One segment of one system under one metric; the score is None where the metric was told to skip it."""

    schema: int = SCHEMA
    id: str
    system: str
    metric: str
    score: float | None


class PartCounter(Generic[SomeBuilder]):
    """Counts part after part for all systems and metrics; the same here and on a worker of many.

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

    def __init__(
        self,
        systems: Sequence[str],
        metrics: Mapping[str, Metric],
        builder: Callable[[int], SomeBuilder],
        *,
        segments: bool = False,
        sink: Sink | None = None,
        threads: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self.builders: dict[tuple[str, str], SomeBuilder] = {}
        self.reference_numbers: set[str | None] = set()
        self.segment_rows: dict[tuple[str, str], list[SegmentRow]] = {}
        self.held = HeldWarnings()
        self._systems = systems
        self._metrics = metrics
        self._builder = builder
        self._segments = segments
        self._sink = sink
        self._threads = threads
        self._progress = progress

    def add(self, references: References | PreparedReferences, outputs: Mapping[str, Sequence[str]]) -> None:
        """Count the next part."""
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
    """Return the names of those metrics that must know the references of all segments before they count one."""
    return [name for name, metric in metrics.items() if metric.learns]


def prepare_for(references: References | PreparedReferences, metrics: Iterable[Metric], systems: int) -> None:
    """Tokenise references once where several scorings share their tokens."""
    if not isinstance(references, References):
        return
    found = [getattr(metric, "matching", None) for metric in metrics]
    uses = Counter((each.tokenizer, each.lowercase) for each in found if isinstance(each, Matching))
    for (tokenizer, lowercase), metrics_of_these in uses.items():
        if metrics_of_these * systems >= PREPARE_FROM:
            references.prepare(tokenize=tokenizer, lowercase=lowercase)


class HeldWarnings:
    """Holds warnings back until all parts are done, and says each once with the cases of all parts together."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._others: dict[str, warnings.WarningMessage] = {}

    @contextmanager
    def of_part(self) -> Iterator[None]:
        """Hold back what is warned of while one part is scored."""
        caught: list[warnings.WarningMessage] = []
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                yield
        finally:
            here: dict[str, int] = {}
            for warning in caught:
                if isinstance(warning.message, CountedWarning):
                    # Every system and metric meets the same cases of one part again.
                    here[warning.message.what] = max(here.get(warning.message.what, 0), warning.message.count)
                else:
                    self._others.setdefault(str(warning.message), warning)
            self._counts.update(here)

    def merge(self, other: HeldWarnings) -> None:
        """Add what was held back elsewhere, about other parts."""
        self._counts.update(other._counts)
        for text, warning in other._others.items():
            self._others.setdefault(text, warning)

    def plain(self) -> dict[str, Any]:
        """Return all as plain values, ready for JSON."""
        return {"counts": dict(self._counts), "others": {text: _name(each) for text, each in self._others.items()}}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> HeldWarnings:
        """Return what `plain` made plain; a warning that is neither ours nor Python's becomes a UserWarning."""
        held = cls()
        held._counts.update(values["counts"])
        for text, name in values["others"].items():
            category = _category(name)
            held._others[text] = warnings.WarningMessage(category(text), category, __file__, 1)
        return held

    def tell(self) -> None:
        """Say it all."""
        for warning in self._others.values():
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        for what, count in self._counts.items():
            warnings.warn(CountedWarning(what, count), stacklevel=3)


def _name(warning: warnings.WarningMessage) -> str:
    return (TrubleuWarning if issubclass(warning.category, TrubleuWarning) else warning.category).__name__


def _category(name: str) -> type[Warning]:
    found = getattr(builtins, name, UserWarning)
    if name == TrubleuWarning.__name__:
        return TrubleuWarning
    return found if isinstance(found, type) and issubclass(found, Warning) else UserWarning
