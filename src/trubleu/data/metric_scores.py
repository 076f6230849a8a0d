"""Scores of segments that metrics gave, including those computed by other programs, and their files."""

from __future__ import annotations

import sys
from dataclasses import InitVar, dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from trubleu.data.categorical import Labels, check_names
from trubleu.errors import DataError, counted, nearest, shown
from trubleu.files.lines import open_bytes, split_lines
from trubleu.files.parquet import is_parquet
from trubleu.files.paths import format_of, name_of
from trubleu.files.tables import check_lengths, check_width, delimited_rows, find_required, finite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.files.paths import PathLike


LABELS = ("metric", "language_pair", "testset", "system", "segment")
#: A file with named columns may be without these.
OPTIONAL = ("language_pair", "testset")

_ALIASES = {"segment": ("item", "id"), "language_pair": ("lp", "langpair")}
_LINE = " ".join((*LABELS, "score")).upper()

Row: TypeAlias = tuple[str, list[str], str]
"""The place of a row, its labels, and its score as text."""


def read_scores(path: PathLike) -> dict[str, Any]:
    """Read the columns of a file of scores (see `SegmentScores.read`)."""
    name = name_of(path)
    with open_bytes(path) as stream:
        if is_parquet(stream, name):
            raise DataError(f"{name} is a Parquet file; scores are read from .score files, CSV and TSV")
        lines = chain.from_iterable(split_lines(stream, name, keep_ends=True))
        beginning: list[str] = []
        for line in lines:
            beginning.append(line)
            if not line.isspace():
                break
        else:
            raise DataError(f"{name} is empty; a file of scores has {_LINE} per line")
        return _gathered(_rows(chain(beginning, lines), beginning[-1], name), name)


def _rows(lines: Iterable[str], first: str, name: str) -> Iterator[Row]:
    form = format_of(name)
    if form == "jsonl" or (form is None and first.lstrip().startswith("{") and "\t" not in first):
        raise DataError(f"{name} is JSON; scores are read from .score files, CSV and TSV (trubleu score --format csv)")
    for delimiter in "\t,":
        titles = [title.strip().strip('"').lower() for title in first.split(delimiter)]
        if {"system", "score"} <= set(titles) and not any(finite(title) is not None for title in titles[len(LABELS) :]):
            return _named_rows(delimited_rows(lines, name, delimiter), name)
    if form == "csv":
        return _named_rows(delimited_rows(lines, name, ","), name)
    return _plain_rows(lines, name)


def _plain_rows(lines: Iterable[str], name: str) -> Iterator[Row]:
    """Yield the rows of a file without names of columns, as the metrics tasks of WMT have them."""
    width = len(LABELS)
    for number, line in enumerate(lines, 1):
        fields = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        if not any(fields):
            continue
        place = f"{name}:{number}"
        if len(fields) <= width:
            raise DataError(f"{place}: this line has {counted(len(fields), 'field')}; it must have {_LINE}")
        yield place, fields[:width], fields[width]


def _named_rows(rows: Iterator[tuple[int, list[str]]], name: str) -> Iterator[Row]:
    """Yield the rows of CSV or TSV whose first line names the columns."""
    line, header = next(rows, (1, []))
    titles = [title.strip().lower() for title in header]
    wanted = {label: _ALIASES.get(label, ()) for label in (*LABELS, "score")}
    columns = find_required([*map(str.strip, header)], wanted, f"{name}:{line}", OPTIONAL)
    score = columns.pop("score")
    places = [columns.get(label) for label in LABELS]
    # What `trubleu score --format csv` prints holds several tables.
    kind = titles.index("table") if "table" in titles else None
    for number, row in rows:
        place = f"{name}:{number}"
        check_width(row, header, place)
        if (kind is None or row[kind] == "segments") and row[score].strip():
            yield place, [row[index] if index is not None else "" for index in places], row[score]


