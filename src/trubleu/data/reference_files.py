"""Readers and writers of references: JSON lines, Parquet, frames, and parallel files with one reference per line.

JSON lines, tables, Parquet and frames become columns of references, which are checked in one place.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, compress, islice, pairwise, repeat
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from trubleu.data.titles import GOOD_BAD_TITLES, RATER_TITLES, REFERENCE_TITLES
from trubleu.data.weights import (
    HIGHEST_RATING,
    LABEL_WEIGHTS,
    agrees,
    guess_scale,
    ratings_problem,
    weight_errors,
    weight_from_ratings,
    weight_on_scale,
    weight_problem,
)
from trubleu.errors import CountedWarning, DataError, UsageError, counted, nearest, shown, some
from trubleu.files.formats import open_rows
from trubleu.files.jsonl import is_json_name, json_line, kind_of, parse_json
from trubleu.files.lines import read_text_lines
from trubleu.files.paths import PathLike, base_name, check_standard_input_once, name_of
from trubleu.files.tables import (
    Table,
    check_no_table,
    comma_hint,
    find_fields,
    finite,
    is_table_name,
    plain_title,
    tell_fields,
)
from trubleu.files.writer import atomic_writer
from trubleu.native import kernels
from trubleu.optional_deps import pandas_module, polars_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from trubleu.data.references import Reference, References, Segment
    from trubleu.files.parquet import Frame


Rated: TypeAlias = tuple[tuple[str | None, float], ...]
"""The ratings of a text: who gave each, if that is known, and its value from -1 to 1."""

PlaceOf: TypeAlias = Callable[[int], str]
"""Names a row in messages."""


class Columns(NamedTuple):
    """What `References` is made of; each field is the parameter of the same name there."""

    texts: tuple[str, ...]
    offsets: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None
    weight_errors: NDArray[np.float64] | None = None
    ratings: tuple[Rated | None, ...] | None = None
    ids: tuple[str, ...] | None = None
    origins: tuple[str | None, ...] | None = None
    messages: tuple[str | None, ...] | None = None
    contexts: tuple[tuple[str, ...] | None, ...] | None = None
    source: str = "references"
    before: int = 0


def check_segments(offsets: NDArray[np.int64], ids: Sequence[str] | None) -> None:
    """Refuse segments without a reference, naming them."""
    empty = np.flatnonzero(np.diff(offsets) == 0).tolist()
    if empty:
        names = some(ids[index] if ids is not None else index + 1 for index in empty)
        segments = "segment" if len(empty) == 1 else "segments"
        raise DataError(
            f"no reference for {segments} {names}; give each segment at least one or leave it out everywhere"
        )


def check_ids(ids: Sequence[str], count: int) -> tuple[str, ...]:
    """Refuse ids that are not one different string a segment."""
    ids = tuple(ids)
    if len(ids) != count:
        raise DataError(f"{counted(len(ids), 'id')} for {counted(count, 'segment')}; give one id for each segment")
    for index, name in enumerate(ids) if set(map(type, ids)) - {str} else ():
        if not isinstance(name, str):
            raise DataError(f"the id of segment {index + 1} must be a string, not {shown(name)}")
    if len(set(ids)) != count:
        seen: set[str] = set()
        repeated = dict.fromkeys(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(f"ids are used more than once: {some(repeated)}; every segment needs an id of its own")
    return ids


def exact_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return plain strings: subclasses such as ``np.str_`` are turned into what they hold."""
    plain = tuple(texts)
    if kernels.all_strings(plain):
        return plain
    for index, text in enumerate(plain):
        if not isinstance(text, str):
            raise DataError(f"reference {index + 1} must be a string, not {shown(text)}")
    return tuple(map(str.__str__, plain))


def checked_offsets(offsets: ArrayLike, count: int) -> NDArray[np.int64]:
    """Return offsets as a read-only array; refuse those that do not divide ``count`` texts into segments."""
    array = np.array(offsets, dtype=np.int64)
    rising = array.ndim == 1 and array.size > 0 and bool((np.diff(array) >= 0).all())
    if not rising or array[0] != 0 or array[-1] != count:
        raise DataError(f"offsets must rise from 0 to the number of texts, {count}, in one dimension")
    array.flags.writeable = False
    return array


