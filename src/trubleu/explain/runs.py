"""Stretches of an output that matched together, for people to see at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.explain.explanation import Explanation
    from trubleu.explain.ngrams import NGram


class Run(NamedTuple):
    """Neighbouring tokens of the output that matched the same reference, or that matched none.

    Attributes
    ----------
    start, end
        Which tokens, from 0; the end is not among them.
    weight
        The weight that the longest n-grams around them were credited with; None if nothing matched.
    reference
        The place of the reference that gave it; None if nothing matched.
    """

    start: int
    end: int
    weight: float | None
    reference: int | None


def matched_ngrams(explanation: Explanation) -> Iterator[NGram]:
    """Return the n-grams that some reference holds, shorter ones first."""
    for order in explanation.orders:
        for gram in order.ngrams:
            if gram.matches:
                yield gram


def credited_ngrams(explanation: Explanation) -> Iterator[NGram]:
    """Return the n-grams that were credited by some reference, for matches or near misses; shorter ones first."""
    for order in explanation.orders:
        for gram in order.ngrams:
            if gram.weight_from is not None:
                yield gram


def runs(explanation: Explanation) -> list[Run]:
    """Cut the output into stretches.

    A token belongs to the longest matched n-gram around it (of equally long ones, to the one with the larger weight).
    Two neighbours are in one stretch if both belong to the same reference and an n-gram with both in it matched.

    Examples
    --------
    >>> import trubleu
    >>> from trubleu.explain import explain
    >>> references = [["the food was great", "we will be back"]]
    >>> for run in runs(explain(trubleu.metric("bleu-2"), "the food will do", references)):
    ...     print(run.start, run.end, run.weight, run.reference)
    0 2 1.0 0
    2 3 1.0 1
    3 4 None None
    """
    length = len(explanation.tokens)
    owner: list[NGram | None] = [None] * length
    joined = [False] * length  # whether a matched n-gram holds this token and the one before it
    for gram in matched_ngrams(explanation):
        for start in gram.positions:
            for place in range(start, start + len(gram.tokens)):
                owner[place] = _stronger(owner[place], gram)
                joined[place] |= place > start
    found: list[Run] = []
    for place, longest in enumerate(owner):
        weight, reference = (None, None) if longest is None else (longest.weight, longest.weight_from)
        same = bool(found) and (found[-1].weight, found[-1].reference) == (weight, reference)
        if same and (longest is None or joined[place]):
            found[-1] = found[-1]._replace(end=place + 1)
        else:
            found.append(Run(place, place + 1, weight, reference))
    return found


def _stronger(one: NGram | None, other: NGram) -> NGram:
    if one is None or len(other.tokens) > len(one.tokens):
        return other
    return other if (other.weight or 0.0) > (one.weight or 0.0) and len(other.tokens) == len(one.tokens) else one
