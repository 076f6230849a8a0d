"""Training as a whole: stores, checkpoints, resuming, and what is refused."""

from __future__ import annotations

import errno
import os
import signal
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.oracles import skipgram
from tests.oracles.skipgram import ngram_counts
from trubleu.errors import DataError, UsageError
from trubleu.execution import hashing
from trubleu.execution.cache import KIND, Cache
from trubleu.files.arrays import ArrayFile
from trubleu.progress import Bars
from trubleu.text import tokenizer
from trubleu.vectors.store import VectorStore
from trubleu.vectors.training import options as options_module
from trubleu.vectors.training import trainer as training
from trubleu.vectors.training.counts import MappedNumbers, text_ranges
from trubleu.vectors.training.model import Model, keep_thresholds
from trubleu.vectors.training.options import TrainingOptions
from trubleu.vectors.training.trainer import Folder, State, train_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def sentences(count: int = 1500, seed: int = 0) -> list[list[str]]:
    """Text with phrases in it."""
    rng = np.random.default_rng(seed)
    phrases = ["do not like", "new york", "as_well as", "of course", "rain", "snow", "we", "they", "the", "a", ","]
    return [" ".join(rng.choice(phrases, rng.integers(2, 8))).split() for _ in range(count)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(" ".join(words) + "\n" for words in sentences()))
    return path


SMALL: dict[str, Any] = {"dim": 12, "epochs": 2, "min_count": (5, 30, 40), "tokenize": "none"}
MODES = ("separate", "joint")


def small(**choice: Any) -> TrainingOptions:
    return TrainingOptions(**SMALL | choice)


def state_of(out: Path, corpus: Path, options: TrainingOptions) -> tuple[State, object]:
    """Return the state and the matrices of a first model that was not finished."""
    folder, ranges = Folder(out, options, Cache()), text_ranges([corpus])
    folder.corpus = [(text.file, text.span.digest().hex()) for text in ranges]
    levels = folder.read_counts().levels
    return folder.read_state(0, training._materials(folder, levels, options)[0])


@pytest.mark.parametrize("mode", MODES)
def test_a_store_holds_frequent_ngrams_with_their_counts(corpus: Path, tmp_path: Path, mode: Any) -> None:
    made = train_vectors([corpus], tmp_path / "v.store", small(mode=mode), threads=1)
    store = VectorStore.open(made.path)
    counts = [ngram_counts(sentences(), order) for order in (1, 2, 3)]
    expected = {
        gram: n
        for order, least in zip((0, 1, 2), (5, 30, 40), strict=True)
        for gram, n in counts[order].items()
        if n >= least
    }
    assert store.counts is not None
    assert dict(zip(store.ngrams(), store.counts.tolist(), strict=True)) == expected
    assert made.entries == {order: int((store.lengths == order).sum()) for order in (1, 2, 3)}
    assert made.words == sum(map(len, sentences()))
    assert store.orders == (1, 2, 3)
    assert store.dimensions == 12
    assert store.options["mode"] == mode
    assert store.options["corpus"] == "text.txt"
    assert len(made.losses) == (6 if mode == "separate" else 2)
    assert made.losses[1] < made.losses[0]
    assert "as_well as" in store.ngrams()
    assert not (tmp_path / "v.store.training").exists()