def checked_numbers(numbers: ArrayLike, count: int, what: Literal["weights", "weight_errors"]) -> NDArray[np.float64]:
    """Return weights, from -1 to 1, or their standard errors, from 0, as a read-only array of one for each text."""
    array = np.array(numbers, dtype=np.float64)
    if array.shape != (count,):
        raise DataError(f"{what} have the shape {array.shape}; give one for each of the {count} texts")
    low, name = (-1, "weight") if what == "weights" else (0, "the standard error of weight")
    if len(outside := np.flatnonzero((array < low) | (array > 1))):
        at = int(outside[0])
        raise DataError(f"{name} {at + 1} must be from {low} to 1, not {array[at]:g}")
    array.flags.writeable = False
    return array


def checked_column(values: Sequence[Any] | None, count: int, what: str) -> tuple[Any, ...] | None:
    """Return an optional column as a tuple; refuse one of the wrong length."""
    if values is None:
        return None
    if len(values) != count:
        raise DataError(f"there are {len(values)} {what}, but {count} are needed; give one for each or none at all")
    return tuple(values)


def text_field(record: Mapping[str, Any], field: str, place: str, path: str = "") -> str:
    """Return a field that must be a string; ``path`` leads to the record inside the line or row."""
    value = record.get(field)
    if type(value) is str:
        return value
    if field not in record:
        raise DataError(f'{place}: the field {path}{field} is missing; add a string, "" if it is empty')
    raise DataError(f"{place}: {path}{field} must be a string, not {kind_of(value)}")


def id_field(record: Mapping[str, Any], place: str, field: str = "id") -> str | None:
    """Return a name as a string (an integer counts as its digits), None if there is none."""
    value = record.get(field)
    if type(value) is int:
        return str(value)
    if value is None or type(value) is str:
        return value
    raise DataError(f"{place}: {field} must be a string, not {kind_of(value)}")


def optional_text(record: Mapping[str, Any], field: str, place: str, path: str = "") -> str | None:
    """Return a field that must be a string if it is there."""
    value = record.get(field)
    if value is None or type(value) is str:
        return value
    raise DataError(f"{place}: {path}{field} must be a string, not {kind_of(value)}")


def context_field(record: Mapping[str, Any], place: str) -> tuple[str, ...] | None:
    """Return the turns before a message, None if they are not known."""
    context = record.get("context")
    if context is None:
        return None
    if type(context) is not list:
        raise DataError(f"{place}: context must be an array of strings, one per turn, not {kind_of(context)}")
    for index, turn in enumerate(context):
        if type(turn) is not str:
            raise DataError(f"{place}: context[{index}] must be a string, not {kind_of(turn)}")
    return tuple(context)


class _FieldError(ValueError):
    """Something is wrong with a field of a reference, whose place is not known here."""

    def __init__(self, field: str, problem: str) -> None:
        self.field, self.problem = field, problem

    def at(self, place: str, path: str = "") -> DataError:
        return DataError(f"{place}: {'.'.join(filter(None, (path, self.field)))} {self.problem}")


def _weight_of(weight: Any, ratings: Any) -> float:
    """Return the weight that a reference's weight and ratings agree on, NaN if it is not rated yet."""
    if weight is not None and type(weight) is not float and type(weight) is not int:
        raise _FieldError("weight", f"must be a number from -1 to 1 or null, not {kind_of(weight)}")
    if weight is not None and not -1 <= weight <= 1:
        remedy = "write null for a reference that is not rated yet"
        raise _FieldError("weight", weight_problem(weight, remedy) or "")
    if ratings is None or ratings == []:
        return math.nan if weight is None else float(weight)
    if type(ratings) is not list:
        raise _FieldError("ratings", f"must be an array of integers from 1 to 5, not {kind_of(ratings)}")
    if wrong := ratings_problem(ratings):
        raise _FieldError("ratings", wrong)
    if weight is not None and not agrees(weight, ratings):
        raise _FieldError(
            "weight",
            f"is {shown(weight)} but its ratings give {weight_from_ratings(ratings):.6g}; correct one of them "
            "or leave the weight out",
        )
    return weight_from_ratings(ratings) if weight is None else float(weight)


def _error_of(error: Any) -> float:
    if type(error) not in (float, int) or not 0 <= error <= 1:
        told = shown(error) if type(error) in (float, int) else kind_of(error)
        raise _FieldError("weight_se", f"must be a number from 0 to 1 or null, not {told}")
    return float(error)


def _rated(ratings: Sequence[int], raters: Any) -> Rated:
    if raters is None:
        raters = [None] * len(ratings)
    elif type(raters) is not list or len(raters) != len(ratings) or not all(type(each) is str for each in raters):
        raise _FieldError("raters", f"must be an array of {len(ratings)} strings, one for each rating")
    elif len(set(raters)) < len(raters):
        raise _FieldError("raters", "names somebody twice; give one rating per rater")
    return tuple((rater, (rating - 3) / 2) for rater, rating in zip(raters, ratings, strict=True))


