"""Count a corpus stage by stage on any engine: words first, then the n-grams of each order.

Text is read and tokenized once and becomes a file of numbers; each further order is a file of the same length, with the
number of the n-gram that begins at each place, if it is frequent enough. Workers write numbers into the folder of the
training, which must have the same path on all of them; a count that was interrupted starts again.

The corpus is split into ranges of lines that are read independently (see `trubleu.files.ranges`). A compressed file is
one range, since it can only be read from its start, and so is a pipe.

A range numbers its words in order of first occurrence. Merging in the order of the ranges gives the order of first
occurrence in the whole corpus, whichever worker read which range.

An n-gram is a pair of overlapping (n−1)-grams, so an order is a list of pairs of numbers of the order below. Counting
goes level by level (Agrawal & Srikant 1994): a pair is counted only if both of its halves are as frequent as it must be
itself, which loses nothing. Ranges of positions are counted independently. Each puts its pairs into buckets by a hash,
and each bucket is summed over all ranges independently. If there are more pairs than fit into memory, some are deferred
to a further pass, so counts are exact for any size of text. In the end all pairs of a range are in memory, at most
0.8 GB if no pair is repeated.
"""

from __future__ import annotations

import hashlib
import mmap
import platform
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from heapq import merge
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.errors import DataError, UsageError
from trubleu.execution.base import mapped
from trubleu.execution.local import InThisProcess
from trubleu.files import paths as file_paths
from trubleu.files.paths import is_standard, name_of, reading
from trubleu.files.ranges import SourceFile, Span, surveyed
from trubleu.files.writer import atomic_writer
from trubleu.native import kernels
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from trubleu.execution import Engine
    from trubleu.files.paths import PathLike
    from trubleu.progress import Bars, Progress
    from trubleu.vectors.training.options import TrainingOptions
    from trubleu.vectors.training.trainer import Folder

    Counts = NDArray[np.uint64]
    Numbers = NDArray[np.uint32]

NO_ENTRY: Final = 2**32 - 2
"""Marks a position where no frequent n-gram begins."""

SENTENCE_END: Final = 2**32 - 1
"""Follows the last word of each sentence."""

_CHUNK: Final = 1 << 22  # numbers per chunk


