"""Studies with several questions: weights against their plain statement, exports, imports, agreement, judge."""

from __future__ import annotations

import json
from fractions import Fraction
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.cli import main
from trubleu.data import Ratings, References, weight_from_ratings
from trubleu.errors import DataError, UsageError
from trubleu.rating import Imported, Item, Study, StudyConfig, export_study, import_answers, import_ratings
from trubleu.rating.audit import audit
from trubleu.rating.carry_over import carry
from trubleu.rating.config import Gold, GoldRule, Question, example
from trubleu.rating.export import output_ratings, reference_records
from trubleu.rating.raters import gold_scores
from trubleu.rating.store.queries import RatingRow, StoredItem
from trubleu.rating.summary import summary
from trubleu.rating.weights import text_weight

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Make = Callable[..., Study]

TWO = (
    Question("Relevant?", ("no", "partly", "yes"), "relevance"),
    Question("Interesting?", ("dull", "gripping"), "interest", required=False, points=7),
)
PAIRS = [Item(f"{n}#A:B", (f"a{n}", f"b{n}"), segment=str(n), systems=("A", "B")) for n in range(3)]


def row(question: int, score: int | None, rater: int = 1) -> RatingRow:
    stored = StoredItem(1, Item("k", ("t",)), "item", 0, 1, 1, 1, 0)
    return RatingRow(stored, 0, question, rater, "r", False, score, True, 0, None, None, False)


@given(
    st.lists(st.integers(2, 11), min_size=1, max_size=4).flatmap(
        lambda points: st.tuples(
            st.just(points),
            st.lists(st.tuples(*(st.none() | st.integers(1, each) for each in points)), min_size=1, max_size=8),
            st.integers(0, len(points)),
        )
    )
)
def test_weights_are_means_on_the_scale_from_minus_one_to_one(made: tuple[list[int], list[Any], int]) -> None:
    points, answers, chosen = made
    questions = tuple(Question("?", (), f"q{at}", points=each) for at, each in enumerate(points))
    weights = "mean" if chosen == len(points) else f"q{chosen}"
    config = StudyConfig("T", "response", questions=questions, weights=weights)
    rows = [row(at, score, rater) for rater, given in enumerate(answers) for at, score in enumerate(given)]
    # Stated plainly: each answer moved onto −1 to 1, the mean of raters, then of questions.
    by_question = []
    for at, each in enumerate(points):
        moved = [-1 + 2 * (given[at] - 1) / (each - 1) for given in answers if given[at] is not None]
        if moved and weights in ("mean", f"q{at}"):
            by_question.append(fmean(moved))
    found = text_weight(config, rows)
    if not by_question:
        assert found is None
        return
    assert found is not None
    assert float(found) == pytest.approx(fmean(by_question), abs=1e-12)
    assert -1 <= found <= 1


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20))
def test_the_weight_of_one_question_of_five_points_is_that_of_the_paper(scores: list[int]) -> None:
    found = text_weight(StudyConfig("T", "response"), [row(0, score, at) for at, score in enumerate(scores)])
    assert found == Fraction(sum(scores) - 3 * len(scores), 2 * len(scores))
    assert float(found) == weight_from_ratings(scores)


