"""From the moment when the manifest is written there is the index, whatever fails after that."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.mining.example import files, plain, records, rows, triples, write
from trubleu.errors import DataError
from trubleu.files import paths
from trubleu.mining import Index, index_builder
from trubleu.mining.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD, NEW = triples(12, 2), triples(25)


class Failure:
    """Fails at one of the calls, counted from 0, of what it stands in for, as soon as the manifest has been written."""

    def __init__(self, patch: pytest.MonkeyPatch, step: int, error: BaseException) -> None:
        self.left, self.error = step, error
        self.failed = self.written = False
        write_manifest = Manifest.write

        def write_and_count(manifest: Manifest, path: Any) -> Manifest:
            found = write_manifest(manifest, path)
            self.written = True
            return found

        patch.setattr(Manifest, "write", write_and_count)
        patch.setattr(paths, "remove", self.before(paths.remove))
        patch.setattr(index_builder, "remove_leftovers", self.before(index_builder.remove_leftovers))

    def before(self, usual: Callable[..., None]) -> Callable[..., None]:
        def called(*given: Any, **options: Any) -> None:
            if self.written:
                self.left -= 1
                if self.left == -1:
                    self.failed = True
                    raise self.error
            usual(*given, **options)

        return called


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize("kind", ["index", "add", "triples"])
def test_a_committed_index_stays(tmp_path: Path, kind: str, error: BaseException) -> None:
    corpus = write(tmp_path / "c.jsonl", NEW)
    for step in range(20):
        place = tmp_path / f"x{step}"

        def work(path: Path = place, *, resume: bool = False) -> Index:
            if kind == "index":
                return Index.build(path, corpus, shard_triples=10, resume=resume)
            if kind == "add":
                return Index.open(path).add(corpus, resume=resume)
            return Index.build(path, NEW, shard_triples=10)

        if kind == "add":
            Index.build(place, OLD, shard_triples=10)
        with pytest.MonkeyPatch.context() as patch:
            failure = Failure(patch, step, error)
            with suppress(KeyboardInterrupt):
                work()
        index = Index.open(place)
        index.check()
        assert rows(index) == plain([*OLD, *NEW] if kind == "add" else NEW)
        if not failure.failed:
            break
        if records(place):
            work(resume=True)  # which only tidies
        assert len(Index.open(place).add(triples(3, 4))) == len(index) + 3
        assert not [name for name in files(place) if name.startswith("built-")]
    assert step > (0 if kind == "triples" else 2)


@pytest.mark.parametrize("kind", ["index", "add"])
def test_a_failure_as_soon_as_the_manifest_is_there(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, usual = tmp_path / "x", Manifest.write
    if kind == "add":
        Index.build(place, OLD, shard_triples=10)

    def interrupted(manifest: Manifest, path: Any) -> Manifest:
        usual(manifest, path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Manifest, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Index.open(place).add(NEW) if kind == "add" else Index.build(place, NEW, shard_triples=10)
    assert rows(Index.open(place)) == plain([*OLD, *NEW] if kind == "add" else NEW)


def test_a_disk_that_fails_twice_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: Any, **_options: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Manifest, "write", broken)
    monkeypatch.setattr(paths, "remove", broken)
    with pytest.raises(DataError, match=r"x cannot be written: Input/output error$"):
        Index.build(tmp_path / "x", NEW)


@pytest.mark.parametrize("kind", ["index", "add"])
def test_what_cannot_be_tidied_later_either(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: Any, **_options: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    place, corpus = tmp_path / "x", write(tmp_path / "c.jsonl", NEW)
    with monkeypatch.context() as patch:
        patch.setattr(paths, "remove", broken)
        index = Index.build(place, corpus)
        assert records(place)
        with pytest.raises(DataError, match=r"x cannot be written: Input/output error$"):
            index.add(OLD) if kind == "add" else Index.build(place, corpus, resume=True)
    if kind == "add":
        index.add(OLD)
    else:
        Index.build(place, corpus, resume=True)
    assert not records(place)
    assert rows(Index.open(place)) == plain([*NEW, *OLD] if kind == "add" else NEW)


def test_no_two_shards_have_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def same(*_given: Any, **_options: Any) -> str:
        return "shard-00000-00-0123456789ab.tbx"

    monkeypatch.setattr(index_builder, "shard_name", same)
    with pytest.raises(DataError, match=r"two shards would have the name shard-00000-00-0123456789ab\.tbx; index into"):
        Index.build(tmp_path / "x", NEW, shard_triples=20)
    assert not (tmp_path / "x").exists()
