"""Simulated triples: made-up conversations of any number, all of which follow from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from trubleu.data import Triple, atomic_writer
from trubleu.data.formats import format_to_write
from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.data.files import PathLike
    from trubleu.simulate.blocks import BlockMaker

MOST_TRIPLES: Final = 10**12

# What stands before a triple's number, its context, message and response, and after it.
_JSON = ('{"id": "sSEED-', '", "context": ["', '"], "message": "', '", "response": "', '"}\n')
_TSV = ("sSEED-", "\t", "\t", "\t", "\n")
_HEADER = "id\tcontext\tmessage\tresponse\n"


@dataclass(frozen=True, kw_only=True)
class TripleSimulation:
    """How to make up triples. The first thousand are the same whether a thousand or a million are asked for.

    Texts have 9 words in the middle and at most 48, with capitals and marks. A quarter of them begin or end with a
    stock phrase. The three texts of a triple have a topic in common, and half of their words that belong to a topic at
    all come from that one.

    Parameters
    ----------
    seed
        Of the texts.
    language
        Seed of the language: how words are written, which phrases are stock phrases. Texts of other seeds and the same
        language have the same words with the same frequencies.
    words
        How many words the language has.
    exponent
        Of Zipf's law: the word of rank `r` occurs in proportion to ``r ** -exponent``.
    duplicates
        The share of messages that are copies of earlier ones, and just as many responses. In half of these triples the
        response comes from the same triple as the message. One half of the sources are in the same block of 8,192
        triples, the other half in the first block, so copies lie both close together and far apart.
    near_duplicates
        The share, likewise, of copies that differ: half of them in one word, the others in the mark at their end or in
        the case of their first letter.

    Raises
    ------
    UsageError
        If an option is out of bounds.

    Examples
    --------
    >>> simulation = TripleSimulation(seed=7, words=5000)
    >>> [triple.message for triple in simulation.triples(2)][1]
    'stain Dung Shin sai grik boul kus, sai.'
    """

    seed: int = 1
    language: int = 1
    words: int = 200_000
    exponent: float = 1.0
    duplicates: float = 0.02
    near_duplicates: float = 0.05

    def __post_init__(self) -> None:
        from trubleu.simulate.language import Language

        if self.seed < 0:
            raise UsageError(f"seed is {self.seed}, but must not be negative")
        for name in ("duplicates", "near_duplicates"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}, but a share must lie between 0 and 1")
        # Copies take part in three triples out of four then, and the fourth is what they are copied from.
        if self.duplicates + self.near_duplicates > 1 / 2:
            raise UsageError(
                f"duplicates and near_duplicates are {self.duplicates + self.near_duplicates:g} together, but must not "
                "be more than a half"
            )
        Language(words=self.words, exponent=self.exponent, seed=self.language)

    def triples(self, n: int) -> Iterator[Triple]:
        """Make up the first triples, one by one.

        Parameters
        ----------
        n
            How many.

        Raises
        ------
        UsageError
            If ``n`` is negative or beyond a million millions.
        """
        _check_number(n)
        return self._triples(n)

    def _triples(self, n: int) -> Iterator[Triple]:
        for block, _ in self._blocks(n):
            for line in self._lines(block, _TSV).splitlines():
                number, context, message, response = line.split("\t")
                yield Triple(number, (context,), message, response)

    def write(self, path: PathLike, n: int, *, progress: Callable[[int], object] | None = None) -> None:
        """Write the first triples to a file, which appears whole or not at all.

        Memory does not grow with ``n``.

        Parameters
        ----------
        path
            JSONL, TSV or Parquet by its name, compressed with ``.gz`` or ``.zst``; ``-`` for JSONL on standard output.
        n
            How many.
        progress
            Called with the number of triples each time some are written.

        Raises
        ------
        UsageError
            If ``n`` is out of bounds, or the name does not say what kind of file it is.
        DataError
            If the file cannot be written.
        """
        _check_number(n)
        form = format_to_write(path, ("jsonl", "tsv", "parquet"))
        if form == "parquet":
            from trubleu.data.triple_writer import write_triples

            write_triples(path, self._triples(n), progress=progress)
            return
        # Made-up texts need no escaping, and to make a Python object of each would take longer than everything else.
        header, around = ("", _JSON) if form == "jsonl" else (_HEADER, _TSV)
        with atomic_writer(path) as file:
            file.write(header)
            for block, count in self._blocks(n):
                file.write(self._lines(block, around))
                if progress is not None:
                    progress(count)

    def _lines(self, block: bytes, around: Sequence[str]) -> str:
        """Return a block with other text in place of its control characters."""
        from trubleu.simulate.blocks import MARKS

        for mark, text in zip(MARKS, around, strict=True):
            block = block.replace(mark, text.replace("SEED", str(self.seed)).encode())
        return block.decode("ascii")

    def _blocks(self, n: int) -> Iterator[tuple[bytes, int]]:
        """Yield blocks as `BlockMaker.spelled` writes them, and how many triples they have."""
        from trubleu.simulate.blocks import BLOCK

        for first in range(0, n, BLOCK):
            count = min(BLOCK, n - first)
            yield self._maker.spelled(first // BLOCK, count), count

    @cached_property
    def _maker(self) -> BlockMaker:
        from trubleu.simulate.blocks import BlockMaker
        from trubleu.simulate.language import Language

        language = Language(words=self.words, exponent=self.exponent, seed=self.language)
        return BlockMaker(language, self.seed, self.duplicates, self.near_duplicates)


def simulated_triples(
    n: int,
    *,
    seed: int = 1,
    language: int = 1,
    words: int = 200_000,
    exponent: float = 1.0,
    duplicates: float = 0.02,
    near_duplicates: float = 0.05,
) -> Iterator[Triple]:
    """Make up ``n`` triples, one by one; the options are those of `TripleSimulation`.

    Examples
    --------
    >>> from trubleu.simulate import simulated_triples
    >>> [triple.id for triple in simulated_triples(3, seed=2, words=5000)]
    ['s2-0', 's2-1', 's2-2']
    """
    simulation = TripleSimulation(
        seed=seed,
        language=language,
        words=words,
        exponent=exponent,
        duplicates=duplicates,
        near_duplicates=near_duplicates,
    )
    return simulation.triples(n)


def _check_number(n: int) -> None:
    if not 0 <= n <= MOST_TRIPLES:
        raise UsageError(f"n is {n}, but must lie between 0 and {MOST_TRIPLES:,}")
