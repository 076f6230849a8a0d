"""N-gram counts of the next order, as pairs of neighbouring numbers, and the text encoded with them.

Counting goes level by level (Agrawal & Srikant 1994): a pair is counted only if both of its halves are as frequent as
it must be itself, which loses nothing. Ranges of places are counted on their own. Each puts its pairs into buckets by a
hash, and a bucket of all ranges is added up on its own as well. Where more pairs turn up than are to be counted at
once, a part of them is put off to a further pass, so counts are exact however large the text is. In the end all pairs
of a range are in memory, which takes at most 0.8 GB, if no pair comes twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.native import kernels
from trubleu.vectors.training.number_files import (
    SENTENCE_END,
    Parts,
    checksum_of,
    chunks,
    job_of,
    writing,
)
from trubleu.vectors.training.vocabulary import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from trubleu.execution import Engine
    from trubleu.vectors.training.number_files import Numbers
    from trubleu.vectors.training.vocabulary import Counts, Tell

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
    """Cut a file of numbers into ranges of places, the last one shorter, whoever is to count them."""
    count = source.stat().st_size // np.dtype(np.uint32).itemsize
    size = PLACES if count > 2 * PLACES else max(count, 1)
    return [
        PlaceRange(str(source), number, first, min(size, count - first), last=first + size >= count)
        for number, first in enumerate(range(0, count, size))
    ]


class PairsCounted(NamedTuple):
    """What came of a range."""

    sizes: list[int]
    """How many pairs each bucket has."""
    job: str
    """What its part depends on."""
    reused: bool
    """Whether it was counted before."""


@dataclass(frozen=True, slots=True)
class CountPairs:
    """Makes a part of a range: its pairs by bucket, and how often each was seen.

    Attributes
    ----------
    parts, name
        Where parts go, and how their names begin.
    job
        What the numbers depend on.
    usable
        Numbers below this one make pairs.
    least
        Pairs seen less often are left out: 1 if those of other ranges are to be added.
    """

    parts: Parts
    name: str
    job: str
    usable: int
    least: int

    def __call__(self, places: PlaceRange, _state: None) -> PairsCounted:
        """Count a range, unless that was done before."""
        self.parts.check_reachable()
        name = f"{self.name}-{places.number}"
        job = job_of(self.job, self.usable, self.least, places.first, places.count, BUCKETS)
        if (found := self.parts.finished(name, job)) is not None:
            return _counted(found.array("begins"), job, reused=True)
        firsts, seconds, counts = self._pairs(places)
        bucket = _buckets(firsts, seconds)
        order = np.argsort(bucket, kind="stable")
        begins = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=BUCKETS))]).astype(np.uint64)
        # One after the other: there may be as many pairs as places.
        firsts, seconds, counts = firsts[order], seconds[order], counts[order]
        self.parts.write(name, job, {}, {"firsts": firsts, "seconds": seconds, "counts": counts, "begins": begins})
        return _counted(begins, job, reused=False)

    def _pairs(self, places: PlaceRange) -> tuple[Numbers, Numbers, Numbers]:
        """Return the pairs of a range; what counted them is gone then."""
        counter = kernels.PairCounter(self.usable, self.least, MOST_PAIRS)
        more = True
        while more:
            for numbers in chunks(Path(places.path), places.first, places.count, overlap=1):
                counter.add(numbers)
            more = counter.finish_pass()
        firsts, seconds, counts = counter.pairs()
        return firsts, seconds, counts.astype(np.uint32)  # a range has no more places


def _counted(begins: Counts, job: str, *, reused: bool) -> PairsCounted:
    return PairsCounted([int(size) for size in np.diff(begins)], job, reused)


def _buckets(firsts: Numbers, seconds: Numbers) -> NDArray[np.uint8]:
    """Return the bucket of each pair, little by little since the numbers in between take more room."""
    found = np.empty(len(firsts), np.uint8)
    for begin in range(0, len(firsts), _PAIRS_AT_ONCE):
        end = begin + _PAIRS_AT_ONCE
        found[begin:end] = bucket_of(firsts[begin:end], seconds[begin:end])
    return found


def bucket_of(firsts: Numbers, seconds: Numbers) -> NDArray[np.uint8]:
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
    parts, name, usable
        As for `CountPairs`.
    counted, ranges
        How the names of the ranges' parts begin, and what each depends on.
    least
        How frequent is frequent.
    """

    parts: Parts
    name: str
    usable: int
    counted: str
    ranges: tuple[str, ...]
    least: int

    def __call__(self, buckets: BucketRange, _state: None) -> str:
        """Add up some buckets, unless that was done before, and return what the part depends on."""
        self.parts.check_reachable()
        name = f"{self.name}-{buckets.number}"
        job = job_of(self.ranges, self.least, buckets.first, buckets.end)
        if self.parts.finished(name, job) is not None:
            return job
        counter = kernels.PairCounter(self.usable, self.least, MOST_PAIRS)
        more = True
        while more:
            for number, made_from in enumerate(self.ranges):
                part = self.parts.open(f"{self.counted}-{number}", made_from)
                begins = part.array("begins")
                first, end = int(begins[buckets.first]), int(begins[buckets.end])
                # The whole part was looked at when it was found or made; here it would be for every bucket.
                counter.add_counted(*(part.unchecked(name)[first:end] for name in ("firsts", "seconds", "counts")))
            more = counter.finish_pass()
        firsts, seconds, counts = counter.pairs()
        self.parts.write(name, job, {}, {"firsts": firsts, "seconds": seconds, "counts": counts})
        return job


