"""Tables of CSV, TSV and Excel files in `trubleu score` and its kin."""

from __future__ import annotations

import datetime as dt
import shlex
from typing import TYPE_CHECKING, Any

import openpyxl
import pytest

from trubleu.cli import main
from trubleu.data import References

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Run = Callable[[str], tuple[int, str, str]]

FILES = {
    "refs.csv": "conv_id,response,r1,r2,r3\n1,the food was great,5,4,5\n1,i do not know,1,2,1\n2,it was loud,4,4,\n",
    "semicolons.csv": "id;text;weight\n1;the food was great;0.8\n2;it was loud;0.5\n",
    "means.tsv": "segment\tanswer\tmean_rating\n1\tthe food was great\t0.9\n2\tit was loud\t0.75\n",
    "percent.csv": "id,text,score\n1,the food was great,90\n2,it was loud,60\n",
    "outs.csv": 'conv_id,model,output\n1,A,the food was good\n2,A,it was so loud\n2,B,quiet\n1,B,"i, well, know"\n',
    "one.csv": "id,text\n2,it was so loud\n1,the food was good\n",
    "two.csv": "id,response,reference,weight\n1,a,b,1\n",
    "more.csv": "id,text\n1,the food was good\n2,it was so loud\n3,what?\n4,who?\n",
    "less.csv": "id,text\n1,the food was good\n",
    "table.txt": "id,text\n1,the food\n2,it was\n",
    "prose.txt": "text, id, and so on\nplain prose, with commas, here\n",
    "prose2.txt": "id, text\nnothing but prose follows\nand so on\nand more\nof it\n",
    "ragged.csv": "id,text\n1,the food, really\n2,loud\n",
    "twice.csv": "id,text,text\n1,a,b\n",
    "words.csv": "id,text,weight\n1,a,good\n",
    "header.csv": "1,the food was great\n2,it was loud\n",
    "empty.csv": "",
    "noid.csv": "text\nthe food was great\nit was loud\n",
    "blank.csv": "id,text\n,the food\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def called(command: str) -> tuple[int, str, str]:
        code = main(shlex.split(command))
        return code, *capsys.readouterr()

    return called


def write_excel(path: Path, rows: Sequence[Sequence[Any]], **sheets: Sequence[Sequence[Any]]) -> Any:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title, cells in sheets.items():
        for row in [book.create_sheet(title), *cells][1:]:
            book[title].append(row)
    book.save(path)
    return book


def test_references_with_a_column_per_rater_and_all_systems_in_one_file(run: Run) -> None:
    code, out, err = run("score --refs refs.csv outs.csv -m dbleu-2 -b")
    assert (code, out) == (0, "63.74\n0.00\n")
    assert err.splitlines() == [
        "trubleu: columns of refs.csv: id ← conv_id, text ← response, ratings ← r1 r2 r3, on the scale 1:5",
        "trubleu: columns of outs.csv: id ← conv_id, system ← model, text ← output",
    ]
    assert run("score --refs refs.csv outs.csv -m dbleu-2 -b --quiet")[2] == ""


def test_columns_are_named_for_the_table_that_has_them(run: Run) -> None:
    code, out, err = run("score --refs refs.csv outs.csv -m dbleu-2 -b --columns id=conv_id,system=model,ratings=r1+r2")
    assert (code, out.count("\n")) == (0, 2), err
    assert "ratings ← r1 r2, text ← response, on the scale 1:5" in err


def test_weights_are_those_of_json_lines(folder: Path) -> None:
    with pytest.warns(match="columns of refs.csv"):
        found = References.read("refs.csv")
    assert found.ids == ("1", "2")
    assert found.weights is not None
    assert found.weights.tolist() == pytest.approx([5 / 6, -5 / 6, 0.5])
    write_excel(folder / "same.xlsx", [line.split(",") for line in FILES["refs.csv"].splitlines()])
    with pytest.warns(match="columns of same.xlsx"):
        assert References.read("same.xlsx").weights.tolist() == found.weights.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("references", "weights"),
    [("semicolons.csv", [0.8, 0.5]), ("means.tsv", [0.8, 0.5]), ("percent.csv --scale 0:100", [0.8, 0.2])],
)
def test_weights_and_means_on_any_scale(run: Run, references: str, weights: list[float]) -> None:
    code, out, err = run(f"score --refs {references} one.csv -m dbleu-1 -b")
    assert code == 0, err
    # Both outputs are one word away: the share of weight that matched, over the best weight of each.
    first, second = weights
    assert float(out) == pytest.approx(100 * (3 * first + 3 * second) / (4 * first + 4 * second), abs=0.01)


