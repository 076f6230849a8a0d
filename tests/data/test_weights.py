from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import weight_from_ratings
from trubleu.data.weights import agrees, weight_problem
from trubleu.errors import DataError


@given(st.lists(st.integers(1, 5), min_size=1, max_size=50))
def test_the_weight_is_the_nearest_float_to_the_definition(ratings: list[int]) -> None:
    exact = Fraction(sum(ratings) - 3 * len(ratings), 2 * len(ratings))
    assert weight_from_ratings(ratings) == float(exact)
    assert agrees(round(weight_from_ratings(ratings), 3), ratings)


def test_small_integers_do_not_wrap_around() -> None:
    assert weight_from_ratings(np.full(100, 5, dtype=np.int8)) == 1.0  # type: ignore[arg-type]


@pytest.mark.parametrize("ratings", [[], [0], [6], [3, True], [2.5], ["3"], [None]])
def test_wrong_ratings(ratings: list[Any]) -> None:
    with pytest.raises(DataError, match="ratings must"):
        weight_from_ratings(ratings)


@pytest.mark.parametrize("weight", [0, 1, -1, 0.5, np.float32(0.25), np.int8(1), Fraction(1, 3)])
def test_weights_of_every_type_of_number(weight: object) -> None:
    assert weight_problem(weight) is None


@pytest.mark.parametrize("weight", [1.001, -2, float("inf"), float("nan"), True, "0.5", None, np.True_])
def test_wrong_weights(weight: object) -> None:
    assert "from -1 to 1" in (weight_problem(weight) or "")


def test_an_integer_too_long_to_print() -> None:
    assert "from -1 to 1, not a huge integer" in (weight_problem(10**5000) or "")
