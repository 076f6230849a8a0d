"""Who somebody is: what raters are known by elsewhere, recognised even after it was erased.

A store keeps keyed checksums of ids, never the ids of who was erased. With the key, which is in the store too, it can
be checked whether an id that is known belongs to a rater; nobody can read an id out of it.
"""

from __future__ import annotations

import hmac
import re
from typing import TYPE_CHECKING

from sqlalchemy import select

from trubleu.rating.store.opening import get_meta
from trubleu.rating.store.schema import known, meta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

KEY = "identity"
CARRIED = "carried"  # as a way in: raters of another study, by their pseudonyms there
_OTHERS = "identity of "
_MARK = 8
_PSEUDONYM = re.compile(r"rater ([1-9][0-9]{0,17}) of ([0-9a-f]{8})")


def pseudonym(number: int, study: str) -> str:
    """Return what exports call a rater: by number, and by a mark of the study, as others have the same numbers.

    Examples
    --------
    >>> pseudonym(3, "1f2e9a0c77d1b2a4")
    'rater 3 of 1f2e9a0c'
    """
    return f"rater {number} of {study[:_MARK]}"


def parse_pseudonym(name: str) -> tuple[int, str] | None:
    """Return the number and the mark that a pseudonym holds, None if it is another name.

    Examples
    --------
    >>> parse_pseudonym("rater 3 of 1f2e9a0c"), parse_pseudonym("rater 3")
    ((3, '1f2e9a0c'), None)
    """
    found = _PSEUDONYM.fullmatch(name)
    return None if found is None else (int(found[1]), found[2])


def is_of(mark: str, study: str) -> bool:
    """Return whether a mark is that of a study."""
    return study[:_MARK] == mark


def remember(connection: Connection, rater: int, entry: str, external: str) -> None:
    """Recognise an id from elsewhere from now on, unless it is somebody's already."""
    hashed = _hash(get_meta(connection, KEY) or "", entry, external)
    _add(connection, hashed, rater)


def recall(connection: Connection, entry: str, external: str) -> int | None:
    """Return the number of the rater who has an id elsewhere, erased or not; None if nobody is known by it."""
    hashes = [_hash(key, entry, external) for key in keys(connection).values()]
    return connection.execute(select(known.c.rater).where(known.c.hash.in_(hashes)).order_by(known.c.rater)).scalar()


def keys(connection: Connection) -> dict[str, str]:
    """Return the keys of checksums by the studies that these come from, this one first."""
    own = get_meta(connection, "study") or ""
    found = {own: get_meta(connection, KEY) or ""}
    rows = connection.execute(select(meta).where(meta.c.key.startswith(_OTHERS)).order_by(meta.c.key))
    return found | {row.key.removeprefix(_OTHERS): row.value for row in rows}


def checksums(connection: Connection) -> dict[str, int]:
    """Return the raters by their checksums."""
    return {row.hash: row.rater for row in connection.execute(select(known).order_by(known.c.hash))}


def adopt(
    connection: Connection, theirs: Mapping[str, int], their_keys: Mapping[str, str], numbers: Mapping[int, int]
) -> None:
    """Recognise whom another study recognises; ``numbers`` has the raters' numbers here by those there."""
    there = keys(connection)
    for study, key in their_keys.items():
        if study not in there:
            connection.execute(meta.insert().values(key=f"{_OTHERS}{study}", value=key))
    for hashed, rater in theirs.items():
        _add(connection, hashed, numbers[rater])


def _add(connection: Connection, hashed: str, rater: int) -> None:
    if connection.execute(select(known.c.rater).where(known.c.hash == hashed)).first() is None:
        connection.execute(known.insert().values(hash=hashed, rater=rater))


def _hash(key: str, entry: str, external: str) -> str:
    return hmac.digest(key.encode(), f"{entry}:{external}".encode(), "sha256").hex()
