"""α and κ against printed examples and against statements in fractions."""

from __future__ import annotations

import doctest
import math
from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import agreement as oracle
from trubleu.errors import DataError, UsageError
from trubleu.native import kernels
from trubleu.stats import agreement, kappa_table, krippendorff_alpha, quadratic_kappa

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

Ratings = list[tuple[int, int, int]]

# Krippendorff (2011), section C: four observers, twelve units, 0 for what is missing.
RELIABILITY_DATA = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
    [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
]


def rows_of(table: Sequence[Sequence[int]]) -> Ratings:
    return [(unit, who, score) for who, scores in enumerate(table) for unit, score in enumerate(scores) if score]


def columns(ratings: Sequence[tuple[Hashable, Hashable, int]]) -> tuple[list[Hashable], list[Hashable], list[int]]:
    return [row[0] for row in ratings], [row[1] for row in ratings], [row[2] for row in ratings]


def alpha_of(ratings: Sequence[tuple[Hashable, Hashable, int]], resamples: int = 0) -> float:
    return krippendorff_alpha(*columns(ratings), resamples=resamples).alpha  # type: ignore[arg-type]


def same(found: float, expected: Fraction | None) -> bool:
    return math.isnan(found) if expected is None else found == float(expected)


@st.composite
def ratings(draw: st.DrawFn, *, low: int = 1, high: int = 5, most: int = 40) -> Ratings:
    places = st.tuples(st.integers(0, 9), st.integers(0, 5))
    return [
        (item, rater, draw(st.integers(low, high)))
        for item, rater in draw(st.lists(places, unique=True, min_size=0, max_size=most))
    ]


def test_examples_in_docstrings() -> None:
    for module in (agreement, agreement, agreement):
        found = doctest.testmod(module)
        assert found.attempted
        assert not found.failed


def test_printed_alpha() -> None:
    found = krippendorff_alpha(*columns(rows_of(RELIABILITY_DATA)), resamples=0)  # type: ignore[arg-type]
    assert found.alpha == pytest.approx(0.815, abs=0.0005)
    assert (found.items, found.ratings, found.raters, found.reason) == (11, 40, 4, None)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_printed_alpha_of_two_observers() -> None:
    # Section A of the same: with two values all levels give the same.
    binary = [[1, 2, 1, 1, 1, 1, 1, 1, 2, 1], [2, 2, 2, 1, 1, 2, 1, 1, 1, 1]]
    assert alpha_of(rows_of(binary)) == pytest.approx(0.095, abs=0.0005)


@settings(deadline=None)
@given(given=ratings())
def test_alpha_is_the_statement(given: Ratings) -> None:
    expected = oracle.alpha(oracle.scores_of_items(given).values())
    found = krippendorff_alpha(*columns(given), resamples=0)  # type: ignore[arg-type]
    assert same(found.alpha, expected)
    assert (found.reason is None) == (expected is not None)
    often = Counter(item for item, _, _ in given)
    assert found.items == sum(n > 1 for n in often.values())
    assert found.ratings == sum(n for n in often.values() if n > 1)
    assert found.raters == len({rater for item, rater, _ in given if often[item] > 1})


@settings(deadline=None)
@given(given=ratings(low=-40, high=2**31 - 50, most=20))
def test_alpha_of_large_numbers_is_the_statement(given: Ratings) -> None:
    assert same(alpha_of(given), oracle.alpha(oracle.scores_of_items(given).values()))


def drawn_items(given: Ratings, resamples: int, seed: int) -> list[list[list[int]]]:
    """The scores of the items of each sample: items are numbered by how often they got each score."""
    pairable = [sorted(scores) for scores in oracle.scores_of_items(given).values() if len(scores) > 1]
    values = sorted({score for scores in pairable for score in scores})
    pairable.sort(key=lambda scores: [scores.count(value) for value in values])
    often = kernels.resample_sums(np.eye(len(pairable)), resamples, 0, seed, 1).astype(int).tolist()
    return [[scores for scores, n in zip(pairable, row, strict=True) for _ in range(n)] for row in often]


