"""Folders of parts on S3 are scored, and scores of segments written there, as on this machine."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import polars as pl

from trubleu.cli import main
from trubleu.report import partitions, read_segment_scores

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.remote.conftest import Store


def test_folders_and_scores_of_segments(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "SMALLEST", 20)
    texts = [f"the {['red', 'blue', 'green'][i % 3]} house is {i % 7}" for i in range(60)]
    references = "".join(
        json.dumps({"id": f"s{i}", "references": [{"text": text.replace("is", "was")}]}) + "\n"
        for i, text in enumerate(texts)
    ).splitlines(keepends=True)
    pl.DataFrame({"id": [f"s{i}" for i in range(60)], "text": texts}).write_parquet(tmp_path / "s.parquet")
    parts = {"refs/0.jsonl.gz": references[:33], "refs/1.jsonl.gz": references[33:]}
    (tmp_path / "refs").mkdir()
    for name, lines in parts.items():
        data = gzip.compress("".join(lines).encode())
        (tmp_path / name).write_bytes(data)
        store.put(name, data)
    store.put("s.parquet", (tmp_path / "s.parquet").read_bytes())
    metrics = ["-m", "cider-2", "-m", "bleu-2", "--engine", "local", "--format", "json"]

    def score(at: str, *more: str) -> str:
        code = main(["score", "--refs", f"{at}/refs", f"{at}/s.parquet", *metrics, "--segments-to", f"{at}/out", *more])
        out, error = capsys.readouterr()
        assert (code, error) == (0, "")
        return out

    here, there = str(tmp_path), store.address("").rstrip("/")
    expected = score(here)
    assert score(there, "--resume", f"{there}/kept") == expected
    # The paths are part of what a job is, and so of the names of its parts.
    assert list(read_segment_scores(f"{there}/out")) == list(read_segment_scores(f"{here}/out"))
    keys = store.keys()
    assert next(key for key in keys if key.startswith("out/")) == "out/manifest.json"
    assert (sum(key.startswith("out/part-") for key in keys), sum(key.startswith("kept/") for key in keys)) == (2, 2)
    assert score(there, "--resume", f"{there}/kept") == expected
    assert store.keys() == keys
