"""Weights of which some are a model's: where they come from, how certain they are, and what is refused."""

from __future__ import annotations

import json
import math
import re
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any

import pytest

from tests.rating.model_server import Reply, served
from tests.rating.test_model_agreement import quality_of, rated, some_items
from trubleu.cli import main
from trubleu.data import References, weight_from_ratings
from trubleu.errors import DataError, EndpointError, TrubleuWarning, UsageError
from trubleu.rating import Item, Question, Study, StudyConfig, export_study
from trubleu.rating.carry_over import carry
from trubleu.rating.export import rated_references
from trubleu.rating.model_rater import ModelOptions, rate_with_model
from trubleu.rating.store.queries import model_scores
from trubleu.rating.summary import summary
from trubleu.rating.weights import TextWeight, joint_weights, model_values, people_weights
from trubleu.stats import calibrate

if TYPE_CHECKING:
    from pathlib import Path


def exported(study: Study, path: Path, **options: Any) -> dict[str, dict[str, Any]]:
    with pytest.warns(TrubleuWarning):
        export_study(study, "references", path, **options)
    return {record["id"]: record["references"][0] for record in map(json.loads, path.read_text("utf-8").splitlines())}


def mild(text: str) -> str:
    """A model that knows good from bad but likes everything."""
    return str(min(5, 3 + int(quality_of(text)) // 2))


def test_joint_weights_are_peoples_where_there_are_some(tmp_path: Path) -> None:
    study, people, model = rated(tmp_path / "s", mild, share=0.6)
    found = exported(study, tmp_path / "refs.jsonl", weights="joint")
    rows = study.table()
    by_people = people_weights(study.config, [row for row in rows if not row.model])
    values = model_values(study.config, study.store.read(model_scores), model.person.rater.id)
    numbers = {stored.item.key: stored.id for stored in study.items()}
    both = [numbers[key] for key in people]
    curve = calibrate(
        [values[number, 0] for number in both],
        [weight_from_ratings(scores) for scores in people.values()],
        errors=[by_people[number, 0].error or 0 for number in both],
        groups=both,
    )
    for item in some_items():
        record = found[item.segment]
        value = (int(mild(item.texts[0])) - 3) / 2
        if item.key in people:
            assert record["weight"] == weight_from_ratings(people[item.key])
            assert record["weight_from"] == "people"
            assert record["weight_se"] == by_people[numbers[item.key], 0].error
            assert record["ratings"] == people[item.key]
        else:
            assert record["weight"] == pytest.approx(float(curve.predict([value])[0]))
            assert record["weight_from"] == "model"
            assert 0 < record["weight_se"] < 0.5
            assert record["weight"] != value  # a model that likes everything is brought down
            assert "ratings" not in record
        assert "unverified" not in record
    assert sum(record["weight_from"] == "model" for record in found.values()) == 24
    read = References.read(tmp_path / "refs.jsonl")
    assert [segment.references[0].weight for segment in read] == [record["weight"] for record in found.values()]
    study.close()


def test_a_model_that_counts_has_no_part_in_peoples_weights(tmp_path: Path) -> None:
    study, people, model = rated(tmp_path / "s", mild, people=4, share=0.6, models_count=True)
    assert model.person.counted == 60
    weights = ("people", "joint")
    joint, alone = (exported(study, tmp_path / f"{name}.jsonl", weights=name) for name in weights[::-1])
    for item in some_items():
        for found in (joint, alone):
            if item.key in people:
                assert found[item.segment]["weight"] == weight_from_ratings(people[item.key])
                assert found[item.segment]["ratings"] == people[item.key]
                assert not any("model" in rater for rater in found[item.segment]["raters"])
            assert found[item.segment].get("short", False) is (item.key not in people)  # five are wanted
        assert alone[item.segment]["weight"] is not None or item.key not in people
        assert joint[item.segment]["weight_from"] == ("people" if item.key in people else "model")
    for name in weights:
        assert len(References.read(tmp_path / f"{name}.jsonl")) == 60
    given = rated_references(study).ratings
    assert given is not None
    assert sorted(len(each or ()) for each in given) == [0] * 24 + [4] * 36
    assert not any("model" in str(name) for each in given for name, _ in each or ())
    told = summary(study, study.now(), resamples=0)
    assert sum(each.count for each in told.weights) == len(people)
    said = "24 items with ratings by models only, none by people"
    assert said in told.notes
    with pytest.warns(TrubleuWarning) as warned:
        export_study(study, "references", tmp_path / "again.jsonl")
    assert f"{said}, and hence without a weight; export --weights joint" in [str(each.message) for each in warned]
    study.close()


def test_standard_errors_of_people(tmp_path: Path) -> None:
    study, people, _ = rated(tmp_path / "s", mild)
    found = people_weights(study.config, [row for row in study.table() if not row.model])
    numbers = {stored.item.key: stored.id for stored in study.items()}
    weights = {key: [(score - 3) / 2 for score in scores] for key, scores in people.items()}
    usual = fmean(variance(each) for each in weights.values())
    for key, each in weights.items():
        pooled = ((len(each) - 1) * variance(each) + 2 * usual) / (len(each) + 1)
        assert found[numbers[key], 0].error == pytest.approx(math.sqrt(pooled / len(each)))
    assert fmean((each.error or 0) ** 2 for each in found.values()) == pytest.approx(usual / 3)
    study.close()


def test_one_rating_each_has_no_error(tmp_path: Path) -> None:
    study, _, _ = rated(tmp_path / "s", mild, people=1)
    found = people_weights(study.config, [row for row in study.table() if not row.model])
    assert {each.error for each in found.values()} == {None}
    assert exported(study, tmp_path / "refs.jsonl", weights="joint")["s0"]["weight_se"] is None
    study.close()


def test_a_model_alone_is_exported_only_if_asked_for_and_says_so(tmp_path: Path) -> None:
    study, _, _ = rated(tmp_path / "s", mild, share=0.1)
    with pytest.raises(UsageError, match=r"nobody has checked a model.s weights; .* or add --unverified"):
        export_study(study, "references", tmp_path / "refs.jsonl", weights="model")
    assert not (tmp_path / "refs.jsonl").exists()
    short = pytest.warns(TrubleuWarning, match="fewer ratings than asked for")
    with short, pytest.warns(TrubleuWarning, match="are those of 'tiny' alone, which nobody has checked"):
        export_study(study, "references", tmp_path / "refs.jsonl", weights="model", unverified=True)
    found = exported(study, tmp_path / "refs.jsonl", weights="model", unverified=True)
    for item in some_items():
        assert found[item.segment]["weight"] == (int(mild(item.texts[0])) - 3) / 2
        assert found[item.segment]["unverified"] is True
        assert found[item.segment]["weight_from"] == "model"
        assert "ratings" not in found[item.segment]
    number = len(some_items())
    with pytest.warns(TrubleuWarning, match=rf"refs.jsonl given by a model and checked by nobody: {number}$"):
        read = References.read(tmp_path / "refs.jsonl")
    assert [segment.references[0].weight for segment in read] == [record["weight"] for record in found.values()]
    study.close()


def test_nothing_to_calibrate_on(tmp_path: Path) -> None:
    nobody, _, _ = rated(tmp_path / "nobody", mild, people=0)
    few, _, _ = rated(tmp_path / "few", mild, share=0.1)
    always, _, _ = rated(tmp_path / "always", lambda _text: "3", share=0.5)
    for study, why in (
        (nobody, "people and the model have both rated 0 texts, but a calibration needs 20"),
        (few, "people and the model have both rated 6 texts, but a calibration needs 20"),
        (always, "the model gives all texts that people have rated the same value"),
    ):
        said = f"the weights of 'tiny' cannot be calibrated on people's: {why}; let people rate more of its texts, or"
        with pytest.raises(DataError, match=said):
            export_study(study, "references", tmp_path / "refs.jsonl", weights="joint")
    assert not (tmp_path / "refs.jsonl").exists()
    for study in (nobody, few, always):
        study.close()


def test_a_model_that_likes_what_is_bad_is_warned_of(tmp_path: Path) -> None:
    study, _, _ = rated(tmp_path / "s", lambda text: str(6 - int(quality_of(text))), share=0.5)
    short = pytest.warns(TrubleuWarning, match="fewer ratings than asked for")
    with short, pytest.warns(TrubleuWarning, match="'tiny' predict people's no better than their mean does"):
        export_study(study, "references", tmp_path / "refs.jsonl", weights="joint")
    study.close()


def test_which_model(tmp_path: Path) -> None:
    study, _, _ = rated(tmp_path / "s", mild)
    with served(lambda _body, number: Reply(f'{{"score_1": {1 + number % 5}}}')) as server:
        rate_with_model(study, ModelOptions(url=server.url, model="other"))
    options: dict[str, Any] = {"weights": "model", "unverified": True}
    with pytest.raises(UsageError, match="several models have rated; say which with --model: tiny, other"):
        export_study(study, "references", tmp_path / "refs.jsonl", **options)
    with pytest.raises(UsageError, match="no model 'tony' has rated in this study; did you mean tiny"):
        export_study(study, "references", tmp_path / "refs.jsonl", model="tony", **options)
    found = exported(study, tmp_path / "refs.jsonl", model="tiny", **options)
    assert found["s0"]["weight"] == (int(mild("text 0")) - 3) / 2
    study.exclude(study.raters()[-1].id, reason="guesses")
    with served(lambda _body, _number: Reply("no")) as server, pytest.raises(EndpointError):
        rate_with_model(study, ModelOptions(url=server.url, model="silent"))  # which has rated nothing
    exported(study, tmp_path / "refs.jsonl", **options)
    study.close()


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    study = Study.create(tmp_path / "s", StudyConfig("T", "response"), [Item("1", ("a",))])
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"weights": "joint"}, "no model has rated in this study; let one rate with trubleu rate model"),
        ({"model": "m"}, "--model is for --weights joint or model"),
        ({"unverified": True}, "--unverified is for --weights model"),
        ({"weights": "jiont"}, "there are no weights 'jiont'; did you mean joint"),
    )
    for options, said in wrong:
        with pytest.raises(UsageError, match=said):
            export_study(study, "references", tmp_path / "refs.jsonl", **options)
    with pytest.raises(UsageError, match="--weights joint is for --as references; leave it out"):
        export_study(study, "ratings", tmp_path / "ratings.csv", weights="joint")
    study.close()


