"""Ready vectors against a plain statement, and folders of a tokenizer and a matrix made here."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.strings13a import strings
from trubleu.errors import DataError, MissingExtraError
from trubleu.native import kernels
from trubleu.vectors import AdditiveSource, Composed, SubwordVectors, VectorSource, as_source, ready, ready_vectors
from trubleu.vectors.ready import readable_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")


@pytest.fixture(scope="module")
def vectors() -> SubwordVectors:
    pytest.importorskip("wordllama", reason="wordllama, which carries the ready vectors, is not installed")
    return ready_vectors()


def plainly(tokenizer: Any, matrix: NDArray[np.float64], ngrams: Sequence[str], unknown: int) -> NDArray[np.float64]:
    """One n-gram after the other: its tokens, their mean, divided by its length."""
    found = np.zeros((len(ngrams), matrix.shape[1]))
    for row, ngram in enumerate(ngrams):
        ids = [token for token in tokenizer.encode(ngram, add_special_tokens=False).ids if token != unknown]
        if ngram and ids:
            mean = np.mean([matrix[token] for token in ids], axis=0)
            found[row] = mean / np.linalg.norm(mean)
    return found


def wordllamas(vectors: SubwordVectors) -> tuple[Any, NDArray[np.float64]]:
    from importlib.util import find_spec

    spec = find_spec("wordllama")
    assert spec
    assert spec.submodule_search_locations
    folder = spec.submodule_search_locations[0]
    tokenizer = tokenizers.Tokenizer.from_file(f"{folder}/tokenizers/l2_supercat_tokenizer_config.json")
    matrix = safetensors.load_file(f"{folder}/weights/l2_supercat_256.safetensors")["embedding.weight"]
    return tokenizer, matrix.astype(np.float64)


# wordllama's

SOME = [
    "research paper", "scientific article", "do not like", "I 'd", "naïve café", "中文 很 好", "x", ".", "3.14 %",
    "Donaudampfschifffahrt", "<s>", "a </s> b", "<unk>", "the <unk>", "▁", "a ▁b", "a▁ b", "▁▁ ▁", "\u200b zero",
    "e\u0301 x", "🙂 👍🏽", "ﷺ 𝔘", "", "\x07 bell", "a\u00a0b c", "&lt; @-@", "UPPER lower", "<S> x",
]  # fmt: skip


def test_the_plain_statement_of_ready_vectors(vectors: SubwordVectors) -> None:
    tokenizer, matrix = wordllamas(vectors)
    assert np.abs(vectors.lookup(SOME) - plainly(tokenizer, matrix, SOME, 0)).max() < 1e-6
    assert vectors.lookup(["<unk>", ""]).any() == np.False_
    assert (vectors.dimensions, vectors.orders) == (256, None)
    assert vectors.lookup([]).shape == (0, 256)


words = st.text(st.characters(exclude_categories=["Zs", "Zl", "Zp", "Cc", "Cs"]), min_size=1, max_size=8)
ngrams = st.lists(words | st.sampled_from(["the", "▁", "</s>", "don't"]), min_size=1, max_size=4).map(" ".join)


@settings(max_examples=100)
@given(asked=st.lists(ngrams, min_size=1, max_size=5))
def test_any_ngram_has_the_tokens_of_the_whole(vectors: SubwordVectors, asked: list[str]) -> None:
    tokenizer, matrix = wordllamas_once(vectors)
    assert np.abs(vectors.lookup(asked) - plainly(tokenizer, matrix, asked, 0)).max() < 1e-6


_once: dict[str, tuple[Any, NDArray[np.float64]]] = {}


def wordllamas_once(vectors: SubwordVectors) -> tuple[Any, NDArray[np.float64]]:
    return _once.setdefault("", wordllamas(vectors)) if not _once else _once[""]


def test_ngrams_are_sums_over_words(vectors: SubwordVectors) -> None:
    assert isinstance(vectors, AdditiveSource)
    words = ["research", "paper", "a▁b", "</s>", "naïve"]
    sums, holds = vectors.word_sums(words)
    assert holds.tolist() == [True, True, False, False, True]
    together = sums[0] + sums[1] + sums[4]
    assert np.allclose(vectors.lookup(["research paper naïve"])[0], together / np.linalg.norm(together), atol=1e-6)


def test_the_name_says_which_vectors(vectors: SubwordVectors) -> None:
    assert vectors.name == "ready:l2_supercat_256-eead94ae"
    assert as_source("ready") is vectors
    assert isinstance(vectors, VectorSource)


def test_ready_vectors_travel_by_name(vectors: SubwordVectors) -> None:
    assert len(pickle.dumps(vectors)) < 200
    assert copy.deepcopy(vectors) is vectors
    code = """
