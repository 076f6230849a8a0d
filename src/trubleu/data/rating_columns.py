"""Which column of a table of ratings holds what, also where columns have names of their own or one is an aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from trubleu.data.weights import shown
from trubleu.errors import DataError, UsageError, nearest, some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REQUIRED = ("item", "system", "rater", "score")
FIELDS = (*REQUIRED, "pair", "aspect")

#: What people call these columns, in small letters and without what joins words.
_SYNONYMS = {
    "item": ("item", "itemid", "instance", "instanceid", "segment", "segmentid", "example", "exampleid", "contextid"),
    "system": ("system", "systemid", "systemname", "model", "modelid", "modelname"),
    "rater": ("rater", "raterid", "judge", "judgeid", "annotator", "annotatorid", "worker", "workerid", "assessor"),
    "score": ("score", "rating"),
    "pair": ("pair",),
    "aspect": ("aspect", "criterion", "dimension"),
}
_JOINERS = str.maketrans("", "", "_- ")


class RatingColumns(NamedTuple):
    """Where ratings are in a table.

    Attributes
    ----------
    fields
        The name of the column that holds each field; without ``score`` and ``aspect`` in a wide table.
    aspects
        The columns of a wide table that hold scores, one for each aspect; empty in a long one.
    guessed
        Whether these were taken because nobody said which they are.
    required
        The fields that must be there.
    """

    fields: dict[str, str]
    aspects: tuple[str, ...] = ()
    guessed: bool = False
    required: tuple[str, ...] = REQUIRED

    @classmethod
    def given(cls, columns: Mapping[str, str] | None, aspects: Sequence[str] | None) -> RatingColumns:
        """Take what a caller says; fields that are not mentioned have columns of their own names.

        Raises
        ------
        UsageError
            If it is no mapping of fields, or no sequence of names.
        """
        named = dict(columns or {})
        for field, column in named.items():
            if field not in FIELDS:
                raise UsageError(f"columns: there is no field {shown(field)}; {nearest(str(field), FIELDS)}")
            if not isinstance(column, str):
                raise UsageError(f"columns: the column of {field} must be a string, not {shown(column)}")
        if isinstance(aspects, str):
            raise UsageError(f"aspects must be several names, not the string {shown(aspects)}; write ({aspects!r},)")
        aspects = tuple(dict.fromkeys(aspects or ()))
        if aspects and (wrong := [field for field in ("score", "aspect") if field in named]):
            raise UsageError(
                f"columns has a {wrong[0]}, but aspects are given, each with scores of its own; leave one out"
            )
        taken = (*named.values(), *aspects)
        if repeated := [column for column in taken if taken.count(column) > 1]:
            raise UsageError(f"the column {shown(repeated[0])} is given twice; a column holds one thing only")
        fields = [field for field in FIELDS if not aspects or field not in ("score", "aspect")]
        return cls(
            {field: named.get(field, field) for field in fields if field in named or field not in taken}, aspects
        )

    def wanted(self) -> tuple[str, ...]:
        """Return the names of all columns that may be needed."""
        return (*self.fields.values(), *self.aspects)


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
        As in `RatingColumns.given`.
    """
    said = RatingColumns.given(columns, aspects)
    fields: dict[str, str] = {}
    taken = {*(columns or {}).values(), *said.aspects}
    free = [title for title in titles if title not in taken]
    for field in said.fields:
        if columns is not None and field in columns:
            if columns[field] not in titles:
                raise DataError(
                    f"{place}: there is no column {shown(columns[field])}; {nearest(columns[field], titles)}"
                )
            fields[field] = columns[field]
        elif (title := _meant(field, free, place)) is not None:
            fields[field] = title
    for title in said.aspects:
        if title not in titles:
            raise DataError(f"{place}: there is no column {shown(title)}; {nearest(title, titles)}")
    guessed = False
    scores = said.aspects
    if not scores and "score" not in fields and "aspect" not in fields:
        scores = tuple(title for title in dict.fromkeys(titles) if title not in fields.values())
        guessed = True
    for field in required:
        if field not in fields and not (field == "score" and scores):
            raise DataError(f"{place}: the column {field} must be there; columns found: {some(titles)}")
    for title in (*fields.values(), *scores):
        if titles.count(title) > 1:
            raise DataError(f"{place}: there are {titles.count(title)} columns {title}; leave only one of them")
    return RatingColumns(fields, scores, guessed)


def _meant(field: str, titles: Sequence[str], place: str) -> str | None:
    if field in titles:
        return field
    found = [title for title in dict.fromkeys(titles) if title.lower().translate(_JOINERS) in _SYNONYMS[field]]
    if len(found) > 1:
        raise DataError(
            f"{place}: the columns {' and '.join(found)} could both be the {field}; rename one of them to {field}, "
            f"or say which it is: columns={{{field!r}: {found[0]!r}}}"
        )
    return found[0] if found else None


def widened(columns: Mapping[str, Sequence[Any]], layout: RatingColumns) -> dict[str, Sequence[Any]]:
    """Give the fields their own names, and every aspect of a row of a wide table a row of its own."""
    if not layout.aspects:
        return {field: columns[column] for field, column in layout.fields.items() if column in columns}
    count = len(layout.aspects)
    long: dict[str, Sequence[Any]] = {
        field: [value for value in columns[column] for _ in range(count)]
        for field, column in layout.fields.items()
        if column in columns
    }
    scores = zip(*(columns[aspect] for aspect in layout.aspects), strict=True)
    long["score"] = [score for row in scores for score in row]
    long["aspect"] = list(layout.aspects) * (len(long["score"]) // count)
    return long
