"""The options of metrics, as ``options.toml`` declares them. No heavy imports, so ``--help`` can use it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

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
    number: bool = False
    metrics: Mapping[str, Sequence[str]] = {}

    def choices_of(self, metric: str) -> Sequence[str]:
        """Return the words that a metric accepts."""
        found = self.metrics.get(metric.removesuffix("-f"), self.choices)
        return () if isinstance(found, str) else found

    def values_of(self, metric: str) -> str:
        """Return the values that a metric accepts, in words."""
        found = self.metrics.get(metric.removesuffix("-f"), self.choices or self.values)
        return found if isinstance(found, str) else f"{', '.join(found[:-1])} or {found[-1]}"

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
