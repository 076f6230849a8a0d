"""Paired tests of two or more systems on the same segments, with Holm's correction, and what they can decide."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from trubleu.errors import UsageError, counted, nearest
from trubleu.results import html_record
from trubleu.stats import checks
from trubleu.stats.bootstrap import Resampling, normal_errors, percentile_interval
from trubleu.stats.sample import Sample, Statistics
from trubleu.stats.sums import score_of, scores_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from trubleu.progress import Progress
    from trubleu.stats.sums import ScoreFunction


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's step-down adjusted p-values, in the given order.

    The i-th smallest of m p-values (i from 0) is multiplied by m − i, raised to the previous adjusted value if that is
    larger, and clipped at 1. Comparing the result with a level α keeps the probability of any false rejection in the
    family at or below α, whatever the dependence between the tests.

    Parameters
    ----------
    p_values
        Probabilities, one a test of the family.

    Raises
    ------
    DataError
        If a value is not between 0 and 1.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6,
    65–70.

    Examples
    --------
    >>> holm([0.03, 0.005, 0.2]).tolist()
    [0.06, 0.015, 0.2]
    """
    p = np.asarray(p_values, dtype=np.float64)
    checks.probabilities(p)
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct the p-values of one family by Holm's method; those that are undefined count for nothing.

    Examples
    --------
    >>> corrected([0.02, None, 0.01])
    [0.02, None, 0.02]
    """
    found = iter(holm([p for p in p_values if p is not None]).tolist())
    return [None if p is None else next(found) for p in p_values]


_LOW_ENOUGH: Final = 0.001  # printed results do not change below: this has three stars


def holm_limit(
    p: Sequence[float], resamples: int, option: str = "resamples", *, tests: int | None = None
) -> str | None:
    """Return a note if a p-value is limited by resamples and Holm's correction, None if it is low enough.

    Parameters
    ----------
    p
        The p-values from resamples, before they are corrected.
    resamples
        How many each comes from.
    option
        The option that sets them.
    tests
        How many are corrected together, if exact ones are among them.

    Examples
    --------
    >>> holm_limit([1 / 101, 0.5, 0.2], 100)
    'p (Holm) is at least 0.03 with 100 resamples and 3 tests; --resamples 3000 lets it be lower'
    >>> holm_limit([0.02, 0.5, 0.2], 100)
    """
    lowest = min(p, default=1.0)
    family = len(p) if tests is None else tests
    # If some resamples were left out, the minimum is relative to the rest.
    if lowest * (resamples + 1) >= 2 or family * lowest <= _LOW_ENOUGH:
        return None
    return (
        f"p (Holm) is at least {min(family * lowest, 1.0):.2g} with {resamples:,} {option} and "
        f"{counted(family, 'test')}; --{option} {round(family / _LOW_ENOUGH)} lets it be lower"
    )


LEVEL: Final = 0.05
"""The level below which a p-value after Holm's correction is significant."""


def smallest_p(differing: int, tests: int = 1) -> float:
    """Return the smallest p-value, after Holm's correction, that this number of differing segments can give.

    The 2^m ways to swap the outputs of m segments come in pairs with the same absolute difference, so swaps cannot
    give less than 2/2^m. A verdict is possible only if the result is below the level.

    Parameters
    ----------
    differing
        The number m of segments on which the statistics of two systems differ.
    tests
        How many p-values are corrected together.

    Examples
    --------
    >>> smallest_p(0), smallest_p(5), smallest_p(6), smallest_p(6, tests=2)
    (1.0, 0.0625, 0.03125, 0.0625)
    """
    return min(1.0, tests * math.ldexp(2.0, -differing))


TestName: TypeAlias = Literal["randomisation", "bootstrap"]

TESTS: Final = get_args(TestName)
"""The tests of a difference, by name; the first is the default."""

MOST_EXACT: Final = 16
"""Up to this number of differing segments, the randomisation test goes through all swaps."""

