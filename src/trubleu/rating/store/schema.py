"""The tables of a study. The log is append-only; all other tables derive from it and change in the same transaction.

Settings, items, raters and log entries carry a keyed hash (``mac``). An entry's hash also covers that of the previous
entry about the same item, else the same rater, else the study; the last one is stored there as ``tip``. A transaction
that adds an entry changes and locks that row anyway, so the chains cause no extra waiting.
"""

from __future__ import annotations

import sqlalchemy as sa

SCHEMA = 3  # incremented whenever stores of the previous version cannot be read any more

MODEL = "model"
"""Entry of a rater that is a model. Its answers are log entries of this kind, with a note in JSON."""

REFUSED = "refused"
"""Kind of log entry for an item that a model gave no usable answer to."""

MODELS_COUNT = "models_count"
"""Setting: whether answers of models count towards an item's quota: ``true``, or not."""

# SQLite auto-numbers rows only for the exact type INTEGER, which holds 64 bits there.
_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_HASH = sa.String(32)

tables = sa.MetaData()

meta = sa.Table(
    "meta",
    tables,
    sa.Column("key", sa.String(40), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("mac", _HASH),
)

items = sa.Table(
    "items",
    tables,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("role", sa.String(10), nullable=False),  # item, gold, practice or retired
    sa.Column("payload", sa.Text, nullable=False),  # ASCII JSON: PostgreSQL stores neither NUL nor lone surrogates
    sa.Column("parts", sa.SmallInteger, nullable=False),  # number of texts to rate
    sa.Column("wanted", sa.Integer, nullable=False),
    sa.Column("counted", sa.Integer, nullable=False, default=0),
    sa.Column("load", sa.Integer, nullable=False, default=0),  # counted ratings and live leases
    sa.Column("shuffle", sa.Integer, nullable=False),
    sa.Column("tip", _HASH),
    sa.Column("mac", _HASH),
    sa.Index("items_by_load", "role", "load", "shuffle"),
)

raters = sa.Table(
    "raters",
    tables,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("token_hash", sa.String(64), unique=True),
    sa.Column("label", sa.Text),
    sa.Column("entry", sa.String(10), nullable=False),
    sa.Column("external", sa.Text),
    sa.Column("consented_at", sa.BigInteger),
    sa.Column("instructed_at", sa.BigInteger),
    sa.Column("practice_done", sa.Boolean, nullable=False, default=False),
    sa.Column("excluded", sa.Boolean, nullable=False, default=False),
    sa.Column("reason", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("erased_at", sa.BigInteger),
    sa.Column("had", sa.Integer, nullable=False, default=0),  # assigned tasks, without practice
    sa.Column("answered", sa.Integer, nullable=False, default=0),  # answered tasks, without practice
    sa.Column("rated", sa.Integer, nullable=False, default=0),  # of these, items
    sa.Column("last", sa.BigInteger),  # the assignment whose answer can be undone
    sa.Column("break_at", sa.BigInteger),  # start of the current break
    sa.Column("tip", _HASH),
    sa.Column("mac", _HASH),
    sa.UniqueConstraint("entry", "external"),
)

# Keyed checksums of external ids. They stay when an identity is erased, so a returning rater is not taken for a new
# one.
known = sa.Table(
    "known",
    tables,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("rater", _NUMBER, sa.ForeignKey("raters.id"), nullable=False),
)

assignments = sa.Table(
    "assignments",
    tables,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("item", _NUMBER, sa.ForeignKey("items.id"), nullable=False),
    sa.Column("rater", _NUMBER, sa.ForeignKey("raters.id"), nullable=False),
    sa.Column("state", sa.String(10), nullable=False),  # leased, answered, unable or expired
    sa.Column("flipped", sa.Boolean, nullable=False, default=False),
    sa.Column("turn", sa.Integer, nullable=False, default=0),  # how often its answer was undone
    sa.Column("lease_until", sa.BigInteger, nullable=False),
    sa.Column("shown_at", sa.BigInteger, nullable=False),  # when last assigned; if imported, when answered
    sa.Column("before", sa.BigInteger),  # the assignment that its rater answered before this one
    sa.UniqueConstraint("item", "rater"),
    sa.Index("assignments_by_rater", "rater", "state"),
    sa.Index("assignments_by_lease", "state", "lease_until"),
)

ratings = sa.Table(
    "ratings",
    tables,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("item", _NUMBER, sa.ForeignKey("items.id"), nullable=False),
    sa.Column("rater", _NUMBER, sa.ForeignKey("raters.id"), nullable=False),
    sa.Column("part", sa.SmallInteger, nullable=False),  # index of the text
    sa.Column("question", sa.SmallInteger, nullable=False),
    sa.Column("score", sa.SmallInteger),  # None for a skipped question
    sa.Column("counted", sa.Boolean, nullable=False),
    sa.Column("answered_at", sa.BigInteger, nullable=False),
    sa.Column("client_milliseconds", sa.BigInteger),
    sa.Column("milliseconds", sa.BigInteger),
    sa.UniqueConstraint("item", "rater", "part", "question"),
    sa.Index("ratings_by_rater", "rater"),
)

log = sa.Table(
    "log",
    tables,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.String(12), nullable=False),
    sa.Column("rater", _NUMBER, sa.ForeignKey("raters.id")),
    sa.Column("item", _NUMBER, sa.ForeignKey("items.id")),
    sa.Column("assignment", sa.BigInteger),
    sa.Column("scores", sa.Text),  # JSON, per text in the item's order, whatever order the rater saw
    sa.Column("flipped", sa.Boolean),
    sa.Column("client_milliseconds", sa.BigInteger),  # duration of an answer, as reported by the browser
    sa.Column("answered_at", sa.BigInteger),  # if it differs from the time of the row: imported answers
    sa.Column("client_key", sa.String(140), unique=True),
    sa.Column("counted", sa.Boolean),
    sa.Column("note", sa.Text),
    sa.Column("milliseconds", sa.BigInteger),  # the same by the server's clock, since the task was assigned
    sa.Column("mac", _HASH, nullable=False),
)

_REFUSAL = "the log of a study only grows"
_ABORT = "CREATE TRIGGER log_refuses_{0} BEFORE {0} ON log BEGIN SELECT RAISE(ABORT, '{1}'); END"
_FUNCTION = f"""CREATE FUNCTION log_refuses() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$"""
_TRIGGER = """CREATE TRIGGER log_refuses_changes BEFORE UPDATE OR DELETE OR TRUNCATE ON log
FOR EACH STATEMENT EXECUTE FUNCTION log_refuses()"""
_GUARDS = {
    "sqlite": (_ABORT.format("UPDATE", _REFUSAL), _ABORT.format("DELETE", _REFUSAL)),
    "postgresql": (_FUNCTION, _TRIGGER),
}


@sa.event.listens_for(log, "after_create")
def _guard_log(_log: sa.Table, connection: sa.Connection, **_options: object) -> None:
    """Make the database reject changes to the log."""
    for statement in _GUARDS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
