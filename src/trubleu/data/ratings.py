"""What people think of outputs: one rating a row, kept and added up as whole numbers."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from itertools import repeat
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from trubleu.data.rating_files import FIELDS, RawRatings, gather, ratings_frame, read_ratings, write_ratings
from trubleu.data.records import kind_of
from trubleu.data.tables import FRAME, table_of
from trubleu.data.weights import HIGHEST_RATING, LOWEST_RATING, shown, weight_from_ratings
from trubleu.errors import DataError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd
    import polars as pl

    from trubleu.data.files import PathLike
    from trubleu.data.frames import Kind
    from trubleu.data.tables import Frame

Rated: TypeAlias = tuple[str, str]
"""What ratings are of: an item and the system that answered it."""

FIVE_POINTS = (LOWEST_RATING, HIGHEST_RATING)


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of outputs, one a row, in columns; checked once and never changed.

    Make one with `read`, `from_rows` or `from_frame`; the constructor takes the columns themselves.

    Attributes
    ----------
    item
        What was answered: the ids of segments. An integer becomes its digits, also in the next two.
    system
        Whose output was rated.
    rater
        Who rated it.
    score
        What they gave, integers.
    pair
        The two systems that were shown side by side, ``"A:B"``, one of them ``system``; None where that does not
        apply, and None for the column if it applies nowhere.
    aspect
        What was asked for, such as ``relevance``; None as in ``pair``.
    scale
        The lowest and the highest score.
    source
        Where the ratings come from, for messages.

    Raises
    ------
    DataError
        If a name is empty, a score is not an integer of the scale, or somebody rated the same twice (the same item,
        system, pair and aspect), with the row.

    Examples
    --------
    >>> ratings = Ratings(["7", "7", "7"], ["A", "A", "B"], ["ann", "bob", "ann"], [4, 5, 2])
    >>> ratings.means()
    {('7', 'A'): Fraction(9, 2), ('7', 'B'): Fraction(2, 1)}
    """

    item: Sequence[str]
    system: Sequence[str]
    rater: Sequence[str]
    score: Sequence[int]
    pair: Sequence[str | None] | None = None
    aspect: Sequence[str | None] | None = None
    scale: tuple[int, int] = FIVE_POINTS
    source: str = field(default="ratings", compare=False)
    #: Names a row in messages; readers know its line.
    place: InitVar[Callable[[int], str] | None] = None

    def __post_init__(self, place: Callable[[int], str] | None) -> None:
        def numbered(row: int) -> str:
            return f"{self.source}: row {row + 1}"

        where = place or numbered
        columns = [getattr(self, name) for name in FIELDS]
        lengths = {name: len(column) for name, column in zip(FIELDS, columns, strict=True) if column is not None}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{count} of {name}" for name, count in lengths.items())
            raise DataError(f"{self.source}: columns differ in length ({counts}); give one value of each for a rating")
        _check_scale(self.scale)
        checked = {
            "item": _names(self.item, "item", where),
            "system": _names(self.system, "system", where),
            "rater": _names(self.rater, "rater", where),
            "score": _scores(self.score, self.scale, where),
            "pair": _labels(self.pair, "pair", where),
            "aspect": _labels(self.aspect, "aspect", where),
        }
        for name, column in checked.items():
            object.__setattr__(self, name, column)  # the way into a frozen dataclass
        object.__setattr__(self, "scale", tuple(self.scale))
        _check_pairs(self.system, self.pair, where)
        _check_once(self, where)

    def __len__(self) -> int:
        return len(self.item)

    def __repr__(self) -> str:
        return f"<Ratings from {self.source}: {len(self)} of {len(self._scores_of())} outputs>"

    @classmethod
    def read(cls, path: PathLike, *, scale: tuple[int, int] = FIVE_POINTS) -> Ratings:
        """Read ratings from CSV, TSV, JSON lines or Parquet, plain or compressed with gzip or zstd.

        The columns (in JSON, fields) are ``item``, ``system``, ``rater`` and ``score``, and where they apply ``pair``
        and ``aspect``. Others are ignored. The first line of CSV and TSV names them. A file whose name tells nothing
        is Parquet by its first bytes, JSON lines if it begins with ``{``, TSV if its first line has a tab, else CSV.

        Parameters
        ----------
        path
            The file, or ``-`` for standard input.
        scale
            The lowest and the highest score.

        Raises
        ------
        DataError
            If the file cannot be read or used, with the line or row and the column.
        MissingExtraError
            If a package that the format needs is not installed.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "ratings.csv"
        >>> _ = path.write_text("rater,item,system,score\\nann,7,A,4\\nbob,7,A,5\\n")
        >>> Ratings.read(path).means()
        {('7', 'A'): Fraction(9, 2)}
        """
        return cls._from_raw(read_ratings(path), scale)

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]], *, scale: tuple[int, int] = FIVE_POINTS) -> Ratings:
        """Make ratings from mappings with the fields of `read`.

        Examples
        --------
        >>> Ratings.from_rows([{"item": "7", "system": "A", "rater": "ann", "score": 4}]).counts()
        {('7', 'A'): 1}
        """
        numbered = ((f"ratings: row {number}", row) for number, row in enumerate(rows, 1))
        return cls._from_raw(gather(numbered, "ratings"), scale)

    @classmethod
    def from_frame(cls, frame: Frame, *, scale: tuple[int, int] = FIVE_POINTS) -> Ratings:
        """Make ratings from a Polars or pandas frame with the columns of `read`.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"item": [7, 7], "system": ["A", "B"], "rater": ["ann", "ann"], "score": [4, 2]})
        >>> Ratings.from_frame(frame).weights()
        {('7', 'A'): 0.5, ('7', 'B'): -0.5}
        """
        return cls._from_raw(RawRatings.of_table(table_of(frame, FIELDS, FRAME)), scale)

    @overload
    def to_frame(self, kind: Literal["polars"] = "polars") -> pl.DataFrame: ...
    @overload
    def to_frame(self, kind: Literal["pandas"]) -> pd.DataFrame: ...
    def to_frame(self, kind: Kind = "polars") -> Frame:
        """Return the ratings as a frame, with ``pair`` and ``aspect`` only if there are any.

        Examples
        --------
        >>> Ratings(["7"], ["A"], ["ann"], [4]).to_frame().rows()
        [('7', 'A', 'ann', 4)]
        """
        return ratings_frame(self._columns(), kind)

    def write(self, path: PathLike) -> None:
        """Write a file that `read` reads back to the same ratings; it appears whole or not at all.

        Parameters
        ----------
        path
            The name tells the format: ``.csv``, ``.tsv`` or ``.jsonl`` (then maybe ``.gz`` or ``.zst``), or
            ``.parquet``. ``-`` is standard output, which gets JSON lines.
        """
        write_ratings(path, self._columns())

    def select(self, *, aspect: str | None = None, pair: str | None = None, system: str | None = None) -> Ratings:
        """Return the ratings of one aspect, pair or system, or of a combination of them.

        Raises
        ------
        DataError
            If there are no ratings of it.

        Examples
        --------
        >>> rows = [("7", "A", "ann", 4, None, "style"), ("7", "A", "ann", 1, None, "facts")]
        >>> Ratings(*zip(*rows)).select(aspect="style").score
        (4,)
        """
        keep = [True] * len(self)
        for name, value in (("aspect", aspect), ("pair", pair), ("system", system)):
            if value is None:
                continue
            column = getattr(self, name) or ()
            if value not in column:
                known = dict.fromkeys(each for each in column if each is not None)
                hint = nearest(value, known) if known else f"no rating has a {name}"
                raise DataError(f"{self.source} has no ratings of the {name} {shown(value)}; {hint}")
            keep = [kept and each == value for kept, each in zip(keep, column, strict=True)]
        rows = [row for row, kept in enumerate(keep) if kept]
        columns: dict[str, Any] = {name: [column[row] for row in rows] for name, column in self._columns().items()}
        return Ratings(**columns, scale=self.scale, source=self.source)

    def means(self) -> dict[Rated, Fraction]:
        """Return the mean score of each output, exactly, in the order in which outputs first appear.

        All ratings of an output count alike, whatever their pair and aspect.
        """
        return {rated: Fraction(sum(scores), len(scores)) for rated, scores in self._scores_of().items()}

    def counts(self) -> dict[Rated, int]:
        """Return how many ratings each output has."""
        return {rated: len(scores) for rated, scores in self._scores_of().items()}

    def weights(self) -> dict[Rated, float]:
        """Return the weight of each output as a reference (see `weight_from_ratings`).

        Raises
        ------
        UsageError
            If the scale is not that from 1 to 5, for which weights are defined.
        """
        if self.scale != FIVE_POINTS:
            low, high = FIVE_POINTS
            raise UsageError(
                f"{self.source} is rated from {self.scale[0]} to {self.scale[1]}, but weights come from ratings from "
                f"{low} to {high}; turn the ratings into those first"
            )
        return {rated: weight_from_ratings(scores) for rated, scores in self._scores_of().items()}

    def _scores_of(self) -> dict[Rated, list[int]]:
        scores: dict[Rated, list[int]] = {}
        for item, system, score in zip(self.item, self.system, self.score, strict=True):
            scores.setdefault((item, system), []).append(score)
        return scores

    def _columns(self) -> dict[str, Sequence[Any]]:
        return {name: column for name in FIELDS if (column := getattr(self, name)) is not None}

    @classmethod
    def _from_raw(cls, raw: RawRatings, scale: tuple[int, int]) -> Ratings:
        return cls(**raw.columns, scale=scale, source=raw.source, place=raw.place)


