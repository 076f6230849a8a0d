"""Vectors trained from text on S3, the store written there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trubleu.vectors import TrainingOptions, VectorStore, train_vectors
from trubleu.vectors.training import counts

if TYPE_CHECKING:
    import pytest

    from tests.remote.conftest import Store

TEXT = "".join(f"it is w{i % 7} and w{i % 5} or w{i % 3} here\n" for i in range(80))


def test_text_and_store_may_be_elsewhere(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(counts, "RANGE", 700)
    options = TrainingOptions(orders=(1, 2), min_count=(3, 3), dim=4, epochs=1)
    Path("text.txt").write_text(TEXT)
    train_vectors(["text.txt"], "here.store", options, threads=1)
    address = store.put("corpus/text.txt", TEXT)
    made = train_vectors([address], store.address("there.store"), options, threads=1)
    assert store.get("there.store") == Path("here.store").read_bytes()
    assert made.path == store.address("there.store")
    assert VectorStore.open(made.path).ngrams() == VectorStore.open("here.store").ngrams()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.store", "text.txt"]
