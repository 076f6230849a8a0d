"""What people said of outputs, as WMT publishes it: pairwise rankings, official scores, assessments of segments."""

from __future__ import annotations

import csv
import math
import re
import sys
import warnings
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.data.categorical import Labels, check_names, frozen, in_order
from trubleu.errors import CountedWarning, DataError, counted, nearest, shown
from trubleu.files.lines import open_bytes, read_text_lines, split_lines
from trubleu.files.paths import format_to_write, name_of
from trubleu.files.tables import (
    check_lengths,
    check_width,
    find_required,
    finite,
    guarded,
    table_rows,
    unguarded,
    whole,
)
from trubleu.files.writer import atomic_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.files.paths import PathLike


_BORDER = re.compile(r"\s*\++\s*")
# A name holds spaces only where a tab ends it. The range of ranks in brackets is for reading only.
_SCORE = re.compile(r"\s*(?P<name>\S+|\S[^\t]*(?=\t))\s+(?P<score>[^\s()]+)(\s+\([^()]*\))?\s*")

_NOT_ASSESSED = frozenset({"", "na", "nan"})


def read_official_scores(path: PathLike) -> dict[str, float]:
    """Read the scores that people's judgements gave to systems, as WMT publishes them.

    Parameters
    ----------
    path
        A file with ``NAME SCORE (LOW, HIGH)`` a line, where lines of plus signs are borders between clusters and the
        range of ranks may be missing. Plain or compressed; ``-`` is standard input.

    Returns
    -------
    dict
        The score of each system, in the order of the file.

    Raises
    ------
    DataError
        If the file cannot be read, a line is neither a score nor a border, or a system is there twice, with the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "official.txt"
    >>> _ = path.write_text("online-B 0.567 (1.0, 1.0)\\n++++++\\nonline-A -0.298 (2.0, 4.0)\\n")
    >>> read_official_scores(path)
    {'online-B': 0.567, 'online-A': -0.298}
    """
    name = name_of(path)
    lines = read_text_lines(path)
    if not any(map(str.strip, lines)):
        raise DataError(f"{name} is empty; official scores have NAME SCORE per line")
    scores: dict[str, float] = {}
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or _BORDER.fullmatch(line):
            continue
        match = _SCORE.fullmatch(line)
        if match is None:
            raise DataError(f"{name}:{number}: a line must be NAME SCORE (LOW, HIGH) or plus signs, not {shown(line)}")
        system, score = match["name"], finite(match["score"])
        if score is None:
            raise DataError(f"{name}:{number}: the score must be a finite number, not {shown(match['score'])}")
        if system in scores:
            raise DataError(
                f"{name}:{number}: the system {shown(system)} has a score in line {seen[system]} already; "
                "leave one of the two out"
            )
        scores[system] = score
        seen[system] = number
    if not scores:
        raise DataError(f"{name} has no scores; official scores have NAME SCORE per line")
    return scores


def read_assessments(path: PathLike) -> list[float]:
    """Read people's direct assessments of segments: one number per line, beside the lines of the outputs.

    An empty line, ``NA`` or ``nan`` stands for an output that was not assessed.

    Returns
    -------
    list
        One number a line, NaN where the output was not assessed.

    Raises
    ------
    DataError
        If the file cannot be read or has no number, or a line is something else.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "human"
    >>> _ = path.write_text("0.358\\n\\n-1.2\\n")
    >>> read_assessments(path)
    [0.358, nan, -1.2]
    """
    name = name_of(path)
    lines = read_text_lines(path)
    if not lines:
        raise DataError(f"{name} is empty; assessments are one number per line")
    assessments: list[float] = []
    for number, line in enumerate(lines, 1):
        score = math.nan if line.strip().casefold() in _NOT_ASSESSED else finite(line)
        if score is None:
            raise DataError(f"{name}:{number}: an assessment must be a finite number, not {shown(line)}")
        assessments.append(score)
    if all(map(math.isnan, assessments)):
        raise DataError(f"{name} has no assessment; write one number per line, and nothing for an output without one")
    return assessments


COLUMNS = (
    "srclang", "trglang", "segmentId", "judgeID", "system1Id", "system1rank", "system2Id", "system2rank", "rankingID",
)  # fmt: skip

