"""What things hold, as one hash: equal in every process for equal things, and for no others."""

from __future__ import annotations

import hashlib
import pickle
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu._sources import code_digest, modules_of, outside_modules
from trubleu.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PLAIN: Final = frozenset({str, int, float, bool, bytes, type(None), tuple, list, dict})


def content_digest(*things: object) -> str:
    """Return a hash of what things hold and of the code that they are of, TruBLEU's and anybody else's.

    It is made from what would be sent to other processes, but does not depend on which equal parts are one object, on
    the order of sets, or on where the memory of arrays lies. So of what is sent as a name, such as a path, it knows
    only the name.

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
                f"results of what is defined in {name} cannot be kept, as it has no file whose changes would be "
                "noticed; put it into a module"
            )
    digest.update(repr([code_digest(), code]).encode())
    return digest.hexdigest()


def held_digest(thing: object) -> str:
    """Return a hash of what a thing holds, whatever the code that it is of.

    Raises
    ------
    UsageError
        If it could not be sent to another process.
    """
    digest = hashlib.blake2b(digest_size=32)
    _feed(digest, thing)
    return digest.hexdigest()


def _feed(digest: Any, thing: object) -> set[str]:
    """Hash a thing and return the modules that its classes and functions are from."""
    content = _Content(_Hashed(digest))
    try:
        content.dump(thing)
    except Exception as error:  # classes of anybody say what they hold
        raise UsageError(f"results cannot be kept: {error}; use functions and classes that can be imported") from error
    return content.modules


class _Hashed:
    """A file whose bytes are hashed."""

    def __init__(self, digest: Any) -> None:
        self._digest = digest

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return len(data)


class _Content(pickle.Pickler):
    """Writes what can never be read again: what is not told the same way everywhere, as a hash of its own."""

    def __init__(self, file: _Hashed) -> None:
        super().__init__(file, protocol=5)
        # Without references to what was written before: which equal parts are one object differs between processes.
        self.fast = True
        self.modules: set[str] = set()
        self._known: set[type] = set()

    def persistent_id(self, thing: Any) -> object:
        """Return what stands for a thing; None if it is written as it would be sent."""
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
    """Return what a class has that Python's sets have not."""
    return {name for each in kind.__mro__ if each not in (set, frozenset, object) for name in vars(each)}


def _array(array: NDArray[Any]) -> tuple[object, ...]:
    # In the order in which an array gets to another process, as sums depend on it.
    order = "F" if array.flags.fnc else "C"
    flat = np.ascontiguousarray(array.T if order == "F" else array).reshape(-1).view(np.uint8)
    return "array", array.dtype.str, array.shape, order, hashlib.blake2b(flat.data, digest_size=32).digest()
