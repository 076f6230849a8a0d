"""The mistakes of new users: each gets one sentence that ends the problem."""

from __future__ import annotations

import datetime as dt
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openpyxl
import pytest

from trubleu.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = {
    "ref.txt": "the cat sat on the mat\nhello world\ngood morning\n",
    "sys.txt": "the cat sat on a mat\nhello world\ngood day\n",
    "short.txt": "the cat\n",
    "empty.txt": "",
    "blank.txt": "\n\n\n",
    "refs.csv": "id,text,r1,r2\n1,the cat sat on the mat,5,4\n2,hello world,4,4\n3,good morning,3,5\n",
    "outs.csv": "id,system,text\n1,A,the cat\n2,A,hello\n3,A,good\n1,B,cat\n2,B,hello world\n3,B,day\n",
    "untitled.csv": "1,the cat sat on the mat\n2,hello world\n3,good morning\n",
    "table.txt": "id,text\n1,the cat\n2,hello\n3,good\n",
    "texts.csv": "id,reference,response\n1,a,b\n2,c,d\n3,e,f\n",
    "mixed.csv": "id,text\n1,a\n2;b\n3,c\n",
    "unquoted.csv": "id,text\n1,a\n2,well, no\n3,c\n",
    "seven.csv": "id,text,score\n1,a,7\n2,b,3\n3,c,6\n",
    "slip.csv": "id,text,score\n" + "".join(f"{number},a,4\n" for number in range(20)) + "20,x,44\n",
    "comma.csv": "id;text;score\n1;a;3,5\n2;b;4\n3;c;2\n",
    "ids.csv": "id,text\n7,a\n8,b\n9,c\n",
    "notext.csv": "id,words\n1,a\n2,b\n3,c\n",
    "ratings.csv": "item,system,rater,score\n1,A,ann,4\n1,B,ann,2\n2,A,ann,5\n2,B,ann,3\n3,A,ann,2\n3,B,ann,5\n",
    "twice.csv": "item,system,rater,score\n1,A,ann,4\n1,A,ann,2\n",
    "noscore.csv": "item,system,rater\n1,A,ann\n",
    "words.csv": "item,system,rater,score\n1,A,ann,good\n",
    "scales.csv": "item,system,rater,fluency,seconds\n1,A,ann,4,37\n1,B,ann,4,21\n",
    "strangers.csv": "item,system,rater,score\n1,X,ann,4\n1,Y,ann,5\n",
    "bad.jsonl": '{"id": "1", "text": "a"\n',
    "array.json": '[{"id": "1", "text": "a"}]',
    "heavy.jsonl": '{"id": "1", "references": [{"text": "a", "weight": 4}]}\n',
    "triples.csv": "a,b\nhi,hello\n",
}

REFS = "--refs refs.csv outs.csv"

