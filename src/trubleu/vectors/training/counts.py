"""Count a corpus stage by stage on any engine: words first, then the n-grams of each order.

Text is read and tokenised once and becomes a file of numbers; each further order is a file of the same length, with the
number of the n-gram that begins at each place, if it is frequent enough. Workers write parts into the folder of the
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
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.errors import BadPartitionsError, DataError, UsageError, some
from trubleu.execution.base import SHOWN, mapped
from trubleu.execution.local import InThisProcess
from trubleu.files import paths as file_paths
from trubleu.files.arrays import ArrayFile, Kind, write_arrays
from trubleu.files.paths import is_standard, name_of
from trubleu.files.ranges import SourceFile, Span, surveyed
from trubleu.files.writer import atomic_writer
from trubleu.native import kernels
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.execution import Engine
    from trubleu.files.paths import PathLike
    from trubleu.progress import Bars, Progress
    from trubleu.text import Tokenizer
    from trubleu.vectors.training.checkpoint import Folder
    from trubleu.vectors.training.options import TrainingOptions

    Counts = NDArray[np.uint64]
    Numbers = NDArray[np.uint32]

NO_ENTRY: Final = 2**32 - 2
"""Marks a position where no frequent n-gram begins."""

SENTENCE_END: Final = 2**32 - 1
"""Follows the last word of each sentence."""

PART: Final = Kind(magic=b"TBcount\n", version=2, name="part of a count", remedy="train again")

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


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a count in the folder of a training run, as workers find it.

    Attributes
    ----------
    folder
        Where they are.
    key
        Seals them.
    """

    folder: str
    key: bytes = field(repr=False)

    def check_reachable(self) -> None:
        """Raise an error if the folder is not reachable from this machine.

        Raises
        ------
        UsageError
            If it is not there, which is so on every partition.
        """
        if not Path(self.folder).is_dir():
            raise UsageError(
                f"the folder {self.folder} is not there on {platform.node()}; put the store where all workers find it "
                "under the same path"
            )

    def path(self, name: str) -> Path:
        """Return the path of a part."""
        return Path(self.folder, name)

    def numbers(self, name: str) -> Path:
        """Return the file of numbers beside a part."""
        return Path(self.folder, f"{name}.ids")

    def open(self, name: str) -> ArrayFile:
        """Open a part.

        Raises
        ------
        DataError
            If it cannot be read.
        """
        return ArrayFile(self.path(name), PART, key=self.key)

    def write(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write a part.

        Raises
        ------
        DataError
            If it cannot be written.
        """
        write_arrays(self.path(name), PART, {}, arrays, key=self.key)

    def remove(self, *kinds: str) -> None:
        """Remove the parts whose names begin with one of these words."""
        for kind in kinds:
            for part in Path(self.folder).glob(f"{kind}*"):
                part.unlink(missing_ok=True)


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


def fingerprints(ranges: Sequence[TextRange], contents: Sequence[str]) -> list[tuple[str, str]]:
    """Return the identity of a corpus: the names of its files, and a hash of the content of each.

    Parameters
    ----------
    ranges
        All ranges of the corpus.
    contents
        A hash of the text of each.
    """
    files: list[tuple[str, list[str]]] = []
    for text, content in zip(ranges, contents, strict=True):
        if text.span.first == 0:
            file = text.span.file
            files.append((file.name if text.comes_once else file_paths.base_name(file.path), []))
        files[-1][1].append(content)
    return [(name, hashlib.blake2b("".join(each).encode(), digest_size=32).hexdigest()) for name, each in files]


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


_LINES: Final = 1 << 15  # tokenised at once


class WordsRead(NamedTuple):
    """The result of reading a range."""

    size: int
    """Number of its words and sentence ends."""
    content: str
    """A hash of its text."""


@dataclass(frozen=True, slots=True)
class ReadWords:
    """Makes a part of a range: its words, and its text as their numbers.

    Attributes
    ----------
    parts
        Where parts go.
    tokenize, lowercase
        How lines become words.
    tell
        Told how many more numbers have been written; only where it can be called, in this process.
    """

    parts: Parts
    tokenize: str
    lowercase: bool
    tell: Progress | None = None

    def __call__(self, text: TextRange, _state: None) -> WordsRead:
        """Read a range."""
        self.parts.check_reachable()
        part, counter, how = words_part(text.number), kernels.WordCounter(), tokenizer(self.tokenize)
        content, size = hashlib.blake2b(digest_size=32), 0
        with atomic_writer(self.parts.numbers(part), "wb") as stream:
            for lines in text.span.lines(content.update):
                for first in range(0, len(lines), _LINES):
                    numbers = _add_lines(counter, lines[first : first + _LINES], how, self.lowercase)
                    stream.write(numbers.data)
                    size += len(numbers)
                    if self.tell is not None:
                        self.tell(len(numbers))
        heap, begins, counts = counter.words()
        self.parts.write(part, {"heap": heap, "begins": begins, "counts": counts})
        return WordsRead(size, content.hexdigest())


def _digest(text: TextRange, _state: None) -> str:
    return text.span.digest().hex()


def words_part(number: int) -> str:
    """Return the name of the part of a range."""
    return f"words-{number}"


def read_ranges(
    ranges: Sequence[TextRange], parts: Parts, options: TrainingOptions, engine: Engine, tell: Progress
) -> list[WordsRead]:
    """Make parts of all ranges, and return the result of each.

    What comes through a pipe is read first, and in this process.

    Raises
    ------
    DataError
        If there is one range, and it cannot be read.
    BadPartitionsError
        If some of several cannot be.
    """
    found: dict[int, WordsRead] = {}
    for here, text, read in _each_range(
        ranges, engine, lambda here: ReadWords(parts, options.tokenize, options.lowercase, tell if here else None)
    ):
        found[text.number] = read
        if not here:
            tell(read.size)
    return [found[text.number] for text in ranges]


def contents_of(ranges: Sequence[TextRange], engine: Engine, tell: Progress) -> list[str]:
    """Return a hash of the current text of each range; this consumes pipes.

    Raises
    ------
    DataError, BadPartitionsError
        As in `read_ranges`.
    """
    found: dict[int, str] = {}
    for _, text, content in _each_range(ranges, engine, lambda _here: _digest):
        found[text.number] = content
        tell(1)
    return [found[text.number] for text in ranges]


def _each_range(
    ranges: Sequence[TextRange], engine: Engine, work: Callable[[bool], Callable[[TextRange, None], Any]]
) -> Iterator[tuple[bool, TextRange, Any]]:
    """Yield whether a range was worked on in this process, the range and the result; pipes are, and first."""
    for where, once in ((InThisProcess(), True), (engine, False)):
        here = isinstance(where, InThisProcess)
        try:
            for text, found in where.map(work(here), [text for text in ranges if text.comes_once == once]):
                yield here, text, found
        except BadPartitionsError as error:
            raise _by_file(error, ranges) from error


def _by_file(error: BadPartitionsError, ranges: Sequence[TextRange]) -> DataError:
    """Return an error that names the first problem in each file; a whole file may have another encoding."""
    bad = dict(error.partitions)
    firsts: dict[str, str] = {}
    further: Counter[str] = Counter()
    for text in ranges:
        name, path = str(text), text.span.file.path
        if name in bad and path in firsts:
            further[path] += 1
        elif name in bad:
            firsts[path] = name
    if len(ranges) == 1:
        return DataError(*bad.values())
    more = {path: f" and {further[path]} more of this file" if further[path] else "" for path in firsts}
    what = some([f"{name}{more[path]} ({bad[name]})" for path, name in firsts.items()], SHOWN)
    message = f"{len(bad)} of {len(ranges)} partitions cannot be used, so there is no result: {what}"
    return BadPartitionsError(message, bad)


def merge_words(parts: Parts, ranges: int, target: Path, least: int) -> tuple[Vocabulary, Level]:
    """Merge the words of all parts, and write the whole text as their ranks.

    Parameters
    ----------
    parts, ranges
        Where the parts are, and how many.
    target
        Where numbers go: those of frequent words by rank, `NO_ENTRY` for others, `SENTENCE_END` after each sentence.
    least
        How frequent is frequent.

    Raises
    ------
    DataError
        If a part is damaged.
    """
    counter = kernels.WordCounter()
    for number in range(ranges):
        part = parts.open(words_part(number))
        counter.merge(part.array("heap"), part.array("begins"), part.array("counts"))
    heap, begins, counts = counter.words()
    order = np.argsort(-counts.astype(np.int64), kind="stable")
    order = order[: int((counts >= least).sum())]
    ranks = np.full(len(counts), NO_ENTRY, np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    with atomic_writer(target, "wb") as stream:
        for number in range(ranges):
            part = parts.open(words_part(number))
            # Counted for the second time, each word zero times: looked up, so that not all numbers must be kept.
            rank_of = ranks[
                counter.merge(part.array("heap"), part.array("begins"), np.zeros_like(part.array("counts")))
            ]
            for local in chunks(parts.numbers(words_part(number))):
                inside = local != SENTENCE_END
                ranked = np.full(len(local), SENTENCE_END, np.uint32)
                ranked[inside] = rank_of[local[inside]]
                stream.write(ranked.data)
    vocabulary = _select(heap, begins, order, int(counts.sum()))
    nothing = np.empty(0, np.uint32)
    return vocabulary, Level(order=1, counts=counts[order], firsts=nothing, seconds=nothing)


def _add_lines(counter: kernels.WordCounter, lines: list[str], how: Tokenizer, lowercase: bool) -> Numbers:
    return counter.add(*kernel_texts(lines, how, lowercase))


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
    last
        Whether there are no places after it.
    """

    path: str
    number: int
    first: int
    count: int
    last: bool

    def __str__(self) -> str:
        return f"{Path(self.path).name}, places {self.first + 1:,} to {self.first + self.count:,}"


def place_ranges(source: Path) -> list[PlaceRange]:
    """Split a file of numbers into ranges of places, the last one shorter, independent of the engine."""
    count = source.stat().st_size // np.dtype(np.uint32).itemsize
    size = PLACES if count > 2 * PLACES else max(count, 1)
    return [
        PlaceRange(str(source), number, first, min(size, count - first), last=first + size >= count)
        for number, first in enumerate(range(0, count, size))
    ]


@dataclass(frozen=True, slots=True)
class CountPairs:
    """Makes a part of a range: its pairs by bucket, and how often each was seen.

    Attributes
    ----------
    parts, name
        Where parts go, and how their names begin.
    usable
        Numbers below this one make pairs.
    least
        Pairs seen less often are left out: 1 if those of other ranges are to be added.
    """

    parts: Parts
    name: str
    usable: int
    least: int

    def __call__(self, places: PlaceRange, _state: None) -> list[int]:
        """Count a range, and return how many pairs each bucket has."""
        firsts, seconds, counts = self._pairs(places)
        bucket = _buckets(firsts, seconds)
        order = np.argsort(bucket, kind="stable")
        begins = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=BUCKETS))]).astype(np.uint64)
        # One after the other: there may be as many pairs as places.
        firsts, seconds, counts = firsts[order], seconds[order], counts[order]
        arrays: dict[str, NDArray[Any]] = {"firsts": firsts, "seconds": seconds, "counts": counts, "begins": begins}
        self.parts.write(f"{self.name}-{places.number}", arrays)
        return [int(size) for size in np.diff(begins)]

    def _pairs(self, places: PlaceRange) -> tuple[Numbers, Numbers, Numbers]:
        """Return the pairs of a range; the memory of the counter is freed."""
        counter = kernels.PairCounter(self.usable, self.least, MOST_PAIRS)
        more = True
        while more:
            for numbers in chunks(Path(places.path), places.first, places.count, overlap=1):
                counter.add(numbers)
            more = counter.finish_pass()
        firsts, seconds, counts = counter.pairs()
        return firsts, seconds, counts.astype(np.uint32)  # a range has no more places


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
    """Some buckets of all ranges.

    Attributes
    ----------
    number
        Which range of buckets it is.
    first, end
        Which buckets.
    pairs
        How many pairs they have in all ranges, each counted wherever it is.
    """

    number: int
    first: int
    end: int
    pairs: int

    def __str__(self) -> str:
        return f"buckets {self.first + 1} to {self.end}"