import pickle, sys
vectors = pickle.load(sys.stdin.buffer)
print(vectors.name, float(vectors.lookup(["research paper"])[0, 0]))
"""
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(vectors), capture_output=True, check=True)
    name, number = done.stdout.decode().split()
    assert (name, float(number)) == (vectors.name, float(vectors.lookup(["research paper"])[0, 0]))


def test_half_a_surrogate_pair_is_replaced(vectors: SubwordVectors) -> None:
    assert np.array_equal(vectors.lookup(["\ud83d x"]), vectors.lookup(["\ufffd x"]))


def unused() -> SubwordVectors:
    """Ready vectors that have not been asked for anything."""
    return ready_vectors.__wrapped__()


def test_the_same_whatever_is_asked_with_it(vectors: SubwordVectors) -> None:
    fresh = unused()
    whole = vectors.lookup(SOME)
    assert np.array_equal(np.concatenate([fresh.lookup([ngram]) for ngram in SOME]), whole)
    assert fresh.name == vectors.name


def both_ways(vectors: SubwordVectors, words: Sequence[str]) -> None:
    """The kernel gives the bits that the package's tokens give."""
    assert vectors._subwords is not None
    found, left = vectors._subwords.sums(tuple(words))
    theirs = vectors._package_sums(words)
    assert set(np.flatnonzero((found.view(np.uint32) != theirs.view(np.uint32)).any(axis=1))) <= set(left.tolist())
    assert vectors.word_vectors(words).tobytes() == theirs.tobytes()
    assert len(left) < max(len(words), 2)


def test_words_as_the_package_encodes_them(vectors: SubwordVectors) -> None:
    generator, fresh = random.Random(1), unused()
    pieces = [*"etaoinshrdlu▁é中🙂ß\u0301\u200b\x07'-.3", "ing", "tion", "the", "<s>", "</S>", "\ud800"]
    made = ["".join(generator.choices(pieces, k=generator.randrange(90 if i % 9 else 9))) for i in range(3_000)]
    both_ways(fresh, made)
    both_ways(fresh, [word for text in strings(2, 1_000) for word in text.split()])


@given(st.lists(words, min_size=3, max_size=30))
def test_any_word_as_the_package_encodes_it(vectors: SubwordVectors, asked: list[str]) -> None:
    both_ways(vectors, [*asked, "the", "cats"])


def test_kernels_refuse_vocabularies_that_are_not_whole() -> None:
    tokens = ("▁", *(f"<0x{byte:02X}>" for byte in range(256)), "a", "b", "ab")
    ids, table = np.arange(len(tokens), dtype=np.uint32), np.eye(len(tokens), dtype=np.float16).view(np.uint16)
    sums, left = kernels.Subwords(tokens, ids, ("a b",), -1, "<", table).sums(("ab", "c", "b<", "", "x" * 64))
    assert [np.flatnonzero(row).tolist() for row in sums] == [[0, 259], [0, 1 + ord("c")], [], [], []]
    assert left.tolist() == [2, 4]
    for wrong, message in (
        ((tokens[1:], ids[1:], ("a b",), -1, "", table), "space"),
        ((("▁", *tokens[2:]), ids[1:], ("a b",), -1, "", table), "byte"),
        (((*tokens, "a"), np.append(ids, ids[:1]), ("a b",), -1, "", table), "twice"),
        ((tokens, ids[1:], ("a b",), -1, "", table), "one id"),
        ((tokens, ids, ("a b",), -1, "", table[:5]), "no vector"),
        ((tokens, ids, ("a c",), -1, "", table), "tokens that are not there"),
        ((tokens, ids, ("ab",), -1, "", table), "two tokens"),
        ((tokens, ids, ("a b a",), -1, "", table), "two tokens"),
    ):
        with pytest.raises(ValueError, match=message):
            kernels.Subwords(*wrong)


