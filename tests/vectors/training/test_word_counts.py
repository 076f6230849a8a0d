"""What becomes of the words of a range."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from trubleu.vectors.training import counts
from trubleu.vectors.training.counts import read_words

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_byte_order_mark_is_text_within_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "\ufeffa b\n".encode()
    monkeypatch.setattr(counts, "RANGE", len(line))
    (tmp_path / "text").write_bytes(line * 2)
    first, second = counts.text_ranges([tmp_path / "text"])
    assert first.span.digest() == second.span.digest()
    work = partial(read_words, tmp_path, "none", False, None)
    found = [bytes(work(text, None).words[0]) for text in (first, second)]
    assert found == [b"ab", "\ufeffab".encode()]


def test_a_range_without_words_has_its_file_too(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n \n")
    work = partial(read_words, tmp_path, "none", False, None)
    (text,) = counts.text_ranges([tmp_path / "text"])
    assert work(text, None).untold == 0
    (tmp_path / "words-0.ids").unlink()
    assert work(text, None).untold == 0
    assert (tmp_path / "words-0.ids").read_bytes() == b""
