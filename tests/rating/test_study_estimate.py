"""Estimates of a study, what is still to be rated, and whether there are enough ratings."""

from __future__ import annotations

import json
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from tests.rating.model_server import Reply, item_of, served
from trubleu.cli import main
from trubleu.errors import DataError, UsageError
from trubleu.rating import Imported, Item, Study, StudyConfig, estimate_ratings, import_answers
from trubleu.rating.model_rater import ModelOptions, rate_with_model
from trubleu.rating.study_estimate import estimate_study, next_items, study_scores, wanted_intervals
from trubleu.rating.summary import summary
from trubleu.stats import anytime_interval, values_needed

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = 90


def rated_pairs(folder: Path, share: float, *, better: float = 1.0, model: bool = True) -> Study:
    """A study of two systems, of which two people have rated a share, and a model all."""
    draw = Random(5)
    quality = [(draw.gauss(3 + better, 0.8), draw.gauss(3, 0.8)) for _ in range(ITEMS)]
    items = [
        Item(f"s{n}|A:B", (f"text {n} 0", f"text {n} 1"), segment=f"s{n}", systems=("A", "B")) for n in range(ITEMS)
    ]
    study = Study.create(folder, StudyConfig("T", "pair", raters=2), items)

    def score(value: float, noise: float) -> int:
        return min(max(round(value + draw.gauss(0, noise)), 1), 5)

    answers = [
        Imported(item.key, person, tuple(score(value, 0.4) for value in quality[at]))
        for at, item in enumerate(items[: round(share * ITEMS)])
        for person in ("ann", "bob")
    ]
    if answers:
        import_answers(study, answers, source="test")

    def answer(body: dict[str, Any], _: int) -> Reply:
        places = [text.split()[1:] for text in item_of(body)["responses"]]
        scores = [min(max(round(quality[int(n)][int(part)] + 0.4), 1), 5) for n, part in places]
        return Reply(json.dumps({f"score_{at}": each for at, each in enumerate(scores, 1)}))

    if model:
        with served(answer) as server:
            rate_with_model(study, ModelOptions(url=server.url, model="tiny"))
    return study


