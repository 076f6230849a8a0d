"""How far a model that rates can be trusted: its agreement with people beside theirs, and what it favours."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, TypeAlias

from trubleu.errors import MissingExtraError
from trubleu.rating.export import origin_of
from trubleu.stats.agreement import kappa_table, krippendorff_alpha
from trubleu.stats.alternative_annotator import EPSILON, AlternativeAnnotatorTest, alternative_annotator_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from trubleu.rating.store.queries import RatingRow

Text: TypeAlias = tuple[int, int]
"""An item by its number, and which of its texts."""

_THIRDS = ("short", "middle", "long")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBias:
    """How much more than people a model gives to texts of one group.

    Attributes
    ----------
    by, group
        What texts are grouped by (``all``, ``origin``, ``length`` or ``position``), and which group this is.
    texts
        Texts of it that people and the model have rated.
    difference
        The mean of the model's score less people's mean score, in points of the scale.
    error
        Its standard error; NaN for one text.
    """

    by: str
    group: str
    texts: int
    difference: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAgreement:
    """A model's ratings beside people's.

    Attributes
    ----------
    shared
        Texts that the model and at least one person have rated.
    alpha, alpha_without
        Krippendorff's ordinal α of people and the model together, and of people alone, over the same texts: those with
        a rating by the model and two or more by people. NaN if undefined.
    kappa
        The model's quadratic κ with people; NaN if undefined.
    test
        The alternative annotator test; None if SciPy is missing.
    bias
        What the model favours: all texts first, then by group.
    """

    shared: int
    alpha: float
    alpha_without: float
    kappa: float
    test: AlternativeAnnotatorTest | None
    bias: tuple[ModelBias, ...]

    @property
    def verdict(self) -> str:
        """Say whether the model may replace a person, by the alternative annotator test."""
        if not self.shared:
            return "not known: people have rated none of its texts"
        if self.test is None:
            return "not known: the test needs SciPy (pip install 'trubleu[model]')"
        if self.test.reason is not None:
            return f"not known: {self.test.reason}"
        won = sum(each.won for each in self.test.raters)
        answer = "yes" if self.test.passed else "no"
        return f"{answer}: it wins against {won} of {len(self.test.raters)} people, with ε {self.test.epsilon:g}"


def model_agreement(
    people: Sequence[RatingRow],
    model: Sequence[RatingRow],
    precise: Mapping[Text, float],
    *,
    points: int,
    epsilon: float = EPSILON,
) -> ModelAgreement:
    """Return how a model's ratings compare with people's.

    Parameters
    ----------
    people
        Ratings by people that count, of one question.
    model
        The model's, of the same question.
    precise
        The model's scores as fractions, where there are some.
    points
        Of the scale.
    epsilon
        For the alternative annotator test.
    """
    theirs = {_text(row): row.score for row in model if row.score is not None}
    scores: dict[Text, list[int]] = defaultdict(list)
    for row in people:
        if row.score is not None and _text(row) in theirs:
            scores[_text(row)].append(row.score)
    shared = [row for row in people if row.score is not None and _text(row) in theirs]
    several = [row for row in shared if len(scores[_text(row)]) > 1]
    both = [row for row in model if _text(row) in scores]
    kappas = kappa_table(*_columns([*shared, *both]), scale=(1, points)).raters
    means = {text: precise.get(text, float(theirs[text])) for text in scores}
    try:
        test = alternative_annotator_test(*_columns(shared), means, epsilon=epsilon)
    except MissingExtraError:
        test = None
    return ModelAgreement(
        shared=len(scores),
        alpha=_alpha([*several, *(row for row in both if len(scores[_text(row)]) > 1)]),
        alpha_without=_alpha(several),
        kappa=next((each.kappa for each in kappas if both and each.rater == both[0].rater), math.nan),
        test=test,
        bias=tuple(_bias(both, {text: means[text] - fmean(given) for text, given in scores.items()})),
    )


def _text(row: RatingRow) -> Text:
    return row.item.id, row.part


def _columns(rows: Iterable[RatingRow]) -> tuple[list[Text], list[int], list[int]]:
    kept = [(row, row.score) for row in rows if row.score is not None]
    return [_text(row) for row, _ in kept], [row.rater for row, _ in kept], [score for _, score in kept]


def _alpha(rows: Sequence[RatingRow]) -> float:
    return krippendorff_alpha(*_columns(rows), resamples=0).alpha


def _bias(rows: Sequence[RatingRow], differences: Mapping[Text, float]) -> Iterable[ModelBias]:
    """Yield the mean difference of all texts, then by origin or system, by length, and by place in a pair."""
    rated = [row for row in rows if row.score is not None]
    lengths = sorted(len(row.item.item.texts[row.part]) for row in rated)
    edges = [lengths[len(lengths) * third // 3] for third in (1, 2)] if lengths else []

    def origin(row: RatingRow) -> str:
        item = row.item.item
        return item.systems[row.part] if item.systems else origin_of(item)

    def length(row: RatingRow) -> str:
        return _THIRDS[sum(len(row.item.item.texts[row.part]) >= edge for edge in edges)]

    groups: list[tuple[str, Callable[[RatingRow], str]]] = [
        ("all", lambda _row: ""),
        ("origin", origin),
        ("length", length),
    ]
    if any(len(row.item.item.texts) > 1 for row in rated):
        groups.append(("position", lambda row: "second" if row.part != row.flipped else "first"))
    for by, group_of in groups:
        found: dict[str, list[float]] = defaultdict(list)
        for row in rated:
            found[group_of(row)].append(differences[_text(row)])
        if by == "origin" and len(found) < 2:
            continue
        order = _THIRDS if by == "length" else sorted(found)
        for group in order:
            if values := found.get(group):
                error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
                yield ModelBias(by=by, group=group, texts=len(values), difference=fmean(values), error=error)
