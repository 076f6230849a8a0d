"""Metrics held against what people think of outputs: segment level, system level, tests between metrics."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.data import Rankings, Ratings
from trubleu.data.outputs import match_systems
from trubleu.data.rankings import NOT_RANKED
from trubleu.errors import DataError, UsageError, counted, nearest, some
from trubleu.judge.given_scores import given_scores
from trubleu.judge.ratings.results import (
    AspectRow,
    MeasureRow,
    MetricDifferenceRow,
    RatingsReport,
    RatingsSetting,
    SignatureRow,
    SystemMeanRow,
    VerdictRow,
    measure_title,
)
from trubleu.judge.report import Notes, Rival, brief_interval, data_needed, verdict
from trubleu.progress import Steps, no_steps
from trubleu.scoring.accumulator import prepare_for
from trubleu.scoring.rating_errors import DRAWS, moved_weights, split_errors
from trubleu.stats.bootstrap import ends_of, normal_errors
from trubleu.stats.checks import at_least_one, confidence_level, seed_range
from trubleu.stats.correlation import grain_of, settled
from trubleu.stats.meta_evaluation import OutputPairs, system_means
from trubleu.stats.metric_tests import (
    ACCURACY,
    CALIBRATED,
    SAME,
    SEGMENT_MEASURES,
    SOFT,
    SYSTEM_MEASURES,
    MetaEvaluation,
    check_test,
    clusters,
    metric_pairs,
)
from trubleu.stats.paired import corrected, holm_limit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References, SegmentScores
    from trubleu.judge.given_scores import GivenScores
    from trubleu.judge.ratings.results import Level
    from trubleu.metrics import Metric
    from trubleu.stats.metric_tests import Test

LEAST_SYSTEMS: Final = 5
"""Systems from which on the system level is judged."""

DEFAULT_TEST: Final = "perm-input"

RATINGS: Final = "ratings"
"""What intervals draw that take errors of the references' ratings into account."""

RESAMPLES: Final = ("segments", "systems", "both", RATINGS)

MOSTLY_TIED: Final = 0.95
"""The share of tied pairs above which a calibration is not worth much."""

TRIALS: Final = 1000
TRIALS_A_PAIR: Final = 50
"""Trials for each pair of metrics, so that Holm's correction does not hide everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinions:
    """What people think of outputs, in the order of systems and items.

    Attributes
    ----------
    systems, items
        Names.
    people
        ``float64[systems, items]``, NaN where nobody rated; None for rankings.
    ranked
        For rankings, of each pair: item, first and second system, and which one is better (1, 0 or −1).
    rated
        ``bool[systems, items]``: which outputs somebody looked at.
    count
        How many ratings or ranked pairs these are.
    """

    systems: tuple[str, ...]
    items: tuple[str, ...]
    people: NDArray[np.float64] | None
    ranked: NDArray[np.int64] | None
    rated: NDArray[np.bool_]
    count: int

    def evaluation(self, scores: NDArray[np.float64], seed: int) -> MetaEvaluation:
        """Return these with scores of metrics, ``float64[metrics, systems, items]``."""
        if self.ranked is None:
            return MetaEvaluation(self.people, scores, seed=seed)
        item, a, b, better = self.ranked
        pairs = OutputPairs(item, better.astype(np.int8), scores[:, a, item] - scores[:, b, item])
        return MetaEvaluation(None, scores, pairs, seed=seed)


class _Scored(NamedTuple):
    """A metric's scores, ``float64[systems, items]``, times −1 for an error rate; NaN where nobody rated."""

    name: str
    scores: NDArray[np.float64]
    signature: str | None
    sign: float


