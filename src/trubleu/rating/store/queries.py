"""Queries: the content of a study as plain rows, for summaries, exports and checks."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, func, select

from trubleu.rating.items import Item
from trubleu.rating.store.schema import MODEL, assignments, items, log, raters, ratings
from trubleu.rating.store.updates import ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item and its progress.

    Attributes
    ----------
    id
        Its number in the store.
    item
        The item.
    role
        ``item``, ``gold``, ``practice``, or ``retired`` for gold and practice items that the settings no longer have.
    position
        Its place in the file that the study was made from, counted from 0.
    wanted, counted
        How many ratings it is to have, and has; one of both parts of a pair is one.
    load
        Counted ratings and tasks that somebody has before them now.
    unable
        How many people could not judge it.
    """

    id: int
    item: Item
    role: str
    position: int
    wanted: int
    counted: int
    load: int
    unable: int


@dataclass(frozen=True, slots=True)
class RatingRow:
    """One score, with its item and rater.

    Attributes
    ----------
    item
        What was rated (see `StoredItem`).
    part, question
        Which text of the item and which question about it, counted from 0.
    rater
        The rater's number.
    rater_name
        What to call the rater.
    excluded
        Whether the rater's ratings are left out.
    score
        From 1 to the points of the question; None if the question was left out.
    counted
        Whether it is one of the ratings that the item needed; never for gold and practice.
    answered_at
        In milliseconds since 1970.
    milliseconds, client_milliseconds
        How long the answer took: by the server's clock since it handed out the task, and as the rater's browser or an
        imported file says; None if not known.
    flipped
        Whether the rater saw the texts of a pair in reverse order.
    model
        Whether the rater is a model.
    """

    item: StoredItem
    part: int
    question: int
    rater: int
    rater_name: str
    excluded: bool
    score: int | None
    counted: bool
    answered_at: int
    milliseconds: int | None
    client_milliseconds: int | None
    flipped: bool
    model: bool = False

    @property
    def key(self) -> str:
        """The item's key."""
        return self.item.item.key

    @property
    def text(self) -> tuple[int, int]:
        """What was rated: the item by its number, and which of its texts."""
        return self.item.id, self.part

    @property
    def seconds(self) -> float | None:
        """How long the answer took: by the server's clock, else as was said with it; None if unknown."""
        taken = self.client_milliseconds if self.milliseconds is None else self.milliseconds
        return None if taken is None else taken / 1000

    @property
    def first(self) -> bool:
        """Whether this row represents the whole answer: the score of its first text and question."""
        return not self.part and not self.question

    @property
    def role(self) -> str:
        """The item's role."""
        return self.item.role

    @property
    def system(self) -> str | None:
        """The system that wrote the text, in a study of pairs."""
        systems = self.item.item.systems
        return systems[self.part] if systems else None


@dataclass(frozen=True, slots=True)
class LogRow:
    """A log entry.

    Attributes
    ----------
    id
        Its number; a later entry about the same item or rater has a larger one.
    at
        When, in milliseconds since 1970.
    kind
        ``answered``, ``unable``, ``undone``, ``counted`` and ``uncounted`` (an answer that was there begins or ceases
        to count), ``carried`` and ``imported`` (an answer from elsewhere), ``excluded``, ``readmitted``, ``erased``,
        ``joined``, ``new link``, ``consented``, ``instructed``, ``break``, ``back``, ``paused``, ``resumed``,
        ``raters``, ``allocated`` (the chance and the rank of an item, in the note).
    rater, item, assignment
        Numbers of what it is about, None where there is none.
    scores
        Text by text in the item's order, for each text question by question, None for those that were left out; None if
        it is no answer or nothing could be judged.
    flipped
        Whether the rater saw the texts in reverse order.
    milliseconds, client_milliseconds
        How long the answer took: by the server's clock since it handed out the task, and as the rater's browser or an
        imported file says.
    answered_at
        When the answer was given, where that is not ``at``.
    counted
        Whether the answer counted at that time.
    note
        A reason (also why somebody could not judge), a comment, or where an answer came from.
    """

    id: int
    at: int
    kind: str
    rater: int | None
    item: int | None
    assignment: int | None
    scores: tuple[int | None, ...] | None
    flipped: bool | None
    milliseconds: int | None
    client_milliseconds: int | None
    answered_at: int | None
    counted: bool | None
    note: str | None


