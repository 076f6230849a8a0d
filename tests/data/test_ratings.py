"""Ratings of outputs: exact sums, every format, every mistake with its place."""

from __future__ import annotations

import io
import json
import math
import pickle
import sys
import tempfile
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import Ratings, weight_from_ratings
from trubleu.errors import DataError, MissingExtraError, UsageError

# Names and labels that CSV, JSON and Parquet must bring back as they were.
_characters = st.characters(exclude_categories=["Cs"])
_tricky = st.sampled_from(
    ["a,b", 'say "hi"', "a\tb", "a\r\nb", "\r", "x\ny", " a ", "\u2028", "\ufeffa", "{", "7", "="]
)
name = (st.text(_characters, min_size=1, max_size=5) | _tricky).map(lambda text: text if text.strip() else f"<{text}>")
label = st.none() | name


@st.composite
def ratings(draw: st.DrawFn) -> Ratings:
    keys = draw(st.lists(st.tuples(name, name, name, st.none() | name, label), max_size=8, unique=True))
    rows = [
        {"item": item, "system": system, "rater": rater, "pair": other and f"{system}:{other}", "aspect": aspect}
        for item, system, rater, other, aspect in keys
    ]
    rows = list({json.dumps(row): row for row in rows}.values())
    return Ratings.from_rows(row | {"score": draw(st.integers(1, 5))} for row in rows)


ENDINGS = ["csv", "tsv", "jsonl", "parquet", "csv.gz", "tsv.zst", "jsonl.zst", "json"]


