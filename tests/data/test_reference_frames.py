"""References and outputs in Parquet files and in frames of Polars and pandas."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import Outputs, Reference, References, Segment, read_outputs
from trubleu.errors import DataError, MissingExtraError, UsageError

NAN = float("nan")
SURROGATES = st.characters(exclude_categories=["Cs"])
text = st.text(SURROGATES, max_size=6) | st.sampled_from(["", "\x00", "\r\n", "\u2028", "null", "NaN"])
segments = st.lists(
    st.tuples(
        st.lists(st.tuples(text, st.none() | st.floats(-1, 1), st.none() | text), min_size=1, max_size=4),
        st.none() | text,
        st.none() | st.lists(text, max_size=2).map(tuple),
    ),
    max_size=5,
)


@st.composite
def references(draw: st.DrawFn) -> References:
    rows = draw(segments)
    flat = [each for items, _, _ in rows for each in items]
    weights = [NAN if weight is None else weight for _, weight, _ in flat]
    return References(
        [each for each, _, _ in flat],
        np.cumsum([0] + [len(items) for items, _, _ in rows]),
        weights if draw(st.booleans()) else None,
        ids=draw(st.none() | st.lists(text, min_size=len(rows), max_size=len(rows), unique=True)),
        origins=[origin for _, _, origin in flat],
        messages=[message for _, message, _ in rows],
        contexts=[context for _, _, context in rows],
    )


def same(after: References, before: References) -> None:
    assert list(after) == list(before)
    assert after.weighted() == (before.weighted() and len(before) > 0)


@given(references(), st.sampled_from(["r.parquet", "r.pq"]))
def test_parquet_round_trip(before: References, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        before.write(path)
        assert [each.name for each in Path(folder).iterdir()] == [name]
        same(References.read(path), before)


@given(references(), st.sampled_from(["polars", "pandas"]), st.booleans())
def test_frame_round_trip(before: References, kind: Any, long: bool) -> None:
    frame = before.to_frame(kind, long=long)
    assert len(frame) == (before.count if long else len(before))
    same(References.from_frame(frame), before)


@given(references(), st.randoms())
def test_rows_of_a_segment_need_not_stand_together(before: References, random: Any) -> None:
    frame = before.to_frame(long=True)
    order = list(range(frame.height))
    random.shuffle(order)
    after = References.from_frame(frame[order])
    # First-seen order, of segments and of references within them.
    rows = [frame.row(index, named=True) for index in order]
    expected: dict[str, list[str]] = {}
    for row in rows:
        expected.setdefault(row["id"], []).append(row["text"])
    assert {each.id: [item.text for item in each.references] for each in after} == expected
    assert after.ids == tuple(expected)


FULL = [
    {
        "id": 7,
        "context": ["hi"],
        "message": "how?",
        "references": [
            {"text": "fine", "weight": 0.75, "ratings": [5, 4], "origin": "seed", "rank": 1},
            {"text": "", "weight": None, "ratings": [], "origin": None, "rank": 2},
            {"text": "never", "weight": None, "ratings": [1], "origin": None, "rank": None},
        ],
        "extra": 1.5,
    },
    {"id": 8, "references": [{"text": "b", "weight": 1, "ratings": None}]},
]
EXPECTED = [
    Segment(
        "7",
        (Reference("fine", 0.75, "seed", 0.25), Reference("", None), Reference("never", -1.0, None, 0.125**0.5)),
        "how?",
        ("hi",),
    ),
    Segment("8", (Reference("b", 1.0),)),
]


def test_all_fields(tmp_path: Path) -> None:
    frame = pl.DataFrame(FULL)
    assert list(References.from_frame(frame)) == EXPECTED
    assert list(References.from_frame(pd.DataFrame(FULL))) == EXPECTED
    long = frame.explode("references").unnest("references")
    assert list(References.from_frame(long)) == EXPECTED
    for name, each in (("nested.parquet", frame), ("long.parquet", long)):
        each.write_parquet(tmp_path / name)
        read = References.read(tmp_path / name)
        assert list(read) == EXPECTED
        assert read.source == str(tmp_path / name)


def test_nested_arrays_as_pandas_reads_them() -> None:
    items = np.array([{"text": "a", "weight": np.float64(0.5), "ratings": np.array([4, 4])}, {"text": "b"}], object)
    frame = pd.DataFrame({"references": [items], "context": [np.array(["x", "y"], object)]})
    assert list(References.from_frame(frame)) == [
        Segment("1", (Reference("a", 0.5, None, 0.0), Reference("b", None)), None, ("x", "y"))
    ]


def test_ids_that_are_not_there(tmp_path: Path) -> None:
    frame = pl.DataFrame({"references": [[{"text": "a"}], [{"text": "b"}]]})
    assert References.from_frame(frame).ids == ("1", "2")
    frame.write_parquet(tmp_path / "r.parquet")
    assert References.read(tmp_path / "r.parquet").ids == ("r.parquet:1", "r.parquet:2")


def test_missing_weights_of_pandas_are_not_rated_yet() -> None:
    frame = pd.DataFrame({"id": ["a", "a"], "text": ["x", "y"], "weight": [NAN, 0.5]})
    assert References.from_frame(frame)[0].references == (Reference("x", None), Reference("y", 0.5))
    frame["weight"] = pd.array([None, 1], dtype="Int64")
    assert References.from_frame(frame)[0].references == (Reference("x", None), Reference("y", 1.0))


def test_weights_of_pandas_are_numbers_even_if_nothing_is_rated() -> None:
    frame = References.from_lists([["a", "b"]], [[None, None]]).to_frame("pandas", long=True)
    assert frame["weight"].dtype == "float64"


def test_messages_of_a_segment_may_be_given_once() -> None:
    frame = pl.DataFrame({"id": ["a", "a", "a"], "text": ["x", "y", "z"], "message": [None, "m", "m"]})
    assert References.from_frame(frame)[0].message == "m"


def test_parquet_without_a_telling_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    pl.DataFrame({"id": ["a"], "text": ["x"]}).write_parquet(buffer)
    (tmp_path / "refs").write_bytes(buffer.getvalue())
    (tmp_path / "refs.parquet.gz").write_bytes(gzip.compress(buffer.getvalue()))
    for path in (tmp_path / "refs", tmp_path / "refs.parquet.gz"):
        assert References.read(path).texts == ("x",)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(buffer.getvalue()), "ascii"))
    assert References.read("-").ids == ("a",)


def nested(*items: Any) -> pl.DataFrame:
    return pl.DataFrame({"id": ["0", "1"], "references": [[{"text": "fine"}], list(items)]}, strict=False)


def rows(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"id": ["0", "1"], "text": ["a", "b"]} | columns)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame({"a": [1], "b": [2]}), r"a column references .* or text .* must be there; columns found: a, b$"),
        (pl.DataFrame(), "a column references .* must be there; columns found: none$"),
        (pl.DataFrame({"text": ["a"]}), "the column id must be there; columns found: text$"),
        (rows(text=["a", None]), "row 2: text must be a string, not null$"),
        (rows(text=[1, 2]), "row 1: text must be a string, not the number 1$"),
        (rows(text=[b"a", b"b"]), "row 1: text must be a string, not b'a'$"),
        (rows(weight=["1", "0"]), "row 1: weight must be a number from -1 to 1 or null, not the string '1'$"),
        (rows(weight=[True, None]), "row 1: weight must be a number from -1 to 1 or null, not true$"),
        (rows(weight=[1.0, 1.5]), r"row 2: weight must be from -1 to 1, not 1\.5;"),
        (rows(weight=[1.0, NAN]), "row 2: weight must be a number from -1 to 1, not NaN; write null"),
        (rows(ratings=[[1], [6]]), "row 2: ratings must be integers from 1 to 5, not 6$"),
        (rows(ratings=[[4.0], []]), r"row 1: ratings must be integers from 1 to 5, not 4\.0$"),
        (rows(ratings=[4, 5]), "row 1: ratings must be an array of integers from 1 to 5, not the number 4$"),
        (rows(ratings=[[5], [5]], weight=[1, 0]), "row 2: weight is 0 but its ratings give 1; correct one of them"),
        (rows(origin=[1, 2]), "row 1: origin must be a string, not the number 1$"),
        (rows(id=["a", None]), "row 2: the id is empty; every row names the segment that its text belongs to$"),
        (rows(id=[1.5, 2.5]), r"row 1: id must be a string, not the number 1\.5$"),
        (rows(message=[1, 2]), "row 1: message must be a string, not the number 1$"),
        (rows(context=["a", "b"]), "row 1: context must be an array of strings, one per turn, not the string 'a'$"),
        (rows(id=["x", "x"], message=["a", "b"]), "row 2: message is not that of .*row 1, which has the same id;"),
        (nested({"text": None}), r"row 2: references\[0\]\.text must be a string, not null$"),
        (nested({"text": "a"}, {"text": "b", "weight": 2.0}), r"row 2: references\[1\]\.weight must be from -1 to 1"),
        (
            nested({"text": "a"}, None),
            r"row 2: references\[1\] must be a string or an object with a \"text\", not null$",
        ),
        (nested(), "row 2: references is empty; give every segment at least one reference or leave it out$"),
        (pl.DataFrame({"references": [None, [{"text": "a"}]]}), "row 1: references must be an array .*, not null$"),
        (pl.DataFrame({"references": ["a"]}), "row 1: references must be an array of objects.*, not the string 'a'$"),
        (
            pl.DataFrame({"references": [[7]]}),
            r"row 1: references\[0\] must be a string or an object .*, not the number 7$",
        ),
        (pl.DataFrame({"references": [[{"x": "a"}]]}), r"row 1: references\[0\]\.text is missing;"),
        (
            pl.DataFrame({"id": ["x", "x"], "references": [[{"text": "a"}]] * 2}),
            "row 2: the id 'x' is already used at .*: row 1; every segment needs its own$",
        ),
    ],
)
def test_reference_error(tmp_path: Path, frame: pl.DataFrame, message: str) -> None:
    frame.write_parquet(tmp_path / "r.parquet")
    with pytest.raises(DataError, match=rf"/r\.parquet: {message}") as caught:
        References.read(tmp_path / "r.parquet")
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match=f"^frame: {message}"):
        References.from_frame(frame)


@pytest.mark.parametrize("nothing", [None, NAN, pd.NA])
def test_missing_texts_of_pandas(nothing: Any) -> None:
    message = "^frame: row 2: text must be a string, not null$"
    frame = pd.DataFrame({"id": ["a", "b"], "text": ["x", nothing]})
    with pytest.raises(DataError, match=message):
        References.from_frame(frame)
    with pytest.raises(DataError, match=message):
        Outputs.from_frame(frame, References.from_lists([["x"], ["y"]], ids=["a", "b"]), name="s")


def test_no_frame() -> None:
    wrong: Any
    for wrong, message in (
        ({"id": ["a"]}, "a frame must be a Polars or pandas DataFrame, not 'dict'$"),
        (pl.LazyFrame({"id": ["a"]}), r"not 'LazyFrame'; call its collect\(\) first$"),
    ):
        with pytest.raises(DataError, match=message):
            References.from_frame(wrong)


def test_a_column_twice() -> None:
    frame = pd.DataFrame([["a", "x", "y"]], columns=["id", "text", "text"])
    with pytest.raises(DataError, match=r"^frame: there are 2 columns text; leave only one of them$"):
        References.from_frame(frame)


def test_other_columns_do_no_harm() -> None:
    frame = pd.DataFrame([["a", "x", 1, 2, 3]], columns=["id", "text", "n", "n", 5], index=["label"])
    assert References.from_frame(frame).texts == ("x",)


def test_a_kind_that_is_not_there() -> None:
    wrong: Any = "polar"
    with pytest.raises(UsageError, match="there is no frame of the kind 'polar'; did you mean polars"):
        References.from_lists([["a"]]).to_frame(wrong)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"texts": ["a\ud83d"]}, r"reference 1 \('a\\ud83d'\)"),
        ({"ids": ["\ud83d"]}, "id 1 "),
        ({"origins": ["\ud83d"]}, "origin 1 "),
        ({"messages": ["\ud83d"]}, "message 1 "),
        ({"contexts": [("a", "\ud83d")]}, "turn 2 "),
    ],
)
def test_lone_surrogates_are_for_json_lines_only(tmp_path: Path, fields: Any, what: str) -> None:
    before = References(**({"texts": ["a"], "offsets": [0, 1]} | fields))
    message = f"^{what}.*holds half of a surrogate pair, which only JSON lines can hold; write a .jsonl file"
    for attempt in (lambda: before.write(tmp_path / "r.parquet"), lambda: before.to_frame("pandas")):
        with pytest.raises(DataError, match=message):
            attempt()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("r.txt", r"r\.txt: the name does not show a format; let it end in \.jsonl or \.parquet$"),
        ("r.csv", r"r\.csv: csv cannot be written here; let it end in \.jsonl or \.parquet$"),
        ("r.parquet.zst", r"r\.parquet\.zst: Parquet is compressed inside; leave \.zst off its name$"),
        ("no/r.parquet", "there is no folder .*no; create it first$"),
    ],
)
def test_names_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        References.from_lists([["a"]]).write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_standard_output_gets_json_lines(capfd: pytest.CaptureFixture[str]) -> None:
    References.from_lists([["a"]]).write("-")
    assert capfd.readouterr().out == '{"id": "1", "references": [{"text": "a"}]}\n'


def test_not_parquet(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    for data in (b"", b"hello", b'{"references": []}'):
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"r\.parquet is not a Parquet file, though its name says so; rename it"):
            References.read(path)


def test_damaged_parquet(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    References.from_lists([["a", "b"]] * 100).write(path)
    whole = path.read_bytes()
    for data in (whole[:4], whole[:-1], whole[: len(whole) // 2], whole[:20] + whole[-20:]):
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"r\.parquet: the Parquet data is damaged or ends early; copy or write"):
            References.read(path)


def test_a_name_is_not_a_pattern(tmp_path: Path) -> None:
    References.from_lists([["a"]]).write(tmp_path / "r1.parquet")
    with pytest.raises(DataError, match="there is no such file"):
        References.read(tmp_path / "r*.parquet")


@pytest.mark.parametrize("columns", [{"id": ["y", "x"], "text": ["2", "1"]}, {"text": ["1", "2"]}])
def test_outputs(tmp_path: Path, columns: dict[str, list[str]]) -> None:
    expected = References.from_lists([["a"], ["b"]], ids=["x", "y"])
    pl.DataFrame(columns).write_parquet(tmp_path / "system.parquet")
    (outputs,) = read_outputs([str(tmp_path / "system.parquet")], expected)
    assert (outputs.name, outputs.texts) == ("system", ["1", "2"])
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns)):
        assert Outputs.from_frame(frame, expected, name="s") == Outputs("s", ["1", "2"], "")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": ["x", "y"]}, ": the column text must be there; columns found: id$"),
        ({"id": ["x", "y"], "text": ["1", None]}, ": row 2: text must be a string, not null$"),
        ({"text": ["1", None]}, ": row 2: text must be a string, not null$"),
        ({"text": [1, 2]}, ": row 1: text must be a string, not the number 1$"),
        ({"text": ["1"]}, " has 1 row but refs has 2 segments; outputs need one row per segment$"),
        ({"id": ["x", None], "text": ["1", "2"]}, ": row 2: the field id is missing;"),
        ({"id": ["x", "z"], "text": ["1", "2"]}, ": row 2: the id 'z' is not in refs; known: x, y"),
        ({"id": ["x", "x"], "text": ["1", "2"]}, ": row 2: the id 'x' was already used above;"),
        ({"id": ["x"], "text": ["1"]}, " has no output for y; give one for each id of refs"),
    ],
)
def test_outputs_error(tmp_path: Path, columns: Any, message: str) -> None:
    expected = References(["a", "b"], [0, 1, 2], ids=["x", "y"], source="refs")
    frame = pl.DataFrame(columns)
    frame.write_parquet(tmp_path / "o.parquet")
    with pytest.raises(DataError, match=rf"/o\.parquet{message}"):
        read_outputs([str(tmp_path / "o.parquet")], expected)
    with pytest.raises(DataError, match=f"^frame{message}"):
        Outputs.from_frame(frame, expected, name="s")


def test_the_packages_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = References.from_lists([["a"]])
    before.write(tmp_path / "r.parquet")
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    message = r"^a Parquet file or a Polars frame needs the package polars; .* pip install 'trubleu\[parquet\]'$"
    for attempt in (
        lambda: References.read(tmp_path / "r.parquet"),
        lambda: read_outputs([str(tmp_path / "r.parquet")], before),
        lambda: before.write(tmp_path / "new.parquet"),
        before.to_frame,
    ):
        with pytest.raises(MissingExtraError, match=message):
            attempt()
    assert not (tmp_path / "new.parquet").exists()
    with pytest.raises(MissingExtraError, match=r"^a pandas frame needs the package pandas; .* pip install 'pandas'$"):
        before.to_frame("pandas")
    wrong: Any = {}
    with pytest.raises(DataError, match="a frame must be a Polars or pandas DataFrame"):
        References.from_frame(wrong)


def test_nothing_optional_is_imported_before_it_is_needed() -> None:
    code = "import sys, trubleu.data; print(sorted({'polars', 'pandas', 'zstandard', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
