"""The options of metrics, as ``options.toml`` declares them. No heavy imports, so ``--help`` can use it."""

from __future__ import annotations

import math
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu.errors import UsageError, nearest
from trubleu.signature import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Option(NamedTuple):
    """An option of one or more metrics; ``options.toml`` describes the fields."""

    help: str
    choices: Sequence[str] = ()
    prefix: str | None = None
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
        return not self.choices and max(self.least, self.above) > -math.inf

    def holds(self, number: float) -> bool:
        """Return whether a number is in the range."""
        return self.least <= number <= self.most and self.above < number < self.below

    def of(self, metric: str) -> Option:
        """Return the option as a metric takes it."""
        return self._replace(**self.metrics.get(metric.removesuffix("-f"), {}))

    def values_of(self, metric: str) -> str:
        """Return the values that a metric accepts, in words."""
        own = self.of(metric)
        return (
            f"{', '.join(own.choices[:-1])} or {own.choices[-1]}" if own.choices and own.prefix is None else own.values
        )

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
    >>> checked("alpha", 1), checked("negative", "floor:0.1")
    (1.0, 'floor:0.1')

    Raises
    ------
    UsageError
        If it is not one that ``options.toml`` declares for this metric.
    """
    option = OPTIONS[name].of(metric)
    if option.number:
        fits = isinstance(value, int if option.whole else int | float) and not isinstance(value, bool)
        if not (fits and option.holds(value)):
            raise UsageError(f"{name}={value} must be {option.values}")
        return value if option.whole else float(value)
    if not option.choices or (isinstance(value, str) and value in option.choices):
        return value
    if option.prefix is None:
        raise UsageError(f"{name}={value} is not known; {nearest(str(value), option.choices)}")
    if str(value).startswith(option.prefix):
        with suppress(ValueError):
            if option.holds(number := float(str(value).removeprefix(option.prefix))):
                return value if option.prefix else number
    raise UsageError(f"{name}={value} is not known; it is {option.values}")


def kind_and_number(value: str) -> tuple[str, float]:
    """Split the value of an option such as ``floor:0.1``; the number of a plain choice is 0.

    Examples
    --------
    >>> kind_and_number("floor:0.1"), kind_and_number("clamp")
    (('floor', 0.1), ('clamp', 0.0))
    """
    kind, _, number = value.partition(":")
    return kind, float(number or 0)


def signed(value: str) -> str:
    """Format such a value for a signature.

    Examples
    --------
    >>> signed("floor:0.10"), signed("clamp")
    ('floor[0.1]', 'clamp')
    """
    kind, number = kind_and_number(value)
    return f"{kind}[{number_text(number)}]" if ":" in value else kind


def check_flag(name: str, value: object) -> None:
    """Validate a boolean; 0, 1 and strings are usually a mistake."""
    if not isinstance(value, bool):
        raise UsageError(f"{name}={value!r} must be true or false")
