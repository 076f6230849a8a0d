"""Prediction-powered means against plain statements of the formulas, and on data whose truth is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.oracles import prediction_powered as oracle
from trubleu.errors import DataError, UsageError
from trubleu.stats import RaterShares, prediction_powered_mean
from trubleu.stats.prediction_powered import folds_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def sample(seed: int, n: int = 60, beside: int = 200, noise: float = 0.5) -> tuple[Floats, Floats, Floats]:
    """Draw people's ratings from 1 to 5, and a proxy's scores of these items and of others."""
    draw = np.random.default_rng(seed)
    quality = draw.normal(3, 1, n + beside)
    people = np.clip(np.round(quality + draw.normal(0, 0.5, n + beside)), 1, 5)
    proxy = 2 + 0.6 * quality + draw.normal(0, noise, n + beside)
    return people[:n], proxy[:n], proxy[n:]


@pytest.mark.parametrize("items", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_estimate_is_that_of_the_formula(seed: int, unequal: bool, items: bool) -> None:
    y, f, g = sample(seed, 20 + 13 * seed)
    chances = np.random.default_rng(seed).uniform(0.1, 0.9, len(y)) if unequal else None
    target: Any = "items" if items else "population"
    found = prediction_powered_mean(y, f, g, probabilities=chances, target=target, seed=seed)
    folds = folds_of(np.arange(len(y)), seed).tolist()
    known = None if chances is None else chances.tolist()
    theta, variance = oracle.powered(y.tolist(), f.tolist(), g.tolist(), folds, probabilities=known, items=items)
    assert found.powered.mean == pytest.approx(theta, rel=1e-12)
    assert found.powered.error == pytest.approx(math.sqrt(variance), rel=1e-12)
    half = stats.t.ppf(0.975, len(y) - 1) * math.sqrt(variance)
    assert found.powered.low == pytest.approx(theta - half, rel=1e-12)
    if not unequal and not items:
        alone = stats.ttest_1samp(y, 0).confidence_interval()
        assert (found.people.low, found.people.high) == pytest.approx((alone.low, alone.high), rel=1e-12)
    if not unequal and items:
        assert found.people.error == pytest.approx(
            math.sqrt((1 - len(y) / (len(y) + len(g))) * y.var(ddof=1) / len(y)), rel=1e-12
        )


@pytest.mark.parametrize("seed", range(4))
def test_it_is_close_to_the_published_estimate_with_one_tuning(seed: int) -> None:
    y, f, g = sample(seed, 200, 1000)
    found = prediction_powered_mean(y, f, g, seed=seed)
    tuning = np.cov(y, f)[0, 1] / ((1 + len(y) / len(g)) * f.var(ddof=1))
    theta, variance = oracle.published(y.tolist(), f.tolist(), g.tolist(), tuning)
    assert found.tuning[0] == pytest.approx(tuning, rel=0.02)
    assert found.powered.mean == pytest.approx(theta, abs=0.05 * math.sqrt(variance))
    assert found.powered.error == pytest.approx(math.sqrt(variance), rel=0.03)


@given(st.integers(0, 1000), st.floats(0.01, 100), st.floats(-100, 100), st.sampled_from([1, -1]))
@settings(max_examples=40, deadline=None)
def test_the_proxys_own_scale_changes_nothing(seed: int, factor: float, shift: float, sign: int) -> None:
    y, f, g = sample(seed)
    usual = prediction_powered_mean(y, f, g)
    other = prediction_powered_mean(y, sign * factor * f + shift, sign * factor * g + shift)
    assert other.powered == pytest.approx(usual.powered, rel=1e-6)
    assert other.effective == pytest.approx(usual.effective, rel=1e-6)
    assert other.useful == usual.useful
    moved = prediction_powered_mean(2 * y + 7, f, g)
    assert moved.powered.mean == pytest.approx(2 * usual.powered.mean + 7)
    assert moved.powered.error == pytest.approx(2 * usual.powered.error)


def test_a_constant_proxy_gives_people_alone() -> None:
    y, f, g = sample(0)
    found = prediction_powered_mean(y, np.ones(len(f)), np.ones(len(g)))
    assert found.powered == found.people
    assert (found.effective, found.useful) == (len(y), False)
    # so does a proxy that scored only what people rated
    alone = prediction_powered_mean(y, f, np.empty(0))
    assert alone.powered == alone.people
    assert prediction_powered_mean(y, f, np.empty(0), target="items").people.error == 0


def test_a_useless_proxy_is_never_worth_more_than_the_ratings() -> None:
    draw = np.random.default_rng(3)
    found = [
        prediction_powered_mean(draw.integers(1, 6, 40), draw.normal(size=40), draw.normal(size=300)) for _ in range(60)
    ]
    assert all(each.effective <= 40 for each in found if not each.useful)
    assert sum(each.useful for each in found) < 12


def test_several_proxies_are_weighed_together() -> None:
    y, f, g = sample(5, 100, 1000, noise=1.5)
    draw = np.random.default_rng(6)
    others = [sample(5, 100, 1000, noise=0.3)[1:], (draw.normal(size=100), draw.normal(size=1000))]
    one = prediction_powered_mean(y, f, g)
    both = prediction_powered_mean(
        y, np.column_stack([f, *(o[0] for o in others)]), np.column_stack([g, *(o[1] for o in others)])
    )
    assert len(both.tuning) == 3
    assert both.powered.error < one.powered.error
    assert abs(both.tuning[2]) < 0.1
    # a proxy given twice is the proxy
    twice = prediction_powered_mean(y, np.column_stack([f, f]), np.column_stack([g, g]))
    assert twice.powered == pytest.approx(one.powered, rel=1e-6)


def test_items_of_one_segment_are_a_cluster() -> None:
    y, f, g = sample(1, 40, 120)
    single = prediction_powered_mean(y, f, g, segments=np.arange(40), unrated_segments=np.arange(40, 160))
    assert single == prediction_powered_mean(y, f, g)
    segments = np.repeat(np.arange(160), 3)
    thrice = prediction_powered_mean(
        *(np.repeat(each, 3) for each in (y, f, g)), segments=segments[:120], unrated_segments=segments[120:]
    )
    assert thrice.powered == pytest.approx(single.powered, rel=1e-9)


def shares(scores: Floats, raters: NDArray[np.int64]) -> RaterShares:
    """Return what raters contributed, ``[items, ratings]``."""
    count = scores.shape[1]
    return RaterShares(
        np.repeat(np.arange(len(scores)), count), raters.ravel(), (scores.ravel() - scores.mean()) / count
    )


def test_raters_are_a_sample_from_ten_on() -> None:
    draw = np.random.default_rng(2)
    y, f, g = sample(2, 100, 400)
    for number in (9, 10):
        raters = np.stack([draw.permutation(number)[:2] for _ in range(100)])
        scores = y[:, None] + draw.normal(0, 0.5, number)[raters]
        found = prediction_powered_mean(scores.mean(1), f, g, raters=shares(scores, raters))
        fixed = prediction_powered_mean(scores.mean(1), f, g)
        assert found.random_raters is (number == 10)
        assert (found.powered.error > 1.2 * fixed.powered.error) is (number == 10)
        assert (found.powered.degrees < 40) is (number == 10)


def coverage(runs: int, n: int, kind: str, *, raters: int = 0, target: Any = "population") -> float:
    """Return how often the 95 % interval holds the true mean of ratings (0)."""
    held = 0
    for seed in range(runs):
        draw = np.random.default_rng([seed, n])
        quality = draw.normal(0, 1, n + 500)
        people = quality + draw.normal(0, 0.6, n + 500)
        proxy = {"good": quality + draw.normal(0, 0.4, n + 500), "useless": draw.normal(size=n + 500)}[kind]
        contributed = None
        if raters:
            who = np.stack([draw.permutation(raters)[:2] for _ in range(n)])
            scores = people[:n, None] + draw.normal(0, 0.4, raters)[who] + draw.normal(0, 0.4, (n, 2))
            people[:n], contributed = scores.mean(1), shares(scores, who)
        found = prediction_powered_mean(
            people[:n], 5 + 3 * proxy[:n], 5 + 3 * proxy[n:], raters=contributed, target=target
        ).powered
        held += found.low <= (people.mean() if target == "items" else 0) <= found.high
    return held / runs


@pytest.mark.parametrize(
    ("n", "kind", "options"),
    [
        (30, "good", {}),
        (30, "useless", {}),
        (100, "good", {}),
        (100, "good", {"target": "items"}),
        (100, "good", {"raters": 12}),
    ],
)
def test_intervals_hold_the_truth_as_often_as_they_promise(n: int, kind: str, options: dict[str, Any]) -> None:
    # 600 runs: a standard error of 0.9 points; the benchmark has 10,000.
    assert 0.925 <= coverage(600, n, kind, **options) <= 0.975


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ratings": np.arange(19.0), "proxy": np.arange(19.0)}, "an estimate needs 20 rated items, not 19; rate more"),
        ({"probabilities": np.zeros(60)}, "the probability of a rated item must be above 0 and at most 1, not 0"),
        ({"probabilities": np.full(60, 1.5)}, "the probability of a rated item must be above 0 and at most 1, not 1.5"),
        ({"probabilities": np.ones(59)}, "an estimate takes one probability per rated item, but 59 were given for 60"),
        ({"ratings": np.full(60, np.nan)}, "ratings has a value that is not finite"),
        ({"unrated": np.array([np.inf])}, "unrated has a value that is not finite"),
        ({"proxy": np.arange(59.0)}, "an estimate takes one rating per item and as many scores per proxy"),
        ({"segments": np.zeros(60)}, "the rated items are of 1 segment; an estimate needs 20 segments"),
        ({"segments": np.zeros(3)}, "an estimate takes the segment of each item"),
    ],
)
def test_what_cannot_be_used_is_refused(change: dict[str, Any], message: str) -> None:
    y, f, g = sample(0)
    given = {"ratings": y, "proxy": f, "unrated": g, **change}
    if "segments" in change:
        given["unrated_segments"] = np.zeros(200)
    with pytest.raises(DataError, match=message):
        prediction_powered_mean(**given)


def test_unknown_targets_are_refused() -> None:
    wrong: Any = "item"
    with pytest.raises(UsageError, match="there is no target 'item'"):
        prediction_powered_mean(*sample(0), target=wrong)
