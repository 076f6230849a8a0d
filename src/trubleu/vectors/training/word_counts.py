"""Word counts: ranges of lines become numbers on their own, then all words are ranked together.

A range gives its words numbers as they come. Merged in the order of the ranges, words keep the order in which they
first come in the whole corpus, whoever read which range.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.errors import BadPartitionsError, DataError, some
from trubleu.execution.base import SHOWN
from trubleu.execution.hashing import code_digest
from trubleu.execution.local import InThisProcess
from trubleu.native import kernels
from trubleu.text import tokenizer
from trubleu.vectors.training.number_files import (
    NO_ENTRY,
    SENTENCE_END,
    Parts,
    checksum_of,
    chunks,
    job_of,
    writing,
)
from trubleu.vectors.training.vocabulary import Level, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from trubleu.execution import Engine
    from trubleu.text import Tokenizer
    from trubleu.vectors.training.number_files import Numbers
    from trubleu.vectors.training.options import TrainingOptions
    from trubleu.vectors.training.text_ranges import TextRange
    from trubleu.vectors.training.vocabulary import Counts, Tell

_LINES: Final = 1 << 15  # tokenised at once


class WordsRead(NamedTuple):
    """What came of a range."""

    size: int
    """How many numbers it has become."""
    content: str
    """A hash of its text."""
    job: str
    """What its part depends on."""
    reused: bool
    """Whether it was read before."""


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
    tell: Tell | None = None

    def __call__(self, text: TextRange, _state: None) -> WordsRead:
        """Read a range, unless that was done before."""
        self.parts.check_reachable()
        part = words_part(text.number)
        found = None
        if not text.comes_once and self.parts.path(part).exists():
            content = text.digest()
            found = self.parts.finished(part, self._job(text, content))
        if found is None:
            content = self._read(text, part)
        size = self.parts.numbers(part).stat().st_size // np.dtype(np.uint32).itemsize
        if found is not None and self.tell is not None:
            self.tell(size)
        return WordsRead(size, content, self._job(text, content), found is not None)

    def _read(self, text: TextRange, part: str) -> str:
        counter = kernels.WordCounter()
        how = tokenizer(self.tokenize)
        content = hashlib.blake2b(digest_size=32)
        with writing(self.parts.numbers(part)) as write:
            for lines in text.lines(content.update):
                for first in range(0, len(lines), _LINES):
                    numbers = _add_lines(counter, lines[first : first + _LINES], how, self.lowercase)
                    write(numbers)
                    if self.tell is not None:
                        self.tell(len(numbers))
        heap, begins, counts = counter.words()
        job = self._job(text, content.hexdigest())
        header = {"checksum": checksum_of(self.parts.numbers(part))}
        self.parts.write(part, job, header, {"heap": heap, "begins": begins, "counts": counts})
        return content.hexdigest()

    def _job(self, text: TextRange, digest: str) -> str:
        return _job(self.tokenize, self.lowercase, text, digest)


def _job(tokenize: str, lowercase: bool, text: TextRange, digest: str) -> str:
    # A byte order mark is left out at the beginning of a file only.
    return job_of(code_digest(), tokenize, tokenizer(tokenize).model, lowercase, text.first == 0, digest)


def _digest(text: TextRange, _state: None) -> str:
    return text.digest()


def words_part(number: int) -> str:
    """Return the name of the part of a range."""
    return f"words-{number}"


def read_ranges(
    ranges: Sequence[TextRange], parts: Parts, options: TrainingOptions, engine: Engine, tell: Tell
) -> list[WordsRead]:
    """Make parts of all ranges, and return what came of each.

    What comes through a pipe is read first, and in this process.

    Raises
    ------
    DataError
        If there is one range, and it cannot be read.
    BadPartitionsError
        If some of several cannot be. The others are finished, unless it was a pipe that could not be read.
    """
    found: dict[int, WordsRead] = {}
    for where, some_of in _shared_out(ranges, engine):
        in_process = isinstance(where, InThisProcess)
        work = ReadWords(parts, options.tokenize, options.lowercase, tell if in_process else None)
        for text, read in _mapped(where, work, some_of, ranges):
            found[text.number] = read
            if not in_process:
                tell(read.size)
    return [found[text.number] for text in ranges]


def contents_of(ranges: Sequence[TextRange], engine: Engine, tell: Tell) -> list[str]:
    """Return a hash of the text of each range as it is now; what comes through a pipe is then gone.

    Raises
    ------
    DataError, BadPartitionsError
        As in `read_ranges`.
    """
    found: dict[int, str] = {}
    for where, some_of in _shared_out(ranges, engine):
        for text, content in _mapped(where, _digest, some_of, ranges):
            found[text.number] = content
            tell(1)
    return [found[text.number] for text in ranges]


def _shared_out(ranges: Sequence[TextRange], engine: Engine) -> list[tuple[Engine, list[TextRange]]]:
    """Return who reads what: pipes are read here, and first."""
    here = [text for text in ranges if text.comes_once]
    return [(InThisProcess(), here), (engine, [text for text in ranges if not text.comes_once])]


def _mapped(
    engine: Engine, work: Callable[[TextRange, None], Any], some_of: Sequence[TextRange], ranges: Sequence[TextRange]
) -> Iterator[tuple[TextRange, Any]]:
    try:
        yield from engine.map(work, some_of)
    except BadPartitionsError as error:
        raise _by_file(error, ranges) from error


def jobs_of(ranges: Sequence[TextRange], contents: Sequence[str], options: TrainingOptions) -> list[str]:
    """Return what the parts of ranges of these contents depend on."""
    return [
        _job(options.tokenize, options.lowercase, text, content) for text, content in zip(ranges, contents, strict=True)
    ]


def _by_file(error: BadPartitionsError, ranges: Sequence[TextRange]) -> DataError:
    """Return an error that says what is wrong first in each file; whole files may have another encoding."""
    bad = dict(error.partitions)
    firsts: dict[str, str] = {}
    further: Counter[str] = Counter()
    for text in ranges:
        name = str(text)
        if name not in bad:
            continue
        if text.path in firsts:
            further[text.path] += 1
            continue
        bad[name] = text.located(bad[name])
        firsts[text.path] = name
    if len(ranges) == 1:
        return DataError(*bad.values())
    more = {path: f" and {further[path]} more of this file" if further[path] else "" for path in firsts}
    what = some([f"{name}{more[path]} ({bad[name]})" for path, name in firsts.items()], SHOWN)
    message = f"{len(bad)} of {len(ranges)} partitions cannot be used, so there is no result: {what}"
    return BadPartitionsError(message, bad)


def merge_words(parts: Parts, jobs: Sequence[str], target: Path, least: int) -> tuple[Vocabulary, Level]:
    """Merge the words of all parts, and write the whole text as their ranks.

    Parameters
    ----------
    parts, jobs
        Where the parts are, and what each depends on.
    target
        Where numbers go: those of frequent words by rank, `NO_ENTRY` for others, `SENTENCE_END` after each sentence.
    least
        How frequent is frequent.

    Raises
    ------
    DataError
        If a part is damaged, or is another one.
    """
    counter = kernels.WordCounter()
    for number, job in enumerate(jobs):
        part = parts.open(words_part(number), job)
        counter.merge(part.array("heap"), part.array("begins"), part.array("counts"))
    heap, begins, counts = counter.words()
    order = np.argsort(-counts.astype(np.int64), kind="stable")
    order = order[: int((counts >= least).sum())]
    ranks = np.full(len(counts), NO_ENTRY, np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    with writing(target) as write:
        for number, job in enumerate(jobs):
            part = parts.open(words_part(number), job)
            # Counted for the second time, each word zero times: looked up, so that not all numbers must be kept.
            rank_of = ranks[
                counter.merge(part.array("heap"), part.array("begins"), np.zeros_like(part.array("counts")))
            ]
            for local in chunks(parts.numbers(words_part(number))):
                inside = local != SENTENCE_END
                ranked = np.full(len(local), SENTENCE_END, np.uint32)
                ranked[inside] = rank_of[local[inside]]
                write(ranked)
    vocabulary = _select(heap, begins, order, int(counts.sum()))
    nothing = np.empty(0, np.uint32)
    return vocabulary, Level(order=1, counts=counts[order], firsts=nothing, seconds=nothing)


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
