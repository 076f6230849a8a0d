"""Packages that are installed only where they are wanted, imported only when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trubleu.errors import MissingExtraError


def needed(package: str, purpose: str, requirement: str, name: str | None = None) -> Any:
    """Import a package, or say what to install.

    Parameters
    ----------
    package
        What to import.
    purpose
        What needs it, as the beginning of the message.
    requirement
        What pip installs it by.
    name
        What the package is called, if not like its module.

    Examples
    --------
    >>> needed("math", "counting", "trubleu[maths]").floor(1.5)
    1
    >>> needed("no_such_package", "reading minds", "trubleu[minds]")
    Traceback (most recent call last):
    trubleu.errors.MissingExtraError: reading minds needs the package no_such_package; install it with: \
pip install 'trubleu[minds]'
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the package {name or package}; install it with: pip install '{requirement}'"
        ) from error


def polars_module() -> Any:
    """Import Polars, or say what to install."""
    return needed("polars", "a Parquet file or a Polars frame", "trubleu[parquet]")


def pandas_module() -> Any:
    """Import pandas, or say what to install."""
    return needed("pandas", "a pandas frame", "pandas")


def zstandard_module() -> Any:
    """Import zstandard, or say what to install."""
    return needed("zstandard", "a file compressed with zstd", "trubleu[zst]")
