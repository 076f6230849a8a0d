"""References tokenized once for any number of systems and metrics, in memory or in a memory-mapped file.

The file holds the kernel's arrays, and the texts, weights, ids and so on as they are, so that everything that can be
done with references can be done with those in a file. Strings are one heap of UTF-8 (lone surrogates as three bytes)
and where each begins; where some may be missing, a third array says which are there.
"""

from __future__ import annotations

import sys
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from trubleu._version import __version__
from trubleu.data.reference_files import check_ids, check_segments, checked_numbers, checked_offsets
from trubleu.errors import UsageError, counted
from trubleu.files.arrays import ArrayFile, Kind, begins_with, shares_as_counts, write_arrays
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data.references import References
    from trubleu.files.paths import PathLike
    from trubleu.progress import Progress
    from trubleu.text import Tokenizer

    Arrays = dict[str, NDArray[Any]]

_COLUMNS: Final = ("texts", "offsets", "weights", "weight_errors", "ids", "origins", "messages", "contexts")
SUFFIX: Final = ".tbp"
"""What prepared files are called; one is recognised by its first bytes, whatever its name."""

KIND: Final = Kind(
    # As in PNG: a byte that no text begins with, and line ends that show whether somebody converted them.
    magic=b"\x89TBP\r\n\x1a\n",
    # A tokenizer whose tokens change gets another name in signatures, so that its tokens in a file are not used.
    version=3,
    name="a prepared file",
    remedy="prepare the references again with trubleu refs prepare",
)

# The arrays of a file, and how long each must be; None where another array, or the kernel, has a say in it.
_Length = Literal["segments", "segments + 1", "references", "references + 1"] | None
_Layout = dict[str, tuple[str, _Length]]

_NUMBERED: Final[_Layout] = {
    "token_table": ("<u8", None),
    "token_begins": ("<u8", None),
    "token_bytes": ("|u1", None),
    "ids": ("<u4", None),
    "id_begins": ("<u8", "references + 1"),
    "reference_begins": ("<u8", "segments + 1"),  # the kernel's, and the offsets of the segments
    "filter": ("<u8", None),
}
_TEXTS: Final[_Layout] = {"texts_bytes": ("|u1", None), "texts_begins": ("<u8", "references + 1")}


def _layout_of(name: str, count: Literal["segments", "references"]) -> _Layout:
    """Return the arrays of strings of which some may be missing."""
    plus: _Length = "segments + 1" if count == "segments" else "references + 1"
    return {f"{name}_bytes": ("|u1", None), f"{name}_begins": ("<u8", plus), f"{name}_there": ("|u1", count)}


# Of each of these all or none.
_OPTIONAL: Final[tuple[_Layout, ...]] = (
    {"weights": ("<f8", "references")},
    {"weight_errors": ("<f8", "references")},
    {"segment_ids_bytes": ("|u1", None), "segment_ids_begins": ("<u8", "segments + 1")},
    _layout_of("origins", "references"),
    _layout_of("messages", "segments"),
    _layout_of("contexts", "segments") | {"contexts_begins": ("<u8", None), "contexts_rows": ("<u8", "segments + 1")},
)


def is_prepared(path: PathLike) -> bool:
    """Return whether a file is, or by its name should be, a prepared one."""
    return str(path).lower().endswith(SUFFIX) or begins_with(path, KIND.magic)


def write_prepared(
    path: PathLike,
    references: References,
    tokenizer: Tokenizer,
    lowercase: bool,
    numbered: Mapping[str, NDArray[Any]],
    progress: Progress | None = None,
) -> None:
    """Write references and the kernel's arrays; see `PreparedReferences.save`."""
    arrays: Arrays = {name: numbered[name] for name in _NUMBERED}
    numbers = {"weights": references.weights, "weight_errors": references.weight_errors}
    arrays |= {name: column for name, column in numbers.items() if column is not None}
    arrays |= _strings("texts", references.texts)
    if references.ids != _default_ids(len(references)):
        arrays |= _strings("segment_ids", references.ids)
    for name, texts in (("origins", references.origins), ("messages", references.messages)):
        arrays |= {} if texts is None else _optional(name, texts)
    if references.contexts is not None:
        turns = [context or () for context in references.contexts]
        arrays |= _strings("contexts", tuple(chain.from_iterable(turns)))
        arrays["contexts_rows"] = np.cumsum([0, *map(len, turns)], dtype=np.uint64)
        arrays["contexts_there"] = _there(references.contexts)
    header = {
        "made_by": f"trubleu {__version__}",
        "tokenizer": tokenizer.known_as,
        # The version of a dictionary or a model is part of this name, where there is one.
        "tokenizer_name": tokenizer.name,
        "lowercase": lowercase,
        "segments": len(references),
        "references": references.count,
        "empty": references.empty_count(),
        "duplicates": references.duplicates(),
    }
    write_arrays(path, KIND, header, arrays, shares_as_counts(len(references), progress) if progress else None)


