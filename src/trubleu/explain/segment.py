"""Explain one output against its references, including near misses, and select segments worth inspecting."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from functools import reduce
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard, overload

import numpy as np

from trubleu.data.outputs import nearest_ids
from trubleu.errors import DataError, TrubleuWarning, UsageError, counted, shown
from trubleu.explain.explanation import (
    ExplainedOrder,
    ExplainedReference,
    Explanation,
    Match,
    NearMiss,
    NGram,
    described,
    positions_of,
    reference_texts,
    tokens_of,
    windows,
)
from trubleu.explain.similarity import explain_similarity
from trubleu.metrics.base import whole_references
from trubleu.metrics.bleu import Bleu, Counts
from trubleu.metrics.bleu2vec.bleu2vec import Bleu2Vec
from trubleu.metrics.dbleu import WeightedMetric
from trubleu.metrics.matching import check_texts
from trubleu.metrics.sbleu import SentenceBleu
from trubleu.metrics.trubleu import TruBleu
from trubleu.metrics.trubleu_ctx import TruBleuCtx

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.explain.explanation import Gram
    from trubleu.explain.similarity import SimilarityExplanation, SimilarityMetric
    from trubleu.metrics.base import AnyReferences, Metric
    from trubleu.metrics.bleu import BleuParts


EXPLAINABLE: Final = ("trubleu", "trubleu-ctx", "bleu", "sbleu", "dbleu", "sdbleu", "bleu2vec", "dbleu2vec")
"""Names of the metrics that can be explained, for messages."""

NGramMetric = Bleu | SentenceBleu | Bleu2Vec
"""Metrics that count shared or similar n-grams."""


def is_explainable(metric: Metric) -> TypeGuard[NGramMetric | SimilarityMetric]:
    """Return whether a metric's score can be traced to words or n-grams.

    Examples
    --------
    >>> import trubleu
    >>> [is_explainable(trubleu.metric(name)) for name in ("trubleu", "sdbleu-2", "chrf")]
    [True, True, False]
    """
    return isinstance(metric, TruBleu | TruBleuCtx) or (
        isinstance(metric, NGramMetric) and getattr(metric, "definition", "") != "release2017"
    )


def check_explainable(metric: Metric) -> NGramMetric | SimilarityMetric:
    """Return the metric if its score can be traced to words or n-grams.

    Raises
    ------
    UsageError
        If it cannot.
    """
    if not is_explainable(metric):
        raise UsageError(
            f"{metric.name} cannot be explained by words or n-grams that outputs and references share; "
            f"use one of {', '.join(EXPLAINABLE)}"
        )
    return metric


def find_segment(references: References, segment: str | int) -> int:
    """Return the index of a segment, given its id or its index (negative ones count from the end).

    Raises
    ------
    DataError
        If there is no such segment, with the nearest ids.
    """
    if isinstance(segment, str):
        index = references.positions().get(segment)
        if index is None:
            hint = nearest_ids(segment, references.ids)
            raise DataError(f"there is no segment {shown(segment)} in {references.source}; {hint}")
        return index
    try:
        return range(len(references))[segment]
    except IndexError:
        raise DataError(
            f"there is no segment at place {segment} in {references.source}, which has "
            f"{counted(len(references), 'segment')}"
        ) from None


def weights_of(metric: NGramMetric | SimilarityMetric, references: References) -> tuple[list[float], list[int]]:
    """Return the weights of all references as the metric sees them, and the indices of the segments it skips."""
    if not isinstance(metric, WeightedMetric):
        return [1.0] * references.count, []
    # Warnings are issued when the corpus is scored; here segments are processed one by one.
    with warnings.catch_warnings(action="ignore", category=TrubleuWarning):
        weights, skipped = metric.weights(references)
    return weights.tolist(), skipped.tolist()


@overload
def explain(
    metric: SimilarityMetric, output: str, references: AnyReferences, segment: str | int = 0
) -> SimilarityExplanation: ...


@overload
def explain(metric: NGramMetric, output: str, references: AnyReferences, segment: str | int = 0) -> Explanation: ...


@overload
def explain(metric: Metric, output: str, references: AnyReferences, segment: str | int = 0) -> Explanation | Any: ...


def explain(
    metric: Metric, output: str, references: AnyReferences, segment: str | int = 0
) -> Explanation | SimilarityExplanation:
    """Explain how one segment's output got its score.

    Parameters
    ----------
    metric
        ``trubleu``, ``trubleu-ctx``, ``bleu``, ``sbleu``, ``dbleu``, ``sdbleu``, ``bleu2vec`` or ``dbleu2vec`` with any
        options (see `trubleu.metric`), except ``definition=release2017``.
    output
        What the system said for this segment.
    references
        The references of all segments.
    segment
        The segment's id, or its place from 0.

    Returns
    -------
    Explanation or SimilarityExplanation
        All n-grams, which references hold them with what weight, and what became of that; for ``trubleu``, which words
        met which, how similar that makes the output to each reference, and what became of that. The numbers are those
        that the kernels count, and the score is what ``metric.segments`` returns for this segment.

    Raises
    ------
    UsageError
        If the metric compares neither words nor n-grams.
    DataError
        If there is no such segment, or its weights cannot be used.

    Examples
    --------
    >>> import trubleu
    >>> references = trubleu.References.from_lists([["it was great", "it was awful"]], [[1.0, -0.5]])
    >>> found = explain(trubleu.metric("dbleu-1"), "it was awful", references)
    >>> found.orders[0].numerator, found.orders[0].denominator
    (1.5, 3.0)
    >>> gram = found.orders[0].ngrams[2]
    >>> gram.tokens, gram.credit, gram.weight_from
    (('awful',), -0.5, 1)
    >>> round(found.score, 2)
    50.0
    >>> found = explain(trubleu.metric("trubleu"), "it was really good", [["it was very nice"]])
    >>> [(found.tokens[one], found.references[0].tokens[pair.reference_position]) for one, pair in found.met(0).items()]
    [('it', 'it'), ('was', 'was'), ('really', 'very'), ('good', 'nice')]
    """
    checked = check_explainable(metric)
    check_texts((output,))
    everything = whole_references(references)
    index = find_segment(everything, segment)
    part = everything.take([index])
    weights, skipped = weights_of(checked, part)
    signature = str(metric.signature(references))
    if isinstance(checked, TruBleu | TruBleuCtx):
        knowing = checked.learned(everything) if isinstance(checked, TruBleu) and checked.learns else checked
        return explain_similarity(knowing, output, part, weights, skipped=bool(skipped), signature=signature)
    return _explain_ngrams(checked, output, part, weights, skipped=bool(skipped), signature=signature)


def _explain_ngrams(
    metric: NGramMetric, output: str, part: References, weights: Sequence[float], *, skipped: bool, signature: str
) -> Explanation:
    tokens = tokens_of(metric, output)
    reference_tokens = [tokens_of(metric, text) for text in part.texts]
    orders = ngrams_of(metric, output, part.texts, weights)
    earned = [0.0] * len(weights)
    for gram in chain.from_iterable(orders):
        if gram.weight_from is not None:
            earned[gram.weight_from] += gram.credit
    length, length_from = _reference_length(metric, len(tokens), list(map(len, reference_tokens)), weights)
    best = max(weights)
    holders = {match.reference for grams in orders[:1] for gram in grams for match in gram.matches}
    recall = isinstance(metric, Bleu2Vec) and metric.recall
    made, parts = (None, None) if skipped else _score(metric, orders, len(tokens), length, best)
    return Explanation(
        **described(part, metric, signature, output),
        tokens=tokens,
        references=tuple(
            ExplainedReference(**said, credit=earned[place], matched=place in holders)
            for place, said in enumerate(reference_texts(part, reference_tokens, weights))
        ),
        weighted=metric.uses_weights,
        best_weight=best,
        recall=recall,
        orders=made or (),
        reference_length=length,
        length_from=length_from,
        brevity_penalty=None if parts is None or recall else float(parts.brevity_penalty),
        score=None if parts is None else float(parts.score),
    )


def ngrams_of(
    metric: NGramMetric, output: str, texts: Sequence[str], weights: Sequence[float]
) -> tuple[tuple[NGram, ...], ...]:
    """Return the n-grams of an output per order, ordered by first occurrence.

    Parameters
    ----------
    metric
        The longest order, and how an n-gram is credited.
    output, texts
        The output and the references of one segment.
    weights
        One for each reference; all 1 for a metric without weights.

    Examples
    --------
    >>> from trubleu import Bleu2Vec, DeltaBleu
    >>> ((gram,),) = ngrams_of(DeltaBleu(1), "a a", ["a", "a a"], [1.0, 0.2])
    >>> gram.credit, gram.possible, gram.weight_from
    (1.0, 2.0, 0)
    >>> metric = Bleu2Vec(1, vectors=(["cat", "dog"], [[1.0, 0.0], [0.6, 0.8]]))
    >>> ((gram,),) = ngrams_of(metric, "cat", ["dog"], [1.0])
    >>> gram.near[0].tokens, round(gram.credit, 3)
    (('dog',), 0.6)
    """
    tokens, references = tokens_of(metric, output), [tokens_of(metric, text) for text in texts]
    pairs = metric.pairs(output, texts) if isinstance(metric, Bleu2Vec) else None
    orders = []
    holders: Sequence[int] = range(len(references))
    for n in range(1, metric.order + 1):
        positions = positions_of(tokens, n)
        held = {
            place: Counter(gram for gram in windows(references[place], n) if gram in positions) for place in holders
        }
        # A reference without any shared n-gram has no longer one either; with a thousand references, this saves time.
        holders = [place for place, counts in held.items() if counts]
        found: dict[Gram, list[Match]] = defaultdict(list)
        for place in holders:
            for gram, count in held[place].items():
                found[gram].append(Match(place, count, min(count, len(positions[gram])), weights[place]))
        # Exact matches first, then the others as they were aligned: the sums are bit-identical to the kernel's.
        sums: dict[Gram, dict[int, float]] = defaultdict(lambda: dict.fromkeys(range(len(references)), 0.0))
        near: dict[Gram, list[NearMiss]] = defaultdict(list)
        for pair in (pair for pair in pairs or () if pair.order == n):
            gram = tokens[pair.position : pair.position + n]
            sums[gram][pair.reference] += pair.similarity
            if not pair.exact:
                other = references[pair.reference][pair.reference_position : pair.reference_position + n]
                miss = NearMiss(pair.reference, pair.position, other, pair.reference_position, pair.similarity)
                near[gram].append(miss)
        orders.append(
            tuple(
                NGram(
                    tokens=gram,
                    positions=tuple(starts),
                    matches=tuple(found[gram]),
                    possible=max(weights) * len(starts),
                    near=tuple(near[gram]),
                    **_credit(metric, found[gram], {} if pairs is None else sums[gram], weights)._asdict(),
                )
                for gram, starts in positions.items()
            )
        )
    return tuple(orders)


class _Credit(NamedTuple):
    credit: float = 0.0
    weight_from: int | None = None
    count_from: int | None = None
    weight: float | None = None


def _credit(
    metric: NGramMetric, matches: Sequence[Match], sums: Mapping[int, float], weights: Sequence[float]
) -> _Credit:
    """Return the credit of an n-gram, and the references that give it; of equally good ones, the first is named.

    Parameters
    ----------
    metric
        How an n-gram is credited.
    matches
        The references that hold it.
    sums
        What its occurrences count by each reference, with near misses; empty without near misses.
    weights
        Of all references.
    """
    if metric.ngram_credit == "fork2019" and matches:
        most, weighty = max(matches, key=lambda one: one.clipped), max(matches, key=lambda one: one.weight)
        return _Credit(weighty.weight * most.clipped, weighty.reference, most.reference, weighty.weight)
    rule = metric.rule if isinstance(metric, Bleu2Vec) else "plain"
    sums = sums or {match.reference: float(match.clipped) for match in matches}
    candidates = [match.reference for match in matches] or [*sums]
    if rule == "max":
        candidates = [place for place, each in sums.items() if each > 0]
    if not candidates:
        return _Credit()
    chosen = max(candidates, key=lambda place: weights[place] * sums[place])
    if rule == "nearest" and not matches:
        chosen = max(candidates, key=lambda place: (sums[place], weights[place]))
    credit = weights[chosen] * sums[chosen]
    if not matches and (not sums[chosen] or (rule == "earn" and credit <= 0)):
        return _Credit()
    return _Credit(credit, chosen, chosen, weights[chosen])


def _score(
    metric: NGramMetric, orders: Sequence[Sequence[NGram]], length: int, reference_length: float, best: float
) -> tuple[tuple[ExplainedOrder, ...], BleuParts]:
    # Credits are added one by one in order of first occurrence, as the kernels do, for bit-identical sums; since Python
    # 3.12, sum() compensates rounding errors, and the kernels do not.
    numerators = [reduce(add, (gram.credit for gram in grams), 0.0) for grams in orders]
    totals = [sum(gram.occurrences for gram in grams) for grams in orders]
    weighted = [best * total for total in totals] if metric.uses_weights else []
    # The metric itself smooths and scores, so its formula is defined in one place.
    row = np.asarray([length, reference_length, *numerators, *weighted, *totals], dtype=np.float64)
    counts = metric.counts_of(row, best) if isinstance(metric, Bleu2Vec) else Counts.of(row, len(orders))
    denominators = counts.totals.tolist()
    parts = metric.parts(counts)
    made = tuple(
        ExplainedOrder(
            order=number + 1,
            ngrams=tuple(orders[number]),
            count=totals[number],
            numerator=numerators[number],
            denominator=denominators[number],
            smoothed_numerator=float(parts.numerators[number]),
            smoothed_denominator=float(parts.denominators[number]),
            precision=float(parts.precisions[number]),
            used=bool(parts.used[number]),
        )
        for number in range(len(orders))
    )
    return made, parts


def _reference_length(
    metric: NGramMetric, hypothesis: int, lengths: Sequence[int], weights: Sequence[float]
) -> tuple[float, int | None]:
    """Return the reference length and the reference that determines it, if it is a single one."""
    able = [place for place, weight in enumerate(weights) if weight > 0 or metric.length_references == "all"]
    if not able:
        return 0.0, None
    if metric.reference_length == "average":
        return sum(lengths[place] for place in able) / len(able), None
    # Of equally good ones, the first reference is named.
    if metric.reference_length == "longest":
        chosen = max(able, key=lengths.__getitem__)
    elif metric.reference_length == "shortest":
        chosen = min(able, key=lengths.__getitem__)
    else:
        chosen = min(able, key=lambda place: (abs(lengths[place] - hypothesis), lengths[place]))
    return float(lengths[chosen]), chosen


def worst(metric: Metric, outputs: Sequence[str], references: AnyReferences, count: int) -> NDArray[np.int64]:
    """Return the indices of the segments with the worst scores, worst first; ties in order.

    Skipped segments have no score and are left out.

    Examples
    --------
    >>> import trubleu
    >>> worst(trubleu.metric("bleu-1"), ["a", "b b", "b"], [["a"], ["b c"], ["c"]], 2).tolist()
    [2, 1]
    """
    _check_count(count)
    scores = metric.segments(outputs, references)
    return _first(scores if metric.higher_is_better else -scores, count)


def most_different(
    metric: Metric, a: Sequence[str], b: Sequence[str], references: AnyReferences, count: int
) -> NDArray[np.int64]:
    """Return the indices of the segments where the scores of two systems differ most, whichever is better.

    Segments with equal scores are left out.

    Examples
    --------
    >>> import trubleu
    >>> most_different(trubleu.metric("bleu-1"), ["a", "b c"], ["a", "b b"], [["a"], ["b c"]], 9).tolist()
    [1]
    """
    _check_count(count)
    return largest(np.abs(metric.segments(a, references) - metric.segments(b, references)), count)


def largest(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the indices of the largest values above 0, the largest first."""
    return _first(np.where(values > 0, -values, np.nan), count)


def _check_count(count: int) -> None:
    if count < 1:
        raise UsageError(f"{counted(count, 'segment')} cannot be shown; ask for 1 or more")


def _first(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the indices of the smallest values that are not NaN; a stable sort keeps ties in order."""
    order = np.argsort(values, kind="stable")  # NaN sorts last
    return order[: min(count, int(np.count_nonzero(~np.isnan(values))))]
