"""Words and n-grams counted on a real cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from trubleu.execution import engine
from trubleu.vectors import TrainingOptions, train_vectors
from trubleu.vectors.training import counts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("default:::ray")


@pytest.mark.usefixtures("connected")
def test_a_store_is_that_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "RANGE", 700)
    monkeypatch.setattr(counts, "PLACES", 200)
    (tmp_path / "text").write_text("".join(f"it is w{i % 7} and w{i % 5} or w{i % 3} here\n" for i in range(80)))
    options = TrainingOptions(orders=(1, 2), min_count=(3, 3), dim=4, epochs=1)
    train_vectors([tmp_path / "text"], tmp_path / "here", options, threads=1)
    with engine("ray") as cluster:
        train_vectors([tmp_path / "text"], tmp_path / "there", options, threads=1, engine=cluster)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
