"""The weight of a text: what raters said of it, on every scale from −1 to 1."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from trubleu.rating.config import MEAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trubleu.rating.config import Question, StudyConfig
    from trubleu.rating.store.queries import RatingRow


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
    taken = [
        _of_question(question, scores[at])
        for at, question in enumerate(config.questions)
        if at in scores and config.weights in (MEAN, question.name)
    ]
    return sum(taken, Fraction()) / len(taken) if taken else None


def _of_question(question: Question, scores: Sequence[int]) -> Fraction:
    n, span = len(scores), question.points - 1
    return Fraction(2 * (sum(scores) - n), n * span) - 1
