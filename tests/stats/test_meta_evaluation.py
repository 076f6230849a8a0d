"""Coefficients, accuracies and tie calibration against restatements, SciPy, nlpstats and mt-metrics-eval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nlpstats.correlations import correlate
from scipy.special import ndtr

from tests.oracles import meta_evaluation as oracle
from trubleu.errors import DataError
from trubleu.stats.meta_evaluation import (
    COEFFICIENTS,
    GROUPINGS,
    OutputPairs,
    SystemDifferences,
    coefficient_means,
    normal_p_values,
    pairwise_accuracy,
    random_bits,
    random_signs,
    soft_pairwise_accuracy,
    system_means,
)
from trubleu.stats.metric_tests import MetaEvaluation

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from trubleu.stats.meta_evaluation import Coefficient, Grouping


@st.composite
def tables(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ratings with ties and gaps, and scores with ties."""
    systems, items = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    cells = systems * items
    people = draw(st.lists(st.sampled_from([1.0, 2.0, 3.0, math.nan]), min_size=cells, max_size=cells))
    scores = draw(st.lists(st.integers(0, 8), min_size=cells, max_size=cells))
    return np.array(people).reshape(systems, items), np.array(scores, dtype=float).reshape(1, systems, items) / 4


def plain(table: NDArray[np.float64]) -> oracle.Table:
    return [[None if math.isnan(value) else value for value in row] for row in table.tolist()]


@given(tables(), st.sampled_from(COEFFICIENTS), st.sampled_from(GROUPINGS))
def test_coefficients_are_scipys(
    given_tables: tuple[NDArray[np.float64], NDArray[np.float64]], coefficient: Coefficient, grouping: Grouping
) -> None:
    people, scores = given_tables
    found = coefficient_means(people, scores, coefficient, grouping)
    wanted = oracle.mean_coefficient(plain(people), plain(scores[0]), coefficient, grouping)
    assert found.value.tolist() == pytest.approx([wanted], abs=1e-12, nan_ok=True)


