"""What ΔBLEU asks of weights before it counts, and what it does where they fall short."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trubleu.data import PreparedReferences, References
from trubleu.data.weights import weight_problem
from trubleu.errors import CountedWarning, DataError, UsageError, some
from trubleu.metrics.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightPolicy:
    """How ΔBLEU treats weights that its formula has no answer for."""

    no_positive: str
    unrated_as: float | None

    @classmethod
    def checked(cls, no_positive: str, unrated_as: float | None) -> WeightPolicy:
        """Make a policy of options."""
        check_choice("no_positive", no_positive, ("error", "skip"))
        if unrated_as is not None and (problem := weight_problem(unrated_as)):
            raise UsageError(f"unrated_as {problem}")
        return cls(no_positive=no_positive, unrated_as=unrated_as)

    def weights(self, references: References | PreparedReferences) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return one weight for each reference, and the segments to skip; references without weights weigh 1."""
        if isinstance(references, PreparedReferences):
            references = references.references
        references = all_rated(references, self.unrated_as)
        skipped = references.segments_without_positive()
        if len(skipped) and self.no_positive == "error":
            raise DataError(
                f"{references.source} has segments without a reference of positive weight: "
                f"{some(references.ids[i] for i in skipped)}; add one to each, "
                "or leave them out with --no-positive skip"
            )
        if len(skipped):
            what = f"segments in {references.source} without a reference of positive weight, left out of ΔBLEU"
            warnings.warn(CountedWarning(what, len(skipped)), stacklevel=2)
        if duplicates := references.duplicates():
            what = (
                f"references in {references.source} that repeat another one's text with a different weight, "
                "of which the largest counts"
            )
            warnings.warn(CountedWarning(what, duplicates), stacklevel=2)
        weights = references.weights
        return (np.ones(references.count) if weights is None else weights), skipped


def all_rated(references: References, unrated_as: float | None) -> References:
    """Return references with a weight for those that are not rated yet; refuse such ones without it."""
    unrated = references.unrated()
    if not len(unrated):
        return references
    if unrated_as is None:
        raise DataError(
            f"{references.source} has references that are not rated yet, in segments "
            f"{some(references.ids[i] for i in unrated)}; rate them with trubleu rate, "
            "or give them a weight with --unrated-as W"
        )
    return references.with_unrated_as(unrated_as)


def parse_negative(negative: str) -> tuple[str, float]:
    """Split ``clamp``, ``error`` or ``floor:E`` into the kind and its number.

    Examples
    --------
    >>> parse_negative("floor:0.1"), parse_negative("clamp")
    (('floor', 0.1), ('clamp', 0.0))
    """
    kind, separator, number = str(negative).partition(":")
    if kind == "floor" and separator:
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if 0 < value < math.inf:
            return kind, value
    elif kind in ("clamp", "error") and not separator:
        return kind, 0.0
    raise UsageError(f"negative={negative} is not known; it is clamp, error or floor:E with a number above 0")
