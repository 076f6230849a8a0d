from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trubleu.data import Ratings, References
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.judge.pairs.human_scores import Opinions, lay_out_pairs, parse_pairs
from trubleu.judge.report import Notes

REFERENCES = References.from_lists([["x"], ["y"], ["z"]], ids=["1", "2", "3"])


def ratings(*rows: tuple[str, str, str, int], pair: list[str | None] | None = None) -> Ratings:
    items, systems, raters, scores = zip(*rows, strict=True)
    return Ratings(items, systems, raters, scores, pair)


def test_means_are_exact_and_differences_whole() -> None:
    rated = ratings(
        ("1", "A", "ann", 5), ("1", "A", "bob", 4), ("1", "A", "cid", 4), ("1", "B", "ann", 2), ("1", "B", "bob", 3),
        ("3", "A", "ann", 1), ("3", "B", "ann", 1), ("2", "A", "ann", 1),
    )  # fmt: skip
    opinions = Opinions.of(rated, ["A", "B"], REFERENCES, Notes())
    assert opinions.of_pair(0, 1)[0] == {0: Fraction(13, 3), 2: Fraction(1), 1: Fraction(1)}
    (pair,), common = lay_out_pairs(opinions, [(0, 1)], [np.ones(3, dtype=bool)])
    assert common == 6
    assert pair.segments.tolist() == [0, 2]
    assert pair.opinion.tolist() == [26 - 15, 0]
    assert pair.rating_a.tolist() == [13 / 3, 1]
    (pair,), _ = lay_out_pairs(opinions, [(1, 0)], [np.array([False, True, True])])
    assert pair.segments.tolist() == [2]


def test_ratings_given_side_by_side_count_within_their_pair_only() -> None:
    rows = [("1", "A", "ann", 5), ("1", "B", "ann", 1), ("1", "A", "bob", 2), ("1", "C", "bob", 3)]
    rated = ratings(*rows, pair=["A:B", "A:B", "C:A", "C:A"])
    opinions = Opinions.of(rated, ["A", "B", "C"], REFERENCES, Notes())
    assert opinions.of_pair(0, 1) == ({0: Fraction(5)}, {0: Fraction(1)})
    assert opinions.of_pair(0, 2) == ({0: Fraction(2)}, {0: Fraction(3)})
    assert opinions.of_pair(1, 2) == ({}, {})


def test_weights_are_ratings_moved_onto_the_scale_of_weights() -> None:
    rated = ratings(("1", "A", "ann", 5), ("1", "A", "bob", 4), ("2", "B", "ann", 1), ("2", "A", "bob", 3))
    opinions = Opinions.of(rated, ["A", "B"], REFERENCES, Notes())
    assert opinions.weights((1, 5)) == {(0, 0): 0.75, (1, 1): -1.0, (0, 1): 0.0}
    wide = Ratings(["1", "1"], ["A", "B"], ["ann", "bob"], [0, 75], scale=(0, 100))
    assert Opinions.of(wide, ["A", "B"], REFERENCES, Notes()).weights((0, 100)) == {(0, 0): -1.0, (1, 0): 0.5}


def test_unknown_systems_and_items_are_counted_and_named() -> None:
    rated = ratings(("1", "A", "ann", 5), ("1", "X", "bob", 4), ("9", "A", "ann", 1), ("9", "B", "ann", 1))
    with pytest.warns(TrubleuWarning) as told:
        Opinions.of(rated, ["A", "B"], REFERENCES, Notes())
    said = [str(warning.message) for warning in told]
    assert any("rates 1 system without outputs (X), left out" in each for each in said)
    assert any("rates 1 item without outputs (9), left out" in each for each in said)


def test_nothing_known_is_an_error_that_shows_both_sides() -> None:
    rated = ratings(("9", "X", "ann", 5), ("9", "X", "bob", 5))
    with pytest.raises(
        DataError,
        match=r"no rating in .* is of an output that is here: they are of X on 9, and the outputs are of A, B on",
    ):
        Opinions.of(rated, ["A", "B"], REFERENCES, Notes())


def test_one_rater_is_told_of() -> None:
    with pytest.warns(TrubleuWarning, match="come from one rater"):
        Opinions.of(ratings(("1", "A", "ann", 5)), ["A", "B"], REFERENCES, Notes())


@pytest.mark.parametrize(
    ("written", "systems", "message"),
    [
        ("all", ["A"], "at least two systems"),
        ("A", ["A", "B"], "'A' is not a pair"),
        ("A:C", ["A", "B"], "names no system 'C'"),
        ("A:A", ["A", "B"], "one system twice"),
        ("A:B,B:A", ["A", "B"], "given twice"),
    ],
)
def test_wrong_pairs_are_refused(written: str, systems: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_pairs(written, systems)


def test_names_with_colons_are_found() -> None:
    assert parse_pairs("a:b:c", ["a:b", "c"]) == [(0, 1)]
    assert parse_pairs([("c", "a:b")], ["a:b", "c"]) == [(1, 0)]


def test_ratings_without_a_pair_among_those_with_one_are_told_of() -> None:
    rated = ratings(("1", "A", "ann", 5), ("1", "B", "ann", 1), ("2", "A", "bob", 2), pair=["A:B", "A:B", None])
    with pytest.warns(TrubleuWarning, match="1 rating in ratings name no pair while others do, and are left out"):
        Opinions.of(rated, ["A", "B"], REFERENCES, Notes())


def test_unequal_numbers_of_ratings_are_fine_and_said() -> None:
    notes = Notes()
    rated = ratings(("1", "A", "ann", 5), ("1", "B", "ann", 1), ("1", "B", "bob", 2))
    Opinions.of(rated, ["A", "B"], REFERENCES, notes)
    assert notes.all() == ("outputs have from 1 to 2 ratings each",)


def test_very_many_different_numbers_of_raters_still_give_differences() -> None:
    rows = [(str(item), name, f"r{rater}", 1 + (item * rater + (name == "A")) % 5)
            for item in range(1, 60) for name in "AB" for rater in range(item)]  # fmt: skip
    references = References.from_lists([["x"]] * 59)
    opinions = Opinions.of(ratings(*rows), ["A", "B"], references, Notes())
    (pair,), common = lay_out_pairs(opinions, [(0, 1)], [np.ones(59, dtype=bool)])
    means_a, means_b = opinions.of_pair(0, 1)
    exact = [float(means_a[segment] - means_b[segment]) for segment in range(59)]
    assert (pair.opinion / common).tolist() == pytest.approx(exact, abs=1e-12)
    assert 59 * np.abs(pair.opinion).max() < 2**53
    assert np.array_equal(pair.opinion, np.rint(pair.opinion))


def test_no_ratings_at_all() -> None:
    with pytest.raises(DataError, match="has no ratings; give one per row"):
        Opinions.of(Ratings([], [], [], []), ["A", "B"], REFERENCES, Notes())
