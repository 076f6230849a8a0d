"""The score that several, weighted and bad references make of an output's similarity to each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trubleu.native import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.data import References


def rated_rows(
    similarities: NDArray[np.float64], weights: NDArray[np.float64] | None, offsets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the score of each segment, from 0 to 100, and 1.

    Half of the score comes from the best good reference and half from the weighted mean of all good ones. An output
    that is closer to a bad reference than to any good one loses a share of it.

    Parameters
    ----------
    similarities
        How similar the output is to each reference, from 0 to 1.
    weights
        The weight of each reference, NaN for one that is left out; None for 1 each.
    offsets
        Where the references of each segment begin, and the end.

    Examples
    --------
    >>> rated_rows(np.array([0.5, 0.3, 0.6]), np.array([1.0, 1.0, -0.5]), np.array([0, 3])).round(2).tolist()
    [[40.5, 1.0]]
    """
    earned, cut = kernels.rated_scores(similarities, weights, offsets).T
    return np.column_stack([100.0 * earned * (1.0 - cut), np.ones(len(earned))])


def rows_of_chosen(
    references: References, given: NDArray[np.float64], similarities: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the rows against the chosen references; 0 and 0 if none of them is good."""
    weights = merged_weights(references, np.where(chosen, given, -np.inf))
    weights = np.where(np.isfinite(weights), weights, np.nan)
    rows = rated_rows(similarities, weights, references.offsets)
    rows[~np.logical_or.reduceat(weights > 0, references.offsets[:-1])] = 0.0
    return rows


def merged_weights(references: References, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights in which repeated texts count once, with the largest weight; NaN for the repetitions."""
    first = references.remembered("first of equal texts", lambda: _first_of_equal_texts(references))
    if first is None:
        return weights
    largest = np.full(len(weights), -np.inf)
    np.maximum.at(largest, first, weights)
    return np.where(first == np.arange(len(first)), largest, np.nan)


def _first_of_equal_texts(references: References) -> NDArray[np.int64] | None:
    """Return for each reference the first one of its segment with the same text; None if all differ."""
    texts, offsets = references.texts, references.offsets
    repeating = kernels.repeating_segments(texts, offsets).tolist()
    if not repeating:
        return None
    first = np.arange(references.count)
    for segment in repeating:
        seen: dict[str, int] = {}
        for place in range(int(offsets[segment]), int(offsets[segment + 1])):
            first[place] = seen.setdefault(texts[place], place)
    return first
