"""What a model that rates beside people is worth: weights, their intervals, and the order of systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import UsageError
from trubleu.progress import no_steps
from trubleu.simulate.studies import (
    CROWD,
    MOST_REFERENCES,
    check_numbers,
    check_whole,
    draw_ratings,
    make_conditions,
    order_study,
    score_references,
    weights_of,
)
from trubleu.stats import alternative_annotator_test, calibrate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.progress import Steps
    from trubleu.simulate.raters import Habits, SimulatedModel
    from trubleu.simulate.studies import Draws, Pool

_TWO_SIDED: Final = 1.959964  # of the normal distribution, for 95 %
_TESTED: Final = 100  # texts that the people of the alternative annotator test rate
_TESTERS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """What one way to get weights is worth.

    Attributes
    ----------
    model
        The model; None where there is none.
    rated
        How many texts of each segment people have rated, at most; 0 where they play no part.
    weights
        Where weights come from: ``people`` (texts that nobody has rated are left out), ``model`` (as it says),
        ``joint`` (people's, elsewhere the model's, calibrated).
    ratings
        Ratings by people.
    off, bias
        The root mean square of weight less truth, and its mean; the truth is what the whole crowd would say.
    coverage
        The share of the model's calibrated weights whose 95 % interval holds the truth; None where there are none.
    winning_rate
        ω of the alternative annotator test with three people who rate 100 texts; None where there is no model.
    kendall, exact
        How well systems are ordered with these weights (see `OrderRow`).
    """

    model: str | None
    rated: int
    weights: str
    ratings: int
    off: float
    bias: float
    coverage: float | None
    winning_rate: float | None
    kendall: float
    exact: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStudy:
    """What models are worth.

    Attributes
    ----------
    pool, texts
        Segments and candidates.
    raters
        Ratings of each text that people rate.
    metric
        The metric that orders systems.
    draws
        The test sets.
    rows
        First people alone, then each model.
    """

    pool: int
    texts: int
    raters: int
    metric: str
    draws: Draws
    rows: tuple[ModelRow, ...]


def model_study(
    pool: Pool,
    models: Mapping[str, SimulatedModel],
    draws: Draws,
    *,
    rated: Sequence[int] = (1, 3, MOST_REFERENCES),
    raters: int = 3,
    metric: str = "dbleu-2",
    habits: Habits | None = None,
    crowd: int = CROWD,
    steps: Steps = no_steps,
) -> ModelStudy:
    """Weigh candidates by people, by models of known bias and noise, and by both.

    Parameters
    ----------
    pool
        Segments with two systems or more.
    models
        Models by their names.
    draws
        The test sets, of one size; their seed is that of all draws.
    rated
        How many texts of each segment people rate; the others are left to the model.
    raters
        How many people rate each of these.
    metric
        A metric that takes weights.
    habits, crowd
        What people are like, and how many there are.
    steps
        Told of how far it is.

    Raises
    ------
    UsageError
        If a number is out of range, or the metric takes no weights.
    """
    seed = draws.seed
    check_numbers("rated", rated, 1, MOST_REFERENCES)
    check_whole("raters", raters, 1, crowd)
    (condition,) = make_conditions([metric], [MOST_REFERENCES], [raters])
    if condition.raters is None:
        raise UsageError(f"{metric} takes no weights; name a metric that does, such as dbleu-2")
    ratings = draw_ratings(pool, crowd, habits=habits, crowd=crowd, seed=seed)
    truth, by_people = weights_of(ratings, crowd), weights_of(ratings, raters)
    errors = _errors(ratings[:, :raters])
    generator = np.random.default_rng([seed, 2])
    groups = np.repeat(np.arange(len(pool)), pool.candidates.reference_counts())
    shuffled = generator.permutation(len(truth))
    # The place of each text in a random order of those of its segment.
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    place = np.empty(len(truth), dtype=np.int64)
    place[order] = np.arange(len(truth)) - pool.candidates.offsets[:-1][groups[order]]
    known = {number: place < number for number in rated}
    # Each way to get weights as fields of its row, and the weights; NaN where there is none.
    nobody: dict[str, Any] = {"model": None, "rated": 0, "coverage": None, "winning_rate": None}
    ways = [
        (nobody | {"weights": "people", "rated": number}, np.where(there, by_people, np.nan))
        for number, there in known.items()
    ]
    for name, model in models.items():
        texts = zip(pool.candidates.texts, pool.qualities.tolist(), strict=True)
        scores = np.array([model.score(f"{seed}/{row}", *each) for row, each in enumerate(texts)])
        values = (scores - 3) / 2
        about = nobody | {"model": name, "winning_rate": _winning_rate(ratings, scores, shuffled)}
        ways.append((about | {"weights": "model"}, values))
        for number, there in known.items():
            if not there.all():
                curve = calibrate(
                    values[there], by_people[there], errors=errors[there], groups=groups[there].tolist(), seed=seed
                )
                worth = curve.predict(values)
                inside = float((np.abs(worth - truth) <= _TWO_SIDED * curve.predict_errors(values))[~there].mean())
                about = about | {"weights": "joint", "rated": number, "coverage": inside}
                ways.append((about, np.where(there, by_people, worth)))
    told = steps("scoring", len(ways) * len(pool.outputs))
    scored = [
        score_references(pool, condition, pool.first(MOST_REFERENCES, values, rated_only=True), draws.threads, told)
        for _, values in ways
    ]
    ordered = order_study(pool, scored, draws, steps=steps).rows
    rows = []
    for (about, values), found in zip(ways, ordered, strict=True):
        off = (values - truth)[np.isfinite(values)]
        rows.append(
            ModelRow(
                **about,
                ratings=raters * int(known[about["rated"]].sum()) if about["rated"] else 0,
                off=float(np.sqrt((off**2).mean())),
                bias=float(off.mean()),
                kendall=found.kendall,
                exact=found.exact,
            )
        )
    return ModelStudy(
        pool=len(pool),
        texts=len(truth),
        raters=raters,
        metric=metric,
        draws=draws,
        rows=tuple(rows),
    )


def _errors(ratings: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the standard errors of weights from the pooled variance of ratings; 0 for one rating each."""
    number = ratings.shape[1]
    if number < 2:
        return np.zeros(len(ratings))
    usual = float((ratings / 2).var(axis=1, ddof=1).mean())
    return np.full(len(ratings), np.sqrt(usual / number))


def _winning_rate(ratings: NDArray[np.int64], scores: NDArray[np.float64], order: NDArray[np.int64]) -> float:
    tested = order[:_TESTED]
    columns = [(int(text), person, int(ratings[text, person])) for text in tested for person in range(_TESTERS)]
    items, people, given = (list(column) for column in zip(*columns, strict=True))
    return alternative_annotator_test(items, people, given, {int(text): scores[text] for text in tested}).winning_rate
