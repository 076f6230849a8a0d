"""Segments in buckets."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import trubleu
from trubleu.data import References
from trubleu.errors import DataError
from trubleu.explain import compare_systems
from trubleu.explain.difference import column_buckets, usual_buckets
from trubleu.scoring import Sampling

REFERENCES = References.from_lists([["a a b"], ["a", "a b c d e f g"], ["z"], ["a b c d e", "b", "c"]])
SYSTEMS = {"A": ["a b", "", "x y z", "a"], "B": ["a", "b", "c", "d"]}


def test_usual_buckets_are_lengths_frequencies_and_numbers() -> None:
    cuts, notes = usual_buckets(SYSTEMS, REFERENCES)
    found = {cut.by: cut for cut in cuts}
    assert notes == ()
    lengths = found["output length"]
    assert lengths.labels == ("0", "1", "2", "3")
    assert lengths.places.tolist() == [[2, 0, 3, 1], [1, 1, 1, 1]]
    assert not lengths.shared
    assert found["reference length"].labels == ("1", "2", "3", "4")
    assert found["reference length"].places.tolist() == [[2, 3, 0, 1]] * 2
    assert found["number of references"].labels == ("1", "2", "3")
    frequency = Counter(["a", "a", "b", "a", "a", "b", "c", "d", "e", "f", "g", "z", "a", "b", "c", "d", "e", "b", "c"])
    first = math.exp(sum(math.log(frequency[word]) for word in ["a", "a", "b"]) / 3)
    assert found["word frequency"].labels[-1] == f"{first:.3g}"
    assert found["word frequency"].places[0].tolist()[0] == 3


def test_what_is_the_same_everywhere_makes_no_buckets_and_is_said() -> None:
    cuts, notes = usual_buckets({"A": ["a", "b"]}, References.from_lists([["x y"], ["y x"]]))
    assert cuts == ()
    assert [note.partition(",")[0] for note in notes] == [
        f"buckets: none by {by}"
        for by in ("output length", "reference length", "word frequency", "number of references")
    ]


def test_many_numbers_become_ranges_of_about_as_many_segments() -> None:
    values = [float(each) for each in np.random.default_rng(1).permutation(100)]
    cut = column_buckets("n", [*values, None], 101, 2)
    assert cut.labels == ("0–20", "21–40", "41–60", "61–80", "81–99", "(none)")
    assert Counter(cut.places[0].tolist()) == {0: 21, 1: 20, 2: 20, 3: 20, 4: 19, 5: 1}
    assert cut.shared


def test_texts_become_categories_the_most_frequent_first() -> None:
    values = [f"t{place}" for place in range(20) for _ in range(20 - place)]
    cut = column_buckets("t", [*values, None], len(values) + 1, 1)
    assert cut.labels == (*(f"t{place}" for place in range(11)), "(others)")
    assert Counter(cut.places[0].tolist())[0] == 20
    few = column_buckets("t", [3.0, 1.0, None, 1.0], 4, 1)
    assert few.labels == ("1", "3", "(none)")
    assert few.places.tolist() == [[1, 0, 2, 0]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["x"] * 20, "the column c has one value, 'x', in all segments, which gives no buckets"),
        ([None] * 20, "the column c has no value in any segment"),
        ([f"t{place}" for place in range(20)], "the column c has a value of its own in every segment"),
        (["x"], "the column c has 1 values for 20 segments"),
    ],
)
def test_columns_that_make_no_buckets(values: list[str | None], message: str) -> None:
    with pytest.raises(DataError, match=message):
        column_buckets("c", values, 20, 2)


def test_scores_of_buckets_are_those_of_their_segments() -> None:
    metric = trubleu.metric("bleu-1")
    sampling = Sampling(interval=True, resamples=40)
    found = compare_systems(
        SYSTEMS, REFERENCES, {"bleu-1": metric}, sampling=sampling, columns={"c": ["x", "y", "x", "y"]}
    )
    row = next(row for row in found.buckets if (row.by, row.bucket, row.system) == ("c", "y", "A"))
    assert row.score == metric.corpus(["", "a"], REFERENCES.take([1, 3])).score
    assert row.segments == 2
    assert row.low is not None
    assert row.high is not None
    assert row.low <= row.score <= row.high
    of_lengths = [(row.bucket, row.segments) for row in found.buckets if (row.by, row.system) == ("output length", "B")]
    assert of_lengths == [("1", 4)]  # no other lengths, no rows