def bucket_ranges(sizes: Sequence[Sequence[int]], most: int) -> list[BucketRange]:
    """Put neighbouring buckets together as long as they have no more than ``most`` pairs.

    Examples
    --------
    >>> [str(each) for each in bucket_ranges([[2, 1, 4, 0], [1, 1, 5, 0]], 5)]
    ['buckets 1 to 2', 'buckets 3 to 3', 'buckets 4 to 4']
    """
    ranges: list[BucketRange] = []
    first = pairs = 0
    totals = np.sum(sizes, axis=0).tolist()
    for bucket, size in enumerate([*totals, most + 1]):
        if bucket > first and pairs + size > most:
            ranges.append(BucketRange(len(ranges), first, bucket, pairs))
            first, pairs = bucket, 0
        pairs += size
    return ranges


@dataclass(frozen=True, slots=True)
class SumPairs:
    """Makes a part of some buckets: the pairs that are frequent in all ranges together.

    Attributes
    ----------
    parts, name, usable
        As for `CountPairs`.
    counted, ranges
        How the names of the ranges' parts begin, and how many there are.
    least
        How frequent is frequent.
    """

    parts: Parts
    name: str
    usable: int
    counted: str
    ranges: int
    least: int

    def __call__(self, buckets: BucketRange, _state: None) -> None:
        """Add up some buckets."""
        counter = kernels.PairCounter(self.usable, self.least, MOST_PAIRS)
        more = True
        while more:
            for number in range(self.ranges):
                part = self.parts.open(f"{self.counted}-{number}")
                begins = part.array("begins")
                first, end = int(begins[buckets.first]), int(begins[buckets.end])
                # Without a checksum of the whole part, which would be computed for every bucket.
                counter.add_counted(*(part.unchecked(name)[first:end] for name in ("firsts", "seconds", "counts")))
            more = counter.finish_pass()
        firsts, seconds, counts = counter.pairs()
        self.parts.write(f"{self.name}-{buckets.number}", {"firsts": firsts, "seconds": seconds, "counts": counts})


