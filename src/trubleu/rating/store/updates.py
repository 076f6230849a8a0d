"""Updates of single rows, with prepared statements: they run for every task and every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam

from trubleu.rating.store.schema import assignments, items, raters

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

_SET_ITEM = (
    items.update()
    .where(items.c.id == bindparam("of_item"))
    .values(load=bindparam("new_load"), counted=bindparam("new_counted"), shuffle=bindparam("new_shuffle"))
)
_SET_ASSIGNMENT = (
    assignments.update()
    .where(assignments.c.id == bindparam("of_assignment"))
    .values(state=bindparam("new_state"), lease_until=bindparam("new_lease"), turn=bindparam("new_turn"))
)
_SET_RATER = (
    raters.update()
    .where(raters.c.id == bindparam("of_rater"))
    .values(
        had=bindparam("new_had"),
        answered=bindparam("new_answered"),
        rated=bindparam("new_rated"),
        last=bindparam("new_last"),
        practice_done=bindparam("new_practice"),
    )
)


def set_item(connection: Connection, item: Row[Any], **changes: int) -> None:
    """Change the numbers of an item whose row is held."""
    new = {"load": item.load, "counted": item.counted, "shuffle": item.shuffle, **changes}
    connection.execute(_SET_ITEM, {"of_item": item.id, **{f"new_{name}": value for name, value in new.items()}})


def set_assignment(connection: Connection, task: Row[Any], **changes: int | str) -> None:
    """Change a task whose item is held."""
    new = {"state": task.state, "lease_until": task.lease_until, "turn": task.turn, **changes}
    connection.execute(
        _SET_ASSIGNMENT,
        {
            "of_assignment": task.id,
            "new_state": new["state"],
            "new_lease": new["lease_until"],
            "new_turn": new["turn"],
        },
    )


def set_rater(connection: Connection, person: Row[Any], **changes: int | None) -> None:
    """Change the numbers of a rater whose row is held."""
    new: dict[str, Any] = {
        "had": person.had,
        "answered": person.answered,
        "rated": person.rated,
        "last": person.last,
        "practice_done": person.practice_done,
        **changes,
    }
    new["practice"] = new.pop("practice_done")
    connection.execute(_SET_RATER, {"of_rater": person.id, **{f"new_{name}": value for name, value in new.items()}})
