"""One shard of an index: triples with word counts, in a memory-mapped file.

A shard holds counts and texts, nothing that depends on the rest of the corpus. So triples can be split into shards
anywhere, and an index grows by adding a shard. These are its arrays:

=====================================  ================================================================================
``word_bytes``, ``word_begins``        the words of both fields, concatenated, and their offsets
``word_slots``                         hash table from words to their numbers
``message_begins``, ``…_postings``     offsets of postings lists; postings: a row (20 bits), a class of count and length
``message_limits``                     the best classes of each word, which bound its contribution
``response_…``                         the same three for the responses
``bags``, ``bag_begins``               the words of each row, in order: those of the message, then of the response
``response_hashes``                    hashes of the responses, case and white space folded
``id_text_…``, ``message_text_…``,     the original texts: bytes and offsets
``response_text_…``
=====================================  ================================================================================
"""

from __future__ import annotations

import mmap
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from trubleu._version import __version__
from trubleu.data.prepared import kernel_texts
from trubleu.errors import UsageError
from trubleu.execution.serialization import typed
from trubleu.files.arrays import ArrayFile, Kind, write_arrays
from trubleu.native import kernels
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.data.triples import TripleBatch
    from trubleu.files.paths import PathLike
    from trubleu.text import Tokenizer
    from trubleu.text.tokenizers import Spec

Field = Literal["message", "response"]
"""A searchable field of a triple."""

FIELDS: Final[tuple[Field, Field]] = ("message", "response")
"""All of them, as the kernel numbers them."""

MOST_TRIPLES: Final = 1 << 20
"""Maximum number of triples in a shard."""

UNKNOWN: Final = 2**32 - 1
"""Number of a word that the shard does not have."""

KIND: Final = Kind(
    magic=b"\x89TBX\r\n\x1a\n",
    version=1,
    name="a part of a mining index",
    remedy="index the corpus again with trubleu mine index",
)

_CONTENT_BASE: Final = 0x9E3779B97F4A7C15  # as in the kernel

# Arrays of a file with their dtypes and lengths, as a multiple of the number of triples plus a constant.
_LAYOUT: Final[dict[str, tuple[str, tuple[int, int] | None]]] = {
    "word_bytes": ("|u1", None),
    "word_begins": ("<u4", None),
    "word_slots": ("<u4", None),
    "message_begins": ("<u4", None),
    "message_limits": ("<u4", None),
    "message_postings": ("<u4", None),
    "response_begins": ("<u4", None),
    "response_limits": ("<u4", None),
    "response_postings": ("<u4", None),
    "bags": ("<u4", None),
    "bag_begins": ("<u4", (2, 1)),
    "response_hashes": ("<u8", (1, 0)),
    "id_text_bytes": ("|u1", None),
    "id_text_begins": ("<u8", (1, 1)),
    "message_text_bytes": ("|u1", None),
    "message_text_begins": ("<u8", (1, 1)),
    "response_text_bytes": ("|u1", None),
    "response_text_begins": ("<u8", (1, 1)),
}
# Arrays used by the kernel.
_SEARCHED: Final = tuple(name for name in _LAYOUT if "_text_" not in name or name.startswith("response"))


@dataclass(frozen=True, slots=True)
class ShardInfo:
    """Summary of a shard, used to combine it with others.

    Attributes
    ----------
    triples
        How many there are.
    message_words, response_words
        How many words the messages and the responses have together.
    content
        Sixteen hexadecimal digits that differ if an id, a message or a response does; see `combined`.
    """

    triples: int
    message_words: int
    response_words: int
    content: str

    def __post_init__(self) -> None:
        if not re.fullmatch("[0-9a-f]{16}", self.content):
            raise ValueError(self.content)


def combined(infos: Iterable[ShardInfo]) -> str:
    """Return ``content`` as if the triples of these shards were in one.

    Examples
    --------
    >>> combined([ShardInfo(1, 2, 2, "00000000000000ff")])
    '00000000000000ff'
    """
    content = 0
    for info in infos:
        content = (content * pow(_CONTENT_BASE, info.triples, 1 << 64) + int(info.content, 16)) % (1 << 64)
    return f"{content:016x}"


class ShardWriter:
    """Collects triples in memory and writes them as a shard.

    Parameters
    ----------
    tokenize
        How texts become words: a tokenizer, its name, or a callable.
    lowercase
        Whether texts are lower-cased before.
    stop_words
        Words that are passed over, as if the texts did not have them; lower-cased where texts are.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> writer = ShardWriter("13a", lowercase=True)
    >>> writer.add(SimpleNamespace(ids=("t1",), messages=("How are you?",), responses=("Fine!",)))
    >>> writer.triples
    1
    """

    def __init__(self, tokenize: Spec | Tokenizer, *, lowercase: bool, stop_words: Iterable[str] = ()) -> None:
        self._tokenizer = tokenizer(tokenize)
        self._lowercase = lowercase
        self._stop_words = tuple(word.lower() if lowercase else word for word in stop_words)
        self._builder = kernels.MineBuilder(self._stop_words)

    @property
    def triples(self) -> int:
        """Triples added since the last shard was written."""
        return self._builder.rows

    @property
    def memory(self) -> int:
        """Bytes of memory for the triples, including what writing them needs."""
        return self._builder.memory

    @property
    def info(self) -> ShardInfo:
        """Summary of the shard that would be written now."""
        made = self._builder
        return ShardInfo(made.rows, made.message_words, made.response_words, f"{made.content:016x}")

    def add(self, batch: TripleBatch) -> None:
        """Add triples.

        Raises
        ------
        UsageError
            If the shard has no room for so many.
        """
        if self.triples + len(batch.ids) > MOST_TRIPLES:
            raise UsageError(f"a shard holds at most {MOST_TRIPLES:,} triples; write it, and continue with another")
        texts = tuple(batch.messages), tuple(batch.responses)
        messages, _, _ = kernel_texts(texts[0], self._tokenizer, self._lowercase)
        responses, name, lowercase = kernel_texts(texts[1], self._tokenizer, self._lowercase)
        self._builder.add(tuple(batch.ids), *texts, messages, responses, name, lowercase)

    def write(self, path: PathLike) -> ShardInfo:
        """Write the triples to a file, atomically, and start a new shard."""
        info = self.info
        builder, self._builder = self._builder, kernels.MineBuilder(self._stop_words)
        header = {"made_by": f"trubleu {__version__}", **asdict(info)}
        arrays = builder.finish()
        write_arrays(path, KIND, header, {name: arrays[name] for name in _LAYOUT})
        return info


