"""Segments laid flat: one list of texts, offsets into it, and a column for whatever else is known."""

from __future__ import annotations

from itertools import repeat
from operator import index as as_index
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from trubleu.data.columns import (
    Columns,
    check_ids,
    check_segments,
    checked_column,
    checked_offsets,
    checked_weights,
    exact_texts,
)
from trubleu.data.segments import Reference, Segment
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from trubleu.data.prepared_file import PreparedFile

TOKENS = "texts"
"""What keys of the cache begin with that hold all texts as kernels take them."""

Made = TypeVar("Made")

_COLUMNS = frozenset(f"_{name}" for name in Columns._fields)


class FlatSegments:
    """The storage under `References`: what there is of each segment, checked once and never changed.

    Parameters
    ----------
    texts
        All references, one segment after the other.
    offsets
        One more than there are segments: segment ``i`` owns ``texts[offsets[i]:offsets[i + 1]]``.
    weights
        One for each text, from -1 to 1, NaN for "not rated yet"; None if there are no weights at all.
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
    """

    __slots__ = (
        "_before",
        "_cache",
        "_contexts",
        "_ids",
        "_messages",
        "_offsets",
        "_origins",
        "_source",
        "_stored",
        "_texts",
        "_weights",
    )

    def __init__(
        self,
        texts: Sequence[str],
        offsets: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        ids: Sequence[str] | None = None,
        origins: Sequence[str | None] | None = None,
        messages: Sequence[str | None] | None = None,
        contexts: Sequence[tuple[str, ...] | None] | None = None,
        source: str = "references",
        before: int = 0,
    ) -> None:
        self._texts = tuple(texts)
        empty = kernels.count_empty(self._texts)
        if empty is None:  # not all of them are plain strings
            self._texts = exact_texts(self._texts)
            empty = kernels.count_empty(self._texts)
        self._offsets = checked_offsets(offsets, len(self._texts))
        segments = len(self._offsets) - 1
        self._ids = None if ids is None else check_ids(ids, segments)
        check_segments(self._offsets, self._ids)
        self._weights = None if weights is None else checked_weights(weights, len(self._texts))
        self._origins: tuple[str | None, ...] | None = checked_column(origins, len(self._texts), "origins")
        self._messages: tuple[str | None, ...] | None = checked_column(messages, segments, "messages")
        self._contexts: tuple[tuple[str, ...] | None, ...] | None = checked_column(contexts, segments, "contexts")
        self._source = source
        self._before = before
        self._cache: dict[Any, Any] = {"empty": empty}
        self._stored: PreparedFile | None = None

    @classmethod
    def _from_file(cls, file: PreparedFile) -> Self:
        """Return the segments of a file, none of whose columns has been looked at yet."""
        segments = cls.__new__(cls)
        segments._stored = file  # noqa: SLF001 - it is one of us
        segments._cache = dict(file.known)  # noqa: SLF001
        return segments

    # Called for a slot that is still empty: a column of a file, read and checked when it is first asked for. Type
    # checkers are not told, or they would take any name for a column.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in _COLUMNS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = getattr(self._stored, name.removeprefix("_"))
            setattr(self, name, value)
            return value

    @property
    def texts(self) -> tuple[str, ...]:
        """All references, flat."""
        return self._texts

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each segment begins in ``texts``, and the end of the last."""
        return self._offsets

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """One weight for each text, NaN if not rated yet; None if there are none."""
        return self._weights

    @property
    def ids(self) -> tuple[str, ...]:
        """One name for each segment."""
        if self._ids is not None:
            return self._ids
        # With what is not pickled: copies are the same whether somebody asked before or not.
        return self.remembered("ids", lambda: tuple(map(str, range(self._before + 1, self._before + len(self) + 1))))

    @property
    def origins(self) -> tuple[str | None, ...] | None:
        """Where each text comes from, or None."""
        return self._origins

    @property
    def messages(self) -> tuple[str | None, ...] | None:
        """What each segment's references answer to, or None."""
        return self._messages

    @property
    def contexts(self) -> tuple[tuple[str, ...] | None, ...] | None:
        """The turns before each message, or None."""
        return self._contexts

    @property
    def source(self) -> str:
        """Where the references come from, for messages."""
        return self._source

    @property
    def count(self) -> int:
        """How many references there are in all segments together."""
        return int(self._offsets[-1])

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that copies are read-only too and nobody has to pickle what was cached.
        return self._from_columns, (self._columns(),)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> Segment:
        return self.segment(index)

    def __iter__(self) -> Iterator[Segment]:
        return map(self.segment, range(len(self)))

    def segment(self, index: int) -> Segment:
        """Return one segment; a negative index counts from the end."""
        index = range(len(self))[as_index(index)]
        span = slice(int(self._offsets[index]), int(self._offsets[index + 1]))
        weights = (
            repeat(None) if self._weights is None else (None if w != w else w for w in self._weights[span].tolist())
        )
        origins = repeat(None) if self._origins is None else self._origins[span]
        return Segment(
            id=self._id(index),
            references=tuple(map(Reference, self._texts[span], weights, origins)),
            message=None if self._messages is None else self._messages[index],
            context=None if self._contexts is None else self._contexts[index],
        )

    def _id(self, index: int) -> str:
        """Return one id without making those of all segments."""
        return str(self._before + index + 1) if self._ids is None else self._ids[index]

    def positions(self) -> Mapping[str, int]:
        """Return the index of each id."""
        if "positions" not in self._cache:
            self._cache["positions"] = {name: index for index, name in enumerate(self.ids)}
        positions: Mapping[str, int] = self._cache["positions"]
        return positions

    def remembered(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made of these segments under a key before, or make it now and keep it."""
        if key not in self._cache:
            self._cache[key] = make()
        made: Made = self._cache[key]
        return made

    def reference_counts(self) -> NDArray[np.int64]:
        """Return how many references each segment has."""
        return np.diff(self._offsets)

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
        flat = np.repeat(self._offsets[chosen] - offsets[:-1], counts) + np.arange(offsets[-1])
        if kept is not None:
            remaining = np.asarray(kept, dtype=bool)[flat]
            flat = flat[remaining]
            offsets = np.concatenate(([0], np.cumsum(remaining)))[offsets]
        rows, items = chosen.tolist(), flat.tolist()
        part = type(self)(
            tuple(map(self._texts.__getitem__, items)),
            offsets,
            None if self._weights is None else self._weights[flat],
            ids=[str(self._before + row + 1) for row in rows]
            if self._ids is None
            else list(map(self._ids.__getitem__, rows)),
            origins=None if self._origins is None else list(map(self._origins.__getitem__, items)),
            messages=None if self._messages is None else list(map(self._messages.__getitem__, rows)),
            contexts=None if self._contexts is None else list(map(self._contexts.__getitem__, rows)),
            source=self._source,
        )
        self._hand_down(part, items)
        return part

    def _hand_down(self, part: FlatSegments, items: Sequence[int]) -> None:
        """Give a part the tokens that its texts have already been split into."""
        for key, texts in self._cache.items():
            if isinstance(key, tuple) and key[0] == TOKENS:
                part._cache[key] = tuple(map(texts.__getitem__, items))

    @classmethod
    def _from_columns(cls, columns: Columns) -> Self:
        return cls(**columns._asdict())

    def _columns(self) -> Columns:
        return Columns(
            self._texts,
            self._offsets,
            self._weights,
            self._ids,
            self._origins,
            self._messages,
            self._contexts,
            self._source,
            self._before,
        )