@settings(deadline=None, max_examples=30)
@given(given=ratings(), seed=st.integers(0, 2**64 - 1))
def test_the_interval_is_that_of_stated_replicates(given: Ratings, seed: int) -> None:
    found = krippendorff_alpha(*columns(given), resamples=20, seed=seed, confidence=0.8)  # type: ignore[arg-type]
    if found.reason:
        assert math.isnan(found.alpha)
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert found.undefined == 0
        return
    stated = [oracle.alpha(items) for items in drawn_items(given, 20, seed)]
    defined = [float(value) for value in stated if value is not None]
    assert found.undefined == 20 - len(defined)
    if len(defined) < 10:
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        return
    expected = np.quantile(defined, [0.1, 0.9])
    np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(given=ratings(), parts=st.integers(1, 4), data=st.data())
def test_groups_are_drawn_whole(given: Ratings, parts: int, data: st.DataObject) -> None:
    def interval(rows: Ratings, names: Sequence[Hashable]) -> agreement.Reliability:
        groups = [names[item % parts] for item, _, _ in rows]
        return krippendorff_alpha(*columns(rows), groups=groups, resamples=20, seed=3)  # type: ignore[arg-type]

    found = interval(given, "abcd")
    assert same(found.alpha, oracle.alpha(oracle.scores_of_items(given).values()))
    again = interval(data.draw(st.permutations(given)), data.draw(st.permutations(["d", 7, (), "a"])))
    np.testing.assert_equal([again.low, again.high], [found.low, found.high])
    pairable = {item: scores for item, scores in oracle.scores_of_items(given).items() if len(scores) > 1}
    values = sorted({score for scores in pairable.values() for score in scores})
    held = [
        sorted([scores.count(value) for value in values] for item, scores in pairable.items() if item % parts == part)  # type: ignore[operator]
        for part in range(parts)
    ]
    held = sorted(each for each in held if each)
    if found.reason or len(held) < 2:
        assert math.isnan(found.low)
        return
    often = kernels.resample_sums(np.eye(len(held)), 20, 0, 3, 1).astype(int).tolist()
    stated = [
        oracle.alpha(
            [
                [value for value, n in zip(values, item, strict=True) for _ in range(n)]
                for part, times in zip(held, row, strict=True)
                for item in part * times
            ],
        )
        for row in often
    ]
    defined = [float(value) for value in stated if value is not None]
    if len(defined) >= 10:
        np.testing.assert_allclose([found.low, found.high], np.quantile(defined, [0.025, 0.975]), rtol=0, atol=1e-12)


