"""A corpus made into an index part by part, by several processes: the same bytes, whoever makes what and when."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mining.example import files, plain, records, rows, shards, triples, write
from trubleu.data import Triple
from trubleu.errors import BadPartitionsError, CountedWarning, DataError, EngineError, TrubleuWarning, UsageError
from trubleu.execution import Engine, engine
from trubleu.execution.cache import KIND
from trubleu.files import ranges
from trubleu.files.arrays import ArrayFile
from trubleu.files.ranges import SourceFile
from trubleu.mining import Index, index_builder
from trubleu.mining.index_builder import Made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

BAD = {"id": "x", "message": "no response"}
BLANK = {"id": "y", "message": " ", "response": "yes"}


@pytest.fixture(scope="module")
def two() -> Iterator[Engine]:
    """Two processes."""
    with engine("local:2") as processes:
        yield processes


def packed(path: Path, given: Sequence[Triple | dict[str, Any]]) -> Path:
    """Write JSON lines, compressed."""
    plain = write(path.with_suffix(""), given)
    path.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    plain.unlink()
    return path


def table(path: Path, given: Sequence[Triple]) -> Path:
    """Write Parquet."""
    columns = ("id", "message", "response")
    pl.DataFrame({name: [getattr(each, name) for each in given] for name in columns}).write_parquet(path)
    return path


def tabbed(path: Path, given: Sequence[Triple]) -> Path:
    """Write tab-separated columns with a header, and without ids."""
    lines = [f"{each.message}\t{each.response}" for each in given]
    path.write_text("\n".join(["message\tresponse", *lines]))  # the last line does not end
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> list[Path]:
    """Return files of all kinds, with rows that are left out."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    made = triples(300)
    return [
        write(folder / "a.jsonl", [*made[:57], BLANK, BLANK, *made[57:60]]),
        packed(folder / "b.jsonl.gz", [BLANK, *made[60:101]]),
        packed(folder / "c.jsonl.gz", made[101:104]),
        tabbed(folder / "d.tsv", made[104:150]),
        table(folder / "e.parquet", made[150:233]),
        write(folder / "f.jsonl", []),
        write(folder / "g.jsonl", made[233:300]),
    ]


def kept_triples(folder: Path) -> int:
    """Return how many triples the finished shards of an unfinished index have."""
    shards = [ArrayFile(path, KIND).header["shard"] for path in records(folder)]
    return sum(shard["triples"] for shard in shards if shard)


def sizes(index: Index) -> list[int]:
    """Return how many triples each shard has."""
    return [shard.triples for shard in index.manifest.shards]


@pytest.mark.filterwarnings("ignore::trubleu.errors.CountedWarning")
def test_every_engine_makes_the_same_bytes(tmp_path: Path, corpus: list[Path], two: Engine) -> None:
    alone = Index.build(tmp_path / "alone", corpus, shard_triples=20)
    # a: 62 rows in four shards; b and c: 45 rows in three; d, e and g: 47 + 83 + 67 rows in ten, the first has a header
    assert sizes(alone) == [20, 20, 18, 2, 19, 20, 5, 19, *[20] * 8, 17]
    assert [source.triples for source in alone.manifest.sources] == [60, 41, 3, 46, 83, 0, 67]
    assert alone.manifest.empty == 3
    expected = [(None if 104 <= row < 150 else each.id, each.message, each.response) for row, each in
                enumerate(triples(300))]  # fmt: skip
    found = rows(alone)
    assert [(wanted[0] and row[0], *row[1:]) for wanted, row in zip(expected, found, strict=True)] == expected
    assert found[104][0] == "d.tsv:2"
    spread = Index.build(tmp_path / "spread", corpus, shard_triples=20, engine=two)
    assert files(spread.path) == files(alone.path)
    for each in (alone, spread):
        each.add(corpus[0], engine=two if each is spread else None)
    assert files(spread.path) == files(alone.path)
    assert Index.open(spread.path).manifest.shards[-1].file.startswith("shard-00018-00-")


