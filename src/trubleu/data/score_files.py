"""Files of segment scores, as the tools that compute them write them: COMET, BERTScore, MetricX, mt-metrics-eval."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from trubleu.data.categorical import Labels
from trubleu.data.sidecars import check_value, file_digest, read_sidecar
from trubleu.errors import DataError, UsageError, counted, shown
from trubleu.files.compression import without_suffix
from trubleu.files.jsonl import kind_of, parse_json, parse_objects
from trubleu.files.lines import open_bytes, split_lines
from trubleu.files.parquet import is_parquet
from trubleu.files.paths import (
    base_name,
    format_of,
    is_file,
    is_standard,
    name_of,
)
from trubleu.files.tables import check_width, delimited_rows, find_required, finite, plain_title, unguarded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trubleu.files.paths import PathLike


LABELS: Final = ("metric", "language_pair", "testset", "system", "segment")

FORMS: Final = (
    "what comet-score, comet-compare, bert-score and MetricX write, WMT's .seg.score, a table with system, id and "
    "score, a column per system, or one number per line"
)
"""What scores are read from, for messages."""

_ALIASES: Final = {
    "system": ("system_id",),
    "segment": ("item", "id", "segment_id", "seg_id"),
    "language_pair": ("lp", "langpair"),
}
_OPTIONAL: Final = ("metric", "language_pair", "testset", "system", "segment")
_WMT_LINE: Final = " ".join((*LABELS, "score")).upper()
_PAIR: Final = 2
_NOTHING: Final = "None"
"""What mt-metrics-eval writes where there is no score."""

_COMET_LINE: Final = re.compile(r"(.+)\tSegment (\d+)\tscore: (\S+)(?:\tvariance: \S+)?")
_COMET_TOTAL: Final = re.compile(r".+\tscore: \S+")
_BERT_SCORE_HEAD: Final = re.compile(r"(\S+) P: \S+ R: \S+ F1: \S+")
_BERT_SCORES: Final = 3
_SCORE_KEYS: Final = ("score", "prediction", "COMET")
_METRICX: Final = "prediction"


class ScoreRow(NamedTuple):
    """A row of a file, which need not name everything.

    Attributes
    ----------
    metric, language_pair, testset, system
        Empty if the row does not name them.
    segment
        Its id, or its place in the order, from 1; None for the one after the system's last.
    score
        None where there is none.
    """

    place: str
    metric: str
    language_pair: str
    testset: str
    system: str
    segment: str | int | None
    score: str | float | None


Rows: TypeAlias = "Iterable[ScoreRow]"


class Parsed(NamedTuple):
    """The rows of a file and what its form says.

    Attributes
    ----------
    rows
        In the order of the file.
    metric
        The name of the metric whose form this is, if it has one.
    error
        Whether lower is better.
    about
        What the file says of the model.
    """

    rows: Rows
    metric: str | None = None
    error: bool = False
    about: Mapping[str, str] = {}


def read_scores(
    path: PathLike, metric: str | None = None, system: str | None = None, *, sidecar: bool = True
) -> dict[str, Any]:
    """Read the columns of a file of scores (see `trubleu.data.SegmentScores.read`), with or without its sidecar."""
    name = name_of(path)
    with open_bytes(path) as stream:
        if is_parquet(stream, name):
            raise DataError(f"{name} is a Parquet file; scores are read from {FORMS}")
        lines = [*chain.from_iterable(split_lines(stream, name, keep_ends=True))]
    first = next((line for line in lines if not line.isspace()), None)
    if first is None:
        raise DataError(f"{name} is empty; scores are read from {FORMS}")
    parsed = _parsed(lines, first, name)
    found = _columns(parsed, name, metric, system)
    # A pipe cannot be read again.
    digest = {"sha256": file_digest(path)} if not is_standard(path) and is_file(path) else {}
    beside = read_sidecar(path, digest.get("sha256")) if sidecar else {}
    return found | {"about": {**parsed.about, **digest, **beside}}


def default_metric(name: str) -> str:
    """Return the name of a metric that neither the file nor the user names: the file's.

    Examples
    --------
    >>> default_metric("metric-scores/en-de/COMET-refA.seg.score"), default_metric("bleurt.tsv.gz")
    ('COMET-refA', 'bleurt')
    """
    bare = without_suffix(base_name(name))
    return bare.removesuffix(".seg.score") if bare.endswith(".seg.score") else bare.rpartition(".")[0] or bare


def _parsed(lines: list[str], first: str, name: str) -> Parsed:
    form = format_of(name)
    tabled = form in ("csv", "tsv") or "\t" in first
    if form == "jsonl" or (not tabled and first.lstrip().startswith(("{", "["))):
        return _of_json(lines, first, name)
    if not tabled or "\tscore: " in first or "\tSegment " in first:
        for parse in (_of_comet, _of_bert_score):
            if (found := parse(lines, name)) is not None:
                return found
    for delimiter in "\t,":
        titles = [title.strip().strip('"').lower() for title in first.split(delimiter)]
        if {"system", "score"} <= set(titles) and not any(finite(title) is not None for title in titles[len(LABELS) :]):
            return Parsed(_named_rows(delimited_rows(lines, name, delimiter), name))
    delimiter = "," if form == "csv" or ("," in first and "\t" not in first) else "\t"
    if tabled or "," in first:
        head, *rows = [*delimited_rows(lines[:3], name, delimiter)] if form == "csv" else [*_fields(lines[:3])]
        if rows and _of_systems(head[1], rows[0][1]):
            return Parsed(_system_rows(delimited_rows(lines, name, delimiter), name))
    elif finite(first) is None and len(lines) > 1 and finite(lines[1].strip()) is not None and len(first.split()) == 1:
        return Parsed(_system_rows(_fields(lines), name))
    if form == "csv":
        return Parsed(_named_rows(delimited_rows(lines, name, ","), name))
    fields = next(_fields([first]))[1]
    if len(fields) == 1 and (finite(fields[0]) is not None or fields == [_NOTHING] or fields[0].lower() == "nan"):
        return Parsed(_numbers(lines, name))
    return Parsed(_pairs(lines, name) if len(fields) == _PAIR else _wmt_rows(lines, name))


def _fields(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, 1):
        fields = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        if any(fields):
            yield number, fields


def _wmt_rows(lines: Iterable[str], name: str) -> Rows:
    """Yield the rows of a file without names of columns, as the metrics tasks of WMT have them."""
    width = len(LABELS)
    for number, fields in _fields(lines):
        place = f"{name}:{number}"
        if len(fields) <= width:
            raise DataError(
                f"{place}: this line has {counted(len(fields), 'field')}; it must have {_WMT_LINE}, or SYSTEM SCORE"
            )
        metric, language_pair, testset, system, segment = fields[:width]
        yield ScoreRow(place, metric or " ", language_pair, testset, system or " ", segment or " ", fields[width])


def _pairs(lines: Iterable[str], name: str) -> Rows:
    """Yield the rows of mt-metrics-eval: SYSTEM SCORE, the segments of a system in order."""
    for number, fields in _fields(lines):
        place = f"{name}:{number}"
        if len(fields) != _PAIR:
            raise DataError(
                f"{place}: this line has {counted(len(fields), 'field')}, but the first has 2; "
                "it must have SYSTEM SCORE, as the others"
            )
        yield ScoreRow(place, "", "", "", fields[0] or " ", None, None if fields[1] == _NOTHING else fields[1])


def _numbers(lines: Iterable[str], name: str) -> Rows:
    for number, fields in _fields(lines):
        yield ScoreRow(f"{name}:{number}", "", "", "", "", None, " ".join(fields))


def _of_systems(titles: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether a table has a column for each system, and maybe one of ids."""
    systems = [at for at, title in enumerate(titles) if plain_title(title) not in _IDS]
    named = all(title.strip() and finite(title) is None for title in titles)
    known = {plain_title(title) for title in titles} & {"score", "metric", "system"}
    numbers = len(row) == len(titles) and all(finite(row[at]) is not None for at in systems)
    return bool(systems) and named and not known and numbers