class SegmentCollector:
    """Checks records, each with its place, and lays them flat.

    Parameters
    ----------
    source
        Where the records come from, for messages.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._places: dict[str, str] = {}
        self._messages: list[str | None] = []
        self._contexts: list[tuple[str, ...] | None] = []
        self._ends = [0]
        self._texts: list[str] = []
        self._weights: list[float] = []
        self._errors: list[float] = []
        self._rated: list[Rated | None] = []
        self._origins: list[str | None] = []
        self._weighted = False
        self._unverified = 0

    def add(self, record: Mapping[str, Any], place: str, default_id: str) -> None:
        """Add a segment from a record that holds an array of ``references``."""
        given = id_field(record, place)
        identity = default_id if given is None else given
        if (first := self._places.setdefault(identity, place)) is not place:
            raise DataError(
                f"{place}: the id {shown(identity)} is already used at {first}; every segment needs its own"
            )
        items = record.get("references")
        if type(items) is not list:
            what = "an array of objects, each with a text"
            missing = f"the field references is missing; add {what}"
            wrong = f"references must be {what}, not {kind_of(items)}"
            raise DataError(f"{place}: {wrong if 'references' in record else missing}")
        if not items:
            raise DataError(f"{place}: references is empty; give every segment at least one reference or leave it out")
        self._begin(record, place)
        begin = len(self._texts)
        try:
            for item in items:
                self._take_item(item)
        except _FieldError as error:
            raise error.at(place, f"references[{len(self._texts) - begin}]") from None
        self._ends.append(len(self._texts))

    def add_rows(self, columns: Mapping[str, Sequence[Any]], identities: Sequence[str | None], place: PlaceOf) -> None:
        """Add columns with one row per reference; rows with the same id are of one segment."""
        groups: dict[str, list[int]] = {}
        for row, identity in enumerate(identities):
            if identity is None:
                raise DataError(f"{place(row)}: the id is empty; every row names the segment that its text belongs to")
            groups.setdefault(identity, []).append(row)
        self._weighted = bool(groups) and not columns.keys().isdisjoint(("weight", "ratings"))
        heads = [name for name in SEGMENT_FIELDS[1:] if name in columns]
        for identity, rows in groups.items():
            first = self._places[identity] = place(rows[0])
            self._begin({name: _common(columns[name], name, rows, place) for name in heads}, first)
            self._ends.append(self._ends[-1] + len(rows))
        order = list(chain.from_iterable(groups.values()))
        items = (
            map(columns[name].__getitem__, order) if name in columns else repeat(None)
            for name in (*REFERENCE_FIELDS, "rated")
        )
        for row, *item in zip(order, *items, strict=False):
            try:
                self._take(*item)
            except _FieldError as error:
                raise error.at(place(row)) from None

    def _begin(self, record: Mapping[str, Any], place: str) -> None:
        self._messages.append(optional_text(record, "message", place))
        self._contexts.append(context_field(record, place))

    def _take_item(self, item: Any) -> None:
        if type(item) is str:
            self._take(item)
            return
        if type(item) is not dict:
            raise _FieldError("", f'must be a string or an object with a "text", not {kind_of(item)}')
        if "text" not in item:
            raise _FieldError("text", 'is missing; add a string, "" if it is empty')
        if not item.keys() <= _ITEM_FIELDS:
            item = _with_label(item)
        self._take(*map(item.get, REFERENCE_FIELDS))
        self._weighted = self._weighted or "weight" in item or "ratings" in item
        self._unverified += item.get("unverified") is True

    def _take(
        self,
        text: Any,
        weight: Any = None,
        weight_se: Any = None,
        ratings: Any = None,
        raters: Any = None,
        origin: Any = None,
        rated: Rated | None = None,
    ) -> None:
        """Add a reference to the latest segment."""
        if type(text) is not str:
            raise _FieldError("text", f"must be a string, not {kind_of(text)}")
        if origin is not None and type(origin) is not str:
            raise _FieldError("origin", f"must be a string, not {kind_of(origin)}")
        self._weights.append(_weight_of(weight, ratings))
        self._errors.append(math.nan if weight_se is None else _error_of(weight_se))
        self._rated.append(_rated(ratings, raters) if ratings else rated)
        self._origins.append(origin)
        self._texts.append(text)

    def columns(self) -> Columns:
        """Return all that was added, and warn of weights that the file says nobody has checked."""
        if self._unverified:
            what = f"weights in {self._source} given by a model and checked by nobody"
            warnings.warn(CountedWarning(what, self._unverified), stacklevel=2)
        # Standard errors that were given, or else follow from ratings.
        errors = np.array(self._errors, dtype=np.float64)
        if any(self._rated):
            values = [[value for _, value in each or ()] for each in self._rated]
            errors = np.where(np.isnan(errors), weight_errors(values), errors)
        return Columns(
            tuple(self._texts),
            np.array(self._ends, dtype=np.int64),
            np.array(self._weights, dtype=np.float64) if self._weighted else None,
            None if np.isnan(errors).all() else errors,
            unless_all_none(self._rated),
            tuple(self._places),
            unless_all_none(self._origins),
            unless_all_none(self._messages),
            unless_all_none(self._contexts),
            self._source,
        )


def unless_all_none(values: list[Any]) -> tuple[Any, ...] | None:
    """Return a column, or None if there is nothing in it."""
    return tuple(values) if any(value is not None for value in values) else None


def write_references(
    path: PathLike,
    segments: Iterable[Segment],
    *,
    weighted: bool,
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Write segments as `References.read` reads them, with further fields by id."""
    with atomic_writer(path) as stream:
        for segment in segments:
            items = [
                {
                    "text": each.text,
                    **({"weight": each.weight} if weighted else {}),
                    **_known(each, "weight_se", "origin"),
                }
                for each in segment.references
            ]
            record = {"id": segment.id, **_known(segment, "context", "message"), "references": items}
            record |= (labels or {}).get(segment.id, {})
            stream.write(json_line(record) + "\n")


