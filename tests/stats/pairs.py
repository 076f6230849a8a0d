"""Two systems, or two metrics, compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trubleu.native import kernels
from trubleu.stats import compare
from trubleu.stats.metric_tests import MetaEvaluation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from trubleu.stats import Comparison, ScoreFunction, Statistics


def paired_bootstrap(a: Statistics, b: Statistics, score: ScoreFunction, **options: Any) -> Comparison:
    """Compare two systems by the paired bootstrap."""
    return compare({"a": a, "b": b}, score, test="bootstrap", **options)[0]


def paired_randomisation(a: Statistics, b: Statistics, score: ScoreFunction, **options: Any) -> Comparison:
    """Compare two systems by the randomisation test."""
    return compare({"a": a, "b": b}, score, test="randomisation", **options)[0]


class Swaps(NamedTuple):
    """The difference between two metrics' correlations with people, and its p-value."""

    difference: float
    p: float


def permutation_of_metrics(
    x: ArrayLike, y: ArrayLike, human: ArrayLike, *, correlation: str = "pearson", trials: int = 1000, seed: int = 12345
) -> Swaps:
    """Compare two metrics by random swaps of their scores, point by point."""
    points = MetaEvaluation(np.asarray(human, float)[:, np.newaxis], np.asarray([x, y], float)[:, :, np.newaxis])
    found = points.differences("segment", f"{correlation}-pooled", "perm-both", trials=trials, seed=seed)
    return Swaps(float(found.observed[0]), float(found.p[0]))


def draw_counts(rows: int, resamples: int, seed: int, *, first: int = 0) -> NDArray[np.int64]:
    """Return how often each row enters each resample of `bootstrap_scores`, from number ``first`` on."""
    return kernels.resample_counts(rows, resamples, first, seed).astype(np.int64)