class MappedNumbers:
    """A memory-mapped file of numbers.

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
        """Release the memory of pages already read; the file stays mapped."""
        if hasattr(mmap, "MADV_DONTNEED"):  # not available on Windows
            self._memory.madvise(mmap.MADV_DONTNEED)


def chunks(path: Path, first: int = 0, count: int | None = None, *, overlap: int = 0) -> Iterator[Numbers]:
    """Yield numbers of a file in chunks, each followed by up to ``overlap`` numbers of the next.

    Parameters
    ----------
    path
        The file.
    first, count
        Which numbers; all that follow if there is no count.
    overlap
        How many of the next chunk's come with each.
    """
    if path.stat().st_size == 0:
        return
    file = MappedNumbers(path)
    end = len(file.numbers) if count is None else first + count
    for begin in range(first, end, _CHUNK):
        yield np.array(file.numbers[begin : min(begin + _CHUNK, end) + overlap])
        file.release()


RANGE: Final = 1 << 25
"""Bytes of a range, about: a few tenths of a second of work, which is repeated if its worker is lost."""


@dataclass(frozen=True, slots=True)
class TextRange:
    """Some lines of a corpus.

    Attributes
    ----------
    number
        Which range of the corpus it is.
    span
        The lines.
    comes_once
        Whether it can be read only once, and only in this process.
    """

    number: int
    span: Span
    comes_once: bool = False

    def __str__(self) -> str:
        return str(self.span)

    @property
    def file(self) -> str:
        """The name by which its file is known again, wherever that is."""
        file = self.span.file
        return file.name if self.comes_once else file_paths.base_name(file.path)


def text_ranges(paths: Sequence[PathLike], engine: Engine | None = None) -> list[TextRange]:
    """Split a corpus into ranges, which depend on the files alone; an engine counts their lines.

    Raises
    ------
    DataError
        If a file cannot be read.
    """
    given = [(path, comes_once(path)) for path in paths]
    files = [SourceFile(file_paths.absolute(path), name_of(path)) for path, once in given if not once]
    found = iter(surveyed(files, lambda _stage, function, things: mapped(engine, function, things)))
    ranges: list[TextRange] = []
    for path, once in given:
        if once:
            ranges.append(TextRange(len(ranges), Span(SourceFile(str(path), name_of(path), packed=True)), True))
            continue
        file = next(found)
        spans = [file.span()] if file.file.packed else file.spans(max(1, file.rows * RANGE // max(1, file.file.size)))
        ranges += [TextRange(number, span) for number, span in enumerate(spans, len(ranges))]
    return ranges


def comes_once(path: PathLike) -> bool:
    """Return whether a file can be read only once, as standard input and other pipes."""
    return is_standard(path) or (
        file_paths.exists(path) and not file_paths.is_file(path) and not file_paths.is_folder(path)
    )


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

    def check(self, words: int) -> None:
        """Raise ValueError unless there are so many words, one after the other."""
        ends_fit = len(self.begins) == words + 1 and self.begins[0] == 0 and self.begins[-1] == len(self.heap)
        types_fit = [self.heap.dtype, self.begins.dtype] == [np.uint8, np.uint64] and type(self.total) is int
        if not ends_fit or not types_fit or (self.begins[1:] < self.begins[:-1]).any() or self.total < 0:
            raise ValueError("its words do not follow each other")
        self.words()

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

    def check(self, below: int) -> None:
        """Raise ValueError unless all are pairs of so many (n−1)-grams, or words."""
        if [self.counts.dtype, self.firsts.dtype, self.seconds.dtype] != [np.uint64, np.uint32, np.uint32]:
            raise TypeError("its numbers are of other types")
        for pairs in (self.firsts, self.seconds):
            if len(pairs) != (len(self.counts) if self.order > 1 else 0) or (pairs >= below).any():
                raise ValueError("its n-grams are not those of the order below")
        if (self.counts[1:] > self.counts[:-1]).any():
            raise ValueError("its n-grams are not sorted by their counts")

    def at_least(self, count: int) -> int:
        """Return how many were seen that often; they are the first ones."""
        return int((self.counts >= count).sum())


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


_LINES: Final = 1 << 15  # tokenized at once


class WordsRead(NamedTuple):
    """The result of reading a range."""

    words: tuple[NDArray[np.uint8], Counts, Counts]
    """Its words as bytes, where each begins, and how often each was seen."""
    content: str
    """A hash of its text."""
    untold: int
    """Number of its words and sentence ends, unless that was told already."""
    checksum: int
    """That of the numbers written."""


def read_words(
    folder: Path, tokenize: str, lowercase: bool, tell: Progress | None, text: TextRange, _state: None
) -> WordsRead:
    """Count the words of a range, and write its text as their numbers.

    Parameters
    ----------
    folder
        Where numbers go; workers must find it under the same path.
    tokenize, lowercase
        How lines become words.
    tell
        Told how many more numbers have been written; only where it can be called, in this process.
    text
        The range.
    """
    if not folder.is_dir():
        raise UsageError(
            f"the folder {folder} is not there on {platform.node()}; put the store where all workers find it "
            "under the same path"
        )
    counter, how = kernels.WordCounter(), tokenizer(tokenize)
    content, size, checksum = hashlib.blake2b(digest_size=32), 0, 0
    with atomic_writer(_words_file(folder, text.number), "wb") as stream:
        for lines in text.span.lines(content.update):
            for first in range(0, len(lines), _LINES):
                numbers = counter.add(*kernel_texts(lines[first : first + _LINES], how, lowercase))
                stream.write(numbers.data)
                checksum = crc32(numbers.data, checksum)
                size += len(numbers)
                if tell is not None:
                    tell(len(numbers))
    return WordsRead(counter.words(), content.hexdigest(), 0 if tell else size, checksum)


def _words_file(folder: Path, number: int, kind: str = "ids") -> Path:
    return folder / f"words-{number}.{kind}"


def _check_words(path: Path, checksum: int) -> Path:
    """Return the file, if it is what was written; its numbers are places in arrays."""
    found = 0
    with reading(str(path)), path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            found = crc32(block, found)
    if found != checksum:
        raise _altered(path)
    return path


def _altered(path: Path) -> DataError:
    return DataError(f"{path} was altered or damaged while the corpus was counted; train again")


def _digest(text: TextRange, _state: None) -> str:
    return text.span.digest().hex()


def corpus_identity(ranges: Sequence[TextRange], engine: Engine, tell: Progress) -> list[tuple[str, str]]:
    """Return the file of each range, and a hash of its current text; this consumes pipes.

    Raises
    ------
    DataError
        If a range cannot be read.
    """
    known = []
    for text, content in _each_range(ranges, engine, _digest, _digest):
        known.append((text.file, content))
        tell(1)
    return known


def _each_range(
    ranges: Sequence[TextRange],
    engine: Engine,
    work: Callable[[TextRange, None], Any],
    work_here: Callable[[TextRange, None], Any],
) -> Iterator[tuple[TextRange, Any]]:
    """Yield each range with the result of the work, in order; pipes are read first, and in this process."""
    once = list(InThisProcess().map(work_here, [text for text in ranges if text.comes_once]))
    others = [text for text in ranges if not text.comes_once]
    mapped = engine.map(work_here if isinstance(engine, InThisProcess) else work, others)
    yield from merge(once, mapped, key=lambda found: found[0].number)


def count_words(
    ranges: Sequence[TextRange], folder: Folder, options: TrainingOptions, engine: Engine, tell: Progress
) -> Counted:
    """Count words, and write the whole text as their ranks.

    The numbers are those of frequent words by rank, `NO_ENTRY` for others, `SENTENCE_END` after each sentence.

    Raises
    ------
    DataError
        If a range cannot be read.
    """
    counter, known, place = kernels.WordCounter(), [], folder.path.absolute()
    checksums: list[tuple[int, int]] = []
    read = partial(read_words, place, options.tokenize, options.lowercase)
    for text, found in _each_range(ranges, engine, partial(read, None), partial(read, tell)):
        tell(found.untold)
        known.append((text.file, found.content))
        with atomic_writer(_words_file(place, text.number, "whole"), "wb") as stream:
            numbers = counter.merge(*found.words)
            stream.write(numbers.data)
        checksums.append((found.checksum, crc32(numbers.data)))
    heap, begins, counts = counter.words()
    order = np.argsort(-counts.astype(np.int64), kind="stable")
    order = order[: int((counts >= options.least_count(1)).sum())]
    ranks = np.full(len(counts), NO_ENTRY, np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    with atomic_writer(folder.numbers(1), "wb") as stream:
        for text, (local_sum, whole_sum) in zip(ranges, checksums, strict=True):
            rank_of = ranks[np.fromfile(_check_words(_words_file(place, text.number, "whole"), whole_sum), np.uint32)]
            for local in chunks(_check_words(_words_file(place, text.number), local_sum)):
                inside = local != SENTENCE_END
                ranked = np.full(len(local), SENTENCE_END, np.uint32)
                ranked[inside] = rank_of[local[inside]]
                stream.write(ranked.data)
    _remove(place, "words-*")
    vocabulary = _select(heap, begins, order, int(counts.sum()))
    nothing = np.empty(0, np.uint32)
    return Counted(vocabulary, [Level(order=1, counts=counts[order], firsts=nothing, seconds=nothing)], known)


def _remove(folder: Path, pattern: str) -> None:
    for path in folder.glob(pattern):
        path.unlink(missing_ok=True)


def _select(heap: NDArray[np.uint8], begins: Counts, order: NDArray[np.intp], total: int) -> Vocabulary:
    """Return some words of a heap in a new order, without making strings of them."""
    from_, to = begins[order].astype(np.int64), begins[order + 1].astype(np.int64)
    ends = np.cumsum(to - from_)
    at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(from_ - (ends - (to - from_)), to - from_)
    return Vocabulary(heap=heap[at], begins=np.concatenate([[0], ends]).astype(np.uint64), total=total)


MOST_PAIRS: Final = 1 << 22
"""Different pairs to count at once: with the space between them, some 130 MB."""

BUCKETS: Final = 256
"""Into how many buckets a range puts its pairs; as many of them are added up together as fit into memory."""

PLACES: Final = 1 << 24
"""Places of a range. A text of up to twice as many is one range, whose rare pairs need not be kept to be added up."""

_PAIRS_AT_ONCE: Final = 1 << 20  # put into buckets


@dataclass(frozen=True, slots=True)
class PlaceRange:
    """Some places of a file of numbers.

    Attributes
    ----------
    path
        The file.
    number
        Which of its ranges it is.
    first, count
        Which places.
    """

    path: Path
    number: int
    first: int
    count: int

    def __str__(self) -> str:
        return f"{self.path.name}, places {self.first + 1:,} to {self.first + self.count:,}"


def place_ranges(source: Path, size: int) -> list[PlaceRange]:
    """Split a file of numbers into ranges of places, the last one shorter, independent of the engine."""
    count = source.stat().st_size // np.dtype(np.uint32).itemsize
    return [
        PlaceRange(source, number, first, min(size, count - first))
        for number, first in enumerate(range(0, count, size))
    ]


Pairs: TypeAlias = "tuple[Numbers, Numbers, Counts]"
"""The halves of pairs, and how often each pair was seen."""


def count_pairs(usable: int, least: int, places: PlaceRange, _state: None) -> Pairs:
    """Return the pairs of numbers below ``usable`` in a range, but for those seen less often than ``least`` times."""
    counter = kernels.PairCounter(usable, least, MOST_PAIRS)
    more = True
    while more:
        for numbers in chunks(places.path, places.first, places.count, overlap=1):
            counter.add(numbers)
        more = counter.finish_pass()
    return counter.pairs()


def bucket_pairs(
    folder: Path, usable: int, places: PlaceRange, _state: None
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Write the pairs of a range by bucket, and return how many each bucket has, and the checksum of each.

    The file has all first halves, all second halves, and all counts.
    """
    firsts, seconds, counts = count_pairs(usable, 1, places, None)
    bucket = _buckets(firsts, seconds)
    order = np.argsort(bucket, kind="stable")
    sizes = np.bincount(bucket, minlength=BUCKETS)
    checksums = np.zeros(BUCKETS, np.uint32)
    with atomic_writer(_pairs_file(folder, places.number), "wb") as stream:
        for column in (firsts, seconds, counts.astype(np.uint32)):  # a range has no more places
            ordered = column[order]
            stream.write(ordered.data)
            checksums = _checksums(ordered, sizes, checksums)
    return sizes, checksums


