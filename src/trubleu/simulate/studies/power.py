"""How often would a study find the better of two systems?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import UsageError
from trubleu.execution.progress import no_steps
from trubleu.simulate.studies.pool import Share, check_numbers, check_whole, draw_test_set, resampling_seed
from trubleu.stats import paired_bootstrap, paired_randomisation, total

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.execution.progress import Steps
    from trubleu.simulate.studies.pool import Pool, Scored
    from trubleu.stats import PairedTest, TestName

LEVEL: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRow:
    """What became of many simulated studies of one kind.

    Attributes
    ----------
    metric, references, raters
        How outputs were scored; no raters for metrics that take no weights.
    segments
        Segments of a test set.
    ratings
        How many ratings of references such a study has to pay for; None without raters.
    studies
        How many were simulated.
    found, found_error
        The share of studies in which the test found the truly better system, and its standard error.
    wrong, wrong_error
        The share in which the test "found" the other one.
    false_alarms, false_alarms_error
        The share in which the test found a difference where there was none, because for each segment a coin decided
        which output belonged to which system.
    difference
        The better system's score less the other's on the whole pool, with the sign turned round for error rates; below
        0 the metric is wrong however large the test set.
    left_out
        The share of segments without a reference of positive weight, which weighted metrics leave out.
    """

    metric: str
    references: int
    raters: int | None
    segments: int
    ratings: int | None
    studies: int
    found: float
    found_error: float
    wrong: float
    wrong_error: float
    false_alarms: float
    false_alarms_error: float
    difference: float
    left_out: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerStudy:
    """The power of studies that compare two systems.

    Attributes
    ----------
    better, other
        The systems; the first is the better one in truth.
    better_quality, other_quality
        How good they truly are, from 1 to 5.
    pool
        How many segments test sets were drawn from.
    test, resamples, seed
        How the test drew.
    rows
        One for each condition and number of segments.
    """

    better: str
    other: str
    better_quality: float
    other_quality: float
    pool: int
    test: TestName
    resamples: int
    seed: int
    rows: tuple[PowerRow, ...]


def power_study(
    pool: Pool,
    scored: Sequence[Scored],
    *,
    segments: Sequence[int],
    studies: int = 300,
    test: TestName = "bootstrap",
    resamples: int = 1_000,
    seed: int = 1,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> PowerStudy:
    """Simulate studies that compare two systems with the usual paired test at p < 0.05.

    Test sets of one size are the same under all conditions, so that differences between conditions are not drowned in
    the luck of the draw.

    Parameters
    ----------
    pool
        Segments with two systems, one of which is truly better.
    scored
        Their statistics under each condition.
    segments
        Sizes of test sets.
    studies
        How many to simulate of each size.
    test
        ``bootstrap`` or ``randomisation``.
    resamples
        Draws of a test.
    seed
        Of all draws.
    threads
        How many threads to use; None for all cores if there is enough to do. It changes no number.
    steps
        Told of how far it is.

    Raises
    ------
    UsageError
        If there are not two systems, neither is better, or a number is out of range.
    """
    check_numbers("segments", segments, 2)
    check_whole("studies", studies, 1)
    better, other = _better_first(pool)
    told = steps("simulating studies", len(segments) * studies * len(scored))
    counts = np.zeros((len(scored), len(segments), 3), dtype=np.int64)
    for place, size in enumerate(segments):
        for number in range(studies):
            draw = draw_test_set(len(pool), size, number=number, seed=seed)
            for row, each in enumerate(scored):
                real, dealt = (
                    _paired(each, *pair, test, resamples, resampling_seed(number, seed), threads)
                    for pair in _pairs(each.rows[better][draw.rows], each.rows[other][draw.rows], draw.swapped)
                )
                sure = real.p < LEVEL
                counts[row, place] += [sure and real.difference > 0, sure and real.difference < 0, dealt.p < LEVEL]
                told(1)
    rows = []
    for row, each in enumerate(scored):
        one, two = (float(each.score(total(each.rows[system]))) for system in (better, other))
        for place, size in enumerate(segments):
            found, wrong, alarms = (Share.of(int(count), studies) for count in counts[row, place])
            condition = each.condition
            rated = _texts(pool, condition.references) * size / len(pool) if condition.raters else None
            rows.append(
                PowerRow(
                    **each.how,
                    segments=size,
                    ratings=None if rated is None else round(rated * (condition.raters or 0)),
                    studies=studies,
                    **found.fields("found"),
                    **wrong.fields("wrong"),
                    **alarms.fields("false_alarms"),
                    difference=one - two,
                    left_out=each.left_out,
                )
            )
    return PowerStudy(
        better=better,
        other=other,
        better_quality=pool.quality(better),
        other_quality=pool.quality(other),
        pool=len(pool),
        test=test,
        resamples=resamples,
        seed=seed,
        rows=tuple(rows),
    )


def check_two(systems: Collection[str]) -> None:
    """Refuse other numbers of systems than two."""
    if len(systems) != 2:
        raise UsageError(
            f"power is about two systems, not {len(systems)}; give --system twice, or see simulate order for more"
        )


def _better_first(pool: Pool) -> tuple[str, str]:
    check_two(pool.systems)
    one, two = pool.systems
    if pool.quality(one) == pool.quality(two):
        raise UsageError(
            f"{one} and {two} are equally good in truth, so there is nothing to find; give two systems that differ "
            "(how often a difference is found where there is none is in the table anyway)"
        )
    return (one, two) if pool.quality(one) > pool.quality(two) else (two, one)


def _texts(pool: Pool, references: int) -> int:
    """Return how many candidates are to be rated in the whole pool."""
    return int(np.minimum(pool.candidates.reference_counts(), references).sum())


def _pairs(
    a: NDArray[np.float64], b: NDArray[np.float64], swapped: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the rows of two systems, and the same dealt anew, so that there is no difference between them."""
    coins = swapped[:, np.newaxis]
    yield a, b
    yield np.where(coins, b, a), np.where(coins, a, b)


def _paired(
    scored: Scored,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    test: TestName,
    resamples: int,
    seed: int,
    threads: int | None,
) -> PairedTest:
    """Return the paired test as users run it."""
    if test == "randomisation":
        return paired_randomisation(a, b, scored.score, trials=resamples, resamples=1, seed=seed, threads=threads)
    return paired_bootstrap(a, b, scored.score, resamples=resamples, seed=seed, threads=threads)