def count_order(source: Path, below: Level, least: int, parts: Parts, engine: Engine, tell: Progress) -> Level:
    """Count the n-grams of the next order, and keep those seen at least ``least`` times.

    Parameters
    ----------
    source
        The numbers of the (n−1)-grams.
    below
        Those (n−1)-grams.
    least
        How frequent is frequent; not less than it was below.
    parts
        Where parts go.
    engine
        Where to work.
    tell
        Told how many more places have been gone through.
    """
    order = below.order + 1
    usable, ranges = below.at_least(least), place_ranges(source)
    name = f"pairs-{order}"
    work = CountPairs(parts, name, usable, least if len(ranges) == 1 else 1)
    sizes = [found for _, found in engine.map(work, ranges, progress=lambda places: tell(places.count))]
    made = len(ranges)
    if len(ranges) > 1:
        buckets = bucket_ranges(sizes, MOST_PAIRS)
        adding = SumPairs(parts, f"sums-{order}", usable, name, len(ranges), least)
        name, made = adding.name, sum(1 for _ in engine.map(adding, buckets))
    firsts, seconds, counts = (
        np.concatenate([parts.open(f"{name}-{number}").array(column) for number in range(made)])
        for column in ("firsts", "seconds", "counts")
    )
    parts.remove("pairs", "sums")
    # Not the order of tables and buckets, which depends on how the text was cut.
    by_count = np.lexsort((seconds, firsts, -counts.astype(np.int64)))
    return Level(
        order=order,
        counts=counts[by_count].astype(np.uint64),
        firsts=firsts[by_count],
        seconds=seconds[by_count],
    )


