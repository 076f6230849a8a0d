"""The weight of a text: what raters said of it, on every scale from −1 to 1, and how certain that is.

Weights come from people. Where nobody has rated a text, a model's weight can take their place, calibrated on the texts
that people and the model have rated.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean
from typing import TYPE_CHECKING, Literal, TypeAlias

from trubleu.data.weights import weight_errors
from trubleu.errors import DataError, TrubleuWarning, UsageError, counted, nearest, shown, some
from trubleu.rating.config import MEAN, Question, StudyConfig
from trubleu.stats.calibration import Calibration, calibrate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from trubleu.rating.raters import Rater
    from trubleu.rating.store.queries import RatingRow

Text: TypeAlias = tuple[int, int]
"""An item by its number, and which of its texts."""

Source: TypeAlias = Literal["people", "model"]

WeightsFrom: TypeAlias = Literal["people", "joint", "model"]
"""Whose weights are exported: people's; people's, and a model's where there are none; a model's alone."""


@dataclass(frozen=True, slots=True)
class TextWeight:
    """The weight of a text.

    Attributes
    ----------
    value
        From −1 to 1.
    error
        Its standard error; None if it is not known.
    source
        ``people`` or ``model``.
    """

    value: float
    error: float | None
    source: Source = "people"


def text_weight(config: StudyConfig, rows: Iterable[RatingRow]) -> Fraction | None:
    """Return the weight of one text from its scores, exactly; None if none of them says anything about it.

    A question's weight is the mean of its scores, with the worst answer at −1 and the best at 1: for five points
    (Σ − 3n) / 2n. The weight of the text is that of the question that ``weights`` names in the settings, or the mean
    over all questions that somebody has answered.
    """
    scores: dict[int, list[int]] = {}
    for row in rows:
        if row.score is not None:
            scores.setdefault(row.question, []).append(row.score)
    taken = [_of_question(question, scores[at]) for at, question in _asked(config) if at in scores]
    return sum(taken, Fraction()) / len(taken) if taken else None


def _asked(config: StudyConfig) -> list[tuple[int, Question]]:
    """Return the questions that weights come from, with their numbers."""
    return [(at, question) for at, question in enumerate(config.questions) if config.weights in (MEAN, question.name)]


def _of_question(question: Question, scores: Sequence[int]) -> Fraction:
    n, span = len(scores), question.points - 1
    return Fraction(2 * (sum(scores) - n), n * span) - 1


def people_weights(config: StudyConfig, rows: Iterable[RatingRow]) -> dict[Text, TextWeight]:
    """Return the weights of texts from people's ratings, with their standard errors (`weight_errors`)."""
    by_text: dict[Text, dict[int, list[RatingRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_text[row.text][row.rater].append(row)
    values: dict[Text, tuple[Fraction, list[float]]] = {}
    for text, raters in by_text.items():
        whole = text_weight(config, (row for given in raters.values() for row in given))
        each = [weight for given in raters.values() if (weight := text_weight(config, given)) is not None]
        if whole is not None:
            values[text] = (whole, [float(weight) for weight in each])
    errors = weight_errors([each for _, each in values.values()]).tolist()
    return {
        text: TextWeight(float(whole), None if math.isnan(error) else error)
        for (text, (whole, _)), error in zip(values.items(), errors, strict=True)
    }


def model_values(
    config: StudyConfig, scores: Mapping[tuple[int, int], tuple[float | None, ...]], model: int
) -> dict[Text, float]:
    """Return the weights that a model's scores, which may be fractions, give by themselves."""
    number = len(config.questions)
    values: dict[Text, float] = {}
    for (item, rater), given in scores.items():
        for part in range(len(given) // number if rater == model else 0):
            taken = [
                2 * (score - 1) / (question.points - 1) - 1
                for at, question in _asked(config)
                if (score := given[part * number + at]) is not None
            ]
            if taken:
                values[item, part] = fmean(taken)
    return values


def joint_weights(
    people: Mapping[Text, TextWeight],
    model: Mapping[Text, float],
    *,
    ratings: Mapping[Text, int],
    segments: Mapping[Text, str],
    name: str,
) -> tuple[dict[Text, TextWeight], Calibration]:
    """Return people's weights where there are some, elsewhere a model's, calibrated on the texts that both have rated.

    Parameters
    ----------
    people, model
        The weights of texts by people and by the model.
    ratings
        How many people have rated each text.
    segments
        What texts belong to: those of one segment are left out of the calibration together to find its error.
    name
        The model's name.

    Raises
    ------
    DataError
        If there is too little to calibrate on, or the model gives all texts the same weight.

    Warns
    -----
    TrubleuWarning
        If the calibrated weights are no better than the mean of people's.
    """
    both = [text for text in people if text in model]
    try:
        found = calibrate(
            [model[text] for text in both],
            [people[text].value for text in both],
            errors=[people[text].error or 0.0 for text in both],
            weights=[ratings[text] for text in both],
            groups=[segments[text] for text in both],
        )
    except DataError as error:
        remedy = "let people rate more of its texts, or export --weights people, or --weights model --unverified"
        raise DataError(f"the weights of {shown(name)} cannot be calibrated on people's: {error}; {remedy}") from None
    if found.explained <= 0:
        told = f"the calibrated weights of {shown(name)} predict people's no better than their mean does"
        warnings.warn(f"{told}, on texts left out of the calibration", TrubleuWarning, stacklevel=3)
    rest = [text for text in model if text not in people]
    values = [model[text] for text in rest]
    worth = zip(rest, found.predict(values).tolist(), found.predict_errors(values).tolist(), strict=True)
    made = {text: TextWeight(value, error, "model") for text, value, error in worth}
    return {**people, **made}, found


def by_models_only(rows: Iterable[RatingRow]) -> str | None:
    """Say it if items have ratings that count, but none by a person."""
    rated: dict[bool, set[int]] = {True: set(), False: set()}
    for row in rows:
        rated[row.model].add(row.item.id)
    number = len(rated[True] - rated[False])
    return f"{counted(number, 'item')} with ratings by models only, none by people" if number else None


def find_model(raters: Sequence[Rater], name: str | None) -> Rater:
    """Return the model among those who have rated in a study; by number or name if there are several.

    Raises
    ------
    UsageError
        If there is none, or it is not clear which.
    """
    models = [rater for rater in raters if rater.is_model and not rater.excluded]
    if not models:
        raise UsageError("no model has rated in this study; let one rate with trubleu rate model")
    found = [each for each in models if name in (None, str(each.id), each.name)]
    if len(found) > 1:
        raise UsageError(f"several models have rated; say which with --model: {some(each.name for each in found)}")
    if not found:
        hint = nearest(name or "", [model.name for model in models])
        raise UsageError(f"no model {shown(name)} has rated in this study; {hint}")
    return found[0]
