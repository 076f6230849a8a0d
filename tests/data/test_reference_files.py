"""References read from files and written to them."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import Reference, References, Segment
from trubleu.errors import DataError, Notice
from trubleu.files.lines import read_text_lines


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="")
    return path


def weights_of(references: References) -> list[list[float | None]]:
    return [[each.weight for each in segment.references] for segment in references]


FULL = {
    "id": "7",
    "context": ["hi", "hello"],
    "message": "how are you?",
    "references": [
        {"id": "r1", "text": "fine", "weight": 0.75, "ratings": [5, 4], "origin": "seed", "scores": {"x": 1}},
        {"text": "", "weight": None, "ratings": [], "rank": 2},
        {"text": "never", "ratings": [1]},
    ],
    "extra": [1, 2],
}


@pytest.mark.parametrize("name", ["refs.jsonl", "refs.JSONL", "refs.ndjson", "refs.json", "refs.txt", "refs"])
@pytest.mark.parametrize("packed", [False, True])
def test_json_lines(tmp_path: Path, name: str, packed: bool) -> None:
    data = (json.dumps(FULL) + "\r\n\n" + '{"references": [{"text": "bye"}]}').encode()
    path = tmp_path / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(data) if packed else data)
    references = References.read(path)
    # The two ratings of the first have the variance 0.5, which is 0.125 in units of weights.
    answers = (Reference("fine", 0.75, "seed", 0.25), Reference("", None), Reference("never", -1.0, None, 0.125**0.5))
    assert list(references) == [
        Segment("7", answers, "how are you?", ("hi", "hello")),
        Segment(f"{path.name}:3", (Reference("bye", None),)),
    ]
    assert references.source == str(path)
    assert references.unrated().tolist() == [0, 1]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"references": [{"text": "a"}]}'), "ascii"))
    references = References.read("-")
    assert (references.texts, references.ids, references.source) == (("a",), ("<stdin>:1",), "<stdin>")


def test_integer_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", '{"id": 12, "references": [{"text": "a"}]}')
    assert References.read(path).ids == ("12",)


@pytest.mark.parametrize(
    ("items", "weights"),
    [
        (['{"text": "a"}', '{"text": "b"}'], None),
        (['{"text": "a", "weight": 1}', '{"text": "b"}'], [1.0, None]),
        (['{"text": "a"}', '{"text": "b", "ratings": [4, 3, 4]}'], [None, 1 / 3]),
        (['{"text": "a", "weight": null}', '{"text": "b"}'], [None, None]),
        (['{"text": "a", "ratings": []}', '{"text": "b", "ratings": null}'], [None, None]),
        (['{"text": "a", "weight": null, "ratings": [5]}', '{"text": "b", "weight": -1, "ratings": [1]}'], [1.0, -1.0]),
        (['{"text": "a", "weight": 0.333, "ratings": [4, 3, 4]}', '{"text": "b", "weight": 0}'], [0.333, 0.0]),
    ],
)
def test_weights_and_ratings(tmp_path: Path, items: list[str], weights: list[float | None] | None) -> None:
    references = References.read(write(tmp_path / "r.jsonl", *(f'{{"references": [{item}]}}' for item in items)))
    assert references.weighted() == (weights is not None)
    assert weights_of(references) == [[weight] for weight in weights or (None, None)]


@pytest.mark.parametrize("rounded", [0.062, 0.063])
def test_a_weight_rounded_either_way_agrees(tmp_path: Path, rounded: float) -> None:
    ratings = [3] * 7 + [4]  # 1/16
    item = json.dumps({"text": "a", "weight": rounded, "ratings": ratings})
    assert weights_of(References.read(write(tmp_path / "r.jsonl", f'{{"references": [{item}]}}'))) == [[rounded]]


def test_lone_surrogates(tmp_path: Path) -> None:
    references = References.read(write(tmp_path / "r.jsonl", r'{"references": [{"text": "\ud83d x"}]}'))
    assert references.texts == ("\ud83d x",)
    references.write(tmp_path / "again.jsonl")
    assert References.read(tmp_path / "again.jsonl").texts == references.texts


def line(**fields: Any) -> str:
    return json.dumps({"references": [{"text": "a"}]} | fields)


def items(*references: Any) -> str:
    return json.dumps({"references": references})


def deep() -> str:
    return "[" * 200_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"references": [}', "this is not JSON: Expecting value at column 17"),
        ("hello", "this is not JSON: Expecting value at column 1; every line must hold one JSON object"),
        (deep(), "this JSON cannot be read"),
        ('{"n": ' + "1" * 5000 + "}", "this JSON cannot be read"),
        ("[1]", "a line must hold one JSON object, not an array"),
        ("null", "a line must hold one JSON object, not null"),
        ("{}", "the field references is missing"),
        (line(references=None), "references must be an array of objects, each with a text, not null"),
        (line(references="a"), "references must be an array of objects, each with a text, not the string 'a'"),
        (line(references=[]), "references is empty"),
        (items(7), r"references\[0\] must be a string or an object with a \"text\", not the number 7"),
        (items({"text": "a"}, {}), r"references\[1\]\.text is missing"),
        (items({"text": None}), r"references\[0\]\.text must be a string, not null"),
        (items({"text": 3}), r"references\[0\]\.text must be a string, not the number 3"),
        (items({"text": "a", "origin": 3}), r"references\[0\]\.origin must be a string, not the number 3"),
        (items({"text": "a", "weight": 1.01}), r"references\[0\]\.weight must be from -1 to 1, not 1\.01"),
        (items({"text": "a", "weight": -2}), r"references\[0\]\.weight must be from -1 to 1, not -2"),
        (items({"text": "a", "weight": "1"}), r"references\[0\]\.weight must be a number .* null, not the string '1'"),
        (items({"text": "a", "weight": True}), r"references\[0\]\.weight must be a number .* or null, not true"),
        (items({"text": "a", "weight": float("nan")}), r"references\[0\]\.weight must .* not NaN; write null"),
        (items({"text": "a", "weight": float("inf")}), r"references\[0\]\.weight must be from -1 to 1, not inf"),
        (items({"text": "a", "ratings": [3, 6]}), r"references\[0\]\.ratings must be integers from 1 to 5, not 6"),
        (items({"text": "a", "ratings": [0]}), r"references\[0\]\.ratings must be integers from 1 to 5, not 0"),
        (items({"text": "a", "ratings": [4.0]}), r"references\[0\]\.ratings must be integers from 1 to 5, not 4\.0"),
        (items({"text": "a", "ratings": [True]}), r"references\[0\]\.ratings must be integers from 1 to 5, not True"),
        (items({"text": "a", "ratings": ["5"]}), r"references\[0\]\.ratings must be integers from 1 to 5, not '5'"),
        (items({"text": "a", "ratings": 4}), r"references\[0\]\.ratings must be an array .*, not the number 4"),
        (items({"text": "a", "ratings": ""}), r"references\[0\]\.ratings must be an array .*, not the string ''"),
        (items({"text": "a", "ratings": False}), r"references\[0\]\.ratings must be an array .*, not false"),
        (items({"text": "a", "weight": 0.33, "ratings": [4, 3, 4]}), r"\[0\]\.weight is 0\.33 but .* give 0\.333333"),
        (line(id=["x"]), "id must be a string, not an array"),
        (line(id=1.5), "id must be a string, not the number 1.5"),
        (line(id="first"), "the id 'first' is already used at .*r.jsonl:1"),
        (line(message=1), "message must be a string, not the number 1"),
        (line(context="hi"), "context must be an array of strings, one per turn, not the string 'hi'"),
        (line(context=["hi", {}]), r"context\[1\] must be a string, not an object"),
    ],
)
def test_json_error(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "r.jsonl", line(id="first"), text)
    with pytest.raises(DataError, match=rf"r\.jsonl:2: .*{message}") as caught:
        References.read(path)
    assert "\n" not in str(caught.value)


def test_broken_json_without_a_telling_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="refs:1: this is not JSON"):
        References.read(write(tmp_path / "refs", '{"references": ['))


def test_plain_text(tmp_path: Path) -> None:
    references = References.read(write(tmp_path / "refs.en", '{"a"}', "", "b\u2028c"))
    assert references.texts == ('{"a"}', "", "b\u2028c")
    assert references.offsets.tolist() == [0, 1, 2, 3]
    assert (references.weights, references.ids) == (None, ("1", "2", "3"))


@pytest.mark.parametrize("name", ["refs.jsonl", "refs.txt"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    assert len(References.read(write(tmp_path / name))) == 0


def test_parallel(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1", "a", "b", ""), write(tmp_path / "2", "c", "", "d")
    references = References.read_parallel([first, second])
    assert references.texts == ("a", "c", "b", "", "", "d")
    assert references.weights is None
    assert references.reference_counts().tolist() == [2, 2, 2]
    assert references.source == f"{first}, {second}"


def test_parallel_with_weights(tmp_path: Path) -> None:
    texts = [write(tmp_path / "1", "a", "b", ""), write(tmp_path / "2", "c", "ignored", "d")]
    weights = [write(tmp_path / "1.w", "1", " -0.5 ", "0"), write(tmp_path / "2.w", "1e-1", "", " ")]
    references = References.read_parallel(texts, weights)
    assert [[each.text for each in segment.references] for segment in references] == [["a", "c"], ["b"], [""]]
    assert weights_of(references) == [[1.0, 0.1], [-0.5], [0.0]]


def test_parallel_empty(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty")
    assert len(References.read_parallel([empty, empty], [empty, empty])) == 0


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("1.5", "must be from -1 to 1, not 1.5"),
        ("nan", "must be a number from -1 to 1, not NaN"),
        ("-inf", "must be from -1 to 1, not -inf"),
        ("good", "must be a number from -1 to 1, not 'good'; leave the line empty"),
        ("null", "must be a number from -1 to 1, not 'null'"),
    ],
)
def test_wrong_weight_line(tmp_path: Path, weight: str, message: str) -> None:
    texts, weights = write(tmp_path / "t", "a", "b"), write(tmp_path / "t.w", "1", weight)
    with pytest.raises(DataError, match=rf"t\.w:2: a weight {message}"):
        References.read_parallel([texts], [weights])


def test_parallel_lengths(tmp_path: Path) -> None:
    two, three = write(tmp_path / "two", "a", "b"), write(tmp_path / "three", "a", "b", "c")
    with pytest.raises(DataError, match=r"three has 3 lines but .*two has 2"):
        References.read_parallel([two, three])
    with pytest.raises(DataError, match=r"three has 3 lines but .*two has 2"):
        References.read_parallel([two], [three])


def test_parallel_numbers_of_files(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "1")
    with pytest.raises(DataError, match=r"2 files of references but 1 of weights \(.*a\)"):
        References.read_parallel([path, path], [path])
    with pytest.raises(DataError, match="no files of references"):
        References.read_parallel([])
    with pytest.raises(DataError, match="files must be given as a list, not as the string 'refs'"):
        References.read_parallel("refs")
    with pytest.raises(DataError, match="standard input"):
        References.read_parallel(["-"], ["-"])


def test_parallel_segment_without_a_reference(tmp_path: Path) -> None:
    texts = write(tmp_path / "t", "a", "b", "c")
    weights = write(tmp_path / "t.w", "", "1", "")
    with pytest.raises(DataError, match=r"t\.w: no reference has a weight on lines 1, 3;"):
        References.read_parallel([texts], [weights])


# JSON cannot keep a high and a low surrogate side by side apart from the character they spell.
any_text = st.text(st.characters(), max_size=8).map(
    lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
)
tricky = any_text | st.sampled_from(["\x85", "\u2028\u2029", "\r", "\n", "\ud83d", "\x00", '"', "\ufeff", "\x0b\x1c"])
segments = st.lists(
    st.tuples(
        st.lists(st.tuples(tricky, st.none() | st.floats(-1, 1), st.none() | tricky), min_size=1, max_size=4),
        st.none() | tricky,
        st.none() | st.lists(tricky, max_size=2).map(tuple),
    ),
    max_size=5,
)


@given(segments, st.booleans(), st.sampled_from(["r.jsonl", "r.jsonl.gz", "r.json.zst", "r.ndjson"]), st.data())
def test_round_trip(rows: list[Any], weighted: bool, name: str, data: st.DataObject) -> None:
    ids = data.draw(st.none() | st.lists(tricky, min_size=len(rows), max_size=len(rows), unique=True))
    flat = [each for references, _, _ in rows for each in references]
    offsets = [0]
    for references, _, _ in rows:
        offsets.append(offsets[-1] + len(references))
    before = References(
        [text for text, _, _ in flat],
        offsets,
        [float("nan") if weight is None else weight for _, weight, _ in flat] if weighted else None,
        ids=ids,
        origins=[origin for _, _, origin in flat],
        messages=[message for _, message, _ in rows],
        contexts=[context for _, _, context in rows],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        before.write(path)
        written = "\n".join(read_text_lines(path)).encode()
        after = References.read(path)
        assert len(list(Path(folder).iterdir())) == 1
    assert list(after) == list(before)
    assert after.weighted() == (weighted and len(rows) > 0)
    assert len(written.decode().splitlines()) == len(rows)  # even for tools that split lines at U+2028


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "r.jsonl", line(id="old"))
    references = References.from_lists([["a"], ["b"]])

    def interrupt(self: References, index: int) -> Segment:
        raise KeyboardInterrupt

    monkeypatch.setattr(References, "segment", interrupt)
    with pytest.raises(KeyboardInterrupt):
        references.write(path)
    monkeypatch.undo()
    assert References.read(path).ids == ("old",)
    assert [each.name for each in tmp_path.iterdir()] == ["r.jsonl"]


def test_raters_and_standard_errors(tmp_path: Path) -> None:
    path = tmp_path / "refs.jsonl"
    items = [{"text": "a", "ratings": [5, 4], "raters": ["x", "y"]}, {"text": "b", "weight": 0.5, "weight_se": 0.125}]
    path.write_text(json.dumps({"references": items}))
    references = References.read(path)
    assert references.ratings == ((("x", 1.0), ("y", 0.5)), None)
    assert references.weight_errors is not None
    assert references.weight_errors.tolist() == [0.25, 0.125]
    assert references.take([0], [False, True]).weight_errors is not None
    for name in ("again.jsonl", "again.parquet"):
        references.write(tmp_path / name)
        again = References.read(tmp_path / name)
        assert again.weight_errors is not None
        assert again.weight_errors.tolist() == [0.25, 0.125]
    prepared = tmp_path / "refs.tbp"
    references.prepare().save(prepared)
    errors = References.read(prepared).weight_errors
    assert errors is not None
    assert errors.tolist() == [0.25, 0.125]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"weight": 0, "weight_se": -0.1},
            r"references\[0\]\.weight_se must be a number from 0 to 1 or null, not -0\.1",
        ),
        ({"weight": 0, "weight_se": "x"}, r"weight_se must be a number from 0 to 1 or null, not"),
        ({"ratings": [5, 4], "raters": ["x"]}, "raters must be an array of 2 strings, one for each rating"),
        ({"ratings": [5, 4], "raters": ["x", "x"]}, "raters names somebody twice"),
    ],
)
def test_wrong_raters_and_standard_errors(item: dict[str, object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "refs.jsonl"
    path.write_text(json.dumps({"references": [{"text": "a", **item}]}))
    with pytest.raises(DataError, match=message):
        References.read(path)


def test_columns_of_raters_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "refs.csv"
    path.write_text("id,text,r1,r2\n1,a,5,4\n1,b,3,\n")
    with pytest.warns(Notice, match="on the scale 1:5"):
        references = References.read(path)
    assert references.ratings == ((("r1", 1.0), ("r2", 0.5)), (("r1", 0.0),))
    assert references.weight_errors is not None
    assert references.weight_errors.round(4).tolist() == [0.25, 0.3536]


@pytest.mark.parametrize(
    ("table", "ratings"),
    [
        ("id,text,r1,r2\n1,a,5,\n1,b,,\n", ((("r1", 1.0),), None)),
        ("id,text,score\n1,a,5\n1,b,2\n", None),  # of nobody known
    ],
)
def test_texts_that_nobody_known_rated(table: str, ratings: object, tmp_path: Path) -> None:
    path = tmp_path / "refs.csv"
    path.write_text(table)
    with pytest.warns(Notice, match="on the scale 1:5"):
        assert References.read(path).ratings == ratings
