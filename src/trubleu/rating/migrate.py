"""Migrate tables of an older version, in one transaction and without data loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select

from trubleu.rating.audit import check
from trubleu.rating.config import StudyConfig, question_key
from trubleu.rating.store.database import lock_study, put_meta
from trubleu.rating.store.schema import SCHEMA, guard_log, items, log, meta, raters, ratings
from trubleu.rating.store.updates import ENTRY, ITEM, ITEMS, QUESTIONS, RATER, TIP, chain_of, entry_mac, row_mac

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from trubleu.rating.store.database import Store

_AT_ONCE = 5000

_UNGUARD = {
    "sqlite": ("DROP TRIGGER log_refuses_update", "DROP TRIGGER log_refuses_delete"),
    "postgresql": ("DROP TRIGGER log_refuses_changes ON log", "DROP FUNCTION log_refuses()"),
}

# From 1 to 2: keyed hashes; server times, beside those of browsers.
_HASHED = (
    *(f"ALTER TABLE {table} ADD COLUMN mac VARCHAR(32)" for table in ("meta", "items", "raters", "log")),
    *(f"ALTER TABLE {table} ADD COLUMN tip VARCHAR(32)" for table in ("items", "raters")),
    "ALTER TABLE assignments RENAME COLUMN created_at TO shown_at",
    *(f"ALTER TABLE {table} RENAME COLUMN milliseconds TO client_milliseconds" for table in ("ratings", "log")),
    *(f"ALTER TABLE {table} ADD COLUMN milliseconds BIGINT" for table in ("ratings", "log")),
)

# From 2 to 3: several questions, some of them optional; several answers can be undone; breaks.
_STEPS = (
    "ALTER TABLE assignments ADD COLUMN before BIGINT",
    "ALTER TABLE raters ADD COLUMN break_at BIGINT",
)
_ASKED = (
    "ALTER TABLE ratings ADD COLUMN question SMALLINT NOT NULL DEFAULT 0",
    "ALTER TABLE ratings ALTER COLUMN question DROP DEFAULT",
    "ALTER TABLE ratings ALTER COLUMN score DROP NOT NULL",
    "ALTER TABLE ratings DROP CONSTRAINT ratings_item_rater_part_key",
    "ALTER TABLE ratings ADD UNIQUE (item, rater, part, question)",
)
_KEPT = "id, item, rater, part, score, counted, answered_at, client_milliseconds, milliseconds"


def migrate(store: Store) -> None:
    """Migrate the tables of a study from any version; safe with several servers.

    Raises
    ------
    StoreError
        If the tables do not say what the log says, or the database fails; then nothing was changed.
    """
    store.write(lambda connection: _migrate(connection, store))
    store.version = SCHEMA


def _migrate(connection: Connection, store: Store) -> None:
    lock_study(connection)
    version = connection.execute(select(meta.c.value).where(meta.c.key == "schema")).scalar()
    if version == str(SCHEMA):
        return
    if version == "1":
        for statement in (*_UNGUARD[store.dialect], *_HASHED):
            connection.exec_driver_sql(statement)
    for statement in _STEPS:
        connection.exec_driver_sql(statement)
    _add_questions(connection, store.dialect)
    if version == "1":
        _hash_everything(connection, store)
    put_meta(connection, QUESTIONS, question_key(StudyConfig("", "response")))  # there was one, of five points
    put_meta(connection, "schema", str(SCHEMA))
    check(connection, store)


def _add_questions(connection: Connection, dialect: str) -> None:
    """Assign every score to the only question there was."""
    if dialect == "postgresql":
        for statement in _ASKED:
            connection.exec_driver_sql(statement)
        return
    # SQLite cannot change the constraints of an existing table.
    connection.exec_driver_sql("DROP INDEX ratings_by_rater")
    connection.exec_driver_sql("ALTER TABLE ratings RENAME TO older_ratings")
    ratings.create(connection)
    connection.exec_driver_sql(f"INSERT INTO ratings (question, {_KEPT}) SELECT 0, {_KEPT} FROM older_ratings")  # noqa: S608
    connection.exec_driver_sql("DROP TABLE older_ratings")


def _hash_everything(connection: Connection, store: Store) -> None:
    # The secret moves to its own file.
    connection.execute(meta.delete().where(meta.c.key == "secret"))
    tips = _chain(connection, store.secret)
    _seal(connection, items, "item", ITEM, store.secret, tips)
    _seal(connection, raters, "rater", RATER, store.secret, tips)
    settings = {row.key: row.value for row in connection.execute(select(meta.c.key, meta.c.value))}
    settings |= {
        ITEMS: str(connection.execute(select(func.count()).select_from(items)).scalar()),
        TIP: tips.get(("study", None)) or "",
    }
    for key, value in settings.items():
        put_meta(connection, key, value)
    guard_log(log, connection)


def _chain(connection: Connection, secret: str) -> dict[tuple[str, int | None], str]:
    """Compute the hash of every log entry, and return the last one of each chain."""
    tips: dict[tuple[str, int | None], str] = {}
    change = log.update().where(log.c.id == bindparam("of_entry")).values(mac=bindparam("new_mac"))
    last = 0
    while rows := connection.execute(select(log).where(log.c.id > last).order_by(log.c.id).limit(_AT_ONCE)).all():
        changes = []
        for row in rows:
            chain = chain_of(row.item, row.rater)
            tips[chain] = entry_mac(secret, tips.get(chain), (getattr(row, name) for name in ENTRY))
            changes.append({"of_entry": row.id, "new_mac": tips[chain]})
        connection.execute(change, changes)
        last = rows[-1].id
    return tips


def _seal(
    connection: Connection,
    table: Table,
    kind: str,
    columns: tuple[str, ...],
    secret: str,
    tips: dict[tuple[str, int | None], str],
) -> None:
    change = table.update().where(table.c.id == bindparam("of_row"))
    change = change.values(tip=bindparam("new_tip"), mac=bindparam("new_mac"))
    changes: list[dict[str, Any]] = []
    for row in connection.execute(select(table)).all():
        tip = tips.get((kind, row.id))
        made = row_mac(secret, kind, {**row._asdict(), "tip": tip}, columns)
        changes.append({"of_row": row.id, "new_tip": tip, "new_mac": made})
    if changes:
        connection.execute(change, changes)