def _checksums(column: Numbers, sizes: NDArray[np.int64], before: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the checksum of each bucket, given that of its columns before."""
    parts = np.split(column, np.cumsum(sizes)[:-1])
    return np.array(
        [crc32(part.data, checksum) for part, checksum in zip(parts, before.tolist(), strict=True)], np.uint32
    )


def _pairs_file(folder: Path, number: int) -> Path:
    return folder / f"pairs-{number}.ids"


def _buckets(firsts: Numbers, seconds: Numbers) -> NDArray[np.uint8]:
    """Return the bucket of each pair, in batches because intermediate results take more memory."""
    found = np.empty(len(firsts), np.uint8)
    for begin in range(0, len(firsts), _PAIRS_AT_ONCE):
        end = begin + _PAIRS_AT_ONCE
        found[begin:end] = bucket_of(firsts[begin:end], seconds[begin:end])
    return found


def bucket_of(firsts: Numbers, seconds: Numbers) -> NDArray[np.uint8]:
    """Return the bucket of each pair, independent of its slot in a counter's table."""
    mixed = firsts.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F) ^ seconds * np.uint64(0x165667B19E3779F9)
    return (mixed >> np.uint64(40)).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class BucketRange:
    """Some buckets of all ranges: the first of them, and one past the last."""

    first: int
    end: int

    def __str__(self) -> str:
        return f"buckets {self.first + 1} to {self.end}"


