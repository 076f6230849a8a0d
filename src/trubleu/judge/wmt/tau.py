"""Kendall-like τ over pairwise human rankings, from nine counts per segment.

A ranked pair of outputs falls into one of nine cells: people say that a is better, as good or worse than b, and so does
the metric. The counts of a segment add up over segments, and every variant of τ is a function of their sums: rankings
follow the same contract as a metric's statistics, so intervals and tests need nothing of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from trubleu.errors import UsageError, nearest
from trubleu.stats.correlation import grain_of, settled

if TYPE_CHECKING:
    from numpy.typing import NDArray

Variant: TypeAlias = Literal["wmt12", "wmt13", "wmt14", "hties"]

VARIANTS: Final[tuple[Variant, ...]] = get_args(Variant)
"""The named ways to count ties; ``wmt15`` is another name of ``wmt14``."""

CELLS: Final = 9
"""How many counts a segment has: 3 · (people say a <, =, > b) + (the metric says a <, =, > b), < for better."""

_METRIC_APART: Final = [cell for cell in range(CELLS) if cell % 3 != 1]

_OUT: Final = None

# What a pair in each cell adds; None leaves it out of numerator and denominator alike.
_CREDITS: Final[dict[Variant, tuple[int | None, ...]]] = {
    "wmt12": (1, -1, -1, _OUT, _OUT, _OUT, -1, -1, 1),
    "wmt13": (1, _OUT, -1, _OUT, _OUT, _OUT, -1, _OUT, 1),
    "wmt14": (1, 0, -1, _OUT, _OUT, _OUT, -1, 0, 1),
    "hties": (1, 0, -1, 0, 1, 0, -1, 0, 1),
}


def check_variant(name: str) -> Variant:
    """Return a variant by its name, wmt15 included, or refuse it."""
    if name == "wmt15":
        return "wmt14"
    if name not in VARIANTS:
        raise UsageError(f"there is no variant {name!r} of τ; {nearest(name, (*VARIANTS, 'wmt15'))}")
    return next(variant for variant in VARIANTS if variant == name)


def ranking_tau(counts: NDArray[np.float64], variant: str = "wmt14") -> NDArray[np.float64]:
    """Return τ for each row of (summed) counts.

    Parameters
    ----------
    counts
        ``float64[..., 9]``: how many pairs fall into each cell, human <, =, > by metric <, =, >, row by row.
    variant
        How ties count: ``wmt12``, ``wmt13``, ``wmt14`` (also called ``wmt15``) or ``hties``.

    Returns
    -------
    NDArray[np.float64]
        ``float64[...]``; NaN where no pair is left to count.

    Examples
    --------
    >>> counts = np.array([6.0, 1.0, 3.0, 0.0, 2.0, 0.0, 2.0, 0.0, 8.0])
    >>> [round(float(ranking_tau(counts, variant)), 3) for variant in VARIANTS]
    [0.4, 0.474, 0.45, 0.5]
    """
    numerator = np.zeros(counts.shape[:-1])
    entered = np.zeros(counts.shape[:-1])
    for cell, credit in enumerate(
        _CREDITS[check_variant(variant)]
    ):  # whole numbers: the order of additions changes nothing
        if credit is not None:
            numerator += credit * counts[..., cell]
            entered += counts[..., cell]
    tau = np.full(numerator.shape, np.nan)
    np.divide(numerator, entered, out=tau, where=entered > 0)
    return tau


def tells_apart(counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each row of (summed) counts whether the metric scores the outputs of any pair differently.

    Examples
    --------
    >>> counts = np.zeros((2, 9))
    >>> counts[0, 1], counts[1, 2] = 5.0, 1.0
    >>> tells_apart(counts).tolist()
    [False, True]
    """
    return np.asarray(counts[..., _METRIC_APART].any(axis=-1))


def entries(counts: NDArray[np.float64], variant: str = "wmt14") -> int:
    """Return how many of the counted pairs a variant does not leave out."""
    kept = _CREDITS[check_variant(variant)]
    return int(sum(counts[cell] for cell, credit in enumerate(kept) if credit is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPairs:
    """Pairs of outputs that people ranked, as numbers.

    Attributes
    ----------
    segment, a, b
        For each pair the place of its segment and of its two systems.
    human
        -1 where a is ranked better than b, 0 where they share a rank, 1 where b is better.
    ranking
        Which one ranking by one judge the pair is from.
    """

    segment: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    human: NDArray[np.int64]
    ranking: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.segment)

    def where(self, kept: NDArray[np.bool_]) -> RankedPairs:
        """Return the pairs for which ``kept`` is true."""
        return RankedPairs(
            segment=self.segment[kept],
            a=self.a[kept],
            b=self.b[kept],
            human=self.human[kept],
            ranking=self.ranking[kept],
        )

    def usable(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which pairs have a score on both sides, given ``float64[systems, segments]`` with NaN for none."""
        return ~(np.isnan(scores[self.a, self.segment]) | np.isnan(scores[self.b, self.segment]))

    def counts(self, scores: NDArray[np.float64], segments: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return ``float64[len(segments), 9]``: how people and a metric agree in each of the segments.

        Parameters
        ----------
        scores
            ``float64[systems, segments]``, higher is better. What differs by rounding alone is a tie (see `settled`).
        segments
            Places of segments, rising; all that occur in the pairs are among them.
        """
        first, second = scores[self.a, self.segment], scores[self.b, self.segment]
        grain = grain_of(np.nanmax(np.abs(scores), initial=0.0))
        metric = np.sign(settled(second - first, grain)).astype(np.int64)
        rows = np.searchsorted(segments, self.segment)
        cells = rows * CELLS + 3 * (self.human + 1) + (metric + 1)
        return np.bincount(cells, minlength=len(segments) * CELLS).reshape(-1, CELLS).astype(np.float64)

    def collapsed(self, texts: NDArray[np.int64]) -> tuple[RankedPairs, int]:
        """Return the pairs with systems that wrote the same text merged, and how many pairs contradicted themselves.

        Within one ranking of one segment every unordered pair of different texts is kept once, and pairs of equal texts
        are dropped. Where a judge preferred one of two texts in one place and not in another, the pair is left out.

        Parameters
        ----------
        texts
            ``int64[systems, segments]``: equal numbers for equal texts.
        """
        first, second = texts[self.a, self.segment], texts[self.b, self.segment]
        low, high = np.minimum(first, second), np.maximum(first, second)
        # The systems come last, so that which of equal pairs stands for all does not depend on the order of rows.
        order = np.lexsort((self.b, self.a, high, low, self.segment, self.ranking))
        order = order[(low != high)[order]]
        keys = np.stack([self.ranking, self.segment, low, high])[:, order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        begins = np.flatnonzero(new)
        if not len(begins):
            return self.where(np.zeros(len(self), dtype=bool)), 0
        verdict = np.where(first > second, -self.human, self.human)[order]
        agreed = np.minimum.reduceat(verdict, begins) == np.maximum.reduceat(verdict, begins)
        kept = order[begins[agreed]]
        return (
            RankedPairs(
                segment=self.segment[kept],
                a=self.a[kept],
                b=self.b[kept],
                human=self.human[kept],
                ranking=self.ranking[kept],
            ),
            int(np.count_nonzero(~agreed)),
        )