class PreparedFile:
    """A prepared file, with the columns that `References` asks for.

    Columns are read when they are first asked for. Of ratings, only weights and their errors are stored.

    Attributes
    ----------
    source
        The file, for messages.
    before
        How many segments went before: none.
    known
        What the header says, for the references' cache: the numbers of empty texts and of duplicates.

    Raises
    ------
    DataError
        If the file cannot be read, is no prepared file, was made by another version, or is not whole.
    """

    before: Final = 0
    ratings: Final = None

    def __init__(self, path: PathLike) -> None:
        self._file = ArrayFile(path, KIND)
        self.source = self._file.name
        header = self._file.header
        counts = ("segments", "references", "empty", "duplicates")
        kinds = {"tokenizer": str, "tokenizer_name": str, "lowercase": bool, **dict.fromkeys(counts, int)}
        fine = all(type(header.get(name)) is kind for name, kind in kinds.items())
        if not fine or any(header[name] < 0 for name in counts):
            raise self._file.altered("its header lacks something")
        self._tokens: tuple[str, str, bool] = header["tokenizer"], header["tokenizer_name"], header["lowercase"]
        self.known = {"empty": header["empty"], "duplicates": header["duplicates"]}
        self._check_arrays(header["segments"], header["references"])

    def holds(self, tokenizer: Tokenizer, lowercase: bool) -> bool:
        """Return whether the references are there as these tokens."""
        return self._tokens == (tokenizer.known_as, tokenizer.name, lowercase)

    def kernel(self) -> kernels.Prepared:
        """Return the references as the kernel takes them, once it is sure that it can."""
        arrays = {name: self._file.array(name) for name in _NUMBERED}
        kernel = self._file.sound(lambda: kernels.Prepared(arrays))
        if problem := kernel.problem():
            raise self._file.altered(problem)
        return kernel

    def __getattr__(self, name: str) -> Any:
        """Read a column of `trubleu.data.reference_files.Columns` when it is first asked for."""
        if name not in _COLUMNS:
            raise AttributeError(name)
        begin = {"offsets": "reference_begins", "ids": "segment_ids"}.get(name, name)
        for array in self._file.lengths:
            if array.startswith(begin):
                self._file.array(array)  # a wrong checksum is reported before what is wrong inside
        column = self._file.sound(lambda: self._column(name))
        setattr(self, name, column)
        return column

    def _column(self, name: str) -> Any:
        array, lengths = self._file.array, self._file.lengths
        match name:
            case "texts":
                return self._strings("texts")
            case "offsets":
                # As signed numbers: one that is too large becomes negative, and is refused.
                offsets = checked_offsets(array("reference_begins").view(np.int64), lengths["texts_begins"] - 1)
                check_segments(offsets, None)
                return offsets
            case "weights" | "weight_errors":
                return checked_numbers(array(name), lengths[name], name) if name in lengths else None
            case "ids":
                ids = self._strings("segment_ids")
                return ids and check_ids(ids, len(ids))
            case "contexts":
                if (turns := self._strings("contexts")) is None:
                    return None
                begins = checked_offsets(array("contexts_rows").view(np.int64), len(turns)).tolist()
                values: Iterable[Any] = [turns[begin:end] for begin, end in pairwise(begins)]
            case _:  # origins and messages
                # Origins are a few words, each of them a million times: one object for all of them.
                values = map(sys.intern, self._strings(name) or ()) if name == "origins" else self._strings(name) or ()
        if f"{name}_there" not in lengths:
            return None
        there = array(f"{name}_there").tolist()
        return tuple(value if here else None for value, here in zip(values, there, strict=True))

    def _strings(self, name: str) -> tuple[str, ...] | None:
        if f"{name}_begins" not in self._file.lengths:
            return None
        return kernels.unpack_texts(self._file.array(f"{name}_bytes"), self._file.array(f"{name}_begins"))

    def _check_arrays(self, segments: int, references: int) -> None:
        """Refuse arrays that are missing, or of a type or length that does not fit the others."""
        there = self._file.lengths
        expected = _NUMBERED | _TEXTS
        for group in _OPTIONAL:
            if there.keys() & group.keys():
                expected |= group
        lengths: dict[str | None, int | None] = {None: None}
        for name, count in (("segments", segments), ("references", references)):
            lengths |= {name: count, f"{name} + 1": count + 1}
        self._file.check_layout({name: ((dtype,), lengths[length]) for name, (dtype, length) in expected.items()})


def _default_ids(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(1, count + 1)))


