"""Modules of users, such as their own metrics: how they are found and imported, and mistakes in them."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
import traceback
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from pathlib import Path
from pkgutil import get_importer
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

_OWN: Final = Path(__file__).parent
_STANDARD: Final = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
_INSTALLED: Final = {"site-packages", "dist-packages"}


def is_installed(path: Path) -> bool:
    """Return whether a file belongs to an installed package."""
    return not _INSTALLED.isdisjoint(path.parts)


def is_of_python(path: Path) -> bool:
    """Return whether a file belongs to Python."""
    return any(path.is_relative_to(place) for place in _STANDARD) and not is_installed(path)


def _is_of_users(path: Path) -> bool:
    return not (is_installed(path) or is_of_python(path) or path.is_relative_to(_OWN))


class _SourceLoader(SourceFileLoader):
    """Compiles the source each time: Python takes bytecode for current if the second and the size of a file agree."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _finder(folder: str) -> FileFinder:
    """Return the finder of a folder with modules of users, as an entry of ``sys.path_hooks``."""
    path = Path(folder or ".").absolute()
    if not path.is_dir() or not _is_of_users(path):
        raise ImportError
    return FileFinder(str(path), (ExtensionFileLoader, EXTENSION_SUFFIXES), (_SourceLoader, SOURCE_SUFFIXES))


def import_user_module(name: str) -> ModuleType:
    """Import a module of the user's; as with ``python -m``, modules in the current folder are found.

    The current folder stays the last entry of ``sys.path``, because a module may import its neighbours while it works.
    """
    if _finder not in sys.path_hooks:
        sys.path_hooks.insert(0, _finder)
        sys.path_importer_cache.clear()
    importlib.invalidate_caches()
    folder = os.getcwd()  # noqa: PTH109 - as sys.path has it
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def find_module(name: str) -> ModuleSpec | None:
    """Find a module without importing anything, not even its package."""
    path: Sequence[str] = sys.path
    spec = None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        spec = _find_in(path, ".".join(parts[:count]))
        if spec is None:
            return None
        path = spec.submodule_search_locations or []
    return spec


def _find_in(path: Sequence[str], name: str) -> ModuleSpec | None:
    """Find a module in folders. Python's own search needs the package of a folder without ``__init__.py`` imported."""
    folders: list[str] = []
    for entry in path:
        finder = get_importer(entry)
        spec = finder.find_spec(name) if finder is not None else None
        if spec is not None and spec.loader is not None:
            return spec
        folders += (spec.submodule_search_locations or []) if spec is not None else []
    if not folders:
        return None
    found = ModuleSpec(name, None, is_package=True)
    found.submodule_search_locations = folders
    return found


def mistake(error: BaseException) -> str | None:
    """Describe an exception that code of the user's raised, with its file and line; None if it was raised elsewhere."""
    if isinstance(error, SyntaxError) and error.filename and _is_of_users(Path(error.filename)):
        return f"{_shown(error.filename)}:{error.lineno}: {error.msg}; correct the code"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.endswith(".py") and _is_of_users(Path(frame.filename).absolute())
    ]
    if not frames:
        return None
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{_shown(frames[-1].filename)}:{frames[-1].lineno}: {what}; correct the code"


def _shown(file: str) -> str:
    """Return the path of a file from the current folder, if it is in there."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
