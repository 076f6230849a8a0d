"""Estimates of a study: people's ratings of some items, models' ratings of all; and which items to rate next."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sqlalchemy import select

from trubleu.data.ratings import Ratings
from trubleu.errors import DataError, UsageError, nearest, shown
from trubleu.rating import raters as people
from trubleu.rating.allocation import is_allocated, record, recorded_probabilities
from trubleu.rating.answers import lock_items
from trubleu.rating.estimate import Estimates, SystemEstimate, estimate_ratings
from trubleu.rating.store import queries
from trubleu.rating.store.database import lock_study
from trubleu.rating.store.schema import items as item_rows
from trubleu.stats.allocation import EVEN_SHARE, neyman_allocation, systematic_sample
from trubleu.stats.calibration import calibrate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from trubleu.data.ratings import Rated
    from trubleu.rating.config import StudyConfig
    from trubleu.rating.estimate import Proxies
    from trubleu.rating.items import Item
    from trubleu.rating.store.queries import StoredItem
    from trubleu.rating.study import Study
    from trubleu.stats.prediction_powered import PredictionPowered, Target

_EVEN: Final = 1.0  # the uncertainty of all items alike


@dataclass(frozen=True, slots=True)
class StudyScores:
    """What people and models have rated in a study, for one question.

    Attributes
    ----------
    items
        The items to be rated.
    ratings
        People's ratings that count; None if there are none.
    models
        The scores of each model, by item and system as in ``ratings``.
    segments
        The segment of each item.
    probabilities
        The probability of each item to be rated by now, if the study's allocation is adaptive.
    """

    items: tuple[StoredItem, ...]
    ratings: Ratings | None
    models: dict[str, dict[Rated, float]]
    segments: dict[str, str]
    probabilities: dict[str, float] | None = None


def study_scores(study: Study, aspect: str | None = None) -> StudyScores:
    """Read what people and models have rated in a study.

    Parameters
    ----------
    study
        The study.
    aspect
        The name of the question; the first one if not given.

    Raises
    ------
    UsageError
        If the study is one of rankings, or has no such question.
    """
    config = study.config
    if config.kind == "ranking":
        raise UsageError(f"{study.folder} is a study of kind ranking, whose ranks have no mean; judge by them instead")
    question = _question(config, aspect)
    return study.store.read(lambda connection: _read(connection, study, question))


def _question(config: StudyConfig, aspect: str | None) -> int:
    names = [question.name for question in config.questions]
    if aspect is None:
        return 0
    if aspect not in names:
        raise UsageError(f"--aspect {aspect}: the study has no such question; {nearest(aspect, names)}")
    return names.index(aspect)


def _read(connection: Connection, study: Study, question: int) -> StudyScores:
    items = tuple(item for item in queries.stored_items(connection) if item.role == "item")
    raters = {rater.id: rater for rater in people.all_raters(connection)}
    rows = [
        row
        for row in queries.table(connection)
        if row.role == "item" and row.counted and not row.excluded and not row.model and row.question == question
    ]
    given: list[tuple[Any, ...]] = [
        (*_rated(row.item.item, row.part), str(row.rater), row.score) for row in rows if row.score is not None
    ]
    ratings = None
    if given:
        scale = (1, study.config.questions[question].points)
        keys, systems, who, values = zip(*given, strict=True)
        # An output that was shown in several pairs was rated once for each.
        ratings = Ratings(keys, systems, who, values, scale=scale, source=str(study.folder), repeats="mean")
    often = Counter(rater.name for rater in raters.values() if rater.is_model)
    models: dict[str, dict[Rated, list[float]]] = defaultdict(lambda: defaultdict(list))
    by_id = {item.id: item.item for item in items}
    number = len(study.config.questions)
    for (item, rater), scores in queries.model_scores(connection).items():
        if item not in by_id or raters[rater].excluded:
            continue
        name = raters[rater].name if often[raters[rater].name] == 1 else f"{raters[rater].name} ({rater})"
        for part in range(len(scores) // number):
            if (score := scores[part * number + question]) is not None:
                models[name][_rated(by_id[item], part)].append(score)
    units = {item.id: _rated(item.item, 0)[0] for item in items}
    return StudyScores(
        items=items,
        ratings=ratings,
        models={name: {rated: fmean(own) for rated, own in scores.items()} for name, scores in models.items()},
        segments={_rated(item, 0)[0]: item.segment or item.key for item in by_id.values()},
        probabilities=recorded_probabilities(connection, units, {units[item.id] for item in items if item.counted}),
    )


def _rated(item: Item, part: int) -> Rated:
    """Return what an item's text is called in exports of ratings."""
    return (item.segment or item.key) if item.systems else item.key, item.writer(part)