def test_the_cache_is_bounded(vectors: SubwordVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = unused()
    monkeypatch.setattr(ready, "_MOST_CACHED", 10)
    for first in range(0, 40, 4):
        fresh.lookup([f"w{i}" for i in range(first, first + 4)])
        assert len(fresh._ids) <= 10
    fresh.lookup([f"w{i}" for i in range(100)])
    assert len(fresh._ids) <= 10


def test_nothing_is_printed_and_no_network_is_asked(vectors: SubwordVectors) -> None:
    """Also in a process that is forked later, about which tokenizers warns if it ran in threads before."""
    code = """
import os, socket, sys
def refuse(*arguments, **options): raise SystemExit("the network was asked")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
from trubleu.vectors import as_source
source = as_source("ready")
source.lookup([f"word{i} w" for i in range(2000)])
if not hasattr(os, "fork"): raise SystemExit
child = os.fork()
if not child:
    source.lookup(["a b", "<s> c"])
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert "wordllama" not in sys.modules
"""
    environment = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# Without the packages


def test_what_to_install_without_wordllama(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ready_vectors.cache_clear()
    monkeypatch.setattr(ready, "find_spec", lambda _name: None)
    message = r"^the ready vectors need the package wordllama; install it with: pip install 'trubleu\[ready\]'$"
    with pytest.raises(MissingExtraError, match=message):
        as_source("ready")

    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(ready, "find_spec", lambda _name: Spec())
    with pytest.raises(MissingExtraError, match=r"does not carry the ready vectors; .* --upgrade 'trubleu\[ready\]'$"):
        as_source("ready")


@pytest.mark.parametrize("package", ["tokenizers", "safetensors.numpy"])
def test_what_to_install_for_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"ready vectors needs? the package {package}; .* 'trubleu\[ready\]'$"):
        as_source(folder)


# Folders of model2vec's form

PIECES = ["[PAD]", "[UNK]", "[CLS]", "do", "not", "lik", "##e", "##es", "it", ".", "a", "##b"]


def word_pieces(**changed: Any) -> dict[str, Any]:
    special = [
        {"id": i, "content": PIECES[i], "single_word": False, "lstrip": False, "rstrip": False}
        | {"normalized": False, "special": True}
        for i in range(3)
    ]
    settings = {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
        | {"strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
        | {"max_input_chars_per_word": 100, "vocab": {piece: i for i, piece in enumerate(PIECES)}},
    }
    return settings | changed


def matrix(rows: int = len(PIECES), dimensions: int = 4) -> NDArray[np.float32]:
    return np.random.default_rng(5).standard_normal((rows, dimensions)).astype(np.float32)


def write_folder(folder: Path, settings: dict[str, Any], **tensors: NDArray[Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(settings), encoding="utf-8")
    safetensors.save_file(tensors, str(folder / "model.safetensors"))
    (folder / "config.json").write_text("{}")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "tiny model", word_pieces(), embeddings=matrix())


PHRASES = ["do not", "Do NOT likes it.", "likes", "xyzzy", "do xyzzy", "[CLS] do", "[cls] do", "[UNK]", "ab a", "do.it"]


def test_a_folder_is_a_source(folder: Path) -> None:
    source = as_source(folder)
    assert isinstance(source, SubwordVectors)
    assert source.name.startswith("folder:tiny_model-")
    plain = tokenizers.Tokenizer.from_str(json.dumps(word_pieces(truncation=None)))
    expected = plainly(plain, matrix().astype(np.float64), PHRASES, 1)
    assert np.abs(source.lookup(PHRASES) - expected).max() < 1e-6
    assert not source.lookup(["xyzzy", "[UNK]"]).any()
    sums, holds = source.word_sums(["do", "[CLS]", "likes"])
    assert holds.tolist() == [True, False, True]
    assert np.allclose(sums[2], matrix()[5] + matrix()[7])


def test_numbers_with_gaps_are_fine_if_there_are_rows(tmp_path: Path) -> None:
    source = as_source(write_folder(tmp_path / "m", with_a_gap(), embeddings=matrix(91)))
    together = matrix(91)[10] + matrix(91)[90]
    assert np.allclose(source.lookup(["ab"])[0], together / np.linalg.norm(together))


def test_copies_read_the_folder_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    source = as_source(folder.name)
    data = pickle.dumps(source)
    assert len(data) < 500 + len(str(folder))
    monkeypatch.chdir("/")
    for other in (pickle.loads(data), copy.deepcopy(source), copy.copy(source)):  # noqa: S301
        assert other.name == source.name
        assert np.array_equal(other.lookup(PHRASES), source.lookup(PHRASES))
    composed = pickle.loads(pickle.dumps(Composed(source)))  # noqa: S301
    assert np.array_equal(composed.lookup(PHRASES), Composed(source).lookup(PHRASES))
    write_folder(folder, word_pieces(), embeddings=-matrix())
    with pytest.raises(
        DataError, match=r"tiny model has changed: it holds folder:tiny_model-\w+, but folder:tiny_model-"
    ):
        pickle.loads(data)  # noqa: S301


def test_vectors_without_a_folder_travel_whole() -> None:
    tensors = {"embeddings": matrix()}
    source = SubwordVectors(json.dumps(word_pieces()).encode(), tensors, label="made", where="here")
    for other in (pickle.loads(pickle.dumps(source)), copy.deepcopy(source)):  # noqa: S301
        assert other.name == source.name
        assert np.array_equal(other.lookup(PHRASES), source.lookup(PHRASES))


def test_names_tell_folders_apart(folder: Path, tmp_path: Path) -> None:
    other = write_folder(tmp_path / "second", word_pieces(), embeddings=-matrix())
    assert as_source(folder).name.partition("-")[2] != as_source(other).name.partition("-")[2]


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8])
def test_weights_mappings_and_other_numbers(tmp_path: Path, dtype: Any) -> None:
    embeddings = (matrix(6) * 20).astype(dtype)
    mapping = np.array([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5], np.int32)
    weights = np.linspace(0.5, 2, len(PIECES))
    folder = write_folder(tmp_path / "m", word_pieces(), embeddings=embeddings, mapping=mapping, weights=weights)
    plain = tokenizers.Tokenizer.from_str(json.dumps(word_pieces(truncation=None)))
    whole = embeddings[mapping].astype(np.float64) * weights[:, None]
    assert np.abs(as_source(folder).lookup(PHRASES) - plainly(plain, whole, PHRASES, 1)).max() < 1e-5


