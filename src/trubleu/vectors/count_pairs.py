"""N-grams of the next order counted exactly, as pairs of neighbouring numbers, and the text as their numbers.

Counting goes level by level (Agrawal & Srikant 1994): a pair is counted only if both of its halves are as frequent as
it must be itself, which loses nothing. Ranges of places are counted on their own. Each puts its pairs into buckets by a
hash, and a bucket of all ranges is added up on its own as well. Where more pairs turn up than memory is meant to hold,
a part of them is put off to a further pass, so counts are exact however large the text is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.data.array_file import ArrayFile
from trubleu.engines.local import InThisProcess
from trubleu.native import kernels
from trubleu.vectors.count import Level
from trubleu.vectors.numbers import (
    PART,
    SENTENCE_END,
    MappedNumbers,
    check_reachable,
    chunks,
    finished,
    job_of,
    numbers_of,
    write_part,
    writing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from trubleu.engines import Engine
    from trubleu.vectors.count import Counts, Tell
    from trubleu.vectors.numbers import Numbers

MOST_PAIRS: Final = 1 << 22
"""Different pairs to count at once: with the space between them, some 130 MB."""

BUCKETS: Final = 256
"""Into how many buckets a range puts its pairs; as many of them are added up together as fit into memory."""

PLACES_A_RANGE: Final = 1 << 24
"""Places of the text that a worker counts together."""

PLACES_ALONE: Final = 1 << 26
"""The same in this process: fewer ranges have fewer pairs to be added up, and one range has none."""


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


def place_ranges(source: Path, size: int) -> list[PlaceRange]:
    """Cut a file of numbers into ranges of places, the last one shorter."""
    count = source.stat().st_size // np.dtype(np.uint32).itemsize
    return [
        PlaceRange(str(source), number, first, min(size, count - first), last=first + size >= count)
        for number, first in enumerate(range(0, count, size))
    ]


@dataclass(frozen=True, slots=True)
class CountPairs:
    """Makes a part of a range: its pairs by bucket, and how often each was seen.

    Attributes
    ----------
    folder, name
        Where parts go, and how their names begin.
    job
        What the numbers depend on.
    usable
        Numbers below this one make pairs.
    least
        Pairs seen less often are left out: 1 if those of other ranges are to be added.
    """

    folder: str
    name: str
    job: str
    usable: int
    least: int

    def __call__(self, places: PlaceRange, _state: None) -> list[int]:
        """Count a range, unless that was done before, and return how many pairs each bucket has."""
        check_reachable(self.folder)
        path = Path(self.folder, f"{self.name}-{places.number}")
        job = job_of(self.job, self.usable, self.least, places.first, places.count, BUCKETS)
        if (found := finished(path, lambda: job)) is not None:
            return _sizes(found.array("begins"))
        counter = kernels.PairCounter(self.usable, self.least, MOST_PAIRS)
        more = True
        while more:
            for numbers in chunks(Path(places.path), places.first, places.count, overlap=1):
                counter.add(numbers)
            more = counter.finish_pass()
        firsts, seconds, counts = counter.pairs()
        bucket = bucket_of(firsts, seconds)
        order = np.argsort(bucket, kind="stable")
        begins = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=BUCKETS))]).astype(np.uint64)
        arrays: dict[str, NDArray[Any]] = {
            "firsts": firsts[order],
            "seconds": seconds[order],
            "counts": counts[order].astype(np.uint32),  # a range has no more places
            "begins": begins,
        }
        write_part(path, job, {}, arrays)
        return _sizes(begins)


def _sizes(begins: Counts) -> list[int]:
    return [int(size) for size in np.diff(begins)]


def bucket_of(firsts: Numbers, seconds: Numbers) -> Numbers:
    """Return the bucket of each pair, which has nothing to do with its place in a counter's table."""
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
    folder, name, job, usable
        As for `CountPairs`.
    counted, ranges
        How the names of the ranges' parts begin, and how many ranges there are.
    least
        How frequent is frequent.
    """

    folder: str
    name: str
    job: str
    usable: int
    counted: str
    ranges: int
    least: int

    def __call__(self, buckets: BucketRange, _state: None) -> None:
        """Add up some buckets, unless that was done before."""
        check_reachable(self.folder)
        path = Path(self.folder, f"{self.name}-{buckets.number}")
        job = job_of(self.job, self.usable, self.ranges, self.least, buckets.first, buckets.end, buckets.pairs)
        if finished(path, lambda: job) is not None:
            return
        counter = kernels.PairCounter(self.usable, self.least, MOST_PAIRS)
        more = True
        while more:
            for number in range(self.ranges):
                part = ArrayFile(Path(self.folder, f"{self.counted}-{number}"), PART)
                begins = part.array("begins")
                first, end = int(begins[buckets.first]), int(begins[buckets.end])
                # The whole part was looked at when it was found or made; here it would be for every bucket.
                counter.add_counted(*(part.unchecked(name)[first:end] for name in ("firsts", "seconds", "counts")))
            more = counter.finish_pass()
        firsts, seconds, counts = counter.pairs()
        write_part(path, job, {}, {"firsts": firsts, "seconds": seconds, "counts": counts})


def count_order(
    source: Path, below: Level, least: int, folder: str, job: str, engine: Engine, tell: Tell | None = None
) -> Level:
    """Count the n-grams of the next order, and keep those seen at least ``least`` times.

    Parameters
    ----------
    source
        The numbers of the (n−1)-grams.
    below
        Those (n−1)-grams.
    least
        How frequent is frequent; not less than it was below.
    folder, job
        Where parts go, and what the numbers depend on.
    engine
        Where to work.
    tell
        Told how many more places have been gone through.
    """
    order = below.order + 1
    usable = below.at_least(least)
    ranges = place_ranges(source, PLACES_ALONE if isinstance(engine, InThisProcess) else PLACES_A_RANGE)
    counted, summed = f"pairs-{order}", f"sums-{order}"
    work = CountPairs(folder, counted, job, usable, least if len(ranges) == 1 else 1)
    sizes = [found for _, found in engine.map(work, ranges, progress=_teller(tell))]
    parts = [Path(folder, f"{counted}-{number}") for number in range(len(ranges))]
    if len(ranges) > 1:
        buckets = bucket_ranges(sizes, MOST_PAIRS)
        adding = SumPairs(folder, summed, job, usable, counted, len(ranges), least)
        for _ in engine.map(adding, buckets):
            pass
        parts = [Path(folder, f"{summed}-{number}") for number in range(len(buckets))]
    firsts, seconds = _joined(parts, "firsts"), _joined(parts, "seconds")
    counts = _joined(parts, "counts").astype(np.uint64)
    # Not the order of tables and buckets, which depends on how the text was cut.
    by_count = np.lexsort((seconds, firsts, -counts.astype(np.int64)))
    return Level(order=order, counts=counts[by_count], firsts=firsts[by_count], seconds=seconds[by_count])


def _teller(tell: Tell | None) -> Callable[[PlaceRange], object] | None:
    return None if tell is None else lambda places: tell(places.count)


def _joined(parts: Sequence[Path], name: str) -> Numbers:
    found: Numbers = np.concatenate([ArrayFile(part, PART).array(name) for part in parts])
    return found


@dataclass(frozen=True, slots=True)
class EncodePairs:
    """Makes a part of a range: the numbers of an order's n-grams, given those of the order below.

    Attributes
    ----------
    folder, name
        Where parts go, and how their names begin.
    job
        What the numbers and the order depend on.
    """

    folder: str
    name: str
    job: str

    def __call__(self, places: PlaceRange, index: kernels.PairIndex) -> None:
        """Encode a range, unless that was done before."""
        check_reachable(self.folder)
        path = Path(self.folder, f"{self.name}-{places.number}")
        job = job_of(self.job, places.first, places.count)
        if finished(path, lambda: job) is not None:
            return
        with writing(numbers_of(path)) as write:
            for numbers in chunks(Path(places.path), places.first, places.count, overlap=1):
                output = np.empty(len(numbers) - 1, np.uint32)
                index.encode(numbers, output)
                write(output)
            if places.last:  # which nothing follows: the end of a sentence
                write(np.array([SENTENCE_END], np.uint32))
        write_part(path, job, {"checksum": MappedNumbers(numbers_of(path)).checksum()}, {})


def load_index(path: str) -> kernels.PairIndex:
    """Return what finds the n-grams of an order that was written."""
    part = ArrayFile(path, PART)
    return kernels.PairIndex(part.array("firsts"), part.array("seconds"))


def encode_order(
    source: Path, target: Path, order: int, level: Path, folder: str, job: str, engine: Engine, tell: Tell | None = None
) -> None:
    """Write the numbers of an order's n-grams, given those of the order below.

    Parameters
    ----------
    source, target
        The numbers that there are, and where the new ones go.
    order, level
        Which order, and the part with its n-grams.
    folder, job, engine, tell
        As for `count_order`.
    """
    ranges = place_ranges(source, PLACES_ALONE if isinstance(engine, InThisProcess) else PLACES_A_RANGE)
    work = EncodePairs(folder, f"coded-{order}", job)
    index = partial(load_index, str(level))
    for _ in engine.map(work, ranges, state=index, progress=_teller(tell)):
        pass
    parts = [numbers_of(Path(folder, f"{work.name}-{places.number}")) for places in ranges]
    if len(parts) == 1:
        parts[0].replace(target)
        return
    with writing(target) as write:
        for part in parts:
            for numbers in chunks(part):
                write(numbers)