@settings(max_examples=12, deadline=None)
@given(st.data())
@pytest.mark.filterwarnings("ignore::trubleu.errors.CountedWarning")
def test_shards_are_cut_by_rows(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("cut")
    kinds = st.lists(st.sampled_from([None, None, BAD, BLANK, "blank line"]), max_size=14)
    given_files: list[list[Any]] = data.draw(st.lists(kinds, min_size=1, max_size=4))
    most = data.draw(st.integers(1, 7))
    made = iter(triples(100))
    corpus, expected, row = [], [], 0
    for number, found in enumerate([*given_files, [None]]):
        path = folder / f"{number}.jsonl"
        for kind in found:
            if row % most == 0:
                expected.append(0)
            row += 1
            expected[-1] += kind is None
        parts_of_file = [kind if isinstance(kind, dict) else next(made) for kind in found]
        write(path, parts_of_file)
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join("\n" if k == "blank line" else line for k, line in zip(found, lines, strict=True)))
        corpus.append(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "BLOCK", data.draw(st.integers(1, 200), label="bytes of a block"))
        patch.setattr(ranges, "BLOCKS_A_PIECE", data.draw(st.integers(1, 3)))
        patch.setattr(index_builder, "BATCH", data.draw(st.integers(1, 5)))
        index = Index.build(folder / "x", corpus, shard_triples=most, skip_bad=True)
    assert sizes(index) == [size for size in expected if size]
    assert files(index.path) == files(Index.build(folder / "y", corpus, shard_triples=most, skip_bad=True).path)


def test_a_stream_makes_the_same_shards_as_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = [Triple(str(number), (), f"m{number} " * (400 if number % 9 else 2), "yes") for number in range(64)]
    monkeypatch.setattr(index_builder, "BATCH", 4)
    monkeypatch.setattr(index_builder, "MOST_MEMORY", 2**17)
    listed = Index.build(tmp_path / "list", long, shard_triples=30)
    made = [
        Index.build(tmp_path / "plain", write(tmp_path / "a.jsonl", long), shard_triples=30),
        Index.build(tmp_path / "packed", packed(tmp_path / "b.jsonl.gz", long), shard_triples=30),
        Index.build(tmp_path / "table", table(tmp_path / "c.parquet", long), shard_triples=30),
    ]
    assert len(listed.shards) > 3
    for each in made:
        assert [shard.checksum for shard in each.manifest.shards] == [s.checksum for s in listed.manifest.shards]


def test_small_compressed_files_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = triples(40)
    corpus = [packed(tmp_path / f"{first:02}.jsonl.gz", made[first : first + 5]) for first in range(0, 40, 5)]
    assert sizes(Index.build(tmp_path / "x", corpus)) == [40]
    most = sum(path.stat().st_size for path in corpus[:3])
    monkeypatch.setattr(index_builder, "PACKED_BYTES", most + 50)
    index = Index.build(tmp_path / "y", corpus, shard_triples=12)
    assert sizes(index) == [12, 3, 12, 3, 10]
    assert rows(index) == plain(made)


def interrupted_at(tells: int) -> Any:
    """Return what is told of progress and interrupts after some times."""
    left = tells

    def stop(_more: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt

    return stop


def test_a_large_compressed_file_is_continued_in_its_midst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = packed(tmp_path / "c.jsonl.gz", triples(95))
    whole = files(Index.build(tmp_path / "whole", corpus, shard_triples=10).path)
    interrupted = interrupted_at(8)

    def stopped(_cutter: index_builder.Cutter) -> int:
        interrupted(0)
        return 5

    with monkeypatch.context() as patch:
        patch.setattr(index_builder.Cutter, "room", stopped)
        with pytest.raises(KeyboardInterrupt, match="continue with --resume"):
            Index.build(tmp_path / "x", [corpus], shard_triples=10)
    done = len(shards(tmp_path / "x"))
    assert done > 0
    looked: list[int] = []

    def room(cutter: index_builder.Cutter) -> int:
        looked.append(cutter._rows)
        return 5

    monkeypatch.setattr(index_builder.Cutter, "room", room)
    Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True)
    assert min(looked) == 10 * done
    assert files(tmp_path / "x") == whole


