"""The WMT protocol as a whole, on small made-up language pairs."""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict, replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from scipy import stats as scipy_stats

from tests.judge.wmt_world import (
    ALL_EQUAL,
    METRICS,
    SEGMENTS,
    SYSTEMS,
    judged,
    make_task,
    rank_rows,
    ranked,
    scores_in_order,
    scores_of,
    segment_file,
)
from tests.oracles import wmt as oracle
from trubleu.data import Rankings, SegmentScores, SystemScores
from trubleu.errors import CountedWarning, DataError, TrubleuWarning, UsageError
from trubleu.judge.wmt.judge import judge_wmt
from trubleu.judge.wmt.scores import score_files
from trubleu.judge.wmt.tau import VARIANTS, ranking_tau
from trubleu.metrics import Bleu
from trubleu.render.judge_wmt import render_wmt
from trubleu.stats import bootstrap_interval, holm, williams_test
from trubleu.stats.bootstrap import draw_counts


def test_system_level_is_scipys_of_corpus_scores() -> None:
    task = make_task()
    report = judged(task)
    assert task.references is not None
    assert task.human is not None
    for name, metric in METRICS.items():
        sign = 1 if metric.higher_is_better else -1
        scores = [sign * metric.corpus(texts, task.references).score for texts in task.outputs.values()]
        people = list(task.human.values())
        expected = {
            "pearson": scipy_stats.pearsonr(scores, people).statistic,
            "spearman": scipy_stats.spearmanr(scores, people).statistic,
            "kendall": scipy_stats.kendalltau(scores, people).statistic,
            "accuracy": float(oracle.accuracy(scores, people) or 0),
        }
        for statistic, value in expected.items():
            row = report.agreement("system", "de-en", name, statistic)
            assert row.value == pytest.approx(value, abs=1e-12)
            assert (row.n, row.resampled) == (5, "segments and systems")
            assert row.low is not None
            assert row.high is not None
            assert -1 <= row.low <= value <= row.high <= 1
    shown = {(row.system, row.metric): row.score for row in report.systems}
    assert shown["good", "ter"] == METRICS["ter"].corpus(task.outputs["good"], task.references).score > 0


@pytest.mark.parametrize("identical", ["expanded", "collapsed"])
def test_rankings_are_the_oracles_tau(identical: Any) -> None:
    task = make_task()
    same = {**task.outputs, "poor": [*task.outputs["fair"][:20], *task.outputs["poor"][20:]]}
    task = replace(task, outputs=same)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = judged(task, identical=identical)
    rows = rank_rows(task)
    if identical == "collapsed":
        before = rows
        rows = oracle.collapsed(  # type: ignore[assignment]
            rows, {(name, place): text for name, texts in same.items() for place, text in enumerate(texts)}
        )
        assert len(rows) < len(before)
        (warning,) = caught
        assert "de-en: pairs of texts left out, as a judge ranked the same two texts both ways: " in str(
            warning.message
        )
        assert str(warning.message) in report.notes
    else:
        assert not caught
    for name in METRICS:
        scores = scores_of(task, name)
        for variant in VARIANTS:
            expected = oracle.tau(
                [(rank_a, rank_b, scores[a][s], scores[b][s]) for _, s, a, rank_a, b, rank_b in rows], variant
            )
            row = report.agreement("rankings", "de-en", name, variant)
            assert expected is not None
            assert row.value == float(expected)
            assert row.n % expected.denominator == 0
            assert row.low is not None
            assert row.high is not None
            assert row.low < row.value < row.high


def test_the_interval_of_tau_is_the_usual_bootstrap_over_segments() -> None:
    task = make_task()
    report = judged(task, resamples=200, confidence=0.9, seed=77)
    pairs = task.ranked_pairs("expanded", None)  # type: ignore[arg-type] # nothing to note
    assert pairs is not None
    table = np.stack(list(scores_of(task, "sbleu").values()))
    counts = pairs.counts(table, np.unique(pairs.segment))
    expected = bootstrap_interval(counts, ranking_tau, resamples=200, confidence=0.9, seed=77 ^ crc32(b"de-en"))
    row = report.agreement("rankings", "de-en", "sbleu", "wmt14")
    assert (row.value, row.low, row.high) == (expected.score, expected.low, expected.high)


