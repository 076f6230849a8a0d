"""A study: a folder with settings and a store, and all operations on it."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import time
import warnings
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sqlalchemy import Connection, Row, func, select
from sqlalchemy.engine import URL

from trubleu.errors import DataError, TrubleuWarning, UsageError, counted
from trubleu.files.writer import new_folder, write_private
from trubleu.rating import raters as people
from trubleu.rating import scheduler
from trubleu.rating.allocation import is_allocated
from trubleu.rating.answers import settle
from trubleu.rating.audit import check as check_store
from trubleu.rating.config import StudyConfig, config_text, gold_lines, parse_config, question_key, read_config
from trubleu.rating.items import Item, check_items
from trubleu.rating.secret import SECRET, new_secret, read_secret
from trubleu.rating.store import queries
from trubleu.rating.store.database import Store, get_meta, lock_study, put_meta, secret_of
from trubleu.rating.store.schema import MODELS_COUNT, items, log, raters
from trubleu.rating.store.updates import ITEM, ITEMS, QUESTIONS, TIP, row_mac

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Concatenate, Self

    from trubleu.files.paths import PathLike
    from trubleu.rating.raters import NewRater, Rater
    from trubleu.rating.scheduler import Outcome, Task
    from trubleu.rating.store.queries import LogRow, RatingRow, StoredItem


P = ParamSpec("P")
T = TypeVar("T")

SETTINGS, DATABASE, ADDRESS, LEAD, GOLD = "study.yaml", "store.db", "store.url", "lead.token", "gold.jsonl"


def time_now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _ticks() -> int:
    """Return milliseconds of a monotonic clock; if available, one that keeps running while the machine sleeps."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    return time.monotonic_ns() // 1_000_000


