"""What made-up people say of the candidates of a pool, and the weights that this gives."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import UsageError
from trubleu.simulate.people import Habits, simulated_raters
from trubleu.simulate.studies.pool import check_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from trubleu.simulate.studies.pool import Pool

CROWD: Final = 40
"""How many people there are, of whom each text sees a few."""

MOST_RATERS: Final = 1_000


def draw_ratings(
    pool: Pool,
    raters: int,
    *,
    habits: Habits | None = None,
    crowd: int = CROWD,
    seed: int = 1,
    progress: Callable[[int], object] | None = None,
) -> NDArray[np.int64]:
    """Let every candidate be rated by people who are drawn for it from a crowd, as ``trubleu rate`` does.

    Parameters
    ----------
    pool
        What is rated.
    raters
        How many rate each text.
    habits
        What the people are like.
    crowd
        How many people there are; some of them are stricter than others, or do not read.
    seed
        Of all that is drawn.
    progress
        Told how many more texts have been rated.

    Returns
    -------
    NDArray[np.int64]
        ``[candidates, raters]``, from 1 to 5. The first columns are what fewer raters would have said.

    Raises
    ------
    UsageError
        If there are fewer people than raters are needed for a text.

    Examples
    --------
    >>> from trubleu.data import References
    >>> from trubleu.simulate.studies import Pool
    >>> texts = References.from_lists([["fine", "no idea"]])
    >>> pool = Pool(candidates=texts, qualities=np.array([4.6, 2.0]), outputs={}, output_qualities={})
    >>> draw_ratings(pool, 3, habits=Habits(noise=0, bias=0)).tolist()
    [[5, 5, 5], [2, 2, 2]]
    """
    check_whole("raters", raters, 1, MOST_RATERS)
    check_whole("crowd", crowd, 1, 1_000_000)
    if raters > crowd:
        raise UsageError(f"{raters} raters a text cannot come from a crowd of {crowd}; raise --crowd")
    people = simulated_raters(crowd, habits or Habits(), seed=seed)
    generator = np.random.default_rng([seed, 1])
    ids = np.repeat(np.array(pool.candidates.ids, dtype=object), pool.candidates.reference_counts())
    ratings = np.empty((pool.candidates.count, raters), dtype=np.int64)
    for row, (name, text, quality) in enumerate(
        zip(ids.tolist(), pool.candidates.texts, pool.qualities.tolist(), strict=True)
    ):
        # One stream a text, in the order of its raters: fewer raters say what the first of many would.
        draw = Random(f"ratings/{seed}/{name}/{text}")  # noqa: S311 - no secret
        ratings[row] = [people[person].points(quality, draw) for person in generator.permutation(crowd)[:raters]]
        if progress is not None:
            progress(1)
    return ratings


def weights_of(ratings: NDArray[np.int64], raters: int) -> NDArray[np.float64]:
    """Return the weights that the first so many ratings of each text give: (Σ − 3n) / (2n).

    Examples
    --------
    >>> weights_of(np.array([[5, 1], [4, 4]]), 1).tolist(), weights_of(np.array([[5, 1], [4, 4]]), 2).tolist()
    ([1.0, 0.5], [0.0, 0.5])
    """
    sums = ratings[:, :raters].sum(axis=1)
    weights: NDArray[np.float64] = (sums - 3 * raters) / (2 * raters)
    return weights
