"""Which references a metric sees: one, the good ones, all."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from trubleu.errors import UsageError, nearest
from trubleu.signature import number_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

SINGLE: Final = "single"
ALL: Final = "all"
GIVEN: Final = "given"
SEED_ORIGIN: Final = "seed"

_NAMES: Final = (SINGLE, "w>=0.6", ALL, GIVEN)
_THRESHOLD: Final = re.compile(r"\s*w\s*(?:>=|≥)\s*(\S+)\s*")

Kind: TypeAlias = Literal["single", "threshold", "all", "given"]


@dataclass(frozen=True, slots=True)
class Shelf:
    """References of some segments as a condition looks at them: flat, with offsets.

    Attributes
    ----------
    offsets
        Where each segment begins, and the end of the last; every segment has at least one.
    weights
        1 for all where references have no weights.
    seeds
        Whether a reference is the response that the segment was made from.
    pooled
        Whether it is the output of another system.
    """

    offsets: NDArray[np.int64]
    weights: NDArray[np.float64]
    seeds: NDArray[np.bool_]
    pooled: NDArray[np.bool_]

    def any_of(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each segment whether one of its references is kept."""
        if len(self.offsets) == 1:
            return np.zeros(0, dtype=bool)
        found: NDArray[np.bool_] = np.logical_or.reduceat(kept, self.offsets[:-1])
        return found

    def best(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the largest weight of each segment among those kept, −inf without one."""
        if len(self.offsets) == 1:
            return np.zeros(0)
        largest: NDArray[np.float64] = np.maximum.reduceat(np.where(kept, self.weights, -np.inf), self.offsets[:-1])
        return largest

    def first(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the first reference kept of each segment."""
        chosen = np.zeros(len(kept), dtype=bool)
        if len(self.offsets) > 1:
            places = np.where(kept, np.arange(len(kept)), len(kept))
            leading = np.minimum.reduceat(places, self.offsets[:-1])
            chosen[leading[leading < len(kept)]] = True
        return chosen

    def first_seed_or(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each segment the first seed among those kept, else the first of them."""
        seeds = kept & self.seeds
        return self.first(np.where(self.spread(self.any_of(seeds)), seeds, kept))

    def spread(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a segment's value for each of its references."""
        return np.repeat(values, np.diff(self.offsets))


@dataclass(frozen=True, slots=True)
class Condition:
    """Which references of a segment count; read from what people write with `parse`.

    Attributes
    ----------
    kind
        ``single``: the one with the origin ``seed``, else the first. ``threshold``: those with a weight of at least
        ``threshold``; a segment without any keeps its best-weighted one (of equals a seed, else the first). ``all``.
        ``given``: all but the outputs of other systems, where those have joined.
    threshold
        For ``threshold`` only.
    """

    kind: Kind
    threshold: float | None = None

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read ``single``, ``all``, ``given`` or ``w>=0.6``.

        Examples
        --------
        >>> Condition.parse("w >= .6"), str(Condition.parse("w>=0.60"))
        (Condition(kind='threshold', threshold=0.6), 'w>=0.6')
        """
        match text:
            case "single" | "all" | "given":
                return cls(text)
        if written := _THRESHOLD.fullmatch(text):
            try:
                threshold = float(written[1])
            except ValueError:
                threshold = math.nan
            if -1 <= threshold <= 1:
                return cls("threshold", threshold)
            raise UsageError(f"the threshold in {text!r} must be a number from -1 to 1, as weights are")
        raise UsageError(
            f"there is no condition {text!r}; write single, all, given or a threshold such as 'w>=0.6'; "
            f"{nearest(text, _NAMES)}"
        )

    def __str__(self) -> str:
        return self.kind if self.threshold is None else f"w>={number_text(self.threshold)}"

    def choose(self, shelf: Shelf, available: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of the available references count."""
        if self.kind == "all":
            return available
        if self.kind == "given":
            return available & ~shelf.pooled
        if self.kind == "single":
            return shelf.first_seed_or(available)
        return self._above(shelf, available) | self.fallbacks(shelf, available)

    def fallbacks(self, shelf: Shelf, available: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the references that count although they are below the threshold, as their segment has none above."""
        if self.threshold is None:
            return np.zeros(len(available), dtype=bool)
        without = ~shelf.any_of(self._above(shelf, available))
        best = available & (shelf.weights == np.repeat(shelf.best(available), np.diff(shelf.offsets)))
        return shelf.first_seed_or(best & shelf.spread(without))

    def _above(self, shelf: Shelf, available: NDArray[np.bool_]) -> NDArray[np.bool_]:
        reached: NDArray[np.bool_] = shelf.weights >= (-np.inf if self.threshold is None else self.threshold)
        return available & reached
