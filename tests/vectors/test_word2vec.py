"""word2vec's formats: as gensim, fastText and GloVe write them, back and forth, and broken in every way."""

from __future__ import annotations

import gzip
import pickle
import struct
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.vectors import (
    MatrixSource,
    VectorStore,
    as_source,
    convert_vectors,
    read_word2vec,
    word2vec,
    write_word2vec,
)
from trubleu.vectors import word2vec as rows_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

NGRAMS = ["do", "not", "do not", "do not like", "snake_case", "a_b c", "back\\slash", "\\_", "_", "naïve", "中文"]


def matrix(rows: int, dimensions: int = 5, seed: int = 1) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((rows, dimensions)).astype(np.float32)


@pytest.fixture(scope="module")
def keyed_vectors() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from gensim.models import KeyedVectors
    except ImportError:
        pytest.skip("gensim is not installed; it has no wheel for the newest Python")
    return KeyedVectors


def binary_file(names: list[str], vectors: NDArray[np.float32], end: bytes = b"\n") -> bytes:
    rows = [name.encode() + b" " + row.astype("<f4").tobytes() + end for name, row in zip(names, vectors, strict=True)]
    return f"{len(names)} {vectors.shape[1]}\n".encode() + b"".join(rows)


# Back and forth

words = st.text(st.characters(exclude_categories=["Zs", "Zl", "Zp", "Cc", "Cs"]) | st.sampled_from("_\\+"), min_size=1)
ngrams = st.lists(words, min_size=1, max_size=3).map(" ".join)
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=80)
@given(
    listed=st.lists(ngrams, min_size=1, max_size=8, unique=True),
    dimensions=st.integers(2, 4),
    binary=st.booleans(),
    suffix=st.sampled_from(["", ".gz", ".zst"]),
    data=st.data(),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    listed: list[str],
    dimensions: int,
    binary: bool,
    suffix: str,
    data: st.DataObject,
) -> None:
    path = tmp_path_factory.mktemp("vectors") / f"v.vec{suffix}"
    row = st.lists(numbers, min_size=dimensions, max_size=dimensions)
    vectors = np.array(data.draw(st.lists(row, min_size=len(listed), max_size=len(listed))), np.float32)
    write_word2vec(path, MatrixSource(listed, vectors), binary=binary)
    found = read_word2vec(path, binary=binary)
    assert found.ngrams() == tuple(listed)
    assert np.array_equal(found.matrix, vectors)


def test_a_words_own_joiner_is_escaped(tmp_path: Path) -> None:
    write_word2vec(tmp_path / "v.vec", MatrixSource(NGRAMS, matrix(len(NGRAMS))))
    names = [line.split(" ")[0] for line in (tmp_path / "v.vec").read_text(encoding="utf-8").splitlines()[1:]]
    assert names == [
        "do", "not", "do_not", "do_not_like", r"snake\_case", r"a\_b_c", r"back\\slash", r"\\\_", r"\_", "naïve",
        "中文",
    ]  # fmt: skip
    assert read_word2vec(tmp_path / "v.vec").ngrams() == tuple(NGRAMS)


@pytest.mark.parametrize(
    ("name", "ngram"),
    [
        ("New_York", "New York"),
        ("_", "_"),
        ("__init__", "__init__"),
        ("a__b", "a__b"),
        ("end_", "end_"),
        (r"C:\dir", r"C:\dir"),
        (r"a\\b", r"a\b"),
        (r"a\_b_c", "a_b c"),
        ("</s>", "</s>"),
    ],
)
def test_names_from_elsewhere(tmp_path: Path, name: str, ngram: str) -> None:
    (tmp_path / "v.vec").write_text(f"1 2\n{name} 1 2\n")
    assert read_word2vec(tmp_path / "v.vec").ngrams() == (ngram,)


