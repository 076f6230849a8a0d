"""Paired tests of two or more systems on the same segments, from one resampling, with Holm's correction."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from trubleu.errors import UsageError, counted, nearest
from trubleu.stats import checks
from trubleu.stats.bootstrap import Resampling, normal_errors, percentile_interval
from trubleu.stats.results import Comparison, PairedTest, TestName
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


TESTS: Final = get_args(TestName)
"""The tests of a difference, by name."""

ROUNDING: Final = 1e-12
"""Relative tolerance: closer numbers are mathematically equal and differ only in the order of additions."""


@dataclass(frozen=True, slots=True)
class Design:
    """The options of a test."""

    test: TestName
    trials: int
    resamples: int
    seed: int
    confidence: float
    threads: int | None
    progress: Progress | None

    def check(self) -> None:
        """Validate the options."""
        if self.test not in TESTS:
            raise UsageError(f"there is no test {self.test!r}; {nearest(self.test, TESTS)}")
        checks.at_least_one(self.trials, "trials")
        checks.at_least_one(self.resamples, "resamples")
        checks.seed_range(self.seed)
        checks.confidence_level(self.confidence)

    def resampling(self, test: TestName) -> Resampling:
        """Return the draws of the bootstrap or of the randomisation."""
        count = self.resamples if test == "bootstrap" else self.trials
        return Resampling(test=test, count=count, seed=self.seed, threads=self.threads, progress=self.progress)


class Systems:
    """Systems on the same segments: their scores and resampled scores."""

    def __init__(self, systems: Mapping[str, Statistics], score: ScoreFunction) -> None:
        names = [f"System {name!r}" for name in systems]
        samples = [Sample.of(each, name) for each, name in zip(systems.values(), names, strict=True)]
        checks.same_shape([(sample.segments, len(sample.total)) for sample in samples], names)
        self.segments = samples[0].segments
        self.blocks = samples[0].blocks
        self._score = score
        self._totals = [sample.total for sample in samples]
        self._rows = [sample.rows for sample in samples]
        self.scores = [score_of(score, sums, name) for sums, name in zip(self._totals, names, strict=True)]

    def bootstrapped(self, draws: Resampling) -> list[NDArray[np.float64]]:
        """Return each system's scores on the same resampled corpora."""
        sums = draws.sums_of_each(self._rows, len(self._rows), self._rows[0].shape)
        return [scores_of(self._score, each, "resample") for each in sums]

    def swapped(self, draws: Resampling, pairs: Sequence[tuple[int, int]]) -> Iterator[NDArray[np.float64]]:
        """Yield each pair's differences after swapping the outputs of randomly chosen segments.

        With s the sum of A − B over the segments that stay, A becomes ΣB + s and B becomes ΣA − s. Where two systems
        differ in few segments, equal terms cancel before they are summed, so ties stay ties.
        """
        differences = (self._rows[a] - self._rows[b] for a, b in pairs)
        kept = draws.sums_of_each(differences, len(pairs), self._rows[0].shape)
        for (a, b), sums in zip(pairs, kept, strict=True):
            total_a, total_b = self._totals[a], self._totals[b]
            scale = np.abs(total_a) + np.abs(total_b)
            new_a = scores_of(self._score, _without_dust(total_b + sums, scale), "trial")
            new_b = scores_of(self._score, _without_dust(total_a - sums, scale), "trial")
            yield new_a - new_b


def run_tests(
    systems: Mapping[str, Statistics],
    pairs: Sequence[tuple[int, int]],
    score: ScoreFunction,
    design: Design,
    effects: Mapping[str, ArrayLike] | None = None,
) -> list[PairedTest]:
    """Return the test of every pair, given as positions in the mapping."""
    design.check()
    compared = Systems(systems, score)
    replicates = compared.bootstrapped(design.resampling("bootstrap"))
    differences = [replicates[a] - replicates[b] for a, b in pairs]
    if effects is not None:
        if design.test != "bootstrap":
            raise UsageError(f"the {design.test} test cannot take errors of raters into account; use the bootstrap")
        of_each = [np.asarray(effects[name], dtype=np.float64) for name in systems]
        differences = [
            each + normal_errors(of_each[a] - of_each[b], design.resamples, design.seed)
            for each, (a, b) in zip(differences, pairs, strict=True)
        ]
    null: Iterable[NDArray[np.float64]]
    if design.test == "bootstrap":
        # Replicates scatter around their mean, which is 0 under the null hypothesis.
        null = (each - each.mean() for each in differences)
    else:
        null = compared.swapped(design.resampling("randomisation"), pairs)
    return [_result(compared, *found, design) for found in zip(pairs, differences, null, strict=True)]


def _result(
    compared: Systems,
    pair: tuple[int, int],
    differences: NDArray[np.float64],
    null: NDArray[np.float64],
    design: Design,
) -> PairedTest:
    score_a, score_b = (compared.scores[system] for system in pair)
    difference = score_a - score_b
    tolerance = ROUNDING * max(1.0, abs(score_a), abs(score_b))
    low, high = percentile_interval(differences, design.confidence)
    return PairedTest(
        test=design.test,
        n=len(null),
        seed=design.seed,
        difference=difference,
        low=low,
        high=high,
        effect=_effect(difference, float(differences.std()), compared.segments, tolerance),
        p=_p_value(null, difference, tolerance),
        confidence=design.confidence,
        resamples=design.resamples,
        blocks=compared.blocks,
    )


