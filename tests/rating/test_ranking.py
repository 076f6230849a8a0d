"""Studies in which several outputs are ranked: order shown, ties, undo, gold, exports against plain Python, judge."""

from __future__ import annotations

import json
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from tests.rating.load.rig import ServerProcess, simulate
from trubleu.cli import main
from trubleu.data import Rankings
from trubleu.errors import DataError, UsageError
from trubleu.rating import (
    Imported,
    Item,
    Study,
    StudyConfig,
    carry,
    config_text,
    default_config_text,
    export_study,
    import_answers,
    import_ratings,
    parse_config,
)
from trubleu.rating.audit import audit
from trubleu.rating.config import Gold, GoldRule, Question, example
from trubleu.rating.items import competition_ranks
from trubleu.rating.raters import gold_scores
from trubleu.rating.scheduler import arranged, shown_order
from trubleu.rating.summary import summary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Make = Callable[..., Study]

SYSTEMS = ("A", "=B", "C", "D")


def ranked_items(number: int = 3, systems: tuple[str, ...] = SYSTEMS) -> list[Item]:
    return [
        Item(
            f"{at}#{':'.join(systems)}",
            tuple(f"{system} says {at}" for system in systems),
            message=f"message {at}",
            segment=str(at),
            systems=systems,
        )
        for at in range(number)
    ]


def rank(study: Study, rater: int, wanted: dict[str, int], note: str | None = None) -> Any:
    """Rank the next task by the systems that wrote its texts."""
    task = study.assign(rater)
    assert task is not None
    assert task.item.systems == ()
    given = tuple(wanted[text.split(" ")[0]] for text in task.item.texts)
    study.answer(rater, task.assignment, given, key=task.client_key, note=note)
    return task


@given(st.lists(st.integers(1, 8), min_size=1, max_size=8))
def test_ranks_are_one_plus_the_number_of_better_ones(ranks: list[int]) -> None:
    found = competition_ranks(ranks)
    assert list(found) == rankdata(ranks, "min").tolist()
    assert competition_ranks(found) == found


