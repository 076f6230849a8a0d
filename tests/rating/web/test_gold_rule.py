"""Gold items have consequences: before a completion code is shown, and when files are imported."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import pytest

from tests.rating.web.conftest import state
from trubleu.cli import main
from trubleu.rating import Imported, config_text, import_answers, import_ratings
from trubleu.rating.audit import audit
from trubleu.rating.config import Completion, Consequence, Entry, Gold, GoldRule, example
from trubleu.rating.export import export_study
from trubleu.rating.summary import summary
from trubleu.rating.web import create_app

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from httpx2 import Response

    from tests.rating.web.conftest import Visitor
    from trubleu.rating import Study

    Make = Callable[..., Study]
    Visit = Callable[..., Visitor]

CODE = "DONE-77"


def gold(then: Consequence, number: int = 5, *, share: float = 0.5, at_least: int = 3) -> Gold:
    items = tuple(example("gold", (f"gold {at}",), (), None, ((4, 5),)) for at in range(number))
    return Gold(share, items, rule=GoldRule(then, at_least, 0.7))


def finished(visitor: Visitor, page: Response, score: int) -> Response:
    """Answer every task in the same way, until there are no more."""
    while state(page) == "task":
        page = visitor.answer(page, score)
    return page


@pytest.mark.parametrize("then", ["exclude", "stop", "flag"])
def test_who_fails_gold_items(then: Consequence, make: Make, visit: Visit) -> None:
    study = make(12, raters=1, gold=gold(then), completion=Completion(CODE))
    app = create_app(study)
    visitor = visit(study, app)
    page = finished(visitor, visitor.start(study.add_raters(1)[0].token), 1)
    assert state(page) == ("done" if then == "flag" else "excluded")
    assert (CODE in page.text) is (then == "flag")
    rater = study.raters()[0]
    assert rater.excluded is (then == "exclude")
    assert (
        sum(row.counted for row in study.table())
        == {
            "exclude": 0,
            "stop": sum(row.role == "item" for row in study.table()),
            "flag": 12,
        }[then]
    )
    assert "gold" not in page.text  # which tasks these were is told to the lead alone
    word = {"exclude": "excluded", "stop": "stopped", "flag": "flagged"}[then]
    total = 5 if then == "flag" else 3
    for path in ("/lead", "/lead/raters/1"):
        assert f"{word}: 0 of {total} gold items right, below 70 %" in lead_page(study, visit, path)
    assert audit(study) == []
    if then == "flag":
        return
    # There is no way around: nothing is undone, answered or finished any more.
    before = study.log()
    assert state(visitor.get("/rate")) == "excluded"
    token = next(value for name, value in visitor.client.cookies.items() if "rater" in name)
    csrf = app.state.site.word("rater", token)
    assert visitor.client.post("/undo", data={"csrf": csrf}).status_code == 409
    assert study.log() == before
    # What they rated is rated by others, who read.
    other = visit(study)
    page = finished(other, other.start(study.add_raters(1)[0].token), 4)
    assert CODE in page.text
    assert all(item.counted == 1 for item in study.items() if item.role == "item")


def lead_page(study: Study, visit: Visit, path: str = "/lead") -> str:
    visitor = visit(study)
    visitor.lead(study)
    return re.sub(r"<[^>]*>", "", visitor.get(path).text)


def test_who_leaves_after_the_last_straw_is_excluded_too(make: Make, visit: Visit) -> None:
    study = make(12, raters=1, gold=gold("exclude", share=0.9))
    visitor = visit(study)
    visitor.start(study.add_raters(1)[0].token)
    visitor.client.follow_redirects = False
    while not study.raters()[0].excluded:
        page = visitor.get("/rate")
        assert visitor.answer(page, 1).headers["location"] == "/rate"
    assert study.raters()[0].reason == "0 of 3 gold items right, below 70 %"


def test_few_mistakes_have_no_consequences(make: Make, visit: Visit) -> None:
    study = make(6, raters=1, gold=gold("exclude"), completion=Completion(CODE))
    visitor = visit(study)
    page = finished(visitor, visitor.start(study.add_raters(1)[0].token), 5)
    assert CODE in page.text
    assert summary(study, study.now()).raters[0].gold_note == ""


@pytest.mark.parametrize("then", ["exclude", "stop", "flag"])
def test_whom_the_lead_takes_in_again_stays(then: Consequence, make: Make, visit: Visit) -> None:
    study = make(6, raters=1, gold=gold(then), completion=Completion(CODE))
    visitor, lead = visit(study), visit(study)
    finished(visitor, visitor.start(study.add_raters(1)[0].token), 1)
    page = lead.send(lead.lead(study), "/lead/readmit", reason="the gold items were wrong")
    assert page.status_code == 200
    assert "below 70 %" not in page.text
    assert CODE in finished(visitor, visitor.get("/rate"), 1).text
    assert not study.raters()[0].excluded
    assert all(item.counted == 1 for item in study.items() if item.role == "item")
    assert audit(study) == []


def test_made_up_ids_do_not_finish_a_study(make: Make, visit: Visit) -> None:
    """What an attacker did with `prolific: true`: ids from nowhere, every answer the same, a code for each."""
    study = make(20, raters=2, gold=gold("exclude"), completion=Completion(CODE), entry=Entry(prolific="unverified"))
    for number in range(4):
        visitor = visit(study)
        page = visitor.send(visitor.get(f"/join?PROLIFIC_PID=made-up-{number}"), "/instructed")
        assert CODE not in finished(visitor, page, 1).text
    assert all(rater.excluded for rater in study.raters())
    assert not any(row.counted for row in study.table())
    assert "Ids from Prolific are not verified" in lead_page(study, visit)


def test_the_same_rule_holds_for_files_of_mechanical_turk(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make(6, raters=2, gold=gold("exclude", share=0.4))
    tasks = tmp_path / "tasks.csv"
    export_study(study, "mturk-tasks", tasks)
    with tasks.open(newline="") as stream:
        keys = [row["key"] for row in csv.DictReader(stream)]
    assert sum(key.startswith("gold:") for key in keys) == 4  # 40 % of all
    assert keys != sorted(keys)
    results = tmp_path / "results.csv"
    rows = [f"{worker},{key},{score}" for worker, score in (("A1", 5), ("A2", 1)) for key in keys]
    results.write_text("\n".join(["WorkerId,Input.key,Answer.score", *rows]) + "\n")
    assert main(["rate", "import", str(study.folder), str(results), "--as", "mturk"]) == 0
    said = capsys.readouterr().out
    assert "20 answers, 20 new, 6 of them count; 6 items, 2 new raters" in said
    assert said.endswith("; 1 rater excluded by the rule on gold items\n")
    assert [(rater.label, rater.excluded, rater.reason) for rater in study.raters()] == [
        ("A1", False, None),
        ("A2", True, "0 of 4 gold items right, below 70 %"),
    ]
    assert audit(study) == []
    # Again changes nothing, also not what the lead decided since.
    study.readmit(2, reason="asked them")
    assert import_ratings(study, results, layout="mturk").excluded == 0
    assert not study.raters()[1].excluded
    assert audit(study) == []


def test_without_a_rule_nothing_follows(make: Make) -> None:
    study = make(1, gold=Gold(0.5, gold("flag").items))
    answers = [Imported(item.key, "A1", (1,)) for item in gold("flag").items]
    assert import_answers(study, answers, source="test").excluded == 0
    found = summary(study, study.now()).raters[0]
    assert (found.gold_right, found.gold_total, found.gold_note) == (0, 5, "")
    assert audit(study) == []


def test_status_says_why(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    study = make(1, gold=gold("stop"), entry=Entry(mturk=True))
    import_answers(study, [Imported(item.key, "A1", (1,)) for item in gold("flag").items], source="test")
    (study.folder / "study.yaml").write_text(config_text(study.config))
    assert main(["rate", "status", str(study.folder)]) == 0
    said = capsys.readouterr().out
    assert "stopped: 0 of 5 gold items right, below 70 %" in said
    assert "ids from Mechanical Turk are not verified" in said
