"""A plain Python function as a metric."""

from __future__ import annotations

import hashlib
import inspect
import math
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError, UsageError, counted, shown
from trubleu.metrics.base import AnyReferences, Metric, as_references, reference_number, whole_references
from trubleu.metrics.matching import mean_score
from trubleu.signature import make_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from trubleu.progress import Progress
    from trubleu.signature import Signature


_BATCH: Final = "outputs"
_SOURCES: Final = {"source": False, "sources": True}
"""Parameters that ask for source texts, and whether they ask for all at once."""


class FunctionMetric(Metric):
    """The scores that a function gives to segments; a system's score is their mean.

    Parameters
    ----------
    function
        Called with an output and the list of its references for each segment, and returns a number. If its first
        parameter is called ``outputs``, it is called once with all outputs and a list of references for each, and
        returns as many numbers. It also gets the source if it has a parameter ``source`` (all at once: ``sources``).
    name
        What the metric is called; None for the function's name.
    higher_is_better
        None for the attribute ``higher_is_better`` of the function, or True.
    options
        Other parameters of the function.

    Examples
    --------
    >>> def overlap(output, references):
    ...     return max(len({*output.split()} & {*each.split()}) for each in references)
    >>> FunctionMetric(overlap).corpus(["a b", "c"], [["a b c"], ["d"]]).score
    1.0
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        *,
        higher_is_better: bool | None = None,
        **options: Any,
    ) -> None:
        first, *_ = positional(function)
        found = _parameters(function)
        self.function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        if higher_is_better is None:
            higher_is_better = bool(getattr(function, "higher_is_better", True))
        self.higher_is_better = higher_is_better  # type: ignore[misc] # a function has no class of its own
        self.options = options
        self._batch = first == _BATCH
        self._source = next((each for each in _SOURCES if each in found), None)
        self.needs_source = self._source is not None  # type: ignore[misc]
        self.uses_weights = False  # type: ignore[misc]
        if self._source is not None and _SOURCES[self._source] != self._batch:
            other = "sources" if self._batch else "source"
            raise UsageError(f"{self.name} must call its parameter {other}, as the first is called {first}")

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,  # noqa: ARG002 - Python runs one
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return the score of each segment, and 1."""
        whole = whole_references(as_references(references, outputs))
        texts = [list(whole.texts[low:high]) for low, high in pairwise(whole.offsets.tolist())]
        sources = list(self._messages(whole)) if self._source else []
        if self._batch:
            given: dict[str, Any] = {self._source: sources} if self._source else {}
            found = self.function(list(outputs), texts, **given, **self.options)
            values = found.tolist() if isinstance(found, np.ndarray) else list(found)
            if len(values) != len(outputs):
                raise DataError(
                    f"{self.name} returned {counted(len(values), 'score')} for {counted(len(outputs), 'output')}; "
                    "return one for each"
                )
            if progress:
                progress(len(values))
        else:
            values = []
            for place, (output, own) in enumerate(zip(outputs, texts, strict=True)):
                given = {self._source: sources[place]} if self._source else {}
                values.append(self.function(output, own, **given, **self.options))
                if progress:
                    progress(1)
        for segment, value in zip(whole.ids, values, strict=True):
            if not isinstance(value, Real | np.floating | np.integer) or not math.isfinite(value):
                raise DataError(
                    f"{self.name} returned {shown(value)} for the segment {segment}; it must return a finite number"
                )
        rows = np.ones((len(values), 2))
        rows[:, 0] = values
        return rows

    def _messages(self, whole: Any) -> Sequence[str]:
        if whole.messages is None or any(each is None for each in whole.messages):
            raise DataError(f"{self.name} needs the sources of all segments; give --source FILE, or messages in --refs")
        return whole.messages  # type: ignore[no-any-return]

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean score per row of summed statistics."""
        return mean_score(statistics, 2, self.name)

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return the signature: where the function is, the hash of its source, and its options."""
        where = f"{self.function.__module__}.{getattr(self.function, '__qualname__', self.name)}"
        code = _code_digest(self.function)
        return make_signature(self.name, nrefs=reference_number(references), function=where, code=code, **self.options)


class FunctionFactory:
    """Makes metrics of a function; its signature holds the function's options only.

    Parameters
    ----------
    function
        As for `FunctionMetric`.
    name
        What the metric is called.
    """

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        self.function, self.name = function, name
        first, second = positional(function)
        taken = {first, second, *_SOURCES}
        options = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for key, each in _parameters(function).items()
            if key not in taken and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        ]
        self.__signature__ = inspect.Signature(options)

    def __call__(self, **options: Any) -> FunctionMetric:
        """Return the metric."""
        return FunctionMetric(self.function, self.name, **options)


def is_function_metric(found: object) -> bool:
    """Return whether something is a plain function of outputs and references, and not what makes a metric."""
    return callable(found) and not isinstance(found, type) and len(positional(found)) == len(("output", "references"))


def positional(function: Callable[..., Any]) -> list[str]:
    """Return the first two parameters that a call must give by position; fewer if there are not as many."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = _parameters(function).items()
    needed = [key for key, each in found if each.kind in kinds and each.default is each.empty and key not in _SOURCES]
    return needed[:2]


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # functions written in C may have no signature
        return {}


def _code_digest(function: Callable[..., Any]) -> str:
    try:
        source = inspect.getsource(function).encode()
    except (OSError, TypeError):  # typed into a session
        code = getattr(function, "__code__", None)
        source = b"" if code is None else code.co_code + repr(code.co_consts).encode()
    return hashlib.sha256(source).hexdigest()[:16]