@given(ratings(), st.sampled_from(ENDINGS))
def test_file_round_trip(before: Ratings, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"r.{ending}"
        before.write(path)
        after = Ratings.read(path)
    assert after == before
    assert after.source == str(path)


@given(ratings(), st.sampled_from(["polars", "pandas"]))
def test_frame_round_trip(before: Ratings, kind: Any) -> None:
    assert Ratings.from_frame(before.to_frame(kind)) == before


@given(ratings(), st.randoms())
def test_means_are_exact_and_do_not_depend_on_the_order_of_rows(before: Ratings, random: Any) -> None:
    rows = before.to_frame().to_dicts()
    random.shuffle(rows)
    after = Ratings.from_rows(rows)
    by_output: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        by_output.setdefault((row["item"], row["system"]), []).append(row["score"])
    assert after.means() == before.means() == {key: Fraction(sum(s), len(s)) for key, s in by_output.items()}
    assert after.counts() == before.counts() == {key: len(scores) for key, scores in by_output.items()}
    assert after.weights() == before.weights() == {key: weight_from_ratings(s) for key, s in by_output.items()}


ROWS = [
    {"item": "1", "system": "A", "rater": "ann", "score": 4, "pair": "A:B", "aspect": "style"},
    {"item": "1", "system": "B", "rater": "ann", "score": 2, "pair": "A:B", "aspect": "style"},
    {"item": "1", "system": "A", "rater": "ann", "score": 5, "pair": "A:C", "aspect": "style"},
    {"item": "1", "system": "A", "rater": "ann", "score": 1, "pair": "A:B", "aspect": "facts"},
]


def test_columns() -> None:
    found = Ratings.from_rows(ROWS)
    assert found.item == ("1",) * 4
    assert found.score == (4, 2, 5, 1)
    assert found.pair == ("A:B", "A:B", "A:C", "A:B")
    assert len(found) == 4
    assert repr(found) == "<Ratings from ratings: 4 of 2 outputs>"
    assert found.means() == {("1", "A"): Fraction(10, 3), ("1", "B"): Fraction(2)}
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    with pytest.raises(AttributeError):
        found.item = ()  # type: ignore[misc]


def test_select() -> None:
    found = Ratings.from_rows(ROWS)
    assert found.select(aspect="style").score == (4, 2, 5)
    assert found.select(aspect="style", pair="A:B").score == (4, 2)
    assert found.select(system="B").means() == {("1", "B"): Fraction(2)}
    assert found.select() == found
    with pytest.raises(DataError, match=r"^ratings has no ratings of the aspect 'stile'; did you mean style\?$"):
        found.select(aspect="stile")
    with pytest.raises(DataError, match=r"^ratings has no ratings of the pair 'A:B'; its ratings have no pair$"):
        Ratings(["1"], ["A"], ["r"], [1]).select(pair="A:B")


def test_nothing_rated() -> None:
    empty = Ratings.from_rows([])
    assert (len(empty), empty.means(), empty.counts(), empty.weights()) == (0, {}, {}, {})


def test_numbers_as_names_and_numpy_scores() -> None:
    scores: Any = np.array([1, 5], dtype=np.int8)
    wrong: Any = [7, 8]
    found = Ratings(wrong, ["A", "A"], wrong, scores)
    assert (found.item, found.rater, found.score) == (("7", "8"), ("7", "8"), (1, 5))
    assert {type(score) for score in found.score} == {int}


def test_another_scale() -> None:
    found = Ratings(["1", "2", "3"], ["A"] * 3, ["r"] * 3, [100, 0, 62.5], scale=(0, 100))
    assert found.means()["1", "A"] == Fraction(100)
    assert list(found.weights().values()) == [1.0, -1.0, 0.25]
    half = Ratings(["1"], ["A"], ["r"], [0.3], scale=(0.1, 0.5))
    assert half.weights() == {("1", "A"): 0.0}, "exactly: in floating point it is not"
    wrong: Any
    for wrong in ((5, 1), (1,), "15", (1, math.inf), (1, math.nan)):
        with pytest.raises(UsageError, match=r"a scale is its lowest and its highest score, such as \(1, 5\), not "):
            Ratings([], [], [], [], scale=wrong)


@pytest.mark.parametrize(
    ("scores", "scale", "said"),
    [
        ([1, 3.5, 5], (1, 5), None),
        ([0, 1, 1], (0, 1), "ratings: scores are on the scale 0:1"),
        ([-0.5, 0.25, 1], (-1, 1), "ratings: scores are on the scale -1:1"),
        ([-25, 0, -0.1], None, "ratings: scores from -25 to 0 are taken as they are, on no fixed scale"),
        ([-1.75, 0.333, 2.5], None, "ratings: scores from -1.75 to 2.5 are taken as they are, on no fixed scale"),
    ],
)
def test_the_scale_is_guessed_and_said(scores: list[float], scale: Any, said: str | None) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = Ratings(["1", "2", "3"], ["A"] * 3, ["r"] * 3, scores)
        one = found.select(system="A")  # nothing is guessed again
    assert found.scale == one.scale == scale
    assert [str(each.message) for each in told] == ([said] if said else [])
    if scale is None:
        with pytest.raises(UsageError, match=r"^ratings has scores without a worst and a best, .* --scale LOW:HIGH$"):
            found.weights()


def test_a_slip_is_no_other_scale() -> None:
    rows = [{"item": str(number), "system": "A", "rater": "r", "score": 4} for number in range(20)]
    rows[7]["score"] = 55
    with pytest.raises(DataError, match=r"^ratings: row 8: the score 55 is outside the scale from 1 to 5, on which"):
        Ratings.from_rows(rows)
    assert Ratings.from_rows(rows, scale=(0, 100)).score[7] == 55


def test_aspects_on_different_scales_are_not_averaged() -> None:
    rows = [("7", "A", "ann", 4, None, "style"), ("7", "A", "ann", 37.5, None, "seconds")]
    columns: Any = zip(*rows, strict=True)
    named: dict[str, Any] = dict(zip(("item", "system", "rater", "score", "pair", "aspect"), columns, strict=True))
    with pytest.raises(DataError, match=r"^ratings: style is rated from 1 to 5 and other aspects are not; judge by "):
        Ratings(**named)
    assert Ratings(**named, scale=(0, 100)).item_means() == {("7", "A"): Fraction(83, 4)}


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=30), st.randoms())
def test_means_of_decimals_are_exact(thousandths: list[int], random: Any) -> None:
    scores = [number / 1000 for number in thousandths]
    raters = [str(number) for number in range(len(scores))]
    columns: Any = [["7"] * len(scores), ["A"] * len(scores), raters, scores, None, None, (-1000, 1000)]
    found = Ratings(*columns).means()
    assert found == {("7", "A"): Fraction(sum(thousandths), 1000 * len(scores))}
    random.shuffle(scores)
    assert Ratings(*columns).means() == found


