"""The scheduler: assign, answer, undo and reassign tasks, and decide when a rater is done."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sqlalchemy import Connection, Row, bindparam, exists, func, or_, select

from trubleu.errors import UsageError
from trubleu.rating.allocation import is_allocated
from trubleu.rating.answers import lock_items, settle
from trubleu.rating.items import Item, competition_ranks, unstorable
from trubleu.rating.raters import get_rater, note
from trubleu.rating.secret import draw
from trubleu.rating.store.database import add_row, get_meta, secret_of
from trubleu.rating.store.schema import assignments, items, log, raters, ratings
from trubleu.rating.store.updates import add_entries, add_entry, change, rating_rows

if TYPE_CHECKING:
    from random import Random

    from trubleu.rating.config import StudyConfig

T = TypeVar("T")

SHUFFLES = 2**31 - 1  # orders are drawn below this

ITEM_LOCKED = select(items).where(items.c.id == bindparam("item")).with_for_update(key_share=True)
_NOT_HAD = ~exists().where(assignments.c.item == items.c.id, assignments.c.rater == bindparam("rater"))
_LEAST = (
    select(items.c.load)
    .where(
        items.c.role == "item",
        items.c.wanted > items.c.load,
        items.c.load < bindparam("most"),  # bounds the index range that is read
        _NOT_HAD,
    )
    .order_by(items.c.load, items.c.shuffle)
    .limit(1)
)
_AT_LEVEL = (
    select(items)
    .where(items.c.role == "item", items.c.load == bindparam("level"), items.c.wanted > items.c.load, _NOT_HAD)
    .order_by(items.c.shuffle)
    .limit(1)
)
_FROM = _AT_LEVEL.where(items.c.shuffle >= bindparam("start"))
_BELOW = _AT_LEVEL.where(items.c.shuffle < bindparam("start"))
_FROM_FREE = _FROM.with_for_update(key_share=True, skip_locked=True)
_BELOW_FREE = _BELOW.with_for_update(key_share=True, skip_locked=True)
_NOT_HAD_OF_ROLE = (
    select(items).where(items.c.role == bindparam("role"), _NOT_HAD).order_by(items.c.position, items.c.id)
)
FIRST_OF_ROLE = _NOT_HAD_OF_ROLE.limit(1)


def gold_item(connection: Connection, config: StudyConfig, rater: int, chance: Random) -> Row[Any] | None:
    """Draw a gold item that the rater has not had, as often as the settings say."""
    if not config.gold.items or chance.random() >= config.gold.share:
        return None
    left = connection.execute(_NOT_HAD_OF_ROLE, {"role": "gold", "rater": rater}).all()
    return chance.choice(left) if left else None


def least_loaded(connection: Connection, config: StudyConfig, rater: int, chance: Random) -> Row[Any] | None:
    """Draw a random item among those with the fewest ratings and leases, and lock it; the first one of an allocation.

    Items locked by another transaction are skipped at first: waiting for them would make raters queue up. Only if
    nothing else is left does it wait, because a locked item may still have room afterwards.
    """
    start = 0 if _in_order(connection, config) else chance.randrange(SHUFFLES)
    open_to = {"rater": rater, "most": config.raters, "start": start}
    while (level := connection.execute(_LEAST, open_to).scalar()) is not None:
        here = {**open_to, "level": level}
        for free in (_FROM_FREE, _BELOW_FREE):
            if (item := connection.execute(free, here).first()) is not None:
                return item
        held = connection.execute(_FROM, here).first() or connection.execute(_BELOW, here).first()
        if held is not None:
            item = connection.execute(ITEM_LOCKED, {"item": held.id}).one()
            if item.role == "item" and item.load < item.wanted:
                return item
    return None


def _in_order(connection: Connection, config: StudyConfig) -> bool:
    return config.allocation == "adaptive" and is_allocated(connection)


_LONGEST_KEY = 100
LONGEST_NOTE = 2000  # maximum characters of a comment
_ANSWERED = ("answered", "unable")
_FOR_EVER = 2**62  # practice tasks never expire


class NoConsentError(UsageError):
    """An answer from a rater who has not consented."""


class ScoresError(UsageError):
    """Scores that do not fit the questions."""


class TooEarlyError(UsageError):
    """An answer before the minimum time for a task.

    Attributes
    ----------
    milliseconds_left
        How long to wait.
    """

    def __init__(self, milliseconds_left: int) -> None:
        super().__init__(f"the answer came too early; wait another {milliseconds_left / 1000:.1f} seconds")
        self.milliseconds_left = milliseconds_left


@dataclass(frozen=True, slots=True)
class Task:
    """A rater's next task.

    Attributes
    ----------
    assignment
        Its number, to be sent with the answer.
    item
        What to show: texts in the order in which this rater sees them, and nothing that gives away where they are from
        or which answer is right.
    answered
        How many tasks this rater has answered, practice apart.
    practice
        Whether this is for practice.
    client_key
        To be sent with the answer, which counts once however often it is sent.
    order
        Which text of the item stands where, counted from 0.
    earlier
        What this rater answered before they took it back, None if they did not.
    """

    assignment: int
    item: Item
    answered: int
    practice: bool
    client_key: str
    order: tuple[int, ...] = (0,)
    earlier: Earlier | None = None

    @property
    def flipped(self) -> bool:
        """Whether the two texts of a pair are swapped."""
        return self.order == (1, 0)


@dataclass(frozen=True, slots=True)
class Earlier:
    """An answer that was undone.

    Attributes
    ----------
    scores
        In the order in which the rater sees the texts; None for "cannot judge".
    note
        The comment, or why they could not judge.
    """

    scores: tuple[int | None, ...] | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A rater's answer to a task, as `Study.answer` takes it; the scores are None for "cannot judge"."""

    task: int
    key: str
    scores: tuple[int | None, ...] | None
    milliseconds: int | None
    note: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an answer.

    Attributes
    ----------
    counted
        Whether it is one of the ratings that the item needed.
    repeated
        Whether it was there already, so that nothing was done.
    practice
        Whether it was for practice.
    right
        For practice, whether the scores were accepted, if it is known which are.
    feedback
        For practice, what the rater is to read, as Markdown.
    different
        Whether it was there already with other scores, which stay.
    """

    counted: bool
    repeated: bool
    practice: bool = False
    right: bool | None = None
    feedback: str = ""
    different: bool = False


# Expired; or so far ahead that the clock must have been set back since.
_OVER = (
    assignments.c.lease_until < bindparam("now"),
    assignments.c.lease_until.between(bindparam("ahead"), _FOR_EVER - 1),
)
_LATE = select(assignments.c.id, assignments.c.item).where(assignments.c.state == "leased", or_(*_OVER)).limit(500)
_FIRST_LATE = select(assignments.c.id).where(assignments.c.state == "leased", _OVER[0]).limit(1)
_TASK = select(assignments, items.c.key, items.c.payload, items.c.role, items.c.parts).join(
    items, items.c.id == assignments.c.item
)
_HELD = (
    _TASK.where(assignments.c.rater == bindparam("rater"), assignments.c.state == "leased", items.c.role != "retired")
    # There is more than one only after an undo; the undone task comes first.
    .order_by((assignments.c.turn > 0).desc(), assignments.c.lease_until.desc(), assignments.c.id)
    .limit(1)
)
_HELD_TASK = _TASK.where(assignments.c.id == bindparam("assignment"))
_LOST = (
    _TASK.where(
        assignments.c.rater == bindparam("rater"),
        assignments.c.state == "expired",
        (items.c.role == "gold") | ((items.c.role == "item") & (items.c.load < items.c.wanted)),
    )
    .order_by(assignments.c.id)
    .limit(1)
)
_ITEM_OF_LOCKED = (
    select(items)
    .where(
        items.c.id
        == select(assignments.c.item)
        .where(assignments.c.id == bindparam("assignment"), assignments.c.rater == bindparam("rater"))
        .scalar_subquery()
    )
    .with_for_update(key_share=True)
)
_ASSIGNMENT = select(assignments).where(assignments.c.id == bindparam("assignment"))
_BY_KEY = select(log.c.assignment, log.c.counted, log.c.scores, log.c.note).where(log.c.client_key == bindparam("key"))
_COUNTED = select(ratings.c.counted).where(
    ratings.c.item == bindparam("item"),
    ratings.c.rater == bindparam("rater"),
    ratings.c.part == 0,
    ratings.c.question == 0,
)
_ADD_RATINGS = ratings.insert()


def release_late(connection: Connection, config: StudyConfig, *, now: int) -> int:
    """Release tasks that were not answered in time, and return their number."""
    # The clocks of several machines may differ by up to the length of a lease.
    times = {"now": now, "ahead": now + 2 * _lease(config) + 1}
    late = connection.execute(_LATE, times).all()
    if not late:
        return 0
    held = [row.item for row in late]
    lock_items(connection, held)
    mine = assignments.c.id.in_([row.id for row in late])
    expire = assignments.update().where(mine, assignments.c.state == "leased", or_(*_OVER)).values(state="expired")
    released = connection.execute(expire, times).rowcount
    settle(connection, held, now=now)
    return released


def _lease(config: StudyConfig) -> int:
    """Return the length of a lease in milliseconds."""
    return round(config.lease_minutes * 60_000)


def _until(config: StudyConfig, role: str, now: int) -> int:
    return _FOR_EVER if role == "practice" else now + _lease(config)


def assign(connection: Connection, config: StudyConfig, rater: int, *, now: int) -> Task | Literal["late"] | None:
    """Assign a rater's next task (see `Study.assign`), or ask the caller to release late ones first.

    Releasing needs its own transaction: it locks many items, and must not wait for another lock while it does.
    """
    if connection.execute(_FIRST_LATE, {"now": now}).first() is not None:
        return "late"
    person = get_rater(connection, rater, lock=True)
    if person.excluded or person.erased_at is not None or _lacks_consent(config, person):
        return None
    if get_meta(connection, "state") == "paused":
        return None
    held = connection.execute(_HELD, {"rater": rater}).first()
    if held is not None:
        return _taken_up(connection, config, held, person, now)
    if not person.practice_done:
        if (item := connection.execute(FIRST_OF_ROLE, {"role": "practice", "rater": rater}).first()) is not None:
            return _handed_out(connection, config, item, person, now)
        change(connection, raters, person, practice_done=True)
        person = get_rater(connection, rater, lock=True)
    if config.most_ratings_per_rater is not None and person.rated >= config.most_ratings_per_rater:
        return None
    lost = connection.execute(_LOST, {"rater": rater}).first()
    if lost is not None and (task := _taken_up(connection, config, lost, person, now)) is not None:
        return task
    chance = draw(secret_of(connection), config.seed, rater, person.had)
    item = gold_item(connection, config, rater, chance) or least_loaded(connection, config, rater, chance)
    return None if item is None else _handed_out(connection, config, item, person, now)


def _lacks_consent(config: StudyConfig, person: Row[Any]) -> bool:
    return config.consent is not None and person.consented_at is None


def _taken_up(connection: Connection, config: StudyConfig, own: Row[Any], person: Row[Any], now: int) -> Task | None:
    """Renew the lease of a rater's own task, or assign an expired one again if the item still has room."""
    lost = own.state == "expired"
    # Not on every page load: a recent lease need not be written again. A task from the future was shown before the
    # clock was set back, and its time restarts.
    if lost or own.lease_until - now < _lease(config) // 2 or own.shown_at > now:
        item = connection.execute(ITEM_LOCKED, {"item": own.item}).one()
        fresh = connection.execute(_ASSIGNMENT, {"assignment": own.id}).one()
        if fresh.state == "expired" and item.role == "item":
            if lost and item.load >= item.wanted:
                return None
            change(connection, items, item, load=item.load + 1)
        until, shown_at = _until(config, item.role, now), now if lost else min(fresh.shown_at, now)
        change(connection, assignments, fresh, state="leased", lease_until=until, shown_at=shown_at)
    return _task(connection, own, person)


