"""Integrity checks of a store: its hashes are valid, and its tables match its log."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Connection, Row, Table, select

from trubleu.errors import StoreError
from trubleu.rating.secret import SECRET, mac
from trubleu.rating.store.queries import ENTRY_COLUMNS, LogRow, log_row
from trubleu.rating.store.schema import MODEL, MODELS_COUNT, assignments, items, log, meta, raters, ratings
from trubleu.rating.store.updates import ITEM, ITEMS, QUESTIONS, RATER, TIP, chain_of, entry_mac, row_mac

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from trubleu.rating.store.database import Store
    from trubleu.rating.study import Study

_NEEDED = {"schema", "study", "kind", "identity", "state", "raters", QUESTIONS, ITEMS, TIP}


class Rebuilt:
    """The state reconstructed from a log.

    Attributes
    ----------
    scores
        The answers that stand: scores, when, and how long each took (as the server and as the browser says), by item
        and rater.
    counted
        Those that count.
    unable
        Items that could not be judged, with the rater.
    excluded
        Raters whose ratings are left out.
    flipped
        Answers to pairs that were shown in reverse order.
    """

    def __init__(self) -> None:
        self.scores: dict[tuple[int, int], tuple[tuple[int | None, ...], int, int | None, int | None]] = {}
        self.counted: set[tuple[int, int]] = set()
        self.unable: set[tuple[int, int]] = set()
        self.excluded: set[int] = set()
        self.flipped: set[tuple[int, int]] = set()


def rebuild(log: Iterable[LogRow]) -> Rebuilt:
    """Reconstruct the state of a study from its log alone.

    Examples
    --------
    >>> from trubleu.rating.store.queries import LogRow
    >>> row = LogRow(1, 0, "answered", 5, 7, 1, (4,), False, 1500, 1400, None, True, None)
    >>> rebuild([row]).counted
    {(7, 5)}
    """
    state = Rebuilt()
    for row in log:
        if row.kind in {"excluded", "readmitted"} and row.rater is not None:
            (state.excluded.add if row.kind == "excluded" else state.excluded.discard)(row.rater)
        if row.item is None or row.rater is None:
            continue
        pair = (row.item, row.rater)
        match row.kind:
            case "undone":
                state.scores.pop(pair, None)
                state.counted.discard(pair)
                state.unable.discard(pair)
            case "uncounted":
                state.counted.discard(pair)
            case "counted":
                state.counted.add(pair)
            case "answered" | "unable" | "carried" | "imported" | "model" | "refused":
                (state.flipped.add if row.flipped else state.flipped.discard)(pair)
                if row.scores is None:
                    state.unable.add(pair)
                    continue
                when = row.at if row.answered_at is None else row.answered_at
                state.scores[pair] = (row.scores, when, row.milliseconds, row.client_milliseconds)
                if row.counted:
                    state.counted.add(pair)
    return state


def audit(study: Study) -> list[str]:
    """Verify a study's hashes and compare its tables with its log; return a sentence per fault.

    Raises
    ------
    StoreError
        If the database cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> study = Study.create(pathlib.Path(tempfile.mkdtemp()) / "s", StudyConfig("T", "response"), [Item("7", ("hi",))])
    >>> audit(study)
    []
    >>> study.close()
    """
    return study.store.read(lambda connection: list(faults(connection, study.store)))


def check(connection: Connection, store: Store) -> None:
    """Raise an error for a store that is damaged or was changed from outside.

    Raises
    ------
    StoreError
        With the first fault.
    """
    for fault in faults(connection, store):
        remedy = "trubleu rate audit lists all faults, restore the study from a backup"
        raise StoreError(f"{store.name} is damaged or was changed from outside: {fault}; {remedy}")


def faults(connection: Connection, store: Store) -> Iterator[str]:
    """Yield a sentence per fault."""
    try:
        yield from _pages(connection, store)
        settings = {row.key: row for row in connection.execute(select(meta))}
        yield from _settings(settings, store.secret)
        state, tips, wrong = _log(connection, store)
        yield from wrong
        if (tips.get(("study", None)) or "") != settings[TIP].value:
            yield "the log of the study does not end as it should: entries are missing or were added"
        yield from _rows(connection, store, items, "item", ITEM, tips)
        yield from _rows(connection, store, raters, "rater", RATER, tips)
        yield from _ratings(connection, state, len(json.loads(settings[QUESTIONS].value)))
        models = set(connection.execute(select(raters.c.id).where(raters.c.entry == MODEL)).scalars())
        never = set() if MODELS_COUNT in settings and settings[MODELS_COUNT].value == "true" else models
        yield from _numbers(
            connection, state, never, wanted=int(settings["raters"].value), number=int(settings[ITEMS].value)
        )
        yield from _assignments(connection, state)
        yield from _raters(connection, state)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Damaged values may have any type and point anywhere.
        yield f"what it holds cannot be read ({type(error).__name__}: {' '.join(str(error).split())})"


def _pages(connection: Connection, store: Store) -> Iterator[str]:
    """Run SQLite's integrity check of pages and indexes."""
    if store.dialect == "sqlite":
        for (said,) in connection.exec_driver_sql("PRAGMA integrity_check(20)"):
            if said != "ok":
                yield " ".join(str(said).split())