# gensim


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_what_we_write(keyed_vectors: Any, tmp_path: Path, binary: bool) -> None:
    vectors = matrix(len(NGRAMS))
    write_word2vec(tmp_path / "v", MatrixSource(NGRAMS, vectors), binary=binary)
    found = keyed_vectors.load_word2vec_format(str(tmp_path / "v"), binary=binary)
    assert found.index_to_key[:4] == ["do", "not", "do_not", "do_not_like"]
    assert np.array_equal(found.vectors, vectors)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(("binary", "header"), [(False, True), (False, False), (True, True)])
def test_we_read_what_gensim_writes(
    keyed_vectors: Any, tmp_path: Path, binary: bool, suffix: str, header: bool
) -> None:
    theirs = keyed_vectors(5)
    theirs.add_vectors(["do", "do_not", "naïve", "New_York"], matrix(4))
    path = tmp_path / f"v{suffix}"
    theirs.save_word2vec_format(str(path), binary=binary, write_header=header)
    found = as_source(path)
    assert isinstance(found, MatrixSource)
    assert found.ngrams() == ("do", "do not", "naïve", "New York")
    assert np.array_equal(found.matrix, matrix(4))
    assert found.name.startswith("word2vec:v-")


# Others


def test_word2vec_itself_ends_vectors_with_a_line(tmp_path: Path) -> None:
    for end in (b"", b"\n"):
        (tmp_path / "v.bin").write_bytes(binary_file(["do", "do_not", "x"], matrix(3), end))
        found = read_word2vec(tmp_path / "v.bin")
        assert found.ngrams() == ("do", "do not", "x")
        assert np.array_equal(found.matrix, matrix(3))


def test_a_line_end_inside_a_number_is_none(tmp_path: Path) -> None:
    """The first bytes of a vector can be a line end, or letters and a line end."""
    for first in (b"\n\x00\x00\x01", b"A\nAA", b"1 2\n"):
        vectors = matrix(2)
        vectors[0, 0] = np.frombuffer(first, "<f4")[0]
        (tmp_path / "v.bin").write_bytes(binary_file(["do", "x"], vectors, b""))
        assert np.array_equal(read_word2vec(tmp_path / "v.bin").matrix, vectors)


def test_binary_in_small_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word2vec, "_BLOCK", 7)
    names = [f"word{i}" for i in range(30)]
    (tmp_path / "v.bin").write_bytes(binary_file(names, matrix(30)))
    found = read_word2vec(tmp_path / "v.bin")
    assert found.ngrams() == tuple(names)
    assert np.array_equal(found.matrix, matrix(30))


def test_the_matrix_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "_FIRST_BYTES", 1)
    names = [f"word{i}" for i in range(50)]
    write_word2vec(tmp_path / "v.vec", MatrixSource(names, matrix(50)))
    assert np.array_equal(read_word2vec(tmp_path / "v.vec").matrix, matrix(50))


def test_fasttext_ends_lines_with_a_space(tmp_path: Path) -> None:
    (tmp_path / "v.vec").write_bytes("\ufeff2 3\r\n, 0.1 -0.2 1e-3 \r\na\u00a0b 1 2 3 \r\n\r\n".encode())
    found = read_word2vec(tmp_path / "v.vec")
    assert found.ngrams() == (",", "a\u00a0b")
    assert np.array_equal(found.matrix, np.array([[0.1, -0.2, 1e-3], [1, 2, 3]], np.float32))


