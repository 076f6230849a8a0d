"""Near misses: which n-gram of an output was aligned with which n-gram of a reference, and what that earned."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from trubleu.explain.ngrams import Match, NearMiss, NGram, windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.explain.ngrams import Gram
    from trubleu.metrics.soft_matching import AlignedPair, SoftMatching


def match_near(
    matching: SoftMatching,
    output: str,
    texts: Sequence[str],
    tokens: Sequence[str],
    references: Sequence[Sequence[str]],
    weights: Sequence[float],
) -> tuple[tuple[NGram, ...], ...]:
    """Return the n-grams of an output for each order, in the order in which they first occur.

    Parameters
    ----------
    matching
        The metric's.
    output, texts
        The output and the references of one segment.
    tokens, references
        Their tokens.
    weights
        One for each reference; all 1 for a metric without weights.

    Examples
    --------
    >>> from trubleu import Bleu2Vec
    >>> matching = Bleu2Vec(1, vectors=(["cat", "dog"], [[1.0, 0.0], [0.6, 0.8]])).matching
    >>> ((gram,),) = match_near(matching, "cat", ["dog"], ["cat"], [["dog"]], [1.0])
    >>> gram.near[0].tokens, round(gram.credit, 3)
    (('dog',), 0.6)
    """
    by_order: dict[int, list[AlignedPair]] = defaultdict(list)
    for pair in matching.pairs(output, texts):
        by_order[pair.order].append(pair)
    best = max(weights)
    return tuple(
        _of_order(matching.rule, by_order[n], n, tokens, references, weights, best)
        for n in range(1, matching.order + 1)
    )


def _of_order(
    rule: str,
    pairs: Sequence[AlignedPair],
    n: int,
    tokens: Sequence[str],
    references: Sequence[Sequence[str]],
    weights: Sequence[float],
    best: float,
) -> tuple[NGram, ...]:
    positions: dict[Gram, list[int]] = {}
    for start, gram in enumerate(windows(tokens, n)):
        positions.setdefault(gram, []).append(start)
    held = [Counter(windows(reference, n)) for reference in references]
    # Equal n-grams come first and then the others as they were aligned, so the sums have the kernel's bits.
    sums: dict[Gram, list[float]] = {gram: [0.0] * len(references) for gram in positions}
    near: dict[Gram, list[NearMiss]] = defaultdict(list)
    for pair in pairs:
        gram = tuple(tokens[pair.position : pair.position + n])
        sums[gram][pair.reference] += pair.weight
        if not pair.exact:
            other = tuple(references[pair.reference][pair.reference_position : pair.reference_position + n])
            near[gram].append(NearMiss(pair.reference, pair.position, other, pair.reference_position, pair.weight))
    found = []
    for gram, starts in positions.items():
        matches = tuple(
            Match(place, counts[gram], min(counts[gram], len(starts)), weights[place])
            for place, counts in enumerate(held)
            if gram in counts
        )
        credit, source = credited(rule, sums[gram], [match.reference for match in matches], weights)
        weight = None if source is None else weights[source]
        found.append(
            NGram(gram, tuple(starts), matches, credit, best * len(starts), source, source, weight, tuple(near[gram]))
        )
    return tuple(found)


def credited(
    rule: str, sums: Sequence[float], holders: Sequence[int], weights: Sequence[float]
) -> tuple[float, int | None]:
    """Return what an n-gram earns and the reference that it earns that by, if it does.

    Examples
    --------
    >>> credited("earn", [0.5, 0.9], [], [1.0, -1.0])
    (0.5, 0)
    >>> credited("nearest", [0.5, 0.9], [], [1.0, -1.0])
    (-0.9, 1)
    """
    products = [weight * each for weight, each in zip(weights, sums, strict=True)]
    candidates = list(holders) or list(range(len(sums)))
    if rule == "max":
        candidates = [place for place, each in enumerate(sums) if each > 0]
    if not candidates:
        return 0.0, None
    chosen = max(candidates, key=products.__getitem__)
    if rule == "nearest" and not holders:
        chosen = max(candidates, key=lambda place: (sums[place], weights[place]))
    if rule == "earn" and not holders and products[chosen] <= 0:
        return 0.0, None
    return products[chosen], chosen if holders or sums[chosen] else None
