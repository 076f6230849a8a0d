"""Correlation coefficients and their analytic intervals."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from trubleu.errors import DataError, UsageError, nearest
from trubleu.native import kernels, resolve_threads
from trubleu.stats import checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

RankCoefficient: TypeAlias = Literal["spearman", "kendall"]

RANK_COEFFICIENTS: Final = ("spearman", "kendall")

MOST_POINTS: Final = 2**30
"""Maximum points, counted with multiplicity, for the kernel."""

WORTH_THREADS: Final = 30_000
"""Points (about a millisecond) below which starting threads costs more than it saves."""


class Bounds(NamedTuple):
    """The two ends of an interval."""

    low: float
    """The lower end."""
    high: float
    """The upper end."""


class RankCorrelations(NamedTuple):
    """Rank correlations of several sets of points, one value per set; NaN if undefined."""

    spearman: NDArray[np.float64]
    """Spearman's ρ."""
    kendall: NDArray[np.float64]
    """Kendall's τ-b."""


def rank_correlations(
    x: ArrayLike, y: ArrayLike, *, counts: ArrayLike | None = None, mirrored: bool = False, threads: int | None = None
) -> RankCorrelations:
    """Return Spearman's ρ and Kendall's τ-b of many sets of points.

    Ranks and pairs are counted in integers, and only the last division rounds: results do not depend on the order of
    the points, the number of threads or the machine.

    Parameters
    ----------
    x, y
        ``float64[sets, points]``, or one set as a flat list. If one of ``x``, ``y`` and ``counts`` has a single row, it
        stands for all sets.
    counts
        How often each point enters, in the same shape; 0 leaves it out. Without it, every point enters once.
    mirrored
        Let every point (x, y) enter also as (−x, −y): differences between two systems have no natural sign.
    threads
        ``None`` takes all cores that the process may use if there is enough to do.

    Returns
    -------
    RankCorrelations
        NaN where undefined: x or y is constant, or there are fewer than two points.

    Raises
    ------
    DataError
        If shapes differ, a number is not finite or a count is negative.

    Examples
    --------
    >>> found = rank_correlations([[1, 2, 3, 4], [1, 2, 2, 4]], [[1, 2, 4, 3], [5, 5, 5, 5]])
    >>> found.spearman.round(6).tolist(), found.kendall.round(6).tolist()
    ([0.8, nan], [0.666667, nan])
    >>> rank_correlations([1, 2, -3], [1, -2, -3], mirrored=True).spearman.round(3).tolist()
    [0.486]
    """
    across, up = _sets(x, "x"), _sets(y, "y")
    often = None if counts is None else _counts(counts)
    points = across.shape[1]
    sets = 1
    for name, each in (("x", across), ("y", up), ("counts", across if often is None else often)):
        if each.shape[1] != points:
            raise DataError(f"x has {points} points per set but {name} has {each.shape[1]}")
        if len(each) != 1 and sets not in (1, len(each)):
            raise DataError(f"{name} has {len(each)} sets of points, but there are {sets} before it")
        sets = sets if len(each) == 1 else len(each)
    if points > MOST_POINTS or (often is not None and often.sum(axis=1).max(initial=0) > MOST_POINTS):
        raise DataError(f"a set must have at most 2^30 points, counted as often as they enter; there are {points:,}")
    if sets == 0:
        return RankCorrelations(np.empty(0), np.empty(0))
    workers = resolve_threads(threads, sets * points, WORTH_THREADS)
    found = kernels.rank_correlations(across, up, often, mirrored, workers)
    return RankCorrelations(np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1]))


TIE: Final = 1e-9
"""Scores of one metric that differ by at most this are ties up to rounding."""