ROUNDING: Final = 1e-12
"""Relative tolerance: closer numbers are mathematically equal and differ only in the order of additions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The difference between two systems on the same segments: one paired test of a family of tests."""

    test: TestName
    """The test that gave ``p``."""
    exact: bool
    """Whether ``p`` comes from all swaps and not from a sample of them."""
    n: int
    """Number of resamples (bootstrap) or swaps (randomisation) behind ``p``; 2^``differing`` if it is exact."""
    seed: int
    """The seed of the draws."""
    difference: float
    """Score of A − score of B."""
    low: float
    """The lower end of the difference's percentile bootstrap interval, whatever the test."""
    high: float
    """The upper end."""
    effect: float
    """The standardised difference: ``difference / (√segments · s)``, s the difference's bootstrap standard deviation.

    For a metric that is a mean over segments, this is Cohen's d_z, the mean of the segments' differences divided by
    their standard deviation (with denominator n, not n − 1), up to the bootstrap's own error. 0 if both the difference
    and s are 0, infinite if only s is (as with one segment).
    """
    differing: int
    """Number of segments (or blocks, if those were drawn) on which the statistics of the two systems differ."""
    p: float
    """Two-sided: the share of all swaps that are at least as extreme as the data, or (b + 1)/(n + 1) with b such swaps
    or resamples of n; never 0, and 1 for equal systems."""
    confidence: float
    """The confidence level of the interval."""
    resamples: int
    """Number of resamples behind the interval and the effect."""
    blocks: int
    """Number of blocks of segments that were drawn or swapped; 0 if the segments themselves were."""
    a: str
    """The first system; against a baseline, the system."""
    b: str
    """The second system; against a baseline, the baseline."""
    p_holm: float
    """``p`` after Holm's correction over the family."""
    smallest_p: float
    """The smallest ``p_holm`` that ``differing`` segments can give, see [`smallest_p`][trubleu.stats.smallest_p]."""

    @property
    def decidable(self) -> bool:
        """Whether enough segments differ for a verdict at the level 0.05."""
        return self.smallest_p < LEVEL

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at the level 0.05, after Holm's correction."""
        return self.decidable and self.p_holm < LEVEL

    def _repr_html_(self) -> str:
        return html_record(self)


def _extreme(null: NDArray[np.float64], observed: float, tolerance: float) -> int:
    return int(np.count_nonzero(np.abs(null) >= abs(observed) - tolerance))


def _p_value(null: NDArray[np.float64], observed: float, tolerance: float) -> float:
    return (_extreme(null, observed, tolerance) + 1) / (len(null) + 1)


def _effect(difference: float, deviation: float, segments: int, tolerance: float) -> float:
    if deviation > tolerance:
        return difference / (math.sqrt(segments) * deviation)
    return math.copysign(math.inf, difference) if abs(difference) > tolerance else 0.0


def centred_p(replicates: NDArray[np.float64], observed: float) -> float | None:
    """Return the two-sided p-value of the paired bootstrap: replicates are shifted so that their mean is 0.

    Replicates in which the difference is undefined are left out; None if there are no others.

    Parameters
    ----------
    replicates
        The difference in each replicate, NaN where it is undefined.
    observed
        The difference in the data.

    Examples
    --------
    >>> centred_p(np.array([0.9, 1.0, 1.1]), 1.0), centred_p(np.zeros(9), 0.0), centred_p(np.array([np.nan]), 0.0)
    (0.25, 1.0, None)
    """
    defined = replicates[np.isfinite(replicates)]
    if not len(defined):
        return None
    return _p_value(defined - defined.mean(), observed, ROUNDING)


