"""Agreement of each metric with people in one language pair, with its resamples, and differences between metrics."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

import numpy as np

from trubleu.errors import MissingExtraError, some
from trubleu.judge.wmt.results import AVERAGE, AgreementRow, DifferenceRow
from trubleu.judge.wmt.statistics import (
    FEWEST,
    SEGMENT_STATISTICS,
    SYSTEM_STATISTICS,
    all_equal,
    coefficients,
    observed_coefficients,
    resampled_assessments,
    resampled_scores,
)
from trubleu.judge.wmt.tau import VARIANTS, entries, ranking_tau, tells_apart
from trubleu.stats import pearson, permutation_of_metrics, total, williams_test
from trubleu.stats.bootstrap import Resampling, draw_counts, ends_of
from trubleu.stats.paired import centred_p, corrected, holm_limit
from trubleu.stats.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.report import Notes
    from trubleu.judge.wmt.results import Level, WmtSetting
    from trubleu.judge.wmt.scores import MetricScores
    from trubleu.judge.wmt.tau import RankedPairs
    from trubleu.progress import Steps


_SYSTEMS: Final = crc32(b"systems") << 32

LEVEL_NAMES: Final[dict[Level, str]] = {
    "system": "system level",
    "rankings": "rankings",
    "assessments": "direct assessments",
}


class Measured(NamedTuple):
    """One statistic of one metric in one language pair, its resamples, and what these draw."""

    row: AgreementRow
    replicates: NDArray[np.float64] | None
    resampled: str | None

    @classmethod
    def of(
        cls,
        value: float | None,
        replicates: NDArray[np.float64] | None,
        resampled: str | None,
        confidence: float,
        **row: Any,
    ) -> Measured:
        """Return a statistic with its interval; without a value there is nothing else."""
        if value is None or np.isnan(value):
            value = replicates = resampled = None
        low, high, undefined = ends_of(replicates, confidence)
        drawn = None if low is None else resampled
        found = AgreementRow(value=value, low=low, high=high, resampled=drawn, undefined=undefined, **row)
        return cls(found, replicates, resampled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """What a test between metrics compares: people's numbers, and each metric's for the same systems or outputs."""

    level: Level
    language_pair: str
    human: NDArray[np.float64]
    scores: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What all measures of one language pair share."""

    language_pair: str
    setting: WmtSetting
    notes: Notes
    threads: int | None
    steps: Steps
    signatures: Mapping[str, str | None]

    @property
    def seed(self) -> int:
        """The seed of this language pair's draws: those of different pairs must not depend on each other."""
        return self.setting.seed ^ crc32(self.language_pair.encode())

    @property
    def system_seed(self) -> int:
        """The seed of the draws of systems, which must not depend on those of segments either."""
        return self.seed ^ _SYSTEMS

    def measured(
        self,
        metric: str,
        value: float,
        replicates: NDArray[np.float64] | None,
        resampled: str | None,
        **row: Any,
    ) -> Measured:
        """Return a statistic of this language pair; ``row`` has the other fields of an `AgreementRow`."""
        row |= {"language_pair": self.language_pair, "metric": metric, "signature": self.signatures.get(metric)}
        return Measured.of(value, replicates, resampled, self.setting.confidence, **row)

    def draws(self, what: str, parts: int = 1) -> Resampling:
        """Return the resamples of segments, which are drawn for so many things one after the other."""
        count = self.setting.resamples
        advance = self.steps(f"{self.language_pair}: {what}", count * parts)
        return Resampling(test="bootstrap", count=count, seed=self.seed, threads=self.threads, progress=advance)