@given(st.integers(1, 8), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_scores_find_back_to_the_texts_they_are_of(parts: int, item: int, rater: int, flipped: bool) -> None:
    order = shown_order("secret", parts, item, rater, flipped and parts == 2)
    assert sorted(order) == [*range(parts)]
    assert order == shown_order("secret", parts, item, rater, flipped and parts == 2)
    scores = tuple(range(1, parts + 1))
    back = tuple(sorted(range(parts), key=order.__getitem__))
    assert arranged(arranged(scores, order), back) == scores


def test_every_rater_sees_an_order_of_their_own(make: Make) -> None:
    study = make(ranked_items(12), kind="ranking", outputs=4, raters=5)
    seen: dict[int, list[str]] = {}
    for rater in (new.rater.id for new in study.add_raters(5)):
        for _ in range(12):
            task = rank(study, rater, {"A": 1, "=B": 2, "C": 3, "D": 4})
            seen.setdefault(rater, []).append(task.item.texts[0].split(" ")[0])
    assert len({tuple(each) for each in seen.values()}) == 5
    for system in SYSTEMS:
        assert 5 <= sum(each.count(system) for each in seen.values()) <= 28
    assert {(row.system, row.score) for row in study.table()} == {("A", 1), ("=B", 2), ("C", 3), ("D", 4)}
    assert audit(study) == []


def test_ties_undo_and_answers_sent_twice(make: Make) -> None:
    study = make(ranked_items(1), kind="ranking", outputs=4, raters=1)
    (rater,) = (new.rater.id for new in study.add_raters(1))
    task = rank(study, rater, {"A": 2, "=B": 1, "C": 2, "D": 3}, note="hard")
    assert {row.system: row.score for row in study.table()} == {"=B": 1, "A": 2, "C": 2, "D": 4}
    given = tuple({"A": 2, "=B": 1, "C": 2, "D": 3}[text.split(" ")[0]] for text in task.item.texts)
    again = study.answer(rater, task.assignment, given, key=task.client_key)
    assert (again.repeated, again.different) == (True, False)
    other = study.answer(rater, task.assignment, (1, 1, 1, 1), key=task.client_key)
    assert (other.repeated, other.different) == (True, True)

    undone = study.undo(rater)
    assert undone is not None
    assert undone.item.texts == task.item.texts, "the order stays when somebody looks again"
    assert undone.earlier is not None
    assert undone.earlier.scores == competition_ranks(given)
    assert study.table() == []
    study.answer(rater, undone.assignment, (1, 1, 1, 1), key=undone.client_key)
    assert {row.score for row in study.table()} == {1}
    assert [row.kind for row in study.log()][-3:] == ["answered", "undone", "answered"]
    assert audit(study) == []


@pytest.mark.parametrize("scores", [(1, 2, 3), (1, 2, 3, 5), (0, 1, 2, 3), (1, 2, 3, None)])
def test_ranks_that_cannot_be(make: Make, scores: tuple[int | None, ...]) -> None:
    study = make(ranked_items(1), kind="ranking", outputs=4)
    (rater,) = (new.rater.id for new in study.add_raters(1))
    task = study.assign(rater)
    assert task is not None
    with pytest.raises(UsageError):
        study.answer(rater, task.assignment, scores, key=task.client_key)
    assert study.table() == []


def test_exports_against_plain_python(make: Make, tmp_path: Path) -> None:
    study = make(ranked_items(5), kind="ranking", outputs=4, raters=2, comments=True)
    people = {new.rater.label: new.rater.id for new in study.add_raters(2, labels=["ann", "bob"])}
    draw, given, shown = Random(3), {}, {}
    for name, rater in people.items():
        for _ in range(5):
            wanted = {system: draw.randint(1, 4) for system in SYSTEMS}
            task = rank(study, rater, wanted, note=f"by {name}")
            given[task.item.segment, name] = dict(zip(wanted, competition_ranks([*wanted.values()]), strict=True))
            shown[task.item.segment, name] = ":".join(text.split(" ")[0] for text in task.item.texts)

    made = export_study(study, "rankings", tmp_path / "rankings.csv", labels=True)
    assert (made.rows, made.ratings, made.short) == (5 * 2 * 6, 10, 0)
    read = Rankings.read(tmp_path / "rankings.csv")
    expected = {
        (segment, name, a, ranks[a], b, ranks[b])
        for (segment, name), ranks in given.items()
        for a, b in combinations(SYSTEMS, 2)
    }
    rows = zip(read.segment, read.judge, read.system_a, read.rank_a, read.system_b, read.rank_b, strict=True)
    assert {
        (read.segments[segment], read.judges[judge], read.systems[a], rank_a, read.systems[b], rank_b)
        for segment, judge, a, rank_a, b, rank_b in rows
    } == expected
    assert len(read) == len(expected)
    assert len(set(read.ranking.tolist())) == 10
    export_study(study, "rankings", tmp_path / "rankings.tsv.gz", labels=True)
    assert Rankings.read(tmp_path / "rankings.tsv.gz") == read

    assert export_study(study, "wide", tmp_path / "wide.jsonl", labels=True).rows == 10
    records = [json.loads(line) for line in (tmp_path / "wide.jsonl").read_text().splitlines()]
    for record in records:
        key = record["item"], record["rater"]
        assert {system: record[f"rank_{system}"] for system in SYSTEMS} == given[key]
        assert (record["shown"], record["comment"]) == (shown[key], f"by {record['rater']}")
    export_study(study, "wide", tmp_path / "wide.csv", labels=True)
    assert len((tmp_path / "wide.csv").read_text().splitlines()) == 11
    assert export_study(study, "raw", tmp_path / "log.csv").rows == len(list(study.log()))

    for what, advice in (("references", "--as rankings"), ("ratings", "--as rankings"), ("mturk-tasks", "own pages")):
        with pytest.raises(UsageError, match=advice):
            export_study(study, what, tmp_path / "x.csv")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="kind response, without rankings; export --as references or ratings"):
        export_study(make(), "rankings", tmp_path / "x.csv")
    with pytest.raises(DataError, match=r"\.csv or \.tsv"):
        export_study(study, "rankings", tmp_path / "x.jsonl")


def test_summary(make: Make) -> None:
    study = make(ranked_items(6), kind="ranking", outputs=4, raters=2)
    for new in study.add_raters(2):
        for _ in range(6):
            rank(study, new.rater.id, {"A": 1, "=B": 2, "C": 2, "D": 4})
    found = summary(study, 0, resamples=20)
    assert (found.alpha.alpha, found.kappa) == (1.0, 1.0)
    assert found.weights == ()
    assert found.disputed == ()
    assert any("ranks" in note for note in found.notes)
    assert found.raters[0].scores == (6, 12, 0, 6)