def compare(
    systems: Mapping[str, Statistics],
    score: ScoreFunction,
    *,
    baseline: str | None = None,
    test: TestName | None = None,
    effects: Mapping[str, ArrayLike] | None = None,
    resamples: int = 10_000,
    seed: int = 12345,
    confidence: float = 0.95,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Comparison, ...]:
    """Test several systems on the same segments, with Holm's correction over the returned tests.

    All systems share the same draws, and a pair gets the same numbers as if it were tested alone. Exchanging two
    systems flips the sign and keeps p.

    *randomisation*: if two systems were interchangeable, swapping their outputs on any segments would change nothing. p
    is the share of swaps whose difference is at least as large as the observed one in absolute value: of all swaps if
    the systems differ on 16 segments or fewer, otherwise of a random sample that includes the observed one.
    *bootstrap*: segments are drawn with replacement, the same for all systems. The differences of the resampled scores,
    shifted to mean 0, approximate the null distribution. With few segments it finds differences where there are none.
    The interval and the effect are the bootstrap's, whatever the test.

    Parameters
    ----------
    systems
        Name to ``float64[segments, k]``, row by row the same segments.
    score
        Turns sums of statistics ``[..., k]`` into scores ``[...]``.
    baseline
        The system that every other one is compared with; ``None`` compares all pairs.
    test
        ``randomisation`` or ``bootstrap``; ``None`` takes the bootstrap if there are effects, otherwise randomisation.
    effects
        Errors that all segments and systems share, such as those of strict raters: how far one standard deviation of
        each moves the score of each system. Only with the bootstrap.
    resamples
        How many corpora to draw and, for the randomisation test, how many times to swap.
    seed
        From 0 to 2^64 − 1.
    confidence
        Of the differences' percentile intervals; strictly between 0 and 1.
    threads
        ``None`` takes all cores that the process may use if there is enough to do.
    progress
        Called now and then with the number of resamples just finished; the numbers add up to ``resamples``, and to
        twice as many for the randomisation test.

    Returns
    -------
    tuple[Comparison, ...]
        Against a baseline, ``a`` is the system and ``b`` the baseline, in the order of the mapping; otherwise ``a``
        stands before ``b`` in the mapping. Differences are a − b.

    Raises
    ------
    DataError
        If there are fewer than two systems, if they have different segments, if an option cannot be used, or if a
        resampled or swapped corpus has no finite score.

    Examples
    --------
    >>> def mean(sums):
    ...     return sums[..., 0] / sums[..., 1]
    >>> old = [[20.0, 1.0], [45.0, 1.0], [40.0, 1.0], [10.0, 1.0]]
    >>> new = [[30.0, 1.0], [50.0, 1.0], [43.0, 1.0], [10.0, 1.0]]
    >>> for row in compare({"old": old, "new": new, "same": old}, mean, baseline="old"):
    ...     print(row.a, row.b, row.difference, row.differing, row.p, row.smallest_p, row.significant)
    new old 4.5 3 0.25 0.5 False
    same old 0.0 0 1.0 1.0 False
    """
    names = list(systems)
    if len(names) < 2:
        raise UsageError(f"a comparison needs at least two systems, not {len(names)}")
    if baseline is None:
        pairs = list(combinations(range(len(names)), 2))
    else:
        if baseline not in names:
            raise UsageError(f"there is no system {baseline!r} to serve as the baseline; {nearest(baseline, names)}")
        pairs = [(system, names.index(baseline)) for system, name in enumerate(names) if name != baseline]
    if test is None:
        test = TESTS[0] if effects is None else "bootstrap"
    elif test not in TESTS:
        raise UsageError(f"there is no test {test!r}; {nearest(test, TESTS)}")
    checks.at_least_one(resamples, "resamples")
    checks.seed_range(seed)
    checks.confidence_level(confidence)
    labels = [f"System {name!r}" for name in names]
    samples = [Sample.of(each, label) for each, label in zip(systems.values(), labels, strict=True)]
    checks.same_shape([(sample.segments, len(sample.total)) for sample in samples], labels)
    scores = [score_of(score, sample.total, label) for sample, label in zip(samples, labels, strict=True)]
    draws = Resampling(test="bootstrap", count=resamples, seed=seed, threads=threads, progress=progress)
    rows = [sample.rows for sample in samples]
    replicates = [scores_of(score, sums, "resample") for sums in draws.sums_of_each(rows, len(rows), rows[0].shape)]
    differences = [replicates[a] - replicates[b] for a, b in pairs]
    if effects is not None:
        if test != "bootstrap":
            raise UsageError(f"the {test} test cannot take errors of raters into account; use the bootstrap")
        of_each = [np.asarray(effects[name], dtype=np.float64) for name in names]
        differences = [
            each + normal_errors(of_each[a] - of_each[b], resamples, seed)
            for each, (a, b) in zip(differences, pairs, strict=True)
        ]
    pools = [_Swaps.of(samples[a], samples[b]) for a, b in pairs]
    null: Iterable[NDArray[np.float64]]
    if test == "bootstrap":
        # Replicates scatter around their mean, which is 0 under the null hypothesis.
        null = (each - each.mean() for each in differences)
    else:
        null = _swapped(pools, score, dataclasses.replace(draws, test=test))
    found = []
    for (a, b), swaps, drawn, extreme in zip(pairs, pools, differences, null, strict=True):
        difference = scores[a] - scores[b]
        tolerance = ROUNDING * max(1.0, abs(scores[a]), abs(scores[b]))
        low, high = percentile_interval(drawn, confidence)
        exact = test == "randomisation" and swaps.enumerable
        found.append(
            Comparison(
                a=names[a],
                b=names[b],
                p_holm=math.nan,
                smallest_p=smallest_p(swaps.differing, len(pairs)),
                test=test,
                exact=exact,
                n=2**swaps.differing if exact else resamples,
                seed=seed,
                difference=difference,
                low=low,
                high=high,
                effect=_effect(difference, float(drawn.std()), samples[0].segments, tolerance),
                differing=swaps.differing,
                p=(
                    _extreme(extreme, difference, tolerance) / len(extreme)
                    if exact
                    else _p_value(extreme, difference, tolerance)
                ),
                confidence=confidence,
                resamples=resamples,
                blocks=samples[0].blocks,
            )
        )
    family = holm([each.p for each in found]).tolist()
    return tuple(dataclasses.replace(each, p_holm=p) for each, p in zip(found, family, strict=True))


