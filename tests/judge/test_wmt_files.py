"""Tasks from files, one by one or listed in TOML."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from trubleu.errors import DataError, UsageError
from trubleu.judge.wmt.task import TaskFiles, read_tasks

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "srclang,trglang,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    for name in ("news.A.1.de-en", "news.B.2.de-en", "news.C.3.de-en"):
        (tmp_path / "out" / name).write_text(f"the {name}\na cat\n", encoding="utf-8")
    (tmp_path / "ref.en").write_text("the dog\na cat\n", encoding="utf-8")
    (tmp_path / "ref2.en").write_text("a dog\nthe cat\n", encoding="utf-8")
    (tmp_path / "src.de").write_text("der Hund\neine Katze\n", encoding="utf-8")
    (tmp_path / "people.txt").write_text(
        "news.A.1.de-en.txt 0.5 (1, 1)\n+++\nnews.B.2.de-en.txt 0.1 (2, 3)\nnews.C.3.de-en.txt -0.6\n", encoding="utf-8"
    )
    rows = "deu,eng,1,j,news.A.1.de-en.txt,1,news.B.2.de-en.txt,2,1\n"
    (tmp_path / "rank.csv.gz").write_bytes(gzip.compress(f"{HEADER}\n{rows}".encode()))
    (tmp_path / "da.txt").write_text("0.1\n-0.4\n", encoding="utf-8")
    (tmp_path / "m.seg.score").write_text("m\tde-en\tnews\tA.1\t1\t0.5\n", encoding="utf-8")
    (tmp_path / "m.sys.score").write_text("m\tde-en\tnews\tA.1\t0.5\n", encoding="utf-8")
    return tmp_path


FULL = """
[de-en]
references = "ref.en"
outputs = "out/*"
human = "people.txt"
rankings = "rank.csv.gz"
assessments = { "news.B.2" = "da.txt" }
scores = "m.*.score"
testset = "news"
source = "src.de"

