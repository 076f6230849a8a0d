"""Seeds: the triples that candidates are mined for, each with an id of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from trubleu.data.triples import TripleList, distinct_triples, warn_of_skipped
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
    triples = distinct_triples(source, noun="seed")
    warn_of_skipped(source, stacklevel=5)  # who calls `Index.candidates`
    if not triples:
        where = ", ".join(source.files) or "the list"
        raise DataError(f"there are no seeds in {where}; give at least one triple")
    return triples
