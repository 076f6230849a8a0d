"""Which code is at work: a version has many states while somebody changes it."""

from __future__ import annotations

import hashlib
import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OWN = __name__.partition(".")[0]


@cache
def sources_digest() -> str:
    """Return a hash of this package's sources, Python and C++, which tells two states of one version apart."""
    from trubleu.native import kernels

    folder = Path(__file__).parent
    digest = hashlib.blake2b(kernels.sources.encode(), digest_size=16)
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def outside_sources(things: Iterable[object]) -> list[tuple[str, str]]:
    """Return the modules besides this package and Python that things and what they hold are from.

    Parameters
    ----------
    things
        Objects, functions or classes.

    Returns
    -------
    list of tuple
        The name of each module and a hash of its source file; of one without a file, such as a notebook, the name only.

    Examples
    --------
    >>> import pathlib
    >>> outside_sources([pathlib.Path("a"), sources_digest])
    []
    """
    return outside_modules(name for thing in things for name in _modules(thing, depth=4))


def outside_modules(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return those modules that are neither of this package nor of Python, with their hashes as `outside_sources`."""
    known = {_OWN, "builtins", *sys.stdlib_module_names} - {"__main__"}
    return [(name, _file_digest(name)) for name in sorted(set(names)) if name.partition(".")[0] not in known]


def _modules(thing: Any, depth: int) -> Iterator[str]:
    """Yield where a thing's code is, and that of what it holds."""
    if isinstance(thing, partial):
        for each in (thing.func, *thing.args, *thing.keywords.values()):
            yield from _modules(each, depth)
        return
    if not isinstance(thing, type) and callable(thing) and hasattr(thing, "__qualname__"):
        yield str(thing.__module__)
        return
    classes = thing.__mro__ if isinstance(thing, type) else type(thing).__mro__
    yield from (each.__module__ for each in classes)
    if depth and not isinstance(thing, type):
        names = [*getattr(thing, "__dict__", {}), *getattr(thing, "__slots__", ())]
        for name in names:
            yield from _modules(getattr(thing, name, None), depth - 1)


def _file_digest(name: str) -> str:
    file = getattr(sys.modules.get(name), "__file__", None)
    try:
        return hashlib.blake2b(Path(file).read_bytes(), digest_size=16).hexdigest() if file else ""
    except OSError:
        return ""