def _known(thing: Reference | Segment, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(thing, name)) is not None}


Kind: TypeAlias = Literal["polars", "pandas"]
KINDS: tuple[Kind, ...] = ("polars", "pandas")

#: What a table of references may hold: fields of a segment, its references, and the fields of a reference.
SEGMENT_FIELDS = ("id", "context", "message")
REFERENCE_FIELDS = ("text", "weight", "weight_se", "ratings", "raters", "origin")
WANTED = (*SEGMENT_FIELDS, "references", *REFERENCE_FIELDS, "label")
_ITEM_FIELDS: Final = frozenset([*REFERENCE_FIELDS, "id", "source", "rank", "scores", "unverified"])


def _with_label(item: dict[str, Any]) -> dict[str, Any]:
    """Return a reference whose label is its weight; refuse a field that looks like weights under another name."""
    if item.get("weight") is not None or item.get("ratings"):
        return item
    for field in item.keys() - _ITEM_FIELDS:
        value = item[field]
        if field == "label" and (label := LABEL_WEIGHTS.get(_label_of(_as_cell(value)))) is not None:
            return {**item, "weight": label}
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and -1 <= value <= 1 and difflib.get_close_matches(field.lower(), ["weight"], cutoff=_ALIKE):
            raise _FieldError(field, "would not be read, though it looks like a weight; call it weight, or remove it")
    return item


def segments_from_table(table: Table) -> Columns:
    """Make references of a table in either form (see `References.from_frame`)."""
    collector = SegmentCollector(table.source)
    if "references" in table.columns:
        for row, (place, record) in enumerate(table.rows()):
            collector.add(record, place, table.default_id(row) if record.get("id") is None else "")
    elif "text" in table.columns:
        table.require("id")
        table = _labelled(table)
        identities = [
            value if type(value) is str else id_field({"id": value}, table.place(row))
            for row, value in enumerate(table.columns["id"])
        ]
        collector.add_rows(table.columns, identities, table.place)
    else:
        raise DataError(
            f"{table.source}: a column references (one row per segment) or text (one row per reference) must be "
            f"there; columns found: {some(table.names) or 'none'}"
        )
    return collector.columns()


def _labelled(table: Table) -> Table:
    """Return rows of references whose labels, good or bad, are their weights; refuse a misspelt column of weights."""
    if {"weight", "ratings"} & table.columns.keys():
        return table
    if misspelt := [title for title in table.names if sorted(plain_title(title)) == sorted("weight")]:
        raise DataError(f"{table.source}: the column {misspelt[0]} would not be read; call it weight, or take it out")
    if "label" not in table.columns:
        return table
    labelled = replace(table, columns={**table.columns, "label": [*map(_as_cell, table.columns["label"])]})
    if not _are_labels(labelled, "label", named=False):
        return table
    return replace(table, columns={**table.columns, "weight": _labels(labelled, "label")})


