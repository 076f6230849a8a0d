"""Code besides this package is found by its modules, and another state of it has another hash."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module, invalidate_caches
from typing import TYPE_CHECKING

from trubleu import Bleu
from trubleu._sources import outside_sources, sources_digest

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CODE = """
from trubleu import Bleu

class Mine(Bleu):
    pass

def words(text):
    return text.split()

def make(settings):
    return {}
"""


def test_modules_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "somebodys_metrics.py").write_text(CODE)
    invalidate_caches()
    module = import_module("somebodys_metrics")
    things = [module.Mine(2), Bleu(2, tokenize=module.words), partial(module.make, {}), module.Mine]
    (found,) = {tuple(outside_sources([thing])) for thing in things}
    assert [name for name, _ in found] == ["somebodys_metrics"]
    (tmp_path / "somebodys_metrics.py").write_text(f"{CODE}\n")
    assert outside_sources(things) != list(found)
    assert outside_sources([Bleu(2), sources_digest, partial(len, "a")]) == []
    (tmp_path / "somebodys_metrics.py").unlink()
    assert outside_sources(things) == [("somebodys_metrics", "")]
    del sys.modules["somebodys_metrics"]
