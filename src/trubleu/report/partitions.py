"""A corpus of plain files scored in ranges of lines, wherever an engine works; the numbers are those of one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, groupby
from typing import TYPE_CHECKING, Final

from trubleu._version import __version__
from trubleu.data.files import name_of
from trubleu.data.ranges import CountedFile, LineRange, count_newlines, line_ranges, pieces
from trubleu.data.stream import PART
from trubleu.errors import DataError, UsageError, some
from trubleu.metrics.contract import Metric
from trubleu.report.counting import HeldWarnings, PartCounter, learners
from trubleu.report.kept_ranges import Placed, RangeScores, ScoreOne, kept_ranges
from trubleu.report.scores import Sampling, check_sampling, no_steps, report_samples
from trubleu.stats import PartialBuilder, SampleBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.data import LineStream
    from trubleu.data.files import PathLike
    from trubleu.engines import Engine
    from trubleu.report.counting import SegmentRow
    from trubleu.report.scores import ScoreReport, Steps

MakeMetrics = Callable[[], Mapping[str, Metric]]
"""Makes the metrics by their names; each worker does, as what they hold need not travel."""

RANGES_A_WORKER: Final = 8
"""How many ranges a worker gets at least, so that none waits long for the last."""

LARGEST: Final = 16 * PART
"""Lines of a range at most: what is lost with a worker, and a step of the progress bar."""


def score_files(
    files: LineStream,
    metrics: MakeMetrics,
    engine: Engine,
    *,
    sampling: Sampling | None = None,
    segments: bool = False,
    skip_bad: bool = False,
    rows: int | None = None,
    keep: PathLike | None = None,
    steps: Steps = no_steps,
) -> ScoreReport:
    """Score plain files in ranges of lines; the numbers are those of `score_parts`, to the last bit.

    Parameters
    ----------
    files
        The files; how many segments they have is counted here. Workers must find them under the same paths.
    metrics
        Makes the metrics; a function that workers can import, or `functools.partial` of one.
    engine
        Where to work.
    sampling, segments, steps
        As for `score_systems`.
    skip_bad
        Whether to leave out ranges that cannot be used, with a warning, and to score the rest.
    rows
        How many lines a range has; what suits the engine if nothing is said. No number depends on it.
    keep
        A folder for what was found out about each range, all workers': ranges that are found there by what their lines
        and all else hold are not scored again.

    Raises
    ------
    BadPartitionsError
        If some lines cannot be used, naming them all.
    """
    sampling = sampling or Sampling()
    made = metrics()
    if learning := learners(made):
        raise UsageError(
            f"{some(learning)} must know the references of all segments before one is scored, which an engine cannot "
            "do; leave the engine out, or let the metric learn from another corpus"
        )
    if keep is not None and segments:
        raise UsageError("scores of segments are not kept; leave the folder for finished ranges out, or the segments")
    counted = _counted(files, engine, steps)
    files = files.of_lengths([file.lines for file in counted])
    systems = list(files.systems)
    check_sampling(sampling, systems, files.segments)
    ranges = line_ranges(counted, rows or _suitable(files.segments, engine.workers))
    while True:
        count = sum(map(len, ranges))
        work: ScoreOne = ScoreRange(files, count, segments, engine.threads)
        if keep is not None:
            job = repr(
                [__version__, count, list(files.systems), [(name, str(made[name].signature())) for name in made]]
            )
            work = kept_ranges(work, keep, job)
        merged, scored = _score(work, ranges, metrics, engine, skip_bad, steps, len(systems) * len(made))
        if len(scored) == len(ranges):
            break
        # Where blocks of segments begin depends on how many segments there are, so what is left is scored anew.
        ranges = scored
        if not ranges:
            raise DataError("there is no range of lines that can be used, so that there is nothing to score")
    merged.held.tell()
    return report_samples(
        {key: builder.finish() for key, builder in merged.builders.items()},
        systems,
        made,
        sampling=sampling,
        reference_numbers=merged.reference_numbers,
        segments=list(chain.from_iterable(merged.segment_rows.values())),
        steps=steps,
    )


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """Scores a range with the metrics that a worker has.

    Attributes
    ----------
    files
        The corpus.
    count
        How many segments all ranges have together.
    segments, threads
        As for `PartCounter`.
    """

    files: LineStream
    count: int
    segments: bool
    threads: int | None

    def __call__(self, placed: Placed, metrics: Mapping[str, Metric]) -> RangeScores:
        """Score a range."""
        builder = partial(PartialBuilder, self.count, first=placed.row)
        counter = PartCounter(list(self.files.systems), metrics, builder, segments=self.segments, threads=self.threads)
        for references, outputs in placed.lines.parts(self.files):
            counter.add(references, outputs)
        samples = {key: each.finish() for key, each in counter.builders.items()}
        return RangeScores(samples, counter.reference_numbers, counter.segment_rows, counter.held)


class Merged:
    """Takes what was found out about each range, in order.

    Parameters
    ----------
    count
        How many segments all ranges have together.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self.builders: dict[tuple[str, str], SampleBuilder] = {}
        self.reference_numbers: set[str | None] = set()
        self.segment_rows: dict[tuple[str, str], list[SegmentRow]] = {}
        self.held = HeldWarnings()

    def add(self, found: RangeScores) -> None:
        """Take the next range."""
        for key, sample in found.samples.items():
            if key not in self.builders:
                self.builders[key] = SampleBuilder(self._count, sample.chunks.sums.shape[1])
            self.builders[key].merge(sample)
        self.reference_numbers |= found.reference_numbers
        for key, rows in found.segment_rows.items():
            self.segment_rows.setdefault(key, []).extend(rows)
        self.held.merge(found.held)


def _counted(files: LineStream, engine: Engine, steps: Steps) -> list[CountedFile]:
    """Count the lines of all files."""
    paths = list(dict.fromkeys(files.paths))
    cut = list(chain.from_iterable(pieces(path) for path in paths))
    advance = steps("count lines", len(cut))
    counts = engine.map(count_newlines, cut, progress=lambda _piece: advance(1))
    found = {name: list(group) for name, group in groupby(counts, key=lambda each: each[0].name)}
    return [CountedFile(path, found.get(name_of(path), [])) for path in files.paths]


def _suitable(segments: int, workers: int) -> int:
    """Return how many lines a range should have: whole chunks, as fewer rows then travel unsummed."""
    chunks = segments // (PART * workers * RANGES_A_WORKER)
    return min(max(1, chunks) * PART, LARGEST)


def _score(
    work: ScoreOne,
    ranges: Sequence[LineRange],
    metrics: MakeMetrics,
    engine: Engine,
    skip_bad: bool,
    steps: Steps,
    scorings: int,
) -> tuple[Merged, list[LineRange]]:
    """Score ranges, and return what they add up to and those that could be used."""
    *starts, count = accumulate(map(len, ranges), initial=0)
    placed = [Placed(lines, row) for lines, row in zip(ranges, starts, strict=True)]
    advance = steps("score", count * scorings)
    merged = Merged(count)
    scored = []
    for each, found in engine.map(
        work,
        placed,
        state=metrics,
        progress=lambda done: advance(len(done.lines) * scorings),
        skip_bad=skip_bad,
    ):
        merged.add(found)
        scored.append(each.lines)
    return merged, scored
