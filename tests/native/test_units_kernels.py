"""The kernel of units against a restatement of its draws in plain Python, and against what draws must look like."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from tests.oracles.builds import BUILDS
from tests.oracles.generators import bootstrap_order, shuffle_order
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def table(rows: int, columns: int) -> NDArray[np.float64]:
    """Numbers whose sums depend on the order of additions."""
    return np.random.default_rng(rows * 31 + columns).lognormal(0.0, 3.0, (rows, columns))


def cut(data: NDArray[np.float64], order: Sequence[int], unit: int, *, partial: bool) -> NDArray[np.float64]:
    """The sums of units, row after row and rounded at every step."""
    sums = []
    for begin in range(0, len(order), unit):
        rows = order[begin : begin + unit]
        if len(rows) < unit and not partial:
            break
        total = np.zeros(data.shape[1])
        for row in rows:
            total = total + data[row]
        sums.append(total)
    return np.array(sums)


SHAPES = [(1, 1, 1), (2, 3, 1), (7, 16, 3), (7, 17, 7), (64, 15, 10), (101, 33, 100), (300, 50, 7)]


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(("rows", "columns", "unit"), SHAPES)
@pytest.mark.parametrize(("seed", "stream"), [(0, 0), (12345, 3), (2**64 - 1, 2**64 - 1)])
@pytest.mark.parametrize("partial", [False, True])
def test_shuffles_equal_their_restatement_bit_by_bit(
    build: str, rows: int, columns: int, unit: int, seed: int, stream: int, partial: bool
) -> None:
    data = table(rows, columns)
    found = BUILDS[build].unit_sums(data, None, 0, unit, partial, seed, stream, 2, 4, 1)
    expected = [cut(data, shuffle_order(rows, seed, stream, draw), unit, partial=partial) for draw in range(2, 6)]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(("rows", "columns", "unit"), SHAPES)
@pytest.mark.parametrize(("seed", "stream"), [(0, 0), (12345, 3), (2**64 - 1, 2**64 - 1)])
@pytest.mark.parametrize("missing", [0, 5])
def test_replicates_equal_their_restatement_bit_by_bit(
    build: str, rows: int, columns: int, unit: int, seed: int, stream: int, missing: int
) -> None:
    data = table(rows, columns)
    items = np.random.default_rng(rows).permutation(rows + missing)[:rows]
    found = BUILDS[build].unit_sums(data, items, rows + missing, unit, True, seed, stream, 2, 4, 1)
    expected = [
        cut(data, bootstrap_order(items.tolist(), rows + missing, seed, stream, draw), unit, partial=True)
        for draw in range(2, 6)
    ]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("bootstrap", [False, True])
@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(1, 120),
    columns=st.integers(1, 40),
    draws=st.integers(1, 80),
    cuts=st.lists(st.integers(0, 80), max_size=4),
    threads=st.integers(1, 9),
    data=st.data(),
)
def test_neither_slices_nor_threads_nor_neighbours_change_a_bit(
    bootstrap: bool, rows: int, columns: int, draws: int, cuts: list[int], threads: int, data: st.DataObject
) -> None:
    unit = data.draw(st.integers(1, rows))
    numbers = table(rows, columns)
    items = np.arange(rows) if bootstrap else None
    whole = kernels.unit_sums(numbers, items, rows, unit, True, 1, 2, 0, draws, 1)
    bounds = sorted({0, draws, *(cut for cut in cuts if cut < draws)})
    slices = [
        kernels.unit_sums(numbers, items, rows, unit, True, 1, 2, low, high - low, threads)
        for low, high in itertools.pairwise(bounds)
    ]
    np.testing.assert_array_equal(np.concatenate(slices), whole)
    alone = kernels.unit_sums(np.ascontiguousarray(numbers[:, -1:]), items, rows, unit, True, 1, 2, 0, draws, threads)
    np.testing.assert_array_equal(alone[:, :, 0], whole[:, :, -1])


def test_all_orders_are_equally_likely() -> None:
    rows, draws = 5, 24_000
    order = kernels.unit_sums(
        np.arange(rows, dtype=np.float64)[:, np.newaxis], None, 0, 1, False, 12345, 0, 0, draws, 2
    )
    seen = np.unique(order[:, :, 0], axis=0, return_counts=True)[1]
    assert len(seen) == 120
    assert scipy_stats.chisquare(seen).pvalue > 0.001


def test_items_are_drawn_uniformly_and_alike_for_all_tables() -> None:
    rows, draws = 20, 20_000
    drawn = [
        kernels.unit_sums(np.eye(rows), np.arange(rows), rows, rows, False, 12345, stream, 0, draws, 2)[:, 0]
        for stream in (0, 1)
    ]
    np.testing.assert_array_equal(drawn[0], drawn[1])  # one unit holds all rows, so that their order does not show
    assert (drawn[0].sum(axis=1) == rows).all()
    assert scipy_stats.chisquare(drawn[0].sum(axis=0)).pvalue > 0.001
    np.testing.assert_allclose(drawn[0].var(axis=0), 1 - 1 / rows, atol=0.06)


@pytest.mark.parametrize("items", [None, np.arange(50)])
def test_streams_seeds_and_draws_differ(items: NDArray[np.int64] | None) -> None:
    numbers = table(50, 1)
    sums = [
        kernels.unit_sums(numbers, items, 50, 5, False, seed, stream, 0, 40, 1) for seed in (1, 2) for stream in (0, 1)
    ]
    orders = np.concatenate(sums)[:, :, 0]
    assert len(np.unique(orders, axis=0)) == 160


def test_edges() -> None:
    ones = np.ones((3, 2))
    assert kernels.unit_sums(ones, None, 0, 2, False, 1, 1, 0, 0, 1).shape == (0, 1, 2)
    assert kernels.unit_sums(np.ones((3, 0)), None, 0, 2, True, 1, 1, 0, 4, 1).shape == (4, 2, 0)
    with pytest.raises(ValueError, match="between 1 and 2\\^32"):
        kernels.unit_sums(np.ones((0, 2)), None, 0, 1, False, 1, 1, 0, 4, 1)
    for unit in (0, 4):
        with pytest.raises(ValueError, match="between 1 and all rows"):
            kernels.unit_sums(ones, None, 0, unit, False, 1, 1, 0, 4, 1)
    with pytest.raises(ValueError, match="one item a row"):
        kernels.unit_sums(ones, np.arange(2), 3, 1, False, 1, 1, 0, 4, 1)
    with pytest.raises(ValueError, match="two rows"):
        kernels.unit_sums(ones, np.array([0, 1, 1]), 3, 1, False, 1, 1, 0, 4, 1)
    for item in (-1, 3):
        with pytest.raises(ValueError, match="unknown item"):
            kernels.unit_sums(ones, np.array([0, 1, item]), 3, 1, False, 1, 1, 0, 4, 1)
    with pytest.raises(TypeError):
        kernels.unit_sums(ones.astype(np.float32), None, 0, 1, False, 1, 1, 0, 4, 1)
