"""Prepared references in files: the same as those in memory, or an error."""

from __future__ import annotations

import copy
import json
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trubleu
from trubleu.data import References
from trubleu.data import prepared as prepared_file
from trubleu.data.prepared import KIND, PreparedFile
from trubleu.data.reference_files import Columns
from trubleu.errors import DataError, TrubleuError, TrubleuWarning, UsageError
from trubleu.files import arrays as array_file
from trubleu.files.arrays import ArrayFile, write_arrays
from trubleu.native import kernels
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

METRICS = (
    "bleu-4",
    "sbleu-4",
    "dbleu-2",
    "sdbleu-3",
    "chrf",
    "ter",
    "bleu-4[tokenize=chat]",
    "dbleu-2[lowercase=true]",
)
OUTPUTS = ["the food was great , really", "it was loud", "a tremendously-long-word here"]
REFERENCES = References(
    ["the food was great", "i do not know", "it was loud", "it was loud", "", "a tremendously-long-word"],
    [0, 2, 5, 6],
    [1.0, -0.5, 0.8, 0.6, 0.25, 1.0],
    ids=["x", "ÿ", "z"],
    origins=["seed", None, "mined", "mined", None, "seed"],
    messages=["how was it?", None, ""],
    contexts=[("hi", "\ud800 hello"), None, ()],
    source="memory",
)

any_text = st.text(st.characters(exclude_categories=()), max_size=12)
words = st.lists(st.sampled_from(["a", "b", "the", "longer-than-eight", "Ünïcode", ".", "\ud83d"]), max_size=8).map(
    " ".join
)


