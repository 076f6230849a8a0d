"""Score several systems by several metrics: scores, intervals and tests as flat rows."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

import numpy as np

from trubleu.data import References
from trubleu.errors import DataError, TrubleuWarning, UsageError, nearest, some
from trubleu.execution.captured_warnings import HeldWarnings
from trubleu.metrics.base import as_references, reference_number, warn_unweighted, whole_references
from trubleu.metrics.matching import NgramMetric
from trubleu.progress import Steps, no_steps
from trubleu.results import SCHEMA, Row
from trubleu.scoring.rating_errors import DRAWS, known_errors, rating_effects
from trubleu.signature import without_markdown
from trubleu.stats import Comparison, PartialBuilder, SampleBuilder, bootstrap_interval, compare, few_segments
from trubleu.stats.paired import holm_limit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trubleu.data import PreparedReferences
    from trubleu.metrics.base import Metric
    from trubleu.progress import Progress
    from trubleu.scoring.rating_errors import RatingEffects
    from trubleu.stats import TestName


PREPARE_FROM: Final = 3
"""Number of scorings of the same tokens from which preparing the references pays off; see docs/performance.md."""

Sink = Callable[[Sequence[str], Mapping[tuple[str, str], Sequence[float]]], object]
"""Receives segment ids, and the scores by metric and system; NaN for a skipped segment."""


SomeBuilder = TypeVar("SomeBuilder", bound=SampleBuilder | PartialBuilder)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow(Row):
    """One segment of one system under one metric; the score is None if the metric skipped the segment."""

    id: str
    system: str
    metric: str
    score: float | None


class Collected(Generic[SomeBuilder]):
    """The statistics of all systems and metrics, collected part by part, in one process or on a worker.

    Parameters
    ----------
    builder
        Makes what takes the rows of one system and metric, given their number of columns.

    Attributes
    ----------
    builders
        By system and metric.
    reference_numbers
        How many references segments have, as signatures say it.
    segment_rows
        The scores of segments, if they are kept, by metric and system.
    held
        Warnings.
    """

    def __init__(self, builder: Callable[[int], SomeBuilder]) -> None:
        self._builder = builder
        self.builders: dict[tuple[str, str], SomeBuilder] = {}
        self.reference_numbers: set[str | None] = set()
        self.segment_rows: dict[tuple[str, str], list[SegmentRow]] = {}
        self.held = HeldWarnings()

    def of_columns(self, system: str, metric: str, columns: int) -> SomeBuilder:
        """Return the builder of a system and metric whose rows have so many columns."""
        if (system, metric) not in self.builders:
            self.builders[system, metric] = self._builder(columns)
        return self.builders[system, metric]

    def add(
        self,
        metrics: Mapping[str, Metric],
        references: References | PreparedReferences,
        outputs: Mapping[str, Sequence[str]],
        sink: Sink | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Add a part; its segment scores go to ``sink``, such as `keep`. The rest is as for `Metric.statistics`."""
        with self.held.of_part():
            self.reference_numbers.add(reference_number(references))
            prepare_for(references, metrics.values(), len(outputs))
            scores: dict[tuple[str, str], list[float]] = {}
            for name, metric in metrics.items():
                for system, texts in outputs.items():
                    rows = metric.of_system(system).statistics(texts, references, threads=threads, progress=progress)
                    self.of_columns(system, name, rows.shape[1]).add(rows)
                    if sink is not None:
                        scores[name, system] = metric.segment_scores(rows, references).tolist()
            if sink is not None:
                sink(whole_references(references).ids, scores)

    def keep(self, ids: Sequence[str], scores: Mapping[tuple[str, str], Sequence[float]]) -> None:
        """Keep the scores of segments: a `Sink`."""
        for (name, system), values in scores.items():
            self.segment_rows.setdefault((name, system), []).extend(
                SegmentRow(id=segment, system=system, metric=name, score=value if math.isfinite(value) else None)
                for segment, value in zip(ids, values, strict=True)
            )


