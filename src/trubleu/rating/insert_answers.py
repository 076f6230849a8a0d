"""Insert answers that were collected elsewhere into the store."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from trubleu.rating.items import Item
from trubleu.rating.quota import lock_items, settle
from trubleu.rating.store.schema import assignments, items, raters, ratings
from trubleu.rating.store.updates import add_entries, batches, rating_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row


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


def items_by_key(connection: Connection, role: str = "item") -> dict[str, tuple[int, Item]]:
    """Return the items of a role with their numbers, by key."""
    rows = connection.execute(select(items.c.id, items.c.key, items.c.payload).where(items.c.role == role))
    return {row.key: (row.id, Item.from_json(row.key, row.payload)) for row in rows}


def answers_there(connection: Connection) -> dict[tuple[int, int], tuple[int | None, ...] | None]:
    """Return the existing scores by item and rater number; None if the item was assigned without a score."""
    there: dict[tuple[int, int], tuple[int | None, ...] | None] = {
        (row.item, row.rater): None for row in connection.execute(select(assignments.c.item, assignments.c.rater))
    }
    given = select(ratings.c.item, ratings.c.rater, ratings.c.score).order_by(ratings.c.part, ratings.c.question)
    for row in connection.execute(given):
        there[row.item, row.rater] = (*(there.get((row.item, row.rater)) or ()), row.score)
    return there


def take_answers(
    connection: Connection, answers: Sequence[TakenAnswer], *, questions: int, kind: str, source: str, now: int
) -> int:
    """Add answers, uncounted at first, then count those within the quota; return how many count."""
    if not answers:
        return 0
    touched = sorted({answer.item for answer in answers})
    _count_tasks(connection, answers)
    lock_items(connection, touched)
    connection.execute(
        assignments.insert(),
        [
            {
                "item": answer.item,
                "rater": answer.rater,
                "state": "unable" if answer.scores is None else "answered",
                "flipped": answer.flipped,
                "turn": 0,
                "lease_until": answer.answered_at,
                "shown_at": answer.answered_at,
            }
            for answer in answers
        ],
    )
    given, entries = [], []
    for answer in answers:
        names = ("item", "rater", "answered_at", "milliseconds", "client_milliseconds")
        common = {**{name: getattr(answer, name) for name in names}, "counted": False}
        given += rating_rows(answer.scores or (), questions, common)
        scores = None if answer.scores is None else json.dumps(answer.scores)
        noted = {"at": now, "kind": kind, "scores": scores, "flipped": answer.flipped, "note": answer.note or source}
        entries.append(common | noted)
    if given:
        connection.execute(ratings.insert(), given)
    add_entries(connection, entries)
    settle(connection, touched, now=now)
    pairs = {(answer.item, answer.rater) for answer in answers}
    return sum(
        (row.item, row.rater) in pairs
        for some_items in batches(touched)
        for row in connection.execute(
            select(ratings.c.item, ratings.c.rater).where(
                ratings.c.item.in_(some_items), ratings.c.counted, ratings.c.part == 0, ratings.c.question == 0
            )
        )
    )


def take_back(connection: Connection, task: Row[Any], *, now: int) -> None:
    """Retract an answer without judgement, so another answer can replace it."""
    lock_items(connection, [task.item])
    connection.execute(assignments.delete().where(assignments.c.id == task.id))
    fewer = {"had": raters.c.had - 1, "answered": raters.c.answered - 1}
    connection.execute(raters.update().where(raters.c.id == task.rater).values(**fewer))
    entry = {"at": now, "kind": "undone", "rater": task.rater, "item": task.item, "flipped": task.flipped}
    add_entries(connection, [entry])


def _count_tasks(connection: Connection, answers: Sequence[TakenAnswer]) -> None:
    given: dict[int, list[bool]] = {}
    for answer in answers:
        given.setdefault(answer.rater, []).append(answer.scores is not None and not answer.gold)
    for rater, rated in sorted(given.items()):
        connection.execute(
            raters.update()
            .where(raters.c.id == rater)
            .values(
                had=raters.c.had + len(rated),
                answered=raters.c.answered + len(rated),
                rated=raters.c.rated + sum(rated),
            )
        )
