"""A corpus becomes numbers: its words, then its n-grams of each order, counted exactly.

Text is read and tokenised once. Its words go to a file as numbers, with a mark after each sentence. From then on an
n-gram is a pair of overlapping (n−1)-grams, so a further order is a further file of the same length: at each place the
number of the n-gram that begins there, if it is frequent enough.

Counting goes level by level (Agrawal & Srikant 1994): a pair is counted only if both of its halves are as frequent as
it must be itself, which loses nothing. Where more pairs turn up than memory is meant to hold, a part of them is put off
to a further pass, so counts are exact however large the text is.
"""

from __future__ import annotations

import mmap
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.data.files import line_blocks
from trubleu.errors import DataError
from trubleu.native import kernels
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from trubleu.data.files import PathLike
    from trubleu.text import Tokenizer
    from trubleu.vectors.training_options import TrainingOptions

    Numbers = NDArray[np.uint32]
    Counts = NDArray[np.uint64]
    Tell = Callable[[int], object]

NO_ENTRY: Final = 2**32 - 2
"""Stands where no frequent n-gram begins."""

SENTENCE_END: Final = 2**32 - 1
"""Follows the last word of each sentence."""

MOST_PAIRS: Final = 1 << 22
"""Different pairs to count at once: with the space between them, some 130 MB."""

_LINES: Final = 1 << 15  # tokenised at once
_CHUNK: Final = 1 << 22  # numbers worked on at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The frequent words of a corpus, most frequent first; of equals, the one that came first.

    Attributes
    ----------
    heap, begins
        The words as bytes, one after the other, and where each begins.
    total
        How many words the corpus has, frequent ones and others.
    """

    heap: NDArray[np.uint8]
    begins: Counts
    total: int

    def words(self) -> tuple[str, ...]:
        """Return the words as strings."""
        return kernels.unpack_texts(self.heap, self.begins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The frequent n-grams of one order, most frequent first.

    Attributes
    ----------
    order
        How many words they have.
    counts
        How often each was seen.
    firsts, seconds
        The (n−1)-grams that each consists of; empty for words.
    """

    order: int
    counts: Counts
    firsts: Numbers
    seconds: Numbers

    def at_least(self, count: int) -> int:
        """Return how many were seen that often; they are the first ones."""
        return int((self.counts >= count).sum())