def _p_value(null: NDArray[np.float64], observed: float, tolerance: float) -> float:
    extreme = np.count_nonzero(np.abs(null) >= abs(observed) - tolerance)
    return (int(extreme) + 1) / (len(null) + 1)


def _effect(difference: float, deviation: float, segments: int, tolerance: float) -> float:
    if deviation > tolerance:
        return difference / (math.sqrt(segments) * deviation)
    return math.copysign(math.inf, difference) if abs(difference) > tolerance else 0.0


def _without_dust(sums: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Set rounding residues of sums that are mathematically 0 to 0, so no score divides by them."""
    return np.where(np.abs(sums) <= ROUNDING * scale, 0.0, sums)


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


def paired_bootstrap(
    a: Statistics,
    b: Statistics,
    score: ScoreFunction,
    *,
    resamples: int = 10_000,
    seed: int = 12345,
    confidence: float = 0.95,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PairedTest:
    """Test the difference between two systems with the paired bootstrap.

    Segments are drawn with replacement, the same for both systems. The differences of the resampled scores, shifted to
    mean 0, approximate the null distribution: p is the share of them at least as large as the observed difference in
    absolute value, including the observed one. Exchanging the systems flips the sign and keeps p.

    Parameters
    ----------
    a, b
        ``float64[segments, k]``, row by row the same segments.
    score
        Turns sums of statistics ``[..., k]`` into scores ``[...]``.
    resamples
        How many corpora to draw.
    seed
        From 0 to 2^64 − 1.
    confidence
        Of the difference's percentile interval; strictly between 0 and 1.
    threads
        ``None`` takes all cores that the process may use if there is enough to do.
    progress
        Called now and then with the number of resamples just finished; the numbers add up to ``resamples``.

    Raises
    ------
    DataError
        If the systems have different segments, if an option cannot be used, or if a resampled corpus has no finite
        score.

    Examples
    --------
    >>> def mean(sums):
    ...     return sums[..., 0] / sums[..., 1]
    >>> a = [[30.0, 1.0], [50.0, 1.0], [40.0, 1.0], [35.0, 1.0]]
    >>> b = [[20.0, 1.0], [45.0, 1.0], [40.0, 1.0], [30.0, 1.0]]
    >>> test = paired_bootstrap(a, b, mean)
    >>> test.difference, test.low > 0.0, paired_bootstrap(a, a, mean).p
    (5.0, True, 1.0)
    """
    design = Design("bootstrap", resamples, resamples, seed, confidence, threads, progress)
    return run_tests({"a": a, "b": b}, [(0, 1)], score, design)[0]


def paired_randomisation(
    a: Statistics,
    b: Statistics,
    score: ScoreFunction,
    *,
    trials: int = 10_000,
    resamples: int = 10_000,
    seed: int = 12345,
    confidence: float = 0.95,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PairedTest:
    """Test the difference between two systems with paired approximate randomisation.

    If the systems were interchangeable, swapping their outputs on any segments would change nothing. p is the share of
    random swaps whose difference is at least as large as the observed one in absolute value, including the observed
    one. The interval and the effect are the bootstrap's. Exchanging the systems flips the sign and keeps p.

    Parameters
    ----------
    a, b
        ``float64[segments, k]``, row by row the same segments.
    score
        Turns sums of statistics ``[..., k]`` into scores ``[...]``.
    trials
        How many times to swap.
    resamples
        How many corpora to draw for the interval and the effect.
    seed
        From 0 to 2^64 − 1.
    confidence
        Of the difference's percentile interval; strictly between 0 and 1.
    threads
        ``None`` takes all cores that the process may use if there is enough to do.
    progress
        Called now and then with the number of resamples or trials just finished; the numbers add up to
        ``resamples + trials``.

    Raises
    ------
    DataError
        If the systems have different segments, if an option cannot be used, or if a resampled or swapped corpus has no
        finite score.

    Examples
    --------
    >>> def mean(sums):
    ...     return sums[..., 0] / sums[..., 1]
    >>> a = [[30.0, 1.0], [50.0, 1.0], [40.0, 1.0], [35.0, 1.0]]
    >>> b = [[20.0, 1.0], [45.0, 1.0], [40.0, 1.0], [30.0, 1.0]]
    >>> test = paired_randomisation(a, b, mean)  # two of the eight ways to swap three segments are as extreme
    >>> test.difference, round(test.p, 2)
    (5.0, 0.25)
    """
    design = Design("randomisation", trials, resamples, seed, confidence, threads, progress)
    return run_tests({"a": a, "b": b}, [(0, 1)], score, design)[0]


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

    All systems share one resampling, and a pair gets the same numbers as from
    [`paired_bootstrap`][trubleu.stats.paired_bootstrap] or [`paired_randomisation`][trubleu.stats.paired_randomisation]
    alone.

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
    design = Design(test, resamples, resamples, seed, confidence, threads, progress)
    results = run_tests(systems, pairs, score, design, effects)
    corrected = holm([result.p for result in results])
    return tuple(
        Comparison(**dataclasses.asdict(result), a=names[a], b=names[b], p_holm=float(p_holm))
        for result, (a, b), p_holm in zip(results, pairs, corrected, strict=True)
    )
