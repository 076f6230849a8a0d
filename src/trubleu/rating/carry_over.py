"""Take over answers from another study."""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, select

from trubleu.errors import TrubleuWarning, UsageError, some
from trubleu.rating.answers import TakenAnswer, number_counted, take_answers
from trubleu.rating.config import StudyConfig, question_key
from trubleu.rating.raters import CARRIED, adopt, note, pseudonym, remember
from trubleu.rating.scheduler import arranged
from trubleu.rating.store.database import add_row, lock_study
from trubleu.rating.store.queries import stored_items
from trubleu.rating.store.schema import assignments, raters, ratings
from trubleu.rating.study import Study, fix_questions, found

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from trubleu.files.paths import PathLike
    from trubleu.rating.items import Item


@dataclass(frozen=True, slots=True)
class Carried:
    """What was carried over.

    Attributes
    ----------
    items
        Items that are the same in both studies and had answers.
    answers
        Answers to them; one to both texts of a pair is one.
    counted
        How many of these count here.
    raters
        Raters who came along.
    changed
        Keys that both studies have, but with other texts: nothing was taken over for them.
    """

    items: int
    answers: int
    counted: int
    raters: int
    changed: tuple[str, ...] = ()


def carry(study: Study, other: Study, *, now: int | None = None) -> Carried:
    """Carry over the answers of another study to items that are the same here, with their raters.

    Items are the same if they have the same key and content; or else the same segment, with content that no other item
    there has. So seeds that were rated on their own are matched to mined candidates, and a pair A:B to B:A.

    Raters keep their links and never get an item again that they have answered. Which answers count is decided again:
    the oldest answers of raters who are not excluded, up to this study's quota. Consent, instructions and practice are
    not repeated if they are the same in both studies.

    Parameters
    ----------
    study
        Takes over; it has no raters yet.
    other
        Is only read.
    now
        The time.

    Raises
    ------
    UsageError
        If the studies are of different kinds, or the one that takes over has raters.

    Warns
    -----
    TrubleuWarning
        If there is nothing to take over, with the reason.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> items = [Item("7", ("fine",), message="how are you?")]
    >>> first = Study.create(folder / "first", StudyConfig("Seeds", "response", raters=1), items)
    >>> rater = first.add_raters(1)[0].rater.id
    >>> task = first.assign(rater)
    >>> _ = first.answer(rater, task.assignment, (4,), key=task.client_key)
    >>> second = Study.create(folder / "second", StudyConfig("Seeds again", "response", raters=2), items)
    >>> carry(second, first)
    Carried(items=1, answers=1, counted=1, raters=1, changed=())
    >>> first.close()
    >>> second.close()
    """
    _check_questions(study.folder, study.config, other)
    at = study.now() if now is None else now
    return _told(other, *study.store.write(lambda connection: _carry(connection, study.config, other, at)))


def create_and_carry(
    folder: PathLike,
    config: StudyConfig,
    items: Sequence[Item],
    other: Study,
    *,
    store_url: str | None = None,
    now: int | None = None,
) -> tuple[Study, Carried]:
    """Create a study with the answers of another (see `Study.create` and `carry`); both steps succeed, or neither."""
    _check_questions(folder, config, other)
    at = other.now() if now is None else now
    made: list[tuple[Carried, str]] = []
    also = lambda connection: made.append(_carry(connection, config, other, at))  # noqa: E731 - one step of many
    found(Path(folder), config, items, store_url=store_url, also=also)
    return Study.open(folder), _told(other, *made[-1])


def _check_questions(folder: PathLike, config: StudyConfig, other: Study) -> None:
    only = "ratings can be carried over only between studies"
    if config.kind != other.config.kind:
        kinds = f"is a study of kind {other.config.kind}, and {folder} of kind {config.kind}"
        raise UsageError(f"{other.folder} {kinds}; {only} of one kind")
    if question_key(config) != question_key(other.config):
        raise UsageError(f"{other.folder} does not ask what {folder} does; {only} with the same names and points")


def _told(other: Study, carried: Carried, reason: str) -> Carried:
    if not carried.answers:
        warnings.warn(f"nothing was carried over from {other.folder}: {reason}", TrubleuWarning, stacklevel=3)
    return carried


def _carry(connection: Connection, config: StudyConfig, other: Study, now: int) -> tuple[Carried, str]:
    """Carry answers over, and say why there may be none."""
    lock_study(connection)
    fix_questions(connection, config)
    if connection.execute(select(raters.c.id).limit(1)).first() is not None:
        raise UsageError("the study has raters already; ratings can be carried over only into a new one")
    return other.store.read(lambda theirs: _copy(connection, theirs, config, other, now))


