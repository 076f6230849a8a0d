"""Adaptive allocation: people rate the uncertain items first, in an order drawn once, so each probability is known.

An item's rank is a uniform number from the study's secret divided by its chance; people get items by rank. If they have
had n of them and τ is the rank of the next one, an item was among the n with probability ``min(1, chance · τ)``, and
estimates weighted by the inverse are unbiased for every n (priority sampling: Duffield, Lund & Thorup 2007).
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, bindparam, select

from trubleu.rating.secret import draw
from trubleu.rating.store.database import get_meta, put_meta, secret_of
from trubleu.rating.store.schema import MODEL, assignments, items, log, raters
from trubleu.rating.store.updates import add_entries

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ALLOCATED: Final = "allocated"
"""Kind of log entry with the chance of an item; the hash of each answer to the item covers it."""

_SETTING: Final = "allocation"
_SET_ORDER = items.update().where(items.c.id == bindparam("of_item")).values(shuffle=bindparam("place"))


def is_allocated(connection: Connection) -> bool:
    """Return whether items are given out by rank."""
    return get_meta(connection, _SETTING) is not None


def ranks(secret: str, chances: Mapping[str, float]) -> dict[str, float]:
    """Draw the rank of each item from the study's secret.

    Examples
    --------
    >>> found = ranks("s", {"a": 0.9, "b": 0.1})
    >>> 0 < found["a"] <= 1 / 0.9, 0 < found["b"] <= 1 / 0.1
    (True, True)
    """
    return {unit: (1 - draw(secret, ALLOCATED, unit).random()) / chance for unit, chance in chances.items()}


def inclusion(chances: Mapping[str, float], ranked: Mapping[str, float], had: int) -> dict[str, float]:
    """Return the probability of each item to be among the first so many by rank.

    Parameters
    ----------
    chances
        The chance of each item.
    ranked
        The ranks of those that were drawn by rank.
    had
        How many of these people have had.

    Examples
    --------
    >>> inclusion({"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 1.0, "b": 3.0, "c": 2.5}, 1)
    {'a': 1.0, 'b': 0.75, 'c': 0.5}
    """
    threshold = sorted(ranked.values())[had] if had < len(ranked) else math.inf
    return {unit: min(1.0, chance * threshold) for unit, chance in chances.items()}


def record(connection: Connection, units: Mapping[int, str], chances: Mapping[str, float], *, now: int) -> None:
    """Draw the order of items whose rows are locked, and record each item's chance and rank in the log.

    Parameters
    ----------
    connection
        In a transaction that writes.
    units
        The unit of each item by its number: items of one segment are drawn together.
    chances
        The chance of each unit; they add up to 1.
    now
        The time in milliseconds.
    """
    given_out, elsewhere = _had(connection, units)
    before = given_out | elsewhere  # by chance, without a rank
    ranked = ranks(secret_of(connection), {unit: chance for unit, chance in chances.items() if unit not in before})
    order = sorted(units, key=lambda item: (ranked.get(units[item], 0.0), item))
    entries: list[dict[str, Any]] = []
    for item in order:
        kept = {"chance": chances[units[item]]}
        if (rank := ranked.get(units[item])) is not None:
            kept["rank"] = rank
        entries.append({"at": now, "kind": ALLOCATED, "item": item, "note": json.dumps(kept)})
    add_entries(connection, entries)
    connection.execute(_SET_ORDER, [{"of_item": item, "place": place} for place, item in enumerate(order)])
    put_meta(connection, _SETTING, "adaptive")


def recorded_probabilities(
    connection: Connection, units: Mapping[int, str], rated: Collection[str]
) -> dict[str, float] | None:
    """Return the probability of each unit to be rated by now; None if there is no allocation.

    What was rated before the allocation counts as drawn evenly. Units that were rated elsewhere (imported or carried
    over) after it have no known probability, and are missing.

    Parameters
    ----------
    connection
        To the store.
    units
        The unit of each item by its number.
    rated
        Units that people have rated.
    """
    chances: dict[str, float] = {}
    ranked: dict[str, float] = {}
    for row in connection.execute(select(log.c.item, log.c.note).where(log.c.kind == ALLOCATED)):
        kept = json.loads(row.note)
        chances[units[row.item]] = kept["chance"]
        if "rank" in kept:
            ranked[units[row.item]] = kept["rank"]
    if not chances:
        return None
    given_out, elsewhere = _had(connection, units)
    had = ranked.keys() & given_out
    # Of those that people have had, some are not answered yet, or could not be judged.
    answered = len(had.intersection(rated)) / max(len(had), 1)
    first = len((chances.keys() - ranked.keys()).intersection(rated)) / len(chances)
    later = answered * len(ranked) / len(chances)
    unknown = (elsewhere & ranked.keys()) - given_out
    return {
        unit: first + later * chance
        for unit, chance in inclusion(chances, ranked, len(had)).items()
        if unit not in unknown
    }


def _had(connection: Connection, units: Mapping[int, str]) -> tuple[set[str], set[str]]:
    """Return the units of which the study has given people a task, and those with answers from elsewhere."""
    found: dict[bool, set[str]] = defaultdict(set)
    columns = select(assignments.c.item, assignments.c.lease_until, assignments.c.shown_at)
    for row in connection.execute(
        columns.join(raters, raters.c.id == assignments.c.rater).where(raters.c.entry != MODEL)
    ):
        if row.item in units:
            # Imported and carried answers have the time of the answer, as no task was assigned.
            found[row.lease_until > row.shown_at].add(units[row.item])
    return found[True], found[False]
