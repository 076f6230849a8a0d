"""Counting on engines, interrupted and continued: the same bytes in the end, and clear sentences before."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from trubleu.cli.progress import Bars
from trubleu.data.array_file import write_arrays
from trubleu.engines import engine
from trubleu.errors import BadPartitionsError, DataError, EngineError, UsageError
from trubleu.vectors import count_pairs, numbers, text_ranges
from trubleu.vectors import train as training
from trubleu.vectors.checkpoint import Folder
from trubleu.vectors.count_words import ReadWords
from trubleu.vectors.counting import count_corpus
from trubleu.vectors.train import train_vectors
from trubleu.vectors.training_options import TrainingOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OPTIONS = TrainingOptions(orders=(1, 2, 3), min_count=(2, 3, 3), dim=8, epochs=1, tokenize="none")
SILENT = Bars(quiet=True)


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three files, cut into five ranges, and their numbers into several."""
    rng = np.random.default_rng(3)
    lines = [" ".join(f"w{number}" for number in rng.zipf(1.6, rng.integers(1, 12)) % 40) for _ in range(300)]
    content = "".join(f"{line}\n" for line in lines).encode()
    (tmp_path / "a.txt").write_bytes(content[:2000] + b"\n")
    (tmp_path / "b.gz").write_bytes(gzip.compress(content[2000:4000]))
    (tmp_path / "c.txt").write_bytes(content[4000:])
    monkeypatch.setattr(text_ranges, "RANGE", 1500)
    monkeypatch.setattr(count_pairs, "PLACES_ALONE", 900)
    monkeypatch.setattr(count_pairs, "PLACES_A_RANGE", 700)
    return [tmp_path / name for name in ("a.txt", "b.gz", "c.txt")]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def count(corpus: list[Path], out: Path, *, begin: bool = True) -> dict[str, bytes]:
    """Count in this process, and return what is in the folder."""
    folder = Folder(out)
    if begin:
        folder.begin()
    with engine("local") as here:
        folder.write_vocabulary(*count_corpus(corpus, folder, OPTIONS, here, SILENT))
    return contents(folder.path)


def test_a_store_has_the_same_bytes_whoever_counted(corpus: list[Path], tmp_path: Path) -> None:
    train_vectors(corpus, tmp_path / "one", OPTIONS, threads=1)
    with engine("local:2") as processes:
        train_vectors(corpus, tmp_path / "two", OPTIONS, threads=1, engine=processes)
        # Where a partition is bad, the others are done, and nothing is there in the end.
        corpus[1].write_bytes(corpus[1].read_bytes()[:-20])
        with pytest.raises(
            BadPartitionsError, match=r"1 of \d+ partitions .*b\.gz \(.*gzip data is damaged.*\); repair that, and cont"
        ):
            train_vectors(corpus, tmp_path / "bad", OPTIONS, engine=processes)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert not (tmp_path / "bad").exists()
    assert not (tmp_path / "two.training").exists()


