"""Files that exports of a study are written to."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any, Final

from trubleu.data.delimited import guarded
from trubleu.data.extras import polars_module
from trubleu.data.files import atomic_writer
from trubleu.data.frames import check_storable
from trubleu.data.jsonl import json_line
from trubleu.data.tables import write_parquet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.data.files import PathLike
    from trubleu.data.formats import Format

_TEXTS: Final = ("origin", "source", "source_message")
_SCORES: Final = ("score", "message", "response")


def write_log(path: PathLike, form: Format, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write a log in one of the formats; cells of CSV and TSV are safe from spreadsheets."""
    if form == "parquet":
        write_parquet(path, _log_frame(columns))
        return
    rows = zip(*columns.values(), strict=True)
    with atomic_writer(path) as stream:
        if form == "jsonl":
            for row in rows:
                stream.write(json_line(dict(zip(columns, row, strict=True))) + "\n")
            return
        # Everything in quotation marks: also a carriage return inside, which older versions of Python leave bare.
        writer = csv.writer(
            stream, delimiter="\t" if form == "tsv" else ",", lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC
        )
        writer.writerow(columns)
        writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> Any:
    if isinstance(value, bool | list):
        return json.dumps(value)
    return guarded(value) if isinstance(value, str) else value


def _log_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    polars = polars_module()
    types = {
        "id": polars.Int64, "at": polars.Int64, "kind": polars.String, "rater": polars.String, "item": polars.String,
        "scores": polars.List(polars.Int64), "counted": polars.Boolean, "milliseconds": polars.Int64,
        "answered_at": polars.Int64, "flipped": polars.Boolean, "note": polars.String,
    }  # fmt: skip
    return polars.DataFrame(dict(columns), schema=types)


def write_references(path: PathLike, form: Format, records: Sequence[Mapping[str, Any]]) -> None:
    """Write segments with their references as JSON lines or Parquet."""
    if form == "parquet":
        write_parquet(path, _references_frame(records))
        return
    with atomic_writer(path) as stream:
        for record in records:
            stream.write(json_line(dict(record)) + "\n")


def _references_frame(records: Sequence[Mapping[str, Any]]) -> Any:
    """Return a frame with a row a segment; what has no column of its own is JSON in the field ``extra``."""
    polars = polars_module()
    text = polars.String
    references = [[_flat_reference(each) for each in record["references"]] for record in records]
    for record in records:
        check_storable((record["id"], record.get("message"), *record["context"]), "segment")
        check_storable((each["text"] for each in record["references"]), "reference")
    fields = {
        "id": text, "text": text, "weight": polars.Float64, "ratings": polars.List(polars.Int64),
        **dict.fromkeys(_TEXTS, text), "rank": polars.Int64,
        "scores": polars.Struct(dict.fromkeys(_SCORES, polars.Float64)), "short": polars.Boolean, "extra": text,
    }  # fmt: skip
    types = {
        "id": text,
        "context": polars.List(text),
        "message": text,
        "references": polars.List(polars.Struct(fields)),
    }
    columns = {
        "id": [record["id"] for record in records],
        "context": [record["context"] for record in records],
        "message": [record.get("message") for record in records],
        "references": references,
    }
    return polars.DataFrame(columns, schema=types)


def _flat_reference(reference: Mapping[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {name: reference.get(name) for name in ("id", "text", "weight", "ratings")}
    known |= {name: value if isinstance(value := reference.get(name), str) else None for name in _TEXTS}
    rank = reference.get("rank")
    known["rank"] = rank if type(rank) is int and abs(rank) < 2**63 else None
    known["scores"] = _scores(reference.get("scores"))
    known["short"] = reference.get("short", False)
    rest = {name: value for name, value in reference.items() if name not in known or known[name] != value}
    known["extra"] = json.dumps(rest) if rest else None
    check_storable((known[name] for name in ("id", *_TEXTS)), "reference")
    return known


def _scores(given: object) -> dict[str, float | None] | None:
    """Return the scores of a mined candidate, None if they are anything else."""
    if not isinstance(given, dict) or set(given) != set(_SCORES):
        return None
    if not all(value is None or type(value) in (int, float) for value in given.values()):
        return None
    return {name: given[name] for name in _SCORES}
