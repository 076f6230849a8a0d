"""The bootstrap of one system against scipy and against NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as scipy_stats

from trubleu.stats import bootstrap, bootstrap_interval, bootstrap_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray


def mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(sums[..., 0] / sums[..., 1])


def ratio(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Something like BLEU: far from linear."""
    return np.asarray(100.0 * np.sqrt(sums[..., 0] / sums[..., 1]) * np.minimum(1.0, np.exp(1.0 - 3.0 / sums[..., 2])))


def averaged(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([values, np.ones_like(values)], axis=1)


def counted(segments: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    totals = rng.integers(1, 30, segments)
    return np.stack([rng.binomial(totals, 0.4), totals, rng.integers(1, 9, segments)], axis=1).astype(np.float64)


def test_interval_of_a_mean_agrees_with_scipy() -> None:
    values = np.random.default_rng(5).gamma(2.0, 10.0, 300)
    ours = bootstrap_interval(averaged(values), mean, resamples=20_000)
    theirs = scipy_stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    )
    error = theirs.standard_error * 0.05
    assert ours.score == pytest.approx(values.mean())
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=error)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=error)


def test_scores_of_a_ratio_agree_with_numpy() -> None:
    statistics = counted(200, seed=2)
    rng = np.random.default_rng(9)
    theirs = ratio(rng.multinomial(200, np.full(200, 1 / 200), size=20_000) @ statistics)
    ours = bootstrap_scores(statistics, ratio, resamples=20_000)
    assert scipy_stats.ks_2samp(ours, theirs).pvalue > 0.001


def test_variance_is_that_of_the_mean() -> None:
    values = np.random.default_rng(6).normal(30.0, 12.0, 50)
    scores = bootstrap_scores(averaged(values), mean, resamples=40_000)
    assert scores.mean() == pytest.approx(values.mean(), abs=0.05)
    assert scores.std() == pytest.approx(values.std() / np.sqrt(50), rel=0.02)


def test_interval_is_the_linear_percentile_of_the_scores() -> None:
    statistics = counted(40, seed=3)
    scores = np.sort(bootstrap_scores(statistics, ratio, resamples=41, seed=8))
    interval = bootstrap_interval(statistics, ratio, resamples=41, seed=8, confidence=0.9)
    assert (interval.low, interval.high) == pytest.approx((scores[2], scores[38]))
    assert (interval.confidence, interval.resamples, interval.seed, interval.blocks) == (0.9, 41, 8, 0)


def test_same_seed_same_bits_whatever_the_threads_and_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = counted(70, seed=4)
    expected = bootstrap_scores(statistics, ratio, resamples=1001, threads=1)
    np.testing.assert_array_equal(bootstrap_scores(statistics, ratio, resamples=1001, threads=5), expected)
    monkeypatch.setattr(bootstrap, "SLICE_WORK", 1)
    np.testing.assert_array_equal(bootstrap_scores(statistics, ratio, resamples=1001, threads=3), expected)
    assert not np.array_equal(bootstrap_scores(statistics, ratio, resamples=1001, seed=1), expected)
    np.testing.assert_array_equal(bootstrap_scores(statistics, ratio, resamples=10), expected[:10])


def test_known_answer() -> None:
    # Fixed for ever: a change here changes every interval that anybody has published.
    scores = bootstrap_scores(averaged(np.arange(10.0)), mean, resamples=6)
    assert scores.tolist() == [4.7, 3.0, 4.6, 5.7, 4.5, 3.9]


def test_progress_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "SLICE_WORK", 1)
    steps: list[int] = []
    bootstrap_scores(counted(30, seed=1), ratio, resamples=1003, threads=2, progress=steps.append)
    assert sum(steps) == 1003
    assert len(steps) == 63
    assert min(steps) > 0


def test_interrupt_between_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "SLICE_WORK", 1)

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bootstrap_scores(counted(30, seed=1), ratio, resamples=1000, progress=interrupt)


def test_one_segment_has_a_point_for_an_interval() -> None:
    interval = bootstrap_interval([[12.0, 1.0]], mean, resamples=100)
    assert (interval.low, interval.score, interval.high) == (12.0, 12.0, 12.0)


def test_lists_integers_and_slices_are_taken() -> None:
    table = np.array([[3, 1], [5, 1], [10, 1]])
    expected = bootstrap_scores(table.astype(np.float64), mean, resamples=50)
    for same in (table, table.tolist(), np.asfortranarray(table), np.repeat(table, 2, axis=0)[::2]):
        np.testing.assert_array_equal(bootstrap_scores(same, mean, resamples=50), expected)


@given(
    arrays(np.float64, st.integers(1, 30), elements=st.floats(-100.0, 100.0, width=32)),
    st.floats(0.01, 0.99),
    st.integers(0, 2**64 - 1),
)
def test_interval_stays_within_the_data(values: NDArray[np.float64], confidence: float, seed: int) -> None:
    interval = bootstrap_interval(averaged(values), mean, resamples=50, confidence=confidence, seed=seed)
    slack = 1e-9
    assert values.min() - slack <= interval.low <= interval.high <= values.max() + slack
    wider = bootstrap_interval(averaged(values), mean, resamples=50, confidence=(1.0 + confidence) / 2.0, seed=seed)
    assert wider.low <= interval.low + slack
    assert wider.high >= interval.high - slack
