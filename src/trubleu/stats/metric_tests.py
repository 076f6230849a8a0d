"""Tests whether one metric agrees better with people than another: permutations, bootstrap, clusters of metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from trubleu.errors import UsageError, nearest, some
from trubleu.optional_deps import needed
from trubleu.stats import checks
from trubleu.stats.bootstrap import Resampling
from trubleu.stats.correlation import grain_of, pearson, settled
from trubleu.stats.meta_evaluation import (
    COEFFICIENTS,
    EQUAL,
    GROUPINGS,
    TAUS,
    GroupMeans,
    OutputPairs,
    SystemDifferences,
    coefficient_means,
    coefficients,
    pairwise_accuracy,
    random_bits,
    random_signs,
    ratio_of_sums,
    soft_pairwise_accuracy,
    system_means,
)
from trubleu.stats.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from trubleu.progress import Progress
    from trubleu.stats.meta_evaluation import Coefficient, Grouping
    from trubleu.stats.sums import ScoreFunction

Test: TypeAlias = Literal[
    "perm-both", "perm-input", "perm-system", "bootstrap-segments", "bootstrap-systems", "bootstrap-both", "williams"
]
"""How metrics are compared: by swapping entries, items or systems, by resampling items, systems or both, or by
Williams' test."""

TESTS: Final[tuple[Test, ...]] = get_args(Test)

ACCURACY: Final = "acc-eq"
CALIBRATED: Final = "acc-eq-calibrated"
SEGMENT_MEASURES: Final = (
    CALIBRATED,
    ACCURACY,
    *(f"{coefficient}-{grouping}" for grouping in GROUPINGS for coefficient in COEFFICIENTS),
    *TAUS,
)
"""Segment-level measures."""

PAIR_MEASURES: Final = (CALIBRATED, ACCURACY, *TAUS)
"""Segment-level measures of pairs of outputs; ranked pairs give no others."""

SOFT: Final = "soft-pairwise-accuracy"
PAIRWISE: Final = "pairwise-accuracy"
SYSTEM_MEASURES: Final = (SOFT, PAIRWISE, "pearson", "spearman", "kendall")
"""System-level measures."""

SAME: Final = 1e-8
"""Differences between metrics below this are rounding errors: scores are rounded to about 10⁻⁹ of the largest."""

AT_ONCE: Final = 4_000_000
"""Numbers (32 MB) swapped per batch."""

FEWEST_FOR_WILLIAMS: Final = 4
"""Points below which Williams' test is undefined."""

FEWEST: Final = 3
"""Systems below which a measure of systems says nothing: two points always lie on a line."""

INCONSISTENT: Final = 1e-9
"""How far rounding may push the determinant of three correlations below 0."""

SIGN_TRIALS: Final = 1000
"""Number of random signs behind the p-values of soft pairwise accuracy."""


class Differences(NamedTuple):
    """The difference between each two metrics, with p-values from all trials.

    Attributes
    ----------
    observed
        ``float64[pairs]``, the first metric's value less the second's.
    p
        Two-sided p-values, ``float64[pairs]``: (b + 1)/(n + 1), 1 for equals.
    spread
        The standard deviation of the difference over the trials, ``float64[pairs]``.
    """

    observed: NDArray[np.float64]
    p: NDArray[np.float64]
    spread: NDArray[np.float64]