def _settings(rows: Mapping[str, Row[Any]], secret: str) -> Iterator[str]:
    wrong = [key for key, row in rows.items() if row.mac != mac(secret, "meta", key, row.value)]
    if rows and len(wrong) == len(rows):
        yield f"it and {SECRET} do not belong together"
        return
    yield from (f"the setting {key!r} does not fit its hash" for key in wrong)
    yield from (f"the setting {key!r} is not there" for key in sorted(_NEEDED - rows.keys()))


Tips: TypeAlias = dict[tuple[str, int | None], str | None]
"""The last hash of each chain of the log."""


def _log(connection: Connection, store: Store) -> tuple[Rebuilt, Tips, Sequence[str]]:
    """Read the log once: the reconstructed state, the last hash of each chain, and the faults."""
    tips: Tips = {}
    faults: list[str] = []

    def rows() -> Iterator[LogRow]:
        found = connection.execute(select(log.c.mac, log.c.id, *ENTRY_COLUMNS).order_by(log.c.id))
        for number, (made, entry, *values) in enumerate(found, 1):
            row = log_row(entry, *values)
            chain = chain_of(row.item, row.rater)
            if made != entry_mac(store.secret, tips.get(chain), values):
                faults.append(f"entry {entry} of the log, or one before it about the same, does not fit its hash")
            # SQLite numbers rows without gaps; the number is assigned on insertion, so the hash cannot cover it.
            if store.dialect == "sqlite" and entry != number:
                faults.append(f"entry {number} of the log has the number {entry}")
            tips[chain] = made
            yield row

    return rebuild(rows()), tips, faults


def _rows(
    connection: Connection, store: Store, table: Table, kind: str, columns: tuple[str, ...], tips: Tips
) -> Iterator[str]:
    """Verify the hashes of items or raters, and that their log chains end with the recorded hash."""
    there = set()
    for row in connection.execute(select(table).order_by(table.c.id)):
        there.add((kind, row.id))
        if row.mac != row_mac(store.secret, kind, row._asdict(), columns):
            yield f"{kind} {row.id} does not fit its hash"
        if row.tip != tips.get((kind, row.id)):
            yield f"the log of {kind} {row.id} does not end as it should: entries are missing or were added"
    for _, number in sorted(chain for chain in tips.keys() - there if chain[0] == kind):
        yield f"the log has entries about {kind} {number}, which is not there"


Pair: TypeAlias = tuple[int, ...]
"""What a row is about: an item and a rater, or one of them."""


