"""Ratings of simulated raters for the items of a study, to rehearse it."""

from __future__ import annotations

import hashlib
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING, Final, TypeAlias

from trubleu.data.ratings import Ratings
from trubleu.errors import UsageError, counted
from trubleu.rating.items import POINTS, Item, competition_ranks
from trubleu.simulate.raters import Habits, SimulatedRater, simulated_raters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trubleu.rating.config import StudyConfig
    from trubleu.rating.study import Study

    Quality: TypeAlias = Callable[[str, str], float]

LABEL: Final = "simulated "
_BY_ORIGIN = {"seed": 4.3, "mined": 3.0, "parrot": 1.5, "random": 1.4}
_WITHIN = 0.7  # maximum deviation of texts of one origin, either way


def simulated_ratings(
    study: Study, raters: int, *, habits: Habits | None = None, seed: int = 1, quality: Quality | None = None
) -> Ratings:
    """Draw as many ratings of each item as the study asks for; `trubleu.rating.import_ratings` reads them.

    Every rater gets about the same number of items. In a study of single responses they also rate every gold item.

    Parameters
    ----------
    study
        The study.
    raters
        How many there are to choose from, called ``simulated 1`` and so on.
    habits
        What they are like.
    seed
        Of all that is drawn.
    quality
        Tells how good a text is from 1 to 5, given the message and the text, such as `trubleu.simulate.World.quality`.
        Without it, real responses are good, mined ones so-so, parrots and random ones bad, and systems differ.

    Raises
    ------
    UsageError
        If there are fewer raters than ratings per item, or people have rated in the study.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> study = Study.create(folder, StudyConfig("Good answers", "response", raters=2), [Item("7", ("fine",))])
    >>> simulated_ratings(study, 2, quality=lambda message, text: 5.0).score
    (5, 4)
    >>> study.close()
    """
    people = [rater for rater in study.raters() if not rater.is_model and not (rater.label or "").startswith(LABEL)]
    if real := sum(rater.answered for rater in people):
        answers = counted(real, "answer")
        raise UsageError(f"{study.folder} has {answers} of real raters; rehearse with a study of its own")
    stored = study.items()
    most = max(item.wanted for item in stored)
    if not most <= raters <= 10_000:
        raise UsageError(f"the number of simulated raters must be from {most} (ratings per item) to 10,000: {raters}")
    config = study.config
    persons = simulated_raters(raters, habits, seed=seed)
    draw = Random(f"tasks/{seed}")  # noqa: S311 - no secret
    done = [0] * raters
    rows: list[tuple[int, str, str, int, str | None]] = []
    for item, role, wanted in ((each.item, each.role, each.wanted) for each in stored):
        if role == "item":
            chosen = sorted(range(raters), key=lambda number: (done[number], draw.random()))[:wanted]
            for number in chosen:
                done[number] += 1
        elif role == "gold" and config.kind == "response":
            chosen = list(range(raters))
        else:
            continue
        good = true_qualities(item, config, seed=seed, quality=quality)
        for number in chosen:
            for at, score in enumerate(given_scores(persons[number], config, item, good)):
                part, question = divmod(at, len(config.questions))
                rows.append((number, item.key, item.writer(part), score, config.questions[question].name or None))
    numbers, items, systems, scores, aspects = zip(*sorted(rows, key=itemgetter(0)), strict=True)
    names = [f"{LABEL}{number + 1}" for number in numbers]
    scale = (1, max(question.points for question in config.questions))
    return Ratings(items, systems, names, scores, aspect=aspects, scale=scale)


def given_scores(
    person: SimulatedRater, config: StudyConfig, item: Item, qualities: Sequence[float]
) -> tuple[int, ...]:
    """Return a rater's scores of an item, text by text and question by question, or ranks; the same on every call."""
    # Seeded by the item too: a text that reappears in another pair is judged independently.
    given = [
        (person.score(repr((item.key, text, question.name)), quality), question.points)
        for text, quality in zip(item.texts, qualities, strict=True)
        for question in config.questions
    ]
    if config.kind == "ranking":
        return competition_ranks([-score for score, _ in given])
    return tuple(round(1 + (score - 1) * (most - 1) / (POINTS - 1)) for score, most in given)


def true_qualities(
    item: Item, config: StudyConfig, *, seed: int = 1, quality: Quality | None = None
) -> tuple[float, ...]:
    """Return the assumed quality of the texts of an item, from 1 to 5 (see `simulated_ratings`).

    Gold and practice items are in the middle of the accepted range, whatever ``quality`` says.

    Examples
    --------
    >>> from trubleu.rating import Item, StudyConfig
    >>> good, bad = (Item("7", ("fine",), extra={"origin": origin}) for origin in ("seed", "random"))
    >>> config = StudyConfig("Good answers", "response")
    >>> true_qualities(good, config) > true_qualities(bad, config)
    True
    """
    parts = range(len(item.texts))
    if item.accepted is not None:
        good = tuple(_accepted_quality(item, part, config) for part in parts)
        return tuple(POINTS + 1 - each for each in good) if config.kind == "ranking" else good  # rank 1 is best
    if quality is not None:
        return tuple(quality(item.message or "", text) for text in item.texts)
    drawn = [2 * _share(seed, item.key, part) - 1 for part in parts]  # from −1 to 1
    if (origin := item.extra.get("origin")) in _BY_ORIGIN:
        return tuple(_BY_ORIGIN[origin] + _WITHIN * each for each in drawn)
    if item.systems:
        middles = [2.3 + 1.4 * _share(seed, "system", system) for system in item.systems]
        return tuple(middle + 1.2 * each for middle, each in zip(middles, drawn, strict=True))
    return tuple(3 + 2 * each for each in drawn)


def _accepted_quality(item: Item, part: int, config: StudyConfig) -> float:
    """Return the middle of the accepted scores of a text, on the scale from 1 to 5."""
    spans = [(item.accepted_at(part, at), question.points) for at, question in enumerate(config.questions)]
    middles = [1 + (sum(span) / 2 - 1) * (POINTS - 1) / (most - 1) for span, most in spans if span is not None]
    return sum(middles) / len(middles) if middles else 3.0


def _share(*what: object) -> float:
    """Return a number from 0 to 1 derived from the arguments, the same in every process."""
    digest = hashlib.sha256("/".join(map(str, what)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
