"""Corpora of triples, read from files of every kind and from memory."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openpyxl
import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from trubleu.data import Triple, TripleBatch, TripleFiles, TripleList, read_triples, triple_formats
from trubleu.data.triple_formats import TripleFile, TripleRows, read_range
from trubleu.errors import CountedWarning, DataError, Notice, UsageError
from trubleu.files import ranges
from trubleu.files.jsonl import parse_object
from trubleu.files.ranges import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GOOD = '{"id": "a", "context": ["hi"], "message": "how are you ?", "response": "fine"}\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("triples")


def write(path: Path, *lines: str | bytes) -> Path:
    path.write_bytes(b"".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


def all_of(batches: Iterable[TripleBatch]) -> list[Triple]:
    return [triple for batch in batches for triple in batch]


def json_lines(lines: list[str], name: str) -> tuple[list[Triple], int, int]:
    """Say what the triples of some lines are, one by one and without haste; and how many are bad and blank."""
    triples, bad, blank = [], 0, 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError:
            bad += 1
            continue
        if not isinstance(record, dict):
            bad += 1
            continue
        identity, context = record.get("id"), record.get("context")
        message: Any = record.get("message")
        response: Any = record.get("response")
        fits = isinstance(message, str) and isinstance(response, str)
        fits &= identity is None or (isinstance(identity, str | int) and not isinstance(identity, bool))
        fits &= context is None or (isinstance(context, list) and all(isinstance(turn, str) for turn in context))
        if not fits:
            bad += 1
        elif not message.strip() or not response.strip():
            blank += 1
        else:
            name_of_row = f"{Path(name).name}:{number}" if identity is None or identity == "" else str(identity)
            triples.append(Triple(name_of_row, tuple(context or ()), message, response))
    return triples, bad, blank


texts = st.text(
    st.one_of(st.sampled_from("ab \u2028\x85\x0c\"'\\é😀"), st.characters(exclude_categories=["Cs"])), max_size=6
).map(lambda text: text.translate({ord(each): None for each in "\n\r\t"}))
records = st.fixed_dictionaries(
    {"message": texts, "response": texts},
    optional={
        "id": st.one_of(texts, st.integers(-5, 5), st.none(), st.just(True), st.just(1.5)),
        "context": st.one_of(st.lists(texts, max_size=3), st.none(), st.just("x"), st.just([1])),
        "more": st.integers(),
    },
)
rows = st.one_of(
    records.map(json.dumps),
    records.map(lambda record: json.dumps(record, ensure_ascii=False)),
    records.map(lambda record: f"  {json.dumps(record)} "),
    st.sampled_from(
        ["", " ", "[]", "nothing", '"message"', '{"message": "a"}', '{"message": 1, "response": "b"}', GOOD[:-1] + "}"]
    ),
)


@settings(max_examples=60)
@given(st.lists(rows, max_size=12), st.integers(1, 5), st.integers(1, 200), st.booleans())
def test_json_lines_are_read_as_one_by_one(folder: Path, lines: list[str], size: int, block: int, ended: bool) -> None:
    path = folder / "corpus.jsonl"
    lines = [*lines, GOOD[:-1]]
    path.write_text("\n".join(lines) + "\n" * ended)
    expected, bad, blank = json_lines(lines, str(path))
    source = TripleFiles(path, skip_bad=True)
    told: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "BLOCK", block)
        batches = list(source.batches(size=size, progress=told.append))
        assert all_of(batches) == expected
        assert (source.bad, source.empty) == (bad, blank)
        assert sum(told) == source.total == path.stat().st_size
        assert [batch.end for batch in batches] == [min(end + size, len(lines)) for end in range(0, len(lines), size)]
        if bad:
            with pytest.raises(DataError, match=r"corpus\.jsonl:\d+: "):
                list(TripleFiles(path).batches(size=size))
        else:
            assert all_of(TripleFiles(path).batches(size=size + 1)) == expected
        without = list(source.batches(size=size, contexts=False))
        assert {triple.message for triple in expected} <= {triple.message for triple in all_of(without)}
        assert not any(context for batch in without for context in batch.contexts)


cells = st.lists(st.one_of(st.just("hi"), texts), min_size=2, max_size=4)


@settings(max_examples=60)
@given(st.integers(2, 4), st.lists(cells, max_size=10), st.integers(1, 4), st.integers(1, 50))
def test_tab_separated_files_are_split_and_nothing_else(
    folder: Path, width: int, table: list[list[str]], size: int, block: int
) -> None:
    path = folder / "corpus.tsv"
    table = [["w"] * width, *table]
    path.write_text("".join("\t".join(row) + "\n" for row in table))
    expected, bad, blank = [], 0, 0
    for number, row in enumerate(table, 1):
        if len(row) != width:
            bad += 1
        elif not row[-2].strip() or not row[-1].strip():
            blank += 1
        else:
            identity = row[0] if width == 4 and row[0] else f"{path.name}:{number}"
            context = (row[-3],) if width > 2 and row[-3] else ()
            expected.append(Triple(identity, context, row[-2], row[-1]))
    source = TripleFiles(path, columns="id,context,message,response" if width == 4 else None, skip_bad=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "BLOCK", block)
        batches = list(source.batches(size=size))
        assert all_of(batches) == expected
        assert (source.bad, source.empty) == (bad, blank)


def test_layouts_of_tab_separated_files(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    write(path, "Response\tscore\tmessage\tID\n", "fine\t3\thow are you ?\tx\n")
    assert read_triples(path) == [Triple("x", (), "how are you ?", "fine")]
    write(path, "train\thi\thow are you ?\tfine\n")
    found = read_triples(path, columns="id,context,message,response")
    assert found == [Triple("train", ("hi",), "how are you ?", "fine")]
    for columns in ("-,context,message,response", ("-", "context", "message", "response")):
        assert read_triples(path, columns=columns) == [Triple(f"{path.name}:1", ("hi",), "how are you ?", "fine")]
    write(path, "message\tresponse\n", 'how are "you" ?\tfi\\tne\r\n')
    assert read_triples(path) == [Triple(f"{path.name}:2", (), 'how are "you" ?', "fi\\tne")]
    # What is said about columns goes before what a header says, which is still no triple.
    assert read_triples(path, columns="response,message") == [
        Triple(f"{path.name}:2", (), "fi\\tne", 'how are "you" ?')
    ]
    write(path, b"\xef\xbb\xbfmessage\tresponse\n", "a\tb")
    assert read_triples(path) == [Triple(f"{path.name}:2", (), "a", "b")]


def test_what_four_columns_are_must_be_said(tmp_path: Path) -> None:
    path = write(tmp_path / "corpus.tsv", "train\thi\ta\tb\n", "train\thi\tc\td")
    for skip_bad in (False, True):
        with pytest.raises(UsageError, match="4 columns and no header that names message and response; say"):
            list(TripleFiles(path, skip_bad=skip_bad).batches())
    assert [triple.id for triple in read_triples(path, columns="id,context,message,response")] == ["train", "train"]
    assert [triple.id for triple in read_triples(path, columns="-,context,message,response")] == [
        f"{path.name}:1", f"{path.name}:2",
    ]  # fmt: skip


def test_what_a_name_does_not_tell_the_first_line_does(tmp_path: Path) -> None:
    assert read_triples(write(tmp_path / "corpus", GOOD))[0].id == "a"
    assert read_triples(write(tmp_path / "corpus.txt", "a\tb\n"))[0].response == "b"


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("c.jsonl", [GOOD, '{"message": "a"}\n'], "c.jsonl:2: the field response is missing; add a string"),
        ("c.jsonl", ['{"message": null, "response": "b"}'], "c.jsonl:1: message must be a string, not null"),
        ("c.jsonl", ['{"message": "a", "response": "b", "id": []}'], "c.jsonl:1: id must be a string, not an array"),
        (
            "c.jsonl",
            ['{"message": "a", "response": "b", "context": "c"}'],
            "c.jsonl:1: context must be an array of strings, one per turn, not the string 'c'",
        ),
        (
            "c.jsonl",
            ['{"message": "a", "response": "b", "context": ["c", 2]}'],
            r"c.jsonl:1: context\[1\] must be a string, not the number 2",
        ),
        ("c.jsonl", [GOOD, GOOD[:-1], "x\n"], "c.jsonl:2: this is not JSON: Extra data at column"),
        ("c.jsonl", ["[" * 100_000], "c.jsonl:1: this JSON cannot be read"),
        ("c.jsonl", ["[1]"], "c.jsonl:1: a line must hold one JSON object, not an array"),
        ("c.jsonl", [GOOD, b"\xff\n"], r"c.jsonl:2: byte \d+ \(0xff\) is not valid UTF-8; convert"),
        ("c.tsv", ["a\tb\n", "a\tb\tc\n"], "c.tsv:2: 3 columns, but there must be 2; a text may contain a tab"),
        ("c.tsv", ["a\tb\n", "a\n"], "c.tsv:2: 1 column, but there must be 2"),
        ("c.tsv", ["1\t2\t3\t4\t5\n"], "c.tsv:1: 5 columns and no header that names message and response; say what"),
        ("c.tsv", ["message\tmessage\tresponse\n"], "c.tsv:1: there are 2 columns message; leave only one"),
        ("c.parquet", ["PAR2"], "c.parquet is not a Parquet file, though its name says so"),
        ("c.parquet", ["PAR1 and no more"], "c.parquet: the Parquet data is damaged or ends early"),
        ("c.jsonl.gz", [gzip.compress(GOOD.encode())[:-9]], "c.jsonl.gz: the gzip data is damaged or ends early"),
        (
            "c.csv",
            ["a,b\n", "c,d\n"],
            "c.csv:1: the first row names no column of messages, or none of responses, only a, b",
        ),
        ("c.csv", ["message,response\n", "a\n"], "c.csv:2: this line has 1 field but the first has 2"),
        ("c.csv", ["prompt,question,reply\n"], "c.csv:1: the columns prompt and question could both be the message;"),
        ("c.xlsx", ["message,response\n"], "c.xlsx is not an Excel workbook, or it is damaged; save it again as"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence(
    tmp_path: Path, name: str, lines: list[str | bytes], message: str
) -> None:
    write(tmp_path / name, *lines)
    with pytest.raises((DataError, UsageError), match=message):
        read_triples(tmp_path / name)


TABLE = [
    ["id", "Prompt", "history", "reply"],
    ["7", "how are you ?", "hi !", 'fine, "really"'],
    ["", "bye", "", "see you"],
]


def table(folder: Path, ending: str, rows: Sequence[Sequence[str]] = TABLE) -> Path:
    path = folder / f"c.{ending}"
    if ending == "xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append([cell or None for cell in row])
        book.save(path)
    elif ending == "tsv":
        path.write_text("".join("\t".join(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx"])
def test_tables_with_other_titles(tmp_path: Path, ending: str) -> None:
    path = table(tmp_path, ending)
    with pytest.warns(
        Notice, match=f"^columns of c.{ending}: id ← id, context ← history, message ← Prompt, response ← rep"
    ):
        found = read_triples(path)
    assert found[0] == Triple("7", ("hi !",), "how are you ?", 'fine, "really"')
    assert found[1] == Triple(f"{path.name}:3", (), "bye", "see you")
    with pytest.warns(Notice):
        corpus = TripleFiles(path)
    assert all_of(corpus.batches(size=1)) == found


@pytest.mark.filterwarnings("ignore:columns of:trubleu.errors.Notice")
@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx"])
def test_columns_of_tables_by_title_and_by_order(tmp_path: Path, ending: str) -> None:
    path = table(tmp_path, ending, [["a", "b", "c"], ["x", "bye", "see you"]])
    for columns in ("message=b,response=c", "-,message,response"):
        found = read_triples(path, columns=columns)
        assert (found[-1].message, found[-1].response) == ("bye", "see you")
        assert len(found) == (1 if "=" in columns else 2)
    with pytest.raises(UsageError, match=rf"c\.{ending}:1: there is no column 'd'; known: a, b, c"):
        read_triples(path, columns="message=b,response=d")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("message", "columns: response must be one of them"),
        ("message,response,responce", "columns: there is no 'responce'; did you mean response"),
        ("message,message,response", "columns: message is given 2 times"),
        ("message=a,text=b", "columns: 'text=b' is not FIELD=TITLE; fields: id, context, message, response"),
        ("message=a,response", "columns: 'response' is not FIELD=TITLE"),
    ],
)
def test_wrong_columns_are_refused(tmp_path: Path, columns: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TripleFiles(write(tmp_path / "c.tsv", "a\tb"), columns=columns)


def test_columns_must_be_about_something(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"columns say what tables \(TSV, CSV, Excel\) hold, but there are none"):
        TripleFiles(write(tmp_path / "c.jsonl", GOOD), columns="message,response")
    with pytest.raises(UsageError, match="no corpus is given"):
        TripleFiles([])
    with pytest.raises(UsageError, match="a batch of 0 rows is too small"):
        list(TripleFiles(write(tmp_path / "c.jsonl", GOOD)).batches(size=0))


def test_bad_rows_are_counted_and_so_are_those_that_are_no_text(tmp_path: Path) -> None:
    blank = '{"message": " ", "response": "b"}\n'
    path = write(tmp_path / "c.jsonl", GOOD, b'{"message": "\xff", "response": "b"}\n', blank, "{}\n", b"\xff\n", GOOD)
    with pytest.warns(CountedWarning) as caught:
        triples = read_triples(path, skip_bad=True)
    assert [triple.message for triple in triples] == ["how are you ?"] * 2
    assert sorted(str(each.message) for each in caught) == [
        "rows that could not be used and were skipped: 3",
        "rows with a blank message or response, skipped: 1",
    ]
    path = write(tmp_path / "c.tsv", "a\tb\n", b"\xff\t\xff\n", "c\td")
    source = TripleFiles(path, skip_bad=True)
    assert [triple.message for triple in all_of(source.batches())] == ["a", "c"]
    assert source.bad == 1


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz"])
def test_rows_that_are_passed_over_are_not_looked_at(tmp_path: Path, name: str) -> None:
    def after(passed: int) -> list[tuple[tuple[str, ...], int]]:
        rows, part = TripleRows(name), Span(TripleFile(str(path), name).look())
        return [(rows.taken()[0], end) for end in read_range(part, rows, 1, passed=passed, tell=len_of)]

    def len_of(_bytes: int) -> None: ...

    data = b"no JSON\n\xff no text\n" + GOOD.encode() + b"no JSON"
    path = write(tmp_path / name, gzip.compress(data) if name.endswith("gz") else data)
    with pytest.raises(DataError, match=rf"{name}:4: this is not JSON"):
        after(2)
    path = write(tmp_path / name, gzip.compress(data[:-8]) if name.endswith("gz") else data[:-8])
    assert after(2) == [(("a",), 3)]
    assert after(3) == []
    with pytest.raises(DataError, match="changed while it was read"):
        after(4)


def test_folders_are_read_in_order_and_hold_nothing_else(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "b" / ".hidden").mkdir(parents=True)
    names = ["b/2.jsonl", "b/10.tsv", "a.jsonl.zst", "c.ndjson.gz"]
    write(corpus / "b" / "2.jsonl", GOOD)
    write(corpus / "b" / "10.tsv", "in\tb\n")
    write(corpus / "a.jsonl.zst", zstandard.compress(GOOD.encode()))
    write(corpus / "c.ndjson.gz", gzip.compress(GOOD.encode()))
    write(corpus / ".notes.txt", "hidden")
    write(corpus / "b" / ".hidden" / "x.doc", "hidden")
    (corpus / "b" / "again").symlink_to(corpus)
    source = TripleFiles([corpus])
    expected = [str(corpus / name) for name in sorted(names, key=lambda name: name.split("/"))]
    assert list(source.files) == expected
    told: list[int] = []
    batches = list(source.batches(progress=told.append))
    assert [batch.file for batch in batches] == [0, 1, 2, 3]
    assert [batch.messages[0] for batch in batches] == ["how are you ?", "in", "how are you ?", "how are you ?"]
    assert sum(told) == source.total == sum(Path(file).stat().st_size for file in source.files)
    write(corpus / "b" / "README.md", "hello")
    with pytest.raises(DataError, match=r"README\.md: the name does not say that it holds triples"):
        TripleFiles(corpus)


def test_paths_that_cannot_be_read_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.jsonl: there is no such file"):
        TripleFiles(tmp_path / "none.jsonl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty is a folder without any files"):
        TripleFiles(tmp_path / "empty")
    path = write(tmp_path / "c.jsonl", GOOD)
    with pytest.raises(DataError, match=r"c\.jsonl is given twice"):
        TripleFiles([path, tmp_path])
    with pytest.raises(DataError, match="given more than once but can be read only once"):
        TripleFiles(["-", "-"])
    (tmp_path / "empty" / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataError, match="there is no such file"):
        TripleFiles(tmp_path / "empty")


class Pipe:
    """Standard input that cannot seek."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BufferedReader(_NoSeek(data))


