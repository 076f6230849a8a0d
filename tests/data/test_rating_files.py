"""Ratings as others publish them: other names of columns, a column an aspect, somebody who rated twice."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import Ratings
from trubleu.errors import DataError, Notice, UsageError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.Notice")

WIDE = "JudgeID\tInstanceID\tSystemID\tRelevance\tInformativeness\n"


def written(folder: Path, text: str, name: str = "r.tsv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8-sig", newline="")
    return path


def test_a_column_an_aspect(tmp_path: Path) -> None:
    found = Ratings.read(written(tmp_path, WIDE + "ann\t7\tA\t4\t1\r\nbob\t7\tA\t5\t2\r\n"))
    assert found.aspect == ("Relevance", "Informativeness") * 2
    assert found.rater == ("ann", "ann", "bob", "bob")
    assert (found.item, found.system, found.score) == (("7",) * 4, ("A",) * 4, (4, 1, 5, 2))
    assert found.pair is None


@pytest.mark.parametrize(
    "header",
    [
        "item,system,rater,score",
        "Item,SYSTEM,Rater,Score",
        "segment_id,Model,annotator,rating",
        "Instance ID,model-name,WorkerID,score",
        "exampleId,systemId,assessor,Rating",
    ],
)
def test_other_names_of_columns(tmp_path: Path, header: str) -> None:
    found = Ratings.read(written(tmp_path, f"{header}\n7,A,ann,4\n", "r.csv"))
    assert found == Ratings(["7"], ["A"], ["ann"], [4])


def test_the_names_of_the_fields_go_first(tmp_path: Path) -> None:
    path = written(tmp_path, "InstanceID,item,model,system,JudgeID,rater,rating,score\n1,7,x,A,y,ann,5,4\n", "r.csv")
    assert Ratings.read(path) == Ratings(["7"], ["A"], ["ann"], [4])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "InstanceID,segment,system,rater,score\n",
            r": the .* row: the columns InstanceID and segment could both be the item; rename .*columns item=Inst",
        ),
        ("Item,ITEM,system,rater,score\n", ": the .* row: the columns Item and ITEM could both be the item;"),
        ("item,system,rater\n", ": the .* row: the column score must be there; columns found: item, .*, rater; say"),
        ("item,system,rater,aspect\n", ": .* row: the column score must be there; columns found: item, .*, asp"),
        ("item,system,rater,style,style\n", ":1: there are 2 columns style; leave only one of them$"),
        (
            "item,system,rater,style,comment\n7,A,ann,4,5\n8,A,ann,4,nice\n",
            r":3: the column comment holds 'nice', but without a column score every .* \(--aspect NAME\), or",
        ),
        ("item,system,rater,style\n7,A,ann,\n", ":2: the column style holds '', but without a column score"),
        (
            "item,system,rater,style,facts\n7,A,ann,4,9\n",
            ": style is rated from 1 to 5 and other aspects are not; judge by aspects of one scale",
        ),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"/r\.csv{message}") as caught:
        Ratings.read(written(tmp_path, text, "r.csv"))
    assert "\n" not in str(caught.value)


def test_a_column_a_rater(tmp_path: Path) -> None:
    path = written(tmp_path, "seg_id,system,rater1,rater2\n7,A,4,4.5\n8,A,,2\n", "r.csv")
    with pytest.warns(Notice, match="^columns of r.csv: item ← seg_id, system ← system, raters ← rater1 rater2$"):
        found = Ratings.read(path)
    assert found == Ratings(["7", "7", "8"], ["A"] * 3, ["rater1", "rater2", "rater2"], [4, 4.5, 2])
    path = written(tmp_path, "item,system,rater1,rater2\n7,A,4,4\n8,A,,two\n", "r.csv")
    with pytest.raises(DataError, match=r"r\.csv:3, column rater2: score must be a number, not 'two'$"):
        Ratings.read(path)


def test_scores_without_raters_are_means(tmp_path: Path) -> None:
    path = written(tmp_path, "item,system,mean_rating\n7,A,4.25\n7,B,1.5\n", "r.csv")
    with pytest.warns(Notice, match="score ← mean_rating, each score the mean of unnamed raters$"):
        found = Ratings.read(path)
    assert (found.rater, found.score) == (("mean", "mean"), (Fraction(17, 4), Fraction(3, 2)))


def test_only_some_columns_are_aspects(tmp_path: Path) -> None:
    path = written(tmp_path, "item,system,rater,style,comment\n7,A,ann,4,nice\n", "r.csv")
    assert Ratings.read(path, only=["style"]).score == (4,)


def test_columns_by_name(tmp_path: Path) -> None:
    text = "segment,InstanceID,system,who,nice,true,note\n1,7,A,ann,4,2,hm\n"
    columns = {"item": "InstanceID", "rater": "who"}
    long = Ratings(["7", "7"], ["A", "A"], ["ann", "ann"], [4, 2], None, ["nice", "true"])
    path = written(tmp_path, text, "r.csv")
    assert Ratings.read(path, columns=columns, aspects=("nice", "true")) == long
    assert Ratings.read(path, columns=columns | {"score": "nice"}) == Ratings(["7"], ["A"], ["ann"], [4])
    row = {"InstanceID": 7, "system": "A", "who": "ann", "nice": 4, "true": 2}
    assert Ratings.from_rows([row], columns=columns, aspects=("nice", "true")) == long
    frame = pl.DataFrame([row])
    assert Ratings.from_frame(frame, columns=columns, aspects=("nice", "true")) == long
    frame.write_parquet(tmp_path / "r.parquet")
    frame.write_ndjson(tmp_path / "r.jsonl")
    for name in ("r.parquet", "r.jsonl"):
        assert Ratings.read(tmp_path / name, columns=columns, aspects=("nice", "true")) == long
        assert Ratings.read(tmp_path / name, columns=columns | {"score": "true"}).score == (2,)


def test_columns_of_json_and_frames_have_other_names_too(tmp_path: Path) -> None:
    row = {"InstanceID": "7", "SystemID": "A", "JudgeID": "ann", "score": 4}
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(row))
    expected = Ratings(["7"], ["A"], ["ann"], [4])
    for read in (Ratings.read(path), Ratings.from_rows([row]), Ratings.from_frame(pl.DataFrame([row]))):
        assert read == expected
    with pytest.raises(DataError, match=r"/r\.jsonl: there is no column 'style'; known: InstanceID, SystemID, JudgeID"):
        Ratings.read(path, aspects=["style"])
    rows: list[dict[Any, Any]] = [{"item": "7", "system": "A", "rater": "ann", "style": 4, "facts": 5, "seconds": 3}]
    path.write_text(json.dumps(rows[0]))
    assert Ratings.read(path, aspects=["style", "facts"]).aspect == ("style", "facts")
    assert Ratings.read(path, only=["style", "facts"]).aspect == ("style", "facts")
    # Seconds are no aspect, though they are a number.
    unsaid = r": the column score must be there; .* seconds; .* \(--aspect NAME\)$"
    with pytest.raises(DataError, match=unsaid):
        Ratings.read(path)
    with pytest.raises(DataError, match=unsaid):
        Ratings.from_rows(rows)


def test_names_that_are_no_strings_are_no_columns() -> None:
    row: dict[Any, Any] = {"item": "7", "system": "A", "rater": "ann", "score": 4, 3: 5}
    expected = Ratings(["7"], ["A"], ["ann"], [4])
    assert Ratings.from_rows([row]) == Ratings.from_frame(pd.DataFrame([row])) == expected
    aspects = pd.DataFrame([{"item": "7", "system": "A", "rater": "ann", 3: 5}])
    with pytest.raises(DataError, match=r"^frame: the column score must be there; columns found: item, system, rater"):
        Ratings.from_frame(aspects)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"columns": {"item": "Instance"}}, DataError, r"/r\.csv.* there is no column 'Instance'; did you mean Inst"),
        ({"aspects": ["Style"]}, DataError, r"/r\.csv.* there is no column 'Style'; did you mean style\?$"),
        ({"columns": {"ratings": "x"}}, UsageError, r"^columns: there is no field 'ratings'; known: item, system, "),
        ({"columns": {3: "x"}}, UsageError, r"^columns: there is no field 3; "),
        ({"columns": {"itme": "x"}}, UsageError, r"^columns: there is no field 'itme'; did you mean item\?$"),
        ({"columns": {"item": 3}}, UsageError, "^columns: the column of item must be a string, not 3$"),
        (
            {"aspects": "style"},
            UsageError,
            r"^aspects must be several names, not the string 'style'; write \('style',\)",
        ),
        (
            {"aspects": ["style"], "columns": {"score": "facts"}},
            UsageError,
            "^columns has a score, but aspects are given, each with scores of its own; leave one out$",
        ),
        (
            {"columns": {"item": "InstanceID", "rater": "InstanceID"}},
            UsageError,
            "^the column 'InstanceID' is given twice; a column holds one thing only$",
        ),
        ({"repeats": "none"}, UsageError, "^repeats: there is no 'none'; known: refuse, mean, first, last, keep$"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: Any, error: type[Exception], message: str) -> None:
    path = written(tmp_path, "InstanceID,system,rater,style,facts\n7,A,ann,4,2\n", "r.csv")
    with pytest.raises(error, match=message):
        Ratings.read(path, **options)


TWICE = "item,system,rater,score\n7,A,ann,4\n7,A,ann,1\n7,A,bob,2\n"


def test_somebody_rated_the_same_twice(tmp_path: Path) -> None:
    path = written(tmp_path, TWICE, "r.csv")
    with pytest.raises(
        DataError,
        match=r"r\.csv:3: the rater 'ann' has rated this already at .*r\.csv:2 \(item '7', system 'A'\); say which "
        r'counts: repeats="mean", "first", "last" or "keep" \(each for itself\), on the command line --repeated-'
        "ratings mean$",
    ):
        Ratings.read(path)
    found = {}
    told = {"mean": "the mean of each rater's counts", "first": "the first counts", "last": "the last counts"}
    for rule, said in (told | {"keep": "each counts"}).items():
        with pytest.warns(Notice, match=f"^r.csv: 1 rating by raters of what they had rated before; {said}$"):
            found[rule] = Ratings.read(path, repeats=rule)  # type: ignore[arg-type]
    first, kept = found["first"], found["keep"]
    assert (first.rater, first.score) == (("ann", "bob"), (4, 2))
    assert (found["last"].rater, found["last"].score) == (("ann", "bob"), (1, 2))
    assert (found["mean"].rater, found["mean"].score) == (("ann", "bob"), (Fraction(5, 2), 2))
    assert kept.item_means() == kept.means() == {("7", "A"): Fraction(7, 3)}
    assert kept.select(system="A") == kept
    assert Ratings.from_frame(kept.to_frame(), repeats="keep") == kept
    for name in ("w.csv", "w.jsonl", "w.parquet"):
        kept.write(tmp_path / name)
        assert Ratings.read(tmp_path / name, repeats="keep") == kept
        assert Ratings.read(tmp_path / name, repeats="first") == first
        with pytest.raises(DataError, match="has rated this already"):
            Ratings.read(tmp_path / name)


rows = st.lists(
    st.sampled_from("ABC").flatmap(
        lambda system: st.tuples(
            st.sampled_from("12"),  # item
            st.just(system),
            st.sampled_from("xy"),  # rater
            st.integers(1, 5),
            st.sampled_from([*(pair for pair in ("A:B", "B:A", "A:C", "C:A", "B:C") if system in pair), None]),
            st.sampled_from(["style", "facts", None]),
        )
    ),
    min_size=1,
    max_size=12,
)


def plain_means(given: list[Any]) -> dict[tuple[str, str], Fraction]:
    """State the mean over aspects of the mean over raters as plainly as can be."""
    means = {}
    for item, system in dict.fromkeys((row[0], row[1]) for row in given):
        own = [row for row in given if (row[0], row[1]) == (item, system)]
        parts = []
        for aspect in dict.fromkeys(row[5] for row in own):
            scores = [row[3] for row in own if row[5] == aspect]
            parts.append(Fraction(sum(scores), len(scores)))
        means[item, system] = sum(parts, Fraction()) / len(parts)
    return means


def ratings_of(given: list[Any]) -> Ratings:
    columns: Any = zip(*given, strict=True)
    return Ratings(*columns, repeats="keep")


@given(rows, st.randoms())
def test_item_means(given: list[Any], random: Any) -> None:
    found = ratings_of(given).item_means()
    assert list(found.items()) == list(plain_means(given).items())
    random.shuffle(given)
    assert ratings_of(given).item_means() == found


@given(rows, st.sampled_from(["A:B", "B:A", "A:C", "C:B"]))
def test_item_means_within_a_pair(given: list[Any], pair: str) -> None:
    if all(row[4] is None for row in given):
        inside = [row for row in given if row[1] in pair.split(":")]
    else:
        inside = [row for row in given if row[4] in (pair, pair[::-1])]
    if not inside:
        with pytest.raises(DataError, match=f"^ratings has no ratings of the pair '{pair}'; "):
            ratings_of(given).item_means(pair=pair)
    else:
        assert ratings_of(given).item_means(pair=pair) == plain_means(inside)


def test_a_pair_of_systems_whose_names_hold_colons() -> None:
    found = Ratings(["1", "1"], ["x:A", "B"], ["r", "r"], [1, 5], ["x:A:B", "B:x:A"])
    assert found.item_means(pair="B:x:A") == {("1", "x:A"): Fraction(1), ("1", "B"): Fraction(5)}


def test_who_and_what() -> None:
    found = Ratings(["2", "1", "2"], ["B", "A", "A"], ["r", "s", "r"], [1, 5, 2])
    assert (found.items(), found.systems(), found.raters()) == (("2", "1"), ("B", "A"), 2)


def test_the_ratings_of_dstc7(real_data: Path) -> None:
    path = real_data / "dstc7" / "dstc7-task2-human-eval-per-judge.tsv"
    with pytest.raises(DataError, match=r':387, column Relevance: the rater .* repeats="mean"'):
        Ratings.read(path)
    kept = Ratings.read(path, repeats="keep")
    assert (len(kept), kept.raters(), len(kept.items()), len(kept.systems())) == (66_000, 317, 1000, 11)
    assert len(Ratings.read(path, repeats="first")) == 66_000 - 2 * 54
    expected: dict[tuple[str, str], list[int]] = defaultdict(list)
    with path.open(encoding="utf-8-sig") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            expected[row["InstanceID"], row["SystemID"]] += [int(row["Relevance"]), int(row["Informativeness"])]
    assert kept.item_means() == {rated: Fraction(sum(scores), len(scores)) for rated, scores in expected.items()}