def test_exports(make: Make, tmp_path: Path) -> None:
    study = make([Item("s#1", ("fine",), segment="s", reference="1")], questions=TWO, raters=2, comments=True)
    ann, bob = (new.rater.id for new in study.add_raters(2, labels=["ann", "bob"]))
    for rater, scores, note in ((ann, (3, 7), "=nice"), (bob, (2, None), None)):
        task = study.assign(rater)
        assert task is not None
        study.answer(rater, task.assignment, scores, key=task.client_key, note=note)
    for weights, expected in (("mean", (0.5 + 1) / 2), ("relevance", 0.5), ("interest", 1.0)):
        settings = study.folder / "study.yaml"
        settings.write_text(settings.read_text().replace("weights: mean", f"weights: {weights}"))
        with Study.open(study.folder) as opened:
            (record,) = reference_records(opened)
            assert record["references"] == [
                {"id": "1", "text": "fine", "weight": expected, "scores_of_raters": {
                    "relevance": [3, 2], "interest": [7, None]}},
            ]  # fmt: skip
        settings.write_text(settings.read_text().replace(f"weights: {weights}", "weights: mean"))
    export_study(study, "references", tmp_path / "refs.jsonl")
    assert References.read(tmp_path / "refs.jsonl")[0].references[0].weight == 0.75

    made = export_study(study, "ratings", tmp_path / "long.csv", labels=True)
    assert (made.rows, made.ratings) == (3, 2)
    long = Ratings.read(tmp_path / "long.csv", scale=(1, 7))
    assert sorted(zip(long.rater, long.aspect or (), long.score, strict=True)) == [
        ("ann", "interest", 7), ("ann", "relevance", 3), ("bob", "relevance", 2),
    ]  # fmt: skip

    assert export_study(study, "wide", tmp_path / "wide.jsonl", labels=True).rows == 2
    wide = [json.loads(line) for line in (tmp_path / "wide.jsonl").read_text().splitlines()]
    keys = ["item", "system", "pair", "rater", "relevance", "interest", "seconds", "comment"]
    assert [list(record) for record in wide] == [keys, keys]
    assert [(each["rater"], each["relevance"], each["interest"], each["comment"]) for each in wide] == [
        ("ann", 3, 7, "=nice"), ("bob", 2, None, None),
    ]  # fmt: skip
    for name in ("wide.csv", "wide.tsv"):
        export_study(study, "wide", tmp_path / name, labels=True)
    assert "'=nice" in (tmp_path / "wide.csv").read_text()  # no formula


def test_what_was_exported_can_be_imported(make: Make, tmp_path: Path) -> None:
    first, second = make(PAIRS, kind="pair", questions=TWO, raters=2), make(PAIRS, kind="pair", questions=TWO, raters=2)
    answers = [
        Imported(item.key, who, (1, 7, 3, None) if who == "ann" else (2, None, 2, 4))
        for item in PAIRS
        for who in ("ann", "bob")
    ]
    import_answers(first, answers, source="test")
    export_study(first, "ratings", tmp_path / "long.csv")
    assert import_ratings(second, tmp_path / "long.csv").added == 6
    theirs, mine = ([(r.key, r.part, r.question, r.score) for r in study.table()] for study in (first, second))
    assert sorted(map(str, theirs)) == sorted(map(str, mine))
    assert audit(second) == []
    third = make(PAIRS, kind="pair", questions=TWO, raters=2)
    assert carry(third, first).counted == 6
    assert sorted(str((r.key, r.part, r.question, r.score)) for r in third.table()) == sorted(map(str, theirs))
    assert audit(third) == []


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "item,rater,score\nk0,ann,2\n",
            "r.csv:2: this names no question; give a column aspect with relevance, interest",
        ),
        ("item,rater,score,aspect\nk0,ann,2,style\n", "r.csv:2: 'style' is not a question of this study; "),
        (
            "item,rater,score,aspect\nk0,ann,4,relevance\n",
            "r.csv:2: a score for relevance must be a whole number from 1 to",
        ),
        ("item,rater,score,aspect\nk0,ann,4,interest\n", "r.csv:2: the question 'relevance' must be answered"),
    ],
)
def test_tables_that_do_not_fit_the_questions(make: Make, tmp_path: Path, table: str, message: str) -> None:
    (tmp_path / "r.csv").write_text(table)
    study = make(2, questions=TWO)
    with pytest.raises(DataError) as raised:
        import_ratings(study, tmp_path / "r.csv")
    assert message in str(raised.value)
    assert study.table() == []


def test_what_needs_one_question_of_five_points_says_so(make: Make, tmp_path: Path) -> None:
    study = make(1, questions=TWO)
    (tmp_path / "r.csv").write_text("WorkerId,Input.key,Answer.score\nA,k0,1\n")
    for act in (
        lambda: export_study(study, "mturk-tasks", tmp_path / "tasks.csv"),
        lambda: import_ratings(study, tmp_path / "r.csv", layout="mturk"),
    ):
        with pytest.raises(UsageError, match="hold one score from 1 to 5 for each text; for other studies"):
            act()
    with pytest.raises(UsageError, match="does not ask what"):
        carry(make(1), study)


def test_gold_items_know_which_question_they_are_about(make: Make) -> None:
    gold = tuple(example("gold", (f"g{n}",), (), None, (None, (6, 7))) for n in range(3))
    rule = GoldRule("exclude", 2, 0.7)
    study = make(2, questions=TWO, gold=Gold(0.5, gold, None, rule))
    answers = [Imported(gold[n].key, "ann", (1, 2)) for n in range(2)] + [Imported(gold[2].key, "bob", (1, None))]
    assert import_answers(study, answers, source="test").excluded == 1
    scores = study.store.read(gold_scores)
    assert [(score.right, score.total) for score in scores.values()] == [(0, 2)]  # leaving it out is not wrong


