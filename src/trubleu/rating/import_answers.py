"""Import answers that were collected outside a study."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import select

from trubleu.errors import DataError, UsageError, shown
from trubleu.rating.create import fix_questions
from trubleu.rating.export import rater_names
from trubleu.rating.gold import exclude_by_rule
from trubleu.rating.insert_answers import TakenAnswer, answers_there, items_by_key, take_answers
from trubleu.rating.items import competition_ranks
from trubleu.rating.raters import (
    CARRIED,
    add_rater,
    all_raters,
    check_name,
    is_of,
    parse_pseudonym,
    pseudonym,
    recall,
    remember,
)
from trubleu.rating.scheduler import check_scores
from trubleu.rating.secret import derived_token
from trubleu.rating.store.database import get_meta, lock_study, secret_of
from trubleu.rating.store.schema import MODEL, raters, ratings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from trubleu.rating.config import StudyConfig
    from trubleu.rating.study import Study


@dataclass(frozen=True, slots=True)
class Imported:
    """An answer that was collected outside the study.

    Attributes
    ----------
    key
        The item's key.
    rater
        The rater's id outside.
    scores
        Text by text in the item's order, for each text question by question; None for a question that was left out.
    answered_at
        When, in milliseconds since 1970; None if not known.
    milliseconds
        How long it took, as its source says; None if not known.
    place
        Where it stands, such as ``FILE:LINE``, for messages.
    flipped
        Whether the rater saw the texts of a pair in reverse order.
    """

    key: str
    rater: str
    scores: tuple[int | None, ...]
    answered_at: int | None = None
    milliseconds: int | None = None
    place: str = ""
    flipped: bool = False


@dataclass(frozen=True, slots=True)
class ImportedRatings:
    """The outcome of an import.

    Attributes
    ----------
    answers
        Answers that were given; one to both texts of a pair is one.
    added, counted
        How many of them are new, and how many of these count.
    items, raters
        Items that got new answers, and raters who are new.
    repeated
        Answers that were there already.
    different
        Of these, how many have another score in the file; the first stays.
    rejected, blank
        For Mechanical Turk: assignments that were rejected or have no answer, and were left out.
    excluded
        Raters who were excluded by the rule on gold items.
    """

    answers: int
    added: int
    counted: int
    items: int
    raters: int
    repeated: int
    different: int
    rejected: int = 0
    blank: int = 0
    excluded: int = 0


def import_answers(
    study: Study, answers: Iterable[Imported], *, source: str, platform: str | None = None, now: int | None = None
) -> ImportedRatings:
    """Add answers that were collected outside the study; existing ones are skipped.

    Answers may be to gold items; raters who break the gold rule are excluded.

    Parameters
    ----------
    study
        Where to.
    answers
        The answers. A rater's id makes one rater, who has no link. An id that an export of this study gave (``rater 3
        of 1f2e9a0c``) is that rater; so is one of another study whose raters were carried over.
    source
        Where they come from, for the log.
    platform
        ``prolific`` or ``mturk`` if the ids are of there: who came in by such an id is the same rater.
    now
        The time.

    Raises
    ------
    DataError
        If an answer is about no item of the study, its scores do not fit, or its rater cannot be told from another,
        with its place; nothing is then added.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> study = Study.create(folder, StudyConfig("Imported", "response"), [Item("7", ("fine",))])
    >>> for _ in range(2):
    ...     found = import_answers(study, [Imported("7", "worker 1", (4,))], source="results.csv")
    ...     print(found.added, found.counted, found.repeated)
    1 1 0
    0 0 1
    >>> study.close()
    """
    if platform not in (None, "prolific", "mturk"):
        raise UsageError(f"there is no platform {platform!r}; known: prolific, mturk")
    given = list(answers)
    config = study.config
    needed = config.parts * len(config.questions)
    for answer in given:
        check_name(answer.rater, f"{answer.place}: the id of a rater")
        if len(answer.scores) != needed:
            raise DataError(
                f"{answer.place}: there are {len(answer.scores)} scores, but the study has {needed} per item"
            )
        if problem := check_scores(config, answer.scores):
            raise DataError(f"{answer.place}: {problem}")
    if config.kind == "ranking":
        given = [replace(each, scores=competition_ranks([score or 0 for score in each.scores])) for each in given]
    at = study.now() if now is None else now
    return study.store.write(lambda connection: _import(connection, config, given, source, platform, at))


def _import(
    connection: Connection,
    config: StudyConfig,
    given: Sequence[Imported],
    source: str,
    platform: str | None,
    now: int,
) -> ImportedRatings:
    lock_study(connection)
    fix_questions(connection, config)
    gold = items_by_key(connection, "gold")
    here = items_by_key(connection) | gold
    people = _People(connection, platform, now)
    there = answers_there(connection)
    answers: dict[tuple[int, int], TakenAnswer] = {}
    met: set[int] = set()
    different = 0
    for answer in given:
        if answer.key not in here:
            raise DataError(f"{answer.place}: {answer.key!r} is not an item of this study; check the ids")
        item = here[answer.key][0]
        if (labelled := people.labelled(answer.rater)) is not None:
            # Most likely an export of this study with nothing new; otherwise the name could mean another person.
            if len(labelled) != 1 or there.get((item, labelled[0])) != answer.scores:
                raise DataError(people.ambiguous(answer, labelled))
            continue
        pair = (item, people.number(answer))
        met.add(pair[1])
        if pair in there:
            different += there[pair] not in (None, answer.scores)
        elif pair not in answers:
            when = now if answer.answered_at is None else answer.answered_at
            is_gold = answer.key in gold
            answers[pair] = TakenAnswer(*pair, answer.scores, answer.flipped, when, None, answer.milliseconds, is_gold)
    number = len(config.questions)
    taken = list(answers.values())
    counted = take_answers(connection, taken, questions=number, kind="imported", source=source, now=now)
    excluded = exclude_by_rule(connection, config.gold.rule, met, now=now)
    if excluded:
        first = (ratings.c.part == 0, ratings.c.question == 0)
        standing = select(ratings.c.item, ratings.c.rater).where(ratings.c.counted, *first)
        counted = sum((row.item, row.rater) in answers for row in connection.execute(standing))
    rated = len({answer.item for answer in taken if not answer.gold})
    return ImportedRatings(
        answers=len(given),
        added=len(answers),
        counted=counted,
        items=rated,
        raters=people.added,
        repeated=len(given) - len(answers),
        different=different,
        excluded=excluded,
    )


class _People:
    """Resolves rater names of a file, adding new raters."""

    def __init__(self, connection: Connection, platform: str | None, now: int) -> None:
        self.added = 0
        self._connection = connection
        self._platform = platform
        self._now = now
        self._study = get_meta(connection, "study") or ""
        self._numbers: dict[str, int] = {}
        self._labels: defaultdict[str, set[int]] = defaultdict(set)
        everybody = all_raters(connection)
        for number, name in rater_names(everybody, self._study, labels=True).items():
            self._labels[name].add(number)
        for rater in everybody:
            if rater.label:
                self._labels[rater.label].add(rater.id)

    def labelled(self, name: str) -> list[int] | None:
        """Return the raters with this label; None if the name is another kind of id, or new."""
        if name in self._numbers or parse_pseudonym(name) is not None or name not in self._labels:
            return None
        if self._known(name) is not None:
            return None
        return sorted(self._labels[name])

    def ambiguous(self, answer: Imported, numbers: Sequence[int]) -> str:
        """Return the message that a name is an ambiguous label, and how to resolve it."""
        whose = " or ".join(f"{pseudonym(number, self._study)!r}" for number in numbers)
        return (
            f"{answer.place}: {shown(answer.rater)} is the label of a rater of this study; write {whose} if that is "
            "who rated, or another name if it is somebody else"
        )

    def number(self, answer: Imported) -> int:
        """Return the number of an answer's rater."""
        name = answer.rater
        if name not in self._numbers:
            self._numbers[name] = self._found(answer)
        return self._numbers[name]

    def _found(self, answer: Imported) -> int:
        name = answer.rater
        marked = parse_pseudonym(name)
        if marked is not None and is_of(marked[1], self._study):
            number, _ = marked
            if self._connection.execute(select(raters.c.id).where(raters.c.id == number)).first() is None:
                raise DataError(
                    f"{answer.place}: this study has no {shown(name)}; was the file exported from a later state of it?"
                )
            return number
        found = None if marked is None else recall(self._connection, CARRIED, name)
        if found is None and marked is not None and name.startswith(MODEL):
            raise DataError(
                f"{answer.place}: {shown(name)} is a model of another study, not a person; leave it out, or let it "
                "rate here with trubleu rate model"
            )
        if found is None:
            found = self._known(name)
        if found is None:
            found = self._add(name)
        return found

    def _known(self, name: str) -> int | None:
        found = recall(self._connection, "import", name)
        if found is None and self._platform is not None:
            found = recall(self._connection, self._platform, name)
        return found

    def _add(self, name: str) -> int:
        token = derived_token(secret_of(self._connection), "import", name)
        more = {"external": name, "label": name, "practice_done": True}
        added = add_rater(self._connection, "import", self._now, token=token, **more)
        for entry in ("import", self._platform):
            if entry is not None:
                remember(self._connection, added.id, entry, name)
        self.added += 1
        return added.id