NOT_RANKED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Rankings:
    """Pairs of outputs of the same segment with the ranks that somebody gave them; checked once and never changed.

    Make one with `read` or `from_columns`. What is named in the singular has one value a row; of these, all but the
    ranks are places in the tuple named in the plural. A rank of 1 is the best; equal ranks are ties.

    Attributes
    ----------
    segments, systems, judges, language_pairs
        Names, each once, in the order in which they first appear.
    segment
        Which segment was judged.
    system_a, system_b
        Whose outputs were compared.
    rank_a, rank_b
        The ranks they got.
    judge
        Who judged.
    ranking
        Which rows were judged together, on one screen, counted from 0.
    language_pair
        From which language into which, such as ``deu-eng``.
    source
        Where the rankings come from, for messages.

    Examples
    --------
    >>> rankings = Rankings.from_columns(
    ...     segment=["1", "1"], system_a=["A", "A"], rank_a=[1, 2], system_b=["B", "C"], rank_b=[3, 2]
    ... )
    >>> rankings.systems, rankings.system_b.tolist(), rankings.rank_b.tolist()
    (('A', 'B', 'C'), [1, 2], [3, 2])
    """

    segments: tuple[str, ...]
    systems: tuple[str, ...]
    judges: tuple[str, ...]
    language_pairs: tuple[str, ...]
    segment: NDArray[np.int64]
    system_a: NDArray[np.int64]
    rank_a: NDArray[np.int64]
    system_b: NDArray[np.int64]
    rank_b: NDArray[np.int64]
    judge: NDArray[np.int64]
    ranking: NDArray[np.int64]
    language_pair: NDArray[np.int64]
    source: str = "rankings"

    def __len__(self) -> int:
        return len(self.segment)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rankings):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _NAMES) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in _ROWS
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Rankings from {self.source}: {len(self)} of {counted(len(self.systems), 'system')}>"

    @classmethod
    def from_columns(
        cls,
        *,
        segment: Sequence[str],
        system_a: Sequence[str],
        rank_a: Sequence[int],
        system_b: Sequence[str],
        rank_b: Sequence[int],
        judge: Sequence[str] | None = None,
        ranking: Sequence[str] | None = None,
        language_pair: Sequence[str] | None = None,
        source: str = "rankings",
    ) -> Rankings:
        """Make rankings of plain columns, one value of each for a row.

        Without ``judge`` and ``language_pair``, all rows have the same, called ``""``; without ``ranking`` every row
        is one of its own. Rows with a rank of -1 are left out, as in `read`.

        Raises
        ------
        DataError
            If columns differ in length, or as in `read`, with the row.
        """
        given = {"segment": segment, "system_a": system_a, "rank_a": rank_a, "system_b": system_b, "rank_b": rank_b,
                 "judge": judge, "ranking": ranking, "language_pair": language_pair}  # fmt: skip
        check_lengths(given, source)
        blank = [""] * len(segment)
        columns: dict[str, Any] = {
            **given,
            "rank_a": list(map(str, rank_a)),
            "rank_b": list(map(str, rank_b)),
            "judge": blank if judge is None else judge,
            "ranking": list(map(str, range(len(segment)))) if ranking is None else ranking,
            "language_pair": blank if language_pair is None else language_pair,
        }
        return _checked(columns, lambda row: f"{source}: row {row + 1}", source, ("judge", "language_pair"))

    @classmethod
    def read(cls, path: PathLike) -> Rankings:
        """Read the pairwise rankings that WMT publishes: CSV or TSV, plain or compressed with gzip or zstd.

        The first line names the columns, in upper or lower case: ``srclang``, ``trglang``, ``segmentId``, ``judgeID``,
        ``system1Id``, ``system1rank``, ``system2Id``, ``system2rank`` and ``rankingID``. Others are ignored. A rank is
        an integer from 1, the best, or -1 for an output that was not ranked; rows with such a rank are left out, and a
        warning says how many.

        Parameters
        ----------
        path
            The file, or ``-`` for standard input.

        Raises
        ------
        DataError
            If the file cannot be read or used, with the line: a column is missing, a name is empty, a rank is no rank,
            or an output is compared with itself.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "wmt.csv"
        >>> names = "srclang,trglang,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID"
        >>> _ = path.write_text(f"{names}\\ndeu,eng,581,judge1,online-A,3,online-B,1,1\\n")
        >>> rankings = Rankings.read(path)
        >>> rankings.language_pairs, rankings.segments, rankings.systems
        (('deu-eng',), ('581',), ('online-A', 'online-B'))
        """
        name = name_of(path)
        with open_bytes(path) as stream:
            return _read(table_rows(stream, name), name)

    def write(self, path: PathLike) -> None:
        """Write a CSV or TSV file for `read`; it appears whole or not at all.

        The file needs a name for everything: a language without one is ``und`` (undetermined), a judge ``unknown``.

        Parameters
        ----------
        path
            The name tells the format: ``.csv`` or ``.tsv``, then maybe ``.gz`` or ``.zst``. ``-`` is standard output,
            which gets CSV.

        Examples
        --------
        >>> rankings = Rankings.from_columns(segment=["1"], system_a=["A"], rank_a=[1], system_b=["B"], rank_b=[2])
        >>> rankings.write("-")
        srclang,trglang,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID
        und,und,1,unknown,A,1,B,2,1
        """
        form = "csv" if str(path) == "-" else format_to_write(path, ["csv", "tsv"])
        languages = [tuple(each or "und" for each in name.partition("-")[::2]) for name in self.language_pairs]
        judges = [name or "unknown" for name in self.judges]
        with atomic_writer(path) as stream:
            writer = csv.writer(stream, delimiter="\t" if form == "tsv" else ",", lineterminator="\n")
            writer.writerow(COLUMNS)
            for pair, segment, judge, a, rank_a, b, rank_b, ranking in zip(
                *(getattr(self, name).tolist() for name in _READ), strict=True
            ):
                names = (*languages[pair], self.segments[segment], judges[judge])
                row = (*names, self.systems[a], rank_a, self.systems[b], rank_b, ranking + 1)
                writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in row])

    def select(self, language_pair: str) -> Rankings:
        """Return the rankings of one language pair; names that no row of it has are dropped.

        Raises
        ------
        DataError
            If there are none of it.

        Examples
        --------
        >>> rankings = Rankings.from_columns(
        ...     segment=["1", "1"], system_a=["A", "C"], rank_a=[1, 2], system_b=["B", "D"], rank_b=[3, 2],
        ...     language_pair=["de-en", "en-ru"],
        ... )
        >>> rankings.select("en-ru").systems
        ('C', 'D')
        """
        if language_pair not in self.language_pairs:
            hint = nearest(language_pair, self.language_pairs) if self.language_pairs else "there are none at all"
            raise DataError(f"{self.source} has no rankings of the language pair {shown(language_pair)}; {hint}")
        return _compacted(self, self.language_pair == self.language_pairs.index(language_pair))


