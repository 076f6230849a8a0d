"""Prediction-powered inference as plain Python, for one proxy, items that are clusters of their own and given folds."""

from __future__ import annotations

from statistics import fmean, variance
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def slope(y: Sequence[float], f: Sequence[float], weights: Sequence[float]) -> float:
    """Return Cov(Y, f) / Var(f), with weights."""
    total = sum(weights)
    at_y = sum(w * each for w, each in zip(weights, y, strict=True)) / total
    at_f = sum(w * each for w, each in zip(weights, f, strict=True)) / total
    beside = sum(w * (a - at_y) * (b - at_f) for w, a, b in zip(weights, y, f, strict=True))
    within = sum(w * (b - at_f) ** 2 for w, b in zip(weights, f, strict=True))
    return beside / within


def powered(
    y: Sequence[float],
    f: Sequence[float],
    g: Sequence[float],
    folds: Sequence[int],
    *,
    probabilities: Sequence[float] | None = None,
    items: bool = False,
) -> tuple[float, float]:
    """Return the estimate and its variance."""
    n, size = len(y), len(y) + len(g)
    chances = [n / size] * n if probabilities is None else list(probabilities)
    weights = [1 / chance / sum(1 / each for each in chances) for chance in chances]
    slopes = {
        fold: slope(*zip(*[(y[i], f[i], weights[i] ** 2) for i in range(n) if folds[i] != fold], strict=True))
        for fold in set(folds)
    }
    centre = fmean([*f, *g])
    inner = [f[i] - centre for i in range(n)]
    residual = [y[i] - slopes[folds[i]] * inner[i] for i in range(n)]
    theta = sum(weights[i] * residual[i] for i in range(n))
    usual = sum(weights[i] * slopes[folds[i]] for i in range(n))
    total = 0.0
    for i in range(n):
        part = weights[i] * (residual[i] - theta)
        total += (1 - chances[i]) * part**2 if items else (part + usual * inner[i] / size) ** 2
    if not items:
        total += sum((usual * (each - centre) / size) ** 2 for each in g)
    return theta, total * n / (n - 1)


def published(y: Sequence[float], f: Sequence[float], g: Sequence[float], tuning: float) -> tuple[float, float]:
    """Return the estimate of PPI++ and its variance, for one λ."""
    n, beside = len(y), len(g)
    theta = fmean(y) + tuning * (fmean(g) - fmean(f))
    residual = [a - tuning * b for a, b in zip(y, f, strict=True)]
    return theta, variance(residual) / n + tuning**2 * variance(g) / beside
