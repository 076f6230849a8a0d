"""The process that runs commands whose calls fail, and a folder for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.harness import Server, work_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start the process that runs commands."""
    with Server(tmp_path_factory.mktemp("shim")) as made:
        yield made


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder to work in."""
    with work_folder() as found:
        yield found