MISTAKES = [
    ("score", "there is nothing to score; name a file of outputs, or list the metrics with --list-metrics"),
    ("score ref.txt sys.txt", "references are given with --refs FILE, with one or more --ref FILE, or by a set"),
    ("score --ref ref.txt", "there is nothing to score; name a file of outputs"),
    ("score --ref ref.txt --refs refs.csv sys.txt", "--refs and --ref both name references; give one of the two"),
    ("score --ref none.txt sys.txt", "none.txt: there is no such file; check the path"),
    ("score --ref ref.txt none.txt", "none.txt: there is no such file; check the path"),
    ("score --ref folder sys.txt", "folder is a folder without files; put the parts of a column there, or name a file"),
    (
        "score --ref ref.txt short.txt",
        "short.txt has 1 line but ref.txt has 3 segments; outputs need one line per segment",
    ),
    ("score --ref ref.txt empty.txt", "empty.txt has 0 lines but ref.txt has 3 segments"),
    ("score --ref empty.txt sys.txt", "empty.txt has no references; give a file with one line per segment"),
    ("score --ref utf16.txt sys.txt", "utf16.txt is UTF-16, as Windows programs write it; save it as UTF-8, or: iconv"),
    ("score --ref latin.txt sys.txt", "latin.txt:1: byte 3 (0xe9) is not valid UTF-8; convert the file to UTF-8"),
    ("score --ref ref.txt sys.txt -m blue", "there is no metric 'blue'; did you mean bleu"),
    ("score --ref ref.txt sys.txt -m unheard", "there is no metric 'unheard'; known: trubleu, trubleu-ctx, bleu, "),
    (
        "score --ref ref.txt sys.txt -m bertscore",
        "bertscore is a learned metric, which its own program computes: run bert-score -s … > FILE, and give the ",
    ),
    (
        "score --ref ref.txt sys.txt -m MetricX-24-XL",
        "metricx24.predict … --output_file FILE, and give the scores with",
    ),
    ("compare --ref ref.txt sys.txt sys.txt -m wmt22-comet-da", "run comet-score … --to_json FILE, and give the"),
    ("score --ref ref.txt sys.txt -m bleu-12", "the order is 12, but must be a whole number from 1 to 9"),
    (
        "score --ref ref.txt sys.txt -m bleu[tokenise=13a]",
        "bleu[tokenise=13a] has no option tokenise; did you mean tok",
    ),
    ("score --ref ref.txt sys.txt --tokenize zh13", "there is no tokenizer 'zh13'; did you mean zh?"),
    ("score --ref ref.txt sys.txt --tokenise zh", "there is no option --tokenise (did you mean --tokenize?)"),
    ("score --ref ref.txt sys.txt -t wmt17", "sacreBLEU's -t is a file that you give with --ref"),
    (
        "score --ref ref.txt sys.txt --ci --test",
        "a test needs at least two systems; name another one, or leave the test",
    ),
    ("score --ref ref.txt sys.txt --baseline x", "--baseline needs --test; add it, or leave the baseline out"),
    (
        "score --ref ref.txt a=sys.txt b=sys.txt --test --baseline c",
        "there is no system 'c' for a baseline; known: a, b",
    ),
    (
        "score --ref ref.txt sys.txt sys.txt",
        "two systems are named sys (sys.txt and sys.txt); name them with NAME=PATH",
    ),
    ("score --ref ref.txt sys.txt --format xml", "invalid choice: 'xml'; known: text, json, csv, markdown, latex"),
    ("score --ref ref.txt sys.txt --out folder", "folder cannot be written: it is a folder; give the name of a file"),
    (
        "score --ref ref.txt sys.txt --out ref.txt",
        "ref.txt is read by this command and would be lost; write to another",
    ),
    (
        "score --ref ref.txt sys.txt --out no/o.txt",
        "no/o.txt cannot be written: there is no folder no; create it first",
    ),
    ("score --ref refs.csv sys.txt", "refs.csv holds whole segments, not one reference per line; give it with --refs"),
    (
        "score --ref table.txt sys.txt",
        "table.txt is a table with the columns id, text, not one text per line; rename it",
    ),
    (
        "score --refs untitled.csv sys.txt",
        "that is data, so put a row above it that names the columns, such as id,text",
    ),
    (
        "score --refs notext.csv sys.txt",
        "names no column of texts, only id, words; say which it is: --columns text=TITLE",
    ),
    (
        "score --refs texts.csv outs.csv",
        "the columns reference and response could both be the text; rename one of them",
    ),
    (
        "score --refs mixed.csv outs.csv",
        "mixed.csv:3: this line has 1 field but the first has 2; add what is missing, and",
    ),
    (
        "score --refs unquoted.csv outs.csv",
        "unquoted.csv:3: this line has 3 fields but the first has 2; put a field that",
    ),
    (
        "score --refs seven.csv outs.csv",
        "seven.csv: the ratings go from 3 to 7; say on which scale they are: --scale LOW:",
    ),
    (
        "score --refs slip.csv outs.csv",
        "slip.csv:22: the rating 44 is outside the scale from 1 to 5; correct it, or",
    ),
    (
        "score --refs comma.csv outs.csv",
        "comma.csv:2: score must be a number, or empty, not '3,5'; write a point for the",
    ),
    (
        "score --refs refs.csv ids.csv",
        "ids.csv has 3 ids that refs.csv has not ('7', '8', '9') and lacks 3 of those ('1', ",
    ),
    (
        f"score {REFS} --columns text=answer",
        "--columns: no table has a column 'answer'; known: id, text, r1, r2, system",
    ),
    (f"score {REFS} --columns txt=text", "--columns: there is no field 'txt'; did you mean text?"),
    (
        f"score {REFS} --columns text",
        "'text' must be FIELD=TITLE, several with commas between them: id=conv,text=answer",
    ),
    (f"score {REFS} --scale 1-", "the scale '1-' must be two numbers, the worst and the best: 1:5, 0:1 or -25:0"),
    (f"score {REFS} --scale 4:5", "refs.csv:4: the rating 3 is outside the scale from 4 to 5; correct it, or say"),
    (
        "score --refs bad.jsonl sys.txt",
        "bad.jsonl:1: this is not JSON: Expecting ',' delimiter at column 24; every line",
    ),
    (
        "score --refs array.json sys.txt",
        "array.json:1: a line must hold one JSON object, not an array; give each record its",
    ),
    (
        "score --refs heavy.jsonl short.txt",
        "heavy.jsonl:1: references[0].weight must be from -1 to 1, not 4; ratings from",
    ),
    (
        "score --refs fake.xlsx outs.csv",
        "fake.xlsx is not an Excel workbook, or it is damaged; save it again as .xlsx or",
    ),
    (
        "score --refs date.xlsx outs.csv",
        "date.xlsx: row 2, column 3 is a date, 2024-03-05 00:00:00; format the cells as",
    ),
    (
        "score --refs merged.xlsx outs.csv",
        "merged.xlsx: the cells A2:A3 are merged; unmerge them, so each row has cells of",
    ),
    (
        "score --refs nothing.xlsx outs.csv",
        "nothing.xlsx has no sheet with anything in it; save the sheet that holds the",
    ),
    (
        "score --refs two.xlsx outs.csv",
        "two.xlsx has 2 sheets that are not empty (Sheet, two); save the one you mean alone",
    ),
    ("score --refs old.xls outs.csv", "old.xls is a document of an office program, not text; save it as .xlsx"),
    ("scoer --ref ref.txt sys.txt", "invalid choice: 'scoer'; did you mean score"),
    ("sacrebleu ref.txt -i sys.txt", "invalid choice: 'sacrebleu'; files are scored by trubleu score"),
    ("ref.txt sys.txt", "invalid choice: 'ref.txt'; files are scored by trubleu score"),
    ("compare --ref ref.txt sys.txt", "compare needs at least two systems; for one, use trubleu score"),
    ("explain --ref ref.txt sys.txt --segment 9", "there is no segment '9' in ref.txt; known: 1, 2, 3"),
    (
        "explain --ref ref.txt sys.txt",
        "say which segments to explain, with one of --segment ID, --worst N and --differ N",
    ),
    ("judge ratings.csv", "invalid choice: 'ratings.csv'; did you mean ratings?"),
    (f"judge pairs {REFS}", "there is nothing to judge by; give --ratings FILE with outputs and references, or a set"),
    (f"judge pairs {REFS} --ratings twice.csv", 'say which counts: repeats="mean", "first", "last" or "keep" (each'),
    (
        f"judge pairs {REFS} --ratings noscore.csv",
        "the column score must be there; columns found: item, system, rater; say",
    ),
    (f"judge pairs {REFS} --ratings words.csv", "words.csv:2: score must be a number, not 'good'"),
    (
        f"judge pairs {REFS} --ratings scales.csv",
        "fluency is rated from 1 to 5 and other aspects are not; judge by aspects",
    ),
    (
        f"judge pairs {REFS} --ratings strangers.csv",
        "is of an output that is here: they are of X, Y on 1, and the outputs are of A, B on 1",
    ),
    (f"judge pairs {REFS} --ratings ratings.csv", "no pair has more than 3 judged; use a smaller --unit"),
    (
        f"judge pairs {REFS} --ratings ratings.csv --scale 0:3",
        "ratings.csv:2: score must be a number from 0 to 3, not 4",
    ),
    (
        f"judge pairs {REFS} --ratings outs.csv",
        "name the column of scores (--columns score=TITLE), say which are aspects",
    ),
    ("mine index triples.csv --out x.index", "say which they are: --columns message=TITLE,response=TITLE"),
    ("mine index --out x.index", "mine index needs a CORPUS: files of triples, or folders of them; give it"),
    ("rate new study --from texts.csv", "could both be the text; rename one of them to text\n"),
    ("rate serve study", "study has no study: there is no study.yaml; create one with trubleu rate new"),
    ("refs convert refs.csv out.txt", "out.txt: the name does not show a format; let it end in .jsonl or .parquet"),
    ("import dstc folder --out x", "invalid choice: 'dstc'; did you mean dstc7?"),
    (
        "import dstc7 folder --out x",
        "folder has no dstc7-task2-context.tsv; import dstc7 takes the folder of dstc7-task2",
    ),
]