def _compare(
    what: str, found: Mapping[Pair, object], keys: Iterable[Pair], right: Callable[[Pair], object]
) -> Iterator[str]:
    """Yield what differs between a table and what follows from the log; ``what`` names a row."""
    for key in sorted({*found, *keys}):
        if found.get(key) != (wanted := right(key)):
            yield f"{what.format(*key)} is {found.get(key)}, but by the log {wanted}"


def _ratings(connection: Connection, state: Rebuilt, questions: int) -> Iterator[str]:
    found: defaultdict[Pair, list[tuple[Any, ...]]] = defaultdict(list)
    times = ("answered_at", "milliseconds", "client_milliseconds")
    names = ("item", "rater", "part", "question", "score", "counted", *times)
    columns = select(*(ratings.c[name] for name in names)).order_by(ratings.c.part, ratings.c.question)
    for item, rater, *values in connection.execute(columns):
        found[item, rater].append(tuple(values))

    def right(pair: Any) -> object:
        scores, *times = state.scores.get(pair, ((),))
        made = [(*divmod(at, questions), score, pair in state.counted, *times) for at, score in enumerate(scores)]
        return made or None

    yield from _compare("the rating of item {} by rater {}", found, state.scores, right)
    yield from (f"the log counts a rating of item {item} that is not there" for item, _ in state.counted - found.keys())


def _numbers(connection: Connection, state: Rebuilt, never: set[int], *, wanted: int, number: int) -> Iterator[str]:
    """Verify the counters of items; the answers of some raters never count."""
    counted = Counter(item for item, _ in state.counted)
    never = state.excluded | never
    allowed = Counter(item for item, rater in state.scores if rater not in never)
    leased = Counter(connection.execute(select(assignments.c.item).where(assignments.c.state == "leased")).scalars())
    rows = connection.execute(select(items.c.id, items.c.role, items.c.wanted, items.c.counted, items.c.load)).all()
    if len(rows) != number:
        yield f"there are {len(rows)} items; right is {number}"
    found: dict[Pair, object] = {(row.id,): (row.wanted, row.counted, counted[row.id], row.load) for row in rows}
    right: dict[Pair, object] = {}
    for row in rows:
        quota = wanted if row.role == "item" else 0
        count = min(quota, allowed[row.id])
        right[(row.id,)] = (quota, count, count, count + leased[row.id] if row.role == "item" else 0)
    yield from _compare("item {} (ratings wanted, counted, counted in the log, and load)", found, right, right.get)


def _assignments(connection: Connection, state: Rebuilt) -> Iterator[str]:
    said = dict.fromkeys(state.scores, "answered") | dict.fromkeys(state.unable, "unable")
    found: dict[Pair, object] = {}
    columns = (assignments.c.item, assignments.c.rater, assignments.c.state, assignments.c.flipped)
    for row in connection.execute(select(*columns)):
        if row.state not in {"leased", "expired"}:
            found[row.item, row.rater] = (row.state, row.flipped)

    def right(pair: Any) -> object:
        return (said[pair], pair in state.flipped) if pair in said else None

    yield from _compare("the task of item {} for rater {} (state, whether turned round)", found, said, right)


def _raters(connection: Connection, state: Rebuilt) -> Iterator[str]:
    roles = {row.id: row.role for row in connection.execute(select(items.c.id, items.c.role))}
    tasks = [*state.scores, *state.unable]
    practice = {row.id for row in connection.execute(select(items.c.id).where(items.c.key.startswith("practice:")))}
    answered = Counter(rater for item, rater in tasks if item not in practice)
    rated = Counter(rater for item, rater in state.scores if roles[item] == "item")
    rows = connection.execute(select(raters)).all()
    everybody = {row.id for row in rows} | {rater for _, rater in tasks}
    found: dict[Pair, object] = {(row.id,): (row.answered, row.rated, row.excluded) for row in rows}
    right: dict[Pair, object] = {(who,): (answered[who], rated[who], who in state.excluded) for who in everybody}
    yield from _compare("rater {} (answered, rated, excluded)", found, right, right.get)