@pytest.mark.parametrize("kind", ["c.jsonl.gz", "c.parquet", "c.jsonl"])
def test_a_damaged_file_is_named_and_can_be_left_out(tmp_path: Path, kind: str, two: Engine) -> None:
    good, more = write(tmp_path / "a.jsonl", triples(25)), packed(tmp_path / "d.jsonl.gz", triples(9, 3))
    bad = tmp_path / kind
    if kind.endswith("gz"):
        bad = packed(bad, triples(300, 2))
        bad.write_bytes(bad.read_bytes()[:-2000])
        said = f"{bad}: the gzip data is damaged or ends early; copy or compress the file again"
    elif kind.endswith("parquet"):
        bad = table(bad, triples(30, 2))
        bad.write_bytes(bad.read_bytes()[:-8])
        said = f"{bad}: the Parquet data is damaged or ends early; copy or write the file again"
    else:
        write(bad, triples(20, 2))
        bad.write_bytes(bad.read_bytes()[:-20] + b"\xff\n")
        said = f"{bad}:20: "
    corpus = [good, bad, more]
    with pytest.raises(DataError) as caught:
        Index.build(tmp_path / "x", corpus, shard_triples=10, engine=two)
    assert str(caught.value).startswith(said)
    assert isinstance(caught.value, BadPartitionsError)
    assert not (tmp_path / "x" / "index.json").exists()
    kept = {"c.jsonl.gz": 25, "c.parquet": 34, "c.jsonl": 49}[kind]  # small compressed files are one part
    assert "; finished shards are kept" in str(caught.value)
    assert kept_triples(tmp_path / "x") == kept
    warning = {
        "c.jsonl": r"missing or wrong field, skipped: 1",
        "c.jsonl.gz": r"left out 1 of \d+ parts of the corpus: .*c\.jsonl\.gz \(",
        "c.parquet": r"left out 1 of 3 files altogether: .*c\.parquet \(",
    }[kind]
    with pytest.warns((CountedWarning, TrubleuWarning), match=warning) as warned:
        index = Index.build(tmp_path / "x", corpus, shard_triples=10, engine=two, resume=True, skip_bad=True)
    assert [each.filename for each in warned] == [__file__]
    left = triples(20, 2)[:19] if kind == "c.jsonl" else []
    assert rows(index) == [*plain(triples(25)), *plain(left), *plain(triples(9, 3))]
    assert [source.triples for source in index.manifest.sources] == [25, len(left), 9]
    with pytest.warns((CountedWarning, TrubleuWarning), match=warning):
        alone = Index.build(tmp_path / "y", corpus, shard_triples=10, skip_bad=True)
    assert files(index.path) == files(alone.path)


def test_of_a_file_with_a_stretch_that_cannot_be_read_nothing_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "BLOCK", 1000)
    monkeypatch.setattr(ranges, "BLOCKS_A_PIECE", 1)
    a, b, c = (write(tmp_path / f"{name}.jsonl", triples(count)) for name, count in (("a", 5), ("b", 300), ("c", 4)))
    usual = SourceFile.blocks

    def blocks(self: SourceFile, start: int = 0, size: int | None = None, **options: Any) -> Iterator[bytes]:
        if self.path == str(b) and start in (3000, 5000):
            raise DataError(f"{self.name} cannot be read: Input/output error")
        return usual(self, start, size, **options)

    monkeypatch.setattr(SourceFile, "blocks", blocks)
    with pytest.raises(BadPartitionsError, match=r"b\.jsonl cannot be read: Input/output error; finished shards"):
        Index.build(tmp_path / "x", [a, b, c])
    assert kept_triples(tmp_path / "x") == 9
    with pytest.warns(TrubleuWarning) as warned:
        index = Index.build(tmp_path / "x", [a, b, c], resume=True, skip_bad=True)
    assert [str(each.message) for each in warned] == [
        f"left out 1 of 3 files altogether: {b} ({b} cannot be read: Input/output error)"
    ]
    assert [source.triples for source in index.manifest.sources] == [5, 0, 4]


