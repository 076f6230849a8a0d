"""Differences between systems: by segment, by bucket of segments, and by word or n-gram."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise, product
from statistics import geometric_mean
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from trubleu.errors import DataError, TrubleuWarning, UsageError, shown
from trubleu.explain.explanation import tokens_of, windows
from trubleu.explain.segment import check_explainable, is_explainable, largest, ngrams_of, weights_of
from trubleu.explain.similarity import SimilarityMetric, words_met
from trubleu.metrics.base import as_references, whole_references
from trubleu.metrics.trubleu import TruBleu
from trubleu.metrics.trubleu_ctx import TruBleuCtx
from trubleu.progress import Steps, no_steps
from trubleu.results import SCHEMA
from trubleu.scoring.systems import Sampling, ScoreReport, score_systems
from trubleu.stats import bootstrap_interval
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.explain.explanation import Gram
    from trubleu.explain.segment import NGramMetric
    from trubleu.metrics.base import AnyReferences, Metric
    from trubleu.progress import Progress


Value: TypeAlias = str | float | None
"""A segment's value in a column."""

RANGES: Final = 5
"""Buckets of a numeric column, each with about the same number of segments."""

CATEGORIES: Final = 12
"""Maximum buckets of a text column: the most frequent values, and one bucket for the rest."""

