"""Tables of the contents of vector sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.errors import counted
from trubleu.render.tables import Column, Table, one_line, table_of
from trubleu.vectors import ListedSource, VectorStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.vectors import Neighbour, Training, VectorSource


def source_tables(source: VectorSource) -> list[Table]:
    """Return the contents of a source: n-grams of each order, and how a store was made."""
    columns = [Column("name"), Column("dimensions", kind="count")]
    row: list[Any] = [source.name, source.dimensions]
    if isinstance(source, ListedSource):
        columns.append(Column("entries", "n-grams", "count"))
        row.append(len(source))
    if isinstance(source, VectorStore):
        columns.append(Column("dtype", "numbers"))
        row.append(source.precision)
    notes = [] if isinstance(source, ListedSource) else ["It has a vector for any n-gram of any number of words."]
    tables = [Table("", columns, [row], notes, name="vectors")]
    if isinstance(source, ListedSource):
        lengths, counts = source.lengths, source.counts
        columns = [Column("order", "words", "count"), Column("entries", "n-grams", "count")]
        rows: list[list[Any]] = [[order, int((lengths == order).sum())] for order in np.unique(lengths).tolist()]
        if counts is not None:
            columns.append(Column("count", "seen", "count"))
            for row in rows:
                row.append(int(counts[lengths == row[0]].sum()))
        tables.append(Table("Orders", columns, rows, name="orders"))
    if isinstance(source, VectorStore) and source.options:
        made = [(one_line(str(key)), one_line(str(value))) for key, value in source.options.items()]
        tables.append(Table("How they were made", [Column("option"), Column("value")], made, name="options"))
    return tables


def neighbours_table(found: Sequence[Neighbour], phrase: str, source: str) -> Table:
    """Return the nearest neighbours of an n-gram."""
    columns = [
        Column("rank", kind="count", of=lambda ranked: ranked[0]),
        Column("ngram", "n-gram", of=lambda ranked: one_line(ranked[1].ngram)),
        Column("similarity", kind="number", of=lambda ranked: ranked[1].similarity),
    ]
    if any(each.count is not None for each in found):
        columns.append(Column("count", "seen", "count", of=lambda ranked: ranked[1].count))
    return table_of(enumerate(found, 1), columns, "", [f"nearest to {phrase!r} in {source}"], "neighbours")


def similarities_table(found: Sequence[tuple[str, str, float]], source: str) -> Table:
    """Return the similarities of pairs of n-grams."""
    columns = [Column("one"), Column("other"), Column("similarity", kind="number")]
    rows = [(one_line(one), one_line(other), cosine) for one, other, cosine in found]
    return Table("", columns, rows, [f"vectors: {source}"], name="similarities")


def training_table(made: Training, mode: str, epochs: int) -> Table:
    """Return how many n-grams were trained, and the loss of each model."""
    # One loss per model, that of its last epoch; a joint model has all orders.
    losses = list(made.losses[epochs - 1 :: epochs]) * (1 if mode == "separate" else len(made.entries))
    columns = [Column("order", "words", "count"), Column("entries", "n-grams", "count"), Column("loss", kind="number")]
    rows = [(order, entries, loss) for (order, entries), loss in zip(made.entries.items(), losses, strict=True)]
    return Table("", columns, rows, [f"{made.path}: trained on {counted(made.words, 'word')}"], name="training")
