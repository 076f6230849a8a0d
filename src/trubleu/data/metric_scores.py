"""Scores of segments that metrics gave, including those computed by other programs, and their files."""

from __future__ import annotations

import hashlib
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.data.categorical import Labels, check_names
from trubleu.data.outputs import match_systems
from trubleu.data.score_files import LABELS, read_scores
from trubleu.errors import DataError, counted, nearest, shown, some
from trubleu.files.paths import base_name
from trubleu.files.tables import check_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.files.paths import PathLike


#: A row may be without these.
OPTIONAL = ("language_pair", "testset")


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
    sizes
        How many segments each system has, if segments are numbered by their order and not named; else None.
    unnamed
        Whether the file does not say which system it is of.
    lower_is_better
        Whether the form of the file says so, as MetricX's does.
    about
        What is known of how the scores were made: the SHA-256 of the file, the model, and what a sidecar says.

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
    sizes: Mapping[str, int] | None = None
    unnamed: bool = False
    lower_is_better: bool = False
    about: Mapping[str, str] = field(default_factory=dict)
    #: Names a row in messages; readers know its line.
    place: InitVar[Callable[[int], str] | None] = None

    @classmethod
    def read(cls, path: PathLike, *, metric: str | None = None, system: str | None = None) -> SegmentScores:
        """Read scores of segments, plain or compressed with gzip or zstd.

        The file is one of

        - what ``comet-score`` prints, or writes with ``--to_json``, and what ``comet-compare --to_json`` writes;
        - what ``bert-score -s`` prints, of which F1 is read;
        - MetricX's JSON lines, with ``prediction`` (lower is better);
        - that of mt-metrics-eval, usually ``….seg.score``: SYSTEM and SCORE per line, the segments of a system in
          order; a score of ``None`` is missing;
        - that of a metrics task at WMT: METRIC, LANGUAGE PAIR, TEST SET, SYSTEM, SEGMENT and SCORE per line; more
          columns are ignored;
        - CSV or TSV whose first line names the column ``score``, and maybe ``metric``, ``system``, ``segment`` (or
          ``item`` or ``id``), ``language_pair`` and ``testset``, or JSON lines with these fields; others are ignored;
        - CSV or TSV with a column for each system, and maybe one of ids;
        - one number per line, or a JSON array of numbers: the scores of one system;
        - what ``trubleu score --segments --format csv`` (or ``json``) prints.

        A named row without a score is left out: the segment has none. Next to the file there may be a sidecar (see
        ``trubleu scores describe``).

        Parameters
        ----------
        path
            The file, or ``-`` for standard input.
        metric
            What the metric is called; None for the name in the file, or the file's own.
        system
            Which system the scores are of, for files that do not say so.

        Raises
        ------
        DataError
            If the file cannot be read or used, with the line.
        UsageError
            If a name is needed and not given, or given and not needed.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "COMET-refA.seg.score"
        >>> _ = path.write_text("online-A\\t0.83\\nonline-A\\t0.79\\n")
        >>> scores = SegmentScores.read(path, metric="COMET")
        >>> scores.systems("COMET"), scores.segments()
        (('online-A',), ('1', '2'))
        """
        return cls(**read_scores(path, metric, system))

    @classmethod
    def join(cls, parts: Sequence[SegmentScores]) -> SegmentScores:
        """Join the scores that one metric gave to several systems, a file for each.

        Raises
        ------
        DataError
            If a system is there twice, or the files say that different models made the scores.
        """
        if len(parts) == 1:
            return parts[0]
        first, *others = parts
        source = some([part.source for part in parts], 3)
        about = {key: value for key, value in first.about.items() if key != "sha256"}
        for other in others:
            for key, value in other.about.items():
                if key != "sha256" and about.get(key) != value:
                    raise DataError(f"{first.source} and {other.source} differ in {key}; give them different names")
        digests = [part.about["sha256"] for part in parts if "sha256" in part.about]
        if len(digests) == len(parts):
            about["sha256"] = hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()
        columns: dict[str, Any] = {
            label: Labels([name for part in parts for name in part._column(label)])  # noqa: SLF001 - of this class
            for label in LABELS
        }
        sizes = {name: size for part in parts for name, size in (part.sizes or {}).items()}
        return cls(
            **columns,
            score=np.concatenate([part.score for part in parts]),
            source=source,
            sizes=sizes or None,
            unnamed=any(part.unnamed for part in parts),
            lower_is_better=first.lower_is_better,
            about=about,
        )

    def systems_of(self, systems: Sequence[str], paths: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return what the file calls each of these systems that it has.

        Parameters
        ----------
        systems
            Their names here (see `match_systems`).
        paths
            The files of their outputs, whose names COMET takes for those of systems.
        """
        names = self.systems()
        if self.unnamed and len(names) == len(systems) == 1:
            return {systems[0]: names[0]}
        found: dict[str, str] = {}

        def match(theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
            theirs = {key: name for key, name in theirs.items() if name not in found.values()}
            ours = {key: system for key, system in ours.items() if system not in found}
            found.update({ours[key]: theirs[name] for name, key in match_systems(theirs, ours).items()})

        here = {system: system for system in systems}
        match({name: name for name in names}, here)
        by_file = {base_name(name): name for name in names}
        if len(by_file) == len(names):
            files = {base_name(path): system for system, path in (paths or {}).items() if system in here}
            match(by_file, files)
            match(by_file, here)
        for testset in filter(None, self.testsets()):  # WMT's files leave it out of the names
            match({f"{testset}.{name}": name for name in names}, here)
        return found

    def placed(self, segments: Sequence[str]) -> SegmentScores:
        """Return the scores with the ids of segments, if the file numbers them by their order.

        Raises
        ------
        DataError
            If a system has not as many scores as there are segments.
        """
        if self.sizes is None:
            return self
        for system, size in self.sizes.items():
            if size != len(segments):
                raise DataError(
                    f"{self.source} has {counted(size, 'score')} of {system}, but there are "
                    f"{counted(len(segments), 'segment')}; give one score for each, in their order, or a table with ids"
                )
        column = self._column("segment")
        names = [segments[int(name) - 1] for name in column.names]
        columns: dict[str, Any] = {label: self._column(label) for label in LABELS}
        columns["segment"] = Labels.of_codes(tuple(names), column.codes)
        return self._with(columns, self.score, sizes=None)

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
        return self._with({label: self._column(label).take(keep) for label in LABELS}, self.score[keep])

    def _with(self, columns: Mapping[str, Any], score: Any, **changed: Any) -> SegmentScores:
        """Return other rows of the same file."""
        kept = {name: getattr(self, name) for name in ("source", "sizes", "unnamed", "lower_is_better", "about")}
        return SegmentScores(**columns, score=score, **kept | changed)

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