def _common(column: Sequence[Any], name: str, rows: Sequence[int], place: PlaceOf) -> Any:
    """Return what the rows of a segment say of it; those that leave it out agree with any other."""
    given = [row for row in rows if column[row] is not None]
    for row in given:
        if column[row] != column[given[0]]:
            raise DataError(
                f"{place(row)}: {name} is not that of {base_name(place(given[0]))}, which has the same id; "
                "give all rows of a segment the same, or none"
            )
    return column[given[0]] if given else None


def segments_to_frame(segments: References, kind: Kind, *, long: bool) -> Frame:
    """Make a frame of references (see `References.to_frame`)."""
    check_kind(kind)
    _check_storable(segments)
    contexts = segments.contexts and [None if context is None else list(context) for context in segments.contexts]
    heads = _present(id=segments.ids, context=contexts, message=segments.messages)
    items = _present(
        text=segments.texts, weight=segments.weights, weight_se=segments.weight_errors, origin=segments.origins
    )
    owners = np.repeat(np.arange(len(segments)), segments.reference_counts())
    if kind == "polars":
        polars = polars_module()
        types = dict.fromkeys((*heads, *items), polars.String)
        types |= {"weight": polars.Float64, "weight_se": polars.Float64, "context": polars.List(polars.String)}
        frame, flat = (
            polars.DataFrame(each, schema={name: types[name] for name in each}, nan_to_null=True)
            for each in (heads, items)
        )
        if long:
            return frame[owners].hstack(flat)
        # Every segment has a reference, so grouping gives a row for each of them, in their order.
        nested = polars.DataFrame({"owner": owners, "references": flat.to_struct()})
        return frame.hstack(nested.group_by("owner", maintain_order=True).agg("references").select("references"))
    frame = pandas_module().DataFrame(heads)
    if long:
        return frame.iloc[owners].reset_index(drop=True).assign(**items)
    plain = [nullable(column) if name.startswith("weight") else column for name, column in items.items()]
    records = [dict(zip(items, values, strict=True)) for values in zip(*plain, strict=True)]
    references = [records[start:end] for start, end in pairwise(segments.offsets.tolist())]
    return frame.assign(references=references)


def nullable(numbers: NDArray[np.float64]) -> list[float | None]:
    """Return numbers with None for NaN."""
    return [None if each != each else each for each in numbers.tolist()]


def _present(**columns: Any) -> dict[str, Any]:
    return {name: column for name, column in columns.items() if column is not None}


def _check_storable(segments: References) -> None:
    turns = chain.from_iterable(context or () for context in segments.contexts or ())
    check_storable(segments.texts, "reference")
    for values, what in ((segments.ids, "id"), (segments.origins, "origin"), (segments.messages, "message")):
        check_storable(values or (), what)
    check_storable(turns, "turn")


def check_kind(kind: str) -> None:
    """Refuse a kind of frame that there is not."""
    if kind not in KINDS:
        raise UsageError(f"there is no frame of the kind {shown(kind)}; {nearest(str(kind), KINDS)}")


def check_storable(
    values: Iterable[str | None], what: str, but: str = "only JSON lines can hold; write a .jsonl file or repair it"
) -> None:
    """Refuse strings that have no UTF-8, which is all that tables can hold; ``but`` says what to do."""
    for number, value in enumerate(values, 1):
        if value is None or value.isascii():
            continue
        try:
            value.encode()
        except UnicodeEncodeError:
            raise DataError(f"{what} {number} ({shown(value)}) holds half of a surrogate pair, which {but}") from None


def references_of_table(
    table: Table, columns: Mapping[str, str] | None = None, scale: tuple[float, float] | None = None
) -> Columns:
    """Make references of a table with a row per reference: id, text, and weight, score or one column per rater."""
    place = f"{table.source}: the first row"
    found = find_fields(table.names, REFERENCE_TITLES, columns, place, GOOD_BAD_TITLES | RATER_TITLES)
    if not {"good", "bad"} & found.keys():
        found = table.find(REFERENCE_TITLES, columns, RATER_TITLES)
    if "good" in found:
        found.pop("text", None)  # an answer beside good ones is what a system wrote
    rated = {"weight", "score", "ratings"} & found.keys()
    if "weight" in rated and len(rated) > 1:
        raise DataError(f"{place} has weights and ratings; say which to use, or take one out of the table")
    if "label" in found and (rated or not _are_labels(table, found["label"][0], "label" in (columns or {}))):
        del found["label"]
    if rated and {"good", "bad"} & found.keys():
        raise DataError(f"{place} has good or bad answers and also {some(rated)}; take one of them out of the table")
    unread = [title for title in table.names if title and title not in chain.from_iterable(found.values())]
    if not (rated or {"label", "good", "bad"} & found.keys()):
        for title in unread:
            _check_meant(table, title)
    seen = dict(found)
    if {"good", "bad"} & found.keys():
        table, found = _by_answer(table, found)
    elif "label" in found:
        signs = [str(label) if label else "" for label in _labels(table, found.pop("label")[0])]
        table = replace(table, columns={**table.columns, "weight": signs})
        found["weight"] = ("weight",)
    text: dict[str, Sequence[Any]] = {"text": table.columns[found["text"][0]]}
    for field in ("message", "origin"):
        if field in found:
            text[field] = [cell or None for cell in table.columns[found[field][0]]]
    weights, told = _table_weights(table, found, scale)
    tell_fields(seen, table.source, told, unread)
    if "id" in found:
        identities = [cell if cell.strip() else None for cell in table.columns[found["id"][0]]]
    else:
        identities = [table.default_id(row) for row in range(table.height)]
    collector = SegmentCollector(table.source)
    collector.add_rows(text | weights, identities, table.place)
    return collector.columns()


