"""Items in the store: put there when a study is made, and kept in step with the settings by who serves it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from trubleu.errors import DataError
from trubleu.rating.counting import settle
from trubleu.rating.people import note
from trubleu.rating.picking import SHUFFLES
from trubleu.rating.store.opening import get_meta, lock_study, put_meta
from trubleu.rating.store.schema import items

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

    from trubleu.rating.config import StudyConfig
    from trubleu.rating.items import Item

_AT_ONCE = 5000


def add_items(connection: Connection, config: StudyConfig, added: Iterable[Item], *, first_position: int = 0) -> None:
    """Add items in their order, each with a random place in the order of assignment."""
    draw = Random(f"{config.seed}/items/{first_position}")  # noqa: S311 - an order, not a secret
    rows: list[dict[str, Any]] = []
    for position, item in enumerate(added, first_position):
        rows.append(
            {
                "key": item.key,
                "position": position,
                "role": item.role,
                "payload": item.to_json(),
                "parts": len(item.texts),
                "wanted": config.raters if item.role == "item" else 0,
                "counted": 0,
                "load": 0,
                "shuffle": draw.randrange(SHUFFLES),
            }
        )
        if len(rows) == _AT_ONCE:
            connection.execute(items.insert(), rows)
            rows = []
    if rows:
        connection.execute(items.insert(), rows)


def in_step(connection: Connection, config: StudyConfig) -> bool:
    """Return whether the store has what the settings say."""
    return get_meta(connection, "raters") == str(config.raters) and _wanted(config) == _present(connection)


def _wanted(config: StudyConfig) -> list[tuple[str, str, int]]:
    return [(item.key, item.to_json(), at) for at, item in enumerate((*config.practice, *config.gold.items))]


def _present(connection: Connection) -> list[tuple[str, str, int]]:
    return [(row.key, row.payload, row.position) for row in _examples(connection) if row.role != "retired"]


def _examples(connection: Connection) -> list[Row[Any]]:
    return list(connection.execute(select(items).where(items.c.role != "item").order_by(items.c.position, items.c.id)))


def bring_in_step(connection: Connection, config: StudyConfig, *, now: int) -> None:
    """Bring the store in step with the settings: how many ratings are wanted, practice and gold items.

    Raises
    ------
    DataError
        If the settings ask for less than is there already.
    """
    lock_study(connection)
    if in_step(connection, config):
        return
    _sync_wanted(connection, config, now)
    _sync_examples(connection, config)


def _sync_wanted(connection: Connection, config: StudyConfig, now: int) -> None:
    before = int(get_meta(connection, "raters") or 0)
    if before == config.raters:
        return
    most = connection.execute(select(func.max(items.c.load)).where(items.c.role == "item")).scalar() or 0
    if config.raters < before and most > config.raters:
        raise DataError(
            f"study.yaml asks for {config.raters} raters an item, but some items have {most} already; "
            f"write raters: {before} again"
        )
    connection.execute(items.update().where(items.c.role == "item").values(wanted=config.raters))
    put_meta(connection, "raters", str(config.raters))
    note(connection, "raters", None, now, str(config.raters))
    settle(connection, connection.execute(select(items.c.id).where(items.c.role == "item")).scalars().all(), now=now)


def _sync_examples(connection: Connection, config: StudyConfig) -> None:
    """Add, change and retire practice and gold items; answers to retired ones stay."""
    there = {row.key: row for row in _examples(connection)}
    wanted = {item.key: (item, at) for at, item in enumerate((*config.practice, *config.gold.items))}
    for key, row in there.items():
        if key not in wanted and row.role != "retired":
            connection.execute(items.update().where(items.c.id == row.id).values(role="retired"))
    for key, (item, at) in wanted.items():
        if key not in there:
            add_items(connection, config, [item], first_position=at)
        else:
            connection.execute(
                items.update()
                .where(items.c.id == there[key].id)
                .values(role=item.role, payload=item.to_json(), position=at)
            )