def measure_systems(
    work: Work, human: NDArray[np.float64], metrics: Sequence[MetricScores], systems: Sequence[str]
) -> tuple[list[Measured], Points]:
    """Correlate scores of systems with the official human ones."""
    pair, setting = work.language_pair, work.setting
    scored = {each.name: each.systems for each in metrics if each.systems is not None}
    rated = ~np.isnan(human)
    usable, without = _usable({name: ~np.isnan(scores) for name, scores in scored.items()}, rated)
    if without:
        missing = [systems[place] for place in np.flatnonzero(rated & ~usable).tolist()]
        work.notes.warn(
            f"{pair}: systems left out of the system level for every metric, as {without} no score for them: "
            f"{some(missing)}"
        )
    kept = np.flatnonzero(usable)
    people = human[kept]
    points = {name: scores[kept] for name, scores in scored.items()}
    resampled: dict[str, str] = {}
    if setting.resamples and len(kept) >= FEWEST:
        resampled = {each.name: what for each in metrics if each.name in points and (what := _resampled(work, each))}
    replicates = _system_replicates(work, people, points, resampled, metrics, kept) if resampled else {}
    cloud = Points(level="system", language_pair=pair, human=people, scores=points)
    return _correlated(work, cloud, SYSTEM_STATISTICS, replicates, resampled), cloud


def _correlated(
    work: Work,
    cloud: Points,
    statistics: Sequence[str],
    replicates: Mapping[tuple[str, str], NDArray[np.float64]],
    resampled: Mapping[str, str],
) -> list[Measured]:
    """Return the coefficients of each metric; say why they are undefined."""
    place, n = f"{work.language_pair}, {LEVEL_NAMES[cloud.level]}", len(cloud.human)
    what = "systems" if cloud.level == "system" else "assessed outputs"
    if n < FEWEST:
        work.notes.warn(
            f"{place}: a correlation needs at least {FEWEST} {what} and there {'is' if n == 1 else 'are'} {n}, "
            "so it is undefined"
        )
    elif cloud.human.min() == cloud.human.max():
        work.notes.warn(f"{place}: all {what} have the same human score, so correlations are undefined")
    for name, scores in cloud.scores.items():
        if n >= FEWEST and all_equal(scores):
            work.notes.warn(f"{place}: {name} gives all {what} the same score; correlations are undefined")
    return [
        work.measured(
            name, value, replicates.get((name, key)), resampled.get(name), level=cloud.level, statistic=key, n=n
        )
        for name, scores in cloud.scores.items()
        for key, value in observed_coefficients(cloud.human, scores, statistics).items()
    ]


def _usable(there: Mapping[str, NDArray[np.bool_]], wanted: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], str | None]:
    """Return what all metrics have of what is wanted, and which metrics lack some of it, as "x has" or "x, y have"."""
    without = [name for name, here in there.items() if not here[wanted].all()]
    usable = np.logical_and.reduce([wanted, *there.values()])
    return usable, f"{some(without)} {'has' if len(without) == 1 else 'have'}" if without else None


def _resampled(work: Work, metric: MetricScores) -> str | None:
    """Return what resamples of a metric's system scores draw; None if they cannot be resampled."""
    drawn = work.setting.resample
    if metric.statistics is None or metric.score is None:
        if drawn == "segments":
            work.notes.add(f"{metric.name}: no interval at the system level, as only scores of whole systems are known")
            return None
        if drawn == "both":
            work.notes.add(
                f"{metric.name}: only scores of whole systems are known, so its interval draws systems, not segments"
            )
        return "systems"
    return "segments and systems" if drawn == "both" else drawn


def _system_replicates(
    work: Work,
    people: NDArray[np.float64],
    scores: Mapping[str, NDArray[np.float64]],
    resampled: Mapping[str, str],
    metrics: Sequence[MetricScores],
    kept: NDArray[np.int64],
) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the resamples of each metric's coefficients, by metric and statistic."""
    draws = work.draws("systems", sum(each != "systems" for each in resampled.values()))
    drawn = None
    if work.setting.resample != "segments":
        drawn = draw_counts(len(people), draws.count, work.system_seed)
    found: dict[tuple[str, str], NDArray[np.float64]] = {}
    for each in metrics:
        if each.name not in resampled:
            continue
        replicated = np.broadcast_to(scores[each.name], (draws.count, len(people)))
        if resampled[each.name] != "systems" and each.statistics is not None and each.score is not None:
            rows = [Sample.of(each.statistics[place], each.name).rows for place in kept.tolist()]
            replicated = resampled_scores(rows, each.score, draws)
        found |= {(each.name, key): one for key, one in coefficients(people, replicated, drawn).items()}
    return found


