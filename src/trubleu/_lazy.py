"""Packages whose public names are imported when they are first used, so that importing the package is quick."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return a package's ``__all__``, ``__getattr__`` and ``__dir__``.

    Parameters
    ----------
    package
        The package's ``__name__``.
    homes
        The public names of each module, separated by spaces. The module is relative to the package, and ``"."`` has
        those modules of the package that are public themselves.

    Examples
    --------
    >>> listed, load, _ = lazy_names("trubleu", {".": "metrics text", "metrics.bleu": "Bleu BleuResult"})
    >>> listed
    ['Bleu', 'BleuResult', 'metrics', 'text']
    >>> load("Bleu").__name__, load("metrics").__name__
    ('Bleu', 'trubleu.metrics')
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    listed = sorted(home_of)

    def load(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == ".":
            return import_module(f"{package}.{name}")
        value = getattr(import_module(f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return listed, load, lambda: listed
