"""A small corpus, an index that was not finished, and what tests of indexes ask for again and again."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from trubleu.data import Triple
from trubleu.errors import DataError
from trubleu.mining import Index

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from trubleu.files.paths import PathLike

WORDS = (
    "the", "a", "Rain", "snow,", "who", "why", "not?", "yes", "no!", "café", "北京", "don't", "I", "you", "we", "cup",
    "match", "won",
)  # fmt: skip


def triples(count: int, seed: int = 1) -> list[Triple]:
    """Make up triples, each with an id of its own."""
    draw = random.Random(seed)

    def text() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(1, 9)))

    return [Triple(f"{seed}-{number}", (), text(), text()) for number in range(count)]


def write(path: Path, rows: Iterable[Triple | dict[str, Any]]) -> Path:
    """Write JSON lines."""
    with path.open("w") as stream:
        for row in rows:
            fields = row if isinstance(row, dict) else {"id": row.id, "message": row.message, "response": row.response}
            stream.write(json.dumps(fields) + "\n")
    return path


def interrupted(path: PathLike, corpus: Sequence[PathLike], **options: Any) -> None:
    """Build an index, with shards of ten triples, as far as a file whose last row is bad."""
    with pytest.raises(DataError, match=r"finished shards are kept, to continue with --resume"):
        Index.build(path, corpus, **({"shard_triples": 10} | options))


def files(folder: Path) -> dict[str, bytes]:
    """Return what a folder holds."""
    return {item.name: item.read_bytes() for item in folder.iterdir()}


def records(folder: Path) -> list[Path]:
    """Return the records of finished shards."""
    return sorted(folder.glob("built-*.result"))


def shards(folder: Path) -> list[Path]:
    """Return the files of shards, sorted by name."""
    return sorted(folder.glob("shard-*.tbx"))


def rows(index: Index) -> list[tuple[str, str, str]]:
    """Return all triples of an index."""
    return [index.triple(row) for row in range(len(index))]


def plain(given: Iterable[Triple]) -> list[tuple[str, str, str]]:
    """Return triples as an index gives them back."""
    return [(triple.id, triple.message, triple.response) for triple in given]