def test_files_and_rows_that_cannot_be_used(tmp_path: Path) -> None:
    corpus = [write(tmp_path / "a.jsonl", [*triples(25), BAD]), tmp_path / "b.parquet", tmp_path / "c.parquet"]
    for path in corpus[1:]:
        path.write_bytes(b"PAR1")
    said = r"^3 parts of the corpus cannot be used: .*b\.parquet \(.*c\.parquet \(.*a\.jsonl:26: .*shards are kept"
    with pytest.raises(BadPartitionsError, match=said):
        Index.build(tmp_path / "x", corpus, shard_triples=10)
    assert kept_triples(tmp_path / "x") == 20
    with pytest.warns(TrubleuWarning) as warned:
        Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True, skip_bad=True)
    assert str(warned[0].message).startswith("left out 2 of 3 files altogether: ")
    assert "missing or wrong field" in str(warned[1].message)


def test_equal_files_of_a_part_that_is_taken_apart(tmp_path: Path, two: Engine) -> None:
    corpus = [packed(tmp_path / f"{name}.jsonl.gz", triples(4)) for name in "abc"]
    corpus[1].write_bytes(corpus[1].read_bytes()[:-9])
    for name, where in (("x", None), ("y", two)):
        with pytest.warns(TrubleuWarning, match=r"left out 1 of 3 parts of the corpus: .*b\.jsonl\.gz \("):
            index = Index.build(tmp_path / name, corpus, skip_bad=True, engine=where)
        assert rows(index) == plain(triples(4)) * 2
        assert len(shards(index.path)) == 2
    assert files(tmp_path / "x") == files(tmp_path / "y")


@pytest.mark.parametrize("made", [write, packed])
def test_a_file_that_changes_after_it_was_surveyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Callable[[Path, Sequence[Any]], Path]
) -> None:
    """It has as many lines, so a mixture of both states would not be noticed."""
    corpus = made(tmp_path / "c.jsonl", triples(25))
    usual = ranges.surveyed

    def surveyed(*arguments: Any, **options: Any) -> Any:
        found = usual(*arguments, **options)
        made(corpus, triples(25, 2))
        os.utime(corpus, ns=(1, 1))
        return found

    monkeypatch.setattr(ranges, "surveyed", surveyed)
    with pytest.raises(EngineError, match=r"c\.jsonl changed while it was read; do not write to it meanwhile"):
        Index.build(tmp_path / "x", corpus, shard_triples=10)


def test_small_files_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "BLOCK", 10)
    monkeypatch.setattr(ranges, "BLOCKS_A_PIECE", 2)
    monkeypatch.setattr(index_builder, "FILES_AT_ONCE", 3)
    sizes = [0, 8, 9, 4, 0, 0, 1, 45, 3, 20, 20]
    files = [SourceFile(f"{n}.jsonl", str(n), size=size, form="jsonl") for n, size in enumerate(sizes)]
    todo = [piece for file in files for piece in file.pieces()]
    groups = index_builder.grouped(todo)
    assert [piece for group in groups for piece in group] == todo
    assert [[str(piece) for piece in group] for group in groups] == [
        ["0", "1", "2"], ["3", "4", "5"], ["6"], ["7 from byte 0"], ["7 from byte 20"], ["7 from byte 40", "8"], ["9"],
        ["10"],
    ]  # fmt: skip
    compressed = [SourceFile(f"{n}.gz", str(n), size=15, packed=True).pieces(contents=True)[0] for n in range(2)]
    assert list(map(len, index_builder.grouped(compressed))) == [1, 1]


def test_columns_that_nobody_knows_are_no_bad_part(tmp_path: Path, two: Engine) -> None:
    good = write(tmp_path / "a.jsonl", triples(25))
    (tmp_path / "b.tsv").write_text("a\tb\tc\td\te\n")
    for where in (None, two):
        with pytest.raises(DataError, match=r"b\.tsv:1: 5 columns and no header"):
            Index.build(tmp_path / "x", [good, tmp_path / "b.tsv"], skip_bad=True, engine=where)
        assert not (tmp_path / "x").exists()