def test_glove_has_no_sizes_and_names_with_spaces(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("the 0.5 1 2\n. . . 3 4 5\nat name@domain.com 6 7 8\n1 9 9 9\n")
    found = read_word2vec(tmp_path / "v.txt")
    assert found.ngrams() == ("the", ". . .", "at name@domain.com", "1")
    assert found.matrix.tolist() == [[0.5, 1, 2], [3, 4, 5], [6, 7, 8], [9, 9, 9]]


def test_the_first_of_several_counts(tmp_path: Path) -> None:
    (tmp_path / "v.vec").write_text("4 2\na 1 2\nb 3 4\na 5 6\na 7 8\n")
    with pytest.warns(TrubleuWarning, match=r"names that come again in \S*v\.vec, whose first vector counts: 2"):
        found = read_word2vec(tmp_path / "v.vec")
    assert (found.ngrams(), found.matrix.tolist()) == (("a", "b"), [[1, 2], [3, 4]])


# What cannot be read

RAW = binary_file(["do", "do_not", "x"], matrix(3))
NAN = binary_file(["do", "x"], np.array([[1, 2], [3, np.nan]], np.float32))

BAD: list[tuple[bytes, str]] = [
    (b"", "v is empty; give a file of vectors"),
    (b"hello\n", "v:1: there is a word without a vector"),
    (b"hello brave new world\n", "v:1: one of the 3 numbers after the word is not a number"),
    (b"0 3\n", "v:1: there are 0 vectors of 3 dimensions"),
    (b"3 0\n", "v:1: there are 3 vectors of 0 dimensions"),
    (b"9999999999999 300\na 1\n", "v:1: 9,999,999,999,999 vectors of 300 dimensions cannot be"),
    (b"10 999999999\na 1\n", "v:1: 10 vectors of 999,999,999 dimensions cannot be"),
    (b"4000000000 100000\na" + b" 1" * 100_000 + b"\n", "v ends early: it promises 4,000,000,000 vectors, but has 1;"),
    (b"2 2\na 1 2\n", "v ends early: it promises 2 vectors, but has 1; copy it again"),
    (b"1 2\na 1 2\nb 3 4\n", "v:3: the file promises 1 vectors, but there are more"),
    (b"2 2\na 1 2\nb 1 2 3\n", "v:3: there are 3 numbers, but 2 are expected; all vectors must be equally long"),
    (b"2 2\na 1 2\nb 1\n", "v:3: there are 1 numbers, but 2 are expected"),
    (b"2 2\na 1 2 3\nb 1 2\n", "v:2: there are 3 numbers, but 2 are expected"),
    (b"2 2\na 1 2\n\nb 1 2\n", "v:3: the line is empty, but others follow"),
    (b"2 2\na 1 2\nb 1 x\n", "v:3: one of the 2 numbers after the word is not a number"),
    (b"2 2\na 1 2\nb 1 nan\n", "v:3: the vector of 'b' has a number that is not finite; remove the row"),
    (b"2 2\na 1 2\nb 1 1e99\n", "v:3: the vector of 'b' has a number that is not finite"),
    (b"2 2\na 1 2\n 1 3\n", "v:3: there is no word before the numbers"),
    (b"a\t1 2 3\n", r"v:1: there is a tab in 'a\\t1'; separate words and numbers by one space"),
    (b"2 2\na 1 2\n\xff 1 3\n", r"v:3: the word b'\\xff' is not valid UTF-8"),
    (b"1 2\n" + b"a" * 70_000 + b" 1 2\n", "v:2: the line is longer than 2 numbers can be"),
    (RAW[:-2], f"v ends early, at byte {len(RAW) - 2}: it promises 3 vectors, but has 2; copy it again"),
    (RAW[:40], "v ends early, at byte 40: it promises 3 vectors, but has 1"),
    (RAW + b"more", f"v continues after its 3 vectors, at byte {len(RAW) - 1}"),
    (NAN, "v: byte 16: the vector of 'x' has a number that is not finite"),
    (b"900000000 300\n" + RAW[4:], f"v ends early, at byte {len(RAW) + 10}: it promises 900,000,000 vectors"),
    (b"2 2\na " + b"\x01" * 200_000, "v: there is no word at byte 14; the file is damaged or not word2vec"),
    (pickle.dumps({"a": [1.0]}), "v is a pickle, which could run anything and is never read; save the"),
    (struct.pack("<ii", 793712314, 12) + bytes(50), r"v is a whole fastText model; give the \.vec file beside it"),
    (gzip.compress(b"2 2\na 1 2\nb 1 2\n", mtime=0)[:-9], "v: the gzip data is damaged or ends early"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BAD)
def test_what_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(DataError, match=f"^{message}"):
        read_word2vec("v")


def test_promises_are_not_allocated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file promises is believed row by row: before the first there are some megabytes at most."""
    made: list[int] = []
    honest = np.zeros

    def zeros(shape: Any, dtype: Any) -> Any:
        result = honest(shape, dtype)
        made.append(result.nbytes)
        return result

    monkeypatch.setattr("trubleu.vectors.word2vec.np.zeros", zeros)
    (tmp_path / "v.bin").write_bytes(b"4000000000 100000\na " + bytes(range(128, 192)))
    with pytest.raises(DataError, match="ends early"):
        read_word2vec(tmp_path / "v.bin")
    assert made
    assert max(made) < 50_000_000


@pytest.mark.parametrize(
    ("ngram", "message"),
    [("a\nb", "holds white space, which word2vec files cannot"), ("\ud800", "is not valid Unicode")],
)
def test_what_cannot_be_written(tmp_path: Path, ngram: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        write_word2vec(tmp_path / "v.vec", MatrixSource([ngram], [[1.0]]))
    assert not list(tmp_path.iterdir())


def test_a_binary_file_begins_with_its_sizes(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("a 1 2\n")
    with pytest.raises(DataError, match="does not begin with the number of vectors and of dimensions"):
        read_word2vec(tmp_path / "v", binary=True)


# Converting


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("between", ["b.bin", "b.vec", "b.txt.gz", "b.store"])
def test_there_and_back(tmp_path: Path, between: str, dtype: Any) -> None:
    vectors = matrix(len(NGRAMS)).astype(dtype).astype(np.float32)
    VectorStore.write(
        tmp_path / "a.store", NGRAMS, vectors, counts=range(len(NGRAMS)), options={"seed": 3}, dtype=dtype
    )
    convert_vectors(tmp_path / "a.store", tmp_path / between, dtype=dtype)
    convert_vectors(tmp_path / between, tmp_path / "c.store", dtype=dtype)
    store = VectorStore.open(tmp_path / "c.store")
    assert store.ngrams() == tuple(NGRAMS)
    assert store.precision == dtype
    assert np.array_equal(store.lookup(NGRAMS), vectors)
    if between == "b.store":
        assert store.counts is not None
        assert store.counts.tolist() == list(range(len(NGRAMS)))
        assert store.options == {"seed": 3}
    else:
        assert store.options == {"converted_from": between}


def test_between_word2vec_formats(tmp_path: Path) -> None:
    write_word2vec(tmp_path / "a.vec", MatrixSource(NGRAMS, matrix(len(NGRAMS))))
    convert_vectors(tmp_path / "a.vec", tmp_path / "b.bin")
    assert read_word2vec(tmp_path / "b.bin").ngrams() == tuple(NGRAMS)


CONVERSIONS: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: convert_vectors(folder / "a.vec", folder / "b"), "does not tell the format; give one that"),
    (lambda folder: convert_vectors(folder / "a.vec", folder / "b.store.gz"), r"cannot be compressed"),
    (lambda folder: convert_vectors(folder / "a.vec", folder / "b.store", dtype="int8"), "dtype=int8 is not known"),  # type: ignore[arg-type]
    (lambda folder: convert_vectors(folder, folder / "b.store"), "has a vector for any n-gram and no list of them"),
    (
        lambda folder: convert_vectors(folder / "a.vec", folder / "b.store", dtype="float16"),
        "too large for float16; use",
    ),
]


@pytest.mark.parametrize(("call", "message"), CONVERSIONS)
def test_what_cannot_be_converted(tmp_path: Path, call: Callable[[Path], object], message: str) -> None:
    (tmp_path / "a.vec").write_text("1 2\na 1 200000\n")
    with pytest.raises((DataError, UsageError), match=message):
        call(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.vec"]
