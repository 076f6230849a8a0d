"""Official scores of systems beside metrics' corpus scores, and resampled correlations, against SciPy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from tests.judge.wmt_world import METRICS, SEGMENTS, SYSTEMS, judged, make_task, ranked, scores_in_order, scores_of
from tests.oracles import wmt
from tests.stats.pairs import draw_counts, paired_bootstrap, permutation_of_metrics
from trubleu.data import Rankings, Ratings, References, SegmentScores
from trubleu.errors import DataError, MissingExtraError, TrubleuWarning, UsageError
from trubleu.judge import judge_ratings, judge_sets
from trubleu.metrics import Bleu, DeltaBleu, SentenceDeltaBleu
from trubleu.native import kernels
from trubleu.render import render_ratings, render_ratings_page, render_sets, render_sets_page
from trubleu.stats import holm, williams_test
from trubleu.stats.bootstrap import ends_of
from trubleu.stats.correlation import weighted_pearson
from trubleu.stats.metric_tests import SYSTEM_MEASURES, CorpusEvaluation, MetaEvaluation
from trubleu.stats.paired import centred_p

if TYPE_CHECKING:
    from numpy.typing import NDArray

numbers = st.integers(-5, 5).map(float)


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 501])
def test_draws_are_those_of_the_kernel(rows: int) -> None:
    drawn = kernels.resample_sums(np.eye(rows), 20, 3, 99, 1)
    assert draw_counts(rows, 20, 99, first=3).tolist() == drawn.tolist()


@pytest.mark.parametrize("rows", [100_003, 199_831])
def test_draws_are_those_of_the_kernel_where_bits_are_passed_over(rows: int) -> None:
    values = np.stack([np.arange(rows) % 977, np.arange(rows)], axis=1)
    counts = draw_counts(rows, 3, 7)
    expected = [[float((row * values[:, column]).sum()) for column in (0, 1)] for row in counts]
    assert kernels.resample_sums(values.astype(np.float64), 3, 0, 7, 1).tolist() == expected


MEASURES = SYSTEM_MEASURES[1:]
"""Those that need no ratings of outputs."""

SCIPY = {"pearson": scipy_stats.pearsonr, "spearman": scipy_stats.spearmanr, "kendall": scipy_stats.kendalltau}


def corpora(people: Any, *scores: Any, statistics: Any = None) -> CorpusEvaluation:
    return CorpusEvaluation(
        np.array(people, float)[:, np.newaxis],
        np.array(scores, float)[:, :, np.newaxis],
        statistics=statistics or (None,) * len(scores),
    )


def scipys(measure: str, people: Any, scores: Any) -> float:
    if measure == "pairwise-accuracy":
        return float(wmt.accuracy(list(scores), list(people)) or 0)
    return float(SCIPY[measure](scores, people).statistic)


points = st.integers(3, 8).flatmap(
    lambda size: st.tuples(
        st.lists(numbers, min_size=size, max_size=size, unique=True),
        st.lists(numbers, min_size=size, max_size=size),
    )
)


@given(points, st.sampled_from(MEASURES), st.integers(0, 1000))
def test_measures_of_drawn_systems_are_scipys_of_repeated_ones(
    found: tuple[list[float], list[float]], measure: str, seed: int
) -> None:
    people, scores = (np.array(each) for each in found)
    random = np.random.default_rng(seed)
    for replicate in corpora(people, scores).replicates("system", measure, "systems", 5, seed)[:, 0].tolist():
        rows = random.integers(len(people), size=len(people))
        x, y = people[rows], scores[rows]
        if len(set(rows.tolist())) < 3 or (len(set(y)) == 1 and measure in SCIPY):
            assert np.isnan(replicate)
        else:
            assert replicate == pytest.approx(scipys(measure, x, y), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_pearson_of_huge_and_tiny_numbers(scale: float) -> None:
    x, y = np.array([[1.0, 2.0, 4.0]]), np.array([[1.0, 3.0, 3.5]])
    once = np.ones((1, 3), dtype=np.int64)
    assert weighted_pearson(x * scale, y, once)[0] == pytest.approx(scipy_stats.pearsonr(x[0], y[0]).statistic)


def test_pearson_of_a_constant_whose_mean_is_rounded() -> None:
    assert sum([0.1] * 3) / 3 != 0.1
    assert np.isnan(
        weighted_pearson(np.array([[1.0, 2.0, 4.0]]), np.full((1, 3), 0.1), np.ones((1, 3), dtype=np.int64))
    )


def test_a_score_that_is_missing_makes_a_resample_undefined() -> None:
    """The metric has no score where its first segment is not drawn."""

    def score(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(sums[..., 1] > 0, sums[..., 0], np.nan)

    rows = [np.array([[1.0 + system, 1.0], [2.0 * system, 0.0], [0.5, 0.0]]) for system in range(3)]
    whole = corpora([1.0, 2.0, 3.0], [3.5, 6.5, 9.5], statistics=((rows, score),))
    found = whole.replicates("system", "pearson", "segments", 40, 3)[:, 0]
    without_first = draw_counts(3, 40, 3)[:, 0] == 0
    assert np.isnan(found).tolist() == without_first.tolist()
    assert 0 < without_first.sum() < 40


def test_resamples_of_assessments_are_scipys_of_drawn_segments() -> None:
    rng = np.random.default_rng(5)
    people = rng.normal(size=(3, 6))
    people[0, 3:], people[1, [1, 4]] = np.nan, np.nan
    scores = np.round(people + rng.normal(size=people.shape), 1)
    evaluation = MetaEvaluation(people, scores[np.newaxis])
    for coefficient, of in SCIPY.items():
        random = np.random.default_rng(11)
        found = evaluation.replicates("segment", f"{coefficient}-pooled", "segments", 40, 11)[:, 0]
        for replicate in found.tolist():
            drawn = random.integers(6, size=6)
            there = np.isfinite(people[:, drawn])
            x, y = people[:, drawn][there], scores[:, drawn][there]
            expected = of(x, y).statistic if len(set(x)) > 1 and len(set(y)) > 1 else np.nan
            assert replicate == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_a_segment_drawn_alone_has_no_correlation() -> None:
    rng = np.random.default_rng(9)
    evaluation = MetaEvaluation(rng.random((1, 3)), rng.random((30, 1, 3)))
    random = np.random.default_rng(1)
    alone = [len(set(random.integers(3, size=3).tolist())) == 1 for _ in range(200)]
    assert any(alone)
    for coefficient in SCIPY:
        found = evaluation.replicates("segment", f"{coefficient}-pooled", "segments", 200, 1)
        assert np.isnan(found).tolist() == [[each] * 30 for each in alone]


@pytest.mark.parametrize("seed", range(10))
def test_drawing_only_equal_assessments_gives_no_correlation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tied, free = rng.random(2)[[0] * 9 + [1]], rng.random(10)
    for people, scores in ((tied, free), (free, tied)):
        evaluation = MetaEvaluation(people[np.newaxis], scores[np.newaxis, np.newaxis])
        r, rho = (
            np.isnan(evaluation.replicates("segment", f"{name}-pooled", "segments", 200, 1)[:, 0])
            for name in ("pearson", "spearman")  # the second is computed in whole numbers
        )
        assert 0 < rho.sum() < 200
        assert r.tolist() == rho.tolist()


def test_intervals_leave_out_undefined_resamples() -> None:
    assert ends_of(None, 0.95) == (None, None, 0)
    replicates = np.array([np.nan, 0.0, 1.0, 2.0])
    assert ends_of(replicates, 0.5) == (0.5, 1.5, 1)
    assert ends_of(np.array([np.nan, np.nan, np.nan, 2.0]), 0.5) == (None, None, 3)


def test_the_p_value_is_that_of_the_paired_bootstrap() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.3, size=(30, 1)), rng.normal(size=(30, 1))
    first, second = (np.concatenate([each, np.ones((30, 1))], axis=1) for each in (a, b))

    def mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return sums[..., 0] / sums[..., 1]

    test = paired_bootstrap(first, second, mean, resamples=200, seed=4)
    counts = draw_counts(30, 200, 4)
    replicates = (counts @ (a - b))[:, 0] / 30
    assert centred_p(replicates, test.difference) == test.p
    assert centred_p(np.array([np.nan]), 0.0) is None


@pytest.mark.parametrize("measure", MEASURES)
def test_differences_by_rounding_alone_are_ties(measure: str) -> None:
    people = [1.0, 2.0, 3.0, 4.0]
    dusty = corpora(people, [20.0, 20.0 + 5e-10, 30.0, 40.0], [20.0, 20.0 + 5e-10, 20.0, 20.0])
    exact = corpora(people, [20.0, 20.0, 30.0, 40.0], [20.0, 20.0, 20.0, 20.0])
    for draw in ("systems", "both"):
        wanted = exact.replicates("system", measure, draw, 20, 1)
        assert dusty.replicates("system", measure, draw, 20, 1) == pytest.approx(wanted, nan_ok=True, abs=1e-9)
    wanted = exact.values("system", measure).value
    assert dusty.values("system", measure).value == pytest.approx(wanted, nan_ok=True, abs=1e-9)


def test_the_system_level_is_scipys_of_corpus_scores() -> None:
    task = make_task()
    assert task.human is not None
    report = judged(task, resample="both")
    people = list(task.human.values())
    for name, metric in METRICS.items():
        sign = 1 if metric.higher_is_better else -1
        scores = [sign * metric.corpus(texts, task.references).score for texts in task.outputs.values()]
        for measure in MEASURES:
            row = report.measure("system", measure, name)
            assert row.value == pytest.approx(scipys(measure, people, scores), abs=1e-9)
        row = report.measure("system", "pearson", name)
        assert row.low is not None
        assert row.high is not None
        assert row.value is not None
        assert -1 <= row.low <= row.value <= row.high <= 1
    shown = {(row.system, row.metric): row.score for row in report.systems}
    assert shown["good", "ter"] == pytest.approx(METRICS["ter"].corpus(task.outputs["good"], task.references).score)
    assert report.setting.official == 5
    assert not any(row.measure == "soft-pairwise-accuracy" for row in report.measures)


@pytest.mark.parametrize("resample", ["segments", "systems", "both"])
def test_the_interval_of_systems_is_that_of_corpora_scored_again(resample: Any) -> None:
    task = make_task()
    assert task.human is not None
    report = judged(task, resample=resample, resamples=30)
    segments = draw_counts(SEGMENTS, 30, 12345)
    random = np.random.default_rng(12345)
    references = [[reference.text for reference in segment.references] for segment in task.references]
    replicates = []
    for of_segments in segments:
        rows = np.repeat(np.arange(SEGMENTS), of_segments if resample != "systems" else 1).tolist()
        kept = random.integers(5, size=5) if resample != "segments" else np.arange(5)
        scores = [
            METRICS["ter"].corpus([texts[row] for row in rows], [references[row] for row in rows]).score
            for texts in task.outputs.values()
        ]
        if len(set(kept.tolist())) >= 3:
            people = np.array(list(task.human.values()))[kept]
            replicates.append(-scipy_stats.pearsonr(np.array(scores)[kept], people).statistic)
    row = report.measure("system", "pearson", "ter")
    assert [row.low, row.high] == pytest.approx(np.quantile(replicates, [0.025, 0.975]).tolist(), abs=1e-9)


def test_drawing_systems_too_widens_the_interval() -> None:
    widths = {}
    for resample in ("segments", "both"):
        row = judged(make_task(), resample=resample, resamples=300).measure("system", "pearson", "bleu")
        assert row.low is not None
        assert row.high is not None
        widths[resample] = row.high - row.low
    assert widths["both"] > widths["segments"]


def test_metrics_are_compared_by_williams_or_by_swaps_of_standardised_scores() -> None:
    task = make_task()
    assert task.human is not None
    report = judged(task, test="williams")
    assert (report.setting.test, report.setting.system_test) == ("perm-input", "williams")
    rows = [row for row in report.differences if row.level == "system"]
    scores = {(row.metric, row.system): (-1 if row.metric == "ter" else 1) * row.score for row in report.systems}
    for row in rows:
        x, y = ([scores[metric, system] for system in SYSTEMS] for metric in (row.metric_x, row.metric_y))
        r = [report.measure("system", "pearson", metric).value for metric in (row.metric_x, row.metric_y)]
        assert row.difference == pytest.approx(r[0] - r[1])  # type: ignore[operator]
        test = williams_test(r[0], r[1], scipy_stats.pearsonr(x, y).statistic, 5)  # type: ignore[arg-type]
        assert row.p == pytest.approx(test.p)
        assert row.items_needed is None
    assert [row.p_holm for row in rows] == pytest.approx(holm([row.p or 0.0 for row in rows]).tolist())
    swapped = judged(task, trials=2000)
    assert swapped.setting.system_test == "perm-system"
    for row in (row for row in swapped.differences if row.level == "system"):
        x, y = ([scores[metric, system] for system in SYSTEMS] for metric in (row.metric_x, row.metric_y))
        wanted = permutation_of_metrics(x, y, list(task.human.values()), trials=2000).p
        assert row.p == pytest.approx(wanted, abs=0.05)


@pytest.mark.parametrize("test", ["perm-input", "williams", "bootstrap-segments", "bootstrap-both"])
def test_a_metric_differs_from_itself_with_p_1(test: Any) -> None:
    report = judged(make_task(), metrics={"a": Bleu(2), "b": Bleu(2)}, test=test)
    assert {(row.p, row.difference) for row in report.differences} == {(1.0, 0.0)}


def test_williams_test_needs_scipy_and_pearson(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="williams compares Pearson's r, not kendall; use pearson-pooled or pearson"):
        judged(make_task(), test="williams", system_measure="kendall")
    import sys

    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'trubleu\[judge\]'"):
        judged(make_task(), test="williams")


def test_few_systems_say_which_test_could_find_something() -> None:
    note = "5 systems cannot make a difference between 3 metrics significant; use --test williams"
    assert note in judged(make_task()).notes
    report = judged(make_task()._replace(rankings=None), test="williams")
    assert note not in report.notes
    assert "worse: williams (of Pearson's r), two-sided, p < 0.05 after" in render_ratings(report)
    both = judged(make_task(), test="bootstrap-both")
    assert (both.setting.test, both.setting.system_test) == ("perm-input", "bootstrap-both")


def test_people_who_only_scored_systems() -> None:
    task = make_task()
    alone = judged(task._replace(rankings=None))
    beside = judged(task)
    assert [row.level for row in alone.verdicts] == ["system"]
    for row in alone.measures:
        assert row == beside.measure(row.level, row.measure, row.metric)
    assert alone.systems == beside.systems
    assert alone.setting.kind == "official"
    text = render_ratings(alone)
    assert text.startswith(alone.verdicts[0].verdict)
    assert "5 systems, 30 items, official scores" in text
    assert "the score of a system is that of its corpus" in text
    assert alone.verdicts[0].verdict in render_ratings_page(alone)
    with pytest.raises(UsageError, match="acc-eq needs ratings or rankings of outputs; give --ratings FILE"):
        judged(task._replace(rankings=None), segment_measure="acc-eq")
    with pytest.raises(UsageError, match="there is nothing to judge by; give ratings, rankings or official scores"):
        judged(task._replace(rankings=None, human=None))
    sets = judge_sets({"de-en": alone, "en-ru": judged(make_task(50)._replace(rankings=None))})
    assert {row.level for row in sets.values} == {"system"}
    assert sets.verdict in render_sets(sets)


def test_averages_over_sets_leave_out_what_is_undefined_but_not_zeros() -> None:
    reports = {name: judged(make_task(seed)) for name, seed in (("de-en", 0), ("en-ru", 50))}
    sets = judge_sets(reports)
    assert [(row.level, row.metric) for row in sets.averages] == [
        (level, row.metric) for level in ("segment", "system") for row in reports["de-en"].headline(level)
    ]
    for row in sets.averages:
        values = [each.measure(row.level, row.measure, row.metric).value or 0.0 for each in reports.values()]
        assert row.value == pytest.approx(sum(values) / 2)
        assert row.sets == 2
        ends = [each.measure(row.level, row.measure, row.metric) for each in reports.values()]
        assert row.low is not None
        assert row.high is not None
        assert row.low <= row.value <= row.high
        assert row.high - row.low < max((each.high or 0.0) - (each.low or 0.0) for each in ends)
    alone = judge_sets({name: replace(each, replicates={}) for name, each in reports.items()})
    assert {row.low for row in alone.averages} == {None}
    below = render_sets(sets).partition("Averages over sets\n")[2].splitlines()
    assert [line.split()[0] for line in below[2:4]] == ["segment", "system"]
    assert "Averages over sets" in render_sets_page(sets)
    # τ = 0 is a value: as often right as wrong.
    taus = [((1, 2), (1, 2)), ((1, 2), (2, 1))]
    scores = scores_in_order((2.0, 1.0), (2.0, 1.0))
    both = {
        str(place): judge_ratings(
            {}, None, ranked(*ranks), {}, scores=[scores], resamples=5, segment_measure="tau-wmt14"
        )
        for place, ranks in enumerate(taus)
    }
    [average] = judge_sets(both).averages
    assert (average.value, average.sets) == (0.5, 2)
    flat = judge_ratings(
        {}, None, ranked((1, 2)), {}, scores=[scores_in_order((1.0, 1.0))], resamples=5, segment_measure="tau-wmt14"
    )
    [average] = judge_sets({**both, "flat": flat}).averages
    assert (average.value, average.sets) == (0.5, 2)


def test_ratings_beside_official_scores() -> None:
    task = make_task()
    rng = np.random.default_rng(2)
    cells = [(str(item + 1), system) for item in range(SEGMENTS) for system in SYSTEMS[:2]]
    rated = Ratings(
        [i for i, _ in cells], [s for _, s in cells], ["ann"] * len(cells), rng.integers(1, 6, len(cells)).tolist()
    )
    by_r = judged(task._replace(rankings=rated), test="williams", segment_measure="pearson-pooled")
    assert (by_r.setting.test, by_r.setting.system_test) == ("williams", "williams")
    report = judged(task._replace(rankings=rated))
    assert (report.setting.systems, report.setting.official) == (2, 5)
    ratings = np.array(rated.score, float)
    for name in METRICS:
        scores = [scores_of(task, name)[system][int(item) - 1] for item, system in cells]
        value = report.measure("segment", "pearson-pooled", name).value
        assert value == pytest.approx(scipy_stats.pearsonr(scores, ratings).statistic, abs=1e-8)
        other = judged(task).measure("system", "pearson", name)
        assert report.measure("system", "pearson", name) == other


def segment_file(name: str, sign: float = 1.0, without: tuple[tuple[str, str], ...] = ()) -> SegmentScores:
    task = make_task()
    scores = scores_of(task, "sbleu")
    rows = [(system, str(place + 1), sign * float(v)) for system in SYSTEMS for place, v in enumerate(scores[system])]
    systems, segments, values = zip(*(row for row in rows if row[:2] not in without), strict=True)
    return SegmentScores(name, systems, segments, values, source=f"{name}.seg.score")


def test_the_system_scores_of_a_file_are_means() -> None:
    task = make_task()
    report = judged(task, scores=[segment_file("other"), segment_file("upside", -1.0)], lower_is_better=["upside"])
    for row in report.measures:
        if row.metric in ("other", "upside"):
            ours = report.measure(row.level, row.measure, "sbleu")
            assert [row.value, row.low, row.high] == pytest.approx([ours.value, ours.low, ours.high])
    assert "other: the score of a system is the mean of its segment scores" in report.notes
    assert max(row.score for row in report.systems if row.metric == "upside") < 0
    alone = judge_ratings({}, None, None, {}, human=task.human, scores=[segment_file("other")], resamples=50, trials=9)
    assert alone.measure("system", "pearson", "other") == pytest.approx(report.measure("system", "pearson", "other"))


def test_files_of_wmt_leave_the_test_set_out_of_the_names_of_systems() -> None:
    task = make_task()
    own = segment_file("other")
    scores = SegmentScores("other", own.system, own.segment, own.score, "de-en", "news")
    longer = task._replace(outputs={f"news.{name}": texts for name, texts in task.outputs.items()}, rankings=None)
    assert task.human is not None
    longer = longer._replace(human={f"news.{name}": score for name, score in task.human.items()})
    report, wanted = judged(longer, scores=[scores]), judged(task._replace(rankings=None), scores=[own])
    assert report.measure("system", "pearson", "other") == wanted.measure("system", "pearson", "other")


def test_a_file_without_some_scores() -> None:
    gaps = (("fair", "3"), ("bad", "7"))
    report = judged(make_task()._replace(rankings=None), scores=[segment_file("other", without=gaps)])
    note = "other: the score of a system is the mean of its segment scores over the 28 items that all systems have"
    assert note in report.notes
    nothing = tuple(("fair", str(place + 1)) for place in range(SEGMENTS))
    with pytest.raises(DataError, match="other has no item with scores of all systems; add what is missing"):
        judged(make_task()._replace(rankings=None), scores=[segment_file("other", without=nothing)])


def test_names_that_people_use_for_systems() -> None:
    task = make_task()
    assert task.human is not None
    renamed = {f"{name}.1234.de-en.txt": score for name, score in task.human.items()}
    assert judged(task._replace(human=renamed)).to_dict() == judged(task).to_dict()


def test_people_know_systems_that_are_not_here() -> None:
    task = make_task()
    assert task.human is not None
    outputs = {name: texts for name, texts in task.outputs.items() if name != "fair"}
    with pytest.warns(TrubleuWarning) as caught:
        report = judged(task._replace(outputs=outputs))
    assert [str(warning.message) for warning in caught] == [
        "rankings rates 1 system without outputs (fair), left out; correct the names if they are there under others",
        "people score 1 system without outputs (fair), left out; correct the names if they are there under others",
    ]
    assert report.setting.official == 4
    people = {name: score for name, score in task.human.items() if name != "bad"}
    with pytest.warns(TrubleuWarning, match="no official score, left out of the system level: bad"):
        assert judged(task._replace(human=people)).setting.official == 4
    left_out = judged(task, without=["bad"])
    assert (left_out.setting.systems, left_out.setting.official) == (4, 4)


def test_fewer_than_three_systems_and_outputs_that_are_missing() -> None:
    task = make_task()
    two = task._replace(outputs={name: task.outputs[name] for name in SYSTEMS[:2]}, rankings=None)
    with (
        pytest.raises(DataError, match="needs at least 3 systems with official scores; there are 2"),
        pytest.warns(TrubleuWarning, match="people score 3 systems without outputs"),
    ):
        judged(two)
    strangers = task._replace(human={"x": 1.0, "y": 2.0, "z": 3.0})
    with pytest.raises(DataError, match="no official score is of a system that is here: they are of x, y, z, and the"):
        judged(strangers)
    gap = {**task.outputs, "poor": [*task.outputs["poor"][:-1], None]}
    with pytest.raises(DataError, match="poor has no output for 30, which is part of the corpus; add the output, or"):
        judged(task._replace(outputs=gap, rankings=None))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="soft-pairwise-accuracy needs ratings of outputs, not of systems"):
        judged(task, system_measure="soft-pairwise-accuracy")


def test_constant_scores_and_people_who_do_not_differ() -> None:
    task = make_task()
    names = [name for name in SYSTEMS for _ in range(SEGMENTS)]
    flat = SegmentScores("flat", names, [str(i + 1) for i in range(SEGMENTS)] * 5, [0.5] * (5 * SEGMENTS))
    report = judged(task, scores=[flat], segment_measure="tau-wmt14")
    row = report.measure("system", "pearson", "flat")
    assert (row.value, row.low, row.reason) == (None, None, "all its scores are equal")
    assert report.measure("segment", "tau-wmt14", "flat").value is None
    assert "flat" not in {row.metric_y for row in report.differences} | {row.metric_x for row in report.differences}
    assert "nan" not in render_ratings(report).lower()
    same = judged(task._replace(human=dict.fromkeys(SYSTEMS, 1.0), rankings=None))
    assert {row.value for row in same.measures if row.measure == "pearson"} == {None}
    assert same.verdicts[0].verdict.startswith("On systems, Pearson r is undefined for every metric")


WEIGHTED = {"bleu": Bleu(2), "dbleu": DeltaBleu(2), "sdbleu": SentenceDeltaBleu(2)}
WORTHLESS = {3: [0.0, -0.5], 11: [-1.0, -1.0], 29: [0.0, 0.0]}


@pytest.mark.filterwarnings("ignore:.*both ways")
@pytest.mark.parametrize("identical", ["expanded", "collapsed"])
def test_every_number_is_as_if_segments_without_a_good_reference_were_not_there(identical: str) -> None:
    task = make_task()
    texts = [[f"w{s}0 w{s}1 w{s}2 w{s}3", f"w{s}4 w{s}5 w{s}6 w{s}7"] for s in range(SEGMENTS)]
    weights = [WORTHLESS.get(s, [0.9, 0.5]) for s in range(SEGMENTS)]
    kept = [s for s in range(SEGMENTS) if s not in WORTHLESS]
    found = task.rankings
    assert isinstance(found, Rankings)
    rows = [row for row in range(len(found)) if int(found.segments[found.segment[row]]) - 1 in kept]
    rankings = Rankings.from_columns(
        segment=[found.segments[found.segment[row]] for row in rows],
        system_a=[found.systems[found.system_a[row]] for row in rows],
        rank_a=found.rank_a[rows].tolist(),
        system_b=[found.systems[found.system_b[row]] for row in rows],
        rank_b=found.rank_b[rows].tolist(),
        judge=[found.judges[found.judge[row]] for row in rows],
        ranking=[str(found.ranking[row]) for row in rows],
    )
    short = task._replace(
        outputs={name: [own[s] for s in kept] for name, own in task.outputs.items()},
        references=References.from_lists(
            [texts[s] for s in kept], [weights[s] for s in kept], [str(s + 1) for s in kept]
        ),
        rankings=rankings,
    )
    whole = task._replace(references=References.from_lists(texts, weights))
    options: dict[str, Any] = {"metrics": WEIGHTED, "identical": identical, "scores": [segment_file("file")]}
    one, two = judged(whole, **options), judged(short, **options)
    assert (one.measures, one.differences, one.systems) == (two.measures, two.differences, two.systems)
    assert "3 items without a reference of positive weight, left out for every metric" in one.notes
    beside = judged(whole, metrics={"bleu": Bleu(2)}, identical=identical, scores=[segment_file("file")])
    for row in beside.measures:
        assert (row.value, row.low) == ((other := one.measure(row.level, row.measure, row.metric)).value, other.low)
