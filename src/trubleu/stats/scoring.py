"""Scores of sums: the only place that calls a metric's score function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trubleu.errors import DataError

ScoreFunction: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Turns sums of statistics ``[..., k]`` into scores ``[...]``."""


def score_of(score: ScoreFunction, sums: NDArray[np.float64], name: str) -> float:
    """Return the score of one sum ``[k]``."""
    return float(scores_of(score, sums[np.newaxis], name)[0])


def scores_of(score: ScoreFunction, sums: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return one finite score for each row of sums ``[count, k]``.

    The function sees all rows in one contiguous array: it may round differently in another layout, and a result must
    not depend on how the resampling was sliced.
    """
    scores = np.asarray(score(np.ascontiguousarray(sums)), dtype=np.float64)
    if scores.shape != (len(sums),):
        raise DataError(
            f"The score function made an array of shape {scores.shape} from sums of shape {sums.shape}; "
            "it must return one score for each row."
        )
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        place = f"{name} {bad[0]} (counted from 0)" if len(sums) > 1 else name
        raise DataError(
            f"The score of {place} is {scores[bad[0]]}; "
            "the score function must give a finite number for every sum of segments."
        )
    return scores