_IDS: Final = {plain_title(title) for title in ("segment", *_ALIASES["segment"])}


def _system_rows(rows: Iterator[tuple[int, list[str]]], name: str) -> Rows:
    """Yield the rows of a table with a column for each system."""
    _, titles = next(rows)
    ids = next((at for at, title in enumerate(titles) if plain_title(title) in _IDS), None)
    for number, row in rows:
        place = f"{name}:{number}"
        check_width(row, titles, place)
        for at, title in enumerate(titles):
            if at != ids:
                yield ScoreRow(place, "", "", "", title.strip(), None if ids is None else row[ids], row[at])


def _named_rows(rows: Iterator[tuple[int, list[str]]], name: str) -> Rows:
    """Yield the rows of CSV or TSV whose first line names the columns."""
    line, header = next(rows, (1, []))
    titles = [title.strip().lower() for title in header]
    wanted = {label: _ALIASES.get(label, ()) for label in (*LABELS, "score")}
    columns = find_required([*map(str.strip, header)], wanted, f"{name}:{line}", _OPTIONAL)
    score = columns.pop("score")
    labels = [columns.get(label) for label in LABELS]
    # What `trubleu score --format csv` prints holds several tables.
    kind = titles.index("table") if "table" in titles else None
    unescaped = str if kind is None else unguarded
    for number, row in rows:
        place = f"{name}:{number}"
        check_width(row, header, place)
        if kind is None or row[kind] == "segments":
            metric, language_pair, testset, system, segment = (
                None if index is None else unescaped(row[index]) for index in labels
            )
            yield ScoreRow(
                place,
                _named(metric),
                language_pair or "",
                testset or "",
                _named(system),
                None if segment is None else _named(segment),
                row[score] if row[score].strip() else None,
            )


