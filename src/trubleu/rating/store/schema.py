"""The tables of a study. The log is append-only; all other tables derive from it and change in the same transaction.

Settings, items, raters and log entries carry a keyed hash (``mac``). An entry's hash also covers that of the previous
entry about the same item, else the same rater, else the study; the last one is stored there as ``tip``. A transaction
that adds an entry changes and locks that row anyway, so the chains cause no extra waiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

SCHEMA = 3  # incremented whenever stores of the previous version need a migration

MODEL = "model"
"""Entry of a rater that is a model. Its answers are log entries of this kind, with a note in JSON."""

REFUSED = "refused"
"""Kind of log entry for an item that a model gave no usable answer to."""

MODELS_COUNT = "models_count"
"""Setting: whether answers of models count towards an item's quota: ``true``, or not."""

# SQLite auto-numbers rows only for the exact type INTEGER, which holds 64 bits there.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")
_HASH = String(32)

tables = MetaData()

meta = Table(
    "meta",
    tables,
    Column("key", String(40), primary_key=True),
    Column("value", Text, nullable=False),
    Column("mac", _HASH),
)

items = Table(
    "items",
    tables,
    Column("id", _NUMBER, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("position", Integer, nullable=False),
    Column("role", String(10), nullable=False),  # item, gold, practice or retired
    Column("payload", Text, nullable=False),  # ASCII JSON: PostgreSQL stores neither NUL nor lone surrogates
    Column("parts", SmallInteger, nullable=False),  # number of texts to rate
    Column("wanted", Integer, nullable=False),
    Column("counted", Integer, nullable=False, default=0),
    Column("load", Integer, nullable=False, default=0),  # counted ratings and live leases
    Column("shuffle", Integer, nullable=False),
    Column("tip", _HASH),
    Column("mac", _HASH),
    Index("items_by_load", "role", "load", "shuffle"),
)

raters = Table(
    "raters",
    tables,
    Column("id", _NUMBER, primary_key=True),
    Column("token_hash", String(64), unique=True),
    Column("label", Text),
    Column("entry", String(10), nullable=False),
    Column("external", Text),
    Column("consented_at", BigInteger),
    Column("instructed_at", BigInteger),
    Column("practice_done", Boolean, nullable=False, default=False),
    Column("excluded", Boolean, nullable=False, default=False),
    Column("reason", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("erased_at", BigInteger),
    Column("had", Integer, nullable=False, default=0),  # assigned tasks, without practice
    Column("answered", Integer, nullable=False, default=0),  # answered tasks, without practice
    Column("rated", Integer, nullable=False, default=0),  # of these, items
    Column("last", BigInteger),  # the assignment whose answer can be undone
    Column("break_at", BigInteger),  # start of the current break
    Column("tip", _HASH),
    Column("mac", _HASH),
    UniqueConstraint("entry", "external"),
)

# Keyed checksums of external ids. They stay when an identity is erased, so a returning rater is not taken for a new
# one.
known = Table(
    "known",
    tables,
    Column("hash", String(64), primary_key=True),
    Column("rater", _NUMBER, ForeignKey("raters.id"), nullable=False),
)

assignments = Table(
    "assignments",
    tables,
    Column("id", _NUMBER, primary_key=True),
    Column("item", _NUMBER, ForeignKey("items.id"), nullable=False),
    Column("rater", _NUMBER, ForeignKey("raters.id"), nullable=False),
    Column("state", String(10), nullable=False),  # leased, answered, unable or expired
    Column("flipped", Boolean, nullable=False, default=False),
    Column("turn", Integer, nullable=False, default=0),  # how often its answer was undone
    Column("lease_until", BigInteger, nullable=False),
    Column("shown_at", BigInteger, nullable=False),  # when last assigned; if imported, when answered
    Column("before", BigInteger),  # the assignment that its rater answered before this one
    UniqueConstraint("item", "rater"),
    Index("assignments_by_rater", "rater", "state"),
    Index("assignments_by_lease", "state", "lease_until"),
)

ratings = Table(
    "ratings",
    tables,
    Column("id", _NUMBER, primary_key=True),
    Column("item", _NUMBER, ForeignKey("items.id"), nullable=False),
    Column("rater", _NUMBER, ForeignKey("raters.id"), nullable=False),
    Column("part", SmallInteger, nullable=False),  # index of the text
    Column("question", SmallInteger, nullable=False),
    Column("score", SmallInteger),  # None for a skipped question
    Column("counted", Boolean, nullable=False),
    Column("answered_at", BigInteger, nullable=False),
    Column("client_milliseconds", BigInteger),
    Column("milliseconds", BigInteger),
    UniqueConstraint("item", "rater", "part", "question"),
    Index("ratings_by_rater", "rater"),
)

log = Table(
    "log",
    tables,
    Column("id", _NUMBER, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("kind", String(12), nullable=False),
    Column("rater", _NUMBER, ForeignKey("raters.id")),
    Column("item", _NUMBER, ForeignKey("items.id")),
    Column("assignment", BigInteger),
    Column("scores", Text),  # JSON, per text in the item's order, whatever order the rater saw
    Column("flipped", Boolean),
    Column("client_milliseconds", BigInteger),  # duration of an answer, as reported by the browser
    Column("answered_at", BigInteger),  # if it differs from the time of the row: imported answers
    Column("client_key", String(140), unique=True),
    Column("counted", Boolean),
    Column("note", Text),
    Column("milliseconds", BigInteger),  # the same by the server's clock, since the task was assigned
    Column("mac", _HASH),
)

_REFUSAL = "the log of a study only grows"
_UNHASHED = "this study was updated for a newer TruBLEU; start the server again with that"

_ABORT = "CREATE TRIGGER {name} BEFORE {change} ON log {when} BEGIN SELECT RAISE(ABORT, '{reason}'); END"
_FUNCTION = (
    "CREATE FUNCTION log_refuses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{reason}'; END $$"
)
_TRIGGER = (
    "CREATE TRIGGER log_refuses_changes BEFORE UPDATE OR DELETE OR TRUNCATE ON log "
    "FOR EACH STATEMENT EXECUTE FUNCTION log_refuses()"
)
_GUARDS = {
    "sqlite": (
        _ABORT.format(name="log_refuses_update", change="UPDATE", when="", reason=_REFUSAL),
        _ABORT.format(name="log_refuses_delete", change="DELETE", when="", reason=_REFUSAL),
        _ABORT.format(name="log_needs_mac", change="INSERT", when="WHEN NEW.mac IS NULL", reason=_UNHASHED),
    ),
    "postgresql": (
        _FUNCTION.format(reason=_REFUSAL),
        _TRIGGER,
        "ALTER TABLE log ALTER COLUMN mac SET NOT NULL",
    ),
}


@event.listens_for(log, "after_create")
def guard_log(_log: Table, connection: Connection, **_options: object) -> None:
    """Make the database reject changes to the log, and entries without a hash."""
    for statement in _GUARDS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
