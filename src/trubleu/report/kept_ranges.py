"""What is found out about a range of lines, and how it is kept in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from trubleu.data import places
from trubleu.engines.keeping import Kept, Packed
from trubleu.engines.output import WrittenPart
from trubleu.metrics.contract import Metric
from trubleu.report.counting import HeldWarnings
from trubleu.stats.grid import Cells
from trubleu.stats.sample import PartialSample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from trubleu.data.files import PathLike
    from trubleu.data.ranges import LineRange
    from trubleu.engines.output import PartsFolder
    from trubleu.report.counting import SegmentRow


@dataclass(frozen=True, slots=True)
class Placed:
    """A range of lines among those that are scored.

    Attributes
    ----------
    lines
        The range.
    row
        How many segments are scored before it: fewer than lines where ranges are left out.
    number
        How many ranges are scored before it.
    """

    lines: LineRange
    row: int
    number: int

    def __str__(self) -> str:
        return str(self.lines)


class RangeScores(NamedTuple):
    """What a worker found out about a range; a part that was written once need not be there any more."""

    samples: dict[tuple[str, str], PartialSample]
    reference_numbers: set[str | None]
    segment_rows: dict[tuple[str, str], list[SegmentRow]]
    held: HeldWarnings
    written: WrittenPart | None = None
    is_there: bool = True


ScoreOne = Callable[[Placed, Mapping[str, Metric]], RangeScores]
"""Scores one range."""


def kept_ranges(work: ScoreOne, folder: PathLike, job: str, parts: PartsFolder | None) -> ScoreOne:
    """Return the same with results kept in a folder that is there; ``job`` is what they depend on besides the range."""
    return Kept(
        function=work,
        folder=places.absolute(folder),
        content=partial(content, job),
        pack=_pack,
        unpack=partial(_unpack, parts),
    )


def content(job: str, placed: Placed) -> Iterator[bytes]:
    """Yield all that tells a range and what is done to it."""
    yield job.encode()
    yield repr((placed.row, placed.number, placed.lines.first, placed.lines.count)).encode()
    for spans in placed.lines.spans:
        for span in spans:
            yield span.digest()


def _pack(found: RangeScores) -> Packed:
    held = found.held.plain()
    arrays: dict[str, NDArray[Any]] = {}
    samples = []
    for number, ((system, metric), sample) in enumerate(found.samples.items()):
        blocks = sample.blocks is not None
        columns = sample.rows.shape[1]
        samples.append({"system": system, "metric": metric, "segments": sample.segments, "columns": columns})
        tables = {"rows": sample.rows, **_tables("chunks", sample.chunks), **_tables("blocks", sample.blocks)}
        samples[-1]["blocks"] = blocks
        arrays |= {f"{number} {name}": table.ravel() for name, table in tables.items()}
    header = {"samples": samples, "references": sorted(map(str, found.reference_numbers)), "held": held}
    return header | {"written": None if found.written is None else asdict(found.written)}, arrays


def _tables(name: str, cells: Cells | None) -> dict[str, NDArray[Any]]:
    return {} if cells is None else {f"{name} {part}": table for part, table in cells._asdict().items()}


def _unpack(parts: PartsFolder | None, header: dict[str, Any], array: Callable[[str], NDArray[Any]]) -> RangeScores:
    written = None if parts is None else WrittenPart(**header["written"])
    is_there = parts is None or written is None or parts.holds(written)
    samples: dict[tuple[str, str], PartialSample] = {}
    for number, sample in enumerate(header["samples"]):
        table = partial(_table, array, number, sample["columns"])
        blocks = _cells("blocks", table) if sample["blocks"] else None
        samples[sample["system"], sample["metric"]] = PartialSample(
            sample["segments"], table("rows"), _cells("chunks", table), blocks
        )
    held = HeldWarnings.from_plain(header["held"])
    return RangeScores(samples, set(header["references"]), {}, held, written, is_there)


def _table(array: Callable[[str], NDArray[Any]], number: int, columns: int, name: str) -> NDArray[Any]:
    return array(f"{number} {name}").reshape(-1, columns)


def _cells(name: str, table: Callable[[str], NDArray[Any]]) -> Cells:
    return Cells(*(table(f"{name} {part}") for part in Cells._fields))
