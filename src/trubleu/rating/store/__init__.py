"""Storage of a study: SQLite in a file, or PostgreSQL."""

from trubleu.optional_deps import needed

needed("sqlalchemy", "a rating study", "trubleu[rate]")

from trubleu.rating.store.database import Store  # noqa: E402 - the message of `needed` comes first
from trubleu.rating.store.schema import SCHEMA  # noqa: E402

__all__ = ["SCHEMA", "Store"]