def estimate_study(
    scores: StudyScores,
    proxies: Proxies,
    *,
    target: Target = "population",
    confidence: float = 0.95,
    probabilities: Mapping[str, float] | None = None,
    seed: int = 12345,
) -> Estimates:
    """Estimate mean ratings from a study, with its models and maybe other proxies (see `estimate_ratings`).

    If no probabilities are given, those that an adaptive allocation has recorded are used.

    Raises
    ------
    DataError
        If nobody has rated, there is no proxy, or the probability of a rated item is not known.
    """
    if scores.ratings is None:
        raise DataError("no ratings by people count in this study yet; let people rate some of its items")
    both = {**scores.models, **proxies}
    if not both:
        raise DataError("no model has rated in this study; let one rate with trubleu rate model, or add --proxy FILE")
    recorded = scores.probabilities if probabilities is None else None
    if recorded is not None and (unknown := [item for item in scores.ratings.items() if item not in recorded]):
        told = f"ratings of {shown(unknown[0])} were added after items were drawn, so its probability is not known"
        raise DataError(f"{told}; give the probabilities of all items with --probabilities FILE")
    made = estimate_ratings(
        scores.ratings,
        both,
        target=target,
        confidence=confidence,
        probabilities=probabilities if recorded is None else recorded,
        segments=scores.segments,
        seed=seed,
    )
    if recorded is None:
        return made
    told = "the allocation was adaptive: ratings are weighted by the inverse of the recorded probability of their item"
    return replace(made, notes=(*made.notes, told))


def allocate(connection: Connection, study: Study, *, now: int) -> bool:
    """Draw in which order people get the items, the uncertain ones first with a higher chance; only once.

    Items of one segment are drawn together.

    Returns
    -------
    bool
        False if all items are equally uncertain, so nothing was drawn.
    """
    lock_study(connection)
    if is_allocated(connection):
        return True
    lock_items(connection, connection.execute(select(item_rows.c.id).where(item_rows.c.role == "item")).scalars())
    scores = _read(connection, study, 0)
    variances: dict[str, list[float]] = defaultdict(list)
    units = {item.id: _rated(item.item, 0)[0] for item in scores.items}
    for unit, spread in zip(units.values(), uncertainty(scores, [item.item for item in scores.items]), strict=True):
        variances[unit].append(spread**2)
    spreads = np.sqrt([fmean(own) for own in variances.values()])
    if np.ptp(spreads) <= 1e-9 * spreads.max():
        return False
    chances = neyman_allocation(spreads, 1)
    record(connection, units, dict(zip(variances, chances.tolist(), strict=True)), now=now)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedInterval:
    """How many ratings an interval of a wanted width takes.

    Attributes
    ----------
    system, other, proxy
        What is estimated.
    width, wanted
        The width of the interval now, and the wanted one.
    narrowest
        The width if people rated all items.
    rated
        Rated items now.
    items, ratings
        How many items, and ratings of them, more; None if the wanted width cannot be reached.
    cost, currency
        What these cost.
    """

    system: str
    other: str | None
    proxy: str
    width: float
    wanted: float
    narrowest: float
    rated: int
    items: int | None
    ratings: int | None
    cost: float | None
    currency: str


def wanted_intervals(
    made: Estimates, config: StudyConfig, wanted: float, *, seconds: float | None = None, pay: float | None = None
) -> tuple[WantedInterval, ...]:
    """Return how many ratings each estimate needs for an interval of a width: of differences, if there are some.

    Parameters
    ----------
    made
        The estimates so far.
    config
        The settings: ratings per item, pay.
    wanted
        The width of the interval, from end to end.
    seconds, pay
        The time of a task and the pay per hour, as the settings say if not given.

    Raises
    ------
    UsageError
        If the width is not above 0.
    """
    if not wanted > 0:
        raise UsageError(f"--interval {wanted:g} must be above 0")
    an_hour = config.pay.per_hour if pay is None else pay
    each = (config.pay.seconds_per_item if seconds is None else seconds) * an_hour / 3600
    rows = [row for row in made.differences if row.found] or [row for row in made.systems if row.found]
    return tuple(_wanted(row, row.found, config, wanted, each) for row in rows if row.found)


