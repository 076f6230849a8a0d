"""What the tests against other people's packages share; `make test-integrations` installs those and runs the tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# Read when `evaluate` is first imported: its caches belong to this run, and it is to look for nothing elsewhere.
HOME = tempfile.mkdtemp(prefix="trubleu-hf-")
os.environ.update(HF_HOME=HOME, HF_HUB_OFFLINE="1", HF_EVALUATE_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")


@pytest.fixture(scope="session", autouse=True)
def _remove_caches() -> Iterator[None]:
    yield
    shutil.rmtree(HOME, ignore_errors=True)