def test_a_corpus_that_is_not_cut(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = count(corpus, tmp_path / "a")
    monkeypatch.setattr(text_ranges, "RANGE", 10**9)
    monkeypatch.setattr(count_pairs, "PLACES_ALONE", 10**9)
    assert count(corpus, tmp_path / "b") == expected


class PowerError(Exception):
    """The power is gone."""


def failing_at(call: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Let so many parts be written, and then fail; the calls are counted."""
    usual, done = write_arrays, [0]

    def failing(*arguments: Any) -> None:
        done[0] += 1
        if done[0] > call:
            raise PowerError
        usual(*arguments)

    monkeypatch.setattr(numbers, "write_arrays", failing)
    return lambda: done[0]


def test_what_is_finished_is_not_done_again(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        calls = failing_at(10**9, patch)
        expected = count(corpus, tmp_path / "whole")
        parts = calls()
    ranges = len(text_ranges.text_ranges(corpus))
    assert parts > 20
    for stop in range(0, parts, 3):
        with monkeypatch.context() as patch:
            failing_at(stop, patch)
            with pytest.raises((PowerError, EngineError)):
                count(corpus, tmp_path / "v")
        with monkeypatch.context() as patch:
            calls = failing_at(10**9, patch)
            assert count(corpus, tmp_path / "v", begin=False) == expected
            # The words themselves are written once more if the text as their numbers was missing.
            assert calls() == parts - stop + (stop == ranges + 1)
        shutil.rmtree(tmp_path / "v.training")


def interrupted(corpus: list[Path], out: Path, monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    """Press Ctrl-C when so many ranges were read."""
    usual, done = ReadWords._read, [0]

    def reading(*arguments: Any) -> None:
        done[0] += 1
        if done[0] > parts:
            raise KeyboardInterrupt
        usual(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ReadWords, "_read", reading)
        with pytest.raises(KeyboardInterrupt) as stop:
            train_vectors(corpus, out, OPTIONS, threads=1)
    assert str(stop.value) == (f"interrupted; continue with --resume, or remove {out}.training" if parts else "")


def ranges_read(corpus: list[Path], out: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Continue, and return which ranges had to be read."""
    usual, read = ReadWords._read, []

    def reading(self: ReadWords, text: text_ranges.TextRange, part: Path) -> None:
        read.append(text.number)
        usual(self, text, part)

    with monkeypatch.context() as patch:
        patch.setattr(ReadWords, "_read", reading)
        train_vectors(corpus, out, OPTIONS, threads=1, resume=True)
    return read


def test_ctrl_c_while_counting(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1)
    interrupted(corpus, tmp_path / "b", monkeypatch, 0)
    assert not (tmp_path / "b.training").exists()
    with pytest.raises(UsageError, match=r"there is no checkpoint in .*b\.training; train without --resume"):
        train_vectors(corpus, tmp_path / "b", OPTIONS, resume=True)
    interrupted(corpus, tmp_path / "b", monkeypatch, 3)
    last = len(text_ranges.text_ranges(corpus))
    assert ranges_read(corpus, tmp_path / "b", monkeypatch) == list(range(3, last))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_text_that_changed_and_parts_that_were_damaged(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = len(text_ranges.text_ranges(corpus))
    interrupted(corpus, tmp_path / "b", monkeypatch, last - 1)
    corpus[0].write_bytes(corpus[0].read_bytes().replace(b"w1 ", b"w2 ", 1))  # in the first range
    damaged = tmp_path / "b.training" / "words-1.ids"
    damaged.write_bytes(damaged.read_bytes()[::-1])
    part = tmp_path / "b.training" / "words-2"
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    (tmp_path / "b.training" / "words-3.ids").unlink()
    assert ranges_read(corpus, tmp_path / "b", monkeypatch) == [0, 1, 2, 3, last - 1]
    train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_file_that_is_repaired(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = corpus[1].read_bytes()
    corpus[1].write_bytes(whole[:-20])
    with pytest.raises(BadPartitionsError, match=r"b\.gz.*; repair that, and continue with --resume"):
        train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1)
    corpus[1].write_bytes(whole)
    assert ranges_read(corpus, tmp_path / "b", monkeypatch) == [2]
    train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    # With a single range there is nothing to continue.
    corpus[1].write_bytes(whole[:-20])
    with pytest.raises(DataError, match=r"^\S*b\.gz: the gzip data is damaged") as refused:
        train_vectors(corpus[1:2], tmp_path / "c", OPTIONS, threads=1)
    assert "partition" not in str(refused.value)
    assert not (tmp_path / "c.training").exists()


FULL = r"cannot be written: No space left on device; make room, and continue with --resume"


def test_a_full_disk(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.replace", full)
        with pytest.raises(UsageError, match=rf"words-0\.ids {FULL}"):
            train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1)
    assert list((tmp_path / "b.training").iterdir()) == []
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(UsageError, match=rf"words-0 {FULL}"):
            train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1, resume=True)
    assert [path.name for path in (tmp_path / "b.training").iterdir()] == ["words-0.ids"]
    (tmp_path / "b.training" / ".trubleu-0123.tmp").write_text("of a worker that was killed")
    train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1, resume=True)
    assert (tmp_path / "b").exists()


def test_a_worker_that_cannot_reach_the_folder(corpus: list[Path], tmp_path: Path) -> None:
    work = ReadWords(str(tmp_path / "elsewhere"), "none", False)
    with engine("local") as here, pytest.raises(UsageError, match=r"elsewhere is not there on .*; put the store where"):
        list(here.map(work, text_ranges.text_ranges(corpus)))


def test_an_engine_that_is_named_is_closed_before_training(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    class Named:
        def __enter__(self) -> Any:
            return engine("local")

        def __exit__(self, *_exception: object) -> None:
            events.append("closed")

    def named(name: str) -> Named:
        events.append(name)
        return Named()

    def train(*_arguments: Any) -> None:
        events.append("training")

    monkeypatch.setattr(training, "named_engine", named)
    monkeypatch.setattr(training, "_train_on", train)
    train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1, engine="local:7")
    assert events == ["local:7", "closed", "training"]


def test_an_engine_that_does_not_exist(corpus: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no engine 'spark'"):
        train_vectors(corpus, tmp_path / "a", OPTIONS, engine="spark")
    assert not (tmp_path / "a.training").exists()
