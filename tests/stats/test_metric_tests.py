"""Permutations and the bootstrap between metrics, against restatements and data where the truth is known."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nlpstats.correlations import permutation_test
from scipy import stats as scipy_stats

from trubleu.errors import UsageError
from trubleu.stats import williams_test
from trubleu.stats.bootstrap import percentile_interval
from trubleu.stats.meta_evaluation import TAUS, OutputPairs
from trubleu.stats.metric_tests import (
    CALIBRATED,
    SEGMENT_MEASURES,
    SOFT,
    SYSTEM_MEASURES,
    TESTS,
    MetaEvaluation,
    _swap_masks,
    clusters,
    metric_pairs,
    standardised,
)

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from trubleu.stats.metric_tests import Test


def example(seed: int, metrics: int = 3, systems: int = 6, items: int = 30, gaps: float = 0.1) -> MetaEvaluation:
    """Return metrics of growing noise."""
    random = np.random.default_rng(seed)
    people = random.integers(1, 6, (systems, items)) + random.normal(size=(systems, 1))
    noise = np.arange(1, metrics + 1)[:, None, None]
    scores = people + noise * random.normal(size=(metrics, systems, items))
    people[random.random(people.shape) < gaps] = np.nan
    return MetaEvaluation(people, scores)


def fits(measure: str, test: str) -> bool:
    if test == "williams":
        return measure in ("pearson", "pearson-pooled")
    return (measure, test) != (CALIBRATED, "perm-system")


MEASURES = [("segment", each) for each in SEGMENT_MEASURES] + [("system", each) for each in SYSTEM_MEASURES]


@pytest.mark.parametrize(("level", "measure"), [of for of in MEASURES if of[1] != CALIBRATED])  # that is below
@pytest.mark.parametrize("test", TESTS[:3])
def test_fast_permutations_are_the_plain_ones(level: str, measure: str, test: Test) -> None:
    """Swapped tables are looked at as if they were data, with the same bits."""
    data = example(1)
    assert data.people is not None
    tables = standardised(data.people, data.scores)
    whole = MetaEvaluation(data.people, tables)
    masks = _swap_masks(np.random.PCG64(7), 12, tables.shape[1:], test)
    values = whole._compared(level, measure)
    wanted = []
    for a, b in zip(*(each.tolist() for each in metric_pairs(3)), strict=True):
        nulls = []
        for mask in masks:
            pair = np.stack([np.where(mask, tables[b], tables[a]), np.where(mask, tables[a], tables[b])])
            x, y = MetaEvaluation(data.people, pair)._compared(level, measure)
            nulls.append(abs(x - y))
        wanted.append((sum(null >= abs(values[a] - values[b]) - 1e-9 for null in nulls) + 1) / 13)
    found = data.differences(level, measure, test, trials=12, seed=7)
    assert found.p.tolist() == pytest.approx(wanted)
    assert found.observed.tolist() == pytest.approx(
        [values[0] - values[1], values[0] - values[2], values[1] - values[2]]
    )


@pytest.mark.parametrize("test", ["perm-both", "perm-input"])
def test_calibrated_accuracy_swaps_pairs_or_items(test: Test) -> None:
    data = example(2, metrics=2, systems=3, items=4, gaps=0.0)
    right = data.pairs.right(data.epsilon)
    share = data.pairs.weights() * (right[0].astype(int) - right[1].astype(int))
    blocks = share if test == "perm-both" else np.bincount(data.pairs.item, share)
    nulls = [abs(float(np.dot(signs, blocks))) for signs in product((1, -1), repeat=len(blocks))]
    exact = sum(null >= abs(float(share.sum())) - 1e-12 for null in nulls) / len(nulls)
    found = data.differences("segment", CALIBRATED, test, trials=4000, seed=1)
    assert found.p[0] == pytest.approx(exact, abs=0.04)
    assert found.spread[0] == pytest.approx(math.sqrt(float((blocks**2).sum())), rel=0.1)


@pytest.mark.parametrize(("level", "measure"), MEASURES)
@pytest.mark.parametrize("test", TESTS)
def test_equal_metrics_are_not_told_apart(level: str, measure: str, test: Test) -> None:
    if not fits(measure, test):
        return
    data = example(3, metrics=1)
    twice = MetaEvaluation(data.people, np.concatenate([data.scores, data.scores * 2 + 1]))
    found = twice.differences(level, measure, test, trials=10, seed=1)
    assert found.p.tolist() == [1.0]
    assert abs(found.observed[0]) < 1e-9


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from(MEASURES), st.sampled_from(TESTS))
def test_p_values_are_shares(seed: int, of: tuple[str, str], test: Test) -> None:
    if not fits(of[1], test):
        return
    found = example(seed, systems=5, items=6).differences(*of, test, trials=20, seed=seed)
    least = 0.0 if test == "williams" else 1 / 21 - 1e-12
    assert all(least <= p <= 1 or math.isnan(p) for p in found.p.tolist())


@pytest.mark.parametrize(("level", "measure"), [("segment", "pearson-pooled"), ("system", "pearson")])
def test_williams_test_is_that_of_the_points(level: str, measure: str) -> None:
    data = example(5)
    assert data.people is not None
    there = np.isfinite(data.people)
    points = [each[there] for each in (data.people, *data.scores)]
    if level == "system":
        points = [np.where(there, each, 0.0).sum(axis=1) / there.sum(axis=1) for each in (data.people, *data.scores)]
    people, *scores = points
    found = data.differences(level, measure, "williams", trials=1, seed=1)
    for number, (a, b) in enumerate(zip(*metric_pairs(3), strict=True)):
        x, y, between = (
            float(scipy_stats.pearsonr(*each).statistic)
            for each in ((scores[a], people), (scores[b], people), (scores[a], scores[b]))
        )
        test = williams_test(x, y, between, len(people))
        assert found.p[number] == pytest.approx(test.p)
        assert found.observed[number] / found.spread[number] == pytest.approx(test.t)


def test_few_points_have_no_williams_test() -> None:
    three = MetaEvaluation(np.array([[1.0, 2.0, 4.0]]), np.array([[[1.0, 3.0, 2.0]], [[2.0, 1.0, 3.0]]]))
    assert np.isnan(three.differences("segment", "pearson-pooled", "williams", trials=1, seed=1).p).all()


@pytest.mark.parametrize("draw", ["segments", "systems", "both"])
@pytest.mark.parametrize("measure", [CALIBRATED, "acc-eq", "kendall-item", "pearson-pooled", "tau-hties"])
def test_a_replicate_is_the_measure_of_drawn_data(draw: str, measure: str) -> None:
    data = example(4)
    assert data.people is not None
    found = data.replicates("segment", measure, draw, 3, 11)
    random = np.random.default_rng(11)
    systems, items = data.people.shape
    for replicate in found:
        rows: NDArray[np.int64] = np.arange(systems)
        if draw != "segments":
            rows = np.asarray(random.integers(systems, size=systems))
        columns = random.integers(items, size=items) if draw != "systems" else np.arange(items)
        people, scores = data.people[rows][:, columns], data.scores[:, rows][:, :, columns]
        pairs = [
            (item, np.sign(people[a, item] - people[b, item]), *(scores[:, a, item] - scores[:, b, item]))
            for item in range(items)
            for a in range(systems)
            for b in range(a)
            if rows[a] != rows[b] and np.isfinite(people[[a, b], item]).all()  # none with itself
        ]
        item, better, *differences = (np.array(each) for each in zip(*pairs, strict=True))
        part = MetaEvaluation(people, scores, OutputPairs(item, better.astype(np.int8), np.stack(differences)))
        wanted = part.pairs.accuracy(data.epsilon) if measure == CALIBRATED else part.values("segment", measure).value
        assert replicate.tolist() == pytest.approx(wanted.tolist())


@pytest.mark.parametrize(("level", "measure"), [of for of in MEASURES if "acc" in of[1] or of[1] in TAUS])
def test_systems_that_are_drawn_twice_do_not_make_a_metric_better(level: str, measure: str) -> None:
    """Every pair of systems is drawn as often as any other, so the mean of replicates is the value itself."""
    random = np.random.default_rng(3)
    data = MetaEvaluation(random.integers(1, 6, (5, 30)).astype(float), random.normal(size=(2, 5, 30)))  # nobody agrees
    found = data.replicates(level, measure, "systems", 1500, 5)
    assert np.nanmean(found, axis=0).tolist() == pytest.approx(data._compared(level, measure).tolist(), abs=0.02)
    if level == "system":
        random = np.random.default_rng(5)
        few = [len(set(random.integers(5, size=5).tolist())) < 3 for _ in range(1500)]
        assert np.isnan(found[:, 0]).tolist() == few


def test_intervals_of_soft_accuracy_hold_what_such_studies_give_on_average() -> None:
    draws = np.random.default_rng(3)

    def study() -> MetaEvaluation:
        quality = np.linspace(-0.3, 0.3, 6)[:, None]
        people = quality + draws.normal(size=(6, 12))
        return MetaEvaluation(people, (quality + 0.6 * (people - quality) + 0.5 * draws.normal(size=(6, 12)))[None])

    true = np.mean([study().values("system", SOFT).value[0] for _ in range(200)])
    hits = 0
    for _ in range(50):
        low, high = percentile_interval(study().replicates("system", SOFT, "segments", 100, 1)[:, 0], 0.95)
        hits += low <= true <= high
    assert hits >= 44


def test_ranked_pairs_have_accuracies_only() -> None:
    item = np.array([0, 0, 1])
    ranked = OutputPairs(item, np.array([1, 0, -1], dtype=np.int8), np.array([[0.5, 0.1, -1.0], [0.5, 0.1, 1.0]]))
    data = MetaEvaluation(None, np.zeros((2, 2, 2)), ranked)
    assert data.values("segment", "acc-eq").value.tolist() == [0.75, 0.25]
    assert data.values("segment", CALIBRATED).value.tolist() == [1.0, 0.5]
    assert data.epsilon.tolist() == [0.1, 0.1]
    for test in ("perm-both", "perm-input", "bootstrap-segments"):
        assert 0 < data.differences("segment", CALIBRATED, test, trials=50, seed=1).p[0] <= 1
    with pytest.raises(UsageError, match="ranked pairs have no scores"):
        data.values("segment", "pearson-item")


def test_perm_both_of_mt_metrics_eval(mt_metrics_eval: ModuleType) -> None:
    random = np.random.default_rng(8)
    people = random.integers(0, 4, (5, 30)).astype(float)
    scores = people + random.normal(size=(2, 5, 30)) * np.array([1.5, 2.0])[:, None, None]
    peers = [mt_metrics_eval.Correlation(5, people.ravel().tolist(), each.ravel().tolist()) for each in scores]
    data = MetaEvaluation(people, scores)
    settings_of_peer = mt_metrics_eval.PermutationSigDiffParams(block_size=2000)
    np.random.seed(1)  # noqa: NPY002 - the peer draws from it
    for measure, function, average, extra in (
        ("pearson-pooled", mt_metrics_eval.scipy.stats.pearsonr, "none", {}),
        ("kendall-item", mt_metrics_eval.KendallVariants, "item", {"variant": "b"}),
    ):
        p, delta, _, _ = mt_metrics_eval.PermutationSigDiff(
            peers[1], peers[0], function, average, 1000, settings_of_peer, **extra
        )
        found = data.differences("segment", measure, "perm-both", trials=2000, seed=1)
        assert found.observed[0] == pytest.approx(delta, abs=1e-9)
        assert found.p[0] / 2 == pytest.approx(p, abs=0.04)  # which is one-sided
    p, delta, _ = mt_metrics_eval.PairwisePermutationSigDiff(
        peers[1], peers[0], "acc23", "item", 400, settings_of_peer
    )[:3]
    found = data.differences("segment", CALIBRATED, "perm-both", trials=2000, seed=1)
    assert found.observed[0] == pytest.approx(delta, abs=1e-9)
    assert found.p[0] / 2 == pytest.approx(p, abs=0.06)


def _swap_entries(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Swap entry by entry; what nlpstats calls "both" swaps whole systems and then whole items."""
    swap = np.random.random(x.shape) < 0.5  # noqa: NPY002 - the peer draws from it
    return np.where(swap, y, x), np.where(swap, x, y)


