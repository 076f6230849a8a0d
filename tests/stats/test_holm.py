"""Holm's correction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import DataError
from trubleu.stats import holm
from trubleu.stats.paired import holm_limit

if TYPE_CHECKING:
    from random import Random

P_VALUES = st.lists(st.floats(0.0, 1.0), max_size=12)


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        # Sorted .01 .02 .03 .04, times 4 3 2 1: .04 .06 .06 .04, and no step may fall below the one before.
        ([0.04, 0.01, 0.03, 0.02], [0.06, 0.04, 0.06, 0.06]),
        # Sorted .001 .0125 .3 .4 .9, times 5 4 3 2 1: .005 .05 .9 .8 .9.
        ([0.3, 0.001, 0.9, 0.0125, 0.4], [0.9, 0.005, 0.9, 0.05, 0.9]),
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.02, 0.02, 0.02], [0.06, 0.06, 0.06]),
        ([0.2], [0.2]),
        ([0.0, 1.0], [0.0, 1.0]),
        ([], []),
    ],
)
def test_worked_by_hand(p_values: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(holm(p_values), expected, rtol=1e-15)


@given(P_VALUES)
def test_is_monotone_and_between_p_and_bonferroni(p_values: list[float]) -> None:
    p = np.array(p_values)
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(1.0, p * len(p))).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0.0).all()


@given(P_VALUES, st.randoms(use_true_random=False))
def test_order_does_not_matter(p_values: list[float], random: Random) -> None:
    order = list(range(len(p_values)))
    random.shuffle(order)
    shuffled = holm([p_values[i] for i in order])
    assert shuffled.tolist() == holm(p_values)[order].tolist()


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12), st.floats(0.001, 0.999))
def test_rejects_what_stepping_down_rejects(p_values: list[float], level: float) -> None:
    rejected = set()
    for step, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[i] * (len(p_values) - step) > level:
            break
        rejected.add(i)
    assert set(np.flatnonzero(holm(p_values) <= level).tolist()) == rejected


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_refuses_what_is_no_probability(bad: float) -> None:
    with pytest.raises(DataError, match=r"p-value 1 \(counted from 0\)"):
        holm([0.5, bad])


def test_refuses_a_table() -> None:
    with pytest.raises(DataError, match="flat list"):
        holm([[0.5]])


@pytest.mark.parametrize(
    ("p", "resamples", "least"),
    [
        ([1 / 101, 1.0], 100, "0.02 with 100 resamples and 2 tests; --resamples 2000"),
        ([1 / 101], 100, "0.0099 with 100 resamples and 1 test; --resamples 1000"),
        ([0.5] * 2, 1, "1 with 1 resamples and 2 tests; --resamples 2000"),
        ([1 / 91, 0.3], 100, "0.022 with 100 resamples and 2 tests; --resamples 2000"),  # 10 of them are undefined
        ([2 / 101, 1.0], 100, None),
        ([1 / 10_001] * 9, 10_000, None),
        ([], 100, None),
    ],
)
def test_what_more_resamples_could_lower_says_so(p: list[float], resamples: int, least: str | None) -> None:
    expected = None if least is None else f"p (Holm) is at least {least} lets it be lower"
    assert holm_limit(p, resamples) == expected
