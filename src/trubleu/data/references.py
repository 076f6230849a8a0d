"""References: several texts a segment, each with a weight."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from trubleu.data.columns import exact_texts
from trubleu.data.flat import TOKENS
from trubleu.data.lists import flatten_lists, transpose_streams
from trubleu.data.plain import read_any, read_parallel
from trubleu.data.prepared import PreparedReferences, kernel_texts, number
from trubleu.data.prepared_file import PreparedFile, is_prepared
from trubleu.data.tabular import TabularSegments
from trubleu.data.weights import weight_problem
from trubleu.errors import DataError, some
from trubleu.native import kernels
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.data.files import PathLike
    from trubleu.text import Tokenizer
    from trubleu.text.registry import Spec


class References(TabularSegments):
    """References of many segments, checked once and kept flat, so that kernels can read them without a detour.

    Make one with `from_lists`, `from_streams`, `from_frame`, `read` or `read_parallel`; the constructor takes the flat
    form itself (its parameters: `FlatSegments`). Nothing in it changes afterwards. No segments at all are fine, a
    segment without a reference is not.

    Examples
    --------
    >>> references = References.from_lists([["hello", "hi"], ["bye"]], [[1.0, 0.4], [0.8]])
    >>> len(references), references.count
    (2, 3)
    >>> references[0].references[1]
    Reference(text='hi', weight=0.4, origin=None)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        kind = "weighted" if self.weighted() else "unweighted"
        return f"<References from {self._source}: {len(self)} segments, {self.count} references, {kind}>"

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
    def read(cls, path: PathLike) -> References:
        """Read references from one file: JSON lines, Parquet, plain text with one reference a line, or a prepared file.

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

        A prepared file (see `PreparedReferences.save`) is mapped into memory. Each part of it is read, and its checksum
        compared, when it is first used; so that a damaged one is noticed then, by the same error.

        Parameters
        ----------
        path
            The file, plain or compressed with gzip or zstd, or ``-`` for standard input.

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
        >>> References.read(path)[0]
        Segment(id='a', references=(Reference(text='fine', weight=0.75, origin=None),), message=None, context=None)
        """
        if is_prepared(path):
            return cls._from_file(PreparedFile(path))
        return cls._from_columns(read_any(path))

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

    def weighted(self) -> bool:
        """Return whether references have weights, though some may not be rated yet."""
        return self._weights is not None

    def best_weights(self) -> NDArray[np.float64]:
        """Return the largest weight of each segment: 1 without weights, NaN where none is rated yet.

        Examples
        --------
        >>> References.from_lists([["a", "b"], ["c", "d"]], [[0.1, 0.9], [None, -1]]).best_weights().tolist()
        [0.9, -1.0]
        """
        if self._weights is None:
            return np.ones(len(self))
        # fmax passes over NaN. Every segment has a reference, so reduceat never meets an empty one.
        best: NDArray[np.float64] = np.fmax.reduceat(self._weights, self._offsets[:-1])
        return best

    def segments_without_positive(self) -> NDArray[np.int64]:
        """Return the indices of segments without a weight above 0; ΔBLEU cannot score them."""
        return np.flatnonzero(~(self.best_weights() > 0))

    def unrated(self) -> NDArray[np.int64]:
        """Return the indices of segments with a reference that is not rated yet."""
        if self._weights is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(np.logical_or.reduceat(np.isnan(self._weights), self._offsets[:-1]))

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
        if self._weights is None:
            return self
        weights = np.where(np.isnan(self._weights), float(value), self._weights)
        return self._from_columns(self._columns()._replace(weights=weights))

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
                f"there are {len(messages)} {what} but {self._source} has {len(self)} segments; "
                "give one text for each segment"
            )
        if wrong := [index for index, text in enumerate(messages) if not isinstance(text, str)]:
            raise DataError(
                f"{what} of segments {some(self.ids[i] for i in wrong)} are no strings; "
                "give one for each, an empty one where there is nothing"
            )
        return self._from_columns(self._columns()._replace(messages=exact_texts(messages)))

    def messages_as_references(self) -> References:
        """Return the messages as references of their own, one a segment, for metrics that compare outputs with them.

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
            messages = self._messages or (None,) * len(self)
            texts = [message for message in messages if message is not None]
            if len(texts) < len(messages):
                missing = (name for name, message in zip(self.ids, messages, strict=True) if message is None)
                raise DataError(
                    f"{self._source} has no message for segments {some(missing)}; "
                    "give the source of every segment with --source FILE, or as its message in JSON lines"
                )
            source = f"the messages of {self._source}"
            self._cache["messages"] = References(
                texts, np.arange(len(self) + 1), ids=self._ids, source=source, before=self._before
            )
        kept: References = self._cache["messages"]
        return kept

    def duplicates(self) -> int:
        """Return how many references have the text of another one of their segment but not its weight.

        Examples
        --------
        >>> References.from_lists([["a", "a", "b"], ["a", "a"]], [[1, 0.5, 0], [1, 1]]).duplicates()
        2
        """
        if "duplicates" not in self._cache:
            self._cache["duplicates"] = self._count_duplicates()
        duplicates: int = self._cache["duplicates"]
        return duplicates

    def _count_duplicates(self) -> int:
        if self._weights is None:
            return 0
        return sum(len(weights) for _, _, weights in self.repeated() if len(set(weights)) > 1)

    def repeated(self) -> Iterator[tuple[int, str, tuple[float | None, ...]]]:
        """Yield each text that a segment has more than once: the segment's index, the text, and its weights there.

        Examples
        --------
        >>> list(References.from_lists([["a"], ["b", "c", "b"]], [[1], [1, 0.5, None]]).repeated())
        [(1, 'b', (1.0, None))]
        """
        for index in kernels.repeating_segments(self._texts, self._offsets).tolist():
            start, end = self._offsets[index], self._offsets[index + 1]
            texts = self._texts[start:end]
            numbers = [math.nan] * len(texts) if self._weights is None else self._weights[start:end].tolist()
            weights: dict[str, list[float | None]] = {}
            for text, weight in zip(texts, numbers, strict=True):
                # None, as NaN differs from itself while two references that are both unrated do not differ.
                weights.setdefault(text, []).append(None if weight != weight else weight)
            for text, group in weights.items():
                if len(group) > 1:
                    yield index, text, tuple(group)

    def empty_count(self) -> int:
        """Return how many references have no text, or nothing but white space."""
        empty: int = self._cache["empty"]
        return empty

    def kernel_texts(self, tokenizer: Tokenizer, lowercase: bool) -> tuple[tuple[str, ...], str, bool]:
        """Return the texts as the kernel takes them, the tokenizer it then uses, and whether it is to lower-case.

        They are kept, so that several systems and metrics share the work.
        """
        # The kernel's own tokenizers all start from the texts as they are.
        key = (TOKENS, None if tokenizer.native else (tokenizer, lowercase))
        if key not in self._cache:
            self._cache[key] = kernel_texts(self._texts, tokenizer, lowercase)[0]
        texts: tuple[str, ...] = self._cache[key]
        return (texts, tokenizer.native, lowercase) if tokenizer.native else (texts, "none", False)

    def prepare(
        self,
        *,
        tokenize: Spec | Tokenizer = "13a",
        lowercase: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> PreparedReferences:
        """Tokenise and number once, for any number of systems, metrics and orders.

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
        <PreparedReferences: 1 segments, none, cased>
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
        if key not in self._cache and self._stored is not None and self._stored.holds(tokenizer, lowercase):
            self._cache[key] = PreparedReferences(self, tokenizer, lowercase, self._stored.kernel())
        found: PreparedReferences | None = self._cache.get(key)
        return found