@pytest.mark.parametrize(
    ("level", "measure", "peer"),
    [
        ("segment", "pearson-pooled", ("global", "pearson")),
        ("segment", "kendall-item", ("input", "kendall")),
        ("system", "pearson", ("system", "pearson")),
    ],
)
@pytest.mark.parametrize("test", ["perm-system", "perm-input", "perm-both"])
@pytest.mark.filterwarnings("ignore:An input array is constant")
def test_p_values_of_nlpstats(level: str, measure: str, peer: tuple[str, str], test: Test) -> None:
    random = np.random.default_rng(9)
    people = random.integers(1, 5, (9, 8)) + np.linspace(0, 1, 9)[:, None].round(1)
    scores = np.round(people + random.normal(size=(2, 9, 8)) * np.array([1.5, 2.5])[:, None, None])
    people[2:][random.random((7, 8)) < 0.15] = np.nan
    found = MetaEvaluation(people, scores).differences(level, measure, test, trials=4000, seed=1)
    swap = {"perm-system": "systems", "perm-input": "inputs", "perm-both": _swap_entries}[test]
    x, y = np.where(np.isfinite(people), scores, np.nan)
    np.random.seed(2)  # noqa: NPY002 - the peer draws from it
    wanted = permutation_test(x, y, people, *peer, swap, n_resamples=300)
    assert found.p[0] == pytest.approx(wanted.pvalue, abs=0.08)
    assert found.spread[0] == pytest.approx(np.std(wanted.samples), rel=0.12)