def _handed_out(connection: Connection, config: StudyConfig, item: Row[Any], person: Row[Any], now: int) -> Task:
    chance = draw(secret_of(connection), config.seed, person.id, person.had, item.id)
    flipped = item.parts == 2 and chance.random() < 0.5
    until = _until(config, item.role, now)
    row = {"item": item.id, "rater": person.id, "state": "leased", "lease_until": until, "shown_at": now}
    number = add_row(connection, assignments, {**row, "flipped": flipped, "turn": 0})
    if item.role == "item":
        shuffle = item.shuffle if _in_order(connection, config) else chance.randrange(SHUFFLES)
        change(connection, items, item, load=item.load + 1, shuffle=shuffle)
    if item.role != "practice":
        change(connection, raters, person, had=person.had + 1)
    order = shown_order(secret_of(connection), item.parts, item.id, person.id, flipped)
    return _shown(number, item, order, 0, person.answered)


def _task(connection: Connection, held: Row[Any], person: Row[Any]) -> Task:
    order = shown_order(secret_of(connection), held.parts, held.item, person.id, held.flipped)
    task = _shown(held.id, held, order, held.turn, person.answered)
    if not held.turn:
        return task
    key = f"{person.id}:{held.id}-{held.turn - 1}"
    row = connection.execute(_BY_KEY, {"key": key}).first()
    if row is None or row.assignment != held.id:
        return task
    scores = None if row.scores is None else tuple(json.loads(row.scores))
    return replace(task, earlier=Earlier(scores and arranged(scores, order), row.note))