@pytest.mark.parametrize("ending", ENDINGS)
def test_fractions_in_files(tmp_path: Path, ending: str) -> None:
    before = Ratings(["1", "2"], ["A", "A"], ["r", "r"], [0.1, Decimal("-3.25")], scale=(-25, 1))  # type: ignore[list-item]
    assert before.score == (Fraction(1, 10), Fraction(-13, 4))
    before.write(tmp_path / f"r.{ending}")
    assert Ratings.read(tmp_path / f"r.{ending}", scale=(-25, 1)) == before
    for kind in ("polars", "pandas"):
        assert Ratings.from_frame(before.to_frame(kind), scale=(-25, 1)) == before


def test_the_name_of_a_system_may_hold_a_colon() -> None:
    assert Ratings(["1"], ["x:A"], ["r"], [1], ["x:A:B"]).pair == ("x:A:B",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 6}, "score must be a number from 1 to 5, not 6$"),
        ({"score": 0}, "score must be a number from 1 to 5, not 0$"),
        ({"score": 5.5}, r"score must be a number from 1 to 5, not 5\.5$"),
        ({"score": math.nan}, "score must be a number from 1 to 5, not nan$"),
        ({"score": "4"}, "score must be a number from 1 to 5, not '4'$"),
        ({"score": True}, "score must be a number from 1 to 5, not True$"),
        ({"score": None}, "score must be a number from 1 to 5, not null$"),
        ({"item": ""}, "item is empty; a rating names its item, its system and its rater$"),
        ({"system": None}, "system is empty; a rating names its item, its system and its rater$"),
        ({"rater": " "}, "rater is empty; a rating names its item, its system and its rater$"),
        ({"item": 1.5}, r"item must be a string, not the number 1\.5$"),
        ({"aspect": 3}, "aspect must be a string, not the number 3$"),
        ({"pair": "B:C"}, "the system 'A' is not one of the pair 'B:C'; write A:B$"),
        ({"pair": "A:"}, "the pair 'A:' names one system only; write A:B$"),
        (
            {"rater": "ann"},
            r"the rater 'ann' has rated this already at PLACE1 \(item '1', system 'A', pair 'A:B', aspect 'style'\);",
        ),
    ],
)
def test_row_error(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    rows = [ROWS[0], ROWS[0] | {"rater": "bob"} | change]
    with pytest.raises(DataError, match=f"^ratings: row 2: {message.replace('PLACE1', 'ratings: row 1')}"):
        Ratings.from_rows(rows, scale=(1, 5))
    columns: dict[str, Any] = {key: [row[key] for row in rows] for key in ROWS[0]}
    with pytest.raises(DataError, match=f"^ratings: row 2: {message.replace('PLACE1', 'ratings: row 1')}"):
        Ratings(**columns, scale=(1, 5))
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(rows[0]) + "\n\n" + json.dumps(rows[1]))
    with pytest.raises(DataError, match=rf"/r\.jsonl:3: {message.replace('PLACE1', '.*/r.jsonl:1')}") as caught:
        Ratings.read(path, scale=(1, 5))
    assert "\n" not in str(caught.value)