def _named(cell: str | None) -> str:
    """Return a cell of a column that may not be there; an empty one is an error later, because it names nothing."""
    return "" if cell is None else cell or " "


def _of_comet(lines: Iterable[str], name: str) -> Parsed | None:
    """Parse what comet-score prints; nothing else that it prints is a score of a segment."""
    text = [line.rstrip("\r\n") for line in lines]
    matched = [(number, found) for number, line in enumerate(text, 1) if (found := _COMET_LINE.fullmatch(line))]
    if not matched:
        if any(line.startswith("x_name: ") for line in text):
            raise DataError(f"{name} has no scores of segments; give the file that comet-compare --to_json writes")
        if all(_COMET_TOTAL.fullmatch(line) for line in text if line.strip()):
            raise DataError(f"{name} has no scores of segments; run comet-score without --quiet, or with --to_json")
        return None
    rows = [
        ScoreRow(f"{name}:{number}", "", "", "", found[1], int(found[2]) + 1, found[3]) for number, found in matched
    ]
    return Parsed(rows, "COMET")


def _of_bert_score(lines: Sequence[str], name: str) -> Parsed | None:
    """Parse what bert-score -s prints: a line with the model, then precision, recall and F1 of each segment."""
    heads = ((number, _BERT_SCORE_HEAD.fullmatch(line.strip())) for number, line in enumerate(lines))
    number, head = next((found for found in heads if found[1]), (0, None))
    if head is None:
        return None
    rows = []
    for place, fields in ((f"{name}:{number + 1 + at}", each) for at, each in _fields(lines[number + 1 :])):
        if len(fields) != _BERT_SCORES:
            raise DataError(
                f"{place}: this line has {counted(len(fields), 'field')}; bert-score prints precision, recall and F1"
            )
        rows.append(ScoreRow(place, "", "", "", "", None, fields[-1]))
    if not rows:
        raise DataError(f"{name} has no scores of segments; run bert-score with -s")
    return Parsed(rows, "BERTScore", about={"model": head[1].replace("|", "_")})