def bucket_ranges(sizes: NDArray[np.int64], most: int) -> list[BucketRange]:
    """Put neighbouring buckets together as long as they have no more than ``most`` pairs.

    Examples
    --------
    >>> [str(each) for each in bucket_ranges(np.array([[2, 1, 4, 0], [1, 1, 5, 0]]), 5)]
    ['buckets 1 to 2', 'buckets 3 to 3', 'buckets 4 to 4']
    """
    ranges: list[BucketRange] = []
    first = pairs = 0
    for bucket, size in enumerate([*sizes.sum(axis=0).tolist(), most + 1]):
        if bucket > first and pairs + size > most:
            ranges.append(BucketRange(first, bucket))
            first, pairs = bucket, 0
        pairs += size
    return ranges


def sum_pairs(
    folder: Path,
    usable: int,
    least: int,
    sizes: NDArray[np.int64],
    checksums: NDArray[np.uint32],
    buckets: BucketRange,
    _state: None,
) -> Pairs:
    """Add up the pairs of some buckets over all ranges, and return the frequent ones.

    Parameters
    ----------
    folder, usable
        As for `bucket_pairs`.
    least
        How frequent is frequent.
    sizes, checksums
        As from `bucket_pairs`, a row for each range.
    buckets
        Which buckets.

    Raises
    ------
    DataError
        If they are not as they were written.
    """
    counter = kernels.PairCounter(usable, least, MOST_PAIRS)
    more = True
    while more:
        for number, (in_range, written) in enumerate(zip(sizes, checksums, strict=True)):
            if in_range[buckets.first : buckets.end].any():
                counter.add_counted(*_read_pairs(_pairs_file(folder, number), in_range, written, buckets))
        more = counter.finish_pass()
    return counter.pairs()