def test_gold_and_practice(make: Make) -> None:
    texts = ("A is right", "=B is wrong", "C is wrong")
    gold = example("gold", texts, (), None, ((1, 1), (2, 3), (2, 3)))
    rule = GoldRule("exclude", 1, 1.0)
    study = make(
        ranked_items(2, SYSTEMS[:3]), kind="ranking", outputs=3, gold=Gold(0.9, (gold,), rule=rule),
        practice=(example("practice", texts, (), None, ((1, 1), (2, 3), (2, 3)), "So it is."),),
    )  # fmt: skip
    good, bad = (new.rater.id for new in study.add_raters(2))
    for rater, ranks in ((good, {"A": 1, "=B": 2, "C": 2}), (bad, {"A": 2, "=B": 1, "C": 1})):
        task = study.assign(rater)
        assert task is not None
        assert task.practice
        given = tuple(ranks[text.split(" ")[0]] for text in task.item.texts)
        outcome = study.answer(rater, task.assignment, given, key=task.client_key)
        assert (outcome.right, outcome.feedback) == (rater == good, "So it is.")
        while (task := study.assign(rater)) is not None:
            given = tuple(ranks[text.split(" ")[0]] for text in task.item.texts)
            study.answer(rater, task.assignment, given, key=task.client_key)
    assert {rater: score.right for rater, score in study.store.read(gold_scores).items()} == {good: 1, bad: 0}


def test_import_and_carry(make: Make, tmp_path: Path) -> None:
    study = make(ranked_items(2), kind="ranking", outputs=4, raters=2)
    rows = [f"0#A:=B:C:D,{system},eve,{score}" for system, score in zip(SYSTEMS, (1, 3, 3, 2), strict=True)]
    (tmp_path / "r.csv").write_text("\n".join(["item,system,rater,score", *rows]) + "\n")
    assert import_ratings(study, tmp_path / "r.csv").added == 1
    assert {row.system: row.score for row in study.table()} == {"A": 1, "D": 2, "=B": 3, "C": 3}
    (tmp_path / "r.csv").write_text("\n".join(["item,system,rater,score", *rows[:3]]) + "\n")
    with pytest.raises(DataError, match="has not rated all 4 texts"):
        import_ratings(study, tmp_path / "r.csv")
    import_answers(study, [Imported("1#A:=B:C:D", "eve", (1, 1, 2, 3))], source="test")
    assert [row.score for row in study.table() if row.item.item.segment == "1"] == [1, 1, 3, 4]

    turned = make(ranked_items(2, ("C", "D", "A", "=B")), kind="ranking", outputs=4, raters=2)
    assert carry(turned, study).answers == 2
    key = lambda row: (row.item.item.segment, row.system or "", row.score or 0)  # noqa: E731
    assert sorted(map(key, turned.table())) == sorted(map(key, study.table()))
    assert audit(turned) == []


def test_settings() -> None:
    config = StudyConfig("T", "ranking", outputs=5, questions=(Question("Which is the funniest?"),))
    assert config.parts == config.questions[0].points == 5
    assert [config.questions[0].answer(score) for score in (1, 3, 5)] == ["1 – best", "3", "5 – worst"]
    assert parse_config(config_text(config)) == config
    assert parse_config(default_config_text("ranking")).outputs == 3
    with pytest.raises(UsageError, match="2 to 8 outputs, not 9"):
        StudyConfig("T", "ranking", outputs=9)
    with pytest.raises(UsageError, match="asks one question, not 2"):
        StudyConfig("T", "ranking", outputs=3, questions=(Question("?", name="a"), Question("?", name="b")))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: ranking", "study.yaml:1: the file has no outputs; say how many outputs a ranking has"),
        ("kind: ranking\noutputs: 9", "study.yaml:3: outputs must be a whole number from 2 to 8, not '9'"),
        ("kind: pair\noutputs: 2", "study.yaml:3: outputs does not fit kind: pair; leave it out"),
        ("kind: ranking\noutputs: 3\nquestions: []", "study.yaml:4: questions does not fit kind: ranking"),
        ("kind: ranking\noutputs: 3\nweights: mean", "study.yaml:4: weights does not fit kind: ranking"),
        (
            "kind: ranking\noutputs: 3\nscale: {points: 4}",
            "study.yaml:4: scale.points does not fit kind: ranking; leave it out",
        ),
        (
            "kind: ranking\noutputs: 3\npractice:\n - {responses: [a, b], accepted: [1, 2]}",
            "study.yaml:5: practice[1].responses must be 3 texts, not 2",
        ),
        (
            "kind: ranking\noutputs: 3\npractice:\n - {responses: [a, b, c], accepted: [[1, 4], [1, 2], [1, 2]]}",
            "study.yaml:5: practice[1].accepted[1] must be the lowest and the highest score, from 1 to 3",
        ),
    ],
)
def test_settings_that_cannot_be(text: str, problem: str) -> None:
    with pytest.raises(DataError) as error:
        parse_config(f"title: T\n{text}\n")
    assert str(error.value).startswith(problem)