def test_a_row_that_lacks_something() -> None:
    wrong: Any = [("1", "A", "r", 4)]
    with pytest.raises(DataError, match=r"^ratings: row 1: a rating must be a mapping with the fields item, system, "):
        Ratings.from_rows(wrong)
    with pytest.raises(DataError, match=r"^ratings: the column rater must be there; columns found: item, system"):
        Ratings.from_rows([{"item": "1", "system": "A", "score": 4}])
    with pytest.raises(
        DataError, match=r"columns differ in length \(1 of item, 1 of system, 0 of rater, 1 of score\);"
    ):
        Ratings(["1"], ["A"], [], [4])


HEADER = "item,system,rater,score\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r" is empty; its first line must name the columns$"),
        ("\n\n", r" is empty; its first line must name the columns$"),
        (
            "item,rater,score\n",
            r": the first row: the column system must be there; columns found: item, rater, score; say which it ",
        ),
        (
            "1,A,ann,4\n",
            r": the first row: the column item must be there; columns found: 1, A, ann, 4; say which",
        ),
        ("ok, so\nwell\n", r":2: this line has 1 field but the first has 2; add what is missing"),
        ("item,system,rater,score,item\n", r":1: there are 2 columns item; leave only one of them$"),
        (HEADER + "1,A,ann,4\n\n1,A,bob\n", r":4: this line has 3 fields but the first has 4; add what is missing, "),
        (HEADER + "1,A,ann,0.99\n", r":2: score must be a number from 1 to 5, not 0\.99$"),
        (HEADER + "1,A,ann,3,5\n", r":2: this line has 5 fields but the first has 4; put a field "),
        (
            HEADER + '1,A,ann,"3,5"\n',
            ":2: score must be a number from 1 to 5, not '3,5'; write a point for the decimal",
        ),
        (HEADER + "1,A,ann,\n", r":2: score must be a number from 1 to 5, not ''$"),
        (HEADER + "1,A,ann,1_0\n", r":2: score must be a number from 1 to 5, not '1_0'$"),
        (HEADER + "1,A,ann,４\n", r":2: score must be a number from 1 to 5, not '４'$"),
        (HEADER + f"1,A,ann,{'1' * 5000}\n", r":2: score must be a number from 1 to 5, not '1111"),
        (HEADER + "1,A,,4\n", r":2: rater is empty;"),
        (HEADER + '1,A,"a\nb",4\n1,A,ann,9\n', r":4: score must be a number from 1 to 5, not 9$"),
        (HEADER + '1,A,"a\nb",9\n', r":2: score must be a number from 1 to 5, not 9$"),
        (HEADER + "1,A,ann,4\n1,A,ann,4\n", r":3: the rater 'ann' has rated this already at .*r\.csv:2 "),
        (HEADER + '1,A,"ann,4\n', r":2: this is not CSV: unexpected end of data; write the file again$"),
        (HEADER + '1,A,"a"b,4\n', r":2: this is not CSV: .*; write the file again$"),
    ],
)
def test_csv_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(DataError, match=rf"/r\.csv{message}") as caught:
        Ratings.read(path, scale=(1, 5))
    assert "\n" not in str(caught.value)


def test_csv_as_spreadsheets_write_it(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b'\xef\xbb\xbf rater , notes,item,system,score\r\n"ann","x, y",7,A, 4\r\nbob,,7,A,+5\r\n')
    found = Ratings.read(path)
    assert found == Ratings(["7", "7"], ["A", "A"], ["ann", "bob"], [4, 5])
    assert found.aspect is None


@pytest.mark.parametrize(
    "data",
    [
        b"item,system,rater,score\n1,A,r,4\n",
        b"item\tsystem\trater\tscore\n1\tA\tr\t4\n",
        b'{"item": 1, "system": "A", "rater": "r", "score": 4, "aspect": null}\n',
    ],
)
def test_names_that_tell_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    expected = Ratings(["1"], ["A"], ["r"], [4])
    (tmp_path / "ratings").write_bytes(zstandard.compress(data))
    assert Ratings.read(tmp_path / "ratings") == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "ascii"))
    assert Ratings.read("-") == expected