def test_assessments_of_several_systems_are_pooled() -> None:
    task = make_task()
    report = judged(task)
    assert task.assessments is not None
    for name in METRICS:
        scores = scores_of(task, name)
        x = np.concatenate([scores[system] for system in task.assessments])
        y = np.concatenate([np.array(values) for values in task.assessments.values()])
        row = report.agreement("assessments", "de-en", name, "pearson")
        assert row.value == pytest.approx(scipy_stats.pearsonr(x, y).statistic, abs=1e-12)
        kendall = report.agreement("assessments", "de-en", name, "kendall")
        assert kendall.value == pytest.approx(scipy_stats.kendalltau(x, y).statistic, abs=1e-12)
        assert (row.n, row.resampled) == (60, "segments")


def test_averages_are_means_and_their_intervals_are_narrower() -> None:
    report = judged(make_task(), make_task("en-ru", 50), resamples=300)
    for level, statistic in (("system", "pearson"), ("rankings", "hties"), ("assessments", "spearman")):
        rows = [report.agreement(level, pair, "bleu", statistic) for pair in ("de-en", "en-ru", "average")]  # type: ignore[arg-type]
        values = [row.value or 0.0 for row in rows]
        assert values[2] == pytest.approx((values[0] + values[1]) / 2)
        widths = [(row.high or 0.0) - (row.low or 0.0) for row in rows]
        assert widths[2] < max(widths[:2])
        assert rows[2].n == 2


def test_draws_of_language_pairs_differ() -> None:
    # The same data under another name: the same value, not the same draws.
    report = judged(make_task(), make_task("en-ru"))
    rows = [report.agreement("rankings", pair, "bleu", "wmt14") for pair in ("de-en", "en-ru")]
    assert rows[0].value == rows[1].value
    assert rows[0].low != rows[1].low


@pytest.mark.filterwarnings("ignore:.*both ways")
def test_shuffled_rankings_and_reordered_people_change_no_bit() -> None:
    task = make_task()
    found = task.rankings
    assert found is not None
    assert task.human is not None
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
    turned = dict(reversed(list(task.human.items())))
    for identical in ("expanded", "collapsed"):
        first = judged(task, identical=identical)
        second = judged(replace(task, rankings=shuffled, human=turned), identical=identical)
        assert first.to_dict() == second.to_dict()


def test_differences_are_tested_and_corrected() -> None:
    report = judged(make_task(), make_task("en-ru", 50))
    rows = [row for row in report.differences if (row.level, row.language_pair) == ("system", "de-en")]
    williams = [row for row in rows if row.test == "williams"]
    assert [(row.metric_x, row.metric_y) for row in williams] == [("bleu", "sbleu"), ("bleu", "ter"), ("sbleu", "ter")]
    scores = {
        (row.metric, row.system): (-1 if row.metric == "ter" else 1) * row.score
        for row in report.systems
        if row.language_pair == "de-en"
    }
    for row in williams:
        r = [report.agreement("system", "de-en", metric, "pearson").value for metric in (row.metric_x, row.metric_y)]
        x, y = ([scores[metric, system] for system in SYSTEMS] for metric in (row.metric_x, row.metric_y))
        assert row.difference == pytest.approx(r[0] - r[1])  # type: ignore[operator]
        test = williams_test(r[0], r[1], scipy_stats.pearsonr(x, y).statistic, 5)  # type: ignore[arg-type]
        assert row.p == pytest.approx(test.p)
    assert [row.p_holm for row in williams] == pytest.approx(holm([row.p or 0.0 for row in williams]).tolist())
    tests: dict[tuple[str, str], set[str]] = {}
    for each in report.differences:
        tests.setdefault((each.level, each.language_pair), set()).add(each.test)
    assert tests["rankings", "de-en"] == {"bootstrap"}
    assert tests["assessments", "en-ru"] == {"williams", "permutation"}
    assert tests["system", "average"] == tests["rankings", "average"] == {"bootstrap"}
    assert {row.statistic for row in report.differences} == {"pearson", "wmt14"}


def test_a_metric_differs_from_itself_with_p_1() -> None:
    report = judged(make_task(), metrics={"a": Bleu(2), "b": Bleu(2)})
    assert {row.p for row in report.differences} == {1.0}
    assert {row.difference for row in report.differences} == {0.0}


