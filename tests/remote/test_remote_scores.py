"""Folders of parts on S3 are scored, and scores of segments written there, as on this machine."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.scoring.corpora import make_metrics
from trubleu.cli import main
from trubleu.data import LineStream
from trubleu.data.corpus import ColumnFile, counted_columns, line_ranges
from trubleu.errors import ChangedError, DataError
from trubleu.execution import engine
from trubleu.files import remote
from trubleu.scoring import partitions, read_segment_scores, score_files

if TYPE_CHECKING:
    from pathlib import Path

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
    metrics = ["-m", "cider-2", "-m", "bleu-2", "--format", "json"]

    def score(at: str, *more: str, engine: str = "local") -> str:
        arguments = ["--refs", f"{at}/refs", f"{at}/s.parquet", *metrics, "--quiet", "--engine", engine, *more]
        code = main(["score", *arguments, "--segments-to", f"{at}/out"])
        out, error = capsys.readouterr()
        assert (code, error) == (0, "")
        return out

    here, there = str(tmp_path), store.address("").rstrip("/")
    expected = score(here)
    assert score(there, "--resume", f"{there}/kept", engine="local:2") == expected
    # The paths are part of what a job is, and so of the names of its parts.
    assert list(read_segment_scores(f"{there}/out")) == list(read_segment_scores(f"{here}/out"))
    keys = store.keys()
    assert next(key for key in keys if key.startswith("out/")) == "out/manifest.json"
    assert (sum(key.startswith("out/part-") for key in keys), sum(key.startswith("kept/") for key in keys)) == (2, 4)
    assert score(there, "--resume", f"{there}/kept") == expected
    assert store.keys() == keys


def test_tables_that_are_no_longer_needed_are_removed(store: Store, tmp_path: Path) -> None:
    for number in range(3):
        pl.DataFrame({"text": [f"text {number}"] * 4}).write_parquet(tmp_path / "part")
        store.put(f"s/{number}.parquet", (tmp_path / "part").read_bytes())
    (tmp_path / "r").write_text("a text\n" * 12)
    files = LineStream(references=[tmp_path / "r"], weights=[], systems={"s": store.address("s")}).counted()
    held: list[set[str]] = []
    there = store.address("s/")
    for lines in files.ranges(4):
        (part,) = lines.parts(files)
        held.append({address.removeprefix(there) for _, address in remote._copies if address.startswith(there)})
        assert len(part.outputs["s"]) == 4
    assert held == [{f"{number}.parquet"} for number in range(3)]


def test_a_table_that_cannot_be_fetched_is_not_damaged(store: Store, tmp_path: Path) -> None:
    pl.DataFrame({"text": ["a"]}).write_parquet(tmp_path / "s.parquet")
    address = store.put("s.parquet", (tmp_path / "s.parquet").read_bytes())
    store.denied = {"GET"}
    with pytest.raises(DataError, match=r"s.parquet may not be read; check its permissions"):
        ColumnFile(address, address).look()


def test_a_file_that_was_written_to_is_refused(store: Store) -> None:
    (column,) = counted_columns([store.put("f", "aaa\nb\nc\n")])
    *_, last = line_ranges([column], 2)
    store.put("f", "a\nbbb\nc\n")
    with pytest.raises(ChangedError, match="f changed while it was read"):
        list(last.spans[0][0].rows())


def test_folders_that_may_not_be_written_are_refused_first(store: Store, tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a b\n")
    files = LineStream(references=[tmp_path / "r"], weights=[], systems={"s": tmp_path / "r"}).counted()
    store.denied = {"POST", "PUT"}
    for option in ("keep", "segments_to"):
        with engine("local") as here, pytest.raises(DataError, match=r"^s3://\S+ may not be written"):
            score_files(files, make_metrics, here, **{option: store.address("there")})  # type: ignore[arg-type]