@dataclass(frozen=True)
class MetaEvaluation:
    """Ratings and metric scores, with all measures and tests on them.

    Attributes
    ----------
    people
        ``float64[systems, items]``, NaN where nobody rated; None if people ranked pairs.
    scores
        ``float64[metrics, systems, items]``, higher is better, finite wherever somebody rated. NaN elsewhere is fine.
    ranked
        The pairs that people ranked.
    seed
        Of the random signs of soft pairwise accuracy.
    systems
        Which system each row is, where some are drawn repeatedly: a system is not compared with itself.
    """

    people: NDArray[np.float64] | None
    scores: NDArray[np.float64]
    ranked: OutputPairs | None = None
    seed: int = 12345
    systems: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.people is not None:
            object.__setattr__(self, "scores", np.where(np.isfinite(self.people), self.scores, 0.0))

    @cached_property
    def pairs(self) -> OutputPairs:
        """All pairs of outputs that people ranked, or of rated outputs of one item."""
        return self.ranked or OutputPairs.of_scores(self._rated(), self.scores, self.systems)

    @cached_property
    def epsilon(self) -> NDArray[np.float64]:
        """The calibrated tie threshold of each metric."""
        return self.pairs.calibrated()

    def _ties(self, measure: str) -> NDArray[np.float64] | float:
        return self.epsilon if measure == CALIBRATED else 0.0

    @cached_property
    def signs(self) -> NDArray[np.float64]:
        """Random signs of the items."""
        return random_signs(SIGN_TRIALS, self.scores.shape[-1], self.seed)

    def values(self, level: str, measure: str) -> GroupMeans:
        """Return a measure of each metric, NaN if undefined, and the number of groups averaged."""
        one = np.ones(len(self.scores), dtype=np.int64)
        if level == "segment" and measure in TAUS:
            return GroupMeans(self.pairs.tau(measure), one)
        if level == "segment" and measure in (ACCURACY, CALIBRATED):
            return GroupMeans(self.pairs.accuracy(self._ties(measure)), self.pairs.items() * one)
        people = self._rated()
        if level == "segment":
            return coefficient_means(people, self.scores, *split_measure(measure))
        return GroupMeans(self._of_systems(measure), one)

    def of_metrics(self, places: Sequence[int]) -> Self:
        """Return the same for some of the metrics."""
        ranked = self.ranked and replace(self.ranked, scores=self.ranked.scores[places])
        return replace(self, scores=self.scores[places], ranked=ranked)

    def _rated(self) -> NDArray[np.float64]:
        if self.people is None:
            raise UsageError(f"ranked pairs have no scores to correlate with; use {some(PAIR_MEASURES, 6)}")
        return self.people

    def _of_systems(self, measure: str) -> NDArray[np.float64]:
        people = self._rated()
        if measure == SOFT:
            return soft_pairwise_accuracy(people, self.scores, self.signs)
        return _systems_agree(measure, *system_means(people, self.scores), self.systems)

    def differences(
        self, level: str, measure: str, test: Test, *, trials: int, seed: int, advance: Progress = lambda _: None
    ) -> Differences:
        """Compare all pairs of metrics, in the order of `metric_pairs`.

        Parameters
        ----------
        level
            ``segment`` or ``system``.
        measure
            One of `SEGMENT_MEASURES` or `SYSTEM_MEASURES`.
        test
            ``perm-both`` swaps standardised scores of two metrics entry by entry (for acc-eq-calibrated, pairs of
            outputs, each metric with its own threshold), ``perm-input`` by item and ``perm-system`` by system.
            ``bootstrap-segments`` draws items, ``bootstrap-systems`` systems and ``bootstrap-both`` both. ``williams``
            needs no trials.
        trials
            How many times.
        seed
            Of all draws.
        advance
            Called with the number of trials done since the last call.

        References
        ----------
        Deutsch, D., Dror, R. & Roth, D. (2021). A statistical analysis of summarization evaluation metrics using
        resampling methods. TACL 9, 1132–1146.

        Examples
        --------
        >>> people = np.arange(12.0).reshape(3, 4)
        >>> both = MetaEvaluation(people, np.stack([people, people]))
        >>> both.differences("segment", "pearson-pooled", "perm-both", trials=9, seed=1).p.tolist()
        [1.0]
        """
        check_test(level, measure, test)
        checks.at_least_one(trials, "trials")
        checks.seed_range(seed)
        values = self._compared(level, measure)
        a, b = metric_pairs(len(values))
        observed = np.where(np.abs(values[a] - values[b]) <= SAME, 0.0, values[a] - values[b])
        if test == "williams":
            advance(trials)
            return self._williams(level, values, observed)
        if test.startswith("bootstrap"):
            drawn = self.replicates(level, measure, test.removeprefix("bootstrap-"), trials, seed, advance)
            return _from_replicates(observed, drawn[:, a] - drawn[:, b])
        extreme = np.zeros(len(a), dtype=np.int64)
        total, squares = np.zeros(len(a)), np.zeros(len(a))
        for null in self._nulls(level, measure, test, trials, seed):
            # A swap that leaves a measure undefined counts as extreme.
            extreme += np.count_nonzero(~(np.abs(null) < np.abs(observed) - SAME), axis=0)
            total += np.nansum(null, axis=0)
            squares += np.nansum(null * null, axis=0)
            advance(len(null))
        spread = np.sqrt(np.maximum(squares / trials - (total / trials) ** 2, 0.0))
        return Differences(observed, (extreme + 1) / (trials + 1), spread)

    def _williams(self, level: str, values: NDArray[np.float64], observed: NDArray[np.float64]) -> Differences:
        """Return Williams' test of Pearson's r over systems or outputs; NaN for fewer than four or equal scores."""
        people = self._rated()
        there = np.isfinite(people)
        points = system_means(people, self.scores)[1] if level == "system" else self.scores[:, there]
        p, spread = np.full(len(observed), np.nan), np.full(len(observed), np.nan)
        for number, (a, b) in enumerate(zip(*metric_pairs(len(values)), strict=True)):
            between = pearson(points[a], points[b])
            if between is not None and points.shape[1] >= FEWEST_FOR_WILLIAMS:
                found = williams_test(values[a], values[b], between, points.shape[1])
                equal = observed[number] == 0.0  # up to rounding
                p[number], spread[number] = (1.0, 0.0) if equal else (found.p, abs(observed[number] / found.t))
        return Differences(observed, p, spread)

    def _compared(self, level: str, measure: str) -> NDArray[np.float64]:
        """Return the values that are tested; soft pairwise accuracy uses the normal distribution."""
        if level == "system" and measure == SOFT:
            systems = SystemDifferences(self._rated(), self.systems)
            return np.array([systems.accuracy(*systems.sums(each)) for each in self.scores])
        return self.values(level, measure).value

    def _nulls(self, level: str, measure: str, test: Test, trials: int, seed: int) -> Iterator[NDArray[np.float64]]:
        """Yield differences of all pairs under random swaps, ``float64[some trials, pairs]``."""
        a, b = metric_pairs(len(self.scores))
        source = np.random.PCG64(seed)
        terms = None
        shape: tuple[int, ...] = self.scores.shape[1:]
        if level == "segment":
            if test == "perm-input":
                terms = self._item_terms(measure)
            elif measure == CALIBRATED or self.people is None:
                terms = self._pair_terms(measure)
                shape = 1, terms.shape[-1]
        swaps = self._swaps(level, measure, test) if terms is None else _SumSwaps(terms[np.newaxis], ratio_of_sums)
        step = max(1, AT_ONCE // (shape[0] * shape[1] * (2 * len(a) if isinstance(swaps, _TableSwaps) else 1)))
        for first in range(0, trials, step):
            yield swaps(_swap_masks(source, min(step, trials - first), shape, test), a, b)

    def _swaps(self, level: str, measure: str, test: Test) -> _SumSwaps | _TableSwaps:
        """Return what measures swapped scores; most measures follow from sums over what is swapped."""
        people = self._rated()
        tables = standardised(people, self.scores)
        if level == "system" and measure == SOFT:
            systems = SystemDifferences(people)
            if test != "perm-input":
                return _TableSwaps(tables, systems.accuracy_of_tables)
            differences = systems.of(tables).transpose(1, 0, 2)
            pairs = len(differences)
            features = np.concatenate([differences, differences * differences])[np.newaxis]
            return _SumSwaps(features, lambda sums: systems.accuracy(sums[:, :pairs], sums[:, pairs:]))
        there = np.isfinite(people)
        if level == "system":
            mean, count = system_means(people, tables)[0], np.maximum(there.sum(axis=1), 1)
            features = tables.transpose(1, 0, 2)[:, np.newaxis]
            return _SumSwaps(features, lambda sums: _systems_agree(measure, mean, sums / count))
        if measure == "pearson-pooled":
            less = np.where(there, people - people[there].mean(), 0.0)
            features = np.stack([tables, tables * tables, tables * less]).reshape(1, 3, len(tables), -1)
            return _SumSwaps(features, partial(_pearson_of_sums, int(there.sum()), float((less * less).sum())))
        return _TableSwaps(tables, partial(_outputs_agree, measure, people))

    def replicates(
        self, level: str, measure: str, draw: str, resamples: int, seed: int, advance: Progress = lambda _: None
    ) -> NDArray[np.float64]:
        """Return the measure of each metric in every bootstrap replicate, ``float64[resamples, metrics]``.

        A replicate resamples items, systems or both; all outputs of a drawn item or system enter together. A system
        that is drawn twice is not compared with itself, and the system level needs three different ones. Tie thresholds
        are those of the original data.

        Parameters
        ----------
        level, measure
            As in `differences`.
        draw
            ``segments``, ``systems`` or ``both``.
        resamples
            How many.
        seed
            Of all draws.
        advance
            Called with the number of replicates done since the last call.
        """
        systems, items = self.scores.shape[1:]
        random = np.random.default_rng(seed)
        if draw == "segments" and level == "segment" and (terms := self._item_terms(measure)) is not None:
            found = []
            for _ in range(resamples):
                counts = np.bincount(random.integers(items, size=items), minlength=items).astype(np.float64)
                found.append(ratio_of_sums((terms @ counts).T))
                advance(1)
            return np.stack(found)
        people = self._rated()
        found = []
        for _ in range(resamples):
            rows: NDArray[np.int64] = np.arange(systems)
            if draw != "segments":
                rows = np.asarray(random.integers(systems, size=systems))
            columns = random.integers(items, size=items) if draw != "systems" else np.arange(items)
            numbers = rows if draw != "segments" else None
            scores = self.scores[:, rows][:, :, columns]
            drawn = MetaEvaluation(people[rows][:, columns], scores, seed=self.seed, systems=numbers)
            if level == "system" and len(np.unique(rows)) < FEWEST:
                found.append(np.full(len(scores), np.nan))
            elif measure == CALIBRATED:
                found.append(drawn.pairs.accuracy(self.epsilon))
            else:
                found.append(drawn._compared(level, measure))
            advance(1)
        return np.stack(found)

    def _pair_terms(self, measure: str) -> NDArray[np.float64]:
        """Return what `ratio_of_sums` takes of each pair of outputs, ``float64[2 or 3, metrics, pairs]``."""
        terms = self._pair_counts(measure).astype(np.float64)
        return terms if measure in TAUS else terms * self.pairs.weights()

    def _pair_counts(self, measure: str) -> NDArray[np.int8]:
        if measure in TAUS:
            return self.pairs.credits(measure)
        right = self.pairs.right(self._ties(measure))
        return np.stack([right, np.ones_like(right)]).astype(np.int8)

    def _item_terms(self, measure: str) -> NDArray[np.float64] | None:
        """Return what `ratio_of_sums` takes of each item, ``float64[2 or 3, metrics, items]``.

        None if a measure is neither a mean over items nor a sum over pairs.
        """
        items = self.scores.shape[-1]
        if measure in PAIR_MEASURES:
            counts = self._pair_counts(measure)
            sums = np.array([[np.bincount(self.pairs.item, each, items) for each in row] for row in counts])
            return sums if measure in TAUS else sums / np.maximum(sums[1], 1.0)
        coefficient, grouping = split_measure(measure)
        if grouping != "item":
            return None
        found = coefficients(self._rated(), self.scores, coefficient, "item")
        defined = np.isfinite(found)
        return np.stack([np.where(defined, found, 0.0), defined])


@dataclass(frozen=True)
class CorpusEvaluation(MetaEvaluation):
    """Scores that people gave to whole systems, and corpus scores of metrics: one column each.

    Attributes
    ----------
    statistics
        For each metric what its scores are made of, ``float64[segments, k]`` for each system, and how; None if only the
        scores are known, so that segments cannot be drawn.
    threads
        How many threads draw segments.
    """

    statistics: tuple[tuple[Sequence[NDArray[np.float64]], ScoreFunction] | None, ...] = ()
    threads: int | None = None

    def of_metrics(self, places: Sequence[int]) -> Self:
        """Return the same for some of the metrics."""
        return replace(self, scores=self.scores[places], statistics=tuple(self.statistics[place] for place in places))

    def replicates(
        self,
        level: str,  # noqa: ARG002 - there is one
        measure: str,
        draw: str,
        resamples: int,
        seed: int,
        advance: Progress = lambda _: None,
    ) -> NDArray[np.float64]:
        """Return the measure of each metric in every bootstrap replicate, as `MetaEvaluation.replicates` does.

        Drawn segments are scored anew as corpora. A replicate with fewer than three different systems is undefined.
        """
        people, scores = self._rated()[:, 0], self.scores[:, :, 0]
        systems = len(people)
        tables = np.repeat(scores[np.newaxis], resamples, axis=0)
        if draw != "systems":
            tables = np.stack([self._redrawn(place, draw, resamples, seed) for place in range(len(scores))], axis=1)
        random = np.random.default_rng(seed)
        found = np.full((resamples, len(scores)), np.nan)
        for replicate, table in zip(found, tables, strict=True):
            rows = random.integers(systems, size=systems) if draw != "segments" else np.arange(systems)
            defined = np.isfinite(table).all(axis=-1)
            if len(np.unique(rows)) >= FEWEST and defined.any():
                replicate[defined] = _systems_agree(measure, people[rows], table[defined][:, rows], rows)
            advance(1)
        return found

    def _redrawn(self, metric: int, draw: str, resamples: int, seed: int) -> NDArray[np.float64]:
        """Return a metric's scores of systems on drawn segments, ``float64[resamples, systems]``."""
        known = self.statistics[metric]
        if known is None:
            scores = self.scores[metric, :, 0]
            return np.tile(np.full_like(scores, np.nan) if draw == "segments" else scores, (resamples, 1))
        rows = [Sample.of(each, "the system").rows for each in known[0]]
        draws = Resampling(test="bootstrap", count=resamples, seed=seed, threads=self.threads, progress=None)
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = draws.sums_of_each(rows, len(rows), rows[0].shape)
            return np.stack([np.asarray(known[1](np.ascontiguousarray(each))) for each in sums], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WilliamsTest:
    """The difference between two correlations that share a variable."""

    t: float
    """Williams' statistic, positive if the first metric correlates more; Student's t with n − 3 degrees of freedom."""
    p: float
    """Two-sided."""
    n: int
    """Number of points behind the correlations."""


def williams_test(r_xh: float, r_yh: float, r_xy: float, n: int) -> WilliamsTest:
    """Test whether two metrics correlate differently with people, given that they correlate with each other.

    Parameters
    ----------
    r_xh, r_yh
        Pearson's correlation of each metric with people.
    r_xy
        The correlation between the metrics.
    n
        The number of points, more than 3.

    Returns
    -------
    WilliamsTest
        Equal correlations give t = 0 and p = 1. For metrics that mirror each other (``r_xy`` = −1), where the formula
        is 0/0, t is its limit r·√((n − 3)/(1 − r²)).

    Raises
    ------
    UsageError
        If n is too small, or if no data have such correlations.
    MissingExtraError
        If SciPy is not installed.

    References
    ----------
    Williams, E. J. (1959). Regression analysis. Wiley.
    Graham, Y. & Baldwin, T. (2014). Testing for significance of increased correlation with human judgment. EMNLP,
    172–176.

    Examples
    --------
    >>> test = williams_test(0.4, 0.5, 0.1, 103)
    >>> round(test.t, 2), round(test.p, 2)
    (-0.89, 0.37)
    """
    if n <= 3:
        raise UsageError(f"Williams' test needs at least 4 points, not {n}")
    for r, name in ((r_xh, "r_xh"), (r_yh, "r_yh"), (r_xy, "r_xy")):
        if not -1.0 <= r <= 1.0:
            raise UsageError(f"{name} must be a correlation, from -1 to 1, not {r:g}")
    # Written so that exchanging the metrics gives bit-identical results.
    determinant = 1.0 - (r_xh**2 + r_yh**2) - r_xy**2 + 2.0 * (r_xh * r_yh) * r_xy
    if determinant < -INCONSISTENT:
        raise UsageError(f"no data have the correlations {r_xh:g}, {r_yh:g} and {r_xy:g} at once; check which is which")
    t = _williams_t(r_xh, r_yh, r_xy, max(determinant, 0.0), n)
    if t == 0.0:
        return WilliamsTest(t=t, p=1.0, n=n)
    special = needed("scipy.special", "Williams' test", "trubleu[judge]", "scipy")
    return WilliamsTest(t=t, p=min(2.0 * float(special.stdtr(n - 3, -abs(t))), 1.0), n=n)


def _williams_t(r_xh: float, r_yh: float, r_xy: float, determinant: float, n: int) -> float:
    if r_xh == r_yh:
        return 0.0
    if r_xy == -1.0:
        return math.copysign(math.inf, r_xh) if abs(r_xh) == 1.0 else r_xh * math.sqrt((n - 3) / (1.0 - r_xh**2))
    numerator = (r_xh - r_yh) * math.sqrt((n - 1) * (1.0 + r_xy))
    variance = 2.0 * determinant * (n - 1) / (n - 3) + ((r_xh + r_yh) / 2.0) ** 2 * (1.0 - r_xy) ** 3
    return numerator / math.sqrt(variance) if variance > 0.0 else math.copysign(math.inf, numerator)


def metric_pairs(metrics: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the second metric of every pair."""
    a, b = np.triu_indices(metrics, 1)
    return a, b


def split_measure(measure: str) -> tuple[Coefficient, Grouping]:
    """Split the name of a segment-level measure into coefficient and grouping.

    Examples
    --------
    >>> split_measure("kendall-c-item")
    ('kendall-c', 'item')
    """
    coefficient, _, grouping = measure.rpartition("-")
    return coefficient, grouping  # type: ignore[return-value] # names are checked before


def check_test(level: str, measure: str, test: str) -> None:
    """Raise an error for an unknown measure or test, or an invalid combination."""
    known = SEGMENT_MEASURES if level == "segment" else SYSTEM_MEASURES
    if measure not in known:
        raise UsageError(f"there is no {level}-level measure {measure!r}; {nearest(measure, known)}")
    if test not in TESTS:
        raise UsageError(f"there is no test {test!r}; {nearest(test, TESTS)}")
    if test == "williams" and measure not in ("pearson", "pearson-pooled"):
        raise UsageError(
            f"williams compares Pearson's r, not {measure}; use pearson-pooled or pearson, or another test"
        )
    if measure == CALIBRATED and test == "perm-system":
        raise UsageError(
            "perm-system cannot compare acc-eq-calibrated, whose tie threshold belongs to one metric; "
            "use perm-both, perm-input or another measure"
        )


def standardised(people: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores of rated outputs, standardised to mean 0 and variance 1 per metric, and 0 elsewhere."""
    there = np.isfinite(people)
    n = max(int(there.sum()), 1)
    clean = np.where(there, scores, 0.0)
    less = np.where(there, clean - clean.sum(axis=(1, 2), keepdims=True) / n, 0.0)
    deviation = np.sqrt((less * less).sum(axis=(1, 2), keepdims=True) / n)
    # Rounded, so equal scores stay equal after the division.
    return np.asarray(np.round(less / np.where(deviation > 0.0, deviation, 1.0), 12))


def clusters(values: Sequence[float], worse: NDArray[np.bool_]) -> list[int]:
    """Return the cluster of each metric, as reported by the WMT metrics task; 1 is the best.

    From the best metric down, a metric that is significantly worse than any of the current cluster starts the next one.

    Parameters
    ----------
    values
        A measure of each metric.
    worse
        ``bool[metrics, metrics]``: whether the metric of a column is significantly worse than that of a row.

    Examples
    --------
    >>> worse = np.zeros((3, 3), dtype=bool)
    >>> worse[1, 0] = True
    >>> clusters([0.1, 0.5, 0.3], worse)
    [2, 1, 1]
    """
    order = sorted(range(len(values)), key=lambda metric: -values[metric])
    found = [0] * len(values)
    begin, cluster = 0, 1
    for place, metric in enumerate(order):
        if any(worse[other, metric] for other in order[begin:place]):
            begin, cluster = place, cluster + 1
        found[metric] = cluster
    return found


def _from_replicates(observed: NDArray[np.float64], drawn: NDArray[np.float64]) -> Differences:
    """Return the result of the centred paired bootstrap; replicates with an undefined difference are left out."""
    defined = np.isfinite(drawn)
    n = defined.sum(axis=0)
    mean = np.where(defined, drawn, 0.0).sum(axis=0) / np.maximum(n, 1)
    less = np.where(defined, drawn - mean, 0.0)
    extreme = (defined & (np.abs(less) >= np.abs(observed) - SAME)).sum(axis=0)
    p = np.where(n > 0, (extreme + 1) / (n + 1), np.nan)
    return Differences(observed, p, np.sqrt((less * less).sum(axis=0) / np.maximum(n, 1)))


def _swap_masks(source: np.random.PCG64, trials: int, shape: tuple[int, ...], test: Test) -> NDArray[np.bool_]:
    """Return ``bool[trials, systems, items]``: whose scores are swapped."""
    systems, items = shape
    if test == "perm-input":
        return np.broadcast_to(random_bits(source, trials, items)[:, None, :], (trials, systems, items))
    if test == "perm-system":
        return np.broadcast_to(random_bits(source, trials, systems)[:, :, None], (trials, systems, items))
    return random_bits(source, trials, systems * items).reshape(trials, systems, items)


def _systems_agree(
    measure: str, people: NDArray[np.float64], scores: NDArray[np.float64], systems: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return a measure of system scores: ``[..., systems]`` to ``[...]``; systems have numbers if some are repeated."""
    # Means of the same numbers must tie, even if standardised or added in another order.
    ranked, even = (
        settled(each, grain_of(np.abs(each).max(-1, keepdims=True, initial=0.0))) for each in (scores, people)
    )
    if measure == PAIRWISE:
        return pairwise_accuracy(even, ranked, systems)
    if measure == "pearson":
        even = people
    flat = (scores if measure == "pearson" else ranked).reshape(-1, len(people), 1)
    found = coefficient_means(even[:, None], flat, measure, "pooled")  # type: ignore[arg-type] # a coefficient
    return np.where(np.ptp(ranked, axis=-1) > 0.0, found.value.reshape(scores.shape[:-1]), np.nan)


class _SumSwaps:
    """Measures that follow from sums over swapped entries, and so from sums of each metric.

    Parameters
    ----------
    features
        ``float64[blocks, sums, metrics, points]``: what is summed over the points of each block.
    measured
        Turns sums ``[trials, blocks × sums]`` into values.
    """

    def __init__(
        self, features: NDArray[np.float64], measured: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> None:
        self._blocks, _, self._metrics, self._points = features.shape
        self._features = np.ascontiguousarray(features.reshape(self._blocks, -1, self._points).transpose(0, 2, 1))
        self._whole = features.sum(axis=-1).reshape(-1, self._metrics)
        self._measured = measured

    def __call__(self, masks: NDArray[np.bool_], a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.float64]:
        bits = masks.reshape(len(masks), -1, self._points)[:, : self._blocks].transpose(1, 0, 2).astype(np.float64)
        swapped = (bits @ self._features).transpose(1, 0, 2).reshape(len(masks), -1, self._metrics)
        found = np.empty((len(masks), len(a)))
        for number, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
            moved = swapped[..., y] - swapped[..., x]
            found[:, number] = self._measured(self._whole[:, x] + moved) - self._measured(self._whole[:, y] - moved)
        return found


def _pearson_of_sums(n: int, spread: float, sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pearson's r from sums of scores, of their squares and of their products with the ratings."""
    variance = sums[:, 1] - sums[:, 0] ** 2 / n
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(variance > EQUAL * n, sums[:, 2] / np.sqrt(variance * spread), np.nan)


@dataclass(frozen=True, slots=True)
class _TableSwaps:
    """Measures of whole tables, computed anew for each swap: ``[..., systems, items]`` to ``[...]``."""

    tables: NDArray[np.float64]
    measured: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def __call__(self, masks: NDArray[np.bool_], a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.float64]:
        first, second, swapped = self.tables[a], self.tables[b], masks[:, None]
        return self.measured(np.where(swapped, second, first)) - self.measured(np.where(swapped, first, second))


def _outputs_agree(measure: str, people: NDArray[np.float64], tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a segment-level measure of tables."""
    flat = tables.reshape(-1, *people.shape)
    if measure == ACCURACY or measure in TAUS:
        pairs = OutputPairs.of_scores(people, flat)
        found = pairs.accuracy() if measure == ACCURACY else pairs.tau(measure)
    else:
        found = coefficient_means(people, flat, *split_measure(measure)).value
    return found.reshape(tables.shape[:-2])