class Shard:
    """A shard in a file, of which only the header is read at first.

    An array's checksum is verified on first use. Files may be untrusted: nothing outside an array is ever read,
    whatever the file says.

    Attributes
    ----------
    name
        The file, as messages show it.
    info
        What the file says of itself.

    Raises
    ------
    DataError
        If the file cannot be read, is no shard, was made by another version, or is not whole.
    """

    def __init__(self, path: PathLike) -> None:
        self._file = file = ArrayFile(path, KIND)
        self._kernel: kernels.MineShard | None = None
        self._arrays: dict[str, NDArray[Any]] = {}
        self.name = file.name
        self.sound = file.sound
        try:
            self.info: ShardInfo = typed(ShardInfo, {name: file.header[name] for name in ShardInfo.__slots__})
        except (KeyError, TypeError, ValueError):
            raise file.altered("its header lacks something") from None
        file.check_layout(
            {
                name: ((dtype,), None if length is None else length[0] * self.triples + length[1])
                for name, (dtype, length) in _LAYOUT.items()
            }
        )
        if self.triples > MOST_TRIPLES or file.lengths["bags"] != self.info.message_words + self.info.response_words:
            raise file.altered("its header does not fit its arrays")

    @property
    def triples(self) -> int:
        """Number of triples."""
        return self.info.triples

    def kernel(self) -> kernels.MineShard:
        """Return the shard as kernel input."""
        if self._kernel is None:
            arrays = {name: self._array(name) for name in _SEARCHED}
            self._kernel = self.sound(lambda: kernels.MineShard(arrays, self.triples))
        return self._kernel

    def numbers(self, words: Sequence[str]) -> NDArray[np.uint32]:
        """Return the numbers of words in this shard, `UNKNOWN` for missing ones."""
        kernel = self.kernel()
        return self.sound(lambda: kernel.numbers(tuple(words)))

    def frequencies(self, field: Field, numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the document frequency of each word; 0 for `UNKNOWN`."""
        kernel = self.kernel()
        return self.sound(lambda: kernel.frequencies(FIELDS.index(field), numbers))

    def triple(self, row: int) -> tuple[str, str, str]:
        """Return the id, message and response of a row."""
        return next(self.texts(np.array([row])))

    def texts(self, rows: NDArray[np.int64]) -> Iterator[tuple[str, str, str]]:
        """Yield the id, message and response of many triples."""
        if len(rows):
            self._check_row(int(rows.min()))
            self._check_row(int(rows.max()))
        return zip(*(self._texts(column, rows) for column in ("id", "message", "response")), strict=True)

    def check(self) -> None:
        """Verify all checksums and the consistency of every array.

        Raises
        ------
        DataError
            If something is not as it was written.
        """
        for name in _LAYOUT:
            self._file.array(name)
        self.kernel()

    def release(self) -> None:
        """Free memory: pages already read (they stay mapped) and the buffers of searches."""
        if self._kernel is not None:
            self._kernel.forget()
        self._let_go()

    def _let_go(self) -> None:
        memory: object = self._file.unchecked("bags")
        while isinstance(memory, np.ndarray):
            memory = memory.base
        if isinstance(memory, memoryview):
            memory = memory.obj
        if isinstance(memory, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):  # not available on Windows
            memory.madvise(mmap.MADV_DONTNEED)

    def _texts(self, column: str, rows: NDArray[np.int64]) -> list[str]:
        begins, heap = self._array(f"{column}_text_begins"), self._array(f"{column}_text_bytes")
        bounds = begins[rows], begins[rows + 1]
        if not ((bounds[0] <= bounds[1]) & (bounds[1] <= len(heap))).all():
            raise self._file.altered("a text lies outside")
        view, places = heap.data, list(zip(*(bound.tolist() for bound in bounds), strict=True))
        return self.sound(lambda: [str(view[begin:end], "utf-8", "surrogatepass") for begin, end in places])

    def _array(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            self._arrays[name] = self._file.array(name)
            # Verifying the checksum read all of it, though little may be needed: an index may exceed the memory.
            self._let_go()
        return self._arrays[name]

    def _check_row(self, row: int) -> None:
        if not 0 <= row < self.triples:
            raise UsageError(f"{self.name} has {self.triples:,} triples, so none has the number {row}")
