"""Score large files by ranges of rows on any engine, with cached ranges, bit-identical to one process; segment scores.

Scores of segments are a folder of JSON Lines files, one part per range, for corpora of any size.
"""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu._version import __version__
from trubleu.data import References
from trubleu.data.corpus import PART, LineRange
from trubleu.errors import BadPartitionsError, DataError, UsageError, some
from trubleu.execution.base import mapped
from trubleu.execution.cache import Cache, Packed
from trubleu.execution.captured_warnings import HeldWarnings
from trubleu.execution.hashing import held, outside_sources
from trubleu.execution.output_parts import PartsFolder, WrittenPart, lines_of_parts, prepare_folder
from trubleu.execution.serialization import Packing
from trubleu.files import paths as places
from trubleu.files.jsonl import parse_object
from trubleu.metrics.base import Metric
from trubleu.metrics.corpus_weights import Learned, LearningMetric, NgramCounts
from trubleu.progress import no_steps
from trubleu.results import SCHEMA
from trubleu.scoring.systems import Collected, LeftOutRow, Sampling, SegmentRow, check_sampling, report, score_systems
from trubleu.stats import PartialBuilder, SampleBuilder
from trubleu.stats.sample import PartialSample, block_number
from trubleu.stats.sums import Cells
from trubleu.text.tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.data import LineStream
    from trubleu.execution import Engine
    from trubleu.files.paths import PathLike
    from trubleu.files.ranges import Mapped
    from trubleu.progress import Progress, Steps
    from trubleu.scoring.systems import ScoreReport, Sink


MakeMetrics = Callable[[], Mapping[str, Metric]]
"""Factory of the metrics by name; called on each worker, so metrics are not pickled."""

_PACKING: Final = Packing((PartialSample, Cells, WrittenPart))


def learn_range(
    files: LineStream, threads: int | None, lines: LineRange, metrics: Mapping[str, Metric]
) -> dict[str, NgramCounts]:
    """Count n-grams in the references of a range, for metrics that learn from them.

    Parameters
    ----------
    files
        The corpus, without outputs.
    threads
        How many threads to use; None for all cores.
    lines
        The range.
    metrics
        Those of this worker.
    """
    sums: dict[str, NgramCounts] = {}
    for references, _ in lines.parts(files):
        add_counts(
            sums, {name: metric.counts(references, threads) for name, metric in learning_in_parts(metrics).items()}
        )
    return sums


def add_counts(sums: dict[str, NgramCounts], counts: Mapping[str, NgramCounts]) -> None:
    """Add the counts of another part for each metric."""
    for name, each in counts.items():
        if name in sums:
            sums[name].add_counts(each)
        else:
            sums[name] = each


def learning_in_parts(metrics: Mapping[str, Metric]) -> dict[str, LearningMetric]:
    """Return the metrics that learn from the references of all segments.

    Raises
    ------
    UsageError
        If what one of them learns does not add up over parts.
    """
    learning = {name: metric for name, metric in metrics.items() if metric.learns}
    if whole := [name for name, metric in learning.items() if metric.among_outputs]:
        raise UsageError(
            f"{some(whole)} must see all outputs of a system at once; score whole files (no folder, no --engine)"
        )
    if other := [name for name, metric in learning.items() if not isinstance(metric, LearningMetric)]:
        raise UsageError(
            f"{some(other)} needs the references of all segments before it can score one, and what it learns does not "
            "add up over parts of them; score whole files (no folder, no --engine), or let it learn from another corpus"
        )
    return {name: metric for name, metric in learning.items() if isinstance(metric, LearningMetric)}


def references_only(files: LineStream) -> LineStream:
    """Return a corpus without outputs and messages."""
    kept = len(files.references) + len(files.weights)
    return replace(files, systems={}, source=None, forms=files.forms[:kept], columns=())


def _pack_counts(found: dict[str, NgramCounts]) -> Packed | None:
    return _PACKING.pack({name: counts.plain() for name, counts in found.items()})


def _unpack_counts(header: dict[str, Any], array: Callable[[str], NDArray[Any]]) -> dict[str, NgramCounts]:
    found = _PACKING.unpack(header, array)
    return {name: NgramCounts.from_plain(values, arrays) for name, (values, arrays) in found.items()}


def _taught(metrics: MakeMetrics, learned: Mapping[str, Learned]) -> dict[str, Metric]:
    """Make metrics that know what they have learned."""
    made = metrics()
    return {**made, **{name: metric.knowing(learned[name]) for name, metric in learning_in_parts(made).items()}}