def prepare_for(references: References | PreparedReferences, metrics: Iterable[Metric], systems: int) -> None:
    """Tokenize references once if several scorings share their tokens."""
    if not isinstance(references, References):
        return
    counting = (metric for metric in metrics if isinstance(metric, NgramMetric) and metric.only_equal)
    uses = Counter((metric.tokenizer, metric.lowercase) for metric in counting)
    for (tokenizer, lowercase), metrics_of_these in uses.items():
        if metrics_of_these * systems >= PREPARE_FROM:
            references.prepare(tokenize=tokenizer, lowercase=lowercase)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow(Row):
    """One system under one metric; the interval is None if not requested.

    `ratings_share` is the share of the interval's variance that is due to ratings, if these are taken into account.
    `parts` are the components of the score, such as precisions (`trubleu.metrics.Result.parts`).
    """

    system: str
    metric: str
    score: float
    low: float | None = None
    high: float | None = None
    ratings_share: float | None = None
    signature: str
    parts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRow(Row):
    """One pair of systems under one metric; see `trubleu.stats.Comparison` for the fields."""

    __test__ = False  # pytest takes it for a class of tests

    metric: str
    a: str
    b: str
    test: str
    exact: bool
    n: int
    seed: int
    difference: float
    low: float
    high: float
    effect: float | None
    p: float
    p_holm: float
    differing: int
    smallest_p: float
    verdict: Verdict


