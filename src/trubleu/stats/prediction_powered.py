"""Prediction-powered inference: a mean of people's ratings, with a proxy's scores of the items that nobody rated.

The estimate is PPI++ (Angelopoulos, Duchi & Zrnic 2023) with a power-tuned λ, cross-fitted (Zrnic & Candès 2024) and,
for items chosen with unequal known probabilities, weighted by their inverses (active inference, the same authors).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from trubleu.errors import DataError, UsageError, counted, nearest
from trubleu.optional_deps import needed
from trubleu.stats import checks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Codes: TypeAlias = NDArray[np.int64]

Target: TypeAlias = Literal["population", "items"]
"""What an estimate is of: the population that the items are a sample of, or these items alone."""

TARGETS: Final[tuple[Target, ...]] = get_args(Target)

FOLDS: Final = 10
"""Folds of the cross-fitting."""

LEAST_ITEMS: Final = 20
"""Minimum rated items; with fewer, a variance is too uncertain for an interval."""

LEAST_RATERS: Final = 10
"""From this number of raters on, they are a sample of raters; with fewer, the estimate is of these raters."""


class MeanInterval(NamedTuple):
    """A mean with its standard error and its t interval."""

    mean: float
    error: float
    low: float
    high: float
    degrees: float


class RaterShares(NamedTuple):
    """What each rater contributed to the ratings of items; one row for each rating.

    The values of an item add up to its rating less a constant: ``(score − mean score) / number of its ratings``.
    """

    item: Codes
    """The rated item, counted from 0."""
    rater: Codes
    """The rater, counted from 0."""
    value: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionPowered:
    """A mean, by people alone and with a proxy.

    Attributes
    ----------
    people
        By people alone: the mean of the rated items.
    powered
        With the proxy; the same as ``people`` if the proxy is constant, or if there is no item that it alone rated.
    tuning
        λ: how much of each proxy's correction is used, the mean over folds.
    rated, unrated
        Items rated by people (and by the proxy), and by the proxy alone.
    effective
        How many rated items would give people alone the same variance.
    useful
        Whether λ is distinguishable from 0. If it is not, ``effective`` is at most ``rated``.
    random_raters
        Whether the interval is for raters like these (two-way clusters), not for these raters alone.
    target, confidence
        What it is an estimate of, and the level of the intervals.
    """

    people: MeanInterval
    powered: MeanInterval
    tuning: tuple[float, ...]
    rated: int
    unrated: int
    effective: float
    useful: bool
    random_raters: bool
    target: Target
    confidence: float


def prediction_powered_mean(
    ratings: ArrayLike,
    proxy: ArrayLike,
    unrated: ArrayLike,
    *,
    segments: ArrayLike | None = None,
    unrated_segments: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    raters: RaterShares | None = None,
    target: Target = "population",
    confidence: float = 0.95,
    seed: int = 12345,
) -> PredictionPowered:
    """Estimate people's mean rating of all items from ratings of some and a proxy's scores of all.

    ``θ = mean(Y − λ f over rated items) + λ mean(f over all items)``, where λ minimises the variance in the other
    folds. With equal probabilities this is PPI++. For the difference of two systems, give the differences of each item.

    Parameters
    ----------
    ratings
        ``Y``: people's rating of each rated item.
    proxy
        ``f`` of the rated items, one column for each proxy.
    unrated
        ``f`` of the items that nobody rated.
    segments, unrated_segments
        The segment of each item, as numbers: items of one segment are a cluster. If not given, each is its own.
    probabilities
        The known probability of each rated item to be chosen for rating; if not given, they are equal.
    raters
        Who contributed what. From 10 raters on the interval includes their variance.
    target
        ``population``: the items are a sample of a larger population. ``items``: the mean of these items.
    confidence
        The level of the intervals.
    seed
        Of the folds.

    Raises
    ------
    DataError
        If fewer than 20 items are rated, or a value cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> draw = np.random.default_rng(1)
    >>> quality = draw.normal(3, 1, 1000)
    >>> people, model = quality[:100] + draw.normal(0, 0.3, 100), quality + 0.5 + draw.normal(0, 0.3, 1000)
    >>> found = prediction_powered_mean(people, model[:100], model[100:])
    >>> found.people.error / found.powered.error > 1.8, found.useful, found.effective > 300
    (True, True, True)
    """
    y, f, g = _checked(ratings, proxy, unrated)
    checks.confidence_level(confidence)
    if target not in TARGETS:
        raise UsageError(f"there is no target {target!r}; {nearest(str(target), TARGETS)}")
    n, size = len(y), len(y) + len(g)
    cluster, outer = _clusters(segments, unrated_segments, n, len(g))
    chances = _chances(probabilities, n, size)
    weights = (1 / chances) / (1 / chances).sum()
    centre = np.concatenate([f, g]).mean(0)
    f, g = f - centre, g - centre
    design = _Design(weights, chances, cluster, outer, size, raters, target, confidence)
    people = design.interval(y, np.zeros(n), np.zeros(len(g)))
    useful = False
    powered, tuning = people, np.zeros(f.shape[1])
    if len(g) and np.ptp(f, axis=0).any():
        fold = folds_of(cluster, seed)
        slopes = cross_fitted_slopes(y, f, weights**2, fold)
        correction = (slopes[fold] * f).sum(1)
        mean_slope = weights @ slopes[fold]
        powered = design.interval(y, correction, g @ mean_slope, f @ mean_slope)
        tuning = mean_slope * len(g) / size  # λ of PPI++, whose mean of f is over unrated items only
        useful = _distinguishable(y, f, weights, cluster, confidence)
    ratio = (people.error / powered.error) ** 2 if powered.error else math.nan
    effective = n * (ratio if useful or not ratio > 1 else 1.0)
    if target == "items":
        effective = min(effective, size)
    return PredictionPowered(
        people=people,
        powered=powered,
        tuning=tuple(map(float, tuning)),
        rated=n,
        unrated=len(g),
        effective=float(effective),
        useful=useful,
        random_raters=design.random_raters,
        target=target,
        confidence=confidence,
    )


def cross_fitted_slopes(y: Floats, f: Floats, weights: Floats, fold: Codes) -> Floats:
    """Return the slopes of the weighted regression of ``y`` on the columns of ``f``, for each fold from the others."""
    columns = np.column_stack([np.ones(len(y)), f, y])
    moments = np.zeros((FOLDS, columns.shape[1], columns.shape[1]))
    for each in range(FOLDS):
        rows = columns[fold == each]
        moments[each] = (rows * weights[fold == each, None]).T @ rows
    others = moments.sum(0) - moments
    means = others[:, 0] / others[:, :1, 0]
    covariance = others - others[:, :1, 0, None] * means[:, :, None] * means[:, None, :]
    within, beside = covariance[:, 1:-1, 1:-1], covariance[:, 1:-1, -1]
    if within.shape[1] == 1:
        variance = within[:, 0, 0]
        usable = variance > 1e-12 * np.abs(others[:, 1, 1])
        slopes = np.divide(beside[:, 0], variance, out=np.zeros(FOLDS), where=usable)
        return np.asarray(slopes[:, None])
    return np.asarray((np.linalg.pinv(within, rcond=1e-10, hermitian=True) @ beside[:, :, None])[:, :, 0])


@dataclass(frozen=True, slots=True)
class _Design:
    """How items were chosen and rated, which the variance of a mean follows from."""

    weights: Floats
    chances: Floats
    cluster: Codes
    outer: Codes
    size: int
    raters: RaterShares | None
    target: Target
    confidence: float

    @property
    def random_raters(self) -> bool:
        return self.raters is not None and len(np.unique(self.raters.rater)) >= LEAST_RATERS

    def interval(self, y: Floats, correction: Floats, outside: Floats, inside: Floats | None = None) -> MeanInterval:
        """Return the interval of the mean of ``y − correction``, plus the corrections' own mean over all items.

        ``outside`` and ``inside`` are the corrections of unrated and rated items with the mean λ; they add up to 0.
        """
        residual = y - correction
        mean = float(self.weights @ residual)
        influence = self.weights * (residual - mean)
        number = len(np.unique(self.cluster))
        if self.target == "items":
            # Only the choice of items is random, and of a segment of which everything is rated, nothing is.
            chance = _sums(self.cluster, self.chances) / np.maximum(np.bincount(self.cluster), 1)
            parts = (1 - chance) * _sums(self.cluster, influence) ** 2
        else:
            inner = influence if inside is None else influence + inside / self.size
            codes = np.concatenate([self.cluster, self.outer])
            parts = _sums(codes, np.concatenate([inner, outside / self.size])) ** 2
        variance = float(parts.sum()) * number / (number - 1)
        degrees = float(number - 1)
        if self.raters is not None and self.random_raters:
            by_rater, cells, of_raters = self._of_raters(self.raters, correction)
            if by_rater > cells:
                alone = max(variance - cells, 0.0)
                variance += by_rater - cells
                degrees = variance**2 / (alone**2 / degrees + by_rater**2 / of_raters)  # Satterthwaite's
        error = math.sqrt(max(variance, 0.0))
        stats = needed("scipy.stats", "an estimate", "trubleu[rate]", "scipy")
        half = float(stats.t.ppf((1 + self.confidence) / 2, degrees)) * error
        return MeanInterval(mean, error, mean - half, mean + half, degrees)

    def _of_raters(self, raters: RaterShares, correction: Floats) -> tuple[float, float, int]:
        """Return the variance of clusters of raters, that of raters within segments, and the degrees of the former.

        The variance of two-way clusters adds the former and subtracts the latter (Cameron, Gelbach & Miller 2011).
        """
        item, rater, value = raters
        shares = 1 / np.bincount(item, minlength=len(correction))[item]
        influence = self.weights[item] * (value - correction[item] * shares)
        influence -= influence.sum() * self.weights[item] * shares
        number = len(np.unique(rater))
        sums = _sums(rater, influence)
        cells = np.unique(self.cluster[item] * (int(rater.max()) + 1) + rater, return_inverse=True)[1]
        both = _sums(cells, influence)
        return float(sums @ sums) * number / (number - 1), float(both @ both), number - 1


def _sums(codes: Codes, values: Floats) -> Floats:
    """Return the sum of the values of each code."""
    return np.asarray(np.bincount(codes, values), np.float64)


def _distinguishable(y: Floats, f: Floats, weights: Floats, cluster: Codes, confidence: float) -> bool:
    """Whether the slopes of the regression of ``y`` on ``f`` differ from 0, by a cluster-robust Wald test."""
    root = weights[:, None]  # rows are weighted by the square of the weights
    x = np.column_stack([np.ones(len(y)), f])
    inverse = np.linalg.pinv((x * root).T @ (x * root), rcond=1e-12, hermitian=True)
    slopes = inverse @ ((x * root**2).T @ y)
    scores = x * root**2 * (y - x @ slopes)[:, None]
    sums = np.stack([_sums(cluster, column) for column in scores.T])
    number = int(np.count_nonzero(np.bincount(cluster)))
    meat = sums @ sums.T * number / (number - 1)
    variance = (inverse @ meat @ inverse)[1:, 1:]
    wald = float(slopes[1:] @ np.linalg.pinv(variance, rcond=1e-10, hermitian=True) @ slopes[1:])
    tested = f.shape[1]
    degrees = number - 1 - tested
    if degrees < 1:
        return False
    stats = needed("scipy.stats", "an estimate", "trubleu[rate]", "scipy")
    return bool(wald / tested > float(stats.f.ppf(confidence, tested, degrees)))


def _checked(ratings: ArrayLike, proxy: ArrayLike, unrated: ArrayLike) -> tuple[Floats, Floats, Floats]:
    y, f, g = (np.asarray(each, np.float64) for each in (ratings, proxy, unrated))
    if f.ndim == 1 and g.ndim == 1:
        f, g = f[:, None], g[:, None]
    if y.ndim != 1 or f.ndim != 2 or g.ndim != 2 or len(f) != len(y) or g.shape[1] != f.shape[1] or not f.shape[1]:
        raise DataError(
            "an estimate takes one rating per item and as many scores per proxy, but the arrays have the shapes "
            f"{y.shape}, {f.shape} and {g.shape}"
        )
    if len(y) < LEAST_ITEMS:
        raise DataError(f"an estimate needs {LEAST_ITEMS} rated items, not {len(y)}; rate more")
    for array, name in ((y, "ratings"), (f, "proxy"), (g, "unrated")):
        if not np.isfinite(array).all():
            raise DataError(f"{name} has a value that is not finite")
    return y, f, g


def _clusters(rated: ArrayLike | None, unrated: ArrayLike | None, n: int, beside: int) -> tuple[Codes, Codes]:
    """Return the cluster of each item as a number from 0 on."""
    if rated is None:
        return np.arange(n), n + np.arange(beside)
    outer = np.empty(0, np.int64) if unrated is None else np.asarray(unrated)
    codes = np.unique(np.concatenate([np.asarray(rated), outer]), return_inverse=True)[1]
    if len(codes) != n + beside:
        raise DataError(f"an estimate takes the segment of each item, but {len(codes)} were given for {n + beside}")
    if len(np.unique(codes[:n])) < LEAST_ITEMS:
        found = counted(len(np.unique(codes[:n])), "segment")
        raise DataError(f"the rated items are of {found}; an estimate needs {LEAST_ITEMS} segments with rated items")
    return codes[:n], codes[n:]


def _chances(probabilities: ArrayLike | None, n: int, size: int) -> Floats:
    if probabilities is None:
        return np.full(n, n / size)
    chances = np.asarray(probabilities, np.float64)
    if chances.shape != (n,):
        raise DataError(f"an estimate takes one probability per rated item, but {chances.size} were given for {n}")
    if not ((chances > 0) & (chances <= 1)).all():
        wrong = float(chances[~((chances > 0) & (chances <= 1))][0])
        raise DataError(f"the probability of a rated item must be above 0 and at most 1, not {wrong:g}")
    return chances


def folds_of(cluster: Codes, seed: int) -> Codes:
    """Return the fold of each item, drawn at random; items of one cluster share theirs."""
    codes, of_item = np.unique(cluster, return_inverse=True)
    fold = np.random.default_rng(seed).permutation(len(codes)) % FOLDS
    return np.asarray(fold[of_item], np.int64)
