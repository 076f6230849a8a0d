"""References made from lists, and what can be asked of them."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import Reference, References, Segment, looks_transposed
from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

NAN = float("nan")


def nested(references: References) -> list[list[tuple[str, float | None]]]:
    return [[(each.text, each.weight) for each in segment.references] for segment in references]


def test_flat_form() -> None:
    references = References.from_lists([["a", "b"], ["c"]], [[1, -0.5], [None]])
    assert references.texts == ("a", "b", "c")
    assert references.offsets.dtype == np.int64
    assert references.offsets.tolist() == [0, 2, 3]
    assert references.weights is not None
    assert references.weights.dtype == np.float64
    np.testing.assert_array_equal(references.weights, [1, -0.5, NAN])
    assert references.ids == ("1", "2")
    assert (len(references), references.count) == (2, 3)
    assert references.reference_counts().tolist() == [2, 1]
    assert references.weighted()
    assert repr(references) == "<References from references: 2 segments, 3 references, weighted>"


def test_segments() -> None:
    references = References(
        ["a", "b", "c"], [0, 2, 3], [1, NAN, 0], ids=["x", "y"], origins=["seed", None, "mined"],
        messages=[None, "hi"], contexts=[("t",), None],
    )  # fmt: skip
    first = Segment("x", (Reference("a", 1.0, "seed"), Reference("b", None, None)), None, ("t",))
    assert references[0] == references.segment(-2) == first
    assert list(references)[1] == Segment("y", (Reference("c", 0.0, "mined"),), "hi", None)
    with pytest.raises(IndexError):
        references[2]


def test_nothing_can_be_changed() -> None:
    references = References.from_lists([["a"]], [[1.0]])
    for name in ("texts", "offsets", "weights", "ids", "source", "count"):
        with pytest.raises(AttributeError):
            setattr(references, name, None)
    with pytest.raises(AttributeError):
        references.anything = 1  # type: ignore[attr-defined]
    assert references.weights is not None
    for array in (references.weights, references.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        references[0].id = "2"  # type: ignore[misc]


def test_what_is_passed_is_copied() -> None:
    texts, weights = ["a"], np.array([1.0])
    references = References(texts, [0, 1], weights)
    texts[0], weights[0] = "b", 0
    assert nested(references) == [[("a", 1.0)]]


def test_no_segments() -> None:
    for references in (
        References.from_lists([]),
        References.from_lists([], []),
        References.from_lists([], outputs_count=0),
        References.from_streams([[], []]),
        References([], [0], []),
    ):
        assert (len(references), references.count, references.ids, list(references)) == (0, 0, (), [])
        assert references.best_weights().tolist() == references.unrated().tolist() == []
        assert references.segments_without_positive().tolist() == references.reference_counts().tolist() == []
        assert references.duplicates() == references.empty_count() == len(references.take([])) == 0
        assert len(references.with_unrated_as(0)) == 0


def test_none_is_no_reference_and_its_weight_is_ignored() -> None:
    wrong: Any = [[5, 1.0, "x"], [NAN, 0.5, None]]
    references = References.from_lists([[None, "b", None], [None, "", "c"]], wrong)
    assert nested(references) == [[("b", 1.0)], [("", 0.5), ("c", None)]]


def test_from_streams() -> None:
    references = References.from_streams([["a", "b"], ["c", None]], [[1, 0.5], [0, None]], ids=["x", "y"])
    assert nested(references) == [[("a", 1.0), ("c", 0.0)], [("b", 0.5)]]
    assert references.ids == ("x", "y")


def test_numpy_arrays() -> None:
    texts: Any = np.array([["a", "b"], ["c", "d"]])
    weights: Any = np.array([[1, 0.5], [0, -1]], dtype=np.float32)
    references = References.from_lists(texts, weights)
    assert nested(references) == [[("a", 1.0), ("b", 0.5)], [("c", 0.0), ("d", -1.0)]]
    assert {type(text) for text in references.texts} == {str}


item = st.none() | st.text(max_size=3)


@given(st.lists(st.lists(st.tuples(item, st.none() | st.floats(-1, 1)), max_size=4)))
def test_lists_keep_what_is_there(rows: list[list[tuple[str | None, float | None]]]) -> None:
    expected = [[(text, weight) for text, weight in row if text is not None] for row in rows]
    texts, weights = [[text for text, _ in row] for row in rows], [[weight for _, weight in row] for row in rows]
    if all(expected):
        assert nested(References.from_lists(texts, weights)) == expected
    else:
        with pytest.raises(DataError, match="no reference for segment"):
            References.from_lists(texts, weights)


# Any, because most of these mistakes are also what a type checker would refuse.
lists: Any = References.from_lists
streams: Any = References.from_streams
flat: Any = References

ERRORS: list[tuple[Callable[[], object], str]] = [
    (lambda: lists([["a"], "hello"]), r"references of segment 2 must be .* wrap it in a list: \['hello'\]"),
    (lambda: lists("hello"), "references must be a list of lists, not 'hello'"),
    (lambda: lists(zip(["a"], ["b"], strict=True)), r"references must be a list of lists, .*; wrap it in list\(\)"),
    (lambda: lists([["a"]], 1), "weights must be a list of lists, not 1"),
    (lambda: streams("hello"), "references must be a list of lists, not 'hello'"),
    (lambda: lists([["a"], b"x"]), "references of segment 2 must be a list, not b'x'"),
    (lambda: lists([["a"], {"b"}]), "references of segment 2 must be a list"),
    (lambda: lists([None]), "references of segment 1 must be a list, not None"),
    (lambda: lists([["a"], ["b", 3]]), "reference 2 of segment 2 must be a string or None, not 3"),
    (lambda: lists([["a"], [["b"]]], ids=["x", "y"]), r"reference 1 of segment 2 \(id y\) must"),
    (lambda: lists([["a"]], [[1], [1]]), "weights for 2 segments but references for 1"),
    (lambda: lists([["a"], ["b"]], [[1], [1, 0]]), "segment 2 has 1 reference but 2 weights"),
    (lambda: lists([["a"]], [1]), r"weights of segment 1 must be a list, not 1; wrap it in a list: \[1\]"),
    (lambda: lists([["a"], ["b", "c"]], [[1], [1, 1.5]]), "weight 2 of segment 2 must be from -1 to 1, not 1.5"),
    (lambda: lists([["a"]], [[-1.01]]), "weight 1 of segment 1 must be from -1 to 1, not -1.01"),
    (lambda: lists([["a", None, "b"]], [[0, 9, 2]]), "weight 3 of segment 1 must be from -1 to 1, not 2"),
    (lambda: lists([["a"]], [[10**400]]), "weight 1 of segment 1 must be from -1 to 1"),
    (lambda: lists([["a"]], [[NAN]]), "weight 1 of segment 1 .* not NaN; write None"),
    (lambda: lists([["a", "b"]], [[None, NAN]]), "weight 2 of segment 1 .* not NaN; write None"),
    (lambda: lists([["a"]], [[float("inf")]]), "weight 1 of segment 1 must be from -1 to 1, not inf"),
    (lambda: lists([["a", "b"]], [[1, True]]), "weight 2 of segment 1 must be a number .* not True"),
    (lambda: lists([["a"]], [["0.5"]]), "weight 1 of segment 1 must be a number .* not '0.5'"),
    (lambda: lists([["a"], []]), "no reference for segment 2;"),
    (lambda: lists([[None], ["a"]], ids=["x", "y"]), "no reference for segment x;"),
    (lambda: lists([[]] * 12), "no reference for segments 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more;"),
    (lambda: lists([["a"]] * 4, ids=["x", "y", "x", "x"]), "ids are used more than once: x; every"),
    (lambda: lists([["a"]], ids=["x", "y"]), "2 ids for 1 segment"),
    (lambda: lists([["a"]], ids=[1]), "id of segment 1 must be a string, not 1"),
    (lambda: lists([["a", "b", "c"]] * 2, outputs_count=3), r"3 outputs and 2 lists .*from_streams\(references\)"),
    (lambda: lists([["a"]], outputs_count=3), "3 outputs but references for 1 segment"),
    (lambda: streams([]), "no lists of references"),
    (lambda: streams(["ab"]), "list 1 of references must be a list"),
    (lambda: streams([["a"], ["b", "c"]]), "list 2 of references has 2 items but list 1 has 1; .*from_lists"),
    (lambda: streams([["a"]], [[1], [1]]), "2 lists of weights but 1 lists of references"),
    (lambda: streams([["a"]], [[1, 1]]), "weights for 2 segments but references for 1"),
    (lambda: flat(["a"], [0, 2]), "offsets must rise from 0 to the number of texts, 1"),
    (lambda: flat(["a"], [0, 2, 1]), "offsets must rise"),
    (lambda: flat(["a"], [[0, 1]]), "offsets must rise"),
    (lambda: flat([], []), "offsets must rise"),
    (lambda: flat(["a"], [0, 1, 1]), "no reference for segment 2"),
    (lambda: flat([1], [0, 1]), "reference 1 must be a string, not 1"),
    (lambda: flat(["a"], [0, 1], [1, 1]), r"weights have the shape \(2,\); give one for each of the 1 texts"),
    (lambda: flat(["a"], [0, 1], [2]), "weight 1 must be from -1 to 1, not 2"),
    (lambda: flat(["a"], [0, 1], origins=[]), "0 origins, but 1 are needed"),
    (lambda: flat(["a"], [0, 1], messages=[]), "0 messages, but 1 are needed"),
    (lambda: flat(["a"], [0, 1], contexts=[]), "0 contexts, but 1 are needed"),
    (lambda: lists([["a"]], [[None]]).with_unrated_as(2), "weight of unrated references must be from -1 to 1"),
    (lambda: lists([["a"]], [[None]]).with_unrated_as(NAN), "weight of unrated references .* not NaN"),
    (lambda: lists([["a"]]).take([0, 0]), "ids are used more than once: 1"),
]


@pytest.mark.parametrize(("make", "message"), ERRORS, ids=[message for _, message in ERRORS])
def test_error(make: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_looks_transposed() -> None:
    assert looks_transposed(3, [["a", "b", "c"]])
    assert looks_transposed(1, [["a"], ["b"]])
    assert not looks_transposed(3, [["a", "b", "c"], ["d", "e"]])
    assert not looks_transposed(2, [["a", "b"], ["c", "d"]])  # could be either
    assert not looks_transposed(3, ["abc"])
    assert not looks_transposed(3, [])


def test_weights_per_segment() -> None:
    texts = [["a", "b"], ["c"], ["d", "e"], ["f"], ["g"]]
    weights: list[list[float | None]] = [[0.2, 0.7], [-0.5], [None, -1], [None], [0]]
    references = References.from_lists(texts, weights)
    np.testing.assert_array_equal(references.best_weights(), [0.7, -0.5, -1, NAN, 0])
    assert references.segments_without_positive().tolist() == [1, 2, 3, 4]
    assert references.unrated().tolist() == [2, 3]
    filled = references.with_unrated_as(0.5)
    assert filled.unrated().tolist() == []
    assert filled.best_weights().tolist() == [0.7, -0.5, 0.5, 0.5, 0.0]
    assert references.unrated().tolist() == [2, 3]


def test_without_weights() -> None:
    references = References.from_lists([["a"], ["b", "c"]])
    assert not references.weighted()
    assert references.best_weights().tolist() == [1, 1]
    assert references.segments_without_positive().tolist() == references.unrated().tolist() == []
    assert references.with_unrated_as(0) is references
    assert references.duplicates() == 0


def test_duplicates_and_empty() -> None:
    texts = [["a", "a", "b"], ["a", "a"], ["", " ", "\u3000"], ["a", "a", "a"], ["a", "a"], ["a", "a"]]
    weights: list[list[float | None]] = [[1, 0.5, 0.5], [1, 1], [1, 1, 1], [1, 1, 0], [None, None], [None, 0]]
    references = References.from_lists(texts, weights)
    assert references.duplicates() == 2 + 3 + 2
    assert references.empty_count() == 3


def test_take() -> None:
    references = References(
        ["a", "b", "c", "d"], [0, 2, 3, 4], [1, 0.5, NAN, -1], ids=["x", "y", "z"],
        origins=["seed", None, None, "mined"], messages=["m", None, None], contexts=[None, None, ("t",)], source="here",
    )  # fmt: skip
    some: Any
    for some in ([2, 0], np.array([2, 0], dtype=np.int32), [-1, -3]):
        taken = references.take(some)
        assert list(taken) == [references[2], references[0]]
        assert taken.source == "here"
    assert list(references.take([True, False, True])) == [references[0], references[2]]
    assert len(references.take([])) == 0
    with pytest.raises(IndexError):
        references.take([3])


def test_take_keeps_default_ids() -> None:
    taken = References.from_lists([["a"], ["b"], ["c"]]).take([2])
    assert taken.ids == ("3",)
    assert taken.positions() == {"3": 0}


def test_default_ids_are_made_when_asked_for() -> None:
    references = References.from_lists([["a"], ["b"]])
    assert references._held.ids is None
    assert references[1].id == "2"
    assert references._held.ids is None
    assert references.ids == ("1", "2")


def test_pickle() -> None:
    references = References.from_lists([["a"], ["b"]], [[1], [0.5]])
    references.positions()
    for again in (pickle.loads(pickle.dumps(references)), copy.copy(references)):  # noqa: S301
        assert list(again) == list(references)
        assert not again.offsets.flags.writeable
        assert "positions" not in again._cache


def test_ten_thousand_segments_are_one_flat_list() -> None:
    count = 10_000
    references = References.from_lists([[f"{row} {column}" for column in range(5)] for row in range(count)])
    assert references.texts[5 * 1234 + 3] == "1234 3"
    assert references.offsets.tolist() == list(range(0, 5 * count + 1, 5))