def shown_order(secret: str, parts: int, item: int, rater: int, flipped: bool) -> tuple[int, ...]:
    """Return the order in which a rater sees the texts of an item: drawn once, and the same on every visit.

    For one or two texts it is stored with the assignment; for more it is derived from the secret.
    """
    order = [*range(parts)]
    if parts > 2:
        draw(secret, "order", item, rater).shuffle(order)
    return tuple(order[::-1] if flipped else order)


def arranged(scores: tuple[T, ...], order: tuple[int, ...]) -> tuple[T, ...]:
    """Reorder scores to match another order of the texts.

    Examples
    --------
    >>> arranged((1, 2, 3, 4), (1, 0)), arranged((1, 2, 3), (2, 0, 1))
    ((3, 4, 1, 2), (3, 1, 2))
    """
    each = len(scores) // len(order)
    return tuple(score for part in order for score in scores[part * each : (part + 1) * each])


def _shown(assignment: int, item: Row[Any], order: tuple[int, ...], turn: int, answered: int) -> Task:
    whole = Item.from_json(item.key, item.payload)
    practice = item.role == "practice"
    texts = tuple(whole.texts[part] for part in order)
    # Gold items look like all others.
    role = whole.role if practice else "item"
    blind = replace(whole, texts=texts, systems=(), accepted=None, feedback="", role=role, extra={})
    return Task(assignment, blind, answered, practice, f"{assignment}-{turn}", order)