def test_without_scipy_only_williams_test_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.warns(TrubleuWarning, match=r"Williams' test are left out: .*pip install 'trubleu\[judge\]'"):
        report = judged(make_task())
    by_test = {
        test: {row.p is None for row in report.differences if row.test == test} for test in ("williams", "permutation")
    }
    assert by_test == {"williams": {True}, "permutation": {False}}
    assert {row.p_holm for row in report.differences if row.test == "williams"} == {None}


@pytest.mark.parametrize("resample", ["segments", "systems", "both"])
def test_the_interval_of_systems_is_that_of_corpora_scored_again(resample: Any) -> None:
    task = replace(make_task(), rankings=None, assessments=None)
    report = judged(task, resample=resample, resamples=30)
    seed = 12345 ^ crc32(b"de-en")
    segments = draw_counts(SEGMENTS, 30, seed)
    systems = draw_counts(5, 30, seed ^ (crc32(b"systems") << 32))
    assert task.references is not None
    assert task.human is not None
    references = [[reference.text for reference in segment.references] for segment in task.references]
    replicates = []
    for of_segments, of_systems in zip(segments, systems, strict=True):
        rows = np.repeat(np.arange(SEGMENTS), of_segments if resample != "systems" else 1).tolist()
        kept = np.repeat(np.arange(5), of_systems if resample != "segments" else 1)
        scores = [
            METRICS["ter"].corpus([texts[row] for row in rows], [references[row] for row in rows]).score
            for texts in task.outputs.values()
        ]
        if len(set(kept.tolist())) >= 3:
            people = np.array(list(task.human.values()))[kept]
            replicates.append(-scipy_stats.pearsonr(np.array(scores)[kept], people).statistic)
    row = report.agreement("system", "de-en", "ter", "pearson")
    assert [row.low, row.high] == pytest.approx(np.quantile(replicates, [0.025, 0.975]).tolist(), abs=1e-9)
    assert row.undefined == 30 - len(replicates)


@pytest.mark.parametrize("resample", ["segments", "systems", "both"])
def test_what_is_drawn_at_the_system_level(resample: Any) -> None:
    report = judged(make_task(), resample=resample)
    row = report.agreement("system", "de-en", "bleu", "pearson")
    assert row.resampled == {"both": "segments and systems"}.get(resample, resample)


def test_drawing_systems_too_widens_the_interval() -> None:
    widths = {}
    for resample in ("segments", "both"):
        row = judged(make_task(), resample=resample, resamples=300).agreement("system", "de-en", "bleu", "pearson")
        assert row.low is not None
        assert row.high is not None
        widths[resample] = row.high - row.low
    assert widths["both"] > widths["segments"]


def test_no_resamples_no_intervals() -> None:
    report = judged(make_task(), resamples=0)
    assert {(row.low, row.high, row.resampled) for row in report.agreements} == {(None, None, None)}
    assert {row.p is None for row in report.differences if row.test == "bootstrap"} == {True}
    assert {row.p is None for row in report.differences if row.test == "permutation"} == {False}


def test_scores_from_files_stand_beside_our_own() -> None:
    task = make_task()
    other = segment_file(task, "other")
    upside = segment_file(task, "upside", turned=True)
    report = judged(replace(task, segment_scores=[other, upside]), lower_is_better=["upside"])
    for row in report.agreements:
        if row.metric in ("other", "upside"):
            ours = report.agreement(row.level, row.language_pair, "sbleu", row.statistic)
            found, same = ([each.value, each.low, each.high, each.n] for each in (row, ours))
            assert found == pytest.approx(same)
            assert row.signature is None
    assert "other: the score of a system is the mean of its segment scores" in report.notes
    shown = {row.score for row in report.systems if row.metric == "upside"}
    assert max(shown) < 0


