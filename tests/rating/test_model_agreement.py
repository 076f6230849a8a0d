"""A model beside people: against the oracles of agreement, and on the lead's pages."""

from __future__ import annotations

import json
import math
import re
from random import Random
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import pytest

from tests.oracles import agreement as oracle
from tests.rating.model_server import Reply, item_of, served
from trubleu.cli import main
from trubleu.rating import Imported, Item, Study, StudyConfig, import_answers
from trubleu.rating.model_rater import ModelOptions, rate_with_model
from trubleu.rating.summary import summary
from trubleu.stats import alternative_annotator_test

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from trubleu.rating.summary import ModelSummary


def some_items(number: int = 60) -> list[Item]:
    origins = ("seed", "mined", "random")
    return [
        Item(
            f"s{n}#1",
            (f"text {n} " + "x" * (n % 17),),
            segment=f"s{n}",
            reference="1",
            extra={"origin": origins[n % 3]},
        )
        for n in range(number)
    ]


def rated(
    folder: Path,
    score: Callable[[str], str],
    *,
    items: list[Item] | None = None,
    people: int = 3,
    share: float = 1.0,
    models_count: bool = False,
) -> tuple[Study, dict[str, list[int]], ModelSummary]:
    """A study that people and a model have rated, people's scores by item, and what is known of the model."""
    items = some_items() if items is None else items
    kind = "pair" if len(items[0].texts) == 2 else "response"
    config = StudyConfig("T", kind, raters=5, models_count=models_count)  # type: ignore[arg-type]
    study = Study.create(folder, config, items)
    draw = Random(3)
    by_item: dict[str, list[int]] = {}
    answers = []
    for at, item in enumerate(items[: round(share * len(items))]):
        quality = 1 + at % 5
        for person in range(people):
            scores = tuple(min(5, max(1, round(quality + draw.gauss(0, 0.8)))) for _ in item.texts)
            answers.append(Imported(item.key, f"person {person}", scores))
            by_item.setdefault(item.key, []).append(scores[0])
    import_answers(study, answers, source="test")

    def answer(body: dict[str, Any], _: int) -> Reply:
        asked = item_of(body)
        texts = asked.get("responses") or [asked["response"]]
        return Reply(json.dumps({f"score_{at}": int(score(text)) for at, text in enumerate(texts, 1)}))

    with served(answer) as server:
        rate_with_model(study, ModelOptions(url=server.url, model="tiny"))
    (model,) = summary(study, study.now(), resamples=0).models
    return study, by_item, model


def quality_of(text: str) -> str:
    return str(1 + int(re.findall(r"\d+", text)[0]) % 5)


def test_numbers_are_those_of_the_oracles(tmp_path: Path) -> None:
    study, people, model = rated(tmp_path / "s", quality_of)
    given = {key: int(quality_of(key)) for key in people}
    without = oracle.alpha(people.values())
    with_it = oracle.alpha([[*scores, given[key]] for key, scores in people.items()])
    assert without is not None
    assert with_it is not None
    assert model.beside.alpha_without == float(without)
    assert model.beside.alpha == float(with_it)
    rows = [(key, person, score) for key, scores in people.items() for person, score in enumerate(scores)]
    kappa, shared = oracle.kappa_with_the_rest(
        [*rows, *((key, "model", score) for key, score in given.items())], "model", (1, 5)
    )
    assert model.beside.kappa == pytest.approx(float(kappa or 0))
    assert model.beside.shared == shared == 60
    test = model.beside.test
    assert test is not None
    keys = [key for key in people for _ in range(3)]
    flat = [score for scores in people.values() for score in scores]
    expected = alternative_annotator_test(keys, ["a", "b", "c"] * 60, flat, given)
    assert (test.winning_rate, test.advantage) == (expected.winning_rate, expected.advantage)
    assert model.beside.verdict == "yes: it wins against 3 of 3 people, with ε 0.1"
    study.close()


