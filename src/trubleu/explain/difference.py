"""What makes the difference between two systems: segments, and n-grams over the whole corpus."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import UsageError
from trubleu.execution.progress import Steps, no_steps
from trubleu.explain.explanation import tokens_of, windows
from trubleu.explain.segment import (
    check_counts_ngrams,
    counts_ngrams,
    most_different_either_way,
    ngrams_of,
    plain_references,
    weights_of,
)
from trubleu.metrics.base import Progress, as_references
from trubleu.metrics.trubleu import TruBleu
from trubleu.scoring.systems import Sampling, ScoreReport, score_systems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.data import References
    from trubleu.explain.explanation import Gram
    from trubleu.explain.segment import NGramMetric
    from trubleu.metrics.base import AnyReferences, Metric
    from trubleu.metrics.bleu2vec.alignment import SoftMatching
    from trubleu.metrics.matching import Matching

TOP_SEGMENTS: Final = 10
TOP_NGRAMS: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentDifference:
    """One segment under two systems; the difference is the first one's score less the second one's."""

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
    tokens
        The n-gram.
    credit_a, credit_b
        What it added to the numerators of each system.
    difference
        The first less the second.
    count_a, count_b
        How often each system said it, whether it was credited or not.
    """

    tokens: tuple[str, ...]
    credit_a: float
    credit_b: float
    difference: float
    count_a: int
    count_b: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemComparison:
    """Two systems side by side.

    Attributes
    ----------
    a, b
        Their names.
    metric
        The metric, by its name in the report, that segments and n-grams go by: the first.
    report
        Scores with intervals, and the paired test, under all metrics.
    segments
        Those that differ most: where the first system is better, best first, then where the second one is.
    ngrams
        Those whose credit differs most, in the same order; None if none were asked for, or the metric is another kind.
    by_similarity
        Whether n-grams were asked for, but the metric aligns similar words, so that no single n-gram earns anything.
    """

    a: str
    b: str
    metric: str
    report: ScoreReport
    segments: tuple[SegmentDifference, ...]
    ngrams: tuple[NGramDifference, ...] | None
    by_similarity: bool = False

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
    threads: int | None = None,
    steps: Steps = no_steps,
) -> SystemComparison:
    """Compare two systems: scores, intervals, the paired test, and what makes the difference.

    Parameters
    ----------
    systems
        The outputs of two systems by name.
    references
        The references of each segment.
    metrics
        The metrics by the name they have in the rows. The first one is asked for segments and n-grams.
    sampling
        How intervals and tests are made; both are, with 10,000 draws, if left out.
    top_segments, top_ngrams
        How many are named for each system.
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
    if len(systems) != 2:
        raise UsageError(f"two systems are compared, not {len(systems)}")
    (a, outputs_a), (b, outputs_b) = systems.items()
    whole = as_references(references, outputs_a)
    report = score_systems(
        systems,
        whole,
        metrics,
        sampling=sampling or Sampling(interval=True, test="bootstrap"),
        segments=True,
        threads=threads,
        steps=steps,
    )
    name, metric = next(iter(metrics.items()))
    scores = {
        system: np.array([_number(row.score) for row in report.segments if (row.system, row.metric) == (system, name)])
        for system in systems
    }
    differences = scores[a] - scores[b]
    better = differences if metric.higher_is_better else -differences
    ids = plain_references(whole).ids
    segments = tuple(
        SegmentDifference(
            segment=ids[place],
            score_a=float(scores[a][place]),
            score_b=float(scores[b][place]),
            difference=float(differences[place]),
            output_a=outputs_a[place],
            output_b=outputs_b[place],
        )
        for places in most_different_either_way(better, top_segments)
        for place in places
    )
    ngrams: tuple[NGramDifference, ...] | None = None
    if top_ngrams and counts_ngrams(metric):
        advance = steps(f"n-grams {name}", len(ids))
        ngrams = ngram_differences(metric, outputs_a, outputs_b, whole, top=top_ngrams, progress=advance)
    return SystemComparison(
        a=a,
        b=b,
        metric=name,
        report=replace(report, segments=()),
        segments=segments,
        ngrams=ngrams,
        by_similarity=top_ngrams > 0 and isinstance(metric, TruBleu),
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
    """Return the n-grams that earned more under one system than under the other.

    The credits of all n-grams of one order add up to the order's numerator, so their differences add up to the
    difference of the numerators. Counting is done in Python, at one or two thousand segments a second.

    Parameters
    ----------
    metric
        ``bleu``, ``sbleu``, ``dbleu`` or ``sdbleu`` with any options.
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
    checked = check_counts_ngrams(metric)
    whole = plain_references(as_references(references, a))
    as_references(whole, b)
    earned = _credits(checked, a, b, whole, progress)
    differences = {gram: one - other for gram, (one, other) in earned.items() if one != other}
    # Of equal differences the shorter n-grams first, then by the alphabet, whatever the order of segments.
    order = sorted(differences, key=lambda gram: (-abs(differences[gram]), len(gram), gram))
    chosen = [gram for gram in order if differences[gram] > 0][:top]
    chosen += [gram for gram in order if differences[gram] < 0][:top]
    # What was not credited anywhere is most of what is said: counting only what is shown saves the room for it.
    counts = [_occurrences(checked.matching, outputs, set(chosen)) for outputs in (a, b)]
    return tuple(
        NGramDifference(
            tokens=gram,
            credit_a=earned[gram][0],
            credit_b=earned[gram][1],
            difference=differences[gram],
            count_a=counts[0][gram],
            count_b=counts[1][gram],
        )
        for gram in chosen
    )


def _credits(
    metric: NGramMetric, a: Sequence[str], b: Sequence[str], references: References, progress: Progress | None
) -> dict[Gram, list[float]]:
    """Return what each n-gram that matched anywhere earned for both systems."""
    weights, skipped = weights_of(metric, references)
    left_out = set(skipped)
    earned: dict[Gram, list[float]] = {}
    for place, (start, end) in enumerate(pairwise(references.offsets.tolist())):
        if progress:
            progress(1)
        if place in left_out:
            continue
        texts = references.texts[start:end]
        # What both say alike is matched once.
        said = {a[place]: (0, 1)} if a[place] == b[place] else {a[place]: (0,), b[place]: (1,)}
        for output, systems in said.items():
            for grams in ngrams_of(metric, output, texts, weights[start:end]):
                for gram in grams:
                    if gram.weight_from is not None:
                        entry = earned.setdefault(gram.tokens, [0.0, 0.0])
                        for system in systems:
                            entry[system] += gram.credit
    return earned


def _occurrences(matching: Matching | SoftMatching, outputs: Sequence[str], wanted: set[Gram]) -> Counter[Gram]:
    """Return how often a system says some n-grams."""
    counts: Counter[Gram] = Counter()
    orders = sorted({len(gram) for gram in wanted})
    for output in outputs:
        tokens = tokens_of(matching, output)
        for n in orders:
            counts.update(gram for gram in windows(tokens, n) if gram in wanted)
    return counts


def _number(score: float | None) -> float:
    return np.nan if score is None else score
