r"""Vectors in word2vec's text and binary formats, as written by gensim, fastText (``.vec``) and word2vec.

These formats have no n-grams, only words. By convention ``_`` joins the words of a phrase, so ``do_not`` in a file is
the n-gram ``do not``. A ``_`` inside a word is escaped by a backslash (``snake\_case``), and so is a backslash. A name
with a ``_`` that joins nothing (``_start``, ``a__b``) is one word. Files without a header line, such as GloVe's, are
supported.

Reading fills one matrix as the file arrives, so memory stays at the size of the matrix, and the sizes in a file's
header are not trusted in advance.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import CountedWarning, DataError
from trubleu.files.compression import packed
from trubleu.files.lines import BOM, open_bytes
from trubleu.files.paths import name_of
from trubleu.files.writer import atomic_writer
from trubleu.vectors.source import MatrixSource, label_of

if TYPE_CHECKING:
    import io

    from numpy.typing import NDArray

    from trubleu.files.paths import PathLike
    from trubleu.progress import Progress
    from trubleu.vectors.source import ListedSource


_FIRST_BYTES: Final = 1 << 24  # of the matrix, before anything was read
_TOLD: Final = 1 << 12


class Rows:
    """The n-grams and the matrix of a file that is being read.

    Parameters
    ----------
    name
        The file, for messages.
    entries
        How many rows it promises; None if it does not say.
    dimensions
        How many numbers each has.
    dtype
        ``float32`` or ``float16``.
    progress
        Told how many more rows there are, now and then.
    """

    def __init__(self, name: str, entries: int | None, dimensions: int, dtype: str, progress: Progress | None) -> None:
        self.name = name
        self.entries = entries
        self.dimensions = dimensions
        self._progress = progress
        self.in_lines = True  # rows are located by line, otherwise by byte offset
        self._rows: dict[str, int] = {}
        self._seen = 0
        self._matrix: NDArray[np.floating] = np.zeros((max(1, _FIRST_BYTES // (4 * dimensions)), dimensions), dtype)

    def __len__(self) -> int:
        return self._seen

    def bad(self, place: int, what: str) -> DataError:
        """Return the error for something at a line or byte offset of the file."""
        return DataError(f"{self.name}:{place}: {what}" if self.in_lines else f"{self.name}: byte {place}: {what}")

    def add(self, name: bytes, vector: NDArray[np.float32], place: int) -> None:
        """Add one row; ``place`` is its line or byte offset."""
        if self._seen == self.entries:
            raise self.bad(place, f"the file promises {self.entries:,} vectors, but there are more; correct line 1")
        self._seen += 1
        if self._progress and self._seen % _TOLD == 0:
            self._progress(_TOLD)
        try:
            ngram = unescaped(name.decode())
        except UnicodeDecodeError:
            raise self.bad(place, f"the word {name[:40]!r} is not valid UTF-8; convert the file to UTF-8") from None
        if "\t" in ngram:
            raise self.bad(place, f"there is a tab in {ngram[:40]!r}; separate words and numbers by one space")
        if not ngram or "" in ngram.split(" "):
            raise self.bad(place, "there is no word before the numbers; remove the row")
        if ngram in self._rows:
            return  # the first one counts
        row = len(self._rows)
        if row == len(self._matrix):
            # Grown in place, so only one matrix is in memory; no view of it exists.
            more = max(row + 1, row + row // 2)
            self._matrix.resize((min(more, self.entries or more), self.dimensions), refcheck=False)
        with np.errstate(over="ignore"):
            self._matrix[row] = vector
        if not np.isfinite(self._matrix[row]).all():
            finite = bool(np.isfinite(vector).all())
            what = "too large for float16; use float32" if finite else "not finite; remove the row"
            raise self.bad(place, f"the vector of {ngram!r} has a number that is {what}")
        self._rows[ngram] = row

    def finish(self) -> tuple[list[str], NDArray[np.floating]]:
        """Return all n-grams and the matrix."""
        if self.entries is not None and self._seen < self.entries:
            raise DataError(
                f"{self.name} ends early: it promises {self.entries:,} vectors, but has {self._seen:,}; copy it again"
            )
        if repeated := self._seen - len(self._rows):
            warnings.warn(
                CountedWarning(f"names that come again in {self.name}, whose first vector counts", repeated),
                stacklevel=4,
            )
        self._matrix.resize((len(self._rows), self.dimensions), refcheck=False)
        return list(self._rows), self._matrix


def unescaped(name: str) -> str:
    r"""Return the n-gram of a name in a word2vec file.

    Examples
    --------
    >>> unescaped("do_not"), unescaped(r"snake\_case"), unescaped("_start")
    ('do not', 'snake_case', '_start')
    """
    if JOINER not in name and _ESCAPE not in name:
        return name
    pieces = re.findall(r"\\[\\_]|.", name, re.DOTALL)
    plain = [piece[-1] for piece in pieces]
    words = "".join(" " if piece == JOINER else letter for piece, letter in zip(pieces, plain, strict=True))
    return "".join(plain) if "" in words.split(" ") else words


JOINER: Final = "_"
"""Joins the words of an n-gram in these files."""

_ESCAPE: Final = "\\"
_BLOCK: Final = 1 << 24
_LONGEST_WORD: Final = 1 << 16
_LONGEST_NUMBER: Final = 64
_MOST_ENTRIES: Final = (1 << 32) - 1
_MOST_DIMENSIONS: Final = 1 << 17
_PICKLE: Final = b"\x80"
_FASTTEXT_MODEL: Final = b"\xba\x16\x4f\x2f"
_IN_TEXT: Final = b"\t\r\n" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))
_LINE_END: Final = b" \t\r\n"


def read_word2vec(path: PathLike, *, binary: bool | None = None) -> MatrixSource:
    """Read a file into memory, as a vector source.

    Parameters
    ----------
    path
        The file, plain or compressed.
    binary
        Whether it is binary; if left out, the file itself tells.

    Raises
    ------
    DataError
        If the file cannot be used; the message names the line, or the byte of a binary file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.vec"
    >>> _ = path.write_text("2 3\\ndo 1 0 0\\ndo_not 0 1 0.5\\n")
    >>> read_word2vec(path).lookup(["do not"]).tolist()
    [[0.0, 1.0, 0.5]]
    """
    ngrams, matrix = load_word2vec(path, binary=binary)
    return MatrixSource(ngrams, matrix, label=label_of(path, "word2vec"))


def load_word2vec(
    path: PathLike, *, binary: bool | None = None, dtype: str = "float32", progress: Progress | None = None
) -> tuple[list[str], NDArray[np.floating]]:
    """Read the n-grams and the matrix of a file, in 32 or 16 bits; see `read_word2vec`."""
    name = name_of(path)
    with open_bytes(path) as stream, warnings.catch_warnings():
        # Makes NumPy raise for text that is not a number; later versions raise ValueError.
        warnings.simplefilter("error", DeprecationWarning)
        _refuse_others(stream.peek(4)[:4], name)
        longest = _longest_line(_MOST_DIMENSIONS)  # the first line may be a vector instead of a header
        line = stream.readline(longest)
        if len(line) == longest:
            raise DataError(f"{name}:1: the line is longer than any vector; it is not word2vec")
        first = line.removeprefix(BOM)
        sizes = _sizes(first, name)
        if sizes is None:
            if binary:
                raise DataError(
                    f"{name} does not begin with the number of vectors and of dimensions; it is not word2vec"
                )
            dimensions = len(first.split(b" ")) - 1
            if dimensions < 1:
                raise DataError(f"{name}:1: there is a word without a vector; give a word2vec, GloVe or fastText file")
            entries, second = None, first
        else:
            entries, dimensions = sizes
            second = stream.readline(_longest_line(dimensions))
        rows = Rows(name, entries, dimensions, dtype, progress)
        if binary is None and sizes is not None:
            begun = _binary_part(stream, second, dimensions)
        else:
            begun = second if binary else None
        if begun is not None:
            _read_binary(stream, len(line), begun, rows)
        else:
            _read_text(stream, 1 if sizes is None else 2, second, rows)
    return rows.finish()


def write_word2vec(
    path: PathLike, source: ListedSource, *, binary: bool = False, progress: Progress | None = None
) -> None:
    """Write vectors to a word2vec file, compressed if its name ends in ``.gz`` or ``.zst``.

    Parameters
    ----------
    path
        The file.
    source
        A store, or n-grams and their matrix.
    binary
        Whether to write the binary format, which is smaller and exact; text has nine digits, which is exact too.
    progress
        Told how many more vectors have been written.

    Raises
    ------
    DataError
        If an n-gram cannot be written in this format, or the file cannot be written.
    """
    names = [_escaped(ngram) for ngram in source.ngrams()]
    row_format = " ".join(["%.9g"] * source.dimensions)
    with atomic_writer(path, "wb") as raw:
        stream = packed(raw, str(path))
        stream.write(f"{len(names)} {source.dimensions}\n".encode())
        for first, block in source.blocks():
            if binary:
                rows = block.astype("<f4")
                parts = [names[first + i].encode() + b" " + row.tobytes() + b"\n" for i, row in enumerate(rows)]
            else:
                parts = [
                    f"{names[first + i]} {row_format % tuple(row)}\n".encode() for i, row in enumerate(block.tolist())
                ]
            stream.write(b"".join(parts))
            if progress:
                progress(len(parts))
        if stream is not raw:
            stream.close()


def _refuse_others(head: bytes, name: str) -> None:
    if not head:
        raise DataError(f"{name} is empty; give a file of vectors")
    if head.startswith(_PICKLE):
        raise DataError(
            f"{name} is a pickle, which could run anything and is never read; "
            "save the vectors with gensim's save_word2vec_format instead"
        )
    if head == _FASTTEXT_MODEL:
        raise DataError(f"{name} is a whole fastText model; give the .vec file beside it")


def _sizes(line: bytes, name: str) -> tuple[int, int] | None:
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() and len(part) < 20 for part in parts):
        return None
    entries, dimensions = map(int, parts)
    if not entries or not dimensions:
        raise DataError(f"{name}:1: there are {entries} vectors of {dimensions} dimensions; give a file with some")
    if entries > _MOST_ENTRIES or dimensions > _MOST_DIMENSIONS:
        raise DataError(
            f"{name}:1: {entries:,} vectors of {dimensions:,} dimensions cannot be; the file is damaged or not word2vec"
        )
    return entries, dimensions


def _longest_line(dimensions: int) -> int:
    return _LONGEST_WORD + dimensions * _LONGEST_NUMBER


def _binary_part(stream: io.BufferedReader, row: bytes, dimensions: int) -> bytes | None:
    """Return the bytes read of the first vector if it is binary; None if it is text, valid or not."""
    if not row or _split_row(row.rstrip(_LINE_END), dimensions):
        return None
    data = row + stream.read(4 * dimensions)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.start < len(data) - 3:  # not just a truncated character
            return data
    return data if data.translate(None, _IN_TEXT) else None


def _read_text(stream: io.BufferedReader, number: int, line: bytes, rows: Rows) -> None:
    expected = rows.dimensions
    longest = _longest_line(expected)
    while line:
        if len(line) >= longest:
            raise rows.bad(number, f"the line is longer than {expected} numbers can be; it is not word2vec")
        content = line.rstrip(_LINE_END)
        if content:
            row = _split_row(content, expected)
            if row is None:
                found = content.count(b" ")
                what = f"there are {found} numbers, but {expected} are expected; all vectors must be equally long"
                if found == expected:
                    what = f"one of the {expected} numbers after the word is not a number"
                raise rows.bad(number, what)
            rows.add(*row, number)
        elif stream.read(_BLOCK).strip():
            raise rows.bad(number, "the line is empty, but others follow; remove it")
        number += 1
        line = stream.readline(longest)


def _split_row(line: bytes, dimensions: int) -> tuple[bytes, NDArray[np.float32]] | None:
    """Split a text line into name and vector; None if it has none."""
    word, _, rest = line.partition(b" ")
    numbers = _numbers(rest)
    if numbers is not None and len(numbers) == dimensions:
        return word, numbers
    # Names may contain spaces; then the part before the numbers is not a number.
    parts = line.split(b" ")
    head, tail = parts[:-dimensions], parts[-dimensions:]
    numbers = _numbers(b" ".join(tail))
    if len(head) > 1 and numbers is not None and len(numbers) == dimensions and _numbers(head[-1]) is None:
        return b" ".join(head), numbers
    return None


def _numbers(text: bytes) -> NDArray[np.float32] | None:
    try:
        return np.fromstring(text, np.float32, sep=" ") if text else None
    except (DeprecationWarning, ValueError):
        return None


def _read_binary(stream: io.BufferedReader, offset: int, data: bytes, rows: Rows) -> None:
    size = 4 * rows.dimensions
    entries = rows.entries or 0
    rows.in_lines = False
    at = 0
    while len(rows) < entries:
        space = data.find(b" ", at)
        if space < 0 or space + 1 + size > len(data):
            if space < 0 and len(data) - at > _LONGEST_WORD:
                raise DataError(
                    f"{rows.name}: there is no word at byte {offset + at}; the file is damaged or not word2vec"
                )
            offset += at
            more = stream.read(max(_BLOCK, size))
            data, at = data[at:] + more, 0
            if not more:
                raise DataError(
                    f"{rows.name} ends early, at byte {offset + len(data)}: it promises {entries:,} vectors, "
                    f"but has {len(rows):,}; copy it again"
                )
            continue
        # word2vec itself ends each vector with a newline, gensim does not.
        begin = at + 1 if data[at : at + 1] == b"\n" else at
        rows.add(data[begin:space], np.frombuffer(data, "<f4", rows.dimensions, space + 1), offset + begin)
        at = space + 1 + size
    if data[at:].strip() or stream.read(_BLOCK).strip():
        raise DataError(
            f"{rows.name} continues after its {entries:,} vectors, at byte {offset + at}; it is damaged or not word2vec"
        )


def _escaped(ngram: str) -> str:
    words = ngram.split(" ")
    if any(word.isspace() or "\n" in word or "\r" in word or "\t" in word for word in words):
        raise DataError(f"the n-gram {ngram!r} holds white space, which word2vec files cannot; write a store instead")
    try:
        ngram.encode()
    except UnicodeEncodeError:
        raise DataError(f"the n-gram {ngram!r} is not valid Unicode, so it cannot be written; write a store") from None
    return JOINER.join(word.replace(_ESCAPE, _ESCAPE * 2).replace(JOINER, _ESCAPE + JOINER) for word in words)