def test_scores_of_systems_only_draw_systems() -> None:
    task = make_task()
    scores = SystemScores("sys", list(SYSTEMS), [5.0, 4.0, 3.5, 1.0, 2.0], "de-en", source="sys.sys.score")
    task = replace(task, system_scores=[scores], rankings=None, assessments=None)
    report = judged(task)
    row = report.agreement("system", "de-en", "sys", "pearson")
    assert row.resampled == "systems"
    assert "percentile bootstrap (System level: segments and systems or systems), 50 resamples" in render_wmt(report)
    assert any("sys: only scores of whole systems are known, so its interval draws systems" in n for n in report.notes)
    difference = next(row for row in report.differences if row.metric_y == "sys")
    assert difference.low is None
    alone = judged(task, resample="segments")
    assert alone.agreement("system", "de-en", "sys", "pearson").low is None
    assert any("sys: no interval at the system level" in note for note in alone.notes)


def test_missing_segments_are_left_out_for_every_metric() -> None:
    task = make_task()
    without = [("fair", "3"), ("bad", "7")]
    with pytest.warns(CountedWarning) as caught:
        report = judged(replace(task, segment_scores=[segment_file(task, "other", without=without)]))
    rows = [row for row in rank_rows(task) if not {(row[2], str(row[1] + 1)), (row[4], str(row[1] + 1))} & {*without}]
    dropped = len(rank_rows(task)) - len(rows)
    assert dropped > 0
    assert [str(warning.message) for warning in caught] == [
        f"de-en: rankings left out for every metric, as other has no score for an output: {dropped}",
        "de-en: assessments left out for every metric, as other has no score for an output: 2",
    ]
    assert report.agreement("rankings", "de-en", "bleu", "hties").n == len(rows)
    scores = scores_of(task, "bleu")
    expected = oracle.tau([(x, y, scores[a][s], scores[b][s]) for _, s, a, x, b, y in rows], "wmt14")
    assert report.agreement("rankings", "de-en", "bleu", "wmt14").value == float(expected or 0)
    assert report.agreement("assessments", "de-en", "bleu", "pearson").n == 58
    assert report.agreement("system", "de-en", "other", "pearson").n == 5
    assert any("over the 28 segments that all its systems have" in note for note in report.notes)


def test_missing_systems_are_left_out_of_the_system_level_for_every_metric() -> None:
    task = replace(make_task(), rankings=None, assessments=None)
    scores = SystemScores("sys", list(SYSTEMS[:4]), [5.0, 4.0, 3.5, 1.0], "de-en")
    with pytest.warns(TrubleuWarning, match="for every metric, as sys has no score for them: worst"):
        report = judged(replace(task, system_scores=[scores]))
    assert {row.n for row in report.agreements} == {4}


def test_names_that_people_use_for_systems() -> None:
    task = make_task()
    assert task.human is not None
    renamed = {f"{name}.txt": score for name, score in task.human.items()}
    assert judged(replace(task, human=renamed)).to_dict() == judged(task).to_dict()
    files = {f"{name}.1234.de-en": name for name in SYSTEMS}
    by_file = {f"{name}.1234.de-en.txt": score for name, score in task.human.items()}
    assert judged(replace(task, human=by_file, aliases=files)).to_dict() == judged(task).to_dict()


def test_people_know_systems_that_are_not_here() -> None:
    task = replace(make_task(), assessments=None)
    assert task.human is not None
    outputs = {name: texts for name, texts in task.outputs.items() if name != "fair"}
    with pytest.warns(TrubleuWarning) as caught:
        report = judged(replace(task, outputs=outputs))
    rows = [row for row in rank_rows(task) if "fair" not in (row[2], row[4])]
    assert [str(warning.message) for warning in caught] == [
        "de-en: people scored systems that have no outputs here: fair",
        f"de-en: rankings left out, as there are no outputs of fair: {len(rank_rows(task)) - len(rows)}",
    ]
    assert report.agreement("rankings", "de-en", "bleu", "hties").n == len(rows)
    people = {name: score for name, score in task.human.items() if name != "bad"}
    with pytest.warns(TrubleuWarning, match="de-en: no human score at the system level, left out: bad"):
        report = judged(replace(task, human=people))
    assert report.agreement("system", "de-en", "bleu", "pearson").n == 4


def test_rankings_of_segments_that_are_not_here() -> None:
    rankings = Rankings.from_columns(
        segment=["1", "99"], system_a=["good"] * 2, rank_a=[1, 1], system_b=["bad"] * 2, rank_b=[2, 2]
    )
    with pytest.warns(CountedWarning, match="de-en: rankings left out, as there is no segment 99: 1"):
        report = judged(replace(make_task(), rankings=rankings, human=None, assessments=None))
    assert report.agreement("rankings", "de-en", "bleu", "wmt14").n == 1