def grain_of(largest: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return twice the difference up to which scores are ties, given the largest of them.

    This is `TIE` for scores of the usual size, and relative to the largest if all are below 1, or in the thousands.

    Examples
    --------
    >>> [float(grain_of(largest)) / 2 for largest in (100.0, 0.5)]
    [1e-09, 5e-10]
    """
    return np.maximum(2 * TIE * np.minimum(largest, 1.0), 1e-12 * np.asarray(largest))


def settled(scores: NDArray[np.float64], grain: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Round scores, or differences of scores, to multiples of a grain, so mathematical ties are equal.

    Sums of the same numbers in another order differ in their last bits.

    Examples
    --------
    >>> settled(np.array([0.1 + 0.2 - 0.3, 30.1]), grain_of(30.1)).tolist()
    [0.0, 30.1]
    """
    grain = np.where(np.asarray(grain) > 0, grain, 1.0)  # all scores are 0
    return np.asarray(np.rint(scores / grain) * grain)


def pearson(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return Pearson's correlation of two lists, or ``None`` if it is undefined.

    Sums are exact before they are rounded, so the result does not depend on the order of the points.

    Raises
    ------
    DataError
        If the lists differ in length or hold a number that is not finite.

    Examples
    --------
    >>> pearson([1, 2, 3, 4], [2, 4, 6, 8]), pearson([1, 2, 3], [5, 5, 5])
    (1.0, None)
    """
    a, b = _two_lists(x, y)
    if not len(a) or a.min() == a.max() or b.min() == b.max():
        return None
    a, b = centred(a), centred(b)
    together = math.fsum((a * b).tolist())
    spread = math.sqrt(math.fsum((a * a).tolist()) * math.fsum((b * b).tolist()))
    return max(-1.0, min(1.0, together / spread))


def weighted_pearson(
    x: NDArray[np.float64], y: NDArray[np.float64], counts: NDArray[np.int64] | NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return Pearson's r of rows of points that enter ``counts`` times: ``[..., points]`` to ``[...]``.

    NaN where x or y does not vary. Points that do not enter may have any finite value.

    Examples
    --------
    >>> weighted_pearson(np.array([[1.0, 2.0, 9.0]]), np.array([[2.0, 4.0, 0.0]]), np.array([[1, 3, 0]])).tolist()
    [1.0]
    """
    n = np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    dx, dy = _deviations(x, counts, n), _deviations(y, counts, n)
    across = (counts * dx * dy).sum(axis=-1)
    within = np.sqrt((counts * dx * dx).sum(axis=-1) * (counts * dy * dy).sum(axis=-1))
    defined = varies(x, counts) & varies(y, counts) & (within > 0)
    return np.where(defined, np.clip(across / np.where(defined, within, 1.0), -1.0, 1.0), np.nan)


def _deviations(
    values: NDArray[np.float64], counts: NDArray[np.int64] | NDArray[np.bool_], n: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return deviations from the mean, scaled so that neither huge nor tiny ones leave the range when squared."""
    less = values - (counts * values).sum(axis=-1, keepdims=True) / n
    largest = np.where(counts > 0, np.abs(less), 0.0).max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(less / np.where(largest > 0, largest, 1.0))


def varies(values: NDArray[np.float64], counts: NDArray[np.int64] | NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether the values that enter differ: ``[..., points]`` to ``[...]``."""
    low = np.where(counts > 0, values, np.inf).min(axis=-1, initial=np.inf)
    return np.asarray(low < np.where(counts > 0, values, -np.inf).max(axis=-1, initial=-np.inf))


def spearman(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return Spearman's ρ of two lists with mean ranks for ties, or ``None`` if it is undefined.

    Raises
    ------
    DataError
        If the lists differ in length or hold a number that is not finite.

    Examples
    --------
    >>> round(spearman([1, 2, 3, 4], [1, 2, 4, 3]), 6), spearman([7], [8])
    (0.8, None)
    """
    return _defined(rank_correlations(*_two_lists(x, y)).spearman)


def kendall(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return Kendall's τ-b of two lists, or ``None`` if it is undefined.

    Raises
    ------
    DataError
        If the lists differ in length or hold a number that is not finite.

    Examples
    --------
    >>> round(kendall([1, 2, 3, 4], [1, 2, 4, 3]), 6), kendall([1, 2], [3, 3])
    (0.666667, None)
    """
    return _defined(rank_correlations(*_two_lists(x, y)).kendall)


def fisher_interval(r: float, n: int, confidence: float = 0.95) -> Bounds:
    """Return Fisher's interval of a correlation of ``n`` observations: tanh(atanh r ± z/√(n − 3)).

    z is the normal quantile, 1.96 at 95 %. It was derived for Pearson's r of normal data, but papers also report it for
    ρ and τ; `fieller_interval` has the proper standard errors for those.

    Parameters
    ----------
    r
        The coefficient, from −1 to 1; at the ends the interval is a point.
    n
        The number of observations, more than 3.
    confidence
        Strictly between 0 and 1.

    Raises
    ------
    UsageError
        If an argument is out of range.

    References
    ----------
    Fisher, R. A. (1921). On the "probable error" of a coefficient of correlation deduced from a small sample. Metron 1,
    3–32.

    Examples
    --------
    >>> low, high = fisher_interval(0.484, 528)
    >>> round(low, 3), round(high, 3)
    (0.416, 0.547)
    """
    return _interval(r, n, 4, lambda: 1.0 / math.sqrt(n - 3), confidence)


def fieller_interval(r: float, n: int, kind: RankCoefficient, confidence: float = 0.95) -> Bounds:
    """Return the interval of a rank correlation of ``n`` observations: tanh(atanh r ± z·s).

    s is 1.03/√(n − 3) for Spearman's ρ and √(0.437/(n − 4)) for Kendall's τ.

    Parameters
    ----------
    r
        The coefficient, from −1 to 1; at the ends the interval is a point.
    n
        The number of observations, more than 3 for ρ and more than 4 for τ.
    kind
        ``"spearman"`` or ``"kendall"``.
    confidence
        Strictly between 0 and 1.

    Raises
    ------
    UsageError
        If an argument is out of range.

    References
    ----------
    Fieller, E. C., Hartley, H. O. & Pearson, E. S. (1957). Tests for rank correlation coefficients. I. Biometrika 44,
    470–481.

    Examples
    --------
    >>> low, high = fieller_interval(0.342, 264, "kendall")
    >>> round(low, 3), round(high, 3)
    (0.269, 0.411)
    """
    if kind not in RANK_COEFFICIENTS:
        raise UsageError(f"there is no rank correlation {kind!r}; {nearest(str(kind), RANK_COEFFICIENTS)}")
    if kind == "spearman":
        return _interval(r, n, 4, lambda: 1.03 / math.sqrt(n - 3), confidence)
    return _interval(r, n, 5, lambda: math.sqrt(0.437 / (n - 4)), confidence)


def _interval(r: float, n: int, least: int, error: Callable[[], float], confidence: float) -> Bounds:
    checks.confidence_level(confidence)
    if not -1.0 <= r <= 1.0:
        raise UsageError(f"a correlation lies between -1 and 1, not at {r:g}")
    if n < least:
        raise UsageError(f"the interval of this correlation needs at least {least} observations, not {n}")
    if abs(r) == 1.0:
        return Bounds(float(r), float(r))
    # 1.96 is conventional for the usual interval; the exact quantile is 1.95996.
    z = 1.96 if confidence == 0.95 else NormalDist().inv_cdf(0.5 + confidence / 2.0)
    centre, reach = math.atanh(r), z * error()
    return Bounds(math.tanh(centre - reach), math.tanh(centre + reach))


def _table(array: NDArray[Any], name: str) -> NDArray[Any]:
    if array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2:
        raise DataError(f"{name} must be a list or a table of numbers, but the array has {array.ndim} dimension(s)")
    return array


def _sets(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return an array as ``[sets, points]``."""
    array = _table(np.ascontiguousarray(values, dtype=np.float64), name)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):
            return array
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, point = bad[0]
        raise DataError(
            f"{name} is {array[row, point]} at point {point} of set {row} (counted from 0); "
            "a correlation needs finite numbers"
        )
    return array


def _counts(counts: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(counts)
    if array.dtype.kind not in "iub" or array.max(initial=0) > MOST_POINTS or array.min(initial=0) < 0:
        raise DataError("counts must be whole numbers from 0 to 2^30: how often each point enters")
    return np.ascontiguousarray(_table(array, "counts"), dtype=np.int64)


def _two_lists(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    for array, name in ((a, "x"), (b, "y")):
        if array.ndim != 1:
            raise DataError(f"{name} must be a flat list of numbers, but the array has {array.ndim} dimension(s)")
        _sets(array, name)
    if len(a) != len(b):
        raise DataError(f"x has {len(a)} numbers but y has {len(b)}; each point needs both")
    return a, b


def centred(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values, not all equal, minus their mean, scaled by a power of two to about 1."""
    # The mean is rounded; its error shows in the mean of the differences, which are exact where it matters.
    for _ in range(2):
        values = np.ldexp(values, -math.frexp(float(np.abs(values).max()))[1])
        values = values - math.fsum(values.tolist()) / len(values)
    return np.ldexp(values, -math.frexp(float(np.abs(values).max()))[1])


def _defined(coefficients: NDArray[np.float64]) -> float | None:
    value = float(coefficients[0])
    return None if math.isnan(value) else value
