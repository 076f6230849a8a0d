"""How often the bootstrap draws each row: the draws of the kernel, for statistics that are no function of sums.

Everything that is a function of sums is resampled by the kernel itself. Rank correlations are not: they need to know
how often each point enters. So that one resample is the same for all statistics, the kernel's generators are run here
again, all replicates side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BOOTSTRAP: Final = 1
_WORD: Final = (1 << 64) - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
_SPARE: Final = 8


def draw_counts(rows: int, resamples: int, seed: int, *, first: int = 0) -> NDArray[np.int64]:
    """Return how often each row enters each resample: ``int64[resamples, rows]``.

    Parameters
    ----------
    rows
        How many there are to draw from, and how many are drawn; 1 to 2^32 − 1.
    resamples
        How many times.
    seed
        As for `trubleu.stats.bootstrap_scores`, whose draws these are.
    first
        The number of the first resample.

    Examples
    --------
    >>> draw_counts(4, 3, 12345).sum(axis=1).tolist()
    [4, 4, 4]
    """
    state = _states(seed, first, resamples)
    threshold = (1 << 32) % rows
    # As many words more as can be needed in place of bits that are passed over: four times what is to be expected.
    spare = _SPARE + (rows * threshold >> 31)
    words = (rows + 1) // 2 + spare
    bits = np.empty((2 * words, resamples), dtype=np.uint64)
    for place in range(words):
        word = _next(state)
        bits[2 * place] = word & np.uint64(0xFFFFFFFF)
        bits[2 * place + 1] = word >> np.uint64(32)
    products = bits * np.uint64(rows)
    fair = (products & np.uint64(0xFFFFFFFF)) >= threshold
    drawn = (products >> np.uint64(32)).astype(np.int64)
    for replicate in np.flatnonzero(~fair[:rows].all(axis=0)):  # hardly ever: bits that would favour some rows
        kept = drawn[fair[:, replicate], replicate]
        drawn[: min(rows, len(kept)), replicate] = kept[:rows]
    places = drawn[:rows] + np.arange(resamples) * rows
    return np.bincount(places.ravel(), minlength=resamples * rows).reshape(resamples, rows)


def _mix(word: int) -> int:
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


def _states(seed: int, first: int, resamples: int) -> list[NDArray[np.uint64]]:
    start = _mix((_mix(seed) + _BOOTSTRAP) & _WORD)
    words = [_mix((start + (place + 1) * _GOLDEN) & _WORD) for place in range(4 * first, 4 * (first + resamples))]
    return [np.array(words[place::4], dtype=np.uint64) for place in range(4)]


def _next(state: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Return the next word of each xoshiro256++ generator, and move them on."""
    s0, s1, s2, s3 = state
    total = s0 + s3
    word = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    state[3] = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return word
