"""Packages whose public names are imported when they are first used, so that importing the package is quick."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def lazy_names(package: str, file: str) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return a package's ``__all__``, ``__getattr__`` and ``__dir__``: the names that its ``__init__.pyi`` imports.

    Parameters
    ----------
    package
        The package's ``__name__``.
    file
        Its ``__file__``. The stub beside it has one import per line, ``from MODULE import NAME as NAME``; type checkers
        read it, too.

    Examples
    --------
    >>> import trubleu
    >>> listed, load, _ = lazy_names("trubleu", trubleu.__file__)
    >>> "Bleu" in listed, load("Bleu").__name__, load("metrics").__name__
    (True, 'Bleu', 'trubleu.metrics')
    """
    with open(f"{file.removesuffix('c')}i", encoding="utf-8") as stub:  # noqa: PTH123 - pathlib takes long to import
        home_of = {name: home for _, home, _, name, *_ in map(str.split, stub)}
    listed = sorted(home_of)

    def load(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return listed, load, lambda: listed
