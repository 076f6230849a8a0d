"""Triples from Parquet files, slice by slice, so that a file need not fit into memory."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING, Any

from trubleu.data.extras import polars_module
from trubleu.data.files import unreadable
from trubleu.data.places import forget, local_copy
from trubleu.data.tables import PARQUET_MAGIC
from trubleu.data.triple_rows import FIELDS
from trubleu.errors import ChangedError, DataError, some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.data.files import PathLike
    from trubleu.data.line_reader import Size
    from trubleu.data.triple_rows import TripleRows

_SLICE = 1 << 17  # rows decoded at once


class _Latest(threading.local):
    path = ""


_latest = _Latest()


def go_over_to(path: str) -> None:
    """Let go of the copy of the file that was gone over to before, unless it is the same one.

    Whoever reads one file after the other needs only one copy at a time, and all of them may not fit on this disk.
    """
    if _latest.path != path:
        forget(_latest.path)
        _latest.path = path


class ParquetTriples:
    """An open Parquet file of triples.

    Parameters
    ----------
    source
        A path, or the whole file's bytes.
    name
        What messages call it.

    Attributes
    ----------
    height
        How many rows there are.

    Raises
    ------
    DataError
        If it is no Parquet file, is damaged, or has no column ``message`` or ``response`` of texts.
    MissingExtraError
        If Polars is not installed.
    """

    def __init__(self, source: PathLike | bytes, name: str) -> None:
        self._polars = polars_module()
        self._name = name
        self._damage = (self._polars.exceptions.PolarsError, self._polars.exceptions.PanicException, OSError)
        try:
            file = io.BytesIO(source) if isinstance(source, bytes) else local_copy(source)
        except OSError as error:
            raise DataError(unreadable(name, error)) from error
        # A name is not a pattern of several files, whatever is in it.
        self._lazy = self._polars.scan_parquet(file, glob=False, hive_partitioning=False)
        try:
            schema = self._lazy.collect_schema()
            self.height = int(self._lazy.select(self._polars.len()).collect().item())
        except self._damage as error:
            raise DataError(self._damaged()) from error
        self._columns = [field for field in FIELDS if field in schema]
        self._check(schema)

    def batches(
        self, rows: TripleRows, size: Size, passed: int, *, first: int = 0, count: int | None = None
    ) -> Iterator[int]:
        """Add the triples to ``rows``, and yield after every ``size`` rows how many of the file have been read.

        Parameters
        ----------
        rows
            Takes the triples.
        size
            How many rows to read at once at most; a function is asked before each time.
        passed
            How many rows to pass over, of those after ``first``.
        first, count
            Which rows to read, all of them if left out.

        Raises
        ------
        DataError
            If a row cannot be used, unless such rows are counted.
        """
        last = self.height if count is None else first + count
        if first + passed > self.height or last > self.height:
            raise ChangedError(
                f"{self._name} has fewer rows than have been read from it before; it must have changed, so begin anew"
            )
        wanted = [field for field in self._columns if rows.contexts or field != "context"]
        room = size if callable(size) else lambda: size
        at = first + passed
        while at < last:
            # Slices end at the same rows wherever reading begins, and so do the batches after that.
            end = min(first + ((at - first) // _SLICE + 1) * _SLICE, last)
            try:
                frame = self._lazy.select(wanted).slice(at, end - at).collect()
            except self._damage as error:
                raise DataError(self._damaged()) from error
            columns = {field: frame.get_column(field).to_list() for field in wanted}
            begin = 0
            while begin < frame.height:
                step = room()
                part = {field: values[begin : begin + step] for field, values in columns.items()}
                self._add(rows, part, at + begin)
                begin += len(part["message"])
                yield at + begin
            at = end

    def _add(self, rows: TripleRows, part: dict[str, list[Any]], before: int) -> None:
        count = len(part["message"])
        nothing = [None] * count
        contexts = part.get("context", nothing)
        if contexts and any(type(turn) is str for turn in contexts):
            contexts = part["context"] = [None if turn is None else [turn] if turn else [] for turn in contexts]
        if rows.add_columns(part.get("id", nothing), contexts, part["message"], part["response"], before):
            return
        for index, values in enumerate(zip(*part.values(), strict=True)):
            number = before + index + 1
            try:
                rows.add_record(dict(zip(part, values, strict=True)), f"{self._name}: row {number}", number)
            except DataError as error:
                rows.refuse(error)

    def _check(self, schema: Any) -> None:
        polars = self._polars
        texts = (polars.String, polars.Categorical, polars.Enum)
        for field in ("message", "response"):
            if field not in schema:
                found = some(schema) or "none"
                raise DataError(f"{self._name}: the column {field} must be there; columns found: {found}")
        for field in ("id", "message", "response"):
            kind = schema.get(field)
            numbered = field == "id" and kind is not None and kind.is_integer()
            if kind is not None and kind.base_type() not in texts and not numbered:
                what = "texts or whole numbers" if field == "id" else "texts"
                raise DataError(f"{self._name}: the column {field} must hold {what}, not {kind}")
        context = schema.get("context")
        lists = context is not None and context.base_type() is polars.List and context.inner.base_type() in texts
        if context is not None and not lists and context.base_type() not in (*texts, polars.Null):
            raise DataError(f"{self._name}: the column context must hold lists of texts, or texts, not {context}")

    def _damaged(self) -> str:
        return f"{self._name}: the Parquet data is damaged or ends early; copy or write the file again"


def check_magic(head: bytes, name: str) -> None:
    """Refuse a file whose name says that it is Parquet, but whose first bytes do not."""
    if not head.startswith(PARQUET_MAGIC):
        raise DataError(f"{name} is not a Parquet file, though its name says so; rename it or write it again")
