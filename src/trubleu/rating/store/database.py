"""The database of a study: connections, and transactions with retries."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

from sqlalchemy import Connection, Engine, Insert, Table, bindparam, create_engine, event, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from trubleu.errors import DataError, StoreBusyError, StoreError, StoreFullError, UsageError
from trubleu.optional_deps import needed
from trubleu.rating.secret import mac
from trubleu.rating.store.schema import SCHEMA, meta, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


T = TypeVar("T")

_WRITES = "trubleu_writes"
_SECRET = "trubleu_secret"  # noqa: S105 - the name of an option
_TRIES = 6
_PATIENCE = 10.0  # seconds that a transaction waits for others before it gives up

# SQLite's primary result codes and PostgreSQL's SQLSTATE.
_SQLITE_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_POSTGRES_AGAIN = {"40001", "40P01"}  # serialisation failure, deadlock
_POSTGRES_FULL = {"53100"}
_POSTGRES_AWAY = {"08", "40", "53", "55", "57"}  # classes: connection, rollback, resources, state, operator

_META = select(meta.c.value).where(meta.c.key == bindparam("setting"))


class Store:
    """The database of a study.

    Create one with `Store.create` or `Store.open`; `read` and `write` run functions in transactions.

    Attributes
    ----------
    name
        The database as messages show it, without a password.
    secret
        That of the study, the key of all hashes in the tables.
    readonly
        Whether `write` is refused: what is written to a copy would be lost.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> store = Store.create(f"sqlite:///{pathlib.Path(tempfile.mkdtemp()) / 'store.db'}")
    >>> store.put("colour", "blue")
    >>> store.get("colour"), store.get("size")
    ('blue', None)
    >>> store.close()
    """

    def __init__(self, engine: Engine, *, secret: str = "", name: str = "") -> None:
        self._engine = engine
        self.secret = secret
        url = engine.url
        self.name = name or (
            str(url.database) if self.dialect == "sqlite" else url.render_as_string(hide_password=True)
        )
        self.readonly = False
        # SQLite allows one writer at a time and waits by sleeping in steps: threads queue up here instead.
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else None

    @property
    def dialect(self) -> str:
        """Which database it is: ``sqlite`` or ``postgresql``."""
        return self._engine.dialect.name

    @classmethod
    def create(cls, url: str | URL, fill: Callable[[Connection], object] | None = None, *, secret: str = "") -> Store:
        """Create the tables in an empty database, and fill them in the same transaction.

        Parameters
        ----------
        url
            ``sqlite:///PATH`` or ``postgresql+psycopg://USER:PASSWORD@HOST/DATABASE``.
        fill
            Puts into the tables what belongs there from the start.
        secret
            That of the study, the key of all hashes in the tables.

        Raises
        ------
        UsageError
            If the URL is of neither kind, or the database already holds a study.
        StoreError
            If the database cannot be used.
        """
        store = cls(_engine(url), secret=secret)
        try:
            store.write(lambda connection: store._make_tables(connection, fill))
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open(cls, url: str | URL, *, copy: bool = False) -> Store:
        """Open a database that holds a study; the caller sets ``secret``.

        Parameters
        ----------
        url
            As for `create`.
        copy
            Of SQLite, take a copy into memory and leave the file alone: others may go on writing to it, and its folder
            may be read-only. PostgreSQL is read in transactions that cannot write.

        Raises
        ------
        DataError
            If there is no study in it, or one with tables of another version.
        StoreError
            If the database cannot be used.
        """
        engine = _engine(url)
        store = cls(engine)
        if store.dialect == "sqlite":
            if not Path(store.name).is_file():
                raise DataError(f"{store.name}: there is no such file; check the path of the study")
            if copy:
                try:
                    store = cls(_copied(Path(store.name)), name=store.name)
                except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
                    raise store._said(error) from error
        try:
            store.read(store._check_version)
        except BaseException:
            store.close()
            raise
        store.readonly = copy
        return store

    def _make_tables(self, connection: Connection, fill: Callable[[Connection], object] | None) -> None:
        if inspect(connection).has_table("meta"):
            raise UsageError(f"{self.name} already holds a study; give every study a database of its own")
        tables.create_all(connection, checkfirst=False)
        put_meta(connection, "schema", str(SCHEMA))
        if fill is not None:
            fill(connection)
        # Otherwise PostgreSQL plans for empty tables until it analyses them by itself.
        connection.exec_driver_sql("ANALYZE")

    def _check_version(self, connection: Connection) -> None:
        if not inspect(connection).has_table("meta"):
            raise DataError(f"{self.name} has no study; create one with trubleu rate new")
        found = connection.execute(select(meta.c.value).where(meta.c.key == "schema")).scalar()
        if not isinstance(found, str) or not found.isdecimal():
            raise DataError(f"{self.name} does not say which version its tables have; restore it from a backup")
        if int(found) != SCHEMA:
            older = "export its ratings with the TruBLEU that made it, and trubleu rate import them into a new study"
            remedy = older if int(found) < SCHEMA else "update TruBLEU"
            raise DataError(f"{self.name} has tables of version {found}, not {SCHEMA} as this TruBLEU; {remedy}")

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run a read-only function in one transaction, and return its result.

        Raises
        ------
        StoreError
            If the database cannot be used.
        """
        return self._run(work, writes=False)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run a function in one transaction, and return its result once it is committed to disk.

        If the function raises, or the database fails, the transaction is rolled back. The function may run several
        times (PostgreSQL may require that), so it must not have side effects outside the database.

        Raises
        ------
        UsageError
            If it was opened only to look at it.
        StoreBusyError
            If the database stays locked, or cannot be reached.
        StoreFullError
            If its disk is full.
        StoreError
            If the database cannot be used for another reason.
        """
        if self.readonly:
            raise UsageError(f"{self.name} was opened only to look at it; open the study without copy to change it")
        return self._run(work, writes=True)

    def _run(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        for tries_left in reversed(range(_TRIES)):
            try:
                with self._queue(writes), self._engine.connect() as plain:
                    options: dict[str, Any] = {_WRITES: writes}
                    if self.dialect == "postgresql" and not writes:  # a function reads a consistent snapshot
                        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
                    connection = plain.execution_options(**options, **{_SECRET: self.secret})
                    with connection.begin():
                        return work(connection)
            except DBAPIError as error:
                if tries_left and _sqlstate(error.orig) in _POSTGRES_AGAIN:
                    time.sleep(0.005 * (_TRIES - tries_left))
                    continue
                raise self._said(error.orig, gone=error.connection_invalidated) from error
            except UnicodeDecodeError as error:
                raise self._said(error) from error
            except SQLAlchemyError as error:
                # The remaining cause is an exhausted connection pool.
                raise StoreBusyError(f"{self.name} is busy: {error}; try again") from error
        raise AssertionError  # the last try returns or raises

    @contextmanager
    def _queue(self, writes: bool) -> Iterator[None]:
        if self._turn is None or not writes:
            yield
            return
        if not self._turn.acquire(timeout=_PATIENCE):
            raise StoreBusyError(f"{self.name} is busy: others are writing to it; try again")
        try:
            yield
        finally:
            self._turn.release()

    def _said(self, error: BaseException | None, *, gone: bool = False) -> StoreError:
        """Convert a database error, distinguishing those that a retry can solve."""
        cause = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        state = _sqlstate(error)
        # A name of a table that cannot be decoded is damaged, too.
        if isinstance(error, UnicodeDecodeError) or code == sqlite3.SQLITE_CORRUPT:
            return StoreError(f"{self.name} is damaged: {cause}; restore the study from a backup")
        if code == sqlite3.SQLITE_FULL or state in _POSTGRES_FULL:
            return StoreFullError(f"{self.name} cannot grow: {cause}; make room on its disk and try again")
        away = self.dialect == "postgresql" and (gone or state is None or state[:2] in _POSTGRES_AWAY)
        if away or code in _SQLITE_BUSY:
            return StoreBusyError(f"{self.name} is locked or cannot be reached: {cause}; try again")
        return StoreError(f"{self.name} cannot be used: {cause}; check who may read and write it")

    def get(self, key: str) -> str | None:
        """Return a setting of the study, None if it is not set."""
        return self.read(lambda connection: get_meta(connection, key))

    def put(self, key: str, value: str) -> None:
        """Store a setting of the study."""
        self.write(lambda connection: put_meta(connection, key, value))

    def forget(self) -> bool:
        """Purge erased data from SQLite's files: free pages and the journal.

        Returns
        -------
        bool
            False if another program reads or writes at the moment, so that the journal may still hold it.
        """
        if self._turn is None:
            return True
        # Not through SQLAlchemy, which would begin a transaction first.
        with self._queue(True), closing(self._engine.raw_connection()) as connection:
            cursor = connection.cursor()
            try:
                cursor.execute("ANALYZE raters")  # some builds keep samples of indexed values
                cursor.execute("VACUUM")
                return bool(cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)
            except sqlite3.OperationalError:
                return False

    def close(self) -> None:
        """Close all connections. The store reconnects when it is used again."""
        self._engine.dispose()


def add_row(connection: Connection, table: Table, values: Mapping[str, object]) -> int:
    """Insert a row, and return its number."""
    return cast("tuple[int]", connection.execute(_insert(table), values).inserted_primary_key)[0]


@cache
def _insert(table: Table) -> Insert:
    return table.insert()


def get_meta(connection: Connection, key: str) -> str | None:
    """Return a setting of the study inside a transaction."""
    return connection.execute(_META, {"setting": key}).scalar()


def put_meta(connection: Connection, key: str, value: str) -> None:
    """Store a setting of the study inside a transaction."""
    row = {"value": value, "mac": mac(secret_of(connection), "meta", key, value)}
    if not connection.execute(meta.update().where(meta.c.key == key).values(row)).rowcount:
        connection.execute(meta.insert().values(key=key, **row))


def secret_of(connection: Connection) -> str:
    """Return the secret of the study that a connection belongs to."""
    return cast("str", connection.get_execution_options()[_SECRET])


def lock_study(connection: Connection) -> None:
    """Lock the whole study until the transaction ends."""
    connection.execute(select(meta.c.value).where(meta.c.key == "schema").with_for_update(key_share=True))


def _sqlstate(error: BaseException | None) -> str | None:
    return getattr(error, "sqlstate", None)


def _engine(address: str | URL) -> Engine:
    try:
        url = make_url(address)
    except ArgumentError as error:
        raise UsageError("the store's URL cannot be read; write postgresql+psycopg://USER@HOST/DATABASE") from error
    if url.drivername in {"postgresql", "postgres"}:
        url = url.set(drivername="postgresql+psycopg")
    match url.drivername:
        case "sqlite":
            return _sqlite(url)
        case "postgresql+psycopg":
            return _postgres(url)
    known = "SQLite (the default) or postgresql+psycopg://USER@HOST/DATABASE"
    raise UsageError(f"a store cannot be kept in {url.drivername}; use {known}")


def _sqlite(url: URL) -> Engine:
    engine = create_engine(
        url, pool_size=8, max_overflow=56, pool_timeout=_PATIENCE, connect_args={"timeout": _PATIENCE}
    )

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: object) -> None:
        # The driver begins transactions late: two readers that then both write would fail.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _copied(path: Path) -> Engine:
    """Copy a database into memory, leaving no trace in its folder."""
    memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    journal = path.with_name(f"{path.name}-wal")
    alone = not journal.exists()  # nobody has the file open: reading it directly creates no journal
    try:
        try:
            _copy(path, memory, "immutable=1" if alone else "mode=ro")
            if alone and journal.exists():  # another process has opened it meanwhile
                _copy(path, memory, "mode=ro")
        except sqlite3.OperationalError as error:
            if alone or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CANTOPEN:
                raise
            # A read-only folder with the journal of a dead server; a copy elsewhere can be read.
            with tempfile.TemporaryDirectory(prefix="trubleu-") as folder:
                for each in (path, journal):
                    shutil.copyfile(each, Path(folder, each.name))
                _copy(Path(folder, path.name), memory, "mode=rw")
    except BaseException:
        memory.close()
        raise
    return create_engine("sqlite://", creator=lambda: memory, poolclass=StaticPool)


def _copy(path: Path, memory: sqlite3.Connection, how: str) -> None:
    address = f"file:{quote(str(path.absolute()))}?{how}"
    with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE)) as source:
        source.backup(memory)


def _postgres(url: URL) -> Engine:
    needed("psycopg", "a store in PostgreSQL", "trubleu[postgres]")
    try:
        engine = create_engine(
            url,
            pool_size=10,
            max_overflow=30,
            pool_timeout=_PATIENCE,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",
            connect_args={"connect_timeout": 10},
        )
    except (NoSuchModuleError, ImportError) as error:
        raise UsageError(f"the store cannot be opened: {error}") from error

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: object) -> None:
        # Acknowledged answers must be on disk, whatever the server's settings.
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit TO on")
            cursor.execute(f"SET lock_timeout TO '{int(_PATIENCE)}s'")
            # Cached plans from when tables were small would scan whole tables once they are large.
            cursor.execute("SET plan_cache_mode TO force_custom_plan")
        connection.autocommit = False

    return engine