PAIR = {"do": 0, "not": 1, "▁": 2, "d": 3, "o": 4, "▁do": 5, "o▁": 6, "<unk>": 7, "▁d": 8, "<s>": 9}
SPACES = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    ],
}


def byte_pairs(merges: list[list[str]], **changed: Any) -> dict[str, Any]:
    model: dict[str, Any] = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None}
    model |= {"end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": False, "ignore_merges": False}
    model |= {"vocab": PAIR, "merges": merges}
    settings = word_pieces(normalizer=SPACES, pre_tokenizer=None, added_tokens=[], truncation=None)
    return settings | {"model": model} | changed


def test_tokens_that_cross_spaces_are_left_whole(tmp_path: Path) -> None:
    """Here ``o▁`` is a token: the tokens of ``do do`` are not those of ``do`` twice."""
    settings = byte_pairs([["o", "▁"], ["▁", "d"]])
    source = as_source(write_folder(tmp_path / "m", settings, embeddings=matrix(len(PAIR))))
    assert isinstance(source, SubwordVectors)
    assert not source.word_sums(["do"])[1].any()
    plain = tokenizers.Tokenizer.from_str(json.dumps(settings))
    assert plain.encode("do do").tokens == ["▁d", "o▁", "d", "o"]
    asked = ["do do", "do", "o o o", "do xx"]
    expected = plainly(plain, matrix(len(PAIR)).astype(np.float64), asked, PAIR["<unk>"])
    assert np.abs(source.lookup(asked) - expected).max() < 1e-6


def without(settings: dict[str, Any], token: str) -> dict[str, Any]:
    vocabulary = {name: i for i, name in enumerate(name for name in settings["model"]["vocab"] if name != token)}
    return settings | {"model": settings["model"] | {"vocab": vocabulary}}


SEPARATE = without(byte_pairs([["▁", "d"], ["▁d", "o"]]), "o▁")


@pytest.mark.parametrize(
    ("settings", "separates"),
    [
        (SEPARATE, True),
        (SEPARATE | {"model": SEPARATE["model"] | {"ignore_merges": True}}, False),
        (SEPARATE | {"model": SEPARATE["model"] | {"dropout": 0.1}}, False),
        (SEPARATE | {"normalizer": None}, False),
        (SEPARATE | {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}}, False),
        (byte_pairs([["▁", "d"]]), False),
        (word_pieces(), True),
        (word_pieces(normalizer={"type": "NFKC"}), False),
        (word_pieces(normalizer=None, pre_tokenizer={"type": "WhitespaceSplit"}), True),
        (word_pieces(added_tokens=[{"id": 0, "content": "do not"}]), False),
    ],
)
def test_which_tokenizers_encode_words_one_by_one(settings: dict[str, Any], separates: bool) -> None:
    assert ready._separates_words(settings) is separates


