"""Indexes at addresses: built, interrupted, continued and added to."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from tests.mining.example import files, interrupted, rows, triples, write
from trubleu.errors import CountedWarning, DataError, UsageError
from trubleu.mining import Index

if TYPE_CHECKING:
    from pathlib import Path

    from tests.remote.conftest import Store


def test_an_index_is_built_interrupted_and_added_to(store: Store, tmp_path: Path) -> None:
    here = write(tmp_path / "a.jsonl", [*triples(25), {"message": "?"}])
    corpus = [store.put("corpus/a.jsonl", here.read_bytes())]
    corpus.append(store.put("corpus/b.jsonl.gz", gzip.compress(write(tmp_path / "b", triples(15, 2)).read_bytes())))
    place = store.address("chat.index")
    with pytest.raises(DataError, match="there is no such index"):
        Index.open(place)
    interrupted(place, corpus)
    assert not store.get("chat.index/index.json")
    with pytest.raises(UsageError, match=r"s3://.*/chat\.index holds an index that was not finished"):
        Index.build(place, corpus)
    made = [key for key in store.keys() if "/shard-" in key]  # noqa: SIM118
    store.requests.clear()
    with pytest.warns(CountedWarning, match="skipped: 1"):
        index = Index.build(place, corpus, shard_triples=10, skip_bad=True, resume=True)
    written = [each.path for each in store.requests if each.method == "PUT" and "/shard-" in each.path]
    assert len(made) == 4
    assert len(written) == 1, "the one with the bad row"
    assert rows(index)[-1][0] == "2-14"
    index = index.add(corpus[1])
    names = sorted(key.removeprefix("chat.index/") for key in store.keys() if key.startswith("chat.index/"))  # noqa: SIM118
    assert names == sorted(["index.json", *(shard.file for shard in index.manifest.shards)])
    with pytest.warns(CountedWarning, match="skipped: 1"):
        local = Index.build(tmp_path / "x", corpus, shard_triples=10, skip_bad=True).add(corpus[1])
    assert {name: store.get(f"chat.index/{name}") for name in names} == {
        name: content for name, content in files(local.path).items() if name != "lock"
    }