def encode_words(
    paths: Sequence[PathLike], target: Path, options: TrainingOptions, tell: Tell
) -> tuple[Vocabulary, Level]:
    """Tokenise a corpus, and write the numbers of its words.

    Parameters
    ----------
    paths
        Files of one sentence a line.
    target
        Where numbers go: those of frequent words by rank, `NO_ENTRY` for others, `SENTENCE_END` after each sentence.
    options
        Which tokenizer, and how frequent is frequent.
    tell
        Told how many more words have been read.
    """
    counter = kernels.WordCounter()
    how = tokenizer(options.tokenize)
    raw = target.with_suffix(".raw")
    with _writing(raw) as stream:
        for path in paths:
            for lines in line_blocks(path):
                for first in range(0, len(lines), _LINES):
                    numbers = _add_lines(counter, lines[first : first + _LINES], how, options.lowercase)
                    stream.write(numbers.data)
                    tell(len(numbers))
    heap, begins, counts = counter.words()
    del counter
    order = np.argsort(-counts.astype(np.int64), kind="stable")
    order = order[: int((counts >= options.least_count(1)).sum())]
    ranks = np.full(len(counts), NO_ENTRY, np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    with _writing(target) as stream:
        for numbers in chunks(raw):
            inside = numbers != SENTENCE_END
            ranked = np.full(len(numbers), SENTENCE_END, np.uint32)
            ranked[inside] = ranks[numbers[inside]]
            stream.write(ranked.data)
    raw.unlink()
    nothing = np.empty(0, np.uint32)
    vocabulary = _select(heap, begins, order, int(counts.sum()))
    return vocabulary, Level(order=1, counts=counts[order], firsts=nothing, seconds=nothing)


def count_pairs(source: Path, below: Level, least: int, tell: Tell, most_pairs: int = MOST_PAIRS) -> Level:
    """Count the n-grams of the next order, and keep those seen at least ``least`` times.

    Parameters
    ----------
    source
        The numbers of the (n−1)-grams.
    below
        Those (n−1)-grams.
    least
        How frequent is frequent; not less than it was below.
    tell
        Told how many more places have been gone through, in each pass.
    most_pairs
        Different pairs to count at once.
    """
    counter = kernels.PairCounter(below.at_least(least), least, most_pairs)
    more = True
    while more:
        for numbers in chunks(source, overlap=1):
            counter.add(numbers)
            tell(len(numbers))
        more = counter.finish_pass()
    firsts, seconds, counts = counter.pairs()
    # Not the order of the table, which depends on how many passes there were.
    order = np.lexsort((seconds, firsts, -counts.astype(np.int64)))
    return Level(order=below.order + 1, counts=counts[order], firsts=firsts[order], seconds=seconds[order])


def encode_pairs(source: Path, target: Path, level: Level) -> None:
    """Write the numbers of an order's n-grams, given those of the order below."""
    index = kernels.PairIndex(level.firsts, level.seconds)
    with _writing(target) as stream:
        for numbers in chunks(source, overlap=1):
            output = np.empty(len(numbers) - 1, np.uint32)
            index.encode(numbers, output)
            stream.write(output.data)
        stream.write(np.array([SENTENCE_END], np.uint32).data)


class MappedNumbers:
    """A file of numbers, mapped into memory.

    Attributes
    ----------
    numbers
        What it holds.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            self._memory = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        self.numbers: Numbers = np.frombuffer(self._memory, np.uint32)

    def release(self) -> None:
        """Give back the memory of what has been read; the file stays mapped."""
        if hasattr(mmap, "MADV_DONTNEED"):  # Windows does not have it
            self._memory.madvise(mmap.MADV_DONTNEED)


def chunks(path: Path, overlap: int = 0) -> Iterator[Numbers]:
    """Yield the numbers of a file in chunks; each but the first begins with the ``overlap`` last ones before it."""
    if path.stat().st_size == 0:
        return
    file = MappedNumbers(path)
    for first in range(0, max(len(file.numbers) - overlap, 0), _CHUNK):
        yield np.array(file.numbers[first : first + _CHUNK + overlap])
        file.release()


def spell(words: Sequence[str], levels: Sequence[Level], order: int, count: int) -> list[str]:
    """Return the first n-grams of an order as words joined by a space.

    Parameters
    ----------
    words
        The frequent words.
    levels
        All levels up to the order.
    order, count
        Which n-grams.
    """
    if order == 1:
        return list(words[:count])
    level = levels[order - 1]
    # A long n-gram's last word is the last one of its second half, all the way down.
    last = level.seconds[:count]
    for below in reversed(levels[1 : order - 1]):
        last = below.seconds[last]
    firsts = level.firsts[:count]
    heads = spell(words, levels, order - 1, int(firsts.max()) + 1) if count else []
    return [f"{heads[first]} {words[word]}" for first, word in zip(firsts.tolist(), last.tolist(), strict=True)]


def _add_lines(counter: kernels.WordCounter, lines: list[str], how: Tokenizer, lowercase: bool) -> Numbers:
    if how.native:
        return counter.add(tuple(lines), how.native, lowercase)
    return counter.add(tuple(how.lines(lines, lowercase)), "none", False)


def _select(heap: NDArray[np.uint8], begins: Counts, order: NDArray[np.intp], total: int) -> Vocabulary:
    """Return some words of a heap in a new order, without making strings of them."""
    from_, to = begins[order].astype(np.int64), begins[order + 1].astype(np.int64)
    ends = np.cumsum(to - from_)
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(from_ - (ends - (to - from_)), to - from_)
    return Vocabulary(heap=heap[places], begins=np.concatenate([[0], ends]).astype(np.uint64), total=total)


@contextmanager
def _writing(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("wb") as stream:
            yield stream
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}; make room, and train again") from error
