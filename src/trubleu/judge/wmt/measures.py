"""How well each metric agrees with people in one language pair, with the resamples behind its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar
from zlib import crc32

import numpy as np

from trubleu.errors import some
from trubleu.judge.wmt.resampling import AssessmentReplicator, RankingReplicator, SystemReplicator, resample
from trubleu.judge.wmt.statistics import (
    FEWEST,
    SEGMENT_STATISTICS,
    SYSTEM_STATISTICS,
    segment_coefficients,
    system_coefficients,
)
from trubleu.judge.wmt.tau import VARIANTS, entries, ranking_tau, tells_apart
from trubleu.stats import pearson, total
from trubleu.stats.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.notes import Notes
    from trubleu.judge.sharing import Where
    from trubleu.judge.wmt.resampling import Replicator
    from trubleu.judge.wmt.results import Level, WmtSetting
    from trubleu.judge.wmt.scores import MetricScores
    from trubleu.judge.wmt.tau import RankedPairs
    from trubleu.report.scores import Steps

Key = TypeVar("Key")

_SYSTEMS: Final = crc32(b"systems") << 32

LEVEL_NAMES: Final[dict[Level, str]] = {
    "system": "system level",
    "rankings": "rankings",
    "assessments": "direct assessments",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One statistic of one metric in one language pair; ``value`` is None where it is undefined."""

    level: Level
    language_pair: str
    metric: str
    statistic: str
    value: float | None
    n: int
    replicates: NDArray[np.float64] | None
    resampled: str | None
    signature: str | None


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
    where: Where
    steps: Steps

    @property
    def seed(self) -> int:
        """The seed of this language pair's draws: those of different pairs must not depend on each other."""
        return self.setting.seed ^ crc32(self.language_pair.encode())

    @property
    def system_seed(self) -> int:
        """The seed of the draws of systems, which must not depend on those of segments either."""
        return self.seed ^ _SYSTEMS

    def resample(self, what: str, replicator: Replicator[Key]) -> dict[Key, NDArray[np.float64]]:
        """Return what is made of each resample of segments."""
        count = self.setting.resamples
        advance = self.steps(f"{self.language_pair}: {what}", count)
        return resample(replicator, count=count, seed=self.seed, where=self.where, progress=advance)


def measure_systems(
    work: Work, human: NDArray[np.float64], metrics: Sequence[MetricScores], systems: Sequence[str]
) -> tuple[list[Measured], Points]:
    """Correlate scores of systems with the official human ones."""
    pair, setting = work.language_pair, work.setting
    scored = {each.name: each for each in metrics if each.systems is not None}
    missing = [
        system
        for place, system in enumerate(systems)
        if not np.isnan(human[place]) and any(np.isnan(_systems(each)[place]) for each in scored.values())
    ]
    if missing:
        without = [name for name, each in scored.items() if np.isnan(_systems(each)[~np.isnan(human)]).any()]
        work.notes.warn(
            f"{pair}: systems left out of the system level for every metric, as {some(without)} "
            f"{'has' if len(without) == 1 else 'have'} no score for them: {some(missing)}"
        )
    kept = np.flatnonzero(~np.isnan(human) & ~np.isin(np.array(systems), missing))
    people = human[kept]
    if len(kept) < FEWEST:
        work.notes.warn(
            f"{pair}, system level: a correlation needs at least {FEWEST} systems and there "
            f"{'is' if len(kept) == 1 else 'are'} {len(kept)}, so it is undefined"
        )
    elif people.min() == people.max():
        work.notes.warn(f"{pair}, system level: all systems have the same human score, so correlations are undefined")
    found: list[Measured] = []
    points: dict[str, NDArray[np.float64]] = {}
    resampled: dict[str, str] = {}
    for name, each in scored.items():
        scores = _systems(each)[kept]
        points[name] = scores
        if len(kept) >= FEWEST and scores.min() == scores.max():
            work.notes.warn(
                f"{pair}, system level: {name} gives all systems the same score; correlations are undefined"
            )
        if setting.resamples and len(kept) >= FEWEST and (what := _resampled(work, each)) is not None:
            resampled[name] = what
    replicates = _system_replicates(work, people, points, resampled, scored, kept) if resampled else {}
    for name, each in scored.items():
        scores = points[name]
        observed = system_coefficients(people, scores[np.newaxis])
        if len(kept) >= FEWEST and (r := pearson(people, scores)) is not None:
            observed["pearson"] = np.array([r])
        for statistic in SYSTEM_STATISTICS:
            value = float(observed[statistic][0])
            defined = not np.isnan(value)
            found.append(
                Measured(
                    level="system",
                    language_pair=pair,
                    metric=name,
                    statistic=statistic,
                    value=value if defined else None,
                    n=len(kept),
                    replicates=replicates.get((name, statistic)) if defined else None,
                    resampled=resampled.get(name) if defined else None,
                    signature=each.signature,
                )
            )
    return found, Points(level="system", language_pair=pair, human=people, scores=points)


