from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import weight_from_ratings
from trubleu.data.weights import agrees, exact, weight_problem
from trubleu.errors import DataError


@given(st.lists(st.integers(1, 5), min_size=1, max_size=50))
def test_the_weight_is_the_nearest_float_to_the_definition(ratings: list[int]) -> None:
    exact = Fraction(sum(ratings) - 3 * len(ratings), 2 * len(ratings))
    assert weight_from_ratings(ratings) == float(exact)
    assert agrees(round(weight_from_ratings(ratings), 3), ratings)


def test_small_integers_do_not_wrap_around() -> None:
    assert weight_from_ratings(np.full(100, 5, dtype=np.int8)) == 1.0  # type: ignore[arg-type]


PENALTIES = [Fraction(1, 10), Fraction(1), Fraction(5), Fraction(25)]


@given(st.lists(st.lists(st.sampled_from(PENALTIES), max_size=12), min_size=1, max_size=9))
def test_what_floats_added_up_becomes_exact_again(errors: list[list[Fraction]]) -> None:
    summed = [-sum(map(float, given)) for given in errors]
    assert [exact(float(each)) for each in summed] == [-sum(given) for given in errors]
    mean = sum(summed) / len(summed)
    assert exact(float(mean)) == -sum(map(sum, errors), Fraction()) / len(errors)


@given(st.floats(-1e6, 1e6))
def test_only_noise_is_taken_from_a_number(number: float) -> None:
    assert abs(exact(number) - Fraction(repr(number))) <= abs(Fraction(number)) / 10**14
    assert float(exact(float(exact(number)))) == float(exact(number))


@pytest.mark.parametrize("number", [1e-9, 0.123456789012, -3.1415926535897, 1e15, 5e-324])
def test_short_numbers_stay(number: float) -> None:
    assert exact(number) == Fraction(repr(number))


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
