"""Updates of single rows with prepared statements, as they run for every task and answer; log entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from trubleu.rating.secret import mac
from trubleu.rating.store.database import secret_of
from trubleu.rating.store.schema import assignments, items, log, raters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Row

_SET_ITEM = (
    items.update()
    .where(items.c.id == bindparam("of_item"))
    .values(
        load=bindparam("new_load"),
        counted=bindparam("new_counted"),
        shuffle=bindparam("new_shuffle"),
        tip=bindparam("new_tip"),
    )
)
_SET_ASSIGNMENT = (
    assignments.update()
    .where(assignments.c.id == bindparam("of_assignment"))
    .values(
        state=bindparam("new_state"),
        lease_until=bindparam("new_lease"),
        turn=bindparam("new_turn"),
        shown_at=bindparam("new_shown"),
        before=bindparam("new_before"),
    )
)
_SET_RATER = (
    raters.update()
    .where(raters.c.id == bindparam("of_rater"))
    .values(
        had=bindparam("new_had"),
        answered=bindparam("new_answered"),
        rated=bindparam("new_rated"),
        last=bindparam("new_last"),
        break_at=bindparam("new_break"),
        practice_done=bindparam("new_practice"),
    )
)


def set_item(connection: Connection, item: Row[Any], **changes: int | str) -> None:
    """Change the counters of an item whose row is locked."""
    new = {"load": item.load, "counted": item.counted, "shuffle": item.shuffle, "tip": item.tip, **changes}
    connection.execute(_SET_ITEM, {"of_item": item.id, **{f"new_{name}": value for name, value in new.items()}})


def set_assignment(connection: Connection, task: Row[Any], **changes: int | str | None) -> None:
    """Change a task whose item is locked."""
    new = {
        "state": task.state,
        "lease_until": task.lease_until,
        "turn": task.turn,
        "shown_at": task.shown_at,
        "before": task.before,
        **changes,
    }
    connection.execute(
        _SET_ASSIGNMENT,
        {
            "of_assignment": task.id,
            "new_state": new["state"],
            "new_lease": new["lease_until"],
            "new_turn": new["turn"],
            "new_shown": new["shown_at"],
            "new_before": new["before"],
        },
    )


def set_rater(connection: Connection, person: Row[Any], **changes: int | None) -> None:
    """Change the counters of a rater whose row is locked."""
    new: dict[str, Any] = {
        "had": person.had,
        "answered": person.answered,
        "rated": person.rated,
        "last": person.last,
        "break_at": person.break_at,
        "practice_done": person.practice_done,
        **changes,
    }
    new["practice"], new["break"] = new.pop("practice_done"), new.pop("break_at")
    connection.execute(_SET_RATER, {"of_rater": person.id, **{f"new_{name}": value for name, value in new.items()}})


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
