"""Take over answers from another study."""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from trubleu.errors import TrubleuWarning, UsageError, some
from trubleu.rating.config import question_key
from trubleu.rating.create import fix_questions, found
from trubleu.rating.insert_answers import TakenAnswer, answers_there, items_by_key, take_answers
from trubleu.rating.items import Item
from trubleu.rating.raters import CARRIED, adopt, checksums, keys, note, pseudonym, recall, remember
from trubleu.rating.scheduler import arranged
from trubleu.rating.store.database import add_row, lock_study
from trubleu.rating.store.schema import assignments, items, raters, ratings
from trubleu.rating.study import Study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Row

    from trubleu.files.paths import PathLike
    from trubleu.rating.config import StudyConfig


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
    different
        Answers that were here already with other scores; those of this study stay.
    excluded
        Raters who were excluded by the rule on gold items.
    """

    items: int
    answers: int
    counted: int
    raters: int
    changed: tuple[str, ...] = ()
    different: int = 0
    excluded: int = 0


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
        Takes over.
    other
        Is only read.
    now
        The time.

    Raises
    ------
    UsageError
        If the studies are of different kinds, or are one and the same.

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
    Carried(items=1, answers=1, counted=1, raters=1, changed=(), different=0, excluded=0)
    >>> first.close()
    >>> second.close()
    """
    _check_kinds(study.folder, study.config, other)
    if study.id == other.id:
        raise UsageError(f"{other.folder} is this study itself; name another one to carry ratings over from")
    there = other.store.read(_read)
    at = study.now() if now is None else now
    made = study.store.write(lambda connection: _carry(connection, study.config, other, there, at))
    _warn_of_nothing(other, there, made)
    return made.carried


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
    _check_kinds(folder, config, other)
    there = other.store.read(_read)
    at = other.now() if now is None else now
    made: list[_Made] = []
    found(
        Path(folder),
        config,
        items,
        store_url=store_url,
        also=lambda connection: made.append(_carry(connection, config, other, there, at)),
    )
    _warn_of_nothing(other, there, made[-1])
    return Study.open(folder), made[-1].carried


def _check_kinds(folder: PathLike, config: StudyConfig, other: Study) -> None:
    if config.kind != other.config.kind:
        raise UsageError(
            f"{other.folder} is a study of kind {other.config.kind}, and {folder} of kind {config.kind}; "
            "ratings can be carried over only between studies of one kind"
        )
    if question_key(config) != question_key(other.config):
        raise UsageError(
            f"{other.folder} does not ask the questions of {folder}, with the same names and points; "
            "ratings can be carried over only between studies that do"
        )


@dataclass(frozen=True, slots=True)
class _Made:
    carried: Carried
    same: int  # matching items, with or without answers
    repeated: int  # answers that were already here


def _warn_of_nothing(other: Study, there: _There, made: _Made) -> None:
    if made.carried.answers or made.repeated:
        return
    if not any(item in there.items for item, _ in there.ratings):
        reason = "nobody has rated anything there yet"
    elif made.carried.changed:
        reason = f"it has the same keys, but other texts or messages: {some(made.carried.changed, 3)}"
    elif not made.same:
        reason = "no item has the same key, or the same segment and texts, here and there"
    else:
        reason = "the items that are the same have no ratings there"
    warnings.warn(f"nothing was carried over from {other.folder}: {reason}", TrubleuWarning, stacklevel=3)


@dataclass(frozen=True, slots=True)
class _There:
    items: dict[int, Item]
    raters: Sequence[Row[Any]]
    assignments: Sequence[Row[Any]]
    ratings: dict[tuple[int, int], list[Row[Any]]]
    order: list[tuple[int, int]]
    known: dict[str, int]
    keys: dict[str, str]


def _read(connection: Connection) -> _There:
    rated: dict[tuple[int, int], list[Row[Any]]] = {}
    for row in connection.execute(select(ratings).order_by(ratings.c.id)):
        rated.setdefault((row.item, row.rater), []).append(row)
    # Counted answers first, so a surplus answer does not displace them here.
    order = sorted(rated, key=lambda pair: not rated[pair][0].counted)
    everything = connection.execute(select(items.c.id, items.c.key, items.c.payload).where(items.c.role == "item"))
    done = select(assignments).where(assignments.c.state.in_(("answered", "unable"))).order_by(assignments.c.id)
    return _There(
        {row.id: Item.from_json(row.key, row.payload) for row in everything},
        connection.execute(select(raters).order_by(raters.c.id)).all(),
        connection.execute(done).all(),
        rated,
        order,
        checksums(connection),
        keys(connection),
    )


