"""Counting on engines, interrupted and continued: the same bytes in the end, and clear sentences before."""

from __future__ import annotations

import dataclasses
import errno
import gzip
import io
import os
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from trubleu.errors import BadPartitionsError, DataError, EngineError, UsageError
from trubleu.execution import engine
from trubleu.execution.cache import Cache
from trubleu.execution.progress import Bars
from trubleu.files.arrays import ArrayFile, write_arrays
from trubleu.vectors.training import counts, number_files
from trubleu.vectors.training import trainer as training
from trubleu.vectors.training.checkpoint import Folder
from trubleu.vectors.training.counts import ReadWords, count_corpus
from trubleu.vectors.training.options import TrainingOptions
from trubleu.vectors.training.trainer import train_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from trubleu.files.paths import PathLike

OPTIONS = TrainingOptions(orders=(1, 2, 3), min_count=(2, 3, 3), dim=8, epochs=1, tokenize="none")
SILENT = Bars(quiet=True)
COLUMNS = ("counts", "firsts", "seconds")


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three files, cut into five ranges, and their numbers into several."""
    rng = np.random.default_rng(3)
    lines = [" ".join(f"w{number}" for number in rng.zipf(1.6, rng.integers(1, 12)) % 40) for _ in range(300)]
    content = "".join(f"{line}\n" for line in lines).encode()
    (tmp_path / "a.txt").write_bytes(content[:2000] + b"\n")
    (tmp_path / "b.gz").write_bytes(gzip.compress(content[2000:4000]))
    (tmp_path / "c.txt").write_bytes(content[4000:])
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # there are many small files
    monkeypatch.setattr(counts, "RANGE", 1500)
    monkeypatch.setattr(counts, "PLACES", 500)
    return [tmp_path / name for name in ("a.txt", "b.gz", "c.txt")]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}


def count(corpus: Sequence[PathLike], out: Path, *, begin: bool = True) -> dict[str, bytes]:
    """Count in this process, and return what is in the folder."""
    folder = Folder(out, Cache())
    with engine("local") as here, folder.locked(resume=not begin):
        if begin:
            folder.begin()
        folder.write_vocabulary(*count_corpus(corpus, folder, OPTIONS, here, SILENT, Cache())[:3])
    return contents(folder.path)


class PowerError(Exception):
    """The power is gone."""


def test_a_store_has_the_same_bytes_whoever_counted(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_vectors(corpus, tmp_path / "one", OPTIONS, threads=1)
    with engine("local:2") as processes:
        train_vectors(corpus, tmp_path / "two", OPTIONS, threads=1, engine=processes)
        # What one engine began another goes on with.
        stopped_before("pairs-2-2", corpus, tmp_path / "three", monkeypatch)
        part = tmp_path / "three.training" / "pairs-2-1"
        before = part.stat().st_ino
        with monkeypatch.context() as patch:
            kept: list[int] = []
            meeting(patch, counts, "bucket_ranges", lambda: kept.append(part.stat().st_ino if not kept else 0))
            train_vectors(corpus, tmp_path / "three", OPTIONS, threads=1, engine=processes, resume=True)
        assert kept[0] == before
        # Where a partition is bad, the others are done, and nothing is there in the end.
        whole = corpus[1].read_bytes()
        corpus[1].write_bytes(whole[:-20])
        with pytest.raises(
            BadPartitionsError, match=r"1 of \d+ partitions .*b\.gz \(.*gzip data is damaged.*\); repair that, and cont"
        ):
            train_vectors(corpus, tmp_path / "bad", OPTIONS, engine=processes)
    assert not (tmp_path / "bad").exists()
    assert not (tmp_path / "two.training").exists()
    corpus[1].write_bytes(whole)
    assert ranges_read(corpus, tmp_path / "bad", monkeypatch) == [2]
    for other in ("two", "three", "bad"):
        assert (tmp_path / "one").read_bytes() == (tmp_path / other).read_bytes()


def test_a_corpus_that_is_not_cut(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def arrays(folder: Path) -> dict[str, Any]:
        vocabulary, levels = Folder(folder, Cache()).read_vocabulary()
        found = {f"{name}-{level.order}": getattr(level, name) for level in levels for name in COLUMNS}
        return {name: array.tolist() for name, array in found.items()} | {"words": vocabulary.words()}

    cut = count(corpus, tmp_path / "a")
    monkeypatch.setattr(counts, "RANGE", 10**9)
    monkeypatch.setattr(counts, "PLACES", 10**9)
    whole = count(corpus, tmp_path / "b")
    assert arrays(tmp_path / "a") == arrays(tmp_path / "b")
    for order in (1, 2, 3):
        assert cut[f"order-{order}.ids"] == whole[f"order-{order}.ids"]


def meeting(patch: pytest.MonkeyPatch, where: Any, name: str, then: Callable[[], object]) -> None:
    """Let something happen whenever a function is about to be called."""
    usual = getattr(where, name)

    def called(*arguments: Any) -> Any:
        then()
        return usual(*arguments)

    patch.setattr(where, name, called)


def stopped_before(name: str, corpus: Sequence[PathLike], out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin, and lose power when the part of this name is to be written."""
    usual = write_arrays

    def failing(path: Path, *arguments: Any, key: bytes) -> None:
        if path.name == name:
            raise PowerError
        usual(path, *arguments, key=key)

    with monkeypatch.context() as patch:
        patch.setattr(number_files, "write_arrays", failing)
        with pytest.raises((PowerError, EngineError)):
            train_vectors(corpus, out, OPTIONS, threads=1)


