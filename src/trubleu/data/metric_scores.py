"""What metrics gave: scores of segments and of systems, also those that other programs computed."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.data.labels import Labels
from trubleu.data.score_files import OPTIONAL, SEGMENT_LABELS, SYSTEM_LABELS, read_scores, write_scores
from trubleu.data.weights import shown
from trubleu.errors import DataError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from trubleu.data.files import PathLike


class _Scores:
    """What scores of segments and of systems have in common."""

    __slots__ = ()
    _LABELS: tuple[str, ...]

    def __len__(self) -> int:
        return len(self._column("metric"))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        same_numbers = np.array_equal(self._numbers(), getattr(other, "score"))  # noqa: B009 - known by its type
        return same_numbers and all(self._column(label) == getattr(other, label) for label in self._LABELS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} from {self._source()}: {len(self)} of {len(self.metrics())} metrics>"

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
    ) -> Self:
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
        columns: dict[str, Any] = {label: self._column(label).take(keep) for label in self._LABELS}
        columns |= {"score": self._numbers()[keep], "source": self._source()}
        return type(self)(**columns)

    def write(self, path: PathLike) -> None:
        """Write a file that `read` reads back to the same scores; it appears whole or not at all.

        Parameters
        ----------
        path
            The name tells the format: ``.csv``, ``.tsv`` or ``.jsonl``; any other name, and ``-`` for standard output,
            gets the columns of WMT, for which the language pair and the test set must be known. ``.gz`` or ``.zst`` at
            the end compresses it.
        """
        write_scores(path, {label: self._column(label) for label in self._LABELS}, self._numbers())

    def _column(self, label: str) -> Labels:
        column: Labels = getattr(self, label)
        return column

    def _numbers(self) -> NDArray[np.float64]:
        numbers: NDArray[np.float64] = self.score  # type: ignore[attr-defined]
        return numbers

    def _source(self) -> str:
        return str(self.source)  # type: ignore[attr-defined]

    def _rows_of(self, label: str, name: str) -> NDArray[np.bool_]:
        column = self._column(label)
        if name not in column.names:
            what = label.replace("_", " ")
            hint = nearest(name, column.names) if any(column.names) else f"no score has a {what}"
            raise DataError(f"{self._source()} has no scores of the {what} {shown(name)}; {hint}")
        rows: NDArray[np.bool_] = column.codes == column.code(name)
        return rows

    def _names_of(self, label: str, metric: str | None) -> tuple[str, ...]:
        column = self._column(label)
        return column.names if metric is None else column.take(self._rows_of("metric", metric)).names

    def _cells(self, metric: str, wanted: dict[str, Sequence[str]]) -> NDArray[np.float64]:
        """Spread a metric's scores over a table whose axes are the names that are wanted of some labels."""
        rows = self._rows_of("metric", metric)
        cells = np.zeros(len(self), np.int64)
        for label, names in wanted.items():
            column = self._column(label)
            places = {name: place for place, name in enumerate(names)}
            if len(places) < len(names):
                repeated = next(name for place, name in enumerate(names) if places[name] != place)
                raise DataError(f"the {label} {shown(repeated)} is asked for twice; name each once")
            place_of = np.array([places.get(name, -1) for name in column.names], np.int64)[column.codes]
            rows &= place_of >= 0
            cells = cells * len(names) + place_of
        shape = [len(names) for names in wanted.values()]
        found = np.full(shape, np.nan).ravel()
        cells = cells[rows]
        if len(np.unique(cells)) < len(cells):
            raise DataError(
                f"{self._source()} has scores of {metric} for several language pairs or test sets; select one of them"
            )
        found[cells] = self._numbers()[rows]
        return found.reshape(shape)

    def _fill(self, place: Callable[[int], str] | None) -> None:
        """Check what the constructor was given and put it into shape."""

        def numbered(row: int) -> str:
            return f"{self._source()}: row {row + 1}"

        where = place or numbered
        score = np.array(self._numbers(), np.float64)
        columns = {label: _labels(getattr(self, label), len(score)) for label in self._LABELS}
        lengths = {label: len(column) for label, column in columns.items()} | {"score": score.size}
        if len(set(lengths.values())) > 1 or score.ndim != 1:
            counts = ", ".join(f"{count} of {label}" for label, count in lengths.items())
            raise DataError(f"{self._source()}: columns differ in length ({counts}); give one value of each for a row")
        for label, column in columns.items():
            _check_names(column, label, where)
            object.__setattr__(self, label, column)  # the way into a frozen dataclass
        if not np.isfinite(score).all():
            row = int(np.isfinite(score).argmin())
            raise DataError(f"{where(row)}: score must be a finite number, not {shown(float(score[row]))}")
        score.setflags(write=False)
        object.__setattr__(self, "score", score)
        _check_once(columns, where)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SegmentScores(_Scores):
    """Scores that metrics gave to segments, one a row, in columns; checked once and never changed.

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

    _LABELS = SEGMENT_LABELS

    metric: Sequence[str]
    system: Sequence[str]
    segment: Sequence[str]
    score: Any
    language_pair: Sequence[str] | None = None
    testset: Sequence[str] | None = None
    source: str = field(default="scores", compare=False)
    #: Names a row in messages; readers know its line.
    place: InitVar[Callable[[int], str] | None] = None

    def __post_init__(self, place: Callable[[int], str] | None) -> None:
        self._fill(place)

    @classmethod
    def read(cls, path: PathLike) -> SegmentScores:
        """Read scores of segments, plain or compressed with gzip or zstd.

        The file is one of

        - that of a metrics task at WMT, usually ``….seg.score``: METRIC, LANGUAGE PAIR, TEST SET, SYSTEM, SEGMENT and
          SCORE a line, with tabs or other white space between them; more columns are ignored;
        - CSV or TSV whose first line names the columns ``metric``, ``system``, ``segment`` (or ``item`` or ``id``) and
          ``score``, and maybe ``language_pair`` and ``testset``; others are ignored;
        - JSON lines with the same fields;
        - what ``trubleu score --segments`` prints with ``--format json`` or ``csv``.

        With named columns, a row without a score (null, or nothing in CSV) is left out: the segment has none.

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
        raw = read_scores(path, SEGMENT_LABELS)
        return cls(**raw.labels, score=raw.score, source=raw.source, place=raw.place)

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
        return self._cells(metric, {"system": systems, "segment": segments})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SystemScores(_Scores):
    """Scores that metrics gave to systems, one a row, in columns; checked once and never changed.

    Make one with `read`; the constructor takes the columns themselves. All is as in `SegmentScores`, without segments.

    Examples
    --------
    >>> scores = SystemScores(["bleu", "ter"], ["A", "A"], [27.1, 55.0])
    >>> scores.table("bleu", ["B", "A"])
    array([ nan, 27.1])
    """

    _LABELS = SYSTEM_LABELS

    metric: Sequence[str]
    system: Sequence[str]
    score: Any
    language_pair: Sequence[str] | None = None
    testset: Sequence[str] | None = None
    source: str = field(default="scores", compare=False)
    #: Names a row in messages; readers know its line.
    place: InitVar[Callable[[int], str] | None] = None

    def __post_init__(self, place: Callable[[int], str] | None) -> None:
        self._fill(place)

    @classmethod
    def read(cls, path: PathLike) -> SystemScores:
        """Read scores of systems, plain or compressed with gzip or zstd.

        The formats are those of `SegmentScores.read` without the segment: METRIC, LANGUAGE PAIR, TEST SET, SYSTEM and
        SCORE a line (``….sys.score``); CSV, TSV or JSON lines; or what ``trubleu score`` prints as JSON or CSV.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "meteor.sys.score"
        >>> _ = path.write_text("METEOR\\tde-en\\tnewstest2015\\tonline-A\\t0.31\\n")
        >>> SystemScores.read(path).score
        array([0.31])
        """
        raw = read_scores(path, SYSTEM_LABELS)
        return cls(**raw.labels, score=raw.score, source=raw.source, place=raw.place)

    def table(self, metric: str, systems: Sequence[str]) -> NDArray[np.float64]:
        """Return a metric's scores of some systems, NaN where there is none; errors as in `SegmentScores.table`."""
        return self._cells(metric, {"system": systems})


def _labels(values: Any, count: int) -> Labels:
    if isinstance(values, Labels):
        return values
    if values is None:
        values = ""
    return Labels([values] * count if isinstance(values, str) else values)


def _check_names(column: Labels, label: str, place: Callable[[int], str]) -> None:
    names: tuple[Any, ...] = column.names  # whatever the constructor was given
    for code, name in enumerate(names):
        wrong = None
        if not isinstance(name, str):
            wrong = f"{label} must be a string, not {shown(name)}"
        elif label not in OPTIONAL and not name.strip():
            wrong = f"{label} is empty; a score names its metric, its system and its segment"
        if wrong:
            row = int((column.codes == code).argmax())
            raise DataError(f"{place(row)}: {wrong}")


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
