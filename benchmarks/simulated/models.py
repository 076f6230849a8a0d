"""What a model that rates beside people is worth: weights, their intervals, and the order of systems."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.simulated.order import order_study
from trubleu.data.weights import HIGHEST_RATING, LOWEST_RATING
from trubleu.errors import UsageError
from trubleu.progress import no_steps
from trubleu.render.tables import FOR_PROGRAMS, Column, record_table, render_tables, table_of
from trubleu.simulate.studies import (
    CROWD,
    MOST_REFERENCES,
    check_numbers,
    check_whole,
    draw_ratings,
    make_conditions,
    score_references,
    weights_of,
)
from trubleu.stats import alternative_annotator_test, calibrate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.progress import Steps
    from trubleu.simulate.raters import Habits
    from trubleu.simulate.studies import Draws, Pool

_TWO_SIDED: Final = 1.959964  # of the normal distribution, for 95 %
_TESTED: Final = 100  # texts that the people of the alternative annotator test rate
_TESTERS: Final = 3


@dataclass(frozen=True, slots=True)
class SimulatedModel:
    """A model rater with known bias and noise; deterministic per text.

    Attributes
    ----------
    noise
        The standard deviation of its error, in points of the scale.
    bias
        How many points it gives more than is right.
    slope
        How much of the difference between good and bad it sees: 1 all of it, below it keeps to the middle.
    length
        How many points it gives more to a text that is twice as long as one of 30 characters.

    Examples
    --------
    >>> SimulatedModel(noise=0, bias=0.5).score("", "fine", 3.2)
    3.7
    >>> SimulatedModel(noise=0, slope=0.5).score("", "fine", 5.0)
    4.0
    """

    noise: float = 0.5
    bias: float = 0.0
    slope: float = 1.0
    length: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.noise <= 100:
            raise UsageError(f"the noise of a model must be between 0 and 100, not {self.noise:g}")
        for name in ("bias", "slope", "length"):
            if not -100 <= getattr(self, name) <= 100:
                raise UsageError(f"the {name} of a model must be between -100 and 100, not {getattr(self, name):g}")

    def score(self, place: str, text: str, quality: float) -> float:
        """Return the score of a text of this quality, as a fraction on the scale."""
        draw = Random(f"model/{place}/{text}")
        middle = (LOWEST_RATING + HIGHEST_RATING) / 2
        favour = self.length * math.log2(max(len(text), 1) / 30) if self.length else 0.0
        score = middle + self.slope * (quality - middle) + self.bias + favour + draw.gauss(0, self.noise)
        return float(min(HIGHEST_RATING, max(LOWEST_RATING, score)))


def read_models(written: Iterable[str]) -> dict[str, SimulatedModel]:
    """Parse models from the command line.

    Raises
    ------
    UsageError
        If one cannot be read, or two have one name.

    Examples
    --------
    >>> read_models(["mild=bias:1,noise:0.5"])
    {'mild': SimulatedModel(noise=0.5, bias=1.0, slope=1.0, length=0.0)}
    """
    models: dict[str, SimulatedModel] = {}
    for text in written:
        name, equals, spec = text.partition("=")
        if not equals or not name or name in models:
            raise UsageError(f"--model {text} must be NAME=SPEC, with a name of its own, as in mild=bias:1,noise:0.5")
        habits: dict[str, float] = {}
        for part in spec.split(","):
            key, _, value = part.partition(":")
            if key not in ("noise", "bias", "slope", "length") or key in habits:
                raise UsageError(
                    f"--model {text}: {key!r} must be noise, bias, slope or length, each once, as in bias:1,noise:0.5"
                )
            try:
                habits[key] = float(value)
            except ValueError:
                raise UsageError(f"--model {text}: {value!r} is not a number; write {key}:0.5") from None
        models[name] = SimulatedModel(**habits)
    return models


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
    scored = [score_references(pool, condition, _rated(pool, values), draws.threads, told) for _, values in ways]
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


def _rated(pool: Pool, weights: NDArray[np.float64]) -> References:
    """Return the candidates that have a weight."""
    return pool.first(MOST_REFERENCES, weights).take(np.arange(len(pool)), np.isfinite(weights))


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


def render_models(study: ModelStudy, format: str = "text", digits: int = 2) -> str:  # noqa: A002
    """Render a study of models in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    study
        What `model_study` returns.
    format
        ``text``, ``markdown``, ``latex``, ``json`` or ``csv``.
    digits
        Decimals for people.
    """
    if format in FOR_PROGRAMS:
        return render_tables([record_table("models", ModelRow, study.rows)], format)
    columns = [
        Column("weights"),
        Column("model", of=lambda row: row.model or "–"),
        Column("ratings", "ratings by people", "count"),
        Column("off", "off by", "number", 3),
        Column("bias", kind="signed", digits=3),
        Column(
            "coverage", "coverage, %", "number", 1, lambda row: None if row.coverage is None else 100 * row.coverage
        ),
        Column("winning_rate", "ω", "number"),
        Column("kendall", "Kendall's τ", "number", 3),
        Column("exact", "all in order, %", "number", 1, lambda row: 100 * row.exact),
    ]
    draws = study.draws
    notes = [
        f"{study.texts:,} texts of {study.pool:,} segments; people rate some of them, {study.raters} ratings each.",
        f"Orders by {study.metric} on {draws.number:,} test sets of {draws.segments[0]:,} segments; seed {draws.seed}.",
        "Off by: root mean square of weight less truth, which is what the whole crowd would say.",
    ]
    return render_tables([table_of(study.rows, columns)], format, digits, notes=notes)