def stored_items(connection: Connection) -> list[StoredItem]:
    """Return all items: those to be rated in file order, then practice and gold."""
    given_up = (
        select(assignments.c.item, func.count())
        .join(raters, raters.c.id == assignments.c.rater)
        .where(assignments.c.state == "unable", raters.c.entry != MODEL)
    )
    unable = {item: count for item, count in connection.execute(given_up.group_by(assignments.c.item))}  # noqa: C416
    rows = connection.execute(select(items).order_by(items.c.role != "item", items.c.position, items.c.id))
    return [
        StoredItem(
            item=Item.from_json(row.key, row.payload),
            unable=unable.get(row.id, 0),
            **{name: getattr(row, name) for name in ("id", "role", "position", "wanted", "counted", "load")},
        )
        for row in rows
    ]


_RATING = (
    "part", "question", "rater", "excluded", "score", "counted", "answered_at", "milliseconds", "client_milliseconds",
    "flipped",
)  # fmt: skip


def table(connection: Connection) -> list[RatingRow]:
    """Return all current scores, ordered by item, rater and text."""
    stored = stored_items(connection)
    by_id = {item.id: item for item in stored}
    place = {item.id: at for at, item in enumerate(stored)}
    given = (
        select(ratings, raters.c.label, raters.c.excluded, raters.c.entry, assignments.c.flipped)
        .join(raters, raters.c.id == ratings.c.rater)
        .join(assignments, (assignments.c.item == ratings.c.item) & (assignments.c.rater == ratings.c.rater))
    )
    rows = [
        RatingRow(
            item=by_id[row.item],
            rater_name=row.label or f"rater {row.rater}",
            model=row.entry == MODEL,
            **{name: getattr(row, name) for name in _RATING},
        )
        for row in connection.execute(given)
    ]
    rows.sort(key=lambda row: (place[row.item.id], row.rater, row.part, row.question))
    return rows


def scores_by_answer(
    connection: Connection, *where: ColumnElement[bool]
) -> dict[tuple[int, int], tuple[float | None, ...]]:
    """Return the scores of answers, by item and rater; one per text and question."""
    found: defaultdict[tuple[int, int], list[int | None]] = defaultdict(list)
    given = select(ratings.c.item, ratings.c.rater, ratings.c.score).join(raters, raters.c.id == ratings.c.rater)
    for row in connection.execute(given.where(*where).order_by(ratings.c.part, ratings.c.question)):
        found[row.item, row.rater].append(row.score)
    return {pair: tuple(scores) for pair, scores in found.items()}


def model_scores(connection: Connection) -> dict[tuple[int, int], tuple[float | None, ...]]:
    """Return the fractional scores of models, by item and rater; one per text and question."""
    found = scores_by_answer(connection, raters.c.entry == MODEL)
    # Answers carried over from another study have only integer scores.
    said = select(log.c.item, log.c.rater, log.c.note).where(log.c.kind == MODEL).order_by(log.c.id)
    return found | {(row.item, row.rater): tuple(json.loads(row.note)["scores"]) for row in connection.execute(said)}


def comments(connection: Connection) -> dict[tuple[int, int], str]:
    """Return what raters wrote with their last answers, by item and rater: people's comments, models' reasons."""
    said = select(log.c.item, log.c.rater, log.c.kind, log.c.flipped, log.c.note).order_by(log.c.id)
    rows = connection.execute(said.where(log.c.kind.in_(("answered", MODEL))))
    return {
        (row.item, row.rater): _reasons(row.note, flipped=row.flipped) if row.kind == MODEL else row.note or ""
        for row in rows
    }


def _reasons(note: str, *, flipped: bool) -> str:
    """Return the reasons in a log entry of a model, and whether "first" in them is the second text."""
    said = " | ".join(json.loads(note).get("reasons", ()))
    return f"(texts in reverse order) {said}" if said and flipped else said


def log_rows(connection: Connection) -> Iterator[LogRow]:
    """Yield the log from its beginning."""
    return (log_row(*row) for row in connection.execute(select(log.c.id, *ENTRY_COLUMNS).order_by(log.c.id)))


ENTRY_COLUMNS = tuple(log.c[name] for name in ENTRY)


def log_row(number: int, *values: Any) -> LogRow:
    """Create an entry from the number and the hashed columns of a log row."""
    entry = dict(zip(ENTRY, values, strict=True))
    del entry["client_key"]
    if entry["scores"] is not None:
        entry["scores"] = tuple(json.loads(entry["scores"]))
    return LogRow(number, **entry)
