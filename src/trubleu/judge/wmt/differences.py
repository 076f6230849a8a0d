"""Whether one metric agrees better with people than another, within a language pair and on average."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import MissingExtraError
from trubleu.judge.wmt.results import AVERAGE, DifferenceRow
from trubleu.judge.wmt.statistics import ends_of
from trubleu.stats import holm, pearson, permutation_of_metrics, williams_test

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.notes import Notes
    from trubleu.judge.wmt.measures import Measured, Points
    from trubleu.judge.wmt.results import Level, WmtSetting

ROUNDING: Final = 1e-12
"""Differences closer than this are the same but for rounding."""

TRIALS: Final = 1000
"""Permutations, if the bootstrap has no number of its own."""

FEWEST: Final = 4
"""Points below which Williams' test is undefined."""


def differences_of(
    measured: Sequence[Measured], points: Sequence[Points], setting: WmtSetting, notes: Notes
) -> tuple[DifferenceRow, ...]:
    """Return a row for each pair of metrics and each test that their level has."""
    by_place: dict[tuple[Level, str, str], dict[str, Measured]] = {}
    for each in measured:
        if each.value is not None and each.statistic in ("pearson", setting.tau):
            by_place.setdefault((each.level, each.language_pair, each.statistic), {})[each.metric] = each
    clouds = {(each.level, each.language_pair): each for each in points}
    covered: dict[tuple[str, str, str], set[str]] = {}
    for (level, language_pair, statistic), metrics in by_place.items():
        for metric in metrics:
            covered.setdefault((level, statistic, metric), set()).add(language_pair)
    rows: list[DifferenceRow] = []
    for (level, language_pair, statistic), metrics in by_place.items():
        cloud = clouds.get((level, language_pair))
        pairs = [
            (x, y)
            for x, y in combinations(metrics.values(), 2)
            # Averages over different language pairs are no difference between metrics.
            if language_pair != AVERAGE or covered[level, statistic, x.metric] == covered[level, statistic, y.metric]
        ]
        for test in _tests(level, language_pair):
            rows += _family(pairs, cloud, test, setting, notes)
    return tuple(rows)


def _tests(level: str, language_pair: str) -> tuple[str, ...]:
    if level == "rankings" or language_pair == AVERAGE:
        return ("bootstrap",)
    return ("williams", "permutation")


def _family(
    pairs: Sequence[tuple[Measured, Measured]], cloud: Points | None, test: str, setting: WmtSetting, notes: Notes
) -> Iterator[DifferenceRow]:
    """Yield the rows of one family of tests, corrected by Holm."""
    p_values = [_p_value(x, y, cloud, test, setting, notes) for x, y in pairs]
    defined = [p for p in p_values if p is not None]
    corrected = iter(holm(defined).tolist())
    for (x, y), p in zip(pairs, p_values, strict=True):
        if x.value is None or y.value is None:
            continue
        ends = ends_of(_replicates(x, y), setting.confidence)
        yield DifferenceRow(
            level=x.level,
            language_pair=x.language_pair,
            metric_x=x.metric,
            metric_y=y.metric,
            statistic=x.statistic,
            difference=x.value - y.value,
            low=ends.low,
            high=ends.high,
            test=test,
            p=p,
            p_holm=None if p is None else next(corrected),
        )


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
        return (
            None
            if replicates is None or x.value is None or y.value is None
            else centred_p(replicates, x.value - y.value)
        )
    if cloud is None:
        return None
    first, second = cloud.scores[x.metric], cloud.scores[y.metric]
    if test == "permutation":
        trials = setting.resamples or TRIALS
        return permutation_of_metrics(first, second, cloud.human, trials=trials, seed=setting.seed).p
    between = pearson(first, second)
    if len(cloud.human) < FEWEST or between is None or x.value is None or y.value is None:
        return None
    try:
        return williams_test(x.value, y.value, between, len(cloud.human)).p
    except MissingExtraError as error:
        notes.warn(f"p-values by Williams' test are left out: {error}")
        return None


def centred_p(replicates: NDArray[np.float64], observed: float) -> float | None:
    """Return the two-sided p-value of the paired bootstrap: replicates are shifted so that their mean is 0.

    Resamples in which the difference is undefined are left out; None if there are no others.

    Examples
    --------
    >>> centred_p(np.array([0.9, 1.0, 1.1]), 1.0), centred_p(np.zeros(9), 0.0)
    (0.25, 1.0)
    """
    defined = replicates[np.isfinite(replicates)]
    if not len(defined):
        return None
    extreme = np.count_nonzero(np.abs(defined - defined.mean()) >= abs(observed) - ROUNDING)
    return (int(extreme) + 1) / (len(defined) + 1)