def measure_rankings(work: Work, pairs: RankedPairs, metrics: Sequence[MetricScores]) -> list[Measured]:
    """Compute every variant of τ over ranked pairs of outputs."""
    pair, setting = work.language_pair, work.setting
    scored = {each.name: each.segments for each in metrics if each.segments is not None}
    wanted = np.ones(len(pairs), dtype=bool)
    usable, without = _usable({name: pairs.usable(scores) for name, scores in scored.items()}, wanted)
    if without:
        work.notes.count(
            f"{pair}: rankings left out for every metric, as {without} no score for an output",
            int(np.count_nonzero(~usable)),
        )
        pairs = pairs.where(usable)
    segments = np.unique(pairs.segment)
    tables = {name: pairs.counts(scores, segments) for name, scores in scored.items()}
    sums: dict[str, NDArray[np.float64]] = {}
    if setting.resamples and len(segments):
        rows = [Sample.of(table, name).rows for name, table in tables.items()]
        sums = dict(zip(tables, work.draws("rankings").sums_of_each(rows, len(rows), rows[0].shape), strict=True))
    found = []
    for name, table in tables.items():
        counts = total(table)
        for variant in VARIANTS:
            replicates = _tau(sums[name], variant) if sums else None
            row = {"level": "rankings", "statistic": variant, "n": entries(counts, variant)}
            tau = float(_tau(counts, variant))
            found.append(work.measured(name, tau, replicates, "segments" if sums else None, **row))
    constant = {name for name, table in tables.items() if not tells_apart(total(table))}
    _tell_undefined(work, pairs, found, constant)
    return found


def _tau(counts: NDArray[np.float64], variant: str) -> NDArray[np.float64]:
    """Return τ; NaN where the metric scores the outputs of every pair equal, which says nothing of its agreement."""
    return np.where(tells_apart(counts), ranking_tau(counts, variant), np.nan)


def _tell_undefined(work: Work, pairs: RankedPairs, found: Sequence[Measured], constant: Container[str]) -> None:
    place = f"{work.language_pair}, rankings"
    undefined: dict[str, list[str]] = {}
    for row, *_ in found:
        if row.value is None:
            undefined.setdefault(row.metric, []).append(row.statistic)
    if undefined and not len(pairs):
        work.notes.warn(f"{place}: none are left, so τ is undefined; use the names of the outputs and segments")
        return
    if undefined and not pairs.human.any():
        variants = ", ".join(variant for variant in VARIANTS if variant != "hties")
        work.notes.warn(f"{place}: people rank the outputs of every pair equal, so τ is undefined ({variants})")
        undefined = {metric: variants_of for metric, variants_of in undefined.items() if metric in constant}
    for metric, variants_of in undefined.items():
        which = "every pair" if metric in constant else "every pair that people rank apart"
        what = f"{metric} scores the outputs of {which} equal, so its τ is undefined ({', '.join(variants_of)})"
        work.notes.warn(f"{place}: {what}")


def measure_assessments(
    work: Work, assessed: NDArray[np.float64], metrics: Sequence[MetricScores]
) -> tuple[list[Measured], Points]:
    """Correlate scores of outputs with direct assessments of the same outputs."""
    pair, setting = work.language_pair, work.setting
    scored = {each.name: each.segments for each in metrics if each.segments is not None}
    wanted = ~np.isnan(assessed)
    usable, without = _usable({name: ~np.isnan(scores) for name, scores in scored.items()}, wanted)
    if without:
        work.notes.count(
            f"{pair}: assessments left out for every metric, as {without} no score for an output",
            int(np.count_nonzero(wanted & ~usable)),
        )
    # Segment by segment: what is drawn together stands together.
    segment, system = np.nonzero(usable.T)
    human = assessed[system, segment]
    points = {name: scores[system, segment] for name, scores in scored.items()}
    replicates: dict[tuple[str, str], NDArray[np.float64]] = {}
    if setting.resamples and len(human) >= FEWEST:
        numbered = np.unique(segment, return_inverse=True)[1]
        replicates = resampled_assessments(human, points, numbered, work.draws("direct assessments"))
    cloud = Points(level="assessments", language_pair=pair, human=human, scores=points)
    return _correlated(work, cloud, SEGMENT_STATISTICS, replicates, dict.fromkeys(points, "segments")), cloud