def test_agreement_is_that_of_each_question(make: Make) -> None:
    study = make(20, questions=TWO, raters=2)
    answers = []
    for number in range(20):
        relevance = number % 3 + 1
        answers += [
            Imported(f"k{number}", "ann", (relevance, number % 7 + 1)),
            Imported(f"k{number}", "bob", (relevance, None)),
        ]
    import_answers(study, answers, source="test")
    found = summary(study, 0, resamples=0)
    assert [(each.name, each.answered, each.left_out) for each in found.questions] == [
        ("relevance", 40, 0), ("interest", 20, 20),
    ]  # fmt: skip
    assert found.alpha.alpha == 1
    assert [person.scores for person in found.raters] == [(7, 7, 6)] * 2
    other = summary(study, 0, question=1, resamples=0)
    assert other.alpha.reason is not None
    assert [len(person.scores) for person in other.raters] == [7, 7]
    assert (found.counted, found.wanted, other.counted) == (40, 40, 40)
    assert sum(each.count for each in found.weights) == 20


def test_raters_who_are_conspicuous_are_flagged(make: Make) -> None:
    study = make(30, raters=5)
    habits: dict[str, Callable[[int], tuple[int, int]]] = {
        "ann": lambda n: (n % 5 + 1, 9000),
        "bob": lambda n: (min(5, n % 5 + 1 + (n % 7 == 0)), 11_000),
        "quick": lambda n: (n % 5 + 1, 2000),
        "same": lambda _: (4, 10_000),
        "apart": lambda n: (5 - n % 5, 10_000),
    }
    answers = [
        Imported(f"k{n}", who, (habit(n)[0],), milliseconds=habit(n)[1])
        for who, habit in habits.items()
        for n in range(30)
    ]
    import_answers(study, answers, source="test")
    found = {person.rater.name: person.flags for person in summary(study, 0, resamples=0).raters}
    assert found["ann"] == found["bob"] == ()
    times = [9.0, 11.0, 10.0, 10.0]
    assert found["quick"] == (f"too fast: 2.0 s for half of the answers, others {median(times):.1f} s",)
    assert found["same"][0] == "always the same: 4 in 30 of 30 answers"
    (apart,) = found["apart"]
    assert apart.startswith("apart from the rest: κ −" if "−" in apart else "apart from the rest: κ -")


def test_with_few_answers_nobody_is_flagged(make: Make) -> None:
    study = make(9, raters=2)
    import_answers(study, [Imported(f"k{n}", who, (4,)) for n in range(9) for who in "ab"], source="test")
    assert [person.flags for person in summary(study, 0, resamples=0).raters] == [(), ()]


def test_judge_takes_questions_as_aspects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "refs.jsonl").write_text(
        "".join(json.dumps({"id": str(n), "references": [{"text": f"good answer {n}"}]}) + "\n" for n in range(30))
    )
    for name, word in (("A", "good"), ("B", "bad")):
        (tmp_path / f"{name}.txt").write_text("".join(f"{word} answer {n + n % 2}\n" for n in range(30)))
    items = [
        Item(f"{n}#A:B", (f"good answer {n + n % 2}", f"bad answer {n + n % 2}"), segment=str(n), systems=("A", "B"))
        for n in range(30)
    ]
    with Study.create(tmp_path / "study", StudyConfig("T", "pair", raters=1, questions=TWO), items) as study:
        answers = [Imported(item.key, "ann", (3, 6 + n % 2, 1 + n % 2, 1)) for n, item in enumerate(items)]
        import_answers(study, answers, source="test")
        assert set(output_ratings(study).aspect or ()) == {"relevance", "interest"}
    assert main(["rate", "export", "study", "--as", "ratings", "--out", "ratings.csv"]) == 0
    for aspect in ("relevance", "interest"):
        arguments = ["judge", "pairs", "A.txt", "B.txt", "--refs", "refs.jsonl", "--ratings", "ratings.csv"]
        arguments += [
            "--aspect",
            aspect,
            "-m",
            "bleu-2",
            "--unit",
            "5",
            "--draws",
            "20",
            "--scale",
            "1:7",
            "--format",
            "json",
        ]
        assert main(arguments) == 0, capsys.readouterr().err
