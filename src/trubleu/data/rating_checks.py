"""What ratings must be, and how they are added up: plain functions over columns."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any

from trubleu.data.records import kind_of
from trubleu.data.weights import shown
from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def check_scale(scale: Any) -> None:
    """Refuse a scale that is none."""
    match scale:
        case [int() as low, int() as high] if low < high:
            return
    raise UsageError(f"a scale is its lowest and its highest score, such as (1, 5), not {shown(scale)}")


def checked_names(values: Sequence[Any], name: str, place: Callable[[int], str]) -> tuple[str, ...]:
    """Return a column of names; an integer becomes its digits."""
    names = tuple(str(value) if type(value) is int else value for value in values)
    for row, value in enumerate(names):
        if value is None or (isinstance(value, str) and (not value or value.isspace())):
            raise DataError(f"{place(row)}: {name} is empty; a rating names its item, its system and its rater")
        if not isinstance(value, str):
            raise DataError(f"{place(row)}: {name} must be a string, not {kind_of(value)}")
    return names


def checked_scores(values: Sequence[Any], scale: tuple[int, int], place: Callable[[int], str]) -> tuple[int, ...]:
    """Return a column of scores that are all on the scale."""
    low, high = scale
    for row, value in enumerate(values):
        if type(value) is int and low <= value <= high:
            continue  # nearly always, and far cheaper to ask than the next
        if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
            found = "null" if value is None else shown(value)
            raise DataError(f"{place(row)}: score must be an integer from {low} to {high}, not {found}")
    return tuple(map(int, values))


def checked_labels(
    values: Sequence[Any] | None, name: str, place: Callable[[int], str]
) -> tuple[str | None, ...] | None:
    """Return a column that may be missing, in which an empty string is nothing, as it is in CSV."""
    if values is None:
        return None
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, str):
            raise DataError(f"{place(row)}: {name} must be a string, not {kind_of(value)}")
    labels = tuple(value or None for value in values)
    return labels if any(labels) else None


def check_pairs(systems: Sequence[str], pairs: Sequence[str | None] | None, place: Callable[[int], str]) -> None:
    """Refuse a pair that the system of its row is no part of."""
    for row, pair in enumerate(pairs or ()):
        system = systems[row]
        # Not split at the colon: the name of a system may hold one.
        if pair and not (pair.startswith(f"{system}:") or pair.endswith(f":{system}")):
            raise DataError(f"{place(row)}: the system {shown(system)} is not one of the pair {shown(pair)}; write A:B")
        if pair and len(pair) == len(system) + 1:
            raise DataError(f"{place(row)}: the pair {shown(pair)} names one system only; write A:B")


def repeated(key: tuple[Any, ...], place: str, other: str) -> str:
    """Say that somebody rated the same twice, and what to do."""
    rater, item, system, pair, aspect = key
    more = "".join(f", {name} {shown(value)}" for name, value in (("pair", pair), ("aspect", aspect)) if value)
    return (
        f"{place}: the rater {shown(rater)} has rated this already at {other} (item {shown(item)}, system "
        f'{shown(system)}{more}); leave one of the two out, or say that both count: repeats="keep", on the command '
        "line --repeated-ratings keep"
    )


def in_pair(system: str, shown_pair: str | None, pair: str, *, any_pair: bool) -> bool:
    """Whether a system's output was shown in a pair, whichever of the two came first."""
    if any_pair:
        return pair.startswith(f"{system}:") or pair.endswith(f":{system}")
    if shown_pair is None:
        return False
    if shown_pair == pair:
        return True
    # Not split at the colon: the name of a system may hold one.
    turned = []
    if shown_pair.startswith(f"{system}:"):
        turned.append(f"{shown_pair.removeprefix(f'{system}:')}:{system}")
    if shown_pair.endswith(f":{system}"):
        turned.append(f"{system}:{shown_pair.removesuffix(f':{system}')}")
    return pair in turned


def mean_of_means(totals: Sequence[Sequence[int]]) -> Fraction:
    """Return the mean of means that are given as sums and counts."""
    if len({count for _, count in totals}) == 1:  # nearly always, and one division is far cheaper than a sum of them
        return Fraction(sum(total for total, _ in totals), totals[0][1] * len(totals))
    return sum((Fraction(total, count) for total, count in totals), Fraction()) / len(totals)