def test_a_study_is_estimated_from_people_and_its_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = rated_pairs(tmp_path / "s", 0.4)
    scores = study_scores(study)
    made = estimate_study(scores, {})
    assert [row.name for row in (*made.systems, *made.differences)] == ["A", "B", "A − B"]
    found = made.differences[0].found
    assert found is not None
    assert (found.rated, found.unrated, found.useful) == (36, 54, True)
    assert found.effective > 40
    given = [row for row in study.table() if row.counted and not row.model]
    means = {part: fmean(row.score or 0 for row in given if row.part == part) for part in (0, 1)}
    assert found.people.mean == pytest.approx(means[0] - means[1])
    assert scores.ratings is not None
    assert made == estimate_ratings(scores.ratings, scores.models, segments=scores.segments)
    study.close()
    capsys.readouterr()
    assert main(["rate", "estimate", str(tmp_path / "s")]) == 0
    out = capsys.readouterr().out
    assert "A − B" in out
    assert "as if" in out
    (tmp_path / "m.csv").write_text(
        "metric,system,segment,score\n" + "".join(f"len,{s},s{n},{n}\n" for n in range(ITEMS) for s in "AB")
    )
    assert main(["rate", "estimate", str(tmp_path / "s"), "--proxy", str(tmp_path / "m.csv"), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["systems"]
    assert [row["proxy"] for row in rows[:3]] == ["tiny", "len", "all"]


def test_what_a_study_lacks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = rated_pairs(tmp_path / "s", 0.0)
    with pytest.raises(DataError, match="no ratings by people count in this study yet"):
        estimate_study(study_scores(study), {})
    with pytest.raises(UsageError, match="the study has no such question"):
        study_scores(study, "style")
    assert [each.chance for each in next_items(study_scores(study), 10)] == pytest.approx([10 / ITEMS] * ITEMS)
    study.close()
    other = rated_pairs(tmp_path / "t", 0.5, model=False)
    with pytest.raises(DataError, match="no model has rated in this study; let one rate with trubleu rate model"):
        estimate_study(study_scores(other), {})
    other.close()
    for arguments, message in (
        (["t", "--ratings", "x.csv"], "rate estimate takes a STUDY or --ratings FILE, not both"),
        (["t", "--scale", "1:5"], "--scale goes with --ratings FILE, not with a STUDY"),
        (["t", "--aspect", "a", "--aspect", "b"], "rate estimate STUDY takes one --aspect"),
    ):
        assert main(["rate", "estimate", str(tmp_path / arguments[0]), *arguments[1:]]) == 2
        assert message in capsys.readouterr().err


def test_the_plan_names_items_and_ratings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = rated_pairs(tmp_path / "s", 0.4)
    scores = study_scores(study)
    listed = next_items(scores, 12)
    assert [sum(each.state == state for each in listed) for state in ("chosen", "left", "rated")] == [12, 42, 36]
    left = [each for each in listed if each.state != "rated"]
    assert sum(each.chance for each in left) == pytest.approx(12)
    assert all(0.25 * 12 / 54 <= each.chance <= 1 for each in left)
    assert sorted(left, key=lambda each: each.spread) == sorted(left, key=lambda each: each.chance)
    assert all(each.probability == pytest.approx(0.4 + 0.6 * each.chance) for each in listed)
    assert listed != next_items(scores, 12, seed=2)
    assert {each.item for each in listed} == set(scores.segments)
    made = estimate_study(scores, {})
    found = made.differences[0].found
    assert found is not None
    now = found.powered.high - found.powered.low
    (wide,) = wanted_intervals(made, study.config, 2 * now)
    assert (wide.items, wide.ratings, wide.cost) == (0, 0, 0)
    (never,) = wanted_intervals(made, study.config, 0.01)
    assert never.items is None
    between = (wide.narrowest + now) / 2
    (some,) = wanted_intervals(made, study.config, between, seconds=18, pay=10)
    assert some.items is not None
    assert 0 < some.items < 54
    assert some.ratings == 2 * some.items
    assert some.cost == pytest.approx(some.ratings * 0.05)
    with pytest.raises(UsageError, match="--interval 0 must be above 0"):
        wanted_intervals(made, study.config, 0)
    with pytest.raises(UsageError, match="--most 55: the study has 54 unrated items"):
        next_items(scores, 55)
    study.close()
    plan = ["rate", "plan", str(tmp_path / "s"), "--for", "estimate"]
    capsys.readouterr()
    assert main([*plan, "--interval", f"{between:.3f}", "--most", "5"]) == 0
    out = capsys.readouterr().out
    assert "Items to give to people next" in out
    assert "A − B" in out
    assert main([*plan, "--format", "csv"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("item,state,chance,probability,spread,text")
    (tmp_path / "p.csv").write_text(out)
    estimate = ["rate", "estimate", str(tmp_path / "s"), "--probabilities", str(tmp_path / "p.csv")]
    assert main(estimate) == 0
    assert "A − B" in capsys.readouterr().out
    for more, message in (
        (["--interval", "0"], "--interval 0 must be above 0"),
        (["--raters", "3"], "--raters does not go with --for estimate"),
        (["--pay", "-1"], "--pay -1 must be between 0 and 1,000,000"),
    ):
        assert main([*plan, *more]) == 2
        assert message in capsys.readouterr().err


def test_a_wanted_interval_is_about_what_ratings_give(tmp_path: Path) -> None:
    few, more = rated_pairs(tmp_path / "few", 0.4), rated_pairs(tmp_path / "more", 0.7)
    made = estimate_study(study_scores(more), {}).differences[0].found
    assert made is not None
    (planned,) = wanted_intervals(
        estimate_study(study_scores(few), {}), few.config, made.powered.high - made.powered.low
    )
    assert planned.items is not None
    assert planned.rated + planned.items == pytest.approx(63, rel=0.3)
    few.close()
    more.close()


@pytest.mark.parametrize(
    ("share", "better", "verdict"),
    [
        (0.2, 1.0, "too early: 18 of 30 segments are complete"),
        (0.6, 1.0, "enough: A is better than B"),
        (0.6, -1.0, "enough: B is better than A"),
        (0.4, 0.3, "not yet: about "),
    ],
)
def test_the_status_says_whether_there_are_enough_ratings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], share: float, better: float, verdict: str
) -> None:
    study = rated_pairs(tmp_path / "s", share, better=better, model=False)
    (found,) = summary(study, study.now(), resamples=0).decisions
    assert found.verdict.startswith(verdict)
    assert (found.segments, found.planned) == (round(share * ITEMS), ITEMS)
    scores: dict[str, tuple[list[int], list[int]]] = {}
    for row in study.table():
        scores.setdefault(row.key, ([], []))[row.part].append(row.score or 0)
    values = [fmean(first) - fmean(second) for first, second in scores.values()]
    assert found.difference == pytest.approx(fmean(values))
    if found.low is not None:
        assert (found.low, found.high) == pytest.approx(anytime_interval(values, ITEMS))
    if found.more is not None:
        mean = fmean(values)
        spread = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
        assert found.more == 2 * (values_needed(len(values), mean, spread, ITEMS) - len(values))
    study.close()
    capsys.readouterr()
    assert main(["rate", "status", str(tmp_path / "s"), "--resamples", "0"]) == 0
    assert verdict in capsys.readouterr().out
    assert main(["rate", "status", str(tmp_path / "s"), "--resamples", "0", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["decisions"]
    assert row["enough"] is (verdict.startswith("enough"))


def test_a_study_of_responses_has_no_decision(tmp_path: Path) -> None:
    study = Study.create(tmp_path / "s", StudyConfig("T", "response"), [Item("1", ("a",))])
    assert summary(study, study.now(), resamples=0).decisions == ()
    study.close()
