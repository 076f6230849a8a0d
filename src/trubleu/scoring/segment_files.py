"""Segment scores in a folder of JSON Lines files, one part per range, for corpora of any size."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from trubleu._version import __version__
from trubleu.errors import DataError
from trubleu.execution.output_parts import PartsFolder, lines_of_parts
from trubleu.files import paths as places
from trubleu.files.jsonl import parse_object
from trubleu.results import SCHEMA
from trubleu.scoring.systems import SegmentRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.execution.output_parts import WrittenPart
    from trubleu.files.paths import PathLike
    from trubleu.metrics.base import Metric
    from trubleu.scoring.systems import ScoreReport

WHAT: Final = "scores of segments"

_quoted: Final = json.JSONEncoder().encode
_FIELDS: Final = asdict(SegmentRow(id="", system="", metric="", score=None)).keys()


def segments_folder(
    folder: PathLike, paths: Sequence[PathLike], systems: Sequence[str], metrics: Mapping[str, Metric]
) -> PartsFolder:
    """Return the folder for the segment scores of some files, ready for writing.

    Raises
    ------
    DataError
        If it holds the scores of other files, systems or metrics, or anything else.
    """
    files = [places.absolute(path) for path in paths]
    signatures = [(name, str(metric.signature())) for name, metric in metrics.items()]
    parts = PartsFolder.of(folder, WHAT, repr([__version__, files, list(systems), signatures]))
    parts.prepare()
    return parts


def segment_lines(ids: Sequence[str], scores: Mapping[tuple[str, str], Sequence[float]]) -> list[str]:
    r"""Return a line of JSON per segment, metric and system, ordered by segment.

    Examples
    --------
    >>> segment_lines(["1"], {("bleu-4", "A"): [12.5]})
    ['{"schema": 1, "id": "1", "system": "A", "metric": "bleu-4", "score": 12.5}\n']
    """
    begins = [f'{{"schema": {SCHEMA}, "id": {_quoted(segment)}, "system": ' for segment in ids]
    columns = []
    for (metric, system), values in scores.items():
        middle = f'{_quoted(system)}, "metric": {_quoted(metric)}, "score": '
        columns.append([f"{middle}{value!r}}}\n" if math.isfinite(value) else f"{middle}null}}\n" for value in values])
    return [begin + rest for begin, *rests in zip(begins, *columns, strict=True) for rest in rests]


def write_report_segments(parts: PartsFolder, report: ScoreReport, metrics: Mapping[str, Metric]) -> None:
    """Write the segment scores of an in-memory report as one part."""
    scores = {
        key: [row.score if row.score is not None else float("nan") for row in rows]
        for key, rows in groupby(report.segments, key=lambda row: (row.metric, row.system))
    }
    count = len(report.segments) // max(len(scores), 1)
    ids = [row.id for row in report.segments[:count]]
    with parts.part(0) as part:
        part.write(segment_lines(ids, scores))
        written = part.finish()
    commit_segments(parts, [written], report, metrics)


def commit_segments(
    parts: PartsFolder, written: Sequence[WrittenPart], report: ScoreReport, metrics: Mapping[str, Metric]
) -> None:
    """Write the manifest with all parts and the signatures."""
    signatures = {row.metric: row.signature for row in report.scores}
    about: dict[str, Any] = {
        "trubleu": __version__,
        "systems": list(report.systems),
        "metrics": [{"metric": name, "signature": signatures[name]} for name in metrics],
    }
    if report.left_out:
        about["left_out"] = [{"first": row.first, "last": row.last} for row in report.left_out]
    parts.commit(written, about)


def read_segment_scores(folder: PathLike) -> Iterator[SegmentRow]:
    """Yield the segment scores written by ``trubleu score --segments-to FOLDER``, in segment order.

    Parameters
    ----------
    folder
        A path, or an address such as ``s3://bucket/scores``.

    Raises
    ------
    DataError
        If the folder is not finished, or not what was written.

    Examples
    --------
    >>> list(read_segment_scores("no/folder"))
    Traceback (most recent call last):
    trubleu.errors.DataError: no/folder has no manifest.json: what is written there is not finished; finish it first
    """
    for number, line in enumerate(lines_of_parts(folder), 1):
        record: dict[str, Any] = parse_object(line, f"{folder}, row {number}")
        if record.keys() != _FIELDS:
            raise DataError(f"{folder}, row {number}: this is not a segment score; name a folder of --segments-to")
        yield SegmentRow(**record)
