"""Figures that stand among the words of another figure of a reference."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.checks.figures import BETWEEN_RANGE, STRICT_UNITS, Figure, figures
from trubleu.checks.sentences import sentences
from trubleu.checks.vectors import TextVectors, products

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.checks.item import Item

# Chosen on talks and news of benchmarks/real/findings.py.
ALONE: Final = 0.2
"""A figure stands in the place of another one that is missing if the words around it are closer by this cosine."""
BOTH: Final = 0.15
"""Two figures are exchanged if the words around both are closer by this sum of cosines."""
HALF: Final = 4
"""A word so far from a figure counts half."""


def exchanged(own: Sequence[Figure], item: Item, vectors: TextVectors) -> Iterator[tuple[Figure, Figure, str]]:
    """Yield figures that stand among the words of another figure of the same unit, in each text that has both."""
    own_ranges = _ranges(own, item.output)
    votes: dict[int, list[tuple[Figure, str] | None]] = {}
    if not own:
        return
    around = _contexts(own, item.output, vectors)
    for text in (*item.good, *item.old):
        others = [figure for figure in figures(text) if not figure.weak]
        if not others:
            continue
        nearness = products(around, _contexts(others, text, vectors))
        equal = np.array([[one.equals(other) for other in others] for one in own])
        rival = (
            np.array(
                [
                    [
                        one.unit == other.unit or not (one.unit in STRICT_UNITS or other.unit in STRICT_UNITS)
                        for other in others
                    ]
                    for one in own
                ]
            )
            & ~equal
        )
        for place in range(len(own)):
            if not equal[place].any():
                continue
            better = None
            turned = next(
                (
                    (one, text)
                    for one, other in _ranges(others, text)
                    for low, high in own_ranges
                    if own[place] is low and low.equals(other) and high.equals(one) and not low.equals(one)
                ),
                None,
            )
            if turned:
                better = turned
            elif rival[place].any():
                best = int(np.argmax(np.where(rival[place], nearness[place], -1)))
                gain = float(nearness[place, best] - nearness[place][equal[place]].max())
                partners = [k for k in range(len(own)) if equal[k, best]]
                back = max((float(nearness[k][equal[place]].max() - nearness[k, best]) for k in partners), default=None)
                if (gain > ALONE) if back is None else (gain > 0 and back > 0 and gain + back > BOTH):
                    better = (others[best], text)
            votes.setdefault(place, []).append(better)
    for place, given in sorted(votes.items()):
        if all(given) and given[0] is not None:
            yield own[place], *given[0]


def _ranges(found: Sequence[Figure], text: str) -> list[tuple[Figure, Figure]]:
    """Return pairs of figures such as "3 to 7"."""
    return [
        (one, other)
        for one, other in itertools.pairwise(found)
        if BETWEEN_RANGE.fullmatch(text, one.end, max(one.end, other.start))
    ]


def _contexts(found: Sequence[Figure], text: str, vectors: TextVectors) -> NDArray[np.floating[Any]]:
    """Return a vector of the words around each figure, of length 1; nearer words count more."""
    words = vectors.words(text)
    inside = np.zeros(len(words.ids), bool)
    for figure in found:
        inside[words.between(figure.start, figure.end)] = True
    result = np.zeros((len(found), 2, vectors.rows.shape[1]), np.float32)
    bounds = [(part.start, part.end) for part in sentences(text)]
    for row, figure in enumerate(found):
        start, end = next(((a, b) for a, b in bounds if a <= figure.start < b), (0, len(text)))
        span, own = words.between(start, end), words.between(figure.start, figure.end)
        places = np.arange(span.start, span.stop)
        distance = np.where(places < own.start, own.start - places, places - own.stop + 1)
        share = np.where(inside[places], 0, 1 / (1 + np.maximum(distance, 0) / HALF))
        ids = words.ids[places]
        for side, which in enumerate((places < own.start, places >= own.start)):
            ids, part = words.ids[places[which]], share[which]
            result[row, side] = np.einsum("i,ij->j", part * vectors.weights[ids], vectors.rows[ids])
    both: NDArray[np.floating[Any]] = result.reshape(len(found), -1)
    lengths = np.linalg.norm(both, axis=1, keepdims=True)
    return both / np.where(lengths > 0, lengths, 1)