class _Swaps(NamedTuple):
    """Two systems whose outputs are swapped on the segments that differ.

    Where two systems differ in few segments, equal terms cancel before they are summed, so ties stay ties.
    """

    a: Sample
    b: Sample
    differs: NDArray[np.bool_]

    @classmethod
    def of(cls, a: Sample, b: Sample) -> _Swaps:
        dust = ROUNDING * np.maximum(np.abs(a.rows), np.abs(b.rows))
        return cls(a, b, np.any(np.abs(a.rows - b.rows) > dust, axis=1))

    @property
    def differing(self) -> int:
        return int(np.count_nonzero(self.differs))

    @property
    def enumerable(self) -> bool:
        return self.differing <= MOST_EXACT

    def rows(self) -> NDArray[np.float64]:
        """Return A − B on the segments that differ, 0 on the others."""
        return np.where(self.differs[:, np.newaxis], self.a.rows - self.b.rows, 0.0)

    def every_sum(self) -> NDArray[np.float64]:
        """Return the sums of all subsets of the segments that differ and that contain the first of these.

        The complement of a subset exchanges the systems, so half of the subsets tell all absolute differences.
        """
        rows = self.a.rows[self.differs] - self.b.rows[self.differs]
        sums = rows[:1] if len(rows) else np.zeros((1, rows.shape[1]))
        for row in rows[1:]:  # added one by one, as the bits of a matrix product depend on its library
            sums = np.concatenate([sums, sums + row])
        return sums

    def differences(self, kept: NDArray[np.float64], score: ScoreFunction) -> NDArray[np.float64]:
        """Return the differences of scores, given the sums of A − B over the segments that stay.

        With s such a sum, A becomes ΣB + s and B becomes ΣA − s.
        """
        dust = ROUNDING * (np.abs(self.a.total) + np.abs(self.b.total))
        # Rounding residues of sums that are mathematically 0 become 0, so no score divides by them.
        swapped = (np.where(np.abs(each) <= dust, 0.0, each) for each in (self.b.total + kept, self.a.total - kept))
        new_a, new_b = (scores_of(score, each, "trial") for each in swapped)
        return new_a - new_b


def _swapped(pools: Sequence[_Swaps], score: ScoreFunction, draws: Resampling) -> Iterator[NDArray[np.float64]]:
    """Yield each pair's differences after all swaps, or after swapping randomly chosen segments if those are many."""
    sampled = [swaps for swaps in pools if not swaps.enumerable]
    sums = draws.sums_of_each((swaps.rows() for swaps in sampled), len(sampled), pools[0].a.rows.shape)
    if not sampled and draws.progress is not None:
        draws.progress(draws.count)
    for swaps in pools:
        yield swaps.differences(swaps.every_sum() if swaps.enumerable else next(sums), score)
