"""How far the errors of ratings move a score, and which part of its variance is due to them."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError
from trubleu.metrics.base import whole_references
from trubleu.stats.agreement import rating_variance
from trubleu.stats.bootstrap import bootstrap_scores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences, References
    from trubleu.metrics.base import Metric
    from trubleu.progress import Progress

LEAST_WEIGHT: Final = 1e-3
"""What a weight is lowered to at most if it is the only positive one of its segment, which needs one."""

ROUNDING: Final = 1e-9
"""Scores from 0 to 100 that differ by less are equal."""

DRAWS: Final = 40
DRAWN_RESAMPLES: Final = 1000
"""How often weights are given errors to see what these do, and resamples for each."""

USUAL_STEP: Final = 0.1
"""How far a weight is moved whose standard error is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingEffects:
    """What the errors of ratings do to a score.

    Attributes
    ----------
    variance
        What errors of single ratings add to the variance of the score. They differ from segment to segment, so the
        bootstrap of segments contains them.
    shared
        How far each of the `SharedErrors` moves the score: strict people rate many texts, so no bootstrap of segments
        knows of it. The effects are independent, so their squares add up to a variance.
    """

    variance: float
    shared: NDArray[np.float64]

    def share(self, standard_error: float) -> float:
        """Return the share of the variance of a score, effects of shared errors included, that is due to ratings."""
        variance = self.variance + float(np.square(self.shared).sum())
        return min(variance / standard_error**2, 1.0) if standard_error > ROUNDING else 0.0