def judge_ratings(
    outputs: Mapping[str, Sequence[str | None]],
    references: References | None,
    opinions: Ratings | Rankings,
    metrics: Mapping[str, Metric],
    *,
    scores: Sequence[SegmentScores] = (),
    lower_is_better: Collection[str] = (),
    name: str | None = None,
    without: Collection[str] = (),
    segment_measure: str | None = None,
    system_measure: str | None = None,
    test: Test = DEFAULT_TEST,
    trials: int | None = None,
    resample: str = "segments",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 12345,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> RatingsReport:
    """Measure how well metrics agree with ratings or rankings of outputs.

    Parameters
    ----------
    outputs
        The texts of each system, one per segment of the references, None where a system has none. Empty if all scores
        are given.
    references
        What outputs are scored against; None if all scores are given.
    opinions
        Ratings, which may have several raters and aspects, or ranked pairs.
    metrics
        Those to compute, by name.
    scores
        Segment scores of other metrics.
    lower_is_better
        Metrics in ``scores`` for which that is so.
    name
        What is judged, for the report.
    without
        Systems to leave out.
    segment_measure, system_measure
        The measures by which metrics are compared; None for acc-eq-calibrated (Pearson's r of all outputs where no item
        has two) and soft pairwise accuracy.
    test
        How metrics are compared; see `MetaEvaluation.differences`.
    trials
        Of the test; None for 1000, or 50 for each pair of metrics if that is more.
    resample, resamples, confidence
        What intervals draw (``segments``, ``systems`` or ``both``), how often, and how much lies between their ends.
        ``ratings``: segments, and the raters of references, whose weights share the levels of these and the error of a
        calibration (`trubleu.scoring.rating_effects`); tests between metrics take weights as they are.
    seed
        Of all random steps.
    threads
        How many threads count; no number depends on it.
    steps
        Told of every stage of work, for a progress bar.

    Raises
    ------
    DataError
        If ratings, outputs and scores do not fit together, or nothing can be judged.
    UsageError
        If an option does not exist or does not fit the data.

    Examples
    --------
    >>> from trubleu.data import References
    >>> from trubleu.metrics import metric
    >>> references = References.from_lists([["a dog runs"], ["the cat sleeps"]])
    >>> outputs = {"A": ["a dog runs", "the cat"], "B": ["a cat", "it sleeps"]}
    >>> rows = [("1", "A", "ann", 5), ("1", "B", "ann", 1), ("2", "A", "ann", 3), ("2", "B", "ann", 3)]
    >>> report = judge_ratings(outputs, references, Ratings(*zip(*rows)), {"chrf": metric("chrf")}, resamples=10)
    >>> report.measure("segment", "acc-eq", "chrf").value
    0.5
    """
    confidence_level(confidence)
    seed_range(seed)
    at_least_one(resamples, "resamples")
    if resample not in RESAMPLES:
        raise UsageError(f"resample={resample} is not known; {nearest(str(resample), RESAMPLES)}")
    notes = Notes()
    known = _known_names(outputs, references, opinions, frozenset(without))
    if references is not None and references.weighted():
        outputs, references, known = _with_good_references(outputs, references, known, notes)
    found = (
        _of_ratings(opinions, known, notes) if isinstance(opinions, Ratings) else _of_rankings(opinions, known, notes)
    )
    scored = _computed(outputs, references, metrics, found, threads, steps)
    given = given_scores(scores, found.systems, found.items, ours=metrics, lower_is_better=lower_is_better)
    scored += _read(given, found)
    if not scored:
        raise UsageError("there is no metric to judge; give -m METRIC with outputs and references, or --scores FILE")
    if turned := [each.name for each in scored if each.sign < 0]:
        notes.add(f"the sign of error rates is changed, so agreement is positive: {some(turned)}")
    evaluation = found.evaluation(np.stack([each.scores for each in scored]), seed)
    chosen = _headlines(evaluation, found, segment_measure, system_measure, notes)
    pairs = len(scored) * (len(scored) - 1) // 2
    setting = RatingsSetting(
        name=name or opinions.source,
        kind="ratings" if isinstance(opinions, Ratings) else "rankings",
        systems=len(found.systems),
        items=len(found.items),
        outputs=int(found.rated.sum()),
        ratings=found.count,
        raters=opinions.raters() if isinstance(opinions, Ratings) else len(opinions.judges),
        aspects=", ".join(_aspect_names(opinions)) or None,
        segment_measure=chosen.get("segment"),
        system_measure=chosen.get("system"),
        test=test,
        trials=trials if trials is not None else max(TRIALS, TRIALS_A_PAIR * pairs),
        seed=seed,
        resample=resample,
        resamples=resamples,
        confidence=confidence,
    )
    at_least_one(setting.trials, "trials")
    names = [each.name for each in scored]
    errors: dict[Level, NDArray[np.float64]] = {}
    if resample == RATINGS:
        errors = _rating_errors(outputs, references, metrics, found, evaluation, chosen, seed, threads, steps, notes)
    measures: list[MeasureRow] = []
    differences: list[MetricDifferenceRow] = []
    verdicts: list[VerdictRow] = []
    for level, headline in chosen.items():
        check_test(level, headline, test)
        _check_rankings(found, test, resample)
        compared = _Compared(level, headline, names, evaluation, setting, steps)
        compared.intervals(errors.get(level))
        differences += compared.tested()
        measures += [*compared.rows.values(), *compared.others()]
        own = [row for row in differences if row.level == level]
        if limit := holm_limit([row.p for row in own if row.p is not None], setting.trials, "trials"):
            notes.add(limit)
        verdicts.append(VerdictRow(level=level, verdict=compared.verdict(own)))
    _note_undefined(measures, notes)
    if chosen["segment"] == CALIBRATED:
        _note_tied(evaluation, names, notes)
    _note_little_data(found, len(names), 1.0 - confidence, notes)
    return RatingsReport(
        verdicts=tuple(verdicts),
        measures=tuple(measures),
        differences=tuple(differences),
        aspects=tuple(_aspects(opinions, found, known, scored, chosen["segment"], seed)),
        systems=tuple(_systems(found, scored)),
        setting=setting,
        signatures=tuple(
            SignatureRow(metric=each.name, signature=each.signature) for each in scored if each.signature is not None
        ),
        notes=notes.all(),
    )


class _Known(NamedTuple):
    """The names of all systems and items, and of systems and items that are left out on purpose."""

    systems: tuple[str, ...]
    items: tuple[str, ...]
    without: frozenset[str]
    left_out: frozenset[str] = frozenset()


def _known_names(
    outputs: Mapping[str, Sequence[str | None]],
    references: References | None,
    opinions: Ratings | Rankings,
    without: frozenset[str],
) -> _Known:
    """Return the names of all systems and items: those of the outputs, or if there are none those that people saw."""
    if outputs:
        if references is None:
            raise UsageError("outputs need references to be scored against; give --refs FILE, or only --scores FILE")
        systems, items = tuple(outputs), tuple(references.ids)
    elif isinstance(opinions, Ratings):
        systems, items = opinions.systems(), opinions.items()
    else:
        systems, items = opinions.systems, opinions.segments
    rated = opinions.systems() if isinstance(opinions, Ratings) else opinions.systems
    names = dict.fromkeys((*systems, *rated))
    if unknown := sorted(without.difference(names)):
        raise UsageError(f"there is no system {unknown[0]!r} to leave out; {nearest(unknown[0], names)}")
    kept = tuple(name for name in systems if name not in without)
    if not kept:
        raise UsageError("no system is left to judge by; leave fewer out")
    return _Known(kept, items, without)


def _with_good_references(
    outputs: Mapping[str, Sequence[str | None]], references: References, known: _Known, notes: Notes
) -> tuple[Mapping[str, Sequence[str | None]], References, _Known]:
    """Leave out items without a reference of positive weight, for all metrics alike; metrics refuse unrated ones."""
    kept = references.best_weights() > 0
    kept[references.unrated()] = True
    if kept.all():
        return outputs, references, known
    if not kept.any():
        raise DataError(f"no segment of {references.source} has a reference of positive weight; add some")
    bad = frozenset(compress(references.ids, (~kept).tolist()))
    notes.add(f"{counted(len(bad), 'item')} without a reference of positive weight, left out for every metric")
    chosen = {system: list(compress(texts, kept.tolist())) for system, texts in outputs.items()}
    items = tuple(item for item in known.items if item not in bad)
    return chosen, references.take(kept), known._replace(items=items, left_out=bad)


def _of_ratings(ratings: Ratings, known: _Known, notes: Notes) -> Opinions:
    systems, items = known.systems, known.items
    if not len(ratings):
        raise DataError(f"{ratings.source} has no ratings; give one per row")
    rows, columns = _places(systems), _places(items)
    people = np.full((len(systems), len(items)), np.nan)
    for (item, system), mean in ratings.item_means().items():
        if system in rows and item in columns:
            people[rows[system], columns[item]] = float(mean)
    rated = np.isfinite(people)
    if not rated.any():
        raise DataError(
            f"no rating in {ratings.source} is of an output that is here: it rates {some(ratings.systems(), 3)} on "
            f"{some(ratings.items(), 3)}, and the outputs are of {some(systems, 3)} on {some(items, 3)}; "
            "use the same names"
        )
    _note_unknown(ratings.source, ratings.systems(), ratings.items(), known, notes)
    values = people[rated]
    if len(values) == 1:
        raise DataError(f"{ratings.source} rates one output only, and a metric is judged by several; rate more outputs")
    if values.min() == values.max():
        raise DataError(
            f"{ratings.source}: all {counted(len(values), 'rated output')} got the same mean rating, {values[0]:g}, "
            "so no metric can agree or disagree; judge by another aspect or rate more outputs"
        )
    count = sum(item in columns and system in rows for item, system in zip(ratings.item, ratings.system, strict=True))
    return _rated_only(known, rated, count, people=people)


def _of_rankings(rankings: Rankings, known: _Known, notes: Notes) -> Opinions:
    systems, items, without, _ = known
    if len(rankings.language_pairs) > 1:
        raise UsageError(
            f"{rankings.source} has rankings of {some(rankings.language_pairs)}; say which with --language-pair"
        )
    matched = match_systems([name for name in rankings.systems if name not in without], systems)
    rows, columns = _places(systems), _places(items)
    row = np.array([rows[matched[name]] if name in matched else -1 for name in rankings.systems], dtype=np.int64)
    column = np.array([columns.get(name, -1) for name in rankings.segments], dtype=np.int64)
    a, b, item = row[rankings.system_a], row[rankings.system_b], column[rankings.segment]
    ranked = (rankings.rank_a != NOT_RANKED) & (rankings.rank_b != NOT_RANKED)
    kept = ranked & (a >= 0) & (b >= 0) & (item >= 0) & (a != b)
    if not kept.any():
        raise DataError(
            f"no ranking in {rankings.source} is of outputs that are here: it ranks {some(rankings.systems, 3)} on "
            f"{some(rankings.segments, 3)}, and the outputs are of {some(systems, 3)} on {some(items, 3)}; "
            "use the same names"
        )
    unmatched = [name for name in rankings.systems if name not in matched]
    _note_unknown(rankings.source, unmatched, rankings.segments, known, notes)
    better = np.sign(rankings.rank_b - rankings.rank_a)
    if not better[kept].any():
        raise DataError(
            f"{rankings.source}: people rank the outputs of every pair equal, so no metric can agree or disagree; "
            "rank more pairs"
        )
    rated = np.zeros((len(systems), len(items)), dtype=bool)
    rated[a[kept], item[kept]] = rated[b[kept], item[kept]] = True
    return _rated_only(known, rated, int(kept.sum()), ranked=np.stack([item, a, b, better])[:, kept])


def _rated_only(
    known: _Known,
    rated: NDArray[np.bool_],
    count: int,
    people: NDArray[np.float64] | None = None,
    ranked: NDArray[np.int64] | None = None,
) -> Opinions:
    """Return opinions without the systems and items that nobody looked at."""
    rows, columns = (np.logical_or.reduce(rated, axis=axis) for axis in (1, 0))
    if ranked is not None:
        row, column = np.cumsum(rows) - 1, np.cumsum(columns) - 1
        ranked = np.stack([column[ranked[0]], row[ranked[1]], row[ranked[2]], ranked[3]])
    return Opinions(
        systems=tuple(compress(known.systems, rows.tolist())),
        items=tuple(compress(known.items, columns.tolist())),
        people=None if people is None else people[rows][:, columns],
        ranked=ranked,
        rated=rated[rows][:, columns],
        count=count,
    )


def _places(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _note_unknown(
    source: str, rated_systems: Sequence[str], rated_items: Sequence[str], known: _Known, notes: Notes
) -> None:
    for what, rated, there in (
        ("system", rated_systems, {*known.systems, *known.without}),
        ("item", rated_items, {*known.items, *known.left_out}),
    ):
        if unknown := [each for each in rated if each not in there]:
            notes.warn(
                f"{source} rates {counted(len(unknown), what)} without outputs ({some(unknown, 3)}), left out; "
                "correct the names if they are there under others"
            )


def _computed(
    outputs: Mapping[str, Sequence[str | None]],
    references: References | None,
    metrics: Mapping[str, Metric],
    opinions: Opinions,
    threads: int | None,
    steps: Steps,
) -> list[_Scored]:
    """Score the outputs that somebody rated."""
    if not metrics:
        return []
    if references is None:
        raise UsageError(f"{some(metrics)} cannot be computed without references; give --refs FILE")
    columns = references.positions()
    places = np.array([columns[item] for item in opinions.items])
    advance = steps("score", len(metrics) * int(opinions.rated.sum()))
    parts = []
    for system, rated in zip(opinions.systems, opinions.rated, strict=True):
        texts = outputs[system]
        own = places[rated]
        if lacking := [references.ids[place] for place in own.tolist() if texts[place] is None]:
            raise DataError(
                f"{system} has no output for {some(lacking, 3)}, which somebody rated; add the output, "
                "or leave out the rating"
            )
        # The whole corpus needs no copy, and what is prepared for it serves all systems.
        part = references if len(own) == len(references) else references.take(own)
        parts.append((rated, part, [texts[place] or "" for place in own.tolist()]))
    prepare_for(references, metrics.values(), sum(part is references for _, part, _ in parts))
    found = []
    for name, metric in metrics.items():
        learned = metric.learned(references) if metric.learns else metric
        table = np.full(opinions.rated.shape, np.nan)
        for row, (rated, part, texts) in enumerate(parts):
            table[row, rated] = learned.segments(texts, part, threads=threads)
            advance(len(texts))
        if (skipped := int((opinions.rated & np.isnan(table)).sum())) > 0:
            raise DataError(
                f"{name} skips {counted(skipped, 'rated output')}, so it cannot be compared with other metrics; leave "
                "the metric or those segments out"
            )
        sign = 1.0 if metric.higher_is_better else -1.0
        found.append(_Scored(name, _settled(sign * table), str(metric.signature(references)), sign))
    return found


def _rating_errors(
    outputs: Mapping[str, Sequence[str | None]],
    references: References | None,
    metrics: Mapping[str, Metric],
    opinions: Opinions,
    evaluation: MetaEvaluation,
    chosen: Mapping[Level, str],
    seed: int,
    threads: int | None,
    steps: Steps,
    notes: Notes,
) -> dict[Level, NDArray[np.float64]]:
    """Return how far errors that many weights share move the measure of each level: a standard deviation per metric.

    Weights are moved one way and then the other, so that what noise alone does to a measure cancels out.
    """
    if references is None:
        raise UsageError("without references there are no ratings of them to draw; let intervals draw segments")
    shared = split_errors(references)[1]
    weighing = {name: metric for name, metric in metrics.items() if metric.uses_weights}
    if not shared or not weighing:
        why = "no metric uses weights" if shared else "no rater of references has a name and a level of their own"
        notes.add(f"intervals are those of segments, as {why}")
        return {}
    places = [place for place, name in enumerate(metrics) if name in weighing]
    effects: dict[Level, list[NDArray[np.float64]]] = {level: [] for level in chosen}
    advance = steps("errors of ratings", DRAWS)
    for moves in shared.draws(DRAWS // 2, seed):
        ways = []
        for sign in (1.0, -1.0):
            with warnings.catch_warnings(action="ignore"):  # the scores themselves give the same warnings
                moved = _computed(
                    outputs, moved_weights(references, sign * moves), weighing, opinions, threads, no_steps
                )
            scores = evaluation.scores.copy()
            scores[places] = [each.scores for each in moved]
            ways.append(opinions.evaluation(scores, seed))
            advance(1)
        for level, measure in chosen.items():
            there, back = (way.values(level, measure).value for way in ways)
            effects[level].append(np.nan_to_num(there - back) / 2)
    return {level: np.sqrt(np.square(each).mean(axis=0)) for level, each in effects.items()}


def _settled(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores of which those are equal that are so but for rounding."""
    return settled(table, grain_of(float(np.nanmax(np.abs(table), initial=0.0))))


def _read(scores: Sequence[GivenScores], opinions: Opinions) -> Iterator[_Scored]:
    """Yield scores from files, which all rated outputs must have."""
    for each in scores:
        gaps = opinions.rated & np.isnan(each.table)
        if gaps.any():
            whole = gaps == opinions.rated
            systems, items = (
                [*compress(names, np.logical_and.reduce(whole, axis=axis).tolist())]
                for names, axis in ((opinions.systems, 1), (opinions.items, 0))
            )
            lacking = counted(int(gaps.sum()), "rated output")
            if systems or items:
                lacking = some(systems, 3) if systems else f"{counted(len(items), 'rated item')} ({some(items, 3)})"
            raise DataError(f"{each.source}: {each.name} has no scores of {lacking}; give scores of all rated outputs")
        table = each.sign * np.where(opinions.rated, each.table, np.nan)
        yield _Scored(each.name, _settled(table), None, each.sign)


def _check_rankings(opinions: Opinions, test: Test, resample: str) -> None:
    if opinions.people is None and (
        test in ("perm-system", "bootstrap-systems", "bootstrap-both") or resample in ("systems", "both")
    ):
        raise UsageError("ranked pairs are of two systems each, so systems cannot be drawn or swapped; use segments")


def _headlines(
    evaluation: MetaEvaluation, opinions: Opinions, segment: str | None, system: str | None, notes: Notes
) -> dict[Level, str]:
    """Return the measure of each level that can be judged."""
    chosen: dict[Level, str] = {}
    paired = len(evaluation.pairs) > 0
    if segment is not None:
        if segment not in SEGMENT_MEASURES:
            raise UsageError(f"there is no segment-level measure {segment!r}; {nearest(segment, SEGMENT_MEASURES)}")
        if segment in (CALIBRATED, ACCURACY) and not paired:
            raise UsageError(f"{segment} compares outputs of one item, and no item has two; use pearson-pooled")
        if opinions.people is None and segment not in (CALIBRATED, ACCURACY):
            raise UsageError(f"ranked pairs have no scores to correlate with; use {ACCURACY} or {CALIBRATED}")
    chosen["segment"] = segment or (CALIBRATED if paired else "pearson-pooled")
    if not paired:
        notes.add("no item has two rated outputs, so outputs are compared across items and not within them")
    systems = len(opinions.systems)
    if system is not None and system not in SYSTEM_MEASURES:
        raise UsageError(f"there is no system-level measure {system!r}; {nearest(system, SYSTEM_MEASURES)}")
    if opinions.people is None:
        notes.add("rankings give no scores of systems; trubleu judge wmt --human judges by official scores")
    elif systems >= LEAST_SYSTEMS:
        chosen["system"] = system or SOFT
    elif system is not None:
        raise UsageError(f"{system} needs {LEAST_SYSTEMS} systems and there are {systems}; leave it out")
    else:
        notes.add(f"the system level needs at least {LEAST_SYSTEMS} systems; there are {systems}")
    if paired and not (evaluation.pairs.people == 0).any():
        notes.add("people tied no pair of outputs, so calibrating ties changes nothing: ε = 0 and acc*_eq = acc_eq")
    if opinions.people is not None and not opinions.rated.all():
        share = opinions.rated.mean()
        notes.add(
            f"{100 * share:.0f} % of all outputs are rated; a system's scores are means over the items rated for it"
        )
    return chosen


class _Compared:
    """The measures of one level, and the comparison of metrics by one of them."""

    def __init__(
        self,
        level: Level,
        headline: str,
        names: Sequence[str],
        evaluation: MetaEvaluation,
        setting: RatingsSetting,
        steps: Steps,
    ) -> None:
        self._level, self._headline, self._names = level, headline, names
        self._evaluation, self._setting, self._steps = evaluation, setting, steps
        self.rows = {row.metric: row for row in self._measured(headline)}
        """The rows of the headline by metric."""

    def others(self) -> list[MeasureRow]:
        """Return the rows of all other measures of the level."""
        known = SEGMENT_MEASURES if self._level == "segment" else SYSTEM_MEASURES
        people = self._evaluation.people
        by_pairs = {ACCURACY, CALIBRATED}
        unfit: set[str] = set() if len(self._evaluation.pairs) else by_pairs
        if self._level == "segment":
            for grouping, axis in (("item", 0), ("system", 1)):
                if people is None or np.isfinite(people).sum(axis=axis).max() < 2:
                    unfit |= {each for each in known if each.endswith(f"-{grouping}")}
            if people is not None and len(people) == 1:
                unfit |= {each for each in known if each.endswith("-system")}  # the same as pooled
            if people is None:
                unfit |= {each for each in known if each not in by_pairs}
        fitting = [each for each in known if each != self._headline and each not in unfit]
        return [row for measure in fitting for row in self._measured(measure)]

    def _measured(self, measure: str) -> list[MeasureRow]:
        found = self._evaluation.values(self._level, measure)
        epsilon = self._evaluation.epsilon if measure == CALIBRATED else None
        rows = []
        for place, name in enumerate(self._names):
            value = float(found.value[place])
            reason = None if math.isfinite(value) else self._reason(place, measure)
            rows.append(
                MeasureRow(
                    level=self._level,
                    measure=measure,
                    metric=name,
                    value=None if reason else value,
                    groups=int(found.groups[place]),
                    epsilon=None if epsilon is None else float(epsilon[place]),
                    headline=measure == self._headline,
                    reason=reason,
                )
            )
        return rows

    def _reason(self, metric: int, measure: str) -> str:
        people = self._evaluation.people
        if people is not None:
            scores = self._evaluation.scores[metric][np.isfinite(people)]
            if scores.min() == scores.max():
                return "all its scores are equal"
        if self._level == "system":
            return "all systems have the same mean"
        where = "item" if measure.endswith("item") else "system" if measure.endswith("system") else "set"
        return f"no {where} has different ratings and different scores"

    def intervals(self, errors: NDArray[np.float64] | None) -> None:
        """Put bootstrap intervals into the rows, unless there is one item only, of which every resample is the same."""
        setting, count = self._setting, self._setting.resamples
        unit = "segments" if setting.resample == RATINGS else setting.resample
        if unit == "segments" and setting.items == 1:
            return
        advance = self._steps(f"intervals, {self._level} level", count)
        drawn = self._evaluation.replicates(self._level, self._headline, unit, count, setting.seed, advance)
        for place, (name, row) in enumerate(self.rows.items()):
            if row.value is not None:
                if errors is not None:  # no measure exceeds 1
                    drawn[:, place] += normal_errors(errors[place], count, setting.seed)
                    np.clip(drawn[:, place], -1.0, 1.0, out=drawn[:, place])
                low, high, _ = ends_of(drawn[:, place], setting.confidence)
                self.rows[name] = replace(row, low=low, high=high)

    def tested(self) -> list[MetricDifferenceRow]:
        """Compare all metrics that have a value, put clusters into the rows, and return the differences."""
        defined = [place for place, name in enumerate(self._names) if self.rows[name].value is not None]
        names = [self._names[place] for place in defined]
        values = [self.rows[name].value or 0.0 for name in names]
        worse = np.zeros((len(names), len(names)), dtype=bool)
        differences = []
        if len(names) > 1:
            part, setting = self._evaluation, self._setting
            if len(names) < len(self._names):
                ranked = part.ranked and OutputPairs(part.ranked.item, part.ranked.people, part.ranked.scores[defined])
                part = MetaEvaluation(part.people, part.scores[defined], ranked, part.seed)
            found = part.differences(
                self._level,
                self._headline,
                setting.test,
                trials=setting.trials,
                seed=setting.seed,
                advance=self._steps(f"tests, {self._level} level", setting.trials),
            )
            p_values = [p if math.isfinite(p) else None for p in found.p.tolist()]
            p_holm = corrected(p_values)
            for number, (a, b) in enumerate(zip(*(each.tolist() for each in metric_pairs(len(names))), strict=True)):
                first, second = (a, b) if values[a] >= values[b] else (b, a)
                difference = values[first] - values[second]
                worse[first, second] = (1.0 if (p := p_holm[number]) is None else p) < 1.0 - setting.confidence
                # Equal metrics stay equal, and one item does not say how much items differ.
                able = difference > SAME and setting.items > 1 and not worse[first, second]
                needed = data_needed(setting.items, float(found.observed[number]), float(found.spread[number]))
                differences.append(
                    MetricDifferenceRow(
                        level=self._level,
                        measure=self._headline,
                        metric_x=names[first],
                        metric_y=names[second],
                        difference=difference if difference > SAME else 0.0,
                        p=p_values[number],
                        p_holm=p_holm[number],
                        items_needed=int(needed) if able and math.isfinite(needed) else None,
                    )
                )
        order = dict(zip(names, values, strict=True))
        best = max(range(len(names)), key=lambda place: values[place], default=0)
        for place, (name, cluster) in enumerate(zip(names, clusters(values, worse), strict=True)):
            self.rows[name] = replace(self.rows[name], cluster=cluster, not_worse=not worse[best, place])
        return sorted(differences, key=lambda row: (-order[row.metric_x], -order[row.metric_y]))

    def verdict(self, differences: Sequence[MetricDifferenceRow]) -> str:
        """Say which metric agrees best, whether that is significant, and how much data would settle it."""
        defined = [row for row in self.rows.values() if row.value is not None]
        what = "single outputs" if self._level == "segment" else "systems"
        title = measure_title(self._level, self._headline)
        items = self._setting.items
        if not defined:
            reasons = some(dict.fromkeys(row.reason for row in self.rows.values() if row.reason is not None))
            return f"On {what}, {title} is undefined for every metric: {reasons}."
        best = max(defined, key=lambda row: row.value or 0.0)
        rivals = [
            Rival(other, row.difference, row.p_holm, None if items == 1 else row.items_needed or math.inf)
            for row in differences
            for one, other in ((row.metric_x, row.metric_y), (row.metric_y, row.metric_x))
            if one == best.metric
        ]
        shown = brief_interval(best.value or 0.0, best.low, best.high)
        head = f"{best.metric} agrees best with people on {what}: {title} {shown}"
        return verdict(head, rivals, 1.0 - self._setting.confidence, items, "rated items")


def _note_undefined(rows: Sequence[MeasureRow], notes: Notes) -> None:
    """Say why measures are undefined, once for each metric and reason."""
    titles: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.reason is not None:
            titles.setdefault((row.metric, row.reason), []).append(measure_title(row.level, row.measure))
    for (metric, reason), undefined in titles.items():
        verb = "is" if len(undefined) == 1 else "are"
        notes.add(f"{metric}: {some(undefined, 3)} {verb} undefined, as {reason}")


def _note_tied(evaluation: MetaEvaluation, names: Sequence[str], notes: Notes) -> None:
    """Say it if calibration ties nearly all outputs: acc*_eq is then little more than how often people tie."""
    shares = (np.abs(evaluation.pairs.scores) <= evaluation.epsilon[:, None]).mean(axis=1)
    tied = [name for name, share in zip(names, shares.tolist(), strict=True) if share > MOSTLY_TIED]
    if tied:
        notes.warn(
            f"calibration ties more than {100 * MOSTLY_TIED:.0f} % of all pairs for {some(tied)}, so acc*_eq is little "
            "more than the share of pairs that people tie; use another measure, such as --segment-measure kendall-item"
        )


def _note_little_data(opinions: Opinions, metrics: int, alpha: float, notes: Notes) -> None:
    items = len(opinions.items)
    pairs = metrics * (metrics - 1) // 2
    if pairs and 2.0 ** (1 - min(items, 60)) * pairs >= alpha:
        notes.warn(
            f"{counted(items, 'item')} cannot make a difference between {counted(metrics, 'metric')} "
            "significant; rate more"
        )
    if items == 1:
        notes.add("one item is rated, so there are no intervals over items")
    if len(opinions.systems) == 1:
        notes.add(f"all outputs are of one system, {opinions.systems[0]}; measures by item and of systems need several")


def _aspect_names(opinions: Ratings | Rankings) -> list[str]:
    return [] if isinstance(opinions, Rankings) else [*dict.fromkeys(each for each in opinions.aspect or () if each)]


def _aspects(
    opinions: Ratings | Rankings, found: Opinions, known: _Known, scored: Sequence[_Scored], measure: str, seed: int
) -> Iterator[AspectRow]:
    """Yield the headline of the segment level for each aspect, where there are several."""
    names = _aspect_names(opinions)
    if isinstance(opinions, Rankings) or len(names) < 2:
        return
    rows, columns = _places(found.systems), _places(found.items)
    for aspect in names:
        try:
            own = _of_ratings(opinions.select(aspect=aspect), known, Notes())
        except DataError:
            values = np.full(len(scored), np.nan)
        else:
            part = np.ix_([rows[each] for each in own.systems], [columns[each] for each in own.items])
            evaluation = own.evaluation(np.stack([each.scores[part] for each in scored]), seed)
            values = evaluation.values("segment", measure).value
        for each, value in zip(scored, values.tolist(), strict=True):
            shown = value if math.isfinite(value) else None
            yield AspectRow(aspect=aspect, metric=each.name, measure=measure, value=shown)


def _systems(opinions: Opinions, scored: Sequence[_Scored]) -> list[SystemMeanRow]:
    """Return mean scores of systems beside what people think of them, the best first."""
    there = np.where(opinions.rated, 0.0, np.nan)
    people = there if opinions.people is None else opinions.people
    mean, scores = system_means(people, np.stack([each.scores for each in scored]))
    order = np.argsort(-mean, kind="stable") if opinions.people is not None else np.arange(len(mean))
    return [
        SystemMeanRow(
            system=opinions.systems[place],
            people=None if opinions.people is None else float(mean[place]),
            metric=each.name,
            score=each.sign * float(scores[metric, place]),
        )
        for place in order.tolist()
        for metric, each in enumerate(scored)
    ]
