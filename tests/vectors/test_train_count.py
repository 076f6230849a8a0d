"""The files and levels of a corpus against ``collections.Counter``."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.skipgram import NO_ENTRY, SENTENCE_END, ngram_counts
from trubleu.errors import DataError
from trubleu.vectors import count
from trubleu.vectors.count import MappedNumbers, count_pairs, encode_pairs, encode_words, spell
from trubleu.vectors.training_options import TrainingOptions

if TYPE_CHECKING:
    from pathlib import Path

SENTENCES = st.lists(st.lists(st.sampled_from(["a", "b", "c", "_", "a_b", "é"]), max_size=9), max_size=12)


def silent(_more: int) -> None:
    pass


@given(
    sentences=SENTENCES,
    least=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
    most=st.sampled_from([1, 3, 1000]),
)
def test_levels_hold_every_frequent_ngram(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[str]], least: tuple[int, int, int], most: int
) -> None:
    folder = tmp_path_factory.mktemp("count")
    (folder / "text").write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")
    options = TrainingOptions(orders=(1, 2, 3), min_count=least, tokenize="none")
    files = [folder / f"{order}.ids" for order in (1, 2, 3)]
    vocabulary, level = encode_words([folder / "text"], files[0], options, silent)
    assert vocabulary.total == sum(map(len, sentences))
    levels = [level]
    for order in (2, 3):
        levels.append(count_pairs(files[order - 2], levels[-1], options.least_count(order), silent, most))
        encode_pairs(files[order - 2], files[order - 1], levels[-1])
    words = vocabulary.words()
    for order, wanted in zip((1, 2, 3), least, strict=True):
        level = levels[order - 1]
        assert (np.diff(level.counts.astype(np.int64)) <= 0).all()
        listed = level.at_least(wanted)
        ngrams = spell(words, levels, order, listed)
        found = dict(zip(ngrams, level.counts[:listed].tolist(), strict=True))
        assert len(found) == listed
        assert found == {g: n for g, n in ngram_counts(sentences, order).items() if n >= wanted}
        if not any(sentences):
            continue
        # Where each n-gram stands.
        expected: list[str] = []
        for sentence in filter(None, sentences):
            expected += [" ".join(sentence[at : at + order]) for at in range(len(sentence) - order + 1)]
            expected += [""] * min(order - 1, len(sentence)) + ["END"]
        numbers = MappedNumbers(files[order - 1]).numbers.tolist()
        names = dict(enumerate(ngrams)) | {SENTENCE_END: "END"}
        assert [names.get(number, "") for number in numbers] == [
            ngram if ngram in found or ngram == "END" else "" for ngram in expected
        ]


def test_files_are_read_one_after_the_other_and_tokenised_as_in_scoring(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Hello, world.\n\n  \n")
    (tmp_path / "b.gz").write_bytes(gzip.compress("HELLO Ärger".encode()))
    options = TrainingOptions(orders=(1,), min_count=(1,), lowercase=True)
    vocabulary, level = encode_words([tmp_path / "a.txt", tmp_path / "b.gz"], tmp_path / "1.ids", options, silent)
    assert vocabulary.words() == ("hello", ",", "world", ".", "ärger")
    assert level.counts.tolist() == [2, 1, 1, 1, 1]
    assert MappedNumbers(tmp_path / "1.ids").numbers.tolist() == [0, 1, 2, 3, SENTENCE_END, 0, 4, SENTENCE_END]


def test_a_tokenizer_of_our_own(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Isn't it? It is.\n")
    options = TrainingOptions(orders=(1,), min_count=(2,), tokenize="words", lowercase=True)
    vocabulary, _ = encode_words([tmp_path / "a.txt"], tmp_path / "1.ids", options, silent)
    assert vocabulary.words() == ("it",)
    numbers = MappedNumbers(tmp_path / "1.ids").numbers.tolist()
    assert numbers == [NO_ENTRY, 0, NO_ENTRY, 0, NO_ENTRY, NO_ENTRY, SENTENCE_END]


def test_chunks_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    sentences = [[f"w{number}" for number in rng.integers(0, 9, rng.integers(1, 9))] for _ in range(300)]
    (tmp_path / "text").write_text("".join(" ".join(sentence) + "\n" for sentence in sentences))
    options = TrainingOptions(orders=(1, 2), min_count=(1, 2), tokenize="none")
    results = []
    for size in (count._CHUNK, 7):
        monkeypatch.setattr(count, "_CHUNK", size)
        monkeypatch.setattr(count, "_LINES", size)
        _, words = encode_words([tmp_path / "text"], tmp_path / "1.ids", options, silent)
        pairs = count_pairs(tmp_path / "1.ids", words, 2, silent)
        encode_pairs(tmp_path / "1.ids", tmp_path / "2.ids", pairs)
        results.append([(tmp_path / name).read_bytes() for name in ("1.ids", "2.ids")])
    assert results[0] == results[1]


def test_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\n")
    with pytest.raises(DataError, match=r"missing.1\.raw cannot be written: No such file or directory; make room"):
        encode_words([tmp_path / "text"], tmp_path / "missing" / "1.ids", TrainingOptions(), silent)
