"""Paired tests of two or more systems on the same segments, from one resampling, with Holm's correction."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

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


def holm_limit(p: Sequence[float], resamples: int, option: str = "resamples") -> str | None:
    """Return a note if a p-value is limited by resamples and Holm's correction, None if it is low enough.

    Parameters
    ----------
    p
        The p-values that are corrected together, before they are.
    resamples
        How many each comes from.
    option
        The option that sets them.

    Examples
    --------
    >>> holm_limit([1 / 101, 0.5, 0.2], 100)
    'p (Holm) is at least 0.03 with 100 resamples and 3 tests; --resamples 3000 lets it be lower'
    >>> holm_limit([0.02, 0.5, 0.2], 100)
    """
    lowest = min(p, default=1.0)
    # If some resamples were left out, the minimum is relative to the rest.
    if lowest * (resamples + 1) >= 2 or len(p) * lowest <= _LOW_ENOUGH:
        return None
    return (
        f"p (Holm) is at least {min(len(p) * lowest, 1.0):.2g} with {resamples:,} {option} and "
        f"{counted(len(p), 'test')}; --{option} {round(len(p) / _LOW_ENOUGH)} lets it be lower"
    )


TestName: TypeAlias = Literal["bootstrap", "randomisation"]

TESTS: Final = get_args(TestName)
"""The tests of a difference, by name."""

ROUNDING: Final = 1e-12
"""Relative tolerance: closer numbers are mathematically equal and differ only in the order of additions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The difference between two systems on the same segments: one paired test of a family of tests."""

    test: TestName
    """The test that gave ``p``."""
    n: int
    """Number of resamples (bootstrap) or trials (randomisation) behind ``p``."""
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
    p: float
    """Two-sided, (b + 1)/(n + 1) with b the replicates at least as extreme as the data: never 0, and 1 for equals."""
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

    def _repr_html_(self) -> str:
        return html_record(self)


def _p_value(null: NDArray[np.float64], observed: float, tolerance: float) -> float:
    extreme = np.count_nonzero(np.abs(null) >= abs(observed) - tolerance)
    return (int(extreme) + 1) / (len(null) + 1)


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
    test: TestName = "bootstrap",
    effects: Mapping[str, ArrayLike] | None = None,
    resamples: int = 10_000,
    seed: int = 12345,
    confidence: float = 0.95,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Comparison, ...]:
    """Test several systems on the same segments, with Holm's correction over the returned tests.

    All systems share one resampling, and a pair gets the same numbers as if it were tested alone. Exchanging two
    systems flips the sign and keeps p.

    *bootstrap*: segments are drawn with replacement, the same for all systems. The differences of the resampled scores,
    shifted to mean 0, approximate the null distribution: p is the share of them at least as large as the observed
    difference in absolute value, including the observed one. *randomisation*: if two systems were interchangeable,
    swapping their outputs on any segments would change nothing. p is the share of random swaps whose difference is at
    least as large as the observed one. The interval and the effect are the bootstrap's.

    Parameters
    ----------
    systems
        Name to ``float64[segments, k]``, row by row the same segments.
    score
        Turns sums of statistics ``[..., k]`` into scores ``[...]``.
    baseline
        The system that every other one is compared with; ``None`` compares all pairs.
    test
        ``bootstrap`` or ``randomisation``.
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
    >>> systems = {
    ...     "old": [[20.0, 1.0], [45.0, 1.0], [40.0, 1.0]],
    ...     "new": [[30.0, 1.0], [50.0, 1.0], [43.0, 1.0]],
    ...     "same": [[20.0, 1.0], [45.0, 1.0], [40.0, 1.0]],
    ... }
    >>> for row in compare(systems, mean, baseline="old"):
    ...     print(row.a, row.b, row.difference, row.p_holm < 0.05)
    new old 6.0 True
    same old 0.0 False
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
    if test not in TESTS:
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
    null: Iterable[NDArray[np.float64]]
    if test == "bootstrap":
        # Replicates scatter around their mean, which is 0 under the null hypothesis.
        null = (each - each.mean() for each in differences)
    else:
        null = _swapped(samples, pairs, score, dataclasses.replace(draws, test=test))
    found = []
    for (a, b), drawn, extreme in zip(pairs, differences, null, strict=True):
        difference = scores[a] - scores[b]
        tolerance = ROUNDING * max(1.0, abs(scores[a]), abs(scores[b]))
        low, high = percentile_interval(drawn, confidence)
        found.append(
            Comparison(
                a=names[a],
                b=names[b],
                p_holm=math.nan,
                test=test,
                n=resamples,
                seed=seed,
                difference=difference,
                low=low,
                high=high,
                effect=_effect(difference, float(drawn.std()), samples[0].segments, tolerance),
                p=_p_value(extreme, difference, tolerance),
                confidence=confidence,
                resamples=resamples,
                blocks=samples[0].blocks,
            )
        )
    family = holm([each.p for each in found]).tolist()
    return tuple(dataclasses.replace(each, p_holm=p) for each, p in zip(found, family, strict=True))


def _swapped(
    samples: Sequence[Sample], pairs: Sequence[tuple[int, int]], score: ScoreFunction, draws: Resampling
) -> Iterator[NDArray[np.float64]]:
    """Yield each pair's differences after swapping the outputs of randomly chosen segments.

    With s the sum of A − B over the segments that stay, A becomes ΣB + s and B becomes ΣA − s. Where two systems differ
    in few segments, equal terms cancel before they are summed, so ties stay ties.
    """
    differences = (samples[a].rows - samples[b].rows for a, b in pairs)
    kept = draws.sums_of_each(differences, len(pairs), samples[0].rows.shape)
    for (a, b), sums in zip(pairs, kept, strict=True):
        total_a, total_b = samples[a].total, samples[b].total
        dust = ROUNDING * (np.abs(total_a) + np.abs(total_b))
        # Rounding residues of sums that are mathematically 0 become 0, so no score divides by them.
        new_a, new_b = (np.where(np.abs(each) <= dust, 0.0, each) for each in (total_b + sums, total_a - sums))
        yield scores_of(score, new_a, "trial") - scores_of(score, new_b, "trial")