TRIALS: Final = 1000
"""Permutations, if the bootstrap has no number of its own."""

FEWEST_SHARED: Final = 4
"""Points below which Williams' test is undefined."""


def differences_of(
    measured: Sequence[Measured],
    points: Sequence[Points],
    setting: WmtSetting,
    notes: Notes,
    steps: Steps,
) -> tuple[DifferenceRow, ...]:
    """Return a row for each pair of metrics and each test that their level has."""
    by_place: dict[tuple[Level, str, str], dict[str, Measured]] = {}
    for each in measured:
        row = each.row
        if row.value is not None and row.statistic in ("pearson", setting.tau):
            by_place.setdefault((row.level, row.language_pair, row.statistic), {})[row.metric] = each
    clouds = {(each.level, each.language_pair): each for each in points}
    covered: dict[tuple[str, str, str], set[str]] = {}
    for (level, language_pair, statistic), metrics in by_place.items():
        for metric in metrics:
            covered.setdefault((level, statistic, metric), set()).add(language_pair)
    compared = {
        (level, language_pair, statistic): [
            (x, y)
            for x, y in combinations(metrics.values(), 2)
            # Averages over different language pairs are no difference between metrics.
            if language_pair != AVERAGE
            or covered[level, statistic, x.row.metric] == covered[level, statistic, y.row.metric]
        ]
        for (level, language_pair, statistic), metrics in by_place.items()
    }
    advance = steps("tests", sum(map(len, compared.values())))
    rows: list[DifferenceRow] = []
    for (level, language_pair, statistic), pairs in compared.items():
        cloud = clouds.get((level, language_pair))
        for test in _tests(level, language_pair):
            p_values = [_p_value(x, y, cloud, test, setting, notes) for x, y in pairs]
            limit = holm_limit([p for p in p_values if p is not None], setting.resamples or TRIALS)
            if limit and test != "williams":
                notes.add(limit)
            for (x, y), p, p_holm in zip(pairs, p_values, corrected(p_values), strict=True):
                ends = ends_of(_replicates(x, y), setting.confidence)
                rows.append(
                    DifferenceRow(
                        level=level,
                        language_pair=language_pair,
                        metric_x=x.row.metric,
                        metric_y=y.row.metric,
                        statistic=statistic,
                        difference=_difference(x, y),
                        low=ends.low,
                        high=ends.high,
                        test=test,
                        p=p,
                        p_holm=p_holm,
                    )
                )
        advance(len(pairs))
    return tuple(rows)


def _tests(level: str, language_pair: str) -> tuple[str, ...]:
    if level == "rankings" or language_pair == AVERAGE:
        return ("bootstrap",)
    return ("williams", "permutation")


def _difference(x: Measured, y: Measured) -> float:
    return (x.row.value or 0.0) - (y.row.value or 0.0)


def _replicates(x: Measured, y: Measured) -> NDArray[np.float64] | None:
    # Metrics whose intervals draw different things have no resample in common.
    if x.replicates is None or y.replicates is None or x.resampled != y.resampled:
        return None
    difference: NDArray[np.float64] = x.replicates - y.replicates
    return difference


def _p_value(
    x: Measured, y: Measured, cloud: Points | None, test: str, setting: WmtSetting, notes: Notes
) -> float | None:
    if test == "bootstrap":
        replicates = _replicates(x, y)
        # Resamples that are too few for an interval are too few for a test.
        if replicates is None or ends_of(replicates, setting.confidence).low is None:
            return None
        return centred_p(replicates, _difference(x, y))
    if cloud is None:
        return None
    if test == "permutation":
        scores = cloud.scores[x.row.metric], cloud.scores[y.row.metric]
        return permutation_of_metrics(*scores, cloud.human, trials=setting.resamples or TRIALS, seed=setting.seed).p
    between = pearson(cloud.scores[x.row.metric], cloud.scores[y.row.metric])
    if len(cloud.human) < FEWEST_SHARED or between is None:
        return None
    try:
        return williams_test(x.row.value or 0.0, y.row.value or 0.0, between, len(cloud.human)).p
    except MissingExtraError as error:
        notes.warn(f"p-values by Williams' test are left out: {error}")
        return None