def test_clusters_begin_where_somebody_is_significantly_worse() -> None:
    worse = np.zeros((4, 4), dtype=bool)
    worse[0, 2] = worse[0, 3] = True
    assert clusters([0.9, 0.8, 0.7, 0.6], worse) == [1, 1, 2, 2]
    worse[2, 3] = True
    assert clusters([0.9, 0.8, 0.7, 0.6], worse) == [1, 1, 2, 3]
    assert clusters([0.1], np.zeros((1, 1), dtype=bool)) == [1]


@pytest.mark.parametrize(
    ("level", "measure", "test", "message"),
    [
        ("segment", "pearson", "perm-both", "no segment-level measure 'pearson'"),
        ("system", "acc-eq", "perm-both", "no system-level measure 'acc-eq'"),
        ("segment", "acc-eq", "perm", "no test 'perm'"),
        ("segment", CALIBRATED, "perm-system", "perm-system cannot compare acc-eq-calibrated"),
    ],
)
def test_what_does_not_exist_is_refused(level: str, measure: str, test: Test, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        example(1).differences(level, measure, test, trials=10, seed=1)


def _null_rate(measure: str, level: str, test: Test, worlds: int) -> float:
    rejected = 0
    for seed in range(worlds):
        random = np.random.default_rng(seed)
        people = random.normal(size=(6, 40)) + random.normal(size=(1, 40))
        scores: NDArray[np.float64] = people + 2 * random.normal(size=(2, 6, 40)) + random.normal(size=(2, 1, 40))
        p = MetaEvaluation(people, scores).differences(level, measure, test, trials=99, seed=seed).p[0]
        rejected += p <= 0.1
    return rejected / worlds


def test_swapping_items_keeps_the_level_and_swapping_pairs_does_not() -> None:
    # An output takes part in several pairs, so pairs are not independent of each other.
    assert 0.04 < _null_rate(CALIBRATED, "segment", "perm-input", 200) < 0.17
    assert _null_rate(CALIBRATED, "segment", "perm-both", 200) > 0.17
    assert 0.04 < _null_rate(SOFT, "system", "perm-input", 100) < 0.2


@pytest.mark.parametrize("measure", ["kendall", "spearman", "pairwise-accuracy"])
def test_systems_that_tie_do_so_after_a_swap_of_standardised_scores(measure: str) -> None:
    random = np.random.default_rng(0)
    people = random.integers(1, 5, (6, 15)) + (random.random((6, 1)) > 0.5).astype(float)
    scores = np.round(people + random.normal(size=(2, 6, 15)) * np.array([1, 2])[:, None, None])
    first, second = standardised(people, scores)

    def value(table: NDArray[np.float64]) -> float:
        # Sums that are equal but for rounding are equal; whole numbers, as scores and ratings are.
        means = np.round(table.mean(axis=1), 9)
        mean_ratings = people.sum(axis=1)
        if measure == "kendall":
            return float(scipy_stats.kendalltau(means, mean_ratings).statistic)
        if measure == "spearman":
            return float(scipy_stats.spearmanr(means, mean_ratings).statistic)
        pairs = [(a, b) for a in range(6) for b in range(a)]
        signs = [np.sign((means[a] - means[b], mean_ratings[a] - mean_ratings[b])) for a, b in pairs]
        return float(np.mean([one == other for one, other in signs]))

    observed = abs(value(first) - value(second))
    swaps = [np.array(each, dtype=bool)[:, None] for each in product((False, True), repeat=6)]
    nulls = [value(np.where(swap, second, first)) - value(np.where(swap, first, second)) for swap in swaps]
    exact = float(np.mean([abs(null) >= observed - 1e-9 for null in nulls]))
    found = MetaEvaluation(people, scores).differences("system", measure, "perm-system", trials=4000, seed=3)
    assert found.p[0] == pytest.approx(exact, abs=0.03)