Verdict: TypeAlias = Literal["a is better", "b is better", "not significant", "too few segments differ"]
"""What a test says at the level 0.05, after Holm's correction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutRow(Row):
    """A range of lines that could not be used and is excluded from all scores."""

    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreReport:
    """All rows, and what is needed to explain them.

    Attributes
    ----------
    systems, metrics
        Names in the order they were given.
    scores, tests, segments
        The rows.
    lower_is_better
        The metrics for which that is so.
    readings
        How to read the scales of those metrics that have something to say about it (`Metric.reading`).
    more_digits
        How many decimals scores of some metrics have beside those asked for (`Metric.more_digits`).
    baseline
        The system that the others were tested against, if one was named.
    confidence, resamples, seed
        Of the intervals and tests; None without either.
    blocks
        How many blocks of neighbouring segments were drawn instead of segments; 0 if segments were.
    left_out
        The lines that were left out as they could not be used.
    segment_count
        How many segments the scores, intervals and tests come from.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    scores: tuple[ScoreRow, ...]
    tests: tuple[TestRow, ...] = ()
    segments: tuple[SegmentRow, ...] = ()
    lower_is_better: frozenset[str] = field(default_factory=frozenset)
    readings: Mapping[str, str] = field(default_factory=dict)
    more_digits: Mapping[str, int] = field(default_factory=dict)
    baseline: str | None = None
    confidence: float | None = None
    resamples: int | None = None
    seed: int | None = None
    blocks: int = 0
    left_out: tuple[LeftOutRow, ...] = ()
    segment_count: int

    def score(self, system: str, metric: str) -> ScoreRow:
        """Return the row of one system under one metric."""
        return next(row for row in self.scores if row.system == system and row.metric == metric)

    def without_markdown(self) -> ScoreReport:
        """Return the same report with signatures that say that texts had no Markdown."""
        rows = (replace(row, signature=without_markdown(row.signature)) for row in self.scores)
        return replace(self, scores=tuple(rows))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on intervals and tests that have too few segments, or too few resamples."""
        found: list[str | None] = []
        if any(row.low is not None for row in self.scores) or self.tests:
            found.append(few_segments(self.segment_count))
        undecided: dict[tuple[str, str], list[TestRow]] = {}
        for test in self.tests:
            if test.verdict == "too few segments differ":
                undecided.setdefault((test.a, test.b), []).append(test)
        if undecided:
            pairs = (f"{a} and {b} ({', '.join(map(_differing, rows))})" for (a, b), rows in undecided.items())
            found.append(f"too few segments differ for a verdict: {some(pairs)}")
        for metric in self.metrics:
            family = [test for test in self.tests if test.metric == metric]
            sampled = [test for test in family if not test.exact]
            if sampled:
                found.append(holm_limit([test.p for test in sampled], sampled[0].n, tests=len(family)))
        return tuple(dict.fromkeys(note for note in found if note))

    @property
    def of_raters(self) -> bool:
        """Whether intervals take the raters of references into account."""
        return any(row.ratings_share is not None for row in self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as plain values for JSON."""
        rows = {
            name: [asdict(row) for row in getattr(self, name)]
            for name in ("scores", "tests", "segments", "left_out")
            if getattr(self, name) or name == "scores"
        }
        for row in () if self.of_raters else rows["scores"]:
            del row["ratings_share"]
        notes = {"notes": [{"note": note} for note in self.notes]} if self.notes else {}
        return {"schema": SCHEMA, **rows, **notes}

    def _repr_html_(self) -> str:
        from trubleu.render.scores import render_scores

        return render_scores(self, "html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling options of intervals and tests.

    Attributes
    ----------
    interval
        Whether scores get intervals.
    test
        Which paired test is made, if any; True for the default, which is the bootstrap if ratings are resampled too,
        otherwise the randomisation test.
    baseline
        The system that the others are tested against; None for all pairs.
    resamples, confidence, seed
        As in `trubleu.stats`.
    ratings
        Whether intervals and tests take the levels of raters and a calibration into account (`rating_effects`).
    """

    interval: bool = False
    test: TestName | bool | None = None
    baseline: str | None = None
    resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 12345
    ratings: bool = False


def score_systems(
    systems: Mapping[str, Sequence[str]],
    references: References | PreparedReferences,
    metrics: Mapping[str, Metric],
    *,
    sampling: Sampling | None = None,
    segments: bool = False,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> ScoreReport:
    """Score systems by metrics, with optional intervals and tests.

    Parameters
    ----------
    systems
        The outputs of each system.
    references
        The references of each segment.
    metrics
        The metrics by the name they have in the rows.
    sampling
        Which intervals and tests to make, and how.
    segments
        Whether to add the score of every segment.
    threads
        How many threads to use; None for all cores.
    steps
        Told of every stage of work, for a progress bar.
    """
    for name, outputs in systems.items():
        as_references(references, outputs)
        if len(outputs) and not any(map(str.strip, outputs)):
            what = f"all outputs of {name} are empty; check the file, or what the system wrote"
            warnings.warn(what, TrubleuWarning, stacklevel=2)
    warn_unweighted(metrics, weighted=whole_references(references).weighted())
    for metric in metrics.values():
        metric.measure_baselines(steps)
    effects: dict[tuple[str, str], RatingEffects] | None = None
    if sampling is not None and sampling.ratings:
        whole = whole_references(references)
        known_errors(whole)
        passes = 2 + 2 * int(whole.reference_counts().max(initial=0)) + DRAWS
        weighing = sum(metric.uses_weights for metric in metrics.values())
        advance = steps("uncertainty of ratings", len(references) * passes * len(systems) * weighing)
        effects = {
            (system, name): rating_effects(
                metric.of_system(system), outputs, references, seed=sampling.seed, threads=threads, progress=advance
            )
            for name, metric in metrics.items()
            for system, outputs in systems.items()
        }
    return score_parts(
        [(references, systems)],
        tuple(systems),
        len(references),
        metrics,
        sampling=sampling,
        segments=segments,
        effects=effects,
        threads=threads,
        steps=steps,
    )


Effects: TypeAlias = "Mapping[tuple[str, str], RatingEffects]"
"""By system and metric: the effects of rating errors on the score."""


def score_parts(
    parts: Iterable[tuple[References | PreparedReferences, Mapping[str, Sequence[str]]]],
    systems: Sequence[str],
    count: int,
    metrics: Mapping[str, Metric],
    *,
    sampling: Sampling | None = None,
    segments: bool = False,
    effects: Effects | None = None,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> ScoreReport:
    """Score a corpus that comes in parts, such as a `trubleu.data.LineStream`; the results equal those of the whole.

    Parameters
    ----------
    parts
        Pairs of references and outputs by system; each is let go of before the next is taken.
    systems
        The names of the systems.
    count
        How many segments all parts have together.
    effects
        What the errors of ratings do to each score, if intervals and tests take them into account.
    metrics, sampling, segments, threads, steps
        As for `score_systems`. A metric that `learns` needs the corpus in one part.
    """
    sampling = sampling or Sampling()
    check_sampling(sampling, systems, count)
    advance = steps("score", count * len(systems) * len(metrics))
    collected = Collected(partial(SampleBuilder, count))
    learning = [name for name, metric in metrics.items() if metric.learns]
    for references, outputs in parts:
        if learning and len(references) != count:
            raise UsageError(
                f"{some(learning)} needs the references of all segments before it can score one; "
                "score the corpus as a whole, or let the metric learn first (Metric.learned)"
            )
        collected.add(metrics, references, outputs, collected.keep if segments else None, threads, advance)
    return report(collected, systems, metrics, sampling=sampling, effects=effects, threads=threads, steps=steps)


def report(
    collected: Collected[SampleBuilder],
    systems: Sequence[str],
    metrics: Mapping[str, Metric],
    *,
    sampling: Sampling,
    effects: Effects | None = None,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> ScoreReport:
    """Score accumulated statistics, with optional intervals and tests; warnings are issued.

    Parameters
    ----------
    collected
        The statistics of each system under each metric.
    systems, metrics, sampling, threads, steps
        As for `score_systems`.
    effects
        As for `score_parts`.
    """
    collected.held.tell()
    samples = {key: builder.finish() for key, builder in collected.builders.items()}
    reference_numbers = collected.reference_numbers
    blocks = max((sample.blocks for sample in samples.values()), default=0)
    nrefs = next(iter(reference_numbers)) if len(reference_numbers) == 1 else "var"
    settings: dict[str, Any] = {each: getattr(sampling, each) for each in ("resamples", "confidence", "seed")}
    drawing = settings | {"threads": threads}
    scores: list[ScoreRow] = []
    tests: list[TestRow] = []
    for name, metric in metrics.items():
        of_metric = {system: samples[system, name] for system in systems}
        of_ratings = None if effects is None else {system: effects[system, name] for system in systems}
        shared = None if of_ratings is None else {system: each.shared for system, each in of_ratings.items()}
        signature = metric.signature(nrefs)
        if sampling.interval:
            about = {"ci": sampling.confidence, "bs": sampling.resamples, "seed": sampling.seed}
            errors = "ratings" if effects is not None and metric.uses_weights else None
            signature = signature.extended(**about, blocks=blocks or None, errors=errors)
        advance = steps(f"interval {name}", len(systems) * sampling.resamples * sampling.interval)
        for system, sample in of_metric.items():
            result = metric.result(sample.total[np.newaxis])
            row = ScoreRow(system=system, metric=name, score=result.score, signature=str(signature), parts=result.parts)
            if sampling.interval:
                moved = None if shared is None else shared[system]
                found = bootstrap_interval(sample, metric.score, effects=moved, progress=advance, **drawing)
                share = None if of_ratings is None else of_ratings[system].share(found.standard_error)
                row = replace(row, low=found.low, high=found.high, ratings_share=share)
            scores.append(row)
        if sampling.test:
            only_bootstrap = sampling.test == "bootstrap" or (sampling.test is True and shared is not None)
            advance = steps(f"test {name}", sampling.resamples * (1 if only_bootstrap else 2))
            compared = compare(
                of_metric,
                metric.score,
                baseline=sampling.baseline,
                test=None if sampling.test is True else sampling.test,
                effects=shared,
                progress=advance,
                **drawing,
            )
            tests += [_test_row(name, each, higher=metric.higher_is_better) for each in compared]
    drawn = bool(sampling.interval or sampling.test)
    return ScoreReport(
        systems=tuple(systems),
        metrics=tuple(metrics),
        # Systems first, as in the table.
        scores=tuple(sorted(scores, key=lambda row: list(systems).index(row.system))),
        tests=tuple(tests),
        segments=tuple(chain.from_iterable(collected.segment_rows.values())),
        lower_is_better=frozenset(name for name, metric in metrics.items() if not metric.higher_is_better),
        readings={name: said for name, metric in metrics.items() if (said := metric.reading(nrefs))},
        more_digits={name: metric.more_digits for name, metric in metrics.items() if metric.more_digits},
        baseline=sampling.baseline,
        blocks=blocks if drawn else 0,
        segment_count=max((sample.segments for sample in samples.values()), default=0),
        **(settings if drawn else {}),
    )


_TESTED: Final = [each.name for each in fields(TestRow) if each.name in {each.name for each in fields(Comparison)}]


def _test_row(metric: str, found: Comparison, *, higher: bool) -> TestRow:
    about = {name: getattr(found, name) for name in _TESTED}
    # A single segment has no spread to measure an effect by, and JSON has no infinity.
    about["effect"] = found.effect if np.isfinite(found.effect) else None
    verdict: Verdict = "not significant" if found.decidable else "too few segments differ"
    if found.significant:
        verdict = "a is better" if (found.difference > 0) == higher else "b is better"
    return TestRow(metric=metric, verdict=verdict, **about)


def _differing(test: TestRow) -> str:
    return f"{test.differing} by {test.metric}, p (Holm) at least {test.smallest_p:.2g}"


def check_sampling(sampling: Sampling, systems: Sequence[str], count: int) -> None:
    """Raise an error for intervals and tests that cannot be computed, or if there is nothing to score."""
    if sampling.baseline is not None and sampling.baseline not in systems:
        hint = nearest(sampling.baseline, systems)
        raise UsageError(f"there is no system {sampling.baseline!r} for a baseline; {hint}")
    if sampling.test and len(systems) < 2:
        raise UsageError("a test needs at least two systems; name another one, or leave the test out")
    if (sampling.interval or sampling.test) and not count:
        raise DataError("there are no segments, so neither an interval nor a test can be made")
    if not count:
        warnings.warn("there are no segments, and the score of nothing is 0", TrubleuWarning, stacklevel=3)