def test_excel_numbers_are_ids_texts_and_ratings(folder: Path, run: Run) -> None:
    write_excel(folder / "refs.xlsx", [["id", "text", "rater1", "rater2"], [1, 42, 5, 4.0], [2.0, "loud", None, 3]])
    write_excel(folder / "outs.xlsx", [["id", "text"], [2, "loud"], [1, 42]])
    code, out, err = run("score --refs refs.xlsx outs.xlsx -m bleu-1 -b")
    assert (code, out) == (0, "100.00\n"), err


def test_judge_takes_ratings_from_excel(folder: Path) -> None:
    from trubleu.data import Ratings

    write_excel(folder / "r.xlsx", [["item", "system", "rater", "score"], ["1", "A", "x", 4], ["1", "B", "x", 2]])
    assert {key[1]: float(mean) for key, mean in Ratings.read("r.xlsx").means().items()} == {"A": 4.0, "B": 2.0}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "--refs two.csv one.csv",
            "could both be the text; rename one of them to text, or say which it is, such as --columns text=",
        ),
        ("--refs percent.csv one.csv", "go from 60 to 90; say on which scale they are: --scale"),
        ("--refs percent.csv one.csv --scale 0:80", "percent.csv:2: the rating 90 is outside the scale"),
        ("--refs percent.csv one.csv --scale 5:1", "must be two numbers, the worst and the best"),
        ("--ref one.csv one.csv", "give it with --refs"),
        ("--ref table.txt one.csv", "table.txt is a table with the columns id, text, not one text per line; rename it"),
        ("--refs table.txt one.csv", "rename it to end in .csv"),
        ("--refs refs.csv table.txt", "table.txt is a table"),
        ("--refs refs.csv ragged.csv", "ragged.csv:2: this line has 3 fields but the first has 2"),
        ("--refs twice.csv one.csv", "there are 2 columns text; leave only one"),
        ("--refs words.csv one.csv", "words.csv:2: weight must be a number, or empty, not 'good'"),
        ("--refs header.csv one.csv", "names no column of texts, only 1, the food was great"),
        ("--refs empty.csv one.csv", "empty.csv is empty; its first line must name the columns"),
        ("--refs blank.csv one.csv", "blank.csv:2: the id is empty"),
        ("--refs refs.csv more.csv", "has 2 ids that refs.csv has not ('3', '4'); correct them, or"),
        ("--refs refs.csv less.csv", "no output for 2; give one for each id of refs.csv, or score what both have"),
        ("--refs refs.csv outs.csv --columns txt=output", "there is no field 'txt'; did you mean text?"),
        (
            "--refs refs.csv outs.csv --columns id=conv",
            "no table has a column 'conv'; did you mean conv_id?",
        ),
        ("--ref prose.txt prose.txt --columns id=x", "--columns goes with tables, and none of the files is one"),
        ("--refs refs.json prose.txt --columns id=x", "--columns goes with tables, and none of the files is one"),
        (
            "--refs refs.csv outs.csv --engine local:2",
            "refs.csv is a table, but --engine reads files in ranges; remove",
        ),
        ("--refs semicolons.csv one.csv --scale 0:1", "--scale has no effect, because semicolons.csv has weights"),
        ("--ref prose.txt prose.txt --scale 0:1", "--scale goes with a table of references, given with --refs"),
        ("--refs dates.xlsx one.csv", "dates.xlsx: row 2, column 3 is a date, 2026-05-04"),
        ("--refs merged.xlsx one.csv", "merged.xlsx: the cells A2:A3 are merged; unmerge them"),
        ("--refs nothing.xlsx one.csv", "nothing.xlsx has no sheet with anything in it"),
        ("--refs sheets.xlsx one.csv", "sheets.xlsx has 2 sheets that are not empty (Sheet, more)"),
        ("--refs fake.xlsx one.csv", "fake.xlsx is not an Excel workbook, or it is damaged"),
    ],
)
def test_mistakes_are_one_sentence(folder: Path, run: Run, command: str, message: str) -> None:
    write_excel(folder / "dates.xlsx", [["id", "text", "score"], [1, "a", dt.datetime(2026, 5, 4)]])
    merged = write_excel(folder / "merged.xlsx", [["id", "text"], [1, "a"], [None, "b"]])
    merged.active.merge_cells("A2:A3")
    merged.save(folder / "merged.xlsx")
    write_excel(folder / "nothing.xlsx", [])
    write_excel(folder / "sheets.xlsx", [["id", "text"], [1, "a"]], more=[["x"]])
    (folder / "fake.xlsx").write_bytes(b"id,text\n1,a\n")
    code, out, err = run(f"score {command} -m bleu-1")
    assert (code, out) == (2, "")
    said = err.splitlines()[-1]
    assert message in said
    assert "Traceback" not in err