def _gathered(rows: Iterator[Row], name: str) -> dict[str, Any]:
    columns: list[list[str]] = [[] for _ in LABELS]
    places: list[str] = []
    scores: list[float] = []
    for place, labels, text in rows:
        if (score := finite(text)) is None:
            raise DataError(f"{place}: score must be a finite number, not {shown(text)}")
        scores.append(score)
        places.append(place)
        for column, label in zip(columns, labels, strict=True):
            column.append(sys.intern(label))  # few distinct strings, millions of times
    if not places:
        raise DataError(f"{name} has no scores; a file of scores has {_LINE} per line")
    found = dict(zip(LABELS, map(Labels, columns), strict=True))
    return {**found, "score": scores, "source": name, "place": places.__getitem__}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SegmentScores:
    """Scores that metrics gave to segments, one per row, in columns; checked once and never changed.

    Make one with `read`; the constructor takes the columns themselves, or one string where all rows have the same.

    Attributes
    ----------
    metric, system, segment
        What was scored by what. They are sequences of strings that keep each string once (``names``, ``codes``).
    score
        An array that cannot be written to; every score is finite.
    language_pair, testset
        Of which collection the segments are; ``""`` if that is not known.
    source
        Where the scores come from, for messages.

    Raises
    ------
    DataError
        If a name is empty, a score is not finite, or a segment has two scores of one metric, with the row.

    Examples
    --------
    >>> scores = SegmentScores("comet", ["A", "A", "B"], ["1", "2", "1"], [0.7, 0.5, 0.9])
    >>> scores.table("comet", ["A", "B"], ["1", "2"])
    array([[0.7, 0.5],
           [0.9, nan]])
    """

    metric: Sequence[str]
    system: Sequence[str]
    segment: Sequence[str]
    score: Any
    language_pair: Sequence[str] | None = None
    testset: Sequence[str] | None = None
    source: str = field(default="scores", compare=False)
    #: Names a row in messages; readers know its line.
    place: InitVar[Callable[[int], str] | None] = None

    @classmethod
    def read(cls, path: PathLike) -> SegmentScores:
        """Read scores of segments, plain or compressed with gzip or zstd.

        The file is one of

        - that of a metrics task at WMT, usually ``….seg.score``: METRIC, LANGUAGE PAIR, TEST SET, SYSTEM, SEGMENT and
          SCORE per line, with tabs or other white space between them; more columns are ignored;
        - CSV or TSV whose first line names the columns ``metric``, ``system``, ``segment`` (or ``item`` or ``id``) and
          ``score``, and maybe ``language_pair`` and ``testset``; others are ignored;
        - what ``trubleu score --segments --format csv`` prints.

        With named columns, a row without a score is left out: the segment has none.

        Parameters
        ----------
        path
            The file, or ``-`` for standard input.

        Raises
        ------
        DataError
            If the file cannot be read or used, with the line.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "meteor.seg.score"
        >>> _ = path.write_text("METEOR\\tde-en\\tnewstest2015\\tonline-A\\t1\\t0.31\\n")
        >>> SegmentScores.read(path).systems("METEOR")
        ('online-A',)
        """
        return cls(**read_scores(path))

    def segments(self, metric: str | None = None) -> tuple[str, ...]:
        """Return the segments, of one metric or of all, in the order in which they first appear."""
        return self._names_of("segment", metric)

    def table(self, metric: str, systems: Sequence[str], segments: Sequence[str]) -> NDArray[np.float64]:
        """Return a metric's scores as an array ``[systems, segments]``, NaN where there is none.

        Raises
        ------
        DataError
            If there is no such metric, or it has several scores for a cell, of different language pairs or test sets
            (see `select`).
        """
        rows = self._rows_of("metric", metric)
        cells = np.zeros(len(self), np.int64)
        for label, names in (("system", systems), ("segment", segments)):
            column = self._column(label)
            places = {name: place for place, name in enumerate(names)}
            if len(places) < len(names):
                repeated = next(name for place, name in enumerate(names) if places[name] != place)
                raise DataError(f"the {label} {shown(repeated)} is asked for twice; name each once")
            place_of = np.array([places.get(name, -1) for name in column.names], np.int64)[column.codes]
            rows &= place_of >= 0
            cells = cells * len(names) + place_of
        found = np.full(len(systems) * len(segments), np.nan)
        cells = cells[rows]
        if len(np.unique(cells)) < len(cells):
            raise DataError(
                f"{self.source} has scores of {metric} for several language pairs or test sets; select one of them"
            )
        found[cells] = self.score[rows]
        return found.reshape(len(systems), len(segments))

    def __len__(self) -> int:
        return len(self._column("metric"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SegmentScores):
            return NotImplemented
        same_numbers = np.array_equal(self.score, other.score)
        return same_numbers and all(self._column(label) == getattr(other, label) for label in LABELS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<SegmentScores from {self.source}: {len(self)} of {counted(len(self.metrics()), 'metric')}>"

    def metrics(self) -> tuple[str, ...]:
        """Return the metrics, in the order in which they first appear."""
        return self._column("metric").names

    def language_pairs(self) -> tuple[str, ...]:
        """Return the language pairs, in the order in which they first appear."""
        return self._column("language_pair").names

    def testsets(self) -> tuple[str, ...]:
        """Return the test sets, in the order in which they first appear."""
        return self._column("testset").names

    def systems(self, metric: str | None = None) -> tuple[str, ...]:
        """Return the systems, of one metric or of all, in the order in which they first appear."""
        return self._names_of("system", metric)

    def select(
        self, *, metric: str | None = None, language_pair: str | None = None, testset: str | None = None
    ) -> SegmentScores:
        """Return the scores of one metric, language pair or test set, or of a combination of them.

        Raises
        ------
        DataError
            If there are none of it.
        """
        keep = np.ones(len(self), np.bool_)
        for label, name in (("metric", metric), ("language_pair", language_pair), ("testset", testset)):
            if name is not None:
                keep &= self._rows_of(label, name)
        columns: dict[str, Any] = {label: self._column(label).take(keep) for label in LABELS}
        columns |= {"score": self.score[keep], "source": self.source}
        return SegmentScores(**columns)

    def _column(self, label: str) -> Labels:
        column: Labels = getattr(self, label)
        return column

    def _rows_of(self, label: str, name: str) -> NDArray[np.bool_]:
        column = self._column(label)
        if name not in column.names:
            what = label.replace("_", " ")
            hint = nearest(name, column.names) if any(column.names) else f"no score has a {what}"
            raise DataError(f"{self.source} has no scores of the {what} {shown(name)}; {hint}")
        rows: NDArray[np.bool_] = column.codes == column.names.index(name)
        return rows

    def _names_of(self, label: str, metric: str | None) -> tuple[str, ...]:
        column = self._column(label)
        return column.names if metric is None else column.take(self._rows_of("metric", metric)).names

    def __post_init__(self, place: Callable[[int], str] | None) -> None:
        """Check what the constructor was given and put it into shape."""

        def numbered(row: int) -> str:
            return f"{self.source}: row {row + 1}"

        where = place or numbered
        score = np.array(self.score, np.float64)
        columns = {label: _labels(getattr(self, label), len(score)) for label in LABELS}
        check_lengths({**columns, "score": score if score.ndim == 1 else ()}, self.source)
        for label, column in columns.items():
            blank = None if label in OPTIONAL else "a score names its metric, its system and its segment"
            check_names(column, label, where, blank)
            object.__setattr__(self, label, column)  # the way into a frozen dataclass
        if not np.isfinite(score).all():
            row = int(np.isfinite(score).argmin())
            raise DataError(f"{where(row)}: score must be a finite number, not {shown(float(score[row]))}")
        score.setflags(write=False)
        object.__setattr__(self, "score", score)
        _check_once(columns, where)


def _labels(values: Any, count: int) -> Labels:
    if isinstance(values, Labels):
        return values
    if values is None:
        values = ""
    return Labels([values] * count if isinstance(values, str) else values)


def _check_once(columns: dict[str, Labels], place: Callable[[int], str]) -> None:
    order = np.lexsort([column.codes for column in columns.values()])
    if len(order) == 0:
        return
    same = np.ones(len(order) - 1, np.bool_)
    for column in columns.values():
        same &= column.codes[order[1:]] == column.codes[order[:-1]]
    if not same.any():
        return
    # Sorting is stable: of equal rows, the earlier one comes first.
    again = order[1:][same]
    row = int(again.min())
    other = int(order[:-1][same][again.argmin()])
    named = ", ".join(
        f"{label.replace('_', ' ')} {shown(column[row])}" for label, column in columns.items() if column[row]
    )
    raise DataError(f"{place(row)}: this has a score already at {place(other)} ({named}); leave one of the two out")
