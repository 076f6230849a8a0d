"""The pages about Python name everything that the packages offer, and nothing that is not there."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import re

import pytest

import trubleu
from tests.docs.blocks import ROOT
from trubleu.errors import MissingExtraError

# Commands are for the command line, kernels are wrapped by the packages above them.
INSIDE = {"cli", "native"}
PACKAGES = [
    "trubleu",
    "trubleu.errors",
    "trubleu.simulate.studies",
    *(
        f"trubleu.{found.name}"
        for found in pkgutil.iter_modules(trubleu.__path__)
        if found.ispkg and found.name not in INSIDE
    ),
]


def entries() -> dict[str, list[str]]:
    """Return the entries of each page of docs/api/, by the name of the page."""
    return {
        page.stem: re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for page in sorted((ROOT / "docs" / "api").glob("*.md"))
    }


def named() -> dict[str, object]:
    """Return what the pages document, by the path under which they do."""
    things: dict[str, object] = {}
    for path in (path for paths in entries().values() for path in paths):
        with contextlib.suppress(
            MissingExtraError
        ):  # the documentation is built from the source, whatever is installed
            things[path] = found(path)
    return things


def found(path: str) -> object:
    """Return what a dotted path names; a function hides the module that it shares its name with."""
    thing: object = importlib.import_module("trubleu")
    reached = "trubleu"
    for part in path.split(".")[1:]:
        reached += f".{part}"
        thing = getattr(thing, part, None) or importlib.import_module(reached)
    return thing


def offered(package: str) -> list[tuple[str, object]]:
    """Return the classes and functions of a package's `__all__`; aliases of types and constants need no entry."""
    module = importlib.import_module(package)
    own = [name for name, thing in vars(module).items() if inspect.isclass(thing) and thing.__module__ == package]
    public = [(name, getattr(module, name)) for name in getattr(module, "__all__", own)]
    return [(name, thing) for name, thing in public if inspect.isclass(thing) or inspect.isroutine(thing)]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_pages_have_everything_that_is_public(package: str) -> None:
    there = {id(thing) for thing in named().values()}
    assert [f"{package}.{name}" for name, thing in offered(package) if id(thing) not in there] == []


def test_the_pages_have_nothing_twice() -> None:
    listed = [path for paths in entries().values() for path in paths]
    assert len(set(listed)) == len(listed)
    paths = named()
    assert len({id(thing) for thing in paths.values()}) == len(paths)


def test_each_package_has_a_page_that_the_index_and_the_menu_link_to() -> None:
    index = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert not re.search("^:::", index, flags=re.MULTILINE)
    for page in entries():
        assert f"](api/{page}.md)" in index
        assert f": api/{page}.md\n" in menu
    missing = [package for package in PACKAGES if offered(package) and package.split(".")[:2][-1] not in entries()]
    assert missing == []


def test_an_entry_is_on_the_page_of_its_package() -> None:
    elsewhere = {
        path
        for page, paths in entries().items()
        for path in paths
        if path.split(".")[1] != page and page != "trubleu" and path.count(".") > 1
    }
    assert elsewhere == {"trubleu.compat.sacrebleu"}


def test_some_packages_offer_something() -> None:
    assert len(offered("trubleu.metrics")) > 10
    assert {"trubleu.data", "trubleu.rating", "trubleu.simulate"} <= set(PACKAGES)