def test_intervals_cover_only_if_what_belongs_together_is_drawn_together() -> None:
    draws = np.random.default_rng(11)

    def rated(segments: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Six items of each segment, which raters see in their own way."""
        item, rater = (axis.ravel() for axis in np.indices((6 * segments, 3)))
        taste = draws.normal(0, 1.2, (segments, 3))[item // 6, rater]
        quality = draws.normal(3, 1, 6 * segments)[item]
        score = np.clip(np.rint(quality + taste + draws.normal(0, 0.4, len(item))), 1, 5)
        return item, rater, score

    true = krippendorff_alpha(*rated(4000), resamples=0).alpha
    hits = {False: 0, True: 0}
    for _ in range(60):
        item, rater, score = rated(30)
        for together in hits:
            groups = item // 6 if together else item
            found = krippendorff_alpha(item, rater, score, groups=groups, resamples=200)
            hits[together] += found.low <= true <= found.high
    assert hits[True] >= 52
    assert hits[False] <= 48


def test_sizes_without_a_small_common_multiple() -> None:
    # One more rating than a prime each, whose product is beyond 2^63.
    sizes = [1 + prime for prime in range(2, 54) if all(prime % smaller for smaller in range(2, prime))]
    rng = np.random.default_rng(4)
    given = [(size, who, int(rng.integers(1, 6))) for size in sizes for who in range(size)]
    found = krippendorff_alpha(*columns(given), resamples=10, seed=9)  # type: ignore[arg-type]
    assert same(found.alpha, oracle.alpha(oracle.scores_of_items(given).values()))
    stated = [float(oracle.alpha(items) or 0) for items in drawn_items(given, 10, 9)]
    np.testing.assert_allclose([found.low, found.high], np.quantile(stated, [0.025, 0.975]), rtol=0, atol=1e-13)


def test_sizes_whose_common_multiple_no_float_holds() -> None:
    rng = np.random.default_rng(4)
    sizes = [1 + prime for prime in range(2, 800) if all(prime % smaller for smaller in range(2, prime))]
    assert math.prod(sizes) > 10**308
    given = [(size, who) for size in sizes for who in range(size)]
    found = krippendorff_alpha(
        [item for item, _ in given], [who for _, who in given], rng.integers(1, 6, len(given)), resamples=10
    )
    assert -0.05 < found.low < found.high < 0.05


def test_many_values_in_several_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    item, rater = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60)
    score = rng.integers(0, 101, 240)
    whole = krippendorff_alpha(item, rater, score, resamples=50)
    monkeypatch.setattr(agreement, "CELLS_AT_ONCE", 60 * 7)
    assert krippendorff_alpha(item, rater, score, resamples=50) == whole


@settings(deadline=None, max_examples=40)
@given(given=ratings(), data=st.data())
def test_neither_labels_nor_order_nor_threads_change_a_bit(given: Ratings, data: st.DataObject) -> None:
    found = krippendorff_alpha(*columns(given), resamples=16, threads=1)  # type: ignore[arg-type]
    people = data.draw(st.permutations(["ann", "bob", "cy", 4, 5, 6]))
    things = data.draw(st.permutations([("x", 1), "x", 7, -1, 2.5, "y", "z", (), frozenset({1}), b"z"]))
    shuffled = [(things[item], people[rater], score) for item, rater, score in data.draw(st.permutations(given))]
    again = krippendorff_alpha(*columns(shuffled), resamples=16, threads=3)  # type: ignore[arg-type]
    np.testing.assert_equal(
        [again.alpha, again.low, again.high, again.undefined], [found.alpha, found.low, found.high, found.undefined]
    )


@settings(deadline=None)
@given(given=ratings())
def test_only_the_order_of_scores_counts(given: Ratings) -> None:
    reversed_scores = [(item, rater, 6 - score) for item, rater, score in given]
    np.testing.assert_equal(alpha_of(reversed_scores), alpha_of(given))
    bent = [(item, rater, score**3) for item, rater, score in given]
    np.testing.assert_equal(alpha_of(bent), alpha_of(given))


def test_perfect_agreement_and_its_interval() -> None:
    found = krippendorff_alpha([1, 1, 2, 2, 3, 3], "ababab", [1, 1, 5, 5, 4, 4])
    assert (found.alpha, found.low, found.high) == (1.0, 1.0, 1.0)
    assert 0 < found.undefined < 500  # samples of one item three times


def test_undefined_alpha_has_a_reason() -> None:
    for few, reason in (
        ([], "there are no ratings"),
        ([(1, "a", 3), (2, "a", 4), (3, "b", 4)], "no item has two ratings or more"),
        ([(1, "a", 3), (1, "b", 3), (2, "a", 4)], "all ratings of items with two ratings or more are the same"),
    ):
        found = krippendorff_alpha(*columns(few))  # type: ignore[arg-type]
        assert found.reason == reason
        assert all(math.isnan(value) for value in (found.alpha, found.low, found.high))


def test_no_interval_where_most_samples_are_undefined() -> None:
    # About half of the samples of two items draw the same one twice, and then all ratings are the same.
    for seed in range(40):
        found = krippendorff_alpha([1, 1, 2, 2], "abab", [3, 3, 4, 4], resamples=31, seed=seed)
        assert math.isnan(found.low) == (found.undefined > 15.5)
        if found.undefined > 15.5:
            return
    pytest.fail("no seed gave mostly undefined samples")


Columns = tuple[object, object, object]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1, 1], ["a", "b"], [3]), "there are 2 items, 2 raters and 1 scores"),
        (([1, 1], ["a", "b"], [3, 2.5]), r"score is 2\.5 in rating 1 \(counted from 0\), which is not a whole number"),
        (([1, 1], ["a", "b"], [math.nan, 2.0]), "score is nan in rating 0 .*leave out ratings that are missing"),
        (([1, 1], ["a", "b"], [2**31, 2]), "score is 2147483648 in rating 0"),
        (([1, 1], ["a", "b"], [None, 2]), "score must be a flat list of whole numbers"),
        (([1, 1], ["a", "b"], ["4", "2"]), "score must be a flat list of whole numbers"),
        (([1, 1], ["a", "b"], [True, False]), "score must be a flat list of whole numbers"),
        (([1, 1], ["a", "b"], [[1], [2]]), "score must be a flat list of whole numbers"),
        (([1, 1], ["a", "b"], [[1], [2, 3]]), "score must be a flat list of whole numbers"),
        (([1, 1], ["a", "a"], [1, 2]), r"rater 'a' has rated item 1 before rating 1 \(counted from 0\)"),
        (([7, "x", 7, "x"], ["a", 2, "b", 2], [1, 2, 3, 4]), "rater 2 has rated item 'x' before rating 3"),
        (([1, None], ["a", "b"], [1, 2]), r"rating 1 \(counted from 0\) has no item"),
        (([1, math.nan], ["a", "b"], [1, 2]), r"rating 1 \(counted from 0\) has no item"),
        (([1, 1], ["a", None], [1, 2]), r"rating 1 \(counted from 0\) has no rater"),
        (([1, 1], ["a", 2.5], [1, 2]), "rater 2.5 of rating 1 .*cannot serve as a label"),
        (([1, [1]], ["a", "b"], [1, 2]), r"item \[1\] of rating 1 \(counted from 0\) cannot serve as a label"),
        (([1, ([1],)], ["a", "b"], [1, 2]), r"item \(\[1\],\) of rating 1 .*cannot serve as a label"),
        (([1, np.ones(2)], ["a", "b"], [1, 2]), r"item array.* of rating 1 .*cannot serve as a label"),
    ],
)
def test_ratings_that_are_refused(given: Columns, message: str) -> None:
    for function in (krippendorff_alpha, kappa_table):
        with pytest.raises(DataError, match=message):
            function(*given)  # type: ignore[arg-type]


def test_groups_that_are_refused() -> None:
    with pytest.raises(DataError, match=r"there are 2 ratings and 1 groups; each rating needs one"):
        krippendorff_alpha([1, 1], "ab", [3, 4], groups=["x"])
    with pytest.raises(DataError, match=r"the item of rating 0 \(counted from 0\) is in two groups; keep each item in"):
        krippendorff_alpha([1, 1], "ab", [3, 4], groups=["x", "y"])
    assert math.isnan(krippendorff_alpha([1, 1, 2, 2], "abab", [3, 4, 1, 1], groups="xxxx").low)  # nothing to draw


def test_options_that_are_refused() -> None:
    with pytest.raises(UsageError, match="resamples must be 1 or more, not -1"):
        krippendorff_alpha([1], [1], [1], resamples=-1)
    with pytest.raises(UsageError, match="confidence must be between 0 and 1"):
        krippendorff_alpha([1], [1], [1], confidence=95)
    with pytest.raises(UsageError, match="seed must be between"):
        krippendorff_alpha([1], [1], [1], seed=-1)
    many = np.arange(1001)
    with pytest.raises(DataError, match="there are 1,001 different scores, but α takes at most 1,000"):
        krippendorff_alpha([*many, *many], [0] * 1001 + [1] * 1001, [*many, *many])


def test_whole_numbers_may_come_as_floats_and_arrays() -> None:
    plain = krippendorff_alpha([1, 1, 2, 2], [1, 2, 1, 2], [1, 2, 5, 5])
    arrays = krippendorff_alpha(
        np.array(["x", "x", "y", "y"]), np.array([1, 2, 1, 2], dtype=np.uint8), np.array([1.0, 2.0, 5.0, 5.0])
    )
    assert arrays == plain
    assert krippendorff_alpha([1, 1, 2, 2], list(np.array([1, 2, 1, 2])), [1, 2, 5, 5]) == plain


@settings(deadline=None)
@given(given=ratings(), wider=st.integers(0, 3))
def test_kappa_is_the_statement(given: Ratings, wider: int) -> None:
    scale = (1 - wider, 5 + wider)
    table = kappa_table(*columns(given), scale=scale)  # type: ignore[arg-type]
    people = sorted({rater for _, rater, _ in given})
    stated = {(a, b): oracle.kappa(given, a, b, scale) for a, b in combinations(people, 2)}
    expected = {pair: value for pair, value in stated.items() if value[1]}
    assert [(pair.a, pair.b, pair.shared) for pair in table.pairs] == [(*pair, n) for pair, (_, n) in expected.items()]
    for pair in table.pairs:
        assert same(pair.kappa, expected[pair.a, pair.b][0])  # type: ignore[index]
    assert [one.rater for one in table.raters] == people
    for one in table.raters:
        with_the_rest, shared = oracle.kappa_with_the_rest(given, one.rater, scale)
        assert same(one.kappa, with_the_rest)
        assert one.shared == shared
        assert one.ratings == sum(rater == one.rater for _, rater, _ in given)


@settings(deadline=None)
@given(both=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5))))
def test_kappa_of_two_lists(both: list[tuple[int, int]]) -> None:
    a, b = [x for x, _ in both], [y for _, y in both]
    table = Counter(both)
    found = quadratic_kappa(a, b)
    assert same(found, oracle.kappa_of_table({cell: Fraction(n) for cell, n in table.items()}, (1, 5)))
    np.testing.assert_equal(quadratic_kappa(b, a), found)
    np.testing.assert_equal(quadratic_kappa([6 - x for x in a], [6 - y for y in b]), found)
    np.testing.assert_equal(quadratic_kappa(a[::-1], b[::-1]), found)
    np.testing.assert_equal(quadratic_kappa([10 * x for x in a], [10 * y for y in b], scale=(0, 100)), found)
    if len(set(a)) > 1:
        assert quadratic_kappa(a, a) == 1.0


def test_with_one_other_rater_kappa_with_the_rest_is_that_of_the_pair() -> None:
    given = [(item, rater, (item * 3 + rater * item) % 5 + 1) for item in range(9) for rater in (1, 2)]
    table = kappa_table(*columns([*given, (99, 1, 5)]))  # type: ignore[arg-type]
    (pair,) = table.pairs
    assert [(one.kappa, one.shared, one.ratings) for one in table.raters] == [(pair.kappa, 9, 10), (pair.kappa, 9, 9)]


def test_raters_come_numbers_first_and_whatever_the_order_of_ratings() -> None:
    given = [(item, rater, score) for item in "xyz" for rater, score in (("b", 2), (10, 3), ("B", 1), (9, 4))]
    table = kappa_table(*columns(given))  # type: ignore[arg-type]
    assert [one.rater for one in table.raters] == [9, 10, "B", "b"]
    assert [(pair.a, pair.b) for pair in table.pairs] == list(combinations([9, 10, "B", "b"], 2))
    assert kappa_table(*columns(given[::-1])) == table  # type: ignore[arg-type]


def test_a_table_without_ratings() -> None:
    table = kappa_table([], [], [])
    assert table.pairs == ()
    assert table.raters == ()
    (alone,) = kappa_table([1, 2], ["a", "a"], [1, 5]).raters
    assert math.isnan(alone.kappa)
    assert (alone.shared, alone.ratings) == (0, 2)


def test_kappa_that_is_refused() -> None:
    with pytest.raises(DataError, match="a has 2 scores but b has 1"):
        quadratic_kappa([1, 2], [1])
    with pytest.raises(DataError, match=r"b is 2\.5 in rating 1"):
        quadratic_kappa([1, 2], [1, 2.5])
    with pytest.raises(DataError, match=r"b is 6 in rating 1 \(counted from 0\), but the scale goes from 1 to 5"):
        quadratic_kappa([1, 2], [1, 6])
    with pytest.raises(DataError, match="score is 0 in rating 2"):
        kappa_table([1, 1, 2], [1, 2, 1], [1, 5, 0])
    for scale in ((5, 1), (1, 1), (0, 10_001)):
        with pytest.raises(UsageError, match="scale must be the lowest and the highest score"):
            quadratic_kappa([1], [1], scale=scale)
