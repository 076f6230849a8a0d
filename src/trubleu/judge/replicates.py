"""Intervals and p-values from bootstrap replicates, some of which may be undefined; notes for the reader."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.errors import CountedWarning, TrubleuWarning
from trubleu.stats.bootstrap import percentile_interval
from trubleu.stats.paired import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Notes:
    """Sentences for a report, each once; some are also said at once, as warnings."""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}

    def add(self, sentence: str) -> None:
        """Keep a sentence without a warning."""
        self._sentences.setdefault(sentence)

    def warn(self, sentence: str) -> None:
        """Keep a sentence, and warn of it."""
        if sentence not in self._sentences:
            self._sentences[sentence] = None
            warnings.warn(TrubleuWarning(sentence), stacklevel=3)

    def count(self, what: str, number: int) -> None:
        """Keep a number of cases, and warn of them."""
        warning = CountedWarning(what, number)
        self._sentences.setdefault(str(warning))
        warnings.warn(warning, stacklevel=3)

    def all(self) -> tuple[str, ...]:
        """Return the sentences in their order."""
        return tuple(self._sentences)


_LEAST_DEFINED: Final = 0.5
"""The share of replicates in which a statistic must be defined for an interval to be given."""

_ROUNDING: Final = 1e-12
"""Differences closer than this are the same but for rounding."""


class Ends(NamedTuple):
    """An interval, None if there is none, and the number of replicates that could not be used."""

    low: float | None
    high: float | None
    undefined: int


def ends_of(replicates: NDArray[np.float64] | None, confidence: float) -> Ends:
    """Return the percentile interval of those replicates that are defined; none if those are fewer than half.

    Parameters
    ----------
    replicates
        One number per replicate, NaN where the statistic is undefined; None if nothing was drawn.
    confidence
        How much of the replicates lies between the ends.

    Examples
    --------
    >>> ends_of(np.array([0.0, 1.0, 2.0, np.nan]), 0.5)
    Ends(low=0.5, high=1.5, undefined=1)
    >>> ends_of(np.array([0.0, np.nan, np.nan]), 0.5), ends_of(None, 0.5)
    (Ends(low=None, high=None, undefined=2), Ends(low=None, high=None, undefined=0))
    """
    if replicates is None:
        return Ends(None, None, 0)
    defined = replicates[np.isfinite(replicates)]
    undefined = len(replicates) - len(defined)
    if not len(defined) or len(defined) < _LEAST_DEFINED * len(replicates):
        return Ends(None, None, undefined)
    return Ends(*percentile_interval(defined, confidence), undefined)


def centred_p(replicates: NDArray[np.float64], observed: float) -> float | None:
    """Return the two-sided p-value of the paired bootstrap: replicates are shifted so that their mean is 0.

    Replicates in which the difference is undefined are left out; None if there are no others.

    Parameters
    ----------
    replicates
        The difference in each replicate, NaN where it is undefined.
    observed
        The difference in the data.

    Examples
    --------
    >>> centred_p(np.array([0.9, 1.0, 1.1]), 1.0), centred_p(np.zeros(9), 0.0), centred_p(np.array([np.nan]), 0.0)
    (0.25, 1.0, None)
    """
    defined = replicates[np.isfinite(replicates)]
    if not len(defined):
        return None
    extreme = np.count_nonzero(np.abs(defined - defined.mean()) >= abs(observed) - _ROUNDING)
    return (int(extreme) + 1) / (len(defined) + 1)


def corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct the p-values of one family by Holm's method; those that are undefined count for nothing.

    Examples
    --------
    >>> corrected([0.02, None, 0.01])
    [0.02, None, 0.02]
    """
    found = iter(holm([p for p in p_values if p is not None]).tolist())
    return [None if p is None else next(found) for p in p_values]
