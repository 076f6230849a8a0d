"""A missing peer is told in one sentence, and only to those benchmarks that need it."""

from __future__ import annotations

import sys

import pytest

from benchmarks.__main__ import PEERS, main, missing_peers


@pytest.mark.parametrize(
    ("module", "case", "requirement"),
    [
        ("nltk", "start", "nltk"),
        ("bm25s", "mining-index", "'bm25s>=0.2.10'"),
        ("pycocoevalcap", "older", "pycocoevalcap"),
    ],
)
def test_what_to_install_is_said(
    module: str, case: str, requirement: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for other in PEERS:
        if other != "nltk":
            monkeypatch.setitem(PEERS, other, (PEERS[other][0], () if other != module else PEERS[other][1]))
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["--quick", "--only", case]) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert f"install them with: pip install {requirement}, or name benchmarks that do without" in error


def test_others_do_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("bm25s", "tantivy", "pycocoevalcap", "fastchrf", "numba"):
        monkeypatch.setitem(sys.modules, module, None)
    assert missing_peers(["start", "a", "second"]) == []