def test_several_bad_parts_are_all_named(tmp_path: Path, two: Engine) -> None:
    corpus = write(tmp_path / "c.jsonl", [*triples(5), BAD, *triples(15, 2), BAD, *triples(15, 3)])
    with pytest.raises(
        BadPartitionsError,
        match=r"2 parts of the corpus cannot .*c\.jsonl:6: .*c\.jsonl:22: .*shards are kept",
    ):
        Index.build(tmp_path / "x", corpus, shard_triples=10, engine=two)
    assert kept_triples(tmp_path / "x") == 17


def test_no_engine_can_read_what_is_here_only(tmp_path: Path, two: Engine) -> None:
    with pytest.raises(
        UsageError, match=r"triples from Python can be read only once and only here, .* leave the engine"
    ):
        Index.build(tmp_path / "x", triples(3), engine=two)
    assert not (tmp_path / "x").exists()
    with engine() as here:
        assert len(Index.build(tmp_path / "x", triples(3), engine=here)) == 3


def test_progress_adds_up(tmp_path: Path, corpus: list[Path], two: Engine) -> None:
    total = sum(path.stat().st_size for path in corpus)
    for name, where in (("x", None), ("y", two)):
        told: list[int] = []
        with pytest.warns(CountedWarning):
            Index.build(tmp_path / name, corpus, shard_triples=20, engine=where, progress=told.append)
        assert sum(told) == total
        assert min(told) > 0
        assert len(told) > 15


# Runs a command that stops itself, as Ctrl-Z does, once so many records are there. Whoever watched from outside might
# look too late on a busy machine.
STOPPED = """
import os, signal, sys
from pathlib import Path
from trubleu.cli import main
from trubleu.execution.local import _Dispatch

folder, left = Path(sys.argv[1]), int(sys.argv[2])
finished = _Dispatch.finished

def stopping(self):
    global left
    found = finished(self)
    if left and len(list(folder.glob("built-*"))) >= left:
        left = 0
        os.kill(os.getpid(), signal.SIGSTOP)
    return found

_Dispatch.finished = stopping
sys.exit(main(sys.argv[3:]))
"""


def test_workers_and_drivers_are_killed(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", triples(20_000))
    whole = files(Index.build(tmp_path / "whole", corpus, shard_triples=1000).path)
    folder = tmp_path / "x"
    arguments = ["mine", "index", str(corpus), "--out", str(folder), "--quiet"]
    arguments += ["--shard-triples", "1000", "--engine", "local:2"]
    draw = random.Random(1)

    def stopped(*more: str) -> subprocess.Popen[bytes]:
        done = len(list(folder.glob("built-*"))) + draw.randint(2, 5)
        command = [sys.executable, "-c", STOPPED, str(folder), str(done), *arguments, *more]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        ended = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert ended is not None
        assert ended.si_code == os.CLD_STOPPED
        return process

    driver = stopped()
    driver.kill()
    driver.communicate()
    assert len(list(folder.glob("built-*"))) >= 2
    assert not (folder / "index.json").exists()
    driver = stopped("--resume")
    with open(f"/proc/{driver.pid}/task/{driver.pid}/children") as stream:  # noqa: PTH123 - no file of ours
        children = [int(child) for child in stream.read().split()]
    workers = [child for child in children if _is_worker(child)]
    os.kill(workers[0], signal.SIGKILL)
    driver.send_signal(signal.SIGCONT)
    assert driver.communicate() == (b"", b"")
    assert driver.returncode == 0
    assert files(folder) == whole


def _is_worker(process: int) -> bool:
    with open(f"/proc/{process}/cmdline", "rb") as stream:  # noqa: PTH123
        return b"spawn_main" in stream.read()


def test_records_that_nobody_wrote() -> None:
    made = Made(shard=None, triples=(), bad=1, empty=2, place=(0, 3), rows=3, last=True)
    assert Made.unpack(asdict(made), None) == made
    strange: list[dict[str, Any]] = [
        {"triples": ((0, 5),)}, {"triples": ((0, -1),)}, {"place": (1,)}, {"bad": -1}, {"rows": "3"},
    ]  # fmt: skip
    for change in strange:
        with pytest.raises((TypeError, ValueError)):
            Made.unpack(asdict(made) | change, None)
