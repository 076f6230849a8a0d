"""Rank correlations beside a loop over SciPy's, and sums of units beside a loop over NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats as scipy_stats

from benchmarks.rows import Row
from benchmarks.timing import best
from trubleu.stats import UnitDraws, rank_correlations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from benchmarks.cases import Bench


def correlations(bench: Bench) -> Iterator[Row]:
    """Correlate units of 12 pairs of systems in 1,000 draws, and single segments of the same in a few."""
    for points, sets, bar in ((264, bench.size(1000), 6.0), (25_000, 4, None)):
        x, y = _points(sets, points)
        ours = rank_correlations(x, y, mirrored=True, threads=1)
        np.testing.assert_allclose([ours.spearman[:3], ours.kendall[:3]], _scipy_loop(x[:3], y[:3]).T, rtol=1e-9)
        yield Row(
            name="correlations",
            data=f"{sets:,} × {points:,} points, both signs",
            peer="SciPy",
            ours_seconds=best(
                lambda x=x, y=y: rank_correlations(x, y, mirrored=True, threads=1),  # type: ignore[misc]
                bench.runs(5),
            ),
            peer_seconds=best(lambda x=x, y=y: _scipy_loop(x, y), bench.runs(2)),  # type: ignore[misc]
            bar=bar,
            note="a loop of spearmanr and kendalltau",
        )


def units(bench: Bench) -> Iterator[Row]:
    """Add up units of 100 of 2,114 segments in random orders."""
    rows, draws = 2_114, bench.size(1000)
    for columns in (20, 200):
        table = np.random.default_rng(1).random((rows, columns))
        design = UnitDraws(unit=100, draws=draws, threads=1)
        seconds = best(lambda d=design, t=table: d.sums(t, stream=0), bench.runs(3))  # type: ignore[misc]
        yield Row(
            name="units",
            data=f"{draws:,} × {rows:,} rows × {columns} columns",
            peer="NumPy",
            ours_seconds=seconds,
            peer_seconds=best(lambda t=table: _numpy_loop(t, 100, draws), bench.runs(2)),  # type: ignore[misc]
            note=f"a loop of permutation and sum; ours {seconds / (draws * table.size) * 1e9:.2f} ns an addition",
        )


def _points(sets: int, points: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return differences of a metric, and means of ratings, among which there are ties."""
    rng = np.random.default_rng(1)
    people = rng.normal(size=(sets, points))
    return people + rng.normal(size=people.shape), people.round(2)


def _scipy_loop(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.empty((len(x), 2))
    for i, (a, b) in enumerate(zip(np.hstack([x, -x]), np.hstack([y, -y]), strict=True)):
        found[i] = scipy_stats.spearmanr(a, b).statistic, scipy_stats.kendalltau(a, b).statistic
    return found


def _numpy_loop(table: NDArray[np.float64], unit: int, draws: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(1)
    count = len(table) // unit
    sums = np.empty((draws, count, table.shape[1]))
    for draw in range(draws):
        order = rng.permutation(len(table))[: count * unit]
        sums[draw] = table[order].reshape(count, unit, -1).sum(axis=1)
    return sums
