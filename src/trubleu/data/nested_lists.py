"""From nested lists of references to flat columns, at C speed.

The normal case never runs Python code per text: a kernel lays lists of strings flat, and weights go through
``np.fromiter``. Only when something is wrong does a loop look for the first culprit, to name it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from itertools import chain, compress
from numbers import Real
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.data.reference_files import Columns, check_ids, check_segments
from trubleu.data.weights import weight_problem, weights_array
from trubleu.errors import DataError, counted, shown
from trubleu.native import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray


def looks_transposed(outputs_count: int, references: Sequence[Sequence[str | None]]) -> bool:
    """Return whether references seem to be given as parallel lists (sacreBLEU's shape) instead of per segment.

    Parameters
    ----------
    outputs_count
        How many segments there are.
    references
        Lists of references.

    Examples
    --------
    >>> looks_transposed(3, [["a", "b", "c"], ["d", "e", "f"]])
    True
    >>> looks_transposed(2, [["a", "b", "c"], ["d", "e", "f"]])
    False
    """
    if not len(references) or len(references) == outputs_count:
        return False
    return all(not isinstance(row, str) and len(row) == outputs_count for row in references)


def flatten_lists(
    references: Sequence[Sequence[str | None]],
    weights: Sequence[Sequence[float | None]] | None,
    ids: Sequence[str] | None,
    outputs_count: int | None,
) -> Columns:
    """Check nested lists, one inner list a segment, and lay them flat."""
    _check_outer(references, "references")
    if ids is not None:
        ids = check_ids(ids, len(references))
    _check_rows(references, "references", ids)
    if outputs_count is not None and outputs_count != len(references):
        if looks_transposed(outputs_count, references):
            raise DataError(
                f"{counted(outputs_count, 'output')} and {counted(len(references), 'list')} of "
                f"{counted(outputs_count, 'reference')}, but "
                "references are given per segment; pass lists in sacreBLEU's shape through "
                "References.from_streams(references) or list(zip(*references))"
            )
        raise DataError(
            f"{counted(outputs_count, 'output')} but references for {counted(len(references), 'segment')}; "
            "give one list of references for each output"
        )
    found: tuple[str | None, ...]
    kinds: set[type] = {str}
    if (flat := kernels.flatten(references)) is not None:
        found, given = flat
    else:
        given = _offsets(references)
        found = tuple(chain.from_iterable(references))
        kinds = set(map(type, found))
    if not all(issubclass(kind, str | NoneType) for kind in kinds):
        at = next(index for index, text in enumerate(found) if not isinstance(text, str | NoneType))
        raise DataError(f"{_place('reference', at, given, ids)} must be a string or None, not {shown(found[at])}")
    values = None if weights is None else _flat_weights(weights, given, ids)

    keep = np.ones(len(found), dtype=bool)
    texts: tuple[str, ...] = found  # type: ignore[assignment]
    offsets = given
    if NoneType in kinds:
        keep = np.fromiter((text is not None for text in found), bool, len(found))
        texts = tuple(text for text in found if text is not None)
        # Counted before each offset, not per segment: right for segments of any size, empty ones included.
        offsets = np.concatenate(([0], np.cumsum(keep)))[given]
        values = None if values is None else list(compress(values, keep.tolist()))
    check_segments(offsets, ids)
    if values is None:
        return Columns(texts, offsets, ids=ids)
    array = weights_array(values)
    if array is None:
        index, problem = next(
            (i, p) for i, value in enumerate(values) if value is not None and (p := weight_problem(value))
        )
        raise DataError(f"{_place('weight', int(np.flatnonzero(keep)[index]), given, ids)} {problem}")
    return Columns(texts, offsets, array, ids=ids)


def transpose_streams(streams: Sequence[Sequence[Any]], what: str) -> list[tuple[Any, ...]]:
    """Check parallel lists and turn them into one tuple a segment."""
    _check_outer(streams, what)
    if not len(streams):
        raise DataError(f"there are no lists of {what}; give at least one, with an item for each segment")
    for number, stream in enumerate(streams, 1):
        if not _is_row(type(stream)):
            raise DataError(
                f"list {number} of {what} must be a list with an item for each segment, not {shown(stream)}"
            )
        if len(stream) != len(streams[0]):
            raise DataError(
                f"list {number} of {what} has {counted(len(stream), 'item')} but list 1 has {len(streams[0])}; "
                "lists given per segment go to References.from_lists"
            )
    return list(zip(*streams, strict=True))


def _is_row(kind: type) -> bool:
    return issubclass(kind, Collection) and not issubclass(kind, str | bytes | Mapping | Set)


def _check_outer(rows: object, what: str) -> None:
    if not _is_row(type(rows)):
        hint = "; wrap it in list()" if isinstance(rows, Iterator) else ""
        raise DataError(f"{what} must be a list of lists, not {shown(rows)}{hint}")


def _check_rows(rows: Sequence[object], what: str, ids: Sequence[str] | None) -> None:
    wrong = tuple(kind for kind in set(map(type, rows)) if not _is_row(kind))
    if not wrong:
        return
    index, row = next((index, row) for index, row in enumerate(rows) if isinstance(row, wrong))
    hint = f"; wrap it in a list: [{shown(row)}]" if isinstance(row, str | Real) else ""
    raise DataError(f"the {what} of {_segment(index, ids)} must be a list, not {shown(row)}{hint}")


def _flat_weights(weights: Sequence[Sequence[Any]], offsets: NDArray[np.int64], ids: Sequence[str] | None) -> list[Any]:
    _check_outer(weights, "weights")
    if len(weights) != len(offsets) - 1:
        raise DataError(
            f"there are weights for {counted(len(weights), 'segment')} but references for {len(offsets) - 1}; "
            "give one list of weights for each list of references"
        )
    _check_rows(weights, "weights", ids)
    differs = np.flatnonzero(np.diff(_offsets(weights)) != np.diff(offsets))
    if len(differs):
        index = int(differs[0])
        expected = int(offsets[index + 1] - offsets[index])
        raise DataError(
            f"{_segment(index, ids)} has {counted(expected, 'reference')} but "
            f"{counted(len(weights[index]), 'weight')}; "
            "give one weight for each reference (None if it is not rated yet)"
        )
    return list(chain.from_iterable(weights))


def _offsets(rows: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=offsets[1:])
    return offsets


def _segment(index: int, ids: Sequence[str] | None) -> str:
    return f"segment {index + 1}" if ids is None else f"segment {index + 1} (id {ids[index]})"


def _place(what: str, at: int, offsets: NDArray[np.int64], ids: Sequence[str] | None) -> str:
    """Name one of the flat items, such as ``weight 2 of segment 5``."""
    index = int(np.searchsorted(offsets, at, side="right")) - 1
    return f"{what} {at - offsets[index] + 1} of {_segment(index, ids)}"
