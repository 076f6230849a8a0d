"""Stores: what goes in comes out, only what is asked for is read, and nothing damaged is believed."""

from __future__ import annotations

import json
import pickle
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trubleu.errors import DataError, UsageError
from trubleu.files import arrays as array_file
from trubleu.native import kernels
from trubleu.vectors import VectorStore, as_source, nearest, similarity
from trubleu.vectors import store as index
from trubleu.vectors.store import KIND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

NGRAMS = ("do", "not", "do not", "do not like", "snake_case", "naïve", "\ud800", "中文 很")
OPTIONS: dict[str, str | int | float | bool] = {"mode": "joint", "window": 5, "alpha": 0.025, "resumed": False}


def matrix(rows: int, dimensions: int = 5, seed: int = 1) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((rows, dimensions)).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "v.store"
    VectorStore.write(path, NGRAMS, matrix(len(NGRAMS)), counts=range(9, 1, -1), options=OPTIONS)
    return path


words = st.text(st.characters(exclude_categories=["Zs", "Zl", "Zp", "Cc"]), min_size=1, max_size=6)
ngrams = st.lists(words, min_size=1, max_size=4).map(" ".join)


@settings(max_examples=60)
@given(
    listed=st.lists(ngrams, min_size=1, max_size=30, unique=True),
    asked=st.lists(ngrams, max_size=10),
    dimensions=st.integers(1, 9),
    dtype=st.sampled_from(["float32", "float16"]),
    data=st.data(),
)
def test_what_goes_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory,
    listed: list[str],
    asked: list[str],
    dimensions: int,
    dtype: Any,
    data: st.DataObject,
) -> None:
    path = tmp_path_factory.mktemp("store") / "v.store"
    vectors = matrix(len(listed), dimensions).astype(dtype)
    counts = data.draw(st.none() | st.just(list(range(len(listed)))))
    VectorStore.write(path, listed, vectors, counts=counts, dtype=dtype, options={"n": 1})
    store = VectorStore.open(path)
    assert store.ngrams() == tuple(listed)
    assert (len(store), store.dimensions, store.precision, store.options) == (len(listed), dimensions, dtype, {"n": 1})
    assert store.orders == tuple(sorted({len(ngram.split(" ")) for ngram in listed}))
    assert store.lengths.tolist() == [len(ngram.split(" ")) for ngram in listed]
    assert (store.counts is None) if counts is None else (store.counts is not None and store.counts.tolist() == counts)
    mixed = [*reversed(listed), *asked, ""]
    expected = [vectors[listed.index(ngram)] if ngram in listed else np.zeros(dimensions) for ngram in mixed]
    found = store.lookup(mixed)
    assert found.dtype == np.float32
    assert np.array_equal(found, np.array(expected, np.float32))
    assert np.array_equal(np.concatenate([block for _, block in store.blocks()]), vectors.astype(np.float32))
    assert store.ngrams([len(listed) - 1, 0]) == (listed[-1], listed[0])