class _NoSeek(io.RawIOBase):
    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._data.readinto(buffer)


@pytest.mark.parametrize("form", ["jsonl", "tsv", "gz"])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    tsv = b"how are you ?\tfine\n"
    data = {"jsonl": GOOD.encode(), "tsv": tsv, "gz": gzip.compress(tsv)}[form]
    monkeypatch.setattr(sys, "stdin", Pipe(data))
    source = TripleFiles("-")
    told: list[int] = []
    ((triple,),) = source.batches(progress=told.append)
    assert (triple.message, triple.response) == ("how are you ?", "fine")
    assert triple.id == ("a" if form == "jsonl" else "<stdin>:1")
    assert source.total is None
    assert sum(told) == len(tsv if form == "gz" else data)


def test_parquet_is_read_from_a_file_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(tmp_path / "c.parquet", message=["a"], response=["A"])
    monkeypatch.setattr(sys, "stdin", Pipe(path.read_bytes()))
    packed = write(tmp_path / "packed.parquet.gz", gzip.compress(path.read_bytes()))
    for source in ("-", packed):
        with pytest.raises(DataError, match="is Parquet in a pipe or a compressed file; give the Parquet file itself"):
            read_triples(source)


def parquet(path: Path, **columns: Any) -> Path:
    pl.DataFrame(columns).write_parquet(path)
    return path


