"""Metrics of users: what a kept result depends on, and what a mistake in one says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

METRIC = """
import numpy as np
from trubleu import Metric
from trubleu.signature import make_signature
from helper import FACTOR

class Mine(Metric):
    name = "mine"

    def statistics(self, outputs, references, **how):
        from neighbour import bonus
        return np.array([[len(text) * FACTOR + bonus(), 1.0] for text in outputs])

    def score(self, sums):
        return sums[..., 0] / sums[..., 1]

    def signature(self, references=None):
        return make_signature("mine")
"""

FILES = {
    "metric.py": METRIC,
    "helper.py": "from deeper import DOUBLE\nFACTOR = DOUBLE\n",
    "deeper.py": "DOUBLE = 2\n",
    "neighbour.py": "import importlib\nimport json\n\ndef bonus():\n    from last import BONUS\n    return BONUS\n",
    "last.py": "BONUS = 0\n",
    "o.txt": "one\ntwo\n",
    "r.txt": "one\ntwo\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trubleu", "score", "--ref", "r.txt", "o.txt", "-m", "metric:Mine", *options]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def score(folder: Path, *options: str) -> float:
    done = run(folder, "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["scores"]
    return float(row["score"])


@pytest.mark.parametrize(
    ("changed", "text", "wanted"),
    [
        ("helper.py", "from deeper import DOUBLE\nFACTOR = 3 * 1\n", 9),
        ("deeper.py", "DOUBLE = 5\n", 15),
        ("last.py", "BONUS = 7\n", 13),
    ],
)
def test_a_kept_result_depends_on_all_that_a_metric_imports(
    folder: Path, changed: str, text: str, wanted: float
) -> None:
    resumed = ["--engine", "local:1", "--resume", "kept"]
    assert score(folder, *resumed) == 6
    state = (folder / changed).stat()
    (folder / changed).write_text(text)
    # Within the same second and of the same size, Python's bytecode passes for current.
    os.utime(folder / changed, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert score(folder, *resumed) == score(folder) == wanted


def test_nothing_changed_is_not_computed_again(folder: Path) -> None:
    resumed = ["--engine", "local:1", "--resume", "kept"]
    assert score(folder, *resumed) == 6
    kept = {path: path.stat().st_mtime_ns for path in (folder / "kept").rglob("*") if path.is_file()}
    (folder / "other.py").write_text("FACTOR = 9\n")
    assert score(folder, *resumed) == 6
    assert {path: path.stat().st_mtime_ns for path in (folder / "kept").rglob("*") if path.is_file()} == kept


@pytest.mark.parametrize("engine", [(), ("--engine", "local:2")])
@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (
            "deeper.py",
            "DOUBLE = 1 / 0\n",
            r"metric:Mine cannot be loaded: deeper\.py:1: ZeroDivisionError: ",
        ),
        ("helper.py", "FACTOR = = 2\n", r"metric:Mine cannot be loaded: helper\.py:1: invalid syntax"),
        (
            "helper.py",
            "import nowhere\n",
            r"metric:Mine cannot be loaded: helper\.py:1: ModuleNotFoundError: ",
        ),
        ("metric.py", "Other = 1\n", r"metric:Mine cannot be loaded: the module metric has no Mine"),
        ("last.py", "BONUS = [][1]\n", r"last\.py:1: IndexError: list index out of range"),
        ("metric.py", METRIC.replace("* FACTOR", "* wrong"), r"metric\.py:12: NameError: name 'wrong' is"),
        (
            "metric.py",
            METRIC.replace('name = "mine"', "x = 1\n    def __init__(self): self.y"),
            r"metric\.py:9: Attr",
        ),
    ],
)
def test_a_mistake_is_one_sentence(folder: Path, file: str, text: str, message: str, engine: tuple[str, ...]) -> None:
    (folder / file).write_text(text)
    done = run(folder, *engine)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(rf"trubleu: {message}", done.stderr), done.stderr
    assert done.stderr.count("\n") == 1