def same_metrics(metrics: MakeMetrics, signatures: Sequence[tuple[str, str]]) -> Mapping[str, Metric]:
    """Create metrics on a worker and check that they are the same as the caller's.

    Parameters
    ----------
    metrics
        Makes them.
    signatures
        What they were there, as `signatures_of` tells.

    Raises
    ------
    UsageError
        If a signature differs, as a file that the metric needs is another one here; with the name of this node.
    """
    made = metrics()
    for (name, here), (_, there) in zip(signatures_of(made), signatures, strict=True):
        if here != there:
            raise UsageError(
                f"the metric {name} is {here} on the node {socket.gethostname()}, but {there} where the work was "
                "begun; let every node find the same vectors, corpora and code under the same paths"
            )
    return made


def signatures_of(metrics: Mapping[str, Metric]) -> tuple[tuple[str, str], ...]:
    """Return the signatures of metrics by name."""
    return tuple((name, str(metric.signature())) for name, metric in metrics.items())


@dataclass(frozen=True, slots=True)
class Placed:
    """A range of lines with its position among all scored lines.

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
    """Results of a worker for a range; a part that it wrote may have been removed since."""

    samples: dict[tuple[str, str], PartialSample]
    reference_numbers: list[str | None]
    segment_rows: dict[tuple[str, str], list[SegmentRow]]
    held: HeldWarnings
    written: WrittenPart | None = None
    is_there: bool = True


def _content(job: str, lines: LineRange | Placed) -> list[object]:
    """Return everything that identifies a range and its computation, for hashing."""
    place: list[object] = [job]
    if isinstance(lines, Placed):
        place += [lines.row, lines.number]
        lines = lines.lines
    return [*place, lines.first, lines.count, *(span.digest() for spans in lines.spans for span in spans)]


def _pack_scores(found: RangeScores) -> Packed | None:
    return _PACKING.pack((found.samples, found.reference_numbers, found.held.plain(), found.written))


def _unpack_scores(
    parts: PartsFolder | None, header: dict[str, Any], array: Callable[[str], NDArray[Any]]
) -> RangeScores:
    samples, reference_numbers, held, written = _PACKING.unpack(header, array)
    is_there = parts is None or written is None or parts.holds(written)
    return RangeScores(samples, reference_numbers, {}, HeldWarnings.from_plain(held), written, is_there)


def _fit(count: int, placed: Placed, found: RangeScores) -> bool:
    """Return whether a cached result has the shape of a range."""
    return all(sample.fits(count, placed.row, len(placed.lines)) for sample in found.samples.values())


RANGES: Final = 256
"""Target number of ranges of a large corpus. Ranges depend on the corpus alone, so results cached on one cluster are
found on another.
"""

SMALLEST: Final = PART // 8
LARGEST: Final = 16 * PART
"""Minimum and maximum lines per range: the work lost with a worker, and a step of the progress bar."""


def score_files(
    files: LineStream,
    metrics: MakeMetrics,
    engine: Engine | None = None,
    *,
    sampling: Sampling | None = None,
    segments: bool = False,
    segments_to: PathLike | None = None,
    skip_bad: bool = False,
    rows: int | None = None,
    keep: PathLike | None = None,
    cache: Cache | None = None,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> ScoreReport:
    """Score large files by ranges of rows; bit-identical to `score_parts`.

    Metrics that learn from all references do so in a first pass, and every worker holds what they have learned.

    Parameters
    ----------
    files
        The files; their rows are counted here unless that was done. Workers must find them under the same paths.
    metrics
        Makes the metrics; a function that workers can import, or `functools.partial` of one.
    engine
        Where to work; None for this process, where the first row that cannot be used ends the work.
    sampling, segments, steps
        As for `score_systems`.
    segments_to
        A folder for the scores of segments, which workers write there instead of sending them; what
        `read_segment_scores` reads.
    skip_bad
        Whether to leave out ranges that cannot be used, with a warning, and to score the rest; needs an engine.
    rows
        How many rows a range has; what suits the corpus if nothing is said. No number depends on it.
    keep
        A folder for what was found out about each range, all workers': ranges that are found there by what their rows
        and all else hold are not scored again.
    cache
        How it is kept: with which key, and whether what is there is used.
    threads
        How many threads to use if there is no engine; None for all cores.

    Raises
    ------
    BadPartitionsError
        If some rows cannot be used, naming the ranges.
    EngineError
        If something else hinders the work, such as a full disk; no range is left out for that.
    """
    sampling = sampling or Sampling()
    made = metrics()
    learning = learning_in_parts(made)
    if keep is not None and segments:
        raise UsageError("scores of segments are kept in files only; give a folder for them (--segments-to)")
    if skip_bad and engine is None:
        raise UsageError("only an engine leaves out ranges (skip_bad); give one, such as engine('local')")
    if keep is not None:
        prepare_folder(keep)
    parts = None if segments_to is None else segments_folder(segments_to, files.paths, list(files.systems), made)
    if not files.columns:
        files = counted_on(files, engine, steps, skip_bad=skip_bad)
    systems = list(files.systems)
    if not files.segments:
        nothing = score_systems(dict.fromkeys(systems, ()), References.from_lists([]), made, sampling=sampling)
        if parts is not None:
            commit_segments(parts, [], nothing, made)
        return nothing
    check_sampling(sampling, systems, files.segments)
    every = ranges = files.ranges(rows or _suitable(files.segments))
    files = files.bare()
    if engine is not None:
        metrics = partial(same_metrics, metrics, signatures_of(made))
    job = "" if keep is None else _job(files, made, metrics)
    run = partial((cache or Cache()).map, engine, folder=keep, skip_bad=skip_bad)
    range_threads = threads if engine is None else engine.threads
    while True:
        content = partial(_content, f"learn {job}")
        learned, usable = _learned(run, files, range_threads, learning, ranges, steps, content=content, state=metrics)
        count = sum(map(len, usable))
        known = [(name, each.digest) for name, each in learned.items()]
        content = partial(_content, repr([job, count, known, None if parts is None else parts.job]))
        make = partial(_taught, metrics, learned) if learned else metrics
        work = ScoreRange(files=files, count=count, segments=segments, parts=parts, threads=range_threads)
        scorings = len(systems) * len(made)
        advance = steps("score", count * scorings)
        if engine is None:
            work = replace(work, progress=advance)
        told = None if engine is None else partial(_tell, advance, scorings)
        merged, scored = _scored(run, work, usable, content=content, state=make, progress=told)
        if len(scored) == len(usable):
            break
        # Block boundaries depend on the number of segments, and learned metrics on the segments themselves, so the
        # remaining ranges are scored again.
        ranges = scored
        _check_some(ranges)
    kept = set(scored)
    found = report(merged, systems, made, sampling=sampling, threads=threads, steps=steps)
    left_out = tuple(
        LeftOutRow(first=lines.first + 1, last=lines.first + lines.count) for lines in every if lines not in kept
    )
    found = replace(found, left_out=left_out)
    if parts is not None:
        commit_segments(parts, merged.written, found, made)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRange:
    """Scores a range with the metrics of a worker.

    Attributes
    ----------
    files
        The corpus.
    count
        How many segments all ranges have together.
    segments
        Whether scores of segments are to be returned.
    parts
        Where scores of segments are to be written.
    threads, progress
        As for `PartCounter`.
    """

    files: LineStream
    count: int
    segments: bool = False
    parts: PartsFolder | None = None
    threads: int | None = None
    progress: Progress | None = None

    def __call__(self, placed: Placed, metrics: Mapping[str, Metric]) -> RangeScores:
        """Score a range."""
        found = Collected(partial(PartialBuilder, self.count, first=placed.row))
        with nullcontext() if self.parts is None else self.parts.part(placed.number) as part:
            sink: Sink | None = found.keep if self.segments else None
            if part is not None:
                sink = lambda ids, scores: part.write(segment_lines(ids, scores))  # noqa: E731
            for references, outputs in placed.lines.parts(self.files):
                found.add(metrics, references, outputs, sink, self.threads, self.progress)
            written = None if part is None else part.finish()
        samples = {key: each.finish() for key, each in found.builders.items()}
        return RangeScores(samples, sorted(found.reference_numbers, key=str), found.segment_rows, found.held, written)


class Merged(Collected[SampleBuilder]):
    """Merges the results of ranges, in order; ``count`` is how many segments all of them have."""

    def __init__(self, count: int) -> None:
        super().__init__(partial(SampleBuilder, count))
        self.written: list[WrittenPart] = []

    def merge(self, found: RangeScores) -> None:
        """Add the next range."""
        for key, sample in found.samples.items():
            self.of_columns(*key, sample.chunks.sums.shape[1]).merge(sample)
        self.reference_numbers.update(found.reference_numbers)
        for key, rows in found.segment_rows.items():
            self.segment_rows.setdefault(key, []).extend(rows)
        if found.written is not None:
            self.written.append(found.written)
        self.held.merge(found.held)


def _learned(
    run: Callable[..., Iterator[tuple[LineRange, dict[str, NgramCounts]]]],
    files: LineStream,
    threads: int | None,
    learning: Mapping[str, LearningMetric],
    ranges: Sequence[LineRange],
    steps: Steps,
    **options: Any,
) -> tuple[dict[str, Learned], Sequence[LineRange]]:
    """Return what metrics learn from the references of ranges, and the usable ranges; ``run`` maps over ranges."""
    if not learning:
        return {}, ranges
    advance = steps("learn", sum(map(len, ranges)))
    references = references_only(files)
    parts = {replace(lines, spans=lines.spans[: len(references.paths)]): lines for lines in ranges}
    sums: dict[str, NgramCounts] = {}
    usable = []
    work = partial(learn_range, references, threads)
    options |= {"pack": _pack_counts, "unpack": _unpack_counts, "progress": lambda lines: advance(len(lines))}
    for lines, counts in run(work, [*parts], **options):
        add_counts(sums, counts)
        usable.append(parts[lines])
    _check_some(usable)
    # Rare n-grams are dropped, as they have no effect.
    learned = {name: Learned.of(each) for name, each in sums.items()}
    for name, each in learned.items():
        learning[name].check_known(each.known.segments, own=True)
    return learned, usable


def _tell(advance: Progress, scorings: int, done: Placed) -> None:
    advance(len(done.lines) * scorings)


def _scored(
    run: Callable[..., Iterator[tuple[Placed, RangeScores]]],
    work: ScoreRange,
    ranges: Sequence[LineRange],
    **options: Any,
) -> tuple[Merged, list[LineRange]]:
    """Return the merged scores of ranges, and the usable ranges; ``run`` maps over ranges."""
    rows = accumulate(map(len, ranges), initial=0)
    placed = [Placed(lines, row, number) for number, (lines, row) in enumerate(zip(ranges, rows, strict=False))]
    fits = partial(_fit, work.count)
    options |= {"pack": _pack_scores, "unpack": partial(_unpack_scores, work.parts), "fits": fits}
    merged = Merged(work.count)
    scored, gone = [], []
    for each, found in run(work, placed, **options):
        merged.merge(found)
        scored.append(each.lines)
        if not found.is_there:
            gone.append(each)
    if gone and len(scored) == len(ranges):  # otherwise other parts will be needed
        for each, found in run(work, gone, **options | {"folder": None, "progress": None}):
            if found.written is not None:
                merged.written[each.number] = found.written
    return merged, scored


def counted_on(files: LineStream, engine: Engine | None, steps: Steps, *, skip_bad: bool = False) -> LineStream:
    """Return a corpus with its rows counted, on an engine or in this process.

    Raises
    ------
    DataError
        If a file cannot be used; what cannot be counted cannot be left out.
    """
    try:
        return files.counted(_mapped_on(engine, steps))
    except DataError as error:
        if not skip_bad:
            raise
        what = f"{error} (as the lines of all files must be counted, --skip-bad cannot leave this out)"
        bad = error.partitions if isinstance(error, BadPartitionsError) else {}
        raise BadPartitionsError(what, bad) from error


def _check_some(ranges: Sequence[LineRange]) -> None:
    if not ranges:
        raise DataError("there is no range of lines that can be used, so there is nothing to score")


def _mapped_on(engine: Engine | None, steps: Steps) -> Mapped:
    """Return the function that surveys files and counts their rows."""

    def survey(stage: str, function: Callable[[Any, None], Any], things: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        advance = steps(stage, len(things))
        return mapped(engine, function, things, progress=lambda _thing: advance(1))

    return survey


def _suitable(segments: int) -> int:
    """Return the rows per range; for many segments whole blocks, so only sums are transferred."""
    if not block_number(segments):
        return max(segments // RANGES, SMALLEST)
    return min(max(segments // (RANGES * PART), 1) * PART, LARGEST)


def _job(files: LineStream, made: Mapping[str, Metric], metrics: MakeMetrics) -> str:
    """Return everything that the result of a range depends on besides its rows: options, formats, code of others."""
    columns = [list(files.systems), files.weighted, files.forms, len(files.references), len(files.weights)]
    things = [metrics, *made.values()]
    models = sorted({part.model for thing in things for part in held(thing) if isinstance(part, Tokenizer)})
    return repr([outside_sources(things), models, columns, files.source is not None, signatures_of(made)])


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
