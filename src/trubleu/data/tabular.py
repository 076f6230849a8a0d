"""Segments that come from frames, and go into frames and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self, overload

from trubleu.data.flat import FlatSegments
from trubleu.data.formats import format_to_write
from trubleu.data.frames import WANTED, segments_from_table, segments_to_frame
from trubleu.data.jsonl import write_references
from trubleu.data.tables import table_of, write_parquet

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from trubleu.data.files import PathLike
    from trubleu.data.frames import Kind
    from trubleu.data.tables import Frame


class TabularSegments(FlatSegments):
    """What `References` has to do with frames and with writing files."""

    __slots__ = ()

    @classmethod
    def from_frame(cls, frame: Frame) -> Self:
        """Make references from a Polars or pandas frame.

        It has one of two forms, with the fields of `References.read` as columns. Other columns are ignored.

        - *nested*, one row a segment: ``references`` holds lists of structs with ``text`` and maybe ``weight``,
          ``ratings`` and ``origin``; ``id``, ``context`` and ``message`` are optional.
        - *long*, one row a reference: ``id`` and ``text``; ``weight``, ``ratings``, ``origin``, ``context`` and
          ``message`` are optional. Rows with the same id are one segment, side by side or not: segments come in the
          order of their first rows, and references in the order of theirs.

        A missing weight (null, and in pandas also NaN) means "not rated yet".

        Raises
        ------
        DataError
            If a column is missing or a value cannot be used, with its row, counted from 1, and its column.

        Examples
        --------
        >>> import polars as pl
        >>> from trubleu import References
        >>> frame = pl.DataFrame({"id": ["a", "b", "a"], "text": ["hello", "bye", "hi"], "weight": [1.0, 0.8, 0.4]})
        >>> [[reference.text for reference in segment.references] for segment in References.from_frame(frame)]
        [['hello', 'hi'], ['bye']]
        """
        return cls._from_columns(segments_from_table(table_of(frame, WANTED)))

    @overload
    def to_frame(self, kind: Literal["polars"] = "polars", *, long: bool = False) -> pl.DataFrame: ...
    @overload
    def to_frame(self, kind: Literal["pandas"], *, long: bool = False) -> pd.DataFrame: ...
    def to_frame(self, kind: Kind = "polars", *, long: bool = False) -> Frame:
        """Return the references as a frame that `from_frame` takes.

        There are columns for what is known: without any weights, for instance, there is none for weights.

        Parameters
        ----------
        kind
            ``"polars"`` or ``"pandas"``.
        long
            Whether a row is a reference; otherwise it is a segment, and its references are nested in it.

        Raises
        ------
        MissingExtraError
            If the library is not installed.
        DataError
            If a text cannot be held by a frame, because it contains half of a surrogate pair.

        Examples
        --------
        >>> from trubleu import References
        >>> references = References.from_lists([["hello", "hi"], ["bye"]], [[1.0, 0.4], [None]])
        >>> references.to_frame(long=True).rows()
        [('1', 'hello', 1.0), ('1', 'hi', 0.4), ('2', 'bye', None)]
        >>> references.to_frame().columns
        ['id', 'references']
        """
        return segments_to_frame(self, kind, long=long)

    def write(self, path: PathLike) -> None:
        """Write a file that `References.read` reads back to the same references; it appears whole or not at all.

        Of what the formats can hold, only what `References` keeps is written: ids, contexts, messages, texts, weights
        and origins.

        Parameters
        ----------
        path
            The name tells the format: ``.jsonl`` (then maybe ``.gz`` or ``.zst``) or ``.parquet``. ``-`` is standard
            output, which gets JSON lines.

        Raises
        ------
        DataError
            If the name tells no format, or the file cannot be written.
        MissingExtraError
            If a package that the format needs is not installed.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from trubleu import References
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "refs.parquet"
        >>> References.from_lists([["hello", "hi"]], [[1.0, None]]).write(path)
        >>> References.read(path)[0].references[1]
        Reference(text='hi', weight=None, origin=None)
        """
        if format_to_write(path, ["jsonl", "parquet"]) == "parquet":
            write_parquet(path, self.to_frame())
        else:
            write_references(path, self, weighted=self.weights is not None)
