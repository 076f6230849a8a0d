"""Files of metrics' scores, as columns; `trubleu.data.metric_scores` says what they mean."""

from __future__ import annotations

import csv
import json
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from trubleu.data.delimited import check_width, delimited_rows, finite, finite_numbers
from trubleu.data.files import atomic_writer, is_standard, name_of, open_bytes, split_lines
from trubleu.data.formats import format_of
from trubleu.data.frames import check_storable
from trubleu.data.jsonl import json_line, parse_objects
from trubleu.data.labels import LabelBuilder, Labels
from trubleu.data.records import kind_of
from trubleu.data.tables import is_parquet
from trubleu.data.weights import shown
from trubleu.errors import DataError, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data.files import PathLike

SYSTEM_LABELS = ("metric", "language_pair", "testset", "system")
SEGMENT_LABELS = (*SYSTEM_LABELS, "segment")
#: A file with named columns may be without these.
OPTIONAL = ("language_pair", "testset")

_ALIASES = {"segment": ("item", "id"), "language_pair": ("lp", "langpair"), "testset": ("test_set",)}
_AT_ONCE = 1 << 10  # rows at once: they stay in the cache, and millions of strings never live together

Row: TypeAlias = tuple[str, list[str], str]
"""The place of a row, its labels, and its score as text."""


class RawScores(NamedTuple):
    """Columns as they were found, where they come from, and how to name one of their rows."""

    labels: dict[str, Labels]
    score: NDArray[np.float64]
    source: str
    place: Callable[[int], str]


def read_scores(path: PathLike, labels: Sequence[str]) -> RawScores:
    """Read a file of scores that has these labels (see `SegmentScores.read`)."""
    name = name_of(path)
    with open_bytes(path) as stream:
        if is_parquet(stream, name):
            raise DataError(f"{name} is a Parquet file; scores are read from .score files, CSV, TSV and JSON")
        lines = chain.from_iterable(split_lines(stream, name, keep_ends=True))
        beginning: list[str] = []
        for line in lines:
            beginning.append(line)
            if not line.isspace():
                break
        else:
            raise DataError(f"{name} is empty; a file of scores has {' '.join(labels).upper()} SCORE a line")
        return _gathered(_rows(chain(beginning, lines), beginning[-1], name, labels), name, labels)


def _rows(lines: Iterable[str], first: str, name: str, labels: Sequence[str]) -> Iterator[Row]:
    form = format_of(name)
    if form == "jsonl" or (form is None and first.lstrip().startswith("{") and "\t" not in first):
        return _json_rows(lines, first, name, labels)
    for delimiter in "\t,":
        titles = [title.strip().strip('"').lower() for title in first.split(delimiter)]
        if {"system", "score"} <= set(titles) and not any(finite(title) is not None for title in titles[len(labels) :]):
            return _named_rows(delimited_rows(lines, name, delimiter), name, labels)
    if form == "csv":
        return _named_rows(delimited_rows(lines, name, ","), name, labels)
    return _plain_rows(lines, name, labels)


