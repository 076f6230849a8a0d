"""Answers in the store: which of them count, and how those that were collected elsewhere are added.

Ratings of excluded raters never count, and those of models only if the study says so. Ratings that already count keep
counting; the remaining quota of an item goes to the oldest of the others.

A transaction that changes an item locks its row until it ends. In PostgreSQL, locks are taken in this order: the study,
one rater, then items by number. This avoids deadlocks.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, bindparam, case, func, select

from trubleu.rating.store.database import get_meta
from trubleu.rating.store.schema import MODEL, MODELS_COUNT, assignments, items, raters, ratings
from trubleu.rating.store.updates import add_entries, batches, rating_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_LOCK = (
    select(items.c.id, items.c.role, items.c.wanted)
    .where(items.c.id.in_(bindparam("items", expanding=True)))
    .order_by(items.c.id)
    .with_for_update(key_share=True)
)
_FIRST = (ratings.c.part == 0, ratings.c.question == 0)  # the scores of an answer count together
_ANSWERS = (
    select(
        ratings.c.id,
        ratings.c.item,
        ratings.c.rater,
        ratings.c.counted,
        case((raters.c.entry == bindparam("never"), True), else_=raters.c.excluded).label("excluded"),
    )
    .join(raters, raters.c.id == ratings.c.rater)
    .where(ratings.c.item.in_(bindparam("items", expanding=True)), *_FIRST)
    .order_by(ratings.c.item, ratings.c.id)
)
_LEASES = (
    select(assignments.c.item, func.count())
    .where(assignments.c.item.in_(bindparam("items", expanding=True)), assignments.c.state == "leased")
    .group_by(assignments.c.item)
)
_SET_RATING = (
    ratings.update()
    .where(ratings.c.item == bindparam("of_item"), ratings.c.rater == bindparam("of_rater"))
    .values(counted=bindparam("now_counted"))
)
_SET_ITEM = (
    items.update()
    .where(items.c.id == bindparam("of_item"))
    .values(counted=bindparam("now_counted"), load=bindparam("now_load"))
)


def settle(connection: Connection, numbers: Iterable[int], *, now: int) -> None:
    """Update which answers to some items count, and the counters of the items; log each change.

    Parameters
    ----------
    connection
        In a transaction that writes.
    numbers
        The items.
    now
        The time in milliseconds.
    """
    for some_items in batches(sorted(set(numbers))):
        rows = connection.execute(_LOCK, {"items": some_items}).all()
        never = "" if get_meta(connection, MODELS_COUNT) == "true" else MODEL  # once nobody else can change it
        answers: defaultdict[int, list[Any]] = defaultdict(list)
        for row in connection.execute(_ANSWERS, {"items": some_items, "never": never}):
            answers[row.item].append(row)
        leases = {item: count for item, count in connection.execute(_LEASES, {"items": some_items})}  # noqa: C416 - rows, not pairs
        changed_ratings, changed_items, entries = [], [], []
        for item in rows:
            # Counted answers keep counting within the quota; the remaining quota goes to the oldest of the others.
            allowed = [answer for answer in answers[item.id] if not answer.excluded and item.role == "item"]
            by_right = sorted(allowed, key=lambda answer: (not answer.counted, answer.id))
            counts = {answer.rater for answer in by_right[: item.wanted]}
            for answer in answers[item.id]:
                if answer.counted == (answer.rater in counts):
                    continue
                counted = not answer.counted
                changed_ratings.append({"of_item": item.id, "of_rater": answer.rater, "now_counted": counted})
                entry = {"at": now, "kind": "counted" if counted else "uncounted", "rater": answer.rater}
                entries.append({**entry, "item": item.id, "counted": counted})
            load = len(counts) + leases.get(item.id, 0) if item.role == "item" else 0
            changed_items.append({"of_item": item.id, "now_counted": len(counts), "now_load": load})
        if changed_ratings:
            connection.execute(_SET_RATING, changed_ratings)
            add_entries(connection, entries)
        connection.execute(_SET_ITEM, changed_items)


def lock_items(connection: Connection, numbers: Iterable[int]) -> None:
    """Lock items until the transaction ends."""
    for some_items in batches(sorted(set(numbers))):
        connection.execute(_LOCK, {"items": some_items}).all()


@dataclass(frozen=True, slots=True)
class TakenAnswer:
    """An answer as stored; the scores are None if the rater could not judge.

    The durations are those of the server's clock, and as reported by the browser or a file.
    """

    item: int
    rater: int
    scores: tuple[int | None, ...] | None
    flipped: bool
    answered_at: int
    milliseconds: int | None
    client_milliseconds: int | None
    gold: bool = False
    note: str | None = None  # replaces the common source note


def take_answers(
    connection: Connection, answers: Sequence[TakenAnswer], *, questions: int, kind: str, source: str, now: int
) -> None:
    """Add answers that were collected elsewhere, uncounted at first, then count those within the quota."""
    if not answers:
        return
    touched = sorted({answer.item for answer in answers})
    _count_tasks(connection, answers)
    lock_items(connection, touched)
    tasks, given, entries = [], [], []
    for answer in answers:
        whose = {"item": answer.item, "rater": answer.rater}
        state, scores = ("unable", None) if answer.scores is None else ("answered", json.dumps(answer.scores))
        times = dict.fromkeys(("lease_until", "shown_at"), answer.answered_at)
        tasks.append({**whose, "state": state, "flipped": answer.flipped, "turn": 0, **times})
        names = ("answered_at", "milliseconds", "client_milliseconds")
        common = {**whose, **{name: getattr(answer, name) for name in names}, "counted": False}
        given += rating_rows(answer.scores or (), questions, common)
        noted = {"at": now, "kind": kind, "scores": scores, "flipped": answer.flipped, "note": answer.note or source}
        entries.append(common | noted)
    connection.execute(assignments.insert(), tasks)
    if given:
        connection.execute(ratings.insert(), given)
    add_entries(connection, entries)
    settle(connection, touched, now=now)


def number_counted(connection: Connection, answers: Iterable[TakenAnswer]) -> int:
    """Return how many of the answers count."""
    pairs = {(answer.item, answer.rater) for answer in answers}
    counting = select(ratings.c.item, ratings.c.rater).where(ratings.c.counted, *_FIRST)
    return sum((row.item, row.rater) in pairs for row in connection.execute(counting))


def take_back(connection: Connection, task: Row[Any], *, now: int) -> None:
    """Retract an answer without judgement, so another answer can replace it."""
    lock_items(connection, [task.item])
    connection.execute(assignments.delete().where(assignments.c.id == task.id))
    fewer = {"had": raters.c.had - 1, "answered": raters.c.answered - 1}
    connection.execute(raters.update().where(raters.c.id == task.rater).values(**fewer))
    entry = {"at": now, "kind": "undone", "rater": task.rater, "item": task.item, "flipped": task.flipped}
    add_entries(connection, [entry])


def _count_tasks(connection: Connection, answers: Iterable[TakenAnswer]) -> None:
    had = Counter(answer.rater for answer in answers)
    rated = Counter(answer.rater for answer in answers if answer.scores is not None and not answer.gold)
    for rater, number in sorted(had.items()):
        more = {"had": number, "answered": number, "rated": rated[rater]}
        values = {name: raters.c[name] + added for name, added in more.items()}
        connection.execute(raters.update().where(raters.c.id == rater).values(values))
