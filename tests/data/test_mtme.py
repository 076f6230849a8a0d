"""The layout of mt-metrics-eval, from made files; the real ones are in `tests.judge.test_mtme_real`."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from tests.data.raw_files import mtme_files
from trubleu.cli import main
from trubleu.data import Reference, Segment, SegmentScores, read_published, write_sets
from trubleu.data.sets import find_set
from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_everything_is_read(tmp_path: Path) -> None:
    [found] = read_published("mtme", mtme_files(tmp_path))
    assert (found.name, found.title) == ("wmt23.en-de", "mt-metrics-eval wmt23.en-de")
    assert found.segments == [
        Segment("1", (Reference("eins", origin="refA"),), "one"),
        Segment("2", (Reference("zwei", origin="refA"),), "two"),
    ]
    assert found.outputs == {"A": {"1": "eins", "2": "zwo"}, "refB": {"1": "ein", "2": "zwo"}}
    ratings = {(row.aspect, row.system, row.item): float(row.score) for row in found.ratings}
    assert ratings == {
        ("da-sqm", "A", "1"): 80,
        ("da-sqm", "A", "2"): 70.5,
        ("mqm", "A", "1"): -5,
        ("mqm", "A", "2"): -0.1,
        ("mqm", "refB", "1"): -6.2,
        ("mqm.all", "A", "1"): -5.2,
    }
    assert {row.rater for row in found.ratings if row.aspect == "mqm.all"} == {"r1"}
    assert found.aspects == ("mqm",)
    assert found.scores == {
        "COMET": {("1", "A"): 0.5, ("2", "A"): 1e-05, ("1", "refB"): 0.25, ("2", "refB"): 0.125},
        "COMET-src": {("1", "A"): 1, ("2", "A"): 2, ("1", "refB"): 3, ("2", "refB"): 4},
    }
    assert found.labels == {"1": {"domain": "news", "document": "d1"}, "2": {"domain": "social", "document": "d2"}}
    assert found.left_out == {
        "ratings of refA, the reference": 2,
        "metrics with other references": 1,
        "metrics without scores of all rated outputs": 1,
        "files of scores of systems, domains or documents": 2,
        "references (refB)": 1,
    }


def test_other_references(tmp_path: Path) -> None:
    [found] = read_published("mtme", mtme_files(tmp_path).parent, language_pair="en-de", reference="refB")
    assert [segment.references[0].text for segment in found.segments] == ["ein", "zwo"]
    assert ([*found.outputs], [*found.scores]) == (["A", "refA"], ["COMET"])


def test_a_set_with_scores_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "set"
    write_sets(folder, read_published("mtme", mtme_files(tmp_path)))
    files = find_set(str(folder))
    assert files is not None
    assert [SegmentScores.read(path).metrics() for path in files.scores] == [("COMET",), ("COMET-src",)]
    assert main(["judge", "ratings", str(folder), "-m", "chrf", "--format", "csv"]) == 0
    rows = csv.DictReader(capsys.readouterr().out.splitlines())
    assert {row["metric"] for row in rows} == {"", "chrf", "COMET", "COMET-src"}
    command = ["judge", "ratings", str(folder), "-m", "chrf", "--scores", files.scores[0], "--format", "csv"]
    assert main(command) == 0
    assert "COMET-src" not in capsys.readouterr().out
    own = tmp_path / "own.seg.score"
    own.write_text("".join(f"OWN\t-\t-\t{system}\t{item}\t{item}\n" for system in ("A", "refB") for item in (1, 2)))
    assert main(["judge", "ratings", str(folder), "-m", "chrf", "--scores", str(own), "--format", "csv"]) == 0
    rows = csv.DictReader(capsys.readouterr().out.splitlines())
    assert {row["metric"] for row in rows} == {"", "chrf", "COMET", "COMET-src", "OWN"}
    assert main(["compare", str(folder), "-m", "chrf", "--by", "domain"]) == 0
    assert "social" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("references/en-de.refA.txt", "eins\n", r"references/en-de.refA.txt has 1 .*sources/en-de.txt has 2"),
        ("system-outputs/en-de/A.txt", "x\ny\nz\n", "system-outputs/en-de/A.txt has 3"),
        ("documents/en-de.docs", "news d1\nnews\n", r"en-de.docs:2: expected DOMAIN DOCUMENT, not 'news'"),
        ("human-scores/en-de.mqm.seg.score", "A\t0\nA\n", r"mqm.seg.score:2: expected SYSTEM SCORE, not 'A'"),
        ("human-scores/en-de.mqm.seg.score", "A\t0\n", r"mqm.seg.score: expected 2 scores of A, one per .*, got 1"),
        ("human-scores/en-de.mqm.seg.score", "A 0\nA 0\nA 0\n", r":3: expected 2 scores of A, one per .*, got more"),
        ("human-scores/en-de.mqm.seg.score", "A\tnan\nA\t0\n", r":1: expected SYSTEM SCORE, with a finite .* A nan"),
        ("human-scores/en-de.mqm.seg.score", "A\t1\t2\nA\t0\n", r":1: expected SYSTEM SCORE, with .* not A 1 2"),
        ("human-scores/en-de.mqm.seg.score", "B\t1\nB\t0\n", r":1: there is no output of 'B'; known: A"),
        ("human-scores/en-de.mqm.all.seg.rating", "A\t[]\nA\tNone\n", r'rating:1: expected JSON such as {"errors": '),
        ("metric-scores/en-de/BLEU-refA.seg.score", "C\t1\n", r"BLEU-refA.seg.score:1: there is no output of 'C'"),
    ],
)
def test_files_that_are_broken(name: str, text: str, message: str, tmp_path: Path) -> None:
    folder = mtme_files(tmp_path)
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_published("mtme", folder)


def test_what_is_not_there(tmp_path: Path) -> None:
    folder = mtme_files(tmp_path)
    with pytest.raises(UsageError, match="has no language pair 'en-fr'; did you mean en-de"):
        read_published("mtme", folder, language_pair="en-fr")
    with pytest.raises(UsageError, match="has no references 'refC' of en-de; did you mean ref"):
        read_published("mtme", folder, reference="refC")
    with pytest.raises(UsageError, match="language pair: only mtme, esa, wmt-da can be read with it, not usr"):
        read_published("usr", folder, language_pair="en-de")
    for path in (folder / "human-scores").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="holds nothing that import mtme reads"):
        read_published("mtme", folder)
    with pytest.raises(DataError, match=r"human-scores has no en-de.NAME.seg.score; a set needs human scores"):
        read_published("mtme", folder, language_pair="en-de")
    for path in (folder / "system-outputs" / "en-de").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="human-scores has no"):
        read_published("mtme", folder, language_pair="en-de")
