"""Words of a corpus become numbers: in ranges of lines, each on its own, and then all of them by rank.

A range gives its words numbers as they come. Merged in the order of the ranges, words keep the order in which they
first come in the whole corpus, whoever read which range.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu._version import __version__
from trubleu.data.array_file import ArrayFile
from trubleu.engines.local import InThisProcess
from trubleu.errors import BadPartitionsError, DataError
from trubleu.native import kernels
from trubleu.text import tokenizer
from trubleu.vectors.count import Level, Vocabulary
from trubleu.vectors.numbers import (
    NO_ENTRY,
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
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.engines import Engine
    from trubleu.text import Tokenizer
    from trubleu.vectors.count import Counts, Tell
    from trubleu.vectors.numbers import Numbers
    from trubleu.vectors.text_ranges import TextRange
    from trubleu.vectors.training_options import TrainingOptions

_LINES: Final = 1 << 15  # tokenised at once


@dataclass(frozen=True, slots=True)
class ReadWords:
    """Makes a part of a range: its words, and its text as their numbers.

    Attributes
    ----------
    folder
        Where parts go.
    tokenize, lowercase
        How lines become words.
    tell
        Told how many more numbers have been written; only where it can be called, in this process.
    """

    folder: str
    tokenize: str
    lowercase: bool
    tell: Tell | None = None

    def __call__(self, text: TextRange, _state: None) -> int:
        """Read a range, unless that was done before, and return how many numbers it has become."""
        check_reachable(self.folder)
        part = words_part(self.folder, text.number)
        if text.comes_once or finished(part, lambda: self._job(text.digest())) is None:
            self._read(text, part)
        elif self.tell is not None:
            self.tell(_size(part))
        return _size(part)

    def _read(self, text: TextRange, part: Path) -> None:
        counter = kernels.WordCounter()
        how = tokenizer(self.tokenize)
        content = hashlib.blake2b(digest_size=32)
        with writing(numbers_of(part)) as write:
            for lines in text.lines(content.update):
                for first in range(0, len(lines), _LINES):
                    numbers = _add_lines(counter, lines[first : first + _LINES], how, self.lowercase)
                    write(numbers)
                    if self.tell is not None:
                        self.tell(len(numbers))
        heap, begins, counts = counter.words()
        # A file without numbers cannot be mapped, and has nothing that could be damaged.
        header = {"checksum": MappedNumbers(numbers_of(part)).checksum()} if len(counts) else {}
        write_part(part, self._job(content.hexdigest()), header, {"heap": heap, "begins": begins, "counts": counts})

    def _job(self, digest: str) -> str:
        return job_of(__version__, self.tokenize, self.lowercase, digest)


def words_part(folder: str | Path, number: int) -> Path:
    """Return where the part of a range lies."""
    return Path(folder, f"words-{number}")


def read_ranges(ranges: Sequence[TextRange], folder: str, options: TrainingOptions, engine: Engine, tell: Tell) -> None:
    """Make parts of all ranges; what comes through a pipe is read in this process.

    Raises
    ------
    DataError
        If there is one range, and it cannot be read.
    BadPartitionsError
        If some of several cannot be; the others are finished.
    """
    here = [text for text in ranges if text.comes_once]
    try:
        for where, some in ((InThisProcess(), here), (engine, [text for text in ranges if not text.comes_once])):
            in_process = isinstance(where, InThisProcess)
            work = ReadWords(folder, options.tokenize, options.lowercase, tell if in_process else None)
            for _, count in where.map(work, some):
                if not in_process:
                    tell(count)
    except BadPartitionsError as error:
        if len(ranges) == 1:
            raise DataError(*error.partitions.values()) from error
        message = f"{error}; repair that, and continue with --resume"
        raise BadPartitionsError(message, error.partitions) from error


def merge_words(folder: Path, count: int, target: Path, least: int) -> tuple[Vocabulary, Level]:
    """Merge the words of all parts, and write the whole text as their ranks.

    Parameters
    ----------
    folder, count
        Where the parts are, and how many.
    target
        Where numbers go: those of frequent words by rank, `NO_ENTRY` for others, `SENTENCE_END` after each sentence.
    least
        How frequent is frequent.
    """
    counter = kernels.WordCounter()
    for number in range(count):
        part = _words(folder, number)
        counter.merge(part.array("heap"), part.array("begins"), part.array("counts"))
    heap, begins, counts = counter.words()
    order = np.argsort(-counts.astype(np.int64), kind="stable")
    order = order[: int((counts >= least).sum())]
    ranks = np.full(len(counts), NO_ENTRY, np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    with writing(target) as write:
        for number in range(count):
            part = _words(folder, number)
            # Counted for the second time, each word zero times: looked up, so that not all numbers must be kept.
            rank_of = ranks[
                counter.merge(part.array("heap"), part.array("begins"), np.zeros_like(part.array("counts")))
            ]
            for local in chunks(numbers_of(words_part(folder, number))):
                inside = local != SENTENCE_END
                ranked = np.full(len(local), SENTENCE_END, np.uint32)
                ranked[inside] = rank_of[local[inside]]
                write(ranked)
    vocabulary = _select(heap, begins, order, int(counts.sum()))
    nothing = np.empty(0, np.uint32)
    return vocabulary, Level(order=1, counts=counts[order], firsts=nothing, seconds=nothing)


def _words(folder: Path, number: int) -> ArrayFile:
    return ArrayFile(words_part(folder, number), PART)


def _size(part: Path) -> int:
    return numbers_of(part).stat().st_size // np.dtype(np.uint32).itemsize


def _add_lines(counter: kernels.WordCounter, lines: list[str], how: Tokenizer, lowercase: bool) -> Numbers:
    if how.native:
        return counter.add(tuple(lines), how.native, lowercase)
    return counter.add(tuple(how.lines(lines, lowercase)), "none", False)


def _select(heap: NDArray[np.uint8], begins: Counts, order: NDArray[np.intp], total: int) -> Vocabulary:
    """Return some words of a heap in a new order, without making strings of them."""
    from_, to = begins[order].astype(np.int64), begins[order + 1].astype(np.int64)
    ends = np.cumsum(to - from_)
    at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(from_ - (ends - (to - from_)), to - from_)
    return Vocabulary(heap=heap[at], begins=np.concatenate([[0], ends]).astype(np.uint64), total=total)
