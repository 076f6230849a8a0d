"""Polars frames of references taken whole, at the speed of Polars, where no row needs a closer look.

What is usual passes here: texts, numbers from -1 to 1 as weights, nothing missing that is needed. Anything else,
mistakes above all, is left to the checks of `trubleu.data.records`, which go row by row and can name the row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.data.columns import Columns
from trubleu.data.extras import polars_module
from trubleu.data.records import unless_all_none

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


def usual_segments(frame: pl.DataFrame, source: str) -> Columns | None:
    """Return the columns of a frame in either form (see `References.from_frame`), None if rows must be looked at."""
    if "references" not in frame.columns:  # one row a reference
        nested = _nest(frame)
        if nested is None:
            return None
        frame = nested
    if "id" in frame.columns and frame.schema["id"].is_integer():
        frame = frame.with_columns(frame.get_column("id").cast(polars_module().String))
    ids = _texts(frame, "id", required=True)
    messages = _texts(frame, "message")
    contexts = _contexts(frame)
    items = _items(frame)
    if ids is None or messages is None or contexts is None or items is None or len(set(ids)) < len(ids):
        return None
    texts, origins = _texts(items, "text", required=True), _texts(items, "origin")
    weights = _weights(items)
    if texts is None or origins is None or weights is None:
        return None
    return Columns(
        texts,
        np.concatenate(([0], frame.get_column("references").list.len().to_numpy().cumsum())).astype(np.int64),
        weights if {"weight", "ratings"} & set(items.columns) and items.height else None,
        tuple(ids),
        unless_all_none(origins),
        unless_all_none(messages),
        unless_all_none(contexts),
        source,
    )


def _nest(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Turn one row a reference into one row a segment, if nothing is said of a segment that its rows could dispute."""
    polars = polars_module()
    if not {"id", "text"} <= set(frame.columns) or {"message", "context"} & set(frame.columns):
        return None
    fields = [name for name in frame.columns if name != "id"]
    return frame.group_by("id", maintain_order=True).agg(polars.struct(fields).alias("references"))


def _items(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Return the references of all segments, one a row, if each segment has some."""
    polars = polars_module()
    column = frame.get_column("references")
    if not isinstance(column.dtype, polars.List) or not isinstance(column.dtype.inner, polars.Struct):
        return None
    if column.null_count() or (frame.height and column.list.len().min() == 0):
        return None
    items = column.explode()
    return None if items.null_count() else items.struct.unnest()


def _texts(frame: pl.DataFrame, name: str, *, required: bool = False) -> list[Any] | None:
    """Return a column of strings, all None if it is not there; no column if it holds anything else."""
    polars = polars_module()
    if name not in frame.columns:
        return None if required else [None] * frame.height
    column = frame.get_column(name)
    if column.dtype == polars.Null and not required:
        return column.to_list()
    if column.dtype != polars.String or (required and column.null_count()):
        return None
    return column.to_list()


def _contexts(frame: pl.DataFrame) -> list[tuple[str, ...] | None] | None:
    """Return the turns before each message, None instead of one that is not known; no column if a turn is null."""
    polars = polars_module()
    if "context" not in frame.columns:
        return [None] * frame.height
    column = frame.get_column("context")
    if column.dtype != polars.List(polars.String) or column.list.eval(polars.element().is_null()).list.any().any():
        return None
    return [None if context is None else tuple(context) for context in column.to_list()]


def _weights(items: pl.DataFrame) -> NDArray[np.float64] | None:
    """Return weights, NaN where there is none; no column if one may be wrong or ratings may disagree with it."""
    polars = polars_module()
    if "ratings" in items.columns and items.get_column("ratings").null_count() < items.height:
        return None
    if "weight" not in items.columns:
        return np.full(items.height, np.nan)
    column = items.get_column("weight")
    if not (column.dtype.is_float() or column.dtype.is_integer() or column.dtype == polars.Null):
        return None
    numbers = column.cast(polars.Float64)
    if numbers.is_nan().any() or (numbers.abs() > 1).any():
        return None
    weights: NDArray[np.float64] = numbers.fill_null(np.nan).to_numpy()
    return weights
