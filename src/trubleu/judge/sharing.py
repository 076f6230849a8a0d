"""Work shared out among workers, who leave no trace in the result: draws depend on their numbers only."""

from __future__ import annotations

import warnings
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from trubleu.engines.work import Partition, Result, State
from trubleu.errors import CountedWarning, DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from trubleu.engines import Engine


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the draws, by their numbers from 0."""

    first: int
    count: int

    def __str__(self) -> str:
        return f"draws {self.first + 1:,} to {self.first + self.count:,}"


def slices_of(number: int, at_once: int) -> list[Slice]:
    """Return all of a number of draws in slices.

    Examples
    --------
    >>> [str(each) for each in slices_of(5, 2)]
    ['draws 1 to 2', 'draws 3 to 4', 'draws 5 to 5']
    """
    return [Slice(first, min(at_once, number - first)) for first in range(0, number, at_once)]


def shared(
    engine: Engine,
    function: Callable[[Partition, State], Result],
    partitions: Sequence[Partition],
    *,
    state: Callable[[], State] | None = None,
    progress: Callable[[Partition], object] | None = None,
) -> Generator[Result, None, None]:
    """Yield the result of each partition, in order; what was warned of where it was made is warned of here, once.

    Only numbers of cases are told of as often as they come, for whoever adds them up.

    Raises
    ------
    DataError
        At once, if the function raised it: what a metric has against one draw it has against the data, and a sentence
        of its own says more than a list of draws.
    """
    seen: set[tuple[object, ...]] = set()
    with closing(engine.map(_Told(function), partitions, state=state, progress=progress)) as results:
        for _, (found, told) in results:
            for warning in told:
                if warning.what not in seen or issubclass(warning.category, CountedWarning):
                    seen.add(warning.what)
                    warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.line)
            if isinstance(found, DataError):
                raise found
            yield found


class _Warning(NamedTuple):
    message: Any
    category: type[Warning]
    filename: str
    line: int

    @property
    def what(self) -> tuple[object, ...]:
        """What two of the same kind have in common; messages are never equal."""
        return self.category, str(self.message), self.filename, self.line


@dataclass(frozen=True, slots=True)
class _Told(Generic[Partition, State, Result]):
    """A function that hands over what it warns of and what data it cannot use beside its results."""

    function: Callable[[Partition, State], Result]

    def __call__(self, partition: Partition, state: State) -> tuple[Result | DataError, list[_Warning]]:
        found: Result | DataError
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = self.function(partition, state)
            except DataError as error:
                found = error
        return found, [_Warning(each.message, each.category, each.filename, each.lineno) for each in caught]