@st.composite
def any_references(draw: st.DrawFn) -> References:
    """Return references with everything that a file can hold, or with some of it."""
    rows = draw(st.lists(st.lists(any_text | words, min_size=1, max_size=3), max_size=5))
    texts = [text for row in rows for text in row]

    def column(items: st.SearchStrategy[Any], count: int, *, unique: bool = False) -> Any:
        return draw(st.none() | st.lists(items, min_size=count, max_size=count, unique=unique))

    weights = column(st.none() | st.floats(-1, 1), len(texts))
    return References(
        texts,
        np.cumsum([0, *map(len, rows)]),
        None if weights is None else np.array(weights, dtype=np.float64),
        ids=column(any_text, len(rows), unique=True),
        origins=column(st.none() | any_text, len(texts)),
        messages=column(st.none() | any_text, len(rows)),
        contexts=column(st.none() | st.lists(any_text, max_size=3).map(tuple), len(rows)),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prepared")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "refs.tbp"
    REFERENCES.prepare().save(path)
    return path


def everything(references: References) -> tuple[Any, ...]:
    """Return all that references hold and some of what is computed from them, to be compared."""
    columns = references._columns()
    offsets, weights = columns.offsets.tolist(), None if columns.weights is None else columns.weights.tobytes()
    made = columns._replace(offsets=None, weights=None, source="", ids=None)  # type: ignore[arg-type]
    return made, offsets, weights, references.ids, references.empty_count(), references.duplicates()


def scores(references: References, metrics: tuple[str, ...] = METRICS) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        return {name: trubleu.corpus_score(OUTPUTS, references, name).score for name in metrics}


def message(call: Callable[[], object]) -> str:
    with pytest.raises(DataError) as caught:
        call()
    return str(caught.value)


# The same as in memory


@given(any_references(), st.sampled_from(["13a", "none", "intl", "char", "chat", "words"]), st.booleans())
def test_everything_comes_back(folder: Path, references: References, tokenize: str, lowercase: bool) -> None:
    path = folder / "round.tbp"
    prepared = references.prepare(tokenize=tokenize, lowercase=lowercase)
    prepared.save(path)
    opened = References.read(path)
    assert len(opened) == len(references)
    assert opened.count == references.count
    assert everything(opened) == everything(references)
    assert list(opened) == list(references)
    assert opened.source == str(path)
    kept = opened.prepared(tokenizer(tokenize), lowercase)
    assert kept is not None
    for name, array in prepared._kernel.arrays.items():
        np.testing.assert_array_equal(kept._kernel.arrays[name], array)
    assert opened.prepare(tokenize=tokenize, lowercase=lowercase) is kept


@given(any_references(), st.data())
@settings(max_examples=40)
def test_scores_are_equal(folder: Path, references: References, data: st.DataObject) -> None:
    path = folder / "scores.tbp"
    references.prepare().save(path)
    count = len(references)
    outputs = data.draw(st.lists(words | any_text, min_size=count, max_size=count))
    for name in ("bleu-4", "sbleu-2", "dbleu-2", "sdbleu-3", "bleu-2[tokenize=none]"):
        weighted = {"no_positive": "skip", "unrated_as": 0.1} if "d" in name else {}
        metric = trubleu.metric(name, **weighted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrubleuWarning)
            there = metric.statistics(outputs, References.read(path))
            np.testing.assert_array_equal(there, metric.statistics(outputs, references))


def test_all_metrics(path: Path) -> None:
    expected = scores(REFERENCES)
    assert scores(References.read(path)) == expected
    for name, score in expected.items():
        assert scores(References.read(path), (name,)) == {name: score}


def test_signatures_are_the_same(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        for name in METRICS:
            there, here = (trubleu.corpus_score(OUTPUTS, each, name) for each in (References.read(path), REFERENCES))
            assert there.signature == here.signature


def test_warnings_are_the_same_and_name_the_file(path: Path) -> None:
    with pytest.warns(TrubleuWarning) as told:
        trubleu.corpus_score(OUTPUTS, References.read(path), "dbleu-2")
    with pytest.warns(TrubleuWarning) as expected:
        trubleu.corpus_score(OUTPUTS, REFERENCES, "dbleu-2")
    renamed = [str(each.message).replace(REFERENCES.source, str(path)) for each in expected]
    assert [str(each.message) for each in told] == renamed
    assert len(renamed) == 2


def test_scoring_with_the_prepared_tokens_reads_no_texts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_self: object) -> tuple[str, ...]:
        raise AssertionError("the texts were read")

    monkeypatch.setattr(PreparedFile, "texts", property(read), raising=False)
    assert scores(References.read(path), ("bleu-4", "dbleu-2")) == scores(REFERENCES, ("bleu-4", "dbleu-2"))
    with pytest.raises(AssertionError, match="were read"):
        scores(References.read(path), ("bleu-4[tokenize=chat]",))


def test_several_names_but_one_format(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "refs.jsonl"
    other.write_bytes(path.read_bytes())
    assert everything(References.read(other)) == everything(REFERENCES)


def test_it_can_be_written_again(path: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tbp"
    References.read(path).prepare().save(again)
    assert again.read_bytes() == path.read_bytes()
    References.read(path).prepare().save(path)  # over itself: what is mapped stays as it was
    assert again.read_bytes() == path.read_bytes()


def test_what_is_in_use_survives_its_file(path: Path) -> None:
    opened = References.read(path)
    References.from_lists([["other"]]).prepare().save(path)
    assert everything(opened) == everything(REFERENCES)
    path.unlink()
    assert scores(opened) == scores(REFERENCES)


def test_what_else_can_be_done_with_it(path: Path, tmp_path: Path) -> None:
    opened = References.read(path)
    assert everything(opened.take([2, 0])) == everything(REFERENCES.take([2, 0]))
    assert everything(pickle.loads(pickle.dumps(opened))) == everything(REFERENCES)  # noqa: S301
    assert everything(copy.deepcopy(References.read(path))) == everything(REFERENCES)
    assert opened.segment(-1) == REFERENCES.segment(-1)
    assert opened.positions() == REFERENCES.positions()
    assert repr(opened) == f"<References from {path}: 3 segments, 6 references, weighted>"
    References.read(path).write(tmp_path / "refs.jsonl")
    assert everything(References.read(tmp_path / "refs.jsonl")) == everything(REFERENCES)
    with pytest.raises(AttributeError, match="no attribute '_nothing'"):
        opened._nothing  # type: ignore[attr-defined]  # noqa: B018


def test_a_file_has_every_column(path: Path) -> None:
    file = PreparedFile(path)
    assert all(hasattr(file, name) for name in Columns._fields)


def test_default_ids_take_no_room(tmp_path: Path) -> None:
    path = tmp_path / "refs.tbp"
    References.from_lists([["a"], ["b"]]).prepare().save(path)
    assert "segment_ids_begins" not in ArrayFile(path, KIND).lengths
    assert References.read(path).ids == ("1", "2")
    References.from_lists([["a"], ["b"]], ids=["2", "1"]).prepare().save(path)
    assert References.read(path).ids == ("2", "1")


def test_equal_origins_are_one_object(path: Path) -> None:
    origins = References.read(path).origins
    assert origins is not None
    assert origins[2] is origins[3]


# Making it


def test_a_function_cannot_be_saved(tmp_path: Path) -> None:
    prepared = REFERENCES.prepare(tokenize=str.split)
    with pytest.raises(UsageError, match=r"the tokenizer str\.split is a function .* has a name"):
        prepared.save(tmp_path / "refs.tbp")
    assert not list(tmp_path.iterdir())


def test_progress_adds_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "_BLOCK", 1000)
    references = References.from_lists([["some words here"]] * 40_000)
    for work in (
        lambda tell: references.prepare(progress=tell),
        lambda tell: references.prepare().save(tmp_path / "refs.tbp", progress=tell),
    ):
        seen: list[int] = []
        work(seen.append)
        assert sum(seen) == 40_000
        assert len(seen) > 2


def test_a_file_appears_whole_or_not_at_all(path: Path) -> None:
    def interrupt(_done: int) -> None:
        raise KeyboardInterrupt

    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        References.from_lists([["other"]]).prepare().save(path, progress=interrupt)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert "no such" not in message(lambda: REFERENCES.prepare().save(path / "there.tbp"))


def test_the_same_references_give_the_same_bytes(path: Path, tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(REFERENCES)).prepare().save(tmp_path / "again")  # noqa: S301
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_the_layout_is_the_documented_one(path: Path) -> None:
    data = path.read_bytes()
    magic, checksum, version, length = struct.unpack_from("<8sQII", data)
    assert (magic, version) == (b"\x89TBP\r\n\x1a\n", 3)
    header = json.loads(data[24 : 24 + length])
    start = -(-(24 + length) // 64) * 64
    assert kernels.checksum(np.frombuffer(data[16:start], np.uint8)) == checksum
    assert header["made_by"] == f"trubleu {trubleu.__version__}"
    assert {name: header[name] for name in ("tokenizer", "lowercase", "segments", "references")} == {
        "tokenizer": "13a",
        "lowercase": False,
        "segments": 3,
        "references": 6,
    }
    for entry in header["arrays"]:
        assert entry["offset"] % 64 == 0
        assert np.dtype(entry["dtype"]).str == entry["dtype"]
    arrays = {
        entry["name"]: np.frombuffer(data, entry["dtype"], entry["length"], start + entry["offset"])
        for entry in header["arrays"]
    }
    np.testing.assert_array_equal(arrays["weights"], REFERENCES.weights)
    np.testing.assert_array_equal(arrays["reference_begins"], REFERENCES.offsets)
    assert arrays["texts_bytes"].tobytes().decode() == "".join(REFERENCES.texts)


# Files that cannot be used

REMEDY = "prepare the references again with trubleu refs prepare"


@settings(max_examples=400)
@given(st.data())
def test_a_changed_byte_never_changes_a_number(folder: Path, data: st.DataObject) -> None:
    path = folder / "flipped.tbp"
    REFERENCES.prepare().save(path)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)

    def use() -> None:
        opened = References.read(path)
        assert everything(opened) == everything(REFERENCES)
        assert scores(opened, ("bleu-4", "dbleu-2")) == scores(REFERENCES, ("bleu-4", "dbleu-2"))

    # Every byte is covered by a checksum.
    assert message(use).startswith(str(path))


def test_a_file_that_ends_early(path: Path) -> None:
    content = path.read_bytes()
    for size in [*range(1, 64), *range(64, len(content), 64), len(content) - 1]:
        path.write_bytes(content[:size])
        text = message(lambda: References.read(path))
        wanted = "is not a prepared file" if size < len(KIND.magic) else "ends early"
        assert text.startswith(f"{path} {wanted}")
        assert text.endswith(REMEDY)
    path.write_bytes(b"")
    assert "is not a prepared file" in message(lambda: References.read(path))
    path.write_bytes(content + b"\0")
    assert "something behind its end" in message(lambda: References.read(path))


def test_a_foreign_file(tmp_path: Path) -> None:
    path = tmp_path / "refs.tbp"
    path.write_text("one reference per line\n")
    assert message(lambda: References.read(path)) == f"{path} is not a prepared file; {REMEDY}"


@pytest.mark.parametrize(("version", "age"), [(4, "a newer"), (2**32 - 1, "a newer"), (2, "an older")])
def test_another_version(path: Path, version: int, age: str) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:16] + struct.pack("<I", version) + content[20:])
    assert message(lambda: References.read(path)) == (
        f"{path} was made by {age} TruBLEU (its format is {version}, this one reads 3); use that one, or {REMEDY}"
    )


