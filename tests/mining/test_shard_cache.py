"""Indexes with more shards than may be open at once, and copies of what lies elsewhere."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import polars as pl
import pytest

from tests.mining.example import files, plain, rows, shards, triples, write
from trubleu.errors import DataError
from trubleu.files import paths
from trubleu.files.arrays import ArrayFile
from trubleu.mining import Index, search
from trubleu.mining.search import OpenShards, most_open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.mining.search import ShardsOnDemand

CORPUS = triples(40)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Index of ten shards, of which three may be open."""
    monkeypatch.setattr(search, "most_open", lambda: 3)
    return Index.build(tmp_path / "x", CORPUS, shard_triples=4).path


def open_of(index: Index) -> int:
    """Return how many files of an index this process has open."""
    found = 0
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names, some of which are gone when they are looked at
        link = f"/proc/self/fd/{number}"
        found += os.path.islink(link) and str(index.path) in str(Path(link).readlink())  # noqa: PTH114
    return found


def test_few_shards_are_open_at_once(place: Path) -> None:
    index = Index.open(place)
    assert open_of(index) == 3
    assert rows(index) == plain(CORPUS)
    assert [shard.triples for shard in index.shards[7:]] == [4, 4, 4]
    assert index.shards[-1] is index.shards[9]
    index.check()
    found = index.search("the cup", "we won", top=9)
    assert open_of(index) == 3
    usual = [each.source for each in found]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "most_open", lambda: 100)
        whole = Index.open(place)
        assert open_of(whole) == 10 + 3
        assert [each.source for each in whole.search("the cup", "we won", top=9)] == usual


def test_nothing_that_stays_open_is_compared_twice(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []
    usual = ArrayFile.array

    def array(file: ArrayFile, name: str) -> Any:
        compared.append((file.name, name))
        return usual(file, name)

    monkeypatch.setattr(ArrayFile, "array", array)
    monkeypatch.setattr(search, "most_open", lambda: 10)
    index = Index.open(place)
    for _ in range(2):
        assert rows(index) == plain(CORPUS)
        index.search("the cup", "we won")
    assert len(compared) == len(set(compared)) > 50


def test_what_has_changed_meanwhile_is_compared_again(place: Path) -> None:
    index = Index.open(place)
    assert rows(index) == plain(CORPUS)
    path = shards(place)[0]
    data = path.read_bytes()
    at = data.rindex(index.triple(2)[2].encode())
    rows(index)  # so that the first shard is not open
    path.write_bytes(data[:at] + b"#" + data[at + 1 :])
    with pytest.raises(DataError, match=rf"{path.name} was altered or damaged \(the checksum of response_"):
        index.triple(2)


def test_how_many_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {20: 8, 1024: 256, 2**20: 16_384, resource.RLIM_INFINITY: 16_384}
    for limit, most in expected.items():
        monkeypatch.setattr(resource, "getrlimit", lambda _kind, limit=limit: (limit, limit))
        assert most_open() == most
    monkeypatch.setattr(search, "resource", None)
    assert most_open() == 256


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """Address of a folder in memory."""
    store = fsspec.filesystem("memory")
    yield "memory://mining-tests"
    store.rm("/mining-tests", recursive=True)


def copies() -> set[Path]:
    """Return the copies that this process has made and not removed."""
    from trubleu.files.remote import _folders

    folder = _folders.get(os.getpid())
    return {path for path in folder.iterdir() if path.name != "in-use"} if folder else set()


def test_a_copy_that_is_not_needed_any_more(elsewhere: str) -> None:
    address = f"{elsewhere}/a.txt"
    for text in (b"one", b"another"):
        with fsspec.open(address, "wb") as stream:
            stream.write(text)
        path = paths.local_copy(address)
        assert path.read_bytes() == text
    paths.forget(address)
    paths.forget(address)
    assert not path.exists()
    assert paths.local_copy(address).read_bytes() == b"another"
    paths.forget(address)


def test_nothing_of_this_machine_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    paths.forget(paths.local_copy(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").exists()


def test_a_worker_has_copies_of_what_it_works_on(elsewhere: str) -> None:
    before = copies()
    index = Index.build(f"{elsewhere}/x", CORPUS, shard_triples=10)
    opened = OpenShards(index.place)
    listed = index.manifest.shards
    for group in (listed[:2], listed[1:3], listed[3:]):
        assert [shard.triples for shard in opened(group)] == [10] * len(group)
        assert len(copies() - before) == len(group)
    paths.forget(paths.joined(index.place, listed[3].file))


def test_one_parquet_file_is_copied_at_a_time(elsewhere: str) -> None:
    before = copies()
    corpus = []
    for name, first in (("a", 0), ("b", 20), ("c", 30)):
        given = CORPUS[first : first + 10]
        columns = {field: [getattr(each, field) for each in given] for field in ("id", "message", "response")}
        corpus.append(f"{elsewhere}/{name}.parquet")
        with fsspec.open(corpus[-1], "wb") as stream:
            pl.DataFrame(columns).write_parquet(stream)
    index = Index.build(f"{elsewhere}/y", corpus, shard_triples=4)
    assert len(copies() - before) <= 1
    assert [source.triples for source in index.manifest.sources] == [10, 10, 10]


def test_unfinished_uploads_are_removed(tmp_path: Path) -> None:
    address = f"file://{tmp_path}/x"
    Index.build(address, CORPUS[:5])
    for name in (".trubleu-0123456789abcdef.tmp", ".keep"):
        (tmp_path / "x" / name).touch()
    Index.open(address).add(CORPUS[5:9])
    left = set(files(tmp_path / "x"))
    assert ".keep" in left
    assert ".trubleu-0123456789abcdef.tmp" not in left
    assert rows(Index.open(tmp_path / "x")) == plain(CORPUS[:9])


def test_shards_at_an_address_are_opened_when_they_are_used(tmp_path: Path) -> None:
    index = Index.build(f"file://{tmp_path}/x", write(tmp_path / "c.jsonl", CORPUS), shard_triples=10)
    found: ShardsOnDemand = index.shards  # type: ignore[assignment]
    assert found._opened.cache_info().currsize == 0
    assert index.triple(12) == plain(CORPUS)[12]
    assert found._opened.cache_info().currsize == 1
