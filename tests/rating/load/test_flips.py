"""Single bits of store.db are turned over: no other number or text in silence, and no traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rating.flips import flips, varied_study
from tests.rating.load.harness import SOAK, keep

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("kind", ["response", "pair"])
def test_no_flipped_bit_goes_unnoticed(kind: str, tmp_path: Path) -> None:
    varied_study(tmp_path / "study", kind=kind)
    (tmp_path / "out").mkdir()
    happened = flips(tmp_path / "study", tmp_path / "out", count=400 if SOAK else 40)
    # What is the same lies in pages or parts of pages that hold nothing.
    assert min(happened.values()) > 0, happened
    keep(f"flipped bits, {kind}", {**happened, "silent": 0, "tracebacks": 0})
