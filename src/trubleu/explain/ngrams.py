"""Which references hold which n-grams of an output, and what each n-gram earns, written as the definition reads.

The kernels count the same in C++ for whole corpora and keep only the sums; here the n-grams are kept, to be looked at.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from trubleu.metrics.matching import Credit, Matching
    from trubleu.metrics.soft_matching import SoftMatching

Gram = tuple[str, ...]


class Match(NamedTuple):
    """One reference that holds an n-gram of the output.

    Attributes
    ----------
    reference
        Its place among the segment's references, from 0.
    held
        How often the reference holds the n-gram.
    clipped
        The same, but not more often than the output holds it.
    weight
        The reference's weight, as the metric takes it.
    """

    reference: int
    held: int
    clipped: int
    weight: float


class NearMiss(NamedTuple):
    """An occurrence of an n-gram of the output and the n-gram of a reference that it was aligned with.

    Attributes
    ----------
    reference
        The reference's place among the segment's, from 0.
    position
        Where the output's n-gram begins, in tokens from 0.
    tokens, reference_position
        The reference's n-gram, and where it begins.
    similarity
        What the pair counts.
    """

    reference: int
    position: int
    tokens: Gram
    reference_position: int
    similarity: float


class NGram(NamedTuple):
    """One n-gram of the output and what it earns.

    Attributes
    ----------
    tokens
        The n-gram.
    positions
        Where it begins in the output, in tokens from 0.
    matches
        The references that hold it, in their order.
    credit
        What all its occurrences together add to the numerator.
    possible
        What they would have added, had the best reference held them all.
    weight_from, count_from
        The references whose weight and whose count were taken; None without a match. They differ only under
        ``definition=fork2019``.
    weight
        The weight that was taken; None without a match.
    near
        What its occurrences were aligned with that are not matched, if the metric counts near misses. One that has no
        match may be credited by these.
    """

    tokens: Gram
    positions: tuple[int, ...]
    matches: tuple[Match, ...]
    credit: float
    possible: float
    weight_from: int | None
    count_from: int | None
    weight: float | None
    near: tuple[NearMiss, ...] = ()

    @property
    def occurrences(self) -> int:
        """How often the output holds it."""
        return len(self.positions)

    @property
    def clipped(self) -> int:
        """How many of its occurrences were credited."""
        return next((match.clipped for match in self.matches if match.reference == self.count_from), 0)

    @property
    def counted(self) -> float:
        """How many of its occurrences were credited, near misses included as much as they count."""
        return self.clipped + sum(miss.similarity for miss in self.near if miss.reference == self.count_from)


def tokens_of(matching: Matching | SoftMatching, text: str) -> tuple[str, ...]:
    """Return the tokens of a text as the kernel sees them, without the escapes that only it needs.

    Examples
    --------
    >>> from trubleu import Bleu
    >>> tokens_of(Bleu(lowercase=True).matching, "Well, OK.")
    ('well', ',', 'ok', '.')
    """
    tokenizer = matching.tokenizer
    if tokenizer.native is not None:
        return tuple(kernels.tokens(text, tokenizer.native, matching.lowercase))
    return tuple(tokenizer.tokens(text, matching.lowercase))


def windows(tokens: Sequence[str], n: int) -> Iterator[Gram]:
    """Return all n-grams of one order from left to right.

    Examples
    --------
    >>> list(windows("a b c".split(), 2))
    [('a', 'b'), ('b', 'c')]
    """
    return zip(*(islice(tokens, start, None) for start in range(n)), strict=False)


def match_ngrams(
    matching: Matching, tokens: Sequence[str], references: Sequence[Sequence[str]], weights: Sequence[float]
) -> tuple[tuple[NGram, ...], ...]:
    """Return the n-grams of an output for each order, in the order in which they first occur.

    Parameters
    ----------
    matching
        The metric's: the longest order, and how an n-gram is credited.
    tokens
        The output.
    references
        The tokens of each reference.
    weights
        One for each reference; all 1 for a metric without weights.

    Examples
    --------
    >>> from trubleu import DeltaBleu
    >>> matching = DeltaBleu(order=1).matching
    >>> ((gram,),) = match_ngrams(matching, ["a", "a"], [["a"], ["a", "a"]], [1.0, 0.2])
    >>> gram.credit, gram.possible, gram.weight_from
    (1.0, 2.0, 0)
    """
    best = max(weights)
    orders = []
    candidates: Sequence[int] = range(len(references))
    for n in range(1, matching.order + 1):
        positions: dict[Gram, list[int]] = {}
        for start, gram in enumerate(windows(tokens, n)):
            positions.setdefault(gram, []).append(start)
        held: dict[Gram, list[Match]] = {}
        holders = []
        for index in candidates:
            counts = _count_some(references[index], n, positions)
            if counts:
                holders.append(index)
            for gram, count in counts.items():
                match = Match(index, count, min(count, len(positions[gram])), weights[index])
                held.setdefault(gram, []).append(match)
        orders.append(
            tuple(
                _credited(gram, tuple(starts), tuple(held.get(gram, ())), best, matching.credit)
                for gram, starts in positions.items()
            )
        )
        # A reference that holds no n-gram of the output holds no longer one: with a thousand references, this counts.
        candidates = holders
    return tuple(orders)


def _count_some(tokens: Sequence[str], n: int, wanted: Container[Gram]) -> Counter[Gram]:
    return Counter(gram for gram in windows(tokens, n) if gram in wanted)


def _credited(gram: Gram, positions: tuple[int, ...], matches: tuple[Match, ...], best: float, credit: Credit) -> NGram:
    """Give an n-gram its credit; of equally good references, the first is named."""
    possible = best * len(positions)
    if not matches:
        return NGram(gram, positions, matches, 0.0, possible, None, None, None)
    if credit == "products":
        weighty = most = max(matches, key=lambda match: match.weight * match.clipped)
    else:
        most = max(matches, key=lambda match: match.clipped)
        weighty = most if credit == "counts" else max(matches, key=lambda match: match.weight)
    earned = weighty.weight * most.clipped
    return NGram(gram, positions, matches, earned, possible, weighty.reference, most.reference, weighty.weight)
