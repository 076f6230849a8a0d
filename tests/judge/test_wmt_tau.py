"""Kendall-like τ over rankings, against the matrices read off one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import wmt
from trubleu.errors import UsageError
from trubleu.judge.wmt.tau import CELLS, VARIANTS, RankedPairs, check_variant, entries, ranking_tau, tells_apart
from trubleu.stats import bootstrap_scores, total

if TYPE_CHECKING:
    from numpy.typing import NDArray

SYSTEMS, SEGMENTS = 4, 5

Row = tuple[int, int, int, int, int, int]
"""Ranking, segment, a, rank of a, b, rank of b."""

rows = st.tuples(
    st.integers(0, 2),
    st.integers(0, SEGMENTS - 1),
    st.integers(0, SYSTEMS - 1),
    st.integers(1, 3),
    st.integers(0, SYSTEMS - 1),
    st.integers(1, 3),
).filter(lambda row: row[2] != row[4])
many_rows = st.lists(rows, max_size=40)
tables = st.lists(
    st.lists(st.sampled_from([0.0, 1.5, 2.0, 7.25]), min_size=SEGMENTS, max_size=SEGMENTS),
    min_size=SYSTEMS,
    max_size=SYSTEMS,
)


def pairs_of(found: list[Row]) -> RankedPairs:
    columns = np.array(found, dtype=np.int64).reshape(-1, 6).T
    return RankedPairs(
        ranking=columns[0],
        segment=columns[1],
        a=columns[2],
        b=columns[4],
        human=np.sign(columns[3] - columns[5]),
    )


def counts_of(found: list[Row], scores: list[list[float]]) -> NDArray[np.float64]:
    return pairs_of(found).counts(np.array(scores), np.arange(SEGMENTS))


def compared(found: list[Row], scores: list[list[float]]) -> list[tuple[int, int, float, float]]:
    return [(rank_a, rank_b, scores[a][s], scores[b][s]) for _, s, a, rank_a, b, rank_b in found]


@given(found=many_rows, scores=tables, variant=st.sampled_from(VARIANTS))
def test_every_variant_is_the_matrix_read_off_pair_by_pair(
    found: list[Row], scores: list[list[float]], variant: str
) -> None:
    sums = total(counts_of(found, scores))
    expected = wmt.tau(compared(found, scores), variant)
    value = float(ranking_tau(sums, variant))
    if expected is None:
        assert np.isnan(value)
        assert entries(sums, variant) == 0
    else:
        assert value == float(expected)
        assert expected.denominator <= entries(sums, variant)
        assert entries(sums, variant) % expected.denominator == 0


@given(found=many_rows, scores=tables)
def test_a_metric_tells_outputs_apart_if_one_pair_differs(found: list[Row], scores: list[list[float]]) -> None:
    expected = any(x != y for _, _, x, y in compared(found, scores))
    assert bool(tells_apart(total(counts_of(found, scores)))) == expected


def test_each_cell_by_itself() -> None:
    expected = {
        "wmt12": [1, -1, -1, None, None, None, -1, -1, 1],
        "wmt13": [1, None, -1, None, None, None, -1, None, 1],
        "wmt14": [1, 0, -1, None, None, None, -1, 0, 1],
        "hties": [1, 0, -1, 0, 1, 0, -1, 0, 1],
    }
    for variant, cells in expected.items():
        found = ranking_tau(np.eye(CELLS), variant)
        assert [None if np.isnan(tau) else tau for tau in found.tolist()] == cells
    assert ranking_tau(np.eye(CELLS), "wmt15").tolist() == pytest.approx(
        ranking_tau(np.eye(CELLS), "wmt14").tolist(), nan_ok=True
    )


@given(found=many_rows, scores=tables, variant=st.sampled_from(VARIANTS))
def test_turning_pairs_round_changes_nothing_and_turning_scores_round_mirrors(
    found: list[Row], scores: list[list[float]], variant: str
) -> None:
    turned = [(ranking, s, b, rank_b, a, rank_a) for ranking, s, a, rank_a, b, rank_b in found]
    tau = ranking_tau(total(counts_of(found, scores)), variant)
    assert np.array_equal(ranking_tau(total(counts_of(turned, scores)), variant), tau, equal_nan=True)
    if variant in ("wmt13", "wmt14"):  # without a cell that punishes or rewards ties
        mirrored = [[-score for score in row] for row in scores]
        assert np.array_equal(ranking_tau(total(counts_of(found, mirrored)), variant), -tau, equal_nan=True)


@given(found=many_rows, scores=tables, random=st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(found: list[Row], scores: list[list[float]], random: object) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert counts_of(shuffled, scores).tobytes() == counts_of(found, scores).tobytes()
    numbers = np.array([[hash((system, segment)) % 3 for segment in range(SEGMENTS)] for system in range(SYSTEMS)])
    first, _ = pairs_of(found).collapsed(numbers)
    second, _ = pairs_of(shuffled).collapsed(numbers)
    table = np.array(scores)
    assert second.counts(table, np.arange(SEGMENTS)).tobytes() == first.counts(table, np.arange(SEGMENTS)).tobytes()


@given(found=many_rows, data=st.data(), variant=st.sampled_from(VARIANTS))
def test_collapsing_merges_equal_texts_within_a_ranking(found: list[Row], data: st.DataObject, variant: str) -> None:
    letters = st.lists(st.sampled_from("xyz"), min_size=SEGMENTS, max_size=SEGMENTS)
    texts = data.draw(st.lists(letters, min_size=SYSTEMS, max_size=SYSTEMS))
    numbers = np.array([["xyz".index(text) for text in row] for row in texts])
    collapsed, contradictions = pairs_of(found).collapsed(numbers)
    by_place = {(str(system), s): texts[system][s] for system in range(SYSTEMS) for s in range(SEGMENTS)}
    named = [(ranking, s, str(a), rank_a, str(b), rank_b) for ranking, s, a, rank_a, b, rank_b in found]
    expected = wmt.collapsed(named, by_place)
    assert len(collapsed) == len(expected)
    distinct = {
        (ranking, s, frozenset((by_place[a, s], by_place[b, s])))
        for ranking, s, a, _, b, _ in named
        if by_place[a, s] != by_place[b, s]
    }
    assert len(collapsed) + contradictions == len(distinct)
    scores = np.array([[float("xyz".index(text)) for text in row] for row in texts])  # equal texts, equal scores
    sums = total(collapsed.counts(scores, np.arange(SEGMENTS)))
    tau = wmt.tau(
        ((rank_a, rank_b, scores[int(a), s], scores[int(b), s]) for _, s, a, rank_a, b, rank_b in expected), variant
    )
    assert float(ranking_tau(sums, variant)) == pytest.approx(np.nan if tau is None else float(tau), nan_ok=True)


def test_a_contradiction_is_left_out_and_counted() -> None:
    # Systems 0 and 1 wrote the same; the judge put one of them before system 2 and the other behind it.
    found = [(0, 0, 0, 1, 2, 2), (0, 0, 1, 3, 2, 2), (0, 0, 0, 1, 1, 3), (0, 0, 0, 1, 3, 4)]
    numbers = np.array([[0] * SEGMENTS, [0] * SEGMENTS, [1] * SEGMENTS, [2] * SEGMENTS])
    collapsed, contradictions = pairs_of(found).collapsed(numbers)
    assert (collapsed.a.tolist(), collapsed.b.tolist(), contradictions) == ([0], [3], 1)


def test_a_pair_that_is_written_the_other_way_round_is_the_same_pair() -> None:
    # Systems 0 and 1 wrote the same, and both are better than system 2.
    found = [(0, 0, 0, 1, 2, 2), (0, 0, 2, 2, 1, 1)]
    numbers = np.array([[0] * SEGMENTS, [0] * SEGMENTS, [1] * SEGMENTS, [2] * SEGMENTS])
    collapsed, contradictions = pairs_of(found).collapsed(numbers)
    assert (collapsed.a.tolist(), collapsed.b.tolist(), contradictions) == ([0], [2], 0)


def test_two_rankings_of_the_same_texts_are_both_kept() -> None:
    found = [(0, 0, 0, 1, 2, 2), (1, 0, 1, 1, 2, 2)]
    numbers = np.array([[0] * SEGMENTS, [0] * SEGMENTS, [1] * SEGMENTS, [2] * SEGMENTS])
    collapsed, contradictions = pairs_of(found).collapsed(numbers)
    assert (len(collapsed), contradictions) == (2, 0)


@given(found=st.lists(rows, min_size=1, max_size=40), scores=tables, cut=st.integers(0, SEGMENTS))
def test_counts_add_up_over_segments(found: list[Row], scores: list[list[float]], cut: int) -> None:
    whole = counts_of(found, scores)
    left = counts_of([row for row in found if row[1] < cut], scores)
    right = counts_of([row for row in found if row[1] >= cut], scores)
    assert (left + right).tolist() == whole.tolist()
    assert whole.sum() == len(found)


def test_the_usual_bootstrap_takes_the_counts() -> None:
    rng = np.random.default_rng(3)
    found = [
        (0, s, a, int(rng.integers(1, 5)), b, int(rng.integers(1, 5))) for s in range(5) for a, b in ((0, 1), (2, 3))
    ]
    rows = counts_of(found, rng.random((SYSTEMS, SEGMENTS)).tolist())
    replicates = bootstrap_scores(rows, lambda sums: ranking_tau(sums, "hties"), resamples=50)
    assert replicates.shape == (50,)
    assert np.abs(replicates).max() <= 1


def test_missing_scores_are_found() -> None:
    scores = np.zeros((SYSTEMS, SEGMENTS))
    scores[2, 1] = np.nan
    pairs = pairs_of([(0, 0, 0, 1, 2, 2), (0, 1, 0, 1, 1, 2), (0, 1, 0, 1, 2, 2)])
    assert pairs.usable(scores).tolist() == [True, True, False]


def test_unknown_variants_are_refused() -> None:
    with pytest.raises(UsageError, match="there is no variant 'wmt16' of τ; did you mean"):
        check_variant("wmt16")
    assert check_variant("wmt15") == "wmt14"


def test_differences_by_rounding_alone_are_ties() -> None:
    scores = np.array([[30.0, 30.0, 0.3], [30.0 + 9e-10, 30.0 + 3e-9, 0.1 + 0.2]])
    pairs = RankedPairs(
        segment=np.arange(3), a=np.zeros(3, int), b=np.ones(3, int), human=np.ones(3, int), ranking=np.arange(3)
    )
    assert np.flatnonzero(pairs.counts(scores, np.arange(3))).tolist() == [7, 9 + 8, 18 + 7]
    small = np.array([[0.002, 0.002, 0.002], [0.002 + 1e-12, 0.002 + 1e-10, 0.002]])  # of a metric of another scale
    assert np.flatnonzero(pairs.counts(small, np.arange(3))).tolist() == [7, 9 + 8, 18 + 7]
