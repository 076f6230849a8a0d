"""References as frames: one row a segment with its references nested, or one row a reference."""

from __future__ import annotations

from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from trubleu.data.extras import pandas_module, polars_module
from trubleu.data.records import SegmentCollector, id_field
from trubleu.data.vectorised import usual_segments
from trubleu.data.weights import shown
from trubleu.errors import DataError, UsageError, nearest, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    import polars as pl

    from trubleu.data.columns import Columns
    from trubleu.data.flat import FlatSegments
    from trubleu.data.tables import Frame, Table

Kind: TypeAlias = Literal["polars", "pandas"]
KINDS: tuple[Kind, ...] = ("polars", "pandas")

#: What a table of references may hold: fields of a segment, its references, and the fields of a reference.
SEGMENT_FIELDS = ("id", "context", "message")
REFERENCE_FIELDS = ("text", "weight", "ratings", "origin")
WANTED = (*SEGMENT_FIELDS, "references", *REFERENCE_FIELDS)


def segments_from_table(table: Table) -> Columns:
    """Make references of a table in either form (see `References.from_frame`)."""
    if table.polars is not None and (usual := usual_segments(table.polars, table.source)) is not None:
        return usual
    if "references" in table.columns:
        return _from_nested(table)
    if "text" in table.columns:
        return _from_long(table)
    raise DataError(
        f"{table.source}: a column references (one row a segment) or text (one row a reference) must be there; "
        f"columns found: {some(table.names) or 'none'}"
    )


def _from_nested(table: Table) -> Columns:
    collector = SegmentCollector(table.source)
    for row, record in enumerate(table.rows()):
        collector.add(record, table.place(row), table.default_id(row))
    return collector.columns()


def _from_long(table: Table) -> Columns:
    table.require("id")
    groups: dict[str, list[int]] = {}
    for row, value in enumerate(table.columns["id"]):
        identity = id_field({"id": value}, table.place(row))
        if identity is None:
            raise DataError(f"{table.place(row)}: id is null; every row names the segment that its text belongs to")
        groups.setdefault(identity, []).append(row)
    names = [name for name in REFERENCE_FIELDS if name in table.columns]
    items = list(zip(*(table.columns[name] for name in names), strict=True))
    collector = SegmentCollector(table.source)
    for identity, rows in groups.items():
        record = {name: _common(table, name, rows) for name in SEGMENT_FIELDS[1:] if name in table.columns}
        collector.begin(record | {"id": identity}, table.place(rows[0]), identity)
        for row in rows:
            collector.add_reference(dict(zip(names, items[row], strict=True)), table.place(row))
        collector.end()
    return collector.columns()


def _common(table: Table, name: str, rows: Sequence[int]) -> Any:
    """Return what the rows of a segment say of it; those that leave it out agree with any other."""
    column = table.columns[name]
    given = [row for row in rows if column[row] is not None]
    for row in given:
        if column[row] != column[given[0]]:
            raise DataError(
                f"{table.place(row)}: {name} is not that of row {given[0] + 1}, which has the same id; "
                "give all rows of a segment the same, or null"
            )
    return column[given[0]] if given else None


def segments_to_frame(segments: FlatSegments, kind: Kind, *, long: bool) -> Frame:
    """Make a frame of references (see `References.to_frame`)."""
    check_kind(kind)
    _check_storable(segments)
    return (_to_polars if kind == "polars" else _to_pandas)(segments, long)


def _to_polars(segments: FlatSegments, long: bool) -> pl.DataFrame:
    polars = polars_module()
    owners = np.repeat(np.arange(len(segments)), segments.reference_counts())
    heads = {"id": polars.Series(segments.ids, dtype=polars.String)}
    if segments.contexts is not None:
        turns = [None if context is None else list(context) for context in segments.contexts]
        heads["context"] = polars.Series(turns, dtype=polars.List(polars.String))
    if segments.messages is not None:
        heads["message"] = polars.Series(segments.messages, dtype=polars.String)
    items = {"text": polars.Series(segments.texts, dtype=polars.String)}
    if segments.weights is not None:
        items["weight"] = polars.Series(segments.weights, dtype=polars.Float64).fill_nan(None)
    if segments.origins is not None:
        items["origin"] = polars.Series(segments.origins, dtype=polars.String)
    frame: pl.DataFrame = polars.DataFrame(heads)
    if long:
        return frame.select(polars.all().gather(owners)).hstack(list(polars.DataFrame(items)))
    # Every segment has a reference, so grouping gives a row for each of them, in their order.
    nested = polars.DataFrame({"owner": owners, "references": polars.DataFrame(items).to_struct()})
    return frame.with_columns(nested.group_by("owner", maintain_order=True).agg("references").get_column("references"))


def _to_pandas(segments: FlatSegments, long: bool) -> pd.DataFrame:
    heads: dict[str, Sequence[Any]] = {"id": segments.ids}
    if segments.contexts is not None:
        heads["context"] = [None if context is None else list(context) for context in segments.contexts]
    if segments.messages is not None:
        heads["message"] = segments.messages
    items: dict[str, Sequence[Any]] = {"text": segments.texts}
    if segments.weights is not None:
        weights = segments.weights.tolist()
        items["weight"] = weights if long else [None if weight != weight else weight for weight in weights]
    if segments.origins is not None:
        items["origin"] = segments.origins
    if long:
        counts = segments.reference_counts().tolist()
        columns = {name: list(chain.from_iterable(map(repeat, values, counts))) for name, values in heads.items()}
        return pandas_module().DataFrame(columns | {name: list(values) for name, values in items.items()})
    records = [dict(zip(items, values, strict=True)) for values in zip(*items.values(), strict=True)]
    references = [records[start:end] for start, end in pairwise(segments.offsets.tolist())]
    columns = {name: list(values) for name, values in heads.items()}
    return pandas_module().DataFrame(columns | {"references": references})


def _check_storable(segments: FlatSegments) -> None:
    turns = chain.from_iterable(context or () for context in segments.contexts or ())
    check_storable(segments.texts, "reference")
    for values, what in ((segments.ids, "id"), (segments.origins, "origin"), (segments.messages, "message")):
        check_storable(values or (), what)
    check_storable(turns, "turn")


def check_kind(kind: str) -> None:
    """Refuse a kind of frame that there is not."""
    if kind not in KINDS:
        raise UsageError(f"there is no frame of the kind {shown(kind)}; {nearest(str(kind), KINDS)}")


def check_storable(values: Iterable[str | None], what: str) -> None:
    """Refuse strings that have no UTF-8, which is all that tables can hold."""
    for number, value in enumerate(values, 1):
        if value is None or value.isascii():
            continue
        try:
            value.encode()
        except UnicodeEncodeError:
            raise DataError(
                f"{what} {number} ({shown(value)}) holds half of a surrogate pair, which only JSON lines can hold; "
                "write a .jsonl file or repair it"
            ) from None
