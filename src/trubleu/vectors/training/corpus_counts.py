"""Counting a corpus stage by stage on any engine: words first, then the n-grams of each order.

Text is read and tokenised once and becomes a file of numbers; each further order is a file of the same length, with the
number of the n-gram that begins at each place, if it is frequent enough. An order that was counted is a part
``level-N``, one that was encoded as well has ``order-N``, the part that ``order-N.ids`` belongs to. Whatever is
finished, orders and parts of them, is found again after an interruption.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from trubleu.errors import DataError
from trubleu.files.paths import name_of
from trubleu.vectors.training.ngram_counts import count_order, encode_order
from trubleu.vectors.training.number_files import MappedNumbers, job_of
from trubleu.vectors.training.text_ranges import fingerprints, text_ranges
from trubleu.vectors.training.vocabulary import Level, Vocabulary
from trubleu.vectors.training.word_counts import contents_of, jobs_of, merge_words, read_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.execution import Engine
    from trubleu.execution.cache import Cache
    from trubleu.execution.progress import Bars
    from trubleu.files.arrays import ArrayFile
    from trubleu.files.paths import PathLike
    from trubleu.vectors.training.checkpoint import Folder
    from trubleu.vectors.training.number_files import Parts
    from trubleu.vectors.training.options import TrainingOptions


class Counted(NamedTuple):
    """What was counted in a corpus."""

    vocabulary: Vocabulary
    """Its words."""
    levels: list[Level]
    """Its n-grams of all orders."""
    checksums: dict[int, str]
    """Of the corpus as numbers, for each order that is trained."""
    corpus: list[tuple[str, str]]
    """What tells the corpus from another, as `fingerprints` says."""


def count_corpus(
    corpus: Sequence[PathLike], folder: Folder, options: TrainingOptions, engine: Engine, shown: Bars, cache: Cache
) -> Counted:
    """Count words and n-grams, and write the corpus as numbers to the folder of a training.

    Parameters
    ----------
    corpus
        Files of one sentence per line.
    folder
        Where everything goes; workers must find it under the same path. What an earlier count finished there is used.
    options
        Which n-grams count, how text becomes words, and how frequent is frequent.
    engine
        Where to work; no number depends on it.
    shown
        Shows how far it is.
    cache
        Told how many parts were made before.

    Raises
    ------
    DataError
        If the corpus cannot be read, or is too small for the options.
    UsageError
        If the folder cannot be written.
    """
    count = _Count(corpus, folder, options, engine, shown, cache, folder.parts())
    vocabulary = count.words()
    for order in range(2, options.orders[-1] + 1):
        count.check_listed()
        count.ngrams(order)
    count.check_listed()
    checksums = {order: count.checksums[order] for order in options.orders}
    return Counted(vocabulary, count.levels, checksums, count.corpus)


@dataclass(slots=True)
class _Count:
    """Goes from order to order; what each depends on is what those before it depend on, and a little more."""

    _corpus: Sequence[PathLike]
    _folder: Folder
    _options: TrainingOptions
    _engine: Engine
    _shown: Bars
    _cache: Cache
    _parts: Parts
    _job: str = ""
    levels: list[Level] = field(default_factory=list)
    checksums: dict[int, str] = field(default_factory=dict)
    corpus: list[tuple[str, str]] = field(default_factory=list)

    def words(self) -> Vocabulary:
        """Count words."""
        least = self._options.least_count(1)
        ranges = text_ranges(self._corpus)
        found = None
        # What comes through a pipe can only be compared by reading it.
        if self._parts.path(_coded(1)).exists() and not any(text.comes_once for text in ranges):
            tell = self._shown.stage("comparing", len(ranges), " ranges")
            contents = contents_of(ranges, self._engine, tell)
            self.corpus = fingerprints(ranges, contents)
            self._job = job_of(jobs_of(ranges, contents, self._options), least)
            found = self._finished(1)
        reused = found is not None and self._is_encoded(1)
        if reused:
            self._cache.count(len(ranges), len(ranges))
        if found is None or not reused:
            tell = self._shown.stage("reading", None, " words")
            read = read_ranges(ranges, self._parts, self._options, self._engine, tell)
            self._cache.count(sum(each.reused for each in read), len(read))
            self.corpus = fingerprints(ranges, [each.content for each in read])
            jobs = [each.job for each in read]
            self._job = job_of(jobs, least)
            vocabulary, level = merge_words(self._parts, jobs, self._folder.numbers(1), least)
            self._check_size(vocabulary.total)
            more: dict[str, NDArray[Any]] = {"heap": vocabulary.heap, "begins": vocabulary.begins}
            found = self._write(level, {"total": vocabulary.total}, more)
            self._finish(1)
            self._remove("words")
        self._add_level(1, found)
        vocabulary = Vocabulary(heap=found.array("heap"), begins=found.array("begins"), total=found.header["total"])
        vocabulary.check(len(self.levels[0].counts))
        return vocabulary

    def ngrams(self, order: int) -> None:
        """Count the n-grams of the next order."""
        least = self._options.least_count(order)
        before = job_of(self._job, self.checksums[order - 1])
        self._job = job_of(before, order, least)
        source = self._folder.numbers(order - 1).absolute()
        places = source.stat().st_size // 4
        if (found := self._finished(order)) is not None:
            self._cache.count(1)
        else:
            tell = self._shown.stage(f"counting, order {order}", places, " words")
            found = self._write(
                count_order(source, self.levels[-1], least, self._parts, before, self._engine, tell, self._cache.count)
            )
        self._remove(f"pairs-{order}", f"sums-{order}")
        if self._is_encoded(order):
            self._cache.count(1)
        else:
            tell = self._shown.stage(f"encoding, order {order}", places, " words")
            target = self._folder.numbers(order)
            encode_order(source, target, order, _level_part(order), self._parts, self._job, self._engine, tell)
            self._finish(order)
            self._cache.count(0)
        self._remove(f"coded-{order}")
        self._add_level(order, found)

    def check_listed(self) -> None:
        """Refuse a vocabulary that has nothing in one of its orders."""
        for order, count in zip(self._options.orders, self._options.min_count, strict=True):
            if order <= len(self.levels) and self.levels[order - 1].at_least(count) == 0:
                what = "word" if order == 1 else f"n-gram of {order} words"
                if order == 1:
                    self._folder.remove()  # other text or another least count has other words
                raise DataError(
                    f"no {what} was seen {count} times or more, so order {order} is empty; "
                    f"give more text, or a smaller min-count than {count} for order {order}"
                )

    def _check_size(self, total: int) -> None:
        if total > self._options.window:
            return
        if not self._parts.path(_coded(1)).exists():  # of earlier text, such as a pipe that has nothing this time
            self._folder.remove()
        names = ", ".join(map(name_of, self._corpus))
        if total == 0:
            raise DataError(f"{names} holds no words; give text, one sentence per line")
        raise DataError(
            f"{names} has {total} words, no more than the window of {self._options.window}; "
            "give more text, or a smaller window"
        )

    def _finished(self, order: int) -> ArrayFile | None:
        return self._parts.finished(_level_part(order), self._job)

    def _is_encoded(self, order: int) -> bool:
        found = self._parts.finished(_coded(order), self._job)
        if found is not None:
            self.checksums[order] = found.header["checksum"]
        return found is not None

    def _write(
        self, level: Level, header: Mapping[str, Any] | None = None, more: Mapping[str, NDArray[Any]] | None = None
    ) -> ArrayFile:
        arrays: dict[str, NDArray[Any]] = {"counts": level.counts, "firsts": level.firsts, "seconds": level.seconds}
        self._parts.write(_level_part(level.order), self._job, header or {}, {**arrays, **(more or {})})
        return self._parts.open(_level_part(level.order), self._job)

    def _finish(self, order: int) -> None:
        """Note that an order is there as numbers."""
        self.checksums[order] = MappedNumbers(self._folder.numbers(order)).checksum()
        self._parts.write(_coded(order), self._job, {"checksum": self.checksums[order]}, {})

    def _add_level(self, order: int, found: ArrayFile) -> None:
        counts, firsts, seconds = (found.array(name) for name in ("counts", "firsts", "seconds"))
        level = Level(order=order, counts=counts, firsts=firsts, seconds=seconds)
        level.check(len(self.levels[-1].counts) if self.levels else 0)
        self.levels.append(level)

    def _remove(self, *names: str) -> None:
        """Remove parts that are no longer needed."""
        for name in names:
            for part in self._folder.path.glob(f"{name}-*"):
                part.unlink(missing_ok=True)


def _level_part(order: int) -> str:
    """Return the name of the part with an order's n-grams."""
    return f"level-{order}"


def _coded(order: int) -> str:
    """Return the name of the part whose numbers are the text as an order's n-grams."""
    return f"order-{order}"
