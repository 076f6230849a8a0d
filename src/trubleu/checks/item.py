"""An output with all that it is checked against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Item:
    """An output with all that it is checked against.

    Attributes
    ----------
    output
        The output.
    references
        Good and bad reference answers.
    weights
        A weight for each reference, below 0 for a bad one; None if all are good.
    question
        What was asked; None if unknown. Figures and links that it mentions are not new.
    old
        Earlier outputs that a person has accepted; what they say is not new.
    contains, excludes
        Texts that the output must and must not contain, case included.
    regex
        Regular expressions that must match somewhere in the output.
    """

    output: str
    references: Sequence[str]
    weights: Sequence[float] | None = None
    question: str | None = None
    old: Sequence[str] = ()
    contains: Sequence[str] = ()
    excludes: Sequence[str] = ()
    regex: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check that weights fit the references."""
        if self.weights is not None and len(self.weights) != len(self.references):
            raise UsageError(
                f"{len(self.weights)} weights were given for {len(self.references)} references; give each reference one"
            )

    @property
    def good(self) -> list[str]:
        """References that are not bad."""
        if self.weights is None:
            return list(self.references)
        return [text for text, weight in zip(self.references, self.weights, strict=True) if not weight <= 0]

    @property
    def bad(self) -> list[str]:
        """References with a weight below 0."""
        if self.weights is None:
            return []
        return [text for text, weight in zip(self.references, self.weights, strict=True) if weight < 0]

    @property
    def known(self) -> list[str]:
        """Texts that may be repeated: good references, the question and earlier outputs."""
        return [*self.good, *([self.question] if self.question else []), *self.old]