def test_a_damaged_part_is_noticed_when_it_is_first_used(path: Path) -> None:
    content = bytearray(path.read_bytes())
    header = json.loads(content[24 : 24 + struct.unpack_from("<I", content, 20)[0]])
    start = len(content) - sum(_padded(entry) for entry in header["arrays"])
    uses: dict[str, Callable[[References], object]] = {
        "weights": lambda opened: opened.weights,
        "texts_bytes": lambda opened: opened.texts,
        "reference_begins": len,
        "segment_ids_bytes": lambda opened: opened.ids,
        "origins_there": lambda opened: opened.origins,
        "messages_begins": lambda opened: opened.messages,
        "contexts_rows": lambda opened: opened.contexts,
        "ids": lambda opened: opened.prepare(),
        "token_table": lambda opened: scores(opened, ("bleu-4",)),
        "filter": lambda opened: scores(opened, ("bleu-4",)),
    }
    for name, use in uses.items():
        damaged = content.copy()
        damaged[start + next(entry["offset"] for entry in header["arrays"] if entry["name"] == name)] ^= 1
        path.write_bytes(damaged)
        opened = References.read(path)
        assert message(lambda: use(opened)) == (  # noqa: B023
            f"{path} was altered or damaged (the checksum of {name} does not fit); copy it again, or {REMEDY}"
        )
        for other, fine in uses.items():
            if other not in (name, "ids", "token_table", "filter", "reference_begins") and name != "reference_begins":
                fine(opened)


