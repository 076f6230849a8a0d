"""Files of answers in the forms that people have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from trubleu.data.answers import read_answers
from trubleu.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from trubleu.data.answers import AnswerFile, Role


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(name: str, content: Any, role: Role = "new", **columns: str) -> AnswerFile:
    from pathlib import Path

    text = content if isinstance(content, str) else json.dumps(content)
    Path(name).write_text(text, encoding="utf-8")
    return read_answers(name, role, columns=columns or None)


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def references(file: AnswerFile, at: int = 0) -> list[tuple[str, float | None]]:
    return [(each.text, each.weight) for each in file.items[at].references]


def test_wide_tables(folder: Path) -> None:
    assert folder
    file = read(
        "a.csv", 'id,Question,Good answers,Bad_answers,answer\n1,Why?,"So.|Thus.",No.,So it is.\n2,"A, b?",B.,,B\n'
    )
    assert [item.question for item in file.items] == ["Why?", "A, b?"]
    assert references(file) == [("So.", 1.0), ("Thus.", 1.0), ("No.", -1.0)]
    assert file.items[1].answers == ("B",)
    assert file.summary() == (
        "a.csv: CSV, wide, 2 questions, 2 answers, 3 good answers, 1 bad answer; "
        "question ← Question; good ← Good answers; bad ← Bad_answers"
    )


def test_several_columns_of_good_answers(folder: Path) -> None:
    assert folder
    file = read("a.tsv", "question\tgood_1\tgood_2\tbad_1\nWhy?\tSo.\tThus | so.\tNo.\n", "references")
    assert references(file) == [("So.", 1.0), ("Thus | so.", 1.0), ("No.", -1.0)], "one cell of good_1 is one answer"


def test_arrays_and_weights(folder: Path) -> None:
    assert folder
    row = {
        "id": 7,
        "question": "Why?",
        "references": [{"text": "So.", "weight": 0.5}, {"text": "No.", "weight": -1}, "Thus."],
    }
    assert references(read("a.jsonl", row, "references")) == [("So.", 0.5), ("No.", -1.0), ("Thus.", 1.0)]


def test_ratings_of_references_become_weights(folder: Path) -> None:
    assert folder
    row = {"id": "a", "references": [{"text": "So.", "ratings": [5, 4]}, {"text": "No.", "ratings": [1, 1]}]}
    assert references(read("a.jsonl", row, "references")) == [("So.", 0.75), ("No.", -1.0)]


@pytest.mark.parametrize(
    ("title", "values"),
    [
        ("label", ("good", "bad")),
        ("correct", ("1", "0")),
        ("is_correct", ("TRUE", "False")),
        ("label", ("correct", "incorrect")),
        ("weight", ("1", "-1")),
        ("rating", ("5", "1")),
    ],
)
def test_long_tables_with_labels(folder: Path, title: str, values: tuple[str, str]) -> None:
    assert folder
    file = read("a.csv", f"question,answer,{title}\nWhy?,So.,{values[0]}\nWhy?,No.,{values[1]}\n", "references")
    assert references(file) == [("So.", 1.0), ("No.", -1.0)]
    assert len(file.items) == 1


def test_old_and_new_in_one_file(folder: Path) -> None:
    assert folder
    by_name = read("a.csv", "id,good,answer_old,answer_new\n1,So.,Old,New\n").items[0]
    assert (by_name.baseline, by_name.answers) == (("Old",), ("New",))
    by_letter = read("b.csv", "id,good,answer_a,answer_b\n1,So.,A,B\n", answer="answer_b", baseline="answer_a").items[0]
    assert (by_letter.baseline, by_letter.answers) == (("A",), ("B",))
    with pytest.raises(DataError, match=r"2 columns of answers .*--columns answer=answer_b,baseline=answer_a"):
        read("c.csv", "id,good,answer_a,answer_b\n1,So.,A,B\n")


def test_repeats(folder: Path) -> None:
    assert folder
    assert read("a.csv", "id,answer_1,answer_2\n1,A,B\n").items[0].answers == ("A", "B")
    assert read("b.csv", "id,repeat,answer\n1,1,A\n1,2,B\n").items[0].answers == ("A", "B")
    assert read("c.jsonl", {"id": 1, "answers": ["A", "B", "C"]}).items[0].answers == ("A", "B", "C")
    with pytest.raises(DataError, match=r"d\.csv:3: the id '1' was already used at d\.csv:2"):
        read("d.csv", "id,answer\n1,A\n1,B\n")


CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello!"},
    {"role": "user", "content": "Why?"},
    {"role": "assistant", "content": [{"type": "text", "text": "Because."}]},
]


def test_chats_give_the_last_turn_of_the_assistant(folder: Path) -> None:
    assert folder
    for record in (
        {"id": 1, "messages": CHAT},
        {"id": 1, "question": "Why?", "output": {"role": "assistant", "content": "Because."}},
        {"id": 1, "messages": CHAT[:-1], "response": {"choices": [{"message": CHAT[-1]}]}},
    ):
        item = read("a.jsonl", record).items[0]
        assert item.answers == ("Because.",)
    assert read("a.jsonl", {"id": 1, "messages": CHAT}).items[0].question == "Why?"
    shared = [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "So."}]
    assert read("b.json", [{"id": 1, "conversations": shared}]).items[0].answers == ("So.",)
    with pytest.raises(
        DataError, match=r"c\.jsonl:1: the chat has no turn of the assistant; its roles are system, user"
    ):
        read("c.jsonl", {"id": 1, "messages": CHAT[:2]})


def test_a_path_into_nested_objects(folder: Path) -> None:
    assert folder
    record = {"id": 1, "run": {"out": {"text": "So."}}, "inputs": {"q": "Why?"}}
    item = read("a.jsonl", record, answer="run.out.text", question="inputs.q").items[0]
    assert (item.question, item.answers) == ("Why?", ("So.",))


def promptfoo(output: str | None, index: int, **more: Any) -> dict[str, Any]:
    return {
        "promptIdx": 0,
        "testIdx": index,
        "testCase": {"vars": {"question": f"Q{index}"}, "assert": [{"type": "similar", "value": f"A{index}"}]},
        "promptId": "x",
        "provider": {"id": "openai:gpt", "label": ""},
        "prompt": {"raw": f"Answer: Q{index}", "label": "Answer"},
        "vars": {"question": f"Q{index}"},
        "response": {"output": output, "tokenUsage": {}} if output is not None else {"error": "timeout"},
        "success": output is not None,
        "score": 1,
        "latencyMs": 3,
        "namedScores": {},
        **more,
    }


def test_results_of_promptfoo(folder: Path) -> None:
    assert folder
    results = [promptfoo("One", 0), promptfoo("Two", 1), promptfoo("Uno", 0)]
    whole = {
        "evalId": "eval-1",
        "results": {"version": 3, "timestamp": "", "prompts": [], "results": results, "stats": {}},
    }
    file = read("a.json", whole)
    assert file.form == "results of promptfoo"
    assert [(item.question, item.answers) for item in file.items] == [("Q0", ("One", "Uno")), ("Q1", ("Two",))]
    assert references(file) == [("A0", 1.0)]
    again = read("b.jsonl", lines(*results))
    assert [item.answers for item in again.items] == [item.answers for item in file.items]
    with pytest.raises(DataError, match=r"c\.json, result 2: there is no output \('timeout'\); run it again"):
        read("c.json", {"results": {"results": [promptfoo("One", 0), promptfoo(None, 1)]}})
    other = promptfoo("One", 0, provider={"id": "anthropic:claude"})
    with pytest.raises(DataError, match="the results of 2 providers or prompts"):
        read("d.json", {"results": {"results": [promptfoo("One", 0), other]}})


def test_rules_of_promptfoo(folder: Path) -> None:
    assert folder
    asserted = [
        {"type": "contains", "value": "30 days"},
        {"type": "not-contains", "value": "as an AI"},
        {"type": "regex", "value": "^Yes"},
        {"type": "contains", "value": "{{name}}"},
        {"type": "javascript", "value": "output.length < 3"},
    ]
    case = {"vars": {}, "assert": asserted, "metadata": {"id": "first"}}
    item = read("a.json", {"results": {"results": [promptfoo("Yes", 0, testCase=case)]}}).items[0]
    assert (item.id, item.contains, item.excludes, item.regex) == ("first", ("30 days",), ("as an AI",), ("^Yes",))


def test_samples_of_lm_evaluation_harness(folder: Path) -> None:
    assert folder
    rows = [
        {
            "doc_id": at,
            "doc": {"question": f"Q{at}", "answer": "#### 3"},
            "target": f"T{at}",
            "arguments": {"gen_args_0": {"arg_0": f"Question: Q{at}\nAnswer:", "arg_1": {"until": ["\n"]}}},
            "resps": [[f"R{at}", f"S{at}"]],
            "filtered_resps": [which],
            "filter": which,
            "exact_match": 1.0,
            "doc_hash": f"h{at}",
        }
        for which in ("strict", "flexible")
        for at in range(2)
    ]
    file = read("samples.jsonl", lines(*rows))
    assert file.form == "samples of lm-evaluation-harness"
    assert [(item.id, item.answers) for item in file.items] == [("0", ("R0", "S0")), ("1", ("R1", "S1"))]
    assert [item.question for item in file.items] == ["Q0", "Q1"]
    assert references(file) == [("T0", 1.0)]
    with pytest.raises(DataError, match=r"likely\.jsonl:1: resps holds no generated text"):
        read("likely.jsonl", lines({"doc_id": 0, "resps": [[[-1.5, False]], [[-2.0, False]]], "target": 0}))


def test_logs_of_inspect(folder: Path) -> None:
    assert folder
    sample = {
        "id": 1,
        "epoch": 1,
        "input": [{"role": "user", "content": "Why?"}],
        "target": ["So.", "Thus."],
        "messages": CHAT,
        "output": {"model": "m", "choices": [{"message": CHAT[-1], "stop_reason": "stop"}]},
        "scores": {},
    }
    again = {**sample, "epoch": 2, "output": {"model": "m", "choices": [], "completion": "Well."}}
    log = {"version": 2, "status": "success", "eval": {"task": "t"}, "plan": {}, "samples": [sample, again]}
    file = read("log.json", log)
    assert file.form == "a log of inspect"
    assert [(item.id, item.question, item.answers) for item in file.items] == [("1", "Why?", ("Because.", "Well."))]
    assert references(file) == [("So.", 1.0), ("Thus.", 1.0)], "epochs have the same target"
    with pytest.raises(DataError, match=r"log\.json, sample 1: the sample ended with an error \('out of memory'\)"):
        read("log.json", {**log, "samples": [{**sample, "error": {"message": "out of memory", "traceback": ""}}]})
    with pytest.raises(DataError, match="without samples"):
        read("log.json", {"version": 2, "eval": {}, "plan": {}, "status": "error"})
    with pytest.raises(DataError, match=r"log\.eval is a packed log of inspect; convert it with"):
        read("log.eval", "PK")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "id,answer\n", "a.csv has no answers"),
        ("a.jsonl", "", "a.jsonl is empty"),
        (
            "a.csv",
            "id,text,output\n1,a,b\n",
            r"the columns text and output could both be the answer; .*--columns answer=",
        ),
        ("a.csv", "id,wrote\n1,a\n", r"no column is recognised as the answers; name it with --columns answer=TITLE"),
        ("a.jsonl", '{"id": 1, "answer": null}', r"no column is recognised as the answers"),
        (
            "a.jsonl",
            '{"id": 1, "answer": "a"}\n{"id": 2, "answer": null}',
            r"a\.jsonl:2: the answer is missing; run this",
        ),
        ("a.jsonl", '{"id": 1, "answer": true}', r"a\.jsonl:1: answer must be a text, not true"),
        ("a.json", "[1, 2]", r"a\.json must hold JSON objects, one a line or in an array, not an array"),
        ("a.json", '{"id": 1,', r"a\.json is not JSON"),
        ("a.txt", "id,answer\n1,a\n2,b\n", r"a\.txt is a table with the columns id, answer"),
    ],
)
def test_what_cannot_be_read(folder: Path, name: str, content: str, message: str) -> None:
    assert folder
    with pytest.raises(DataError, match=message):
        read(name, content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "question,answer,label\nWhy?,So.,good\nWhy?,No.,perhaps\n",
            "a.csv:3: label must be good or bad, 1 or 0, or a number",
        ),
        ("question,answer,label\nWhy?,No.,bad\n", r"a\.csv:2: 'Why\?' has no good answer; add one, or remove it"),
        ("question,answer,rating\nWhy?,So.,90\nWhy?,No.,20\n", "a.csv: rating goes from 20 to 90, a scale that is not"),
        ("question,answer,weight\nWhy?,So.,1\nWhy?,No.,-3\n", "a.csv:3: weight must be from -1 to 1, not -3"),
        ("answer,label\nSo.,good\n", "a.csv: no column tells which question an answer is for"),
        ("id,question,good,bad\n1,Why?,,No.\n", "a.csv:2: '1' has no good answer; add one, or remove it"),
    ],
)
def test_references_that_cannot_be_read(folder: Path, content: str, message: str) -> None:
    assert folder
    with pytest.raises(DataError, match=message):
        read("a.csv", content, "references")