def _plain_rows(lines: Iterable[str], name: str, labels: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a file without names of columns, as the metrics tasks of WMT have them."""
    width = len(labels)
    for number, line in enumerate(lines, 1):
        fields = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        if not any(fields):
            continue
        place = f"{name}:{number}"
        if len(fields) <= width:
            raise DataError(
                f"{place}: this line has {len(fields)} fields; it must have {' '.join(labels).upper()} SCORE"
            )
        if "segment" not in labels and len(fields) > width + 1 and finite(fields[width + 1]) is not None:
            raise DataError(f"{place}: this line has a score of one segment; here scores of whole systems are needed")
        yield place, fields[:width], fields[width]


def _named_rows(rows: Iterator[tuple[int, list[str]]], name: str, labels: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of CSV or TSV whose first line names the columns."""
    line, header = next(rows, (1, []))
    titles = [title.strip().lower() for title in header]
    columns = _columns(header, labels, f"{name}:{line}")
    score = columns.pop("score")
    places = [columns.get(label) for label in labels]
    # What `trubleu score --format csv` prints holds several tables.
    kind = titles.index("table") if "table" in titles else None
    wanted = _table(labels)
    for number, row in rows:
        place = f"{name}:{number}"
        check_width(row, header, place)
        if (kind is None or row[kind] == wanted) and row[score].strip():
            yield place, [row[index] if index is not None else "" for index in places], row[score]


def _json_rows(lines: Iterable[str], first: str, name: str, labels: Sequence[str]) -> Iterator[Row]:
    for place, record in _json_records(lines, first, name, _table(labels)):
        columns = _columns(list(record), labels, place)
        values = list(record.values())
        score = values[columns.pop("score")]
        if score is None:
            continue
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise DataError(f"{place}: score must be a finite number, not {kind_of(score)}")
        found = [_text(values[columns[label]], label, place) if label in columns else "" for label in labels]
        yield place, found, repr(score)


def _json_records(lines: Iterable[str], first: str, name: str, table: str) -> Iterable[tuple[str, dict[str, Any]]]:
    """Return the objects of JSON lines, or the rows of one table of what `trubleu score --format json` prints."""
    alone = _parsed(first)
    if isinstance(alone, dict) and not alone.keys() & {"scores", "segments"}:
        return parse_objects(lines, name)
    everything = list(lines)
    document = _parsed("".join(everything))
    if not isinstance(document, dict):
        return parse_objects(everything, name)  # which says what is wrong, and where
    rows = document.get(table)
    if not isinstance(rows, list) or not rows:
        hint = "run trubleu score with --segments" if table == "segments" else "give what trubleu score prints"
        raise DataError(f"{name} holds no {table}; {hint}")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataError(f"{name}: row {number} of {table} must be an object, not {kind_of(row)}")
    return [(f"{name}: row {number} of {table}", row) for number, row in enumerate(rows, 1)]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(value: Any, label: str, place: str) -> str:
    if value is None and label in OPTIONAL:
        return ""
    if type(value) is int:
        return str(value)
    if not isinstance(value, str):
        raise DataError(f"{place}: {label} must be a string, not {kind_of(value)}")
    return value


def _table(labels: Sequence[str]) -> str:
    """Return what `trubleu score` calls its table of such rows."""
    return "segments" if "segment" in labels else "scores"


def _columns(header: Sequence[str], labels: Sequence[str], place: str) -> dict[str, int]:
    """Return where each label and the score are; a label's own name goes before its other names."""
    found: dict[str, int] = {}
    titles = [title.strip().lower() for title in header]
    for label in (*labels, "score"):
        names = [label] if label in titles else [name for name in _ALIASES.get(label, ()) if name in titles]
        if len(names) > 1:
            raise DataError(f"{place}: both {' and '.join(names)} could be the {label}; call one of them {label}")
        if not names and label not in OPTIONAL:
            raise DataError(f"{place}: the column {label} must be there; columns found: {some(header)}")
        for name in names:
            if titles.count(name) > 1:
                raise DataError(f"{place}: there are {titles.count(name)} columns {name}; leave only one of them")
            found[label] = titles.index(name)
    return found


def _gathered(rows: Iterator[Row], name: str, labels: Sequence[str]) -> RawScores:
    builders = [LabelBuilder() for _ in labels]
    places: list[str] = []
    scores = [np.zeros(0)]
    while piece := list(islice(rows, _AT_ONCE)):
        found, fields, texts = zip(*piece, strict=True)
        scores.append(np.array(finite_numbers(texts, "score", found.__getitem__)))
        for builder, column in zip(builders, zip(*fields, strict=True), strict=True):
            builder.add(column)
        places += found
    if not places:
        raise DataError(f"{name} holds no scores; a file of scores has {' '.join(labels).upper()} SCORE a line")
    columns = {label: builder.build() for label, builder in zip(labels, builders, strict=True)}
    return RawScores(columns, np.concatenate(scores), name, places.__getitem__)


def write_scores(path: PathLike, labels: Mapping[str, Labels], score: NDArray[np.float64]) -> None:
    """Write checked columns in the format that the path asks for (see `SegmentScores.write`)."""
    form = None if is_standard(path) else format_of(name_of(path))
    if form == "parquet":
        raise DataError(f"{name_of(path)}: scores are not written as Parquet; let the name end in .score or .csv")
    if form is None:
        _check_plain(labels)
    else:
        labels = {label: column for label, column in labels.items() if label not in OPTIONAL or any(column.names)}
    if form != "jsonl":
        for label, column in labels.items():
            check_storable(column.names, label)
    rows = zip(*labels.values(), map(float, score), strict=True)
    with atomic_writer(path) as stream:
        if form == "jsonl":
            stream.writelines(json_line(dict(zip((*labels, "score"), row, strict=True))) + "\n" for row in rows)
        elif form is None:
            stream.writelines("\t".join((*names, repr(number))) + "\n" for *names, number in rows)
        else:
            # A carriage return is put into quotation marks by newer versions of Python only.
            bare = any("\r" in name for column in labels.values() for name in column.names)
            writer = csv.writer(
                stream,
                delimiter="\t" if form == "tsv" else ",",
                lineterminator="\n",
                quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL,
            )
            writer.writerow((*labels, "score"))
            writer.writerows(rows)


def _check_plain(labels: Mapping[str, Labels]) -> None:
    for label, column in labels.items():
        for name in column.names:
            if not name:
                raise DataError(
                    f"a .score file names the {label} of every score, but it is not known here; "
                    f"give it ({label}=...) or write a .csv file"
                )
            if "\t" in name or "\n" in name or name.startswith("\ufeff"):
                raise DataError(
                    f"the {label} {shown(name)} holds a tab, a line feed or a byte order mark, which a .score file "
                    "cannot hold; write a .csv file"
                )