def _labels(table: Table, title: str) -> list[float | None]:
    return [LABEL_WEIGHTS.get(_label_of(cell)) for cell in table.columns[title]]


def _label_of(cell: str) -> str:
    return cell.strip().lower().removesuffix(".0")


def _are_labels(table: Table, title: str, named: bool) -> bool:
    """Return whether a column holds labels; raise an error if only some cells do, or the caller named it."""
    cells = [_label_of(cell) for cell in table.columns[title]]
    strange = [row for row, cell in enumerate(cells) if cell and cell not in LABEL_WEIGHTS]
    known = sum(cell != "" for cell in cells) - len(strange)
    if strange and (known or named):
        raise DataError(
            f"{table.place(strange[0])}: {title} must be good or bad (also correct or incorrect, 1 or 0), or empty, "
            f"not {shown(table.columns[title][strange[0]])}; if it is a weight or a rating, say so: "
            f"--columns weight={title}"
        )
    return known > 0


_ALIKE: Final = 0.8
_MEANT: Final = ("weight", "rating", "ratings", "label")


def _check_meant(table: Table, title: str) -> None:
    """Raise an error for a column that is not read, though its title is nearly that of weights and its cells fit."""
    close = difflib.get_close_matches(plain_title(title), _MEANT, n=1, cutoff=_ALIKE)
    cells = [_label_of(cell) for cell in map(str, table.columns.get(title, ())) if cell.strip()]
    if not close or not cells or plain_title(title) in _MEANT:
        return
    highest = 1 if close[0] == "weight" else HIGHEST_RATING
    field = "score" if close[0].startswith("rating") else close[0]
    numbers = [finite(cell) for cell in cells]
    fits = all(number is not None and -1 <= number <= highest for number in numbers)
    if fits or (close[0] == "label" and all(cell in LABEL_WEIGHTS for cell in cells)):
        raise DataError(
            f"{table.source}: the column {title} would not be read, though it looks like a {close[0]}; call it "
            f"{close[0]} (--columns {field}={title}), or take it out of the table"
        )


def _by_answer(table: Table, found: Mapping[str, tuple[str, ...]]) -> tuple[Table, dict[str, tuple[str, ...]]]:
    """Give every good and bad answer of a row a row of its own, with the weight 1 or -1."""
    heads = {field: found[field] for field in ("id", "message", "origin") if field in found}
    if "id" not in heads:
        table = replace(table, columns={**table.columns, "id": [table.default_id(row) for row in range(table.height)]})
        heads["id"] = ("id",)
    sides = [(title, "-1") for title in found.get("bad", ())]
    sides = [(title, "1") for title in (*found.get("good", ()), *found.get("text", ()))] + sides
    rows: list[int] = []
    texts: list[str] = []
    weights: list[str] = []
    for row in range(table.height):
        for title, weight in sides:
            for text in _answers(table.columns[title][row], table.place(row), title):
                rows.append(row)
                texts.append(text)
                weights.append(weight)
    columns = {title: [table.columns[title][row] for row in rows] for (title,) in heads.values()}
    columns |= {"text": texts, "weight": weights}
    melted = Table(table.source, table.names, columns, len(rows), [table.place(row) for row in rows])
    return melted, {**heads, "text": ("text",), "weight": ("weight",)}


def _answers(cell: str, place: str, title: str) -> list[str]:
    """Return the texts of a cell: one, or those of a JSON array."""
    if not cell.lstrip().startswith("["):
        return [cell] if cell.strip() else []
    try:
        texts = parse_json(cell)
    except ValueError:
        return [cell]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise DataError(f'{place}: {title} must be one text, or an array of texts such as ["yes", "sure"]')
    return texts