def _copy(
    connection: Connection, theirs: Connection, config: StudyConfig, other: Study, now: int
) -> tuple[Carried, str]:
    here, there = (
        {each.id: each.item for each in stored_items(store) if each.role == "item"} for store in (connection, theirs)
    )
    same, changed = _same_items(here, there)
    people = _copy_raters(connection, theirs, config, other, now)
    given: defaultdict[tuple[int, int], list[Row[Any]]] = defaultdict(list)
    for row in theirs.execute(select(ratings).order_by(ratings.c.part, ratings.c.question)):
        given[row.item, row.rater].append(row)

    def rank(row: Row[Any]) -> tuple[bool, bool, int]:
        # Counted answers first, so a surplus answer does not displace them here; then the oldest.
        scores = given.get((row.item, row.rater))
        return (False, not scores[0].counted, scores[0].id) if scores else (True, True, row.id)

    answers = []
    done = theirs.execute(select(assignments).where(assignments.c.state.in_(("answered", "unable")))).all()
    for row in sorted((row for row in done if row.item in same), key=rank):
        mine, order = same[row.item]
        scores = given.get((row.item, row.rater), [])
        given_scores = arranged(tuple(rating.score for rating in scores), order) or None
        flipped = row.flipped != (order == (1, 0))
        names = ("answered_at", "milliseconds", "client_milliseconds")
        times = [getattr(scores[0], name) for name in names] if scores else [row.shown_at, None, None]
        answers.append(TakenAnswer(mine, people[row.rater], given_scores, flipped, *times))
    questions = len(config.questions)
    take_answers(connection, answers, questions=questions, kind="carried", source=other.id, now=now)
    counted = number_counted(connection, answers)
    rated = [answer.item for answer in answers if answer.scores is not None]
    if not any(item in there for item, _ in given):
        reason = "nobody has rated anything there yet"
    elif changed:
        reason = f"it has the same keys, but other texts or messages: {some(changed, 3)}"
    elif not same:
        reason = "no item has the same key, or the same segment and texts, here and there"
    else:
        reason = "the items that are the same have no ratings there"
    return Carried(len({*rated}), len(rated), counted, len(people), changed), reason


def _same_items(
    here: Mapping[int, Item], there: Mapping[int, Item]
) -> tuple[dict[int, tuple[int, tuple[int, ...]]], tuple[str, ...]]:
    """Return the items here by their numbers there, with the position of each of their texts there.

    Also return the keys that exist in both with different texts.
    """
    same: dict[int, tuple[int, tuple[int, ...]]] = {}
    numbers = {item.key: number for number, item in here.items()}
    for number, item in there.items():
        if item.key in numbers and here[numbers[item.key]].same_texts(item):
            same[number] = (numbers[item.key], tuple(range(len(item.texts))))
    taken = {mine for mine, _ in same.values()}
    ours, theirs = _by_look(here, taken), _by_look(there, same)
    for look, alike in theirs.items():
        if len(alike) == len(ours.get(look, ())) == 1:
            (number,), (mine,) = alike, ours[look]
            same[number] = (mine, _order(here[mine], there[number]))
    changed = [item.key for number, item in there.items() if item.key in numbers and number not in same]
    return same, tuple(changed)


def _by_look(items: Mapping[int, Item], without: Container[int]) -> dict[object, list[int]]:
    """Return the numbers of items by what identifies them across files: their segment and visible content."""
    found: defaultdict[object, list[int]] = defaultdict(list)
    for number, item in items.items():
        if number not in without:
            segment = item.segment or item.key.partition("#")[0]
            found[segment, tuple(sorted(item.texts)), item.context, item.message].append(number)
    return found


def _order(own: Item, other: Item) -> tuple[int, ...]:
    """Return the position of each text of an item in another item with the same texts; equal texts by system."""
    left = [*range(len(own.texts))]
    order = []
    for text, system in zip_longest(own.texts, own.systems):
        places = [part for part in left if other.texts[part] == text]
        of_system = [part for part in places if system is not None and other.systems[part : part + 1] == (system,)]
        order.append((of_system or places)[0])
        left.remove(order[-1])
    return tuple(order)


def _copy_raters(
    connection: Connection, theirs: Connection, config: StudyConfig, other: Study, now: int
) -> dict[int, int]:
    """Add the other study's raters; return their numbers here by those there."""
    again = {
        "consented_at": config.consent != other.config.consent,
        "instructed_at": config.instructions != other.config.instructions,
        "practice_done": config.practice != other.config.practice,
    }
    kept = ("token_hash", "label", "entry", "external", *again, "excluded", "reason", "created_at", "erased_at")
    numbers: dict[int, int] = {}
    for row in theirs.execute(select(raters).order_by(raters.c.id)):
        values = {name: getattr(row, name) for name in kept if not again.get(name)}
        numbers[row.id] = mine = add_row(connection, raters, values)
        note(connection, "joined", mine, now, "carried")
        if row.excluded:
            note(connection, "excluded", mine, now, row.reason)
        # By their pseudonym there, too: erased raters have neither a link nor an external id.
        remember(connection, mine, CARRIED, pseudonym(row.id, other.id, row.entry))
        if row.external is not None:
            remember(connection, mine, row.entry, row.external)
    adopt(connection, theirs, numbers)
    return numbers
