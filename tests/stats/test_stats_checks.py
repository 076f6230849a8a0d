"""What is refused, and how it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.stats.pairs import paired_bootstrap, paired_randomisation
from trubleu.errors import DataError, TrubleuError
from trubleu.native import available_threads, resolve_threads
from trubleu.stats import (
    bootstrap_interval,
    bootstrap_scores,
    checks,
    compare,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

GOOD = np.array([[3.0, 1.0], [5.0, 1.0], [7.0, 1.0]])


def mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(sums[..., 0] / sums[..., 1])


def changed(row: int, value: float) -> NDArray[np.float64]:
    array = GOOD.copy()
    array[row, 0] = value
    return array


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: bootstrap_interval(np.empty((0, 2)), mean), "The system has no segments, and an empty corpus has neither"),
    (lambda: bootstrap_interval([1.0, 2.0], mean), "one row per segment, but the array has 1 dimension"),
    (lambda: bootstrap_interval(np.empty((3, 0)), mean), "no statistics, only 3 empty rows"),
    (lambda: bootstrap_interval(changed(1, np.nan), mean), "not finite in segment 1"),
    (lambda: bootstrap_interval(changed(2, -np.inf), mean), "not finite in segment 2"),
    (lambda: bootstrap_interval(GOOD, mean, confidence=1.0), "confidence must be between 0 and 1, .* not 1"),
    (lambda: bootstrap_interval(GOOD, mean, confidence=0.0), "confidence must be between"),
    (lambda: bootstrap_interval(GOOD, mean, confidence=float("nan")), "not nan"),
    (lambda: bootstrap_scores(GOOD, mean, resamples=0), "resamples must be 1 or more, not 0"),
    (lambda: bootstrap_scores(GOOD, mean, threads=0), "threads must be a whole number from 1 to 10,000, not 0"),
    (lambda: bootstrap_scores(GOOD, mean, seed=-1), "seed must be between 0"),
    (lambda: bootstrap_scores(GOOD, mean, seed=2**64), "seed must be between 0"),
    (lambda: paired_randomisation(GOOD, GOOD, mean, resamples=0), "resamples must be 1 or more"),
    (
        lambda: paired_bootstrap(GOOD, GOOD[:2], mean),
        "System 'b' has 2 segments but System 'a' has 3; .* same segments",
    ),
    (lambda: paired_bootstrap(GOOD, GOOD[:, :1], mean), "System 'b' has 1 statistics per segment .* same metric"),
    (
        lambda: paired_bootstrap(GOOD, changed(0, np.nan), mean),
        "System 'b' has a value that is not finite in segment 0",
    ),
    (lambda: compare({"x": GOOD}, mean), "at least two systems, not 1"),
    (lambda: compare({}, mean), "at least two systems, not 0"),
    (lambda: compare({"x": GOOD, "base": GOOD}, mean, baseline="bsae"), "'bsae' .* did you mean base"),
    (lambda: compare({"x": GOOD, "y": GOOD}, mean, test="bootstap"), "'bootstap'; did you mean bootstrap"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TrubleuError, match=message):
        call()


def test_large_finite_values_are_taken() -> None:
    array = checks.usable(np.full((3, 1), 1e308), "The system")  # although their sum is infinite
    assert array.max() == 1e308


def test_replicate_without_a_score_is_named() -> None:
    def picky(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(sums[..., 0] == 9.0, np.nan, sums[..., 0])  # 3 + 3 + 3

    with pytest.raises(DataError, match=r"The score of resample \d+ \(counted from 0\) is nan; .* finite"):
        bootstrap_scores(GOOD, picky, resamples=200)
    with pytest.raises(DataError, match="The score of the corpus is nan"):
        bootstrap_interval([[9.0, 1.0]], lambda sums: np.where(len(sums) == 1, np.nan, sums[..., 0]), resamples=2)


def test_trial_without_a_score_is_named() -> None:
    def picky(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(sums[..., 0] == 18.0, np.inf, sums[..., 0])  # 3 + 8 + 7, in neither system

    with pytest.raises(DataError, match=r"The score of trial \d+ \(counted from 0\) is inf"):
        paired_randomisation(GOOD, [[6.5, 1.0], [8.0, 1.0], [7.0, 1.0]], picky, resamples=50)


@pytest.mark.parametrize("wrong", [lambda sums: sums, lambda sums: sums[:-1, 0], lambda sums: sums.sum()])
def test_score_function_of_the_wrong_shape(wrong: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> None:
    with pytest.raises(DataError, match="one score for each row"):
        bootstrap_scores(GOOD, wrong, resamples=5)


def test_threads_are_worth_it_only_for_large_work() -> None:
    assert resolve_threads(None, 4, worth=5) == 1
    assert resolve_threads(None, 5, worth=5) == available_threads()
    assert resolve_threads(3, 1) == 3