def _check_scale(scale: Any) -> None:
    match scale:
        case [int() as low, int() as high] if low < high:
            return
    raise UsageError(f"a scale is its lowest and its highest score, such as (1, 5), not {shown(scale)}")


def _names(values: Sequence[Any], name: str, place: Callable[[int], str]) -> tuple[str, ...]:
    names = tuple(str(value) if type(value) is int else value for value in values)
    for row, value in enumerate(names):
        if value is None or (isinstance(value, str) and (not value or value.isspace())):
            raise DataError(f"{place(row)}: {name} is empty; a rating names its item, its system and its rater")
        if not isinstance(value, str):
            raise DataError(f"{place(row)}: {name} must be a string, not {kind_of(value)}")
    return names


def _scores(values: Sequence[Any], scale: tuple[int, int], place: Callable[[int], str]) -> tuple[int, ...]:
    low, high = scale
    for row, value in enumerate(values):
        if type(value) is int and low <= value <= high:
            continue  # nearly always, and far cheaper to ask than the next
        if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
            found = "null" if value is None else shown(value)
            raise DataError(f"{place(row)}: score must be an integer from {low} to {high}, not {found}")
    return tuple(map(int, values))


def _labels(values: Sequence[Any] | None, name: str, place: Callable[[int], str]) -> tuple[str | None, ...] | None:
    """Return an optional column, in which an empty string is nothing, as it is in CSV."""
    if values is None:
        return None
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, str):
            raise DataError(f"{place(row)}: {name} must be a string, not {kind_of(value)}")
    labels = tuple(value or None for value in values)
    return labels if any(labels) else None


