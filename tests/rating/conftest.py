"""Studies in both databases, for tests of rating."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.rating.postgres import binaries, running
from trubleu.rating import Item, Study, StudyConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.rating.postgres import Server

_schemas = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, one for each process that runs tests."""
    if binaries() is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed: install the package postgresql")
        pytest.skip("PostgreSQL is not installed")
    yield from running()


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest) -> Callable[[], str | None]:
    """Return a function that returns the address of an empty database, None for a file in the study's folder."""
    if request.param == "sqlite":
        return lambda: None
    server: Server = request.getfixturevalue("postgres")

    def url() -> str:
        schema = f"study{next(_schemas)}"
        server.run(f"CREATE SCHEMA {schema}")
        return server.url(schema)

    return url


@pytest.fixture
def make(new_url: Callable[[], str | None], tmp_path: Path) -> Iterator[Callable[..., Study]]:
    """Return a function that makes a study of so many items, and closes it in the end."""
    made: list[Study] = []

    def study(items: int | list[Item] = 3, **settings: object) -> Study:
        kind = settings.pop("kind", "response")
        secret = settings.pop("secret", "what is drawn is the same in every run of the tests")
        config = StudyConfig("Test", kind, **settings)  # type: ignore[arg-type]
        texts = config.parts
        if isinstance(items, int):
            items = [
                Item(f"k{number}", tuple(f"text {number}.{part}" for part in range(texts)), message=f"message {number}")
                for number in range(items)
            ]
        folder = tmp_path / f"study{len(made)}"
        made.append(Study.create(folder, config, items, store_url=new_url(), secret=secret))  # type: ignore[arg-type]
        return made[-1]

    yield study
    for one in made:
        one.close()