_NAMES = ("segments", "systems", "judges", "language_pairs")
_ROWS = ("segment", "system_a", "rank_a", "system_b", "rank_b", "judge", "ranking", "language_pair")
_READ = ("language_pair", "segment", "judge", "system_a", "rank_a", "system_b", "rank_b", "ranking")  # as in `COLUMNS`


def is_rankings(path: PathLike) -> bool:
    """Return whether the first line of a file names the columns of rankings; standard input is taken for ratings."""
    return {"system1rank", "system2rank"} <= titles_of(path)


def titles_of(path: PathLike) -> set[str]:
    """Return what stands in the first line of a file between commas or tabs, in lower case; standard input is left."""
    if str(path) == "-":
        return set()
    with open_bytes(path) as stream:
        first = next(chain.from_iterable(split_lines(stream, name_of(path))), "")
    return {title.strip().strip('"').lower() for title in first.replace("\t", ",").split(",")}


def _compacted(rankings: Rankings, rows: NDArray[np.bool_]) -> Rankings:
    """Keep some rows, and of the names those that they have, in the order in which these rows have them."""
    segment, judge, language_pair = (
        Labels.of_codes(getattr(rankings, f"{name}s"), getattr(rankings, name)[rows])
        for name in ("segment", "judge", "language_pair")
    )
    # Row by row, so that the order of systems is that of their first appearance on either side.
    both = Labels.of_codes(rankings.systems, np.stack([rankings.system_a[rows], rankings.system_b[rows]], 1).ravel())
    system_a, system_b = (frozen(both.codes[side::2].copy()) for side in (0, 1))
    _, ranking = in_order(rankings.ranking[rows], int(rankings.ranking.max(initial=-1)) + 1)
    return Rankings(
        segment.names, both.names, judge.names, language_pair.names,
        segment.codes, system_a, frozen(rankings.rank_a[rows]), system_b, frozen(rankings.rank_b[rows]),
        judge.codes, ranking, language_pair.codes, rankings.source,
    )  # fmt: skip


