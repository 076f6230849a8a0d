"""Packages whose public names are imported when they are first used, so that importing the package is quick."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__``.

    Parameters
    ----------
    package
        The package's ``__name__``.
    homes
        The module of each public name, relative to the package; ``"."`` for a name that is itself a module of it.

    Examples
    --------
    >>> load, listed = lazy_names("trubleu", {"Bleu": "metrics.bleu", "metrics": "."})
    >>> load("Bleu").__name__, load("metrics").__name__, listed()
    ('Bleu', 'trubleu.metrics', ['Bleu', 'metrics'])
    """

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == ".":
            return import_module(f"{package}.{name}")
        value = getattr(import_module(f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(homes)
