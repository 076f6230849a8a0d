"""Coefficients and their resamples, against SciPy on points that are written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from tests.oracles import wmt
from trubleu.judge.wmt.statistics import (
    SEGMENT_STATISTICS,
    averaged,
    coefficients,
    observed_coefficients,
    pairwise_accuracy,
    resampled_assessments,
)
from trubleu.native import kernels
from trubleu.stats import paired_bootstrap
from trubleu.stats.bootstrap import Resampling, draw_counts, ends_of
from trubleu.stats.correlation import weighted_pearson
from trubleu.stats.paired import centred_p

if TYPE_CHECKING:
    from numpy.typing import NDArray

numbers = st.integers(-5, 5).map(float)


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 501])
def test_draws_are_those_of_the_kernel(rows: int) -> None:
    drawn = kernels.resample_sums(np.eye(rows), 20, 3, 99, 1)
    assert draw_counts(rows, 20, 99, first=3).tolist() == drawn.tolist()


@pytest.mark.parametrize("rows", [100_003, 199_831])
def test_draws_are_those_of_the_kernel_where_bits_are_passed_over(rows: int) -> None:
    values = np.stack([np.arange(rows) % 977, np.arange(rows)], axis=1)
    counts = draw_counts(rows, 3, 7)
    expected = [[float((row * values[:, column]).sum()) for column in (0, 1)] for row in counts]
    assert kernels.resample_sums(values.astype(np.float64), 3, 0, 7, 1).tolist() == expected


points = st.integers(3, 8).flatmap(
    lambda size: st.tuples(
        st.lists(numbers, min_size=size, max_size=size),
        st.lists(numbers, min_size=size, max_size=size),
        st.lists(st.integers(0, 3), min_size=size, max_size=size),
    )
)


@given(points)
def test_coefficients_of_counted_systems_are_scipys_of_repeated_ones(
    found: tuple[list[float], list[float], list[int]],
) -> None:
    human, scores, counts = (np.array(each) for each in found)
    ours = coefficients(human, scores[np.newaxis], counts[np.newaxis])
    x, y = np.repeat(human, counts), np.repeat(scores, counts)
    if np.count_nonzero(counts) < 3:
        assert all(np.isnan(value[0]) for value in ours.values())
        return
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(ours["pearson"][0])
        assert np.isnan(ours["spearman"][0])
        assert np.isnan(ours["kendall"][0])
    else:
        assert ours["pearson"][0] == pytest.approx(scipy_stats.pearsonr(x, y).statistic, abs=1e-12)
        assert ours["spearman"][0] == pytest.approx(scipy_stats.spearmanr(x, y).statistic, abs=1e-12)
        assert ours["kendall"][0] == pytest.approx(scipy_stats.kendalltau(x, y).statistic, abs=1e-12)
    accuracy = wmt.accuracy(y.tolist(), x.tolist()) if len(set(y)) > 1 else None
    assert ours["accuracy"][0] == pytest.approx(np.nan if accuracy is None else float(accuracy), nan_ok=True)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_pearson_of_huge_and_tiny_numbers(scale: float) -> None:
    x, y = np.array([[1.0, 2.0, 4.0]]), np.array([[1.0, 3.0, 3.5]])
    once = np.ones((1, 3), dtype=np.int64)
    assert weighted_pearson(x * scale, y, once)[0] == pytest.approx(scipy_stats.pearsonr(x[0], y[0]).statistic)


def test_pearson_of_a_constant_whose_mean_is_rounded() -> None:
    assert sum([0.1] * 3) / 3 != 0.1
    assert np.isnan(
        weighted_pearson(np.array([[1.0, 2.0, 4.0]]), np.full((1, 3), 0.1), np.ones((1, 3), dtype=np.int64))
    )


def test_a_score_that_is_missing_makes_a_resample_undefined() -> None:
    found = coefficients(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]]))
    assert [bool(np.isnan(value[1])) for value in found.values()] == [True] * 4
    assert [value[0] for value in found.values()] == pytest.approx([1.0] * 4)


def test_accuracy_leaves_out_pairs_that_people_hold_equal_and_counts_ties_of_the_metric_as_wrong() -> None:
    human, scores = np.array([2.0, 2.0, 1.0]), np.array([[5.0, 1.0, 1.0]])
    assert pairwise_accuracy(human, scores, np.ones((1, 3), dtype=np.int64)).tolist() == [0.5]
    assert np.isnan(pairwise_accuracy(np.ones(3), scores, np.ones((1, 3), dtype=np.int64))[0])


def test_resamples_of_assessments_are_scipys_of_drawn_segments() -> None:
    rng = np.random.default_rng(5)
    segment = np.array([0, 0, 1, 2, 2, 2, 3, 4, 5, 5])
    human = rng.normal(size=len(segment))
    metric = np.round(human + rng.normal(size=len(segment)), 1)
    draws = Resampling(test="bootstrap", count=40, seed=11, threads=None, progress=None)
    found = resampled_assessments(human, {"m": metric}, segment, draws)
    for replicate, drawn in enumerate(draw_counts(6, 40, 11)):
        rows = np.repeat(np.arange(len(segment)), drawn[segment])
        x, y = human[rows], metric[rows]
        if len(set(x)) > 1 and len(set(y)) > 1:
            expected = [
                scipy_stats.pearsonr(x, y).statistic,
                scipy_stats.spearmanr(x, y).statistic,
                scipy_stats.kendalltau(x, y).statistic,
            ]
        else:
            expected = [np.nan] * 3
        ours = [found["m", statistic][replicate] for statistic in SEGMENT_STATISTICS]
        assert ours == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_a_segment_drawn_alone_has_no_correlation() -> None:
    rng = np.random.default_rng(9)
    human, metrics = rng.random(3), {f"m{number}": rng.random(3) for number in range(30)}
    draws = Resampling(test="bootstrap", count=200, seed=1, threads=None, progress=None)
    found = resampled_assessments(human, metrics, np.arange(3), draws)
    alone = (draw_counts(3, 200, 1) == 3).any(axis=1)
    assert alone.any()
    for replicates in found.values():
        assert np.isnan(replicates).tolist() == alone.tolist()


@pytest.mark.parametrize("seed", range(10))
def test_drawing_only_equal_assessments_gives_no_correlation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tied, free = rng.random(2)[[0] * 9 + [1]], rng.random(10)
    draws = Resampling(test="bootstrap", count=200, seed=1, threads=None, progress=None)
    for human, metric in ((tied, free), (free, tied)):
        found = resampled_assessments(human, {"m": metric}, np.arange(10), draws)
        undefined = np.isnan(found["m", "spearman"])  # which is computed in whole numbers
        assert 0 < undefined.sum() < 200
        assert np.isnan(found["m", "pearson"]).tolist() == undefined.tolist()


def test_coefficients_of_assessments() -> None:
    human, metric = np.array([0.2, 0.1, 0.9, 0.4]), np.array([3.0, 1.0, 2.0, 5.0])
    found = observed_coefficients(human, metric, SEGMENT_STATISTICS)
    assert found["pearson"] == pytest.approx(scipy_stats.pearsonr(human, metric).statistic)
    assert found["spearman"] == pytest.approx(scipy_stats.spearmanr(human, metric).statistic)
    assert found["kendall"] == pytest.approx(scipy_stats.kendalltau(human, metric).statistic)
    for people, scores in ((human, np.ones(4)), (human[:2], metric[:2])):
        assert np.isnan([*observed_coefficients(people, scores, SEGMENT_STATISTICS).values()]).all()


def test_intervals_leave_out_undefined_resamples() -> None:
    assert ends_of(None, 0.95) == (None, None, 0)
    replicates = np.array([np.nan, 0.0, 1.0, 2.0])
    assert ends_of(replicates, 0.5) == (0.5, 1.5, 1)
    assert ends_of(np.array([np.nan, np.nan, np.nan, 2.0]), 0.5) == (None, None, 3)
    assert averaged([np.array([1.0, np.nan]), np.array([3.0, 1.0])]) == pytest.approx([2.0, np.nan], nan_ok=True)
    assert averaged([np.array([1.0]), None]) is None
    assert averaged([]) is None


def test_the_p_value_is_that_of_the_paired_bootstrap() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.3, size=(30, 1)), rng.normal(size=(30, 1))
    first, second = (np.concatenate([each, np.ones((30, 1))], axis=1) for each in (a, b))

    def mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return sums[..., 0] / sums[..., 1]

    test = paired_bootstrap(first, second, mean, resamples=200, seed=4)
    counts = draw_counts(30, 200, 4)
    replicates = (counts @ (a - b))[:, 0] / 30
    assert centred_p(replicates, test.difference) == test.p
    assert centred_p(np.array([np.nan]), 0.0) is None


def test_differences_by_rounding_alone_are_ties() -> None:
    human = np.array([1.0, 2.0, 3.0, 4.0])
    dusty = np.array([[20.0, 20.0 + 5e-10, 30.0, 40.0], [20.0, 20.0 + 5e-10, 20.0, 20.0]])
    exact = np.array([[20.0, 20.0, 30.0, 40.0], [20.0, 20.0, 20.0, 20.0]])
    for name, values in coefficients(human, dusty).items():
        assert values == pytest.approx(coefficients(human, exact)[name], nan_ok=True, abs=1e-9), name
    for row in range(2):
        expected = observed_coefficients(human, exact[row], SEGMENT_STATISTICS)
        assert observed_coefficients(human, dusty[row], SEGMENT_STATISTICS) == pytest.approx(
            expected, nan_ok=True, abs=1e-9
        )
