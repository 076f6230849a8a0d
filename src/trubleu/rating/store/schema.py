"""The tables of a study. The log only grows; all other tables follow from it and change in the same transaction.

Settings, items, raters and entries of the log carry a keyed hash (``mac``). An entry's hash also covers that of the
entry before it about the same item, else the same rater, else the study; the last one is kept there as ``tip``. Whoever
adds an entry changes that row anyway and holds it, so chains make nobody wait.
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

SCHEMA = 3  # goes up whenever a store of the version before cannot be used as it is

MODEL = "model"
"""As the way in of a rater: a model. Its answers are entries of this kind in the log, with a note in JSON."""

REFUSED = "refused"
"""The kind of entries about items that a model gave no usable answer to."""

MODELS_COUNT = "models_count"
"""The setting that says whether answers of models count towards the ratings that an item needs: ``true``, or not."""

# SQLite numbers rows by itself only where the type is exactly INTEGER, which holds 64 bits there.
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
    Column("payload", Text, nullable=False),  # JSON in ASCII: PostgreSQL keeps neither NUL nor half a surrogate pair
    Column("parts", SmallInteger, nullable=False),  # how many texts are rated
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
    Column("had", Integer, nullable=False, default=0),  # tasks that were handed out, practice apart
    Column("answered", Integer, nullable=False, default=0),  # tasks that were answered, practice apart
    Column("rated", Integer, nullable=False, default=0),  # of these, items
    Column("last", BigInteger),  # the assignment whose answer can be undone
    Column("break_at", BigInteger),  # since when they take a break
    Column("tip", _HASH),
    Column("mac", _HASH),
    UniqueConstraint("entry", "external"),
)

# Keyed checksums of what raters are known by elsewhere. They stay when an identity is erased, so that who comes again
# is not taken for somebody new.
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
    Column("shown_at", BigInteger, nullable=False),  # when it was handed out last; elsewhere, when it was answered
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
    Column("part", SmallInteger, nullable=False),  # which text
    Column("question", SmallInteger, nullable=False),
    Column("score", SmallInteger),  # None for a question that was left out
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
    Column("scores", Text),  # JSON, text by text in the item's order, whatever the rater saw on the left
    Column("flipped", Boolean),
    Column("client_milliseconds", BigInteger),  # that an answer took, as the rater's browser says
    Column("answered_at", BigInteger),  # where it is not the time of the row: taken over from elsewhere
    Column("client_key", String(140), unique=True),
    Column("counted", Boolean),
    Column("note", Text),
    Column("milliseconds", BigInteger),  # the same by the server's clock, since it handed out the task
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
    """Let the database refuse whatever would change the log, or add to it without a hash."""
    for statement in _GUARDS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
