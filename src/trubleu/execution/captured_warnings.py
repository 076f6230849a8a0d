"""Warnings captured while parts of a computation run, merged, and issued once at the end."""

from __future__ import annotations

import builtins
import warnings
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import CountedWarning, TrubleuWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class HeldWarnings:
    """Collects warnings until all parts are done, and issues each once with the counts of all parts added up."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._others: dict[str, warnings.WarningMessage] = {}

    @contextmanager
    def of_part(self) -> Iterator[None]:
        """Capture warnings while one part is scored."""
        caught: list[warnings.WarningMessage] = []
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                yield
        finally:
            here: dict[str, int] = {}
            for warning in caught:
                if isinstance(warning.message, CountedWarning):
                    # Every system and metric meets the same cases of a part again.
                    here[warning.message.what] = max(here.get(warning.message.what, 0), warning.message.count)
                else:
                    self._others.setdefault(str(warning.message), warning)
            self._counts.update(here)

    def merge(self, other: HeldWarnings) -> None:
        """Add the warnings captured for other parts."""
        self._counts.update(other._counts)
        for text, warning in other._others.items():
            self._others.setdefault(text, warning)

    def plain(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return {"counts": dict(self._counts), "others": {text: _name(each) for text, each in self._others.items()}}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> HeldWarnings:
        """Restore from `plain`; a warning that is neither ours nor Python's becomes a UserWarning."""
        held = cls()
        held._counts.update(values["counts"])
        for text, name in values["others"].items():
            category = CATEGORIES.get(name, UserWarning)
            held._others[text] = warnings.WarningMessage(category(text), category, __file__, 1)
        return held

    def tell(self) -> None:
        """Issue all warnings."""
        for warning in self._others.values():
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        for what, count in self._counts.items():
            warnings.warn(CountedWarning(what, count), stacklevel=3)


def _name(warning: warnings.WarningMessage) -> str:
    return (TrubleuWarning if issubclass(warning.category, TrubleuWarning) else warning.category).__name__


CATEGORIES: Final = {
    each.__name__: each
    for each in (*vars(builtins).values(), TrubleuWarning, CountedWarning)
    if isinstance(each, type) and issubclass(each, Warning)
}
"""Warning classes that can be restored: Python's and ours."""