def _check_pairs(systems: Sequence[str], pairs: Sequence[str | None] | None, place: Callable[[int], str]) -> None:
    for row, pair in enumerate(pairs or ()):
        system = systems[row]
        # Not split at the colon: the name of a system may hold one.
        if pair and not (pair.startswith(f"{system}:") or pair.endswith(f":{system}")):
            raise DataError(f"{place(row)}: the system {shown(system)} is not one of the pair {shown(pair)}; write A:B")
        if pair and len(pair) == len(system) + 1:
            raise DataError(f"{place(row)}: the pair {shown(pair)} names one system only; write A:B")


def _check_once(ratings: Ratings, place: Callable[[int], str]) -> None:
    nothing: repeat[None] = repeat(None)
    optional = (ratings.pair or nothing, ratings.aspect or nothing)
    keys = list(zip(ratings.rater, ratings.item, ratings.system, *optional, strict=False))
    if len(set(keys)) == len(keys):
        return
    first: dict[Any, int] = {}
    for row, key in enumerate(keys):
        if (other := first.setdefault(key, row)) != row:
            rater, item, system, pair, aspect = key
            more = "".join(f", {name} {shown(value)}" for name, value in (("pair", pair), ("aspect", aspect)) if value)
            raise DataError(
                f"{place(row)}: the rater {shown(rater)} has rated this already at {place(other)} "
                f"(item {shown(item)}, system {shown(system)}{more}); leave one of the two out"
            )
