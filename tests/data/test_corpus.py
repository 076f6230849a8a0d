"""Large plain files come part by part, and nothing about the numbers changes."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import LineStream, References, corpus
from trubleu.data.corpus import worth_streaming
from trubleu.errors import DataError
from trubleu.files.lines import in_batches, line_blocks

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stream")


@given(lines=st.lists(st.text("ab\u2028\x0b ", max_size=4), max_size=20), size=st.integers(1, 7))
def test_batches_hold_all_lines(folder: Path, lines: list[str], size: int) -> None:
    (folder / "f").write_text("".join(line + "\n" for line in lines), newline="")
    batches = list(in_batches(line_blocks(folder / "f"), size))
    assert [line for batch in batches for line in batch] == lines
    assert all(len(batch) == size for batch in batches[:-1])
    assert all(batches)


@given(
    rows=st.lists(
        st.tuples(st.text("ab ", max_size=4), st.text("ab ", max_size=4), st.sampled_from(["1", "-0.5", ""])),
        max_size=12,
    ),
    size=st.integers(1, 5),
)
def test_parts_are_the_whole(folder: Path, rows: list[tuple[str, str, str]], size: int) -> None:
    files = {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}
    files |= {"wa": ["0.25"] * len(rows), "wb": [row[2] for row in rows], "s": [row[1] for row in rows]}
    for name, lines in files.items():
        (folder / name).write_text("".join(line + "\n" for line in lines))
    references, weights = [folder / "a", folder / "b"], [folder / "wa", folder / "wb"]
    whole = References.read_parallel(references, weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "PART", size)
        parts = list(LineStream(references=references, weights=weights, systems={"s": folder / "s"}).counted())
    assert tuple(text for part in parts for text in part.references.texts) == whole.texts
    assert [identity for part in parts for identity in part.references.ids] == list(whole.ids)
    assert [text for part in parts for text in part.outputs["s"]] == files["s"]
    if parts and whole.weights is not None:
        found = [part.references.weights for part in parts]
        np.testing.assert_array_equal(np.concatenate([each for each in found if each is not None]), whole.weights)


def test_different_lengths_are_named_before_anything_is_read(tmp_path: Path) -> None:
    for name, lines in (("r", 3), ("q", 2), ("s", 4)):
        (tmp_path / name).write_text("a\n" * lines)
    with pytest.raises(DataError, match=r"q has 2 lines but .*r has 3"):
        LineStream(references=[tmp_path / "r", tmp_path / "q"], weights=[], systems={}).counted()
    with pytest.raises(DataError, match=r"s has 4 lines but .*r has 3; every file"):
        LineStream(references=[tmp_path / "r"], weights=[], systems={"s": tmp_path / "s"}).counted()


def test_wrong_weights_have_their_line_in_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "PART", 2)
    (tmp_path / "r").write_text("a\n" * 5)
    (tmp_path / "w").write_text("1\n1\n1\n7\n1\n")
    (tmp_path / "e").write_text("1\n1\n1\n\n1\n")
    with pytest.raises(DataError, match=r"w:4: a weight must be from -1 to 1"):
        list(LineStream(references=[tmp_path / "r"], weights=[tmp_path / "w"], systems={}).counted())
    with pytest.raises(DataError, match=r"no reference has a weight on line 4"):
        list(LineStream(references=[tmp_path / "r"], weights=[tmp_path / "e"], systems={}).counted())


def test_what_is_worth_streaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r.txt").write_text("a\n")
    (tmp_path / "r.gz").write_bytes(gzip.compress(b"a\n"))
    (tmp_path / "j.txt").write_text('{"id": "1", "references": [{"text": "a"}]}\n')
    (tmp_path / "o.jsonl").write_text('{"id": "1", "text": "a"}\n')
    (tmp_path / "binary").write_bytes(b"PAR1\0\0")
    plain = tmp_path / "r.txt"
    assert not worth_streaming([plain], [plain])  # too small
    monkeypatch.setattr(corpus, "WORTH_STREAMING", 1)
    assert worth_streaming([plain], [tmp_path / "r.gz"])
    assert not worth_streaming([tmp_path / "j.txt"], [plain])
    assert not worth_streaming([plain], [tmp_path / "o.jsonl"])
    assert not worth_streaming([tmp_path / "binary"], [plain])
    assert not worth_streaming([plain], ["-"])
    assert not worth_streaming([plain], [tmp_path / "missing"])
    assert worth_streaming([plain], [tmp_path])
    assert not worth_streaming([tmp_path], ["-"])
