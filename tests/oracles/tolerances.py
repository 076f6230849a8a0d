"""How close two scores have to be."""

from __future__ import annotations

from typing import Any

import pytest


def near(expected: Any) -> Any:
    """Return something that equals numbers within 1e-9, alone or in lists."""
    return pytest.approx(expected, rel=1e-11, abs=1e-9)
