"""The options of metrics, as ``options.toml`` declares them. No heavy imports, so ``--help`` can use it."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Option(NamedTuple):
    """An option of one or more metrics; ``options.toml`` describes the fields."""

    help: str
    choices: Sequence[str] = ()
    values: str = "true or false"
    placeholder: str | None = None
    default: str = ""
    in_brackets: Sequence[str] = ()
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    whole: bool = False
    metrics: Mapping[str, Mapping[str, Any]] = {}

    @property
    def number(self) -> bool:
        """Whether only a number can be given."""
        return max(self.least, self.above) > -math.inf

    def of(self, metric: str) -> Option:
        """Return the option as a metric takes it."""
        return self._replace(**self.metrics.get(metric.removesuffix("-f"), {}))

    def values_of(self, metric: str) -> str:
        """Return the values that a metric accepts, in words."""
        own = self.of(metric)
        return f"{', '.join(own.choices[:-1])} or {own.choices[-1]}" if own.choices else own.values

    @property
    def text(self) -> str:
        """The help on the command line."""
        if not self.placeholder:
            return self.help + (f" ({self.default})" if self.default else "")
        return f"{self.help}: {self.values_of('')}" + (f" (default: {self.default})" if self.default else "")


OPTIONS: Final = {
    name: Option(**fields)
    for name, fields in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
"""All options by name."""

SHARED: Final = tuple(name for name, each in OPTIONS.items() if each.placeholder is not None)
"""Options that can be given for all metrics at once."""


def checked(name: str, value: Any, metric: str = "") -> Any:
    """Return the value of an option as the metric uses it, such as a float for a number.

    Examples
    --------
    >>> checked("alpha", 1)
    1.0

    Raises
    ------
    UsageError
        If it is not one that ``options.toml`` declares for this metric.
    """
    option = OPTIONS[name].of(metric)
    if option.choices and value not in option.choices:
        raise UsageError(f"{name}={value} is not known; {nearest(str(value), option.choices)}")
    if option.number:
        kinds = int if option.whole else int | float
        fits = isinstance(value, kinds) and not isinstance(value, bool) and option.above < value < option.below
        if not (fits and option.least <= value <= option.most):
            raise UsageError(f"{name}={value} must be {option.values}")
        return value if option.whole else float(value)
    return value


def check_flag(name: str, value: object) -> None:
    """Validate a boolean; 0, 1 and strings are usually a mistake."""
    if not isinstance(value, bool):
        raise UsageError(f"{name}={value!r} must be true or false")