def _padded(entry: dict[str, Any]) -> int:
    size: int = entry["length"] * np.dtype(entry["dtype"]).itemsize
    return -(-size // 64) * 64


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    assert message(lambda: References.read(tmp_path / "no.tbp")).endswith("there is no such file; check the path")
    (tmp_path / "folder.tbp").mkdir()
    assert message(lambda: References.read(tmp_path / "folder.tbp")).endswith("is a folder, but a file is needed")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_not_drained_to_see_what_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("hello\nthere\n"))
    writer.start()
    assert References.read(pipe).texts == ("hello", "there")
    writer.join()


def test_another_byte_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "byteorder", "big")
    assert "little-endian" in message(lambda: References.read(path))
    assert "little-endian" in message(lambda: REFERENCES.prepare().save(path))


# Files that strangers made, with checksums that fit


def rewritten(path: Path, header: dict[str, Any] | None = None, **changed: Any) -> None:
    """Write the file again with other arrays (None: without it) or another header."""
    file = ArrayFile(path, KIND)
    arrays: dict[str, Any] = {name: file.array(name).copy() for name in file.lengths}
    arrays |= {name: value(arrays[name]) if callable(value) else value for name, value in changed.items()}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    write_arrays(path, KIND, {**file.header, **(header or {})}, arrays)


def used(path: Path) -> None:
    opened = References.read(path)
    everything(opened)
    scores(opened, ("bleu-4", "dbleu-2"))


def changed(at: int, value: float) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[at] = value
        return array

    return change