def test_the_whole_way_equals_the_restatement(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From options to vectors: thresholds, weights of negatives, learning rates and streams are those of word2vec."""
    kept: list[Path] = []
    monkeypatch.setattr(Folder, "remove", lambda folder: kept.append(folder.path))
    corpus.write_text("".join(" ".join(words) + "\n" for words in sentences(60)))
    options = TrainingOptions(orders=(2,), min_count=(3,), dim=12, epochs=2, tokenize="none", sample=0.01, seed=8)
    made = train_vectors([corpus], tmp_path / "v.store", options, threads=1)
    store = VectorStore.open(made.path)
    assert store.counts is not None
    counts = store.counts.astype(float)
    enough = 0.01 * counts.sum()
    shares = (np.sqrt(counts / enough) + 1) * enough / counts
    keep = [2**32 - 1 if share >= 1 else int(share * 2**32) for share in shares]
    vectors = skipgram.first_vectors(len(counts), 12, seed=8, stream=2)
    plain = skipgram.SkipGram(
        vectors, np.zeros_like(vectors), (counts**0.75).tolist(), keep, keep, 5, 5, False, seed=8, stream=2
    )
    numbers = MappedNumbers(kept[0] / "order-2.ids").numbers.tolist()
    for epoch in range(2):  # one block each, so the learning rate goes down once
        plain.train([numbers], [2], [len(counts)], epoch, 0.025, (0.025 - 0.0001) / 2)
    np.testing.assert_array_equal(store.lookup(store.ngrams()), plain.vectors[:, :12])


def test_sub_sampling_can_be_switched_off() -> None:
    assert keep_thresholds(np.array([5.0, 1e9]), 0).tolist() == [2**32 - 1] * 2


@pytest.mark.parametrize("mode", MODES)
def test_same_seed_same_bytes(corpus: Path, tmp_path: Path, mode: Any) -> None:
    stores = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train_vectors([corpus], tmp_path / name, small(mode=mode, seed=seed), threads=1)
        stores.append((tmp_path / name).read_bytes())
    assert stores[0] == stores[1] != stores[2]


def test_output_words(corpus: Path, tmp_path: Path) -> None:
    options = small(mode="joint", output="words")
    both = [train_vectors([corpus], tmp_path / name, options, threads=1) for name in ("a", "b")]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    train_vectors([corpus], tmp_path / "c", small(mode="joint"), threads=1)
    same, words = VectorStore.open(tmp_path / "c"), VectorStore.open(both[0].path)
    assert same.ngrams() == words.ngrams()
    assert not np.array_equal(same.lookup(["do not like"]), words.lookup(["do not like"]))


def test_several_files_are_one_corpus(corpus: Path, tmp_path: Path) -> None:
    lines = corpus.read_text().splitlines(keepends=True)
    (tmp_path / "one.txt").write_text("".join(lines[:700]))
    (tmp_path / "two.txt").write_text("".join(lines[700:]))
    train_vectors([corpus], tmp_path / "a", small(), threads=1)
    train_vectors([tmp_path / "one.txt", tmp_path / "two.txt"], tmp_path / "b", small(), threads=1)
    whole, parts = VectorStore.open(tmp_path / "a"), VectorStore.open(tmp_path / "b")
    np.testing.assert_array_equal(whole.lookup(whole.ngrams()), parts.lookup(whole.ngrams()))


def test_half_precision(corpus: Path, tmp_path: Path) -> None:
    train_vectors([corpus], tmp_path / "a", small(orders=(1,), min_count=(5,)), threads=1, dtype="float16")
    assert VectorStore.open(tmp_path / "a").precision == "float16"


def test_orders_without_words(corpus: Path, tmp_path: Path) -> None:
    made = train_vectors([corpus], tmp_path / "a", small(orders=(3,), min_count=(40,)), threads=2)
    assert made.entries.keys() == {3}
    assert all(len(ngram.split()) == 3 for ngram in VectorStore.open(made.path).ngrams())


class PowerError(Exception):
    """The power is gone."""


@contextmanager
def failing_after(monkeypatch: pytest.MonkeyPatch, calls: int) -> Iterator[None]:
    """Let the kernel work so many times, and then fail in a way that nobody expects."""
    usual, done = Model.train, [0]

    def failing(*arguments: Any) -> Any:
        done[0] += 1
        if done[0] > calls:
            raise PowerError
        return usual(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Model, "train", failing)
        yield


@pytest.mark.parametrize(
    ("mode", "calls"), [*(("separate", calls) for calls in range(6)), *(("joint", calls) for calls in range(3))]
)
def test_resuming_equals_never_having_stopped(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Any, calls: int
) -> None:
    options = small(mode=mode, epochs=3, orders=(1, 2), min_count=(5, 30))
    whole = train_vectors([corpus], tmp_path / "a", options, threads=1)
    with failing_after(monkeypatch, calls), pytest.raises(PowerError):
        train_vectors([corpus], tmp_path / "b", options, threads=1)
    assert list((tmp_path / "b.training").glob("*.result"))
    assert not (tmp_path / "b").exists()
    again = train_vectors([corpus], tmp_path / "b", options, threads=1, resume=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert again.losses == whole.losses
    assert not (tmp_path / "b.training").exists()


def test_resuming_when_only_the_store_was_missing(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_vectors([corpus], tmp_path / "a", small(), threads=1)
    with monkeypatch.context() as patch:
        patch.setattr(VectorStore, "write", fail_with(DataError("the disk is full")))
        with pytest.raises(DataError, match="the disk is full"):
            train_vectors([corpus], tmp_path / "b", small(), threads=1)
    with failing_after(monkeypatch, 0):
        train_vectors([corpus], tmp_path / "b", small(), threads=1, resume=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def fail_with(error: BaseException) -> Callable[..., Any]:
    def fail(*_arguments: Any, **_options: Any) -> Any:
        raise error

    return fail


def test_ctrl_c_leaves_a_checkpoint_within_an_epoch(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write_text("".join(" ".join(words) + "\n" for words in sentences(9000)))
    monkeypatch.setattr(training, "_BLOCKS_A_CALL", 1)
    monkeypatch.setattr(training, "_BLOCKS_A_THREAD", 1)
    options = small(orders=(1,), min_count=(5,))
    train_vectors([corpus], tmp_path / "a", options, threads=1)

    class Interrupting(Bars):
        """Presses Ctrl-C as soon as the first part is done."""

        def note(self, text: str) -> None:
            assert text.startswith("epoch 1 of 2, loss ")
            os.kill(os.getpid(), signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match=r"interrupted; continue with --resume, or remove .*b\.training"):
        train_vectors([corpus], tmp_path / "b", options, threads=1, progress=Interrupting(quiet=True))
    assert signal.getsignal(signal.SIGINT) is handler
    state, matrices = state_of(tmp_path / "b", corpus, options)
    assert (state.epoch, state.block) == (0, 1)
    assert matrices is not None
    train_vectors([corpus], tmp_path / "b", options, threads=1, resume=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_disk_that_fills_up_leaves_the_checkpoint_before(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = small(orders=(1,), min_count=(5,), epochs=3)
    train_vectors([corpus], tmp_path / "a", options, threads=1)
    usual, synced = os.fsync, [0]

    def full(descriptor: int) -> None:
        synced[0] += 1
        if synced[0] == 6:  # after two files of a range, the numbers, the vocabulary, and a checkpoint
            raise OSError(errno.ENOSPC, "No space left on device")
        usual(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(
            DataError, match=r"\.result cannot be written: No space left on device; nothing was changed"
        ):
            train_vectors([corpus], tmp_path / "b", options, threads=1)
    state, _ = state_of(tmp_path / "b", corpus, options)
    assert state.epoch == 1
    train_vectors([corpus], tmp_path / "b", options, threads=1, resume=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


OTHERS: list[dict[str, Any]] = [
    {"mode": "joint"},
    {"orders": (1, 2), "min_count": (5, 30)},
    {"dim": 13},
    {"window": 4},
    {"negative": 4},
    {"epochs": 3},
    {"min_count": (5, 30, 41)},
    {"sample": 1e-4},
    {"alpha": 0.05},
    {"seed": 2},
    {"tokenize": "none"},
    {"lowercase": True},
]


OTHER = r"v\.training holds no training of this text with these options, .*; continue with the same, or begin again"


def test_resuming_with_other_options_or_text(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with failing_after(monkeypatch, 1), pytest.raises(PowerError):
        train_vectors([corpus], tmp_path / "v", small(tokenize="words"), threads=1)
    before = {path.name: path.read_bytes() for path in (tmp_path / "v.training").iterdir()}

    def refused(**choice: Any) -> None:
        with pytest.raises(UsageError, match=OTHER):
            train_vectors([corpus], tmp_path / "v", small(**{"tokenize": "words"} | choice), threads=1, resume=True)
        assert {path.name: path.read_bytes() for path in (tmp_path / "v.training").iterdir()} == before

    for other in OTHERS:
        refused(**other)
    refused(mode="joint", beta=0.25)
    now = tokenizer("words")
    with monkeypatch.context() as patch:
        patch.setattr(options_module, "tokenizer", lambda _name: replace(now, name="words-0"))
        refused()
    with monkeypatch.context() as patch:
        patch.setattr(hashing, "code_digest", lambda: "other code")
        refused()
    text = corpus.read_text()
    corpus.write_text(text + "more\n")
    refused()
    corpus.write_text(text)
    train_vectors([corpus], tmp_path / "v", small(tokenize="words"), threads=1, resume=True)


def test_resuming_without_a_checkpoint(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no checkpoint in .*v\.training; train without --resume"):
        train_vectors([corpus], tmp_path / "v", small(), resume=True)


def test_an_unfinished_training_is_not_thrown_away(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with failing_after(monkeypatch, 0), pytest.raises(PowerError):
        train_vectors([corpus], tmp_path / "v", small(), threads=1)
    with pytest.raises(
        UsageError, match=r"v\.training holds a training that was not finished; continue it with --resume"
    ):
        train_vectors([corpus], tmp_path / "v", small())


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("damage", ["cut", "gone", "swapped"])
def test_a_corpus_of_numbers_that_is_not_what_was_written(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: int, damage: str
) -> None:
    with failing_after(monkeypatch, 0), pytest.raises(PowerError):
        train_vectors([corpus], tmp_path / "v", small(), threads=1)
    path = tmp_path / "v.training" / f"order-{order}.ids"
    numbers = np.fromfile(path, np.uint32)
    place = int(np.flatnonzero(numbers[1:] != numbers[:-1])[-1])
    if damage == "swapped":
        numbers[[place, place + 1]] = numbers[[place + 1, place]]  # all of them are still in the vocabulary
    path.write_bytes(numbers.tobytes()[: -4 if damage == "cut" else None])
    if damage == "gone":
        path.unlink()
    with pytest.raises(UsageError, match=OTHER):
        train_vectors([corpus], tmp_path / "v", small(), threads=1, resume=True)
    train_vectors([corpus], tmp_path / "v", small(), threads=1, resume=True, cache=Cache(anew=True))


def entry(folder: Path, kind: str) -> Path:
    """Return an entry of a training by the array that it has."""
    (found,) = [path for path in folder.glob("*.result") if kind in ArrayFile(path, KIND).lengths]
    return found


@pytest.mark.parametrize("kind", ["heap", "vectors", "matrix-0"])
def test_entries_that_are_missing_or_damaged(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    train_vectors([corpus], tmp_path / "w", small(), threads=1)
    for damage in ("gone", "flipped", "cut"):
        with failing_after(monkeypatch, 3), pytest.raises(PowerError):
            train_vectors([corpus], tmp_path / "v", small(), threads=1)
        path = entry(tmp_path / "v.training", kind)
        data = bytearray(path.read_bytes())
        data[-100] ^= 1
        path.write_bytes(data if damage == "flipped" else data[:-64])
        if damage == "gone":
            path.unlink()
        if kind == "heap":
            with pytest.raises(UsageError, match=OTHER):
                train_vectors([corpus], tmp_path / "v", small(), threads=1, resume=True)
        cache = Cache(anew=kind == "heap")
        train_vectors([corpus], tmp_path / "v", small(), threads=1, resume=True, cache=cache)
        assert cache.reused == (2 if kind == "matrix-0" else 0)  # which also replaces the state of the second model
        assert (tmp_path / "v").read_bytes() == (tmp_path / "w").read_bytes()


def test_a_model_that_is_damaged_when_the_store_is_written(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Folder.write_model

    def damaged(folder: Folder, *arguments: Any) -> None:
        usual(folder, *arguments)
        path = entry(folder.path, "vectors")
        path.write_bytes(path.read_bytes()[:-1] + b"x")

    options = small(mode="joint")
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write_model", damaged)
        with pytest.raises(DataError, match=r"a model in .*v\.training was altered or damaged; continue with --resume"):
            train_vectors([corpus], tmp_path / "v", options, threads=1)
    train_vectors([corpus], tmp_path / "v", options, threads=1, resume=True)
    train_vectors([corpus], tmp_path / "w", options, threads=1)
    assert (tmp_path / "v").read_bytes() == (tmp_path / "w").read_bytes()


@pytest.mark.parametrize(
    ("text", "choice", "message"),
    [
        ("", {}, r"text\.txt has no words; give text, one sentence per line"),
        ("\n \n\n", {}, r"text\.txt has no words"),
        ("one two three\n", {}, r"text\.txt has 3 words, no more than the window of 5; give more text"),
        ("one two three four five six\n", {}, r"no word was seen 5 times or more, so order 1 is empty"),
        (
            "one two three\n" * 20,
            {},
            r"30 times or more, so order [23] is empty; give more text, or a smaller .* 30 for order 2$",
        ),
        ("one two\n" * 60, {}, r"no n-gram of 3 words was seen 40 times or more, so order [23] is empty"),
        (
            "one\n" * 60,
            {"orders": (1,), "min_count": (5,)},
            r"no two frequent n-grams of order 1 stand in one line, so there is nothing to learn from",
        ),
    ],
)
def test_too_little_text(tmp_path: Path, text: str, choice: dict[str, Any], message: str) -> None:
    (tmp_path / "text.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        train_vectors([tmp_path / "text.txt"], tmp_path / "v", small(**choice), threads=1)
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_vectors_that_grow_without_bounds(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def overflowing(*arguments: Any) -> Any:
        model = Model(*arguments)
        model.input[0, 0] = np.inf
        return model

    monkeypatch.setattr(training, "Model", overflowing)
    with pytest.raises(DataError, match=r"grew without bounds in epoch 1; train again with a smaller alpha"):
        train_vectors([corpus], tmp_path / "v", small(), threads=1)
    assert not (tmp_path / "v.training").exists()


def test_files_that_cannot_be(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing\.txt: there is no such file"):
        train_vectors([tmp_path / "missing.txt"], tmp_path / "v", small())
    with pytest.raises(DataError, match=r"nowhere"):
        train_vectors([corpus], tmp_path / "nowhere" / "v", small())
    with pytest.raises(UsageError, match=r"text\.txt is part of the corpus and would be lost"):
        train_vectors([corpus], corpus, small())
    with pytest.raises(UsageError, match="standard output"):
        train_vectors([corpus], "-", small())
    with pytest.raises(UsageError, match="list of files"):
        train_vectors(str(corpus), tmp_path / "v", small())
    with pytest.raises(UsageError, match="dtype=float8 is not known; known: float32, float16"):
        train_vectors([corpus], tmp_path / "v", small(), dtype="float8")  # type: ignore[arg-type]
    (tmp_path / "v.training").write_text("not a folder")
    with pytest.raises(DataError, match=r"the folder .*v\.training cannot be created"):
        train_vectors([corpus], tmp_path / "v", small())


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"mode": "both"}, "mode must be separate or joint, not 'both'"),
        ({"output": "chars"}, "output must be same or words, not 'chars'"),
        ({"output": "words"}, "output words is for mode joint"),
        ({"orders": ()}, "orders must be different whole numbers from 1 to 9, rising, such as 1-3; not none"),
        ({"orders": (2, 1)}, "not 2,1"),
        ({"orders": (1, 10)}, "not 1,10"),
        ({"mode": "joint", "orders": (2, 3)}, "give orders that begin with 1"),
        ({"mode": "joint", "orders": (1,)}, "give orders that begin with 1"),
        ({"min_count": (1, 2)}, "min-count has 2 numbers for 3 orders; give one for each, or just one"),
        ({"min_count": (0,)}, "min-count must be a whole number from 1"),
        ({"dim": 5000}, "dim must be a whole number from 1 to 4,096, not 5000"),
        ({"negative": 64}, "negative must be a whole number from 1 to 63, not 64"),
        ({"window": 0}, "window must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"seed": -1}, "seed must be"),
        ({"mode": "joint", "beta": -0.1}, "beta must be a number from 0 to 10, not -0.1"),
        ({"beta": 0.25}, "beta is for mode joint: .*; leave it out"),
        ({"sample": float("nan")}, "sample must be a number from 0 to 1, not nan"),
        ({"alpha": 2.0}, "alpha must be a number from 0.0001 to 1, not 2.0"),
    ],
)
def test_options_that_cannot_be(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TrainingOptions(**choice)


def test_one_least_count_for_all_orders() -> None:
    assert TrainingOptions(min_count=(7,)).min_count == (7, 7, 7)
    assert TrainingOptions(orders=(1, 2, 3, 4)).min_count == (5, 30, 50, 50)