def test_a_tsv_by_its_name_and_a_parquet_by_its_bytes(tmp_path: Path) -> None:
    expected = Ratings(["1"], ["A"], ["r"], [4])
    (tmp_path / "r.tab").write_text("item\tsystem\trater\tscore\n1\tA\tr\t4\n")
    expected.to_frame().write_parquet(tmp_path / "r")
    assert Ratings.read(tmp_path / "r.tab") == Ratings.read(tmp_path / "r") == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": [4, None]}, "row 2: score must be a number from 1 to 5, not null$"),
        ({"score": [4.0, 5.1]}, r"row 2: score must be a number from 1 to 5, not 5\.1$"),
        ({"score": ["4", "5"]}, "row 1: score must be a number from 1 to 5, not '4'$"),
        ({"item": ["1", None]}, "row 2: item is empty;"),
        ({"rater": ["r", "r"]}, "row 2: the rater 'r' has rated this already at .*: row 1 "),
    ],
)
def test_frame_error(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    frame = pl.DataFrame({"item": ["1", "1"], "system": ["A", "A"], "rater": ["r", "s"], "score": [4, 5]} | change)
    with pytest.raises(DataError, match=f"^frame: {message}"):
        Ratings.from_frame(frame, scale=(1, 5))
    frame.write_parquet(tmp_path / "r.parquet")
    with pytest.raises(DataError, match=rf"/r\.parquet: {message}"):
        Ratings.read(tmp_path / "r.parquet", scale=(1, 5))


def test_columns_that_are_missing() -> None:
    frame = pd.DataFrame({"item": ["1"], "Rater": ["r"], "score": [4]})
    message = r"^frame: the column system must be there; columns found: item, Rater, score; say which it is"
    with pytest.raises(DataError, match=message):
        Ratings.from_frame(frame)


def test_names_that_cannot_be_written(tmp_path: Path) -> None:
    found = Ratings(["1\ud83d"], ["A"], ["r"], [4])
    with pytest.raises(DataError, match=r"r\.txt: .* let it end in \.csv, \.tsv, \.jsonl or \.parquet$"):
        found.write(tmp_path / "r.txt")
    for name in ("r.csv", "r.tsv", "r.parquet"):
        with pytest.raises(DataError, match=r"^item 1 .* holds half of a surrogate pair"):
            found.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    found.write(tmp_path / "r.jsonl")
    assert Ratings.read(tmp_path / "r.jsonl") == found


def test_the_packages_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Ratings(["1"], ["A"], ["r"], [4])
    found.write(tmp_path / "r.parquet")
    monkeypatch.setitem(sys.modules, "polars", None)
    for attempt in (lambda: Ratings.read(tmp_path / "r.parquet"), found.to_frame):
        with pytest.raises(MissingExtraError, match=r"pip install 'trubleu\[parquet\]'$"):
            attempt()


def test_a_real_file(real_data: Path) -> None:
    path = real_data / "dstc7" / "dstc7-task2-human-eval-per-judge.tsv"
    table = pd.read_csv(path, sep="\t", encoding="utf-8-sig")
    table = table.rename(columns={"JudgeID": "rater", "InstanceID": "item", "SystemID": "system"})
    # In 54 of its rows a judge rates an output again.
    table = table.drop_duplicates(["rater", "item", "system"])
    long = table.melt(["rater", "item", "system"], var_name="aspect", value_name="score")
    found = Ratings.from_frame(long)
    means = found.means()
    assert len(means) == len(table.groupby(["item", "system"]))
    for (item, system), group in list(long.groupby(["item", "system"])["score"])[:200]:
        assert means[item, system] == Fraction(int(group.sum()), len(group))