def _strings(name: str, texts: tuple[str, ...]) -> Arrays:
    heap, begins = kernels.pack_texts(texts)
    return {f"{name}_bytes": heap, f"{name}_begins": begins}


def _optional(name: str, texts: Sequence[str | None]) -> Arrays:
    return {**_strings(name, tuple(text or "" for text in texts)), f"{name}_there": _there(texts)}


def _there(values: Sequence[object]) -> NDArray[np.uint8]:
    return np.fromiter((value is not None for value in values), np.uint8, len(values))


SLICE: Final = 16_384
"""Segments that are handed to the kernel at once: between two slices Ctrl-C is heard and progress is told."""


def kernel_texts(texts: Sequence[str], tokenizer: Tokenizer, lowercase: bool) -> tuple[tuple[str, ...], str, bool]:
    """Return texts as the kernel takes them, the tokenizer it then uses, and whether it is to lower-case them."""
    if tokenizer.native is not None:
        return tuple(texts), tokenizer.native, lowercase
    return tuple(tokenizer.lines(texts, lowercase)), "none", False


def number(
    references: References, tokenizer: Tokenizer, lowercase: bool, progress: Progress | None = None
) -> kernels.Prepared:
    """Tokenize and number references for the kernel."""
    _, native, lowercase_there = kernel_texts((), tokenizer, lowercase)
    builder = kernels.PreparedBuilder(kernels.Options(native, lowercase_there, 1, "counts", "closest", False))
    offsets = references.offsets
    for first in range(0, len(references), SLICE):
        last = min(first + SLICE, len(references))
        begin, end = offsets[first], offsets[last]
        # Slice by slice: lines of a tokenizer in Python are as large as the texts, and nobody needs them afterwards.
        texts = kernel_texts(references.texts[begin:end], tokenizer, lowercase)[0]
        builder.add(texts, offsets[first : last + 1] - begin, 0, last - first)
        if progress:
            progress(last - first)
    return kernels.Prepared(builder.finish())


class PreparedReferences:
    """References tokenized and numbered once; made by `References.prepare`.

    Any metric takes it in place of the references. One that needs other tokens works from the texts instead, with the
    same result. `save` writes a file that `References.read` opens at once.

    Attributes
    ----------
    references
        The references themselves.
    tokenizer, lowercase
        How they were tokenized.
    """

    __slots__ = ("_kernel", "lowercase", "references", "tokenizer")

    def __init__(self, references: References, tokenizer: Tokenizer, lowercase: bool, kernel: kernels.Prepared) -> None:
        self.references = references
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self._kernel = kernel

    def of(self, references: References) -> PreparedReferences:
        """Return the same tokens for references that differ only in their weights."""
        return PreparedReferences(references, self.tokenizer, self.lowercase, self._kernel)

    def __len__(self) -> int:
        return len(self.references)

    def __repr__(self) -> str:
        case = "lower case" if self.lowercase else "cased"
        return f"<PreparedReferences: {counted(len(self), 'segment')}, {self.tokenizer.name}, {case}>"

    def fits(self, tokenizer: Tokenizer, lowercase: bool) -> bool:
        """Return whether the tokens are these."""
        return self.tokenizer == tokenizer and self.lowercase == lowercase

    def statistics(
        self,
        outputs: tuple[str, ...],
        weights: NDArray[np.float64] | None,
        options: kernels.Options,
        first: int,
        last: int,
        threads: int,
    ) -> NDArray[np.float64]:
        """Return the statistics of some segments; outputs as `kernel_texts` returns them."""
        return self._kernel.statistics(outputs, weights, options, first, last, threads)

    def save(self, path: PathLike, *, progress: Progress | None = None) -> None:
        """Write a file that `References.read` opens at once, however large it is; it appears whole or not at all.

        It holds everything that the references hold, not only their tokens: all metrics can be computed from it, those
        with other tokens more slowly.

        Parameters
        ----------
        path
            The file; its name usually ends in ``.tbp``.
        progress
            Called with the number of segments written since the last call.

        Raises
        ------
        UsageError
            If the tokenizer is a callable, which nobody who reads the file could know.
        DataError
            If the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from trubleu import References
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "refs.tbp"
        >>> References.from_lists([["hello there", "hi"]]).prepare(tokenize="none").save(path)
        >>> References.read(path).prepare(tokenize="none")
        <PreparedReferences: 1 segment, none, cased>
        """
        if self.tokenizer.known_as is None:
            raise UsageError(
                f"the tokenizer {self.tokenizer.name} is a function and cannot be saved with what it made; "
                "prepare the references with a tokenizer that has a name"
            )
        arrays = self._kernel.arrays
        write_prepared(path, self.references, self.tokenizer, self.lowercase, arrays, progress)
