"""Several systems: all pairs, or every system against a baseline, from one resampling."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import TYPE_CHECKING

from trubleu.stats import checks
from trubleu.stats.correction import holm
from trubleu.stats.pairs import Design, run_tests
from trubleu.stats.results import Comparison

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trubleu.stats.resample import Progress
    from trubleu.stats.results import TestName
    from trubleu.stats.sample import Statistics
    from trubleu.stats.scoring import ScoreFunction


def compare(
    systems: Mapping[str, Statistics],
    score: ScoreFunction,
    *,
    baseline: str | None = None,
    test: TestName = "bootstrap",
    resamples: int = 10_000,
    seed: int = 12345,
    confidence: float = 0.95,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Comparison, ...]:
    """Test several systems on the same segments, with Holm's correction over the tests that are returned.

    All systems share one resampling, and a pair gets the numbers that
    [`paired_bootstrap`][trubleu.stats.paired_bootstrap] or
    [`paired_randomisation`][trubleu.stats.paired_randomisation] would give it alone.

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
    checks.enough_systems(len(systems))
    names = list(systems)
    if baseline is None:
        pairs = list(combinations(range(len(names)), 2))
    else:
        checks.baseline_name(baseline, names)
        pairs = [(system, names.index(baseline)) for system, name in enumerate(names) if name != baseline]
    design = Design(
        test=test,
        trials=resamples,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        threads=threads,
        progress=progress,
    )
    results = run_tests(systems, pairs, score, design)
    corrected = holm([result.p for result in results])
    return tuple(
        Comparison(**dataclasses.asdict(result), a=names[a], b=names[b], p_holm=float(p_holm))
        for result, (a, b), p_holm in zip(results, pairs, corrected, strict=True)
    )