def _wanted(
    row: SystemEstimate, found: PredictionPowered, config: StudyConfig, wanted: float, each: float
) -> WantedInterval:
    rated, size = found.rated, found.rated + found.unrated
    now = found.powered
    factor = (now.high - now.low) / now.error if now.error else 0.0
    # Of the population, the sample of items itself is uncertain, which more ratings do not change.
    spread = found.people.error**2 * rated
    fixed = spread / size if found.target == "population" else 0.0
    residual = max(now.error**2 - fixed, 0.0) / (1 / rated - 1 / size) if found.unrated else 0.0

    def width(items: int) -> float:
        return factor * math.sqrt(residual * (1 / items - 1 / size) + fixed)

    more: int | None = 0
    if width(rated) > wanted:
        more = None
        if width(size) <= wanted:
            margin = (wanted / factor) ** 2 - fixed
            more = min(math.ceil(1 / (margin / residual + 1 / size)), size) - rated
    return WantedInterval(
        system=row.system,
        other=row.other,
        proxy=row.proxy,
        width=now.high - now.low,
        wanted=wanted,
        narrowest=width(size),
        rated=rated,
        items=more,
        ratings=None if more is None else more * config.raters,
        cost=None if more is None else more * config.raters * each,
        currency=config.pay.currency,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NextItem:
    """An item, and whether people are to rate it next.

    Attributes
    ----------
    item
        What exports of ratings call it.
    state
        ``rated`` by people, ``chosen`` to be rated next, or ``left``.
    chance
        The probability to be chosen now, if it is not rated.
    probability
        The probability to be among the rated and chosen items, if those rated so far were drawn evenly, or by an
        adaptive allocation.
    spread
        How far people's rating may be from what models let expect: a standard deviation, in points.
    text
        Its first text.
    """

    item: str
    state: str
    chance: float
    probability: float
    spread: float
    text: str


def next_items(scores: StudyScores, number: int, *, seed: int = 12345) -> tuple[NextItem, ...]:
    """Draw items for people to rate next, the more uncertain ones with a higher probability; return all items.

    The uncertainty of an item is the cross-validation error of models' calibrated scores like its own, and how far
    models disagree on it. With fewer than 20 rated items, it is the disagreement alone; with one model, all are alike.

    Parameters
    ----------
    scores
        What people and models have rated.
    number
        How many items to choose.
    seed
        Of the draw.

    Raises
    ------
    UsageError
        If the number is not between 1 and that of the unrated items.
    """
    left = [item for item in scores.items if not item.counted]
    if not 1 <= number <= len(left):
        raise UsageError(f"--most {number}: the study has {len(left):,} unrated items; choose from 1 to that many")
    rated = [item for item in scores.items if item.counted]
    spreads = np.array(uncertainty(scores, [item.item for item in (*left, *rated)]))
    chances = neyman_allocation(spreads[: len(left)], number)
    chosen = systematic_sample(chances, seed)
    # What a rated item's chance would have been: the same share of its spread.
    size = float(chances.sum() / max(len(left), 1))
    usual = float(spreads[: len(left)].mean())
    beside = (
        size * (EVEN_SHARE + (1 - EVEN_SHARE) * spreads[len(left) :] / usual) if usual else np.full(len(rated), size)
    )
    evenly, recorded = len(rated) / len(scores.items), scores.probabilities or {}
    before = [recorded.get(_rated(item.item, 0)[0], evenly) for item in (*left, *rated)]
    made = [
        NextItem(
            item=_rated(item.item, 0)[0],
            state="rated" if item.counted else "chosen" if taken else "left",
            chance=float(chance),
            probability=float(first + (1 - first) * chance),
            spread=float(spread),
            text=item.item.texts[0],
        )
        for item, taken, chance, spread, first in zip(
            (*left, *rated),
            (*chosen.tolist(), *(False for _ in rated)),
            (*chances.tolist(), *np.minimum(beside, 1.0).tolist()),
            spreads.tolist(),
            before,
            strict=True,
        )
    ]
    return tuple(sorted(made, key=lambda each: (each.state != "chosen", -each.chance)))


def uncertainty(scores: StudyScores, items: Sequence[Item]) -> list[float]:
    """Return how far people's rating of each item may be from what models let expect."""
    means = (
        {} if scores.ratings is None else {rated: float(mean) for rated, mean in scores.ratings.item_means().items()}
    )
    errors: dict[Rated, list[float]] = defaultdict(list)
    expected: dict[Rated, list[float]] = defaultdict(list)
    for own in scores.models.values():
        both = [rated for rated in own if rated in means]
        rest = [*own]
        values = [own[rated] for rated in rest]
        predicted, error = values, [0.0] * len(rest)
        try:
            segments = [scores.segments.get(rated[0], rated[0]) for rated in both]
            found = calibrate([own[rated] for rated in both], [means[rated] for rated in both], groups=segments)
            predicted, error = found.predict(values).tolist(), found.predict_errors(values).tolist()
        except DataError:
            pass  # too few rated items, or a constant model: disagreement alone
        for rated, value, each in zip(rest, predicted, error, strict=True):
            expected[rated].append(value)
            errors[rated].append(each**2)
    spreads: list[float] = []
    for item in items:
        variance = 0.0
        for part in range(len(item.texts)):
            rated = _rated(item, part)
            if rated in expected:
                variance += fmean(errors[rated]) + float(np.var(expected[rated]))
        spreads.append(math.sqrt(variance))
    if not any(spreads):
        return [_EVEN] * len(spreads)
    # What no model has rated is as uncertain as the most uncertain of the rest.
    scored = [any(_rated(item, part) in expected for part in range(len(item.texts))) for item in items]
    return [each if known else max(spreads) for each, known in zip(spreads, scored, strict=True)]
