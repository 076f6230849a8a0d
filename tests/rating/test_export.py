"""What a study gives: read back by what the rest of the toolkit reads, and safe from spreadsheets."""

from __future__ import annotations

import csv
import json
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rating.test_summary import counted_scores, rate_all, relabel, some_score
from trubleu.data import Ratings, References, weight_from_ratings
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.files.tables import guarded, unguarded
from trubleu.rating import Exported, Imported, Item, Study, StudyConfig, export_study, import_answers, read_items
from trubleu.rating.config import Gold, example
from trubleu.rating.export import output_ratings, rater_names, reference_records
from trubleu.rating.raters import pseudonym

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., Study]

CANDIDATES = [
    {
        "id": "s1",
        "context": ["hi"],
        "message": "how was it?",
        "references": [
            {"id": "r-1", "text": "we won!", "weight": None, "origin": "seed", "source": None, "rank": None},
            {"id": "r-2", "text": "=1+1", "origin": "mined", "source": "t7", "rank": 1, "scores": {
                "score": 2.5, "message": 1.5, "response": 3.0}, "words": {"message": {"it": 1.5}}},
        ],
    },
    {"id": "s2", "message": "and now?", "references": [{"text": "no idea"}, {"text": "home", "origin": "random"}]},
]  # fmt: skip


@pytest.fixture
def candidates(tmp_path: Path) -> list[Item]:
    path = tmp_path / "candidates.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in CANDIDATES))
    return read_items(path)


def export(study: Study, what: Any, path: Path, **options: Any) -> Exported:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        return export_study(study, what, path, **options)


def test_references(make: Make, candidates: list[Item], tmp_path: Path) -> None:
    practice = (example("practice", ("practice",), (), None, ((1, 2),)),)
    gold = Gold(0.4, (example("gold", ("gold",), (), None, ((4, 5),)),))
    study = make(candidates, raters=3, practice=practice, gold=gold)
    raters = [new.rater.id for new in study.add_raters(4)]
    rate_all(study, raters, some_score)
    assert export_study(study, "references", tmp_path / "refs.jsonl") == Exported(2, 12, 4, 0, 0)
    records = [json.loads(line) for line in (tmp_path / "refs.jsonl").read_text().splitlines()]
    scores = counted_scores(study)
    assert [record["id"] for record in records] == ["s1", "s2"]
    assert [[each["text"] for each in record["references"]] for record in records] == [
        ["we won!", "=1+1"],
        ["no idea", "home"],
    ]
    for record in records:
        for each in record["references"]:
            by_rater = scores[f"{record['id']}#{each['id']}", 0]
            assert each["ratings"] == [by_rater[rater] for rater in sorted(by_rater)]
            assert each["weight"] == weight_from_ratings(each["ratings"])
            assert "short" not in each
    mined = records[0]["references"][1]
    for name in ("id", "origin", "source", "rank", "scores", "words"):
        assert mined[name] == CANDIDATES[0]["references"][1][name]  # type: ignore[index]
    read = References.read(tmp_path / "refs.jsonl")
    assert [each.weight for segment in read for each in segment.references] == [
        each["weight"] for record in records for each in record["references"]
    ]
    assert (read[0].message, read[0].context, read[1].references[1].origin) == ("how was it?", ("hi",), "random")
    again = tmp_path / "again.jsonl"
    export_study(study, "references", again)
    assert again.read_bytes() == (tmp_path / "refs.jsonl").read_bytes()
    # A new study can be made of what was exported: the items are the same.
    with pytest.warns(TrubleuWarning, match="has ratings or weights of 4 references, left out"):
        assert [(item.key, item.texts) for item in read_items(again)] == [(item.key, item.texts) for item in candidates]
    with pytest.warns(TrubleuWarning, match="has ratings or weights of 4 references, left out"):
        mined = read_items(again)[1]
    assert (mined.key, mined.extra["rank"], mined.extra["words"]) == ("s1#r-2", 1, {"message": {"it": 1.5}})