def _of_json(lines: list[str], first: str, name: str) -> Parsed:
    """Parse JSON lines, or a whole file that is JSON."""
    if _is_json_lines(lines, first):
        return _of_records([*parse_objects(lines, name)], name)
    try:
        value = parse_json("".join(lines).removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise DataError(f"{name}:{error.lineno}: this is not JSON: {error.msg} at column {error.colno}") from error
    except (RecursionError, ValueError) as error:
        raise DataError(f"{name}: this JSON cannot be read: {error}") from error
    match value:
        case {"translations": [*systems]} if all(isinstance(each, dict) for each in systems):
            model = value.get("model")
            lists = {str(each.get("name", "")): each.get("scores") for each in systems}
            if len(lists) < len(systems):
                raise DataError(f"{name}: two translations have the same name; score each file once")
            about = {"model": check_value("model", model, name)} if model else {}
            return Parsed(_of_lists(lists, name), "COMET", about=about)
        case {"segments": [*records]}:
            return _of_records(_numbered(records, name), name)
        case [dict(), *_]:
            return _of_records(_numbered(value, name), name)
        case {"scores": [*scores]} | [*scores]:
            return Parsed(_of_lists({"": scores}, name))
        case dict() if any(key in value for key in _SCORE_KEYS):
            return _of_records([(f"{name}:1", value)], name)
        case dict() if value and all(isinstance(each, list) for each in value.values()):
            if not all(isinstance(row, dict) for each in value.values() for row in each):
                return Parsed(_of_lists(value, name))
            parts = (
                (place, {**row, "system": system})
                for system, each in value.items()
                for place, row in _numbered(each, f"{name}: {system}")
            )
            return _of_records([*parts], name)
    raise DataError(f"{name} is JSON without scores of segments; scores are read from {FORMS}")


def _numbered(records: Sequence[Any], name: str) -> list[tuple[str, Any]]:
    return [(f"{name}: record {number}", record) for number, record in enumerate(records, 1)]


def _is_json_lines(lines: Sequence[str], first: str) -> bool:
    """Return whether a file is JSON lines: its first line is an object of its own."""
    try:
        value = parse_json(first)
    except (ValueError, RecursionError):
        return False
    several = any(not line.isspace() for line in lines[lines.index(first) + 1 :])
    return several or (isinstance(value, dict) and any(key in value for key in _SCORE_KEYS))


def _of_lists(lists: Mapping[str, Any], name: str) -> Rows:
    for system, scores in lists.items():
        if not isinstance(scores, list):
            raise DataError(f"{name}: {system}: the scores must be an array of numbers, not {kind_of(scores)}")
        for at, score in enumerate(scores, 1):
            place = f"{name}: {system + ', ' if system else ''}segment {at}"
            yield ScoreRow(place, "", "", "", system, None, _number(score, place))


def _of_records(records: Sequence[tuple[str, Any]], name: str) -> Parsed:
    """Parse objects with a score each, and maybe a system, a segment and a metric."""
    first = records[0][1] if records else {}
    keys = [key for key in _SCORE_KEYS if isinstance(first, dict) and key in first]
    if not keys:
        raise DataError(f"{name}: a record must have one of {', '.join(_SCORE_KEYS)}; scores are read from {FORMS}")
    key = keys[0]
    metricx = key == _METRICX
    rows = []
    for place, record in records:
        if not isinstance(record, dict):
            raise DataError(f"{place}: a record must be a JSON object, not {kind_of(record)}")
        if key not in record:
            raise DataError(f"{place}: {key} is missing; the first record has it")
        segment: str | int | None = None
        if (named := next((record[each] for each in ("segment", "item", "id") if each in record), None)) is not None:
            segment = str(named)
        elif isinstance(at := record.get("segment_id"), int):
            segment = at + 1 if metricx else str(at)  # MetricX numbers segments from 0
        labels = [record.get("metric"), record.get("language_pair"), record.get("testset")]
        labels.append(record.get("system", record.get("system_id")))
        metric, language_pair, testset, system = ("" if each is None else str(each) for each in labels)
        score = _number(record[key], place)
        rows.append(ScoreRow(place, metric, language_pair, testset, system, segment, score))
    form = "MetricX" if metricx else "COMET" if key == "COMET" else None
    return Parsed(rows, form, error=metricx)


def _number(value: object, place: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        return float(value)
    raise DataError(f"{place}: score must be a finite number, not {shown(value)}")


def _columns(parsed: Parsed, name: str, metric: str | None, system: str | None) -> dict[str, Any]:
    """Return the columns of `trubleu.data.SegmentScores`: what is not named gets a name, or a number."""
    columns: list[list[str]] = [[] for _ in LABELS]
    places: list[str] = []
    scores: list[float] = []
    sizes: Counter[str] = Counter()
    unnamed = False
    usual = metric or parsed.metric or default_metric(name)
    for row in parsed.rows:
        unnamed |= not row.system
        labels = [row.metric or usual, row.language_pair, row.testset, row.system or system or default_metric(name)]
        if isinstance(row.segment, str):
            labels.append(row.segment)
        else:
            place = sizes[labels[3]] + 1 if row.segment is None else row.segment
            sizes[labels[3]] = max(sizes[labels[3]], place)
            labels.append(str(place))
        if row.score is None:
            continue
        score = finite(row.score) if isinstance(row.score, str) else row.score
        if score is None:
            raise DataError(f"{row.place}: score must be a finite number, not {shown(row.score)}")
        scores.append(score)
        places.append(row.place)
        for column, label in zip(columns, labels, strict=True):
            column.append(sys.intern(label))  # few distinct strings, millions of times
    if not places:
        raise DataError(f"{name} has no scores of segments; scores are read from {FORMS}")
    found = dict(zip(LABELS, map(Labels, columns), strict=True))
    if system is not None and not unnamed:
        raise UsageError(f"{name} names its systems itself; write --scores NAME=FILE, without :{system}")
    if metric is not None:
        names = found["metric"].names
        if len(names) > 1:
            raise UsageError(f"{name} has scores of {counted(len(names), 'metric')}; give it without {metric}=")
        found["metric"] = Labels([metric] * len(places))
    elif unnamed and parsed.metric is None and len(found["metric"].names) == 1 and found["metric"].names[0] == usual:
        raise UsageError(f"{name} names no metric; name it, as in --scores comet={name}")
    return {
        **found,
        "score": scores,
        "source": name,
        "place": places.__getitem__,
        "sizes": dict(sizes) or None,
        "unnamed": unnamed and system is None,
        "lower_is_better": parsed.error,
    }
