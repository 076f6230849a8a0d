"""Tests whether one metric agrees better with people than another, on the same data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from trubleu.errors import DataError, UsageError, nearest
from trubleu.optional_deps import needed
from trubleu.stats.correlation import kendall, pearson, spearman
from trubleu.stats.metric_tests import MetaEvaluation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

Correlation: TypeAlias = Literal["pearson", "spearman", "kendall"]

CORRELATIONS: Final[dict[str, Callable[[ArrayLike, ArrayLike], float | None]]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}

INCONSISTENT: Final = 1e-9
"""How far rounding may push the determinant of three correlations below 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WilliamsTest:
    """The difference between two correlations that share a variable."""

    t: float
    """Williams' statistic, positive if the first metric correlates more; Student's t with n − 3 degrees of freedom."""
    p: float
    """Two-sided."""
    n: int
    """Number of points behind the correlations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationTest:
    """The difference between two metrics' correlations with people, tested by random swaps of the metrics."""

    difference: float
    """Correlation of the first metric − correlation of the second."""
    p: float
    """Two-sided, (b + 1)/(n + 1) with b the trials at least as extreme as the data: never 0, and 1 for equals."""
    correlation: Correlation
    """The coefficient."""
    n: int
    """Number of trials."""
    seed: int
    """The seed of the swaps."""


def williams_test(r_xh: float, r_yh: float, r_xy: float, n: int) -> WilliamsTest:
    """Test whether two metrics correlate differently with people, given that they correlate with each other.

    Parameters
    ----------
    r_xh, r_yh
        Pearson's correlation of each metric with people.
    r_xy
        The correlation between the metrics.
    n
        The number of points, more than 3.

    Returns
    -------
    WilliamsTest
        Equal correlations give t = 0 and p = 1. For metrics that mirror each other (``r_xy`` = −1), where the formula
        is 0/0, t is its limit r·√((n − 3)/(1 − r²)).

    Raises
    ------
    UsageError
        If n is too small, or if no data have such correlations.
    MissingExtraError
        If SciPy is not installed.

    References
    ----------
    Williams, E. J. (1959). Regression analysis. Wiley.
    Graham, Y. & Baldwin, T. (2014). Testing for significance of increased correlation with human judgment. EMNLP,
    172–176.

    Examples
    --------
    >>> test = williams_test(0.4, 0.5, 0.1, 103)
    >>> round(test.t, 2), round(test.p, 2)
    (-0.89, 0.37)
    """
    if n <= 3:
        raise UsageError(f"Williams' test needs at least 4 points, not {n}")
    for r, name in ((r_xh, "r_xh"), (r_yh, "r_yh"), (r_xy, "r_xy")):
        if not -1.0 <= r <= 1.0:
            raise UsageError(f"{name} must be a correlation, from -1 to 1, not {r:g}")
    # Written so that exchanging the metrics gives bit-identical results.
    determinant = 1.0 - (r_xh**2 + r_yh**2) - r_xy**2 + 2.0 * (r_xh * r_yh) * r_xy
    if determinant < -INCONSISTENT:
        raise UsageError(f"no data have the correlations {r_xh:g}, {r_yh:g} and {r_xy:g} at once; check which is which")
    t = _williams_t(r_xh, r_yh, r_xy, max(determinant, 0.0), n)
    if t == 0.0:
        return WilliamsTest(t=t, p=1.0, n=n)
    special = needed("scipy.special", "Williams' test", "trubleu[judge]", "scipy")
    return WilliamsTest(t=t, p=min(2.0 * float(special.stdtr(n - 3, -abs(t))), 1.0), n=n)


def _williams_t(r_xh: float, r_yh: float, r_xy: float, determinant: float, n: int) -> float:
    if r_xh == r_yh:
        return 0.0
    if r_xy == -1.0:
        return math.copysign(math.inf, r_xh) if abs(r_xh) == 1.0 else r_xh * math.sqrt((n - 3) / (1.0 - r_xh**2))
    numerator = (r_xh - r_yh) * math.sqrt((n - 1) * (1.0 + r_xy))
    variance = 2.0 * determinant * (n - 1) / (n - 3) + ((r_xh + r_yh) / 2.0) ** 2 * (1.0 - r_xy) ** 3
    return numerator / math.sqrt(variance) if variance > 0.0 else math.copysign(math.inf, numerator)


def permutation_of_metrics(
    x: ArrayLike,
    y: ArrayLike,
    human: ArrayLike,
    *,
    correlation: Correlation = "pearson",
    trials: int = 1000,
    seed: int = 12345,
) -> PermutationTest:
    """Test whether two metrics correlate differently with people by swapping their scores at random.

    Both metrics are standardised (mean 0, variance 1), since their scales may differ. If they were interchangeable,
    swapping their standardised scores of any points would change nothing. p is the share of random swaps whose
    difference in correlation is at least as large as the observed one in absolute value, including the observed one.
    Exchanging the metrics flips the sign and keeps p. A swap that leaves a correlation undefined counts as large.

    Parameters
    ----------
    x, y
        Scores of the two metrics, point by point.
    human
        What people say of the same points.
    correlation
        ``"pearson"``, ``"spearman"`` or ``"kendall"``.
    trials
        How many times to swap.
    seed
        From 0 to 2^64 − 1.

    Raises
    ------
    DataError
        If the lists differ in length, hold a number that is not finite, or have no correlation.

    References
    ----------
    Deutsch, D., Dror, R. & Roth, D. (2021). A statistical analysis of summarization evaluation metrics using resampling
    methods. TACL 9, 1132–1146.

    Examples
    --------
    >>> people = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    >>> test = permutation_of_metrics([1, 2, 3, 4, 5, 7], [3, 1, 2, 6, 4, 5], people)
    >>> round(test.difference, 3), permutation_of_metrics(people, people, people).p
    (0.333, 1.0)
    """
    if correlation not in CORRELATIONS:
        raise UsageError(f"there is no correlation {correlation!r}; {nearest(str(correlation), CORRELATIONS)}")
    coefficient = CORRELATIONS[correlation]
    observed = _agreement(coefficient, x, human, "x") - _agreement(coefficient, y, human, "y")
    points = MetaEvaluation(np.asarray(human, float)[:, np.newaxis], np.asarray([x, y], float)[:, :, np.newaxis])
    found = points.differences("segment", f"{correlation}-pooled", "perm-both", trials=trials, seed=seed)
    return PermutationTest(difference=observed, p=float(found.p[0]), correlation=correlation, n=trials, seed=seed)


def _agreement(
    coefficient: Callable[[ArrayLike, ArrayLike], float | None], scores: ArrayLike, human: ArrayLike, name: str
) -> float:
    r = coefficient(scores, human)
    if r is None:
        raise DataError(
            f"the correlation of {name} with the human scores is undefined: one of them is constant "
            "or there are fewer than two points"
        )
    return r