def answer(connection: Connection, config: StudyConfig, rater: int, given: Answer, *, now: int) -> Outcome:
    """Store an answer (see `Study.answer`)."""
    assignment = given.task
    person = get_rater(connection, rater, lock=True)
    if _lacks_consent(config, person):
        raise NoConsentError("an answer came before consent, and was not kept; agree first")
    # Keys are per rater: nobody can use up another rater's.
    own_key = f"{rater}:{given.key}"
    before = connection.execute(_BY_KEY, {"key": own_key}).first()
    item = connection.execute(_ITEM_OF_LOCKED, {"assignment": assignment, "rater": rater}).first()
    if item is None:
        raise UsageError(f"there is no task {assignment} for this rater; take the next one")
    task = connection.execute(_ASSIGNMENT, {"assignment": assignment}).one()
    order = shown_order(secret_of(connection), item.parts, item.id, rater, task.flipped)
    places = tuple(sorted(range(item.parts), key=order.__getitem__))
    true_order = given.scores and arranged(given.scores, places)
    if before is not None:
        if before.assignment != assignment:
            raise UsageError(f"the answer to task {assignment} has the key of another answer; send it with its own")
        different = before.scores != (None if true_order is None else json.dumps(true_order))
        return replace(_outcome(item, true_order, counted=bool(before.counted), repeated=True), different=different)
    if task.state in _ANSWERED:
        counted = connection.execute(_COUNTED, {"item": item.id, "rater": rater}).scalar()
        return _outcome(item, true_order, counted=bool(counted), repeated=True)
    measured = max(now - task.shown_at, 0)
    early = round(config.minimum_seconds * 1000) - measured
    if early > 0 and item.role != "practice":
        raise TooEarlyError(early)
    counted = true_order is not None and item.role == "item" and not person.excluded and item.counted < item.wanted
    times = {"milliseconds": measured, "client_milliseconds": given.milliseconds}
    if true_order is not None:
        common = {"item": item.id, "rater": rater, "counted": counted, "answered_at": now, **times}
        connection.execute(_ADD_RATINGS, rating_rows(true_order, len(config.questions), common))
    state = "unable" if true_order is None else "answered"
    change(connection, assignments, task, state=state, before=person.last)
    if item.role != "practice":
        rated = person.rated + (item.role == "item" and true_order is not None)
        answered = person.answered + 1
        change(connection, raters, person, answered=answered, rated=rated, last=assignment, break_at=None)
    entry = {
        "at": now, "kind": state, "rater": rater, "item": item.id, "assignment": assignment, "flipped": task.flipped,
        "scores": None if true_order is None else json.dumps(true_order), "counted": counted, "client_key": own_key,
        "note": given.note or None, **times,
    }  # fmt: skip
    tip = add_entry(connection, entry, item.tip)
    load = item.load - (task.state == "leased") + counted if item.role == "item" else item.load
    change(connection, items, item, load=load, counted=item.counted + counted, tip=tip)
    return _outcome(item, true_order, counted=counted, repeated=False)