def _systems(metric: MetricScores) -> NDArray[np.float64]:
    assert metric.systems is not None  # noqa: S101 - only those that have them are asked
    return metric.systems


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
    metrics: Mapping[str, MetricScores],
    kept: NDArray[np.int64],
) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the resamples of each metric's coefficients, by metric and statistic."""
    counted = {}
    for name in resampled:
        each = metrics[name]
        if resampled[name] != "systems" and each.statistics is not None and each.score is not None:
            counted[name] = [Sample.of(each.statistics[place], name).rows for place in kept.tolist()], each.score
    replicator = SystemReplicator(
        people=people,
        known={name: scores[name] for name in resampled if name not in counted},
        counted=counted,
        seed=None if work.setting.resample == "segments" else work.system_seed,
    )
    return work.resample("systems", replicator)


def measure_rankings(work: Work, pairs: RankedPairs, metrics: Sequence[MetricScores]) -> list[Measured]:
    """Compute every variant of τ over ranked pairs of outputs."""
    pair, setting = work.language_pair, work.setting
    scored = [each for each in metrics if each.segments is not None]
    usable = np.ones(len(pairs), dtype=bool)
    without = []
    for each in scored:
        here = pairs.usable(_segments(each))
        if not here.all():
            without.append(each.name)
        usable &= here
    if without:
        work.notes.count(
            f"{pair}: rankings left out for every metric, as {some(without)} "
            f"{'has' if len(without) == 1 else 'have'} no score for an output",
            int(np.count_nonzero(~usable)),
        )
        pairs = pairs.where(usable)
    segments = np.unique(pairs.segment)
    tables = {each.name: pairs.counts(_segments(each), segments) for each in scored}
    sums: dict[str, NDArray[np.float64]] = {}
    if setting.resamples and len(segments):
        samples = {name: Sample.of(table, name).rows for name, table in tables.items()}
        sums = work.resample("rankings", RankingReplicator(tables=samples))
    found = []
    for each in scored:
        counts = total(tables[each.name])
        for variant in VARIANTS:
            tau = float(_tau(counts, variant))
            defined = not np.isnan(tau)
            found.append(
                Measured(
                    level="rankings",
                    language_pair=pair,
                    metric=each.name,
                    statistic=variant,
                    value=tau if defined else None,
                    n=entries(counts, variant),
                    replicates=_tau(sums[each.name], variant) if defined and sums else None,
                    resampled="segments" if defined and sums else None,
                    signature=each.signature,
                )
            )
    constant = {name for name, table in tables.items() if not tells_apart(total(table))}
    _tell_undefined(work, pairs, found, constant)
    return found