@pytest.mark.parametrize(
    ("name", "lost"), [("level-2", ""), ("coded-2-1", "order-1.ids"), ("level-3", ""), ("level-3", "order-1.ids")]
)
def test_text_that_was_edited_after_it_was_read(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, lost: str
) -> None:
    stopped_before(name, corpus, tmp_path / "a", monkeypatch)
    content = corpus[2].read_bytes()
    corpus[2].write_bytes(content.replace(b"w1 w2", b"w3 w3").replace(b"w2 w1", b"w5 w6"))
    assert corpus[2].stat().st_size == len(content)
    if lost:
        (tmp_path / "a.training" / lost).unlink()
    assert count(corpus, tmp_path / "a", begin=False) == count(corpus, tmp_path / "b")


def test_a_pipe_is_read_again(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def give(content: bytes) -> list[str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return ["-"]

    text = corpus[2].read_bytes()
    stopped_before("level-3", give(text), tmp_path / "a", monkeypatch)
    with pytest.raises(DataError, match=r"<stdin> has no words; .* per line; continue with --resume"):
        train_vectors(give(b""), tmp_path / "a", OPTIONS, threads=1, resume=True)
    other = text.replace(b"w1", b"w2")
    assert count(give(other), tmp_path / "a", begin=False) == count(give(other), tmp_path / "b")
    shutil.rmtree(tmp_path / "b.training")
    # The same text is read once more, but not counted.
    stopped_before("level-3", give(text), tmp_path / "b", monkeypatch)
    level = tmp_path / "b.training" / "level-2"
    before = level.stat().st_ino
    count(give(text), tmp_path / "b", begin=False)
    assert level.stat().st_ino == before


@pytest.mark.parametrize(
    ("where", "name", "part"),
    [
        (counts, "merge_words", "words-1"),
        (counts, "bucket_ranges", "pairs-2-1"),
        (counts, "_joined", "sums-2-0"),
        (counts, "load_index", "level-2"),
    ],
)
def test_parts_of_another_count(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, part: str
) -> None:
    path = tmp_path / "a.training" / part
    message = rf"{part} was replaced by another count; run only one training at a time in that folder.*--resume$"

    def replace() -> None:
        parts = number_files.Parts(str(path.parent), Cache().key(path.parent))
        file = ArrayFile(path, number_files.PART, key=parts.key)
        parts.write(path.name, "of another", {}, {each: np.array(file.array(each)) for each in file.lengths})

    with monkeypatch.context() as patch:
        meeting(patch, where, name, replace)
        with pytest.raises(DataError, match=message):
            train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1)
    train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1, resume=True)
    train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_damaged_part_costs_no_other(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = tmp_path / "a.training" / "words-1"
    with monkeypatch.context() as patch:
        meeting(patch, counts, "merge_words", lambda: part.write_bytes(part.read_bytes()[:-1] + b"x"))
        with pytest.raises(
            DataError, match=r"words-1 was altered or damaged \(.*\); .* or remove it; continue with --resume$"
        ):
            train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1)
    part.unlink()  # as it says
    assert ranges_read(corpus, tmp_path / "a", monkeypatch) == [1]