@given(tables())
def test_accuracy_and_calibration_are_their_restatements(
    given_tables: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    people, scores = given_tables
    pairs = OutputPairs.of_scores(people, scores)
    if not len(pairs):
        assert math.isnan(pairs.accuracy()[0])
        with pytest.raises(DataError, match="no item has two rated outputs"):
            pairs.calibrated()
        return
    assert pairs.accuracy().tolist() == pytest.approx([oracle.accuracy(plain(people), plain(scores[0]))])
    epsilon = pairs.calibrated()
    assert epsilon.tolist() == [oracle.best_threshold(plain(people), plain(scores[0]))]
    assert pairs.accuracy(epsilon).tolist() == pytest.approx(
        [oracle.accuracy(plain(people), plain(scores[0]), float(epsilon[0]))]
    )
    assert pairs.accuracy(epsilon)[0] >= pairs.accuracy()[0]


@given(tables(), st.integers(0, 2**32))
def test_soft_accuracy_is_its_restatement(
    given_tables: tuple[NDArray[np.float64], NDArray[np.float64]], seed: int
) -> None:
    people, scores = given_tables
    signs = random_signs(20, people.shape[1], seed)
    found = soft_pairwise_accuracy(people, scores, signs)
    wanted = oracle.soft_accuracy(plain(people), plain(scores[0]), signs.tolist())
    assert found.tolist() == pytest.approx([wanted])


@given(tables())
def test_a_metric_that_repeats_people_agrees_entirely(
    given_tables: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    people, _ = given_tables
    same = np.nan_to_num(people)[None] * 3 + 1
    for grouping in GROUPINGS:
        for coefficient in ("pearson", "spearman", "kendall"):
            value = coefficient_means(people, same, coefficient, grouping).value[0]
            assert math.isnan(value) or value == pytest.approx(1.0)
    pairs = OutputPairs.of_scores(people, same)
    assert math.isnan(pairs.accuracy()[0]) or pairs.accuracy()[0] == 1.0
    assert pairwise_accuracy(*system_means(people, same)).tolist() == [1.0]


@given(st.floats(-6, 6))
def test_the_normal_distribution_is_scipys(z: float) -> None:
    assert normal_p_values(np.array([z]), np.array([1.0]))[0] == pytest.approx(ndtr(-z), abs=2e-7)


def test_random_signs_approach_the_normal_distribution() -> None:
    random = np.random.default_rng(5)
    people, scores = random.normal(size=(4, 300)), random.normal(size=(1, 4, 300))
    people[0, :50] = np.nan
    systems = SystemDifferences(people)
    close = systems.accuracy(*systems.sums(np.where(np.isfinite(people), scores[0], 0.0)))
    assert soft_pairwise_accuracy(people, scores, random_signs(20_000, 300, 1)).tolist() == pytest.approx(
        [float(close)], abs=0.01
    )


def test_slices_of_random_bits_do_not_matter() -> None:
    whole = random_bits(np.random.PCG64(3), 5, 70)
    source = np.random.PCG64(3)
    parts = np.concatenate([random_bits(source, 2, 70), random_bits(source, 3, 70)])
    assert np.array_equal(whole, parts)
    assert 0.3 < whole.mean() < 0.7


def test_means_that_differ_in_their_last_bits_are_a_tie() -> None:
    assert pairwise_accuracy(np.array([1.0, 1.0]), np.array([[0.1 + 0.2, 0.3]])).tolist() == [1.0]


@pytest.mark.parametrize(("systems", "items", "gaps"), [(5, 40, 0.0), (16, 60, 0.0), (6, 50, 0.3)])
def test_the_numbers_of_mt_metrics_eval(mt_metrics_eval: ModuleType, systems: int, items: int, gaps: float) -> None:
    random = np.random.default_rng(systems)
    people = random.integers(0, 5, (systems, items)).astype(float)
    scores = np.round(8 * (people * 0.4 + random.normal(size=people.shape))) / 8  # exact in single precision
    people[random.random(people.shape) < gaps] = np.nan
    gold = [None if math.isnan(value) else value for value in people.ravel().tolist()]
    peer = mt_metrics_eval.Correlation(systems, gold, scores.ravel().tolist())
    names: dict[Grouping, str] = {"pooled": "none", "item": "item", "system": "sys"}
    for grouping, name in names.items():
        wanted = {
            "pearson": peer.Pearson(name),
            "spearman": peer.Spearman(name),
            "kendall": peer.Kendall(name),
            "kendall-c": peer.Kendall(name, "c"),
        }
        for coefficient in COEFFICIENTS:
            found = coefficient_means(people, scores[None], coefficient, grouping)
            assert found.value[0] == pytest.approx(wanted[coefficient][0], abs=1e-12)
            assert found.groups[0] == wanted[coefficient][2]
    pairs = OutputPairs.of_scores(people, scores[None])
    assert pairs.accuracy()[0] == pytest.approx(peer.KendallVariants("item", "acc23")[0], abs=1e-12)
    best, threshold, _ = mt_metrics_eval.KendallWithTiesOpt(
        gold, scores.ravel().tolist(), "acc23", systems, "item", 1.0
    )
    assert pairs.calibrated()[0] == pytest.approx(threshold, abs=1e-12)
    assert pairs.accuracy(pairs.calibrated())[0] == pytest.approx(best, abs=1e-12)
    if not gaps:
        drawn = np.rint(np.random.default_rng(4).random((1000, items), dtype=np.float32)) * 2.0 - 1.0
        soft = soft_pairwise_accuracy(people, scores[None], drawn)[0]
        assert soft == pytest.approx(peer.PairwiseConfidenceError()[0], abs=1e-6)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.filterwarnings("ignore:An input array is constant")
def test_the_numbers_of_nlpstats(gaps: float) -> None:
    random = np.random.default_rng(5)
    people = random.integers(1, 5, (7, 40)).astype(float)
    scores = np.round(2 * (people + 2 * random.normal(size=people.shape))) / 2
    people[2:][random.random((5, 40)) < gaps] = np.nan  # SciPy needs two outputs per item
    there = np.where(np.isfinite(people), scores, np.nan)
    names: dict[Grouping, str] = {"pooled": "global", "item": "input"}
    coefficients: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")
    data = MetaEvaluation(people, scores[None])
    for coefficient in coefficients:
        for grouping, level in names.items():
            found = coefficient_means(people, scores[None], coefficient, grouping).value[0]
            assert found == pytest.approx(correlate(there, people, level, coefficient), abs=1e-12)
        found = data.values("system", coefficient).value[0]
        assert found == pytest.approx(correlate(there, people, "system", coefficient), abs=1e-12)
