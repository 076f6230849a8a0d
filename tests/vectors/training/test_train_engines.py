"""Counting on engines, and what stops it: the same bytes in the end, and clear sentences before."""

from __future__ import annotations

import errno
import gzip
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from trubleu.errors import BadPartitionsError, DataError, EngineError, UsageError
from trubleu.execution import engine
from trubleu.execution.cache import Cache
from trubleu.progress import Bars
from trubleu.vectors.training import counts
from trubleu.vectors.training import trainer as training
from trubleu.vectors.training.counts import count_corpus, read_words
from trubleu.vectors.training.options import TrainingOptions
from trubleu.vectors.training.trainer import Folder, train_vectors

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


def count(corpus: Sequence[PathLike], out: Path) -> dict[str, bytes]:
    """Count in this process, and return what is in the folder."""
    folder = Folder(out, OPTIONS, Cache())
    with engine("local") as here, folder.locked():
        folder.write_counts(count_corpus(corpus, folder, OPTIONS, here, SILENT)._replace(corpus=()))
    return contents(folder.path)


def test_a_store_has_the_same_bytes_whoever_counted(corpus: list[Path], tmp_path: Path) -> None:
    train_vectors(corpus, tmp_path / "one", OPTIONS, threads=1)
    with engine("local:2") as processes:
        train_vectors(corpus, tmp_path / "two", OPTIONS, threads=1, engine=processes)
        # Where a partition is bad, nothing is there in the end.
        corpus[1].write_bytes(corpus[1].read_bytes()[:-20])
        with pytest.raises(BadPartitionsError, match=r"1 of \d+ partitions .*b\.gz \(.*gzip data is damaged"):
            train_vectors(corpus, tmp_path / "bad", OPTIONS, engine=processes)
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "b.gz", "c.txt", "one", "two"}
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_corpus_that_is_not_cut(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def arrays(folder: Path) -> dict[str, Any]:
        vocabulary, levels, _ = Folder(folder, OPTIONS, Cache()).read_counts()
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

    def called(*arguments: Any, **options: Any) -> Any:
        then()
        return usual(*arguments, **options)

    patch.setattr(where, name, called)


def test_several_bad_ranges_of_one_file(corpus: list[Path], tmp_path: Path) -> None:
    lines = [b"plain text\n"] * 900
    for bad in (400, 500, 650, 800):
        lines[bad] = b"caf\xe9 text\n"
    corpus[2].write_bytes(b"".join(lines))
    corpus[1].write_bytes(corpus[1].read_bytes()[:-20])
    with pytest.raises(BadPartitionsError) as refused:
        train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1)
    message = str(refused.value)
    assert message.startswith("5 of 10 partitions cannot be used, so there is no result: ")
    assert re.search(r"b\.gz \(\S*b\.gz: the gzip data is damaged", message)
    assert re.search(
        r"c\.txt, lines 273 to 408 "
        r"\(\S*c\.txt:401: byte 4403 \(0xe9\) is not valid UTF-8; convert the file to UTF-8\)",
        message,
    )
    assert len(refused.value.partitions) == 5


def test_ctrl_c_while_counting(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        meeting(patch, counts, "count_order", interrupted)
        with pytest.raises(KeyboardInterrupt) as stop:
            train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1)
    assert str(stop.value) == ""
    assert not (tmp_path / "b.training").exists()
    with pytest.raises(UsageError, match=r"there is no checkpoint in .*b\.training; train without --resume"):
        train_vectors(corpus, tmp_path / "b", OPTIONS, resume=True)


def test_what_a_killed_process_left_behind(corpus: list[Path], tmp_path: Path) -> None:
    left = tmp_path / "b.training"
    left.mkdir()
    for name in ("words-1.whole", "words-9.ids", "pairs-0.ids", ".trubleu-0123.tmp"):
        (left / name).write_bytes(b"of a process that was killed")
    with pytest.raises(UsageError, match=r"there is no checkpoint in .*b\.training; train without --resume"):
        train_vectors(corpus, tmp_path / "b", OPTIONS, resume=True)
    train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1)
    train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert not left.exists()


@pytest.mark.parametrize(
    ("file", "reader"),
    [("words-1.ids", "_check_words"), ("words-2.whole", "_check_words"), ("pairs-1.ids", "bucket_ranges")],
)
@pytest.mark.parametrize("how", ["altered", "cut off", "empty", "missing"])
def test_numbers_that_are_not_those_written(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, reader: str, how: str
) -> None:
    written = tmp_path / "a.training" / file

    def damaged() -> None:
        monkeypatch.setattr(counts, reader, usual)
        content = written.read_bytes()
        if how == "missing":
            written.unlink()
        else:
            left = {"altered": content[:-1] + bytes([content[-1] ^ 1]), "cut off": content[:-1], "empty": b""}
            written.write_bytes(left[how])

    usual = getattr(counts, reader)
    meeting(monkeypatch, counts, reader, damaged)
    said = "there is no such file" if how == "missing" else "was altered or damaged while .*; train again"
    with pytest.raises((DataError, EngineError), match=rf"a\.training/{re.escape(file)}:? {said}"):
        train_vectors(corpus, tmp_path / "a", OPTIONS, threads=1)
    assert not (tmp_path / "a.training").exists()


def test_a_single_range_that_cannot_be_read(corpus: list[Path], tmp_path: Path) -> None:
    corpus[1].write_bytes(corpus[1].read_bytes()[:-20])
    with pytest.raises(DataError, match=r"^\S*b\.gz: the gzip data is damaged") as refused:
        train_vectors(corpus[1:2], tmp_path / "c", OPTIONS, threads=1)
    assert "partition" not in str(refused.value)
    assert not (tmp_path / "c.training").exists()


FULL = r"cannot be written: No space left on device; nothing was changed"


def test_a_full_disk(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.replace", full)
        with pytest.raises(EngineError, match=rf"words-0\.ids {FULL}"):
            train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1)
    with monkeypatch.context() as patch:
        meeting(patch, counts, "_pairs_file", lambda: patch.setattr(os, "fsync", full))
        with pytest.raises(EngineError, match=rf"pairs-0\.ids {FULL}"):
            train_vectors(corpus, tmp_path / "b", OPTIONS, threads=1)
    assert not (tmp_path / "b.training").exists()


def test_a_worker_that_cannot_reach_the_folder(corpus: list[Path], tmp_path: Path) -> None:
    work = partial(read_words, tmp_path / "elsewhere", "none", False, None)
    with engine("local") as here, pytest.raises(UsageError, match=r"elsewhere is not there on .*; put the store where"):
        list(here.map(work, counts.text_ranges(corpus)))


def test_an_engine_can_be_closed_before_training(
    corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    meeting(monkeypatch, counts, "count_corpus", lambda: events.append("counting"))
    monkeypatch.setattr(training._Run, "train", lambda *_arguments: events.append("training"))
    for resume in (False, True):
        train_vectors(
            corpus, tmp_path / "a", OPTIONS, threads=1, resume=resume, after_counting=lambda: events.append("closed")
        )
    assert events == ["counting", "closed", "training", "closed", "training"]
