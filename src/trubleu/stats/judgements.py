"""Ratings as they come, an item, a rater and a score each, turned into numbers that can be counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from numpy.typing import ArrayLike, NDArray

RaterLabel: TypeAlias = int | str

LARGEST_SCORE: Final = 2**31 - 1
"""Scores beyond it, or below its negative, are no ratings but a mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements:
    """Ratings in columns, items and raters numbered from 0."""

    items: int
    """How many items there are."""
    raters: tuple[RaterLabel, ...]
    """The labels of the raters: numbers first, then names, each in order."""
    item: NDArray[np.int64]
    """The item of each rating."""
    rater: NDArray[np.int64]
    """The rater of each rating."""
    score: NDArray[np.int64]
    """The score of each rating."""


def judgements(item: Iterable[Hashable], rater: Iterable[RaterLabel], score: ArrayLike) -> Judgements:
    """Return ratings in columns, checked.

    Parameters
    ----------
    item
        A label a rating: a number, a name, a tuple.
    rater
        A number or a name a rating.
    score
        A whole number a rating.

    Raises
    ------
    DataError
        If the columns differ in length, a label or a score cannot be used, or somebody rated an item twice.

    Examples
    --------
    >>> found = judgements(["x", "x", "y"], ["bob", "ann", "bob"], [4, 5, 1])
    >>> found.raters, found.rater.tolist(), found.item.tolist()
    (('ann', 'bob'), [1, 0, 1], [0, 0, 1])
    """
    item_labels, rater_labels = _labels(item, "item"), _rater_labels(rater)
    scores = whole_scores(score, "score")
    if not len(item_labels) == len(rater_labels) == len(scores):
        raise DataError(
            f"there are {len(item_labels)} items, {len(rater_labels)} raters and {len(scores)} scores; "
            "each rating needs one of each"
        )
    raters = tuple(sorted(set(rater_labels), key=lambda label: (isinstance(label, str), label)))
    rater_numbers = {label: number for number, label in enumerate(raters)}
    item_numbers: dict[Hashable, int] = {}
    numbered = Judgements(
        item=np.array([item_numbers.setdefault(label, len(item_numbers)) for label in item_labels], dtype=np.int64),
        items=len(item_numbers),
        rater=np.array([rater_numbers[label] for label in rater_labels], dtype=np.int64),
        raters=raters,
        score=scores,
    )
    _no_repeats(numbered, item_labels, rater_labels)
    return numbered


def whole_scores(score: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return a flat list of scores as integers, refusing anything else."""
    try:
        array = np.asarray(score)
    except ValueError:
        raise DataError(f"{name} must be a flat list of whole numbers, but its elements are lists") from None
    if array.ndim != 1:
        raise DataError(f"{name} must be a flat list of whole numbers, but the array has {array.ndim} dimension(s)")
    if not len(array):
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind not in "iuf":
        raise DataError(f"{name} must hold whole numbers only; leave out ratings that are missing")
    # NaN is not equal to itself rounded, and fails here too.
    bad = np.flatnonzero(~((np.abs(array.astype(np.float64)) <= LARGEST_SCORE) & (array == np.rint(array))))
    if len(bad):
        raise DataError(
            f"{name} is {array[bad[0]]} in rating {bad[0]} (counted from 0), which is not a whole number of a scale; "
            "leave out ratings that are missing"
        )
    return array.astype(np.int64)


def _labels(labels: Iterable[Hashable], name: str) -> list[Hashable]:
    # Not through an array: one of numbers and names would turn numbers into names.
    listed = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    for row, label in enumerate(listed):
        try:
            hash(label)
        except TypeError:
            raise DataError(f"{name} {label!r} of rating {row} (counted from 0) cannot serve as a label") from None
        if label is None or label != label:
            raise DataError(f"rating {row} (counted from 0) has no {name}; leave it out or name it")
    return listed


def _rater_labels(labels: Iterable[RaterLabel]) -> list[RaterLabel]:
    named: list[RaterLabel] = []
    for row, label in enumerate(_labels(labels, "rater")):
        if isinstance(label, str):
            named.append(label)
        elif isinstance(label, int | np.integer):
            named.append(int(label))
        else:
            raise DataError(f"rater {label!r} of rating {row} (counted from 0) is neither a whole number nor a name")
    return named


def _no_repeats(numbered: Judgements, items: list[Hashable], raters: list[RaterLabel]) -> None:
    keys = numbered.item * max(1, len(numbered.raters)) + numbered.rater
    order = np.argsort(keys, kind="stable")
    repeated = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(repeated):
        row = int(order[repeated + 1].min())
        raise DataError(
            f"rater {raters[row]!r} has rated item {items[row]!r} before rating {row} (counted from 0); "
            "keep one rating an item from everybody"
        )
