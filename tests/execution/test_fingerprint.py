"""Code besides this package is found by its modules, and another state of it has another hash."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module, invalidate_caches
from typing import TYPE_CHECKING

import numpy as np
import pytest

from trubleu.execution import hashing
from trubleu.execution.hashing import code_digest, outside_sources, sources_digest
from trubleu.metrics import Bleu

if TYPE_CHECKING:
    from pathlib import Path

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
    monkeypatch.delitem(sys.modules, "somebodys_metrics", raising=False)
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


@pytest.mark.parametrize(
    "how", ["import helpers", "from helpers import factor", "import helpers.deeper", "from . import x"]
)
def test_what_others_import(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", "mine.metric", "mine.x", "helpers", "helpers.deeper"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "mine").mkdir()  # a package without __init__.py
    (tmp_path / "mine" / "metric.py").write_text(f"{how}\nimport json, numpy\nclass Mine: pass\n")
    (tmp_path / "mine" / "x.py").write_text("import helpers\n")
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "__init__.py").write_text("def factor(): return 1\n")
    deeper = tmp_path / "helpers" / "deeper.py"
    deeper.write_text("")
    (tmp_path / "helpers" / "__init__.py").write_text("from . import deeper\ndef factor(): return deeper\n")
    invalidate_caches()
    module = import_module("mine.metric")
    before = outside_sources([module.Mine])
    assert {"mine.metric", "helpers", "helpers.deeper", "numpy"} <= {name for name, _ in before}
    assert ("numpy", np.__version__) in before
    assert all(known for _, known in before)
    deeper.write_text("1\n")
    assert outside_sources([module.Mine]) != before


def test_what_is_not_imported_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders without ``__init__.py`` are packages as well, and nothing is imported to find what is in them."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "later" / "on").mkdir(parents=True)
    (tmp_path / "later" / "on" / "used.py").write_text("from nowhere import nothing\n")
    (tmp_path / "own_metric.py").write_text("class Mine:\n    def score(self):\n        from later.on import used\n")
    invalidate_caches()
    found = dict(outside_sources([import_module("own_metric").Mine]))
    assert found.keys() == {"own_metric", "later", "later.on", "later.on.used"}
    assert "later" not in sys.modules


def test_a_module_that_is_called_as_one_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "profile", raising=False)
    (tmp_path / "profile.py").write_text("class Mine: pass\n")
    invalidate_caches()
    assert [name for name, _ in outside_sources([import_module("profile").Mine])] == ["profile"]


def test_functions_of_other_languages_have_types_without_a_module() -> None:
    generator = np.random.default_rng(1)
    found = [("numpy.random._generator", np.__version__)]
    assert outside_sources([generator]) == outside_sources([generator.normal]) == found


def test_another_release_of_what_is_counted_with_is_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = hashing._version
    before = code_digest.__wrapped__()
    assert code_digest() == before
    for package in ("numpy", "sacrebleu", "sentencepiece"):
        assert usual(package), "it is installed"
        with monkeypatch.context() as patch:
            patch.setattr(hashing, "_version", lambda name, other=package: "0" if name == other else usual(name))
            assert code_digest.__wrapped__() != before
    assert usual("no-such-package") is None
