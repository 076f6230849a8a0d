"""Mining on a real cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.mining.example import files, triples, write
from trubleu.execution import engine
from trubleu.mining import Index
from trubleu.mining import search as search_module

if TYPE_CHECKING:
    from pathlib import Path

    from ray.cluster_utils import Cluster

pytestmark = pytest.mark.filterwarnings("default:::ray")


def test_candidates_are_those_of_one_process(
    connected: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "GROUP_TRIPLES", 20)
    monkeypatch.setattr(search_module, "LEAST_SEEDS", 5)
    index = Index.build(tmp_path / "chat.index", triples(100), shard_triples=10)
    seeds = triples(10, seed=2)
    told: list[int] = []
    with engine("ray") as there:
        found = index.candidates(seeds, top=3, engine=there, keep=tmp_path / "kept", progress=told.append)
    assert found == index.candidates(seeds, top=3)
    assert sum(told) == len(seeds) * len(index.shards)
    assert len(list((tmp_path / "kept").iterdir())) == len(told) + 5  # parts, and the words of five groups


def test_an_index_has_the_same_bytes(connected: Cluster, tmp_path: Path) -> None:
    corpus = [write(tmp_path / f"{seed}.jsonl", triples(55, seed)) for seed in (1, 2)]
    alone = Index.build(tmp_path / "alone", corpus, shard_triples=20)
    with engine("ray") as there:
        spread = Index.build(tmp_path / "spread", corpus, shard_triples=20, engine=there)
        assert files(spread.path) == files(alone.path)
        spread.add(corpus[0], engine=there)
    alone.add(corpus[0])
    assert files(spread.path) == files(alone.path)
