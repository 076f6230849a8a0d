"""PostgreSQL for load: at full size it writes to the disk as it would for real raters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.rating.load.harness import SOAK
from tests.rating.postgres import binaries, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.rating.postgres import Server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    if binaries() is None:
        if os.environ.get("CI") or SOAK:
            pytest.fail("PostgreSQL is not installed: install the package postgresql")
        pytest.skip("PostgreSQL is not installed")
    yield from running(durable=SOAK)
