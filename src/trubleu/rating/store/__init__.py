"""Where a study is kept: SQLite in a file, or PostgreSQL."""

from trubleu.data.extras import needed

needed("sqlalchemy", "a rating study", "trubleu[rate]")

from trubleu.rating.store.opening import Store  # noqa: E402 - the message of `needed` comes first
from trubleu.rating.store.schema import SCHEMA  # noqa: E402

__all__ = ["SCHEMA", "Store"]
