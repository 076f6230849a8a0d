"""Rankings that say nothing or say it twice, and resamples in which a statistic is undefined."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

from tests.judge.wmt_world import ALL_EQUAL, SEGMENTS, SYSTEMS, judged, make_task, ranked, scores_in_order
from trubleu.data import Rankings, SegmentScores
from trubleu.errors import CountedWarning, TrubleuWarning
from trubleu.judge.wmt.tau import VARIANTS
from trubleu.stats.bootstrap import draw_counts

if TYPE_CHECKING:
    from trubleu.judge.wmt.results import WmtReport


def judged_by_rankings(rankings: Rankings, scores: SegmentScores, **options: Any) -> WmtReport:
    task = replace(make_task(), human=None, assessments=None, rankings=rankings, segment_scores=[scores])
    return judged(task, metrics={}, **options)


def test_a_metric_that_differs_only_where_people_do_not() -> None:
    message = r"mine scores the outputs of every pair that people rank apart equal, so its τ is undefined \(wmt13\)"
    with pytest.warns(TrubleuWarning, match=message):
        report = judged_by_rankings(ranked((1, 2), (1, 1)), scores_in_order((1.0, 1.0), (1.0, 2.0)), resamples=0)
    values = [report.agreement("rankings", "de-en", "mine", variant).value for variant in VARIANTS]
    assert values == [-1.0, None, 0.0, 0.0]


def test_neither_people_nor_a_metric_differ() -> None:
    with pytest.warns(TrubleuWarning) as caught:
        report = judged_by_rankings(ranked((1, 1), (2, 2)), scores_in_order((1.0, 1.0), (3.0, 3.0)))
    assert [str(warning.message) for warning in caught] == [
        "de-en, rankings: people rank the outputs of every pair equal, so τ is undefined (wmt12, wmt13, wmt14)",
        "de-en, rankings: mine " + ALL_EQUAL,
    ]
    assert {row.value for row in report.agreements} == {None}


def test_resamples_in_which_a_metric_is_constant_are_undefined() -> None:
    report = judged_by_rankings(
        ranked((1, 2), (1, 2), (2, 1)), scores_in_order((2.0, 1.0), (1.0, 1.0), (1.0, 1.0)), resamples=60
    )
    first_is_drawn = draw_counts(3, 60, 12345 ^ crc32(b"de-en"))[:, 0] > 0
    row = report.agreement("rankings", "de-en", "mine", "wmt14")
    assert 0 < row.undefined == 60 - first_is_drawn.sum() < 30
    assert row.low is not None
    assert row.low > 0


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
    task = replace(make_task(), human=None, assessments=None, rankings=Rankings.from_columns(**columns))
    what = "rankings that repeat another row, judge and ranking included, and are counted again"
    with pytest.warns(CountedWarning, match=f"^de-en: {what}: 2$"):
        report = judged(task)
    assert report.agreement("rankings", "de-en", "bleu", "hties").n == 6


def test_rows_with_huge_ranks_are_told_apart() -> None:
    # Put together in one number of 64 bits, 1 and 1 + 2^15 would be the same in front of a rank of 49 bits.
    ranks = (1, 2**49 - 1), (1 + 2**15, 2**49 - 1), (1, 2**49 - 1)
    rankings = Rankings.from_columns(
        segment=["1"] * 3,
        system_a=["good"] * 3,
        rank_a=[a for a, _ in ranks],
        system_b=["bad"] * 3,
        rank_b=[b for _, b in ranks],
        ranking=["1"] * 3,
    )
    with pytest.warns(CountedWarning, match="and are counted again: 1$"):
        judged(replace(make_task(), human=None, assessments=None, rankings=rankings))


def test_intervals_that_are_missing_are_explained() -> None:
    task = make_task()
    assert task.human is not None
    three = {name: task.human[name] for name in SYSTEMS[:3]}
    task = replace(task, outputs={name: task.outputs[name] for name in three}, human=three, rankings=None)
    report = judged(replace(task, assessments={"fair": [1.0, 2.0, 3.0, *[float("nan")] * (SEGMENTS - 3)]}))
    rows = {level: [row for row in report.agreements if row.level == level] for level in ("system", "assessments")}
    assert {(row.low, row.undefined > 25) for row in rows["system"]} == {(None, True)}
    partial = [row for row in rows["assessments"] if row.undefined]
    assert {row.n for row in partial} == {3}
    assert all(row.low is not None for row in partial)
    assert (len(rows["system"]), len(partial)) == (12, 9)
    assert "12 statistics without an interval, as more than half of the resamples leave each undefined" in report.notes
    assert "9 intervals without those resamples in which the statistic is undefined" in report.notes


def test_too_few_resamples_for_an_interval_are_too_few_for_a_test() -> None:
    tasks = []
    for pair, seed in (("de-en", 0), ("en-ru", 50)):
        task = make_task(pair, seed)
        assert task.human is not None
        three = {name: task.human[name] for name in SYSTEMS[:3]}
        outputs = {name: task.outputs[name] for name in three}
        tasks.append(replace(task, outputs=outputs, human=three, rankings=None, assessments=None))
    rows = [row for row in judged(*tasks).differences if row.language_pair == "average"]
    assert {(row.test, row.low, row.p, row.p_holm) for row in rows} == {("bootstrap", None, None, None)}