def test_bias_is_a_mean_with_its_standard_error(tmp_path: Path) -> None:
    study, people, model = rated(tmp_path / "s", lambda text: "5" if "xxxxxxxxxxx" in text else quality_of(text))
    items = {item.key: item for item in some_items()}
    said = {key: 5 if "xxxxxxxxxxx" in item.texts[0] else int(quality_of(key)) for key, item in items.items()}
    found = {(each.by, each.group): each for each in model.beside.bias}
    assert set(found) == {
        ("all", ""),
        *(("origin", name) for name in ("mined", "random", "seed")),
        *(("length", name) for name in ("short", "middle", "long")),
    }
    for origin in ("mined", "random", "seed"):
        mine = [said[key] - fmean(scores) for key, scores in people.items() if items[key].extra["origin"] == origin]
        each = found["origin", origin]
        assert each.texts == len(mine) == 20
        assert each.difference == pytest.approx(fmean(mine))
        assert each.error == pytest.approx(stdev(mine) / math.sqrt(len(mine)))
    assert found["length", "long"].difference > 1.0 > abs(found["length", "short"].difference)
    assert sum(found["length", name].texts for name in ("short", "middle", "long")) == 60
    study.close()


def test_position_of_pairs(tmp_path: Path) -> None:
    items = [Item(f"{n}#A:B", (f"a {n}", f"b {n}"), systems=("A", "B")) for n in range(40)]
    config = StudyConfig("T", "pair", raters=2)
    study = Study.create(tmp_path / "s", config, items)
    import_answers(study, [Imported(item.key, name, (3, 3)) for item in items for name in "xy"], source="t")
    with served(lambda _body, _number: Reply('{"score_1": 5, "score_2": 2}')) as server:  # it likes what comes first
        rate_with_model(study, ModelOptions(url=server.url, model="tiny"))
    (model,) = summary(study, study.now(), resamples=0).models
    found = {(each.by, each.group): each.difference for each in model.beside.bias}
    assert found["position", "first"] == 2.0
    assert found["position", "second"] == -1.0
    assert abs(found["origin", "A"] - found["origin", "B"]) < 2
    study.close()


def test_nothing_of_a_model_is_among_peoples_numbers(tmp_path: Path) -> None:
    study, people, model = rated(tmp_path / "s", lambda _text: "1", people=2)
    found = summary(study, study.now(), resamples=0)
    assert [person.rater.name for person in found.raters] == ["person 0", "person 1"]
    assert found.counted == 120
    assert found.uncounted == 0
    assert found.last_hour == 0
    assert found.alpha.alpha == float(oracle.alpha(people.values()) or 0)
    assert model.person.flags == ("always the same: 1 in 60 of 60 answers",)
    assert found.pairs == 1
    study.close()


def test_where_the_study_counts_models_people_are_still_the_measure(tmp_path: Path) -> None:
    study, people, _ = rated(tmp_path / "s", quality_of, people=2, models_count=True)
    found = summary(study, study.now(), resamples=0)
    assert found.counted == 180
    assert found.alpha.alpha == float(oracle.alpha(people.values()) or 0)
    study.close()


def test_a_model_without_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, _, model = rated(tmp_path / "s", quality_of, people=0)
    assert model.beside.shared == 0
    assert math.isnan(model.beside.alpha)
    assert model.beside.verdict == "not known: people have rated none of its texts"
    assert model.beside.bias == ()
    study.close()
    assert main(["rate", "status", str(tmp_path / "s")]) == 0
    said = capsys.readouterr().out
    assert "not known: people have rated none of its texts" in said
    assert "What models favour" not in said


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, _, _ = rated(tmp_path / "s", quality_of)
    study.close()
    assert main(["rate", "status", str(tmp_path / "s")]) == 0
    said = capsys.readouterr().out
    assert "Models beside people" in said
    assert "yes: it wins against 3 of 3 people, with ε 0.1" in said
    assert "What models favour" in said
    assert main(["rate", "status", str(tmp_path / "s"), "--format", "json", "--epsilon", "0"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert records["models"][0]["epsilon"] == 0
    assert records["bias"][0]["by"] == "all"
    assert main(["rate", "status", str(tmp_path / "s"), "--epsilon", "2"]) == 2
    assert "--epsilon 2 must be between 0 and 1" in capsys.readouterr().err


def test_pages_of_the_lead(tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    from trubleu.rating.web.app import create_app

    study, _, model = rated(tmp_path / "s", quality_of)
    client = TestClient(create_app(study), base_url="https://testserver")
    client.get(f"/lead/{study.lead_token}")
    page = client.get("/lead").text
    assert "Models beside people" in page
    assert "yes: it wins against 3 of 3 people, with ε 0.1" in page
    number = model.person.rater.id
    assert page.count(f'id="rater-{number}"') == 1
    assert client.get(f"/lead/raters/{number}").status_code == 200
    study.close()