NONE: Final = "(none)"
OTHERS: Final = "(others)"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRow:
    """One system on the segments of one bucket; the interval is None if not requested."""

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
    """A partition of the segments.

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
    """Return the standard buckets, and the reasons for missing ones.

    Lengths are in words (`trubleu.text`, ``words``); that of the references is their mean. The word frequency of a
    segment is the geometric mean of how often the words of its references occur in the references of all segments.
    """
    words = tokenizer("words").tokens
    texts = [words(text, lowercase=True) for text in references.texts]
    bounds = [*pairwise(references.offsets.tolist())]
    frequency = Counter(word for text in texts for word in text)
    counts = [[frequency[word] for text in texts[a:b] for word in text] for a, b in bounds]
    numbers = {
        "output length": [[len(words(text)) for text in outputs] for outputs in systems.values()],
        "reference length": [[round(sum(map(len, texts[a:b])) / max(b - a, 1)) for a, b in bounds]],
        "word frequency": [[float(f"{geometric_mean(each) if each else 0:.3g}") for each in counts]],
        "number of references": [references.reference_counts()],
    }
    cuts, notes = list[Buckets](), list[str]()
    for by, rows in numbers.items():
        values = np.array(rows, dtype=np.float64)
        if values.size and (values == values.flat[0]).all():
            notes.append(f"buckets: none by {by}, which is {values.flat[0]:g} everywhere")
        elif values.size:
            labels, places = _ranges(values)
            cuts.append(Buckets(by, labels, np.broadcast_to(places, (len(systems), len(references)))))
    return tuple(cuts), tuple(notes)


def column_buckets(name: str, values: Sequence[Value], segments: int, systems: int) -> Buckets:
    """Return buckets by a user's column: ranges if there are many numbers, else one bucket per value.

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
        raise DataError(f"the column {name} has {what}, which gives no buckets; name another column, or leave it out")
    numbers = [value for value in counts if isinstance(value, float)]
    if len(counts) - len(numbers) <= (None in counts) and len(numbers) > CATEGORIES:
        column = np.array([[np.nan if value is None else value for value in values]], dtype=np.float64)
        labels, places = _ranges(column)
    else:
        if len(counts) == segments > CATEGORIES:
            raise DataError(
                f"the column {name} has a value of its own in every segment, which gives no buckets; "
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
    """Return labels and bucket indices of numbers; NaN (missing) gets the last bucket."""
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if len(distinct) <= RANGES:
        ends = distinct
    else:
        shares = np.arange(1, RANGES + 1) / RANGES
        ends = np.unique(np.quantile(known, shares, method="higher"))
    places = np.searchsorted(ends, values)  # NaN sorts after the largest
    labels = []
    for place in range(len(ends)):
        low, high = known[np.searchsorted(ends, known) == place].min(), ends[place]
        labels.append(f"{low:g}" if low == high else f"{low:g} to {high:g}" if low < 0 else f"{low:g}–{high:g}")
    return (*labels, *([NONE] if known.size < values.size else [])), places


def _bucket_rows(
    buckets: Buckets,
    systems: Sequence[str],
    metric: Metric,
    name: str,
    statistics: Sequence[NDArray[np.float64]],
    scores: NDArray[np.float64],
    sampling: Sampling,
    progress: Progress,
) -> Iterator[BucketRow]:
    """Yield the score of each system in each bucket; omitted if a system has no segment there.

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
    drawn = {name: getattr(sampling, name) for name in ("resamples", "confidence", "seed")}
    for (place, label), (number, system) in product(enumerate(buckets.labels), enumerate(systems)):
        rows = statistics[number][(buckets.places[number] == place) & ~np.isnan(scores[number])]
        progress(1)
        if len(rows):
            low, high = None, None
            if sampling.interval:
                interval = bootstrap_interval(rows, metric.score, **drawn)
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


TOP_SEGMENTS: Final = 10
TOP_NGRAMS: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentDifference:
    """One segment under two systems; the difference is the first score minus the second."""

    a: str
    b: str
    segment: str
    score_a: float
    score_b: float
    difference: float
    output_a: str
    output_b: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NGramDifference:
    """One n-gram under two systems, over all segments.

    Attributes
    ----------
    a, b
        The names of the systems.
    tokens
        The n-gram; a single word for ``trubleu``.
    credit_a, credit_b
        What it added to the numerators of each system; for ``trubleu`` what the word weighs, times its similarity to
        the word that it met in the reference that earned most.
    difference
        The first less the second.
    count_a, count_b
        How often each system said it, whether it was credited or not.
    """

    a: str = "a"
    b: str = "b"
    tokens: tuple[str, ...]
    credit_a: float
    credit_b: float
    difference: float
    count_a: int
    count_b: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemComparison:
    """Comparison of the first system with each of the others.

    Attributes
    ----------
    metric
        The metric, by its name in the report, that segments, buckets and n-grams go by: the first.
    report
        Scores with intervals, and the paired tests of all systems, under all metrics.
    segments
        For each other system, those that differ most: where the first system is better, best first, then where the
        other one is.
    buckets
        The scores of each system on segments of a kind.
    ngrams
        Those whose credit differs most, in the order of the segments; None if none were asked for, or the metric
        cannot be traced to words or n-grams.
    notes
        Which buckets there are none of, and why.
    metrics, references, outputs
        What was compared, by name.
    scores
        By metric, the score of each system (row) for each segment (column); NaN where a metric skips a segment.
    cuts
        How segments were sorted into buckets.
    """

    metric: str
    report: ScoreReport
    segments: tuple[SegmentDifference, ...]
    buckets: tuple[BucketRow, ...]
    ngrams: tuple[NGramDifference, ...] | None
    notes: tuple[str, ...]
    metrics: Mapping[str, Metric] = field(repr=False)
    references: References = field(repr=False)
    outputs: Mapping[str, Sequence[str]] = field(repr=False)
    scores: Mapping[str, NDArray[np.float64]] = field(repr=False)
    cuts: tuple[Buckets, ...] = field(repr=False)

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return self.report.systems

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The compared pairs: the first system and another."""
        first, *others = self.systems
        return tuple((first, other) for other in others)

    def _repr_html_(self) -> str:
        from trubleu.render.comparison import render_comparison

        return render_comparison(self, "html")


def compare_systems(
    systems: Mapping[str, Sequence[str]],
    references: AnyReferences,
    metrics: Mapping[str, Metric],
    *,
    sampling: Sampling | None = None,
    top_segments: int = TOP_SEGMENTS,
    top_ngrams: int = TOP_NGRAMS,
    columns: Mapping[str, Sequence[Value]] | None = None,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> SystemComparison:
    """Compare systems: scores, intervals, paired tests, and the causes of the difference.

    Parameters
    ----------
    systems
        The outputs of two systems or more by name; the first one is compared with each of the others.
    references
        The references of each segment.
    metrics
        The metrics by the name they have in the rows. The first one is asked for segments, buckets and n-grams.
    sampling
        How intervals and tests are made; both are, with 10,000 draws, if left out.
    top_segments, top_ngrams
        How many are named for each system of a pair.
    columns
        What else segments are sorted by, by name: a value for each segment, None for none.
    threads, steps
        As for `trubleu.scoring.score_systems`.

    Examples
    --------
    >>> import trubleu
    >>> outputs = {"A": ["it was great", "no idea"], "B": ["it was awful", "no idea"]}
    >>> found = compare_systems(outputs, [["it was great"], ["no idea"]], {"bleu-1": trubleu.metric("bleu-1")})
    >>> [(row.segment, row.score_a) for row in found.segments]
    [('1', 100.0)]
    >>> [(row.tokens, row.difference) for row in found.ngrams]
    [(('great',), 1.0)]
    """
    if len(systems) < 2:
        raise UsageError(f"a comparison needs at least two systems, not {len(systems)}; for one, use trubleu score")
    whole = as_references(references, next(iter(systems.values())))
    plain = whole_references(whole)
    own = [column_buckets(name, values, len(plain), len(systems)) for name, values in (columns or {}).items()]
    sampling = sampling or Sampling(interval=True, test=True)
    report = score_systems(systems, whole, metrics, sampling=sampling, segments=True, threads=threads, steps=steps)
    # Rows of segments are ordered by metric, system and segment.
    numbers = np.array([np.nan if row.score is None else row.score for row in report.segments], dtype=np.float64)
    scores = dict(zip(report.metrics, numbers.reshape(len(metrics), len(systems), len(plain)), strict=True))
    name, metric = next(iter(metrics.items()))
    usual, notes = usual_buckets(systems, plain)
    cuts = (*usual, *own)
    with warnings.catch_warnings(action="ignore", category=TrubleuWarning):  # already issued when scoring the corpus
        rows = [
            metric.of_system(system).statistics(outputs, whole, threads=threads) for system, outputs in systems.items()
        ]
    advance = steps(f"buckets {name}", sum(len(cut.labels) for cut in cuts) * len(systems))
    buckets = tuple(
        row
        for cut in cuts
        for row in _bucket_rows(cut, tuple(systems), metric, name, rows, scores[name], sampling, advance)
    )
    better = 1 if metric.higher_is_better else -1
    segments = tuple(_segment_rows(systems, plain.ids, better, scores[name], top_segments))
    ngrams: tuple[NGramDifference, ...] | None = None
    if top_ngrams and is_explainable(metric):
        advance = steps(f"n-grams {name}", len(plain))
        ngrams = _ngram_rows(metric, systems, plain, top_ngrams, advance)
    return SystemComparison(
        metric=name,
        report=replace(report, segments=()),
        segments=segments,
        buckets=buckets,
        ngrams=ngrams,
        notes=notes,
        metrics=metrics,
        references=plain,
        outputs=systems,
        scores=scores,
        cuts=cuts,
    )


def _segment_rows(
    systems: Mapping[str, Sequence[str]], ids: Sequence[str], better: int, scores: NDArray[np.float64], top: int
) -> Iterator[SegmentDifference]:
    """Yield the segments where the first system is better than each other one, and those where it is worse."""
    a, *others = systems
    for other, b in enumerate(others, 1):
        differences = scores[0] - scores[other]
        for place in chain(largest(better * differences, top), largest(-better * differences, top)):
            yield SegmentDifference(
                a=a,
                b=b,
                segment=ids[place],
                score_a=float(scores[0, place]),
                score_b=float(scores[other, place]),
                difference=float(differences[place]),
                output_a=systems[a][place],
                output_b=systems[b][place],
            )


def ngram_differences(
    metric: Metric,
    a: Sequence[str],
    b: Sequence[str],
    references: AnyReferences,
    *,
    top: int | None = None,
    progress: Progress | None = None,
) -> tuple[NGramDifference, ...]:
    """Return the n-grams, or for ``trubleu`` the words, that earned more under one system than under the other.

    The credits of all n-grams of one order add up to the order's numerator, so their differences add up to the
    difference of the numerators. Counting is done in Python, at one or two thousand segments per second.

    Parameters
    ----------
    metric
        ``trubleu``, ``bleu``, ``sbleu``, ``dbleu``, ``sdbleu``, ``bleu2vec`` or ``dbleu2vec`` with any options.
    a, b
        The outputs of two systems.
    references
        The references of each segment.
    top
        How many are returned of those that the first system earned more by, and of the others; None for all.
    progress
        Called with the number of segments done since the last call.

    Returns
    -------
    tuple of NGramDifference
        Those that the first system earned more by, largest difference first; then the others, largest first.
    """
    whole = whole_references(as_references(references, a))
    as_references(whole, b)
    return _ngram_rows(metric, {"a": a, "b": b}, whole, top, progress)


def _ngram_rows(
    metric: Metric,
    systems: Mapping[str, Sequence[str]],
    references: References,
    top: int | None,
    progress: Progress | None,
) -> tuple[NGramDifference, ...]:
    """Return the n-grams of the first system and each of the others."""
    checked = check_explainable(metric)
    names, outputs = tuple(systems), tuple(systems.values())
    earned = _credits(checked, outputs, references, progress)
    chosen = {other: _chosen(earned, other, top) for other in range(1, len(names))}
    # Most n-grams earn no credit: counting only those shown saves memory.
    wanted = {gram for grams in chosen.values() for gram in grams}
    counts = [_occurrences(checked, texts, wanted) for texts in outputs]
    return tuple(
        NGramDifference(
            a=names[0],
            b=names[other],
            tokens=gram,
            credit_a=earned[gram][0],
            credit_b=earned[gram][other],
            difference=earned[gram][0] - earned[gram][other],
            count_a=counts[0][gram],
            count_b=counts[other][gram],
        )
        for other, grams in chosen.items()
        for gram in grams
    )


def _chosen(earned: Mapping[Gram, Sequence[float]], other: int, top: int | None) -> list[Gram]:
    differences = {gram: row[0] - row[other] for gram, row in earned.items() if row[0] != row[other]}
    # Ties: shorter n-grams first, then alphabetically, independent of segment order.
    order = sorted(differences, key=lambda gram: (-abs(differences[gram]), len(gram), gram))
    above = [gram for gram in order if differences[gram] > 0]
    below = [gram for gram in order if differences[gram] < 0]
    return above[:top] + below[:top]


def _credits(
    metric: NGramMetric | SimilarityMetric,
    systems: Sequence[Sequence[str]],
    references: References,
    progress: Progress | None,
) -> dict[Gram, list[float]]:
    """Return the credit of each matched n-gram per system."""
    weights, skipped = weights_of(metric, references)
    left_out = set(skipped)
    if isinstance(metric, TruBleu) and metric.learns:
        metric = metric.learned(references)
    earned: dict[Gram, list[float]] = defaultdict(lambda: [0.0] * len(systems))
    for place, (start, end) in enumerate(pairwise(references.offsets.tolist())):
        if progress:
            progress(1)
        if place in left_out:
            continue
        part = references.take([place])
        # Equal outputs of several systems are matched once.
        said: dict[str, list[int]] = {}
        for system, outputs in enumerate(systems):
            said.setdefault(outputs[place], []).append(system)
        for output, owners in said.items():
            for gram, credit in _credited(metric, output, part, weights[start:end]):
                for system in owners:
                    earned[gram][system] += credit
    return earned


def _credited(
    metric: NGramMetric | SimilarityMetric, output: str, part: References, weights: Sequence[float]
) -> Iterator[tuple[Gram, float]]:
    """Yield the n-grams, or words, of one output that were credited."""
    if isinstance(metric, TruBleu | TruBleuCtx):
        yield from words_met(metric, output, part, weights)
        return
    for gram in chain.from_iterable(ngrams_of(metric, output, part.texts, weights)):
        if gram.weight_from is not None:
            yield gram.tokens, gram.credit


def _occurrences(metric: NGramMetric | SimilarityMetric, outputs: Sequence[str], wanted: set[Gram]) -> Counter[Gram]:
    """Return how often some n-grams occur in a system's outputs."""
    orders = {len(gram) for gram in wanted}
    tokens = (tokens_of(metric, output) for output in outputs)
    return Counter(gram for each in tokens for n in orders for gram in windows(each, n) if gram in wanted)