def _table_of_records(records: Iterable[tuple[str, Mapping[str, Any]]], name: str) -> Table:
    """Put records without an array of references into a table of texts, as CSV would hold them."""
    rows = list(records)
    titles = tuple(dict.fromkeys(chain.from_iterable(record for _, record in rows)))
    columns = {title: [_as_cell(record.get(title)) for _, record in rows] for title in titles}
    return Table(name, titles, columns, len(rows), [place for place, _ in rows])


def _as_cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json_line(value)


def _table_weights(
    table: Table, found: Mapping[str, Sequence[str]], scale: tuple[float, float] | None
) -> tuple[dict[str, Sequence[Any]], str]:
    """Return the columns of weights, standard errors and ratings, with None for what is not known, and the scale."""
    field = next((name for name in ("weight", "ratings", "score") if name in found), None)
    if scale is not None and field in (None, "weight"):
        what = "weights, not ratings" if field else "no ratings"
        raise UsageError(f"--scale has no effect, because {table.source} has {what}; leave it out")
    if field is None:
        return {}, ""
    rows = _numbers(table, found[field])
    if field == "weight":
        errors = _numbers(table, found.get("weight_se", ()))
        return {
            name: [next(iter(row.values()), None) for row in column]
            for name, column in (("weight", rows), ("weight_se", errors))
        }, ""
    given = [number for row in rows for number in row.values()]
    chosen = scale or guess_scale(given)
    if chosen is None:
        raise DataError(
            f"{table.source}: the ratings go from {min(given):g} to {max(given):g}; say on which scale they are: "
            "--scale LOW:HIGH"
        )
    low, high = chosen
    for row, ratings in enumerate(rows):
        if outside := [number for number in ratings.values() if not low <= number <= high]:
            raise DataError(
                f"{table.place(row)}: the rating {outside[0]:g} is outside the scale from {low:g} to {high:g}; "
                "correct it, or say on which scale the ratings are: --scale LOW:HIGH"
            )
    weights = [weight_on_scale([*row.values()], chosen) if row else None for row in rows]
    # A column of scores has means, and nobody knows of how many ratings.
    rated: list[Rated | None] = [
        tuple((title, weight_on_scale([number], chosen)) for title, number in row.items() if field == "ratings") or None
        for row in rows
    ]
    return {"weight": weights, "rated": rated}, f", on the scale {low:g}:{high:g}"


def _numbers(table: Table, titles: Sequence[str]) -> list[dict[str, float]]:
    """Return the numbers in some columns of each row, by title, without those of empty cells."""
    rows: list[dict[str, float]] = [{} for _ in range(table.height)]
    for title in titles:
        for row, cell in enumerate(table.columns[title]):
            if cell.strip():
                if (number := finite(cell)) is None:
                    hint = comma_hint(cell)
                    raise DataError(f"{table.place(row)}: {title} must be a number, or empty, not {shown(cell)}{hint}")
                rows[row][title] = number
    return rows


_FLAT: Final = frozenset(
    ["goodanswers", "goodanswer", "badanswers", "badanswer", "correctanswers", "incorrectanswers", "chosen", "label"]
)
"""Titles by which records of one reference each, or of good and bad answers, are told from segments."""


def _check_no_table(name: str, texts: Sequence[str]) -> None:
    known = {*REFERENCE_TITLES, *chain.from_iterable(REFERENCE_TITLES.values()), "rater", "system", "context"}
    known |= {f"{stem}{number}" for stem in ("r", "rater", "rating") for number in range(1, 21)}
    check_no_table(name, texts, known, ", and give it with --refs")


def read_any(
    path: PathLike, columns: Mapping[str, str] | None = None, scale: tuple[float, float] | None = None
) -> Columns:
    """Read one file of references, whichever form it has (see `References.read`)."""
    name = name_of(path)
    if (columns is not None or scale is not None) and not is_table_name(name):
        raise UsageError(f"--columns and --scale go with tables, and {name} is none; leave them out")
    with open_rows(path, WANTED, is_references_record) as (form, content):
        if form == "table":
            return references_of_table(content, columns, scale)
        if form == "parquet":
            return segments_from_table(content)
        if form == "jsonl":
            collector = SegmentCollector(name)
            first = list(islice(content, 1))
            content = chain(first, content)
            if first and "references" not in first[0][1] and _FLAT & set(map(plain_title, first[0][1])):
                return references_of_table(_table_of_records(content, name), columns, scale)
            for place, record in content:
                collector.add(record, place, base_name(place) if record.get("id") is None else "")
            return collector.columns()
        texts = list(content)
    _check_no_table(name, texts)
    return Columns(tuple(texts), np.arange(len(texts) + 1), source=name)


