"""The one contract: a metric is statistics that add up and a score of their sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from trubleu.data import PreparedReferences, References
from trubleu.errors import DataError, UsageError
from trubleu.notebook import html_record
from trubleu.stats import total

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.signature import Signature

AnyReferences = References | PreparedReferences | Sequence[Sequence[str]]
"""References, prepared references, or plain lists with the references of each segment."""

Progress = Callable[[int], object]
"""Told how many more segments are done."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The score of a system and how it was made.

    Attributes
    ----------
    metric
        The metric's name, such as ``dbleu-2``.
    score
        The score, on the metric's usual scale: 0 to 100 for most. iBLEU may fall below 0, CIDEr ends at 10, and NIST
        has no upper end.
    segments
        How many segments were scored.
    signature
        Every option that can change the number.
    """

    metric: str
    score: float
    segments: int
    signature: Signature

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()} | {
            "signature": str(self.signature)
        }

    def __str__(self) -> str:
        return f"{self.metric} = {self.score:.2f}"

    def _repr_html_(self) -> str:
        return html_record(self)


class Metric(ABC):
    """Statistics per segment that add up, and a score of their sum.

    A subclass says what its statistics are and how a sum of them is scored; corpus scores, segment scores, intervals
    and tests follow. `score` takes any number of leading axes and returns one score for each row of statistics.

    Attributes
    ----------
    name
        What the metric is called in tables, with its order.
    higher_is_better
        False for error rates.
    uses_weights
        False for metrics to which all references are alike.
    needs_source
        Whether outputs are also compared with what they answer to, translate or shorten: `References.messages`.
    learns
        Whether the row of a segment depends on the references of other segments, too. `statistics` then learns from
        all references that it is given: whoever scores a corpus part by part must hand it over whole, or take
        `learned` of the whole first.
    only_counting
        Attributes that may be large, such as vectors, and that `score` never looks at; `scorer` does without them.
    """

    name: str
    higher_is_better: ClassVar[bool] = True
    uses_weights: ClassVar[bool] = True
    needs_source: ClassVar[bool] = False
    only_counting: ClassVar[tuple[str, ...]] = ()

    @property
    def learns(self) -> bool:
        """Whether the row of a segment depends on the references of other segments, too."""
        return False

    def learned(self, references: References | PreparedReferences) -> Metric:  # noqa: ARG002
        """Return the metric with what it learns taken from these references, whichever it is given afterwards.

        A metric that learns nothing is returned as it is.
        """
        if self.learns:
            raise UsageError(
                f"{self.name} learns from references, but does not say how to do so before it counts; "
                "define its method learned, or score the corpus as a whole"
            )
        return self

    @abstractmethod
    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return ``float64[segments, k]``, a row of statistics for each segment.

        Parameters
        ----------
        outputs
            One text a segment.
        references
            The references of each segment.
        threads
            How many threads to use; None for all cores if there is enough to do. It never changes a number.
        progress
            Called with the number of segments done since the last call.
        """

    @abstractmethod
    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each row of (summed) statistics: ``float64[..., k]`` to ``float64[...]``."""

    def scorer(self) -> Self:
        """Return a copy that can `score` sums and nothing else, small enough to be sent to other processes."""
        light = copy(self)
        for name in self.only_counting:
            vars(light).pop(name, None)
        # What a score depends on besides sums, such as a file, is told by no copy but by the signature.
        vars(light)["made_from"] = str(self.signature())
        return light

    @abstractmethod
    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made; with references, how many there are is part of it."""

    def segments(
        self, outputs: Sequence[str], references: AnyReferences, *, threads: int | None = None
    ) -> NDArray[np.float64]:
        """Return the score of each segment alone; NaN for one that the metric was told to skip."""
        references = as_references(references, outputs)
        return self.segment_scores(self.statistics(outputs, references, threads=threads), references)

    def segment_scores(
        self, statistics: NDArray[np.float64], references: References | PreparedReferences
    ) -> NDArray[np.float64]:
        """Return the score of each row alone; NaN for a segment that the metric was told to skip."""
        scores = self.score(statistics)
        scores[self.skipped(references)] = np.nan
        return scores

    def skipped(self, references: References | PreparedReferences) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the segments that the metric was told to skip; their statistics are 0."""
        return np.zeros(0, dtype=np.int64)

    def with_order(self, order: int) -> Metric | None:  # noqa: ARG002
        """Return the same metric for n-grams of up to another length; None if there is no such one."""
        return None

    def corpus(self, outputs: Sequence[str], references: AnyReferences, *, threads: int | None = None) -> Result:
        """Score a system."""
        # Once, so that lists are looked through only once for the statistics and the signature.
        references = as_references(references, outputs)
        return self.result(self.statistics(outputs, references, threads=threads), references)

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> Result:
        """Score a system from its statistics."""
        return Result(
            metric=self.name,
            score=float(self.score(total(statistics))),
            segments=len(statistics),
            signature=self.signature(references),
        )

    def __repr__(self) -> str:
        return f"<{self.signature()}>"


def as_references(references: AnyReferences, outputs: Sequence[str]) -> References | PreparedReferences:
    """Return references as an object, and make sure that there is one output for each segment."""
    if isinstance(outputs, str):
        raise DataError("outputs is one string; pass a list with one text for each segment")
    if not isinstance(references, References | PreparedReferences):
        references = References.from_lists(references, outputs_count=len(outputs))
    if len(references) != len(outputs):
        raise DataError(
            f"there are {len(outputs)} outputs but references for {len(references)} segments; "
            "give one output for each segment"
        )
    return references


def whole_references(references: References | PreparedReferences) -> References:
    """Return the references themselves, for those who count in texts."""
    return references.references if isinstance(references, PreparedReferences) else references


def reference_number(references: AnyReferences | None) -> str | None:
    """Return how many references each segment has, or ``var`` where that differs, for a signature.

    A string is such a number already: that of a corpus which was never seen as a whole.
    """
    if references is None or isinstance(references, str):
        return references
    if isinstance(references, References | PreparedReferences):
        references = whole_references(references)
    counts = references.reference_counts() if isinstance(references, References) else list(map(len, references))
    if len(counts) == 0:
        return "0"
    low, high = np.min(counts), np.max(counts)
    return str(low) if low == high else "var"
