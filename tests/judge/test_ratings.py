"""Judging by ratings: what is found out from the data, what is said, and the peers' numbers on real sets."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import trubleu
from trubleu.data import Rankings, Ratings, References, SegmentScores, read_published
from trubleu.data.outputs import match_systems
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.judge import judge_ratings, judge_sets
from trubleu.judge.ratings.results import SignatureRow, measure_title
from trubleu.render import render_ratings, render_sets
from trubleu.render.judge_ratings import render_ratings_page
from trubleu.stats.metric_tests import SEGMENT_MEASURES, SYSTEM_MEASURES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType
    from typing import Any

    from numpy.typing import NDArray

    from trubleu.data.sets import EvaluationSet
    from trubleu.judge import RatingsReport

SYSTEMS = ("A", "B", "C", "D", "E")


def world(
    systems: int = 5, items: int = 30, metrics: int = 3, seed: int = 1, steps: int = 5, noise: float = 1.0
) -> tuple[Ratings, SegmentScores, NDArray[np.float64], NDArray[np.float64]]:
    """Return ratings and scores of metrics of growing noise: good, fair, poor."""
    random = np.random.default_rng(seed)
    quality = random.normal(size=(systems, items)) + random.normal(size=(systems, 1))
    people = np.clip(np.round(quality + steps / 2), 1, steps)
    scores = quality + noise * np.arange(1, metrics + 1)[:, None, None] * random.normal(size=(metrics, systems, items))
    cells = [(SYSTEMS[s], str(i + 1), s, i) for s in range(systems) for i in range(items)]
    ratings = Ratings(
        [item for _, item, _, _ in cells],
        [system for system, _, _, _ in cells],
        ["ann"] * len(cells),
        [int(people[s, i]) for _, _, s, i in cells],
        scale=(1, steps),
    )
    rows = [(name, *cell) for name in enumerate(("good", "fair", "poor")[:metrics]) for cell in cells]
    given = SegmentScores(
        [name for (_, name), *_ in rows],
        [system for _, system, *_ in rows],
        [item for _, _, item, _, _ in rows],
        [float(scores[number, s, i]) for (number, _), _, _, s, i in rows],
    )
    return ratings, given, people, scores


def kept_rows(of: Any, names: tuple[str, ...], rows: list[int]) -> Any:
    """Return ratings or scores with some of their rows, in this order."""
    return type(of)(**{name: [getattr(of, name)[row] for row in rows] for name in names})


RATING = ("item", "system", "rater", "score")
SCORE = ("metric", "system", "segment", "score")


def judged(ratings: Ratings | Rankings, scores: SegmentScores, **options: Any) -> RatingsReport:
    return judge_ratings({}, None, ratings, {}, scores=[scores], **{"resamples": 50, "trials": 200, **options})


def test_the_verdict_names_the_best_metric_and_whether_it_is_significant() -> None:
    ratings, scores, _, _ = world(items=60)
    report = judged(ratings, scores)
    first, second = (row.verdict for row in report.verdicts)
    assert first.startswith("good agrees best with people on single outputs: acc*_eq .")
    assert "significantly better than all others (p ≤ .0" in first
    assert second.startswith("good agrees best with people on systems: soft pairwise accuracy .")
    assert [row.metric for row in report.headline("segment")] == ["good", "fair", "poor"]
    assert [row.cluster for row in report.headline("segment")] == [1, 2, 2]
    assert [row.not_worse for row in report.headline("segment")] == [True, False, False]
    for row in report.headline("segment"):
        assert row.low is not None
        assert row.high is not None
        assert row.value is not None
        assert row.low < row.value < row.high


def test_metrics_that_agree_equally_are_not_told_apart() -> None:
    ratings, scores, _, _ = world(items=12, metrics=1)
    rows = range(len(scores.score))
    twin = SegmentScores(["twin" for _ in rows], scores.system, scores.segment, [2 * each for each in scores.score])
    report = judge_ratings({}, None, ratings, {}, scores=[scores, twin], resamples=20, trials=20)
    for row in report.verdicts:
        assert row.verdict.endswith(", with the same value as twin.")


def test_little_data_says_how_much_would_settle_it() -> None:
    ratings, scores, _, _ = world(items=12, metrics=2, seed=9, noise=3.0)
    report = judged(ratings, scores)
    verdict = report.verdicts[0].verdict
    assert "but not significantly better than" in verdict
    assert "rated items would settle the difference to" in verdict
    [difference] = [row for row in report.differences if row.level == "segment"]
    assert difference.items_needed is not None
    assert difference.items_needed > 12
    more = judged(*world(items=4 * difference.items_needed, metrics=2, seed=6, noise=3.0)[:2])
    assert more.differences[0].p_holm is not None
    assert more.differences[0].p_holm < 0.05


def test_every_measure_is_there_and_has_a_title() -> None:
    ratings, scores, _, _ = world()
    report = judged(ratings, scores)
    assert {row.measure for row in report.measures if row.level == "segment"} == set(SEGMENT_MEASURES)
    assert {row.measure for row in report.measures if row.level == "system"} == set(SYSTEM_MEASURES)
    assert all(measure_title(row.level, row.measure) for row in report.measures)
    assert sum(row.headline for row in report.measures) == 6
    assert {row.metric for row in report.systems} == {"good", "fair", "poor"}
    assert report.to_dict()["setting"][0]["systems"] == 5


@pytest.mark.parametrize("test", ["perm-both", "bootstrap-segments", "bootstrap-systems", "bootstrap-both"])
def test_other_tests_and_measures(test: Any) -> None:
    ratings, scores, _, _ = world()
    report = judged(
        ratings, scores, test=test, segment_measure="kendall-item", system_measure="pearson", resample="both", trials=60
    )
    assert report.setting.segment_measure == "kendall-item"
    assert {row.measure for row in report.differences} == {"kendall-item", "pearson"}
    assert all(row.p is not None and 0 < row.p <= 1 for row in report.differences)


def test_the_same_seed_gives_the_same_bits_and_the_order_of_rows_does_not_matter() -> None:
    ratings, scores, _, _ = world()
    turned = kept_rows(ratings, RATING, [*range(len(ratings))][::-1])
    one, two = judged(ratings, scores), judged(ratings, scores)
    assert one.to_dict() == two.to_dict()
    other = {(row.level, row.measure, row.metric): row.value for row in judged(turned, scores).measures}
    for row in one.measures:
        if row.measure != "soft-pairwise-accuracy":  # its random signs belong to the items in their order
            assert other[row.level, row.measure, row.metric] == pytest.approx(row.value, abs=1e-9)


def test_few_systems_have_no_system_level() -> None:
    ratings, scores, _, _ = world(systems=3)
    report = judged(ratings, scores)
    assert [row.level for row in report.verdicts] == ["segment"]
    assert "the system level needs at least 5 systems; there are 3" in report.notes
    with pytest.raises(UsageError, match="pearson needs 5 systems and there are 3; leave it out"):
        judged(ratings, scores, system_measure="pearson")


def test_one_system_is_judged_across_items() -> None:
    ratings, scores, _, _ = world(systems=1)
    report = judged(ratings, scores)
    assert report.setting.segment_measure == "pearson-pooled"
    assert {row.measure for row in report.measures} == {
        "pearson-pooled", "spearman-pooled", "kendall-pooled", "kendall-c-pooled",
    }  # fmt: skip
    assert "all outputs are of one system, A; measures by item and of systems need several" in report.notes
    with pytest.raises(UsageError, match="acc-eq compares outputs of one item, and no item has two"):
        judged(ratings, scores, segment_measure="acc-eq")


def test_gaps_are_left_out() -> None:
    ratings, scores, people, numbers = world()
    kept = [row for row in range(len(ratings)) if row % 7]
    part = kept_rows(ratings, RATING, kept)
    report = judged(part, scores)
    assert report.setting.outputs == len(kept)
    assert any("of all outputs are rated" in note for note in report.notes)
    rated = np.full(people.size, False)
    rated[kept] = True
    r = np.corrcoef(people.ravel()[rated], numbers[0].ravel()[rated])[0, 1]
    assert report.measure("segment", "pearson-pooled", "good").value == pytest.approx(r)


def test_people_without_ties_need_no_calibration() -> None:
    ratings, scores, _, _ = world()
    apart = Ratings(ratings.item, ratings.system, ratings.rater, [*range(len(ratings))], scale=(0, len(ratings)))
    report = judged(apart, scores)
    assert any(note.startswith("people tied no pair of outputs") for note in report.notes)
    assert all(row.epsilon == 0.0 for row in report.headline("segment"))


def renamed(scores: SegmentScores, names: Sequence[str]) -> SegmentScores:
    """Return the scores of the first metric under several names, each with noise of its own."""
    rows = [
        (name, system, segment, score + 0.1 * number * np.random.default_rng(place).normal())
        for number, name in enumerate(names)
        for place, (metric, system, segment, score) in enumerate(
            zip(scores.metric, scores.system, scores.segment, scores.score, strict=True)
        )
        if metric == scores.metric[0]
    ]
    metrics, systems, segments, values = zip(*rows, strict=True)
    return SegmentScores([*metrics], [*systems], [*segments], [*values])


def nearly_equal() -> tuple[Ratings, SegmentScores]:
    """Ratings that are 1 for all outputs but one, and scores of two metrics, the second of which finds that one."""
    ratings, scores, _, _ = world(metrics=2)
    item, system = ratings.item[-1], ratings.system[-1]
    rated = [5 if (i, s) == (item, system) else 1 for i, s in zip(ratings.item, ratings.system, strict=True)]
    of_scores = zip(scores.metric, scores.system, scores.segment, scores.score, strict=True)
    found = [9.0 + score if (m, s, i) == ("fair", system, item) else score for m, s, i, score in of_scores]
    given = SegmentScores(scores.metric, scores.system, scores.segment, found)
    return Ratings(ratings.item, ratings.system, ratings.rater, rated), given


def test_where_calibration_ties_everything_the_next_measure_decides() -> None:
    ratings, scores = nearly_equal()
    with pytest.warns(TrubleuWarning, match="calibration ties more than 95 % of all pairs for the best metric"):
        report = judged(ratings, scores)
    assert report.setting.segment_measure == "kendall-item"
    assert report.best("segment") == "fair"
    assert report.verdicts[0].verdict.startswith("fair agrees best with people on single outputs: Kendall τ-b by item")
    assert "acc*_eq" not in report.verdicts[0].verdict


@pytest.mark.filterwarnings("ignore:calibration ties")
@pytest.mark.parametrize("style", ["text", "markdown", "latex", "json", "csv", "html"])
def test_a_measure_that_ties_everything_names_no_winner(style: str) -> None:
    ratings, scores = nearly_equal()
    with pytest.warns(TrubleuWarning, match=r"acc\*_eq does not tell metrics apart: calibration ties more than 95 %"):
        report = judged(ratings, scores, segment_measure="acc-eq-calibrated")
    (sentence, *_) = (row.verdict for row in report.verdicts)
    assert sentence.startswith("On single outputs, acc*_eq does not tell metrics apart")
    assert sentence.endswith("; use --segment-measure kendall-item.")
    assert report.best("segment") is None
    shown = render_ratings_page(report) if style == "html" else render_ratings(report, style)
    assert "agrees best with people on single outputs" not in shown
    assert "does not tell metrics apart" in shown


@pytest.mark.filterwarnings("ignore")
def test_a_set_that_tells_no_metrics_apart_is_left_out_of_many() -> None:
    ratings, scores, _, _ = world(metrics=2)
    whole = judged(ratings, scores)
    constant = SegmentScores(scores.metric, scores.system, scores.segment, [7.0] * len(scores.score))
    nothing = judged(ratings, constant)
    assert nothing.best("segment") is None
    assert "no other measure of single outputs is defined" in nothing.verdicts[0].verdict
    both = judge_sets({"whole": whole, "nothing": nothing})
    assert {row.set for row in both.values if row.level == "segment"} == {"whole"}
    assert "nothing, segment level is left out: no measure tells the metrics apart" in both.notes


def test_a_constant_metric_is_undefined_with_its_reason() -> None:
    ratings, scores, _, _ = world(metrics=2)
    flat = [7.0 if name == "fair" else score for name, score in zip(scores.metric, scores.score, strict=True)]
    given = SegmentScores(scores.metric, scores.system, scores.segment, flat)
    report = judged(ratings, given, segment_measure="pearson-item", system_measure="kendall")
    row = report.measure("segment", "pearson-item", "fair")
    assert row.value is None
    assert row.reason == "all its scores are equal"
    assert report.headline("segment")[-1].metric == "fair"
    assert report.verdicts[0].verdict.endswith("; there is no other metric to compare it with.")
    (note,) = (each for each in report.notes if "undefined" in each)
    assert note.startswith("fair: Pearson r by item, Pearson r pooled, Spearman ρ pooled and ")
    assert note.endswith(" more are undefined, as all its scores are equal")
    every = SegmentScores(scores.metric, scores.system, scores.segment, [7.0] * len(scores.score))
    verdict = judged(ratings, every, segment_measure="pearson-item").verdicts[0].verdict
    assert verdict == "On single outputs, Pearson r by item is undefined for every metric: all its scores are equal."


def test_one_rated_output_and_one_rated_item_are_told_of() -> None:
    ratings, scores, _, _ = world(items=1)
    with pytest.warns(TrubleuWarning, match="1 item cannot make a difference between 3 metrics significant"):
        report = judged(ratings, scores)
    assert all(row.low is None for row in report.measures)
    assert "one item is rated, so there are no intervals over items" in report.notes
    assert {row.items_needed for row in report.differences} == {None}
    assert not any("would settle" in row.verdict for row in report.verdicts)
    with pytest.raises(DataError, match="rates one output only, and a metric is judged by several; rate more outputs"):
        judged(Ratings(["1"], ["A"], ["ann"], [3]), scores)


@pytest.mark.parametrize("test", ["perm-input", "perm-both", "perm-system", "bootstrap-segments"])
@pytest.mark.parametrize("seed", [3, 11, 23])
def test_a_metric_on_another_scale_is_the_same_metric(test: Any, seed: int) -> None:
    ratings, scores, _, _ = world(metrics=1, items=20, seed=seed)
    rows = [*zip(scores.system, scores.segment, scores.score, strict=True)]
    given = SegmentScores(
        [name for name in ("percent", "share") for _ in rows],
        [system for system, _, _ in rows] * 2,
        [item for _, item, _ in rows] * 2,
        [score * unit for unit in (1.0, 0.01) for _, _, score in rows],
    )
    report = judged(ratings, given, test=test, segment_measure="pearson-pooled", system_measure="pearson")
    for row in (*report.differences, *judged(ratings, given, test="perm-input").differences):
        assert (row.difference, row.p, row.items_needed) == (0.0, 1.0, None)
    assert all("with the same value as" in row.verdict for row in report.verdicts)


def test_swaps_that_leave_a_metric_without_an_item() -> None:
    """Metric a is defined on five items, b on another: a swap of all leaves a mean over none, of a sum not quite 0."""
    random = np.random.default_rng(4)
    scores = random.normal(size=(2, 5, 9))
    scores[0, :, 5:] = scores[1, :, :8] = 0.0
    cells = [(system, str(item)) for system in SYSTEMS for item in range(9)]
    rated = [int(each) for each in random.permutation(np.repeat(np.arange(1, 6), 9))]
    ratings = Ratings([item for _, item in cells], [system for system, _ in cells], ["ann"] * 45, rated)
    names = [name for name in "ab" for _ in cells]
    given = SegmentScores(names, [s for s, _ in cells] * 2, [i for _, i in cells] * 2, scores.ravel().tolist())
    report = judged(ratings, given, segment_measure="pearson-item", trials=1000)
    row = next(row for row in report.differences if row.level == "segment")
    assert row.p is not None
    assert row.items_needed is not None


def test_p_values_that_cannot_be_lower_say_so() -> None:
    ratings, scores, _, _ = world(items=60)
    report = judged(ratings, scores, trials=19)
    assert min(row.p or 1.0 for row in report.differences) == 1 / 20
    note = "p (Holm) is at least 0.15 with 19 trials and 3 tests; --trials 3000 lets it be lower"
    assert report.notes.count(note) == 1
    assert note in render_ratings(report)
    assert "lets it be lower" not in " ".join(judged(ratings, scores, trials=3000).notes)


def test_several_raters_and_aspects_are_means() -> None:
    ratings, scores, people, numbers = world(metrics=1)
    twice = len(ratings)
    both = Ratings(
        [*ratings.item] * 2,
        [*ratings.system] * 2,
        ["ann"] * twice + ["bob"] * twice,
        [*ratings.score, *(6 - int(score) for score in ratings.score)],
        aspect=["style"] * twice + ["facts"] * twice,
    )
    with pytest.raises(DataError, match="got the same mean rating, 3, so no metric can agree or disagree"):
        judged(both, scores)
    style = Ratings(both.item, both.system, both.rater, [*both.score[:twice], *both.score[:twice]], aspect=both.aspect)
    report = judged(style, scores)
    assert {(row.aspect, row.metric) for row in report.aspects} == {("style", "good"), ("facts", "good")}
    assert len({row.value for row in report.aspects}) == 1
    assert report.setting.aspects == "style, facts"
    r = np.corrcoef(people.ravel(), numbers[0].ravel())[0, 1]
    assert report.measure("segment", "pearson-pooled", "good").value == pytest.approx(r)


def test_texts_are_scored_where_somebody_rated_them() -> None:
    references = References.from_lists([["a b c"], ["d e"], ["f g h"]])
    outputs = {"A": ["a b", "d", None], "B": ["a c", None, "f g h"]}
    ratings = Ratings(["1", "2", "1", "3"], ["A", "A", "B", "B"], ["ann"] * 4, [4, 2, 3, 5])
    with pytest.warns(TrubleuWarning, match="3 items cannot make a difference between 2 metrics significant"):
        report = judge_ratings(
            outputs,
            references,
            ratings,
            {"chrf": trubleu.metric("chrf"), "ter": trubleu.metric("ter")},
            resamples=20,
            segment_measure="pearson-pooled",
        )
    texts = ["a b", "d", "a c", "f g h"]
    own = trubleu.metric("chrf").segments(texts, [["a b c"], ["d e"], ["a b c"], ["f g h"]])
    assert report.measure("segment", "pearson-pooled", "chrf").value == pytest.approx(
        np.corrcoef(own, [4, 2, 3, 5])[0, 1]
    )
    errors = trubleu.metric("ter").segments(texts, [["a b c"], ["d e"], ["a b c"], ["f g h"]])
    wanted = -np.corrcoef(errors, [4, 2, 3, 5])[0, 1]
    assert report.measure("segment", "pearson-pooled", "ter").value == pytest.approx(wanted)
    assert [row.metric for row in report.signatures] == ["chrf", "ter"]
    with pytest.raises(DataError, match="A has no output for 3, which somebody rated"):
        judge_ratings(
            outputs, references, Ratings(["3", "1"], ["A", "B"], ["x", "x"], [1, 2]), {"chrf": trubleu.metric("chrf")}
        )


def test_items_without_a_good_reference_are_left_out_of_every_metric() -> None:
    texts = ["the cat sat", "no idea", "good morning to you", "it rains"]
    outputs = {"A": ["the cat", "no idea", "good day", "it rains"], "B": ["a dog", "what", "morning", "sun"]}
    weights = [[1.0], [-0.5], [0.5], [1.0]]
    rows = [(str(item), system, (item * 7 + ord(system)) % 5 + 1) for item in range(1, 5) for system in outputs]
    metrics = {name: trubleu.metric(name) for name in ("dbleu-2", "chrf")}

    def rated(kept: list[tuple[str, str, int]]) -> Ratings:
        return Ratings([i for i, _, _ in kept], [s for _, s, _ in kept], ["ann"] * len(kept), [r for *_, r in kept])

    def found(kept: list[int]) -> RatingsReport:
        ids = tuple(str(item + 1) for item in kept)
        references = References.from_lists([[texts[at]] for at in kept], [weights[at] for at in kept], ids=ids)
        own = {system: [each[at] for at in kept] for system, each in outputs.items()}
        wanted = [row for row in rows if row[0] in ids or len(kept) == len(texts)]
        return judge_ratings(own, references, rated(wanted), metrics, resamples=20)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)  # three items say little
        whole, rest = found([0, 1, 2, 3]), found([0, 2, 3])
    assert whole.measures == rest.measures
    assert whole.setting.items == 3
    assert "1 item without a reference of positive weight, left out for every metric" in whole.notes
    assert not any("without outputs" in note for note in whole.notes)
    bad = References.from_lists([["a"]], [[-1.0]], ids=("1",))
    with pytest.raises(DataError, match="no segment of references has a reference of positive weight; add some"):
        judge_ratings({"A": ["a"], "B": ["b"]}, bad, rated(rows[:2]), metrics)


def test_rankings_give_accuracies() -> None:
    rankings = Rankings.from_columns(
        segment=["1", "1", "2"], system_a=["A", "A", "B"], rank_a=[1, 2, 1], system_b=["B", "C", "C"], rank_b=[2, 2, 3]
    )
    scores = SegmentScores(["m"] * 6, ["A", "B", "C"] * 2, ["1"] * 3 + ["2"] * 3, [3.0, 2.0, 2.9, 1.0, 5.0, 6.0])
    report = judged(rankings, scores)
    assert report.setting.kind == "rankings"
    assert report.measure("segment", "acc-eq", "m").value == pytest.approx((0.5 + 0.0) / 2)
    assert report.measure("segment", "acc-eq-calibrated", "m").value == pytest.approx((1.0 + 0.0) / 2)
    assert report.measure("segment", "acc-eq-calibrated", "m").epsilon == pytest.approx(0.1)
    with pytest.raises(UsageError, match="ranked pairs have no scores to correlate with"):
        judged(rankings, scores, segment_measure="pearson-item")
    with pytest.raises(UsageError, match="systems cannot be drawn or swapped"):
        judged(rankings, scores, test="bootstrap-systems")
    tied = Rankings.from_columns(segment=["1"], system_a=["A"], rank_a=[1], system_b=["B"], rank_b=[1])
    with pytest.raises(DataError, match="people rank the outputs of every pair equal, so no metric can agree"):
        judged(tied, scores)
    with pytest.raises(DataError, match="they are of A, B, C on 1, 2, and the outputs are of X on 1, 2; use the same"):
        judge_ratings(
            {"X": ["a", "b"]},
            References.from_lists([["a"], ["b"]]),
            rankings,
            {"chrf": trubleu.metric("chrf")},
            resamples=5,
        )


@pytest.mark.filterwarnings("ignore::trubleu.TrubleuWarning")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"system": ["X", "Y"]}, "no rating in ratings is of an output that is here: they are of X, Y on 1"),
        ({"item": ["8", "9"]}, "no rating in ratings is of an output that is here"),
        ({"item": [], "system": [], "rater": [], "score": []}, "ratings has no ratings; give one per row"),
        ({"score": [3, 3]}, "all 2 rated outputs got the same mean rating, 3"),
    ],
)
def test_ratings_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    columns: dict[str, Any] = {"item": ["1", "1"], "system": ["A", "B"], "rater": ["x", "x"], "score": [1, 2], **change}
    with pytest.raises(DataError, match=message):
        judge_ratings(
            {"A": ["a"], "B": ["b"]},
            References.from_lists([["a"]]),
            Ratings(**columns),
            {"chrf": trubleu.metric("chrf")},
        )


def test_unknown_systems_and_items_are_left_out_and_said() -> None:
    ratings, scores, _, _ = world()
    references = References.from_lists([["a"]] * 30)
    outputs = {name: ["a"] * 15 + ["b"] * 15 for name in SYSTEMS[:4]}
    with pytest.warns(
        TrubleuWarning, match=r"ratings rates 1 system without outputs \(E\), left out; correct the names"
    ):
        report = judge_ratings(outputs, references, ratings, {}, scores=[scores], resamples=10)
    assert report.setting.systems == 4
    assert report.setting.ratings == sum(system != "E" for system in ratings.system)


def test_scores_that_are_missing_are_said() -> None:
    ratings, scores, _, _ = world(metrics=1)
    kept = [row for row in range(len(scores)) if scores.system[row] != "E"]
    part = kept_rows(scores, SCORE, kept)
    with pytest.raises(DataError, match="has no scores of E; give scores of all rated outputs"):
        judged(ratings, part)
    one = kept_rows(scores, SCORE, [*range(1, len(scores))])
    with pytest.raises(DataError, match="good has no scores of 1 rated output; give scores of all rated outputs"):
        judged(ratings, one)
    with pytest.raises(UsageError, match="lower is better for ter, but no file has scores of it"):
        judged(ratings, scores, lower_is_better=["ter"])
    with pytest.raises(UsageError, match="there is no metric to judge"):
        judge_ratings({}, None, ratings, {})
    with pytest.raises(UsageError, match="resample=items is not known; did you mean systems"):
        judged(ratings, scores, resample="items")


def test_lower_is_better_turns_scores_round() -> None:
    ratings, scores, _, _ = world(metrics=1)
    turned = SegmentScores(scores.metric, scores.system, scores.segment, [-score for score in scores.score])
    one, two = judged(ratings, scores), judged(ratings, turned, lower_is_better=["good"])
    assert [row.value for row in one.measures] == [row.value for row in two.measures]
    assert [row.score for row in one.systems] == [-row.score for row in two.systems]
    ter = SegmentScores(["ter"] * len(turned), turned.system, turned.segment, turned.score)  # one of ours
    assert [row.value for row in judged(ratings, ter).measures] == [row.value for row in two.measures]
    assert "the sign of error rates is changed, so agreement is positive: good" in two.notes


def test_regret_is_the_distance_from_the_best_of_each_set() -> None:
    reports = {name: judged(*world(seed=seed)[:2]) for name, seed in (("one", 1), ("two", 2))}
    report = judge_sets(reports)
    assert report.verdict.startswith("good is closest to the best over 2 sets: .")
    assert len(report.columns()) == 4
    for regret in report.regrets:
        own = []
        for name, each in reports.items():
            for level in ("segment", "system"):
                rows = {row.metric: row.value or 0.0 for row in each.headline(level)}
                own.append(max(rows.values()) - rows[regret.metric])
                assert report.value(name, level, regret.metric).regret == pytest.approx(own[-1])
        assert regret.mean == pytest.approx(sum(own) / 4)
        assert regret.worst == pytest.approx(max(own))
        assert regret.best == own.count(0.0)
    assert [row.mean for row in report.regrets] == sorted(row.mean for row in report.regrets)
    with pytest.raises(DataError, match="judge all sets with the same metrics"):
        judge_sets({**reports, "three": judged(*world(metrics=2)[:2])})
    with pytest.raises(DataError, match="there are no sets"):
        judge_sets({})


def test_a_metric_without_a_value_on_any_set_is_left_out_and_said() -> None:
    ratings, scores, _, _ = world(metrics=2)
    flat = [7.0 if name == "fair" else score for name, score in zip(scores.metric, scores.score, strict=True)]
    given = SegmentScores(scores.metric, scores.system, scores.segment, flat)
    report = judge_sets({"one": judged(ratings, given, segment_measure="pearson-pooled", system_measure="kendall")})
    assert [row.metric for row in report.regrets] == ["good"]
    assert report.notes[-1] == "fair has no value on any set, so it is left out"
    assert report.verdict.endswith("; there is no other metric to compare it with.")
    assert "fair has no value" in render_sets(report)


def test_signatures_of_many_sets_that_differ_in_the_number_of_references_are_one_line() -> None:
    report = judged(*world(seed=1)[:2])

    def signed(*signatures: str) -> RatingsReport:
        return replace(report, signatures=tuple(SignatureRow(metric="good", signature=each) for each in signatures))

    reports = {
        "one": signed("good|nrefs:5|case:mixed"),
        "two": signed("good|nrefs:16|case:mixed"),
        "three": signed("good|nrefs:var|case:mixed"),
        "four": signed("good|nrefs:16|case:lc"),
    }
    lines = [line for line in render_sets(judge_sets(reports)).splitlines() if "nrefs" in line]
    assert lines == ["good: good|nrefs:16|case:lc", "good: good|nrefs:5,16,var|case:mixed"]


# Real sets beside mt-metrics-eval


def of_set(each: EvaluationSet) -> tuple[References, dict[str, list[str | None]], Ratings]:
    references = References.from_lists(
        [[reference.text for reference in segment.references] for segment in each.segments],
        ids=[segment.id for segment in each.segments],
    )
    outputs = {name: [texts.get(item) for item in references.ids] for name, texts in each.outputs.items()}
    rows = [row for row in each.ratings if not each.aspects or row.aspect in each.aspects]
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in (*RATING, "aspect")}
    return references, outputs, Ratings(**columns, repeats="keep")


@pytest.mark.filterwarnings("ignore::trubleu.TrubleuWarning")
@pytest.mark.parametrize(
    ("kind", "path"), [("mqm", "mqm"), ("tasks", "tasks/realsumm.jsonl.gz"), ("tasks", "tasks/simplicity_da.jsonl.gz")]
)
def test_the_peers_numbers_on_real_sets(real_data: Path, mt_metrics_eval: ModuleType, kind: str, path: str) -> None:
    [each] = read_published(kind, real_data / path)
    references, outputs, ratings = of_set(each)
    chrf = trubleu.metric("chrf")
    report = judge_ratings(outputs, references, ratings, {"chrf": chrf}, resamples=5, trials=5)
    means = ratings.item_means()
    gold, metric = [], []
    for system, texts in outputs.items():
        scores = chrf.segments([text or "" for text in texts], references)
        for item, score in zip(references.ids, scores.tolist(), strict=True):
            gold.append(float(means[item, system]) if (item, system) in means else None)
            metric.append(round(score, 9))
    peer = mt_metrics_eval.Correlation(len(outputs), gold, metric)
    for grouping, name in (("pooled", "none"), ("item", "item"), ("system", "sys")):
        for coefficient, wanted in (
            ("pearson", peer.Pearson(name)),
            ("spearman", peer.Spearman(name)),
            ("kendall", peer.Kendall(name)),
            ("kendall-c", peer.Kendall(name, "c")),
        ):
            value = report.measure("segment", f"{coefficient}-{grouping}", "chrf").value
            assert value == pytest.approx(wanted[0], abs=1e-7)
    accuracy = peer.KendallVariants("item", "acc23")[0]
    assert report.measure("segment", "acc-eq", "chrf").value == pytest.approx(accuracy, abs=1e-9)
    best, threshold, _ = mt_metrics_eval.KendallWithTiesOpt(gold, metric, "acc23", len(outputs), "item", 1.0)
    row = report.measure("segment", "acc-eq-calibrated", "chrf")
    assert row.value == pytest.approx(best, abs=1e-6)
    assert row.epsilon is not None
    assert row.epsilon <= threshold + 1e-6  # of several that are as good, the smallest
    if None not in gold:
        soft = report.measure("system", "soft-pairwise-accuracy", "chrf").value
        assert soft == pytest.approx(peer.PairwiseConfidenceError()[0], abs=0.01)  # other random signs


@pytest.mark.filterwarnings("ignore::trubleu.TrubleuWarning")
def test_the_peers_numbers_on_wmt15(real_data: Path, mt_metrics_eval: ModuleType) -> None:
    """Each ranked pair is an item of two outputs for the peer; ours averages over the pairs of an item first."""
    folder = real_data / "wmt15"
    references = References.read_parallel([folder / "references" / "newstest2015-deen-ref.en"])
    files = sorted((folder / "system-outputs" / "de-en").iterdir())
    outputs: dict[str, list[str | None]] = {path.name: [*path.read_text().splitlines()] for path in files}
    rankings = Rankings.read(folder / "judgements" / "wmt15.deu-eng.csv.gz")
    chrf = trubleu.metric("chrf")
    report = judge_ratings(outputs, references, rankings, {"chrf": chrf}, resamples=5)
    scores = {
        name: chrf.segments([text or "" for text in texts], references).round(9) for name, texts in outputs.items()
    }
    known = match_systems(rankings.systems, scores)
    right: dict[str, list[bool]] = {}
    for row in range(len(rankings)):
        segment = rankings.segments[rankings.segment[row]]
        names = [rankings.systems[index[row]] for index in (rankings.system_a, rankings.system_b)]
        found = [scores[known[name]][int(segment) - 1] for name in names]
        agree, _ = mt_metrics_eval.Agreement(
            [-int(rankings.rank_a[row]), -int(rankings.rank_b[row])], [float(each) for each in found]
        )
        right.setdefault(segment, []).append(bool(agree))
    wanted = math.fsum(sum(each) / len(each) for each in right.values()) / len(right)
    assert report.measure("segment", "acc-eq", "chrf").value == pytest.approx(wanted, abs=1e-9)


def test_names_of_metrics_in_files_are_never_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stranger.py").write_text('raise SystemExit("imported")\n')
    monkeypatch.chdir(tmp_path)
    ratings, scores, _, _ = world(metrics=1)
    named = SegmentScores(["stranger:Metric"] * len(scores), scores.system, scores.segment, scores.score)
    report = judged(ratings, named)
    assert {row.metric for row in report.measures} == {"stranger:Metric"}
    assert [row.value for row in report.measures] == [row.value for row in judged(ratings, scores).measures]