def test_short_items_are_flagged_and_said_once(make: Make, candidates: list[Item], tmp_path: Path) -> None:
    study = make(candidates, raters=2)
    import_answers(
        study, [Imported("s1#r-1", "a", (4,)), Imported("s1#r-1", "b", (5,)), Imported("s1#r-2", "a", (1,))], source=""
    )
    with pytest.warns(TrubleuWarning) as told:
        made = export_study(study, "references", tmp_path / "refs.jsonl")
    assert [str(each.message) for each in told] == [
        'items with fewer ratings than asked for: 3 of 4, 2 of them without any; they are marked "short"'
    ]
    assert made == Exported(2, 3, 4, 3, 2)
    flat = [each for record in reference_records(study) for each in record["references"]]
    assert [(each["weight"], each["ratings"], each.get("short", False)) for each in flat] == [
        (0.75, [4, 5], False),
        (-1.0, [1], True),
        (None, [], True),
        (None, [], True),
    ]
    with pytest.warns(TrubleuWarning, match="3 of 4, 2 of them without any$"):
        export_study(study, "ratings", tmp_path / "ratings.csv")


def test_excluded_raters_are_left_out(make: Make, candidates: list[Item], tmp_path: Path) -> None:
    study = make(candidates, raters=2)
    rate_all(study, [new.rater.id for new in study.add_raters(3)], some_score)
    before = output_ratings(study)
    study.exclude(2, reason="spam")
    after = output_ratings(study)
    second = pseudonym(2, study.id)
    assert second in before.rater
    assert second not in after.rater
    kept = {row for row in zip(before.item, before.rater, before.score, strict=True) if row[1] != second}
    assert kept == set(zip(after.item, after.rater, after.score, strict=True))
    assert sum(len(each["ratings"]) for record in reference_records(study) for each in record["references"]) == len(
        after
    )
    raw = tmp_path / "raw.jsonl"
    export(study, "raw", raw)
    rows = [json.loads(line) for line in raw.read_text().splitlines()]
    assert {"rater": second, "kind": "excluded", "note": "spam"}.items() <= next(
        row for row in rows if row["kind"] == "excluded"
    ).items()
    assert [row["id"] for row in rows] == [row.id for row in study.log()]


def test_triples_as_references_and_ratings(make: Make, tmp_path: Path) -> None:
    study = make([Item("t1", ("fine",), ("hi",), "how are you?", segment="t1")], raters=1)
    import_answers(study, [Imported("t1", "a", (4,))], source="test")
    export_study(study, "references", tmp_path / "refs.jsonl")
    reference = References.read(tmp_path / "refs.jsonl")[0].references[0]
    assert (reference.text, reference.weight, reference.origin) == ("fine", 0.5, "seed")
    export_study(study, "ratings", tmp_path / "ratings.csv")
    mark = study.id[:8]
    assert (tmp_path / "ratings.csv").read_text() == f"item,system,rater,score\nt1,seed,rater 1 of {mark},4\n"


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_pairs(make: Make, tmp_path: Path, ending: str) -> None:
    items = [
        Item(f"{n}#{a}:{b}", (f"{a} says {n}", f"{b} says {n}"), segment=str(n), systems=(a, b))
        for n in range(3)
        for a, b in (("A", "B"), ("C", "A"))
    ]
    study = make(items, raters=2, kind="pair")
    rate_all(study, [new.rater.id for new in study.add_raters(2)], some_score)
    path = tmp_path / f"ratings.{ending}"
    assert export_study(study, "ratings", path) == Exported(24, 12, 6, 0, 0)
    read = Ratings.read(path)
    assert len(read) == 24
    assert read.pair is not None
    for item, system, rater, score, pair in zip(read.item, read.system, read.rater, read.score, read.pair, strict=True):
        # Whatever stood left or right for a rater: the score is that of the system's text.
        assert system in (pair or "").split(":")
        assert score == some_score(int(rater.split()[1]), f"{system} says {item}")
    with pytest.raises(UsageError, match="is a study of kind pair, without references; export --as ratings"):
        export_study(study, "references", tmp_path / "refs.jsonl")


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_the_log(make: Make, candidates: list[Item], tmp_path: Path, ending: str) -> None:
    study = make(candidates, raters=1)
    rater = study.add_raters(1, labels=["=ann()"])[0].rater.id
    task = study.assign(rater, now=5)
    assert task is not None
    study.answer(rater, task.assignment, (4,), key=task.client_key, milliseconds=70, now=9)
    study.exclude(rater, reason="-2+3", now=11)
    path = tmp_path / f"raw.{ending}"
    assert export(study, "raw", path, labels=True).rows == len(study.log())
    with path.open(newline="") as stream:
        cells = list(csv.DictReader(stream, delimiter="," if ending == "csv" else "\t"))
    answered = next(row for row in cells if row["kind"] == "answered")
    names = ("scores", "counted", "milliseconds", "client_milliseconds", "at")
    assert [answered[name] for name in names] == ["[4]", "true", "4", "70", "9"]
    assert {row["rater"] for row in cells if row["rater"]} == {"'=ann()"}
    assert next(row["note"] for row in cells if row["kind"] == "excluded") == "'-2+3"