def test_no_rankings_are_left() -> None:
    rankings = Rankings.from_columns(segment=["1"], system_a=["x"], rank_a=[1], system_b=["y"], rank_b=[2])
    with pytest.warns(TrubleuWarning) as caught:
        report = judged(replace(make_task(), rankings=rankings, human=None, assessments=None))
    assert [str(warning.message) for warning in caught] == [
        "de-en: rankings left out, as there are no outputs of x, y: 1",
        "de-en, rankings: none are left, so τ is undefined; use the names of the outputs and segments",
    ]
    assert {(row.value, row.n) for row in report.agreements} == {(None, 0)}


def test_fewer_than_three_systems() -> None:
    task = make_task()
    assert task.human is not None
    two = {name: task.outputs[name] for name in SYSTEMS[:2]}
    people = {name: task.human[name] for name in SYSTEMS[:2]}
    task = replace(task, outputs=two, human=people, rankings=None, assessments=None)
    with pytest.warns(
        TrubleuWarning, match="a correlation needs at least 3 systems and there are 2, so it is undefined"
    ):
        report = judged(task)
    assert {(row.value, row.low, row.n) for row in report.agreements} == {(None, None, 2)}
    assert not report.differences
    assert "–" in render_wmt(report)
    one = replace(task, outputs={"good": two["good"]}, human={"good": 1.0})
    with pytest.warns(TrubleuWarning, match="at least 3 systems and there is 1"):
        judged(one)


def test_constant_scores_are_undefined() -> None:
    task = make_task()
    constant = SystemScores("flat", list(SYSTEMS), [1.0] * 5, "de-en")
    same = SegmentScores(
        "same", [name for name in SYSTEMS for _ in range(SEGMENTS)], [str(i + 1) for i in range(SEGMENTS)] * 5,
        [0.5] * (5 * SEGMENTS), "de-en",
    )  # fmt: skip
    with pytest.warns(TrubleuWarning) as caught:
        report = judged(replace(task, system_scores=[constant], segment_scores=[same]))
    assert [str(warning.message) for warning in caught] == [
        "de-en, system level: same gives all systems the same score; correlations are undefined",
        "de-en, system level: flat gives all systems the same score; correlations are undefined",
        "de-en, rankings: same " + ALL_EQUAL,
        "de-en, direct assessments: same gives all assessed outputs the same score; correlations are undefined",
    ]
    assert report.agreement("system", "de-en", "flat", "pearson").value is None
    assert report.agreement("system", "de-en", "flat", "accuracy").value is None
    rows = [report.agreement("rankings", "de-en", "same", variant) for variant in VARIANTS]
    assert {(row.value, row.low, row.undefined) for row in rows} == {(None, None, 0)}
    assert all(row.n > 0 for row in rows[2:])
    assert {"flat", "same"}.isdisjoint({row.metric_x for row in report.differences if row.level == "system"})
    assert "same" not in {row.metric_y for row in report.differences if row.level == "rankings"}
    assert "nan" not in render_wmt(report).lower()


def test_people_who_do_not_differ() -> None:
    task = replace(
        make_task(),
        human=dict.fromkeys(SYSTEMS, 1.0),
        assessments={"good": [0.5] * SEGMENTS},
        rankings=Rankings.from_columns(
            segment=["1", "2"], system_a=["good"] * 2, rank_a=[2, 2], system_b=["bad"] * 2, rank_b=[2, 2]
        ),
    )
    with pytest.warns(TrubleuWarning) as caught:
        report = judged(task)
    assert [str(warning.message) for warning in caught] == [
        "de-en, system level: all systems have the same human score, so correlations are undefined",
        "de-en, rankings: people rank the outputs of every pair equal, so τ is undefined (wmt12, wmt13, wmt14)",
        "de-en, direct assessments: all assessed outputs have the same human score, so correlations are undefined",
    ]
    assert {row.value for row in report.agreements if row.statistic != "hties"} == {None}


