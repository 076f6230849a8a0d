"""Lists of strings laid flat."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.builds import BUILDS

texts = st.text(max_size=5)
rows = st.lists(texts, max_size=40) | st.lists(texts, max_size=4).map(tuple)


@pytest.fixture(params=BUILDS)
def kernels(request: pytest.FixtureRequest) -> Any:
    return BUILDS[request.param]


@given(st.lists(rows, max_size=30) | st.lists(rows, max_size=3).map(tuple))
def test_lists_are_laid_flat(lists: Any) -> None:
    for kernels in BUILDS.values():
        flat, offsets = kernels.flatten(lists)
        assert flat == tuple(text for row in lists for text in row)
        assert offsets.tolist() == [0, *accumulate(map(len, lists))]
        assert kernels.all_strings(flat)


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("odd", [None, 5, b"a", Text("a"), ["a"]])
@pytest.mark.parametrize("place", [0, 3, 39])
def test_anything_else_is_left_to_python(kernels: Any, odd: object, place: int) -> None:
    row: list[object] = ["a"] * 40
    row[place] = odd
    assert kernels.flatten([["a"], row]) is None
    assert kernels.flatten([["a"]] * 9 + [row]) is None
    assert not kernels.all_strings(tuple(row))


@pytest.mark.parametrize("odd", [None, 5, "ab", {"a"}, iter([["a"]]), {"a": 1}])
def test_rows_that_are_no_lists_are_left_to_python(kernels: Any, odd: object) -> None:
    assert kernels.flatten([["a"], odd]) is None
    if odd is not None:  # Python asks first
        assert kernels.flatten(odd) is None


def test_strings_outlive_their_lists(kernels: Any) -> None:
    lists = [[f"text {i} {j}" for j in range(3)] for i in range(50)]
    flat, offsets = kernels.flatten(lists)
    lists.clear()
    assert flat[-1] == "text 49 2"
    assert offsets[-1] == 150
    assert kernels.all_strings(())


@given(st.lists(st.lists(st.sampled_from(["a", "b", "ab", "é", "\u2028", ""]), min_size=1, max_size=6), max_size=12))
def test_segments_that_repeat_a_text(lists: list[list[str]]) -> None:
    for kernels in BUILDS.values():
        flat, offsets = kernels.flatten(lists)
        expected = [index for index, row in enumerate(lists) if len(set(row)) < len(row)]
        assert kernels.repeating_segments(flat, offsets).tolist() == expected


def test_segments_of_very_many_texts_are_left_to_a_closer_look(kernels: Any) -> None:
    flat, offsets = kernels.flatten([[str(i) for i in range(5000)], ["a"]])
    assert kernels.repeating_segments(flat, offsets).tolist() == [0]
    with pytest.raises(TypeError):
        kernels.repeating_segments((1,), np.array([0, 1]))