def book(name: str, rows: Sequence[Sequence[Any]], merged: str | None = None, second: str | None = None) -> None:
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    if merged:
        made.active.merge_cells(merged)
    if second:
        made.create_sheet(second).append(["x"])
    made.save(name)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, text in TEXTS.items():
            Path(name).write_text(text, encoding="utf-8")
        Path("folder").mkdir()
        Path("utf16.txt").write_text("the cat\nb\nc\n", encoding="utf-16")
        Path("latin.txt").write_text("café\nb\nc\n", encoding="latin-1")
        Path("bom.txt").write_text(TEXTS["ref.txt"], encoding="utf-8-sig")
        Path("fake.xlsx").write_text("id,text\n1,a\n")
        Path("old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512))
        book("date.xlsx", [["id", "text", "score"], [1, "a", dt.date(2024, 3, 5)]])
        book("merged.xlsx", [["id", "text"], [1, "a"], [None, "b"]], merged="A2:A3")
        book("nothing.xlsx", [])
        book("two.xlsx", [["id", "text"], [1, "a"]], second="two")
        book("good.xlsx", [["id", "text"], [1, "a"], [2, "b"], [3, "c"]])
    return folder


@pytest.fixture
def typed(desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(desk)

    def run(command: str) -> tuple[int, str, str]:
        try:
            code = main(shlex.split(command))
        except SystemExit as stop:  # argparse leaves this way
            code = int(str(stop.code))
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.mark.parametrize(("command", "message"), MISTAKES)
def test_mistake(typed: Any, desk: Path, command: str, message: str) -> None:
    before = sorted(desk.rglob("*"))
    code, out, err = typed(command)
    assert (code, out) == (2, "")
    # Notices of what was read before may stand above it.
    assert err.splitlines()[-1].startswith("trubleu: ")
    assert message in err[err.rstrip("\n").rfind("\n") + 1 :]
    assert "Traceback" not in err
    assert sorted(desk.rglob("*")) == before, "nothing is written"


def test_there_are_sixty_and_more() -> None:
    assert len({command for command, _ in MISTAKES}) >= 60


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("score --ref sys.txt ref.txt", "sys.txt scored as references and ref.txt as outputs: are they swapped? "),
        ("score --ref ref.txt blank.txt", "all outputs of blank are empty; check the file, or what the system wrote"),
        (
            "score --ref ref.txt sys.txt -m dbleu-2",
            "the references have no weights, so all weigh 1 and dbleu-2 is BLEU",
        ),
    ],
)
def test_what_may_be_meant_is_a_warning(typed: Any, command: str, said: str) -> None:
    code, out, err = typed(command)
    assert code == 0
    assert out
    assert err.startswith(f"trubleu: warning: {said}")


def test_a_byte_order_mark_is_no_mistake(typed: Any) -> None:
    assert typed("score --ref bom.txt sys.txt") == typed("score --ref ref.txt sys.txt")


def test_a_package_that_is_missing_is_named_with_its_command(typed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    code, out, err = typed("score --refs good.xlsx sys.txt")
    assert (code, out) == (2, "")
    assert err.endswith("pip install 'trubleu[excel]'\n")