def test_an_average_leaves_out_undefined_pairs_but_not_zeros() -> None:
    flat = replace(make_task("en-ru", 50), human=dict.fromkeys(SYSTEMS, 1.0), assessments=None)
    with pytest.warns(TrubleuWarning, match="en-ru, system level: all systems have the same human score"):
        report = judged(make_task(), flat)
    average = report.agreement("system", "average", "bleu", "pearson")
    only = report.agreement("system", "de-en", "bleu", "pearson")
    assert (average.value, average.low, average.n) == (only.value, only.low, 1)
    assert "average, system level: bleu has no pearson in en-ru, so its average is over the others" in report.notes
    assert not [row for row in report.agreements if row.level == "assessments" and row.language_pair == "average"]
    # τ = 0 is a value: as often right as wrong.
    scores = scores_in_order((2.0, 1.0), (2.0, 1.0))
    tasks = []
    for pair, rankings in (("de-en", ranked((1, 2), (1, 2))), ("en-ru", ranked((1, 2), (2, 1)))):
        own = SegmentScores("mine", scores.system, scores.segment, scores.score, pair)
        task = make_task(pair)
        tasks.append(replace(task, human=None, assessments=None, rankings=rankings, segment_scores=[own]))
    report = judged(*tasks, metrics={}, resamples=0)
    values = [report.agreement("rankings", pair, "mine", "wmt14").value for pair in ("de-en", "en-ru", "average")]
    assert values == [1.0, 0.0, 0.5]


