"""The forms in which ratings by MQM are published, from made files, and the real ones where they are."""

from __future__ import annotations

import io
import json
import tarfile
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from tests.data.raw_files import MQM_HEADER
from trubleu.cli import main
from trubleu.data import Ratings, Reference, Segment, read_published, write_sets
from trubleu.data.mqm import mqm_weight
from trubleu.data.sets import RatingRow, find_set
from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LATER = ["system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category", "severity", "metadata"]


def written(path: Path, rows: Iterable[list[str]]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def side_by_side() -> list[list[str]]:
    """Return rows of two systems shown beside each other, with a comment and checks of attention."""
    rows = [
        ("A_with_refA", "r1", "ein <v>Text</v>.", "Fluency/Punctuation", "Minor"),
        ("A_with_refA", "r1", "ein Text<v>. </v>", "Accuracy/Mistranslation", "Major"),
        ("A_with_B", "r1", "ein Text.", "No-error", "No-error"),
        ("A_with_B", "r2", "noch ein Fehler.", "Found", "HOTW-test"),
        ("B", "r2", "zwei", "Source issue", "Major"),
        ("refA", "r2", "die Übersetzung", "No-error", "No-error"),
    ]
    table = [[system, "d:en-de", "1", "7", rater, "a text", *rest, "{}"] for system, rater, *rest in rows]
    return [[*LATER, "# Documentation: https://example.org"], *table]


WANTED = [
    RatingRow("d:en-de:7", "A", "r1", Fraction(-51, 10), "mqm", "A:refA"),
    RatingRow("d:en-de:7", "A", "r1", 0, "mqm", "A:B"),
    RatingRow("d:en-de:7", "B", "r2", 0, "mqm"),
]


def test_side_by_side_with_checks_of_attention(tmp_path: Path) -> None:
    [found] = read_published("mqm", written(tmp_path / "sxs.tsv", side_by_side()))
    assert found.ratings == WANTED
    assert found.segments == [Segment("d:en-de:7", (Reference("die Übersetzung", origin="refA"),), "a text")]
    assert found.outputs == {"A": {"d:en-de:7": "ein Text."}, "B": {"d:en-de:7": "zwei"}}
    assert found.left_out == {"checks of attention": 1, "ratings of human translations": 1}
    [folder] = write_sets(tmp_path / "set", [found])
    files = find_set(folder)
    assert files is not None
    with pytest.warns(UserWarning, match="no fixed scale"):
        ratings = Ratings.read(files.ratings)
    assert ratings.pair == ("A:refA", "A:B", None)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_archive(mode: str, tmp_path: Path) -> None:
    content = written(tmp_path / "x", side_by_side()).read_bytes()
    path = tmp_path / "archive.tsv.tar.gz"
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name in ("folder/._sxs.tsv", "folder/sxs.tsv"):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content if "._" not in name else b"\xff" * len(content)))
    [found] = read_published("mqm", path)
    assert (found.name, found.ratings) == ("sxs", WANTED)
    if mode == "w":
        path.write_bytes(path.read_bytes()[:900])
        with pytest.raises(DataError, match=r"archive\.tsv\.tar\.gz is no intact tar archive"):
            read_published("mqm", path)


def test_fields_that_a_spreadsheet_quoted(tmp_path: Path) -> None:
    rows = [["ref", "d", "1", "1", "r", '"She said ""no"""', "t", "No-error", "No-error"]]
    rows += [["A", "d", "1", "1", "r", "x", '"Sie sagte ""<v>nein</v>"""', "Style/Awkward", "Minor"]]
    [found] = read_published("mqm", written(tmp_path / "x.tsv", [MQM_HEADER, *rows]))
    assert (found.segments[0].message, found.outputs["A"]["d:1"]) == ('She said "no"', 'Sie sagte "nein"')


def test_references_of_ones_own(tmp_path: Path) -> None:
    rows = [["A", "d", "1", str(number), "r", "s", "t", "Style/Awkward", "Minor"] for number in (1, 3)]
    path = written(tmp_path / "x.tsv", [MQM_HEADER, *rows])
    (tmp_path / "ref.txt").write_text("eins\nzwei\ndrei\n")
    [found] = read_published("mqm", path, reference=str(tmp_path / "ref.txt"))
    assert [segment.references for segment in found.segments] == [
        (Reference("eins", origin="ref"),),
        (Reference("drei", origin="ref"),),
    ]
    (tmp_path / "ref.txt").write_text("eins\n")
    with pytest.raises(UsageError, match=r"ref.txt has 1 line, but .*x.tsv rates segment '3'; give the references of"):
        read_published("mqm", path, reference=str(tmp_path / "ref.txt"))


def test_scores_of_raters(tmp_path: Path) -> None:
    header = ["system", "doc", "doc_id", "seg_id", "rater", "source", "target", "score"]
    rows = [
        [system, "d", "1", "1", "r1", "one", text, score]
        for system, text, score in (("Human-A.0", "eins", "6"), ("A", "ein", "4"))
    ]
    [found] = read_published("mqm", written(tmp_path / "psqm.tsv", [header, *rows]))
    assert found.ratings == [RatingRow("d:1", "A", "r1", 4, "sqm")]
    assert found.outputs == {"A": {"d:1": "ein"}}


