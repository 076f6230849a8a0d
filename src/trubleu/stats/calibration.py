"""Calibration: what a model's value of a text says about people's, by isotonic regression with cross-validation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import DataError, UsageError, counted
from trubleu.optional_deps import needed
from trubleu.stats import checks
from trubleu.stats.agreement import numbered

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray

LEAST_TEXTS: Final = 20
"""Texts with both values that a calibration needs."""

_PARTS: Final = 5  # of calibrated values, each with an error of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A curve that never falls, from a model's values to people's."""

    x: NDArray[np.float64]
    """The model's values that it was fitted to, in order."""
    y: NDArray[np.float64]
    """What they are worth."""
    error: float
    """The standard error of calibrated values: how far people's true means lie from them, on texts left out of the fit.

    The noise of people's own values is taken off.
    """
    edges: NDArray[np.float64]
    """Calibrated values between which the error is taken to be the same."""
    errors: NDArray[np.float64]
    """The standard error below the first edge, between two, and above the last: it is often smaller at the ends."""
    common: float
    """The part of the error that all calibrated values share, as they come from one curve: it does not average out."""
    explained: float
    """The share of the variance of people's values that calibrated ones explain, on texts left out of the fit.

    0 or less: they are no better than the mean of people's values.
    """
    texts: int
    """Texts that it was fitted to."""

    def predict(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return what values of the model are worth: on lines between those of the fit, outside as its ends."""
        return np.interp(np.asarray(x, dtype=np.float64), self.x, self.y)

    def predict_errors(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the standard errors of what values of the model are worth."""
        return self.errors[np.searchsorted(self.edges, self.predict(x), side="right")]


def calibrate(
    x: ArrayLike,
    y: ArrayLike,
    *,
    errors: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    groups: Sequence[Hashable] | None = None,
    folds: int = 10,
    seed: int = 12345,
) -> Calibration:
    """Fit people's values of texts to a model's, by the least squares of a curve that never falls.

    Parameters
    ----------
    x, y
        The model's and people's value of each text.
    errors
        The standard errors of people's values; 0 if not given.
    weights
        How much each text counts, such as its number of ratings; all the same if not given.
    groups
        Texts of one group, such as those of one segment, are left out together; each by itself if not given.
    folds
        Groups are left out in so many parts, or one by one if there are fewer.
    seed
        Of which groups make a part.

    Raises
    ------
    DataError
        If there are fewer than 20 texts, fewer than two groups, or all values of the model are the same.
    MissingExtraError
        If SciPy is not installed.

    Examples
    --------
    >>> found = calibrate(range(40), [(n / 40) ** 2 for n in range(40)])
    >>> found.predict([20]).round(3).tolist(), found.explained > 0.99
    ([0.25], True)
    """
    known, target = checked(x, "x"), checked(y, "y")
    number = len(known)
    noise = np.zeros(number) if errors is None else checked(errors, "errors")
    share = np.ones(number) if weights is None else checked(weights, "weights")
    labels: list[Hashable] = [*range(number)] if groups is None else [*groups]
    if not len(target) == len(noise) == len(share) == len(labels) == number:
        raise DataError("x, y, errors, weights and groups must have one entry for each text")
    if folds < 2:
        raise UsageError(f"folds must be 2 or more, not {folds}")
    checks.seed_range(seed)
    if number < LEAST_TEXTS:
        raise DataError(
            f"people and the model have both rated {counted(number, 'text')}, but a calibration needs {LEAST_TEXTS}"
        )
    if known.min() == known.max():
        raise DataError("the model gives all texts that people have rated the same value")
    part = _parts(labels, folds, seed)
    if part.max() == 0:
        raise DataError("all texts are of one group, so none can be left out")
    left_out, middle = np.empty(number), np.empty(number)
    for fold in range(int(part.max()) + 1):
        out = part == fold
        left_out[out] = np.interp(known[out], *_fit(known[~out], target[~out], share[~out]))
        middle[out] = np.average(target[~out], weights=share[~out])
    residuals = (target - left_out) ** 2
    squares = float(np.average(residuals, weights=share))
    spread = float(np.average((target - middle) ** 2, weights=share))
    # No less than what so many texts can show.
    least = squares / number
    knots = _fit(known, target, share)
    error = math.sqrt(max(squares - float(np.average(noise**2, weights=share)), least))
    edges, local = _by_value(left_out, residuals, share)
    return Calibration(
        x=knots[0],
        y=knots[1],
        error=error,
        edges=edges,
        # The noise of people varies as the error does, so that one factor serves both.
        errors=error * np.sqrt(np.maximum(local, least) / squares) if squares > 0 else np.zeros(len(local)),
        common=math.sqrt(least),
        explained=1.0 - squares / spread if spread > 0 else 0.0,
        texts=number,
    )


def _by_value(
    values: NDArray[np.float64], residuals: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return edges between parts of about as many texts each, and the mean squared residual of every part."""
    number = min(_PARTS, len(values) // LEAST_TEXTS)
    edges = np.unique(np.quantile(values, np.arange(1, number) / number))
    edges = edges[edges > values.min()]
    part = np.searchsorted(edges, values, side="right")
    total = np.bincount(part, weights, minlength=len(edges) + 1)
    return edges, np.bincount(part, weights * residuals, minlength=len(edges) + 1) / total


def checked(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a flat array of finite numbers, refusing anything else."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise DataError(f"{name} must be a flat list of finite numbers")
    return array


def _parts(groups: list[Hashable], folds: int, seed: int) -> NDArray[np.int64]:
    """Return which part each text is in."""
    group = numbered(groups)
    order = np.random.default_rng(seed).permutation(int(group.max()) + 1)
    part = np.empty(len(order), dtype=np.int64)
    part[order] = np.arange(len(order)) % folds
    return part[group]


def _fit(
    x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of x in order, and the curve of least squares that never falls."""
    optimize = needed("scipy.optimize", "calibrating a model", "trubleu[model]", "scipy")
    places, which = np.unique(x, return_inverse=True)
    total = np.bincount(which, weights)
    means = np.bincount(which, weights * y) / total
    return places, np.asarray(optimize.isotonic_regression(means, weights=total).x, dtype=np.float64)
