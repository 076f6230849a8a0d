"""Draws of units as Python asks for them; the numbers themselves are tested with the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.generators import bootstrap_order, shuffle_order
from trubleu.errors import DataError, UsageError
from trubleu.stats import UnitDraws, UnitKind

if TYPE_CHECKING:
    from numpy.typing import NDArray


def powers(rows: int) -> NDArray[np.float64]:
    """One column whose sums tell which rows are in them."""
    return np.ldexp(1.0, np.arange(rows)[:, np.newaxis])


@settings(deadline=None)
@given(
    rows=st.integers(1, 30),
    unit=st.integers(1, 30),
    partial=st.booleans(),
    kind=st.sampled_from(["shuffle", "bootstrap"]),
)
def test_every_draw_is_cut_into_units(rows: int, unit: int, partial: bool, kind: UnitKind) -> None:
    draws = UnitDraws(kind=kind, unit=min(unit, rows), draws=6, partial=partial)
    sizes = draws.sizes(rows)
    assert len(sizes) == draws.units(rows)
    assert (sizes[:-1] == draws.unit).all()
    counted = draws.sums(np.ones((rows, 3)), stream=1)
    np.testing.assert_array_equal(counted, np.broadcast_to(sizes[:, np.newaxis], (6, len(sizes), 3)))
    assert sizes.sum() == (rows if partial else rows // draws.unit * draws.unit)
    if kind == "shuffle" and partial:
        np.testing.assert_array_equal(draws.sums(powers(rows), stream=1).sum(axis=1), np.full((6, 1), 2.0**rows - 1))


def test_draws_are_the_restated_ones() -> None:
    rows = powers(23)
    shuffles = UnitDraws(unit=5, draws=4, seed=9).sums(rows, stream=2)
    expected = [rows[shuffle_order(23, 9, 2, draw)[:20], 0].reshape(4, 5).sum(axis=1) for draw in range(4)]
    np.testing.assert_array_equal(shuffles[:, :, 0], expected)
    items = np.arange(23)[::-1] * 2
    replicates = UnitDraws(kind="bootstrap", unit=5, draws=4, seed=9).sums(rows, stream=2, items=items, universe=50)
    expected = [
        rows[bootstrap_order(items.tolist(), 50, 9, 2, draw)[:20], 0].reshape(4, 5).sum(axis=1) for draw in range(4)
    ]
    np.testing.assert_array_equal(replicates[:, :, 0], expected)


@pytest.mark.parametrize("kind", ["shuffle", "bootstrap"])
def test_slices_and_threads_change_nothing(kind: UnitKind) -> None:
    rows = np.random.default_rng(1).lognormal(size=(40, 20))
    whole = UnitDraws(kind=kind, unit=7, draws=50, threads=1).sums(rows, stream=3)
    draws = UnitDraws(kind=kind, unit=7, draws=50, threads=4)
    parts = [
        draws.sums(rows, stream=3, first=first, count=count)
        for first, count in ((0, 13), (13, 0), (13, 30), (43, None))
    ]
    assert [len(part) for part in parts] == [13, 0, 30, 7]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_tables_that_share_items_see_the_same_replicates() -> None:
    # Two tables with all items but in another order: the same items are drawn, whatever their rows and streams.
    rng = np.random.default_rng(2)
    order = rng.permutation(30)
    draws = UnitDraws(kind="bootstrap", unit=30, draws=20)
    one = draws.sums(np.eye(30), stream=0)[:, 0]
    other = draws.sums(np.eye(30), stream=1, items=order, universe=30)[:, 0]
    np.testing.assert_array_equal(one[:, order], other)
    # A table that lacks some items takes those it has in the same proportions.
    some = np.arange(0, 30, 3)
    few = UnitDraws(kind="bootstrap", unit=10, draws=200).sums(np.eye(10), stream=2, items=some, universe=30)[:, 0]
    all_of_them = UnitDraws(kind="bootstrap", unit=30, draws=200).sums(np.eye(30), stream=2)[:, 0]
    agreement = np.corrcoef(few.ravel(), all_of_them[:, some].ravel())[0, 1]
    assert agreement > 0.7


def test_units_of_several_tables_are_independent_in_shuffles() -> None:
    draws = UnitDraws(unit=10, draws=50)
    np.testing.assert_array_equal(draws.sums(powers(20), stream=0), draws.sums(powers(20), stream=0))
    assert (draws.sums(powers(20), stream=0) != draws.sums(powers(20), stream=1)).any(axis=(1, 2)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "jackknife"}, "there is no kind of draw 'jackknife'; known: shuffle, bootstrap"),
        ({"unit": 0}, "unit must be 1 or more, not 0"),
        ({"draws": 0}, "draws must be 1 or more, not 0"),
        ({"seed": -1}, "seed must be between 0"),
        ({"seed": 2**64}, "seed must be between 0"),
        ({"threads": 0}, "threads must be a whole number"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        UnitDraws(**options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stream": -1}, "stream must be between 0"),
        ({"stream": 2**64}, "stream must be between 0"),
        ({"first": 9, "count": 2}, "there are 10 draws; 2 from number 9 on"),
        ({"first": -1}, "there are 10 draws"),
        ({"first": 11}, "there are 10 draws"),
        ({"count": -1}, "there are 10 draws"),
    ],
)
def test_calls_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        UnitDraws(unit=2, draws=10).sums(np.ones((4, 2)), **({"stream": 0} | given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"items": [0, 1, 2]}, "items must be 4 different whole numbers from 0 to"),
        ({"items": [0.0, 1.0, 2.0, 3.0]}, "items must be 4 different whole numbers from 0 to"),
        ({"items": [0, 1, 2, 4]}, "items must be 4 different whole numbers from 0 to"),
        ({"items": [0, -1, 2, 3]}, "items must be 4 different whole numbers from 0 to"),
        ({"items": [0, 1, 1, 2]}, "items must be 4 different whole numbers from 0 to"),
        ({"universe": 3}, "items must be 4 different whole numbers from 0 to"),
        ({"universe": 2**32}, "at most"),
    ],
)
def test_items_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        UnitDraws(kind="bootstrap", unit=2, draws=10).sums(np.ones((4, 2)), stream=0, **given)


def test_tables_that_are_refused() -> None:
    draws = UnitDraws(unit=5, draws=10)
    with pytest.raises(UsageError, match="a unit of 5 segments is larger than the data, which has 4"):
        draws.sums(np.ones((4, 2)), stream=0)
    with pytest.raises(UsageError, match="a unit of 5 segments is larger than the data, which has 4"):
        draws.sizes(4)
    with pytest.raises(DataError, match="not finite in segment 6"):
        draws.sums([[1.0]] * 6 + [[np.nan]], stream=0)
    with pytest.raises(DataError, match="1 dimension"):
        draws.sums(np.ones(7), stream=0)
    with pytest.raises(DataError, match="no segments"):
        draws.sums(np.ones((0, 2)), stream=0)