def test_scores_of_whole_texts_by_unbabel(tmp_path: Path) -> None:
    misc = '{"mqm": 92.5}'
    rows = [["ref", "d", "1", "1", "r", "s", "t", "No-error", "No-error", misc]]
    rows += [["A", "d", "1", "1", "r", "s", "u", category, "Critical", misc] for category in ("Style", "Other")]
    path = written(tmp_path / "x.tsv", [[*MQM_HEADER, "misc"], *rows])
    assert read_published("mqm", path)[0].ratings == [RatingRow("d:1", "A", "r", Fraction(185, 2), "mqm")]
    written(path, [[*MQM_HEADER, "misc"], [*rows[0][:-1], "{}"]])
    with pytest.raises(DataError, match=r'x.tsv:2: expected JSON such as \{"mqm": 95\} in misc, not'):
        read_published("mqm", path)


AVERAGES = "system mqm_avg_score seg_id\n"


def test_averages_without_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.avg_seg_scores.tsv"
    path.write_text(AVERAGES + "A\t-5.0 1\nA\tNone 2\nB\t-0.333333 1\nB\t-1 2\n")
    [found] = read_published("mqm", path)
    assert found.ratings == [
        RatingRow("1", "A", "mean", -5, "mqm"),
        RatingRow("1", "B", "mean", Fraction(-333333, 10**6), "mqm"),
        RatingRow("2", "B", "mean", -1, "mqm"),
    ]
    assert found.counts() == {"items": 2, "systems": 2, "ratings": 3}
    assert found.left_out == {"outputs that nobody rated": 1}
    folder = str(tmp_path / "set")
    write_sets(folder, [found])
    for name, text in (("A", "ein\nzwei\n"), ("B", "eins\nzwo\n"), ("ref", "eins\nzwei\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    systems = [str(tmp_path / "A.txt"), str(tmp_path / "B.txt")]
    command = ["judge", "ratings", folder, *systems, "--ref", str(tmp_path / "ref.txt"), "-m", "chrf", "--quiet"]
    assert main(command) == 0
    assert "2 systems, 2 items, 3 outputs, 3 ratings" in capsys.readouterr().out
    assert main(["score", folder, "-m", "chrf"]) == 2
    assert "has ratings only, which trubleu judge ratings takes with outputs" in capsys.readouterr().err


def test_averages_with_texts(tmp_path: Path) -> None:
    header = ["sys", "hyp", "domain", "doc", "source", "ref", "score", "seg_id"]
    rows = [
        ["A", "ein", "news", "d", "one", "eins", "-1.5", "1"],
        ["refA", "eins", "news", "d", "one", "eins", "0", "1"],
    ]
    rows += [["B", "ans", "news", "d", "one", "eins", "None", "1"]]
    [found] = read_published("mqm", written(tmp_path / "x.tsv", [header, *rows]))
    assert found.segments == [Segment("d:1", (Reference("eins", origin="ref"),), "one")]
    assert found.outputs == {"A": {"d:1": "ein"}}
    assert found.ratings == [RatingRow("d:1", "A", "mean", Fraction(-3, 2), "mqm")]
    assert found.left_out == {"outputs that nobody rated": 1, "outputs of refA, a human translation": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", r"x.tsv:1: expected the columns system, doc, .* or averages \(system mqm_avg_score seg_id\), not a"),
        (AVERAGES + "A\t-5.0\n", r"x.tsv:2: expected SYSTEM SCORE SEGMENT, not 'A"),
        (AVERAGES + "A\tbad 1\n", r"x.tsv:2: expected a score, not 'bad'"),
        (AVERAGES + "A\t1 1\nA\t2 1\n", r"x.tsv:3: segment 1 of A has a score above; expected one per segment"),
        (AVERAGES, r"x.tsv has no scores; expected SYSTEM SCORE SEGMENT per line"),
    ],
)
def test_files_that_do_not_fit(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_published("mqm", tmp_path / "x.tsv")


def test_what_counts_nothing() -> None:
    nothing = ("Source issue", "Accuracy/Creative Reinterpretation")
    assert {mqm_weight(category, "Major") for category in nothing} == {0}
    assert mqm_weight("Source error", "Major") == 5  # WMT21's averages count it
    assert (mqm_weight("Accuracy/Addition", "Critical"), mqm_weight("", "")) == (5, 0)


def test_the_real_files(real_data: Path) -> None:
    folder = real_data / "published"
    [pairs] = read_published("mqm", folder / "sxs_mqm_generalMT2023_ende.3ratingsPerSegment.tsv.tar.gz")
    counts = {"items": 104, "references": 104, "systems": 8, "outputs": 832, "ratings": 2808}
    assert pairs.counts() == counts
    assert pairs.left_out == {"checks of attention": 245, "ratings of human translations": 312}
    assert {Fraction(10 * row.score).denominator for row in pairs.ratings} == {1}
    shown = Counter(row.pair for row in pairs.ratings)
    assert shown == {"": 2184, "GPT4-5shot:ONLINE-W": 312, "GPT4-5shot:refA": 312}
    [averages] = read_published("mqm", folder / "mqm_newstest2021_ende.avg_seg_scores.tsv")
    assert averages.counts() == {"items": 527, "systems": 17, "ratings": 8959}


def test_penalties_are_those_that_wmt23_published(real_data: Path) -> None:
    path = real_data / "mtme" / "wmt23" / "human-scores" / "en-de.mqm.merged.seg.rating"
    ratings = [line.split("\t")[1] for line in path.read_text(encoding="utf-8").splitlines()]
    errors = [error for rating in ratings if rating != "None" for error in json.loads(rating)["errors"]]
    published = {(error["category"], error["severity"], error["score"]) for error in errors}
    assert len(published) == 39
    assert {
        (category, severity, float(mqm_weight(category, severity))) for category, severity, _ in published
    } == published
