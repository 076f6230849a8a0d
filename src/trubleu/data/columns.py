"""The flat form of references and the checks that every way to make it shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trubleu.data.weights import shown, weight_problem
from trubleu.errors import DataError, some
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray


class Columns(NamedTuple):
    """What `References` is made of; each field is the parameter of the same name there."""

    texts: Sequence[str]
    offsets: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None
    ids: Sequence[str] | None = None
    origins: Sequence[str | None] | None = None
    messages: Sequence[str | None] | None = None
    contexts: Sequence[tuple[str, ...] | None] | None = None
    source: str = "references"
    before: int = 0


def check_segments(offsets: NDArray[np.int64], ids: Sequence[str] | None) -> None:
    """Refuse segments without a reference, naming them."""
    empty = np.flatnonzero(np.diff(offsets) == 0).tolist()
    if empty:
        names = some(ids[index] if ids is not None else index + 1 for index in empty)
        segments = "segment" if len(empty) == 1 else "segments"
        raise DataError(
            f"no reference for {segments} {names}; give each segment at least one or leave it out everywhere"
        )


def check_ids(ids: Sequence[str], count: int) -> tuple[str, ...]:
    """Refuse ids that are not one different string a segment."""
    ids = tuple(ids)
    if len(ids) != count:
        raise DataError(f"there are {len(ids)} ids for {count} segments; give one id for each segment")
    for index, name in enumerate(ids) if set(map(type, ids)) - {str} else ():
        if not isinstance(name, str):
            raise DataError(f"the id of segment {index + 1} must be a string, not {shown(name)}")
    if len(set(ids)) != count:
        seen: set[str] = set()
        repeated = dict.fromkeys(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(f"ids are used more than once: {some(repeated)}; every segment needs an id of its own")
    return ids


def exact_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return plain strings: subclasses such as ``np.str_`` are turned into what they hold."""
    plain = tuple(texts)
    if kernels.all_strings(plain):
        return plain
    for index, text in enumerate(plain):
        if not isinstance(text, str):
            raise DataError(f"reference {index + 1} must be a string, not {shown(text)}")
    return tuple(map(str.__str__, plain))


def checked_offsets(offsets: ArrayLike, count: int) -> NDArray[np.int64]:
    """Return offsets as a read-only array; refuse those that do not divide ``count`` texts into segments."""
    array = np.array(offsets, dtype=np.int64)
    rising = array.ndim == 1 and array.size > 0 and bool((np.diff(array) >= 0).all())
    if not rising or array[0] != 0 or array[-1] != count:
        raise DataError(f"offsets must rise from 0 to the number of texts, {count}, in one dimension")
    array.flags.writeable = False
    return array


def checked_weights(weights: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return weights as a read-only array; refuse those that are not one from -1 to 1, or NaN, for each text."""
    array = np.array(weights, dtype=np.float64)
    if array.shape != (count,):
        raise DataError(f"weights have the shape {array.shape}; give one for each of the {count} texts")
    outside = np.abs(array) > 1
    if outside.any():
        at = int(np.argmax(outside))
        raise DataError(f"weight {at + 1} {weight_problem(float(array[at]))}")
    array.flags.writeable = False
    return array


def checked_column(values: Sequence[Any] | None, count: int, what: str) -> tuple[Any, ...] | None:
    """Return an optional column as a tuple; refuse one of the wrong length."""
    if values is None:
        return None
    if len(values) != count:
        raise DataError(f"there are {len(values)} {what}, but {count} are needed; give one for each or none at all")
    return tuple(values)
