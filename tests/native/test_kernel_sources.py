"""The kernels know which sources they were built from, so that machines that work together can compare them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from trubleu.native import _kernels, kernels


def test_the_hash_is_that_of_all_sources() -> None:
    folder = Path(__file__).parents[2] / "src" / "trubleu" / "native"
    files = sorted([*folder.glob("*.cpp"), *folder.glob("*.hpp")])
    lines = "".join(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n" for file in files)
    assert len(files) > 20
    assert kernels.sources == _kernels.sources == hashlib.sha256(lines.encode()).hexdigest()
