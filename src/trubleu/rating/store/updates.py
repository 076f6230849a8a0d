"""Updates of single rows with prepared statements, as they run for every task and answer; log entries."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Connection, Row, Table, Update, bindparam, select

from trubleu.rating.secret import mac
from trubleu.rating.store.database import secret_of
from trubleu.rating.store.schema import items, log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Setter: TypeAlias = Callable[..., None]


def change(connection: Connection, table: Table, row: Row[Any], **values: object) -> None:
    """Change columns of a locked row that its hash does not cover: counters and leases."""
    given = {f"new_{name}": value for name, value in values.items()}
    connection.execute(_update(table, tuple(values)), {"of_row": row.id, **given})


@cache  # building a statement takes longer than running it
def _update(table: Table, columns: tuple[str, ...]) -> Update:
    new: dict[str, Any] = {name: bindparam(f"new_{name}") for name in columns}
    return table.update().where(table.c.id == bindparam("of_row")).values(new)


ENTRY = (
    "at", "kind", "rater", "item", "assignment", "scores", "flipped", "milliseconds", "client_milliseconds",
    "answered_at", "client_key", "counted", "note",
)  # fmt: skip
"""Hashed columns of the log."""

ITEM = ("id", "key", "position", "role", "payload", "parts")
"""Hashed columns of an item; its quota follows from the settings, its counters from the log."""

RATER = (
    "id", "token_hash", "label", "entry", "external", "consented_at", "instructed_at", "excluded", "reason",
    "created_at", "erased_at", "tip",
)  # fmt: skip
"""Hashed columns of a rater; the answer counters follow from the log."""

QUESTIONS = "questions"
"""Setting with the names and points of the questions, which do not change from the first rater on."""

ITEMS = "items"
"""Setting with the number of items, of all roles."""

TIP = "tip"
"""Setting with the hash of the last entry about the study itself."""

_AT_ONCE = 500  # numbers per statement; SQLite accepts 999 in every build
_ADD_ENTRY = log.insert()
_SET_TIP = items.update().where(items.c.id == bindparam("of_item")).values(tip=bindparam("new_tip"))


def rating_rows(scores: Sequence[int | None], questions: int, common: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return rows of ratings: one for each score, text by text and question by question."""
    return [
        {**common, "part": at // questions, "question": at % questions, "score": score}
        for at, score in enumerate(scores)
    ]


def batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield numbers in batches that fit into one statement."""
    for start in range(0, len(numbers), _AT_ONCE):
        yield numbers[start : start + _AT_ONCE]


def entry_mac(secret: str, tip: str | None, values: Iterable[Any]) -> str:
    """Return the hash of a log entry, given the hash of the previous one and the values in column order."""
    return mac(secret, "log", tip, *values)


def chain_of(item: int | None, rater: int | None) -> tuple[str, int | None]:
    """Return the chain of an entry: that of its item, else of its rater, else of the study."""
    if item is not None:
        return "item", item
    return ("rater", rater) if rater is not None else ("study", None)


def row_mac(secret: str, kind: str, row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """Return the hash of an item or a rater."""
    return mac(secret, kind, *(row[name] for name in columns))


def add_entry(connection: Connection, entry: dict[str, Any], tip: str | None) -> str:
    """Add an entry to the log, and return its hash, to be stored as the tip of its chain."""
    made = entry_mac(secret_of(connection), tip, map(entry.get, ENTRY))
    connection.execute(_ADD_ENTRY, {**entry, "mac": made})
    return made


def add_entries(connection: Connection, entries: Sequence[dict[str, Any]]) -> None:
    """Add log entries about items whose rows are locked."""
    secret = secret_of(connection)
    tips: dict[int, str | None] = {}
    for some_items in batches(sorted({entry["item"] for entry in entries})):
        found = connection.execute(select(items.c.id, items.c.tip).where(items.c.id.in_(some_items)))
        tips |= {row.id: row.tip for row in found}
    rows = []
    for entry in entries:
        tips[entry["item"]] = made = entry_mac(secret, tips[entry["item"]], map(entry.get, ENTRY))
        rows.append({**entry, "mac": made})
    connection.execute(_ADD_ENTRY, rows)
    connection.execute(_SET_TIP, [{"of_item": item, "new_tip": tip} for item, tip in tips.items()])
