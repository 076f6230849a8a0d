"""Whether a store says what its log says: everything is made again from the log and compared."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from trubleu.rating.store.queries import log_rows
from trubleu.rating.store.schema import assignments, items, raters, ratings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from trubleu.rating.store.queries import LogRow
    from trubleu.rating.study import Study


@dataclass(slots=True)
class Rebuilt:
    """What follows from a log.

    Attributes
    ----------
    scores
        The answers that stand: scores, when, and how long each took, by item and rater.
    counted
        Those that count.
    unable
        Items that could not be judged, with the rater.
    excluded
        Raters whose ratings are left out.
    """

    scores: dict[tuple[int, int], tuple[tuple[int, ...], int, int | None]] = field(default_factory=dict)
    counted: set[tuple[int, int]] = field(default_factory=set)
    unable: set[tuple[int, int]] = field(default_factory=set)
    excluded: set[int] = field(default_factory=set)


def rebuild(log: Iterable[LogRow]) -> Rebuilt:
    """Make the state of a study from its log alone.

    Examples
    --------
    >>> from trubleu.rating.store.queries import LogRow
    >>> row = LogRow(1, 0, "answered", 5, 7, 1, (4,), False, None, None, True, None)
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
            case "answered" | "unable" | "carried" | "imported":
                if row.scores is None:
                    state.unable.add(pair)
                    continue
                when = row.at if row.answered_at is None else row.answered_at
                state.scores[pair] = (row.scores, when, row.milliseconds)
                if row.counted:
                    state.counted.add(pair)
    return state


def audit(study: Study) -> list[str]:
    """Compare a study's tables with its log, and return a sentence for each difference; none if all is well.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> study = Study.create(pathlib.Path(tempfile.mkdtemp()) / "s", StudyConfig("T", "response"), [Item("7", ("hi",))])
    >>> audit(study)
    []
    >>> study.close()
    """
    return study.store.read(_audit)


def _audit(connection: Connection) -> list[str]:
    state = rebuild(log_rows(connection))
    return [
        *_ratings(connection, state),
        *_numbers(connection, state),
        *_assignments(connection, state),
        *_raters(connection, state),
    ]


def _ratings(connection: Connection, state: Rebuilt) -> Iterable[str]:
    found: defaultdict[tuple[int, int], list[Any]] = defaultdict(list)
    for row in connection.execute(select(ratings).order_by(ratings.c.part)):
        found[row.item, row.rater].append(row)
    for pair in sorted(found.keys() | state.scores.keys()):
        rows = found.get(pair, [])
        stored = (tuple(row.score for row in rows), rows[0].answered_at, rows[0].milliseconds) if rows else None
        said = state.scores.get(pair)
        if stored != said:
            yield f"the rating of item {pair[0]} by rater {pair[1]} is {stored}, but the log has {said}"
        if {bool(row.counted) for row in rows} - {pair in state.counted}:
            yield f"the rating of item {pair[0]} by rater {pair[1]} counts in one of table and log only"
    yield from (f"the log counts a rating of item {item} that is not there" for item, _ in state.counted - found.keys())


def _numbers(connection: Connection, state: Rebuilt) -> Iterable[str]:
    counted = _tally(item for item, _ in state.counted)
    allowed = _tally(item for item, rater in state.scores if rater not in state.excluded)
    leased = _tally(
        row.item for row in connection.execute(select(assignments.c.item).where(assignments.c.state == "leased"))
    )
    for row in connection.execute(select(items.c.id, items.c.role, items.c.wanted, items.c.counted, items.c.load)):
        right = min(row.wanted, allowed.get(row.id, 0)) if row.role == "item" else 0
        load = right + leased.get(row.id, 0) if row.role == "item" else 0
        if not row.counted == counted.get(row.id, 0) == right:
            yield f"item {row.id} has {row.counted} counted ratings, the log {counted.get(row.id, 0)}; right is {right}"
        if row.load != load:
            yield f"item {row.id} has a load of {row.load}; right is {load}"


def _tally(numbers: Iterable[int]) -> Mapping[int, int]:
    counts: defaultdict[int, int] = defaultdict(int)
    for number in numbers:
        counts[number] += 1
    return counts


def _assignments(connection: Connection, state: Rebuilt) -> Iterable[str]:
    said = dict.fromkeys(state.scores, "answered") | dict.fromkeys(state.unable, "unable")
    found: dict[tuple[int, int], str] = {}
    for row in connection.execute(select(assignments.c.item, assignments.c.rater, assignments.c.state)):
        if row.state in {"answered", "unable"}:
            found[row.item, row.rater] = row.state
    for item, rater in sorted(said.keys() | found.keys()):
        pair = (item, rater)
        if said.get(pair) != found.get(pair):
            yield f"the task of item {item} for rater {rater} is {found.get(pair)}, but the log says {said.get(pair)}"


def _raters(connection: Connection, state: Rebuilt) -> Iterable[str]:
    roles = {row.id: row.role for row in connection.execute(select(items.c.id, items.c.role))}
    tasks = [*state.scores, *state.unable]
    practice = {row.id for row in connection.execute(select(items.c.id).where(items.c.key.startswith("practice:")))}
    answered = _tally(rater for item, rater in tasks if item not in practice)
    rated = _tally(rater for item, rater in state.scores if roles[item] == "item")
    for row in connection.execute(select(raters)):
        if (row.answered, row.rated) != (answered.get(row.id, 0), rated.get(row.id, 0)):
            yield f"rater {row.id} has answered {row.answered} tasks; right is {answered.get(row.id, 0)}"
        if row.excluded != (row.id in state.excluded):
            yield f"rater {row.id} is excluded in one of table and log only"