def _read_pairs(
    path: Path, sizes: NDArray[np.int64], checksums: NDArray[np.uint32], buckets: BucketRange
) -> NDArray[np.uint32]:
    """Return the columns of some buckets of a file, if they are what was written."""
    these, begins = slice(buckets.first, buckets.end), np.cumsum([0, *sizes])
    with reading(str(path)):
        if path.stat().st_size != 3 * begins[-1] * np.dtype(np.uint32).itemsize:
            raise _altered(path)
        columns = MappedNumbers(path).numbers.reshape(3, -1)[:, begins[buckets.first] : begins[buckets.end]]
    found = np.zeros_like(checksums[these])
    for column in columns:
        found = _checksums(column, sizes[these], found)
    if (found != checksums[these]).any():
        raise _altered(path)
    return columns


def count_order(source: Path, below: Level, least: int, engine: Engine, tell: Progress) -> Level:
    """Count the n-grams of the next order, and keep those seen at least ``least`` times.

    Parameters
    ----------
    source
        The numbers of the (n−1)-grams; workers write beside it.
    below
        Those (n−1)-grams.
    least
        How frequent is frequent; not less than it was below.
    engine
        Where to work.
    tell
        Told how many more places have been gone through.
    """
    usable, folder, ranges = below.at_least(least), source.parent, place_ranges(source, PLACES)
    if len(ranges) <= 2:
        ranges = place_ranges(source, 2 * PLACES)
    map_ranges = partial(engine.map, partitions=ranges, progress=lambda places: tell(places.count))
    if len(ranges) == 1:
        found = [pairs for _, pairs in map_ranges(partial(count_pairs, usable, least))]
    else:
        written = [found for _, found in map_ranges(partial(bucket_pairs, folder, usable))]
        sizes, checksums = (np.stack(each) for each in zip(*written, strict=True))
        work = partial(sum_pairs, folder, usable, least, sizes, checksums)
        found = [pairs for _, pairs in engine.map(work, bucket_ranges(sizes, MOST_PAIRS))]
        _remove(folder, "pairs-*")
    firsts, seconds, counts = (np.concatenate(columns) for columns in zip(*found, strict=True))
    # Not the order of tables and buckets, which depends on how the text was cut.
    by_count = np.lexsort((seconds, firsts, -counts.astype(np.int64)))
    return Level(order=below.order + 1, counts=counts[by_count], firsts=firsts[by_count], seconds=seconds[by_count])