def rating_effects(
    metric: Metric,
    outputs: Sequence[str],
    references: References | PreparedReferences,
    *,
    seed: int = 12345,
    threads: int | None = None,
    progress: Progress | None = None,
) -> RatingEffects:
    """Return how far the errors of ratings move the corpus score of a system.

    With ratings and their raters, `rating_variance` splits the errors into those of single ratings and those of raters.
    Otherwise each weight has a standard error of its own, `References.weight_errors`.

    Parameters
    ----------
    metric
        The metric; if it does not use weights, there are no effects.
    outputs
        One text per segment.
    references
        The references, with ratings or standard errors of weights.
    seed
        Of the errors that are drawn.
    threads
        How many threads to use; None for all cores.
    progress
        Called with the number of segments done since the last call.

    Raises
    ------
    DataError
        If nothing is known about the errors of weights.
    """
    whole = whole_references(references)
    errors, shared = split_errors(whole)
    if not metric.uses_weights or whole.weights is None:
        return RatingEffects(variance=0.0, shared=np.zeros(0))
    counting = {"threads": threads, "progress": progress}
    variance = variance_of_ratings(metric, [outputs], references, errors, seed, **counting)
    slopes = weight_slopes(metric, outputs, references, errors, **counting) if shared else None
    return RatingEffects(variance=variance, shared=np.zeros(0) if slopes is None else shared.effects(slopes))


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedErrors:
    """Errors that move many weights at once: the level of each rater, and the curve that calibrated a model.

    They are independent of each other; the curve's is the last. False if there are none.

    Attributes
    ----------
    text, rater, size
        Of each rating: its text, its rater, and how far a standard deviation of the rater's level moves the weight.
    calibrated
        Which weights were calibrated on the rated texts: those with a standard error but no ratings, beside others that
        have some. They follow the levels of the raters there, and share the error of the curve.
    curve
        The standard deviation of that error.
    """

    text: NDArray[np.int64]
    rater: NDArray[np.int64]
    size: NDArray[np.float64]
    calibrated: NDArray[np.bool_]
    curve: float

    def __bool__(self) -> bool:
        return bool(self.size.any()) or self.curve > 0

    @property
    def number(self) -> int:
        """How many there are."""
        return int(self.rater.max(initial=-1)) + 2

    def moves(self, deviations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far weights move if each error has so many standard deviations."""
        moved = np.zeros(len(self.calibrated))
        np.add.at(moved, self.text, self.size * deviations[self.rater])
        moved[self.calibrated] = moved.sum() / self._rated + self.curve * deviations[-1]
        return moved

    def effects(self, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far a standard deviation of each error moves a score that has these slopes in weights."""
        together = float(slopes[self.calibrated].sum())
        found = np.zeros(self.number)
        np.add.at(found, self.rater, self.size * (slopes[self.text] + together / self._rated))
        found[-1] = self.curve * together
        return found

    def draws(self, number: int, seed: int) -> Iterator[NDArray[np.float64]]:
        """Yield how far weights move, drawn so many times."""
        generator = np.random.default_rng(seed)
        for _ in range(number):
            yield self.moves(generator.standard_normal(self.number))

    @property
    def _rated(self) -> int:
        return max(len(np.unique(self.text)), 1)


def split_errors(references: References) -> tuple[NDArray[np.float64], SharedErrors]:
    """Return the standard error of each weight but for what many share, and the errors that many share."""
    errors = known_errors(references)
    text, rater, value = rating_table(references)
    found = rating_variance(text, rater, value)
    counts = np.bincount(text, minlength=references.count)
    rated = counts > 0
    known = not math.isnan(found.rest)
    calibrated = ~rated & np.isfinite(errors) if rated.any() else np.zeros(references.count, dtype=bool)
    curve = 0.0
    if calibrated.any():
        # What a text says about the curve has the error of calibrated weights, and that of its own ratings.
        noise = float(((found.rest + found.raters) / counts[rated]).mean()) if known else 0.0
        curve = math.sqrt((float(np.square(errors[calibrated]).mean()) + noise) / int(rated.sum()))
    shared = SharedErrors(
        text=text,
        rater=rater,
        size=math.sqrt(found.raters) / counts[text],
        calibrated=calibrated,
        curve=curve,
    )
    return np.where(rated & known, np.sqrt(found.rest / np.maximum(counts, 1)), errors), shared


def variance_of_ratings(
    metric: Metric,
    systems: Sequence[Sequence[str]],
    references: References | PreparedReferences,
    errors: NDArray[np.float64],
    seed: int,
    **counting: Any,
) -> float:
    """Return what errors of weights add to the variance of a score, or of the difference between two.

    The weights are given errors of the same size once more, many times: what the bootstrap's variance grows by is
    what the errors that they have already account for. Linear error propagation says too much, because scores bend.
    ``counting`` goes to `Metric.statistics`.
    """
    whole = whole_references(references)
    metric = metric.learned(references) if metric.learns else metric
    generator = np.random.default_rng(seed)
    resampled = partial(
        bootstrap_scores, score=metric.score, resamples=DRAWN_RESAMPLES, seed=seed, threads=counting.get("threads")
    )

    def variance(given: References | PreparedReferences) -> float:
        first, *other = (resampled(metric.statistics(outputs, given, **counting)) for outputs in systems)
        return float((first - other[0] if other else first).var())

    with warnings.catch_warnings(action="ignore"):  # the scores themselves give the same warnings
        now = variance(references)
        more = [
            variance(moved_weights(whole, np.nan_to_num(errors) * generator.standard_normal(whole.count)))
            for _ in range(DRAWS)
        ]
    return max(fmean(more) - now, 0.0)


def moved_weights(references: References, moves: NDArray[np.float64]) -> References:
    """Return references whose weights are moved, within their range; a segment keeps a positive one if it had one."""
    given = references.weights
    if given is None:
        return references
    weights = np.clip(given + moves, -1.0, 1.0)
    best = np.fmax.reduceat(weights, references.offsets[:-1])
    lost = np.repeat((references.best_weights() > 0) & ~(best > 0), references.reference_counts())
    return references.with_weights(np.where(lost & (given > 0), np.minimum(given, LEAST_WEIGHT), weights))


def rating_table(references: References) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return all ratings of references: the number of the text, the number of the rater, and the value."""
    flat = [(text, who, value) for text, rated in enumerate(references.ratings or ()) for who, value in rated or ()]
    numbers: dict[object, int] = {}
    # A rater without a name is another one each time.
    rater = [numbers.setdefault(place if who is None else who, len(numbers)) for place, (_, who, _) in enumerate(flat)]
    return (
        np.array([text for text, _, _ in flat], dtype=np.int64),
        np.array(rater, dtype=np.int64),
        np.array([value for _, _, value in flat], dtype=np.float64),
    )


def weight_slopes(
    metric: Metric,
    outputs: Sequence[str],
    references: References | PreparedReferences,
    errors: NDArray[np.float64],
    **counting: Any,
) -> NDArray[np.float64]:
    """Return by how much the corpus score changes with each reference's weight, per unit.

    Weights are raised and lowered by their standard errors, within [−1, 1], because scores bend where another reference
    becomes the best one: what counts is the mean slope over the range in which the weight may lie. Unrated references
    and those of segments without a positive weight have the slope 0. ``counting`` goes to `Metric.statistics`.
    """
    whole = whole_references(references)
    slopes = np.zeros(whole.count)
    if whole.weights is None:
        return slopes
    metric = metric.learned(references) if metric.learns else metric
    weights, offsets, counts = whole.weights, whole.offsets, whole.reference_counts()
    positive = np.repeat(np.add.reduceat(weights > 0, offsets[:-1]), counts) if len(whole) else np.zeros(0)
    steps = np.where(np.isnan(weights) | (positive == 0), 0.0, np.where(np.isnan(errors), USUAL_STEP, errors))
    floor = np.where((weights > 0) & (positive == 1), np.minimum(weights, LEAST_WEIGHT), -1.0)
    lowered, raised = np.maximum(weights - steps, floor), np.minimum(weights + steps, 1.0)
    with warnings.catch_warnings(action="ignore"):  # the scores themselves give the same warnings
        rows = metric.statistics(outputs, references, **counting)
        total = rows.sum(axis=0)
        # The same reference of every segment at once: no segment depends on another one's weights.
        for place in range(counts.max(initial=0)):
            moved = offsets[:-1][counts > place] + place
            moved = moved[raised[moved] > lowered[moved]]
            owners = np.searchsorted(offsets, moved, side="right") - 1
            scores = []
            for values in (lowered, raised):
                other = weights.copy()
                other[moved] = values[moved]
                changed = metric.statistics(outputs, whole.with_weights(other), **counting)
                scores.append(metric.score(total + (changed - rows)[owners]))
            slopes[moved] = (scores[1] - scores[0]) / (raised[moved] - lowered[moved])
    return slopes


def known_errors(references: References) -> NDArray[np.float64]:
    """Return the standard errors of weights; refuse references that have none."""
    if references.weight_errors is None:
        raise DataError(
            f"{references.source} does not say how certain its weights are; give ratings by several people per "
            "reference, or a standard error with each weight (weight_se)"
        )
    return references.weight_errors