def test_a_collision_of_hashes_gives_no_wrong_vector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With three hashes for everything, n-grams are still told apart."""
    honest = index.hashes_of
    monkeypatch.setattr(index, "hashes_of", lambda heap, begins: honest(heap, begins) % np.uint64(3))
    listed = [f"w{i}" for i in range(50)] + ["w1 w2"]
    vectors = matrix(51)
    VectorStore.write(tmp_path / "v.store", listed, vectors)
    store = VectorStore.open(tmp_path / "v.store")
    found = store.lookup([*listed, "w99", "w"])
    assert np.array_equal(found[:51], vectors)
    assert not found[51:].any()


def test_hashes_differ_where_strings_do() -> None:
    listed = tuple(f"{a}{b}{c}" for a in "abc \x00" for b in "xyzé" for c in ["", "1", "11", "\x00"])
    heap, begins = kernels.pack_texts(listed)
    assert len(set(index.hashes_of(heap, begins).tolist())) == len(listed)


def test_hashes_do_not_depend_on_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    heap, begins = kernels.pack_texts((*NGRAMS, "", "x" * 300))
    whole = index.hashes_of(heap, begins)
    monkeypatch.setattr(index, "_STRINGS", 2)
    assert np.array_equal(index.hashes_of(heap, begins), whole)
    assert whole.tolist() == [hash_by_hand(text) for text in (*NGRAMS, "", "x" * 300)]
    # Written down once: what is written today must be found for ever.
    assert f"{whole[2]:016x}" == "313307b726e0358d"


def mixed(value: int) -> int:
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def hash_by_hand(text: str) -> int:
    total = data_length = len(data := text.encode("utf-8", "surrogatepass"))
    for place in range(data_length):
        weight = mixed((place + 1) * 0x9E3779B97F4A7C15 % 2**64) | 1
        total += (data[place] + 1) * weight
    return mixed(total % 2**64)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 300])
def test_every_bit_of_a_row_is_checked(dtype: str, dimensions: int) -> None:
    rows = matrix(2, dimensions).astype(dtype)
    checks = index.row_checks(rows)
    for bit in range(0, dimensions * rows.itemsize * 8, 7):
        changed = rows.copy()
        changed.view(np.uint8)[1, bit // 8] ^= 1 << (bit % 8)
        after = index.row_checks(changed)
        assert after[0] == checks[0]
        assert after[1] != checks[1]


def test_names_and_counts(path: Path, tmp_path: Path) -> None:
    store = VectorStore.open(path)
    assert store.name.startswith("store:v-")
    assert len(store.name) == len("store:v-") + 8
    assert store.options == OPTIONS
    VectorStore.write(tmp_path / "v.other", NGRAMS, matrix(len(NGRAMS), seed=2), counts=range(9, 1, -1))
    other = as_source(tmp_path / "v.other")  # known by its first bytes
    assert isinstance(other, VectorStore)
    assert other.name != store.name


def test_orders_may_be_more_than_there_are(tmp_path: Path) -> None:
    VectorStore.write(tmp_path / "v.store", ["a"], [[1.0]], orders=[3, 1, 2])
    assert VectorStore.open(tmp_path / "v.store").orders == (1, 2, 3)


def test_another_process_opens_the_file_again(path: Path) -> None:
    store = VectorStore.open(path)
    data = pickle.dumps(store)
    assert len(data) < 1000
    assert np.array_equal(pickle.loads(data).lookup(NGRAMS), store.lookup(NGRAMS))  # noqa: S301


def test_looking_up_does_not_read_the_whole_matrix(path: Path) -> None:
    """A damaged row is found when it is asked for, or when everything is read; the others can be used."""
    header = bytearray(path.read_bytes())
    at = header.rindex(matrix(len(NGRAMS))[1].tobytes())
    header[at] ^= 1
    path.write_bytes(header)
    store = VectorStore.open(path)
    assert np.array_equal(store.lookup(["do", "do not"]), matrix(len(NGRAMS))[[0, 2]])
    with pytest.raises(DataError, match=r"v.store was altered or damaged \(the checksum of a vector does not fit\)"):
        store.lookup(["do", "not"])
    with pytest.raises(DataError, match=r"the checksum of matrix does not fit"):
        list(store.blocks())


# What cannot be written

BAD: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: VectorStore.write(path, [], np.zeros((0, 3))), "there are no n-grams to write"),
    (lambda path: VectorStore.write(path, ["a", "a"], matrix(2)), "'a' is there twice"),
    (lambda path: VectorStore.write(path, ["a", "b "], matrix(2)), "n-gram 2 is 'b '"),
    (lambda path: VectorStore.write(path, ["a"], matrix(2)), r"the shape \(2, 5\), but one row for each of 1"),
    (lambda path: VectorStore.write(path, ["a"], matrix(2).astype(np.float16), dtype="float16"), r"the shape \(2, 5\)"),
    (lambda path: VectorStore.write(path, ["a"], [["x"]]), "does not consist of numbers"),
    (lambda path: VectorStore.write(path, ["a"], [[np.nan]]), "not finite"),
    (lambda path: VectorStore.write(path, ["a"], np.array([[np.nan]], np.float32)), "not finite in row 1"),
    (lambda path: VectorStore.write(path, ["a"], [[1e6]], dtype="float16"), "too large for float16: use float32"),
    (lambda path: VectorStore.write(path, ["a b c"], [[1.0]], orders=(1, 2)), "'a b c' has 3 words, .* orders 1, 2"),
    (lambda path: VectorStore.write(path, ["a " * 300 + "a"], [[1.0]]), "has 301 words, .* orders up to 255"),
    (lambda path: VectorStore.write(path, ["a"], [[1.0]], counts=[1, 2]), "counts must be one whole number"),
    (lambda path: VectorStore.write(path, ["a"], [[1.0]], counts=[-1]), "counts must be one whole number"),
    (lambda path: VectorStore.write(path, ["a"], [[1.0]], counts=[0.5]), "counts must be one whole number"),
    (lambda path: VectorStore.write(path, ["a"], [[1.0]], dtype="float8"), "dtype=float8 is not known"),  # type: ignore[arg-type]
    (lambda path: VectorStore.write(path / "no" / "v.store", ["a"], [[1.0]]), "there is no folder"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_what_cannot_be_written(tmp_path: Path, call: Callable[[Path], object], message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message):
        call(tmp_path / "bad.store")
    assert not list(tmp_path.iterdir())


# What cannot be opened


def test_files_that_are_cut_off(path: Path) -> None:
    whole = path.read_bytes()
    for size in (0, 3, 8, 20, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"v\.store (ends early|is not a store of vectors)") as caught:
            VectorStore.open(path)
        assert str(caught.value).endswith("make it again with trubleu vectors train or convert")


def test_a_changed_byte_anywhere_is_found(path: Path) -> None:
    whole = path.read_bytes()
    expected = matrix(len(NGRAMS))
    generator = np.random.default_rng(3)
    for at in generator.choice(len(whole), 400, replace=False).tolist():
        changed = bytearray(whole)
        changed[at] ^= 0x41
        path.write_bytes(changed)
        try:
            store = VectorStore.open(path)
            found = store.lookup(NGRAMS)
            everything = [block for _, block in store.blocks()], store.counts, store.lengths
        except DataError:
            continue
        assert np.array_equal(found, expected)
        pytest.fail(f"byte {at} was changed unnoticed: {everything}")


def test_another_version(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[16:20] = struct.pack("<I", KIND.version + 1)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"v.store was made by a newer TruBLEU \(its format is 2, this one reads 1\)"):
        VectorStore.open(path)


def rewritten(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the header of a store and make its checksum fit, as somebody with bad intentions would."""
    data = path.read_bytes()
    length = struct.unpack("<I", data[20:24])[0]
    first = -(-(24 + length) // array_file.ALIGNMENT) * array_file.ALIGNMENT
    header = json.loads(data[24 : 24 + length])
    change(header)
    text = json.dumps(header).encode()
    rest = struct.pack("<II", KIND.version, len(text)) + text
    rest += bytes(-(-(24 + len(text)) // array_file.ALIGNMENT) * array_file.ALIGNMENT - 24 - len(text))
    checksum = kernels.checksum(np.frombuffer(rest, np.uint8))
    path.write_bytes(KIND.magic + struct.pack("<Q", checksum) + rest + data[first:])


def entry(header: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in header["arrays"] if item["name"] == name)
    return found


FORGED: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda header: entry(header, "matrix").update(length=1 << 60), "ends early"),
    (lambda header: header.update(dimensions=1 << 40), "the array matrix does not fit the others"),
    (lambda header: header.update(entries=1 << 40), "does not fit the others"),
    (lambda header: header.update(entries=-1), "its header lacks something"),
    (lambda header: header.update(dimensions="5"), "its header lacks something"),
    (lambda header: header.update(orders=["a"]), "its header lacks something"),
    (lambda header: header.update(options=[1]), "its header lacks something"),
    (lambda header: header.pop("orders"), "its header lacks something"),
    (lambda header: entry(header, "matrix").update(dtype="<f8"), "v.store"),
    (lambda header: entry(header, "lengths").update(name="other"), "too few or too many arrays"),
    (lambda header: entry(header, "hashes").update(dtype="<f8"), "the array hashes does not fit"),
]


@pytest.mark.parametrize(("change", "message"), FORGED)
def test_headers_that_promise_what_is_not_there(
    path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    rewritten(path, change)
    with pytest.raises(DataError, match=message):
        VectorStore.open(path)


def forged_arrays(path: Path, **arrays: NDArray[Any]) -> None:
    """Write a store in which some arrays are others than they should be, with checksums that fit."""
    opened = array_file.ArrayFile(path, KIND)
    whole = {name: arrays.get(name, np.array(opened.array(name))) for name in opened.lengths}
    array_file.write_arrays(path, KIND, opened.header, whole)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"hashed_rows": np.full(8, 8, "<u4")}, "its index does not fit"),
        ({"ngrams_begins": np.arange(9, dtype="<u8") * 1_000_000}, "its index does not fit"),
        ({"ngrams_begins": np.array([0, 5, 3, 3, 3, 3, 3, 3, 46], "<u8")}, "its index does not fit"),
        ({"hashes": np.arange(8, 0, -1, dtype="<u8")}, "its index does not fit"),
        (
            {"matrix": np.full(40, np.nan, "<f4"), "row_checks": index.row_checks(np.full((8, 5), np.nan, "<f4"))},
            "finite",
        ),
    ],
)
def test_forged_contents_point_nowhere(path: Path, arrays: dict[str, NDArray[Any]], message: str) -> None:
    forged_arrays(path, **arrays)
    with pytest.raises(DataError, match=message):
        VectorStore.open(path).lookup(NGRAMS)


def test_other_files_are_no_stores(tmp_path: Path) -> None:
    other = tmp_path / "text.store"
    other.write_text("1 2\na 1 2\n")
    with pytest.raises(DataError, match=r"text\.store is not a store of vectors; make it again with"):
        as_source(other)


def test_orders_that_were_trained_apart_are_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "apart.store"
    ngrams = ["do", "make", "do not", "make no"]
    vectors = [[1.0, 0.0], [0.9, 0.1], [1.0, 0.0], [0.8, 0.2]]
    VectorStore.write(path, ngrams, vectors, options={"mode": "separate"})
    store = VectorStore.open(path)
    assert [found.ngram for found in nearest(store, "do")] == ["make"]
    assert [found.ngram for found in nearest(store, "do not")] == ["make no"]
    with pytest.raises(UsageError, match="compare n-grams of one length"):
        similarity(store, "do", "do not")
    VectorStore.write(path, ["a\u00a0b", *ngrams[1:]], vectors, options={"mode": "separate"})
    assert [found.ngram for found in nearest(VectorStore.open(path), "a\u00a0b")] == ["make"]  # one word
    VectorStore.write(path, ngrams, vectors, options={"mode": "joint"})
    assert similarity(VectorStore.open(path), "do", "do not") == 1.0