def test_parquet_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "SLICE", 4)
    path = tmp_path / "c.parquet"
    parquet(
        path,
        id=[7, None, 9, 10, 11, 12, 13],
        context=[["x", "y"], None, [], [], ["z"], [None], []],
        message=["a", "b", "c", " ", "e", "f", None],
        response=list("ABCDEFG"),
        other=[1] * 7,
    )
    for size in (1, 2, 3, 4, 100):
        source = TripleFiles(path, skip_bad=True)
        told: list[int] = []
        batches = list(source.batches(size=size, progress=told.append))
        assert all_of(batches) == [
            Triple("7", ("x", "y"), "a", "A"),
            Triple(f"{path.name}:2", (), "b", "B"),
            Triple("9", (), "c", "C"),
            Triple("11", ("z",), "e", "E"),
        ]
        assert (source.bad, source.empty, sum(told)) == (2, 1, source.total)
        assert batches[-1].end == 7
    with pytest.raises(DataError, match=r"c\.parquet: row 6: context\[0\] must be a string, not null"):
        list(TripleFiles(path).batches())
    with pytest.raises(DataError, match=r"c\.parquet: row 7: message must be a string, not null"):
        list(TripleFiles(path).batches(contexts=False))


def test_parquet_columns(tmp_path: Path) -> None:
    path = tmp_path / "c[1].parquet"  # no pattern
    parquet(path, context=["x", None, ""], message=["a", "b", "c"], response=["A", "B", "C"])
    assert [triple.context for triple in read_triples(path)] == [("x",), (), ()]
    parquet(path, message=pl.Series(["a", "a"], dtype=pl.Categorical), response=["A", "B"])
    assert [triple.message for triple in read_triples(path)] == ["a", "a"]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"message": ["a"]}, "the column response must be there; columns found: message"),
        ({"message": ["a"], "response": [1]}, "the column response must hold texts, not Int64"),
        ({"message": ["a"], "response": ["b"], "id": [1.5]}, "the column id must hold texts or whole numbers, not"),
        ({"message": ["a"], "response": ["b"], "context": [[1]]}, "the column context must hold lists of texts, or"),
    ]
    for columns, message in wrong:
        parquet(path, **columns)
        with pytest.raises(DataError, match=message):
            read_triples(path)