def count_order(
    source: Path,
    below: Level,
    least: int,
    parts: Parts,
    job: str,
    engine: Engine,
    tell: Tell | None = None,
    count: Callable[[bool], object] = lambda _reused: None,
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
    parts, job
        Where parts go, and what the numbers depend on.
    engine
        Where to work.
    tell
        Told how many more places have been gone through.
    count
        Told of each part whether it had been made before.
    """
    order = below.order + 1
    usable = below.at_least(least)
    ranges = place_ranges(source)
    name = f"pairs-{order}"
    work = CountPairs(parts, name, job, usable, least if len(ranges) == 1 else 1)
    counted = [found for _, found in engine.map(work, ranges, progress=_teller(tell))]
    for found in counted:
        count(found.reused)
    jobs = [found.job for found in counted]
    if len(ranges) > 1:
        buckets = bucket_ranges([found.sizes for found in counted], MOST_PAIRS)
        adding = SumPairs(parts, f"sums-{order}", usable, name, tuple(jobs), least)
        name, jobs = adding.name, [made_from for _, made_from in engine.map(adding, buckets)]
    named = [(f"{name}-{number}", made_from) for number, made_from in enumerate(jobs)]
    firsts, seconds = _joined(parts, named, "firsts"), _joined(parts, named, "seconds")
    counts = _joined(parts, named, "counts").astype(np.uint64)
    # Not the order of tables and buckets, which depends on how the text was cut.
    by_count = np.lexsort((seconds, firsts, -counts.astype(np.int64)))
    return Level(order=order, counts=counts[by_count], firsts=firsts[by_count], seconds=seconds[by_count])


def _teller(tell: Tell | None) -> Callable[[PlaceRange], object] | None:
    return None if tell is None else lambda places: tell(places.count)


def _joined(parts: Parts, named: Iterable[tuple[str, str]], name: str) -> Numbers:
    found: Numbers = np.concatenate([parts.open(part, job).array(name) for part, job in named])
    return found


@dataclass(frozen=True, slots=True)
class EncodePairs:
    """Makes a part of a range: the numbers of an order's n-grams, given those of the order below.

    Attributes
    ----------
    parts, name
        Where parts go, and how their names begin.
    job
        What the numbers and the order depend on.
    """

    parts: Parts
    name: str
    job: str

    def __call__(self, places: PlaceRange, index: kernels.PairIndex) -> str:
        """Encode a range, unless that was done before, and return what the part depends on."""
        self.parts.check_reachable()
        name = f"{self.name}-{places.number}"
        job = job_of(self.job, places.first, places.count)
        if self.parts.finished(name, job) is not None:
            return job
        with writing(self.parts.numbers(name)) as write:
            for numbers in chunks(Path(places.path), places.first, places.count, overlap=1):
                output = np.empty(len(numbers) - 1, np.uint32)
                index.encode(numbers, output)
                write(output)
            if places.last:  # which nothing follows: the end of a sentence
                write(np.array([SENTENCE_END], np.uint32))
        self.parts.write(name, job, {"checksum": checksum_of(self.parts.numbers(name))}, {})
        return job


def load_index(parts: Parts, name: str, job: str) -> kernels.PairIndex:
    """Return what finds the n-grams of an order that was written."""
    part = parts.open(name, job)
    return kernels.PairIndex(part.array("firsts"), part.array("seconds"))


def encode_order(
    source: Path, target: Path, order: int, level: str, parts: Parts, job: str, engine: Engine, tell: Tell | None = None
) -> None:
    """Write the numbers of an order's n-grams, given those of the order below.

    Parameters
    ----------
    source, target
        The numbers that there are, and where the new ones go.
    order, level
        Which order, and the part with its n-grams.
    parts, job, engine, tell
        As for `count_order`.
    """
    work = EncodePairs(parts, f"coded-{order}", job)
    index = partial(load_index, parts, level, job)
    coded = []
    for places, made_from in engine.map(work, place_ranges(source), state=index, progress=_teller(tell)):
        name = f"{work.name}-{places.number}"
        parts.open(name, made_from)
        coded.append(parts.numbers(name))
    if len(coded) == 1:
        coded[0].replace(target)
        return
    with writing(target) as write:
        for part in coded:
            for numbers in chunks(part):
                write(numbers)