def test_the_number_of_outputs_stays(make: Make) -> None:
    study = make(ranked_items(1), kind="ranking", outputs=4)
    settings = study.folder / "study.yaml"
    settings.write_text(settings.read_text().replace("outputs: 4", "outputs: 3"))
    with pytest.raises(DataError, match="says outputs: 3, but items have 4; change it back"):
        Study.open(study.folder)


def test_simulated_raters_rank_by_quality(make: Make) -> None:
    study = make(ranked_items(6), kind="ranking", outputs=4, raters=3)
    with ServerProcess(study.folder) as server:
        done = simulate(study, 4, urls=[server.url], quality=lambda _, text: 1 + "DC=A".index(text[0]))
    assert done.missing == 0
    rows = study.table()
    means = {each: sum(row.score or 0 for row in rows if row.system == each) for each in SYSTEMS}
    assert sorted(means, key=lambda each: means[each]) == ["A", "=B", "C", "D"]
    assert audit(study) == []


def test_from_the_command_line_to_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = Random(5)
    words = ["red", "green", "blue", "one", "two", "three", "four", "five", "six", "seven"]
    references = [" ".join(draw.choices(words, k=6)) for _ in range(20)]
    lines = [{"id": str(at), "message": "hi", "references": [text]} for at, text in enumerate(references)]
    (tmp_path / "refs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = []
    for name, kept in (("good", 6), ("fair", 4), ("bad", 1)):
        files.append(str(tmp_path / f"{name}.txt"))
        texts = [" ".join([*text.split()[:kept], *draw.choices(words, k=6 - kept)]) for text in references]
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n")
    folder, refs = str(tmp_path / "study"), str(tmp_path / "refs.jsonl")
    new = ["rate", "new", folder, "--kind", "ranking", "--from", refs, "--raters", "1", "--outputs"]
    assert main([*new, *files]) == 0
    with Study.open(folder) as study:
        rater = study.add_raters(1)[0].rater.id
        by_text = {text: at for path in files for at, text in enumerate((tmp_path / path).read_text().splitlines())}
        while (task := study.assign(rater)) is not None:
            reference = references[by_text[task.item.texts[0]]].split()
            wrong = [sum(a != b for a, b in zip(text.split(), reference, strict=True)) for text in task.item.texts]
            study.answer(rater, task.assignment, competition_ranks(wrong), key=task.client_key)
    out = str(tmp_path / "rankings.csv")
    assert main(["rate", "export", folder, "--as", "rankings", "--out", out]) == 0
    assert "60 pairs of outputs from 20 rankings" in capsys.readouterr().out
    assert main(["judge", "ratings", out, "--refs", refs, *files, "-m", "bleu", "chrf", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["setting"][0]["kind"] == "rankings"
    values = [row["value"] for row in report["measures"] if row["level"] == "segment" and row["value"] is not None]
    assert min(values[:2]) > 0.7
    others: list[tuple[list[str], str]] = [
        ([*new, files[0]], "needs --outputs of 2 to 8 systems, but 1 are given"),
        ([*new, *files, "--pairs", "all"], "--pairs is for --kind pair; leave it out"),
    ]
    for command, problem in others:
        command[2] = str(tmp_path / "other")
        assert main(command) == 2
        assert problem in capsys.readouterr().err
    (tmp_path / "study.yaml").write_text(config_text(StudyConfig("T", "ranking", outputs=4)))
    assert main([*new[:2], str(tmp_path / "other"), *new[3:], *files, "--config", str(tmp_path / "study.yaml")]) == 2
    assert "says outputs: 4, but --outputs names 3" in capsys.readouterr().err
