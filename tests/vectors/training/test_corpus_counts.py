"""Counting a corpus, however it is cut, against ``collections.Counter``."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.corpus_numbers import counted
from tests.oracles.skipgram import NO_ENTRY, SENTENCE_END, ngram_counts
from trubleu.execution import engine
from trubleu.execution.cache import Cache
from trubleu.progress import Bars
from trubleu.vectors.training import counts
from trubleu.vectors.training import counts as count_pairs
from trubleu.vectors.training.counts import (
    BucketRange,
    MappedNumbers,
    bucket_of,
    bucket_ranges,
    chunks,
    count_corpus,
    spell,
)
from trubleu.vectors.training.options import TrainingOptions
from trubleu.vectors.training.trainer import Folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from trubleu.vectors.training.counts import Counted

SENTENCES = st.lists(st.lists(st.sampled_from(["a", "b", "c", "_", "a_b", "é"]), max_size=9), min_size=1, max_size=12)
SILENT = Bars(quiet=True)


def count(paths: Sequence[Path], folder: Path, options: TrainingOptions) -> tuple[Counted, list[list[int]]]:
    """Count, and return what was found and the corpus as numbers of each order."""
    place = Folder(folder / "v", options, Cache())
    with engine("local") as here, place.locked():
        found = count_corpus(paths, place, options, here, SILENT)
    orders = range(1, options.orders[-1] + 1)
    return found, [MappedNumbers(place.numbers(order)).numbers.tolist() for order in orders]


@settings(max_examples=40)
@given(
    sentences=SENTENCES,
    least=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
    bytes_a_range=st.sampled_from([20, 50, 1000]),
    places_a_range=st.sampled_from([9, 30, 1000]),
    most=st.sampled_from([1, 3, 1000]),
    chunk=st.sampled_from([3, 1000]),
)
def test_however_the_corpus_is_cut(
    tmp_path_factory: pytest.TempPathFactory,
    sentences: list[list[str]],
    least: tuple[int, int, int],
    bytes_a_range: int,
    places_a_range: int,
    most: int,
    chunk: int,
) -> None:
    # Enough to be trained on, whatever was drawn: the same words and n-grams of each order.
    sentences = [*sentences, *[["a", "b", "c"]] * 4]
    folder = tmp_path_factory.mktemp("count")
    (folder / "text").write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")
    options = TrainingOptions(orders=(1, 2, 3), min_count=least, tokenize="none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)  # there are many small files
        patch.setattr(counts, "RANGE", bytes_a_range)
        patch.setattr(count_pairs, "PLACES", places_a_range)
        patch.setattr(count_pairs, "MOST_PAIRS", most)
        patch.setattr(counts, "_CHUNK", chunk)
        found, orders = count([folder / "text"], folder, options)
    expected = counted(sentences, [options.least_count(order) for order in (1, 2, 3)])
    words = found.vocabulary.words()
    assert list(words) == expected.words
    assert found.vocabulary.total == sum(map(len, sentences))
    assert found.levels[0].counts.tolist() == expected.counts
    for level, wanted in zip(found.levels[1:], expected.levels, strict=True):
        columns = (level.firsts.tolist(), level.seconds.tolist(), level.counts.tolist())
        assert list(zip(*columns, strict=True)) == wanted
    assert orders == expected.numbers
    # And these are the n-grams, spelled out.
    for order, wanted_count in zip((1, 2, 3), least, strict=True):
        listed = found.levels[order - 1].at_least(wanted_count)
        ngrams = spell(words, found.levels, order, listed)
        named = dict(zip(ngrams, found.levels[order - 1].counts[:listed].tolist(), strict=True))
        assert named == {g: n for g, n in ngram_counts(sentences, order).items() if n >= wanted_count}
    left = {path.name for path in (folder / "v.training").iterdir()} - {"lock"}
    assert left == {f"order-{order}.ids" for order in (1, 2, 3)}


def test_files_are_read_one_after_the_other_and_tokenised_as_in_scoring(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Hello, world.\n\n  \n")
    (tmp_path / "b.gz").write_bytes(gzip.compress("HELLO Ärger".encode()))
    (tmp_path / "empty").write_text("")
    options = TrainingOptions(orders=(1,), min_count=(1,), lowercase=True)
    found, orders = count([tmp_path / "a.txt", tmp_path / "empty", tmp_path / "b.gz"], tmp_path, options)
    assert found.vocabulary.words() == ("hello", ",", "world", ".", "ärger")
    assert found.levels[0].counts.tolist() == [2, 1, 1, 1, 1]
    assert orders == [[0, 1, 2, 3, SENTENCE_END, 0, 4, SENTENCE_END]]


def test_a_file_may_come_twice(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three\n")
    options = TrainingOptions(orders=(1,), min_count=(1,), tokenize="none")
    found, orders = count([tmp_path / "a.txt"] * 2, tmp_path, options)
    assert found.levels[0].counts.tolist() == [2, 2, 2]
    assert orders == [[0, 1, 2, SENTENCE_END] * 2]


def test_a_tokenizer_of_our_own(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Isn't it? It is.\n")
    options = TrainingOptions(orders=(1,), min_count=(2,), tokenize="words", lowercase=True)
    found, orders = count([tmp_path / "a.txt"], tmp_path, options)
    assert found.vocabulary.words() == ("it",)
    assert orders == [[NO_ENTRY, 0, NO_ENTRY, 0, NO_ENTRY, NO_ENTRY, SENTENCE_END]]


@given(st.lists(st.lists(st.integers(0, 9), min_size=6, max_size=6), min_size=1, max_size=4), st.integers(1, 40))
def test_buckets_are_put_together_as_far_as_they_fit(sizes: list[list[int]], most: int) -> None:
    ranges = bucket_ranges(np.array(sizes), most)
    totals = [sum(column) for column in zip(*sizes, strict=True)]
    assert [bucket for each in ranges for bucket in range(each.first, each.end)] == list(range(6))
    pairs = [sum(totals[each.first : each.end]) for each in ranges]
    assert all(size <= most or each.end == each.first + 1 for each, size in zip(ranges, pairs, strict=True))
    assert all(size + totals[each.first] > most for size, each in zip(pairs, ranges[1:], strict=False))
    assert str(BucketRange(3, 5)) == "buckets 4 to 5"


def test_buckets_are_filled_evenly() -> None:
    rng = np.random.default_rng(1)
    # As pairs of frequent words are: small numbers.
    firsts, seconds = (np.minimum(rng.zipf(1.3, 200_000), 50_000).astype(np.uint32) for _ in range(2))
    pairs = np.unique(np.stack([firsts, seconds]), axis=1)
    sizes = np.bincount(bucket_of(pairs[0], pairs[1]), minlength=count_pairs.BUCKETS)
    assert len(sizes) == count_pairs.BUCKETS
    assert sizes.max() < 1.5 * sizes.mean()
    assert sizes.min() > 0.6 * sizes.mean()


@pytest.mark.parametrize(("first", "size"), [(0, None), (0, 10), (4, 3), (9, 1)])
@pytest.mark.parametrize("overlap", [0, 1])
def test_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, size: Any, overlap: int) -> None:
    np.arange(10, dtype=np.uint32).tofile(tmp_path / "x")
    monkeypatch.setattr(counts, "_CHUNK", 2)
    found = [chunk.tolist() for chunk in chunks(tmp_path / "x", first, size, overlap=overlap)]
    end = 10 if size is None else first + size
    begins = range(first, end, 2)
    assert found == [list(range(begin, min(min(begin + 2, end) + overlap, 10))) for begin in begins]