def test_averages_over_different_pairs_are_not_compared() -> None:
    first, second = (replace(make_task(p, s), human=None, assessments=None) for p, s in (("de-en", 0), ("en-ru", 50)))
    report = judged(replace(first, segment_scores=[segment_file(first, "other")]), second)
    averages = [row for row in report.differences if row.language_pair == "average"]
    assert {row.metric_x for row in averages} | {row.metric_y for row in averages} == set(METRICS)
    assert report.agreement("rankings", "average", "other", "wmt14").n == 1


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"human": None, "rankings": None, "assessments": None}, {}, "nothing to judge de-en by; give official scores"),
        ({"outputs": {}}, {}, "de-en has no outputs of systems"),
        ({"outputs": {"good": ["one"]}}, {}, "good has 1 output for 30 segments"),
        ({"assessments": {"good": [1.0]}}, {}, "good has 1 assessments for 30 segments"),
        ({"references": None}, {}, "de-en has no references to score outputs by bleu, sbleu, ter; give some"),
        ({"language_pair": "average"}, {}, "the language pair average is given twice, or means the average"),
        ({}, {"metrics": {}}, "there is no metric to judge"),
        ({}, {"identical": "merged"}, "identical=merged is not known"),
        ({}, {"resample": "judges"}, "resample=judges is not known"),
        ({}, {"tau": "wmt99"}, "there is no variant 'wmt99' of τ"),
        ({}, {"resamples": -1}, "resamples must be 1 or more"),
        ({}, {"confidence": 1.0}, "confidence must be between 0 and 1"),
        ({}, {"seed": -1}, "seed must be between"),
        ({}, {"unrated_as": 2}, "unrated_as must be"),
        ({}, {"lower_is_better": ["bleu"]}, "lower is better for bleu, but no file has scores of it"),
    ],
)
def test_what_cannot_be_judged(changes: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises((UsageError, DataError), match=message):
        judged(replace(make_task(), **changes), **options)


def test_what_cannot_be_judged_together() -> None:
    with pytest.raises(UsageError, match="there is no language pair to judge"):
        judged()
    with pytest.raises(UsageError, match="the language pair de-en is given twice"):
        judged(make_task(), make_task())
    task = make_task()
    with pytest.raises(UsageError, match="two metrics are called bleu, one of them in a file of scores"):
        judged(replace(task, segment_scores=[segment_file(task, "bleu")]))
    with pytest.raises(DataError, match="another file has scores of other for de-en already"):
        judged(replace(task, segment_scores=[segment_file(task, "other"), segment_file(task, "other")]))
    several = Rankings.from_columns(
        segment=["1", "1"], system_a=["good"] * 2, rank_a=[1, 1], system_b=["bad"] * 2, rank_b=[2, 2],
        language_pair=["deu-eng", "eng-rus"],
    )  # fmt: skip
    with pytest.raises(DataError, match="has rankings of deu-eng, eng-rus, and none is called de-en"):
        judged(replace(task, rankings=several))
    picked = judged(replace(task, rankings=several, language_pair="deu-eng"))
    assert picked.agreement("rankings", "deu-eng", "bleu", "hties").n == 1


def test_files_of_scores_for_another_language_pair_or_test_set() -> None:
    task = make_task()
    scores = segment_file(task, "other")
    with pytest.warns(TrubleuWarning, match="other.seg.score has no scores of the language pair fr-en, but of de-en"):
        judged(replace(task, segment_scores=[scores], language_pair="fr-en"))
    two = SegmentScores("m", ["good"] * 2, ["1"] * 2, [1.0, 2.0], "de-en", ["news", "talks"], source="two.csv")
    with pytest.raises(DataError, match=r"two\.csv has scores of the testsets news, talks; say which testset is meant"):
        judged(replace(task, segment_scores=[two]))
    strange = SegmentScores("m", ["good", "alien"], ["1", "x"], [1.0, 2.0], source="m.csv")
    with pytest.warns(TrubleuWarning) as caught:
        judged(replace(task, segment_scores=[strange], testset="talks"))
    messages = [str(warning.message) for warning in caught]
    assert "m.csv scores systems that have no outputs in de-en: alien" in messages
    assert "m.csv scores segments that de-en does not have: x" in messages


def test_systems_without_the_test_set_in_their_names() -> None:
    task = make_task()
    outputs = {f"news.{name}": texts for name, texts in task.outputs.items()}
    assert task.human is not None
    people = {f"news.{name}": score for name, score in task.human.items()}
    scores = SystemScores("sys", list(SYSTEMS), [5.0, 4.0, 3.5, 1.0, 2.0], "de-en", "news")
    task = replace(task, outputs=outputs, human=people, rankings=None, assessments=None, system_scores=[scores])
    assert judged(task).agreement("system", "de-en", "sys", "pearson").n == 5


def test_our_scores_can_be_written_and_read_back(tmp_path: Any) -> None:
    task = make_task()
    report = judged(task)
    segments, systems = score_files(report.scored)
    segments.write(tmp_path / "ours.seg.score.gz")
    systems.write(tmp_path / "ours.sys.score.gz")
    again = replace(
        task,
        references=None,
        segment_scores=[SegmentScores.read(tmp_path / "ours.seg.score.gz")],
        system_scores=[SystemScores.read(tmp_path / "ours.sys.score.gz")],
    )
    read = judge_wmt([again], {}, resamples=0, lower_is_better=["ter"])
    for row in read.agreements:
        assert row.value == report.agreement(row.level, row.language_pair, row.metric, row.statistic).value


def test_rendering_in_every_format() -> None:
    report = judged(make_task(), make_task("en-ru", 50))
    text = render_wmt(report)
    assert "System level: Pearson r" in text
    assert "Segment level, ranked pairs: τ wmt14" in text
    assert "de-en                 en-ru               average" in text
    assert "p (williams)" in text
    assert "intervals: 95 %, percentile bootstrap (System level: segments and systems; " in text
    assert "(identical: expanded)" in text
    assert render_wmt(report, "markdown").count("\n|:--") == 7
    assert render_wmt(report, "latex").count("\\begin{tabular}") == 7
    import csv
    import io
    import json

    document = json.loads(render_wmt(report, "json"))
    assert document == report.to_dict()
    assert document["agreements"] == [asdict(row) for row in report.agreements]
    assert document["setting"] == [{"schema": 1, **asdict(report.setting)}]
    assert [row["note"] for row in document["notes"]] == list(report.notes) != []
    rows = list(csv.DictReader(io.StringIO(render_wmt(report, "csv"))))
    assert {row["table"] for row in rows} == {"agreements", "differences", "systems", "setting", "notes"}
    values = [row["value"] for row in rows if row["table"] == "agreements"]
    assert [float(value) for value in values] == [row.value for row in report.agreements]
    collapsed = render_wmt(judged(make_task(), tau="hties", identical="expanded", resamples=0))
    assert "τ hties" in collapsed
    assert "intervals:" not in collapsed
