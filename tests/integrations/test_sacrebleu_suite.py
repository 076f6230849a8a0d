"""The test cases of sacreBLEU's source distribution, run against sacreBLEU and `trubleu.compat.sacrebleu`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

CASES = ("test_bleu", "test_chrf", "test_sentence_bleu", "test_ter")

RUN = """
import sys, pytest
if sys.argv[1] == "ours":
    import trubleu.compat.sacrebleu, trubleu.compat.sacrebleu.metrics
    sys.modules["sacrebleu"] = trubleu.compat.sacrebleu
    sys.modules["sacrebleu.metrics"] = trubleu.compat.sacrebleu.metrics
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir=.", *sys.argv[2:]]))
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sacrebleu")
    wanted = f"sacrebleu=={version('sacrebleu')}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", wanted]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("sacrebleu-*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (tests,) = folder.glob("sacrebleu-*/test")
    return tests


def passed(suite: Path, which: str) -> int:
    files = [f"{name}.py" for name in CASES]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, which, *files],
        cwd=suite,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stdout
    found = re.search(r"(\d+) passed", done.stdout)
    assert found is not None
    return int(found[1])


def test_both_pass_all_cases(suite: Path) -> None:
    assert passed(suite, "ours") == passed(suite, "theirs") >= 80
