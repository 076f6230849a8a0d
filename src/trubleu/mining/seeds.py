"""Seeds: the triples that candidates are mined for, each with an id of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from trubleu.data.files import is_standard
from trubleu.data.triples import TripleList, warn_of_skipped
from trubleu.data.weights import shown
from trubleu.errors import DataError
from trubleu.mining.building import corpus_source

if TYPE_CHECKING:
    from trubleu.data.triples import Triple, TripleSource
    from trubleu.mining.building import Corpus


def seed_source(seeds: Corpus, *, columns: str | None = None, skip_bad: bool = False) -> TripleSource:
    """Return where seeds come from; files must exist, but nothing of them is read yet."""
    if isinstance(seeds, Iterable) and not isinstance(seeds, str):
        given: list[Any] = list(seeds)
        if not given or not all(isinstance(each, str | os.PathLike) for each in given):
            return TripleList(given)  # a list, as it may have to be read twice
        seeds = given
    return corpus_source(seeds, columns=columns, skip_bad=skip_bad)


def seed_triples(source: TripleSource) -> list[Triple]:
    """Read all seeds.

    Raises
    ------
    DataError
        If there are none, a field is missing or wrong, or two have the same id.
    """
    triples: list[Triple] = []
    seen: set[str] = set()
    for batch in source.batches():
        for triple in batch:
            if triple.id in seen:
                raise DataError(_twice(source, triple.id))
            seen.add(triple.id)
            triples.append(triple)
    warn_of_skipped(source)
    if not triples:
        where = ", ".join(source.files) or "the list"
        raise DataError(f"there are no seeds in {where}; give at least one triple")
    return triples


def _twice(source: TripleSource, identity: str) -> str:
    """Say where an id is used twice; read again, one row at a time, as only then the rows of triples are known."""
    what = f"the id {shown(identity)} is used"
    if not any(map(is_standard, source.files)):
        places: list[str] = []
        for batch in source.batches(size=1, contexts=False):
            if identity in batch.ids:
                places.append(f"{source.files[batch.file]}:{batch.end}" if source.files else f"seed {batch.end}")
            if len(places) > 1:
                return f"{places[1]}: {what} already at {places[0]}; every seed needs its own"
    return f"{what} by two seeds; every seed needs its own"
