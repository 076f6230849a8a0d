"""Segments sorted into buckets, by their lengths, words, references or a value of the user's, and scores of each."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from trubleu.errors import DataError, shown
from trubleu.results import SCHEMA
from trubleu.stats import bootstrap_interval
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.metrics.base import Metric, Progress
    from trubleu.scoring.systems import Sampling

Value: TypeAlias = str | float | None
"""What a segment has in a column."""

RANGES: Final = 5
"""Buckets of a number, each with about as many segments as the others."""

CATEGORIES: Final = 12
"""Buckets of a text; the most frequent ones where there are more, and one for the others."""

NONE: Final = "(none)"
OTHERS: Final = "(others)"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRow:
    """One system on the segments of one bucket; the interval is None unless it was asked for."""

    schema: int = SCHEMA
    metric: str
    by: str
    bucket: str
    system: str
    segments: int
    score: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Buckets:
    """A way to sort segments.

    Attributes
    ----------
    by
        What they are sorted by.
    labels
        The buckets.
    places
        For each system (row) and segment (column) the place of its bucket; rows differ only if outputs are looked at.
    """

    by: str
    labels: tuple[str, ...]
    places: NDArray[np.int64]

    @property
    def shared(self) -> bool:
        """Whether all systems have the same segments in each bucket."""
        return bool((self.places == self.places[:1]).all())


def usual_buckets(
    systems: Mapping[str, Sequence[str]], references: References
) -> tuple[tuple[Buckets, ...], tuple[str, ...]]:
    """Return buckets by what every corpus has, and why there are none by some of it.

    Lengths are in words (`trubleu.text`, ``words``). That of the references is their mean. The word frequency of a
    segment is the geometric mean of how often the words of its references occur in the references of all segments.
    """
    words = tokenizer("words").tokens
    spoken = [[len(words(text)) for text in outputs] for outputs in systems.values()]
    texts = [words(text, lowercase=True) for text in references.texts]
    bounds = [*pairwise(references.offsets.tolist())]
    frequency = Counter(word for text in texts for word in text)
    logarithm = {word: math.log(count) for word, count in frequency.items()}
    usual = [
        math.exp(math.fsum(found) / len(found))
        if (found := [logarithm[word] for text in texts[a:b] for word in text])
        else 0.0
        for a, b in bounds
    ]
    lengths = [sum(map(len, texts[a:b])) / max(b - a, 1) for a, b in bounds]
    numbers: dict[str, list[list[float]]] = {
        "output length": [[float(each) for each in row] for row in spoken],
        "reference length": [[float(round(each)) for each in lengths]],
        "word frequency": [[float(f"{each:.3g}") for each in usual]],
        "number of references": [[float(each) for each in references.reference_counts().tolist()]],
    }
    cuts: list[Buckets] = []
    notes = []
    for by, rows in numbers.items():
        values = np.array(rows)
        if values.size and (values == values.flat[0]).all():
            notes.append(f"buckets: none by {by}, which is {values.flat[0]:g} everywhere")
        elif values.size:
            labels, places = _ranges(values)
            cuts.append(Buckets(by, labels, np.broadcast_to(places, (len(systems), len(references)))))
    return tuple(cuts), tuple(notes)


def column_buckets(name: str, values: Sequence[Value], segments: int, systems: int) -> Buckets:
    """Return buckets by a column of the user's: ranges of many numbers, or else a bucket for each value.

    Raises
    ------
    DataError
        If there is not a value for each segment, all have the same, or each a text of its own.
    """
    if len(values) != segments:
        raise DataError(f"the column {name} has {len(values):,} values for {segments:,} segments; give one for each")
    counts = Counter(values)
    if len(counts) < 2:
        (only,) = counts or {None: 0}
        what = "no value in any segment" if only is None else f"one value, {shown(_label(only))}, in all segments"
        raise DataError(f"the column {name} has {what}, which makes no buckets; name another column, or leave it out")
    numbers = [value for value in counts if isinstance(value, float)]
    if len(counts) - len(numbers) <= (None in counts) and len(numbers) > CATEGORIES:
        column = np.array([[np.nan if value is None else value for value in values]], dtype=np.float64)
        labels, places = _ranges(column)
    else:
        if len(counts) == segments > CATEGORIES:
            raise DataError(
                f"the column {name} has a value of its own in every segment, which makes no buckets; "
                "name a column of numbers or of fewer values"
            )
        order: list[Value] = [value for value, _ in counts.most_common() if value is not None]
        if len(numbers) == len(order):
            order = [*sorted(numbers)]
        order += [None] * (None in counts)
        kept = order if len(order) <= CATEGORIES else order[: CATEGORIES - 1]
        place_of = {value: place for place, value in enumerate(kept)}
        labels = (*map(_label, kept), *([OTHERS] if len(kept) < len(order) else []))
        places = np.array([[place_of.get(value, len(kept)) for value in values]], dtype=np.int64)
    return Buckets(name, labels, np.broadcast_to(places, (systems, segments)))


def _label(value: Value) -> str:
    return NONE if value is None else f"{value:g}" if isinstance(value, float) else value


def _ranges(values: NDArray[np.float64]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return labels and places of numbers; NaN, for none, gets a bucket at the end."""
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if len(distinct) <= RANGES:
        ends = distinct
    else:
        shares = np.arange(1, RANGES + 1) / RANGES
        ends = np.unique(np.quantile(known, shares, method="higher"))
    places = np.searchsorted(ends, values)  # NaN comes behind the largest
    labels = []
    for place in range(len(ends)):
        low, high = known[np.searchsorted(ends, known) == place].min(), ends[place]
        labels.append(f"{low:g}" if low == high else f"{low:g} to {high:g}" if low < 0 else f"{low:g}–{high:g}")
    return (*labels, *([NONE] if known.size < values.size else [])), places


def bucket_rows(
    buckets: Buckets,
    systems: Sequence[str],
    metric: Metric,
    name: str,
    statistics: Sequence[NDArray[np.float64]],
    scores: NDArray[np.float64],
    sampling: Sampling,
    progress: Progress,
) -> Iterator[BucketRow]:
    """Yield the score of each system in each bucket, left out where a system has no segment.

    Parameters
    ----------
    buckets
        How segments are sorted.
    systems, statistics, scores
        The names, the rows of statistics and the scores of segments of each system.
    metric, name
        The metric and what it is called.
    sampling
        How intervals are drawn, if they are wanted.
    progress
        Called for each bucket and system.
    """
    for place, label in enumerate(buckets.labels):
        for number, system in enumerate(systems):
            rows = statistics[number][(buckets.places[number] == place) & ~np.isnan(scores[number])]
            progress(1)
            if not len(rows):
                continue
            low = high = None
            if sampling.interval:
                interval = bootstrap_interval(
                    rows,
                    metric.score,
                    resamples=sampling.resamples,
                    confidence=sampling.confidence,
                    seed=sampling.seed,
                )
                low, high = interval.low, interval.high
            yield BucketRow(
                metric=name,
                by=buckets.by,
                bucket=label,
                system=system,
                segments=len(rows),
                score=metric.result(rows).score,
                low=low,
                high=high,
            )