def test_nobody_is_named_unless_asked_for(make: Make, candidates: list[Item], tmp_path: Path) -> None:
    study = make(candidates, raters=3)
    new = study.add_raters(2, labels=["ann", "bob"])
    rate_all(study, [each.rater.id for each in new], some_score)
    import_answers(study, [Imported("s1#r-1", "A2WORKER", (4,))], source="batch.csv")
    study.erase(1)
    for what, ending in (("ratings", "csv"), ("raw", "jsonl"), ("references", "jsonl"), ("mturk-tasks", "csv")):
        for labels in (False, True):
            path = tmp_path / f"{what}{labels}.{ending}"
            export(study, what, path, labels=labels)
            text = path.read_text()
            for word in ("ann", *(each.token for each in new), *([] if labels else ["bob", "A2WORKER"])):
                assert word not in text
            if what == "ratings":
                assert ("bob" in text, "A2WORKER" in text) == (labels, labels)


def test_names_of_raters_differ(make: Make) -> None:
    study = make(1)
    study.add_raters(5, labels=["x", "z", "x (1)", pseudonym(5, study.id), "y"])
    relabel(study, 2, "x")
    study.erase(5)
    names = rater_names(study.raters(), study.id, labels=True)
    assert len(set(names.values())) == 5
    assert names[3] == "x (1)"
    assert rater_names(study.raters(), "0123456789") == {n: f"rater {n} of 01234567" for n in range(1, 6)}


def test_refusals(make: Make, tmp_path: Path) -> None:
    study = make(1)
    with pytest.raises(UsageError, match="there is no export of 'weights'; known: references"):
        export_study(study, "weights", tmp_path / "x.jsonl")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"x\.csv: csv cannot be written here; let it end in \.jsonl"):
        export_study(study, "references", tmp_path / "x.csv")
    with pytest.raises(DataError, match="let it end in"):
        export_study(study, "raw", tmp_path / "x.doc")


def test_segments_that_cannot_be_told_apart(make: Make, tmp_path: Path) -> None:
    items = [Item(f"1#{name}", ("text",), message=name, segment="1", reference=name) for name in "ab"]
    with pytest.raises(DataError, match="two pieces of conversation have the id '1'"):
        export_study(make(items), "references", tmp_path / "refs.jsonl")


TEXTS = st.text(st.one_of(st.sampled_from("'=+-@\t\r\n\",;ａ＝＠"), st.characters(codec="utf-8")), max_size=8)


@given(text=TEXTS)
def test_guards_are_taken_off_again(text: str) -> None:
    safe = guarded(text)
    assert unguarded(safe) == text
    assert not safe.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert safe in (text, f"'{text}")


NAMES = TEXTS.filter(lambda text: text.strip() and "\0" not in text)


@settings(max_examples=15, deadline=None)
@given(
    keys=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    raters=st.lists(NAMES.map(str.strip).filter(bool), min_size=1, max_size=3, unique=True),
    scores=st.lists(st.integers(1, 5), min_size=12, max_size=12),
    ending=st.sampled_from(["csv", "tsv", "jsonl", "parquet"]),
)
def test_what_is_exported_can_be_imported_again(
    keys: list[str], raters: list[str], scores: list[int], ending: str
) -> None:
    from trubleu.rating import import_ratings

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = StudyConfig("Test", "response", raters=len(raters))
        items = [Item(key, ("text",), segment=key) for key in keys]
        answers = [
            Imported(key, rater, (scores[3 * row + column],))
            for row, key in enumerate(keys)
            for column, rater in enumerate(raters)
        ]
        with Study.create(folder / "a", config, items) as first, Study.create(folder / "b", config, items) as second:
            import_answers(first, answers, source="test")
            path = folder / f"ratings.{ending}"
            export_study(first, "ratings", path, labels=True)
            assert import_ratings(second, path).counted == len(answers)
            assert output_ratings(second, labels=True) == output_ratings(first, labels=True)
            # Raters have other names in another study, which say whose they are.
            again, before = (
                [{**record, "references": [{**each, "raters": len(each["raters"])} for each in record["references"]]}
                 for record in reference_records(study)]
                for study in (second, first)
            )  # fmt: skip
            assert again == before
            if ending == "csv":
                with path.open(newline="", encoding="utf-8") as stream:
                    cells = [cell for row in csv.reader(stream) for cell in row]
                assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
