from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judge.world import references_of
from tests.oracles.protocol import Rated, chosen
from trubleu.errors import UsageError
from trubleu.judge.pairs.reference_pool import Condition, Library

WEIGHTS = st.sampled_from([-1.0, -0.5, 0.0, 0.4, 0.6, 1.0])
SEGMENTS = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdef"), WEIGHTS, st.sampled_from([None, "seed", "mined"])), min_size=1),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("text", ["single", "all", "w>=0.6", "w>=-1", "w>=1", "w>=0"])
@given(segments=SEGMENTS)
def test_the_references_that_count_are_those_of_the_definition(text: str, segments: list[Rated]) -> None:
    library = Library.build(references_of(segments), {})
    everything = np.arange(len(segments))
    available = np.ones(library.references.count, dtype=bool)
    found = library.chosen(Condition.parse(text), available, everything)
    assert [[(each.text, each.weight, each.origin) for each in segment.references] for segment in found] == [
        chosen(segment, text) for segment in segments
    ]


@given(segments=SEGMENTS, data=st.data())
def test_some_segments_in_any_order(segments: list[Rated], data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(len(segments)))))
    library = Library.build(references_of(segments), {})
    available = np.ones(library.references.count, dtype=bool)
    found = library.chosen(Condition.parse("w>=0.5"), available, order)
    assert [[each.text for each in segment.references] for segment in found] == [
        [text for text, _, _ in chosen(segments[place], "w>=0.5")] for place in order
    ]


def test_a_segment_below_the_threshold_keeps_its_best_and_is_counted() -> None:
    segments: list[Rated] = [
        [("low", 0.2, None), ("seed", 0.2, "seed"), ("lower", 0.1, "seed")],
        [("good", 0.7, None)],
    ]
    library = Library.build(references_of(segments), {})
    available = np.ones(4, dtype=bool)
    condition = Condition.parse("w>=0.6")
    assert condition.choose(library.shelf, available).tolist() == [False, True, False, True]
    assert library.shelf.any_of(condition.fallbacks(library.shelf, available)).tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("w>0.6", "there is no condition 'w>0.6'"),
        ("best", "there is no condition 'best'"),
        ("w>=2", "must be a number from -1 to 1"),
        ("w>=nan", "must be a number from -1 to 1"),
        ("w>=x", "must be a number from -1 to 1"),
    ],
)
def test_wrong_conditions_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Condition.parse(text)


def test_pooled_outputs_join_behind_the_given_and_leave_for_their_own_pair() -> None:
    segments: list[Rated] = [[("gold one", 1.0, "gold")], [("gold two", 1.0, "gold"), ("B 2", 0.5, None)]]
    systems = {"A": ["a 1", "gold  TWO"], "B": ["b 1", "b 2"], "C": ["c 1", "c 2"]}
    weights = {(0, 0): 0.5, (0, 1): -1.0, (1, 0): 0.0, (2, 1): 0.25}
    library = Library.build(references_of(segments), systems, weights)
    assert library.references.texts == ("gold one", "a 1", "b 1", "gold two", "B 2", "gold  TWO", "c 2")
    assert library.owner.tolist() == [-1, 0, 1, -1, -1, 0, 2]
    assert library.references.weights is not None
    assert library.references.weights.tolist() == [1.0, 0.5, 0.0, 1.0, 0.5, -1.0, 0.25]
    everything = np.arange(2)
    for pair, expected in (
        ((0, 1), [["gold one"], ["gold two", "B 2", "c 2"]]),
        ((1, 2), [["gold one", "a 1"], ["gold two", "B 2", "gold  TWO"]]),
    ):
        found = library.chosen(Condition("all"), library.available(pair, 0), everything)
        assert [[each.text for each in segment.references] for segment in found] == expected
    given_only = library.chosen(Condition("given"), library.available((0, 1), 0), everything)
    assert [[each.text for each in segment.references] for segment in given_only] == [["gold one"], ["gold two", "B 2"]]


def test_references_equal_to_the_output_are_left_out_where_asked() -> None:
    segments: list[Rated] = [[("Gold , one !", 1.0, None), ("other", 1.0, None)], [("gold two", 1.0, None)]]
    systems = {"A": ["gold, ONE!", "new"], "B": ["x", "Gold two"]}
    library = Library.build(references_of(segments), systems, drop_equal=frozenset({0, 1}))
    assert library.available((), 0).tolist() == [False, True, True]
    assert library.available((), 1).tolist() == [True, True, False]
    assert Library.build(references_of(segments), systems).available((), 0).all()
    assert library.share_equal(0, np.arange(2)) == (1, 0.5)
    # Without any reference left the segment has nothing of positive weight.
    assert library.positive(Condition("all"), library.available((), 1)).tolist() == [True, False]
