"""The row of statistics that an explanation accounts for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trubleu.explain import Explanation


def row_of(found: Explanation) -> list[float]:
    """Return the n-gram statistics in the columns of `NgramMetric.ngrams`; none if skipped."""
    if found.skipped:
        return []
    return [
        float(len(found.tokens)),
        found.reference_length,
        *(order.numerator for order in found.orders),
        *(order.denominator for order in found.orders if found.weighted),
        *(float(order.count) for order in found.orders),
    ]
