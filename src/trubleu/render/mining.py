"""Tables of an index, of mined candidates, and of counted triples."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from trubleu.errors import counted
from trubleu.files import paths
from trubleu.render.tables import Column, Table, one_line, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.mining import Candidate, Candidates, Index


def index_tables(index: Index, notes: list[str] | None = None) -> list[Table]:
    """Return tables of an index's contents, options and sources."""
    manifest = index.manifest
    columns = [
        Column("name", "index", of=lambda index: index.place),
        Column("triples", kind="count", of=len),
        Column("message_words", "words of messages", "count"),
        Column("mean_message", "mean", "number", of=lambda index: index.message_words / len(index)),
        Column("response_words", "words of responses", "count"),
        Column("mean_response", "mean", "number", of=lambda index: index.response_words / len(index)),
        Column("shards", kind="count", of=lambda _: len(manifest.shards)),
        Column("bytes", kind="count", of=_size),
    ]
    options = [
        ("tokenize", index.tokenize),
        ("case", "ignored" if index.lowercase else "kept"),
        ("stop words", str(len(index.stop_words))),
        ("triples in a shard", str(manifest.options.shard_triples)),
        ("skipped as bad", str(manifest.bad)),
        ("skipped as blank", str(manifest.empty)),
        ("fingerprint", index.content),
    ]
    sources = [(one_line(source.name), source.triples) for source in manifest.sources]
    return [
        table_of([index], columns, "", notes or [], "index"),
        Table("How it was made", [Column("option"), Column("value")], options, name="options"),
        Table("Sources", [Column("name", "file"), Column("triples", kind="count")], sources, name="sources"),
    ]


def _size(index: Index) -> int:
    return sum(paths.byte_size(paths.joined(index.place, shard.file)) for shard in index.manifest.shards)


def summary_table(found: Candidates, path: str) -> Table:
    """Return the number of candidates written, by origin."""
    origins = [each.origin for one in found for each in one.candidates]
    rows = [(origin, origins.count(origin)) for origin in ("seed", "mined", "parrot", "random") if origin in origins]
    notes = [f"{path}: candidates for {counted(len(found), 'seed')}", f"signature: {found.signature}"]
    return Table("", [Column("origin"), Column("candidates", kind="count")], rows, notes, name="candidates")


def candidate_tables(
    found: Sequence[Candidate], notes: list[str], *, by_message: bool, explained: bool, for_people: bool, digits: int
) -> list[Table]:
    """Return the results of a search.

    Parameters
    ----------
    found
        The candidates.
    notes
        Notes below the table.
    by_message
        Whether there was no response to search for.
    explained
        Whether the words that made each score are shown.
    for_people
        False for programs, which get the words as rows of a table of their own.
    digits
        Decimals of the words' contributions.
    """
    columns = [
        Column("rank", kind="count"),
        Column("score", kind="number"),
        Column("message_score", "of message", "number"),
        Column("response_score", "of response", "number"),
        Column("message", of=lambda each: one_line(each.source_message or "")),
        Column("response", of=lambda each: one_line(each.text)),
        Column("source"),
    ]
    if by_message:  # the score is that of the message, so it is not repeated
        repeated = ("message_score", "response_score") if for_people else ("response_score",)
        columns = [column for column in columns if column.name not in repeated]
        notes = [*notes, "ranked by the message alone, as no --response was given; the score is BM25's of the messages"]
    if explained and for_people:
        for field in ("message",) if by_message else ("message", "response"):
            listed = partial(_listed_words, field, digits)
            columns.append(Column(f"{field}_words", f"words of {field}", of=listed))
    tables = [table_of(found, columns, "", notes, "candidates")]
    if explained and not for_people:
        names = [Column("rank", kind="count"), Column("field"), Column("word"), Column("contribution", kind="number")]
        parts = [
            (each.rank, field, word, contribution)
            for each in found
            if each.words is not None
            for field, words in (("message", each.words.message), ("response", each.words.response))
            for word, contribution in words
        ]
        tables.append(Table("", names, parts, name="words"))
    return tables


def _listed_words(field: str, digits: int, found: Candidate) -> str:
    words: Sequence[tuple[str, float]] = getattr(found.words, field)
    return " · ".join(f"{word} {contribution:.{digits}f}" for word, contribution in words)


def triples_table(counts: Mapping[str, int]) -> Table:
    """Return how many triples were read, kept and skipped, and why."""
    titles = {"few": "too few raters", "low": "rated too low", "short": "too short"}
    columns = [Column(name, titles.get(name, name), "count") for name in counts]
    return Table("", columns, [tuple(counts.values())], name="triples")