@dataclass(frozen=True, slots=True)
class EncodePairs:
    """Makes a part of a range: the numbers of an order's n-grams, given those of the order below.

    Attributes
    ----------
    parts
        Where parts go.
    """

    parts: Parts

    def __call__(self, places: PlaceRange, index: kernels.PairIndex) -> None:
        """Encode a range."""
        with atomic_writer(self.parts.numbers(f"coded-{places.number}"), "wb") as stream:
            for numbers in chunks(Path(places.path), places.first, places.count, overlap=1):
                output = np.empty(len(numbers) - 1, np.uint32)
                index.encode(numbers, output)
                stream.write(output.data)
            if places.last:  # which nothing follows: the end of a sentence
                stream.write(np.array([SENTENCE_END], np.uint32).data)


def load_index(parts: Parts) -> kernels.PairIndex:
    """Return the index of the n-grams of the order that was counted last."""
    part = parts.open("level")
    return kernels.PairIndex(part.array("firsts"), part.array("seconds"))


def encode_order(source: Path, target: Path, level: Level, parts: Parts, engine: Engine, tell: Progress) -> None:
    """Write the numbers of an order's n-grams, given those of the order below.

    Parameters
    ----------
    source, target
        The numbers that there are, and where the new ones go.
    level
        The n-grams of the order.
    parts, engine, tell
        As for `count_order`.
    """
    parts.write("level", {"firsts": level.firsts, "seconds": level.seconds})
    ranges = place_ranges(source)
    for _ in engine.map(
        EncodePairs(parts), ranges, state=partial(load_index, parts), progress=lambda places: tell(places.count)
    ):
        pass
    coded = [parts.numbers(f"coded-{places.number}") for places in ranges]
    if len(coded) == 1:
        coded[0].replace(target)
    else:
        with atomic_writer(target, "wb") as stream:
            for part in coded:
                for numbers in chunks(part):
                    stream.write(numbers.data)
    parts.remove("coded", "level")


class Counted(NamedTuple):
    """The counts of a corpus."""

    vocabulary: Vocabulary
    """Its words."""
    levels: list[Level]
    """Its n-grams of all orders."""
    corpus: list[tuple[str, str]]
    """The identity of the corpus, from `fingerprints`."""


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
    ranges, parts = text_ranges(corpus, engine), folder.parts()
    read = read_ranges(ranges, parts, options, engine, shown.stage("reading", None, " words"))
    vocabulary, level = merge_words(parts, len(ranges), folder.numbers(1), options.least_count(1))
    parts.remove("words")
    _check_size(corpus, vocabulary.total, options)
    levels = [level]
    _check_listed(level, options)
    for order in range(2, options.orders[-1] + 1):
        source = folder.numbers(order - 1).absolute()
        places = source.stat().st_size // 4
        tell = shown.stage(f"counting, order {order}", places, " words")
        level = count_order(source, levels[-1], options.least_count(order), parts, engine, tell)
        _check_listed(level, options)
        levels.append(level)
        tell = shown.stage(f"encoding, order {order}", places, " words")
        encode_order(source, folder.numbers(order), level, parts, engine, tell)
    return Counted(vocabulary, levels, fingerprints(ranges, [each.content for each in read]))


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
