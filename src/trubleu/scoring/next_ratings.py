"""Which references to rate next, so that a score or a difference becomes certain with the fewest ratings."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.progress import Steps, no_steps
from trubleu.results import Row
from trubleu.scoring.rating_errors import DRAWS, rating_table, split_errors, variance_of_ratings, weight_slopes
from trubleu.scoring.systems import Sampling, score_systems
from trubleu.stats.agreement import rating_variance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.metrics.base import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class NextText(Row):
    """A reference to be rated: its segment and text, how many ratings it has, and how many more it should get."""

    segment: str
    text: str
    ratings: int
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingPlan:
    """What to rate next, and what it does to the interval.

    Attributes
    ----------
    what
        Whose interval it is: the score of a system, or the difference between two.
    width
        How wide the interval is now, with the errors of raters and of references that nobody has rated yet.
    wanted
        The width that was asked for, if any.
    planned
        How wide it should be after the plan.
    same_raters
        How wide it would be after endless ratings by the same raters, some of whom are stricter than others.
    least
        How wide it would be if all ratings were without error: only more segments make it narrower.
    ratings
        How many ratings the plan has.
    texts
        The references, those whose ratings say most first.
    """

    what: str
    width: float
    wanted: float | None
    planned: float
    same_raters: float
    least: float
    ratings: int
    texts: tuple[NextText, ...]


def plan_ratings(
    references: References,
    systems: Mapping[str, Sequence[str]],
    metric: Metric,
    *,
    width: float | None = None,
    most: int = 100,
    sampling: Sampling | None = None,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> RatingPlan:
    """Return which references to rate next for the narrowest interval.

    A rating is worth what it takes off the variance of the score: the squared slope of the score in the reference's
    weight (`weight_slopes`), times the fall of the weight's variance, which is that of one rating divided by their
    number; all of them together are worth `variance_of_ratings`. Ratings are planned one by one, the most valuable
    first. References without a rating have the mean weight and the variance of weights.

    Parameters
    ----------
    references
        Rated references; some may have no rating yet, but some must have two.
    systems
        The outputs of one system, whose score is of interest, or of two, whose difference is.
    metric
        A metric that uses weights.
    width
        How wide the interval may be; the plan ends when it is reached.
    most
        How many ratings to plan at most.
    sampling
        Resamples, confidence and seed of the interval.
    threads
        How many threads to use; None for all cores.
    steps
        Told of every stage of work, for a progress bar.

    Raises
    ------
    UsageError
        If an option cannot be used.
    DataError
        If no reference has two ratings, or only one has any.
    """
    if not 1 <= len(systems) <= 2:
        raise UsageError(f"a plan is for the score of one system or the difference between two, not for {len(systems)}")
    if not metric.uses_weights:
        raise UsageError(f"{metric.name} does not use weights, so ratings do not change it; use trubleu or dbleu-2")
    if width is not None and not 0 < width < math.inf:
        raise UsageError(f"the width must be a number above 0, not {width:g}")
    if most < 1:
        raise UsageError(f"a plan has at least one rating, not {most}")
    text, rater, value = rating_table(references)
    found = rating_variance(text, rater, value)
    if references.weights is None or math.isnan(found.rest):
        raise DataError(
            f"{references.source} has no reference with two ratings, so it is not known how far ratings differ; "
            "have some rated twice"
        )
    counts = np.bincount(text, minlength=references.count)
    unrated = np.isnan(references.weights)
    known = references.weights[~unrated]
    if len(known) < 2:
        raise DataError(
            f"{references.source} has one rated reference, so it is not known how far weights differ; have more rated"
        )
    noise = float(((found.rest + found.raters) / counts[counts > 0]).mean())
    spread = max(float(known.var(ddof=1)) - noise, 0.0)
    errors = np.sqrt(np.where(counts > 0, found.rest / np.maximum(counts, 1), spread))
    filled = references.with_weights(np.where(unrated, known.mean(), references.weights))
    # Now: the interval of segments and raters, and what is not known of unrated references.
    sampling = replace(sampling or Sampling(), interval=True, test="bootstrap" if len(systems) > 1 else None)
    report = score_systems(systems, filled, {metric.name: metric}, sampling=sampling, threads=threads, steps=steps)
    row = report.tests[0] if report.tests else report.scores[0]
    deviations = 2 * NormalDist().inv_cdf((1 + sampling.confidence) / 2)
    passes = 2 + 2 * int(references.reference_counts().max(initial=0)) + DRAWS
    advance = steps("what ratings say", len(systems) * len(references) * passes)
    counting = {"threads": threads, "progress": advance}
    slopes = [weight_slopes(metric, each, filled, errors, **counting) for each in systems.values()]
    slope = slopes[0] - slopes[1] if len(slopes) > 1 else slopes[0]
    of_rated = np.where(counts > 0, errors, 0.0)
    contained = variance_of_ratings(metric, [*systems.values()], filled, of_rated, sampling.seed, **counting)
    squares = np.square(slope)
    linear = float((squares * errors**2)[counts > 0].sum())
    # Errors of rated references tell how far scores bend; where they tell nothing, slopes are taken as they are.
    bent = contained / linear if linear > 0 else 1.0
    squares *= np.where(counts > 0, bent, bent or 1.0)
    shared = float(np.square(split_errors(references)[1].effects(slope)).sum())
    unknown = float((squares * spread)[unrated].sum())
    now = (((row.high or 0.0) - (row.low or 0.0)) / deviations) ** 2 + shared + unknown
    same_raters = max(now - contained - unknown, 0.0)
    goal = 0.0 if width is None else (width / deviations) ** 2
    more, after = spend(squares, counts, found.rest, spread, now, goal, most)
    order = np.flatnonzero(more)
    order = order[np.argsort(-squares[order] * errors[order] ** 2, kind="stable")]
    owners = np.searchsorted(references.offsets, order, side="right") - 1
    return RatingPlan(
        what=" − ".join(systems),
        width=math.sqrt(now) * deviations,
        wanted=width,
        planned=math.sqrt(max(after, 0.0)) * deviations,
        same_raters=math.sqrt(same_raters) * deviations,
        least=math.sqrt(max(same_raters - shared, 0.0)) * deviations,
        ratings=int(more.sum()),
        texts=tuple(
            NextText(
                segment=references.ids[owner],
                text=references.texts[place],
                ratings=int(counts[place]),
                more=int(more[place]),
            )
            for place, owner in zip(order.tolist(), owners.tolist(), strict=True)
        ),
    )


def spend(
    squares: NDArray[np.float64],
    counts: NDArray[np.int64],
    variance: float,
    spread: float,
    now: float,
    goal: float,
    most: int,
) -> tuple[NDArray[np.int64], float]:
    """Return how many ratings each reference gets, the most valuable first, and the variance that is left."""
    # One rating may say less than the mean of all weights does: then the first ones come together.
    first = math.floor(variance / spread) + 1 if spread > 0 else most + 1

    def step(place: int, count: int) -> tuple[float, int, int, int]:
        size = 1 if count else first
        before = variance / count if count else spread
        gain = float(squares[place]) * (before - variance / (count + size))
        return -gain / size, place, count, size

    waiting = [step(place, int(counts[place])) for place in np.flatnonzero(squares > 0).tolist()]
    heapq.heapify(waiting)
    more = np.zeros(len(squares), dtype=np.int64)
    while waiting and now > goal:
        gain, place, count, size = heapq.heappop(waiting)
        if gain >= 0:
            break
        if more.sum() + size > most:
            continue
        more[place] += size
        now += gain * size
        heapq.heappush(waiting, step(place, count + size))
    return more, now
