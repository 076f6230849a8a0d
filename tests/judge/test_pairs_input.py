from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

import trubleu
from tests.judge.world import World, make_world, references_of
from trubleu.data import Ratings, SegmentScores
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.judge import PairsReport, Protocol, judge_pairs
from trubleu.render import render_pairs

if TYPE_CHECKING:
    from tests.oracles.protocol import Rated

PROTOCOL = Protocol(unit=4, draws=5, resamples=5, sweeps=())


def judge(world: World, protocol: Protocol = PROTOCOL, **options: object) -> PairsReport:
    return judge_pairs(
        world.systems,
        world.references,
        world.ratings,
        {"dbleu-1": trubleu.metric("dbleu-1")},
        protocol=protocol,
        **options,  # type: ignore[arg-type]
    )


def told(world: World, protocol: Protocol = PROTOCOL, **options: object) -> tuple[PairsReport, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = judge(world, protocol, **options)
    return report, [str(warning.message) for warning in caught]


def test_constant_scores_have_no_correlation() -> None:
    world = make_world()
    same = world._replace(systems={name: ["z"] * 24 for name in world.systems})
    report, said = told(same)
    assert all(row.spearman is None and row.kendall is None for row in report.correlations)
    assert all(row.spearman_low is None and row.spearman_fisher_low is None for row in report.correlations)
    assert report.correlations[0].undefined == PROTOCOL.draws
    assert any("no correlation for dbleu-1 (single)" in each for each in said)
    shown = render_pairs(report)
    assert "–" in shown
    assert "nan" not in shown.lower()
    assert "NaN" not in render_pairs(report, "json")


def test_constant_ratings_are_refused() -> None:
    world = make_world()
    rows = [{"item": item, "system": name, "rater": r, "score": 3} for item in world.references.ids for name in "ABC"
            for r in "xy"]  # fmt: skip
    with pytest.raises(DataError, match="so no metric can agree or disagree; judge by another aspect or rate more"):
        told(world._replace(ratings=Ratings.from_rows(rows)))


def test_a_unit_larger_than_the_data() -> None:
    with pytest.raises(UsageError, match="a unit of 25 segments is larger than the data: no pair has more than 24"):
        judge(make_world(), Protocol(unit=25))


def test_few_units_are_told_of() -> None:
    report, said = told(make_world(systems=2), Protocol(unit=6, draws=5, resamples=5, sweeps=()))
    assert any("there are only 4 units" in each for each in said)
    assert report.correlations[0].spearman_fisher_low is not None
    assert report.correlations[0].spearman_fieller_low is None


def test_one_system_only() -> None:
    world = make_world()
    with pytest.raises(UsageError, match="at least two systems"):
        judge(world._replace(systems={"A": world.systems["A"]}))


def test_pairs_with_too_few_segments_are_left_out_and_named() -> None:
    world = make_world(segments=24)
    few = [
        {"item": item, "system": system, "rater": rater, "score": score}
        for item, system, rater, score in zip(
            world.ratings.item, world.ratings.system, world.ratings.rater, world.ratings.score, strict=True
        )
        if system != "C" or item in ("s1", "s2")
    ]
    report, said = told(world._replace(ratings=Ratings.from_rows(few)))
    assert [(pair.a, pair.b) for pair in report.pairs] == [("A", "B")]
    assert any("pairs with fewer than 4 judged segments are left out: A:C, B:C" in each for each in said)


def test_an_item_rated_by_nobody_is_counted() -> None:
    world = make_world(missing=0.2, seed=8)
    report, _ = told(world)
    unrated = sum(any((segment, name) not in world.means for name in "ABC") for segment in range(24))
    assert any(note.startswith(f"{unrated} of 24 segments lack a rating") for note in report.notes)


def test_segments_without_positive_weight_are_left_out_everywhere_and_counted() -> None:
    world = make_world()
    bad: list[Rated] = list(world.rated)
    for place in range(3):
        bad[place] = [(text, -0.5, None) for text, _, _ in bad[place]]
    report, said = told(world._replace(references=references_of(bad)))
    assert {pair.segments for pair in report.pairs} == {21}
    assert any(each.startswith("3 segments without a reference of positive weight") for each in said)


def test_outputs_equal_to_references_are_told_of_unless_dropped() -> None:
    world = make_world()
    parrot = world._replace(systems={**world.systems, "A": [each[0][0].upper() for each in world.rated]})
    report, said = told(parrot)
    (row,) = [row for row in report.systems if row.system == "A"]
    assert (row.equal, row.equal_share) == (24, 1.0)
    assert any("100 % of the outputs of A equal a reference" in each for each in said)
    assert not any("equal a reference" in each for each in told(parrot, drop_equal=["A"])[1])


def test_scores_from_a_file_must_have_every_system_and_may_lack_segments() -> None:
    world = make_world()
    rows = [(name, f"s{segment}", 1.0 * segment) for name in "ABC" for segment in range(2, 24)]
    systems, segments, scores = zip(*rows, strict=True)
    given = SegmentScores(metric=["comet"] * len(rows), system=systems, segment=segments, score=scores)
    report, said = told(world, scores=[given])
    assert {pair.segments for pair in report.pairs} == {22}
    assert any(each.startswith("2 segments without a score from comet") for each in said)
    lacking = SegmentScores(metric=["comet"], system=["A"], segment=["s1"], score=[0.5])
    with pytest.raises(DataError, match="has no scores of comet for B, C"):
        judge(world, scores=[lacking])
    clash = SegmentScores(metric=["dbleu-1"], system=["A"], segment=["s1"], score=[0.5])
    with pytest.raises(UsageError, match="two metrics named dbleu-1"):
        judge(world, scores=[clash])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"conditions": []}, "judging needs a condition"),
        ({"conditions": ["all", "all"]}, "the condition all is given twice"),
        ({"conditions": ["given"]}, "without pooled outputs the condition given is all"),
        ({"drop_equal": ["X"]}, "there is no system 'X'"),
        ({"pairs": "A:X"}, "names no system 'X'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        judge(make_world(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sweeps": ("units",)}, "there is no sweep 'units'"),
        ({"draws": 0}, "draws must be 1 or more"),
        ({"unit": 0}, "unit must be 1 or more"),
        ({"confidence": 95}, "confidence must be between 0 and 1"),
        ({"seed": -1}, "seed must be between"),
    ],
)
def test_wrong_protocols_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Protocol(**options)  # type: ignore[arg-type]


def test_pooled_ratings_are_said_to_be_shared() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        report = judge(make_world(), pool_outputs=True, conditions=["given", "all"])
    assert any(note.startswith("ratings are shared") for note in report.notes)
    assert report.setting.pool_outputs