def encode_pairs(places: PlaceRange, index: kernels.PairIndex) -> Numbers:
    """Return the numbers of an order's n-grams in a range, given those of the order below."""
    numbers = MappedNumbers(places.path).numbers[places.first : places.first + places.count + 1]
    output = np.empty(len(numbers) - 1, np.uint32)
    index.encode(numbers, output)
    return output


def encode_order(source: Path, target: Path, level: Level, engine: Engine, tell: Progress) -> None:
    """Write the numbers of an order's n-grams, given those of the order below.

    Parameters
    ----------
    source, target
        The numbers that there are, and where the new ones go.
    level
        The n-grams of the order.
    engine, tell
        As for `count_order`.
    """
    index = partial(kernels.PairIndex, level.firsts, level.seconds)
    coded = engine.map(
        encode_pairs, place_ranges(source, _CHUNK), state=index, progress=lambda places: tell(places.count)
    )
    with atomic_writer(target, "wb") as stream, closing(coded):
        for _, numbers in coded:
            stream.write(numbers.data)
        stream.write(np.array([SENTENCE_END], np.uint32).data)  # nothing follows the last place: a sentence ends


class Counted(NamedTuple):
    """The counts of a corpus."""

    vocabulary: Vocabulary
    """Its words."""
    levels: list[Level]
    """Its n-grams of all orders."""
    corpus: Sequence[tuple[str, str]]
    """The identity of the corpus, as from `corpus_identity`."""


def count_corpus(
    corpus: Sequence[PathLike], folder: Folder, options: TrainingOptions, engine: Engine, shown: Bars
) -> Counted:
    """Count words and n-grams, and write the corpus as numbers to the folder of a training.

    Parameters
    ----------
    corpus
        Files of one sentence per line.
    folder
        Where everything goes; workers must find it under the same path.
    options
        Which n-grams count, how text becomes words, and how frequent is frequent.
    engine
        Where to work; no number depends on it.
    shown
        Shows how far it is.

    Raises
    ------
    DataError, EngineError
        If the corpus cannot be read, or is too small for the options; or the folder cannot be written.
    """
    counted = count_words(text_ranges(corpus, engine), folder, options, engine, shown.stage("reading", None, " words"))
    _check_size(corpus, counted.vocabulary.total, options)
    _check_listed(counted.levels[0], options)
    for order in range(2, options.orders[-1] + 1):
        source = folder.numbers(order - 1).absolute()
        places = source.stat().st_size // 4
        tell = shown.stage(f"counting, order {order}", places, " words")
        level = count_order(source, counted.levels[-1], options.least_count(order), engine, tell)
        _check_listed(level, options)
        counted.levels.append(level)
        encode_order(
            source, folder.numbers(order), level, engine, shown.stage(f"encoding, order {order}", places, " words")
        )
    return counted


def _check_size(corpus: Sequence[PathLike], total: int, options: TrainingOptions) -> None:
    names = ", ".join(map(name_of, corpus))
    if total == 0:
        raise DataError(f"{names} has no words; give text, one sentence per line")
    if total <= options.window:
        raise DataError(
            f"{names} has {total} words, no more than the window of {options.window}; "
            "give more text, or a smaller window"
        )


def _check_listed(level: Level, options: TrainingOptions) -> None:
    """Raise an error for an order without frequent n-grams."""
    least = dict(zip(options.orders, options.min_count, strict=True)).get(level.order)
    if least is not None and level.at_least(least) == 0:
        what = "word" if level.order == 1 else f"n-gram of {level.order} words"
        raise DataError(
            f"no {what} was seen {least} times or more, so order {level.order} is empty; "
            f"give more text, or a smaller min-count than {least} for order {level.order}"
        )
