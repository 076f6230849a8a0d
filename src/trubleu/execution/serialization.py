"""Results as files: plain values, arrays and a few known classes, without pickle.

::

    value      JSON, in UTF-8: None, booleans, integers and strings as they are; everything else as a list of its type
               and its parts, such as ["tuple", 1, "a"]
    numbers    the bytes of floats and arrays, in the order of the value
"""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from trubleu.execution.cache import Packed

_DTYPES: Final = ("|u1", "<u4", "<i8", "<u8", "<f4", "<f8")
_FLOAT: Final = np.dtype("<f8")
_LARGEST: Final = 2**63


@dataclass(frozen=True, slots=True)
class Packing:
    """Packs and unpacks results bit by bit.

    Attributes
    ----------
    records
        The dataclasses and named tuples that may be in a result.

    Examples
    --------
    >>> packing = Packing()
    >>> header, arrays = packing.pack({"scores": [0.1, None]})
    >>> packing.unpack(header, arrays.__getitem__)
    {'scores': [0.1, None]}
    >>> packing.pack({1, 2})
    """

    records: tuple[type[Any], ...] = ()

    def pack(self, result: object) -> Packed | None:
        """Pack a result; None if it contains an unsupported type and cannot be cached."""
        numbers: list[bytes] = []
        try:
            value = json.dumps(self._plain(result, numbers), ensure_ascii=False, separators=(",", ":"))
        except _UnknownError:
            return None
        return {}, {
            "value": np.frombuffer(value.encode("utf-8", "surrogatepass"), np.uint8),
            "numbers": np.frombuffer(b"".join(numbers), np.uint8),
        }

    def unpack(self, _header: dict[str, Any], array: Callable[[str], NDArray[Any]]) -> Any:
        """Unpack a result.

        Raises
        ------
        ValueError, LookupError, TypeError, RecursionError
            If nobody packed it this way.
        """
        numbers = _Numbers(array("numbers").tobytes())
        found = self._thing(json.loads(array("value").tobytes().decode("utf-8", "surrogatepass")), numbers)
        numbers.check_end()
        return found

    def _plain(self, thing: Any, numbers: list[bytes]) -> Any:
        kind = type(thing)
        if thing is None or kind is bool or kind is str or (kind is int and -_LARGEST <= thing < _LARGEST):
            return thing
        if kind is float:
            numbers.append(np.array(thing, _FLOAT).tobytes())
            return ["float"]
        if kind is np.ndarray and thing.dtype.str in _DTYPES:
            order = "F" if thing.flags.fnc else "C"
            numbers.append(thing.tobytes(order))
            return ["array", thing.dtype.str, order, *thing.shape]
        if kind is list or kind is tuple:
            return [kind.__name__, *(self._plain(each, numbers) for each in thing)]
        if kind is dict:
            return ["dict", *(self._plain(each, numbers) for item in thing.items() for each in item)]
        if kind in self.records:
            return [kind.__name__, *(self._plain(getattr(thing, name), numbers) for name in _names(kind))]
        raise _UnknownError

    def _thing(self, plain: Any, numbers: _Numbers) -> Any:
        if plain is None or isinstance(plain, bool | str) or (type(plain) is int and -_LARGEST <= plain < _LARGEST):
            return plain
        if not isinstance(plain, list):
            raise TypeError("this is not a value")
        what, *parts = plain
        if what == "float":
            return numbers.take("<f8", "C", *parts).item()
        if what == "array":
            return numbers.take(*parts)
        found = [self._thing(each, numbers) for each in parts]
        match what:
            case "list":
                return found
            case "tuple":
                return tuple(found)
            case "dict":
                return dict(zip(found[::2], found[1::2], strict=True))
        (record,) = (each for each in self.records if each.__name__ == what)
        named = dict(zip(_names(record), found, strict=True))
        hints: dict[str, Any] = _hints(record)  # type: ignore[arg-type] # a class is hashable
        if not all(_is(value, hints.get(name, Any)) for name, value in named.items()):
            raise TypeError(f"a {what} has fields of other types")
        return record(**named)


class _UnknownError(Exception):
    """A type that cannot be packed."""


class _Numbers:
    """Reads arrays from a sequence of bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._first = 0

    def take(self, dtype: Any, order: Any, *shape: Any) -> NDArray[Any]:
        if (
            dtype not in _DTYPES
            or order not in ("C", "F")
            or not all(type(each) is int and each >= 0 for each in shape)
        ):
            raise ValueError("there can be no such array")
        count = math.prod(shape)
        flat = np.frombuffer(self._content, dtype, count, self._first) if count else np.zeros(0, dtype)
        self._first += flat.nbytes
        return flat.reshape(shape, order=order).copy(order)

    def check_end(self) -> None:
        if self._first != len(self._content):
            raise ValueError("there are more numbers than values")


@cache
def _hints(record: type[Any]) -> dict[str, Any]:
    """Return the types of a record's fields; empty if they refer to names that only type checkers know."""
    try:
        return get_type_hints(record)
    except NameError:
        return {}


def _is(value: Any, hint: Any) -> bool:
    """Return whether a value has a type, without checking the contents of containers."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_is(value, each) for each in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    kind = origin or hint
    if kind is Any or not isinstance(kind, type):
        return True
    return type(value) is kind if kind is int else isinstance(value, (int, float) if kind is float else kind)


def _names(record: type[Any]) -> Iterator[str]:
    if is_dataclass(record):
        return (field.name for field in fields(record))
    names: tuple[str, ...] = record._fields
    return iter(names)


def typed(kind: Any, found: Any) -> Any:
    """Return a JSON value as a type: a dataclass, a tuple, or one of these, string, boolean, count or None.

    Raises
    ------
    ValueError, TypeError, KeyError, AttributeError
        If it is not of that type.
    """
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        given = {**{field.name: field.default for field in fields(kind) if field.default is not MISSING}, **found}
        return kind(**{name: typed(hints[name], value) for name, value in given.items()})  # type: ignore[operator]
    if get_origin(kind) is UnionType:
        return None if found is None else typed(get_args(kind)[0], found)
    if get_origin(kind) is tuple:
        if not isinstance(found, list | tuple):
            raise TypeError
        kinds = get_args(kind)
        if kinds[-1] is Ellipsis:
            return tuple(typed(kinds[0], each) for each in found)
        return tuple(typed(each, value) for each, value in zip(kinds, found, strict=True))
    if type(found) is not kind or (kind is int and found < 0):
        raise TypeError
    return found