def _carry(connection: Connection, config: StudyConfig, other: Study, there: _There, now: int) -> _Made:
    lock_study(connection)
    fix_questions(connection, config)
    same, changed = _same_items(items_by_key(connection), there.items)
    people, added = _carry_raters(connection, config, other, there, now)
    before = answers_there(connection)
    rank = {pair: at for at, pair in enumerate(there.order)}
    waiting = sorted(there.assignments, key=lambda row: rank.get((row.item, row.rater), len(rank)))
    answers = []
    repeated = different = 0
    for row in waiting:
        if row.item not in same:
            continue
        mine, order = same[row.item]
        given = sorted(there.ratings.get((row.item, row.rater), []), key=lambda each: (each.part, each.question))
        scores = arranged(tuple(rating.score for rating in given) or None, order)
        if (mine, people[row.rater]) in before:
            repeated += 1
            different += scores not in (None, before[mine, people[row.rater]])
            continue
        answers.append(
            TakenAnswer(
                mine,
                people[row.rater],
                scores,
                row.flipped != (order == (1, 0)),
                given[0].answered_at if given else row.shown_at,
                given[0].milliseconds if given else None,
                given[0].client_milliseconds if given else None,
            )
        )
    questions = len(config.questions)
    counted = take_answers(connection, answers, questions=questions, kind="carried", source=other.id, now=now)
    with_scores = [answer for answer in answers if answer.scores is not None]
    number = len({answer.item for answer in with_scores})
    return _Made(Carried(number, len(with_scores), counted, added, changed, different), len(same), repeated)


def _same_items(
    here: Mapping[str, tuple[int, Item]], there: Mapping[int, Item]
) -> tuple[dict[int, tuple[int, tuple[int, ...]]], tuple[str, ...]]:
    """Return the items here by their numbers there, with the position of each of their texts there.

    Also return the keys that exist in both with different texts.
    """
    same: dict[int, tuple[int, tuple[int, ...]]] = {}
    for number, item in there.items():
        if item.key in here and here[item.key][1].same_texts(item):
            same[number] = (here[item.key][0], tuple(range(len(item.texts))))
    taken = {mine for mine, _ in same.values()}
    mine_by_look: defaultdict[object, list[tuple[int, Item]]] = defaultdict(list)
    for mine, own in here.values():
        if mine not in taken:
            mine_by_look[_look(own)].append((mine, own))
    theirs_by_look: defaultdict[object, list[int]] = defaultdict(list)
    for number, item in there.items():
        if number not in same:
            theirs_by_look[_look(item)].append(number)
    for look, numbers in theirs_by_look.items():
        found = mine_by_look.get(look, [])
        if len(found) == len(numbers) == 1:
            ((mine, own),) = found
            same[numbers[0]] = (mine, _order(own, there[numbers[0]]))
    changed = [item.key for number, item in there.items() if item.key in here and number not in same]
    return same, tuple(changed)


def _look(item: Item) -> object:
    """Return what identifies an item across files: its segment and visible content."""
    return item.segment or item.key.partition("#")[0], tuple(sorted(item.texts)), item.context, item.message


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


def _carry_raters(
    connection: Connection, config: StudyConfig, other: Study, there: _There, now: int
) -> tuple[dict[int, int], int]:
    """Find or add the other study's raters; return the numbers here by those there, and how many are new."""
    known = {row.token_hash: row.id for row in connection.execute(select(raters.c.id, raters.c.token_hash))}
    known_outside = {
        (row.entry, row.external): row.id
        for row in connection.execute(select(raters.c.id, raters.c.entry, raters.c.external))
        if row.external is not None
    }
    keep_consent = config.consent == other.config.consent
    keep_instructions = config.instructions == other.config.instructions
    keep_practice = config.practice == other.config.practice
    numbers: dict[int, int] = {}
    added = 0
    for row in there.raters:
        # By their original pseudonym: a rater erased here has neither a link nor an external id.
        name = pseudonym(row.id, other.id, row.entry)
        mine = recall(connection, CARRIED, name)
        if mine is None and row.token_hash:
            mine = known.get(row.token_hash)
        if mine is None and row.external is not None:
            mine = known_outside.get((row.entry, row.external))
        if mine is None:
            values = {
                "token_hash": row.token_hash,
                "label": row.label,
                "entry": row.entry,
                "external": row.external,
                "consented_at": row.consented_at if keep_consent else None,
                "instructed_at": row.instructed_at if keep_instructions else None,
                "practice_done": row.practice_done and keep_practice,
                "excluded": row.excluded,
                "reason": row.reason,
                "created_at": row.created_at,
                "erased_at": row.erased_at,
            }
            mine = add_row(connection, raters, values)
            added += 1
            note(connection, "joined", mine, now, "carried")
            if row.excluded:
                note(connection, "excluded", mine, now, row.reason)
        remember(connection, mine, CARRIED, name)
        if row.external is not None:
            remember(connection, mine, row.entry, row.external)
        numbers[row.id] = mine
    adopt(connection, there.known, there.keys, numbers)
    return numbers, added