class Study:
    """A rating study.

    Create one with `Study.create`, open it with `Study.open`. All methods are thread-safe, and with PostgreSQL also
    safe across processes. Times are milliseconds since 1970; ``now`` defaults to `Study.now`.

    Attributes
    ----------
    folder
        Where it is.
    config
        Its settings.
    store
        Its database.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating.items import Item
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> config = StudyConfig("Good answers", "response", raters=2)
    >>> study = Study.create(folder, config, [Item("7", ("fine",), message="how are you?")])
    >>> new = study.add_raters(2)
    >>> rater = study.find_rater(new[0].token).id
    >>> task = study.assign(rater)
    >>> task.item.texts
    ('fine',)
    >>> study.answer(rater, task.assignment, (5,), key=task.client_key, milliseconds=2100)
    Outcome(counted=True, repeated=False, practice=False, right=None, feedback='', different=False)
    >>> study.assign(rater) is None
    True
    >>> [(row.key, row.rater_name, row.score) for row in study.table()]
    [('7', 'rater 1', 5)]
    >>> study.close()
    """

    def __init__(self, folder: Path, config: StudyConfig, store: Store) -> None:
        self.folder = folder
        self.config = config
        self.store = store
        newest = store.read(lambda connection: connection.execute(select(func.max(log.c.at))).scalar()) or 0
        self._start = max(time_now(), newest) - _ticks()

    def now(self) -> int:
        """Return the current time: the clock when the study was opened plus the time elapsed since.

        Setting the clock meanwhile has no effect. If it was set back before, times continue after the last log entry.
        """
        return self._start + _ticks()

    @classmethod
    def create(
        cls,
        folder: PathLike,
        config: StudyConfig,
        items: Sequence[Item],
        *,
        store_url: str | None = None,
        secret: str | None = None,
    ) -> Study:
        """Create a study in a new folder.

        Parameters
        ----------
        folder
            Where to; there must be nothing yet, or an empty folder.
        config
            The settings, which are written to ``study.yaml`` there.
        items
            What is to be rated (see `read_items` and `output_items`).
        store_url
            A PostgreSQL database, such as ``postgresql+psycopg://USER:PASSWORD@HOST/DATABASE``; SQLite in the folder if
            not given.
        secret
            What gold items, the order of pairs and all that raters must not foresee is drawn from; a new one if not
            given. Two studies with one secret are for rehearsals that are to come out the same.

        Raises
        ------
        UsageError
            If the folder is not empty, or the database holds a study already.
        DataError
            If there is nothing to rate, or items do not fit the kind of study.
        StoreError
            If the database cannot be used.
        """
        found(Path(folder), config, items, store_url=store_url, secret=secret)
        return cls.open(folder, check=False)

    @classmethod
    def open(
        cls, folder: PathLike, *, sync: bool = False, copy: bool = False, check: bool = True, now: int | None = None
    ) -> Study:
        """Open a study, and verify its store.

        Parameters
        ----------
        folder
            Where it is.
        sync
            Whether to bring the store in step with ``study.yaml``: how many ratings are wanted, practice and gold
            items. That is for those who serve the study; a copy of the folder that others look at may be older.
        copy
            Only to look at: nothing is written, others may go on writing, and the folder may be read-only.
        check
            Whether to check the store, which takes about a minute for a million answers.
        now
            The time.

        Raises
        ------
        DataError
            If there is no study in the folder, or its settings cannot be used, with the line.
        StoreError
            If the database cannot be used, is damaged or was changed from outside.

        Warns
        -----
        TrubleuWarning
            If the store is not in step with ``study.yaml``, and is not to be; or as in `allocate`.
        """
        at = Path(folder)
        if not (at / SETTINGS).is_file():
            raise DataError(f"{at} has no study: there is no {SETTINGS}; create one with trubleu rate new")
        config = read_config(at / SETTINGS)
        store = Store.open(store_url_of(at), copy=copy)
        try:
            store.secret = read_secret(at)
            if check:
                store.read(lambda connection: check_store(connection, store))
            store.read(lambda connection: check_kind(connection, config, at / SETTINGS))
            study = cls(at, config, store)
            if not store.read(lambda connection: in_step(connection, config)):
                if sync:
                    store.write(lambda connection: bring_in_step(connection, config, now=study._at(now)))
                else:
                    told = f"{at / SETTINGS} asks for other ratings per item, practice or gold items than there are"
                    remedy = "they take effect when trubleu rate serve is restarted"
                    warnings.warn(f"{told}; {remedy}", TrubleuWarning, stacklevel=2)
            if sync:
                study.release(now=now)
            if sync and config.allocation == "adaptive":
                study.allocate(now=now)
        except BaseException:
            store.close()
            raise
        return study

    def close(self) -> None:
        """Close the connections to the database."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def id(self) -> str:
        """A unique id of the study."""
        return self.store.get("study") or ""

    @property
    def secret(self) -> str:
        """The secret for signatures, random draws and hashes."""
        return self.store.secret

    @property
    def lead_token(self) -> str:
        """The token of the lead's link."""
        try:
            return (self.folder / LEAD).read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{self.folder / LEAD} cannot be read; write a long random word into it") from error

    def is_lead(self, token: str) -> bool:
        """Return whether a token is the lead's, in constant time."""
        mine = self.lead_token
        return bool(mine) and hmac.compare_digest(mine.encode(), token.encode("utf-8", "surrogatepass"))

    # Tasks

    def assign(self, rater: int, *, now: int | None = None) -> Task | None:
        """Return a rater's next task: the unanswered one, else practice, else gold or an item.

        Items are drawn at random among those with the fewest ratings that this rater has not had. A task that is not
        answered within the lease goes back to the pool.

        Parameters
        ----------
        rater
            The rater's number.
        now
            The time.

        Returns
        -------
        Task or None
            None if nothing is left for this rater, the study is paused, or the rater is excluded or has not agreed yet.
        """
        at = self._at(now)
        while True:
            task = self.store.write(lambda connection: scheduler.assign(connection, self.config, rater, now=at))
            if task != "late":
                return task
            self.release(now=at)

    def answer(
        self,
        rater: int,
        task: int,
        scores: tuple[int | None, ...] | None,
        *,
        key: str,
        milliseconds: int | None = None,
        note: str | None = None,
        now: int | None = None,
    ) -> Outcome:
        """Store an answer. Once this returns it is on disk.

        Parameters
        ----------
        rater
            The rater's number.
        task
            The number of the assignment (``Task.assignment``).
        scores
            A score for each question about the first text that the rater saw, then about the next, None for a question
            that was left out; None instead of all for "cannot judge".
        key
            ``Task.client_key``: an answer that is sent again with its key is kept once.
        milliseconds
            How long the answer took as the rater's browser says; the server's own time is kept beside it.
        note
            A comment, or why the rater cannot judge. It stays in the log for ever.
        now
            The time.

        Raises
        ------
        UsageError
            If the scores do not fit, or the rater has no such task.
        NoConsentError
            If the study asks for consent and the rater has not given it.
        TooEarlyError
            If the least time of the settings has not passed.
        StoreError
            If it could not be saved; the rater should try again.
        """
        checked = None if scores is None else scheduler.checked_scores(self.config, scores)
        scheduler.check_answer(key, milliseconds, note)
        given = scheduler.Answer(task, key, checked, milliseconds, note or "")
        return self._write(scheduler.answer, self.config, rater, given, now=self._at(now))

    def undo(self, rater: int, *, task: int | None = None, now: int | None = None) -> Task | None:
        """Undo a rater's last answer and return its task; calling it again undoes the one before.

        Parameters
        ----------
        rater
            The rater's number.
        task
            The task whose answer is to be taken back (``Rater.last``): if it was taken back already, nothing more is,
            so that asking twice is as good as once. Not checked if it is not given.
        now
            The time.

        Returns
        -------
        Task or None
            The task, with the answer it had; None if there is nothing to take back. Practice cannot be taken back.
        """
        return self._write(scheduler.undo, self.config, rater, task, now=self._at(now))

    def take_break(self, rater: int, *, now: int | None = None) -> None:
        """Start a rater's break: the time until `come_back` does not count towards a task."""
        self._write(scheduler.set_break, self.config, rater, begins=True, now=self._at(now))

    def come_back(self, rater: int, *, now: int | None = None) -> None:
        """End a rater's break."""
        self._write(scheduler.set_break, self.config, rater, begins=False, now=self._at(now))

    def allocate(self, *, now: int | None = None) -> None:
        """Draw which items come first, those that models are uncertain about with a higher chance; once.

        ``Study.open(sync=True)`` does it for settings with ``allocation: adaptive``.

        Warns
        -----
        TrubleuWarning
            If models do not tell items apart yet, and all items are drawn evenly.
        """
        from trubleu.rating.study_estimate import allocate

        at = self._at(now)
        if not self.store.write(lambda connection: allocate(connection, self, now=at)):
            told = "allocation: adaptive has no effect yet, and items are drawn evenly: all are equally uncertain"
            remedy = "let two models rate (trubleu rate model), or one model and people 40 items; then start it again"
            warnings.warn(f"{told}; {remedy}", TrubleuWarning, stacklevel=3)

    def release(self, *, now: int | None = None) -> int:
        """Release all tasks that were not answered in time, and return their number."""
        return self._write(scheduler.release_late, self.config, now=self._at(now))

    # People

    def raters(self) -> list[Rater]:
        """Return all raters in order of creation."""
        return self.store.read(people.all_raters)

    def rater(self, rater: int) -> Rater:
        """Return a rater by number."""
        return self.store.read(lambda connection: people.rater_of(people.get_rater(connection, rater)))

    def find_rater(self, token: str) -> Rater | None:
        """Return the rater whose link has a token, None if there is none."""
        return self.store.read(lambda connection: people.find_rater(connection, token))

    def add_raters(
        self, count: int, *, labels: Sequence[str] = (), links: int | None = None, now: int | None = None
    ) -> list[NewRater]:
        """Add raters with their own links, and return them with their tokens, which are only known at creation.

        Parameters
        ----------
        count
            How many.
        labels
            What to call them, none or one for each; it is erased with the identity.
        links
            How many raters have links as far as the caller knows: with another number nobody is added, so that asking
            twice adds once. Not checked if it is not given.
        now
            The time.

        Raises
        ------
        RatersChangedError
            If another number of raters has links.
        UsageError
            If two raters would have one label.
        """
        if not 1 <= count <= 100_000:
            raise UsageError(f"the number of raters must be from 1 to 100,000, not {count}")
        if labels and len(labels) != count:
            raise UsageError(f"there are {len(labels)} labels for {count} raters; give one for each or none")
        for label in labels:
            people.check_name(label, "the label of a rater")
        at = self._at(now)

        def work(connection: Connection) -> list[NewRater]:
            if links is not None:
                people.check_links(connection, links)
            fix_questions(connection, self.config)
            people.check_labels(connection, labels)
            tokens = [people.new_token() for _ in range(count)]
            return [
                people.NewRater(people.add_rater(connection, "link", at, token=token, label=label), token)
                for token, label in zip(tokens, labels or (None,) * count, strict=True)
            ]

        return self.store.write(work)

    def enter(
        self, entry: str, *, external: str | None = None, label: str | None = None, now: int | None = None
    ) -> NewRater:
        """Admit a person without a link of their own; with an external id, a returning rater is found again.

        The caller must check that the settings allow this kind of entry, and that the code is right.

        Parameters
        ----------
        entry
            ``open``, ``prolific`` or ``mturk``.
        external
            The id that Prolific or Mechanical Turk gives.
        label
            What the lead calls the rater.
        now
            The time.

        Raises
        ------
        UsageError
            If whoever has this id was erased: as somebody new they would rate items a second time.
        """
        if entry not in people.ENTRIES:
            raise UsageError(f"{entry!r} is no way in; known: {', '.join(people.ENTRIES)}")
        people.check_name(external, "the id of a rater")
        people.check_name(label, "the label of a rater")
        at = self._at(now)

        def work(connection: Connection) -> NewRater:
            fix_questions(connection, self.config)
            return people.enter(connection, entry=entry, external=external, label=label, now=at)

        return self.store.write(work)

    def new_link(self, rater: int, *, now: int | None = None) -> str:
        """Give a rater a new token and return it; the old link no longer works."""
        return self._write(people.new_link, rater, now=self._at(now))

    def consent(self, rater: int, *, now: int | None = None) -> Rater:
        """Record that a rater has consented."""
        return self._write(people.mark, rater, "consented", now=self._at(now))

    def instructed(self, rater: int, *, now: int | None = None) -> Rater:
        """Record that a rater has read the instructions."""
        return self._write(people.mark, rater, "instructed", now=self._at(now))

    def exclude(self, rater: int, *, reason: str, now: int | None = None) -> Rater:
        """Exclude a rater's ratings: the affected items count later answers of others, or are assigned again.

        Parameters
        ----------
        rater
            The rater's number.
        reason
            Why. It stays in the log for ever, so it should name nobody.
        now
            The time.
        """
        return self._write(people.set_excluded, rater, True, reason=reason, now=self._at(now))

    def readmit(self, rater: int, *, reason: str, now: int | None = None) -> Rater:
        """Readmit a rater's ratings within the quotas of items; the gold rule ignores the rater from then on."""
        return self._write(people.set_excluded, rater, False, reason=reason, now=self._at(now))

    def erase(self, rater: int, *, now: int | None = None) -> Rater:
        """Erase a rater's identity: label, external id and link; the ratings stay and keep counting.

        A keyed checksum of an external id is kept, so a returning rater is not taken for a new one: they cannot rate
        any more, and importing their ratings again adds nothing.

        The identity is also purged from SQLite's files. PostgreSQL keeps old rows until the table ``raters`` is
        vacuumed.

        Warns
        -----
        TrubleuWarning
            If another program reads SQLite's file at the moment, and its journal may still hold the identity.
        """
        erased = self._write(people.erase, rater, now=self._at(now))
        if not self.store.forget():
            told = f"rater {rater} is erased, but {self.store.name}-wal may still hold the identity"
            remedy = "another program uses the store, so erase the rater again later"
            warnings.warn(f"{told}; {remedy}", TrubleuWarning, stacklevel=2)
        return erased

    @property
    def paused(self) -> bool:
        """Whether the study assigns no tasks at the moment; answers to open tasks are still stored."""
        return self.store.get("state") == "paused"

    def pause(self, *, now: int | None = None) -> None:
        """Stop assigning tasks."""
        self._write(people.set_state, "paused", now=self._at(now))

    def resume(self, *, now: int | None = None) -> None:
        """Assign tasks again."""
        self._write(people.set_state, "running", now=self._at(now))

    # What is there

    def items(self) -> list[StoredItem]:
        """Return all items with their progress, in file order; then practice and gold."""
        return self.store.read(queries.stored_items)

    def table(self) -> list[RatingRow]:
        """Return all current scores, including gold, practice and excluded raters, in a fixed order."""
        return self.store.read(queries.table)

    def log(self) -> list[LogRow]:
        """Return the log from its beginning."""
        return self.store.read(lambda connection: list(queries.log_rows(connection)))

    def _at(self, now: int | None) -> int:
        return self.now() if now is None else now

    def _write(self, work: Callable[Concatenate[Connection, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run a function in a transaction."""
        return self.store.write(lambda connection: work(connection, *arguments, **options))


def add_items(connection: Connection, config: StudyConfig, added: Iterable[Item], *, first_position: int = 0) -> None:
    """Add items in order, each with a random rank for assignment."""
    draw = Random(f"{config.seed}/items/{first_position}")  # noqa: S311 - an order, not a secret
    secret = secret_of(connection)
    first = (connection.execute(select(func.max(items.c.id))).scalar() or 0) + 1
    rows = []
    for at, item in enumerate(added):
        fixed = {"id": first + at, "key": item.key, "position": first_position + at, "role": item.role}
        fixed |= {"payload": item.to_json(), "parts": len(item.texts)}
        wanted = config.raters if item.role == "item" else 0
        made = row_mac(secret, "item", fixed, ITEM)
        rows.append({**fixed, "wanted": wanted, "shuffle": draw.randrange(scheduler.SHUFFLES), "mac": made})
    if rows:
        connection.execute(items.insert(), rows)
    put_meta(connection, ITEMS, str(int(get_meta(connection, ITEMS) or 0) + len(rows)))


def in_step(connection: Connection, config: StudyConfig) -> bool:
    """Return whether the store matches the settings."""
    wanted = [(item.key, item.to_json(), at) for at, item in enumerate(config.examples)]
    there = [(row.key, row.payload, row.position) for row in _examples(connection) if row.role != "retired"]
    return not _changed(connection, config) and wanted == there


def _synced(config: StudyConfig) -> dict[str, str]:
    """Return the settings that the store keeps as they are now."""
    return {"raters": str(config.raters), MODELS_COUNT: str(config.models_count).lower()}


def _changed(connection: Connection, config: StudyConfig) -> dict[str, str]:
    """Return those of these that differ."""
    return {key: value for key, value in _synced(config).items() if value != get_meta(connection, key)}


def _examples(connection: Connection) -> list[Row[Any]]:
    return list(connection.execute(select(items).where(items.c.role != "item").order_by(items.c.position, items.c.id)))


def bring_in_step(connection: Connection, config: StudyConfig, *, now: int) -> None:
    """Sync the store with the settings: the number of ratings wanted, practice and gold items.

    Raises
    ------
    DataError
        If the settings ask for less than is there already.
    """
    lock_study(connection)
    if not in_step(connection, config):
        if changed := _changed(connection, config):
            _sync_wanted(connection, config, changed, now)
        _sync_examples(connection, config)


def _sync_wanted(connection: Connection, config: StudyConfig, changed: Mapping[str, str], now: int) -> None:
    before = int(get_meta(connection, "raters") or 0)
    most = connection.execute(select(func.max(items.c.load)).where(items.c.role == "item")).scalar() or 0
    if config.raters < before and most > config.raters:
        wanted = counted(config.raters, "rater")
        raise DataError(f"study.yaml asks for {wanted} per item, but some have {most}; write raters: {before} again")
    for key, value in changed.items():
        put_meta(connection, key, value)
        people.note(connection, {MODELS_COUNT: "models"}.get(key, key), None, now, value)
    connection.execute(items.update().where(items.c.role == "item").values(wanted=config.raters))
    settle(connection, connection.execute(select(items.c.id).where(items.c.role == "item")).scalars().all(), now=now)


def _sync_examples(connection: Connection, config: StudyConfig) -> None:
    """Add, change and retire practice and gold items; answers to retired ones are kept."""
    there = {row.key: row for row in _examples(connection)}
    for key in there.keys() - {item.key for item in config.examples}:
        if there[key].role != "retired":
            _set(connection, there[key], role="retired")
    for at, item in enumerate(config.examples):
        if item.key not in there:
            add_items(connection, config, [item], first_position=at)
        else:
            _set(connection, there[item.key], role=item.role, payload=item.to_json(), position=at)


def _set(connection: Connection, row: Row[Any], **changes: object) -> None:
    made = row_mac(secret_of(connection), "item", {**row._asdict(), **changes}, ITEM)
    connection.execute(items.update().where(items.c.id == row.id).values(**changes, mac=made))


def found(
    target: Path,
    config: StudyConfig,
    added: Sequence[Item],
    *,
    store_url: str | None,
    secret: str | None = None,
    also: Callable[[Connection], object] | None = None,
) -> None:
    """Create the folder and the database of a study (see `Study.create`); if ``also`` fails, neither is created."""
    check_items(added, config.parts)
    if not target.absolute().parent.is_dir():
        raise DataError(f"{target} cannot be created: there is no folder {target.parent}; create it first")
    secret = new_secret() if secret is None else secret
    with new_folder(target) as making:
        making.chmod(0o700)  # it will hold personal data
        config = _write_settings(making, config)
        parse_config((making / SETTINGS).read_text("utf-8"), SETTINGS, making)  # fail now if it could not be read back
        if store_url is None:
            os.close(os.open(making / DATABASE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        else:
            write_private(making / ADDRESS, store_url)
        write_private(making / SECRET, secret)

        def fill(connection: Connection) -> None:
            settings = {"study": secrets.token_hex(8), "kind": config.kind, "state": "running", TIP: ""}
            settings |= {people.KEY: secrets.token_urlsafe(32), QUESTIONS: question_key(config), **_synced(config)}
            for key, value in settings.items():
                put_meta(connection, key, value)
            add_items(connection, config, added)
            add_items(connection, config, config.examples)
            if also is not None:
                also(connection)

        Store.create(store_url_of(making), fill, secret=secret).close()


def store_url_of(folder: Path) -> str | URL:
    """Return the URL of a study's database."""
    address = folder / ADDRESS
    if not address.exists():
        return URL.create("sqlite", database=str(folder / DATABASE))  # as a string, a ? in the path would end it
    try:
        return address.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{address} cannot be read: {error}; check its permissions") from error


def check_kind(connection: Connection, config: StudyConfig, path: Path) -> None:
    """Raise an error for settings of another study type, or with changed questions once there are raters."""
    if (kind := get_meta(connection, "kind")) != config.kind:
        raise DataError(f"{path} says kind: {config.kind}, but the study was made as {kind}; change it back")
    if (parts := connection.execute(select(items.c.parts).limit(1)).scalar()) != config.parts:
        raise DataError(f"{path} says outputs: {config.parts}, but items have {parts}; change it back")
    if config.allocation == "even" and is_allocated(connection):
        told = "items come in an order that was drawn with unequal probabilities"
        raise DataError(f"{path} says allocation: even, but {told}; write adaptive again")
    check_questions(connection, config)


def check_questions(connection: Connection, config: StudyConfig) -> None:
    """Raise an error for questions other than those fixed by the first rater."""
    made = get_meta(connection, QUESTIONS)
    if made == question_key(config) or not connection.execute(select(func.count()).select_from(raters)).scalar():
        return
    said = ", ".join(f"{name or 'the question'} ({points} points)" for name, points in json.loads(made or "[]"))
    remedy = "change them back (wording, labels and required may change), or make a new study with rate new --config"
    raise DataError(f"study.yaml has other questions than when raters were added: {said}; {remedy}")


def fix_questions(connection: Connection, config: StudyConfig) -> None:
    """Fix the questions before a rater is added: they must not change from the first rater on."""
    if get_meta(connection, QUESTIONS) != question_key(config):
        lock_study(connection)
        check_questions(connection, config)
        put_meta(connection, QUESTIONS, question_key(config))


def _write_settings(folder: Path, config: StudyConfig) -> StudyConfig:
    if config.gold.file is not None:
        config = replace(config, gold=replace(config.gold, file=GOLD))
        (folder / GOLD).write_text(gold_lines(config), "utf-8", newline="\n")
    (folder / SETTINGS).write_text(config_text(config), "utf-8", newline="\n")
    write_private(folder / LEAD, people.new_token())
    return config