["en-ru"]
references = ["ref.en", "ref2.en"]
outputs = ["A=out/news.A.1.de-en", "out/news.B*"]
assessments = ["A=da.txt"]
"""


def test_a_file_of_tasks(folder: Path) -> None:
    (folder / "tasks.toml").write_text(FULL, encoding="utf-8")
    first, second = read_tasks(str(folder / "tasks.toml"), (str(folder / "m.seg.score"),))
    assert first.language_pair == "de-en"
    assert first.systems == ("news.A.1", "news.B.2", "news.C.3")
    assert first.human is not None
    assert first.found(first.human) == {"news.A.1.de-en.txt": 0, "news.B.2.de-en.txt": 1, "news.C.3.de-en.txt": 2}
    assert first.rankings is not None
    assert len(first.rankings) == 1
    assert first.assessments == {"news.B.2": [0.1, -0.4]}
    assert [scores.source.rpartition("/")[2] for scores in first.segment_scores] == ["m.seg.score", "m.seg.score"]
    assert second.segment_scores == []
    assert [scores.source.rpartition("/")[2] for scores in first.system_scores] == ["m.sys.score"]
    assert first.testset == "news"
    assert first.references is not None
    assert first.references.messages[0] == "der Hund"  # type: ignore[index]
    assert second.systems == ("A", "news.B.2")
    assert second.references is not None
    assert second.references.reference_counts().tolist() == [2, 2]
    assert second.assessments == {"A": [0.1, -0.4]}
    assert second.human is None
    assert second.found(["news.A.1.de-en.txt"]) == {"news.A.1.de-en.txt": 0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no language pair; write a table for each"),
        ("[de-en", "is not TOML: "),
        ('human = "x"', "human stands outside a table"),
        ('[de-en]\noutputs = "out/*"\nranking = "x"', r"\[de-en\] has a field ranking, .*; did you mean rankings\?"),
        ("[de-en]\noutputs = 3", "outputs of de-en must be a string or a list of strings"),
        ("[de-en]\noutputs = []", "outputs of de-en must be a string or a list of strings"),
        ('[de-en]\noutputs = "out/*"\nhuman = ["a", "b"]', "human of de-en must be one string, not 2"),
        ('[de-en]\nreferences = "ref.en"', r"\[de-en\] has no outputs; name the systems' files"),
        ('[de-en]\noutputs = "nowhere/*"', "outputs of de-en: no file is named like nowhere/"),
        ('[de-en]\noutputs = "out/*"\nhuman = "none.txt"', "none.txt"),
        ('[de-en]\noutputs = "out/*"\nassessments = "da.txt"', "not of which of the 3 systems; write NAME=FILE"),
    ],
)
def test_bad_files_of_tasks(folder: Path, text: str, message: str) -> None:
    (folder / "tasks.toml").write_text(text, encoding="utf-8")
    with pytest.raises((DataError, UsageError), match=message):
        read_tasks(str(folder / "tasks.toml"))


def test_no_file_of_tasks(folder: Path) -> None:
    with pytest.raises(DataError, match=r"none.toml"):
        read_tasks(str(folder / "none.toml"))
    (folder / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is not TOML"):
        read_tasks(str(folder / "binary.toml"))


def read_one(folder: Path, language_pair: str | None = None, **changes: Any) -> Any:
    outputs = tuple(str(path) for path in sorted((folder / "out").iterdir()))
    return TaskFiles(**{"references": str(folder / "ref.en"), "outputs": outputs, **changes}).read(language_pair)


def test_the_name_of_a_language_pair_that_was_not_named(folder: Path) -> None:
    rankings, scores = str(folder / "rank.csv.gz"), (str(folder / "m.seg.score"),)
    assert read_one(folder, "x-y", rankings=rankings).language_pair == "x-y"
    assert read_one(folder, rankings=rankings).language_pair == "deu-eng"
    assert read_one(folder, rankings=rankings, scores=scores).language_pair == "de-en"
    assert read_one(folder).language_pair == "all"
    two = folder / "two.seg.score"
    two.write_text("m\tde-en\tnews\tA.1\t1\t0.5\nm\ten-ru\tnews\tA.1\t1\t0.5\n", encoding="utf-8")
    with pytest.raises(UsageError, match="the files of scores are of de-en, en-ru; say which language pair is meant"):
        read_one(folder, scores=(str(two),))
    (folder / "two.csv").write_text(f"{HEADER}\ndeu,eng,1,j,A,1,B,2,1\neng,rus,1,j,A,1,B,2,2\n", encoding="utf-8")
    with pytest.raises(UsageError, match="the rankings are of deu-eng, eng-rus; say which language pair is meant"):
        read_one(folder, rankings=str(folder / "two.csv"))


def test_assessments_of_one_system_need_no_name(folder: Path) -> None:
    outputs = (str(folder / "out" / "news.A.1.de-en"),)
    task = read_one(folder, outputs=outputs, assessments=(str(folder / "da.txt"),))
    assert task.assessments == {"news.A.1": [0.1, -0.4]}
    twice = (f"A={folder / 'da.txt'}",) * 2
    with pytest.raises(UsageError, match="there are two files of assessments of A; give one"):
        read_one(folder, assessments=twice)


def test_outputs_without_references_are_lines(folder: Path) -> None:
    task = read_one(folder, references=(), human=str(folder / "people.txt"))
    assert (task.segments, list(task.places())) == (2, ["1", "2"])


def test_scores_for_all_tasks_must_say_of_which_they_are(folder: Path) -> None:
    (folder / "tasks.toml").write_text(FULL, encoding="utf-8")
    tasks, scores = str(folder / "tasks.toml"), folder / "some.csv"
    scores.write_text("metric,system,segment,score\nm,A,1,0.5\n", encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"some\.csv does not say of which language pair its scores are; name the file"
    ):
        read_tasks(tasks, (str(scores),))
    scores.write_text("metric,system,segment,score,language_pair\nm,A,1,0.5,fr-en\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"some\.csv has scores of fr-en, which .*tasks\.toml does not name"):
        read_tasks(tasks, (str(scores),))
    scores.write_text("metric,system,segment,score\nm,A,1,0.5\n", encoding="utf-8")
    (folder / "tasks.toml").write_text(FULL.partition('["en-ru"]')[2].join(("[en-ru]", "")), encoding="utf-8")
    (only,) = read_tasks(tasks, (str(scores),))
    assert [each.source.rpartition("/")[2] for each in only.segment_scores] == ["some.csv"]