def test_rewriting_changes_nothing_by_itself(path: Path) -> None:
    before = path.read_bytes()
    rewritten(path)
    assert path.read_bytes() == before
    used(path)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"ids": changed(1, 10**6)}, "unknown token"),
        ({"id_begins": changed(1, 2**50)}, "references do not follow"),
        ({"token_begins": changed(1, 2**50)}, "tokens do not follow"),
        ({"reference_begins": changed(1, 0)}, "no reference for segment 1"),
        ({"reference_begins": changed(1, 2**63)}, "offsets must rise"),
        ({"reference_begins": changed(3, 5)}, "offsets must rise"),
        ({"weights": changed(0, 7.0)}, "weight 1 must be from -1 to 1"),
        ({"weights": changed(0, float("inf"))}, "weight 1 must be from -1 to 1"),
        ({"texts_begins": changed(1, 2**60)}, "do not divide"),
        ({"texts_bytes": changed(0, 255)}, "can't decode"),
        ({"segment_ids_bytes": changed(1, ord("x")), "segment_ids_begins": changed(2, 2)}, "can't decode"),
        (
            {"segment_ids_bytes": np.frombuffer(b"xxz", np.uint8), "segment_ids_begins": np.arange(4, dtype="<u8")},
            "once",
        ),
        ({"origins_begins": changed(1, 2**60)}, "do not divide"),
        ({"contexts_rows": changed(1, 2**60)}, "offsets must rise"),
        ({"contexts_rows": changed(1, 2**63)}, "offsets must rise"),
        ({"ids": None}, "too few or too many arrays"),
        ({"texts_bytes": None}, "too few or too many arrays"),
        ({"origins_there": None}, "too few or too many arrays"),
        ({"more": np.zeros(3, dtype="<u8")}, "too few or too many arrays"),
        ({"weights": np.zeros(5)}, "the array weights does not fit"),
        ({"weights": np.zeros(6, dtype="<u8")}, "the array weights does not fit"),
        ({"ids": lambda ids: ids.astype("<u8")}, "the array ids does not fit"),
        ({"messages_there": np.zeros(2, dtype=np.uint8)}, "the array messages_there does not fit"),
        ({"ids": np.zeros(0, dtype="<u4")}, "do not fit each other"),
        ({"token_table": np.zeros(3, dtype="<u8")}, "do not fit each other"),
    ],
)
def test_arrays_that_strangers_made(path: Path, changes: dict[str, Any], wanted: str) -> None:
    rewritten(path, **changes)
    text = message(lambda: used(path))
    assert text.startswith(f"{path} was altered or damaged (")
    assert text.endswith(f"; copy it again, or {REMEDY}")
    assert wanted in text


@pytest.mark.parametrize(
    "header",
    [
        {"segments": 2},
        {"segments": "3"},
        {"segments": -1},
        {"references": 7},
        {"references": 6.0},
        {"tokenizer": None},
        {"tokenizer_name": 5},
        {"lowercase": 1},
        {"empty": True},
        {"duplicates": -5},
    ],
)
def test_headers_that_strangers_made(path: Path, header: dict[str, Any]) -> None:
    rewritten(path, header)
    assert "was altered or damaged" in message(lambda: References.read(path))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b'{"arrays": 5}',
        b'{"arrays": [5]}',
        b'{"arrays": ["a"]}',
        b'{"arrays": [{}]}',
        b'{"arrays": [{"name": [], "dtype": "<u8", "length": 0, "offset": 0, "checksum": ""}]}',
        b'{"arrays": [{"name": "a", "dtype": "<u8", "length": -1, "offset": 0, "checksum": ""}]}',
        b'{"arrays": [{"name": "a", "dtype": "<u8", "length": 1.0, "offset": 0, "checksum": ""}]}',
        b'{"arrays": [{"name": "a", "dtype": "<u8", "length": 0, "offset": 0.0, "checksum": ""}]}',
        b'{"arrays": [{"name": "a", "dtype": "<u8", "length": 0, "offset": -64, "checksum": ""}]}',
        b'{"arrays": [{"name": "a", "dtype": "|O", "length": 0, "offset": 0, "checksum": ""}]}',
        b'{"arrays": [{"name": "a", "dtype": [], "length": 0, "offset": 0, "checksum": ""}]}',
        b'{"arrays": [{"name": "a", "dtype": "<u8", "length": 0, "offset": 64, "checksum": ""}]}',
        b'{"arrays": [{"name": "a", "dtype": "<u8", "length": 0, "offset": 0, "checksum": "", "more": 1}]}',
        b'{"arrays": [], "segments": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_headers_that_are_something_else(path: Path, text: bytes) -> None:
    rest = struct.pack("<II", KIND.version, len(text)) + text
    rest += bytes(-(len(rest) + 16) % 64)
    path.write_bytes(KIND.magic + struct.pack("<Q", kernels.checksum(np.frombuffer(rest, np.uint8))) + rest)
    assert "was altered or damaged" in message(lambda: References.read(path))