def is_references_record(line: str) -> bool:
    """Return whether a line is one segment as JSON, though the file's name does not say so."""
    return line.lstrip().startswith("{") and '"references"' in line


def check_plain(name: str, lines: Sequence[str] = ()) -> None:
    """Refuse a file that is not one reference per line, by its name or its first line."""
    structured = is_json_name(name) or is_table_name(name) or name.endswith((".parquet", ".pq", ".tbp"))
    _check_no_table(name, lines)
    if structured or (len(lines) and is_references_record(lines[0])):
        raise DataError(
            f"{name} holds whole segments, not one reference per line; give it with --refs (References.read)"
        )


def read_parallel(references: Sequence[PathLike], weights: Sequence[PathLike] = ()) -> Columns:
    """Read parallel files of references and of weights (see `References.read_parallel`)."""
    for paths in (references, weights):
        # A string is a sequence of strings to every type checker, so only this says it.
        if isinstance(paths, str):
            raise DataError(f"files must be given as a list, not as the string {shown(paths)}; wrap it in a list")
    if not references:
        raise DataError("there are no files of references; give at least one")
    if weights and len(weights) != len(references):
        raise DataError(
            f"{counted(len(references), 'file')} of references but {len(weights)} of weights "
            f"({some(map(name_of, weights))}); give one for each or none at all"
        )
    check_standard_input_once([*references, *weights])
    names, weight_names = list(map(name_of, references)), list(map(name_of, weights))
    for name in names:
        check_plain(name)  # by the name, before a table is taken for text that is no UTF-8
    columns, weight_columns = list(map(read_text_lines, references)), list(map(read_text_lines, weights))
    for name, column in zip(names, columns, strict=True):
        check_plain(name, column)
    for name, column in zip([*names, *weight_names], [*columns, *weight_columns], strict=True):
        check_length(name, len(column), names[0], len(columns[0]))
    return parallel_columns(columns, weight_columns, names, weight_names)


def parallel_columns(
    columns: Sequence[list[str]],
    weights: Sequence[list[str]],
    names: Sequence[str],
    weight_names: Sequence[str],
    before: int = 0,
) -> Columns:
    """Lay parallel lines flat, all columns being of one length; ``before`` is the number of lines that went before."""
    segments = len(columns[0])
    source = ", ".join(names)
    texts = tuple(columns[0] if len(columns) == 1 else chain.from_iterable(zip(*columns, strict=True)))
    if not weights:
        return Columns(texts, np.arange(segments + 1) * len(columns), source=source)
    table = np.empty((segments, len(columns)))
    for index, (name, lines) in enumerate(zip(weight_names, weights, strict=True)):
        table[:, index] = _weight_column(lines, name, before)
    there = ~np.isnan(table)
    counts = there.sum(axis=1)
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        word = "line" if len(empty) == 1 else "lines"
        raise DataError(
            f"{some(weight_names)}: no reference has a weight on {word} {some((empty + before + 1).tolist())}; "
            "give each segment at least one or leave the line out everywhere"
        )
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return Columns(tuple(compress(texts, there.ravel().tolist())), offsets, table[there], source=source)


def _weight_column(lines: list[str], name: str, before: int) -> NDArray[np.float64]:
    """Return one weight a line, NaN for an empty line; ``before`` is the number of lines that went before."""
    try:
        weights = np.fromiter((float(line) if line else np.nan for line in lines), np.float64, len(lines))
    except ValueError:
        weights = None
    # A line "nan" is a number to float() but not a weight, so NaN must come from empty lines alone.
    if weights is not None and np.count_nonzero(np.abs(weights) <= 1) + lines.count("") == len(lines):
        return weights
    return np.array([_weight(line, f"{name}:{number}") for number, line in enumerate(lines, before + 1)])


def _weight(line: str, place: str) -> float:
    if not line.strip():
        return float("nan")
    try:
        weight = float(line)
    except ValueError:
        raise DataError(
            f"{place}: a weight must be a number from -1 to 1, not {shown(line)}; "
            "leave the line empty where there is no reference"
        ) from None
    if problem := weight_problem(weight, "leave the line empty if there is no reference"):
        raise DataError(f"{place}: a weight {problem}")
    return weight


def check_length(name: str, length: int, other: str, expected: int) -> None:
    """Refuse a file that does not have as many lines as another one."""
    if length != expected:
        raise DataError(
            f"{name} has {counted(length, 'line')} but {other} has {expected}; every file needs one line per segment"
        )
