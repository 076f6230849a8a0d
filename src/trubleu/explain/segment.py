"""From one output and its references to an explanation."""

from __future__ import annotations

import warnings
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Final, TypeGuard

import numpy as np

from trubleu.data import PreparedReferences, References
from trubleu.data.outputs import nearest_ids
from trubleu.data.weights import shown
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.explain.explanation import ExplainedOrder, ExplainedReference, Explanation
from trubleu.explain.near import match_near
from trubleu.explain.ngrams import match_ngrams, tokens_of
from trubleu.metrics.bleu import Bleu
from trubleu.metrics.matching import check_texts
from trubleu.metrics.precision import Counts
from trubleu.metrics.sentence import SentenceBleu
from trubleu.metrics.soft import Bleu2Vec
from trubleu.metrics.soft_matching import SoftMatching

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trubleu.explain.ngrams import NGram
    from trubleu.metrics.contract import AnyReferences, Metric
    from trubleu.metrics.matching import Matching
    from trubleu.metrics.precision import BleuParts
    from trubleu.metrics.weights import WeightPolicy

EXPLAINABLE: Final = ("bleu", "sbleu", "dbleu", "sdbleu", "bleu2vec", "dbleu2vec")
"""The names of the metrics that can be explained, for messages."""


NGramMetric = Bleu | SentenceBleu | Bleu2Vec
"""What can be explained: metrics that count the n-grams which an output and its references share, or nearly so."""


def is_explainable(metric: Metric) -> TypeGuard[NGramMetric]:
    """Return whether a metric's score can be traced to n-grams.

    Examples
    --------
    >>> import trubleu
    >>> is_explainable(trubleu.metric("sdbleu-2")), is_explainable(trubleu.metric("chrf"))
    (True, False)
    """
    return isinstance(metric, NGramMetric) and getattr(metric, "definition", "") != "release2017"


def check_explainable(metric: Metric) -> NGramMetric:
    """Return the metric if its score can be traced to n-grams.

    Raises
    ------
    UsageError
        If it cannot.
    """
    if not is_explainable(metric):
        raise UsageError(
            f"{metric.name} cannot be explained by n-grams that outputs and references share; "
            f"use one of {', '.join(EXPLAINABLE)}"
        )
    return metric


def find_segment(references: References, segment: str | int) -> int:
    """Return the place of a segment, given its id or its place (a negative one counts from the end).

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
            f"there is no segment at place {segment} in {references.source}, which has {len(references)} segments"
        ) from None


def plain_references(references: AnyReferences) -> References:
    """Return references with their texts."""
    if isinstance(references, PreparedReferences):
        return references.references
    return references if isinstance(references, References) else References.from_lists(references)


def weights_of(metric: NGramMetric, references: References) -> tuple[list[float], list[int]]:
    """Return the weights of all references as the metric takes them, and the places of segments that it skips."""
    policy: WeightPolicy | None = getattr(metric, "policy", None)
    if policy is None:
        return [1.0] * references.count, []
    with warnings.catch_warnings():
        # Whoever scores the corpus is told of it; here its references are looked at one by one.
        warnings.simplefilter("ignore", TrubleuWarning)
        weights, skipped = policy.weights(references)
    return weights.tolist(), skipped.tolist()


def explain(metric: Metric, output: str, references: AnyReferences, segment: str | int = 0) -> Explanation:
    """Explain how the output for one segment got its score.

    Parameters
    ----------
    metric
        ``bleu``, ``sbleu``, ``dbleu``, ``sdbleu``, ``bleu2vec`` or ``dbleu2vec`` with any options (see
        `trubleu.metric`), except ``definition=release2017``.
    output
        What the system said for this segment.
    references
        The references of all segments.
    segment
        The segment's id, or its place from 0.

    Returns
    -------
    Explanation
        All n-grams, which references hold them with what weight, and what became of that. The numbers are those that
        the kernels count, and the score is what ``metric.segments`` returns for this segment.

    Raises
    ------
    UsageError
        If the metric does not match n-grams.
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
    """
    metric = check_explainable(metric)
    check_texts((output,))
    everything = plain_references(references)
    index = find_segment(everything, segment)
    part = everything.take([index])
    weights, skipped = weights_of(metric, part)
    matching = metric.matching
    tokens = tokens_of(matching, output)
    reference_tokens = [tokens_of(matching, text) for text in part.texts]
    orders = ngrams_of(metric, output, part.texts, weights)
    length, length_from = _reference_length(matching, len(tokens), list(map(len, reference_tokens)), weights)
    best = max(weights)
    looked_at = part[0]
    earned = _credits_by_reference(orders, len(weights))
    holders = {match.reference for grams in orders[:1] for gram in grams for match in gram.matches}
    recall = isinstance(metric, Bleu2Vec) and metric.recall
    made, parts = (None, None) if skipped else _score(metric, orders, len(tokens), length, best)
    return Explanation(
        segment=looked_at.id,
        metric=metric.name,
        signature=str(metric.signature(references)),
        message=looked_at.message,
        context=looked_at.context,
        output=output,
        tokens=tokens,
        references=tuple(
            ExplainedReference(
                text=reference.text,
                tokens=reference_tokens[place],
                weight=weights[place],
                rated=reference.weight,
                origin=reference.origin,
                credit=earned[place],
                matched=place in holders,
            )
            for place, reference in enumerate(looked_at.references)
        ),
        weighted=matching.credit != "counts",
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
    """Return the n-grams of an output for each order, given the texts of its references."""
    matching = metric.matching
    tokens = tokens_of(matching, output)
    references = [tokens_of(matching, text) for text in texts]
    if isinstance(matching, SoftMatching):
        return match_near(matching, output, texts, tokens, references, weights)
    return match_ngrams(matching, tokens, references, weights)


def _score(
    metric: NGramMetric, orders: Sequence[Sequence[NGram]], length: int, reference_length: float, best: float
) -> tuple[tuple[ExplainedOrder, ...], BleuParts]:
    # Credits are added one by one in the order in which n-grams first occur, as the kernels do, for the same bits;
    # since Python 3.12, sum() keeps track of what it rounds off, and they do not.
    numerators = [reduce(add, (gram.credit for gram in grams), 0.0) for grams in orders]
    totals = [sum(gram.occurrences for gram in grams) for grams in orders]
    weighted = [best * total for total in totals] if metric.matching.credit != "counts" else []
    # The metric itself smoothes and scores: there is only one place where that is written down.
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
    matching: Matching | SoftMatching, hypothesis: int, lengths: Sequence[int], weights: Sequence[float]
) -> tuple[float, int | None]:
    """Return the reference length and the reference that set it, if it is one."""
    able = [place for place, weight in enumerate(weights) if weight > 0 or not matching.positive_lengths]
    if not able:
        return 0.0, None
    if matching.reference_length == "average":
        return sum(lengths[place] for place in able) / len(able), None
    # What is smallest for the length to be chosen; of equal ones, the first reference is named.
    distance: dict[str, Callable[[int], tuple[int, int]]] = {
        "closest": lambda place: (abs(lengths[place] - hypothesis), lengths[place]),
        "shortest": lambda place: (0, lengths[place]),
        "longest": lambda place: (0, -lengths[place]),
    }
    chosen = min(able, key=distance[matching.reference_length])
    return float(lengths[chosen]), chosen


def _credits_by_reference(orders: Sequence[Sequence[NGram]], count: int) -> list[float]:
    earned = [0.0] * count
    for grams in orders:
        for gram in grams:
            if gram.weight_from is not None:
                earned[gram.weight_from] += gram.credit
    return earned