def test_fractions_and_several_questions_make_weights() -> None:
    questions = (Question("A?", name="a"), Question("B?", ("no", "yes"), "b", required=False))
    config = StudyConfig("T", "response", questions=questions)
    scores = {(1, 9): (4.5, 1.0), (2, 9): (3.0, None), (3, 8): (5.0, 2.0), (4, 9): (None, None)}
    assert model_values(config, scores, 9) == {(1, 0): pytest.approx((0.75 - 1) / 2), (2, 0): 0.0}


def test_a_carried_model_has_its_whole_scores(tmp_path: Path) -> None:
    study, _, _ = rated(tmp_path / "s", mild, share=0.5)
    other = Study.create(tmp_path / "other", study.config, some_items())
    carry(other, study)
    again, before = (
        exported(each, tmp_path / f"{number}.jsonl", weights="joint") for number, each in enumerate((other, study))
    )
    for reference in (*again.values(), *before.values()):
        reference.pop("raters", None)  # they have other names in another study
    assert again == before
    study.close()
    other.close()


def test_joint_weights_keep_peoples_as_they_are() -> None:
    people = {(n, 0): TextWeight((n % 5 - 2) / 2, 0.1) for n in range(30)}
    model = {(n, 0): n % 5 + 10.0 for n in range(50)}
    segments = {text: str(text[0]) for text in model}
    found, curve = joint_weights(people, model, ratings=dict.fromkeys(model, 3), segments=segments, name="m")
    assert all(found[text] == weight for text, weight in people.items())
    assert [found[n, 0].value for n in range(30, 35)] == pytest.approx([-1, -0.5, 0, 0.5, 1])
    assert curve.explained == pytest.approx(1)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, _, _ = rated(tmp_path / "s", mild, share=0.5)
    study.close()
    command = ["rate", "export", str(tmp_path / "s"), "--as", "references", "--out", str(tmp_path / "refs.jsonl")]
    assert main([*command, "--weights", "joint"]) == 0
    said = capsys.readouterr()
    assert re.search(
        r"refs.jsonl: 60 segments with 60 references, 30 of them weighted by a model, calibrated on 30 texts: it "
        r"explains \d+% of the variance of people's weights, standard error 0.\d\d\n",
        said.out,
    )
    assert main([*command, "--weights", "model"]) == 2
    assert "add --unverified" in capsys.readouterr().err
    assert main([*command, "--weights", "model", "--unverified"]) == 0
    assert "which nobody has checked" in capsys.readouterr().err