def test_a_list_has_the_same_interface() -> None:
    triples = [Triple(str(number), ("x",), f"m{number}", "r") for number in range(5)]
    triples[3] = Triple("3", (), "", "r")
    source = TripleList(triples)
    told: list[int] = []
    batches = list(source.batches(size=2, progress=told.append))
    assert [(batch.ids, batch.file, batch.end) for batch in batches] == [
        (("0", "1"), 0, 2),
        (("2",), 0, 4),
        (("4",), 0, 5),
    ]
    assert (source.files, source.total, sum(told), source.empty, source.bad) == ((), 5, 5, 1, 0)
    assert not any(context for batch in source.batches(contexts=False) for context in batch.contexts)
    once = TripleList(iter(triples))
    assert once.total is None
    assert all_of(once.batches()) == [triple for triple in triples if triple.message]


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        (("a", (), "b", "c"), "triples: number 1 must be a Triple, not"),
        (Triple("a", (), "b", None), "triples: number 1: response must be a string, not null"),  # type: ignore[arg-type]
        (Triple("a", ["c"], "b", "c"), "triples: number 1: context must be a tuple of strings"),  # type: ignore[arg-type]
        (Triple("a", (1,), "b", "c"), "triples: number 1: context must be a tuple of strings"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_triple_is_refused(triple: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(TripleList([triple]).batches())


def test_dailydialog(real_data: Path) -> None:
    path = real_data / "dailydialog" / "triples.tsv.gz"
    with pytest.raises(UsageError, match=r"triples\.tsv\.gz:1: 4 columns and no header .*columns=\"-,context"):
        list(TripleFiles(path).batches())
    source = TripleFiles(path, columns="-,context,message,response")
    told: list[int] = []
    assert sum(map(len, source.batches(progress=told.append))) == 76_743
    assert (source.bad, source.empty, sum(told)) == (0, 0, source.total)


@pytest.mark.parametrize("name", ["c.jsonl", "c.tsv", "c.jsonl.gz"])
def test_millions_of_blank_lines_are_not_looked_at_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    line = "a\tb\n" if "tsv" in name else '{"message": "a", "response": "b"}\n'
    data = (line + "\n" * 5000 + line).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    looked: list[str] = []

    def add(self: TripleRows, record: Any, place: str, number: int) -> None:
        looked.append(place)
        self.append(str(number), (), record["message"], record["response"])

    def blank(line: str, place: str) -> Any:
        looked.append(place)
        return None if not line else parse_object(line, place)

    monkeypatch.setitem(triple_formats._RECORDS, "jsonl", blank)
    monkeypatch.setattr(TripleRows, "_add", add)
    found = [each.id for batch in TripleFiles(tmp_path / name).batches(size=100) for each in batch]
    assert found == ["1", "5002"]
    assert len(looked) <= 2 * 100 + 2