def _checked(
    columns: Mapping[str, Sequence[Any]], place: Callable[[int], str], source: str, may_be_blank: Sequence[str] = ()
) -> Rankings:
    """Check columns as they were found, and return the rankings of all rows that hold ranks."""
    named = {name: Labels(columns[name]) for name in ("segment", "judge", "language_pair", "ranking")}
    # Both sides of a pair share one list of systems.
    systems = Labels(list(chain.from_iterable(zip(columns["system_a"], columns["system_b"], strict=True))))
    for name, labels in named.items():
        blank = None if name in may_be_blank else "every line names one"
        check_names(labels, f"the {name.replace('_', ' ')}", place, blank)
    check_names(systems, "the system", lambda at: place(at // 2), "every line names one")
    system_a, system_b = systems.codes[::2], systems.codes[1::2]
    if (same := system_a == system_b).any():
        row = int(same.argmax())
        system = shown(columns["system_a"][row])
        raise DataError(f"{place(row)}: the system {system} is compared with itself; leave this line out")
    rank_a, rank_b = (_ranks(columns[name], place) for name in ("rank_a", "rank_b"))
    ranked = (rank_a != NOT_RANKED) & (rank_b != NOT_RANKED)
    if unranked := int(len(ranked) - ranked.sum()):
        what = f"lines of {source} with an output that was not ranked ({NOT_RANKED}), left out"
        warnings.warn(CountedWarning(what, unranked), stacklevel=4)
    segment, judge, language_pair, ranking = named.values()
    everything = Rankings(
        segment.names, systems.names, judge.names, language_pair.names, segment.codes, system_a, rank_a, system_b,
        rank_b, judge.codes, ranking.codes, language_pair.codes, source,
    )  # fmt: skip
    return _compacted(everything, ranked)


def _ranks(values: Sequence[str], place: Callable[[int], str]) -> NDArray[np.int64]:
    ranks = {text: whole(text) for text in dict.fromkeys(values)}
    for text, rank in ranks.items():
        if not isinstance(rank, int) or (rank < 1 and rank != NOT_RANKED):
            raise DataError(
                f"{place(list(values).index(text))}: a rank must be an integer from 1, the best, or {NOT_RANKED} for "
                f"an output that was not ranked, not {shown(text)}"
            )
    return np.fromiter(map(ranks.__getitem__, values), np.int64, len(values))


def _read(rows: Iterator[tuple[str, list[str]]], name: str) -> Rankings:
    first, header = next(rows, ("", []))
    if not header:
        raise DataError(f"{name} is empty; its first line must name the columns {', '.join(COLUMNS)}")
    positions = _places(header, first)
    places: list[str] = []
    cells: list[list[str]] = [[] for _ in positions]
    unescaped = unguarded if tuple(header) == COLUMNS else str  # `Rankings.write` writes these titles in this order
    for place, row in rows:
        check_width(row, header, place)
        places.append(place)
        for column, at in zip(cells, positions, strict=True):
            column.append(sys.intern(unescaped(row[at])))  # few distinct strings, millions of times
    source, target, *others = cells
    for languages in (source, target):
        if "" in languages:
            raise DataError(f"{places[languages.index('')]}: the language is empty; every line names two")
    pairs = list(map("-".join, zip(source, target, strict=True)))
    return _checked(dict(zip(_READ, [pairs, *others], strict=True)), places.__getitem__, name)


def _places(header: Sequence[str], place: str) -> list[int]:
    """Return where each of the columns is."""
    titles = [title.strip() for title in header]
    if any(title.lower() == "system3id" for title in titles):
        raise DataError(
            f"{place}: lines of this file rank more than two systems (there is a column system3Id); "
            "write one line for each pair of them"
        )
    return list(find_required(titles, dict.fromkeys(COLUMNS, ()), place).values())
