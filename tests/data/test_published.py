"""Published data from its raw files: made ones, and the real ones where they are."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from tests.data.raw_files import (
    JUDGED,
    MQM_HEADER,
    dstc7_files,
    mqm_file,
    ranking_files,
    summeval_file,
    tasks_file,
    usr_file,
    wmt_files,
)
from trubleu.data import (
    Rankings,
    Ratings,
    Reference,
    References,
    Segment,
    read_official_scores,
    read_outputs,
    read_published,
    write_sets,
)
from trubleu.data.mqm import mqm_weight
from trubleu.data.published import PUBLISHED
from trubleu.data.sets import RatingRow, find_set, fitting
from trubleu.data.weights import exact
from trubleu.errors import DataError, Notice, UsageError
from trubleu.files.lines import read_text_lines

if TYPE_CHECKING:
    from pathlib import Path


def test_dstc7(tmp_path: Path) -> None:
    dstc7_files(tmp_path)
    [found] = read_published("dstc7", tmp_path)
    assert found.segments == [
        Segment(
            "i1", (Reference("yes .", origin="gold"), Reference("no .", origin="gold")), "really ?", ("a fact", "hi")
        )
    ]
    assert found.outputs == {"A": {"i1": "yes"}, "B": {"i1": 'a "quote'}}
    assert found.ratings == [
        RatingRow("i1", "A", "j1", 4, "Relevance"),
        RatingRow("i1", "A", "j1", 5, "Informativeness"),
        RatingRow("i1", "B", "j1", 1, "Relevance"),
        RatingRow("i1", "B", "j1", 2, "Informativeness"),
    ]
    assert found.left_out == {
        "items without a reference": 1,
        "outputs without a reference": 1,
        "ratings of outputs that are not here": 4,
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / f"{JUDGED}.tsv").unlink(), f"has no {JUDGED}.tsv; import dstc7 takes the folder of"),
        (
            lambda folder: (folder / f"{JUDGED}.tsv").write_text("a\tb\n"),
            f"{JUDGED}.tsv:1: the column JudgeID is missing; there are a, b",
        ),
        (
            lambda folder: append(folder / f"{JUDGED}.tsv", "j1\ti1\tA\t4\n"),
            f"{JUDGED}.tsv:6: this line has 4 fields but the first has 5",
        ),
        (
            lambda folder: append(folder / f"{JUDGED}.tsv", "j1\ti1\tA\t4\t6\n"),
            f"{JUDGED}.tsv:6: Informativeness must be a whole number from 1 to 5, not '6'",
        ),
        (
            lambda folder: append(folder / "dstc7-task2-gold_responses.tsv", "i9\tx\n"),
            "gold_responses.tsv:4: the instance 'i9' is not in",
        ),
        (
            lambda folder: append(folder / "dstc7-task2-system_responses.tsv", "A\ti1\tother\n"),
            "system_responses.tsv:5: A has another output for 'i1' above; it must have one",
        ),
        (
            lambda folder: append(folder / "dstc7-task2-system_responses.tsv", " \ti1\tother\n"),
            "system_responses.tsv:5: a system and an item must have names",
        ),
        (
            lambda folder: (folder / "dstc7-task2-gold_responses.tsv").write_text("<html>\n"),
            "gold_responses.tsv:1: the first line must begin with InstanceID, not with '<html>'",
        ),
    ],
)
def test_dstc7_that_is_broken(tmp_path: Path, change: Any, message: str) -> None:
    dstc7_files(tmp_path)
    change(tmp_path)
    with pytest.raises(DataError) as error:
        read_published("dstc7", tmp_path)
    assert message in str(error.value)


def append(path: Path, line: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + line, encoding="utf-8")


def test_mqm_errors_become_scores_of_raters(tmp_path: Path) -> None:
    path = mqm_file(tmp_path)
    [found] = read_published("mqm", path)
    assert found.name == "mqm_made"
    assert found.segments == [
        Segment("d:1", (Reference("bad", origin="ref"), Reference("a good one", origin="refB")), "quelle"),
        Segment("d:2", (Reference("two", origin="refB"),), "s2"),
    ]
    assert found.outputs == {"A": {"d:1": 'a "fine one', "d:2": "zwei"}}
    assert found.ratings == [
        RatingRow("d:1", "A", "r1", Fraction(-51, 10), "mqm"),
        RatingRow("d:1", "A", "r2", -1.0, "mqm"),
        RatingRow("d:2", "A", "r1", 0.0, "mqm"),
    ]


def test_penalties_add_up_exactly_in_any_order(tmp_path: Path) -> None:
    minor, punctuation = ("Fluency/Grammar", "Minor"), ("Fluency/Punctuation", "Minor")
    rows = [("ref", "t", "No-error", "No-error")]
    rows += [("A", "u", *error) for error in (minor, minor, minor, punctuation, minor, punctuation)]
    rows += [("B", "v", *error) for error in (punctuation, punctuation, minor, minor, minor, minor)]
    table = [MQM_HEADER, *([system, "d", "1", "1", "r", "s", *rest] for system, *rest in rows)]
    path = tmp_path / "x.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in table))
    [folder] = write_sets(tmp_path / "set", read_published("mqm", path))
    files = find_set(folder)
    assert files is not None
    assert [line.split(",")[3] for line in read_text_lines(files.ratings)] == ["score", "-4.2", "-4.2"]
    with pytest.warns(Notice, match="no fixed scale"):
        ratings = Ratings.read(files.ratings)
    assert ratings.means() == {("d:1", system): Fraction(-42, 10) for system in "AB"}


def test_mqm_of_later_years_and_what_lies_beside_it(tmp_path: Path) -> None:
    header = ["system", "doc", "docSegId", "globalSegId", *MQM_HEADER[4:], "metadata"]
    rows = [["refA", "d", "1", "7", "r", "s", "t", "No-error", "No-error", "{}"]]
    rows += [["A", "d", "1", "7", "r", "s", "u", "Accuracy/Omission", "major", "{}"]]
    (tmp_path / "mqm_later.tsv").write_text("".join("\t".join(row) + "\n" for row in [header, *rows]))
    (tmp_path / "mqm_later.avg_seg_scores.tsv").write_text("system score seg_id\nA 1 2\n")
    [found] = read_published("mqm", tmp_path)
    assert found.ratings == [RatingRow("d:7", "A", "r", -5.0, "mqm")]


def test_mqm_that_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("\t".join(MQM_HEADER) + "\n" + "A\td\t1\t1\tr\ts\tt\tStyle\tTerrible\n")
    with pytest.raises(DataError, match=r"x\.tsv:2: the severity 'Terrible' is not known; expected Critical, Major"):
        read_published("mqm", path)
    path.write_text("\t".join(MQM_HEADER) + "\n" + "A\td\t1\t1\tr\ts\tt\tStyle\tMinor\n")
    with pytest.raises(
        DataError, match=r"x\.tsv has no human translation among its systems, .*; they are A; give references"
    ):
        read_published("mqm", path)


def test_weights_of_errors() -> None:
    weights = {
        ("Non-translation!", "Major"): 25,
        ("Non-translation!", "No-error"): 0,
        ("Fluency/Punctuation", "Minor"): Fraction(1, 10),
        ("Fluency/Punctuation", "Major"): 5,
        ("Fluency/Grammar", "Minor"): 1,
        ("Style/Awkward", "Neutral"): 0,
    }
    assert {key: mqm_weight(*key) for key in weights} == weights


def test_direct_assessments(tmp_path: Path) -> None:
    wmt_files(tmp_path, "de-en")
    wmt_files(tmp_path, "cs-en")
    assert [each.name for each in read_published("wmt-da", tmp_path)] == ["newstest.cs-en", "newstest.de-en"]
    [found] = read_published("wmt-da", tmp_path / "DAseg.newstest.human.de-en")
    assert found.segments == [Segment("1", (Reference("one"),), "eins"), Segment("2", (Reference("two"),), "zwei")]
    assert found.outputs == {"mt-system": {"1": "once", "2": "to"}}
    assert found.ratings == [RatingRow("1", "mt-system", "mean", -0.5, "da")]
    append(tmp_path / "DAseg.newstest.source.de-en", "drei\n")
    with pytest.raises(DataError, match=r"source\.de-en has 3 lines but .*human\.de-en has 2; every file needs"):
        read_published("wmt-da", tmp_path)
    (tmp_path / "DAseg.newstest.source.de-en").unlink()
    with pytest.raises(DataError, match=r"has no DAseg\.newstest\.source\.de-en; import wmt-da takes a folder with"):
        read_published("wmt-da", tmp_path)


def test_rankings_and_official_scores(tmp_path: Path) -> None:
    ranking_files(tmp_path)
    ranking_files(tmp_path, "en-xx", "eng-xx")
    found, other = read_published("wmt-rr", tmp_path)
    assert (found.name, other.name) == ("de-en", "en-xx")
    assert found.segments == [Segment("1", (Reference("one"),)), Segment("2", (Reference("two"),))]
    assert found.outputs["news.B.2"] == {"1": "once", "2": "two"}
    assert found.rankings is not None
    assert found.rankings.systems == ("news.A.1", "news.B.2")
    assert found.human == {"news.A.1": -0.1, "news.B.2": -0.2, "news.C.3": -0.3}
    assert found.counts() == {"items": 2, "references": 2, "systems": 3, "outputs": 6, "rankings": 2}
    files = find_set(next(iter(write_sets(tmp_path / "set", [found]))))
    assert files is not None
    assert files.human is not None
    assert Rankings.read(files.ratings) == found.rankings
    assert read_official_scores(files.human) == found.human
    append(tmp_path / "system-outputs" / "de-en" / "news.A.1.de-en", "drei\n")
    with pytest.raises(DataError, match=r"news\.A\.1\.de-en has 3 lines but .*ref\.en has 2; every file needs"):
        read_published("wmt-rr", tmp_path)
    (tmp_path / "official_scores" / "wmt.deu-eng.txt").unlink()
    with pytest.raises(
        DataError, match=r"has 0 files like official_scores/\*\.deu-eng\.txt\*, and import wmt-rr takes"
    ):
        read_published("wmt-rr", tmp_path)


def test_summeval(tmp_path: Path) -> None:
    path = summeval_file(tmp_path)
    [found] = read_published("summeval", tmp_path)
    assert found.segments == [Segment("dm-1", (Reference("gold"), Reference("crowd")), None)]
    assert found.outputs == {"M0": {"dm-1": "short"}, "M1": {"dm-1": ""}}
    assert Counter((row.system, row.rater) for row in found.ratings) == {
        (system, rater): 4 for system in ("M0", "M1") for rater in ("expert1", "expert2", "turker1")
    }
    assert RatingRow("dm-1", "M0", "expert2", 5, "fluency") in found.ratings
    assert RatingRow("dm-1", "M0", "turker1", 2, "crowd-fluency") in found.ratings
    assert found.aspects == ("coherence", "consistency", "fluency", "relevance")
    record = json.loads(path.read_text().split("\n")[0])
    for broken, message in (
        ({**record, "decoded": None}, ":1: the field decoded must be a string, not null"),
        ({key: value for key, value in record.items() if key != "id"}, ":1: the field id is missing"),
        (
            {**record, "expert_annotations": [{"coherence": "5"}]},
            "coherence must be a finite number, not the string '5'",
        ),
        ({**record, "turker_annotations": [3]}, "turker_annotations must hold objects, not the number 3"),
        ({**record, "references": [3]}, ":1: references must be an array of strings"),
    ):
        path.write_text(json.dumps(broken) + "\n")
        with pytest.raises(DataError) as error:
            read_published("summeval", path)
        assert message in str(error.value)


def test_usr(tmp_path: Path) -> None:
    path = usr_file(tmp_path)
    [found] = read_published("usr", tmp_path)
    assert found.segments == [Segment("1", (Reference("fine .", origin="seed"),), "how are you ?", ("hi",))]
    assert found.outputs == {"Nucleus-(p-=-0.3)": {"1": "ok"}, "New-Human": {"1": "great !"}}
    assert [row.score for row in found.ratings if (row.system, row.aspect) == ("New-Human", "Overall")] == [5, 4, 5]
    assert found.scales["Uses Knowledge"] == (0, 1)
    [entry] = json.loads(path.read_text())
    del entry["responses"][1]["Natural"]
    for broken, message in (
        ("[{", "tc_usr_data.json: this is not JSON: Expecting property name"),
        ("{}", "tc_usr_data.json must hold an array of contexts, not an object"),
        ("[3]", "context 1 must be an object, not the number 3"),
        (json.dumps([entry]), "context 1, Nucleus (p = 0.3): the field Natural is missing"),
    ):
        path.write_text(broken)
        with pytest.raises(DataError) as error:
            read_published("usr", path)
        assert message in str(error.value)


def test_tasks(tmp_path: Path) -> None:
    tasks_file(tmp_path / "captions.jsonl.gz", [("x|A", "x", "A"), ("x|B", "x", "B"), ("y|A", "y", "A")])
    tasks_file(tmp_path / "pool.jsonl.gz", [("p1", "x", "pool"), ("p2", "x", "pool")])
    captions, pool = read_published("tasks", tmp_path)
    assert (captions.name, [segment.id for segment in captions.segments]) == ("captions", ["x", "y"])
    assert captions.outputs == {"A": {"x": "out x|A", "y": "out y|A"}, "B": {"x": "out x|B"}}
    assert captions.segments[0] == Segment("x", (Reference("a reference"),), "the source")
    assert [(row.aspect, row.score) for row in captions.ratings[:2]] == [("overall", 2.5), ("fluency", 3.0)]
    assert [segment.id for segment in pool.segments] == ["p1", "p2"]  # one system, two outputs for one source


@pytest.mark.parametrize("kind", PUBLISHED)
def test_what_is_not_there_or_of_another_kind(kind: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"there is no .*nowhere; import {kind} takes "):
        read_published(kind, tmp_path / "nowhere")
    with pytest.raises(DataError, match=f"import {kind} takes |that import {kind} reads; it takes "):
        read_published(kind, tmp_path)
    (tmp_path / "wrong").write_bytes(b"\xff\xfe\x00 no text\n")
    with pytest.raises(DataError, match="wrong"):
        read_published(kind, tmp_path / "wrong")


def test_no_such_kind(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no reader for 'sumeval'; did you mean summeval"):
        read_published("sumeval", tmp_path)


def test_a_set_is_read_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    path = usr_file(tmp_path / "raw")
    (tmp_path / "raw" / "LICENSE").write_text("do what you like\n")
    write_sets(tmp_path / "set", read_published("usr", path))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["raw", "set"]
    files = find_set(str(tmp_path / "set"))
    assert files is not None
    references = References.read(files.references or "")
    assert references.segment(0) == read_published("usr", path)[0].segments[0]
    outputs = read_outputs([*files.outputs.values()], references)
    assert {each.name: each.texts for each in outputs} == {"Nucleus-(p-=-0.3)": ["ok"], "New-Human": ["great !"]}
    with pytest.raises(
        DataError, match="Understandable is rated from 0 to 1 and other aspects are not; judge by aspects of"
    ):
        Ratings.read(files.ratings)
    overall = Ratings.read(files.ratings, only=["Overall"])
    assert (set(overall.aspect or ()), overall.score) == ({"Overall"}, (2, 2, 3, 5, 4, 5))
    with pytest.raises(DataError, match="has no ratings of the aspect 'Overal'; did you mean Overall"):
        Ratings.read(files.ratings, only=["Overal"])
    about = json.loads((tmp_path / "set" / "set.json").read_text(encoding="utf-8"))
    assert about["sha256"] == {"tc_usr_data.json": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert about["counts"] == {"items": 1, "references": 1, "systems": 2, "outputs": 2, "ratings": 36}
    assert (tmp_path / "set" / "LICENSE").read_text() == "do what you like\n"


def test_sets_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    wmt_files(tmp_path, "de-en")
    sets = read_published("wmt-da", tmp_path)
    target = tmp_path / "out"
    target.mkdir()
    (target / "mine").touch()
    with pytest.raises(UsageError, match=r"out already holds something \(mine\); give another folder"):
        write_sets(target, sets)
    assert [path.name for path in target.iterdir()] == ["mine"]
    long = replace(sets[0], name="other", outputs={"x" * 300: {"1": "a"}})
    with pytest.raises(DataError, match="File name too long"):
        write_sets(tmp_path / "new", [sets[0], long])
    assert not (tmp_path / "new").exists()
    assert not [*tmp_path.glob(".trubleu*")]
    with pytest.raises(UsageError, match="s3://bucket/set is an address; a set is written to a folder of this machine"):
        write_sets("s3://bucket/set", sets)


def test_names_that_files_cannot_have() -> None:
    segments = [Segment("1", (Reference("r"),))]
    row = RatingRow("1", "a/b", "r", 1, "x")
    assert fitting(segments, {"a/b": {"1": "t"}}, [row], "s")["ratings"] == [row._replace(system="a-b")]
    with pytest.raises(DataError, match="s: two systems would be named a-b; rename 'a b' there"):
        fitting(segments, {"a/b": {"1": "t"}, "a b": {"1": "t"}}, [], "s")
    with pytest.raises(DataError, match="s has no rating that goes with the rest"):
        fitting(segments, {"a": {"1": "t"}}, [row], "s")


def test_a_set_that_is_damaged(tmp_path: Path) -> None:
    assert find_set(str(tmp_path)) is None
    for text, message in (
        ("{", "does not describe a set"),
        ('{"schema": 9}', "made by another version of trubleu"),
        ('{"schema": 1, "systems": ["../../x"], "metrics": []}', r"no file can be named '\.\./\.\./x'"),
        ('{"schema": 1, "systems": [], "metrics": ["../x"]}', r"no file can be named '\.\./x'"),
    ):
        (tmp_path / "set.json").write_text(text)
        with pytest.raises(DataError, match=message):
            find_set(str(tmp_path))


REAL = {
    "dstc7": ("dstc7", {"dstc7": (954, 35_086, 10, 9_540, 57_240)}),
    "mqm": ("mqm", {"mqm_ted_zhen": (529, 1_058, 13, 6_877, 6_877)}),
    "wmt-da": (
        "daseg2015",
        {f"newstest2015.{pair}": (500, 500, 1, 500, 500) for pair in ("cs-en", "de-en", "en-ru", "fi-en", "ru-en")},
    ),
    "wmt-rr": (
        "wmt15",
        {"de-en": (2_169, 2_169, 13, 28_197, 40_535), "en-ru": (2_818, 2_818, 10, 28_180, 49_302)},
    ),
    "usr": ("usr", {"pc_usr_data": (60, 60, 4, 240, 4_320), "tc_usr_data": (60, 60, 5, 300, 5_400)}),
    "tasks": (
        "tasks",
        {
            "bagel": (404, 794, 1, 404, 1_616),
            "realsumm": (100, 100, 24, 2_400, 4_800),
            "sfhot": (875, 7_324, 1, 875, 3_500),
            "sfres": (1_181, 3_705, 1, 1_181, 4_724),
            "simplicity_da": (302, 3_020, 6, 600, 2_400),
            "thumb_mscoco": (500, 2_000, 5, 2_500, 2_500),
            "webnlg17": (223, 587, 9, 2_007, 8_028),
        },
    ),
}


@pytest.mark.parametrize("kind", REAL)
def test_the_real_files(kind: str, real_data: Path, tmp_path: Path) -> None:
    folder, counts = REAL[kind]
    written = write_sets(tmp_path / "set", read_published(kind, real_data / folder))
    assert {each.name: tuple(each.counts().values()) for each in written.values()} == counts
    for path in written:
        files = find_set(path)
        assert files is not None
        references = References.read(files.references or "")
        if "simplicity" not in path:  # where no system has an output for every item
            assert len(read_outputs([*files.outputs.values()], references)) == len(files.outputs)


def test_published_sums_of_penalties_are_made_exact(real_data: Path) -> None:
    start = real_data / "mtme/wmt23/human-scores"
    errors, sums = (
        [line.split("\t") for line in read_text_lines(start / f"en-de.mqm.{name}")]
        for name in ("merged.seg.rating", "seg.score")
    )
    found, wanted = defaultdict[str, list[Any]](list), defaultdict[str, list[Any]](list)
    for system, text in errors:
        scores = [] if text == "None" else [error["score"] for error in json.loads(text)["errors"]]
        wanted[system].append(None if text == "None" else -sum((Fraction(str(score)) for score in scores), Fraction()))
    for system, text in sums:
        found[system].append(None if text == "None" else exact(float(text)))
    assert all(found[system] == wanted[system] for system in found)
    assert sum(each is not None for column in found.values() for each in column) == 5980


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = mqm_file(tmp_path)
    packed = tmp_path / "packed.tsv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_published("mqm", packed)[0].ratings == read_published("mqm", path)[0].ratings