def test_an_order_without_ngrams_costs_no_other(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = dataclasses.replace(OPTIONS, min_count=(2, 3, 10**6))
    with pytest.raises(DataError, match=r"order 3 is empty; .*min-count than 1000000 for order 3; continue with --re"):
        train_vectors(corpus, tmp_path / "a", many, threads=1)
    assert ranges_read(corpus, tmp_path / "a", monkeypatch) == []


def test_several_bad_ranges_of_one_file(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [b"plain text\n"] * 900
    for bad in (400, 500, 650, 800):
        lines[bad] = b"caf\xe9 text\n"
    corpus[2].write_bytes(b"".join(lines))
    corpus[1].write_bytes(corpus[1].read_bytes()[:-20])
    passes: list[int] = []
    meeting(monkeypatch, counts.TextRange, "_lines_before", lambda: passes.append(1))
    with pytest.raises(BadPartitionsError) as refused:
        train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1)
    assert len(passes) == 1
    message = str(refused.value)
    assert message.startswith("5 of 10 partitions cannot be used, so there is no result: ")
    assert re.search(r"b\.gz \(\S*b\.gz: the gzip data is damaged", message)
    assert re.search(
        r"c\.txt, bytes 3,001 to 4,500 and 3 more of this file "
        r"\(\S*c\.txt:401: byte 4403 \(0xe9\) is not valid UTF-8; convert the file to UTF-8\)",
        message,
    )
    assert len(refused.value.partitions) == 5


def failing_at(call: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Let so many parts be written, and then fail; the calls are counted."""
    usual, done = write_arrays, [0]

    def failing(*arguments: Any, key: bytes) -> None:
        done[0] += 1
        if done[0] > call:
            raise PowerError
        usual(*arguments, key=key)

    monkeypatch.setattr(number_files, "write_arrays", failing)
    return lambda: done[0]


def test_what_is_finished_is_not_done_again(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        calls = failing_at(10**9, patch)
        expected = count(corpus, tmp_path / "whole")
        parts = calls()
    ranges = len(counts.text_ranges(corpus))
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

    def reading(*arguments: Any) -> str:
        done[0] += 1
        if done[0] > parts:
            raise KeyboardInterrupt
        return usual(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ReadWords, "_read", reading)
        with pytest.raises(KeyboardInterrupt) as stop:
            train_vectors(corpus, out, OPTIONS, threads=1)
    assert str(stop.value) == (f"interrupted; continue with --resume, or remove {out}.training" if parts else "")


def ranges_read(corpus: list[Path], out: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Continue, and return which ranges had to be read."""
    usual, read = ReadWords._read, []

    def reading(self: ReadWords, text: counts.TextRange, part: str) -> str:
        read.append(text.number)
        return usual(self, text, part)

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
    last = len(counts.text_ranges(corpus))
    assert ranges_read(corpus, tmp_path / "b", monkeypatch) == list(range(3, last))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_text_that_changed_and_parts_that_were_damaged(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = len(counts.text_ranges(corpus))
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
    assert contents(tmp_path / "b.training") == {}
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(UsageError, match=rf"words-0 {FULL}"):
            train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1, resume=True)
    assert [*contents(tmp_path / "b.training")] == ["words-0.ids"]
    (tmp_path / "b.training" / ".trubleu-0123.tmp").write_text("of a worker that was killed")
    train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1, resume=True)
    assert (tmp_path / "b").exists()


def test_a_worker_that_cannot_reach_the_folder(corpus: list[Path], tmp_path: Path) -> None:
    work = ReadWords(number_files.Parts(str(tmp_path / "elsewhere"), b""), "none", False)
    with engine("local") as here, pytest.raises(UsageError, match=r"elsewhere is not there on .*; put the store where"):
        list(here.map(work, counts.text_ranges(corpus)))


def test_an_engine_can_be_closed_before_training(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    meeting(monkeypatch, training, "count_corpus", lambda: events.append("counting"))
    monkeypatch.setattr(training._Run, "train", lambda *_arguments: events.append("training"))
    for resume in (False, True):
        train_vectors(
            corpus, tmp_path / "a", OPTIONS, threads=1, resume=resume, after_counting=lambda: events.append("closed")
        )
    assert events == ["counting", "closed", "training", "closed", "training"]
