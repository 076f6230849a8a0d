"""Human ratings of outputs, one per row, kept and summed exactly; their files, in which columns are found by title."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import InitVar, dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import chain, compress, repeat
from numbers import Rational, Real
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args, overload

from trubleu.data.reference_files import check_kind, check_storable
from trubleu.data.titles import RATER_TITLES, RATING_TITLES
from trubleu.data.weights import FIVE_POINTS, UNIT, exact, guess_scale, weight_on_scale
from trubleu.errors import DataError, Notice, UsageError, counted, nearest, shown, some
from trubleu.files.formats import open_rows
from trubleu.files.jsonl import json_line, kind_of
from trubleu.files.parquet import table_of, write_parquet
from trubleu.files.paths import base_name, format_of, format_to_write, name_of
from trubleu.files.tables import (
    Table,
    check_lengths,
    comma_hint,
    find_fields,
    guarded,
    number,
    read_table,
    table_writer,
    tell_fields,
    text_rows,
    without_guards,
)
from trubleu.files.writer import atomic_writer
from trubleu.optional_deps import pandas_module, polars_module

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import pandas as pd
    import polars as pl

    from trubleu.data.reference_files import Kind
    from trubleu.files.parquet import Frame
    from trubleu.files.paths import PathLike


REQUIRED = ("item", "system", "rater", "score")
FIELDS = (*REQUIRED, "pair", "aspect")
_EXPORTED: Final = ("item", "system", "pair", "rater")  # then a column for each question

MEAN: Final = "mean"
"""The rater of scores that name none, as they are means."""


class RatingColumns(NamedTuple):
    """Where ratings are in a table.

    Attributes
    ----------
    fields
        The title of the column that holds each field; without ``score`` and ``aspect`` in a wide table.
    scores
        The columns of a wide table that hold scores, one for each aspect or rater; empty in a long one.
    titled
        What the titles of these columns are.
    guessed
        Whether these were taken because nobody said which they are.
    """

    fields: dict[str, str]
    scores: tuple[str, ...] = ()
    titled: Literal["aspect", "rater"] = "aspect"
    guessed: bool = False


def find_columns(
    titles: Sequence[str],
    columns: Mapping[str, str] | None,
    aspects: Sequence[str] | None,
    place: str,
    required: Sequence[str] = REQUIRED,
) -> RatingColumns:
    """Find the columns of a table by their titles.

    What the caller says goes first, then the fields' own names, then what else people call them. Where there is nothing
    for ``score``, every column that is left holds the scores of an aspect.

    Raises
    ------
    DataError
        If a column is missing, there twice, or two could be meant.
    UsageError
        If ``columns`` is no mapping of fields, or ``aspects`` no sequence of names.
    """
    named = dict(columns or {})
    for name, column in named.items():
        if name not in FIELDS:
            raise UsageError(f"columns: there is no field {shown(name)}; {nearest(str(name), FIELDS)}")
        if not isinstance(column, str):
            raise UsageError(f"columns: the column of {name} must be a string, not {shown(column)}")
    if isinstance(aspects, str):
        raise UsageError(f"aspects must be several names, not the string {shown(aspects)}; write ({aspects!r},)")
    aspects = tuple(dict.fromkeys(aspects or ()))
    if aspects and (wrong := [field for field in ("score", "aspect") if field in named]):
        raise UsageError(f"columns has a {wrong[0]}, but aspects are given, each with scores of its own; leave one out")
    taken = (*named.values(), *aspects)
    if again := [column for column in taken if taken.count(column) > 1]:
        raise UsageError(f"the column {shown(again[0])} is given twice; a column holds one thing only")
    synonyms = {field: RATING_TITLES[field] for field in FIELDS if not aspects or field not in ("score", "aspect")}
    free = [title for title in titles if title not in aspects]
    found = find_fields(free, synonyms, named, place, {} if aspects else RATER_TITLES)
    people = found.pop("ratings", ())
    fields = {field: title for field, (title,) in found.items()}
    for title in aspects:
        if title not in titles:
            raise DataError(f"{place}: there is no column {shown(title)}; {nearest(title, titles)}")
    layout = RatingColumns(fields, aspects)
    if "rater" not in fields and "score" not in fields and people:
        layout = RatingColumns(fields, people, "rater")
    elif not aspects and "score" not in fields and "aspect" not in fields:
        scores = tuple(title for title in dict.fromkeys(titles) if title not in fields.values())
        layout = RatingColumns(fields, scores, guessed=True)
    for name in required:
        if name not in (*fields, layout.titled) and not (name == "score" and layout.scores):
            raise DataError(
                f"{place}: the column {name} must be there; columns found: {some(titles)}; say which it is: "
                f"--columns {name}=TITLE"
            )
    return layout


def rating_table(
    table: Table,
    columns: Mapping[str, str] | None = None,
    aspects: Sequence[str] | None = None,
    *,
    required: Sequence[str] = REQUIRED,
    only: Collection[str] | None = None,
    texts: bool = False,
) -> Table:
    """Give the fields of ratings their own names, and every score of a row of a wide table a row of its own.

    Parameters
    ----------
    table
        With all its columns.
    columns, aspects, only
        As in `Ratings.read`.
    required
        The fields that must be there; without ``rater`` scores may be means.
    texts
        Whether scores are texts that hold numbers.

    Raises
    ------
    DataError
        If a column is missing, or another than aspects is left where aspects are guessed.
    """
    place = f"{table.source}: the first row" if texts else table.source
    layout = find_columns(tuple(table.columns), columns, aspects, place, required)
    if layout.guessed and only is not None and set(only) <= set(layout.scores):
        layout = layout._replace(scores=tuple(title for title in layout.scores if title in only))
    elif layout.guessed and not texts:  # records hold much else that is a number, such as seconds
        raise DataError(
            f"{place}: the column score must be there; columns found: {some(table.names)}; say which it is (--columns "
            "score=TITLE), or which are aspects (--aspect NAME)"
        )
    scored = {title: table.columns[title] for title in (*filter(None, [layout.fields.get("score")]), *layout.scores)}
    if texts:
        scored = {title: list(map(number, column)) for title, column in scored.items()}
    for title in layout.scores if layout.guessed else ():
        for row, value in enumerate(scored[title]):
            if isinstance(value, str):
                raise DataError(
                    f"{table.place(row)}: the column {title} holds {shown(value)}, but without a column score every "
                    "other column must hold the scores of an aspect; name the column of scores (--columns "
                    "score=TITLE), say which are aspects (--aspect NAME), or take this one out"
                )
    unnamed = "rater" not in layout.fields and layout.titled != "rater"
    told: dict[str, tuple[str, ...]] = {field: (title,) for field, title in layout.fields.items()}
    told |= {f"{layout.titled}s": layout.scores} if layout.scores else {}
    tell_fields(told, table.source, ", each score the mean of unnamed raters" if unnamed else "")
    long = {field: scored.get(title, table.columns[title]) for field, title in layout.fields.items()}
    found = replace(table, columns=long)
    if layout.scores:
        long = {field: [value for value in column for _ in layout.scores] for field, column in long.items()}
        long["score"] = list(chain.from_iterable(zip(*(scored[title] for title in layout.scores), strict=True)))
        long[layout.titled] = list(layout.scores) * table.height
        places = [f"{table.place(row)}, column {title}" for row in range(table.height) for title in layout.scores]
        found = replace(table, columns=long, height=len(places), places=places)
        if layout.titled == "rater":  # not everybody rates everything
            found = found.take([score not in ("", None) for score in long["score"]])
    return replace(found, columns={**found.columns, "rater": [MEAN] * found.height}) if unnamed else found


def gather(records: Iterable[tuple[str, Any]], source: str) -> Table:
    """Put records, each with its place, into columns."""
    found = list(records)
    for place, record in found:
        if not isinstance(record, Mapping):
            raise DataError(
                f"{place}: a rating must be a mapping with the fields {some(REQUIRED)}, not {shown(record)}"
            )
    fields = dict.fromkeys(chain.from_iterable(record for _, record in found))
    names = tuple(field for field in fields if isinstance(field, str)) or REQUIRED
    columns = {name: [record.get(name) for _, record in found] for name in names}
    return Table(source, names, columns, len(found), [place for place, _ in found])


def read_columns(path: PathLike) -> tuple[Table, bool]:
    """Read the columns of CSV, TSV, JSON lines or Parquet, and whether all their values are texts."""
    name = name_of(path)
    unnamed = format_of(name) is None
    with open_rows(path, None, lambda line: unnamed and line.lstrip().startswith("{"), keep_ends=True) as (form, rows):
        if form == "jsonl":
            rows = gather(rows, name)
        elif form == "text":
            rows = read_table(text_rows(rows, name), name)
        if form in ("table", "text") and _written_here(rows.names):
            rows = without_guards(rows)
    return rows, form in ("table", "text")


def read_ratings(
    path: PathLike,
    columns: Mapping[str, str] | None = None,
    aspects: Sequence[str] | None = None,
    system: str | None = None,
    only: Collection[str] | None = None,
    *,
    means: bool = False,
) -> Table:
    """Read a file of ratings (see `Ratings.read`); ``means`` allows files without raters."""
    given = {"rater": means, "system": system is not None}
    required = [field for field in REQUIRED if not given.get(field)]
    rows, texts = read_columns(path)
    raw = rating_table(rows, columns, aspects, required=required, only=only, texts=texts)
    if system is None:
        return raw
    named = raw.columns.get("system") or [None] * raw.height
    return replace(raw, columns={**raw.columns, "system": [system if each is None else each for each in named]})


def _written_here(titles: Sequence[str]) -> bool:
    """Return whether columns are those of a file that `write_ratings` or `trubleu rate export` writes."""
    return {*REQUIRED} <= {*titles} <= {*FIELDS} or tuple(titles[:4]) == _EXPORTED


def write_ratings(path: PathLike, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write checked columns in the format that the path asks for (see `Ratings.write`)."""
    form = format_to_write(path, ["csv", "tsv", "jsonl", "parquet"])
    columns = _storable(columns)
    if form == "parquet":
        write_parquet(path, ratings_frame(columns, "polars"))
        return
    rows = zip(*columns.values(), strict=True)
    if form == "jsonl":
        with atomic_writer(path) as stream:
            for row in rows:
                record = {name: value for name, value in zip(columns, row, strict=True) if value is not None}
                stream.write(json_line(record) + "\n")
        return
    _check_columns(columns)
    texts = (value for name, column in columns.items() if name != "score" for value in column if value)
    with atomic_writer(path) as stream:
        writer = table_writer(stream, form, texts)
        writer.writerow(columns)
        # Whoever gave a name to a rater or a system must not give orders to the spreadsheet that shows it.
        writer.writerows([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)


def ratings_frame(columns: Mapping[str, Sequence[Any]], kind: Kind) -> Any:
    """Make a frame of checked columns (see `Ratings.to_frame`)."""
    check_kind(kind)
    columns = _storable(columns)
    _check_columns(columns)
    if kind == "pandas":
        return pandas_module().DataFrame({name: list(column) for name, column in columns.items()})
    polars = polars_module()
    whole = all(isinstance(score, int) for score in columns["score"])
    scores = polars.Int64 if whole else polars.Float64
    types = {name: scores if name == "score" else polars.String for name in columns}
    return polars.DataFrame(dict(columns), schema=types)


def _storable(columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Return columns whose scores are numbers that files know."""
    return {**columns, "score": [float(each) if isinstance(each, Fraction) else each for each in columns["score"]]}


def _check_columns(columns: Mapping[str, Sequence[Any]]) -> None:
    for name, column in columns.items():
        if name != "score":
            check_storable(column, name)


def check_scale(scale: Any) -> None:
    """Refuse a scale that is none."""
    match scale:
        case [int() | float() as low, int() | float() as high] if -math.inf < low < high < math.inf:
            return
    raise UsageError(f"a scale is its lowest and its highest score, such as (1, 5), not {shown(scale)}")


def checked_names(values: Sequence[Any], name: str, place: Callable[[int], str]) -> tuple[str, ...]:
    """Return a column of names; an integer becomes its digits."""
    names = tuple(str(value) if type(value) is int else value for value in values)
    for row, value in enumerate(names):
        if value is None or (isinstance(value, str) and (not value or value.isspace())):
            raise DataError(f"{place(row)}: {name} is empty; a rating names its item, its system and its rater")
        if not isinstance(value, str):
            raise DataError(f"{place(row)}: {name} must be a string, not {kind_of(value)}")
    return names


def checked_scores(
    values: Sequence[Any], scale: tuple[float, float] | None, place: Callable[[int], str], *, kind: str = "a number"
) -> tuple[Score, ...]:
    """Return a column of finite numbers, all on the scale if there is one."""
    low, high = scale or (-math.inf, math.inf)
    span = f" from {low:g} to {high:g}" if scale else ""
    scores: list[Score] = []
    for row, value in enumerate(values):
        score = value if type(value) is int else _number(value)  # nearly always, and far cheaper than the next
        if score is None or not low <= score <= high or (kind == "an integer" and not isinstance(score, int)):
            found = "null" if value is None else shown(float(value) if isinstance(value, Fraction) else value)
            raise DataError(f"{place(row)}: score must be {kind}{span}, not {found}{comma_hint(value)}")
        scores.append(score)
    return tuple(scores)


def _number(value: Any) -> Score | None:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    if isinstance(value, Rational):
        return exact(Fraction(int(value.numerator), int(value.denominator)))  # int(): those of NumPy are none
    return exact(found) if math.isfinite(found := float(value)) else None


def checked_labels(
    values: Sequence[Any] | None, name: str, place: Callable[[int], str]
) -> tuple[str | None, ...] | None:
    """Return a column that may be missing, in which an empty string is nothing, as it is in CSV."""
    if values is None:
        return None
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, str):
            raise DataError(f"{place(row)}: {name} must be a string, not {kind_of(value)}")
    labels = tuple(value or None for value in values)
    return labels if any(labels) else None


def check_pairs(systems: Sequence[str], pairs: Sequence[str | None] | None, place: Callable[[int], str]) -> None:
    """Refuse a pair that the system of its row is no part of."""
    for row, pair in enumerate(pairs or ()):
        system = systems[row]
        if pair and not (others := _others(system, pair)):
            raise DataError(f"{place(row)}: the system {shown(system)} is not one of the pair {shown(pair)}; write A:B")
        if pair and "" in others:
            raise DataError(f"{place(row)}: the pair {shown(pair)} names one system only; write A:B")


def _others(system: str, pair: str) -> list[str]:
    """Return which systems may stand beside one in a pair, whose names may hold colons; none if it is not in there."""
    others = [pair.removeprefix(f"{system}:")] if pair.startswith(f"{system}:") else []
    return others + ([pair.removesuffix(f":{system}")] if pair.endswith(f":{system}") else [])


def repeated(key: tuple[Any, ...], place: str, other: str) -> str:
    """Say that somebody rated the same twice, and what to do."""
    rater, item, system, pair, aspect = key
    more = "".join(f", {name} {shown(value)}" for name, value in (("pair", pair), ("aspect", aspect)) if value)
    return (
        f"{place}: the rater {shown(rater)} has rated this already at {other} (item {shown(item)}, system "
        f'{shown(system)}{more}); say which counts: repeats="mean", "first", "last" or "keep" (each for itself), on '
        "the command line --repeated-ratings mean"
    )


def in_pair(system: str, shown_pair: str | None, pair: str, *, any_pair: bool) -> bool:
    """Whether a system's output was shown in a pair, whichever of the two came first."""
    if any_pair:
        return bool(_others(system, pair))
    others = _others(system, shown_pair or "")
    return any(pair in (shown_pair, f"{other}:{system}", f"{system}:{other}") for other in others)


def mean_of_means(totals: Sequence[tuple[Score, int]]) -> Fraction:
    """Return the mean of means that are given as sums and counts."""
    if len({count for _, count in totals}) == 1:  # nearly always, and one division is far cheaper than a sum of them
        return Fraction(sum(total for total, _ in totals), totals[0][1] * len(totals))
    return sum((Fraction(total, count) for total, count in totals), Fraction()) / len(totals)


Rated: TypeAlias = tuple[str, str]
"""What ratings are of: an item and the system that answered it."""

Score: TypeAlias = int | Fraction
"""What somebody gave, exactly."""

Repeats: TypeAlias = Literal["refuse", "mean", "first", "last", "keep"]
"""What becomes of a rating by somebody who has rated the same before."""


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of outputs, one per row, in columns; checked once and never changed.

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
        What they gave, exactly: integers, and fractions for what is none.
    pair
        The two systems that were shown side by side, ``"A:B"``, one of them ``system``; None where that does not
        apply, and None for the column if it applies nowhere.
    aspect
        What was asked for, such as ``relevance``; None as in ``pair``.
    scale
        The lowest and the highest score. If it is not given, it is guessed: 1 to 5, 0 to 1 or −1 to 1. None where
        scores have no such ends, as standardised ones.
    source
        Where the ratings come from, for messages.
    repeats
        What becomes of a rating by somebody who has rated the same before (the same item, system, pair and aspect):
        ``"refuse"`` it as an error, take the ``"mean"``, the ``"first"`` or the ``"last"``, or ``"keep"`` it like any
        other.

    Raises
    ------
    DataError
        If a name is empty, a score is not a number of the scale, or somebody rated the same twice and nothing was
        said about that, with the row; or if aspects are on different scales and none is given.

    Warns
    -----
    Notice
        If the scale had to be guessed and is not 1 to 5, or ratings were repeated.

    Examples
    --------
    >>> ratings = Ratings(["7", "7", "7"], ["A", "A", "B"], ["ann", "bob", "ann"], [4, 5, 2])
    >>> ratings.means()
    {('7', 'A'): Fraction(9, 2), ('7', 'B'): Fraction(2, 1)}
    """

    item: Sequence[str]
    system: Sequence[str]
    rater: Sequence[str]
    score: Sequence[int | float | Fraction]
    pair: Sequence[str | None] | None = None
    aspect: Sequence[str | None] | None = None
    scale: tuple[float, float] | None = None
    source: str = field(default="ratings", compare=False)
    repeats: Repeats = field(default="refuse", compare=False, kw_only=True)
    #: Names a row in messages; readers know its line.
    place: InitVar[Callable[[int], str] | None] = None

    def __post_init__(self, place: Callable[[int], str] | None) -> None:
        def numbered(row: int) -> str:
            return f"{self.source}: row {row + 1}"

        where = place or numbered
        check_lengths({name: getattr(self, name) for name in FIELDS}, self.source, "rating")
        if self.scale is not None:
            check_scale(self.scale)
        checked = {
            "item": checked_names(self.item, "item", where),
            "system": checked_names(self.system, "system", where),
            "rater": checked_names(self.rater, "rater", where),
            "score": checked_scores(self.score, self.scale, where),
            "pair": checked_labels(self.pair, "pair", where),
            "aspect": checked_labels(self.aspect, "aspect", where),
        }
        for name, column in checked.items():
            object.__setattr__(self, name, column)  # the way into a frozen dataclass
        object.__setattr__(self, "scale", self._guessed_scale(where) if self.scale is None else tuple(self.scale))
        check_pairs(self.system, self.pair, where)
        self._settle_repeats(where)

    def __len__(self) -> int:
        return len(self.item)

    def __repr__(self) -> str:
        return f"<Ratings from {self.source}: {len(self)} of {counted(len(self._scores_of()), 'output')}>"

    @classmethod
    def read(
        cls,
        path: PathLike,
        *,
        scale: tuple[float, float] | None = None,
        repeats: Repeats = "refuse",
        columns: Mapping[str, str] | None = None,
        aspects: Sequence[str] | None = None,
        system: str | None = None,
        only: Collection[str] | None = None,
    ) -> Ratings:
        """Read ratings from CSV, TSV, JSON lines or Parquet, plain or compressed with gzip or zstd.

        The columns (in JSON, fields) are ``item``, ``system``, ``rater`` and ``score``, and where they apply ``pair``
        and ``aspect``. Others are ignored. The first line of CSV and TSV names them. A file whose name tells nothing
        is Parquet by its first bytes, JSON lines if it begins with ``{``, TSV if its first line has a tab, else CSV.

        Columns may also have other usual names, in upper or lower case: an item may be called instance,
        segment or example, a system model, a rater judge, annotator, worker or assessor, a score rating, each also with
        ``ID`` at the end. The names above go first. If CSV or TSV has no column of scores and none of aspects, every
        other column is an aspect with scores of its own.

        Parameters
        ----------
        path
            The file, or ``-`` for standard input.
        scale
            The lowest and the highest score, as in the class.
        repeats
            What becomes of a rating by somebody who has rated the same before, as in the class.
        columns
            What the file calls a field, such as ``{"item": "InstanceID"}``, for any of them.
        aspects
            The columns (in JSON, fields) that hold the scores of an aspect each, instead of ``score`` and ``aspect``.
        system
            Whose outputs are rated where the file does not say so; without this, it must.
        only
            The aspects to read; others may have another scale.

        Raises
        ------
        DataError
            If the file cannot be read or used, with the line or row and the column.
        UsageError
            If ``columns`` or ``aspects`` contradict themselves.
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
        raw = read_ratings(path, columns, aspects, system, only, means=True)
        return cls._from_raw(raw if only is None else _of_aspects(raw, only), scale, repeats)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Mapping[str, Any]],
        *,
        scale: tuple[float, float] | None = None,
        repeats: Repeats = "refuse",
        columns: Mapping[str, str] | None = None,
        aspects: Sequence[str] | None = None,
    ) -> Ratings:
        """Make ratings from mappings with the fields of `read`, and the same parameters.

        Examples
        --------
        >>> Ratings.from_rows([{"item": "7", "system": "A", "rater": "ann", "score": 4}]).counts()
        {('7', 'A'): 1}
        """
        numbered = ((f"ratings: row {number}", row) for number, row in enumerate(rows, 1))
        return cls._from_raw(rating_table(gather(numbered, "ratings"), columns, aspects), scale, repeats)

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        scale: tuple[float, float] | None = None,
        repeats: Repeats = "refuse",
        columns: Mapping[str, str] | None = None,
        aspects: Sequence[str] | None = None,
    ) -> Ratings:
        """Make ratings from a Polars or pandas frame with the columns of `read`, and the same parameters.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"item": [7, 7], "system": ["A", "B"], "rater": ["ann", "ann"], "score": [4, 2]})
        >>> Ratings.from_frame(frame).weights()
        {('7', 'A'): 0.5, ('7', 'B'): -0.5}
        """
        return cls._from_raw(rating_table(table_of(frame), columns, aspects), scale, repeats)

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

        Where ratings are repeated and kept, `read` must be told so again.

        Parameters
        ----------
        path
            The name tells the format: ``.csv``, ``.tsv`` or ``.jsonl`` (then maybe ``.gz`` or ``.zst``), or
            ``.parquet``. ``-`` is standard output, which gets JSON lines.
        """
        write_ratings(path, self._columns())

    def select(
        self,
        *,
        aspect: str | Collection[str] | None = None,
        pair: str | Collection[str] | None = None,
        system: str | Collection[str] | None = None,
    ) -> Ratings:
        """Return the ratings of one or several aspects, pairs or systems, or of a combination of them.

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
        for name, wanted in (("aspect", aspect), ("pair", pair), ("system", system)):
            if wanted is None:
                continue
            found = _among(getattr(self, name) or (), name, wanted, self.source)
            keep = [kept and each for kept, each in zip(keep, found, strict=True)]
        return self._with({name: list(compress(column, keep)) for name, column in self._columns().items()})

    def means(self) -> dict[Rated, Fraction]:
        """Return the mean score of each output, exactly, in the order in which outputs first appear.

        All ratings of an output count alike, whatever their pair and aspect; see `item_means`.
        """
        return {rated: Fraction(sum(scores), len(scores)) for rated, scores in self._scores_of().items()}

    def item_means(self, *, pair: str | None = None) -> dict[Rated, Fraction]:
        """Return what people think of each output: the mean over aspects of the mean over raters, exactly.

        Every aspect counts alike, however many rated it; ratings without an aspect are one aspect of their own. This is
        the rating of an item in a meta-evaluation. The order of rows decides the order of the outputs, that of their
        first ratings, and nothing else.

        Parameters
        ----------
        pair
            ``"A:B"``: only ratings of outputs that were shown in this pair, or in ``"B:A"``, which is the same. Where
            no rating has a pair, all ratings of the two systems.

        Raises
        ------
        DataError
            If there are no ratings of the pair.

        Examples
        --------
        >>> rows = [("7", "A", "ann", 4, None, "style"), ("7", "A", "ann", 1, None, "facts")]
        >>> rows.append(("7", "A", "bob", 2, None, "facts"))
        >>> Ratings(*zip(*rows)).item_means()
        {('7', 'A'): Fraction(11, 4)}
        """
        nothing: repeat[None] = repeat(None)
        columns = zip(self.item, self.system, self._exact(), self.pair or nothing, self.aspect or nothing, strict=False)
        shown_in: dict[tuple[str, str | None], bool] = {}
        sums: dict[Rated, dict[str | None, list[Score]]] = {}
        for item, system, score, shown_pair, aspect in columns:
            if pair is not None:
                key = (system, shown_pair)
                if key not in shown_in:
                    shown_in[key] = in_pair(system, shown_pair, pair, any_pair=self.pair is None)
                if not shown_in[key]:
                    continue
            sums.setdefault((item, system), {}).setdefault(aspect, []).append(score)
        if pair is not None and not sums:
            known = dict.fromkeys(each for each in self.pair or () if each is not None)
            hint = nearest(pair, known) if known else f"systems: {some(self.systems())}"
            raise DataError(f"{self.source} has no ratings of the pair {shown(pair)}; {hint}")
        return {
            rated: mean_of_means([(sum(scores), len(scores)) for scores in given.values()])
            for rated, given in sums.items()
        }

    def items(self) -> tuple[str, ...]:
        """Return the items, in the order in which they first appear."""
        return tuple(dict.fromkeys(self.item))

    def systems(self) -> tuple[str, ...]:
        """Return the systems, in the order in which they first appear."""
        return tuple(dict.fromkeys(self.system))

    def raters(self) -> int:
        """Return how many people rated."""
        return len(set(self.rater))

    def counts(self) -> dict[Rated, int]:
        """Return how many ratings each output has."""
        return {rated: len(scores) for rated, scores in self._scores_of().items()}

    def weights(self) -> dict[Rated, float]:
        """Return the weight of each output as a reference: its mean, with the worst score at -1 and the best at 1.

        Raises
        ------
        UsageError
            If scores have no scale.
        """
        scale = self.ends()
        return {rated: weight_on_scale(scores, scale) for rated, scores in self._scores_of().items()}

    def ends(self) -> tuple[float, float]:
        """Return the ends of the scale.

        Raises
        ------
        UsageError
            If scores have none.
        """
        if self.scale is None:
            raise UsageError(
                f"{self.source} has scores without a worst and a best, which cannot become weights; give them: "
                "scale=(LOW, HIGH), on the command line --scale LOW:HIGH"
            )
        return self.scale

    def _exact(self) -> Sequence[Score]:
        return self.score  # type: ignore[return-value] # once they are checked

    def _scores_of(self) -> dict[Rated, list[Score]]:
        scores: dict[Rated, list[Score]] = {}
        for item, system, score in zip(self.item, self.system, self._exact(), strict=True):
            scores.setdefault((item, system), []).append(score)
        return scores

    def _columns(self) -> dict[str, Sequence[Any]]:
        return {name: column for name in FIELDS if (column := getattr(self, name)) is not None}

    def _with(self, columns: Mapping[str, Sequence[Any]]) -> Ratings:
        """Return ratings with other columns, made of these, which need no other check."""
        found = copy(self)
        for name, column in columns.items():
            labels = name in ("pair", "aspect")
            object.__setattr__(found, name, None if labels and not any(column) else tuple(column))
        return found

    def _guessed_scale(self, place: Callable[[int], str]) -> tuple[float, float] | None:
        """Return the scale that the scores are most likely on, and say so unless it is 1 to 5."""
        scale = guess_scale(self.score)
        by_aspect: dict[str | None, list[Score]] = {}
        for aspect, score in zip(self.aspect or (), self._exact(), strict=False):
            by_aspect.setdefault(aspect, []).append(score)
        for aspect, scores in by_aspect.items():
            own = guess_scale(scores)
            if own is not None and own != scale and own in (FIVE_POINTS, UNIT):
                raise DataError(
                    f"{self.source}: {aspect or 'what has no aspect'} is rated from {own[0]} to {own[1]} and other "
                    "aspects are not; judge by aspects of one scale (--aspect NAME), or give the scale of all "
                    "(--scale LOW:HIGH)"
                )
        if scale == FIVE_POINTS:
            for row, score in enumerate(self._exact()):
                if not scale[0] <= score <= scale[1]:
                    raise DataError(
                        f"{place(row)}: the score {float(score):g} is outside the scale from 1 to 5, on which the "
                        "others are; correct it, or give the scale (--scale LOW:HIGH)"
                    )
            return scale
        low, high = (f"{float(end):g}" for end in scale or (min(self.score), max(self.score)))
        told = (
            f"are on the scale {low}:{high}"
            if scale
            else f"from {low} to {high} are taken as they are, on no fixed scale"
        )
        warnings.warn(f"{base_name(self.source)}: scores {told}", Notice, stacklevel=4)
        return scale

    def _settle_repeats(self, place: Callable[[int], str]) -> None:
        """Do what ``repeats`` says about ratings of what the same rater has rated before."""
        if self.repeats not in _REPEATS:
            raise UsageError(f"repeats: there is no {shown(self.repeats)}; {nearest(str(self.repeats), _REPEATS)}")
        nothing: repeat[None] = repeat(None)
        optional = (self.pair or nothing, self.aspect or nothing)
        keys = list(zip(self.rater, self.item, self.system, *optional, strict=False))
        if len(set(keys)) == len(keys):
            return
        rows: dict[Any, list[int]] = {}
        for row, key in enumerate(keys):
            same = rows.setdefault(key, [])
            if same and self.repeats == "refuse":
                raise DataError(repeated(key, place(row), place(same[0])))
            same.append(row)
        again = counted(len(keys) - len(rows), "rating")
        warnings.warn(
            f"{base_name(self.source)}: {again} by raters of what they had rated before; {_TOLD[self.repeats]}",
            Notice,
            stacklevel=4,
        )
        if self.repeats == "keep":
            return
        for name, column in self._columns().items():
            if name == "score" and self.repeats == "mean":
                settled = [exact(Fraction(sum(column[row] for row in same), len(same))) for same in rows.values()]
            else:
                settled = [column[same[-1 if self.repeats == "last" else 0]] for same in rows.values()]
            object.__setattr__(self, name, tuple(settled))

    @classmethod
    def _from_raw(cls, raw: Table, scale: tuple[float, float] | None, repeats: Repeats) -> Ratings:
        columns: Mapping[str, Any] = raw.columns
        return cls(**columns, scale=scale, source=raw.source, repeats=repeats, place=raw.place)


_REPEATS: tuple[Repeats, ...] = get_args(Repeats)
_TOLD: dict[Repeats, str] = {
    "mean": "the mean of each rater's counts",
    "first": "the first counts",
    "last": "the last counts",
    "keep": "each counts",
}


def _among(column: Sequence[Any], name: str, wanted: str | Collection[str], source: str) -> list[bool]:
    """Return which rows of a column are wanted; refuse what is in none."""
    values = {wanted} if isinstance(wanted, str) else set(wanted)
    for value in values.difference(each for each in column if isinstance(each, str)):
        known = dict.fromkeys(each for each in column if each and isinstance(each, str))
        hint = nearest(value, known) if known else f"its ratings have no {name}"
        raise DataError(f"{source} has no ratings of the {name} {shown(value)}; {hint}")
    # What is no name stays, to be refused.
    return [each in values if isinstance(each, str) else each is not None for each in column]


def _of_aspects(raw: Table, wanted: Collection[str]) -> Table:
    kept = _among(raw.columns.get("aspect") or (), "aspect", wanted, raw.source)
    return raw.take(kept)