def _tau(counts: NDArray[np.float64], variant: str) -> NDArray[np.float64]:
    """Return τ; NaN where the metric scores the outputs of every pair equal, which says nothing of its agreement."""
    return np.where(tells_apart(counts), ranking_tau(counts, variant), np.nan)


def _tell_undefined(work: Work, pairs: RankedPairs, found: Sequence[Measured], constant: Container[str]) -> None:
    place = f"{work.language_pair}, rankings"
    undefined: dict[str, list[str]] = {}
    for each in found:
        if each.value is None:
            undefined.setdefault(each.metric, []).append(each.statistic)
    if undefined and not len(pairs):
        work.notes.warn(f"{place}: none are left, so τ is undefined")
        return
    if undefined and not pairs.human.any():
        variants = ", ".join(variant for variant in VARIANTS if variant != "hties")
        work.notes.warn(f"{place}: people rank the outputs of every pair equal, so τ is undefined ({variants})")
        undefined = {metric: variants_of for metric, variants_of in undefined.items() if metric in constant}
    for metric, variants_of in undefined.items():
        which = "every pair" if metric in constant else "every pair that people rank apart"
        what = f"{metric} scores the outputs of {which} equal, so its τ is undefined ({', '.join(variants_of)})"
        work.notes.warn(f"{place}: {what}")


def _segments(metric: MetricScores) -> NDArray[np.float64]:
    assert metric.segments is not None  # noqa: S101 - only those that have them are asked
    return metric.segments


def measure_assessments(
    work: Work, assessed: NDArray[np.float64], metrics: Sequence[MetricScores]
) -> tuple[list[Measured], Points]:
    """Correlate scores of outputs with direct assessments of the same outputs."""
    pair, setting = work.language_pair, work.setting
    scored = {each.name: each for each in metrics if each.segments is not None}
    wanted = ~np.isnan(assessed)
    usable = wanted.copy()
    without = []
    for name, each in scored.items():
        here = ~np.isnan(_segments(each))
        if not here[wanted].all():
            without.append(name)
        usable &= here
    if without:
        work.notes.count(
            f"{pair}: assessments left out for every metric, as {some(without)} "
            f"{'has' if len(without) == 1 else 'have'} no score for an output",
            int(np.count_nonzero(wanted & ~usable)),
        )
    # Segment by segment: what is drawn together stands together.
    segment, system = np.nonzero(usable.T)
    human = assessed[system, segment]
    points = {name: _segments(each)[system, segment] for name, each in scored.items()}
    if len(human) < FEWEST:
        work.notes.warn(
            f"{pair}, direct assessments: a correlation needs at least {FEWEST} assessed outputs and there "
            f"{'is' if len(human) == 1 else 'are'} {len(human)}, so it is undefined"
        )
    else:
        if human.min() == human.max():
            work.notes.warn(f"{pair}, direct assessments: all are the same, so correlations are undefined")
        for name, values in points.items():
            if values.min() == values.max():
                what = f"{name} gives all outputs the same score; correlations are undefined"
                work.notes.warn(f"{pair}, direct assessments: {what}")
    observed = segment_coefficients(human, points)
    replicates: dict[tuple[str, str], NDArray[np.float64]] = {}
    if setting.resamples and len(human) >= FEWEST:
        numbered = np.unique(segment, return_inverse=True)[1]
        replicator = AssessmentReplicator(human=human, scores=points, segment=numbered)
        replicates = work.resample("direct assessments", replicator)
    found = [
        Measured(
            level="assessments",
            language_pair=pair,
            metric=name,
            statistic=statistic,
            value=observed[name, statistic],
            n=len(human),
            replicates=replicates.get((name, statistic)) if observed[name, statistic] is not None else None,
            resampled="segments" if replicates and observed[name, statistic] is not None else None,
            signature=each.signature,
        )
        for name, each in scored.items()
        for statistic in SEGMENT_STATISTICS
    ]
    return found, Points(level="assessments", language_pair=pair, human=human, scores=points)