# What cannot be used


def breaking(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def with_a_gap() -> dict[str, Any]:
    """Twelve tokens, the last of which has the number 90."""
    settings = word_pieces()
    settings["model"]["vocab"]["##b"] = 90
    return settings


BROKEN: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: (folder / "tokenizer.json").unlink(), r"tokenizer\.json: there is no such file"),
    (lambda folder: (folder / "model.safetensors").unlink(), r"model\.safetensors: there is no such file"),
    (breaking("tokenizer.json", b"{"), r"m has a tokenizer file that cannot be read \(.*\); copy or make it again"),
    (breaking("tokenizer.json", b"\xff"), "m has a tokenizer file that cannot be read"),
    (breaking("model.safetensors", b"\xff" * 16), r"is not a safetensors file that can be read \(.*\)"),
    (breaking("model.safetensors", b""), "is not a safetensors file that can be read"),
    (lambda folder: write_folder(folder, word_pieces(), a=matrix(), b=matrix()), "one matrix of vectors, but has 2"),
    (lambda folder: write_folder(folder, word_pieces(), a=matrix()[0]), "must hold one matrix of vectors, but has 0"),
    (
        lambda folder: write_folder(folder, word_pieces(), a=matrix(7)),
        "whose tokens are numbered up to 11, but vectors for the first 7; the two files",
    ),
    (
        lambda folder: write_folder(folder, word_pieces(), a=matrix(), weights=np.ones(3)),
        "whose tokens are numbered up to 11, but vectors for the first 3",
    ),
    (
        lambda folder: write_folder(folder, with_a_gap(), a=matrix()),
        "whose tokens are numbered up to 90, but vectors for the first 12; the two files must be of one model",
    ),
    (
        lambda folder: write_folder(folder, with_a_gap(), a=matrix(), mapping=np.zeros(90, np.int32)),
        "whose tokens are numbered up to 90, but vectors for the first 90",
    ),
    (
        lambda folder: write_folder(folder, word_pieces(), a=matrix(), weights=np.array(1.0)),
        "has weights that are not one number per token",
    ),
    (
        lambda folder: write_folder(folder, word_pieces(), a=matrix(), mapping=np.full(12, 12)),
        "maps tokens to rows that its matrix does not have",
    ),
    (
        lambda folder: write_folder(folder, word_pieces(), a=matrix() * np.float32(np.nan)),
        "has vectors with numbers that are not finite",
    ),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_folders_that_cannot_be_used(tmp_path: Path, change: Callable[[Path], object], message: str) -> None:
    folder = write_folder(tmp_path / "m", word_pieces(), embeddings=matrix())
    change(folder)
    with pytest.raises(DataError, match=message):
        as_source(folder).lookup(["do not"])


def test_a_matrix_of_numbers_that_numpy_does_not_have(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", word_pieces(), embeddings=matrix().astype(np.float16))
    data = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + size].replace(b'"F16"', b'"BF16"')
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + data[8 + size :])
    with pytest.raises(DataError, match=r"is not a safetensors file that can be read \(.*(BF16|bfloat16)"):
        as_source(folder)


def test_a_damaged_tokenizer_is_a_sentence(tmp_path: Path) -> None:
    """A field that is missing or strange, or a byte that is another one: a source as good as any, or one sentence."""
    strange: tuple[Any, ...] = (..., None, -1, 10**30, 0.5, "x", [], {}, True)

    def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [place, *(each for name, part in inner for each in places(part, (*place, name)))]

    whole = json.dumps(word_pieces()).encode()
    damaged = []
    for place in places(word_pieces())[1:]:
        for value in strange:
            settings = word_pieces()
            inner: Any = settings
            for name in place[:-1]:
                inner = inner[name]
            if value is ...:
                del inner[place[-1]]
            else:
                inner[place[-1]] = value
            damaged.append(json.dumps(settings).encode())
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), 7)]
    folder = write_folder(tmp_path / "m", word_pieces(), embeddings=matrix())
    refused = 0
    for content in damaged:
        (folder / "tokenizer.json").write_bytes(content)
        try:
            as_source(folder).lookup(PHRASES)
        except DataError:
            refused += 1
    assert refused > len(damaged) // 4


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_is_no_broken_file(stop: type[BaseException]) -> None:
    """Ctrl-C, and the exception of SIGTERM."""
    with pytest.raises(stop), readable_tokenizer("m"):
        raise stop
