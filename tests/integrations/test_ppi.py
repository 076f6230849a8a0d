"""Prediction-powered means against ppi-python, which does not cross-fit its λ."""

from __future__ import annotations

import numpy as np
import pytest
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

from trubleu.stats import prediction_powered_mean


@pytest.mark.parametrize(("n", "beside"), [(200, 1000), (500, 500), (300, 5000)])
@pytest.mark.parametrize("noise", [0.3, 1.0, 30.0])
def test_estimates_and_intervals_are_close(n: int, beside: int, noise: float) -> None:
    draw = np.random.default_rng([n, beside, int(10 * noise)])
    quality = draw.normal(3, 1, n + beside)
    people = np.clip(np.round(quality + draw.normal(0, 0.5, n + beside)), 1, 5)
    proxy = 2 + 0.6 * quality + draw.normal(0, noise, n + beside)
    found = prediction_powered_mean(people[:n], proxy[:n], proxy[n:]).powered
    given = people[:n], proxy[:n], proxy[n:]
    low, high = (end.item() for end in ppi_mean_ci(*given, alpha=0.05, lam_optim_mode="overall"))
    assert found.mean == pytest.approx(ppi_mean_pointestimate(*given).item(), abs=0.1 * found.error)
    # They take the normal distribution and the variance of n values, we t and that of n − 1.
    assert (found.high - found.low) / (high - low) == pytest.approx(1, abs=0.03)