def test_refs_reads_tables(run: Run) -> None:
    code, out, err = run("refs convert refs.csv refs.jsonl")
    assert (code, out) == (0, "")
    assert err.startswith("trubleu: columns of refs.csv: id ← conv_id")
    assert run("score --refs refs.jsonl outs.csv -m dbleu-2 -b")[1] == "63.74\n0.00\n"


def test_references_may_be_strings(folder: Path, run: Run) -> None:
    (folder / "s.jsonl").write_text('{"id": "1", "references": ["the food", "it"]}\n{"references": [{"text": "x"}]}\n')
    assert References.read("s.jsonl").texts == ("the food", "it", "x")


def test_outputs_that_are_all_empty_and_utf_16_are_named(folder: Path, run: Run) -> None:
    (folder / "empty.txt").write_text("\n\n")
    code, out, err = run("score --refs refs.csv empty.txt -m bleu-1 -b")
    assert (code, out) == (0, "0.00\n")
    assert "warning: all outputs of empty are empty" in err
    (folder / "windows.txt").write_text("a\nb\n", encoding="utf-16")
    code, _, err = run("score --refs refs.csv windows.txt -m bleu-1")
    assert code == 2
    assert "windows.txt is UTF-16, as Windows programs write it; save it as UTF-8" in err


def test_prose_with_commas_is_prose(run: Run) -> None:
    for name in ("prose.txt", "prose2.txt"):
        code, out, err = run(f"score --ref {name} {name} -m bleu-1 -b")
        assert (code, out) == (0, "100.00\n"), err


def test_only_what_all_files_have(run: Run) -> None:
    code, out, err = run("score --refs refs.csv more.csv -m bleu-1 -b --only-common --quiet")
    assert (code, out) == (0, run("score --refs refs.csv one.csv -m bleu-1 -b --quiet")[1]), err
    code, _, err = run("score --refs refs.csv less.csv -m bleu-1 -b --only-common")
    assert code == 0
    assert "1 segment of refs.csv left out, as not all systems have them" in err
    (code, _, err) = run("score --refs refs.csv table.csv -m bleu-1 --only-common")
    assert code == 2


def test_ids_that_are_made_up_hold_the_name_of_the_file(run: Run, folder: Path) -> None:
    assert run("score --refs noid.csv noid.csv -m bleu-1 -b")[:2] == (0, "100.00\n")
    assert References.read(folder / "noid.csv").ids == ("noid.csv:1", "noid.csv:2")
