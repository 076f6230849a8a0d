"""The metric interface: additive statistics and a score of their sum; validation of shared options."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import numpy as np

from trubleu.data import PreparedReferences, References
from trubleu.errors import DataError, TrubleuWarning, UsageError, counted
from trubleu.metrics.options import check_flag
from trubleu.native import MAX_ORDER
from trubleu.results import html_record
from trubleu.signature import number_text
from trubleu.stats import total

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    ByReference = Callable[[NDArray[np.bool_]], NDArray[np.float64]] | None
    """Returns the statistics against a subset of the references; rows of segments without any are undefined."""

    from trubleu.progress import Progress, Steps
    from trubleu.signature import Signature


AnyReferences = References | PreparedReferences | Sequence[Sequence[str]]
"""References, prepared references, or one list of references per segment."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The score of a system, with its signature.

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
        """Return all fields as plain values for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()} | {
            "signature": str(self.signature)
        }

    @property
    def parts(self) -> dict[str, Any]:
        """Components of the score, such as precisions and a brevity penalty; empty for a mean over segments."""
        common = {field.name for field in fields(Result)}
        return {name: value for name, value in self.to_dict().items() if name not in common}

    def __str__(self) -> str:
        return f"{self.metric} = {self.score:.2f}"

    def _repr_html_(self) -> str:
        return html_record(self)


@dataclass(frozen=True, kw_only=True)
class FResult(Result):
    """An F-score with precision and recall.

    Attributes
    ----------
    precision, recall
        In percent; means over orders where there are several.
    """

    precision: float
    recall: float

    def __str__(self) -> str:
        return f"{self.metric} = {self.score:.2f} (P = {self.precision:.1f} R = {self.recall:.1f})"


ResultKind = TypeVar("ResultKind", bound=Result)


class Metric(ABC):
    """Additive statistics per segment, and a score of their sum.

    A subclass defines its statistics and the score of a sum of them; corpus scores, segment scores, intervals and tests
    follow from these. `score` accepts any number of leading axes and returns one score per row of statistics.

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
    more_digits
        How many decimals scores have in tables beside those asked for; scores from 0 to 1 need two.
    learns
        Whether the row of a segment depends on the references of other segments, too. `statistics` then learns from
        all references that it is given: whoever scores a corpus part by part must hand it over whole, or take
        `learned` of the whole first.
    among_outputs
        Whether outputs are compared with each other instead of with references.
    """

    name: str
    higher_is_better: ClassVar[bool] = True
    uses_weights: ClassVar[bool] = True
    needs_source: ClassVar[bool] = False
    more_digits: int = 0
    among_outputs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Validate the options. Metrics declare them as dataclass fields, so they can be inherited."""
        for option in getattr(self, "__dataclass_fields__", {}).values():
            if option.type == "bool":
                check_flag(option.name, getattr(self, option.name))

    @property
    def learns(self) -> bool:
        """Whether the statistics of a segment also depend on the references of other segments."""
        return False

    def measure_baselines(self, steps: Steps) -> None:  # noqa: B027 - most metrics have none
        """Measure what scores are held against, as a stage of work; most metrics need nothing."""

    def learned(self, references: References | PreparedReferences) -> Metric:  # noqa: ARG002
        """Return a copy that learns from these references, whichever it is given later.

        A metric that learns nothing returns itself.
        """
        if self.learns:
            raise UsageError(
                f"{self.name} learns from references, but does not say how to do so before it counts; "
                "define its method learned, or score the corpus as a whole"
            )
        return self

    def of_system(self, system: str) -> Metric:  # noqa: ARG002
        """Return the metric as it scores one system, by its name: itself, unless its scores were read from files."""
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
        """Return ``float64[segments, k]``, a row of statistics per segment.

        Parameters
        ----------
        outputs
            One text per segment.
        references
            The references of each segment.
        threads
            How many threads to use; None for all cores if there is enough to do. It never changes a number.
        progress
            Called with the number of segments done since the last call.
        """

    def by_reference(
        self,
        outputs: Sequence[str],  # noqa: ARG002
        references: References,  # noqa: ARG002
        threads: int | None = None,  # noqa: ARG002
    ) -> ByReference:
        """Compare outputs with each reference once, if statistics for any subset can be derived from that.

        Every segment has a reference. A metric that learns does so from the chosen subset.
        """
        return None

    @abstractmethod
    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each row of (summed) statistics: ``float64[..., k]`` to ``float64[...]``."""

    @abstractmethod
    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return the signature of a score; with references, it includes their number."""

    def reading(self, nrefs: str | None) -> str | None:  # noqa: ARG002
        """Return one line on how to read the scale, for the notes under a table; None if there is none.

        Parameters
        ----------
        nrefs
            How many references a segment has, as signatures say it: a number, or ``var``.
        """
        return None

    def without_weights(self) -> str | None:
        """Return which metric this is equal to for references without weights, if it is another one."""
        return None

    def segments(
        self, outputs: Sequence[str], references: AnyReferences, *, threads: int | None = None
    ) -> NDArray[np.float64]:
        """Return the score of each segment; NaN for skipped segments."""
        references = as_references(references, outputs)
        return self.segment_scores(self.statistics(outputs, references, threads=threads), references)

    def segment_scores(
        self, statistics: NDArray[np.float64], references: References | PreparedReferences
    ) -> NDArray[np.float64]:
        """Return the score of each row; NaN for skipped segments."""
        scores = self.score(statistics)
        scores[self.skipped(references)] = np.nan
        return scores

    def skipped(self, references: References | PreparedReferences) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the segments that the metric skips; their statistics are 0."""
        return np.zeros(0, dtype=np.int64)

    def with_order(self, order: int) -> Metric | None:  # noqa: ARG002
        """Return the same metric for another maximum n-gram length; None if there is none."""
        return None

    def corpus(self, outputs: Sequence[str], references: AnyReferences, *, threads: int | None = None) -> Result:
        """Score a system."""
        # Once, so lists are validated only once for statistics and signature.
        references = as_references(references, outputs)
        return self.result(self.statistics(outputs, references, threads=threads), references)

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> Result:
        """Score a system from its statistics."""
        return self._result(Result, total(statistics), len(statistics), references)

    def _result(
        self,
        kind: type[ResultKind],
        summed: NDArray[np.float64],
        segments: int,
        references: AnyReferences | None,
        **parts: Any,
    ) -> ResultKind:
        """Return the score of a sum of statistics, with its components."""
        score, signature = float(self.score(summed)), self.signature(references)
        return kind(metric=self.name, score=score, segments=segments, signature=signature, **parts)

    def __repr__(self) -> str:
        return f"<{self.signature()}>"


def warn_unweighted(metrics: Mapping[str, Metric], *, weighted: bool) -> None:
    """Warn about metrics that are equal to another one because references have no weights."""
    told: set[str | None] = {None}
    for name, metric in () if weighted else metrics.items():
        if (what := metric.without_weights()) not in told:
            told.add(what)
            text = f"the references have no weights, so all weigh 1 and {name} is {what}"
            warnings.warn(text, TrubleuWarning, stacklevel=3)


def as_references(
    references: AnyReferences, outputs: Sequence[str], weights: Sequence[Sequence[float | None]] | None = None
) -> References | PreparedReferences:
    """Convert to a references object, and check that there is one output per segment."""
    if isinstance(outputs, str):
        raise DataError("outputs is one string; pass a list with one text for each segment")
    if not isinstance(references, References | PreparedReferences):
        references = References.from_lists(references, weights, outputs_count=len(outputs))
    elif weights is not None:
        raise UsageError("these references hold their weights already; pass weights with lists of references only")
    if len(references) != len(outputs):
        raise DataError(
            f"{counted(len(outputs), 'output')} but references for {counted(len(references), 'segment')}; "
            "give one output for each segment"
        )
    return references


def whole_references(references: AnyReferences) -> References:
    """Return the plain references, for metrics that work on texts."""
    if isinstance(references, PreparedReferences):
        return references.references
    return references if isinstance(references, References) else References.from_lists(references)


def reference_number(references: AnyReferences | None) -> str | None:
    """Return the number of references per segment for a signature, or ``var`` if it differs.

    A string is returned as it is: the number for a corpus that is not in memory as a whole.
    """
    if references is None or isinstance(references, str):
        return references
    if not isinstance(references, References | PreparedReferences):
        return _one_number(list(map(len, references)))
    whole = whole_references(references)
    return whole.remembered(reference_number, lambda: _one_number(whole.reference_counts()))


def _one_number(counts: Sequence[int] | NDArray[np.int64]) -> str:
    if len(counts) == 0:
        return "0"
    low, high = np.min(counts), np.max(counts)
    return str(low) if low == high else "var"


SMOOTHING_VALUES: Final = {"floor": 0.1, "add-k": 1.0}
"""Smoothing methods that take a value, and its default, as in sacreBLEU."""


def check_order(order: int) -> int:
    """Validate a maximum n-gram length."""
    if not isinstance(order, int) or isinstance(order, bool) or not 1 <= order <= MAX_ORDER:
        raise UsageError(f"the order is {order}, but must be a whole number from 1 to {MAX_ORDER}")
    return order


def check_smoothing(smoothing: str, value: float | None) -> float | None:
    """Return the value of a smoothing method, or its default; some take none."""
    usual = SMOOTHING_VALUES.get(smoothing)
    if usual is None and value is not None:
        raise UsageError(f"smoothing={smoothing} takes no value; leave smoothing_value out, or use floor or add-k")
    return usual if value is None else value


def smoothing_text(smoothing: str, value: float | None) -> str:
    """Format smoothing for a signature.

    Examples
    --------
    >>> smoothing_text("floor", 0.1), smoothing_text("exp", None)
    ('floor[0.1]', 'exp')
    """
    return smoothing if value is None else f"{smoothing}[{number_text(value)}]"
