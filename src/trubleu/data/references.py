"""References: several texts per segment, each with a weight, stored as flat columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from operator import attrgetter
from operator import index as as_index
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

import numpy as np

from trubleu.data.nested_lists import flatten_lists, transpose_streams
from trubleu.data.prepared import PreparedFile, PreparedReferences, is_prepared, kernel_texts, number
from trubleu.data.reference_files import (
    WANTED,
    Columns,
    check_ids,
    check_segments,
    checked_column,
    checked_numbers,
    checked_offsets,
    exact_texts,
    nullable,
    read_any,
    read_parallel,
    segments_from_table,
    segments_to_frame,
    write_references,
)
from trubleu.data.weights import weight_problem
from trubleu.errors import DataError, counted, some
from trubleu.files.parquet import table_of, write_parquet
from trubleu.files.paths import format_to_write
from trubleu.native import kernels
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    import pandas as pd
    import polars as pl
    from numpy.typing import ArrayLike, NDArray

    from trubleu.data.reference_files import Kind, Rated
    from trubleu.files.parquet import Frame
    from trubleu.files.paths import PathLike
    from trubleu.progress import Progress
    from trubleu.text import Tokenizer
    from trubleu.text.tokenizers import Spec


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference of a segment.

    Attributes
    ----------
    text
        The text; an empty string is a reference of length 0.
    weight
        From -1 to +1; None if it is not rated yet or no reference has a weight.
    origin
        Where it comes from, such as ``seed``, ``mined`` or ``system:NAME``.
    weight_se
        The standard error of the weight, if it is known.
    """

    text: str
    weight: float | None = None
    origin: str | None = None
    weight_se: float | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment: its references and what they answer to.

    Attributes
    ----------
    id
        Its name in files, different from every other segment's.
    references
        At least one.
    message
        What the references answer to, if known.
    context
        The turns before the message, oldest first, if known.
    """

    id: str
    references: tuple[Reference, ...]
    message: str | None = None
    context: tuple[str, ...] | None = None


TOKENS = "texts"
"""What keys of the cache begin with that hold all texts as kernels take them."""

Made = TypeVar("Made")


def _held(column: str) -> Any:
    """Return a property that reads one of the columns of references."""
    return property(attrgetter(f"_held.{column}"))


class References:
    """Several texts per segment, each with a weight.

    Made by `from_lists`, `from_streams`, `from_frame`, `read` or `read_parallel`; the constructor takes flat columns.
    They are checked once and never change. There may be no segments at all, but no segment without a reference.

    Parameters
    ----------
    texts
        All references, one segment after the other.
    offsets
        One more than there are segments: segment ``i`` owns ``texts[offsets[i]:offsets[i + 1]]``.
    weights
        One for each text, from -1 to 1, NaN for "not rated yet"; None if there are no weights at all.
    weight_errors
        The standard error of each weight, from 0 to 1, NaN where it is not known; None if none is.
    ratings
        Who rated each text and how, from -1 to 1: pairs of a name (None if not known) and a value, or None. Files that
        `write` writes hold only the weights and standard errors that follow from them.
    ids
        One for each segment; None for ``"1"``, ``"2"``, …, which are made only when asked for.
    origins
        One for each text, or None.
    messages, contexts
        One for each segment, or None.
    source
        Where the references come from, for messages.
    before
        How many segments went before, if these are a part of more: numbers that serve as ids go on from there.

    Raises
    ------
    DataError
        If the parts do not fit together, a segment has no reference, or a weight is outside [-1, 1].

    Examples
    --------
    >>> references = References.from_lists([["hello", "hi"], ["bye"]], [[1.0, 0.4], [0.8]])
    >>> len(references), references.count
    (2, 3)
    >>> references[0].references[1]
    Reference(text='hi', weight=0.4, origin=None, weight_se=None)
    """

    __slots__ = ("_cache", "_held")

    texts: tuple[str, ...] = _held("texts")
    """All references, flat."""
    offsets: NDArray[np.int64] = _held("offsets")
    """Where each segment begins in ``texts``, and the end of the last."""
    weights: NDArray[np.float64] | None = _held("weights")
    """One weight for each text, NaN if not rated yet; None if there are none."""
    weight_errors: NDArray[np.float64] | None = _held("weight_errors")
    """The standard error of each weight, NaN where it is not known; None if none is."""
    ratings: tuple[Rated | None, ...] | None = _held("ratings")
    """Who rated each text and how, or None."""
    origins: tuple[str | None, ...] | None = _held("origins")
    """Where each text comes from, or None."""
    messages: tuple[str | None, ...] | None = _held("messages")
    """What each segment's references answer to, or None."""
    contexts: tuple[tuple[str, ...] | None, ...] | None = _held("contexts")
    """The turns before each message, or None."""
    source: str = _held("source")
    """Where the references come from, for messages."""

    def __init__(
        self,
        texts: Sequence[str],
        offsets: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        weight_errors: ArrayLike | None = None,
        ratings: Sequence[Rated | None] | None = None,
        ids: Sequence[str] | None = None,
        origins: Sequence[str | None] | None = None,
        messages: Sequence[str | None] | None = None,
        contexts: Sequence[tuple[str, ...] | None] | None = None,
        source: str = "references",
        before: int = 0,
    ) -> None:
        held = tuple(texts)
        empty = kernels.count_empty(held)
        if empty is None:  # not all of them are plain strings
            held = exact_texts(held)
            empty = kernels.count_empty(held)
        begins = checked_offsets(offsets, len(held))
        segments = len(begins) - 1
        names = None if ids is None else check_ids(ids, segments)
        check_segments(begins, names)
        self._held: Columns | PreparedFile = Columns(
            held,
            begins,
            None if weights is None else checked_numbers(weights, len(held), "weights"),
            None if weight_errors is None else checked_numbers(weight_errors, len(held), "weight_errors"),
            checked_column(ratings, len(held), "ratings"),
            names,
            checked_column(origins, len(held), "origins"),
            checked_column(messages, segments, "messages"),
            checked_column(contexts, segments, "contexts"),
            source,
            before,
        )
        self._cache: dict[Any, Any] = {"empty": empty}

    @classmethod
    def from_lists(
        cls,
        references: Sequence[Sequence[str | None]],
        weights: Sequence[Sequence[float | None]] | None = None,
        ids: Sequence[str] | None = None,
        *,
        outputs_count: int | None = None,
    ) -> References:
        """Make references from nested lists, one inner list a segment.

        Parameters
        ----------
        references
            The references of each segment; None where there is none (its weight is then ignored).
        weights
            The same shape: from -1 to 1, None for "not rated yet".
        ids
            One for each segment; ``"1"``, ``"2"``, … if not given.
        outputs_count
            How many outputs will be scored, if known: lists in sacreBLEU's shape are then recognised and refused.

        Raises
        ------
        DataError
            If something does not fit, with the number of the segment.

        Examples
        --------
        >>> References.from_lists([["hello", None], ["bye", "see you"]]).reference_counts().tolist()
        [1, 2]
        """
        return cls._from_columns(flatten_lists(references, weights, ids, outputs_count))

    @classmethod
    def from_streams(
        cls,
        streams: Sequence[Sequence[str | None]],
        weights: Sequence[Sequence[float | None]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> References:
        """Make references from parallel lists, sacreBLEU's shape: the first list holds every segment's first reference.

        Parameters
        ----------
        streams
            Lists of the same length; None where a segment has no such reference.
        weights
            The same shape: from -1 to 1, None for "not rated yet".
        ids
            One for each segment; ``"1"``, ``"2"``, … if not given.

        Raises
        ------
        DataError
            If something does not fit, with the number of the list or the segment.

        Examples
        --------
        >>> references = References.from_streams([["hello", "bye"], ["hi", None]])
        >>> [[reference.text for reference in segment.references] for segment in references]
        [['hello', 'hi'], ['bye']]
        """
        rows = transpose_streams(streams, "references")
        if weights is None:
            return cls.from_lists(rows, ids=ids)
        if len(weights) != len(streams):
            raise DataError(
                f"there are {len(weights)} lists of weights but {len(streams)} lists of references; give one for each"
            )
        return cls.from_lists(rows, transpose_streams(weights, "weights"), ids)

    @classmethod
    def from_frame(cls, frame: Frame) -> Self:
        """Make references from a Polars or pandas frame.

        It has one of two forms, with the fields of `References.read` as columns. Other columns are ignored.

        - *nested*, one row per segment: ``references`` holds lists of structs with ``text`` and maybe ``weight``,
          ``ratings`` and ``origin``; ``id``, ``context`` and ``message`` are optional.
        - *long*, one row per reference: ``id`` and ``text``; ``weight``, ``ratings``, ``origin``, ``context`` and
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

    @classmethod
    def read(
        cls, path: PathLike, *, columns: Mapping[str, str] | None = None, scale: tuple[float, float] | None = None
    ) -> References:
        """Read references from one file: JSON lines, a table, text with one reference per line, or a prepared file.

        A file is JSON lines if its name ends in ``.jsonl``, ``.ndjson`` or ``.json`` (then maybe ``.gz`` or ``.zst``)
        or its first line looks like an object with ``"references"``. Each line is then one segment::

            {"id": "7", "context": ["hi"], "message": "how are you?",
             "references": [{"text": "fine", "weight": 0.8, "ratings": [5, 4, 5, 5, 4], "origin": "seed"}]}

        Only ``references`` and its ``text`` are required, and other fields are ignored. An ``id`` may be an integer,
        and a missing one is FILE:LINE. A weight of null means "not rated yet". With ratings and no weight (or null),
        the weight is (sum - 3n) / (2n); with both, the weight as it stands counts, and they must agree within 0.0005.
        If no reference has either field there are no weights; if some have, the others are not rated yet.

        A file is Parquet if its name ends in ``.parquet`` or ``.pq`` or its first bytes say so. It has the same fields
        as columns, in one of the forms of `from_frame`; a missing id is FILE:ROW.

        A file is a table if its name ends in ``.csv``, ``.tsv`` or ``.xlsx``: a row per reference, its columns the id
        of the segment, the text, and a weight, a score or one column per rater. Columns are found by their titles.

        A prepared file (see `PreparedReferences.save`) is mapped into memory. Each part of it is read, and its checksum
        compared, when it is first used; so that a damaged one is noticed then, by the same error.

        Parameters
        ----------
        path
            The file, plain or compressed with gzip or zstd, or ``-`` for standard input.
        columns
            The titles of fields of a table (``id``, ``text``, ``weight``, ``score``, ``ratings``, ``message``,
            ``origin``), where they cannot be told from the titles; several columns of ratings as ``r1+r2+r3``.
        scale
            The worst and the best rating of a table; guessed if None.

        Raises
        ------
        DataError
            If the file cannot be read or used, with the line or row and the field.
        MissingExtraError
            If a package that the format needs is not installed.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "refs.jsonl"
        >>> _ = path.write_text('{"id": "a", "references": [{"text": "fine", "ratings": [5, 4]}]}')
        >>> References.read(path)[0].references
        (Reference(text='fine', weight=0.75, origin=None, weight_se=0.25),)
        """
        if is_prepared(path):
            return cls._from_file(PreparedFile(path))
        return cls._from_columns(read_any(path, columns, scale))

    @classmethod
    def read_parallel(cls, references: Sequence[PathLike], weights: Sequence[PathLike] = ()) -> References:
        """Read references from parallel plain files, line ``i`` of each belonging to segment ``i``.

        Parameters
        ----------
        references
            The files; every line is a reference, an empty one too.
        weights
            No files, or one for each file of references: a number from -1 to 1 a line, or nothing where that file has
            no reference for the segment.

        Raises
        ------
        DataError
            If the files cannot be read or do not fit together, with the files and the line.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a").write_text("hello\\nbye\\n"), (folder / "b").write_text("hi\\n\\n")
        >>> _ = (folder / "a.w").write_text("1\\n0.5\\n"), (folder / "b.w").write_text("0.7\\n\\n")
        >>> References.read_parallel([folder / "a", folder / "b"], [folder / "a.w", folder / "b.w"]).texts
        ('hello', 'hi', 'bye')
        """
        return cls._from_columns(read_parallel(references, weights))

    @classmethod
    def _from_columns(cls, columns: Columns) -> Self:
        return cls(**columns._asdict())

    @classmethod
    def _from_file(cls, file: PreparedFile) -> Self:
        """Return the segments of a file, none of whose columns has been looked at yet."""
        segments = cls.__new__(cls)
        segments._held = file  # noqa: SLF001 - it is one of us
        segments._cache = dict(file.known)  # noqa: SLF001
        return segments

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
        Reference(text='hi', weight=None, origin=None, weight_se=None)
        """
        if format_to_write(path, ["jsonl", "parquet"]) == "parquet":
            write_parquet(path, self.to_frame())
        else:
            write_references(path, self, weighted=self.weights is not None)

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

    def __repr__(self) -> str:
        kind = "weighted" if self.weighted() else "unweighted"
        counts = f"{counted(len(self), 'segment')}, {counted(self.count, 'reference')}"
        return f"<References from {self._held.source}: {counts}, {kind}>"

    def __len__(self) -> int:
        return len(self._held.offsets) - 1

    def __getitem__(self, index: int) -> Segment:
        return self.segment(index)

    def __iter__(self) -> Iterator[Segment]:
        return map(self.segment, range(len(self)))

    def segment(self, index: int) -> Segment:
        """Return one segment; a negative index counts from the end."""
        index = range(len(self))[as_index(index)]
        held = self._held
        span = slice(int(held.offsets[index]), int(held.offsets[index + 1]))
        weights, errors = (
            repeat(None) if numbers is None else nullable(numbers[span])
            for numbers in (held.weights, held.weight_errors)
        )
        origins = repeat(None) if held.origins is None else held.origins[span]
        return Segment(
            id=self._id(index),
            references=tuple(map(Reference, held.texts[span], weights, origins, errors)),
            message=None if held.messages is None else held.messages[index],
            context=None if held.contexts is None else held.contexts[index],
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """One name for each segment."""
        if self._held.ids is not None:
            return self._held.ids
        # With what is not pickled: copies are the same whether somebody asked before or not.
        return self.remembered(
            "ids", lambda: tuple(map(str, range(self._held.before + 1, self._held.before + len(self) + 1)))
        )

    @property
    def count(self) -> int:
        """How many references there are in all segments together."""
        return int(self._held.offsets[-1])

    def reference_counts(self) -> NDArray[np.int64]:
        """Return how many references each segment has."""
        return np.diff(self._held.offsets)

    def positions(self) -> Mapping[str, int]:
        """Return the index of each id."""
        return self.remembered("positions", lambda: {name: index for index, name in enumerate(self.ids)})

    def weighted(self) -> bool:
        """Return whether references have weights, though some may not be rated yet."""
        return self._held.weights is not None

    def best_weights(self) -> NDArray[np.float64]:
        """Return the largest weight of each segment: 1 without weights, NaN where none is rated yet.

        Examples
        --------
        >>> References.from_lists([["a", "b"], ["c", "d"]], [[0.1, 0.9], [None, -1]]).best_weights().tolist()
        [0.9, -1.0]
        """
        if self._held.weights is None:
            return np.ones(len(self))
        # fmax passes over NaN. Every segment has a reference, so reduceat never meets an empty one.
        best: NDArray[np.float64] = np.fmax.reduceat(self._held.weights, self._held.offsets[:-1])
        return best

    def segments_without_positive(self) -> NDArray[np.int64]:
        """Return the indices of segments without a weight above 0; ΔBLEU cannot score them."""
        return np.flatnonzero(~(self.best_weights() > 0))

    def unrated(self) -> NDArray[np.int64]:
        """Return the indices of segments with a reference that is not rated yet."""
        if self._held.weights is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(np.logical_or.reduceat(np.isnan(self._held.weights), self._held.offsets[:-1]))

    def duplicates(self) -> int:
        """Return how many references have the text of another one of their segment but not its weight.

        Examples
        --------
        >>> References.from_lists([["a", "a", "b"], ["a", "a"]], [[1, 0.5, 0], [1, 1]]).duplicates()
        2
        """
        return self.remembered("duplicates", self._count_duplicates)

    def repeated(self) -> Iterator[tuple[int, str, tuple[float | None, ...]]]:
        """Yield each text that a segment has more than once: the segment's index, the text, and its weights there.

        Examples
        --------
        >>> list(References.from_lists([["a"], ["b", "c", "b"]], [[1], [1, 0.5, None]]).repeated())
        [(1, 'b', (1.0, None))]
        """
        for index in kernels.repeating_segments(self._held.texts, self._held.offsets).tolist():
            start, end = self._held.offsets[index], self._held.offsets[index + 1]
            texts = self._held.texts[start:end]
            # None, as NaN differs from itself while two references that are both unrated do not differ.
            numbers = [None] * len(texts) if self._held.weights is None else nullable(self._held.weights[start:end])
            weights: dict[str, list[float | None]] = {}
            for text, weight in zip(texts, numbers, strict=True):
                weights.setdefault(text, []).append(weight)
            for text, group in weights.items():
                if len(group) > 1:
                    yield index, text, tuple(group)

    def empty_count(self) -> int:
        """Return how many references have no text, or nothing but white space."""
        empty: int = self._cache["empty"]
        return empty

    def take(self, indices: ArrayLike, kept: ArrayLike | None = None) -> Self:
        """Return some of the segments, in the order given, maybe with some of their references only.

        Parameters
        ----------
        indices
            Indices of segments, none twice, or one truth value for each segment.
        kept
            One truth value for each reference of all segments, in the order of `texts`; all are kept without it.

        Raises
        ------
        DataError
            If a segment is left without a reference.

        Examples
        --------
        >>> from trubleu.data import References
        >>> references = References.from_lists([["a"], ["b"], ["c", "d"]])
        >>> [segment.id for segment in references.take([2, 0])]
        ['3', '1']
        >>> references.take([2, 0], kept=[True, True, False, True]).texts
        ('d', 'a')
        """
        chosen = np.arange(len(self))[np.asarray(indices, dtype=None if np.size(indices) else np.int64)]
        counts = self.reference_counts()[chosen]
        offsets = np.concatenate(([0], np.cumsum(counts)))
        # Each flat position is shifted by how far its segment moved.
        flat = np.repeat(self._held.offsets[chosen] - offsets[:-1], counts) + np.arange(offsets[-1])
        if kept is not None:
            remaining = np.asarray(kept, dtype=bool)[flat]
            flat = flat[remaining]
            offsets = np.concatenate(([0], np.cumsum(remaining)))[offsets]
        rows, items, held = chosen.tolist(), flat.tolist(), self._held
        part = type(self)(
            tuple(map(held.texts.__getitem__, items)),
            offsets,
            None if held.weights is None else held.weights[flat],
            weight_errors=None if held.weight_errors is None else held.weight_errors[flat],
            ratings=_picked(held.ratings, items),
            ids=_picked(held.ids, rows) or [str(held.before + row + 1) for row in rows],
            origins=_picked(held.origins, items),
            messages=_picked(held.messages, rows),
            contexts=_picked(held.contexts, rows),
            source=held.source,
        )
        self._hand_down(part, items)
        return part

    def with_unrated_as(self, value: float) -> References:
        """Return the same references with a weight for those that are not rated yet.

        Raises
        ------
        DataError
            If the value is not a number from -1 to 1.

        Examples
        --------
        >>> References.from_lists([["a", "b"]], [[0.5, None]]).with_unrated_as(0).weights.tolist()
        [0.5, 0.0]
        """
        if problem := weight_problem(value):
            raise DataError(f"the weight of unrated references {problem}")
        if self._held.weights is None:
            return self
        weights = np.where(np.isnan(self._held.weights), float(value), self._held.weights)
        return self._from_columns(self._columns()._replace(weights=weights))

    def with_weights(self, weights: ArrayLike) -> References:
        """Return the same references with other weights, one for each text; what was made of the texts is shared.

        Examples
        --------
        >>> References.from_lists([["a", "b"]], [[0.5, 1]]).with_weights([0.25, 1]).weights.tolist()
        [0.25, 1.0]
        """
        other = self._from_columns(self._columns()._replace(weights=np.asarray(weights, dtype=np.float64)))
        for key, made in self._cache.items():
            if isinstance(made, PreparedReferences):
                other._cache[key] = made.of(other)  # noqa: SLF001 - it is one of us
            elif key != "duplicates":
                other._cache[key] = made  # noqa: SLF001
        return other

    def map_texts(self, function: Callable[[str], str]) -> References:
        """Return the same references with other texts; messages and contexts stay.

        Examples
        --------
        >>> References.from_lists([["Fine."], ["Yes", "No"]]).map_texts(str.lower).texts
        ('fine.', 'yes', 'no')
        """
        return self._from_columns(self._columns()._replace(texts=tuple(map(function, self.texts))))

    def with_messages(self, messages: Sequence[str], *, what: str = "messages") -> References:
        """Return the same references with what they answer to, translate or shorten, in place of what was known of it.

        Parameters
        ----------
        messages
            One text for each segment.
        what
            What they are called if something is wrong with them.

        Raises
        ------
        DataError
            If there is not exactly one text for each segment.

        Examples
        --------
        >>> References.from_lists([["fine"]]).with_messages(["how are you?"])[0].message
        'how are you?'
        """
        if isinstance(messages, str):
            raise DataError("messages is one string; pass a list with one text for each segment")
        if len(messages) != len(self):
            raise DataError(
                f"there are {len(messages)} {what} but {self._held.source} has {counted(len(self), 'segment')}; "
                "give one text for each segment"
            )
        if wrong := [index for index, text in enumerate(messages) if not isinstance(text, str)]:
            raise DataError(
                f"{what} of segments {some(self.ids[i] for i in wrong)} are not strings; "
                "give one for each, an empty one where there is nothing"
            )
        return self._from_columns(self._columns()._replace(messages=exact_texts(messages)))

    def messages_as_references(self) -> References:
        """Return the messages as references of their own, one per segment, for metrics that compare outputs with them.

        They are kept, so that several systems and metrics share what is made of them.

        Raises
        ------
        DataError
            If a segment has no message.

        Examples
        --------
        >>> References.from_lists([["fine"]]).with_messages(["how are you?"]).messages_as_references().texts
        ('how are you?',)
        """
        if "messages" not in self._cache:
            messages = self._held.messages or (None,) * len(self)
            texts = [message for message in messages if message is not None]
            if len(texts) < len(messages):
                missing = (name for name, message in zip(self.ids, messages, strict=True) if message is None)
                raise DataError(
                    f"{self._held.source} has no message for segments {some(missing)}; "
                    "give the source of every segment with --source FILE, or as its message in JSON lines"
                )
            source = f"the messages of {self._held.source}"
            self._cache["messages"] = References(
                texts, np.arange(len(self) + 1), ids=self._held.ids, source=source, before=self._held.before
            )
        kept: References = self._cache["messages"]
        return kept

    def kernel_texts(self, tokenizer: Tokenizer, lowercase: bool) -> tuple[tuple[str, ...], str, bool]:
        """Return the texts as the kernel takes them, the tokenizer it then uses, and whether it is to lower-case.

        They are kept, so that several systems and metrics share the work.
        """
        # The kernel's own tokenizers all start from the texts as they are.
        key = (TOKENS, None if tokenizer.native else (tokenizer, lowercase))
        if key not in self._cache:
            self._cache[key] = kernel_texts(self._held.texts, tokenizer, lowercase)[0]
        texts: tuple[str, ...] = self._cache[key]
        return (texts, tokenizer.native, lowercase) if tokenizer.native else (texts, "none", False)

    def prepare(
        self, *, tokenize: Spec | Tokenizer = "13a", lowercase: bool = False, progress: Progress | None = None
    ) -> PreparedReferences:
        """Tokenize and number once, for any number of systems, metrics and orders.

        The result is also kept here: metrics that are given these references find it by themselves.

        Parameters
        ----------
        tokenize
            The tokenizer's name, or a callable.
        lowercase
            Whether texts are lower-cased first.
        progress
            Called with the number of segments done since the last call.

        Examples
        --------
        >>> references = References.from_lists([["hello there", "hi"]])
        >>> references.prepare(tokenize="none")
        <PreparedReferences: 1 segment, none, cased>
        """
        chosen = tokenizer(tokenize)
        prepared = self.prepared(chosen, lowercase)
        if prepared is None:
            kernel = number(self, chosen, lowercase, progress)
            prepared = self._cache["prepared", chosen, lowercase] = PreparedReferences(self, chosen, lowercase, kernel)
        return prepared

    def prepared(self, tokenizer: Tokenizer, lowercase: bool) -> PreparedReferences | None:
        """Return what `prepare` kept for these tokens, or a prepared file holds, if anything."""
        key = ("prepared", tokenizer, lowercase)
        held = self._held
        if key not in self._cache and isinstance(held, PreparedFile) and held.holds(tokenizer, lowercase):
            self._cache[key] = PreparedReferences(self, tokenizer, lowercase, held.kernel())
        found: PreparedReferences | None = self._cache.get(key)
        return found

    def remembered(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made of these segments under a key before, or make it now and keep it."""
        if key not in self._cache:
            self._cache[key] = make()
        made: Made = self._cache[key]
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that copies are read-only too and nobody has to pickle what was cached.
        return self._from_columns, (self._columns(),)

    def _columns(self) -> Columns:
        return Columns(*(getattr(self._held, name) for name in Columns._fields))

    def _id(self, index: int) -> str:
        """Return one id without making those of all segments."""
        return str(self._held.before + index + 1) if self._held.ids is None else self._held.ids[index]

    def _hand_down(self, part: References, items: Sequence[int]) -> None:
        """Give a part the tokens that its texts have already been split into."""
        for key, texts in self._cache.items():
            if isinstance(key, tuple) and key[0] == TOKENS:
                part._cache[key] = tuple(map(texts.__getitem__, items))

    def _count_duplicates(self) -> int:
        if self._held.weights is None:
            return 0
        return sum(len(weights) for _, _, weights in self.repeated() if len(set(weights)) > 1)


def _picked(values: Sequence[Made] | None, places: Sequence[int]) -> list[Made] | None:
    return None if values is None else [values[place] for place in places]
