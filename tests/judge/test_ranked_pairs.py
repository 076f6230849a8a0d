"""WMT's Kendall-like τ over ranked pairs, against the matrices read off one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judge.wmt_world import METRICS, judged, make_task, rank_rows, ranked, scores_in_order, scores_of
from tests.oracles import wmt
from trubleu.data import Rankings, SegmentScores
from trubleu.errors import CountedWarning, TrubleuWarning, UsageError
from trubleu.judge import judge_ratings
from trubleu.judge.ratings.opinions import collapsed
from trubleu.stats.meta_evaluation import TAUS, OutputPairs
from trubleu.stats.metric_tests import MetaEvaluation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.judge import RatingsReport

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
).map(lambda row: (*row[:4], (row[4] + (row[2] == row[4])) % SYSTEMS, row[5]))
many_rows = st.lists(rows, max_size=40)
tables = st.lists(
    st.lists(st.sampled_from([0.0, 1.5, 2.0, 7.25]), min_size=SEGMENTS, max_size=SEGMENTS),
    min_size=SYSTEMS,
    max_size=SYSTEMS,
)


def columns_of(found: list[Row]) -> NDArray[np.int64]:
    """Item, first and second system, and which one is better; then the ranking."""
    ranking, segment, a, rank_a, b, rank_b = np.array(found, dtype=np.int64).reshape(-1, 6).T
    return np.stack([segment, a, b, np.sign(rank_b - rank_a), ranking])


def pairs_of(found: NDArray[np.int64], scores: list[list[float]] | NDArray[np.float64]) -> OutputPairs:
    segment, a, b, better = found[:4]
    table = np.array(scores)
    return OutputPairs(segment, better.astype(np.int8), (table[a, segment] - table[b, segment])[np.newaxis])


def tau_of(found: list[Row], scores: list[list[float]], variant: str) -> float:
    return float(pairs_of(columns_of(found), scores).tau(f"tau-{variant}")[0])


VARIANTS = tuple(name.removeprefix("tau-") for name in TAUS)


def collapsed_pairs(found: list[Row], texts: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    columns = columns_of(found)
    kept, contradictions = collapsed(columns[:4], columns[4], texts)
    return columns[:, kept], contradictions


def compared(found: list[Row], scores: list[list[float]]) -> list[tuple[int, int, float, float]]:
    return [(rank_a, rank_b, scores[a][s], scores[b][s]) for _, s, a, rank_a, b, rank_b in found]


@given(found=many_rows, scores=tables, variant=st.sampled_from(VARIANTS))
def test_every_variant_is_the_matrix_read_off_pair_by_pair(
    found: list[Row], scores: list[list[float]], variant: str
) -> None:
    pairs = pairs_of(columns_of(found), scores)
    _, entered, apart = pairs.credits(f"tau-{variant}").sum(axis=-1, dtype=np.int64)[:, 0].tolist()
    expected = wmt.tau(compared(found, scores), variant)
    value = tau_of(found, scores, variant)
    assert bool(apart) == any(x != y for _, _, x, y in compared(found, scores))
    if expected is None:
        assert np.isnan(value)
        assert entered == 0
        return
    assert expected.denominator <= entered
    assert entered % expected.denominator == 0
    if apart:
        assert value == float(expected)
    else:
        assert np.isnan(value)


def test_each_cell_by_itself() -> None:
    expected: dict[str, list[int | None]] = {
        "wmt12": [1, -1, -1, None, None, None, -1, -1, 1],
        "wmt13": [1, None, -1, None, None, None, -1, None, 1],
        "wmt14": [1, 0, -1, None, None, None, -1, 0, 1],
        "hties": [1, 0, -1, 0, 1, 0, -1, 0, 1],
    }
    signs = [(people, metric) for people in (-1, 0, 1) for metric in (-1, 0, 1)]
    for variant, cells in expected.items():
        for (people, metric), cell in zip(signs, cells, strict=True):
            pair = OutputPairs(np.zeros(1, int), np.array([people], np.int8), np.array([[float(metric)]]))
            credit, entered, apart = pair.credits(f"tau-{variant}")[:, 0, 0].tolist()
            assert (credit if entered else None) == cell
            assert apart == (metric != 0)


@given(found=many_rows, scores=tables, variant=st.sampled_from(VARIANTS))
def test_turning_pairs_round_changes_nothing_and_turning_scores_round_mirrors(
    found: list[Row], scores: list[list[float]], variant: str
) -> None:
    turned = [(ranking, s, b, rank_b, a, rank_a) for ranking, s, a, rank_a, b, rank_b in found]
    tau = tau_of(found, scores, variant)
    assert np.array_equal(tau_of(turned, scores, variant), tau, equal_nan=True)
    if variant in ("wmt13", "wmt14"):  # without a cell that punishes or rewards ties
        mirrored = [[-score for score in row] for row in scores]
        assert np.array_equal(tau_of(found, mirrored, variant), -tau, equal_nan=True)


@given(found=many_rows, scores=tables, random=st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(found: list[Row], scores: list[list[float]], random: object) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    numbers = np.array([[hash((system, segment)) % 3 for segment in range(SEGMENTS)] for system in range(SYSTEMS)])
    for variant in VARIANTS:
        assert np.array_equal(tau_of(shuffled, scores, variant), tau_of(found, scores, variant), equal_nan=True)
        first, second = (pairs_of(collapsed_pairs(rows, numbers)[0], scores) for rows in (found, shuffled))
        assert np.array_equal(first.tau(f"tau-{variant}"), second.tau(f"tau-{variant}"), equal_nan=True)


@given(found=many_rows, data=st.data(), variant=st.sampled_from(VARIANTS))
def test_collapsing_merges_equal_texts_within_a_ranking(found: list[Row], data: st.DataObject, variant: str) -> None:
    letters = st.lists(st.sampled_from("xyz"), min_size=SEGMENTS, max_size=SEGMENTS)
    texts = data.draw(st.lists(letters, min_size=SYSTEMS, max_size=SYSTEMS))
    numbers = np.array([["xyz".index(text) for text in row] for row in texts])
    kept, contradictions = collapsed_pairs(found, numbers)
    by_place = {(str(system), s): texts[system][s] for system in range(SYSTEMS) for s in range(SEGMENTS)}
    named = [(ranking, s, str(a), rank_a, str(b), rank_b) for ranking, s, a, rank_a, b, rank_b in found]
    expected = wmt.collapsed(named, by_place)
    assert kept.shape[1] == len(expected)
    distinct = {
        (ranking, s, frozenset((by_place[a, s], by_place[b, s])))
        for ranking, s, a, _, b, _ in named
        if by_place[a, s] != by_place[b, s]
    }
    assert kept.shape[1] + contradictions == len(distinct)
    scores = np.array([[float("xyz".index(text)) for text in row] for row in texts])  # equal texts, equal scores
    tau = wmt.tau(
        ((rank_a, rank_b, scores[int(a), s], scores[int(b), s]) for _, s, a, rank_a, b, rank_b in expected), variant
    )
    value = float(pairs_of(kept, scores).tau(f"tau-{variant}")[0])
    assert value == pytest.approx(np.nan if tau is None else float(tau), nan_ok=True)


def test_a_contradiction_is_left_out_and_counted() -> None:
    # Systems 0 and 1 wrote the same; the judge put one of them before system 2 and the other behind it.
    found = [(0, 0, 0, 1, 2, 2), (0, 0, 1, 3, 2, 2), (0, 0, 0, 1, 1, 3), (0, 0, 0, 1, 3, 4)]
    numbers = np.array([[0] * SEGMENTS, [0] * SEGMENTS, [1] * SEGMENTS, [2] * SEGMENTS])
    kept, contradictions = collapsed_pairs(found, numbers)
    assert (kept[1].tolist(), kept[2].tolist(), contradictions) == ([0], [3], 1)


def test_a_pair_that_is_written_the_other_way_round_is_the_same_pair() -> None:
    # Systems 0 and 1 wrote the same, and both are better than system 2.
    found = [(0, 0, 0, 1, 2, 2), (0, 0, 2, 2, 1, 1)]
    numbers = np.array([[0] * SEGMENTS, [0] * SEGMENTS, [1] * SEGMENTS, [2] * SEGMENTS])
    kept, contradictions = collapsed_pairs(found, numbers)
    assert (kept[1].tolist(), kept[2].tolist(), contradictions) == ([0], [2], 0)


def test_two_rankings_of_the_same_texts_are_both_kept() -> None:
    found = [(0, 0, 0, 1, 2, 2), (1, 0, 1, 1, 2, 2)]
    numbers = np.array([[0] * SEGMENTS, [0] * SEGMENTS, [1] * SEGMENTS, [2] * SEGMENTS])
    kept, contradictions = collapsed_pairs(found, numbers)
    assert (kept.shape[1], contradictions) == (2, 0)


@given(found=st.lists(rows, min_size=1, max_size=40), scores=tables, variant=st.sampled_from(VARIANTS))
def test_a_replicate_is_tau_of_the_pairs_of_drawn_segments(
    found: list[Row], scores: list[list[float]], variant: str
) -> None:
    pairs = pairs_of(columns_of(found), scores)
    evaluation = MetaEvaluation(None, np.array(scores)[np.newaxis], pairs)
    random = np.random.default_rng(7)
    for replicate in evaluation.replicates("segment", f"tau-{variant}", "segments", 5, 7)[:, 0].tolist():
        drawn = random.integers(SEGMENTS, size=SEGMENTS).tolist()
        rows_drawn = [row for segment in drawn for row in found if row[1] == segment]
        expected = wmt.tau(compared(rows_drawn, scores), variant)
        apart = any(x != y for _, _, x, y in compared(rows_drawn, scores))
        assert replicate == pytest.approx(float(expected) if expected is not None and apart else np.nan, nan_ok=True)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("test", ["perm-input", "perm-both"])
def test_swaps_of_items_or_pairs_are_tau_of_swapped_scores(variant: str, test: Any) -> None:
    rng = np.random.default_rng(5)
    items, people = np.sort(rng.integers(6, size=14)), rng.integers(-1, 2, size=14).astype(np.int8)
    scores = rng.integers(-2, 3, size=(2, 14)).astype(float)
    evaluation = MetaEvaluation(None, np.zeros((2, 3, 6)), OutputPairs(items, people, scores))
    blocks = items if test == "perm-input" else np.arange(14)
    taus = []
    for number in range(2 ** (int(blocks.max()) + 1)):
        swapped = (number >> blocks) & 1 == 1
        both = np.stack([np.where(swapped, scores[1], scores[0]), np.where(swapped, scores[0], scores[1])])
        x, y = OutputPairs(items, people, both).tau(f"tau-{variant}")
        taus.append(abs(x - y))
    exact = np.mean(np.array(taus) >= taus[0] - 1e-12)
    found = evaluation.differences("segment", f"tau-{variant}", test, trials=4000, seed=1)
    assert found.p[0] == pytest.approx(exact, abs=0.04)


def test_unknown_variants_are_refused() -> None:
    with pytest.raises(UsageError, match="there is no segment-level measure 'tau-wmt16'; did you mean"):
        judged(make_task(), segment_measure="tau-wmt16")


@pytest.mark.filterwarnings("ignore:.*cannot make a difference")
def test_differences_by_rounding_alone_are_ties() -> None:
    rankings = ranked((2, 1), (2, 1), (2, 1))
    for scores, tau in (
        (((30.0, 30.0 + 9e-10), (30.0, 30.0 + 3e-9), (0.3, 0.1 + 0.2)), 1 / 3),
        (((0.002, 0.002 + 1e-12), (0.002, 0.002 + 1e-10), (0.002, 0.002)), 1 / 3),  # of a metric of another scale
    ):
        report = judge_ratings({}, None, rankings, {}, scores=[scores_in_order(*scores)], resamples=5)
        assert report.measure("segment", "tau-wmt14", "mine").value == pytest.approx(tau)


@pytest.mark.parametrize("identical", ["expanded", "collapsed"])
def test_rankings_are_the_oracles_tau(identical: Any) -> None:
    task = make_task()
    same = {**task.outputs, "poor": [*task.outputs["fair"][:20], *task.outputs["poor"][20:]]}
    task = task._replace(outputs=same)
    rows = rank_rows(task)
    if identical == "collapsed":
        before = rows
        texts = {(name, place): text for name, own in same.items() for place, text in enumerate(own)}
        rows = wmt.collapsed(rows, texts)  # type: ignore[assignment]
        assert len(rows) < len(before)
        message = "^pairs of texts left out, as a judge ranked the same two texts both ways: [0-9]+$"
        with pytest.warns(CountedWarning, match=message) as caught:
            report = judged(task, identical=identical, segment_measure="tau-wmt14")
        assert str(caught[0].message) in report.notes
    else:
        report = judged(task, identical=identical, segment_measure="tau-wmt14")
    assert report.setting.ratings == len(rows)
    for name in METRICS:
        scores = scores_of(task, name)
        for variant in VARIANTS:
            expected = wmt.tau(
                [(rank_a, rank_b, scores[a][s], scores[b][s]) for _, s, a, rank_a, b, rank_b in rows], variant
            )
            assert expected is not None
            assert report.measure("segment", f"tau-{variant}", name).value == float(expected)
        headline = report.measure("segment", "tau-wmt14", name)
        assert headline.low is not None
        assert headline.high is not None
        assert headline.value is not None
        assert headline.low < headline.value < headline.high


@pytest.mark.filterwarnings("ignore:.*both ways")
def test_shuffled_rankings_change_no_bit() -> None:
    task = make_task()
    found = task.rankings
    assert isinstance(found, Rankings)
    order = np.random.default_rng(8).permutation(len(found))
    shuffled = Rankings.from_columns(
        segment=[found.segments[code] for code in found.segment[order]],
        system_a=[found.systems[code] for code in found.system_a[order]],
        rank_a=found.rank_a[order].tolist(),
        system_b=[found.systems[code] for code in found.system_b[order]],
        rank_b=found.rank_b[order].tolist(),
        judge=[found.judges[code] for code in found.judge[order]],
        ranking=[str(code) for code in found.ranking[order]],
    )
    assert task.human is not None
    turned = dict(reversed(list(task.human.items())))
    for identical in ("expanded", "collapsed"):
        options = {"identical": identical, "segment_measure": "tau-hties"}
        first = judged(task, **options)
        assert first.to_dict() == judged(task._replace(rankings=shuffled, human=turned), **options).to_dict()


def by_rankings(rankings: Rankings, scores: SegmentScores, **options: Any) -> RatingsReport:
    return judge_ratings({}, None, rankings, {}, scores=[scores], **{"resamples": 5, **options})


def test_a_metric_that_differs_only_where_people_do_not() -> None:
    with pytest.warns(TrubleuWarning, match="single outputs are judged by τ wmt14"):
        report = by_rankings(ranked((1, 2), (1, 1)), scores_in_order((1.0, 1.0), (1.0, 2.0)))
    values = [report.measure("segment", f"tau-{variant}", "mine").value for variant in VARIANTS]
    assert values == [-1.0, None, 0.0, 0.0]
    assert "mine: τ wmt13 is undefined, as it scores the outputs of every pair that counts equal" in report.notes


def test_a_metric_that_ties_everything_has_no_tau() -> None:
    report = by_rankings(ranked((1, 2), (2, 1)), scores_in_order((1.0, 1.0), (3.0, 3.0)), segment_measure="tau-wmt14")
    assert {row.value for row in report.measures if row.measure in TAUS} == {None}
    assert report.verdicts[0].verdict.startswith("On single outputs, τ wmt14 is undefined for every metric")


def test_resamples_in_which_a_metric_is_constant_are_undefined() -> None:
    rankings, scores = ranked((1, 2), (1, 2), (2, 1)), scores_in_order((2.0, 1.0), (1.0, 1.0), (1.0, 1.0))
    report = by_rankings(rankings, scores, resamples=60, segment_measure="tau-wmt14")
    random = np.random.default_rng(12345)
    drawn = [random.integers(3, size=3).tolist() for _ in range(60)]
    defined = [each.count(0) / 3 for each in drawn if 0 in each]
    row = report.measure("segment", "tau-wmt14", "mine")
    assert 30 < len(defined) < 60
    assert [row.low, row.high] == pytest.approx(np.quantile(defined, [0.025, 0.975]).tolist())


def test_rankings_that_repeat_a_row_are_kept_and_counted() -> None:
    columns: dict[str, Any] = {
        "segment": ["1", "1", "1", "1", "1", "2"],
        "system_a": ["good"] * 5 + ["fair"],
        "rank_a": [1, 1, 1, 2, 1, 1],
        "system_b": ["bad"] * 6,
        "rank_b": [2] * 6,
        "judge": ["ann", "ann", "bob", "ann", "ann", "ann"],
        "ranking": ["1"] * 6,
    }
    task = make_task()._replace(rankings=Rankings.from_columns(**columns), human=None)
    what = "rankings that repeat another row, judge and ranking included, and are counted again"
    with pytest.warns(CountedWarning, match=f"^{what}: 2$"):
        report = judged(task, metrics={"bleu": METRICS["bleu"]})
    assert report.setting.ratings == 6


def test_rows_with_huge_ranks_are_told_apart() -> None:
    ranks = (1, 2**49 - 1), (1 + 2**15, 2**49 - 1), (1, 2**49 - 1)
    rankings = replace(ranked(*ranks), segments=("1",), segment=np.zeros(3, int), ranking=np.zeros(3, int))
    with pytest.warns(CountedWarning, match="and are counted again: 1$"):
        judged(make_task()._replace(rankings=rankings, human=None), metrics={"bleu": METRICS["bleu"]})


def test_what_cannot_be_collapsed() -> None:
    with pytest.raises(UsageError, match="identical=merged is not known; known: expanded"):
        judged(make_task(), identical="merged")
    with pytest.raises(UsageError, match="identical=collapsed is about rankings, and there are none; leave it out"):
        judged(make_task()._replace(rankings=None), identical="collapsed")
    with pytest.raises(UsageError, match="identical outputs can be collapsed only where there are outputs"):
        by_rankings(ranked((1, 2)), scores_in_order((1.0, 2.0)), identical="collapsed")
