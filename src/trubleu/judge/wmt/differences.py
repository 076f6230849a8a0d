"""Whether one metric agrees better with people than another, within a language pair and on average."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from trubleu.errors import MissingExtraError
from trubleu.judge.replicates import centred_p, ends_of
from trubleu.judge.sharing import shared
from trubleu.judge.wmt.results import AVERAGE, DifferenceRow
from trubleu.stats import holm, pearson, permutation_of_metrics, williams_test

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.judge.notes import Notes
    from trubleu.judge.sharing import Where
    from trubleu.judge.wmt.measures import Measured, Points
    from trubleu.judge.wmt.results import Level, WmtSetting
    from trubleu.report.scores import Steps

TRIALS: Final = 1000
"""Permutations, if the bootstrap has no number of its own."""

FEWEST: Final = 4
"""Points below which Williams' test is undefined."""


class _Defined(NamedTuple):
    """A statistic of one metric that is defined."""

    metric: str
    value: float
    replicates: NDArray[np.float64] | None
    resampled: str | None


class _Permuted(NamedTuple):
    """Two metrics whose scores are permuted."""

    level: Level
    language_pair: str
    x: str
    y: str

    def __str__(self) -> str:
        return f"the permutation test of {self.x} and {self.y} in {self.language_pair}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Permute:
    """Permutes the scores of two metrics; what is mapped."""

    clouds: Mapping[tuple[Level, str], Points]
    trials: int
    seed: int

    def __call__(self, part: _Permuted, _state: None, _threads: int | None) -> float:
        cloud = self.clouds[part.level, part.language_pair]
        x, y = cloud.scores[part.x], cloud.scores[part.y]
        return permutation_of_metrics(x, y, cloud.human, trials=self.trials, seed=self.seed).p


def differences_of(
    measured: Sequence[Measured],
    points: Sequence[Points],
    setting: WmtSetting,
    notes: Notes,
    *,
    where: Where,
    steps: Steps,
) -> tuple[DifferenceRow, ...]:
    """Return a row for each pair of metrics and each test that their level has."""
    by_place: dict[tuple[Level, str, str], dict[str, _Defined]] = {}
    for each in measured:
        if each.value is not None and each.statistic in ("pearson", setting.tau):
            found = _Defined(each.metric, each.value, each.replicates, each.resampled)
            by_place.setdefault((each.level, each.language_pair, each.statistic), {})[each.metric] = found
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
            if language_pair != AVERAGE or covered[level, statistic, x.metric] == covered[level, statistic, y.metric]
        ]
        for (level, language_pair, statistic), metrics in by_place.items()
    }
    permuted = [
        _Permuted(level, language_pair, x.metric, y.metric)
        for (level, language_pair, _), pairs in compared.items()
        if "permutation" in _tests(level, language_pair) and (level, language_pair) in clouds
        for x, y in pairs
    ]
    permute = _Permute(clouds=clouds, trials=setting.resamples or TRIALS, seed=setting.seed)
    advance = steps("permutation tests", len(permuted))
    by_permutation = dict(
        zip(permuted, shared(where, permute, permuted, progress=lambda _part: advance(1)), strict=True)
    )
    rows: list[DifferenceRow] = []
    for (level, language_pair, statistic), pairs in compared.items():
        cloud = clouds.get((level, language_pair))
        for test in _tests(level, language_pair):
            p_values = [
                by_permutation.get(_Permuted(level, language_pair, x.metric, y.metric))
                if test == "permutation"
                else _p_value(x, y, cloud, test, setting, notes)
                for x, y in pairs
            ]
            for (x, y), p, p_holm in zip(pairs, p_values, _corrected(p_values), strict=True):
                ends = ends_of(_replicates(x, y), setting.confidence)
                rows.append(
                    DifferenceRow(
                        level=level,
                        language_pair=language_pair,
                        metric_x=x.metric,
                        metric_y=y.metric,
                        statistic=statistic,
                        difference=x.value - y.value,
                        low=ends.low,
                        high=ends.high,
                        test=test,
                        p=p,
                        p_holm=p_holm,
                    )
                )
    return tuple(rows)


def _tests(level: str, language_pair: str) -> tuple[str, ...]:
    if level == "rankings" or language_pair == AVERAGE:
        return ("bootstrap",)
    return ("williams", "permutation")


def _corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct the p-values of one family by Holm's method; those that are undefined count for nothing."""
    corrected = iter(holm([p for p in p_values if p is not None]).tolist())
    return [None if p is None else next(corrected) for p in p_values]


def _replicates(x: _Defined, y: _Defined) -> NDArray[np.float64] | None:
    # Metrics whose intervals draw different things have no resample in common.
    if x.replicates is None or y.replicates is None or x.resampled != y.resampled:
        return None
    difference: NDArray[np.float64] = x.replicates - y.replicates
    return difference


def _p_value(
    x: _Defined, y: _Defined, cloud: Points | None, test: str, setting: WmtSetting, notes: Notes
) -> float | None:
    if test == "bootstrap":
        replicates = _replicates(x, y)
        # Resamples that are too few for an interval are too few for a test.
        if replicates is None or ends_of(replicates, setting.confidence).low is None:
            return None
        return centred_p(replicates, x.value - y.value)
    if cloud is None:
        return None
    between = pearson(cloud.scores[x.metric], cloud.scores[y.metric])
    if len(cloud.human) < FEWEST or between is None:
        return None
    try:
        return williams_test(x.value, y.value, between, len(cloud.human)).p
    except MissingExtraError as error:
        notes.warn(f"p-values by Williams' test are left out: {error}")
        return None