def test_a_length_that_no_file_has(path: Path) -> None:
    text = b'{"arrays": [{"name": "a", "dtype": "<u8", "length": ' + b"9" * 30
    text += b', "offset": 0, "checksum": ""}]}'
    rest = struct.pack("<II", KIND.version, len(text)) + text
    rest += bytes(-(len(rest) + 16) % 64)
    path.write_bytes(KIND.magic + struct.pack("<Q", kernels.checksum(np.frombuffer(rest, np.uint8))) + rest)
    assert "ends early" in message(lambda: References.read(path))


def test_another_version_of_the_tokenizer_means_other_tokens(path: Path) -> None:
    """As of Japanese, where the dictionary's version is part of the name: the texts are then tokenised anew."""
    rewritten(path, {"tokenizer_name": "13a-of-another-time"})
    opened = References.read(path)
    assert opened.prepared(tokenizer("13a"), False) is None
    assert scores(opened) == scores(REFERENCES)


@settings(max_examples=150)
@given(st.data())
def test_whatever_strangers_write_is_used_or_refused(folder: Path, data: st.DataObject) -> None:
    path = folder / "strange.tbp"
    REFERENCES.prepare().save(path)
    name = data.draw(st.sampled_from(sorted(ArrayFile(path, KIND).lengths)))

    def change(array: Any) -> Any:
        if not len(array):
            return array
        at = data.draw(st.integers(0, len(array) - 1))
        raw = array.view(np.uint8).reshape(len(array), -1)
        raw[at] = data.draw(st.lists(st.integers(0, 255), min_size=raw.shape[1], max_size=raw.shape[1]))
        return array

    rewritten(path, None, **{name: change})
    # Weights may have become such that ΔBLEU refuses them, as it would anywhere.
    with suppress(TrubleuError):
        used(path)


# How fast


def test_opening_does_not_depend_on_the_size(tmp_path: Path) -> None:
    """A million segments take a quarter of a millisecond; the benchmark is stricter than a test on a busy machine."""
    path = tmp_path / "large.tbp"
    References.from_lists([["some words of a reference", "and another"]] * 200_000).prepare().save(path)
    code = (
        "import sys, time; from trubleu import References; References\n"
        "start = time.process_time(); References.read(sys.argv[1]); print(time.process_time() - start)"
    )
    runs = [subprocess.run([sys.executable, "-c", code, path], capture_output=True, check=True) for _ in range(3)]
    assert min(float(run.stdout) for run in runs) < 0.05


def test_first_use_is_not_slow_either(tmp_path: Path) -> None:
    path = tmp_path / "large.tbp"
    references = References.from_lists([["some words of a reference", "and another"]] * 200_000)
    references.prepare().save(path)
    start = time.process_time()
    References.read(path).prepare()
    assert time.process_time() - start < 0.5


def test_the_suffix_is_what_the_documentation_says() -> None:
    assert prepared_file.SUFFIX == ".tbp"


def test_tokens_of_another_version_of_a_tokenizer_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    references = References.from_lists([["今天的天气很好。"], ["I know"]])
    with monkeypatch.context() as before:
        before.setattr("trubleu.text.words.SIGNATURE", "words")
        before.setattr("trubleu.text.words.split", str.split)
        references.prepare(tokenize="words").save(tmp_path / "old.tbp")
    opened = References.read(tmp_path / "old.tbp")
    assert opened.prepared(tokenizer("words"), lowercase=False) is None
    metric = trubleu.metric("bleu-2", tokenize="words")
    outputs = ["今天天气很好。", "I know"]
    assert metric.corpus(outputs, opened) == metric.corpus(outputs, [["今天的天气很好。"], ["I know"]])
