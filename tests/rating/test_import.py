"""Ratings from outside: plain tables and results of Mechanical Turk, and what is wrong with them."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rating.test_summary import relabel
from trubleu.errors import TrubleuError, TrubleuWarning, UsageError
from trubleu.rating import Item, Study, StudyConfig, export_study, import_ratings
from trubleu.rating.mturk import as_html, read_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Make = Callable[..., Study]

PAIRS = [Item(f"{n}#A:B", (f"a{n}", f"b{n}"), segment=str(n), systems=("A", "B")) for n in range(4)]


def scores(study: Study) -> list[tuple[str, int, str, int | None, bool]]:
    return [(row.key, row.part, row.rater_name, row.score, row.counted) for row in study.table()]


def results(rows: list[dict[str, str]]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """A study of two items, for what is refused before any database matters."""
    items = [Item(f"k{number}", (f"text {number}",)) for number in range(2)]
    with Study.create(tmp_path / "study", StudyConfig("Test", "response"), items) as made:
        yield made


def test_a_table_counts_as_the_study_counts(make: Make, tmp_path: Path) -> None:
    study = make(2, raters=2)
    path = tmp_path / "ratings.csv"
    path.write_text("rater,item,score,seconds\nann,k0,4,1\nbob,k0,2,2\ncem,k0,1,3\nann,k1,5,4\n")
    found = import_ratings(study, path, now=7)
    assert (found.answers, found.added, found.counted, found.items, found.raters, found.repeated) == (4, 4, 3, 2, 3, 0)
    assert scores(study) == [
        ("k0", 0, "ann", 4, True),
        ("k0", 0, "bob", 2, True),
        ("k0", 0, "cem", 1, False),
        ("k1", 0, "ann", 5, True),
    ]
    assert [row.scores for row in study.log() if row.kind == "imported"] == [(4,), (2,), (1,), (5,)]
    assert {row.answered_at for row in study.table()} == {7}


def test_again_changes_nothing(make: Make, tmp_path: Path) -> None:
    study = make(2, raters=2)
    path = tmp_path / "ratings.csv"
    path.write_text("item,rater,score\nk0,ann,4\nk1,bob,2\n")
    import_ratings(study, path)
    before, log = scores(study), study.log()
    again = import_ratings(study, path)
    assert (again.added, again.counted, again.raters, again.repeated) == (0, 0, 0, 2)
    assert (scores(study), study.log()) == (before, log)
    # More of the same in another file: only what is new.
    path.write_text("item,rater,score\nk0,ann,4\nk1,bob,2\nk1,ann,3\n")
    more = import_ratings(study, path)
    assert (more.added, more.repeated, more.raters) == (1, 2, 0)
    # Another score for what is there: the first stays, and that is said.
    path.write_text("item,rater,score\nk0,ann,1\n")
    with pytest.warns(TrubleuWarning, match="has other scores for 1 answer that the study has already; those of the"):
        assert import_ratings(study, path).different == 1
    assert scores(study)[0] == ("k0", 0, "ann", 4, True)


def test_again_after_somebody_was_erased_changes_nothing(make: Make, tmp_path: Path) -> None:
    study = make(1, raters=3)
    path = tmp_path / "ratings.csv"
    path.write_text("item,rater,score\nk0,ann,4\n")
    import_ratings(study, path)
    study.erase(1)
    assert import_ratings(study, path).added == 0
    # However the file is called, and whatever else it holds.
    path.rename(tmp_path / "again.csv")
    with (tmp_path / "again.csv").open("a") as stream:
        stream.write("k0,bob,2\n")
    assert import_ratings(study, tmp_path / "again.csv").added == 1
    assert scores(study) == [("k0", 0, "rater 1", 4, True), ("k0", 0, "bob", 2, True)]
    assert study.rater(1).external is None


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_export_of_a_study_is_nothing_new_to_it(make: Make, tmp_path: Path, labels: bool, ending: str) -> None:
    study = make(2, raters=4)
    added = study.add_raters(3, labels=["ann", "bob", "other"])
    relabel(study, 3, "bob")
    for new in added:
        while task := study.assign(new.rater.id):
            study.answer(new.rater.id, task.assignment, (new.rater.id,), key=task.client_key)
    (tmp_path / "more.csv").write_text("item,rater,score\nk0,cem,4\nk1,cem,5\n")
    import_ratings(study, tmp_path / "more.csv")
    study.erase(1)
    export_study(study, "ratings", tmp_path / f"own.{ending}", labels=labels)
    before, log = scores(study), study.log()
    found = import_ratings(study, tmp_path / f"own.{ending}")
    assert (found.answers, found.added, found.raters, found.repeated, found.different) == (8, 0, 0, 8, 0)
    assert (scores(study), study.log()) == (before, log)


def test_a_rater_of_another_study_is_somebody_else(make: Make, tmp_path: Path) -> None:
    study, other = make(1, raters=4), make(1, raters=4)
    for each, score in ((study, 2), (other, 5)):
        rater = each.add_raters(1)[0].rater.id
        task = each.assign(rater)
        assert task is not None
        each.answer(rater, task.assignment, (score,), key=task.client_key)
    path = tmp_path / "other.csv"
    with pytest.warns(TrubleuWarning, match="fewer ratings"):
        export_study(other, "ratings", path)
    assert import_ratings(study, path).added == 1
    assert import_ratings(study, path).added == 0
    assert scores(study) == [("k0", 0, "rater 1", 2, True), ("k0", 0, f"rater 1 of {other.id[:8]}", 5, True)]
    # Nor is a plain "rater 1" that anybody may have written.
    path.write_text("item,rater,score\nk0,rater 1,3\n")
    assert import_ratings(study, path).added == 1
    assert len(study.raters()) == 3


def test_names_that_may_be_somebody_else(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study.add_raters(3, labels=["ann", "bob", "other"])
    relabel(study, 3, "bob")
    first, second, third = (f"'rater {n} of {study.id[:8]}'" for n in (1, 2, 3))
    for name, message in (
        ("ann", f"'ann' is the label of a rater of this study; write {first} if that is who rated, or another name"),
        ("bob", f"'bob' is the label of a rater of this study; write {second} or {third} if that is who rated"),
        (f"rater 9 of {study.id[:8]}", f"this study has no 'rater 9 of {study.id[:8]}'; is the file of a later state?"),
    ):
        Path("r.csv").write_text(f"item,rater,score\nk0,new,3\nk0,{name},3\n")
        with pytest.raises(TrubleuError) as error:
            import_ratings(study, "r.csv")
        assert str(error.value).startswith(f"r.csv:3: {message}")
        assert len(study.raters()) == 3
    Path("r.csv").write_text(f"item,rater,score\nk0,{first[1:-1]},3\n")
    assert import_ratings(study, "r.csv").raters == 0
    assert scores(study) == [("k0", 0, "ann", 3, True)]
    Path("r.csv").write_text("item,rater,score\nk0,ann,3\n")
    assert import_ratings(study, "r.csv").repeated == 1


def test_workers_who_came_in_are_those_of_the_results(make: Make, tmp_path: Path) -> None:
    study = make(2, raters=4)
    here = study.enter("mturk", external="W1").rater.id
    task = study.assign(here)
    assert task is not None
    study.answer(here, task.assignment, (4,), key=task.client_key)
    rows = [
        COMMON | {"Input.key": key, "Answer.score": "4", "WorkerId": who}
        for key in ("k0", "k1")
        for who in ("W1", "W2")
    ]
    (tmp_path / "batch.csv").write_text(results(rows))
    found = import_ratings(study, tmp_path / "batch.csv", layout="mturk")
    assert (found.added, found.raters) == (3, 1)
    imported = study.enter("mturk", external="W2")
    assert (imported.rater.id, imported.rater.answered, len(study.raters())) == (2, 2, 2)
    assert study.find_rater(imported.token) == imported.rater
    assert study.assign(imported.rater.id) is None


def test_pairs_of_a_table(make: Make, tmp_path: Path) -> None:
    study = make(PAIRS, raters=2, kind="pair")
    path = tmp_path / "ratings.csv"
    path.write_text(
        "item,system,pair,rater,score\n"
        "0,B,A:B,ann,2\n0,A,A:B,ann,5\n"  # as trubleu rate export writes them, in any order
        "1,A,B:A,ann,4\n1,B,B:A,ann,3\n"  # named the other way round
        "2#A:B,A,,ann,1\n2#A:B,B,,ann,2\n"  # by the key of the item
    )
    assert import_ratings(study, path).added == 3
    assert [(key, part, score) for key, part, _, score, _ in scores(study)] == [
        ("0#A:B", 0, 5),
        ("0#A:B", 1, 2),
        ("1#A:B", 0, 4),
        ("1#A:B", 1, 3),
        ("2#A:B", 0, 1),
        ("2#A:B", 1, 2),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.csv is empty; its first line must name the columns"),
        ("item,rater\nk0,ann\n", "r.csv: the first row: the column score must be there; columns found: item, rater"),
        (
            "item,rater,years\nk0,ann,3\n",
            "r.csv:2, column years: 'years' is not a question of this study; give a column score and no",
        ),
        (
            "item,rater,score,aspect\nk0,ann,3,style\n",
            "r.csv:2: 'style' is not a question of this study; give a column score and no",
        ),
        ("item,score\nk0,3\n", "r.csv: the first row: the column rater must be there; columns found: item, score"),
        ("item,rater,score\nk0,ann,6\n", "r.csv:2: score must be an integer from 1 to 5, not 6"),
        ("item,rater,score\nk0,ann,3\n\nk1,ann,x\n", "r.csv:4: score must be an integer from 1 to 5, not 'x'"),
        ("item,rater,score\nk0,,3\n", "r.csv:2: rater is empty"),
        ("item,rater,score\nk0,ann,3\nnone,ann,3\n", "r.csv:3: 'none' is not an item of this study; check the ids"),
        (
            "item,rater,score\nk0,ann,3\nk1,ann,3\nk0,ann,4\n",
            "r.csv:4: 'ann' has rated 'k0' already at r.csv:2; leave one of the two out",
        ),
        ("item,rater,score\nk0,ann\n", "r.csv:2: this line has 2 fields but the first has 3"),
        ("item,rater,score\nk0," + "x" * 300 + ",3\n", "r.csv:2: the id of a rater must have 1 to 200 characters"),
        ("item,rater,score\nk0,a\0b,3\n", "r.csv:2: "),
    ],
)
@pytest.mark.filterwarnings("ignore:columns of r.csv")
def test_a_table_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: Study, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text(text)
    before = study.log()
    with pytest.raises(TrubleuError) as error:
        import_ratings(study, "r.csv")
    assert str(error.value).startswith(message)
    assert (study.table(), study.log(), study.raters()) == ([], before, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,A,A:B,ann,3\n", "r.csv:2: 'ann' has not rated all 2 texts of '0#A:B'; add the others"),
        ("0,A,A:B,ann,3\n0,A,A:B,ann,3\n", "r.csv:3: 'ann' has rated '0#A:B' already at r.csv:2"),
        ("0,C,A:B,ann,3\n", "r.csv:2: 'C' is not a system of '0#A:B'; known: A, B"),
        ("9,A,A:B,ann,3\n", "r.csv:2: there is no item '9#A:B'"),
        ("0,A,,ann,3\n", "r.csv:2: there is no item '0'; an item is SEGMENT#A:B, or give a column pair"),
        ("0,,A:B,ann,3\n", "r.csv:2: system is empty"),
    ],
)
def test_pairs_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    study = Study.create("study", StudyConfig("Test", "pair"), PAIRS)
    Path("r.csv").write_text("item,system,pair,rater,score\n" + text)
    with pytest.raises(TrubleuError) as error:
        import_ratings(study, "r.csv")
    assert str(error.value).startswith(message)
    assert study.table() == []
    study.close()


TIME = "Wed Dec 18 10:15:33 PST 2019"
COMMON = {"WorkerId": "W1", "AssignmentStatus": "Approved", "SubmitTime": TIME, "WorkTimeInSeconds": "12"}


@pytest.mark.parametrize(
    "answer",
    [
        {"Answer.score": "4"},
        {"Answer.score": " 4 "},
        {f"Answer.score.{n}": str(n == 4).lower() for n in range(1, 6)},
        {"Answer.taskAnswers": '[{"score": "4"}]'},
        {"Answer.taskAnswers": '{"score": 4, "comment": "?"}'},
        {"Answer.taskAnswers": '[{"score": {"1": false, "4": true}}]'},
        {"Answer.taskAnswers": '[{"score.1": false, "score.4": true}]'},
        # As radio buttons of the crowd come: each with a name and a value of its own.
        {f"Answer.score.{n}.choice": str(n == 4).lower() for n in range(1, 6)},
        {f"Answer.score.{n}.{word}": str(n == 4).lower() for n, word in ((4, "good"), (5, "very.good"))},
        {"Answer.taskAnswers": '[{"score.1": {"score.1": false}, "score.4": {"score.4": true}}]'},
        {"Answer.taskAnswers": '[{"score.1.bad": {"on": "false"}, "score.4.good": {"on": "true"}}]'},
    ],
)
def test_forms_of_answers_on_mechanical_turk(tmp_path: Path, answer: dict[str, str]) -> None:
    path = tmp_path / "batch.csv"
    path.write_text(results([COMMON | {"Input.key": "'-k0"} | answer]))
    (found,) = read_results(path).answers
    assert (found.key, found.rater, found.scores) == ("-k0", "W1", (4,))
    assert (found.answered_at, found.milliseconds) == (1576692933000, 12000)


def test_results_of_mechanical_turk(make: Make, tmp_path: Path) -> None:
    study = make(2, raters=2)
    path = tmp_path / "batch.csv"
    rows = [
        COMMON | {"Input.key": "k0", "Answer.score": "5"},
        COMMON | {"Input.key": "k0", "Answer.score": "9", "WorkerId": "W2", "AssignmentStatus": "Rejected"},
        COMMON | {"Input.key": "k1", "Answer.score": "", "WorkerId": "W3"},
        COMMON | {"Input.key": "k1", "Answer.score": "2", "WorkerId": "W3", "SubmitTime": "yesterday"},
    ]
    text = results(rows)
    header, *lines = text.splitlines()
    path.write_text("\n".join([f'{header},"Approve","Reject"', *lines]))  # whose cells are left out
    found = import_ratings(study, path, layout="mturk", now=3)
    assert (found.answers, found.added, found.counted, found.rejected, found.blank) == (2, 2, 2, 1, 1)
    assert scores(study) == [("k0", 0, "W1", 5, True), ("k1", 0, "W3", 2, True)]
    assert [row.answered_at for row in study.table()] == [1576692933000, 3]


def test_tasks_and_back_again(make: Make, tmp_path: Path) -> None:
    study = make(PAIRS, raters=1, kind="pair")
    tasks = tmp_path / "tasks.csv"
    assert export_study(study, "mturk-tasks", tasks).rows == 4
    with tasks.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["key"] for row in rows] == [item.key for item in PAIRS]
    assert {row["order"] for row in rows} == {"12", "21"}
    answers = []
    for row in rows:
        # The worker likes what A says.
        shown = {name: "5" if row[f"response{name}"].startswith("a") else "2" for name in "12"}
        assert (row["response1"][0] == "b") == (row["order"] == "21")
        answers.append(
            COMMON
            | {f"Input.{name}": value for name, value in row.items()}
            | {"Answer.score1": shown["1"], "Answer.score2": shown["2"]}
        )
    (tmp_path / "batch.csv").write_text(results(answers))
    assert import_ratings(study, tmp_path / "batch.csv", layout="mturk").counted == 4
    turned = {row["key"]: row["order"] == "21" for row in rows}
    assert {row.key: row.flipped for row in study.table()} == turned
    keys = {stored.id: stored.item.key for stored in study.items()}
    assert {keys[row.item or 0]: row.flipped for row in study.log() if row.kind == "imported"} == turned
    assert {(part, score) for _, part, _, score, _ in scores(study)} == {(0, 5), (1, 2)}
    assert export_study(study, "mturk-tasks", tasks).rows == 0


def test_texts_of_tasks_are_shown_and_never_run(make: Make, tmp_path: Path) -> None:
    nasty = "=<script>alert('x')</script>\r\n\U0001f600\x07${x}"
    study = make([Item("@k", (nasty,), ("<i>", "&"), "-m")], raters=2)
    path = tmp_path / "tasks.csv"
    export_study(study, "mturk-tasks", path)
    with path.open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert row == {
        "key": "'@k",
        "missing": "2",
        "context": "&lt;i&gt;<br>&amp;",
        "message": "&#45;m",
        "response": "&#61;&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;<br>&#128512;\ufffd${x}",
    }


@given(text=st.text())
def test_html_says_the_same_and_holds_no_markup(text: str) -> None:
    import html

    made = as_html(text)
    assert "<" not in made.replace("<br>", "")
    assert not made.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert all(ord(character) < 0x10000 for character in made)
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if all(character.isprintable() or character == "\n" for character in plain):
        assert html.unescape(made.replace("<br>", "\n")) == plain


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"Input.key": "k0", "Answer.score": "six"}, "b.csv:2, answer score: a score must be a whole number"),
        ({"Input.key": "k0", "Answer.score": "0"}, "b.csv:2, answer score: a score must be a whole number"),
        (
            {"Input.key": "k0", "Answer.mood": "4"},
            "b.csv:2, answer score: this is not there; answers found: mood",
        ),
        ({"Input.key": "k0"}, "b.csv:1: there is no column of answers, such as Answer.score"),
        ({"Answer.score": "4"}, "b.csv:1: there must be one column Input.key; columns found: WorkerId,"),
        ({"Input.key": "", "Answer.score": "4"}, "b.csv:2, column Input.key: this is empty; every answer needs it"),
        ({"Input.key": "k0", "Answer.taskAnswers": "{"}, "b.csv:2, column Answer.taskAnswers: this is not JSON"),
        ({"Input.key": "k0", "Answer.taskAnswers": "[1]"}, "b.csv:2, column Answer.taskAnswers: this must be one JSON"),
        (
            {"Input.key": "k0", "Answer.taskAnswers": "{}"},
            "b.csv:2, column Answer.taskAnswers: this must be one JSON object",
        ),
        (
            {"Input.key": "k0", "Answer.taskAnswers": '{"score": {"2": true, "4": true}}'},
            "b.csv:2, answer score: the scores 2, 4 are all chosen; only one may be",
        ),
        (
            {"Input.key": "k0", "Answer.taskAnswers": '{"score": true}'},
            "b.csv:2, answer score: a score must",
        ),
        (
            {"Input.key": "k0", "Answer.taskAnswers": '[{"mood.1": {"on": true}, "score.9": true}]'},
            "b.csv:2, answer score: a score must be a whole number from 1 to 5, not 9",
        ),
        (
            {"Input.key": "k0", "Answer.taskAnswers": '{"score": {"1": false, "7": true}}'},
            "b.csv:2, answer score: a score must be a whole number from 1 to 5, not 7",
        ),
        (
            {"Input.key": "k0", "Answer.score.1": "false", "Answer.score.0": "true"},
            "b.csv:2, answer score: a score must be a whole number from 1 to 5, not 0",
        ),
        (
            {"Input.key": "k0", "Answer.taskAnswers": '{"score": {}}'},
            "b.csv:2, answer score: a score must be a whole number from 1 to 5, not {}",
        ),
        (
            {"Input.key": "k0", "Answer.taskAnswers": '{"score": {"good": true}}'},
            "b.csv:2, answer score: this is not there; answers found: score.good",
        ),
        (
            {"Input.key": "k0", "Answer.taskAnswers": '{"score.4": {"good": "yes"}}'},
            "b.csv:2, answer score: 'yes' does not say whether a choice was taken; true or false is",
        ),
        (
            {"Input.key": "k0", "Answer.score.1": "true", "Answer.score.2": "true"},
            "b.csv:2, answer score: the scores 1, 2 are all chosen; only one may be",
        ),
        ({"Input.key": "zz", "Answer.score": "4"}, "b.csv:2: 'zz' is not an item of this study; check the ids"),
    ],
)
def test_results_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: Study, row: dict[str, str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.csv").write_text(results([COMMON | row]))
    with pytest.raises(TrubleuError) as error:
        import_ratings(study, "b.csv", layout="mturk")
    assert str(error.value).startswith(message)
    assert study.table() == []


def test_pairs_of_results_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    both = {"Input.key": "k", "Answer.score1": "1", "Answer.score2": "2"}
    for row, message in (
        (both, "b.csv:1: there must be one column Input.order"),
        (both | {"Input.order": "1"}, "b.csv:2, column Input.order: this must be 12 or 21"),
        (
            both | {"Input.order": "12", "Answer.score2": ""},
            "b.csv:2, answer score2: this is empty, but the other",
        ),
    ):
        Path("b.csv").write_text(results([COMMON | row]))
        with pytest.raises(TrubleuError) as error:
            read_results("b.csv", parts=2)
        assert str(error.value).startswith(message)
    Path("b.csv").write_text("WorkerId,Input.key,Answer.score\nW,k,3,4\n")
    with pytest.raises(TrubleuError, match=r"b\.csv:2: this line has 4 fields but the first has 3"):
        read_results("b.csv")
    with pytest.raises(UsageError, match="there is no layout 'turk'; did you mean mturk"):
        import_ratings(None, "b.csv", layout="turk")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def studies() -> Iterator[list[Study]]:
    """Studies of both kinds, into which nothing sensible is ever imported."""
    with tempfile.TemporaryDirectory() as folder:
        made = [
            Study.create(Path(folder) / "one", StudyConfig("Test", "response"), [Item("1", ("a",)), Item("x", ("b",))]),
            Study.create(Path(folder) / "two", StudyConfig("Test", "pair"), PAIRS),
        ]
        yield made
        for study in made:
            study.close()


TITLES = st.sampled_from(
    ["item", "rater", "score", "system", "pair", "WorkerId", "Input.key", "Input.order", "Answer.score",
     "Answer.score1", "Answer.score2", "Answer.score.4", "Answer.taskAnswers", "AssignmentStatus",
     "SubmitTime", "WorkTimeInSeconds"]
)  # fmt: skip
CELLS = st.one_of(
    st.sampled_from(["1", "x", "0", "0#A:B", "A", "B", "A:B", "5", "12", "21", "true", "ann", "", TIME, "Rejected"]),
    st.text(max_size=6),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["score", "4", "score.4"]), inner),
        max_leaves=4,
    ).map(json.dumps),
)


@settings(max_examples=150, deadline=None)
@given(
    titles=st.lists(TITLES, max_size=9),
    rows=st.lists(st.lists(CELLS, max_size=9), max_size=4),
    layout=st.sampled_from(["table", "mturk"]),
    which=st.integers(0, 1),
)
def test_any_table_is_read_or_refused_in_a_sentence(
    studies: list[Study], titles: list[str], rows: list[list[str]], layout: Any, which: int
) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([titles, *rows])
    _read_or_refused(studies[which], stream.getvalue().encode("utf-8", "surrogatepass"), layout)


@settings(max_examples=150, deadline=None)
@given(
    data=st.one_of(st.binary(max_size=60), st.binary(max_size=40).map(lambda tail: b"item,rater,score\n" + tail)),
    layout=st.sampled_from(["table", "mturk"]),
    which=st.integers(0, 1),
    ending=st.sampled_from(["csv", "tsv", "jsonl", "parquet", "txt"]),
)
def test_any_bytes_are_read_or_refused_in_a_sentence(
    studies: list[Study], data: bytes, layout: Any, which: int, ending: str
) -> None:
    _read_or_refused(studies[which], data, layout, ending)


def _read_or_refused(study: Study, data: bytes, layout: Any, ending: str = "csv") -> None:
    import warnings

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        path = Path(folder) / f"r.{ending}"
        path.write_bytes(data)
        said = ""
        try:
            import_ratings(study, path, layout=layout)
        except TrubleuError as error:
            said = str(error)
        assert "\n" not in said
