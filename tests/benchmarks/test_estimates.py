"""The benchmark's statement of estimates for many runs at once is the product's."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulated.estimates import Sample, intervals
from trubleu.stats import MeanInterval, RaterShares, prediction_powered_mean
from trubleu.stats.prediction_powered import folds_of


@pytest.mark.parametrize("raters", [0, 12])
@pytest.mark.parametrize("items", [False, True])
def test_intervals_are_those_of_the_product(items: bool, raters: int) -> None:
    draw = np.random.default_rng(3)
    n, runs = 40, 5
    quality = draw.normal(3, 1, (runs, n + 100))
    proxy = quality + draw.normal(0, 0.5, quality.shape)
    order = np.argsort(folds_of(np.arange(n), 7), kind="stable")  # the benchmark's folds follow each other
    sample = Sample(quality[:, :n], proxy[:, :n], proxy[:, n:])
    if raters:
        first = draw.integers(0, raters, (runs, n))
        who = np.stack([first, (first + 1) % raters], axis=2)
        scores = quality[:, :n, None] + 0.3 * (who % 5) + draw.normal(0, 0.4, who.shape)
        sample = Sample(scores.mean(2), sample.f, sample.g, who, scores)
    ordered = sample._replace(y=sample.y[:, order], f=sample.f[:, order])
    if sample.who is not None and sample.scores is not None:
        ordered = ordered._replace(who=sample.who[:, order], scores=sample.scores[:, order])
    for at, found in enumerate(
        zip(*(column for each in intervals(ordered, items=items) for column in each), strict=True)
    ):
        shares = None
        if sample.who is not None and sample.scores is not None:
            given = sample.scores[at]
            shares = RaterShares(np.repeat(np.arange(n), 2), sample.who[at].ravel(), (given.ravel() - given.mean()) / 2)
        expected = prediction_powered_mean(
            sample.y[at], sample.f[at], sample.g[at], raters=shares, target="items" if items else "population", seed=7
        )
        assert found == pytest.approx((*_of(expected.people), *_of(expected.powered)), rel=1e-9)


def _of(interval: MeanInterval) -> tuple[float, float]:
    return interval.mean, interval.high - interval.mean