def checked_scores(config: StudyConfig, scores: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Return the scores of an answer; in a ranking, as competition ranks.

    Raises
    ------
    ScoresError
        If they do not fit the questions.
    """
    slots = config.slots
    if len(scores) != len(slots):
        raise ScoresError(f"there are {len(scores)} scores, but the study has {len(slots)} per item")
    for (_, _, question), score in zip(slots, scores, strict=True):
        if score is not None and (type(score) is not int or not 1 <= score <= question.points):
            named = f" for {question.name}" if question.name else ""
            raise ScoresError(f"a score{named} must be a whole number from 1 to {question.points}, not {score!r}")
        if score is None and question.required:
            raise ScoresError(f"the question {question.name or question.text!r} must be answered")
    if all(score is None for score in scores):
        raise ScoresError("no question is answered")
    return competition_ranks([score or 0 for score in scores]) if config.kind == "ranking" else scores


def check_answer(key: str, milliseconds: int | None, text: str | None) -> None:
    """Raise an error for what cannot be stored with an answer."""
    if text is not None and (len(text) > LONGEST_NOTE or unstorable(text)):
        raise UsageError(f"a comment may have {LONGEST_NOTE:,} characters, without NUL or half a surrogate pair")
    if not key.isascii() or not key.isprintable() or not 1 <= len(key) <= _LONGEST_KEY:
        raise UsageError(f"the key of an answer must be 1 to {_LONGEST_KEY} plain characters")
    if milliseconds is not None and not 0 <= milliseconds < 2**53:
        raise UsageError(f"the time that an answer took must be a number of milliseconds, not {milliseconds}")


def _outcome(item: Row[Any], scores: tuple[int | None, ...] | None, *, counted: bool, repeated: bool) -> Outcome:
    if item.role != "practice":
        return Outcome(counted, repeated)
    whole = Item.from_json(item.key, item.payload)
    return Outcome(counted, repeated, practice=True, right=_is_right(whole, scores), feedback=whole.feedback)


def _is_right(item: Item, scores: tuple[int | None, ...] | None) -> bool | None:
    if item.accepted is None:
        return None
    if scores is None or len(scores) != len(item.accepted):
        return False
    pairs = zip(scores, item.accepted, strict=True)
    return all(span is None or (score is not None and span[0] <= score <= span[1]) for score, span in pairs)


def undo(connection: Connection, config: StudyConfig, rater: int, wanted: int | None, *, now: int) -> Task | None:
    """Undo a rater's last answer (see `Study.undo`)."""
    person = get_rater(connection, rater, lock=True)
    if person.excluded or person.erased_at is not None:
        return None
    if person.last is None or wanted not in (None, person.last):
        undone = connection.execute(_HELD.where(assignments.c.turn > 0), {"rater": rater}).first()
        return None if undone is None else _task(connection, undone, person)
    item = connection.execute(_ITEM_OF_LOCKED, {"assignment": person.last, "rater": rater}).one()
    task = connection.execute(_ASSIGNMENT, {"assignment": person.last}).one()
    connection.execute(ratings.delete().where(ratings.c.item == item.id, ratings.c.rater == rater))
    until = _until(config, item.role, now)
    change(connection, assignments, task, state="leased", lease_until=until, turn=task.turn + 1, shown_at=now)
    entry = {
        "at": now, "kind": "undone", "rater": rater, "item": item.id, "assignment": task.id, "flipped": task.flipped
    }  # fmt: skip
    add_entries(connection, [entry])
    rated = person.rated - (item.role == "item" and task.state == "answered")
    change(connection, raters, person, answered=person.answered - 1, rated=rated, last=task.before)
    if item.role == "item":
        settle(connection, [item.id], now=now)
    held = connection.execute(_HELD_TASK, {"assignment": task.id}).one()
    return _task(connection, held, get_rater(connection, rater, lock=True))


def set_break(connection: Connection, config: StudyConfig, rater: int, *, begins: bool, now: int) -> None:
    """Record the start or end of a rater's break: the time of the current task then restarts."""
    person = get_rater(connection, rater, lock=True)
    if (person.break_at is None) != begins:
        return
    connection.execute(raters.update().where(raters.c.id == rater).values(break_at=now if begins else None))
    note(connection, "break" if begins else "back", rater, now)
    held = None if begins else connection.execute(_HELD, {"rater": rater}).first()
    if held is not None:
        connection.execute(ITEM_LOCKED, {"item": held.item}).one()
        fresh = connection.execute(_ASSIGNMENT, {"assignment": held.id}).one()
        if fresh.state == "leased":
            change(connection, assignments, fresh, lease_until=_until(config, held.role, now), shown_at=now)


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a rater who cannot be given a task at the moment.

    Attributes
    ----------
    finished
        Whether they are done, and get the completion code.
    judged
        Whether they rated anything in this study: not for practice, not only "cannot judge", not in another study.
    open
        Whether tasks may still come: items lack ratings that this rater has not answered, but others have them now.
    minutes_left
        In how many minutes they are done even if tasks may still come, None if they are not or have rated nothing.
    """

    finished: bool
    judged: bool
    open: bool
    minutes_left: int | None


_OWN = assignments.c.rater == bindparam("rater")
_JUDGED = (
    select(assignments.c.id)
    .join(items, items.c.id == assignments.c.item)
    .where(
        _OWN,
        assignments.c.state == "answered",
        items.c.role.in_(("item", "gold")),
        # Imported and carried answers have the time of the answer, as no task was assigned.
        assignments.c.lease_until > assignments.c.shown_at,
    )
    .limit(1)
)
_OPEN = (
    select(items.c.id)
    .where(
        items.c.role == "item",
        items.c.counted < items.c.wanted,
        ~exists().where(assignments.c.item == items.c.id, _OWN, assignments.c.state.in_(("answered", "unable"))),
    )
    .limit(1)
)
_LAST_AT = select(func.max(ratings.c.answered_at)).where(ratings.c.rater == bindparam("rater"))


def standing(connection: Connection, config: StudyConfig, rater: int, *, now: int) -> Standing:
    """Return the state of a rater who was just given no task.

    A rater who has rated something is done if they have reached the maximum number of items, if no item is open to
    them, or if the open ones have been leased to others for a full lease since this rater's last rating: nobody has to
    wait longer for raters who do not continue.

    Parameters
    ----------
    connection
        To the store.
    config
        The settings.
    rater
        The rater's number.
    now
        The time in milliseconds since 1970.
    """
    who = {"rater": rater}
    judged = connection.execute(_JUDGED, who).first() is not None
    most = config.most_ratings_per_rater
    reached = most is not None and get_rater(connection, rater).rated >= most
    is_open = not reached and connection.execute(_OPEN, who).first() is not None
    if not judged or not is_open:
        return Standing(judged, judged, is_open, None)
    last_at = connection.execute(_LAST_AT, who).scalar() or 0
    left = last_at + _lease(config) - now
    return Standing(left <= 0, True, True, max(1, math.ceil(left / 60_000)) if left > 0 else None)
